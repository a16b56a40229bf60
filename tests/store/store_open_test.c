/* store_open_test.c: opening what cannot be opened: the right status, a sentence that says why, and nothing changed: neither the
 * file nor its directory. Permission cases run in a child without root's powers. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/store/store_util.h"
#include "tests/store/unprivileged.h"

static const char *const mode_name[] = {"read", "write", "create"};

/* Names of the files in the tests' folder, as one hash: a journal left behind would show. */
static struct hash128 names_hash(void)
{
	struct dirent **names;
	struct strbuf sb;
	sb_init(&sb);
	int n = scandir(tmp_dir(), &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		sb_printf(&sb, "%s\n", names[i]->d_name);
		free(names[i]);
	}
	free(names);
	struct hash128 h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	return h;
}

static void refused(const char *path, enum store_mode mode, enum store_status want, const char *word)
{
	struct hash128 before = file_hash(path), names = names_hash();
	enum store_status status;
	struct err err = {0};
	struct store *s = store_open(&status, path, mode, &err);
	EXPECT(!s && status == want, "%s to %s: status %d, want %d: %s", path, mode_name[mode], (int)status, (int)want, err.msg);
	EXPECT(strstr(err.msg, word) && strstr(err.msg, path), "to %s: '%s' lacks '%s'", mode_name[mode], err.msg, word);
	EXPECT(!strchr(err.msg, '\n'), "%s", err.msg);
	store_abandon(s);
	struct hash128 after = file_hash(path), names_after = names_hash();
	EXPECT(same_hash(&before, &after) && same_hash(&names, &names_after), "opening %s to %s changed something", path, mode_name[mode]);
}

static void refused_always(const char *path, enum store_status want, const char *word)
{
	refused(path, STORE_READ, want, word);
	refused(path, STORE_WRITE, want, word);
	refused(path, STORE_CREATE, want, word);
}

static const char *sample(const char *name, unsigned nfindings)
{
	const char *path = tmp_path(name);
	struct store *s = open_ok(path, STORE_CREATE);
	for (unsigned i = 0; i < nfindings; i++)
		put_finding(s, i);
	CHECK(store_close(s, NULL) == STORE_OK);
	return path;
}

static void exec_on(const char *path, const char *sql)
{
	sqlite3 *db;
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		BUG("%s: %s", sql, sqlite3_errmsg(db));
	CHECK(sqlite3_close(db) == SQLITE_OK);
}

static void absent_and_not_a_file(void)
{
	refused(tmp_path("absent.db"), STORE_READ, STORE_ABSENT, "No such file");
	refused(tmp_path("absent.db"), STORE_WRITE, STORE_ABSENT, "No such file");
	refused_always(tmp_path("nodir/absent.db"), STORE_ABSENT, "No such file");
	refused_always(tmp_dir(), STORE_FOREIGN, "directory");
	refused_always("/dev/null", STORE_FOREIGN, "not a file");
	CHECK(mkfifo(tmp_path("pipe.db"), 0600) == 0);
	refused_always(tmp_path("pipe.db"), STORE_FOREIGN, "not a file");
	enum store_status status;
	struct err err = {0};
	EXPECT(!store_open(&status, "", STORE_CREATE, &err) && status == STORE_ABSENT, "no name: status %d", (int)status);
}

static void garbage(void)
{
	unsigned char bytes[5000];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)mix64(i);
	write_file(tmp_path("garbage.db"), bytes, sizeof bytes);
	refused_always(tmp_path("garbage.db"), STORE_FOREIGN, "not even an SQLite database");
	write_file(tmp_path("short.db"), bytes, 3);
	refused_always(tmp_path("short.db"), STORE_FOREIGN, "not even");
	write_file(tmp_path("text.db"), "hello\n", 6);
	refused_always(tmp_path("text.db"), STORE_FOREIGN, "not even");
	write_file(tmp_path("empty.db"), "", 0);
	refused(tmp_path("empty.db"), STORE_READ, STORE_FOREIGN, "is empty");
	refused(tmp_path("empty.db"), STORE_WRITE, STORE_FOREIGN, "is empty");
	EXPECT_INT(store_close(open_ok(tmp_path("empty.db"), STORE_CREATE), NULL), STORE_OK); /* becomes a store */
	EXPECT_STR(integrity(tmp_path("empty.db")), "ok");
}

