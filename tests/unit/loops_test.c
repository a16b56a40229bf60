/* loops_test.c: loop programs: every instruction means the same to the interpreter and to generated code, text is read back as it was
 * printed, what makes no sense is refused at its place, and programs become the loops that fusion promises. */
#include "compiled/compile.h"
#include "compiled/loops/emit_c.h"
#include "compiled/loops/jit.h"
#include "compiled/loops/lower.h"
#include "tests/unit/program.h"

static struct loops *loops(const char *text)
{
	struct loops *l = ARENA_NEW(&arena, struct loops, 1);
	struct err err = {0};
	bool ok = loops_read(l, &arena, text, &err);
	EXPECT(ok, "%s\n%d:%d: %s", text, err.line, err.col, err.msg);
	return l;
}

/* ---- instructions ---- */

enum { CELLS = 16 };

/* Buffers full of 7s, whose first input is given. */
static unsigned char **buffers(const struct loops *l, const void *input, size_t nbytes)
{
	unsigned char **data = ARENA_NEW(&arena, unsigned char *, l->nbuffer);
	for (int b = 0; b < l->nbuffer; b++) {
		data[b] = arena_alloc(&arena, CELLS * 8);
		memset(data[b], 7, CELLS * 8);
	}
	memcpy(data[0], input, nbytes);
	return data;
}

static bool run(const struct loops *l, unsigned char **data, bool jit, struct err *err)
{
	struct arena scratch;
	struct loop_frame f = {.callbacks = &loop_callbacks, .data = data, .loops = l, .scratch = &scratch, .err = err};
	struct jit *j = jit ? jit_open(l, err) : NULL;
	EXPECT(!jit || j, "%s", err->msg);
	arena_init(&scratch);
	const bool ok = j ? jit_run(&f, j) : loops_interpret(&f, NULL);
	arena_free(&scratch);
	jit_close(j);
	return ok;
}

/* Of dtype `to`: what body leaves in b1 for each of the n inputs of dtype `from`, r1 being the input. */
static void computes(const char *from, const char *to, const char *body, const void *in, size_t nin, const void *want, size_t nwant)
{
	enum dtype a, b;
	CHECK(dtype_find(&a, from) && dtype_find(&b, to));
	const int n = (int)nin / dtype_nbytes(a);
	EXPECT_INT(nwant, n * dtype_nbytes(b));
	const char *text = arena_printf(&arena,
		"loops 1\nb0: %s[%d] = input 0\nb1: %s[%d]\nfor r0 < %d\nr1: %s = load b0[r0]\n%s\nstore b1[r0] = r2\nend\nreturn b1 %s[%d][1]+0\n",
		from, CELLS, to, CELLS, n, reg_type_name[reg_type_of(a)], body, to, n);
	const struct loops *l = loops(text);
	for (int jit = 0; jit < 2; jit++) {
		struct err err = {0};
		unsigned char **data = buffers(l, in, nin);
		EXPECT(run(l, data, jit, &err), "%s", err.msg);
		EXPECT(memcmp(data[1], want, nwant) == 0, "%s: %s", jit ? "jit" : "interpreter", text);
		EXPECT_INT(data[1][nwant], 7);
	}
}
#define COMPUTES(from, to, body, in, want) computes(from, to, body, in, sizeof in, want, sizeof want)

/* A loop that adds one to a cell three times; as threads that see nothing of each other, once. A thread sees its own stores. */
static void test_threads(void)
{
	static const char text[] = "loops 1\nb0: i64[16] = input 0\nb1: i64[16]\nr8: i64 = const 0\nstore b1[0] = r8\nr9: i64 = const 1\n"
							   "for r0 < 3%s\nr1: i64 = load b1[0]\nr2: i64 = add.Tensor i64(r1, r9; r9)\nstore b1[0] = r2\n"
							   "r3: i64 = load b1[0]\nstore b1[r0 + 1] = r3\nend\nreturn b1 i64[16][1]+0\n";
	for (int parallel = 0; parallel < 2; parallel++) {
		struct err err = {0};
		const struct loops *l = loops(parallel ? arena_printf(&arena, text, " parallel") : arena_printf(&arena, text, ""));
		unsigned char **data = buffers(l, &(int64_t){0}, 8);
		const int64_t want[2][4] = {{3, 1, 2, 3}, {1, 1, 1, 1}};
		EXPECT(run(l, data, false, &err), "%s", err.msg);
		EXPECT(memcmp(data[1], want[parallel], sizeof want[0]) == 0, "%s: %d", parallel ? "parallel" : "in order", data[1][0]);
	}
}

