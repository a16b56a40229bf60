/* adjoint.c: blocks in reverse; each scalar's finished adjoint is sent on to its operands. */
#include "oracle/tape/adjoint.h"
#include "oracle/num/func_impl.h"
#include "oracle/tape/sample.h"

#include <stdlib.h>

void adjoint_init(struct adjoint *A, struct tape *t)
{
	memset(A, 0, sizeof *A);
	A->t = t;
	A->a = ARENA_ZNEW(t->arena, struct adj, t->nscalar);
}

/* ---- sums of contributions ---- */
static struct num of_adj(const struct adj *s, enum dtype dt)
{
	return (struct num){.hi = s->hi, .lo = s->lo, .rad = s->rad, .dtype = (uint8_t)dt, .flags = s->flags};
}

static void add_special(struct adj *s, const struct num *c)
{
	struct num now = of_adj(s, (enum dtype)c->dtype), sum;
	if (s->n == 0)
		sum = *c;
	else
		sum = num_add(&now, c);
	s->hi = sum.hi;
	s->lo = sum.lo;
	s->rad = sum.rad;
	s->flags = (uint8_t)(sum.flags & ~NUM_MOVED);
}

/* Consumers are numbered node * SLOTS + operand: a tensor that one operator is given twice gets two gradients, rounded and added. */
enum { SLOTS = 4 };

enum { BIT_LATER = INT16_MIN, BIT_NONE = INT16_MAX };

/* An exact contribution's last set bit; BIT_NONE if it is 0 or not exact. */
static int exact_bit(double hi, double lo, double rad, int flags)
{
	return rad == 0 && hi != 0 && !(flags & NUM_SPECIAL) ? last_bit(lo != 0 ? lo : hi) : BIT_NONE;
}

static inline void settle(struct adj *s)
{
	if (s->last_bit == BIT_LATER)
		s->last_bit = (int16_t)exact_bit(s->hi, s->lo, s->rad, s->flags);
}

/* The sum or its magnitude leaves double: from now on all four numbers are scaled down (NUM_BEYOND). */
static void add_beyond(struct adj *s, const struct num *c)
{
	struct num sum = of_adj(s, DT_F64), size = {.hi = s->abs}, low = num_down(c);
	if (!(s->flags & NUM_BEYOND)) {
		sum = num_down(&sum);
		s->abs = num_down(&size).hi;
		s->flags |= (uint8_t)(num_any(DT_F64).flags | (s->flags & NUM_UNDEC ? 0 : NUM_BEYOND));
	}
	struct dd d = dd_add(num_dd(&sum), num_dd(&low));
	s->hi = d.hi;
	s->lo = d.lo;
	s->rad = sum.rad + low.rad;
	s->abs += num_mag(&low);
	if (c->flags & NUM_UNDEC)
		s->flags &= (uint8_t)~NUM_BEYOND;
}

/* Adds c, whose magnitude is `size`. */
static void add_to(struct adj *s, const struct num *c, double size)
{
	if (UNLIKELY((c->flags | s->flags) & NUM_SPECIAL)) {
		if (s->flags & NUM_BEYOND && !(c->flags & NUM_SPECIAL)) {
			add_beyond(s, c);
			return;
		}
		add_special(s, c);
		s->abs += size;
		return;
	}
	struct dd d = dd_two_sum(s->hi, c->hi), e = dd_two_sum(s->lo, c->lo);
	e = dd_fast(d.hi, d.lo + e.hi + e.lo);
	if (UNLIKELY(num_overflowed(e, s->abs + size))) {
		add_beyond(s, c);
		return;
	}
	s->hi = e.hi;
	s->lo = e.lo;
	s->rad += c->rad;
	s->abs += size;
	s->flags |= c->flags & NUM_UNDEC;
}

static inline void send(struct adjoint *A, sid id, const struct num *c, int consumer, int p)
{
	struct adj *s = &A->a[id];
	double size = c->flags & NUM_NOFIN ? 0 : fabs(c->hi) + c->rad;
	if (s->n == 0) { /* most scalars have one reader; what only sums need is left for the second */
		s->hi = c->hi;
		s->lo = c->lo;
		s->rad = c->rad;
		s->abs = size;
		s->flags = (uint8_t)(c->flags & ~NUM_MOVED);
		s->n = s->consumers = 1;
		s->p = (uint8_t)p;
		s->last = (uint16_t)(consumer + 1);
		s->last_bit = BIT_LATER;
		return;
	}
	settle(s);
	s->last_bit = (int16_t)MIN(s->last_bit, exact_bit(c->hi, c->lo, c->rad, c->flags));
	add_to(s, c, size);
	s->p = (uint8_t)MIN(s->p, p);
	s->n++;
	if (s->last != consumer + 1) {
		s->last = (uint16_t)(consumer + 1);
		s->consumers++;
	}
}

void adjoint_seed(struct adjoint *A, sid id, const struct num *g, int consumer)
{
	/* A broadcast may reach the output as it is (expand, where): its backward is a sum of cotangents. */
	const struct lic_rule *l = &A->t->lic->rule[LC_SUM][tape_dtype(A->t, id)];
	send(A, id, g, consumer * SLOTS, num_format[l->acc].p);
}

/* How far the sum of several contributions may be from the exact one, in parts of their total magnitude: `within` operators and across
 * them. */
struct sum_parts {
	double within, across;
};

