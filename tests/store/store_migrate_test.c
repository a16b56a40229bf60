/* store_migrate_test.c: stores of older schema versions say after their migration what they said before, whatever happens on the way. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/life/lifecycle.h"
#include "tests/store/fault_vfs.h"
#include "tests/store/store_util.h"
#include "tests/store/unprivileged.h"

static const int64_t NOW = (int64_t)T0 * 1000;

/* ---- stores of version 1 ----------------------------------------------------------------------------------------------------- */

static void exec_on(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		BUG("%.200s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3 *empty_of_version(const char *path, int version)
{
	sqlite3 *db;
	char pragma[96];
	unlink(path);
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	exec_on(db, store_schema_text(version));
	snprintf(pragma, sizeof pragma, "PRAGMA application_id=%d; PRAGMA user_version=%d", STORE_APPLICATION_ID, version);
	exec_on(db, pragma);
	return db;
}

static sqlite3 *empty_v1(const char *path) { return empty_of_version(path, 1); }

/* The store of a real campaign (STORE_VERSION_1: the file's path); then more SQL. */
static const char *real_v1(const char *name, const char *more)
{
	struct strbuf sql;
	const char *path = tmp_path(name);
	sb_init(&sql);
	CHECK(sb_read_file(&sql, STORE_VERSION_1, 1 << 20, NULL));
	sqlite3 *db = empty_v1(path);
	exec_on(db, sql.s);
	exec_on(db, more);
	sqlite3_close(db);
	sb_free(&sql);
	return path;
}

/* Rows by hand. Their keys matter: they are looked at in merges. */
static struct hash128 put_v1(sqlite3 *db, const char *table, const char *types, ...)
{
	struct column_value v[STORE_MAX_COLS];
	struct strbuf sql;
	sqlite3_stmt *st;
	va_list ap;
	int n = (int)strlen(types);
	const struct table_shape t = {table, n, "", types};
	va_start(ap, types);
	for (int i = 0; i < n; i++)
		v[i] = types[i] == 'i' ? value_int(va_arg(ap, int64_t))
			: types[i] == 't'  ? value_text(va_arg(ap, const char *))
							   : value_hash(va_arg(ap, const struct hash128 *));
	va_end(ap);
	struct hash128 id = table_key(&t, v);
	sb_init(&sql);
	sb_printf(&sql, "INSERT INTO %s VALUES (?", table);
	for (int i = 0; i < n; i++)
		sb_puts(&sql, ", ?");
	sb_puts(&sql, ") ON CONFLICT DO NOTHING");
	if (sqlite3_prepare_v2(db, sql.s, -1, &st, NULL) != SQLITE_OK)
		BUG("%s: %s", sql.s, sqlite3_errmsg(db));
	bind_hash(st, 1, &id);
	for (int i = 0; i < n; i++)
		bind_value(st, i + 2, &v[i]);
	CHECK(sqlite3_step(st) == SQLITE_DONE);
	sqlite3_finalize(st);
	sb_free(&sql);
	return id;
}

/* ---- what a store says, in words of version 2 -------------------------------------------------------------------------------- */

static void say(struct strbuf *out, sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;
	sb_printf(out, "== %.60s\n", strstr(sql, "FROM"));
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		BUG("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const char *text = (const char *)sqlite3_column_text(st, i);
			sb_printf(out, "%s|", text ? text : "NULL");
		}
		sb_putc(out, '\n');
	}
	sqlite3_finalize(st);
}

#define PAIR                                                                                                                               \
	"FROM event s JOIN event n ON n.finding = s.finding AND n.at = s.at AND n.kind = 'note' AND n.payload GLOB 'duplicate of *'"           \
	" WHERE s.kind = 'state' AND s.payload = 'dismissed'"

static void what_it_says(struct strbuf *out, const char *path)
{
	sqlite3 *db;
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	say(out, db,
		"SELECT hex(f.id), f.family, f.kind, s.signature, CASE WHEN s.state = 'dismissed' AND EXISTS (SELECT 1 " PAIR
		" AND s.finding = f.id AND NOT EXISTS (SELECT 1 FROM event l WHERE l.finding = f.id AND l.kind = 'state' AND l.at > s.at)) THEN"
		" 'duplicate' ELSE s.state END, replace(s.severity, 'low', 'trivial'), s.first_seen, s.last_seen, s.nobs, s.npass, s.ops,"
		" hex(s.program) FROM finding f JOIN finding_summary s ON s.finding = f.id ORDER BY 1");
	say(out, db,
		"SELECT hex(finding), at, kind, tool, replace(payload, 'low', 'trivial'), i.url FROM event e LEFT JOIN issue i ON"
		" i.id = e.issue WHERE kind <> 'duplicate' AND tool <> 'schema version 2' AND e.id NOT IN (SELECT s.id " PAIR
		" UNION SELECT n.id " PAIR ") ORDER BY 1, 2, 3, 5");
	say(out, db,
		"SELECT hex(s.finding), s.at, s.tool, substr(n.payload, 14) " PAIR " UNION ALL SELECT hex(finding), at, tool, payload"
		" FROM event WHERE kind = 'duplicate' ORDER BY 1, 2");
	say(out, db, "SELECT hex(id), hex(finding), name, at, hex(bytes) FROM artifact ORDER BY 1");
	say(out, db, "SELECT hex(run), hex(draw), verdict, sum(n) FROM counter GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
	say(out, db,
		"SELECT hex(finding), hex(run), verdict, sum(n), min(first), max(last) FROM observation_count"
		" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
	say(out, db, "SELECT hex(id), seed, shard, policy, versions, started FROM run ORDER BY 1");
	say(out, db,
		"SELECT hex(p.id), p.text FROM program p WHERE id IN"
		" (SELECT program FROM finding UNION SELECT program FROM event) ORDER BY 1");
	say(out, db,
		"SELECT hex(o.finding), o.at, o.verdict, o.tensor, o.call, o.detail FROM observation o WHERE o.at = (SELECT min(at)"
		" FROM observation x WHERE x.finding = o.finding) ORDER BY 1, 2, 4");
	sqlite3_close(db);
}

static void migrate(const char *path) { CHECK(store_close(open_ok(path, STORE_WRITE), NULL) == STORE_OK); }

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct strbuf *out = ctx;
	for (int i = 0; i < ncols; i++) {
		sb_printf(out, "%s=", names[i]);
		if (v && v[i].type == STORE_INT)
			sb_printf(out, "%lld", (long long)v[i].i);
		else if (v)
			sb_printf(out, "%s|", v[i].s ? v[i].s : "NULL");
	}
	sb_putc(out, '\n');
	return true;
}

/* Through the doors that people use. */
static void shown(struct strbuf *out, struct store *s)
{
	static const char *const views[] = {"v_findings", "v_open", "v_new", "v_by_signature", "v_fixed", "v_events", "v_runs",
		"v_environments", "v_observations", "v_programs", "v_counters", "v_by_version"};
	const struct store_filter all = {.since = INT64_MIN, .new_since = INT64_MIN, .limit = -1};
	EXPECT_INT(store_list(s, &all, take_row, out), STORE_OK);
	for (int i = 0; i < ARRAY_LEN(views); i++) {
		char sql[64];
		snprintf(sql, sizeof sql, "SELECT * FROM %s", views[i]);
		EXPECT(store_query_sql(s, sql, NULL, take_row, out) == STORE_OK, "%s: %s", views[i], store_message(s));
	}
}

/* ---- tests ------------------------------------------------------------------------------------------------------------------- */

static void a_real_store(void)
{
	const char *path = real_v1("real.db", "");
	struct strbuf before, after;
	sb_init(&before);
	sb_init(&after);
	what_it_says(&before, path);
	migrate(path);
	what_it_says(&after, path);
	EXPECT(before.len > 60000 && str_eq(before.s, after.s), "before:\n%.3000s\nafter:\n%.3000s", before.s, after.s);
	EXPECT_STR(integrity(path), "ok");
	EXPECT_INT(sql_int(path, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM sqlite_master WHERE name GLOB 'old_*'"), 0);
	EXPECT_STR(sql_text(path, "SELECT group_concat(state || ' ' || n, ', ') FROM (SELECT state, count(*) AS n FROM v_findings GROUP BY 1)"),
		"confirmed 6, dismissed 1, duplicate 2, fixed-in 1, known 2, regressed 1");
	/* 22 of 35 observations were of programs that nobody can name; each of the 13 findings keeps the one that made it */
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation"), 13);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation o JOIN finding f ON f.id = o.finding AND f.program = o.program"), 13);
	EXPECT_INT(sql_int(path, "SELECT sum(substr(payload, 1, instr(payload, ' ')) + 0) FROM event WHERE tool = 'schema version 2'"), 22);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program"), 13);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program_op WHERE program NOT IN (SELECT id FROM program)"), 0);
	EXPECT_STR(sql_text(path,
				   "SELECT DISTINCT family || ' ' || version || ' ' || target || ' ' || device || ' ' || machine"
				   " FROM v_environments WHERE versions = 'torch 2.11.0+cu130, python 3.11.7'"),
		"torch 2.11.0 torch-2.11.0:aot_eager@cpu cpu x86_64 AVX512");
	EXPECT_INT(sql_int(path, "SELECT sum(n) FROM v_counters WHERE version = '2.11.0' AND verdict = 'pass'"), 100);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_counters WHERE target = 'torch-2.15.0:fake@cpu' AND version = ''"), 1);
	sb_free(&before);
	sb_free(&after);
}

