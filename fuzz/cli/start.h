/* start.h: the child of a target that the command line names. */
#ifndef SCATTERPROOF_START_H
#define SCATTERPROOF_START_H

#include "compiled/targets/exec.h"
#include "fuzz/ask/options.h"

/* Waits until it has said what it is: *t has its version then. NULL: it was said why not, and *rc is EXIT_TARGET, or EXIT_USAGE if it is
 * another version than *t names. */
struct exec *start_target(int *rc, struct target *t, const struct options *o);

#endif
