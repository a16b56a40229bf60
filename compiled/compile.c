/* compile.c: the steps of the built-in compiler in their order. Between functionalise and the epilogue the program is PURE (passes/pass.h);
 * every step ends in step_done(). */
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

static int stage_reinplace(void) { return STAGE_FIRST_PASS + npasses; }
int compile_nstages(void) { return stage_reinplace() + 2; }

const char *compile_stage_name(int stage)
{
	if (stage == STAGE_FUNCTIONAL)
		return "functional";
	if (stage == STAGE_JOINT)
		return "joint";
	if (stage == STAGE_PARTITIONED)
		return "partition";
	if (stage == STAGE_DECOMPOSED)
		return "decompose";
	if (stage == stage_reinplace())
		return "reinplace";
	return stage < stage_reinplace() ? passes[stage - STAGE_FIRST_PASS].name : "passes";
}

bool compile_stage_find(int *out, const char *name)
{
	for (int i = 0; i < compile_nstages(); i++)
		if (str_eq(name, compile_stage_name(i))) {
			*out = i;
			return true;
		}
	const bool decomposed = str_eq(name, "decomposed"), partitioned = str_eq(name, "partitioned");
	*out = decomposed ? STAGE_DECOMPOSED : partitioned ? STAGE_PARTITIONED : *out;
	return decomposed || partitioned;
}

/* A part on its way. */
struct half {
	const char *name; /* NULL: there is one alone */
	struct pure pure;
	struct owners owners;
	struct aliases aliases; /* of the results after the last step */
	int nout;               /* of the results, outputs of the source */
	int nforward;           /* rows before the backward part */
	bool reinplaced;        /* rows may write */
};

