/* store_internal.h: what the files of the findings store share. Not for other modules; the tests of migrations use it.
 *
 * Writing functions follow one pattern: write_enter, work, write_leave. Outside a batch enter begins an immediate
 * transaction and leave commits it or rolls it back; inside one they only remember the first failure. */
#ifndef SCATTERPROOF_STORE_INTERNAL_H
#define SCATTERPROOF_STORE_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "reports/store/store.h"

enum { STORE_APPLICATION_ID = 0x53504653 /* "SPFS" */, STORE_SCHEMA_VERSION = 6, STORE_MAX_COLS = 12 };

/* ---- tables of shared rows ---------------------------------------------------------------------------------------- */
/* In an order in which references point backwards: merging follows it. */
enum table_id {
	TABLE_RUN,
	TABLE_DRAW,
	TABLE_ENVIRONMENT,
	TABLE_PROGRAM,
	TABLE_FINDING,
	TABLE_ISSUE,
	TABLE_OBSERVATION,
	TABLE_ARTIFACT,
	TABLE_EVENT,
	NTABLES
};
struct table_shape {
	const char *name;
	int ncols;           /* without id */
	const char *columns; /* "seed, shard, ..." */
	const char *types;   /* per column: i integer, t text, b blob (B: may be NULL) */
};
extern const struct table_shape store_table[NTABLES];

struct column_value {
	char type;
	int64_t i;
	const void *p;
	size_t n;
}; /* type: i t b, n for NULL */
struct column_value value_int(int64_t i);
struct column_value value_text(const char *s);
struct column_value value_blob(const void *p, size_t n);
struct column_value value_hash(const struct hash128 *h);     /* NULL for h == NULL */
struct column_value value_column(sqlite3_stmt *st, int col); /* borrowed until the next step */

struct hash128 table_key(const struct table_shape *t, const struct column_value *values);

/* ---- the store ------------------------------------------------------------------------------------------------------ */
enum query {
	Q_BEGIN,
	Q_COMMIT,
	Q_PROGRAM_OP,
	Q_COUNTER,
	Q_TOTAL,
	Q_TRIED,
	Q_OPERATOR,
	Q_OBS_COUNT,
	Q_OBS_RANK,
	Q_SUMMARY,
	Q_SUMMARY_DUPLICATES,
	Q_SUMMARY_ALL,
	Q_SUMMARY_CLEAR,
	Q_SUMMARY_DIFFERS,
	Q_TRIM_REPEATS,
	Q_TRIM,
	Q_TRIM_ALL_REPEATS,
	Q_TRIM_ALL,
	Q_DROP_OPS,
	Q_DROP_PROGRAM,
	Q_DROP_ALL_OPS,
	Q_DROP_ALL_PROGRAMS,
	Q_CURRENT,
	Q_DUPLICATES,
	Q_CIRCLE_PUT,
	Q_ORIGINAL,
	Q_FINDING,
	Q_BY_SIGNATURE,
	Q_BY_PREFIX,
	Q_LAST_CAMPAIGN,
	Q_ANSWER,
	Q_ANSWER_PUT,
	Q_ANSWERS_DROP,
	Q_LOAD,
	Q_LOAD_ENV,
	Q_LOAD_OBS,
	Q_LOAD_EVENT,
	Q_LOAD_ARTIFACT,
	NQUERIES
};

struct pending_counter {
	struct hash128 key, run, environment;
	char *draw, *verdict;
	int64_t n;
};
struct pending_count {
	struct hash128 finding, environment, run;
	char *verdict;
	int64_t n, first, last;
};

struct store {
	char *path;
	sqlite3 *db;
	enum store_mode mode;
	pid_t owner;    /* the process that opened it */
	bool in_memory; /* db is a migrated copy; the file has an older schema */
	sqlite3_stmt *stmt[NQUERIES], *put[NTABLES];
	bool circles;            /* circles_setup is done: a writer's connection */
	int64_t circles_version; /* SQLite's data_version at the latest circles_refresh; negative: none that still holds */
	bool in_batch;
	enum store_status batch; /* first failure inside the batch */
	struct strbuf message;
	struct pending_counter *counter;
	struct pending_count *count;
	int ncounters, counter_cap, ncounts, count_cap;
};

/* Sets the message from SQLite's result code and what was being done ("writing an event"), and classifies it. */
enum store_status store_fail(struct store *s, int rc, const char *doing);
enum store_status store_refuse(struct store *s, enum store_status status, const char *fmt, ...) PRINTF_LIKE(3, 4);
enum store_status store_classify(sqlite3 *db, int rc);

