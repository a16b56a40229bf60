/* composed.c: what shape rules of rows with a body check that none of the body's rows refuses. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

static bool same_dtype(const struct meta_ctx *c, const struct meta *a, const struct meta *b)
{
	if (a->dtype == b->dtype)
		return true;
	if (meta_numel(a) == 0) /* PyTorch runs no kernel that would look at them */
		return err_limit(c->err, "operands of different element types without elements");
	return err_set(c->err, "expected scalar type %s but found %s", dtype_info[a->dtype].c10, dtype_info[b->dtype].c10);
}

static bool expands_to(const struct meta *m, const struct meta *self)
{
	for (int d = 1; d <= m->rank; d++)
		if (m->rank > self->rank || (m->size[m->rank - d] != 1 && m->size[m->rank - d] != self->size[self->rank - d]))
			return false;
	return true;
}

static bool same_sizes(const struct meta_ctx *c, const struct meta *grad, const struct meta *output)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	if (meta_same_sizes(grad, output))
		return true;
	if (c->n->op == OP_log_softmax_backward_data) /* PyTorch reads outside of its output, whatever is there */
		return err_limit(c->err, "grad_output and output of different sizes");
	return err_set(c->err,
		"Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but %s does not equal %s (while "
		"checking arguments for softmax_backward)",
		sizes_text(a, grad->size, grad->rank), sizes_text(b, output->size, output->rank));
}

bool meta_safe_softmax(struct meta_ctx *c)
{
	const struct arg *into = &c->n->arg[A_safe_softmax_dtype];
	if (node_given(c->n, A_safe_softmax_dtype) && into->dtype != c->in[A_safe_softmax_self]->dtype)
		return err_limit(c->err, "_safe_softmax into another dtype than self's");
	return meta_body(c);
}

/* PyTorch looks at an index of nothing, too. */
bool meta_take(struct meta_ctx *c)
{
	const struct meta *index = c->in[A_take_index];
	if (index->dtype != DT_I64)
		return err_set(c->err, "take(): Expected a long tensor for index, but got %s", dtype_info[index->dtype].c10);
	if (meta_numel(c->in[A_take_self]) == 0 && meta_numel(index) > 0)
		return err_set(c->err, "take(): tried to take from an empty tensor");
	return meta_body(c);
}

bool meta_put(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_put_self], *index = c->in[A_put_index], *source = c->in[A_put_source];
	if (index->dtype != DT_I64)
		return err_set(c->err, "put_(): Expected a long tensor for index, but got %s", dtype_info[index->dtype].c10);
	if (self->dtype != source->dtype)
		return err_set(c->err, "put_(): self and source expected to have the same dtype, but got self.dtype = %s and source.dtype = %s",
			dtype_info[self->dtype].c10, dtype_info[source->dtype].c10);
	if (meta_numel(index) != meta_numel(source))
		return err_set(c->err,
			"put_(): Expected source and index to have the same number of elements, but got source.numel() = %lld, index.numel() = %lld",
			(long long)meta_numel(source), (long long)meta_numel(index));
	if (meta_numel(self) == 0 && meta_numel(index) > 0)
		return err_set(c->err, "put_(): Tried to put elements into an empty tensor");
	return meta_body(c);
}

bool meta_index_reduce(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_index_reduce_self], *index = c->in[A_index_reduce_index], *source = c->in[A_index_reduce_source];
	const char *word = c->n->arg[A_index_reduce_reduce].str;
	int64_t dim = node_int(c->n, A_index_reduce_dim);
	if (self->dtype == DT_B8)
		return err_limit(c->err, "index_reduce of bools, which PyTorch refuses of some sizes");
	if (!str_eq(word, "prod") && !str_eq(word, "mean") && !str_eq(word, "amax") && !str_eq(word, "amin"))
		return err_set(c->err, "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s.", word);
	if (index->rank > 1)
		return err_set(c->err, "index_reduce_(): Index is supposed to be a vector, but got dim: %d", index->rank);
	if (self->dtype != source->dtype)
		return err_set(c->err, "index_reduce_(): self (%s) and source (%s) must have the same scalar type", dtype_info[self->dtype].c10,
			dtype_info[source->dtype].c10);
	dim += dim < 0 ? MAX(self->rank, 1) : 0;
	bool fits = self->rank == source->rank && (self->rank == 0 ? meta_numel(index) == 1 : true);
	for (int d = 0; fits && d < self->rank; d++)
		fits = source->size[d] == (d == dim ? meta_numel(index) : self->size[d]);
	return fits ? meta_body(c) : err_set(c->err, "source tensor shape must match self tensor shape, excluding the specified dimension.");
}

