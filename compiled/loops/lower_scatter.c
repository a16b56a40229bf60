/* lower_scatter.c: rows that write to positions that a tensor names: the result is filled with self, or 0, then a nest over the index
 * writes into it, in row-major order (of equal positions the last stays), or adds to accumulators (lower_nest.h). An index is loaded, and
 * its bounds are checked, outside of the loops that it does not depend on. */
#include "compiled/loops/lower_nest.h"

#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- scatter, scatter_add: an index as large as what is written ---- */

bool scatter_open(struct scatter_nest *w, struct lowering *l, int node)
{
	const int index = lower_operand(l, node, A_along_dim_index);
	const struct meta *m = node_meta(l->p, index), *out = &l->place[0].meta;
	w->outer = l->out->depth;
	if (meta_numel(m) == 0)
		return false;
	CHECK(dim_wrap(&w->dim, node_int(&l->p->node[node], A_along_dim_dim), out->rank, NULL));
	for (int d = 0; d < MAX(m->rank, 1); d++)
		w->target[d] = w->from[d] = nest_for(l, m->rank ? m->size[d] : 1);
	const int value = lower_element(l, index, w->from, AS_VALUE);
	w->target[w->dim] = affine_reg(loops_bound(l->out, value, out->rank ? out->size[w->dim] : 1, w->dim, false));
	return true;
}

static void nests_scatter_src(struct lowering *l, int node)
{
	struct scatter_nest w;
	nest_copy(l, lower_operand(l, node, A_along_dim_self));
	if (scatter_open(&w, l, node))
		lower_put(l, 0, w.target, lower_element(l, lower_operand(l, node, A_scatter_src_src), w.from, AS_BITS));
	nest_end(l, w.outer);
}
const struct lower_rule lower_scatter_src = {.nests = nests_scatter_src, .moves = true};

static void nests_scatter_value(struct lowering *l, int node)
{
	struct scatter_nest w;
	const struct scalar *value = &l->p->node[node].arg[A_scatter_value_value].scalar;
	nest_copy(l, lower_operand(l, node, A_along_dim_self));
	if (scatter_open(&w, l, node))
		lower_put(l, 0, w.target, lower_scalar(l, l->place[0].meta.dtype, value, AS_BITS));
	nest_end(l, w.outer);
}
const struct lower_rule lower_scatter_value = {.nests = nests_scatter_value, .moves = true};

static void nests_scatter_add(struct lowering *l, int node)
{
	struct scatter_nest w;
	const struct place sums = nest_sums(l, lower_operand(l, node, A_along_dim_self));
	if (scatter_open(&w, l, node))
		nest_add_to(l, &sums, w.target, nest_load(l, lower_operand(l, node, A_scatter_add_src), w.from, l->place[0].meta.dtype));
	nest_end(l, w.outer);
	nest_sums_done(l, &sums);
}
const struct lower_rule lower_scatter_add = {.nests = nests_scatter_add};

/* ---- index_add, index_copy, index_fill: an index of rows ---- */

/* from: where in source, which has the result's rank or is 0-d; a 0-d result is one row. False: the result is empty, and nobody looks at
 * the index. */
static bool rows_open(struct scatter_nest *w, struct lowering *l, int node, bool negative, int words)
{
	const int index = lower_operand(l, node, A_rows_of_dim_index);
	const struct meta *out = &l->place[0].meta;
	w->outer = l->out->depth;
	if (meta_numel(out) == 0)
		return false;
	CHECK(dim_wrap(&w->dim, node_int(&l->p->node[node], A_rows_of_dim_dim), out->rank, NULL));
	const struct affine k = nest_for(l, meta_numel(node_meta(l->p, index)));
	const int value = lower_element(l, index, &k, AS_VALUE), dim = words < 0 ? words - w->dim : w->dim;
	const int position = loops_bound(l->out, value, out->rank ? out->size[w->dim] : 1, dim, negative);
	for (int d = 0; d < out->rank; d++)
		if (d != w->dim)
			w->target[d] = w->from[d] = nest_for(l, out->size[d]);
	w->from[w->dim] = k;
	w->target[w->dim] = affine_reg(position);
	return true;
}

