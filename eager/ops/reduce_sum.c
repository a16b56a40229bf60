/* reduce_sum.c: sum, var, and the derivatives of these, of mean, of logsumexp and of norms (accumulation: reduce.h). */
#include "eager/ops/reduce.h"
#include "eager/ops/row_rules.h"

#include <math.h>

/* ---- sum and mean ---- */

static void sum_ints(struct tensor *out, const struct lanes *l, const int64_t *x)
{
	for (int64_t lane = 0; lane < l->nlane; lane++) {
		int64_t acc = 0;
		for (int64_t i = 0; i < l->count; i++)
			acc = out->meta.dtype == DT_B8 ? acc | x[lane_at(l, lane, i)] : wrap_add(acc, x[lane_at(l, lane, i)]);
		put_int(out, lane, acc);
	}
}

static double lane_sum(const struct lanes *l, int64_t lane, const double *x)
{
	double acc = 0;
	for (int64_t i = 0; i < l->count; i++)
		acc += x[lane_at(l, lane, i)];
	return acc;
}

bool kern_sum(struct kern_ctx *c)
{
	struct lanes l;
	enum dtype t = c->out->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[A_sum_self]->meta, c->scratch);
	if (!dtype_is_float(t)) {
		sum_ints(c->out, &l, load_ints(c->in[A_sum_self], t, c->scratch));
		return true;
	}
	const double *x = load_doubles(c->in[A_sum_self], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(c->out, lane, lane_sum(&l, lane, x));
	return true;
}

void vjp_sum(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_sum_self);
	int g = reduce_restored(v, v->g[0]);
	v->grad[A_sum_self] = emit_expand(v->b, g, self->size, self->rank);
}

void vjp_nansum(struct vjp *v)
{
	vjp_sum(v);
	const int number = emit_logical_not(v->b, emit_isnan(v->b, v->in[A_nansum_self]));
	v->grad[A_nansum_self] = emit_mul_Tensor(v->b, v->grad[A_nansum_self], number);
}

/* g expanded, then divided. */
static int mean_gradient(struct vjp *v, int g)
{
	const struct meta *self = vjp_meta(v, A_reduction_self);
	bool reduced[MAX_RANK];
	int64_t count = 1;
	CHECK(reduce_dims(reduced, v->n, self->rank, NULL));
	for (int d = 0; d < self->rank; d++)
		if (reduced[d])
			count *= self->size[d];
	g = reduce_restored(v, g);
	g = emit_expand(v->b, g, self->size, self->rank);
	return emit_div_Scalar(v->b, g, scalar_int(count));
}

void vjp_mean(struct vjp *v) { v->grad[A_mean_self] = mean_gradient(v, v->g[0]); }
void vjp_mean_dim(struct vjp *v) { vjp_mean(v); }

/* ---- logsumexp ---- */

/* g * exp(self - result) */
void vjp_logsumexp(struct vjp *v)
{
	int g = reduce_restored(v, v->g[0]);
	int y = reduce_restored(v, v->out[0]);
	int share = emit_sub_Tensor(v->b, v->in[A_logsumexp_self], y, scalar_int(1));
	share = emit_exp(v->b, share);
	v->grad[A_logsumexp_self] = emit_mul_Tensor(v->b, g, share);
}

/* ---- norms: norm_backward of FunctionsManual.cpp ---- */

/* The elements whose size is the norm share; of a NaN, those that are NaN. */
static int extreme_share(struct build *b, int x, int g, int y, const int64_t *dims, int ndim)
{
	const int winner = emit_logical_or(b, emit_eq_Tensor(b, emit_abs(b, x), y), emit_isnan(b, x));
	return emit_mul_Tensor(b, emit_div_Tensor(b, g, emit_sum_dim(b, winner, dims, ndim, true, -1)), winner);
}

/* The cotangent of x, whose norm over dims is y; of order 0 nothing passes. */
static int norm_gradient(struct build *b, double order, int x, int g, int y, const int64_t *dims, int ndim)
{
	if (order == 2) {
		const int slope = emit_div_Tensor(b, x, y);
		return emit_mul_Tensor(b, g, emit_masked_fill(b, slope, emit_eq_Scalar(b, y, scalar_int(0)), scalar_int(0)));
	}
	return order == 0 ? NO_VALUE : emit_mul_Tensor(b, emit_sgn(b, x), isinf(order) ? extreme_share(b, x, g, y, dims, ndim) : g);
}

void vjp_vector_norm(struct vjp *v)
{
	const struct arg *dim = &v->n->arg[A_vector_norm_dim];
	int64_t dims[MAX_RANK];
	const int n = dim->tag == ARG_NONE ? 0 : dim->n;
	for (int i = 0; i < n; i++)
		dims[i] = dim->ints[i].value;
	const int g = reduce_restored(v, v->g[0]), y = reduce_restored(v, v->out[0]);
	v->grad[A_vector_norm_self] = norm_gradient(v->b, reduce_order(v->n), v->in[A_vector_norm_self], g, y, dims, n);
}

void vjp_dist(struct vjp *v)
{
	const int apart = emit_sub_Tensor(v->b, v->in[A_dist_self], v->in[A_dist_other], scalar_int(1));
	const int grad = norm_gradient(v->b, reduce_order(v->n), apart, v->g[0], v->out[0], NULL, 0);
	v->grad[A_dist_self] = grad;
	if (v->want[A_dist_other])
		v->grad[A_dist_other] = emit_neg(v->b, grad);
}

