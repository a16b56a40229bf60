/* store_cause.c: one query, ordered as causes are counted, and one of their findings; then words that people type, looked up in what they
 * say. */
#include "reports/cause/store_cause.h"

#include <stdlib.h>
#include <strings.h>

#include "eager/base/version.h"

/* ---- reading ------------------------------------------------------------------------------------------------------------------------- */

/* What finding_cause names a finding without a cause by: kind, these words, signature. */
#define NOT_TRIAGED "; not triaged; "

enum column {
	CAUSE,
	FULL_ID,
	SEVERITY,
	REACH,
	BLAME,
	NFINDINGS,
	NOBS,
	FIRST,
	LAST,
	OPS,
	KIND,
	TARGET,
	PROGRAM,
	MINIMISED,
	UNCONFIRMED,
	SIGNATURE,
	OPEN,
	RAISED,
	TENSOR,
	PATTERN,
	NWRONG,
	NCOLUMNS
};

static const char sql[] =
	"select c.cause, lower(hex(c.finding)), c.severity, c.reach, c.blame, c.nfindings, c.nobs, "
	"strftime('%Y-%m-%dT%H:%M:%SZ', c.first_seen / 1000, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%SZ', c.last_seen / 1000, 'unixepoch'), "
	"c.ops, f.kind, s.target, p.text, s.minimised, "
	"coalesce((select payload from event e where e.finding = f.id and e.kind = 'unconfirmed' and not exists (select 1 from event l where "
	"l.finding = f.id and l.kind = 'confirmed' and l.at >= e.at) order by e.at desc limit 1), ''), "
	"s.signature, c.open, case when f.kind = 'raise' then coalesce((select detail from observation where finding = f.id and "
	"verdict <> 'pass' and program = s.program order by at, id limit 1), (select detail from observation where finding = f.id and "
	"verdict <> 'pass' order by at, id limit 1), '') else '' end, "
	"coalesce((select tensor from observation where finding = f.id and verdict <> 'pass' and program = s.program "
	"order by at, id limit 1), ''), "
	"case when json_valid(cast(a.bytes as text)) then json_extract(cast(a.bytes as text), '$.pattern') end, "
	"case when json_valid(cast(a.bytes as text)) then json_extract(cast(a.bytes as text), '$.wrong') end "
	"from cause_now c join finding f on f.id = c.finding "
	"join finding_summary s on s.finding = f.id join program p on p.id = s.program "
	"left join artifact a on a.id = (select id from artifact where finding = f.id and name = 'facts' order by at desc, id desc limit 1) "
	"order by c.place";

struct reading {
	struct store_causes *out;
	struct arena *a;
	int cap;
	const char **cause; /* what each is called in the store */
};

static const char *text_at(const struct store_value *v, struct arena *a) { return arena_strdup(a, v->s ? v->s : ""); }

static struct store_cause cause_of_row(const struct store_value *v, struct arena *a)
{
	const char *const cause = text_at(&v[CAUSE], a), *without = strstr(cause, NOT_TRIAGED);
	struct store_cause c = {.full_id = text_at(&v[FULL_ID], a),
		.text = without ? without + strlen(NOT_TRIAGED) : cause,
		.triaged = !without,
		.minimised = v[MINIMISED].i != 0,
		.open = v[OPEN].i != 0,
		.signature = text_at(&v[SIGNATURE], a),
		.title = "",
		.reach = text_at(&v[REACH], a),
		.blame = text_at(&v[BLAME], a),
		.unconfirmed = text_at(&v[UNCONFIRMED], a),
		.target = text_at(&v[TARGET], a),
		.ops = text_at(&v[OPS], a),
		.program = text_at(&v[PROGRAM], a),
		.issue = "",
		.raised = text_at(&v[RAISED], a),
		.tensor = text_at(&v[TENSOR], a),
		.pattern = text_at(&v[PATTERN], a),
		.nwrong = v[NWRONG].i,
		.first_seen = text_at(&v[FIRST], a),
		.last_seen = text_at(&v[LAST], a),
		.nfindings = v[NFINDINGS].i,
		.nobs = v[NOBS].i};
	if (!finding_severity_find(&c.severity, text_at(&v[SEVERITY], a))) /* an event may say anything */
		c.severity = SEVERITY_NORMAL;
	if (!finding_kind_find(&c.kind, text_at(&v[KIND], a)))
		BUG("a foreign key holds");
	return c;
}

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct reading *r = ctx;
	(void)names;
	if (!v)
		return true;
	CHECK(ncols == NCOLUMNS);
	if (r->out->n == r->cap) {
		r->out->cause = ARENA_GROW(r->a, struct store_cause, r->out->cause, r->out->n, 2 * r->cap + 64);
		r->cause = ARENA_GROW(r->a, const char *, r->cause, r->out->n, 2 * r->cap + 64);
		r->cap = 2 * r->cap + 64;
	}
	r->cause[r->out->n] = text_at(&v[CAUSE], r->a);
	r->out->cause[r->out->n] = cause_of_row(v, r->a);
	r->out->n++;
	return true;
}

