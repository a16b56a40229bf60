/* store_migrate.c: from an older schema to the present one, or from nothing.
 *
 * The one idea: what follows from other rows goes, what changes is renamed, what is missing then is created with the words of the present
 * schema, and filled from the renamed. So a migrated store has exactly the tables of a new one, and store_check_schema needs to know one
 * text per version. All of it is one transaction: a migration that fails or is killed leaves the older store. */
#include "reports/store/store_internal.h"
#include "eager/base/version.h"

extern const unsigned char store_migrate_2_aside_sql[], store_migrate_2_fill_sql[], store_migrate_3_sql[], store_migrate_4_sql[];

/* ---- functions for the migration's SQL ----------------------------------------------------------------------------------------- */

static struct column_value value_of(sqlite3_value *v)
{
	switch (sqlite3_value_type(v)) {
	case SQLITE_INTEGER: return value_int(sqlite3_value_int64(v));
	case SQLITE_TEXT: {
		const void *p = sqlite3_value_text(v);
		return (struct column_value){.type = 't', .p = p ? p : "", .n = p ? (size_t)sqlite3_value_bytes(v) : 0};
	}
	case SQLITE_BLOB: {
		const void *p = sqlite3_value_blob(v);
		return value_blob(p, p ? (size_t)sqlite3_value_bytes(v) : 0);
	}
	default: return (struct column_value){.type = 'n'};
	}
}

/* row_key(TABLE, COLUMN...): table_key. */
static void row_key(sqlite3_context *ctx, int n, sqlite3_value **arg)
{
	const char *name = n ? (const char *)sqlite3_value_text(arg[0]) : NULL;
	struct column_value v[STORE_MAX_COLS];
	int t = 0;
	while (name && t < NTABLES && !str_eq(store_table[t].name, name))
		t++;
	if (!name || t == NTABLES || store_table[t].ncols != n - 1) {
		sqlite3_result_error(ctx, "row_key: no such table", -1);
		return;
	}
	for (int i = 1; i < n; i++)
		v[i - 1] = value_of(arg[i]);
	struct hash128 key = table_key(&store_table[t], v);
	sqlite3_result_blob(ctx, key.b, sizeof key.b, SQLITE_TRANSIENT);
}

static void version_in(sqlite3_context *ctx, int n, sqlite3_value **arg)
{
	struct arena a;
	const char *text = n == 1 ? (const char *)sqlite3_value_text(arg[0]) : NULL;
	arena_init(&a);
	sqlite3_result_text(ctx, version_of_environment(text ? text : "", &a), -1, SQLITE_TRANSIENT);
	arena_free(&a);
}

/* create: or take them away again. */
static int functions(sqlite3 *db, bool create)
{
	enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
	int rc = sqlite3_create_function(db, "row_key", -1, FLAGS, NULL, create ? row_key : NULL, NULL, NULL);
	return rc == SQLITE_OK ? sqlite3_create_function(db, "version_in", 1, FLAGS, NULL, create ? version_in : NULL, NULL, NULL) : rc;
}

/* ---- the steps ------------------------------------------------------------------------------------------------------------------ */

/* Creates, in its order, what the present schema has and db lacks. */
static int create_missing(sqlite3 *db)
{
	sqlite3_stmt *want = NULL, *has = NULL;
	int rc, step = SQLITE_DONE;
	sqlite3 *fresh = store_fresh(STORE_SCHEMA_VERSION, &rc);
	if (!fresh)
		return rc;
	rc = sqlite3_prepare_v2(fresh, "SELECT name, sql FROM main.sqlite_master WHERE sql IS NOT NULL ORDER BY rowid", -1, &want, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "SELECT 1 FROM main.sqlite_master WHERE name = ?", -1, &has, NULL);
	while (rc == SQLITE_OK && (step = sqlite3_step(want)) == SQLITE_ROW) {
		sqlite3_bind_text(has, 1, (const char *)sqlite3_column_text(want, 0), -1, SQLITE_TRANSIENT);
		int found = sqlite3_step(has);
		sqlite3_reset(has);
		if (found == SQLITE_DONE)
			rc = sqlite3_exec(db, (const char *)sqlite3_column_text(want, 1), NULL, NULL, NULL);
		else if (found != SQLITE_ROW)
			rc = found;
	}
	sqlite3_finalize(want);
	sqlite3_finalize(has);
	sqlite3_close(fresh);
	return rc == SQLITE_OK && step != SQLITE_DONE ? step : rc;
}

