/* verdict.c: see verdict.h. */
#include "fuzz/triage/verdict.h"

#include "eager/base/escape.h"
#include "eager/base/guess.h"
#include "eager/lang/edit.h"
#include "eager/run/interp.h"

#include <inttypes.h>

#include "compiled/targets/dialect.h"
#include "compiled/targets/exec.h"
#include "compiled/targets/message.h"
#include "fuzz/triage/grounds.h"
#include "fuzz/triage/signature.h"
#include "fuzz/triage/tensor_name.h"
#include "oracle/judge/spread.h"
#include "generated/op_input.h"

const char *const verdict_name[NVERDICTS] = {
	"pass", "mismatch", "invariant", "crash", "hang", "unsupported", "invalid", "harness", "unjudged"};
bool verdict_find(int *out, const char *name, struct err *err)
{
	for (*out = 0; *out < NVERDICTS; ++*out)
		if (str_eq(name, verdict_name[*out]))
			return true;
	return err_set(
		err, "'%s' is no verdict%s", name, guess_from(&(struct guess){0}, name, &verdict_name[0], sizeof verdict_name[0], NVERDICTS));
}

const char *const fill_class_name[NFILL_CLASSES] = {"dyadic", "normal", "special", "ties"};

const char *prog_text(const struct prog *p, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, p);
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

int prog_ops(const char **out, int max, const struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nnode && n < max; i++)
		if (op_info[p->node[i].op].family != F_INPUT)
			out[n++] = op_info[p->node[i].op].name;
	return n;
}

/* ---- counting ------------------------------------------------------------------------------------------------------------------ */

static int fill_class(const struct prog *p, int k)
{
	const char *fill = NULL;
	for (int i = 0; k > 0 && !fill && i < p->call[k - 1].ninput; i++)
		fill = p->call[k - 1].input[i].fill;
	for (int i = 0; !fill && i < p->nnode; i++)
		if (p->node[i].op == OP_input && dtype_is_float(p->node[i].out[0].meta.dtype))
			fill = p->node[i].arg[A_input_fill].str;
	for (int c = 0; fill && c < NFILL_CLASSES; c++)
		if (str_eq(fill, fill_class_name[c]))
			return c;
	return 0;
}

static void add_counts(struct element_counts *e, const struct compared *c)
{
	int64_t exact = c->exact - c->nwrong_exact; /* each element is counted once */
	e->exact += exact;
	e->weak += c->weak;
	e->suspect += c->suspect;
	e->tied += c->tied;
	e->agree += c->count[EL_AGREE] - exact - c->weak - c->suspect - c->tied;
	e->undecided += c->count[EL_UNDECIDED];
	e->disagree += c->count[EL_DISAGREE];
}

static const char *pattern_text(const struct compared *c, struct arena *a)
{
	if (c->pattern == PAT_SCALED)
		return arena_printf(a, "scaled by %.6g", c->ratio);
	if (c->pattern == PAT_SHIFTED)
		return arena_printf(a, "shifted by %" PRId64, c->shift);
	return pattern_name[c->pattern];
}

/* ---- outcomes ------------------------------------------------------------------------------------------------------------------------ */

static const enum finding_kind kind_of[NMISMATCH] = {
	[MM_VALUE] = FINDING_VALUE,
	[MM_GRADIENT] = FINDING_GRADIENT,
	[MM_MUTATION] = FINDING_MUTATION,
	[MM_RAISE] = FINDING_RAISE,
	[MM_NONENESS] = FINDING_NONENESS,
	[MM_ALIAS] = FINDING_ALIAS,
	[MM_SHAPE] = FINDING_META,
	[MM_STRIDES] = FINDING_META,
	[MM_REQUIRES_GRAD] = FINDING_NONENESS,
};

