/* cmd_steps.c: the steps of triage as verbs of their own: `confirm`, `minimize`, `blame`, of a finding or of a program in a file; and all
 * of them for one finding, which is what `triage` starts processes for. */
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "eager/lang/names.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/triage_one.h"
#include "fuzz/cli/triage_steps.h"

static bool usable(const struct options *o, const char *verb)
{
	if (o->nfile == 1 && o->ntarget <= 1 && (o->db || o->ntarget))
		return true;
	complain("%s: a finding's id and --db FILE, or a program and --target NAME, are needed (try --help)", verb);
	return false;
}

static int run_step(const struct options *o, const char *verb, triage_step *step, FILE *said, bool program)
{
	struct arena a;
	struct triage_case c;
	const char *how = "";
	if (!usable(o, verb))
		return EXIT_USAGE;
	arena_init(&a);
	interrupt_catch(NULL);
	int rc = case_open(&c, o, &a);
	if (rc == EXIT_CLEAN)
		rc = step(&c, &how);
	case_close(&c);
	if (program && rc == EXIT_CLEAN)
		printf("%s", prog_text(&c.x.p, &a));
	fflush(stdout);
	if (how[0] && !(program && o->quiet))
		fprintf(said, "%s\n", escaped_line(&a, how));
	arena_free(&a);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}

int cmd_confirm(const struct options *o) { return run_step(o, "confirm", step_confirm, stdout, false); }
int cmd_minimize(const struct options *o) { return run_step(o, "minimize", step_minimize, stderr, true); }
int cmd_blame(const struct options *o) { return run_step(o, "blame", step_blame, stdout, false); }

/* ---- all of them --------------------------------------------------------------------------------------------------------------------- */

#define STOPPED "stopped before the end" /* as step_minimize says it */

/* What the store has is not done again; stopped half-way is not had. */
static bool is_minimised(const struct triage_case *c) { return c->x.f.minimised && !case_has(c, EVENT_MINIMISED, STOPPED); }

/* The time of this finding is over between two steps. */
static int not_blamed_yet(const struct triage_case *c, const char **how)
{
	if (!interrupt_asked())
		*how = arena_printf(c->a, "%s%snot blamed yet: its time is over (the next `triage` goes on here)", *how, (*how)[0] ? "; " : "");
	return EXIT_CLEAN;
}

/* By an older scatterproof, whose minimiser kept the names of what it edited. */
static bool has_lying_names(const struct triage_case *c)
{
	return c->x.f.minimised && str_eq(c->x.obs->program_text, c->x.f.minimised) && !prog_names_tell(&c->x.p);
}

static int all_steps(struct triage_case *c, const char **how)
{
	const char *before = "";
	int rc = EXIT_CLEAN;
	if (is_minimised(c))
		case_extend(c);
	if (!case_has(c, EVENT_CONFIRMED, "data seeds")) {
		rc = step_confirm(c, how);
		before = arena_printf(c->a, "%s; ", *how);
	}
	if (rc != EXIT_CLEAN)
		return rc;
	if (case_over(c))
		return not_blamed_yet(c, how);
	if (!is_minimised(c)) {
		rc = step_known(c, how);
		if (rc != EXIT_VOID || case_over(c))
			return rc;
		rc = step_minimize(c, how);
		if (rc == EXIT_CLEAN && !strstr(*how, STOPPED))
			case_extend(c);
		before = arena_printf(c->a, "%s%s; ", before, *how);
	} else if (has_lying_names(c)) {
		rc = step_names(c, how);
		before = arena_printf(c->a, "%s%s; ", before, *how);
	}
	if (rc != EXIT_CLEAN)
		return rc;
	if (case_over(c))
		return not_blamed_yet(c, how);
	rc = step_blame(c, how);
	before = *how = arena_printf(c->a, "%s%s", before, *how);
	if (rc != EXIT_CLEAN || case_over(c))
		return rc;
	rc = step_script(c, how);
	*how = arena_printf(c->a, "%s; %s", before, *how);
	return rc;
}

int triage_one(const struct options *o, FILE *said) { return run_step(o, "triage", all_steps, said, false); }
