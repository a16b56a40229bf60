/* feature.h: what a program is made of, as numbers: two programs with the same features ask a compiler the same kind of question.
 *
 *   row     operator, dtype, layout class of each operand, on a gradient path or not
 *   edge    producer, consumer, which operand, layout class between them, class of dtype, on a gradient path or not
 *   spelled operator, surface, with symbols or not
 *   alias   a write and what else sees its memory: the write, then an operator that reads the written memory through the same value, its
 *           base, a view of it, or another view of the same base; inputs and fresh memory are told apart
 *
 *   loop    a shape (compiled/loops/shape.h) of the loops that the built-in compiler makes of it; only of sets that ask for them
 *
 * Static: nothing runs, no data matters. Some microseconds a program; with loops a tenth of a millisecond, because it is compiled. */
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

enum feature_kind { FEATURE_ROW, FEATURE_EDGE, FEATURE_SPELLED, FEATURE_ALIAS, FEATURE_LOOP, NFEATURE_KINDS };

/* Tells `take` every feature of p but its loops as a hash, some of them more than once. */
void features_each(const struct prog *p, void (*take)(void *ctx, enum feature_kind kind, uint64_t hash), void *ctx);

/* Its loops; nothing of a program that the compiler does not take. */
void features_each_loop(const struct prog *p, void (*take)(void *ctx, enum feature_kind kind, uint64_t hash), void *ctx);

/* A set of features of a fixed size; a collision only makes a program look a little less new. All zeros: empty. */
enum { FEATURE_BITS = 1 << 20 };
struct feature_set {
	bool loops; /* of programs that are asked for or added, their loops count, too */
	uint64_t seen[FEATURE_BITS / 64];
	int64_t nseen;
};
bool feature_set_add(struct feature_set *s, uint64_t hash);          /* it was not there */
int features_new(const struct feature_set *s, const struct prog *p); /* how many of p's features s does not have */
int features_add(struct feature_set *s, const struct prog *p);       /* the same, and now it has them */

#endif
