/* code.h: a compiled program made ready to run on an engine, once for all calls that have its sizes. */
#ifndef SCATTERPROOF_CODE_H
#define SCATTERPROOF_CODE_H

#include "compiled/gpu/nvrtc.h"
#include "compiled/loops/lower.h"
#include "compiled/loops/native.h"

enum code_engine {
	CODE_INTERPRETED,
	CODE_JIT,     /* libtcc, in memory */
	CODE_NATIVE,  /* a C compiler's, loaded */
	CODE_PACKAGE, /* the same in a folder, for a fresh process each run */
	CODE_CUDA     /* NVRTC's, on an NVIDIA GPU */
};
struct code_options {
	enum code_engine engine;
	struct lower_options lower;
	bool no_reuse; /* every value has a buffer of its own (reuse.h) */
	bool schedule; /* loops that may run in any order are marked (schedule.h); the interpreter runs them backwards */
	struct native_options native;
	struct gpu_options gpu; /* arch: where only text is asked for */
};

struct defect; /* defects/defects.h */

/* The steps from a program to its loops: lower, reuse, schedule. Behind its step d (NULL: none) is planted; *planted: it found something to
 * spoil. */
bool code_loops(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err);

struct code;
/* Of a program without a backward (compile.h), which must outlive it. False: not supported, or no such compiler or GPU here (err).
 * What the compilers under us do not take is our bug. */
bool code_open(struct code **out, const struct prog *p, const struct code_options *o, const struct defect *d, struct err *err);
void code_close(struct code *c);                               /* NULL is fine */
int code_shapes(uint64_t *out, int max, const struct code *c); /* loops_shapes (shape.h) of its loops */
/* Runs it on the inputs of a program that has the same ones. *out has one call, status OK, RAISED or UNSUPPORTED, and lives in a. */
void code_run(struct result *out, const struct code *c, const struct prog *inputs, struct arena *a);

#endif
