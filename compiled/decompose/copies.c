/* copies.c: rules of rows that move elements: cats, selections by computed positions, expanded views that are copied. */
#include "compiled/decompose/rules.h"

RULE(lift_fresh_copy) { d->out[0] = d->in[A_lift_fresh_copy_self]; } /* a result's memory is its own */

RULE(copy) { d->out[0] = spread(d, as_dtype(d, d->in[A_copy_src], result_meta(d, 0)->dtype), result_meta(d, 0)); }

RULE(stack)
{
	const int n = d->n->arg[A_stack_tensors].n, dim = dim_of(int_arg(d, A_stack_dim), result_meta(d, 0));
	int part[MAX_LIST];
	for (int i = 0; i < n; i++)
		part[i] = with_dim(d, d->list[i], dim);
	d->out[0] = emit_cat(d->b, part, n, dim);
}

RULE(flip)
{
	const struct meta m = *result_meta(d, 0);
	int64_t dims[MAX_LIST];
	const int n = node_ints(dims, d->n, A_flip_dims);
	int x = d->in[A_flip_self];
	for (int i = 0; i < n && m.rank > 0 && meta_numel(&m) > 0; i++) {
		const int dim = dim_of(dims[i], &m);
		x = emit_index_select(d->b, x, dim, positions(d, m.size[dim] - 1, m.size[dim], -1));
	}
	d->out[0] = x;
}

/* The elements from `start` on, then those before it. */
static int rolled(struct decomposition *d, int x, int dim, int64_t shift)
{
	const int64_t size = build_meta(d->b, x)->size[dim], start = ((size - shift % size) % size + size) % size;
	if (start == 0)
		return x;
	const int last = emit_slice_Tensor(d->b, x, dim, start, size, 1), first = emit_slice_Tensor(d->b, x, dim, 0, start, 1);
	return emit_cat(d->b, (int[]){last, first}, 2, dim);
}

RULE(roll)
{
	const struct meta *m = result_meta(d, 0);
	int64_t shift[MAX_LIST], dims[MAX_LIST];
	const int nshift = node_ints(shift, d->n, A_roll_shifts), ndim = node_ints(dims, d->n, A_roll_dims);
	int x = d->in[A_roll_self];
	if (meta_numel(m) == 0) {
		d->out[0] = x;
		return;
	}
	x = ndim ? x : flat(d, x);
	for (int i = 0; i < nshift; i++)
		x = rolled(d, x, ndim ? dim_of(dims[i], m) : 0, shift[i]);
	d->out[0] = sized_as(d, x, m);
}

/* Each dim apart, seen as the middle of three: as many dims as a tensor may have leave room for no other. */
static int repeated(struct decomposition *d, int x, int dim, int64_t times)
{
	struct meta m = *build_meta(d->b, x);
	int64_t part[4] = {1, 1, m.size[dim], 1};
	for (int k = 0; k < m.rank; k++)
		part[k < dim ? 0 : 3] *= k == dim ? 1 : m.size[k];
	x = reshaped(d, x, part, 4);
	part[1] = times;
	x = emit_expand(d->b, x, part, 4);
	m.size[dim] *= times;
	return sized_as(d, x, &m);
}

RULE(repeat)
{
	const struct meta *m = result_meta(d, 0), *self = operand_meta(d, A_repeat_self);
	int64_t times[MAX_LIST], size[MAX_RANK];
	node_ints(times, d->n, A_repeat_repeats);
	if (meta_numel(m) == 0) {
		d->out[0] = filled(d, m, scalar_int(0));
		return;
	}
	for (int k = 0, lead = m->rank - self->rank; k < m->rank; k++)
		size[k] = k < lead ? 1 : self->size[k - lead];
	int x = reshaped(d, d->in[A_repeat_self], size, m->rank);
	for (int k = 0; k < m->rank; k++)
		if (size[k] != 1 && times[k] != 1)
			x = repeated(d, x, k, times[k]);
	d->out[0] = spread(d, x, m);
}

