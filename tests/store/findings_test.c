/* findings_test.c: the `findings` verb: its output, its exit codes, its complaints. */
#include "tests/test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/cli/findings_cmd.h"
#include "fuzz/ask/pager.h"
#include "tests/store/store_util.h"

static const int64_t NOW = (int64_t)T0 * 1000;
static const char *path;
static struct hash128 first;

/* ---- running it -------------------------------------------------------------------------------------------------------------- */

struct ran {
	int code;
	struct strbuf out, err;
};

/* Runs `findings ARGS...` in a child, with its output in files. Words are separated by one '|'. */
static void run_verb(struct ran *r, const char *args)
{
	char *words = xstrdup(args), *argv[32] = {(char *)(uintptr_t) "findings"};
	int argc = 1;
	for (char *w = strtok(words, "|"); w; w = strtok(NULL, "|"))
		argv[argc++] = w;
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (!freopen(tmp_path("stdout"), "w", stdout) || !freopen(tmp_path("stderr"), "w", stderr))
			_exit(99);
		int code = cmd_findings(argc, argv, &(struct screen){.paged = false});
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
	EXPECT_INT(lines("--db|sample.db"), 7); /* one of them names the columns */
	EXPECT_INT(lines("--db=sample.db|--json"), 6);
	EXPECT_INT(lines("--open|--db|sample.db"), 6);
	EXPECT_INT(lines("--op|sum|--db|sample.db"), 6);
	EXPECT_INT(lines("--op|sum.dim_IntList|--db|sample.db"), 6);
	EXPECT_INT(lines("--op=mul|--json|--db|sample.db"), 3);   /* the even ones */
	EXPECT_INT(lines("--op|slice|--json|--db|sample.db"), 0); /* not a prefix */
	EXPECT_INT(lines("--since|2023-11-17|--db|sample.db"), 3);
	EXPECT_INT(lines("--limit|2|--db|sample.db"), 3);
	EXPECT_INT(lines("--limit|0|--json|--db|sample.db"), 0);
	expect_verb("--db|sample.db", 0,
		"id        state       severity  kind        nobs    first_seen            last_seen             "
		"target                      signature   ",
		"");
	expect_verb("--db|sample.db|--op|relu", 0, "no such findings", "");
	expect_verb("--db|sample.db|--open|--limit|1", 0, "candidate   high      meta", "");
	expect_verb("--db|sample.db", 0, "tab\\there\\xfe", "");
	expect_verb("--db|sample.db|--json", 0, "\"signature\":\"tab\\there\\ufffd\"", "");
	expect_verb("--help", 0, "usage: scatterproof findings", "");
}

static void showing(void)
{
	char hex[33], args[128];
	hash_hex(hex, &first);
	static const char *const want[] = {"gradient on torch-2.11.0:inductor@cpu+option=1, confirmed, severity high",
		"slice_scatter>sum grad zero #1", "torch 2.11.0+cu130, python", "\n\n# scatterproof 1\nx: \"f32[4]\" = input([4], seed=1",
		"wrong tensor x.grad, fill 1", "all zero, expected up to 4", "5 of 5 in a fresh process", "  [0, 1]   4.0       0.0\n",
		"2023-11-14T22:13:20Z"};
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
	expect_verb(args, 0, "\"name\":\"got\",\"at\":\"2023-11-14T22:13:20Z\",\"nbytes\":2,\"hex\":\"00ff\"", "");
	expect_verb(args, 0, "\"minimised\":null", "");
	EXPECT_INT(lines(args), 1);
	snprintf(args, sizeof args, "show|%s|--db|sample.db", sql_text(path, "SELECT id FROM v_fixed"));
	expect_verb(args, 0, "\n\nbad \\xff\\x1b[31m\"bytes\"\n", ""); /* harmless for a terminal */
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
	expect_verb("--since|tomorrow|--db|sample.db", 2, "",
		"no date: 2026-01-31, 2026-01-31T23:59:59, today, yesterday, 90m, 1h, 2d, 1w or last-run");
	expect_verb("--limit|-3|--db|sample.db", 2, "", "--limit needs a number");
	expect_verb("list|--db|sample.db", 2, "", "not understood");
	expect_verb("show|--db|sample.db", 2, "", "needs an id");
	expect_verb("show|123456|789|--db|sample.db", 2, "", "not understood");
	expect_verb("show|000000|--open|--db|sample.db", 2, "", "goes with the list");
	expect_verb("show|000000|--db|sample.db", 2, "", "no finding");
	expect_verb("show|xyz|--db|sample.db", 2, "", "6 to 32 hex digits");
	expect_verb("sql|--db|sample.db", 2, "", "needs a statement");
	expect_verb("sql|SELEC|--db|sample.db", 2, "", "syntax error");
	expect_verb("sql|DELETE FROM finding|--db|sample.db", 2, "", "only read");
	expect_verb("sql|VACUUM INTO 'x.db'|--db|sample.db", 2, "", "only read");
	EXPECT(!file_exists("x.db"), "VACUUM INTO wrote");
}

