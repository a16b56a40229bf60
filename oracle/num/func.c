/* func.c: values of the unary, binary and ternary scalar functions.
 * One idea: the real function at the centre, the input radius carried through by a bound on the derivative over the whole interval,
 * the budget of the primitive (licence) and of the permitted forms added, then one rounding. Infinities and NaN by components. */
#include "oracle/num/formula.h"
#include "oracle/num/func_impl.h"

struct num of_long_double(long double y, double rad)
{
	struct num r = {.hi = (double)y};
	if (isnan(r.hi) || isinf(r.hi)) {
		r = rad == 0 ? num_exact(DT_F64, r.hi) : num_any(DT_F64);
	} else {
		r.lo = (double)(y - (long double)r.hi);
		r.rad = rad + fabs(r.hi) * REL_LD;
		if (r.rad == 0)
			r.rad = 0x1p-1074; /* never exact: exact answers do not come this way */
	}
	if (!isfinite(r.rad))
		r = num_any(DT_F64);
	return r;
}

static struct num huge_interval(int flags) { return (struct num){.rad = 0x1.fffffffffffffp1023, .dtype = DT_F64, .flags = (uint8_t)flags}; }

/* ---- elementary functions on one component; ctx: narrow_of (each_exp is in func_impl.h) ---- */
INLINE struct num each_log(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, log(a->hi));
	double r = arg_rad(a, narrow);
	if (a->hi - r <= 0) {
		if (a->rad == 0)
			return num_exact(DT_F64, a->hi == 0 ? -INFINITY : NAN);
		if (a->hi + r < 0)
			return num_exact(DT_F64, NAN);
		struct num h = huge_interval(NUM_NINF | (a->hi - r < 0 ? NUM_NAN : 0));
		double top = log(a->hi + r), low = -746; /* log of the smallest double */
		h.hi = (top + low) / 2;
		h.rad = (top - low) / 2 + fabs(top) * 0x1p-40 + 0x1p-1000;
		return h;
	}
	if (a->hi == 1 && r == 0)
		return num_exact(DT_F64, 0);
	double rad = r == 0 ? 0 : log_up(r / a->hi);
	return narrow ? of_double(log(a->hi), rad) : of_long_double(logl(ld(a)), rad);
}

INLINE struct num each_log1p(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, log1p(a->hi));
	if (a->hi == 0 && a->rad == 0)
		return *a;
	double r = arg_rad(a, narrow), low = 1 + (a->hi - r);
	if (low <= 0x1p-52) {
		if (num_is_exact(a))
			return num_exact(DT_F64, log1p(a->hi)); /* -1 + 2^-52 and -1 + 2^-53 are here, too */
		if (a->hi + r < -1)
			return num_exact(DT_F64, NAN);
		double top = log1p(a->hi + r), bottom = -746;
		return (struct num){
			.hi = (top + bottom) / 2, .rad = (top - bottom) / 2 * (1 + 0x1p-40), .dtype = DT_F64, .flags = NUM_NINF | NUM_NAN};
	}
	double rad = r == 0 ? 0 : r / low * (1 + 0x1p-40);
	return narrow ? of_double(log1p(a->hi), rad) : of_long_double(log1pl(ld(a)), rad);
}

INLINE struct num each_expm1(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, expm1(a->hi));
	if (a->hi == 0 && a->rad == 0)
		return *a;
	double r = arg_rad(a, narrow);
	if (a->hi - r >= EXP_OVERFLOWS)
		return num_exact(DT_F64, INFINITY);
	if (narrow) {
		double y = expm1(a->hi);
		return of_double(y, r == 0 ? 0 : (y + 1 + 0x1p-50) * expm1_up(r));
	}
	return num_take(of_long_double(expm1l(ld(a)), r == 0 ? 0 : exp(a->hi) * expm1_up(r)));
}

/* |sin(x + d) - sin x| <= (|cos x| + r/2) r, and |cos| = sqrt(1 - sin^2). */
static double turn(double y, double r) { return fmin(2, (sqrt(fmax(1 - y * y, 0) + 0x1p-50) + r / 2) * r * (1 + 0x1p-40)); }

INLINE struct num each_sin(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, NAN);
	if (a->hi == 0 && a->rad == 0)
		return *a;
	double r = arg_rad(a, narrow);
	if (narrow) {
		double y = sin(a->hi);
		return of_double(y, turn(y, r));
	}
	return num_take(of_long_double(sinl(ld(a)), r == 0 ? 0 : fmin(2, (fabs(cos(a->hi)) + r / 2) * r * (1 + 0x1p-40))));
}

INLINE struct num each_cos(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, NAN);
	if (a->hi == 0 && a->rad == 0)
		return num_exact(DT_F64, 1);
	double r = arg_rad(a, narrow);
	if (narrow) {
		double y = cos(a->hi);
		return of_double(y, turn(y, r));
	}
	return num_take(of_long_double(cosl(ld(a)), r == 0 ? 0 : fmin(2, (fabs(sin(a->hi)) + r / 2) * r * (1 + 0x1p-40))));
}

/* sech^2 at the point of |x| <= a - r nearest to 0: the steepest slope of tanh on the interval. */
static double steepest(double a, double r)
{
	double z = fmax(fabs(a) - r, 0), e = exp(-2 * z);
	return 4 * e / ((1 + e) * (1 + e)) * (1 + 0x1p-45);
}

INLINE struct num each_tanh(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, tanh(a->hi));
	if (a->hi == 0 && a->rad == 0)
		return *a;
	double r = arg_rad(a, narrow);
	if (narrow && r < 0x1p-4) { /* sech^2 = 1 - tanh^2 changes at most by the factor e^2r */
		double y = tanh(a->hi);
		return of_double(y, (1 - y * y + 0x1p-48) * (1 + 2 * r * (1 + 2 * r)) * r);
	}
	return num_take(of_long_double(tanhl(ld(a)), r == 0 ? 0 : fmin(2, steepest(a->hi, r) * r * (1 + 0x1p-40))));
}

INLINE struct num each_sigmoid(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, isnan(a->hi) ? NAN : a->hi > 0);
	if (a->hi == 0 && a->rad == 0)
		return num_exact(DT_F64, 0.5);
	double r = arg_rad(a, narrow);
	if (narrow && r < 0x1p-4) { /* the slope y (1 - y) changes at most by the factor e^r */
		double e = exp(-fabs(a->hi)), y = (a->hi >= 0 ? 1 : e) / (1 + e);
		return of_double(y, e / ((1 + e) * (1 + e)) * (1 + 0x1p-40) * (1 + 2 * r) * r);
	}
	long double x = ld(a), y = x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
	/* sigmoid(x) = (1 + tanh(x/2)) / 2; and it grows at most like exp(r) */
	double rad = fmin(fabs((double)y) * expm1(r), steepest(a->hi / 2, r / 2) / 4 * r);
	return num_take(of_long_double(y, r == 0 ? 0 : fmin(1, rad * (1 + 0x1p-40))));
}

