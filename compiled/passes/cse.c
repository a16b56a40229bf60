/* cse.c: common subexpressions. No row draws random numbers, so the same row of the same operands gives the same bits. Two results keep
 * memory of their own (pure_may_share). */
#include "compiled/passes/pass.h"

static bool same_row(const struct node *a, const struct node *b)
{
	if (a->op != b->op || a->nout != b->nout)
		return false;
	for (int k = 0; k < op_info[a->op].nparam; k++)
		if (!arg_same(&a->arg[k], &b->arg[k]))
			return false;
	return true;
}

bool pass_cse(struct pure *g, struct err *err)
{
	for (int i = 0; i < g->p->nnode; i++) {
		for (int j = 0; j < i; j++) {
			if (node_is_input(&g->p->node[i]) || !same_row(&g->p->node[i], &g->p->node[j]) || !pure_may_share(g, i, j))
				continue;
			if (!pure_replace(g, i, j, err))
				return false;
			break;
		}
	}
	return true;
}
