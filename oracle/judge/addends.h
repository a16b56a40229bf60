/* addends.h: which results are sums, and how large their addends are: for planting errors ("a dropped operand") and measuring
 * whether they are noticed. Never part of a verdict.
 *
 * An output element is a sum if its scalar is SUM, SUMPROD, CUMSUM or MATMUL (the addends are the entries or the products),
 * seen through moves, conversions, negation and division by a constant (mean). A gradient element is a sum if several scalars
 * sent it something (a broadcast, an index read twice, several consumers); a matrix product sends its sum as one. */
#ifndef SCATTERPROOF_ADDENDS_H
#define SCATTERPROOF_ADDENDS_H

#include "oracle/ref/refrun.h"

struct addends {
	int64_t n;
	double abs;
}; /* how many, and the sum of their magnitudes (both as of centres) */

/* Element k of v, an output or a gradient of ref. False: no sum of at least two addends, or not all finite. */
bool ref_addends(struct addends *out, const struct reference *ref, const struct ref_value *v, int64_t k);

#endif
