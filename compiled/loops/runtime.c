/* runtime.c: the functions that generated code calls (runtime.def), as they are in this binary. */
#include "compiled/loops/emit_c.h"
#include "compiled/loops/run.h"

#include <math.h>

static bool loop_bound(void *frame, int64_t ins, int64_t v, int64_t *out)
{
	struct loop_frame *f = frame;
	return loop_frame_bound(out, f, &f->loops->ins[ins], v);
}

static bool loop_call(void *frame, int64_t ins)
{
	struct loop_frame *f = frame;
	return loop_frame_call(f, f->loops->ins[ins].call);
}

static bool loop_stated(void *frame, int64_t ins, int64_t v) { return loop_frame_stated(frame, ins, v); }

const struct loop_callbacks loop_callbacks = {loop_bound, loop_call, loop_stated};

/* The address of a function as data: what POSIX's dlsym gives as well. */
#define ADDRESS(function) (void *)(uintptr_t)(function)
const struct loop_symbol loop_symbols[] = {
#define RUNTIME(result, name, parameters) {#name, ADDRESS(name)},
#include "compiled/loops/runtime.def"
	{"memset", ADDRESS(memset)}, /* which compilers call for structs */
	{"memcpy", ADDRESS(memcpy)},
	{"memmove", ADDRESS(memmove)},
	{NULL, NULL},
};