static void reading_changes_nothing(void)
{
	const char *path = real_v1("read.db", ""), *copy = real_v1("copy.db", "");
	struct hash128 before = file_hash(path);
	struct strbuf in_memory, in_place;
	sb_init(&in_memory);
	sb_init(&in_place);
	struct store *s = open_ok(path, STORE_READ);
	shown(&in_memory, s);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	struct hash128 after = file_hash(path);
	EXPECT(same_hash(&before, &after), "reading an older store changed it");
	migrate(copy);
	s = open_ok(copy, STORE_READ);
	shown(&in_place, s);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT(in_memory.len > 30000 && str_eq(in_memory.s, in_place.s), "in memory and in place differ");
	sb_free(&in_memory);
	sb_free(&in_place);
}

static void twice(void)
{
	const char *path = real_v1("twice.db", "");
	migrate(path);
	struct hash128 once = file_hash(path);
	migrate(path);
	struct hash128 again = file_hash(path);
	EXPECT(same_hash(&once, &again), "a migrated store was changed by opening");
}

/* Equal stores become equal stores: nothing depends on the order in which rows lie in the file. */
static void equal_stores_stay_equal(void)
{
	const char *path = real_v1("forwards.db", ""), *backwards = tmp_path("backwards.db");
	struct strbuf a, b;
	sb_init(&a);
	sb_init(&b);
	char attach[600];
	sqlite3 *db = empty_v1(backwards);
	snprintf(attach, sizeof attach, "ATTACH '%s' AS f", path);
	exec_on(db, attach);
	static const char *const tables[] = {"run", "draw", "environment", "program", "program_op", "finding", "issue", "observation",
		"artifact", "event", "counter", "observation_count", "finding_summary"};
	for (int i = 0; i < ARRAY_LEN(tables); i++) {
		char sql[160];
		snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM f.%s ORDER BY rowid DESC", tables[i], tables[i]);
		exec_on(db, sql);
	}
	sqlite3_close(db);
	migrate(path);
	migrate(backwards);
	dump(&a, path, true);
	dump(&b, backwards, true);
	EXPECT(a.len > 60000 && str_eq(a.s, b.s), "equal stores of version 1 become different ones");
	sb_free(&a);
	sb_free(&b);
}