/* Silent wrong data is high: a wrong shape is data that belongs elsewhere. */
static const enum finding_severity severity_of[NMISMATCH] = {
	[MM_VALUE] = SEVERITY_HIGH,
	[MM_GRADIENT] = SEVERITY_HIGH,
	[MM_MUTATION] = SEVERITY_HIGH,
	[MM_SHAPE] = SEVERITY_HIGH,
	[MM_RAISE] = SEVERITY_NORMAL,
	[MM_NONENESS] = SEVERITY_NORMAL,
	[MM_ALIAS] = SEVERITY_NORMAL,
	[MM_STRIDES] = SEVERITY_TRIVIAL,
	[MM_REQUIRES_GRAD] = SEVERITY_NORMAL,
};

static const char *tensor_text(const struct prog *p, const struct tensor_verdict *w, struct arena *a)
{
	struct tensor_name n;
	tensor_name_of_verdict(&n, p, w);
	return tensor_name_text(&n, a);
}

static void describe(struct outcome *out, const struct prog *p, const struct tensor_verdict *w, const char *hint, struct arena *a)
{
	out->tensor = w ? tensor_text(p, w, a) : "";
	out->pattern = w && w->cmp.count[EL_DISAGREE] ? pattern_text(&w->cmp, a) : "";
	out->call = w ? w->call : 0;
	out->signature = signature_of(out->kind, p, w, hint, a);
}

static const char *suspicion(const struct prog *p, const struct judgement *j, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < j->ntensor; i++) {
		const struct compared *c = &j->tensor[i].cmp;
		if (!c->suspect)
			continue;
		const struct sample *s = &c->sample[c->nsample - 1];
		sb_printf(&sb,
			"  suspect: call %d, %s, %" PRId64 " of %" PRId64 " elements; element %" PRId64
			" is %.9g, drawn evaluations gave %.9g to %.9g\n",
			j->tensor[i].call, tensor_text(p, &j->tensor[i], a), c->suspect, c->n, s->index, s->got, s->low, s->high);
	}
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

static void report(
	struct outcome *out, const struct prog *p, const struct judgement *j, const struct result *r, const char *target, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, "%s on %s: %s\n", finding_kind_name[out->kind], target, escaped_lines(a, "  ", out->why));
	if (j)
		judgement_print(&sb, j, p);
	if (r->stderr_tail[0] && out->verdict != VD_MISMATCH)
		sb_printf(&sb, "last output of the target:\n  %s\n", escaped_lines(a, "  ", r->stderr_tail));
	sb_printf(&sb, "signature: %s\n", escaped_line(a, out->signature));
	sb_puts(&sb, prog_text(p, a));
	out->report = arena_strdup(a, sb.s);
	sb_free(&sb);
}

static void from_judgement(struct outcome *out, const struct prog *p, const struct judgement *j, const char *hint, struct arena *a)
{
	for (int i = 0; i < j->ntensor; i++) {
		if (j->tensor[i].role == TR_STORAGE && !j->tensor[i].kinds)
			continue; /* untouched inputs would drown the shares */
		add_counts(&out->all, &j->tensor[i].cmp);
		add_counts(&out->by_fill[fill_class(p, j->tensor[i].call)], &j->tensor[i].cmp);
	}
	if (j->status == JUDGE_PASS) {
		int64_t n = 0, open = 0; /* of results; inputs that nobody writes decide nothing */
		for (int i = 0; i < j->ntensor; i++)
			if (j->tensor[i].role != TR_STORAGE) {
				n += j->tensor[i].cmp.n;
				open += j->tensor[i].cmp.count[EL_UNDECIDED];
			}
		out->verdict = n > 0 && open == n ? VD_UNJUDGED : VD_PASS;
		if (out->verdict == VD_UNJUDGED)
			out->why = "every element of the results is undecided";
		return;
	}
	out->why = j->message && j->message[0] ? j->message : "";
	if (j->status != JUDGE_MISMATCH) {
		out->verdict = j->status == JUDGE_UNSUPPORTED ? VD_UNJUDGED : VD_HARNESS;
		return;
	}
	const struct tensor_verdict *w = j->ntensor && j->tensor[0].kinds ? &j->tensor[0] : NULL;
	out->verdict = VD_MISMATCH;
	out->kind = kind_of[j->kind];
	out->severity = severity_of[j->kind];
	describe(out, p, w, hint, a);
	if (w && w->cmp.count[EL_DISAGREE])
		out->why = arena_printf(
			a, "%s wrong in %" PRId64 " of %" PRId64 " elements, %s", out->tensor, w->cmp.count[EL_DISAGREE], w->cmp.n, out->pattern);
	else if (w)
		out->why = arena_printf(a, "%s: %s", out->tensor, w->detail);
	out->detail = out->why;
}

