/* ref_strided_scatter.c: as_strided_scatter: self with other values in the cells that sizes, strides and an offset name. The copy has the
 * storage of self (one that repeats cells by stride 0 is cloned densely first), so that a cell may be no element of it: then nothing is
 * seen of the value. */
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

/* Cells that are named, in the row-major order of src. */
struct named {
	int64_t size[MAX_RANK], stride[MAX_RANK], offset, n;
	int rank;
};

static bool named_cells(struct ref_ctx *c, struct named *g, int64_t own_offset, int64_t ncells)
{
	const struct arg *size = &c->n->arg[A_as_strided_scatter_size], *stride = &c->n->arg[A_as_strided_scatter_stride];
	if (size->n != stride->n)
		return err_set(c->err, "as_strided: mismatch in length of strides and shape");
	if (size->n > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", size->n, MAX_RANK);
	*g = (struct named){.rank = size->n, .offset = own_offset};
	if (ref_given(c, A_as_strided_scatter_storage_offset))
		g->offset = ref_arg_int(c, A_as_strided_scatter_storage_offset);
	for (int d = 0; d < g->rank; d++) {
		g->size[d] = size->ints[d].value;
		g->stride[d] = stride->ints[d].value;
		if (g->stride[d] < 0)
			return err_set(c->err, "as_strided: negative strides are not supported");
	}
	if (!meta_check_sizes(g->size, g->rank, c->err))
		return false;
	if (g->offset < 0)
		return err_set(c->err, "invalid storage offset %lld", (long long)g->offset);
	g->n = shape_numel(g->size, g->rank);
	int64_t last = g->offset;
	for (int d = 0; d < g->rank && g->n; d++) {
		int64_t reach;
		if (!mul_i64(&reach, g->size[d] - 1, g->stride[d]) || !add_i64(&last, last, reach))
			return err_set(c->err, "storage size calculation overflowed");
		if (g->stride[d] == 0 && g->size[d] > 1)
			return err_set(
				c->err, "unsupported operation: more than one element of the written-to tensor refers to a single memory location");
	}
	return !g->n || last < ncells || err_set(c->err, "setStorage: cell %lld of a storage of %lld", (long long)last, (long long)ncells);
}

/* Which element of a tensor at these strides each cell is: -1 of none. */
static int64_t *elements_of(struct ref_ctx *c, const struct meta *m, const int64_t *stride, int64_t offset, int64_t ncells)
{
	int64_t *element = ARENA_NEW(c->t->arena, int64_t, ncells + 1), index[MAX_RANK] = {0}, n = meta_numel(m);
	for (int64_t i = 0; i < ncells; i++)
		element[i] = -1;
	for (int64_t k = 0; k < n; k++) {
		int64_t at = offset;
		for (int d = 0; d < m->rank; d++)
			at += index[d] * stride[d];
		element[at] = k;
		shape_next(index, m->size, m->rank);
	}
	return element;
}

REFERENCE(as_strided_scatter, REGION)
{
	const struct meta *m = meta_of(c, A_as_strided_scatter_self), *src = meta_of(c, A_as_strided_scatter_src);
	const struct ref_tensor *self = c->in[A_as_strided_scatter_self];
	int64_t stride[MAX_RANK], index[MAX_RANK] = {0};
	const bool repeats = ref_scatter_clones(m);
	int64_t offset = repeats ? 0 : m->offset, ncells = repeats ? meta_numel(m) : c->r->storage[self->storage].ncells;
	struct named g;
	if (!repeats && layout_overlaps(m))
		return ref_unsupported(c, "as_strided_scatter of a self whose elements share cells, though no stride is 0: clone self first");
	if (!repeats && c->r->storage[self->storage].cloned)
		return ref_unsupported(c, "cells of a scatter's result are named that are no elements of it");
	if (!named_cells(c, &g, offset, ncells))
		return false;
	if (!shape_equal(src->size, src->rank, g.size, g.rank))
		return err_set(c->err, "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
			shape_text(c, src->size, src->rank), shape_text(c, g.size, g.rank));
	if (ref_has_grad(c->r, self) && !layout_is_contiguous(m))
		return err_set(c->err, "as_strided_scatter is currently only supported in autograd for contiguous inputs");
	sid *out = ref_scatter_base(c, A_as_strided_scatter_self, stride);
	if (!out)
		return false;
	const sid *from = ref_cast(c, ref_ids(c, c->in[A_as_strided_scatter_src]), g.n, m->dtype);
	const int64_t *element = elements_of(c, m, stride, offset, ncells);
	uint8_t *hit = arena_zalloc(c->t->arena, (size_t)ncells + 1);
	for (int64_t k = 0; k < g.n; k++) {
		int64_t at = g.offset;
		for (int d = 0; d < g.rank; d++)
			at += index[d] * g.stride[d];
		if (hit[at]++)
			return ref_unsupported(c, "as_strided_scatter writes two values to one cell, and their order is open");
		if (element[at] >= 0)
			out[element[at]] = from[k];
		shape_next(index, g.size, g.rank);
	}
	return true;
}
