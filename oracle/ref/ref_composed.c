/* ref_composed.c: operators that are functions of rows along a dim, a row of formula.def each; prelu, glu and log_sigmoid, which PyTorch's
 * Python composes. */
#include "generated/op_id.h"
#include "oracle/num/licence.h"
#include "oracle/ref/ref.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

#include <math.h>

/* f of the tensors that come first, all of the sizes and dtype of the first. shifted: it begins with a difference from the largest. */
static bool of_rows(struct ref_ctx *c, enum sf f, int dim_arg, int ntensor, bool shifted, const double *number)
{
	const struct meta *m = meta_of(c, 0);
	bool mask[MAX_RANK];
	const sid *op[3] = {0};
	int64_t n = 0, len = 0;
	int dim;
	if (!shape_dim(c, &dim, dim_arg, m))
		return false;
	for (int d = 0; d < MAX_RANK; d++)
		mask[d] = d == dim && m->rank > 0;
	for (int k = 0; k < ntensor; k++)
		op[k] = ref_rows(c, c->in[k], mask, &n, &len);
	if (shifted)
		op[0] = ref_unrounded(c, op[0], n * len, m->dtype);
	return ref_out_rows(c, 0, m->dtype, m, mask, tape_formula(c->t, f, m->dtype, op, n, len, number));
}

static bool forward(struct ref_ctx *c, enum sf f)
{
	_Static_assert(
		(int)A_softmax_dim == (int)A_log_softmax_dim && (int)A_softmax_half_to_float == (int)A_log_softmax_half_to_float, "alike");
	if (c->n->arg[A_softmax_half_to_float].b)
		return err_set(c->err, "softmax with half to float conversion is not supported on CPU");
	return of_rows(c, f, A_softmax_dim, 1, true, NULL);
}

REFERENCE(softmax, ANEW) { return forward(c, SF_SOFTMAX); }
REFERENCE(log_softmax, ANEW) { return forward(c, SF_LOG_SOFTMAX); }

REFERENCE(safe_softmax, ANEW)
{
	const double lowest[FORMULA_SCALARS] = {-INFINITY};
	const enum dtype dt = meta_of(c, A_safe_softmax_self)->dtype;
	if (ref_given(c, A_safe_softmax_dtype) && c->n->arg[A_safe_softmax_dtype].dtype != dt)
		return ref_unsupported(c, "_safe_softmax into another dtype: convert self first");
	return of_rows(c, SF_SAFE_SOFTMAX, A_safe_softmax_dim, 1, true, lowest);
}

static bool backward(struct ref_ctx *c, enum sf f)
{
	const struct meta *grad = meta_of(c, A_softmax_backward_grad_output), *output = meta_of(c, A_softmax_backward_output);
	enum dtype input = c->n->arg[A_softmax_backward_input_dtype].dtype;
	if (!meta_same_sizes(grad, output))
		return f == SF_SOFTMAX_BACKWARD ? err_set(c->err, "grad_output and output have different sizes")
										: ref_unsupported(c, "grad_output of other sizes than output: PyTorch reads outside of output");
	bool widened = grad->dtype == DT_F32 && input == DT_F16;
	if (meta_numel(grad) == 0 && (grad->dtype != output->dtype || widened))
		return ref_unsupported(c, "operands of different dtypes without elements, at which PyTorch does not look");
	if (grad->dtype != output->dtype || widened)
		return err_set(c->err, "grad_output, output and input are of different dtypes");
	return of_rows(c, f, A_softmax_backward_dim, 2, false, NULL);
}

REFERENCE(softmax_backward_data, ANEW) { return backward(c, SF_SOFTMAX_BACKWARD); }
REFERENCE(log_softmax_backward_data, ANEW) { return backward(c, SF_LOG_SOFTMAX_BACKWARD); }

/* ---- prelu ---- */

static const struct ref_tensor *operand(const struct ref_ctx *c, int k) { return c->in[k]; }

/* Operands 0 to n - 1 have one floating dtype. */
static bool floating_alike(struct ref_ctx *c, int n)
{
	for (int k = 0; k < n; k++)
		if (meta_of(c, k)->dtype != meta_of(c, 0)->dtype || !dtype_is_float(meta_of(c, k)->dtype))
			return err_set(c->err, "%s of two dtypes, or of integers", op_info[c->n->op].name);
	return true;
}

REFERENCE(prelu_kernel, ANEW)
{
	const struct ref_tensor *self = operand(c, A_prelu_kernel_self), *weight = operand(c, A_prelu_kernel_weight);
	const struct meta *m = &self->meta;
	int64_t stride[MAX_RANK];
	if (!floating_alike(c, 2))
		return false;
	if (!shape_expands(&weight->meta, m->size, m->rank))
		return ref_unsupported(c, "a weight that does not broadcast to self");
	shape_strides_like(stride, m);
	const sid *const x[3] = {ref_ids(c, self), shape_expand_ids(c, ref_ids(c, weight), &weight->meta, m->size, m->rank)};
	return ref_out_block(c, 0, m->dtype, m->size, m->rank, stride, tape_map(c->t, SF_PRELU, m->dtype, x, meta_numel(m), NULL));
}

