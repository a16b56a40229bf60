/* num.h: a number as the oracle knows it: a centre in double-double (about 106 bits), an error radius, and flags for values
 * outside the finite interval. It stands for the SET of values that licensed evaluations may have:
 *     { v : |v - (hi + lo)| <= rad }  unless NUM_NOFIN,   and +inf, -inf, NaN where flagged.
 *
 * Invariants: hi + lo is normalised (hi = RN(hi + lo)), finite, rad >= 0 and finite; with NUM_NOFIN hi holds a representative
 * (inf or NaN) and rad = lo = 0. rad == 0 without flags is EXACT: the centre is a number of the dtype (so lo = 0) and every
 * licensed evaluation gives these bits (up to the sign of zero, except through pure moves of raw data: NUM_MOVED).
 * NUM_UNDEC: a discontinuity was straddled on the way: what is inside the set is legal, but not confirmed.
 * NUM_ANY: nothing is known (an undecided index): every value is inside.
 * NUM_BEYOND, of unrounded results and steps inside a formula: the finite part leaves double, and is hi, lo and rad times 2^(64 k), k being
 * num_beyond_k. Arithmetic knows the form, num_round makes infinities of it; whatever else reads it sees NUM_ANY, which goes with it.
 * The sign of a zero is known only with NUM_MOVED: a quotient by any other zero is +inf or -inf.
 * Integers and bools are int64_t payloads with modular wrap; only NUM_UNDEC and NUM_ANY apply to them. UNDEC: the value is
 * one of i … i + (int64_t)rad, used for undecided b8 (0..1) and positions (0..n-1); if `among` is not 0 one of those i + k whose bit k it
 * has. NUM_TIED, only with NUM_UNDEC: the positions of certain equals, among which the operator may choose; no rounding is involved, and
 * nothing but these positions is right.
 *
 * Rounding is never applied to the centre, except where a licence says that one correctly rounded operation on exact operands
 * is all there is (NR_IEEE): then the rounded value is what every evaluation gives, and it is exact.
 * Error bounds: double-double add and mul are within 2^-101 relative (Joldes, Muller, Popescu 2017: 3u^2 and 5u^2); num_round adds
 * 2^-99 of the magnitude whenever a radius is not zero. Radii are sums of positive doubles, inflated by 2^-40 in num_round. */
#ifndef SCATTERPROOF_NUM_H
#define SCATTERPROOF_NUM_H

#include "eager/lang/op.h"

#include <math.h>

enum {
	NUM_PINF = 1,
	NUM_NINF = 2,
	NUM_NAN = 4,
	NUM_NOFIN = 8,
	NUM_UNDEC = 16,
	NUM_ANY = 32,
	NUM_MOVED = 64, /* raw data, only moved: the sign of zero counts */
	NUM_BEYOND = 128,
	NUM_TIED = 256
};
#define NUM_INF     (NUM_PINF | NUM_NINF)
#define NUM_SPECIAL (NUM_PINF | NUM_NINF | NUM_NAN | NUM_NOFIN | NUM_ANY)

struct num {
	union {
		double hi;
		int64_t i;
	};
	union {
		double lo;
		uint64_t among;
	};
	double rad;
	int32_t dtype, flags; /* wide: with padding compilers would copy the struct through memory */
};

/* How a step may be rounded (licence.h takes these as column flags). */
enum {
	NR_IEEE = 1,      /* one correctly rounded operation: exact operands give exactly RN */
	NR_WIDE = 2,      /* f16/bf16: may be kept in f32, so overflow is optional */
	NR_FTZ = 4,       /* denormal results may be flushed to zero */
	NR_LOOSE = 128,   /* factors may be applied in another order, or skipped when 0: overflow is optional in every format */
	NR_NAN = 1 << 27, /* beyond a format without infinity: its largest number; or NaN, with both, or without either */
	NR_MAX = 1 << 28,
	NR_KEPT = 1 << 29, /* may be kept in f64 */
	NR_STEP = 1 << 30  /* no result, a step inside a formula: what is beyond double may stay so (NUM_BEYOND) */
};

