/* func_impl.h: what func.c and func_grad.c share. */
#ifndef SCATTERPROOF_FUNC_IMPL_H
#define SCATTERPROOF_FUNC_IMPL_H

#include "oracle/func.h"

/* One multiplication, unrounded; a factor 0 may skip it where the licence is LF_LOOSE. */
struct num mul_of(const struct num *a, const struct num *b, const struct how *h);
/* a / b, rounded as the last and only step; a constant divisor may be inverted first (LF_RECIP). */
struct num div_of(const struct num *a, const struct num *b, const struct how *h);
struct num each_sign(const struct num *a, const void *ctx);     /* for num_each */

#endif
