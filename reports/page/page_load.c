/* page_load.c: lists by one query each, for the whole store; of a cause its representative, with its artifacts. */
#include "reports/page/page_load.h"

#include <stdlib.h>

#include "eager/lang/prog.h"

/* ---- rows of queries ----------------------------------------------------------------------------------------------------------------- */

struct rows {
	struct page_store *out;
	struct arena *a;
	int cap;
};

static const char *text_at(const struct store_value *v, struct arena *a) { return v->s ? arena_strdup(a, v->s) : ""; }

/* Room for one more of an array that has n. */
#define ROOM(r, type, array, n)                                                                                                            \
	do {                                                                                                                                   \
		if ((n) == (r)->cap) {                                                                                                             \
			(array) = ARENA_GROW((r)->a, type, (array), (n), 2 * (r)->cap + 64);                                                           \
			(r)->cap = 2 * (r)->cap + 64;                                                                                                  \
		}                                                                                                                                  \
	} while (0)

static bool take_finding(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct rows *r = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	ROOM(r, struct page_finding, r->out->finding, r->out->nfindings);
	r->out->finding[r->out->nfindings++] = (struct page_finding){.full_id = text_at(&v[0], r->a),
		.target = text_at(&v[1], r->a),
		.state = text_at(&v[2], r->a),
		.severity = text_at(&v[3], r->a),
		.signature = text_at(&v[4], r->a),
		.first_seen = text_at(&v[5], r->a),
		.last_seen = text_at(&v[6], r->a),
		.nobs = v[7].i,
		.issue = text_at(&v[8], r->a),
		.since = text_at(&v[9], r->a),
		.script_versions = text_at(&v[10], r->a)};
	return true;
}

static bool take_tried(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct rows *r = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	ROOM(r, struct page_tried, r->out->tried, r->out->ntried);
	r->out->tried[r->out->ntried++] = (struct page_tried){text_at(&v[0], r->a), text_at(&v[1], r->a), text_at(&v[2], r->a), v[3].i, v[4].i};
	return true;
}

static bool take_run(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct rows *r = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	ROOM(r, struct page_run, r->out->run, r->out->nruns);
	r->out->run[r->out->nruns++] = (struct page_run){text_at(&v[0], r->a), text_at(&v[1], r->a), text_at(&v[2], r->a), v[3].i, v[4].i, 0};
	return true;
}

/* ---- the whole store ----------------------------------------------------------------------------------------------------------------- */

static const char findings_sql[] =
	"select lower(hex(f.id)), s.target, s.state, s.severity, s.signature, "
	"strftime('%Y-%m-%dT%H:%M:%SZ', s.first_seen / 1000, 'unixepoch'), "
	"strftime('%Y-%m-%dT%H:%M:%SZ', s.last_seen / 1000, 'unixepoch'), s.nobs, "
	"coalesce((select i.url from event e join issue i on i.id = e.issue where e.finding = f.id order by e.at desc limit 1), ''), "
	"coalesce((select cast(t.bytes as text) from artifact t where t.finding = f.id and t.name = 'since' order by t.at desc "
	"limit 1), ''), "
	"coalesce((select cast(t.bytes as text) from artifact t where t.finding = f.id and t.name = 'script_versions' order by t.at desc "
	"limit 1), '') "
	"from finding f join finding_summary s on s.finding = f.id order by f.id";
static const char runs_sql[] =
	"select started, policy, target, sum(n), sum(n * (verdict in ('mismatch', 'invariant', 'crash', 'hang'))) from v_counters where policy "
	"not in ('repro', 'check', 'minimise', 'triage', 'recheck', 'sweep') group by run, target order by started, run, target";
static const char tried_sql[] =
	"select op, dtype, target, sum(passed + diverging), sum(diverging) from v_tried group by 1, 2, 3 having sum(passed + diverging) "
	"order by 1, 2, 3";

static int by_id(const void *key, const void *row) { return strncmp(key, ((const struct page_finding *)row)->full_id, strlen(key)); }

static const struct page_finding *finding_of(const struct page_store *all, const char *id)
{
	return all->nfindings ? bsearch(id, all->finding, (size_t)all->nfindings, sizeof *all->finding, by_id) : NULL;
}

const struct page_finding *page_finding_next(int *at, const struct page_store *all, const struct store_cause *c)
{
	while (*at < c->nids) {
		const struct page_finding *f = finding_of(all, c->ids[(*at)++]);
		if (f)
			return f;
	}
	return NULL;
}

bool cause_has_state(const struct store_cause *c, const char *state)
{
	for (int i = 0; i < c->nids; i++)
		if (str_eq(c->states[i], state))
			return true;
	return false;
}

/* A run begins, and the next one: which causes were first seen between them, on its target? */
static void count_new_causes(struct page_store *all)
{
	for (int i = 0; i < all->nruns; i++) {
		struct page_run *r = &all->run[i];
		const char *end = NULL;
		for (int k = i + 1; k < all->nruns && !end; k++)
			end = str_eq(all->run[k].at, r->at) ? NULL : all->run[k].at;
		for (int k = 0; k < all->causes.n; k++) {
			const struct store_cause *c = &all->causes.cause[k];
			r->new_causes += str_eq(c->target, r->target) && strcmp(c->first_seen, r->at) >= 0 && !(end && strcmp(c->first_seen, end) >= 0);
		}
	}
}

/* ---- words of a cause ---------------------------------------------------------------------------------------------------------------- */

static bool word_among(const struct page_words *w, const char *word)
{
	for (int i = 0; i < w->n; i++)
		if (str_eq(w->word[i], word))
			return true;
	return false;
}

