/* compile.h: the built-in compiler. `compile()` in compile.c is the list of its steps; a STAGE is the name of what stands after one.
 * functional: no row writes but the epilogue, and eager's autograd differentiates it; joint: forward and backward written out; decompose
 * (the stage is also called decomposed): that in rows of the core dialect alone. */
#ifndef SCATTERPROOF_COMPILE_H
#define SCATTERPROOF_COMPILE_H

#include "compiled/loops/code.h"
#include "eager/lang/prog.h"
#include "eager/lang/result.h"

struct defect; /* defects/defects.h */

/* Then a stage per pass (passes/pass.h), reinplace, and all of them. */
enum { STAGE_FUNCTIONAL, STAGE_JOINT, STAGE_DECOMPOSED, STAGE_FIRST_PASS };
int compile_nstages(void);
const char *compile_stage_name(int stage); /* "functional", "joint", "decompose", "fold", ..., "reinplace", "passes" */
bool compile_stage_find(int *out, const char *name);

struct compile_options {
	int stage;    /* the last step */
	bool to_code; /* eager's kernels run it row by row, or code made of loops does (loops/code.h) */
	struct code_options code;
	unsigned off;   /* 1u << index of a pass: it does not run; 1u << npasses: nor does reinplace */
	bool freezing;  /* passes that ask for it run */
	bool decompose; /* so does the step decompose */
	/* The inputs of the joint program require grad as the source's do (else none does): for whoever differentiates it again. Its rows then
	 * read copies of inputs that it writes, because autograd has saved what they read. */
	bool keep_requires_grad;
	const struct defect *defect;                                     /* planted behind its step; NULL: none */
	bool validate;                                                   /* the invariants are checked after each step (passes/validate.h) */
	void (*done)(void *ctx, const char *step, const struct prog *p); /* after each step that holds; NULL: nobody wants to know */
	void *ctx;
};

enum compile_status {
	COMPILE_OK,
	COMPILE_RAISES,  /* eager refuses this program whatever its data (err: PyTorch's text), and so does the compiler */
	COMPILE_REFUSED, /* the compiler does not take this program (err: why) */
	COMPILE_BROKEN   /* a step broke an invariant (err: "invariant after cse: I2: ..."): the compiler is wrong */
};

/* One call of a program (prog_bind), compiled. */
struct compiled {
	struct prog p;       /* returns the outputs, then the gradients */
	int nout, ngrad;     /* of the source */
	bool *grad;          /* by input that requires grad, in order: it has a gradient (else None) */
	bool planted;        /* the defect found something to spoil: also of a program that is BROKEN */
	bool *requires_grad; /* by output; where inputs keep it, then by gradient: autograd tracks it */
};
enum compile_status compile(
	struct compiled *out, const struct prog *bound, const struct compile_options *o, struct arena *a, struct err *err);

/* What a run of all calls compiled. */
struct compile_count {
	int once;        /* calls that run what was compiled for any size */
	int specialised; /* calls of a program with symbols that were compiled for their own sizes */
	char why[200];   /* the first of those; "": there is none */
};

/* Compiles and runs every call of p; whatever comes, out says it. A broken invariant is a BUG: the process dies with its sentence, so
 * that the program is a finding of kind crash. */
void compile_run(struct result *out, const struct prog *p, const struct compile_options *o, struct arena *a);

#endif