/* Views, and the cache that some of them read. Whose they are has been looked at: the older schema's. */
static int drop_computed(sqlite3 *db)
{
	sqlite3_stmt *views = NULL;
	struct strbuf sql;
	sb_init(&sql);
	int step = SQLITE_DONE, rc = sqlite3_prepare_v2(db, "SELECT name FROM main.sqlite_master WHERE type = 'view'", -1, &views, NULL);
	while (rc == SQLITE_OK && (step = sqlite3_step(views)) == SQLITE_ROW)
		sb_printf(&sql, "DROP VIEW main.%s;", (const char *)sqlite3_column_text(views, 0));
	sqlite3_finalize(views);
	sb_puts(&sql, "DROP TABLE main.finding_summary");
	if (rc == SQLITE_OK)
		rc = step == SQLITE_DONE ? sqlite3_exec(db, sql.s, NULL, NULL, NULL) : step;
	sb_free(&sql);
	return rc;
}

static int run_sql(int rc, sqlite3 *db, const unsigned char *sql)
{
	return rc == SQLITE_OK ? sqlite3_exec(db, (const char *)sql, NULL, NULL, NULL) : rc;
}

/* With what only later versions have, as nothing of that is in its way. */
static int from_1(sqlite3 *db)
{
	int rc = run_sql(SQLITE_OK, db, store_migrate_2_aside_sql);
	if (rc == SQLITE_OK)
		rc = create_missing(db);
	return run_sql(rc, db, store_migrate_2_fill_sql);
}

static int from(int version, sqlite3 *db)
{
	int rc = functions(db, true);
	if (rc == SQLITE_OK)
		rc = drop_computed(db);
	if (rc == SQLITE_OK && version < 3)
		rc = version == 1 ? from_1(db) : create_missing(db);
	if (version < 3)
		rc = run_sql(rc, db, store_migrate_3_sql);
	if (version < 4)
		rc = run_sql(rc, db, store_migrate_4_sql);
	if (rc == SQLITE_OK)
		rc = create_missing(db);
	return rc == SQLITE_OK ? functions(db, false) : rc;
}

/* Inside the transaction. An older store is judged before anything of its schema can act. */
static enum store_status upgrade_locked(struct store *s, struct err *err)
{
	char pragma[96];
	int64_t version = 0;
	enum store_status status = STORE_OK;
	int rc = store_read_int(s->db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK && version >= STORE_SCHEMA_VERSION)
		return STORE_OK; /* somebody else was faster */
	if (rc == SQLITE_OK && version > 0)
		status = store_check_schema(s->db, (int)version, s->path, err);
	if (status != STORE_OK)
		return status;
	if (rc == SQLITE_OK)
		rc = version == 0 ? sqlite3_exec(s->db, store_schema_text(STORE_SCHEMA_VERSION), NULL, NULL, NULL) : from((int)version, s->db);
	snprintf(pragma, sizeof pragma, "PRAGMA application_id=%d; PRAGMA user_version=%d", STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, pragma, NULL, NULL, NULL);
	if (rc == SQLITE_OK && version > 0) {
		status = trim_all_observations(s);
		if (status == STORE_OK)
			status = summary_update(s, NULL);
		if (status == STORE_OK)
			status = totals_rebuild(s);
		return status == STORE_OK ? status : (err_set(err, "%s", s->message.s), status);
	}
	const char *doing = version ? "moving it to a newer schema" : "making its tables";
	return rc == SQLITE_OK ? STORE_OK : store_open_fail(err, s->db, rc, s->path, doing);
}

enum store_status store_upgrade(struct store *s, struct err *err)
{
	int rc = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return store_open_fail(err, s->db, rc, s->path, "moving it to a newer schema");
	enum store_status status = upgrade_locked(s, err);
	if (status == STORE_OK) {
		rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
		if (rc != SQLITE_OK)
			status = store_open_fail(err, s->db, rc, s->path, "moving it to a newer schema");
	}
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return status == STORE_BAD ? STORE_CORRUPT : status; /* a constraint that the older store should have kept */
}