static void add_word(struct page_words *w, const char **room, const char *word)
{
	if (word_among(w, word))
		return;
	room[w->n++] = word;
	w->word = room;
}

static struct page_words words_of(const char *text, struct arena *a)
{
	struct page_words w = {0};
	int most = 1;
	for (const char *s = text; *s; s++)
		most += *s == ' ';
	const char **room = ARENA_NEW(a, const char *, most);
	for (const char *s = text; *s; s += strspn(s, " ")) {
		const size_t n = strcspn(s, " ");
		add_word(&w, room, arena_printf(a, "%.*s", (int)n, s));
		s += n;
	}
	return w;
}

static struct page_words dtypes_of(const char *program, struct arena *a)
{
	struct page_words w = {0};
	struct err err = {0};
	struct arena once;
	arena_init(&once);
	struct prog *p = ARENA_NEW(&once, struct prog, 1);
	const char **room = ARENA_NEW(a, const char *, NDTYPES);
	if (prog_read(p, &once, program, strlen(program), READ_STRICT, &err))
		for (int i = 0; i < p->nnode; i++)
			if (p->node[i].nout)
				add_word(&w, room, dtype_info[node_meta(p, i)->dtype].name);
	arena_free(&once);
	return w;
}

static const char *right_on(const struct page_finding *f, struct arena *a)
{
	if (!f || (!f->since[0] && !f->script_versions[0]))
		return "";
	struct json_doc *since = json_doc_open(f->since, strlen(f->since)),
					*script = json_doc_open(f->script_versions, strlen(f->script_versions));
	const struct page_versions v = page_versions_of(since, script, a);
	json_doc_close(since);
	json_doc_close(script);
	return page_versions_right_on(&v);
}

static struct page_row row_of(const struct page_store *all, const struct store_cause *c, struct arena *a)
{
	return (struct page_row){.ops = words_of(c->ops, a),
		.dtypes = dtypes_of(c->program, a),
		.versions = {c->nversions, c->versions},
		.right_on = right_on(finding_of(all, c->full_id), a)};
}

enum store_status page_store_load(struct page_store *out, struct store *s, const char *db, struct arena *a)
{
	static const struct {
		const char *sql;
		store_row_fn *take;
		bool may_fail; /* a view that not every schema has */
	} list[] = {{findings_sql, take_finding, false}, {runs_sql, take_run, false}, {tried_sql, take_tried, true}};
	*out = (struct page_store){.db = db};
	enum store_status status = store_causes(&out->causes, s, a);
	for (int i = 0; i < ARRAY_LEN(list) && status == STORE_OK; i++) {
		struct rows r = {.out = out, .a = a};
		status = store_query_sql(s, list[i].sql, NULL, list[i].take, &r);
		if (status == STORE_BAD && list[i].may_fail)
			status = STORE_OK;
	}
	if (status != STORE_OK)
		return status;
	out->row = ARENA_ZNEW(a, struct page_row, out->causes.n);
	for (int i = 0; i < out->causes.n; i++)
		out->row[i] = row_of(out, &out->causes.cause[i], a);
	count_new_causes(out);
	return STORE_OK;
}

/* ---- one cause ----------------------------------------------------------------------------------------------------------------------- */

static struct json_doc *document(const struct store_loaded *f, const char *name)
{
	const struct store_loaded_artifact *kept = store_loaded_artifact(f, name);
	return json_doc_open(kept ? kept->bytes : "", kept ? kept->nbytes : 0);
}

static const char *text_of(const struct store_loaded *f, const char *name)
{
	const struct store_loaded_artifact *kept = store_loaded_artifact(f, name);
	return kept ? kept->bytes : "";
}

/* What collect_env said; else what the store knows of where it was found. */
static const char *environment_of(const struct store_loaded *f, struct arena *a)
{
	const char *kept = text_of(f, "environment");
	if (kept[0] || !f->nenvs)
		return kept;
	const struct store_loaded_env *e = &f->env[0];
	const char *const said[] = {e->versions, e->device, e->machine};
	const char *text = "";
	for (int i = 0; i < ARRAY_LEN(said); i++)
		if (said[i][0])
			text = arena_printf(a, "%s%s\n", text, said[i]);
	return text;
}

enum store_status page_load(struct cause_page *out, const struct page_store *all, const struct store_cause *c, struct store *s,
	const struct upstream *known, struct arena *a)
{
	struct hash128 id;
	struct cause_page p = {.all = all, .c = c, .row = &all->row[c - all->causes.cause], .where = ""};
	enum store_status status = store_find_by_prefix(s, &id, c->full_id);
	if (status == STORE_OK)
		status = store_load_finding(s, &p.f, &id, a);
	if (status != STORE_OK)
		return status;
	p.facts = document(&p.f, "facts");
	p.sweep = document(&p.f, "sweep");
	p.since = document(&p.f, "since");
	p.matrix = document(&p.f, "matrix");
	struct json_doc *tried = document(&p.f, "script_versions");
	p.versions = page_versions_of(p.since, tried, a);
	json_doc_close(tried);
	p.environment = environment_of(&p.f, a);
	p.script = text_of(&p.f, "script");
	p.short_script = p.script[0] != 0;
	p.nupstream = upstream_like(&p.upstream, known, c, a);
	*out = p;
	return STORE_OK;
}

void page_close(struct cause_page *p)
{
	json_doc_close(p->facts);
	json_doc_close(p->sweep);
	json_doc_close(p->since);
	json_doc_close(p->matrix);
	p->facts = p->sweep = p->since = p->matrix = NULL;
}
