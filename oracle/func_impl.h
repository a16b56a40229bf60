/* func_impl.h: what func.c and func_grad.c share. */
#ifndef SCATTERPROOF_FUNC_IMPL_H
#define SCATTERPROOF_FUNC_IMPL_H

#include "oracle/func.h"

/* One multiplication, unrounded; a factor 0 may skip it where the licence is LF_LOOSE. */
INLINE struct num mul_of(const struct num *a, const struct num *b, const struct how *h)
{
	struct num y = num_mul(a, b);
	if (UNLIKELY(h->l->flags & LF_LOOSE && y.flags & NUM_NAN && ((num_is_exact(a) && a->hi == 0) || (num_is_exact(b) && b->hi == 0)))) {
		struct num zero = num_exact(h->dt, 0);
		y = num_hull(&zero, &y);        /* a factor 0 skips the product, infinities and all */
	}
	return y;
}
/* a / b, rounded as the last and only step; a constant divisor may be inverted first (LF_RECIP). */
struct num div_of(const struct num *a, const struct num *b, const struct how *h);
struct num each_sign(const struct num *a, const void *ctx);     /* for num_each */

#endif
