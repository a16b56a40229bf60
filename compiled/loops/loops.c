/* loops.c: building loop programs (loops.h). */
#include "compiled/loops/loops.h"

const char *const reg_type_name[NREGTYPES] = {"i64", "f32", "f64", "bits"};

enum reg_type reg_type_of(enum dtype t) { return !dtype_is_float(t) ? REG_I64 : t == DT_F64 ? REG_F64 : REG_F32; }

void loops_init(struct loops *l, struct arena *a) { *l = (struct loops){.arena = a}; }

int loops_buffer(struct loops *l, enum dtype t, int64_t ncells, int input)
{
	if (l->nbuffer == l->cap_buffer) {
		const int cap = MAX(16, 2 * l->cap_buffer);
		l->buffer = ARENA_GROW(l->arena, struct loop_buffer, l->buffer, l->cap_buffer, cap);
		l->cap_buffer = cap;
	}
	l->buffer[l->nbuffer] = (struct loop_buffer){.dtype = t, .ncells = ncells, .input = input};
	return l->nbuffer++;
}

int loops_poly(struct loops *l, const struct poly *p)
{
	int64_t number;
	if (poly_is_number(p, &number))
		return 0;
	for (int k = 1; k <= l->npoly; k++)
		if (poly_same(&l->poly[k], p))
			return k;
	if (l->npoly + 1 >= l->cap_poly) {
		const int cap = MAX(16, 2 * l->cap_poly);
		l->poly = ARENA_GROW(l->arena, struct poly, l->poly, l->cap_poly, cap);
		l->cap_poly = cap;
	}
	l->poly[++l->npoly] = *p;
	return l->npoly;
}

static int reg(struct loops *l, enum reg_type t)
{
	if (l->nreg == l->cap_reg) {
		const int cap = MAX(64, 2 * l->cap_reg);
		l->reg = ARENA_GROW(l->arena, enum reg_type, l->reg, l->cap_reg, cap);
		l->extent = ARENA_GROW(l->arena, int64_t, l->extent, l->cap_reg, cap);
		l->cap_reg = cap;
	}
	l->reg[l->nreg] = t;
	l->extent[l->nreg] = -1;
	return l->nreg++;
}

static struct loop_ins *add(struct loops *l, enum loop_op op)
{
	if (l->nins == l->cap_ins) {
		const int cap = MAX(128, 2 * l->cap_ins);
		l->ins = ARENA_GROW(l->arena, struct loop_ins, l->ins, l->cap_ins, cap);
		l->cap_ins = cap;
	}
	struct loop_ins *i = &l->ins[l->nins++];
	*i = (struct loop_ins){
		.op = op, .dst = NO_REG, .a = NO_REG, .b = NO_REG, .c = NO_REG, .scalar = {NO_REG, NO_REG, NO_REG, NO_REG}, .match = -1};
	return i;
}

static struct loop_ins *compute(struct loops *l, enum loop_op op, enum reg_type t)
{
	struct loop_ins *i = add(l, op);
	i->type = t;
	i->dst = reg(l, t);
	return i;
}

static const struct affine *kept(struct loops *l, const struct affine *at)
{
	struct affine *copy = ARENA_NEW(l->arena, struct affine, 1);
	*copy = *at;
	return copy;
}

/* ---- blocks ---- */

static void opened(struct loops *l)
{
	CHECK(l->depth < ARRAY_LEN(l->open));
	l->open[l->depth++] = l->nins - 1;
}

int loops_for(struct loops *l, int64_t n)
{
	struct loop_ins *i = compute(l, LOOP_FOR, REG_I64);
	i->imm = n;
	l->extent[i->dst] = n;
	const int variable = i->dst;
	opened(l);
	return variable;
}

int loops_for_tiles(struct loops *l, int64_t n, int64_t tile)
{
	const int variable = loops_for(l, n);
	CHECK(tile > 0);
	l->ins[l->nins - 1].imm2 = tile;
	return variable;
}

