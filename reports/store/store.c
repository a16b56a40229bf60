/* store.c: writing to the findings store.
 *
 * Every writing function: write_enter, puts of immutable rows, an update of the finding's cached summary, write_leave.
 * What is only counted (counters; observations without a row, store_obs.c) waits in memory and is written by store_flush. */
#include <stdlib.h>
#include <unistd.h>

#include "reports/store/store_internal.h"

/* ---- words: the order is that of the enums in store.h, the texts are those of schema.sql ------------------------------ */

const char *const finding_kind_name[NFINDING_KINDS] = {
	[FINDING_VALUE] = "value",
	[FINDING_GRADIENT] = "gradient",
	[FINDING_MUTATION] = "mutation",
	[FINDING_ALIAS] = "alias",
	[FINDING_META] = "meta",
	[FINDING_NONENESS] = "none-ness",
	[FINDING_RAISE] = "raise",
	[FINDING_CRASH] = "crash",
	[FINDING_HANG] = "hang",
	[FINDING_INVARIANT] = "invariant",
	[FINDING_NONDETERMINISTIC] = "nondeterministic",
};
const char *const finding_state_name[NFINDING_STATES] = {
	[STATE_CANDIDATE] = "candidate",
	[STATE_CONFIRMED] = "confirmed",
	[STATE_MINIMISED] = "minimised",
	[STATE_BLAMED] = "blamed",
	[STATE_KNOWN] = "known",
	[STATE_FIXED_IN] = "fixed-in",
	[STATE_REGRESSED] = "regressed",
	[STATE_DISMISSED] = "dismissed",
	[STATE_DUPLICATE] = "duplicate",
};
const char *const finding_severity_name[NSEVERITIES] = {
	[SEVERITY_TRIVIAL] = "trivial",
	[SEVERITY_NORMAL] = "normal",
	[SEVERITY_HIGH] = "high",
};
const char *const event_kind_name[NEVENT_KINDS] = {
	[EVENT_FOUND] = "found",
	[EVENT_SEVERITY] = "severity",
	[EVENT_SIGNATURE] = "signature",
	[EVENT_CONFIRMED] = "confirmed",
	[EVENT_MINIMISED] = "minimised",
	[EVENT_BLAME] = "blame",
	[EVENT_KNOWN] = "known",
	[EVENT_FIXED] = "fixed",
	[EVENT_REGRESSED] = "regressed",
	[EVENT_STATE] = "state",
	[EVENT_NOTE] = "note",
	[EVENT_DUPLICATE] = "duplicate",
	[EVENT_UNCONFIRMED] = "unconfirmed",
	[EVENT_EXCUSE] = "excuse",
	[EVENT_REACH] = "reach",
	[EVENT_CURE] = "cure",
	[EVENT_CAUSE] = "cause",
};

static int find_word(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (str_eq(names[i], name))
			return i;
	return -1;
}

bool finding_kind_find(enum finding_kind *out, const char *name)
{
	int i = find_word(finding_kind_name, NFINDING_KINDS, name);
	if (i >= 0)
		*out = (enum finding_kind)i;
	return i >= 0;
}

bool finding_state_find(enum finding_state *out, const char *name)
{
	int i = find_word(finding_state_name, NFINDING_STATES, name);
	if (i >= 0)
		*out = (enum finding_state)i;
	return i >= 0;
}

bool finding_severity_find(enum finding_severity *out, const char *name)
{
	int i = find_word(finding_severity_name, NSEVERITIES, name);
	if (i >= 0)
		*out = (enum finding_severity)i;
	return i >= 0;
}

/* ---- statements ----------------------------------------------------------------------------------------------------- */

#define SUMMARY_COLUMNS                                                                                                                    \
	"finding, target, version, state, severity, signature, program, length, ops, first_seen, last_seen, nobs, npass, minimised, cause,"    \
	" reach, blame, versions"

/* Of one moment: as a campaign writes them, so that a history reads as it happened. Decisions last. */
#define EVENT_ORDER "' found severity signature note confirmed minimised blame known fixed regressed state duplicate '"

