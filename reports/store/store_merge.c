/* store_merge.c: adding one store to another.
 *
 * Shared rows are a set (their key is their content), so merging them is union. Each run has one writer, so its counters only
 * grow, and the greater one is the later one. Of observations, those that store.h says are kept: "the least k of a union" is a union
 * too. Which findings one store's sightings show to be back after another store's fix is concluded from all rows, anew at each merge
 * (store_after_fix.c). Hence commutative, associative, idempotent. Programs that nothing refers to then are deleted, summaries computed
 * again. */
#include <sys/stat.h>

#include "reports/store/store_internal.h"

enum { USUAL_KIB = 2000 }; /* SQLite's own, for everything else */

struct merge {
	struct store *dst;
	struct store *src;
};

/* Runs fn on each row of a query over src. */
typedef enum store_status merge_row_fn(struct merge *m, sqlite3_stmt *row, void *ctx);

static enum store_status src_failed(struct merge *m, int rc)
{
	enum store_status status = store_fail(m->src, rc, "reading");
	return store_refuse(m->dst, status, "%s", m->src->message.s);
}

static enum store_status each_src_row(struct merge *m, const char *sql, merge_row_fn *fn, void *ctx)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(m->src->db, sql, -1, &row, NULL);
	enum store_status status = rc == SQLITE_OK ? STORE_OK : src_failed(m, rc);
	while (status == STORE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW)
		status = fn(m, row, ctx);
	if (status == STORE_OK && rc != SQLITE_DONE)
		status = src_failed(m, rc);
	sqlite3_finalize(row);
	return status;
}

static enum store_status damaged(struct merge *m, const char *table)
{
	return store_refuse(m->dst, STORE_CORRUPT, "%s: a row of table %s is damaged, nothing was merged", m->src->path, table);
}

static bool type_fits(char want, char have) { return want == 'B' ? have == 'b' || have == 'n' : want == have; }

static enum store_status merge_shared_row(struct merge *m, sqlite3_stmt *row, void *ctx)
{
	const enum table_id *which = ctx;
	const struct table_shape *t = &store_table[*which];
	struct column_value v[STORE_MAX_COLS];
	struct hash128 claimed, id;
	CHECK(t->ncols < STORE_MAX_COLS);
	for (int i = 0; i < t->ncols; i++) {
		v[i] = value_column(row, i + 1);
		if (!type_fits(t->types[i], v[i].type))
			return damaged(m, t->name);
	}
	id = table_key(t, v);
	if (!column_hash(&claimed, row, 0) || memcmp(&claimed, &id, sizeof id) != 0)
		return damaged(m, t->name);
	enum store_status status = store_put(m->dst, &id, *which, v);
	return status == STORE_BAD ? damaged(m, t->name) : status; /* a constraint that src should have kept */
}

static enum store_status merge_shared(struct merge *m, enum table_id which)
{
	struct strbuf sql;
	sb_init(&sql);
	sb_printf(&sql, "SELECT id, %s FROM %s ORDER BY id", store_table[which].columns, store_table[which].name);
	enum store_status status = each_src_row(m, sql.s, merge_shared_row, &which);
	sb_free(&sql);
	return status;
}

/* ---- tables with a key of several columns: copied by a statement --------------------------------------------------------- */

static const struct copy {
	const char *table, *select, *insert;
} copies[] = {
	{"program_op", "SELECT op, program FROM program_op ORDER BY 2, 1",
		"INSERT INTO program_op (op, program) VALUES (?, ?) ON CONFLICT (op, program) DO NOTHING"},
	{"counter", "SELECT run, draw, environment, verdict, n FROM counter ORDER BY 1, 2, 3, 4",
		"INSERT INTO counter (run, draw, environment, verdict, n) VALUES (?, ?, ?, ?, ?)"
		" ON CONFLICT (run, draw, environment, verdict) DO UPDATE SET n = max(n, excluded.n)"},
	{"observation_count", "SELECT finding, environment, run, verdict, n, first, last FROM observation_count ORDER BY 1, 2, 3, 4",
		"INSERT INTO observation_count (finding, environment, run, verdict, n, first, last) VALUES (?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (finding, environment, run, verdict) DO UPDATE SET n = max(n, excluded.n),"
		" first = min(first, excluded.first), last = max(last, excluded.last)"},
};

struct copying {
	const struct copy *copy;
	sqlite3_stmt *insert;
};

static enum store_status copy_row(struct merge *m, sqlite3_stmt *row, void *ctx)
{
	struct copying *c = ctx;
	for (int i = 0; i < sqlite3_column_count(row); i++) {
		struct column_value v = value_column(row, i);
		bind_value(c->insert, i + 1, &v);
	}
	enum store_status status = store_run_stmt(m->dst, c->insert, "merging");
	return status == STORE_BAD ? damaged(m, c->copy->table) : status;
}

static enum store_status copy_table(struct merge *m, const struct copy *copy)
{
	struct copying c = {.copy = copy};
	int rc = sqlite3_prepare_v2(m->dst->db, copy->insert, -1, &c.insert, NULL);
	enum store_status status = rc == SQLITE_OK ? each_src_row(m, copy->select, copy_row, &c) : store_fail(m->dst, rc, "merging");
	sqlite3_finalize(c.insert);
	return status;
}

/* One read transaction on src, so that its tables fit together. */
static enum store_status merge_all(struct merge *m)
{
	int rc = sqlite3_exec(m->src->db, "BEGIN", NULL, NULL, NULL);
	enum store_status status = rc == SQLITE_OK ? STORE_OK : src_failed(m, rc);
	for (int t = 0; t < NTABLES && status == STORE_OK; t++)
		status = merge_shared(m, (enum table_id)t);
	for (int i = 0; i < ARRAY_LEN(copies) && status == STORE_OK; i++)
		status = copy_table(m, &copies[i]);
	if (status == STORE_OK)
		status = trim_all_observations(m->dst);
	if (status == STORE_OK)
		status = conclude_from_merged(m->dst);
	if (status == STORE_OK)
		status = summary_update(m->dst, NULL);
	return status == STORE_OK ? totals_rebuild(m->dst) : status;
}

/* Rows come in the order of their keys, which are hashes: an index by anything else is written all over the place, again and again, unless
 * most of its pages stay in memory. */
static void keep_pages(struct store *s, int kib)
{
	char pragma[48];
	snprintf(pragma, sizeof pragma, "PRAGMA cache_size=-%d", kib);
	sqlite3_exec(s->db, pragma, NULL, NULL, NULL); /* a matter of speed alone */
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;
	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

enum store_status store_merge(struct store *dst, const char *src_path)
{
	struct err err = {0};
	enum store_status status;
	if (same_file(dst->path, src_path))
		return STORE_OK;
	struct merge m = {.dst = dst, .src = store_open(&status, src_path, STORE_READ, &err)};
	if (!m.src)
		return store_refuse(dst, status, "%s", err.msg);
	keep_pages(dst, STORE_MERGE_MIB << 10);
	status = write_enter(dst);
	if (status == STORE_OK)
		status = merge_all(&m);
	status = write_leave(dst, status);
	keep_pages(dst, USUAL_KIB);
	sqlite3_db_release_memory(dst->db);
	store_abandon(m.src);
	return status;
}
