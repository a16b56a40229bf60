/* blame.c: see blame.h. Every question is one run of the program, or of one that differs from it by a copy or a returned value. */
#include "fuzz/triage/blame.h"

#include <limits.h>

#include "compiled/targets/driver.h"
#include "eager/lang/edit.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

enum { MAX_GRAPH_OPS = 32 };

struct blaming {
	struct blame *out;
	struct runner *r;
	const struct prog *p;
	struct target t;  /* the first bad stage */
	struct failure f; /* how p fails there */
	blame_tell *tell;
	void *ctx;
	bool stopped;
	const char *otherwise;              /* stages that fail in another way: "aot_eager: crash" */
	const char *predicted, *prediction; /* an operator whose layout is predicted wrong, "" if none; what is predicted of it */
	struct arena *a;                    /* of what is kept */
	struct arena once;                  /* of one run */
};

/* In b->once until the next one. */
static void ask(struct blaming *b, struct ran *ran, const struct prog *p, const struct target *t, const char *what)
{
	arena_reset(&b->once);
	*ran = (struct ran){.broken = true};
	b->stopped = b->stopped || (b->tell && !b->tell(b->ctx, what));
	if (!b->stopped)
		runner_ask(ran, b->r, p, t, &b->f, &b->once);
}

/* It ran, was judged, and nothing is wrong. */
static bool is_right(const struct ran *ran) { return ran->asked && !ran->broken && ran->outcome.verdict == VD_PASS; }

/* Does what might be a cure make it right? */
static bool cures(struct blaming *b, const struct ran *ran)
{
	b->out->ntried += ran->asked && !ran->broken;
	return is_right(ran);
}

/* ---- the ladder ---------------------------------------------------------------------------------------------------------------------- */

/* The lowest rung that fails as t does; right: the highest right one below it. */
static void climb(struct blaming *b, const struct target *t, const struct failure *f)
{
	struct target rung[MAX_RUNGS];
	int n = target_ladder(rung, MAX_RUNGS, t);
	b->t = *t;
	b->f = *f;
	b->out->right = "";
	for (int i = 0; i < n && !b->stopped; i++) {
		struct ran ran;
		if (target_stage(&rung[i])->predicts)
			continue;
		ask(b, &ran, b->p, &rung[i], target_stage(&rung[i])->name);
		if (ran.asked && !ran.broken)
			b->out->rung[b->out->nrungs++] = (struct rung){target_stage(&rung[i])->name, ran.outcome.verdict};
		if (is_right(&ran))
			b->out->right = target_stage(&rung[i])->name;
		else if (ran.asked && !failure_is(f, &ran.outcome)) /* another failure, a refusal: neither right nor this */
			b->otherwise = arena_printf(b->a, "%s%s%s: %s", b->otherwise, b->otherwise[0] ? ", " : "", target_stage(&rung[i])->name,
				verdict_name[ran.outcome.verdict]);
		if (!failure_is(f, &ran.outcome))
			continue;
		b->t = rung[i];
		failure_of(&b->f, &ran.outcome);
		break;
	}
	b->out->step = arena_strdup(b->a, b->f.step);
	b->out->invariant = arena_strdup(b->a, b->f.invariant);
	b->out->stage = target_stage(&b->t)->name;
}

/* What the family's predicting stages say of its operators; the first that they get wrong. */
static void predict(struct blaming *b)
{
	struct target rung[MAX_RUNGS];
	int n = target_ladder(rung, MAX_RUNGS, &b->t);
	b->predicted = b->prediction = "";
	for (int i = 0; i < n && !b->predicted[0] && !b->stopped; i++) {
		struct ran ran;
		if (!target_stage(&rung[i])->predicts)
			continue;
		ask(b, &ran, b->p, &rung[i], target_stage(&rung[i])->name);
		if (!ran.result.nmismatch)
			continue;
		const struct result_meta_mismatch *m = &ran.result.mismatch[0];
		b->predicted = arena_strdup(b->a, m->op);
		b->out->prediction = *m;
		b->out->prediction.op = b->predicted;
		b->out->prediction.detail = arena_strdup(b->a, m->detail);
		b->prediction = arena_printf(
			b->a, "%s predicts %s%s wrong: %s", target_stage(&rung[i])->name, m->op, m->backward ? " of the backward" : "", m->detail);
	}
}

/* ---- cures --------------------------------------------------------------------------------------------------------------------------- */