/* ---- issues that somebody marked ----------------------------------------------------------------------------------------------------- */

static const char issues_sql[] =
	"select g.cause, i.url from event e join issue i on i.id = e.issue join finding_cause g on g.finding = e.finding "
	"where e.issue is not null order by e.at desc, e.id desc";

struct issues {
	struct store_causes *all;
	const char *const *cause; /* what each of all is called in the store */
	struct arena *a;
};

/* The latest comes first. */
static bool take_issue(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	const struct issues *x = ctx;
	(void)ncols, (void)names;
	for (int i = 0; v && i < x->all->n; i++)
		if (str_eq(x->cause[i], v[0].s ? v[0].s : "")) {
			if (!x->all->cause[i].issue[0])
				x->all->cause[i].issue = text_at(&v[1], x->a);
			break;
		}
	return true;
}

/* ---- the findings of each ------------------------------------------------------------------------------------------------------------ */

struct member {
	const char *cause, *full_id, *state, *target, *versions;
	const char *own; /* what cause.h says of it (fuzz/triage/cause_join.h) */
	const char *id;
	int64_t first_seen;
	int number;
};
struct members {
	struct arena *a;
	int n, cap;
	struct member *of; /* by id; then by cause, of one cause in the order in which they were first seen */
};

static const char members_sql[] = "select cause, lower(hex(finding)), state, target, versions, first_seen from finding_summary";
static const char variants_sql[] =
	"select lower(hex(finding)), cast(bytes as text) from artifact where name = 'variant' order by finding, at desc, id desc";

static bool take_member(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct members *m = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (m->n == m->cap) {
		m->of = ARENA_GROW(m->a, struct member, m->of, m->n, 2 * m->cap + 64);
		m->cap = 2 * m->cap + 64;
	}
	struct member *f = &m->of[m->n++];
	*f = (struct member){
		text_at(&v[0], m->a), text_at(&v[1], m->a), text_at(&v[2], m->a), text_at(&v[3], m->a), text_at(&v[4], m->a), .first_seen = v[5].i};
	f->own = f->cause;
	return true;
}

/* The latest of a finding comes first, findings in the order of members. */
struct variants {
	struct members *m;
	int next; /* the first member that has none yet */
};
static bool take_variant(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct variants *x = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	while (x->next < x->m->n && strcmp(x->m->of[x->next].full_id, v[0].s ? v[0].s : "") < 0)
		x->next++;
	if (x->next < x->m->n && str_eq(x->m->of[x->next].full_id, v[0].s ? v[0].s : ""))
		x->m->of[x->next++].own = text_at(&v[1], x->m->a);
	return true;
}

static int by_first_seen(const void *a, const void *b)
{
	const struct member *f = a, *g = b;
	return f->first_seen != g->first_seen ? (f->first_seen > g->first_seen) - (f->first_seen < g->first_seen)
										  : strcmp(f->full_id, g->full_id);
}

static int by_cause(const void *a, const void *b)
{
	const struct member *f = a, *g = b;
	const int c = strcmp(f->cause, g->cause);
	return c ? c : (f->number > g->number) - (f->number < g->number);
}

static int by_full_id(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->full_id, ((const struct member *)b)->full_id);
}

static void sort_members(struct members *m, int (*order)(const void *, const void *))
{
	if (m->n > 1)
		qsort(m->of, (size_t)m->n, sizeof *m->of, order);
}

