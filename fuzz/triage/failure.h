/* failure.h: the way in which a program fails, as far as a smaller program must fail in the same way. Sizes, dtypes and operators may
 * change, and so may how many elements are wrong. What must stay: the verdict and its kind; which sort of tensor is wrong; the sort of
 * error (all zero, a factor, NaN, …, or just wrong; of a layout: sizes, dtype, device or strides alone); of whoever raises or crashes the
 * signature, which is its message without numbers. So a minimiser does not slip from one bug to another that the same program has. */
#ifndef SCATTERPROOF_FAILURE_H
#define SCATTERPROOF_FAILURE_H

#include "fuzz/triage/verdict.h"

enum error_sort {
	ERROR_NONE,
	ERROR_ZERO,
	ERROR_SPECIAL,
	ERROR_SCALED,
	ERROR_CONSTANT,
	ERROR_MOVED,
	ERROR_STALE,
	ERROR_OVERWRITTEN,
	ERROR_ROUNDING,
	ERROR_OTHER,
	ERROR_SIZES, /* this one and the next three: of a layout, the worst that is wrong */
	ERROR_DTYPE,
	ERROR_DEVICE,
	ERROR_STRIDES,
	ERROR_REQUIRES_GRAD
};
struct failure {
	enum verdict verdict;
	enum finding_kind kind;
	int role; /* enum tensor_role of the first wrong tensor; -1: none */
	enum error_sort sort;
	bool later;          /* of what is wrong after the last call: a smaller program has two calls */
	char signature[256]; /* of raises its message, of crashes and hangs where they were or how they ended, of a broken invariant its name
						  * and the step; else "" */
	char invariant[256]; /* that is broken, with its operator: "invariant I2 after cse: mul"; "" elsewhere. A smaller program may have … */
	char step[32];       /* … another operator. Behind this step; "" elsewhere */
	bool placed;         /* signature says where: no operators are needed to tell it from others */
};

/* The first wrong tensor; NULL: none is known. */
const struct tensor_verdict *failure_tensor(const struct outcome *o);
/* o diverges. */
void failure_of(struct failure *out, const struct outcome *o);
/* Is o this failure? A tensor with few elements shows less: all zero, a constant and "just wrong" are one sort there. */
bool failure_is(const struct failure *f, const struct outcome *o);
/* Does it die of memory that it overwrote earlier? Such a program dies at any later time, or not at all, and takes others of its process
 * with it. */
bool failure_is_erratic(const struct failure *f);
const char *failure_text(const struct failure *f, struct arena *a); /* "gradient, all zero" */

#endif
