/* cause_join.c: all findings that have a cause in memory, in the order in which they were first seen; the first cause that fits counts. */
#include "fuzz/triage/cause_join.h"

#include <strings.h>

#include "eager/base/clock.h"

struct answer {
	const char *version;
	bool fails;
};
struct joined {
	const char *id, *cause; /* 32 hex digits; "": no cause yet */
	const char *own;        /* what cause.h said of it; where nothing was kept its cause */
	const char *key;
	struct cause_evidence evidence;
	int64_t at; /* of its latest cause; milliseconds */
	int nanswers, cap;
	struct answer *answer;
};
struct cause_join {
	struct arena *a;
	int n, cap;
	struct joined *of;
	int last; /* of rows that come finding by finding: where the last one was */
};

/* ---- reading ------------------------------------------------------------------------------------------------------------------------- */

/* Its latest artifact of the name that stands between these, as text. */
#define KEPT      "(select cast(x.bytes as text) from artifact x where x.finding = s.finding and x.name = '"
#define KEPT_LAST "' order by x.at desc, x.id desc limit 1) as "
#define SAID      "(select payload from event e where e.finding = s.finding and e.kind = '"
#define SAID_LAST "' order by e.at desc, e.id desc limit 1)"
/* %s: a finding that need not have a cause. */
#define WHO                                                                                                                                \
	"from finding_summary s join finding f on f.id = s.finding where (exists (select 1 from event e where e.finding = s.finding "          \
	"and e.kind = 'cause') or lower(hex(s.finding)) = '%s')"

static const char findings_sql[] = "with kept as materialized (select lower(hex(s.finding)) as id, f.kind, s.first_seen, "
								   "coalesce(" SAID "cause" SAID_LAST ", '') as cause, coalesce(" SAID "cure" SAID_LAST ", '') as cure, "
								   "coalesce((select max(e.at) from event e where e.finding = s.finding and e.kind = 'cause'), 0) as at, "
								   "" KEPT VARIANT_ARTIFACT KEPT_LAST "variant, " KEPT "facts" KEPT_LAST "facts " WHO ") "
								   "select id, cause, coalesce(variant, ''), kind, cure, case when json_valid(facts) then "
								   "coalesce(json_extract(facts, '$.predicted'), '') else '' end, at from kept order by first_seen, id";

/* Rows of lists of JSON objects, each in a document about the finding's present program. */
static const char answers_sql[] =
	"with kept as materialized (select lower(hex(s.finding)) as id, lower(hex(s.program)) as program, s.first_seen, "
	"f.family || substr(s.target, instr(s.target, ':')) as stage, "
	"" KEPT "since" KEPT_LAST "since, " KEPT "matrix" KEPT_LAST "matrix " WHO "), "
	"own as materialized (select id, first_seen, stage, "
	"case when json_valid(since) and json_extract(since, '$.program') = program then since else '{}' end as since, "
	"case when json_valid(matrix) and json_extract(matrix, '$.program') = program then matrix else '{}' end as matrix from kept), "
	"said as (select o.id, o.first_seen, o.stage, case v.type when 'object' then v.value else '{}' end as x "
	"from own o, json_each(since, '$.versions') v "
	"union all select o.id, o.first_seen, o.stage, case v.type when 'object' then v.value else '{}' end "
	"from own o, json_each(matrix, '$.cells') v) "
	"select id, json_extract(x, '$.version'), coalesce(json_extract(x, '$.verdict'), json_extract(x, '$.answer')) as word from said "
	"where coalesce(json_extract(x, '$.stage'), stage) = stage and word in ('fails', 'passes') order by first_seen, id";

static bool take_finding(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct cause_join *j = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (j->n == j->cap) {
		j->of = ARENA_GROW(j->a, struct joined, j->of, j->n, 2 * j->cap + 64);
		j->cap = 2 * j->cap + 64;
	}
	struct joined *f = &j->of[j->n++];
	*f = (struct joined){.id = arena_strdup(j->a, v[0].s), .cause = arena_strdup(j->a, v[1].s), .at = v[6].i};
	f->own = v[2].s && v[2].s[0] ? arena_strdup(j->a, v[2].s) : f->cause;
	f->evidence = (struct cause_evidence){
		arena_strdup(j->a, v[3].s), arena_strdup(j->a, v[4].s), v[5].type == STORE_TEXT ? arena_strdup(j->a, v[5].s) : ""};
	f->key = cause_key(f->own, &f->evidence, j->a);
	return true;
}

static bool take_answer(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct cause_join *j = ctx;
	(void)ncols, (void)names;
	if (!v || v[1].type != STORE_TEXT)
		return true;
	int at = j->last; /* both lists have the same order */
	while (at < j->n && !str_eq(j->of[at].id, v[0].s))
		at++;
	if (at == j->n) /* somebody has stored it meanwhile */
		return true;
	struct joined *f = &j->of[j->last = at];
	if (f->nanswers == f->cap) {
		f->answer = ARENA_GROW(j->a, struct answer, f->answer, f->nanswers, f->cap + 8);
		f->cap += 8;
	}
	f->answer[f->nanswers++] = (struct answer){arena_strdup(j->a, v[1].s), str_eq(v[2].s, "fails")};
	return true;
}