static struct sum_parts parts_of(const struct adj *s, enum dtype dt, int part)
{
	uint32_t onto = s->consumers > 1 ? s->onto : 0;
	double own = num_format[dt].u;
	return (struct sum_parts){num_pow2(-MIN(part, 53)) * (double)(s->n - s->consumers + onto),
		own * (double)(s->consumers - 1 + (s->consumers > 1 && s->n > s->consumers ? s->consumers : 0)) + own * s->levels};
}

static struct num_reach reach_of(const struct adj *s, double sum, double abs)
{
	double more = s->rad + (double)s->n * 0x1p-52 * abs;
	return (struct num_reach){fmax(abs / 2 + sum / 2 + more, 0), fmax(abs / 2 - sum / 2 + more, 0)};
}

static struct num huge_sum_of(const struct adj *s, const struct num *g, enum dtype dt, int part, int nr)
{
	if (dt != DT_F64 || s->onto)
		return num_any(dt);
	struct sum_parts by = parts_of(s, dt, part);
	bool single = s->n == 2 && s->rad == 0;
	struct num_reach reach = reach_of(s, g->hi, s->abs);
	return num_huge_sum(num_dd(g), &reach, s->rad, single ? 0 : (by.within + by.across) * (1 + 0x1p-30), nr);
}

/* Finite terms of either sign may overflow first. */
static void either_infinity(struct num *v)
{
	if (!sure_nan(v))
		v->flags |= NUM_INF | NUM_NAN;
}

/* The sum of several contributions. */
static struct num sum_of(const struct adjoint *A, const struct adj *s, enum dtype dt)
{
	struct num g = of_adj(s, dt);
	const struct lic_rule *l = &A->t->lic->rule[LC_SUM][dt];
	const struct num_format *own = &num_format[dt];
	/* Contributions of a wider consumer (CAST) arrive in this dtype, one by one. */
	double abs = s->abs + (A->onto_abs ? A->onto_abs[s - A->a] : 0); /* of all that is added, one by one */
	int part = MIN(s->p, num_format[tape_inner(dt)].p), p = s->consumers > 1 || s->levels > 1 ? MIN(part, own->p) : part;
	if (g.flags & NUM_BEYOND)
		return huge_sum_of(s, &g, dt, part, (int)(l->flags & LF_ROUND));
	if (g.flags & (NUM_NOFIN | NUM_ANY)) {
		if (abs >= own->overflow)
			either_infinity(&g); /* the finite ones may overflow first */
		return g;
	}
	if (s->onto == UINT16_MAX)
		return num_any(dt);
	bool special = g.flags & NUM_SPECIAL;
	bool exact = !special && s->rad == 0 && (abs == 0 || num_exp(abs) + 1 - s->last_bit <= p) && abs < own->overflow;
	int nr = (int)(l->flags & LF_ROUND);
	uint32_t onto = s->consumers > 1 ? s->onto : 0;
	if (!exact && (s->n > 2 || special || s->rad != 0 || onto)) {
		struct sum_parts by = parts_of(s, dt, part);
		struct num_reach reach = reach_of(s, g.hi, abs);
		num_widen(&g, (by.within * abs + by.across * s->abs) * (1 + 0x1p-30) + abs * (double)s->n * 0x1p-100);
		nr &= ~LF_IEEE;
		if (abs >= own->overflow && onto)
			g.flags |= NUM_INF | NUM_NAN;
		else if (abs >= own->overflow)
			num_reach_overflow(&g, &reach, by.within + by.across + 0x1p-50, own->overflow, false);
		if (g.rad == 0 && abs != 0)
			g.rad = abs * 0x1p-1000;
	}
	/* Partial sums of multiples of the smallest normal number are never denormal. */
	if (s->flushed && (s->rad != 0 || special || (abs != 0 && s->last_bit < own->emin))) {
		num_widen(&g, (double)(s->n - 1) * own->normal);
		nr |= NR_FTZ;
	}
	num_round(&g, dt, nr);
	return g;
}

static inline struct num finished(const struct adjoint *A, sid id)
{
	const struct adj *s = &A->a[id];
	enum dtype dt = tape_dtype(A->t, id);
	struct num g = s->n <= 1 ? of_adj(s, dt) : sum_of(A, s, dt);
	if (LIKELY(!A->t->sample))
		return g;
	return sample_one(
		&g, dt, A->t->sample, id, SAMPLE_ADJOINT, (struct sample_of){s->n, s->p, A->t->lic->rule[LC_SUM][dt].flags & LF_WIDE});
}

struct num adjoint_of(const struct adjoint *A, sid id) { return finished(A, id); }

/* ---- pieces ---- */
struct pass {
	struct adjoint *A;
	const struct tape_block *b;
	struct how h;
	int p, slot;
};

static enum dtype dt_of(const struct pass *s, sid id) { return tape_dtype(s->A->t, id); }

static void convert(const struct adjoint *A, struct num *c, enum dtype dt)
{
	num_convert(c, dt, (int)(A->t->lic->rule[LC_CONVERT][dt].flags & LF_ROUND));
}

/* Sends c to one operand, converted to the operand's dtype. */
static inline void send_to(const struct pass *s, sid id, struct num c)
{
	enum dtype dt = dt_of(s, id);
	if (!dtype_is_float(dt))
		return;
	if (UNLIKELY(dt != s->h.dt))
		convert(s->A, &c, dt);
	c.dtype = (uint8_t)dt;
	send(s->A, id, &c, s->b->node * SLOTS + s->slot, s->p);
}

