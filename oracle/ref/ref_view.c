/* ref_view.c: views. Each states the result's sizes, strides and offset over its argument's storage; no scalar is made. The
 * element-level formula of a view is its geometry: result[i] is the cell offset + sum i_d * stride_d. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

struct geometry {
	int64_t size[MAX_RANK], stride[MAX_RANK], offset;
	int rank;
};

static struct geometry geometry_of(const struct meta *m)
{
	struct geometry g = {.rank = m->rank, .offset = m->offset};
	memcpy(g.size, m->size, sizeof g.size);
	memcpy(g.stride, m->stride, sizeof g.stride);
	return g;
}

static bool give_view(struct ref_ctx *c, const struct geometry *g)
{
	return ref_out_view(c, 0, A_VIEW_self, g->size, g->stride, g->rank, g->offset);
}

static void drop_dim(struct geometry *g, int d)
{
	g->rank--;
	for (; d < g->rank; d++) {
		g->size[d] = g->size[d + 1];
		g->stride[d] = g->stride[d + 1];
	}
}

static bool push_dim(struct ref_ctx *c, struct geometry *g, int d, int64_t size, int64_t stride)
{
	if (g->rank == MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", g->rank + 1, MAX_RANK);
	for (int k = g->rank++; k > d; k--) {
		g->size[k] = g->size[k - 1];
		g->stride[k] = g->stride[k - 1];
	}
	g->size[d] = size;
	g->stride[d] = stride;
	return true;
}

REFERENCE(alias, SELF)
{
	struct geometry g = geometry_of(meta_of(c, A_alias_self));
	return give_view(c, &g);
}

/* New leading dims and size-1 dims repeat: stride 0. A kept size 1 keeps its stride. */
REFERENCE(expand, SELF)
{
	const struct meta *m = meta_of(c, A_expand_self);
	const struct arg *want = &c->n->arg[A_expand_size];
	if (want->n < m->rank || want->n > MAX_RANK)
		return err_set(c->err, "expand: the number of sizes provided (%d) must be at least the number of dimensions in the tensor (%d)",
			want->n, m->rank);
	struct geometry g = {.rank = want->n, .offset = m->offset};
	for (int k = want->n - 1; k >= 0; k--) {
		int d = k - (want->n - m->rank);
		int64_t have = d >= 0 ? m->size[d] : 1, w = want->ints[k].value;
		if (w == -1 && d < 0)
			return err_set(c->err, "expand: -1 is not allowed in a leading, non-existing dimension %d", k);
		if (w == -1)
			w = have;
		if (w < 0 || (w != have && have != 1))
			return err_set(c->err, "expand: the expanded size (%lld) must match the existing size (%lld) at non-singleton dimension %d",
				(long long)w, (long long)have, k);
		g.size[k] = w;
		if (w != have)
			g.stride[k] = 0;
		else
			g.stride[k] = d >= 0 ? m->stride[d] : k + 1 < want->n ? g.size[k + 1] * g.stride[k + 1] : 1;
	}
	return give_view(c, &g);
}

REFERENCE(permute, VIEW)
{
	const struct meta *m = meta_of(c, A_permute_self);
	const struct arg *dims = &c->n->arg[A_permute_dims];
	struct geometry g = geometry_of(m);
	bool seen[MAX_RANK] = {false};
	if (dims->n != m->rank)
		return err_set(c->err, "permute: %d dims given for a tensor of %d dimensions", dims->n, m->rank);
	for (int k = 0; k < m->rank; k++) {
		int d;
		if (!ref_dim(c, &d, dims->ints[k].value, m->rank))
			return false;
		if (seen[d])
			return err_set(c->err, "permute: duplicate dims are not allowed");
		seen[d] = true;
		g.size[k] = m->size[d];
		g.stride[k] = m->stride[d];
	}
	return give_view(c, &g);
}

REFERENCE(detach, ANEW)
{
	c->cuts = true;
	return ref_alias(c);
}

