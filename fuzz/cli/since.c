/* since.c: see since.h. Each version has one warm process, which runs the programs of all findings: a process per program and version takes
 * many times as long. Whoever dies or hangs there is asked again in a process of its own. */
#include "fuzz/cli/since.h"

#include "compiled/targets/driver.h"
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/json.h"
#include "eager/base/output.h"
#include "fuzz/cli/ask.h"
#include "fuzz/cli/commands.h"
#include "fuzz/campaign/found.h"
#include "fuzz/cli/keep_result.h"
#include "fuzz/triage/sweep_json.h"

/* A program on the versions. */
struct age {
	struct prog p;
	const char *why; /* it has no answers; "" */
	struct failure failure;
	struct sweep_series series; /* a row per installed version */
};
struct aged {
	const char *id, *cause;
	struct hash128 finding;
	const char *program; /* of least: its id */
	struct target t;
	struct age least, *first; /* its minimised program, and the one that it was found with; first: NULL if nothing was minimised */
};
struct ages {
	const struct options *o;
	struct runner *r;
	double until; /* clock_s(); 0: no limit */
	int n, cap;
	struct aged **of; /* by cause */
	struct arena a, once;
};

static bool is_over(const struct ages *s) { return interrupt_asked() || (s->until > 0 && clock_s() > s->until); }

/* ---- what there is ------------------------------------------------------------------------------------------------------------------- */

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct ages *s = ctx;
	(void)ncols, (void)names;
	if (!v)
		return true;
	if (s->n == s->cap) {
		s->of = ARENA_GROW(&s->a, struct aged *, s->of, s->n, s->cap + 64);
		s->cap += 64;
	}
	struct aged *f = ARENA_ZNEW(&s->a, struct aged, 1);
	f->id = arena_strdup(&s->a, v[0].s);
	f->cause = arena_strdup(&s->a, v[1].s);
	s->of[s->n++] = f;
	return true;
}

static int list_findings(struct ages *s)
{
	static const char sql[] = "select lower(hex(c.finding)), c.cause from finding_cause c join finding_summary f on f.finding = c.finding "
							  "join finding_state t on t.name = f.state "
							  "where t.open and exists (select 1 from event e where e.finding = c.finding and e.kind = 'cause') "
							  "order by c.cause, f.target, c.finding";
	return ask_store(s->o->db, sql, take_row, s);
}

static void age_init(struct age *g, const struct prog *p)
{
	g->p = *p;
	g->why = g->series.bound = g->series.name = "";
	g->series.axis = SWEEP_VERSIONS;
}

static int load_one(struct ages *s, struct aged *f)
{
	struct options *o = ARENA_ZNEW(&s->a, struct options, 1);
	struct found *x = ARENA_ZNEW(&s->a, struct found, 1);
	char first[33];
	struct err err = {0};
	*o = *s->o;
	o->file[0] = f->id;
	o->nfile = 1;
	int rc = found_load(x, o, &s->a);
	if (rc != EXIT_CLEAN)
		return rc;
	f->t = x->t;
	f->finding = x->f.id;
	f->program = x->program_id;
	age_init(&f->least, &x->p);
	hash_hex(first, &x->f.program_id);
	if (str_eq(first, x->program_id) || !found_choose(x, first, o->db, &s->a, &err))
		return EXIT_CLEAN;
	f->first = ARENA_ZNEW(&s->a, struct age, 1);
	age_init(f->first, &x->p);
	return EXIT_CLEAN;
}

static int load_all(struct ages *s)
{
	int rc = EXIT_CLEAN;
	for (int i = 0; i < s->n && rc == EXIT_CLEAN; i++)
		rc = load_one(s, s->of[i]);
	return rc;
}

/* ---- running ------------------------------------------------------------------------------------------------------------------------- */

/* In s->once until the next one. */
static void run(struct ages *s, struct ran *ran, const struct prog *p, const struct target *t)
{
	for (int turn = 0; turn < 2; turn++) {
		arena_reset(&s->once);
		runner_judge(ran, s->r, p, t, &s->once);
		if (ran->outcome.verdict != VD_CRASH && ran->outcome.verdict != VD_HANG)
			return;
		runner_forget(s->r, t); /* what another program did to that process may have killed it */
	}
}

/* As it was found. */
static void run_own(struct ages *s, struct age *g, const struct target *t)
{
	struct ran ran;
	if (!target_has_versions(t)) {
		g->why = arena_printf(&s->a, "%s has no versions", target_family(t));
		return;
	}
	run(s, &ran, &g->p, t);
	if (verdict_diverges(ran.outcome.verdict))
		failure_of(&g->failure, &ran.outcome);
	else
		g->why = arena_printf(&s->a, "it does not fail on %s: %s", target_text(t, &s->a), verdict_name[ran.outcome.verdict]);
}

static void run_on(struct ages *s, struct age *g, const struct target *of, const struct target_installed *there)
{
	struct sweep_row *row = &g->series.row[g->series.n];
	struct target t = *of;
	struct ran ran;
	if (g->why[0])
		return;
	if (is_over(s)) {
		g->series.left++;
		return;
	}
	*row = (struct sweep_row){.value = there->version, .answer = SWEEP_OPEN, .why = there->problem};
	snprintf(t.version, sizeof t.version, "%s", there->version);
	if (!there->problem[0]) {
		run(s, &ran, &g->p, &t);
		row->answer = sweep_answer_of(&g->failure, &ran.outcome);
		row->why = row->answer == SWEEP_OPEN ? arena_strdup(&s->a, ran.outcome.why) : "";
	}
	g->series.n++;
}

