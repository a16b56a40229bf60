/* cause_group.c: a hash table of causes while summaries are read; then two sorts of pointers to findings, by id and by when they were seen
 * first, and one of the causes. */
#include "reports/cause/cause_group.h"

#include <stdlib.h>
#include <strings.h>

static const char *text_of(const struct store_value *v) { return v->s ? v->s : ""; }

const char *value_text_in(struct arena *a, const struct store_value *v) { return arena_strdup(a, text_of(v)); }

/* Of a foreign key; what is no hash, in a damaged store, is of no finding. */
static struct hash128 hash_of(const struct store_value *v)
{
	struct hash128 h = {{0}};
	if (v->nbytes == sizeof h)
		memcpy(&h, v->s, sizeof h);
	return h;
}

/* ---- causes by name ------------------------------------------------------------------------------------------------------------------ */

/* Where the cause of that name stands in the table, or would. */
static int *slot_of(const struct groups *g, const char *cause)
{
	const unsigned last = (unsigned)g->nslots - 1;
	const struct hash128 hash = hash_bytes(cause, strlen(cause));
	uint64_t h = get_le(hash.b, sizeof h);
	while (g->slot[h & last] >= 0 && !str_eq(g->of[g->slot[h & last]].cause, cause))
		h++;
	return &g->slot[h & last];
}

/* Room for one more; at most half of the slots are taken. */
static void make_room(struct groups *g)
{
	if (g->n < g->cap)
		return;
	const int more = 2 * g->cap + 32;
	g->of = ARENA_GROW(g->a, struct cause_group, g->of, g->cap, more);
	g->cap = more;
	for (g->nslots = 1; g->nslots < 2 * more;)
		g->nslots *= 2;
	g->slot = ARENA_NEW(g->a, int, g->nslots);
	for (int i = 0; i < g->nslots; i++)
		g->slot[i] = -1;
	for (int i = 0; i < g->n; i++)
		*slot_of(g, g->of[i].cause) = i;
}

/* As LIKE finds it, whatever the case. */
static bool says_not_triaged(const char *cause)
{
	const size_t n = strlen(NOT_TRIAGED);
	for (const char *s = cause; (s = strchr(s, NOT_TRIAGED[0])) != NULL; s++)
		if (strncasecmp(s, NOT_TRIAGED, n) == 0)
			return true;
	return false;
}

static int group_of(struct groups *g, const char *cause)
{
	make_room(g);
	int *at = slot_of(g, cause);
	if (*at < 0) {
		*at = g->n;
		g->of[g->n++] = (struct cause_group){
			.cause = arena_strdup(g->a, cause), .triaged = !says_not_triaged(cause), .first_seen = INT64_MAX, .last_seen = INT64_MIN};
	}
	return *at;
}

/* ---- reading summaries --------------------------------------------------------------------------------------------------------------- */

static const char states_sql[] = "select name from finding_state where open";

static bool take_state(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct groups *g = ctx;
	enum finding_state state;
	(void)ncols, (void)names;
	if (v && finding_state_find(&state, text_of(&v[0])))
		g->open |= (uint64_t)1 << state;
	return true;
}

enum { CAUSE, FINDING, STATE, TARGET, VERSIONS, FIRST, LAST, NOBS, SEVERITY, REACH, MINIMISED, LENGTH, ROW };
static const char summaries_sql[] =
	"select cause, finding, state, target, versions, first_seen, last_seen, nobs, severity, reach, minimised, length, rowid "
	"from finding_summary";

static void count_in(struct cause_group *c, const struct store_value *v, bool open, struct arena *a)
{
	const char *severity = text_of(&v[SEVERITY]), *reach = text_of(&v[REACH]);
	if (!c->n || strcmp(severity, c->severity) < 0)
		c->severity = arena_strdup(a, severity);
	if (!c->n || strcmp(reach, c->reach) > 0)
		c->reach = arena_strdup(a, reach);
	if (!add_i64(&c->nobs, c->nobs, v[NOBS].i)) /* stores are anybody's */
		c->nobs = INT64_MAX;
	c->open |= open;
	c->first_seen = MIN(c->first_seen, v[FIRST].i);
	c->last_seen = MAX(c->last_seen, v[LAST].i);
	c->n++;
}

static bool take_summary(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct groups *g = ctx;
	enum finding_state state;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (g->nmembers == g->member_cap) {
		g->member = ARENA_GROW(g->a, struct member, g->member, g->nmembers, 2 * g->member_cap + 64);
		g->member_cap = 2 * g->member_cap + 64;
	}
	const bool known = finding_state_find(&state, text_of(&v[STATE]));
	struct member *f = &g->member[g->nmembers++];
	char *full_id = ARENA_NEW(g->a, char, 2 * sizeof f->finding + 1);
	*f = (struct member){.finding = hash_of(&v[FINDING]),
		.full_id = full_id,
		.row = v[ROW].i,
		.state = known ? finding_state_name[state] : value_text_in(g->a, &v[STATE]),
		.target = value_text_in(g->a, &v[TARGET]),
		.versions = value_text_in(g->a, &v[VERSIONS]),
		.group = known ? group_of(g, text_of(&v[CAUSE])) : -1,
		.open = known && (g->open >> state & 1),
		.first_seen = v[FIRST].i,
		.minimised = v[MINIMISED].i,
		.length = v[LENGTH].i};
	hash_hex(full_id, &f->finding);
	if (known)
		count_in(&g->of[f->group], v, f->open, g->a);
	return true;
}