/* Which observations are kept (store.h): of each (finding, program, environment) the earliest; then by this order. */
#define OBS_ORDER      "o.program <> f.program, o.at, o.id"
#define OBS_OF_FINDING "FROM observation o JOIN finding f ON f.id = o.finding"
#define OBS_NTH        "row_number() OVER (PARTITION BY o.finding ORDER BY " OBS_ORDER ")"
#define OBS_REPEAT     "row_number() OVER (PARTITION BY o.finding, o.program, o.environment ORDER BY o.at, o.id)"
#define PROGRAM_UNUSED(p)                                                                                                                  \
	"NOT EXISTS (SELECT 1 FROM finding WHERE program = " p ") AND NOT EXISTS (SELECT 1 FROM observation"                                   \
	" WHERE program = " p ") AND NOT EXISTS (SELECT 1 FROM event WHERE program = " p ")"

static const char *const query_sql[NQUERIES] = {
	[Q_BEGIN] = "BEGIN IMMEDIATE",
	[Q_COMMIT] = "COMMIT",
	[Q_PROGRAM_OP] = "INSERT INTO program_op (op, program) VALUES (?, ?) ON CONFLICT (op, program) DO NOTHING",
	[Q_COUNTER] = "INSERT INTO counter (run, draw, environment, verdict, n) VALUES (?, ?, ?, ?, ?)"
				  " ON CONFLICT (run, draw, environment, verdict) DO UPDATE SET n = n + excluded.n",
	[Q_TOTAL] = "INSERT INTO counter_total (run, environment, verdict, n) VALUES (?, ?, ?, ?)"
				" ON CONFLICT (run, environment, verdict) DO UPDATE SET n = n + excluded.n",
	[Q_TRIED] = "INSERT INTO tried (policy, environment, ops, dtype, verdict, n) VALUES (?, ?, ?, ?, ?, ?)"
				" ON CONFLICT (policy, environment, ops, dtype, verdict) DO UPDATE SET n = n + excluded.n",
	[Q_OPERATOR] = "INSERT INTO operator (ops, op) VALUES (?, ?) ON CONFLICT DO NOTHING",
	[Q_OBS_COUNT] = "INSERT INTO observation_count (finding, environment, run, verdict, n, first, last)"
					" VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (finding, environment, run, verdict) DO UPDATE SET n = n + excluded.n,"
					" first = min(first, excluded.first), last = max(last, excluded.last)",
	[Q_OBS_RANK] = "SELECT (SELECT count(*) " OBS_OF_FINDING " WHERE o.finding = ?1 AND (o.program <> f.program, o.at, o.id) <"
				   " (?2 <> f.program, ?4, ?5)), EXISTS (SELECT 1 FROM observation WHERE finding = ?1 AND program = ?2 AND environment = ?3"
				   " AND (at, id) <= (?4, ?5))",
	[Q_SUMMARY] =
		"INSERT OR REPLACE INTO finding_summary (" SUMMARY_COLUMNS ") SELECT " SUMMARY_COLUMNS " FROM finding_now WHERE finding = ?",
	/* A decision can break a circle of duplicates, which changes its least. */
	[Q_SUMMARY_DUPLICATES] = "INSERT OR REPLACE INTO finding_summary (" SUMMARY_COLUMNS ") SELECT " SUMMARY_COLUMNS
							 " FROM finding_now WHERE finding IN (SELECT finding FROM temp.circle_touched)",
	[Q_DUPLICATES] = "SELECT d.finding, e.payload FROM finding_last_decision d JOIN event e ON e.id = d.event WHERE e.kind = 'duplicate'"
					 " AND d.finding IN (SELECT finding FROM event WHERE kind = 'duplicate')",
	[Q_CIRCLE_PUT] = "INSERT INTO temp.least_of_circle (finding) VALUES (?)",
	[Q_ORIGINAL] = "SELECT e.payload FROM finding_decision d JOIN event e ON e.id = d.event WHERE d.finding = ? AND e.kind = 'duplicate'",
	[Q_FINDING] = "SELECT 1 FROM finding WHERE id = ?",
	[Q_SUMMARY_CLEAR] = "DELETE FROM finding_summary",
	[Q_SUMMARY_DIFFERS] = "SELECT EXISTS (SELECT " SUMMARY_COLUMNS " FROM finding_now EXCEPT SELECT " SUMMARY_COLUMNS
						  " FROM finding_summary) OR (SELECT count(*) FROM finding) <> (SELECT count(*) FROM finding_summary)",
	[Q_SUMMARY_ALL] = "INSERT INTO finding_summary (" SUMMARY_COLUMNS ") SELECT " SUMMARY_COLUMNS " FROM finding_now",
	[Q_TRIM_REPEATS] = "DELETE FROM observation WHERE id IN (SELECT id FROM (SELECT o.id, " OBS_REPEAT " AS nth"
					   " FROM observation o WHERE o.finding = ?1) WHERE nth > ?2) RETURNING program",
	[Q_TRIM] = "DELETE FROM observation WHERE id IN (SELECT id FROM (SELECT o.id, " OBS_NTH " AS nth " OBS_OF_FINDING
			   " WHERE o.finding = ?1) WHERE nth > ?2) RETURNING program",
	/* Most findings have no row too many: which do is asked of an index alone. */
	[Q_TRIM_ALL_REPEATS] = "DELETE FROM observation WHERE rowid IN (SELECT rowid FROM (SELECT o.rowid, " OBS_REPEAT " AS nth"
						   " FROM (SELECT finding, program, environment FROM observation GROUP BY 1, 2, 3 HAVING count(*) > 1) m"
						   " CROSS JOIN observation o USING (finding, program, environment)) WHERE nth > 1)",
	[Q_TRIM_ALL] = "DELETE FROM observation WHERE rowid IN (SELECT rowid FROM (SELECT o.rowid, " OBS_NTH " AS nth"
				   " FROM (SELECT finding FROM observation GROUP BY finding HAVING count(*) > ?1) m"
				   " CROSS JOIN observation o USING (finding) JOIN finding f ON f.id = o.finding) WHERE nth > ?1)",
	[Q_DROP_OPS] = "DELETE FROM program_op WHERE program = ?1 AND " PROGRAM_UNUSED("?1"),
	[Q_DROP_PROGRAM] = "DELETE FROM program WHERE id = ?1 AND " PROGRAM_UNUSED("?1"),
	[Q_DROP_ALL_OPS] = "DELETE FROM program_op WHERE program IN (SELECT id FROM program p WHERE " PROGRAM_UNUSED("p.id") ")",
	[Q_DROP_ALL_PROGRAMS] = "DELETE FROM program AS p WHERE " PROGRAM_UNUSED("p.id"),
	[Q_CURRENT] = "SELECT severity, signature FROM finding_summary WHERE finding = ?",
	[Q_BY_SIGNATURE] = "SELECT s.finding, s.state FROM finding_summary s JOIN finding f ON f.id = s.finding"
					   " WHERE s.signature = ?1 AND (f.family = ?2 OR substr(f.family, 1, length(?2) + 1) = ?2 || '-')"
					   " ORDER BY s.first_seen, s.finding LIMIT 1",
	[Q_BY_PREFIX] = "SELECT f.id, f.kind, s.signature FROM finding f LEFT JOIN finding_summary s ON s.finding = f.id"
					" WHERE f.id BETWEEN ? AND ? ORDER BY f.id LIMIT 11",
	[Q_LAST_CAMPAIGN] = "SELECT max(started) FROM run WHERE policy NOT IN ('repro', 'check', 'minimise', 'triage', 'recheck')",
	[Q_ANSWER] = "SELECT yes FROM answer WHERE finding = ? AND question = ?",
	[Q_ANSWER_PUT] = "INSERT INTO answer VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
	[Q_ANSWERS_DROP] = "DELETE FROM answer WHERE finding = ?",
	[Q_LOAD] = "SELECT f.family, f.kind, f.program, s.state, s.severity, s.signature, s.first_seen, s.last_seen, s.nobs, s.npass,"
			   " s.ops, p.text, CASE WHEN s.program <> f.program THEN m.text END, s.program FROM finding f"
			   " JOIN finding_summary s ON s.finding = f.id JOIN program p ON p.id = f.program LEFT JOIN program m ON m.id = s.program"
			   " WHERE f.id = ?",
	[Q_LOAD_ENV] = "SELECT n.id, n.family, n.version, n.target, n.versions, n.device, n.machine,"
				   " sum(c.n * (c.verdict <> 'pass')), sum(c.n * (c.verdict = 'pass')),"
				   " min(c.first), max(c.last) FROM observation_count c JOIN environment n ON n.id = c.environment WHERE c.finding = ?"
				   " GROUP BY n.id ORDER BY sum(c.n * (c.verdict <> 'pass')) = 0, min(c.first), n.id",
	[Q_LOAD_OBS] = "SELECT o.environment, o.program, p.text, o.at, o.verdict, o.tensor, o.detail, o.fill, o.call"
				   " FROM observation o JOIN program p ON p.id = o.program WHERE o.finding = ? ORDER BY o.at, o.id",
	[Q_LOAD_EVENT] = "SELECT e.at, e.kind, e.tool, e.payload, coalesce(i.url, '') FROM event e LEFT JOIN issue i ON i.id = e.issue"
					 " WHERE e.finding = ? ORDER BY e.at, instr(" EVENT_ORDER ", ' ' || e.kind || ' '), e.id",
	[Q_LOAD_ARTIFACT] = "SELECT name, at, bytes FROM artifact WHERE finding = ? ORDER BY name, at DESC, id DESC",
};

