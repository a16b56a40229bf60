/* script.h: a claim (claim.h) as a stand-alone Python script: the function that is sent to the target, byte for byte, the inputs made by
 * the same integer arithmetic, what the reference says that must come out (expected.h). The target runs in a child process, as the tool's
 * do, so that a crash or a hang is an answer; eager runs after it and is shown beside. Exit codes as `repro` of the same claim: 1 it
 * holds, 0 it does not; 2 (repro: 3 or 4) nobody can tell, with a sentence that says why. Needs PyTorch and nothing else. */
#ifndef SCATTERPROOF_SCRIPT_H
#define SCATTERPROOF_SCRIPT_H

#include "fuzz/triage/claim.h"

/* headline: lines for the head of the script, of any text ("" for none): they become comments. p: all calls of the claim's program.
 * False: a target that is no PyTorch, a claim that says too little, a call that cannot be bound. */
bool script_emit(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, const char *headline,
	struct arena *a, struct err *err);

#endif
