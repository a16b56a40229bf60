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

static bool spoils_memory(const struct ran *ran)
{
	struct failure f;
	if (ran->outcome.verdict != VD_CRASH)
		return false;
	failure_of(&f, &ran->outcome);
	return failure_is_erratic(&f);
}

/* Returns with how many other data it diverges at all; *asked: of so many. *spoils: it overwrites memory with some. */
static int with_other_data(int *asked, bool *spoils, struct runner *r, const struct prog *p, const struct target *t)
{
	struct arena a;
	int n = 0;
	*asked = 0;
	arena_init(&a);
	for (int seed = 1; seed <= OTHER_SEEDS; seed++) {
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
		*spoils = *spoils || spoils_memory(&ran);
		n += verdict_diverges(ran.outcome.verdict);
	}
	arena_free(&a);
	return n;
}

const char *confirm_excuse(struct runner *r, const struct prog *p, const struct target *t, struct arena *a)
{
	struct ran ran;
	struct target with;
	if (!target_probing(&with, t, &(struct target_probe){.kind = PROBE_EXCUSE}, NULL))
		return "";
	runner_run(&ran, r, p, &with, a);
	char *text = arena_strdup(a, result_text(&ran.result, "excuse"));
	for (char *nl; (nl = strchr(text, '\n')) != NULL;)
		*nl = nl[1] ? ';' : 0;
	return text;
}

void confirm(struct confirmation *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a)
{
	struct ran ran[TWICE];
	int nasked = 0, nfresh = 0;
	bool broken = false, patient = false, spoils = false;
	*out = (struct confirmation){.excuse = ""};
	runner_forget(r, t);
	runner_run(&ran[0], r, p, t, a);
	if (ran[0].outcome.verdict == VD_HANG) { /* or the machine was slow: again, with time to spare */
		patient = true;
		runner_be_patient(r, t, true);
		runner_run(&ran[0], r, p, t, a);
	}
	for (int i = 0; i < TWICE; i++) {
		if (i)
			runner_run(&ran[i], r, p, t, a);
		nfresh += verdict_diverges(ran[i].outcome.verdict);
		spoils = spoils || spoils_memory(&ran[i]);
		broken = broken || ran[i].broken || ran[i].outcome.verdict == VD_HARNESS;
	}
	int nother = broken ? 0 : with_other_data(&nasked, &spoils, r, p, t);
	if (broken)
		out->class = CONFIRM_HARNESS;
	else if (nfresh == TWICE || spoils)
		out->class = CONFIRM_SEEN;
	else
		out->class = nfresh || nother ? CONFIRM_NONDETERMINISTIC : CONFIRM_NOT_SEEN;
	if (broken)
		out->how = ran[0].outcome.why;
	else if (patient && !nfresh)
		out->how = arena_printf(a, "slow: it answers in a fresh process that has %d times as long", EXEC_PATIENCE);
	else
		out->how = arena_printf(a, "diverges %d time%s of %d in a fresh process, and there with %d of %d other data seeds", nfresh,
			plural(nfresh), TWICE, nother, nasked);
	if (patient)
		runner_be_patient(r, t, false);
	if (out->class == CONFIRM_SEEN)
		out->excuse = confirm_excuse(r, p, t, a);
}
