/* fuzz_programs.c: libFuzzer target: programs as text. What reads is run by every stage of the built-in compiler in this process, and the
 * reference judges each: no crash, no broken invariant, no divergence. Mutants are made of programs, not of bytes (fuzz/gen/mutate.h), so
 * what libFuzzer tries is valid; and it is told the features of each (fuzz/campaign/feature.h) as counters beside its own coverage. */
#include "compiled/run/execute.h"
#include "compiled/compile.h"
#include "compiled/targets/builtin/builtin.h"
#include "eager/run/interp.h"
#include "fuzz/campaign/feature.h"
#include "fuzz/gen/gen.h"
#include "fuzz/gen/mutate.h"
#include "fuzz/triage/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t none, const uint8_t *two, size_t ntwo, uint8_t *out, size_t max, unsigned seed);

/* Of a program as large as the generator's at most: a hand-written one may run for minutes. */
enum { MAX_ROWS = 120, MAX_ELEMENTS = 1 << 16, NCOUNTERS = 1 << 15 };
/* libFuzzer clears them before each input. */
IN_SECTION("__libfuzzer_extra_counters") static uint8_t counters[NCOUNTERS];

static void count_feature(void *ctx, enum feature_kind kind, uint64_t hash)
{
	(void)ctx, (void)kind;
	counters[hash % NCOUNTERS] = 1;
}

static bool read_program(struct prog *p, struct arena *a, const uint8_t *data, size_t size)
{
	struct err err = {0};
	int64_t n = 0;
	if (!prog_read(p, a, (const char *)data, size, READ_STRICT, &err) || p->must_raise || p->nnode > MAX_ROWS)
		return false;
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->node[i].nout; k++)
			n += meta_numel(&p->node[i].out[k].meta);
	return n <= MAX_ELEMENTS;
}

/* ---- one input -------------------------------------------------------------------------------------------------------------------- */

static void expect_agreement(const struct prog *p, const struct result *r, const struct target *t, struct arena *a)
{
	struct outcome o;
	outcome_of(&o, p, r, t, NULL, a);
	if (o.verdict != VD_PASS && o.verdict != VD_UNJUDGED && o.verdict != VD_UNSUPPORTED)
		BUG("%s: %s: %s\n%s", target_text(t, a), verdict_name[o.verdict], o.why, o.report);
}

static void run_stage(const struct prog *p, const char *name, struct arena *a)
{
	struct target t;
	struct compile_options o;
	struct result r;
	struct err err = {0};
	CHECK(target_parse(&t, name, &err) && builtin_compile_options(&o, &t));
	compile_run(&r, p, &o, a);
	expect_agreement(p, &r, &t, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const stages[] = {"builtin:functional", "builtin:joint", "builtin:partitioned", "builtin:passes",
		"builtin:passes+partition=1", "builtin:passes+freezing=1", "builtin:loops", "builtin:jit"};
	struct arena a;
	struct prog p;
	struct result r;
	struct target t;
	struct err err = {0};
	int answer = -1; /* libFuzzer: not for the corpus */
	arena_init(&a);
	if (read_program(&p, &a, data, size) && interp_run(&r, &p, &a, NULL, &err) == INTERP_OK && r.status == RES_OK) {
		bug_context(prog_text(&p, &a));
		features_each(&p, count_feature, NULL);
		features_each_loop(&p, count_feature, NULL);
		CHECK(target_parse(&t, "builtin:eager", &err));
		expect_agreement(&p, &r, &t, &a);
		for (int i = 0; i < ARRAY_LEN(stages); i++)
			run_stage(&p, stages[i], &a);
		bug_context(NULL);
		answer = 0;
	}
	arena_free(&a);
	return answer;
}

/* ---- mutants ---------------------------------------------------------------------------------------------------------------------- */

/* A mutant of one with rows of two; a generated program where they are none. Returns the length of its text, 0 if there is no room. */
static size_t mutant(uint8_t *out, size_t max, const struct prog *one, const struct prog *two, struct choices *c, struct arena *a)
{
	struct policy pol;
	struct prog p;
	struct err err = {0};
	if (!policy_draw(&pol, "default", NULL, c, &err))
		BUG("%s", err.msg);
	pol.chance[PF_illegal] = pol.chance[PF_outside] = 0;
	if (!(one && mutate_program(&p, one, two, a, c, &pol, NULL, &err)) && !gen_program(&p, a, c, &pol, &err))
		return 0;
	const char *text = prog_text(&p, a);
	const size_t n = strlen(text);
	if (n > max)
		return 0;
	memcpy(out, text, n);
	return n;
}

static size_t cross(const uint8_t *one, size_t none, const uint8_t *two, size_t ntwo, uint8_t *out, size_t max, unsigned seed)
{
	struct arena a;
	struct choices c;
	struct prog p, q;
	arena_init(&a);
	choices_from_seed(&c, seed);
	const bool is_one = read_program(&p, &a, one, none), is_two = two && read_program(&q, &a, two, ntwo);
	size_t n = mutant(out, max, is_one ? &p : NULL, is_two ? &q : &p, &c, &a);
	choices_free(&c);
	arena_free(&a);
	return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	const size_t n = cross(data, size, NULL, 0, data, max_size, seed);
	return n ? n : size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t none, const uint8_t *two, size_t ntwo, uint8_t *out, size_t max, unsigned seed)
{
	return cross(one, none, two, ntwo, out, max, seed);
}
