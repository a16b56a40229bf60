/* emit_c.c: see emit_c.h. */
#include "compiled/loops/emit_c.h"

#include "compiled/loops/emit_parts.h"
#include "compiled/loops/schedule.h"
#include "compiled/loops/symbols.h"

#include <inttypes.h>
#include <math.h>

#include "generated/op_id.h"

extern const unsigned char pointwise_words_h[], pointwise_words_end_h[], half_h[], scalar_functions_h[];

static const char *const c_type[NREGTYPES] = {"i64", "float", "double", "u64"};
static const char *const suffix[NREGTYPES] = {"i64", "f32", "f64", ""};

/* ---- what stands before the function ---- */

const char *const emit_types =
	"typedef signed char i8;\ntypedef unsigned char u8;\ntypedef short i16;\ntypedef unsigned short u16;\ntypedef int i32;\n"
	"typedef unsigned int u32;\ntypedef long i64;\ntypedef unsigned long u64;\n"
	"#define isnan(x) ((x) != (x))\n"
	"#define int8_t i8\n#define int16_t i16\n#define int32_t i32\n#define int64_t i64\n"
	"#define uint8_t u8\n#define uint16_t u16\n#define uint32_t u32\n#define uint64_t u64\n"
	"static float bits_f32(u32 u) { union { u32 u; float f; } x; x.u = u; return x.f; }\n"
	"static u32 f32_bits(float f) { union { u32 u; float f; } x; x.f = f; return x.u; }\n"
	"static double bits_f64(u64 u) { union { u64 u; double f; } x; x.u = u; return x.f; }\n"
	"static u64 f64_bits(double f) { union { u64 u; double f; } x; x.f = f; return x.u; }\n"
	"static i64 div_floor(i64 a, i64 by) { return a / by - (a % by < 0); }\n"
	"enum dtype {"
#define DT(id, ...) "DT_" #id ","
#include "eager/lang/dtype.def"
#undef DT
	"};\n";

/* The numbers of a row: C takes the address of a literal. */
static const char *const c_words =
	"#define bool _Bool\n#define CONSTS(x) &(struct consts_##x)\n#define CONSTS_GIVEN(x) const struct consts_##x *k\n"
	"#define CONSTS_OPEN(x)\n";

static const char *const prototypes =
#define RUNTIME(result, name, parameters) #result " " #name #parameters ";\n"
#include "compiled/loops/runtime.def"
	;

static const char *const libm =
#define RUNTIME(...)
#define LIBM(result, name, parameters) #result " " #name #parameters ";\n"
#include "compiled/loops/runtime.def"
	;

void emit_functions(struct strbuf *sb, const char *declared)
{
	sb_printf(sb,
		"#define INT64_MIN (-0x7fffffffffffffffl - 1)\n"
		"#define INT32_MIN "
		"(-0x7fffffff - 1)\n#define SCALAR_FUNCTION %s\n"
		"static i64 wrap_add(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }\n"
		"static i64 wrap_sub(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }\n"
		"static i64 wrap_mul(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }\n%s%s",
		declared, (const char *)half_h, (const char *)scalar_functions_h);
}

static void put_runtime(struct strbuf *sb)
{
	sb_puts(sb, libm);
	sb_puts(sb,
		"void *memcpy(void *, const void *, unsigned long);\n"
		"struct callbacks { bool (*bound)(void *, i64, i64, i64 *); bool (*call)(void *, i64); "
		"bool (*stated)(void *, i64, i64); };\n"
		"#define loop_bound(frame, ins, v, out) ((*(const struct callbacks **)(frame))->bound(frame, ins, v, out))\n"
		"#define loop_call(frame, ins) ((*(const struct callbacks **)(frame))->call(frame, ins))\n"
		"#define loop_stated(frame, ins, v) ((*(const struct callbacks **)(frame))->stated(frame, ins, v))\n");
	/* Inlined into every load and store of halves, they were more than half of what a compiler had to do. */
	sb_puts(sb, "#define LARGE_FUNCTION __attribute__((noinline)) static\n");
	emit_functions(sb, "static");
}