/* ---- layer_norm ---- */

static void sizes_of(int64_t size[MAX_LIST], const struct arg *shape)
{
	for (int i = 0; i < shape->n; i++)
		size[i] = shape->ints[i].value;
}

static bool normalized(const struct meta_ctx *c, const struct meta *input, const struct arg *shape)
{
	char want[SIZES_TEXT], is[SIZES_TEXT];
	int64_t size[MAX_LIST];
	const int n = shape->n;
	sizes_of(size, shape);
	if (n <= input->rank && memcmp(size, &input->size[input->rank - n], sizeof *size * (size_t)n) == 0)
		return true;
	sizes_text(want, size, MIN(n, MAX_RANK));
	return err_set(c->err, "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s", want, want + 1,
		sizes_text(is, input->size, input->rank));
}

/* weight or bias has the normalized sizes. */
static bool parameter(const struct meta_ctx *c, const struct arg *shape, int name)
{
	const struct meta *m = c->in[op_arg(c->n->op, name)];
	char is[SIZES_TEXT], want[SIZES_TEXT];
	int64_t size[MAX_LIST];
	sizes_of(size, shape);
	if (!m || (m->rank == shape->n && memcmp(m->size, size, sizeof *m->size * (size_t)m->rank) == 0))
		return true;
	return err_set(c->err, "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape = %s",
		name == N_weight ? "weight" : "bias", name == N_weight ? "weight" : "bias", sizes_text(is, m->size, m->rank),
		sizes_text(want, size, MIN(shape->n, MAX_RANK)));
}

/* Parameters have input's dtype, or all of them f32 beside halves. Forward, the first alone says whether types are mixed, which is told
 * before that there is no kernel; backward tells of the kernel first, and does not read bias. */
static bool parameter_dtypes(const struct meta_ctx *c, const struct meta *input, const struct meta *weight, const struct meta *bias)
{
	const bool forward = c->n->op == OP_native_layer_norm, number = dtype_is_float(input->dtype), half = dtype_is_narrow(input->dtype);
	const enum dtype first = weight ? weight->dtype : bias ? bias->dtype : input->dtype;
	const bool floats = first == DT_F32 && (!bias || bias->dtype == DT_F32), alike = !bias || bias->dtype == first;
	const bool mixed = first != input->dtype, fits = mixed ? floats && half : alike;
	if (number && fits)
		return true;
	if (meta_numel(input) == 0)
		return err_limit(c->err, "element types at which PyTorch does not look, as there are no elements");
	if (!number && (!forward || !mixed))
		return dtype_refuse(c->n->op, input->dtype, c->err);
	if (!forward && (!weight || !mixed || (half && first == DT_F32)))
		return err_limit(c->err, "a bias of another element type than the forward part has");
	if (!mixed)
		return same_dtype(c, weight, bias);
	return err_set(c->err,
		floats ? "mixed dtype (CPU): all inputs must share same datatype."
			   : "mixed dtype (CPU): expect parameter to have scalar type of Float");
}

/* What both rows ask of input and its parameters. */
static bool parameters(const struct meta_ctx *c, const struct meta *input)
{
	const struct arg *shape = &c->n->arg[op_arg(c->n->op, N_normalized_shape)];
	if (shape->n == 0)
		return err_set(c->err,
			"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
			"normalized_shape = []");
	return parameter(c, shape, N_weight) && parameter(c, shape, N_bias) && normalized(c, input, shape)
		&& parameter_dtypes(c, input, c->in[op_arg(c->n->op, N_weight)], c->in[op_arg(c->n->op, N_bias)]);
}