static struct num each_sqrt(const struct num *a, const void *ctx UNUSED)
{
	if (!fin(a))
		return num_exact(DT_F64, a->hi > 0 ? a->hi : NAN);
	double low = a->hi - a->rad;
	if (a->rad == 0 && a->hi <= 0)
		return num_exact(DT_F64, a->hi == 0 ? a->hi : NAN);
	if (a->hi + a->rad < 0)
		return num_exact(DT_F64, NAN);
	if (low <= 0) {
		double top = sqrt(a->hi + a->rad) * (1 + 0x1p-40);
		double c = a->hi > 0 ? sqrt(a->hi) : 0;
		return (struct num){.hi = c, .rad = fmax(top - c, c) * (1 + 0x1p-40) + 0x1p-1070, .dtype = DT_F64, .flags = low < 0 ? NUM_NAN : 0};
	}
	struct dd y = dd_sqrt(num_dd(a));
	struct num r = {.hi = y.hi, .lo = y.lo, .dtype = DT_F64};
	if (a->rad != 0)
		r.rad = a->rad / (2 * sqrt(low)) * (1 + 0x1p-40);
	return r;
}

static struct num each_neg_part(const struct num *a, const void *ctx UNUSED) { return num_neg(*a); }

struct num num_log_of(const struct num *a, const struct how *h) { return num_each(a, each_log, narrow_of(h)); }

/* ---- atan2 ---- */
#define PI_UP 0x1.921fb54442d19p1 /* pi, rounded up */

enum { PLUS = 1, MINUS = 2 };
/* The signs that numbers of the component a may have; those of zeros, if known, count. */
static int signs_of(const struct num *a)
{
	double r = fin(a) ? arg_rad(a, false) : 0;
	if (a->hi == 0 && r == 0 && a->flags & NUM_MOVED)
		return signbit(a->hi) ? MINUS : PLUS;
	return (a->hi + r >= 0 ? PLUS : 0) | (a->hi - r <= 0 ? MINUS : 0);
}

/* What the angle may change over the rectangle around (x, y), both finite: dy |x| / rho^2 + dx |y| / rho^2, with |x| and |y| the largest
 * on it and rho^2 the smallest. A long double holds the squares of all doubles. */
static double angle_rad(const struct num *y, const struct num *x)
{
	long double dy = arg_rad(y, false), dx = arg_rad(x, false), ay = fabsl(ld(y)), ax = fabsl(ld(x));
	long double low_y = fmaxl(ay - dy, 0), low_x = fmaxl(ax - dx, 0), rho2 = low_y * low_y + low_x * low_x;
	if (dy == 0 && dx == 0)
		return 0;
	return fmin(2 * PI_UP, (double)((dy * (ax + dx) + dx * (ay + dy)) / rho2) * (1 + 0x1p-40)); /* 0/0: the origin is inside */
}

static struct num atan2_pair(const struct num *y, const struct num *x)
{
	if (isnan(y->hi) || isnan(x->hi))
		return num_exact(DT_F64, NAN);
	int sy = signs_of(y), sx = signs_of(x);
	bool zero_y = y->hi == 0 && y->rad == 0, zero_x = x->hi == 0 && x->rad == 0;
	if ((sx & MINUS && sy == (PLUS | MINUS)) || (zero_y && sx == (PLUS | MINUS))) /* on both sides of the cut, or 0 and pi */
		return (struct num){.rad = PI_UP, .dtype = DT_F64, .flags = NUM_UNDEC};
	if (sx == PLUS && (zero_y || (fin(y) && !fin(x))))
		return num_exact(DT_F64, 0);
	long double angle = atan2l(zero_y ? y->hi : ld(y), zero_x ? x->hi : ld(x)); /* hi + lo of a zero loses its sign */
	return of_long_double(angle, fin(y) && fin(x) && !(zero_x && zero_y) ? angle_rad(y, x) : 0);
}

/* ---- max, min ---- */
static struct num max_pair(const struct num *a, const struct num *b)
{
	if (!fin(a) && isnan(a->hi))
		return *a;
	if (!fin(b) && isnan(b->hi))
		return *b;
	if (!fin(a))
		return a->hi > 0 ? *a : *b;
	if (!fin(b))
		return b->hi > 0 ? *b : *a;
	if (num_le(b, a) == 1)
		return *a;
	if (num_le(a, b) == 1)
		return *b;
	const struct num *c = a->hi >= b->hi ? a : b;
	struct num r = *c;
	double high = fmax(num_high(a), num_high(b)), low = fmax(num_low(a), num_low(b));
	r.rad = fmax(fmax(high - c->hi, c->hi - low) * (1 + 0x1p-50) + fabs(c->lo), 0);
	if (UNLIKELY(!isfinite(r.rad)))
		r = num_ends((enum dtype)c->dtype, low, high, c->flags);
	return r;
}

struct num num_max_of(const struct num *a, const struct num *b, int sign)
{
	if (sign > 0)
		return num_pairwise(a, b, max_pair);
	struct num na = num_neg(*a), nb = num_neg(*b), r = num_pairwise(&na, &nb, max_pair);
	return num_neg(r);
}

struct num how_extreme(const struct num *a, const struct num *b, const struct how *h, int sign)
{
	struct num r = num_max_of(a, b, sign);
	if (!(h->l->flags & LF_FTZ) || (a->flags | b->flags) & NUM_NOFIN)
		return r;
	const double normal = num_format[h->dt].normal;
	const bool near_a = fabs(a->hi) - a->rad < normal, near_b = fabs(b->hi) - b->rad < normal;
	if (near_a && near_b && num_mag(a) < normal && num_mag(b) < normal)
		r = num_hull(a, b);
	else if (near_a && near_b)
		num_widen(&r, 2 * normal);
	const struct num zero = num_exact(h->dt, 0);
	return fabs(r.hi) - r.rad < normal ? num_hull(&r, &zero) : r; /* a number among them is flushed, too */
}