/* One element of a product's gradient. Where it may be added term by term to what other consumers send, an exact sum of products is so
 * only if its partial sums upon any start are: the terms' magnitudes and last bits count, not the sum's. */
static void send_product(const struct pass *s, sid id, struct terms x, struct terms y, int64_t n, struct num *buf)
{
	struct num c = sumprod_onto(&x, &y, n, s->b->param, NULL, 0, &s->h, buf);
	send_to(s, id, c);
	if (!(s->h.l->flags & LF_ONTO) || c.flags & NUM_SPECIAL)
		return;
	struct adj *to = &s->A->a[id];
	to->onto = (uint16_t)MIN(to->onto + n, UINT16_MAX);
	if (c.rad != 0)
		return;
	double scale = fabs(s->b->param), abs = 0;
	settle(to);
	for (int64_t i = 0; i < n; i++) {
		double p = terms_at(&x, i)->hi * terms_at(&y, i)->hi * scale;
		abs += fabs(p);
		to->last_bit = (int16_t)MIN(to->last_bit, p != 0 ? last_bit(p) : BIT_NONE);
	}
	s->A->onto_abs[id] += fmax(abs - fabs(c.hi), 0);
}

static struct num undecided(const struct num *g, const struct how *h)
{
	struct num z = num_exact(h->dt, 0);
	return num_either(g, &z);
}

static void add_group(const struct pass *s, const sid *e, int64_t n, const struct num *g, bool one)
{
	struct adjoint *A = s->A;
	if (A->ngroup == A->cap_group) {
		int cap = MAX(16, A->cap_group * 2);
		A->group = ARENA_GROW(A->t->arena, struct adj_group, A->group, A->cap_group, cap);
		A->cap_group = cap;
	}
	A->group[A->ngroup++] = (struct adj_group){e, n, *g, s->b->node, one};
}

/* Copies of copies inside one operator (repeat along several dims): backward may add up level by level or all at once, so what the
 * inner level added counts as that many addends here, with their last bits. */
static void merge_levels(struct adj *to, const struct adj *from, int node)
{
	if (from->n < 2 || from->consumers != 1 || (from->last - 1) / SLOTS != node)
		return;
	settle(to);
	to->n += from->n - 1;
	to->last_bit = MIN(to->last_bit, from->last_bit);
}

/* ---- maps ---- */
/* a + b, a - b, a * b: operands are of the block's dtype, so nothing is converted. */
static void pair_block(const struct pass *s, int number)
{
	const struct tape_block *b = s->b;
	const struct num *v = s->A->t->val;
	int to_a = b->node * SLOTS + number % SLOTS, to_b = b->node * SLOTS + (number + 1) % SLOTS;
	for (int64_t i = b->n - 1; i >= 0; i--) {
		struct num g = finished(s->A, b->first + (sid)i), ga = g, gb = g;
		if (b->f == SF_MUL) {
			ga = mul_of(&g, &v[b->b[i]], &s->h);
			how_only(&ga, &s->h);
			gb = mul_of(&g, &v[b->a[i]], &s->h);
			how_only(&gb, &s->h);
		} else if (b->f == SF_SUB) {
			gb = num_neg(g);
		}
		send(s->A, b->a[i], &ga, to_a, s->p);
		send(s->A, b->b[i], &gb, to_b, s->p);
	}
}

static inline void send_part(const struct pass *s, sid id, struct num *c, int slot, sid from)
{
	const struct tape_block *b = s->b;
	enum dtype dt = dt_of(s, id);
	if (!dtype_is_float(dt))
		return;
	if (b->f == SF_CAST)
		convert(s->A, c, dt);
	c->dtype = (uint8_t)dt;
	bool flushed = b->f == SF_COPY && s->h.l->flags & LF_FTZ;
	if (flushed) /* added to a zero, even if it is the only one */
		num_round(c, dt, NR_IEEE | NR_FTZ);
	send(s->A, id, c, b->node * SLOTS + slot, s->p);
	s->A->a[id].flushed |= flushed;
	if (b->f == SF_COPY)
		merge_levels(&s->A->a[id], &s->A->a[from], b->node);
}

static void map_block(const struct pass *s)
{
	const struct tape_block *b = s->b;
	const struct sf_info *f = &sf_info[b->f];
	const sid *op[3] = {b->a, b->b, b->c};
	const struct num *v = s->A->t->val;
	int number = (int)(b - s->A->t->block); /* two blocks of one operator are two steps: a + alpha * a, a tensor given twice */
	if (b->f == SF_ADD || b->f == SF_SUB || b->f == SF_MUL) {
		pair_block(s, number);
		return;
	}
	/* By chunks: what was just stored is not read at once, which would wait for the stores. */
	enum { CHUNK = 32 };
	struct num g[CHUNK], gx[CHUNK][3];
	for (int64_t end = b->n, n; end > 0; end -= n) {
		n = MIN(end, CHUNK);
		int64_t from = end - n;
		const sid *at[3] = {op[0] + from, f->arity > 1 ? op[1] + from : NULL, f->arity > 2 ? op[2] + from : NULL};
		for (int64_t i = 0; i < n; i++)
			num_put(&g[i], finished(s->A, b->first + (sid)(from + i)));
		sf_adj[b->f](gx, g, &v[b->first + from], v, at, n, &s->h);
		for (int64_t i = n - 1; i >= 0; i--)
			for (int k = 0; k < f->arity; k++)
				if (gx[i][k].flags != NUM_ABSENT)
					send_part(s, at[k][i], &gx[i][k], (number + k) % SLOTS, b->first + (sid)(from + i));
	}
}

