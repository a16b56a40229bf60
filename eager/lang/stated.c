/* stated.c: which data decide a size. A write counts wherever it may reach: memory is compared by storage, not by cell. */
#include "eager/lang/stated.h"

#include "generated/op_id.h"

int op_stated(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (param_is_stated(&op_info[op].param[k]))
			return k;
	return -1;
}

int op_deciding(int op)
{
	for (int k = 0; k < op_info[op].nparam; k++)
		if (role_has(op_info[op].param[k].role, RF_MASK))
			return k;
	return op_self(op);
}

bool op_counts_distinct(int op) { return op == OP_unique2 || op == OP_unique_consecutive || op == OP_unique_dim; }

bool prog_states(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (op_stated(p->node[i].op) >= 0)
			return true;
	return false;
}

void stated_mark_others(const struct prog *p, const struct node *n, bool *set)
{
	struct node rest = *n;
	const int stated = op_stated(n->op);
	if (stated >= 0)
		rest.arg[stated] = (struct arg){.tag = ARG_NONE};
	node_mark_operands(p, &rest, set);
}

/* Some node of the set lies in the memory that w writes. */
static bool writes_to(const struct prog *p, const struct node *w, const bool *set, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; set[i] && k < p->node[i].nout; k++)
			if (p->node[i].out[k].storage == w->out[0].storage)
				return true;
	return false;
}

void stated_deciders(const struct prog *p, int row, bool *set)
{
	const struct arg *deciding = &p->node[row].arg[op_deciding(p->node[row].op)];
	if (deciding->tag != ARG_TENSOR)
		return;
	set[deciding->node] = true;
	for (bool more = true; more;) {
		more = false;
		for (int i = row - 1; i >= 0; i--) {
			const struct node *n = &p->node[i];
			if (!set[i] && op_has(n->op, T_MUTATES) && n->nout && writes_to(p, n, set, row))
				more = set[i] = true;
			if (set[i])
				node_mark_operands(p, n, set);
		}
	}
}

void prog_deciders(const struct prog *p, bool *set)
{
	for (int i = 0; i < p->nnode; i++)
		if (op_stated(p->node[i].op) >= 0)
			stated_deciders(p, i, set);
}
