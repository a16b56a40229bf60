/* sweep_test.c: rules in ratios, and what is said of a series. */
#include "fuzz/triage/ratio_law.h"
#include "fuzz/triage/sweep.h"
#include "tests/test.h"

#include <math.h>

static struct arena arena;

static double part_gone(double n) { return n / (n - 7); }
static double rest_gone(double n) { return 20 / (20 - n); }
static double part_left(double n) { return (n - 5) / n; }
static double rest_left(double n) { return (64 - n) / 64; }
static double over(double n) { return n / 4; }
static double under(double n) { return 8 / n; }
static double fraction(double n) { return n > 0 ? 20.0 / 13 : 0; }
static double zero(double n) { return n * 0; }
static double third(double n) { return n * 0 + 1.2345; }
static double none(double n) { return sqrt(n); }

static void test_laws(void)
{
	static const struct {
		double (*ratio)(double n);
		double within;
		const char *want;
	} row[] = {
		{part_gone, 0, "n/(n - 7)"},
		{rest_gone, 0, "20/(20 - n)"},
		{part_left, 0, "(n - 5)/n"},
		{rest_left, 0, "(64 - n)/64"},
		{over, 0, "n/4"},
		{under, 0, "8/n"},
		{fraction, 1e-7, "1.53846 = 20/13"},
		{fraction, 1e-3, "1.54"},
		{zero, 0, "0"},
		{third, 1e-7, "1.2345"},
		{none, 0, NULL},
		{part_gone, 1e-4, "n/(n - 7)"},
	};
	static const double sizes[] = {9, 13, 16, 33};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct ratio_point p[ARRAY_LEN(sizes)];
		for (int k = 0; k < ARRAY_LEN(sizes); k++) /* as if measured: off by what is allowed, in turns */
			p[k] = (struct ratio_point){sizes[k], row[i].ratio(sizes[k]) + (k % 2 ? -0.5 : 0.5) * row[i].within, row[i].within};
		const char *law = ratio_law(p, ARRAY_LEN(sizes), &arena), *want = row[i].want;
		EXPECT(
			law && want ? strcmp(law, want) == 0 : law == want, "row %d: got '%s', want '%s'", i, law ? law : "none", want ? want : "none");
		EXPECT(!ratio_law(p, 1, &arena), "one point shows no rule");
		p[3].ratio *= 1.01;
		p[3].ratio += 0.01;
		law = ratio_law(p, ARRAY_LEN(sizes), &arena);
		EXPECT(!law || (row[i].within > 0 && !want), "row %d: one point that is off: '%s'", i, law ? law : "none");
	}
	struct ratio_point p[2] = {{NAN, 2, 0}, {NAN, 3, 0}};
	EXPECT(!ratio_law(p, 2, &arena), "what is no size has no rule but one number");
}

/* A letter a row: f fails, o otherwise, p passes, ? open; sizes or versions that begin with `first`. */
static struct sweep_series series(enum sweep_axis axis, const char *answers)
{
	static const char letters[] = "fop?";
	struct sweep_series s = {.axis = axis, .name = "", .bound = ""};
	for (; answers[s.n]; s.n++) {
		double n = 9 + s.n;
		s.row[s.n] = (struct sweep_row){.value = arena_printf(&arena, axis == SWEEP_VERSIONS ? "2.%.0f.0" : "%.0f", n),
			.why = "no licence",
			.number = n,
			.ratio = n / (n - 7),
			.answer = (enum sweep_answer)(strchr(letters, answers[s.n]) - letters)};
	}
	return s;
}

static void test_words(void)
{
	static const struct {
		enum sweep_axis axis;
		const char *answers, *summary, *since;
	} row[] = {
		{SWEEP_SHAPES, "ppffffff", "fails for 6 of 8 sizes; passes for 9, 10; the ratio is n/(n - 7)", NULL},
		{SWEEP_SHAPES, "fff", "fails for all 3 sizes; the ratio is n/(n - 7)", NULL},
		{SWEEP_SHAPES, "f", "fails for 9", NULL},
		{SWEEP_VERSIONS, "ffppp", "fails on 2.9.0, 2.10.0; passes on 2.11.0, 2.12.0, 2.13.0",
			"fails from 2.9.0 (first installed) to 2.10.0; right from 2.11.0 on"},
		{SWEEP_VERSIONS, "ppff", "fails on 2.11.0, 2.12.0; passes on 2.9.0, 2.10.0",
			"right from 2.9.0 (first installed) to 2.10.0; fails from 2.11.0 to 2.12.0 (last installed)"},
		{SWEEP_VERSIONS, "f", "fails on 2.9.0", "fails on 2.9.0 (the only one)"},
		{SWEEP_VERSIONS, "ff", "fails on all 2 versions", "fails from 2.9.0 (first installed) to 2.10.0 (last installed)"},
		{SWEEP_VERSIONS, "f?p", "fails on 2.9.0; passes on 2.11.0; cannot be told on 2.10.0",
			"fails on 2.9.0 (first installed); cannot be told on 2.10.0 (no licence); right from 2.11.0 on"},
		{SWEEP_VERSIONS, "fpof", "fails on 2.9.0, 2.12.0; fails in another way on 2.11.0; passes on 2.10.0",
			"fails on 2.9.0 (first installed); right on 2.10.0; fails in another way on 2.11.0; fails on 2.12.0 (last installed)"},
		{SWEEP_DTYPES, "f?????????", "fails for 9; cannot be told for 10, 11, 12, 13, 14, 15 and 3 more", NULL},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct sweep_series s = series(row[i].axis, row[i].answers);
		for (int k = 0; k < s.n && row[i].axis != SWEEP_SHAPES; k++)
			s.row[k].ratio = s.row[k].number = NAN;
		EXPECT_STR(sweep_summary(&s, &arena), row[i].summary);
		if (row[i].since)
			EXPECT_STR(sweep_since(&s, &arena), row[i].since);
	}
	struct sweep_series s = series(SWEEP_SHAPES, "fff");
	s.row[0].moved = true;
	s.row[0].ratio = 5;
	s.left = 2;
	s.bound = "from 64 on a tensor is too large";
	EXPECT_STR(sweep_summary(&s, &arena),
		"fails for all 3 sizes; the ratio is n/(n - 7) where no positions moved; 2 not tried any more; "
		"from 64 on a tensor is too large");
}

/* Versions are compared by name; what one of them does not know is no difference. */
static void test_agreement(void)
{
	static const struct {
		const char *x, *y;
		bool agree;
	} row[] = {
		{"ffp", "ffp", true},
		{"ffp", "fpp", false},
		{"ffp", "ffo", true}, /* whatever else goes wrong there, this is gone */
		{"ffp", "ff?", true},
		{"ffp", "ff", true},
		{"ffp", "fff", false},
		{"?", "f", true},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		const struct sweep_series x = series(SWEEP_VERSIONS, row[i].x), y = series(SWEEP_VERSIONS, row[i].y);
		EXPECT_INT(sweep_agrees(&x, &y), row[i].agree);
		EXPECT_INT(sweep_agrees(&y, &x), row[i].agree);
	}
}

int main(void)
{
	arena_init(&arena);
	RUN(test_laws);
	RUN(test_words);
	RUN(test_agreement);
	arena_free(&arena);
	return TEST_END();
}