/* ---- sums ---- */
static void adj_sum(const struct pass *s, const sid *e, int64_t n, struct num g)
{
	enum dtype dt = n ? dt_of(s, e[0]) : s->h.dt;
	if (!dtype_is_float(dt))
		return;
	if (dt != s->h.dt)
		convert(s->A, &g, dt);
	g.dtype = (uint8_t)dt;
	for (int64_t i = 0; i < n; i++)
		send(s->A, e[i], &g, s->b->node * SLOTS, s->p);
}

static void adj_sumprod(const struct pass *whole, const sid *e, int64_t n, const struct num *g)
{
	struct pass one = *whole, *s = &one;
	for (int64_t i = 0; i < n; i++) {
		s->slot = n <= 2 * SLOTS ? (int)(i / 2) : 0; /* a + alpha * b: operands */
		struct num c = num_mul(g, &s->A->t->val[e[i ^ 1]]);
		how_only(&c, &s->h);
		send_to(s, e[i], c);
	}
}

static double finite_mag(const struct num *x) { return x->flags & NUM_NOFIN ? 0 : num_mag(x); }

/* ---- products: g * (product of the others); forms: g * result / x, and products of the others where x is 0 ---- */
/* What is known of a list before its entries' gradients are formed. */
struct factors {
	int64_t n, maybe_zeros;
	double big, small, log2;
	bool special, negative;
}; /* log2: of the product from below, if that is big */

static struct factors factors_of(const struct tape *t, const sid *e, int64_t n)
{
	struct factors f = {.n = n, .big = 1, .small = 1};
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		double m = fabs(x->hi);
		f.special = f.special || x->flags & NUM_SPECIAL;
		if (x->flags & NUM_NOFIN)
			continue;
		f.big *= fmax(m, 1);
		f.small *= m > 0 ? fmin(m, 1) : 1;
		f.maybe_zeros += m <= x->rad;
		f.negative ^= x->hi < 0;
	}
	for (int64_t i = 0; i < n && isinf(f.big) && !f.special && f.maybe_zeros == 0; i++)
		f.log2 += log2(fabs(t->val[e[i]].hi) - t->val[e[i]].rad);
	return f;
}

/* Is the sign of every product of these factors with g known, and none underflows? 0: no. */
static int share_sign(const struct pass *s, const struct num *g, const struct num *x, const struct factors *f)
{
	if (f->special || f->maybe_zeros || f->small < num_format[s->h.dt].normal * 4 || g->flags & (NUM_SPECIAL | NUM_UNDEC)
		|| fabs(g->hi) <= g->rad)
		return 0;
	return f->negative ^ (x->hi < 0) ^ (g->hi < 0) ? -1 : 1;
}

/* A share beyond double: infinity in every form. */
static bool share_overflows(struct num *c, const struct pass *s, const struct num *g, const struct num *x, const struct factors *f)
{
	int sign = share_sign(s, g, x, f);
	if (!sign || !isinf(f->big) || num_format[s->h.dt].p < num_format[DT_F32].p)
		return false;
	if (f->log2 - log2(num_mag(x)) + fmin(log2(fabs(g->hi) - g->rad), 0) < 1024 + 1 + (double)f->n * 0x1p-20)
		return false;
	*c = num_exact(s->h.dt, sign > 0 ? INFINITY : -INFINITY);
	return true;
}

/* Roundings of the finite part of c, whichever form made it. */
static void round_share(
	const struct pass *s, struct num *c, const struct num *g, const struct num *y, const struct num *x, const struct factors *f)
{
	const struct num_format *own = &num_format[s->h.dt];
	int sign = share_sign(s, g, x, f);
	double rel = (double)(f->n + 3) * num_format[s->h.l->acc].u + 3 * own->u, mag = finite_mag(c), m = finite_mag(x);
	double gy = finite_mag(g) * finite_mag(y);
	num_widen(c, mag * rel);
	if (gy >= own->overflow) /* g * result comes first */
		c->flags |= sign > 0 ? NUM_PINF : sign < 0 ? NUM_NINF : NUM_INF;
	if (gy < own->normal * 2 && m > 0)
		num_widen(c, 2 * own->tiny / m);
	if (f->small < own->normal * 4) /* the result or a partial product underflows */
		num_widen(c, mag + finite_mag(g) * own->tiny * f->big * (double)f->n);
	how_last(c, &s->h);
}

/* Infinities or NaN among the entries: g * the product of the others, or g * (result / x), or 0 where there are two zeros and no dim was
 * given. (Which of them PyTorch takes depends on other rows, too, and scatter_reduce has its own mixture.) */
static struct num prod_special(
	const struct pass *s, const struct num *g, const struct num *y, const struct num *x, const struct num *others, const struct factors *f)
{
	struct num c = num_mul(g, others), q = num_div(y, x), none = num_exact(DT_F64, 0);
	if (!num_is_exact(x) || x->hi != 0) {
		q = num_mul(g, &q);
		c = num_hull(&c, &q);
	}
	if (f->maybe_zeros > 1)
		c = num_hull(&none, &c);
	c.dtype = (uint8_t)s->h.dt;
	if (!(c.flags & (NUM_NOFIN | NUM_ANY)))
		round_share(s, &c, g, y, x, f);
	if (f->big >= num_format[s->h.dt].overflow || f->small < num_format[s->h.dt].normal * 4)
		c.flags |= NUM_INF | NUM_NAN; /* partial products of the finite ones: infinity, or 0 times infinity */
	return c;
}

