/* count.h: the number that a row with a size of data must state (eager/lang/stated.h), found by running what decides it. */
#ifndef SCATTERPROOF_COUNT_H
#define SCATTERPROOF_COUNT_H

#include "eager/lang/prog.h"

/* What the data of call k select in row `row`. Rows behind it are not looked at: their sizes may depend on the answer. False: err. */
bool count_selected(int64_t *out, const struct prog *p, int row, int k, struct err *err);

#endif
