/* lower_scatter.c: rows that write to positions that a tensor names: the result is filled with self, then a nest over the index
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

/* ---- masked_scatter: source's elements in order where mask is true ---- */

/* The index of the element of m, which is not empty, with that number in row-major order. */
static void element_of_number(struct affine *idx, struct lowering *l, const struct meta *m, const struct affine *number)
{
	struct meta dense;
	meta_make_contiguous(&dense, m->dtype, m->size, m->rank);
	lower_index_of_cell(idx, l, &dense, number);
}

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
