/* window.c: rows whose windows slide over the last dims. Convolutions are sums of products, added in double and rounded once; what lies
 * in the padding is left out. */
#include "eager/ops/window.h"

#include "eager/ops/move.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

/* ---- what a convolution is told ---- */

/* Entries of a list, one for each dim; one alone is for all. The places of dims that are not there hold `none`. */
static void spread_list(int64_t out[SLIDING_DIMS], const struct node *n, int name, int ndim, int64_t none)
{
	int64_t v[MAX_LIST];
	const int given = node_ints(v, n, op_arg(n->op, name));
	for (int d = 0; d < SLIDING_DIMS; d++) {
		const int k = d - (SLIDING_DIMS - ndim);
		out[d] = k < 0 ? none : v[given == 1 ? 0 : k];
	}
}

static bool is_transposed(const struct node *n) { return n->arg[op_arg(n->op, N_transposed)].b; }

struct convolution convolution_of(const struct node *n, const struct meta *input, const struct meta *weight)
{
	struct convolution c = {.s.ndim = weight->rank - 2, .transposed = is_transposed(n)};
	struct sliding *s = &c.s;
	int64_t more[SLIDING_DIMS];
	spread_list(s->stride, n, N_stride, s->ndim, 1);
	spread_list(s->padding, n, N_padding, s->ndim, 0);
	spread_list(s->dilation, n, N_dilation, s->ndim, 1);
	spread_list(more, n, N_output_padding, s->ndim, 0);
	for (int d = 0; d < SLIDING_DIMS; d++) {
		const int at = 2 + d - (SLIDING_DIMS - s->ndim);
		const int64_t given = at < 2 ? 1 : input->size[at];
		s->kernel[d] = at < 2 ? 1 : weight->size[at];
		const int64_t rest = s->dilation[d] * (s->kernel[d] - 1) + 1 - 2 * s->padding[d];
		s->in[d] = c.transposed ? (given - 1) * s->stride[d] + rest + more[d] : given;
		s->out[d] = c.transposed ? given : (given - rest) / s->stride[d] + 1;
	}
	c.samples = input->size[0];
	c.filters = weight->size[0];
	c.groups = node_int(n, op_arg(n->op, N_groups));
	c.group_channels = weight->size[1];
	c.channels = c.group_channels * c.groups;
	c.group_filters = c.filters / c.groups;
	return c;
}

/* ---- shape rules ---- */

static bool check_list(struct meta_ctx *c, int name, const char *what, int ndim, int64_t least, const char *refusal)
{
	int64_t v[MAX_LIST];
	const int given = node_ints(v, c->n, op_arg(c->n->op, name));
	char text[SIZES_TEXT];
	if (given != 1 && given != ndim)
		return err_set(c->err,
			"expected %s to be a single integer value or a list of %d values to match the convolution dimensions, but got %s=%s", what,
			ndim, what, sizes_text(text, v, MIN(given, MAX_RANK)));
	for (int k = 0; k < given; k++) {
		if (v[k] < least)
			return err_set(c->err, "%s", refusal);
		if (v[k] > INT32_MAX)
			return err_limit(c->err, "%s of %lld", what, (long long)v[k]);
	}
	return true;
}

/* Of a convolution that is not transposed: forward does not look at it, backward refuses it. */
static bool check_output_padding(struct meta_ctx *c)
{
	int64_t v[MAX_LIST];
	const int n = node_ints(v, c->n, op_arg(c->n->op, N_output_padding));
	char text[SIZES_TEXT];
	for (int k = 0; k < n && !is_transposed(c->n); k++)
		if (v[k])
			return c->n->op == OP_convolution ? err_limit(c->err, "output_padding of a convolution that is not transposed")
											  : err_set(c->err, "output_padding is not supported for non-transposed convolutions; got: %s",
												  sizes_text(text, v, MIN(n, MAX_RANK)));
	return true;
}

