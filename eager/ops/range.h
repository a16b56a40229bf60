/* range.h: what the arange rows count through. */
#ifndef SCATTERPROOF_RANGE_H
#define SCATTERPROOF_RANGE_H

#include "eager/lang/prog.h"

/* Element i is start + step * i, in int64_t for an integer dtype (bounds are truncated then), in double otherwise; a half is rounded by
 * way of f32, as ever. */
struct range {
	enum dtype dtype;
	bool ints;
	double start, end, step;
	int64_t istart, iend, istep;
};
bool range_of(struct range *out, const struct node *n, struct err *err); /* n: an arange row */

#endif
