/* jam.c: a parallel loop goes into the loops within it (reorder.h). Its body's parts are the stretches between the loops' heads and ends;
 * each part gets a loop of its own over the tile. */
#include "compiled/loops/reorder.h"

/* ---- parts ---- */

static bool ends_part(const struct loops *l, int i)
{
	return l->ins[i].op == LOOP_FOR || (l->ins[i].op == LOOP_END && l->ins[l->ins[i].match].op == LOOP_FOR);
}

static int part_end(const struct jam *j, int begin)
{
	int end = begin;
	while (end < j->from->ins[j->loop].match && !ends_part(j->from, end))
		end++;
	return end;
}

/* Is a loop in a condition? */
static bool is_plain(const struct loops *l, int loop)
{
	int conditions = 0;
	for (int i = loop + 1; i < l->ins[loop].match; i++) {
		const enum loop_op opener = l->ins[i].op == LOOP_END ? l->ins[l->ins[i].match].op : NLOOPOPS;
		conditions += l->ins[i].op == LOOP_IF;
		conditions -= opener == LOOP_IF || opener == LOOP_ELSE;
		if (l->ins[i].op == LOOP_EXTERN || l->ins[i].op == LOOP_BOUND || (l->ins[i].op == LOOP_FOR && conditions))
			return false;
	}
	return true;
}

struct owners {
	struct jam *j;
	int *part;                    /* by register: the part that makes it, from 1; 0: none does */
	const struct loop_ins **made; /* by register: what makes it in a part */
	int now;
};

/* A register of another part: either it is cheap to have again, or it is spilled. */
static void note_use(void *ctx, int reg)
{
	struct owners *o = ctx;
	if (o->part[reg] == 0 || o->part[reg] == o->now)
		return;
	const struct loop_ins *made = o->made[reg];
	o->j->again[reg] = made->op == LOOP_CONST || made->op == LOOP_INDEX;
	o->j->spilled[reg] = !o->j->again[reg];
	if (o->j->again[reg])
		loops_each_operand(made, note_use, o);
}

static int cell_bytes(enum reg_type t) { return t == REG_F32 ? 4 : 8; }

bool jam_begin(struct jam *j, const struct loops *from, int loop, int64_t *bytes)
{
	const size_t n = (size_t)MAX(from->nreg, 1);
	struct owners o = {.j = j};
	*j = (struct jam){.from = from, .loop = loop};
	*bytes = 0;
	if (!is_plain(from, loop))
		return false;
	j->spilled = ARENA_ZNEW(from->arena, bool, n);
	j->again = ARENA_ZNEW(from->arena, bool, n);
	j->cells = ARENA_ZNEW(from->arena, int, n);
	o.part = ARENA_ZNEW(from->arena, int, n);
	o.made = ARENA_ZNEW(from->arena, const struct loop_ins *, n);
	for (int i = loop + 1, part = 1; i < from->ins[loop].match; i++) {
		const struct loop_ins *ins = &from->ins[i];
		part += ends_part(from, i);
		o.now = part;
		if (ins->op == LOOP_FOR)
			continue;
		loops_each_operand(ins, note_use, &o);
		if (ins->dst != NO_REG && ins->op != LOOP_SET) {
			o.part[ins->dst] = part;
			o.made[ins->dst] = ins;
		}
	}
	for (int r = 0; r < from->nreg; r++)
		*bytes += j->spilled[r] ? cell_bytes(from->reg[r]) : 0;
	return true;
}

/* ---- making them ---- */

static const struct loop_ins *maker(const struct jam *j, int reg)
{
	for (int i = j->loop + 1; i < j->from->ins[j->loop].match; i++)
		if (j->from->ins[i].dst == reg && j->from->ins[i].op != LOOP_SET)
			return &j->from->ins[i];
	BUG("r%d is not made in the loop", reg);
}

struct part {
	struct jam *j;
	int begin, end;
	bool *has; /* by register: the part has it */
	int variable;
};

static struct affine own_cell(const struct part *p)
{
	const struct affine tiles = affine_reg(p->j->tiles);
	struct affine at = affine_reg(p->variable);
	affine_add(&at, &tiles, -1);
	return at;
}

static void need(void *ctx, int reg)
{
	struct part *p = ctx;
	struct jam *j = p->j;
	if (p->has[reg] || !(j->spilled[reg] || j->again[reg]))
		return;
	p->has[reg] = true;
	const struct loop_ins *made = maker(j, reg);
	if (j->again[reg]) {
		loops_each_operand(made, need, p);
		loops_copy(j->to, j->from, made, j->by);
		return;
	}
	const struct affine at = own_cell(p);
	const int value = loops_load(j->to, j->from->reg[reg], j->cells[reg], &at);
	j->by[reg] = made->op == LOOP_VAR ? loops_var(j->to, value) : value;
}

/* What the part changes of what outlives it. */
static void keep(const struct part *p)
{
	struct jam *j = p->j;
	bool *kept = ARENA_ZNEW(j->from->arena, bool, MAX(j->from->nreg, 1));
	for (int i = p->begin; i < p->end; i++) {
		const int reg = j->from->ins[i].dst;
		if (reg == NO_REG || !j->spilled[reg] || kept[reg])
			continue;
		kept[reg] = true;
		const struct affine at = own_cell(p);
		loops_store(j->to, j->cells[reg], &at, j->by[reg]);
	}
}

static void put_part(struct jam *j, int begin, int end)
{
	const struct loop_ins *loop = &j->from->ins[j->cut];
	struct part p = {j, begin, end, ARENA_ZNEW(j->from->arena, bool, MAX(j->from->nreg, 1)), NO_REG};
	p.variable = j->by[loop->dst] = loops_for_within(j->to, loop->imm, j->tiles, j->tile);
	j->to->ins[j->to->nins - 1].parallel = true;
	for (int i = begin; i < end; i++)
		if (j->from->ins[i].dst != NO_REG && j->from->ins[i].op != LOOP_SET)
			p.has[j->from->ins[i].dst] = true;
	for (int i = begin; i < end; i++)
		loops_each_operand(&j->from->ins[i], need, &p);
	for (int i = begin; i < end; i++)
		loops_copy(j->to, j->from, &j->from->ins[i], j->by);
	keep(&p);
	loops_end(j->to);
}

static void make_cells(struct jam *j)
{
	static const enum dtype of[NREGTYPES] = {[REG_I64] = DT_I64, [REG_F32] = DT_F32, [REG_F64] = DT_F64, [REG_BITS] = DT_I64};
	for (int r = 0; r < j->from->nreg; r++)
		if (j->spilled[r]) {
			j->cells[r] = loops_buffer(j->to, of[j->from->reg[r]], j->tile, -1);
			j->to->buffer[j->cells[r]].local = true;
		}
}

void jam_body(struct jam *j)
{
	make_cells(j);
	for (int i = j->loop + 1; i < j->from->ins[j->loop].match;) {
		const int end = part_end(j, i);
		if (end > i) {
			put_part(j, i, end);
			i = end;
			continue;
		}
		loops_copy(j->to, j->from, &j->from->ins[i], j->by);
		j->to->ins[j->to->nins - 1].summed = false; /* it adds in memory */
		i++;
	}
}
