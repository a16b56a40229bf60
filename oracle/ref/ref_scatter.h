/* ref_scatter.h: values that go to named elements of a result, and how those that meet are combined: what the scatters share. */
#ifndef SCATTERPROOF_REF_SCATTER_H
#define SCATTERPROOF_REF_SCATTER_H

#include "oracle/ref/ref.h"

/* `count` values val[k] go to element cell[k]. */
struct writes {
	int64_t count;
	const int64_t *cell;
	const sid *val;
};

/* How values that meet are combined: f over (self if with_self, values…), value k times alpha[k] if there is alpha. `every`: elements
 * that nothing hits become lists of one, because the backward formula (g * result / x, shares among equals) runs over them too. */
struct combine {
	enum sf f;
	enum dtype dt;
	bool with_self, every;
	const sid *alpha;
	sid one;
	const sid *beside; /* [n]: an entry more for elements that are hit, 0: none */
};

/* out: n ids, of self at first. times[at] (may be NULL): how many entries element `at` has; 0: not hit. */
void scatter_combine(struct ref_ctx *c, sid *out, int64_t n, const struct writes *w, const struct combine *how, int64_t *times);

#endif
