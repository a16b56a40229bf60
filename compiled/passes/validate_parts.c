/* validate_parts.c: I8, from the joint program and the two that became of it. Rows keep their names, so a name says which row it is. */
#include "compiled/passes/partition.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- inputs of the backward part ---- */

static const char *op_of(const struct prog *p, int i) { return op_info[p->node[i].op].name; }

static bool right_meta(const struct prog *backward, int i, const struct meta *m, const char *what, struct err *err)
{
	return meta_identical(node_meta(backward, i), m)
		|| err_set(err, "I8: '%s' (%s) of the backward part has not the layout of %s", backward->node[i].name, op_of(backward, i), what);
}

static bool from_source(const struct prog *backward, int i, const struct functional *f, int storage, struct err *err)
{
	for (int k = 0; k < f->from->nnode; k++) {
		if (f->from->node[k].op != OP_input || f->from->node[k].out[0].storage != storage)
			continue;
		if (f->written[k])
			return err_set(err, "I8: '%s' (%s) of the backward part is an input that is written before it runs", backward->node[i].name,
				op_of(backward, i));
		return right_meta(backward, i, node_meta(f->from, k), "that input", err);
	}
	return err_set(err, "I8: '%s' (%s) of the backward part is no input", backward->node[i].name, op_of(backward, i));
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

static bool from_forward(const struct prog *backward, int i, const struct pure *forward, const struct part_input *from, struct err *err)
{
	const int value = result_of(forward, RESULT_SAVED, from->index);
	if (value == NO_VALUE)
		return err_set(err, "I8: '%s' (%s) of the backward part is bound by nothing", backward->node[i].name, op_of(backward, i));
	const int storage = forward->p->node[value].out[0].storage;
	if (storage < MAX_NODES)
		return err_set(
			err, "I8: the saved value '%s' (%s) lies in an input's memory", forward->p->node[value].name, op_of(forward->p, value));
	if (from->donated && names_of(forward, storage) > 1)
		return err_set(err, "I8: '%s' (%s) is donated, but the forward part returns its memory", forward->p->node[value].name,
			op_of(forward->p, value));
	return right_meta(backward, i, node_meta(forward->p, value), "the saved value", err);
}

static bool input_bound(const struct partition *s, const struct functional *f, const struct pure *forward, int i, struct err *err)
{
	const struct prog *backward = &s->backward;
	const struct part_input *from = &s->input[backward->node[i].out[0].storage];
	if (from->from == FROM_SOURCE)
		return from_source(backward, i, f, from->index, err);
	if (from->from == FROM_FORWARD)
		return from_forward(backward, i, forward, from, err);
	if (from->index < 0 || from->index >= s->caller.nret)
		return err_set(err, "I8: '%s' (%s) of the backward part is no cotangent", backward->node[i].name, op_of(backward, i));
	return right_meta(backward, i, node_meta(&s->caller, s->caller.ret[from->index]), "the cotangent", err);
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
		if (!right_meta(&s->backward, i, node_meta(forward, saved[s->input[n->out[0].storage].index]), "the saved value", err))
			return false;
	}
	return true;
}