bool meta_layer_norm(struct meta_ctx *c) { return parameters(c, c->in[op_arg(c->n->op, N_input)]) && meta_body(c); }

/* PyTorch trusts the sizes and the layout of what the forward part gave. */
bool meta_layer_norm_backward(struct meta_ctx *c)
{
	const struct meta *input = c->in[A_layer_norm_backward_input], *grad = c->in[A_layer_norm_backward_grad_out];
	const struct meta *mean = c->in[A_layer_norm_backward_mean], *rstd = c->in[A_layer_norm_backward_rstd];
	struct meta kept = *input;
	if (!parameters(c, input))
		return false;
	for (int i = 0; i < c->n->arg[A_layer_norm_backward_normalized_shape].n; i++)
		kept.size[kept.rank - 1 - i] = 1;
	if (!meta_same_sizes(grad, input) || !meta_same_sizes(mean, &kept) || !meta_same_sizes(rstd, &kept))
		return err_limit(c->err, "operands of other sizes than the forward part has");
	const struct meta *any = c->in[A_layer_norm_backward_weight];
	any = any ? any : c->in[A_layer_norm_backward_bias];
	const enum dtype moments = any ? any->dtype : input->dtype;
	if (!meta_is_contiguous(mean) || !meta_is_contiguous(rstd))
		return err_limit(c->err, "mean or rstd in another layout than the forward part gives");
	if (grad->dtype != input->dtype || mean->dtype != moments || rstd->dtype != moments)
		return err_limit(c->err, "operands of other element types than the forward part has");
	if (!c->in[A_layer_norm_backward_weight] && moments != input->dtype
		&& meta_numel(input)) /* PyTorch asks weight alone whether types are mixed */
		return same_dtype(c, input, mean);
	return meta_body(c);
}

/* ---- nll_loss ---- */

static bool labelled(const struct meta_ctx *c, const struct meta *self, const struct meta *target)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	if (self->rank < 1 || self->rank > 2)
		return err_set(c->err, "input tensor should be 1D or 2D");
	if (target->rank > 1)
		return err_set(c->err, "0D or 1D target tensor expected, multi-target not supported");
	const bool matched = target->rank == 1 && target->size[0] == self->size[0];
	if (self->rank == 1 && target->rank == 1 && target->size[0] != 1 && c->n->op == OP_nll_loss_forward)
		return err_set(c->err, "For 1D input, 1D target must have size 1, but got target size: %lld", (long long)target->size[0]);
	if (!matched && (self->rank == 2 || (target->rank == 1 && c->n->op == OP_nll_loss_backward)))
		return err_set(c->err, "size mismatch (got input: %s, target: %s)", sizes_text(a, self->size, self->rank),
			sizes_text(b, target->size, target->rank));
	if (self->size[self->rank - 1] == 0)
		return err_limit(c->err, "no classes");
	return true;
}

static bool class_weights(const struct meta_ctx *c, const struct meta *self)
{
	const struct meta *w = c->in[op_arg(c->n->op, N_weight)];
	const int64_t classes = self->size[self->rank - 1];
	char is[SIZES_TEXT];
	if (w && (w->rank != 1 || w->size[0] != classes))
		return err_set(c->err,
			"weight tensor should be defined either for all %lld classes or no classes but got weight tensor of shape: %s",
			(long long)classes, sizes_text(is, w->size, w->rank));
	return !w || same_dtype(c, self, w);
}

static bool nll_operands(const struct meta_ctx *c, const struct meta *self, const struct meta *target)
{
	const int64_t reduction = node_int(c->n, op_arg(c->n->op, N_reduction));
	if (!labelled(c, self, target) || !class_weights(c, self))
		return false;
	if (!dtype_is_float(self->dtype))
		return dtype_refuse(c->n->op, self->dtype, c->err);
	if (reduction < 0 || reduction > 2)
		return err_limit(c->err, "reduction %lld", (long long)reduction);
	if (target->dtype == DT_I64 || target->dtype == DT_U8)
		return true;
	return meta_numel(target) ? err_set(c->err, "expected scalar type Long but found %s", dtype_info[target->dtype].c10)
							  : err_limit(c->err, "labels of another element type without samples");
}