/* Whether positions are looked at although there are no elements, the kernel knows. */
static bool nothing_to_write(struct lowering *l, int node)
{
	const bool nothing = meta_numel(&l->place[0].meta) == 0;
	if (nothing)
		lower_extern(l, node);
	return nothing;
}

static void nests_index_add(struct lowering *l, int node)
{
	if (nothing_to_write(l, node))
		return;
	struct scatter_nest w;
	const enum dtype t = l->place[0].meta.dtype;
	const struct place sums = nest_sums(l, lower_operand(l, node, A_rows_of_dim_self));
	const bool any = meta_numel(node_meta(l->p, lower_operand(l, node, A_rows_of_dim_index))) > 0; /* else alpha need not fit */
	if (any && rows_open(&w, l, node, false, 0)) {
		const int alpha = nest_widened(l, lower_scalar(l, t, &l->p->node[node].arg[A_index_add_alpha].scalar, AS_VALUE));
		const int source = nest_load(l, lower_operand(l, node, A_index_add_source), w.from, t);
		nest_add_to(l, &sums, w.target, nest_row(l, OP_mul_Tensor, nest_wide(t), source, alpha));
		nest_end(l, w.outer);
	}
	nest_sums_done(l, &sums);
}
const struct lower_rule lower_index_add = {.nests = nests_index_add};

static void nests_index_copy(struct lowering *l, int node)
{
	if (nothing_to_write(l, node))
		return;
	struct scatter_nest w;
	nest_copy(l, lower_operand(l, node, A_rows_of_dim_self));
	if (rows_open(&w, l, node, false, BOUND_INDEX_COPY))
		lower_put(l, 0, w.target, lower_element(l, lower_operand(l, node, A_index_copy_source), w.from, AS_BITS));
	nest_end(l, w.outer);
}
const struct lower_rule lower_index_copy = {.nests = nests_index_copy, .moves = true};

static void nests_index_fill(struct lowering *l, int node)
{
	struct scatter_nest w;
	const struct scalar *value = &l->p->node[node].arg[A_index_fill_value].scalar;
	nest_copy(l, lower_operand(l, node, A_rows_of_dim_self));
	if (rows_open(&w, l, node, true, 0))
		lower_put(l, 0, w.target, lower_scalar(l, l->place[0].meta.dtype, value, AS_BITS));
	nest_end(l, w.outer);
}
const struct lower_rule lower_index_fill = {.nests = nests_index_fill, .moves = true};

/* ---- embedding_dense_backward: rows of the gradient, added to the rows of zeros that indices name ---- */

/* Opens loops over the indices: their numbers in row-major order, and the row that this one names. */
static int indices_open(struct affine *number, struct lowering *l, int node)
{
	const int indices = lower_operand(l, node, A_embedding_dense_backward_indices);
	const struct meta *m = node_meta(l->p, indices);
	struct affine idx[MAX_RANK];
	*number = affine_const(0);
	for (int d = 0; d < m->rank; d++) {
		const struct affine outer = *number;
		idx[d] = nest_for(l, m->size[d]);
		*number = idx[d];
		affine_add(number, &outer, m->size[d]);
	}
	return loops_bound(l->out, lower_element(l, indices, idx, AS_VALUE), l->place[0].meta.size[0], BOUND_GRADIENT_ROW, false);
}

/* The index of the element of m, which is not empty, with that number in row-major order. */
static void element_of_number(struct affine *idx, struct lowering *l, const struct meta *m, const struct affine *number)
{
	struct meta dense;
	meta_make_contiguous(&dense, m->dtype, m->size, m->rank);
	lower_index_of_cell(idx, l, &dense, number);
}