/* ---- integers ---- */
static bool is_int(const struct how *h) { return !dtype_is_float(h->dt); }
static struct num int_result(const struct how *h, int64_t v) { return num_int(h->dt, num_wrap(h->dt, v)); }
static bool int_open(const struct num *a) { return a->flags & (NUM_UNDEC | NUM_ANY); }
static struct num truth(int t, enum dtype dt)
{
	struct num r = num_int(dt, t == 1);
	if (t == -1) {
		r.flags = NUM_UNDEC;
		r.rad = 1;
	}
	return r;
}

/* ---- unary ---- */
#define UNARY(id) INLINE struct num v_##id(const struct num *const *x, const struct how *h)
#define A         (x[0])
#define B         (x[1])

UNARY(COPY)
{
	(void)h;
	return *A;
}

/* What is multiplied after a difference has been taken has two roundings of its own, of half a unit each: no more than a unit of what the
 * difference is of. */
UNARY(UNROUNDED)
{
	struct num r = *A;
	if (!(r.flags & NUM_NOFIN))
		num_widen(&r, how_ulp(h, num_mag(&r)));
	return r;
}

/* y, whose magnitude is `most` at most, with what a library function may be off by. */
INLINE struct num budget_of(struct num y, double most, const struct how *h)
{
	y.dtype = (uint8_t)h->dt;
	if (!(num_is_exact(&y) && num_fits(h->dt, y.hi, y.lo)) && !(y.flags & NUM_NOFIN)) {
		num_widen(&y, h->l->ulp * how_ulp(h, most));
		/* A library function that is not correctly rounded may differ from a value that happens to be representable. */
		if (y.rad == 0)
			y.rad = 0x1p-1074;
	}
	how_last(&y, h);
	return y;
}
INLINE struct num budget(struct num y, const struct how *h) { return budget_of(y, num_mag(&y), h); }

/* Of a function that is below 1 in magnitude: the bound of its radius is not, and units are twice as large from 1 on. */
INLINE double mag_below_1(const struct num *y) { return fmin(num_mag(y), 1 - 0x1p-53); }

UNARY(EXP) { return budget(num_each(A, each_exp, narrow_of(h)), h); }
UNARY(LOG) { return budget(num_each(A, each_log, narrow_of(h)), h); }
UNARY(LOG1P) { return budget(num_each(A, each_log1p, narrow_of(h)), h); }
UNARY(SIN) { return budget(num_each(A, each_sin, narrow_of(h)), h); }
UNARY(COS) { return budget(num_each(A, each_cos, narrow_of(h)), h); }

/* exp(a) - 1: the budget of exp, absolute, plus the subtraction's rounding (inside `budget`). */
UNARY(EXPM1)
{
	struct num y = num_each(A, each_expm1, narrow_of(h));
	if (h->l->flags & LF_DECOMP && !num_is_exact(&y))
		num_widen(&y, (h->l->ulp + 1) * how_ulp(h, num_mag(&y) + 1));
	return budget(y, h);
}

/* 2/(1 + exp(-2a)) - 1: the inner quotient q is in (0, 2); its error is (ulp + 3) roundings of q, absolute. */
UNARY(TANH)
{
	struct num y = num_each(A, each_tanh, narrow_of(h));
	const double most = mag_below_1(&y);
	if (h->l->flags & LF_TANH && !num_is_exact(&y))
		num_widen(&y, (h->l->ulp + 3) * how_ulp(h, 1.0));
	return budget_of(y, most, h);
}

/* 1/(1 + exp(-a)): errors of exp, sum and quotient are relative to y; when exp(-a) overflows the result is 0. */
UNARY(SIGMOID)
{
	struct num y = num_each(A, each_sigmoid, narrow_of(h));
	const double m = mag_below_1(&y);
	if (!num_is_exact(&y)) {
		num_widen(&y, 3 * how_ulp(h, m));
		if (h->l->flags & LF_EX2 && h->l->compute == DT_F32) /* half an ulp of x * log2 e, log2 e's own error, 2 ulp of ex2.approx */
			num_widen(&y, m * (fmin(num_mag(A), 128) * 1.25 * 0x1p-24 + 0x1p-22));
		if (m < 4 / num_format[h->l->compute].max * 4)
			num_widen(&y, m);
	}
	return budget_of(y, m, h);
}

UNARY(SQRT)
{
	/* In f64 the rounded root itself: 106 bits do not decide its ties. */
	if (h->l->flags & LF_IEEE && h->dt == DT_F64 && num_is_exact(A) && A->hi > 0)
		return num_exact(DT_F64, sqrt(A->hi));
	struct num y = num_each(A, each_sqrt, NULL);
	y.dtype = (uint8_t)h->dt;
	if (h->l->flags & LF_IEEE)
		how_only(&y, h);
	else
		y = budget(y, h);
	return y;
}

static struct num recip_of(const struct num *a)
{
	struct num one = num_exact(DT_F64, 1);
	return num_div(&one, a);
}

UNARY(RSQRT)
{
	struct num s = num_each(A, each_sqrt, NULL);
	s.dtype = (uint8_t)h->dt;
	how_step(&s, h);
	zero_sign(&s, A, A->hi); /* the root of a zero is that zero */
	struct num y = recip_of(&s);
	return budget(y, h);
}

UNARY(RECIP)
{
	struct num y = recip_of(A);
	y.dtype = (uint8_t)h->dt;
	if (h->l->flags & LF_IEEE)
		how_only(&y, h);
	else if (!num_is_exact(&y) || !num_fits(h->dt, y.hi, y.lo))
		y = budget(y, h);
	return y;
}

UNARY(NEG)
{
	if (is_int(h))
		return int_open(A) ? num_any(h->dt) : int_result(h, wrap_sub(0, A->i));
	struct num y = num_each(A, each_neg_part, NULL);
	if (h->l->flags & LF_ZERO && y.hi == 0)
		y.flags &= ~NUM_MOVED;
	return y;
}

static struct num each_abs(const struct num *a, const void *ctx UNUSED)
{
	if (a->hi < 0)
		return each_abs(
			&(struct num){
				.hi = -a->hi, .lo = -a->lo, .rad = a->rad, .dtype = a->dtype, .flags = (uint8_t)(fin(a) ? 0 : NUM_NOFIN | NUM_PINF)},
			NULL);
	struct num r = *a;
	if (r.hi == 0)
		r.hi = 0;
	return r;
}

UNARY(ABS)
{
	if (is_int(h))
		return int_open(A) ? num_any(h->dt) : int_result(h, A->i < 0 ? wrap_sub(0, A->i) : A->i);
	return num_each(A, each_abs, NULL);
}

/* A step function given by its values at the two ends of the interval. */
static struct num steps(double low, double centre, double high, bool specials)
{
	struct num r = num_exact(DT_F64, centre);
	if (low != high) {
		r.rad = fmax(high - centre, centre - low);
		r.flags |= NUM_UNDEC;
	}
	(void)specials;
	return r;
}