/* ---- formats ---- */
struct num_format {
	int p, emin;          /* significand bits, exponent of the smallest normal */
	double u;             /* 2^-p: half an ulp, relative */
	double max, overflow; /* largest finite; RN gives infinity from `overflow` on (max + ulp/2) */
	double normal, tiny;  /* smallest normal, smallest denormal */
	bool no_inf;          /* what is beyond it is NaN, or its largest number (NR_MAX) */
};
extern const struct num_format num_format[NDTYPES]; /* zeros for integers */

static inline int num_exp(double m) /* floor(log2 m) of a positive normal double; -1023 for 0 and denormals */
{
	uint64_t u;
	memcpy(&u, &m, 8);
	return (int)(u >> 52 & 2047) - 1023;
}
static inline double num_pow2(int e)
{
	if (UNLIKELY(e < -1022 || e > 1023))
		return ldexp(1.0, e);
	uint64_t u = (uint64_t)(e + 1023) << 52;
	double d;
	memcpy(&d, &u, 8);
	return d;
}
/* Half an ulp of format f at magnitude m (denormals have the smallest quantum). Never 0. */
static inline double num_half_ulp(const struct num_format *f, double m)
{
	int e = num_exp(m);
	e = (e < f->emin ? f->emin : e) - f->p;
	return e < -1074 ? 0x1p-1074 : num_pow2(e);
}
int64_t num_wrap(enum dtype dt, int64_t v);         /* v modulo 2^bits of an integer dtype; b8: v != 0 */
double num_rn(enum dtype dt, double hi, double lo); /* RN(hi + lo) in a float dtype: one rounding; may be infinite */
static inline bool num_fits(enum dtype dt, double hi, double lo)
{
	const struct num_format *f = &num_format[dt];
	double m = fabs(hi);
	if (lo != 0)
		return false;
	if (dt == DT_F64)
		return true;
	if (LIKELY(m >= f->normal && m <= f->max)) { /* no bit below the significand's last */
		uint64_t u;
		memcpy(&u, &hi, 8);
		return !(u << (f->p + 11));
	}
	return hi == 0 || num_rn(dt, hi, 0) == hi;
}
/* num_rn where normal <= |hi| <= max of a format narrower than f64: nearest, ties to even, in the bits of the double. */
static inline double num_rn_normal(const struct num_format *f, double hi, double lo)
{
	uint64_t u;
	int drop = 53 - f->p;
	memcpy(&u, &hi, 8);
	if (lo != 0 && !(u & 1)) /* to odd first (Boldo, Melquiond 2008) */
		u = (lo > 0) == (hi > 0) ? u + 1 : u - 1;
	u += ((uint64_t)1 << (drop - 1)) - 1 + (u >> drop & 1);
	u = u >> drop << drop;
	memcpy(&hi, &u, 8);
	return hi;
}

/* ---- double-double ---- */
struct dd {
	double hi, lo;
};
static inline struct dd dd_two_sum(double a, double b)
{
	double s = a + b, t = s - a;
	return (struct dd){s, (a - (s - t)) + (b - t)};
}
static inline struct dd dd_fast(double a, double b) /* |a| >= |b| or a == 0 */
{
	double s = a + b;
	return (struct dd){s, b - (s - a)};
}
INLINE struct dd dd_two_prod(double a, double b)
{
	double p = a * b;
	if ((double)(float)a == a && (double)(float)b == b) /* 24 + 24 bits: exact, and fma is a call */
		return (struct dd){p, 0};
	return (struct dd){p, fma(a, b, -p)};
}
static inline struct dd dd_add(struct dd a, struct dd b)
{
	struct dd s = dd_two_sum(a.hi, b.hi), t = dd_two_sum(a.lo, b.lo);
	s.lo += t.hi;
	s = dd_fast(s.hi, s.lo);
	s.lo += t.lo;
	return dd_fast(s.hi, s.lo);
}
static inline struct dd dd_add_d(struct dd a, double b)
{
	struct dd s = dd_two_sum(a.hi, b);
	s.lo += a.lo;
	return dd_fast(s.hi, s.lo);
}
static inline struct dd dd_neg(struct dd a) { return (struct dd){-a.hi, -a.lo}; }
INLINE struct dd dd_mul(struct dd a, struct dd b)
{
	struct dd p = dd_two_prod(a.hi, b.hi);
	if (a.lo == 0 && b.lo == 0)
		return p;
	p.lo += a.hi * b.lo + a.lo * b.hi;
	return dd_fast(p.hi, p.lo);
}
struct dd dd_div(struct dd a, struct dd b); /* within 2^-98 relative */
struct dd dd_sqrt(struct dd a);             /* a > 0; within 2^-98 relative */