/* PyTorch's check_shape_forward (Convolution.cpp). */
static bool check_sizes(struct meta_ctx *c, const struct meta *input, const struct meta *weight, int64_t groups)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	if (groups <= 0)
		return err_set(c->err, "non-positive groups is not supported");
	if (input->rank != weight->rank)
		return err_set(c->err,
			"Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional input of size %s instead", weight->rank,
			weight->rank, sizes_text(a, weight->size, weight->rank), input->rank, sizes_text(b, input->size, input->rank));
	if (weight->size[0] < groups || weight->size[0] % groups)
		return err_set(c->err,
			"Given groups=%lld, expected weight to be at least %lld at dimension 0 and divisible by it, but got weight of size %s instead",
			(long long)groups, (long long)groups, sizes_text(a, weight->size, weight->rank));
	int64_t channels;
	if (!mul_i64(&channels, weight->size[1], groups))
		return err_limit(c->err, "%lld groups of %lld channels", (long long)groups, (long long)weight->size[1]);
	if (is_transposed(c->n) && input->size[1] != weight->size[0])
		return err_set(c->err,
			"Given transposed=1, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
			sizes_text(a, weight->size, weight->rank), sizes_text(b, input->size, input->rank), (long long)weight->size[0],
			(long long)input->size[1]);
	if (!is_transposed(c->n) && input->size[1] != channels)
		return err_set(c->err,
			"Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
			(long long)groups, sizes_text(a, weight->size, weight->rank), sizes_text(b, input->size, input->rank), (long long)channels,
			(long long)input->size[1]);
	return true;
}

static bool check_windows(struct meta_ctx *c, const struct meta *input, const struct meta *weight)
{
	const struct convolution v = convolution_of(c->n, input, weight);
	for (int d = 0; d < SLIDING_DIMS; d++)
		if (v.s.in[d] + 2 * v.s.padding[d] < v.s.dilation[d] * (v.s.kernel[d] - 1) + 1)
			return err_set(c->err,
				"Calculated padded input size per channel: (%lld). Kernel size: (%lld). "
				"Kernel size can't be greater than actual input size",
				(long long)(v.s.in[d] + 2 * v.s.padding[d]), (long long)(v.s.dilation[d] * (v.s.kernel[d] - 1) + 1));
	return true;
}

/* oneDNN makes a result without elements where other kernels refuse. */
static bool check_image(struct meta_ctx *c, const struct meta *input, const struct meta *weight)
{
	const struct convolution v = convolution_of(c->n, input, weight);
	int64_t more[SLIDING_DIMS];
	spread_list(more, c->n, N_output_padding, v.s.ndim, 0);
	for (int d = 0; d < SLIDING_DIMS; d++)
		if (more[d] >= v.s.stride[d] && more[d] >= v.s.dilation[d])
			return err_set(c->err, "output padding must be smaller than either stride or dilation");
	for (int d = 0; d < SLIDING_DIMS; d++)
		if (v.s.in[d] < 1)
			return err_limit(c->err, "a transposed convolution whose result has no elements: not every kernel refuses it");
	return true;
}

/* One dim is the second of two. */
static struct meta as_planes(const struct meta *m)
{
	struct meta four = *m;
	if (m->rank == 3)
		meta_insert_dim(&four, 2, 1, m->size[2] * m->stride[2]);
	return four;
}

static bool suggests_channels_last(const struct meta *m)
{
	const struct meta four = as_planes(m);
	return meta_is_channels_last(&four);
}

/* Do the results lie channels-last? If input or weight suggest it. An input of one dim is made contiguous first. Kernels of three dims for
 * double never look (Slow3d and its like); it depends on the machine, the sizes and the threads whether floats and halves meet those. */
static bool lies_channels_last(const struct meta *input, const struct meta *weight)
{
	const bool looks = weight->rank<5, as_it_lies = weight->rank> 3 || meta_is_contiguous(input);
	return looks && ((as_it_lies && suggests_channels_last(input)) || suggests_channels_last(weight));
}

