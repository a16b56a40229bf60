/* index_dim.c: operators with a 1-d index along one dimension: index_select, embedding and its backward, index_add, index_copy,
 * index_fill. Row k of
 * what moves is the slice at position index[k] of self. Repeated positions: index_add adds all, index_copy keeps the last.
 * Facts: ATen/native/TensorAdvancedIndexing.cpp, Embedding.cpp. */
#include "eager/ops/move.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"

#include <inttypes.h>

/* A tensor of rank >= 1, seen with dim `d` cut to position i: 0-d operands are seen as 1-d. */
static struct tensor at_least_1d(const struct tensor *t)
{
	struct tensor v = *t;
	if (v.meta.rank == 0)
		meta_insert_dim(&v.meta, 0, 1, 1);
	return v;
}

/* The rows of self that index names, beside the rows of other (index order). */
struct dim_rows {
	struct tensor self, other, index;
	int dim;
	int64_t k, n;
	bool negative;
};

static void rows_init(struct dim_rows *r, const struct tensor *self, int64_t dim, const struct tensor *index, const struct tensor *other)
{
	*r = (struct dim_rows){.self = at_least_1d(self), .index = at_least_1d(index), .k = -1};
	if (other)
		r->other = at_least_1d(other);
	r->n = r->index.meta.size[0];
	CHECK(dim_wrap(&r->dim, dim, r->self.meta.rank, NULL));
	/* A 0-d source of a 1-row write has no dim of its own to index. */
	while (other && r->other.meta.rank < r->self.meta.rank)
		meta_insert_dim(&r->other.meta, 0, 1, 0);
}

static int64_t rows_index(const struct dim_rows *r)
{
	int64_t cell = r->index.meta.offset + r->k * r->index.meta.stride[0];
	int64_t i = index_load(r->index.meta.dtype, tensor_at(&r->index, cell));
	return r->negative && i < 0 ? i + r->self.meta.size[r->dim] : i;
}

/* The next pair of rows; false at the end, or (err set) if the index is out of range. */
static bool rows_next(struct dim_rows *r, struct tensor *self_row, struct tensor *other_row, bool *bad)
{
	*bad = false;
	if (++r->k >= r->n)
		return false;
	int64_t i = rows_index(r);
	*bad = i < 0 || i >= r->self.meta.size[r->dim];
	if (*bad)
		return false;
	*self_row = tensor_slice(&r->self, r->dim, i, 1, 1);
	if (other_row)
		*other_row = tensor_slice(&r->other, r->dim, r->k, 1, 1);
	return true;
}

static int64_t bad_index(const struct dim_rows *r)
{
	return index_load(r->index.meta.dtype, tensor_at(&r->index, r->index.meta.offset + r->k * r->index.meta.stride[0]));
}

enum row_move { ROW_TO_OTHER, ROW_FROM_OTHER, ROW_FILL };

/* Derivatives call this with indices that the forward has accepted. */
static bool move_rows(struct dim_rows *r, enum row_move how, const unsigned char *cell)
{
	struct tensor self, other;
	bool bad;
	while (rows_next(r, &self, how == ROW_FILL ? NULL : &other, &bad)) {
		if (how == ROW_TO_OTHER)
			tensor_move(&other, &self);
		else if (how == ROW_FROM_OTHER)
			tensor_move(&self, &other);
		else
			tensor_fill(&self, cell);
	}
	return !bad;
}

/* sum (a wide copy of contiguous self) += scale * rows of other, in self's dtype: the product is rounded first, as add's alpha is
 * in PyTorch's type of computation only for integers and f64; floats stay wide. */