static int alike(const char *a, const char *b)
{
	int n = 0;
	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* As many digits as tell it from all others, at least STORE_ID_DIGITS. By id. */
static void give_ids(struct members *m)
{
	for (int i = 0; i < m->n; i++) {
		const int before = i ? alike(m->of[i].full_id, m->of[i - 1].full_id) : 0;
		const int after = i + 1 < m->n ? alike(m->of[i].full_id, m->of[i + 1].full_id) : 0;
		m->of[i].id = arena_printf(m->a, "%.*s", MAX(STORE_ID_DIGITS, MAX(before, after) + 1), m->of[i].full_id);
	}
}

static void add_variant(struct store_cause *c, const struct member *f, struct arena *a)
{
	enum { MOST = 64 }; /* stores are anybody's */
	struct store_variant *room = (struct store_variant *)(uintptr_t)c->variant;
	int i = 0;
	if (!room)
		c->variant = room = ARENA_ZNEW(a, struct store_variant, MIN(c->nids, MOST));
	while (i < c->nvariants && !str_eq(room[i].text, f->own))
		i++;
	if (i == MOST)
		return;
	if (i == c->nvariants)
		room[c->nvariants++] = (struct store_variant){.text = f->own, .ids = ARENA_NEW(a, const char *, c->nids)};
	((const char **)(uintptr_t)room[i].ids)[room[i].nids++] = f->id;
}

/* ---- their versions ------------------------------------------------------------------------------------------------------------------ */

static int older_first(const void *a, const void *b) { return version_compare(*(const char *const *)a, *(const char *const *)b); }

/* The words of n members' texts, each once, in the order of versions. */
static void give_versions(struct store_cause *c, const struct member *f, int n, struct arena *a)
{
	enum { MOST = 256 };
	const char **word = ARENA_NEW(a, const char *, MOST);
	int nwords = 0;
	for (int i = 0; i < n; i++)
		for (const char *s = f[i].versions; *s; s += strspn(s, " ")) {
			const size_t len = strcspn(s, " ");
			int k = 0;
			while (k < nwords && !(strlen(word[k]) == len && memcmp(word[k], s, len) == 0))
				k++;
			if (k == nwords && nwords < MOST)
				word[nwords++] = arena_printf(a, "%.*s", (int)len, s);
			s += len;
		}
	if (nwords > 1)
		qsort(word, (size_t)nwords, sizeof *word, older_first);
	c->versions = word;
	c->nversions = nwords;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------------------- */

/* f: its n findings. */
static void give_findings(struct store_cause *c, const struct member *f, int n, struct arena *a)
{
	const char **column[3];
	int *const numbers = ARENA_NEW(a, int, MAX(n, 1));
	for (int k = 0; k < ARRAY_LEN(column); k++)
		column[k] = ARENA_NEW(a, const char *, n);
	c->nids = n;
	c->ids = column[0];
	c->states = column[1];
	c->targets = column[2];
	c->numbers = numbers;
	c->number = n ? f[0].number : 0;
	for (int i = 0; i < n; i++) {
		const char *const word[ARRAY_LEN(column)] = {f[i].id, f[i].state, f[i].target};
		for (int k = 0; k < ARRAY_LEN(column); k++)
			column[k][i] = word[k];
		numbers[i] = f[i].number;
		if (str_eq(f[i].full_id, c->full_id))
			c->id = f[i].id;
		add_variant(c, &f[i], a);
	}
	if (c->nvariants < 2)
		c->nvariants = 0;
	give_versions(c, f, n, a);
}

/* The first member of that cause, or where it would be. */
static int first_of(const struct members *m, const char *cause)
{
	int low = 0, high = m->n;
	while (low < high) {
		const int middle = low + (high - low) / 2;
		if (strcmp(m->of[middle].cause, cause) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum store_status store_causes(struct store_causes *out, struct store *s, struct arena *a)
{
	struct reading r = {.out = out, .a = a};
	struct members m = {.a = a};
	*out = (struct store_causes){.n = 0};
	enum store_status status = store_query_sql(s, sql, NULL, take_row, &r);
	if (status == STORE_OK)
		status = store_query_sql(s, issues_sql, NULL, take_issue, &(struct issues){out, r.cause, a});
	if (status == STORE_OK)
		status = store_query_sql(s, members_sql, NULL, take_member, &m);
	sort_members(&m, by_full_id);
	give_ids(&m);
	if (status == STORE_OK)
		status = store_query_sql(s, variants_sql, NULL, take_variant, &(struct variants){.m = &m});
	sort_members(&m, by_first_seen);
	for (int i = 0; i < m.n; i++)
		m.of[i].number = i + 1;
	sort_members(&m, by_cause);
	for (int i = 0; i < out->n && status == STORE_OK; i++) {
		const int from = first_of(&m, r.cause[i]);
		int to = from;
		while (to < m.n && str_eq(m.of[to].cause, r.cause[i]))
			to++;
		out->cause[i].id = arena_printf(a, "%.*s", STORE_ID_DIGITS, out->cause[i].full_id);
		give_findings(&out->cause[i], &m.of[from], to - from, a);
	}
	return status;
}

struct gathering {
	struct store *s;
	struct hash128 *id;
	int n, cap;
	struct arena *a;
	bool wrong;
};

static bool take_id(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct gathering *g = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (g->n == g->cap) {
		g->id = ARENA_GROW(g->a, struct hash128, g->id, g->n, g->cap + 16);
		g->cap += 16;
	}
	g->wrong |= store_find_by_prefix(g->s, &g->id[g->n++], v->s) != STORE_OK;
	return !g->wrong;
}

enum store_status store_cause_findings(struct hash128 **id, int *n, struct store *s, const struct store_cause *c, struct arena *a)
{
	struct gathering g = {.s = s, .a = a};
	enum store_status status = store_query_sql(s,
		arena_printf(a,
			"select lower(hex(g.finding)) from finding_cause g where g.cause = (select cause from finding_cause where finding = x'%s') "
			"order by 1",
			c->full_id),
		NULL, take_id, &g);
	*id = g.id;
	*n = g.n;
	return g.wrong ? STORE_IO : status;
}

/* ---- words --------------------------------------------------------------------------------------------------------------------------- */

bool store_word_is_number(const char *word) { return strlen(word) < STORE_MIN_PREFIX && word[0] && word[strspn(word, "0123456789")] == 0; }

static int count_findings(const struct store_causes *all)
{
	int n = 0;
	for (int i = 0; i < all->n; i++)
		n += all->cause[i].nids;
	return n;
}

static const struct store_cause *by_number(const struct store_causes *all, const char *word, struct strbuf *complaint)
{
	const int number = atoi(word);
	for (int i = 0; i < all->n; i++)
		for (int k = 0; k < all->cause[i].nids; k++)
			if (all->cause[i].numbers[k] == number)
				return &all->cause[i];
	sb_printf(complaint, "no cause %d: numbers go from 1 to %d", number, count_findings(all));
	return NULL;
}

const struct store_cause *store_causes_find(const struct store_causes *all, const char *word, struct strbuf *complaint)
{
	const struct store_cause *found = NULL;
	if (store_word_is_number(word))
		return by_number(all, word, complaint);
	for (int i = 0; i < all->n; i++)
		for (int k = 0; k < all->cause[i].nids; k++) {
			const size_t n = MIN(strlen(word), strlen(all->cause[i].ids[k]));
			if (n < STORE_MIN_PREFIX || strncasecmp(all->cause[i].ids[k], word, n) != 0 || found == &all->cause[i])
				continue;
			if (found) {
				sb_printf(complaint, "findings of several causes begin with '%.40s'", word);
				return NULL;
			}
			found = &all->cause[i];
		}
	if (!found)
		sb_printf(
			complaint, "'%.40s' is no cause: its number, or at least %d digits of the id of one of its findings", word, STORE_MIN_PREFIX);
	return found;
}

enum store_status store_find_word(struct store *s, struct hash128 *id, const char *word, struct arena *a, struct strbuf *complaint)
{
	struct store_causes all;
	enum store_status status;
	if (!store_word_is_number(word)) {
		status = store_find_by_prefix(s, id, word);
		if (status != STORE_OK)
			sb_puts(complaint, store_message(s));
		return status;
	}
	status = store_causes(&all, s, a);
	if (status != STORE_OK) {
		sb_puts(complaint, store_message(s));
		return status;
	}
	const struct store_cause *c = store_causes_find(&all, word, complaint);
	return c ? store_find_by_prefix(s, id, c->full_id) : STORE_BAD;
}