static bool check_layout(struct meta_ctx *c, const struct meta *input, const struct meta *weight)
{
	const struct meta planes = as_planes(weight);
	if (weight->rank == 5 && input->dtype != DT_F64 && (suggests_channels_last(input) || suggests_channels_last(weight)))
		return err_limit(c->err, "a convolution of three dims with channels last: the layout of its result is the kernel's choice");
	const bool weight_asked = c->n->op == OP_convolution || c->n->arg[A_convolution_backward_output_mask].bools[1];
	if (weight_asked && lies_channels_last(input, weight) && !suggests_channels_last(weight)
		&& meta_is_formatted(&planes, FORMAT_CHANNELS_LAST))
		return err_limit(c->err, "a convolution with channels last by a weight that lies both ways: the layout of its gradient varies");
	return true;
}

/* A fresh result of `like`'s dtype and device. */
static void layout_result(struct meta *out, const struct meta *like, const int64_t *size, int rank, bool channels_last)
{
	layout_contiguous(out, like, size, rank);
	if (channels_last)
		layout_channels_last(out);
}

static bool check_convolution(struct meta_ctx *c, const struct meta *input, const struct meta *weight)
{
	const int ndim = weight->rank - 2;
	if (!dtype_is_float(input->dtype) || !dtype_is_float(weight->dtype))
		return err_limit(
			c->err, "a convolution of %s and %s, not of floats", dtype_info[input->dtype].name, dtype_info[weight->dtype].name);
	if (ndim <= 0)
		return err_set(c->err, "weight should have at least three dimensions");
	if (ndim > SLIDING_DIMS)
		return err_limit(c->err, "a convolution of %d dimensions", ndim);
	if (!check_list(c, N_stride, "stride", ndim, 1, "non-positive stride is not supported")
		|| !check_list(c, N_padding, "padding", ndim, 0, "negative padding is not supported")
		|| !check_list(c, N_dilation, "dilation", ndim, 1, "dilation should be greater than zero")
		|| !check_list(c, N_output_padding, "output_padding", ndim, 0, "negative output_padding is not supported")
		|| !check_sizes(c, input, weight, node_int(c->n, op_arg(c->n->op, N_groups)))
		|| (!is_transposed(c->n) && !check_windows(c, input, weight)) || !check_output_padding(c))
		return false;
	if (meta_numel(input) == 0 || meta_numel(weight) == 0)
		return err_limit(c->err, "a convolution without elements: the layout of its result is the kernel's choice");
	if (is_transposed(c->n) && !check_image(c, input, weight))
		return false;
	if (input->dtype != weight->dtype && c->n->op == OP_convolution_backward)
		return err_limit(c->err, "gradients of %s and %s: not every kernel looks at both", dtype_info[input->dtype].name,
			dtype_info[weight->dtype].name);
	if (input->dtype != weight->dtype)
		return err_set(
			c->err, "Input type (%s) and weight type (%s) should be the same", dtype_info[input->dtype].c10, dtype_info[weight->dtype].c10);
	return check_layout(c, input, weight);
}

static bool result_sizes(int64_t size[MAX_RANK], const struct convolution *v, struct err *err)
{
	const int64_t *last = v->transposed ? v->s.in : v->s.out;
	size[0] = v->samples;
	size[1] = v->transposed ? v->channels : v->filters;
	memcpy(size + 2, last + SLIDING_DIMS - v->s.ndim, sizeof *size * (size_t)v->s.ndim);
	return meta_check_sizes(size, 2 + v->s.ndim, err);
}

static bool check_bias(struct meta_ctx *c, const struct meta *bias, const struct meta *weight, int64_t channels)
{
	char text[SIZES_TEXT];
	if (bias->rank != 1 || bias->size[0] != channels)
		return err_set(c->err, "Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements",
			is_transposed(c->n) ? "transposed=1, " : "", sizes_text(text, weight->size, weight->rank), (long long)channels);
	return bias->dtype == weight->dtype
		|| err_limit(c->err, "a bias of %s for a weight of %s: some kernels refuse it", dtype_info[bias->dtype].name,
			dtype_info[weight->dtype].name);
}