/* The expression of a row, with the word that its category puts around it. */
static const char *const row_text[NOPS] = {
#define POINTWISE(id, name, schema, dts, traits, saves, lic, promo, fwd, d0, d1, d2) [OP_##id] = "ROW_" #promo "(" #fwd ")",
#define OP(...)
#define INPLACE(...)
#include "eager/lang/ops.def"
};
static const char *const row_id[NOPS] = {
#define POINTWISE(id, ...) [OP_##id] = #id,
#define OP(...)
#define INPLACE(...)
#include "eager/lang/ops.def"
};

/* The POINTWISE rows that loop programs use, by the type that they compute in. */
struct rows_used {
	bool any[NREGTYPES], row[NREGTYPES][NOPS];
};

static void add_rows(struct rows_used *u, const struct loops *l)
{
	for (int i = 0; i < l->nins; i++)
		if (l->ins[i].op == LOOP_ROW) {
			u->any[l->ins[i].type] = true;
			u->row[l->ins[i].type][l->ins[i].row] = true;
		}
}

/* A function per row that is used in this type. */
static void put_rows(struct strbuf *sb, const struct rows_used *u, enum reg_type t)
{
	if (!u->any[t])
		return;
	sb_printf(sb, "#define T %s\n#define FN(x) x##_%s\n#define INST_INT %d\n", c_type[t], suffix[t], t == REG_I64);
	sb_puts(sb, (const char *)pointwise_words_h);
	for (int row = 0; row < NOPS; row++)
		if (row_text[row] && u->row[t][row])
			sb_printf(sb,
				"static T row_%s_%s(T a, T b, T c, CONSTS_GIVEN(%s)) { CONSTS_OPEN(%s) const T s = k->s, t = k->t, u = k->u, w = k->w; "
				"const bool has_s = k->has_s, has_t = "
				"k->has_t; return (T)(%s); }\n",
				row_id[row], suffix[t], suffix[t], suffix[t], row_text[row]);
	sb_puts(sb, (const char *)pointwise_words_end_h);
	sb_puts(sb, "#undef T\n#undef FN\n#undef INST_INT\n");
}

void emit_rows(struct strbuf *sb, const struct loops *const *l, int n)
{
	struct rows_used u = {0};
	for (int i = 0; i < n; i++)
		add_rows(&u, l[i]);
	for (int t = 0; t < NREGTYPES; t++)
		put_rows(sb, &u, (enum reg_type)t);
}

/* ---- expressions ---- */

void emit_number(struct strbuf *sb, const struct loops *l, int of, int64_t v)
{
	if (!of) {
		sb_printf(sb, "%" PRId64, v);
		return;
	}
	sb_puts(sb, "(");
	poly_print(sb, &l->poly[of]);
	sb_puts(sb, ")");
}

static void put_affine(struct strbuf *sb, const struct loops *l, const struct affine *at)
{
	emit_number(sb, l, at->base_of, at->base);
	for (int k = 0; k < at->n; k++) {
		sb_puts(sb, " + ");
		emit_number(sb, l, at->term[k].times_of, at->term[k].times);
		sb_printf(sb, " * r%d", at->term[k].reg);
	}
}

static void put_const(struct strbuf *sb, enum reg_type t, union computed v)
{
	uint32_t narrow;
	uint64_t wide;
	memcpy(&narrow, &v.f32, sizeof narrow);
	memcpy(&wide, &v.f64, sizeof wide);
	if (t == REG_F32)
		sb_printf(sb, "bits_f32(0x%" PRIx32 "u)", narrow);
	else if (t == REG_F64)
		sb_printf(sb, "bits_f64(0x%" PRIx64 "ul)", wide);
	else
		sb_printf(sb, "(%s)0x%" PRIx64 "ul", c_type[t], (uint64_t)v.i64);
}

const char *emit_cell_type(enum dtype t, bool bits)
{
	static const char *const words[] = {"", "u8", "u16", "", "u32", "", "", "", "u64"};
	return bits ? words[dtype_nbytes(t)] : dtype_info[t].cell;
}

/* A cell's content as a register of its dtype's type: what stands before `)`. */
static const char *from_cell(enum dtype t)
{
	static const char *const of[] = {
#define DT(id, name, torch, cell, load, ...) #load "(",
#include "eager/lang/dtype.def"
#undef DT
	};
	return of[t];
}

/* The same the other way: from a register (an i64 for integers), rounded. */
static const char *to_cell(enum dtype t)
{
	static const char *const of[] = {
#define DT(id, name, torch, cell, load, store, class, ...) #store STORED_##class "(",
#define STORED_BOOL                                        "(i64)"
#define STORED_SIGNED                                      "(i64)"
#define STORED_UNSIGNED                                    "(i64)"
#define STORED_FLOAT                                       ""
#include "eager/lang/dtype.def"
#undef DT
	};
	return of[t];
}

