/* pools.c: rules of rows that pool planes or volumes. What lies under the windows is a strided view of the padded plane, one row for each
 * window; what goes back to it is added up at the places that the same view of positions shows. */
#include "compiled/decompose/rules.h"

#include "eager/ops/window.h"

#include <math.h>

/* A plane or a volume with room for all windows, those that stand out beyond the padding, too. */
struct pooling {
	struct decomposition *d;
	struct pool p;
	int first; /* of the dims that are pooled */
	int64_t padded[SLIDING_DIMS];
};

static struct pooling pooling_of(struct decomposition *d)
{
	struct pooling m = {.d = d, .p = pool_of(d->n, operand_meta(d, op_arg(d->n->op, N_self)))};
	const struct sliding *s = &m.p.s;
	m.first = SLIDING_DIMS - s->ndim;
	for (int k = 0; k < SLIDING_DIMS; k++)
		m.padded[k] = MAX(s->in[k] + 2 * s->padding[k], (s->out[k] - 1) * s->stride[k] + (s->kernel[k] - 1) * s->dilation[k] + 1);
	return m;
}

/* [planes, ...] with those of the sizes that are pooled; size[3] may stand behind. Returns the rank. */
static int of_planes(const struct pooling *m, int64_t out[SLIDING_DIMS + 2], const int64_t size[SLIDING_DIMS], int64_t behind)
{
	int n = 0;
	out[n++] = m->p.planes;
	for (int d = m->first; d < SLIDING_DIMS; d++)
		out[n++] = size[d];
	if (behind)
		out[n++] = behind;
	return n;
}

/* [planes, ...windows, places] of a tensor of the padded planes' cells, row-major; a copy. */
static int under_windows(const struct pooling *m, int cells)
{
	const struct sliding *s = &m->p.s;
	const int ndim = s->ndim;
	int64_t size[2 * SLIDING_DIMS + 1] = {m->p.planes}, stride[2 * SLIDING_DIMS + 1], rows[SLIDING_DIMS + 2], step = 1;
	for (int d = SLIDING_DIMS - 1; d >= m->first; step *= m->padded[d--]) {
		const int k = 1 + d - m->first;
		size[k] = s->out[d];
		stride[k] = s->stride[d] * step;
		size[k + ndim] = s->kernel[d];
		stride[k + ndim] = s->dilation[d] * step;
	}
	stride[0] = step;
	const int n = of_planes(m, rows, s->out, sliding_numel(s->kernel));
	return reshaped(m->d, emit_as_strided(m->d->b, cells, size, 2 * ndim + 1, stride, 2 * ndim + 1, 0), rows, n);
}

/* Those of x, which has the planes' sizes, with `beside` in the padding. */
static int windows(const struct pooling *m, int x, struct scalar beside)
{
	const struct sliding *s = &m->p.s;
	int64_t size[SLIDING_DIMS + 2], pad[2 * SLIDING_DIMS];
	for (int d = m->first; d < SLIDING_DIMS; d++) {
		int64_t *at = pad + 2 * (SLIDING_DIMS - 1 - d);
		at[0] = s->padding[d];
		at[1] = m->padded[d] - s->in[d] - s->padding[d];
	}
	const int n = of_planes(m, size, s->in, 0);
	x = emit_constant_pad_nd(m->d->b, reshaped(m->d, x, size, n), pad, 2 * s->ndim, beside);
	return under_windows(m, meta_is_contiguous(build_meta(m->d->b, x)) ? x : emit_contiguous(m->d->b, x));
}

static int64_t cells(const struct pooling *m) { return m->p.planes * sliding_numel(m->padded); }

