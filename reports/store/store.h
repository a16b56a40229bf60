/* store.h: the findings store, one SQLite file.
 *
 * SHARED ROWS ARE IMMUTABLE. The key of a shared row is hash_bytes() of its table's name and all its other columns
 * (store_table.c has the encoding), so equal rows have equal keys on every machine and two stores merge by union. What
 * changes about a finding is an append-only EVENT; "current" values (signature, severity, state, minimised program) are
 * views over events, ties broken by (time, key). Two tables hold numbers that only grow (counter, observation_count);
 * they merge by maximum. finding_summary is a local cache: written with the events it sums up, rebuilt after a merge,
 * never merged. The events of tool "merge" are conclusions from the other rows: each merge takes them back and concludes again
 * (store_after_fix.c). tests/store/store_merge_test.c checks that merging is commutative, associative and idempotent.
 *
 * AN OBSERVATION IS OF A PROGRAM: a finding's signature comes back in other programs, and which tensor was wrong, in which call, is
 * true of the program that was observed, not of the finding's first one. A row is kept per (finding, program, environment), the
 * earliest by (time, key). Of these at most STORE_MAX_OBS are kept per finding: those of its first program, then the earliest.
 * Everything is counted, a "pass" is only counted. A program that no row refers to any more is deleted.
 *
 * DURABILITY. Rollback journal, synchronous=FULL. Each writing function commits before it returns STORE_OK, except
 * between store_begin and store_commit (one transaction), and except counters and the observations beyond the first
 * STORE_MAX_OBS, which wait in memory for store_flush (call it at most once a second; store_close calls it).
 * A function that fails has changed nothing and can be called again later: counters and counts are kept.
 *
 * A REFUSED OPEN CHANGES NOTHING: the file's header is read and judged before SQLite may touch it. (Making a new store on a full
 * disk may leave an empty file, which STORE_CREATE accepts later.)
 *
 * ERRORS. Statuses are the world's and bad input's; store_message() has the sentence. Arguments that break this contract
 * (NULL text, nested store_begin, writing to a store opened for reading) are our bugs and abort; an id that was never
 * stored gives STORE_BAD (foreign keys).
 * Nothing here reads a clock: every time is the caller's, int64 unix milliseconds, UTC. One thread per store.
 * One writer per file is the rule (shards have their own file); a second one only waits, up to the busy timeout. */
#ifndef SCATTERPROOF_STORE_H
#define SCATTERPROOF_STORE_H

#include "eager/base/base.h"

enum {
	STORE_MAX_OBS = 20,        /* observations kept per finding; the rest are counted */
	STORE_ID_DIGITS = 8,       /* hex digits of an id shown to people */
	STORE_MIN_PREFIX = 6,      /* hex digits that a person must type */
	STORE_MAX_BLOB = 64 << 20, /* bytes of one text or artifact */
	STORE_QUERY_MIB = 512,     /* memory of one SQL query */
	STORE_MERGE_MIB = 256,     /* pages of the store that is merged into, kept in memory meanwhile */
	STORE_BUSY_MS = 10000      /* how long a writer or reader waits for another one's lock */
};

enum store_mode {
	STORE_READ,  /* must exist; if it can be written, a killed writer's journal is rolled back; an older schema is migrated in memory */
	STORE_WRITE, /* must exist and be writable; an older schema is migrated */
	STORE_CREATE /* as STORE_WRITE, or made new if absent or empty */
};
enum store_status {
	STORE_OK,
	STORE_BUSY,     /* another process holds the lock beyond the busy timeout */
	STORE_FULL,     /* disk or quota full */
	STORE_READONLY, /* file, directory or medium is not writable */
	STORE_IO,       /* any other failure of the system, a file that vanished included */
	STORE_ABSENT,   /* no such file, or not a file */
	STORE_NEWER,    /* written by a later scatterproof */
	STORE_FOREIGN,  /* not a database, or somebody else's */
	STORE_CORRUPT,  /* ours, but damaged: truncated, or its schema or keys are wrong */
	STORE_BAD,      /* bad request: unknown or ambiguous id, SQL error, a statement that could write */
	NSTORE_STATUS
};
/* The command line's exit code: 0; 3 for BUSY FULL READONLY IO (the world); 2 for the others (bad input). */
int store_exit_code(enum store_status status);

