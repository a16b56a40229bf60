/* nary.c: values of lists: sums, products, extremes, var, logsumexp, scans, matrix products.
 * One idea: the sum of n terms in ANY order and tree, with or without FMA, in a type of unit u differs from the exact sum of its
 * terms by at most (n - 1) u sum|terms| (Jeannerod and Rump 2013: no restriction on n u), and not at all if all terms are
 * multiples of one quantum and sum|terms| fits the significand. Formats below f64 are summed in plain double: 2^-53 n is far
 * below their unit, and is added to the radius unless the sum is exact. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/tape_impl.h"

static bool halves(enum dtype t) { return t == DT_F16 || t == DT_BF16; }

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
static void reach_overflow(struct num *r, const struct num_reach *s, int64_t n, const struct num_format *f, bool sure)
{
	num_reach_overflow(r, s, (double)n * (f->u + 0x1p-52), fmin(f->overflow, DBL_MAX), sure);
}

static void partial_overflow(struct num *r, const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	struct num_reach s = {0};
	for (int64_t i = 0; i < n; i++)
		num_reach_add(&s, &t->val[e[i]]);
	reach_overflow(r, &s, n, &num_format[h->l->acc], false);
}

/* A running mean's step x - mean overflows where the entries lie so far apart; infinity is then subtracted from infinity. */
static void spread_overflow(struct num *r, const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	double low = INFINITY, high = -INFINITY;
	for (int64_t i = 0; i < n; i++) {
		low = fmin(low, num_low(&t->val[e[i]]));
		high = fmax(high, num_high(&t->val[e[i]]));
	}
	if (high - low >= num_format[h->l->acc].overflow)
		r->flags |= NUM_INF | NUM_NAN;
}

static double num_low_mag(const struct num *a) { return a->flags & NUM_NOFIN ? INFINITY : fabs(a->hi) - a->rad; }

static double finite_mag(const struct num *a) { return a->flags & NUM_NOFIN ? 0 : num_mag(a); }

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
static struct num sum_special(const struct tape *t, const sid *e, int64_t n, double steps, const struct how *h)
{
	struct num r = num_exact(DT_F64, 0);
	struct num_reach reach = {0};
	double abs = 0;
	for (int64_t k = 0; k < 2 * n; k++) { /* the sure infinities first: the finite terms' sum may be beyond double */
		const struct num *x = &t->val[e[k % n]];
		if (!(x->flags & NUM_NOFIN) != (k >= n))
			continue;
		if (k >= n)
			abs += num_mag(x);
		num_reach_add(&reach, x);
		r = num_add(&r, x);
	}
	bool sure = r.flags & NUM_NOFIN;
	r.dtype = (uint8_t)h->dt;
	if (!(r.flags & (NUM_NOFIN | NUM_ANY))) {
		num_widen(&r, (steps + 1) * num_format[h->l->acc].u * abs);
		if (h->l->flags & LF_FTZ)
			num_widen(&r, flushed_entries(t->val, e, n, &num_format[h->l->acc]));
		num_round(&r, h->dt, (int)(h->l->flags & LF_INEXACT));
	}
	if (h->l->flags & LF_WELFORD && r.flags & NUM_INF)
		r.flags |= NUM_NAN;                                      /* mean + (x - mean)/n */
	reach_overflow(&r, &reach, n, &num_format[h->l->acc], sure); /* the finite entries may overflow first */
	return r;
}

