/* schedule_test.c: which loops are said to be free of order, and which kernels a loop program becomes. */
#include "compiled/loops/schedule.h"
#include "tests/test.h"

static struct arena arena;

static struct loops *scheduled(const char *text)
{
	struct loops *l = ARENA_NEW(&arena, struct loops, 1);
	struct err err = {0};
	EXPECT(loops_read(l, &arena, text, &err), "%s\n%d:%d: %s", text, err.line, err.col, err.msg);
	loops_schedule(l);
	return l;
}

/* Of each loop in order 'p' (parallel) or '.'. */
static const char *marks(const struct loops *l)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < l->nins; i++)
		if (l->ins[i].op == LOOP_FOR)
			sb_putc(&sb, l->ins[i].parallel ? 'p' : '.');
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

#define TWO  "loops 1\nb0: f32[64] = input 0\nb1: f32[64]\n"
#define DONE "return b1 f32[64][1]+0\n"

static void test_elements(void)
{
	EXPECT_STR(
		marks(scheduled(TWO "for r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r0*4 + r1]\nstore b1[r0*4 + r1] = r2\nend\nend\n" DONE)), "pp");
	/* Transposed, and with gaps. */
	EXPECT_STR(
		marks(scheduled(TWO "for r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r0*4 + r1]\nstore b1[r0 + r1*5 + 2] = r2\nend\nend\n" DONE)), "pp");
	/* Rows of four cells, three apart: they overlap. */
	EXPECT_STR(marks(scheduled(TWO "for r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r1]\nstore b1[r0*3 + r1] = r2\nend\nend\n" DONE)), "..");
	/* All iterations of the outer loop write the same cells. */
	EXPECT_STR(marks(scheduled(TWO "for r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r0]\nstore b1[r1] = r2\nend\nend\n" DONE)), ".p");
	/* An index that is a register of its own. */
	EXPECT_STR(marks(scheduled(
				   TWO "for r0 < 3\nfor r1 < 4\nr2: i64 = index r0*4 + r1\nr3: f32 = load b0[r1]\nstore b1[r2 + 1] = r3\nend\nend\n" DONE)),
		"pp");
	/* Cells 0, 0, 1, 1: what divides is not looked through. */
	EXPECT_STR(marks(scheduled(TWO "for r0 < 4\nr1: i64 = div r0 2\nr2: f32 = load b0[r0]\nstore b1[r1] = r2\nend\n" DONE)), ".");
}

static void test_written_where_read(void)
{
	EXPECT_STR(marks(scheduled(TWO "for r0 < 8\nr1: f32 = load b1[r0]\nstore b1[r0] = r1\nend\n" DONE)), "p");
	EXPECT_STR(marks(scheduled(TWO "for r0 < 8\nr1: f32 = load b1[r0 + 1]\nstore b1[r0] = r1\nend\n" DONE)), ".");
	EXPECT_STR(marks(scheduled(TWO "for r0 < 8\nr1: f32 = load b1[r0 + 8]\nstore b1[r0] = r1\nend\n" DONE)), ".");
	EXPECT_STR(marks(scheduled(TWO "for r0 < 8\nr1: f32 = load b1[r0*2 + 1]\nstore b1[r0*2] = r1\nend\n" DONE)), "p");
	EXPECT_STR(marks(scheduled(TWO "for r0 < 8\nr1: f32 = load b1[r0*2]\nstore b1[r0] = r1\nend\n" DONE)), ".");
}

static void test_reductions(void)
{
	EXPECT_STR(
		marks(scheduled(TWO "for r0 < 3\nr1: f32 = const 0.0\nr2: f32 = var r1\nfor r3 < 4\nr4: f32 = load b0[r0*4 + r3]\nr2 := r4\nend\n"
							"store b1[r0] = r2\nend\n" DONE)),
		"p.");
	/* One accumulator for all. */
	EXPECT_STR(marks(scheduled(
				   TWO "r1: f32 = const 0.0\nr2: f32 = var r1\nfor r0 < 3\nr4: f32 = load b0[r0]\nr2 := r4\nend\nstore b1[0] = r2\n" DONE)),
		".");
	/* Accumulators in memory: the columns are apart, the rows are not. */
	EXPECT_STR(
		marks(scheduled(TWO "for r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r0*4 + r1]\nr3: f32 = load b1[r1]\nr4: f32 = maximum f32(r2, r3)\n"
							"store b1[r1] = r4\nend\nend\n" DONE)),
		".p");
}

#define INDEXED "loops 1\nb0: f32[64] = input 0\nb1: f32[64]\nb2: i64[64] = input 1\n"

