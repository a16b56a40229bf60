/* oracle_soak.c: generated programs, builtin:eager against the reference. What the adversarial executor cannot find, this does:
 * a wrong index formula, layout rule or derivative on either side, a missing licence.
 *
 *   oracle_soak [programs] [seed] [verbose]      prints each divergence once per kind and operator list, then shares and times. */
#include "eager/run/interp.h"
#include "fuzz/gen/gen.h"
#include "oracle/judge/judge.h"
#include "tests/test.h"
#include "fuzz/triage/profile.h"
#include "generated/op_id.h"

#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct totals {
	int64_t programs, pass, mismatch, unsupported, failed, invalid, calls;
	int64_t nelement, exact, weak, undecided, scalars, entries;
	double gen, eager, reference, compare;
	struct {
		char text[200];
		int64_t n;
	} why[64];
	int nwhy;
};

static void reason(struct totals *t, const char *s)
{
	int k = 0;
	while (k < t->nwhy && strncmp(t->why[k].text, s, sizeof t->why[k].text - 1) != 0)
		k++;
	if (k == t->nwhy && t->nwhy < 64)
		snprintf(t->why[t->nwhy++].text, sizeof t->why[0].text, "%s", s);
	if (k < 64)
		t->why[k].n++;
}

/* A key that tells divergences apart: kind and operators. */
static void key_of(struct strbuf *sb, const struct judgement *j, const struct prog *p)
{
	sb_printf(sb, "%s:", mismatch_name[j->kind]);
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op != OP_input && p->node[i].op != OP_full && p->node[i].op != OP_expand && !node_is_sym(&p->node[i]))
			sb_printf(sb, " %s", op_info[p->node[i].op].name);
}

static void one(struct totals *t, struct arena *a, uint64_t seed, int verbose)
{
	struct choices c;
	struct policy pol;
	struct prog p;
	struct err err = {0};
	struct result r = {0};
	struct judge_case jc;
	struct judgement j;
	struct licence_profile l;
	double t0 = now();
	choices_from_seed(&c, seed / 50);
	CHECK(policy_draw(&pol, "default", NULL, &c, &err));
	choices_free(&c);
	choices_from_seed(&c, seed);
	bool made = gen_program(&p, a, &c, &pol, &err);
	choices_free(&c);
	double t1 = now();
	t->gen += t1 - t0;
	if (!made || p.must_raise)
		return;
	t->programs++;
	if (verbose < 0) {
		struct strbuf sb;
		sb_init(&sb);
		prog_print(&sb, &p);
		printf("%s\n", sb.s);
		fflush(stdout);
		sb_free(&sb);
	}
	enum interp_status s = interp_run(&r, &p, a, NULL, &err);
	double t2 = now();
	t->eager += t2 - t1;
	if (s == INTERP_INVALID) {
		t->invalid++;
		reason(t, err.msg);
		return;
	}
	profile_named(&l, "builtin:eager");
	judge_prepare(&jc, &p, &l, TAPE_LIMITS_DEFAULT, a);
	double t3 = now();
	judge(&j, &jc, &r, 0, a);
	t->reference += t3 - t2;
	t->compare += now() - t3;
	t->calls += jc.ncalls;
	for (int k = 0; k < jc.ncalls; k++) {
		t->scalars += jc.ref[k].nscalar;
		t->entries += jc.ref[k].nentry;
	}
	if (j.status == JUDGE_PASS) {
		t->pass++;
		t->nelement += j.nelement;
		t->exact += j.exact;
		t->weak += j.weak;
		t->undecided += j.count[EL_UNDECIDED];
	} else if (j.status == JUDGE_UNSUPPORTED) {
		t->unsupported++;
		reason(t, j.message);
	} else {
		t->mismatch += j.status == JUDGE_MISMATCH;
		t->failed += j.status == JUDGE_FAILED;
		struct strbuf key, text;
		sb_init(&key);
		sb_init(&text);
		key_of(&key, &j, &p);
		reason(t, key.s);
		if (verbose && t->mismatch <= verbose) {
			prog_print(&text, &p);
			judgement_print(&text, &j, &p);
			printf("---- seed %" PRIu64 "\n%.6000s\n", seed, text.s);
		}
		sb_free(&key);
		sb_free(&text);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	int verbose = argc > 3 ? atoi(argv[3]) : 0;
	static struct totals t;
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < n; i++) {
		one(&t, &a, seed + (uint64_t)i, verbose);
		arena_reset(&a);
	}
	arena_free(&a);
	for (int k = 0; k < t.nwhy; k++)
		printf("%6" PRId64 "  %s\n", t.why[k].n, t.why[k].text);
	double scale = 1e9 / (double)MAX(1, t.entries);
	printf("%" PRId64 " programs (%" PRId64 " calls): %" PRId64 " pass, %" PRId64 " mismatch, %" PRId64 " unsupported, %" PRId64
		   " failed, %" PRId64 " invalid\n",
		t.programs, t.calls, t.pass, t.mismatch, t.unsupported, t.failed, t.invalid);
	printf("elements %" PRId64 ": exact %.1f %%, weak %.2f %%, undecided %.2f %%\n", t.nelement,
		100.0 * (double)t.exact / (double)MAX(1, t.nelement), 100.0 * (double)t.weak / (double)MAX(1, t.nelement),
		100.0 * (double)t.undecided / (double)MAX(1, t.nelement));
	printf("seconds: generate %.2f eager %.2f reference %.2f compare %.2f; %" PRId64 " scalars, %" PRId64 " entries, %.0f ns/entry\n",
		t.gen, t.eager, t.reference, t.compare, t.scalars, t.entries, t.reference * scale);
	EXPECT(t.mismatch == 0 && t.failed == 0, "%" PRId64 " divergences", t.mismatch + t.failed);
	EXPECT(t.pass > n / 2, "too little was judged");
	return TEST_END();
}
