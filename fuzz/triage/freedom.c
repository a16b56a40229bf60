/* freedom.c: see freedom.h. */
#include "fuzz/triage/freedom.h"

const struct freedom freedoms[NFREEDOMS] = {
#define FREEDOM(bit, stage, reason, source) {bit, stage, reason},
#include "fuzz/triage/freedom.def"
#undef FREEDOM
};

unsigned freedoms_of(const struct target *t)
{
	unsigned mask = 0;
	if (t->family != FAM_TORCH)
		return 0;
	for (int i = 0; i < NFREEDOMS; i++)
		for (int k = 0; k <= t->stage; k++)
			if (str_eq(target_families[FAM_TORCH].stage[k].name, freedoms[i].stage))
				mask |= freedoms[i].bit;
	return mask;
}