static bool add_rows(struct wide *sum, struct dim_rows *r, const struct scalar *scale)
{
	struct tensor self, other;
	unsigned char alpha[8];
	enum dtype t = sum->dtype;
	int nbytes = dtype_nbytes(t);
	bool bad;
	scalar_store(alpha, t, scale);
	CHECK(meta_is_contiguous(&r->self.meta));
	while (rows_next(r, &self, &other, &bad)) {
		struct walk w;
		walk_init(&w, self.meta.size, self.meta.rank);
		walk_add(&w, &self);
		walk_add(&w, &other);
		for (bool more = walk_start(&w); more; more = walk_next(&w)) {
			int64_t k = (w.at[0] - tensor_first(&r->self)) / nbytes;
			if (sum->f)
				sum->f[k] += dtype_load_f(t, w.at[1]) * dtype_load_f(t, alpha);
			else if (t == DT_B8)
				sum->i[k] |= dtype_load_i(t, w.at[1]) & dtype_load_i(t, alpha);
			else
				sum->i[k] = wrap_add(sum->i[k], wrap_mul(dtype_load_i(t, w.at[1]), dtype_load_i(t, alpha)));
		}
	}
	return !bad;
}

/* ---- index_select, embedding ------------------------------------------------------------------------------------------- */

bool meta_index_select(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_index_select_self], *index = c->in[A_index_select_index];
	int64_t size[MAX_RANK], numel = meta_numel(index);
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_index_select_dim), self->rank, c->err))
		return false;
	if (index->rank > 1)
		return err_set(c->err, "index_select(): Index is supposed to be a vector");
	if (self->rank == 0 && numel != 1)
		return err_set(c->err, "index_select(): Index to scalar can have only 1 value, got %" PRId64 " value(s)", numel);
	if (index->dtype != DT_I64 && index->dtype != DT_I32)
		return err_set(c->err, "index_select(): Expected dtype int32 or int64 for index");
	memcpy(size, self->size, sizeof size);
	if (self->rank)
		size[d] = numel;
	if (self->rank > 1 && numel > 0 && self->size[d] == 0)
		return err_set(c->err, "index_select(): self indexing axis dim should be positive");
	if (!meta_check_sizes(size, self->rank, c->err))
		return false;
	layout_contiguous(&c->out[0], self, size, self->rank);
	return true;
}

static bool select_rows(
	const struct kern_ctx *c, const struct tensor *self, int64_t dim, const struct tensor *index, const struct tensor *out)
{
	struct dim_rows r;
	rows_init(&r, self, dim, index, out);
	if (move_rows(&r, ROW_TO_OTHER, NULL))
		return true;
	if (meta_numel(&self->meta) == 0 && self->meta.rank > 1)
		return err_set(
			c->err, "INDICES element is out of DATA bounds, id=%" PRId64 " axis_dim=%" PRId64, bad_index(&r), self->meta.size[r.dim]);
	return err_set(c->err, "index out of range in self");
}

bool kern_index_select(struct kern_ctx *c)
{
	return select_rows(c, c->in[A_index_select_self], node_int(c->n, A_index_select_dim), c->in[A_index_select_index], &c->out[0]);
}

void vjp_index_select(struct vjp *v)
{
	int zero = vjp_zeros(v->b, vjp_meta(v, A_index_select_self));
	int64_t dim = node_int(v->n, A_index_select_dim);
	v->grad[A_index_select_self] = emit_index_add(v->b, zero, dim, v->in[A_index_select_index], v->g[0], scalar_int(1));
}

bool meta_embedding(struct meta_ctx *c)
{
	const struct meta *weight = c->in[A_embedding_weight], *ids = c->in[A_embedding_indices];
	int64_t size[MAX_RANK];
	if (weight->rank != 2)
		return err_set(c->err, "'weight' must be 2-D");
	if (ids->dtype != DT_I64 && ids->dtype != DT_I32)
		return err_set(c->err,
			"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
			"torch.%sTensor instead (while checking arguments for embedding)",
			dtype_info[ids->dtype].c10);
	if (!meta_room(ids, 1, c->err))
		return false;
	if (meta_numel(ids) > 0 && weight->size[0] == 0)
		return err_set(c->err, "index_select(): self indexing axis dim should be positive");
	memcpy(size, ids->size, sizeof size);
	size[ids->rank] = weight->size[1];
	if (!meta_check_sizes(size, ids->rank + 1, c->err))
		return false;
	layout_contiguous(&c->out[0], weight, size, ids->rank + 1);
	return true;
}

