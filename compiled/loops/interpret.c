/* interpret.c: the engine that walks the instructions: the meaning of the loop IR, slow and plain. */
#include "compiled/loops/run.h"

#include "eager/ops/rules.h"

/* ---- threads ---- */

/* A nest whose first loops are parallel runs as a GPU may run it at worst: no thread, which is a combination of their variables, sees what
 * another has stored before the nest has ended. */
struct threads {
	int nloop, loop[MAX_LOOP_DEPTH];
	unsigned char **before; /* by buffer: what it held when the nest began; NULL: the nest does not store there */
	int64_t **writer;       /* by buffer and cell: the thread that stored there last, from 1; 0: none */
	struct arena_mark mark;
};

static int64_t thread_of(const struct threads *t, const struct loops *l, const union computed *reg)
{
	int64_t thread = 0;
	for (int k = 0; k < t->nloop; k++)
		thread = thread * l->ins[t->loop[k]].imm + reg[l->ins[t->loop[k]].dst].i64;
	return thread + 1;
}

static void threads_begin(struct threads *t, const struct loop_frame *f, int nest)
{
	const struct loops *l = f->loops;
	const int end = l->ins[nest].match;
	t->nloop = 0;
	for (int i = nest; l->ins[i].op == LOOP_FOR && l->ins[i].a == NO_REG; i++)
		if (l->ins[i].parallel)
			t->loop[t->nloop++] = i;
	if (!t->nloop)
		return;
	t->mark = arena_mark(f->scratch);
	t->before = ARENA_ZNEW(f->scratch, unsigned char *, MAX(l->nbuffer, 1));
	t->writer = ARENA_ZNEW(f->scratch, int64_t *, MAX(l->nbuffer, 1));
	for (int i = nest; i < end; i++) {
		const int b = l->ins[i].buffer;
		if (l->ins[i].op != LOOP_STORE || t->before[b] || l->buffer[b].local)
			continue;
		const size_t ncells = (size_t)MAX(l->buffer[b].ncells, 1), nbytes = ncells * (size_t)dtype_nbytes(l->buffer[b].dtype);
		t->before[b] = arena_alloc(f->scratch, nbytes);
		memcpy(t->before[b], f->data[b], (size_t)l->buffer[b].ncells * (size_t)dtype_nbytes(l->buffer[b].dtype));
		t->writer[b] = ARENA_ZNEW(f->scratch, int64_t, ncells);
	}
}

static void threads_end(struct threads *t, const struct loop_frame *f)
{
	if (t->nloop)
		arena_release(f->scratch, t->mark);
	t->nloop = 0;
}

/* ---- single instructions ---- */

static int64_t cell_of(const struct affine *at, const union computed *reg)
{
	int64_t cell = at->base;
	for (int k = 0; k < at->n; k++)
		cell += at->term[k].times * reg[at->term[k].reg].i64;
	return cell;
}

static unsigned char *address(const struct loop_frame *f, const struct threads *t, const struct loop_ins *i, const union computed *reg)
{
	const struct loop_buffer *b = &f->loops->buffer[i->buffer];
	const int64_t cell = cell_of(i->at, reg);
	if (cell < 0 || cell >= b->ncells)
		BUG("cell %lld of buffer b%d, which has %lld", (long long)cell, i->buffer, (long long)b->ncells);
	unsigned char *base = f->data[i->buffer];
	if (t->nloop && t->before[i->buffer]) {
		const int64_t thread = thread_of(t, f->loops, reg);
		if (i->op == LOOP_STORE)
			t->writer[i->buffer][cell] = thread;
		else if (t->writer[i->buffer][cell] != thread)
			base = t->before[i->buffer];
	}
	return base + cell * dtype_nbytes(b->dtype);
}

static union computed element_at(enum dtype t, enum reg_type as, const unsigned char *p)
{
	union computed v = {0};
	if (as == REG_BITS)
		v.i64 = (int64_t)get_le(p, dtype_nbytes(t));
	else if (as == REG_F64)
		v.f64 = dtype_load_f(t, p);
	else if (as == REG_F32)
		v.f32 = (float)dtype_load_f(t, p);
	else
		v.i64 = dtype_load_i(t, p);
	return v;
}

static void put_element(enum dtype t, enum reg_type as, unsigned char *p, union computed v)
{
	if (as == REG_BITS)
		put_le(p, (uint64_t)v.i64, dtype_nbytes(t));
	else if (as == REG_F64)
		dtype_store_f(t, p, v.f64);
	else if (as == REG_F32)
		dtype_store_f(t, p, (double)v.f32);
	else
		dtype_store_i(t, p, v.i64);
}

static double number(enum reg_type t, union computed v) { return t == REG_F64 ? v.f64 : t == REG_F32 ? (double)v.f32 : (double)v.i64; }

static union computed as_type(enum reg_type to, enum reg_type from, union computed v)
{
	union computed out = {0};
	if (to == REG_F64)
		out.f64 = number(from, v);
	else
		out.f32 = from == REG_I64 ? (float)v.i64 : (float)v.f64;
	return out;
}

/* v as it would come back from memory of dtype t. */
static union computed rounded(enum dtype t, enum reg_type from, union computed v)
{
	union computed out = {0};
	if (t == DT_F64)
		out.f64 = number(from, v);
	else if (dtype_is_float(t))
		out.f32 = (float)dtype_round(t, number(from, v));
	else
		out.i64 = dtype_wrap(t, from == REG_I64 ? v.i64 : (int64_t)number(from, v));
	return out;
}

