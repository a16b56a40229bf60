/* native.h: the engine that compiles a loop program with a C compiler, a process of its own, into a shared library that it loads. Slow to
 * compile, and optimised: what gcc and clang make of the text is under test, too. */
#ifndef SCATTERPROOF_NATIVE_H
#define SCATTERPROOF_NATIVE_H

#include "compiled/loops/batch.h"
#include "compiled/loops/run.h"

struct native_options {
	const char *compiler; /* "gcc", "clang" */
	int level;            /* -O0 to -O3 */
	bool sanitize;        /* undefined behaviour of the text traps: SIGILL */
};
enum native_end { NATIVE_OK, NATIVE_MISSING, NATIVE_BROKEN }; /* not OK (err): no such compiler here; it does not take the text, our bug */
struct native;
bool native_can_build(const struct native_options *o, struct err *err); /* is the compiler in PATH? */
/* Code that is in `ahead` (NULL: none is) is taken from there. */
enum native_end native_open(
	struct native **out, const struct loops *l, const struct native_options *o, const struct batches *ahead, struct err *err);
/* The two halves of it: a library at that path, and that library loaded. */
enum native_end native_build(const char *library, const struct loops *l, const struct native_options *o, struct err *err);
bool native_load(struct native **out, const char *library, struct err *err);
void native_close(struct native *n);                 /* NULL is fine */
bool native_run(struct loop_frame *f, void *native); /* a loop_engine */

/* Of batches (batch.h), whose files are libraries: is its code there? And the file of one. */
extern const struct batch_kind native_batches;
bool native_is_ahead(const struct batches *ahead, const struct loops *l, const struct native_options *o);
bool native_build_all(const char *library, const struct loops *const *l, int n, const struct native_options *o, struct err *err);

#endif