int loops_for_within(struct loops *l, int64_t n, int tiles, int64_t tile)
{
	const int variable = loops_for_tiles(l, n, tile);
	CHECK(l->reg[tiles] == REG_I64);
	l->ins[l->nins - 1].a = tiles;
	return variable;
}

void loops_if(struct loops *l, int condition)
{
	CHECK(l->reg[condition] == REG_I64);
	add(l, LOOP_IF)->a = condition;
	opened(l);
}

void loops_else(struct loops *l)
{
	CHECK(l->depth > 0 && l->ins[l->open[l->depth - 1]].op == LOOP_IF);
	add(l, LOOP_ELSE);
	l->ins[l->open[l->depth - 1]].match = l->nins - 1;
	l->open[l->depth - 1] = l->nins - 1;
}

void loops_end(struct loops *l)
{
	CHECK(l->depth > 0);
	const int opener = l->open[--l->depth];
	add(l, LOOP_END)->match = opener;
	l->ins[opener].match = l->nins - 1;
}

/* ---- values ---- */

int loops_const(struct loops *l, enum reg_type t, union computed v)
{
	struct loop_ins *i = compute(l, LOOP_CONST, t);
	i->value = v;
	return i->dst;
}

int loops_int(struct loops *l, int64_t v) { return loops_const(l, REG_I64, (union computed){.i64 = v}); }

int loops_index(struct loops *l, const struct affine *at)
{
	if (at->n == 1 && at->base == 0 && at->term[0].times == 1)
		return at->term[0].reg;
	if (at->n == 0)
		return loops_int(l, at->base);
	int64_t least, greatest;
	struct loop_ins *i = compute(l, LOOP_INDEX, REG_I64);
	i->at = kept(l, at);
	if (affine_range(&least, &greatest, l, at) && least >= 0)
		l->extent[i->dst] = greatest + 1;
	return i->dst;
}

int loops_load(struct loops *l, enum reg_type as, int buffer, const struct affine *at)
{
	CHECK(as == REG_BITS || as == reg_type_of(l->buffer[buffer].dtype));
	struct loop_ins *i = compute(l, LOOP_LOAD, as);
	i->buffer = buffer;
	i->at = kept(l, at);
	return i->dst;
}

void loops_store(struct loops *l, int buffer, const struct affine *at, int value)
{
	CHECK(l->reg[value] == REG_BITS || l->reg[value] == reg_type_of(l->buffer[buffer].dtype));
	struct loop_ins *i = add(l, LOOP_STORE);
	i->buffer = buffer;
	i->a = value;
	i->at = kept(l, at);
}

void loop_operands(struct loop_ins *i, int *operand[INS_OPERANDS])
{
	operand[0] = &i->a;
	operand[1] = &i->b;
	operand[2] = &i->c;
	for (int k = 0; k < ROW_NUMBERS; k++)
		operand[MAX_ELEMENTWISE + k] = &i->scalar[k];
}

int loops_row_of(struct loops *l, int row, enum dtype common, const int operand[MAX_ELEMENTWISE], const int number[ROW_NUMBERS])
{
	int *at[INS_OPERANDS];
	struct loop_ins *i = compute(l, LOOP_ROW, reg_type_of(common));
	i->row = row;
	i->dtype = common;
	loop_operands(i, at);
	for (int k = 0; k < INS_OPERANDS; k++) {
		*at[k] = k < MAX_ELEMENTWISE ? operand[k] : number[k - MAX_ELEMENTWISE];
		CHECK(*at[k] == NO_REG || l->reg[*at[k]] == i->type);
	}
	return i->dst;
}

int loops_row(struct loops *l, int row, enum dtype common, int a, int b, int c, int s, int t)
{
	return loops_row_of(l, row, common, (const int[]){a, b, c}, (const int[]){s, t, NO_REG, NO_REG});
}

int loops_as(struct loops *l, enum reg_type t, int a)
{
	if (l->reg[a] == t)
		return a;
	CHECK(t == REG_F32 || t == REG_F64);
	CHECK(l->reg[a] != REG_BITS);
	struct loop_ins *i = compute(l, LOOP_AS, t);
	i->a = a;
	return i->dst;
}