static double sign_of(double v) { return isnan(v) ? 0 : (v > 0) - (v < 0); }
struct num each_sign(const struct num *a, const void *ctx UNUSED)
{
	if (!fin(a))
		return num_exact(DT_F64, sign_of(a->hi));
	return steps(sign_of(num_low(a)), sign_of(a->hi), sign_of(num_high(a)), false);
}

UNARY(SIGN)
{
	if (is_int(h))
		return int_open(A) ? num_any(h->dt) : int_result(h, (A->i > 0) - (A->i < 0));
	return num_each(A, each_sign, NULL);
}

typedef double step_fn(double v);
static struct num each_step(const struct num *a, const void *ctx)
{
	step_fn *f = *(step_fn *const *)ctx;
	if (!fin(a))
		return *a;
	if (a->rad == 0 && a->lo == 0)
		return num_exact(DT_F64, f(a->hi));
	return steps(f(num_low(a)), f(a->hi), f(num_high(a)), false);
}

static struct num step_value(const struct num *a, step_fn *f, const struct how *h)
{
	if (is_int(h))
		return *a;
	struct num r = num_each(a, each_step, &f);
	r.dtype = (uint8_t)h->dt;
	return r;
}
UNARY(FLOOR) { return step_value(A, floor, h); }
UNARY(CEIL) { return step_value(A, ceil, h); }
UNARY(TRUNC) { return step_value(A, trunc, h); }
UNARY(ROUND) { return step_value(A, rint, h); }

UNARY(NOT)
{
	int t = num_truth(A);
	return truth(t == -1 ? -1 : !t, h->dt);
}

UNARY(RELU)
{
	if (is_int(h))
		return int_open(A) ? num_any(h->dt) : int_result(h, A->i > 0 ? A->i : 0);
	struct num zero = num_exact(h->dt, 0), r = how_extreme(A, &zero, h, 1);
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}

/* ---- conversions ---- */
/* What becomes of a number beyond a format without infinity. */
static int beyond_small(const struct how *h)
{
	static const int of[] = {[SMALL_OVERFLOW_NAN] = NR_NAN, [SMALL_OVERFLOW_MAX] = NR_MAX, [SMALL_OVERFLOW_EITHER] = NR_NAN | NR_MAX};
	return h->semantics ? of[h->semantics->small_overflow] : NR_NAN | NR_MAX;
}

static struct num int_to_float(const struct num *a, const struct how *h)
{
	double hi = (double)a->i, lo = 0;
	const bool beyond = dtype_is_unsigned((enum dtype)a->dtype) && a->i < 0; /* u64 from 2^63 on */
	if (a->flags & NUM_ANY || (beyond && a->flags & NUM_UNDEC))
		return num_any(h->dt);
	if (beyond) {
		hi = (double)(uint64_t)a->i;
		lo = (double)(a->i - (int64_t)(hi - 0x1p64));
	} else if (fabs(hi) < 0x1p63)
		lo = (double)(a->i - (int64_t)hi);
	else
		lo = hi > 0 ? (double)wrap_sub(a->i, INT64_MAX) - 1 : 0;
	struct num r = {.hi = hi, .lo = lo, .dtype = (uint8_t)h->dt};
	if (a->flags & NUM_UNDEC) {
		r.rad = a->rad;
		r.flags = NUM_UNDEC;
	}
	if (!r.flags && a->i == 0)
		r.flags = NUM_MOVED; /* +0, for certain */
	double through = num_rn(h->dt, num_rn(DT_F32, hi, lo), 0);
	num_round(&r, h->dt, (int)(h->l->flags & LF_ROUND) | beyond_small(h));
	if (num_format[h->dt].p < num_format[DT_F32].p && r.rad == 0 && r.hi != through && !isnan(through)) { /* PyTorch goes through f32 */
		struct num other = num_exact(h->dt, through);
		r = num_hull(&r, &other);
		r.dtype = (int32_t)h->dt;
	}
	return r;
}

static struct num float_to_int(const struct num *a, const struct how *h)
{
	double low = trunc(num_low(a)), high = trunc(num_high(a));
	if (a->flags & NUM_SPECIAL || low < -0x1p62 || high > 0x1p62)
		return num_any(h->dt);
	if (low != high) {
		struct num r = num_any(h->dt);
		return r;
	}
	int64_t v = (int64_t)low;
	struct num r = int_result(h, v);
	if (r.i != v || (v < 0 && dtype_is_unsigned(h->dt)))
		return num_any(h->dt); /* out of range: undefined */
	r.flags = a->flags & NUM_UNDEC;
	if (r.flags)
		return num_any(h->dt);
	return r;
}

UNARY(CAST)
{
	bool from_float = dtype_is_float((enum dtype)A->dtype);
	if (h->dt == DT_B8)
		return truth(num_truth(A), DT_B8);
	if (is_int(h)) {
		if (from_float)
			return float_to_int(A, h);
		struct num r = *A;
		int64_t last = wrap_add(r.i, (int64_t)r.rad);
		if (r.flags & NUM_UNDEC && (num_wrap(h->dt, r.i) != r.i || num_wrap(h->dt, last) != last))
			return num_any(h->dt);
		r.dtype = (uint8_t)h->dt;
		r.i = num_wrap(h->dt, r.i);
		return r;
	}
	if (!from_float)
		return int_to_float(A, h);
	struct num r = *A;
	num_convert(&r, h->dt, (int)(h->l->flags & LF_ROUND) | beyond_small(h));
	return r;
}

/* One number, whose bits are known: of NaN there are many, and of a zero the sign must be certain. */
static bool has_known_bits(const struct num *a)
{
	if (!dtype_is_float((enum dtype)a->dtype))
		return !(a->flags & (NUM_UNDEC | NUM_ANY));
	if (a->flags & NUM_NOFIN)
		return a->flags == (NUM_NOFIN | NUM_PINF) || a->flags == (NUM_NOFIN | NUM_NINF);
	return num_is_exact(a) && a->lo == 0 && (a->hi != 0 || a->flags & NUM_MOVED);
}

UNARY(BITS)
{
	const enum dtype from = (enum dtype)A->dtype;
	unsigned char cell[8];
	if (!has_known_bits(A))
		return num_any(h->dt);
	if (dtype_is_float(from))
		dtype_store_f(from, cell, A->hi);
	else
		dtype_store_i(from, cell, A->i);
	if (is_int(h))
		return num_int(h->dt, dtype_load_i(h->dt, cell));
	struct num r = num_exact(h->dt, dtype_load_f(h->dt, cell));
	r.flags |= r.flags ? 0 : NUM_MOVED;
	if (h->l->flags & LF_FTZ) /* as tape_load of an input */
		num_round(&r, h->dt, NR_IEEE | NR_FTZ);
	return r;
}

