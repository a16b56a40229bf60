/* scatter_strided.c: as_strided_scatter: a copy of self in which the cells that sizes, strides and an offset name are replaced by src. The
 * cells are those of the whole storage; what is no element of self is written unseen (clone_preserve_strides, TensorShape.cpp).
 *
 * The derivative takes self for contiguous and its storage to begin with it, as PyTorch's does: that raises if self requires grad and
 * is not contiguous, is wrong about an offset elsewhere or a cotangent that begins elsewhere, and its gradient of self is the cotangent
 * where it should be zero, and zero elsewhere. The generator makes none of that (role `packed`, nogen.def). */
#include "eager/ops/move.h"
#include "eager/ops/row_rules.h"

/* What the arguments name in the copy; false if they are no sizes and strides. */
static bool strided_cells(struct meta *out, const struct meta *copy, const struct node *n, struct err *err)
{
	const struct arg *size = &n->arg[A_as_strided_scatter_size], *stride = &n->arg[A_as_strided_scatter_stride];
	int64_t sizes[MAX_RANK];
	if (size->n != stride->n)
		return err_set(err, "mismatch in length of strides and shape");
	if (size->n > MAX_RANK)
		return err_limit(err, "rank %d exceeds the limit %d", size->n, MAX_RANK);
	for (int d = 0; d < size->n; d++)
		sizes[d] = size->ints[d].value;
	if (!meta_check_sizes(sizes, size->n, err))
		return false;
	*out = *copy;
	out->rank = size->n;
	for (int d = 0; d < out->rank; d++) {
		out->size[d] = sizes[d];
		out->stride[d] = stride->ints[d].value;
		if (out->stride[d] < 0)
			return err_set(err, "as_strided: Negative strides are not supported at the moment");
	}
	if (node_given(n, A_as_strided_scatter_storage_offset))
		out->offset = node_int(n, A_as_strided_scatter_storage_offset);
	return out->offset >= 0 || err_set(err, "Tensor: invalid storage offset %lld", (long long)out->offset);
}

bool meta_as_strided_scatter(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_as_strided_scatter_self], *src = c->in[A_as_strided_scatter_src];
	struct meta cells;
	char have[SIZES_TEXT], want[SIZES_TEXT];
	bool cloned = meta_overlaps_itself(self);
	c->out[0] = *self;
	if (cloned)
		layout_preserve(&c->out[0], self);
	if (!strided_cells(&cells, &c->out[0], c->n, c->err)
		|| !meta_in_bounds(&cells, cloned ? meta_extent(&c->out[0]) : meta_storage_cells(c, A_as_strided_scatter_self), c->err))
		return false;
	if (!meta_same_sizes(&cells, src))
		return err_set(c->err, "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
			sizes_text(have, src->size, src->rank), sizes_text(want, cells.size, cells.rank));
	return !meta_overlaps_itself(&cells)
		|| err_set(c->err,
			"unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
			"Please clone() the tensor before performing the operation.");
}

bool kern_as_strided_scatter(struct kern_ctx *c)
{
	struct tensor *out = &c->out[0], src = *c->in[A_as_strided_scatter_src];
	struct meta cells;
	struct walk w;
	CHECK(strided_cells(&cells, &out->meta, c->n, c->err));
	if (src.meta.dtype != out->meta.dtype)
		src = tensor_convert(&src, out->meta.dtype, c->scratch);
	tensor_move(out, c->in[A_as_strided_scatter_self]);
	int64_t extent = meta_extent(&out->meta);
	walk_init(&w, cells.size, cells.rank);
	walk_add(&w, &src);
	for (bool more = walk_start(&w); more; more = walk_next(&w)) {
		int64_t cell = cells.offset;
		for (int d = 0; d < cells.rank; d++)
			cell += w.index[d] * cells.stride[d];
		if (cell < extent)
			cell_move(tensor_at(out, cell), w.at[0], dtype_nbytes(out->meta.dtype));
	}
	return true;
}

void vjp_as_strided_scatter(struct vjp *v)
{
	int64_t size[MAX_LIST], stride[MAX_LIST], offset = build_int_of(v->n, A_as_strided_scatter_storage_offset);
	int nsize = node_ints(size, v->n, A_as_strided_scatter_size), nstride = node_ints(stride, v->n, A_as_strided_scatter_stride);
	int g = emit_lift_fresh_copy(v->b, v->g[0]); /* contiguous from the first cell of a storage on, which PyTorch's need not be */
	if (v->want[A_as_strided_scatter_self])
		v->grad[A_as_strided_scatter_self] =
			emit_as_strided_scatter(v->b, g, vjp_zeros(v->b, vjp_meta(v, A_as_strided_scatter_src)), size, nsize, stride, nstride, offset);
	if (v->want[A_as_strided_scatter_src])
		v->grad[A_as_strided_scatter_src] = emit_as_strided(v->b, g, size, nsize, stride, nstride, offset);
}
