/* lower_index_put.c: index_put: loops over the positions of the index tensors, which broadcast together, where they are loaded and
 * checked; within, loops over the dims that stay. One value under one mask is a masked fill. What else a mask does depends on how many of
 * its elements are true, and so does whether the sizes fit: an extern. So is a masked fill with a value of another dtype, which may not
 * fit. */
#include "compiled/loops/lower_nest.h"

#include "eager/ops/index_list.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct put {
	const struct arg *indices;
	int rank; /* of the positions */
	int64_t size[MAX_RANK];
	bool front;                     /* the positions come first in values, not where the indexed dims are */
	struct affine target[MAX_RANK]; /* where in the result */
	struct affine from[MAX_RANK];   /* where in the positions and the dims that stay, as values sees them */
	int nfrom;
};

static bool is_indexed(const struct put *q, int d) { return d < q->indices->n && q->indices->nodes[d] >= 0; }

static bool any_mask(const struct lowering *l, const struct arg *indices)
{
	for (int k = 0; k < indices->n; k++)
		if (indices->nodes[k] >= 0 && is_mask(node_meta(l->p, indices->nodes[k])))
			return true;
	return false;
}

/* The positions that index tensors broadcast to. False: there is nothing to write. */
static bool positions(struct put *q, const struct lowering *l, int node)
{
	const struct meta *out = &l->place[0].meta;
	int runs = 0;
	int64_t count = meta_numel(out) > 0;
	*q = (struct put){.indices = &l->p->node[node].arg[A_index_put_indices]};
	for (int k = 0; k < MAX_RANK; k++)
		q->size[k] = 1;
	for (int k = 0; k < out->rank; k++) {
		if (!is_indexed(q, k))
			continue;
		const struct meta *m = node_meta(l->p, q->indices->nodes[k]);
		runs += k == 0 || !is_indexed(q, k - 1);
		q->rank = MAX(q->rank, m->rank);
		for (int d = 0; d < m->rank; d++)
			if (m->size[d] != 1)
				q->size[MAX_RANK - m->rank + d] = m->size[d];
	}
	memmove(q->size, q->size + MAX_RANK - q->rank, (size_t)q->rank * sizeof *q->size);
	for (int d = 0; d < q->rank; d++)
		count *= q->size[d];
	q->front = runs > 1;
	return runs > 0 && count > 0;
}

/* Opens the loops: over the positions first, which alone may name a cell twice. */
static void put_open(struct put *q, struct lowering *l)
{
	const struct meta *out = &l->place[0].meta;
	struct affine at[MAX_RANK];
	int nth = 0, placed = 0;
	for (int d = 0; d < q->rank; d++)
		at[d] = nest_for(l, q->size[d]);
	for (int d = 0; d < out->rank; d++)
		if (is_indexed(q, d)) {
			const int value = lower_broadcast(l, q->indices->nodes[d], at, q->rank, AS_VALUE);
			q->target[d] = affine_reg(loops_bound(l->out, value, out->size[d], nth++, true));
		}
	for (int d = 0; d <= out->rank; d++) {
		if (!placed && (q->front || d == out->rank || is_indexed(q, d))) {
			for (int k = 0; k < q->rank; k++)
				q->from[q->nfrom++] = at[k];
			placed = 1;
		}
		if (d < out->rank && !is_indexed(q, d))
			q->target[d] = q->from[q->nfrom++] = nest_for(l, out->size[d]);
	}
}

/* value, one element, where the mask is true, which stands for self's dims from `first` on. */
static void fill_under_mask(struct lowering *l, int node, int first)
{
	const struct node *n = &l->p->node[node];
	const int mask = n->arg[A_index_put_indices].nodes[first], values = lower_operand(l, node, A_index_put_values);
	const struct affine zero[MAX_RANK] = {{0}};
	struct affine idx[MAX_RANK];
	const int value = lower_element(l, values, zero, AS_BITS), depth = lower_loops(l, &l->place[0].meta, idx);
	const int self = lower_element(l, lower_operand(l, node, A_index_put_self), idx, AS_BITS);
	lower_put(l, 0, idx, loops_select(l->out, lower_element(l, mask, idx + first, AS_VALUE), value, self));
	lower_ends(l, depth);
}

static bool fills(int *mask, const struct lowering *l, const struct node *n)
{
	const struct meta *metas[MAX_LIST] = {0};
	const struct arg *indices = &n->arg[A_index_put_indices];
	for (int k = 0; k < indices->n; k++)
		metas[k] = indices->nodes[k] >= 0 ? node_meta(l->p, indices->nodes[k]) : NULL;
	return index_list_fills(mask, metas, indices->n, node_meta(l->p, n->arg[A_index_put_values].node), n->arg[A_index_put_accumulate].b);
}

static void nests_index_put(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const int self = lower_operand(l, node, A_index_put_self), values = lower_operand(l, node, A_index_put_values), outer = l->out->depth;
	const bool accumulate = n->arg[A_index_put_accumulate].b, same = node_meta(l->p, values)->dtype == node_meta(l->p, self)->dtype;
	struct place sums = {0};
	struct put q;
	int mask;
	if (any_mask(l, &n->arg[A_index_put_indices])) {
		if (same && fills(&mask, l, n))
			fill_under_mask(l, node, mask);
		else
			lower_extern(l, node);
		return;
	}
	if (accumulate)
		sums = nest_sums(l, self);
	else
		nest_copy(l, self);
	if (positions(&q, l, node)) {
		put_open(&q, l);
		const int value = lower_broadcast(l, values, q.from, q.nfrom, accumulate ? AS_VALUE : AS_BITS);
		if (accumulate)
			nest_add_to(l, &sums, q.target, nest_widened(l, value));
		else
			lower_put(l, 0, q.target, value);
		nest_end(l, outer);
	}
	if (accumulate)
		nest_sums_done(l, &sums);
}
const struct lower_rule lower_index_put = {.nests = nests_index_put, .moves = true};