static void test_integers(void)
{
	static const int64_t in[] = {7, -7, 0, INT64_MIN, INT64_MAX};
	COMPUTES("i64", "i64", "r2: i64 = div r1 4", in, ((const int64_t[]){1, -2, 0, INT64_MIN / 4, INT64_MAX / 4}));
	COMPUTES("i64", "i64", "r2: i64 = mod r1 4", in, ((const int64_t[]){3, 1, 0, 0, 3}));
	COMPUTES("i64", "i64", "r2: i64 = add.Tensor i64(r1, r1; r1)", in, ((const int64_t[]){56, 42, 0, INT64_MIN, INT64_MIN}));
	COMPUTES("i64", "i64", "r2: i64 = index r0*10 + r1*2 + 3", ((const int64_t[]){7, -7, 0}), ((const int64_t[]){17, -1, 23}));
	COMPUTES("i64", "i8", "r2: i64 = rounded i8 r1", in, ((const int8_t[]){7, -7, 0, 0, -1}));
	COMPUTES("i64", "b8", "r2: i64 = cast b8 from i64 r1", in, ((const uint8_t[]){1, 1, 0, 1, 1}));
	COMPUTES("i64", "f32", "r2: f32 = cast f32 from i64 r1", in, ((const float[]){7, -7, 0, -0x1p63f, 0x1p63f}));
	COMPUTES("i64", "f64", "r2: f64 = as r1", in, ((const double[]){7, -7, 0, -0x1p63, 0x1p63}));
	COMPUTES("i64", "b8", "r2: i64 = lt.Scalar i64(r1; r0)", in, ((const uint8_t[]){0, 1, 1, 1, 0}));
}

static void test_floats(void)
{
	static const float in[] = {1.5f, -0.0f, 65520.0f, -3.9f};
	static const uint16_t halves[] = {0x3e00, 0x8000, 0x7bff, 0x0001}; /* 1.5, -0, 65504, the smallest */
	COMPUTES("f32", "f16", "r2: f32 = var r1", in, ((const uint16_t[]){0x3e00, 0x8000, 0x7c00, 0xc3cd}));
	COMPUTES("f32", "f64", "r3: f32 = rounded bf16 r1\nr2: f64 = as r3", in, ((const double[]){1.5, -0.0, 65536, -3.90625}));
	COMPUTES("f32", "i32", "r2: i64 = cast i32 from f32 r1", in, ((const int32_t[]){1, 0, 65520, -3}));
	COMPUTES("f32", "f32", "r3: f32 = const 0.1\nr2: f32 = mul.Tensor f32(r1, r3)", in,
		((const float[]){1.5f * 0.1f, -0.0f, 65520.0f * 0.1f, -3.9f * 0.1f}));
	COMPUTES("f16", "f16", "r3: bits = pack f16 r1\nr2: f32 = unpack f16 r3", halves, halves);
	COMPUTES("f32", "f32", "r3: bits = pack f32 r1\nr4: bits = const 1\nr5: i64 = mod r0 2\nr2: bits = choose r5 r3 r4", in,
		((const uint32_t[]){1, 0x80000000, 1, 0xc079999a}));
	COMPUTES("f32", "f32", "r3: f32 = const nan(0x7ff80b4b40000000)\nr2: f32 = maximum f32(r1, r3)", ((const float[]){1}),
		((const uint32_t[]){0x7fc05a5a}));
}

static void test_blocks(void)
{
	static const int64_t in[] = {3, 4, 0, 1};
	COMPUTES("i64", "i64",
		"r2: i64 = var r1\nr3: i64 = mod r1 2\nif r3\nr4: i64 = const 100\nr2 := r4\nelse\nr5: i64 = const 200\nr2 := r5\nend", in,
		((const int64_t[]){100, 200, 200, 100}));
	COMPUTES("i64", "i64",
		"r2: i64 = var r0\nfor r3 < 5\nr4: i64 = lt.Scalar i64(r3; r1)\nif r4\n"
		"r5: i64 = const 1\nr6: i64 = add.Tensor i64(r2, r3; r5)\nr2 := r6\nend\nend",
		in, ((const int64_t[]){3, 7, 2, 3}));
	COMPUTES("i64", "i64", "r2: i64 = var r1\nfor r3 < 0\nr2 := r0\nend", in, in);
}