/* A sum that leaves double. */
static struct num sum_huge(const struct tape *t, const sid *e, int64_t n, double steps, const struct how *h)
{
	struct dd c = {0, 0};
	struct num_reach reach = {0};
	double rad = 0;
	for (int64_t i = 0; i < n; i++) {
		struct num x = num_down(&t->val[e[i]]);
		if (t->val[e[i]].flags & NUM_UNDEC)
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
static struct num sum_float(const struct tape *t, const sid *e, int64_t n, double depth, const struct how *h)
{
	const struct num *v = t->val;
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
		return sum_special(t, e, n, steps, h);
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
		return sum_huge(t, e, n, steps, h);
	struct num r = sum_finish(c, &s, steps, single, h);
	if (UNLIKELY(s.abs >= num_format[h->l->acc].overflow)) {
		partial_overflow(&r, t, e, n, h);
		if (h->l->flags & LF_WELFORD)
			spread_overflow(&r, t, e, n, h);
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
	return num_int(dt, dtype_wrap(dt, s));
}

/* ---- sums of products ---- */
/* Where denormals are flushed, operands, products and partial sums: what may be lost of the sum. A factor is flushed if it is denormal, so
 * every factor whose set reaches below the smallest normal number may be, and what lies above that stays. Partial sums of multiples of
 * the smallest normal number are never denormal. */
static double flushed_terms(const struct terms *a, const struct terms *b, int64_t n, const struct num_format *acc)
{
	double lost = 0;
	bool denormal = false;
	for (int64_t i = 0; i < n; i++) {
		const struct num *p = terms_at(a, i), *q = terms_at(b, i);
		double x = finite_mag(p), y = finite_mag(q), least_x = num_low_mag(p), least_y = num_low_mag(q);
		if (x == 0 || y == 0) /* the product is 0, or no number */
			continue;
		denormal = denormal || p->rad != 0 || q->rad != 0 || !is_multiple(p->hi * q->hi, acc->normal);
		if (least_x < acc->normal || least_y < acc->normal || least_x * least_y < acc->normal) {
			double first = least_x < acc->normal ? fmin(x, acc->normal) * y : 0,
				   second = least_y < acc->normal ? x * fmin(y, acc->normal) : 0;
			lost += fmax(fmax(first, second), acc->normal);
		}
	}
	return denormal && n > 1 ? lost + (double)(n - 1) * acc->normal : lost;
}

static struct num sumprod_special(const struct terms *a, const struct terms *b, int64_t n, const struct how *h)
{
	const struct num_format *f = &num_format[h->l->acc];
	struct num r = num_exact(DT_F64, 0);
	struct num_reach reach = {0};
	double abs = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *p = terms_at(a, i), *q = terms_at(b, i);
		struct num x = num_mul(p, q);
		if (h->l->flags & LF_FTZ && x.flags & NUM_INF && (num_low_mag(p) < f->normal || num_low_mag(q) < f->normal))
			x.flags |= NUM_NAN; /* a denormal flushed to 0, times infinity */
		if (!(x.flags & NUM_NOFIN))
			abs += num_mag(&x);
		num_reach_add(&reach, &x);
		r = num_add(&r, &x);
	}
	bool sure = r.flags & NUM_NOFIN;
	r.dtype = (uint8_t)h->dt;
	if (!(r.flags & (NUM_NOFIN | NUM_ANY))) {
		num_widen(&r,
			((double)n + 1) * f->u * abs + (double)n * f->tiny /* products may underflow */
				+ (h->l->flags & LF_FTZ ? flushed_terms(a, b, n, f) : 0));
		num_round(&r, h->dt, (int)(h->l->flags & LF_INEXACT));
	}
	reach_overflow(&r, &reach, n, f, sure);
	return r;
}

static bool sumprod_exact(const struct terms *a, const struct terms *b, int64_t n, double q, bool wide)
{
	for (int64_t i = 0; i < n; i++) {
		double x = terms_at(a, i)->hi, y = terms_at(b, i)->hi, p = x * y;
		bool lost = wide
			&& ((x != 0 && y != 0 && fabs(p) < 0x1p-969) /* where fma's error term underflows, too */
				|| terms_at(a, i)->lo != 0 || terms_at(b, i)->lo != 0);
		if (!is_multiple(p, q) || lost || (wide && fma(x, y, -p) != 0))
			return false;
	}
	return true;
}

static void partial_products_overflow(struct num *r, const struct terms *a, const struct terms *b, int64_t n, const struct num_format *acc)
{
	struct num_reach s = {0};
	for (int64_t i = 0; i < n; i++) {
		struct num x = num_mul(terms_at(a, i), terms_at(b, i));
		num_reach_add(&s, &x);
	}
	reach_overflow(r, &s, n + 1, acc, false);
}

/* A sum of products that leaves double. */
static struct num sumprod_huge(const struct terms *ta, const struct terms *tb, int64_t n, const struct how *h)
{
	struct dd c = {0, 0};
	struct num_reach reach = {0};
	double rad = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *a = terms_at(ta, i), *b = terms_at(tb, i);
		struct num x = num_down_product(a, b);
		if ((a->flags | b->flags) & NUM_UNDEC)
			return num_any(h->dt);
		c = dd_add(c, num_dd(&x));
		num_reach_add(&reach, &x);
		rad += x.rad;
	}
	bool single = n == 1 && rad == 0;
	return num_huge_sum(c, &reach, rad, single ? 0 : (double)(n + 1) * num_format[h->l->acc].u, (int)(h->l->flags & LF_ROUND));
}

/* wide: products do not fit a double. */
static struct num sumprod_of(const struct terms *ta, const struct terms *tb, int64_t n, const struct how *h, bool wide)
{
	const struct num_format *acc = &num_format[h->l->acc];
	struct sum_bounds s = {0};
	struct dd c = {0, 0};
	double sets = 0; /* 0: every factor is one number. Their products' radii may underflow */
	for (int64_t i = 0; i < n; i++) {
		const struct num *a = terms_at(ta, i), *b = terms_at(tb, i);
		double p = a->hi * b->hi, ma = fabs(a->hi);
		s.flags |= a->flags | b->flags;
		if (wide) {
			c = dd_add(c, dd_mul((struct dd){a->hi, a->lo}, (struct dd){b->hi, b->lo}));
		} else {
			struct dd d = dd_two_sum(c.hi, p);
			c.hi = d.hi;
			c.lo += d.lo;
		}
		double r = a->rad * fabs(b->hi) + b->rad * ma + a->rad * b->rad;
		s.abs += fabs(p) + r;
		s.rad += r;
		sets += a->rad + b->rad;
	}
	if (UNLIKELY(s.flags & NUM_SPECIAL))
		return sumprod_special(ta, tb, n, h);
	if (UNLIKELY(h->dt == DT_F64 && !(h->l->flags & (LF_ONTO | LF_LOOSE)) && num_overflowed(c, s.abs)))
		return sumprod_huge(ta, tb, n, h);
	c = dd_fast(c.hi, c.lo);
	if (sets == 0) {
		double q = sum_quantum(s.abs, acc->p);
		s.exact = q >= acc->tiny && s.abs < acc->overflow && sumprod_exact(ta, tb, n, q, wide);
	} else {
		s.rad += s.abs * (wide ? (double)n * 0x1p-98 : 0x1p-50);
	}
	bool single = n == 1 && sets == 0;
	if (!wide && !s.exact && !single)
		s.rad += s.abs * 0x1p-51;
	double flushed = h->l->flags & LF_FTZ ? flushed_terms(ta, tb, n, acc) : 0;
	s.exact = s.exact && flushed == 0;
	single = single && flushed == 0;
	s.rad += flushed;
	struct num r = sum_finish(c, &s, (double)n, single, h);
	if (!s.exact && n)
		num_widen(&r, single ? 0 : (double)n * acc->tiny); /* products may underflow */
	if (UNLIKELY(s.abs >= acc->overflow && h->l->flags & LF_ONTO))
		r.flags |= NUM_INF | NUM_NAN; /* started from another addend it may overflow elsewhere */
	else if (UNLIKELY(s.abs >= acc->overflow))
		partial_products_overflow(&r, ta, tb, n, acc);
	return r;
}

struct num sumprod(const struct terms *ta, const struct terms *tb, int64_t n, const struct how *h)
{
	struct num r = sumprod_of(ta, tb, n, h, h->dt == DT_F64);
	if (LIKELY(!(r.flags & NUM_SPECIAL) || !(h->l->flags & LF_LOOSE) || h->l->flags & LF_ONTO))
		return r;
	struct lic_rule bound = *h->l; /* no factor is there to be applied elsewhere: what overflows does */
	bound.flags &= ~(unsigned)LF_LOOSE;
	return sumprod_of(ta, tb, n, &(struct how){h->dt, &bound, h->constant_b}, h->dt == DT_F64);
}

/* r = other + the sum of n products, which was rounded before; or it was not, and each product was added to other or to what became of
 * it. */
static void widen_onto(struct num *r, const struct num *product, const struct num *other, const struct terms *a, const struct terms *b,
	int64_t n, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc];
	if ((r->flags | product->flags | other->flags) & NUM_SPECIAL)
		return;
	double abs = num_mag(other);
	for (int64_t i = 0; i < n; i++)
		abs += num_mag(terms_at(a, i)) * num_mag(terms_at(b, i));
	double q = sum_quantum(abs, acc->p);
	bool exact = r->rad == 0 && q >= acc->tiny && is_multiple(other->hi, q) && sumprod_exact(a, b, n, q, h->dt == DT_F64);
	if (exact)
		return;
	num_widen(r, (double)(n + 1) * acc->u * (product->rad == 0 ? abs : num_mag(other)) * (1 + 0x1p-30) + (double)n * acc->tiny);
	if (halves(h->dt))
		num_widen(r, 2 * num_format[h->dt].u * num_mag(r));
	if (abs >= acc->overflow)
		r->flags |= NUM_INF | NUM_NAN;
}

