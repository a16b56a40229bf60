/* suspect_test.c: whom an answer of PROBE_VALUES and the cures name. Texts in, a name out; nothing runs. */
#include "fuzz/triage/suspect.h"
#include "tests/test.h"

static struct arena arena;

static const struct failure gradient = {.verdict = VD_MISMATCH, .kind = FINDING_GRADIENT, .role = TR_GRADIENT, .sort = ERROR_ZERO};
static const struct failure strides = {.verdict = VD_MISMATCH, .kind = FINDING_META, .sort = ERROR_STRIDES};
static const struct failure dtype = {.verdict = VD_MISMATCH, .kind = FINDING_META, .sort = ERROR_DTYPE};

/* "graph node operator: rule", "nobody". cure: an operator that a cure names, may be NULL. */
static const char *suspect(const char *values, const struct failure *f, const char *cure)
{
	static const char *const rule[] = {"none", "cure", "value", "layout", "compile", "decomposition", "output"};
	struct suspect s;
	struct cure one = {.option.name = "probe.clone", .what = "a copy"};
	snprintf(one.option.value, sizeof one.option.value, "bw:%s", cure ? cure : "");
	if (!suspect_of_values(&s, values, f, &(struct cures){&one, cure != NULL, ""}, &arena))
		return "nobody";
	EXPECT(s.why[0], "no reason");
	return arena_printf(&arena, "%s %s %s: %s", s.graph, s.node, s.op, rule[s.rule]);
}

#define SAME "same f32[2][1] f32[2][1] -"

static void test_first_wrong_value(void)
{
	EXPECT_STR(suspect("fw: right\nfw a aten.neg.default equal - " SAME " -\n"
					   "bw: wrong, also with every value as an output, and more words than a line has\n"
					   "bw s aten.sum.default equal - " SAME " -\n"
					   "bw w aten.as_strided_scatter.default differs - " SAME " f,s\n"
					   "bw v aten.view.default differs - " SAME " w\n",
				   &gradient, NULL),
		"backward w aten.as_strided_scatter.default: value");
	/* A reader of something wrong is not the first, though what it reads was not seen itself. */
	EXPECT_STR(suspect("fw w aten.exp.default differs - " SAME " -\n"
					   "fw v aten.view.default not-materialised - " SAME " w\n"
					   "fw u aten.neg.default differs - " SAME " v\n",
				   &gradient, NULL),
		"forward w aten.exp.default: value");
	/* Nodes of the two graphs are not each other's inputs, whatever their names. */
	EXPECT_STR(suspect("fw w aten.exp.default equal - " SAME " -\nbw v aten.neg.default differs - " SAME " w\n", &gradient, NULL),
		"backward v aten.neg.default: value");
	EXPECT_STR(suspect("fw a aten.neg.default equal - " SAME " -\n", &gradient, NULL), "nobody");
	EXPECT_STR(suspect("", &gradient, NULL), "nobody");
}

static void test_layouts(void)
{
	static const char overlap[] = "bw e aten.expand.default equal - same f32[2,3][1,0] f32[2,3][1,0] - -\n"
								  "bw w aten.slice_scatter.default differs - overlap f32[2,3][1,0] f32[2,3][3,1] - e\n";
	static const char other[] = "fw t aten.cumsum.default equal - strides f32[2,3][1,2] f32[2,3][3,1] - -\n"
								"fw w aten.neg.default differs - " SAME " -\n";
	static const char made[] = "fw t aten.cumsum.default equal - same f16[2][1] f16[2][1] f32[2][0] -\n";
	EXPECT_STR(suspect(overlap, &gradient, NULL), "backward w aten.slice_scatter.default: layout");
	/* Strides that were predicted otherwise: only if strides are wrong, or a cure points there. */
	EXPECT_STR(suspect(other, &gradient, NULL), "forward w aten.neg.default: value");
	EXPECT_STR(suspect(other, &gradient, "aten.cumsum.default"), "forward t aten.cumsum.default: layout");
	EXPECT_STR(suspect(other, &strides, NULL), "forward t aten.cumsum.default: layout");
	EXPECT_STR(suspect(made, &dtype, NULL), "forward t aten.cumsum.default: layout");
	EXPECT_STR(suspect(made, &gradient, NULL), "nobody");
}

