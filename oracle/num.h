/* num.h: a number as the oracle knows it: a centre in double-double (about 106 bits), an error radius, and flags for values
 * outside the finite interval. It stands for the SET of values that licensed evaluations may have:
 *     { v : |v - (hi + lo)| <= rad }  unless NUM_NOFIN,   and +inf, -inf, NaN where flagged.
 * rad == 0 and flags == 0: exact; every licensed evaluation gives the same bits (up to the sign of zero).
 * NUM_UNDEC: a discontinuity was straddled on the way: what is inside the set is legal, but not confirmed.
 * NUM_ANY: nothing at all is known (an undecided index): every value is inside.
 * Integers and bools are int64_t payloads with modular wrap; only NUM_UNDEC/NUM_ANY apply to them: UNDEC: the value is one of
 * [i, i + lo] (lo a small integer), used for undecided b8 (0..1) and positions (0..n-1). */
#ifndef SCATTERPROOF_NUM_H
#define SCATTERPROOF_NUM_H

#include "eager/op.h"

enum { NUM_PINF = 1, NUM_NINF = 2, NUM_NAN = 4, NUM_NOFIN = 8, NUM_UNDEC = 16, NUM_ANY = 32, NUM_MOVED = 64 /* a move of raw data: the zero's sign counts */ };
#define NUM_SPECIAL (NUM_PINF | NUM_NINF | NUM_NAN | NUM_NOFIN | NUM_ANY)

struct num {
	union { double hi; int64_t i; };
	double lo;
	double rad;
	uint8_t dtype, flags;
};

#endif
