/* cause_key_test.c: which texts of causes are one bug in several sorts, and which are not. */
#include "fuzz/triage/cause_key.h"
#include "tests/test.h"

static struct arena arena;

static const char *key(const char *text, const char *kind, const char *cure, const char *predicted)
{
	return cause_key(text, &(struct cause_evidence){kind, cure, predicted}, &arena);
}

static void same(const char *kind, const char *one, const char *other) { EXPECT_STR(key(one, kind, "", ""), key(other, kind, "", "")); }
static void apart(const char *kind, const char *one, const char *other)
{
	EXPECT(
		!str_eq(key(one, kind, "", ""), key(other, kind, "", "")), "'%s' and '%s' have the key '%s'", one, other, key(one, kind, "", ""));
}

/* Messages as signatures have them (message.c): numbers are N, what stands in brackets is gone. */
static void test_messages(void)
{
	same("raise", "torch:inductor: raise RuntimeError: got torch.bfloatN here", "torch:inductor: raise RuntimeError: got torch.bool here");
	same("raise", "torch:inductor: raise RuntimeError: \"x\" not implemented for 'Half'",
		"torch:inductor: raise RuntimeError: \"x\" not implemented for 'BFloatN'");
	same("raise", "torch:inductor: raise E: shape (N, N, N)", "torch:inductor: raise E: shape (N,)");
	same("raise", "torch:inductor: raise E: shape NxN of -N", "torch:inductor: raise E: shape NxNxN of N");
	same("raise", "torch:inductor: raise E: got torch.float32", "torch:inductor: raise E: got torch.floatN"); /* as older ones wrote it */
	same("crash", "torch:inductor: crash signal N; neg; strided", "torch:inductor: crash signal N; neg");
	EXPECT_STR(key("torch:inductor: raise E: got torch.int64 (N, N), not int", "raise", "", ""),
		"torch:inductor: raise E: got DTYPE (N), not int");
	apart("raise", "torch:inductor: raise E: 'int' object is not iterable", "torch:inductor: raise E: 'float' object is not iterable");
	apart("raise", "torch:inductor: raise E: no rule for argmin", "torch:inductor: raise E: no rule for argmax");
	apart("raise", "torch:inductor: raise E: got torch.floatN", "torch:aot_eager: raise E: got torch.floatN");
	apart("raise", "torch:inductor: raise E: s", "torch:inductor: raise E: N");
}

/* A message that was cut behind some characters ends elsewhere with another dtype. */
static void test_cut_messages(void)
{
	const char *const rest = "and a sentence that is so long that the signature does not have the end of it, whatever the dtype";
	same("raise", arena_printf(&arena, "torch:inductor: raise E: torch.floatN %.90s", rest),
		arena_printf(&arena, "torch:inductor: raise E: torch.bfloatN %.89s", rest));
	apart("raise", arena_printf(&arena, "torch:inductor: raise E: torch.floatN %.40s", rest),
		arena_printf(&arena, "torch:inductor: raise E: torch.floatN %.39s", rest));
}

/* Dtypes and layouts of inputs: that one is strided says how far the minimiser came; another dtype may be another kernel. */
static void test_inputs(void)
{
	same("value", "torch:inductor: value, wrong; argmin; u8; strided", "torch:inductor: value, wrong; argmin; u8");
	same("value", "torch:inductor: value, wrong; argmin; offset; strided", "torch:inductor: value, wrong; argmin; offset");
	apart("value", "torch:inductor: value, wrong; argmin; overlapping", "torch:inductor: value, wrong; argmin");
	apart("value", "torch:inductor: value, wrong; argmin; u8", "torch:inductor: value, wrong; argmin; i32");
	apart("value", "torch:inductor: value, wrong; argmin", "torch:inductor: gradient, wrong; argmin");
	apart("value", "torch:inductor: value, wrong; argmin", "torch:inductor: value, wrong; argmax");
}

#define SCATTER(op) "torch:inductor: layout predicted wrong; aten." op
#define PREDICTED(fake, real)                                                                                                              \
	"{\"op\": \"aten.x.default\", \"fake\": {\"dtype\": \"f32\", \"size\": [4, 3], \"stride\": " fake                                      \
	", \"offset\": 0}, \"real\": {\"dtype\": \"f32\", \"size\": [4, 3], \"stride\": " real ", \"offset\": 0}}"

/* The founding family: one rule predicts the layout of all of them. */
static void test_scatters(void)
{
	static const char overlaps[] = PREDICTED("[0, 1]", "[3, 1]"), windows[] = PREDICTED("[1, 1]", "[3, 1]");
	static const char both[] = PREDICTED("[0, 1]", "[0, 1]"), neither[] = PREDICTED("[1, 4]", "[3, 1]");
	const char *slice = key(SCATTER("slice_scatter"), "gradient", "probe.clone=bw:aten.slice_scatter.default", overlaps);
	EXPECT_STR(key(SCATTER("select_scatter"), "value", "probe.clone=fw:aten.select_scatter.default", overlaps), slice);
	EXPECT_STR(key(SCATTER("diagonal_scatter"), "gradient", "probe.clone=bw:aten.diagonal_scatter.default", windows), slice);
	EXPECT_STR(key(SCATTER("as_strided_scatter"), "gradient", "probe.clone=bw:aten.as_strided_scatter.default", overlaps), slice);

	const char *const others[] = {/* another cure, none, another fact, none that is known, another operator, another stage */
		key(SCATTER("select_scatter"), "value", "probe.fallback=aten.select_scatter.default", overlaps),
		key(SCATTER("select_scatter"), "value", "", overlaps),
		key(SCATTER("select_scatter"), "value", "probe.clone=fw:aten.select_scatter.default", both),
		key(SCATTER("select_scatter"), "value", "probe.clone=fw:aten.select_scatter.default", neither),
		key(SCATTER("select_scatter"), "value", "probe.clone=fw:aten.select_scatter.default", "{\"detail\": \"the fake raises\"}"),
		key(SCATTER("select_scatter"), "value", "probe.clone=fw:aten.select_scatter.default", ""),
		key(SCATTER("index_put"), "value", "probe.clone=fw:aten.index_put.default", overlaps),
		key("torch:aot_eager: layout predicted wrong; aten.select_scatter", "value", "probe.clone=fw:aten.select_scatter.default",
			overlaps),
		key("torch:inductor: value, wrong; aten.select_scatter", "value", "probe.clone=fw:aten.select_scatter.default", overlaps)};
	for (int i = 0; i < ARRAY_LEN(others); i++)
		EXPECT(!str_eq(others[i], slice), "case %d: '%s'", i, others[i]);
}

/* What a store of anybody's may hold. */
static void test_hostile(void)
{
	static char dims[4000] = "{\"fake\": {\"size\": [2", many[9000];
	for (int i = 0; i < 1000; i++)
		strcat(dims, ",2");
	snprintf(many, sizeof many, "%s], \"stride\": []}, \"real\": {\"size\": [], \"stride\": []}}", dims);
	const char *const texts[] = {
		"", "; strided", ": ", "raise", "x: raise ", "x: -N)", "x: N,)", "x: tl.", "torch:inductor: raise \xff\xc3"};
	for (int i = 0; i < ARRAY_LEN(texts); i++)
		EXPECT(key(texts[i], "raise", "=", many), "'%s'", texts[i]);
	EXPECT(key(SCATTER("slice_scatter"), "value", "probe.clone=x", many), "more dims than a tensor has");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_messages);
	RUN(test_cut_messages);
	RUN(test_inputs);
	RUN(test_scatters);
	RUN(test_hostile);
	arena_free(&arena);
	return TEST_END();
}
