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
	bool reorder;  /* and they do (reorder.h), if the loops are of one size */
	struct native_options native;
	struct gpu_options gpu;
	bool dynamic;                   /* compiled once for calls of several sizes (symbols/dynamic.h) */
	const struct code_ahead *ahead; /* code_open takes what is there from there; NULL: nothing is */
};

struct defect; /* defects/defects.h */

/* The steps from a program to its loops: lower, reuse, schedule, reorder. Behind its step d (NULL: none) is planted; *planted: it found
 * something to spoil. */
bool code_loops(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err);

/* Its parts: the step lower; those behind it, also of loops of any size, which have no step reorder. broken, if not NULL: I6 is checked
 * after each; false: *broken is the step, err the validator's sentence. */
bool code_lower(struct loops *out, bool *planted, const struct prog *p, const struct code_options *o, const struct defect *d,
	struct arena *a, struct err *err);
bool code_rest(struct loops *l, bool *planted, const struct code_options *o, const char **broken, const struct defect *d, struct err *err);

/* AHEAD is code of engines whose compiler takes long, in batches (batch.h): NATIVE and CUDA have some. */
struct code_ahead;
struct code_ahead *code_ahead_new(void);
void code_ahead_free(struct code_ahead *h); /* NULL is fine; whatever code_open took from it is closed */
/* False: nothing of o is ever ahead, because of its engine or for want of a GPU or of its compiler. */
bool code_can_be_ahead(const struct code_options *o);
bool code_is_ahead(const struct code_ahead *h, const struct loops *l, const struct code_options *o);
/* batches_make; `make` calls code_build_all. Nothing that code_open took from h may be open. */
bool code_make_ahead(
	struct code_ahead *h, bool (*make)(void *ctx, const char *path), void *ctx, const struct code_options *o, int limit_ms);
bool code_build_all(const char *path, const struct loops *const *l, int n, const struct code_options *o, struct err *err);

/* Is there what compiles and runs such code? False: err says what this machine lacks; code_open then refuses whatever it is given. */
bool code_can_run(const struct code_options *o, struct err *err);

struct code;
/* Of a program without a backward (compile.h), which must outlive it. False: not supported, or no such compiler or GPU here (err).
 * What the compilers under us do not take is our bug. */
bool code_open(struct code **out, const struct prog *p, const struct code_options *o, const struct defect *d, struct err *err);
/* Of loops behind all steps, which must outlive it, as p must. */
bool code_open_loops(struct code **out, const struct loops *l, const struct prog *p, const struct code_options *o, struct err *err);
void code_close(struct code *c);                               /* NULL is fine */
bool code_planted(const struct code *c);                       /* the defect that code_open was given found something to spoil */
int code_shapes(uint64_t *out, int max, const struct code *c); /* loops_shapes (shape.h) of its loops */
/* inputs: by input storage of the program, its cells. at: of loops of any size the call; else NULL. *out has one call, status OK, RAISED or
 * UNSUPPORTED, and lives in a. False: the data give sizes that loops of any size are not made for (out->message); nothing was reported. */
bool code_run(struct result *out, const struct code *c, const struct call_sizes *at, const struct result_storage *inputs, struct arena *a);

#endif
