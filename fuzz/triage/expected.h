/* expected.h: what the reference says of the tensor that a claim is about, as Python for its script:
 *
 *     MUST = {"present": True, "shape": ("torch.float32", [4, 13, 33])}
 *     EXPECTED = [
 *         ((0, 0),
 *             [0] * 198
 *             + [0.75] * 231,
 *             []),
 *     ]
 *
 * Of a tensor after the last call MUST says only that it "stays" what it was when its call returned.
 *
 * MUST holds the facts that the claim speaks of (script_run.py's wrong() reads them). EXPECTED is there if it speaks of elements, with an
 * entry for each range of versions of PyTorch between which what is legal differs: its first version; the elements in row-major order (of
 * an input afterwards: the storage's cells), None where the reference does not judge that version; groups of elements: (indices,
 * intervals), each interval holds one of their gradients, nobody can know whose, and the others are 0; or (indices,), all differ. An
 * element is None (any value is legal), a number (that one and no other; the int 0 in a float tensor: a zero of either sign), (low, high,
 * *also): from low to high, or one of the others, or {one, of, these} (positions of more than 64 equals: from the first to the last). The
 * numbers of the tensor's dtype from low to high are exactly those that compare.h accepts. */
#ifndef SCATTERPROOF_EXPECTED_H
#define SCATTERPROOF_EXPECTED_H

#include "fuzz/triage/claim.h"

enum {
	EXPECTED_SHORT = 4096, /* elements up to which a person may want to read the table */
	MAX_EXPECTED = 1 << 18 /* elements beyond which there is none: the script says so */
};

/* An output or gradient; NULL: the reference has none of that number. */
const struct ref_value *expected_value(const struct reference *ref, enum tensor_role role, int index);
/* The outermost numbers of dt that the finite part of v accepts. */
void expected_ends(double *low, double *high, const struct num *v, enum dtype dt);
/* "output 0", "x.grad", "input x afterwards": as the script calls it. */
void expected_name(struct strbuf *sb, const struct tensor_name *n);
/* The elements as a nested list of Python, "[[1, 2.5], [0, nan]]"; NULL: not all are one number, or a person would not read so many. */
const char *expected_list(const struct claim *c, const struct prog *p, const struct target *t, struct arena *a);
/* Appends both. c is a claim about a tensor of p. False: nothing can be said; *why says why, in a. */
bool expected_emit(
	struct strbuf *sb, const char **why, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a);

#endif
