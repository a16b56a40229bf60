/* selftest.c: see selftest.h. A program that the defect leaves alone is compiled here, and not run: it is what a sound compiler makes. */
#include "fuzz/cli/selftest.h"

#include "compiled/compile.h"
#include "compiled/symbols/dynamic.h"
#include "compiled/targets/builtin/builtin.h"
#include "fuzz/triage/blame.h"
#include "fuzz/triage/minimise.h"

struct trial {
	const struct defect *d;
	struct target t;
	struct runner *r;
	struct failure failure;
	struct arena once; /* of one question */
};

/* Only freezing runs the folding pass; the stages partitioned, decomposed and loops show the defects of their steps, those of partition
 * where views are saved, too, the schedule's where another order than theirs runs, those of symbols where sizes are any. */
static void name_target(struct target *t, const struct defect *d)
{
	char text[MAX_OPTION_TEXT * 2];
	struct err err = {0};
	const int step = d ? step_find(d->step) : -1;
	const bool own = step >= 0 && compile_steps[step].needs[0] && compile_steps[step].stage[0]; /* stages behind it leave it out */
	const char *stage = defect_is_of_loops(d) ? "loops" : own ? compile_steps[step].stage : "passes", *more = "";
	if (defect_is_of_schedule(d))
		more = "+order=reversed";
	else if (step == STEP_partition)
		more = "+recompute=0";
	else if (step >= 0 && compile_steps[step].needs[0] && !own)
		more = step == STEP_symbols ? "+dynamic=1" : "+freezing=1";
	snprintf(text, sizeof text, "builtin:%s%s%s%s", stage, d ? "+defect=" : "", d ? d->name : "", more);
	if (!target_parse(t, text, &err))
		BUG("%s", err.msg);
}

static bool loops_planted(const struct compiled *c, const struct compile_options *o, struct arena *a)
{
	bool any = false;
	for (int i = 0; i < c->npart; i++) {
		struct loops l;
		bool planted = false;
		struct err err = {0};
		any |= code_loops(&l, &planted, &c->part[i].p, &o->code, o->defect, a, &err) && planted;
	}
	return any;
}

/* Of a program that is compiled once. */
static bool is_planted_dynamic(const struct prog *p, const struct compile_options *o, struct arena *a)
{
	struct prog bound;
	struct dynamic *d;
	struct dynamic_made made;
	struct err err = {0};
	return prog_bind(&bound, p, 0, a, &err) && dynamic_compile(&d, &made, &bound, o, a, &err) == COMPILE_OK && d && made.planted;
}

/* Does some call of p compile to something else for t with the defect? */
static bool is_planted(const struct prog *p, const struct target *t, struct arena *a)
{
	struct compile_options o;
	CHECK(builtin_compile_options(&o, t));
	o.validate = o.defect && o.defect->caught == CAUGHT_BY_INVARIANT; /* else passes would go on with what is broken */
	if (o.code.dynamic)
		return is_planted_dynamic(p, &o, a);
	for (int k = 0; k <= p->ncall; k++) {
		struct prog bound;
		struct compiled c = {0};
		struct err err = {0};
		const bool compiled = prog_bind(&bound, p, k, a, &err) && compile(&c, &bound, &o, a, &err) == COMPILE_OK;
		if (c.planted || (compiled && defect_is_of_loops(o.defect) && loops_planted(&c, &o, a)))
			return true;
	}
	return false;
}

static const char *caught_by(const struct ran *ran)
{
	static const enum defect_catcher catcher[NFINDING_KINDS] = {[FINDING_VALUE] = CAUGHT_BY_VALUE,
		[FINDING_MUTATION] = CAUGHT_BY_VALUE,
		[FINDING_GRADIENT] = CAUGHT_BY_GRADIENT,
		[FINDING_NONENESS] = CAUGHT_BY_GRADIENT,
		[FINDING_ALIAS] = CAUGHT_BY_ALIAS,
		[FINDING_META] = CAUGHT_BY_META};
	const enum finding_kind kind = ran->outcome.kind;
	return kind < FINDING_RAISE ? defect_catcher_name[catcher[kind]] : finding_kind_name[kind];
}

static bool trouble(struct selftest_row *out, const char *why)
{
	snprintf(out->trouble, sizeof out->trouble, "%.*s", (int)sizeof out->trouble - 1, why);
	out->ran = false;
	return true;
}