static void test_bounds(void)
{
	static const struct {
		const char *how;
		int64_t v, want;
	} cases[] = {
		{"", 2, 2}, {"", 3, -1}, {"", -1, -1}, {" wrapping", -1, 2}, {" wrapping", -3, 0}, {" wrapping", -4, -1}, {" wrapping", 3, -1}};
	for (int c = 0; c < ARRAY_LEN(cases); c++)
		for (int jit = 0; jit < 2; jit++) {
			struct err err = {0};
			const struct loops *l = loops(arena_printf(&arena,
				"loops 1\nb0: i64[1] = input 0\nb1: i64[1]\nr0: i64 = load b0[0]\nr1: i64 = bound r0 of 3 dim 1%s\n"
				"store b1[0] = r1\nreturn b1 i64[][]+0\n",
				cases[c].how));
			unsigned char **data = buffers(l, &cases[c].v, sizeof cases[c].v);
			EXPECT(run(l, data, jit, &err) == (cases[c].want >= 0), "%" PRId64 "%s: %s", cases[c].v, cases[c].how, err.msg);
			if (cases[c].want >= 0)
				EXPECT_INT(get_le(data[1], 8), cases[c].want);
			else
				EXPECT_STR(err.msg, arena_printf(&arena, "index %" PRId64 " is out of bounds for dimension 1 with size 3", cases[c].v));
		}
}

/* ---- text ---- */

static void refused(const char *body, int line, const char *want)
{
	struct loops l;
	struct err err = {0};
	const char *text = arena_printf(&arena, "loops 1\nb0: f32[4]\n%s", body);
	EXPECT(!loops_read(&l, &arena, text, &err), "%s was read", text);
	EXPECT(strstr(err.msg, want) && err.line == line, "%s\n%d: %s, want %d: %s", text, err.line, err.msg, line, want);
}

static void test_refused(void)
{
	refused("r0: f32 = load b1[0]\n", 3, "there is no buffer b1");
	refused("r0: f64 = load b0[0]\n", 3, "b0 holds f32");
	refused("r0: f32 = load b0[r1]\n", 3, "r1 has no value yet");
	refused("r0: f32 = load b0[0]\nr0: f32 = load b0[0]\n", 4, "r0 has a value already");
	refused("r0: f32 = load b0[0]\nr1: f32 = load b0[r0]\n", 4, "expected a register of type i64");
	refused("r0: i64 = const 1.5\n", 3, "expected an integer");
	refused("r0: f32 = const one\n", 3, "'one' is not a number");
	refused("r0: f32 = load b0[0]\nr1: f64 = add.Tensor f64(r0, r0; r0)\n", 4, "an operand of add.Tensor in f64 is of type f32");
	refused("r0: f32 = load b0[0]\nr1: f32 = sum f32(r0)\n", 4, "'sum' is no instruction and no pointwise operator");
	refused("for r0 < 3\n", 4, "1 blocks are open at the end");
	refused("return b0 f32[4][1]+0\nend\n", 4, "something behind return");
	refused("for r0 < -1\nend\n", 3, "-1 times");
	refused("for r0 < 99999999999999999999\nend\n", 3, "this integer is too large");
	refused("for r0 < 3\nr0 := r0\nend\n", 4, "r0 is no var");
	refused("r0: f32 = load b0[0]\nr1: f32 = mul.Tensor f32(_, r0)\n", 4, "mul.Tensor of nothing");
	refused("b1: f32[1] = input 0\nb2: f32[1] = input 0\n", 4, "input 0 is b1 already");
	refused("b1: f32[1] = input -3\n", 3, "there is no input -3");
	refused("r0: f32 = load b0[0]\n", 4, "no return");
	refused("end\n", 3, "nothing is open that could end");
	refused("else\n", 3, "else without an if");
	refused("for r0 < 3\nr1: i64 = div r0 0\nend\n", 4, "expected an integer above 1");
	refused("b2: f32[1]\n", 3, "expected buffer b1");
	refused("b1: f33[1]\n", 3, "'f33' is no dtype");
	refused("r0: f32 = load b0[0] b0\n", 3, "more than one instruction");
	refused("return b0 f32[2, 2][1]+0\n", 3, "2 sizes, but 1 strides");
}

/* ---- programs ---- */

static struct loops *lowered(const char *text, bool no_fusion)
{
	struct compiled c;
	struct err err = {0};
	struct loops *l = ARENA_NEW(&arena, struct loops, 1);
	const struct compile_options o = {.stage = compile_nstages() - 1, .to_code = true};
	EXPECT(compile(&c, program(text), &o, &arena, &err) == COMPILE_OK, "%s", err.msg);
	EXPECT(lower(l, &c.part[0].p, &(struct lower_options){.no_fusion = no_fusion}, &arena, &err), "%s", err.msg);
	return l;
}

