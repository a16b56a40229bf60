/* lowered.c: defects behind the step lower: the loops before buffers are shared. */
#include "compiled/defects/spoil.h"
#include "compiled/defects/spoil_loops.h"
#include "generated/op_id.h"

#include <math.h>

/* ---- loops ---- */

enum { TILE = 8 };

static bool one_more_than_tiles(struct loops *l, int i)
{
	struct loop_ins *ins = &l->ins[i];
	if (ins->op != LOOP_FOR || ins->imm <= TILE || ins->imm % TILE != 1)
		return false;
	ins->imm--;
	return true;
}
bool defect_tile_one_more(struct defect_site *s) { return spoil_each(s->l, one_more_than_tiles); }

static bool one_less_than_tiles(struct loops *l, int i)
{
	struct loop_ins *ins = &l->ins[i];
	if (ins->op != LOOP_FOR || ins->imm < TILE || ins->imm % TILE != TILE - 1)
		return false;
	ins->imm--;
	return true;
}
bool defect_tile_one_less(struct defect_site *s) { return spoil_each(s->l, one_less_than_tiles); }

/* ---- windows: conditions on loop variables alone, as slice_scatter and pads have them ---- */

static bool is_of_indices(const struct loops *l, int reg)
{
	const struct loop_ins *i = spoil_definer(l, reg);
	if (i->op == LOOP_ROW)
		return (i->a == NO_REG || is_of_indices(l, i->a)) && (i->b == NO_REG || is_of_indices(l, i->b));
	return i->op == LOOP_FOR || i->op == LOOP_CONST || i->op == LOOP_INDEX || i->op == LOOP_DIV || i->op == LOOP_MOD;
}

static bool is_window(const struct loops *l, int i) { return l->ins[i].op == LOOP_IF && is_of_indices(l, l->ins[i].a); }

static void becomes_number(struct loops *l, int i, int64_t condition)
{
	const int before = l->nins, number = loops_int(l, condition);
	l->ins[i].a = number;
	spoil_insert(l, before, i);
}

static bool never(struct loops *l, int i)
{
	if (!is_window(l, i))
		return false;
	becomes_number(l, i, 0);
	return true;
}
bool defect_window_never(struct defect_site *s) { return spoil_each(s->l, never); }

static bool always(struct loops *l, int i)
{
	if (!is_window(l, i))
		return false;
	for (int k = i; k < l->ins[i].match; k++)
		if ((l->ins[k].op == LOOP_LOAD || l->ins[k].op == LOOP_STORE) && !spoil_in_buffer(l, &l->ins[k], l->ins[k].at))
			return false;
	becomes_number(l, i, 1);
	return true;
}
bool defect_window_always(struct defect_site *s) { return spoil_each(s->l, always); }

static bool later(struct loops *l, int i)
{
	struct loop_ins *ins = &l->ins[i];
	if (ins->op != LOOP_ROW || ins->row != OP_ge_Scalar || ins->dtype != DT_I64 || !is_of_indices(l, ins->dst))
		return false;
	ins->row = OP_gt_Scalar;
	return true;
}
bool defect_window_starts_late(struct defect_site *s) { return spoil_each(s->l, later); }

/* ---- accumulators ---- */

/* Is the VAR at i set in a loop that begins behind it? */
static bool is_accumulator(const struct loops *l, int i)
{
	for (int k = i + 1; l->ins[i].op == LOOP_VAR && k < l->nins; k++)
		if (l->ins[k].op == LOOP_SET && l->ins[k].dst == l->ins[i].dst)
			return spoil_loop_around(l, k) > i;
	return false;
}

/* The number that the VAR at i begins as becomes 0. */
static bool begins_at_zero(struct loops *l, int i)
{
	const int before = l->nins, zero = loops_const(l, l->ins[i].type, (union computed){0});
	l->ins[i].a = zero;
	spoil_insert(l, before, i);
	return true;
}

static bool worst_is_zero(struct loops *l, int i)
{
	if (!is_accumulator(l, i))
		return false;
	const struct loop_ins *first = spoil_definer(l, l->ins[i].a);
	const bool worst = first->type == REG_F64 ? isinf(first->value.f64) : first->value.i64 == INT64_MIN || first->value.i64 == INT64_MAX;
	return first->op == LOOP_CONST && worst && begins_at_zero(l, i);
}
bool defect_extremum_begins_at_zero(struct defect_site *s) { return spoil_each(s->l, worst_is_zero); }