/* ids and the result (or its gradient) as a list of rows. */
static void embedding_flat(struct tensor *ids, struct tensor *rows, const struct tensor *in, const struct tensor *out, struct arena *a)
{
	int64_t size[2] = {meta_numel(&in->meta), out->meta.size[out->meta.rank - 1]};
	*ids = tensor_contiguous(in, a);
	*ids = tensor_with_sizes(ids, size, 1);
	*rows = tensor_with_sizes(out, size, 2);
}

bool kern_embedding(struct kern_ctx *c)
{
	struct tensor ids, rows;
	embedding_flat(&ids, &rows, c->in[A_embedding_indices], &c->out[0], c->scratch);
	return select_rows(c, c->in[A_embedding_weight], 0, &ids, &rows);
}

void vjp_embedding(struct vjp *v)
{
	v->grad[A_embedding_weight] = emit_embedding_dense_backward(v->b, v->g[0], v->in[A_embedding_indices],
		vjp_meta(v, A_embedding_weight)->size[0], node_int(v->n, A_embedding_padding_idx), v->n->arg[A_embedding_scale_grad_by_freq].b);
}

/* ---- embedding_dense_backward: rows of the gradient added up in the rows of zeros that indices name ------------------------------
 *
 * Padding's row gets nothing. scale_grad_by_freq: each row is taken 1/n times, n being how often its index stands there, and 1/n is a
 * number of the dtype. PyTorch checks no index: without scaling it leaves out those that are no row, with scaling it writes anywhere.
 * Refused here. */

bool meta_embedding_dense_backward(struct meta_ctx *c)
{
	const struct meta *g = c->in[A_embedding_dense_backward_grad_output], *ids = c->in[A_embedding_dense_backward_indices];
	char text[SIZES_TEXT];
	int64_t numel = meta_numel(ids);
	if (ids->dtype != DT_I64 && ids->dtype != DT_I32)
		return err_set(c->err,
			"Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
			"torch.%sTensor instead (while checking arguments for embedding_backward)",
			dtype_info[ids->dtype].c10);
	if (g->rank == 0)
		return err_set(c->err, "Dimension specified as -1 but tensor has no dimensions");
	int64_t size[2] = {node_int(c->n, A_embedding_dense_backward_num_weights), g->size[g->rank - 1]}, rows[2] = {numel, size[1]}, all;
	if (!mul_i64(&all, numel, size[1]) || all != meta_numel(g))
		return err_set(c->err, "shape '%s' is invalid for input of size %" PRId64, sizes_text(text, rows, 2), meta_numel(g));
	if (size[0] < 0)
		return err_set(c->err, "zeros: Dimension size must be non-negative.");
	if (!meta_check_sizes(size, 2, c->err))
		return false;
	layout_contiguous(&c->out[0], g, size, 2);
	return true;
}

/* How often each row is named; NULL: an index is no row. */
static int64_t *row_counts(const struct kern_ctx *c, const struct tensor *ids, int64_t nrows)
{
	int64_t *count = ARENA_ZNEW(c->scratch, int64_t, nrows + 1);
	for (int64_t k = 0; k < ids->meta.size[0]; k++) {
		int64_t row = index_load(ids->meta.dtype, tensor_at(ids, ids->meta.offset + k));
		if (row < 0 || row >= nrows) {
			err_set(c->err, "embedding_dense_backward: index %" PRId64 " is none of %" PRId64 " rows, which PyTorch does not check", row,
				nrows);
			return NULL;
		}
		count[row]++;
	}
	return count;
}