/* ---- words ------------------------------------------------------------------------------------------------ */
enum finding_kind { /* what is wrong; in the database as text, see finding_kind_name */
	FINDING_VALUE,
	FINDING_GRADIENT,
	FINDING_MUTATION,
	FINDING_ALIAS,
	FINDING_META,
	FINDING_NONENESS,
	FINDING_RAISE,
	FINDING_CRASH,
	FINDING_HANG,
	FINDING_INVARIANT,
	FINDING_NONDETERMINISTIC,
	NFINDING_KINDS
};
extern const char *const finding_kind_name[NFINDING_KINDS]; /* value gradient mutation alias meta none-ness raise crash ... */
bool finding_kind_find(enum finding_kind *out, const char *name);

enum finding_state {
	STATE_CANDIDATE,
	STATE_CONFIRMED,
	STATE_MINIMISED,
	STATE_BLAMED, /* progress: the furthest one reached counts */
	STATE_KNOWN,
	STATE_FIXED_IN,
	STATE_REGRESSED,
	STATE_DISMISSED,
	STATE_DUPLICATE, /* decisions: the latest one counts */
	NFINDING_STATES
};
/* Masks of 1u << state. Open: nobody has decided about it, or it is back. New: nobody has looked at it, or not since it is back. */
#define STATES_OPEN (1u << STATE_CANDIDATE | 1u << STATE_CONFIRMED | 1u << STATE_MINIMISED | 1u << STATE_BLAMED | 1u << STATE_REGRESSED)
#define STATES_NEW  (1u << STATE_CANDIDATE | 1u << STATE_CONFIRMED | 1u << STATE_REGRESSED)
extern const char *const finding_state_name[NFINDING_STATES]; /* candidate confirmed ... dismissed duplicate */
bool finding_state_find(enum finding_state *out, const char *name);

enum finding_severity { SEVERITY_TRIVIAL, SEVERITY_NORMAL, SEVERITY_HIGH, NSEVERITIES };
extern const char *const finding_severity_name[NSEVERITIES]; /* in order of the alphabet the most severe comes first */
bool finding_severity_find(enum finding_severity *out, const char *name);

enum event_kind {      /* payload */
	EVENT_FOUND,       /* "" */
	EVENT_SEVERITY,    /* severity's name */
	EVENT_SIGNATURE,   /* the signature */
	EVENT_CONFIRMED,   /* how: "5 of 5 in a fresh process" */
	EVENT_MINIMISED,   /* how; .program is the minimised program */
	EVENT_BLAME,       /* the first bad stage, pass, node */
	EVENT_KNOWN,       /* text; .issue is the upstream issue, if there is one */
	EVENT_FIXED,       /* the version in which it is fixed */
	EVENT_REGRESSED,   /* the version in which it is back */
	EVENT_STATE,       /* a person's word: a state's name, not "duplicate". A progress state starts progress afresh from there */
	EVENT_NOTE,        /* text */
	EVENT_DUPLICATE,   /* the original's id, 32 hex digits. Of a circle (from merging) the least id counts as the original */
	EVENT_UNCONFIRMED, /* why it was not seen again: "nondeterministic: ...", "harness: ...", "not seen: ..." */
	EVENT_EXCUSE,      /* what the family's own comparisons say of it: "assert_close: differs, same: equal" */
	EVENT_REACH,       /* the plainest spelling that fails: "python", "torch", "aten" (nobody but a caller of the overload meets it) */
	EVENT_CURE,        /* options of a target with which the minimised program is right: "probe.clone=bw:aten.slice_scatter.default" */
	EVENT_CAUSE,       /* findings with the same text have the same cause */
	NEVENT_KINDS
};
extern const char *const event_kind_name[NEVENT_KINDS];
bool event_decides(const char *kind); /* is it a decision, of which the latest counts? */

/* ---- open, close, transactions --------------------------------------------------------------------------------- */
struct store;
/* NULL when refused: *status says which way, err the sentence. The result is closed with store_close. */
struct store *store_open(enum store_status *status, const char *path, enum store_mode mode, struct err *err);
/* Flushes and frees. Anything but STORE_OK: the last counts were not written (the sentence goes to err, which may be NULL).
 * s may be NULL. */
enum store_status store_close(struct store *s, struct err *err);
/* Frees without flushing. A store belongs to the process that opened it: in a child after fork this only forgets (closing would
 * roll the parent's transaction back), and writing aborts. */