/* "[a b]": the numbers in the signatures of the findings listed, in order. */
static const char *listed(const char *args)
{
	static char out[200];
	char all[300];
	struct ran r = {0};
	size_t n = 0;
	sb_init(&r.out);
	sb_init(&r.err);
	snprintf(all, sizeof all, "%s|--json|--db|two.db", args);
	run_verb(&r, all);
	EXPECT(r.code == 0, "%s: exit %d: %s", args, r.code, r.err.s);
	for (const char *p = r.out.s; (p = strstr(p, "zero #")) != NULL && n < sizeof out - 2; p++)
		n += (size_t)snprintf(out + n, sizeof out - n, "%s%c", n ? " " : "", p[6]);
	out[n] = '\0';
	sb_free(&r.out);
	sb_free(&r.err);
	return out;
}

static void filters(void)
{
	static const struct {
		const char *args, *want;
	} cases[] = {
		{"--sort|first", "3 2 1"},
		{"--sort|last", "3 2 1"},
		{"--sort|nobs,first", "3 2 1"},
		{"--sort=severity|--sort=first", "3 2 1"},
		{"--op|sum|--op|mul", "2"},
		{"--op|sum,mul", "2"},
		{"--op|sum", "3 2 1"},
		{"--op|mul.Tensor", "2"},
		{"--op|slice_scatter,relu", ""},
		{"--kind|crash", ""},
		{"--kind|gradient,mutation", "2 1"},
		{"--kind|alias|--kind|gradient", "3 1"},
		{"--state|open", "3 2 1"},
		{"--state|new", "3 2 1"},
		{"--state|known,dismissed", ""},
		{"--state|candidate", "3 2 1"},
		{"--open", "3 2 1"},
		{"--severity|high", "3 2 1"},
		{"--severity|normal,trivial", ""},
		{"--severity|normal|--severity|high", "3 2 1"},
		{"--version|2.15.0", "3 2"},
		{"--version|2.11.0", "2 1"},
		{"--version|2.11.0,2.15.0", "3 2 1"},
		{"--target|torch:inductor@cpu", "3 2 1"},
		{"--target|torch-2.11.0", "2 1"},
		{"--target|torch-2.15.0:inductor", "3 2"},
		{"--target|torch", "3 2 1"},
		{"--target|torch:inductor@cpu+freezing=1", "3 2"},
		{"--target|torch-2.11.0|--target|torch-2.15.0", "3 2 1"},
		{"--target|torch:inductor@cpu|--version|2.11.0", "2 1"},
		{"--target|torch:inductor@cpu+freezing=1|--version|2.11.0", ""},
		{"--since|last-run", "3 2"},
		{"--since|2023-11-14", "3 2 1"},
		{"--since|2023-11-15T22:13:20Z|--limit|1", "3"},
		{"--since|today", ""},
		{"--since|yesterday", ""},
		{"--since|1h", ""},
		{"--since|500000d", "3 2 1"},
	};
	CHECK(chdir(tmp_dir()) == 0);
	make_two_versions("two.db");
	for (int i = 0; i < ARRAY_LEN(cases); i++)
		EXPECT(str_eq(listed(cases[i].args), cases[i].want), "%s: [%s], want [%s]", cases[i].args, listed(cases[i].args), cases[i].want);
}

