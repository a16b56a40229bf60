/* answer.h: what a child that gives no result becomes, the same for every family. */
#ifndef SCATTERPROOF_ANSWER_H
#define SCATTERPROOF_ANSWER_H

#include "eager/base/proc.h"
#include "eager/lang/result.h"

enum result_status answer_status(enum proc_end end);
/* A result that is only this, with the child's last words and its time; memory in a. */
void answer_failed(struct result *out, enum result_status status, const char *message, struct arena *a, struct proc *p);

#endif
