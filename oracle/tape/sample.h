/* sample.h: one licensed evaluation drawn at random (Monte Carlo arithmetic: Parker, "Monte Carlo Arithmetic", 1997), by the code that
 * computes the sets: as soon as a scalar's set is known, the set is replaced by one number in it. Operands are then single numbers, so
 * each set is as wide as its own operator's freedom, and what comes out at the end is one evaluation, not the hull of all.
 *
 * Enclosures add up worst cases; evaluations do not meet them. A dozen of these say where results really lie (spread.h). They are
 * drawn inside the sets, operator by operator, so each must lie inside the enclosures: a test of those, too. */
#ifndef SCATTERPROOF_SAMPLE_H
#define SCATTERPROOF_SAMPLE_H

#include "oracle/tape/tape_impl.h"

/* Radii of f64's denormals are rounded up to some quanta (num_rounded): room for bounds that underflow, not for results. */
#define SAMPLE_PADDING 0x1p-1060

enum sample_kind { SAMPLE_VALUE, SAMPLE_ADJOINT };

/* How a set came about. */
struct sample_of {
	int64_t n; /* it sums n terms; 1: no sum. */
	int p;     /* ... in a type of p bits. From f32's on, their roundings are taken as independent: of partial sums that grow
	                         * evenly they add up to a deviation of sqrt(n)/3 of u times the sum, which is that of a number
	                         * drawn evenly from 1/sqrt(3n) of the radius. In f64, where no wide twin can acquit, it is
	                         * 2/sqrt(n): like terms are rounded alike, and then 5 of 40,000 programs are not suspected. Halves
	                         * lose like terms alike, and have all of it */
	bool wide; /* a half may be kept in f32 (LF_WIDE): every other one is */
};
/* One number of v, of dtype dt; the same for the same seed, scalar and kind. What nothing is known of (NUM_ANY) stays so. */
struct num sample_one(const struct num *v, enum dtype dt, uint64_t seed, sid id, enum sample_kind kind, struct sample_of of);
bool sample_coin(uint64_t seed, sid id);
/* The values of a block that was just computed. */
void sample_block(struct tape *t, const struct tape_block *b);

#endif
