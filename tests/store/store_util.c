/* store_util.c: see store_util.h. */
#include "tests/store/store_util.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256];
static pid_t dir_owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path);
	return 0;
}

static void remove_dir(void)
{
	if (getpid() == dir_owner)
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tmp_dir(void)
{
	if (!dir[0]) {
		const char *base = getenv("TMPDIR");
		if (!base || strlen(base) >= 200)
			base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp"; /* memory: syncs cost nothing */
		snprintf(dir, sizeof dir, "%s/scatterproof-test-XXXXXX", base);
		CHECK(mkdtemp(dir));
		CHECK(chmod(dir, 0777) == 0);
		dir_owner = getpid();
		atexit(remove_dir);
	}
	return dir;
}

const char *tmp_path(const char *name)
{
	static char ring[16][512];
	static unsigned next;
	char *out = ring[next++ % 16];
	snprintf(out, sizeof ring[0], "%s/%s", tmp_dir(), name);
	return out;
}

void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");
	CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

struct hash128 file_hash(const char *path)
{
	struct strbuf sb;
	struct hash128 h = {{0}};
	struct stat st;
	sb_init(&sb);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && sb_read_file(&sb, path, 1 << 28, NULL))
		h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	return h;
}

bool same_hash(const struct hash128 *a, const struct hash128 *b) { return memcmp(a, b, sizeof *a) == 0; }
bool file_exists(const char *path) { return access(path, F_OK) == 0; }

struct store *open_ok(const char *path, enum store_mode mode)
{
	enum store_status status;
	struct err err = {0};
	struct store *s = store_open(&status, path, mode, &err);
	if (!s)
		BUG("open %s: status %d: %s", path, (int)status, err.msg);
	return s;
}

/* ---- looking from outside ---------------------------------------------------------------------------------------------- */

static sqlite3 *connect(const char *path)
{
	sqlite3 *db;
	CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK);
	return db;
}

static const char *first_text(sqlite3 *db, const char *sql)
{
	static char out[4096];
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		BUG("%s: %s", sql, sqlite3_errmsg(db));
	int rc = sqlite3_step(st);
	CHECK(rc == SQLITE_ROW || rc == SQLITE_DONE);
	const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : "";
	snprintf(out, sizeof out, "%s", text ? text : "NULL");
	sqlite3_finalize(st);
	return out;
}

const char *integrity(const char *path)
{
	sqlite3 *db = connect(path);
	const char *out = first_text(db, "PRAGMA integrity_check");
	if (str_eq(out, "ok") && *first_text(db, "PRAGMA foreign_key_check"))
		out = "foreign keys are broken";
	else
		out = first_text(db, "PRAGMA integrity_check");
	sqlite3_close(db);
	return out;
}

const char *sql_text(const char *path, const char *sql)
{
	sqlite3 *db = connect(path);
	const char *out = first_text(db, sql);
	sqlite3_close(db);
	return out;
}

int64_t sql_int(const char *path, const char *sql) { return strtoll(sql_text(path, sql), NULL, 10); }

static void dump_query(struct strbuf *out, sqlite3 *db, const char *title, const char *sql)
{
	sqlite3_stmt *st;
	sb_printf(out, "== %s\n", title);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		BUG("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			if (sqlite3_column_type(st, i) != SQLITE_BLOB) {
				const char *text = (const char *)sqlite3_column_text(st, i);
				sb_printf(out, "%s|", text ? text : "NULL");
				continue;
			}
			const unsigned char *p = sqlite3_column_blob(st, i);
			for (int k = 0; k < sqlite3_column_bytes(st, i); k++)
				sb_printf(out, "%02x", (unsigned)p[k]);
			sb_putc(out, '|');
		}
		sb_putc(out, '\n');
	}
	sqlite3_finalize(st);
}

void dump(struct strbuf *out, const char *path, bool cached)
{
	char sql[128];
	sqlite3 *db = connect(path);
	for (int t = 0; t < NTABLES; t++) {
		snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY id", store_table[t].name);
		dump_query(out, db, store_table[t].name, sql);
	}
	dump_query(out, db, "program_op", "SELECT * FROM program_op ORDER BY 1, 2");
	dump_query(out, db, "counter", "SELECT * FROM counter ORDER BY 1, 2, 3, 4");
	dump_query(out, db, "observation_count", "SELECT * FROM observation_count ORDER BY 1, 2, 3, 4");
	if (cached) {
		dump_query(out, db, "finding_summary", "SELECT * FROM finding_summary ORDER BY 1");
		dump_query(out, db, "counter_total", "SELECT * FROM counter_total ORDER BY 1, 2, 3");
		dump_query(out, db, "tried", "SELECT * FROM tried ORDER BY 1, 2, 3, 4, 5");
		dump_query(out, db, "operator", "SELECT * FROM operator ORDER BY 1, 2");
	}
	sqlite3_close(db);
}

