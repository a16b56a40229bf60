/* lower_select.c: masked_select and nonzero: one loop over the elements in row-major order, with the number of those selected so far in a
 * variable, so it runs in order. The program states how many there are (eager/lang/stated.h); another number raises. */
#include "compiled/loops/lower_nest.h"

#include "eager/lang/stated.h"
#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct selection {
	int64_t count;
	int next, depth; /* variable: elements selected so far; loops that are open around */
	struct affine idx[MAX_RANK];
};

static void selection_open(struct selection *s, struct lowering *l, int node, const struct meta *over)
{
	*s = (struct selection){.count = stated_number(&l->p->node[node]), .depth = l->out->depth};
	s->next = loops_var(l->out, loops_int(l->out, 0));
	lower_loops(l, over, s->idx);
}

/* In the block of an element that is selected: its number. */
static struct affine selection_number(struct selection *s, struct lowering *l)
{
	return affine_reg(loops_bound(l->out, s->next, s->count, BOUND_STATED, false));
}

/* Ends that block and the loops. As many as stated, not fewer. */
static void selection_close(struct selection *s, struct lowering *l)
{
	loops_set(l->out, s->next, lower_add(l, DT_I64, s->next, loops_int(l->out, 1)));
	loops_end(l->out);
	nest_end(l, s->depth);
	loops_bound(l->out, lower_add(l, DT_I64, s->next, loops_int(l->out, -s->count)), 1, BOUND_STATED, false);
}

static void nests_masked_select(struct lowering *l, int node)
{
	const int self = lower_operand(l, node, A_masked_select_self), mask = lower_operand(l, node, A_masked_select_mask);
	struct meta both;
	int64_t size[MAX_RANK];
	int rank;
	struct selection s;
	CHECK(layout_broadcast(size, &rank, node_meta(l->p, self), node_meta(l->p, mask), NULL));
	layout_contiguous(&both, node_meta(l->p, self), size, rank);
	selection_open(&s, l, node, &both);
	loops_if(l->out, lower_broadcast(l, mask, s.idx, rank, AS_VALUE));
	const struct affine number = selection_number(&s, l);
	lower_put(l, 0, &number, lower_broadcast(l, self, s.idx, rank, AS_BITS));
	selection_close(&s, l);
}
const struct lower_rule lower_masked_select = {.nests = nests_masked_select, .moves = true};

static void nests_nonzero(struct lowering *l, int node)
{
	const int self = lower_operand(l, node, A_nonzero_self);
	const struct meta *m = node_meta(l->p, self);
	struct meta over;
	struct selection s;
	layout_contiguous(&over, m, m->size, m->rank);
	selection_open(&s, l, node, &over);
	loops_if(l->out, loops_cast(l->out, DT_B8, m->dtype, lower_element(l, self, s.idx, AS_VALUE)));
	struct affine at[2] = {selection_number(&s, l), affine_const(0)};
	for (int d = 0; d < m->rank; d++) {
		at[1] = affine_const(d);
		lower_put(l, 0, at, loops_index(l->out, &s.idx[d]));
	}
	selection_close(&s, l);
}
const struct lower_rule lower_nonzero = {.nests = nests_nonzero};