/* One program. True: it is over, because something was found or something of ours is broken. */
static bool ask_one(struct selftest_row *out, struct trial *x, const struct prog *p)
{
	struct ran ran;
	if (x->d && !is_planted(p, &x->t, &x->once))
		return false;
	runner_run(&ran, x->r, p, &x->t, &x->once);
	if (ran.broken || ran.outcome.verdict == VD_HARNESS)
		return trouble(out, ran.outcome.why);
	const bool diverges = verdict_diverges(ran.outcome.verdict);
	out->planted += x->d || diverges || ran.outcome.verdict == VD_PASS;
	if (!diverges)
		return false;
	out->found = true;
	snprintf(out->by, sizeof out->by, "%s", caught_by(&ran));
	failure_of(&x->failure, &ran.outcome);
	return true;
}

static bool find_among(struct prog *p, struct selftest_row *out, struct trial *x, struct program_source *source, int64_t most)
{
	struct err err = {0};
	for (out->programs = 0; out->programs < most;) {
		arena_reset(&x->once);
		if (!source_program(p, &x->once, source, out->programs++, &err))
			return !trouble(out, err.msg);
		if (ask_one(out, x, p))
			return out->found;
	}
	return false;
}

static bool find(struct prog *p, struct selftest_row *out, struct trial *x, const struct program_source *source, int64_t most)
{
	struct program_source own = *source;
	const bool found = find_among(p, out, x, &own, most);
	source_end(&own);
	return found;
}

/* ---- what it is ---- */

static enum minimise_answer still_fails(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	struct trial *x = ctx;
	struct ran ran;
	(void)text;
	(void)edit;
	arena_reset(&x->once);
	runner_run(&ran, x->r, p, &x->t, &x->once);
	return ran.broken ? MINIMISE_STOP : failure_is(&x->failure, &ran.outcome) ? MINIMISE_YES : MINIMISE_NO;
}

static void put_operators(struct selftest_row *out, const struct prog *p)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < p->nnode; i++)
		if (!node_is_source(&p->node[i]))
			sb_printf(&sb, "%s%s", sb.len ? " " : "", op_info[p->node[i].op].name);
	snprintf(out->ops, sizeof out->ops, "%s", sb.len ? sb.s : "inputs alone");
	sb_free(&sb);
}

/* Where the loops are wrong and the program is not, they were lowered wrongly, unless blame knows better; what is not in an input that the
 * program writes has nothing to do with the epilogue then. */
static void put_step(struct selftest_row *out, const struct blame *b)
{
	const bool of_loops = str_eq(b->stage, "loops");
	int stage;
	const char *of_stage = compile_stage_find(&stage, b->stage) ? compile_stage_name(stage) : b->stage; /* decomposed: decompose */
	const char *otherwise = of_loops ? "lower" : of_stage, *step = b->step[0] ? b->step : otherwise;
	snprintf(out->step, sizeof out->step, "%s", b->write_back[0] && !of_loops ? "epilogue" : step);
}

static void explain(struct selftest_row *out, struct trial *x, const struct prog *p)
{
	struct arena a;
	struct prog least;
	struct minimise_count count;
	struct blame b;
	arena_init(&a);
	minimise(&least, &count, p, still_fails, x, &a);
	put_operators(out, &least);
	blame(&b, x->r, &least, &x->t, &x->failure, NULL, NULL, &a);
	put_step(out, &b);
	arena_free(&a);
}

void selftest_run(struct selftest_row *out, const struct defect *d, const struct program_source *source, int64_t most, const char *self)
{
	const struct exec_options eo = {.self = self};
	struct trial x = {.d = d};
	struct prog p, kept;
	struct arena a;
	struct err err = {0};
	*out = (struct selftest_row){.ran = true};
	arena_init(&a);
	arena_init(&x.once);
	x.r = runner_new(&eo);
	name_target(&x.t, d);
	if (runner_start(x.r, &x.t, &err) != EXEC_IDENTIFIED)
		trouble(out, err.msg);
	else if (find(&p, out, &x, source, most)) {
		prog_clone(&kept, &p, &a);
		explain(out, &x, &kept);
	}
	runner_free(x.r);
	arena_free(&x.once);
	arena_free(&a);
}