/* ---- rows from numbers ---------------------------------------------------------------------------------------------------- */

struct hash128 put_run(struct store *s, unsigned n)
{
	struct hash128 id;
	const struct store_run run = {
		.seed = n, .shard = "0/1", .policy = "default", .versions = "scatterproof test", .started = (int64_t)T0 * 1000 + n};
	CHECK(store_run_begin(s, &id, &run) == STORE_OK);
	return id;
}

struct hash128 put_env(struct store *s, unsigned n)
{
	struct hash128 id;
	char target[64];
	snprintf(target, sizeof target, "torch-2.11.0:inductor@cpu+option=%u", n);
	const struct store_env_text e = {.family = "torch",
		.version = "2.11.0",
		.target = target,
		.versions = "torch 2.11.0+cu130, python 3.11.2",
		.device = "cpu",
		.machine = "x86_64, a model, 2 CPUs"};
	CHECK(store_environment(s, &id, &e) == STORE_OK);
	return id;
}

struct hash128 put_env_on(struct store *s, const char *version, const char *target)
{
	struct hash128 id;
	const struct store_env_text e = {
		.family = "torch", .version = version, .target = target, .versions = "", .device = "cpu", .machine = ""};
	CHECK(store_environment(s, &id, &e) == STORE_OK);
	return id;
}

static const char *const some_ops[] = {"slice_scatter", "sum.dim_IntList", "expand", "slice_scatter", "mul.Tensor"};
static int nops_of(unsigned n) { return n % 2 ? 3 : 5; }

static void program_text(char out[256], unsigned n)
{
	snprintf(out, 256, "# scatterproof 1\nx: \"f32[4]\" = input([4], seed=%u, requires_grad=True)\nreturn (x,)\n", n);
}

struct hash128 put_program(struct store *s, unsigned n)
{
	struct hash128 id;
	char text[256];
	program_text(text, n);
	CHECK(store_program(s, &id, text, some_ops, nops_of(n)) == STORE_OK);
	return id;
}

struct hash128 put_finding(struct store *s, unsigned n)
{
	struct hash128 id;
	char signature[64];
	snprintf(signature, sizeof signature, "slice_scatter>sum grad zero #%u", n);
	const struct store_finding f = {.program = put_program(s, n),
		.family = n % 3 ? "torch" : "jax",
		.kind = (enum finding_kind)(n % NFINDING_KINDS),
		.severity = SEVERITY_HIGH,
		.signature = signature,
		.at = (int64_t)T0 * 1000 + n,
		.tool = "scatterproof test"};
	CHECK(store_finding(s, &id, &f) == STORE_OK);
	return id;
}

static enum store_status put_obs_text(struct store *s, const struct hash128 *finding, const char *text, int nops, const struct hash128 *env,
	const struct hash128 *run, int64_t at, const char *verdict)
{
	const struct store_observation o = {.finding = *finding,
		.environment = *env,
		.run = *run,
		.at = at,
		.verdict = verdict,
		.tensor = "x.grad",
		.fill = 1,
		.call = 0,
		.detail = "12 of 78 elements wrong, all zero, expected up to 4"};
	return store_observation(s, &o, text, some_ops, nops);
}

