/* windows.c: rules of rows whose windows slide. A convolution is a matrix product for each group of channels: of what lies under the
 * windows, which a strided view of the padded image shows, by the filters. What a map makes of an image (a transposed convolution, or the
 * gradient by an image) adds up at the places that the windows show. One or two dims are taken as three. Halves are multiplied and added
 * in f32. */
#include "compiled/decompose/rules.h"

#include "eager/ops/window.h"

/* A convolution in the making: operands in the type computed in. */
struct making {
	struct decomposition *d;
	struct convolution v;
	int input, weight;
	enum dtype own, wide;
	int64_t padded[SLIDING_DIMS], places, taps; /* places: of one sample; taps: of one filter */
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
	m.places = sliding_numel(m.v.s.out);
	m.taps = m.v.group_channels * sliding_numel(m.v.s.kernel);
	return m;
}

/* [samples, groups, rows, columns] as factors: [groups, samples * rows, columns] */
static int by_group(const struct making *m, int x, int64_t rows, int64_t columns)
{
	const int64_t order[] = {1, 0, 2, 3}, factor[] = {m->v.groups, m->v.samples * rows, columns};
	return reshaped(m->d, emit_permute(m->d->b, x, order, 4), factor, 3);
}

/* What the windows show of a tensor of the padded image's cells, row-major: a factor of places and taps, a copy. */
static int under_windows(const struct making *m, int cells)
{
	const struct convolution *v = &m->v;
	const struct sliding *s = &v->s;
	const int64_t line = m->padded[2], sheet = m->padded[1] * line, channel = m->padded[0] * sheet;
	const int64_t size[] = {
		v->samples * v->groups, s->out[0], s->out[1], s->out[2], v->group_channels, s->kernel[0], s->kernel[1], s->kernel[2]};
	const int64_t stride[] = {v->group_channels * channel, s->stride[0] * sheet, s->stride[1] * line, s->stride[2], channel,
		s->dilation[0] * sheet, s->dilation[1] * line, s->dilation[2]};
	const int64_t shown[] = {v->samples, v->groups, m->places, m->taps};
	const int x = emit_as_strided(m->d->b, cells, size, ARRAY_LEN(size), stride, ARRAY_LEN(stride), 0);
	return by_group(m, reshaped(m->d, x, shown, 4), m->places, m->taps);
}

static int windows(const struct making *m, int image)
{
	const struct convolution *v = &m->v;
	const int64_t size[] = {v->samples, v->channels, v->s.in[0], v->s.in[1], v->s.in[2]}, *p = v->s.padding;
	const int64_t pad[] = {p[2], p[2], p[1], p[1], p[0], p[0]};
	const int x = emit_constant_pad_nd(m->d->b, reshaped(m->d, image, size, 5), pad, ARRAY_LEN(pad), scalar_int(0));
	/* which may give channels-last */
	return under_windows(m, meta_is_contiguous(build_meta(m->d->b, x)) ? x : emit_contiguous(m->d->b, x));
}

/* [groups, filters of one, taps] */
static int filters(const struct making *m)
{
	const int64_t size[] = {m->v.groups, m->v.group_filters, m->taps};
	return reshaped(m->d, m->weight, size, 3);
}

static int turned(const struct making *m, int x) { return emit_transpose_int(m->d->b, x, 1, 2); }

/* A map as a factor: [groups, places, filters of one]. */
static int map_factor(const struct making *m, int map)
{
	const struct convolution *v = &m->v;
	const int64_t size[] = {v->samples, v->groups, v->group_filters, m->places};
	return by_group(m, emit_transpose_int(m->d->b, reshaped(m->d, map, size, 4), 2, 3), m->places, v->group_filters);
}

/* The map of an image. */
static int to_map(const struct making *m, int image)
{
	const struct convolution *v = &m->v;
	const int64_t size[] = {v->groups, v->samples, m->places, v->group_filters}, order[] = {1, 0, 3, 2};
	const int y = emit_bmm(m->d->b, windows(m, image), turned(m, filters(m)));
	return sized_as(m->d, emit_permute(m->d->b, reshaped(m->d, y, size, 4), order, 4), result_meta(m->d, 0));
}

/* The image of a map. */
static int to_image(const struct making *m, int map)
{
	struct decomposition *d = m->d;
	const struct convolution *v = &m->v;
	const int64_t size[] = {v->samples, v->channels, m->padded[0], m->padded[1], m->padded[2]};
	const int64_t cells = v->samples * v->channels * sliding_numel(m->padded);
	const int each = flat(d, emit_bmm(d->b, map_factor(m, map), filters(m)));
	const int at = flat(d, under_windows(m, positions(d, 0, cells, 1)));
	int x = emit_full(d->b, &cells, 1, scalar_int(0), (int)m->wide);
	x = reshaped(d, emit_scatter_add(d->b, x, 0, at, each), size, 5);
	for (int k = 0; k < SLIDING_DIMS; k++)
		if (v->s.padding[k])
			x = emit_slice_Tensor(d->b, x, 2 + k, v->s.padding[k], v->s.padding[k] + v->s.in[k], 1);
	return sized_as(d, x, result_meta(d, 0));
}

RULE(convolution)
{
	const struct making m = making_of(d);
	int y = m.v.transposed ? to_image(&m, m.input) : to_map(&m, m.input);
	if (d->in[A_convolution_bias] != NO_VALUE) {
		const int64_t column[] = {m.v.transposed ? m.v.channels : m.v.filters, 1, 1, 1};
		const int bias = reshaped(d, as_dtype(d, d->in[A_convolution_bias], m.wide), column, 1 + m.v.s.ndim);
		y = emit_add_Tensor(d->b, y, bias, scalar_int(1));
	}
	d->out[0] = as_dtype(d, y, m.own);
}

RULE(convolution_backward)
{
	const struct making m = making_of(d);
	const bool *asked = d->n->arg[A_convolution_backward_output_mask].bools;
	const int grad = as_dtype(d, d->in[A_convolution_backward_grad_output], m.wide);
	const int image = m.v.transposed ? grad : m.input, map = m.v.transposed ? m.input : grad;
	if (asked[0])
		d->out[0] = as_dtype(d, m.v.transposed ? to_map(&m, grad) : to_image(&m, grad), m.own);
	if (asked[1]) {
		const int y = emit_bmm(d->b, turned(&m, map_factor(&m, map)), windows(&m, image));
		d->out[1] = as_dtype(d, sized_as(d, y, result_meta(d, 1)), m.own);
	}
	if (asked[2]) {
		const int64_t dims[] = {0, 2, 3, 4};
		d->out[2] = as_dtype(d, emit_sum_dim(d->b, grad, dims, 1 + m.v.s.ndim, false, (int)m.wide), m.own);
	}
}