REFERENCE(prelu_kernel_backward, ANEW)
{
	const struct ref_tensor *self = operand(c, A_prelu_kernel_backward_self), *weight = operand(c, A_prelu_kernel_backward_weight);
	const struct ref_tensor *grad = operand(c, A_prelu_kernel_backward_grad_output);
	const struct meta *m = &self->meta;
	int64_t stride[MAX_RANK];
	if (!floating_alike(c, 3))
		return false;
	if (!shape_expands(&weight->meta, m->size, m->rank) || !meta_same_sizes(&grad->meta, m))
		return ref_unsupported(c, "operands that do not broadcast to self");
	const struct meta op[3] = {*m, weight->meta, grad->meta};
	shape_iterator(stride, m->size, m->rank, op, 3);
	const int64_t n = meta_numel(m);
	const sid *const x[3] = {ref_ids(c, grad), ref_ids(c, self), shape_expand_ids(c, ref_ids(c, weight), &weight->meta, m->size, m->rank)};
	return ref_out_block(c, 0, m->dtype, m->size, m->rank, stride, tape_map(c->t, SF_PRELU_BACKWARD, m->dtype, x, n, NULL))
		&& ref_out_block(c, 1, m->dtype, m->size, m->rank, stride, tape_map(c->t, SF_PRELU_WEIGHT_BACKWARD, m->dtype, x, n, NULL));
}

/* ---- native_dropout_backward ---- */

/* A product by 0 or 1 is exact, so both are one step. */
REFERENCE(native_dropout_backward, ANEW)
{
	const struct ref_tensor *grad = operand(c, A_native_dropout_backward_grad_output), *mask = operand(c, A_native_dropout_backward_mask);
	const enum dtype dt = grad->meta.dtype;
	const double scale[FORMULA_SCALARS] = {c->n->arg[A_native_dropout_backward_scale].scalar.f};
	const struct ref_tensor *const in[2] = {grad, mask};
	struct meta op[2];
	const sid *x[3] = {0};
	int64_t size[MAX_RANK], stride[MAX_RANK];
	int rank = 0;
	if (!ref_not_on_cuda(c)) /* whose kernel gives a contiguous result */
		return false;
	if (mask->meta.dtype != DT_B8 || !floating_alike(c, 1))
		return ref_unsupported(c, "native_dropout_backward of a mask that is none, or of integers");
	for (int k = 0; k < 2; k++)
		if (!shape_broadcast(c, size, &rank, &in[k]->meta))
			return false;
	for (int k = 0; k < 2; k++) {
		op[k] = in[k]->meta;
		x[k] = shape_expand_ids(c, ref_cast(c, ref_ids(c, in[k]), meta_numel(&in[k]->meta), dt), &in[k]->meta, size, rank);
	}
	shape_iterator(stride, size, rank, op, 2);
	return ref_out_block(c, 0, dt, size, rank, stride, tape_map(c->t, SF_DROPOUT_BACKWARD, dt, x, shape_numel(size, rank), scale));
}

/* ---- glu ---- */

/* self's two halves along a dim. */
struct halves {
	struct meta view; /* of either */
	int64_t inner;    /* elements behind one position of dim */
	int64_t n;        /* of a half */
	const sid *half[2];
};

static bool in_halves(struct ref_ctx *c, struct halves *h, const struct ref_tensor *self, int dim_arg)
{
	int dim;
	h->view = self->meta;
	if (self->meta.rank == 0)
		return err_set(c->err, "glu does not support 0-dimensional tensors");
	if (!shape_dim(c, &dim, dim_arg, &self->meta))
		return false;
	if (self->meta.size[dim] % 2)
		return err_set(c->err, "Halving dimension must be even, but dimension %d is not", dim);
	h->view.size[dim] /= 2;
	h->n = meta_numel(&h->view);
	h->inner = h->view.size[dim];
	for (int d = dim + 1; d < self->meta.rank; d++)
		h->inner *= self->meta.size[d];
	const sid *all = ref_ids(c, self);
	for (int k = 0; k < 2; k++) {
		sid *ids = tape_ids(c->t, h->n);
		for (int64_t i = 0; i < h->n; i++)
			ids[i] = all[(i / h->inner * 2 + k) * h->inner + i % h->inner];
		h->half[k] = ids;
	}
	return floating_alike(c, 1);
}

REFERENCE(glu, ANEW)
{
	struct halves h;
	int64_t stride[MAX_RANK];
	if ((c->grad && !ref_not_on_cuda(c)) || !in_halves(c, &h, operand(c, A_glu_self), A_glu_dim)) /* another order of factors */
		return false;
	const struct meta op[2] = {h.view, h.view};
	const sid *const x[3] = {h.half[0], h.half[1]};
	shape_iterator(stride, h.view.size, h.view.rank, op, 2);
	return ref_out_block(c, 0, h.view.dtype, h.view.size, h.view.rank, stride, tape_map(c->t, SF_GLU, h.view.dtype, x, h.n, NULL));
}

