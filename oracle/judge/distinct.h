/* distinct.h: elements of an output that cannot be equal: positions that one topk or sort gives of one row. Where the row has equals each
 * of them may be any of several; that they differ from each other is all that tells a permutation from an index given twice. */
#ifndef SCATTERPROOF_DISTINCT_H
#define SCATTERPROOF_DISTINCT_H

#include "oracle/ref/refrun.h"

struct distinct {
	int64_t n;
	const int64_t *index; /* elements of the output; of those that are one scalar (expand) the first */
};

/* The groups of at least two such elements in output v, some of them undecided. Returns how many groups. */
int64_t distinct_groups(struct distinct **out, const struct reference *ref, const struct ref_value *v, struct arena *a);

/* Is element k of output v a position that topk or sort names among certain equals (NUM_TIED)? Then *right: `at` is one of theirs. */
bool distinct_tied(bool *right, const struct reference *ref, const struct ref_value *v, int64_t k, int64_t at);
/* The first `most` of these positions. Returns how many there are; 0: element k is no such position. */
int64_t distinct_equals(int64_t *at, int64_t most, const struct reference *ref, const struct ref_value *v, int64_t k);

#endif
