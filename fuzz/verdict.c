/* verdict.c: see verdict.h. The first signature of a divergence is made of what stays the same over a night of one bug: which kind of
 * tensor is wrong, the shape of the error, and either the operator whose predicted layout is impossible or, without such a hint, the
 * operators next to the wrong tensor: the one that made the output, those that read the input. What raises is known by its innermost
 * error and that error's first line without numbers. Sizes, seeds and names are not in it. */
#include "fuzz/verdict.h"

#include <inttypes.h>
#include <stdlib.h>

const char *const verdict_name[NVERDICTS] = {"pass", "mismatch", "crash", "hang", "unsupported", "invalid", "harness", "unjudged"};
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
			fill = p->node[i].arg[op_param(OP_input, "fill")].str;
	for (int c = 0; fill && c < NFILL_CLASSES; c++)
		if (str_eq(fill, fill_class_name[c]))
			return c;
	return 0;
}

static void add_counts(struct element_counts *e, const struct compared *c)
{
	e->exact += c->exact;
	e->weak += c->weak;
	e->agree += c->count[EL_AGREE] - c->exact - c->weak;
	e->undecided += c->count[EL_UNDECIDED];
	e->disagree += c->count[EL_DISAGREE];
}

/* ---- signature --------------------------------------------------------------------------------------------------------------------- */

static bool has_operand(const struct node *n, const bool *set)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSOR && set[n->arg[k].node])
			return true;
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0 && set[n->arg[k].nodes[i]])
				return true;
	}
	return false;
}

static void mark_operands(const struct node *n, bool *set)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSOR)
			set[n->arg[k].node] = true;
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0)
				set[n->arg[k].nodes[i]] = true;
	}
}

static bool passes_through(int op)
{
	return op_has(op, T_VIEW) || op_has(op, T_MAYBE_VIEW) || op_info[op].family == F_INPUT || op == OP_getitem;
}

/* Operators that made the wrong output, or that read the input of the wrong gradient, seen through views; every operator for storages
 * and if nothing is known. */
static void neighbours(const struct prog *p, const struct tensor_verdict *w, bool *set)
{
	bool through[MAX_NODES] = {0};
	memset(set, 0, MAX_NODES * sizeof *set);
	if (w && w->role == TR_GRADIENT && w->node >= 0) {
		through[w->node] = true;
		for (int i = 0; i < p->nnode; i++)
			if (has_operand(&p->node[i], through))
				*(passes_through(p->node[i].op) ? &through[i] : &set[i]) = true;
	} else if (w && w->role == TR_OUTPUT && w->node >= 0) {
		through[w->node] = true;
		for (int i = p->nnode - 1; i >= 0; i--)
			if (through[i] && passes_through(p->node[i].op))
				mark_operands(&p->node[i], through);
			else
				set[i] = through[i];
	} else {
		for (int i = 0; i < p->nnode; i++)
			set[i] = true;
	}
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Operators of the set without views and inputs, linear reductions under one name, sorted, each once. */
static void motif(struct strbuf *sb, const struct prog *p, const bool *set)
{
	const char *name[MAX_NODES];
	int n = 0;
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		const struct op_info *op = &op_info[p->node[i].op];
		if (!set[i] || !forward[i] || passes_through(p->node[i].op))
			continue;
		name[n++] = (op->traits & T_REDUCE) && (op->traits & T_LINEAR) ? "linear-reduction" : op->name;
	}
	qsort(name, (size_t)n, sizeof *name, by_text);
	for (int i = 0; i < n; i++)
		if (!i || !str_eq(name[i], name[i - 1]))
			sb_printf(sb, "%s%s", sb->len && sb->s[sb->len - 1] != ' ' ? "+" : "", name[i]);
}