/* A nightly's "latest.db" is often a link. */
static void through_a_link(void)
{
	const char *path = sample("target.db", 3), *link = tmp_path("latest.db");
	enum store_status status;
	struct err err = {0};
	CHECK(symlink(path, link) == 0);
	for (int mode = STORE_READ; mode <= STORE_CREATE; mode++) {
		struct store *s = store_open(&status, link, (enum store_mode)mode, &err);
		EXPECT(s, "%s: %s", mode_name[mode], err.msg);
		if (s)
			store_close(s, &err);
	}
}

static void foreign_and_newer(void)
{
	const char *path = tmp_path("foreign.db");
	exec_on(path, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
	refused_always(path, STORE_FOREIGN, "another program");
	exec_on(path, "PRAGMA application_id=123");
	refused_always(path, STORE_FOREIGN, "another program");
	exec_on(path, "PRAGMA journal_mode=WAL");
	refused_always(path, STORE_FOREIGN, "another program");
	path = sample("newer.db", 3);
	exec_on(path, "PRAGMA user_version=99");
	refused_always(path, STORE_NEWER, "99");
	path = sample("wal.db", 3);
	exec_on(path, "PRAGMA journal_mode=WAL");
	refused_always(path, STORE_CORRUPT, "write-ahead");
}

static void strange_schema(void)
{
	static const char *const harm[] = {
		"DROP VIEW v_open", "DROP INDEX event_finding", "ALTER TABLE run ADD COLUMN x INTEGER", "DROP TABLE finding_summary"};
	for (int i = 0; i < ARRAY_LEN(harm); i++) {
		char name[32];
		snprintf(name, sizeof name, "harm%d.db", i);
		const char *path = sample(name, 1);
		exec_on(path, "PRAGMA foreign_keys=OFF");
		exec_on(path, harm[i]);
		refused_always(path, STORE_CORRUPT, "tables are not those");
	}
	const char *path = sample("analysed.db", 1);
	exec_on(path, "ANALYZE");
	store_abandon(open_ok(path, STORE_WRITE)); /* statistics do no harm */
	EXPECT_STR(integrity(path), "ok");
}

/* ---- doors: what a crafted file could do while we write ---------------------------------------------------------------------- */

#define ROW(type, name, table, root, sql)                                                                                                  \
	"PRAGMA writable_schema=ON; INSERT INTO sqlite_master VALUES (" type ", " name ", " table ", " root ", " sql ")"
#define EDIT(object, from, to)                                                                                                             \
	"PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, '" from "', '" to "') WHERE name = '" object "'"
#define DISMISS                                                                                                                            \
	"'CREATE TRIGGER t AFTER INSERT ON finding BEGIN INSERT INTO event VALUES (new.id, new.id, 9000000000000, ''state'',"                  \
	" ''x'', ''dismissed'', NULL, NULL); END'"

static const struct {
	const char *sql, *says;
} crafted[] = {
	/* code that runs (no sentence: SQLite itself refuses it, or its sentence would do) */
	{"CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM finding; END", "has a trigger 't' (on event) that no findings store has"},
	{ROW("'Trigger'", "'t'", "'finding'", "0", DISMISS), "has a Trigger 't' (on finding) that no findings store has"},
	{ROW("'TRIGGER'", "'t'", "'finding'", "0", DISMISS), "has a TRIGGER 't'"},
	{ROW("'trigger '", "'t'", "'finding'", "0", DISMISS), NULL},
	{ROW("'view'", "'t'", "'finding'", "0", DISMISS), NULL},
	{ROW("'table'", "'t'", "'finding'", "0", DISMISS), NULL},
	{ROW("'tRigger'", "'v_open'", "'finding'", "0", DISMISS), NULL},
	{ROW("'Trigger'", "'event_finding'", "'finding'", "0", "replace(" DISMISS ", 'TRIGGER t', 'TRIGGER event_finding')"), NULL},
	{ROW("'Trigger'", "'x\x1b[31m'", "'finding'", "0", "replace(" DISMISS ", 'TRIGGER t', 'TRIGGER \"x\x1b[31m\"')"),
		"has a Trigger 'x\\x1b[31m'"},
	{"CREATE VIEW mine AS SELECT 1", "has a view 'mine' (on mine)"},
	{"DROP TABLE finding_summary; CREATE VIEW finding_summary AS SELECT * FROM finding_now", "the view 'finding_summary' is another one"},
	{"DROP VIEW v_open; CREATE VIEW v_open AS SELECT * FROM v_findings WHERE 0", "'v_open' is another one"},
	{"DROP VIEW v_open; CREATE TABLE v_open (id TEXT)", "'v_open' is another one"},
	{"CREATE VIRTUAL TABLE f USING fts5(a)", "has a table 'f' (on f)"},
	{"CREATE VIRTUAL TABLE aaa USING rtree(a, b, c)", "has a table 'aaa"},
	{"DROP TABLE issue; CREATE VIRTUAL TABLE issue USING fts5(id, url, title)", "'issue' is another one"},
	/* the same tables with something in them */
	{EDIT("run", "started INTEGER NOT NULL", "started INTEGER NOT NULL, x INTEGER AS (seed)"), "table 'run' is another one"},
	{EDIT("environment", "target TEXT NOT NULL", "target TEXT NOT NULL COLLATE NOCASE"), "'environment' is another one"},
	{EDIT("event", "payload TEXT NOT NULL", "payload TEXT NOT NULL DEFAULT (1)"), "'event' is another one"},
	{EDIT("event", "payload TEXT NOT NULL", "payload TEXT NOT NULL CHECK (payload <> ''found'')"), "'event' is another one"},
	{EDIT("event", "STRICT", ""), "'event' is another one"},
	{EDIT("run", "CREATE TABLE run", "CREATE TABLE \"run\""), "'run' is another one"},
	{EDIT("run", "CREATE TABLE run", "create table run"), "'run' is another one"},
	{EDIT("run", "STRICT", "STRICT "), "'run' is another one"},
	{EDIT("run", "STRICT", "STRICT /* x */"), "'run' is another one"},
	{EDIT("event_finding", "finding, at", "finding, at DESC"), "'event_finding' is another"},
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = CAST(sql AS BLOB) WHERE name = 'run'", "'run' is another one"},
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = sql || char(0) || 'x' WHERE name = 'run'", "'run' is another one"},
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET type = 'Table' WHERE name = 'run'", "'run' is another one"},
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET tbl_name = 'event' WHERE name = 'v_open'", NULL},
	{"DROP INDEX event_finding; CREATE UNIQUE INDEX event_finding ON event (kind)", "'event_finding' is another one"},
	{"CREATE INDEX zzz ON event (kind)", "has a index 'zzz' (on event)"},
	{"CREATE UNIQUE INDEX once ON finding (kind)", "has a index 'once'"},
	{"CREATE INDEX i ON run (length(zeroblob(seed)))", "has a index 'i' (on run)"},
	/* tables of SQLite's own */
	{"CREATE TABLE s (a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE s", "has a table 'sqlite_sequence'"},
	{"ANALYZE; " EDIT("sqlite_stat1", "stat)", "stat,x)"), "has a table 'sqlite_stat1'"},
	{ROW("'view'", "'sqlite_stat1'", "'sqlite_stat1'", "0", "'CREATE VIEW sqlite_stat1 AS SELECT 1 AS tbl, 2 AS idx, 3 AS stat'"), NULL},
	{"CREATE TABLE fake (type, name, tbl_name, rootpage, sql); INSERT INTO fake SELECT * FROM sqlite_master WHERE name <> 'fake';"
	 " PRAGMA writable_schema=ON; UPDATE sqlite_master SET name = 'sqlite_schema', tbl_name = 'sqlite_schema', sql ="
	 " 'CREATE TABLE sqlite_schema (type, name, tbl_name, rootpage, sql)' WHERE name = 'fake'",
		NULL},
	{"CREATE TABLE fake (type, name, tbl_name, rootpage, sql); PRAGMA writable_schema=ON; UPDATE sqlite_master SET name = 'sqlite_master',"
	 " tbl_name = 'sqlite_master', sql = 'CREATE TABLE sqlite_master (type, name, tbl_name, rootpage, sql)' WHERE name = 'fake'",
		NULL},
	/* places */
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'event')"
	 " WHERE name = 'artifact'",
		"two of its tables are in one place"},
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET rootpage = 1 WHERE name = 'draw'", NULL},
	{"PRAGMA writable_schema=ON; UPDATE sqlite_master SET rootpage = 0 WHERE name = 'draw'", NULL},
	{"PRAGMA writable_schema=ON; INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE name = 'v_open'", NULL},
	/* words decide what events mean */
	{"UPDATE finding_state SET open = 0", "its words are not those of that version: 'blamed' is another one"},
	{"UPDATE event_kind SET state = 'dismissed', decides = 1 WHERE name = 'found'", "'found' is another one"},
	{"PRAGMA foreign_keys=OFF; DELETE FROM event_kind WHERE name = 'regressed'", "'regressed' is missing"},
	{"INSERT INTO finding_state VALUES ('Open', 9, 1, 0)", "'Open' is none of them"},
	{"INSERT INTO finding_kind VALUES ('zz\x1b', '')", "'zz\\x1b' is none of them"},
};

