/* ref_view_copy.c: views in memory of their own. The view's own reference says which element of self each index names; self is seen as
 * contiguous meanwhile, so that a place is a position among its elements. */
#include "oracle/ref/layout.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"
#include "oracle/tape/tape_impl.h"

/* The elements of self. Where the view repeats some and self is expanded, backward's two sums are rounded one after the other. */
static const sid *elements(struct ref_ctx *c, const struct ref_tensor *self, const struct meta *view)
{
	const sid *ids = ref_ids(c, self);
	return layout_is_expanded(&self->meta) && layout_overlaps(view) ? ref_copies(c, ids, meta_numel(&self->meta), self->meta.dtype) : ids;
}

static const sid *at_places(struct ref_ctx *c, const sid *ids, const struct meta *view)
{
	sid *out = tape_ids(c->t, meta_numel(view));
	int64_t index[MAX_RANK] = {0};
	for (int64_t k = 0, n = meta_numel(view); k < n; k++) {
		int64_t at = view->offset;
		for (int d = 0; d < view->rank; d++)
			at += index[d] * view->stride[d];
		out[k] = ids[at];
		shape_next(index, view->size, view->rank);
	}
	return out;
}

/* Result k, which is a view of `self` seen as contiguous until now. adds: its backward adds to zeros, in the dtype of self. */
static bool give_copy(struct ref_ctx *c, int k, const struct ref_tensor *self, bool adds)
{
	const struct meta m = c->out[k].meta;
	const int64_t n = meta_numel(&m);
	if (c->t->over || n > c->t->limit.nodes)
		return ref_unsupported(c, "too many scalars");
	const sid *ids = at_places(c, elements(c, self, &m), &m);
	if (adds && c->grad && dtype_is_float(m.dtype) && n > 0) {
		const sid first = tape_map1(c->t, SF_COPY, m.dtype, ids, n);
		if (!c->t->over)
			c->t->block[c->t->nblock - 1].lc = LC_ACCUM;
		ids = ref_ids_block(c, first, n);
	}
	return ref_out_ids(c, k, m.dtype, m.size, m.rank, NULL, ids);
}

/* The views that `view` gives of argument 0. */
static bool copy_of(struct ref_ctx *c, ref_fn *view, bool adds)
{
	const struct ref_tensor *self = c->in[0];
	struct ref_tensor packed = *self;
	meta_make_contiguous(&packed.meta, self->meta.dtype, self->meta.size, self->meta.rank);
	packed.meta.device = self->meta.device;
	c->in[0] = &packed;
	const bool ok = view(c);
	c->in[0] = self;
	if (!ok)
		return false;
	for (int k = 0; k < c->nout; k++)
		if (!give_copy(c, k, self, adds))
			return false;
	return true;
}

REFERENCE(view_copy, VIEW) { return copy_of(c, ref_reshape, false); }
REFERENCE(expand_copy, SELF) { return copy_of(c, ref_expand, false); }
REFERENCE(permute_copy, VIEW) { return copy_of(c, ref_permute, false); }
REFERENCE(transpose_copy, VIEW) { return copy_of(c, ref_transpose, false); }
REFERENCE(t_copy, VIEW) { return copy_of(c, ref_t, false); }
REFERENCE(unsqueeze_copy, VIEW) { return copy_of(c, ref_unsqueeze, false); }
REFERENCE(squeeze_copy, VIEW) { return copy_of(c, ref_squeeze, false); }
REFERENCE(squeeze_copy_dim, VIEW) { return copy_of(c, ref_squeeze_dim, false); }
REFERENCE(squeeze_copy_dims, VIEW) { return copy_of(c, ref_squeeze_dims, false); }
REFERENCE(slice_copy, ANEW) { return copy_of(c, ref_slice, false); }
REFERENCE(select_copy, ANEW) { return copy_of(c, ref_select, false); }
REFERENCE(diagonal_copy, ANEW) { return copy_of(c, ref_diagonal, false); }
REFERENCE(unfold_copy, ANEW) { return copy_of(c, ref_unfold, true); }
REFERENCE(alias_copy, SELF) { return copy_of(c, ref_alias, false); }
REFERENCE(detach_copy, ANEW) { return copy_of(c, ref_alias, false); }
REFERENCE(split_copy, ANEW) { return copy_of(c, ref_split, false); }
REFERENCE(split_with_sizes_copy, ANEW) { return copy_of(c, ref_split_with_sizes, false); }
REFERENCE(unbind_copy, ANEW) { return copy_of(c, ref_unbind, false); }
