/* bench_compiler.c: what the stages of the built-in compiler cost: programs per second that one core generates, compiles with all invariants
 * checked, runs, refers and compares. */
#include <inttypes.h>

#include "compiled/targets/builtin/builtin.h"
#include "eager/base/clock.h"
#include "fuzz/cli/bench.h"
#include "fuzz/triage/profile.h"
#include "oracle/judge/judge.h"

enum { SMALL_ROWS = 8, SMALL_ELEMENTS = 1024 };

/* Few rows and elements, and one call of the data that it has. */
static bool made_small(struct prog *p)
{
	int64_t elements = 0;
	p->ncall = 0;
	for (int i = 0; i < p->nnode; i++)
		if (!node_is_sym(&p->node[i]) && p->node[i].nout > 0)
			elements += meta_numel(node_meta(p, i));
	return prog_operators(p) <= SMALL_ROWS && elements <= SMALL_ELEMENTS;
}

struct stage_work {
	int64_t programs, calls, other, diverged;
	double s[3]; /* generate; compile and run; refer and compare */
};

static bool measure(struct stage_work *w, struct arena *a, struct program_source *src, int64_t number, bool small,
	const struct compile_options *o, const struct licence_profile *l, struct err *err)
{
	struct prog p;
	struct result r;
	struct judge_case jc;
	struct judgement j;
	const double begin = clock_cpu_s();
	if (!source_program(&p, a, src, number, err))
		return false;
	const double made = clock_cpu_s();
	if (small && !made_small(&p))
		return true;
	const double from = clock_cpu_s();
	compile_run(&r, &p, o, a);
	const double ran = clock_cpu_s();
	const bool judged = judge_prepare(&jc, &p, l, TAPE_LIMITS_DEFAULT, a);
	judge(&j, &jc, &r, 0, a);
	const double compared = clock_cpu_s();
	if (!judged || r.status != RES_OK) {
		w->other++;
		return true;
	}
	w->programs++;
	w->calls += r.ncalls;
	w->diverged += j.status != JUDGE_PASS;
	w->s[0] += made - begin;
	w->s[1] += ran - from;
	w->s[2] += compared - ran;
	return true;
}

static bool stage_row(const struct bench_table *t, const char *target, bool small, struct err *err)
{
	const struct options *o = t->o;
	struct program_source src = bench_source(o, NULL);
	struct stage_work w = {0};
	struct target named;
	struct compile_options co;
	struct licence_profile l;
	struct arena a;
	CHECK(target_parse(&named, target, err) && builtin_compile_options(&co, &named) && profile_named(&l, "builtin:eager"));
	arena_init(&a);
	const int64_t n = o->programs ? o->programs : 20000;
	const double limit = o->time_s > 0 ? o->time_s : 10, begin = clock_cpu_s();
	bool ok = true;
	for (int64_t i = 0; ok && i < n && clock_cpu_s() - begin < limit; i++) {
		arena_reset(&a);
		ok = measure(&w, &a, &src, i, small, &co, &l, err);
	}
	arena_free(&a);
	const double s = w.s[0] + w.s[1] + w.s[2], programs = (double)MAX(w.programs, 1);
	if (ok)
		table_row(t, target,
			(double[]){programs / s, (double)w.calls / s, 1e6 * w.s[0] / programs, 1e6 * w.s[1] / programs, 1e6 * w.s[2] / programs,
				programs, (double)w.other, (double)w.diverged});
	return ok;
}

bool bench_compiler(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"programs/s", 11, 0}, {"calls/s", 9, 0}, {"generate us", 12, 0}, {"compile us", 11, 0},
		{"refer us", 9, 0}, {"programs", 9, 0}, {"unjudged", 9, 0}, {"diverge", 8, 0}};
	static const char *const targets[] = {"builtin:joint", "builtin:passes", "builtin:loops", "builtin:jit"};
	const struct bench_table t = {o, "compiler", ARRAY_LEN(columns), columns};
	for (int small = 1; small >= 0; small--) {
		table_begin(&t,
			small
				? "generate, compile with all validators, run, refer and compare, one core: at most 8 operators and 1024 elements, one call "
				  "(goal for jit: >= 2000 programs/s)"
				: "the same with all calls of the programs that the policy makes");
		for (int i = 0; i < ARRAY_LEN(targets); i++)
			if (!stage_row(&t, targets[i], small, err))
				return false;
	}
	return true;
}