int loops_round(struct loops *l, enum dtype t, int a)
{
	const bool whole =
		(t == DT_F32 && l->reg[a] == REG_F32) || (t == DT_F64 && l->reg[a] == REG_F64) || (t == DT_I64 && l->reg[a] == REG_I64);
	if (whole)
		return a;
	struct loop_ins *i = compute(l, LOOP_ROUND, reg_type_of(t));
	i->a = a;
	i->dtype = t;
	return i->dst;
}

int loops_cast(struct loops *l, enum dtype to, enum dtype from, int a)
{
	CHECK(l->reg[a] == reg_type_of(from));
	if (to == from)
		return a;
	struct loop_ins *i = compute(l, LOOP_CAST, reg_type_of(to));
	i->a = a;
	i->dtype = to;
	i->from = from;
	return i->dst;
}

int loops_pack(struct loops *l, enum dtype t, int a)
{
	CHECK(l->reg[a] == reg_type_of(t));
	struct loop_ins *i = compute(l, LOOP_PACK, REG_BITS);
	i->a = a;
	i->dtype = t;
	return i->dst;
}

int loops_unpack(struct loops *l, enum dtype t, int bits)
{
	CHECK(l->reg[bits] == REG_BITS);
	struct loop_ins *i = compute(l, LOOP_UNPACK, reg_type_of(t));
	i->a = bits;
	i->dtype = t;
	return i->dst;
}

static int divided(struct loops *l, enum loop_op op, int a, int64_t by)
{
	CHECK(by > 0 && l->reg[a] == REG_I64);
	struct loop_ins *i = compute(l, op, REG_I64);
	i->a = a;
	i->imm = by;
	return i->dst;
}

int loops_div(struct loops *l, int a, int64_t by)
{
	if (by == 1)
		return a;
	const int quotient = divided(l, LOOP_DIV, a, by);
	if (l->extent[a] > 0)
		l->extent[quotient] = (l->extent[a] - 1) / by + 1;
	return quotient;
}

int loops_mod(struct loops *l, int a, int64_t by)
{
	const int rest = divided(l, LOOP_MOD, a, by);
	l->extent[rest] = by;
	return rest;
}

int loops_select(struct loops *l, int condition, int a, int b)
{
	CHECK(l->reg[condition] == REG_I64 && l->reg[a] == l->reg[b]);
	struct loop_ins *i = compute(l, LOOP_SELECT, l->reg[a]);
	i->a = condition;
	i->b = a;
	i->c = b;
	return i->dst;
}

int loops_var(struct loops *l, int a)
{
	struct loop_ins *i = compute(l, LOOP_VAR, l->reg[a]);
	i->a = a;
	return i->dst;
}

void loops_set(struct loops *l, int var, int a)
{
	CHECK(l->reg[var] == l->reg[a]);
	struct loop_ins *i = add(l, LOOP_SET);
	i->type = l->reg[a];
	i->dst = var;
	i->a = a;
}

int loops_bound(struct loops *l, int a, int64_t size, int dim, bool negative)
{
	struct loop_ins *i = compute(l, LOOP_BOUND, REG_I64);
	i->a = a;
	i->imm = size;
	i->imm2 = dim;
	i->negative = negative;
	l->extent[i->dst] = size;
	return i->dst;
}

void loops_stated(struct loops *l, int a, int64_t number)
{
	struct loop_ins *i = add(l, LOOP_STATED);
	i->a = a;
	i->imm = number;
}

void loops_extern(struct loops *l, const struct loop_call *call) { add(l, LOOP_EXTERN)->call = call; }

static int named(const int *by, int reg) { return reg == NO_REG ? NO_REG : by[reg]; }

static void copy_value(struct loops *l, const struct loops *from, const struct loop_ins *i, int *by)
{
	struct loop_ins *own = add(l, i->op);
	struct affine *at = i->at ? ARENA_NEW(l->arena, struct affine, 1) : NULL;
	*own = *i;
	int *operand[INS_OPERANDS];
	loop_operands(own, operand);
	for (int k = 0; k < INS_OPERANDS; k++)
		*operand[k] = named(by, *operand[k]);
	if (at) {
		*at = *i->at;
		for (int k = 0; k < at->n; k++)
			at->term[k].reg = named(by, at->term[k].reg);
		own->at = at;
	}
	if (i->op == LOOP_SET) {
		own->dst = by[i->dst];
	} else if (i->dst != NO_REG) {
		own->dst = by[i->dst] = reg(l, from->reg[i->dst]);
		l->extent[own->dst] = from->extent[i->dst];
	}
}

