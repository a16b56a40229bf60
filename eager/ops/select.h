/* select.h: how many elements a row selects whose number of results is data (eager/lang/stated.h). */
#ifndef SCATTERPROOF_SELECT_H
#define SCATTERPROOF_SELECT_H

#include "eager/ops/rules.h"

/* Elements of `deciding`, broadcast with self (NULL: as it is), that are not zero. */
int64_t select_count(const struct tensor *deciding, const struct meta *self);

#endif
