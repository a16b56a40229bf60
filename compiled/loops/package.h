/* package.h: a compiled program as a folder on disk, run by a process that knows nothing else: what AOTInductor's packages are.
 *   program.prog   the program whose rows the loops run (externs, inputs, results)
 *   loops          the loop program as text
 *   loops.so       its code
 *   inputs         what a run takes: the symbols' values, and the cells of each input storage (wire.h)
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
/* In a fresh process of this binary; at: of loops of any size the call's else NULL; inputs: by input storage of the program, its
 * cells. *out has one call and lives in a. RES_CRASH: that process died (message). */
void package_run(
	struct result *out, const struct package *k, const struct call_sizes *at, const struct result_storage *inputs, struct arena *a);
int package_child(const char *folder); /* the verb; returns the exit code */

#endif
