/* loops.h: the loop IR, what the built-in compiler makes of a program before it becomes code: a flat list of instructions over registers
 * and buffers, in which `for` and `if` open blocks that `end` closes. Registers are assigned once, but for a `var`, which `:=` sets again.
 *
 *   loops 1
 *   b0: f32[12] = input 0                        buffers: dtype and cells; the program's input storages come first
 *   b1: f32[12]
 *   for r0 < 3                                   r0 is the loop variable, 0, 1, 2
 *     for r1 < 4
 *       r2: f32 = load b0[r0*4 + r1]             an index is a constant and multiples of i64 registers, in cells
 *       r3: f32 = mul.Tensor f32(r2, r2)         a POINTWISE row of the op table on one element, computed in that dtype's type
 *       store b1[r0*4 + r1] = r3                 rounds to the buffer's dtype
 *     end
 *   end
 *   return b1 f32[3, 4][4, 1]+0                  the results: dtype, sizes, strides, offset; `return kept …`: results_stay
 *
 * Loops of any size: SYMBOLS are sizes that each call gives. They are bound at the head, and numbers may be polynomials over them (poly.h):
 *
 *   s0 = size 0 of input 1, 6                    the first size of the program's second input; 6: in the call that was compiled
 *   s1 = argument 0, 4                           the program's first `sym` row
 *   guard s0 > 4                                 for which sizes the loops mean the program
 *   guard s1 mod 2 = 0
 *   b0: f32[s0*4] = input 0 uses s0              uses: the symbols of its cells and of every index and place that touches it
 *   for r0 < s0
 *     r2: f32 = load b0[r0*4 + s1]               numbers that are more than a symbol stand in parentheses: r0*(s0*4)
 *
 * A symbol may be of DATA: no caller knows it, the instruction `stated` binds it to what has been counted.
 *
 *   s2 = data of argument 1, 9                   the program states it in its second `sym` row
 *   guard s2 > 1                                 of data: looked at when the symbol is bound
 *   r7: i64 = var r6
 *   ...                                          loops that count in r7
 *   stated r7 = s2                               from here on there are s2 and the buffers whose cells it counts
 *
 * Every number also has its value in the call that was compiled, so that whoever looks at one size sees plain loops; loops_at (symbols.h)
 * makes those of another call.
 *
 * A loop may be cut into tiles (reorder.h), and memory may be each tile's own:
 *
 *   b2: f32[16] local                            of one nest, whose every tile may have its own; holds nothing when a tile begins
 *   for r4 < 10 by 4                             over tiles: r4 is 0, 4, 8
 *     for r5 < 10 in r4 + 4                      within one: r5 is r4, r4 + 1, ... below r4 + 4 and below 10
 *
 * A register is of one of four types: i64 (also of integers and bool), f32 (also of f16 and bf16), f64, and `bits`, an element as it lies
 * in memory, for rows that move values unchanged. What has no nests yet is an `extern`, a row run by eager's kernel, as other compilers
 * call back into ATen. loops_print and loops_read (loops_text.c) are inverse. */
#ifndef SCATTERPROOF_LOOPS_H
#define SCATTERPROOF_LOOPS_H

#include "compiled/loops/poly.h"
#include "eager/lang/prog.h"
#include "eager/ops/pointwise.h"

enum reg_type { REG_I64, REG_F32, REG_F64, REG_BITS, NREGTYPES };
enum { NO_REG = -1, MAX_LOOP_DEPTH = 4 * MAX_RANK + 64 }; /* C compilers allow 127 blocks in one another */
extern const char *const reg_type_name[NREGTYPES];
enum reg_type reg_type_of(enum dtype t); /* in which its elements are computed with */