void store_abandon(struct store *s);
const char *store_path(const struct store *s);
const char *store_message(const struct store *s); /* the last failure's sentence, "" if none; valid until the next call */

/* One transaction, so that a finding with its observation and artifacts is there whole or not at all. After a failure
 * inside, every writing call returns that failure and store_commit rolls back and returns it: callers may look only there. */
enum store_status store_begin(struct store *s);
enum store_status store_commit(struct store *s);
void store_rollback(struct store *s);

/* ---- writing. *id is set even on failure: it depends on content only ------------------------------------------------- */
struct store_run {
	uint64_t seed;
	const char *shard;    /* "0/4" */
	const char *policy;   /* of a campaign; "repro" or "check" for runs of stored or given programs (seed 0, shard "") */
	const char *versions; /* of scatterproof and what it was built from */
	int64_t started;
};
enum store_status store_run_begin(struct store *s, struct hash128 *id, const struct store_run *run);

/* What ran; "" for what is not known. */
struct store_env_text {
	const char *family;   /* "torch", "builtin" */
	const char *version;  /* of the family, as what ran says itself, without local suffix: "2.11.0" */
	const char *target;   /* canonical, with that version where names of the family have one: "torch-2.11.0:inductor@cpu" */
	const char *versions; /* everything known: "torch 2.11.0+cu130, python 3.11.2" */
	const char *device;   /* "cpu", "cuda: NVIDIA H200" */
	const char *machine;  /* "x86_64, Intel(R) Xeon(R) ..., 2 CPUs"; no host name */
};
enum store_status store_environment(struct store *s, struct hash128 *id, const struct store_env_text *e);
/* A finding's first program, or its minimised one; those of observations come with them.
 * text: the program's canonical text. ops: the operators' names with overload, any order, repeats allowed. */
enum store_status store_program(struct store *s, struct hash128 *id, const char *text, const char *const *ops, int nops);

struct store_finding {
	struct hash128 program; /* the first program; stored before */
	const char *family;     /* the target's family, without version: "torch" */
	enum finding_kind kind;
	enum finding_severity severity;
	const char *signature; /* "" if not known yet */
	int64_t at;
	const char *tool; /* SCATTERPROOF */
};
/* The key is of (program, family, kind): look the signature up first (store_open_by_signature). If the finding exists, only
 * a severity or signature that differs from the current one is added. */
enum store_status store_finding(struct store *s, struct hash128 *id, const struct store_finding *f);

struct store_observation {
	struct hash128 finding, environment, run;
	int64_t at;
	const char *verdict; /* "mismatch", "crash", "pass", ... */
	const char *tensor;  /* which is wrong: "x.grad", "out 0 (sum_1)", "input y afterwards" (fuzz/triage/verdict.c); "" if none */
	int fill, call;      /* index of the fill and of the call; -1 if it does not apply */
	const char *detail;  /* one or few lines: "12 of 78 wrong, all zero, expected up to 4" */
};
/* Counts, and stores row and program if the row is one of those that are kept (head of this file). program, ops: of the program that
 * was observed, as for store_program. */
enum store_status store_observation(
	struct store *s, const struct store_observation *o, const char *program, const char *const *ops, int nops);

/* Names used by the tool: report (text block for people), stderr. Storing another content
 * under the same name adds one; the latest is the current one. At most STORE_MAX_BLOB bytes (more: STORE_BAD). */
enum store_status store_artifact(
	struct store *s, const struct hash128 *finding, const char *name, int64_t at, const void *bytes, size_t nbytes);
/* An upstream issue; title may be "". */
enum store_status store_issue(struct store *s, struct hash128 *id, const char *url, const char *title);

struct store_event {
	struct hash128 finding;
	int64_t at;
	enum event_kind kind;
	const char *tool, *payload;
	const struct hash128 *program, *issue; /* NULL: none */
};
enum store_status store_event(struct store *s, const struct store_event *e);

/* What a minimiser that was stopped has asked already; local to this file, never merged. question: hash of program and target. */
enum store_status store_answer(struct store *s, bool *known, bool *yes, const struct hash128 *finding, const struct hash128 *question);
enum store_status store_answer_put(struct store *s, const struct hash128 *finding, const struct hash128 *question, bool yes);
enum store_status store_answers_drop(struct store *s, const struct hash128 *finding);

/* Adds n to (run, draw, environment, verdict) in memory: cheap, cannot fail. draw: text of the block's policy draw, "" if none. */
void store_counter_add(
	struct store *s, const struct hash128 *run, const char *draw, const struct hash128 *environment, const char *verdict, int64_t n);
