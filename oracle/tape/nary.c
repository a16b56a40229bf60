/* nary.c: values of lists: sums and matrix products here, the others in nary_*.c (nary_impl.h).
 * One idea: the sum of n terms in ANY order and tree, with or without FMA, in a type of unit u differs from the exact sum of its
 * terms by at most (n - 1) u sum|terms| (Jeannerod and Rump 2013: no restriction on n u), and not at all if all terms are
 * multiples of one quantum and sum|terms| fits the significand. Formats below f64 are summed in plain double: 2^-53 n is far
 * below their unit, and is added to the radius unless the sum is exact. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/nary_impl.h"

struct num sum_finish(struct dd c, const struct sum_bounds *s, double n_roundings, bool single, const struct how *h)
{
	struct num r = {.hi = c.hi, .lo = c.lo, .rad = s->rad, .dtype = (uint8_t)h->dt, .flags = (uint8_t)(s->flags & NUM_UNDEC)};
	const struct num_format *acc = &num_format[h->l->acc];
	if (!isfinite(c.hi) || !isfinite(s->abs) || !isfinite(s->rad))
		return num_any(h->dt);
	if (!s->exact && !single)
		r.rad += n_roundings * acc->u * s->abs * (1 + 0x1p-40);
	int nr = (int)(h->l->flags & LF_ROUND);
	if (!s->exact && !single) {
		nr &= ~LF_IEEE;
		if (r.rad == 0 && s->abs != 0)
			r.rad = s->abs * 0x1p-1000;
	}
	num_round(&r, h->dt, nr);
	return r;
}

/* Some order of adding n terms may overflow on the way. */
void sum_reach_overflow(struct num *r, const struct num_reach *s, int64_t n, const struct num_format *f, bool sure)
{
	num_reach_overflow(r, s, (double)n * (f->u + 0x1p-52), fmin(f->overflow, DBL_MAX), sure);
}

static void partial_overflow(struct num *r, const struct num *v, const sid *e, int64_t n, const struct how *h)
{
	struct num_reach s = {0};
	for (int64_t i = 0; i < n; i++)
		num_reach_add(&s, &v[e[i]]);
	sum_reach_overflow(r, &s, n, &num_format[h->l->acc], false);
}

/* A running mean's step x - mean overflows where the entries lie so far apart; infinity is then subtracted from infinity. */
static void spread_overflow(struct num *r, const struct num *v, const sid *e, int64_t n, const struct how *h)
{
	double low = INFINITY, high = -INFINITY;
	for (int64_t i = 0; i < n; i++) {
		low = fmin(low, num_low(&v[e[i]]));
		high = fmax(high, num_high(&v[e[i]]));
	}
	if (high - low >= num_format[h->l->acc].overflow)
		r->flags |= NUM_INF | NUM_NAN;
}

/* Where denormals are flushed, entries and partial sums: what may be lost of the sum, its own rounding aside. Partial sums of
 * multiples of the smallest normal number are never denormal. */
static double flushed_entries(const struct num *v, const sid *e, int64_t n, const struct num_format *acc)
{
	double lost = 0;
	bool denormal = false;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &v[e[i]];
		if (num_low_mag(x) < acc->normal)
			lost += fmin(finite_mag(x), acc->normal);
		denormal = denormal || x->rad != 0 || (!(x->flags & NUM_NOFIN) && !is_multiple(x->hi, acc->normal));
	}
	return denormal && n > 2 ? lost + (double)(n - 2) * acc->normal : lost;
}

/* Sum with infinities or NaN among the entries: fold the sets, then the rounding error of the finite part. */
static struct num sum_special(const struct num *v, const sid *e, int64_t n, double steps, const struct how *h)
{
	struct num r = num_exact(DT_F64, 0), abs = r;
	struct num_reach reach = {0};
	for (int64_t k = 0; k < 2 * n; k++) { /* the sure infinities first: the finite terms' sum may be beyond double */
		const struct num *x = &v[e[k % n]];
		if (!(x->flags & NUM_NOFIN) != (k >= n))
			continue;
		if (k >= n && !num_unknown(x)) {
			const int beyond = x->flags & NUM_BEYOND ? x->flags & ~(NUM_INF | NUM_NAN | NUM_UNDEC) : 0;
			const struct num centre = {.hi = fabs(x->hi), .dtype = DT_F64, .flags = beyond},
							 around = {.hi = x->rad, .dtype = DT_F64, .flags = beyond};
			abs = num_add(&abs, &centre); /* their sum may be beyond double where neither is */
			abs = num_add(&abs, &around);
		}
		num_reach_add(&reach, x);
		r = num_add(&r, x);
	}
	bool sure = r.flags & NUM_NOFIN;
	r.dtype = (uint8_t)h->dt;
	if (!(r.flags & NUM_NOFIN) && !num_unknown(&r)) {
		const struct num error = num_scale(abs, (steps + 1) * num_format[h->l->acc].u);
		if (num_beyond_k(&error) || num_beyond_k(&r)) {
			const struct num around = {.rad = num_mag(&error), .dtype = DT_F64, .flags = error.flags};
			r = num_add(&r, &around);
		} else {
			num_widen(&r, num_mag(&error));
		}
		if (h->l->flags & LF_FTZ)
			num_widen(&r, flushed_entries(v, e, n, &num_format[h->l->acc]));
		num_round(&r, h->dt, (int)(h->l->flags & LF_INEXACT));
	}
	if (h->l->flags & LF_WELFORD && r.flags & NUM_INF)
		r.flags |= NUM_NAN;                                          /* mean + (x - mean)/n */
	sum_reach_overflow(&r, &reach, n, &num_format[h->l->acc], sure); /* the finite entries may overflow first */
	return r;
}