/* aten::copy_: floats to integers by truncation, to bool by "not zero", to halves by way of f32. */
static void put_cast(struct strbuf *sb, const struct loop_ins *i)
{
	const bool from_float = dtype_is_float(i->from);
	const bool u64 = i->from == DT_U64; /* its sign is a bit */
	if (i->dtype == DT_B8)
		sb_printf(sb, "r%d != 0", i->a);
	else if (!dtype_is_float(i->dtype) && from_float)
		sb_printf(sb, "%sfloat_truncate(r%d, %d))", to_cell(i->dtype), i->a, float_truncates_into(i->dtype));
	else if (!dtype_is_float(i->dtype))
		sb_printf(sb, "%sr%d)", to_cell(i->dtype), i->a);
	else if (i->dtype == DT_F64)
		sb_printf(sb, u64 ? "f64_of_u64(r%d)" : "(double)r%d", i->a);
	else
		sb_printf(sb, u64 ? "%s%sf32_of_u64(r%d)))" : "%s%s(float)r%d))", from_cell(i->dtype), to_cell(i->dtype), i->a);
}

static void put_pack(struct strbuf *sb, const struct loop_ins *i)
{
	if (i->dtype == DT_F32)
		sb_printf(sb, "f32_bits(r%d)", i->a);
	else if (i->dtype == DT_F64)
		sb_printf(sb, "f64_bits(r%d)", i->a);
	else
		sb_printf(sb, "(u64)(%s)%sr%d)", emit_cell_type(i->dtype, true), to_cell(i->dtype), i->a);
}

static void put_unpack(struct strbuf *sb, const struct loop_ins *i)
{
	if (i->dtype == DT_F32)
		sb_printf(sb, "bits_f32((u32)r%d)", i->a);
	else if (i->dtype == DT_F64)
		sb_printf(sb, "bits_f64(r%d)", i->a);
	else
		sb_printf(sb, "%s(%s)r%d)", from_cell(i->dtype), emit_cell_type(i->dtype, false), i->a);
}

static void put_operand(struct strbuf *sb, int reg)
{
	if (reg == NO_REG)
		sb_puts(sb, "0");
	else
		sb_printf(sb, "r%d", reg);
}

static void put_row(struct strbuf *sb, const struct loop_ins *i)
{
	sb_printf(sb, "row_%s_%s(", row_id[i->row], suffix[i->type]);
	for (int k = 0; k < 3; k++) {
		put_operand(sb, k == 0 ? i->a : k == 1 ? i->b : i->c);
		sb_puts(sb, ", ");
	}
	sb_printf(sb, "CONSTS(%s){", suffix[i->type]);
	for (int k = 0; k < ROW_NUMBERS; k++) {
		put_operand(sb, i->scalar[k]);
		sb_puts(sb, ", ");
	}
	sb_printf(sb, "%d, %d, (enum dtype)%d})", i->scalar[0] != NO_REG, i->scalar[1] != NO_REG, (int)i->dtype);
}

static void put_divided(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	if (i->op == LOOP_MOD) {
		sb_printf(sb, "r%d - ", i->a);
		emit_number(sb, l, i->number_of, i->imm);
		sb_puts(sb, " * ");
	}
	sb_printf(sb, "div_floor(r%d, ", i->a);
	emit_number(sb, l, i->number_of, i->imm);
	sb_puts(sb, ")");
}

