/* trace_torch.h: what trace.c gives the driver. */
#ifndef SCATTERPROOF_TRACE_TORCH_H
#define SCATTERPROOF_TRACE_TORCH_H

#include "compiled/targets/trace.h"

/* Starts a process, asks it, ends it; memory in a. What is wrong is a status. */
void torch_trace(struct traced *out, struct arena *a, const struct trace_request *r, const struct exec_options *o);

#endif
