/* compile.c: the steps of the built-in compiler in their order. Between functionalise and the epilogue the program is PURE (passes/pass.h);
 * every step ends in step_done(). */
#include "compiled/compile.h"

#include "compiled/decompose/decompose.h"
#include "compiled/defects/defects.h"
#include "compiled/passes/functionalise.h"
#include "compiled/passes/joint.h"
#include "compiled/passes/reinplace.h"
#include "compiled/passes/validate.h"
#include "compiled/symbols/dynamic.h"
#include "eager/run/autograd.h"
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
	if (!str_eq(name, "decomposed"))
		return false;
	*out = STAGE_DECOMPOSED;
	return true;
}

struct compilation {
	const struct compile_options *o;
	struct arena *arena;
	struct functional f;
	struct joint j;
	struct pure pure;
	struct aliases aliases; /* of the results after the last step */
	int nforward;           /* rows before the backward part */
	struct compiled *out;
	bool reinplaced; /* rows may write */
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
	c->pure = (struct pure){.p = &c->f.p};
	for (int i = 0; i < f->from->nret; i++)
		add_result(&c->pure, RESULT_OUTPUT, functional_made_again(f, i) ? NO_VALUE : f->ret[i]);
	for (int i = 0; i < f->from->nnode; i++)
		if (f->written[i])
			add_result(&c->pure, RESULT_WRITTEN, f->value[i]);
}

/* What passes renumbered, told to the epilogue and to whoever returns gradients. */
static void results_back(struct compilation *c)
{
	int next = 0, gradient = 0;
	for (int i = 0; i < c->f.from->nret; i++)
		c->f.ret[i] = c->pure.result[next++].value;
	for (int i = 0; i < c->f.from->nnode; i++)
		if (c->f.written[i])
			c->f.value[i] = c->pure.result[next++].value;
	while (next < c->pure.nresult)
		c->j.grad[gradient++] = c->pure.result[next++].value;
}

/* ---- after each step ---- */

/* again: p's rows inferred anew, which all validators share. */
static bool hold(struct compilation *c, const struct prog *p, const struct prog *again, bool epilogue, struct err *err)
{
	struct aliases after;
	bool ok = c->reinplaced || (epilogue ? validate_epilogue(p, err) : validate_no_writes(p, err));
	ok = ok && validate_metas(p, again, err) && validate_writes(again, c->f.from, err) && validate_scatters(p, err)
		&& validate_devices(p, err);
	if (epilogue)
		aliases_of_returns(&after, again, c->reinplaced ? p->nret : c->f.from->nret);
	else
		aliases_of(&after, &c->pure, again);
	if (!ok || !validate_aliases(&c->aliases, &after, err))
		return false;
	if (epilogue) { /* gradients, too */
		aliases_of_returns(&c->aliases, again, p->nret);
		return true;
	}
	for (int i = 0; i < after.n; i++) /* outputs that are made again keep what the source says of them */
		if (after.of[i].storage != NO_VALUE || i >= c->aliases.n)
			c->aliases.of[i] = after.of[i];
	c->aliases.n = MAX(c->aliases.n, after.n);
	return true;
}

static bool invariants_hold(struct compilation *c, const struct prog *p, bool epilogue, struct err *err)
{
	struct arena a;
	struct prog again;
	arena_init(&a);
	const bool ok = validate_infer(&again, p, &a, err) && hold(c, p, &again, epilogue, err);
	arena_free(&a);
	return ok;
}

/* The defect that was asked for, if it is one of this step. */
static void plant(struct compilation *c, const char *step, struct prog *p, bool epilogue)
{
	struct pure rows = {.p = p};
	struct defect_site site = {.g = epilogue ? &rows : &c->pure, .nforward = c->nforward, .f = &c->f};
	c->out->planted |= defect_plant(c->o->defect, step, &site);
}

