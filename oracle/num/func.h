/* func.h: the scalar functions of sf.def: value with radius, and partial derivatives times the adjoint, per licence rule.
 *
 * Elementary functions of f64 are computed in long double and taken to be within 2^-58 relative (glibc states at most 3 ULP of the
 * 64-bit format; on machines whose long double is a double this header refuses to compile). Where the licence computes in f32 the
 * functions of double do, taken to be within 2^-50 (glibc states at most 2 ULP): 2^-25 of the rounding that follows. The error is
 * part of the radius in both. */
#ifndef SCATTERPROOF_FUNC_H
#define SCATTERPROOF_FUNC_H

#include "oracle/num/licence.h"
#include "oracle/num/sf.h"

#include <float.h>
_Static_assert(LDBL_MANT_DIG >= 64, "the oracle needs a long double of at least 64 bits");

/* How one step is to be computed: the block's dtype and the rule of its licence class. */
struct how {
	enum dtype dt;
	const struct lic_rule *l;                 /* NULL for integer dtypes */
	bool constant_b;                          /* DIV: the divisor is a constant of the program */
	const struct target_semantics *semantics; /* NULL for steps inside a formula */
	const double *scalar;                     /* of a formula: its s0, s1, ...; NULL: it has none */
};

/* Values of n scalars y[i] of operands v[op[k][i]], which lie before y. Float results are rounded to how->dt; integer and bool
 * results wrap. */
typedef void sf_value_fn(struct num *restrict y, const struct num *restrict v, const sid *const op[3], int64_t n, const struct how *h);
/* Contributions gx[i][k] to the operands v[op[k][i]] of n scalars with values y[i] and adjoints g[i]; flags NUM_ABSENT: none. */
typedef void sf_adj_fn(struct num (*restrict gx)[3], const struct num *g, const struct num *y, const struct num *v, const sid *const op[3],
	int64_t n, const struct how *h);

enum { NUM_ABSENT = 255 };
/* Arities below 0. SF_ROWS - n: rows of n operands. */
enum { SF_LIST = -1, SF_SCAN = -2, SF_PRODUCT = -3, SF_ROWS = -4 };
struct sf_info {
	const char *name;
	int arity;
	sf_value_fn *value;
};
extern const struct sf_info sf_info[NSF]; /* value NULL: lists (nary.c) and sources */
extern sf_adj_fn *const sf_adj[NSF];      /* NULL: no derivative, or a list */
/* Operands of a map or of rows. */
static inline int sf_operands(enum sf f)
{
	int n = sf_info[f].arity;
	return n > 0 ? n : n < SF_ROWS ? SF_ROWS - n : 0;
}

/* One ulp of the compute type at magnitude m. */
INLINE double how_ulp(const struct how *h, double m) { return 2 * num_half_ulp(&num_format[h->l->compute], m); }

/* What is smaller than this, in a format, may become 0. */
INLINE double how_least(const struct how *h, const struct num_format *f) { return h->l->flags & LF_FTZ ? f->normal : f->tiny; }

/* Factors that are constants may have been multiplied first: half an ulp more where anything is rounded at all. */
INLINE void how_folded(struct num *v, const struct how *h)
{
	if (UNLIKELY(h->l->flags & LF_FOLDED) && !(v->flags & NUM_SPECIAL) && (v->rad > 0 || !num_fits(h->dt, v->hi, v->lo)))
		num_widen(v, how_ulp(h, num_mag(v)) / 2);
}

/* One more step inside a formula: rounded in the tensor's dtype if the rule says so (LF_STEPS), else in the compute type; never
 * assumed to be THE correctly rounded answer, because formulas differ. Overflow on the way is optional, the order of the factors
 * being free. */
INLINE void how_step(struct num *v, const struct how *h)
{
	int kept = h->l->compute == DT_F64 ? NR_KEPT : 0;
	how_folded(v, h);
	num_round(v, h->l->flags & LF_STEPS ? h->dt : h->l->compute, (int)(h->l->flags & LF_INEXACT) | NR_WIDE | NR_LOOSE | NR_STEP | kept);
}
/* The last step of a formula of several. */
INLINE void how_last(struct num *v, const struct how *h)
{
	how_folded(v, h);
	num_round(v, h->dt, (int)(h->l->flags & LF_INEXACT));
}
/* The only step: exact operands may give the exact rounded answer. */
INLINE void how_only(struct num *v, const struct how *h)
{
	how_folded(v, h);
	num_round(v, h->dt, (int)(h->l->flags & LF_ROUND));
}

/* max (sign 1) or min (sign -1) of two sets, NaN wins. */
struct num num_max_of(const struct num *a, const struct num *b, int sign);
/* The same of a dtype's numbers under its rule: where denormals may be flushed before they are compared, two of them are equal, and either
 * may come out. */
struct num how_extreme(const struct num *a, const struct num *b, const struct how *h, int sign);

#endif
