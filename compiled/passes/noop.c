/* noop.c: rows that return what they are given: the same elements in the same layout, bit for bit. What such a row gives in memory of
 * its own stays where two results, or a result and an input, would share memory (`x.clone()` as an output, the clone in `y = x.clone();
 * x.copy_(y)`), and where rows read that memory by place.
 *
 * A number that leaves every element alone: x + 0 makes +0 of -0, x + -0 does not. A signalling NaN is the one value that arithmetic would
 * change; PyTorch promises no payload of computed NaNs. */
#include "compiled/passes/pass.h"

#include <math.h>

#include "generated/op_args.h"
#include "generated/op_id.h"

enum neutral { ADDED, SUBTRACTED, FACTOR };

static bool is_neutral(const struct scalar *s, enum neutral what, enum dtype t)
{
	const double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (what == FACTOR)
		return v == 1;
	return v == 0 && (!dtype_is_float(t) || !signbit(v) == (what == SUBTRACTED));
}

static bool is_one(const struct arg *a) { return a->tag == ARG_SCALAR && is_neutral(&a->scalar, FACTOR, DT_F32); }

/* Arithmetic of self and a number. */
static bool computes_self(const struct node *n)
{
	static const struct {
		int op, other, alpha;
		enum neutral what;
	} rows[] = {
		{OP_add_Tensor, A_add_Tensor_other, A_add_Tensor_alpha, ADDED},
		{OP_add_Scalar, A_add_Scalar_other, A_add_Scalar_alpha, ADDED},
		{OP_sub_Tensor, A_sub_Tensor_other, A_sub_Tensor_alpha, SUBTRACTED},
		{OP_sub_Scalar, A_sub_Scalar_other, A_sub_Scalar_alpha, SUBTRACTED},
		{OP_mul_Tensor, A_mul_Tensor_other, -1, FACTOR},
		{OP_mul_Scalar, A_mul_Scalar_other, -1, FACTOR},
		{OP_div_Tensor, A_div_Tensor_other, -1, FACTOR},
		{OP_div_Scalar, A_div_Scalar_other, -1, FACTOR},
	};
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		const struct arg *other = &n->arg[rows[i].other];
		if (n->op == rows[i].op)
			return n->arg[0].tag == ARG_TENSOR && other->tag == ARG_SCALAR && is_neutral(&other->scalar, rows[i].what, n->out[0].meta.dtype)
				&& (rows[i].alpha < 0 || is_one(&n->arg[rows[i].alpha]));
	}
	return false;
}

/* The operand whose elements the row gives, in memory of its own; -1: none. */
static int copied_operand(const struct prog *p, const struct node *n)
{
	switch (n->op) {
	case OP_clone:
	case OP_lift_fresh_copy:
	case OP_to_copy: return n->arg[0].node;
	case OP_slice_scatter: /* the whole of self is overwritten */
		return meta_same_sizes(node_meta(p, n->arg[A_slice_scatter_src].node), &n->out[0].meta) ? n->arg[A_slice_scatter_src].node : -1;
	default: return computes_self(n) ? n->arg[0].node : -1;
	}
}

/* The value that this row gives once more; NO_VALUE: it is needed. */
static int given(const struct pure *g, int node)
{
	const struct prog *p = g->p;
	const struct node *n = &p->node[node];
	if (row_is_view(p, node)) {
		const int self = n->arg[A_viewed_self].node;
		return meta_identical(node_meta(p, self), &n->out[0].meta) ? self : NO_VALUE;
	}
	const int by = node_is_input(n) ? -1 : copied_operand(p, n);
	if (by < 0 || !meta_identical(node_meta(p, by), &n->out[0].meta) || prog_has_window(p, node))
		return NO_VALUE;
	return pure_may_share(g, node, by) ? by : NO_VALUE;
}

bool pass_noop(struct pure *g, struct err *err)
{
	for (int i = 0; i < g->p->nnode; i++) {
		int by = given(g, i);
		if (by != NO_VALUE && !pure_replace(g, i, by, err))
			return false;
	}
	return true;
}
