/* store_cause.c: one query, ordered as causes are counted; then words that people type, looked up in its answer. */
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
	STATES,
	TARGETS,
	OPS,
	IDS,
	KIND,
	TARGET,
	PROGRAM,
	MINIMISED,
	UNCONFIRMED,
	ISSUE,
	SIGNATURE,
	OPEN,
	VERSIONS,
	RAISED,
	TENSOR,
	PATTERN,
	NWRONG,
	NUMBER,
	NUMBERS,
	NCOLUMNS
};

static const char sql[] =
	"with seen as materialized (select distinct g.cause, e.version from finding_cause g join observation_count o on "
	"o.finding = g.finding and o.verdict <> 'pass' join environment e on e.id = o.environment "
	"where e.version <> '' and instr(e.version, ' ') = 0), "
	"versions as materialized (select cause, group_concat(version, ' ') as text from seen group by cause), "
	"issues as materialized (select g.cause, i.url, max(e.at) from event e join issue i on i.id = e.issue join finding_cause g on "
	"g.finding = e.finding group by g.cause) "
	"select c.cause, c.full_id, c.severity, c.reach, c.blame, c.nfindings, c.nobs, c.first_seen, c.last_seen, c.states, c.targets, c.ops, "
	"c.ids, f.kind, s.target, p.text, s.minimised, "
	"coalesce((select payload from event e where e.finding = f.id and e.kind = 'unconfirmed' and not exists (select 1 from event l where "
	"l.finding = f.id and l.kind = 'confirmed' and l.at >= e.at) order by e.at desc limit 1), ''), "
	"coalesce(u.url, ''), s.signature, "
	"c.open, "
	"coalesce(n.text, ''), case when f.kind = 'raise' then coalesce((select detail from observation where finding = f.id and "
	"verdict <> 'pass' and program = s.program order by at, id limit 1), (select detail from observation where finding = f.id and "
	"verdict <> 'pass' order by at, id limit 1), '') else '' end, "
	"coalesce((select tensor from observation where finding = f.id and verdict <> 'pass' and program = s.program "
	"order by at, id limit 1), ''), "
	"case when json_valid(cast(a.bytes as text)) then json_extract(cast(a.bytes as text), '$.pattern') end, "
	"case when json_valid(cast(a.bytes as text)) then json_extract(cast(a.bytes as text), '$.wrong') end, c.number, c.numbers "
	"from v_causes c left join versions n on n.cause = c.cause left join issues u on u.cause = c.cause "
	"join finding f on lower(hex(f.id)) = c.full_id "
	"join finding_summary s on s.finding = f.id join program p on p.id = s.program "
	"left join artifact a on a.id = (select id from artifact where finding = f.id and name = 'facts' order by at desc, id limit 1) "
	"order by c.place";

struct reading {
	struct store_causes *out;
	struct arena *a;
	int cap;
};

static const char *text_at(const struct store_value *v, struct arena *a) { return arena_strdup(a, v->s ? v->s : ""); }

/* "a b c": *n words. */
static const char *const *words_of(int *n, const char *text, struct arena *a)
{
	int most = 1;
	for (const char *s = text; *s; s++)
		most += *s == ' ';
	const char **word = ARENA_NEW(a, const char *, most);
	*n = 0;
	for (const char *s = text; *s; s += strspn(s, " ")) {
		const size_t len = strcspn(s, " ");
		word[(*n)++] = arena_printf(a, "%.*s", (int)len, s);
		s += len;
	}
	return word;
}

static int older_first(const void *a, const void *b) { return version_compare(*(const char *const *)a, *(const char *const *)b); }

/* "2.15.0 2.9.0": in the order of versions. */
static const char *const *versions_of(int *n, const char *text, struct arena *a)
{
	const char **word = (const char **)(uintptr_t)words_of(n, text, a);
	if (*n > 1)
		qsort(word, (size_t)*n, sizeof *word, older_first);
	return word;
}

