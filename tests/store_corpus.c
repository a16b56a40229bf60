/* store_corpus.c: writes the seeds of fuzz_store (tests/corpus/store) again: `store_corpus DIR`, after a change of the schema.
 * Small pages, so that whole stores are small files. */
#include <unistd.h>

#include "tests/store_util.h"

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
		sb.s[at] ^= 0x21;       /* cell pointers of every fifth page */
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