bool meta_nll_loss(struct meta_ctx *c) { return nll_operands(c, c->in[A_nll_loss_self], c->in[A_nll_loss_target]) && meta_body(c); }

bool meta_nll_loss_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_nll_loss_backward_self], *grad = c->in[A_nll_loss_backward_grad_output];
	const struct meta *total = c->in[A_nll_loss_backward_total_weight];
	const bool each = self->rank == 2 && node_int(c->n, A_nll_loss_backward_reduction) == 0;
	char is[SIZES_TEXT];
	if (!nll_operands(c, self, c->in[A_nll_loss_backward_target]))
		return false;
	if (each ? grad->rank != 1 || grad->size[0] != self->size[0] : grad->rank > 1 || meta_numel(grad) != 1)
		return err_set(c->err, "Expected a %s grad_output tensor, but got: %s", each ? "1-dimensional" : "single element",
			sizes_text(is, grad->size, grad->rank));
	if (meta_numel(total) != 1 || total->rank)
		return err_limit(c->err, "total_weight with dimensions");
	return same_dtype(c, self, grad) && (each || same_dtype(c, self, total)) && meta_body(c);
}

/* ---- mse_loss ---- */

/* PyTorch takes operands that broadcast, and of two dtypes; of those its backward raises, or gives a gradient of other sizes. */
static bool paired(const struct meta_ctx *c, const struct meta *self, const struct meta *target)
{
	const int64_t reduction = node_int(c->n, op_arg(c->n->op, N_reduction));
	if (self->dtype != target->dtype)
		return err_limit(c->err, "%s of two dtypes", op_info[c->n->op].name);
	if (!meta_same_sizes(self, target))
		return err_limit(c->err, "%s of operands that broadcast", op_info[c->n->op].name);
	return (reduction >= 0 && reduction <= 2) || err_limit(c->err, "reduction %lld", (long long)reduction);
}

static bool alike(const struct meta_ctx *c, const struct meta *self, const struct meta *target)
{
	return paired(c, self, target) && (dtype_is_float(self->dtype) || dtype_refuse(c->n->op, self->dtype, c->err));
}

bool meta_mse_loss(struct meta_ctx *c) { return alike(c, c->in[A_mse_loss_self], c->in[A_mse_loss_target]) && meta_body(c); }

/* What arrives at a loss: it broadcasts to self. */
static bool arriving(const struct meta_ctx *c, const struct meta *grad, const struct meta *self)
{
	if (grad->dtype != self->dtype)
		return err_limit(c->err, "%s of two dtypes: some refuse, some compute", op_info[c->n->op].name);
	return expands_to(grad, self) || err_limit(c->err, "a gradient that does not broadcast to self");
}

bool meta_mse_loss_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_mse_loss_backward_self], *grad = c->in[A_mse_loss_backward_grad_output];
	return alike(c, self, c->in[A_mse_loss_backward_target]) && arriving(c, grad, self) && meta_body(c);
}

bool meta_bce_with_logits(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_bce_with_logits_self];
	for (int k = A_bce_with_logits_weight; k <= A_bce_with_logits_pos_weight; k++) {
		if (c->in[k] && c->in[k]->dtype != self->dtype)
			return err_limit(c->err, "a weight of another dtype");
		if (c->in[k] && !expands_to(c->in[k], self))
			return err_limit(c->err, "a weight that does not broadcast to self");
	}
	return alike(c, self, c->in[A_bce_with_logits_target]) && meta_body(c);
}

/* ---- huber_loss, smooth_l1_loss ---- */

bool meta_huber_loss(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_huber_loss_self], *target = c->in[A_huber_loss_target];
	if (!paired(c, self, target))
		return false;
	if (!(c->n->arg[A_huber_loss_delta].scalar.f > 0))
		return err_set(c->err, "huber_loss does not support non-positive values for delta.");
	return alike(c, self, target) && meta_body(c);
}

