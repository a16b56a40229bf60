/* view.c: views: new sizes, strides and offset over the operand's storage; they have no kernel. Derivatives: vjp_view.c.
 * Facts: ATen/native/TensorShape.cpp. */
#include "eager/lang/fill.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

#include <inttypes.h>

static const int64_t *ints_arg(int64_t *buf, int *n, const struct meta_ctx *c, int k)
{
	const struct arg *a = &c->n->arg[k];
	*n = a->tag == ARG_INTS ? a->n : 0;
	for (int i = 0; i < *n && i < MAX_LIST; i++)
		buf[i] = a->ints[i].value;
	return buf;
}

/* Starts out[0] as self itself; callers then change it. */
static struct meta *view_of_self(struct meta_ctx *c)
{
	_Static_assert((int)A_input_view_base == (int)A_VIEW_self, "what an input_view is a view of is no self");
	c->out[0] = *c->in[A_VIEW_self];
	c->alias[0] = A_VIEW_self;
	return &c->out[0];
}

bool meta_alias(struct meta_ctx *c)
{
	view_of_self(c);
	return true;
}

/* Of the same width; what other widths would do to sizes and strides is not here yet. */
bool meta_view_dtype(struct meta_ctx *c)
{
	const enum dtype from = c->in[A_view_dtype_self]->dtype, to = c->n->arg[A_view_dtype_dtype].dtype;
	struct meta *o = view_of_self(c);
	if (dtype_nbytes(from) != dtype_nbytes(to))
		return err_limit(c->err, "%s of another width than %s", dtype_info[to].name, dtype_info[from].name);
	if ((to == DT_B8) != (from == DT_B8))
		return err_limit(c->err, "b8 and %s share bytes that may be neither 0 nor 1", dtype_info[to == DT_B8 ? from : to].name);
	o->dtype = to;
	return true;
}

bool meta_expand(struct meta_ctx *c)
{
	int64_t size[MAX_LIST];
	int n;
	ints_arg(size, &n, c, A_expand_size);
	struct meta *o = view_of_self(c);
	if (n > MAX_RANK)
		return err_limit(c->err, "rank %d exceeds the limit %d", n, MAX_RANK);
	if (!layout_expand(o, c->in[A_expand_self], size, n, c->err))
		return false;
	return meta_check_sizes(o->size, o->rank, c->err);
}

bool meta_permute(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_permute_self];
	int64_t dims[MAX_LIST];
	int n, d;
	ints_arg(dims, &n, c, A_permute_dims);
	struct meta *o = view_of_self(c);
	if (n != in->rank)
		return err_set(c->err,
			"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
			"ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
			in->rank, n);
	bool seen[MAX_RANK] = {false};
	for (int i = 0; i < n; i++) {
		if (!dim_wrap(&d, dims[i], in->rank, c->err))
			return false;
		if (seen[d])
			return err_set(c->err, "permute(): duplicate dims are not allowed.");
		seen[d] = true;
		o->size[i] = in->size[d];
		o->stride[i] = in->stride[d];
	}
	return true;
}

/* A matrix transposed; 0-d and 1-d as they are. */
bool meta_t(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_t_self];
	struct meta *o = view_of_self(c);
	if (in->rank > 2)
		return err_set(c->err, "t() expects a tensor with <= 2 dimensions, but self is %dD", in->rank);
	for (int d = 0; d < in->rank; d++) {
		o->size[d] = in->size[in->rank - 1 - d];
		o->stride[d] = in->stride[in->rank - 1 - d];
	}
	return true;
}

bool meta_transpose(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_transpose_self];
	int a, b;
	struct meta *o = view_of_self(c);
	if (!dim_wrap(&a, node_int(c->n, A_transpose_dim0), in->rank, c->err)
		|| !dim_wrap(&b, node_int(c->n, A_transpose_dim1), in->rank, c->err))
		return false;
	o->size[a] = in->size[b];
	o->stride[a] = in->stride[b];
	o->size[b] = in->size[a];
	o->stride[b] = in->stride[a];
	return true;
}

