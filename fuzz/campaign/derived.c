/* derived.c: the joint program is the built-in compiler's; for a double backward it is differentiated like any other program. */
#include "fuzz/campaign/derived.h"

#include "compiled/compile.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* Inputs have kept their names. Cotangents of the new backward have other data in each call, too. */
static void keep_calls(struct prog *out, const struct prog *from)
{
	if (prog_has_symbols(from))
		return;
	out->ncall = from->ncall;
	for (int k = 0; k < from->ncall; k++) {
		const struct call *old = &from->call[k];
		struct call *new = &out->call[k];
		*new = (struct call){.ninput = old->ninput + out->nback};
		new->input = ARENA_ZNEW(out->arena, struct call_input, MAX(new->ninput, 1));
		for (int i = 0; i < old->ninput; i++) {
			new->input[i] = old->input[i];
			new->input[i].node = prog_find(out, from->node[old->input[i].node].name);
			CHECK(new->input[i].node >= 0);
		}
		for (int i = 0; i < out->nback; i++) {
			const int node = out->back[i].cotangent;
			const uint64_t seed = (uint64_t)node_int(&out->node[node], A_input_seed) + 100 * (uint64_t)(k + 1);
			new->input[old->ninput + i] = (struct call_input){.node = node, .seed = seed};
		}
	}
}

/* Floating inputs that only cotangents need: derivatives by them are the only second ones that linear programs have. */
static void track_cotangents(struct prog *p, struct choices *c)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		struct node *n = &p->node[i];
		if (n->op == OP_input && cot[i] && !forward[i] && dtype_is_float(n->out[0].meta.dtype) && choose_chance(c, 75))
			n->arg[A_input_requires_grad] = arg_bool(true);
	}
}

static int add_cotangent(struct prog *p, int of, int64_t seed, struct choices *c)
{
	static const int layouts[] = {60, 20, 20};
	const struct meta m = *node_meta(p, of);
	const int layout = choose_weighted(c, layouts, ARRAY_LEN(layouts));
	int node = prog_add(p, OP_input, NULL);
	struct node *n = &p->node[node];
	n->arg[A_input_size] = arg_ints(p, m.size, m.rank);
	if (layout == 1 && m.rank > 1) { /* the last dim first in memory */
		int64_t stride[MAX_RANK], next = 1;
		for (int d = 0; d < m.rank; d++) {
			stride[d] = next;
			next *= MAX(m.size[d], 1);
		}
		n->arg[A_input_stride] = arg_ints(p, stride, m.rank);
	} else if (layout == 2 && m.rank) { /* one number everywhere */
		const int64_t stride[MAX_RANK] = {0};
		n->arg[A_input_stride] = arg_ints(p, stride, m.rank);
	}
	n->arg[A_input_dtype] = arg_dtype(m.dtype);
	n->arg[A_input_seed] = arg_int(seed);
	prog_defaults(p, node);
	if (!prog_infer_node(p, node, NULL))
		BUG("a cotangent is refused");
	return node;
}

static bool has_cotangent(const struct prog *p, int node)
{
	for (int i = 0; i < p->nback; i++)
		if (p->back[i].node == node)
			return true;
	return false;
}

/* A backward from every gradient that autograd tracks, and from half of such outputs. */
static bool add_backward(struct compiled *k, struct choices *c, struct err *err)
{
	struct prog *p = &k->part[0].p;
	int ngrad = 0;
	for (int i = 0; i < p->nret; i++) {
		const bool output = i < k->nout;
		if (!k->requires_grad[i] || has_cotangent(p, p->ret[i]) || (output && choose_chance(c, 50)))
			continue;
		if (p->nnode == MAX_NODES)
			return err_set(err, "the program has too many rows");
		ngrad += !output;
		p->back[p->nback] = (struct backward){p->ret[i], add_cotangent(p, p->ret[i], 7001 + p->nback, c)};
		p->nback++;
	}
	p->has_backward = p->nback > 0;
	return ngrad || err_set(err, "no gradient depends on what requires grad");
}

/* Autograd's rules allow it, and every row of it has a derivative rule. */
static bool differentiable_again(const struct prog *p, struct arena *a, struct err *err)
{
	struct compiled k;
	struct prog bound;
	return prog_bind(&bound, p, 0, a, err) && compile(&k, &bound, &(struct compile_options){.stage = STAGE_JOINT}, a, err) == COMPILE_OK;
}

bool derived_program(struct prog *out, const struct prog *p, enum policy_form form, struct choices *c, struct arena *a, struct err *err)
{
	const struct compile_options o = {.stage = STAGE_JOINT, .keep_requires_grad = form == FORM_DOUBLE};
	struct prog bound;
	struct compiled k;
	if (form == FORM_PLAIN) {
		*out = *p;
		return true;
	}
	if (!p->has_backward)
		return err_set(err, "no output requires grad");
	if (!prog_bind(&bound, p, 0, a, err))
		return false;
	if (form == FORM_DOUBLE && choose_chance(c, 40)) /* the others have something that is not linear */
		track_cotangents(&bound, c);
	if (compile(&k, &bound, &o, a, err) != COMPILE_OK || (form == FORM_DOUBLE && !add_backward(&k, c, err)))
		return false;
	keep_calls(&k.part[0].p, p);
	*out = k.part[0].p;
	if (!prog_validate(out, err))
		BUG("a %s program is invalid: %s", form == FORM_JOINT ? "joint" : "double", err->msg);
	return form == FORM_JOINT || differentiable_again(out, a, err);
}
