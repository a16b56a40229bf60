/* loops_move_test.c: rows that move elements, lowered, give the bits that eager gives, without a call of a kernel: alone,
 * with operands that are computed on the spot, read by another row and through a view, with fusion and without. And what the nests are. */
#include "compiled/loops/jit.h"
#include "compiled/loops/lower.h"
#include "eager/lang/fill.h"
#include "eager/run/interp.h"
#include "tests/unit/expanded.h"
#include "tests/unit/program.h"

#define HEAD "# scatterproof 1\n"

static void lowered(struct loops *out, const struct prog *p, bool no_fusion)
{
	struct err err = {0};
	const bool ok = lower(out, p, &(struct lower_options){.no_fusion = no_fusion}, &arena, &err);
	EXPECT(ok, "%s", err.msg);
	CHECK(ok);
}

static int count_of(const struct loops *l, enum loop_op op)
{
	int n = 0;
	for (int i = 0; i < l->nins; i++)
		n += l->ins[i].op == op;
	return n;
}

static int instructions(const char *text, enum loop_op op)
{
	struct loops l;
	lowered(&l, expanded(program(text), &arena), false);
	return count_of(&l, op);
}

static const char *text_of(const struct loops *l)
{
	struct strbuf sb;
	sb_init(&sb);
	loops_print(&sb, l);
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

static void run_as_eager(const struct loops *l, const struct prog *p, loop_engine *engine, void *ctx, const char *text)
{
	struct result want;
	struct result_call got = {0};
	struct err err = {0};
	EXPECT(interp_run(&want, p, &arena, NULL, &err) == INTERP_OK, "%s: %s", text, err.msg);
	const enum loop_end end = loops_run(&got, l, p, NULL, fill_storages(p, &arena), engine, ctx, &arena, &err);
	EXPECT((end == LOOPS_RAISED) == (want.status == RES_RAISED), "%s in:\n%s", end == LOOPS_RAISED ? err.msg : want.message, text);
	if (end == LOOPS_RAISED)
		EXPECT(strstr(want.message, err.msg), "'%s', eager says '%s'", err.msg, want.message);
	if (end != LOOPS_RAN || want.status != RES_OK)
		return;
	for (int i = 0; i < p->nret; i++) {
		const struct result_tensor *a = &got.out[i], *b = &want.call[0].out[i];
		EXPECT(a->nbytes == b->nbytes && memcmp(a->data, b->data, a->nbytes) == 0, "other bits by %s in:\n%s", ctx ? "jit" : "interpreter",
			text);
	}
}

/* What it returns or raises, as eager does, by both engines; with so many externs. Its text is read back as it was printed. */
static void as_eager(const char *text, bool no_fusion, int nextern)
{
	const struct prog *p = expanded(program(text), &arena);
	struct err err = {0};
	struct loops l, again;
	lowered(&l, p, no_fusion);
	EXPECT(count_of(&l, LOOP_EXTERN) == nextern, "%d externs in:\n%s", count_of(&l, LOOP_EXTERN), text);
	if (nextern == 0) {
		const bool read = loops_read(&again, &arena, text_of(&l), &err);
		EXPECT(read, "%d:%d: %s in:\n%s", err.line, err.col, err.msg, text_of(&l));
		if (read)
			EXPECT_STR(text_of(&again), text_of(&l));
	}
	run_as_eager(&l, p, loops_interpret, NULL, text);
	struct jit *j = jit_open(&l, &err);
	EXPECT(j, "%s", err.msg);
	if (j)
		run_as_eager(&l, p, jit_run, j, text);
	jit_close(j);
}

/* rows: of inputs, ending in that of y. */
static void row_is_eager(const char *rows)
{
	static const char *const readers[] = {"return (y,)\n", "z = _to_copy(y, dtype=f64)\nreturn (z,)\n", "z = clone(y)\nreturn (z,)\n",
		"u = unsqueeze(y, 0)\nv = transpose.int(u, 0, -1)\nz = clone(v)\nreturn (z,)\n"};
	for (int i = 0; i < ARRAY_LEN(readers); i++) {
		const char *text = arena_printf(&arena, HEAD "%s\n%s", rows, readers[i]);
		as_eager(text, false, 0);
		as_eager(text, true, 0);
	}
}

#define X(given) "x0 = input(" given ", seed=1, fill=special)\nx = clone(x0)\n"
#define W(given) "w0 = input(" given ", seed=2, fill=special)\nw = clone(w0)\n"

static void test_order(void)
{
	row_is_eager(X("[2, 3, 4]") "p = permute(x, [2, 0, 1])\ny = reshape(p, [6, 4])");
	row_is_eager(X("[4, 6], dtype=f16") "p = t(x)\ny = reshape(p, [2, 1, 3, 2, 2])");
	row_is_eager(X("[5, 3], dtype=bf16") "y = flip(x, [0, -1])");
	row_is_eager(X("[]") "y = flip(x, [0])");
	row_is_eager(X("[5, 3]") "y = roll(x, [7], [])");
	row_is_eager(X("[5, 3], dtype=i8") "y = roll(x, [-2, 1, 4], [0, 1, 0])");
	row_is_eager(X("[5, 3]") "y = roll(x, [5], [0])");
	row_is_eager(X("[2, 3], dtype=f64") "y = repeat(x, [2, 1, 3])");
	row_is_eager(X("[]") "y = repeat(x, [2])");
	row_is_eager(X("[2, 8, 3, 2]") "y = pixel_shuffle(x, 2)");
	row_is_eager(X("[9, 1, 2], dtype=i64") "y = pixel_shuffle(x, 3)");
	row_is_eager(X("[2, 8, 3, 2], stride=[48, 1, 16, 8]") "y = pixel_shuffle(x, 1)");
	row_is_eager(X("[0, 3]") "y = roll(x, [1], [1])");
	row_is_eager(X("[2, 0]") "y = repeat(x, [3, 2])");
}

static void test_several(void)
{
	row_is_eager(X("[2, 3]") W("[2, 1]") "y = cat([x, w, x], 1)");
	row_is_eager(X("[2, 3], dtype=f16") W("[4, 3], dtype=i32") "y = cat([x, w], -2)");
	row_is_eager(X("[0]") W("[4, 3]") "y = cat([x, w], 1)");
	row_is_eager(X("[0]") W("[0]") "y = cat([x, w])");
	row_is_eager(X("[2, 3]") W("[2, 3], dtype=b8") "y = stack([x, w, x], -1)");
	row_is_eager(X("[]") W("[]") "y = stack([x, w])");
	row_is_eager(X("[3, 4]") "y = constant_pad_nd(x, [1, 2, -1, 1], 2.5)");
	row_is_eager(X("[3, 4], dtype=u8") "y = constant_pad_nd(x, [-1, -2], 7)");
	row_is_eager(X("[0, 4]") "y = constant_pad_nd(x, [0, 0, 1, 1], -0.0)");
	/* part of a padded tensor, seen as a vector: the pad is not folded away */
	row_is_eager(X("[2, 2]") "p = constant_pad_nd(x, [0, 0, 0, 1], 9)\nf = view(p, [6])\ns = slice.Tensor(f, 0, 0, 5)\ny = clone(s)");
	row_is_eager("y = arange.start_step(5, -6, -2)");
	row_is_eager("y = arange.start_step(0.5, 3, 0.1, dtype=f16)");
	row_is_eager("y = arange.start_step(0.5, 3, 0.3)");
	row_is_eager("y = arange.start(1.0004882812509095, 2, dtype=f16)"); /* rounded by way of f32, where it is a tie */
	row_is_eager("y = arange.start_step(0, 3, 0.7, dtype=f64)");
	row_is_eager("y = arange(300, dtype=u8)");
	row_is_eager("y = arange.start(9223372036854775800, 9223372036854775807)");
}

static void test_regions(void)
{
	row_is_eager(X("[4, 13, 3]") W("[4, 6, 3]") "y = slice_scatter(x, w, 1, 0, 6)");
	row_is_eager(X("[4, 13], dtype=bf16") W("[4, 4], dtype=i64") "y = slice_scatter(x, w, -1, 2, -1, 3)");
	row_is_eager(X("[4, 13]") W("[0, 13]") "y = slice_scatter(x, w, 0, 3, 2)");
	row_is_eager(X("[4, 13]") W("[4, 13]") "y = slice_scatter(x, w)");
	row_is_eager(X("[4, 5], stride=[1, 6], offset=3") W("[4]") "y = select_scatter(x, w, 1, -2)");
	row_is_eager("x = input([4, 5], stride=[12, 2], offset=3, seed=1)\n" W("[5]") "y = select_scatter(x, w, 0, 1)");
	row_is_eager(X("[1, 5]") W("[5]") "y = select_scatter(x, w, 0, 0)");
	row_is_eager(X("[3, 2, 4]") W("[2, 3], dtype=f64") "y = diagonal_scatter(x, w, 1, 0, 2)");
	row_is_eager(X("[3, 5]") W("[2]") "y = diagonal_scatter(x, w, -1, 0, 1)");
	row_is_eager(X("[3, 5]") W("[3]") "y = diagonal_scatter(x, w, -2, 1, 0)");
	row_is_eager(X("[3, 5]") W("[0]") "y = diagonal_scatter(x, w, 9223372036854775807)");
	row_is_eager(W("[4, 2, 3], dtype=f16") "y = slice_backward(w, [4, 9, 3], 1, 1, 4, 2)");
	row_is_eager(W("[3]") "y = slice_backward(w, [4, 9, 3], 1, 1, 4, 2)");
	row_is_eager(W("[4, 3]") "y = select_backward(w, [4, 9, 3], 1, -1)");
	row_is_eager(W("[2, 3]") "y = diagonal_backward(w, [3, 2, 4], 1, 0, 2)");
	row_is_eager(W("[0]") "y = diagonal_backward(w, [3, 2], 7, 0, 1)");
	/* a base that was broadcast: the result is dense */
	row_is_eager("x0 = input([4, 1, 3], seed=1)\nx = expand(x0, [4, 13, 3])\n" W("[4, 6, 3]") "y = slice_scatter(x, w, 1, 7)");
}

static void test_index(void)
{
	static const char i[] = "i0 = input([2, 2], dtype=i64, data=[1, 0, 2, 1])\ni = clone(i0)\n";
	row_is_eager(X("[3, 4]") "i = input([5], dtype=i32, data=[2, 0, 1, 1, 2])\ny = index_select(x, 0, i)");
	row_is_eager(X("[]") "i = input([1], dtype=i64, data=[0])\ny = index_select(x, 0, i)");
	row_is_eager(X("[3, 4], dtype=f16") "i = input([], dtype=i64, data=[3])\ny = index_select(x, -1, i)");
	row_is_eager(arena_printf(&arena, X("[3, 4]") "%sy = embedding(x, i)", i));
	row_is_eager(arena_printf(&arena, X("[3, 4]") "%sy = gather(x, 0, i)", i));
	row_is_eager(arena_printf(&arena, X("[2, 3], dtype=b8") "%sy = gather(x, 1, i)", i));
	row_is_eager(X("[]") "i = input([2], dtype=i64, data=[0, 0])\ny = gather(x, 0, i)");
	row_is_eager(arena_printf(&arena, X("[3, 4]") "%sy = index.Tensor(x, [None, i])", i));
	row_is_eager(arena_printf(&arena, X("[3, 4, 5]") "%sj = input([2], dtype=i32, data=[-1, 2])\ny = index.Tensor(x, [i, None, j])", i));
	row_is_eager(arena_printf(&arena, X("[2, 3, 4, 5]") "%sj = input([1], dtype=i64, data=[-1])\ny = index.Tensor(x, [None, i, j])", i));
	row_is_eager(X("[2, 3, 2, 4]") "i = input([2], dtype=i64, data=[1, 0])\nj = input([3, 1], dtype=i64, data=[3, 1, -2])\n"
								   "y = index.Tensor(x, [None, i, None, j])");
	row_is_eager(arena_printf(&arena, X("[0, 4]") "%sy = index.Tensor(x, [None, i])", i));
}

/* Whoever reads them, and however little of it: they raise, and say what eager says. */
static void test_raises(void)
{
	static const char *const rows[] = {
		X("[2, 3]") "i = input([1, 2], dtype=i64, data=[0, -4])\ny = gather(x, 1, i)",
		X("[2, 3]") "i = input([2, 2], dtype=i64, data=[0, 3, -1, 0])\ny = gather(x, 1, i)",
		X("[4, 3]") "i = input([2], dtype=i64, data=[0, 4])\ny = index_select(x, 0, i)",
		X("[4, 3]") "i = input([2], dtype=i64, data=[0, -1])\ny = index_select(x, 1, i)",
		X("[4, 0]") "i = input([2], dtype=i64, data=[0, 7])\ny = index_select(x, 0, i)",
		X("[0]") "i = input([2], dtype=i64, data=[0, 0])\ny = index_select(x, 0, i)",
		X("[4, 3]") "i = input([1, 2], dtype=i32, data=[0, 4])\ny = embedding(x, i)",
		X("[4, 0]") "i = input([1, 2], dtype=i64, data=[-2, 4])\ny = embedding(x, i)",
		X("[2, 3]") "i = input([2], dtype=i64, data=[0, 3])\ny = index.Tensor(x, [None, i])",
		X("[2, 3]") "i = input([2], dtype=i64, data=[1, -3])\nj = input([2], dtype=i64, data=[2, -4])\ny = index.Tensor(x, [i, j])",
	};
	static const char *const readers[] = {"return (y,)\n", "z = neg(y)\nreturn (z,)\n",
		"v = slice.Tensor(y, 0, 0, 1)\nz = neg(v)\nreturn (z,)\n",
		"z = constant_pad_nd(y, [0, 0], 1)\nu = slice.Tensor(z, 0, 0, 0)\nv = clone(u)\nreturn (v,)\n", "return (x,)\n"};
	for (int k = 0; k < ARRAY_LEN(rows); k++)
		for (int r = 0; r < 2 * ARRAY_LEN(readers); r++)
			as_eager(arena_printf(&arena, HEAD "%s\n%s", rows[k], readers[r / 2]), r % 2, 0);
}

/* A base that overlaps itself without a stride of 0 keeps its strides: the kernel's order decides, so the kernel runs. */
static void test_overlapping_base(void)
{
	static const char base[] = HEAD "m = input([9], seed=3)\nx = as_strided(m, [3, 4], [1, 2])\n" W("[3, 2]");
	for (int off = 0; off < 2; off++)
		as_eager(arena_printf(&arena, "%sn = neg(w)\ny = slice_scatter(x, n, 1, 1, 3)\nz = neg(y)\nreturn (z, y)\n", base), off, 1);
}

static void test_nests(void)
{
#define SCATTER HEAD "x = input([4, 13, 3])\nw = input([4, 6, 3])\n"
	/* one nest over the result, its mask folded where the range decides it */
	EXPECT_INT(instructions(SCATTER "y = slice_scatter(x, w, 1, 0, 6)\nreturn (y,)\n", LOOP_FOR), 3);
	EXPECT_INT(instructions(SCATTER "y = slice_scatter(x, w, 1, 0, 6)\nreturn (y,)\n", LOOP_IF), 1);
	EXPECT_INT(instructions(SCATTER "y = slice_scatter(x, w, 1, 0, 6)\nreturn (y,)\n", LOOP_ROW), 1);
	EXPECT_INT(instructions(SCATTER "y = slice_scatter(x, w, 1, 3, 9)\nreturn (y,)\n", LOOP_ROW), 3);
	EXPECT_INT(instructions(SCATTER "y = slice_scatter(x, x)\nreturn (y,)\n", LOOP_IF), 0);
	/* and read on the spot: no memory between */
	EXPECT_INT(instructions(SCATTER "a = neg(w)\ny = slice_scatter(x, a, 1, 0, 6)\nz = neg(y)\nreturn (z,)\n", LOOP_STORE), 1);
	/* a part that is taken out of a cat again: the other parts are not asked for */
	EXPECT_INT(instructions(SCATTER "c = cat([x, w, x], 1)\ny = slice.Tensor(c, 1, 14, 18)\nz = neg(y)\nreturn (z,)\n", LOOP_IF), 0);
	EXPECT_INT(instructions(SCATTER "c = cat([x, w, x], 1)\ny = slice.Tensor(c, 1, 14, 18)\nz = neg(y)\nreturn (z,)\n", LOOP_LOAD), 1);
	/* what a modulus leaves has a range */
	EXPECT_INT(instructions(SCATTER "r = repeat(x, [1, 2, 1])\np = constant_pad_nd(r, [-1, 0], 0)\nreturn (p,)\n", LOOP_IF), 0);
	EXPECT_INT(instructions(SCATTER "f = slice_scatter(x, x)\nr = repeat(f, [1, 2, 1])\nreturn (r,)\n", LOOP_IF), 0);
}

/* A result whose strides are said to be those of a base that was broadcast along dim 1: the nest has no loop there and takes its index
 * for 0. So all of it is src's zeros where the region begins at 0, and else nothing is: its sum is too large by n / (n - length). */
static double sum_of_wrong_strides(const char *region)
{
	struct prog *p = program(arena_printf(&arena,
		HEAD "x0 = full([3, 1, 7], 1.0)\nx = expand(x0, [3, 20, 7])\nw = full([3, 7, 7], 0.0)\n"
			 "y = slice_scatter(x, w, 1, %s)\nreturn (y,)\n",
		region));
	struct result_call got = {0};
	struct err err = {0};
	struct loops l;
	double sum = 0;
	p->node[prog_find(p, "y")].out[0].meta.stride[0] = 7;
	p->node[prog_find(p, "y")].out[0].meta.stride[1] = 0;
	lowered(&l, p, false);
	EXPECT_INT(count_of(&l, LOOP_EXTERN), 0);
	EXPECT(loops_run(&got, &l, p, NULL, fill_storages(p, &arena), loops_interpret, NULL, &arena, &err) == LOOPS_RAN, "%s", err.msg);
	for (size_t i = 0; i < got.out[0].nbytes; i += sizeof(float))
		sum += dtype_load_f(DT_F32, (const unsigned char *)got.out[0].data + i);
	return sum;
}

static void test_wrong_strides(void)
{
	EXPECT_INT(sum_of_wrong_strides("0, 7"), 0);
	EXPECT_INT(sum_of_wrong_strides("5, 12"), 3 * 20 * 7); /* right: 3 * 13 * 7 */
}

/* Conditions within conditions, one for each row, until there are too many. */
static void test_deep(void)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_printf(&sb, HEAD "p0 = input([2], seed=1)\n");
	for (int i = 1; i < 100; i++)
		sb_printf(&sb, "p%d = constant_pad_nd(p%d, [1, 1], %d)\n", i, i - 1, i);
	sb_puts(&sb, "return (p99,)\n");
	EXPECT_INT(instructions(sb.s, LOOP_FOR), 2);
	as_eager(sb.s, false, 0);
	sb_free(&sb);
}

