/* reduce_sum.c: sum, mean, any, all, logsumexp, var and their derivatives (accumulation: reduce.h). */
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

/* As PyTorch's CPU: a half result is summed and divided in f32, a wider operand never rounded to it; the sum may overflow. */
bool kern_mean(struct kern_ctx *c)
{
	struct lanes l;
	reduce_lanes(&l, c->n, &c->in[A_mean_self]->meta, c->scratch);
	enum dtype t = c->out->meta.dtype;
	t = t == DT_F16 || t == DT_BF16 ? DT_F32 : t;
	const double *x = load_doubles(c->in[A_mean_self], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(c->out, lane, dtype_round(t, dtype_round(t, lane_sum(&l, lane, x)) / (double)l.count));
	return true;
}

/* gin = g expanded over the reduced dims, converted to the operand's dtype. */
static void expand_to(struct tensor *gin, const struct node *n, const struct tensor *g)
{
	bool reduced[MAX_RANK];
	struct tensor v = *g;
	struct meta *m = &v.meta;
	CHECK(reduce_dims(reduced, n, gin->meta.rank, NULL));
	struct meta kept;
	reduce_shape(&kept, &gin->meta, reduced, true, m->dtype);
	kept.offset = m->offset;
	*m = kept; /* the same elements with the reduced dims as size 1 */
	CHECK(tensor_broadcast(&v, &v, gin->meta.size, gin->meta.rank));
	tensor_copy(gin, &v);
}

void grad_sum(struct grad_ctx *c) { expand_to(c->gin[A_sum_self], c->n, &c->gout[0]); }

void grad_mean(struct grad_ctx *c)
{
	struct lanes l;
	struct tensor g;
	reduce_lanes(&l, c->n, &c->gin[A_mean_self]->meta, c->scratch);
	tensor_new(&g, &c->gout[0].meta, c->scratch);
	const double *v = load_doubles(&c->gout[0], g.meta.dtype, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(&g, lane, v[lane] / (double)l.count);
	expand_to(c->gin[A_mean_self], c->n, &g);
}

/* ---- any and all ---- */

/* What counts is only zero or not; NaN is not zero. */
static bool is_nonzero(const struct tensor *t, int64_t cell)
{
	const unsigned char *p = tensor_at(t, cell);
	return dtype_is_float(t->meta.dtype) ? dtype_load_f(t->meta.dtype, p) != 0 : dtype_load_i(t->meta.dtype, p) != 0;
}

static bool any_all(struct kern_ctx *c, bool all)
{
	struct lanes l;
	struct tensor x;
	struct meta m;
	reduce_lanes(&l, c->n, &c->in[A_reduction_self]->meta, c->scratch);
	meta_make_contiguous(&m, c->in[A_reduction_self]->meta.dtype, c->in[A_reduction_self]->meta.size, c->in[A_reduction_self]->meta.rank);
	tensor_new(&x, &m, c->scratch);
	tensor_copy(&x, c->in[A_reduction_self]);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		bool r = all;
		for (int64_t i = 0; i < l.count && r == all; i++)
			r = is_nonzero(&x, lane_at(&l, lane, i));
		put_int(c->out, lane, r);
	}
	return true;
}

bool kern_any(struct kern_ctx *c) { return any_all(c, false); }
bool kern_all(struct kern_ctx *c) { return any_all(c, true); }

/* ---- logsumexp ---- */

/* log(sum exp(x - m)) + m with m the maximum, or 0 where that is infinite. NaN wins. */
static double lane_logsumexp(const struct lanes *l, int64_t lane, const double *x)
{
	double m = -INFINITY, acc = 0;
	for (int64_t i = 0; i < l->count; i++) {
		double v = x[lane_at(l, lane, i)];
		m = v != v || v > m ? v : m;
	}
	if (isinf(m))
		m = 0;
	for (int64_t i = 0; i < l->count; i++)
		acc += exp(x[lane_at(l, lane, i)] - m);
	return log(acc) + m;
}

bool kern_logsumexp(struct kern_ctx *c)
{
	struct lanes l;
	reduce_lanes(&l, c->n, &c->in[A_logsumexp_self]->meta, c->scratch);
	const double *x = load_doubles(c->in[A_logsumexp_self], c->in[A_logsumexp_self]->meta.dtype, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		put_double(c->out, lane, lane_logsumexp(&l, lane, x));
	return true;
}

void grad_logsumexp(struct grad_ctx *c)
{
	struct lanes l;
	enum dtype t = c->in[A_logsumexp_self]->meta.dtype;
	reduce_lanes(&l, c->n, &c->in[A_logsumexp_self]->meta, c->scratch);
	const double *x = load_doubles(c->in[A_logsumexp_self], t, c->scratch), *y = load_doubles(&c->out[0], t, c->scratch);
	const double *g = load_doubles(&c->gout[0], t, c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++)
		for (int64_t i = 0; i < l.count; i++)
			put_double(c->gin[A_logsumexp_self], lane_at(&l, lane, i), g[lane] * exp(x[lane_at(&l, lane, i)] - y[lane]));
}

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

/* d var = 2 / (n - correction) (x - mean) g, d mean = g / n. Over all elements PyTorch says NaN at the mean and infinity
 * elsewhere where n <= correction; over chosen dims it divides as written, and counts n = 1 for dim=[]. */
/* Either may be NULL. */
static void variance_gradient(struct grad_ctx *c, const double *gvar, const double *gmean)
{
	struct lanes l;
	const struct node *node = c->n;
	reduce_lanes(&l, node, &c->in[A_reduction_self]->meta, c->scratch);
	const double *x = load_doubles(c->in[A_reduction_self], c->in[A_reduction_self]->meta.dtype, c->scratch);
	double n = (double)l.count, dof = n - correction_of(node);
	const struct arg *dim = &node->arg[op_arg(node->op, N_dim)];
	if (c->in[A_reduction_self]->meta.rank > 0 && dim->tag == ARG_INTS && dim->n == 0)
		dof = 1 - correction_of(node); /* PyTorch's product over no dims */
	bool over_all = c->in[A_reduction_self]->meta.rank == 0 || dim->tag == ARG_NONE;
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		double mu = lane_sum(&l, lane, x) / n;
		for (int64_t i = 0; i < l.count; i++) {
			int64_t at = lane_at(&l, lane, i);
			double d = !gvar ? 0 : over_all && dof <= 0 ? gvar[lane] * (x[at] == mu ? NAN : INFINITY) : 2 / dof * gvar[lane] * (x[at] - mu);
			put_double(c->gin[A_reduction_self], at, gmean ? d + gmean[lane] / n : d);
		}
	}
}

static const double *arrived(const struct grad_ctx *c, int k)
{
	return !c->arrived || c->arrived[k] ? load_doubles(&c->gout[k], c->gout[k].meta.dtype, c->scratch) : NULL;
}

void grad_var(struct grad_ctx *c) { variance_gradient(c, arrived(c, 0), NULL); }
void grad_var_mean(struct grad_ctx *c) { variance_gradient(c, arrived(c, 0), arrived(c, 1)); }