/* Writes counters and counts of observations that wait in memory; they go on waiting if it fails (but for STORE_BAD, a run or an
 * environment that was never stored: those are dropped). Nothing waits: STORE_OK without touching the disk. Not inside a batch. */
enum store_status store_flush(struct store *s);

/* ---- reading ------------------------------------------------------------------------------------------------- */
/* The earliest finding (first_seen, then id) whose current signature and family are these, in whatever state: a known,
 * fixed or dismissed one absorbs its likes too. *found tells; id and state are set only then. state may be NULL.
 * An empty signature is never found. family "torch" finds those that stores of schema version 1 keep under "torch-2.15.0", too. */
enum store_status store_open_by_signature(
	struct store *s, bool *found, struct hash128 *id, enum finding_state *state, const char *signature, const char *family);
/* When the latest campaign of this store began (runs of the policies "repro", "check", "minimise", "triage" and "recheck" are none);
 * INT64_MIN if there is none. */
enum store_status store_last_campaign(struct store *s, int64_t *started);
/* prefix: STORE_MIN_PREFIX to 32 hex digits. Unknown or ambiguous (the sentence lists candidates): STORE_BAD. */
enum store_status store_find_by_prefix(struct store *s, struct hash128 *id, const char *prefix);

/* The finding in this store that this one is said to be a duplicate of, if it is (no more than one step). Stores open for writing. */
enum store_status store_original(struct store *s, bool *found, struct hash128 *original, const struct hash128 *finding);

struct store_loaded_env {
	struct hash128 id;
	const char *family, *version, *target, *versions, *device, *machine;
	int64_t nobs, npass, first_seen, last_seen; /* observations of the bug; verdict "pass" is counted apart */
};
struct store_loaded_obs {
	int env;                /* index into envs */
	struct hash128 program; /* that was observed; often the finding's first one, not always */
	const char *program_text;
	int64_t at;
	const char *verdict, *tensor, *detail;
	int fill, call;
};
struct store_loaded_program {
	struct hash128 id;
	char hex[33];
	const char *text;
	int64_t nobs; /* observations that are kept */
};
struct store_loaded_event {
	int64_t at;
	const char *kind, *tool, *payload, *issue_url; /* issue_url "" if none */
};
struct store_loaded_artifact {
	const char *name;
	int64_t at;
	size_t nbytes;
	const void *bytes; /* followed by a NUL that nbytes does not count */
};
struct store_loaded { /* everything lives in the caller's arena */
	struct hash128 id, program_id;
	char hex[33];
	const char *family, *signature;
	enum finding_kind kind;
	enum finding_state state;
	enum finding_severity severity;
	int64_t first_seen, last_seen, nobs, npass; /* nobs without those whose verdict is "pass" */
	const char *ops;                            /* of the current program, "expand slice_scatter sum.dim_IntList" */
	const char *program;                        /* the first program's text */
	const char *minimised;                      /* NULL if not minimised yet */
	int nenvs, nobs_stored, nevents, nartifacts, nprograms;
	struct store_loaded_env *env;           /* by first_seen: env[0] is where it was found */
	struct store_loaded_obs *obs;           /* by time */
	struct store_loaded_event *event;       /* by time */
	struct store_loaded_artifact *artifact; /* by name, then latest first */
	struct store_loaded_program *programs;  /* the first one, the minimised one, then by time of observation; none twice */
};
enum store_status store_load_finding(struct store *s, struct store_loaded *out, const struct hash128 *id, struct arena *a);
/* The latest artifact of that name, or NULL. */
const struct store_loaded_artifact *store_loaded_artifact(const struct store_loaded *f, const char *name);

enum store_value_type { STORE_NULL, STORE_INT, STORE_REAL, STORE_TEXT, STORE_BLOB };
struct store_value {
	enum store_value_type type;
	int64_t i;
	double r;
	const char *s; /* text or blob, nbytes long; a text is followed by a NUL */
	size_t nbytes;
};
/* Called once per row, names[i] with value[i]; and once before the first row with value = NULL, so that an empty result
 * has its header too. false stops (not an error). */
typedef bool store_row_fn(void *ctx, int ncols, const char *const *names, const struct store_value *value);

