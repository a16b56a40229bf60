/* confirm.c: see confirm.h. */
#include "fuzz/triage/confirm.h"

#include "compiled/targets/driver.h"
#include "eager/lang/edit.h"

const char *const confirm_class_name[NCONFIRM_CLASSES] = {
	[CONFIRM_SEEN] = "confirmed",
	[CONFIRM_NOT_SEEN] = "not seen",
	[CONFIRM_NONDETERMINISTIC] = "nondeterministic",
	[CONFIRM_HARNESS] = "harness",
};

enum { OTHER_SEEDS = 3, TWICE = 2 };

/* Something small that every family can compile. */
static const char warm_up[] = "# scatterproof 1\n"
							  "x: \"f32[4][1]\" = input([4], seed=1)\n"
							  "neg: \"f32[4][1]\" = neg(x)\n"
							  "return (neg,)\n";

static void compile_warm_up(struct runner *r, const struct target *t)
{
	struct arena a;
	struct prog p;
	struct err err = {0};
	struct ran ran;
	arena_init(&a);
	CHECK(prog_read(&p, &a, warm_up, sizeof warm_up - 1, READ_STRICT, &err));
	runner_run(&ran, r, &p, t, &a);
	arena_free(&a);
}

/* With its own data and other data. Returns how often it diverges at all; *asked: of so many. */
static int with_other_data(int *asked, struct runner *r, const struct prog *p, const struct target *t)
{
	struct arena a;
	int n = 0;
	*asked = 0;
	arena_init(&a);
	for (int seed = 0; seed <= OTHER_SEEDS; seed++) {
		struct prog q;
		struct ran ran;
		struct err err = {0};
		arena_reset(&a);
		if (!edit_reseed(&q, p, seed * 1000, &a, &err))
			continue;
		runner_run(&ran, r, &q, t, &a);
		if (!ran.asked) /* other data may be what the reference cannot judge, or eager refuses */
			continue;
		++*asked;
		n += verdict_diverges(ran.outcome.verdict);
	}
	arena_free(&a);
	return n;
}

/* The family's own comparisons; one line. */
static const char *excuse_of(struct runner *r, const struct prog *p, const struct target *t, struct arena *a)
{
	struct target_option o;
	struct ran ran;
	struct target with = *t;
	if (!target_probe_option(&o, t, PROBE_EXCUSE, NULL, NULL) || !target_set_option(&with, &o))
		return "";
	runner_run(&ran, r, p, &with, a);
	for (int i = 0; i < ran.result.nartifact; i++)
		if (str_eq(ran.result.artifact[i].name, "excuse")) {
			char *text = arena_strdup(a, ran.result.artifact[i].text);
			for (char *nl; (nl = strchr(text, '\n')) != NULL;)
				*nl = nl[1] ? ';' : 0;
			return text;
		}
	return "";
}

void confirm(struct confirmation *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a)
{
	struct ran ran[TWICE];
	int nasked, nfresh = 0;
	bool broken = false;
	*out = (struct confirmation){.excuse = ""};
	runner_forget(r, t);
	compile_warm_up(r, t);
	int nwarm = with_other_data(&nasked, r, p, t);
	runner_forget(r, t);
	for (int i = 0; i < TWICE; i++) {
		runner_run(&ran[i], r, p, t, a);
		nfresh += verdict_diverges(ran[i].outcome.verdict);
		broken = broken || ran[i].broken || ran[i].outcome.verdict == VD_HARNESS;
	}
	out->outcome = ran[0].outcome;
	if (broken)
		out->class = CONFIRM_HARNESS;
	else if (nfresh == TWICE)
		out->class = CONFIRM_SEEN;
	else
		out->class = nfresh || nwarm ? CONFIRM_NONDETERMINISTIC : CONFIRM_NOT_SEEN;
	out->how = arena_printf(a, "diverges with %d of %d data seeds and %d times of %d in a fresh process%s%s", nwarm, nasked, nfresh, TWICE,
		broken ? ": " : "", broken ? ran[0].outcome.why : "");
	if (out->class != CONFIRM_SEEN)
		return;
	failure_of(&out->failure, &ran[0].outcome);
	out->excuse = excuse_of(r, p, t, a);
}