enum store_status store_stmt(struct store *s, sqlite3_stmt **st, enum query q)
{
	if (!s->stmt[q]) {
		int rc = sqlite3_prepare_v3(s->db, query_sql[q], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[q], NULL);
		if (rc != SQLITE_OK)
			return store_fail(s, rc, "preparing a query");
	}
	*st = s->stmt[q];
	sqlite3_reset(*st);
	sqlite3_clear_bindings(*st);
	return STORE_OK;
}

enum store_status store_run_stmt(struct store *s, sqlite3_stmt *st, const char *doing)
{
	int rc = sqlite3_step(st);
	enum store_status status = rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc == SQLITE_ROW ? SQLITE_ERROR : rc, doing);
	sqlite3_reset(st);
	return status;
}

static enum store_status run_query(struct store *s, enum query q, const struct hash128 *arg, const char *doing)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, q);
	if (status != STORE_OK)
		return status;
	if (arg)
		bind_hash(st, 1, arg);
	return store_run_stmt(s, st, doing);
}

/* ---- transactions ------------------------------------------------------------------------------------------------------ */

/* Some failures roll back by themselves, some leave the transaction open. */
static void roll_back(struct store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->circles_version = -1; /* temporary tables are rolled back, too */
}

static enum store_status commit(struct store *s)
{
	enum store_status status = run_query(s, Q_COMMIT, NULL, "committing");
	if (status != STORE_OK)
		roll_back(s);
	return status;
}

