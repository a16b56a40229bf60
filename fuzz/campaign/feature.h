/* feature.h: what a program is made of, as numbers: two programs with the same features ask a compiler the same kind of question.
 *
 *   row     operator, dtype, layout class of each operand, on a gradient path or not
 *   edge    producer, consumer, which operand, layout class between them, class of dtype, on a gradient path or not
 *   spelled operator, surface, with symbols or not
 *   alias   a write and what else sees its memory: the write, then an operator that reads the written memory through the same value, its
 *           base, a view of it, or another view of the same base; inputs and fresh memory are told apart
 *
 * Static: nothing runs, no data matters. Some microseconds a program. */
#ifndef SCATTERPROOF_FEATURE_H
#define SCATTERPROOF_FEATURE_H

#include "eager/lang/prog.h"

/* contiguous, 0-d, empty, stride-0 broadcast, overlapping otherwise, permuted dense, gapped */
enum layout_class {
	LAYOUT_CONTIGUOUS,
	LAYOUT_SCALAR,
	LAYOUT_EMPTY,
	LAYOUT_BROADCAST,
	LAYOUT_OVERLAP,
	LAYOUT_PERMUTED,
	LAYOUT_GAPPED,
	NLAYOUTS
};
enum layout_class layout_of(const struct meta *m);

enum feature_kind { FEATURE_ROW, FEATURE_EDGE, FEATURE_SPELLED, FEATURE_ALIAS, NFEATURE_KINDS };

/* Tells `take` every feature of p as a hash, some of them more than once. */
void features_each(const struct prog *p, void (*take)(void *ctx, enum feature_kind kind, uint64_t hash), void *ctx);

/* A set of features of a fixed size; a collision only makes a program look a little less new. All zeros: empty. */
enum { FEATURE_BITS = 1 << 20 };
struct feature_set {
	uint64_t seen[FEATURE_BITS / 64];
	int64_t nseen;
};
bool feature_set_add(struct feature_set *s, uint64_t hash);          /* it was not there */
int features_new(const struct feature_set *s, const struct prog *p); /* how many of p's features s does not have */
int features_add(struct feature_set *s, const struct prog *p);       /* the same, and now it has them */

#endif
