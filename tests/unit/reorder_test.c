/* reorder_test.c: parallel loops in another order and in tiles give the bits that they give in theirs, at sizes around the edges of
 * tiles; what may not be moved stays. */
#include "compiled/loops/reorder.h"
#include "compiled/loops/jit.h"
#include "compiled/loops/lower.h"
#include "compiled/loops/schedule.h"
#include "eager/lang/fill.h"
#include "tests/unit/expanded.h"
#include "tests/unit/program.h"

#define HEAD "# scatterproof 1\n"

static struct loops *lowered(const struct prog *p)
{
	struct loops *l = ARENA_NEW(&arena, struct loops, 1);
	struct err err = {0};
	const bool ok = lower(l, p, &(struct lower_options){.no_fusion = false}, &arena, &err);
	EXPECT(ok, "%s", err.msg);
	CHECK(ok);
	return l;
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

/* The text behind the step; it is read back as it was printed. */
static const char *reordered(struct loops *l, enum reorder_for machine)
{
	struct loops again;
	struct err err = {0};
	loops_schedule(l);
	loops_reorder(l, machine);
	const char *text = text_of(l);
	const bool read = loops_read(&again, &arena, text, &err);
	EXPECT(read, "%d:%d: %s in:\n%s", err.line, err.col, err.msg, text);
	if (read)
		EXPECT_STR(text_of(&again), text);
	return text;
}

static const char *reordered_text(const char *loops, enum reorder_for machine)
{
	struct loops *l = ARENA_NEW(&arena, struct loops, 1);
	struct err err = {0};
	EXPECT(loops_read(l, &arena, loops, &err), "%s\n%d:%d: %s", loops, err.line, err.col, err.msg);
	return reordered(l, machine);
}

/* ---- the same bits ---- */

static void same_bits(const struct result_call *want, const struct loops *l, const struct prog *p, loop_engine *engine, void *ctx)
{
	struct result_call got = {0};
	struct err err = {0};
	EXPECT(loops_run(&got, l, p, NULL, fill_storages(p, &arena), engine, ctx, &arena, &err) == LOOPS_RAN, "%s", err.msg);
	for (int i = 0; i < p->nret; i++) {
		const struct result_tensor *a = &got.out[i], *b = &want->out[i];
		EXPECT(a->nbytes == b->nbytes && memcmp(a->data, b->data, a->nbytes) == 0, "other bits by %s in:\n%s", ctx ? "jit" : "interpreter",
			text_of(l));
	}
}

/* as: words that the reordered text has. */
static void agrees(const char *text, const char *as)
{
	const struct arena_mark m = arena_mark(&arena);
	const struct prog *p = expanded(program(text), &arena);
	struct loops *plain = lowered(p), *l = lowered(p), *gpu = lowered(p);
	struct result_call want = {0};
	struct err err = {0};
	EXPECT(loops_run(&want, plain, p, NULL, fill_storages(p, &arena), loops_interpret, NULL, &arena, &err) == LOOPS_RAN, "%s", err.msg);
	EXPECT(strstr(reordered(l, REORDER_CPU), as), "no '%s' in:\n%s", as, text_of(l));
	same_bits(&want, l, p, loops_interpret, NULL);
	reordered(gpu, REORDER_GPU);
	if (!strstr(text_of(gpu), " summed")) /* these add up in another order */
		same_bits(&want, gpu, p, loops_interpret, NULL);
	struct jit *j = jit_open(l, &err);
	EXPECT(j, "%s", err.msg);
	if (j)
		same_bits(&want, l, p, jit_run, j);
	jit_close(j);
	arena_release(&arena, m);
}

static const int sizes[] = {3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2047, 2049};

static const char *text(const char *format, int n)
{
	struct strbuf sb;
	sb_init(&sb);
	for (const char *s = format; *s; s++)
		if (*s == '#')
			sb_printf(&sb, "%d", n);
		else
			sb_putc(&sb, *s);
	const char *out = arena_printf(&arena, HEAD "%s", sb.s);
	sb_free(&sb);
	return out;
}

static void each_size(const char *format, int most, const char *as)
{
	for (int i = 0; i < ARRAY_LEN(sizes) && sizes[i] <= most; i++)
		agrees(text(format, sizes[i]), as);
}

static void test_copies(void)
{
	each_size("x = input([#, 5])\nt = t(x)\nn = neg(t)\nc = contiguous(n)\nreturn (c,)\n", 2049, " local\n");
	each_size("x = input([6, #], dtype=f16, fill=\"special\")\nt = t(x)\nc = contiguous(t)\nreturn (c,)\n", 2049, " local\n");
	each_size("x = input([#, #], dtype=f64)\nt = t(x)\nc = add.Tensor(x, t)\nreturn (c,)\n", 129, " local\n");
	each_size("x = input([4, #, 3, 5], dtype=i64)\nt = permute(x, dims=[3, 0, 2, 1])\nc = contiguous(t)\nreturn (c,)\n", 129, " local\n");
}

static void test_reductions(void)
{
	each_size("x = input([5, #], fill=\"normal\")\nz = sum.dim_IntList(x, dim=[0])\nreturn (z,)\n", 2049, " local\n");
	each_size("x = input([2, 6, #], dtype=bf16, fill=\"normal\")\nz = amax(x, dim=[1])\nreturn (z,)\n", 2049, " local\n");
	each_size("x = input([5, #], fill=\"normal\")\nz = cumsum(x, dim=0)\nreturn (z,)\n", 2049, " local\n");
	each_size("x = input([5, #], fill=\"normal\")\nz = var.correction(x, dim=[0])\nreturn (z,)\n", 2049, " local\n");
	each_size(
		"x = input([6, #], fill=\"ties\")\ns = sort(x, dim=0)\nz = getitem(s, 0)\ni = getitem(s, 1)\nreturn (z, i)\n", 129, " local\n");
}

static void test_products(void)
{
	each_size("x = input([4, 5], fill=\"normal\")\ny = input([5, #], fill=\"normal\")\nz = mm(x, y)\nreturn (z,)\n", 2049, " local\n");
	each_size(
		"x = input([2, 3, #], fill=\"normal\")\ny = input([2, #, 9], fill=\"normal\")\nz = bmm(x, y)\nreturn (z,)\n", 129, " local\n");
}

/* ---- what they become, and what stays ---- */

#define TWO  "loops 1\nb0: f32[64] = input 0\nb1: f32[64]\n"
#define DONE "return b1 f32[64][1]+0\n"

static void test_interchange(void)
{
	const char *columns = TWO "for r0 < 3\n  for r1 < 4\n    r2: f32 = load b0[r0 + r1*3]\n    store b1[r0 + r1*3] = r2\n  end\nend\n" DONE;
	const char *after = TWO "for r0 < 4 parallel\n  for r1 < 3 parallel\n    r2: f32 = load b0[r1 + r0*3]\n    store b1[r1 + r0*3] = r2\n"
							"  end\nend\n" DONE;
	EXPECT_STR(reordered_text(columns, REORDER_CPU), after);
	EXPECT_STR(reordered_text(columns, REORDER_GPU), after);
	/* Each column's last row wins: the rows are not parallel, and stay outside. */
	EXPECT_STR(
		reordered_text(TWO "for r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r0*16 + r1*4]\nstore b1[r1*4] = r2\nend\nend\n" DONE, REORDER_CPU),
		TWO "for r0 < 3\n  for r1 < 4 parallel\n    r2: f32 = load b0[r0*16 + r1*4]\n    store b1[r1*4] = r2\n  end\nend\n" DONE);
}

static void test_stays(void)
{
	/* Which position raises first is for the order to say. */
	const char *raises =
		reordered_text("loops 1\nb0: f32[64] = input 0\nb1: f32[64]\nb2: i64[64] = input 1\n"
					   "for r0 < 8\nfor r1 < 4\nr2: i64 = load b2[r0]\nr3: i64 = bound r2 of 5 dim 0\nr4: f32 = load b0[r3]\n"
					   "store b1[r0 + r1*8] = r4\nend\nend\n" DONE,
			REORDER_CPU);
	EXPECT(strstr(raises, "for r0 < 8 parallel\n  for r1 < 4 parallel\n"), "%s", raises);
	/* It stores where it loads: nothing is taken from memory before. Tiles there are. */
	const char *own = reordered_text("loops 1\nb0: f32[512] = input 0\nb1: f32[64]\n"
									 "for r0 < 8\nfor r1 < 8\nr2: f32 = load b0[r0 + r1*8]\nstore b1[r0*8 + r1] = r2\n"
									 "store b0[r0 + r1*8] = r2\nend\nend\n" DONE,
		REORDER_CPU);
	EXPECT(!strstr(own, "local"), "%s", own);
	/* Two iterations are no tiles. */
	const char *few =
		reordered_text(TWO "for r0 < 2\nfor r1 < 4\nr2: f32 = load b0[r0 + r1*2]\nstore b1[r0*4 + r1] = r2\nend\nend\n" DONE, REORDER_CPU);
	EXPECT(!strstr(few, " by "), "%s", few);
}

#define COLUMNS                                                                                                                            \
	"for r0 < 8\nr1: f64 = const 0.0\nr2: f64 = var r1\nfor r3 < 8\nr4: f32 = load b0[r3*8 + r0]\nr5: f64 = as r4\n"                       \
	"r6: f64 = add.Tensor f64(r2, r5)\nr2 := r6\nend\nr7: f32 = rounded f32 r2\nstore b1[r0] = r7\nend\n"

static void test_machines(void)
{
	const char *cpu = reordered_text(TWO COLUMNS DONE, REORDER_CPU), *gpu = reordered_text(TWO COLUMNS DONE, REORDER_GPU);
	EXPECT(strstr(cpu, "b2: f64[4] local\n") && strstr(cpu, "for r0 < 8 by 4 parallel\n  for r1 < 8 in r0 + 4 parallel\n"), "%s", cpu);
	EXPECT(strstr(gpu, "for r0 < 8 parallel\n") && !strstr(gpu, "local"), "%s", gpu);
}

static void test_lengths(void)
{
	EXPECT_INT(loops_tile(3, 64), 2);
	EXPECT_INT(loops_tile(7, 64), 4);
	EXPECT_INT(loops_tile(9, 64), 4);
	EXPECT_INT(loops_tile(127, 64), 64);
	EXPECT_INT(loops_tile(1 << 20, 64), 64);
}

static void test_refused(void)
{
	struct loops l;
	struct err err = {0};
	EXPECT(!loops_read(&l, &arena, TWO "for r0 < 8 by 4\nfor r1 < 8 in r0 + 2\nend\nend\n" DONE, &err), "another length");
	EXPECT(strstr(err.msg, "not the variable of an open loop by 2"), "%s", err.msg);
	err = (struct err){0};
	EXPECT(!loops_read(&l, &arena, TWO "for r0 < 8 by 0\nend\n" DONE, &err), "no length");
	EXPECT(strstr(err.msg, "a tile of 0"), "%s", err.msg);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_lengths);
	RUN(test_interchange);
	RUN(test_stays);
	RUN(test_machines);
	RUN(test_refused);
	RUN(test_copies);
	RUN(test_reductions);
	RUN(test_products);
	arena_free(&arena);
	return TEST_END();
}