static void put_value(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	switch (i->op) {
	case LOOP_CONST:
		if (i->number_of) {
			sb_printf(sb, "(%s)", c_type[i->type]);
			emit_number(sb, l, i->number_of, 0);
		} else {
			put_const(sb, i->type, i->value);
		}
		return;
	case LOOP_INDEX: put_affine(sb, l, i->at); return;
	case LOOP_LOAD: {
		const enum dtype t = l->buffer[i->buffer].dtype;
		const bool bits = i->type == REG_BITS;
		sb_printf(sb, "%s((%s *)b%d)[", bits ? "(" : from_cell(t), emit_cell_type(t, bits), i->buffer);
		put_affine(sb, l, i->at);
		sb_puts(sb, "])");
		return;
	}
	case LOOP_ROW: put_row(sb, i); return;
	case LOOP_AS: sb_printf(sb, "(%s)r%d", c_type[i->type], i->a); return;
	case LOOP_ROUND: sb_printf(sb, "%s%sr%d))", from_cell(i->dtype), to_cell(i->dtype), i->a); return;
	case LOOP_CAST: put_cast(sb, i); return;
	case LOOP_PACK: put_pack(sb, i); return;
	case LOOP_UNPACK: put_unpack(sb, i); return;
	case LOOP_DIV:
	case LOOP_MOD: put_divided(sb, l, i); return;
	case LOOP_SELECT: sb_printf(sb, "r%d ? r%d : r%d", i->a, i->b, i->c); return;
	case LOOP_VAR:
	case LOOP_SET: sb_printf(sb, "r%d", i->a); return;
	default: BUG("instruction %d has no value", (int)i->op);
	}
}

/* ---- statements ---- */

static void put_store(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	const enum dtype t = l->buffer[i->buffer].dtype;
	const bool bits = l->reg[i->a] == REG_BITS;
	sb_printf(sb, "((%s *)b%d)[", emit_cell_type(t, bits), i->buffer);
	put_affine(sb, l, i->at);
	if (bits)
		sb_printf(sb, "] = (%s)r%d;\n", emit_cell_type(t, true), i->a);
	else
		sb_printf(sb, "] = %sr%d);\n", to_cell(t), i->a);
}

/* The call says what is wrong. */
static void put_bound(struct strbuf *sb, const struct loops *l, int at)
{
	const struct loop_ins *i = &l->ins[at];
	sb_printf(sb, "r%d = r%d;\n", i->dst, i->a);
	if (i->negative) {
		sb_printf(sb, "if (r%d < 0) r%d += ", i->dst, i->dst);
		emit_number(sb, l, i->number_of, i->imm);
		sb_puts(sb, ";\n");
	}
	sb_printf(sb, "if (r%d < 0 || r%d >= ", i->dst, i->dst);
	emit_number(sb, l, i->number_of, i->imm);
	sb_printf(sb, ") { loop_bound(frame, %d, r%d, &r%d); return 0; }\n", at, i->a, i->dst);
}

/* The call says what is wrong, or binds a symbol. */
static void put_stated(struct strbuf *sb, const struct loops *l, int at)
{
	const struct loop_ins *i = &l->ins[at];
	if (loops_binds(l, at) >= 0) {
		sb_printf(sb, "if (!loop_stated(frame, %d, r%d)) return 0;\n", at, i->a);
		return;
	}
	sb_printf(sb, "if (r%d != ", i->a);
	emit_number(sb, l, i->number_of, i->imm);
	sb_printf(sb, ") { loop_stated(frame, %d, r%d); return 0; }\n", at, i->a);
}

void emit_past_tile(struct strbuf *sb, const struct loop_ins *loop)
{
	if (loop->imm % loop->imm2 == 0) /* compilers see how many iterations there are */
		sb_printf(sb, "r%d + %" PRId64, loop->a, loop->imm2);
	else
		sb_printf(
			sb, "(r%d < %" PRId64 " ? r%d + %" PRId64 " : %" PRId64 ")", loop->a, loop->imm - loop->imm2, loop->a, loop->imm2, loop->imm);
}

static void put_for(struct strbuf *sb, const struct loops *l, const struct loop_ins *i)
{
	if (i->a == NO_REG) {
		sb_printf(sb, "for (r%d = 0; r%d < ", i->dst, i->dst);
		emit_number(sb, l, i->number_of, i->imm);
		sb_printf(sb, "; r%d += %" PRId64 ") {\n", i->dst, MAX(i->imm2, 1));
		return;
	}
	sb_printf(sb, "for (r%d = r%d; r%d < ", i->dst, i->a, i->dst);
	emit_past_tile(sb, i);
	sb_printf(sb, "; r%d++) {\n", i->dst);
}