/* The version whose rules hold: 2.<minor>. */
static int torch_minor(const struct target *t)
{
	struct target_facts f;
	target_facts(&f, t);
	return f.torch_minor;
}

const char *program_raises(const struct prog *p, const struct target *t, struct arena *a)
{
	struct result plain;
	struct err err = {0};
	struct interp_options o = {.torch_minor = torch_minor(t)};
	return interp_run(&plain, p, a, &o, &err) == INTERP_OK && plain.status == RES_RAISED ? plain.message : NULL;
}

/* Only rows raise that a compiler may leave out, because nobody reads what they compute. */
static bool raises_unread(const struct prog *p, const struct target *t, struct arena *a)
{
	struct target_facts facts;
	struct prog read;
	target_facts(&facts, t);
	return facts.freedoms & FREE_UNREAD_RAISE && program_raises(p, t, a) && edit_sweep(&read, p, a, NULL) && !program_raises(&read, t, a);
}

/* A program that says that eager must refuse it. Compilers refuse in their own words; plain stages in the program's, and what they do
 * instead neither set of rules expects. */
static void from_must_raise(
	struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, const struct judge_case *jc, struct arena *a)
{
	bool plain = !target_must_run(t);
	if (r->status == RES_RAISED && plain && p->raises && !strstr(r->message, p->raises)) {
		out->verdict = VD_INVALID;
		out->why = arena_printf(a, "eager refuses it, but does not say '%s': %s", p->raises, r->message);
	} else if (r->status == RES_RAISED) {
		out->verdict = VD_PASS;
		out->why = "raises, as it must";
	} else if (plain) {
		out->verdict = VD_INVALID;
		out->why = "it says that eager must refuse it, and eager does not";
	} else if (raises_unread(p, t, a)) {
		out->verdict = VD_PASS;
		out->freedoms = FREE_UNREAD_RAISE;
		out->why = "what eager refuses nobody reads, and it is left out";
	} else {
		const char *eager = program_raises(p, t, a);
		eager = eager ? eager : jc->status == REF_RAISES ? jc->message : NULL;
		out->verdict = eager ? VD_MISMATCH : VD_UNJUDGED;
		out->why = eager ? arena_printf(a, "runs what eager refuses: %s", eager) : "no rule of ours says why eager must refuse it";
	}
	if (out->verdict == VD_INVALID && jc->undecided) {
		out->verdict = VD_UNJUDGED;
		out->why = jc->undecided;
	}
	out->unexpected = out->verdict == VD_INVALID;
	if (out->verdict != VD_MISMATCH)
		return;
	out->kind = FINDING_RAISE;
	out->severity = SEVERITY_NORMAL;
	out->detail = out->why;
	out->signature = arena_printf(
		a, "raise accepts: %s", message_generalised(p->raises ? p->raises : out->why + strlen("runs what eager refuses: "), a));
}

/* The reference does not refuse it. What the plain stage refuses is no finding about a compiler, but one about that stage or our rules if
 * these accept it. Where the plain stage is the interpreter, its word alone is not enough. A compiler that has a plain stage of its own is
 * excused by that stage alone (plain.h). */