/* ---- binary ---- */
UNARY(ADD)
{
	if (is_int(h))
		return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, h->dt == DT_B8 ? A->i | B->i : wrap_add(A->i, B->i));
	struct num y = num_add(A, B);
	how_only(&y, h);
	return y;
}

UNARY(SUB)
{
	if (is_int(h))
		return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, wrap_sub(A->i, B->i));
	struct num y = num_sub(A, B);
	how_only(&y, h);
	return y;
}

UNARY(MUL)
{
	if (is_int(h)) {
		if ((!int_open(A) && A->i == 0) || (!int_open(B) && B->i == 0))
			return num_int(h->dt, 0);
		return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, wrap_mul(A->i, B->i));
	}
	struct num y = num_mul(A, B);
	how_only(&y, h);
	return y;
}

static bool is_pow2(double v)
{
	int e;
	return isfinite(v) && v != 0 && fabs(frexp(v, &e)) == 0.5;
}

/* a / b; a constant divisor may be inverted first: one more rounding of the inverse. */
struct num div_of(const struct num *a, const struct num *b, const struct how *h)
{
	struct num y = num_div(a, b);
	y.dtype = (uint8_t)h->dt;
	if (h->l->flags & LF_IEEE && !(h->l->flags & LF_RECIP && h->constant_b)) {
		bool large = y.flags & NUM_BEYOND || (!(y.flags & NUM_SPECIAL) && fabs(y.hi) > 0x1p-1000);
		if (h->dt == DT_F64 && num_is_exact(a) && num_is_exact(b) && large)
			return num_exact(DT_F64, a->hi / b->hi);
		how_only(&y, h);
	} else if (num_is_exact(b) && is_pow2(b->hi)) {
		how_only(&y, h);
	} else if (y.hi != 0 || y.rad != 0 || y.flags & NUM_SPECIAL) {
		double m = num_mag(&y);
		if (!(y.flags & NUM_NOFIN))
			num_widen(&y, 2 * how_ulp(h, m));
		how_last(&y, h);
	}
	return y;
}
UNARY(DIV) { return div_of(A, B, h); }

/* ---- whole quotients and what they leave ---- */
static struct num undecided(double centre, double rad, int flags)
{
	return (struct num){.hi = centre, .rad = rad * (1 + 0x1p-50), .dtype = DT_F64, .flags = NUM_UNDEC | flags};
}

/* The quotient towards 0 (floored: -infinity) over the rectangle around a and b; false: it jumps there, or is beyond what doubles count. */
static bool one_quotient(double *q, const struct num *a, const struct num *b, bool floored)
{
	const long double ra = arg_rad(a, false), rb = arg_rad(b, false), x = ld(a), y = ld(b);
	long double low = INFINITY, high = -INFINITY;
	for (int k = 0; k < 4; k++) {
		const long double v = (x + (k & 1 ? ra : -ra)) / (y + (k & 2 ? rb : -rb));
		low = fminl(low, v - fabsl(v) * 0x1p-60L);
		high = fmaxl(high, v + fabsl(v) * 0x1p-60L);
	}
	*q = (double)(floored ? floorl(low) : truncl(low));
	return fabsl(low) < 0x1p52L && *q == (double)(floored ? floorl(high) : truncl(high));
}

static struct num left_of(const struct num *a, const struct num *b, bool floored)
{
	if (isnan(a->hi) || isnan(b->hi) || !fin(a))
		return num_exact(DT_F64, NAN);
	const double r = arg_rad(b, false), most = fabs(b->hi) + r;
	if (!fin(b)) {
		const int sa = a->hi == 0 && arg_rad(a, false) == 0 ? 0 : signs_of(a), other = b->hi > 0 ? MINUS : PLUS;
		return !floored || !(sa & other) ? *a : sa == other ? *b : num_hull(a, b);
	}
	if (arg_rad(a, false) == 0 && r == 0) {
		const double left = fmod(a->hi, b->hi); /* NaN by 0 */
		if (!floored || isnan(left) || left == 0 || (left < 0) == (b->hi < 0))
			return num_exact(DT_F64, left);
		const struct dd sum = dd_two_sum(left, b->hi);
		return (struct num){.hi = sum.hi, .lo = sum.lo, .dtype = DT_F64};
	}
	double q;
	if (fabs(b->hi) <= r)
		return undecided(0, most, NUM_NAN);
	if (one_quotient(&q, a, b, floored)) {
		const struct num times = num_exact(DT_F64, q), product = num_mul(&times, b);
		return num_sub(a, &product);
	}
	return floored ? undecided(b->hi / 2, most / 2 + r, 0) : undecided(0, fmin(most, num_mag(a) + fabs(a->lo)), 0);
}
static struct num left_pair(const struct num *a, const struct num *b) { return left_of(a, b, false); }
static struct num floored_left_pair(const struct num *a, const struct num *b) { return left_of(a, b, true); }

/* A quotient that is beyond the format: there the fmod of PyTorch's vectors (Sleef's) is NaN, that of the C library is not. */
static bool quotient_is_beyond(const struct num *a, const struct num *b, const struct how *h)
{
	if (!fin(a) || !fin(b) || (b->hi == 0 && b->rad == 0))
		return false;
	const struct num q = num_div(a, b);
	return q.flags & (NUM_SPECIAL | NUM_BEYOND) || num_mag(&q) >= num_format[h->l->compute].max;
}

/* Rounded. */
static struct num left_over(struct num y, const struct num *a, const struct num *b, const struct how *h)
{
	y.dtype = (uint8_t)h->dt;
	if (quotient_is_beyond(a, b, h))
		y.flags |= NUM_NAN | NUM_UNDEC;
	how_only(&y, h);
	return y;
}

UNARY(FMOD)
{
	if (is_int(h))
		return int_open(A) || int_open(B) || B->i == 0 ? num_any(h->dt) : int_result(h, B->i == -1 ? 0 : A->i % B->i);
	return left_over(num_pairwise(A, B, left_pair), A, B, h);
}

static struct num int_whole(const struct num *a, const struct num *b, bool floored, const struct how *h)
{
	if (int_open(a) || int_open(b) || b->i == 0)
		return num_any(h->dt);
	if (b->i == -1)
		return int_result(h, wrap_sub(0, a->i));
	return int_result(h, a->i / b->i - (floored && a->i % b->i != 0 && (a->i < 0) != (b->i < 0)));
}

