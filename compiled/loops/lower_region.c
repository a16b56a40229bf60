/* lower_region.c: slice_scatter, select_scatter and diagonal_scatter: self with src in a view's region. Each is one nest over the whole
 * result whose mask says which indices are of the region, as Inductor has it, so it believes the result's sizes and strides.
 * (scatter_region.c of eager copies self and then writes the region.) */
#include "compiled/loops/lower.h"

#include "eager/ops/layout.h"
#include "generated/op_args.h"

/* Is an index of the whole in the region (a condition), and at which index of the view is it then? */
struct region {
	int inside, rank;
	struct affine at[MAX_RANK];
};
typedef void region_fn(struct region *r, struct lowering *l, const struct node *n, const struct meta *whole, const struct affine *idx);

static int dim_of(const struct node *n, int arg, const struct meta *whole)
{
	int d;
	CHECK(dim_wrap(&d, node_int(n, arg), whole->rank, NULL));
	return d;
}

/* start <= i < end and (i - start) % step == 0 */
static void slice_region(struct region *r, struct lowering *l, const struct node *n, const struct meta *whole, const struct affine *idx)
{
	const int d = dim_of(n, A_sliced_dim, whole);
	const int64_t step = node_int(n, A_sliced_step);
	int64_t start = node_given(n, A_sliced_start) ? node_int(n, A_sliced_start) : 0;
	int64_t end = node_given(n, A_sliced_end) ? node_int(n, A_sliced_end) : INT64_MAX;
	const int64_t length = slice_clamp(&start, &end, whole->size[d], step);
	struct affine way = idx[d], rest;
	way.base -= start;
	r->rank = whole->rank;
	memcpy(r->at, idx, sizeof *idx * (size_t)whole->rank);
	r->inside = length ? lower_within(l, &way, 0, end - start) : NEVER;
	if (r->inside == NEVER)
		return;
	lower_divide(&r->at[d], &rest, l, &way, step);
	r->inside = lower_both(l, r->inside, lower_within(l, &rest, 0, 1));
}

static void select_region(struct region *r, struct lowering *l, const struct node *n, const struct meta *whole, const struct affine *idx)
{
	const int d = dim_of(n, A_selected_dim, whole);
	const int64_t index = node_int(n, A_selected_index), from = index < 0 ? index + whole->size[d] : index;
	r->inside = lower_within(l, &idx[d], from, from + 1);
	r->rank = whole->rank - 1;
	for (int k = 0; k < r->rank; k++)
		r->at[k] = idx[k + (k >= d)];
}

/* Where the second index is `offset` ahead of the first. The view has the diagonal last, counted from its first element on. */
static void diagonal_region(struct region *r, struct lowering *l, const struct node *n, const struct meta *whole, const struct affine *idx)
{
	const int a = dim_of(n, A_on_diagonal_dim1, whole), b = dim_of(n, A_on_diagonal_dim2, whole);
	const int64_t offset = node_int(n, A_on_diagonal_offset);
	struct affine ahead = idx[b];
	affine_add(&ahead, &idx[a], -1);
	r->inside = offset > -MAX_NUMEL && offset < MAX_NUMEL ? lower_within(l, &ahead, offset, offset + 1) : NEVER;
	r->rank = 0;
	for (int d = 0; d < whole->rank; d++)
		if (d != a && d != b)
			r->at[r->rank++] = idx[d];
	r->at[r->rank++] = offset >= 0 ? idx[a] : idx[b];
}

static int element_scatter(struct lowering *l, int node, const struct affine *idx, enum form form, region_fn *region)
{
	const struct node *n = &l->p->node[node];
	const struct meta *whole = &n->out[0].meta;
	struct region r;
	region(&r, l, n, whole, idx);
	const int self = r.inside == ALWAYS ? NO_REG : lower_element(l, lower_operand(l, node, A_region_scatter_self), idx, form);
	return lower_replaced(l, self, r.inside, lower_operand(l, node, A_region_scatter_src), r.at, r.rank, whole->dtype, form);
}

#define REGION(view)                                                                                                                       \
	static int element_##view##_scatter(struct lowering *l, int node, const struct affine *idx, enum form form)                            \
	{                                                                                                                                      \
		return element_scatter(l, node, idx, form, view##_region);                                                                         \
	}                                                                                                                                      \
	const struct lower_rule lower_##view##_scatter = {.element = element_##view##_scatter, .moves = true};
REGION(slice)
REGION(select)
REGION(diagonal)