static void merged_into(struct strbuf *out, const char *name, const char *first, const char *second)
{
	const char *path = tmp_path(name);
	unlink(path);
	struct store *s = open_ok(path, STORE_CREATE);
	EXPECT(store_merge(s, first) == STORE_OK, "%s", store_message(s));
	EXPECT(store_merge(s, second) == STORE_OK, "%s", store_message(s));
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	sb_reset(out);
	dump(out, path, true);
	EXPECT_STR(integrity(path), "ok");
}

static void merging(void)
{
	struct strbuf want, got;
	sb_init(&want);
	sb_init(&got);
	const char *a = real_v1("a.db", ""),
			   *b = real_v1("b.db",
				   "DELETE FROM event WHERE kind = 'known'; DELETE FROM artifact;"
				   " DELETE FROM observation WHERE rowid % 3 = 0; UPDATE counter SET n = n / 2");
	struct hash128 before = file_hash(a);
	merged_into(&want, "ab.db", a, b); /* two of version 1, migrated in memory */
	merged_into(&got, "ba.db", b, a);
	EXPECT(want.len > 60000 && str_eq(want.s, got.s), "the order of merging matters");
	struct hash128 after = file_hash(a);
	EXPECT(same_hash(&before, &after), "a merge changed its source");
	migrate(a);
	migrate(b);
	merged_into(&got, "migrated.db", a, b);
	EXPECT(str_eq(want.s, got.s), "merging migrated ones gives something else");
	dump(&want, a, true);
	struct store *s = open_ok(a, STORE_WRITE);
	EXPECT_INT(store_merge(s, real_v1("again.db", "")), STORE_OK);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	sb_reset(&want);
	dump(&want, a, true);
	struct strbuf same;
	sb_init(&same);
	merged_into(&same, "same.db", a, a);
	EXPECT(str_eq(want.s, same.s), "a store and its own older version merge to something else");
	sb_free(&same);
	sb_free(&want);
	sb_free(&got);
}

/* ---- what can go wrong on the way -------------------------------------------------------------------------------------------- */