/* sum's row += share * the row of n cells at `from`. */
static void add_scaled_row(struct wide *sum, int64_t first, const unsigned char *from, int64_t n, double share)
{
	enum dtype t = sum->dtype;
	for (int64_t i = 0; i < n; i++, from += dtype_nbytes(t)) {
		if (sum->f)
			sum->f[first + i] += dtype_load_f(t, from) * dtype_round(t, share);
		else if (t == DT_B8 || share == 1)
			wide_add(sum, first + i, from); /* of integers 1/n is 0 */
	}
}

bool kern_embedding_dense_backward(struct kern_ctx *c)
{
	int64_t padding = node_int(c->n, A_embedding_dense_backward_padding_idx), width = c->out[0].meta.size[1];
	struct tensor ids = tensor_contiguous(c->in[A_embedding_dense_backward_indices], c->scratch),
				  g = tensor_contiguous(c->in[A_embedding_dense_backward_grad_output], c->scratch);
	int64_t numel = meta_numel(&ids.meta);
	ids = tensor_with_sizes(&ids, &numel, 1);
	int64_t *count = row_counts(c, &ids, c->out[0].meta.size[0]);
	struct wide sum;
	if (!count)
		return false;
	wide_zero(&sum, g.meta.dtype, meta_numel(&c->out[0].meta), c->scratch);
	for (int64_t k = 0; k < numel; k++) {
		int64_t row = index_load(ids.meta.dtype, tensor_at(&ids, ids.meta.offset + k));
		double share = c->n->arg[A_embedding_dense_backward_scale_grad_by_freq].b ? 1.0 / (double)count[row] : 1;
		if (row != padding)
			add_scaled_row(&sum, row * width, tensor_at(&g, g.meta.offset + k * width), width, share);
	}
	wide_store(&sum, &c->out[0]);
	return true;
}

/* embedding_dense_double_backward: the rows of the cotangent, padding's zero; nothing of how often they were named.
 * The last step states the width as -1, which PyTorch refuses where there are no indices. */
void vjp_embedding_dense_backward(struct vjp *v)
{
	struct build *b = v->b;
	static const int64_t flat[] = {-1}, column[] = {-1, 1};
	int64_t padding = node_int(v->n, A_embedding_dense_backward_padding_idx), size[MAX_RANK + 1];
	int indices = v->in[A_embedding_dense_backward_indices];
	int g = emit_index_select(b, v->g[0], 0, emit_reshape(b, indices, flat, 1));
	const struct meta ids = *build_meta(b, indices);
	if (padding >= 0) {
		int is_padding = emit_reshape(b, emit_eq_Scalar(b, indices, scalar_int(padding)), column, 2);
		g = emit_masked_fill(b, g, is_padding, scalar_int(0));
	}
	memcpy(size, ids.size, sizeof *size * (size_t)ids.rank);
	size[ids.rank] = -1;
	v->grad[A_embedding_dense_backward_grad_output] = emit_view(b, g, size, ids.rank + 1);
}

/* ---- index_add ---------------------------------------------------------------------------------------------------------- */

/* Sizes without dim d, for tensors that have dims. */
static struct meta without(const struct meta *m, int d)
{
	struct meta r = *m;
	if (d < r.rank)
		meta_remove_dim(&r, d);
	return r;
}

