/* minimize_finding.h: one finding minimised, for `triage`, which does it with many. */
#ifndef SCATTERPROOF_MINIMIZE_FINDING_H
#define SCATTERPROOF_MINIMIZE_FINDING_H

#include "fuzz/cli/options.h"

/* The finding of o->db with that id, as `minimize` does it, without a word but errors. EXIT_CLEAN: it is minimised and recorded, and
 * *how says what that took, in a. EXIT_VOID: it does not fail any more. Else EXIT_TARGET, EXIT_USAGE. Stops early if
 * interrupt_asked(). */
int minimize_finding(const struct options *o, const char *id, const char **how, struct arena *a);

#endif