/* How often each row is named. */
static struct place row_counts(struct lowering *l, int node)
{
	const int outer = l->out->depth;
	struct affine number;
	const struct place counts = nest_counts(l, l->place[0].meta.size, 1, 0);
	const struct affine row = affine_reg(indices_open(&number, l, node));
	nest_set(l, &counts, &row, lower_add(l, DT_I64, nest_get(l, &counts, &row), loops_int(l->out, 1)));
	nest_end(l, outer);
	return counts;
}

/* x times 1 / count as a number of dtype t; of integers that is x or 0. */
static int shared(struct lowering *l, enum dtype t, int x, int count)
{
	const int one = loops_int(l->out, 1);
	if (t == DT_B8)
		return x;
	if (!dtype_is_float(t))
		return loops_select(l->out, nest_holds(l, OP_eq_Tensor, DT_I64, count, one), x, loops_int(l->out, 0));
	const int share = nest_row(l, OP_div_Tensor, DT_F64, nest_float(l, 1), loops_as(l->out, REG_F64, count));
	return nest_row(l, OP_mul_Tensor, DT_F64, x, loops_as(l->out, REG_F64, loops_round(l->out, t, share)));
}

static void nests_embedding_dense_backward(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const int outer = l->out->depth, gradient = lower_operand(l, node, A_embedding_dense_backward_grad_output);
	const struct meta *out = &l->place[0].meta;
	const bool scaled = n->arg[A_embedding_dense_backward_scale_grad_by_freq].b;
	struct place counts = {0};
	struct affine number, target[2], from[MAX_RANK];
	if (scaled)
		lower_settle(l, node);
	const struct place sums = nest_sums(l, -1);
	if (scaled)
		counts = row_counts(l, node);
	const int row = indices_open(&number, l, node), padding = loops_int(l->out, node_int(n, A_embedding_dense_backward_padding_idx));
	loops_if(l->out, nest_holds(l, OP_ne_Tensor, DT_I64, row, padding));
	target[0] = affine_reg(row);
	target[1] = nest_for(l, out->size[1]);
	struct affine cell = target[1];
	affine_add(&cell, &number, out->size[1]);
	if (meta_numel(node_meta(l->p, gradient)) > 0) {
		element_of_number(from, l, node_meta(l->p, gradient), &cell);
		const int x = nest_load(l, gradient, from, out->dtype);
		nest_add_to(l, &sums, target, scaled ? shared(l, out->dtype, x, nest_get(l, &counts, target)) : x);
	}
	nest_end(l, outer);
	nest_sums_done(l, &sums);
}
const struct lower_rule lower_embedding_dense_backward = {.nests = nests_embedding_dense_backward};

/* ---- masked_scatter: source's elements in order where mask is true ---- */

static void nests_masked_scatter(struct lowering *l, int node)
{
	const int source = lower_operand(l, node, A_masked_scatter_source);
	const struct meta *out = &l->place[0].meta;
	const int64_t count = meta_numel(node_meta(l->p, source));
	struct affine idx[MAX_RANK], from[MAX_RANK];
	const int next = loops_var(l->out, loops_int(l->out, 0)), depth = lower_loops(l, out, idx);
	loops_if(l->out, lower_broadcast(l, lower_operand(l, node, A_masked_scatter_mask), idx, out->rank, AS_VALUE));
	const struct affine number = affine_reg(loops_bound(l->out, next, count, BOUND_SOURCE, false));
	if (count > 0) {
		element_of_number(from, l, node_meta(l->p, source), &number);
		lower_put(l, 0, idx, lower_element(l, source, from, AS_BITS));
		loops_set(l->out, next, lower_add(l, DT_I64, next, loops_int(l->out, 1)));
	}
	loops_else(l->out);
	lower_put(l, 0, idx, lower_broadcast(l, lower_operand(l, node, A_masked_scatter_self), idx, out->rank, AS_BITS));
	loops_end(l->out);
	lower_ends(l, depth);
}
const struct lower_rule lower_masked_scatter = {.nests = nests_masked_scatter, .moves = true};