/* o: NULL if it is no option that can be tried elsewhere. */
static void add_cure(struct blaming *b, const struct target_option *o, const char *what)
{
	if (b->out->ncures == MAX_CURES)
		return;
	struct cure *c = &b->out->cure[b->out->ncures++];
	*c = (struct cure){.option = o ? *o : (struct target_option){.name = ""}, .what = what};
	if (o && b->predicted[0] && strstr(o->value, b->predicted)) /* two that point at one operator: it comes first */
		for (; c > b->out->cure && !strstr(c[-1].option.value, b->predicted); c--) {
			struct cure moved = *c;
			*c = c[-1];
			c[-1] = moved;
		}
}

static void try_option(struct blaming *b, const struct target_option *o, const char *what)
{
	struct ran ran;
	struct target with;
	if (!target_with(&with, &b->t, o, NULL))
		return;
	ask(b, &ran, b->p, &with, what);
	if (cures(b, &ran))
		add_cure(b, o, what);
}

static void try_probe(struct blaming *b, const struct target_probe *probe, const char *what)
{
	struct target_option o;
	if (b->t.driver->probe && b->t.driver->probe(&o, &b->t, probe))
		try_option(b, &o, what);
}

/* A line of the artifact `operators`: "bw slice_scatter aten.slice_scatter.default f32[4, 13, 33][33, 0, 1]". */
struct graph_op {
	bool backward;
	const char *op;
};

static bool same_op(const struct graph_op *x, const struct graph_op *y) { return x->backward == y->backward && str_eq(x->op, y->op); }

/* Each operator of each graph once, the backward's first if a gradient is wrong. */
static int graph_ops(struct graph_op *out, const struct blaming *b, const char *text)
{
	int n = 0;
	for (int turn = 0; turn < 2; turn++) {
		bool backward = (b->f.role == TR_GRADIENT) == (turn == 0);
		for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			char word[3][128] = {"", "", ""};
			struct graph_op op;
			bool there = false;
			if (sscanf(line, "%127s %127s %127s", word[0], word[1], word[2]) != 3 || str_eq(word[0], "bw") != backward)
				continue;
			op = (struct graph_op){backward, arena_strdup(b->a, word[2])};
			for (int i = 0; i < n; i++)
				there |= same_op(&out[i], &op);
			if (!there && n < MAX_GRAPH_OPS)
				out[n++] = op;
		}
	}
	return n;
}

static void keep_artifacts(struct blaming *b, const struct result *r)
{
	for (int i = 0; i < r->nartifact && b->out->nartifacts < MAX_BLAME_ARTIFACTS - 1; i++) /* the last is the suspect's */
		b->out->artifact[b->out->nartifacts++] =
			(struct result_artifact){arena_strdup(b->a, r->artifact[i].name), arena_strdup(b->a, r->artifact[i].text)};
}

/* Graphs and code, then each operator of the graphs cloned, and compiled by nobody. */
static void probe_graphs(struct blaming *b)
{
	struct ran ran;
	struct graph_op op[MAX_GRAPH_OPS];
	struct target with;
	if (!target_probing(&with, &b->t, &(struct target_probe){.kind = PROBE_KEEP}, NULL))
		return;
	ask(b, &ran, b->p, &with, "its graphs and code");
	if (!ran.asked || ran.broken)
		return;
	keep_artifacts(b, &ran.result);
	int n = graph_ops(op, b, result_text(&ran.result, "operators"));
	for (int i = 0; i < n && !b->stopped; i++) {
		const char *graph = op[i].backward ? "backward" : "forward";
		try_probe(b, &(struct target_probe){PROBE_CLONE, .backward = op[i].backward, .what = op[i].op},
			arena_printf(b->a, "cloning %s in the %s graph", op[i].op, graph));
	}
	for (int i = 0; i < n && !b->stopped; i++) {
		bool again = false;
		for (int k = 0; k < i; k++)
			again |= str_eq(op[k].op, op[i].op);
		if (!again)
			try_probe(b, &(struct target_probe){PROBE_FALLBACK, .what = op[i].op},
				arena_printf(b->a, "running ATen's own kernel of %s", op[i].op));
	}
}

