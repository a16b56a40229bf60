/* select.h: the number that a row must state: how many elements it selects, or what item gives (eager/lang/stated.h). */
#ifndef SCATTERPROOF_SELECT_H
#define SCATTERPROOF_SELECT_H

#include "eager/ops/rules.h"

/* Elements of `deciding`, broadcast with self (NULL: as it is), that are not zero. */
int64_t select_count(const struct tensor *deciding, const struct meta *self);
/* Elements of self, or slices along the row's dim, that differ from all before, or from the one before, as the row says. -1: of unique_dim
 * with NaN: PyTorch sorts slices by comparisons that NaN makes contradict each other. */
int64_t select_distinct(const struct node *n, const struct tensor *self);
/* What an integer tensor of one element holds. */
int64_t select_value(const struct tensor *of);

#endif