/* The attack that this is about: with its trigger in place, plain SQLite dismisses every finding that is written. */
static void the_attack_is_real(void)
{
	const char *path = sample("attack.db", 2);
	exec_on(path, crafted[1].sql);
	exec_on(path, "INSERT INTO finding SELECT x'0123456789abcdef0123456789abcdef', program, family, kind FROM finding LIMIT 1");
	EXPECT_STR(sql_text(path, "SELECT state FROM finding_state_now WHERE finding = x'0123456789abcdef0123456789abcdef'"), "dismissed");
	refused_always(path, STORE_CORRUPT, "no findings store has");
}

static void crafted_schemas(void)
{
	for (int i = 0; i < ARRAY_LEN(crafted); i++) {
		const char *path = sample("crafted.db", 1);
		struct err err = {0};
		enum store_status status;
		exec_on(path, crafted[i].sql);
		refused_always(path, STORE_CORRUPT, "");
		store_abandon(store_open(&status, path, STORE_WRITE, &err));
		EXPECT(!crafted[i].says || strstr(err.msg, crafted[i].says), "%s: %s", crafted[i].sql, err.msg);
		EXPECT(!strchr(err.msg, '\x1b'), "%s: an escape sequence comes through", crafted[i].sql);
		struct store *s = open_ok(tmp_path("sink.db"), STORE_CREATE); /* nor is it merged */
		EXPECT_INT(store_merge(s, path), STORE_CORRUPT);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		unlink(path);
	}
	EXPECT_INT(sql_int(tmp_path("sink.db"), "SELECT count(*) FROM finding"), 0);
}

