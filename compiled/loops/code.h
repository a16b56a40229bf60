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
	bool dynamic;           /* compiled once for calls of several sizes (symbols/dynamic.h) */
};

struct defect; /* defects/defects.h */

/* The steps from a program to its loops: lower, reuse, schedule. Behind its step d (NULL: none) is planted; *planted: it found something to
 * spoil. */
bool code_loops(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err);

/* Its parts: the step lower; those behind it, also of loops of any size, whose invariant I6 is checked after each of them if `validate`
 * (false: err says which step broke it). */
bool code_lower(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err);
bool code_rest(struct loops *l, bool *planted, const struct code_options *o, bool validate, const struct defect *d, struct err *err);

struct code;
/* Of a program without a backward (compile.h), which must outlive it. False: not supported, or no such compiler or GPU here (err).
 * What the compilers under us do not take is our bug. */
bool code_open(struct code **out, const struct prog *p, const struct code_options *o, const struct defect *d, struct err *err);
/* Of loops behind all steps, which must outlive it, as p must. */
bool code_open_loops(struct code **out, const struct loops *l, const struct prog *p, const struct code_options *o, struct err *err);
void code_close(struct code *c); /* NULL is fine */
/* Runs it on the inputs of a program that has the same ones. *out has one call, status OK, RAISED or UNSUPPORTED, and lives in a.
 * p: of loops of any size the program at the call's sizes; NULL: the one that it was opened with. */
void code_run(struct result *out, const struct code *c, const struct prog *p, const struct prog *inputs, struct arena *a);

#endif
