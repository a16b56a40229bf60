/* factory.c: constants: full, zeros, ones, arange and their likes, and the in-place fills. Facts: ATen/native/TensorFactories.cpp,
 * RangeFactories.cpp, Fill.cpp. */
#include "eager/ops/move.h"
#include "eager/ops/range.h"
#include "eager/ops/row_rules.h"

#include <math.h>

/* Result 0 has the sizes of argument k, contiguous. */
static bool size_of_arg(struct meta_ctx *c, int k, enum dtype t)
{
	const struct node *n = c->n;
	int64_t size[MAX_RANK];
	char text[SIZES_TEXT];
	if (n->arg[k].n > MAX_RANK)
		return err_limit(c->err, "rank %d exceeds the limit %d", n->arg[k].n, MAX_RANK);
	for (int d = 0; d < n->arg[k].n; d++)
		size[d] = n->arg[k].ints[d].value;
	for (int d = 0; d < n->arg[k].n; d++)
		if (size[d] < 0)
			return err_set(c->err, "Trying to create tensor with negative dimension %lld: %s", (long long)size[d],
				sizes_text(text, size, n->arg[k].n));
	if (!meta_check_sizes(size, n->arg[k].n, c->err))
		return false;
	meta_make_contiguous(&c->out[0], t, size, n->arg[k].n);
	return true;
}

static bool size_given(struct meta_ctx *c, enum dtype t) { return size_of_arg(c, A_sized_size, t); }

static enum dtype dtype_given(const struct node *n, enum dtype otherwise)
{
	int k = op_arg(n->op, N_dtype);
	return node_given(n, k) ? n->arg[k].dtype : otherwise;
}

bool meta_full(struct meta_ctx *c)
{
	static const enum dtype of[] = {[SC_BOOL] = DT_B8, [SC_INT] = DT_I64, [SC_FLOAT] = DT_F32};
	const struct scalar *value = &c->n->arg[A_full_fill_value].scalar;
	return size_given(c, dtype_given(c->n, of[value->kind])) && scalar_fits_fill(value, &c->out[0], c->err);
}

bool meta_zeros(struct meta_ctx *c) { return size_given(c, dtype_given(c->n, DT_F32)); }

bool meta_zeros_like(struct meta_ctx *c)
{
	if (!layout_formatted(&c->out[0], c->in[A_number_like_self], format_given(c->n, FORMAT_PRESERVE), c->err))
		return false;
	c->out[0].dtype = dtype_given(c->n, c->out[0].dtype);
	return true;
}

bool meta_new_zeros(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_new_zeros_self];
	if (!size_of_arg(c, A_new_zeros_size, dtype_given(c->n, self->dtype)))
		return false;
	c->out[0].device = self->device;
	return true;
}

bool meta_new_full(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_new_full_self];
	if (!size_of_arg(c, A_new_full_size, dtype_given(c->n, self->dtype)))
		return false;
	c->out[0].device = self->device;
	return scalar_fits_fill(&c->n->arg[A_new_full_fill_value].scalar, &c->out[0], c->err);
}

bool meta_full_like(struct meta_ctx *c)
{
	return meta_zeros_like(c) && scalar_fits_fill(&c->n->arg[A_full_like_fill_value].scalar, &c->out[0], c->err);
}

bool meta_scalar_tensor(struct meta_ctx *c)
{
	meta_make_contiguous(&c->out[0], dtype_given(c->n, DT_F32), (const int64_t[]){0}, 0);
	return scalar_fits_fill(&c->n->arg[A_scalar_tensor_s].scalar, &c->out[0], c->err);
}

/* ---- ranges ---- */

static bool part(const struct range *r, double *f, int64_t *i, const struct scalar *s, struct err *err)
{
	*f = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (r->ints && !scalar_fits(s, DT_I64, err))
		return false;
	*i = s->kind == SC_FLOAT ? r->ints ? (int64_t)s->f : 0 : s->i;
	return true;
}

/* The parts of a range of integers are cut to whole numbers. PyTorch 2.15 counts with what they were before, 2.11 those of i64 with what
 * they are now; it divides by a step that becomes 0. */
static bool same_length(const struct range *r, struct err *err)
{
	const double start = trunc(r->start), end = trunc(r->end), step = trunc(r->step);
	if (step == 0 || (r->dtype == DT_I64 && ceil((end - start) / step) != ceil((r->end - r->start) / r->step)))
		return err_limit(err,
			"a range of integers with parts that are not whole is another one in PyTorch 2.11 (which dies of a step of 0.5) than in 2.15");
	return true;
}

