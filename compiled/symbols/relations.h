/* relations.h: what steps may have asked about sizes. A RELATION is a difference of two numbers, a polynomial, whose sign (-, 0, +) decides
 * something: a size and 1, a slice's end and a size, the strides of a layout, the bounds of a loop and of a window in it. No step says what
 * it asked, so relations are all that rows, layouts and loops show; those whose sign is the same for all sizes from LEAST_SYMBOL up are
 * left out. For which signs the compiled program was seen to be the same one is learnt from samples; relations seen with all signs decide
 * nothing, the others become guards. */
#ifndef SCATTERPROOF_RELATIONS_H
#define SCATTERPROOF_RELATIONS_H

#include "compiled/symbols/sample.h"

enum { SIGN_LESS = 1, SIGN_ZERO = 2, SIGN_MORE = 4, SIGN_ANY = 7 };
struct relation {
	struct poly p;
	unsigned seen; /* signs */
};
struct relations {
	struct arena *arena;
	int n, cap;
	struct relation *of;
};

/* of: by word of the hint's walk the entry of `pool` that it is (numbers alone: 0 else); polynomials of its numbers. folds: constants are
 * folded (compile_options.freezing). False: err. */
bool relations_find(
	struct relations *out, struct compilation_of *hint, const int *of, const struct poly *pool, bool folds, struct arena *a);
unsigned relation_sign(const struct relation *r, const int64_t *value); /* 0: too large to tell */
void relations_see(struct relations *r, const int64_t *value);          /* at these sizes it is the same program */
bool relation_guard(struct guard *out, const struct relation *r);       /* false: it decides nothing */

#endif
