/* store_obs.c: observations: which of them become rows, and which programs stay.
 *
 * The kept rows of a finding are the least few of a total order (per finding, program and environment the least one; of those the
 * least STORE_MAX_OBS). That is why "keep the least few of the union" can be done one by one here and for whole stores after a merge,
 * in any order, with the same result. What makes no row is counted. */
#include <stdlib.h>

#include "reports/store/store_internal.h"

struct sighted {
	const struct store_observation *o;
	struct hash128 id, program;
	struct column_value row[STORE_MAX_COLS];
	bool kept;
};

static void seen_make(struct sighted *x, const struct store_observation *o, const char *program)
{
	*x = (struct sighted){.o = o, .program = program_key(program)};
	const struct column_value row[] = {value_hash(&o->finding), value_hash(&x->program), value_hash(&o->environment), value_hash(&o->run),
		value_int(o->at), value_text(o->verdict), value_text(o->tensor), value_int(o->fill), value_int(o->call), value_text(o->detail)};
	CHECK(ARRAY_LEN(row) == store_table[TABLE_OBSERVATION].ncols);
	memcpy(x->row, row, sizeof row);
	x->id = table_key(&store_table[TABLE_OBSERVATION], x->row);
}

/* Would it be one of the rows that are kept? A new finding has none yet. */
static enum store_status look_whether_kept(struct store *s, struct sighted *x)
{
	sqlite3_stmt *st = NULL;
	if (str_eq(x->o->verdict, "pass"))
		return STORE_OK;
	enum store_status status = store_stmt(s, &st, Q_OBS_RANK);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &x->o->finding);
	bind_hash(st, 2, &x->program);
	bind_hash(st, 3, &x->o->environment);
	sqlite3_bind_int64(st, 4, x->o->at);
	bind_hash(st, 5, &x->id);
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		x->kept = sqlite3_column_int64(st, 0) < STORE_MAX_OBS && sqlite3_column_int(st, 1) == 0;
	else
		status = store_fail(s, rc, "looking at a finding's observations");
	sqlite3_reset(st);
	return status;
}

/* ---- what must give way --------------------------------------------------------------------------------------------------- */

static enum store_status drop_program(struct store *s, const struct hash128 *program)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = STORE_OK;
	static const enum query drops[] = {Q_DROP_OPS, Q_DROP_PROGRAM};
	for (int i = 0; i < ARRAY_LEN(drops) && status == STORE_OK; i++) {
		status = store_stmt(s, &st, drops[i]);
		if (status != STORE_OK)
			return status;
		bind_hash(st, 1, program);
		status = store_run_stmt(s, st, "deleting a program that is not needed any more");
	}
	return status;
}

/* A deleting statement over one finding; the programs of the deleted rows go too, if nothing else refers to them. */
static enum store_status trim(struct store *s, enum query q, const struct hash128 *finding, int keep)
{
	enum { MOST = 8 }; /* one row was added, so at most one is too many */
	struct hash128 program[MOST];
	sqlite3_stmt *st = NULL;
	int n = 0, rc;
	enum store_status status = store_stmt(s, &st, q);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, finding);
	sqlite3_bind_int(st, 2, keep);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		n += n < MOST && column_hash(&program[n], st, 0);
	if (rc != SQLITE_DONE)
		status = store_fail(s, rc, "keeping the first observations");
	sqlite3_reset(st);
	for (int i = 0; i < n && status == STORE_OK; i++)
		status = drop_program(s, &program[i]);
	return status;
}

