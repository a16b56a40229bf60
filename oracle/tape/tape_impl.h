/* tape_impl.h: blocks of the tape, for tape.c (building), nary.c (values of lists) and adjoint.c (derivatives). */
#ifndef SCATTERPROOF_TAPE_IMPL_H
#define SCATTERPROOF_TAPE_IMPL_H

#include "oracle/num/func.h"
#include "oracle/tape/tape.h"

struct tape_block {
	enum sf f;
	enum dtype dt;
	int16_t node, result; /* program node, and which of its results this is a part of */
	int lc;               /* licence_entry: whose rules hold */
	sid first;
	int64_t n;             /* scalars first … first + n - 1 */
	const sid *a, *b, *c;  /* operands; lists: a = entries; matmul: a, b */
	const uint32_t *start; /* lists of different lengths, else NULL */
	int64_t len;           /* rows, scans, formulas: entries per row; matmul: k */
	int64_t dim[3];        /* matmul: batch, m, n; formulas: rows */
	double param;          /* matmul: alpha */
	double beta;           /* matmul: factor of the addends c, if there are any */
	const double *scalar;  /* a formula's s0, s1, ... */
};

const struct tape_block *tape_block_of(const struct tape *t, sid id); /* by bisection */

static inline struct how block_how(const struct tape *t, const struct tape_block *b)
{
	/* A conversion inside an operator is elided like one between two; the division of a mean is a division. */
	int lc = b->f == SF_CAST ? LC_CONVERT : b->f == SF_DIV && b->lc == LC_SUM ? LC_DIV : b->lc;
	return (struct how){b->dt, dtype_is_float(b->dt) ? &t->lic->rule[lc][b->dt] : NULL, false, &t->lic->semantics, b->scalar};
}

/* Entries of scalar k of a list block. */
static inline const sid *block_list(const struct tape_block *b, int64_t k, int64_t *n)
{
	if (b->start) {
		*n = b->start[k + 1] - b->start[k];
		return b->a + b->start[k];
	}
	*n = b->len;
	return b->a + k * b->len;
}

void nary_eval(struct tape *t, const struct tape_block *b); /* N, R and M functions */

/* A sum of n terms being formed: magnitude, radii and what is needed to decide that every order gives the same bits. */
struct sum_bounds {
	double abs, rad;
	int flags;
	bool exact;
};
/* Error of adding n terms of total magnitude abs in the accumulation type, and the rounding to how->dt. c: the exact sum. */
struct num sum_finish(struct dd c, const struct sum_bounds *s, double n_roundings, bool single, const struct how *h);
/* Smallest power of two q such that integers times q below abs fit p bits: all partial sums of multiples of q are exact. */
static inline double sum_quantum(double abs, int p)
{
	int e = num_exp(abs) + 1;
	return abs == 0 ? 1 : num_pow2(e - p < -1074 ? -1074 : e - p);
}
static inline bool is_multiple(double x, double q)
{
	double t = x / q;
	if (t == 0)
		return x == 0;                                   /* else the quotient underflowed */
	return fabs(t) >= 0x1p53 || (double)(int64_t)t == t; /* q is a power of two: so is what a double's last bit counts */
}
/* Terms of a sum of products: v[id[i * stride]], or v[i * stride] if id is NULL. */
struct terms {
	const struct num *v;
	const sid *id;
	int64_t stride;
};
static inline const struct num *terms_at(const struct terms *x, int64_t i)
{
	return x->id ? &x->v[x->id[i * x->stride]] : &x->v[i * x->stride];
}
struct num sumprod(const struct terms *a, const struct terms *b, int64_t n, const struct how *h);
/* beta * own + alpha * the same sum, alpha applied to factors, terms or sum; own may be NULL. buf: 2 * (n + 1) numbers. */
struct num sumprod_onto(const struct terms *a, const struct terms *b, int64_t n, double alpha, const struct num *own, double beta,
	const struct how *h, struct num *buf);
/* Widens the sums of an ADD block whose operands are elements of matrix products, where LF_ONTO permits to add these term by term. */
void add_onto(struct tape *t, const struct tape_block *b);
void cumsum_row(struct num *out, const struct num *in, int64_t len, const struct how *h);
static inline int last_bit(double v) /* exponent of the last set bit; v finite, not 0 */
{
	uint64_t u;
	memcpy(&u, &v, 8);
	int e = (int)(u >> 52 & 2047);
	u = (u & (((uint64_t)1 << 52) - 1)) | (uint64_t)(e != 0) << 52;
	return (e ? e : 1) - 1075 + trailing_zeros(u);
}
/* Which entries may be the one that KMAX/KMIN of this list picks; returns how many. cand: n flags. */
int64_t pick_candidates(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, bool *cand);
/* The first of these candidates, if they are equal for certain (infinities and NaNs are, too); else -1. */
int64_t pick_first(const struct tape *t, const sid *e, int64_t n, const bool *cand);
/* Each is one value for certain, and both are the same: a number, an infinity, NaN; zeros of either sign. */
bool surely_equal(const struct num *x, const struct num *y);
/* Are these candidates equal for certain? Then one of them is picked, and no rounding says which. */
bool pick_is_tied(const struct tape *t, const sid *e, int64_t n, const bool *cand);
/* Parts that the value of VAR and LSE share with their derivatives. */
struct var_parts {
	struct dd mean;
	double mean_rad;
};
bool var_of_one(const struct num *v, const sid *e, int64_t n, const struct how *h); /* x - mean is 0 */
struct var_parts var_mean_of(const struct num *v, const sid *e, int64_t n, const struct how *h);

#endif
