/* compile.c: walks the steps of the built-in compiler (steps.def) and has those on rows, step_<name>. Between functionalise and the epilogue
 * the program is PURE (passes/pass.h); every step ends in step_done(). */
#include "compiled/compile.h"

#include "compiled/decompose/decompose.h"
#include "compiled/defects/defects.h"
#include "compiled/passes/functionalise.h"
#include "compiled/passes/joint.h"
#include "compiled/passes/reinplace.h"
#include "compiled/passes/validate.h"
#include "eager/lang/edit.h"
#include "eager/run/interp.h"
#include "generated/op_args.h"

enum { STAGE_ALL = STEP_lower }; /* behind all steps on rows */
int compile_nstages(void) { return STAGE_ALL + 1; }

const char *compile_stage_name(int stage) { return stage == STAGE_ALL ? compile_steps[STEP_reinplace].stage : compile_steps[stage].name; }

bool compile_stage_find(int *out, const char *name)
{
	const int step = step_find(name), of_stage = step_find_of_stage(name);
	if (step >= 0 && step < STAGE_ALL && compile_steps[step].kind != STEP_OF_END)
		*out = step;
	else if (of_stage >= 0)
		*out = of_stage == STEP_reinplace ? STAGE_ALL : of_stage;
	else
		return false;
	return true;
}

/* A part on its way. */
struct half {
	const char *name; /* NULL: there is one alone */
	struct pure pure;
	struct owners owners;
	struct aliases aliases; /* of the results after the last step */
	int nout;               /* of the results, outputs of the source */
	int nforward;           /* rows before the backward part */
};

struct compilation {
	const struct compile_options *o;
	struct arena *arena;
	const struct prog *source;
	struct functional f;
	struct joint j;
	struct partition s;
	struct half half[MAX_PARTS];
	struct compiled *out;
};

/* ---- the results ---- */

static void add_result(struct pure *g, enum result_role role, int value)
{
	CHECK(g->nresult < MAX_RESULTS);
	g->result[g->nresult].role = role;
	g->result[g->nresult++].value = value;
}

static void functional_results(struct compilation *c)
{
	const struct functional *f = &c->f;
	struct pure *g = &c->half[0].pure;
	*g = (struct pure){.p = &c->f.p};
	for (int i = 0; i < f->from->nret; i++)
		add_result(g, RESULT_OUTPUT, functional_made_again(f, i) ? NO_VALUE : f->ret[i]);
	for (int i = 0; i < f->from->nnode; i++)
		if (f->written[i])
			add_result(g, RESULT_WRITTEN, f->value[i]);
}

/* What passes renumbered, told to the epilogue. */
static void results_back(struct compilation *c)
{
	const struct pure *g = &c->half[0].pure;
	int next = 0;
	for (int i = 0; i < c->f.from->nret; i++)
		c->f.ret[i] = g->result[next++].value;
	for (int i = 0; i < c->f.from->nnode; i++)
		if (c->f.written[i])
			c->f.value[i] = g->result[next++].value;
}

/* ---- after each step ---- */

/* again: p's rows inferred anew, which all validators share. */
static bool hold(struct half *h, const struct prog *p, const struct prog *again, enum compile_step s, struct err *err)
{
	const bool epilogue = s >= STEP_epilogue;
	struct aliases after;
	bool ok = s == STEP_reinplace || (epilogue ? validate_epilogue(p, err) : validate_no_writes(p, err));
	ok = ok && validate_metas(p, again, err) && validate_writes(again, &h->owners, err) && validate_scatters(p, err)
		&& validate_devices(p, err);
	if (epilogue)
		aliases_of_returns(&after, again, s == STEP_reinplace ? p->nret : h->nout, &h->owners);
	else
		aliases_of(&after, &h->pure, again, &h->owners);
	if (!ok || !validate_aliases(&h->aliases, &after, err))
		return false;
	if (epilogue) { /* gradients, too */
		aliases_of_returns(&h->aliases, again, p->nret, &h->owners);
		return true;
	}
	for (int i = 0; i < after.n; i++) /* outputs that are made again keep what the source says of them */
		if (after.of[i].storage != NO_VALUE || i >= h->aliases.n)
			h->aliases.of[i] = after.of[i];
	h->aliases.n = MAX(h->aliases.n, after.n);
	return true;
}

static bool invariants_hold(struct half *h, const struct prog *p, enum compile_step s, struct err *err)
{
	struct arena a;
	struct prog again;
	arena_init(&a);
	const bool ok = validate_infer(&again, p, &a, err) && hold(h, p, &again, s, err);
	arena_free(&a);
	return ok;
}