enum loop_op {
	LOOP_FOR,    /* dst: the loop variable, from 0, below imm; parallel, summed. imm2, where not 0, is a tile's length: the loop is over
	              * tiles, or, a: the variable of that loop, within one */
	LOOP_IF,     /* a: a condition, not 0; up to ELSE or END */
	LOOP_ELSE,   /* of the IF that is open */
	LOOP_END,    /* closes a FOR or IF */
	LOOP_CONST,  /* value */
	LOOP_INDEX,  /* the value of `at` */
	LOOP_LOAD,   /* the cell `at` of buffer, as type */
	LOOP_STORE,  /* a into the cell `at` of buffer; BITS as they are, others rounded to its dtype */
	LOOP_ROW,    /* a, b, c: the POINTWISE row `row` computed in dtype; scalar: registers of s and t, NO_REG: not given */
	LOOP_AS,     /* a as another type, as C converts it: i64, f32 or f64 to f32 or f64, i64 to f64 */
	LOOP_ROUND,  /* a as an element of dtype: rounded or wrapped; the type is dtype's */
	LOOP_CAST,   /* a, an element of `from`, converted to dtype as aten::copy_ does */
	LOOP_PACK,   /* a, an element of dtype, as BITS */
	LOOP_UNPACK, /* BITS of dtype as an element */
	LOOP_DIV,    /* a / imm towards -infinity, imm > 0 */
	LOOP_MOD,    /* what that leaves */
	LOOP_SELECT, /* a ? b : c */
	LOOP_VAR,    /* begins as a */
	LOOP_SET,    /* dst, a VAR, becomes a */
	LOOP_BOUND,  /* a, a position along dim imm2, which has imm of them; negative: such count from the end; outside: the program raises.
	              * imm2 may be one of enum bound_words instead */
	LOOP_STATED, /* a is imm, a number of elements that the program states (eager/lang/stated.h), or the program raises; outside of all
	              * blocks. Where imm is a symbol of data, this binds it: see below */
	LOOP_EXTERN, /* call: a row of the program is run by its kernel of eager */
	NLOOPOPS
};
/* In generated code; a kernel that is called may, too. */
static inline bool loop_may_raise(enum loop_op op) { return op == LOOP_BOUND || op == LOOP_STATED; }

/* Words of their own for a position outside: "index out of range in self"; "INDICES element is out of DATA bounds, ..."; the number of
 * source's element in masked_scatter; 1: an integer is divided by 0. */
enum bound_words { BOUND_IN_SELF = -1, BOUND_IN_DATA = -2, BOUND_SOURCE = -3, BOUND_DIVISOR = -4 };

/* The polynomials of a meta: entries of loops.poly; 0: the number that stands there. */
struct symbolic_meta {
	int size[MAX_RANK], stride[MAX_RANK], offset;
};

/* A tensor in memory: cells of a buffer in a layout. */
struct place {
	int buffer;
	struct meta meta;
	struct symbolic_meta of;
};
struct loop_call {
	int node;      /* of the program */
	int nin, nout; /* in: its Tensor operands in order, those of lists too; numbers and holes are not among them */
	struct place *in, *out;
};

struct affine_term {
	int reg; /* I64 */
	int64_t times;
	int times_of; /* entry of loops.poly; 0: the number */
};
struct affine {
	int64_t base;
	int n, base_of;
	struct affine_term term[2 * MAX_RANK];
};

struct loop_ins {
	enum loop_op op;
	enum reg_type type; /* of dst */
	int dst;            /* NO_REG: none */
	int a, b, c;
	int scalar[ROW_NUMBERS];
	int buffer;
	int row;
	enum dtype dtype, from;
	int64_t imm, imm2;
	int number_of; /* the polynomial that imm, or of CONST value, is; 0: the number */
	bool negative;
	bool parallel, summed;   /* FOR: its iterations may run in any order (schedule.h) */
	union computed value;    /* CONST; BITS in i64 */
	const struct affine *at; /* LOAD, STORE, INDEX */
	const struct loop_call *call;
	int match; /* FOR: its END; IF: its ELSE or END; ELSE: its END; END: its opener */
};

struct loop_buffer {
	enum dtype dtype;
	int64_t ncells;
	int input;     /* the program's input storage that it is; -1: made here */
	bool local;    /* a tile's own */
	int ncells_of; /* entry of loops.poly; 0: the number */
	unsigned uses; /* symbols: 1u << number */
};

struct size_symbol {
	bool bound;
	int64_t hint;   /* its value in the call that was compiled */
	int input, dim; /* a size of the input row of that number; -1: the `sym` row of number dim */
	bool data;      /* known when a LOOP_STATED has bound it; the `sym` row is what the program states */
};

/* p relation 0; GUARD_REST: p mod `by` is `rest`. */
enum guard_relation { GUARD_LESS, GUARD_LESS_EQUAL, GUARD_EQUAL, GUARD_NOT_EQUAL, GUARD_GREATER_EQUAL, GUARD_GREATER, GUARD_REST };
struct guard {
	enum guard_relation relation;
	struct poly p;
	int64_t by, rest;
};

