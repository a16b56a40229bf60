/* triage_one.h: all steps of triage for one finding, in this process. */
#ifndef SCATTERPROOF_TRIAGE_ONE_H
#define SCATTERPROOF_TRIAGE_ONE_H

#include <stdio.h>

#include "fuzz/ask/options.h"

/* o: the finding's id in file[0], and db. EXIT_CLEAN: it has a cause now, or its time is over. EXIT_VOID: it does not fail any more. One
 * line of what came out goes to said. */
int triage_one(const struct options *o, FILE *said);

#endif
