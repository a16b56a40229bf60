/* store_util.h: what the tests of the findings store share: a folder for files, rows made from numbers, dumps to compare. */
#ifndef SCATTERPROOF_TEST_STORE_UTIL_H
#define SCATTERPROOF_TEST_STORE_UTIL_H

#include "reports/store/store_internal.h"

enum { T0 = 1700000000 }; /* seconds; the tests' times are around T0 * 1000 ms */

/* A folder of this process under $TMPDIR, /dev/shm or /tmp, removed at exit with everything in it. */
const char *tmp_dir(void);
/* A path in it, from a ring of 16 static buffers. */
const char *tmp_path(const char *name);

void write_file(const char *path, const void *bytes, size_t n);
struct hash128 file_hash(const char *path); /* all zero if there is no file */
bool same_hash(const struct hash128 *a, const struct hash128 *b);
bool file_exists(const char *path);

/* Aborts with the sentence if it cannot. */
struct store *open_ok(const char *path, enum store_mode mode);
/* "ok" or what PRAGMA integrity_check and foreign_key_check say (static buffer), on a connection of its own. */
const char *integrity(const char *path);
/* First column of the first row as text (static buffer); NULL is "NULL", no row is "". */
const char *sql_text(const char *path, const char *sql);
int64_t sql_int(const char *path, const char *sql);
/* All shared tables in key order, as SQL literals: equal for equal stores. cached: the local caches too. */
void dump(struct strbuf *out, const char *path, bool cached);

/* Rows from numbers: the same number gives the same row. */
struct hash128 put_run(struct store *s, unsigned n);
struct hash128 put_env(struct store *s, unsigned n);
struct hash128 put_env_on(struct store *s, const char *version, const char *target);
struct hash128 put_program(struct store *s, unsigned n);
struct hash128 put_finding(struct store *s, unsigned n);
/* Of the finding's first program. */
enum store_status put_obs(
	struct store *s, const struct hash128 *finding, const struct hash128 *env, const struct hash128 *run, int64_t at, const char *verdict);
/* Of program n. */
enum store_status put_obs_of(struct store *s, const struct hash128 *finding, unsigned n, const struct hash128 *env,
	const struct hash128 *run, int64_t at, const char *verdict);
/* Six findings: numbers 0 to 4, seen on five days from T0 on, and one with odd bytes that is fixed. Returns the id of number 1, which is
 * confirmed and has a report. */
struct hash128 make_sample(const char *path);
/* Three findings of two nights: 1 fails on 2.11.0 and passes on 2.15.0, 2 fails on both, 3 on 2.15.0 only, where it was seen in three
 * programs. 1,000 programs pass on 2.11.0, 2,000 on 2.15.0. */
void make_two_versions(const char *path);
enum store_status put_event(struct store *s, const struct hash128 *finding, int64_t at, enum event_kind kind, const char *payload);

#endif