static bool step_done(struct compilation *c, const char *step, struct prog *p, bool epilogue, struct err *err)
{
	struct err why = {0};
	plant(c, step, p, epilogue);
	if (c->o->validate && !invariants_hold(c, p, epilogue, &why))
		return err_set(err, "invariant after %s: %s", step, why.msg);
	if (c->o->done)
		c->o->done(c->o->ctx, step, p);
	return true;
}

/* ---- the steps ---- */

/* COMPILE_REFUSED: the program would become too large. */
static enum compile_status decomposed(struct compilation *c, struct err *err)
{
	if (!c->o->decompose || c->o->stage < STAGE_DECOMPOSED)
		return COMPILE_OK;
	if (!decompose(&c->pure, &c->nforward, err))
		return COMPILE_REFUSED;
	return step_done(c, "decompose", &c->f.p, false, err) ? COMPILE_OK : COMPILE_BROKEN;
}

/* The views that the epilogue made again. */
static bool epilogue_decomposed(struct compilation *c, struct prog *p, struct err *err)
{
	struct pure rows = {.p = p};
	if (!c->o->decompose || c->o->stage < STAGE_DECOMPOSED)
		return true;
	for (int i = 0; i < p->nret; i++)
		add_result(&rows, RESULT_OUTPUT, p->ret[i]);
	if (!decompose(&rows, &c->nforward, err))
		return false;
	for (int i = 0; i < p->nret; i++)
		p->ret[i] = rows.result[i].value;
	return true;
}

static bool run_passes(struct compilation *c, struct err *err)
{
	for (int i = 0; i < npasses && STAGE_FIRST_PASS + i <= c->o->stage; i++) {
		struct err why = {0};
		if (c->o->off & 1u << i || (passes[i].freezing && !c->o->freezing))
			continue;
		if (!passes[i].run(&c->pure, &why))
			return err_set(err, "invariant after %s: I2: %s", passes[i].name, why.msg);
		if (!step_done(c, passes[i].name, &c->f.p, false, err))
			return false;
	}
	return true;
}

/* Behind the epilogue: from here on rows write. */
static bool reinplaced(struct compilation *c, struct prog *p, struct err *err)
{
	struct err why = {0};
	if (c->o->stage < stage_reinplace() || c->o->off & 1u << npasses || c->o->keep_requires_grad)
		return true;
	if (!reinplace(p, !c->o->to_code || c->o->code.lower.no_fusion, &why))
		return err_set(err, "invariant after reinplace: I2: %s", why.msg);
	c->reinplaced = true;
	return step_done(c, "reinplace", p, true, err);
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
		add_result(&c->pure, RESULT_GRADIENT, c->j.grad[i]);
	}
}

static void require_no_grad(struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (node_requires_grad(&p->node[i]))
			p->node[i].arg[op_arg(p->node[i].op, N_requires_grad)] = arg_bool(false);
}

/* The joint program as one without a backward: gradients are returned behind the outputs. */
static bool return_gradients(struct compiled *out, struct prog *p, const struct joint *j, struct err *err)
{
	const bool *tracked = joint_tracked(p, p->arena);
	p->has_backward = false;
	p->nback = 0;
	for (int i = 0; i < j->ngrad; i++) {
		if (j->grad[i] == NO_VALUE)
			continue;
		if (p->nret == MAX_RETURNS)
			return err_set(err, "too many outputs and gradients");
		out->requires_grad[p->nret] = joint_requires_grad(tracked, p, j->grad[i]);
		p->ret[p->nret++] = j->grad[i];
	}
	return true;
}

static bool aliases_of_source(struct compilation *c, const struct prog *bound, struct err *err)
{
	struct arena a;
	struct prog again;
	arena_init(&a);
	const bool ok = validate_infer(&again, bound, &a, err);
	if (ok)
		aliases_of_returns(&c->aliases, &again, bound->nret);
	arena_free(&a);
	return ok;
}