bool meta_unsqueeze(struct meta_ctx *c)
{
	int d;
	struct meta *o = view_of_self(c);
	if (!dim_wrap(&d, node_int(c->n, A_unsqueeze_dim), o->rank + 1, c->err) || !meta_room(o, 1, c->err))
		return false;
	meta_insert_dim(o, d, 1, d == o->rank ? 1 : o->size[d] * o->stride[d]);
	return true;
}

bool meta_squeeze(struct meta_ctx *c)
{
	struct meta *o = view_of_self(c);
	for (int d = o->rank - 1; d >= 0; d--)
		if (o->size[d] == 1)
			meta_remove_dim(o, d);
	return true;
}

bool meta_squeeze_dim(struct meta_ctx *c)
{
	int d;
	struct meta *o = view_of_self(c);
	if (!dim_wrap(&d, node_int(c->n, A_squeeze_dim_dim), o->rank, c->err))
		return false;
	if (o->rank > 0 && o->size[d] == 1)
		meta_remove_dim(o, d);
	return true;
}

bool meta_squeeze_dims(struct meta_ctx *c)
{
	bool asked[MAX_RANK] = {0};
	struct meta *o = view_of_self(c);
	const struct arg *dims = &c->n->arg[A_squeeze_dims_dim];
	for (int i = 0; i < dims->n; i++) {
		int d;
		if (!dim_wrap(&d, dims->ints[i].value, o->rank, c->err))
			return false;
		if (asked[d])
			return err_set(c->err, "dim %d appears multiple times in the list of dims", d);
		asked[d] = true;
	}
	for (int d = o->rank - 1; d >= 0; d--)
		if (asked[d] && o->size[d] == 1)
			meta_remove_dim(o, d);
	return true;
}

bool meta_slice(struct meta_ctx *c)
{
	const struct node *n = c->n;
	int d;
	struct meta *o = view_of_self(c);
	if (o->rank == 0)
		return err_set(c->err, "slice() cannot be applied to a 0-dim tensor.");
	if (!dim_wrap(&d, node_int(n, A_slice_dim), o->rank, c->err))
		return false;
	int64_t start = node_given(n, A_slice_start) ? node_int(n, A_slice_start) : 0,
			end = node_given(n, A_slice_end) ? node_int(n, A_slice_end) : INT64_MAX, step = node_int(n, A_slice_step);
	if (step <= 0)
		return err_set(c->err, "slice step must be positive");
	o->size[d] = slice_clamp(&start, &end, o->size[d], step);
	o->offset += start * o->stride[d];
	if (!mul_i64(&o->stride[d], o->stride[d], step))
		return err_set(c->err, "slice step %" PRId64 " is too large", step);
	return true;
}

bool meta_select(struct meta_ctx *c)
{
	char text[SIZES_TEXT];
	int d;
	struct meta *o = view_of_self(c);
	if (o->rank == 0)
		return err_set(c->err, "select() cannot be applied to a 0-dim tensor.");
	if (!dim_wrap(&d, node_int(c->n, A_select_dim), o->rank, c->err))
		return false;
	int64_t index = node_int(c->n, A_select_index), size = o->size[d];
	if (index < -size || index >= size)
		return err_set(c->err, "select(): index %" PRId64 " out of range for tensor of size %s at dimension %d", index,
			sizes_text(text, o->size, o->rank), d);
	o->offset += (index < 0 ? index + size : index) * o->stride[d];
	meta_remove_dim(o, d);
	return true;
}

/* The node that made the operand's storage tells how large it is: an input's cells, or what a fresh result needs. */
int64_t meta_storage_cells(const struct meta_ctx *c, int arg)
{
	const struct prog *p = c->p;
	int storage = p->node[c->n->arg[arg].node].out[0].storage;
	int64_t cells = 0;
	for (int i = 0; i < p->nnode && &p->node[i] != c->n; i++) {
		const struct node *n = &p->node[i];
		for (int k = 0; k < n->nout; k++)
			if (n->out[k].storage == storage)
				return MAX(cells, meta_extent(&n->out[k].meta));
	}
	return cells;
}

