/* choices.h: the only source of randomness. A test case IS its sequence of choices; each choice is a number in [0, bound).
 *
 * Where the numbers come from:
 *   seed    xoshiro256** started by splitmix64 (Blackman and Vigna, 2018): never ends
 *   bytes   1, 2 or 4 little-endian bytes per choice, as few as the bound needs, taken modulo the bound (libFuzzer, files);
 *           after the last byte every choice is 0
 *   text    "value/bound" words; taken modulo the bound asked for; after the last word every choice is 0
 * Invariants: 0 is the simplest choice everywhere, so an empty sequence is the simplest test case; the same bytes give the same
 * choices on every machine; choices_to_bytes and choices_to_text of a recording replay it exactly.
 * A choice with a bound of 1 (or a chance of 0 or 100) is none: it takes nothing from the source and is not recorded.
 *
 * Memory: a recording is malloc'ed and freed by choices_free; bytes and text given are not copied and must outlive the struct. */
#ifndef SCATTERPROOF_CHOICES_H
#define SCATTERPROOF_CHOICES_H

#include "eager/base/base.h"

struct choice {
	uint32_t value;
	uint64_t bound;
}; /* bound <= 2^32 */
enum choice_source { FROM_SEED, FROM_BYTES, FROM_LIST };

struct choices {
	enum choice_source source;
	uint64_t state[4];    /* FROM_SEED */
	const uint8_t *bytes; /* FROM_BYTES */
	size_t nbytes, pos;
	struct choice *list; /* FROM_LIST; owned */
	size_t nlist;
	bool ended; /* a choice was asked for after the end: it was 0 */
	bool recording;
	struct choice *rec; /* owned */
	size_t nrec, cap;
};

void choices_from_seed(struct choices *c, uint64_t seed);
void choices_from_bytes(struct choices *c, const void *p, size_t n); /* allocates nothing */
bool choices_from_text(struct choices *c, const char *text, struct err *err);
void choices_free(struct choices *c);
void choices_record(struct choices *c);                             /* from now on; drops what was recorded */
void choices_to_bytes(struct strbuf *out, const struct choices *c); /* the recording */
void choices_to_text(struct strbuf *out, const struct choices *c);

uint32_t choose_below(struct choices *c, uint64_t n);          /* [0, n), 1 <= n <= 2^32 */
int64_t choose_int(struct choices *c, int64_t lo, int64_t hi); /* lo is the simplest; hi - lo < 2^32 */
bool choose_chance(struct choices *c, int percent);            /* false is the simplest; <= 0 never, >= 100 always */
/* Index with probability weight[i] / sum; the first of positive weight is the simplest; -1 if all are 0. */
int choose_weighted(struct choices *c, const int *weight, int n);

#endif