/* Values of the program itself, copied before anybody else reads them. */
static void copy_values(struct blaming *b)
{
	for (int i = 0; i < b->p->nnode && !b->stopped; i++) {
		struct arena edited;
		struct prog q;
		struct ran ran;
		struct err err = {0};
		arena_init(&edited);
		if (!node_is_input(&b->p->node[i]) && edit_copy(&q, b->p, i, &edited, &err)) {
			const char *what = arena_printf(b->a, "copying `%s`, the result of %s", b->p->node[i].name, op_info[b->p->node[i].op].name);
			ask(b, &ran, &q, &b->t, what);
			if (cures(b, &ran))
				add_cure(b, NULL, what);
		}
		arena_free(&edited);
	}
}

/* How many times a subsystem is asked, and what its last application was: "first lowerings:3: 7 asked, the last that was on: ...". */
static bool read_first(const struct ran *ran, int *asked, const char **last, struct arena *a)
{
	static const char on[] = "the last that was on: ";
	const char *line = result_text(&ran->result, "probe"), *colon = strrchr(line, ':') ? strstr(line, ": ") : NULL,
			   *what = strstr(line, on);
	if (!colon || sscanf(colon, ": %d asked", asked) != 1)
		return false;
	*last = what ? arena_printf(a, "%.*s", (int)strcspn(what + sizeof on - 1, "\n"), what + sizeof on - 1) : "";
	return true;
}

/* The subsystem's application with which the program goes wrong: right with the first n, wrong with one more. */
static void bisect(struct blaming *b, const struct target_knob *k)
{
	int right = 0, wrong = INT_MAX, n = 0;
	const char *culprit = "", *last = "";
	for (int next = 1 << 20; next > right && next < wrong && !b->stopped; next = right + (wrong - right) / 2) {
		struct target with;
		struct ran ran;
		if (!target_probing(&with, &b->t, &(struct target_probe){.kind = PROBE_FIRST, .what = k->subsystem, .first = next}, NULL))
			return;
		ask(b, &ran, b->p, &with, arena_printf(b->a, "the first %d applications of %s", next, k->subsystem));
		if (!ran.asked || ran.broken || !read_first(&ran, &n, &last, b->a))
			return;
		bool fails = failure_is(&b->f, &ran.outcome);
		if (!fails && !is_right(&ran))
			return;
		if (fails) {
			wrong = MIN(next, n);
			culprit = last;
		} else {
			right = next;
		}
	}
	if (b->stopped || !culprit[0])
		return;
	b->out->step = culprit;
	b->out->culprit = arena_printf(b->a, "application %d of %s: %s", wrong, k->subsystem, culprit);
}

static bool has_knobs(const struct target *t)
{
	for (int i = 0; i < t->driver->nknobs; i++)
		if (str_eq(t->driver->knob[i].stage, target_stage(t)->name))
			return true;
	return false;
}

/* What is wrong row by row already: the stage that compiles them as a whole has the options. */
static struct target with_options(const struct target *t)
{
	struct target next = *t;
	if (target_stage(t)->by_rows)
		next.stage++;
	return next;
}

/* Options that the target was found with, then passes and options of its stage. */
static void switch_off(struct blaming *b)
{
	for (int i = 0; i < b->t.noptions && !b->stopped; i++) {
		struct target without = target_without(&b->t, i);
		struct ran ran;
		const char *what = arena_printf(b->a, "leaving %s=%s away", b->t.option[i].name, b->t.option[i].value);
		ask(b, &ran, b->p, &without, what);
		if (cures(b, &ran))
			add_cure(b, NULL, what);
	}
	bool named = b->out->ncures > 0;
	const struct target_driver *d = b->t.driver;
	for (int i = 0; i < d->nknobs && !b->stopped; i++) {
		const struct target_knob *k = &d->knob[i];
		int had = b->out->ncures;
		struct target_option o;
		if (!str_eq(k->stage, target_stage(&b->t)->name) || (named && !k->subsystem)) /* an operator says more than an option */
			continue;
		snprintf(o.name, sizeof o.name, "%s", k->option);
		snprintf(o.value, sizeof o.value, "%s", k->value);
		try_option(b, &o, arena_printf(b->a, "switching off %s (%s=%s)", k->what, o.name, o.value));
		if (b->out->ncures > had && k->subsystem && !b->out->step[0])
			bisect(b, k);
	}
}

/* ---- the first wrong value ----------------------------------------------------------------------------------------------------------- */