void loops_copy(struct loops *l, const struct loops *from, const struct loop_ins *i, int *by)
{
	switch (i->op) {
	case LOOP_FOR: {
		const int variable = i->a != NO_REG ? loops_for_within(l, i->imm, by[i->a], i->imm2)
			: i->imm2                       ? loops_for_tiles(l, i->imm, i->imm2)
											: loops_for(l, i->imm);
		by[i->dst] = variable;
		l->ins[l->nins - 1].parallel = i->parallel;
		l->ins[l->nins - 1].summed = i->summed;
		return;
	}
	case LOOP_IF: loops_if(l, by[i->a]); return;
	case LOOP_ELSE: loops_else(l); return;
	case LOOP_END: loops_end(l); return;
	default: copy_value(l, from, i, by);
	}
}

/* ---- index arithmetic ---- */

struct affine affine_const(int64_t v) { return (struct affine){.base = v}; }
struct affine affine_reg(int r) { return (struct affine){.n = 1, .term = {{.reg = r, .times = 1}}}; }

static void add_term(struct affine *to, int r, int64_t times)
{
	int k = 0;
	while (k < to->n && to->term[k].reg != r)
		k++;
	if (k == to->n) {
		CHECK(to->n < ARRAY_LEN(to->term));
		to->term[to->n++] = (struct affine_term){.reg = r};
	}
	to->term[k].times += times;
	if (to->term[k].times == 0)
		to->term[k] = to->term[--to->n];
}

void affine_add(struct affine *to, const struct affine *a, int64_t times)
{
	to->base += a->base * times;
	for (int i = 0; times != 0 && i < a->n; i++)
		add_term(to, a->term[i].reg, a->term[i].times * times);
}

bool affine_range(int64_t *least, int64_t *greatest, const struct loops *l, const struct affine *a)
{
	*least = *greatest = a->base;
	for (int i = 0; i < a->n; i++) {
		const int64_t n = l->extent[a->term[i].reg], span = a->term[i].times * (n - 1);
		if (n < 1)
			return false;
		*least += MIN(span, 0);
		*greatest += MAX(span, 0);
	}
	return true;
}

int64_t loop_iterations(const struct loop_ins *loop)
{
	CHECK(loop->op == LOOP_FOR && loop->a == NO_REG);
	return loop->imm2 ? (loop->imm + loop->imm2 - 1) / loop->imm2 : loop->imm;
}

int loops_end_of(const struct loops *l, int begin)
{
	int end = begin;
	if (l->ins[begin].op != LOOP_FOR && l->ins[begin].op != LOOP_IF)
		return begin + 1;
	for (end = l->ins[begin].match; l->ins[end].op != LOOP_END; end = l->ins[end].match)
		; /* an IF's match may be its ELSE */
	return end + 1;
}

void loops_each_operand(const struct loop_ins *i, void (*f)(void *ctx, int reg), void *ctx)
{
	struct loop_ins own = *i;
	int *operand[INS_OPERANDS];
	loop_operands(&own, operand);
	for (int k = 0; k < INS_OPERANDS; k++)
		if (*operand[k] != NO_REG)
			f(ctx, *operand[k]);
	if (i->op == LOOP_SET)
		f(ctx, i->dst);
	for (int k = 0; i->at && k < i->at->n; k++)
		f(ctx, i->at->term[k].reg);
}

bool loops_touch(const struct loops *l, int begin, int end, int buffer)
{
	for (int i = begin; i < end; i++)
		if ((l->ins[i].op == LOOP_LOAD || l->ins[i].op == LOOP_STORE) && l->ins[i].buffer == buffer)
			return true;
	return false;
}