static int count(const struct loops *l, enum loop_op op)
{
	int n = 0;
	for (int i = 0; i < l->nins; i++)
		n += l->ins[i].op == op;
	return n;
}

#define HEAD "# scatterproof 1\nx = input([3, 4], seed=1)\ny = input([4], seed=2)\n"

static void fuses(const char *rows, int stores)
{
	const char *text = arena_printf(&arena, HEAD "%s", rows);
	EXPECT(
		count(lowered(text, false), LOOP_STORE) == stores, "%s: %d nests, want %d", rows, count(lowered(text, false), LOOP_STORE), stores);
}

static void test_fusion(void)
{
	fuses("a = exp(x)\nb = mul.Tensor(a, y)\nc = neg(b)\nreturn (c,)\n", 1);
	fuses("a = exp(x)\nb = t(a)\nc = neg(b)\nreturn (c,)\n", 1);                        /* through a view */
	fuses("a = exp(x)\nb = view(a, [2, 6])\nc = neg(b)\nreturn (c,)\n", 1);             /* whose index is divided */
	fuses("a = exp(x)\nb = neg(a)\nc = sin(a)\nreturn (b, c)\n", 3);                    /* two readers: in memory */
	fuses("a = exp(x)\nb = neg(a)\nreturn (a, b)\n", 2);                                /* a result */
	fuses("a = exp(x)\nw = mul_.Tensor(x, 2)\nb = add.Tensor(a, w)\nreturn (b,)\n", 3); /* the epilogue writes x: b reads it before */
	const char *chain = HEAD "a = exp(x)\nb = mul.Tensor(a, y)\nc = neg(b)\nreturn (c,)\n";
	EXPECT_INT(count(lowered(chain, true), LOOP_STORE), 3);
}

/* Two sorts in a row, by kernels: what the second one needs lies where what the first needed was. */
static void test_reuse(void)
{
	const struct prog *p =
		program(HEAD "a = neg(x)\nb = sort(a)\nc = getitem(b, 0)\nd = neg(c)\ne = sort(d)\nf = getitem(e, 0)\nreturn (f,)\n");
	struct loops all, shared;
	bool planted;
	struct err err = {0};
	EXPECT(code_loops(&all, &planted, p, &(struct code_options){.no_reuse = true}, NULL, &arena, &err), "%s", err.msg);
	EXPECT(code_loops(&shared, &planted, p, &(struct code_options){0}, NULL, &arena, &err), "%s", err.msg);
	EXPECT_INT(all.nbuffer, 8);    /* x, y, a, b's and e's two each, d */
	EXPECT_INT(shared.nbuffer, 5); /* d lies where a was, the results of e where those of b were */
	EXPECT(shared.ret[0].buffer >= 2, "a result lies in input %d", shared.ret[0].buffer);
	for (int i = 0; i < shared.nins; i++)
		if (shared.ins[i].call)
			for (int k = 0; k < shared.ins[i].call->nout; k++)
				EXPECT(shared.ins[i].call->out[k].buffer != shared.ins[i].call->in[0].buffer, "a sort into its operand");
}

static void test_round_trip(void)
{
	static const char *const programs[] = {
		HEAD "a = exp(x)\nb = view(a, [2, 6])\nc = sum(b)\nreturn (b, c)\n",
		HEAD "m = gt.Scalar(x, 0.1)\na = where.self(m, x, y)\nb = tril(a)\nc = _to_copy(b, dtype=bf16)\n"
			 "d = sort(c)\ne = getitem(d, 0)\nreturn (e, m)\n",
		HEAD "e = expand(y, [3, 4])\na = add_.Tensor(x, e, alpha=2)\nf = full([2], nan, dtype=f16)\n"
			 "g = cat([f, f])\nh = clamp(g, max=1)\nreturn (a, h)\n",
	};
	for (int k = 0; k < ARRAY_LEN(programs); k++) {
		struct strbuf once, twice;
		sb_init(&once);
		sb_init(&twice);
		loops_print(&once, lowered(programs[k], k == 2));
		loops_print(&twice, loops(once.s));
		EXPECT_STR(twice.s, once.s);
		sb_free(&once);
		sb_free(&twice);
	}
}

int main(void)
{
	arena_init(&arena);
	RUN(test_threads);
	RUN(test_integers);
	RUN(test_floats);
	RUN(test_blocks);
	RUN(test_bounds);
	RUN(test_refused);
	RUN(test_fusion);
	RUN(test_reuse);
	RUN(test_round_trip);
	arena_free(&arena);
	return TEST_END();
}
