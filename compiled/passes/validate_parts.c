/* validate_parts.c: I8, from the joint program and the two that became of it. Rows keep their names, so a name says which row it is. */
#include "compiled/passes/partition.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- inputs of the backward part ---- */

/* what: of row i of the backward part, an input, in whose brackets stands the operator that its row had before. */
static bool wrong(const struct partition *s, int i, const char *what, struct err *err)
{
	const char *name = s->backward.node[i].name;
	const int was = prog_find(&s->joint, name);
	return err_set(err, "I8: '%s' (%s) of the backward part %s", name, op_info[was >= 0 ? s->joint.node[was].op : OP_input].name, what);
}

static bool right_meta(const struct partition *s, int i, const struct meta *m, const char *what, struct err *err)
{
	return meta_identical(node_meta(&s->backward, i), m) || wrong(s, i, what, err);
}

static bool from_source(const struct partition *s, int i, const struct functional *f, int storage, struct err *err)
{
	for (int k = 0; k < f->from->nnode; k++) {
		if (f->from->node[k].op != OP_input || f->from->node[k].out[0].storage != storage)
			continue;
		if (f->written[k])
			return wrong(s, i, "is an input that is written before it runs", err);
		return right_meta(s, i, node_meta(f->from, k), "has not the layout of that input", err);
	}
	return wrong(s, i, "is no input", err);
}

static int result_of(const struct pure *g, enum result_role role, int k)
{
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].role == role && k-- == 0)
			return g->result[i].value;
	return NO_VALUE;
}

static int names_of(const struct pure *forward, int storage)
{
	int n = 0;
	for (int i = 0; i < forward->nresult; i++) {
		const int value = forward->result[i].value;
		n += forward->result[i].role != RESULT_WRITTEN && value != NO_VALUE && forward->p->node[value].out[0].storage == storage;
	}
	return n;
}

static bool from_forward(const struct partition *s, int i, const struct pure *forward, const struct part_input *from, struct err *err)
{
	const int value = result_of(forward, RESULT_SAVED, from->index);
	if (value == NO_VALUE)
		return wrong(s, i, "is bound by nothing", err);
	const int storage = forward->p->node[value].out[0].storage;
	if (storage < MAX_NODES)
		return err_set(err, "I8: the saved value '%s' (%s) lies in an input's memory", forward->p->node[value].name,
			op_info[forward->p->node[value].op].name);
	if (from->donated && names_of(forward, storage) > 1)
		return err_set(err, "I8: '%s' (%s) is donated, but the forward part returns its memory", forward->p->node[value].name,
			op_info[forward->p->node[value].op].name);
	return right_meta(s, i, node_meta(forward->p, value), "has not the layout of the saved value", err);
}

static bool input_bound(const struct partition *s, const struct functional *f, const struct pure *forward, int i, struct err *err)
{
	const struct part_input *from = &s->input[s->backward.node[i].out[0].storage];
	if (from->from == FROM_SOURCE)
		return from_source(s, i, f, from->index, err);
	if (from->from == FROM_FORWARD)
		return from_forward(s, i, forward, from, err);
	if (from->index < 0 || from->index >= s->caller.nret)
		return wrong(s, i, "is no cotangent", err);
	return right_meta(s, i, node_meta(&s->caller, s->caller.ret[from->index]), "has not the layout of the cotangent", err);
}

/* ---- rows ---- */

static bool row_in_place(const struct partition *s, const struct prog *forward, int i, struct err *err)
{
	const struct node *n = &forward->node[i];
	const int was = node_is_input(n) ? NO_VALUE : prog_find(&s->joint, n->name), there = prog_find(&s->backward, n->name);
	if (was == NO_VALUE)
		return true;
	if (s->depends[was])
		return err_set(err, "I8: '%s' (%s) of the forward part depends on a cotangent", n->name, op_info[n->op].name);
	if (there >= 0 && !node_is_input(&s->backward.node[there]) && !s->again[was])
		return err_set(err, "I8: '%s' (%s) is in both parts", n->name, op_info[n->op].name);
	return true;
}

bool validate_partition(const struct partition *s, const struct functional *f, const struct pure *forward, struct err *err)
{
	for (int i = 0; i < s->backward.nnode; i++)
		if (s->backward.node[i].op == OP_input && !input_bound(s, f, forward, i, err))
			return false;
	for (int i = 0; i < forward->p->nnode; i++)
		if (!row_in_place(s, forward->p, i, err))
			return false;
	return true;
}

bool validate_saved(const struct partition *s, const struct prog *forward, const int *saved, struct err *err)
{
	for (int i = 0; i < s->backward.nnode; i++) {
		const struct node *n = &s->backward.node[i];
		if (n->op != OP_input || s->input[n->out[0].storage].from != FROM_FORWARD)
			continue;
		if (!right_meta(s, i, node_meta(forward, saved[s->input[n->out[0].storage].index]), "has not the layout of the saved value", err))
			return false;
	}
	return true;
}
