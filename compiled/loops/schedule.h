/* schedule.h: which loops may run in any order, and so at once, and the kernels that a GPU runs of a loop program.
 *
 *   loops_schedule(&l)                      marks loops: their text is `for r0 < 3 parallel`
 *   n = loops_kernels(&k, &l, arena)        k[0..n): in order; each reads what those before it wrote
 *
 * A loop is parallel if it is at the head of a nest (only loops stand outside of it, each with nothing before it) and no two of its
 * iterations, whatever the other loops of the nest do meanwhile, touch one cell that either of them writes. Cells are compared as numbers
 * in a mixed radix: the terms of the index, largest first, where each is larger than all that follow can add up to. What that does not decide
 * is not parallel. */
#ifndef SCATTERPROOF_SCHEDULE_H
#define SCATTERPROOF_SCHEDULE_H

#include "compiled/loops/loops.h"

void loops_schedule(struct loops *l);

/* Instructions [begin, end), one thread for each combination of the variables of the parallel loops at their head; or one EXTERN. */
struct loop_kernel {
	int begin, end;
	bool single;                     /* no loop is in it */
	int nloop, loop[MAX_LOOP_DEPTH]; /* instructions */
	int64_t nthread;
};
int loops_kernels(struct loop_kernel **out, const struct loops *l, struct arena *a);

#endif
