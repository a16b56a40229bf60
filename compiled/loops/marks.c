/* marks.c: see marks.h. */
#include "compiled/loops/marks.h"

#include "compiled/loops/schedule.h"
#include "compiled/loops/symbols.h"

/* *l keeps those marks that it has at these sizes, too; `first`: it takes them. */
static void marks_at(struct loops *l, const int64_t *value, bool first)
{
	struct arena a;
	struct loops at;
	arena_init(&a);
	if (loops_at(&at, l, value, &a, NULL)) {
		for (int i = 0; i < at.nins; i++)
			at.ins[i].parallel = at.ins[i].summed = false;
		loops_schedule(&at);
		for (int i = 0; i < l->nins; i++) {
			l->ins[i].parallel = at.ins[i].parallel && (first || l->ins[i].parallel);
			l->ins[i].summed = at.ins[i].summed && (first || l->ins[i].summed);
		}
	}
	arena_free(&a);
}

void loops_schedule_any_size(struct loops *l)
{
	static const struct {
		int64_t times, more; /* of the hint */
	} other[] = {{1, 1}, {1, 2}, {1, -1}, {1, -2}, {2, 0}, {3, 5}, {0, 2}, {0, 3}};
	int64_t value[MAX_POLY_SYMBOLS] = {LEAST_SYMBOL, LEAST_SYMBOL, LEAST_SYMBOL};
	for (int s = 0; s < l->nsymbol; s++)
		value[s] = l->symbol[s].hint;
	marks_at(l, value, true);
	for (int k = 0; k < ARRAY_LEN(other); k++) {
		for (int s = 0; s < l->nsymbol; s++)
			value[s] = other[k].times * l->symbol[s].hint + other[k].more;
		if (loops_guards_hold(l, value, NULL))
			marks_at(l, value, false);
	}
}
