/* scheduled.c: defects behind the step schedule: loops said to be free of order that are not. (A scatter that stores from iterations in
 * any order is no defect: which of several values for one cell stays is open.) */
#include "compiled/defects/spoil.h"
#include "compiled/defects/spoil_loops.h"

static bool in_order(const struct loops *l, int i) { return l->ins[i].op == LOOP_FOR && !l->ins[i].parallel && !l->ins[i].summed; }

/* Sets of registers that are older than the loop; stores. */
struct effects {
	int carried, stored;
};

static struct effects effects_of(const struct loops *l, int loop)
{
	struct effects e = {0, 0};
	for (int i = loop + 1; i < l->ins[loop].match; i++) {
		const struct loop_ins *ins = &l->ins[i];
		const struct loop_ins *var = ins->op == LOOP_SET ? spoil_definer(l, ins->dst) : NULL;
		e.carried += var && var < &l->ins[loop];
		e.stored += ins->op == LOOP_STORE;
	}
	return e;
}

static bool scans(struct loops *l, int i)
{
	const bool may = in_order(l, i) && effects_of(l, i).stored && effects_of(l, i).carried;
	l->ins[i].parallel |= may;
	return may;
}
bool defect_scanned_at_once(struct defect_site *s) { return spoil_each(s->l, scans); }

static bool chooses(struct loops *l, int i)
{
	const bool may = in_order(l, i) && !effects_of(l, i).stored && effects_of(l, i).carried;
	l->ins[i].summed |= may;
	return may;
}
bool defect_chosen_in_any_order(struct defect_site *s) { return spoil_each(s->l, chooses); }