/* The defect that was asked for, if it is one of this step. */
static void plant(struct compilation *c, enum compile_step s, struct half *h, struct prog *p)
{
	struct pure rows = {.p = p};
	struct defect_site site = {.g = s >= STEP_epilogue ? &rows : &h->pure, .nforward = h->nforward, .f = h == c->half ? &c->f : NULL};
	c->out->planted |= defect_plant(c->o->defect, compile_steps[s].name, &site);
	h->nforward = site.nforward;
}

/* why: a validator's sentence. h: the part that it is about, NULL: what both are. */
static bool broken(struct compilation *c, const char *step, const struct half *h, const struct err *why, struct err *err)
{
	c->out->violation = validate_violation(why->msg, step, c->arena);
	return err_set(err, "invariant after %s: %s%s%s", step, why->msg, h && h->name ? ", in the part " : "", h && h->name ? h->name : "");
}

/* Invariants of one part, and who asked is told. */
static bool half_done(struct compilation *c, enum compile_step s, struct half *h, struct prog *p, struct err *err)
{
	struct err why = {0};
	if (c->o->validate && !invariants_hold(h, p, s, &why))
		return broken(c, compile_steps[s].name, h, &why, err);
	if (c->o->done)
		c->o->done(c->o->ctx, compile_steps[s].name, h->name, p);
	return true;
}

static enum compile_status step_done(struct compilation *c, enum compile_step s, struct half *h, struct err *err)
{
	plant(c, s, h, h->pure.p);
	return half_done(c, s, h, h->pure.p, err) ? COMPILE_OK : COMPILE_BROKEN;
}

/* A shape rule refused what step s made. */
static enum compile_status unfit(struct compilation *c, enum compile_step s, const struct half *h, const struct err *why, struct err *err)
{
	struct err sentence = {0};
	err_set(&sentence, "I2: %s", why->msg);
	broken(c, compile_steps[s].name, h, &sentence, err);
	return COMPILE_BROKEN;
}

/* ---- the steps ---- */

/* The cotangents as the caller has them: where the partition is cut. */
static void cotangent_results(struct compilation *c)
{
	const struct prog *from = c->f.from;
	for (int i = 0; i < from->nback; i++)
		add_result(&c->half[0].pure, RESULT_COTANGENT, c->f.value[c->f.same[from->back[i].cotangent]]);
}

static bool any_gradient(const struct joint *j)
{
	for (int i = 0; i < j->ngrad; i++)
		if (j->grad[i] != NO_VALUE)
			return true;
	return false;
}

static bool is_partitioned(const struct compilation *c)
{
	return c->o->partition && c->o->stage >= STEP_partition && !c->o->keep_requires_grad && any_gradient(&c->j);
}

static enum compile_status step_partition(struct compilation *c, struct half *forward, enum compile_step s, struct err *err)
{
	struct half *backward = &c->half[1];
	struct err why = {0};
	if (!is_partitioned(c))
		return COMPILE_OK;
	if (!partition(&c->s, &c->f, &forward->pure, forward->nforward, c->o->save_all, c->arena, err))
		return COMPILE_REFUSED;
	struct defect_site site = {.g = &forward->pure, .f = &c->f, .s = &c->s};
	c->out->planted |= defect_plant(c->o->defect, compile_steps[s].name, &site);
	c->out->npart = MAX_PARTS;
	forward->name = "forward";
	forward->nforward = c->f.p.nnode;
	*backward = (struct half){.name = "backward", .pure = c->s.gradients};
	for (int i = 0; i < prog_input_storages(&c->s.backward); i++)
		backward->owners.donated[i] = c->s.input[i].donated;
	forward->aliases.n = MIN(forward->aliases.n, forward->pure.nresult - c->s.nsaved); /* there gradients stood */
	if (c->o->validate && !validate_partition(&c->s, &c->f, &forward->pure, &why))
		return broken(c, compile_steps[s].name, NULL, &why, err), COMPILE_BROKEN;
	return half_done(c, s, forward, &c->f.p, err) && half_done(c, s, backward, &c->s.backward, err) ? COMPILE_OK : COMPILE_BROKEN;
}

/* COMPILE_REFUSED: the program would become too large. */
static enum compile_status step_decompose(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	return decompose(&h->pure, &h->nforward, DIALECT_CORE, err) ? step_done(c, s, h, err) : COMPILE_REFUSED;
}

static enum compile_status step_pass(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	struct err why = {0};
	return passes[s - STEP_fold].run(&h->pure, &why) ? step_done(c, s, h, err) : unfit(c, s, h, &why, err);
}