static void mistakes_in_filters(void)
{
	static const struct {
		const char *args, *says;
	} cases[] = {
		{"--op|slice_scater", "no operator is called 'slice_scater'; did you mean 'slice_scatter'?"},
		{"--op|sum,nothing", "'nothing'"},
		{"--op|", "--op needs"},
		{"--op|sum,", "--op needs a name"},
		{"--state|confimed",
			"--state knows no 'confimed'; it knows candidate, confirmed, minimised, blamed, known, fixed-in,"
			" regressed, dismissed, duplicate, open, new; did you mean 'confirmed'?"},
		{"--severity|low", "--severity knows no 'low'; it knows trivial, normal, high"},
		{"--kind|gradiant", "did you mean 'gradient'?"},
		{"--sort|time", "--sort knows no 'time'"},
		{"--sort|first,first,first,first,first", "more than"},
		{"--target|torch:induktor", "no run in this store was on 'torch:induktor'"},
		{"--target|torch-2.11.0:inductor@cuda", "did you mean 'torch-2.11.0:inductor@cpu'?"},
		{"--version|2.15.1", "did you mean '2.15.0'?"},
		{"--since|last-rum", "or last-run is expected"},
		{"--since|1y", "no date"},
		{"--since|h", "no date"},
		{"--json=yes", "takes no value"},
		{"--|--since", "'--since' is not understood"},
		{"sql|select 1|--sort|first", "--sort goes with the list only"},
		{"show|000000|--limit|3", "--limit goes with the list and sql and causes only"},
		{"show|000000|--note|x", "--note goes with mark only"},
		{"--json|--json", "--json is given twice"},
		{"--stat|open", "unknown option '--stat'"},
		{"--sot=first", "did you mean '--sort'?"},
		{"show|000000|--state|open", "list only"},
		{"--artifact|report", "with show only"},
		{"show|000000|--artifact|x|--json", "exclude each other"},
		{"schema|x|y", "not understood"},
	};
	char args[200];
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(args, sizeof args, "--db|two.db|%s", cases[i].args);
		expect_verb(args, 2, "", cases[i].says);
	}
}

static void other_programs(void)
{
	char args[128], want[128], program[33];
	snprintf(args, sizeof args, "show|%s|--db|two.db", sql_text("two.db", "SELECT id FROM v_findings WHERE signature GLOB '*#3'"));
	expect_verb(args, 0, "observations (3 kept of 3, the first of each program and environment)", "");
	expect_verb(args, 0, "2 other programs with this signature", "");
	snprintf(program, sizeof program, "%s", sql_text("two.db", "SELECT full_id FROM v_programs WHERE text GLOB '*seed=52,*'"));
	snprintf(want, sizeof want, "crash, program %.8s, wrong tensor x.grad", program);
	expect_verb(args, 0, want, "");
	const char *id = sql_text("two.db", "SELECT id FROM v_findings WHERE signature GLOB '*#3'");
	snprintf(args, sizeof args, "show|%s|--program|%.8s|--db|two.db", id, program);
	expect_verb(args, 0, "# scatterproof 1\nx: \"f32[4]\" = input([4], seed=52,", "");
	snprintf(args, sizeof args, "show|%s|--program|%.5s|--db|two.db", id, program);
	expect_verb(args, 2, "", "at least 6 digits");
	snprintf(args, sizeof args, "show|%s|--json|--db|two.db", id);
	snprintf(want, sizeof want, "\"verdict\":\"crash\"");
	expect_verb(args, 0, want, "");
	snprintf(want, sizeof want, "{\"id\":\"%s\",\"text\":\"# scatterproof", program);
	expect_verb(args, 0, want, "");
}

