/* test_store_sql.c: SQL from people reads everything and writes nothing anywhere; and the `findings` verb: its output, its exit
 * codes, its complaints. */
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reports/findings_cmd.h"
#include "tests/store_util.h"

static const int64_t NOW = (int64_t)T0 * 1000;
static const char *path;
static struct hash128 first;

static void make_sample(void)
{
	path = xstrdup(tmp_path("sample.db"));
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), odd, program;
	for (unsigned i = 0; i < 5; i++) {
		struct hash128 f = put_finding(s, i);
		if (i == 1)
			first = f;
		CHECK(put_obs(s, &f, &env, &run, NOW + 86400000 * (int64_t)i, "mismatch") == STORE_OK);
	}
	CHECK(put_event(s, &first, NOW + 5, EVENT_CONFIRMED, "5 of 5 in a fresh process") == STORE_OK);
	CHECK(store_artifact(s, &first, "report", NOW, "element  expected  got\n[0, 1]   4.0       0.0\n", 45) == STORE_OK);
	CHECK(store_artifact(s, &first, "got", NOW, "\0\377", 2) == STORE_OK);
	CHECK(store_program(s, &program, "bad \xff\x1b[31m\"bytes\"\n", NULL, 0) == STORE_OK);
	const struct store_finding f = {.program = program, .family = "torch", .kind = FINDING_CRASH, .severity = SEVERITY_TRIVIAL,
		.signature = "tab\there\xfe", .at = NOW, .tool = "t"};
	CHECK(store_finding(s, &odd, &f) == STORE_OK);
	CHECK(put_event(s, &odd, NOW + 1, EVENT_FIXED, "2.15.0") == STORE_OK);
	CHECK(store_close(s, NULL) == STORE_OK);
}

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
		"ATTACH 'attached.db' AS a", "ATTACH ':memory:' AS a", "DETACH main", "VACUUM", "VACUUM INTO 'vacuumed.db'",
		"CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "CREATE TABLE t AS SELECT * FROM finding", "CREATE VIEW v AS SELECT 1",
		"CREATE TEMP VIEW v AS SELECT 1", "CREATE INDEX i ON finding(kind)", "CREATE TRIGGER t AFTER INSERT ON event BEGIN SELECT 1; END",
		"CREATE VIRTUAL TABLE f USING fts5(a)", "CREATE VIRTUAL TABLE temp.r USING rtree(a, b, c)", "DROP TABLE finding",
		"DROP VIEW v_open", "DELETE FROM finding", "DELETE FROM finding RETURNING *", "UPDATE finding SET kind = 'value' RETURNING id",
		"INSERT INTO issue VALUES (zeroblob(16), '', '')", "REPLACE INTO issue VALUES (zeroblob(16), '', '')",
		"WITH x AS (SELECT 1) DELETE FROM finding", "ALTER TABLE finding RENAME TO f", "REINDEX", "ANALYZE", "BEGIN", "BEGIN IMMEDIATE",
		"COMMIT", "SAVEPOINT s", "RELEASE s", "PRAGMA user_version = 9", "PRAGMA user_version", "PRAGMA journal_mode = WAL",
		"PRAGMA query_only = OFF", "PRAGMA writable_schema = ON", "PRAGMA temp_store_directory = '/tmp'", "PRAGMA wal_checkpoint",
		"PRAGMA optimize", "PRAGMA table_info(finding)", "SELECT * FROM pragma_user_version", "SELECT * FROM pragma_journal_mode",
		"SELECT load_extension('x')", "SELECT LOAD_EXTENSION('x', 'y')", "SELECT writefile('f', 'x')", "SELECT readfile('/etc/passwd')",
		"SELECT edit('x')", "SELECT fts3_tokenizer('simple')", "SELECT fts3_tokenizer('a', x'00')",
		"SELECT 1; SELECT 2", "SELECT 1; ATTACH 'attached.db' AS a", "SELECT 1; -- x\n DELETE FROM finding", "SELECT 1; garbage",
		"", "  ", "-- only a comment", ";", "EXPLAIN DELETE FROM finding", "SELECT", "SELECT * FROM nowhere", "SELECT 'unclosed",
		"UPDATE sqlite_schema SET sql = ''", "INSERT INTO sqlite_dbpage VALUES (1, x'00')",
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
	static const struct { const char *sql; int64_t rows; } good[] = {
		{"SELECT * FROM v_findings", 6}, {"select id from v_open;", 5}, {"SELECT 1 ; ; -- done\n /* yes */ ;", 1},
		{"VALUES (1), (2)", 2}, {"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n", 10},
		{"SELECT kind, count(*) FROM finding GROUP BY kind ORDER BY 2 DESC", 6}, {"SELECT name FROM sqlite_schema WHERE 0", 0},
		{"SELECT * FROM v_new", 5}, {"SELECT * FROM v_fixed", 1}, {"SELECT * FROM v_by_signature", 6}, {"SELECT * FROM v_events", 20},
		{"SELECT * FROM finding_now", 6}, {"SELECT value FROM json_each('[1,2,3]')", 3},
		{"SELECT random(), upper('x'), strftime('%Y', 0, 'unixepoch')", 1}, {"EXPLAIN QUERY PLAN SELECT * FROM run", 1},
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
	EXPECT_INT(store_query_sql(s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
		after_a_hundred, count_row, &n), STORE_BAD);
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
	char command[600];      /* from another process too: POSIX locks are per process */
	snprintf(command, sizeof command, "sqlite3 '%s' 'BEGIN IMMEDIATE' 2>/dev/null", path);
	if (system("command -v sqlite3 >/dev/null") == 0)
		EXPECT(system(command) != 0, "the writer's lock is gone");
	store_rollback(s);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
}

