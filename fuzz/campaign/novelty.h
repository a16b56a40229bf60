/* novelty.h: which programs are worth a compile. A program has features: (operator, dtype, layout class of each operand, on a
 * gradient path or not, surface, with symbols or not) and (producer, consumer, layout class between them). Features seen are bits of a
 * table; the score of a program is how many of its features no compiled program had yet. */
#ifndef SCATTERPROOF_NOVELTY_H
#define SCATTERPROOF_NOVELTY_H

#include "eager/lang/prog.h"

enum { NOVELTY_BITS = 1 << 20 };
struct novelty {
	uint64_t seen[NOVELTY_BITS / 64];
	int64_t nseen;
};

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
extern const char *const layout_name[NLAYOUTS];
enum layout_class layout_of(const struct meta *m);

int novelty_score(const struct novelty *v, const struct prog *p);
void novelty_mark(struct novelty *v, const struct prog *p);

#endif
