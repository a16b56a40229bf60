/* windows.c: rules of rows whose windows slide. A convolution is a matrix product for each group of channels: of what lies under the
 * windows, which a strided view of the padded input shows, by the filters. Its gradient by the input adds up at the places that the
 * windows show. One dim is taken as two. Halves are multiplied and added in f32. */
#include "compiled/decompose/rules.h"

#include "eager/ops/window.h"

/* A convolution in the making: operands in the type computed in. */
struct making {
	struct decomposition *d;
	struct convolution v;
	int input, weight;
	enum dtype own, wide;
	int64_t padded[SLIDING_DIMS], places, taps; /* places: of all samples; taps: of one filter */
};

static struct making making_of(struct decomposition *d)
{
	const int input = d->in[op_arg(d->n->op, N_input)], weight = d->in[op_arg(d->n->op, N_weight)];
	struct making m = {.d = d, .v = convolution_of(d->n, build_meta(d->b, input), build_meta(d->b, weight))};
	m.own = build_meta(d->b, input)->dtype;
	m.wide = dtype_compute(m.own);
	m.input = as_dtype(d, input, m.wide);
	m.weight = as_dtype(d, weight, m.wide);
	for (int k = 0; k < SLIDING_DIMS; k++)
		m.padded[k] = m.v.s.in[k] + 2 * m.v.s.padding[k];
	m.places = m.v.samples * m.v.s.out[0] * m.v.s.out[1];
	m.taps = m.v.group_channels * m.v.s.kernel[0] * m.v.s.kernel[1];
	return m;
}

/* What the windows show of a tensor of the padded input's cells, row-major: [groups, places, taps], a copy. */
static int under_windows(const struct making *m, int cells)
{
	const struct convolution *v = &m->v;
	const struct sliding *s = &v->s;
	const int64_t plane = m->padded[0] * m->padded[1];
	const int64_t size[] = {v->groups, v->samples, s->out[0], s->out[1], v->group_channels, s->kernel[0], s->kernel[1]};
	const int64_t stride[] = {v->group_channels * plane, v->channels * plane, s->stride[0] * m->padded[1], s->stride[1], plane,
		s->dilation[0] * m->padded[1], s->dilation[1]};
	const int64_t product[] = {v->groups, m->places, m->taps};
	return reshaped(m->d, emit_as_strided(m->d->b, cells, size, ARRAY_LEN(size), stride, ARRAY_LEN(stride), 0), product, 3);
}

static int windows(const struct making *m)
{
	const struct convolution *v = &m->v;
	const int64_t size[] = {v->samples, v->channels, v->s.in[0], v->s.in[1]};
	const int64_t pad[] = {v->s.padding[1], v->s.padding[1], v->s.padding[0], v->s.padding[0]};
	int x = reshaped(m->d, m->input, size, 4);
	x = emit_constant_pad_nd(m->d->b, x, pad, 4, scalar_int(0)); /* which may give channels-last */
	return under_windows(m, meta_is_contiguous(build_meta(m->d->b, x)) ? x : emit_contiguous(m->d->b, x));
}

/* [groups, filters of one, taps] */
static int filters(const struct making *m)
{
	const int64_t size[] = {m->v.groups, m->v.group_filters, m->taps};
	return reshaped(m->d, m->weight, size, 3);
}

static int turned(const struct making *m, int x) { return emit_transpose_int(m->d->b, x, 1, 2); }

RULE(convolution)
{
	const struct making m = making_of(d);
	const struct convolution *v = &m.v;
	const int64_t size[] = {v->groups, v->samples, v->s.out[0] * v->s.out[1], v->group_filters}, order[] = {1, 0, 3, 2};
	int y = emit_bmm(d->b, windows(&m), turned(&m, filters(&m)));
	y = sized_as(d, emit_permute(d->b, reshaped(d, y, size, 4), order, 4), result_meta(d, 0));
	if (d->in[A_convolution_bias] != NO_VALUE) {
		const int64_t column[] = {v->filters, 1, 1};
		const int bias = reshaped(d, as_dtype(d, d->in[A_convolution_bias], m.wide), column, 1 + v->s.ndim);
		y = emit_add_Tensor(d->b, y, bias, scalar_int(1));
	}
	d->out[0] = as_dtype(d, y, m.own);
}

/* The cotangent as a factor: [groups, places, filters of one]. */
static int cotangent(const struct making *m, int grad)
{
	const struct convolution *v = &m->v;
	const int64_t size[] = {v->samples, v->groups, v->group_filters, v->s.out[0] * v->s.out[1]}, order[] = {1, 0, 3, 2};
	const int64_t product[] = {v->groups, m->places, v->group_filters};
	return reshaped(m->d, emit_permute(m->d->b, reshaped(m->d, grad, size, 4), order, 4), product, 3);
}

static int to_input(const struct making *m, int grad)
{
	struct decomposition *d = m->d;
	const struct convolution *v = &m->v;
	const int64_t cells = v->samples * v->channels * m->padded[0] * m->padded[1];
	const int64_t size[] = {v->samples, v->channels, m->padded[0], m->padded[1]};
	const int each = flat(d, emit_bmm(d->b, grad, filters(m))), at = flat(d, under_windows(m, positions(d, 0, cells, 1)));
	int x = emit_full(d->b, &cells, 1, scalar_int(0), (int)m->wide);
	x = reshaped(d, emit_scatter_add(d->b, x, 0, at, each), size, 4);
	for (int k = 0; k < SLIDING_DIMS; k++)
		if (v->s.padding[k])
			x = emit_slice_Tensor(d->b, x, 2 + k, v->s.padding[k], v->s.padding[k] + v->s.in[k], 1);
	return as_dtype(d, sized_as(d, x, result_meta(d, 0)), m->own);
}

RULE(convolution_backward)
{
	const struct making m = making_of(d);
	const bool *asked = d->n->arg[A_convolution_backward_output_mask].bools;
	const int whole = as_dtype(d, d->in[A_convolution_backward_grad_output], m.wide), grad = cotangent(&m, whole);
	if (asked[0])
		d->out[0] = to_input(&m, grad);
	if (asked[1])
		d->out[1] = as_dtype(d, sized_as(d, emit_bmm(d->b, turned(&m, grad), windows(&m)), result_meta(d, 1)), m.own);
	if (asked[2]) {
		const int64_t dims[] = {0, 2, 3};
		d->out[2] = as_dtype(d, emit_sum_dim(d->b, whole, dims, 1 + m.v.s.ndim, false, (int)m.wide), m.own);
	}
}
