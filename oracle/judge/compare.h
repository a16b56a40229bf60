/* compare.h: one tensor that a target returned against what the reference says of it.
 *
 * Per element: agree (exact and equal, or inside a sound enclosure), disagree (outside), undecided (inside a set that a straddled
 * discontinuity made: legal, not confirmed). An agreeing element whose radius exceeds half its value is WEAK: counted apart.
 * Exact elements are compared bit for bit, the sign of zero only where the value was moved and nothing else (NUM_MOVED). */
#ifndef SCATTERPROOF_COMPARE_H
#define SCATTERPROOF_COMPARE_H

#include "eager/lang/result.h"
#include "oracle/ref/refrun.h"

enum element { EL_AGREE, EL_UNDECIDED, EL_DISAGREE, NELEMENT };

/* What a wrong tensor looks like: the shape of the error, for signatures. */
enum pattern {
	PAT_NONE,
	PAT_ALL_ZERO, /* every element is 0, and some should not be */
	PAT_NAN,      /* the wrong elements are NaN */
	PAT_INF,
	PAT_SCALED,   /* got = ratio * expected where expected is not 0 */
	PAT_CONSTANT, /* every element is the same number */
	PAT_PERMUTED, /* the same values in other places */
	PAT_SHIFTED,  /* got[i] = expected[i + shift] */
	PAT_STALE,    /* the values of an input, or of another call */
	PAT_ROW,      /* the wrong elements fill whole rows (index of one dim fixed) */
	PAT_SINGLE,   /* one element */
	PAT_ULP,      /* off by a few units in the last place */
	PAT_OTHER,
	PAT_OVERWRITTEN, /* was something else when the call returned it (judge.c) */
	NPATTERNS
};
extern const char *const pattern_name[NPATTERNS];

enum { MAX_SAMPLES = 8 };
struct sample {
	int64_t index;
	double low, high, got;
	uint8_t flags;
};

struct compared {
	int64_t n, count[NELEMENT], exact, weak;
	int64_t tied;    /* of the agreeing ones: right whichever of certain equals is chosen (distinct.h, ref_winners); 0 until judge.c asks */
	int64_t suspect; /* of the agreeing ones, and then not weak; 0 unless spread.h was asked */
	int64_t nwrong_exact; /* of the disagreeing ones: reference exact */
	int nsample;
	struct sample sample[MAX_SAMPLES]; /* the first disagreeing elements; the first suspect, between its low and high */
	double worst;                      /* largest distance outside the set, in radii plus ulps */
	enum pattern pattern;
	double ratio;  /* PAT_SCALED */
	int64_t shift; /* PAT_SHIFTED */
	/* All elements added up, if one disagrees: what must be (known within sum_radius, rounding of each element included) and what is. */
	double want_sum, got_sum, sum_radius;
};

/* Element k of data (n elements of dtype dt, dense). */
enum element compare_element(const struct num *want, enum dtype dt, const void *data, int64_t k);
bool element_is_weak(const struct num *want); /* the radius exceeds half the value */
/* Compares all; then, if something disagrees, classifies. `meta` gives the sizes (rows); stale: candidates, may be NULL. */
struct stale {
	int64_t n;
	const struct num *val;
};
void compare_values(struct compared *out, const struct num *want, int64_t n, const struct meta *meta, const void *data,
	const struct stale *stale, int nstale);
/* got_sum / want_sum; NaN where the sum that must be is too uncertain, or nothing is wrong. *within: how well it is known; may be NULL. */
double compared_ratio(double *within, const struct compared *c);

#endif