static struct store_cause cause_of_row(const struct store_value *v, struct arena *a)
{
	int n;
	const char *const cause = text_at(&v[CAUSE], a), *without = strstr(cause, NOT_TRIAGED);
	struct store_cause c = {.number = (int)v[NUMBER].i,
		.full_id = text_at(&v[FULL_ID], a),
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
		.issue = text_at(&v[ISSUE], a),
		.raised = text_at(&v[RAISED], a),
		.tensor = text_at(&v[TENSOR], a),
		.pattern = text_at(&v[PATTERN], a),
		.nwrong = v[NWRONG].i,
		.first_seen = text_at(&v[FIRST], a),
		.last_seen = text_at(&v[LAST], a),
		.nfindings = v[NFINDINGS].i,
		.nobs = v[NOBS].i};
	c.id = arena_printf(a, "%.*s", STORE_ID_DIGITS, c.full_id);
	if (!finding_severity_find(&c.severity, text_at(&v[SEVERITY], a))) /* an event may say anything */
		c.severity = SEVERITY_NORMAL;
	if (!finding_kind_find(&c.kind, text_at(&v[KIND], a)))
		BUG("a foreign key holds");
	c.numbers = words_of(&n, text_at(&v[NUMBERS], a), a);
	c.ids = words_of(&c.nids, text_at(&v[IDS], a), a);
	c.versions = versions_of(&c.nversions, text_at(&v[VERSIONS], a), a);
	c.states = words_of(&n, text_at(&v[STATES], a), a);
	c.targets = words_of(&n, text_at(&v[TARGETS], a), a);
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
		r->out->cause = ARENA_GROW(r->a, struct store_cause, r->out->cause, r->out->n, r->cap + 64);
		r->cap += 64;
	}
	r->out->cause[r->out->n] = cause_of_row(v, r->a);
	r->out->n++;
	return true;
}

/* ---- variants ------------------------------------------------------------------------------------------------------------------------ */

/* What cause.h says of each finding, where that is not one text for all findings of a cause. */
static const char variants_sql[] =
	"with own as materialized (select s.cause, s.finding, s.first_seen, coalesce((select cast(x.bytes as text) from artifact x where "
	"x.finding = s.finding and x.name = 'variant' order by x.at desc, x.id desc limit 1), s.cause) as text from finding_summary s), "
	"several as materialized (select cause from own group by cause having count(distinct text) > 1) "
	"select c.full_id, o.text, lower(hex(substr(o.finding, 1, 4))) from own o join several using (cause) join v_causes c using (cause) "
	"order by o.first_seen, o.finding";

/* The variant of that text; NULL: there are too many. Stores are anybody's. */
static struct store_variant *variant_of(struct store_cause *c, const char *text, struct arena *a)
{
	enum { MOST = 64 };
	struct store_variant *room = (struct store_variant *)(uintptr_t)c->variant;
	for (int i = 0; i < c->nvariants; i++)
		if (str_eq(room[i].text, text))
			return &room[i];
	if (c->nvariants == MOST)
		return NULL;
	if (!room)
		c->variant = room = ARENA_ZNEW(a, struct store_variant, MOST);
	room[c->nvariants] = (struct store_variant){.text = arena_strdup(a, text), .ids = ARENA_NEW(a, const char *, c->nids)};
	return &room[c->nvariants++];
}

static bool take_variant(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct reading *r = ctx;
	(void)ncols, (void)names;
	for (int i = 0; v && i < r->out->n; i++) {
		struct store_cause *c = &r->out->cause[i];
		struct store_variant *variant = str_eq(c->full_id, v[0].s) ? variant_of(c, v[1].s ? v[1].s : "", r->a) : NULL;
		if (variant && variant->nids < c->nids)
			((const char **)(uintptr_t)variant->ids)[variant->nids++] = text_at(&v[2], r->a);
	}
	return true;
}

enum store_status store_causes(struct store_causes *out, struct store *s, struct arena *a)
{
	struct reading r = {.out = out, .a = a};
	*out = (struct store_causes){.n = 0};
	const enum store_status status = store_query_sql(s, sql, NULL, take_row, &r);
	return status == STORE_OK ? store_query_sql(s, variants_sql, NULL, take_variant, &r) : status;
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
			if (atoi(all->cause[i].numbers[k]) == number)
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
			const size_t n = MIN(strlen(word), (size_t)STORE_ID_DIGITS);
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