static int read_only(void)
{
	struct strbuf out;
	struct err err = {0};
	enum store_status status;
	sb_init(&out);
	struct store *s = open_ok(tmp_path("closed/store.db"), STORE_READ);
	shown(&out, s);
	EXPECT(strstr(out.s, "duplicate") != NULL, "%.2000s", out.s);
	store_abandon(s);
	EXPECT(!store_open(&status, tmp_path("closed/store.db"), STORE_WRITE, &err) && status == STORE_READONLY, "status %d", (int)status);
	sb_free(&out);
	return 0;
}

static void a_file_that_cannot_be_written(void)
{
	CHECK(mkdir(tmp_path("closed"), 0777) == 0);
	const char *path = real_v1("closed/store.db", "");
	struct hash128 before = file_hash(path);
	CHECK(chmod(path, 0444) == 0 && chmod(tmp_path("closed"), 0555) == 0);
	EXPECT_INT(in_child(read_only), 0);
	struct hash128 after = file_hash(path);
	EXPECT(same_hash(&before, &after), "it was changed");
	CHECK(chmod(tmp_path("closed"), 0777) == 0);
}

/* The nth writing operation fails: the older store is there as it was, and the next try moves it. */
static void failing_operations(int rc, bool for_ever, bool torn)
{
	struct strbuf said, want, got;
	int nfailures = 0;
	sb_init(&said);
	sb_init(&want);
	sb_init(&got);
	const char *path = real_v1("fault.db", "");
	what_it_says(&said, path);
	migrate(path);
	dump(&want, path, true);
	for (int n = 0; n < 400; n += n < 20 ? 1 : 13) {
		const struct fault f = {.countdown = n, .rc = rc, .for_ever = for_ever, .torn = torn}, none = {.countdown = -1};
		enum store_status status;
		struct err err = {0};
		real_v1("fault.db", "");
		fault_set(&f);
		struct store *s = store_open(&status, path, STORE_WRITE, &err);
		bool reached = fault_get().nfailed > 0;
		fault_set(&none);
		EXPECT(s || (store_exit_code(status) == 3 && err.msg[0]), "op %d: status %d: %s", n, (int)status, err.msg);
		store_abandon(s);
		if (!reached)
			break;
		nfailures += !s;
		int64_t version = 0;
		int made;
		sqlite3 *db = store_connect(path, false, &made);
		EXPECT_INT(store_read_int(db, "PRAGMA user_version", &version), SQLITE_OK);
		sqlite3_close(db);
		EXPECT(version == 1 || version == STORE_SCHEMA_VERSION, "op %d: version %d", n, (int)version);
		sb_reset(&got);
		what_it_says(&got, path);
		EXPECT(str_eq(said.s, got.s), "op %d: it says something else", n);
		migrate(path);
		sb_reset(&got);
		dump(&got, path, true);
		EXPECT(str_eq(want.s, got.s), "op %d: the second try gives something else", n);
	}
	EXPECT(nfailures > 20, "only %d failures", nfailures);
	sb_free(&said);
	sb_free(&want);
	sb_free(&got);
}

static void a_full_disk(void) { failing_operations(SQLITE_FULL, true, true); }
static void a_failing_disk(void) { failing_operations(SQLITE_IOERR_WRITE, false, true); }

static void killed_in_the_middle(void)
{
	struct strbuf want, got;
	int nkilled = 0;
	sb_init(&want);
	sb_init(&got);
	const char *path = real_v1("killed.db", "");
	migrate(path);
	dump(&want, path, true);
	for (int n = 0; n < 400; n += n < 20 ? 2 : 17) {
		real_v1("killed.db", "");
		fflush(stdout);
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			const struct fault f = {.countdown = n, .rc = FAULT_KILL, .torn = n % 4 == 0};
			fault_set(&f);
			store_abandon(open_ok(path, STORE_WRITE));
			_exit(0);
		}
		int status;
		CHECK(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status))
			break;
		nkilled++;
		migrate(path);
		sb_reset(&got);
		dump(&got, path, true);
		EXPECT(str_eq(want.s, got.s), "op %d: after the kill it is another store", n);
		EXPECT_STR(integrity(path), "ok");
	}
	EXPECT(nkilled > 15, "only %d kills", nkilled);
	sb_free(&want);
	sb_free(&got);
}

