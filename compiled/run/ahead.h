/* ahead.h: compiling programs before their turn comes, for the engines whose compiler takes long (loops/batch.h): many in one go. It
 * changes how long a program takes and nothing else: what cannot be compiled ahead, or dies on the way, is compiled when its turn comes.
 * */
#ifndef SCATTERPROOF_AHEAD_H
#define SCATTERPROOF_AHEAD_H

#include "compiled/compile.h"

enum { AHEAD_PROGRAMS = 32, AHEAD_FUNCTIONS = 128 }; /* a program has a function for each part of each call of other sizes */

/* text[0] is the program that runs now, the others are those that come next. If h lacks code of the first one, all of them are compiled, as
 * many as one library takes. o->code.ahead is not looked at. limit_ms: what the program that runs now has in all; the others take a
 * part of it at most. */
void compile_ahead(struct code_ahead *h, const char *const *text, int n, const struct compile_options *o, int limit_ms);
/* The other half of it: the file of a batch of n programs, made in this process, whether there is a GPU or not. False: none (err). */
bool compile_batch(const char *path, const char *const *text, int n, const struct compile_options *o, struct err *err);

#endif
