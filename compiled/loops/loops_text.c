/* loops_text.c: loop programs from their text. What loops_print prints of them reads back as the same. */
#include "compiled/loops/loops_text.h"
#include "compiled/loops/symbols.h"
#include "eager/lang/text_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "generated/op_id.h"

/* ---- reading: each function is past what it has read, or has said why not ---- */

struct reader {
	struct text_reader t;
	struct loops *l;
	int *reg; /* by number in the text; NO_REG: not assigned yet */
	int nreg;
	bool returned;
};
enum { MAX_REGS = 1 << 20 };

static bool integer(struct reader *r, int64_t *out)
{
	char *end;
	token_blanks(&r->t);
	errno = 0;
	*out = strtoll(r->t.s, &end, 10);
	if (end == r->t.s || errno != 0)
		return FAIL(&r->t, end == r->t.s ? "expected an integer" : "this integer is too large");
	r->t.s = end;
	return true;
}

static bool numbered(struct reader *r, char letter, int64_t *out)
{
	const char name[] = {letter, 0};
	return token_want(&r->t, name) && integer(r, out);
}

/* ---- polynomials ---- */

/* s0*s0*4, s1, 7 */
static bool read_product(struct reader *r, struct poly *out)
{
	*out = poly_number(1);
	do {
		int64_t n;
		struct poly factor;
		token_blanks(&r->t);
		const bool symbol = token_peek(&r->t) == 's';
		if (symbol ? !numbered(r, 's', &n) : !integer(r, &n))
			return false;
		if (symbol && (n < 0 || n >= r->l->nsymbol || !r->l->symbol[n].bound))
			return FAIL(&r->t, "s%" PRId64 " is not bound", n);
		factor = symbol ? poly_symbol((int)n) : poly_number(n);
		if (!poly_multiply(out, out, &factor))
			return FAIL(&r->t, "more than polynomials have");
	} while (token_eat(&r->t, "*"));
	return true;
}

static bool read_poly(struct reader *r, struct poly *out)
{
	int64_t sign = token_eat(&r->t, "-") ? -1 : 1;
	*out = poly_number(0);
	for (;;) {
		struct poly product;
		if (!read_product(r, &product))
			return false;
		if (!poly_add(out, out, &product, sign))
			return FAIL(&r->t, "more than polynomials have");
		if (token_eat(&r->t, "+"))
			sign = 1;
		else if (token_eat(&r->t, "-"))
			sign = -1;
		else
			return true;
	}
}

/* Its entry and its value. */
static bool named(struct reader *r, const struct poly *p, int *of, int64_t *v)
{
	int64_t value[MAX_POLY_SYMBOLS];
	for (int s = 0; s < MAX_POLY_SYMBOLS; s++)
		value[s] = r->l->symbol[s].hint;
	*of = loops_poly(r->l, p);
	return poly_value(v, p, value) || FAIL(&r->t, "this number is too large");
}

static bool read_number(struct reader *r, int *of, int64_t *v)
{
	struct poly p;
	return read_poly(r, &p) && named(r, &p, of, v);
}

/* In an index. */
static bool read_factor(struct reader *r, int *of, int64_t *v)
{
	struct poly p;
	token_blanks(&r->t);
	if (token_eat(&r->t, "("))
		return read_number(r, of, v) && token_want(&r->t, ")");
	*of = 0;
	if (token_peek(&r->t) != 's')
		return integer(r, v);
	int64_t n;
	if (!numbered(r, 's', &n) || n < 0 || n >= r->l->nsymbol || !r->l->symbol[n].bound)
		return FAIL(&r->t, "expected a symbol that is bound");
	p = poly_symbol((int)n);
	return named(r, &p, of, v);
}

static bool number_of_buffer(struct reader *r, int *out)
{
	int64_t n;
	if (!numbered(r, 'b', &n))
		return false;
	*out = (int)n;
	return (n >= 0 && n < r->l->nbuffer) || FAIL(&r->t, "there is no buffer b%" PRId64, n);
}

static bool operand(struct reader *r, int *out)
{
	int64_t n;
	if (token_eat(&r->t, "_")) {
		*out = NO_REG;
		return true;
	}
	if (!numbered(r, 'r', &n))
		return false;
	if (n < 0 || n >= r->nreg || r->reg[n] == NO_REG)
		return FAIL(&r->t, "r%" PRId64 " has no value yet", n);
	*out = r->reg[n];
	return true;
}

