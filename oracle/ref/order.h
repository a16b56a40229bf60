/* order.h: which of two scalars of the tape is the smaller one, as far as their sets say. */
#ifndef SCATTERPROOF_REF_ORDER_H
#define SCATTERPROOF_REF_ORDER_H

#include "oracle/tape/tape.h"

/* OPEN: rounding, or an undecided comparison before, decides. NaN is behind all numbers, and NaNs are EQUAL. */
enum relation { BEFORE, EQUAL, BEHIND, OPEN };
enum relation order_of(const struct num *x, const struct num *y);
bool order_is_nan(const struct num *x); /* it is NaN for certain */
/* Positions of n entries in order, equals as they stand. False: which comes first is open somewhere. */
bool order_known(int64_t *pos, const struct tape *t, const sid *e, int64_t n, bool descending);

#endif
