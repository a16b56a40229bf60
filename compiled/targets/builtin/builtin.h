/* builtin.h: the far end of the family `builtin` (builtin.c): the child that the verb starts. */
#ifndef SCATTERPROOF_BUILTIN_H
#define SCATTERPROOF_BUILTIN_H

#include "compiled/compile.h"
#include "compiled/targets/target.h"

#define BUILTIN_VERB "__builtin"

int builtin_child(void); /* the verb; returns the exit code */
/* How a target of the family compiles: its stage, +passes, +freezing; invariants are always checked. False: it is builtin:eager, or no
 * target of the family. */
bool builtin_compile_options(struct compile_options *out, const struct target *t);
const char *builtin_wheels(void); /* where private environments have CUDA's libraries (gpu/nvrtc.h: search) */

#endif
