/* lower_reduce.c: reductions: for each LANE, the elements of self that one element of the result is made of, a loop over them in row-major
 * order with an accumulator in a register. The arithmetic is that of eager's kernels (eager/ops/reduce.h). */
#include "compiled/loops/lower_nest.h"

#include "eager/ops/reduce.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <math.h>

struct lane {
	int self, rank;
	bool reduced[MAX_RANK];
	int64_t size[MAX_RANK], count; /* of self; elements of a lane */
	struct affine in[MAX_RANK];    /* where in self */
	struct affine out[MAX_RANK];   /* where in the results */
	struct affine position;        /* within the lane */
	int outer;                     /* loops that are open around the lanes */
};

/* Opens the loops over the lanes. */
static void lanes_open(struct lane *r, struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	*r = (struct lane){.self = lower_operand(l, node, A_reduction_self), .count = 1, .outer = l->out->depth};
	const struct meta *m = node_meta(l->p, r->self);
	int kept = 0;
	r->rank = m->rank;
	memcpy(r->size, m->size, sizeof r->size);
	CHECK(reduce_dims(r->reduced, n, m->rank, NULL));
	for (int d = 0; d < m->rank; d++) {
		if (r->reduced[d])
			r->count *= m->size[d];
		else
			r->in[d] = nest_for(l, m->size[d]);
		if (!r->reduced[d] || reduce_keepdim(n))
			r->out[kept++] = r->reduced[d] ? affine_const(0) : r->in[d];
	}
}

/* Opens the loops over the elements of a lane. */
static int elements_open(struct lane *r, struct lowering *l)
{
	const int depth = l->out->depth;
	int64_t step = r->count;
	r->position = affine_const(0);
	for (int d = 0; d < r->rank; d++) {
		if (!r->reduced[d])
			continue;
		step = r->size[d] ? step / r->size[d] : 0;
		r->in[d] = nest_for(l, r->size[d]);
		affine_add(&r->position, &r->in[d], step);
	}
	return depth;
}

/* acc becomes what step says for each element x of the lane, which is converted to dtype t. */
typedef int step_fn(struct lowering *l, enum dtype t, int acc, int x);

static int folded(struct lane *r, struct lowering *l, enum dtype t, int first, step_fn *step)
{
	const int acc = loops_var(l->out, first), depth = elements_open(r, l);
	loops_set(l->out, acc, step(l, t, acc, nest_load(l, r->self, r->in, t)));
	nest_end(l, depth);
	return acc;
}

/* The number v, wide for elements of t. */
static int wide_number(struct lowering *l, enum dtype t, int64_t v)
{
	return dtype_is_float(t) ? nest_float(l, (double)v) : loops_int(l->out, v);
}

static enum dtype self_dtype(const struct lowering *l, int node)
{
	return node_meta(l->p, lower_operand(l, node, A_reduction_self))->dtype;
}

/* ---- sums and products ---- */

/* In the result's dtype, from the number `first`. */
static void fold_lanes(struct lowering *l, int node, int64_t first, step_fn *step)
{
	struct lane r;
	const enum dtype t = l->place[0].meta.dtype;
	lanes_open(&r, l, node);
	nest_put(l, 0, r.out, folded(&r, l, t, wide_number(l, t, first), step));
	nest_end(l, r.outer);
}

static void nests_sum(struct lowering *l, int node) { fold_lanes(l, node, 0, nest_sum); }
const struct lower_rule lower_sum_dim = {.nests = nests_sum};

/* v rounded to dtype t, in f64. */
static int rounded(struct lowering *l, enum dtype t, int v) { return loops_as(l->out, REG_F64, loops_round(l->out, t, v)); }

static int step_product(struct lowering *l, enum dtype t, int acc, int x)
{
	const int product = nest_row(l, OP_mul_Tensor, nest_wide(t), acc, x);
	return dtype_is_float(t) ? rounded(l, t, product) : product;
}

static void nests_prod(struct lowering *l, int node) { fold_lanes(l, node, 1, step_product); }
const struct lower_rule lower_prod_dim_int = {.nests = nests_prod};

/* ---- extrema: the first of equals, and the first NaN; a lane that has a result is not empty ---- */

static int step_greatest(struct lowering *l, enum dtype t, int acc, int x) { return nest_row(l, OP_maximum, nest_wide(t), x, acc); }
static int step_least(struct lowering *l, enum dtype t, int acc, int x) { return nest_row(l, OP_minimum, nest_wide(t), x, acc); }

/* What no element comes before. */
static int worst(struct lowering *l, enum dtype t, bool greatest)
{
	if (dtype_is_float(t))
		return nest_float(l, greatest ? -INFINITY : INFINITY);
	return loops_int(l->out, greatest ? INT64_MIN : INT64_MAX);
}

static void extremum(struct lowering *l, int node, bool greatest)
{
	struct lane r;
	const enum dtype t = self_dtype(l, node);
	lanes_open(&r, l, node);
	nest_put(l, 0, r.out, folded(&r, l, t, worst(l, t, greatest), greatest ? step_greatest : step_least));
	nest_end(l, r.outer);
}

static void nests_amax(struct lowering *l, int node) { extremum(l, node, true); }
static void nests_amin(struct lowering *l, int node) { extremum(l, node, false); }
const struct lower_rule lower_amax = {.nests = nests_amax};
const struct lower_rule lower_amin = {.nests = nests_amin};

/* The position of the extremum within the lane. */
static void extremum_at(struct lowering *l, int node, bool greatest)
{
	struct lane r;
	const enum dtype t = self_dtype(l, node);
	lanes_open(&r, l, node);
	const int best = loops_var(l->out, worst(l, t, greatest)), at = loops_var(l->out, loops_int(l->out, 0)), depth = elements_open(&r, l);
	const int x = nest_load(l, r.self, r.in, t);
	loops_if(l->out, nest_precedes(l, t, greatest ? GREATEST : LEAST, x, best));
	loops_set(l->out, best, x);
	loops_set(l->out, at, loops_index(l->out, &r.position));
	nest_end(l, depth);
	nest_put(l, 0, r.out, at);
	nest_end(l, r.outer);
}

static void nests_argmax(struct lowering *l, int node) { extremum_at(l, node, true); }
static void nests_argmin(struct lowering *l, int node) { extremum_at(l, node, false); }
const struct lower_rule lower_argmax = {.nests = nests_argmax};
const struct lower_rule lower_argmin = {.nests = nests_argmin};