/* Prepared, reset, bindings cleared; kept by the store. */
enum store_status store_stmt(struct store *s, sqlite3_stmt **st, enum query q);
/* Steps a statement that returns no row and resets it. */
enum store_status store_run_stmt(struct store *s, sqlite3_stmt *st, const char *doing);
void bind_value(sqlite3_stmt *st, int at, const struct column_value *v); /* borrowed: must outlive the step */
void bind_hash(sqlite3_stmt *st, int at, const struct hash128 *h);
void bind_text(sqlite3_stmt *st, int at, const char *text);
bool column_hash(struct hash128 *out, sqlite3_stmt *st, int col); /* false: not a blob of 16 bytes */

/* INSERT ... ON CONFLICT(id) DO NOTHING. *id is computed from the values. */
enum store_status store_put(struct store *s, struct hash128 *id, enum table_id t, const struct column_value *values);

/* Program and operators, inside a transaction. id: of the text, see program_key. */
enum store_status store_put_program(struct store *s, const struct hash128 *id, const char *text, const char *const *ops, int nops);
struct hash128 program_key(const char *text);
/* The row alone, inside a transaction. */
enum store_status store_put_event(struct store *s, const struct store_event *e);
/* Adds to observation_count, inside a transaction. (store_obs.c) */
enum store_status store_put_count(struct store *s, const struct pending_count *c);

enum store_status write_enter(struct store *s);
enum store_status write_leave(struct store *s, enum store_status status);
/* Recomputes the cached summary of one finding, or of all (finding NULL). Inside a transaction. */
enum store_status summary_update(struct store *s, const struct hash128 *finding);
/* Duplicates in linear time, for those who write (store_duplicates.c). After circles_setup the names finding_decision, finding_state_now
 * and finding_now mean temporary views, which circles_refresh keeps true: after each decision, and if another process has written. */
enum store_status circles_setup(struct store *s);
enum store_status circles_refresh(struct store *s);
enum store_status circles_current(struct store *s);
/* Writers look at all summaries when they open a store: what a campaign makes of a finding must not rest on one that no event supports.
 * They are rebuilt if they differ (0.15 s to look at 5,000 findings with 100,000 observations). */
enum store_status summary_verify(struct store *s);
/* Sums of counters (store_totals.c), inside a transaction: what one more counter adds; all of them from the beginning. */
enum store_status totals_add(struct store *s, const struct pending_counter *p);
enum store_status totals_rebuild(struct store *s);
/* Writers look at them when they open a store: they are rebuilt if they are not the counters' sums, or if this scatterproof has other
 * operators than the one that wrote last. */
enum store_status totals_verify(struct store *s);
/* Of the observations of all findings, keeps those that store.h says, and deletes programs that nothing refers to then. */
enum store_status trim_all_observations(struct store *s);

/* Concludes from all rows which findings were seen after their fix, inside a transaction; summaries are the caller's.
 * (store_after_fix.c) */
enum store_status conclude_from_merged(struct store *s);

/* Steps through a query and hands its rows over; the last result code, SQLITE_DONE if row stopped it. (store_query.c) */
int store_each_row(sqlite3_stmt *st, store_row_fn *row, void *ctx);

/* ---- opening (store_open.c) --------------------------------------------------------------------------------------------- */
/* A bare connection to an already judged file with the settings that every connection has. NULL: *rc says why. */
sqlite3 *store_connect(const char *path, bool create, int *rc);
/* A connection to a copy in memory, which is the caller's to close even if *rc is not SQLITE_OK. */
sqlite3 *store_copy(sqlite3 *from, int *rc);
int store_read_int(sqlite3 *db, const char *sql, int64_t *out);
/* As store_fail, before there is a store. */
enum store_status store_open_fail(struct err *err, sqlite3 *db, int rc, const char *path, const char *doing);

/* ---- schemas (store_schema.c, store_migrate.c) --------------------------------------------------------------------------- */
/* A new database in memory with the tables of that version (0 < version <= STORE_SCHEMA_VERSION). NULL: *rc says why. */
sqlite3 *store_fresh(int version, int *rc);
const char *store_schema_text(int version);
/* STORE_CORRUPT unless db has exactly the tables, indices and views of that version, and the same words in its tables of words. */
enum store_status store_check_schema(sqlite3 *db, int version, const char *path, struct err *err);
/* Brings an empty or older database to STORE_SCHEMA_VERSION, in one transaction. */
enum store_status store_upgrade(struct store *s, struct err *err);

#endif
