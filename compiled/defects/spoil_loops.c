/* spoil_loops.c: see spoil_loops.h. New instructions are built at the end, by the functions that lowering uses, then moved up. */
#include "compiled/defects/spoil_loops.h"

static void renamed_operand(int *operand, const int *to)
{
	if (*operand != NO_REG)
		*operand = to[*operand];
}

static void renamed_registers(struct loops *l, struct loop_ins *ins, const int *to)
{
	int *operand[INS_OPERANDS];
	loop_operands(ins, operand);
	renamed_operand(&ins->dst, to);
	for (int k = 0; k < INS_OPERANDS; k++)
		renamed_operand(operand[k], to);
	if (!ins->at)
		return;
	struct affine *at = ARENA_NEW(l->arena, struct affine, 1);
	*at = *ins->at;
	for (int k = 0; k < at->n; k++)
		renamed_operand(&at->term[k].reg, to);
	ins->at = at;
}

/* Registers by the order in which they are assigned, as lowering and loops_read number them. */
static void number_registers(struct loops *l)
{
	int *to = ARENA_NEW(l->arena, int, MAX(l->nreg, 1)), n = 0;
	enum reg_type *reg = ARENA_NEW(l->arena, enum reg_type, MAX(l->nreg, 1));
	int64_t *extent = ARENA_NEW(l->arena, int64_t, MAX(l->nreg, 1));
	for (int r = 0; r < l->nreg; r++)
		to[r] = NO_REG;
	for (int i = 0; i < l->nins; i++) {
		const int r = l->ins[i].dst;
		if (r == NO_REG || l->ins[i].op == LOOP_SET)
			continue;
		reg[n] = l->reg[r];
		extent[n] = l->extent[r];
		to[r] = n++;
	}
	for (int i = 0; i < l->nins; i++)
		renamed_registers(l, &l->ins[i], to);
	l->cap_reg = MAX(l->nreg, 1);
	l->nreg = n;
	l->reg = reg;
	l->extent = extent;
}

bool spoil_each(struct loops *l, ins_spoiler *spoil)
{
	bool any = false;
	for (int i = l->nins - 1; i >= 0; i--) /* what is put behind i moves nothing before it */
		any |= spoil(l, i);
	if (any)
		number_registers(l);
	return any;
}

bool spoil_first(struct loops *l, ins_spoiler *spoil)
{
	for (int i = 0; i < l->nins; i++)
		if (spoil(l, i)) {
			number_registers(l);
			return true;
		}
	return false;
}

void spoil_move_up(struct loops *l, int from, int n, int to)
{
	CHECK(to <= from && from + n <= l->nins);
	struct loop_ins *old = ARENA_NEW(l->arena, struct loop_ins, l->nins);
	memcpy(old, l->ins, (size_t)l->nins * sizeof *old);
	for (int i = 0; i < l->nins; i++) {
		const bool moved = i >= from && i < from + n, passed = i >= to && i < from;
		struct loop_ins *ins = &l->ins[moved ? i - from + to : passed ? i + n : i];
		*ins = old[i];
		if (ins->match >= to && ins->match < from)
			ins->match += n;
	}
}

void spoil_insert(struct loops *l, int before, int to) { spoil_move_up(l, before, l->nins - before, to); }

void spoil_enclose(struct loops *l, int begin, int end)
{
	struct loop_ins *old = ARENA_NEW(l->arena, struct loop_ins, l->nins);
	const int n = l->nins - 2;
	CHECK(begin <= end && end <= n && l->ins[n].op == LOOP_IF);
	memcpy(old, l->ins, (size_t)l->nins * sizeof *old);
	for (int i = 0; i < n; i++) {
		struct loop_ins *ins = &l->ins[i + (i >= begin) + (i >= end)];
		*ins = old[i];
		if (ins->match >= 0)
			ins->match += (ins->match >= begin) + (ins->match >= end);
	}
	l->ins[begin] = old[n];
	l->ins[begin].match = end + 1;
	l->ins[end + 1] = old[n + 1];
	l->ins[end + 1].match = begin;
}

static void read_instead(int *operand, int reg, int to)
{
	if (*operand == reg)
		*operand = to;
}

static void index_instead(struct loops *l, struct loop_ins *ins, int reg, int to)
{
	struct affine at = *ins->at;
	for (int k = 0; k < at.n; k++)
		read_instead(&at.term[k].reg, reg, to);
	struct affine *kept = ARENA_NEW(l->arena, struct affine, 1);
	*kept = at;
	ins->at = kept;
}

void spoil_reads(struct loops *l, int from, int reg, int to)
{
	for (int i = from; i < l->nins; i++) {
		struct loop_ins *ins = &l->ins[i];
		int *operand[INS_OPERANDS];
		loop_operands(ins, operand);
		for (int k = 0; k < INS_OPERANDS; k++)
			read_instead(operand[k], reg, to);
		if (ins->at)
			index_instead(l, ins, reg, to);
	}
}

const struct loop_ins *spoil_definer(const struct loops *l, int reg)
{
	for (int i = 0; i < l->nins; i++)
		if (l->ins[i].dst == reg && l->ins[i].op != LOOP_SET)
			return &l->ins[i];
	BUG("register r%d is never assigned", reg);
}

bool spoil_is_row(const struct loops *l, int reg, int row)
{
	const struct loop_ins *i = spoil_definer(l, reg);
	return i->op == LOOP_ROW && i->row == row;
}

bool spoil_in_buffer(const struct loops *l, const struct loop_ins *i, const struct affine *at)
{
	int64_t least, greatest;
	return affine_range(&least, &greatest, l, at) && least >= 0 && greatest < l->buffer[i->buffer].ncells;
}

int spoil_loop_around(const struct loops *l, int i)
{
	for (int k = i - 1; k >= 0; k--)
		if (l->ins[k].op == LOOP_FOR && l->ins[k].match > i)
			return k;
	return -1;
}