/* ---- orders -------------------------------------------------------------------------------------------------------------------------- */

static int compare_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_full_id(const void *a, const void *b)
{
	const struct member *f = *(struct member *const *)a, *g = *(struct member *const *)b;
	return memcmp(&f->finding, &g->finding, sizeof f->finding);
}

static int by_first_seen(const void *a, const void *b)
{
	const int c = compare_i64((*(struct member *const *)a)->first_seen, (*(struct member *const *)b)->first_seen);
	return c ? c : by_full_id(a, b);
}

/* Is f rather than g what represents their cause? */
static bool is_better(const struct member *f, const struct member *g)
{
	int c = f->open - g->open;
	c = c ? c : compare_i64(f->minimised, g->minimised);
	c = c ? c : compare_i64(g->length, f->length);
	c = c ? c : compare_i64(g->first_seen, f->first_seen);
	return (c ? c : memcmp(&g->finding, &f->finding, sizeof f->finding)) > 0;
}

static int by_place(const void *a, const void *b)
{
	const struct cause_group *f = a, *g = b;
	int c = g->open - f->open;
	c = c ? c : strcmp(f->severity, g->severity);
	c = c ? c : str_eq(f->reach, "aten") - str_eq(g->reach, "aten");
	c = c ? c : g->triaged - f->triaged;
	c = c ? c : compare_i64(g->nobs, f->nobs);
	return c ? c : strcmp(f->cause, g->cause);
}

static struct member **sorted(const struct groups *g, int (*order)(const void *, const void *))
{
	struct member **f = ARENA_NEW(g->a, struct member *, MAX(g->nmembers, 1));
	for (int i = 0; i < g->nmembers; i++)
		f[i] = &g->member[i];
	if (g->nmembers > 1)
		qsort(f, (size_t)g->nmembers, sizeof(struct member *), order);
	return f;
}

/* ---- ids, numbers, groups ------------------------------------------------------------------------------------------------------------ */

static int alike(const char *a, const char *b)
{
	int n = 0;
	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static void give_ids(struct groups *g)
{
	int before = 0;
	for (int i = 0; i < g->nmembers; i++) {
		struct member *f = g->by_id[i];
		const int after = i + 1 < g->nmembers ? alike(f->full_id, g->by_id[i + 1]->full_id) : 0;
		char *id = arena_strdup(g->a, f->full_id);
		id[MIN(MAX(STORE_ID_DIGITS, MAX(before, after) + 1), 2 * (int)sizeof f->finding)] = '\0';
		f->id = id;
		before = after;
	}
}

/* Findings that come in the order in which they were seen first. */
static void give_members(struct groups *g, struct member *const *f)
{
	struct member **room = ARENA_NEW(g->a, struct member *, MAX(g->nmembers, 1));
	for (int i = 0; i < g->n; i++) {
		g->of[i].of = room;
		room += g->of[i].n;
		g->of[i].n = 0;
	}
	for (int i = 0; i < g->nmembers; i++) {
		f[i]->number = i + 1;
		if (f[i]->group < 0)
			continue;
		struct cause_group *c = &g->of[f[i]->group];
		c->of[c->n++] = f[i];
		if (!c->shown || is_better(f[i], c->shown))
			c->shown = f[i];
	}
}

static void put_in_order(struct groups *g)
{
	g->by_id = sorted(g, by_full_id);
	give_ids(g);
	give_members(g, sorted(g, by_first_seen));
	if (g->n > 1)
		qsort(g->of, (size_t)g->n, sizeof *g->of, by_place);
	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < g->of[i].n; k++)
			g->of[i].of[k]->group = i;
}

enum store_status groups_read(struct groups *g, struct store *s, struct arena *a)
{
	*g = (struct groups){.a = a};
	enum store_status status = store_read(s, states_sql, take_state, g);
	if (status == STORE_OK)
		status = store_read(s, summaries_sql, take_summary, g);
	if (status == STORE_OK)
		put_in_order(g);
	return status;
}

struct member *groups_find(const struct groups *g, const struct store_value *finding)
{
	struct member wanted = {.finding = hash_of(finding)}, *key = &wanted;
	struct member **found = g->nmembers ? bsearch(&key, g->by_id, (size_t)g->nmembers, sizeof(struct member *), by_full_id) : NULL;
	return found ? *found : NULL;
}
