/* adjoint.h: reverse differentiation of the scalar tape.
 *
 * Truth is the derivative of the scalar functions. The adjoint of a scalar is a TWO-LEVEL sum: first what one consumer operator
 * sends (a broadcast operand, a matrix product, an index read twice: accumulated in that operator's accumulation type), then
 * over its consumers, in the scalar's own dtype; both roundings are in the radius.
 *
 * Which scalars have a gradient is NOT decided here: `path[node]` says which program nodes lie on the tensor-level requires-grad
 * path, as bits: through which of their results. On the path adjoints are dense: a scalar that nothing reads any more (overwritten) has
 * the exact adjoint 0, and it still multiplies (0 * inf = NaN). Off the path nothing is differentiated. */
#ifndef SCATTERPROOF_ADJOINT_H
#define SCATTERPROOF_ADJOINT_H

#include "oracle/tape/tape.h"

struct adj {
	double hi, lo, rad,
		abs;    /* centre, radius and total magnitude of the contributions; with NUM_NOFIN lo is what the finite ones add up to */
	uint32_t n; /* contributions */
	uint16_t consumers, last; /* operators that sent them; the last one + 1 */
	int16_t last_bit;         /* smallest exponent of a last set bit among exact contributions */
	uint8_t p, flags;         /* fewest significand bits of an accumulation type; NUM_* */
	uint8_t levels;           /* sums made one after the other, each rounded (levels.c); 0 or 1: one */
	bool flushed;             /* some were added where denormals are flushed (LF_FTZ) */
	uint16_t onto;            /* terms of matrix products among the contributions that may start from the others (LF_ONTO) */
};

/* Undecided winners (topk, max.dim …): one of the entries gets g whole, whichever it is. (Equals that share, as those of amax, are no
 * group: leaves are exact, so which of them are equal is certain, and what is computed from them is judged by its ball alone.) */
struct adj_group {
	const sid *entry;
	int64_t n;
	struct num g;
	int node;
	bool tied; /* the entries are equal for certain: which of them gets g is the operator's choice */
};

struct adjoint {
	struct tape *t;
	struct adj *a;    /* [nscalar] */
	double *onto_abs; /* [nscalar], NULL: all 0. What the terms of exact products add up to beyond the products (LF_ONTO) */
	int ngroup, cap_group;
	struct adj_group *group;
};

void adjoint_init(struct adjoint *A, struct tape *t);
/* Adds the cotangent of one returned element. consumer: any number that tells returned values apart (>= number of nodes). */
void adjoint_seed(struct adjoint *A, sid id, const struct num *g, int consumer);
void adjoint_run(struct adjoint *A, const uint32_t *path);
/* The finished adjoint of a scalar, rounded to its dtype. */
struct num adjoint_of(const struct adjoint *A, sid id);

#endif
