/* num.h: a number as the oracle knows it: a centre in double-double (about 106 bits), an error radius, and flags for values
 * outside the finite interval. It stands for the SET of values that licensed evaluations may have:
 *     { v : |v - (hi + lo)| <= rad }  unless NUM_NOFIN,   and +inf, -inf, NaN where flagged.
 *
 * Invariants: hi + lo is normalised (hi = RN(hi + lo)), finite, rad >= 0 and finite; with NUM_NOFIN hi holds a representative
 * (inf or NaN) and rad = lo = 0. rad == 0 without flags is EXACT: the centre is a number of the dtype (so lo = 0) and every
 * licensed evaluation gives these bits (up to the sign of zero, except through pure moves of raw data: NUM_MOVED).
 * NUM_UNDEC: a discontinuity was straddled on the way: what is inside the set is legal, but not confirmed.
 * NUM_ANY: nothing is known (an undecided index): every value is inside.
 * The sign of a zero is known only with NUM_MOVED: a quotient by any other zero is +inf or -inf.
 * Integers and bools are int64_t payloads with modular wrap; only NUM_UNDEC and NUM_ANY apply to them. UNDEC: the value is
 * one of i … i + (int64_t)rad, used for undecided b8 (0..1) and positions (0..n-1).
 *
 * Rounding is never applied to the centre, except where a licence says that one correctly rounded operation on exact operands
 * is all there is (NR_IEEE): then the rounded value is what every evaluation gives, and it is exact.
 * Error bounds: double-double add and mul are within 2^-101 relative (Joldes, Muller, Popescu 2017: 3u^2 and 5u^2); num_round adds
 * 2^-99 of the magnitude whenever a radius is not zero. Radii are sums of positive doubles, inflated by 2^-40 in num_round. */
#ifndef SCATTERPROOF_NUM_H
#define SCATTERPROOF_NUM_H

#include "eager/op.h"

#include <math.h>

enum {
	NUM_PINF = 1, NUM_NINF = 2, NUM_NAN = 4, NUM_NOFIN = 8, NUM_UNDEC = 16, NUM_ANY = 32,
	NUM_MOVED = 64          /* raw data, only moved: the sign of zero counts */
};
#define NUM_INF     (NUM_PINF | NUM_NINF)
#define NUM_SPECIAL (NUM_PINF | NUM_NINF | NUM_NAN | NUM_NOFIN | NUM_ANY)

struct num {
	union { double hi; int64_t i; };
	double lo;
	double rad;
	uint8_t dtype, flags;
};

/* How a step may be rounded (licence.h takes these as column flags). */
enum {
	NR_IEEE = 1,            /* one correctly rounded operation: exact operands give exactly RN */
	NR_WIDE = 2,            /* f16/bf16: may be kept in f32, so overflow is optional */
	NR_FTZ = 4,             /* denormal results may be flushed to zero */
	NR_LOOSE = 128          /* factors may be applied in another order, or skipped when 0: overflow is optional in every format */
};

/* ---- formats ---- */
struct num_format {
	int p, emin;            /* significand bits, exponent of the smallest normal */
	double u;               /* 2^-p: half an ulp, relative */
	double max, overflow;   /* largest finite; RN gives infinity from `overflow` on (max + ulp/2) */
	double normal, tiny;    /* smallest normal, smallest denormal */
};
extern const struct num_format num_format[NDTYPES];     /* zeros for integers */

static inline int num_exp(double m)     /* floor(log2 m) of a positive normal double; -1023 for 0 and denormals */
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
double num_rn(enum dtype dt, double hi, double lo);     /* RN(hi + lo) in a float dtype: one rounding; may be infinite */
static inline bool num_fits(enum dtype dt, double hi, double lo)
{
	if (lo != 0)
		return false;
	if (dt == DT_F64)
		return true;
	if (dt == DT_F32)
		return (double)(float)hi == hi;
	return num_rn(dt, hi, 0) == hi;
}

