/* distinct.c: elements are grouped by the list of entries that their scalars pick from, which one node makes per row. */
#include "oracle/judge/distinct.h"
#include "oracle/tape/tape_impl.h"

#include <stdlib.h>

struct picked {
	const sid *list;
	int node;
	sid id;
	int64_t index;
};

static int by_list(const void *a, const void *b)
{
	const struct picked *x = a, *y = b;
	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool any_open(const struct ref_value *v)
{
	for (int64_t k = 0; k < v->n; k++)
		if (v->val[k].flags & NUM_UNDEC)
			return true;
	return false;
}

/* The positions among v's elements, sorted; those that are one scalar stand there once. */
static int64_t positions(struct picked *out, const struct tape *t, const struct ref_value *v)
{
	int64_t n = 0, kept = 0;
	for (int64_t k = 0; k < v->n; k++) {
		const struct tape_block *b = tape_block_of(t, v->ids[k]);
		int64_t len;
		if (b->f == SF_KARGMAX || b->f == SF_KARGMIN)
			out[n++] = (struct picked){block_list(b, v->ids[k] - b->first, &len), b->node, v->ids[k], k};
	}
	if (n)
		qsort(out, (size_t)n, sizeof *out, by_list);
	for (int64_t k = 0; k < n; k++)
		if (k == 0 || out[k].id != out[kept - 1].id)
			out[kept++] = out[k];
	return kept;
}

int64_t distinct_groups(struct distinct **out, const struct reference *ref, const struct ref_value *v, struct arena *a)
{
	int64_t ngroup = 0;
	if (v->meta.dtype != DT_I64 || !v->ids || !any_open(v))
		return 0;
	struct picked *p = ARENA_NEW(a, struct picked, v->n);
	int64_t n = positions(p, ref->tape, v), *index = ARENA_NEW(a, int64_t, n + 1);
	*out = ARENA_NEW(a, struct distinct, n / 2 + 1);
	for (int64_t from = 0, to; from < n; from = to) {
		bool open = false;
		for (to = from; to < n && p[to].list == p[from].list && p[to].node == p[from].node; to++) {
			index[to] = p[to].index;
			open = open || v->val[p[to].index].flags & NUM_UNDEC;
		}
		if (open && to - from > 1)
			(*out)[ngroup++] = (struct distinct){to - from, index + from};
	}
	return ngroup;
}

/* The list among whose equals element k picks; NULL: it is no such position. */
static const sid *tied_list(int64_t *n, const struct reference *ref, const struct ref_value *v, int64_t k)
{
	if (!(v->val[k].flags & NUM_TIED) || !v->ids)
		return NULL;
	const struct tape_block *b = tape_block_of(ref->tape, v->ids[k]);
	return b->f == SF_KARGMAX || b->f == SF_KARGMIN ? block_list(b, v->ids[k] - b->first, n) : NULL;
}

bool distinct_tied(bool *right, const struct reference *ref, const struct ref_value *v, int64_t k, int64_t at)
{
	int64_t n;
	const struct num *x = ref->tape->val;
	const sid *e = tied_list(&n, ref, v, k);
	if (e)
		*right = at >= 0 && at < n && surely_equal(x + e[at], x + e[v->val[k].i]);
	return e != NULL;
}

int64_t distinct_equals(int64_t *at, int64_t most, const struct reference *ref, const struct ref_value *v, int64_t k)
{
	int64_t n = 0, count = 0;
	const sid *e = tied_list(&n, ref, v, k);
	for (int64_t i = 0; e && i < n; i++) {
		bool right;
		if (!distinct_tied(&right, ref, v, k, i) || !right)
			continue;
		if (count < most)
			at[count] = i;
		count++;
	}
	return count;
}
