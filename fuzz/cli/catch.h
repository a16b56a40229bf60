/* catch.h: errors planted into correct results, to see whether they are noticed; and how wide the reference's enclosures are.
 *
 * A program is generated for one dtype, its plain floating-point inputs get one fill in every call, builtin:eager runs it, and the
 * result must pass. Then each kind of error is planted once, in a copy of the result, at a random place: a tensor (output or gradient
 * of the dtype, any call), then an element, dimension or index of it. `judge` sees the copy exactly as it would see a target's.
 *
 *   operand  an element that is a sum of n >= 2 addends (addends.h) loses one of typical size: the mean magnitude of its addends
 *   factor   every element of the tensor times n/(n - len): n the size of one of its dimensions, 1 <= len < n
 *   row      the elements at one index of one dimension (size >= 2) become 0
 *   stale    the tensor holds what it held in another call
 *   ulp      one element that the reference calls exact becomes the next number of its dtype away from 0
 *
 * What does not change any number is no error and is not counted (the sign of a zero is no change). The class of a plant is that
 * of the best known element that it changes. */
#ifndef SCATTERPROOF_CATCH_H
#define SCATTERPROOF_CATCH_H

#include "fuzz/cli/bench.h"
#include "oracle/judge/judge.h"

enum plant { PLANT_OPERAND, PLANT_FACTOR, PLANT_ROW, PLANT_STALE, PLANT_ULP, NPLANTS };
extern const char *const plant_name[NPLANTS];
/* Exact; radius at most half the value; wider; several kinds of value are legal (a straddled discontinuity). */
enum knowledge { KNOWN_EXACT, KNOWN_ENCLOSED, KNOWN_WEAK, KNOWN_NOT, NKNOWLEDGE };
enum knowledge knowledge_of(const struct num *n);

struct catch_count {
	int64_t planted, flagged;
};
struct catch_table {
	int64_t programs, unjudged, diverged; /* diverged: the correct result was refused (our fault), nothing planted */
	int64_t idle[NPLANTS];                /* programs without a place for it */
	struct catch_count count[NPLANTS][NKNOWLEDGE];
};

struct catch_case {
	struct arena *arena;          /* reset for each program */
	struct program_source source; /* its dtypes: `dtype` */
	int64_t next;                 /* number of the next program */
	enum dtype dtype;
	const char *fill;
	const char *licence; /* the target whose licence judges; NULL: builtin:eager */
	/* Called for every plant that was not flagged; may be NULL. */
	void (*missed)(
		void *ctx, const struct prog *p, enum plant what, enum knowledge k, const char *tensor, const struct num *want, double got);
	void *ctx;
};

/* Generates the next program with the fill; NULL fill: as generated. At most ncall `call` lines. */
bool catch_generate(struct prog *out, struct catch_case *c, int ncall, struct err *err);
/* One program: generate, run, judge, plant, count. */
bool catch_one(struct catch_table *t, struct catch_case *c, struct err *err);
struct catch_count catch_sum(const struct catch_table *t, enum plant p);

#endif