void emit_statement(struct strbuf *sb, const struct loops *l, int at)
{
	const struct loop_ins *i = &l->ins[at];
	switch (i->op) {
	case LOOP_FOR: put_for(sb, l, i); return;
	case LOOP_IF: sb_printf(sb, "if (r%d) {\n", i->a); return;
	case LOOP_ELSE: sb_puts(sb, "} else {\n"); return;
	case LOOP_END: sb_puts(sb, "}\n"); return;
	case LOOP_STORE: put_store(sb, l, i); return;
	case LOOP_EXTERN: sb_printf(sb, "if (!loop_call(frame, %d)) return 0;\n", at); return;
	case LOOP_BOUND: put_bound(sb, l, at); return;
	case LOOP_STATED: put_stated(sb, l, at); return;
	default:
		sb_printf(sb, "r%d = ", i->dst);
		put_value(sb, l, i);
		sb_puts(sb, ";\n");
	}
}

/* ---- sums in lanes ---- */

/* A summed loop (schedule.h) has several accumulators, so that the additions need not wait for each other, and a C compiler can make
 * vectors of them. Long ones have so many that it takes the lanes for a loop, and does not unroll them first, which hides the vectors. */
enum { LANES = 8, MANY_LANES = 32, MOST_LANE_SUMS = 8 };

struct lanes {
	int outer, inner; /* instructions: the summed loop, and the innermost of its chain, which is walked nlane at a time */
	int nlane;
	int nsum, sum[MOST_LANE_SUMS];
};

/* Is ins such a loop? One that only adds, whose innermost holds no loop, is long enough, and walks neighbouring cells. */
static bool has_lanes(struct lanes *s, const struct loops *l, int ins)
{
	int chain[MAX_LOOP_DEPTH];
	int64_t iterations;
	if (l->ins[ins].op != LOOP_FOR || !l->ins[ins].summed)
		return false;
	s->outer = ins;
	s->inner = chain[loops_sum_chain(chain, &iterations, l, ins) - 1];
	s->nsum = loops_sums(s->sum, MOST_LANE_SUMS, l, ins);
	s->nlane = l->ins[s->inner].imm >= 2 * MANY_LANES ? MANY_LANES : LANES;
	for (int i = s->inner + 1; i < l->ins[s->inner].match; i++)
		if (l->ins[i].op == LOOP_FOR)
			return false;
	for (int k = 0; k < s->nsum; k++)
		if (loops_fold(l, ins, s->sum[k]) != FOLD_SUM)
			return false;
	return s->nsum < MOST_LANE_SUMS && loops_walk_neighbours(l, s->inner) && l->ins[s->inner].imm >= 2 * LANES;
}

static void put_lane_body(struct strbuf *sb, const struct loops *l, const struct lanes *s, const char *lane)
{
	for (int k = 0; k < s->nsum; k++)
		sb_printf(sb, "r%d = lane%d[%s];\n", s->sum[k], s->sum[k], lane);
	for (int i = s->inner + 1; i < l->ins[s->inner].match; i++)
		emit_statement(sb, l, i);
	for (int k = 0; k < s->nsum; k++)
		sb_printf(sb, "lane%d[%s] = r%d;\n", s->sum[k], lane, s->sum[k]);
	sb_puts(sb, "}\n");
}

static void put_lane_sum(struct strbuf *sb, int sum, int lane, enum reg_type t)
{
	if (lane == 0)
		sb_printf(sb, "r%d = lane%d[0];\n", sum, sum);
	else if (t == REG_F64)
		sb_printf(sb, "r%d += lane%d[%d];\n", sum, sum, lane);
	else
		sb_printf(sb, "r%d = wrap_add(r%d, lane%d[%d]);\n", sum, sum, sum, lane);
}

/* The loop from its head to its END. x + -0.0 is x, for -0, too. */
static void put_lanes(struct strbuf *sb, const struct loops *l, const struct lanes *s)
{
	const struct loop_ins *inner = &l->ins[s->inner];
	sb_puts(sb, "{\nconst i64 all = ");
	emit_number(sb, l, inner->number_of, inner->imm);
	sb_printf(sb, ", whole = all - all %% %d;\n", s->nlane);
	for (int k = 0; k < s->nsum; k++) {
		const enum reg_type t = l->reg[s->sum[k]];
		sb_printf(sb, "%s lane%d[%d] = {r%d", c_type[t], s->sum[k], s->nlane, s->sum[k]);
		for (int i = 1; i < s->nlane; i++)
			sb_puts(sb, t == REG_F64 ? ", -0.0" : ", 0");
		sb_puts(sb, "};\n");
	}
	for (int i = s->outer; i < s->inner; i++)
		emit_statement(sb, l, i);
	sb_printf(sb, "for (i64 step = 0; step < whole; step += %d)\nfor (int lane = 0; lane < %d; lane++) {\nr%d = step + lane;\n", s->nlane,
		s->nlane, inner->dst);
	put_lane_body(sb, l, s, "lane");
	sb_printf(sb, "for (r%d = whole; r%d < all; r%d++) {\n", inner->dst, inner->dst, inner->dst);
	put_lane_body(sb, l, s, "0");
	for (int i = s->outer; i < s->inner; i++)
		sb_puts(sb, "}\n");
	for (int k = 0; k < s->nsum; k++)
		for (int i = 0; i < s->nlane; i++)
			put_lane_sum(sb, s->sum[k], i, l->reg[s->sum[k]]);
	sb_puts(sb, "}\n");
}