static struct num prod_finite(
	const struct pass *s, const struct num *g, const struct num *y, const struct num *x, const struct num *others, const struct factors *f)
{
	const struct num_format *own = &num_format[s->h.dt];
	struct num c = num_mul(g, others), none = num_exact(DT_F64, 0);
	int sign = share_sign(s, g, x, f);
	if (c.flags & NUM_NAN && f->maybe_zeros > 1)
		c = num_hull(&none, &c); /* two zeros: PyTorch answers 0 and does not look at g */
	c.dtype = (uint8_t)s->h.dt;
	if (!num_is_exact(&c) || c.hi != 0)
		round_share(s, &c, g, y, x, f);
	if (g->flags & NUM_INF && f->small < own->normal * 4)
		c.flags |= NUM_INF | NUM_NAN;
	if (f->big >= own->overflow || f->big >= num_format[s->h.l->acc].overflow) {
		/* the result or a partial product overflows: g * inf / x, 0 * inf */
		c.flags |= sign > 0 ? NUM_PINF : sign < 0 ? NUM_NINF : NUM_INF | NUM_NAN;
	}
	return c;
}

static void adj_prod(const struct pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y)
{
	struct tape *t = s->A->t;
	struct arena_mark m = arena_mark(t->arena);
	struct num *pre = ARENA_NEW(t->arena, struct num, n + 1), suf = num_exact(DT_F64, 1);
	struct factors f = factors_of(t, e, n);
	pre[0] = num_exact(DT_F64, 1);
	for (int64_t i = 0; i < n; i++)
		pre[i + 1] = num_mul(&pre[i], &t->val[e[i]]);
	for (int64_t i = n - 1; i >= 0; i--) {
		const struct num *x = &t->val[e[i]];
		struct num others = num_mul(&pre[i], &suf), c;
		suf = num_mul(&suf, x);
		if (share_overflows(&c, s, g, x, &f))
			;
		else if (y->flags & NUM_ANY)
			c = num_any(s->h.dt);
		else
			c = f.special ? prod_special(s, g, y, x, &others, &f) : prod_finite(s, g, y, x, &others, &f);
		send_to(s, e[i], c);
	}
	arena_release(t->arena, m);
}

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
static struct num share_of(const struct pass *s, const struct num *g, int64_t count)
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

static void adj_extreme(const struct pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y)
{
	struct tape *t = s->A->t;
	struct num open = undecided(g, &s->h), zero = num_exact(s->h.dt, 0), part = *g;
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
	bool group = false;
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
		group = true;
	}
	for (int64_t i = 0; i < n; i++)
		send_to(s, e[i], cand[i] ? part : zero);
	arena_release(t->arena, m);
	if (group) /* after the release: groups outlive it */
		add_group(s, e, n, g, false);
}

/* The candidates among the entries, in their order. */
static const sid *candidates(const struct pass *s, const sid *e, int64_t n, const bool *cand, int64_t count)
{
	sid *some = ARENA_NEW(s->A->t->arena, sid, count);
	for (int64_t i = 0, k = 0; i < n; i++)
		if (cand[i])
			some[k++] = e[i];
	return some;
}

/* One entry gets g: the first of equals, if the rule says so (PICK_FIRST). */
static void adj_picked(const struct pass *s, const sid *e, int64_t n, const struct num *g)
{
	struct tape *t = s->A->t;
	struct num zero = num_exact(s->h.dt, 0), part = *g;
	bool *cand = xmalloc((size_t)n + 1); /* not of the arena: groups outlive it */
	int64_t count = n, first = -1;
	if (s->b->f == SF_ONEOF)
		memset(cand, 1, (size_t)n * sizeof *cand);
	else
		count = pick_candidates(t, s->b, e, n, cand);
	if (count > 1 && s->b->param == PICK_FIRST)
		first = pick_first(t, e, n, cand);
	bool group = count > 1 && first < 0;
	if (group)
		part = undecided(g, &s->h);
	for (int64_t i = 0; i < n; i++)
		send_to(s, e[i], first < 0 ? cand[i] ? part : zero : i == first ? part : zero);
	if (group)
		add_group(s, candidates(s, e, n, cand, count), count, g, true);
	free(cand);
}

/* ---- var: g * 2/(n - c) * (x - mean), the mean recomputed and rounded to the dtype ---- */
/* The mean as the derivative has it. special: entries may be infinite or NaN, and their mean then, too; its finite part is rounded as
 * any. */
static struct num mean_again(const struct pass *s, const sid *e, int64_t n, bool special)
{
	const struct how *h = &s->h;
	struct num mean = num_exact(DT_F64, 0), k = num_exact(DT_F64, (double)n);
	for (int64_t i = 0; special && i < n; i++)
		mean = num_add(&mean, &s->A->t->val[e[i]]);
	if (special)
		mean = num_div(&mean, &k);
	if (mean.flags & (NUM_NOFIN | NUM_ANY))
		return mean;
	struct var_parts p = var_mean_of(s->A->t, e, n, h);
	double rounded = 2 * num_half_ulp(&num_format[h->l->flags & LF_STEPS ? h->dt : h->l->compute], fabs(p.mean.hi) + p.mean_rad);
	if (var_of_one(s->A->t, e, n, h))
		rounded = 0;
	return (struct num){.hi = p.mean.hi, .lo = p.mean.lo, .rad = p.mean_rad + rounded, .dtype = DT_F64, .flags = mean.flags};
}