/* ---- making ---- */
INLINE struct num num_exact(enum dtype dt, double v) /* v a number of dt, or inf, or NaN */
{
	struct num r = {.hi = v, .dtype = (uint8_t)dt};
	if (UNLIKELY(!isfinite(v)))
		r.flags = (uint8_t)((isnan(v) ? NUM_NAN : v > 0 ? NUM_PINF : NUM_NINF) | NUM_NOFIN);
	return r;
}
struct num num_int(enum dtype dt, int64_t v);
static inline struct dd num_dd(const struct num *a) { return (struct dd){a->hi, a->lo}; }
static inline bool num_is_exact(const struct num *a) { return a->rad == 0 && (a->flags & ~NUM_MOVED) == 0; }
static inline int num_beyond_k(const struct num *a) { return a->flags & NUM_BEYOND ? a->flags >> 16 : 0; }
static inline bool num_unknown(const struct num *a) { return a->flags & NUM_ANY && !num_beyond_k(a); } /* nothing is known of it */
static inline double num_mag(const struct num *a) { return fabs(a->hi) + a->rad; } /* upper bound of |finite part| (up to lo) */

/* Stores field by field: a copy of the whole struct right after its fields were written waits for their stores. */
INLINE void num_put(struct num *to, struct num v)
{
	to->hi = v.hi;
	to->lo = v.lo;
	to->rad = v.rad;
	to->dtype = v.dtype;
	to->flags = v.flags;
}

/* What a call returned, field by field: so the result of the inline function around it can stay in registers. */
INLINE struct num num_take(struct num v) { return (struct num){.hi = v.hi, .lo = v.lo, .rad = v.rad, .dtype = v.dtype, .flags = v.flags}; }

/* ---- arithmetic on sets, results unrounded (dtype taken from a); num_round makes them numbers of a dtype ----
 * Unrounded results may have lo != 0 with rad == 0: the real number itself. Finite operands are the fast path, here; the rest
 * is in num.c. */
struct num num_scaled(enum dtype dt, struct dd c, double rad, int e, int flags); /* c and rad times 2^e */
struct num num_beyond(enum dtype dt, struct dd c, double rad, int flags);
struct num num_add_beyond(const struct num *a, const struct num *b, int flags);
struct num num_mul_beyond(const struct num *a, const struct num *b, int flags);
INLINE bool num_overflowed(struct dd c, double rad)
{
	return (c.hi - c.hi) + (c.lo - c.lo) + (rad - rad) != 0;
} /* NaN unless all are finite */
/* An unrounded result: infinities that the centre ran into become flags. */
INLINE struct num num_of(enum dtype dt, struct dd c, double rad, int flags)
{
	if (UNLIKELY(num_overflowed(c, rad)))
		return num_take(num_beyond(dt, c, rad, flags));
	return (struct num){.hi = c.hi, .lo = c.lo, .rad = rad, .dtype = (uint8_t)dt, .flags = flags};
}
struct num num_neg(struct num a);
struct num num_add_sets(const struct num *a, const struct num *b);
struct num num_mul_sets(const struct num *a, const struct num *b);
struct num num_mul_tiny(const struct num *a, const struct num *b, struct dd p, double rad, int flags);