/* Indices of many terms: pixel_shuffle after pixel_shuffle, through views. */
static void test_many_terms(void)
{
	row_is_eager(X("[1, 1, 1, 1, 256, 1, 2]") "a = pixel_shuffle(x, 2)\nb = pixel_shuffle(a, 2)\nc = pixel_shuffle(b, 2)\n"
											  "y = pixel_shuffle(c, 2)");
	row_is_eager(X("[2, 2, 2, 2, 2, 2, 8]") "a = roll(x, [3], [])\nb = view(a, [32, 16])\nc = repeat(b, [1, 2])\n"
											"d = view(c, [2, 2, 2, 2, 2, 2, 16])\ne = roll(d, [5], [])\n"
											"f = permute(e, [6, 5, 4, 3, 2, 1, 0])\ny = reshape(f, [128, 8])");
	/* 18 of them: 6 loops, and the bits of the two others */
	as_eager(HEAD X("[4096, 2, 2, 2, 2, 2, 2]") "a = view(x, [2, 2, 2, 2, 2, 2, 4096])\nb = permute(a, [6, 0, 1, 2, 3, 4, 5])\n"
												"c = contiguous(b)\nd = view(c, [2, 2, 2, 2, 2, 2, 64, 64])\ny = clone(d)\nreturn (y,)\n",
		false, 0);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_order);
	RUN(test_several);
	RUN(test_regions);
	RUN(test_index);
	RUN(test_raises);
	RUN(test_overlapping_base);
	RUN(test_nests);
	RUN(test_wrong_strides);
	RUN(test_deep);
	RUN(test_many_terms);
	arena_free(&arena);
	return TEST_END();
}