static enum compile_status run_steps(struct compiled *out, struct compilation *c, const struct prog *bound, struct err *err)
{
	const bool joint = c->o->stage >= STAGE_JOINT;
	if (!functionalise(&c->f, bound, joint ? c->o->keep_requires_grad : bound->has_backward, c->arena, err))
		return COMPILE_REFUSED;
	functional_results(c);
	if (c->o->validate && !aliases_of_source(c, bound, err))
		return COMPILE_REFUSED;
	if (!step_done(c, "functional", &c->f.p, false, err))
		return COMPILE_BROKEN;
	if (joint) {
		c->nforward = c->f.p.nnode;
		if (!joint_append(&c->j, &c->f, c->arena, err))
			return COMPILE_REFUSED;
		joint_results(c, out);
		if (!step_done(c, "joint", &c->f.p, false, err))
			return COMPILE_BROKEN;
		const enum compile_status status = decomposed(c, err);
		if (status != COMPILE_OK)
			return status;
		if (!run_passes(c, err))
			return COMPILE_BROKEN;
	}
	results_back(c);
	functional_epilogue(&c->f);
	if (joint && (!return_gradients(out, &c->f.p, &c->j, err) || !epilogue_decomposed(c, &c->f.p, err)))
		return COMPILE_REFUSED;
	if (joint && !c->o->keep_requires_grad)
		require_no_grad(&c->f.p);
	out->p = c->f.p;
	return step_done(c, "epilogue", &out->p, true, err) && reinplaced(c, &out->p, err) ? COMPILE_OK : COMPILE_BROKEN;
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
	*out = (struct compiled){.nout = bound->nret};
	return run_steps(out, c, bound, err);
}

/* ---- running ---- */

/* A gradient comes in its leaf's layout; one of other sizes or another dtype is wrong, and stays what it is. */
static void leaf_layout(struct meta *m, const struct meta *leaf)
{
	const enum device device = m->device;
	if (m->dtype != leaf->dtype || !meta_same_sizes(m, leaf))
		return;
	graph_grad_layout(m, leaf);
	m->device = device;
}

static void split_gradients(struct result_call *c, const struct compiled *k, const struct prog *bound, struct arena *a)
{
	int next = k->nout, fresh = MAX(k->p.nstorage, MAX_NODES), g = 0;
	for (int i = 0; i < k->nout; i++)
		c->out[i].requires_grad = k->requires_grad[i];
	c->nouts = k->nout;
	c->ngrads = k->ngrad;
	c->grad = ARENA_ZNEW(a, struct result_tensor, MAX(k->ngrad, 1));
	for (int i = 0; i < bound->nnode && g < k->ngrad; i++) {
		if (!node_requires_grad(&bound->node[i]))
			continue;
		if (k->grad[g]) {
			c->grad[g] = c->out[next++];
			leaf_layout(&c->grad[g].meta, node_meta(bound, i));
			c->grad[g].storage = fresh + g;
		}
		g++;
	}
}

/* What runs call after call. Calls of the same sizes share the code; those of any size that `dynamic` serves share its. */
struct running {
	const struct compile_options *o;
	const struct prog *p;
	struct arena *arena;
	struct hash128 structure; /* of the call that `compiled` is of */
	struct compiled compiled;
	struct code *code;
	struct dynamic *dynamic;   /* NULL: each call is compiled for its own sizes */
	struct code *dynamic_code; /* of its loops */
	int ngraphs;
};

static bool ended(struct result *out, enum result_status status, const struct err *err, struct arena *a)
{
	*out = (struct result){.status = status, .compiling = status != RES_HARNESS, .message = arena_strdup(a, err->msg), .stderr_tail = ""};
	return false;
}