static enum compile_status step_expand(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	if (!decompose_is_due(h->pure.p, DIALECT_LOOPS))
		return COMPILE_OK;
	return decompose(&h->pure, &h->nforward, DIALECT_LOOPS, err) ? step_done(c, s, h, err) : COMPILE_REFUSED;
}

/* From here on rows write. */
static enum compile_status step_reinplace(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	struct err why = {0};
	const bool pointwise = !c->o->to_code || c->o->code.lower.no_fusion;
	return reinplace(h->pure.p, pointwise, h->owners.donated, &why) ? step_done(c, s, h, err) : unfit(c, s, h, &why, err);
}

static void joint_results(struct compilation *c, struct compiled *out)
{
	out->ngrad = c->j.ngrad;
	out->grad = ARENA_NEW(c->arena, bool, MAX(c->j.ngrad, 1));
	out->requires_grad = ARENA_NEW(c->arena, bool, MAX_RETURNS);
	for (int i = 0; i < out->nout; i++)
		out->requires_grad[i] = joint_requires_grad(c->j.requires_grad, &c->f.p, c->f.ret[i]);
	for (int i = 0; i < c->j.ngrad; i++) {
		out->grad[i] = c->j.grad[i] != NO_VALUE;
		add_result(&c->half[0].pure, RESULT_GRADIENT, c->j.grad[i]);
	}
}

static void require_no_grad(struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (node_requires_grad(&p->node[i]))
			p->node[i].arg[op_arg(p->node[i].op, N_requires_grad)] = arg_bool(false);
}

/* p as a program without a backward. Gradients, or saved values, are returned behind the outputs, which it returns already. */
static bool return_results(struct compilation *c, struct prog *p, const struct pure *g, struct err *err)
{
	const bool *tracked = c->o->keep_requires_grad ? joint_tracked(p, p->arena) : NULL;
	p->has_backward = false;
	p->nback = 0;
	for (int i = 0; i < g->nresult; i++) {
		const int value = g->result[i].value;
		if ((g->result[i].role != RESULT_GRADIENT && g->result[i].role != RESULT_SAVED) || value == NO_VALUE)
			continue;
		if (p->nret == MAX_RETURNS)
			return err_set(err, "too many outputs and gradients");
		if (tracked)
			c->out->requires_grad[p->nret] = joint_requires_grad(tracked, p, value);
		p->ret[p->nret++] = value;
	}
	return true;
}

static bool aliases_of_source(struct half *h, const struct prog *bound, struct err *err)
{
	struct arena a;
	struct prog again;
	arena_init(&a);
	const bool ok = validate_infer(&again, bound, &a, err);
	if (ok)
		aliases_of_returns(&h->aliases, &again, bound->nret, &h->owners);
	arena_free(&a);
	return ok;
}

static enum compile_status step_functional(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	const struct prog *bound = c->source;
	const bool joint = c->o->stage >= STEP_joint;
	h->nout = bound->nret;
	owners_of_source(&h->owners, bound);
	if (!functionalise(&c->f, bound, joint ? c->o->keep_requires_grad : bound->has_backward, c->arena, err))
		return COMPILE_REFUSED;
	functional_results(c);
	if (c->o->validate && !aliases_of_source(h, bound, err))
		return COMPILE_REFUSED;
	return step_done(c, s, h, err);
}

static enum compile_status step_joint(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	h->nforward = c->f.p.nnode;
	if (!joint_append(&c->j, &c->f, c->arena, err))
		return COMPILE_REFUSED;
	joint_results(c, c->out);
	if (is_partitioned(c))
		cotangent_results(c);
	return step_done(c, s, h, err);
}

/* The views that the epilogue made again are rows of the core dialect, too. */
static bool epilogue_fits(struct compilation *c, struct prog *p, struct err *err)
{
	return !c->o->decompose || c->o->stage < STEP_decompose || decompose_returns(p, DIALECT_CORE, err);
}

static enum compile_status step_epilogue(struct compilation *c, struct half *h, enum compile_step s, struct err *err)
{
	struct prog *p = h->pure.p;
	if (h == c->half) {
		results_back(c);
		functional_epilogue(&c->f);
	} else {
		p->nret = 0;
	}
	if (c->o->stage >= STEP_joint) {
		if (!return_results(c, p, &h->pure, err) || !epilogue_fits(c, p, err))
			return COMPILE_REFUSED;
		if (!c->o->keep_requires_grad)
			require_no_grad(p);
	}
	return step_done(c, s, h, err);
}

/* ---- the parts ---- */