enum store_status cause_join_load(struct cause_join **out, struct store *s, const char *finding, struct arena *a)
{
	struct cause_join *j = ARENA_ZNEW(a, struct cause_join, 1);
	CHECK(finding[strspn(finding, "0123456789abcdef")] == 0);
	j->a = a;
	enum store_status status = store_query_sql(s, arena_printf(a, findings_sql, finding), NULL, take_finding, j);
	if (status == STORE_OK)
		status = store_query_sql(s, arena_printf(a, answers_sql, finding), NULL, take_answer, j);
	*out = j;
	return status;
}

/* ---- joining ------------------------------------------------------------------------------------------------------------------------- */

static struct joined *joined_of(const struct cause_join *j, const char *finding)
{
	for (int i = 0; i < j->n; i++)
		if (str_eq(j->of[i].id, finding))
			return &j->of[i];
	BUG("cause_join: finding %.32s was not loaded", finding);
}

/* Is there a version on which one fails and the other is right? */
static bool versions_differ(const struct joined *f, const struct joined *g)
{
	for (int i = 0; i < f->nanswers; i++)
		for (int k = 0; k < g->nanswers; k++)
			if (f->answer[i].fails != g->answer[k].fails && str_eq(f->answer[i].version, g->answer[k].version))
				return true;
	return false;
}

static bool fits(const struct cause_join *j, const struct joined *f, const char *cause)
{
	for (int i = 0; i < j->n; i++)
		if (&j->of[i] != f && str_eq(j->of[i].cause, cause) && versions_differ(f, &j->of[i]))
			return false;
	return true;
}

bool cause_join_fits(const struct cause_join *j, const char *finding, const char *cause) { return fits(j, joined_of(j, finding), cause); }

static const char *versions_text(const struct joined *f, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int fails = 1; fails >= 0; fails--) {
		const char *before = fails ? "; fails on " : "; right on ";
		for (int i = 0; i < f->nanswers; i++) {
			bool again = f->answer[i].fails != fails;
			for (int k = 0; k < i; k++)
				again |= str_eq(f->answer[i].version, f->answer[k].version);
			if (again)
				continue;
			sb_printf(&sb, "%s%s", before, f->answer[i].version);
			before = ", ";
		}
	}
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

/* Of nobody whose versions are others. Its present one, if that still is one of its own. */
static const char *own_cause(const struct cause_join *j, const struct joined *f, const char *text)
{
	const bool told_apart = str_starts(f->cause, arena_printf(j->a, "%s; fails on ", text));
	const char *name = told_apart ? f->cause : text;
	if (fits(j, f, name))
		return name;
	name = arena_printf(j->a, "%s%s", text, versions_text(f, j->a));
	for (int n = 2; !fits(j, f, name); n++) /* what was known when somebody got that name was less than what is known now */
		name = arena_printf(j->a, "%s%s (%d)", text, versions_text(f, j->a), n);
	return name;
}

const char *cause_join_of(struct cause_join *j, const char *finding, const char *text, const struct cause_evidence *e)
{
	struct joined *f = joined_of(j, finding);
	const char *key = cause_key(text, e, j->a);
	for (int i = 0; i < j->n; i++) {
		const struct joined *g = &j->of[i];
		if (g != f && g->cause[0] && (str_eq(g->key, key) || str_eq(g->cause, text)) && fits(j, f, g->cause))
			return g->cause;
	}
	return own_cause(j, f, text);
}

/* ---- settling ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status record(struct store *s, const struct joined *f, const char *cause, const char *tool)
{
	struct store_event e = {.at = MAX(clock_unix_ms(), f->at + 1), .kind = EVENT_CAUSE, .tool = tool, .payload = cause};
	enum store_status status = store_find_by_prefix(s, &e.finding, f->id);
	if (status == STORE_OK)
		status = store_event(s, &e);
	if (status == STORE_OK && str_eq(f->own, f->cause)) /* its text would be lost with its cause */
		status = store_artifact(s, &e.finding, VARIANT_ARTIFACT, e.at, f->own, strlen(f->own));
	return status;
}

static enum store_status settle_one(int *nchanged, struct cause_join *j, struct store *s, struct joined *f, const char *tool)
{
	const char *cause = cause_join_of(j, f->id, f->own, &f->evidence);
	if (str_eq(cause, f->cause))
		return STORE_OK;
	enum store_status status = tool ? record(s, f, cause, tool) : STORE_OK;
	f->cause = cause;
	++*nchanged;
	return status;
}

enum store_status cause_settle(int *nchanged, struct store *s, const char *finding, const char *tool)
{
	struct arena a;
	struct cause_join *j;
	arena_init(&a);
	*nchanged = 0;
	enum store_status status = cause_join_load(&j, s, finding, &a);
	for (int i = j->n - 1; i >= 0 && status == STORE_OK; i--) /* so that the earliest finding's text is the cause's */
		if (j->of[i].cause[0] && (!finding[0] || str_eq(j->of[i].id, finding)))
			status = settle_one(nchanged, j, s, &j->of[i], tool);
	arena_free(&a);
	return status;
}