enum store_status store_begin(struct store *s)
{
	CHECK(!s->in_batch);
	CHECK(s->mode != STORE_READ && s->owner == getpid());
	s->in_batch = true;
	s->batch = run_query(s, Q_BEGIN, NULL, "beginning a transaction");
	return s->batch;
}

enum store_status store_commit(struct store *s)
{
	CHECK(s->in_batch);
	s->in_batch = false;
	if (s->batch == STORE_OK)
		return commit(s);
	roll_back(s);
	return s->batch;
}

void store_rollback(struct store *s)
{
	CHECK(s->in_batch);
	s->in_batch = false;
	roll_back(s);
}

enum store_status write_enter(struct store *s)
{
	CHECK(s->mode != STORE_READ && s->owner == getpid());
	return s->in_batch ? s->batch : run_query(s, Q_BEGIN, NULL, "beginning a transaction");
}

enum store_status write_leave(struct store *s, enum store_status status)
{
	if (s->in_batch) {
		if (s->batch == STORE_OK)
			s->batch = status;
		return s->batch;
	}
	if (status == STORE_OK)
		return commit(s);
	roll_back(s);
	return status;
}

enum store_status summary_update(struct store *s, const struct hash128 *finding)
{
	enum store_status status = finding ? circles_current(s) : circles_refresh(s);
	if (finding)
		return status == STORE_OK ? run_query(s, Q_SUMMARY, finding, "summing up a finding") : status;
	if (status == STORE_OK)
		status = run_query(s, Q_SUMMARY_CLEAR, NULL, "clearing the summaries");
	return status == STORE_OK ? run_query(s, Q_SUMMARY_ALL, NULL, "summing up the findings") : status;
}