REFERENCE(glu_backward, ANEW)
{
	const struct ref_tensor *self = operand(c, A_glu_backward_self), *grad = operand(c, A_glu_backward_grad_output);
	const enum dtype dt = self->meta.dtype;
	struct halves h;
	if (!ref_not_on_cuda(c) || !in_halves(c, &h, self, A_glu_backward_dim) || !floating_alike(c, 2))
		return false;
	if (!meta_same_sizes(&grad->meta, &h.view))
		return ref_unsupported(c, "a gradient of other sizes than a half");
	const sid *const x[3] = {ref_ids(c, grad), h.half[0], h.half[1]};
	const sid *gate = ref_ids_block(c, tape_map1(c->t, SF_SIGMOID, dt, h.half[1], h.n), h.n);
	const sid slope[2] = {tape_map2(c->t, SF_MUL, dt, gate, x[0], h.n), tape_map(c->t, SF_GLU_BACKWARD, dt, x, h.n, NULL)};
	sid *out = ref_out(c, 0, dt, self->meta.size, self->meta.rank, NULL);
	for (int64_t i = 0; out && i < h.n; i++)
		for (int k = 0; k < 2; k++)
			out[(i / h.inner * 2 + k) * h.inner + i % h.inner] = slope[k] + (sid)i;
	return out != NULL;
}

/* ---- log_sigmoid ---- */

/* exp(-abs(x)), through which no gradient passes. */
static const sid *exp_of_less(struct ref_ctx *c, const sid *x, enum dtype dt, int64_t n)
{
	const sid *fixed = ref_ids_block(c, tape_map1(c->t, SF_DETACH, dt, x, n), n);
	const sid *size = ref_ids_block(c, tape_map1(c->t, SF_ABS, dtype_compute(dt), fixed, n), n);
	const sid *less = ref_ids_block(c, tape_map1(c->t, SF_NEG, dtype_compute(dt), size, n), n);
	return ref_ids_block(c, tape_map1(c->t, SF_EXP, dt, less, n), n);
}

/* Is each of the buffer's elements what log_sigmoid_forward makes of self's? */
static bool is_buffer(const struct ref_ctx *c, const sid *buffer, const sid *made, int64_t n)
{
	for (int64_t k = 0; k < n && !c->t->over; k++) {
		const struct num *is = tape_val(c->t, buffer[k]), *want = tape_val(c->t, made[k]);
		if (!(fabs(is->hi - want->hi) <= is->rad + want->rad + 0x1p-7 * fabs(want->hi)))
			return false;
	}
	return true;
}

REFERENCE(log_sigmoid_forward, ANEW)
{
	const struct ref_tensor *self = operand(c, A_log_sigmoid_forward_self);
	const struct meta *m = &self->meta;
	const int64_t n = meta_numel(m);
	if (!ref_not_on_cuda(c) || !floating_alike(c, 1)) /* whose second result is empty */
		return false;
	const sid *const x[3] = {ref_ids(c, self)};
	return ref_out_block(c, 0, m->dtype, m->size, m->rank, NULL, tape_map(c->t, SF_LOG_SIGMOID, m->dtype, x, n, NULL))
		&& ref_out_ids(c, 1, m->dtype, m->size, m->rank, NULL, exp_of_less(c, x[0], m->dtype, n));
}

REFERENCE(log_sigmoid_backward, ANEW)
{
	const struct ref_tensor *grad = operand(c, A_log_sigmoid_backward_grad_output);
	const struct meta *m = &grad->meta;
	int64_t stride[MAX_RANK];
	if (!ref_not_on_cuda(c) || !floating_alike(c, 3))
		return false;
	if (!meta_same_sizes(m, meta_of(c, A_log_sigmoid_backward_self)) || !meta_same_sizes(m, meta_of(c, A_log_sigmoid_backward_buffer)))
		return ref_unsupported(c, "operands of other sizes than self");
	shape_strides_like(stride, m);
	const sid *const x[3] = {ref_ids(c, c->in[0]), ref_ids(c, c->in[1]), ref_ids(c, c->in[2])};
	const int64_t n = meta_numel(m);
	if (c->t->lic->traced && !is_buffer(c, x[2], exp_of_less(c, x[1], m->dtype, n), n)) /* decompositions.py: it takes that anew */
		return ref_unsupported(
			c, "log_sigmoid_backward of a buffer that log_sigmoid_forward does not make of self: compilers do not read it");
	return ref_out_block(c, 0, m->dtype, m->size, m->rank, stride, tape_map(c->t, SF_LOG_SIGMOID_BACKWARD, m->dtype, x, n, NULL));
}
