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

enum {
	UNCHANGED_IF_COPIED = 1,
	UNCHANGED_IF_OVERWRITTEN,
	UNCHANGED_IF_ADDED,
	UNCHANGED_IF_SUBTRACTED,
	UNCHANGED_IF_FACTOR,
	UNCHANGED_IF_CHANGED
};
enum { /* a word for a row that ops.def does not have does not compile */
#define UNCHANGED(when, id) UNCHANGED_##id = UNCHANGED_IF_##when + 0 * OP_##id,
#include "compiled/passes/unchanged.def"
};
static const uint8_t unchanged[NOPS] = {
#define ROW_F_POINTWISE(id) [OP_##id] = UNCHANGED_##id,
#define ROW_F_COPY(id)      [OP_##id] = UNCHANGED_##id,
#define ROW_F_SCATTER(id)   [OP_##id] = UNCHANGED_##id,
#include "generated/op_groups.def"
};

/* Is this the number that leaves every element of dtype t alone? */
static bool is_neutral(const struct scalar *s, int when, enum dtype t)
{
	const double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (when == UNCHANGED_IF_FACTOR)
		return v == 1;
	return v == 0 && (!dtype_is_float(t) || !signbit(v) == (when == UNCHANGED_IF_SUBTRACTED));
}

static bool is_one(const struct arg *a) { return a->tag == ARG_SCALAR && is_neutral(&a->scalar, UNCHANGED_IF_FACTOR, DT_F32); }

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
	case UNCHANGED_IF_COPIED: return n->arg[0].node;
	case UNCHANGED_IF_OVERWRITTEN:
		return meta_same_sizes(node_meta(p, n->arg[A_slice_scatter_src].node), &n->out[0].meta) ? n->arg[A_slice_scatter_src].node : -1;
	case UNCHANGED_IF_ADDED:
	case UNCHANGED_IF_SUBTRACTED:
	case UNCHANGED_IF_FACTOR: return computes_self(n) ? n->arg[0].node : -1;
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
