/* rule_run.h: one row's derivative rule (eager/ops/vjp.h) on tensors with data: what it appends is executed as it comes. */
#ifndef SCATTERPROOF_RULE_RUN_H
#define SCATTERPROOF_RULE_RUN_H

#include "eager/ops/rules.h"

struct rule_call {
	const struct node *n;
	const struct tensor *in[MAX_ARGS]; /* forward values: autograd's saved-tensor rule guarantees they are unchanged */
	const struct tensor *const *list[MAX_ARGS];
	const struct tensor *out; /* forward results (in-place rows: self after the write) */
	int nout;
	const struct tensor *gout;       /* cotangents of the results, contiguous, in the results' dtypes; zeros where none arrived */
	const bool *arrived;             /* by result: one did (NULL: all); a rule of several results leaves the others out (0 * inf is NaN) */
	struct tensor *gin[MAX_ARGS];    /* to fill: contiguous, the operand's sizes and dtype, zeroed; NULL where not needed */
	struct tensor **glist[MAX_ARGS]; /* the same for list arguments; entries NULL where not needed */
	struct arena *scratch;
};
/* In-place rows: in[0] is self BEFORE the write if `saves` lists self (the interpreter keeps a copy then, as PyTorch does), else self as
 * it is now, of which a rule reads the meta only. gin[0] is the cotangent of self before the write.
 * False: PyTorch refuses the formula (err: "RuntimeError: ..."). */
bool rule_run(struct rule_call *c, struct err *err);

#endif
