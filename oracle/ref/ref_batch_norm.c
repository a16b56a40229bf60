/* ref_batch_norm.c: batch normalisation: of each channel over samples and all that a channel has. PyTorch's kernel makes one factor and one
 * shift for each channel, so that a result is x * factor + shift: of input's moments while training, else of those that it is given.
 * Backward, sums over a channel of (x - mean) * g and of g come first. */
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

/* ---- what is refused ---- */

static const int parameters[4] = {N_weight, N_bias, N_running_mean, N_running_var};

static bool takes_dtype(struct ref_ctx *c, const struct batch *r, const char *kernel)
{
	return (dtype_is_float(r->dt) && dtype_info[r->dt].rows == DR_FULL)
		|| err_set(c->err, "\"%s\" not implemented for '%s'", kernel, dtype_info[r->dt].c10);
}

static bool check_dtypes(struct ref_ctx *c, const struct batch *r)
{
	const struct ref_tensor *first = NULL;
	bool floats = true, alike = true;
	for (int k = 0; k < 4; k++) {
		const struct ref_tensor *t = ref_operand(c, parameters[k]);
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

static bool check_layouts(struct ref_ctx *c, const struct batch *r, const int *name, int n)
{
	const struct meta *input = &ref_operand(c, N_input)->meta;
	for (int k = 0; k < n; k++) {
		const struct ref_tensor *t = ref_operand(c, name[k]);
		if (t && (!shape_equal(t->meta.size, t->meta.rank, &r->channels, 1) || !layout_is_contiguous(&t->meta)))
			return ref_unsupported(c, "a parameter that is not one number for each channel, at which PyTorch does not look");
	}
	return (shape_format(input) == 0 && layout_is_contiguous(input))
		|| ref_unsupported(c, "an input that is not contiguous, for which PyTorch has other kernels");
}

static double number(const struct ref_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k < 0 ? 0 : c->n->arg[k].scalar.f;
}

static bool training(const struct ref_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k >= 0 && c->n->arg[k].b;
}

/* What forward and backward have. */
static bool read_input(struct ref_ctx *c, struct batch *r, bool train)
{
	const struct meta *input = &ref_operand(c, N_input)->meta;
	if (input->rank < 2)
		return ref_unsupported(c, "an input without channels");
	*r = (struct batch){.dt = input->dtype,
		.in = dtype_compute(input->dtype),
		.training = train,
		.channels = input->size[1],
		.n = meta_numel(input),
		.eps = {number(c, N_eps)},
		.momentum = {number(c, N_momentum)}};
	r->len = r->channels ? r->n / r->channels : 0;
	return true;
}

static bool read_batch(struct ref_ctx *c, struct batch *r)
{
	const struct meta *input = &ref_operand(c, N_input)->meta;
	if (!training(c, N_training) && !ref_operand(c, N_running_mean))
		return ref_unsupported(c, "no training and no moments: PyTorch 2.11 crashes");
	if (!read_input(c, r, training(c, N_training)) || !takes_dtype(c, r, "batch_norm") || !check_dtypes(c, r))
		return false;
	if (r->training && r->n == 0)
		return err_set(
			c->err, "input tensor must have at least one element, but got input_sizes = %s", shape_text(c, input->size, input->rank));
	if (r->training && r->in != r->dt)
		return ref_unsupported(c, "halves: what PyTorch rounds their moments to is not modelled");
	if (c->grad && r->in != r->dt)
		return ref_unsupported(c, "gradients of halves, which come of another kernel where what arrives is not contiguous");
	if (r->training && !(r->eps[0] > 0))
		return ref_unsupported(c, "no positive eps, where the inverse deviation of equal elements is 0");
	return check_layouts(c, r, parameters, 4);
}

/* ---- steps ---- */

static const sid *map1(struct ref_ctx *c, const struct batch *r, enum sf f, const sid *a, int64_t n)
{
	return ref_ids_block(c, tape_map1(c->t, f, r->in, a, n), n);
}
static const sid *map2(struct ref_ctx *c, const struct batch *r, enum sf f, const sid *a, const sid *b, int64_t n)
{
	return ref_ids_block(c, tape_map2(c->t, f, r->in, a, b, n), n);
}

static const sid *detached(struct ref_ctx *c, const struct batch *r, const sid *ids, int64_t n)
{
	return c->grad ? map1(c, r, SF_DETACH, ids, n) : ids;
}

static const sid *computed(struct ref_ctx *c, const struct batch *r, const struct ref_tensor *t)
{
	return ref_cast(c, ref_ids(c, t), meta_numel(&t->meta), r->in);
}

/* A number for each channel: weight, bias, or what it is where there is none. */
static const sid *each_channel(struct ref_ctx *c, const struct batch *r, int name, double otherwise)
{
	const struct ref_tensor *t = ref_operand(c, name);
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

static const sid *deviation_of(struct ref_ctx *c, const struct batch *r, const sid *var)
{
	const sid *op[3] = {var};
	return ref_ids_block(c, tape_map(c->t, SF_INVERSE_DEVIATION, r->in, op, r->channels, r->eps), r->channels);
}

/* What a result is made of: [n], [channels]. */
struct parts {
	const sid *x, *weight, *bias, *mean, *deviation;
};

/* x * factor + shift. (A decomposition subtracts the mean first, which may be finite where that overflows.) */
static const sid *normalized(struct ref_ctx *c, const struct batch *r, const struct parts *p)
{
	const int64_t n = r->channels;
	const sid *factor = map2(c, r, SF_MUL, p->deviation, p->weight, n);
	const sid *shift = map2(c, r, SF_SUB, p->bias, map2(c, r, SF_MUL, p->mean, factor, n), n);
	return map2(c, r, SF_ADD, map2(c, r, SF_MUL, p->x, spread(c, r, factor), r->n), spread(c, r, shift), r->n);
}

/* What only gradients come of: of input g, through its moments while training, times deviation and weight; the sum of g * (x - mean),
 * times deviation; and the sum of g. */
static const sid *gradient_paths(struct ref_ctx *c, const struct batch *r, const struct parts *p, const struct parts *fixed)
{
	const sid *op[3] = {map2(c, r, SF_MUL, p->x, spread(c, r, fixed->weight), r->n), fixed->x};
	const sid *of_input = r->training
		? ref_ids_block(c, tape_formula(c->t, SF_THROUGH_MOMENTS, r->in, op, r->channels, r->len, r->eps), r->n)
		: map2(c, r, SF_MUL, op[0], spread(c, r, fixed->deviation), r->n);
	const sid *centred = map2(c, r, SF_SUB, fixed->x, spread(c, r, fixed->mean), r->n);
	const sid *scaled = spread(c, r, map2(c, r, SF_MUL, p->weight, fixed->deviation, r->channels));
	const sid *of_weight = map2(c, r, SF_MUL, scaled, centred, r->n);
	return map2(c, r, SF_ADD, map2(c, r, SF_ADD, of_input, of_weight, r->n), spread(c, r, p->bias), r->n);
}

/* ---- forward ---- */

static bool give(struct ref_ctx *c, const struct batch *r, int k, int64_t n, const sid *ids)
{
	c->t->result = k;
	return ref_out_ids(c, k, r->dt, &n, 1, NULL, ids);
}

/* The result, and the moments that it was made of, of which there are none without training. fixed: what of is without gradients. */
static bool give_normalized(struct ref_ctx *c, const struct batch *r, struct parts *fixed)
{
	const struct meta *input = &ref_operand(c, N_input)->meta;
	const int64_t n = r->channels;
	const sid *x = by_channel(c, r, input, computed(c, r, ref_operand(c, N_input)));
	const struct parts p = {.x = x, .weight = each_channel(c, r, N_weight, 1), .bias = each_channel(c, r, N_bias, 0)};
	*fixed = (struct parts){.x = detached(c, r, x, r->n), .weight = detached(c, r, p.weight, n), .bias = detached(c, r, p.bias, n)};
	fixed->mean = r->training ? rows(c, r, SF_ROW_MEAN, fixed->x) : computed(c, r, ref_operand(c, N_running_mean));
	fixed->deviation = r->training ? rows(c, r, SF_ROW_RSTD, fixed->x) : deviation_of(c, r, computed(c, r, ref_operand(c, N_running_var)));
	const sid *y = normalized(c, r, fixed), *none = tape_ids(c->t, 0);
	y = by_sample(c, r, input, c->grad ? map2(c, r, SF_GRAFT, y, gradient_paths(c, r, &p, fixed), r->n) : y);
	return ref_out_ids(c, 0, r->dt, input->size, input->rank, NULL, ref_cast(c, y, r->n, r->dt))
		&& give(c, r, 1, r->training ? n : 0, r->training ? fixed->mean : none)
		&& give(c, r, 2, r->training ? n : 0, r->training ? fixed->deviation : none);
}

static bool give_running(struct ref_ctx *c, const struct batch *r, int k, int name, const sid *moment)
{
	const sid *op[3] = {moment, ref_ids(c, ref_operand(c, name))};
	const int64_t n = r->channels;
	return give(c, r, k, n, r->training ? ref_ids_block(c, tape_map(c->t, SF_RUNNING, r->in, op, n, r->momentum), n) : op[1]);
}

REFERENCE(batch_norm_functional, ANEW)
{
	struct batch r;
	struct parts fixed;
	if (!ref_not_on_cuda(c) || !read_batch(c, &r) || !give_normalized(c, &r, &fixed))
		return false;
	const sid *unbiased = r.training ? ref_ids_block(c, tape_rows(c->t, SF_VAR, r.in, fixed.x, r.channels, r.len, 1), r.channels) : NULL;
	return give_running(c, &r, 3, N_running_mean, fixed.mean) && give_running(c, &r, 4, N_running_var, unbiased);
}

REFERENCE(batch_norm_no_training, ANEW)
{
	struct batch r;
	struct parts fixed;
	return ref_not_on_cuda(c) && read_batch(c, &r) && give_normalized(c, &r, &fixed);
}

/* ---- backward ---- */

/* By channel: [n] and [channels]. */
struct upstream {
	const sid *g, *centred, *deviation, *dot, *sum; /* dot: of centred * g, sum: of g */
};

static const sid *sums(struct ref_ctx *c, const struct batch *r, const sid *term)
{
	return ref_ids_block(c, tape_rows(c->t, SF_SUM, r->in, term, r->channels, r->len, 0), r->channels);
}

/* (g - centred * k - mean of g) * deviation * weight; the mean goes first where another kernel reads g's strides. */
static const sid *to_input(struct ref_ctx *c, const struct batch *r, const struct upstream *b, bool contiguous)
{
	const int64_t n = r->channels;
	const sid *own = b->g;
	if (r->training) {
		const sid *count = ref_ids_repeat(c, tape_const_f(c->t, r->in, (double)r->len), n);
		const sid *k = map2(c, r, SF_MUL, map2(c, r, SF_MUL, b->dot, b->deviation, n), b->deviation, n);
		const sid *slope = map2(c, r, SF_MUL, b->centred, spread(c, r, map2(c, r, SF_DIV, k, count, n)), r->n);
		const sid *mean = spread(c, r, map2(c, r, SF_DIV, b->sum, count, n));
		own = map2(c, r, SF_SUB, own, contiguous ? slope : mean, r->n);
		own = map2(c, r, SF_SUB, own, contiguous ? mean : slope, r->n);
	}
	own = map2(c, r, SF_MUL, own, spread(c, r, b->deviation), r->n);
	return ref_operand(c, N_weight) ? map2(c, r, SF_MUL, own, spread(c, r, each_channel(c, r, N_weight, 1)), r->n) : own;
}

static const int backward_parameters[5] = {N_weight, N_running_mean, N_running_var, N_save_mean, N_save_invstd};

/* What forward has and gives has these dtypes, sizes and layouts. */
static bool check_upstream(struct ref_ctx *c, const struct batch *r, const int read[3], bool contiguous)
{
	const struct meta *input = &ref_operand(c, N_input)->meta, *grad = &ref_operand(c, N_grad_out)->meta;
	bool fits = shape_equal(grad->size, grad->rank, input->size, input->rank) && grad->dtype == r->dt && ref_operand(c, read[1])
		&& ref_operand(c, read[2]);
	if (fits && !takes_dtype(c, r, "batch_norm_backward_cpu"))
		return false;
	for (int k = 0; k < 5; k++) {
		const struct ref_tensor *t = ref_operand(c, backward_parameters[k]);
		fits = fits && (!t || (t->meta.dtype == r->dt && t->meta.rank == 1));
	}
	if (!fits)
		return ref_unsupported(c, "operands unlike those that batch norm has and gives");
	if (r->n == 0)
		return ref_unsupported(c, "no elements, by whose number PyTorch divides");
	if (r->in != r->dt && (r->training || !contiguous))
		return ref_unsupported(c, "halves: what PyTorch rounds their moments to is not modelled");
	return check_layouts(c, r, read, 3);
}

REFERENCE(native_batch_norm_backward, ANEW)
{
	const struct meta *input = &ref_operand(c, N_input)->meta, *grad = &ref_operand(c, N_grad_out)->meta;
	const bool train = training(c, N_train), *asked = c->n->arg[A_native_batch_norm_backward_output_mask].bools;
	const bool contiguous = shape_format(grad) == 0 && layout_is_contiguous(grad);
	const int read[3] = {N_weight, train ? N_save_mean : N_running_mean, train ? N_save_invstd : N_running_var};
	struct batch r;
	if (!ref_not_on_cuda(c) || !read_input(c, &r, train) || !check_upstream(c, &r, read, contiguous))
		return false;
	const sid *mean = computed(c, &r, ref_operand(c, read[1])), *second = computed(c, &r, ref_operand(c, read[2]));
	const sid *x = by_channel(c, &r, input, computed(c, &r, ref_operand(c, N_input)));
	struct upstream b = {.g = by_channel(c, &r, input, computed(c, &r, ref_operand(c, N_grad_out))),
		.centred = map2(c, &r, SF_SUB, x, spread(c, &r, mean), r.n),
		.deviation = train ? second : deviation_of(c, &r, second)};
	b.dot = sums(c, &r, map2(c, &r, SF_MUL, b.centred, b.g, r.n));
	b.sum = sums(c, &r, b.g);
	if (!(asked[0] ? ref_out_ids(
			  c, 0, r.dt, input->size, input->rank, NULL, ref_cast(c, by_sample(c, &r, input, to_input(c, &r, &b, contiguous)), r.n, r.dt))
				   : ref_out_none(c, 0)))
		return false;
	const sid *of_weight = map2(c, &r, SF_MUL, b.dot, b.deviation, r.channels);
	return (asked[1] ? give(c, &r, 1, r.channels, ref_cast(c, of_weight, r.channels, r.dt)) : ref_out_none(c, 1))
		&& (asked[2] ? give(c, &r, 2, r.channels, ref_cast(c, b.sum, r.channels, r.dt)) : ref_out_none(c, 2));
}