bool meta_convolution(struct meta_ctx *c)
{
	const struct meta *input = c->in[A_convolution_input], *weight = c->in[A_convolution_weight], *bias = c->in[A_convolution_bias];
	int64_t size[MAX_RANK];
	if (!check_convolution(c, input, weight))
		return false;
	const struct convolution v = convolution_of(c->n, input, weight);
	if (!result_sizes(size, &v, c->err) || (bias && !check_bias(c, bias, weight, size[1])))
		return false;
	layout_result(&c->out[0], input, size, input->rank, lies_channels_last(input, weight));
	return true;
}

/* Only a gradient of the bias has to do with bias_sizes. */
bool meta_convolution_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_convolution_backward_grad_output], *input = c->in[A_convolution_backward_input],
					  *weight = c->in[A_convolution_backward_weight];
	const bool *asked = c->n->arg[A_convolution_backward_output_mask].bools;
	int64_t size[MAX_RANK];
	char a[SIZES_TEXT], b[SIZES_TEXT];
	if (!check_convolution(c, input, weight))
		return false;
	const struct convolution v = convolution_of(c->n, input, weight);
	if (!result_sizes(size, &v, c->err))
		return false;
	if (grad->rank != input->rank || memcmp(grad->size, size, sizeof *size * (size_t)grad->rank) != 0)
		return err_limit(c->err, "grad_output of size %s where %s is right: not every kernel looks at it",
			sizes_text(b, grad->size, grad->rank), sizes_text(a, size, input->rank));
	if (grad->dtype != input->dtype)
		return err_set(c->err, "expected scalar type %s but found %s", dtype_info[input->dtype].c10, dtype_info[grad->dtype].c10);
	if (asked[2] && !asked[1])
		return err_limit(c->err, "a gradient of the bias and none of the weight: oneDNN gives both, other kernels one");
	c->nout = 3;
	for (int k = 0; k < c->nout; k++)
		c->out[k] = (struct meta){.dtype = DT_F32, .absent = true, .rank = 1, .stride = {1}};
	const bool channels_last = lies_channels_last(input, weight);
	if (asked[0])
		layout_result(&c->out[0], input, input->size, input->rank, channels_last);
	if (asked[1])
		layout_result(&c->out[1], weight, weight->size, weight->rank, channels_last);
	if (asked[2])
		layout_contiguous(&c->out[2], weight, &size[1], 1);
	return true;
}

/* ---- kernels ---- */

/* One product of a convolution: cells of the image, of the weight and of the map. */
struct product {
	int64_t image, weight, map;
};

/* The next one whose cell is inside of the image. */
typedef void product_fn(void *data, const struct product *p);

static void each_product(const struct convolution *v, product_fn *f, void *data)
{
	const struct sliding *s = &v->s;
	const int64_t cells = sliding_numel(s->in), taps = v->group_channels * sliding_numel(s->kernel), places = sliding_numel(s->out);
	for (int64_t plane = 0; plane < v->samples * v->filters; plane++) {
		const int64_t filter = plane % v->filters;
		for (int64_t at = 0; at < places; at++)
			for (int64_t e = 0; e < taps; e++) {
				int64_t place = at, channel = e, cell = 0, step = 1;
				bool inside = true;
				for (int d = SLIDING_DIMS - 1; d >= 0; d--) {
					const int64_t x = sliding_at(s, d, place % s->out[d], channel % s->kernel[d]);
					inside = inside && sliding_inside(s, d, x);
					place /= s->out[d], channel /= s->kernel[d];
					cell += x * step, step *= s->in[d];
				}
				channel += filter / v->group_filters * v->group_channels;
				if (inside)
					f(data,
						&(struct product){
							(plane / v->filters * v->channels + channel) * cells + cell, filter * taps + e, plane * places + at});
			}
	}
}

struct sums {
	const double *input, *weight;
	double *result;
	bool transposed;
};
static void add_sum(void *data, const struct product *p)
{
	struct sums *f = data;
	f->result[f->transposed ? p->image : p->map] += f->input[f->transposed ? p->map : p->image] * f->weight[p->weight];
}

/* Which channel of the result element i is of. */
static int64_t channel_of(const struct convolution *v, int64_t i)
{
	return v->transposed ? i / sliding_numel(v->s.in) % v->channels : i / sliding_numel(v->s.out) % v->filters;
}