/* ---- as_strided_scatter: cells of the result's memory; what is no element of it is left alone ---- */

static void nests_as_strided_scatter(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const struct arg *size = &n->arg[A_as_strided_scatter_size], *stride = &n->arg[A_as_strided_scatter_stride];
	const struct place *out = &l->place[0];
	const int outer = l->out->depth, src = lower_operand(l, node, A_as_strided_scatter_src);
	const bool given = node_given(n, A_as_strided_scatter_storage_offset);
	struct affine idx[MAX_RANK], cell = affine_const(given ? node_int(n, A_as_strided_scatter_storage_offset) : out->meta.offset);
	nest_copy(l, lower_operand(l, node, A_as_strided_scatter_self));
	for (int d = 0; d < size->n; d++) {
		idx[d] = nest_for(l, size->ints[d].value);
		affine_add(&cell, &idx[d], stride->ints[d].value);
	}
	const int inside = lower_within(l, &cell, 0, meta_extent(&out->meta));
	if (inside != NEVER) {
		const enum dtype t = node_meta(l->p, src)->dtype;
		if (inside != ALWAYS)
			loops_if(l->out, inside);
		const int value = t == out->meta.dtype ? lower_element(l, src, idx, AS_BITS)
											   : loops_cast(l->out, out->meta.dtype, t, lower_element(l, src, idx, AS_VALUE));
		loops_store(l->out, out->buffer, &cell, value);
	}
	nest_end(l, outer);
}
const struct lower_rule lower_as_strided_scatter = {.nests = nests_as_strided_scatter, .moves = true};

/* ---- unfold_backward: windows of the gradient go back to where they were seen; those that overlap add up ---- */

static void zero_result(struct lowering *l)
{
	struct affine idx[MAX_RANK];
	const int depth = lower_loops(l, &l->place[0].meta, idx);
	lower_put(l, 0, idx, lower_scalar(l, l->place[0].meta.dtype, &(struct scalar){SC_INT, 0, 0}, AS_BITS));
	lower_ends(l, depth);
}

/* Opens loops over the windows, in their order: from: where in them, target: where in the result. */
static int windows_open(struct affine *from, struct affine *target, struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const struct meta *out = &l->place[0].meta;
	const int64_t size = node_int(n, A_unfold_backward_size), step = node_int(n, A_unfold_backward_step);
	int dim;
	CHECK(dim_wrap(&dim, node_int(n, A_unfold_backward_dim), out->rank, NULL));
	for (int d = 0; d < out->rank; d++)
		target[d] = from[d] = nest_for(l, d == dim ? (out->size[d] - size) / step + 1 : out->size[d]);
	from[out->rank] = nest_for(l, size);
	if (out->rank) {
		target[dim] = from[out->rank];
		affine_add(&target[dim], &from[dim], step);
	}
	return out->rank + 1;
}

static void nests_unfold_backward(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const int outer = l->out->depth, gradient = lower_operand(l, node, A_unfold_backward_grad_in);
	const bool apart = node_int(n, A_unfold_backward_step) >= node_int(n, A_unfold_backward_size);
	struct affine from[MAX_RANK + 1], target[MAX_RANK];
	struct place sums = {0};
	if (apart)
		zero_result(l);
	else
		sums = nest_sums(l, -1);
	const int rank = windows_open(from, target, l, node);
	if (apart)
		lower_put(l, 0, target, lower_broadcast(l, gradient, from, rank, AS_BITS));
	else
		nest_add_to(l, &sums, target, nest_load(l, gradient, from, l->place[0].meta.dtype));
	nest_end(l, outer);
	if (!apart)
		nest_sums_done(l, &sums);
}
const struct lower_rule lower_unfold_backward = {.nests = nests_unfold_backward, .moves = true};
