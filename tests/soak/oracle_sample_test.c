/* oracle_sample_test.c: drawn evaluations of generated programs lie inside the enclosures of every profile (their operands are single
 * numbers, those of the enclosures are sets: another way to the same place), and suspects are what they should be: builtin:eager's own
 * results are next to never, an error as large as the enclosure permits is.
 *
 *   oracle_sample_test [programs] [seed] [composed]     composed: drawn evaluations alone, of programs that have a row with a body */
#include "eager/run/interp.h"
#include "eager/lang/edit.h"
#include "fuzz/gen/gen.h"
#include "oracle/judge/spread.h"
#include "tests/test.h"
#include "fuzz/triage/profile.h"

#include <stdlib.h>

static int nprograms = 600;
static uint64_t first_seed = 1;

static struct policy_limits limits; /* of the rows that programs are made of */

static bool make(struct prog *p, struct arena *a, uint64_t seed)
{
	struct choices c;
	struct policy pol;
	struct err err = {0};
	choices_from_seed(&c, seed / 50);
	CHECK(policy_draw(&pol, "default", &limits, &c, &err));
	choices_free(&c);
	choices_from_seed(&c, seed);
	bool made = gen_program(p, a, &c, &pol, &err);
	choices_free(&c);
	return made && !p->must_raise;
}

struct tally {
	int64_t programs, drawn, outside, narrower, element, open, suspects, suspected_programs, planted, found;
};

static void inside(
	struct tally *t, const struct num *set, const struct num *one, int64_t n, const char *what, int at, uint64_t seed, const char *profile)
{
	for (int64_t k = 0; k < n; k++) {
		bool number = dtype_is_float((enum dtype)set[k].dtype);
		bool ok = one[k].flags & NUM_ANY
			|| (number ? num_has(&set[k], one[k].flags & NUM_NAN ? NAN : one[k].hi)
					   : set[k].flags & NUM_ANY || (one[k].i >= set[k].i && one[k].i <= set[k].i + (int64_t)set[k].rad));
		EXPECT(ok, "seed %" PRIu64 " on %s, %s %d, element %" PRId64 ": drawn %.17g is not in %.17g +- %.9g flags %d", seed, profile, what,
			at, k, number ? one[k].hi : (double)one[k].i, set[k].hi, set[k].rad, set[k].flags);
		t->drawn++;
		t->narrower += number && set[k].rad > 0;
		t->outside += !ok;
		if (!ok)
			return;
	}
}

static void show(const struct prog *p)
{
	struct strbuf text;
	sb_init(&text);
	prog_print(&text, p);
	fputs(text.s, stdout);
	sb_free(&text);
}

static void draws(struct tally *t, const struct judge_case *jc, struct arena *a, uint64_t seed)
{
	for (int call = 0; call < jc->ncalls; call++) {
		const struct reference *ref = &jc->ref[call];
		struct arena_mark m = arena_mark(a);
		struct reference one;
		struct err err = {0};
		if (ref_sample(&one, jc->bound[call], jc->licence, jc->limit, seed + 1, a, &err) != REF_OK)
			continue;
		for (int i = 0; i < ref->nouts; i++)
			inside(t, ref->out[i].val, one.out[i].val, ref->out[i].n, "output", i, seed, jc->licence->kernels->name);
		for (int i = 0; i < ref->ngrads; i++)
			if (ref->grad[i].present)
				inside(t, ref->grad[i].val, one.grad[i].val, ref->grad[i].n, "gradient", i, seed, jc->licence->kernels->name);
		for (int i = 0; i < ref->nstorages; i++)
			inside(t, ref->storage[i].val, one.storage[i].val, ref->storage[i].n, "storage", i, seed, jc->licence->kernels->name);
		arena_release(a, m);
	}
}

static void test_draws_are_inside(void)
{
	static const char *const targets[] = {"builtin:eager", "torch:eager@cpu", "torch:inductor@cpu", "torch:inductor@cuda"};
	struct tally t = {0};
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < nprograms; i++) {
		struct prog p;
		struct licence_profile l;
		struct judge_case jc;
		uint64_t seed = first_seed + (uint64_t)i;
		const char *target = targets[seed % ARRAY_LEN(targets)];
		EXPECT(profile_named(&l, target), "%s", target);
		if (make(&p, &a, seed) && judge_prepare(&jc, &p, &l, TAPE_LIMITS_DEFAULT, &a)) {
			int64_t outside = t.outside;
			draws(&t, &jc, &a, seed);
			if (t.outside > outside)
				show(&p);
		}
		arena_reset(&a);
	}
	arena_free(&a);
	printf("  %" PRId64 " numbers drawn, %" PRId64 " of them from sets\n", t.drawn, t.narrower);
	EXPECT(t.narrower > t.drawn / 100, "sets are drawn from");
}

/* Adds most of the radius to every open element of the results whose radius is wide. */
static bool plant(struct result *r, const struct judge_case *jc)
{
	bool some = false;
	for (int call = 0; call < jc->ncalls; call++)
		for (int i = 0; i < jc->ref[call].nouts; i++) {
			const struct ref_value *v = &jc->ref[call].out[i];
			unsigned char *data = (unsigned char *)(uintptr_t)r->call[call].out[i].data;
			int nb = dtype_nbytes(v->meta.dtype);
			for (int64_t k = 0; dtype_is_float(v->meta.dtype) && k < v->n; k++) {
				const struct num *s = &v->val[k];
				if (s->flags || s->rad <= 64 * num_half_ulp(&num_format[v->meta.dtype], fabs(s->hi)))
					continue;
				dtype_store_f(v->meta.dtype, data + k * nb, s->hi + s->rad * 0.9);
				some = true;
			}
		}
	return some;
}