/* Some round the quotient and then make it whole, PyTorch's floor takes the remainder away first: 1 / 0.1 may be 10 or 9. Then an infinite
 * dividend leaves NaN, and what is divided by an infinity of the other sign -1. From a quarter of the numbers on that the format counts,
 * two roundings may add up to one. */
struct num whole_quotient(const struct num *a, const struct num *b, bool floored, const struct how *h)
{
	step_fn *f = floored ? floor : trunc;
	if (is_int(h))
		return int_whole(a, b, floored, h);
	const struct num quotient = num_div(a, b), rounded = div_of(a, b, h);
	struct num y = num_each(&quotient, each_step, &f), z = num_each(&rounded, each_step, &f);
	y = num_either(&y, &z);
	if (floored && (a->flags & NUM_INF || quotient_is_beyond(a, b, h)))
		y.flags |= NUM_NAN | NUM_UNDEC;
	if (floored && b->flags & NUM_INF && !(num_is_exact(a) && a->hi == 0)) {
		const struct num below = num_exact(h->dt, -1);
		y = num_either(&y, &below);
	}
	y.dtype = (uint8_t)h->dt;
	if (floored && num_mag(&y) >= num_pow2(num_format[h->dt].p - 2))
		num_widen(&y, 4 * num_half_ulp(&num_format[h->dt], num_mag(&y)));
	const bool beyond = dtype_is_narrow(h->dt) && !(y.flags & (NUM_NOFIN | NUM_ANY)) && num_mag(&y) > num_format[h->dt].max;
	if (beyond) { /* infinity, or what f32 keeps of it */
		num_widen(&y, num_mag(&y) * 0x1p-9);
		y.flags |= (num_high(&y) > 0 ? NUM_PINF : 0) | (num_low(&y) < 0 ? NUM_NINF : 0) | NUM_UNDEC;
	} else if (!num_is_exact(&y) || !num_fits(h->dt, y.hi, y.lo)) {
		how_last(&y, h);
	}
	return y;
}
UNARY(FLOOR_DIV) { return whole_quotient(A, B, true, h); }
UNARY(TRUNC_DIV) { return whole_quotient(A, B, false, h); }

UNARY(REMAINDER)
{
	if (is_int(h)) {
		if (int_open(A) || int_open(B) || B->i == 0)
			return num_any(h->dt);
		const int64_t left = B->i == -1 ? 0 : A->i % B->i;
		return int_result(h, left != 0 && (left < 0) != (B->i < 0) ? left + B->i : left);
	}
	const struct num y = left_over(num_pairwise(A, B, floored_left_pair), A, B, h);
	if (!(h->l->flags & LF_DECOMP))
		return y;
	/* a - floor(a / b) * b, a step at a time */
	const struct num q = whole_quotient(A, B, true, h);
	struct num p = num_mul(&q, B), z;
	how_step(&p, h);
	z = num_sub(A, &p);
	how_last(&z, h);
	z = num_hull(&y, &z);
	z.dtype = (uint8_t)h->dt;
	return z;
}

/* sqrt, rsqrt, reciprocal and products stand for these (PowKernel.cu; inductor's lowering of pow). */
static bool pow_is_singled_out(double b) { return fabs(b) == 0.5 || fabs(b) == 2 || b == 3 || b == -1; }

static double pow_ulp(const struct how *h, double b) { return h->l->ulp + (h->l->flags & LF_POW && !pow_is_singled_out(b) ? 2 : 0); }

/* |a|^b at an exact non-negative base may be exact only for small integer exponents computed by products. */
static struct num pow_product(const struct num *a, int n, const struct how *h)
{
	struct num y = num_mul(a, a);
	for (int i = 2; i < n; i++) {
		y.dtype = (uint8_t)h->dt;
		how_step(&y, h);
		y = num_mul(&y, a);
	}
	y.dtype = (uint8_t)h->dt;
	if (num_is_exact(a) && !(y.flags & NUM_SPECIAL) && num_fits(h->dt, y.hi, y.lo) && fabs(y.hi) <= num_format[h->dt].max && n == 2)
		return y;
	if (!(y.flags & NUM_NOFIN)) /* or pow of the library */
		num_widen(&y, pow_ulp(h, n) * how_ulp(h, num_mag(&y)));
	how_last(&y, h);
	return y;
}

struct power {
	double b;
	bool narrow;
};

static struct num each_pow(const struct num *a, const void *ctx)
{
	const struct power *p = ctx;
	double b = p->b;
	if (isnan(b))
		return arg_rad(a, false) == 0 ? num_exact(DT_F64, pow(a->hi, b)) : num_any(DT_F64);
	if (!fin(a)) {
		struct num y = num_exact(DT_F64, pow(a->hi, b));
		if (fabs(b) == 0.5 && a->hi < 0)
			y.flags |= NUM_NAN; /* computed as sqrt or rsqrt */
		return y;
	}
	double r = arg_rad(a, p->narrow), m = fabs(a->hi);
	if (m == 0 && r == 0) {
		if (b > 0)
			return num_exact(DT_F64, 0);
		bool odd = isfinite(b) && b == floor(b) && fmod(b, 2) != 0, known = a->flags & NUM_MOVED;
		struct num y = num_exact(DT_F64, odd && known ? copysign(INFINITY, a->hi) : INFINITY);
		if ((odd && !known) || (b == -0.5 && !(known && !signbit(a->hi))))
			y.flags |= NUM_NINF; /* the zero's sign decides; 1 / sqrt(-0) is -inf */
		return y;
	}
	if (r == 0)
		return p->narrow ? of_double(pow(a->hi, b), 0) : of_long_double(powl(ld(a), (long double)b), 0);
	if (r >= m) {
		if (b < 1)
			return num_any(DT_F64);
		double top = pow(m + r, b) * (1 + 0x1p-40);
		bool whole = b == floor(b);
		struct num y = {.hi = whole || a->hi > 0 ? pow(a->hi, b) : 0, .dtype = DT_F64, .flags = whole ? 0 : NUM_NAN};
		y.rad = top * 2;
		return isfinite(y.rad) && isfinite(y.hi) ? y : num_any(DT_F64);
	}
	if (a->hi < 0 && b != floor(b))
		return num_exact(DT_F64, NAN);
	double grow = expm1_up(fabs(b) * (r / (m - r))); /* |d log y| <= |b| r / (m - r) */
	if (p->narrow) {
		double y = pow(a->hi, b);
		return of_double(y, (fabs(y) + 0x1p-1060) * grow);
	}
	long double y = powl(ld(a), (long double)b);
	return of_long_double(y, fabs((double)y) * grow);
}