static void from_raise(
	struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, const struct judge_case *jc, struct arena *a)
{
	const char *ours = program_raises(p, t, a);
	bool grounded = ours && (out->reference != REF_OK || grounds_for(p, ours));
	bool excused = target_has_own_plain(t) ? false : target_has_plain(t) ? ours != NULL : grounded;
	out->why = r->message;
	if (jc->undecided && !grounded) { /* what is undecided may count otherwise there, and raise; so may a kernel that is not modelled */
		out->verdict = VD_UNJUDGED;
		out->why = jc->undecided;
		return;
	}
	if (!target_must_run(t) || excused) {
		out->verdict = VD_INVALID;
		out->unexpected = target_has_own_plain(t) ? !ours : !grounded;
		return;
	}
	if (jc->status != REF_OK) { /* the other stages of builtin: what is undecided may count otherwise there, and raise */
		out->verdict = VD_UNJUDGED;
		out->why = jc->message;
		return;
	}
	out->verdict = VD_MISMATCH;
	out->kind = FINDING_RAISE;
	out->severity = SEVERITY_NORMAL;
	out->detail = r->message;
	out->why = message_shown(r->message, a);
	out->signature = arena_printf(a, "raise %s", message_innermost(r->message, t, a));
}

/* Named after the invariant, the step and the operator, without its overload. The operator may be any that the step left beside what it
 * did wrong, so a smaller program may have another one. */
static void from_violation(struct outcome *out, const struct result *r, struct arena *a)
{
	const struct result_violation *v = &r->violation;
	out->verdict = VD_INVARIANT;
	out->kind = FINDING_INVARIANT;
	out->severity = SEVERITY_NORMAL;
	out->why = out->detail = r->message;
	out->broken_after = v->step;
	out->symptom = arena_printf(a, "%s %s after %s", finding_kind_name[out->kind], v->invariant, v->step);
	out->placed = true;
	out->signature = arena_printf(a, "%s%s%.*s", out->symptom, v->op[0] ? ": " : "", (int)strcspn(v->op, "."), v->op);
}

/* A run that says nothing about values. */
static bool from_status(struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, struct arena *a)
{
	bool as_stated = p->raises && strstr(r->message, p->raises);
	if (r->status == RES_UNSUPPORTED && p->must_raise && (r->compiling || as_stated)) {
		out->verdict = VD_PASS; /* it raised, a known refusal */
		out->why = "raises, as it must";
	} else if (r->status == RES_UNSUPPORTED || r->status == RES_HARNESS) {
		out->verdict = r->status == RES_UNSUPPORTED ? VD_UNSUPPORTED : VD_HARNESS;
		out->why = r->message;
	} else if (r->status == RES_INVARIANT) {
		from_violation(out, r, a);
	} else if (r->status == RES_CRASH || r->status == RES_HANG) {
		out->verdict = r->status == RES_CRASH ? VD_CRASH : VD_HANG;
		out->kind = r->status == RES_CRASH ? FINDING_CRASH : FINDING_HANG;
		out->severity = SEVERITY_NORMAL;
		out->why = out->detail = r->message;
		describe(out, p, NULL, NULL, a);
		const char *place = message_place(r->stderr_tail, t, a);
		if (place[0])
			out->signature = arena_printf(a, "%s %s", finding_kind_name[out->kind], place);
		if (r->device_lost)
			out->signature = arena_printf(a, "crash device fault: %s", message_generalised(r->message, a));
		out->placed = place[0] || r->device_lost;
		out->symptom =
			out->placed ? out->signature : arena_printf(a, "%s: %s", finding_kind_name[out->kind], message_generalised(r->message, a));
	} else {
		return false;
	}
	return true;
}

/* Are suspects sought? Draws cost as much as a dozen references. A plain stage is asked where agreement says little. What a compiler made
 * is asked where that costs little beside the compile, and of each SPREAD_SHARE-th larger program. */
