/* bench_store.c: what a large findings store costs: reading it as commands and people do, and merging it with another one.
 *
 * Each question is asked three times and the fastest counts, on a connection of its own, as `findings` has one: what a person waits for
 * beside starting a process and printing. Columns are CPU time and wall time; a goal is of either, on a machine that does nothing else.
 * With --db only reading, of that store. */
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/base/clock.h"
#include "eager/base/proc_dir.h"
#include "fuzz/cli/bench.h"
#include "fuzz/cli/large_store.h"
#include "fuzz/triage/title.h"
#include "reports/page/html.h"
#include "reports/page/page_json.h"

enum { VIEW_MS = 100, CAUSES_MS = 50, OVERVIEW_MS = 5000, MERGE_MS = 60000, TURNS = 3 };

struct store_bench {
	const struct bench_table *table;
	struct err *err;
	struct arena a;
	const char *path;    /* the store that is asked */
	bool theirs;         /* it was there already: it is only read */
	const char *id;      /* of one of its findings */
	const char *program; /* of one of its programs */
	struct store *open;
	const char *sql;                   /* what is asked … */
	const struct store_filter *filter; /* … or listed */
	const char *other;                 /* … or merged */
	struct hash128 finding;            /* … or loaded */
	size_t overview;                   /* bytes of a report's first page */
	int64_t nrows;
};

/* ---- timing ------------------------------------------------------------------------------------------------------------------------ */

typedef bool action_fn(struct store_bench *b);

static bool timed(struct store_bench *b, const char *name, action_fn *act, int turns, double goal)
{
	double cpu = INFINITY, wall = INFINITY;
	for (int i = 0; i < turns; i++) {
		const double cpu_before = clock_cpu_s(), before = clock_ms();
		b->nrows = 0;
		if (!act(b))
			return false;
		cpu = fmin(cpu, (clock_cpu_s() - cpu_before) * 1e3);
		wall = fmin(wall, clock_ms() - before);
	}
	table_row(b->table, name, (double[]){cpu, wall, goal, (double)b->nrows});
	return true;
}

static bool ok(struct store_bench *b, struct store *s, enum store_status status)
{
	return status == STORE_OK || err_set(b->err, "%s", store_message(s));
}

static bool count_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	(void)ncols, (void)names;
	*(int64_t *)ctx += v != NULL;
	return true;
}

static bool open_as(struct store_bench *b, enum store_mode mode)
{
	enum store_status status;
	struct store *s = store_open(&status, b->path, mode, b->err);
	return s && (store_close(s, b->err) == STORE_OK);
}
static bool open_to_read(struct store_bench *b) { return open_as(b, STORE_READ); }
static bool open_to_write(struct store_bench *b) { return open_as(b, STORE_WRITE); }

static bool ask(struct store_bench *b) { return ok(b, b->open, store_query_sql(b->open, b->sql, NULL, count_row, &b->nrows)); }

static bool list(struct store_bench *b) { return ok(b, b->open, store_list(b->open, b->filter, count_row, &b->nrows)); }

/* As `findings causes` prints them, titles included. */
static bool causes(struct store_bench *b)
{
	struct store_causes all;
	struct arena a;
	arena_init(&a);
	enum store_status status = store_causes_listed(&all, b->open, &a);
	titles_write(&all, &a);
	b->nrows = all.n;
	arena_free(&a);
	return ok(b, b->open, status);
}

static bool show(struct store_bench *b)
{
	struct store_loaded f;
	struct arena a;
	arena_init(&a);
	enum store_status status = store_load_finding(b->open, &f, &b->finding, &a);
	b->nrows = status == STORE_OK ? f.nobs_stored : 0;
	arena_free(&a);
	return ok(b, b->open, status);
}

/* As `report` writes its first page. */
static bool overview(struct store_bench *b)
{
	struct page_store all;
	struct strbuf json, html;
	struct arena a;
	arena_init(&a);
	sb_init(&json);
	sb_init(&html);
	enum store_status status = page_store_load(&all, b->open, b->path, &a);
	if (status == STORE_OK) {
		titles_write(&all.causes, &a);
		overview_json(&json, &all, "", &a);
		html_page(&html, page_index_html, &json);
		b->nrows = all.causes.n;
		b->overview = html.len;
	}
	sb_free(&json);
	sb_free(&html);
	arena_free(&a);
	return ok(b, b->open, status);
}

static bool merge(struct store_bench *b)
{
	enum store_status status;
	struct store *s = store_open(&status, b->path, STORE_CREATE, b->err);
	if (!s)
		return false;
	bool done = ok(b, s, store_merge(s, b->other)) && ok(b, s, store_query_sql(s, "SELECT 1 FROM finding", NULL, count_row, &b->nrows));
	store_abandon(s);
	return done;
}

