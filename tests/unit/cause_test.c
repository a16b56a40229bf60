/* cause_test.c: which findings have one cause: texts that are the same, and texts that are not. Nothing runs. */
#include "fuzz/triage/cause.h"
#include "tests/unit/program.h"

static struct target inductor(void)
{
	struct target t;
	struct err err = {0};
	EXPECT(target_parse(&t, "torch-2.11.0:inductor@cpu", &err), "%s", err.msg);
	return t;
}

/* The cause of a meta or value failure that these options cure. */
static const char *cause(enum finding_kind kind, enum error_sort sort, const char *cure, const char *other, const char *predicted)
{
	const struct target t = inductor();
	const struct prog *p = program("# scatterproof 1\nx = input([3], dtype=u8, seed=1)\ny = any.dim(x, dim=0)\nreturn (y,)\n");
	const struct failure f = {.verdict = VD_MISMATCH, .kind = kind, .sort = sort};
	struct blame b = {.stage = "inductor", .invariant = "", .predicted = predicted};
	const char *const values[] = {cure, other};
	for (int i = 0; i < ARRAY_LEN(values); i++)
		if (values[i]) {
			struct cure *c = &b.cure[b.ncures++];
			*c = (struct cure){.option.name = "probe.fallback", .what = ""};
			snprintf(c->option.value, sizeof c->option.value, "%s", values[i]);
		}
	return cause_of(p, &f, &b, &t, &arena);
}

static void test_operators(void)
{
	EXPECT_STR(cause(FINDING_META, ERROR_DTYPE, "aten.any.dim", NULL, ""), "torch:inductor: meta, dtype; aten.any");
	EXPECT_STR(cause(FINDING_META, ERROR_DTYPE, "aten.any.default", "bw:aten.any.dim", ""), "torch:inductor: meta, dtype; aten.any");
	EXPECT_STR(cause(FINDING_META, ERROR_DTYPE, "aten.any.dim", "aten.neg.default", ""), "torch:inductor: meta, dtype; any; u8");
	EXPECT_STR(cause(FINDING_VALUE, ERROR_ZERO, "aten.neg.default", "fw:aten.any.dim", "aten.any.dim"),
		"torch:inductor: layout predicted wrong; aten.any");
	EXPECT_STR(cause(FINDING_VALUE, ERROR_ZERO, "aten.neg.default", NULL, "aten.any.dim"), "torch:inductor: value, wrong; aten.neg");
}

/* The cause where cures name two operators and this one is suspected. */
static const char *suspected(const char *op, enum suspect_rule rule, const char *dtype)
{
	static const struct cure two[] = {{{"probe.clone", "bw:aten.sum.default"}, ""}, {{"probe.clone", "bw:aten.full.default"}, ""}};
	const struct target t = inductor();
	const struct prog *p =
		program(arena_printf(&arena, "# scatterproof 1\nx = input([3], dtype=%s, seed=1)\ny = cos(x)\nreturn (y,)\n", dtype));
	const struct failure f = {.verdict = VD_MISMATCH, .kind = FINDING_GRADIENT, .sort = ERROR_ZERO};
	struct blame b = {.stage = "inductor", .invariant = "", .predicted = "", .suspect = {.op = op, .rule = rule}};
	for (int i = 0; i < ARRAY_LEN(two); i++)
		b.cure[b.ncures++] = two[i];
	return cause_of(p, &f, &b, &t, &arena);
}

/* What was seen of the compiler's graph tells a cause; what is guessed does not, nor an operator to which any program may be reduced. */
static void test_suspects(void)
{
	EXPECT_STR(
		suspected("aten.as_strided_scatter.default", SUSPECT_VALUE, "f32"), "torch:inductor: gradient, wrong; aten.as_strided_scatter");
	EXPECT_STR(
		suspected("aten.as_strided_scatter.default", SUSPECT_LAYOUT, "f32"), "torch:inductor: gradient, wrong; aten.as_strided_scatter");
	EXPECT_STR(suspected("aten.argmin.default", SUSPECT_VALUE, "f64"), "torch:inductor: gradient, wrong; aten.argmin; f64");
	EXPECT_STR(suspected("aten.as_strided_scatter.default", SUSPECT_OUTPUT, "f32"), "torch:inductor: gradient, wrong; cos");
	EXPECT_STR(suspected("aten.neg.default", SUSPECT_VALUE, "f32"), "torch:inductor: gradient, wrong; cos");
	EXPECT_STR(suspected("", SUSPECT_NONE, "f32"), "torch:inductor: gradient, wrong; cos");
}

/* Sizes, the dtype and strides are not one bug. */
static void test_layouts(void)
{
	EXPECT_STR(cause(FINDING_META, ERROR_SIZES, NULL, NULL, ""), "torch:inductor: meta, sizes; any; u8");
	EXPECT_STR(cause(FINDING_META, ERROR_STRIDES, NULL, NULL, ""), "torch:inductor: meta, strides alone; any; u8");
}

/* Of a dtype that a minimiser could not make f32: another rounding, another kernel, another bug. */
static void test_dtypes(void)
{
	static const char *const dtype[][2] = {{"f32", ""}, {"f16", "; f16"}, {"bf16", "; bf16"}, {"f64", "; f64"}};
	const struct target t = inductor();
	const struct failure f = {.verdict = VD_MISMATCH, .kind = FINDING_VALUE, .sort = ERROR_OTHER};
	const struct blame b = {.stage = "inductor", .invariant = "", .predicted = ""};
	for (int i = 0; i < ARRAY_LEN(dtype); i++) {
		const struct prog *p =
			program(arena_printf(&arena, "# scatterproof 1\nx = input([3], dtype=%s, seed=1)\ny = neg(x)\nreturn (y,)\n", dtype[i][0]));
		EXPECT_STR(cause_of(p, &f, &b, &t, &arena), arena_printf(&arena, "torch:inductor: value, wrong; neg%s", dtype[i][1]));
	}
}

int main(void)
{
	arena_init(&arena);
	RUN(test_operators);
	RUN(test_suspects);
	RUN(test_layouts);
	RUN(test_dtypes);
	arena_free(&arena);
	return TEST_END();
}