enum store_status summary_verify(struct store *s)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = circles_setup(s);
	if (status == STORE_OK)
		status = circles_refresh(s);
	if (status == STORE_OK)
		status = store_stmt(s, &st, Q_SUMMARY_DIFFERS);
	if (status != STORE_OK)
		return status;
	int rc = sqlite3_step(st);
	bool differs = rc == SQLITE_ROW && sqlite3_column_int(st, 0) != 0;
	if (rc != SQLITE_ROW)
		status = store_fail(s, rc, "looking at the summaries");
	sqlite3_reset(st);
	if (status != STORE_OK || !differs)
		return status;
	status = write_enter(s);
	return write_leave(s, status == STORE_OK ? summary_update(s, NULL) : status);
}

/* ---- rows without a life of their own ------------------------------------------------------------------------------------- */

static enum store_status put_alone(struct store *s, struct hash128 *id, enum table_id t, const struct column_value *values)
{
	*id = table_key(&store_table[t], values);
	enum store_status status = write_enter(s);
	if (status == STORE_OK)
		status = store_put(s, id, t, values);
	return write_leave(s, status);
}

enum store_status store_run_begin(struct store *s, struct hash128 *id, const struct store_run *run)
{
	const struct column_value v[] = {
		value_int((int64_t)run->seed), value_text(run->shard), value_text(run->policy), value_text(run->versions), value_int(run->started)};
	return put_alone(s, id, TABLE_RUN, v);
}

enum store_status store_environment(struct store *s, struct hash128 *id, const struct store_env_text *e)
{
	const struct column_value v[] = {value_text(e->family), value_text(e->version), value_text(e->target), value_text(e->versions),
		value_text(e->device), value_text(e->machine)};
	return put_alone(s, id, TABLE_ENVIRONMENT, v);
}

enum store_status store_issue(struct store *s, struct hash128 *id, const char *url, const char *title)
{
	const struct column_value v[] = {value_text(url), value_text(title)};
	return put_alone(s, id, TABLE_ISSUE, v);
}

enum store_status store_put_program(struct store *s, const struct hash128 *id, const char *text, const char *const *ops, int nops)
{
	const struct column_value v[] = {value_text(text)};
	struct hash128 same;
	enum store_status status = store_put(s, &same, TABLE_PROGRAM, v);
	for (int i = 0; i < nops && status == STORE_OK; i++) {
		sqlite3_stmt *st = NULL;
		status = store_stmt(s, &st, Q_PROGRAM_OP);
		if (status != STORE_OK)
			break;
		bind_text(st, 1, ops[i]);
		bind_hash(st, 2, id);
		status = store_run_stmt(s, st, "writing a program's operators");
	}
	return status;
}

struct hash128 program_key(const char *text)
{
	const struct column_value v[] = {value_text(text)};
	return table_key(&store_table[TABLE_PROGRAM], v);
}

enum store_status store_program(struct store *s, struct hash128 *id, const char *text, const char *const *ops, int nops)
{
	*id = program_key(text);
	enum store_status status = write_enter(s);
	if (status == STORE_OK)
		status = store_put_program(s, id, text, ops, nops);
	return write_leave(s, status);
}

/* ---- findings and their events ---------------------------------------------------------------------------------------------- */

enum store_status store_put_event(struct store *s, const struct store_event *e)
{
	struct hash128 id;
	const struct column_value v[] = {value_hash(&e->finding), value_int(e->at), value_text(event_kind_name[e->kind]), value_text(e->tool),
		value_text(e->payload), value_hash(e->program), value_hash(e->issue)};
	return store_put(s, &id, TABLE_EVENT, v);
}