static void test_positions_from_memory(void)
{
	/* A row of 5 for each r0, any place in it: rows are apart. */
	EXPECT_STR(marks(scheduled(
				   INDEXED "for r0 < 3\nfor r1 < 4\nr2: i64 = load b2[r0*4 + r1]\nr3: i64 = bound r2 of 5 dim 1\nr4: f32 = load b0[r1]\n"
						   "store b1[r0*5 + r3] = r4\nend\nend\n" DONE)),
		"p.");
	/* Any row: columns are apart. */
	EXPECT_STR(marks(scheduled(
				   INDEXED "for r0 < 3\nfor r1 < 4\nr2: i64 = load b2[r0*4 + r1]\nr3: i64 = bound r2 of 5 dim 0\nr4: f32 = load b0[r1]\n"
						   "store b1[r3*4 + r1] = r4\nend\nend\n" DONE)),
		".p");
	/* A position that nobody has bounded. */
	EXPECT_STR(
		marks(scheduled(INDEXED "for r0 < 3\nr2: i64 = load b2[r0]\nr4: f32 = load b0[r0]\nstore b1[r0*8 + r2] = r4\nend\n" DONE)), ".");
}

static void test_kernels(void)
{
	struct loop_kernel *k;
	const struct loops *l =
		scheduled(TWO "r9: f32 = const 1.0\nstore b1[0] = r9\nfor r0 < 3\nfor r1 < 4\nr2: f32 = load b0[r0*4 + r1]\n"
					  "store b1[r0*4 + r1] = r2\nend\nend\nr3: f32 = const 2.0\nstore b1[63] = r3\n"
					  "r4: f32 = const 0.0\nr5: f32 = var r4\nfor r6 < 3\nr7: f32 = load b0[r6]\nr5 := r7\nend\nstore b1[5] = r5\n" DONE);
	const int n = loops_kernels(&k, l, &arena);
	EXPECT_INT(n, 3);
	EXPECT(k[0].begin == 0 && k[0].end == 2 && k[0].npoint == 1 && k[0].nloop == 0, "single instructions");
	EXPECT(k[1].begin == 2 && k[1].nloop == 2 && k[1].npoint == 12, "a nest: %d loops, %d threads", k[1].nloop, (int)k[1].npoint);
	EXPECT(k[2].begin == k[1].end && k[2].end == l->nins && k[2].npoint == 1, "registers keep what is between them together");
}

#define SUM(load)                                                                                                                          \
	"r4: f64 = const 0.0\nr5: f64 = var r4\nr9: f64 = const 1.0\nfor r6 < 64\nr7: f32 = load " load "[0]\nr8: f64 = as r7\n"               \
	"r10: f64 = add.Tensor f64(r5, r8; r9)\nr5 := r10\nend\nr11: f32 = rounded f32 r5\nstore b1[5] = r11\n"

/* A sum is shared by a team, but not where its threads would have to see what the first one stores. */
static void test_teams(void)
{
	struct loop_kernel *k;
	const struct loops *l = scheduled(TWO SUM("b0") DONE);
	EXPECT_INT(loops_kernels(&k, l, &arena), 1);
	EXPECT_INT(k[0].team, TEAM_WARP);
	l = scheduled(TWO "r1: f32 = const 2.0\nstore b1[0] = r1\n" SUM("b1") DONE);
	EXPECT_INT(loops_kernels(&k, l, &arena), 1);
	EXPECT_INT(k[0].team, 1);
}

/* What a loop does with an f64 register r2: `row` of it and of r4 is what it becomes. */
static void expect_fold(const char *row, enum loop_fold fold)
{
	const struct loops *l = scheduled(arena_printf(&arena,
		TWO
		"r1: f64 = const 1.0\nr2: f64 = var r1\nr3: f64 = const 2.0\nfor r6 < 64\nr7: f32 = load b0[r6]\nr4: f64 = as r7\nr5: f64 = %s\n"
		"r2 := r5\nend\nr8: f32 = rounded f32 r2\nstore b1[0] = r8\n" DONE,
		row));
	int at = 0, sum;
	while (l->ins[at].op != LOOP_FOR)
		at++;
	EXPECT(l->ins[at].summed == (fold != FOLD_NONE), "%s", row);
	EXPECT(loops_sums(&sum, 1, l, at) == 1 && loops_fold(l, at, sum) == fold, "%s: %d", row, (int)loops_fold(l, at, sum));
}

static void test_folds(void)
{
	expect_fold("add.Tensor f64(r2, r4; r1)", FOLD_SUM);
	expect_fold("add.Tensor f64(r2, r4; r3)", FOLD_NONE);
	expect_fold("add.Tensor f64(r4, r2; r1)", FOLD_NONE);
	expect_fold("add.Tensor f64(r2, r2; r1)", FOLD_NONE);
	expect_fold("maximum f64(r4, r2)", FOLD_GREATEST);
	expect_fold("maximum f64(r2, r4)", FOLD_GREATEST);
	expect_fold("minimum f64(r4, r2)", FOLD_LEAST);
	expect_fold("mul.Tensor f64(r2, r4)", FOLD_NONE);
}

