/* nary_sumprod.c: sums of products, by the bound of nary.c; forms: products kept exactly (FMA) or rounded, alpha applied to factors, terms
 * or the sum, the sum begun from an addend. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/nary_impl.h"

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
		abs += finite_mag(&x);
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
	sum_reach_overflow(&r, &reach, n, f, sure);
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
	sum_reach_overflow(r, &s, n + 1, acc, false);
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
	return sumprod_of(ta, tb, n, &(struct how){.dt = h->dt, .l = &bound}, h->dt == DT_F64);
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
	if (dtype_is_narrow(h->dt))
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

/* An infinite alpha that multiplies the sum and not the factors: of terms of both signs it makes no NaN. MKL does either, by dtype and size
 * (measured, 2.11.0 and 2.15.0). */
static struct num sumprod_scaled(
	const struct terms *a, const struct terms *b, int64_t n, double alpha, const struct num *own, double beta, const struct how *h)
{
	struct num sum = sumprod(a, b, n, h), by = num_exact(h->dt, alpha), r = num_mul(&sum, &by);
	if (own) {
		by = num_exact(h->dt, beta);
		by = num_mul(own, &by);
		r = num_add(&r, &by);
	}
	how_last(&r, h);
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
	bool over = plain >= acc->overflow || (top >= acc->overflow && !isinf(alpha));     /* an infinite one leaves nothing finite */
	double q = sum_quantum(plain, MIN(acc->p, f->p));
	bool exact = num_is_exact(&r) && !over && fits && flushed == 0 && q >= acc->tiny && sumprod_exact(ta, tb, n, q, true)
		&& num_mag(&r) < f->overflow * scale;
	double start = own ? beta * own->hi : 0; /* halves: both addends may be rounded before they meet */
	/* The sum of products may be rounded before alpha scales it: 1025 denormal units, or half as many times 2. */
	exact = exact && (alpha == 1 || num_fits(h->dt, (r.hi - start) / alpha, 0));
	if (own && dtype_is_narrow(h->dt))
		exact = exact && num_fits(h->dt, start, 0) && num_fits(h->dt, r.hi - start, 0) && fabs(start) < f->overflow
			&& fabs(r.hi - start) < f->overflow;
	if (!exact && !(r.flags & (NUM_NOFIN | NUM_ANY))) {
		/* sumprod_of has every product and addition; alpha is one more rounding of a factor, a term or the sum, and so is own's addition
		 * then. */
		double abs = scale * plain + (own ? fabs(beta) * finite_mag(own) : 0);
		num_widen(&r, flushed + 2 * acc->u * abs + acc->tiny * ((double)n * (1 + scale) + lost + 1));
		if (alpha != 1) /* the sum may be rounded, even to infinity, before it is scaled */
			num_widen(&r, f->u * num_mag(&r) * (1 + 0x1p-20) + f->tiny * scale);
		if (num_mag(&r) >= f->overflow * fmin(scale, 1)) /* the sum before it is scaled, or what comes of it */
			r.flags |= r.hi > 0 ? NUM_PINF : NUM_NINF;
		if (own && dtype_is_narrow(h->dt)) {
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
	if (isinf(alpha)) {
		struct num sum = sumprod_scaled(ta, tb, n, alpha, own, beta, h);
		r = num_hull(&r, &sum);
	}
	return r;
}