/* As in the table event_kind. */
static bool decides(enum event_kind kind)
{
	return kind == EVENT_KNOWN || kind == EVENT_FIXED || kind == EVENT_REGRESSED || kind == EVENT_STATE || kind == EVENT_DUPLICATE;
}

bool event_decides(const char *kind)
{
	int i = find_word(event_kind_name, NEVENT_KINDS, kind);
	return i >= 0 && decides((enum event_kind)i);
}

enum store_status store_event(struct store *s, const struct store_event *e)
{
	enum finding_state ignored;
	CHECK(e->kind != EVENT_STATE || (finding_state_find(&ignored, e->payload) && ignored != STATE_DUPLICATE));
	CHECK(e->kind != EVENT_DUPLICATE || strlen(e->payload) == 32);
	enum store_status status = write_enter(s);
	if (status == STORE_OK)
		status = store_put_event(s, e);
	if (status == STORE_OK && decides(e->kind))
		status = circles_refresh(s);
	if (status == STORE_OK)
		status = summary_update(s, &e->finding);
	if (status == STORE_OK && decides(e->kind))
		status = run_query(s, Q_SUMMARY_DUPLICATES, NULL, "summing up duplicates");
	return write_leave(s, status);
}

/* ---- answers of a minimiser --------------------------------------------------------------------------------------------------- */

enum store_status store_answer(struct store *s, bool *known, bool *yes, const struct hash128 *finding, const struct hash128 *question)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, Q_ANSWER);
	*known = false;
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, finding);
	bind_hash(st, 2, question);
	int rc = sqlite3_step(st);
	*known = rc == SQLITE_ROW;
	if (*known)
		*yes = sqlite3_column_int(st, 0) != 0;
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? STORE_OK : store_fail(s, rc, "looking an answer up");
}

enum store_status store_answer_put(struct store *s, const struct hash128 *finding, const struct hash128 *question, bool yes)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = write_enter(s);
	if (status == STORE_OK)
		status = store_stmt(s, &st, Q_ANSWER_PUT);
	if (status == STORE_OK) {
		bind_hash(st, 1, finding);
		bind_hash(st, 2, question);
		sqlite3_bind_int(st, 3, yes);
		status = store_run_stmt(s, st, "keeping an answer");
	}
	return write_leave(s, status);
}

enum store_status store_answers_drop(struct store *s, const struct hash128 *finding)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = write_enter(s);
	if (status == STORE_OK)
		status = store_stmt(s, &st, Q_ANSWERS_DROP);
	if (status == STORE_OK) {
		bind_hash(st, 1, finding);
		status = store_run_stmt(s, st, "dropping answers");
	}
	return write_leave(s, status);
}

/* What the store holds now: *exists, and whether severity and signature differ from f's. */
static enum store_status compare_current(
	struct store *s, bool *exists, bool *severity, bool *signature, const struct hash128 *id, const struct store_finding *f)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, Q_CURRENT);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, id);
	int rc = sqlite3_step(st);
	*exists = rc == SQLITE_ROW;
	if (*exists) {
		*severity = !str_eq((const char *)sqlite3_column_text(st, 0), finding_severity_name[f->severity]);
		*signature = !str_eq((const char *)sqlite3_column_text(st, 1), f->signature);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		status = store_fail(s, rc, "looking a finding up");
	sqlite3_reset(st);
	return status;
}

static enum store_status put_finding(struct store *s, struct hash128 *id, const struct store_finding *f, const struct column_value *v)
{
	bool exists = false, severity = true, signature = true;
	enum store_status status = compare_current(s, &exists, &severity, &signature, id, f);
	if (status == STORE_OK && !exists)
		status = store_put(s, id, TABLE_FINDING, v);
	struct store_event e = {.finding = *id, .at = f->at, .kind = EVENT_FOUND, .tool = f->tool, .payload = ""};
	if (status == STORE_OK && !exists)
		status = store_put_event(s, &e);
	if (status == STORE_OK && severity) {
		e.kind = EVENT_SEVERITY;
		e.payload = finding_severity_name[f->severity];
		status = store_put_event(s, &e);
	}
	if (status == STORE_OK && signature && f->signature[0]) {
		e.kind = EVENT_SIGNATURE;
		e.payload = f->signature;
		status = store_put_event(s, &e);
	}
	return status == STORE_OK ? summary_update(s, id) : status;
}