static void artifacts(void)
{
	char hex[33], args[128], want[200];
	struct strbuf lines_of_it;
	hash_hex(hex, &first);
	sb_init(&lines_of_it);
	for (int i = 0; i < 3000; i++)
		sb_printf(&lines_of_it, "line %d of a long report\n", i);
	struct store *s = open_ok("sample.db", STORE_WRITE);
	CHECK(store_artifact(s, &first, "report", NOW + 1, lines_of_it.s, lines_of_it.len) == STORE_OK);
	CHECK(store_artifact(s, &first, "stderr", NOW + 1, "\x1b[31mred\n", 9) == STORE_OK);
	CHECK(store_close(s, NULL) == STORE_OK);
	snprintf(args, sizeof args, "show|%.8s|--db|sample.db", hex);
	snprintf(want, sizeof want,
		"  line 99 of a long report\n  ... 77400 bytes more; all of it: scatterproof findings show %.8s"
		" --artifact report --db sample.db\n",
		hex);
	expect_verb(args, 0, want, "");
	struct ran r = {0};
	sb_init(&r.out);
	sb_init(&r.err);
	snprintf(args, sizeof args, "show|%.8s|--artifact|report|--db|sample.db", hex);
	run_verb(&r, args);
	EXPECT(r.code == 0 && str_eq(r.out.s, lines_of_it.s), "the report as it is: exit %d, %zu bytes", r.code, r.out.len);
	snprintf(args, sizeof args, "show|%.8s|--artifact|stderr|--db|sample.db", hex);
	run_verb(&r, args);
	EXPECT(r.code == 0 && str_eq(r.out.s, "\\x1b[31mred\n"), "harmless bytes: exit %d, %s", r.code, r.out.s);
	snprintf(args, sizeof args, "show|%.8s|--artifact|reprot|--db|sample.db", hex);
	expect_verb(args, 2, "", "has no artifact 'reprot'; did you mean 'report'?");
	sb_free(&r.out);
	sb_free(&r.err);
	sb_free(&lines_of_it);
}