/* Of a lane without elements: its loop is one of no rounds. */
static bool nothing_is_zero(struct loops *l, int i)
{
	if (!is_accumulator(l, i) || spoil_definer(l, l->ins[i].a)->op != LOOP_CONST || spoil_definer(l, l->ins[i].a)->value.i64 == 0)
		return false;
	for (int k = i + 1; k < l->nins; k++)
		if (l->ins[k].op == LOOP_SET && l->ins[k].dst == l->ins[i].dst) {
			int around = spoil_loop_around(l, k);
			while (around > i && l->ins[around].imm != 0)
				around = spoil_loop_around(l, around);
			return around > i && begins_at_zero(l, i);
		}
	return false;
}
bool defect_empty_identity_zero(struct defect_site *s) { return spoil_each(s->l, nothing_is_zero); }

static bool begins_once(struct loops *l, int i)
{
	const int around = spoil_loop_around(l, i);
	if (around < 0 || !is_accumulator(l, i) || l->ins[i - 1].op != LOOP_CONST || l->ins[i - 1].dst != l->ins[i].a)
		return false;
	spoil_move_up(l, i - 1, 2, around);
	return true;
}
bool defect_accumulator_not_reset(struct defect_site *s) { return spoil_first(s->l, begins_once); }

/* maximum(x, acc) -> x > acc ? x : acc */
static bool compares(struct loops *l, int i)
{
	const struct loop_ins row = l->ins[i];
	if (row.op != LOOP_ROW || (row.row != OP_maximum && row.row != OP_minimum) || !dtype_is_float(row.dtype)
		|| spoil_definer(l, row.b)->op != LOOP_VAR)
		return false;
	const int before = l->nins;
	const int holds = loops_row(l, row.row == OP_maximum ? OP_gt_Tensor : OP_lt_Tensor, row.dtype, row.a, row.b, NO_REG, NO_REG, NO_REG);
	const int better = loops_select(l, loops_round(l, DT_B8, holds), row.a, row.b);
	spoil_reads(l, i, row.dst, better);
	spoil_insert(l, before, i + 1);
	return true;
}
bool defect_extremum_drops_nan(struct defect_site *s) { return spoil_each(s->l, compares); }

/* An i64 by way of a float before it is kept. */
static bool kept_in(struct loops *l, int i, enum dtype t)
{
	if (l->ins[i].op != LOOP_SET || l->ins[i].type != REG_I64
		|| !(spoil_is_row(l, l->ins[i].a, OP_add_Tensor) || spoil_is_row(l, l->ins[i].a, OP_mul_Tensor)))
		return false;
	const int before = l->nins, back = loops_cast(l, DT_I64, t, loops_cast(l, t, DT_I64, l->ins[i].a));
	l->ins[i].a = back;
	spoil_insert(l, before, i);
	return true;
}

static bool kept_in_f64(struct loops *l, int i) { return kept_in(l, i, DT_F64); }
bool defect_integers_summed_in_f64(struct defect_site *s) { return spoil_each(s->l, kept_in_f64); }

static bool kept_in_f32(struct loops *l, int i) { return kept_in(l, i, DT_F32); }
bool defect_integers_kept_in_f32(struct defect_site *s) { return spoil_each(s->l, kept_in_f32); }

/* The dtype of the memory that x, widened, came from. */
static enum dtype loaded_dtype(const struct loops *l, int reg)
{
	const struct loop_ins *i = spoil_definer(l, reg);
	if (i->op == LOOP_AS)
		i = spoil_definer(l, i->a);
	return i->op == LOOP_LOAD ? l->buffer[i->buffer].dtype : i->op == LOOP_ROUND ? i->dtype : DT_F64;
}


static bool kept_in_half(struct loops *l, int i)
{
	if (l->ins[i].op != LOOP_SET || l->ins[i].type != REG_F64 || !spoil_is_row(l, l->ins[i].a, OP_add_Tensor))
		return false;
	const enum dtype t = loaded_dtype(l, spoil_definer(l, l->ins[i].a)->b);
	if (!dtype_is_narrow(t))
		return false;
	const int before = l->nins, kept = loops_as(l, REG_F64, loops_round(l, t, l->ins[i].a));
	l->ins[i].a = kept;
	spoil_insert(l, before, i);
	return true;
}
bool defect_halves_summed_in_half(struct defect_site *s) { return spoil_each(s->l, kept_in_half); }