static void hostile_stores(void)
{
	static const char *const harm[] = {"CREATE TRIGGER t AFTER INSERT ON environment BEGIN DELETE FROM finding; END",
		("PRAGMA writable_schema=ON; INSERT INTO sqlite_master VALUES ('Trigger', 't', 'event', 0, 'CREATE TRIGGER t AFTER INSERT ON "
		 "event BEGIN"
		 " DELETE FROM finding; END')"),
		"CREATE VIEW mine AS SELECT 1", "CREATE INDEX mine ON event (kind)", "ALTER TABLE run ADD COLUMN x INTEGER",
		"UPDATE finding_state SET open = 0", "UPDATE event_kind SET state = 'dismissed', decides = 1 WHERE name = 'found'",
		"PRAGMA user_version=0"};
	for (int i = 0; i < ARRAY_LEN(harm); i++) {
		const char *path = real_v1("hostile.db", harm[i]);
		struct hash128 before = file_hash(path);
		for (int mode = STORE_READ; mode <= STORE_CREATE; mode++) {
			enum store_status status;
			struct err err = {0};
			struct store *s = store_open(&status, path, (enum store_mode)mode, &err);
			EXPECT(!s && status == STORE_CORRUPT && err.msg[0], "'%s': status %d: %s", harm[i], (int)status, err.msg);
			store_abandon(s);
		}
		struct hash128 after = file_hash(path);
		EXPECT(same_hash(&before, &after), "'%s': the file was changed", harm[i]);
	}
}

/* ---- rows that no real store at hand has ------------------------------------------------------------------------------------- */

/* Target and versions of version 1 -> family, version, target, device, machine of version 2. */
static void environments(void)
{
	static const struct {
		const char *target, *versions, *device, *want;
	} cases[] = {
		{"torch:inductor@cpu", "torch 2.11.0+cu130, python 3.11.2", "x86_64 AVX512",
			"torch|2.11.0|torch-2.11.0:inductor@cpu|cpu|x86_64 AVX512"},
		{"torch-2.15.0:inductor@cpu", "torch 2.11.0, python 3", "cpu", "torch|2.11.0|torch-2.11.0:inductor@cpu|cpu|"}, /* a false name */
		{"torch:inductor@cuda+max_fusion_size=8", "torch 2.16.0.dev20260101+cu130, python 3", "NVIDIA H200",
			"torch|2.16.0.dev20260101|torch-2.16.0.dev20260101:inductor@cuda+max_fusion_size=8|cuda: NVIDIA H200|"},
		{"torch-2.15.0:eager@cpu", "", "", "torch||torch-2.15.0:eager@cpu|cpu|"},
		{"builtin:eager", "scatterproof 0.1", "cpu", "builtin|0.1|builtin:eager|cpu|"},
		{"odd", "?", "?", "odd||odd|cpu|?"},
		{"", "", "", "|||cpu|"},
		{"a-b-c:d-e", "a 1.2, b 2", "cpu", "a|1.2|a-1.2:d-e|cpu|"},
	};
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = tmp_path("environment.db");
		sqlite3 *db = empty_v1(path);
		put_v1(db, "environment", "ttt", cases[i].target, cases[i].versions, cases[i].device);
		sqlite3_close(db);
		migrate(path);
		EXPECT_STR(sql_text(path,
					   "SELECT family || '|' || version || '|' || target || '|' || device || '|' || machine"
					   " FROM environment"),
			cases[i].want);
		EXPECT_STR(sql_text(path, "SELECT versions FROM environment"), cases[i].versions);
	}
}

struct v1 {
	sqlite3 *db;
	struct hash128 run, other_run, env, program, finding;
};

static struct v1 small_v1(const char *path)
{
	struct v1 x = {.db = empty_v1(path)};
	x.run = put_v1(x.db, "run", "ittti", (int64_t)1, "0/1", "default", "scatterproof 0.1", NOW);
	x.other_run = put_v1(x.db, "run", "ittti", (int64_t)2, "0/1", "default", "scatterproof 0.1", NOW);
	x.env = put_v1(x.db, "environment", "ttt", "torch:inductor@cpu", "torch 2.11.0, python 3", "x86_64");
	x.program = put_v1(x.db, "program", "t", "the first program");
	put_v1(x.db, "program", "t", "a program that nothing refers to");
	x.finding = put_v1(x.db, "finding", "btt", &x.program, "torch", "value");
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW, "found", "t", "", NULL, NULL);
	return x;
}

static struct hash128 observe_v1(const struct v1 *x, int64_t at, const char *verdict, const char *tensor)
{
	sqlite3_stmt *st;
	struct hash128 id =
		put_v1(x->db, "observation", "bbbittiit", &x->finding, &x->env, &x->run, at, verdict, tensor, (int64_t)0, (int64_t)0, "");
	CHECK(sqlite3_prepare_v2(x->db,
			  "INSERT INTO observation_count VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5) ON CONFLICT DO UPDATE SET n = n + 1,"
			  " first = min(first, ?5), last = max(last, ?5)",
			  -1, &st, NULL)
		== SQLITE_OK);
	bind_hash(st, 1, &x->finding);
	bind_hash(st, 2, &x->env);
	bind_hash(st, 3, &x->run);
	bind_text(st, 4, verdict);
	sqlite3_bind_int64(st, 5, at);
	CHECK(sqlite3_step(st) == SQLITE_DONE);
	sqlite3_finalize(st);
	return id;
}

