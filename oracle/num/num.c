/* num.c: enclosures: finite interval around a double-double centre, plus flagged infinities and NaN.
 * One idea: fast paths know only finite operands; everything else splits each operand into its components (the finite part,
 * +inf, -inf, NaN), applies IEEE 754 to each pair and unites the results. */
#include "oracle/num/num.h"

#include <float.h>

/* Powers of two as constant expressions: 2^e, from its bits. */
#define BIT2(e, bit) ((e) & (bit) ? (double)(1ull << ((bit) > 32 ? 32 : (bit))) : 1.0)
#define WHOLE2(e)                                                                                                                          \
	(BIT2(e, 1) * BIT2(e, 2) * BIT2(e, 4) * BIT2(e, 8) * BIT2(e, 16) * BIT2(e, 32) * ((e)&64 ? 0x1p64 : 1.0) * ((e)&128 ? 0x1p128 : 1.0)   \
		* ((e)&256 ? 0x1p256 : 1.0) * ((e)&512 ? 0x1p512 : 1.0))
#define POW2(e) ((e) < 0 ? 1 / WHOLE2(-(e)) : WHOLE2(e))

/* A format without infinity spends its largest significand on NaN: it has one ulp less, and the tie beyond its maximum goes down to it. */
#define MAX_TO_INF(p, emax)  (POW2(emax) * (2 - POW2(1 - (p))))
#define MAX_TO_NAN(p, emax)  (POW2(emax) * (2 - POW2(2 - (p))))
#define FROM_TO_INF(p, emax) ((p) == 53 ? INFINITY : POW2(emax) * (2 - POW2(-(p))))
#define FROM_TO_NAN(p, emax) (MAX_TO_NAN(p, emax) + POW2((emax) - (p)) + POW2((emax)-52))

