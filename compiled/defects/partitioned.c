/* partitioned.c: defects of the step partition: what crosses from the forward part and from the caller to the backward part. */
#include "compiled/defects/spoil.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* The input of the backward part that crosses into it as storage k. */
static struct node *crossing(struct partition *s, int k)
{
	for (int i = 0; i < s->backward.nnode; i++)
		if (s->backward.node[i].op == OP_input && s->backward.node[i].out[0].storage == k)
			return &s->backward.node[i];
	BUG("the backward part has no input storage %d", k);
}

static int saved_value(const struct defect_site *s, int index)
{
	int first = 0;
	while (s->g->result[first].role != RESULT_SAVED)
		first++;
	return s->g->result[first + index].value;
}

/* The input that a saved value is a copy of, NO_VALUE: it is none. */
static int copied_input(const struct defect_site *s, const struct part_input *from)
{
	if (from->from != FROM_FORWARD)
		return NO_VALUE;
	const struct node *n = &s->g->p->node[saved_value(s, from->index)];
	return prog_find(&s->s->joint, n->name) < 0 ? n->arg[0].node : NO_VALUE; /* the step has appended it */
}

static void infer_backward(struct defect_site *s, const struct node *changed)
{
	struct err err = {0};
	bool *rows = ARENA_ZNEW(s->s->backward.arena, bool, s->s->backward.nnode);
	rows[changed - s->s->backward.node] = true;
	CHECK(pure_update(&s->s->gradients, rows, &err));
}

/* ---- values taken for others ---- */

static bool swap_bindings(struct defect_site *s, enum part_source from)
{
	struct part_input *input = s->s->input;
	const int n = prog_input_storages(&s->s->backward);
	for (int a = 0; a < n; a++)
		for (int b = a + 1; b < n; b++) {
			if (input[a].from != from || input[b].from != from
				|| !meta_identical(&crossing(s->s, a)->out[0].meta, &crossing(s->s, b)->out[0].meta))
				continue;
			const struct part_input was = input[a];
			input[a] = input[b];
			input[b] = was;
			return true;
		}
	return false;
}

bool defect_saved_swapped(struct defect_site *s) { return swap_bindings(s, FROM_FORWARD); }
bool defect_cotangents_swapped(struct defect_site *s) { return swap_bindings(s, FROM_CALLER); }

/* ---- inputs that are written ---- */

bool defect_saved_after_write(struct defect_site *s)
{
	struct prog *p = s->g->p;
	for (int k = 0; k < prog_input_storages(&s->s->backward); k++) {
		const int input = copied_input(s, &s->s->input[k]);
		if (input == NO_VALUE)
			continue;
		const int copy = saved_value(s, s->s->input[k].index);
		for (int i = 0, r = s->f->from->nret; i < s->f->from->nnode; i++) {
			if (!s->f->written[i])
				continue;
			const int value = s->g->result[r++].value;
			if (s->f->input[i] != input || !meta_identical(node_meta(p, value), node_meta(p, input)))
				continue;
			p->node[copy].arg[p->node[copy].op == OP_clone ? 0 : A_slice_scatter_src].node = value;
			return true;
		}
	}
	return false;
}

bool defect_written_input_not_copied(struct defect_site *s)
{
	for (int k = 0; k < prog_input_storages(&s->s->backward); k++) {
		const int input = copied_input(s, &s->s->input[k]);
		if (input == NO_VALUE)
			continue;
		s->s->input[k] = (struct part_input){.from = FROM_SOURCE, .index = s->g->p->node[input].out[0].storage};
		return true;
	}
	return false;
}

/* ---- layouts ---- */

bool defect_saved_offset_lost(struct defect_site *s)
{
	for (int i = 0; i < s->s->backward.nnode; i++) {
		struct node *n = &s->s->backward.node[i];
		if (n->op != OP_input_view || node_int(n, A_input_view_offset) == 0 || meta_numel(&n->out[0].meta) == 0)
			continue;
		n->arg[A_input_view_offset] = arg_int(0);
		infer_backward(s, n);
		return true;
	}
	return false;
}

bool defect_cotangent_contiguous(struct defect_site *s)
{
	for (int k = 0; k < prog_input_storages(&s->s->backward); k++) {
		struct node *n = crossing(s->s, k);
		if (s->s->input[k].from != FROM_CALLER || meta_is_contiguous(&n->out[0].meta))
			continue;
		n->arg[A_input_stride] = (struct arg){.tag = ARG_NONE};
		infer_backward(s, n);
		return true;
	}
	return false;
}

/* ---- whose memory it is ---- */

bool defect_output_donated(struct defect_site *s)
{
	for (int k = 0; k < prog_input_storages(&s->s->backward); k++) {
		struct part_input *from = &s->s->input[k];
		if (from->from != FROM_FORWARD || from->donated)
			continue;
		from->donated = true;
		return true;
	}
	return false;
}
