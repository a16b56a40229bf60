/* count.h: the number that a row with a size of data must state (eager/lang/stated.h), found by running what decides it. */
#ifndef SCATTERPROOF_COUNT_H
#define SCATTERPROOF_COUNT_H

#include "eager/lang/prog.h"

/* What the data of call k select in row `row`. Rows behind it are not looked at: their sizes may depend on the answer. False: err. */
bool count_selected(int64_t *out, const struct prog *p, int row, int k, struct err *err);
/* What the data of call k (from 1) select, row by row, for each symbol that states a number. */
bool count_call(struct prog *p, int k, struct err *err);
/* Does each row state what its data select: of one call (a bound program); of p in each call? False: err, why not. */
bool count_holds(const struct prog *bound, struct err *err);
bool count_all_hold(const struct prog *p, struct err *err);
/* p states what its data and those of its calls select, whatever it stated before; the metas behind follow. False: there is no such p (a
 * sum of symbols is stated; the number is also the size of what it counts), err says why, and p is spoilt. */
bool count_restate(struct prog *p, struct err *err);

#endif
