/* expected.h: what the reference says of the one tensor that a finding is about, as a Python table for its script:
 *
 *     EXPECTED = {
 *         (0, "x.grad"):
 *             [0] * 198
 *             + [0.75] * 231,
 *     }
 *
 * keyed by call and name, elements in row-major order (of an input afterwards: the storage's cells). An element is None (any value is
 * legal), a number (that one and no other; the int 0 in a float tensor: a zero of either sign), or (low, high, *also): from low to high, or
 * one of the others. The ends are the outermost numbers of the tensor's dtype inside the reference's set. */
#ifndef SCATTERPROOF_EXPECTED_H
#define SCATTERPROOF_EXPECTED_H

#include "compiled/targets/target.h"
#include "eager/prog.h"
#include "reports/store.h"

enum { MAX_EXPECTED = 4096 };   /* elements */

/* Names of the script: "output 0", "x.grad", "input x afterwards". */
struct expected { const char *name; int call; };

/* Appends the table for the tensor and call of the finding's latest mismatching observation. False: no table; *why says why, "" if the
 * finding is not about the elements of a tensor. Everything of *out lives in a. */
bool expected_emit(struct strbuf *sb, struct expected *out, const char **why, const struct prog *p, const struct target *t,
                   const struct store_loaded *finding, struct arena *a);

#endif
