/* scatters.c: rules of scatters. Those along a dim become scatter rows whose positions are expanded, which refuse the same positions; the
 * backward of a view is a scatter into its region, that of unfold index_put at computed positions. */
#include "compiled/decompose/rules.h"

/* ---- along a dim ---- */

RULE(scatter_value)
{
	struct meta like = *operand_meta(d, A_scatter_value_index);
	const int self = d->in[A_scatter_value_self];
	d->out[0] = self;
	if (meta_numel(&like) == 0)
		return; /* nobody looks at the value */
	like.dtype = result_meta(d, 0)->dtype;
	const int src = filled(d, &like, *scalar_arg(d, A_scatter_value_value));
	d->out[0] = emit_scatter_src(d->b, self, int_arg(d, A_scatter_value_dim), d->in[A_scatter_value_index], src);
}

/* Rows of self along a dim beside the rows of another tensor; 0-d tensors as 1-d. */
struct rows_of_dim {
	int self, index, source, dim;
};

static void rows_of_dim(struct rows_of_dim *r, struct decomposition *d, int source)
{
	struct meta m = *operand_meta(d, A_rows_of_dim_self);
	r->dim = dim_of(int_arg(d, A_rows_of_dim_dim), &m);
	if (m.rank == 0)
		meta_insert_dim(&m, 0, 1, 1);
	r->self = sized_as(d, d->in[A_rows_of_dim_self], &m);
	const int64_t n = meta_numel(operand_meta(d, A_rows_of_dim_index));
	struct meta column = {.rank = m.rank};
	for (int k = 0; k < m.rank; k++)
		column.size[k] = k == r->dim ? n : 1;
	m.size[r->dim] = n;
	r->index = spread(d, sized_as(d, d->in[A_rows_of_dim_index], &column), &m);
	r->source = sized_as(d, source, &m);
}

RULE(index_copy)
{
	struct rows_of_dim r;
	rows_of_dim(&r, d, d->in[A_index_copy_source]);
	d->out[0] = sized_as(d, emit_scatter_src(d->b, r.self, r.dim, r.index, r.source), result_meta(d, 0));
}

static bool is_one(const struct scalar *s) { return s->kind == SC_FLOAT ? s->f == 1 : s->i == 1; }

/* self + alpha * source: the product is not rounded before it is added. */
RULE(index_add)
{
	const enum dtype t = result_meta(d, 0)->dtype, wide = dtype_is_float(t) ? DT_F64 : t;
	const struct scalar *alpha = scalar_arg(d, A_index_add_alpha);
	struct rows_of_dim r;
	int source = d->in[A_index_add_source];
	if (meta_numel(result_meta(d, 0)) == 0 && result_meta(d, 0)->rank > 1) {
		d->out[0] = d->in[A_index_add_self]; /* nobody looks at positions or alpha */
		return;
	}
	if (!is_one(alpha)) {
		source = emit_mul_Tensor(d->b, as_dtype(d, source, wide), as_dtype(d, constant(d, *alpha, t), wide));
		rows_of_dim(&r, d, source);
		r.self = as_dtype(d, r.self, wide);
	} else {
		rows_of_dim(&r, d, source);
	}
	const int sum = emit_scatter_add(d->b, r.self, r.dim, r.index, r.source);
	d->out[0] = sized_as(d, as_dtype(d, sum, t), result_meta(d, 0));
}

/* x with `value` at the positions along dim. */
static int put_along(struct decomposition *d, int x, int dim, int index, int value, bool accumulate)
{
	int list[MAX_RANK];
	for (int k = 0; k < dim; k++)
		list[k] = NO_VALUE;
	list[dim] = index;
	return emit_index_put(d->b, x, list, dim + 1, value, accumulate);
}

