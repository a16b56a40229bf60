/* reduce.c: dimensions, lanes and shapes of reductions, and the shape rules of the whole family (see reduce.h). */
#include "eager/ops/reduce.h"

#include "eager/ops/body.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"

#include <math.h>

static const struct arg *given_arg(const struct node *n, int name)
{
	const struct arg *a = node_arg(n, name);
	return a && a->tag != ARG_NONE ? a : NULL;
}

bool reduce_keepdim(const struct node *n)
{
	const struct arg *a = given_arg(n, N_keepdim);
	return a && a->b;
}

bool node_dtype(enum dtype *out, const struct node *n)
{
	const struct arg *a = given_arg(n, N_dtype);
	if (a)
		*out = a->dtype;
	return a != NULL;
}

bool reduce_dims(bool reduced[MAX_RANK], const struct node *n, int rank, struct err *err)
{
	const struct arg *a = given_arg(n, N_dim);
	int d;
	memset(reduced, 0, sizeof(bool) * MAX_RANK);
	if (!a || (a->tag == ARG_INTS && a->n == 0)) {
		for (d = 0; d < rank; d++)
			reduced[d] = true;
		return true;
	}
	if (a->tag == ARG_INT) {
		if (!dim_wrap(&d, a->i.value, rank, err))
			return false;
		reduced[d] = true;
		return true;
	}
	for (int i = 0; i < a->n; i++) {
		if (!dim_wrap(&d, a->ints[i].value, rank, err))
			return false;
		if (reduced[d])
			return err_set(err, "dim %d appears multiple times in the list of dims", d);
		reduced[d] = true;
	}
	return true;
}

void reduce_shape(struct meta *out, const struct meta *in, const bool *reduced, bool keepdim, enum dtype t)
{
	int64_t size[MAX_RANK];
	int rank = 0;
	for (int d = 0; d < in->rank; d++)
		if (!reduced[d] || keepdim)
			size[rank++] = reduced[d] ? 1 : in->size[d];
	meta_make_contiguous(out, t, size, rank);
	out->device = in->device;
}

/* Cells of a contiguous tensor along the chosen dims, in row-major order. */
static const int64_t *cells(int64_t *n, const struct meta *m, const bool *reduced, bool want, struct arena *a)
{
	struct meta part = {.rank = 0};
	for (int d = 0; d < m->rank; d++) {
		if (reduced[d] != want)
			continue;
		part.size[part.rank] = m->size[d];
		part.stride[part.rank++] = m->stride[d];
	}
	*n = meta_numel(&part);
	int64_t *cell = ARENA_NEW(a, int64_t, *n);
	struct meta_iter it;
	meta_iter_start(&it, &part);
	for (int64_t i = 0; i < *n; i++, meta_iter_next(&it, &part))
		cell[i] = it.off;
	return cell;
}

void lanes_make(struct lanes *out, const int64_t *size, int rank, const bool *reduced, struct arena *a)
{
	struct meta m;
	meta_make_contiguous(&m, DT_F64, size, rank);
	out->base = cells(&out->nlane, &m, reduced, false, a);
	out->step = cells(&out->count, &m, reduced, true, a);
}

void reduce_lanes(struct lanes *out, const struct node *n, const struct meta *in, struct arena *a)
{
	bool reduced[MAX_RANK];
	CHECK(reduce_dims(reduced, n, in->rank, NULL));
	lanes_make(out, in->size, in->rank, reduced, a);
}

/* ---- derivatives ---- */

/* unsqueeze_multiple of FunctionsManual.cpp. */
int reduce_restored(struct vjp *v, int x)
{
	const struct meta *self = vjp_meta(v, A_reduction_self);
	const struct arg *dim = given_arg(v->n, N_dim);
	bool reduced[MAX_RANK];
	if (reduce_keepdim(v->n) || self->rank == 0 || !dim || (dim->tag == ARG_INTS && dim->n == 0))
		return x;
	CHECK(reduce_dims(reduced, v->n, self->rank, NULL));
	for (int d = 0; d < self->rank; d++)
		if (reduced[d])
			x = emit_unsqueeze(v->b, x, d);
	return x;
}