static bool of_type(struct reader *r, int *out, enum reg_type want)
{
	if (!operand(r, out))
		return false;
	if (*out == NO_REG || r->l->reg[*out] != want)
		return FAIL(&r->t, "expected a register of type %s", reg_type_name[want]);
	return true;
}

static bool read_dtype(struct reader *r, enum dtype *out)
{
	char name[MAX_NAME];
	token_blanks(&r->t);
	return token_word(&r->t, name, sizeof name, false) && (dtype_find(out, name) || FAIL(&r->t, "'%s' is no dtype", name));
}

static bool read_at(struct reader *r, struct affine *at)
{
	*at = affine_const(0);
	do {
		token_blanks(&r->t);
		int64_t times = 1;
		int times_of = 0;
		if (token_peek(&r->t) != 'r') {
			if (!read_factor(r, &times_of, &times))
				return false;
			if (times_of && (at->base_of || at->base))
				return FAIL(&r->t, "a symbol beside another number of the index: one polynomial says both");
			at->base += times;
			at->base_of = times_of;
			continue;
		}
		int reg;
		if (at->n == ARRAY_LEN(at->term))
			return FAIL(&r->t, "more than %d registers in an index", at->n);
		if (!of_type(r, &reg, REG_I64) || (token_eat(&r->t, "*") && !read_factor(r, &times_of, &times)))
			return false;
		if (!times_of) {
			const struct affine term = affine_reg(reg);
			affine_add(at, &term, times);
		} else {
			at->term[at->n++] = (struct affine_term){.reg = reg, .times = times, .times_of = times_of};
		}
	} while (token_eat(&r->t, "+"));
	return true;
}

static bool read_cell(struct reader *r, int *buffer, struct affine *at)
{
	return number_of_buffer(r, buffer) && token_want(&r->t, "[") && read_at(r, at) && token_want(&r->t, "]");
}

/* The register just computed, under the number that the text gives it. */
static bool define(struct reader *r, int64_t number, enum reg_type type, int reg)
{
	if (r->l->reg[reg] != type)
		return FAIL(&r->t, "this is of type %s", reg_type_name[r->l->reg[reg]]);
	if (number < 0 || number >= MAX_REGS)
		return FAIL(&r->t, "no register r%" PRId64, number);
	if (number >= r->nreg) {
		const int n = MAX((int)number + 1, 2 * r->nreg);
		r->reg = ARENA_GROW(r->t.a, int, r->reg, r->nreg, n);
		while (r->nreg < n)
			r->reg[r->nreg++] = NO_REG;
	}
	if (r->reg[number] != NO_REG)
		return FAIL(&r->t, "r%" PRId64 " has a value already", number);
	r->reg[number] = reg;
	return true;
}

/* Does a symbol stand in the rest of this line? */
static bool names_symbol(const struct reader *r)
{
	const char *s = r->t.s + strcspn(r->t.s, "s\n#");
	return *s == 's';
}

static bool read_sized_const(struct reader *r, enum reg_type type, int *reg)
{
	int64_t v;
	int of;
	if (!read_number(r, &of, &v))
		return false;
	const union computed f = {.f32 = (float)v}, d = {.f64 = (double)v}, i = {.i64 = v};
	*reg = loops_const(r->l, type, type == REG_F32 ? f : type == REG_F64 ? d : i);
	r->l->ins[r->l->nins - 1].number_of = of;
	return true;
}

static bool read_const(struct reader *r, enum reg_type type, int *reg)
{
	char text[64];
	struct scalar s;
	token_blanks(&r->t);
	if (r->l->nsymbol && names_symbol(r))
		return read_sized_const(r, type, reg);
	const size_t n = strcspn(r->t.s, " \t\n#");
	snprintf(text, sizeof text, "%.*s", (int)MIN(n, sizeof text - 1), r->t.s);
	struct err why = {0};
	if (!scalar_read(&s, text, &why))
		return FAIL(&r->t, "%s", why.msg);
	r->t.s += n;
	const double f = s.kind == SC_FLOAT ? s.f : (double)s.i;
	union computed v = {.i64 = s.i};
	if (type == REG_F32)
		v = (union computed){.f32 = (float)f};
	else if (type == REG_F64)
		v.f64 = f;
	else if (s.kind == SC_FLOAT)
		return FAIL(&r->t, "expected an integer");
	*reg = loops_const(r->l, type, v);
	return true;
}