#define FORMAT_FLOAT(id, p, emin, max, from, no_inf)                                                                                       \
	[DT_##id] = {p, emin, POW2(-(p)), max, from, POW2(emin), POW2(emin) * POW2(1 - (p)), no_inf},
#define FORMAT_BOOL(...)
#define FORMAT_SIGNED(...)
#define FORMAT_UNSIGNED(...)

const struct num_format num_format[NDTYPES] = {
#define DT(id, name, torch, cell, load, store, class, rows, overflow, precision, emin, emax, ...)                                          \
	FORMAT_##class(                                                                                                                        \
		id, precision, emin, MAX_##overflow(precision, emax), FROM_##overflow(precision, emax), OVERFLOW_##overflow == OVERFLOW_TO_NAN)
#include "eager/lang/dtype.def"
#undef DT
};

/* ---- double-double ---- */
struct dd dd_div(struct dd a, struct dd b)
{
	double q1 = a.hi / b.hi;
	if (!isfinite(q1) || q1 == 0)
		return (struct dd){q1, 0};
	struct dd r = dd_add(a, dd_neg(dd_mul(b, (struct dd){q1, 0})));
	double q2 = r.hi / b.hi;
	r = dd_add(r, dd_neg(dd_mul(b, (struct dd){q2, 0})));
	double q3 = r.hi / b.hi;
	struct dd q = dd_fast(q1, q2);
	return dd_add_d(q, q3);
}

struct dd dd_sqrt(struct dd a)
{
	if (a.hi <= 0)
		return (struct dd){0, 0};
	if (a.hi > 0x1p900 || a.hi < 0x1p-800) { /* keep s * s and its error term in range */
		double up = a.hi > 1 ? 0x1p-400 : 0x1p400, down = a.hi > 1 ? 0x1p200 : 0x1p-200;
		struct dd r = dd_sqrt((struct dd){a.hi * up, a.lo * up});
		return (struct dd){r.hi * down, r.lo * down};
	}
	double s = sqrt(a.hi);
	struct dd r = dd_add(a, dd_neg(dd_two_prod(s, s)));
	double c = r.hi / (2 * s);
	struct dd q = dd_fast(s, c);
	r = dd_add(a, dd_neg(dd_mul(q, q)));
	return dd_add_d(q, r.hi / (2 * s));
}

/* Adding 1.5 * 2^52 quanta of the format leaves no bit below one quantum. */
static double round_half(const struct num_format *f, double v)
{
	if (!(fabs(v) < f->overflow))
		return isnan(v) ? v : f->no_inf ? NAN : copysign(INFINITY, v);
	double shift = 0x1.8p53 * num_half_ulp(f, fabs(v));
	return copysign((v + shift) - shift, v);
}

/* RN(hi + lo): round to odd first, so that the narrower rounding sees a sticky bit (Boldo, Melquiond 2008). */
double num_rn(enum dtype dt, double hi, double lo)
{
	if (dt == DT_F64)
		return hi;
	if (lo != 0 && isfinite(hi)) {
		uint64_t u;
		memcpy(&u, &hi, 8);
		if (!(u & 1)) {
			u = (lo > 0) == (hi > 0) ? u + 1 : u - 1;
			memcpy(&hi, &u, 8);
		}
	}
	return dt == DT_F32 ? (double)(float)hi : round_half(&num_format[dt], hi);
}

int64_t num_wrap(enum dtype dt, int64_t v)
{
	if (dt == DT_B8)
		return v != 0;
	int unused = 64 - 8 * dtype_nbytes(dt);
	uint64_t low = (uint64_t)v & UINT64_MAX >> unused, sign = dtype_is_unsigned(dt) ? 0 : (uint64_t)1 << (63 - unused);
	return (int64_t)((low ^ sign) - sign); /* bits above the sign become copies of it */
}

/* ---- making ---- */
struct num num_int(enum dtype dt, int64_t v) { return (struct num){.i = v, .dtype = (uint8_t)dt}; }

struct num num_any(enum dtype dt)
{
	struct num r = {.dtype = (uint8_t)dt, .flags = NUM_ANY | NUM_UNDEC};
	if (dtype_is_float(dt))
		r.flags |= NUM_PINF | NUM_NINF | NUM_NAN;
	return r;
}

/* NaN, and nothing else. */
static bool only_nan(const struct num *a) { return (a->flags & (NUM_NAN | NUM_INF | NUM_NOFIN | NUM_ANY)) == (NUM_NAN | NUM_NOFIN); }

/* Beyond double itself (f64 only): whether it overflows here or later, or cancels, depends on the form. */
struct num num_beyond(enum dtype dt, struct dd c, double rad, int flags)
{
	if (isfinite(c.hi) && isfinite(rad))
		return (struct num){.hi = c.hi, .rad = rad, .dtype = (uint8_t)dt, .flags = (uint8_t)flags};
	struct num r = num_any(dt);
	r.flags |= (uint8_t)(flags & NUM_UNDEC);
	return r;
}

/* ---- beyond double ---- */
/* (c +- rad) * 2^e, the larger of |c.hi| and rad in [1, 2), or all 0. */
struct big {
	struct dd c;
	double rad;
	int e;
};
/* What is lost where a part is too small beside the larger: never a radius' being there. */
#define BIG_LOST 0x1p-900

static struct big big_scaled(struct dd c, double rad, int e)
{
	double m = fmax(fabs(c.hi), rad);
	if (m == 0)
		return (struct big){0};
	if (num_overflowed(c, rad))
		return (struct big){.rad = INFINITY};
	int by = ilogb(m);
	struct big b = {{ldexp(c.hi, -by), ldexp(c.lo, -by)}, ldexp(rad, -by), e + by};
	if (ldexp(b.c.hi, by) != c.hi || ldexp(b.c.lo, by) != c.lo || ldexp(b.rad, by) != rad)
		b.rad += BIG_LOST;
	return b;
}

static struct big big_of(const struct num *a) { return big_scaled(num_dd(a), a->rad, 64 * num_beyond_k(a)); }

/* A double-double where that holds it; what is too small for one has the radius of that. */
struct num num_scaled(enum dtype dt, struct dd c, double rad, int e, int flags)
{
	struct big b = big_scaled(c, rad, e);
	int k = b.e >> 6;
	if (!isfinite(b.rad))
		return num_any(dt);
	struct num r = {.hi = ldexp(b.c.hi, b.e), .lo = ldexp(b.c.lo, b.e), .rad = ldexp(b.rad, b.e), .dtype = (int32_t)dt, .flags = flags};
	if (b.e < -960 && (b.c.hi != 0 || b.rad != 0))
		r.rad += 0x1p-1073;
	if (!num_overflowed(num_dd(&r), r.rad))
		return r;
	r = num_any(dt);
	if (k > INT16_MAX)
		return r;
	r.hi = ldexp(b.c.hi, b.e - 64 * k);
	r.lo = ldexp(b.c.lo, b.e - 64 * k);
	r.rad = ldexp(b.rad, b.e - 64 * k);
	r.flags = flags | NUM_ANY | NUM_BEYOND | k << 16;
	return r;
}

static struct big big_add(struct big a, struct big b)
{
	if (a.e < b.e || (a.c.hi == 0 && a.rad == 0)) {
		struct big t = a;
		a = b;
		b = t;
	}
	if (b.c.hi == 0 && b.rad == 0)
		return a;
	double by = ldexp(1, MAX(b.e - a.e, -2000)), lost = b.e - a.e < -900 ? BIG_LOST : 0;
	return (struct big){dd_add(a.c, (struct dd){b.c.hi * by, b.c.lo * by}), a.rad + b.rad * by + lost, a.e};
}

static double down(double v) { return v * 0x1p-550 * 0x1p-550; }
static const double beyond_double = 0x1p-76; /* 2^1024, scaled down */

static struct num half_down(const struct num *a)
{
	return (struct num){.hi = a->hi * 0x1p-550, .lo = a->lo * 0x1p-550, .rad = a->rad * 0x1p-550, .dtype = a->dtype};
}

struct num num_down(const struct num *a)
{
	return (struct num){.hi = down(a->hi), .lo = down(a->lo), .rad = down(a->rad), .dtype = a->dtype};
}

struct num num_down_product(const struct num *a, const struct num *b)
{
	struct num x = half_down(a), y = half_down(b);
	return num_mul_finite(&x, &y, 0);
}

struct num num_add_beyond(const struct num *a, const struct num *b, int flags)
{
	struct big s = big_add(big_of(a), big_of(b));
	return num_scaled((enum dtype)a->dtype, s.c, s.rad, s.e, flags);
}

struct num num_mul_beyond(const struct num *a, const struct num *b, int flags)
{
	struct big x = big_of(a), y = big_of(b);
	const bool zero = (x.c.hi == 0 && x.rad == 0) || (y.c.hi == 0 && y.rad == 0); /* of which nothing is lost */
	double sets = !zero && (x.rad != 0 || y.rad != 0) ? BIG_LOST : 0;
	return num_scaled((enum dtype)a->dtype, dd_mul(x.c, y.c),
		(fabs(x.c.hi) * y.rad + fabs(y.c.hi) * x.rad + x.rad * y.rad) * (1 + 0x1p-50) + sets, x.e + y.e, flags);
}

/* ---- components ---- */
enum { C_FIN, C_PINF, C_NINF, C_NAN, NCOMP };

static int components(struct num out[NCOMP], const struct num *a)
{
	int n = 0;
	enum dtype dt = (enum dtype)a->dtype;
	if (!(a->flags & NUM_NOFIN)) {
		out[n] = *a;
		out[n++].flags = num_beyond_k(a) ? a->flags & ~(NUM_INF | NUM_NAN | NUM_UNDEC) : a->flags & NUM_MOVED;
	}
	if (a->flags & NUM_PINF)
		out[n++] = num_exact(dt, INFINITY);
	if (a->flags & NUM_NINF)
		out[n++] = num_exact(dt, -INFINITY);
	if (a->flags & NUM_NAN)
		out[n++] = num_exact(dt, NAN);
	return n;
}

struct num num_ends(enum dtype dt, double low, double high, int flags)
{
	low = fmax(low, -DBL_MAX);
	high = fmin(high, DBL_MAX);
	struct dd centre = dd_two_sum(low / 2, high / 2);
	if (fmax(fabs(low), fabs(high)) < 0x1p-900) /* halves may be rounded */
		centre.lo = 0;
	double rad = fmax(high / 2 - low / 2, fmax(high - centre.hi - centre.lo, centre.hi - low + centre.lo));
	return (struct num){.hi = centre.hi, .lo = centre.lo, .rad = fmin(rad * (1 + 0x1p-50), DBL_MAX), .dtype = (int32_t)dt, .flags = flags};
}

/* The hull where one leaves double, or their distance does. */
static struct num hull_beyond(const struct num *a, const struct num *b)
{
	int flags = (a->flags | b->flags) & (NUM_INF | NUM_NAN | NUM_UNDEC);
	if (num_unknown(a) || num_unknown(b))
		return num_any((enum dtype)a->dtype);
	if ((a->flags | b->flags) & NUM_NOFIN) {
		struct num r = a->flags & NUM_NOFIN ? *b : *a;
		r.flags |= flags;
		return r;
	}
	if (!num_beyond_k(a) && !num_beyond_k(b)) /* a centre between them: the radius is a double, too */
		return num_ends((enum dtype)a->dtype, fmin(num_low(a), num_low(b)), fmax(num_high(a), num_high(b)), flags);
	struct num to = num_neg(*a);
	struct big x = big_of(a), gap = big_add(big_of(b), big_of(&to));
	gap.rad = (fabs(gap.c.hi) + gap.rad) * (1 + 0x1p-50);
	gap.c = (struct dd){0, 0};
	x.rad = 0;
	x = big_add(x, gap);
	return num_scaled((enum dtype)a->dtype, x.c, x.rad, x.e, flags);
}

struct num num_hull(const struct num *a, const struct num *b)
{
	if (UNLIKELY((a->flags | b->flags) & NUM_BEYOND))
		return hull_beyond(a, b);
	int flags = ((a->flags | b->flags) & ~NUM_NOFIN & ~NUM_MOVED);
	if (a->flags & b->flags & NUM_NOFIN) {
		struct num r = *a;
		r.flags = (uint8_t)(flags | NUM_NOFIN);
		if (flags & NUM_NAN)
			r.hi = NAN;
		return r;
	}
	if ((a->flags | b->flags) & NUM_NOFIN) {
		struct num r = a->flags & NUM_NOFIN ? *b : *a;
		r.flags = (uint8_t)flags;
		return r;
	}
	if (a->hi == b->hi && a->lo == b->lo && a->rad == b->rad) {
		struct num r = *a;
		r.flags = (uint8_t)flags;
		return r;
	}
	struct dd d = dd_add(num_dd(b), dd_neg(num_dd(a)));
	double gap = fabs(d.hi) + fabs(d.lo);
	if (UNLIKELY(!(gap + a->rad + b->rad <= DBL_MAX)) && !(flags & NUM_ANY))
		return hull_beyond(a, b);
	if (gap + b->rad <= a->rad) {
		struct num r = *a;
		r.flags = (uint8_t)flags;
		return r;
	}
	if (gap + a->rad <= b->rad) {
		struct num r = *b;
		r.flags = (uint8_t)flags;
		return r;
	}
	/* Keeps a's centre: the truth does not move. */
	return num_of((enum dtype)a->dtype, num_dd(a), fmax(a->rad, (gap + b->rad) * (1 + 0x1p-50)), flags);
}

struct num num_either(const struct num *a, const struct num *b)
{
	struct num r = num_hull(a, b);
	if (num_is_exact(&r))
		return r;
	if (!((a->flags | b->flags) & NUM_SPECIAL))
		r = num_ends((enum dtype)a->dtype, fmin(num_low(a), num_low(b)), fmax(num_high(a), num_high(b)), r.flags);
	r.flags |= NUM_UNDEC;
	return r;
}

static bool has_zero(const struct num *a) { return fabs(a->hi) <= a->rad; }
static bool is_fin(const struct num *a) { return !(a->flags & NUM_NOFIN); }

struct num num_pairwise(const struct num *a, const struct num *b, num_pair_fn *f)
{
	enum dtype dt = (enum dtype)a->dtype;
	int undec = (a->flags | b->flags) & NUM_UNDEC;
	if (num_unknown(a) || num_unknown(b)) /* whatever the other is, NaN stays */
		return only_nan(a) || only_nan(b) ? num_exact(dt, NAN) : num_any(dt);
	struct num ca[NCOMP], cb[NCOMP], r = {0};
	int na = components(ca, a), nb = components(cb, b);
	bool first = true;
	for (int i = 0; i < na; i++) {
		for (int j = 0; j < nb; j++) {
			struct num x = f(&ca[i], &cb[j]);
			r = first ? x : num_hull(&r, &x);
			first = false;
		}
	}
	CHECK(!first);
	r.dtype = (uint8_t)dt;
	r.flags |= (uint8_t)undec;
	if (na * nb > 1 && !num_is_exact(&r))
		r.flags |= NUM_UNDEC; /* an infinity or not, of one sign or the other: legal, not confirmed, even if what follows hides it */
	return r;
}

struct num num_each_part(const struct num *a, num_each_fn *f, const void *ctx)
{
	if (a->flags & NUM_ANY)
		return num_any((enum dtype)a->dtype);
	struct num c[NCOMP], r = {0};
	int n = components(c, a);
	for (int i = 0; i < n; i++) {
		struct num x = f(&c[i], ctx);
		r = i ? num_hull(&r, &x) : x;
	}
	r.dtype = a->dtype;
	r.flags |= (uint8_t)(a->flags & NUM_UNDEC);
	if (n > 1 && !num_is_exact(&r))
		r.flags |= NUM_UNDEC;
	return r;
}

/* ---- addition ---- */
static struct num add_pair(const struct num *a, const struct num *b)
{
	if ((a->flags | b->flags) & NUM_BEYOND && is_fin(a) && is_fin(b))
		return num_add_beyond(a, b, 0);
	if (is_fin(a) && is_fin(b))
		return num_add(a, b);
	return num_exact((enum dtype)a->dtype, (is_fin(a) ? 0 : a->hi) + (is_fin(b) ? 0 : b->hi));
}

struct num num_add_sets(const struct num *a, const struct num *b) { return num_pairwise(a, b, add_pair); }

struct num num_neg(struct num a)
{
	int f = a.flags;
	a.hi = -a.hi;
	a.lo = -a.lo;
	a.flags = (f & ~NUM_INF) | (f & NUM_PINF ? NUM_NINF : 0) | (f & NUM_NINF ? NUM_PINF : 0);
	return a;
}

/* ---- multiplication ---- */
/* The error term of the product may have underflowed, or the radius: what is not surely 0 must not become exact. */
struct num num_mul_tiny(const struct num *a, const struct num *b, struct dd p, double rad, int flags)
{
	if ((a->hi != 0 || a->rad != 0) && (b->hi != 0 || b->rad != 0)) {
		rad += 0x1p-1073;
		if (a->rad != 0 || b->rad != 0)
			rad += 0x1p-1073;
	}
	if (num_overflowed(p, rad))
		return num_mul_beyond(a, b, flags);
	return num_of((enum dtype)a->dtype, p, rad, flags);
}

static struct num mul_pair(const struct num *a, const struct num *b)
{
	enum dtype dt = (enum dtype)a->dtype;
	if (is_fin(a) && is_fin(b))
		return (a->flags | b->flags) & NUM_BEYOND ? num_mul_beyond(a, b, 0) : num_mul_finite(a, b, 0);
	if (!is_fin(a) && !is_fin(b))
		return num_exact(dt, a->hi * b->hi);
	const struct num *inf = is_fin(a) ? b : a, *fin = is_fin(a) ? a : b;
	if (isnan(inf->hi) || num_is_exact(fin))
		return num_exact(dt, inf->hi * fin->hi);
	if (!has_zero(fin))
		return num_exact(dt, fin->hi > 0 ? inf->hi : -inf->hi);
	struct num r = num_exact(dt, NAN);
	r.flags |= NUM_INF;
	return r;
}

struct num num_mul_sets(const struct num *a, const struct num *b) { return num_pairwise(a, b, mul_pair); }

struct num num_scale(struct num a, double c)
{
	struct num k = num_exact((enum dtype)a.dtype, c);
	return num_mul(&a, &k);
}

/* ---- division ---- */
static struct num div_beyond(const struct num *a, const struct num *b)
{
	struct big x = big_of(a), y = big_of(b);
	struct dd q = dd_div(x.c, y.c);
	double low = (fabs(y.c.hi) - y.rad) * (1 - 0x1p-50);
	double rad = x.rad == 0 && y.rad == 0 ? 0 : (x.rad + fabs(q.hi) * y.rad) / low * (1 + 0x1p-48) + BIG_LOST;
	return low > 0 ? num_scaled((enum dtype)a->dtype, q, rad, x.e - y.e, 0) : num_any((enum dtype)a->dtype);
}

static struct num div_fin(const struct num *a, const struct num *b)
{
	enum dtype dt = (enum dtype)a->dtype;
	if (b->rad == 0 && b->hi == 0) {
		if (a->rad == 0 && (a->hi == 0 || b->flags & NUM_MOVED))
			return num_exact(dt, a->hi == 0 ? NAN : copysign(INFINITY, a->hi) * copysign(1.0, b->hi));
		if (b->flags & NUM_MOVED && !has_zero(a)) /* the sign of a is certain, whatever its value */
			return num_exact(dt, copysign(INFINITY, a->hi) * copysign(1.0, b->hi));
		struct num r = num_exact(dt, INFINITY);
		r.flags |= NUM_INF;
		if (has_zero(a)) {
			r.flags |= NUM_NAN;
			r.hi = NAN;
		}
		return r;
	}
	if (has_zero(b)) {
		struct num r = num_any(dt);
		r.flags &= (uint8_t)~NUM_ANY; /* a huge interval says the same, but NaN only if 0/0 may be */
		r.flags &= (uint8_t)~NUM_UNDEC;
		if (!has_zero(a))
			r.flags &= (uint8_t)~NUM_NAN;
		r.hi = r.lo = 0;
		r.rad = 0x1.fffffffffffffp1023;
		return r;
	}
	double mb = fabs(b->hi), rad = 0;
	bool tiny = mb < 0x1p-900 || (fabs(a->hi) < 0x1p-900 && (a->hi != 0 || a->rad != 0)); /* error terms and radii underflow */
	if (UNLIKELY(tiny || (a->flags | b->flags) & NUM_BEYOND))
		return div_beyond(a, b);
	struct dd q = dd_div(num_dd(a), num_dd(b));
	if (a->rad != 0 || b->rad != 0) {
		double low = (mb - b->rad) * (1 - 0x1p-50);
		rad = low > 0 ? (a->rad + fabs(q.hi) * b->rad) / low * (1 + 0x1p-48) : INFINITY;
	}
	if (a->hi != 0 && fabs(q.hi) < 0x1p-960)
		rad += 0x1p-1073;
	if (num_overflowed(q, rad))
		return div_beyond(a, b);
	return num_of(dt, q, rad, 0);
}

static struct num div_pair(const struct num *a, const struct num *b)
{
	enum dtype dt = (enum dtype)a->dtype;
	if (is_fin(a) && is_fin(b))
		return div_fin(a, b);
	if (!is_fin(b))
		return num_exact(dt, isnan(b->hi) || !is_fin(a) ? NAN : 0.0);
	if (isnan(a->hi))
		return num_exact(dt, NAN);
	if (num_is_exact(b) && (b->hi != 0 || b->flags & NUM_MOVED)) /* else nobody knows the zero's sign */
		return num_exact(dt, a->hi / b->hi);
	if (!has_zero(b))
		return num_exact(dt, b->hi > 0 ? a->hi : -a->hi);
	struct num r = num_exact(dt, INFINITY);
	r.flags |= NUM_INF;
	return r;
}

struct num num_div(const struct num *a, const struct num *b)
{
	if (LIKELY(!((a->flags | b->flags) & NUM_SPECIAL))) {
		struct num r = div_fin(a, b);
		r.flags |= (a->flags | b->flags) & NUM_UNDEC;
		return r;
	}
	return num_pairwise(a, b, div_pair);
}

/* ---- rounding ---- */
/* The format whose overflow nothing escapes: halves may stand in an f32 register. */
static const struct num_format *widest(enum dtype dt, int nr) { return &num_format[nr & NR_WIDE ? dtype_compute(dt) : dt]; }

/* Which infinities come of c +- rad (times 2^e) in format f, and that nothing else does (NUM_NOFIN). Halves were rounded to f32 first,
 * which may lift a number to f->overflow, but takes none below it; f64's overflow is 2^1024 - 2^970. */
static int infinities(struct dd c, double rad, int e, const struct num_format *f)
{
	struct dd limit = f->p == 53 ? (struct dd){ldexp(1, 1024 - e), -ldexp(1, 970 - e)} : (struct dd){ldexp(f->overflow, -e), 0};
	struct dd above = dd_add(dd_add_d(c, rad), dd_neg(limit)), below = dd_add(dd_add_d(c, -rad), limit);
	struct dd least = dd_add(dd_add_d(c, -rad), dd_neg(limit)), most = dd_add(dd_add_d(c, rad), limit);
	double lift = f->p < 24 ? limit.hi * 0x1p-23 : rad != 0 ? limit.hi * 0x1p-98 : 0, sure = rad != 0 ? limit.hi * 0x1p-98 : 0;
	int flags = (above.hi >= -lift ? NUM_PINF : 0) | (below.hi <= lift ? NUM_NINF : 0);
	return flags | (least.hi >= sure || most.hi <= -sure ? NUM_NOFIN : 0);
}

/* What lies within `before` of the centre is rounded, and may overflow. */
static void overflow(struct num *v, double before, enum dtype dt, int nr)
{
	struct dd half = {v->hi / 2, v->lo / 2}; /* sums stay in double */
	v->flags |= infinities(half, before / 2, 1, &num_format[dt]) & NUM_INF;
	if (!(nr & NR_LOOSE) && infinities(half, before / 2, 1, widest(dt, nr)) & NUM_NOFIN) {
		v->hi = v->hi > 0 ? INFINITY : -INFINITY;
		v->lo = v->rad = 0;
		v->flags |= NUM_NOFIN;
	}
}

/* A step inside a formula: what is beyond double stays so, or overflows. */
static struct num step_beyond(struct num v, enum dtype dt)
{
	double m = fabs(v.hi) + v.rad;
	v.flags |= (v.hi + v.rad > 0 ? NUM_PINF : 0) | (v.hi - v.rad < 0 ? NUM_NINF : 0);
	v.rad = (v.rad + m * num_format[dt].u * (1 + 0x1p-12)) * (1 + 0x1p-40);
	v.flags &= ~NUM_MOVED;
	return v;
}

/* NUM_BEYOND: infinity, if every number of the interval is; if not, that or what the format holds of it. */
static struct num round_beyond(const struct num *v, enum dtype dt, int nr)
{
	const struct num_format *f = widest(dt, nr);
	int k = num_beyond_k(v), flags = v->flags & (NUM_INF | NUM_NAN | NUM_UNDEC);
	if (k != 0 && nr & NR_STEP)
		return step_beyond(*v, dt);
	if (k == 0 || nr & NR_LOOSE)
		return num_any(dt);
	double rad = v->rad == 0 ? 0 : (v->rad + fabs(v->hi) * 0x1p-98) * (1 + 0x1p-50);
	int inf = infinities(num_dd(v), rad, 64 * k, f);
	flags |= inf;
	if (inf & NUM_NOFIN) {
		struct num r = num_exact(dt, flags & NUM_NAN ? NAN : v->hi > 0 ? INFINITY : -INFINITY);
		r.flags |= flags;
		return r;
	}
	double low = fmax(ldexp(v->hi - rad * (1 + 0x1p-50) - fabs(v->hi) * 0x1p-52, 64 * k), -f->max);
	double high = fmin(ldexp(v->hi + rad * (1 + 0x1p-50) + fabs(v->hi) * 0x1p-52, 64 * k), f->max);
	double half = 2 * num_half_ulp(f, f->max);
	return num_ends(dt, low - half, high + half, flags);
}

void num_reach_overflow(struct num *v, const struct num_reach *s, double rel, double limit, bool sure)
{
	if (s->up * (1 + rel) >= limit)
		v->flags |= (sure ? 0 : NUM_PINF) | (v->flags & NUM_NINF ? NUM_NAN : 0);
	if (s->down * (1 + rel) >= limit)
		v->flags |= (sure ? 0 : NUM_NINF) | (v->flags & NUM_PINF ? NUM_NAN : 0);
}

struct num num_huge_sum(struct dd c, const struct num_reach *s, double rad, double rel, int nr)
{
	double err = rad + rel * (s->up + s->down) * (1 + 0x1p-40);
	if (num_overflowed(c, err))
		return num_any(DT_F64);
	struct num r = num_scaled(DT_F64, c, err, 1100, 0);
	num_round(&r, DT_F64, rel == 0 && rad == 0 ? nr : nr & ~NR_IEEE);
	if (rel != 0)
		num_reach_overflow(&r, s, rel, beyond_double, false);
	return r;
}

static void round_any(struct num *v, enum dtype dt, int nr)
{
	const struct num_format *f = &num_format[dt];
	CHECK(f->p);
	v->dtype = (uint8_t)dt;
	if (v->flags & NUM_BEYOND) {
		*v = round_beyond(v, dt, nr);
		return;
	}
	if (!(v->flags & NUM_SPECIAL) && v->rad == 0 && fabs(v->hi) <= f->max && num_fits(dt, v->hi, v->lo)
		&& (!(nr & NR_FTZ) || v->hi == 0 || fabs(v->hi) >= f->normal))
		return;
	v->flags &= (uint8_t)~NUM_MOVED;
	if (v->flags & (NUM_NOFIN | NUM_ANY))
		return;
	bool halves = dtype_is_narrow(dt);
	if (v->rad == 0) {
		bool fits = fabs(v->hi) <= f->max && num_fits(dt, v->hi, v->lo);
		if (fits && (!(nr & NR_FTZ) || v->hi == 0 || fabs(v->hi) >= f->normal))
			return;
		/* Halves are computed in f32 first: the second rounding is innocuous (Figueroa 1995) but for bf16's denormals. */
		bool tiny = fabs(v->hi) < f->normal * 2;
		if (!fits && nr & NR_IEEE && !(nr & NR_FTZ && tiny) && !(dt == DT_BF16 && tiny) && !(dt == DT_F64 && tiny)) {
			double r = num_rn(dt, v->hi, v->lo);
			if (isnan(r)) /* without_infinities says what becomes of it */
				r = copysign(INFINITY, v->hi);
			int others = v->flags & (NUM_UNDEC | NUM_INF | NUM_NAN);
			*v = num_exact(dt, r);
			v->flags |= (uint8_t)others;
			return;
		}
	}
	/* Below half of the smallest number: 0, in every format that it may be kept in, also as a product that an addition fuses. */
	if (widest(dt, nr) == f && !(nr & NR_KEPT) && f->p < 53 && fabs(v->hi) + v->rad < f->tiny * 0.49) {
		v->hi = v->lo = v->rad = 0;
		return;
	}
	double before = v->rad, m = fmin(fabs(v->hi) * (1 + 0x1p-52) + v->rad, DBL_MAX);
	double half = num_half_ulp(f, m);
	v->rad = (v->rad + (halves ? half * (1 + 0x1p-12) : half) + m * 0x1p-99) * (1 + 0x1p-40);
	if (v->rad < 0x1p-1070)
		v->rad = 0x1p-1070;
	if (nr & NR_FTZ && fabs(v->hi) - v->rad < f->normal)
		v->rad = fmax(v->rad, fabs(v->hi) * (1 + 0x1p-40)); /* zero is inside */
	if (UNLIKELY(m + v->rad >= f->overflow || !isfinite(m + v->rad)))
		overflow(v, before, dt, nr);
	if (!isfinite(v->rad))
		*v = num_ends(dt, -INFINITY, INFINITY, v->flags);
}

/* v's infinities, in a format that has none. */
static struct num without_infinities(struct num v, enum dtype dt, int nr)
{
	const double max = num_format[dt].max;
	const struct num high = num_exact(dt, max), low = num_exact(dt, -max);
	const int inf = v.flags & NUM_INF;
	v.flags &= ~NUM_INF;
	if (!(nr & NR_MAX) || nr & NR_NAN)
		v.flags |= NUM_NAN;
	if (v.flags & NUM_NOFIN)
		v.hi = NAN, v.lo = v.rad = 0;
	if (nr & NR_MAX && inf & NUM_PINF)
		v = num_hull(&high, &v);
	if (nr & NR_MAX && inf & NUM_NINF)
		v = num_hull(&low, &v);
	v.dtype = (uint8_t)dt;
	return v;
}

struct num num_rounded(struct num v, enum dtype dt, int nr)
{
	round_any(&v, dt, nr);
	return num_format[dt].no_inf && v.flags & NUM_INF ? without_infinities(v, dt, nr) : v;
}

void num_settle(struct num *v, enum dtype dt)
{
	struct dd low = dd_add_d(num_dd(v), -v->rad * (1 + 0x1p-50)), high = dd_add_d(num_dd(v), v->rad * (1 + 0x1p-50));
	enum dtype wide = dtype_compute(dt);
	double r = num_rn(wide, low.hi, low.lo);
	if (!(v->flags & NUM_SPECIAL) && isfinite(r) && r == num_rn(wide, high.hi, high.lo) && num_fits(dt, r, 0)) {
		v->hi = r;
		v->lo = v->rad = 0;
	}
}

void num_convert(struct num *v, enum dtype dt, int nr)
{
	bool twice = v->dtype == DT_F64 && dtype_is_narrow(dt) && v->rad == 0 && !(v->flags & NUM_SPECIAL);
	double through = twice ? num_rn(dt, num_rn(DT_F32, v->hi, v->lo), 0) : 0;
	num_round(v, dt, nr);
	if (twice && v->hi != through && !isnan(through) && v->rad == 0) {
		struct num other = num_exact(dt, through);
		*v = num_hull(v, &other);
		v->dtype = (uint8_t)dt;
	}
}

/* ---- questions ---- */
double num_low(const struct num *v)
{
	double d = v->hi - v->rad + v->lo;
	return v->rad == 0 && v->lo == 0 ? v->hi : fmax(nextafter(d - fabs(d) * 0x1p-52, -INFINITY), -DBL_MAX);
}

double num_high(const struct num *v)
{
	double d = v->hi + v->rad + v->lo;
	return v->rad == 0 && v->lo == 0 ? v->hi : fmin(nextafter(d + fabs(d) * 0x1p-52, INFINITY), DBL_MAX);
}

bool num_has(const struct num *v, double got)
{
	if (v->flags & NUM_ANY)
		return true;
	if (isnan(got))
		return v->flags & NUM_NAN;
	if (isinf(got))
		return v->flags & (got > 0 ? NUM_PINF : NUM_NINF);
	if (v->flags & NUM_NOFIN)
		return false;
	if (got == v->hi && v->lo == 0)
		return true;
	if (v->rad == 0 && v->lo == 0)
		return false;
	double d = fabs((got - v->hi) - v->lo); /* the difference of near numbers is exact (Sterbenz) */
	if (isinf(d))
		return fabs(got / 2 - v->hi / 2) <= v->rad / 2 * (1 + 0x1p-50);
	return d <= v->rad * (1 + 0x1p-50);
}

/* Only the finite parts; specials below. */
static int lt_pair(const struct num *a, const struct num *b, bool or_equal)
{
	if (isnan(a->hi) || isnan(b->hi))
		return 0;
	if (!is_fin(a) || !is_fin(b)) {
		double x = is_fin(a) ? 0 : a->hi, y = is_fin(b) ? 0 : b->hi;
		return or_equal ? x <= y : x < y;
	}
	if (a->rad == 0 && b->rad == 0 && a->lo == 0 && b->lo == 0)
		return or_equal ? a->hi <= b->hi : a->hi < b->hi;
	struct dd d = dd_add(num_dd(b), dd_neg(num_dd(a))); /* b - a */
	double r = a->rad + b->rad;
	if (!isfinite(d.hi))
		return r < DBL_MAX ? b->hi > a->hi : -1;
	if (r == 0 && d.lo == 0)
		return or_equal ? d.hi >= 0 : d.hi > 0;
	if (d.hi > r * (1 + 0x1p-50))
		return 1;
	if (-d.hi > r * (1 + 0x1p-50))
		return 0;
	return -1;
}

static int eq_pair(const struct num *a, const struct num *b)
{
	if (isnan(a->hi) || isnan(b->hi))
		return 0;
	if (!is_fin(a) || !is_fin(b))
		return !is_fin(a) && !is_fin(b) && a->hi == b->hi;
	if (a->rad == 0 && b->rad == 0)
		return a->hi == b->hi && a->lo == b->lo;
	struct dd d = dd_add(num_dd(b), dd_neg(num_dd(a)));
	double r = a->rad + b->rad;
	if (!isfinite(d.hi))
		return r < DBL_MAX ? 0 : -1;
	return fabs(d.hi) > r * (1 + 0x1p-50) ? 0 : -1;
}

static int compare(const struct num *a, const struct num *b, int how)
{
	if ((a->flags | b->flags) & NUM_ANY)
		return -1;
	struct num ca[NCOMP], cb[NCOMP];
	int na = components(ca, a), nb = components(cb, b), r = -2;
	for (int i = 0; i < na; i++) {
		for (int j = 0; j < nb; j++) {
			int x = how == 2 ? eq_pair(&ca[i], &cb[j]) : lt_pair(&ca[i], &cb[j], how == 1);
			r = r == -2 || r == x ? x : -1;
		}
	}
	return r;
}

static int compare_int(const struct num *a, const struct num *b, int how)
{
	if ((a->flags | b->flags) & (NUM_UNDEC | NUM_ANY))
		return -1;
	return how == 2 ? a->i == b->i : how == 1 ? a->i <= b->i : a->i < b->i;
}

static int compare_any(const struct num *a, const struct num *b, int how)
{
	if (!dtype_is_float((enum dtype)a->dtype))
		return compare_int(a, b, how);
	int r = compare(a, b, how);
	return (a->flags | b->flags) & NUM_UNDEC ? (r == 0 || r == 1 ? r : -1) : r;
}

int num_lt(const struct num *a, const struct num *b) { return compare_any(a, b, 0); }
int num_le(const struct num *a, const struct num *b) { return compare_any(a, b, 1); }
int num_eq(const struct num *a, const struct num *b) { return compare_any(a, b, 2); }

int num_truth(const struct num *a)
{
	if (!dtype_is_float((enum dtype)a->dtype)) {
		if (a->flags & NUM_ANY)
			return -1;
		if (!(a->flags & NUM_UNDEC))
			return a->i != 0;
		return a->i > 0 ? 1 : -1;
	}
	struct num zero = {.dtype = a->dtype};
	int eq = compare_any(a, &zero, 2);
	return eq == -1 ? -1 : !eq;
}