/* Of load, add, store: what is added is stored. */
static bool overwrites(struct loops *l, int i)
{
	const struct loop_ins *store = &l->ins[i];
	if (store->op != LOOP_STORE)
		return false;
	const struct loop_ins *sum = spoil_definer(l, store->a);
	if (sum->op == LOOP_ROUND)
		sum = spoil_definer(l, sum->a);
	if (sum->op != LOOP_ROW || sum->row != OP_add_Tensor)
		return false;
	const struct loop_ins *load = spoil_definer(l, sum->a);
	const bool same = load->op == LOOP_LOAD && load->buffer == store->buffer && memcmp(load->at, store->at, sizeof *load->at) == 0;
	if (!same || spoil_definer(l, sum->b)->op == LOOP_CONST) /* a count */
		return false;
	spoil_reads(l, (int)(sum - l->ins), sum->dst, sum->b);
	return true;
}
bool defect_accumulation_lost(struct defect_site *s) { return spoil_each(s->l, overwrites); }

/* A scan's store moved before the set whose value it must see. */
static bool stored_before_set(struct loops *l, int i)
{
	const struct loop_ins *set = &l->ins[i];
	if (set->op != LOOP_SET || i + 2 >= l->nins || spoil_loop_around(l, i) < (int)(spoil_definer(l, set->dst) - l->ins))
		return false;
	const bool round = set[1].op == LOOP_ROUND && set[1].a == set->dst;
	const struct loop_ins *store = set + 1 + round;
	if (store->op != LOOP_STORE || store->a != (round ? set[1].dst : set->dst))
		return false;
	spoil_move_up(l, i + 1, 1 + round, i);
	return true;
}
bool defect_scan_stored_too_early(struct defect_site *s) { return spoil_first(s->l, stored_before_set); }

/* ---- elements ---- */

/* Rows that are fused with the one before it read what that one computed, not what it would have stored. */
static bool unrounded(struct loops *l, int i)
{
	const struct loop_ins ins = l->ins[i];
	bool read = false;
	for (int k = i + 1; k < l->nins; k++)
		read |= (l->ins[k].op == LOOP_ROW || l->ins[k].op == LOOP_CAST)
			&& (l->ins[k].a == ins.dst || l->ins[k].b == ins.dst || l->ins[k].c == ins.dst);
	if (read)
		spoil_reads(l, i + 1, ins.dst, ins.a);
	return read;
}

static bool half_unrounded(struct loops *l, int i)
{
	return l->ins[i].op == LOOP_ROUND && dtype_is_narrow(l->ins[i].dtype) && l->reg[l->ins[i].a] == REG_F32 && unrounded(l, i);
}

/* Of rows that may leave the dtype's range. */
static bool integer_unwrapped(struct loops *l, int i)
{
	const struct loop_ins *ins = &l->ins[i];
	return ins->op == LOOP_ROUND && dtype_is_int(ins->dtype) && ins->dtype != DT_I64 && spoil_definer(l, ins->a)->op == LOOP_ROW
		&& unrounded(l, i);
}
bool defect_narrow_kept_wide(struct defect_site *s) { return spoil_each(s->l, integer_unwrapped); }

bool defect_half_not_rounded(struct defect_site *s) { return spoil_each(s->l, half_unrounded); }

/* A float by way of an integer, appended. */
static int by_integer(struct loops *l, int x)
{
	const enum dtype t = l->reg[x] == REG_F32 ? DT_F32 : DT_F64;
	return loops_cast(l, t, DT_I64, loops_cast(l, DT_I64, t, x));
}

static bool is_zero(const struct loops *l, int reg)
{
	const struct loop_ins *i = spoil_definer(l, reg);
	return i->op == LOOP_CONST && i->value.i64 == 0;
}

/* Does the row ask whether a is not zero? */
static bool asks_for_truth(const struct loops *l, const struct loop_ins *i)
{
	return i->op == LOOP_ROW && dtype_is_float(i->dtype)
		&& (i->row == OP_logical_not || i->row == OP_logical_and
			|| ((i->row == OP_ne_Tensor || i->row == OP_eq_Tensor) && is_zero(l, i->b)));
}

static bool truncated(struct loops *l, int i)
{
	const int before = l->nins;
	if (!asks_for_truth(l, &l->ins[i]))
		return false;
	const int whole = by_integer(l, l->ins[i].a);
	l->ins[i].a = whole;
	spoil_insert(l, before, i);
	return true;
}
bool defect_truth_of_integer_part(struct defect_site *s) { return spoil_each(s->l, truncated); }

static bool as_signed(struct loops *l, int i)
{
	const struct loop_ins load = l->ins[i];
	if (load.op != LOOP_LOAD || load.type != REG_I64 || l->buffer[load.buffer].dtype != DT_U8)
		return false;
	const int before = l->nins, value = loops_round(l, DT_I8, load.dst);
	spoil_insert(l, before, i + 1);
	spoil_reads(l, i + 2, load.dst, value);
	return true;
}
bool defect_bytes_loaded_signed(struct defect_site *s) { return spoil_each(s->l, as_signed); }

/* ---- positions ---- */