/* Where making outputs cures, the last node that cures alone; a wrong value that was seen counts for more. */
static void test_outputs(void)
{
	static const char alone[] = "fw a aten.exp.default not-materialised cures " SAME " -\n"
								"fw b aten.cos.default not-materialised cures " SAME " a\n"
								"fw c aten.neg.default equal keeps " SAME " b\n";
	EXPECT_STR(suspect(alone, &gradient, NULL), "forward b aten.cos.default: output");
	EXPECT_STR(suspect(arena_printf(&arena, "%sfw d aten.sin.default differs keeps " SAME " c\n", alone), &gradient, NULL),
		"forward d aten.sin.default: value");
}

static void test_raises(void)
{
	EXPECT_STR(
		suspect("fw: LoweringException while compiling\nfw a aten.exp.default compiles - same f32[2][1] - - -\n"
				"fw b aten.cos.default raises - same f32[2][1] - - a\nfw c aten.neg.default not-materialised - same f32[2][1] - - b\n",
			&gradient, NULL),
		"forward b aten.cos.default: compile");
}

/* Lines that are cut, have a word too many, or are of no graph name nobody. */
static void test_hostile(void)
{
	const char *many = arena_printf(&arena, "%0300d", 0);
	EXPECT_STR(suspect("fw w aten.exp.default differs -\nxx w aten.exp.default differs - " SAME " -\n", &gradient, NULL), "nobody");
	EXPECT_STR(suspect(arena_printf(&arena, "fw w %s differs - " SAME " -", many), &gradient, NULL),
		arena_printf(&arena, "forward w %s: value", many));
	EXPECT_STR(suspect("fw w aten.exp.default differs - " SAME " - -\n", &gradient, NULL), "nobody");
	EXPECT_STR(suspect("fw\nw\naten.exp.default\ndiffers\n-\nsame\na\nb\nc\n-\n", &gradient, NULL), "nobody");
}

static void test_cures(void)
{
	static const char operators[] =
		"fw any_1 aten.any.dim b8[2][1]\nbw sum_1 aten.sum.default f32[][]\nbw sum_2 aten.sum.default f32[][]\n";
	static const struct cure any = {{"probe.fallback", "aten.any.dim"}, "ATen's any"},
							 sum = {{"probe.clone", "bw:aten.sum.default"}, "a copy"}, off = {{"pattern_matcher", "0"}, "switching off"};
	const struct cure one[] = {off, any}, two[] = {any, sum};
	struct suspect s;
	EXPECT(suspect_of_cures(&s, &(struct cures){one, 2, ""}, operators, true, &arena), "one operator");
	EXPECT_STR(arena_printf(&arena, "%s %s %s", s.graph, s.node, s.op), "forward any_1 aten.any.dim");
	EXPECT(!suspect_of_cures(&s, &(struct cures){two, 2, ""}, operators, true, &arena), "two operators");
	EXPECT_STR(s.op, "");
	EXPECT(!suspect_of_cures(&s, &(struct cures){one, 1, ""}, operators, true, &arena), "an option");
	EXPECT(suspect_of_cures(&s, &(struct cures){two, 2, "aten.sum.default"}, operators, true, &arena), "the predicted one");
	EXPECT_STR(arena_printf(&arena, "%s %s %s", s.graph, s.node, s.op), "backward sum_1 aten.sum.default");
}

static void test_decompositions(void)
{
	struct suspect s;
	EXPECT(suspect_of_step(&s, "<OpOverload(op='aten.index_add', overload='default')>", &arena), "a decomposition");
	EXPECT_STR(s.op, "aten.index_add.default");
	EXPECT_STR(s.graph, "");
	EXPECT(!suspect_of_step(&s, "any_1", &arena) && !s.op[0], "a node");
	EXPECT(!suspect_of_step(&s, "<OpOverload(op='aten.\x1b[31m', overload='x')>", &arena) && !s.op[0], "no name");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_first_wrong_value);
	RUN(test_layouts);
	RUN(test_outputs);
	RUN(test_raises);
	RUN(test_hostile);
	RUN(test_cures);
	RUN(test_decompositions);
	arena_free(&arena);
	return TEST_END();
}
