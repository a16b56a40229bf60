/* package.h: a compiled program as a folder on disk, run by a process that knows nothing else: what AOTInductor's packages are.
 *   program.prog   the program whose rows the loops run (externs, inputs, results)
 *   loops          the loop program as text
 *   loops.so       its code
 *   inputs.prog    the program whose inputs a run takes
 *   result         what it reported (wire.h) */
#ifndef SCATTERPROOF_PACKAGE_H
#define SCATTERPROOF_PACKAGE_H

#include "compiled/loops/native.h"

#define PACKAGE_VERB "__package" /* of this binary: __package FOLDER */

/* In a folder of its own in TMPDIR. Not OK: err. */
struct package;
enum native_end package_open(
	struct package **out, const struct loops *l, const struct prog *p, const struct native_options *o, struct err *err);
void package_close(struct package *k); /* removes the folder; NULL is fine */
/* In a fresh process of this binary, on the inputs of a program that has the same ones; p: the program at the call's sizes. *out has one
 * call and lives in a. RES_CRASH: that process died (message). */
void package_run(struct result *out, const struct package *k, const struct prog *p, const struct prog *inputs, struct arena *a);
int package_child(const char *folder); /* the verb; returns the exit code */

#endif
