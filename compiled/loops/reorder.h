/* reorder.h: another order of the loops that may run in any (schedule.h): the step behind schedule. Values stay as they are, bit for bit:
 * each cell is computed as before, and each accumulator adds up in its own order.
 *
 *   loops_reorder(&l, REORDER_CPU)
 *
 * Of the loops of a nest only those are moved or cut that are `parallel` and stand directly in one another, and only where nothing raises.
 * With "strided" for an access whose cells are neither one nor neighbours as a loop's variable grows:
 *
 * INTERCHANGE: the loop for which the fewest accesses are strided becomes the innermost of them.
 * TILES: where loads are strided for it and walk neighbours along another one, both are cut into tiles. What such a load gives comes from
 *   a local buffer, which is filled from memory, as it lies there, before the tile is computed: a transposed copy reads and writes whole
 *   lines.
 *     for r0 < 100 by 32 parallel                   (b2: f32[1056] local)
 *       for r1 < 70 by 32 parallel
 *         for r2 < 70 in r1 + 32 parallel
 *           for r3 < 100 in r0 + 32 parallel
 *             load b0[r2*100 + r3], store b2[r2*33 + r3 - r1*33 - r0]
 *         for r5 < 100 in r0 + 32 parallel
 *           for r6 < 70 in r1 + 32 parallel
 *             load b2[r6*33 + r5 - r1*33 - r0], store b1[r5*70 + r6]
 * JAM (on a processor; on a GPU neighbours are threads anyway): where loops within it, of a reduction, a scan, a matrix product, have more
 *   strided accesses than the parallel loop around them, that one is cut into tiles, and what is within a tile goes into those loops.
 *   Registers that outlive a part of the body, as accumulators do, become cells of local buffers, one for each iteration of the tile.
 *     for r0 < 64 by 32 parallel
 *       for r1 < 64 in r0 + 32 parallel
 *         store b2[r1 - r0] = 0
 *       for r2 < 1000
 *         for r3 < 64 in r0 + 32 parallel
 *           store b2[r3 - r0] = load b2[r3 - r0] + load b0[r2*64 + r3]
 *       for r4 < 64 in r0 + 32 parallel
 *         store b1[r4] = load b2[r4 - r0]
 *
 * A tile is a power of two, and a loop that is cut has two of them at least: 9 iterations are 4, 4 and 1. So sizes beside a power of two
 * show their edges, however small they are. */
#ifndef SCATTERPROOF_REORDER_H
#define SCATTERPROOF_REORDER_H

#include "compiled/loops/loops.h"

enum reorder_for { REORDER_CPU, REORDER_GPU };

/* l is scheduled, and of one size: its numbers are numbers (loops.h). */
void loops_reorder(struct loops *l, enum reorder_for machine);

enum { LEAST_CUT = 3 };                      /* iterations of a loop that is cut into tiles */
int64_t loops_tile(int64_t n, int64_t most); /* of n iterations, LEAST_CUT at least: of so many at most, a power of two */

/* ---- jam.c ---- */
struct jam {
	const struct loops *from;
	int loop; /* an instruction of `from`, the innermost parallel loop: what follows up to its END goes to `to` */
	int cut;  /* the loop that is cut, `loop` or one around it */
	struct loops *to;
	int *by;   /* of `to`, by register of `from` */
	int tiles; /* the variable of the loop over tiles, open in `to` */
	int64_t tile;
	bool *spilled, *again; /* by register of `from`: it outlives a part of the body; it is computed again in each */
	int *cells;            /* by register of `from` that is spilled: its local buffer */
};
/* Which registers outlive a part; how many bytes they take for each iteration. False: the body is of a shape that is not cut. */
bool jam_begin(struct jam *j, const struct loops *from, int loop, int64_t *bytes);
void jam_body(struct jam *j);

#endif
