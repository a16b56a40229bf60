/* norm.c: what shape rules of group norm and batch norm check that none of their bodies' rows refuses, and what of them is not taken: where
 * versions of PyTorch differ, and layouts for which it has other kernels. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

static int64_t number(const struct meta_ctx *c, int name) { return node_int(c->n, op_arg(c->n->op, name)); }

/* ---- dtypes ---- */

/* Parameters have input's dtype, or all of them f32 beside halves. The first that is there says which; PyTorch looks at the others of an
 * equal dtype only when it has a kernel. */
static bool mixed_dtypes(const struct meta_ctx *c, const struct meta *input, const struct meta *const *parameter, int n)
{
	const struct meta *first = NULL;
	for (int k = n - 1; k >= 0; k--)
		first = parameter[k] ? parameter[k] : first;
	if (!first || first->dtype == input->dtype)
		return true;
	for (int k = 0; k < n; k++)
		if (parameter[k] && parameter[k]->dtype != DT_F32)
			return err_set(c->err, "mixed dtype (CPU): expect parameter to have scalar type of Float");
	return dtype_is_narrow(input->dtype) || err_set(c->err, "mixed dtype (CPU): all inputs must share same datatype.");
}

static bool alike(const struct meta_ctx *c, const struct meta *const *parameter, int n)
{
	const struct meta *first = NULL;
	for (int k = 0; k < n; k++) {
		first = first ? first : parameter[k];
		if (parameter[k] && parameter[k]->dtype != first->dtype)
			return err_set(
				c->err, "expected scalar type %s but found %s", dtype_info[first->dtype].c10, dtype_info[parameter[k]->dtype].c10);
	}
	return true;
}

/* ---- layouts ---- */

/* Other kernels run on channels that lie together, also where only a size of 1 makes it look so. */
static bool plain_layout(const struct meta_ctx *c, const struct meta *m, const char *name)
{
	if (meta_is_channels_last(m))
		return err_limit(c->err, "%s of %s with channels last, for which PyTorch has other kernels", op_info[c->n->op].name, name);
	return meta_is_contiguous(m)
		|| err_limit(c->err, "%s of %s that is not contiguous: 2.11 refuses, 2.15 computes", op_info[c->n->op].name, name);
}

/* ---- group norm ---- */

static bool vector_of_channels(const struct meta_ctx *c, const struct meta *m, const char *name)
{
	return !m || (m->rank == 1 && m->size[0] == number(c, N_C))
		|| err_set(c->err, "Expected %s to be a vector of size equal to the number of channels in input", name);
}

/* N, C and HxW are sizes of input; group divides C. */
static bool grouped(const struct meta_ctx *c, const struct meta *input)
{
	const int64_t samples = number(c, N_N), channels = number(c, N_C), each = number(c, N_HxW), group = number(c, N_group);
	char is[SIZES_TEXT];
	if (channels <= 0 || each <= 0 || samples < 0)
		return err_limit(c->err, "%s of channels without elements: 2.15 refuses it", op_info[c->n->op].name);
	if (group <= 0)
		return err_set(c->err, "Expected num groups to be greater than 0, got %lld", (long long)group);
	if (channels % group)
		return err_set(c->err,
			"Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%lld",
			sizes_text(is, input->size, input->rank), (long long)group);
	if (!vector_of_channels(c, meta_named(c, N_weight), "weight") || !vector_of_channels(c, meta_named(c, N_bias), "bias"))
		return false;
	if (samples <= MAX_NUMEL && channels <= MAX_NUMEL && each <= MAX_NUMEL && meta_numel(input) == samples * channels * each)
		return true;
	return samples ? err_set(c->err, "Expected X.numel() == N * C * HxW to be true, but got false.")
				   : err_limit(c->err, "no samples of an input that has some: 2.15 does not look");
}

static bool group_layouts(const struct meta_ctx *c, const struct meta *input)
{
	const struct meta *pair[2] = {meta_named(c, N_weight), meta_named(c, N_bias)};
	if (input->rank < 2 || input->size[0] != number(c, N_N) || input->size[1] != number(c, N_C))
		return err_limit(c->err, "%s of N and C that are not input's sizes", op_info[c->n->op].name);
	for (int k = 0; k < 2; k++)
		if (pair[k] && !meta_is_contiguous(pair[k]))
			return err_limit(c->err, "a %s that is not contiguous: 2.11 reads other memory", k ? "bias" : "weight");
	return plain_layout(c, input, "input");
}

bool meta_group_norm(struct meta_ctx *c)
{
	const struct meta *input = meta_named(c, N_input), *pair[2] = {meta_named(c, N_weight), meta_named(c, N_bias)};
	if (!mixed_dtypes(c, input, pair, 2) || !grouped(c, input))
		return false;
	if (!group_layouts(c, input))
		return false;
	if (!body_takes_self(c))
		return false;
	if (pair[1] && !pair[0])
		return err_limit(c->err, "a bias without a weight: 2.11 has no gradient of it");
	return alike(c, pair, 2) && meta_body(c);
}

/* What the forward part gives has these sizes and dtypes. */
static bool fits_forward(const struct meta_ctx *c, const struct meta *input)
{
	const struct meta *grad = meta_named(c, N_grad_out), *weight = meta_named(c, N_weight),
					  *moment[2] = {meta_named(c, N_mean), meta_named(c, N_rstd)};
	const int64_t group = number(c, N_group);
	const enum dtype kept = moment[0]->dtype;
	bool fits = meta_same_sizes(grad, input) && grad->dtype == input->dtype && (!weight || weight->dtype == kept)
		&& (kept == input->dtype || (kept == DT_F32 && dtype_is_narrow(input->dtype)));
	for (int k = 0; k < 2; k++)
		fits = fits && moment[k]->rank == 2 && moment[k]->size[0] == input->size[0] && moment[k]->size[1] == group
			&& moment[k]->dtype == kept && meta_is_contiguous(moment[k]);
	return fits || err_limit(c->err, "operands unlike those that the forward part has and gives");
}