/* [n, r, r, h, w] to [n, h, r, w, r]. */
RULE(pixel_shuffle)
{
	static const int64_t order[] = {0, 3, 1, 4, 2};
	const struct meta *self = operand_meta(d, A_pixel_shuffle_self);
	const int64_t r = int_arg(d, A_pixel_shuffle_upscale_factor), h = self->size[self->rank - 2], w = self->size[self->rank - 1];
	if (meta_numel(self) == 0) {
		d->out[0] = filled(d, result_meta(d, 0), scalar_int(0));
		return;
	}
	const int64_t size[] = {meta_numel(self) / (r * r * h * w), r, r, h, w};
	int x = reshaped(d, d->in[A_pixel_shuffle_self], size, 5);
	d->out[0] = sized_as(d, emit_permute(d->b, x, order, 5), result_meta(d, 0));
}

/* [n, h, r, w, r] to [n, r, r, h, w]. */
RULE(pixel_unshuffle)
{
	static const int64_t order[] = {0, 2, 4, 1, 3};
	const struct meta *self = operand_meta(d, A_pixel_unshuffle_self);
	const int64_t r = int_arg(d, A_pixel_unshuffle_downscale_factor), h = self->size[self->rank - 2], w = self->size[self->rank - 1];
	if (meta_numel(self) == 0) {
		d->out[0] = filled(d, result_meta(d, 0), scalar_int(0));
		return;
	}
	const int64_t size[] = {meta_numel(self) / (h * w), h / r, r, w / r, r};
	int x = reshaped(d, d->in[A_pixel_unshuffle_self], size, 5);
	d->out[0] = sized_as(d, emit_permute(d->b, x, order, 5), result_meta(d, 0));
}

/* x between constants of so many positions. */
static int padded(struct decomposition *d, int x, int dim, int64_t before, int64_t after, struct scalar value)
{
	struct meta m = *build_meta(d->b, x);
	int part[3], n = 0;
	m.size[dim] = before;
	if (before > 0)
		part[n++] = filled(d, &m, value);
	part[n++] = x;
	m.size[dim] = after;
	if (after > 0)
		part[n++] = filled(d, &m, value);
	return n == 1 ? x : emit_cat(d->b, part, n, dim);
}

RULE(constant_pad_nd)
{
	int64_t pad[MAX_LIST];
	const int n = node_ints(pad, d->n, A_constant_pad_nd_pad), rank = result_meta(d, 0)->rank;
	int x = d->in[A_constant_pad_nd_self];
	for (int k = 0; k < n / 2; k++) {
		const int dim = rank - 1 - k;
		const int64_t before = pad[2 * k], after = pad[2 * k + 1], size = build_meta(d->b, x)->size[dim];
		if (before < 0 || after < 0)
			x = emit_slice_Tensor(d->b, x, dim, MAX(-before, 0), size + MIN(after, 0), 1);
		x = padded(d, x, dim, before, after, *scalar_arg(d, A_constant_pad_nd_value));
	}
	d->out[0] = x;
}

/* What is not beyond the diagonal, else 0. */
static void triangle(struct decomposition *d, int64_t diagonal, bool lower)
{
	const struct meta *m = result_meta(d, 0);
	const int64_t nrow = m->size[m->rank - 2], ncolumn = m->size[m->rank - 1];
	const int64_t column_of_rows[] = {nrow, 1}, start = MIN(MAX(diagonal, -nrow - 1), ncolumn + 1);
	const int row = emit_view(d->b, positions(d, start, nrow, 1), column_of_rows, 2), column = positions(d, 0, ncolumn, 1);
	const int keep = lower ? emit_le_Tensor(d->b, column, row) : emit_le_Tensor(d->b, row, column);
	d->out[0] = emit_where_self(d->b, keep, d->in[A_tri_self], constant(d, scalar_int(0), m->dtype));
}

RULE(tril) { triangle(d, int_arg(d, A_tril_diagonal), true); }
RULE(triu) { triangle(d, int_arg(d, A_triu_diagonal), false); }

RULE(embedding)
{
	const int rows = emit_index_select(d->b, d->in[A_embedding_weight], 0, flat(d, d->in[A_embedding_indices]));
	d->out[0] = sized_as(d, rows, result_meta(d, 0));
}
