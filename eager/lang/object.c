/* object.c: see object.h. */
#include "eager/lang/object.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

/* Entry k of a list is one object, however often it is asked for. */
static int first_entry(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	for (int i = 0; i < node; i++)
		if (p->node[i].op == OP_getitem && p->node[i].arg[A_getitem_self].node == n->arg[A_getitem_self].node
			&& node_int(&p->node[i], A_getitem_index) == node_int(n, A_getitem_index))
			return i;
	return node;
}

/* The operand that the row returns as it is; -1: none. contiguous does where self is contiguous. */
static int operand_itself(const struct prog *p, const struct node *n)
{
	if (op_has(n->op, T_MUTATES | T_INPLACE_VIEW))
		return n->arg[A_INPLACE_self].node;
	const int self = n->op == OP_contiguous ? n->arg[A_contiguous_self].node : -1;
	return self >= 0 && p->node[self].nout == 1 && p->node[self].out[0].storage == n->out[0].storage ? self : -1;
}

int node_object(const struct prog *p, int node)
{
	while (p->node[node].nout == 1 && operand_itself(p, &p->node[node]) >= 0)
		node = operand_itself(p, &p->node[node]);
	return p->node[node].op == OP_getitem ? first_entry(p, node) : node;
}

static bool still_named(const struct prog *p, int row, const bool *old, struct err *err)
{
	const struct node *n = &p->node[row];
	for (int i = row + 1; i < p->nnode; i++) {
		bool reads[MAX_NODES] = {false};
		node_mark_operands(p, &p->node[i], reads);
		for (int k = 0; k < row; k++)
			if (reads[k] && old[k])
				return err_at(err, p->node[i].line, p->node[i].col,
					"'%s' reads '%s', to which '%s' (%s) has given other sizes in place: read '%s'", p->node[i].name, p->node[k].name,
					n->name, op_info[n->op].name, n->name);
	}
	for (int i = 0; i < p->nret; i++)
		if (p->ret[i] < row && old[p->ret[i]])
			return err_set(err, "return: '%s' has given '%s' other sizes in place (%s): return '%s'", n->name, p->node[p->ret[i]].name,
				op_info[n->op].name, n->name);
	return true;
}

static bool is_returned(const struct prog *p, int object)
{
	for (int i = 0; i < p->nret; i++)
		if (node_object(p, p->ret[i]) == object)
			return true;
	return false;
}

bool objects_renamed(const struct prog *p, struct err *err)
{
	for (int row = 0; row < p->nnode; row++) {
		const struct node *n = &p->node[row];
		bool old[MAX_NODES] = {false};
		if (!op_has(n->op, T_INPLACE_VIEW) || n->nout != 1)
			continue;
		const int object = node_object(p, row);
		for (int i = 0; i < row; i++)
			old[i] = node_object(p, i) == object;
		if (!still_named(p, row, old, err))
			return false;
		if (node_is_input(&p->node[object]) && !is_returned(p, object))
			return err_at(err, n->line, n->col, "%s: '%s' gives the input '%s' other sizes in place, so '%s' must be returned",
				op_info[n->op].name, n->name, p->node[object].name, n->name);
	}
	return true;
}
