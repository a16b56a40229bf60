/* answer.c: a child that died or took too long is the target's doing; one that did not start, or answered rubbish, is ours. */
#include "compiled/targets/answer.h"

enum result_status answer_status(enum proc_end end)
{
	static const enum result_status status[] = {
		[PROC_END_NONE] = RES_HARNESS,
		[PROC_END_START] = RES_HARNESS,
		[PROC_END_DIED] = RES_CRASH,
		[PROC_END_TIME] = RES_HANG,
		[PROC_END_MEMORY] = RES_CRASH,
		[PROC_END_RUBBISH] = RES_HARNESS,
	};
	return status[end];
}

void answer_failed(struct result *out, enum result_status status, const char *message, struct arena *a, struct proc *p)
{
	*out = (struct result){.status = status,
		.message = arena_strdup(a, message),
		.stderr_tail = arena_strdup(a, proc_tail(p)),
		.target_ms = proc_elapsed_ms(p)};
}
