/* step_known.c: is a divergence one more sighting of a known cause? If what cures the cause makes this program right, too, it is: one run
 * of the target, and nothing is minimised. Only causes of this target's stage and of the same kind and sort of error are tried, those that
 * were seen most often first. */
#include "compiled/targets/driver.h"
#include "eager/base/output.h"
#include "fuzz/cli/triage_steps.h"
#include "fuzz/triage/cause.h"
#include "fuzz/triage/cause_join.h"

enum { MAX_TRIED = 8 };

struct known {
	struct triage_case *c;
	int n;
	struct {
		const char *cause, *cure, *variant;
	} of[MAX_TRIED];
};

static bool take(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct known *k = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	k->of[k->n].cause = arena_strdup(k->c->a, v[0].s);
	k->of[k->n].cure = arena_strdup(k->c->a, v[1].s);
	k->of[k->n++].variant = arena_strdup(k->c->a, v[2].s);
	return k->n < MAX_TRIED;
}

/* "'" doubled. */
static const char *quoted(const char *s, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	for (; *s; s++)
		sb_printf(&sb, *s == '\'' ? "''" : "%c", *s);
	const char *q = arena_strdup(a, sb.s);
	sb_free(&sb);
	return q;
}

/* Causes with a cure whose text begins like those of this failure; of a cause with variants each variant's cure. */
static void list_known(struct known *k, const struct failure *f)
{
	struct triage_case *c = k->c;
	const struct blame nothing = {.stage = target_stage(&c->x.t)->name};
	const char *like = cause_head(f, &nothing, &c->x.t, c->a);
	const char *layout = arena_printf(c->a, "%s:%s: layout predicted wrong", target_family(&c->x.t), nothing.stage);
	const char *sql = arena_printf(c->a,
		"select cause, cure, coalesce(variant, cause) as sort from (select c.cause, s.nobs, "
		"(select payload from event e where e.finding = c.finding and e.kind = 'cure' order by at desc, e.id desc limit 1) as cure, "
		"(select cast(bytes as text) from artifact x where x.finding = c.finding and x.name = '" VARIANT_ARTIFACT "' "
		"order by at desc, x.id desc limit 1) as variant from finding_cause c join finding_summary s on s.finding = c.finding) "
		"where cure <> '' and (substr(cause, 1, %d) = '%s' or substr(cause, 1, %d) = '%s') "
		"group by cause, sort order by sum(nobs) desc limit %d",
		(int)strlen(like), quoted(like, c->a), (int)strlen(layout), quoted(layout, c->a), MAX_TRIED);
	if (store_query_sql(c->store, sql, NULL, take, k) != STORE_OK)
		complain("known causes cannot be read: %s", store_message(c->store));
}

/* Not if it is known to fail on other versions than the cause's findings. */
static bool may_be(struct triage_case *c, const char *cause)
{
	struct cause_join *j;
	return cause_join_load(&j, c->store, c->x.f.hex, c->a) == STORE_OK && cause_join_fits(j, c->x.f.hex, cause);
}

static bool cured(struct triage_case *c, const char *cure)
{
	struct target_option o;
	struct target with;
	struct ran ran;
	struct arena once;
	if (!cause_cure_read(&o, cure) || !target_with(&with, &c->x.t, &o, NULL))
		return false;
	arena_init(&once);
	runner_judge(&ran, c->runner, &c->x.p, &with, &once);
	bool right = ran.asked && !ran.broken && ran.outcome.verdict == VD_PASS;
	arena_free(&once);
	return right;
}

int step_known(struct triage_case *c, const char **how)
{
	struct known k = {.c = c};
	struct failure f;
	struct ran ran;
	if (!c->store)
		return EXIT_VOID;
	runner_run(&ran, c->runner, &c->x.p, &c->x.t, c->a);
	if (!verdict_diverges(ran.outcome.verdict))
		return EXIT_VOID;
	failure_of(&f, &ran.outcome);
	if (!f.signature[0]) /* else its message is its cause */
		list_known(&k, &f);
	for (int i = 0; i < k.n; i++) {
		if (!may_be(c, k.of[i].cause) || !cured(c, k.of[i].cure))
			continue;
		*how = arena_printf(c->a, "a known cause: what cures that cures it, too (%s): %s", k.of[i].cure, k.of[i].cause);
		case_begin(c);
		case_event(c, EVENT_CURE, k.of[i].cure, NULL);
		case_event(c, EVENT_BLAME, *how, NULL);
		case_event(c, EVENT_CAUSE, k.of[i].cause, NULL);
		case_artifact(c, VARIANT_ARTIFACT, k.of[i].variant);
		return case_end(c) ? EXIT_CLEAN : EXIT_TARGET;
	}
	return EXIT_VOID;
}
