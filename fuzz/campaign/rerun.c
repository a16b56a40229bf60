/* rerun.c: runs the program of a finding as far as its claim needs, judges the claim, and asks the plain stage where a raise decides. */
#include "fuzz/campaign/rerun.h"

#include "compiled/targets/driver.h"
#include "fuzz/campaign/keep.h"
#include "fuzz/triage/plain.h"

const char *const rerun_word[] = {
	[RERUN_PASSES] = "passes", [RERUN_FAILS] = "fails", [RERUN_OTHER] = "other", [RERUN_CANNOT_TELL] = "cannot tell"};

/* A target that raises diverges only if eager runs, one that accepts what must be refused only if eager refuses it. */
static void ask_eager(
	struct rerun *v, struct exec *e, const struct prog *p, const struct target *t, enum result_status wanted, struct arena *a)
{
	struct result r;
	struct target plain = plain_of(t);
	if (!target_has_plain(t))
		return;
	exec_run(&r, a, e, p, &plain);
	if (r.status == wanted)
		return;
	v->claim = CLAIM_OPEN;
	v->why = r.status == RES_OK ? arena_printf(a, "%s runs it, too", target_text(&plain, a))
								: arena_printf(a, "%s does not run it, either: %s", target_text(&plain, a), r.message);
}

/* A tensor was wrong, and now there is none; or it ends in another way than it did. */
static bool fails_otherwise(const struct rerun *v, const struct claim *c, const char *verdict)
{
	bool died = verdict_ends(v->o.verdict);
	if (c->subject == CLAIM_TENSOR)
		return died || v->o.kind == FINDING_RAISE;
	return c->subject == CLAIM_RUN && !c->refused && !str_eq(verdict_name[v->o.verdict], verdict);
}

static const char *text_in(struct strbuf *sb, struct arena *a)
{
	const char *s = arena_strdup(a, sb->s);
	sb_free(sb);
	return s;
}

void rerun_finding(struct rerun *out, struct exec *e, const struct found *x, const struct target *t, struct arena *a)
{
	struct strbuf versions, hello;
	struct result r;
	struct prog *p = ARENA_NEW(a, struct prog, 1);
	*p = claim_program(&x->claim, &x->p);
	*out = (struct rerun){.claim = CLAIM_OPEN};
	exec_run(&r, a, e, p, t);
	sb_init(&versions);
	sb_init(&hello);
	exec_versions(&versions, &hello, e);
	out->versions = text_in(&versions, a);
	out->hello = text_in(&hello, a);
	if (r.bad_target) {
		out->bad_target = true;
		out->why = r.message;
		return;
	}
	out->raised = r.status == RES_RAISED ? r.message : NULL;
	outcome_of(&out->o, p, &r, t, NULL, a);
	out->claim = claim_judge(&out->why, &x->claim, p, &out->o, &r, t, a);
	if (out->claim == CLAIM_HOLDS && p->must_raise && target_must_run(t) && r.status == RES_OK)
		ask_eager(out, e, p, t, RES_RAISED, a);
	else if (out->claim == CLAIM_HOLDS && !p->must_raise && r.status == RES_RAISED && !x->claim.refused)
		ask_eager(out, e, p, t, RES_OK, a);
	out->otherwise = out->claim == CLAIM_HOLDS && fails_otherwise(out, &x->claim, x->obs->verdict);
}

enum rerun_answer rerun_answer(const struct rerun *v)
{
	if (v->bad_target || v->claim == CLAIM_OPEN)
		return RERUN_CANNOT_TELL;
	if (v->claim == CLAIM_HOLDS)
		return v->otherwise ? RERUN_OTHER : RERUN_FAILS;
	return verdict_diverges(v->o.verdict) ? RERUN_OTHER : RERUN_PASSES;
}

void rerun_keep(struct store *s, const struct hash128 *run, const struct found *x, const struct target *t, const struct rerun *v,
	int64_t at, struct arena *a)
{
	const char *ops[MAX_NODES];
	struct store_observation obs = {.finding = x->f.id,
		.run = *run,
		.at = at,
		.verdict = verdict_name[VD_PASS],
		.tensor = "",
		.fill = -1,
		.call = -1,
		.detail = v->why};
	keep_environment(s, &obs.environment, t, v->versions, v->hello, a);
	store_counter_add(s, run, "", &obs.environment, verdict_name[v->o.verdict], 1);
	if (v->claim == CLAIM_OPEN)
		return;
	if (v->claim == CLAIM_HOLDS) {
		bool died = verdict_ends(v->o.verdict);
		obs.verdict = verdict_name[died || x->claim.refused ? v->o.verdict : VD_MISMATCH];
		obs.tensor = died || x->claim.subject != CLAIM_TENSOR ? "" : tensor_name_text(&x->claim.tensor, a);
		obs.call = x->claim.subject == CLAIM_TENSOR ? x->claim.call : x->obs->call;
	}
	store_observation(s, &obs, x->obs->program_text, ops, prog_ops(ops, MAX_NODES, &x->p));
}
