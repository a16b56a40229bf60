/* sized.c: defects behind the step symbols, which makes loops of any size: where calls have one size there is nothing to spoil. */
#include "compiled/defects/spoil.h"
#include "compiled/defects/spoil_loops.h"
#include "compiled/loops/symbols.h"
#include "generated/op_id.h"

/* The last buffer that uses symbols does not list the first of them. */
bool defect_list_lacks_symbol(struct defect_site *s)
{
	for (int b = s->l->nbuffer - 1; b >= 0; b--)
		if (s->l->buffer[b].uses) {
			s->l->buffer[b].uses &= s->l->buffer[b].uses - 1;
			return true;
		}
	return false;
}

bool defect_binding_lost(struct defect_site *s)
{
	for (int k = s->l->nsymbol - 1; k >= 0; k--) {
		unsigned used = 0;
		for (int b = 0; b < s->l->nbuffer; b++)
			used |= s->l->buffer[b].uses;
		if (!(used & 1u << k))
			continue;
		s->l->symbol[k].bound = false;
		return true;
	}
	return false;
}

/* The first instruction that binds a symbol of data; -1: none. */
static int binder(const struct loops *l)
{
	for (int i = 0; i < l->nins; i++)
		if (loops_binds(l, i) >= 0)
			return i;
	return -1;
}

/* It checks the number of the call that was compiled, and binds nothing. */
bool defect_data_unbound(struct defect_site *s)
{
	const int at = binder(s->l);
	if (at >= 0)
		s->l->ins[at].number_of = 0;
	return at >= 0;
}

/* The symbol is bound behind the block that puts what is counted. */
bool defect_data_bound_late(struct defect_site *s)
{
	struct loops *l = s->l;
	const int at = binder(l), before = l->nins;
	int block = at + 1;
	if (at < 0)
		return false;
	while (block < before && l->ins[block].op != LOOP_FOR && l->ins[block].op != LOOP_IF)
		block++;
	if (block == before)
		return false;
	loops_stated(l, l->ins[at].a, l->ins[at].imm);
	l->ins[before].number_of = l->ins[at].number_of;
	l->ins[at].number_of = 0;
	spoil_insert(l, before, loops_end_of(l, block));
	return true;
}

/* The body of a loop of as many rounds as a size says stands under a condition: the variable is below what the size was in the call that
 * was compiled. */
static bool masked(struct loops *l, int i)
{
	if (l->ins[i].op != LOOP_FOR || !l->ins[i].number_of)
		return false;
	const int limit = loops_int(l, l->ins[i].imm);
	const int below = loops_row(l, OP_lt_Scalar, DT_I64, l->ins[i].dst, NO_REG, NO_REG, limit, NO_REG);
	spoil_insert(l, l->nins - 2, i + 1);
	loops_if(l, below);
	loops_end(l);
	spoil_enclose(l, i + 3, l->ins[i].match);
	return true;
}
bool defect_hint_as_limit(struct defect_site *s) { return spoil_each(s->l, masked); }
