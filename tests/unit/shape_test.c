/* shape_test.c: shapes of loops: sizes, constants and rows do not matter; structure, kinds, dtypes and marks do. */
#include "compiled/code.h"
#include "compiled/loops/shape.h"
#include "compiled/compile.h"
#include "tests/unit/program.h"

enum { MOST = 64 };
struct shapes {
	int n;
	uint64_t of[MOST];
};

static void shapes_of(struct shapes *out, const char *text, bool schedule)
{
	const struct compile_options o = {.stage = compile_nstages() - 1, .to_code = true, .code = {.schedule = schedule}};
	struct compiled c;
	struct loops l;
	struct err err = {0};
	bool planted;
	const char *whole = arena_printf(&arena, "# scatterproof 1\n%s", text);
	bool ok =
		compile(&c, program(whole), &o, &arena, &err) == COMPILE_OK && code_loops(&l, &planted, &c.part[0].p, &o.code, NULL, &arena, &err);
	EXPECT(ok, "%s: %s", text, err.msg);
	out->n = ok ? loops_shapes(out->of, MOST, &l) : 0;
	EXPECT(out->n > 0, "%s: no shapes", text);
}

/* How many shapes b has that a has not. */
static int beyond(const struct shapes *a, const struct shapes *b)
{
	struct shapes all = *a;
	for (int i = 0; i < b->n; i++)
		shape_add(all.of, &all.n, MOST, b->of[i]);
	return all.n - a->n;
}

static void expect_same(const char *a, const char *b)
{
	struct shapes x, y;
	shapes_of(&x, a, false);
	shapes_of(&y, b, false);
	EXPECT(x.n == y.n && beyond(&x, &y) == 0, "these differ:\n%s\n%s", a, b);
}

static void expect_new(const char *a, const char *b)
{
	struct shapes x, y;
	shapes_of(&x, a, false);
	shapes_of(&y, b, false);
	EXPECT(beyond(&x, &y) > 0, "nothing new in the second:\n%s\n%s", a, b);
}

#define IN(size, rest) "x = input(" size ", seed=1)\n" rest

static void test_what_does_not_matter(void)
{
	expect_same(IN("[3, 4]", "y = neg(x)\nreturn (y,)\n"), IN("[17, 5]", "y = neg(x)\nreturn (y,)\n"));
	expect_same(IN("[3, 4]", "y = t(x)\nz = neg(y)\nreturn (z,)\n"), IN("[30, 2]", "q = t(x)\nw = neg(q)\nreturn (w,)\n"));
	expect_same(IN("[3, 4]", "y = mul.Scalar(x, 2.0)\nreturn (y,)\n"), IN("[3, 4]", "y = mul.Scalar(x, 7.0)\nreturn (y,)\n"));
	expect_same(IN("[3, 4]", "y = neg(x)\nreturn (y,)\n"), IN("[3, 4]", "y = exp(x)\nreturn (y,)\n"));
	expect_same(IN("[9]", "y = slice.Tensor(x, 0, 1, 4)\nz = neg(y)\nreturn (z,)\n"),
		IN("[9]", "y = slice.Tensor(x, 0, 2, 8, step=3)\nz = neg(y)\nreturn (z,)\n"));
}

static void test_what_matters(void)
{
	const char *plain = IN("[3, 4]", "y = neg(x)\nreturn (y,)\n");
	expect_new(IN("[3]", "y = neg(x)\nreturn (y,)\n"), plain);                                    /* a loop in a loop */
	expect_new(plain, IN("[3, 4]", "y = sum.dim_IntList(x, dim=[1])\nreturn (y,)\n"));            /* an accumulator */
	expect_new(plain, IN("[3, 4]", "y = constant_pad_nd(x, [1, 1])\nz = neg(y)\nreturn (z,)\n")); /* a condition */
	expect_new(plain, "x = input([3, 4], dtype=f64, seed=1)\ny = neg(x)\nreturn (y,)\n");         /* a dtype */
	expect_new(plain, IN("[3, 4]", "y = _to_copy(x, dtype=f16)\nreturn (y,)\n"));                 /* a cast */
	expect_new(plain, "x = input([3, 4], seed=1)\ni = zeros([2], dtype=i64)\ny = index_select(x, 0, i)\nreturn (y,)\n"); /* a bound */
}

static void test_marks(void)
{
	struct shapes plain, marked;
	const char *text = IN("[3, 4]", "y = neg(x)\nreturn (y,)\n");
	shapes_of(&plain, text, false);
	shapes_of(&marked, text, true);
	EXPECT(beyond(&plain, &marked) > 0, "marks are not seen");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_what_does_not_matter);
	RUN(test_what_matters);
	RUN(test_marks);
	arena_free(&arena);
	return TEST_END();
}