/* The position at i becomes at least `least`, at most `most` before it is looked at. */
static bool clamped_first(struct loops *l, int i, int64_t least, int64_t most)
{
	const int before = l->nins, low = loops_int(l, least), high = loops_int(l, most);
	const int clamped = loops_row(l, OP_clamp, DT_I64, l->ins[i].a, NO_REG, NO_REG, low, high);
	l->ins[i].a = clamped;
	spoil_insert(l, before, i);
	return true;
}

static bool never_negative(struct loops *l, int i)
{
	return l->ins[i].op == LOOP_BOUND && l->ins[i].negative && clamped_first(l, i, 0, INT64_MAX);
}
bool defect_negative_index_clamped(struct defect_site *s) { return spoil_each(s->l, never_negative); }

static bool never_outside(struct loops *l, int i)
{
	const struct loop_ins *bound = &l->ins[i];
	return bound->op == LOOP_BOUND && bound->imm > 0 && clamped_first(l, i, bound->negative ? -bound->imm : 0, bound->imm - 1);
}
bool defect_outside_brought_inside(struct defect_site *s) { return spoil_each(s->l, never_outside); }

/* What is within bounds becomes less than the last. */
static bool never_last(struct loops *l, int i)
{
	const struct loop_ins bound = l->ins[i];
	if (bound.op != LOOP_BOUND || bound.imm < 2)
		return false;
	const int before = l->nins, greatest = loops_int(l, bound.imm - 2);
	const int clamped = loops_row(l, OP_clamp, DT_I64, bound.dst, NO_REG, NO_REG, NO_REG, greatest);
	l->extent[clamped] = bound.imm - 1;
	spoil_insert(l, before, i + 1);
	spoil_reads(l, i + 3, bound.dst, clamped);
	return true;
}
bool defect_last_index_clamped(struct defect_site *s) { return spoil_each(s->l, never_last); }

static bool changed_load(struct loops *l, int i, struct affine at)
{
	if (!spoil_in_buffer(l, &l->ins[i], &at))
		return false;
	struct affine *kept = ARENA_NEW(l->arena, struct affine, 1);
	*kept = at;
	l->ins[i].at = kept;
	return true;
}

static bool other_strides(struct loops *l, int i)
{
	if (l->ins[i].op != LOOP_LOAD || l->ins[i].at->n < 2 || l->ins[i].at->term[0].times == l->ins[i].at->term[1].times)
		return false;
	struct affine at = *l->ins[i].at;
	at.term[0].times = l->ins[i].at->term[1].times;
	at.term[1].times = l->ins[i].at->term[0].times;
	return changed_load(l, i, at);
}
bool defect_strides_swapped(struct defect_site *s) { return spoil_each(s->l, other_strides); }

static bool without_offset(struct loops *l, int i)
{
	if (l->ins[i].op != LOOP_LOAD || l->ins[i].at->base == 0)
		return false;
	struct affine at = *l->ins[i].at;
	at.base = 0;
	return changed_load(l, i, at);
}
bool defect_offset_not_added(struct defect_site *s) { return spoil_each(s->l, without_offset); }

static bool one_further(struct loops *l, int i)
{
	if (l->ins[i].op != LOOP_LOAD || l->ins[i].at->base == 0)
		return false;
	struct affine at = *l->ins[i].at;
	at.base++;
	return changed_load(l, i, at);
}
bool defect_load_one_late(struct defect_site *s) { return spoil_each(s->l, one_further); }

/* ---- calls ---- */

/* No cell of it lies where the operand has none. */
static bool taken_for_contiguous(struct meta *m)
{
	struct meta dense;
	meta_make_contiguous(&dense, m->dtype, m->size, m->rank);
	dense.offset = m->offset;
	dense.device = m->device;
	if (meta_numel(m) == 0 || meta_same_strides(m, &dense) || meta_extent(&dense) > meta_extent(m))
		return false;
	*m = dense;
	return true;
}

static bool operands_contiguous(struct loops *l, int i)
{
	const struct loop_call *call = l->ins[i].call;
	bool any = false;
	if (!call)
		return false;
	struct loop_call *spoilt = ARENA_NEW(l->arena, struct loop_call, 1);
	*spoilt = *call;
	spoilt->in = ARENA_NEW(l->arena, struct place, MAX(call->nin, 1));
	for (int k = 0; k < call->nin; k++) {
		spoilt->in[k] = call->in[k];
		any |= taken_for_contiguous(&spoilt->in[k].meta);
	}
	if (any)
		l->ins[i].call = spoilt;
	return any;
}
bool defect_extern_operand_contiguous(struct defect_site *s) { return spoil_each(s->l, operands_contiguous); }
