/* store_query.c: SQL from people, on a connection that cannot write anything anywhere.
 *
 * `mode=ro` would not do: it still lets ATTACH and VACUUM INTO create files, and query_only can be switched off by the query.
 * So the authorizer answers every prepared action, and permits four: SELECT, READ, RECURSIVE, and FUNCTION but for the few
 * functions that reach outside. Temporary tables and sorts stay in memory; nothing can be attached. The connection is opened
 * writable, and read once before the authorizer is there, so that a hot journal is rolled back first. Memory has a hard limit, and
 * whoever asks can stop the query.
 *
 * SQL of this program's own is asked on the store's connection, which has its pages in memory already. */
#include <strings.h>

#include "reports/store/store_internal.h"

static const char *const outside[] = {
	"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zipfile", "fsdir", "lsmode", "sqlar_uncompress"};

static int authorize(void *ctx, int action, const char *a, const char *b, const char *db, const char *inner)
{
	(void)ctx, (void)a, (void)db, (void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_FUNCTION:
		for (int i = 0; i < ARRAY_LEN(outside); i++)
			if (b && strcasecmp(b, outside[i]) == 0)
				return SQLITE_DENY;
		return SQLITE_OK;
	default: return SQLITE_DENY;
	}
}

struct asking {
	store_stop_fn *stop;
	void *ctx;
};

static int ask_whether_to_stop(void *p)
{
	struct asking *asking = p;
	return asking->stop(asking->ctx);
}