/* Never a wrong program: what cannot be known is counted only. */
static void observations(void)
{
	const char *path = tmp_path("observed.db");
	struct v1 x = small_v1(path);
	observe_v1(&x, NOW, "mismatch", "out 0");
	observe_v1(&x, NOW + 5, "mismatch", "x.grad"); /* of another program, or not */
	observe_v1(&x, NOW + 6, "pass", "");
	sqlite3_close(x.db);
	migrate(path);
	EXPECT_STR(sql_text(path, "SELECT group_concat(tensor || at) FROM observation"), "out 01700000000000");
	EXPECT_STR(sql_text(path, "SELECT payload FROM event WHERE tool = 'schema version 2'"),
		"1 observation is only counted since the move to schema version 2: version 1 did not keep which program was observed");
	EXPECT_STR(sql_text(path, "SELECT nobs || ' ' || npass || ' ' || first_seen || ' ' || last_seen FROM finding_summary"),
		"2 1 1700000000000 1700000000005");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM program"), 1);

	x = small_v1(path); /* two in the moment in which it was found: nobody knows which is which */
	observe_v1(&x, NOW, "mismatch", "out 0");
	observe_v1(&x, NOW, "mismatch", "x.grad");
	sqlite3_close(x.db);
	migrate(path);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM observation"), 0);
	EXPECT_INT(sql_int(path, "SELECT nobs FROM finding_summary"), 2);
	EXPECT_STR(sql_text(path, "SELECT payload FROM event WHERE tool = 'schema version 2'"),
		"2 observations are only counted since the move to schema version 2: version 1 did not keep which program was observed");

	x = small_v1(path); /* found in two stores that were merged, with the same program: of one environment the first is kept */
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW - 9, "found", "t", "", NULL, NULL);
	observe_v1(&x, NOW, "mismatch", "out 0");
	observe_v1(&x, NOW - 9, "mismatch", "out 0");
	sqlite3_close(x.db);
	migrate(path);
	EXPECT_STR(sql_text(path, "SELECT group_concat(tensor || at) FROM observation"), "out 01699999999991");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM event WHERE tool = 'schema version 2'"), 0);
}

/* What a run's counters ran on is known if its observations say it, all of them the same. */
static void counters(void)
{
	const char *path = tmp_path("counters.db");
	struct v1 x = small_v1(path);
	struct hash128 draw = put_v1(x.db, "draw", "t", "a draw");
	observe_v1(&x, NOW, "mismatch", "out 0");
	const struct hash128 *const runs[] = {&x.run, &x.other_run};
	for (int r = 0; r < 2; r++)
		for (int t = 0; t < 2; t++) {
			sqlite3_stmt *st;
			CHECK(sqlite3_prepare_v2(x.db, "INSERT INTO counter VALUES (?, ?, ?, 'pass', ?)", -1, &st, NULL) == SQLITE_OK);
			bind_hash(st, 1, runs[r]);
			bind_hash(st, 2, &draw);
			bind_text(st, 3, t ? "torch:fake@cpu" : "torch:inductor@cpu");
			sqlite3_bind_int(st, 4, 1 << (2 * r + t));
			CHECK(sqlite3_step(st) == SQLITE_DONE);
			sqlite3_finalize(st);
		}
	sqlite3_close(x.db);
	migrate(path);
	EXPECT_STR(sql_text(path,
				   "SELECT group_concat(seed || ' ' || version || ' ' || target || ' ' || machine || ' ' || n, ', ')"
				   " FROM (SELECT * FROM v_counters ORDER BY seed, target)"),
		"1 2.11.0 torch-2.11.0:fake@cpu x86_64 2, 1 2.11.0 torch-2.11.0:inductor@cpu x86_64 1,"
		" 2  torch:fake@cpu  8, 2  torch:inductor@cpu  4");
}

