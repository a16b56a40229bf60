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

/* When a row gives its first operand's elements as they are, in memory of its own, where dtype and layout are the operand's. A row that is
 * not here is kept. Views are no business of this table. */
enum unchanged {
	UNCHANGED_NEVER,
	UNCHANGED_ALWAYS,
	UNCHANGED_OVERWRITTEN, /* src, where it has all sizes of self */
	UNCHANGED_ADDED,       /* where a number is 0 that is added */
	UNCHANGED_SUBTRACTED,  /* ... that is subtracted */
	UNCHANGED_FACTOR       /* where a number is 1 that multiplies or divides */
};
static const uint8_t unchanged[NOPS] = {
	[OP_clone] = UNCHANGED_ALWAYS,
	[OP_lift_fresh_copy] = UNCHANGED_ALWAYS,
	[OP_alias_copy] = UNCHANGED_ALWAYS,
	[OP_to_copy] = UNCHANGED_ALWAYS,
	[OP_slice_scatter] = UNCHANGED_OVERWRITTEN,
	[OP_add_Tensor] = UNCHANGED_ADDED,
	[OP_add_Scalar] = UNCHANGED_ADDED,
	[OP_sub_Tensor] = UNCHANGED_SUBTRACTED,
	[OP_sub_Scalar] = UNCHANGED_SUBTRACTED,
	[OP_mul_Tensor] = UNCHANGED_FACTOR,
	[OP_div_Tensor] = UNCHANGED_FACTOR,
	[OP_mul_Scalar] = UNCHANGED_FACTOR,
	[OP_div_Scalar] = UNCHANGED_FACTOR,
};

/* Is this the number that leaves every element of dtype t alone? */
static bool is_neutral(const struct scalar *s, int when, enum dtype t)
{
	const double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (when == UNCHANGED_FACTOR)
		return v == 1;
	return v == 0 && (!dtype_is_float(t) || !signbit(v) == (when == UNCHANGED_SUBTRACTED));
}

static bool is_one(const struct arg *a) { return a->tag == ARG_SCALAR && is_neutral(&a->scalar, UNCHANGED_FACTOR, DT_F32); }

/* Arithmetic of self and a number. */
static bool computes_self(const struct node *n)
{
	const struct arg *other = &n->arg[op_arg(n->op, N_other)];
	const int alpha = op_arg(n->op, N_alpha);
	return n->arg[0].tag == ARG_TENSOR && other->tag == ARG_SCALAR && is_neutral(&other->scalar, unchanged[n->op], n->out[0].meta.dtype)
		&& (alpha < 0 || is_one(&n->arg[alpha]));
}

/* The operand whose elements the row gives, in memory of its own; -1: none. */
static int copied_operand(const struct prog *p, const struct node *n)
{
	switch (unchanged[n->op]) {
	case UNCHANGED_ALWAYS: return n->arg[0].node;
	case UNCHANGED_OVERWRITTEN:
		return meta_same_sizes(node_meta(p, n->arg[A_slice_scatter_src].node), &n->out[0].meta) ? n->arg[A_slice_scatter_src].node : -1;
	case UNCHANGED_ADDED:
	case UNCHANGED_SUBTRACTED:
	case UNCHANGED_FACTOR: return computes_self(n) ? n->arg[0].node : -1;
	default: return -1;
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
