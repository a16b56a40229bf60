/* repro_matrix.h: where does a finding happen? Its stage and those below it, on every version of its family that this machine has. */
#ifndef SCATTERPROOF_REPRO_MATRIX_H
#define SCATTERPROOF_REPRO_MATRIX_H

#include "fuzz/campaign/found.h"

/* Prints the table (o->json: a line per cell), with a line below it for each cell that neither passes nor fails as the finding says. Only
 * asks: nothing is stored. o->target: exactly these instead. An exit code: EXIT_CLEAN, EXIT_TARGET if no version could be asked. */
int repro_matrix(const struct options *o, const struct found *x, struct arena *a);

#endif
