/* store_sql_test.c: SQL from people reads everything and writes nothing anywhere, within limits; the queries of docs/store.md give what is
 * true. */
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/store/store_util.h"

static const char *path;

/* ---- the guard ------------------------------------------------------------------------------------------------------------- */

static bool count_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	(void)ncols, (void)names;
	*(int64_t *)ctx += v != NULL;
	return true;
}

static bool after_a_hundred(void *ctx) { return ++*(int64_t *)ctx > 100; }

static int count_files(const char *dir)
{
	int n = 0;
	DIR *d = opendir(dir);
	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void nothing_can_be_written(void)
{
	static const char *const tries[] = {
		"ATTACH 'attached.db' AS a",
		"ATTACH ':memory:' AS a",
		"DETACH main",
		"VACUUM",
		"VACUUM INTO 'vacuumed.db'",
		"CREATE TABLE t(a)",
		"CREATE TEMP TABLE t(a)",
		"CREATE TABLE t AS SELECT * FROM finding",
		"CREATE VIEW v AS SELECT 1",
		"CREATE TEMP VIEW v AS SELECT 1",
		"CREATE INDEX i ON finding(kind)",
		"CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END",
		"CREATE VIRTUAL TABLE f USING fts5(a)",
		"CREATE VIRTUAL TABLE temp.r USING rtree(a, b, c)",
		"DROP TABLE finding",
		"DROP VIEW v_open",
		"DELETE FROM finding",
		"DELETE FROM finding RETURNING *",
		"UPDATE finding SET kind = 'value' RETURNING id",
		"INSERT INTO issue VALUES (zeroblob(16), '', '')",
		"REPLACE INTO issue VALUES (zeroblob(16), '', '')",
		"WITH x AS (SELECT 1) DELETE FROM finding",
		"ALTER TABLE finding RENAME TO f",
		"REINDEX",
		"ANALYZE",
		"BEGIN",
		"BEGIN IMMEDIATE",
		"COMMIT",
		"SAVEPOINT s",
		"RELEASE s",
		"PRAGMA user_version = 9",
		"PRAGMA user_version",
		"PRAGMA journal_mode = WAL",
		"PRAGMA query_only = OFF",
		"PRAGMA writable_schema = ON",
		"PRAGMA temp_store_directory = '/tmp'",
		"PRAGMA wal_checkpoint",
		"PRAGMA optimize",
		"PRAGMA table_info(finding)",
		"SELECT * FROM pragma_user_version",
		"SELECT * FROM pragma_journal_mode",
		"SELECT load_extension('x')",
		"SELECT LOAD_EXTENSION('x', 'y')",
		"SELECT writefile('f', 'x')",
		"SELECT readfile('/etc/passwd')",
		"SELECT edit('x')",
		"SELECT fts3_tokenizer('simple')",
		"SELECT fts3_tokenizer('a', x'00')",
		"SELECT 1; SELECT 2",
		"SELECT 1; ATTACH 'attached.db' AS a",
		"SELECT 1; -- x\n DELETE FROM finding",
		"SELECT 1; garbage",
		"",
		"  ",
		"-- only a comment",
		";",
		"EXPLAIN DELETE FROM finding",
		"SELECT",
		"SELECT * FROM nowhere",
		"SELECT 'unclosed",
		"UPDATE sqlite_schema SET sql = ''",
		"INSERT INTO sqlite_dbpage VALUES (1, x'00')",
	};
	struct hash128 before = file_hash(path);
	CHECK(chdir(tmp_dir()) == 0);
	int files = count_files(tmp_dir());
	struct store *s = open_ok(path, STORE_READ);
	for (int i = 0; i < ARRAY_LEN(tries); i++) {
		int64_t n = 0;
		enum store_status status = store_query_sql(s, tries[i], NULL, count_row, &n);
		EXPECT(status == STORE_BAD && store_message(s)[0], "'%s' gives status %d, %d rows", tries[i], (int)status, (int)n);
	}
	store_abandon(s);
	struct hash128 after = file_hash(path);
	EXPECT(same_hash(&before, &after), "the store changed");
	EXPECT_INT(count_files(tmp_dir()), files);
	EXPECT_STR(integrity(path), "ok");
}

static void everything_can_be_read(void)
{
	static const struct {
		const char *sql;
		int64_t rows;
	} good[] = {
		{"SELECT * FROM v_findings", 6},
		{"select id from v_open;", 5},
		{"SELECT 1 ; ; -- done\n /* yes */ ;", 1},
		{"VALUES (1), (2)", 2},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n", 10},
		{"SELECT kind, count(*) FROM finding GROUP BY kind ORDER BY 2 DESC", 6},
		{"SELECT name FROM sqlite_schema WHERE 0", 0},
		{"SELECT * FROM v_new", 5},
		{"SELECT * FROM v_fixed", 1},
		{"SELECT * FROM v_by_signature", 6},
		{"SELECT * FROM v_events", 20},
		{"SELECT * FROM finding_now", 6},
		{"SELECT value FROM json_each('[1,2,3]')", 3},
		{"SELECT random(), upper('x'), strftime('%Y', 0, 'unixepoch')", 1},
		{"EXPLAIN QUERY PLAN SELECT * FROM run", 1},
		{"SELECT a.text FROM program a, program b ORDER BY a.text DESC", 36},
	};
	struct store *s = open_ok(path, STORE_READ);
	for (int i = 0; i < ARRAY_LEN(good); i++) {
		int64_t n = 0;
		enum store_status status = store_query_sql(s, good[i].sql, NULL, count_row, &n);
		EXPECT(status == STORE_OK && n == good[i].rows, "'%s': status %d (%s), %d rows, want %d", good[i].sql, (int)status,
			store_message(s), (int)n, (int)good[i].rows);
	}
	int64_t n = 0;
	EXPECT_INT(store_query_sql(s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", after_a_hundred,
				   count_row, &n),
		STORE_BAD);
	EXPECT_INT(n, 101);
	EXPECT(strstr(store_message(s), "stopped") != NULL, "%s", store_message(s));
	store_abandon(s);
}

/* The query's own connection must not loosen the locks that a writer in this process holds. */
static void a_query_beside_a_writer(void)
{
	struct store *s = open_ok(path, STORE_WRITE);
	int64_t n = 0;
	sqlite3 *other;
	EXPECT_INT(store_begin(s), STORE_OK);
	put_env(s, 77);
	EXPECT_INT(store_query_sql(s, "SELECT * FROM environment", NULL, count_row, &n), STORE_OK);
	EXPECT_INT(n, 1);
	enum store_status status;
	store_abandon(store_open(&status, path, STORE_READ, NULL));
	CHECK(sqlite3_open(path, &other) == SQLITE_OK);
	EXPECT_INT(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
	sqlite3_close(other);
	char command[600]; /* from another process too: POSIX locks are per process */
	snprintf(command, sizeof command, "sqlite3 '%s' 'BEGIN IMMEDIATE' 2>/dev/null", path);
	if (system("command -v sqlite3 >/dev/null") == 0)
		EXPECT(system(command) != 0, "the writer's lock is gone");
	store_rollback(s);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* ---- docs/store.md ------------------------------------------------------------------------------------------------------------ */

static bool take_text(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct strbuf *out = ctx;
	for (int i = 0; i < ncols; i++) {
		if (!v)
			sb_printf(out, "%s ", names[i]);
		else if (v[i].type == STORE_INT)
			sb_printf(out, "%lld ", (long long)v[i].i);
		else
			sb_printf(out, "%s ", v[i].s ? v[i].s : "NULL");
	}
	sb_putc(out, '|');
	return true;
}

/* Its queries, as they stand there, on a store of which the answers are known. */
static void queries_of_the_page(void)
{
	static const char begin[] = "findings sql \"", end[] = "\" --db";
	struct strbuf text, out;
	int n = 0;
	sb_init(&text);
	sb_init(&out);
	CHECK(sb_read_file(&text, STORE_PAGE, 1 << 20, NULL));
	make_two_versions(tmp_path("two.db"));
	struct store *s = open_ok(tmp_path("two.db"), STORE_READ);
	for (char *p = text.s; (p = strstr(p, begin)) != NULL; n++) {
		char *sql = p + sizeof begin - 1, *stop = strstr(sql, end);
		CHECK(stop && !memchr(sql, '\n', (size_t)(stop - sql))); /* one line each */
		*stop = '\0';
		EXPECT(store_query_sql(s, sql, NULL, take_text, &out) == STORE_OK, "%s: %s", sql, store_message(s));
		p = stop + 1;
	}
	store_abandon(s);
	EXPECT_INT(n, 4);
	EXPECT(strstr(out.s, "dtype policy target programs passed diverging |"), "%s", out.s);
	EXPECT(strstr(out.s, "id severity cause blame |") && strstr(out.s, " high alias; not triaged; slice_scatter>sum grad zero #3"), "%s",
		out.s);
	EXPECT(strstr(out.s,
			   "target policy programs |torch-2.11.0:inductor@cpu default 1000 |torch-2.15.0:inductor@cpu+freezing=1 default 2000 |"),
		"%s", out.s);
	char want[100];
	snprintf(want, sizeof want, "id signature |%s slice_scatter>sum grad zero #1 |",
		sql_text(tmp_path("two.db"), "SELECT id FROM v_findings WHERE signature GLOB '*#1'"));
	EXPECT(strlen(out.s) > strlen(want) && str_eq(out.s + strlen(out.s) - strlen(want), want), "%s", out.s);
	sb_free(&text);
	sb_free(&out);
}

int main(void)
{
	path = xstrdup(tmp_path("sample.db"));
	make_sample(path);
	RUN(nothing_can_be_written);
	RUN(everything_can_be_read);
	RUN(a_query_beside_a_writer);
	RUN(queries_of_the_page);
	EXPECT_STR(integrity(path), "ok");
	free((char *)(uintptr_t)path);
	return TEST_END();
}
