/* lower_gather.c: rows that read self at positions that index tensors hold: index_select, gather, index.Tensor. Each is a nest
 * of its own over the result: an index out of range raises, whatever of the result is read later. */
#include "compiled/loops/lower.h"

#include "eager/ops/layout.h"
#include "generated/op_args.h"

/* What the index tensor `node` says at idx: a position among `size`. says: a dim, or enum bound_words. */
static struct affine position_at(struct lowering *l, int node, const struct affine *idx, int rank, int64_t size, int says, bool negative)
{
	const int position = lower_broadcast(l, node, idx, rank, AS_VALUE);
	return affine_reg(loops_bound(l->out, position, size, says, negative));
}

/* A result of no elements, for positions all the same: they are looked at. */
static void only_bounds(struct lowering *l, int index, int64_t size)
{
	struct affine idx[MAX_RANK];
	const struct meta *m = node_meta(l->p, index);
	const int depth = lower_loops(l, m, idx);
	position_at(l, index, idx, m->rank, size, BOUND_IN_DATA, false);
	lower_ends(l, depth);
}

/* ---- rows along one dim ---- */

static int element_index_select(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int self = lower_operand(l, node, A_index_select_self), index = lower_operand(l, node, A_index_select_index);
	const struct meta *m = node_meta(l->p, self);
	struct affine at[MAX_RANK];
	int d;
	CHECK(dim_wrap(&d, node_int(n, A_index_select_dim), m->rank, NULL));
	memcpy(at, idx, sizeof *at * (size_t)m->rank);
	if (m->rank == 0)
		at[0] = affine_const(0);
	at[d] = position_at(l, index, &at[d], 1, m->rank ? m->size[d] : 1, BOUND_IN_SELF, false);
	return lower_element(l, self, at, form);
}

static void nests_index_select(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	const int index = lower_operand(l, node, A_index_select_index);
	const struct meta *m = node_meta(l->p, lower_operand(l, node, A_index_select_self));
	int d;
	CHECK(dim_wrap(&d, node_int(n, A_index_select_dim), m->rank, NULL));
	if (meta_numel(&n->out[0].meta) == 0 && meta_numel(node_meta(l->p, index)) > 0)
		only_bounds(l, index, m->size[d]);
	lower_nest(l, node, element_index_select);
}
const struct lower_rule lower_index_select = {.nests = nests_index_select, .moves = true};

/* ---- an index as large as the result ---- */

/* A 0-d tensor counts as 1-d of size 1, self as well as index. */
static int element_gather(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int self = lower_operand(l, node, A_gather_self), index = lower_operand(l, node, A_gather_index);
	const struct meta *m = node_meta(l->p, self), *out = &n->out[0].meta;
	struct affine at[MAX_RANK];
	int d;
	CHECK(dim_wrap(&d, node_int(n, A_gather_dim), m->rank, NULL));
	memcpy(at, idx, sizeof *at * (size_t)out->rank);
	at[d] = position_at(l, index, idx, out->rank, m->rank ? m->size[d] : 1, d, false);
	return lower_element(l, self, at, form);
}
static void nests_gather(struct lowering *l, int node) { lower_nest(l, node, element_gather); }
const struct lower_rule lower_gather = {.nests = nests_gather, .moves = true};

/* ---- an index tensor per dim ---- */

/* Where the dims that all index tensors broadcast to stand in the result: in place of the indexed dims, or first if those are apart. */
static int index_dims_at(const struct arg *indices)
{
	int first = -1, last = -1, given = 0;
	for (int k = 0; k < indices->n; k++) {
		if (indices->nodes[k] < 0)
			continue;
		first = first < 0 ? k : first;
		last = k;
		given++;
	}
	return last - first + 1 == given ? MAX(first, 0) : 0;
}

static int element_index(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int self = lower_operand(l, node, A_index_self), before = index_dims_at(&n->arg[A_index_indices]);
	const struct arg *indices = &n->arg[A_index_indices];
	const struct meta *m = node_meta(l->p, self);
	struct affine at[MAX_RANK];
	int given = 0, stays = 0;
	for (int k = 0; k < indices->n; k++)
		given += indices->nodes[k] >= 0;
	const int rank = n->out[0].meta.rank - (m->rank - given); /* of what they broadcast to */
	for (int d = 0, k = 0; d < m->rank; d++) {
		if (d < indices->n && indices->nodes[d] >= 0) {
			at[d] = position_at(l, indices->nodes[d], &idx[before], rank, m->size[d], k++, true);
		} else {
			at[d] = idx[stays < before ? stays : stays + rank];
			stays++;
		}
	}
	return lower_element(l, self, at, form);
}
static void nests_index(struct lowering *l, int node) { lower_nest(l, node, element_index); }
const struct lower_rule lower_index_Tensor = {.nests = nests_index, .moves = true};
