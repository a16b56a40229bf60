/* cmd_repro.c: one observation of a stored finding, run again in a fresh process: 1 it still happens, 0 it does not; or written down as a
 * script; or on every stage and version (repro_matrix.c). What is seen goes into the store, so that it knows where the finding fails and
 * where it does not; not what a bisection or a table sees, which only ask. */
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "fuzz/cli/bug_script.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/start.h"
#include "fuzz/campaign/rerun.h"
#include "compiled/targets/driver.h"
#include "fuzz/cli/finding_script.h"
#include "fuzz/cli/repro_matrix.h"
#include "fuzz/triage/title.h"
#include "reports/life/lifecycle.h"

/* ---- the script ---------------------------------------------------------------------------------------------------------------------- */

/* The interpreter, if one was named: what it is decides the target's name. */
static int identify(struct target *t, const struct options *o)
{
	int rc = EXIT_CLEAN;
	if (target_has_versions(t) && !o->python && !t->version[0])
		snprintf(t->version, sizeof t->version, "%s", t->driver->default_version);
	if (target_has_versions(t) && o->python)
		exec_close(start_target(&rc, t, o));
	return rc;
}

/* The child that shows whether a script of a few lines is one; NULL: it cannot start here, *why says so. */
static struct exec *start_to_ask(const char **why, struct target *t, const struct options *o, struct arena *a)
{
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	struct err err = {0};
	struct exec *e = exec_open(t, &eo, &err);
	if (e && exec_identify(t, e, &err) == EXEC_IDENTIFIED)
		return e;
	exec_close(e);
	*why = arena_printf(a, "%s", err.msg);
	return NULL;
}

/* In plain words; what the store cannot say any more is said by the signature. */
static const char *title_now(const char *db, const struct found *x, struct arena *a)
{
	enum store_status status;
	struct err err = {0};
	struct store *s = store_open(&status, db, STORE_READ, &err);
	const char *title = s ? title_of_finding(s, x->f.hex, a) : "";
	store_close(s, NULL);
	return title[0] ? title : escaped_line(a, x->f.signature);
}

static int write_script(const struct options *o, struct found *x, struct arena *a)
{
	struct bug_script s = {.x = x};
	int rc = identify(&x->t, o);
	if (rc != EXIT_CLEAN)
		return rc;
	s.headline = arena_printf(
		a, "%s\nscatterproof finding %.*s, seen on %s", title_now(o->db, x, a), STORE_ID_DIGITS, x->f.hex, target_text(&x->t, a));
	s.full_headline = finding_headline(x, a);
	if (!o->full && !o->python && bug_script_kept(&rc, &s, o, a))
		return rc;
	if (!o->full)
		s.e = start_to_ask(&s.not_run, &x->t, o, a);
	rc = bug_script_write(&s, o, a);
	exec_close(s.e);
	return rc;
}

/* ---- the store ----------------------------------------------------------------------------------------------------------------------- */

/* In one transaction: the run, where it ran, the verdict, and what that says of the finding. */
static void write_rows(struct store *s, const struct found *x, const struct rerun *v, struct arena *a)
{
	struct hash128 id;
	int64_t at = clock_unix_ms();
	struct store_run run = {.seed = 0, .shard = "", .policy = "repro", .versions = SCATTERPROOF, .started = at};
	const struct store_event again = {
		.finding = x->f.id, .at = at, .kind = EVENT_CONFIRMED, .tool = SCATTERPROOF, .payload = "again in a fresh process, by repro"};
	store_run_begin(s, &id, &run);
	rerun_keep(s, &id, x, &x->t, v, at, a);
	if (v->claim == CLAIM_HOLDS && (x->f.state == STATE_CANDIDATE || x->f.state == STATE_FIXED_IN))
		store_event(s, &again);
}

