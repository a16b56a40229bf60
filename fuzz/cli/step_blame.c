/* step_blame.c: who is to blame for a (minimised) program: who can reach it, which stage, what cures it; and so its cause. */
#include "compiled/targets/driver.h"
#include "eager/base/output.h"
#include "fuzz/cli/triage_steps.h"
#include "fuzz/triage/cause.h"
#include "fuzz/triage/cause_join.h"
#include "fuzz/triage/confirm.h"
#include "fuzz/triage/facts.h"
#include "reports/cause/json_doc.h"

/* The plainest spelling that fails in the same way: what only the overload shows concerns few. */
static const char *reach_of(struct triage_case *c, const struct failure *f)
{
	static const enum surface tried[] = {SURFACE_PYTHON, SURFACE_TORCH};
	for (int i = 0; i < ARRAY_LEN(tried); i++) {
		struct arena once;
		struct ran ran;
		struct prog q;
		arena_init(&once);
		prog_clone(&q, &c->x.p, &once);
		q.surface = tried[i];
		bool fails = c->x.t.driver->spelled(&q, &c->x.t);
		if (fails) {
			runner_ask(&ran, c->runner, &q, &c->x.t, f, &once);
			fails = failure_is(f, &ran.outcome);
		}
		arena_free(&once);
		if (fails)
			return surface_name[tried[i]];
	}
	return surface_name[SURFACE_ATEN];
}

static bool go_on(void *ctx, const char *what)
{
	struct triage_case *c = ctx;
	if (!c->o->quiet)
		fprintf(stderr, "  %s\n", what);
	return !case_over(c);
}

static const char *facts_of(struct triage_case *c, const struct ran *ran, const struct blame *b, const char *reach)
{
	struct facts f = {.p = &c->x.p, .t = &c->x.t, .ran = ran, .blame = b, .reach = reach, .same = ""};
	struct strbuf versions, device;
	sb_init(&versions);
	sb_init(&device);
	if (ran->outcome.verdict == VD_MISMATCH && ran->result.status == RES_OK)
		f.same = confirm_excuse(c->runner, &c->x.p, &c->x.t, c->a);
	runner_versions(&versions, &device, c->runner, &c->x.t);
	f.versions = versions.s;
	const char *json = facts_json(&f, c->a);
	sb_free(&device);
	sb_free(&versions);
	return json;
}

/* What the target's installation says that it runs on; "": nothing, which says nothing about the finding. */
static const char *environment_of_case(struct triage_case *c)
{
	const struct target *t = &c->x.t;
	struct strbuf python, said;
	const char *text = "";
	sb_init(&python);
	sb_init(&said);
	if (t->driver->about && target_python(&python, t, c->o->python, NULL) && t->driver->about(&said, python.s))
		text = arena_strdup(c->a, said.s);
	sb_free(&said);
	sb_free(&python);
	return text;
}

/* That of another finding, if only sorts of one bug are between them. */
static const char *joined(struct triage_case *c, const char *text, const char *cure, const char *facts)
{
	struct cause_join *j;
	struct json_doc *d = json_doc_open(facts, strlen(facts));
	const struct cause_evidence e = {finding_kind_name[c->x.f.kind], cure, json_doc_text(d, c->a, "$.predicted")};
	json_doc_close(d);
	if (cause_join_load(&j, c->store, c->x.f.hex, c->a) == STORE_OK)
		return cause_join_of(j, c->x.f.hex, text, &e);
	complain("causes cannot be read: %s", store_message(c->store));
	return text;
}

static bool record(struct triage_case *c, const struct blame *b, const char *reach, const char *text, const char *facts)
{
	const char *environment = c->store ? environment_of_case(c) : "";
	const char *cure = cause_cure(b, c->a), *cause = c->store ? joined(c, text, cure, facts) : text;
	case_begin(c);
	if (reach[0])
		case_event(c, EVENT_REACH, reach, NULL);
	case_event(c, EVENT_BLAME, b->sentence, NULL);
	if (cure[0])
		case_event(c, EVENT_CURE, cure, NULL);
	case_event(c, EVENT_CAUSE, cause, NULL);
	case_artifact(c, VARIANT_ARTIFACT, text);
	for (int i = 0; i < b->nartifacts; i++)
		case_artifact(c, b->artifact[i].name, b->artifact[i].text);
	case_artifact(c, FACTS_ARTIFACT, facts);
	if (environment[0])
		case_artifact(c, "environment", environment);
	return case_end(c);
}

int step_blame(struct triage_case *c, const char **how)
{
	struct failure f;
	struct ran ran;
	struct blame b;
	int rc = case_fails(&ran, c);
	if (rc != EXIT_CLEAN)
		return rc;
	failure_of(&f, &ran.outcome);
	const char *reach = c->x.t.driver->spelled && target_stage(&c->x.t)->compiles ? reach_of(c, &f) : "";
	blame(&b, c->runner, &c->x.p, &c->x.t, &f, go_on, c, c->a);
	*how = arena_printf(c->a, "%s%s%s", b.sentence, reach[0] ? "; reached from: " : "", reach);
	if (b.stopped)
		return EXIT_VOID;
	const char *facts = c->store ? facts_of(c, &ran, &b, reach) : "";
	return record(c, &b, reach, cause_of(&c->x.p, &f, &b, &c->x.t, c->a), facts) ? EXIT_CLEAN : EXIT_TARGET;
}