/* How many places of windows along a dim count: those from `start` on, as far as the padding or the plane goes. */
static int counts_along(const struct pooling *m, int dim)
{
	struct build *b = m->d->b;
	const struct sliding *s = &m->p.s;
	const int64_t beyond = m->p.padding_counts ? s->padding[dim] : 0, first = -s->padding[dim];
	const int start = emit_arange_start_step(
		b, scalar_int(first), scalar_int(first + s->out[dim] * s->stride[dim]), scalar_int(s->stride[dim]), (int)DT_F64);
	const int end = emit_add_Scalar(b, start, scalar_int(s->kernel[dim]), scalar_int(1));
	return emit_sub_Tensor(
		b, emit_clamp_max(b, end, scalar_int(s->in[dim] + beyond)), emit_clamp_min(b, start, scalar_int(-beyond)), scalar_int(1));
}

/* x divided by its windows' divisors, in dtype t, which is x's. */
static int divided(const struct pooling *m, int x, enum dtype t)
{
	struct decomposition *d = m->d;
	bool same = true;
	for (int64_t w = 0; w < sliding_numel(m->p.s.out); w++)
		same = same && pool_divisor(&m->p, w) == pool_divisor(&m->p, 0);
	if (same)
		return emit_div_Tensor(d->b, x, constant(d, scalar_float((double)pool_divisor(&m->p, 0)), t));
	int by = counts_along(m, m->first);
	for (int k = m->first + 1; k < SLIDING_DIMS; k++)
		by = emit_mul_Tensor(d->b, with_dim(d, by, build_meta(d->b, by)->rank), counts_along(m, k));
	return emit_div_Tensor(d->b, x, as_dtype(d, by, t));
}

/* The result k: x, which has its elements in row-major order, in its dtype and layout. */
static int laid_out(struct decomposition *d, int x, int k)
{
	const struct meta *m = result_meta(d, k);
	int64_t last[MAX_RANK], back[MAX_RANK];
	x = as_dtype(d, sized_as(d, x, m), m->dtype);
	if (meta_is_contiguous(m))
		return x;
	const int channels = m->rank - 1 - pool_of(d->n, operand_meta(d, op_arg(d->n->op, N_self))).s.ndim;
	for (int i = 0, at = 0; i < m->rank; i++) {
		last[i] = i == m->rank - 1 ? channels : at++ + (i >= channels);
		back[last[i]] = i;
	}
	return emit_permute(d->b, emit_contiguous(d->b, emit_permute(d->b, x, last, m->rank)), back, m->rank);
}

RULE(avg_pool2d)
{
	const struct pooling m = pooling_of(d);
	const int64_t places = -1;
	const enum dtype wide = dtype_compute(result_meta(d, 0)->dtype);
	const int x = windows(&m, as_dtype(d, d->in[A_avg_pool2d_self], wide), scalar_int(0));
	d->out[0] = laid_out(d, divided(&m, emit_sum_dim(d->b, x, &places, 1, false, (int)wide), wide), 0);
}

/* What stands for each place of each window, added up in planes of its dtype: scatter_add rounds once. */
static int scattered(const struct pooling *m, int each)
{
	struct decomposition *d = m->d;
	const struct sliding *s = &m->p.s;
	const int64_t n = cells(m);
	int64_t size[SLIDING_DIMS + 2];
	const int rank = of_planes(m, size, m->padded, 0);
	const int at = flat(d, under_windows(m, positions(d, 0, n, 1))), t = (int)build_meta(d->b, each)->dtype;
	const int none = emit_full(d->b, &n, 1, scalar_int(0), t);
	int x = reshaped(d, emit_scatter_add(d->b, none, 0, at, flat(d, each)), size, rank);
	for (int k = m->first; k < SLIDING_DIMS; k++)
		if (m->padded[k] != s->in[k])
			x = emit_slice_Tensor(d->b, x, 1 + k - m->first, s->padding[k], s->padding[k] + s->in[k], 1);
	return x;
}