enum store_status store_finding(struct store *s, struct hash128 *id, const struct store_finding *f)
{
	const struct column_value v[] = {value_hash(&f->program), value_text(f->family), value_text(finding_kind_name[f->kind])};
	*id = table_key(&store_table[TABLE_FINDING], v);
	enum store_status status = write_enter(s);
	if (status == STORE_OK)
		status = put_finding(s, id, f, v);
	return write_leave(s, status);
}

enum store_status store_artifact(
	struct store *s, const struct hash128 *finding, const char *name, int64_t at, const void *bytes, size_t nbytes)
{
	struct hash128 id;
	const struct column_value v[] = {value_hash(finding), value_text(name), value_int(at), value_blob(bytes, nbytes)};
	return put_alone(s, &id, TABLE_ARTIFACT, v);
}

/* ---- counters ---------------------------------------------------------------------------------------------------------------- */

static struct hash128 counter_key(const struct hash128 *run, const char *draw, const struct hash128 *environment, const char *verdict)
{
	const struct table_shape t = {"counter", 4, "", ""};
	const struct column_value v[] = {value_hash(run), value_text(draw), value_hash(environment), value_text(verdict)};
	return table_key(&t, v);
}

void store_counter_add(
	struct store *s, const struct hash128 *run, const char *draw, const struct hash128 *environment, const char *verdict, int64_t n)
{
	CHECK(n >= 0);
	struct hash128 key = counter_key(run, draw, environment, verdict);
	for (int i = s->ncounters - 1; i >= 0; i--)
		if (memcmp(&s->counter[i].key, &key, sizeof key) == 0) {
			s->counter[i].n += n;
			return;
		}
	if (s->ncounters == s->counter_cap) {
		s->counter_cap = s->counter_cap ? 2 * s->counter_cap : 64;
		s->counter = xrealloc(s->counter, mul_size((size_t)s->counter_cap, sizeof *s->counter));
	}
	s->counter[s->ncounters++] = (struct pending_counter){
		.key = key, .run = *run, .environment = *environment, .draw = xstrdup(draw), .verdict = xstrdup(verdict), .n = n};
}

static enum store_status put_counter(struct store *s, const struct pending_counter *c)
{
	struct hash128 draw;
	const struct column_value v[] = {value_text(c->draw)};
	sqlite3_stmt *st = NULL;
	enum store_status status = store_put(s, &draw, TABLE_DRAW, v);
	if (status == STORE_OK)
		status = store_stmt(s, &st, Q_COUNTER);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &c->run);
	bind_hash(st, 2, &draw);
	bind_hash(st, 3, &c->environment);
	bind_text(st, 4, c->verdict);
	sqlite3_bind_int64(st, 5, c->n);
	status = store_run_stmt(s, st, "writing a counter");
	return status == STORE_OK ? totals_add(s, c) : status;
}

static void forget_pending(struct store *s)
{
	for (int i = 0; i < s->ncounters; i++) {
		free(s->counter[i].draw);
		free(s->counter[i].verdict);
	}
	for (int i = 0; i < s->ncounts; i++)
		free(s->count[i].verdict);
	s->ncounters = s->ncounts = 0;
}

enum store_status store_flush(struct store *s)
{
	if (s->ncounters == 0 && s->ncounts == 0)
		return STORE_OK;
	CHECK(!s->in_batch);
	enum store_status status = write_enter(s);
	for (int i = 0; i < s->ncounters && status == STORE_OK; i++)
		status = put_counter(s, &s->counter[i]);
	for (int i = 0; i < s->ncounts && status == STORE_OK; i++) {
		status = store_put_count(s, &s->count[i]);
		if (status == STORE_OK)
			status = summary_update(s, &s->count[i].finding);
	}
	status = write_leave(s, status);
	if (status == STORE_OK || status == STORE_BAD) /* bad: run or environment were never stored; it would fail for ever */
		forget_pending(s);
	return status;
}
