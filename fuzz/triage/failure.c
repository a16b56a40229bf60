/* failure.c: patterns in sorts. The more a sort says (a factor, stale values), the more it is worth keeping; what only says that something
 * is wrong may become anything but rounding. */
#include "fuzz/triage/failure.h"

#include "compiled/targets/message.h"

static const enum error_sort sort_of[] = {
	[PAT_NONE] = ERROR_NONE,
	[PAT_ALL_ZERO] = ERROR_ZERO,
	[PAT_NAN] = ERROR_SPECIAL,
	[PAT_INF] = ERROR_SPECIAL,
	[PAT_SCALED] = ERROR_SCALED,
	[PAT_CONSTANT] = ERROR_CONSTANT,
	[PAT_PERMUTED] = ERROR_MOVED,
	[PAT_SHIFTED] = ERROR_MOVED,
	[PAT_STALE] = ERROR_STALE,
	[PAT_ROW] = ERROR_OTHER,
	[PAT_SINGLE] = ERROR_OTHER,
	[PAT_ULP] = ERROR_ROUNDING,
	[PAT_OTHER] = ERROR_OTHER,
	[PAT_OVERWRITTEN] = ERROR_OVERWRITTEN,
};
static const char *const sort_name[] = {
	[ERROR_NONE] = "",
	[ERROR_ZERO] = "all zero",
	[ERROR_SPECIAL] = "NaN or infinite",
	[ERROR_SCALED] = "scaled",
	[ERROR_CONSTANT] = "constant",
	[ERROR_MOVED] = "in other places",
	[ERROR_STALE] = "stale",
	[ERROR_OVERWRITTEN] = "overwritten by a later call",
	[ERROR_ROUNDING] = "a few units in the last place",
	[ERROR_OTHER] = "wrong",
	[ERROR_SIZES] = "sizes",
	[ERROR_DTYPE] = "dtype",
	[ERROR_DEVICE] = "device",
	[ERROR_STRIDES] = "strides alone",
	[ERROR_REQUIRES_GRAD] = "requires_grad",
};
static const enum error_sort layout_sort[NLAYOUT_PARTS] = {
	[LAYOUT_SIZES] = ERROR_SIZES, [LAYOUT_DTYPE] = ERROR_DTYPE, [LAYOUT_DEVICE] = ERROR_DEVICE, [LAYOUT_STRIDES] = ERROR_STRIDES};

const struct tensor_verdict *failure_tensor(const struct outcome *o)
{
	return o->judgement && o->judgement->ntensor && o->judgement->tensor[0].kinds ? &o->judgement->tensor[0] : NULL;
}

/* w is why o is what it is, so its layout says something only if that is the kind. */
static enum error_sort sort_in(const struct tensor_verdict *w, enum finding_kind kind)
{
	if (w->cmp.count[EL_DISAGREE])
		return sort_of[w->cmp.pattern];
	for (int k = 0; k < NLAYOUT_PARTS && kind == FINDING_META; k++)
		if (w->layout & 1u << k)
			return layout_sort[k];
	return kind == FINDING_NONENESS && w->kinds & 1u << MM_REQUIRES_GRAD && !(w->kinds & 1u << MM_NONENESS) ? ERROR_REQUIRES_GRAD
																											: ERROR_NONE;
}

void failure_of(struct failure *out, const struct outcome *o)
{
	const struct tensor_verdict *w = failure_tensor(o);
	*out = (struct failure){.verdict = o->verdict, .kind = o->kind, .role = w ? (int)w->role : -1};
	if (w) {
		out->sort = sort_in(w, o->kind);
		out->later = w->later;
	}
	if (!w && o->signature)
		snprintf(out->signature, sizeof out->signature, "%s", o->symptom ? o->symptom : o->signature);
	if (o->broken_after) {
		snprintf(out->invariant, sizeof out->invariant, "%s", o->signature);
		snprintf(out->step, sizeof out->step, "%s", o->broken_after);
	}
	out->placed = !o->symptom || o->placed;
}

/* Sorts that shrinking turns into each other: of two elements one wrong is a factor, one zero is all of them. */
static bool vague(enum error_sort s) { return s == ERROR_OTHER || s == ERROR_CONSTANT || s == ERROR_MOVED || s == ERROR_SCALED; }

bool failure_is(const struct failure *f, const struct outcome *o)
{
	struct failure g;
	if (!verdict_diverges(o->verdict))
		return false;
	failure_of(&g, o);
	if (g.verdict != f->verdict || g.kind != f->kind || g.role != f->role || g.later != f->later || !str_eq(g.signature, f->signature))
		return false;
	return g.sort == f->sort || (vague(f->sort) && (vague(g.sort) || g.sort == ERROR_ZERO || g.sort == ERROR_STALE));
}

bool failure_is_erratic(const struct failure *f) { return f->kind == FINDING_CRASH && f->placed && strstr(f->signature, message_heap); }

const char *failure_text(const struct failure *f, struct arena *a)
{
	if (f->signature[0])
		return arena_strdup(a, f->signature);
	return arena_printf(a, "%s%s%s", finding_kind_name[f->kind], sort_name[f->sort][0] ? ", " : "", sort_name[f->sort]);
}