/* The first line of a message without what differs from case to case: numbers, what stands in brackets, what follows `=`. */
static const char *without_numbers(const char *m, struct arena *a)
{
	enum { LONGEST = 110 };
	struct strbuf sb;
	sb_init(&sb);
	int depth = 0;
	for (; *m && *m != '\n' && sb.len < LONGEST; m++) {
		if (strchr("[{", *m) && depth++ == 0)
			sb_puts(&sb, *m == '[' ? "[]" : "{}");
		if (strchr("]}", *m))
			depth -= depth > 0;
		if (depth || strchr("]}", *m))
			continue;
		if (*m >= '0' && *m <= '9') {
			sb_putc(&sb, 'N');
			while (m[1] >= '0' && m[1] <= '9')
				m++;
			continue;
		}
		sb_putc(&sb, *m);
		if (*m == '=')
			while (m[1] && !strchr(" ,\n)[{", m[1]))
				m++;
	}
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

/* "InductorError: TypeError: sub() takes 3 positional arguments" -> "TypeError: sub() takes N positional arguments": the innermost error. */
static const char *raise_signature(const char *m, struct arena *a)
{
	static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.";
	static const char *const noise[] = {"compile: ", "backend='inductor' raised:\n", "backend='aot_eager' raised:\n"};
	for (;;) {
		for (int i = 0; i < ARRAY_LEN(noise); i++)
			if (str_starts(m, noise[i]))
				m += strlen(noise[i]), i = -1;
		size_t n = strspn(m, name);
		const char *next = m + n + 2;
		if (n == 0 || !str_starts(m + n, ": "))
			break;
		bool inner = false;
		for (int i = 0; i < ARRAY_LEN(noise); i++)
			inner |= str_starts(next, noise[i]);
		size_t k = strspn(next, name);
		inner |= str_starts(next + k, ": ") && ((k >= 5 && str_starts(next + k - 5, "Error")) || (k >= 9 && str_starts(next + k - 9, "Exception")));
		if (!inner)
			break;
		m = next;
	}
	return without_numbers(m, a);
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
	[MM_VALUE] = FINDING_VALUE, [MM_GRADIENT] = FINDING_GRADIENT, [MM_MUTATION] = FINDING_MUTATION, [MM_RAISE] = FINDING_RAISE,
	[MM_NONENESS] = FINDING_NONENESS, [MM_ALIAS] = FINDING_ALIAS, [MM_SHAPE] = FINDING_META, [MM_STRIDES] = FINDING_META,
	[MM_REQUIRES_GRAD] = FINDING_NONENESS,
};

/* Silent wrong data is high: a wrong shape is data that belongs elsewhere. */
static const enum finding_severity severity_of[NMISMATCH] = {
	[MM_VALUE] = SEVERITY_HIGH, [MM_GRADIENT] = SEVERITY_HIGH, [MM_MUTATION] = SEVERITY_HIGH, [MM_SHAPE] = SEVERITY_HIGH,
	[MM_RAISE] = SEVERITY_NORMAL, [MM_NONENESS] = SEVERITY_NORMAL, [MM_ALIAS] = SEVERITY_NORMAL, [MM_STRIDES] = SEVERITY_LOW,
	[MM_REQUIRES_GRAD] = SEVERITY_NORMAL,
};

static const char *tensor_text(const struct prog *p, const struct tensor_verdict *w, struct arena *a)
{
	if (!w)
		return "";
	const char *name = w->node >= 0 ? p->node[w->node].name : "";
	if (w->role == TR_OUTPUT)
		return arena_printf(a, "out %d (%s)", w->index, name);
	if (w->role == TR_GRADIENT)
		return arena_printf(a, "%s.grad", name);
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && p->node[i].out[0].storage == w->index)
			return arena_printf(a, "input %s afterwards", p->node[i].name);
	return arena_printf(a, "input storage %d afterwards", w->index);
}

static void describe(struct outcome *out, const struct prog *p, const struct tensor_verdict *w, const char *hint, struct arena *a)
{
	struct strbuf sig;
	bool set[MAX_NODES];
	sb_init(&sig);
	out->tensor = tensor_text(p, w, a);
	out->pattern = w && w->cmp.count[EL_DISAGREE] ? pattern_text(&w->cmp, a) : "";
	out->call = w ? w->call : 0;
	sb_printf(&sig, "%s ", finding_kind_name[out->kind]);
	if (hint && hint[0] && w && w->cmp.pattern != PAT_ULP && (out->kind == FINDING_GRADIENT || out->kind == FINDING_VALUE)) {
		sb_printf(&sig, "predicted layout overlaps: %s", hint);
	} else {
		if (w && w->cmp.count[EL_DISAGREE])
			sb_printf(&sig, "%s ", pattern_name[w->cmp.pattern]);
		neighbours(p, w, set);
		motif(&sig, p, set);
	}
	out->signature = arena_strdup(a, sig.s);
	sb_free(&sig);
}

static void report(struct outcome *out, const struct prog *p, const struct judgement *j, const struct result *r, const char *target, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, "%s on %s: %s\n", finding_kind_name[out->kind], target, out->why);
	if (j)
		judgement_print(&sb, j, p);
	if (r->stderr_tail[0] && out->verdict != VD_MISMATCH)
		sb_printf(&sb, "last output of the target:\n%s\n", r->stderr_tail);
	sb_printf(&sb, "signature: %s\n", out->signature);
	sb_puts(&sb, prog_text(p, a));
	out->report = arena_strdup(a, sb.s);
	sb_free(&sb);
}