/* Far more than a person's query needs. */
static const struct {
	int id, most;
} limits[] = {
	{SQLITE_LIMIT_LENGTH, STORE_MAX_BLOB + (1 << 20)},
	{SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
	{SQLITE_LIMIT_COLUMN, 500},
	{SQLITE_LIMIT_EXPR_DEPTH, 500},
	{SQLITE_LIMIT_COMPOUND_SELECT, 200},
	{SQLITE_LIMIT_VDBE_OP, 1 << 20},
	{SQLITE_LIMIT_FUNCTION_ARG, 100},
	{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
	{SQLITE_LIMIT_VARIABLE_NUMBER, 100},
	{SQLITE_LIMIT_ATTACHED, 0},
	{SQLITE_LIMIT_WORKER_THREADS, 0},
};

static int guard(sqlite3 *db)
{
	int rc = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema; PRAGMA query_only=ON", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	/* These come into being when first used, which the authorizer would take for CREATE TABLE. Absent: so be it. */
	sqlite3_exec(db, "SELECT 1 FROM json_each('[]'); SELECT 1 FROM json_tree('[]')", NULL, NULL, NULL);
	for (int i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(db, limits[i].id, limits[i].most);
	return rc == SQLITE_OK ? sqlite3_set_authorizer(db, authorize, NULL) : rc;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

static struct store_value column_value(sqlite3_stmt *st, int col)
{
	switch (sqlite3_column_type(st, col)) {
	case SQLITE_INTEGER: return (struct store_value){.type = STORE_INT, .i = sqlite3_column_int64(st, col)};
	case SQLITE_FLOAT: return (struct store_value){.type = STORE_REAL, .r = sqlite3_column_double(st, col)};
	case SQLITE_TEXT: {
		const char *s = (const char *)sqlite3_column_text(st, col);
		return (struct store_value){.type = STORE_TEXT, .s = s ? s : "", .nbytes = s ? (size_t)sqlite3_column_bytes(st, col) : 0};
	}
	case SQLITE_BLOB: {
		const char *s = sqlite3_column_blob(st, col);
		return (struct store_value){.type = STORE_BLOB, .s = s ? s : "", .nbytes = s ? (size_t)sqlite3_column_bytes(st, col) : 0};
	}
	default: return (struct store_value){.type = STORE_NULL};
	}
}

/* A value can be larger in the hand than in the store (zeroblob): its memory is asked for only now. */
static int take_values(struct store_value *value, sqlite3_stmt *st, int ncols)
{
	for (int i = 0; i < ncols; i++)
		value[i] = column_value(st, i);
	return sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_ROW;
}

int store_each_row(sqlite3_stmt *st, store_row_fn *row, void *ctx)
{
	struct arena a;
	int ncols = sqlite3_column_count(st), rc = SQLITE_DONE;
	arena_init(&a);
	const char **names = ARENA_NEW(&a, const char *, ncols);
	struct store_value *value = ARENA_NEW(&a, struct store_value, ncols);
	for (int i = 0; i < ncols; i++) {
		const char *name = sqlite3_column_name(st, i);
		names[i] = arena_strdup(&a, name ? name : "");
	}
	bool go = row(ctx, ncols, names, NULL);
	while (go && (rc = sqlite3_step(st)) == SQLITE_ROW && (rc = take_values(value, st, ncols)) == SQLITE_ROW)
		go = row(ctx, ncols, names, value);
	arena_free(&a);
	return go ? rc : SQLITE_DONE;
}

/* ---- one statement --------------------------------------------------------------------------------------------------------- */

/* The person's own error, or the world's. */
static enum store_status query_failed(struct store *s, sqlite3 *db, int rc)
{
	enum store_status status = rc == SQLITE_ERROR ? STORE_BAD : store_classify(db, rc);
	switch (rc & 0xff) {
	case SQLITE_AUTH: return store_refuse(s, STORE_BAD, "findings are only read by SQL: %s", sqlite3_errmsg(db));
	case SQLITE_INTERRUPT: return store_refuse(s, STORE_BAD, "the query was stopped");
	case SQLITE_NOMEM: return store_refuse(s, STORE_BAD, "the query needs more memory than %d MiB", STORE_QUERY_MIB);
	default: return store_refuse(s, status == STORE_OK ? STORE_IO : status, "SQL error: %s", sqlite3_errmsg(db));
	}
}

/* Only white space, comments and semicolons may follow the statement. */
static bool nothing_more(sqlite3 *db, const char *tail)
{
	while (tail && *tail) {
		sqlite3_stmt *st = NULL;
		const char *next = NULL;
		int rc = sqlite3_prepare_v2(db, tail, -1, &st, &next);
		sqlite3_finalize(st);
		if (rc != SQLITE_OK || st || next == tail)
			return false;
		tail = next;
	}
	return true;
}

static enum store_status run_guarded(struct store *s, sqlite3 *db, const char *sql, store_row_fn *row, void *ctx)
{
	sqlite3_stmt *st = NULL;
	const char *tail = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, &tail);
	if (rc != SQLITE_OK)
		return query_failed(s, db, rc);
	enum store_status status = STORE_OK;
	if (!st)
		status = store_refuse(s, STORE_BAD, "no SQL statement is given");
	else if (!nothing_more(db, tail))
		status = store_refuse(s, STORE_BAD, "one SQL statement at a time");
	else if (!sqlite3_stmt_readonly(st) || sqlite3_column_count(st) == 0)
		status = store_refuse(s, STORE_BAD, "findings are only read by SQL");
	if (status == STORE_OK) {
		rc = store_each_row(st, row, ctx);
		if (rc != SQLITE_DONE)
			status = query_failed(s, db, rc);
	}
	sqlite3_finalize(st);
	return status;
}

enum store_status store_query_sql(struct store *s, const char *sql, store_stop_fn *stop, store_row_fn *row, void *ctx)
{
	enum { UNIT = 1000 };
	int rc;
	struct asking asking = {stop, ctx};
	sqlite3 *db = s->in_memory ? store_copy(s->db, &rc) : store_connect(s->path, false, &rc);
	if (rc == SQLITE_OK)
		rc = guard(db);
	/* The limit is this process's, not the connection's: what is there already does not count. */
	sqlite3_int64 before = sqlite3_hard_heap_limit64(sqlite3_memory_used() + ((sqlite3_int64)STORE_QUERY_MIB << 20));
	enum store_status status;
	if (rc == SQLITE_OK) {
		if (stop)
			sqlite3_progress_handler(db, UNIT, ask_whether_to_stop, &asking);
		status = run_guarded(s, db, sql, row, ctx);
	} else {
		status = store_refuse(s, store_classify(db, rc), "%s: %s", s->path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
	}
	sqlite3_close(db);
	sqlite3_hard_heap_limit64(before);
	return status;
}

/* ---- this program's own SQL ------------------------------------------------------------------------------------------------ */

static const char reading_findings[] = "reading findings";

enum store_status store_read(struct store *s, const char *sql, store_row_fn *row, void *ctx)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = store_each_row(st, row, ctx);
	const enum store_status status = rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, reading_findings);
	sqlite3_finalize(st);
	return status;
}

enum store_status store_read_each(struct store *s, const char *sql, const int64_t *key, int n, store_row_of_fn *row, void *ctx)
{
	enum { MOST = 32 };
	struct store_value value[MOST];
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	const int ncols = sqlite3_column_count(st);
	CHECK(ncols <= MOST);
	rc = rc == SQLITE_OK ? SQLITE_DONE : rc;
	for (int i = 0; i < n && rc == SQLITE_DONE; i++) {
		sqlite3_bind_int64(st, 1, key[i]);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW && (rc = take_values(value, st, ncols)) == SQLITE_ROW)
			row(ctx, i, value);
		sqlite3_reset(st);
	}
	const enum store_status status = rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, reading_findings);
	sqlite3_finalize(st);
	return status;
}
