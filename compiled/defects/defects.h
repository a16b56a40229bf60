/* defects.h: planted defects, what the fuzzer is tested with. A DEFECT is the miniature of a compiler bug: behind one step of the built-in
 * compiler it changes what that step left, as a wrong rule of the step would have. Passes know nothing of defects: step_done() in compile.c
 * plants the one that compile_options name, before validators look; code_loops() in loops/code.c does so behind the steps on loops.
 *
 * defects.def says of each what is wrong, which bug it resembles, behind which step it acts and who must catch it: `invariant` defects
 * break one of validate.h; all others leave the validators content, because rows that were changed are inferred again.
 * A program in which there is nothing to spoil stays as it is. */
#ifndef SCATTERPROOF_DEFECTS_H
#define SCATTERPROOF_DEFECTS_H

#include "compiled/loops/loops.h"
#include "compiled/passes/functionalise.h"
#include "compiled/passes/partition.h"
#include "compiled/passes/pass.h"

enum defect_catcher {
	CAUGHT_BY_INVARIANT,
	CAUGHT_BY_META,
	CAUGHT_BY_ALIAS,
	CAUGHT_BY_VALUE,
	CAUGHT_BY_GRADIENT,
	CAUGHT_BY_RAISE,
	NDEFECT_CATCHERS
};
extern const char *const defect_catcher_name[NDEFECT_CATCHERS]; /* "invariant", "meta", ... */

/* What a step works on. A step on something other than a program gives it a member of its own, NULL elsewhere. */
struct defect_site {
	struct pure *g;             /* the program; behind the epilogue it has no results but p's returns */
	int nforward;               /* from the joint step on: rows before the backward part, as that step left them */
	const struct functional *f; /* NULL: of a backward part */
	struct partition *s;        /* behind partition, where g is the forward part */
	struct loops *l;            /* behind the steps on loops, where the others are NULL */
};

struct defect {
	const char *name;
	const char *step; /* of steps.def */
	enum defect_catcher caught;
	const char *what;                     /* one sentence */
	const char *like;                     /* the bug that it resembles */
	bool (*spoil)(struct defect_site *s); /* false: this program has nothing to spoil, and is as it was */
};
extern const struct defect defects[];
extern const int ndefects;
const struct defect *defect_find(const char *name); /* NULL: there is none */

bool defect_is_of_loops(const struct defect *d);    /* NULL: no */
bool defect_is_of_schedule(const struct defect *d); /* or of reorder, which comes with it */
bool defect_is_of_symbols(const struct defect *d);  /* of loops, under +dynamic=1 alone */

/* d (NULL: none), if it acts behind this step. True: the program is another one now. */
bool defect_plant(const struct defect *d, const char *step, struct defect_site *s);

#endif
