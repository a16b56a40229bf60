/* bug_script.c: the short one if there is one, else the other. */
#include "fuzz/cli/bug_script.h"

#include "compiled/targets/driver.h"
#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "eager/base/version.h"
#include "fuzz/campaign/rerun.h"
#include "fuzz/cli/commands.h"
#include "fuzz/triage/script.h"
#include "fuzz/triage/short_script.h"
#include "reports/cause/json_doc.h"

static bool still_fails(void *ctx, const char **raised, const struct prog *p, struct arena *a)
{
	const struct bug_script *s = ctx;
	struct found y = *s->x;
	struct rerun v;
	y.p = *p;
	rerun_finding(&v, s->e, &y, &y.t, a);
	*raised = v.raised;
	return rerun_answer(&v) == RERUN_FAILS;
}

/* False: there is none; err says why. */
static bool short_one(struct strbuf *sb, const struct bug_script *s, const struct options *o, struct arena *a, struct err *err)
{
	struct strbuf python;
	const struct target *t = &s->x->t;
	const struct prog p = claim_program(&s->x->claim, &s->x->p);
	struct bug_script self = *s;
	struct short_runs runs;
	const struct short_ask ask = {still_fails, &self, o->limit_ms};
	bool ok = s->e || err_set(err, "%s", s->not_run);
	sb_init(&python);
	ok = ok && (target_has_versions(t) || err_set(err, "targets of the family %s have no scripts of a few lines", target_family(t)))
		&& target_python(&python, t, o->python, err) && short_script(sb, &s->x->claim, &p, t, python.s, s->headline, &ask, &runs, a, err);
	sb_free(&python);
	return ok;
}

/* What triage wrote beside the script (step_script.c). */
static void runs_of(struct short_runs *out, const struct store_loaded_artifact *f, struct arena *a)
{
	static const char *const verdicts[] = {"wrong", "right", "does not run"};
	struct json_doc *d = json_doc_open(f->bytes, f->nbytes);
	const int n = MIN(json_doc_count(d, "$.versions"), (int)SHORT_RUNS_MOST);
	*out = (struct short_runs){.raised = json_doc_has(d, "$.raised") ? json_doc_text(d, a, "$.raised") : NULL};
	for (int i = 0; i < n; i++) {
		const char *version = json_doc_text(d, a, "$.versions[%d].version", i), *verdict = json_doc_text(d, a, "$.versions[%d].verdict", i);
		for (int k = 0; version_valid(version) && k < ARRAY_LEN(verdicts); k++)
			if (str_eq(verdict, verdicts[k])) {
				out->run[out->n].version = version;
				out->run[out->n].dies = json_doc_has(d, "$.versions[%d].dies", i);
				out->run[out->n++].verdict = verdicts[k];
			}
	}
	json_doc_close(d);
}

bool bug_script_kept(int *rc, const struct bug_script *s, const struct options *o, struct arena *a)
{
	const struct store_loaded_artifact *script = store_loaded_artifact(&s->x->f, "script"),
									   *versions = store_loaded_artifact(&s->x->f, "script_versions");
	const struct target *t = &s->x->t;
	const struct prog p = claim_program(&s->x->claim, &s->x->p);
	struct short_runs runs;
	struct strbuf sb;
	struct err err = {0};
	if (!script || !versions)
		return false;
	sb_init(&sb);
	runs_of(&runs, versions, a);
	const bool is = short_script_kept(&sb, script->bytes, &runs, &s->x->claim, &p, t, s->headline, a);
	*rc = !is || output_text(o->script, &sb, &err) ? EXIT_CLEAN : EXIT_TARGET;
	if (*rc != EXIT_CLEAN)
		complain("%s", err.msg);
	else if (is)
		fprintf(stderr, "scatterproof: this is the script that triage kept: it was run with %s %s then, and is not now (--python: it is)\n",
			t->driver->title, t->version);
	sb_free(&sb);
	return is;
}

int bug_script_write(const struct bug_script *s, const struct options *o, struct arena *a)
{
	struct strbuf sb;
	struct err err = {0}, why = {0};
	int rc = EXIT_CLEAN;
	sb_init(&sb);
	const bool asked = s->e || s->not_run, is_short = asked && short_one(&sb, s, o, a, &why);
	if (!is_short) {
		sb_reset(&sb);
		if (!script_emit(&sb, &s->x->claim, &s->x->p, &s->x->t, s->full_headline, a, &err))
			rc = EXIT_USAGE;
		else if (asked)
			fprintf(stderr, "scatterproof: no script of a few lines: %s: this is the judged one\n", escaped_line(a, why.msg));
	}
	if (rc == EXIT_CLEAN && !output_text(o->script, &sb, &err))
		rc = EXIT_TARGET;
	const struct target_script *script = s->x->t.driver->script;
	if (rc == EXIT_USAGE && script && script->brief && why.msg[0])
		complain("no script of a few lines: %s; and %s", escaped_line(a, why.msg), err.msg);
	else if (rc != EXIT_CLEAN)
		complain("%s", err.msg);
	sb_free(&sb);
	return rc;
}