/* The kernel of a sum of a matrix's columns, or (by rows) of its rows: nrow rows of ncol cells. A condition may stand around it. */
static struct loop_kernel of_matrix(int nrow, int ncol, bool rows, bool conditional)
{
	struct loop_kernel *k;
	const char *text = arena_printf(&arena,
		"loops 1\nb0: f32[%d] = input 0\nb1: f32[%d]\nfor r0 < %d\nr4: f64 = const 0.0\nr5: f64 = var r4\nr9: f64 = const 1.0\n%s"
		"for r6 < %d\nr7: f32 = load b0[r%d*%d + r%d]\nr8: f64 = as r7\nr10: f64 = add.Tensor f64(r5, r8; r9)\nr5 := r10\nend\n%s"
		"r11: f32 = rounded f32 r5\nstore b1[r0] = r11\nend\nreturn b1 f32[%d][1]+0\n",
		nrow * ncol, rows ? nrow : ncol, rows ? nrow : ncol, conditional ? "r12: i64 = index r0\nif r12\n" : "", rows ? ncol : nrow,
		rows ? 0 : 6, ncol, rows ? 6 : 0, conditional ? "end\n" : "", rows ? nrow : ncol);
	EXPECT_INT(loops_kernels(&k, scheduled(text), &arena), 1);
	return k[0];
}

static void expect_teams(struct loop_kernel k, int team, int beside, int blocks)
{
	EXPECT(k.team == team && k.beside == beside && loops_team_blocks(&k) == blocks, "teams of %d, %d beside each other, %d blocks", k.team,
		k.beside, loops_team_blocks(&k));
}

/* Columns beside each other share a block, or several; what is a row's own is not theirs. */
static void test_teams_beside(void)
{
	expect_teams(of_matrix(8192, 8192, false, false), 64, 32, 8);
	expect_teams(of_matrix(40, 33, false, false), 8, 32, 1);
	expect_teams(of_matrix(40, 2, false, false), 128, 2, 1);
	expect_teams(of_matrix(3000, 3, false, false), 64 * 2, 4, 2);
	expect_teams(of_matrix(31, 8192, false, false), 1, 1, 0);
	expect_teams(of_matrix(64, 1 << 16, false, false), 1, 1, 0);
	expect_teams(of_matrix(8192, 8192, true, false), TEAM_BLOCK, 1, 1);
	expect_teams(of_matrix(40, 33, true, false), TEAM_WARP, 1, 0);
	expect_teams(of_matrix(40, 33, false, true), TEAM_WARP, 1, 0);
	const struct loop_kernel k = of_matrix(40, 33, false, false);
	EXPECT_INT(loops_threads(&k, k.npoint), 2 * TEAM_BLOCK);
	EXPECT_INT(loops_threads(&k, 32), TEAM_BLOCK);
}

/* A kernel of elements, n by 2 of them. */
static struct loop_kernel of_elements(int n)
{
	struct loop_kernel *k;
	const char *text = arena_printf(&arena,
		"loops 1\nb0: f32[%d] = input 0\nb1: f32[%d]\nfor r0 < %d\nfor r1 < 2\nr2: f32 = load b0[r0*2 + r1]\nstore b1[r0*2 + r1] = r2\n"
		"end\nend\nreturn b1 f32[%d, 2][2, 1]+0\n",
		2 * n, 2 * n, n, n);
	EXPECT_INT(loops_kernels(&k, scheduled(text), &arena), 1);
	return k[0];
}

/* A thread has several points where there are many, and no loop of its own. */
static void test_points_each(void)
{
	const struct loop_kernel many = of_elements(MANY_POINTS / 2), few = of_elements(MANY_POINTS / 2 - 1);
	EXPECT(many.each == POINTS_EACH && few.each == 1, "%d and %d", many.each, few.each);
	EXPECT_INT(loops_threads(&many, MANY_POINTS), MANY_POINTS / POINTS_EACH);
	EXPECT_INT(loops_threads(&many, MANY_POINTS + 1), MANY_POINTS / POINTS_EACH + TEAM_BLOCK);
	EXPECT_INT(loops_threads(&many, 0), 0);
	EXPECT_INT(loops_threads(&few, 1000), 1000);
	EXPECT_INT(of_matrix(2, MANY_POINTS, false, false).each, 1);
}

static void test_text(void)
{
	struct strbuf a, b;
	struct loops again;
	struct err err = {0};
	const struct loops *l = scheduled(TWO "for r0 < 3\nr2: f32 = load b0[r0]\nstore b1[r0] = r2\nend\n" DONE);
	sb_init(&a);
	sb_init(&b);
	loops_print(&a, l);
	EXPECT(strstr(a.s, "\nfor r0 < 3 parallel\n"), "%s", a.s);
	EXPECT(loops_read(&again, &arena, a.s, &err), "%s", err.msg);
	loops_print(&b, &again);
	EXPECT_STR(b.s, a.s);
	sb_free(&a);
	sb_free(&b);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_elements);
	RUN(test_written_where_read);
	RUN(test_reductions);
	RUN(test_positions_from_memory);
	RUN(test_kernels);
	RUN(test_teams);
	RUN(test_folds);
	RUN(test_teams_beside);
	RUN(test_points_each);
	RUN(test_text);
	arena_free(&arena);
	return TEST_END();
}
