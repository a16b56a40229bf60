/* compile.h: the built-in compiler. `compile()` in compile.c is the list of its steps; a stage is the name of what stands after one. */
#ifndef SCATTERPROOF_COMPILE_H
#define SCATTERPROOF_COMPILE_H

#include "eager/lang/prog.h"
#include "eager/lang/result.h"

enum compile_stage {
	STAGE_FUNCTIONAL, /* no row writes but the epilogue; eager's autograd differentiates it */
	STAGE_JOINT,      /* forward and backward written out */
	NSTAGES
};
extern const char *const compile_stage_name[NSTAGES];
bool compile_stage_find(enum compile_stage *out, const char *name);

/* One call of a program (prog_bind), compiled up to a stage. */
struct compiled {
	struct prog p;       /* returns the outputs, then the gradients */
	int nout, ngrad;     /* of the source */
	bool *grad;          /* by input that requires grad, in order: it has a gradient (else None) */
	bool *requires_grad; /* by output; where inputs keep it, then by gradient: autograd tracks it */
};
struct compile_options {
	/* The inputs of the joint program require grad as the source's do (else none does): for whoever differentiates it again. Its rows then
	 * read copies of inputs that it writes, because autograd has saved what they read. */
	bool keep_requires_grad;
};
/* o: NULL for no option. False: the compiler does not take this program (err: why). */
bool compile(struct compiled *out, const struct prog *bound, enum compile_stage stage, const struct compile_options *o, struct arena *a,
	struct err *err);

/* Compiles and runs every call of p; whatever comes, out says it. */
void compile_run(struct result *out, const struct prog *p, enum compile_stage stage, struct arena *a);

#endif
