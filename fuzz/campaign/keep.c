/* keep.c: a divergence becomes rows. The one idea: a finding is its signature; what is met again is another observation of it. */
#include "fuzz/campaign/keep.h"

#include "eager/base/clock.h"
#include "eager/base/version.h"
#include "fuzz/campaign/environment.h"
#include "reports/life/lifecycle.h"

enum store_status keep_environment(
	struct store *s, struct hash128 *id, const struct target *t, const char *versions, const char *hello, struct arena *a)
{
	struct store_env_text where;
	environment_of(&where, t, versions, hello, a);
	return store_environment(s, id, &where);
}

/* Where f was seen. */
static bool environment_id(struct store *s, struct hash128 *id, const struct finding *f, struct arena *a)
{
	struct store_env_text where;
	if (f->target.driver)
		return keep_environment(s, id, &f->target, f->versions, f->device, a) == STORE_OK;
	environment_of_tool(&where, a);
	return store_environment(s, id, &where) == STORE_OK;
}

static void write_new(struct store *s, const struct finding *f, const struct hash128 *id, int64_t at, const char *note)
{
	const struct store_event ev = {.finding = *id, .at = at, .kind = EVENT_NOTE, .tool = SCATTERPROOF, .payload = note};
	store_artifact(s, id, "report", at, f->report, strlen(f->report));
	if (f->stderr_tail[0])
		store_artifact(s, id, "stderr", at, f->stderr_tail, strlen(f->stderr_tail));
	store_event(s, &ev);
}

static void write_rows(
	struct store *s, const struct hash128 *run, const struct finding *f, const char *note, struct hash128 *id, bool exists, struct arena *a)
{
	struct hash128 program = {{0}}, env;
	int64_t at = clock_unix_ms();
	if ((!exists && store_program(s, &program, f->program, f->op, f->nops) != STORE_OK) || !environment_id(s, &env, f, a))
		return;
	const struct store_finding sf = {.program = program,
		.family = finding_family(f),
		.kind = f->kind,
		.severity = f->severity,
		.signature = f->signature,
		.at = at,
		.tool = SCATTERPROOF};
	if (!exists && store_finding(s, id, &sf) != STORE_OK)
		return;
	const struct store_observation so = {.finding = *id,
		.environment = env,
		.run = *run,
		.at = at,
		.verdict = verdict_name[f->verdict],
		.tensor = f->tensor,
		.fill = -1,
		.call = f->call,
		.detail = f->detail};
	if (store_observation(s, &so, f->program, f->op, f->nops) != STORE_OK)
		return;
	if (!exists)
		write_new(s, f, id, at, note);
	const struct store_event ev = {.finding = *id, .at = at, .kind = EVENT_CONFIRMED, .tool = SCATTERPROOF, .payload = f->how};
	if (f->confirmed)
		store_event(s, &ev);
}

enum store_status keep_finding(struct store *s, const struct hash128 *run, const struct finding *f, const char *note, struct hash128 *id,
	bool *exists, enum finding_state *state, struct arena *a)
{
	enum store_status st = store_open_by_signature(s, exists, id, state, f->signature, finding_family(f));
	if (st != STORE_OK)
		return st;
	store_begin(s); /* what fails from here on is store_commit's failure, too */
	write_rows(s, run, f, note, id, *exists, a);
	return store_commit(s);
}

enum store_status keep_meet(
	enum met *how, struct store_loaded *now, struct store *s, const struct finding *f, const struct hash128 *id, struct arena *a)
{
	enum after_fix after = FIX_NO_MATTER;
	const struct store_event worse = {
		.finding = *id, .at = clock_unix_ms(), .kind = EVENT_SEVERITY, .tool = SCATTERPROOF, .payload = finding_severity_name[f->severity]};
	enum store_status st = store_load_finding(s, now, id, a);
	bool rises = st == STORE_OK && f->severity > now->severity;
	if (st == STORE_OK)
		st = finding_seen_after_fix(&after, s, now, f->versions, f->confirmed, clock_unix_ms(), SCATTERPROOF);
	if (st == STORE_OK && rises)
		st = store_event(s, &worse);
	if (st == STORE_OK && (rises || after != FIX_NO_MATTER))
		st = store_load_finding(s, now, id, a);
	if (st == STORE_OK)
		*how = after == FIX_REFUTED ? MET_REGRESSED : met_of_state(now->state);
	return st;
}

enum met keep_met(enum met how, const struct baseline *b, const struct finding *f)
{
	struct arena a;
	if (how != MET_NEW && how != MET_OPEN)
		return how;
	const struct baseline_entry *e = baseline_find(b, finding_family(f), f->kind, f->signature);
	arena_init(&a);
	if (e)
		how = e->state == STATE_FIXED_IN && fix_contradicted(e->version, version_of_environment(f->versions, &a)) ? MET_REGRESSED
																												  : MET_BASELINE;
	arena_free(&a);
	return how;
}