void add_onto(struct tape *t, const struct tape_block *add)
{
	const struct tape_block *b = add; /* block of the last operand: neighbours mostly share it */
	for (int64_t i = 0; i < add->n; i++) {
		for (int side = 0; side < 2; side++) {
			sid id = side ? add->b[i] : add->a[i], other = side ? add->a[i] : add->b[i];
			if (id < b->first || id >= b->first + (sid)b->n)
				b = tape_block_of(t, id);
			if (b->f != SF_MATMUL || b->c)
				continue;
			int64_t k = (int64_t)(id - b->first), m = b->dim[1], cols = b->dim[2], z = k / (m * cols), row = k / cols % m, col = k % cols;
			struct terms ta = {t->val, b->a + (z * m + row) * b->len, 1}, tb = {t->val, b->b + z * b->len * cols + col, cols};
			struct how h = block_how(t, b);
			widen_onto(&t->val[add->first + i], &t->val[id], &t->val[other], &ta, &tb, b->len, &h);
		}
	}
}

/* A factor that a half dtype does not hold acts rounded or not. */
static double scale_of_half(enum dtype dt, double alpha) { return 2 * num_half_ulp(&num_format[dt], fabs(alpha)); }

/* Is alpha * a, which is z unrounded, a number of dt? The centre of an f64 product has lost what lies below the smallest denormal (half
 * of that is 0), so the last bits of the two factors tell. */
static bool scaled_fits(const struct num *a, const struct num *z, double alpha, enum dtype dt)
{
	if (!num_fits(dt, z->hi, z->lo))
		return false;
	return dt != DT_F64 || z->flags & NUM_SPECIAL || a->hi == 0 || last_bit(a->hi) + last_bit(alpha) >= -1074;
}

/* alpha = 0: 0 * the sum, or the product is skipped, NaN and infinity included. */
static struct num sumprod_skipped(
	const struct terms *a, const struct terms *b, int64_t n, const struct num *own, double beta, const struct how *h)
{
	struct num r = num_exact(h->dt, 0), by = num_exact(h->dt, beta);
	double plain = 0;
	int flags = 0;
	if (own) {
		r = num_mul(own, &by);
		how_only(&r, h);
	}
	for (int64_t i = 0; i < n; i++) {
		flags |= terms_at(a, i)->flags | terms_at(b, i)->flags;
		plain += finite_mag(terms_at(a, i)) * finite_mag(terms_at(b, i));
	}
	if (flags & NUM_SPECIAL || plain >= fmin(num_format[h->l->acc].overflow, num_format[h->dt].overflow))
		r.flags |= NUM_NAN;
	return r;
}

struct num sumprod_onto(const struct terms *ta, const struct terms *tb, int64_t n, double alpha, const struct num *own, double beta,
	const struct how *h, struct num *buf)
{
	if (beta == 0)
		own = NULL;
	if (alpha == 0)
		return sumprod_skipped(ta, tb, n, own, beta, h);
	if (alpha == 1 && !own)
		return sumprod(ta, tb, n, h);
	const struct num_format *acc = &num_format[h->l->acc], *f = &num_format[h->dt];
	struct num *x = buf, *y = buf + n + 1, by = num_exact(h->dt, alpha);
	if (!num_fits(h->dt, alpha, 0))
		by.rad = scale_of_half(h->dt, alpha);
	double plain = 0, top = 0, lost = 0, scale = fabs(alpha);
	bool fits = true, nan = false; /* nan: a factor scaled to 0 meets infinity */
	for (int64_t i = 0; i < n; i++) {
		const struct num *a = terms_at(ta, i), *b = terms_at(tb, i);
		struct num z = num_mul(a, &by);
		double ma = finite_mag(a), mb = finite_mag(b);
		x[i] = *a;
		y[i] = num_mul(b, &by);
		fits = fits && scaled_fits(a, &z, alpha, h->dt) && scaled_fits(b, &y[i], alpha, h->dt);
		plain += ma * mb;
		top = fmax(top, scale * fmax(ma, mb));
		lost += (scale * ma < f->normal ? mb : 0) + (scale * mb < f->normal ? ma : 0);
		if (h->l->flags & LF_FTZ)
			nan = nan || (b->flags & NUM_INF && num_low_mag(a) < acc->normal) || (a->flags & NUM_INF && num_low_mag(b) < acc->normal);
		nan = nan || (b->flags & NUM_INF && scale * num_low_mag(a) <= f->tiny) || (a->flags & NUM_INF && scale * num_low_mag(b) <= f->tiny);
	}
	int64_t nterm = n;
	if (own) {
		x[nterm] = *own;
		y[nterm++] = num_exact(h->dt, beta);
	}
	struct num r = sumprod_of(&(struct terms){x, NULL, 1}, &(struct terms){y, NULL, 1}, nterm, h, true);
	double flushed = h->l->flags & LF_FTZ ? scale * flushed_terms(ta, tb, n, acc) : 0; /* before alpha scales */
	bool over = plain >= acc->overflow || top >= acc->overflow;
	double q = sum_quantum(plain, MIN(acc->p, f->p));
	bool exact = num_is_exact(&r) && !over && fits && flushed == 0 && q >= acc->tiny && sumprod_exact(ta, tb, n, q, true)
		&& num_mag(&r) < f->overflow * scale;
	double start = own ? beta * own->hi : 0; /* halves: both addends may be rounded before they meet */
	/* The sum of products may be rounded before alpha scales it: 1025 denormal units, or half as many times 2. */
	exact = exact && (alpha == 1 || num_fits(h->dt, (r.hi - start) / alpha, 0));
	if (own && halves(h->dt))
		exact = exact && num_fits(h->dt, start, 0) && num_fits(h->dt, r.hi - start, 0) && fabs(start) < f->overflow
			&& fabs(r.hi - start) < f->overflow;
	if (!exact && !(r.flags & (NUM_NOFIN | NUM_ANY))) {
		/* sumprod_of has every product and addition; alpha is one more rounding of a factor, a term or the sum, and so is own's addition
		 * then. */
		double abs = scale * plain + (own ? fabs(beta) * finite_mag(own) : 0);
		num_widen(&r, flushed + 2 * acc->u * abs + acc->tiny * ((double)n * (1 + scale) + lost + 1));
		if (alpha != 1) /* the sum may be rounded, even to infinity, before it is scaled */
			num_widen(&r, f->u * num_mag(&r) * (1 + 0x1p-20) + f->tiny * scale);
		if (num_mag(&r) >= f->overflow * scale)
			r.flags |= r.hi > 0 ? NUM_PINF : NUM_NINF;
		if (own && halves(h->dt)) {
			double most = num_mag(&r) + 2 * (fabs(start) + fabs(beta) * own->rad);
			num_widen(&r, f->u * most * (1 + 0x1p-20) + 2 * f->tiny);
			if (most >= f->overflow)
				r.flags |= NUM_INF | NUM_NAN;
		}
	}
	if (over && !sure_nan(&r))
		r.flags |= NUM_INF | NUM_NAN;
	if (nan && alpha != 1)
		r.flags |= NUM_NAN;
	return r;
}

