/* cmd_minimize.c: the smallest program that still fails in the same way. One warm child of the target answers; a fresh one confirms what
 * came out. What the reference cannot judge, or eager refuses, is not asked about: such a program would not be the same failure. */
#include <inttypes.h>

#include "compiled/targets/exec.h"
#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "fuzz/campaign/load.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/minimize_finding.h"
#include "fuzz/triage/failure.h"
#include "fuzz/triage/minimise.h"
#include "fuzz/triage/plain.h"
#include "eager/base/clock.h"
#include "eager/base/interrupt.h"
#include "fuzz/campaign/keep.h"
#include "fuzz/cli/found.h"

struct minimizing {
	const struct options *o;
	struct exec *e;
	struct target t;
	struct failure failure;
	struct arena a; /* of one question */
	int calls;      /* of the target, plain stage included */
	int spared;     /* questions that needed none */
	double started;
	bool broken; /* the target runs nothing any more */
};

/* o and what it points to live in m->a until the next call. */
static void run_once(struct minimizing *m, const struct prog *p, struct outcome *o)
{
	struct result r;
	exec_run(&r, &m->a, m->e, p, &m->t);
	m->calls++;
	outcome_of(o, p, &r, &m->t, NULL, &m->a);
	if (plain_needed(o, &m->t)) {
		m->calls++;
		plain_ask(o, m->e, p, &r, &m->t, &m->a);
	}
	m->broken |= r.bad_target;
}

/* Does the reference judge it, and eager accept it? Asked first, because it costs no compile. */
static bool is_judged(struct minimizing *m, const struct prog *p)
{
	struct references refs;
	references_in(&refs, p, &m->a);
	const struct reference_of *ref = references_get(&refs, &m->t);
	return ref && ref->jc.status == REF_OK && !program_raises(p, &m->t, &m->a);
}

static enum minimise_answer still_fails(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	struct minimizing *m = ctx;
	struct outcome o;
	arena_reset(&m->a);
	bug_context(text);
	if (!p->must_raise && !is_judged(m, p)) {
		bug_context(NULL);
		m->spared++;
		return MINIMISE_NO;
	}
	run_once(m, p, &o);
	bug_context(NULL);
	if (m->broken || interrupt_asked())
		return MINIMISE_STOP;
	bool yes = failure_is(&m->failure, &o);
	if (!m->o->quiet)
		fprintf(stderr, "  %-34s %s\n", shrink_name[edit->kind],
			yes                               ? "still fails"
				: o.verdict == VD_MISMATCH    ? "fails otherwise"
				: verdict_diverges(o.verdict) ? "fails otherwise"
											  : verdict_name[o.verdict]);
	return yes ? MINIMISE_YES : MINIMISE_NO;
}

static int operators_of(const struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nnode; i++)
		n += op_info[p->node[i].op].family != F_INPUT && op_info[p->node[i].op].family != F_FACTORY;
	return n;
}

/* ---- the store ----------------------------------------------------------------------------------------------------------------------- */

static void write_rows(struct store *s, const struct minimizing *m, const struct found *x, const struct prog *least,
	const struct outcome *o, const char *how, struct arena *a)
{
	struct strbuf versions, hello;
	const char *ops[MAX_NODES], *text = prog_text(least, a);
	int nops = prog_ops(ops, MAX_NODES, least);
	int64_t at = clock_unix_ms();
	struct store_run run = {.seed = 0, .shard = "", .policy = "minimise", .versions = SCATTERPROOF, .started = at};
	struct store_observation obs = {.finding = x->f.id,
		.at = at,
		.verdict = verdict_name[o->verdict],
		.tensor = o->tensor ? o->tensor : "",
		.fill = -1,
		.call = o->call,
		.detail = o->detail ? o->detail : ""};
	struct hash128 program;
	sb_init(&versions);
	sb_init(&hello);
	exec_versions(&versions, &hello, m->e);
	store_run_begin(s, &obs.run, &run);
	keep_environment(s, &obs.environment, &m->t, versions.s, hello.s, a);
	store_counter_add(s, &obs.run, "", &obs.environment, verdict_name[o->verdict], 1);
	store_observation(s, &obs, text, ops, nops);
	store_program(s, &program, text, ops, nops);
	const struct store_event done = {
		.finding = x->f.id, .at = at, .kind = EVENT_MINIMISED, .tool = SCATTERPROOF, .payload = how, .program = &program};
	store_event(s, &done);
	sb_free(&hello);
	sb_free(&versions);
}

static int record(const struct minimizing *m, const struct found *x, const struct prog *least, const struct outcome *o, const char *how)
{
	enum store_status st;
	struct err err = {0};
	struct arena a;
	struct store *s = store_open(&st, m->o->db, STORE_WRITE, &err);
	arena_init(&a);
	if (s) {
		store_begin(s);
		write_rows(s, m, x, least, o, how, &a);
		st = store_commit(s);
		if (store_message(s)[0])
			err_set(&err, "%s", store_message(s));
		store_close(s, &err);
	}
	if (err.msg[0])
		complain("the minimised program is not recorded: %s", err.msg);
	arena_free(&a);
	return store_exit_code(st);
}

