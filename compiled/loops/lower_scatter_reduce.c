/* lower_scatter_reduce.c: scatter_reduce.two: as scatter_add, with another fold, a count per element of how many values it has seen, and
 * for the mean a nest that divides. Floats fold in f64; integers are wrapped after each step (eager/ops/scatter_reduce.c). */
#include "compiled/loops/lower_nest.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

static int folded(struct lowering *l, const char *how, enum dtype t, int a, int v)
{
	const enum dtype wide = nest_wide(t);
	if (str_eq(how, "prod"))
		return nest_row(l, OP_mul_Tensor, wide, a, v);
	if (str_eq(how, "amax"))
		return nest_row(l, OP_maximum, wide, a, v);
	if (str_eq(how, "amin"))
		return nest_row(l, OP_minimum, wide, a, v);
	return nest_sum(l, t, a, v);
}

/* a / n towards -infinity, n >= 2: in f64, then what that left, which is small. */
static int floor_divided(struct lowering *l, int a, int n)
{
	const int by = loops_as(l->out, REG_F64, n);
	const int near = loops_round(l->out, DT_I64, nest_row(l, OP_div_Tensor, DT_F64, loops_as(l->out, REG_F64, a), by));
	const int one = loops_int(l->out, 1), covered = nest_row(l, OP_mul_Tensor, DT_I64, near, n);
	const int left = loops_row(l->out, OP_sub_Tensor, DT_I64, a, covered, NO_REG, one, NO_REG);
	const int share = nest_row(l, OP_div_Tensor, DT_F64, loops_as(l->out, REG_F64, left), by);
	const int down = loops_row(l->out, OP_floor, DT_F64, share, NO_REG, NO_REG, NO_REG, NO_REG);
	return lower_add(l, DT_I64, near, loops_round(l->out, DT_I64, down));
}

/* v rounded to dtype t, in f64. */
static int rounded(struct lowering *l, enum dtype t, int v) { return loops_as(l->out, REG_F64, loops_round(l->out, t, v)); }

/* Sums become means where two values or more were added. */
static void divide_sums(struct lowering *l, const struct place *sums, const struct place *counts)
{
	const enum dtype t = l->place[0].meta.dtype;
	struct affine idx[MAX_RANK];
	const int depth = lower_loops(l, &sums->meta, idx), n = nest_get(l, counts, idx);
	loops_if(l->out, nest_holds(l, OP_gt_Tensor, DT_I64, n, loops_int(l->out, 1)));
	const int sum = nest_get(l, sums, idx);
	if (dtype_is_float(t)) /* both in the dtype: the sum may have overflowed */
		nest_set(l, sums, idx, nest_row(l, OP_div_Tensor, DT_F64, rounded(l, t, sum), rounded(l, t, loops_as(l->out, REG_F64, n))));
	else
		nest_set(l, sums, idx, floor_divided(l, sum, n));
	loops_end(l->out);
	lower_ends(l, depth);
}

static void nests_scatter_reduce(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const char *how = n->arg[A_scatter_reduce_reduce].str;
	const struct meta *out = &l->place[0].meta;
	const struct place sums = nest_sums(l, lower_operand(l, node, A_scatter_reduce_self));
	const struct place counts = nest_counts(l, out->size, out->rank, n->arg[A_scatter_reduce_include_self].b);
	struct scatter_nest w;
	if (scatter_open(&w, l, node)) {
		const int v = nest_load(l, lower_operand(l, node, A_scatter_reduce_src), w.from, out->dtype),
				  count = nest_get(l, &counts, w.target);
		loops_if(l->out, count);
		nest_set(l, &sums, w.target, folded(l, how, out->dtype, nest_get(l, &sums, w.target), v));
		loops_else(l->out);
		nest_set(l, &sums, w.target, v);
		loops_end(l->out);
		nest_set(l, &counts, w.target, lower_add(l, DT_I64, count, loops_int(l->out, 1)));
		nest_end(l, w.outer);
		if (str_eq(how, "mean"))
			divide_sums(l, &sums, &counts);
	}
	nest_sums_done(l, &sums);
}
const struct lower_rule lower_scatter_reduce_two = {.nests = nests_scatter_reduce};