/* Of a whole tensor with n <= c: g * NaN where x equals the mean, g * infinity elsewhere (FunctionsManual.cpp, var_backward). */
static struct num no_freedom(const struct num *x, const struct num *mean, bool one, const struct num *g, const struct how *h)
{
	int eq = one && !(x->flags & NUM_SPECIAL) ? 1 : num_eq(x, mean);
	struct num f = num_exact(DT_F64, eq == 1 ? NAN : INFINITY);
	if (eq < 0)
		f.flags |= NUM_NAN;
	f = num_mul(g, &f);
	f.dtype = (uint8_t)h->dt;
	return f;
}

static void adj_var(const struct pass *s, const sid *e, int64_t n, const struct num *g)
{
	struct tape *t = s->A->t;
	const struct how *h = &s->h;
	double k = (double)n, dof = k - s->b->param, top = 0;
	const struct num_format *f = &num_format[h->dt];
	bool special = false, one = var_of_one(t, e, n, h);
	for (int64_t i = 0; i < n; i++) {
		special = special || t->val[e[i]].flags & NUM_SPECIAL;
		top = fmax(top, finite_mag(&t->val[e[i]]));
	}
	/* The mean, a difference or a partial product overflows, as the order has it. */
	bool over = top * k >= f->overflow || 2 * num_mag(g) >= f->overflow || 2 * top >= f->overflow || 4 * top * num_mag(g) >= f->overflow
		|| (dof != 0 && 2 / fabs(dof) * num_mag(g) >= f->overflow);
	struct num mean = mean_again(s, e, n, special), two = num_exact(DT_F64, 2), d = num_exact(DT_F64, dof), gs;
	if (dof == 0) {
		two = num_exact(DT_F64, INFINITY); /* 2 / 0, times g */
		gs = num_mul(&two, g);
	} else {
		struct num scale = num_scale(*g, 2);
		gs = num_div(&scale, &d);
	}
	gs.dtype = (uint8_t)h->dt;
	how_step(&gs, h);
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		struct num c, zero = num_exact(DT_F64, 0), diff = one && !(x->flags & NUM_SPECIAL) ? zero : num_sub(x, &mean);
		if (s->b->f == SF_VARALL && dof <= 0) {
			c = no_freedom(x, &mean, one, g, h);
		} else {
			diff.dtype = (uint8_t)h->dt;
			how_step(&diff, h);
			c = num_mul(&gs, &diff);
			how_last(&c, h);
		}
		if (over)
			c.flags |= NUM_INF | NUM_NAN;
		send_to(s, e[i], c);
	}
}

/* ---- logsumexp: g * exp(x - y), y as rounded ---- */
static void adj_lse(const struct pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y)
{
	for (int64_t i = 0; i < n; i++) {
		struct num d = num_sub(&s->A->t->val[e[i]], y);
		how_step(&d, &s->h);
		struct num w = num_exp_of(&d, &s->h);
		w.dtype = (uint8_t)s->h.dt;
		if (!num_is_exact(&w) && !(w.flags & NUM_NOFIN))
			num_widen(&w, s->h.l->ulp * how_ulp(&s->h, num_mag(&w)));
		how_step(&w, &s->h);
		struct num c = num_mul(g, &w);
		how_last(&c, &s->h);
		send_to(s, e[i], c);
	}
}

/* ---- scans ---- */
/* cumsum(x, dtype=wider): PyTorch converts the cotangent to x's dtype first and scans there. */
static void widen_narrow_scan(const struct pass *s, struct num *out, const struct num *in)
{
	const struct tape *t = s->A->t;
	const struct tape_block *b = s->b, *before = b - 1;
	if (b == t->block || before->f != SF_CAST || before->node != b->node || before->n == 0)
		return;
	enum dtype from = tape_dtype(t, before->a[0]);
	if (!dtype_is_float(from) || num_format[from].p >= num_format[b->dt].p)
		return;
	double abs = 0;
	for (int64_t i = 0; i < b->len; i++) {
		abs += num_mag(&in[i]);
		num_widen(&out[i], ((double)i + 2) * (num_format[from].u * abs + num_format[from].tiny));
		if (abs >= num_format[from].overflow)
			either_infinity(&out[i]);
	}
}

static void adj_cumsum(const struct pass *s)
{
	const struct tape_block *b = s->b;
	struct tape *t = s->A->t;
	struct arena_mark m = arena_mark(t->arena);
	struct num *in = ARENA_NEW(t->arena, struct num, b->len + 1), *out = ARENA_NEW(t->arena, struct num, b->len + 1);
	for (int64_t row = 0; b->len && row < b->n / b->len; row++) {
		for (int64_t i = 0; i < b->len; i++)
			in[i] = finished(s->A, b->first + (sid)(row * b->len + b->len - 1 - i));
		cumsum_row(out, in, b->len, &s->h);
		widen_narrow_scan(s, out, in);
		for (int64_t i = 0; i < b->len; i++)
			send_to(s, b->a[row * b->len + b->len - 1 - i], out[i]);
	}
	arena_release(t->arena, m);
}

/* Infinities, NaN or overflow on the way of a scan's derivative: what the sum comes to, or its terms before the next zero (what follows
 * is not looked at), or 0 (behind the first zero), infinity or NaN. */