int reduce_dim(const struct vjp *v)
{
	int d;
	CHECK(dim_wrap(&d, node_int(v->n, op_arg(v->n->op, N_dim)), vjp_meta(v, A_reduction_self)->rank, NULL));
	return d;
}

int reduce_as(struct vjp *v, int x, int dtype) { return (int)build_meta(v->b, x)->dtype == dtype ? x : emit_to_copy(v->b, x, dtype); }

/* ---- elements ---- */

/* t itself, or a copy of it in dtype `as`. */
static struct tensor as_dtype(const struct tensor *t, enum dtype as, struct arena *a)
{
	if (t->meta.dtype == as)
		return *t;
	struct tensor c;
	struct meta m;
	meta_make_contiguous(&m, as, t->meta.size, t->meta.rank);
	tensor_new(&c, &m, a);
	tensor_copy(&c, t);
	return c;
}

double *load_doubles(const struct tensor *src, enum dtype as, struct arena *a)
{
	struct tensor t = as_dtype(src, as, a);
	int64_t n = meta_numel(&t.meta);
	double *v = ARENA_NEW(a, double, n);
	struct meta_iter it;
	meta_iter_start(&it, &t.meta);
	for (int64_t i = 0; i < n; i++, meta_iter_next(&it, &t.meta))
		v[i] = dtype_load_f(as, tensor_at(&t, it.off));
	return v;
}

int64_t *load_ints(const struct tensor *src, enum dtype as, struct arena *a)
{
	struct tensor t = as_dtype(src, as, a);
	int64_t n = meta_numel(&t.meta);
	int64_t *v = ARENA_NEW(a, int64_t, n);
	struct meta_iter it;
	meta_iter_start(&it, &t.meta);
	for (int64_t i = 0; i < n; i++, meta_iter_next(&it, &t.meta))
		v[i] = dtype_load_i(as, tensor_at(&t, it.off));
	return v;
}

/* ---- shape rules ---- */

static bool shape_rule(struct meta_ctx *c, enum dtype t)
{
	bool reduced[MAX_RANK];
	if (!reduce_dims(reduced, c->n, c->in[A_reduction_self]->rank, c->err))
		return false;
	reduce_shape(&c->out[0], c->in[A_reduction_self], reduced, reduce_keepdim(c->n), t);
	return true;
}

/* Sums and products of integers and bools are i64 unless told otherwise. */
static enum dtype sum_dtype(const struct meta_ctx *c)
{
	enum dtype t = c->in[A_reduction_self]->dtype;
	if (!dtype_is_float(t))
		t = DT_I64;
	node_dtype(&t, c->n);
	return t;
}

bool meta_sum(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }
bool meta_sum_dim(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }
bool meta_prod(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }
bool meta_prod_dim(struct meta_ctx *c) { return shape_rule(c, sum_dtype(c)); }

bool meta_mean(struct meta_ctx *c)
{
	enum dtype t = c->in[A_mean_self]->dtype;
	bool given = node_dtype(&t, c->n);
	if (!dtype_is_float(t))
		return err_set(c->err, "mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s",
			given ? "Optional" : "Input", dtype_info[t].c10);
	return shape_rule(c, t);
}

/* Of floats into integers: 2.11.0 refuses it, 2.15.0 does not. */
bool meta_nansum(struct meta_ctx *c)
{
	const int into = op_arg(c->n->op, N_dtype);
	const enum dtype dt = node_given(c->n, into) ? c->n->arg[into].dtype : c->in[A_nansum_self]->dtype;
	if (dtype_is_float(c->in[A_nansum_self]->dtype) && !dtype_is_float(dt))
		return err_limit(c->err, "nansum of floats into %s: PyTorch 2.11 refuses it, 2.15 does not", dtype_info[dt].name);
	bool reduced[MAX_RANK];
	int several = 0;
	if (!reduce_dims(reduced, c->n, c->in[A_nansum_self]->rank, c->err))
		return false;
	for (int d = 0; d < c->in[A_nansum_self]->rank; d++)
		several += reduced[d] && c->in[A_nansum_self]->size[d] > 1;
	if (dtype_is_narrow(dt) && several > 1)
		return err_limit(c->err, "nansum of %s over several dims: PyTorch rounds after each of some of them", dtype_info[dt].name);
	return meta_body(c);
}