/* ---- products ---- */
/* p: the product of the numbers so far over 2^(500 scale), so that it stays in double; scale >= 0. */
struct prod_state {
	struct num p;
	double big, small, n;
	int scale;
	bool exact, undec, zero;
};

static struct num times_pow2(const struct num *a, double c)
{
	return (struct num){.hi = a->hi * c, .lo = a->lo * c, .rad = a->rad * c, .dtype = a->dtype, .flags = a->flags};
}

static void prod_times(struct prod_state *s, const struct num *x)
{
	struct num p = num_mul(&s->p, x);
	if (UNLIKELY(p.flags & NUM_BEYOND)) {
		bool x_is_larger = fabs(x->hi) > fabs(s->p.hi);
		struct num low = times_pow2(x_is_larger ? x : &s->p, 0x1p-500);
		p = num_mul(&low, x_is_larger ? &s->p : x);
		s->scale++;
	}
	while (UNLIKELY(s->scale > 0 && fabs(p.hi) < 1 && !(p.flags & NUM_SPECIAL))) {
		p = times_pow2(&p, 0x1p500);
		s->scale--;
	}
	s->p = p;
}

/* The product itself; what is beyond double as NUM_BEYOND. */
static struct num prod_value(const struct prod_state *s)
{
	struct num r = s->p, factor = num_exact(DT_F64, 0x1p500);
	for (int k = 0; k < s->scale && !(r.flags & NUM_BEYOND); k++)
		r = num_mul(&r, &factor);
	return r;
}

static void prod_step(struct prod_state *s, const struct num *x)
{
	double m = num_mag(x);
	s->exact = s->exact && num_is_exact(x);
	prod_times(s, x);
	s->exact = s->exact && s->p.lo == 0 && s->p.rad == 0;
	s->big *= fmax(m, 1);
	s->small *= fmin(fmax(fabs(x->hi) - x->rad, 0), 1) == 0 ? 1 : fmin(fabs(x->hi) - x->rad, 1);
	s->zero = s->zero || fabs(x->hi) <= x->rad;
	s->n++;
}

/* What becomes of a product some of whose partial products overflow or underflow, as the order has it; m bounds it from above. An
 * infinity has the sign of the whole product, and where no factor is below 1 it is sure if the whole product overflows, impossible if
 * that does not. */
static void partial_products(struct num *r, const struct prod_state *s, double m, const struct num_format *acc)
{
	bool lost = s->zero || s->small < acc->normal;
	if (s->big < acc->overflow && !(r->flags & NUM_INF && s->small < acc->normal))
		return;
	if (lost)
		r->flags |= NUM_INF | NUM_NAN;
	else if (s->small < 1 || m >= acc->overflow)
		r->flags |= s->p.hi < 0 ? NUM_NINF : NUM_PINF;
}

/* A product beyond double: infinity in any order, unless a partial product underflows. */
static struct num prod_beyond(const struct prod_state *s, struct num r, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc];
	bool single = s->n == 2 && s->p.rad == 0;
	if (s->zero || s->small < acc->normal)
		return num_any(h->dt);
	if (!single)
		num_widen(&r, s->n * acc->u * num_mag(&r) * (1 + s->n * acc->u));
	num_round(&r, h->dt, (int)(h->l->flags & (single ? LF_ROUND : LF_INEXACT)));
	return r;
}

static struct num prod_finish(const struct prod_state *s, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc];
	struct num r = prod_value(s);
	if (UNLIKELY(r.flags & NUM_BEYOND))
		return prod_beyond(s, r, h);
	bool safe = s->big < acc->overflow && s->small >= acc->normal;
	r.dtype = (uint8_t)h->dt;
	if (r.flags & NUM_INF && s->small < acc->normal)
		r.flags |= NUM_INF | NUM_NAN; /* inf * (partial product that underflowed to 0) */
	if (r.flags & (NUM_NOFIN | NUM_ANY))
		return r;
	bool exact = s->exact && num_fits(h->l->acc, r.hi, r.lo) && (safe || (r.hi == 0 && s->big < acc->overflow));
	if (exact || (s->n == 2 && s->p.rad == 0) || s->n < 2) {
		num_round(&r, h->dt, (int)(h->l->flags & LF_ROUND));
		return r;
	}
	double m = num_mag(&r);
	if (m != 0 || !safe) {
		num_widen(&r, s->n * acc->u * m * (1 + s->n * acc->u));
		if (s->small < acc->normal || s->zero) /* a partial product may underflow, then be multiplied */
			num_widen(&r, s->n * s->big * (h->l->flags & LF_FTZ ? acc->normal : acc->tiny));
		num_round(&r, h->dt, (int)(h->l->flags & LF_INEXACT));
		partial_products(&r, s, m, acc);
	}
	return r;
}

