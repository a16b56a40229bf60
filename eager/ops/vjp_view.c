/* vjp_view.c: derivatives of views. Eager's sweep does not need them: a view reads and writes its base's adjoint memory. A program that
 * holds forward and backward has no such memory; there a view's cotangent becomes one of its base's sizes: read back through the inverse
 * view, or put into zeros where the view shows only a part. Formulas: derivatives.yaml, FunctionsManual.cpp. getitem has none: it is result
 * k of its operand under another name, and so is its cotangent. */
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

void vjp_alias(struct vjp *v) { v->grad[A_alias_self] = v->g[0]; }
void vjp_expand(struct vjp *v) { v->grad[A_expand_self] = v->g[0]; } /* vjp_apply sums */
void vjp_t(struct vjp *v) { v->grad[A_t_self] = emit_t(v->b, v->g[0]); }

void vjp_permute(struct vjp *v) { v->grad[A_permute_self] = vjp_unpermuted(v->b, v->n, v->g[0]); }

void vjp_transpose(struct vjp *v)
{
	int64_t dim0 = node_int(v->n, A_transpose_dim0), dim1 = node_int(v->n, A_transpose_dim1);
	v->grad[A_transpose_self] = emit_transpose_int(v->b, v->g[0], dim0, dim1);
}

void vjp_unsqueeze(struct vjp *v) { v->grad[A_unsqueeze_self] = emit_squeeze_dim(v->b, v->g[0], node_int(v->n, A_unsqueeze_dim)); }

/* Dims of size 1 more: a view of any layout. */
static void unsqueezed(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_viewed_self);
	v->grad[A_viewed_self] = emit_view(v->b, v->g[0], self->size, self->rank);
}

void vjp_squeeze(struct vjp *v) { unsqueezed(v); }
void vjp_squeeze_dim(struct vjp *v) { unsqueezed(v); }
void vjp_squeeze_dims(struct vjp *v) { unsqueezed(v); }

void vjp_view(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_view_self);
	v->grad[A_view_self] = emit_reshape(v->b, v->g[0], self->size, self->rank);
}

void vjp_slice(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_slice_self);
	int64_t start = node_given(v->n, A_slice_start) ? node_int(v->n, A_slice_start) : 0;
	int64_t end = node_given(v->n, A_slice_end) ? node_int(v->n, A_slice_end) : INT64_MAX;
	v->grad[A_slice_self] =
		emit_slice_backward(v->b, v->g[0], self->size, self->rank, node_int(v->n, A_slice_dim), start, end, node_int(v->n, A_slice_step));
}

void vjp_select(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_select_self);
	int64_t dim = node_int(v->n, A_select_dim), index = node_int(v->n, A_select_index);
	v->grad[A_select_self] = emit_select_backward(v->b, v->g[0], self->size, self->rank, dim, index);
}

void vjp_diagonal(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_diagonal_self);
	int64_t offset = node_int(v->n, A_diagonal_offset), dim1 = node_int(v->n, A_diagonal_dim1), dim2 = node_int(v->n, A_diagonal_dim2);
	v->grad[A_diagonal_self] = emit_diagonal_backward(v->b, v->g[0], self->size, self->rank, offset, dim1, dim2);
}

void vjp_unfold(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_unfold_self);
	int64_t dim = node_int(v->n, A_unfold_dimension), size = node_int(v->n, A_unfold_size), step = node_int(v->n, A_unfold_step);
	v->grad[A_unfold_self] = emit_unfold_backward(v->b, v->g[0], self->size, self->rank, dim, size, step);
}

/* as_strided_backward: */

/* Dims in which a geometry does not repeat. */
static struct meta geometry(const int64_t *size, const int64_t *stride, int rank, int64_t offset)
{
	struct meta m = {.offset = offset};
	for (int d = 0; d < rank; d++)
		if (size[d] != 1)
			meta_insert_dim(&m, m.rank, size[d], stride[d]);
	return m;
}

/* The cells of a geometry, from the numbers of all cells. */
static int cells_of(struct build *b, int cells, const struct meta *m)
{
	int64_t n = meta_numel(m);
	int at = emit_as_strided(b, cells, m->size, m->rank, m->stride, m->rank, m->offset);
	return emit_reshape(b, at, &n, 1);
}

