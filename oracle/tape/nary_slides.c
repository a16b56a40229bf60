/* nary_slides.c: sums of products under windows that slide (SUMPROD_SLIDES): values, and gradients, each of which is one such sum, too. */
#include "generated/op_id.h"
#include "oracle/num/licence.h"
#include "oracle/tape/adjoint_impl.h"

static bool is_padding(sid first) { return first == 0; }

/* Where a factor is infinite, a half may come out as NaN: oneDNN multiplies bf16 in pairs (vdpbf16ps), and what stands beside an odd
 * channel is 0. */
static bool pairs_with_nothing(const struct num *a, const struct num *b, const struct how *h)
{
	return dtype_is_narrow(h->dt) && (a->flags | b->flags) & NUM_SPECIAL;
}

/* Without the pairs of nothing where the other one may be NaN: that is the other thing that a kernel may do. */
struct num sumprod_slides(const struct tape *t, const sid *pair, int64_t n, const struct how *h)
{
	bool drop = false, open = false;
	for (int64_t i = 0; i < n; i++) {
		const struct num *a = &t->val[pair[2 * i]], *b = &t->val[pair[2 * i + 1]];
		const bool nothing = is_padding(pair[2 * i]);
		open = open || pairs_with_nothing(a, b, h) || (nothing && b->flags & NUM_SPECIAL);
		drop = drop || ((nothing || is_padding(pair[2 * i + 1])) && (a->flags | b->flags) & NUM_SPECIAL);
	}
	struct arena_mark mark = arena_mark(t->arena);
	if (drop) {
		sid *inside = ARENA_NEW(t->arena, sid, 2 * n + 1);
		int64_t kept = 0;
		for (int64_t i = 0; i < n; i++)
			if (!is_padding(pair[2 * i]) && !is_padding(pair[2 * i + 1])) {
				inside[2 * kept] = pair[2 * i];
				inside[2 * kept++ + 1] = pair[2 * i + 1];
			}
		pair = inside;
		n = kept;
	}
	struct num r = sumprod(&(struct terms){t->val, pair, 2}, &(struct terms){t->val, pair + 1, 2}, n, h);
	arena_release(t->arena, mark);
	if (open)
		r.flags |= NUM_NAN;
	return r;
}

/* Where each operand of one side occurs: pairs in the order of its ids. */
struct readers {
	sid low;
	int64_t nid;
	uint32_t *start; /* [nid + 1] */
	uint32_t *pair;
};

static struct readers readers_of(struct arena *a, const sid *pair, int64_t n, int side)
{
	sid low = UINT32_MAX, high = 0;
	for (int64_t i = 0; i < n; i++) {
		const sid id = pair[2 * i + side];
		if (is_padding(id))
			continue;
		low = MIN(low, id);
		high = MAX(high, id);
	}
	struct readers r = {.low = low, .nid = low > high ? 0 : (int64_t)(high - low) + 1};
	r.start = ARENA_ZNEW(a, uint32_t, r.nid + 2);
	r.pair = ARENA_NEW(a, uint32_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		if (!is_padding(pair[2 * i + side]))
			r.start[pair[2 * i + side] - low + 2]++;
	for (int64_t k = 1; k <= r.nid; k++)
		r.start[k + 1] += r.start[k];
	for (int64_t i = 0; i < n; i++)
		if (!is_padding(pair[2 * i + side]))
			r.pair[r.start[pair[2 * i + side] - low + 1]++] = (uint32_t)i;
	return r;
}

/* The gradient of operand id: its cotangents times what stood beside it. */
static void send_one(const struct adjoint_pass *s, sid id, const uint32_t *at, int64_t n, int side, bool open, const struct num *g,
	const uint32_t *list, struct num *buf)
{
	const sid *pair = s->b->a;
	struct num *x = buf, *y = buf + n;
	int64_t kept = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *cotangent = &g[list[at[i]]];
		const sid beside = pair[2 * (int64_t)at[i] + 1 - side];
		if (s->b->param == SUMPROD_FALLS && list[at[i]] == s->b->n - 1) {
			open = open || s->A->t->val[beside].flags & NUM_SPECIAL;
			continue;
		}
		if (is_padding(beside)) {
			open = open || cotangent->flags & NUM_SPECIAL;
			continue;
		}
		open = open || pairs_with_nothing(cotangent, &s->A->t->val[beside], &s->h);
		x[kept] = *cotangent;
		y[kept++] = s->A->t->val[beside];
	}
	struct num c = sumprod(&(struct terms){x, NULL, 1}, &(struct terms){y, NULL, 1}, kept, &s->h);
	if (open)
		c.flags |= NUM_NAN;
	adj_send(s, id, c);
}

void adj_slides(struct adjoint_pass *s)
{
	const struct tape_block *b = s->b;
	const struct licence_profile *lic = s->A->t->lic;
	s->h.l = &lic->rule[licence_entry(lic, OP_convolution_backward)][b->dt]; /* a kernel of its own */
	s->p = num_format[s->h.l->acc].p;
	struct arena *a = s->A->t->arena;
	struct arena_mark mark = arena_mark(a);
	const int64_t n = b->n ? b->start[b->n] / 2 : 0;
	struct num *g = ARENA_NEW(a, struct num, b->n + 1);
	uint32_t *list = ARENA_NEW(a, uint32_t, n + 1); /* whose pair each is */
	bool odd = false;
	for (int64_t i = 0; i < n && !odd; i++)
		odd = s->A->t->val[b->a[2 * i + 1]].flags & NUM_SPECIAL;
	for (int64_t k = 0; k < b->n; k++) {
		num_put(&g[k], adj_finished(s, k));
		for (uint32_t i = b->start[k] / 2; i < b->start[k + 1] / 2; i++)
			list[i] = (uint32_t)k;
	}
	for (int side = 0; side < 2; side++) {
		const struct readers r = readers_of(a, b->a, n, side);
		uint32_t most = 0;
		for (int64_t k = 0; k < r.nid; k++)
			most = MAX(most, r.start[k + 1] - r.start[k]);
		struct num *buf = ARENA_NEW(a, struct num, 2 * (int64_t)most + 1);
		s->slot = side;
		for (int64_t k = 0; k < r.nid; k++) {
			const uint32_t count = r.start[k + 1] - r.start[k];
			if (count && !tape_is_const(s->A->t, r.low + (sid)k))
				send_one(
					s, r.low + (sid)k, r.pair + r.start[k], count, side, side == 0 && odd && count < sumprod_full(b->param), g, list, buf);
		}
	}
	arena_release(a, mark);
}
