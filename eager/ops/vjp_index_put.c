/* vjp_index_put.c: the derivative of index_put. */
#include "eager/ops/index_list.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

/* PyTorch reads values' cotangent with index.Tensor, where a mask makes a size that depends on data. Here a mask becomes an index vector
 * of a length that is known: that of the other index tensors or of values, else the mask's number of elements, and what is read
 * beyond the true ones does not count. */
struct masks {
	struct build *b;
	int64_t length;
	bool padded; /* only the first `count` of them are there */
	int count;   /* value; NO_VALUE before the first mask */
};

/* The positions of mask's true elements; where there is one only, it repeats, as an index tensor of size 1 does. */
static int true_positions(struct masks *s, int mask, int64_t n)
{
	static const struct scalar first = {SC_INT, 0, 0};
	struct build *b = s->b;
	int64_t room = 2 * n;
	mask = emit_reshape(b, mask, &n, 1);
	mask = emit_ne_Scalar(b, mask, scalar_int(0)); /* of u8 */
	int to = emit_cumsum(b, mask, 0, -1);
	to = emit_sub_Scalar(b, to, scalar_int(1), scalar_int(1));
	int behind = emit_arange_start(b, scalar_int(n), scalar_int(room), -1);
	to = emit_where_self(b, mask, to, behind);
	int at = emit_arange(b, scalar_int(n), -1);
	int all = emit_zeros(b, &room, 1, DT_I64);
	all = emit_scatter_src(b, all, 0, to, at);
	int count = emit_sum(b, mask, -1);
	int last = emit_sub_Scalar(b, count, scalar_int(1), scalar_int(1));
	int k = emit_arange(b, scalar_int(s->length), -1);
	k = emit_minimum(b, k, last);
	k = emit_clamp(b, k, &first, NULL);
	if (s->count != NO_VALUE) { /* lengths broadcast: the larger one, unless one is 0 */
		int smaller = emit_minimum(b, count, s->count);
		int larger = emit_maximum(b, count, s->count);
		int some = emit_gt_Scalar(b, smaller, scalar_int(0));
		count = emit_mul_Tensor(b, larger, some);
	}
	s->count = count;
	return emit_index_select(b, all, 0, k);
}

/* The list for a self in which the dims of a mask are one dim. */
struct flat_list {
	struct meta self;
	int64_t cells; /* of the largest mask; 0: there is none, or one has no element */
	int rank;      /* of the index tensors together */
	int last;      /* the result's dim that is their last one */
	int out;       /* the result's rank */
	int64_t size;  /* of that dim, from the tensors that are no masks */
};

static void flat_list(struct flat_list *l, const struct meta *self, const struct meta *const *in, int n)
{
	bool masked = false, empty = false;
	int at = 0;
	*l = (struct flat_list){.self = {.dtype = self->dtype}, .rank = 1, .size = 1};
	struct index_entries entries = {0};
	for (int k = 0; k < n; k++) {
		int rank = in[k] && is_mask(in[k]) ? in[k]->rank : 1;
		if (rank == 0)
			continue;
		int64_t cells = 1;
		for (int d = 0; d < rank; d++)
			cells *= self->size[at++];
		l->self.size[l->self.rank++] = cells;
		entries.given[entries.n++] = in[k] != NULL;
		if (in[k] && is_mask(in[k])) {
			masked = true;
			empty |= cells == 0;
			l->cells = MAX(l->cells, cells);
		} else if (in[k]) {
			l->rank = MAX(l->rank, in[k]->rank);
			l->size = in[k]->rank && in[k]->size[in[k]->rank - 1] != 1 ? in[k]->size[in[k]->rank - 1] : l->size;
		}
	}
	while (at < self->rank)
		l->self.size[l->self.rank++] = self->size[at++];
	int given = 0, before = 0;
	for (int d = 0; d < entries.n; d++)
		given += entries.given[d];
	while (index_list_adjacent(&entries) && before < entries.n && !entries.given[before])
		before++;
	l->out = l->self.rank - given + l->rank;
	l->last = before + l->rank - 1;
	l->cells = masked && !empty ? l->cells : 0;
}

