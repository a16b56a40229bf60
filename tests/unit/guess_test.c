/* guess_test.c: what is near enough to be meant. */
#include "eager/base/guess.h"
#include "tests/test.h"

static const char *const names[] = {"fuzz", "check", "findings", "slice_scatter", "sum.dim_IntList", "add.Tensor"};

static void guesses(void)
{
	static const struct {
		const char *given, *want;
	} rows[] = {
		{"chekc", "check"},
		{"CHECK", "check"},
		{"chck", "check"},
		{"checkk", "check"},
		{"cehck", "check"},
		{"find", "findings"},
		{"slice_scaterr", "slice_scatter"},
		{"sum.dim", "sum.dim_IntList"},
		{"fzuz", "fuzz"},
		{"fzu", ""},
		{"xyz", ""},
		{"", ""},
		{"f", ""},
		{"q", ""},
		{"slice", "slice_scatter"},
		{"scatter", ""},
		{"add.tensor", "add.Tensor"},
		{"a name that is longer than what a guess looks at, by some characters, and more", ""},
	};
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		struct guess g;
		char want[64] = "";
		if (rows[i].want[0])
			snprintf(want, sizeof want, "; did you mean '%s'?", rows[i].want);
		EXPECT_STR(guess_from(&g, rows[i].given, names, sizeof names[0], ARRAY_LEN(names)), want);
	}
}

/* The nearest wins, the first of equals, whatever the order of candidates. */
static void nearest(void)
{
	struct guess g;
	guess_start(&g, "abcdefg", 7);
	guess_add(&g, "abcdxxg", 7);
	EXPECT_STR(g.best, "abcdxxg");
	guess_add(&g, "abcdexg", 7);
	guess_add(&g, "abcdefx", 7);
	guess_add(&g, "xbcdxfg", 7);
	EXPECT_STR(g.best, "abcdexg");
}

int main(void)
{
	RUN(guesses);
	RUN(nearest);
	return TEST_END();
}
