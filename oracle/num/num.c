/* num.c: enclosures: finite interval around a double-double centre, plus flagged infinities and NaN.
 * One idea: fast paths know only finite operands; everything else splits each operand into its components (the finite part,
 * +inf, -inf, NaN), applies IEEE 754 to each pair and unites the results. */
#include "oracle/num/num.h"

const struct num_format num_format[NDTYPES] = {
	[DT_F16] = {11, -14, 0x1p-11, 65504.0, 65520.0, 0x1p-14, 0x1p-24},
	[DT_BF16] = {8, -126, 0x1p-8, 0x1.fep127, 0x1.ffp127, 0x1p-126, 0x1p-133},
	[DT_F32] = {24, -126, 0x1p-24, 0x1.fffffep127, 0x1.ffffffp127, 0x1p-126, 0x1p-149},
	[DT_F64] = {53, -1022, 0x1p-53, 0x1.fffffffffffffp1023, INFINITY, 0x1p-1022, 0x1p-1074},
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
		return isnan(v) ? v : copysign(INFINITY, v);
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
	uint64_t low = (uint64_t)v & UINT64_MAX >> unused, sign = dt == DT_U8 ? 0 : (uint64_t)1 << (63 - unused);
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

/* c and rad are scaled down. What is undecided, or of either sign, stays unknown. */
static struct num beyond_of(enum dtype dt, struct dd c, double rad, int flags)
{
	struct num r = num_any(dt);
	if (num_overflowed(c, rad) || flags & NUM_UNDEC || fabs(c.hi) <= rad)
		return r;
	r.hi = c.hi;
	r.lo = c.lo;
	r.rad = rad;
	r.flags |= NUM_BEYOND;
	return r;
}

static double down(double v) { return v * 0x1p-550 * 0x1p-550; }
static double up(double v) { return v * 0x1p550 * 0x1p550; }
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
	struct num x = num_down(a), y = num_down(b);
	return beyond_of((enum dtype)a->dtype, dd_add(num_dd(&x), num_dd(&y)), x.rad + y.rad, flags);
}

struct num num_mul_beyond(const struct num *a, const struct num *b, int flags)
{
	struct num y = num_down_product(a, b);
	return beyond_of((enum dtype)a->dtype, num_dd(&y), y.rad, flags);
}

/* ---- components ---- */
enum { C_FIN, C_PINF, C_NINF, C_NAN, NCOMP };

static int components(struct num out[NCOMP], const struct num *a)
{
	int n = 0;
	enum dtype dt = (enum dtype)a->dtype;
	if (!(a->flags & NUM_NOFIN)) {
		out[n] = *a;
		out[n++].flags = a->flags & NUM_MOVED;
	}
	if (a->flags & NUM_PINF)
		out[n++] = num_exact(dt, INFINITY);
	if (a->flags & NUM_NINF)
		out[n++] = num_exact(dt, -INFINITY);
	if (a->flags & NUM_NAN)
		out[n++] = num_exact(dt, NAN);
	return n;
}

struct num num_hull(const struct num *a, const struct num *b)
{
	int flags = ((a->flags | b->flags) & ~NUM_NOFIN & ~NUM_MOVED & ~NUM_BEYOND);
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
	if (!((a->flags | b->flags) & NUM_SPECIAL)) {
		double low = fmin(num_low(a), num_low(b)), high = fmax(num_high(a), num_high(b)), centre = low / 2 + high / 2;
		r = num_of((enum dtype)a->dtype, (struct dd){centre, 0}, fmax(high - centre, centre - low) * (1 + 0x1p-50), r.flags);
	}
	r.flags |= NUM_UNDEC;
	return r;
}

static bool has_zero(const struct num *a) { return fabs(a->hi) <= a->rad; }
static bool is_fin(const struct num *a) { return !(a->flags & NUM_NOFIN); }

struct num num_pairwise(const struct num *a, const struct num *b, num_pair_fn *f)
{
	enum dtype dt = (enum dtype)a->dtype;
	int undec = (a->flags | b->flags) & NUM_UNDEC;
	if ((a->flags | b->flags) & NUM_ANY) /* whatever the other is, NaN stays */
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
	a.flags = (uint8_t)((f & ~NUM_INF) | (f & NUM_PINF ? NUM_NINF : 0) | (f & NUM_NINF ? NUM_PINF : 0));
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
	return num_of((enum dtype)a->dtype, p, rad, flags);
}

