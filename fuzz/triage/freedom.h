/* freedom.h: legitimate differences: what a stage may do otherwise than eager, a row each in freedom.def with its reason and source. */
#ifndef SCATTERPROOF_FREEDOM_H
#define SCATTERPROOF_FREEDOM_H

#include "compiled/targets/target.h"
#include "oracle/judge/judge.h"

struct freedom { unsigned bit; const char *stage, *reason; };
enum {
#define FREEDOM(bit, stage, reason, source) FREEDOM_ROW_##bit,
#include "fuzz/triage/freedom.def"
#undef FREEDOM
	NFREEDOMS
};
extern const struct freedom freedoms[NFREEDOMS];
/* Bits of those that a target has: its stage's and those of the stages below. */
unsigned freedoms_of(const struct target *t);

#endif