static void duplicates_and_severities(void)
{
	static const char original[] = "duplicate of 00112233445566778899aabbccddeeff";
	const char *path = tmp_path("decided.db");
	struct v1 x = small_v1(path);
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW, "severity", "t", "low", NULL, NULL);
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW + 1, "state", "t", "dismissed", NULL, NULL);
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW + 1, "note", "t", original, NULL, NULL);
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW + 1, "note", "t", "duplicate of another one, I think", NULL, NULL);
	put_v1(x.db, "event", "bitttbb", &x.finding, NOW + 2, "note", "t", original, NULL, NULL); /* says it, does not decide it */
	sqlite3_close(x.db);
	migrate(path);
	struct store *s = open_ok(path, STORE_READ);
	struct store_loaded f;
	struct arena a;
	arena_init(&a);
	EXPECT_INT(store_load_finding(s, &f, &x.finding, &a), STORE_OK);
	EXPECT_INT(f.state, STATE_DUPLICATE);
	EXPECT_INT(f.severity, SEVERITY_TRIVIAL);
	EXPECT_STR(finding_original(&f), "00112233445566778899aabbccddeeff");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM event WHERE kind = 'note'"), 2);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM event WHERE kind = 'state'"), 0);
	store_abandon(s);
	arena_free(&a);
}

/* A finding with its events: found, signature, and `more`, if it is no NULL, with a smaller program. */
static struct hash128 put_history(sqlite3 *db, const char *more)
{
	struct hash128 program = put_v1(db, "program", "t", "# scatterproof 1\n");
	struct hash128 least = put_v1(db, "program", "t", "# scatterproof 1\nreturn ()\n");
	struct hash128 finding = put_v1(db, "finding", "btt", &program, "torch", "value");
	put_v1(db, "event", "bitttbb", &finding, NOW, "found", "t", "", NULL, NULL);
	put_v1(db, "event", "bitttbb", &finding, NOW, "signature", "t", "value other sin", NULL, NULL);
	if (more)
		put_v1(db, "event", "bitttbb", &finding, NOW + 1000, more, "t", "9 nodes to 2", &least, NULL);
	return finding;
}

/* What version 2 or 3 wrote is there word for word, and the words of later versions can be added. */
static void from_version(int version)
{
	const char *path = tmp_path("older.db");
	struct strbuf before, after;
	sb_init(&before);
	sb_init(&after);
	sqlite3 *db = empty_of_version(path, version);
	struct hash128 program = put_v1(db, "program", "t", "# scatterproof 1\n"), finding = put_history(db, "confirmed");
	sqlite3_close(db);
	dump(&before, path, false);
	store_abandon(open_ok(path, STORE_READ));
	struct store *s = open_ok(path, STORE_WRITE);
	dump(&after, path, false);
	EXPECT(before.len > 100 && str_eq(before.s, after.s), "rows changed");
	EXPECT_STR(sql_text(path, "SELECT cause FROM v_causes"), "value; not triaged; value other sin");
	EXPECT_INT(put_event(s, &finding, NOW, EVENT_CAUSE, "a cause"), STORE_OK);
	EXPECT_STR(sql_text(path, "SELECT cause FROM v_causes"), "a cause");
	const struct store_finding broken = {
		.program = program, .family = "builtin", .kind = FINDING_INVARIANT, .signature = "invariant I2 after cse", .at = NOW, .tool = "t"};
	EXPECT_INT(store_finding(s, &finding, &broken), STORE_OK);
	EXPECT_STR(sql_text(path, "SELECT kind FROM v_findings WHERE target LIKE 'builtin%'"), "invariant");
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	unlink(path);
	sb_free(&before);
	sb_free(&after);
}

/* The event that was called `minimized`: its row says and does the same under the state's name, and is the row that version 4 would have
 * written, whatever older version it comes from. */
static void from_minimized(void)
{
	struct strbuf want, got;
	sb_init(&want);
	sb_init(&got);
	for (int version = STORE_SCHEMA_VERSION; version > 0; version--) {
		const char *path = tmp_path("minimised.db");
		sqlite3 *db = empty_of_version(path, version);
		put_history(db, version >= 4 ? "minimised" : "minimized");
		sqlite3_close(db);
		store_abandon(open_ok(path, STORE_READ));
		migrate(path);
		struct store *s = open_ok(path, STORE_WRITE);
		EXPECT_INT(summary_update(s, NULL), STORE_OK);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		EXPECT_STR(integrity(path), "ok");
		EXPECT_STR(sql_text(path, "SELECT state FROM v_findings"), "minimised");
		EXPECT_STR(sql_text(path, "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM v_events ORDER BY at, kind)"),
			"found signature minimised");
		EXPECT_STR(
			sql_text(path, "SELECT p.text FROM finding_summary s JOIN program p ON p.id = s.program"), "# scatterproof 1\nreturn ()\n");
		sb_reset(&got);
		dump(&got, path, true);
		if (version == STORE_SCHEMA_VERSION)
			sb_puts(&want, got.s);
		EXPECT(str_eq(want.s, got.s), "version %d: want\n%s\ngot\n%s", version, want.s, got.s);
	}
	sb_free(&want);
	sb_free(&got);
}