/* PyTorch's gradient by grad_output is 0-d where there is a reduction, and autograd takes it for no other sizes. Vectors and tails of one
 * kernel differ where delta is negative. */
bool meta_huber_loss_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_huber_loss_backward_self], *grad = c->in[A_huber_loss_backward_grad_output];
	const struct meta *target = c->in[A_huber_loss_backward_target];
	if (!paired(c, self, target) || !arriving(c, grad, self) || !alike(c, self, target))
		return false;
	if (grad->rank && node_int(c->n, A_huber_loss_backward_reduction) != 0)
		return err_limit(c->err, "a gradient with dimensions for a loss of all");
	if (!(c->n->arg[A_huber_loss_backward_delta].scalar.f > 0))
		return err_limit(c->err, "huber_loss_backward where delta is not positive");
	return meta_body(c);
}

bool meta_smooth_l1_loss(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_smooth_l1_loss_self], *target = c->in[A_smooth_l1_loss_target];
	if (!paired(c, self, target))
		return false;
	if (!(c->n->arg[A_smooth_l1_loss_beta].scalar.f >= 0))
		return err_set(c->err, "smooth_l1_loss does not support negative values for beta.");
	return alike(c, self, target) && meta_body(c);
}

/* As huber_loss_backward's delta. */
bool meta_smooth_l1_loss_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_smooth_l1_loss_backward_self], *grad = c->in[A_smooth_l1_loss_backward_grad_output];
	if (!alike(c, self, c->in[A_smooth_l1_loss_backward_target]) || !arriving(c, grad, self))
		return false;
	if (!(c->n->arg[A_smooth_l1_loss_backward_beta].scalar.f >= 0))
		return err_limit(c->err, "smooth_l1_loss_backward where beta is negative");
	return meta_body(c);
}

/* ---- clamp ---- */

/* PyTorch's iterator looks at all operands at once, the body's rows at two: where some overlap themselves it matters. */
bool meta_clamp_Tensor(struct meta_ctx *c)
{
	struct meta dense[3];
	const struct meta *in[3] = {NULL};
	if (!meta_body(c))
		return false;
	for (int k = A_clamp_Tensor_self; k <= A_clamp_Tensor_max; k++) {
		if (!node_given(c->n, k))
			continue;
		in[k] = c->in[k];
		if (in[k]->dtype == c->out[0].dtype)
			continue;
		layout_preserve(&dense[k], in[k]); /* as the CPU converts it */
		in[k] = &dense[k];
	}
	layout_iterator(&c->out[0], in, 3);
	return true;
}

/* ---- softmax ---- */

bool meta_softmax_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_softmax_backward_grad_output], *output = c->in[A_softmax_backward_output];
	int d;
	if (!body_takes_self(c) || !dim_wrap(&d, node_int(c->n, A_softmax_backward_dim), grad->rank, c->err) || !same_sizes(c, grad, output))
		return false;
	if (grad->dtype == DT_F32 && c->n->arg[A_softmax_backward_input_dtype].dtype == DT_F16 && meta_numel(grad))
		return err_set(c->err, "expected scalar type Float but found Half");
	return same_dtype(c, grad, output) && meta_body(c);
}

/* ---- prelu, glu, log_sigmoid ---- */

/* PyTorch's iterator takes operands of one dtype. */
static bool one_dtype(const struct meta_ctx *c, const struct meta *m, const struct meta *common)
{
	if (m->dtype == common->dtype)
		return true;
	return err_set(c->err, "Found dtype %s but expected %s", dtype_info[m->dtype].c10, dtype_info[common->dtype].c10);
}

bool meta_prelu(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_prelu_kernel_self], *weight = c->in[A_prelu_kernel_weight];
	if (!one_dtype(c, weight, self) || !body_takes_self(c))
		return false;
	return expands_to(weight, self) ? meta_body(c) : err_limit(c->err, "a weight that does not broadcast to self");
}

