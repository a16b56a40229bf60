/* native.h: the engine that compiles a loop program with a C compiler, a process of its own, into a shared library that it loads. Slow to
 * compile, and optimised: what gcc and clang make of the text is under test, too. */
#ifndef SCATTERPROOF_NATIVE_H
#define SCATTERPROOF_NATIVE_H

#include "compiled/loops/run.h"

struct native_ahead;
struct native_options {
	const char *compiler;             /* "gcc", "clang" */
	int level;                        /* -O0 to -O3 */
	bool sanitize;                    /* undefined behaviour of the text traps: SIGILL */
	const struct native_ahead *ahead; /* native_open takes what is there from there; NULL: nothing is */
};
enum native_end { NATIVE_OK, NATIVE_MISSING, NATIVE_BROKEN }; /* not OK (err): no such compiler here; it does not take the text, our bug */
struct native;
enum native_end native_open(struct native **out, const struct loops *l, const struct native_options *o, struct err *err);
/* The two halves of it: a library at that path, and that library loaded. */
enum native_end native_build(const char *library, const struct loops *l, const struct native_options *o, struct err *err);
bool native_load(struct native **out, const char *library, struct err *err);
void native_close(struct native *n);                 /* NULL is fine */
bool native_run(struct loop_frame *f, void *native); /* a loop_engine */

/* AHEAD is code that was compiled before it is asked for, many loop programs in one library: starting a compiler and reading a text's head
 * costs more than one program's code. Its functions are named after their text and options, so that whoever asks gets the code of just the
 * text that it has; what is not there native_open compiles alone, as if nothing were. So a batch that does not compile, for whichever of
 * its programs, is no error: each program meets its own when its turn comes. */
enum { MAX_AHEAD = 8 }; /* libraries; the oldest one goes */
struct native_ahead *native_ahead_new(void);
void native_ahead_free(struct native_ahead *h); /* NULL is fine; whatever native_open took from it is closed */
bool native_ahead_has(const struct native_ahead *h, const struct loops *l, const struct native_options *o);
/* `make` leaves a library at the path that it is given (native_build_all), in a process of its own, which is killed after limit_ms.
 * False: there is none, for whatever reason. Nothing that native_open took may be open. */
bool native_ahead_make(struct native_ahead *h, bool (*make)(void *ctx, const char *library), void *ctx, int limit_ms);
bool native_build_all(const char *library, const struct loops *const *l, int n, const struct native_options *o, struct err *err);

#endif
