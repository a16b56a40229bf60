/* reordered.c: defects behind the step reorder: tiles whose edges are wrong, and registers that a tile's iterations must not share. */
#include "compiled/defects/spoil.h"
#include "compiled/defects/spoil_loops.h"

static bool is_over_tiles(const struct loop_ins *i) { return i->op == LOOP_FOR && i->imm2 > 0 && i->a == NO_REG; }
static bool is_within_tile(const struct loop_ins *i) { return i->op == LOOP_FOR && i->a != NO_REG; }

static bool without_tile_of_one(struct loops *l, int i)
{
	struct loop_ins *ins = &l->ins[i];
	if (!is_over_tiles(ins) || ins->imm % ins->imm2 != 1)
		return false;
	ins->imm--;
	return true;
}
bool defect_tile_of_one_lost(struct defect_site *s) { return spoil_each(s->l, without_tile_of_one); }

static bool without_last(struct loops *l, int i)
{
	struct loop_ins *ins = &l->ins[i];
	if (!is_within_tile(ins) || ins->imm % ins->imm2 != ins->imm2 - 1)
		return false;
	ins->imm--;
	return true;
}
bool defect_tile_cut_short(struct defect_site *s) { return spoil_each(s->l, without_last); }

static bool is_local(const struct loops *l, const struct loop_ins *i)
{
	return (i->op == LOOP_LOAD || i->op == LOOP_STORE) && l->buffer[i->buffer].local;
}

/* Cells of what outlives a part of a body that was cut: the variable within the tile less its beginning. All in the first one, but for
 * integers, which may be positions. */
static bool in_one_cell(struct loops *l, int i)
{
	const struct loop_ins *ins = &l->ins[i];
	if (!is_local(l, ins) || ins->at->n != 2 || !dtype_is_float(l->buffer[ins->buffer].dtype))
		return false;
	struct affine *first = ARENA_NEW(l->arena, struct affine, 1);
	*first = affine_const(0);
	l->ins[i].at = first;
	return true;
}
bool defect_accumulator_shared(struct defect_site *s) { return spoil_each(s->l, in_one_cell); }

/* A staged cell is p - ps + (q - qs) * row: p and q, ps and qs take each other's places. */
static bool turned(struct loops *l, int i)
{
	const struct loop_ins *ins = &l->ins[i];
	int64_t tile = 0;
	if (ins->op != LOOP_LOAD || !is_local(l, ins) || ins->at->n != 4)
		return false;
	for (int k = 0; k < ins->at->n; k++) {
		const struct loop_ins *loop = spoil_definer(l, ins->at->term[k].reg);
		if (tile && loop->imm2 != tile)
			return false; /* of another length along the other side: it would leave the buffer */
		tile = loop->imm2;
	}
	struct affine *at = ARENA_NEW(l->arena, struct affine, 1);
	*at = *ins->at;
	for (int k = 0; k < at->n; k++) {
		const int64_t row = tile + 1, times = at->term[k].times;
		at->term[k].times = times == 1 ? row : times == -1 ? -row : times > 0 ? 1 : -1;
	}
	l->ins[i].at = at;
	return true;
}
bool defect_tile_turned(struct defect_site *s) { return spoil_each(s->l, turned); }

/* A scan, or a search, whose loop is not free of order. What is in it adds up in memory, so nothing else holds its order. */
static bool keeps_order(const struct loops *l, int loop)
{
	bool loads = false, stores = false;
	const struct loop_ins *inner = &l->ins[loop + 1];
	for (int i = loop + 1; is_within_tile(inner) && i < l->ins[loop].match; i++) {
		loads |= l->ins[i].op == LOOP_LOAD && is_local(l, &l->ins[i]);
		stores |= l->ins[i].op == LOOP_STORE && !is_local(l, &l->ins[i]);
	}
	return loads && stores;
}

/* It and the loop within the tile change places: the tile's iterations are the outer ones and run from the last on, and so do its. */
static bool exchanged(struct loops *l, int i)
{
	struct loop_ins *outer = &l->ins[i], *inner = outer + 1;
	if (outer->op != LOOP_FOR || outer->parallel || !keeps_order(l, i) || inner->match != outer->match - 1)
		return false;
	const struct loop_ins order = *outer;
	const int outer_end = outer->match, inner_end = inner->match;
	*outer = *inner;
	*inner = order;
	outer->match = outer_end;
	inner->match = inner_end;
	inner->parallel = true;
	return true;
}
bool defect_ordered_interchanged(struct defect_site *s) { return spoil_each(s->l, exchanged); }
