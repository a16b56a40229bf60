/* script.c: the script in the order in which a person reads it: what is wrong, the function, the inputs (these come from the target's
 * driver), what must come out; then the machinery that is the same in every script of the family, which reads the names in capitals. */
#include "fuzz/triage/script.h"

#include "compiled/targets/driver.h"
#include "eager/base/escape.h"
#include "fuzz/triage/expected.h"
#include "eager/base/json.h"

/* Of any text, a comment line per line: nothing of it can run, and Python can read it. */
static void comment(struct strbuf *sb, const char *text)
{
	sb_puts(sb, "# ");
	escape_lines(sb, "# ", text, strlen(text));
	sb_putc(sb, '\n');
}

static void header(struct strbuf *sb, const struct target *t, const char *headline, const char *says, const char *why, struct arena *a)
{
	sb_puts(sb, "#!/usr/bin/env python3\n");
	comment(sb, headline);
	comment(sb, arena_printf(a, "Exits 1 if %s, 0 if not, 2 if that cannot be told.", says));
	if (why[0])
		comment(sb, arena_printf(a, "It cannot be told unless the program does not run: %s.", why));
	t->driver->script->imports(sb, t);
}

static void python_text(struct strbuf *sb, const char *name, const char *value)
{
	sb_printf(sb, "%s = ", name);
	if (value)
		escape_python(sb, value);
	else
		sb_puts(sb, "None");
	sb_putc(sb, '\n');
}

/* How a run that does not go through is to be understood. */
static void run_facts(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	struct outcome asked;
	const struct result none = {.status = RES_RAISED, .message = "", .stderr_tail = ""};
	outcome_of(&asked, p, &none, t, NULL, a);
	sb_printf(sb, "COMPILES = %s\n", target_stage(t)->compiles ? "True" : "False");
	sb_printf(sb, "MUST_RAISE = %s\n", asked.reference == REF_RAISES ? "True" : "False");
	python_text(sb, "STATED", p->must_raise ? p->raises ? p->raises : "" : NULL);
	sb_printf(sb, "AUTOGRAD_REFUSES = %s  # whoever runs it\n", program_raises(p, t, a) ? "True" : "False");
	sb_printf(sb, "REFUSED = %s  # that eager refuses it is what this script is about\n", c->refused ? "True" : "False");
	sb_puts(sb, "KNOWN_REFUSALS = [");
	for (int i = 0, n = 0; target_stage(t)->compiles && i < t->driver->nrefusals; i++) {
		const struct target_refusal *known = &t->driver->refusal[i];
		if (!target_refusal_concerns(known, t))
			continue;
		sb_puts(sb, n++ ? ", " : "");
		escape_python(sb, known->fragment);
	}
	sb_puts(sb, "]  # of the compiler: no bugs by themselves\n");
	python_text(sb, "NOT_HERE", c->subject == CLAIM_RUN ? t->driver->script->not_here(t) : NULL);
	sb_printf(sb, "FLAKY = %s  # not seen again when it was found: not to see it says nothing\n", c->flaky ? "True" : "False");
	sb_printf(sb, "LIMIT = %d  # seconds; what takes longer hangs\n", t->driver->script->limit_ms(t) / 1000);
}

bool script_emit(struct strbuf *sb, const struct claim *c, const struct prog *program, const struct target *t, const char *headline,
	struct arena *a, struct err *err)
{
	const struct target_script *script = t->driver->script;
	struct strbuf table, name;
	const struct prog p = claim_program(c, program);
	const char *why = "";
	if (!script || !script->imports)
		return err_set(err, "targets of the family %s have no %sstand-alone scripts", target_family(t), script ? "judged " : "");
	if (c->subject == CLAIM_ANYTHING)
		return err_set(err, "no observation of this program says which tensor is wrong: a script could not show it");
	sb_init(&table);
	sb_init(&name);
	if (c->subject == CLAIM_TENSOR)
		expected_name(&name, &c->tensor);
	bool known = c->subject == CLAIM_TENSOR && expected_emit(&table, &why, c, &p, t, a);
	header(sb, t, headline, p.must_raise ? "the target runs what eager refuses" : claim_text(c, a), why, a);
	bool ok = script->program(sb, &p, t, a, err);
	sb_puts(sb, "\n# What is looked at: this tensor of call LOOK; None: whether the program runs as it must.\n");
	python_text(sb, "TENSOR", c->subject == CLAIM_TENSOR ? name.s : NULL);
	sb_printf(sb, "LOOK = %d\n", c->subject == CLAIM_TENSOR ? c->call : p.ncall);
	python_text(sb, "UNKNOWN", why[0] ? why : NULL);
	run_facts(sb, c, &p, t, a);
	if (strstr(table.s, "inf") || strstr(table.s, "nan"))
		sb_puts(sb, "inf, nan = math.inf, math.nan\n");
	sb_puts(sb,
		"# What the reference says that it must be, whatever order of sums, fused multiply-adds and wider intermediates a correct\n"
		"# compiler chooses. EXPECTED: for each range of versions of PyTorch the first one, the elements, groups of elements that get one\n"
		"# gradient each of a list, or 0. An element is a number (exactly that; the int 0: a zero of either sign), (low, high, or one of\n"
		"# these), {one, of, these} or None (anything).\n");
	sb_puts(sb, known ? table.s : "MUST = {}\nEXPECTED = []\n");
	sb_puts(sb,
		"SHOWN = 8  # elements of a tensor\n\n\n"
		"# ---- the data of the inputs: integer arithmetic, the same everywhere ----\n");
	sb_puts(sb, script->making_inputs());
	sb_puts(sb, "\n\n# ---- running and comparing ----\n\n\n");
	sb_puts(sb, script->running());
	sb_free(&name);
	sb_free(&table);
	return ok;
}