enum store_status trim_all_observations(struct store *s)
{
	static const struct {
		enum query q;
		bool keep;
	} steps[] = {{Q_TRIM_ALL_REPEATS, false}, {Q_TRIM_ALL, true}, {Q_DROP_ALL_OPS, false}, {Q_DROP_ALL_PROGRAMS, false}};
	enum store_status status = STORE_OK;
	for (int i = 0; i < ARRAY_LEN(steps) && status == STORE_OK; i++) {
		sqlite3_stmt *st = NULL;
		status = store_stmt(s, &st, steps[i].q);
		if (status != STORE_OK)
			return status;
		if (steps[i].keep)
			sqlite3_bind_int(st, 1, STORE_MAX_OBS);
		status = store_run_stmt(s, st, "keeping the first observations");
	}
	return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------ */

enum store_status store_put_count(struct store *s, const struct pending_count *c)
{
	sqlite3_stmt *st = NULL;
	enum store_status status = store_stmt(s, &st, Q_OBS_COUNT);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, &c->finding);
	bind_hash(st, 2, &c->environment);
	bind_hash(st, 3, &c->run);
	bind_text(st, 4, c->verdict);
	sqlite3_bind_int64(st, 5, c->n);
	sqlite3_bind_int64(st, 6, c->first);
	sqlite3_bind_int64(st, 7, c->last);
	return store_run_stmt(s, st, "counting an observation");
}

static void count_later(struct store *s, const struct store_observation *o)
{
	for (int i = 0; i < s->ncounts; i++) {
		struct pending_count *c = &s->count[i];
		if (memcmp(&c->finding, &o->finding, sizeof o->finding) == 0 && memcmp(&c->run, &o->run, sizeof o->run) == 0
			&& memcmp(&c->environment, &o->environment, sizeof o->environment) == 0 && str_eq(c->verdict, o->verdict)) {
			c->n++;
			c->first = MIN(c->first, o->at);
			c->last = MAX(c->last, o->at);
			return;
		}
	}
	if (s->ncounts == s->count_cap) {
		s->count_cap = s->count_cap ? 2 * s->count_cap : 16;
		s->count = xrealloc(s->count, mul_size((size_t)s->count_cap, sizeof *s->count));
	}
	s->count[s->ncounts++] = (struct pending_count){.finding = o->finding,
		.environment = o->environment,
		.run = o->run,
		.verdict = xstrdup(o->verdict),
		.n = 1,
		.first = o->at,
		.last = o->at};
}

static enum store_status put_row(struct store *s, struct sighted *x, const char *program, const char *const *ops, int nops)
{
	struct hash128 id;
	enum store_status status = store_put_program(s, &x->program, program, ops, nops);
	if (status == STORE_OK)
		status = store_put(s, &id, TABLE_OBSERVATION, x->row);
	if (status == STORE_OK)
		status = trim(s, Q_TRIM_REPEATS, &x->o->finding, 1);
	return status == STORE_OK ? trim(s, Q_TRIM, &x->o->finding, STORE_MAX_OBS) : status;
}

static enum store_status put_observation(struct store *s, const struct store_observation *o)
{
	char *verdict = (char *)(uintptr_t)o->verdict; /* read only */
	const struct pending_count c = {
		.finding = o->finding, .environment = o->environment, .run = o->run, .verdict = verdict, .n = 1, .first = o->at, .last = o->at};
	enum store_status status = store_put_count(s, &c);
	return status == STORE_OK ? summary_update(s, &o->finding) : status;
}

enum store_status store_observation(
	struct store *s, const struct store_observation *o, const char *program, const char *const *ops, int nops)
{
	struct sighted x;
	CHECK(s->mode != STORE_READ);
	seen_make(&x, o, program);
	enum store_status status = s->in_batch ? s->batch : look_whether_kept(s, &x);
	if (status != STORE_OK)
		return status;
	if (!s->in_batch && !x.kept) {
		count_later(s, o);
		return STORE_OK;
	}
	status = write_enter(s);
	if (status == STORE_OK)
		status = look_whether_kept(s, &x); /* again, now under the lock */
	if (status == STORE_OK && x.kept)
		status = put_row(s, &x, program, ops, nops);
	if (status == STORE_OK)
		status = put_observation(s, o);
	return write_leave(s, status);
}
