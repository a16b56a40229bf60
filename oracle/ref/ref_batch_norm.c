/* ref_batch_norm.c: batch normalisation: of each channel over samples and all that a channel has. PyTorch's kernel makes one factor and one
 * shift for each channel, so that a result is x * factor + shift: of input's moments while training, else of those that it is given. */
#include "generated/op_id.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

struct batch {
	enum dtype dt, in; /* of the elements; computed in */
	bool training;
	int64_t channels, n, len; /* n: elements; len: of a channel, in all samples */
	double eps[FORMULA_SCALARS], momentum[FORMULA_SCALARS];
};

static const struct ref_tensor *operand(const struct ref_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k < 0 ? NULL : c->in[k];
}

/* ---- what is refused ---- */

static const int parameters[4] = {N_weight, N_bias, N_running_mean, N_running_var};

static bool check_dtypes(struct ref_ctx *c, const struct batch *r)
{
	const struct ref_tensor *first = NULL;
	bool floats = true, alike = true;
	if (!dtype_is_float(r->dt) || dtype_info[r->dt].rows != DR_FULL)
		return err_set(c->err, "\"batch_norm\" not implemented for '%s'", dtype_info[r->dt].c10);
	for (int k = 0; k < 4; k++) {
		const struct ref_tensor *t = operand(c, parameters[k]);
		first = first ? first : t;
		floats = floats && (!t || t->meta.dtype == DT_F32);
		alike = alike && (!t || t->meta.dtype == r->dt);
	}
	if (alike)
		return true;
	if (first->meta.dtype != r->dt && !floats)
		return err_set(c->err, "mixed dtype (CPU): expect parameter to have scalar type of Float");
	if (first->meta.dtype != r->dt && r->in == r->dt)
		return err_set(c->err, "mixed dtype (CPU): all inputs must share same datatype.");
	return ref_unsupported(c, "parameters of another dtype than input");
}

static bool check_layouts(struct ref_ctx *c, const struct batch *r, const struct meta *input)
{
	for (int k = 0; k < 4; k++) {
		const struct ref_tensor *t = operand(c, parameters[k]);
		if (t && (!shape_equal(t->meta.size, t->meta.rank, &r->channels, 1) || !layout_is_contiguous(&t->meta)))
			return ref_unsupported(c, "a parameter that is not one number for each channel, at which PyTorch does not look");
	}
	return (shape_format(input) == 0 && layout_is_contiguous(input))
		|| ref_unsupported(c, "an input that is not contiguous, for which PyTorch has other kernels");
}

static bool read_batch(struct ref_ctx *c, struct batch *r)
{
	const struct meta *input = &operand(c, N_input)->meta;
	if (input->rank < 2)
		return ref_unsupported(c, "an input without channels");
	*r = (struct batch){.dt = input->dtype,
		.in = dtype_compute(input->dtype),
		.training = c->n->arg[op_arg(c->n->op, N_training)].i.value != 0,
		.channels = input->size[1],
		.n = meta_numel(input),
		.eps = {c->n->arg[op_arg(c->n->op, N_eps)].scalar.f},
		.momentum = {c->n->arg[op_arg(c->n->op, N_momentum)].scalar.f}};
	r->len = r->channels ? r->n / r->channels : 0;
	if (!check_dtypes(c, r))
		return false;
	if (r->training && r->n == 0)
		return err_set(
			c->err, "input tensor must have at least one element, but got input_sizes = %s", shape_text(c, input->size, input->rank));
	if (r->training && r->in != r->dt)
		return ref_unsupported(c, "halves: what PyTorch rounds their moments to is not modelled");
	if (r->training && !(r->eps[0] > 0))
		return ref_unsupported(c, "no positive eps, where the inverse deviation of equal elements is 0");
	return check_layouts(c, r, input);
}

/* ---- steps ---- */

static const sid *map2(struct ref_ctx *c, const struct batch *r, enum sf f, const sid *a, const sid *b, int64_t n)
{
	return ref_ids_block(c, tape_map2(c->t, f, r->in, a, b, n), n);
}

static const sid *computed(struct ref_ctx *c, const struct batch *r, const struct ref_tensor *t)
{
	return ref_cast(c, ref_ids(c, t), meta_numel(&t->meta), r->in);
}

/* A number for each channel: weight, bias, or what it is where there is none. */
static const sid *each_channel(struct ref_ctx *c, const struct batch *r, int name, double otherwise)
{
	const struct ref_tensor *t = operand(c, name);
	return t ? computed(c, r, t) : ref_ids_repeat(c, tape_const_f(c->t, r->in, otherwise), r->channels);
}

