/* store_schema.c: is it our schema, our whole schema and nothing but our schema?
 *
 * A database file can hold programs: triggers, views, generated columns, checks, expressions in indices. So a store may have exactly
 * the objects that this version would create, word for word (SQLite does not look at the type that sqlite_master gives a trigger, and
 * compares names without case); the tables of words (states, kinds) decide what events mean, so their rows are compared too. */
#include <stdlib.h>

#include "eager/base/escape.h"
#include "reports/store/store_internal.h"

extern const unsigned char store_schema_sql[], store_schema_1_sql[], store_schema_2_sql[], store_schema_3_sql[], store_schema_4_sql[],
	store_schema_5_sql[];

const char *store_schema_text(int version)
{
	static const unsigned char *const text[] = {
		store_schema_1_sql, store_schema_2_sql, store_schema_3_sql, store_schema_4_sql, store_schema_5_sql, store_schema_sql};
	CHECK(version > 0 && version <= ARRAY_LEN(text) && ARRAY_LEN(text) == STORE_SCHEMA_VERSION);
	return (const char *)text[version - 1];
}

sqlite3 *store_fresh(int version, int *rc)
{
	sqlite3 *db = store_connect(":memory:", true, rc);
	if (*rc == SQLITE_OK)
		*rc = sqlite3_exec(db, store_schema_text(version), NULL, NULL, NULL);
	if (*rc == SQLITE_OK)
		return db;
	sqlite3_close(db);
	return NULL;
}

/* ---- comparing two queries row by row --------------------------------------------------------------------------------------- */

/* NULL, and anything that is no text, comes before every text. */
static int compare_text(sqlite3_stmt *a, sqlite3_stmt *b, int col)
{
	bool is_a = sqlite3_column_type(a, col) == SQLITE_TEXT, is_b = sqlite3_column_type(b, col) == SQLITE_TEXT;
	if (!is_a || !is_b)
		return is_a - is_b;
	const unsigned char *s = sqlite3_column_text(a, col), *t = sqlite3_column_text(b, col);
	int n = sqlite3_column_bytes(a, col), m = sqlite3_column_bytes(b, col);
	int c = memcmp(s ? (const char *)s : "", t ? (const char *)t : "", (size_t)MIN(n, m));
	return c ? c : (n > m) - (n < m);
}

static bool same_row(sqlite3_stmt *a, sqlite3_stmt *b)
{
	for (int i = 0; i < sqlite3_column_count(b); i++) {
		if (sqlite3_column_type(a, i) != sqlite3_column_type(b, i))
			return false;
		if (sqlite3_column_type(a, i) == SQLITE_TEXT && compare_text(a, b, i) != 0)
			return false;
		if (sqlite3_column_type(a, i) == SQLITE_INTEGER && sqlite3_column_int64(a, i) != sqlite3_column_int64(b, i))
			return false;
	}
	return true;
}

/* Two queries in the same order; what the first one's rows are in excess, in want, or differ is said by `complain`. */
typedef void complain_fn(struct err *err, const char *path, int version, sqlite3_stmt *have, sqlite3_stmt *want);

struct comparison {
	sqlite3 *db, *fresh;
	const char *sql, *path;
	int version;
	complain_fn *complain;
};

static int compare_rows(const struct comparison *c, sqlite3_stmt *have, sqlite3_stmt *want, bool *same, struct err *err)
{
	for (;;) {
		int h = sqlite3_step(have), w = sqlite3_step(want);
		if ((h != SQLITE_ROW && h != SQLITE_DONE) || (w != SQLITE_ROW && w != SQLITE_DONE))
			return h != SQLITE_ROW && h != SQLITE_DONE ? h : w;
		if (h == SQLITE_DONE && w == SQLITE_DONE)
			return SQLITE_OK;
		*same = h == w && same_row(have, want);
		if (*same)
			continue;
		bool excess = w == SQLITE_DONE || (h == SQLITE_ROW && compare_text(have, want, 0) < 0);
		bool lack = h == SQLITE_DONE || (w == SQLITE_ROW && compare_text(have, want, 0) > 0);
		c->complain(err, c->path, c->version, lack ? NULL : have, excess ? NULL : want);
		return SQLITE_OK;
	}
}