static bool read_bound(struct reader *r, int *reg)
{
	int a, of;
	int64_t size, dim;
	if (!of_type(r, &a, REG_I64) || !token_want(&r->t, "of") || !read_number(r, &of, &size) || !token_want(&r->t, "dim")
		|| !integer(r, &dim))
		return false;
	if (size < 0)
		return FAIL(&r->t, "a dim of %" PRId64 " positions", size);
	*reg = loops_bound(r->l, a, size, (int)dim, token_eat(&r->t, "wrapping"));
	r->l->ins[r->l->nins - 1].number_of = of;
	return true;
}

static bool read_divided(struct reader *r, enum loop_op op, int *reg)
{
	int a, of;
	int64_t by;
	if (!of_type(r, &a, REG_I64) || !read_number(r, &of, &by))
		return false;
	if (by < 1 + (op == LOOP_DIV)) /* by 1 it would be no instruction */
		return FAIL(&r->t, "expected an integer above %d", op == LOOP_DIV);
	*reg = op == LOOP_DIV ? loops_div(r->l, a, by) : loops_mod(r->l, a, by);
	r->l->ins[r->l->nins - 1].number_of = of;
	return true;
}

static bool read_converted(struct reader *r, enum loop_op op, int *reg)
{
	enum dtype t, from;
	int a;
	if (!read_dtype(r, &t))
		return false;
	if (op == LOOP_CAST) {
		if (!token_want(&r->t, "from") || !read_dtype(r, &from) || !of_type(r, &a, reg_type_of(from)))
			return false;
		*reg = loops_cast(r->l, t, from, a);
		return true;
	}
	if (op == LOOP_ROUND) {
		if (!operand(r, &a) || a == NO_REG || r->l->reg[a] == REG_BITS)
			return FAIL(&r->t, "expected a number's register");
		*reg = loops_round(r->l, t, a);
		return true;
	}
	if (!of_type(r, &a, op == LOOP_PACK ? reg_type_of(t) : REG_BITS))
		return false;
	*reg = op == LOOP_PACK ? loops_pack(r->l, t, a) : loops_unpack(r->l, t, a);
	return true;
}

static bool read_row(struct reader *r, const char *name, int *reg)
{
	int operands[] = {NO_REG, NO_REG, NO_REG}, scalars[ROW_NUMBERS], n = 0, given = 0;
	for (int k = 0; k < ROW_NUMBERS; k++)
		scalars[k] = NO_REG;
	const int row = op_find(name);
	enum dtype t;
	if (row < 0 || !op_has(row, T_POINTWISE))
		return FAIL(&r->t, "'%s' is no instruction and no pointwise operator", name);
	if (!read_dtype(r, &t) || !token_want(&r->t, "("))
		return false;
	do
		if (n == ARRAY_LEN(operands) || !operand(r, &operands[n++]))
			return FAIL(&r->t, "expected at most %d operands", ARRAY_LEN(operands));
	while (token_eat(&r->t, ","));
	if (token_eat(&r->t, ";"))
		do
			if (given == ROW_NUMBERS || !operand(r, &scalars[given++]))
				return FAIL(&r->t, "expected at most %d numbers", ROW_NUMBERS);
		while (token_eat(&r->t, ","));
	if (operands[0] == NO_REG)
		return FAIL(&r->t, "%s of nothing", name);
	for (int k = 0; k < INS_OPERANDS; k++) {
		const int one = k < MAX_ELEMENTWISE ? operands[k] : scalars[k - MAX_ELEMENTWISE];
		if (one != NO_REG && r->l->reg[one] != reg_type_of(t))
			return FAIL(&r->t, "an operand of %s in %s is of type %s", name, dtype_info[t].name, reg_type_name[r->l->reg[one]]);
	}
	*reg = loops_row_of(r->l, row, t, operands, scalars);
	return token_want(&r->t, ")");
}