bool meta_prelu_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_prelu_kernel_backward_self], *weight = c->in[A_prelu_kernel_backward_weight];
	const struct meta *grad = c->in[A_prelu_kernel_backward_grad_output];
	if (!one_dtype(c, weight, self) || !one_dtype(c, grad, self) || !body_takes_self(c))
		return false;
	if (!meta_same_sizes(grad, self) || !expands_to(weight, self))
		return err_limit(c->err, "operands that do not broadcast to self");
	return meta_body(c);
}

/* dim has two halves. */
static bool halves(const struct meta_ctx *c, const struct meta *self, int dim_arg)
{
	int d;
	if (self->rank == 0)
		return err_set(c->err, "glu does not support 0-dimensional tensors");
	if (!dim_wrap(&d, node_int(c->n, dim_arg), self->rank, c->err))
		return false;
	return self->size[d] % 2 == 0
		|| err_set(c->err, "Halving dimension must be even, but dimension %d is size %lld", d, (long long)self->size[d]);
}

bool meta_glu(struct meta_ctx *c) { return halves(c, c->in[A_glu_self], A_glu_dim) && body_takes_self(c) && meta_body(c); }

bool meta_glu_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_glu_backward_self], *grad = c->in[A_glu_backward_grad_output];
	int d;
	if (!halves(c, self, A_glu_backward_dim) || !dim_wrap(&d, node_int(c->n, A_glu_backward_dim), self->rank, c->err))
		return false;
	struct meta half = *self;
	half.size[d] /= 2;
	if (!meta_same_sizes(grad, &half))
		return err_limit(c->err, "a gradient of other sizes than a half");
	if (!dtype_is_float(self->dtype) && meta_numel(self)) /* its sigmoid is f32 */
		return err_set(c->err, "result type Float can't be cast to the desired output type %s", dtype_info[self->dtype].c10);
	return one_dtype(c, grad, self) && body_takes_self(c) && meta_body(c);
}

bool meta_log_sigmoid_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_log_sigmoid_backward_self], *buffer = c->in[A_log_sigmoid_backward_buffer];
	const struct meta *grad = c->in[A_log_sigmoid_backward_grad_output];
	if (!meta_same_sizes(grad, self) || !meta_same_sizes(buffer, self))
		return err_limit(c->err, "operands of other sizes than self");
	return one_dtype(c, grad, self) && one_dtype(c, buffer, self) && body_takes_self(c) && meta_body(c);
}

/* ---- moves ---- */

/* A dim out of range: versions differ in when they look and what they say. */
bool meta_rot90(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_rot90_self];
	const struct arg *dims = &c->n->arg[A_rot90_dims];
	int d[2];
	if (dims->n != 2)
		return err_set(c->err, "expected total rotation dims == 2, but got dims = %d", dims->n);
	if (self->rank < 2)
		return err_set(c->err, "expected total dims >= 2, but got total dims = %d", self->rank);
	for (int i = 0; i < 2; i++)
		if (!dim_wrap(&d[i], dims->ints[i].value, self->rank, NULL))
			return err_limit(c->err, "dim %lld of a tensor of %d", (long long)dims->ints[i].value, self->rank);
	if (d[0] == d[1])
		return err_set(c->err, "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
			(long long)dims->ints[0].value, (long long)dims->ints[1].value);
	return meta_body(c);
}

bool meta_diag_embed(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_diag_embed_self];
	const int64_t offset = node_int(c->n, A_diag_embed_offset);
	int i, j;
	if (!meta_room(self, 1, c->err) || !dim_wrap(&i, node_int(c->n, A_diag_embed_dim1), self->rank + 1, c->err)
		|| !dim_wrap(&j, node_int(c->n, A_diag_embed_dim2), self->rank + 1, c->err))
		return false;
	if (i == j)
		return err_set(c->err, "diagonal dimensions cannot be identical %lld, %lld", (long long)node_int(c->n, A_diag_embed_dim1),
			(long long)node_int(c->n, A_diag_embed_dim2));
	if (self->rank == 0 || offset > MAX_NUMEL || offset < -MAX_NUMEL)
		return err_limit(c->err, "diag_embed of a number, or with a large offset");
	return meta_body(c);
}