/* Every table, view and column is documented, and nothing else is. */
static void schema(void)
{
	struct ran r = {0};
	struct strbuf want;
	sqlite3 *db;
	sqlite3_stmt *st;
	int ncolumns = 0;
	sb_init(&r.out);
	sb_init(&r.err);
	sb_init(&want);
	run_verb(&r, "schema|--json");
	EXPECT_INT(r.code, 0);
	CHECK(sqlite3_open("sample.db", &db) == SQLITE_OK);
	CHECK(sqlite3_prepare_v2(db,
			  "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view')"
			  " AND m.name NOT IN ('v_open', 'v_new') ORDER BY m.name, c.cid",
			  -1, &st, NULL)
		== SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		sb_reset(&want);
		sb_printf(&want, "{\"table\":\"%s\",\"column\":\"%s\",\"meaning\":\"", (const char *)sqlite3_column_text(st, 0),
			(const char *)sqlite3_column_text(st, 1));
		EXPECT(strstr(r.out.s, want.s) != NULL, "undocumented: %s", want.s);
		ncolumns++;
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	int ndocumented = 0;
	for (const char *p = r.out.s; *p; p++)
		ndocumented += *p == '\n';
	EXPECT_INT(ndocumented, ncolumns);
	EXPECT_INT(sql_int("sample.db",
				   "SELECT (SELECT count(*) FROM pragma_table_info('v_open'))"
				   " + (SELECT count(*) FROM pragma_table_info('v_new')) - 2 * (SELECT count(*) FROM pragma_table_info('v_findings'))"),
		0);
	expect_verb("schema", 0, "\nv_by_version: one row per finding, family, version and device", "");
	expect_verb("schema|v_new", 0, "columns as v_findings", "");
	expect_verb("schema|v_finding", 2, "", "no table or view 'v_finding'; did you mean 'v_findings'?");
	sb_free(&r.out);
	sb_free(&r.err);
	sb_free(&want);
}

/* ---- queries that do not end ------------------------------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void limits(void)
{
	static const struct {
		const char *sql, *limit, *rows, *says;
	} cases[] = {
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", "300ms", "",
			"longer than 0.3 s and was stopped"},
		/* one function that takes minutes, after rows that are printed whole */
		{"SELECT 'first' AS x UNION ALL SELECT 'second' UNION ALL SELECT instr(zeroblob(60000000), (SELECT CAST(group_concat(v, '') AS "
		 "BLOB)"
		 " FROM (SELECT zeroblob(30000000) AS v UNION ALL SELECT x'01')))",
			"1s", "x\nfirst\nsecond\n", "longer than 1 s and was stopped"},
		{"WITH RECURSIVE n(i) AS (SELECT zeroblob(100000) UNION ALL SELECT zeroblob(100000) FROM n)"
		 " SELECT count(*) FROM (SELECT * FROM n ORDER BY 1)",
			"60s", "", "more memory than 512 MiB"},
		{"SELECT zeroblob(60000000), zeroblob(60000000), zeroblob(60000000), zeroblob(60000000), zeroblob(60000000), zeroblob(60000000),"
		 " zeroblob(60000000), zeroblob(60000000), zeroblob(60000000)",
			"60s", NULL, "more memory than 512 MiB"},
		{"SELECT zeroblob(100000000)", "60s", NULL, "too big"},
		{"SELECT printf('%.*c', 1000000000, 'x')", "500ms", NULL, NULL},
	};
	char args[600];
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		struct ran r = {0};
		sb_init(&r.out);
		sb_init(&r.err);
		double before = seconds();
		snprintf(args, sizeof args, "sql|%s|--limit|%s|--db|sample.db", cases[i].sql, cases[i].limit);
		run_verb(&r, args);
		double took = seconds() - before, limit = atof(cases[i].limit) / (strstr(cases[i].limit, "ms") ? 1000 : 1);
		EXPECT(took < MAX(limit + 1.5, 20), "%s: %.1f s", cases[i].sql, took);
		EXPECT(r.code == 2 || !cases[i].says, "%s: exit %d", cases[i].sql, r.code);
		EXPECT(!cases[i].says || strstr(r.err.s, cases[i].says), "%s: %s", cases[i].sql, r.err.s);
		EXPECT(!cases[i].rows || strstr(r.out.s, cases[i].rows) == r.out.s, "%s: %.200s", cases[i].sql, r.out.s);
		EXPECT(!r.out.len || r.out.s[r.out.len - 1] == '\n' || r.out.len > 1000000, "%s: half a row is printed", cases[i].sql);
		sb_free(&r.out);
		sb_free(&r.err);
	}
}

static void a_full_terminal(void)
{
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		char *argv[] = {(char *)(uintptr_t) "findings", (char *)(uintptr_t) "--db", (char *)(uintptr_t) "sample.db", NULL};
		if (!freopen("/dev/full", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(cmd_findings(3, argv, &(struct screen){.paged = false}));
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	EXPECT_INT(WEXITSTATUS(status), 3);
}

int main(void)
{
	path = xstrdup(tmp_path("sample.db"));
	first = make_sample(path);
	RUN(listing);
	RUN(showing);
	RUN(sql_output);
	RUN(complaints);
	RUN(filters);
	RUN(mistakes_in_filters);
	RUN(other_programs);
	RUN(artifacts);
	RUN(schema);
	RUN(limits);
	RUN(a_full_terminal);
	EXPECT_STR(integrity(path), "ok");
	free((char *)(uintptr_t)path);
	return TEST_END();
}