static bool read_choice(struct reader *r, int *reg)
{
	int condition, a, b;
	if (!of_type(r, &condition, REG_I64) || !operand(r, &a) || !operand(r, &b))
		return false;
	if (a == NO_REG || b == NO_REG || r->l->reg[a] != r->l->reg[b])
		return FAIL(&r->t, "both sides of a choice have one type");
	*reg = loops_select(r->l, condition, a, b);
	return true;
}

static bool read_load(struct reader *r, enum reg_type type, int *reg)
{
	struct affine at;
	int buffer;
	if (!read_cell(r, &buffer, &at))
		return false;
	if (type != REG_BITS && type != reg_type_of(r->l->buffer[buffer].dtype))
		return FAIL(&r->t, "b%d holds %s", buffer, dtype_info[r->l->buffer[buffer].dtype].name);
	*reg = loops_load(r->l, type, buffer, &at);
	return true;
}

static bool read_value(struct reader *r, enum reg_type type, int *reg)
{
	char name[MAX_NAME];
	struct affine at;
	int op = 0, a;
	token_blanks(&r->t);
	if (!token_word(&r->t, name, sizeof name, true))
		return false;
	while (op < NLOOPOPS && (!loop_word[op] || !str_eq(loop_word[op], name)))
		op++;
	switch (op) {
	case LOOP_CONST: return read_const(r, type, reg);
	case LOOP_LOAD: return read_load(r, type, reg);
	case LOOP_ROUND:
	case LOOP_CAST:
	case LOOP_PACK:
	case LOOP_UNPACK: return read_converted(r, (enum loop_op)op, reg);
	case LOOP_DIV:
	case LOOP_MOD: return read_divided(r, (enum loop_op)op, reg);
	case LOOP_SELECT: return read_choice(r, reg);
	case LOOP_BOUND: return read_bound(r, reg);
	case LOOP_INDEX:
		if (!read_at(r, &at))
			return false;
		*reg = loops_index(r->l, &at);
		return true;
	case LOOP_AS:
	case LOOP_VAR:
		if (!operand(r, &a) || a == NO_REG || (op == LOOP_AS && (r->l->reg[a] == REG_BITS || type == REG_BITS || type == REG_I64)))
			return FAIL(&r->t, "expected a number's register");
		*reg = op == LOOP_AS ? loops_as(r->l, type, a) : loops_var(r->l, a);
		return true;
	default: return read_row(r, name, reg);
	}
}

static bool read_type(struct reader *r, enum reg_type *out)
{
	char name[MAX_NAME];
	token_blanks(&r->t);
	if (!token_word(&r->t, name, sizeof name, false))
		return false;
	for (int t = 0; t < NREGTYPES; t++)
		if (str_eq(name, reg_type_name[t])) {
			*out = (enum reg_type)t;
			return true;
		}
	return FAIL(&r->t, "'%s' is no type of a register", name);
}

static bool is_var(const struct loops *l, int reg)
{
	for (int i = 0; i < l->nins; i++)
		if (l->ins[i].op == LOOP_VAR && l->ins[i].dst == reg)
			return true;
	return false;
}

/* r3: f32 = ..., r3 := r4 */
static bool read_assignment(struct reader *r)
{
	int64_t number;
	enum reg_type type = REG_I64;
	int reg = NO_REG, a;
	if (!numbered(r, 'r', &number))
		return false;
	if (token_eat(&r->t, ":=")) {
		if (!operand(r, &a) || a == NO_REG || number < 0 || number >= r->nreg || r->reg[number] == NO_REG)
			return FAIL(&r->t, "r%" PRId64 " has no value yet", number);
		if (r->l->reg[r->reg[number]] != r->l->reg[a])
			return FAIL(&r->t, "r%" PRId64 " is of another type", number);
		if (!is_var(r->l, r->reg[number]))
			return FAIL(&r->t, "r%" PRId64 " is no var", number);
		loops_set(r->l, r->reg[number], a);
		return true;
	}
	return token_want(&r->t, ":") && read_type(r, &type) && token_want(&r->t, "=") && read_value(r, type, &reg)
		&& define(r, number, type, reg);
}