/* Bytes from the start of the storage that a layout reaches must exist. */
bool meta_in_bounds(const struct meta *o, int64_t cells, struct err *err)
{
	int64_t last = o->offset;
	if (meta_numel(o) == 0)
		return true;
	for (int d = 0; d < o->rank; d++) {
		int64_t reach;
		if (!mul_i64(&reach, o->size[d] - 1, o->stride[d]) || !add_i64(&last, last, reach))
			return err_set(err, "storage size calculation overflowed");
	}
	if (last >= MAX_NUMEL)
		return err_set(err, "the last element is cell %" PRId64 " of its storage: more than fits", last);
	if (last >= cells) {
		char size[SIZES_TEXT], stride[SIZES_TEXT];
		int nbytes = dtype_nbytes(o->dtype);
		return err_set(err,
			"setStorage: sizes %s, strides %s, storage offset %" PRId64 ", and itemsize %d requiring a storage size of %" PRId64
			" are out of bounds for storage of size %" PRId64,
			sizes_text(size, o->size, o->rank), sizes_text(stride, o->stride, o->rank), o->offset, nbytes, (last + 1) * nbytes,
			cells * nbytes);
	}
	return true;
}

/* Explicit sizes, strides and offset over the storage: as_strided and input_view. */
static bool strided(struct meta_ctx *c, int64_t offset, int64_t cells)
{
	int64_t size[MAX_LIST], stride[MAX_LIST];
	char text[SIZES_TEXT];
	int n, nstride;
	ints_arg(size, &n, c, A_strided_size);
	ints_arg(stride, &nstride, c, A_strided_stride);
	struct meta *o = view_of_self(c);
	if (n != nstride)
		return err_set(c->err, "mismatch in length of strides and shape");
	if (!meta_check_sizes(size, n, c->err))
		return false;
	o->rank = n;
	for (int d = 0; d < n; d++) {
		if (stride[d] < 0)
			return err_set(
				c->err, "as_strided: Negative strides are not supported at the moment, got strides: %s", sizes_text(text, stride, n));
		o->size[d] = size[d];
		o->stride[d] = stride[d];
	}
	if (offset < 0)
		return err_set(c->err, "Tensor: invalid storage offset %" PRId64, offset);
	o->offset = offset;
	return meta_in_bounds(o, cells, c->err);
}

bool meta_as_strided(struct meta_ctx *c)
{
	return strided(c,
		node_given(c->n, A_as_strided_storage_offset) ? node_int(c->n, A_as_strided_storage_offset) : c->in[A_as_strided_self]->offset,
		meta_storage_cells(c, A_as_strided_self));
}

bool meta_diagonal(struct meta_ctx *c)
{
	int64_t offset = node_int(c->n, A_diagonal_offset);
	int a, b;
	struct meta *o = view_of_self(c);
	if (!dim_wrap(&a, node_int(c->n, A_diagonal_dim1), o->rank, c->err) || !dim_wrap(&b, node_int(c->n, A_diagonal_dim2), o->rank, c->err))
		return false;
	if (a == b)
		return err_set(c->err, "diagonal dimensions cannot be identical %" PRId64 ", %" PRId64, node_int(c->n, A_diagonal_dim1),
			node_int(c->n, A_diagonal_dim2));
	int64_t size = 0, stride = o->stride[a] + o->stride[b];
	if (offset > -MAX_NUMEL && offset < MAX_NUMEL) /* beyond it the diagonal is empty anyway */
		size = offset >= 0 ? MIN(o->size[a], o->size[b] - offset) : MIN(o->size[a] + offset, o->size[b]);
	size = MAX(size, 0);
	if (size > 0)
		o->offset += offset >= 0 ? offset * o->stride[b] : -offset * o->stride[a];
	meta_remove_dim(o, MAX(a, b));
	meta_remove_dim(o, MIN(a, b));
	meta_insert_dim(o, o->rank, size, stride);
	return true;
}