INLINE struct num num_add(const struct num *a, const struct num *b)
{
	if (UNLIKELY((a->flags | b->flags) & NUM_SPECIAL))
		return num_take(num_add_sets(a, b));
	struct dd c = dd_add(num_dd(a), num_dd(b));
	double rad = a->rad + b->rad;
	int flags = (a->flags | b->flags) & NUM_UNDEC;
	if (UNLIKELY(num_overflowed(c, rad)))
		return num_take(num_add_beyond(a, b, flags));
	return (struct num){.hi = c.hi, .lo = c.lo, .rad = rad, .dtype = (uint8_t)a->dtype, .flags = (uint8_t)flags};
}
INLINE struct num num_sub(const struct num *a, const struct num *b)
{
	if (UNLIKELY((a->flags | b->flags) & NUM_SPECIAL)) {
		struct num c = num_neg(*b);
		return num_take(num_add_sets(a, &c));
	}
	struct dd c = dd_add(num_dd(a), dd_neg(num_dd(b)));
	double rad = a->rad + b->rad;
	int flags = (a->flags | b->flags) & NUM_UNDEC;
	if (UNLIKELY(num_overflowed(c, rad))) {
		struct num n = num_neg(*b);
		return num_take(num_add_beyond(a, &n, flags));
	}
	return (struct num){.hi = c.hi, .lo = c.lo, .rad = rad, .dtype = (uint8_t)a->dtype, .flags = (uint8_t)flags};
}
INLINE struct num num_mul_finite(const struct num *a, const struct num *b, int flags)
{
	struct dd p = dd_mul(num_dd(a), num_dd(b));
	double rad = a->rad == 0 && b->rad == 0 ? 0 : (fabs(a->hi) * b->rad + fabs(b->hi) * a->rad + a->rad * b->rad) * (1 + 0x1p-50);
	if (UNLIKELY(fabs(p.hi) < 0x1p-960))
		return num_take(num_mul_tiny(a, b, p, rad, flags));
	if (UNLIKELY(num_overflowed(p, rad)))
		return num_take(num_mul_beyond(a, b, flags));
	return (struct num){.hi = p.hi, .lo = p.lo, .rad = rad, .dtype = (uint8_t)a->dtype, .flags = (uint8_t)flags};
}
INLINE struct num num_mul(const struct num *a, const struct num *b)
{
	if (UNLIKELY((a->flags | b->flags) & NUM_SPECIAL))
		return num_take(num_mul_sets(a, b));
	return num_mul_finite(a, b, (a->flags | b->flags) & NUM_UNDEC);
}
struct num num_div(const struct num *a, const struct num *b);
struct num num_hull(const struct num *a, const struct num *b); /* smallest set of this shape that holds both */
/* One of the two, and nothing decides which: the smallest interval that holds both. There is no truth to keep: the centre moves. */
struct num num_either(const struct num *a, const struct num *b);
struct num num_ends(enum dtype dt, double low, double high, int flags); /* the doubles from low to high; infinite ends: all */
struct num num_scale(struct num a, double c);                           /* times an exact finite number */
struct num num_any(enum dtype dt);
/* What the positive and what the negative finite terms of a sum come to at most: how far some order of adding may go on the way. */
struct num_reach {
	double up, down;
};
/* v is their sum, to which roundings add the part `rel` of either at most; infinite is what reaches `limit`. Then, in some order, an
 * infinity of that sign comes of it, and it stays: v itself may overflow to the other side. sure: another term is surely an infinity or
 * NaN; then NaN may come of it, but no other infinity. */
void num_reach_overflow(struct num *v, const struct num_reach *s, double rel, double limit, bool sure);
/* f applied to every component (finite part, +inf, -inf, NaN) of the operands, results united. */
typedef struct num num_pair_fn(const struct num *a, const struct num *b);
struct num num_pairwise(const struct num *a, const struct num *b, num_pair_fn *f);
typedef struct num num_each_fn(const struct num *a, const void *ctx);
struct num num_each_part(const struct num *a, num_each_fn *f, const void *ctx);
INLINE struct num num_each(const struct num *a, num_each_fn *f, const void *ctx)
{
	if (UNLIKELY(a->flags & NUM_SPECIAL))
		return num_take(num_each_part(a, f, ctx));
	struct num r = f(a, ctx);
	r.dtype = a->dtype;
	r.flags |= a->flags & NUM_UNDEC;
	return r;
}