static struct num prod(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	if (!h->l) {
		int64_t p = 1;
		for (int64_t i = 0; i < n; i++) {
			if (t->val[e[i]].flags & (NUM_UNDEC | NUM_ANY))
				return num_any(h->dt);
			p = wrap_mul(p, t->val[e[i]].i);
		}
		return num_int(h->dt, dtype_wrap(h->dt, p));
	}
	struct prod_state s = {.p = num_exact(DT_F64, 1), .big = 1, .small = 1, .exact = true};
	for (int64_t i = 0; i < n; i++)
		prod_step(&s, &t->val[e[i]]);
	return prod_finish(&s, h);
}

/* ---- extremes ---- */
static struct num extreme(const struct tape *t, const sid *e, int64_t n, int sign, const struct how *h)
{
	struct num r = t->val[e[0]];
	for (int64_t i = 1; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		if (!h->l) {
			if ((r.flags | x->flags) & (NUM_UNDEC | NUM_ANY))
				return num_any(h->dt);
			if (sign > 0 ? x->i > r.i : x->i < r.i)
				r = *x;
		} else if (LIKELY(r.rad == 0 && x->rad == 0 && !((r.flags | x->flags) & NUM_SPECIAL))) {
			r.flags |= x->flags & NUM_UNDEC;
			if (sign > 0 ? x->hi > r.hi : x->hi < r.hi) {
				r.hi = x->hi;
				r.lo = x->lo;
			}
		} else {
			r = num_max_of(&r, x, sign);
		}
	}
	r.dtype = (uint8_t)h->dt;
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}

/* Does entry x come before y in the order of the list for certain? 1, 0 or -1. Largest first for sign > 0; NaN before all. */
static int before(const struct num *x, const struct num *y, int sign)
{
	bool f = dtype_is_float((enum dtype)x->dtype);
	bool nx = f && x->flags & (NUM_NAN | NUM_ANY), ny = f && y->flags & (NUM_NAN | NUM_ANY);
	if (nx || ny) {
		bool sure_x = nx && x->flags & NUM_NOFIN && !(x->flags & (NUM_INF | NUM_ANY)),
			 sure_y = ny && y->flags & NUM_NOFIN && !(y->flags & (NUM_INF | NUM_ANY));
		if (sure_x && !ny)
			return 1;
		if (sure_y)
			return 0;
		return -1;
	}
	return sign > 0 ? num_lt(y, x) : num_lt(x, y);
}

static int block_sign(const struct tape_block *b) { return b->f == SF_KMIN || b->f == SF_KARGMIN ? -1 : 1; }

/* Order-preserving key of a number: NaN above +inf, both zeros equal. */
static int64_t key_of(double d)
{
	int64_t k;
	d += 0.0;
	memcpy(&k, &d, sizeof k);
	return isnan(d) ? INT64_MAX : k < 0 ? INT64_MIN - k : k;
}

/* Smallest and largest key that an entry may have in the order of before(): low(x) > high(y) only if x surely comes before y. */
static void key_range(int64_t *low, int64_t *high, const struct num *x, int sign)
{
	if (!dtype_is_float((enum dtype)x->dtype)) {
		bool open = x->flags & (NUM_UNDEC | NUM_ANY);
		*low = open ? INT64_MIN : sign > 0 ? x->i : ~x->i;
		*high = open ? INT64_MAX : *low;
		return;
	}
	double lo = INFINITY, hi = -INFINITY;
	bool any = x->flags & NUM_ANY, nan = x->flags & NUM_NAN;
	if (!(x->flags & NUM_NOFIN)) {
		lo = sign > 0 ? num_low(x) : -num_high(x);
		hi = sign > 0 ? num_high(x) : -num_low(x);
	}
	if (any || x->flags & (sign > 0 ? NUM_NINF : NUM_PINF))
		lo = -INFINITY, hi = fmax(hi, -INFINITY);
	if (x->flags & (sign > 0 ? NUM_PINF : NUM_NINF))
		lo = fmin(lo, INFINITY), hi = INFINITY;
	bool only_nan = nan && x->flags & NUM_NOFIN && !(x->flags & (NUM_INF | NUM_ANY));
	*low = only_nan ? INT64_MAX : key_of(lo);
	*high = any || nan ? INT64_MAX : key_of(hi);
}

/* The k-th smallest of v[0..n), by Hoare's selection; v is permuted. */
static int64_t kth(int64_t *v, int64_t n, int64_t k)
{
	int64_t a = 0, b = n - 1;
	while (a < b) {
		int64_t pivot = v[a + (b - a) / 2], i = a, j = b;
		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				int64_t x = v[i];
				v[i++] = v[j];
				v[j--] = x;
			}
		}
		if (k <= j)
			b = j;
		else if (k >= i)
			a = i;
		else
			break;
	}
	return v[k];
}

/* Entry i may have rank k if at most k entries surely precede it and at least k entries may precede it: its high end reaches
 * the (k+1)-th largest low end, and its low end is not above the (n-k)-th smallest high end. */
int64_t pick_candidates(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, bool *cand)
{
	int64_t k = (int64_t)fmax(b->param, 0), count = 0;
	int sign = block_sign(b);
	const struct num *v = t->val;
	if (k == 0) {
		/* One pass finds an entry that nothing surely precedes; candidates are those that it does not surely precede. */
		int64_t best = 0;
		for (int64_t i = 1; i < n; i++)
			if (before(&v[e[i]], &v[e[best]], sign) == 1)
				best = i;
		for (int64_t i = 0; i < n; i++) {
			cand[i] = i == best || before(&v[e[best]], &v[e[i]], sign) != 1;
			count += cand[i];
		}
		return count;
	}
	struct arena_mark m = arena_mark(t->arena);
	int64_t *low = ARENA_NEW(t->arena, int64_t, n), *high = ARENA_NEW(t->arena, int64_t, n), *work = ARENA_NEW(t->arena, int64_t, n);
	for (int64_t i = 0; i < n; i++)
		key_range(&low[i], &high[i], &v[e[i]], sign);
	memcpy(work, low, (size_t)n * sizeof *work);
	int64_t least_high = kth(work, n, n - 1 - k);
	memcpy(work, high, (size_t)n * sizeof *work);
	int64_t most_low = kth(work, n, n - 1 - k);
	for (int64_t i = 0; i < n; i++) {
		cand[i] = high[i] >= least_high && low[i] <= most_low;
		count += cand[i];
	}
	arena_release(t->arena, m);
	return count;
}