/* How long the masks' vectors are; false: nothing was written. */
static bool mask_length(struct masks *s, const struct flat_list *l, const struct meta *values)
{
	int d = l->last - (l->out - values->rank);
	s->length = l->size != 1 ? l->size : d >= 0 ? values->size[d] : 1;
	s->padded = s->length == 1;
	if (s->padded)
		s->length = l->cells;
	return s->length > 0 && l->cells > 0;
}

/* What is not there of a padded result becomes 0. */
static int without_padding(const struct masks *s, const struct flat_list *l, int x)
{
	int64_t size[MAX_RANK];
	int rank = 0;
	for (int d = l->last; d < l->out; d++)
		size[rank++] = d == l->last ? s->length : 1;
	int there = emit_arange(s->b, scalar_int(s->length), -1);
	there = emit_lt_Tensor(s->b, there, s->count);
	there = emit_view(s->b, there, size, rank);
	int zero = emit_scalar_tensor(s->b, scalar_int(0), (int)l->self.dtype);
	return emit_where_self(s->b, there, x, zero);
}

static int read_under_masks(struct vjp *v, const struct meta *const *in, int n)
{
	struct masks s = {.b = v->b, .count = NO_VALUE};
	struct flat_list l;
	int list[MAX_RANK], to = 0;
	flat_list(&l, build_meta(v->b, v->g[0]), in, n);
	if (!mask_length(&s, &l, vjp_meta(v, A_index_put_values)))
		return NO_VALUE;
	for (int k = 0; k < n; k++) {
		bool mask = in[k] && is_mask(in[k]);
		if (!mask || in[k]->rank)
			list[to++] = mask ? true_positions(&s, v->list[A_index_put_indices][k], meta_numel(in[k])) : v->list[A_index_put_indices][k];
	}
	int g = emit_reshape(v->b, v->g[0], l.self.size, l.self.rank);
	g = emit_index_Tensor(v->b, g, list, to);
	return s.padded ? without_padding(&s, &l, g) : g;
}

/* masked_fill: the one value is everywhere under the mask. */
static int sum_under_mask(struct vjp *v, int mask)
{
	const struct meta *m = build_meta(v->b, v->list[A_index_put_indices][mask]), *g = build_meta(v->b, v->g[0]);
	const struct meta *values = vjp_meta(v, A_index_put_values);
	int64_t size[MAX_RANK];
	for (int d = 0; d < g->rank - mask; d++)
		size[d] = d < m->rank ? m->size[d] : 1;
	int zero = emit_scalar_tensor(v->b, scalar_int(0), (int)g->dtype);
	int there = emit_view(v->b, v->list[A_index_put_indices][mask], size, g->rank - mask);
	int sum = emit_where_self(v->b, there, v->g[0], zero);
	sum = emit_sum(v->b, sum, -1);
	return emit_view(v->b, sum, values->size, values->rank);
}

static int read_values(struct vjp *v)
{
	const struct meta *metas[MAX_LIST] = {0};
	const int *list = v->list[A_index_put_indices];
	int n = v->n->arg[A_index_put_indices].n, mask;
	bool masked = false;
	for (int k = 0; k < n; k++) {
		metas[k] = list[k] == NO_VALUE ? NULL : build_meta(v->b, list[k]);
		masked |= metas[k] && is_mask(metas[k]);
	}
	if (index_list_fills(&mask, metas, n, vjp_meta(v, A_index_put_values), v->n->arg[A_index_put_accumulate].b))
		return sum_under_mask(v, mask);
	if (!index_list_any(metas, n))
		return NO_VALUE;
	return masked ? read_under_masks(v, metas, n) : emit_index_Tensor(v->b, v->g[0], list, n);
}

void vjp_index_put(struct vjp *v)
{
	const struct arg *indices = &v->n->arg[A_index_put_indices];
	v->grad[A_index_put_self] = v->g[0];
	if (v->want[A_index_put_self] && !v->n->arg[A_index_put_accumulate].b) {
		int zero = vjp_zeros(v->b, vjp_meta(v, A_index_put_values));
		v->grad[A_index_put_self] = emit_index_put(v->b, v->g[0], v->list[A_index_put_indices], indices->n, zero, false);
	}
	if (v->want[A_index_put_values])
		v->grad[A_index_put_values] = read_values(v);
}