/* A sum that leaves double. */
static struct num sum_huge(const struct num *v, const sid *e, int64_t n, double steps, const struct how *h)
{
	struct dd c = {0, 0};
	struct num_reach reach = {0};
	double rad = 0;
	for (int64_t i = 0; i < n; i++) {
		struct num x = num_down(&v[e[i]]);
		if (v[e[i]].flags & NUM_UNDEC)
			return num_any(h->dt);
		c = dd_add(c, num_dd(&x));
		num_reach_add(&reach, &x);
		rad += x.rad;
	}
	bool single = n <= 2 && rad == 0;
	return num_huge_sum(c, &reach, rad, single ? 0 : (steps + 1) * num_format[h->l->acc].u, (int)(h->l->flags & LF_ROUND));
}

/* depth: the additions that an entry goes through at most, 0: n - 1 of them. A tree of that height errs by depth u sum|terms|, but for
 * terms of higher order. */
struct num nary_sum(const struct num *v, const sid *e, int64_t n, double depth, const struct how *h)
{
	double steps = (double)n - 1, u = num_format[h->l->acc].u;
	if (depth > 0 && depth * (1 + 2 * depth * u) < steps)
		steps = depth * (1 + 2 * depth * u);
	struct sum_bounds s = {0};
	struct dd c = {0, 0};
	int p = num_format[h->l->acc].p;
	if (h->dt == DT_F64 || h->l->acc == DT_F64) {
		for (int64_t i = 0; i < n; i++) {
			const struct num *x = &v[e[i]];
			c = dd_add(c, (struct dd){x->hi, x->lo});
			s.abs += fabs(x->hi) + x->rad;
			s.rad += x->rad;
			s.flags |= x->flags;
		}
	} else {
		double sum = 0, abs = 0, rad = 0, lo = 0;
		int flags = 0;
		for (int64_t i = 0; i < n; i++) {
			const struct num *x = &v[e[i]];
			struct dd d = dd_two_sum(sum, x->hi);
			sum = d.hi;
			lo += d.lo + x->lo;
			abs += fabs(x->hi) + x->rad;
			rad += x->rad;
			flags |= x->flags;
		}
		c = dd_fast(sum, lo);
		s = (struct sum_bounds){abs, rad, flags, false};
	}
	if (UNLIKELY(s.flags & NUM_SPECIAL))
		return sum_special(v, e, n, steps, h);
	if (s.rad == 0) {
		double q = sum_quantum(s.abs, p);
		s.exact = q >= num_format[h->l->acc].tiny;
		for (int64_t i = 0; i < n && s.exact; i++)
			s.exact = is_multiple(v[e[i]].hi, q);
	} else {
		s.rad += s.abs * ((double)n * 0x1p-100);
	}
	double flushed = h->l->flags & LF_FTZ ? flushed_entries(v, e, n, &num_format[h->l->acc]) : 0;
	bool single = n <= 2 && flushed == 0;
	s.exact = s.exact && flushed == 0;
	s.rad += flushed;
	if (h->l->flags & LF_WELFORD && n > 1) {
		/* A sum that is on its way to a mean may come from a running mean m += (x - m)/k. Its steps' errors reach the end scaled
		 * by k/n: together at most u (A + 3 A (2 + ln n)) on n * mean. */
		s.exact = s.exact && s.abs == 0;
		single = false;
		steps += 8 + 3 * log((double)n);
	}
	if (h->l->flags & LF_WELFORD && n > 1 && isfinite(c.hi) && fabs(c.hi) + s.rad >= num_format[h->l->acc].overflow) {
		/* The running mean need not overflow where the sum does: leave it to the division. */
		return (struct num){.hi = c.hi,
			.lo = c.lo,
			.rad = s.rad + steps * num_format[h->l->acc].u * s.abs,
			.dtype = (uint8_t)h->dt,
			.flags = (uint8_t)((s.flags & NUM_UNDEC) | NUM_INF | NUM_NAN)};
	}
	if (UNLIKELY(h->dt == DT_F64 && !(h->l->flags & LF_WELFORD) && num_overflowed(c, s.abs)))
		return sum_huge(v, e, n, steps, h);
	struct num r = sum_finish(c, &s, steps, single, h);
	if (UNLIKELY(s.abs >= num_format[h->l->acc].overflow)) {
		partial_overflow(&r, v, e, n, h);
		if (h->l->flags & LF_WELFORD)
			spread_overflow(&r, v, e, n, h);
	}
	return r;
}