/* It is one value for certain: a number, an infinity, NaN. */
static bool one_value(const struct num *x)
{
	if (!dtype_is_float((enum dtype)x->dtype))
		return !(x->flags & (NUM_UNDEC | NUM_ANY));
	int kinds = !!(x->flags & NUM_PINF) + !!(x->flags & NUM_NINF) + !!(x->flags & NUM_NAN);
	return num_is_exact(x) || (x->flags & NUM_NOFIN && !(x->flags & (NUM_UNDEC | NUM_ANY)) && kinds == 1);
}

int64_t pick_first(const struct tape *t, const sid *e, int64_t n, const bool *cand)
{
	int64_t first = -1;
	for (int64_t i = 0; i < n; i++) {
		if (cand[i] && !one_value(&t->val[e[i]]))
			return -1;
		if (cand[i] && first < 0)
			first = i;
	}
	return first;
}

static bool same_int(const struct num *a, const struct num *b) { return a->i == b->i && one_value(a) && one_value(b); }

static struct num pick(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, const struct how *h)
{
	int64_t first = -1, last = -1;
	struct arena_mark m = arena_mark(t->arena);
	bool *cand = ARENA_NEW(t->arena, bool, n + 1);
	pick_candidates(t, b, e, n, cand);
	struct num r = {0};
	for (int64_t i = 0; i < n; i++) {
		if (!cand[i])
			continue;
		const struct num *x = &t->val[e[i]];
		if (first < 0)
			r = *x;
		else if (h->l)
			r = num_hull(&r, x);
		else if (!same_int(&r, x))
			r = num_any(h->dt);
		first = first < 0 ? i : first;
		last = i;
	}
	CHECK(first >= 0);
	if (b->f == SF_KARGMAX || b->f == SF_KARGMIN) {
		r = num_int(DT_I64, first);
		if (last != first && !(b->param == PICK_FIRST && pick_first(t, e, n, cand) >= 0)) {
			r.flags = NUM_UNDEC;
			r.rad = (double)(last - first);
			for (int64_t i = first; i <= last && last - first < 64; i++)
				r.among |= (uint64_t)cand[i] << (i - first);
		}
	}
	arena_release(t->arena, m);
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}

static struct num one_of(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	struct num r = t->val[e[0]];
	for (int64_t i = 1; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		if (h->l)
			r = num_either(&r, x);
		else if (!same_int(&r, x))
			r = num_any(h->dt);
	}
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}

static struct num any_all(const struct tape *t, const sid *e, int64_t n, int want)
{
	bool open = false;
	for (int64_t i = 0; i < n; i++) {
		int x = num_truth(&t->val[e[i]]);
		if (x == want)
			return num_int(DT_B8, want);
		open = open || x == -1;
	}
	struct num r = num_int(DT_B8, open ? 0 : !want);
	if (open) {
		r.flags = NUM_UNDEC;
		r.rad = 1;
	}
	return r;
}

/* ---- variance ---- */
/* The type in which var's mean is formed: where formulas run as operators, or the reduction of a whole tensor takes its mean first
 * (PyTorch's std_var_all_cpu), it is the kernels' compute type, however wide the squares are added up. */
static const struct num_format *mean_format(const struct how *h)
{
	return &num_format[h->l->flags & LF_STEPS ? tape_inner(h->dt) : h->l->acc];
}

/* The mean of one entry is that entry, but where a half may be kept in f32 in one place and rounded in another. */
bool var_of_one(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	return n == 1 && (!halves(h->dt) || !(h->l->flags & LF_WIDE) || num_is_exact(&t->val[e[0]]));
}

struct var_parts var_mean_of(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	struct dd c = {0, 0};
	double abs = 0, rad = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		c = dd_add(c, num_dd(x));
		abs += num_mag(x);
		rad += x->rad;
	}
	double k = (double)n;
	struct var_parts p = {.mean = dd_div(c, (struct dd){k, 0})};
	p.mean_rad = var_of_one(t, e, n, h) ? rad : (rad + k * mean_format(h)->u * abs) / k * (1 + 0x1p-40);
	return p;
}

/* Equal numbers whose mean is that number in every form: sums of 1 to n of them are exact, and so is the quotient. (In f32 alone compilers
 * may divide by approximation, and weigh what they merge by w / w that is not 1.) */
static bool var_of_equals(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	const struct num *first = &t->val[e[0]];
	double abs = fabs(first->hi) * (double)n;
	for (int64_t i = 0; i < n; i++)
		if (!num_is_exact(&t->val[e[i]]) || t->val[e[i]].hi != first->hi)
			return false;
	if (first->hi == 0)
		return true;
	double q = sum_quantum(abs, MIN(num_format[h->l->acc].p, mean_format(h)->p));
	bool divides = h->l->acc == DT_F64 && (h->dt != DT_F64 || (n & (n - 1)) == 0);
	return divides && q >= mean_format(h)->tiny && abs <= mean_format(h)->max && is_multiple(first->hi, q);
}

/* A sum of squares over +0: infinity, but NaN if the sum is 0. */
static struct num over_nothing(const struct num *sum, bool zero, bool over, const struct how *h)
{
	struct num y = num_exact(h->dt, zero ? NAN : INFINITY);
	y.flags |= sum->flags & NUM_UNDEC;
	if (over || (!zero && sum->hi <= sum->rad))
		y.flags |= NUM_NAN;
	return y;
}

/* Two passes: the mean is off by d <= n u mean|x|; sum (x - m')^2 = S + n d^2 - 0, plus n + 3 roundings of S.
 * Welford and pairwise merging (Chan, Golub, LeVeque 1983): error <= c n u kappa S with kappa = sqrt(1 + n mean^2 / S). */