/* p with all that can be returned; false: nothing more can be. */
static bool return_all(struct prog *out, const struct prog *p, struct arena *a)
{
	bool some = false;
	*out = *p;
	for (int i = 0; i < p->nnode; i++) {
		struct err err = {0};
		struct prog q;
		if (node_is_input(&p->node[i]) || !edit_return(&q, out, i, a, &err))
			continue;
		*out = q;
		some = true;
	}
	return some;
}

/* Of forward values only: that a gradient is wrong says nothing about what a returned value holds. */
static void find_first_wrong(struct blaming *b)
{
	struct arena edited;
	struct prog q;
	struct ran ran;
	arena_init(&edited);
	if (b->f.role == TR_OUTPUT && b->f.kind == FINDING_VALUE && return_all(&q, b->p, &edited)) {
		ask(b, &ran, &q, &b->t, "every value returned");
		const struct judgement *j = ran.asked && failure_is(&b->f, &ran.outcome) ? ran.outcome.judgement : NULL;
		int first = q.nnode;
		for (int i = 0; j && i < j->ntensor; i++)
			if (j->tensor[i].role == TR_OUTPUT && j->tensor[i].kinds && j->tensor[i].node >= 0)
				first = MIN(first, j->tensor[i].node);
		if (first < q.nnode)
			b->out->first_wrong = node_is_input(&q.node[first])
				? arena_printf(b->a, "the input `%s`, as it is returned", q.node[first].name)
				: arena_printf(b->a, "`%s`, the result of %s", q.node[first].name, op_info[q.node[first].op].name);
	}
	arena_free(&edited);
}

/* The first input whose memory is wrong afterwards, whatever else is; -1: none. */
static int wrong_input(const struct prog *p, const struct judgement *j)
{
	for (int k = 0; j && k < j->ntensor; k++)
		for (int i = 0; j->tensor[k].role == TR_STORAGE && j->tensor[k].kinds && i < p->nnode; i++)
			if (node_is_input(&p->node[i]) && p->node[i].out[0].storage == j->tensor[k].index)
				return i;
	return -1;
}

/* Is the output right in every call? */
static bool output_is_right(const struct judgement *j, int output)
{
	for (int i = 0; j && i < j->ntensor; i++)
		if (j->tensor[i].role == TR_OUTPUT && j->tensor[i].index == output && j->tensor[i].kinds)
			return false;
	return j != NULL;
}

/* p, which returns a copy of the node's value as it is in the end. */
static bool return_final(struct prog *out, const struct prog *p, int node, struct arena *a)
{
	prog_clone(out, p, a);
	if (out->nret == MAX_RETURNS || out->nnode == MAX_NODES)
		return false;
	const int copy = prog_add(out, OP_clone, NULL);
	out->node[copy].arg[A_clone_self] = arg_tensor(node);
	out->ret[out->nret++] = copy;
	return prog_infer_node(out, copy, NULL);
}

/* What an input must hold in the end is returned, too: if that is right and the input is not, only the writing back is wrong. */
static void find_write_back(struct blaming *b)
{
	struct arena edited;
	struct prog q;
	struct ran ran;
	if (b->f.kind != FINDING_MUTATION && b->f.kind != FINDING_VALUE)
		return;
	ask(b, &ran, b->p, &b->t, "which input is wrong");
	const int input = ran.asked ? wrong_input(b->p, ran.outcome.judgement) : -1;
	arena_init(&edited);
	if (input >= 0 && return_final(&q, b->p, input, &edited)) {
		ask(b, &ran, &q, &b->t, "what is written to it, returned");
		const struct judgement *j = ran.asked ? ran.outcome.judgement : NULL;
		if (wrong_input(&q, j) >= 0 && output_is_right(j, q.nret - 1))
			b->out->write_back = b->p->node[input].name;
	}
	arena_free(&edited);
}

/* ---- the suspect --------------------------------------------------------------------------------------------------------------------- */

static const char *artifact_of(const struct blame *x, const char *name)
{
	for (int i = 0; i < x->nartifacts; i++)
		if (str_eq(x->artifact[i].name, name))
			return x->artifact[i].text;
	return "";
}