/* What cannot be written is said; the answer to the question stands, and so does its exit code. */
static void record(const struct options *o, const struct found *x, const struct rerun *v, struct arena *a)
{
	enum store_status st;
	struct err err = {0};
	enum after_fix after = FIX_NO_MATTER;
	if (o->no_store || o->bisect)
		return;
	struct store *s = store_open(&st, o->db, STORE_WRITE, &err);
	if (s) {
		store_begin(s);
		write_rows(s, x, v, a);
		if (store_commit(s) == STORE_OK && v->claim == CLAIM_HOLDS)
			finding_seen_after_fix(&after, s, &x->f, v->versions, true, clock_unix_ms(), SCATTERPROOF);
		if (store_message(s)[0])
			err_set(&err, "%s", store_message(s));
		store_close(s, &err);
	}
	if (err.msg[0])
		fprintf(stderr, "scatterproof: what was seen is not recorded: %s (--no-store: it need not be)\n", err.msg);
	if (after == FIX_REFUTED)
		printf("it was marked fixed: it is regressed now\n");
}

/* ---- running ------------------------------------------------------------------------------------------------------------------------- */

/* A bisection looks for this bug: what fails in another way than the finding says neither has it nor is without it. */
static int exit_of(const struct rerun *v, bool bisect)
{
	if (bisect && v->otherwise)
		return EXIT_VOID;
	if (v->claim == CLAIM_OPEN)
		return v->o.verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
	return v->claim == CLAIM_HOLDS ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int say(const struct options *o, const struct found *x, const struct rerun *v, struct arena *a)
{
	static const char *const words[] = {
		[CLAIM_HOLDS] = "still happens",
		[CLAIM_REFUTED] = "does not happen",
		[CLAIM_OPEN] = "cannot be told",
	};
	const char *word = o->bisect && v->otherwise ? "fails in another way, so it cannot be told" : words[v->claim];
	printf("%.*s on %s: %s: %s\n", STORE_ID_DIGITS, x->f.hex, target_text(&x->t, a), word, v->why);
	printf("  %s; ran on %s\n", found_program_text(x, a), v->versions);
	if (verdict_diverges(v->o.verdict) && v->claim != CLAIM_HOLDS)
		printf("  besides, and not what this finding is about: %s\n", v->o.why);
	if (verdict_diverges(v->o.verdict) && !o->bisect)
		printf("%s", v->o.report);
	return exit_of(v, o->bisect);
}

static int run_again(const struct options *o, struct found *x, struct exec *e, struct arena *a)
{
	struct rerun v;
	int rc = EXIT_USAGE;
	bug_context(x->obs->program_text);
	rerun_finding(&v, e, x, &x->t, a);
	if (v.bad_target) {
		fprintf(stderr, "scatterproof: target '%s': %s\n", target_text(&x->t, a), v.why);
	} else {
		rc = say(o, x, &v, a);
		record(o, x, &v, a);
	}
	bug_context(NULL);
	return rc;
}

static int open_and_run(const struct options *o, struct found *x, struct arena *a)
{
	int rc;
	struct exec *e = start_target(&rc, &x->t, o);
	if (e)
		rc = run_again(o, x, e, a);
	exec_close(e);
	return rc;
}

int cmd_repro(const struct options *o)
{
	if (o->nfile != 1 || !o->db) {
		fprintf(stderr, "scatterproof: repro: one finding id and --db FILE are needed (try --help)\n");
		return EXIT_USAGE;
	}
	if (o->ntarget > 1 && !o->matrix) {
		fprintf(stderr, "scatterproof: repro: one --target at most (several: --matrix)\n");
		return EXIT_USAGE;
	}
	struct arena a;
	struct found x = {0};
	arena_init(&a);
	int rc = found_load(&x, o, &a);
	if (rc == EXIT_CLEAN)
		rc = o->matrix ? repro_matrix(o, &x, &a) : o->script ? write_script(o, &x, &a) : open_and_run(o, &x, &a);
	arena_free(&a);
	return rc;
}