/* A channel's number for each of its elements, channel by channel. */
static const sid *spread(struct ref_ctx *c, const struct batch *r, const sid *of)
{
	sid *out = tape_ids(c->t, r->n);
	for (int64_t k = 0; k < r->n; k++)
		out[k] = of[k / r->len];
	return out;
}

/* Where the element is, channel by channel, that is number k of input. */
static int64_t place(const struct batch *r, const struct meta *input, int64_t k)
{
	const int64_t each = r->len / input->size[0], sample = k / (r->channels * each);
	return k / each % r->channels * r->len + sample * each + k % each;
}

static const sid *by_channel(struct ref_ctx *c, const struct batch *r, const struct meta *input, const sid *ids)
{
	sid *out = tape_ids(c->t, r->n);
	for (int64_t k = 0; k < r->n; k++)
		out[place(r, input, k)] = ids[k];
	return out;
}

static const sid *by_sample(struct ref_ctx *c, const struct batch *r, const struct meta *input, const sid *ids)
{
	sid *out = tape_ids(c->t, r->n);
	for (int64_t k = 0; k < r->n; k++)
		out[k] = ids[place(r, input, k)];
	return out;
}

static const sid *rows(struct ref_ctx *c, const struct batch *r, enum sf f, const sid *x)
{
	return ref_ids_block(c, tape_formula(c->t, f, r->in, (const sid *const[3]){x}, r->channels, r->len, r->eps), r->channels);
}

/* Of the moments that the row is given. */
static const sid *of_running(struct ref_ctx *c, const struct batch *r, const sid *x)
{
	const int64_t n = r->channels;
	const sid *mean = computed(c, r, operand(c, N_running_mean)), *var = computed(c, r, operand(c, N_running_var));
	const sid *deviation = ref_ids_block(c, tape_map(c->t, SF_INVERSE_DEVIATION, r->in, (const sid *const[3]){var}, n, r->eps), n);
	const sid *factor = map2(c, r, SF_MUL, deviation, each_channel(c, r, N_weight, 1), n);
	const sid *shift = map2(c, r, SF_SUB, each_channel(c, r, N_bias, 0), map2(c, r, SF_MUL, mean, factor, n), n);
	return map2(c, r, SF_ADD, map2(c, r, SF_MUL, x, spread(c, r, factor), r->n), spread(c, r, shift), r->n);
}

static const sid *of_moments(struct ref_ctx *c, const struct batch *r, const sid *x)
{
	const sid *op[3] = {x, spread(c, r, each_channel(c, r, N_weight, 1)), spread(c, r, each_channel(c, r, N_bias, 0))};
	return ref_ids_block(c, tape_formula(c->t, SF_BATCH_NORM, r->in, op, r->channels, r->len, r->eps), r->n);
}

static bool give(struct ref_ctx *c, const struct batch *r, int k, int64_t n, const sid *ids)
{
	c->t->result = k;
	return ref_out_ids(c, k, r->dt, &n, 1, NULL, ids);
}

static bool give_running(struct ref_ctx *c, const struct batch *r, int k, int name, const sid *moment)
{
	const sid *op[3] = {moment, ref_ids(c, operand(c, name))};
	const int64_t n = r->channels;
	return give(c, r, k, n, r->training ? ref_ids_block(c, tape_map(c->t, SF_RUNNING, r->in, op, n, r->momentum), n) : op[1]);
}

REFERENCE(batch_norm_functional, ANEW)
{
	const struct meta *input = &operand(c, N_input)->meta;
	struct batch r;
	if (!ref_not_on_cuda(c) || !read_batch(c, &r))
		return false;
	const sid *x = by_channel(c, &r, input, computed(c, &r, operand(c, N_input)));
	const sid *y = by_sample(c, &r, input, r.training ? of_moments(c, &r, x) : of_running(c, &r, x));
	if (!ref_out_ids(c, 0, r.dt, input->size, input->rank, NULL, ref_cast(c, y, r.n, r.dt)))
		return false;
	const int64_t kept = r.training ? r.channels : 0;
	const sid *mean = r.training ? rows(c, &r, SF_ROW_MEAN, x) : NULL;
	if (!give(c, &r, 1, kept, mean) || !give(c, &r, 2, kept, r.training ? rows(c, &r, SF_ROW_RSTD, x) : NULL))
		return false;
	if (!give_running(c, &r, 3, N_running_mean, mean))
		return false;
	const sid *unbiased = r.training ? ref_ids_block(c, tape_rows(c->t, SF_VAR, r.in, x, r.channels, r.len, 1), r.channels) : NULL;
	return give_running(c, &r, 4, N_running_var, unbiased);
}
