/* lower_move.c: cat, whose result holds at each index an element of one of several operands: a condition per operand, folded where the
 * index's range decides it; and arange, whose elements are made of the index. */
#include "compiled/loops/lower.h"

#include "eager/ops/layout.h"
#include "eager/ops/range.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* cat leaves out 1-d operands of no elements, whatever the rank of the others. */
static bool is_left_out(const struct meta *m) { return m->rank == 1 && m->size[0] == 0; }

static int element_cat(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct meta *out = &n->out[0].meta;
	const struct arg *part = &n->arg[A_cat_tensors];
	struct affine at[MAX_RANK];
	int dim, value = lower_scalar(l, out->dtype, &(struct scalar){SC_INT, 0, 0}, form);
	CHECK(dim_wrap(&dim, node_int(n, A_cat_dim), out->rank, NULL));
	memcpy(at, idx, sizeof *at * (size_t)out->rank);
	for (int i = 0; i < part->n; i++) {
		const struct meta *m = node_meta(l->p, part->nodes[i]);
		if (is_left_out(m))
			continue;
		const int inside = lower_within(l, &at[dim], 0, m->size[dim]);
		value = lower_replaced(l, value, inside, part->nodes[i], at, out->rank, out->dtype, form);
		at[dim].base -= m->size[dim];
	}
	return value;
}
const struct lower_rule lower_cat = {.element = element_cat, .moves = true};

/* start + step * i in t's type. */
static int counted(struct lowering *l, enum dtype t, struct scalar start, struct scalar step, int i)
{
	const int by = lower_scalar(l, t, &step, AS_VALUE);
	const int way = loops_row(l->out, OP_mul_Tensor, t, by, loops_as(l->out, reg_type_of(t), i), NO_REG, NO_REG, NO_REG);
	return lower_add(l, t, lower_scalar(l, t, &start, AS_VALUE), way);
}

static int element_arange(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	struct range r;
	CHECK(range_of(&r, &l->p->node[node], NULL));
	const int i = loops_index(l->out, &idx[0]);
	if (r.ints) {
		const int value = counted(l, DT_I64, (struct scalar){SC_INT, r.istart, 0}, (struct scalar){SC_INT, r.istep, 0}, i);
		return lower_give(l, r.dtype, loops_round(l->out, r.dtype, value), form);
	}
	int value = counted(l, DT_F64, (struct scalar){SC_FLOAT, 0, r.start}, (struct scalar){SC_FLOAT, 0, r.step}, i);
	if (r.dtype != DT_F64)
		value = loops_round(l->out, r.dtype, loops_round(l->out, DT_F32, value));
	return lower_give(l, r.dtype, value, form);
}
const struct lower_rule lower_arange_start_step = {.element = element_arange};
