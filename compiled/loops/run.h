/* run.h: running a loop program: its buffers between red zones (eager/run/zones.h), filled, run by an ENGINE, reported as a struct
 * result_call. */
#ifndef SCATTERPROOF_LOOPS_RUN_H
#define SCATTERPROOF_LOOPS_RUN_H

#include "compiled/loops/loops.h"
#include "eager/lang/result.h"

/* What generated code calls back, for code that does not know our addresses. */
struct loop_callbacks {
	bool (*bound)(void *frame, int64_t ins, int64_t v, int64_t *out);
	bool (*call)(void *frame, int64_t ins);
	bool (*stated)(void *frame, int64_t ins, int64_t v);
};
extern const struct loop_callbacks loop_callbacks;

/* What generated code and the interpreter work on. */
struct loop_frame {
	const struct loop_callbacks *callbacks; /* first: generated code reads it */
	unsigned char **data;                   /* by buffer: its first cell */
	const struct loops *loops;              /* of this call: numbers alone */
	int64_t symbol[MAX_POLY_SYMBOLS];       /* which generated code reads, of loops of any size; of data: UNBOUND until they are bound */
	const struct loops *any;                /* the same of any size; NULL: there are no others */
	int64_t said[MAX_POLY_SYMBOLS];         /* the symbols' values, as the program states those of data */
	bool unfit;                             /* a guard does not hold that could be looked at only now */
	size_t bytes;                           /* of all buffers so far */
	struct arena *memory;                   /* they live there */
	const struct prog *p;
	struct arena *scratch;
	struct err *err; /* what was raised */
	double ms;       /* an engine's own measure of its run; 0: its caller's */
};
/* False: the program raised (err). */
typedef bool loop_engine(struct loop_frame *f, void *ctx);

bool loops_interpret(struct loop_frame *f, void *ctx); /* ctx: NULL */
/* For engines. False: the kernel raised. */
bool loop_frame_call(struct loop_frame *f, const struct loop_call *call);
/* The position a of LOOP_BOUND `i`; false: outside. */
bool loop_frame_bound(int64_t *out, struct loop_frame *f, const struct loop_ins *i, int64_t a);

/* LOOP_STATED number `ins`: v is what was counted. It binds a symbol of data: then the buffers are made whose cells it counts, and guards
 * are looked at. False: v is another number than the program states (err), or the call is unfit. */
bool loop_frame_stated(struct loop_frame *f, int64_t ins, int64_t v);

/* A call of loops of any size. */
struct call_sizes {
	const struct prog *p; /* the program that they were made of, at the call's sizes */
	int64_t symbol[MAX_POLY_SYMBOLS];
};

/* Not RAN: err. UNFIT: the data give a size that the loops are not made for. */
enum loop_end { LOOPS_RAN, LOOPS_RAISED, LOOPS_TOO_LARGE, LOOPS_UNFIT };
/* Is l made of p, as far as its buffers, results and calls of kernels show? For one that was read. */
bool loops_fit(const struct loops *l, const struct prog *p, struct err *err);
/* Symbols that are not bound yet have this value: code that reads one does nothing, or what I6 should have refused. */
#define UNBOUND INT64_MIN
/* p: the program that l was made of; inputs: by input storage of p, its cells. symbol: of loops of any size, the call's values, and p is
 * the program at these; NULL: l has none. What is reported lives in a. */
enum loop_end loops_run(struct result_call *out, const struct loops *l, const struct prog *p, const int64_t *symbol,
	const struct result_storage *inputs, loop_engine *engine, void *ctx, struct arena *a, struct err *err);

#endif
