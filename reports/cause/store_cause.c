/* store_cause.c: the summaries by cause (cause_group.h), what is read of one finding of each, and what is read of all; then words that
 * people type, looked up in what they say. */
#include "reports/cause/store_cause.h"

#include <stdlib.h>
#include <strings.h>

#include "eager/base/version.h"
#include "reports/cause/cause_group.h"

const char *cause_family(const char *target, struct arena *a) { return arena_printf(a, "%.*s", (int)strcspn(target, "-:"), target); }

/* ---- reading ------------------------------------------------------------------------------------------------------------------------- */

enum column { KIND, TARGET, PROGRAM, MINIMISED, SIGNATURE, BLAME, OPS, RAISED, TENSOR, PATTERN, NWRONG, NOT_CONFIRMED };

/* Of the finding that represents a cause, whose summary is row ?1. Its message is of the smallest program, if that was seen to raise. The
 * latest of its facts is found without a sort, which would make a table for each finding. */
#define LISTED                                                                                                                             \
	"select f.kind, s.target, p.text, s.minimised, s.signature, s.blame, s.ops, "                                                          \
	"case when f.kind = 'raise' then coalesce((select detail from observation where finding = f.id and verdict <> 'pass' "                 \
	"and program = s.program order by at, id limit 1), (select detail from observation where finding = f.id and "                          \
	"verdict <> 'pass' order by at, id limit 1), '') else '' end, "                                                                        \
	"case when not s.minimised and f.kind in ('value', 'gradient', 'mutation') then coalesce((select tensor from observation "             \
	"where finding = f.id and verdict <> 'pass' and program = s.program order by at, id limit 1), '') else '' end, "                       \
	"case when json_valid(cast(a.bytes as text)) then json_extract(cast(a.bytes as text), '$.pattern') end, "                              \
	"case when json_valid(cast(a.bytes as text)) then json_extract(cast(a.bytes as text), '$.wrong') end, "
#define UNCONFIRMED                                                                                                                        \
	"coalesce((select payload from event e where e.finding = f.id and e.kind = 'unconfirmed' and not exists (select 1 from event l where " \
	"l.finding = f.id and l.kind = 'confirmed' and l.at >= e.at) order by e.at desc limit 1), '') "
#define FROM                                                                                                                               \
	"from finding_summary s join finding f on f.id = s.finding join program p on p.id = s.program "                                        \
	"left join artifact a on a.finding = f.id and a.name = 'facts' and not exists (select 1 from artifact b "                              \
	"where b.finding = f.id and b.name = 'facts' and (b.at, b.id) > (a.at, a.id)) where s.rowid = ?1"

static const char listed_sql[] = LISTED "'' " FROM, whole_sql[] = LISTED UNCONFIRMED FROM;

struct reading {
	struct store_causes *out;
	const struct groups *g;
	int *group; /* of each cause */
	struct arena *a;
};

static const char *time_text(int64_t at, struct arena *a)
{
	char text[32];
	store_time_text(text, at);
	return arena_strdup(a, text);
}

/* Causes come in the order of their groups. */
static void take_cause(void *ctx, int nth, const struct store_value *v)
{
	const struct reading *r = ctx;
	const struct cause_group *g = &r->g->of[nth];
	const char *without = strstr(g->cause, NOT_TRIAGED);
	struct store_cause *c = &r->out->cause[r->out->n];
	if (r->out->n && r->group[r->out->n - 1] == nth)
		return; /* a damaged index says it twice */
	*c = (struct store_cause){.full_id = g->shown->full_id,
		.id = g->shown->id,
		.text = without ? without + strlen(NOT_TRIAGED) : g->cause,
		.triaged = !without,
		.minimised = v[MINIMISED].i != 0,
		.open = g->open,
		.signature = value_text_in(r->a, &v[SIGNATURE]),
		.title = "",
		.reach = g->reach,
		.blame = value_text_in(r->a, &v[BLAME]),
		.unconfirmed = value_text_in(r->a, &v[NOT_CONFIRMED]),
		.target = value_text_in(r->a, &v[TARGET]),
		.ops = value_text_in(r->a, &v[OPS]),
		.program = value_text_in(r->a, &v[PROGRAM]),
		.issue = "",
		.raised = value_text_in(r->a, &v[RAISED]),
		.tensor = value_text_in(r->a, &v[TENSOR]),
		.pattern = value_text_in(r->a, &v[PATTERN]),
		.nwrong = v[NWRONG].i,
		.first_seen = time_text(g->first_seen, r->a),
		.last_seen = time_text(g->last_seen, r->a),
		.nfindings = g->n,
		.nobs = g->nobs};
	if (!finding_severity_find(&c->severity, g->severity)) /* an event may say anything */
		c->severity = SEVERITY_NORMAL;
	if (!finding_kind_find(&c->kind, value_text_in(r->a, &v[KIND])))
		BUG("a foreign key holds");
	r->group[r->out->n++] = nth;
}

static enum store_status read_causes(const struct reading *r, struct store *s, const char *sql)
{
	int64_t *shown = ARENA_NEW(r->a, int64_t, MAX(r->g->n, 1));
	for (int i = 0; i < r->g->n; i++)
		shown[i] = r->g->of[i].shown->row;
	return store_read_each(s, sql, shown, r->g->n, take_cause, (void *)(uintptr_t)r);
}

/* ---- what else is said of findings --------------------------------------------------------------------------------------------------- */

/* The latest of a finding comes first. */
static const char issues_sql[] =
	"select e.finding, i.url from event e join issue i on i.id = e.issue where e.issue is not null order by e.at desc, e.id desc";
