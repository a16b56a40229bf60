/* claim.c: from an observation to a claim, from a judgement to whether it holds. Whatever goes wrong before the tensor exists counts for
 * the claim: a target that crashes where it returned a wrong value has not become right. */
#include "fuzz/triage/claim.h"

#include "compiled/targets/message.h"

enum { ALL_PARTS = CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_ELEMENTS | CLAIM_STRIDES | CLAIM_MEMORY | CLAIM_REQUIRES_GRAD };

static const unsigned parts_of[NFINDING_KINDS] = {
	[FINDING_VALUE] = CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_ELEMENTS,
	[FINDING_GRADIENT] = CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_ELEMENTS,
	[FINDING_MUTATION] = CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_ELEMENTS,
	[FINDING_META] = CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_STRIDES,
	[FINDING_ALIAS] = CLAIM_MEMORY,
	[FINDING_NONENESS] = CLAIM_PRESENT | CLAIM_REQUIRES_GRAD,
	[FINDING_NONDETERMINISTIC] = ALL_PARTS,
};

static const struct {
	enum claim_part part;
	unsigned mismatches;
} mismatch_of[] = {
	{CLAIM_PRESENT, 1u << MM_NONENESS},
	{CLAIM_SHAPE, 1u << MM_SHAPE},
	{CLAIM_ELEMENTS, 1u << MM_VALUE | 1u << MM_GRADIENT | 1u << MM_MUTATION},
	{CLAIM_STRIDES, 1u << MM_STRIDES},
	{CLAIM_MEMORY, 1u << MM_ALIAS},
	{CLAIM_REQUIRES_GRAD, 1u << MM_REQUIRES_GRAD},
};

void claim_of(struct claim *out, enum finding_kind kind, const char *verdict, const char *tensor, int call, const struct prog *p)
{
	bool mismatch = str_eq(verdict, verdict_name[VD_MISMATCH]);
	*out = (struct claim){
		.subject = CLAIM_RUN, .refused = str_eq(verdict, verdict_name[VD_INVALID]), .flaky = kind == FINDING_NONDETERMINISTIC};
	if (!mismatch || kind == FINDING_RAISE)
		return;
	if (call >= 0 && call <= p->ncall && tensor_name_read(&out->tensor, tensor, p, NULL)) {
		out->subject = CLAIM_TENSOR;
		out->call = call;
		out->parts = parts_of[kind];
	} else if (kind != FINDING_NONDETERMINISTIC || tensor[0]) {
		out->subject = CLAIM_ANYTHING;
	}
}

const char *claim_text(const struct claim *c, struct arena *a)
{
	if (c->refused)
		return "eager refuses the program, which both sets of rules accept";
	if (c->subject == CLAIM_RUN)
		return "the program does not run as it must";
	if (c->subject == CLAIM_ANYTHING)
		return "the program diverges";
	return arena_printf(a, "%s of call %d is wrong", tensor_name_text(&c->tensor, a), c->call);
}

struct prog claim_program(const struct claim *c, const struct prog *p)
{
	struct prog q = *p;
	if (c->subject == CLAIM_TENSOR && !c->tensor.later)
		q.ncall = MIN(q.ncall, c->call + q.late); /* its backward may run after the next forward */
	return q;
}

/* ---- judging -------------------------------------------------------------------------------------------------------------------- */

static enum claim_verdict judge_raise(
	const char **why, const struct prog *p, const struct outcome *o, const struct target *t, struct arena *a)
{
	if (!target_must_run(t)) {
		*why = arena_printf(a, "eager refuses the program: %s", o->why);
		return CLAIM_OPEN;
	}
	if (!target_has_own_plain(t) && program_raises(p, t, a)) { /* else whoever asks the claim asks that stage */
		*why = arena_printf(a, "autograd refuses the program, whoever runs it: %s", o->why);
		return CLAIM_OPEN;
	}
	*why = arena_printf(a, "the target raises: %s", o->why);
	return CLAIM_HOLDS;
}

