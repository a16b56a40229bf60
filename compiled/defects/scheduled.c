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

static bool bound_in(const struct loops *l, const struct affine *at)
{
	for (int k = 0; k < at->n; k++)
		if (spoil_definer(l, at->term[k].reg) && spoil_definer(l, at->term[k].reg)->op == LOOP_BOUND)
			return true;
	return false;
}

/* Does a cell whose position comes from memory become what it was and more? */
static bool accumulates(const struct loops *l, int loop)
{
	for (int i = loop + 1; i < l->ins[loop].match; i++)
		for (int k = loop + 1; k < i && l->ins[i].op == LOOP_STORE && bound_in(l, l->ins[i].at); k++)
			if (l->ins[k].op == LOOP_LOAD && l->ins[k].buffer == l->ins[i].buffer)
				return true;
	return false;
}

/* Only loops at the head of a nest become threads. */
static bool adds(struct loops *l, int i)
{
	const bool head = spoil_loop_around(l, i) == -1 || l->ins[i - 1].op == LOOP_FOR;
	const bool may = head && in_order(l, i) && accumulates(l, i) && !effects_of(l, i).carried;
	l->ins[i].parallel |= may;
	return may;
}
bool defect_accumulated_at_once(struct defect_site *s) { return spoil_each(s->l, adds); }

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