/* The forward part has no inputs that the caller alone needs. */
static bool drop_inputs_of_caller(struct prog *p, const struct prog *caller, struct err *err)
{
	int order[MAX_NODES], n = 0;
	for (int i = 0; i < p->nnode; i++)
		if (!node_is_input(&p->node[i]) || prog_find(caller, p->node[i].name) < 0)
			order[n++] = i;
	return edit_reorder(p, order, n, err);
}

/* p's inputs are those of the source that have their names. */
static struct part_input *from_source(const struct prog *p, const struct prog *source, struct arena *a)
{
	struct part_input *input = ARENA_ZNEW(a, struct part_input, MAX(prog_input_storages(p), 1));
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input)
			input[p->node[i].out[0].storage].index = source->node[prog_find(source, p->node[i].name)].out[0].storage;
	return input;
}

static bool hand_over(struct compiled *out, struct compilation *c, const struct prog *bound, struct err *err)
{
	const bool two = out->npart == MAX_PARTS;
	struct err why = {0};
	out->part[0] = (struct part){.name = c->half[0].name, .p = c->f.p};
	if (two) {
		out->part[1] = (struct part){.name = c->half[1].name, .p = c->s.backward, .input = c->s.input};
		out->caller = c->s.caller;
		if (!drop_inputs_of_caller(&out->part[0].p, &out->caller, &why))
			BUG("%s", why.msg);
	}
	out->part[0].input = from_source(&out->part[0].p, bound, c->arena);
	if (two && c->o->validate && !validate_saved(&c->s, &out->part[0].p, &out->part[0].p.ret[out->nout], &why))
		return broken(c, compile_stage_name(c->o->stage), NULL, &why, err);
	return true;
}

/* ---- the walk ---- */

typedef enum compile_status step_fn(struct compilation *c, struct half *h, enum compile_step s, struct err *err);
#define ROW_WHOLE(name) [STEP_##name] = step_##name,
#define ROW_PART(name)  ROW_WHOLE(name)
#define ROW_CODE(name)  ROW_WHOLE(name)
#define ROW_END(name)   ROW_WHOLE(name)
#define ROW_PASS(name)  [STEP_##name] = step_pass,
#define ROW_LOOPS(name)
static step_fn *const run_step[STAGE_ALL] = {
#define STEP(name, kind, ...) ROW_##kind(name)
#include "compiled/steps/steps.def"
#undef STEP
};

/* Does the step run? partition asks for itself: that depends on the program. */
static bool is_on(const struct compile_options *o, enum compile_step s)
{
	if (compile_steps[s].kind == STEP_OF_END)
		return true;
	if (compile_steps[s].kind == STEP_OF_CODE)
		return o->to_code;
	if ((int)s > o->stage)
		return false;
	if (compile_steps[s].kind == STEP_OF_PASS)
		return !(o->off & 1u << (s - STEP_fold)) && (!passes[s - STEP_fold].freezing || o->freezing);
	return s == STEP_decompose ? o->decompose : s == STEP_reinplace ? !(o->off & 1u << npasses) && !o->keep_requires_grad : true;
}

/* Steps [from, to), those that run. */
static enum compile_status walk(struct compilation *c, struct half *h, int from, int to, struct err *err)
{
	enum compile_status status = COMPILE_OK;
	for (int s = from; s < to && status == COMPILE_OK; s++)
		if (is_on(c->o, (enum compile_step)s))
			status = run_step[s](c, h, (enum compile_step)s, err);
	return status;
}

static enum compile_status run_steps(struct compilation *c, struct err *err)
{
	enum compile_status status = walk(c, &c->half[0], 0, STEP_partition + 1, err);
	for (int part = 0; status == COMPILE_OK && part < c->out->npart; part++)
		status = walk(c, &c->half[part], STEP_partition + 1, STAGE_ALL, err);
	return status;
}

enum compile_status compile(
	struct compiled *out, const struct prog *bound, const struct compile_options *o, struct arena *a, struct err *err)
{
	const enum interp_status legal = interp_legal(bound, NULL, err);
	if (legal != INTERP_OK)
		return legal == INTERP_RAISES ? COMPILE_RAISES : COMPILE_REFUSED;
	struct compilation *c = ARENA_ZNEW(a, struct compilation, 1);
	c->o = o;
	c->arena = a;
	c->out = out;
	c->source = bound;
	*out = (struct compiled){.npart = 1, .nout = bound->nret};
	const enum compile_status status = run_steps(c, err);
	if (status != COMPILE_OK)
		return status;
	return hand_over(out, c, bound, err) ? COMPILE_OK : COMPILE_BROKEN;
}
