/* lower_nest.c: loops, arithmetic and accumulators of nests (lower_nest.h). Accumulators of f64 and of integers, which wrap, are the
 * result's cells themselves; those of narrower floats lie in f64 beside it and are rounded once. */
#include "compiled/loops/lower_nest.h"

#include "generated/op_id.h"

/* ---- loops ---- */

struct affine nest_for(struct lowering *l, int64_t n) { return n == 1 ? affine_const(0) : affine_reg(loops_for(l->out, n)); }

void nest_end(struct lowering *l, int depth) { lower_ends(l, l->out->depth - depth); }

/* ---- arithmetic ---- */

int nest_float(struct lowering *l, double v) { return loops_const(l->out, REG_F64, (union computed){.f64 = v}); }

int nest_row(struct lowering *l, int row, enum dtype t, int a, int b) { return loops_row(l->out, row, t, a, b, NO_REG, NO_REG, NO_REG); }

int nest_holds(struct lowering *l, int row, enum dtype t, int a, int b) { return loops_round(l->out, DT_B8, nest_row(l, row, t, a, b)); }

int nest_sum(struct lowering *l, enum dtype t, int a, int b)
{
	return t == DT_B8 ? nest_row(l, OP_maximum, DT_I64, a, b) : lower_add(l, nest_wide(t), a, b);
}

/* a > b, or a is NaN and b is not: neither a <= b nor b NaN. With NaN last: a < b, or b is NaN and a is not. */
int nest_precedes(struct lowering *l, enum dtype t, enum nest_order o, int a, int b)
{
	const enum dtype wide = nest_wide(t);
	if (!dtype_is_float(t))
		return nest_holds(l, o == GREATEST ? OP_gt_Tensor : OP_lt_Tensor, wide, a, b);
	const int behind = nest_holds(l, o == GREATEST ? OP_le_Tensor : OP_ge_Tensor, wide, a, b), number = o == LEAST_NAN_LAST ? a : b;
	const int before = loops_row(l->out, OP_logical_not, DT_I64, behind, NO_REG, NO_REG, NO_REG, NO_REG);
	return lower_both(l, before, nest_holds(l, OP_eq_Tensor, wide, number, number));
}

int nest_widened(struct lowering *l, int value) { return l->out->reg[value] == REG_F32 ? loops_as(l->out, REG_F64, value) : value; }

int nest_load(struct lowering *l, int node, const struct affine *idx, enum dtype as)
{
	return nest_widened(l, loops_cast(l->out, as, node_meta(l->p, node)->dtype, lower_element(l, node, idx, AS_VALUE)));
}

void nest_put(struct lowering *l, int k, const struct affine *idx, int value)
{
	lower_put(l, k, idx, loops_round(l->out, l->place[k].meta.dtype, value));
}

void nest_copy(struct lowering *l, int self)
{
	struct affine idx[MAX_RANK];
	const int depth = lower_loops(l, &l->place[0].meta, idx);
	lower_put(l, 0, idx, lower_element(l, self, idx, AS_BITS));
	lower_ends(l, depth);
}

/* ---- accumulators in memory ---- */

static struct place new_place(struct lowering *l, enum dtype t, const int64_t *size, int rank)
{
	struct place p;
	meta_make_contiguous(&p.meta, t, size, rank);
	p.buffer = loops_buffer(l->out, t, meta_numel(&p.meta), -1);
	return p;
}

int nest_get(struct lowering *l, const struct place *p, const struct affine *idx)
{
	const struct affine cell = lower_cell(&p->meta, idx);
	return loops_load(l->out, reg_type_of(p->meta.dtype), p->buffer, &cell);
}

void nest_set(struct lowering *l, const struct place *p, const struct affine *idx, int value)
{
	const struct affine cell = lower_cell(&p->meta, idx);
	loops_store(l->out, p->buffer, &cell, loops_round(l->out, p->meta.dtype, value));
}

struct place nest_counts(struct lowering *l, const int64_t *size, int rank, int64_t first)
{
	const struct place p = new_place(l, DT_I64, size, rank);
	struct affine idx[MAX_RANK];
	const int depth = lower_loops(l, &p.meta, idx);
	nest_set(l, &p, idx, loops_int(l->out, first));
	lower_ends(l, depth);
	return p;
}

struct place nest_sums(struct lowering *l, int self)
{
	const struct meta *m = &l->place[0].meta;
	const enum dtype wide = nest_wide(m->dtype);
	const struct place p = wide == DT_F64 && m->dtype != DT_F64 ? new_place(l, DT_F64, m->size, m->rank) : l->place[0];
	struct affine idx[MAX_RANK];
	const int depth = lower_loops(l, &p.meta, idx);
	nest_set(l, &p, idx, nest_load(l, self, idx, m->dtype));
	lower_ends(l, depth);
	return p;
}

void nest_add_to(struct lowering *l, const struct place *sums, const struct affine *idx, int value)
{
	nest_set(l, sums, idx, nest_sum(l, l->place[0].meta.dtype, nest_get(l, sums, idx), value));
}

void nest_sums_done(struct lowering *l, const struct place *sums)
{
	struct affine idx[MAX_RANK];
	if (sums->buffer == l->place[0].buffer)
		return;
	const int depth = lower_loops(l, &sums->meta, idx);
	nest_put(l, 0, idx, nest_get(l, sums, idx));
	lower_ends(l, depth);
}
