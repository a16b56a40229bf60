/* compile.h: the built-in compiler. `compile()` walks its steps (steps.def); a STAGE is what stands behind one.
 * functional: no row writes but the epilogue, and eager's autograd differentiates it; joint: forward and backward written out; partition
 * (the stage is also called partitioned): that in two parts, each of which goes through what follows on its own; decompose (decomposed): in
 * rows of the core dialect alone. */
#ifndef SCATTERPROOF_COMPILE_H
#define SCATTERPROOF_COMPILE_H

#include "compiled/code.h"
#include "compiled/passes/partition.h"
#include "compiled/steps/steps.h"
#include "eager/lang/prog.h"
#include "eager/lang/result.h"

struct defect; /* defects/defects.h */

/* A stage is a number: the step behind which it is, of those on rows, and as the last one all of them. */
enum {
	STAGE_FUNCTIONAL = STEP_functional,
	STAGE_JOINT = STEP_joint,
	STAGE_PARTITIONED = STEP_partition,
	STAGE_DECOMPOSED = STEP_decompose,
	STAGE_FIRST_PASS = STEP_fold
};
int compile_nstages(void);
const char *compile_stage_name(int stage); /* "functional", "joint", "partition", "decompose", "fold", ..., "reinplace", "passes" */
bool compile_stage_find(int *out, const char *name); /* also "partitioned", "decomposed"; not the epilogue, behind which nobody stops */

struct compile_options {
	int stage;    /* the last step */
	bool to_code; /* eager's kernels run it row by row, or code made of loops does (loops/code.h) */
	struct code_options code;
	unsigned off;   /* 1u << index of a pass: it does not run; 1u << npasses: nor does reinplace */
	bool freezing;  /* passes that ask for it run */
	bool partition; /* so does the step partition; not with keep_requires_grad */
	bool save_all;  /* it computes nothing again */
	bool decompose; /* so does the step decompose */
	/* The inputs of the joint program require grad as the source's do (else none does): for whoever differentiates it again. Its rows then
	 * read copies of inputs that it writes, because autograd has saved what they read. */
	bool keep_requires_grad;
	const struct defect *defect; /* planted behind its step; NULL: none */
	bool validate;               /* the invariants are checked after each step (passes/validate.h) */
	/* After each step that holds; NULL: nobody wants to know. part: "forward" or "backward", behind the step partition; else NULL. */
	void (*done)(void *ctx, const char *step, const char *part, const struct prog *p);
	void *ctx;
};

enum compile_status {
	COMPILE_OK,
	COMPILE_RAISES,  /* eager refuses this program whatever its data (err: PyTorch's text), and so does the compiler */
	COMPILE_REFUSED, /* the compiler does not take this program (err: why) */
	COMPILE_BROKEN   /* a step broke an invariant (err: "invariant after cse: I2: ..."): the compiler is wrong */
};

/* A program that runs by itself, on inputs from elsewhere. */
struct part {
	const char *name; /* "forward", "backward"; NULL: it is the only one */
	struct prog p;
	struct part_input *input; /* by input storage */
};

/* One call of a program (prog_bind), compiled. */
enum { MAX_PARTS = 2 };
struct compiled {
	int npart;                         /* 1, or the forward and the backward part. A program without gradients has one in any case */
	struct part part[MAX_PARTS];       /* the first one returns the outputs; then the gradients or, of a forward part, the saved values */
	struct prog caller;                /* of two parts: the cotangents' rows, which are nobody's: run between the parts; its inputs are the
	                                    * source's, by name, and it returns the cotangents */
	int nout, ngrad;                   /* of the source */
	bool *grad;                        /* by input that requires grad, in order: it has a gradient (else None) */
	bool planted;                      /* the defect found something to spoil: also of a program that is BROKEN */
	struct result_violation violation; /* of a program that is BROKEN: what err says */
	bool *requires_grad;               /* by output; where inputs keep it, then by gradient: autograd tracks it */
};
enum compile_status compile(
	struct compiled *out, const struct prog *bound, const struct compile_options *o, struct arena *a, struct err *err);

/* The backward part's inputs carry the numbers that it is given, as it stands for people: those that are integers, or few. */
void compile_give(struct compiled *c, const struct prog *bound, struct arena *a);

#endif
