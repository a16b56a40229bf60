/* step_script.c: what a person would write to show a cause, kept so that reports need not run anything. Finding it runs every installed
 * version, so only the representative of a cause gets one. */
#include "compiled/targets/driver.h"
#include "eager/base/json.h"
#include "fuzz/cli/triage_steps.h"
#include "fuzz/triage/claim.h"
#include "fuzz/triage/short_script.h"
#include "fuzz/triage/title.h"

struct asking {
	struct triage_case *c;
	const struct claim *claim;
};

static bool still_fails(void *ctx, const char **raised, const struct prog *p, struct arena *a)
{
	const struct asking *ask = ctx;
	struct ran ran;
	const char *why;
	*raised = NULL;
	if (case_over(ask->c))
		return false;
	runner_run(&ran, ask->c->runner, p, &ask->c->x.t, a);
	*raised = ran.asked && ran.result.status == RES_RAISED ? ran.result.message : NULL;
	return ran.asked && claim_judge(&why, ask->claim, p, &ran.outcome, &ran.result, &ask->c->x.t, a) == CLAIM_HOLDS;
}

/* The cause that it represents; NULL: it represents none. Of a finding that is not kept (--target) nothing is. */
static const struct store_cause *represented(struct triage_case *c)
{
	struct store_causes *all = ARENA_NEW(c->a, struct store_causes, 1);
	if (!c->store || store_causes(all, c->store, c->a) != STORE_OK)
		return NULL;
	for (int i = 0; i < all->n; i++)
		if (str_eq(all->cause[i].full_id, c->x.f.hex))
			return &all->cause[i];
	return NULL;
}

/* What c->x.p does, as a claim; it may be another program than the one that was observed. */
static int claim_now(struct claim *out, struct triage_case *c)
{
	struct ran ran;
	const int rc = case_fails(&ran, c);
	if (rc == EXIT_CLEAN)
		claim_of(out, ran.outcome.kind, verdict_name[ran.outcome.verdict], ran.outcome.tensor ? ran.outcome.tensor : "", ran.outcome.call,
			&c->x.p);
	return rc;
}

/* What the script's head says for people. */
static const char *versions_json(const struct short_runs *runs, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	struct json j = json_into(&sb, JSON_SPACED);
	json_object(&j, NULL);
	json_int(&j, "schema", 1);
	if (runs->raised)
		json_string(&j, "raised", runs->raised);
	json_array(&j, "versions");
	for (int i = 0; i < runs->n; i++) {
		json_object(&j, NULL);
		json_string(&j, "version", runs->run[i].version);
		json_string(&j, "verdict", runs->run[i].verdict);
		if (runs->run[i].dies)
			json_bool(&j, "dies", true);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

static int keep(struct triage_case *c, const struct strbuf *script, const struct short_runs *runs, const char **how)
{
	int lines = 0;
	for (const char *s = script->s; *s; s++)
		lines += *s == '\n';
	*how = arena_printf(c->a, "a script of %d lines shows it", lines);
	case_begin(c);
	case_artifact(c, "script", script->s);
	case_artifact(c, "script_versions", versions_json(runs, c->a));
	return case_end(c) ? EXIT_CLEAN : EXIT_TARGET;
}

int step_script(struct triage_case *c, const char **how)
{
	struct strbuf sb, python;
	struct short_runs runs;
	struct claim claim;
	struct err err = {0};
	const struct store_cause *cause = represented(c);
	*how = "its cause has a smaller program";
	if (!cause)
		return EXIT_CLEAN;
	*how = "no script of a few lines: its family has none";
	if (!target_has_versions(&c->x.t) || !c->x.t.driver->script || !c->x.t.driver->script->brief)
		return EXIT_CLEAN;
	int rc = claim_now(&claim, c);
	if (rc != EXIT_CLEAN)
		return rc == EXIT_VOID ? EXIT_CLEAN : rc; /* it has a cause: this run says nothing against it */
	sb_init(&sb);
	sb_init(&python);
	const struct prog p = claim_program(&claim, &c->x.p);
	struct asking asking = {c, &claim};
	const struct short_ask ask = {still_fails, &asking, c->o->limit_ms};
	const char *headline = arena_printf(
		c->a, "%s\nscatterproof finding %.*s, seen on %s", title_of(cause, c->a), STORE_ID_DIGITS, c->x.f.hex, target_text(&c->x.t, c->a));
	if (target_python(&python, &c->x.t, c->o->python, &err)
		&& short_script(&sb, &claim, &p, &c->x.t, python.s, headline, &ask, &runs, c->a, &err))
		rc = keep(c, &sb, &runs, how);
	else
		*how = arena_printf(c->a, "no script of a few lines: %s", err.msg);
	sb_free(&python);
	sb_free(&sb);
	return rc;
}