/* ---- what is asked ------------------------------------------------------------------------------------------------------------------- */

/* Views with many rows per finding, as people read them; every other view is read whole. %s: a finding's or program's id. */
static const struct {
	const char *view, *name, *sql;
} parts[] = {
	{"v_observations", "v_observations of a finding", "SELECT * FROM v_observations WHERE id = '%s'"},
	{"v_events", "v_events of a finding", "SELECT * FROM v_events WHERE id = '%s'"},
	{"v_events", "v_events, the last 100", "SELECT * FROM v_events ORDER BY at DESC LIMIT 100"},
	{"v_by_version", "v_by_version of a finding", "SELECT * FROM v_by_version WHERE id = '%s'"},
	{"v_programs", "v_programs of an id", "SELECT * FROM v_programs WHERE id = '%s'"},
	{"v_tried", "v_tried of an operator", "SELECT * FROM v_tried WHERE op = 'slice_scatter'"},
};

static bool ask_view(struct store_bench *b, const char *view)
{
	bool whole = true, done = true;
	for (int i = 0; done && i < ARRAY_LEN(parts); i++) {
		if (!str_eq(parts[i].view, view))
			continue;
		whole &= str_eq(view, "v_tried");
		b->sql = arena_printf(&b->a, parts[i].sql, str_eq(view, "v_programs") ? b->program : b->id);
		done = timed(b, parts[i].name, ask, TURNS, VIEW_MS);
	}
	b->sql = arena_printf(&b->a, "SELECT * FROM %s", view);
	return done && (!whole || timed(b, view, ask, TURNS, VIEW_MS));
}

struct names {
	struct arena *a;
	const char *name[64];
	int n;
};

static bool take_name(void *ctx, int ncols, const char *const *columns, const struct store_value *v)
{
	struct names *all = ctx;
	(void)ncols, (void)columns;
	if (v && all->n < ARRAY_LEN(all->name))
		all->name[all->n++] = arena_strdup(all->a, v[0].s ? v[0].s : "");
	return true;
}

static bool names_of(struct names *out, struct store_bench *b, const char *sql)
{
	*out = (struct names){.a = &b->a};
	return ok(b, b->open, store_query_sql(b->open, sql, NULL, take_name, out));
}

static bool ask_views(struct store_bench *b)
{
	struct names views;
	bool done = names_of(&views, b, "SELECT name FROM sqlite_schema WHERE type = 'view' AND name GLOB 'v_*' ORDER BY rowid");
	CHECK(!done || (views.n > 0 && views.n < ARRAY_LEN(views.name)));
	for (int i = 0; done && i < views.n; i++)
		done = ask_view(b, views.name[i]);
	return done;
}

static bool ask_lists(struct store_bench *b)
{
	static const struct {
		const char *name;
		struct store_filter filter;
	} lists[] = {
		{"findings, all", {.since = INT64_MIN, .limit = -1}},
		{"findings --open --limit 50", {.since = INT64_MIN, .limit = 50, .states = STATES_OPEN}},
		{"findings --op sum", {.since = INT64_MIN, .limit = -1, .nops = 1, .op = {"sum"}}},
		{"findings --target --version",
			{.since = INT64_MIN, .limit = -1, .ntargets = 1, .target = {"torch:inductor@cpu"}, .nversions = 1, .version = {"2.15.0"}}},
		{"findings --severity high --kind value",
			{.since = INT64_MIN, .limit = -1, .severities = 1u << SEVERITY_HIGH, .kinds = 1u << FINDING_VALUE}},
	};
	bool done = true;
	for (int i = 0; done && i < ARRAY_LEN(lists); i++) {
		b->filter = &lists[i].filter;
		done = timed(b, lists[i].name, list, TURNS, VIEW_MS);
	}
	done = done && timed(b, "findings causes", causes, TURNS, CAUSES_MS);
	return done && timed(b, "findings show", show, TURNS, VIEW_MS) && timed(b, "report: the overview", overview, TURNS, OVERVIEW_MS);
}

/* The whole of what has no goal. */
static bool ask_wholes(struct store_bench *b)
{
	b->sql = "SELECT * FROM v_by_version";
	if (!timed(b, "v_by_version", ask, 1, NAN))
		return false;
	b->sql = "SELECT id FROM v_by_version GROUP BY full_id HAVING sum(nfail * (version = '2.11.0')) AND NOT sum(nfail * (version = "
			 "'2.15.0'))";
	return timed(b, "fails on 2.11.0, not on 2.15.0", ask, 1, NAN);
}