enum store_order { ORDER_LAST, ORDER_FIRST, ORDER_SEVERITY, ORDER_NOBS, NORDERS }; /* latest, most severe, most first */
enum { STORE_MAX_FILTER = 32 };
/* All of it must hold: all operators, one of the states, kinds, severities, and one environment in which it was seen (passing there
 * does not count) that has one of the targets and one of the versions. Nothing given: any. */
struct store_filter {
	const char *op[STORE_MAX_FILTER];     /* of the minimised program, or if there is none the first; "sum" also means "sum.dim_IntList" */
	const char *op_any[STORE_MAX_FILTER]; /* of any of its programs */
	const char *target[STORE_MAX_FILTER]; /* a target's name or its head, with or without version: "torch:inductor" */
	const char *version[STORE_MAX_FILTER];
	int nops, nops_any, ntargets, nversions;
	unsigned states, kinds, severities; /* masks of 1u << enum */
	int64_t since;                      /* last seen at or after; INT64_MIN: any */
	int64_t new_since;                  /* first seen at or after; INT64_MIN: any */
	int64_t limit;                      /* rows; negative: all */
	enum store_order order[NORDERS];    /* the first one counts most; after them latest seen first */
	int norders;
};
/* Columns as in view v_findings. */
enum store_status store_list(struct store *s, const struct store_filter *filter, store_row_fn *row, void *ctx);
/* Does the store have such a thing, as a filter means it? If not, *g has been given all that it has. */
enum store_word { WORD_OP, WORD_TARGET, WORD_VERSION, NSTORE_WORDS };
struct guess;
enum store_status store_word_known(struct store *s, bool *known, struct guess *g, enum store_word word, const char *text);

/* ---- merging ---------------------------------------------------------------------------------------------------- */
/* Adds to dst what the store at src_path has, in one transaction. dst keeps what it had if anything fails; src is not changed
 * (but as by any opening for reading). A row of src whose key does not match its content: STORE_CORRUPT. */
enum store_status store_merge(struct store *dst, const char *src_path);

/* ---- SQL of this program's own --------------------------------------------------------------------------------------- */
/* One SELECT on the store's connection: it holds nothing that people typed. What an open batch wrote is seen. */
enum store_status store_read(struct store *s, const char *sql, store_row_fn *row, void *ctx);
/* What one says with each of n keys for ?1, in their order. nth: the key whose row it is. */
typedef void store_row_of_fn(void *ctx, int nth, const struct store_value *v);
enum store_status store_read_each(struct store *s, const char *sql, const int64_t *key, int n, store_row_of_fn *row, void *ctx);
/* All that is read until the end is of one moment. own: this is what began it, and what ends it; another one is open already. */
enum store_status store_snapshot(struct store *s, bool *own);
void store_snapshot_end(struct store *s, bool own);

/* ---- SQL for people ------------------------------------------------------------------------------------------------ */
/* Asked after every thousand steps of SQLite's virtual machine (some ten microseconds); true ends the query. */
typedef bool store_stop_fn(void *ctx);
/* One SELECT (or VALUES, WITH, EXPLAIN) on a connection of its own whose authorizer permits only reading, in at most
 * STORE_QUERY_MIB more of SQLite's memory. stop may be NULL; it is given ctx, like row. SQL errors, refusals, too much memory and a
 * stop: STORE_BAD. */
enum store_status store_query_sql(struct store *s, const char *sql, store_stop_fn *stop, store_row_fn *row, void *ctx);

/* ---- small helpers for whoever prints ------------------------------------------------------------------------------- */
void store_time_text(char out[32], int64_t at); /* "2026-01-31T23:59:59Z"; outside years 0-9999 the number */
/* "2026-01-31", "2026-01-31T23:59", "2026-01-31 23:59:59", optional Z; UTC. */
bool store_time_parse(int64_t *out, const char *text, struct err *err);
/* The same, or "today", "yesterday" (since its midnight, UTC), "90m", "1h", "2d", "1w" (before now). */
bool store_since_parse(int64_t *out, const char *text, int64_t now, struct err *err);

/* ---- sightings after a fix (store_after_fix.c; decisions: reports/life/lifecycle.h) ---- */
/* What a sighting in version `seen` (version_of_environment; "" if unknown) says of a fix in `fixed` ("" if any later sighting counts). */
bool fix_contradicted(const char *fixed, const char *seen);
/* The note that a candidate regression has. */
const char *fix_doubted_note(const char *fixed, const char *seen, struct arena *a);

#endif
