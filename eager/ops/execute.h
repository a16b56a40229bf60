/* execute.h: programs that code writes (eager/lang/build.h), executed row by row as they are appended: what rules of derivatives and bodies
 * of rows append. The first nodes stand for tensors that exist; nobody prints such a program. */
#ifndef SCATTERPROOF_EXECUTE_H
#define SCATTERPROOF_EXECUTE_H

#include "eager/lang/build.h"
#include "eager/ops/rules.h"

struct execution {
	struct build b; /* PyTorch's refusals are kept in it: from the first one on nothing is computed */
	struct prog p;
	struct arena *a;
	bool raised;                      /* a kernel found data that it refuses (an index out of range): */
	struct err err;                   /* what it says; nothing is computed from there on, either */
	struct tensor *result[MAX_NODES]; /* by node */
};

/* data false: rows are appended only, and what is placed needs no data. */
void execution_begin(struct execution *x, struct arena *a, bool data);
int execution_place(struct execution *x, const struct tensor *t); /* t as a value of the program */
/* Argument k of a row, which is t: a node, a number (a Scalar that stands for a Tensor), or NO_VALUE if t is NULL. */
int execution_operand(struct execution *x, const struct node *n, int k, const struct tensor *t);
/* The same of a Tensor[]: n->arg[k].n values. */
int *execution_list(struct execution *x, const struct node *n, int k, const struct tensor *const *list);

#endif