static bool read_numbers(struct reader *r, int *of, int64_t *v, int *n)
{
	*n = 0;
	if (!token_want(&r->t, "["))
		return false;
	if (token_eat(&r->t, "]"))
		return true;
	do {
		if (*n == MAX_RANK || !read_number(r, &of[*n], &v[*n]))
			return FAIL(&r->t, "expected at most %d numbers", MAX_RANK);
		++*n;
	} while (token_eat(&r->t, ","));
	return token_want(&r->t, "]");
}

static bool read_place(struct reader *r, struct place *p)
{
	int rank;
	*p = (struct place){0};
	if (!number_of_buffer(r, &p->buffer) || !read_dtype(r, &p->meta.dtype) || !read_numbers(r, p->of.size, p->meta.size, &p->meta.rank)
		|| !read_numbers(r, p->of.stride, p->meta.stride, &rank) || !token_want(&r->t, "+")
		|| !read_factor(r, &p->of.offset, &p->meta.offset))
		return false;
	return rank == p->meta.rank || FAIL(&r->t, "%d sizes, but %d strides", p->meta.rank, rank);
}

static bool read_places(struct reader *r, struct place **out, int *n)
{
	enum { MAX_PLACES = MAX_ARGS + MAX_LIST };
	*out = ARENA_NEW(r->t.a, struct place, MAX_PLACES);
	*n = 0;
	token_blanks(&r->t);
	if (token_peek(&r->t) != 'b')
		return true;
	do
		if (*n == MAX_PLACES || !read_place(r, &(*out)[(*n)++]))
			return FAIL(&r->t, "expected at most %d places", (int)MAX_PLACES);
	while (token_eat(&r->t, ","));
	return true;
}

static bool read_extern(struct reader *r)
{
	struct loop_call *call = ARENA_ZNEW(r->t.a, struct loop_call, 1);
	int64_t node;
	if (!integer(r, &node) || !token_want(&r->t, "(") || !read_places(r, &call->in, &call->nin) || !token_want(&r->t, ")")
		|| !token_want(&r->t, "->") || !token_want(&r->t, "(") || !read_places(r, &call->out, &call->nout) || !token_want(&r->t, ")"))
		return false;
	call->node = (int)node;
	loops_extern(r->l, call);
	return true;
}

/* by N: over tiles; in rN + N: within one, of a loop over tiles of that length. */
static bool read_tile(struct reader *r, int *tiles, int64_t *tile)
{
	*tiles = NO_REG;
	*tile = 0;
	const bool over = token_keyword(&r->t, "by"), within = !over && token_keyword(&r->t, "in");
	if (within && (!of_type(r, tiles, REG_I64) || !token_want(&r->t, "+")))
		return false;
	if ((over || within) && (!integer(r, tile) || (*tile < 1 && !FAIL(&r->t, "a tile of %" PRId64, *tile))))
		return false;
	for (int i = 0; within && i < r->l->depth; i++) {
		const struct loop_ins *loop = &r->l->ins[r->l->open[i]];
		if (loop->op == LOOP_FOR && loop->dst == *tiles && loop->a == NO_REG && loop->imm2 == *tile)
			return true;
	}
	return !within || FAIL(&r->t, "r%d is not the variable of an open loop by %" PRId64, *tiles, *tile);
}

static bool read_for(struct reader *r)
{
	int64_t number, n, tile;
	int of, tiles;
	if (r->l->depth == MAX_LOOP_DEPTH)
		return FAIL(&r->t, "more than %d blocks in one another", (int)MAX_LOOP_DEPTH);
	if (!numbered(r, 'r', &number) || !token_want(&r->t, "<") || !read_number(r, &of, &n) || (n < 0 && !FAIL(&r->t, "%" PRId64 " times", n))
		|| !read_tile(r, &tiles, &tile))
		return false;
	if (tile && of)
		return FAIL(&r->t, "tiles of a loop whose length is no number");
	if (!define(r, number, REG_I64,
			tiles != NO_REG ? loops_for_within(r->l, n, tiles, tile)
				: tile      ? loops_for_tiles(r->l, n, tile)
							: loops_for(r->l, n)))
		return false;
	struct loop_ins *loop = &r->l->ins[r->l->nins - 1];
	loop->number_of = of;
	loop->parallel = token_keyword(&r->t, "parallel");
	loop->summed = !loop->parallel && token_keyword(&r->t, "summed");
	return true;
}

