/* tensor_name.h: which tensor of a program's call, as structure; its text is what people and the store read:
 *
 *     out 0 (y)               value 0 of `return`, which node y made
 *     x.grad                  the gradient of input x
 *     input x afterwards      the whole storage of input x after the call, gaps included
 *     input x after the last call      the same when all calls have run: no later one may touch it; likewise of outputs and gradients
 *
 * One printer and one parser, each other's inverse. The parser asks the program: a name that it does not have is refused, so a name never
 * speaks of another program's tensor. */
#ifndef SCATTERPROOF_TENSOR_NAME_H
#define SCATTERPROOF_TENSOR_NAME_H

#include "eager/lang/prog.h"
#include "oracle/judge/judge.h"

struct tensor_name {
	enum tensor_role role;
	int index;           /* among the outputs, the gradients (inputs that require grad, in node order), the input storages */
	char node[MAX_NAME]; /* the output's node, the input */
	bool later;          /* after the last call */
};

/* The tensor of p with that place. It must have it. */
void tensor_name_of(struct tensor_name *out, const struct prog *p, enum tensor_role role, int index);
void tensor_name_of_verdict(struct tensor_name *out, const struct prog *p, const struct tensor_verdict *v);
void tensor_name_print(struct strbuf *sb, const struct tensor_name *n);
const char *tensor_name_text(const struct tensor_name *n, struct arena *a);
/* False: no name, or none of p's tensors; err says which. */
bool tensor_name_read(struct tensor_name *out, const char *text, const struct prog *p, struct err *err);

#endif
