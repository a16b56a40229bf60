/* lower_pointwise.c: rows whose result holds, at each index, something of the operands at the same index: POINTWISE rows, conversions,
 * constants, masks. */
#include "compiled/loops/lower.h"

#include "eager/ops/rules.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- POINTWISE rows ---- */

/* Operand q as the row sees it: in the type computed in, rounded to the common dtype where the row wants it so. */
static int operand(struct lowering *l, const struct pointwise_types *t, int q, int value)
{
	value = loops_as(l->out, reg_type_of(t->common), value);
	return t->narrow[q] ? loops_round(l->out, t->common, value) : value;
}

/* A Python number in a Tensor's place: i64, or f64. */
static int number(struct lowering *l, const struct scalar *s)
{
	union computed v = {0};
	if (s->kind == SC_FLOAT)
		v.f64 = s->f;
	else
		v.i64 = s->i;
	return loops_const(l->out, s->kind == SC_FLOAT ? REG_F64 : REG_I64, v);
}

static int pointwise(struct lowering *l, int row, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct meta *metas[MAX_ELEMENTWISE];
	struct pointwise_types t;
	struct meta space;
	int in[MAX_ELEMENTWISE] = {NO_REG, NO_REG, NO_REG}, scalar[2] = {NO_REG, NO_REG}, q = 0;
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (op_info[n->op].param[k].kind == K_TENSOR)
			metas[q++] = meta_operand(l->p, n, k);
	pointwise_types(&t, row, n, metas);
	q = 0;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (op_info[n->op].param[k].kind != K_TENSOR)
			continue;
		const bool tensor = n->arg[k].tag == ARG_TENSOR;
		const int value = tensor ? lower_broadcast(l, n->arg[k].node, idx, n->out[0].meta.rank, AS_VALUE) : number(l, &n->arg[k].scalar);
		in[q] = operand(l, &t, q, value);
		q++;
	}
	for (int k = 0; k < 2; k++)
		if (t.scalar[k])
			scalar[k] = loops_const(l->out, reg_type_of(t.common), pointwise_scalar(&t, k));
	const int value = loops_row(l->out, row, t.common, in[0], in[1], in[2], scalar[0], scalar[1]);
	space = n->out[0].meta;
	if (op_has(n->op, T_MUTATES))
		CHECK(node_functional_meta(&space, l->p, node, NULL));
	return lower_give(l, space.dtype, loops_round(l->out, space.dtype, value), form);
}