void emit_register(struct strbuf *sb, const struct loops *l, int r) { sb_printf(sb, "%s r%d;\n", c_type[l->reg[r]], r); }

static bool has_local(const struct loops *l, int begin, int end, int b) { return l->buffer[b].local && loops_touch(l, begin, end, b); }

/* Instructions of one nest, or one that is in none. */
static void put_item(struct strbuf *sb, const struct loops *l, int begin, int end)
{
	sb_puts(sb, "{\n");
	for (int b = 0; b < l->nbuffer; b++)
		if (has_local(l, begin, end, b))
			sb_printf(sb, "%s b%d[%" PRId64 "];\n", emit_cell_type(l->buffer[b].dtype, true), b, l->buffer[b].ncells);
	for (int i = begin; i < end; i++) {
		struct lanes s;
		if (has_lanes(&s, l, i)) {
			put_lanes(sb, l, &s);
			i = l->ins[i].match;
		} else {
			emit_statement(sb, l, i);
		}
	}
	sb_puts(sb, "}\n");
}

/* What calls back: behind it memory and symbols may be other ones. */
static bool calls_back(const struct loops *l, int at) { return l->ins[at].op == LOOP_EXTERN || loops_binds(l, at) >= 0; }

/* From instruction `at` to the next that calls back, or that; returns what follows. No two buffers share memory, and until then nobody else
 * touches them. */
static int put_stretch(struct strbuf *sb, const struct loops *l, int at)
{
	int end = at;
	if (calls_back(l, at)) {
		emit_statement(sb, l, at);
		return at + 1;
	}
	while (end < l->nins && !calls_back(l, end))
		end++;
	sb_puts(sb, "{\n");
	for (int k = 0; k < l->nsymbol; k++)
		if (loops_symbols_of(l, at, end) & 1u << k)
			sb_printf(sb, "const i64 s%d = s[%d];\n", k, k);
	for (int b = 0; b < l->nbuffer; b++)
		if (!l->buffer[b].local && loops_touch(l, at, end, b))
			sb_printf(sb, "unsigned char *restrict const b%d = b[%d];\n", b, b);
	for (int i = at, next; i < end; i = next) {
		next = loops_end_of(l, i);
		put_item(sb, l, i, next);
	}
	sb_puts(sb, "}\n");
	return end;
}

void loops_emit_body(struct strbuf *sb, const struct loops *l)
{
	for (int r = 0; r < l->nreg; r++)
		emit_register(sb, l, r);
	for (int i = 0; i < l->nins; i = put_stretch(sb, l, i))
		;
	sb_puts(sb, "return 1;\n");
}

static void put_function(struct strbuf *sb, const struct loops *l, const char *name)
{
	sb_printf(sb, "bool %s(void *frame, unsigned char *const *b, const i64 *s)\n{\n", name);
	loops_emit_body(sb, l);
	sb_puts(sb, "}\n");
}

static void put_head(struct strbuf *sb, bool alone)
{
	sb_puts(sb, c_words);
	sb_puts(sb, emit_types);
	if (alone)
		put_runtime(sb);
	else
		sb_puts(sb, prototypes);
}

void loops_emit_c(struct strbuf *sb, const struct loops *l, bool alone)
{
	put_head(sb, alone);
	emit_rows(sb, &l, 1);
	put_function(sb, l, "run");
}

void loops_emit_c_all(struct strbuf *sb, const struct loops *const *l, const char *const *name, int n)
{
	put_head(sb, true);
	emit_rows(sb, l, n);
	for (int i = 0; i < n; i++)
		put_function(sb, l[i], name[i]);
}