bool range_of(struct range *r, const struct node *n, struct err *err)
{
	static const struct scalar zero = {SC_INT, 0, 0}, one = {SC_INT, 1, 0};
	int start = op_arg(n->op, N_start), end = op_arg(n->op, N_end), step = op_arg(n->op, N_step);
	const struct scalar *s = start < 0 ? &zero : &n->arg[start].scalar, *e = &n->arg[end].scalar,
						*by = step < 0 ? &one : &n->arg[step].scalar;
	bool floats = s->kind == SC_FLOAT || e->kind == SC_FLOAT || by->kind == SC_FLOAT;
	r->dtype = dtype_given(n, floats ? DT_F32 : DT_I64);
	r->ints = !dtype_is_float(r->dtype);
	if (r->dtype == DT_B8)
		return err_set(err, "\"arange_cpu\" not implemented for 'Bool'");
	if (!part(r, &r->step, &r->istep, by, err))
		return false;
	if (!isfinite(r->step))
		return err_limit(err, "a step that is not finite makes other ranges in PyTorch 2.11 than in 2.15");
	if (r->step == 0)
		return err_set(err, "step must be nonzero");
	const double from = s->kind == SC_FLOAT ? s->f : (double)s->i, to = e->kind == SC_FLOAT ? e->f : (double)e->i;
	if (!isfinite(from) || !isfinite(to))
		return err_set(err, "unsupported range: %g -> %g", from, to);
	if (!part(r, &r->start, &r->istart, s, err) || !part(r, &r->end, &r->iend, e, err) || (r->ints && !same_length(r, err)))
		return false;
	bool up = r->ints ? r->istep > 0 : r->step > 0;
	bool agree = up ? (r->ints ? r->iend >= r->istart : r->end >= r->start) : (r->ints ? r->iend <= r->istart : r->end <= r->start);
	return agree || err_set(err, "upper bound and lower bound inconsistent with step sign");
}

bool meta_arange(struct meta_ctx *c)
{
	struct range r;
	if (!range_of(&r, c->n, c->err))
		return false;
	double n = ceil((r.end - r.start) / r.step);
	if (n > (double)MAX_NUMEL)
		return err_limit(c->err, "%.17g elements exceed the limit %lld", n, (long long)MAX_NUMEL);
	int64_t size = (int64_t)n;
	meta_make_contiguous(&c->out[0], r.dtype, &size, 1);
	return true;
}

bool kern_arange(struct kern_ctx *c)
{
	struct range r;
	CHECK(range_of(&r, c->n, c->err));
	struct tensor *out = &c->out[0];
	for (int64_t i = 0; i < out->meta.size[0]; i++) {
		if (r.ints)
			dtype_store_i(r.dtype, tensor_at(out, i), wrap_add(r.istart, wrap_mul(r.istep, i)));
		else
			dtype_store_f(r.dtype, tensor_at(out, i), dtype_round(r.dtype == DT_F64 ? DT_F64 : DT_F32, r.start + r.step * (double)i));
	}
	return true;
}

/* ---- kernels of the others ---- */

bool kern_full(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &c->n->arg[A_full_fill_value].scalar);
	return true;
}

bool kern_new_full(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &c->n->arg[A_new_full_fill_value].scalar);
	return true;
}

bool kern_full_like(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &c->n->arg[A_full_like_fill_value].scalar);
	return true;
}

bool kern_scalar_tensor(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &c->n->arg[A_scalar_tensor_s].scalar);
	return true;
}

bool kern_zeros_like(struct kern_ctx *c)
{
	tensor_zero(&c->out[0]);
	return true;
}

bool kern_ones_like(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &(struct scalar){SC_INT, 1, 0});
	return true;
}

bool meta_fill(struct meta_ctx *c)
{
	layout_preserve(&c->out[0], c->in[A_fill_self]);
	return scalar_fits_fill(&c->n->arg[A_filled_value].scalar, c->in[A_fill_self], c->err);
}

/* The value is a tensor, copied with conversion. */
bool meta_fill_Tensor(struct meta_ctx *c)
{
	layout_preserve(&c->out[0], c->in[A_fill_Tensor_self]);
	return c->in[A_fill_Tensor_value]->rank == 0
		|| err_set(
			c->err, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.", c->in[A_fill_Tensor_value]->rank);
}

bool kern_fill(struct kern_ctx *c)
{
	tensor_fill_scalar(&c->out[0], &c->n->arg[A_filled_value].scalar);
	return true;
}

/* Nothing of self is left. */
void vjp_fill(struct vjp *v) { v->grad[A_fill_self] = NO_VALUE; }