bool meta_unfold(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_unfold_self];
	int64_t size = node_int(c->n, A_unfold_size), step = node_int(c->n, A_unfold_step);
	int d;
	struct meta *o = view_of_self(c);
	if (!dim_wrap(&d, node_int(c->n, A_unfold_dimension), in->rank, c->err) || !meta_room(in, 1, c->err))
		return false;
	int64_t have = in->rank ? in->size[d] : 1;
	if (size < 0)
		return err_set(c->err, "size is %" PRId64 " but must be >= 0", size);
	if (size > have)
		return err_set(c->err, "maximum size for tensor at dimension %d is %" PRId64 " but size is %" PRId64, d, have, size);
	if (step <= 0)
		return err_set(c->err, "step is %" PRId64 " but must be > 0", step);
	if (in->rank && !mul_i64(&o->stride[d], in->stride[d], step))
		return err_set(c->err, "unfold step %" PRId64 " is too large", step);
	if (in->rank)
		o->size[d] = (have - size) / step + 1;
	meta_insert_dim(o, in->rank, size, in->rank ? in->stride[d] : 1);
	return meta_check_sizes(o->size, o->rank, c->err);
}

bool meta_view(struct meta_ctx *c)
{
	int64_t size[MAX_LIST], known[MAX_LIST];
	int n;
	ints_arg(size, &n, c, A_view_size);
	struct meta *o = view_of_self(c);
	if (!layout_infer_size(known, size, n, meta_numel(o), c->err) || !meta_check_sizes(known, n, c->err))
		return false;
	int64_t stride[MAX_RANK];
	if (!layout_view_strides(stride, c->in[A_view_self], known, n))
		return err_set(c->err,
			"view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
			"contiguous subspaces). Use .reshape(...) instead.");
	o->rank = n;
	for (int d = 0; d < n; d++) {
		o->size[d] = known[d];
		o->stride[d] = stride[d];
	}
	return true;
}

/* ---- several views ---------------------------------------------------------------------------------------------------- */

bool meta_split(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_split_self];
	int64_t part = node_int(c->n, A_split_split_size);
	int d;
	if (in->rank == 0)
		return err_set(c->err, "split expects at least a 1-dimensional tensor");
	if (part < 0)
		return err_set(c->err, "split expects split_size be non-negative, but got split_size=%" PRId64, part);
	if (!dim_wrap(&d, node_int(c->n, A_split_dim), in->rank, c->err))
		return false;
	int64_t size = in->size[d];
	if (part == 0 && size != 0)
		return err_set(c->err, "split_size can only be 0 if dimension size is 0, but got dimension size of %" PRId64, size);
	int64_t n = size == 0 ? 1 : (size - 1) / part + 1;
	if (n > MAX_OUTS)
		return err_set(c->err, "%" PRId64 " results exceed the limit %d", n, MAX_OUTS);
	c->nout = (int)n;
	for (int i = 0; i < c->nout; i++) {
		c->out[i] = *in;
		c->alias[i] = A_split_self;
		c->out[i].size[d] = MIN(part, size - i * part);
		c->out[i].offset += i * part * in->stride[d];
	}
	return true;
}

bool meta_split_with_sizes(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_split_with_sizes_self];
	char text[SIZES_TEXT];
	int64_t piece[MAX_LIST], total = 0;
	int n, d;
	ints_arg(piece, &n, c, A_split_with_sizes_split_sizes);
	if (in->rank == 0)
		return err_set(c->err, "split expects at least a 1-dimensional tensor");
	if (!dim_wrap(&d, node_int(c->n, A_split_with_sizes_dim), in->rank, c->err))
		return false;
	if (n > MAX_OUTS)
		return err_set(c->err, "%d results exceed the limit %d", n, MAX_OUTS);
	c->nout = n;
	for (int i = 0; i < n; i++) {
		if (piece[i] < 0)
			return err_set(c->err, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
				sizes_text(text, piece, n));
		c->out[i] = *in;
		c->alias[i] = A_split_with_sizes_self;
		c->out[i].size[d] = piece[i];
		c->out[i].offset += MIN(total, in->size[d]) * in->stride[d];
		if (!add_i64(&total, total, piece[i]))
			return err_limit(c->err, "pieces of more than %" PRId64 " elements", INT64_MAX);
	}
	return total == in->size[d]
		|| err_set(c->err,
			"split_with_sizes expects split_sizes to sum exactly to %" PRId64 " (input tensor's size at dimension %" PRId64
			"), but got split_sizes=%s",
			in->size[d], node_int(c->n, A_split_with_sizes_dim), sizes_text(text, piece, n));
}