static bool seeks_suspects(const struct judge_case *jc, const struct judgement *j, const struct prog *p, bool compiles)
{
	enum { SPREAD_FEW = 1 << 14, SPREAD_SHARE = 4 };
	int64_t nscalar = 0;
	if (j->weak || spread_has_long_sum(jc))
		return true;
	for (int k = 0; k < jc->ncalls; k++)
		nscalar += jc->ref[k].tape->nscalar;
	return compiles && (nscalar <= SPREAD_FEW || prog_hash(p).b[0] % SPREAD_SHARE == 0);
}

static void from_reference(struct outcome *out, const struct reference_of *ref, const struct prog *p, const struct result *r,
	const struct target *t, const char *hint, struct arena *a)
{
	bool compiles = target_stage(t)->compiles;
	struct target_facts facts;
	if (!ref) {
		out->verdict = VD_UNJUDGED;
		out->why = "no licence is known for this target";
		return;
	}
	out->reference = ref->jc.status;
	if (p->must_raise) {
		from_must_raise(out, p, r, t, &ref->jc, a);
	} else if (!ref->ok && ref->jc.status != REF_RAISES && (r->status != RES_RAISED || compiles)) {
		out->verdict = VD_UNJUDGED;
		out->why = ref->jc.message;
	} else if (r->status == RES_RAISED && ref->jc.status == REF_RAISES) {
		out->verdict = VD_INVALID; /* as it must */
		out->why = r->message;
	} else if (ref->jc.status == REF_RAISES && dialect_of(t) != TAKES_ATEN) {
		out->verdict = VD_UNSUPPORTED; /* as exec says of what eager's rules refuse: these are the data's */
		out->why = arena_printf(a, "%s (%s)", dialect_refuses(dialect_of(t), a), ref->jc.message);
	} else if (r->status == RES_RAISED) {
		from_raise(out, p, r, t, &ref->jc, a);
	} else {
		struct judgement *j = ARENA_ZNEW(a, struct judgement, 1);
		target_facts(&facts, t);
		judge(j, &ref->jc, r, facts.freedoms, a);
		out->judgement = j;
		if (seeks_suspects(&ref->jc, j, p, compiles))
			spread_judge(j, &ref->jc, r, a);
		if (j->suspect)
			out->suspicion = suspicion(p, j, a);
		out->freedoms = j->used;
		from_judgement(out, p, j, compiles ? hint : NULL, a);
	}
}

void outcome_with(
	struct outcome *out, struct references *refs, const struct result *r, const struct target *t, const char *hint, struct arena *a)
{
	const struct prog *p = refs->p;
	*out = (struct outcome){
		.why = "", .signature = "", .tensor = "", .pattern = "", .detail = "", .report = "", .suspicion = "", .reference = REF_UNSUPPORTED};
	if (!from_status(out, p, r, t, a))
		from_reference(out, references_get(refs, t), p, r, t, hint, a);
	if (verdict_diverges(out->verdict))
		report(out, p, out->judgement, r, target_text(t, a), a);
}

void outcome_of(
	struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, const char *hint, struct arena *a)
{
	struct references refs;
	references_in(&refs, p, a);
	outcome_with(out, &refs, r, t, hint, a);
}

const char *verdict_reason(const struct outcome *o, struct arena *a)
{
	if (o->verdict == VD_PASS || verdict_diverges(o->verdict) || !o->why[0])
		return "";
	char *why = arena_strdup(a, o->why);
	char *quoted = o->verdict == VD_UNSUPPORTED ? strstr(why, " (") : NULL;
	if (quoted)
		*quoted = 0;
	const char *text = o->verdict == VD_UNJUDGED ? message_counted(why, a) : message_generalised(why, a);
	return arena_printf(a, "%s: %s", verdict_name[o->verdict], text);
}