static const char variants_sql[] =
	"select finding, cast(bytes as text) from artifact where name = 'variant' order by finding, at desc, id desc";

struct issues {
	const struct groups *g;
	const char **of; /* each group */
};

static bool take_issue(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	const struct issues *x = ctx;
	(void)ncols, (void)names;
	const struct member *f = v ? groups_find(x->g, &v[0]) : NULL;
	if (f && f->group >= 0 && !x->of[f->group])
		x->of[f->group] = value_text_in(x->g->a, &v[1]);
	return true;
}

static bool take_variant(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	const struct groups *g = ctx;
	(void)ncols, (void)names;
	struct member *f = v ? groups_find(g, &v[0]) : NULL;
	if (f && !f->own)
		f->own = value_text_in(g->a, &v[1]);
	return true;
}

static enum store_status read_issues(const struct reading *r, struct store *s)
{
	struct issues x = {r->g, ARENA_ZNEW(r->a, const char *, MAX(r->g->n, 1))};
	const enum store_status status = store_read(s, issues_sql, take_issue, &x);
	for (int i = 0; i < r->out->n; i++)
		if (x.of[r->group[i]])
			r->out->cause[i].issue = x.of[r->group[i]];
	return status;
}

static void add_variant(struct store_cause *c, const struct member *f, const char *cause, struct arena *a)
{
	enum { MOST = 64 }; /* stores are anybody's */
	struct store_variant *room = (struct store_variant *)(uintptr_t)c->variant;
	const char *own = f->own ? f->own : cause;
	int i = 0;
	if (!room)
		c->variant = room = ARENA_ZNEW(a, struct store_variant, MIN(c->nids, MOST));
	while (i < c->nvariants && !str_eq(room[i].text, own))
		i++;
	if (i == MOST)
		return;
	if (i == c->nvariants)
		room[c->nvariants++] = (struct store_variant){.text = own, .ids = ARENA_NEW(a, const char *, c->nids)};
	((const char **)(uintptr_t)room[i].ids)[room[i].nids++] = f->id;
}

/* ---- their versions ------------------------------------------------------------------------------------------------------------------ */

static int older_first(const void *a, const void *b) { return version_compare(*(const char *const *)a, *(const char *const *)b); }

/* The words of its findings' texts, each once, in the order of versions. */
static void give_versions(struct store_cause *c, struct member *const *f, struct arena *a)
{
	enum { MOST = 256 };
	const char *word[MOST];
	int nwords = 0;
	for (int i = 0; i < c->nids; i++)
		for (const char *s = f[i]->versions; *s; s += strspn(s, " ")) {
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
	const char **versions = ARENA_NEW(a, const char *, nwords);
	for (int k = 0; k < nwords; k++)
		versions[k] = word[k];
	c->versions = versions;
	c->nversions = nwords;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------------------- */

static void give_findings(struct store_cause *c, const struct cause_group *g, struct arena *a)
{
	const char **column[3];
	int *const numbers = ARENA_NEW(a, int, g->n);
	for (int k = 0; k < ARRAY_LEN(column); k++)
		column[k] = ARENA_NEW(a, const char *, g->n);
	c->nids = g->n;
	c->ids = column[0];
	c->states = column[1];
	c->targets = column[2];
	c->numbers = numbers;
	c->number = g->of[0]->number;
	for (int i = 0; i < g->n; i++) {
		const char *const word[ARRAY_LEN(column)] = {g->of[i]->id, g->of[i]->state, g->of[i]->target};
		for (int k = 0; k < ARRAY_LEN(column); k++)
			column[k][i] = word[k];
		numbers[i] = g->of[i]->number;
		add_variant(c, g->of[i], g->cause, a);
	}
	if (c->nvariants < 2)
		c->nvariants = 0;
	give_versions(c, g->of, a);
}

static enum store_status read_all(struct store_causes *out, struct store *s, bool whole, struct arena *a)
{
	struct groups g;
	struct reading r = {.out = out, .g = &g, .a = a};
	enum store_status status = groups_read(&g, s, a);
	if (status != STORE_OK)
		return status;
	r.group = ARENA_NEW(a, int, MAX(g.n, 1));
	out->cause = ARENA_NEW(a, struct store_cause, MAX(g.n, 1));
	status = read_causes(&r, s, whole ? whole_sql : listed_sql);
	if (status == STORE_OK && whole)
		status = read_issues(&r, s);
	if (status == STORE_OK && whole)
		status = store_read(s, variants_sql, take_variant, &g);
	for (int i = 0; i < out->n && status == STORE_OK; i++)
		give_findings(&out->cause[i], &g.of[r.group[i]], a);
	return status;
}

static enum store_status read_at_once(struct store_causes *out, struct store *s, bool whole, struct arena *a)
{
	bool own;
	*out = (struct store_causes){.n = 0};
	enum store_status status = store_snapshot(s, &own);
	if (status != STORE_OK)
		return status;
	status = read_all(out, s, whole, a);
	store_snapshot_end(s, own);
	return status;
}

enum store_status store_causes(struct store_causes *out, struct store *s, struct arena *a) { return read_at_once(out, s, true, a); }
enum store_status store_causes_listed(struct store_causes *out, struct store *s, struct arena *a) { return read_at_once(out, s, false, a); }

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
	enum store_status status = store_read(s,
		arena_printf(a,
			"select lower(hex(g.finding)) from finding_cause g where g.cause = (select cause from finding_cause where finding = x'%s') "
			"order by 1",
			c->full_id),
		take_id, &g);
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