/* SQLite deletes the file that a journal names as its super-journal. */
static void a_journal_that_deletes(void)
{
	const char *victim = tmp_path("victim.txt"), *path = sample("journal.db", 2);
	char journal[600], body[1100];
	size_t n = strlen(victim);
	unsigned sum = 0;
	snprintf(journal, sizeof journal, "%s-journal", path);
	memset(body, 'x', 512);
	const unsigned char page[4] = {0x40, 0x00, 0x00, 0x01}; /* of the lock byte: never in a file this small */
	memcpy(body + 512, page, 4);
	memcpy(body + 516, victim, n);
	for (size_t i = 0; i < n; i++)
		sum += (unsigned)(signed char)victim[i];
	const unsigned char tail[16] = {0, 0, (unsigned char)(n >> 8), (unsigned char)n, (unsigned char)(sum >> 24), (unsigned char)(sum >> 16),
		(unsigned char)(sum >> 8), (unsigned char)sum, 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	memcpy(body + 516 + n, tail, sizeof tail);
	write_file(victim, "precious", 8);
	write_file(journal, body, 516 + n + sizeof tail);
	refused_always(path, STORE_CORRUPT, "names another file, which SQLite would delete");
	EXPECT(file_exists(victim), "the file is gone");
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM finding"), 2);
	EXPECT(!file_exists(victim), "SQLite does not do that any more: this door needs no lock");
	EXPECT_INT(store_close(open_ok(path, STORE_WRITE), NULL), STORE_OK);
	char wal[600];
	snprintf(wal, sizeof wal, "%s-wal", path);
	write_file(wal, "", 0);
	refused_always(path, STORE_CORRUPT, "write-ahead log");
	unlink(wal);
}

/* A summary says what no event says: whoever writes finds out. */
static void forged_summaries(void)
{
	static const char *const forged[] = {"UPDATE finding_summary SET state = 'dismissed'", "DELETE FROM finding_summary",
		"UPDATE finding_summary SET signature = 'x', nobs = 9", "UPDATE finding_summary SET cause = 'x', minimised = 1 - minimised",
		"DELETE FROM counter_total", "DELETE FROM operator; DELETE FROM tried", "UPDATE tried SET n = n + 1",
		"DELETE FROM tried WHERE ops = (SELECT min(ops) FROM tried)", "UPDATE tried SET verdict = 'never'",
		"UPDATE tried SET policy = policy || 'x' WHERE dtype = (SELECT max(dtype) FROM tried)",
		("PRAGMA foreign_keys=OFF; INSERT INTO finding_summary SELECT zeroblob(16), target, version, state, severity, signature, program,"
		 " length, ops, first_seen, last_seen, nobs, npass, minimised, cause, reach, blame, versions FROM finding_summary LIMIT 1")};
	for (int i = 0; i < ARRAY_LEN(forged); i++) {
		const char *path = sample("forged.db", 3);
		struct strbuf before, after;
		struct store *s = open_ok(path, STORE_WRITE);
		const struct hash128 run = put_run(s, 1), env = put_env(s, 1);
		store_counter_add(s, &run, "default families=view:3,scatter:2 dtypes=f32:1,i64:2", &env, "pass", 25);
		store_counter_add(s, &run, "short ops=sum,add.Tensor dtypes=f32:1", &env, "mismatch", 3);
		EXPECT_INT(store_close(s, NULL), STORE_OK);
		sb_init(&before);
		sb_init(&after);
		dump(&before, path, true);
		EXPECT(sql_int(path, "SELECT count(*) FROM tried") > 0, "something was tried");
		exec_on(path, forged[i]);
		EXPECT_INT(store_close(open_ok(path, STORE_WRITE), NULL), STORE_OK);
		dump(&after, path, true);
		EXPECT(str_eq(before.s, after.s), "'%s' is believed", forged[i]);
		sb_free(&before);
		sb_free(&after);
		unlink(path);
	}
}

static void other_encodings(void)
{
	const char *path = tmp_path("utf16.db");
	exec_on(path, "PRAGMA encoding='UTF-16le'; CREATE TABLE t(a); DROP TABLE t");
	exec_on(path, store_schema_text(STORE_SCHEMA_VERSION));
	char sql[100];
	snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d", STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
	exec_on(path, sql);
	refused_always(path, STORE_CORRUPT, "UTF-16");
}

static void truncated(void)
{
	struct strbuf whole;
	sb_init(&whole);
	CHECK(sb_read_file(&whole, sample("whole.db", 30), 1 << 24, NULL));
	CHECK(whole.len > 50000);
	for (size_t n = 1; n < whole.len; n += n < 200 ? 33 : 4096 - 7) {
		write_file(tmp_path("truncated.db"), whole.s, n);
		refused_always(tmp_path("truncated.db"), STORE_CORRUPT, n < 100 ? "truncated" : "damaged");
	}
	sb_free(&whole);
}

/* Damage in the middle is not always seen when opening; whatever is done then must end in a status, never in a crash. */
static void damaged_pages(void)
{
	struct strbuf whole;
	struct arena a;
	int refusals = 0;
	sb_init(&whole);
	arena_init(&a);
	CHECK(sb_read_file(&whole, sample("sound.db", 10), 1 << 24, NULL));
	for (size_t at = 100; at < whole.len; at += 1511) {
		char saved[64];
		size_t n = MIN(sizeof saved, whole.len - at);
		memcpy(saved, whole.s + at, n);
		memset(whole.s + at, 0xa5, n);
		write_file(tmp_path("damaged.db"), whole.s, whole.len);
		memcpy(whole.s + at, saved, n);
		enum store_status status;
		struct store *s = store_open(&status, tmp_path("damaged.db"), STORE_READ, NULL);
		struct hash128 id;
		struct store_loaded l;
		bool bad = !s;
		for (unsigned i = 0; i < 16 && s; i++) {
			char prefix[8];
			snprintf(prefix, sizeof prefix, "%06x", i * 0x111111);
			bad |= store_find_by_prefix(s, &id, prefix) == STORE_CORRUPT;
			memset(&id, (int)i, sizeof id);
			bad |= store_load_finding(s, &l, &id, &a) == STORE_CORRUPT;
		}
		store_abandon(s);
		refusals += bad;
	}
	EXPECT(refusals > 3, "only %d damages noticed", refusals);
	arena_free(&a);
	sb_free(&whole);
}

/* ---- without root's powers ---------------------------------------------------------------------------------------------- */

static bool keep_nothing(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	(void)ncols, (void)names;
	*(int64_t *)ctx += v != NULL;
	return true;
}

static int64_t count_list(struct store *s)
{
	int64_t n = 0;
	const struct store_filter all = {.since = INT64_MIN, .new_since = INT64_MIN, .limit = -1};
	EXPECT_INT(store_list(s, &all, keep_nothing, &n), STORE_OK);
	return n;
}

static int read_only_file(void)
{
	const char *path = tmp_path("readonly.db");
	refused(path, STORE_WRITE, STORE_READONLY, "cannot be written");
	refused(path, STORE_CREATE, STORE_READONLY, "cannot be written");
	struct hash128 before = file_hash(path);
	struct store *s = open_ok(path, STORE_READ);
	EXPECT_INT(count_list(s), 3);
	int64_t rows = 0;
	EXPECT_INT(store_query_sql(s, "SELECT * FROM v_findings", NULL, keep_nothing, &rows), STORE_OK);
	EXPECT_INT(rows, 3);
	store_abandon(s);
	struct hash128 after = file_hash(path);
	EXPECT(same_hash(&before, &after), "reading changed the file");
	return 0;
}

static int read_only_directory(void)
{
	refused(tmp_path("closed/store.db"), STORE_WRITE, STORE_READONLY, "directory");
	refused(tmp_path("closed/store.db"), STORE_CREATE, STORE_READONLY, "directory");
	refused(tmp_path("closed/new.db"), STORE_CREATE, STORE_READONLY, "directory");
	struct store *s = open_ok(tmp_path("closed/store.db"), STORE_READ);
	EXPECT_INT(count_list(s), 2);
	store_abandon(s);
	return 0;
}

static int unreadable_file(void)
{
	refused(tmp_path("secret.db"), STORE_READ, STORE_READONLY, "secret.db");
	return 0;
}

/* A journal left by a killed writer, and no right to roll it back. */
static int hot_and_read_only(void)
{
	refused(tmp_path("hot/store.db"), STORE_READ, STORE_READONLY, "cannot be written");
	return 0;
}

static void leave_hot_journal(const char *path)
{
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct store *s = open_ok(path, STORE_WRITE);
		/* a tiny cache spills pages into the file before the commit */
		CHECK(sqlite3_exec(s->db,
				  "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE; UPDATE program SET text = text ||"
				  " hex(zeroblob(9000)); CREATE TABLE half(done)",
				  NULL, NULL, NULL)
			== SQLITE_OK);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(file_exists(path));
}

static void permissions(void)
{
	CHECK(chmod(sample("readonly.db", 3), 0444) == 0);
	CHECK(chmod(sample("secret.db", 1), 0) == 0);
	CHECK(mkdir(tmp_path("closed"), 0777) == 0);
	CHECK(chmod(sample("closed/store.db", 2), 0666) == 0);
	CHECK(mkdir(tmp_path("hot"), 0777) == 0);
	leave_hot_journal(sample("hot/store.db", 40));
	EXPECT(file_exists(tmp_path("hot/store.db-journal")), "no hot journal was left");
	CHECK(chmod(tmp_path("hot/store.db"), 0444) == 0 && chmod(tmp_path("hot/store.db-journal"), 0444) == 0);
	CHECK(chmod(tmp_path("closed"), 0555) == 0 && chmod(tmp_path("hot"), 0555) == 0);
	EXPECT_INT(in_child(read_only_file), 0);
	EXPECT_INT(in_child(read_only_directory), 0);
	EXPECT_INT(in_child(unreadable_file), 0);
	EXPECT_INT(in_child(hot_and_read_only), 0);
	CHECK(chmod(tmp_path("closed"), 0777) == 0 && chmod(tmp_path("hot"), 0777) == 0);
	CHECK(chmod(tmp_path("hot/store.db"), 0644) == 0 && chmod(tmp_path("hot/store.db-journal"), 0644) == 0);
}

static void hot_journal_is_rolled_back(void)
{
	const char *path = sample("hot.db", 40);
	struct strbuf before, after;
	sb_init(&before);
	sb_init(&after);
	dump(&before, path, true);
	leave_hot_journal(path);
	EXPECT(file_exists(tmp_path("hot.db-journal")), "no hot journal was left");
	struct store *s = open_ok(path, STORE_READ);
	EXPECT_INT(count_list(s), 40);
	store_abandon(s);
	EXPECT(!file_exists(tmp_path("hot.db-journal")), "the journal is still there");
	dump(&after, path, true);
	EXPECT(str_eq(before.s, after.s), "the rollback lost something");
	EXPECT_STR(integrity(path), "ok");
	sb_free(&before);
	sb_free(&after);
}

/* ---- the file goes away under an open store -------------------------------------------------------------------------------- */

static void vanishing_file(void)
{
	const char *path = sample("vanish.db", 2);
	struct store *s = open_ok(path, STORE_WRITE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1), f = put_finding(s, 7);
	CHECK(rename(path, tmp_path("moved.db")) == 0);
	EXPECT_INT(put_event(s, &f, 1, EVENT_NOTE, "lost?"), STORE_IO);
	EXPECT(strstr(store_message(s), "vanished") != NULL, "%s", store_message(s));
	store_counter_add(s, &run, "", &env, "pass", 3);
	EXPECT_INT(store_flush(s), STORE_IO);
	CHECK(rename(tmp_path("moved.db"), path) == 0);
	EXPECT_INT(put_event(s, &f, 1, EVENT_NOTE, "back"), STORE_OK); /* and the waiting counter is not lost */
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT n FROM counter"), 3);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM event WHERE kind = 'note'"), 1);
}

