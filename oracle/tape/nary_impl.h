/* nary_impl.h: what the files of nary.c share: values of lists, one function per kind. e: n entries; h: the form they are computed in. */
#ifndef SCATTERPROOF_NARY_IMPL_H
#define SCATTERPROOF_NARY_IMPL_H

#include "oracle/tape/tape_impl.h"

static inline double num_low_mag(const struct num *a) { return a->flags & NUM_NOFIN ? INFINITY : fabs(a->hi) - a->rad; }
static inline double finite_mag(const struct num *a) { return a->flags & NUM_NOFIN ? 0 : num_beyond_k(a) ? INFINITY : num_mag(a); }

/* nary.c. depth: the additions that an entry goes through at most; 0: all. */
struct num nary_sum(const struct num *v, const sid *e, int64_t n, double depth, const struct how *h);
void sum_reach_overflow(struct num *r, const struct num_reach *s, int64_t n, const struct num_format *f, bool sure);

/* nary_slides.c */
struct num sumprod_slides(const struct tape *t, const sid *pair, int64_t n, const struct how *h);

/* nary_product.c */
struct num nary_prod(const struct tape *t, const sid *e, int64_t n, const struct how *h);
void nary_cumsum(struct tape *t, const struct tape_block *b, const struct how *h);
void nary_cumprod(struct tape *t, const struct tape_block *b, const struct how *h);

/* nary_extreme.c */
struct num nary_extreme(const struct num *v, const sid *e, int64_t n, int sign, const struct how *h);
struct num nary_pick(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, const struct how *h);
struct num nary_one_of(const struct tape *t, const sid *e, int64_t n, const struct how *h);
struct num nary_any_all(const struct tape *t, const sid *e, int64_t n, int want);

/* rows.c */
void rows_value(struct tape *t, const struct tape_block *b, const struct how *h);

/* nary_var.c */
struct num nary_var(const struct num *v, const sid *e, int64_t n, double correction, const struct how *h);
struct num nary_lse(const struct tape *t, const sid *e, int64_t n, const struct how *h);

#endif