/* ---- one program ----------------------------------------------------------------------------------------------------------------------
 * */

static int does_not_fail(const struct minimizing *m, const struct outcome *o, struct arena *a)
{
	complain("the program does not fail on this target: %s%s%s", verdict_name[o->verdict], o->why[0] ? ": " : "", escaped_line(a, o->why));
	return m->broken || o->verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
}

/* Once more, in a child that has run nothing else. */
static bool confirmed(struct minimizing *m, const struct prog *least, struct outcome *o)
{
	struct exec_options eo = {.self = m->o->self, .python = m->o->python, .limit_ms = m->o->limit_ms};
	struct err err = {0};
	exec_close(m->e);
	m->e = exec_open(&m->t, &eo, &err);
	arena_reset(&m->a);
	if (!m->e || exec_identify(&m->t, m->e, &err) != EXEC_IDENTIFIED) {
		complain("%s", err.msg);
		return false;
	}
	run_once(m, least, o);
	return failure_is(&m->failure, o);
}

/* x: of the store; NULL: a file. *how: what it took, in a. */
static int run_minimize(
	struct minimizing *m, const struct prog *p, const struct found *x, struct prog *least, const char **how, struct arena *a)
{
	struct outcome o;
	struct minimise_count count;
	run_once(m, p, &o);
	if (!verdict_diverges(o.verdict))
		return does_not_fail(m, &o, a);
	failure_of(&m->failure, &o);
	if (!m->o->quiet)
		fprintf(stderr, "%s, in a program of %d operators\n", failure_text(&m->failure, a), operators_of(p));
	minimise(least, &count, p, still_fails, m, a);
	bool stopped = count.stopped;
	if (!confirmed(m, least, &o)) {
		complain("the smallest program does not fail in a fresh process (%s); nothing is recorded", verdict_name[o.verdict]);
		return EXIT_VOID;
	}
	*how = arena_printf(a, "%d to %d operators, %d calls of the target in %" PRId64 " s; %d edits kept, %d given up%s", operators_of(p),
		operators_of(least), m->calls, (int64_t)(clock_s() - m->started), count.accepted, count.asked - count.accepted - m->spared,
		stopped ? "; stopped before the end" : "");
	return x ? record(m, x, least, &o, *how) : EXIT_CLEAN;
}

static bool load_file(struct prog *p, const char *path, struct arena *a)
{
	struct strbuf text;
	struct err err = {0}, bad = {0};
	sb_init(&text);
	bool ok = sb_read_file(&text, path, MAX_TEXT, &err);
	if (ok && !prog_read(p, a, text.s, text.len, READ_STRICT, &bad))
		ok = err_set(&err, "%s:%d:%d: %s", path, bad.line, bad.col, bad.msg);
	if (!ok)
		complain("%s", err.msg);
	sb_free(&text);
	return ok;
}

/* o: with the file or the id, target and limits. EXIT_CLEAN: *least is the smallest program. */
static int open_and_minimize(const struct options *o, struct prog *least, const char **how, struct arena *a)
{
	struct minimizing m = {.o = o, .started = clock_s()};
	struct found x = {0};
	struct err err = {0};
	int rc = o->db ? found_load(&x, o, a) : load_file(&x.p, o->file[0], a) ? EXIT_CLEAN : EXIT_USAGE;
	if (rc != EXIT_CLEAN)
		return rc;
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	arena_init(&m.a);
	m.t = o->db ? x.t : o->target[0];
	m.e = exec_open(&m.t, &eo, &err);
	enum exec_identity id = m.e ? exec_identify(&m.t, m.e, &err) : EXEC_BROKEN;
	if (id == EXEC_IDENTIFIED) {
		rc = run_minimize(&m, &x.p, o->db ? &x : NULL, least, how, a);
	} else {
		complain("%s", err.msg);
		rc = id == EXEC_OTHER ? EXIT_USAGE : EXIT_TARGET;
	}
	exec_close(m.e);
	arena_free(&m.a);
	return rc;
}

int minimize_finding(const struct options *o, const char *id, const char **how, struct arena *a)
{
	struct options one = *o;
	struct prog least;
	one.file[0] = id;
	one.nfile = 1;
	one.quiet = true;
	return open_and_minimize(&one, &least, how, a);
}

int cmd_minimize(const struct options *o)
{
	struct arena a;
	struct prog least;
	const char *how = "";
	if (o->nfile != 1 || o->ntarget > 1 || (!o->db && !o->ntarget)) {
		complain("minimize: a finding's id and --db FILE, or a program and --target NAME, are needed (try --help)");
		return EXIT_USAGE;
	}
	arena_init(&a);
	interrupt_catch(NULL);
	int rc = open_and_minimize(o, &least, &how, &a);
	if (rc == EXIT_CLEAN) {
		printf("%s", prog_text(&least, &a));
		fflush(stdout);
		if (!o->quiet)
			fprintf(stderr, "%s\n", how);
	}
	arena_free(&a);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}