static bool reading(struct store_bench *b)
{
	enum store_status status;
	struct names one;
	if (!timed(b, "open to read", open_to_read, TURNS, VIEW_MS))
		return false;
	if (!b->theirs && !timed(b, "open to write", open_to_write, TURNS, NAN)) /* which would move an older store */
		return false;
	b->open = store_open(&status, b->path, STORE_READ, b->err);
	bool done = b->open && names_of(&one, b, "SELECT id FROM v_findings ORDER BY nobs DESC, full_id LIMIT 1");
	if (done && one.n == 0)
		done = err_set(b->err, "%s has no findings", b->path);
	if (done)
		b->id = one.name[0];
	done = done && names_of(&one, b, "SELECT id FROM v_programs LIMIT 1") && one.n == 1;
	if (done)
		b->program = one.name[0];
	done = done && ok(b, b->open, store_find_by_prefix(b->open, &b->finding, b->id));
	done = done && ask_views(b) && ask_lists(b) && ask_wholes(b);
	store_abandon(b->open);
	return done;
}

/* ---- the stores --------------------------------------------------------------------------------------------------------------------- */

static bool make(const char *path, const struct large_store *what, struct err *err)
{
	enum store_status status;
	struct large_counts n;
	if (access(path, F_OK) == 0)
		return err_set(err, "%s is there already", path);
	struct store *s = store_open(&status, path, STORE_CREATE, err);
	bool done = s && large_store_fill(&n, s, what, err);
	CHECK(!done || (n.findings == what->findings && n.observations == what->observations));
	return store_close(s, done ? err : NULL) == STORE_OK && done;
}

static double mib_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (double)st.st_size / (1 << 20) : 0;
}

static double peak_mib(void)
{
	struct rusage r;
	return getrusage(RUSAGE_SELF, &r) == 0 ? (double)r.ru_maxrss / 1024 : NAN;
}

static bool merging(struct store_bench *b, const char *store, const char *half, const char *into)
{
	const char *names[] = {"merge into an empty store", "merge with one of which half is new"};
	const char *from[] = {store, half};
	b->path = into;
	bool done = true;
	for (int i = 0; done && i < 2; i++) {
		b->other = from[i];
		done = timed(b, names[i], merge, 1, MERGE_MS);
	}
	return done;
}

static bool measure(const struct options *o, const char *dir, struct err *err)
{
	static const struct bench_column columns[] = {{"CPU ms", 10, 1}, {"wall ms", 10, 1}, {"goal ms", 8, 0}, {"rows", 9, 0}};
	const struct bench_table table = {o, "store", ARRAY_LEN(columns), columns};
	struct large_store what = {.findings = o->findings ? o->findings : 10000,
		.observations = o->observations ? o->observations : 1000000,
		.causes = o->causes ? o->causes : 500,
		.seed = o->seed};
	struct store_bench b = {.table = &table, .err = err, .path = o->db, .theirs = o->db != NULL};
	arena_init(&b.a);
	if (b.path) {
		table_begin(&table, "a store: reading (the fastest of three)");
		const bool read = reading(&b);
		arena_free(&b.a);
		return read;
	}
	const char *half = arena_printf(&b.a, "%s/half.db", dir), *into = arena_printf(&b.a, "%s/into.db", dir);
	b.path = o->keep ? o->keep : arena_printf(&b.a, "%s/store.db", dir);
	const char *store = b.path;
	double t = clock_s(), cpu = clock_cpu_s();
	bool done = make(store, &what, err);
	what.first = what.findings / 2;
	done = done && make(half, &what, err);
	if (done)
		bench_note(o, "two stores of %lld findings, %lld observations, %lld causes; %.0f MiB each; %.0f s to make (CPU %.0f s)",
			(long long)what.findings, (long long)what.observations, (long long)what.causes, mib_of(store), clock_s() - t,
			clock_cpu_s() - cpu);
	table_begin(&table, "a large store: reading (the fastest of three), and merging");
	done = done && reading(&b);
	const double before = peak_mib();
	done = done && merging(&b, store, half, into);
	if (done)
		bench_note(o, "the report's overview: %.1f MB", (double)b.overview / 1e6);
	if (done)
		bench_note(
			o, "memory at most: %.0f MiB reading, %.0f MiB merging; %.0f MiB of file after both merges", before, peak_mib(), mib_of(into));
	arena_free(&b.a);
	return done;
}

bool bench_store(const struct options *o, struct err *err)
{
	struct proc_dir dir;
	if (!proc_dir_make(&dir, err))
		return false;
	bool done = measure(o, dir.path, err);
	proc_dir_remove(&dir);
	return done;
}
