/* joint.h: forward and backward in one program (AOTAutograd's joint graph): the derivative rules (eager/ops/vjp.h), applied from the
 * outputs to the inputs, append what eager's autograd would execute. */
#ifndef SCATTERPROOF_JOINT_H
#define SCATTERPROOF_JOINT_H

#include "compiled/passes/functionalise.h"

struct joint {
	bool *requires_grad; /* by node of f->p at the time of the call: autograd would track it */
	int ngrad;
	int grad[MAX_RETURNS]; /* by input that requires grad, in order: its gradient, NO_VALUE: None */
};

/* By row of p: autograd tracks its floating results. In `a`. */
bool *joint_tracked(const struct prog *p, struct arena *a);
bool joint_requires_grad(const bool *tracked, const struct prog *p, int value); /* is it floating and tracked? value -1: no */
/* Appends the backward part to f->p. False: a row has no rule, or there is too much of something (err). */
bool joint_append(struct joint *out, struct functional *f, struct arena *a, struct err *err);

#endif
