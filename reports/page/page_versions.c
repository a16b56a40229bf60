/* page_versions.c: both artifacts in one list. A sweep says more than a script, so its word counts where both have a version. */
#include "reports/page/page_versions.h"

#include <stdlib.h>

#include "eager/base/version.h"

enum { MOST = 64 };

struct list {
	int n;
	struct page_version v[2 * MOST];
};

static const char *plain(const char *verdict) { return str_eq(verdict, "fails") ? "wrong" : str_eq(verdict, "passes") ? "right" : verdict; }

static void add(struct list *l, struct json_doc *d, struct arena *a)
{
	const int n = MIN(json_doc_count(d, "$.versions"), MOST);
	for (int i = 0; i < n; i++) {
		const struct page_version v = {json_doc_text(d, a, "$.versions[%d].version", i),
			plain(json_doc_text(d, a, "$.versions[%d].verdict", i)), json_doc_text(d, a, "$.versions[%d].why", i)};
		bool there = !version_valid(v.version) || !v.verdict[0];
		for (int k = 0; k < l->n; k++)
			there |= str_eq(l->v[k].version, v.version);
		if (!there)
			l->v[l->n++] = v;
	}
}

static int older_first(const void *a, const void *b)
{
	return version_compare(((const struct page_version *)a)->version, ((const struct page_version *)b)->version);
}

struct page_versions page_versions_of(struct json_doc *since, struct json_doc *script_versions, struct arena *a)
{
	struct list *l = ARENA_ZNEW(a, struct list, 1);
	add(l, since, a);
	add(l, script_versions, a);
	if (l->n > 1)
		qsort(l->v, (size_t)l->n, sizeof l->v[0], older_first);
	return (struct page_versions){l->n, l->v};
}

const struct page_version *page_versions_newest(const struct page_versions *v)
{
	for (int i = v->n - 1; i >= 0; i--)
		if (str_eq(v->tried[i].verdict, "right") || str_eq(v->tried[i].verdict, "wrong"))
			return &v->tried[i];
	return NULL;
}

const char *page_versions_right_on(const struct page_versions *v)
{
	const struct page_version *newest = page_versions_newest(v);
	return newest && str_eq(newest->verdict, "right") ? newest->version : "";
}