static struct num mul_pair(const struct num *a, const struct num *b)
{
	enum dtype dt = (enum dtype)a->dtype;
	if (is_fin(a) && is_fin(b))
		return num_mul_finite(a, b, 0);
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
	double low = (fabs(b->hi) - b->rad) * (1 - 0x1p-50) * 0x1p550;
	struct dd x = {a->hi * 0x1p-550, a->lo * 0x1p-550}, y = {b->hi * 0x1p550, b->lo * 0x1p550}, q = dd_div(x, y);
	double rad = a->rad == 0 && b->rad == 0 ? 0 : (a->rad * 0x1p-550 + fabs(q.hi) * (b->rad * 0x1p550)) / low * (1 + 0x1p-48);
	return beyond_of((enum dtype)a->dtype, q, rad, 0);
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
	struct dd q = dd_div(num_dd(a), num_dd(b));
	double mb = fabs(b->hi), rad = 0;
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
/* What lies within `before` of the centre is rounded: from f->overflow on, to infinity. Halves were rounded to f32 first, which may lift
 * a number to f->overflow, but takes none below it. */
static void overflow(struct num *v, double before, enum dtype dt, int nr)
{
	const struct num_format *f = &num_format[dt];
	bool halves = dt == DT_F16 || dt == DT_BF16;
	if (before != 0 || v->lo != 0)
		before += fabs(v->hi) * 0x1p-50;
	double lift = fabs(v->hi) * (halves ? 0x1p-23 : 0x1p-50), sure = f->overflow + before;
	if (v->hi + before + lift >= f->overflow)
		v->flags |= NUM_PINF;
	if (v->hi - before - lift <= -f->overflow)
		v->flags |= NUM_NINF;
	if ((nr & NR_WIDE && halves) || nr & NR_LOOSE)
		return;
	if (fabs(v->hi) >= sure) {
		v->hi = v->hi > 0 ? INFINITY : -INFINITY;
		v->lo = v->rad = 0;
		v->flags |= NUM_NOFIN;
	}
}

/* NUM_BEYOND: infinity, if every number of the interval is; if not, that or what lies below it. */
static struct num round_beyond(const struct num *v, enum dtype dt, int nr)
{
	static const struct dd first = {-0x1p-76, 0x1p-130}; /* what rounds to infinity: 2^1024 - 2^970, scaled down */
	const struct num_format *f = &num_format[dt];
	double sign = copysign(1, v->hi), low = up((fabs(v->hi) - v->rad) * (1 - 0x1p-50));
	if ((nr & NR_WIDE && (dt == DT_F16 || dt == DT_BF16)) || nr & NR_LOOSE || !(low > 0))
		return num_any(dt);
	struct dd over = dd_add((struct dd){sign * v->hi, sign * v->lo}, first);
	if ((v->rad == 0 && nr & NR_IEEE && over.hi >= 0) || low > f->max * (dt == DT_F64 ? 1 : 2))
		return num_exact(dt, sign * INFINITY);
	double middle = low / 2 + f->max / 2;
	return (struct num){.hi = sign * middle,
		.rad = (f->max - low) / 2 * (1 + 0x1p-50) + f->max * 0x1p-52,
		.dtype = (uint8_t)dt,
		.flags = v->hi > 0 ? NUM_PINF : NUM_NINF};
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
	struct num r = {.hi = up(c.hi), .lo = up(c.lo), .rad = up(err), .dtype = DT_F64};
	if (num_overflowed(c, err))
		return num_any(DT_F64);
	if (num_overflowed(num_dd(&r), r.rad))
		r = beyond_of(DT_F64, c, err, 0);
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
	bool halves = dt == DT_F16 || dt == DT_BF16;
	if (v->rad == 0) {
		bool fits = fabs(v->hi) <= f->max && num_fits(dt, v->hi, v->lo);
		if (fits && (!(nr & NR_FTZ) || v->hi == 0 || fabs(v->hi) >= f->normal))
			return;
		/* Halves are computed in f32 first: the second rounding is innocuous (Figueroa 1995) but for bf16's denormals. */
		bool tiny = fabs(v->hi) < f->normal * 2;
		if (!fits && nr & NR_IEEE && !(nr & NR_FTZ && tiny) && !(dt == DT_BF16 && tiny) && !(dt == DT_F64 && tiny)) {
			double r = num_rn(dt, v->hi, v->lo);
			int others = v->flags & (NUM_UNDEC | NUM_INF | NUM_NAN);
			*v = num_exact(dt, r);
			v->flags |= (uint8_t)others;
			return;
		}
	}
	double before = v->rad, m = fabs(v->hi) * (1 + 0x1p-52) + v->rad;
	double half = num_half_ulp(f, m);
	v->rad = (v->rad + (halves ? half * (1 + 0x1p-12) : half) + m * 0x1p-99) * (1 + 0x1p-40);
	if (v->rad < 0x1p-1070)
		v->rad = 0x1p-1070;
	if (nr & NR_FTZ && fabs(v->hi) - v->rad < f->normal)
		v->rad = fmax(v->rad, fabs(v->hi) * (1 + 0x1p-40)); /* zero is inside */
	if (UNLIKELY(m + v->rad >= f->overflow || !isfinite(m + v->rad)))
		overflow(v, before, dt, nr);
	if (!isfinite(v->rad))
		*v = num_any(dt);
}

struct num num_rounded(struct num v, enum dtype dt, int nr)
{
	round_any(&v, dt, nr);
	return v;
}

void num_convert(struct num *v, enum dtype dt, int nr)
{
	bool twice = v->dtype == DT_F64 && (dt == DT_F16 || dt == DT_BF16) && v->rad == 0 && !(v->flags & NUM_SPECIAL);
	double through = twice ? num_rn(dt, num_rn(DT_F32, v->hi, v->lo), 0) : 0;
	num_round(v, dt, nr);
	if (twice && v->hi != through && v->rad == 0) {
		struct num other = num_exact(dt, through);
		*v = num_hull(v, &other);
		v->dtype = (uint8_t)dt;
	}
}

/* ---- questions ---- */
double num_low(const struct num *v)
{
	double d = v->hi - v->rad + v->lo;
	return v->rad == 0 && v->lo == 0 ? v->hi : nextafter(d - fabs(d) * 0x1p-52, -INFINITY);
}

double num_high(const struct num *v)
{
	double d = v->hi + v->rad + v->lo;
	return v->rad == 0 && v->lo == 0 ? v->hi : nextafter(d + fabs(d) * 0x1p-52, INFINITY);
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
		return b->hi > a->hi;
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
		return 0;
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
