/* defects.c: the table, and the one door. */
#include "compiled/defects/defects.h"

#include "compiled/defects/spoil.h"
#include "compiled/steps/steps.h"

const char *const defect_catcher_name[NDEFECT_CATCHERS] = {"invariant", "meta", "alias", "value", "gradient", "raise"};

const struct defect defects[] = {
#define DEFECT(name, step, caught, what, like) {#name, step, CAUGHT_BY_##caught, what, like, defect_##name},
#include "compiled/defects/defects.def"
#undef DEFECT
};
const int ndefects = ARRAY_LEN(defects);

const struct defect *defect_find(const char *name)
{
	for (int i = 0; i < ndefects; i++)
		if (str_eq(name, defects[i].name))
			return &defects[i];
	return NULL;
}

bool defect_is_of_loops(const struct defect *d) { return d && step_find(d->step) >= STEP_lower; }
bool defect_is_of_symbols(const struct defect *d) { return d && step_find(d->step) == STEP_symbols; }
bool defect_is_of_schedule(const struct defect *d) { return d && step_find(d->step) >= STEP_schedule; }

bool defect_plant(const struct defect *d, const char *step, struct defect_site *s) { return d && str_eq(d->step, step) && d->spoil(s); }