static void test_suspects(void)
{
	struct tally t = {0};
	struct arena a;
	struct licence_profile l;
	arena_init(&a);
	EXPECT(profile_named(&l, "builtin:eager"), "builtin:eager");
	for (int i = 0; i < nprograms; i++) {
		struct prog p;
		struct judge_case jc;
		struct judgement j;
		struct result r = {0};
		struct err err = {0};
		if (!make(&p, &a, first_seed + (uint64_t)i) || interp_run(&r, &p, &a, NULL, &err) != INTERP_OK || r.status != RES_OK
			|| !judge_prepare(&jc, &p, &l, TAPE_LIMITS_DEFAULT, &a)) {
			arena_reset(&a);
			continue;
		}
		judge(&j, &jc, &r, 0, &a);
		EXPECT(j.status == JUDGE_PASS, "seed %" PRIu64, first_seed + (uint64_t)i);
		spread_judge(&j, &jc, &r, &a);
		t.programs++;
		t.element += j.nelement;
		t.open += j.count[EL_AGREE] - j.exact;
		t.suspects += j.suspect;
		t.suspected_programs += j.suspect > 0;
		if (j.suspect > 0) {
			struct strbuf text;
			sb_init(&text);
			prog_print(&text, &p);
			printf("  %" PRId64 " suspects, seed %" PRIu64 ":\n%s", j.suspect, first_seed + (uint64_t)i, text.s);
			sb_free(&text);
		}
		if (plant(&r, &jc)) {
			judge(&j, &jc, &r, 0, &a);
			EXPECT(j.suspect == 0, "nobody was asked");
			if (j.status == JUDGE_PASS) {
				spread_judge(&j, &jc, &r, &a);
				t.planted++;
				t.found += j.suspect > 0;
			}
		}
		arena_reset(&a);
	}
	arena_free(&a);
	printf("  %" PRId64 " programs, %" PRId64 " elements, %" PRId64 " not exact: %" PRId64 " suspects in %" PRId64 " programs; of %" PRId64
		   " programs with errors of 0.9 wide radii, %" PRId64 " suspected\n",
		t.programs, t.element, t.open, t.suspects, t.suspected_programs, t.planted, t.found);
	/* Norms of few samples come that near to a radius: 3 programs of 593, all of them norms. */
	EXPECT(t.open > 1000 && t.suspected_programs <= t.programs / 100, "builtin:eager's results are suspects");
	EXPECT(t.planted > 20 && t.found > t.planted / 3, "errors are suspects");
}

/* The same program in wider dtypes is a program, and eager runs it as the reference says. */
static void test_wide_twins(void)
{
	struct arena a;
	struct licence_profile l;
	int made = 0, wide = 0, judged = 0;
	arena_init(&a);
	EXPECT(profile_named(&l, "builtin:eager"), "builtin:eager");
	for (int i = 0; i < nprograms; i++) {
		struct prog p, twin;
		struct judge_case jc;
		struct judgement j;
		struct result r = {0};
		struct err err = {0};
		uint64_t seed = first_seed + (uint64_t)i;
		if (make(&p, &a, seed) && ++made && edit_widen(&twin, &p, &a, &err)) {
			wide++;
			for (int k = 0; k < twin.nnode; k++)
				for (int w = 0; w < twin.node[k].nout; w++)
					EXPECT(!(DTS(twin.node[k].out[w].meta.dtype) & (DTS(DT_F16) | DTS(DT_BF16))), "seed %" PRIu64 ": a half is left", seed);
			if (interp_run(&r, &twin, &a, NULL, &err) == INTERP_OK && r.status == RES_OK
				&& judge_prepare(&jc, &twin, &l, TAPE_LIMITS_DEFAULT, &a)) {
				judge(&j, &jc, &r, 0, &a);
				EXPECT(j.status == JUDGE_PASS, "seed %" PRIu64 ", its twin", seed);
				judged++;
			}
		}
		arena_reset(&a);
	}
	arena_free(&a);
	printf("  %d programs, %d have twins, %d of them judged\n", made, wide, judged);
	EXPECT(wide > made * 3 / 4 && judged > wide * 9 / 10, "most have twins");
}

/* The rows with a body, and some that make their operands infinite, equal or huge, sum their results and mask them. */
static void only_composed(struct strbuf *ops)
{
	for (int op = 0; op < op_nrows; op++)
		if (op_info[op].family == F_COMPOSED)
			sb_printf(ops, "%s,", op_info[op].name);
	sb_puts(ops, "mul.Tensor,add.Tensor,exp,where.self,expand,sum,mean.dim,_to_copy");
	limits.ops = ops->s;
}

int main(int argc, char **argv)
{
	struct strbuf ops;
	sb_init(&ops);
	nprograms = argc > 1 ? atoi(argv[1]) : nprograms;
	first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : first_seed;
	if (argc > 3 && str_eq(argv[3], "composed"))
		only_composed(&ops);
	RUN(test_draws_are_inside);
	if (!limits.ops) {
		RUN(test_suspects);
		RUN(test_wide_twins);
	}
	sb_free(&ops);
	return TEST_END();
}
