/* store_corpus.c: writes the seeds of fuzz_store (tests/fuzz/corpus/store) again: `store_corpus DIR`, after a change of the schema.
 * Small pages, so that whole stores are small files. */
#include <unistd.h>

#include "tests/store/store_util.h"

static const int64_t NOW = (int64_t)T0 * 1000;

static void make_store(const char *path, unsigned nfindings)
{
	struct store *s = open_ok(path, STORE_CREATE);
	struct hash128 run = put_run(s, 1), env = put_env(s, 1);
	for (unsigned i = 0; i < nfindings; i++) {
		struct hash128 f = put_finding(s, i);
		put_obs(s, &f, &env, &run, NOW + i, i % 2 ? "mismatch" : "pass");
		store_artifact(s, &f, "got", NOW, "bytes", 5);
		put_event(s, &f, NOW + 10, i % 2 ? EVENT_CONFIRMED : EVENT_FIXED, "x");
	}
	store_counter_add(s, &run, "draw", &env, "pass", 5);
	CHECK(store_close(s, NULL) == STORE_OK);
}

static void exec_on(const char *path, const char *sql)
{
	sqlite3 *db;
	CHECK(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

/* A store to be migrated. Its keys are made up: a migration does not look at them. */
static void make_version_1(const char *path)
{
	unlink(path);
	exec_on(path, store_schema_text(1));
	exec_on(path,
		"INSERT INTO run VALUES (x'01010101010101010101010101010101', 1, '0/1', 'default', 'scatterproof 0.1', 1);"
		"INSERT INTO draw VALUES (x'02020202020202020202020202020202', 'a draw');"
		"INSERT INTO environment VALUES (x'03030303030303030303030303030303', 'torch-2.15.0:eager@cpu', 'torch 2.11.0+cu130', 'x86_64');"
		"INSERT INTO program VALUES (x'04040404040404040404040404040404', 'text');"
		"INSERT INTO program_op VALUES ('sum', x'04040404040404040404040404040404');"
		"INSERT INTO finding VALUES (x'05050505050505050505050505050505', x'04040404040404040404040404040404', 'torch', 'value');"
		"INSERT INTO observation VALUES (x'06060606060606060606060606060606', x'05050505050505050505050505050505',"
		" x'03030303030303030303030303030303', x'01010101010101010101010101010101', 7, 'mismatch', 'out 0', 0, 0, ''),"
		" (x'07070707070707070707070707070707', x'05050505050505050505050505050505',"
		" x'03030303030303030303030303030303', x'01010101010101010101010101010101', 8, 'mismatch', 'out 0', 0, 0, '');"
		"INSERT INTO event SELECT CAST(printf('event%011d', row_number() OVER ()) AS BLOB),"
		" x'05050505050505050505050505050505', 7, column1, 't', column2, NULL, NULL"
		" FROM (VALUES ('found', ''), ('severity', 'low'), ('state', 'dismissed'),"
		" ('note', 'duplicate of 00112233445566778899aabbccddeeff'));"
		"INSERT INTO counter VALUES (x'01010101010101010101010101010101', x'02020202020202020202020202020202', 'torch:fake@cpu', 'pass', "
		"3);"
		"INSERT INTO observation_count VALUES (x'05050505050505050505050505050505', x'03030303030303030303030303030303',"
		" x'01010101010101010101010101010101', 'mismatch', 2, 7, 8);"
		"PRAGMA page_size=512; VACUUM; PRAGMA application_id=1397769811; PRAGMA user_version=1");
}

/* The rest of the corpus is cut or changed from it. */
static void make_corpus(const char *dir)
{
	struct strbuf sb;
	char path[1024];
	const char *whole = tmp_path("whole.db");
	make_store(whole, 3);
	exec_on(whole, "PRAGMA page_size=512; VACUUM");
	sb_init(&sb);
	CHECK(sb_read_file(&sb, whole, 1 << 20, NULL));
	snprintf(path, sizeof path, "%s/whole", dir);
	write_file(path, sb.s, sb.len);
	snprintf(path, sizeof path, "%s/version_1", dir);
	make_version_1(path);
	snprintf(path, sizeof path, "%s/header", dir);
	write_file(path, sb.s, 100);
	snprintf(path, sizeof path, "%s/magic", dir);
	write_file(path, sb.s, 16);
	snprintf(path, sizeof path, "%s/cut", dir);
	write_file(path, sb.s, 3 * 512 + 100);
	snprintf(path, sizeof path, "%s/empty", dir);
	write_file(path, "", 0);
	snprintf(path, sizeof path, "%s/text", dir);
	write_file(path, "not a database\n", 15);
	snprintf(path, sizeof path, "%s/foreign", dir);
	unlink(path);
	exec_on(path, "PRAGMA page_size=512; CREATE TABLE t(a)");
	for (size_t at = 512 + 8; at < sb.len; at += 5 * 512)
		sb.s[at] ^= 0x21; /* cell pointers of every fifth page */
	snprintf(path, sizeof path, "%s/damaged", dir);
	write_file(path, sb.s, sb.len);
	sb_free(&sb);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	make_corpus(argv[1]);
	return 0;
}
