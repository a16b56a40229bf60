/* compile.c: see compile.h. */
#include "compiled/compile.h"

#include "compiled/passes/functionalise.h"
#include "compiled/passes/joint.h"
#include "eager/run/interp.h"
#include "generated/op_args.h"

const char *const compile_stage_name[NSTAGES] = {"functional", "joint"};

bool compile_stage_find(enum compile_stage *out, const char *name)
{
	for (int i = 0; i < NSTAGES; i++)
		if (str_eq(name, compile_stage_name[i])) {
			*out = (enum compile_stage)i;
			return true;
		}
	return false;
}

static void require_no_grad(struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (node_requires_grad(&p->node[i]))
			p->node[i].arg[op_arg(p->node[i].op, N_requires_grad)] = arg_bool(false);
}

/* The joint program as one without a backward: gradients are returned behind the outputs. */
static bool return_gradients(struct compiled *out, const struct functional *f, const struct joint *j, struct err *err)
{
	struct prog *p = &out->p;
	const bool *tracked = joint_tracked(p, p->arena);
	p->has_backward = false;
	p->nback = 0;
	out->ngrad = j->ngrad;
	out->grad = ARENA_NEW(p->arena, bool, MAX(j->ngrad, 1));
	out->requires_grad = ARENA_NEW(p->arena, bool, MAX_RETURNS);
	for (int i = 0; i < out->nout; i++)
		out->requires_grad[i] = j->requires_grad[f->ret[i]] && dtype_is_float(node_meta(p, f->ret[i])->dtype);
	for (int i = 0; i < j->ngrad; i++) {
		out->grad[i] = j->grad[i] != NO_VALUE;
		if (!out->grad[i])
			continue;
		if (p->nret == MAX_RETURNS)
			return err_set(err, "too many outputs and gradients");
		out->requires_grad[p->nret] = tracked[j->grad[i]] && dtype_is_float(node_meta(p, j->grad[i])->dtype);
		p->ret[p->nret++] = j->grad[i];
	}
	return true;
}

bool compile(struct compiled *out, const struct prog *bound, enum compile_stage stage, const struct compile_options *o, struct arena *a,
	struct err *err)
{
	const bool keep = stage >= STAGE_JOINT && o && o->keep_requires_grad;
	struct functional f;
	struct joint j;
	*out = (struct compiled){.nout = bound->nret};
	if (!functionalise(&f, bound, keep || (stage == STAGE_FUNCTIONAL && bound->has_backward), a, err))
		return false;
	if (stage >= STAGE_JOINT && !joint_append(&j, &f, a, err))
		return false;
	functional_epilogue(&f);
	out->p = f.p;
	if (stage < STAGE_JOINT)
		return true;
	if (!return_gradients(out, &f, &j, err))
		return false;
	if (!keep)
		require_no_grad(&out->p);
	return true;
}

/* ---- running ---- */

/* What AccumulateGrad does with a gradient that has arrived: it takes the layout of a dense leaf, of others a contiguous one. */
static void leaf_layout(struct result_tensor *t, const struct meta *leaf)
{
	enum device device = t->meta.device;
	meta_make_contiguous(&t->meta, leaf->dtype, leaf->size, leaf->rank);
	t->meta.device = device;
	if (meta_is_non_overlapping_and_dense(leaf))
		memcpy(t->meta.stride, leaf->stride, sizeof leaf->stride);
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
			leaf_layout(&c->grad[g], node_meta(bound, i));
			c->grad[g].storage = fresh + g;
		}
		g++;
	}
}

static bool run_call(struct result *out, const struct prog *p, int k, enum compile_stage stage, struct arena *a)
{
	struct prog bound;
	struct compiled c;
	struct result one;
	struct err err = {0};
	if (!prog_bind(&bound, p, k, a, &err)) {
		*out = (struct result){.status = RES_HARNESS, .message = arena_strdup(a, err.msg), .stderr_tail = ""};
		return false;
	}
	enum interp_status legal = interp_legal(&bound, NULL, &err); /* what eager refuses, the compiler refuses */
	if (legal != INTERP_OK) {
		*out = (struct result){.status = legal == INTERP_RAISES ? RES_RAISED : RES_UNSUPPORTED,
			.compiling = true,
			.message = arena_strdup(a, err.msg),
			.stderr_tail = ""};
		return false;
	}
	if (!compile(&c, &bound, stage, NULL, a, &err)) {
		*out = (struct result){.status = RES_UNSUPPORTED, .compiling = true, .message = arena_strdup(a, err.msg), .stderr_tail = ""};
		return false;
	}
	interp_run(&one, &c.p, a, NULL, &err);
	if (one.status != RES_OK) {
		*out = one;
		return false;
	}
	out->call[k] = one.call[0];
	if (stage >= STAGE_JOINT)
		split_gradients(&out->call[k], &c, &bound, a);
	out->ncalls++;
	return true;
}

void compile_run(struct result *out, const struct prog *p, enum compile_stage stage, struct arena *a)
{
	*out = (struct result){.status = RES_OK, .message = "", .stderr_tail = ""};
	out->call = ARENA_ZNEW(a, struct result_call, p->ncall + 1);
	for (int k = 0; k <= p->ncall; k++)
		if (!run_call(out, p, k, stage, a))
			return;
	out->ngraphs = p->ncall + 1;
}