bool meta_mean_dim(struct meta_ctx *c) { return meta_mean(c); }

/* ---- extrema: an empty lane has none ---- */

static void bare_name(const struct node *n, char buf[MAX_NAME])
{
	snprintf(buf, MAX_NAME, "%s", op_info[n->op].name);
	char *dot = strchr(buf, '.');
	if (dot)
		*dot = 0;
}

static bool check_nonempty(const struct meta_ctx *c)
{
	char name[MAX_NAME];
	const struct meta *in = c->in[A_reduction_self];
	const struct arg *dim = given_arg(c->n, N_dim);
	if (meta_numel(in) > 0)
		return true;
	bare_name(c->n, name);
	if (!dim || (dim->tag == ARG_INTS && dim->n == 0))
		return err_set(c->err, "%s(): Expected reduction dim to be specified for input.numel() == 0.%s", name,
			str_starts(name, "arg") ? "" : " Specify the reduction dim with the 'dim' argument.");
	for (int i = 0, n = dim->tag == ARG_INTS ? dim->n : 1; i < n; i++) {
		int64_t d = dim->tag == ARG_INTS ? dim->ints[i].value : dim->i.value;
		if (in->size[d < 0 ? d + in->rank : d] == 0)
			return err_set(c->err, "%s(): Expected reduction dim %lld to have non-zero size.", name, (long long)d);
	}
	return true;
}

static bool extremum_rule(struct meta_ctx *c, enum dtype t)
{
	bool reduced[MAX_RANK];
	if (!reduce_dims(reduced, c->n, c->in[A_reduction_self]->rank, c->err) || !check_nonempty(c))
		return false;
	reduce_shape(&c->out[0], c->in[A_reduction_self], reduced, reduce_keepdim(c->n), t);
	return true;
}

bool meta_aminmax(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_aminmax_self];
	const int at = op_arg(c->n->op, N_dim);
	int d;
	if (meta_numel(in) > 0 || !node_given(c->n, at))
		return meta_numel(in) > 0
			? meta_body(c)
			: err_set(c->err, "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
	if (!dim_wrap(&d, node_int(c->n, at), in->rank, c->err))
		return false;
	return in->size[d] > 0 ? meta_body(c) : err_set(c->err, "aminmax: Expected reduction dim %d to have non-zero size.", d);
}

bool meta_amax(struct meta_ctx *c) { return extremum_rule(c, c->in[A_amax_self]->dtype); }
bool meta_max(struct meta_ctx *c) { return extremum_rule(c, c->in[A_max_self]->dtype); }
bool meta_argmax(struct meta_ctx *c) { return extremum_rule(c, DT_I64); }

bool meta_max_dim(struct meta_ctx *c)
{
	if (!extremum_rule(c, c->in[A_max_dim_self]->dtype))
		return false;
	c->nout = 2;
	c->out[1] = c->out[0];
	c->out[1].dtype = DT_I64;
	return true;
}

bool meta_topk(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_topk_self];
	int d;
	int64_t k = node_int(c->n, op_arg(c->n->op, N_k)), size[MAX_RANK];
	if (!dim_wrap(&d, node_int(c->n, op_arg(c->n->op, N_dim)), in->rank, c->err))
		return false;
	if (k < 0 || k > (in->rank ? in->size[d] : 1))
		return err_set(c->err, "selected index k out of range");
	memcpy(size, in->size, sizeof size);
	if (in->rank)
		size[d] = k;
	c->nout = 2;
	for (int i = 0; i < 2; i++) {
		meta_make_contiguous(&c->out[i], i ? DT_I64 : in->dtype, size, in->rank);
		c->out[i].device = in->device;
	}
	return true;
}

bool meta_kthvalue(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_kthvalue_self];
	const int64_t k = node_int(c->n, A_kthvalue_k);
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_kthvalue_dim), in->rank, c->err) || !check_nonempty(c))
		return false;
	if (k < 1 || k > (in->rank ? in->size[d] : 1))
		return err_set(c->err, "kthvalue(): selected number k out of range for dimension %d", d);
	return meta_body(c);
}

