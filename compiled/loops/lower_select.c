/* lower_select.c: rows that state a number (eager/lang/stated.h). masked_select and nonzero: one nest counts the elements that are
 * selected, which must be as many as the program states; a second one, over the elements in row-major order, puts each where the number of
 * those before it says. item: what it holds must be the number. */
#include "compiled/loops/lower_nest.h"

#include "eager/lang/stated.h"
#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* `count` elements of an index space of sizes `over`. */
struct selection {
	int64_t count;
	struct meta over;
	int next, depth; /* variable: elements selected so far; loops that are open around */
	struct affine idx[MAX_RANK];
};

/* Opens the loops, and the block of an element that is selected. */
static void selection_open(struct selection *s, struct lowering *l, int deciding)
{
	s->depth = l->out->depth;
	s->next = loops_var(l->out, loops_int(l->out, 0));
	lower_loops(l, &s->over, s->idx);
	const int truth = lower_broadcast(l, deciding, s->idx, s->over.rank, AS_VALUE);
	loops_if(l->out, loops_cast(l->out, DT_B8, node_meta(l->p, deciding)->dtype, truth));
}

static void selection_close(struct selection *s, struct lowering *l)
{
	loops_set(l->out, s->next, lower_add(l, DT_I64, s->next, loops_int(l->out, 1)));
	loops_end(l->out);
	nest_end(l, s->depth);
}

/* A nest that counts; then the one is open that has a place for each: its number. */
static struct affine selection_begin(struct selection *s, struct lowering *l, int node, int deciding)
{
	lower_settle(l, node);
	s->count = stated_number(&l->p->node[node]);
	selection_open(s, l, deciding);
	selection_close(s, l);
	loops_stated(l->out, s->next, s->count);
	selection_open(s, l, deciding);
	return affine_reg(s->next);
}

static void nests_masked_select(struct lowering *l, int node)
{
	const int self = lower_operand(l, node, A_masked_select_self), mask = lower_operand(l, node, A_masked_select_mask);
	int64_t size[MAX_RANK];
	int rank;
	struct selection s;
	CHECK(layout_broadcast(size, &rank, node_meta(l->p, self), node_meta(l->p, mask), NULL));
	layout_contiguous(&s.over, node_meta(l->p, self), size, rank);
	const struct affine number = selection_begin(&s, l, node, mask);
	lower_put(l, 0, &number, lower_broadcast(l, self, s.idx, rank, AS_BITS));
	selection_close(&s, l);
}
const struct lower_rule lower_masked_select = {.nests = nests_masked_select, .moves = true};

static void nests_nonzero(struct lowering *l, int node)
{
	const int self = lower_operand(l, node, A_nonzero_self);
	const struct meta *m = node_meta(l->p, self);
	struct selection s;
	layout_contiguous(&s.over, m, m->size, m->rank);
	struct affine at[2] = {selection_begin(&s, l, node, self), affine_const(0)};
	for (int d = 0; d < m->rank; d++) {
		at[1] = affine_const(d);
		lower_put(l, 0, at, loops_index(l->out, &s.idx[d]));
	}
	selection_close(&s, l);
}
const struct lower_rule lower_nonzero = {.nests = nests_nonzero};

static void nests_item(struct lowering *l, int node)
{
	const int self = lower_operand(l, node, A_item_self);
	struct affine at[MAX_RANK];
	lower_settle(l, node);
	for (int d = 0; d < node_meta(l->p, self)->rank; d++)
		at[d] = affine_const(0);
	const int value = loops_cast(l->out, DT_I64, node_meta(l->p, self)->dtype, lower_element(l, self, at, AS_VALUE));
	loops_stated(l->out, value, stated_number(&l->p->node[node]));
	lower_put(l, 0, NULL, value);
}
const struct lower_rule lower_item = {.nests = nests_item};
