/* ratio_law.h: is there a rule in the ratios that a sweep saw? A factor that is the same everywhere, or one that a size n decides, such as
 * n/(n - 7), says more about a bug than the numbers. */
#ifndef SCATTERPROOF_RATIO_LAW_H
#define SCATTERPROOF_RATIO_LAW_H

#include "eager/base/base.h"

struct ratio_point {
	double n; /* the size; NaN: what was varied is no size */
	double ratio, within;
};
/* "n/(n - 7)", "1.53846 = 20/13", "0"; NULL: none of the rules that are known holds at every point. Two points at least. In a. */
const char *ratio_law(const struct ratio_point *point, int npoints, struct arena *a);

#endif