bool kern_convolution(struct kern_ctx *c)
{
	const struct tensor *input = c->in[A_convolution_input], *weight = c->in[A_convolution_weight], *bias = c->in[A_convolution_bias];
	const struct convolution v = convolution_of(c->n, &input->meta, &weight->meta);
	struct wide x, w, b, y;
	wide_load(&x, input, c->scratch);
	wide_load(&w, weight, c->scratch);
	wide_zero(&y, c->out->meta.dtype, meta_numel(&c->out->meta), c->scratch);
	if (bias)
		wide_load(&b, bias, c->scratch);
	for (int64_t i = 0; bias && i < y.n; i++)
		y.f[i] = b.f[channel_of(&v, i)];
	each_product(&v, add_sum, &(struct sums){x.f, w.f, y.f, v.transposed});
	wide_store(&y, c->out);
	return true;
}

struct gradients {
	const double *grad, *input, *weight;
	double *to_input, *to_weight; /* NULL: not asked for */
	bool transposed;
};
static void add_gradients(void *data, const struct product *p)
{
	struct gradients *b = data;
	const int64_t input = b->transposed ? p->map : p->image, grad = b->transposed ? p->image : p->map;
	if (b->to_input)
		b->to_input[input] += b->grad[grad] * b->weight[p->weight];
	if (b->to_weight)
		b->to_weight[p->weight] += b->grad[grad] * b->input[input];
}

bool kern_convolution_backward(struct kern_ctx *c)
{
	const struct tensor *in[3] = {
		c->in[A_convolution_backward_grad_output], c->in[A_convolution_backward_input], c->in[A_convolution_backward_weight]};
	const struct convolution v = convolution_of(c->n, &in[1]->meta, &in[2]->meta);
	struct wide from[3], to[3];
	for (int k = 0; k < 3; k++) {
		wide_load(&from[k], in[k], c->scratch);
		to[k] = (struct wide){0};
		if (!c->out[k].meta.absent)
			wide_zero(&to[k], c->out[k].meta.dtype, meta_numel(&c->out[k].meta), c->scratch);
	}
	each_product(&v, add_gradients, &(struct gradients){from[0].f, from[1].f, from[2].f, to[0].f, to[1].f, v.transposed});
	for (int64_t i = 0; to[2].f && i < from[0].n; i++)
		to[2].f[channel_of(&v, i)] += from[0].f[i];
	for (int k = 0; k < 3; k++)
		if (!c->out[k].meta.absent)
			wide_store(&to[k], &c->out[k]);
	return true;
}

/* ---- derivatives ---- */

void vjp_convolution(struct vjp *v)
{
	static const int operand[3] = {A_convolution_input, A_convolution_weight, A_convolution_bias};
	/* The bias' gradient comes with the weight's (meta_convolution_backward). */
	const bool asked[3] = {v->want[operand[0]], v->want[operand[1]] || v->want[operand[2]], v->want[operand[2]]};
	const int input = v->in[A_convolution_input], weight = v->in[A_convolution_weight];
	const struct convolution c = convolution_of(v->n, build_meta(v->b, input), build_meta(v->b, weight));
	const int64_t *channels = c.transposed ? &c.channels : &c.filters;
	int64_t stride[MAX_LIST], padding[MAX_LIST], dilation[MAX_LIST], more[MAX_LIST];
	const int nstride = node_ints(stride, v->n, A_convolution_stride), npadding = node_ints(padding, v->n, A_convolution_padding);
	const int ndilation = node_ints(dilation, v->n, A_convolution_dilation), nmore = node_ints(more, v->n, A_convolution_output_padding);
	const int all = emit_convolution_backward(v->b, v->g[0], input, weight, channels, 1, stride, nstride, padding, npadding, dilation,
		ndilation, c.transposed, more, nmore, node_int(v->n, A_convolution_groups), asked, 3);
	for (int k = 0; k < 3; k++)
		if (v->want[operand[k]])
			v->grad[operand[k]] = build_result(v->b, all, k);
}