enum store_status put_obs(
	struct store *s, const struct hash128 *finding, const struct hash128 *env, const struct hash128 *run, int64_t at, const char *verdict)
{
	struct strbuf text;
	sqlite3_stmt *st;
	sb_init(&text);
	CHECK(sqlite3_prepare_v2(s->db, "SELECT p.text FROM finding f JOIN program p ON p.id = f.program WHERE f.id = ?", -1, &st, NULL)
		== SQLITE_OK);
	bind_hash(st, 1, finding);
	if (sqlite3_step(st) == SQLITE_ROW)
		sb_puts(&text, (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	enum store_status status = put_obs_text(s, finding, text.s, 0, env, run, at, verdict);
	sb_free(&text);
	return status;
}

enum store_status put_obs_of(struct store *s, const struct hash128 *finding, unsigned n, const struct hash128 *env,
	const struct hash128 *run, int64_t at, const char *verdict)
{
	char text[256];
	program_text(text, n);
	return put_obs_text(s, finding, text, nops_of(n), env, run, at, verdict);
}

enum store_status put_event(struct store *s, const struct hash128 *finding, int64_t at, enum event_kind kind, const char *payload)
{
	const struct store_event e = {.finding = *finding, .at = at, .kind = kind, .tool = "scatterproof test", .payload = payload};
	return store_event(s, &e);
}

struct hash128 make_sample(const char *path)
{
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), odd, program, first = {{0}};
	for (unsigned i = 0; i < 5; i++) {
		struct hash128 f = put_finding(s, i);
		if (i == 1)
			first = f;
		CHECK(put_obs(s, &f, &env, &run, (int64_t)T0 * 1000 + 86400000 * (int64_t)i, "mismatch") == STORE_OK);
	}
	CHECK(put_event(s, &first, (int64_t)T0 * 1000 + 5, EVENT_CONFIRMED, "5 of 5 in a fresh process") == STORE_OK);
	CHECK(store_artifact(s, &first, "report", (int64_t)T0 * 1000, "element  expected  got\n[0, 1]   4.0       0.0\n", 45) == STORE_OK);
	CHECK(store_artifact(s, &first, "got", (int64_t)T0 * 1000, "\0\377", 2) == STORE_OK);
	CHECK(store_program(s, &program, "bad \xff\x1b[31m\"bytes\"\n", NULL, 0) == STORE_OK);
	const struct store_finding f = {.program = program,
		.family = "torch",
		.kind = FINDING_CRASH,
		.severity = SEVERITY_TRIVIAL,
		.signature = "tab\there\xfe",
		.at = (int64_t)T0 * 1000,
		.tool = "t"};
	CHECK(store_finding(s, &odd, &f) == STORE_OK);
	CHECK(put_event(s, &odd, (int64_t)T0 * 1000 + 1, EVENT_FIXED, "2.15.0") == STORE_OK);
	CHECK(store_close(s, NULL) == STORE_OK);
	return first;
}

void make_two_versions(const char *path)
{
	const int64_t at = (int64_t)T0 * 1000, night = 86400000;
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 f[3], run[2], old = put_env_on(s, "2.11.0", "torch-2.11.0:inductor@cpu"),
								 new = put_env_on(s, "2.15.0", "torch-2.15.0:inductor@cpu+freezing=1"), repro;
	for (unsigned i = 0; i < 2; i++) {
		const struct store_run r = {.seed = i, .shard = "0/1", .policy = "default", .versions = SCATTERPROOF, .started = at + i * night};
		CHECK(store_run_begin(s, &run[i], &r) == STORE_OK);
	}
	const struct store_run again = {.seed = 0, .shard = "", .policy = "repro", .versions = SCATTERPROOF, .started = at + 3 * night};
	CHECK(store_run_begin(s, &repro, &again) == STORE_OK);
	for (unsigned i = 0; i < 3; i++)
		f[i] = put_finding(s, i + 1);
	CHECK(put_obs(s, &f[0], &old, &run[0], at + 10, "mismatch") == STORE_OK);
	CHECK(put_obs(s, &f[0], &new, &repro, at + 3 * night, "pass") == STORE_OK);
	CHECK(put_obs(s, &f[1], &old, &run[0], at + 20, "mismatch") == STORE_OK);
	CHECK(put_obs(s, &f[1], &new, &run[1], at + night + 20, "mismatch") == STORE_OK);
	for (unsigned i = 0; i < 3; i++)
		CHECK(put_obs_of(s, &f[2], i ? 50 + i : 3, &new, &run[1], at + night + 30 + i, "crash") == STORE_OK);
	store_counter_add(s, &run[0], "a draw", &old, "pass", 1000);
	store_counter_add(s, &run[1], "a draw", &new, "pass", 1200);
	store_counter_add(s, &run[1], "another", &new, "pass", 800);
	store_counter_add(s, &run[1], "another", &new, "mismatch", 4);
	CHECK(store_close(s, NULL) == STORE_OK);
}