/* ---- the verb ---------------------------------------------------------------------------------------------------------------- */

struct ran { int code; struct strbuf out, err; };

/* Runs `findings ARGS...` in a child, with its output in files. Words are separated by one '|'. */
static void run_verb(struct ran *r, const char *args)
{
	char *words = xstrdup(args), *argv[32] = {(char *)(uintptr_t)"findings"};
	int argc = 1;
	for (char *w = strtok(words, "|"); w; w = strtok(NULL, "|"))
		argv[argc++] = w;
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (!freopen(tmp_path("stdout"), "w", stdout) || !freopen(tmp_path("stderr"), "w", stderr))
			_exit(99);
		int code = cmd_findings(argc, argv);
		fflush(stdout);
		fflush(stderr);
		_exit(code);
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	r->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	sb_reset(&r->out);
	sb_reset(&r->err);
	CHECK(sb_read_file(&r->out, tmp_path("stdout"), 1 << 24, NULL) && sb_read_file(&r->err, tmp_path("stderr"), 1 << 24, NULL));
	free(words);
}

static void expect_verb(const char *args, int code, const char *out_has, const char *err_has)
{
	struct ran r = {0};
	sb_init(&r.out);
	sb_init(&r.err);
	run_verb(&r, args);
	EXPECT(r.code == code, "%s: exit %d, want %d: %s", args, r.code, code, r.err.s);
	EXPECT(strstr(r.out.s, out_has) != NULL, "%s: no '%s' in:\n%s", args, out_has, r.out.s);
	EXPECT(strstr(r.err.s, err_has) != NULL, "%s: no '%s' in:\n%s", args, err_has, r.err.s);
	EXPECT(code == 0 ? r.err.len == 0 : r.out.len == 0, "%s: speaks on both streams", args);
	sb_free(&r.out);
	sb_free(&r.err);
}

static int lines(const char *args)
{
	struct ran r = {0};
	int n = 0;
	sb_init(&r.out);
	sb_init(&r.err);
	run_verb(&r, args);
	EXPECT_INT(r.code, 0);
	for (size_t i = 0; i < r.out.len; i++)
		n += r.out.s[i] == '\n';
	sb_free(&r.out);
	sb_free(&r.err);
	return n;
}

static void listing(void)
{
	CHECK(chdir(tmp_dir()) == 0);
	EXPECT_INT(lines("--db|sample.db"), 7);                         /* one of them names the columns */
	EXPECT_INT(lines("--db=sample.db|--json"), 6);
	EXPECT_INT(lines("--open|--db|sample.db"), 6);
	EXPECT_INT(lines("--op|sum|--db|sample.db"), 6);
	EXPECT_INT(lines("--op|sum.dim_IntList|--db|sample.db"), 6);
	EXPECT_INT(lines("--op=mul|--json|--db|sample.db"), 3);         /* the even ones */
	EXPECT_INT(lines("--op|slice|--json|--db|sample.db"), 0);        /* not a prefix */
	EXPECT_INT(lines("--since|2023-11-17|--db|sample.db"), 3);
	EXPECT_INT(lines("--limit|2|--db|sample.db"), 3);
	EXPECT_INT(lines("--limit|0|--json|--db|sample.db"), 0);
	expect_verb("--db|sample.db", 0, "id        state       kind        nobs    last_seen            target                    signature   ", "");
	expect_verb("--db|sample.db|--op|nothing", 0, "no such findings", "");
	expect_verb("--db|sample.db|--open|--limit|1", 0, "candidate   meta", "");
	expect_verb("--db|sample.db", 0, "tab\\there\\xfe", "");
	expect_verb("--db|sample.db|--json", 0, "\"signature\":\"tab\\there\\ufffd\"", "");
	expect_verb("--help", 0, "usage: scatterproof findings", "");
}

