/* execute.h: the built-in compiler as a target runs it: compiled, called, answered. */
#ifndef SCATTERPROOF_EXECUTE_H
#define SCATTERPROOF_EXECUTE_H

#include "compiled/compile.h"

/* Compiles and runs every call of p; whatever comes, out says it. A broken invariant is status RES_INVARIANT, and nothing is run. */
void compile_run(struct result *out, const struct prog *p, const struct compile_options *o, struct arena *a);

#endif
