/* adjoint.c: blocks in reverse; each scalar's finished adjoint is sent on to its operands. Products and scans: adjoint_product.c; extremes:
 * adjoint_extreme.c. */
#include "oracle/tape/adjoint_impl.h"
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
	return (struct num){.hi = s->hi, .lo = s->flags & NUM_NOFIN ? 0 : s->lo, .rad = s->rad, .dtype = (uint8_t)dt, .flags = s->flags};
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

static double down_mag(const struct num *a)
{
	struct num low = num_down(a);
	return num_mag(&low);
}

/* The sum or its magnitude leaves double: from now on all four numbers are times 2^-1100 (NUM_BEYOND, here without k). */
static void add_beyond(struct adj *s, const struct num *c)
{
	struct num now = of_adj(s, DT_F64), size = {.hi = s->abs}, sum;
	if (s->flags & NUM_BEYOND)
		now = num_scaled(DT_F64, num_dd(&now), now.rad, 1100, s->flags & (NUM_INF | NUM_NAN | NUM_UNDEC));
	sum = num_add(&now, c);
	int up = 64 * num_beyond_k(&sum) - 1100;
	if (s->n == 1)
		size = now;
	if (!(s->flags & NUM_BEYOND))
		s->abs = down_mag(&size);
	s->abs += down_mag(c);
	s->flags = (uint8_t)(sum.flags & (NUM_INF | NUM_NAN | NUM_UNDEC));
	if (num_unknown(&sum) || sum.flags & NUM_NOFIN) {
		s->flags = (uint8_t)(sum.flags & ~(NUM_MOVED | NUM_BEYOND));
		s->abs = INFINITY; /* the finite ones may overflow first */
		up = 0;
	} else {
		s->flags |= NUM_ANY | NUM_BEYOND;
	}
	s->hi = ldexp(sum.hi, up);
	s->lo = ldexp(sum.lo, up);
	s->rad = ldexp(sum.rad, up);
}

static void add_special(struct adj *s, const struct num *c, double size)
{
	double finite = (s->flags & NUM_NOFIN ? s->lo : s->hi) + (c->flags & NUM_NOFIN ? 0 : c->hi);
	struct num now = of_adj(s, (enum dtype)c->dtype), sum;
	if (s->n == 0)
		sum = *c;
	else
		sum = num_add(&now, c);
	if (UNLIKELY(num_beyond_k(&sum))) {
		add_beyond(s, c);
		return;
	}
	s->hi = sum.hi;
	s->lo = sum.flags & NUM_NOFIN ? finite : sum.lo;
	s->rad = sum.rad;
	s->flags = (uint8_t)(sum.flags & ~NUM_MOVED);
	s->abs += size;
}