struct loops {
	struct arena *arena;
	int nins, cap_ins, nbuffer, cap_buffer, nreg, cap_reg;
	struct loop_ins *ins;
	struct loop_buffer *buffer;
	int nret; /* what the program returns */
	struct place *ret;
	bool results_stay;  /* a planted defect's: each run reports its results in the memory of those of the run before */
	enum reg_type *reg; /* by register */
	int64_t *extent;    /* by register: it is in [0, extent), as a loop variable is; -1: not known */
	int depth, open[MAX_LOOP_DEPTH];
	int nsymbol; /* 0: of one size */
	struct size_symbol symbol[MAX_POLY_SYMBOLS];
	int npoly, cap_poly; /* entries 1 to npoly, no two the same */
	struct poly *poly;
	int nguard;
	struct guard *guard;
};

void loops_init(struct loops *l, struct arena *a);
static inline size_t loop_buffer_bytes(const struct loop_buffer *b) { return mul_size((size_t)b->ncells, (size_t)dtype_nbytes(b->dtype)); }
int loops_buffer(struct loops *l, enum dtype t, int64_t ncells, int input);

int loops_poly(struct loops *l, const struct poly *p); /* its entry; 0: p is a number */

/* ---- building: each appends one instruction; those that compute return its register ---- */
int loops_for(struct loops *l, int64_t n);
int loops_for_tiles(struct loops *l, int64_t n, int64_t tile);
int loops_for_within(struct loops *l, int64_t n, int tiles, int64_t tile); /* tiles: the variable of the loop over them */
void loops_if(struct loops *l, int condition);
void loops_else(struct loops *l);
void loops_end(struct loops *l);
int loops_int(struct loops *l, int64_t v);
int loops_const(struct loops *l, enum reg_type t, union computed v);
int loops_index(struct loops *l, const struct affine *at);
int loops_load(struct loops *l, enum reg_type as, int buffer, const struct affine *at); /* BITS, or the type of its dtype */
void loops_store(struct loops *l, int buffer, const struct affine *at, int value);
/* s, t: registers or NO_REG. */
int loops_row(struct loops *l, int row, enum dtype common, int a, int b, int c, int s, int t);
int loops_row_of(struct loops *l, int row, enum dtype common, const int operand[MAX_ELEMENTWISE], const int number[ROW_NUMBERS]);
/* Where the registers stand that an instruction reads; NO_REG in some. */
enum { INS_OPERANDS = MAX_ELEMENTWISE + ROW_NUMBERS };
void loop_operands(struct loop_ins *i, int *operand[INS_OPERANDS]);
int loops_as(struct loops *l, enum reg_type t, int a); /* nothing where a is of that type */
int loops_round(struct loops *l, enum dtype t, int a); /* nothing where all values of a's type are elements of it */
int loops_cast(struct loops *l, enum dtype to, enum dtype from, int a);
int loops_pack(struct loops *l, enum dtype t, int a);
int loops_unpack(struct loops *l, enum dtype t, int bits);
int loops_div(struct loops *l, int a, int64_t by);
int loops_mod(struct loops *l, int a, int64_t by);
int loops_select(struct loops *l, int condition, int a, int b);
int loops_var(struct loops *l, int a);
void loops_set(struct loops *l, int var, int a);
int loops_bound(struct loops *l, int a, int64_t size, int dim, bool negative);
void loops_stated(struct loops *l, int a, int64_t number);
void loops_extern(struct loops *l, const struct loop_call *call);
/* Appends instruction i of another program as it is. by: registers of that one by their names here; what i makes is named. */
void loops_copy(struct loops *l, const struct loops *from, const struct loop_ins *i, int *by);

/* ---- index arithmetic ---- */
struct affine affine_const(int64_t v);
struct affine affine_reg(int reg);
void affine_add(struct affine *to, const struct affine *a, int64_t times); /* to += a * times */
/* The values that it can take, where its registers' extents are known; false: others are among them. */
bool affine_range(int64_t *least, int64_t *greatest, const struct loops *l, const struct affine *a);

/* How many iterations a loop has that is not within a tile. */
int64_t loop_iterations(const struct loop_ins *loop);
int loops_end_of(const struct loops *l, int begin); /* behind the instruction, or the block, that begins there */
/* The registers that i reads; of SET also the one that it sets. */
void loops_each_operand(const struct loop_ins *i, void (*f)(void *ctx, int reg), void *ctx);
bool loops_touch(const struct loops *l, int begin, int end, int buffer); /* do instructions [begin, end) load or store it? */

void loops_print(struct strbuf *sb, const struct loops *l);
bool loops_read(struct loops *out, struct arena *a, const char *text, struct err *err);

#endif