static bool read_if(struct reader *r)
{
	int condition;
	if (r->l->depth == MAX_LOOP_DEPTH)
		return FAIL(&r->t, "more than %d blocks in one another", (int)MAX_LOOP_DEPTH);
	if (!of_type(r, &condition, REG_I64))
		return false;
	loops_if(r->l, condition);
	return true;
}

static bool read_else(struct reader *r)
{
	if (r->l->depth == 0 || r->l->ins[r->l->open[r->l->depth - 1]].op != LOOP_IF)
		return FAIL(&r->t, "else without an if");
	loops_else(r->l);
	return true;
}

static bool read_end(struct reader *r)
{
	if (r->l->depth == 0)
		return FAIL(&r->t, "nothing is open that could end");
	loops_end(r->l);
	return true;
}

static bool read_store(struct reader *r)
{
	struct affine at;
	int buffer, value;
	if (!read_cell(r, &buffer, &at) || !token_want(&r->t, "=") || !operand(r, &value))
		return false;
	const enum reg_type holds = reg_type_of(r->l->buffer[buffer].dtype);
	if (value == NO_REG || (r->l->reg[value] != REG_BITS && r->l->reg[value] != holds))
		return FAIL(&r->t, "b%d takes %s or bits", buffer, reg_type_name[holds]);
	loops_store(r->l, buffer, &at, value);
	return true;
}

static bool read_uses(struct reader *r, unsigned *uses)
{
	do {
		int64_t s;
		if (!numbered(r, 's', &s))
			return false;
		if (s < 0 || s >= r->l->nsymbol)
			return FAIL(&r->t, "s%" PRId64 " is not bound", s);
		*uses |= 1u << s;
	} while (token_eat(&r->t, ","));
	return true;
}

static bool read_buffer(struct reader *r)
{
	int64_t number, ncells, input = -1;
	int of;
	unsigned uses = 0;
	enum dtype t;
	if (!numbered(r, 'b', &number) || !token_want(&r->t, ":") || !read_dtype(r, &t) || !token_want(&r->t, "[")
		|| !read_number(r, &of, &ncells) || !token_want(&r->t, "]")
		|| (token_eat(&r->t, "=") && (!token_want(&r->t, "input") || !integer(r, &input))))
		return false;
	if (number != r->l->nbuffer || ncells < 0 || ncells > MAX_NUMEL)
		return FAIL(&r->t, "expected buffer b%d of at most %" PRId64 " cells", r->l->nbuffer, MAX_NUMEL);
	for (int b = 0; input != -1 && b < r->l->nbuffer; b++)
		if (r->l->buffer[b].input == input)
			return FAIL(&r->t, "input %" PRId64 " is b%d already", input, b);
	if (input < -1 || input > INT_MAX)
		return FAIL(&r->t, "there is no input %" PRId64, input);
	const bool local = input == -1 && token_keyword(&r->t, "local");
	if (token_keyword(&r->t, "uses") && !read_uses(r, &uses))
		return false;
	if (local && of)
		return FAIL(&r->t, "a tile's own buffer whose size is no number");
	const int b = loops_buffer(r->l, t, ncells, (int)input);
	r->l->buffer[b].ncells_of = of;
	r->l->buffer[b].uses = uses;
	r->l->buffer[b].local = local;
	return true;
}

/* s0 = size 0 of input 1, 6; s1 = argument 0, 4; s2 = data of argument 1, 9 */
static bool read_symbol(struct reader *r)
{
	int64_t number, dim, input = -1;
	struct loops *l = r->l;
	if (!numbered(r, 's', &number) || !token_want(&r->t, "="))
		return false;
	if (number < 0 || number >= MAX_POLY_SYMBOLS || (number < l->nsymbol && l->symbol[number].bound))
		return FAIL(&r->t, "s%" PRId64 " is bound already, or one too many", number);
	struct size_symbol *s = &l->symbol[number];
	s->data = token_keyword(&r->t, "data");
	const bool argument = s->data ? token_want(&r->t, "of") && token_want(&r->t, "argument") : token_keyword(&r->t, "argument");
	if (!argument && (s->data || !token_want(&r->t, "size")))
		return false;
	if (!integer(r, &dim) || (!argument && (!token_want(&r->t, "of") || !token_want(&r->t, "input") || !integer(r, &input)))
		|| !token_want(&r->t, ",") || !integer(r, &s->hint))
		return false;
	if (dim < 0 || dim >= MAX_NODES || input < -argument || input >= MAX_NODES)
		return FAIL(&r->t, "there is no such input");
	s->bound = true;
	s->dim = (int)dim;
	s->input = (int)input;
	l->nsymbol = MAX(l->nsymbol, (int)number + 1);
	return true;
}

