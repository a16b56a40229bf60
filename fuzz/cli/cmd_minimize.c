/* cmd_minimize.c: the smallest program that still fails in the same way. One warm child of the target answers; a fresh one confirms what came
 * out. What the reference cannot judge, or eager refuses, is not asked about: such a program would not be the same failure. */
#include <inttypes.h>

#include "compiled/targets/exec.h"
#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "fuzz/campaign/load.h"
#include "fuzz/cli/commands.h"
#include "fuzz/triage/failure.h"
#include "fuzz/triage/minimise.h"
#include "fuzz/triage/plain.h"

struct minimizing {
	const struct options *o;
	struct exec *e;
	struct target t;
	struct failure failure;
	struct arena a; /* of one question */
	int calls;      /* of the target, plain stage included */
	int spared;     /* questions that needed none */
	int64_t started;
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
	if (m->broken)
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

static int run_minimize(struct minimizing *m, const struct prog *p, struct arena *a)
{
	struct outcome o;
	struct minimise_count count;
	struct prog least;
	run_once(m, p, &o);
	if (!verdict_diverges(o.verdict)) {
		complain("the program does not fail: %s%s%s", verdict_name[o.verdict], o.why[0] ? ": " : "", escaped_line(a, o.why));
		return o.verdict == VD_HARNESS ? EXIT_TARGET : EXIT_CLEAN;
	}
	failure_of(&m->failure, &o);
	fprintf(stderr, "%s: %d operators\n", failure_text(&m->failure, a), operators_of(p));
	minimise(&least, &count, p, still_fails, m, a);
	arena_reset(&m->a);
	run_once(m, &least, &o);
	printf("%s", prog_text(&least, a));
	fprintf(stderr,
		"%d operators, %d calls of the target; of %d edits %d were refused, %d repeated, %d asked (%d of them of the reference alone), %d accepted\n",
		operators_of(&least), m->calls, count.refused + count.repeated + count.asked, count.refused, count.repeated, count.asked, m->spared,
		count.accepted);
	return EXIT_FINDINGS;
}

int cmd_minimize(const struct options *o)
{
	struct minimizing m = {.o = o};
	struct err err = {0};
	struct arena a;
	struct strbuf text;
	struct prog p;
	int rc = EXIT_USAGE;
	if (o->nfile != 1 || o->ntarget > 1) {
		complain("minimize: one program and one --target are needed");
		return EXIT_USAGE;
	}
	m.t = o->target[0];
	arena_init(&a);
	arena_init(&m.a);
	sb_init(&text);
	if (!sb_read_file(&text, o->file[0], MAX_TEXT, &err) || !prog_read(&p, &a, text.s, text.len, READ_STRICT, &err)) {
		complain("%s", err.msg);
	} else {
		struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
		m.e = exec_open(&m.t, &eo, &err);
		enum exec_identity id = m.e ? exec_identify(&m.t, m.e, &err) : EXEC_BROKEN;
		if (id == EXEC_IDENTIFIED)
			rc = run_minimize(&m, &p, &a);
		else
			complain("%s", err.msg);
		exec_close(m.e);
	}
	sb_free(&text);
	arena_free(&m.a);
	arena_free(&a);
	return rc;
}
