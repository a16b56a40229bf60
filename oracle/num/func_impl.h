/* func_impl.h: what func.c and func_grad.c share. */
#ifndef SCATTERPROOF_FUNC_IMPL_H
#define SCATTERPROOF_FUNC_IMPL_H

#include "oracle/num/func.h"

/* `to` is 0 where `from` is a zero of known sign; then its own sign is known, too: that of `sign`. */
INLINE void zero_sign(struct num *to, const struct num *from, double sign)
{
	if (UNLIKELY(to->hi == 0 && num_is_exact(to) && num_is_exact(from) && from->flags & NUM_MOVED && from->hi == 0)) {
		to->hi = copysign(0, sign);
		to->flags |= NUM_MOVED;
	}
}
/* A quotient inside a formula, unrounded. */
INLINE struct num quotient(const struct num *a, const struct num *b, const struct how *h)
{
	struct num r = num_div(a, b);
	if (h->l->flags & LF_QUOT && h->l->compute == DT_F32 && !(r.flags & NUM_NOFIN))
		num_widen(&r, 2 * how_ulp(h, num_mag(&r)));
	return r;
}
/* a / b, rounded as the last and only step; a constant divisor may be inverted first (LF_RECIP). */
struct num div_of(const struct num *a, const struct num *b, const struct how *h);
/* a / b made whole, towards 0 or -infinity. */
struct num whole_quotient(const struct num *a, const struct num *b, bool floored, const struct how *h);
struct num each_sign(const struct num *a, const void *ctx); /* for num_each */
/* Values, rounded. */
struct num sin_of(const struct num *a, const struct how *h);
struct num cos_of(const struct num *a, const struct how *h);
struct num log_of(const struct num *a, const struct how *h);
struct num raise_of(const struct num *a, const struct num *b, const struct how *h);
struct num pow_of(const struct num *a, const struct num *b, const struct how *h);

/* ---- elementary functions ---- */
/* Relative errors granted to the functions of long double and double. */
#define REL_LD 0x1p-58
#define REL_D  0x1p-50
struct num of_long_double(long double y, double rad);
/* y with radius rad; an infinite y is the answer only if the argument was one number (rad 0): others may be finite. */
INLINE struct num of_double(double y, double rad)
{
	if (UNLIKELY(!isfinite(y)))
		return rad == 0 ? num_exact(DT_F64, y) : num_take(num_any(DT_F64));
	rad += fabs(y) * REL_D + 0x1p-1060;
	if (UNLIKELY(!isfinite(rad)))
		return num_take(num_any(DT_F64));
	return (struct num){.hi = y, .rad = rad, .dtype = DT_F64};
}

INLINE long double ld(const struct num *a) { return (long double)a->hi + (long double)a->lo; }
/* NaN, and nothing else. */
INLINE bool sure_nan(const struct num *a)
{
	return dtype_is_float((enum dtype)a->dtype) && (a->flags & (NUM_SPECIAL & ~NUM_NOFIN)) == NUM_NAN && a->flags & NUM_NOFIN;
}
INLINE bool fin(const struct num *a) { return !(a->flags & NUM_NOFIN); }
/* Radius of the argument as the function sees it: long double loses what is below 64 bits, double the low part. */
INLINE double arg_rad(const struct num *a, bool narrow)
{
	return a->lo == 0 ? a->rad : a->rad + (narrow ? fabs(a->lo) : fabs(a->hi) * 0x1p-63);
}
/* Context of the functions below: not NULL where those of double are good enough. */
INLINE const void *narrow_of(const struct how *h) { return num_format[h->l->compute].p < 53 ? h : NULL; }

/* Bounds from above: e^r - 1, -log(1 - q). */
static inline double expm1_up(double r) { return (r < 0x1p-10 ? r * (1 + r * (0.5 + r * 0.25)) : expm1(r)) * (1 + 0x1p-40); }
static inline double log_up(double q) { return (q < 0x1p-10 ? q * (1 + q * (0.5 + q * 0.5)) : -log1p(-q)) * (1 + 0x1p-40); }

#define EXP_OVERFLOWS  710.0  /* exp of this is beyond double */
#define EXP_UNDERFLOWS -746.0 /* and of this less than any */

INLINE struct num each_exp(const struct num *a, const void *narrow)
{
	if (!fin(a))
		return num_exact(DT_F64, exp(a->hi));
	if (a->hi == 0 && a->rad == 0)
		return num_exact(DT_F64, 1);
	double r = arg_rad(a, narrow);
	if (a->hi - r >= EXP_OVERFLOWS)
		return num_exact(DT_F64, INFINITY);
	if (a->hi + r <= EXP_UNDERFLOWS)
		return (struct num){.rad = 0x1p-1074, .dtype = DT_F64};
	if (narrow) {
		double y = exp(a->hi);
		return of_double(y, r == 0 ? 0 : (y + 0x1p-1060) * expm1_up(r)); /* y may have underflowed */
	}
	long double y = expl(ld(a));
	return num_take(of_long_double(y, r == 0 ? 0 : ((double)y + 0x1p-1074) * expm1_up(r)));
}

/* Unrounded, the argument's radius carried through, no budget added. */
INLINE struct num num_exp_of(const struct num *a, const struct how *h)
{
	if (UNLIKELY(a->flags & NUM_BEYOND && fabs(a->hi) > a->rad)) { /* as far as any function sees */
		struct num far = num_exact(DT_F64, a->hi > 0 ? INFINITY : -INFINITY);
		far.flags |= a->flags & (NUM_INF | NUM_NAN | NUM_UNDEC);
		return num_take(num_each_part(&far, each_exp, narrow_of(h)));
	}
	return num_each(a, each_exp, narrow_of(h));
}
struct num num_log_of(const struct num *a, const struct how *h);

#endif