static bool read_relation(struct reader *r, enum guard_relation *out)
{
	static const struct {
		const char *word;
		enum guard_relation is;
	} words[] = {{"<=", GUARD_LESS_EQUAL}, {">=", GUARD_GREATER_EQUAL}, {"!=", GUARD_NOT_EQUAL}, {"<", GUARD_LESS}, {">", GUARD_GREATER},
		{"=", GUARD_EQUAL}, {"mod", GUARD_REST}};
	for (int k = 0; k < ARRAY_LEN(words); k++)
		if (token_eat(&r->t, words[k].word)) {
			*out = words[k].is;
			return true;
		}
	return FAIL(&r->t, "expected a relation");
}

static bool read_guard(struct reader *r)
{
	struct guard g = {.by = 0};
	struct poly right;
	if (!read_poly(r, &g.p) || !read_relation(r, &g.relation))
		return false;
	if (g.relation == GUARD_REST) {
		if (!integer(r, &g.by) || !token_want(&r->t, "=") || !integer(r, &g.rest))
			return false;
		if (g.by < 1)
			return FAIL(&r->t, "expected an integer above 0");
	} else if (!read_poly(r, &right) || !poly_add(&g.p, &g.p, &right, -1)) {
		return FAIL(&r->t, "expected a number");
	}
	guard_add(r->l, &g);
	return true;
}

/* stated r7 = s2 */
static bool read_stated(struct reader *r)
{
	int a, of;
	int64_t number;
	if (!of_type(r, &a, REG_I64) || !token_want(&r->t, "=") || !read_number(r, &of, &number))
		return false;
	if (r->l->depth != 0)
		return FAIL(&r->t, "a number is stated outside of all blocks");
	loops_stated(r->l, a, number);
	r->l->ins[r->l->nins - 1].number_of = of;
	return true;
}

static bool read_return(struct reader *r)
{
	r->returned = true;
	r->l->results_stay = token_keyword(&r->t, "kept");
	return read_places(r, &r->l->ret, &r->l->nret);
}

static bool read_line(struct reader *r)
{
	if (r->returned)
		return FAIL(&r->t, "something behind return");
	if (token_keyword(&r->t, "for"))
		return read_for(r);
	if (token_keyword(&r->t, "if"))
		return read_if(r);
	if (token_keyword(&r->t, "else"))
		return read_else(r);
	if (token_keyword(&r->t, "end"))
		return read_end(r);
	if (token_keyword(&r->t, "store"))
		return read_store(r);
	if (token_keyword(&r->t, "extern"))
		return read_extern(r);
	if (token_keyword(&r->t, "stated"))
		return read_stated(r);
	if (token_keyword(&r->t, "return"))
		return read_return(r);
	if (token_keyword(&r->t, "guard"))
		return read_guard(r);
	if (token_peek(&r->t) == 's')
		return read_symbol(r);
	return token_peek(&r->t) == 'b' ? read_buffer(r) : read_assignment(r);
}

bool loops_read(struct loops *out, struct arena *a, const char *text, struct err *err)
{
	struct reader r = {.t = {.a = a, .s = text, .end = text + strlen(text), .line_start = text, .line = 1, .err = err}, .l = out};
	loops_init(out, a);
	if (!token_keyword(&r.t, "loops") || !token_eat(&r.t, "1") || !token_line_end(&r.t))
		return FAIL(&r.t, "expected 'loops 1'");
	for (token_skip_line(&r.t); r.t.s < r.t.end; token_skip_line(&r.t)) {
		token_blanks(&r.t);
		if (!token_line_end(&r.t) && !read_line(&r))
			return false;
		if (!token_line_end(&r.t))
			return FAIL(&r.t, "more than one instruction");
	}
	if (r.l->depth != 0)
		return FAIL(&r.t, "%d blocks are open at the end", r.l->depth);
	return r.returned || FAIL(&r.t, "no return");
}