bool meta_unbind(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_unbind_self];
	int d;
	if (in->rank == 0)
		return err_set(c->err, "Dimension specified as %" PRId64 " but tensor has no dimensions", node_int(c->n, A_unbind_dim));
	if (!dim_wrap(&d, node_int(c->n, A_unbind_dim), in->rank, c->err))
		return false;
	if (in->size[d] > MAX_OUTS)
		return err_set(c->err, "%" PRId64 " results exceed the limit %d", in->size[d], MAX_OUTS);
	c->nout = (int)in->size[d];
	for (int i = 0; i < c->nout; i++) {
		c->out[i] = *in;
		c->alias[i] = A_unbind_self;
		c->out[i].offset += i * in->stride[d];
		meta_remove_dim(&c->out[i], d);
	}
	return true;
}

/* Each view contiguous in memory of its own. */
static bool in_own_memory(struct meta_ctx *c)
{
	for (int i = 0; i < c->nout; i++) {
		const struct meta view = c->out[i];
		meta_make_contiguous(&c->out[i], view.dtype, view.size, view.rank);
		c->out[i].device = view.device;
		c->alias[i] = -1;
	}
	return true;
}

bool meta_split_copy(struct meta_ctx *c) { return meta_split(c) && in_own_memory(c); }
bool meta_split_with_sizes_copy(struct meta_ctx *c) { return meta_split_with_sizes(c) && in_own_memory(c); }
bool meta_unbind_copy(struct meta_ctx *c) { return meta_unbind(c) && in_own_memory(c); }

/* Side by side along dim. */
static bool copy_pieces(struct kern_ctx *c, int64_t dim)
{
	struct tensor part = *c->in[A_MULTI_self];
	int d;
	CHECK(dim_wrap(&d, dim, part.meta.rank, NULL));
	for (int k = 0; k < c->nout; k++) {
		part.meta.size[d] = c->out[k].meta.size[d];
		tensor_copy(&c->out[k], &part);
		part.meta.offset += part.meta.size[d] * part.meta.stride[d];
	}
	return true;
}

bool kern_split_copy(struct kern_ctx *c) { return copy_pieces(c, node_int(c->n, A_split_copy_dim)); }
bool kern_split_with_sizes_copy(struct kern_ctx *c) { return copy_pieces(c, node_int(c->n, A_split_with_sizes_copy_dim)); }

bool kern_unbind_copy(struct kern_ctx *c)
{
	struct tensor part = *c->in[A_unbind_copy_self];
	int d;
	CHECK(dim_wrap(&d, node_int(c->n, A_unbind_copy_dim), part.meta.rank, NULL));
	const int64_t stride = part.meta.stride[d];
	meta_remove_dim(&part.meta, d);
	for (int k = 0; k < c->nout; k++, part.meta.offset += stride)
		tensor_copy(&c->out[k], &part);
	return true;
}

