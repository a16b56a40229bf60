/* lower_nest.h: what the rules with nests share (lower_reduce.c, lower_scan.c, lower_scatter*.c, lower_matmul.c): loops, arithmetic on
 * registers, accumulators. Accumulators are WIDE, as those of eager's kernels are: f64 for floats, i64 for integers and bool. */
#ifndef SCATTERPROOF_LOWER_NEST_H
#define SCATTERPROOF_LOWER_NEST_H

#include "compiled/loops/lower.h"

static inline enum dtype nest_wide(enum dtype t) { return dtype_is_float(t) ? DT_F64 : DT_I64; }

/* ---- loops ---- */
struct affine nest_for(struct lowering *l, int64_t n); /* the variable of a new loop; for one element 0, and no loop */
void nest_end(struct lowering *l, int depth);          /* ends loops until so many are open (l->out->depth) */

/* ---- arithmetic ---- */
int nest_float(struct lowering *l, double v);                            /* in f64 */
int nest_row(struct lowering *l, int row, enum dtype t, int a, int b);   /* a POINTWISE row of two operands without numbers */
int nest_holds(struct lowering *l, int row, enum dtype t, int a, int b); /* a comparison, as a condition */
int nest_sum(struct lowering *l, enum dtype t, int a, int b);            /* wide a + b of elements of t: for bool "or" */
/* Does a come before b, wide values of elements of t? NaN is before all numbers, or behind them. */
enum nest_order { GREATEST, LEAST, LEAST_NAN_LAST };
int nest_precedes(struct lowering *l, enum dtype t, enum nest_order o, int a, int b);
/* An element converted to dtype `as` (as aten::copy_ converts), wide. */
int nest_load(struct lowering *l, int node, const struct affine *idx, enum dtype as);
int nest_widened(struct lowering *l, int value); /* an element's register, wide */
/* A wide value rounded to the dtype of result k, and stored there. */
void nest_put(struct lowering *l, int k, const struct affine *idx, int value);
/* The element of self at the same index, into result 0. */
void nest_copy(struct lowering *l, int self);

/* ---- accumulators in memory: a wide one per element of result 0 ---- */
struct place nest_sums(struct lowering *l, int self);                                       /* that begin as self's elements */
struct place nest_counts(struct lowering *l, const int64_t *size, int rank, int64_t first); /* i64 */
int nest_get(struct lowering *l, const struct place *p, const struct affine *idx);
void nest_set(struct lowering *l, const struct place *p, const struct affine *idx, int value);
void nest_add_to(struct lowering *l, const struct place *sums, const struct affine *idx, int value); /* wide */
void nest_sums_done(struct lowering *l, const struct place *sums);                                   /* rounded into result 0 */

/* ---- a nest over an index as large as what is written (lower_scatter.c) ---- */
struct scatter_nest {
	int outer, dim;                                 /* loops that are open around it; the dim that is indexed */
	struct affine from[MAX_RANK], target[MAX_RANK]; /* where in index and src, where in the result */
};
bool scatter_open(struct scatter_nest *w, struct lowering *l, int node); /* false: there is nothing to write */

#endif