static void leave_open(struct num *sum, const struct num *before_zero, const struct how *h)
{
	struct num none = num_exact(DT_F64, 0);
	*sum = num_hull(sum, before_zero);
	*sum = num_hull(sum, &none);
	sum->dtype = (uint8_t)h->dt;
	sum->flags |= NUM_INF | NUM_NAN | NUM_UNDEC;
}

/* The sign of all terms of gx_j, if no form can make NaN of them: none is 0, none underflows. 0: not known. `beyond`: one of them, and so
 * their sum, overflows in every form. */
static int scan_sign(const struct pass *s, const sid *e, const struct num *g, int64_t len, int64_t j, const struct factors *f, bool *beyond)
{
	const struct num *v = s->A->t->val;
	const struct num_format *own = &num_format[s->h.dt];
	double size = 0, limit = (own->p == 53 ? 1024 : log2(own->overflow)) + 1 + (double)len * 0x1p-20;
	bool negative = false;
	int sign = 0;
	*beyond = false;
	if (f->special || f->maybe_zeros || f->small < own->normal * 4 || own->p < num_format[DT_F32].p)
		return 0;
	for (int64_t k = 0; k < len; k++) {
		if (k != j) {
			negative ^= v[e[k]].hi < 0;
			size += log2(fabs(v[e[k]].hi) - v[e[k]].rad);
		}
		if (k < j)
			continue;
		if (g[k].flags & (NUM_SPECIAL | NUM_UNDEC) || fabs(g[k].hi) - g[k].rad < own->normal)
			return 0;
		int now = negative ^ (g[k].hi < 0) ? -1 : 1;
		if (sign == -now)
			return 0;
		sign = now;
		*beyond = *beyond || size + fmin(log2(fabs(g[k].hi) - g[k].rad), 0) > limit;
	}
	return sign;
}

/* Overflow on the way. */
static void scan_overflows(const struct pass *s, struct num *sum, const struct num *before_zero, int sign, bool beyond)
{
	if (sign && beyond)
		*sum = num_exact(s->h.dt, sign > 0 ? INFINITY : -INFINITY);
	else if (sign && !(sum->flags & NUM_SPECIAL))
		sum->flags |= (sign > 0 ? NUM_PINF : NUM_NINF) | NUM_UNDEC;
	else
		leave_open(sum, before_zero, &s->h);
}

/* An entry that is NaN is a factor of the last term of every other entry's gradient, and where no entry is 0 no form leaves that out. */
static int64_t only_nan_of(const struct tape *t, const sid *e, int64_t len, int64_t *count)
{
	int64_t at = -1;
	*count = 0;
	for (int64_t i = 0; i < len; i++)
		if (sure_nan(&t->val[e[i]])) {
			++*count;
			at = i;
		}
	return at;
}

/* gx_j = sum over k >= j of g_k * product of x_i, i <= k, i != j. Forms (cumprod_backward, FunctionsManual.cpp), operators of the
 * dtype: reverse cumsum(g * y) / x; at the first zero of a row sum(g * cumprod(what follows it)) * y before it: `later` is what that
 * sum may come to before y, however small, scales it. */
static void adj_cumprod_row(const struct pass *s, const sid *e, const struct num *g, int64_t len)
{
	const struct num *v = s->A->t->val;
	const struct num_format *own = &num_format[s->h.dt];
	struct num pre = num_exact(DT_F64, 1);
	double rel = ((double)len * 2 + 4) * own->u, gsum = 0;
	for (int64_t i = 0; i < len; i++)
		gsum += finite_mag(&g[i]);
	struct factors f = factors_of(s->A->t, e, len);
	bool lost = f.small < own->normal * 4;                            /* prefixes underflow */
	bool scaled_late = s->h.l->flags & LF_STEPS || s->h.dt == DT_F64; /* `later` is formed in the dtype, or in nothing wider than it */
	bool special = f.special || f.big >= own->overflow;               /* or overflow, and 0 * inf may follow */
	int64_t nans = 0, nan_at = f.special && f.maybe_zeros == 0 ? only_nan_of(s->A->t, e, len, &nans) : -1;
	for (int64_t j = 0; j < len; j++) {
		const struct num *x = &v[e[j]];
		struct num run = pre, sum = num_mul(&g[j], &run), before_zero = sum;
		bool zero = false, beyond = false;
		double abs = finite_mag(&sum), after = 1, later = finite_mag(&g[j]);
		bool first_zero = scaled_late && fabs(x->hi) <= x->rad && !(num_is_exact(&pre) && pre.hi == 0);
		for (int64_t k = j + 1; k < len; k++) {
			run = num_mul(&run, &v[e[k]]);
			struct num c = num_mul(&g[k], &run);
			abs += finite_mag(&c);
			after *= finite_mag(&v[e[k]]);
			later += finite_mag(&g[k]) * after;
			sum = num_add(&sum, &c);
			zero = zero || fabs(v[e[k]].hi) <= v[e[k]].rad;
			if (!zero)
				before_zero = num_add(&before_zero, &c);
		}
		pre = num_mul(&pre, x);
		sum.dtype = (uint8_t)s->h.dt;
		int sign = special ? scan_sign(s, e, g, len, j, &f, &beyond) : 0;
		/* The formula's sum of g * result comes before the division by x. */
		if (special || sum.flags & NUM_SPECIAL || abs * fmax(1, finite_mag(x)) >= own->overflow)
			scan_overflows(s, &sum, &before_zero, sign, beyond);
		if (nans > 1 || (nans == 1 && nan_at != j))
			sum = num_exact(s->h.dt, NAN);
		if (abs != 0 && !(sum.flags & (NUM_NOFIN | NUM_ANY))) {
			double low = fabs(x->hi) - x->rad;
			num_widen(&sum, abs * rel + (double)len * own->tiny * (1 + f.big));
			if (x->hi != 0 || x->rad != 0) /* y and terms g * y that underflow, divided by an x that is at least the tiniest */
				num_widen(&sum, (double)len * own->tiny * (1 + gsum) / fmax(low, own->tiny));
			if (lost)
				num_widen(&sum, abs + gsum * own->tiny * f.big * (double)len);
			how_last(&sum, &s->h);
			if (first_zero && later * (1 + rel) >= own->overflow)
				sum.flags |= NUM_INF | NUM_NAN;
		}
		send_to(s, e[j], sum);
	}
}