#define POINTWISE(id, ...)                                                                                                                 \
	static int element_##id(struct lowering *l, int node, const struct affine *idx, enum form form)                                        \
	{                                                                                                                                      \
		return pointwise(l, OP_##id, node, idx, form);                                                                                     \
	}                                                                                                                                      \
	const struct lower_rule lower_##id = {.element = element_##id};
#define OP(...)
#define INPLACE(...)
#include "eager/lang/ops.def"

/* ---- conversions and copies in step ---- */

/* Operand `arg`, converted to the result's dtype. */
static int converted(struct lowering *l, int node, int arg, const struct affine *idx, enum form form)
{
	const struct meta *out = &l->p->node[node].out[0].meta;
	return lower_converted(l, lower_operand(l, node, arg), idx, out->rank, out->dtype, form);
}

static int element_to_copy(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	return converted(l, node, A_to_copy_self, idx, form);
}
const struct lower_rule lower_to_copy = {.element = element_to_copy, .moves = true};

static int element_clone(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	return lower_element(l, lower_operand(l, node, A_clone_self), idx, form);
}
const struct lower_rule lower_clone = {.element = element_clone, .moves = true};

static int element_copy(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct arg *src = &n->arg[A_copy_src];
	if (src->tag == ARG_TENSOR)
		return converted(l, node, A_copy_src, idx, form);
	const enum dtype from = src->scalar.kind == SC_FLOAT ? DT_F64 : src->scalar.kind == SC_INT ? DT_I64 : DT_B8, to = n->out[0].meta.dtype;
	return lower_give(l, to, loops_cast(l->out, to, from, lower_scalar(l, from, &src->scalar, AS_VALUE)), form);
}
const struct lower_rule lower_copy = {.element = element_copy, .moves = true};

/* ---- constants ---- */

static int constant(struct lowering *l, int node, const struct scalar *s, enum form form)
{
	return lower_scalar(l, l->p->node[node].out[0].meta.dtype, s, form);
}

#define CONSTANT(function, number)                                                                                                         \
	static int element_##function(struct lowering *l, int node, const struct affine *idx, enum form form)                                  \
	{                                                                                                                                      \
		(void)idx;                                                                                                                         \
		return constant(l, node, number, form);                                                                                            \
	}                                                                                                                                      \
	const struct lower_rule lower_##function = {.element = element_##function, .moves = true};
CONSTANT(full, &l->p->node[node].arg[A_full_fill_value].scalar)
CONSTANT(scalar_tensor, &l->p->node[node].arg[A_scalar_tensor_s].scalar)
CONSTANT(fill, &l->p->node[node].arg[A_filled_value].scalar)
CONSTANT(zeros_like, &((struct scalar){SC_INT, 0, 0}))
CONSTANT(ones_like, &((struct scalar){SC_INT, 1, 0}))

static int element_fill_Tensor(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	(void)idx;
	return converted(l, node, A_fill_Tensor_value, idx, form);
}
const struct lower_rule lower_fill_Tensor = {.element = element_fill_Tensor, .moves = true};

/* ---- masks ---- */

static int element_where(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const int rank = l->p->node[node].out[0].meta.rank;
	const int condition = lower_broadcast(l, lower_operand(l, node, A_where_condition), idx, rank, AS_VALUE);
	const int self = converted(l, node, A_where_self, idx, form), other = converted(l, node, A_where_other, idx, form);
	return loops_select(l->out, condition, self, other);
}
const struct lower_rule lower_where = {.element = element_where, .moves = true};

static int element_masked_fill(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int rank = n->out[0].meta.rank, mask = lower_broadcast(l, lower_operand(l, node, A_masked_fill_mask), idx, rank, AS_VALUE);
	const int value = lower_scalar(l, n->out[0].meta.dtype, &n->arg[A_masked_fill_value].scalar, form);
	const int self = lower_broadcast(l, lower_operand(l, node, A_masked_fill_self), idx, rank, form);
	return loops_select(l->out, mask, value, self);
}
const struct lower_rule lower_masked_fill = {.element = element_masked_fill, .moves = true};

/* Column minus row at most (lower) or at least (upper) the diagonal stays, the rest is zero. */
static int triangle(struct lowering *l, int node, const struct affine *idx, int64_t diagonal, bool lower, enum form form)
{
	const struct meta *m = &l->p->node[node].out[0].meta;
	struct affine at = idx[m->rank - 1];
	affine_add(&at, &idx[m->rank - 2], -1);
	const int64_t all = 4 * MAX_NUMEL; /* beyond every row and column */
	diagonal = MAX(-all, MIN(diagonal, all - 1));
	const int inside = lower ? lower_within(l, &at, -all, diagonal + 1) : lower_within(l, &at, diagonal, all);
	const int zero = inside == ALWAYS ? NO_REG : lower_scalar(l, m->dtype, &(struct scalar){SC_INT, 0, 0}, form);
	if (inside == NEVER)
		return zero;
	const int self = lower_element(l, lower_operand(l, node, A_tri_self), idx, form);
	return inside == ALWAYS ? self : loops_select(l->out, inside, self, zero);
}

static int element_tril(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	return triangle(l, node, idx, node_int(&l->p->node[node], A_tril_diagonal), true, form);
}
static int element_triu(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	return triangle(l, node, idx, node_int(&l->p->node[node], A_triu_diagonal), false, form);
}
const struct lower_rule lower_tril = {.element = element_tril, .moves = true};
const struct lower_rule lower_triu = {.element = element_triu, .moves = true};