static void showing(void)
{
	char hex[33], args[128];
	hash_hex(hex, &first);
	static const char *const want[] = {"gradient on torch-2.11.0:inductor@cpu+option=1, confirmed, severity high",
		"slice_scatter>sum grad zero #1", "torch 2.11.0+cu130, python", "\n\n# scatterproof 1\nx: \"f32[4]\" = input([4], seed=1", "wrong tensor x.grad, fill 1",
		"all zero, expected up to 4", "5 of 5 in a fresh process", "  [0, 1]   4.0       0.0\n", "2023-11-14T22:13:20Z"};
	for (int i = 0; i < ARRAY_LEN(want); i++) {
		snprintf(args, sizeof args, "show|%.6s|--db|sample.db", hex);
		expect_verb(args, 0, want[i], "");
	}
	snprintf(args, sizeof args, "scatterproof repro %.8s --db 'a b.db'\n", hex);
	CHECK(rename("sample.db", "a b.db") == 0);
	char command[128];
	snprintf(command, sizeof command, "--db|a b.db|show|%s", hex);
	expect_verb(command, 0, args, "");
	CHECK(rename("a b.db", "sample.db") == 0);
	snprintf(args, sizeof args, "show|%.8s|--json|--db|sample.db", hex);
	expect_verb(args, 0, "\"name\":\"got\",\"at_ms\":1700000000000,\"nbytes\":2,\"hex\":\"00ff\"", "");
	expect_verb(args, 0, "\"minimised\":null", "");
	EXPECT_INT(lines(args), 1);
	snprintf(args, sizeof args, "show|%s|--db|sample.db", sql_text(path, "SELECT id FROM v_fixed"));
	expect_verb(args, 0, "\n\nbad \\xff\\x1b[31m\"bytes\"\n", "");    /* harmless for a terminal */
}

static void sql_output(void)
{
	expect_verb("sql|SELECT 1 AS a, NULL AS b, x'00ff' AS c, printf('x%sy', char(9)) AS d, 1.5 AS e|--db|sample.db", 0,
		"a\tb\tc\td\te\n1\tNULL\t00ff\tx\\ty\t1.5\n", "");
	expect_verb("sql|SELECT 1 AS a, NULL AS b, x'00ff' AS c, printf('x%s\"', char(9)) AS d, 9e999 AS e|--json|--db|sample.db", 0,
		"{\"a\":1,\"b\":null,\"c\":\"00ff\",\"d\":\"x\\t\\\"\",\"e\":\"Infinity\"}\n", "");
	expect_verb("sql|SELECT id FROM v_open WHERE 0|--db|sample.db", 0, "id\n", "");
	EXPECT_INT(lines("sql|SELECT * FROM v_findings|--db|sample.db"), 7);
}

static void complaints(void)
{
	write_file("garbage.db", "rubbish", 7);
	expect_verb("--db|absent.db", 2, "", "No such file");
	expect_verb("--db|garbage.db", 2, "", "not a findings store");
	expect_verb("--db|.", 2, "", "directory");
	expect_verb("--open", 2, "", "--db FILE is needed");
	expect_verb("--db", 2, "", "--db needs a value");
	expect_verb("--frobnicate|--db|sample.db", 2, "", "unknown option");
	expect_verb("--since|yesterday|--db|sample.db", 2, "", "no date");
	expect_verb("--limit|-3|--db|sample.db", 2, "", "--limit needs a number");
	expect_verb("list|--db|sample.db", 2, "", "not understood");
	expect_verb("show|--db|sample.db", 2, "", "needs an id");
	expect_verb("show|123456|789|--db|sample.db", 2, "", "not understood");
	expect_verb("show|000000|--open|--db|sample.db", 2, "", "go with the list");
	expect_verb("show|000000|--db|sample.db", 2, "", "no finding");
	expect_verb("show|xyz|--db|sample.db", 2, "", "6 to 32 hex digits");
	expect_verb("sql|--db|sample.db", 2, "", "needs a statement");
	expect_verb("sql|SELEC|--db|sample.db", 2, "", "syntax error");
	expect_verb("sql|DELETE FROM finding|--db|sample.db", 2, "", "only read");
	expect_verb("sql|VACUUM INTO 'x.db'|--db|sample.db", 2, "", "only read");
	EXPECT(!file_exists("x.db"), "VACUUM INTO wrote");
}

static void a_full_terminal(void)
{
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		char *argv[] = {(char *)(uintptr_t)"findings", (char *)(uintptr_t)"--db", (char *)(uintptr_t)"sample.db", NULL};
		if (!freopen("/dev/full", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(cmd_findings(3, argv));
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	EXPECT_INT(WEXITSTATUS(status), 3);
}

int main(void)
{
	make_sample();
	RUN(nothing_can_be_written);
	RUN(everything_can_be_read);
	RUN(a_query_beside_a_writer);
	RUN(listing);
	RUN(showing);
	RUN(sql_output);
	RUN(complaints);
	RUN(a_full_terminal);
	EXPECT_STR(integrity(path), "ok");
	free((char *)(uintptr_t)path);
	return TEST_END();
}
