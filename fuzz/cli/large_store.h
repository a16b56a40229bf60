/* large_store.h: a findings store of a given size, as many nights of campaigns and triage leave one, for measurements.
 *
 * Its programs, operators and policy draws are the generator's; the rest is made from a finding's number, so that the same number is the
 * same rows in every store (but for a duplicate whose original is left out): stores of numbers 0 to 99 and 50 to 149 share half. It is
 * written through the store's own functions, so keys, the rows that are kept of a finding and the summaries are as in any store. */
#ifndef SCATTERPROOF_LARGE_STORE_H
#define SCATTERPROOF_LARGE_STORE_H

#include "reports/store/store.h"

struct large_store {
	int64_t first, findings;      /* numbers first to first + findings - 1 */
	int64_t observations, causes; /* of all of these findings; they go to each in turn */
	uint64_t seed;                /* of programs and draws */
};

/* What such a store counts, as it is made; `bench store` compares. */
struct large_counts {
	int64_t findings, observations, verdicts; /* observations: of the bug and passes; verdicts: of programs, by counters */
};

/* Into an open, empty store. False: err has the store's sentence. */
bool large_store_fill(struct large_counts *out, struct store *s, const struct large_store *what, struct err *err);

#endif
