/* since.h: on which installed versions does each finding of a store fail, and do those of one cause agree? Findings that have one cause
 * came with one change of the compiler and go with one: whose programs differ in that are two bugs, or one of them was minimised into
 * another bug. */
#ifndef SCATTERPROOF_SINCE_H
#define SCATTERPROOF_SINCE_H

#include "fuzz/ask/options.h"

/* Of o->db, with o->json; every open finding that has a cause. An exit code. */
int since_all(const struct options *o);

#endif