bool meta_group_norm_backward(struct meta_ctx *c)
{
	const struct meta *input = meta_named(c, N_input), *grad = meta_named(c, N_grad_out);
	const bool *asked = c->n->arg[op_arg(c->n->op, N_output_mask)].bools;
	if (!grouped(c, input) || !group_layouts(c, input) || !fits_forward(c, input) || !plain_layout(c, grad, "grad_out"))
		return false;
	if (!meta_named(c, N_weight) && (asked[1] || asked[2]))
		return err_limit(c->err, "gradients of a weight or bias without a weight: 2.11 refuses them");
	return meta_body(c);
}

/* ---- batch norm ---- */

static const int batch_parameters[4] = {N_weight, N_bias, N_running_mean, N_running_var};

/* PyTorch does not look at their sizes, and has other kernels for strides of weight and bias. */
static bool batch_parameters_fit(const struct meta_ctx *c, const struct meta *input, const int *name, int n)
{
	for (int k = 0; k < n; k++) {
		const struct meta *m = meta_named(c, name[k]);
		if (m && (m->rank != 1 || m->size[0] != input->size[1] || !meta_is_contiguous(m)))
			return err_limit(c->err, "a parameter that is not one number for each channel, at which PyTorch does not look");
	}
	return true;
}

static bool batch_dtypes(const struct meta_ctx *c, const struct meta *input, const int *name, int n)
{
	for (int k = 0; k < n; k++) {
		const struct meta *m = meta_named(c, name[k]);
		if (m && m->dtype != input->dtype)
			return err_limit(c->err, "parameters of another dtype than input");
	}
	return true;
}

static bool vectors(const struct meta_ctx *c, const int *name, int n)
{
	for (int k = 0; k < n; k++)
		if (meta_named(c, name[k]) && meta_named(c, name[k])->rank != 1)
			return err_limit(c->err, "moments that are no vector");
	return true;
}

static bool batch_layout(const struct meta_ctx *c, const struct meta *input)
{
	return (!meta_is_channels_last(input) && meta_is_contiguous(input))
		|| err_limit(c->err, "%s of an input that is not contiguous, for which PyTorch has other kernels", op_info[c->n->op].name);
}

static bool training(const struct meta_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k >= 0 && c->n->arg[k].b;
}

bool meta_batch_norm(struct meta_ctx *c)
{
	const struct meta *input = meta_named(c, N_input), *parameter[4];
	char is[SIZES_TEXT];
	for (int k = 0; k < 4; k++)
		parameter[k] = meta_named(c, batch_parameters[k]);
	if (input->rank < 2)
		return err_limit(c->err, "%s of an input without channels", op_info[c->n->op].name);
	if (!training(c, N_training) && !parameter[2])
		return err_limit(c->err, "%s of no moments, of which PyTorch 2.11 reads", op_info[c->n->op].name);
	if (!body_takes_self(c) || !mixed_dtypes(c, input, parameter, 4) || !batch_dtypes(c, input, batch_parameters, 4))
		return false;
	if (training(c, N_training) && meta_numel(input) == 0)
		return err_set(
			c->err, "input tensor must have at least one element, but got input_sizes = %s", sizes_text(is, input->size, input->rank));
	if (!batch_parameters_fit(c, input, batch_parameters, 4))
		return false;
	if (training(c, N_training) && dtype_is_narrow(input->dtype))
		return err_limit(c->err, "%s of halves: what moments are rounded to is not modelled", op_info[c->n->op].name);
	if (training(c, N_training) && !(c->n->arg[op_arg(c->n->op, N_eps)].scalar.f > 0))
		return err_limit(c->err, "%s without a positive eps: the inverse deviation of equal elements is 0", op_info[c->n->op].name);
	return batch_layout(c, input) && meta_body(c);
}

static const int batch_backward_parameters[5] = {N_weight, N_running_mean, N_running_var, N_save_mean, N_save_invstd};

bool meta_batch_norm_backward(struct meta_ctx *c)
{
	const struct meta *input = meta_named(c, N_input), *grad = meta_named(c, N_grad_out);
	const bool train = training(c, N_train);
	const int read[3] = {N_weight, train ? N_save_mean : N_running_mean, train ? N_save_invstd : N_running_var};
	if (input->rank < 2 || !meta_same_sizes(grad, input) || grad->dtype != input->dtype || !meta_named(c, read[1])
		|| !meta_named(c, read[2]))
		return err_limit(c->err, "operands unlike those that the forward part has and gives");
	if (!body_takes_self(c) || !batch_dtypes(c, input, batch_backward_parameters, 5) || !vectors(c, batch_backward_parameters, 5)
		|| !batch_parameters_fit(c, input, read, 3))
		return false;
	if (meta_numel(input) == 0)
		return err_limit(c->err, "%s of no elements: PyTorch divides by their number", op_info[c->n->op].name);
	if (dtype_is_narrow(input->dtype) && (train || !meta_is_contiguous(grad) || meta_is_channels_last(grad)))
		return err_limit(c->err, "%s of halves: what moments are rounded to is not modelled", op_info[c->n->op].name);
	return batch_layout(c, input) && meta_body(c);
}