void vjp_norm_dim(struct vjp *v) { vjp_vector_norm(v); }

/* ---- variance ---- */

static double correction_of(const struct node *n)
{
	const struct arg *a = &n->arg[op_arg(n->op, N_correction)];
	if (a->tag == ARG_NONE)
		return 1;
	return a->scalar.kind == SC_FLOAT ? a->scalar.f : (double)a->scalar.i;
}

/* Welford's update, as PyTorch: exactly 0 for equal elements. */
static void variances(struct kern_ctx *c, struct tensor *var, struct tensor *mean)
{
	struct lanes l;
	reduce_lanes(&l, c->n, &c->in[A_reduction_self]->meta, c->scratch);
	const double *x = load_doubles(c->in[A_reduction_self], c->in[A_reduction_self]->meta.dtype, c->scratch);
	double n = (double)l.count, dof = n - correction_of(c->n);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		double mu = 0, acc = 0;
		for (int64_t i = 0; i < l.count; i++) {
			double v = x[lane_at(&l, lane, i)], d = v - mu;
			mu += d / (double)(i + 1);
			acc += d * (v - mu);
		}
		put_double(var, lane, l.count ? acc / MAX(dof, 0.0) : NAN);
		if (mean)
			put_double(mean, lane, l.count ? mu : NAN);
	}
}

bool kern_var(struct kern_ctx *c)
{
	variances(c, &c->out[0], NULL);
	return true;
}

bool kern_var_mean(struct kern_ctx *c)
{
	variances(c, &c->out[0], &c->out[1]);
	return true;
}

/* Over all elements without degrees of freedom: NaN at the mean, infinity elsewhere, times g. */
static int no_freedom(struct vjp *v, int g)
{
	int x = v->in[A_reduction_self], dtype = (int)vjp_meta(v, A_reduction_self)->dtype;
	int mean = emit_mean(v->b, x, -1);
	int at_mean = emit_eq_Tensor(v->b, x, mean);
	int nan = emit_scalar_tensor(v->b, scalar_float(NAN), dtype);
	int inf = emit_scalar_tensor(v->b, scalar_float(INFINITY), dtype);
	int slope = emit_where_self(v->b, at_mean, nan, inf);
	return emit_mul_Tensor(v->b, g, slope);
}

/* (2 / (n - correction) * g) * (self - mean). PyTorch multiplies sizes to get n: over chosen dims it is 1 for dim=[], although that reduces
 * them all. */
static int variance_gradient(struct vjp *v, int g)
{
	const struct meta *self = vjp_meta(v, A_reduction_self);
	const struct arg *dim = &v->n->arg[op_arg(v->n->op, N_dim)];
	bool over_all = self->rank == 0 || dim->tag == ARG_NONE;
	int x = v->in[A_reduction_self], mean, ndim = 0;
	int64_t dims[MAX_RANK], count = over_all ? meta_numel(self) : 1;
	for (int i = 0; !over_all && i < dim->n; i++) {
		int d;
		CHECK(dim_wrap(&d, dim->ints[i].value, self->rank, NULL));
		dims[ndim++] = d;
		count *= self->size[d];
	}
	double dof = (double)count - correction_of(v->n);
	if (over_all && dof <= 0)
		return no_freedom(v, g);
	g = reduce_restored(v, g);
	g = emit_mul_Scalar(v->b, g, scalar_float(2 / dof));
	mean = over_all ? emit_mean(v->b, x, -1) : emit_mean_dim(v->b, x, dims, ndim, true, -1);
	x = emit_sub_Tensor(v->b, x, mean, scalar_int(1));
	return emit_mul_Tensor(v->b, g, x);
}

void vjp_var(struct vjp *v) { v->grad[A_var_self] = variance_gradient(v, v->g[0]); }

static void of_moments(struct vjp *v, int g, int g_mean)
{
	const int grad = g != NO_VALUE ? variance_gradient(v, g) : NO_VALUE;
	const int mean = g_mean != NO_VALUE ? mean_gradient(v, g_mean) : NO_VALUE;
	const bool both = grad != NO_VALUE && mean != NO_VALUE;
	v->grad[A_reduction_self] = both ? emit_add_Tensor(v->b, grad, mean, scalar_int(1)) : grad == NO_VALUE ? mean : grad;
}

void vjp_var_mean(struct vjp *v) { of_moments(v, v->g[0], v->g[1]); }

/* The cotangent of the variance whose root y is: nothing passes where it is 0. */
static int under_root(struct vjp *v, int g, int y)
{
	struct build *b = v->b;
	const int slope = emit_div_Tensor(b, g, emit_mul_Scalar(b, y, scalar_int(2)));
	return emit_masked_fill(b, slope, emit_eq_Scalar(b, y, scalar_int(0)), scalar_int(0));
}

void vjp_std_correction(struct vjp *v) { v->grad[A_reduction_self] = variance_gradient(v, under_root(v, v->g[0], v->out[0])); }

void vjp_std_mean(struct vjp *v) { of_moments(v, v->g[0] == NO_VALUE ? NO_VALUE : under_root(v, v->g[0], v->out[0]), v->g[1]); }
