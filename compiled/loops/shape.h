/* shape.h: what loops look like. Two of one shape ask whoever compiles them the same kind of question.
 *
 * Of each loop without the loops in it, and of what stands in none, there are these shapes:
 *
 *   its structure with the kinds of its instructions      which of them, not in which order
 *   its structure with a dtype, for each that it has      of cells loaded or stored, of arithmetic on rows of the op table
 *
 * STRUCTURE is: the marks of schedule.h (parallel, summed), how many loops stand in it (none, one, more), and whether there are conditions
 * in it, and conditions in these. KINDS are loads, stores, rows, casts, selections, bounds, divisions, and `:=`; constants, conversions
 * between registers and the arithmetic of indices follow from those and from sizes.
 *
 * Sizes, strides, constants, which row is computed, names, and what stands before or behind a loop do not count; an extern has no loops. */
#ifndef SCATTERPROOF_SHAPE_H
#define SCATTERPROOF_SHAPE_H

#include "compiled/loops/loops.h"

/* Each once, as hashes; at most `max`. Returns how many. */
int loops_shapes(uint64_t *out, int max, const struct loops *l);
/* Adds a shape to a list of *n, unless it is there or there are `max`. */
void shape_add(uint64_t *list, int *n, int max, uint64_t shape);

#endif