/* One more run, where cures do not name one operator. */
static void find_suspect(struct blaming *b)
{
	struct ran ran;
	struct target with;
	struct blame *x = b->out;
	const struct cures cures = {x->cure, x->ncures, b->predicted};
	if (suspect_of_cures(&x->suspect, &cures, artifact_of(x, "operators"), b->f.role == TR_GRADIENT, b->a) || b->stopped)
		return;
	if (suspect_of_step(&x->suspect, x->step, b->a) || !target_probing(&with, &b->t, &(struct target_probe){.kind = PROBE_VALUES}, NULL))
		return;
	ask(b, &ran, b->p, &with, "which value of its graphs is the first that is wrong");
	const char *values = ran.asked && !ran.broken ? result_text(&ran.result, "values") : "";
	if (!values[0])
		return;
	suspect_of_values(&x->suspect, values, &b->f, &cures, b->a);
	if (x->nartifacts < MAX_BLAME_ARTIFACTS)
		x->artifact[x->nartifacts++] = (struct result_artifact){"values", arena_strdup(b->a, values)};
}

/* ---- in words ------------------------------------------------------------------------------------------------------------------------ */

/* "; cured by A, B, C, or by any one of 4 more changes". */
static void put_cures(struct strbuf *sb, const struct cure *c, int n)
{
	enum { SHOWN = 3 };
	const int shown = MIN(n, SHOWN), more = n - shown;
	for (int i = 0; i < shown; i++)
		sb_printf(sb, "%s%s", i == 0 ? "; cured by " : i == n - 1 ? " or " : ", ", c[i].what);
	if (more)
		sb_printf(sb, ", or by %s%d more change%s", more == 1 ? "" : "any one of ", more, more == 1 ? "" : "s");
}

static void put_suspect(struct strbuf *sb, const struct suspect *s)
{
	if (!s->op[0])
		return;
	sb_printf(sb, "suspect: %s", s->op);
	if (s->node[0])
		sb_printf(sb, " (%s)", s->node);
	if (s->graph[0])
		sb_printf(sb, " in the %s graph", s->graph);
	sb_printf(sb, ": %s; ", s->why);
}

static const char *in_words(const struct blaming *b)
{
	struct strbuf sb;
	const struct blame *x = b->out;
	sb_init(&sb);
	sb_puts(&sb, b->stopped ? "unfinished, so far: " : "");
	put_suspect(&sb, &x->suspect);
	sb_printf(&sb, "wrong from: %s", x->stage);
	if (x->right[0])
		sb_printf(&sb, " (%s is right)", x->right);
	if (b->otherwise[0])
		sb_printf(&sb, " (fails in another way: %s)", b->otherwise);
	if (x->invariant[0])
		sb_printf(&sb, "; %s", x->invariant);
	put_cures(&sb, x->cure, x->ncures);
	if (!x->ncures && !b->stopped && target_stage(&b->t)->compiles)
		sb_puts(&sb, "; nothing that was tried cures it");
	if (x->culprit[0])
		sb_printf(&sb, "; right without %s", x->culprit);
	if (x->write_back[0])
		sb_printf(&sb, "; what is written to `%s` is right, but is not in it afterwards", x->write_back);
	if (x->first_wrong[0])
		sb_printf(&sb, "; the first wrong value is %s", x->first_wrong);
	if (b->prediction[0])
		sb_printf(&sb, "; %s", b->prediction);
	const char *s = arena_strdup(b->a, sb.s);
	sb_free(&sb);
	return s;
}

void blame(struct blame *out, struct runner *r, const struct prog *p, const struct target *t, const struct failure *f, blame_tell *tell,
	void *ctx, struct arena *a)
{
	struct blaming b = {.out = out, .r = r, .p = p, .tell = tell, .ctx = ctx, .a = a, .otherwise = ""};
	*out = (struct blame){.stage = "",
		.right = "",
		.culprit = "",
		.step = "",
		.invariant = "",
		.write_back = "",
		.first_wrong = "",
		.predicted = "",
		.suspect = {.op = "", .node = "", .graph = "", .why = ""},
		.sentence = ""};
	arena_init(&b.once);
	climb(&b, t, f);
	predict(&b);
	const struct target low = b.t;
	bool compiles = target_stage(&b.t)->compiles;
	if (compiles)
		probe_graphs(&b);
	if (compiles && !out->ncures)
		copy_values(&b);
	b.t = with_options(&low);
	if (compiles || has_knobs(&b.t))
		switch_off(&b);
	b.t = low;
	if (compiles)
		find_suspect(&b);
	find_first_wrong(&b);
	find_write_back(&b);
	out->predicted = b.predicted;
	out->sentence = in_words(&b);
	out->stopped = b.stopped;
	arena_free(&b.once);
}