static void from_judgement(struct outcome *out, const struct prog *p, const struct judgement *j, const struct result *r, const char *hint, struct arena *a)
{
	for (int i = 0; i < j->ntensor; i++) {
		add_counts(&out->all, &j->tensor[i].cmp);
		add_counts(&out->by_fill[fill_class(p, j->tensor[i].call)], &j->tensor[i].cmp);
	}
	if (j->status == JUDGE_PASS) {
		int64_t n = 0, open = 0;        /* of results; inputs that nobody writes decide nothing */
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
		out->why = arena_printf(a, "%s wrong in %" PRId64 " of %" PRId64 " elements, %s", out->tensor, w->cmp.count[EL_DISAGREE], w->cmp.n, out->pattern);
	else if (w)
		out->why = arena_printf(a, "%s: %s", out->tensor, w->detail);
	out->detail = out->why;
	(void)r;
}

/* A program that the plain stage refuses is the generator's fault or ours, never a finding about a compiler. */
enum { MAX_SHOWN = 1000 };       /* characters of a target's message in a report */
static void from_raise(struct outcome *out, const struct result *r, const struct target *t, struct arena *a)
{
	const struct target_stage *st = target_stage(t);
	out->why = r->message;
	if (!st->compiles) {
		out->verdict = VD_INVALID;
		return;
	}
	out->verdict = VD_MISMATCH;
	out->kind = FINDING_RAISE;
	out->severity = SEVERITY_NORMAL;
	out->detail = r->message;
	size_t n = strlen(r->message), line = strcspn(r->message, "\n");
	if (n > MAX_SHOWN) {            /* a terminal shows the head of a graph dump, the store keeps it whole */
		size_t shown = line < MAX_SHOWN / 2 ? MAX_SHOWN / 2 : MIN(line, (size_t)MAX_SHOWN);
		out->why = arena_printf(a, "%.*s ... (%zu characters more)", (int)shown, r->message, n - shown);
	}
	out->signature = arena_printf(a, "raise %s", raise_signature(r->message, a));
}

const struct freedom freedoms[NFREEDOMS] = {
#define FREEDOM(bit, stage, reason, source) {bit, stage, reason},
#include "fuzz/freedom.def"
#undef FREEDOM
};

static unsigned freedoms_of(const struct target *t)
{
	unsigned mask = 0;
	if (t->family != FAM_TORCH)
		return 0;
	for (int i = 0; i < NFREEDOMS; i++)
		for (int k = 0; k <= t->stage; k++)
			if (str_eq(target_families[FAM_TORCH].stage[k].name, freedoms[i].stage))
				mask |= freedoms[i].bit;
	return mask;
}

void outcome_of(struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, const char *hint, struct arena *a)
{
	struct strbuf name;
	struct licence_profile profile;
	struct judge_case jc;
	struct judgement j = {0};
	*out = (struct outcome){.why = "", .signature = "", .tensor = "", .pattern = "", .detail = "", .report = ""};
	sb_init(&name);
	target_print(&name, t);
	const char *target = arena_strdup(a, name.s);
	sb_free(&name);
	bool judged = false;
	if (r->status == RES_UNSUPPORTED || r->status == RES_HARNESS) {
		out->verdict = r->status == RES_UNSUPPORTED ? VD_UNSUPPORTED : VD_HARNESS;
		out->why = r->message;
	} else if (r->status == RES_CRASH || r->status == RES_HANG) {
		out->verdict = r->status == RES_CRASH ? VD_CRASH : VD_HANG;
		out->kind = r->status == RES_CRASH ? FINDING_CRASH : FINDING_HANG;
		out->severity = SEVERITY_NORMAL;
		out->why = out->detail = r->message;
		describe(out, p, NULL, NULL, a);
		if (str_starts(r->message, "device fault: "))
			out->signature = arena_printf(a, "crash %s", without_numbers(r->message, a));
	} else if (!licence_find(&profile, target)) {
		out->verdict = VD_UNJUDGED;
		out->why = "no licence is known for this target";
	} else if (!judge_prepare(&jc, p, &profile, TAPE_LIMITS_DEFAULT, a)) {
		out->verdict = VD_UNJUDGED;
		out->why = jc.message;
	} else if (r->status == RES_RAISED && jc.status != REF_RAISES) {
		from_raise(out, r, t, a);
	} else {
		judge(&j, &jc, r, freedoms_of(t), a);
		out->freedoms = j.used;
		from_judgement(out, p, &j, r, target_stage(t)->compiles ? hint : NULL, a);
		judged = true;
	}
	if (verdict_diverges(out->verdict))
		report(out, p, judged ? &j : NULL, r, target, a);
}

const char *verdict_reason(const struct outcome *o, struct arena *a)
{
	if (o->verdict == VD_PASS || verdict_diverges(o->verdict) || !o->why[0])
		return "";
	char *why = arena_strdup(a, o->why);
	char *quoted = o->verdict == VD_UNSUPPORTED ? strstr(why, " (") : NULL;
	if (quoted)
		*quoted = 0;
	return arena_printf(a, "%s: %s", verdict_name[o->verdict], without_numbers(why, a));
}