/* Finite numbers times 2^-1100, for sums that go beyond double: what is lost of them is less than a unit of their sum. */
struct num num_down(const struct num *a);
struct num num_down_product(const struct num *a, const struct num *b);
/* An f64 sum of scaled-down terms, rounded: c is their exact sum, rad that of their radii, rel the part of their magnitudes that
 * roundings may come to; rel == 0: one addition, so nothing overflows on the way. */
struct num num_huge_sum(struct dd c, const struct num_reach *s, double rad, double rel, int nr);

/* Rounds to dtype dt under NR_* flags: adds half an ulp, or makes the value exact, marks overflow, flushes. */
struct num num_rounded(struct num v, enum dtype dt, int nr);
/* The same where nothing overflows and nothing is denormal; both agree to the last bit. */
INLINE void num_round(struct num *v, enum dtype dt, int nr)
{
	const struct num_format *f = &num_format[dt];
	double m = fabs(v->hi);
	v->dtype = (uint8_t)dt;
	if (UNLIKELY(v->flags & NUM_SPECIAL)) {
		num_put(v, num_rounded(*v, dt, nr));
	} else if (v->rad == 0 && m <= f->max && (m >= 2 * f->normal || m == 0)) {
		if (num_fits(dt, v->hi, v->lo))
			return;
		if (!(nr & NR_IEEE) || dt == DT_F64) {
			num_put(v, num_rounded(*v, dt, nr));
		} else {
			v->hi = num_rn_normal(f, v->hi, v->lo);
			v->lo = 0;
			v->flags &= NUM_UNDEC;
		}
	} else if (v->rad != 0 && !(nr & NR_FTZ)) {
		m = m * (1 + 0x1p-52) + v->rad;
		double half = num_half_ulp(f, m), rad = (v->rad + (f->p < 24 ? half * (1 + 0x1p-12) : half) + m * 0x1p-99) * (1 + 0x1p-40);
		if (UNLIKELY(rad < 0x1p-1070 || !(m + rad < f->overflow))) {
			num_put(v, num_rounded(*v, dt, nr));
		} else {
			v->rad = rad;
			v->flags &= NUM_UNDEC;
		}
	} else {
		num_put(v, num_rounded(*v, dt, nr));
	}
}
/* v is what one addition, the last step and correctly rounded by all, comes to before its rounding. Where all of that rounds to one number,
 * v becomes it. */
void num_settle(struct num *v, enum dtype dt);
/* The same for a conversion: f64 to a half may go through f32 (PyTorch's does), which rounds twice; where that differs, both are inside. */
void num_convert(struct num *v, enum dtype dt, int nr);
/* rad += extra absolute error (>= 0, may be inf: then everything is possible). */
INLINE void num_widen(struct num *v, double extra)
{
	if (extra != 0 && !(v->flags & NUM_NOFIN))
		num_put(v, num_of((enum dtype)v->dtype, num_dd(v), v->rad + extra, v->flags & ~NUM_MOVED));
}
/* Is the double `got` (a number of dt, inf or NaN) inside the set? Zeros without sign. */
bool num_has(const struct num *v, double got);
double num_low(const struct num *v); /* ends of the finite part, rounded outwards, but never to infinity */
double num_high(const struct num *v);

INLINE void num_reach_add(struct num_reach *s, const struct num *x)
{
	double more = x->rad + fabs(x->lo), scale = UNLIKELY(num_beyond_k(x)) ? INFINITY : 1;
	if (!(x->flags & (NUM_NOFIN | NUM_ANY)) || scale > 1) {
		s->up += x->hi + more > 0 ? (x->hi + more) * scale : 0;
		s->down += more - x->hi > 0 ? (more - x->hi) * scale : 0;
	}
}

/* ---- comparison: 1 true for all members, 0 false for all, -1 undecided ---- */
int num_lt(const struct num *a, const struct num *b);
int num_le(const struct num *a, const struct num *b);
int num_eq(const struct num *a, const struct num *b);
int num_truth(const struct num *a); /* a != 0, float or integer; NaN is true */

#endif