/* Both are called median in what they say. */
bool meta_median_dim(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_median_dim_self];
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_median_dim_dim), in->rank, c->err))
		return false;
	if (in->rank && in->size[d] == 0)
		return err_set(c->err, "median(): Expected reduction dim %d to have non-zero size.", d);
	if (in->rank && in->size[d] > 1 && in->stride[d] == 0)
		return err_limit(c->err, "%s along an expanded dim: PyTorch reads outside of self", op_info[c->n->op].name);
	return meta_body(c);
}

bool meta_median(struct meta_ctx *c)
{
	if (meta_numel(c->in[A_median_self]) == 0)
		return err_limit(c->err, "the median of nothing");
	return meta_body(c);
}

/* ---- the others ---- */

bool meta_logsumexp(struct meta_ctx *c)
{
	static const int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
	char text[SIZES_TEXT];
	const struct arg *dim = given_arg(c->n, N_dim);
	if (dim->n == 0 && c->in[A_logsumexp_self]->rank > 0 && meta_numel(c->in[A_logsumexp_self]) > 0 && !reduce_keepdim(c->n))
		return err_set(
			c->err, "output with shape [] doesn't match the broadcast shape %s", sizes_text(text, ones, c->in[A_logsumexp_self]->rank));
	enum dtype t = c->in[A_logsumexp_self]->dtype;
	return shape_rule(c, dtype_is_float(t) ? t : DT_F32);
}

/* Where an empty lane has no norm. */
static bool norm_is_there(const struct meta_ctx *c, double order)
{
	const struct meta *in = c->in[A_vector_norm_self];
	const struct arg *dim = given_arg(c->n, N_dim);
	bool reduced[MAX_RANK];
	if (!isinf(order) || meta_numel(in) > 0)
		return true;
	if (!dim || dim->n == 0)
		return err_set(c->err,
			"linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have an "
			"identity",
			order);
	CHECK(reduce_dims(reduced, c->n, in->rank, NULL));
	for (int d = 0; d < in->rank; d++)
		if (reduced[d] && in->size[d] == 0)
			return err_set(c->err,
				"linalg.vector_norm cannot compute the %g norm on the dimension %dbecause this dimension is empty and the operation "
				"does not have an identity",
				order, d);
	return true;
}

double reduce_order(const struct node *n)
{
	const int p = op_arg(n->op, N_p); /* vector_norm calls it ord */
	const struct arg *a = &n->arg[p >= 0 ? p : A_vector_norm_self + 1];
	return a->tag == ARG_NONE ? 2 : a->scalar.kind == SC_FLOAT ? a->scalar.f : (double)a->scalar.i;
}

bool meta_vector_norm(struct meta_ctx *c)
{
	const double order = reduce_order(c->n);
	if (!isinf(order) && order != 0 && order != 1 && order != 2)
		return err_limit(c->err, "a norm of order %g", order);
	return body_takes_self(c) && shape_rule(c, c->in[A_vector_norm_self]->dtype) && norm_is_there(c, order);
}

/* Of order 0 PyTorch's backward raises. */
bool meta_dist(struct meta_ctx *c)
{
	const double order = reduce_order(c->n);
	if (!isinf(order) && order != 1 && order != 2)
		return err_limit(c->err, "a dist of order %g", order);
	return body_takes_self(c) && meta_body(c);
}

bool meta_var(struct meta_ctx *c) { return shape_rule(c, c->in[A_var_self]->dtype); }

bool meta_var_mean(struct meta_ctx *c)
{
	if (!shape_rule(c, c->in[A_var_mean_self]->dtype))
		return false;
	c->nout = 2;
	c->out[1] = c->out[0];
	return true;
}

bool meta_cumsum(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_cumsum_self];
	int d;
	if (!dim_wrap(&d, node_int(c->n, op_arg(c->n->op, N_dim)), in->rank, c->err))
		return false;
	if (sum_dtype(c) == DT_B8 && in->rank > 0 && meta_numel(in) > 0)
		return err_set(c->err, "\"%s_out_cpu\" not implemented for 'Bool'", op_info[c->n->op].name);
	meta_make_contiguous(&c->out[0], sum_dtype(c), in->size, in->rank);
	c->out[0].device = in->device;
	return true;
}
