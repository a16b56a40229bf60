/* plain.h: what a compiling target raises is a divergence only if the plain stage of the same family, version and device runs the program;
 * what it runs though eager must refuse it, only if that stage refuses it.
 * A family without a plain stage is not asked: what the reference and the interpreter accept is right there.
 * The reference knows some programs that PyTorch refuses, the built-in interpreter more (outcome_of), but only PyTorch knows all. */
#ifndef SCATTERPROOF_PLAIN_H
#define SCATTERPROOF_PLAIN_H

#include "compiled/targets/exec.h"
#include "fuzz/triage/verdict.h"

/* The plain stage must be asked about this outcome. */
bool plain_needed(const struct outcome *o, const struct target *t);
/* Options are the compilers': what does not compile keeps its own. */
struct target plain_of(const struct target *t);
/* r, plain: t's answer to p and the plain stage's. If both raise or both run, *o becomes invalid; unexpected, unless the interpreter
 * refuses p, too (the reference does not, or nobody would have asked). What that stage refuses for a known reason is unsupported. */
void plain_settle(
	struct outcome *o, const struct result *r, const struct result *plain, const struct prog *p, const struct target *t, struct arena *a);
/* All of that in one go, in the child that ran t. */
void plain_ask(struct outcome *o, struct exec *e, const struct prog *p, const struct result *r, const struct target *t, struct arena *a);

#endif