/* ---- double-double ---- */
struct dd { double hi, lo; };
static inline struct dd dd_two_sum(double a, double b)
{
	double s = a + b, t = s - a;
	return (struct dd){s, (a - (s - t)) + (b - t)};
}
static inline struct dd dd_fast(double a, double b)     /* |a| >= |b| or a == 0 */
{
	double s = a + b;
	return (struct dd){s, b - (s - a)};
}
struct dd dd_two_prod(double a, double b);
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
struct dd dd_mul(struct dd a, struct dd b);
struct dd dd_div(struct dd a, struct dd b);             /* within 2^-98 relative */
struct dd dd_sqrt(struct dd a);                         /* a > 0; within 2^-98 relative */

/* ---- making ---- */
struct num num_exact(enum dtype dt, double v);          /* v a number of dt, or inf, or NaN */
struct num num_int(enum dtype dt, int64_t v);
static inline struct dd num_dd(const struct num *a) { return (struct dd){a->hi, a->lo}; }
static inline bool num_is_exact(const struct num *a) { return a->rad == 0 && (a->flags & ~NUM_MOVED) == 0; }
static inline double num_mag(const struct num *a) { return fabs(a->hi) + a->rad; }     /* upper bound of |finite part| (up to lo) */

/* ---- arithmetic on sets, results unrounded (dtype taken from a); num_round makes them numbers of a dtype ----
 * Unrounded results may have lo != 0 with rad == 0: the real number itself. */
struct num num_add(const struct num *a, const struct num *b);
struct num num_sub(const struct num *a, const struct num *b);
struct num num_mul(const struct num *a, const struct num *b);
struct num num_div(const struct num *a, const struct num *b);
struct num num_neg(struct num a);
struct num num_hull(const struct num *a, const struct num *b);  /* smallest set of this shape that holds both */
struct num num_scale(struct num a, double c);                   /* times an exact finite number */
struct num num_any(enum dtype dt);
/* f applied to every component (finite part, +inf, -inf, NaN) of the operands, results united. */
typedef struct num num_pair_fn(const struct num *a, const struct num *b);
struct num num_pairwise(const struct num *a, const struct num *b, num_pair_fn *f);
typedef struct num num_each_fn(const struct num *a, const void *ctx);
struct num num_each(const struct num *a, num_each_fn *f, const void *ctx);

/* Rounds to dtype dt under NR_* flags: adds half an ulp, or makes the value exact, marks overflow, flushes. */
void num_round_slow(struct num *v, enum dtype dt, int nr);
static inline void num_round(struct num *v, enum dtype dt, int nr)
{
	v->dtype = (uint8_t)dt;
	if (LIKELY(v->rad == 0 && !(v->flags & NUM_SPECIAL) && fabs(v->hi) <= num_format[dt].max && num_fits(dt, v->hi, v->lo)
		&& (!(nr & NR_FTZ) || v->hi == 0 || fabs(v->hi) >= num_format[dt].normal)))
		return;
	num_round_slow(v, dt, nr);
}
/* The same for a conversion: f64 to a half may go through f32 (PyTorch's does), which rounds twice; where that differs, both are inside. */
void num_convert(struct num *v, enum dtype dt, int nr);
/* rad += extra absolute error (>= 0, may be inf: then everything is possible). */
void num_widen(struct num *v, double extra);
/* Is the double `got` (a number of dt, inf or NaN) inside the set? Zeros without sign. */
bool num_has(const struct num *v, double got);
double num_low(const struct num *v);    /* ends of the finite part, rounded outwards */
double num_high(const struct num *v);

/* ---- comparison: 1 true for all members, 0 false for all, -1 undecided ---- */
int num_lt(const struct num *a, const struct num *b);
int num_le(const struct num *a, const struct num *b);
int num_eq(const struct num *a, const struct num *b);
int num_truth(const struct num *a);     /* a != 0, float or integer; NaN is true */

#endif
