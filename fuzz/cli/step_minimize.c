/* step_minimize.c: the smallest program that still fails in the same way. One warm child of the target answers; a fresh one confirms what
 * came out. Answers are kept in the store until it is done, so a run that was killed goes on where it was.
 *
 * What comes out has names that tell what its nodes are (names.h), if it fails in the same way with these: a planted error may go by the
 * text, and a compiler may trip over a name. */
#include "eager/base/clock.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "eager/lang/names.h"
#include "fuzz/cli/triage_steps.h"
#include "fuzz/triage/minimise.h"

enum { MAX_ANSWERS_WAITING = 256 };

struct minimizing {
	struct triage_case *c;
	struct failure failure;
	struct arena a; /* of one question */
	/* Answers that are not in the store yet: a commit takes longer than many a target. */
	struct answered {
		struct hash128 question;
		bool yes;
	} waiting[MAX_ANSWERS_WAITING];
	int nwaiting;
	double flushed; /* clock_s() */
};

/* Of a program on this target, with its version. */
static struct hash128 question_of(const struct triage_case *c, const char *text)
{
	struct strbuf sb;
	sb_init(&sb);
	target_print(&sb, &c->x.t);
	sb_puts(&sb, "\n");
	sb_puts(&sb, text);
	struct hash128 h = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	return h;
}

static void flush_answers(struct minimizing *m)
{
	struct store *s = m->c->store;
	if (!m->nwaiting)
		return;
	store_begin(s);
	for (int i = 0; i < m->nwaiting; i++)
		store_answer_put(s, &m->c->x.f.id, &m->waiting[i].question, m->waiting[i].yes);
	store_commit(s); /* if it fails, they are asked again */
	m->nwaiting = 0;
	m->flushed = clock_s();
}

static void remember(struct minimizing *m, const struct hash128 *question, bool yes)
{
	if (!m->c->store)
		return;
	m->waiting[m->nwaiting++] = (struct answered){*question, yes};
	if (m->nwaiting == MAX_ANSWERS_WAITING || clock_s() - m->flushed > 1)
		flush_answers(m);
}

static bool asked_before(struct minimizing *m, const struct hash128 *question, bool *yes)
{
	bool known = false;
	if (m->c->store)
		store_answer(m->c->store, &known, yes, &m->c->x.f.id, question);
	return known;
}

static enum minimise_answer still_fails(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	struct minimizing *m = ctx;
	struct triage_case *c = m->c;
	struct hash128 question = question_of(c, text);
	struct ran ran;
	bool yes = false;
	if (case_over(c))
		return MINIMISE_STOP;
	if (asked_before(m, &question, &yes))
		return yes ? MINIMISE_YES : MINIMISE_NO;
	arena_reset(&m->a);
	bug_context(text);
	runner_ask(&ran, c->runner, p, &c->x.t, &m->failure, &m->a);
	bug_context(NULL);
	if (ran.broken || interrupt_asked()) /* an interrupt reaches the child, too: what it said is no answer */
		return MINIMISE_STOP;
	yes = failure_is(&m->failure, &ran.outcome);
	if (ran.asked)
		remember(m, &question, yes);
	if (!c->o->quiet && ran.asked)
		fprintf(stderr, "  %-34s %s\n", shrink_name[edit->kind],
			yes                                         ? "still fails"
				: verdict_diverges(ran.outcome.verdict) ? "fails in another way"
														: verdict_name[ran.outcome.verdict]);
	return yes ? MINIMISE_YES : MINIMISE_NO;
}

static bool record(struct triage_case *c, const struct prog *least, const struct outcome *o, const char *how, bool stopped)
{
	struct hash128 program;
	if (!c->store)
		return true;
	case_begin(c);
	case_observation(c, least, o, &program);
	case_event(c, EVENT_MINIMISED, how, &program);
	if (!stopped)
		store_answers_drop(c->store, &c->x.f.id);
	return case_end(c);
}

/* Fails p in the same way in a process that has run nothing else? */
static bool fails_afresh(struct ran *ran, struct triage_case *c, const struct prog *p, const struct failure *f)
{
	runner_forget(c->runner, &c->x.t);
	runner_ask(ran, c->runner, p, &c->x.t, f, c->a);
	return failure_is(f, &ran->outcome);
}

static int minimised(struct minimizing *m, struct prog *least, const struct minimise_count *count, const char **how)
{
	struct triage_case *c = m->c;
	struct ran ran;
	struct prog named;
	prog_clone(&named, least, c->a);
	prog_name_nodes(&named);
	if (!prog_names_tell(least) && fails_afresh(&ran, c, &named, &m->failure)) {
		*least = named;
	} else if (!fails_afresh(&ran, c, least, &m->failure)) {
		complain("the smallest program does not fail in a fresh process (%s); nothing is recorded", verdict_name[ran.outcome.verdict]);
		return ran.broken ? EXIT_TARGET : EXIT_VOID;
	}
	*how = arena_printf(c->a, "%d to %d operator%s, %d call%s of the target in %d s; %d edit%s kept of %d%s", prog_operators(&c->x.p),
		prog_operators(least), plural(prog_operators(least)), runner_calls(c->runner), plural(runner_calls(c->runner)), case_seconds(c),
		count->accepted, plural(count->accepted), count->asked, count->stopped ? "; stopped before the end" : "");
	if (!record(c, least, &ran.outcome, *how, count->stopped))
		return EXIT_TARGET;
	c->x.p = *least;
	return EXIT_CLEAN;
}

int step_minimize(struct triage_case *c, const char **how)
{
	struct minimizing m = {.c = c, .flushed = clock_s()};
	struct minimise_count count;
	struct prog least;
	struct ran ran;
	int rc = case_fails(&ran, c);
	if (rc != EXIT_CLEAN)
		return rc;
	failure_of(&m.failure, &ran.outcome);
	if (!c->o->quiet)
		fprintf(stderr, "%s, in a program of %d operator%s\n", failure_text(&m.failure, c->a), prog_operators(&c->x.p),
			plural(prog_operators(&c->x.p)));
	arena_init(&m.a);
	minimise(&least, &count, &c->x.p, still_fails, &m, c->a);
	flush_answers(&m);
	rc = minimised(&m, &least, &count, how);
	arena_free(&m.a);
	return rc;
}

int step_names(struct triage_case *c, const char **how)
{
	struct failure f;
	struct ran ran;
	struct prog named;
	const int rc = case_fails(&ran, c);
	if (rc != EXIT_CLEAN)
		return rc;
	failure_of(&f, &ran.outcome);
	prog_clone(&named, &c->x.p, c->a);
	prog_name_nodes(&named);
	if (!fails_afresh(&ran, c, &named, &f)) {
		*how = "its names stay: with others it fails otherwise";
		return EXIT_CLEAN;
	}
	*how = "its nodes are named after what they are now";
	if (!record(c, &named, &ran.outcome, *how, false))
		return EXIT_TARGET;
	c->x.p = named;
	return EXIT_CLEAN;
}
