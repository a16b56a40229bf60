/* jit.h: the engine that compiles a loop program with libtcc, in memory, and runs it. libtcc optimises nothing: what is fast is compiling,
 * a fraction of a millisecond. */
#ifndef SCATTERPROOF_JIT_H
#define SCATTERPROOF_JIT_H

#include "compiled/loops/run.h"

/* NULL: the text does not compile, which is our bug (err: libtcc's first message). */
struct jit;
struct jit *jit_open(const struct loops *l, struct err *err);
void jit_close(struct jit *j);
bool jit_run(struct loop_frame *f, void *jit); /* a loop_engine */

#endif
