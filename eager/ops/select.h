/* select.h: the number that a row must state: how many elements it selects, or what item gives (eager/lang/stated.h). */
#ifndef SCATTERPROOF_SELECT_H
#define SCATTERPROOF_SELECT_H

#include "eager/ops/rules.h"

/* Elements of `deciding`, broadcast with self (NULL: as it is), that are not zero. */
int64_t select_count(const struct tensor *deciding, const struct meta *self);
/* What an integer tensor of one element holds. */
int64_t select_value(const struct tensor *of);

#endif