bool meta_index_add(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_index_add_self], *index = c->in[A_index_add_index], *source = c->in[A_index_add_source];
	char a[SIZES_TEXT], b[SIZES_TEXT];
	int64_t numel = meta_numel(index);
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_index_add_dim), self->rank, c->err))
		return false;
	if (index->rank > 1)
		return err_set(c->err, "index_add_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s", index->rank,
			dtype_info[index->dtype].c10, sizes_text(a, index->size, index->rank));
	if (index->dtype != DT_I64 && index->dtype != DT_I32)
		return err_set(c->err, "index_add_(): Expected dtype int32/int64 for index but got: %s", dtype_info[index->dtype].c10);
	if (self->dtype != source->dtype)
		return err_set(c->err, "index_add_(): self (%s) and source (%s) must have the same scalar type", dtype_info[self->dtype].c10,
			dtype_info[source->dtype].c10);
	if (d != 0 && d >= source->rank)
		return err_set(c->err, "index_add_(): Indexing dim %d is out of bounds of the source tensor with dim %d", d, source->rank);
	if (numel != (source->rank ? source->size[d] : 1))
		return err_set(c->err,
			"index_add_(): Number of indices (%" PRId64 ") should be equal to source.size(dim): (%" PRId64 "), for dim: %d", numel,
			source->rank ? source->size[d] : 1, d);
	bool both = self->rank && source->rank;
	struct meta s = both ? without(self, d) : *self, o = both ? without(source, d) : *source;
	if (!meta_same_sizes(&s, &o))
		return err_set(c->err,
			"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = %s "
			"source.shape = %s",
			sizes_text(a, self->size, self->rank), sizes_text(b, source->size, source->rank));
	layout_contiguous(&c->out[0], self, self->size, self->rank);
	bool idle = self->rank > 1 && (meta_numel(self) == 0 || numel == 0); /* alpha is not looked at */
	return idle || scalar_fits(&c->n->arg[A_index_add_alpha].scalar, self->dtype, c->err);
}

bool kern_index_add(struct kern_ctx *c)
{
	struct dim_rows r;
	struct wide sum;
	if (meta_numel(&c->out[0].meta) == 0 && c->out[0].meta.rank > 1)
		return true; /* positions are not looked at */
	wide_load(&sum, c->in[A_index_add_self], c->scratch);
	rows_init(&r, &c->out[0], node_int(c->n, A_index_add_dim), c->in[A_index_add_index], c->in[A_index_add_source]);
	if (!add_rows(&sum, &r, &c->n->arg[A_index_add_alpha].scalar))
		return err_set(c->err, "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64, bad_index(&r), r.dim,
			r.self.meta.size[r.dim]);
	wide_store(&sum, &c->out[0]);
	return true;
}

/* The rows of the cotangent that index names, in source's sizes. Where self is empty nobody looked at index. */
static int rows_of_source(struct vjp *v, const struct meta *source)
{
	if (meta_numel(vjp_meta(v, A_rows_of_dim_self)) == 0)
		return NO_VALUE;
	int g = emit_index_select(v->b, v->g[0], node_int(v->n, A_rows_of_dim_dim), v->in[A_rows_of_dim_index]);
	return source->rank ? emit_expand(v->b, g, source->size, source->rank) : g;
}

/* source: the rows of the cotangent, times alpha. */
void vjp_index_add(struct vjp *v)
{
	v->grad[A_index_add_self] = v->g[0];
	if (!v->want[A_index_add_source])
		return;
	int g = rows_of_source(v, vjp_meta(v, A_index_add_source));
	v->grad[A_index_add_source] = g == NO_VALUE ? g : vjp_scale(v->b, g, v->n->arg[A_index_add_alpha].scalar);
}

/* ---- index_copy, index_fill ---------------------------------------------------------------------------------------------- */

/* "3 2": as index_copy_'s text lists sizes. */
static const char *plain_sizes(char buf[SIZES_TEXT], const struct meta *m)
{
	size_t len = 0;
	buf[0] = 0;
	for (int d = 0; d < m->rank; d++)
		len += (size_t)snprintf(buf + len, SIZES_TEXT - len, "%s%" PRId64, d ? " " : "", m->size[d]);
	return buf;
}