/* Adds c, whose magnitude is `size`. */
static void add_to(struct adj *s, const struct num *c, double size)
{
	if (UNLIKELY((c->flags | s->flags) & NUM_SPECIAL)) {
		if (s->flags & NUM_BEYOND)
			add_beyond(s, c);
		else
			add_special(s, c, size);
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
		s->flags = (uint8_t)(c->flags & ~(NUM_MOVED | NUM_BEYOND));
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
	if (!isfinite(abs)) /* beyond double: what the terms of either sign add up to is not known */
		return (struct num_reach){INFINITY, INFINITY};
	return (struct num_reach){fmax(abs / 2 + sum / 2 + more, 0), fmax(abs / 2 - sum / 2 + more, 0)};
}

static struct num huge_sum_of(const struct adj *s, enum dtype dt, int part, int nr)
{
	if (dt != DT_F64 || s->onto)
		return num_any(dt);
	struct sum_parts by = parts_of(s, dt, part);
	bool single = s->n == 2 && s->rad == 0;
	struct num_reach reach = reach_of(s, s->hi, s->abs);
	struct num r = num_huge_sum((struct dd){s->hi, s->lo}, &reach, s->rad, single ? 0 : (by.within + by.across) * (1 + 0x1p-30), nr);
	r.flags |= s->flags & (NUM_INF | NUM_NAN | NUM_UNDEC);
	r.flags |= (r.flags & NUM_INF) == NUM_INF ? NUM_NAN : 0; /* both, one after the other */
	return r;
}

/* Finite terms of either sign may overflow first. */
void adj_either_infinity(struct num *v)
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
	int part = MIN(s->p, num_format[dtype_compute(dt)].p), p = s->consumers > 1 || s->levels > 1 ? MIN(part, own->p) : part;
	if (s->flags & NUM_BEYOND)
		return huge_sum_of(s, dt, part, (int)(l->flags & LF_ROUND));
	if (g.flags & (NUM_NOFIN | NUM_ANY)) {
		struct sum_parts by = parts_of(s, dt, part);
		struct num_reach reach = reach_of(s, g.flags & NUM_ANY ? 0 : s->lo, abs);
		if (abs >= own->overflow && s->onto)
			adj_either_infinity(&g);
		else if (abs >= own->overflow) /* the finite ones may overflow first */
			num_reach_overflow(&g, &reach, by.within + by.across + 0x1p-50, own->overflow, true);
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

static enum dtype pass_dtype(const struct adjoint_pass *s, sid id) { return tape_dtype(s->A->t, id); }

static void convert(const struct adjoint *A, struct num *c, enum dtype dt)
{
	num_convert(c, dt, (int)(A->t->lic->rule[LC_CONVERT][dt].flags & LF_ROUND));
}

/* Sends c to one operand, converted to the operand's dtype. */
static inline void send_to(const struct adjoint_pass *s, sid id, struct num c)
{
	enum dtype dt = pass_dtype(s, id);
	if (!dtype_is_float(dt))
		return;
	if (UNLIKELY(dt != s->h.dt))
		convert(s->A, &c, dt);
	c.dtype = (uint8_t)dt;
	send(s->A, id, &c, s->b->node * SLOTS + s->slot, s->p);
}

void adj_send(const struct adjoint_pass *s, sid id, struct num c) { send_to(s, id, c); }
struct num adj_finished(const struct adjoint_pass *s, int64_t k) { return finished(s->A, s->b->first + (sid)k); }

/* One element of a product's gradient. Where it may be added term by term to what other consumers send, an exact sum of products is so
 * only if its partial sums upon any start are: the terms' magnitudes and last bits count, not the sum's. */
static void send_product(const struct adjoint_pass *s, sid id, struct terms x, struct terms y, int64_t n, struct num *buf)
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

struct num adj_undecided(const struct num *g, const struct how *h)
{
	struct num z = num_exact(h->dt, 0);
	return num_either(g, &z);
}

void adj_add_group(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, bool tied)
{
	struct adjoint *A = s->A;
	if (A->ngroup == A->cap_group) {
		int cap = MAX(16, A->cap_group * 2);
		A->group = ARENA_GROW(A->t->arena, struct adj_group, A->group, A->cap_group, cap);
		A->cap_group = cap;
	}
	A->group[A->ngroup++] = (struct adj_group){e, n, *g, s->b->node, tied};
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
static void pair_block(const struct adjoint_pass *s, int number)
{
	const struct tape_block *b = s->b;
	const struct num *v = s->A->t->val;
	int to_a = b->node * SLOTS + number % SLOTS, to_b = b->node * SLOTS + (number + 1) % SLOTS;
	for (int64_t i = b->n - 1; i >= 0; i--) {
		struct num g = finished(s->A, b->first + (sid)i), ga = g, gb = g;
		if (b->f == SF_MUL) {
			ga = num_mul(&g, &v[b->b[i]]);
			how_only(&ga, &s->h);
			gb = num_mul(&g, &v[b->a[i]]);
			how_only(&gb, &s->h);
		} else if (b->f == SF_SUB) {
			gb = num_neg(g);
		}
		send(s->A, b->a[i], &ga, to_a, s->p);
		send(s->A, b->b[i], &gb, to_b, s->p);
	}
}

static inline void send_part(const struct adjoint_pass *s, sid id, struct num *c, int slot, sid from)
{
	const struct tape_block *b = s->b;
	enum dtype dt = pass_dtype(s, id);
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

static void map_block(const struct adjoint_pass *s)
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
static void adj_sum(const struct adjoint_pass *s, const sid *e, int64_t n, struct num g)
{
	enum dtype dt = n ? pass_dtype(s, e[0]) : s->h.dt;
	if (!dtype_is_float(dt))
		return;
	if (dt != s->h.dt)
		convert(s->A, &g, dt);
	g.dtype = (uint8_t)dt;
	bool onto = s->b->param == SUM_ONTO;
	for (int64_t i = 0; i < n; i++)
		send(s->A, e[i], &g, s->b->node * SLOTS + (onto && i == 0), s->p);
}

static void adj_sumprod(const struct adjoint_pass *whole, const sid *e, int64_t n, const struct num *g)
{
	struct adjoint_pass one = *whole, *s = &one;
	for (int64_t i = 0; i < n; i++) {
		s->slot = n <= 2 * SLOTS ? (int)(i / 2) : i >= 2; /* a + alpha * b: operands; self + alpha * each of many */
		struct num c = num_mul(g, &s->A->t->val[e[i ^ 1]]);
		how_only(&c, &s->h);
		send_to(s, e[i], c);
	}
}

/* ---- var: g * 2/(n - c) * (x - mean), the mean recomputed and rounded to the dtype ---- */
/* The mean as the derivative has it. special: entries may be infinite or NaN, and their mean then, too; its finite part is rounded as
 * any. */
static struct num mean_again(const struct adjoint_pass *s, const sid *e, int64_t n, bool special)
{
	const struct how *h = &s->h;
	struct num mean = num_exact(DT_F64, 0), k = num_exact(DT_F64, (double)n);
	for (int64_t i = 0; special && i < n; i++)
		mean = num_add(&mean, &s->A->t->val[e[i]]);
	if (special)
		mean = num_div(&mean, &k);
	if (mean.flags & (NUM_NOFIN | NUM_ANY))
		return mean;
	struct var_parts p = var_mean_of(s->A->t->val, e, n, h);
	double rounded = 2 * num_half_ulp(&num_format[h->l->flags & LF_STEPS ? h->dt : h->l->compute], fabs(p.mean.hi) + p.mean_rad);
	if (var_of_one(s->A->t->val, e, n, h))
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

static void adj_var(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g)
{
	struct tape *t = s->A->t;
	const struct how *h = &s->h;
	double k = (double)n, dof = k - s->b->param, top = 0;
	const struct num_format *f = &num_format[h->dt];
	bool special = false, one = var_of_one(t->val, e, n, h);
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
			adj_either_infinity(&c);
		send_to(s, e[i], c);
	}
}

/* ---- logsumexp: g * exp(x - y), y as rounded ---- */
static void adj_lse(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y)
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

/* ---- matrix products: two more matrix products ---- */
static void adj_matmul(struct adjoint_pass *s)
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
			send_to(s, b->c[z * m * n + i], g[i]);
		}
	}
	arena_release(t->arena, mark);
}

/* ---- lists ---- */
static void list_block(const struct adjoint_pass *s)
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
		struct adjoint_pass s = {A, b, block_how(t, b), 0, 0};
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
		else if (b->f == SF_SUMPROD && sumprod_is_slides(b->param))
			adj_slides(&s);
		else if (arity < SF_ROWS)
			adj_rows(&s);
		else
			list_block(&s);
	}
}