static void locked_file(void)
{
	static const struct store_env_text somewhere = {"t", "v", "t", "v", "d", "m"};
	const char *path = sample("locked.db", 1);
	struct store *s = open_ok(path, STORE_WRITE);
	sqlite3 *other;
	CHECK(sqlite3_open(path, &other) == SQLITE_OK);
	CHECK(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_busy_timeout(s->db, 50);
	struct hash128 id;
	EXPECT_INT(store_environment(s, &id, &somewhere), STORE_BUSY);
	EXPECT(strstr(store_message(s), "locked") != NULL, "%s", store_message(s));
	EXPECT_INT(store_begin(s), STORE_BUSY);
	EXPECT_INT(store_environment(s, &id, &somewhere), STORE_BUSY);
	EXPECT_INT(store_commit(s), STORE_BUSY);
	CHECK(sqlite3_exec(other, "ROLLBACK; BEGIN; SELECT * FROM run", NULL, NULL, NULL) == SQLITE_OK);
	EXPECT_INT(store_environment(s, &id, &somewhere), STORE_BUSY); /* a reader holds up the commit */
	sqlite3_close(other);
	EXPECT_INT(store_environment(s, &id, &somewhere), STORE_OK);
	EXPECT_INT(store_close(s, NULL), STORE_OK);
	EXPECT_INT(sql_int(path, "SELECT count(*) FROM environment"), 1);
}

/* A path is a path, whatever it looks like to SQLite. */
static void strange_names(void)
{
	static const char *const names[] = {":memory:", "file:x.db?mode=memory", "a b'c.db", "\xff.db"};
	CHECK(chdir(tmp_dir()) == 0);
	for (int i = 0; i < ARRAY_LEN(names); i++) {
		EXPECT_INT(store_close(open_ok(names[i], STORE_CREATE), NULL), STORE_OK);
		EXPECT(file_exists(names[i]), "%s is not a file", names[i]);
		EXPECT_INT(store_close(open_ok(names[i], STORE_READ), NULL), STORE_OK);
	}
}

int main(void)
{
	tmp_dir();
	RUN(absent_and_not_a_file);
	RUN(garbage);
	RUN(through_a_link);
	RUN(foreign_and_newer);
	RUN(strange_schema);
	RUN(the_attack_is_real);
	RUN(crafted_schemas);
	RUN(a_journal_that_deletes);
	RUN(forged_summaries);
	RUN(other_encodings);
	RUN(truncated);
	RUN(damaged_pages);
	RUN(permissions);
	RUN(hot_journal_is_rolled_back);
	RUN(vanishing_file);
	RUN(locked_file);
	RUN(strange_names);
	return TEST_END();
}