bool meta_index_copy(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_index_copy_self], *index = c->in[A_index_copy_index], *source = c->in[A_index_copy_source];
	char a[SIZES_TEXT], b[SIZES_TEXT];
	int64_t numel = meta_numel(index);
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_index_copy_dim), self->rank, c->err))
		return false;
	if (index->rank >= 2)
		return err_set(c->err, "index_copy_(): Index should have dimension 1 or 0 (got %d)", index->rank);
	if (source->rank == 0 && numel != 1)
		return err_set(c->err, "index_copy_(): When source is scalar, index should have one element (got %" PRId64 ")", numel);
	if (source->rank != self->rank && source->rank != 0 && self->rank != 0)
		return err_set(c->err,
			"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
			"dimensionality (%d), destination dimensionality (%d)",
			source->rank, self->rank);
	if (index->dtype != DT_I64)
		return err_set(c->err, "index_copy_(): Expected a long tensor for index, but got %s", dtype_info[index->dtype].c10);
	if (self->dtype != source->dtype)
		return err_set(c->err, "index_copy_(): self and source expected to have the same dtype, but got (self) %s and (source) %s",
			dtype_info[self->dtype].c10, dtype_info[source->dtype].c10);
	struct meta s = without(self, d), o = without(source, d);
	if (!meta_same_sizes(&s, &o))
		return err_set(c->err,
			"index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: %s at "
			"dimension %d and source slice shape: %s at dimension 0.",
			plain_sizes(a, &s), d, plain_sizes(b, &o));
	if (source->rank && numel != source->size[d])
		return err_set(c->err, "index_copy_(): Number of indices (%" PRId64 ") should be equal to source.size(dim) (%" PRId64 ")", numel,
			source->size[d]);
	layout_contiguous(&c->out[0], self, self->size, self->rank);
	return true;
}

/* Of rows without elements nobody looks at positions; of no rows there is not even a first one. */
static bool rows_are_empty(const struct dim_rows *r)
{
	const struct meta row = without(&r->self.meta, r->dim);
	return meta_numel(&row) == 0;
}

bool kern_index_copy(struct kern_ctx *c)
{
	struct dim_rows r;
	tensor_move(&c->out[0], c->in[A_index_copy_self]);
	rows_init(&r, &c->out[0], node_int(c->n, A_index_copy_dim), c->in[A_index_copy_index], c->in[A_index_copy_source]);
	if (rows_are_empty(&r))
		return true;
	if (!move_rows(&r, ROW_FROM_OTHER, NULL))
		return err_set(c->err, "index_copy_(): index %" PRId64 " is out of bounds for dimension %d with size %" PRId64, bad_index(&r),
			r.dim, r.self.meta.size[r.dim]);
	return true;
}

static void overwritten(struct vjp *v)
{
	int64_t dim = node_int(v->n, A_rows_of_dim_dim);
	v->grad[A_rows_of_dim_self] = emit_index_fill(v->b, v->g[0], dim, v->in[A_rows_of_dim_index], scalar_int(0));
}

void vjp_index_copy(struct vjp *v)
{
	if (v->want[A_index_copy_self])
		overwritten(v);
	if (v->want[A_index_copy_source])
		v->grad[A_index_copy_source] = rows_of_source(v, vjp_meta(v, A_index_copy_source));
}

bool meta_index_fill(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_index_fill_self], *index = c->in[A_index_fill_index];
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_index_fill_dim), self->rank, c->err))
		return false;
	if (index->dtype != DT_I64)
		return err_set(c->err, "index_fill_(): Expected dtype int64 for index.");
	if (index->rank > 1)
		return err_set(c->err, "Index has to be a vector/scalar");
	layout_preserve(&c->out[0], self);
	return scalar_fits(&c->n->arg[A_index_fill_value].scalar, self->dtype, c->err);
}

bool kern_index_fill(struct kern_ctx *c)
{
	struct dim_rows r;
	unsigned char cell[8];
	scalar_store(cell, c->out[0].meta.dtype, &c->n->arg[A_index_fill_value].scalar);
	tensor_move(&c->out[0], c->in[A_index_fill_self]);
	rows_init(&r, &c->out[0], node_int(c->n, A_index_fill_dim), c->in[A_index_fill_index], NULL);
	r.negative = true;
	if (rows_are_empty(&r))
		return true;
	if (!move_rows(&r, ROW_FILL, cell))
		return err_set(c->err, "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64, bad_index(&r), r.dim,
			r.self.meta.size[r.dim]);
	return true;
}

void vjp_index_fill(struct vjp *v) { overwritten(v); }
