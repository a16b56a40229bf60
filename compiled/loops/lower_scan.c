/* lower_scan.c: cumsum and cumprod: a loop along the dim with an accumulator, whose value after each element is stored. The accumulator is
 * f64, f32 for halves, or an i64 that wraps. */
#include "compiled/loops/lower_nest.h"

#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static void scan(struct lowering *l, int node, bool product)
{
	const int self = lower_operand(l, node, A_reduction_self), outer = l->out->depth;
	const struct meta *m = node_meta(l->p, self);
	const enum dtype t = l->place[0].meta.dtype, wide = nest_wide(t);
	struct affine idx[MAX_RANK];
	int dim;
	CHECK(dim_wrap(&dim, node_int(&l->p->node[node], op_arg(l->p->node[node].op, N_dim)), m->rank, NULL));
	for (int d = 0; d < m->rank; d++)
		if (d != dim)
			idx[d] = nest_for(l, m->size[d]);
	const int first = dtype_is_float(t) ? nest_float(l, product) : loops_int(l->out, product), acc = loops_var(l->out, first);
	if (m->rank)
		idx[dim] = nest_for(l, m->size[dim]);
	const int x = nest_load(l, self, idx, t);
	int next = product ? nest_row(l, OP_mul_Tensor, wide, acc, x) : lower_add(l, wide, acc, x);
	if (dtype_info[t].acc != wide)
		next = loops_as(l->out, reg_type_of(wide), loops_round(l->out, dtype_info[t].acc, next));
	loops_set(l->out, acc, next);
	nest_put(l, 0, idx, acc);
	nest_end(l, outer);
}

static void nests_cumsum(struct lowering *l, int node) { scan(l, node, false); }
static void nests_cumprod(struct lowering *l, int node) { scan(l, node, true); }
const struct lower_rule lower_cumsum = {.nests = nests_cumsum};
const struct lower_rule lower_cumprod = {.nests = nests_cumprod};
