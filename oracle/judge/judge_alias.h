/* judge_alias.h: the part of judge.c that is about memory. Notes what is wrong in *v. */
#ifndef SCATTERPROOF_JUDGE_ALIAS_H
#define SCATTERPROOF_JUDGE_ALIAS_H

#include "oracle/judge/judge.h"

void judge_note(struct tensor_verdict *v, enum mismatch kind, struct arena *a, const char *fmt, ...) PRINTF_LIKE(4, 5);
void judge_output_alias(struct tensor_verdict *v, const struct prog *p, const struct reference *ref, const struct result_call *got, int i,
	unsigned freedoms, struct arena *a);
void judge_gradient_alias(
	struct tensor_verdict *v, const struct reference *ref, const struct result_call *got, int i, unsigned freedoms, struct arena *a);

#endif