/* Version by version, so that few processes start. */
static void run_all(struct ages *s)
{
	struct target_installed **there = ARENA_ZNEW(&s->a, struct target_installed *, MAX(s->n, 1));
	int *nthere = ARENA_ZNEW(&s->a, int, MAX(s->n, 1)), most = 0;
	for (int i = 0; i < s->n && !is_over(s); i++) {
		struct aged *f = s->of[i];
		run_own(s, &f->least, &f->t);
		if (f->first && !f->least.why[0])
			run_own(s, f->first, &f->t);
		nthere[i] = f->least.why[0] || !f->t.driver->installed ? 0 : MIN(f->t.driver->installed(&there[i], &s->a), MAX_SWEEP_ROWS);
		most = MAX(most, nthere[i]);
	}
	for (int k = 0; k < most; k++) {
		const char *version = "";
		for (int i = 0; i < s->n; i++) {
			if (k >= nthere[i])
				continue;
			version = there[i][k].version;
			run_on(s, &s->of[i]->least, &s->of[i]->t, &there[i][k]);
			if (s->of[i]->first)
				run_on(s, s->of[i]->first, &s->of[i]->t, &there[i][k]);
		}
		fprintf(stderr, "%d finding%s on %s\n", s->n, plural(s->n), version);
	}
}

/* ---- in words ------------------------------------------------------------------------------------------------------------------------ */

static const char *answer_text(const struct age *g, struct arena *a)
{
	if (g->why[0])
		return g->why;
	return g->series.n ? sweep_since(&g->series, a) : "not tried any more";
}

/* Does the program that was found fail where the minimised one does not, or the reverse? */
static bool slipped(const struct aged *f) { return f->first && !f->first->why[0] && !sweep_agrees(&f->least.series, &f->first->series); }

static void print_json(const struct aged *f, struct arena *a)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "id", f->id);
	json_string(&j, "cause", f->cause);
	json_string(&j, "target", target_text(&f->t, a));
	for (int k = 0; k < NSWEEP_ANSWERS; k++) {
		json_array(&j, sweep_answer_name[k]);
		for (int i = 0; i < f->least.series.n; i++)
			if ((int)f->least.series.row[i].answer == k)
				json_string(&j, NULL, f->least.series.row[i].value);
		json_end(&j);
	}
	json_string(&j, "since", answer_text(&f->least, a));
	json_string(&j, "first_program", f->first ? answer_text(f->first, a) : "");
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

/* Do the findings from..to-1, of one cause, agree? */
static bool agree(const struct ages *s, int from, int to)
{
	for (int i = from; i < to; i++)
		for (int k = from; k < i; k++)
			if (!sweep_agrees(&s->of[i]->least.series, &s->of[k]->least.series))
				return false;
	return true;
}

static void print_cause(struct ages *s, int from, int to)
{
	printf("%s%s%s\n", from ? "\n" : "", escaped_line(&s->a, s->of[from]->cause), agree(s, from, to) ? "" : "  (they differ)");
	for (int i = from; i < to; i++) {
		const struct aged *f = s->of[i];
		printf(
			"  %.*s  %-26s  %s\n", STORE_ID_DIGITS, f->id, target_text(&f->t, &s->a), escaped_line(&s->a, answer_text(&f->least, &s->a)));
		if (slipped(f))
			printf("  %*s  its first program: %s\n", STORE_ID_DIGITS, "", escaped_line(&s->a, answer_text(f->first, &s->a)));
	}
}

static void print_all(struct ages *s)
{
	int ncauses = 0, several = 0, alike = 0, nslipped = 0;
	for (int from = 0, to; from < s->n; from = to) {
		for (to = from; to < s->n && str_eq(s->of[to]->cause, s->of[from]->cause); to++) {
			nslipped += slipped(s->of[to]);
			if (s->o->json)
				print_json(s->of[to], &s->a);
		}
		if (!s->o->json)
			print_cause(s, from, to);
		ncauses++;
		several += to - from > 1;
		alike += to - from > 1 && agree(s, from, to);
	}
	if (!s->o->json)
		printf("%s%d finding%s, %d cause%s; %d with several findings, which agree in %d; %d minimised perhaps into another bug\n",
			ncauses ? "\n" : "", s->n, plural(s->n), ncauses, plural(ncauses), several, alike, nslipped);
	fflush(stdout);
}

/* The answer of each finding that has one. */
static int keep_all(struct ages *s)
{
	int rc = EXIT_CLEAN;
	for (int i = 0; i < s->n && rc == EXIT_CLEAN; i++) {
		const struct aged *f = s->of[i];
		if (!f->least.why[0] && f->least.series.n)
			rc = result_keep(s->o->db, &f->finding, SINCE_ARTIFACT, since_json(&f->least.series, &f->t, f->program, &s->a));
	}
	return rc;
}

int since_all(const struct options *o)
{
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	struct ages s = {.o = o, .until = o->time_s > 0 ? clock_s() + o->time_s : 0};
	arena_init(&s.a);
	arena_init(&s.once);
	interrupt_catch(NULL);
	int rc = o->store ? result_can_be_kept(o->db) : EXIT_CLEAN;
	if (rc == EXIT_CLEAN)
		rc = list_findings(&s);
	if (rc == EXIT_CLEAN)
		rc = load_all(&s);
	if (rc == EXIT_CLEAN) {
		s.r = runner_new(&eo);
		run_all(&s);
		runner_free(s.r);
		print_all(&s);
		if (o->store && !interrupt_asked())
			rc = keep_all(&s);
	}
	arena_free(&s.once);
	arena_free(&s.a);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}
