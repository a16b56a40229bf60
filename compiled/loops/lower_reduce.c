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
const struct lower_rule lower_sum = {.nests = nests_sum};

/* v rounded to dtype t, in f64. */
static int rounded(struct lowering *l, enum dtype t, int v) { return loops_as(l->out, REG_F64, loops_round(l->out, t, v)); }

static void nests_mean(struct lowering *l, int node)
{
	struct lane r;
	enum dtype t = l->place[0].meta.dtype;
	t = dtype_compute(t);
	lanes_open(&r, l, node);
	const int sum = rounded(l, t, folded(&r, l, t, nest_float(l, 0), nest_sum));
	nest_put(l, 0, r.out, rounded(l, t, nest_row(l, OP_div_Tensor, DT_F64, sum, nest_float(l, (double)r.count))));
	nest_end(l, r.outer);
}
const struct lower_rule lower_mean = {.nests = nests_mean};

static int step_product(struct lowering *l, enum dtype t, int acc, int x)
{
	const int product = nest_row(l, OP_mul_Tensor, nest_wide(t), acc, x);
	return dtype_is_float(t) ? rounded(l, t, product) : product;
}

static void nests_prod(struct lowering *l, int node) { fold_lanes(l, node, 1, step_product); }
const struct lower_rule lower_prod = {.nests = nests_prod};

/* ---- any and all ---- */

static int is_nonzero(struct lowering *l, enum dtype t, int x)
{
	return nest_holds(l, OP_ne_Tensor, nest_wide(t), x, wide_number(l, t, 0));
}

static int step_any(struct lowering *l, enum dtype t, int acc, int x) { return nest_row(l, OP_maximum, DT_I64, acc, is_nonzero(l, t, x)); }
static int step_all(struct lowering *l, enum dtype t, int acc, int x) { return nest_row(l, OP_minimum, DT_I64, acc, is_nonzero(l, t, x)); }

static void any_all(struct lowering *l, int node, bool all)
{
	struct lane r;
	lanes_open(&r, l, node);
	nest_put(l, 0, r.out, folded(&r, l, self_dtype(l, node), loops_int(l->out, all), all ? step_all : step_any));
	nest_end(l, r.outer);
}

static void nests_any(struct lowering *l, int node) { any_all(l, node, false); }
static void nests_all(struct lowering *l, int node) { any_all(l, node, true); }
const struct lower_rule lower_any = {.nests = nests_any};
const struct lower_rule lower_all = {.nests = nests_all};

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

/* Into result `value` the extremum, into result `index` its position within the lane; -1: it is no result. */
static void extremum_at(struct lowering *l, int node, bool greatest, int value, int index)
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
	if (value >= 0)
		nest_put(l, value, r.out, best);
	nest_put(l, index, r.out, at);
	nest_end(l, r.outer);
}

static void nests_argmax(struct lowering *l, int node) { extremum_at(l, node, true, -1, 0); }
static void nests_argmin(struct lowering *l, int node) { extremum_at(l, node, false, -1, 0); }
static void nests_max_dim(struct lowering *l, int node) { extremum_at(l, node, true, 0, 1); }
static void nests_min_dim(struct lowering *l, int node) { extremum_at(l, node, false, 0, 1); }
const struct lower_rule lower_argmax = {.nests = nests_argmax};
const struct lower_rule lower_argmin = {.nests = nests_argmin};
const struct lower_rule lower_max_dim = {.nests = nests_max_dim};
const struct lower_rule lower_min_dim = {.nests = nests_min_dim};

/* ---- logsumexp: log(sum exp(x - m)) + m with m the maximum, or 0 where that is infinite ---- */

static int unary(struct lowering *l, int row, int x) { return loops_row(l->out, row, DT_F64, x, NO_REG, NO_REG, NO_REG, NO_REG); }

static int difference(struct lowering *l, int a, int b)
{
	return loops_row(l->out, OP_sub_Tensor, DT_F64, a, b, NO_REG, nest_float(l, 1), NO_REG);
}

static void nests_logsumexp(struct lowering *l, int node)
{
	struct lane r;
	const enum dtype t = l->place[0].meta.dtype; /* integers as f32 */
	lower_settle(l, node);
	lanes_open(&r, l, node);
	const int greatest = folded(&r, l, t, worst(l, t, true), step_greatest);
	const int infinite = nest_holds(l, OP_eq_Tensor, DT_F64, unary(l, OP_abs, greatest), nest_float(l, INFINITY));
	const int m = loops_select(l->out, infinite, nest_float(l, 0), greatest);
	const int acc = loops_var(l->out, nest_float(l, 0)), depth = elements_open(&r, l);
	const int x = nest_load(l, r.self, r.in, t);
	loops_set(l->out, acc, nest_sum(l, DT_F64, acc, unary(l, OP_exp, difference(l, x, m))));
	nest_end(l, depth);
	nest_put(l, 0, r.out, nest_sum(l, DT_F64, unary(l, OP_log, acc), m));
	nest_end(l, r.outer);
}
const struct lower_rule lower_logsumexp = {.nests = nests_logsumexp};

/* ---- variance, by Welford's update ---- */

static double correction_of(const struct node *n)
{
	const struct arg *a = &n->arg[op_arg(n->op, N_correction)];
	if (a->tag == ARG_NONE)
		return 1;
	return a->scalar.kind == SC_FLOAT ? a->scalar.f : (double)a->scalar.i;
}

/* mean += d / (i + 1), squares += d * (x - mean), with d = x - mean as it was. */
static void welford(struct lowering *l, struct lane *r, int mean, int squares, enum dtype t)
{
	const int depth = elements_open(r, l), x = nest_load(l, r->self, r->in, t), d = difference(l, x, mean);
	struct affine count = r->position;
	count.base++;
	const int share = nest_row(l, OP_div_Tensor, DT_F64, d, loops_as(l->out, REG_F64, loops_index(l->out, &count)));
	loops_set(l->out, mean, nest_sum(l, DT_F64, mean, share));
	loops_set(l->out, squares, nest_sum(l, DT_F64, squares, nest_row(l, OP_mul_Tensor, DT_F64, d, difference(l, x, mean))));
	nest_end(l, depth);
}

static void variance(struct lowering *l, int node, bool with_mean)
{
	struct lane r;
	lanes_open(&r, l, node);
	const double freedom = (double)r.count - correction_of(&l->p->node[node]), first = r.count ? 0 : NAN;
	const int mean = loops_var(l->out, nest_float(l, first)), squares = loops_var(l->out, nest_float(l, first));
	welford(l, &r, mean, squares, self_dtype(l, node));
	nest_put(l, 0, r.out, nest_row(l, OP_div_Tensor, DT_F64, squares, nest_float(l, MAX(freedom, 0.0))));
	if (with_mean)
		nest_put(l, 1, r.out, mean);
	nest_end(l, r.outer);
}

static void nests_var(struct lowering *l, int node) { variance(l, node, false); }
static void nests_var_mean(struct lowering *l, int node) { variance(l, node, true); }
const struct lower_rule lower_var = {.nests = nests_var};
const struct lower_rule lower_var_mean = {.nests = nests_var_mean};