static void adj_cumprod(const struct pass *s)
{
	const struct tape_block *b = s->b;
	struct arena_mark m = arena_mark(s->A->t->arena);
	struct num *g = ARENA_NEW(s->A->t->arena, struct num, b->len + 1);
	for (int64_t row = 0; b->len && row < b->n / b->len; row++) {
		for (int64_t i = 0; i < b->len; i++)
			g[i] = finished(s->A, b->first + (sid)(row * b->len + i));
		adj_cumprod_row(s, b->a + row * b->len, g, b->len);
	}
	arena_release(s->A->t->arena, m);
}

/* ---- matrix products: two more matrix products ---- */
static void adj_matmul(struct pass *s)
{
	const struct tape_block *b = s->b;
	struct tape *t = s->A->t;
	int64_t m = b->dim[1], n = b->dim[2], k = b->len;
	if (!s->A->onto_abs && s->h.l->flags & LF_ONTO)
		s->A->onto_abs = ARENA_ZNEW(t->arena, double, t->nscalar);
	struct arena_mark mark = arena_mark(t->arena);
	struct num *g = ARENA_NEW(t->arena, struct num, m * n + 1), *buf = ARENA_NEW(t->arena, struct num, 2 * (MAX(m, n) + 1));
	for (int64_t z = 0; z < b->dim[0]; z++) {
		const sid *ea = b->a + z * m * k, *eb = b->b + z * k * n;
		for (int64_t i = 0; i < m * n; i++)
			g[i] = finished(s->A, b->first + (sid)(z * m * n + i));
		s->slot = 0;
		for (int64_t i = 0; i < m; i++)
			for (int64_t x = 0; x < k; x++)
				send_product(s, ea[i * k + x], (struct terms){g + i * n, NULL, 1}, (struct terms){t->val, eb + x * n, 1}, n, buf);
		s->slot = 1;
		for (int64_t x = 0; x < k; x++)
			for (int64_t j = 0; j < n; j++)
				send_product(s, eb[x * n + j], (struct terms){g + j, NULL, n}, (struct terms){t->val, ea + x, k}, m, buf);
		struct num beta = num_exact(b->dt, b->beta);
		s->slot = 2;
		for (int64_t i = 0; b->c && i < m * n; i++) {
			if (b->beta != 1) {
				g[i] = num_mul(&g[i], &beta);
				how_only(&g[i], &s->h);
			}
			send_to(s, b->c[i], g[i]);
		}
	}
	arena_release(t->arena, mark);
}

/* ---- lists ---- */
static void list_block(const struct pass *s)
{
	const struct tape_block *b = s->b;
	for (int64_t i = b->n - 1; i >= 0; i--) {
		int64_t n;
		const sid *e = block_list(b, i, &n);
		struct num g = finished(s->A, b->first + (sid)i);
		const struct num *y = &s->A->t->val[b->first + i];
		switch (b->f) {
		case SF_SUM: adj_sum(s, e, n, g); break;
		case SF_SUMPROD: adj_sumprod(s, e, n, &g); break;
		case SF_PROD: adj_prod(s, e, n, &g, y); break;
		case SF_MAXN:
		case SF_MINN: adj_extreme(s, e, n, &g, y); break;
		case SF_KMAX:
		case SF_KMIN:
		case SF_ONEOF: adj_picked(s, e, n, &g); break;
		case SF_VAR:
		case SF_VARALL: adj_var(s, e, n, &g); break;
		case SF_LSE: adj_lse(s, e, n, &g, y); break;
		default: return;
		}
	}
}

void adjoint_run(struct adjoint *A, const uint32_t *path)
{
	const struct tape *t = A->t;
	for (int i = t->nblock - 1; i >= 0; i--) {
		const struct tape_block *b = &t->block[i];
		int arity = sf_info[b->f].arity;
		if (b->node < 0 || !(b->result == TAPE_EVERY ? path[b->node] : path[b->node] >> b->result & 1) || !dtype_is_float(b->dt)
			|| arity == 0)
			continue;
		struct pass s = {A, b, block_how(t, b), 0, 0};
		s.h.constant_b = b->f == SF_DIV && b->param != 0;
		s.p = num_format[s.h.l->acc].p;
		if (arity > 0)
			map_block(&s);
		else if (b->f == SF_CUMSUM)
			adj_cumsum(&s);
		else if (b->f == SF_CUMPROD)
			adj_cumprod(&s);
		else if (b->f == SF_MATMUL)
			adj_matmul(&s);
		else
			list_block(&s);
	}
}