REFERENCE(view_dtype, ANEW)
{
	const enum dtype from = meta_of(c, A_view_dtype_self)->dtype, to = c->n->arg[A_view_dtype_dtype].dtype;
	if (dtype_nbytes(from) != dtype_nbytes(to))
		return ref_unsupported(c, "a view of another width");
	if ((to == DT_B8) != (from == DT_B8))
		return ref_unsupported(c, "b8 and another dtype share bytes, which may be neither 0 nor 1");
	c->cuts = true;
	if (!ref_alias(c))
		return false;
	c->out[0].meta.dtype = to;
	return true;
}

REFERENCE(t, VIEW)
{
	const struct meta *m = meta_of(c, A_t_self);
	struct geometry g = geometry_of(m);
	if (m->rank > 2)
		return err_set(c->err, "t() expects a tensor with <= 2 dimensions");
	if (m->rank == 2) {
		g.size[0] = m->size[1], g.stride[0] = m->stride[1];
		g.size[1] = m->size[0], g.stride[1] = m->stride[0];
	}
	return give_view(c, &g);
}

REFERENCE(transpose, VIEW)
{
	const struct meta *m = meta_of(c, A_transpose_self);
	struct geometry g = geometry_of(m);
	int a, b;
	if (!shape_dim(c, &a, A_transpose_dim0, m) || !shape_dim(c, &b, A_transpose_dim1, m))
		return false;
	if (m->rank) {
		g.size[a] = m->size[b];
		g.stride[a] = m->stride[b];
		g.size[b] = m->size[a];
		g.stride[b] = m->stride[a];
	}
	return give_view(c, &g);
}

REFERENCE(unsqueeze, VIEW)
{
	const struct meta *m = meta_of(c, A_unsqueeze_self);
	struct geometry g = geometry_of(m);
	int d;
	if (!ref_dim(c, &d, ref_arg_int(c, A_unsqueeze_dim), m->rank + 1))
		return false;
	int64_t stride = d < m->rank ? m->size[d] * m->stride[d] : 1;
	return push_dim(c, &g, d, 1, stride) && give_view(c, &g);
}

REFERENCE(squeeze, VIEW)
{
	struct geometry g = geometry_of(meta_of(c, A_squeeze_self));
	for (int d = g.rank - 1; d >= 0; d--)
		if (g.size[d] == 1)
			drop_dim(&g, d);
	return give_view(c, &g);
}

REFERENCE(squeeze_dim, VIEW)
{
	struct geometry g = geometry_of(meta_of(c, A_squeeze_dim_self));
	int d;
	if (!shape_dim(c, &d, A_squeeze_dim_dim, meta_of(c, A_squeeze_dim_self)))
		return false;
	if (g.rank && g.size[d] == 1)
		drop_dim(&g, d);
	return give_view(c, &g);
}

REFERENCE(squeeze_dims, VIEW)
{
	struct geometry g = geometry_of(meta_of(c, A_squeeze_dims_self));
	bool asked[MAX_RANK];
	if (!ref_dims(c, asked, A_squeeze_dims_dim, g.rank, false))
		return false;
	for (int d = g.rank - 1; d >= 0; d--)
		if (asked[d] && g.size[d] == 1)
			drop_dim(&g, d);
	return give_view(c, &g);
}

/* Python's slice: bounds count from the end when negative and are clipped. */
REFERENCE(slice, ANEW)
{
	const struct meta *m = meta_of(c, A_slice_self);
	struct geometry g = geometry_of(m);
	int d;
	if (m->rank == 0)
		return err_set(c->err, "slice() cannot be applied to a 0-dim tensor");
	if (!shape_dim(c, &d, A_slice_dim, m))
		return false;
	int64_t n = m->size[d], step = ref_arg_int(c, A_slice_step);
	int64_t start = ref_given(c, A_slice_start) ? ref_arg_int(c, A_slice_start) : 0,
			end = ref_given(c, A_slice_end) ? ref_arg_int(c, A_slice_end) : n;
	if (step <= 0)
		return err_set(c->err, "slice step must be positive");
	start = MIN(MAX(start < 0 ? start + n : start, 0), n);
	end = MAX(MIN(end < 0 ? end + n : end, n), start);
	g.size[d] = end == start ? 0 : 1 + (end - start - 1) / step;
	g.offset += start * m->stride[d];
	g.stride[d] = wrap_mul(m->stride[d], step);
	return give_view(c, &g);
}