static struct num sum_int(const struct tape *t, const sid *e, int64_t n, enum dtype dt)
{
	int64_t s = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		if (x->flags & (NUM_UNDEC | NUM_ANY))
			return num_any(dt);
		s = dt == DT_B8 ? (s | x->i) : wrap_add(s, x->i);
	}
	return num_int(dt, num_wrap(dt, s));
}

static void matmul(struct tape *t, const struct tape_block *b, const struct how *h)
{
	int64_t m = b->dim[1], n = b->dim[2], k = b->len;
	sid out = b->first;
	struct arena_mark mark = arena_mark(t->arena);
	struct num *buf = ARENA_NEW(t->arena, struct num, 2 * (k + 1));
	for (int64_t z = 0; z < b->dim[0]; z++)
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++, out++)
				t->val[out] =
					sumprod_onto(&(struct terms){t->val, b->a + (z * m + i) * k, 1}, &(struct terms){t->val, b->b + z * k * n + j, n}, k,
						b->param, b->c ? &t->val[b->c[(z * m + i) * n + j]] : NULL, b->beta, h, buf);
	arena_release(t->arena, mark);
}

static struct num list_value(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, const struct how *h)
{
	switch (b->f) {
	case SF_SUM: return h->l ? nary_sum(t->val, e, n, b->param, h) : sum_int(t, e, n, b->dt);
	case SF_SUMPROD:
		if (h->l && sumprod_is_slides(b->param))
			return sumprod_slides(t, e, n / 2, h);
		if (h->l)
			return sumprod(&(struct terms){t->val, e, 2}, &(struct terms){t->val, e + 1, 2}, n / 2, h);
		struct num r = num_int(b->dt, 0);
		for (int64_t i = 0; i + 1 < n; i += 2) {
			if ((t->val[e[i]].flags | t->val[e[i + 1]].flags) & (NUM_UNDEC | NUM_ANY))
				return num_any(b->dt);
			r.i = wrap_add(r.i, wrap_mul(t->val[e[i]].i, t->val[e[i + 1]].i));
		}
		r.i = num_wrap(b->dt, r.i);
		return r;
	case SF_PROD: return nary_prod(t, e, n, h);
	case SF_MAXN: return nary_extreme(t->val, e, n, 1, h);
	case SF_MINN: return nary_extreme(t->val, e, n, -1, h);
	case SF_KMAX:
	case SF_KMIN:
	case SF_KARGMAX:
	case SF_KARGMIN: return nary_pick(t, b, e, n, h);
	case SF_ONEOF: return nary_one_of(t, e, n, h);
	case SF_ANY: return nary_any_all(t, e, n, 1);
	case SF_ALL: return nary_any_all(t, e, n, 0);
	case SF_VAR:
	case SF_VARALL: return nary_var(t->val, e, n, b->param, h);
	case SF_LSE: return nary_lse(t, e, n, h);
	default: BUG("list function %s", sf_name[b->f]);
	}
}

void nary_eval(struct tape *t, const struct tape_block *b)
{
	struct how h = block_how(t, b);
	if (b->f == SF_CUMSUM) {
		nary_cumsum(t, b, &h);
	} else if (b->f == SF_CUMPROD) {
		nary_cumprod(t, b, &h);
	} else if (b->f == SF_MATMUL) {
		matmul(t, b, &h);
	} else if (sf_info[b->f].arity < SF_ROWS) {
		rows_value(t, b, &h);
	} else {
		for (int64_t k = 0; k < b->n; k++) {
			int64_t n;
			const sid *e = block_list(b, k, &n);
			struct num r = list_value(t, b, e, n, &h);
			if (UNLIKELY(r.flags & NUM_BEYOND)) /* a form has no room for what the sum of the others comes to */
				r = num_any(b->dt);
			r.dtype = (uint8_t)b->dt;
			t->val[b->first + k] = r;
		}
	}
}
