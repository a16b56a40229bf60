/* derived.h: programs made of generated ones by writing their backward out, as inputs of campaigns.
 *
 * FORM_JOINT: forward and backward in one program without `backward`; it returns the outputs, then the gradients.
 * FORM_DOUBLE: the same program with a `backward` from its gradients, and from some of its outputs: what requires grad in the generated
 * program still does, and so do some of the cotangents of its backward. Fresh inputs are the cotangents of the new one.
 *
 * Sizes are those of call 0. `call` lines are kept, unless the generated program has symbols. */
#ifndef SCATTERPROOF_DERIVED_H
#define SCATTERPROOF_DERIVED_H

#include "eager/lang/prog.h"
#include "fuzz/gen/policy.h"

/* False: p does not admit this form (err: why): it has no backward, or nothing to differentiate again, or the built-in compiler does not
 * take it, or what became of it. FORM_PLAIN: *out is p. */
bool derived_program(struct prog *out, const struct prog *p, enum policy_form form, struct choices *c, struct arena *a, struct err *err);

#endif