RULE(avg_pool2d_backward)
{
	const struct pooling m = pooling_of(d);
	const struct sliding *s = &m.p.s;
	int64_t size[SLIDING_DIMS + 2], each[SLIDING_DIMS + 2];
	const int n = of_planes(&m, size, s->out, 0), rank = of_planes(&m, each, s->out, sliding_numel(s->kernel));
	const int share = divided(&m, reshaped(d, d->in[A_avg_pool2d_backward_grad_output], size, n), result_meta(d, 0)->dtype);
	d->out[0] = laid_out(d, scattered(&m, emit_expand(d->b, with_dim(d, share, n), each, rank)), 0);
}

/* By window, along the last dim: positions on the plane, -1 in the padding. */
static int positions_under(const struct pooling *m)
{
	struct decomposition *d = m->d;
	const struct sliding *s = &m->p.s;
	int64_t one[SLIDING_DIMS + 2], all[SLIDING_DIMS + 2];
	const int rank = of_planes(m, all, s->in, 0);
	memcpy(one, all, sizeof one);
	one[0] = 1;
	const int plane = reshaped(d, positions(d, 0, sliding_numel(s->in), 1), one, rank);
	return windows(m, emit_expand(d->b, plane, all, rank), scalar_int(-1));
}

/* Which of the windows' places count: [planes, ..., places] numbers, `otherwise` for the others. */
static int where_else(struct decomposition *d, int mask, int x, struct scalar otherwise)
{
	return emit_where_self(d->b, mask, x, constant(d, otherwise, build_meta(d->b, x)->dtype));
}

/* The first place of the largest, or the last NaN. */
static void largest(struct decomposition *d)
{
	const struct pooling m = pooling_of(d);
	struct build *b = d->b;
	const int64_t places = -1;
	const enum dtype t = result_meta(d, 0)->dtype;
	const int at = positions_under(&m), none = constant(d, scalar_int(-1), DT_I64);
	int x = windows(&m, d->in[A_max_pool_with_indices_self], scalar_int(0));
	const int inside = emit_gt_Tensor(b, at, none);
	const struct scalar least = dtype_is_float(t)
		? scalar_float(-INFINITY)
		: scalar_int(dtype_is_unsigned(t) ? 0 : (int64_t)(UINT64_MAX << (8 * dtype_nbytes(t) - 1)));
	x = where_else(d, inside, x, least);
	const int y = emit_amax(b, x, &places, 1, true);
	const int first =
		emit_amin(b, where_else(d, emit_logical_and(b, inside, emit_eq_Tensor(b, x, y)), at, scalar_int(INT64_MAX)), &places, 1, false);
	int index = first;
	if (dtype_is_float(t)) {
		const int nan = emit_amax(b, where_else(d, emit_ne_Tensor(b, x, x), at, scalar_int(-1)), &places, 1, false);
		index = emit_where_self(b, emit_gt_Tensor(b, nan, none), nan, first);
	}
	d->out[0] = laid_out(d, y, 0);
	d->out[1] = laid_out(d, index, 1);
}

static void largest_backward(struct decomposition *d)
{
	const struct pooling m = pooling_of(d);
	const struct sliding *s = &m.p.s;
	const int64_t rows[] = {m.p.planes, sliding_numel(s->out)}, cells_of[] = {m.p.planes, sliding_numel(s->in)};
	const int none = emit_full(d->b, cells_of, 2, scalar_int(0), (int)result_meta(d, 0)->dtype);
	const int at = reshaped(d, d->in[A_max_pool_with_indices_backward_indices], rows, 2);
	d->out[0] =
		laid_out(d, emit_scatter_add(d->b, none, 1, at, reshaped(d, d->in[A_max_pool_with_indices_backward_grad_output], rows, 2)), 0);
}

RULE(max_pool2d_with_indices) { largest(d); }
RULE(max_pool3d_with_indices) { largest(d); }
RULE(max_pool2d_with_indices_backward) { largest_backward(d); }
RULE(max_pool3d_with_indices_backward) { largest_backward(d); }
