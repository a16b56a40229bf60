/* dce.c: dead code. Inputs stay, and so does a row that may raise for what its operands hold: eager raises whether or not somebody reads
 * the result. */
#include "compiled/passes/pass.h"

#include "eager/lang/stated.h"

/* Positions may be out of range, a source too short for its mask, an integer divided by 0. And a row that states how many its data select
 * gives others a size. */
static bool may_raise(const struct node *n)
{
	if (node_divides_integers(n))
		return true;
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (role_has(op_info[n->op].param[k].role, RF_POSITIONS | RF_RUNS_OUT) && n->arg[k].tag != ARG_NONE)
			return true;
	return op_stated(n->op) >= 0;
}

bool pass_dce(struct pure *g, struct err *err)
{
	const struct prog *p = g->p;
	bool *keep = ARENA_ZNEW(p->arena, bool, p->nnode);
	(void)err;
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].value != NO_VALUE)
			keep[g->result[i].value] = true;
	for (int i = p->nnode - 1; i >= 0; i--) {
		keep[i] |= node_is_input(&p->node[i]) || may_raise(&p->node[i]);
		if (keep[i])
			node_mark_operands(p, &p->node[i], keep);
	}
	pure_keep(g, keep);
	return true;
}