static bool identity(struct meta_ctx *c, int nsize)
{
	static const char *const name[] = {"n", "m"};
	const int at = op_arg(c->n->op, N_dtype);
	for (int k = 0; k < nsize; k++) {
		if (node_int(c->n, k) < 0)
			return err_set(c->err, "%s must be greater or equal to 0, got %lld", name[k], (long long)node_int(c->n, k));
		if (node_int(c->n, k) > MAX_NUMEL)
			return err_limit(c->err, "%lld rows or columns", (long long)node_int(c->n, k));
	}
	if (node_given(c->n, at) && !(op_info[c->n->op].dtypes & DTS(c->n->arg[at].dtype)))
		return dtype_refuse(c->n->op, c->n->arg[at].dtype, c->err);
	return meta_body(c);
}

bool meta_eye(struct meta_ctx *c) { return identity(c, 1); }
bool meta_eye_m(struct meta_ctx *c) { return identity(c, 2); }

/* An end of a range: a number that the dtype holds, or a tensor of one. */
static bool is_end(const struct meta_ctx *c, int name, enum dtype t)
{
	const int arg = op_arg(c->n->op, name);
	const struct meta *m = c->in[arg];
	if (m)
		return !m->rank
			|| err_set(c->err, "only 0-dimensional start and end tensors are supported, but got %s with %d dimension(s).",
				op_info[c->n->op].param[arg].name, m->rank);
	const struct scalar *s = &c->n->arg[arg].scalar;
	const double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	const bool held = dtype_is_float(t) ? fabs(v) <= dtype_max(t) : v >= (double)dtype_int_min(t) && v <= (double)dtype_int_max(t);
	if (held && (dtype_is_float(t) || fabs(v) <= 0x1p53))
		return true;
	return err_limit(c->err, "%s does not hold %g", dtype_info[t].name, v);
}

/* Of fewer than two numbers PyTorch looks at no dtype; of one not at the end either. */
static bool range_of(struct meta_ctx *c, const char *kernel, bool start_is_cut)
{
	const int at = op_arg(c->n->op, N_dtype);
	const int64_t steps = node_int(c->n, op_arg(c->n->op, N_steps));
	const enum dtype t = node_given(c->n, at) ? c->n->arg[at].dtype : DT_F32;
	if (steps < 0)
		return err_set(c->err, "number of steps must be non-negative");
	if (steps > MAX_NUMEL)
		return err_limit(c->err, "%lld numbers", (long long)steps);
	if (!is_end(c, N_start, steps == 1 && !start_is_cut ? DT_F64 : t) || !is_end(c, N_end, t))
		return false;
	if (dtype_info[t].rows != DR_FULL || t == DT_B8)
		return steps < 2 ? err_limit(c->err, "%lld numbers of %s", (long long)steps, dtype_info[t].name)
						 : err_set(c->err, "\"%s\" not implemented for '%s'", kernel, dtype_info[t].c10);
	return meta_body(c);
}

bool meta_linspace(struct meta_ctx *c) { return range_of(c, "linspace_cpu", true); }

/* One power must be a number of the dtype. */
bool meta_logspace(struct meta_ctx *c)
{
	const int start = op_arg(c->n->op, N_start), at = op_arg(c->n->op, N_dtype);
	const struct scalar *s = &c->n->arg[start].scalar;
	const enum dtype t = node_given(c->n, at) ? c->n->arg[at].dtype : DT_F32;
	if (!c->in[start] && node_int(c->n, op_arg(c->n->op, N_steps)) == 1) {
		const double v = pow(c->n->arg[op_arg(c->n->op, N_base)].scalar.f, s->kind == SC_FLOAT ? s->f : (double)s->i);
		if (dtype_is_float(t) ? !(fabs(v) <= dtype_max(t)) : !(v >= (double)dtype_int_min(t) && v <= (double)dtype_int_max(t)))
			return err_limit(c->err, "%s does not hold %g", dtype_info[t].name, v);
	}
	return range_of(c, "logspace_cpu", false);
}
