/* motif.h: programs made of pieces of what people run. The library, corpus/motifs.prog, is part of the binary: the graphs, forward and
 * backward, that PyTorch makes of corpus/models (`scripts/dump-models --motifs FILE` writes it). A motif is a piece of one of them: a few
 * operators that read each other, in the order, with the arguments and the layouts that the graph has. What they read from the rest of the
 * graph becomes inputs of the same sizes, strides and dtype; integers, which may be positions, come with all that computes them.
 *
 * Sizes and the dtype change wherever they stand, then mutate_program makes a program of it, with one to five changes: rows beside it,
 * views and writes between its rows, other layouts, a piece of another graph on one of its values. So it is as valid as any program. */
#ifndef SCATTERPROOF_MOTIF_H
#define SCATTERPROOF_MOTIF_H

#include "eager/lang/prog.h"
#include "fuzz/gen/policy.h"

/* A piece of a drawn graph: a program of its own, without calls and without backward. False: err says what stands in the way. */
bool motif_piece(struct prog *out, struct arena *a, struct choices *c, struct err *err);
/* The program made of a piece. Everything of *out lives in `a`. False: nothing was left of it, or as motif_piece. */
bool motif_program(struct prog *out, struct arena *a, struct choices *c, const struct policy *pol, struct err *err);
int motif_graphs(void); /* of the library */

#endif
