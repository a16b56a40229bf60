/* reductions.c: rules of reductions, orders and matrix products. */
#include "compiled/decompose/rules.h"

#include <math.h>

#include "eager/ops/reduce.h"

/* The dims that the row reduces; count: the elements of a lane. */
static int reduced_dims(int64_t dims[MAX_RANK], int64_t *count, const struct decomposition *d)
{
	const struct meta *m = operand_meta(d, A_reduction_self);
	bool reduced[MAX_RANK];
	int n = 0;
	*count = 1;
	CHECK(reduce_dims(reduced, d->n, m->rank, NULL));
	for (int k = 0; k < m->rank; k++)
		if (reduced[k]) {
			dims[n++] = k;
			*count *= m->size[k];
		}
	return n;
}

static int summed(struct decomposition *d, int x, bool keepdim, enum dtype t)
{
	int64_t dims[MAX_RANK] = {0}, count;
	const int n = reduced_dims(dims, &count, d);
	if (n == 0) /* of 0-d: an empty list is all dims, and there are none */
		keepdim = false;
	return emit_sum_dim(d->b, x, dims, n, keepdim, (int)t);
}

static int over(struct decomposition *d, int x, double divisor)
{
	d->b->nnumber = 0;
	return emit_div_Tensor(d->b, x, build_number(d->b, scalar_float(divisor)));
}

RULE(sum) { d->out[0] = summed(d, d->in[A_sum_self], false, result_meta(d, 0)->dtype); }

RULE(prod) { d->out[0] = emit_prod_dim_int(d->b, flat(d, d->in[A_prod_self]), 0, false, (int)result_meta(d, 0)->dtype); }
RULE(max) { d->out[0] = emit_amax(d->b, d->in[A_max_self], (const int64_t[]){0}, 0, false); }
RULE(min) { d->out[0] = emit_amin(d->b, d->in[A_min_self], (const int64_t[]){0}, 0, false); }

/* Bools have an extremum, but no position of one. */
static int comparable(struct decomposition *d, int x) { return build_meta(d->b, x)->dtype == DT_B8 ? as_dtype(d, x, DT_U8) : x; }

RULE(max_dim)
{
	const int self = d->in[A_max_dim_self];
	const int64_t dim = int_arg(d, A_max_dim_dim);
	d->out[0] = emit_amax(d->b, self, &dim, 1, reduce_keepdim(d->n));
	d->out[1] = emit_argmax(d->b, comparable(d, self), dim, reduce_keepdim(d->n));
}

RULE(min_dim)
{
	const int self = d->in[A_min_dim_self];
	const int64_t dim = int_arg(d, A_min_dim_dim);
	d->out[0] = emit_amin(d->b, self, &dim, 1, reduce_keepdim(d->n));
	d->out[1] = emit_argmin(d->b, comparable(d, self), dim, reduce_keepdim(d->n));
}

static double correction_of(const struct decomposition *d)
{
	const struct arg *a = &d->n->arg[op_arg(d->n->op, N_correction)];
	return a->tag == ARG_NONE ? 1 : a->scalar.kind == SC_FLOAT ? a->scalar.f : (double)a->scalar.i;
}

/* In two passes, in double: the mean, then the squares of what is left. Of nothing both are NaN, whatever the correction says.
 * Returns the variance; *mean: of size 1 where it was reduced. */
static int variance(struct decomposition *d, int *mean)
{
	int64_t dims[MAX_RANK], count;
	const int x = as_dtype(d, d->in[A_reduction_self], DT_F64);
	reduced_dims(dims, &count, d);
	const double freedom = count ? MAX((double)count - correction_of(d), 0.0) : 0;
	*mean = over(d, summed(d, x, true, DT_F64), (double)count);
	const int rest = emit_add_Tensor(d->b, x, emit_neg(d->b, *mean), scalar_int(1)), square = emit_mul_Tensor(d->b, rest, rest);
	return over(d, summed(d, square, reduce_keepdim(d->n), DT_F64), freedom);
}

RULE(var_correction)
{
	int mean;
	d->out[0] = as_dtype(d, variance(d, &mean), result_meta(d, 0)->dtype);
}

RULE(var_mean)
{
	int mean;
	d->out[0] = as_dtype(d, variance(d, &mean), result_meta(d, 0)->dtype);
	d->out[1] = as_dtype(d, sized_as(d, mean, result_meta(d, 1)), result_meta(d, 1)->dtype);
}

RULE(topk)
{
	const int64_t dim = int_arg(d, A_topk_dim), k = int_arg(d, A_topk_k);
	const int sorted = emit_sort(d->b, d->in[A_topk_self], dim, d->n->arg[A_topk_largest].b);
	for (int i = 0; i < 2; i++) {
		const int x = build_result(d->b, sorted, i);
		d->out[i] = result_meta(d, i)->rank ? emit_slice_Tensor(d->b, x, dim, 0, k, 1) : x;
	}
}

/* ---- matrix products ---- */

RULE(mv)
{
	const int column = with_dim(d, d->in[A_mv_vec], 1);
	d->out[0] = sized_as(d, emit_mm(d->b, d->in[A_mv_self], column), result_meta(d, 0));
}

RULE(dot)
{
	const int row = with_dim(d, d->in[A_dot_self], 0), column = with_dim(d, d->in[A_dot_tensor], 1);
	d->out[0] = sized_as(d, emit_mm(d->b, row, column), result_meta(d, 0));
}

/* A factor as the kernel sees it: of integers a whole number. */
static struct scalar factor(const struct decomposition *d, int arg)
{
	const struct scalar *s = scalar_arg(d, arg);
	if (dtype_is_float(result_meta(d, 0)->dtype))
		return scalar_float(s->kind == SC_FLOAT ? s->f : (double)s->i);
	return scalar_int(s->kind == SC_FLOAT ? (int64_t)s->f : s->i);
}

static bool is(const struct scalar *s, int64_t v) { return s->kind == SC_FLOAT ? s->f == (double)v : s->i == v; }

static int scaled(struct decomposition *d, int x, struct scalar by)
{
	return is(&by, 1) ? x : emit_mul_Tensor(d->b, x, build_number(d->b, by));
}

/* What is taken 0 times is not looked at. Halves are multiplied and added in f32. */
static void product_onto(struct decomposition *d, int (*product)(struct build *, int, int))
{
	const struct meta *m = result_meta(d, 0);
	const enum dtype t = m->dtype, wide = dtype_compute(t);
	const struct scalar alpha = factor(d, A_onto_alpha), beta = factor(d, A_onto_beta);
	int x = NO_VALUE;
	if (!is(&alpha, 0))
		x = scaled(d, product(d->b, as_dtype(d, d->in[A_onto_self + 1], wide), as_dtype(d, d->in[A_onto_self + 2], wide)), alpha);
	if (!is(&beta, 0)) {
		const int bias = scaled(d, as_dtype(d, d->in[A_onto_self], wide), beta);
		x = x == NO_VALUE ? spread(d, bias, m) : emit_add_Tensor(d->b, bias, x, scalar_int(1));
	}
	d->out[0] = x == NO_VALUE ? filled(d, m, scalar_int(0)) : as_dtype(d, x, t);
}

RULE(addmm) { product_onto(d, emit_mm); }
RULE(baddbmm) { product_onto(d, emit_bmm); }