static void from_version_2(void) { from_version(2); }
static void from_version_3(void) { from_version(3); }

/* The rows of versions 4 and 5 are those of the present one; what is computed from them is made anew, and must be what it writes. */
static void same_rows_as_in(int version)
{
	static const char *const tables[] = {"run", "draw", "environment", "program", "program_op", "finding", "issue", "observation",
		"artifact", "event", "counter", "observation_count"};
	const char *path = tmp_path("of_other_version.db"), *present = real_v1("present.db", "");
	struct strbuf want, got;
	char attach[600];
	migrate(present);
	struct store *s = open_ok(present, STORE_WRITE);
	struct hash128 run = put_run(s, 77), env = put_env(s, 77), finding = put_finding(s, 77), program = put_program(s, 78);
	const struct store_event minimised = {finding, NOW + 1, EVENT_MINIMISED, "t", "9 nodes to 2", &program, NULL};
	EXPECT_INT(put_obs(s, &finding, &env, &run, NOW, "mismatch"), STORE_OK);
	EXPECT_INT(store_event(s, &minimised), STORE_OK);
	EXPECT_INT(put_event(s, &finding, NOW + 2, EVENT_BLAME, "wrong from: inductor"), STORE_OK);
	EXPECT_INT(put_event(s, &finding, NOW + 2, EVENT_REACH, "python"), STORE_OK);
	EXPECT_INT(put_event(s, &finding, NOW + 3, EVENT_CAUSE, "a cause"), STORE_OK);
	store_counter_add(s, &run, "joint block=short nodes=1..3 families=view:2,reduce:1 dtypes=f32:4,i64:1 grad=75", &env, "pass", 24);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	sqlite3 *db = empty_of_version(path, version);
	snprintf(attach, sizeof attach, "ATTACH '%s' AS f", present);
	exec_on(db, attach);
	for (int i = 0; i < ARRAY_LEN(tables); i++) {
		char sql[160];
		snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM f.%s ORDER BY rowid DESC", tables[i], tables[i]);
		exec_on(db, sql);
	}
	exec_on(db, "INSERT INTO finding_summary SELECT * FROM finding_now");
	sqlite3_close(db);
	sb_init(&want);
	sb_init(&got);
	dump(&want, present, true);
	s = open_ok(path, STORE_READ);
	store_abandon(s);
	migrate(path);
	dump(&got, path, true);
	EXPECT(want.len > 60000 && str_eq(want.s, got.s), "want\n%.3000s\ngot\n%.3000s", want.s, got.s);
	EXPECT_STR(integrity(path), "ok");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM v_causes"), sql_int(present, "SELECT count(*) FROM v_causes"));
	EXPECT_STR(sql_text(path,
				   "SELECT blame || c.reach || minimised || v.version FROM v_causes c JOIN v_findings v USING (full_id)"
				   " WHERE c.cause = 'a cause'"),
		sql_text(present, "SELECT 'wrong from: inductorpython1' || version FROM v_findings WHERE cause = 'a cause'"));
	EXPECT_INT(sql_int(path, "SELECT programs FROM v_tried WHERE op = 'sum.dim_IntList' AND dtype = 'i64' AND policy = 'joint'"), 24);
	sb_free(&want);
	sb_free(&got);
}

static void from_version_4(void) { same_rows_as_in(4); }
static void from_version_5(void) { same_rows_as_in(5); }

static void empty_stores(void)
{
	const char *path = tmp_path("nothing.db");
	sqlite3_close(empty_v1(path));
	store_abandon(open_ok(path, STORE_READ));
	migrate(path);
	EXPECT_STR(integrity(path), "ok");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), 0);
	sqlite3 *db = empty_v1(path); /* another page size than the copy in memory begins with */
	exec_on(db, "PRAGMA page_size=512");
	exec_on(db, "VACUUM");
	sqlite3_close(db);
	store_abandon(open_ok(path, STORE_READ));
	migrate(path);
	EXPECT_STR(integrity(path), "ok");
}

int main(void)
{
	tmp_dir();
	fault_install();
	RUN(a_real_store);
	RUN(reading_changes_nothing);
	RUN(twice);
	RUN(equal_stores_stay_equal);
	RUN(merging);
	RUN(a_file_that_cannot_be_written);
	RUN(a_full_disk);
	RUN(a_failing_disk);
	RUN(killed_in_the_middle);
	RUN(hostile_stores);
	RUN(environments);
	RUN(observations);
	RUN(counters);
	RUN(duplicates_and_severities);
	RUN(from_version_2);
	RUN(from_version_3);
	RUN(from_version_4);
	RUN(from_version_5);
	RUN(from_minimized);
	RUN(empty_stores);
	return TEST_END();
}