/* The cotangent in a storage of its own, which self's geometry and the view's look at. What repeats by stride 0 is summed first; cells
 * that the view names more than once add; one that self names n times is shared among n. */
static int through_storage(struct vjp *v, const struct meta *self, struct meta *in, const struct meta *view)
{
	struct build *b = v->b;
	int g = v->g[0];
	int64_t base = MIN(in->offset, view->offset), kept_size[MAX_RANK], kept_stride[MAX_RANK];
	int kept = 0;
	for (int64_t d = view->rank - 1; d >= 0; d--)
		if (view->size[d] != 1 && view->stride[d] == 0)
			g = emit_sum_dim(b, g, &d, 1, false, -1);
	for (int d = 0; d < view->rank; d++)
		if (view->stride[d] != 0) {
			kept_size[kept] = view->size[d];
			kept_stride[kept++] = view->stride[d];
		}
	struct meta out = geometry(kept_size, kept_stride, kept, view->offset - base);
	in->offset -= base;
	int64_t ncells = MAX(meta_extent(in), meta_extent(&out)), n = meta_numel(&out);
	int storage = emit_zeros(b, &ncells, 1, (int)self->dtype);
	int cells = emit_arange(b, scalar_int(ncells), -1);
	int at = cells_of(b, cells, &out);
	g = emit_reshape(b, g, &n, 1);
	storage = meta_has_duplicates(&out) ? emit_index_add(b, storage, 0, at, g, scalar_int(1)) : emit_scatter_src(b, storage, 0, at, g);
	if (meta_has_duplicates(in)) {
		at = cells_of(b, cells, in);
		int count = emit_zeros_like(b, storage, -1);
		int ones = emit_ones(b, build_meta(b, at)->size, 1, (int)self->dtype);
		count = emit_index_add(b, count, 0, at, ones, scalar_int(1));
		storage = emit_div_Tensor(b, storage, count); /* NaN where self has no cell */
	}
	return emit_as_strided(b, storage, self->size, self->rank, self->stride, self->rank, in->offset);
}

void vjp_as_strided(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_as_strided_self);
	struct meta view = {.offset = self->offset}, in = geometry(self->size, self->stride, self->rank, self->offset);
	int64_t size[MAX_LIST], stride[MAX_LIST];
	view.rank = node_ints(size, v->n, A_as_strided_size);
	node_ints(stride, v->n, A_as_strided_stride);
	if (node_given(v->n, A_as_strided_storage_offset))
		view.offset = node_int(v->n, A_as_strided_storage_offset);
	memcpy(view.size, size, sizeof *size * (size_t)view.rank);
	memcpy(view.stride, stride, sizeof *stride * (size_t)view.rank);
	if (meta_numel(&view) && meta_numel(self))
		v->grad[A_as_strided_self] = through_storage(v, self, &in, &view);
}

/* The cotangents of all results, zeros where none arrived. */
static int all_cotangents(int *list, struct vjp *v)
{
	for (int k = 0; k < v->nout; k++)
		list[k] = v->g[k] == NO_VALUE ? vjp_zeros(v->b, &v->n->out[k].meta) : v->g[k];
	return v->nout;
}

void vjp_split(struct vjp *v)
{
	int list[MAX_OUTS], n = all_cotangents(list, v);
	v->grad[A_split_self] = emit_cat(v->b, list, n, node_int(v->n, A_split_dim));
}

void vjp_split_with_sizes(struct vjp *v) { vjp_split(v); }
void vjp_split_copy(struct vjp *v) { vjp_split(v); }
void vjp_split_with_sizes_copy(struct vjp *v) { vjp_split(v); }

void vjp_unbind(struct vjp *v)
{
	int list[MAX_OUTS], n = all_cotangents(list, v);
	if (n)
		v->grad[A_unbind_self] = emit_stack(v->b, list, n, node_int(v->n, A_unbind_dim));
}

void vjp_unbind_copy(struct vjp *v) { vjp_unbind(v); }