/* a ^ b for an exponent as one kernel has it. rounded: b is not what was written, so that no kernel for that very number is chosen. */
static struct num pow_at(const struct num *a, double b, bool rounded, const struct how *h)
{
	if (b == 0)
		return num_exact(h->dt, 1);
	if (b == 1 && !rounded)
		return *a;
	if (b == 2 || b == 3)
		return pow_product(a, (int)b, h);
	struct num y = num_each(a, each_pow, &(struct power){b, narrow_of(h) != NULL});
	/* Whole exponents may be products, of the reciprocal if negative (inductor's pow_recursive, below 32): 2|b| - 1 roundings. */
	double products = b == floor(b) && fabs(b) < 32 ? fabs(b) : 0;
	if (!(y.flags & NUM_NOFIN) && y.rad != 0)
		num_widen(&y, fmax(products, pow_ulp(h, b) - h->l->ulp) * how_ulp(h, num_mag(&y)));
	y.dtype = (uint8_t)h->dt;
	if (fabs(b) == 0.5) { /* also computed by sqrt: NaN of -inf, and a zero keeps its sign */
		y.flags |= a->flags & NUM_NINF ? NUM_NAN : 0;
		bool plus = num_is_exact(a) && a->flags & NUM_MOVED && a->hi == 0 && !signbit(a->hi);
		y.flags |= b < 0 && !(a->flags & NUM_NOFIN) && fabs(a->hi) <= a->rad && !plus ? NUM_INF : 0;
	}
	for (int i = 0; i < 2 && (b == -2 || b == -0.5); i++)
		how_step(&y, h); /* the reciprocal of a rounded square or root, or the reverse */
	double square = a->hi * a->hi;
	if (b == -2 && h->l->flags & LF_POW && square < num_format[h->dt].normal && square > 0 && !(y.flags & NUM_NOFIN))
		num_widen(&y, num_mag(&y) * num_half_ulp(&num_format[h->dt], square) / square); /* PowKernel.cu: 1.0 / (base * base) */
	if (b == -2 && !(a->flags & NUM_NOFIN) && num_mag(a) * num_mag(a) >= num_format[h->l->compute].overflow && !(y.flags & NUM_NOFIN))
		num_widen(&y, num_mag(&y)); /* 1 / (a * a), whose square overflows */
	return budget(y, h);
}

/* The exponents that kernels may have in place of b: PyTorch's f32 kernels (PowKernel.cpp) have it in f32 in vector lanes and in f64 in the
 * tail of a loop, those of halves in the half dtype; where a half may stay in f32, so may its exponent. Returns how many. */
static int pow_exponents(double out[3], double b, const struct how *h)
{
	double single = num_rn(DT_F32, b, 0), half = num_rn(h->dt, single, 0);
	bool is_half = dtype_is_narrow(h->dt);
	int n = 0;
	out[n++] = is_half ? half : b;
	if (is_half ? h->l->flags & LF_WIDE && b != half : h->dt == DT_F32 && single != b)
		out[n++] = is_half ? b : single;
	if (is_half && h->l->flags & LF_WIDE && single != b && single != half)
		out[n++] = single;
	return n;
}

UNARY(POW)
{
	double b[3];
	int n = pow_exponents(b, B->hi, h);
	struct num y = pow_at(A, b[0], b[0] != B->hi, h);
	for (int i = 1; i < n; i++) {
		struct num other = pow_at(A, b[i], b[i] != B->hi, h);
		y = num_hull(&y, &other);
	}
	return y;
}

/* a ^ b over the rectangle around them. Where a > 0 it is monotonous in either, so the corners bound it. */
static struct num raise_pair(const struct num *a, const struct num *b)
{
	const double ra = fin(a) ? arg_rad(a, false) : 0, rb = fin(b) ? arg_rad(b, false) : 0;
	if (rb == 0 && b->hi == 0)
		return num_exact(DT_F64, 1);
	if (ra == 0 && a->hi == 1)
		return num_exact(DT_F64, 1);
	if (rb == 0) {
		struct num y = num_each(a, each_pow, &(struct power){b->hi, false});
		return isfinite(b->hi) || ra == 0 ? y : num_any(DT_F64);
	}
	const bool maybe_0 = fabs(b->hi) <= rb;
	if (fin(a) && isnan(a->hi))
		return num_any(DT_F64);
	if (!fin(a)) {
		if (maybe_0 || a->hi == -INFINITY)
			return num_any(DT_F64);
		return isnan(a->hi) ? *a : num_exact(DT_F64, b->hi > 0 ? INFINITY : 0);
	}
	if (ra == 0 && a->hi == 0)
		return maybe_0 || b->hi < 0 ? num_any(DT_F64) : num_exact(DT_F64, 0);
	if (a->hi <= ra)
		return num_any(DT_F64);
	const long double y = powl(ld(a), ld(b));
	long double far = 0;
	for (int k = 0; k < 4; k++)
		far = fmaxl(far, fabsl(powl(ld(a) + (k & 1 ? ra : -ra), ld(b) + (k & 2 ? rb : -rb)) - y));
	return isfinite((double)y) && isfinite((double)far) ? of_long_double(y, (double)far * (1 + 0x1p-40) + fabs((double)y) * REL_LD)
														: num_any(DT_F64);
}

static int64_t int_raised(int64_t a, int64_t b)
{
	int64_t y = 1;
	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b > 0; b >>= 1, a = wrap_mul(a, a))
		y = b & 1 ? wrap_mul(y, a) : y;
	return y;
}

UNARY(RAISE)
{
	if (is_int(h))
		return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, int_raised(A->i, B->i));
	return budget(num_pairwise(A, B, raise_pair), h);
}

UNARY(ATAN2) { return budget(num_pairwise(A, B, atan2_pair), h); }

static struct num extreme(const struct num *a, const struct num *b, const struct how *h, int sign)
{
	if (is_int(h)) {
		if (int_open(a) || int_open(b))
			return num_any(h->dt);
		return (a->i >= b->i) == (sign > 0) ? *a : *b;
	}
	struct num r = how_extreme(a, b, h, sign);
	r.dtype = (uint8_t)h->dt;
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}
UNARY(MAX2) { return extreme(A, B, h, 1); }
UNARY(MIN2) { return extreme(A, B, h, -1); }