static enum claim_verdict judge_run(const char **why, const struct outcome *o, const struct result *r)
{
	bool must_raise = o->reference == REF_RAISES;
	*why = r->status == RES_RAISED ? "it raises, as it must" : must_raise ? "it runs and must raise" : "it runs";
	return must_raise == (r->status == RES_RAISED) ? CLAIM_REFUTED : CLAIM_HOLDS;
}

/* A program that states that eager must refuse it. */
static enum claim_verdict judge_stated(const char **why, const struct outcome *o, const struct target *t, struct arena *a)
{
	bool wrong = o->verdict == VD_MISMATCH || (!target_must_run(t) && o->unexpected);
	*why = message_shown(o->why, a);
	return wrong ? CLAIM_HOLDS : o->verdict == VD_PASS ? CLAIM_REFUTED : CLAIM_OPEN;
}

static enum claim_verdict judge_tensor(const char **why, const struct claim *c, const struct outcome *o, struct arena *a)
{
	const struct judgement *j = o->judgement;
	unsigned wrong = 0;
	for (int i = 0; i < ARRAY_LEN(mismatch_of); i++)
		wrong |= c->parts & mismatch_of[i].part ? mismatch_of[i].mismatches : 0;
	for (int i = 0; i < j->ntensor; i++) {
		const struct tensor_verdict *v = &j->tensor[i];
		if (v->role != c->tensor.role || v->index != c->tensor.index || v->call != c->call || v->later != c->tensor.later)
			continue;
		*why = arena_printf(a, "%s of call %d is %s", tensor_name_text(&c->tensor, a), c->call, v->kinds & wrong ? "wrong" : "right");
		return v->kinds & wrong ? CLAIM_HOLDS : CLAIM_REFUTED;
	}
	if (c->tensor.later) {
		*why = arena_printf(a, "%s of call %d is what it was", tensor_name_text(&c->tensor, a), c->call);
		return CLAIM_REFUTED;
	}
	*why = arena_printf(a, "the reference has no %s in call %d", tensor_name_text(&c->tensor, a), c->call);
	return CLAIM_OPEN;
}

enum claim_verdict claim_judge(const char **why, const struct claim *c, const struct prog *p, const struct outcome *o,
	const struct result *r, const struct target *t, struct arena *a)
{
	enum claim_verdict v = CLAIM_OPEN;
	*why = o->why;
	if (verdict_ends(o->verdict)) {
		*why = arena_printf(a, "%s: %s", verdict_name[o->verdict], o->why);
		return CLAIM_HOLDS;
	}
	if (r->status != RES_OK && r->status != RES_RAISED && !(p->must_raise && r->status == RES_UNSUPPORTED))
		return CLAIM_OPEN;
	if (c->refused && o->unexpected && !p->must_raise) {
		*why = arena_printf(a, "eager refuses it, neither the reference nor the interpreter does: %s", message_shown(o->why, a));
		return CLAIM_HOLDS;
	}
	if (r->status == RES_RAISED && o->reference != REF_RAISES && !p->must_raise)
		return judge_raise(why, p, o, t, a);
	if (p->must_raise) {
		v = judge_stated(why, o, t, a);
	} else if (c->subject == CLAIM_RUN) {
		v = judge_run(why, o, r);
	} else if (c->subject == CLAIM_TENSOR && o->reference == REF_OK && o->judgement && o->judgement->status != JUDGE_FAILED) {
		v = judge_tensor(why, c, o, a);
	} else if (c->subject == CLAIM_ANYTHING && (verdict_diverges(o->verdict) || o->verdict == VD_PASS)) {
		/* Strides alone are not what such a finding was about, whatever it was. */
		v = o->verdict == VD_PASS || o->severity == SEVERITY_TRIVIAL ? CLAIM_REFUTED : CLAIM_HOLDS;
		*why = v == CLAIM_HOLDS ? o->why : "the program's results are right";
	}
	if (v == CLAIM_REFUTED && c->flaky) {
		*why = arena_printf(a, "%s this time; it was not seen again when it was found, either", *why);
		return CLAIM_OPEN;
	}
	return v;
}
