/* selfcatch.c: can we still see? A small fixed-seed version of `bench catch`: errors planted into correct results are noticed, all of
 * them on elements that the reference calls exact. */
#include "fuzz/cli/catch.h"
#include "oracle/judge/addends.h"
#include "tests/test.h"
#include "fuzz/triage/profile.h"

enum { PROGRAMS = 600 };

static void run_table(struct catch_table *t, enum dtype dt, const char *fill)
{
	struct arena a;
	struct err err = {0};
	struct catch_case c = {.arena = &a,
		.source = {.policy = "default", .limits.dtypes = dtype_info[dt].name, .seed = 20, .legal = true},
		.dtype = dt,
		.fill = fill};
	arena_init(&a);
	*t = (struct catch_table){0};
	for (int i = 0; i < PROGRAMS; i++)
		EXPECT(catch_one(t, &c, &err), "%s", err.msg);
	arena_free(&a);
}

static void check_table(enum dtype dt, const char *fill, double least)
{
	struct catch_table t;
	struct catch_count four = {0};
	run_table(&t, dt, fill);
	const char *name = dtype_info[dt].name;
	EXPECT(t.unjudged + t.diverged <= PROGRAMS / 20, "%s %s: %d of %d programs could not be used", name, fill,
		(int)(t.unjudged + t.diverged), PROGRAMS);
	for (int p = 0; p < NPLANTS; p++) {
		struct catch_count all = catch_sum(&t, (enum plant)p), exact = t.count[p][KNOWN_EXACT];
		EXPECT(all.planted > PROGRAMS / 3 && exact.planted > PROGRAMS / 6, "%s %s, %s: planted %d, exact %d", name, fill, plant_name[p],
			(int)all.planted, (int)exact.planted);
		EXPECT(exact.flagged == exact.planted, "%s %s, %s: %d of %d on exact elements", name, fill, plant_name[p], (int)exact.flagged,
			(int)exact.planted);
		if (p != PLANT_ULP)
			four.planted += all.planted, four.flagged += all.flagged;
	}
	EXPECT(
		(double)four.flagged >= least * (double)four.planted, "%s %s: %d of %d flagged", name, fill, (int)four.flagged, (int)four.planted);
}

static void test_f64_normal(void) { check_table(DT_F64, "normal", 0.97); }
static void test_f32_normal(void) { check_table(DT_F32, "normal", 0.97); }
static void test_f16_normal(void) { check_table(DT_F16, "normal", 0.95); }
static void test_bf16_normal(void) { check_table(DT_BF16, "normal", 0.85); }
static void test_f32_dyadic(void) { check_table(DT_F32, "dyadic", 0.97); }
static void test_bf16_dyadic(void) { check_table(DT_BF16, "dyadic", 0.85); }

/* The addends that a "dropped operand" is made of are those of the program. */
static void test_addends(void)
{
	static const char text[] = "x: \"f32[5]\" = input([5], seed=1, fill=ties, requires_grad=True)\n"
							   "y: \"f32[3, 5]\" = input([3, 5], seed=2, fill=positive)\n"
							   "a = add.Tensor(x, y)\ns = sum.dim_IntList(y, dim=[1])\nm = mean.dim(y, dim=[1])\n"
							   "g = full([3, 5], 2.0)\nreturn (s, m, a)\nbackward (a: g,)\n";
	struct arena a;
	struct prog p;
	struct err err = {0};
	struct licence_profile l;
	struct reference ref;
	struct addends s;
	arena_init(&a);
	EXPECT(prog_read(&p, &a, text, strlen(text), READ_LENIENT, &err), "%d:%d: %s", err.line, err.col, err.msg);
	EXPECT(profile_named(&l, "builtin:eager"), "no profile");
	EXPECT(ref_run(&ref, &p, &l, TAPE_LIMITS_DEFAULT, &a, &err) == REF_OK, "%s", err.msg);
	for (int64_t k = 0; k < 3; k++) {
		EXPECT(ref_addends(&s, &ref, &ref.out[0], k) && s.n == 5 && s.abs == ref.out[0].val[k].hi, "sum: %d addends, %g", (int)s.n, s.abs);
		EXPECT(ref_addends(&s, &ref, &ref.out[1], k) && s.n == 5 && fabs(s.abs - ref.out[1].val[k].hi) <= 1e-6 * s.abs,
			"mean: %d addends, %g", (int)s.n, s.abs);
	}
	EXPECT(!ref_addends(&s, &ref, &ref.out[2], 0), "x + y is no sum of a list");
	for (int64_t k = 0; k < 5; k++)
		EXPECT(ref_addends(&s, &ref, &ref.grad[0], k) && s.n == 3 && s.abs == 6, "gradient: %d addends, %g", (int)s.n, s.abs);
	arena_free(&a);
}

int main(void)
{
	RUN(test_addends);
	RUN(test_f64_normal);
	RUN(test_f32_normal);
	RUN(test_f16_normal);
	RUN(test_bf16_normal);
	RUN(test_f32_dyadic);
	RUN(test_bf16_dyadic);
	return TEST_END();
}
