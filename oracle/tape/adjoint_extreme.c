/* adjoint_extreme.c: derivatives of extremes and of what is picked: shared evenly among equals, or sent to the one that was picked. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/adjoint_impl.h"

#include <stdlib.h>

/* ---- extremes: shared evenly among equals ---- */
static bool all_equal(const struct tape *t, const sid *e, int64_t n, const bool *cand)
{
	const struct num *first = NULL;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		if (!cand[i])
			continue;
		bool several = x->flags & NUM_SPECIAL && x->flags & NUM_INF && (x->flags & (NUM_INF | NUM_NAN)) != NUM_PINF
			&& (x->flags & (NUM_INF | NUM_NAN)) != NUM_NINF;
		if (x->rad != 0 || several || x->flags & (NUM_UNDEC | NUM_ANY) || (x->flags & NUM_INF && !(x->flags & NUM_NOFIN))
			|| (first && first->hi != x->hi))
			return false;
		first = first ? first : x;
	}
	return true;
}

/* Each of `count` winners' share of g. */
static struct num share_of(const struct adjoint_pass *s, const struct num *g, int64_t count)
{
	struct num k = num_exact(s->h.dt, (double)count), part = quotient(g, &k, &s->h);
	if (count == 1)
		return *g;
	if (!num_fits(s->h.dt, (double)count, 0) && !(part.flags & NUM_SPECIAL)) /* the count is a sum in the dtype */
		num_widen(&part, num_format[s->h.dt].u * 2 * num_mag(&part));
	how_only(&part, &s->h);
	return part;
}

/* The NaNs of the list; 0 if it is not certain which they are. */
static int64_t sure_nans(const struct tape *t, const sid *e, int64_t n, bool *is)
{
	int64_t count = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		is[i] = sure_nan(x);
		if (!is[i] && x->flags & (NUM_NAN | NUM_ANY))
			return 0;
		count += is[i];
	}
	return count;
}

void adj_extreme(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y)
{
	struct tape *t = s->A->t;
	struct num open = adj_undecided(g, &s->h), zero = num_exact(s->h.dt, 0), part = *g;
	if (g->flags & NUM_SPECIAL) { /* who does not win gets mask * g: 0 * inf, 0 * nan; or a select */
		zero.flags |= NUM_NAN;
		open.flags |= NUM_NAN;
	}
	struct arena_mark m = arena_mark(t->arena);
	bool *cand = ARENA_NEW(t->arena, bool, n + 1);
	struct tape_block as = *s->b;
	as.param = 0;
	as.f = s->b->f == SF_MINN ? SF_KMIN : SF_KMAX;
	int64_t count = pick_candidates(t, &as, e, n, cand), nans = 0;
	if (s->b->param == NANS_SHARE && y->flags & NUM_NAN)
		nans = sure_nans(t, e, n, cand);
	if (nans) {
		part = share_of(s, g, nans);
	} else if (sure_nan(y) && s->b->param != NANS_SHARE) {
		part = zero = num_exact(s->h.dt, NAN); /* nothing equals NaN: 0 / 0 for all */
	} else if (y->flags & (NUM_NAN | NUM_ANY)) {
		open.flags |= NUM_NAN;
		for (int64_t i = 0; i < n; i++)
			cand[i] = true;
		part = open;
	} else if (count > 1 && all_equal(t, e, n, cand)) {
		part = share_of(s, g, count);
	} else if (count > 1) {
		part = open;
	}
	for (int64_t i = 0; i < n; i++)
		adj_send(s, e[i], cand[i] ? part : zero);
	arena_release(t->arena, m);
}

/* The candidates among the entries, in their order. */
static const sid *candidates(const struct adjoint_pass *s, const sid *e, int64_t n, const bool *cand, int64_t count)
{
	sid *some = ARENA_NEW(s->A->t->arena, sid, count);
	for (int64_t i = 0, k = 0; i < n; i++)
		if (cand[i])
			some[k++] = e[i];
	return some;
}

