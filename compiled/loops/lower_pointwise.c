/* lower_pointwise.c: rows whose result holds, at each index, something of the operands at the same index: POINTWISE rows, conversions,
 * copies, a constant, a choice. */
#include "compiled/loops/lower.h"

#include "eager/ops/rules.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- POINTWISE rows ---- */

/* Operand q as the row sees it: in the type computed in, rounded to the common dtype where the row wants it so. */
static int operand(struct lowering *l, const struct pointwise_types *t, int q, const struct meta *from, int value)
{
	if (from && from->dtype == DT_U64 && dtype_is_float(t->common)) /* an i64 register, whose sign is a bit */
		value = loops_cast(l->out, dtype_compute(t->common), from->dtype, value);
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

/* Integers are divided by none that is 0: that condition is a position in a dim of one element. */
static void divisor_is_there(struct lowering *l, enum dtype common, int by)
{
	const union computed zero = {.i64 = 0};
	const int in[MAX_ELEMENTWISE] = {by, NO_REG, NO_REG},
			  scalar[ROW_NUMBERS] = {loops_const(l->out, REG_I64, zero), NO_REG, NO_REG, NO_REG};
	loops_bound(l->out, loops_row_of(l->out, OP_eq_Scalar, common, in, scalar), 1, BOUND_DIVISOR, false);
}

static int element_pointwise(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int row = op_computing(n->op);
	const struct meta *metas[MAX_ELEMENTWISE];
	struct pointwise_types t;
	struct meta space;
	int in[MAX_ELEMENTWISE] = {NO_REG, NO_REG, NO_REG}, scalar[ROW_NUMBERS], q = 0;
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
		in[q] = operand(l, &t, q, tensor ? node_meta(l->p, n->arg[k].node) : NULL, value);
		if (tensor && role_has(op_info[n->op].param[k].role, RF_DIVIDES) && node_divides_integers(n))
			divisor_is_there(l, t.common, in[q]);
		q++;
	}
	for (int k = 0; k < ROW_NUMBERS; k++)
		scalar[k] = t.scalar[k] ? loops_const(l->out, reg_type_of(t.common), pointwise_scalar(&t, k)) : NO_REG;
	const int value = loops_row_of(l->out, row, t.common, in, scalar);
	space = n->out[0].meta;
	if (op_has(n->op, T_MUTATES))
		CHECK(node_functional_meta(&space, l->p, node, NULL));
	return lower_give(l, space.dtype, loops_round(l->out, space.dtype, value), form);
}

const struct lower_rule lower_pointwise = {.element = element_pointwise};

/* In a nest of its own, so that a 0 raises whatever of the result is read later. */
static void nests_division(struct lowering *l, int node) { lower_nest(l, node, element_pointwise); }
const struct lower_rule lower_division = {.nests = nests_division};

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
const struct lower_rule lower_contiguous = {.element = element_clone, .moves = true};

static int element_copy_(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct arg *src = &n->arg[A_copy_src];
	if (src->tag == ARG_TENSOR)
		return converted(l, node, A_copy_src, idx, form);
	const enum dtype from = src->scalar.kind == SC_FLOAT ? DT_F64 : src->scalar.kind == SC_INT ? DT_I64 : DT_B8, to = n->out[0].meta.dtype;
	return lower_give(l, to, loops_cast(l->out, to, from, lower_scalar(l, from, &src->scalar, AS_VALUE)), form);
}
const struct lower_rule lower_copy_ = {.element = element_copy_, .moves = true};

static int element_full(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	(void)idx;
	return lower_scalar(l, node_meta(l->p, node)->dtype, &l->p->node[node].arg[A_full_fill_value].scalar, form);
}
const struct lower_rule lower_full = {.element = element_full, .moves = true};

static int element_where(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const int rank = l->p->node[node].out[0].meta.rank;
	const int condition = lower_broadcast(l, lower_operand(l, node, A_where_condition), idx, rank, AS_VALUE);
	const int self = converted(l, node, A_where_self, idx, form), other = converted(l, node, A_where_other, idx, form);
	return loops_select(l->out, condition, self, other);
}
const struct lower_rule lower_where_self = {.element = element_where, .moves = true};