/* One of several results: the same tensor, not a view of it. */
bool meta_getitem(struct meta_ctx *c)
{
	const struct node *tuple = &c->p->node[c->n->arg[A_getitem_self].node];
	int64_t i = node_int(c->n, A_getitem_index);
	if (op_info[tuple->op].nret == 1)
		return err_set(c->err, "'%s' is a tensor and no tuple (select.int takes a part of it)", tuple->name);
	if (i < 0 || i >= tuple->nout)
		return err_set(c->err, "tuple index %" PRId64 " out of range for %d results", i, tuple->nout);
	if (tuple->out[i].meta.absent)
		return err_set(c->err, "result %" PRId64 " of '%s' is None", i, tuple->name);
	c->out[0] = tuple->out[i].meta;
	c->alias[0] = A_getitem_self;
	return true;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------- */

static bool check_leaf(struct meta_ctx *c, bool requires_grad)
{
	if (requires_grad && !dtype_is_float(c->out[0].dtype))
		return err_set(c->err, "only Tensors of floating point dtype can require gradients");
	return true;
}

/* Fills of positions give integers in [0, high), or as many below it; unique ones need enough of them along dim. */
static bool check_fill(struct meta_ctx *c)
{
	const struct meta *o = &c->out[0];
	const char *fill = c->n->arg[A_input_fill].str;
	int64_t high = node_int(c->n, A_input_high);
	bool unique = fill_is_unique(fill);
	int d;
	if (fill_find(fill) < 0)
		return err_set(c->err, "fill '%s' is unknown (%s)%s", fill, fill_names(), fill_guess(&(struct guess){0}, fill));
	if (!fill_is_positions(fill) || meta_numel(o) == 0)
		return true;
	if (!dtype_is_int(o->dtype))
		return err_set(c->err, "fill=%s needs an integer dtype, not %s", fill, dtype_info[o->dtype].name);
	if (high < 1)
		return err_set(c->err, "fill=%s needs high > 0, got %" PRId64, fill, high);
	if (!unique || o->rank == 0)
		return true;
	if (!dim_wrap(&d, node_int(c->n, A_input_dim), o->rank, c->err))
		return false;
	if (o->size[d] > high)
		return err_set(c->err, "fill=%s needs %" PRId64 " different values of dim %d below high=%" PRId64, fill, o->size[d], d, high);
	return true;
}

/* "run": where the program runs; "meta": nowhere, a tensor of sizes without data. */
static bool check_device(struct meta_ctx *c)
{
	const char *device = c->n->arg[A_input_device].str;
	if (str_eq(device, "run"))
		return true;
	if (!str_eq(device, "meta"))
		return err_set(c->err, "device '%s' is unknown (run, meta)", device);
	c->out[0].device = DEV_META;
	if (node_given(c->n, A_input_data) || c->n->arg[A_input_requires_grad].b)
		return err_set(c->err, "a tensor on device meta has no data and no gradient");
	return true;
}

bool meta_input(struct meta_ctx *c)
{
	const struct node *n = c->n;
	int64_t size[MAX_LIST], stride[MAX_LIST];
	int rank, nstride;
	ints_arg(size, &rank, c, A_input_size);
	ints_arg(stride, &nstride, c, A_input_stride);
	struct meta *o = &c->out[0];
	if (!meta_check_sizes(size, rank, c->err))
		return false;
	meta_make_contiguous(o, n->arg[A_input_dtype].dtype, size, rank);
	if (node_given(n, A_input_stride)) {
		if (nstride != rank)
			return err_set(c->err, "%d strides for %d sizes", nstride, rank);
		for (int d = 0; d < rank; d++) {
			if (stride[d] < 0)
				return err_set(c->err, "stride %" PRId64 " of dim %d is negative", stride[d], d);
			o->stride[d] = stride[d];
		}
	}
	o->offset = node_int(n, A_input_offset);
	if (o->offset < 0)
		return err_set(c->err, "offset %" PRId64 " is negative", o->offset);
	if (!meta_in_bounds(o, MAX_NUMEL, c->err) || !check_fill(c) || !check_leaf(c, n->arg[A_input_requires_grad].b))
		return false;
	if (node_given(n, A_input_data) && !str_eq(n->arg[A_input_fill].str, "dyadic"))
		return err_set(c->err, "an input has data or a fill, not both");
	return check_device(c) && (!node_given(n, A_input_data) || fill_data_check(&n->arg[A_input_data], o, c->err));
}

bool meta_input_view(struct meta_ctx *c)
{
	const struct node *base = &c->p->node[c->n->arg[A_input_view_base].node];
	if (!node_is_input(base))
		return err_set(c->err, "the base '%s' is not an input", base->name);
	return strided(c, node_int(c->n, A_input_view_offset), meta_storage_cells(c, A_input_view_base))
		&& check_leaf(c, c->n->arg[A_input_view_requires_grad].b);
}

/* An integer that sizes may refer to; no tensor. */
bool meta_sym(struct meta_ctx *c)
{
	c->nout = 0;
	return true;
}

/* The same, read off a tensor. */
bool meta_sym_size(struct meta_ctx *c)
{
	int d;
	c->nout = 0;
	if (c->in[A_sym_size_self]->rank == 0)
		return err_set(c->err, "Dimension specified as %" PRId64 " but tensor has no dimensions", node_int(c->n, A_sym_size_dim));
	return dim_wrap(&d, node_int(c->n, A_sym_size_dim), c->in[A_sym_size_self]->rank, c->err);
}