REFERENCE(select, ANEW)
{
	const struct meta *m = meta_of(c, A_select_self);
	struct geometry g = geometry_of(m);
	int d;
	if (m->rank == 0)
		return err_set(c->err, "select() cannot be applied to a 0-dim tensor");
	if (!shape_dim(c, &d, A_select_dim, m))
		return false;
	int64_t i = ref_arg_int(c, A_select_index), n = m->size[d];
	if (i < -n || i >= n)
		return err_set(c->err, "select(): index %lld out of range for size %lld of dimension %d", (long long)i, (long long)n, d);
	g.offset += (i < 0 ? i + n : i) * m->stride[d];
	drop_dim(&g, d);
	return give_view(c, &g);
}

REFERENCE(view, VIEW)
{
	const struct meta *m = meta_of(c, A_view_self);
	struct geometry g = {.offset = m->offset};
	if (!shape_infer(c, g.size, &g.rank, A_view_size, meta_numel(m)))
		return false;
	if (!shape_view(g.stride, m, g.size, g.rank))
		return err_set(c->err, "view size is not compatible with input tensor's size and stride");
	return give_view(c, &g);
}

/* Over the whole storage, whatever self looks at. */
REFERENCE(as_strided, WINDOW)
{
	const struct meta *m = meta_of(c, A_as_strided_self);
	const struct arg *size = &c->n->arg[A_as_strided_size], *stride = &c->n->arg[A_as_strided_stride];
	if (size->n != stride->n)
		return err_set(c->err, "as_strided: mismatch in length of strides and shape");
	if (size->n > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", size->n, MAX_RANK);
	struct geometry g = {
		.rank = size->n, .offset = ref_given(c, A_as_strided_storage_offset) ? ref_arg_int(c, A_as_strided_storage_offset) : m->offset};
	for (int d = 0; d < g.rank; d++) {
		g.size[d] = size->ints[d].value;
		g.stride[d] = stride->ints[d].value;
		if (g.stride[d] < 0)
			return err_set(c->err, "as_strided: negative strides are not supported");
	}
	if (g.offset < 0)
		return err_set(c->err, "invalid storage offset %lld", (long long)g.offset);
	return give_view(c, &g);
}

/* result[…, i] = self at (i, i + offset) of (dim1, dim2), or (i - offset, i). */
REFERENCE(diagonal, ANEW)
{
	const struct meta *m = meta_of(c, A_diagonal_self);
	struct geometry g = geometry_of(m);
	int a, b;
	if (!shape_dim(c, &a, A_diagonal_dim1, m) || !shape_dim(c, &b, A_diagonal_dim2, m))
		return false;
	if (a == b)
		return err_set(c->err, "diagonal dimensions cannot be identical %d, %d", a, b);
	int64_t off = ref_arg_int(c, A_diagonal_offset);
	int64_t n = off >= 0 ? MIN(m->size[a], wrap_sub(m->size[b], off)) : MIN(wrap_add(m->size[a], off), m->size[b]);
	n = MAX(n, 0);
	if (n > 0)
		g.offset += off >= 0 ? off * m->stride[b] : -off * m->stride[a];
	drop_dim(&g, MAX(a, b));
	drop_dim(&g, MIN(a, b));
	return push_dim(c, &g, g.rank, n, m->stride[a] + m->stride[b]) && give_view(c, &g);
}

/* Windows of `size` every `step` along dim; the window's own dimension comes last. */
REFERENCE(unfold, ANEW)
{
	const struct meta *m = meta_of(c, A_unfold_self);
	struct geometry g = geometry_of(m);
	int d;
	if (!shape_dim(c, &d, A_unfold_dimension, m))
		return false;
	int64_t n = shape_size(m, d), len = ref_arg_int(c, A_unfold_size), step = ref_arg_int(c, A_unfold_step), stride = shape_stride(m, d);
	if (len < 0 || len > n)
		return err_set(c->err, "unfold: size %lld must be within 0 and the size %lld of dimension %d", (long long)len, (long long)n, d);
	if (step <= 0)
		return err_set(c->err, "unfold: step is %lld but must be > 0", (long long)step);
	if (!push_dim(c, &g, g.rank, len, stride))
		return false;
	if (m->rank) {
		g.size[d] = (n - len) / step + 1;
		g.stride[d] = wrap_mul(stride, step);
	}
	return give_view(c, &g);
}

/* ---- several views of one argument ---------------------------------------------------------------------------- */

REFERENCE(split, ANEW)
{
	const struct meta *m = meta_of(c, A_split_self);
	int64_t len = ref_arg_int(c, A_split_split_size);
	int d;
	if (m->rank == 0)
		return err_set(c->err, "split expects at least a 1-dimensional tensor");
	if (!shape_dim(c, &d, A_split_dim, m))
		return false;
	int64_t n = m->size[d];
	if (len < 0 || (len == 0 && n != 0))
		return err_set(c->err, "split: split_size %lld of a dimension of size %lld", (long long)len, (long long)n);
	int64_t parts = len == 0 || n == 0 ? 1 : (n - 1) / len + 1;
	if (parts > MAX_OUTS)
		return err_set(c->err, "more than %d results", MAX_OUTS);
	for (int k = 0; k < (int)parts; k++) {
		struct geometry g = geometry_of(m);
		g.size[d] = MIN(len, n - k * len);
		g.offset += k * len * m->stride[d];
		if (!ref_out_view(c, k, A_split_self, g.size, g.stride, g.rank, g.offset))
			return false;
	}
	c->nout = (int)parts;
	return true;
}

REFERENCE(split_with_sizes, ANEW)
{
	const struct meta *m = meta_of(c, A_split_with_sizes_self);
	const struct arg *piece = &c->n->arg[A_split_with_sizes_split_sizes];
	int64_t at = 0;
	int d;
	if (m->rank == 0)
		return err_set(c->err, "split expects at least a 1-dimensional tensor");
	if (!shape_dim(c, &d, A_split_with_sizes_dim, m))
		return false;
	if (piece->n > MAX_OUTS)
		return err_set(c->err, "more than %d results", MAX_OUTS);
	for (int k = 0; k < piece->n; k++) {
		struct geometry g = geometry_of(m);
		g.size[d] = piece->ints[k].value;
		if (g.size[d] < 0 || g.size[d] > m->size[d] - at)
			return err_set(c->err, "split_with_sizes of a size %lld into pieces that do not add up to it", (long long)m->size[d]);
		g.offset += at * m->stride[d];
		at += g.size[d];
		if (!ref_out_view(c, k, A_split_with_sizes_self, g.size, g.stride, g.rank, g.offset))
			return false;
	}
	if (at != m->size[d])
		return err_set(c->err, "split_with_sizes of a size %lld into pieces of %lld", (long long)m->size[d], (long long)at);
	c->nout = piece->n;
	return true;
}

REFERENCE(unbind, ANEW)
{
	const struct meta *m = meta_of(c, A_unbind_self);
	int d;
	if (m->rank == 0)
		return err_set(c->err, "unbind: dimension specified but tensor has no dimensions");
	if (!shape_dim(c, &d, A_unbind_dim, m))
		return false;
	if (m->size[d] > MAX_OUTS)
		return err_set(c->err, "more than %d results", MAX_OUTS);
	for (int k = 0; k < (int)m->size[d]; k++) {
		struct geometry g = geometry_of(m);
		g.offset += k * m->stride[d];
		drop_dim(&g, d);
		if (!ref_out_view(c, k, A_unbind_self, g.size, g.stride, g.rank, g.offset))
			return false;
	}
	c->nout = (int)m->size[d];
	return true;
}
