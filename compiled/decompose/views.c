/* views.c: rules of views. Five rows say them all; where a rule's rows give other strides to dims of size 1 than the row does,
 * decompose() says the view by as_strided. */
#include "compiled/decompose/rules.h"

RULE(alias) { d->out[0] = d->in[A_alias_self]; }
RULE(detach) { d->out[0] = d->in[A_detach_self]; }

static void swapped(struct decomposition *d, int self, int dim0, int dim1)
{
	int64_t dims[MAX_RANK];
	const int rank = build_meta(d->b, self)->rank;
	for (int k = 0; k < rank; k++)
		dims[k] = k == dim0 ? dim1 : k == dim1 ? dim0 : k;
	d->out[0] = emit_permute(d->b, self, dims, rank);
}

RULE(transpose_int)
{
	const struct meta *m = operand_meta(d, A_transpose_int_self);
	swapped(d, d->in[A_transpose_int_self], dim_of(int_arg(d, A_transpose_int_dim0), m), dim_of(int_arg(d, A_transpose_int_dim1), m));
}

RULE(t) { swapped(d, d->in[A_t_self], 0, operand_meta(d, A_t_self)->rank - 1); }

static void viewed(struct decomposition *d, int self)
{
	const struct meta *m = result_meta(d, 0);
	d->out[0] = emit_view(d->b, self, m->size, m->rank);
}

RULE(unsqueeze) { viewed(d, d->in[A_unsqueeze_self]); }
RULE(squeeze) { viewed(d, d->in[A_squeeze_self]); }
RULE(squeeze_dim) { viewed(d, d->in[A_squeeze_dim_self]); }
RULE(squeeze_dims) { viewed(d, d->in[A_squeeze_dims_self]); }
RULE(unsafe_view) { viewed(d, d->in[A_unsafe_view_self]); }

/* A view where there is one, else of a contiguous copy. */
RULE(reshape)
{
	const struct meta *m = result_meta(d, 0);
	const bool copied = d->n->out[0].storage != d->from->node[d->n->arg[A_reshape_self].node].out[0].storage;
	const int self = d->in[A_reshape_self];
	d->out[0] = emit_view(d->b, copied ? emit_contiguous(d->b, self) : self, m->size, m->rank);
}

/* Position i along a dim, which goes. */
static int selected(struct decomposition *d, int self, int dim, int64_t i)
{
	int x = emit_slice_Tensor(d->b, self, dim, i, i + 1, 1);
	struct meta m = *build_meta(d->b, x);
	meta_remove_dim(&m, dim);
	return emit_view(d->b, x, m.size, m.rank);
}

RULE(select_int)
{
	const struct meta *m = operand_meta(d, A_select_int_self);
	const int dim = dim_of(int_arg(d, A_select_int_dim), m);
	const int64_t i = int_arg(d, A_select_int_index);
	d->out[0] = selected(d, d->in[A_select_int_self], dim, i < 0 ? i + m->size[dim] : i);
}

/* What as_strided alone can say: two dims become one, or one becomes two that overlap. */
static void strided(struct decomposition *d, int self)
{
	const struct meta *m = result_meta(d, 0);
	d->out[0] = emit_as_strided(d->b, self, m->size, m->rank, m->stride, m->rank, m->offset);
}

RULE(diagonal) { strided(d, d->in[A_diagonal_self]); }
RULE(unfold) { strided(d, d->in[A_unfold_self]); }

static void split(struct decomposition *d)
{
	const int self = d->in[A_split_Tensor_self], dim = dim_of(int_arg(d, A_split_Tensor_dim), operand_meta(d, A_split_Tensor_self));
	int64_t start = 0;
	for (int k = 0; k < d->n->nout; k++) {
		const int64_t n = result_meta(d, k)->size[dim];
		d->out[k] = emit_slice_Tensor(d->b, self, dim, start, start + n, 1);
		start += n;
	}
}

RULE(split_Tensor) { split(d); }
RULE(unsafe_split_Tensor) { split(d); }
RULE(split_with_sizes) { split(d); }
RULE(unsafe_split_with_sizes) { split(d); }
RULE(split_copy_Tensor) { split(d); }
RULE(split_with_sizes_copy) { split(d); }

static void unbind(struct decomposition *d)
{
	const int dim = dim_of(int_arg(d, A_unbind_int_dim), operand_meta(d, A_unbind_int_self));
	for (int k = 0; k < d->n->nout; k++)
		d->out[k] = selected(d, d->in[A_unbind_int_self], dim, k);
}

RULE(unbind_int) { unbind(d); }
RULE(unbind_copy_int) { unbind(d); }