/* Negative positions count from the end, as index_put's do. */
RULE(index_fill)
{
	const struct meta *m = result_meta(d, 0);
	const int self = d->in[A_index_fill_self], dim = dim_of(int_arg(d, A_index_fill_dim), m);
	d->out[0] = self;
	if (m->rank && m->size[dim] == 0) { /* positions that do not exist, which index_put refuses before it runs */
		struct meta rows = *m;
		struct rows_of_dim r;
		rows.size[dim] = meta_numel(operand_meta(d, A_index_fill_index));
		rows_of_dim(&r, d, filled(d, &rows, *scalar_arg(d, A_index_fill_value)));
		d->out[0] = sized_as(d, emit_scatter_src(d->b, r.self, r.dim, r.index, r.source), m);
		return;
	}
	if (meta_numel(m) == 0)
		return; /* nobody looks at positions */
	const int value = constant(d, *scalar_arg(d, A_index_fill_value), m->dtype), x = m->rank ? self : with_dim(d, self, 0);
	d->out[0] = sized_as(d, put_along(d, x, dim, flat(d, d->in[A_index_fill_index]), value, false), m);
}

/* ---- masks ---- */

RULE(masked_fill)
{
	const int value = constant(d, *scalar_arg(d, A_masked_fill_value), result_meta(d, 0)->dtype);
	d->out[0] = emit_where_self(d->b, d->in[A_masked_fill_mask], value, d->in[A_masked_fill_self]);
}

/* ---- a gradient in a view's region of zeros: a scatter into that region ---- */

static int zeros(struct decomposition *d) { return filled(d, result_meta(d, 0), scalar_int(0)); }

/* The gradient, an operand of the row, as large as the region. */
static int gradient(struct decomposition *d, int arg, const struct meta *region)
{
	return spread(d, as_dtype(d, d->in[arg], result_meta(d, 0)->dtype), region);
}

RULE(slice_backward)
{
	struct meta region = *result_meta(d, 0);
	const int dim = dim_of(int_arg(d, A_slice_backward_dim), &region);
	int64_t start = int_arg(d, A_slice_backward_start), end = int_arg(d, A_slice_backward_end);
	const int64_t step = int_arg(d, A_slice_backward_step);
	region.size[dim] = slice_clamp(&start, &end, region.size[dim], step);
	d->out[0] = zeros(d);
	if (meta_numel(&region) > 0)
		d->out[0] = emit_slice_scatter(d->b, d->out[0], gradient(d, A_slice_backward_grad_output, &region), dim, start, end, step);
}

RULE(select_backward)
{
	struct meta region = *result_meta(d, 0);
	const int dim = dim_of(int_arg(d, A_select_backward_dim), &region);
	meta_remove_dim(&region, dim);
	d->out[0] = zeros(d);
	if (meta_numel(result_meta(d, 0)) > 0)
		d->out[0] = emit_select_scatter(
			d->b, d->out[0], gradient(d, A_select_backward_grad_output, &region), dim, int_arg(d, A_select_backward_index));
}

/* The region has the diagonal's dim behind the others. */
RULE(diagonal_backward)
{
	const struct meta *m = result_meta(d, 0);
	struct meta region = *m;
	const int a = dim_of(int_arg(d, A_diagonal_backward_dim1), m), b = dim_of(int_arg(d, A_diagonal_backward_dim2), m);
	const int64_t offset = int_arg(d, A_diagonal_backward_offset);
	d->out[0] = zeros(d);
	if (meta_numel(m) == 0 || offset <= -m->size[a] || offset >= m->size[b])
		return;
	meta_remove_dim(&region, MAX(a, b));
	meta_remove_dim(&region, MIN(a, b));
	meta_insert_dim(&region, region.rank, offset >= 0 ? MIN(m->size[a], m->size[b] - offset) : MIN(m->size[a] + offset, m->size[b]), 1);
	d->out[0] = emit_diagonal_scatter(d->b, d->out[0], gradient(d, A_diagonal_backward_grad_output, &region), offset, a, b);
}

/* The positions of windows one after another: those of all cells, seen through the windows. */
static int window_positions(struct decomposition *d, int64_t n, const int64_t window[2], int64_t step)
{
	const int64_t stride[] = {step, 1};
	return flat(d, emit_as_strided(d->b, positions(d, 0, n, 1), window, 2, stride, 2, 0));
}

