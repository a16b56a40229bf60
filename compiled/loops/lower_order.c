/* lower_order.c: sort: an element goes to the place that is the number of elements before it, which a loop over the lane counts.
 * Each is compared with each other one, so longer lanes, and many, are left to eager's kernel. */
#include "compiled/loops/lower_nest.h"

#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* Does y, at j, come before x, at i? Among equals the first. */
static int is_before(struct lowering *l, enum dtype t, enum nest_order o, int y, const struct affine *j, int x, const struct affine *i)
{
	const int earlier = nest_holds(l, OP_lt_Tensor, DT_I64, loops_index(l->out, j), loops_index(l->out, i));
	const int behind = nest_precedes(l, t, o, x, y);
	const int not_behind = loops_row(l->out, OP_logical_not, DT_I64, behind, NO_REG, NO_REG, NO_REG, NO_REG);
	return loops_select(l->out, earlier, not_behind, nest_precedes(l, t, o, y, x));
}

/* The elements of each lane in order, and where they were. */
static void ranked(struct lowering *l, int node, int dim, enum nest_order o)
{
	const int self = lower_operand(l, node, A_reduction_self), outer = l->out->depth;
	const struct meta *m = node_meta(l->p, self);
	const int64_t count = m->rank ? m->size[dim] : 1;
	struct affine at[MAX_RANK], other[MAX_RANK];
	if (count > LOWER_MAX_LANE || meta_numel(m) * count > LOWER_MAX_COMPARISONS) {
		lower_extern(l, node);
		return;
	}
	lower_settle(l, node);
	for (int d = 0; d < m->rank; d++)
		if (d != dim)
			at[d] = other[d] = nest_for(l, m->size[d]);
	const struct affine i = at[dim] = nest_for(l, count);
	const int x = nest_load(l, self, at, m->dtype), place = loops_var(l->out, loops_int(l->out, 0)), depth = l->out->depth;
	const struct affine j = other[dim] = nest_for(l, count);
	const int y = nest_load(l, self, other, m->dtype);
	loops_set(l->out, place, lower_add(l, DT_I64, place, is_before(l, m->dtype, o, y, &j, x, &i)));
	nest_end(l, depth);
	at[dim] = affine_reg(place);
	nest_put(l, 0, at, x);
	nest_put(l, 1, at, loops_index(l->out, &i));
	nest_end(l, outer);
}

static void nests_sort(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	int dim;
	CHECK(dim_wrap(&dim, node_int(n, A_sort_dim), node_meta(l->p, lower_operand(l, node, A_sort_self))->rank, NULL));
	ranked(l, node, dim, n->arg[A_sort_descending].b ? GREATEST : LEAST_NAN_LAST);
}
const struct lower_rule lower_sort = {.nests = nests_sort};
