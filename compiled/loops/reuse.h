/* reuse.h: buffers that are not needed at the same time become one, as Inductor's memory planning makes them. */
#ifndef SCATTERPROOF_REUSE_H
#define SCATTERPROOF_REUSE_H

#include "compiled/loops/loops.h"

/* Inputs and what is returned keep buffers of their own; another one takes the first free one of its dtype that has the cells: of loops
 * of any size one that has them whatever the sizes, which is proven (poly_is_positive). */
void loops_reuse_buffers(struct loops *l);

#endif