/* compiled and code become those of this call. */
static bool compile_call(struct result *out, struct running *r, const struct prog *bound)
{
	struct err err = {0};
	if (r->o->to_code && r->p->ncall) { /* the only ones that another call may find code of */
		const struct hash128 structure = prog_hash(bound);
		if (r->code && memcmp(&structure, &r->structure, sizeof structure) == 0)
			return true;
		r->structure = structure;
	}
	code_close(r->code);
	r->code = NULL;
	r->ngraphs++;
	const enum compile_status status = compile(&r->compiled, bound, r->o, r->arena, &err);
	if (status == COMPILE_BROKEN)
		BUG("%s", err.msg);
	if (status != COMPILE_OK)
		return ended(out, status == COMPILE_RAISES ? RES_RAISED : RES_UNSUPPORTED, &err, r->arena);
	return !r->o->to_code || code_open(&r->code, &r->compiled.p, &r->o->code, r->o->defect, &err)
		|| ended(out, RES_UNSUPPORTED, &err, r->arena);
}

/* Before the first call: what serves others, too. */
static bool compile_dynamic(struct result *out, struct running *r, const struct prog *bound)
{
	struct err err = {0};
	bool planted;
	const enum compile_status status = dynamic_compile(&r->dynamic, &planted, bound, r->o, r->arena, &err);
	if (status == COMPILE_BROKEN)
		BUG("%s", err.msg);
	if (status != COMPILE_OK)
		return ended(out, status == COMPILE_RAISES ? RES_RAISED : RES_UNSUPPORTED, &err, r->arena);
	if (!r->dynamic)
		return true;
	r->ngraphs++;
	const struct loops *l = dynamic_loops(r->dynamic);
	return !l || code_open_loops(&r->dynamic_code, l, &dynamic_compiled(r->dynamic)->p, &r->o->code, &err)
		|| ended(out, RES_UNSUPPORTED, &err, r->arena);
}

/* Does what is compiled for any size serve this call, which eager does not refuse? Then *at is its program. */
static bool is_served(struct compiled *at, const struct running *r, const struct prog *bound)
{
	struct err err = {0};
	if (!r->dynamic || interp_legal(bound, NULL, &err) != INTERP_OK || !dynamic_serves(r->dynamic, bound, &err))
		return false;
	if (r->o->validate && !dynamic_validate(r->dynamic, bound, &err))
		BUG("invariant after symbols: %s", err.msg);
	dynamic_at(at, r->dynamic, bound, r->arena);
	return true;
}

static bool run_call(struct result *out, struct running *r, int k)
{
	struct compiled at;
	struct prog bound;
	struct result one;
	struct err err = {0};
	if (!prog_bind(&bound, r->p, k, r->arena, &err))
		return ended(out, RES_HARNESS, &err, r->arena);
	if (r->o->code.dynamic && k == 0 && !compile_dynamic(out, r, &bound))
		return false;
	const bool served = is_served(&at, r, &bound);
	if (!served && !compile_call(out, r, &bound))
		return false;
	const struct compiled *c = served ? &at : &r->compiled;
	const struct code *code = served ? r->dynamic_code : r->code;
	if (code)
		code_run(&one, code, &c->p, &bound, r->arena);
	else
		interp_run(&one, &c->p, r->arena, NULL, &err);
	if (one.status != RES_OK) {
		*out = one;
		return false;
	}
	out->call[k] = one.call[0];
	if (r->o->stage >= STAGE_JOINT)
		split_gradients(&out->call[k], c, &bound, r->arena);
	out->ncalls++;
	return true;
}

void compile_run(struct result *out, const struct prog *p, const struct compile_options *o, struct arena *a)
{
	struct running r = {.o = o, .p = p, .arena = a};
	*out = (struct result){.status = RES_OK, .message = "", .stderr_tail = ""};
	out->call = ARENA_ZNEW(a, struct result_call, p->ncall + 1);
	bool ok = true;
	for (int k = 0; ok && k <= p->ncall; k++)
		ok = run_call(out, &r, k);
	code_close(r.code);
	code_close(r.dynamic_code);
	if (ok)
		out->ngraphs = r.ngraphs;
}