static struct num var(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, const struct how *h)
{
	double k = (double)n, u = num_format[h->l->acc].u, denom = fmax(0, k - b->param), sq = 0;
	struct dd s = {0, 0};
	double rad = 0;
	int flags = 0;
	for (int64_t i = 0; i < n; i++)
		flags |= t->val[e[i]].flags;
	if (n == 0)
		return num_exact(h->dt, NAN);
	if (flags & NUM_SPECIAL) {
		struct num r = num_exact(h->dt, NAN);
		for (int64_t i = 0; i < n; i++) /* a sure infinity or NaN makes NaN; a possible one anything */
			if (t->val[e[i]].flags & NUM_NOFIN)
				return r;
		return num_any(h->dt);
	}
	struct var_parts p = var_mean_of(t, e, n, h);
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		struct dd d = dd_add(num_dd(x), dd_neg(p.mean));
		s = dd_add(s, dd_mul(d, d));
		rad += 2 * fabs(d.hi) * x->rad + x->rad * x->rad; /* the mean moves too, but S is stationary in it */
		sq += x->hi * x->hi;
	}
	struct num r = {.hi = s.hi, .lo = s.lo, .dtype = (uint8_t)h->dt, .flags = (uint8_t)(flags & NUM_UNDEC)};
	bool one = var_of_one(t, e, n, h) || (s.hi == 0 && var_of_equals(t, e, n, h));
	double md = p.mean_rad + fabs(p.mean.hi) * mean_format(h)->u; /* the mean is rounded, too */
	r.rad = one ? 0 : rad + (k + 5) * u * s.hi + k * md * md;
	if (h->l->flags & LF_WELFORD && !one)
		r.rad += 3 * k * u * sqrt(s.hi * (s.hi + sq));
	if (s.hi != 0) /* squares that underflow */
		r.rad += k * num_format[h->l->acc].tiny;
	bool zero = s.hi == 0 && r.rad == 0, over = !one && sq >= num_format[h->l->acc].overflow;
	if (denom == 0)
		return over_nothing(&r, zero, over, h);
	struct num d = num_exact(DT_F64, denom), y = num_div(&r, &d);
	y.dtype = (uint8_t)h->dt;
	if (!zero && !(y.flags & NUM_NOFIN))
		num_widen(&y, 2 * how_ulp(h, num_mag(&y)));
	how_last(&y, h);
	if (over)
		y.flags |= NUM_PINF | NUM_NAN;
	return y;
}

/* ---- logsumexp: m + log(sum exp(x - m)) ---- */
static struct num lse(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	if (n == 0)
		return num_exact(h->dt, -INFINITY);
	struct num m = {.hi = -INFINITY}; /* any number may be subtracted; how far theirs may be from it is what matters */
	int flags = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		m.hi = x->hi > m.hi ? x->hi : m.hi;
		m.rad = x->rad > m.rad ? x->rad : m.rad;
		flags |= x->flags;
	}
	if (flags & NUM_SPECIAL)
		m = extreme(t, e, n, 1, h);
	if (m.flags & NUM_SPECIAL) {
		if (m.flags & NUM_NOFIN && !(m.flags & NUM_ANY))
			return m; /* +inf, -inf (all are) or NaN pass through */
		return num_any(h->dt);
	}
	struct num s = num_exact(DT_F64, 0), centre = num_exact(DT_F64, m.hi);
	/* x - m, exp, the sum and the logarithm may each be rounded to the tensor's dtype (eager runs them as operators); the budgets of exp
	 * and log are units of the compute type all the same. */
	double u = num_format[h->l->compute].u, step = num_format[h->l->flags & LF_STEPS ? h->dt : h->l->compute].u, moved = 0;
	for (int64_t i = 0; i < n; i++) {
		struct num d = num_sub(&t->val[e[i]], &centre), x = num_exp_of(&d, h);
		if (!(d.flags & NUM_NOFIN))
			moved += (fabs(d.hi) + m.rad) * step * num_mag(&x) * (1 + 2 * step * fabs(d.hi)); /* x - m is rounded, then exponentiated */
		s = num_add(&s, &x);
	}
	if (s.flags & NUM_SPECIAL)
		return num_any(h->dt);
	double mag = num_mag(&s);
	num_widen(&s, moved + mag * (u * ((double)n + 2 * h->l->ulp) + 2 * step) + (double)n * num_format[h->dt].tiny);
	struct num y = num_log_of(&s, h);
	double small = num_mag(&y);
	y = num_add(&y, &centre);
	y.dtype = (uint8_t)h->dt;
	if (!(y.flags & NUM_SPECIAL))
		num_widen(&y, (2 * h->l->ulp * u + step) * small * (1 + 0x1p-20));
	how_last(&y, h);
	return y;
}

/* ---- scans ---- */
/* A scan leaves double: from here on its total and its reach are scaled down. */
static struct num scan_down(const struct num *total, struct num_reach *reach)
{
	reach->up = num_down(&(struct num){.hi = reach->up}).hi;
	reach->down = num_down(&(struct num){.hi = reach->down}).hi;
	return num_down(total);
}

static struct num scan_beyond(
	struct num *total, struct num_reach *reach, const struct num *x, int64_t i, double per_step, const struct how *h)
{
	struct num low = num_down(x);
	*total = num_add(total, &low);
	num_reach_add(reach, &low);
	return num_huge_sum(
		num_dd(total), reach, total->rad, i <= 1 && total->rad == 0 ? 0 : ((double)i + 1) * per_step, (int)(h->l->flags & LF_ROUND));
}

