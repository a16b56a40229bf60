/* schedule.h: which loops may run in any order, and so at once, and the kernels that a GPU runs of a loop program.
 *
 *   loops_schedule(&l)                      marks loops: their text is `for r0 < 3 parallel`
 *   n = loops_kernels(&k, &l, arena)        k[0..n): in order; each reads what those before it wrote
 *
 * A loop is parallel if it is at the head of a nest (only loops stand outside of it, each with nothing before it) and no two of its
 * iterations, whatever the other loops of the nest do meanwhile, touch one cell that either of them writes. Cells are compared as numbers
 * in a mixed radix: the terms of the index, largest first, where each is larger than all that follow can add up to. What that does not
 * decide is not parallel.
 * What a loop program may become that runs its parallel loops in another order, and in tiles: reorder.h.
 * A loop is `summed` if all that it leaves behind are registers to which it adds, wide, or of which it keeps the greatest or the least:
 * then it may run in any order but for rounding, and for which of equal ones (0 and -0, NaNs) stays. */
#ifndef SCATTERPROOF_SCHEDULE_H
#define SCATTERPROOF_SCHEDULE_H

#include "compiled/loops/loops.h"

void loops_schedule(struct loops *l);

/* By register the LOOP_INDEX that makes it, or NULL. */
const struct loop_ins **loops_indices(const struct loops *l, struct arena *a);
/* at, with the registers that hold an index expression replaced by it as long as there is room. */
struct affine loops_expanded(const struct affine *at, const struct loop_ins *const *made);

/* Instructions [begin, end), run once for each combination of the variables of the parallel loops at their head; or one EXTERN. Of a nest
 * with local buffers (reorder.h) these are its tiles, and a block of threads shares each. */
struct loop_kernel {
	int begin, end;
	bool single;                     /* no loop is in it */
	bool tiled;                      /* with local buffers */
	int nloop, loop[MAX_LOOP_DEPTH]; /* instructions */
	int nbuffer, *buffer;            /* that it touches, by number, without local ones */
	int64_t npoint;                  /* combinations; of loops of any size the hint's */
	/* threads for each, which share its summed loops, or its tile; of loops of any size by the hint's sizes */
	int team;
	int beside; /* teams that stand in one block beside each other: 1, or a power of two up to a warp */
	int each;   /* points of one thread, which lie TEAM_BLOCK apart: 1, or POINTS_EACH, and then the team is 1 */
};
/* A team is one thread, a warp, a block or several blocks, and then `beside` is 1. Or neighbouring points read neighbouring cells: then a
 * block has `beside` of them, whose threads stand side by side, and a team is one thread of each row of the block, or of several blocks.
 * Sums of 32 columns: the 32 threads of a row of the block read 32 cells of one line of the matrix, the 8 rows 8 lines, and so on. */
enum { TEAM_WARP = 32, TEAM_BLOCK = 256, MOST_BLOCKS = 1024, MAX_TEAM = MOST_BLOCKS * TEAM_BLOCK };
/* Of so many points that the GPU is full anyway a thread has several, whose loads are under way at the same time. */
enum { POINTS_EACH = 4, MANY_POINTS = 1 << 20 };
enum { MOST_SHARED_POINTS = 1024 }; /* or groups of points beside each other: of a kernel whose teams are several blocks */
/* Blocks of each point, or each group of points beside each other; 0: less than one. */
static inline int loops_team_blocks(const struct loop_kernel *k) { return (int)((int64_t)k->team * k->beside / TEAM_BLOCK); }
/* Groups of points beside each other, of so many points. The last one may be short: then it has threads without a point. */
static inline int64_t loops_team_groups(const struct loop_kernel *k, int64_t npoint) { return (npoint + k->beside - 1) / k->beside; }
/* Threads that are launched for so many points, in whole blocks where threads have several points each. */
int64_t loops_threads(const struct loop_kernel *k, int64_t npoint);
enum { MOST_SUMS = 64 }; /* of a loop that a team shares */
/* The registers that a summed loop adds to, or keeps the greatest or least in; how many, `most` at most. */
int loops_sums(int *out, int most, const struct loops *l, int loop);
enum loop_fold { FOLD_NONE, FOLD_SUM, FOLD_GREATEST, FOLD_LEAST };
enum loop_fold loops_fold(const struct loops *l, int loop, int sum); /* what a summed loop does with that register */
/* It and the loops that stand in it alone, one in the other: how many, and the iterations of all. */
int loops_sum_chain(int loop[MAX_LOOP_DEPTH], int64_t *iterations, const struct loops *l, int at);
/* Does the innermost loop of such a chain walk neighbouring cells of some buffer? */
bool loops_walk_neighbours(const struct loops *l, int inner);

int loops_kernels(struct loop_kernel **out, const struct loops *l, struct arena *a);

#endif