struct compilation {
	const struct compile_options *o;
	struct arena *arena;
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
static bool hold(struct half *h, const struct prog *p, const struct prog *again, bool epilogue, struct err *err)
{
	struct aliases after;
	bool ok = h->reinplaced || (epilogue ? validate_epilogue(p, err) : validate_no_writes(p, err));
	ok = ok && validate_metas(p, again, err) && validate_writes(again, &h->owners, err) && validate_scatters(p, err)
		&& validate_devices(p, err);
	if (epilogue)
		aliases_of_returns(&after, again, h->reinplaced ? p->nret : h->nout, &h->owners);
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

static bool invariants_hold(struct half *h, const struct prog *p, bool epilogue, struct err *err)
{
	struct arena a;
	struct prog again;
	arena_init(&a);
	const bool ok = validate_infer(&again, p, &a, err) && hold(h, p, &again, epilogue, err);
	arena_free(&a);
	return ok;
}

/* The defect that was asked for, if it is one of this step. */
static void plant(struct compilation *c, const char *step, struct half *h, struct prog *p, bool epilogue)
{
	struct pure rows = {.p = p};
	struct defect_site site = {.g = epilogue ? &rows : &h->pure, .nforward = h->nforward, .f = h == c->half ? &c->f : NULL};
	c->out->planted |= defect_plant(c->o->defect, step, &site);
	h->nforward = site.nforward;
}

/* why: a validator's sentence. h: the part that it is about, NULL: what both are. */
static bool broken(struct compilation *c, const char *step, const struct half *h, const struct err *why, struct err *err)
{
	c->out->violation = validate_violation(why->msg, step, c->arena);
	return err_set(err, "invariant after %s: %s%s%s", step, why->msg, h && h->name ? ", in the part " : "", h && h->name ? h->name : "");
}

/* Invariants of one part, and who asked is told. */
static bool half_done(struct compilation *c, const char *step, struct half *h, struct prog *p, bool epilogue, struct err *err)
{
	struct err why = {0};
	if (c->o->validate && !invariants_hold(h, p, epilogue, &why))
		return broken(c, step, h, &why, err);
	if (c->o->done)
		c->o->done(c->o->ctx, step, h->name, p);
	return true;
}

static bool step_done(struct compilation *c, const char *step, struct half *h, struct prog *p, bool epilogue, struct err *err)
{
	plant(c, step, h, p, epilogue);
	return half_done(c, step, h, p, epilogue, err);
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
	return c->o->partition && c->o->stage >= STAGE_PARTITIONED && !c->o->keep_requires_grad && any_gradient(&c->j);
}

static enum compile_status partitioned(struct compilation *c, struct err *err)
{
	struct half *forward = &c->half[0], *backward = &c->half[1];
	struct err why = {0};
	if (!is_partitioned(c))
		return COMPILE_OK;
	if (!partition(&c->s, &c->f, &forward->pure, forward->nforward, c->o->save_all, c->arena, err))
		return COMPILE_REFUSED;
	struct defect_site site = {.g = &forward->pure, .f = &c->f, .s = &c->s};
	c->out->planted |= defect_plant(c->o->defect, "partition", &site);
	c->out->npart = MAX_PARTS;
	forward->name = "forward";
	forward->nforward = c->f.p.nnode;
	*backward = (struct half){.name = "backward", .pure = c->s.gradients};
	for (int i = 0; i < prog_input_storages(&c->s.backward); i++)
		backward->owners.donated[i] = c->s.input[i].donated;
	forward->aliases.n = MIN(forward->aliases.n, forward->pure.nresult - c->s.nsaved); /* there gradients stood */
	if (c->o->validate && !validate_partition(&c->s, &c->f, &forward->pure, &why))
		return broken(c, "partition", NULL, &why, err), COMPILE_BROKEN;
	return half_done(c, "partition", forward, &c->f.p, false, err) && half_done(c, "partition", backward, &c->s.backward, false, err)
		? COMPILE_OK
		: COMPILE_BROKEN;
}

/* COMPILE_REFUSED: the program would become too large. */
static enum compile_status decomposed(struct compilation *c, struct half *h, struct err *err)
{
	if (!c->o->decompose || c->o->stage < STAGE_DECOMPOSED)
		return COMPILE_OK;
	if (!decompose(&h->pure, &h->nforward, DIALECT_CORE, err))
		return COMPILE_REFUSED;
	return step_done(c, "decompose", h, h->pure.p, false, err) ? COMPILE_OK : COMPILE_BROKEN;
}

/* What loops are lowered from: rows that have no loops of their own become rows that do. */
static enum compile_status expanded(struct compilation *c, struct half *h, struct err *err)
{
	if (!c->o->to_code || !decompose_is_due(h->pure.p, DIALECT_LOOPS))
		return COMPILE_OK;
	if (!decompose(&h->pure, &h->nforward, DIALECT_LOOPS, err))
		return COMPILE_REFUSED;
	return step_done(c, "expand", h, h->pure.p, false, err) ? COMPILE_OK : COMPILE_BROKEN;
}

/* The views that the epilogue made again. */
static bool epilogue_decomposed(struct compilation *c, struct prog *p, struct err *err)
{
	struct pure rows = {.p = p};
	int nforward = 0;
	if (!c->o->decompose || c->o->stage < STAGE_DECOMPOSED)
		return true;
	for (int i = 0; i < p->nret; i++)
		add_result(&rows, RESULT_OUTPUT, p->ret[i]);
	if (!decompose(&rows, &nforward, DIALECT_CORE, err))
		return false;
	for (int i = 0; i < p->nret; i++)
		p->ret[i] = rows.result[i].value;
	return true;
}

static bool run_passes(struct compilation *c, struct half *h, struct err *err)
{
	for (int i = 0; i < npasses && STAGE_FIRST_PASS + i <= c->o->stage; i++) {
		struct err why = {0}, unfit = {0};
		if (c->o->off & 1u << i || (passes[i].freezing && !c->o->freezing))
			continue;
		if (!passes[i].run(&h->pure, &why))
			return err_set(&unfit, "I2: %s", why.msg) || broken(c, passes[i].name, h, &unfit, err);
		if (!step_done(c, passes[i].name, h, h->pure.p, false, err))
			return false;
	}
	return true;
}

/* Behind the epilogue: from here on rows write. */
static bool reinplaced(struct compilation *c, struct half *h, struct prog *p, struct err *err)
{
	struct err why = {0}, unfit = {0};
	if (c->o->stage < stage_reinplace() || c->o->off & 1u << npasses || c->o->keep_requires_grad)
		return true;
	if (!reinplace(p, !c->o->to_code || c->o->code.lower.no_fusion, h->owners.donated, &why))
		return err_set(&unfit, "I2: %s", why.msg) || broken(c, "reinplace", h, &unfit, err);
	h->reinplaced = true;
	return step_done(c, "reinplace", h, p, true, err);
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

static enum compile_status functional_part(struct compilation *c, const struct prog *bound, struct err *err)
{
	struct half *h = &c->half[0];
	const bool joint = c->o->stage >= STAGE_JOINT;
	h->nout = bound->nret;
	owners_of_source(&h->owners, bound);
	if (!functionalise(&c->f, bound, joint ? c->o->keep_requires_grad : bound->has_backward, c->arena, err))
		return COMPILE_REFUSED;
	functional_results(c);
	if (c->o->validate && !aliases_of_source(h, bound, err))
		return COMPILE_REFUSED;
	return step_done(c, "functional", h, &c->f.p, false, err) ? COMPILE_OK : COMPILE_BROKEN;
}

static enum compile_status joint_part(struct compilation *c, struct err *err)
{
	struct half *h = &c->half[0];
	h->nforward = c->f.p.nnode;
	if (!joint_append(&c->j, &c->f, c->arena, err))
		return COMPILE_REFUSED;
	joint_results(c, c->out);
	if (is_partitioned(c))
		cotangent_results(c);
	return step_done(c, "joint", h, &c->f.p, false, err) ? COMPILE_OK : COMPILE_BROKEN;
}

/* A joint program, or one of its parts, to the end. */
static enum compile_status finish(struct compilation *c, int part, struct err *err)
{
	struct half *h = &c->half[part];
	struct prog *p = h->pure.p;
	enum compile_status status = decomposed(c, h, err);
	if (status != COMPILE_OK)
		return status;
	if (!run_passes(c, h, err))
		return COMPILE_BROKEN;
	status = expanded(c, h, err);
	if (status != COMPILE_OK)
		return status;
	if (part == 0) {
		results_back(c);
		functional_epilogue(&c->f);
	} else {
		p->nret = 0;
	}
	if (!return_results(c, p, &h->pure, err) || !epilogue_decomposed(c, p, err))
		return COMPILE_REFUSED;
	if (!c->o->keep_requires_grad)
		require_no_grad(p);
	return step_done(c, "epilogue", h, p, true, err) && reinplaced(c, h, p, err) ? COMPILE_OK : COMPILE_BROKEN;
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

static enum compile_status run_steps(struct compilation *c, const struct prog *bound, struct err *err)
{
	enum compile_status status = functional_part(c, bound, err);
	if (status == COMPILE_OK && c->o->stage == STAGE_FUNCTIONAL) {
		results_back(c);
		functional_epilogue(&c->f);
		return step_done(c, "epilogue", &c->half[0], &c->f.p, true, err) ? COMPILE_OK : COMPILE_BROKEN;
	}
	if (status == COMPILE_OK)
		status = joint_part(c, err);
	if (status == COMPILE_OK)
		status = partitioned(c, err);
	for (int part = 0; status == COMPILE_OK && part < c->out->npart; part++)
		status = finish(c, part, err);
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
	*out = (struct compiled){.npart = 1, .nout = bound->nret};
	const enum compile_status status = run_steps(c, bound, err);
	if (status != COMPILE_OK)
		return status;
	return hand_over(out, c, bound, err) ? COMPILE_OK : COMPILE_BROKEN;
}
