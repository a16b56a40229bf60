/* steps.c: the table of steps, and looking things up in it. */
#include "compiled/steps/steps.h"

#include "eager/base/base.h"

const struct step_info compile_steps[NSTEPS] = {
#define STEP(name, kind, stage, needs, validators, what) [STEP_##name] = {#name, STEP_OF_##kind, stage, needs, validators, what},
#include "compiled/steps/steps.def"
#undef STEP
};

int step_find(const char *name)
{
	for (int s = 0; s < NSTEPS; s++)
		if (str_eq(name, compile_steps[s].name))
			return s;
	return -1;
}

int step_find_of_stage(const char *name)
{
	for (int s = 0; s < NSTEPS; s++)
		if (compile_steps[s].stage[0] && str_eq(name, compile_steps[s].stage))
			return s;
	return -1;
}

int step_stop(int from)
{
	for (int s = from; s < NSTEPS; s++)
		if (compile_steps[s].kind == STEP_OF_WHOLE || compile_steps[s].kind == STEP_OF_PART || compile_steps[s].kind == STEP_OF_PASS)
			return s;
	return -1;
}