static int not3(int t) { return t == -1 ? -1 : !t; }
UNARY(EQ) { return truth(num_eq(A, B), h->dt); }
UNARY(NE) { return truth(not3(num_eq(A, B)), h->dt); }
UNARY(LT) { return truth(num_lt(A, B), h->dt); }
UNARY(LE) { return truth(num_le(A, B), h->dt); }
UNARY(GT) { return truth(num_lt(B, A), h->dt); }
UNARY(GE) { return truth(num_le(B, A), h->dt); }
UNARY(AND)
{
	int a = num_truth(A), b = num_truth(B);
	return truth(a == 0 || b == 0 ? 0 : a == 1 && b == 1 ? 1 : -1, h->dt);
}

UNARY(OR)
{
	int a = num_truth(A), b = num_truth(B);
	return truth(a == 1 || b == 1 ? 1 : a == 0 && b == 0 ? 0 : -1, h->dt);
}
UNARY(BIT_AND) { return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, A->i & B->i); }
UNARY(BIT_OR) { return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, A->i | B->i); }
UNARY(BIT_XOR) { return int_open(A) || int_open(B) ? num_any(h->dt) : int_result(h, A->i ^ B->i); }

/* ---- ternary ---- */
UNARY(SELECT)
{
	int t = num_truth(x[0]);
	if (t != -1)
		return *x[t ? 1 : 2];
	if (is_int(h)) {
		if (x[1]->i == x[2]->i && !int_open(x[1]) && !int_open(x[2]))
			return *x[1];
		return num_any(h->dt);
	}
	struct num r = num_either(x[1], x[2]);
	r.dtype = (uint8_t)h->dt;
	return r;
}

/* A bound that is absent is the operand itself. */
UNARY(CLAMP)
{
	bool lower = x[1] != x[0], upper = x[2] != x[0], both = lower && upper;
	if ((lower && sure_nan(x[1])) || (upper && sure_nan(x[2]))) {
		/* 2.15.0: NaN. 2.11.0: NaN if there are two bounds; alone it bounds nothing (TensorCompare.cpp, both measured). */
		struct num nan = num_exact(h->dt, NAN);
		const enum clamp_nan alone = h->semantics->clamp_nan;
		if (both || alone == CLAMP_NAN_WINS)
			return nan;
		return alone == CLAMP_NAN_EITHER ? num_hull(x[0], &nan) : *x[0];
	}
	struct num m = lower ? extreme(x[0], x[1], h, 1) : *x[0];
	m = upper ? extreme(&m, x[2], h, -1) : m;
	m.flags &= ~NUM_MOVED;
	return m;
}

#define v_DETACH v_COPY
#define v_GRAFT  v_COPY

struct num sin_of(const struct num *a, const struct how *h) { return v_SIN(&a, h); }
struct num cos_of(const struct num *a, const struct how *h) { return v_COS(&a, h); }
struct num raise_of(const struct num *a, const struct num *b, const struct how *h)
{
	const struct num *const x[2] = {a, b};
	return v_RAISE(x, h);
}
struct num log_of(const struct num *a, const struct how *h) { return v_LOG(&a, h); }
struct num pow_of(const struct num *a, const struct num *b, const struct how *h)
{
	const struct num *const x[2] = {a, b};
	return v_POW(x, h);
}

/* ---- blocks: one loop per function, the function inside it ---- */
#define LOOP(id, ...)                                                                                                                      \
	static void b_##id(struct num *restrict y, const struct num *restrict v, const sid *const op[3], int64_t n, const struct how *h)       \
	{                                                                                                                                      \
		for (int64_t i = 0; i < n; i++) {                                                                                                  \
			const struct num *const x[] = {__VA_ARGS__};                                                                                   \
			num_put(&y[i], v_##id(x, h));                                                                                                  \
			y[i].dtype = (uint8_t)h->dt;                                                                                                   \
		}                                                                                                                                  \
	}
#define LOOP_0(id)
#define LOOP_1(id) LOOP(id, &v[op[0][i]])
#define LOOP_2(id) LOOP(id, &v[op[0][i]], &v[op[1][i]])
#define LOOP_3(id) LOOP(id, &v[op[0][i]], &v[op[1][i]], &v[op[2][i]])
#define LOOP_N(id)
#define LOOP_R(id)
#define LOOP_M(id)
#define LIBM(id, function, arb, shape, near, what, derivative)                                                                             \
	UNARY(id) { return budget(libm_of(A, SF_##id, h), h); }                                                                                \
	LOOP_1(id)
#define LIBM2(id, function, arb, what, ...)                                                                                                \
	static struct num pair_##id(const struct num *a, const struct num *b) { return libm2_of(a, b, SF_##id); }                              \
	UNARY(id) { return num_unknown(A) || num_unknown(B) ? num_any(h->dt) : budget(num_pairwise(A, B, pair_##id), h); }                     \
	LOOP_2(id)
#define FORMULA(id, arity, what, value, ...) STEPS_##arity(id)
#define STEPS(id)                                                                                                                          \
	static void b_##id(struct num *restrict y, const struct num *restrict v, const sid *const op[3], int64_t n, const struct how *h)       \
	{                                                                                                                                      \
		formula_values(SF_##id, y, v, op, n, h);                                                                                           \
	}
#define STEPS_1(id) STEPS(id)
#define STEPS_2(id) STEPS(id)
#define STEPS_3(id) STEPS(id)
#define STEPS_R1(id)
#define STEPS_R2(id)
#define STEPS_R3(id)
#define SF(id, arity, what) LOOP_##arity(id)
#include "oracle/num/sf.def"

enum { N = SF_LIST, R = SF_SCAN, M = SF_PRODUCT, R1 = SF_ROWS - 1, R2 = SF_ROWS - 2, R3 = SF_ROWS - 3 };
#define ROW(id, arity, value)                                                                                                              \
	{                                                                                                                                      \
#id, arity, value                                                                                                                  \
	}
#define ROW_0(id)  ROW(id, 0, NULL)
#define ROW_1(id)  ROW(id, 1, b_##id)
#define ROW_2(id)  ROW(id, 2, b_##id)
#define ROW_3(id)  ROW(id, 3, b_##id)
#define ROW_N(id)  ROW(id, N, NULL)
#define ROW_R(id)  ROW(id, R, NULL)
#define ROW_M(id)  ROW(id, M, NULL)
#define ROW_R1(id) ROW(id, R1, NULL)
#define ROW_R2(id) ROW(id, R2, NULL)
#define ROW_R3(id) ROW(id, R3, NULL)
const struct sf_info sf_info[NSF] = {
#define SF(id, arity, what) [SF_##id] = ROW_##arity(id),
#include "oracle/num/sf.def"
};