/* The block that picks the next rank (step 1) or the one before (-1) of the same rows; NULL: there is none. topk and sort append values and
 * positions by turns. */
static const struct tape_block *neighbour(const struct tape *t, const struct tape_block *b, int step)
{
	int64_t at = b - t->block + 2 * step;
	const struct tape_block *x = at >= 0 && at < t->nblock ? &t->block[at] : NULL;
	return x && x->node == b->node && x->f == b->f && x->a == b->a && x->n == b->n && fabs(x->param - b->param) == 1 ? x : NULL;
}

/* As many ranks as there are candidates for them: then every candidate has one of them, whoever has which, and gets its g. The candidates
 * are equals (tied), or the whole row, of which every rank is picked. Returns which of these ranks this block's is; -1: not so. share: one
 * of the ranks' g, and nothing says which; where they are all one number, that.
 * All blocks of the operator have their adjoints by now: none of them reads another. */
static int64_t rank_among_shares(
	struct num *share, const struct adjoint_pass *s, int64_t row, int64_t count, const struct num *g, bool tied)
{
	const struct tape *t = s->A->t;
	const struct num *v = t->val;
	int64_t before = 0, all = 1;
	*share = *g;
	if (s->b->param == PICK_FIRST || s->b->f == SF_ONEOF)
		return -1;
	for (int step = -1; step <= 1; step += 2) {
		const struct tape_block *x = s->b;
		while ((x = neighbour(t, x, step)) && (!tied || surely_equal(&v[x->first + row], &v[s->b->first + row]))) {
			struct num other = adjoint_of(s->A, x->first + (sid)row);
			if (all == count)
				return -1;
			bool same = num_is_exact(&other) && num_is_exact(share) && other.hi == share->hi;
			if (!tied && !same) /* a row of no equals: that of every other entry, too */
				return -1;
			if (!same)
				*share = num_either(share, &other);
			all++;
			before += step < 0;
		}
	}
	return all == count ? before : -1;
}

/* The number k candidate of a row gets g, the others 0. */
static void send_to_number(const struct adjoint_pass *s, const sid *e, int64_t n, const bool *cand, int64_t k, const struct num *g)
{
	struct num zero = num_exact(s->h.dt, 0);
	for (int64_t i = 0; i < n; i++)
		adj_send(s, e[i], (!cand || cand[i]) && k-- == 0 ? *g : zero);
}

/* One entry gets g: the first of equals, if the rule says so (PICK_FIRST). */
void adj_picked(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g)
{
	struct tape *t = s->A->t;
	struct num zero = num_exact(s->h.dt, 0), part = *g, share;
	int64_t row = s->b->len ? (e - s->b->a) / s->b->len : 0, rank = rank_among_shares(&share, s, row, n, g, false);
	if (rank >= 0 && num_is_exact(&share)) {
		send_to_number(s, e, n, NULL, rank, g);
		return;
	}
	bool *cand = xmalloc((size_t)n + 1); /* not of the arena: groups outlive it */
	int64_t count = n, first = -1;
	if (s->b->f == SF_ONEOF)
		memset(cand, 1, (size_t)n * sizeof *cand);
	else
		count = pick_candidates(t, s->b, e, n, cand);
	if (count > 1 && s->b->param == PICK_FIRST)
		first = pick_first(t, e, n, cand);
	bool group = count > 1 && first < 0, tied = group && s->b->f != SF_ONEOF && pick_is_tied(t, e, n, cand);
	if (tied && (rank = rank_among_shares(&share, s, row, count, g, true)) >= 0 && num_is_exact(&share)) {
		send_to_number(s, e, n, cand, rank, g);
		free(cand);
		return;
	}
	if (group)
		part = !tied || rank < 0 ? adj_undecided(g, &s->h) : rank == 0 ? share : zero; /* the first rank brings the share of all */
	for (int64_t i = 0; i < n; i++)
		adj_send(s, e[i], first < 0 ? cand[i] ? part : zero : i == first ? part : zero);
	if (group)
		adj_add_group(s, candidates(s, e, n, cand, count), count, g, tied);
	free(cand);
}