static union computed converted(enum dtype to, enum dtype from, union computed v)
{
	unsigned char a[8], b[8];
	const struct meta source = {.dtype = from}, target = {.dtype = to};
	const struct tensor src = {source, a};
	struct tensor dst = {target, b};
	put_element(from, reg_type_of(from), a, v);
	tensor_copy(&dst, &src);
	return element_at(to, reg_type_of(to), b);
}

static union computed packed(enum dtype t, union computed v, bool pack)
{
	unsigned char cell[8];
	put_element(t, pack ? reg_type_of(t) : REG_BITS, cell, v);
	return element_at(t, pack ? REG_BITS : reg_type_of(t), cell);
}

static int64_t floor_div(int64_t a, int64_t by) { return a / by - (a % by < 0); }

static union computed row_of(const struct loop_ins *i, const union computed *reg)
{
	union computed in[MAX_ELEMENTWISE] = {{0}, {0}, {0}};
	const int operand[MAX_ELEMENTWISE] = {i->a, i->b, i->c};
	for (int k = 0; k < MAX_ELEMENTWISE; k++)
		if (operand[k] != NO_REG)
			in[k] = reg[operand[k]];
	const union computed *number[ROW_NUMBERS];
	for (int k = 0; k < ROW_NUMBERS; k++)
		number[k] = i->scalar[k] == NO_REG ? NULL : &reg[i->scalar[k]];
	return pointwise_element(i->row, i->dtype, in, number);
}

/* ---- the walk ---- */

/* The next iteration of a loop whose body has ended, or the first (begin); false: none is left. Loops that may run in any order run
 * backwards, so that one that may not shows. */
static bool next_iteration(union computed *reg, const struct loop_ins *loop, bool begin)
{
	const bool backwards = loop->parallel || loop->summed, within = loop->a != NO_REG;
	const int64_t low = within ? reg[loop->a].i64 : 0, past = within ? MIN(loop->imm, low + loop->imm2) : loop->imm;
	const int64_t step = !within && loop->imm2 ? loop->imm2 : 1, last = low + (past - 1 - low) / step * step;
	int64_t *variable = &reg[loop->dst].i64;
	*variable = !begin ? *variable + (backwards ? -step : step) : backwards ? last : low;
	return *variable >= low && *variable < past;
}

/* False: raised. Instructions that compute; blocks are the walk's. */
static bool compute(struct loop_frame *f, const struct threads *t, const struct loop_ins *i, union computed *reg)
{
	const enum reg_type *type = f->loops->reg;
	union computed v = {0};
	switch (i->op) {
	case LOOP_CONST: v = i->value; break;
	case LOOP_INDEX: v.i64 = cell_of(i->at, reg); break;
	case LOOP_LOAD: v = element_at(f->loops->buffer[i->buffer].dtype, i->type, address(f, t, i, reg)); break;
	case LOOP_STORE: put_element(f->loops->buffer[i->buffer].dtype, type[i->a], address(f, t, i, reg), reg[i->a]); return true;
	case LOOP_ROW: v = row_of(i, reg); break;
	case LOOP_AS: v = as_type(i->type, type[i->a], reg[i->a]); break;
	case LOOP_ROUND: v = rounded(i->dtype, type[i->a], reg[i->a]); break;
	case LOOP_CAST: v = converted(i->dtype, i->from, reg[i->a]); break;
	case LOOP_PACK: v = packed(i->dtype, reg[i->a], true); break;
	case LOOP_UNPACK: v = packed(i->dtype, reg[i->a], false); break;
	case LOOP_DIV: v.i64 = floor_div(reg[i->a].i64, i->imm); break;
	case LOOP_MOD: v.i64 = reg[i->a].i64 - i->imm * floor_div(reg[i->a].i64, i->imm); break;
	case LOOP_SELECT: v = reg[i->a].i64 ? reg[i->b] : reg[i->c]; break;
	case LOOP_VAR:
	case LOOP_SET: v = reg[i->a]; break;
	case LOOP_BOUND:
		if (!loop_frame_bound(&v.i64, f, i, reg[i->a].i64))
			return false;
		break;
	case LOOP_STATED: return loop_frame_stated(f, i - f->loops->ins, reg[i->a].i64);
	case LOOP_EXTERN: return loop_frame_call(f, i->call);
	default: BUG("instruction %d", (int)i->op);
	}
	reg[i->dst] = v;
	return true;
}

bool loops_interpret(struct loop_frame *f, void *ctx)
{
	const struct loops *l = f->loops;
	union computed *reg = ARENA_ZNEW(f->scratch, union computed, MAX(l->nreg, 1));
	struct threads t = {.nloop = 0};
	int nest = -1; /* that is open */
	(void)ctx;
	for (int at = 0; at < l->nins; at++) {
		const struct loop_ins *i = &l->ins[at];
		if (nest == -1 && i->op == LOOP_FOR)
			threads_begin(&t, f, nest = at);
		if (i->op == LOOP_FOR) {
			if (!next_iteration(reg, i, true))
				at = i->match;
		} else if (i->op == LOOP_IF) {
			if (!reg[i->a].i64)
				at = i->match; /* behind the ELSE, or at the END */
		} else if (i->op == LOOP_ELSE) {
			at = i->match;
		} else if (i->op == LOOP_END) {
			const struct loop_ins *opener = &l->ins[i->match];
			if (opener->op == LOOP_FOR && next_iteration(reg, opener, false))
				at = i->match;
		} else if (!compute(f, &t, i, reg)) {
			return false;
		}
		if (nest != -1 && at == l->ins[nest].match) {
			threads_end(&t, f);
			nest = -1;
		}
	}
	return true;
}
