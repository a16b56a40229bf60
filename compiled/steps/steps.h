/* steps.h: the pipeline of the built-in compiler as a table, steps.def. compile() walks it; targets, `--print-after`, `+until=`, blame,
 * the self-test and `compile --help` read it. */
#ifndef SCATTERPROOF_STEPS_H
#define SCATTERPROOF_STEPS_H

#include <stdbool.h>

enum step_kind { STEP_OF_WHOLE, STEP_OF_PART, STEP_OF_PASS, STEP_OF_CODE, STEP_OF_END, STEP_OF_LOOPS };

enum compile_step {
#define STEP(name, ...) STEP_##name,
#include "compiled/steps/steps.def"
#undef STEP
	NSTEPS
};

struct step_info {
	const char *name;
	enum step_kind kind;
	const char *stage, *needs, *validators, *what; /* see steps.def; stage, needs: "" if there is none */
};
extern const struct step_info compile_steps[NSTEPS];

int step_find(const char *name);          /* -1: there is none */
int step_find_of_stage(const char *name); /* the step behind which that stage of `builtin` stops; -1: it stops behind none */
/* The next step from `from` on of a program that is compiled no further than needed (no LOOPS), behind which one may stop, up to
 * reinplace; -1: there is none. */
int step_stop(int from);

#endif
