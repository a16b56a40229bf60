/* validate_writes.c: I4, from a program's rows alone. Every value has a VERSION, the number of writes to its memory before it got its name:
 * a write gives its result a new one, a view has that of what it views, `alias` names what the memory holds now. A value whose memory has
 * been written since is not read. */
#include "compiled/passes/validate.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

struct versions {
	const struct prog *p;
	int *of;      /* by row */
	int *current; /* by storage */
};

void owners_of_source(struct owners *out, const struct prog *source)
{
	*out = (struct owners){.written = {false}};
	for (int i = 0; i < source->nnode; i++)
		if (op_has(source->node[i].op, T_MUTATES) && source->node[i].nout && source->node[i].out[0].storage < MAX_NODES)
			out->written[source->node[i].out[0].storage] = true;
}

static bool may_be_written(const struct versions *v, int row, const struct owners *o, struct err *err)
{
	const struct node *n = &v->p->node[row];
	const int storage = n->out[0].storage;
	if (meta_has_duplicates(&n->out[0].meta))
		return err_set(err, "I4: '%s' (%s) writes memory that overlaps itself", n->name, op_info[n->op].name);
	if (storage < MAX_NODES && !o->written[storage] && !o->donated[storage])
		return err_set(err, "I4: '%s' (%s) writes an input that the source does not write", n->name, op_info[n->op].name);
	return true;
}

/* Element by element through one and the same view is the one way to read what the row itself writes. */
static bool apart(const struct prog *p, const struct node *n, int k, int operand, struct err *err)
{
	const bool pointwise = n->op == OP_copy_ || op_has(op_computing(n->op), T_POINTWISE);
	const struct value *self = &n->out[0], *other = &p->node[operand].out[0];
	if (!op_has(n->op, T_MUTATES) || k == A_INPLACE_self || self->storage != other->storage)
		return true;
	return (pointwise && meta_identical(&self->meta, &other->meta))
		|| err_set(
			err, "I4: '%s' (%s) reads '%s', which lies in the memory that it writes", n->name, op_info[n->op].name, p->node[operand].name);
}

static bool is_current(const struct versions *v, int value) { return v->of[value] == v->current[v->p->node[value].out[0].storage]; }

static bool operand_current(const struct versions *v, const struct node *n, int k, int operand, struct err *err)
{
	if (operand < 0)
		return true;
	if (!is_current(v, operand))
		return err_set(
			err, "I4: '%s' (%s) reads '%s', whose memory has been written since", n->name, op_info[n->op].name, v->p->node[operand].name);
	return apart(v->p, n, k, operand, err);
}

static bool operands_current(const struct versions *v, const struct node *n, struct err *err)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR && !operand_current(v, n, k, a->node, err))
			return false;
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			if (!operand_current(v, n, k, a->nodes[i], err))
				return false;
	}
	return true;
}

static bool step_over(struct versions *v, int row, const struct owners *o, struct err *err)
{
	const struct node *n = &v->p->node[row];
	if (n->nout == 0 || node_is_input(n))
		return true;
	if (node_shares_memory(v->p, n)) {
		v->of[row] = n->op == OP_alias ? v->current[n->out[0].storage] : v->of[n->arg[A_viewed_self].node];
		return true;
	}
	if (!operands_current(v, n, err))
		return false;
	if (!op_has(n->op, T_MUTATES))
		return true;
	v->of[row] = ++v->current[n->out[0].storage];
	return may_be_written(v, row, o, err);
}

/* What is returned of an input's memory shows what is there in the end, in the source, too. */
static bool returns_current(const struct versions *v, const struct owners *o, struct err *err)
{
	for (int i = 0; i < v->p->nret; i++) {
		const struct node *n = &v->p->node[v->p->ret[i]];
		const bool shown = n->nout && n->out[0].storage < MAX_NODES && !o->donated[n->out[0].storage];
		if (n->nout && !shown && !is_current(v, v->p->ret[i]))
			return err_set(err, "I4: '%s' (%s) is returned, but its memory has been written since", n->name, op_info[n->op].name);
	}
	return true;
}

bool validate_writes(const struct prog *again, const struct owners *o, struct err *err)
{
	struct arena a;
	struct versions v = {.p = again};
	arena_init(&a);
	v.of = ARENA_ZNEW(&a, int, MAX(again->nnode, 1));
	v.current = ARENA_ZNEW(&a, int, MAX(again->nstorage, MAX_NODES));
	bool ok = true;
	for (int i = 0; ok && i < again->nnode; i++)
		ok = step_over(&v, i, o, err);
	ok = ok && returns_current(&v, o, err);
	arena_free(&a);
	return ok;
}
