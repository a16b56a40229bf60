/* dialect.h: forms of one program, each made of the one before by steps of the built-in compiler. A stage says which it takes
 * (target_stage's takes); exec hands it that one, so a family that knows the core dialect runs programs with views, writes and gradients:
 * 39 primitives and the pointwise rows (decompose/core.def) instead of the whole table. What was returned goes back into the places of the
 * source's outputs, gradients and written inputs. */
#ifndef SCATTERPROOF_DIALECT_H
#define SCATTERPROOF_DIALECT_H

#include "compiled/compile.h"
#include "compiled/targets/target.h"

/* A call of a program, said in a dialect. */
struct said_call {
	struct prog bound;        /* the source's call (prog_bind) */
	struct compiled compiled; /* in one part: its program returns the outputs, then the gradients that exist */
};
struct said {
	int ncalls;
	struct said_call *call;
};

const char *dialect_name(enum target_dialect d); /* "aten", "core" */
bool dialect_find(enum target_dialect *out, const char *name);
/* Why a program that eager refuses is unsupported there. In a. */
const char *dialect_refuses(enum target_dialect d, struct arena *a);
/* What t takes: as its option `dialect` says, else as its stage does. */
enum target_dialect dialect_of(const struct target *t);
/* Every call of p, which must be accepted by eager; in a. False: it cannot be said (err: why), so that p is unsupported. d is not
 * TAKES_ATEN. */
bool dialect_say(struct said *out, const struct prog *p, enum target_dialect d, struct arena *a, struct err *err);

#endif