/* Windows that lie apart are copied, the others add up. */
RULE(unfold_backward)
{
	const struct meta *m = result_meta(d, 0);
	const int64_t size = int_arg(d, A_unfold_backward_size), step = int_arg(d, A_unfold_backward_step);
	int64_t order[MAX_RANK] = {0};
	int g = d->in[A_unfold_backward_grad_in];
	d->out[0] = zeros(d);
	if (meta_numel(m) == 0 || size == 0)
		return;
	if (m->rank == 0) { /* one window of one element; a sum of it begins with +0 */
		g = emit_view(d->b, spread(d, g, &(struct meta){.rank = 1, .size = {1}}), m->size, 0);
		d->out[0] = step >= size ? g : emit_add_Tensor(d->b, d->out[0], g, scalar_int(1));
		return;
	}
	const int dim = dim_of(int_arg(d, A_unfold_backward_dim), m);
	const int64_t window[] = {(m->size[dim] - size) / step + 1, size};
	struct meta windows = *m;
	windows.size[dim] = window[0];
	meta_insert_dim(&windows, m->rank, size, 1);
	g = spread(d, g, &windows);
	for (int k = 0; k <= m->rank; k++)
		order[k] = k <= dim ? k : k == dim + 1 ? m->rank : k - 1;
	g = emit_permute(d->b, g, order, m->rank + 1);
	struct meta joined = *m;
	joined.size[dim] = window[0] * size;
	g = sized_as(d, g, &joined);
	d->out[0] = put_along(d, d->out[0], dim, window_positions(d, m->size[dim], window, step), g, step < size);
}

/* ---- embedding ---- */

/* The rows of g where `keep` (one per row) is true, else zeros. */
static int rows_kept(struct decomposition *d, int keep, int g)
{
	const struct meta *m = build_meta(d->b, g);
	return emit_where_self(d->b, with_dim(d, keep, 1), g, constant(d, scalar_int(0), m->dtype));
}

/* How often the row that each index names is named. */
static int times_named(struct decomposition *d, int ids, int64_t nrows, const struct meta *m)
{
	int none = emit_full(d->b, &nrows, 1, scalar_int(0), DT_I64), ones = emit_full(d->b, m->size, 1, scalar_int(1), DT_I64);
	return emit_index_select(d->b, emit_scatter_add(d->b, none, 0, ids, ones), 0, ids);
}

/* g times 1/count, a number of g's dtype, not rounded; of integers nothing is left of what is divided. */
static int shared(struct decomposition *d, int g, int count)
{
	const enum dtype t = build_meta(d->b, g)->dtype;
	if (!dtype_is_float(t))
		return t == DT_B8 ? g : rows_kept(d, emit_eq_Tensor(d->b, count, constant(d, scalar_int(1), DT_I64)), g);
	d->b->nnumber = 0;
	int share = emit_div_Tensor(d->b, build_number(d->b, scalar_int(1)), as_dtype(d, count, DT_F64));
	share = as_dtype(d, as_dtype(d, share, t), DT_F64);
	return emit_mul_Tensor(d->b, as_dtype(d, g, DT_F64), with_dim(d, share, 1));
}

RULE(embedding_dense_backward)
{
	const struct meta *m = result_meta(d, 0);
	const int64_t padding = int_arg(d, A_embedding_dense_backward_padding_idx);
	const int ids = flat(d, d->in[A_embedding_dense_backward_indices]);
	struct meta rows = *build_meta(d->b, ids);
	d->out[0] = zeros(d);
	meta_insert_dim(&rows, 1, m->size[1], 1);
	if (rows.size[0] == 0)
		return;
	int g = sized_as(d, d->in[A_embedding_dense_backward_grad_output], &rows);
	if (padding >= 0)
		g = rows_kept(d, logical_negation(d, emit_eq_Tensor(d->b, ids, constant(d, scalar_int(padding), rows.dtype))), g);
	if (d->n->arg[A_embedding_dense_backward_scale_grad_by_freq].b)
		g = shared(d, g, times_named(d, ids, m->size[0], &rows));
	const int into = as_dtype(d, d->out[0], build_meta(d->b, g)->dtype), index = spread(d, with_dim(d, ids, 1), &rows);
	d->out[0] = as_dtype(d, emit_scatter_add(d->b, into, 0, index, g), m->dtype);
}
