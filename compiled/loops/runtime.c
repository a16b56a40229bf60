/* runtime.c: the functions that generated code calls (runtime.def), as they are in this binary. */
#include "compiled/loops/emit_c.h"
#include "compiled/loops/run.h"

#include <math.h>

/* aten::copy_'s float to integer; wide: to i64, else to i32 and narrower. */
static int64_t loop_truncate(double v, int wide)
{
	const double limit = wide ? 0x1p63 : 0x1p31;
	if (v > -limit - 1 && v < limit)
		return (int64_t)v;
	return wide ? INT64_MIN : INT32_MIN;
}

static int loop_bound(void *frame, int64_t ins, int64_t v, int64_t *out)
{
	struct loop_frame *f = frame;
	return loop_frame_bound(out, f, &f->loops->ins[ins], v);
}

static int loop_call(void *frame, int64_t ins)
{
	struct loop_frame *f = frame;
	return loop_frame_call(f, f->loops->ins[ins].call);
}

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