void cumsum_row(struct num *out, const struct num *in, int64_t len, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc], *own = &num_format[h->dt];
	const struct num_format *least = acc->overflow < own->overflow ? acc : own;
	struct sum_bounds s = {.exact = true};
	struct dd c = {0, 0};
	struct num special = num_exact(DT_F64, 0);
	struct num_reach reach = {0};
	struct num total = special; /* scaled down, where it leaves double */
	bool folded = false, huge = false;
	int qexp = 1 << 20, p = MIN(acc->p, own->p); /* sequential scans may round each prefix to the dtype */
	double per_step = acc->u + (halves(h->dt) ? own->u : 0);
	for (int64_t i = 0; i < len; i++) {
		const struct num *x = &in[i];
		s.flags |= x->flags;
		if (s.flags & NUM_SPECIAL) {
			if (!folded && huge)
				special = num_any(DT_F64);
			else if (!folded)
				special = (struct num){.hi = c.hi, .lo = c.lo, .rad = s.rad, .dtype = DT_F64};
			folded = true;
			num_reach_add(&reach, x);
			s.abs += x->flags & NUM_NOFIN ? 0 : num_mag(x);
			special = num_add(&special, x);
			out[i] = special;
			out[i].dtype = (uint8_t)h->dt;
			num_reach_overflow(
				&out[i], &reach, ((double)i + 1) * (per_step + 0x1p-52), fmin(least->overflow, DBL_MAX), special.flags & NUM_NOFIN);
			if (!(special.flags & (NUM_NOFIN | NUM_ANY))) {
				num_widen(&out[i], (double)i * per_step * s.abs);
				num_round(&out[i], h->dt, (int)(h->l->flags & LF_INEXACT));
			}
			continue;
		}
		if (huge || (h->dt == DT_F64 && num_overflowed(dd_add(c, num_dd(x)), s.abs + num_mag(x)))) {
			if (!huge)
				total = scan_down(&(struct num){.hi = c.hi, .lo = c.lo, .rad = s.rad}, &reach);
			huge = true;
			out[i] = scan_beyond(&total, &reach, x, i, per_step, h);
			if (s.flags & NUM_UNDEC)
				out[i] = num_any(h->dt);
			continue;
		}
		c = dd_add(c, num_dd(x));
		num_reach_add(&reach, x);
		s.abs += num_mag(x);
		s.rad += x->rad;
		if (x->rad != 0)
			s.exact = false;
		else if (x->hi != 0)
			qexp = MIN(qexp, last_bit(x->hi));
		struct sum_bounds now = s;
		now.exact = s.exact && (s.abs == 0 || num_exp(s.abs) + 1 - qexp <= p);
		out[i] = sum_finish(c, &now, (double)i * (per_step / acc->u), i <= 1, h);
		if (s.abs >= least->overflow)
			num_reach_overflow(&out[i], &reach, ((double)i + 1) * (per_step + 0x1p-52), least->overflow, false);
	}
}

static void cumsum(struct tape *t, const struct tape_block *b, const struct how *h)
{
	int64_t rows = b->len ? b->n / b->len : 0;
	struct arena_mark m = arena_mark(t->arena);
	struct num *in = ARENA_NEW(t->arena, struct num, b->len + 1);
	for (int64_t r = 0; r < rows; r++) {
		struct num *out = &t->val[b->first + r * b->len];
		int64_t whole = 0;
		bool open = false;
		for (int64_t i = 0; i < b->len; i++) {
			in[i] = t->val[b->a[r * b->len + i]];
			whole = h->l ? 0 : wrap_add(whole, in[i].i);
			open = open || in[i].flags & (NUM_UNDEC | NUM_ANY);
			if (!h->l)
				out[i] = open ? num_any(b->dt) : num_int(b->dt, dtype_wrap(b->dt, whole));
		}
		if (h->l)
			cumsum_row(out, in, b->len, h);
	}
	arena_release(t->arena, m);
}

static void cumprod(struct tape *t, const struct tape_block *b, const struct how *h)
{
	int64_t rows = b->len ? b->n / b->len : 0;
	sid out = b->first;
	/* A sequential scan may round each prefix to the dtype: that is its accumulation type, then. */
	struct lic_rule own = h->l ? *h->l : (struct lic_rule){0};
	own.acc = halves(b->dt) ? b->dt : own.acc;
	struct how prefix = {b->dt, h->l ? &own : NULL, false};
	for (int64_t r = 0; r < rows; r++) {
		const sid *e = b->a + r * b->len;
		struct prod_state s = {.p = num_exact(DT_F64, 1), .big = 1, .small = 1, .exact = true};
		for (int64_t i = 0; i < b->len; i++) {
			if (!h->l) {
				t->val[out++] = prod(t, e, i + 1, h);
				continue;
			}
			prod_step(&s, &t->val[e[i]]);
			t->val[out++] = prod_finish(&s, &prefix);
		}
	}
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
				t->val[out] = sumprod_onto(&(struct terms){t->val, b->a + (z * m + i) * k, 1},
					&(struct terms){t->val, b->b + z * k * n + j, n}, k, b->param, b->c ? &t->val[b->c[i * n + j]] : NULL, b->beta, h, buf);
	arena_release(t->arena, mark);
}

static struct num list_value(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, const struct how *h)
{
	switch (b->f) {
	case SF_SUM: return h->l ? sum_float(t, e, n, b->param, h) : sum_int(t, e, n, b->dt);
	case SF_SUMPROD:
		if (h->l)
			return sumprod(&(struct terms){t->val, e, 2}, &(struct terms){t->val, e + 1, 2}, n / 2, h);
		struct num r = num_int(b->dt, 0);
		for (int64_t i = 0; i + 1 < n; i += 2) {
			if ((t->val[e[i]].flags | t->val[e[i + 1]].flags) & (NUM_UNDEC | NUM_ANY))
				return num_any(b->dt);
			r.i = wrap_add(r.i, wrap_mul(t->val[e[i]].i, t->val[e[i + 1]].i));
		}
		r.i = dtype_wrap(b->dt, r.i);
		return r;
	case SF_PROD: return prod(t, e, n, h);
	case SF_MAXN: return extreme(t, e, n, 1, h);
	case SF_MINN: return extreme(t, e, n, -1, h);
	case SF_KMAX:
	case SF_KMIN:
	case SF_KARGMAX:
	case SF_KARGMIN: return pick(t, b, e, n, h);
	case SF_ONEOF: return one_of(t, e, n, h);
	case SF_ANY: return any_all(t, e, n, 1);
	case SF_ALL: return any_all(t, e, n, 0);
	case SF_VAR:
	case SF_VARALL: return var(t, b, e, n, h);
	case SF_LSE: return lse(t, e, n, h);
	default: BUG("list function %s", sf_name[b->f]);
	}
}

void nary_eval(struct tape *t, const struct tape_block *b)
{
	struct how h = block_how(t, b);
	if (b->f == SF_CUMSUM) {
		cumsum(t, b, &h);
	} else if (b->f == SF_CUMPROD) {
		cumprod(t, b, &h);
	} else if (b->f == SF_MATMUL) {
		matmul(t, b, &h);
	} else {
		for (int64_t k = 0; k < b->n; k++) {
			int64_t n;
			const sid *e = block_list(b, k, &n);
			struct num r = list_value(t, b, e, n, &h);
			r.dtype = (uint8_t)b->dt;
			t->val[b->first + k] = r;
		}
	}
}