static int compare(const struct comparison *c, bool *same, struct err *err)
{
	sqlite3_stmt *have = NULL, *want = NULL;
	int rc = sqlite3_prepare_v2(c->db, c->sql, -1, &have, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(c->fresh, c->sql, -1, &want, NULL);
	*same = true;
	if (rc == SQLITE_OK)
		rc = compare_rows(c, have, want, same, err);
	sqlite3_finalize(have);
	sqlite3_finalize(want);
	return rc;
}

/* ---- what is wrong ---------------------------------------------------------------------------------------------------------- */

/* Of a name that may be hostile. */
static char *shown(sqlite3_stmt *st, int col)
{
	struct strbuf sb;
	const char *s = (const char *)sqlite3_column_text(st, col);
	size_t n = (size_t)sqlite3_column_bytes(st, col);
	sb_init(&sb);
	escape_cell(&sb, s ? s : "", s ? MIN(n, 80) : 0);
	char *out = xstrdup(sb.s);
	sb_free(&sb);
	return out;
}

/* Columns: name, type, table, SQL. */
static void wrong_object(struct err *err, const char *path, int version, sqlite3_stmt *have, sqlite3_stmt *want)
{
	sqlite3_stmt *st = have ? have : want;
	char *name = shown(st, 0), *type = shown(st, 1), *table = shown(st, 2);
	if (!want)
		err_set(err,
			"%s has a %s '%s' (on %s) that no findings store has: additions are refused, since they could act while the store is "
			"written; remove it or start from a good copy",
			path, type, name, table);
	else
		err_set(err,
			"%s has the marks of a findings store of schema version %d, but its tables are not those of that version: the %s '%s' is %s",
			path, version, type, name, have ? "another one" : "missing");
	free(name);
	free(type);
	free(table);
}

static void wrong_word(struct err *err, const char *path, int version, sqlite3_stmt *have, sqlite3_stmt *want)
{
	char *name = shown(have ? have : want, 0);
	err_set(err, "%s has the marks of a findings store of schema version %d, but its words are not those of that version: '%s' is %s", path,
		version, name,
		!want      ? "none of them"
			: have ? "another one"
				   : "missing");
	free(name);
}

/* ---- the check --------------------------------------------------------------------------------------------------------------- */

/* ANALYZE may have been run on a store: statistics in these very tables, which the query planner reads. */
#define STATISTICS                                                                                                                         \
	"(name = 'sqlite_stat1' AND type = 'table' AND tbl_name = 'sqlite_stat1'"                                                              \
	" AND sql = 'CREATE TABLE sqlite_stat1(tbl,idx,stat)') OR (name = 'sqlite_stat4' AND type = 'table' AND tbl_name = 'sqlite_stat4'"     \
	" AND sql = 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)')"

static const struct {
	const char *sql;
	complain_fn *complain;
} compared[] = {
	{"SELECT name, type, tbl_name, sql FROM main.sqlite_master WHERE (" STATISTICS ") IS NOT 1 ORDER BY 1, 2, 3, 4", wrong_object},
	{"SELECT * FROM finding_kind ORDER BY 1", wrong_word},
	{"SELECT * FROM finding_state ORDER BY 1", wrong_word},
	{"SELECT * FROM event_kind ORDER BY 1", wrong_word},
};

/* Two tables in one place, or none: a row written to one would be a row of the other. */
static const char misplaced_sql[] = "SELECT (SELECT count(*) - count(DISTINCT rootpage) FROM main.sqlite_master WHERE rootpage <> 0)"
									" + (SELECT count(*) FROM main.sqlite_master WHERE (type IN ('table', 'index')) <>"
									" (typeof(rootpage) = 'integer' AND rootpage > 1))";

static int check(sqlite3 *db, sqlite3 *fresh, int version, const char *path, bool *good, struct err *err)
{
	int rc = SQLITE_OK;
	int64_t nmisplaced = 0;
	*good = true;
	for (int i = 0; i < ARRAY_LEN(compared) && rc == SQLITE_OK && *good; i++) {
		const struct comparison c = {db, fresh, compared[i].sql, path, version, compared[i].complain};
		rc = compare(&c, good, err);
	}
	if (rc == SQLITE_OK && *good) {
		rc = store_read_int(db, misplaced_sql, &nmisplaced);
		*good = nmisplaced == 0;
		if (rc == SQLITE_OK && !*good)
			err_set(err, "%s is damaged: two of its tables are in one place", path);
	}
	return rc;
}

enum store_status store_check_schema(sqlite3 *db, int version, const char *path, struct err *err)
{
	int rc;
	bool good = false;
	sqlite3 *fresh = store_fresh(version, &rc);
	if (!fresh)
		return store_open_fail(err, NULL, rc, path, "checking its tables");
	rc = check(db, fresh, version, path, &good, err);
	enum store_status status = rc != SQLITE_OK ? store_open_fail(err, db, rc, path, "checking its tables")
		: good                                 ? STORE_OK
											   : STORE_CORRUPT;
	sqlite3_close(fresh);
	return status;
}
