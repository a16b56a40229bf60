/* short_script.c: what is looked at, which numbers the inputs get, and whether the text does what it says. */
#include "fuzz/triage/short_script.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiled/targets/driver.h"
#include "eager/base/capture.h"
#include "eager/base/escape.h"
#include "eager/lang/fill.h"
#include "fuzz/triage/expected.h"
#include "generated/op_id.h"
#include "generated/op_input.h"

/* ---- what is looked at ----------------------------------------------------------------------------------------------------------- */

static bool look_of(struct script_look *out, const struct claim *c, const struct prog *p, const struct target *t, struct arena *a)
{
	static const struct {
		unsigned part;
		enum script_fact fact;
	} facts[] = {{CLAIM_ELEMENTS, FACT_ELEMENTS}, {CLAIM_PRESENT, FACT_PRESENT}, {CLAIM_SHAPE, FACT_SHAPE}, {CLAIM_STRIDES, FACT_STRIDES},
		{CLAIM_REQUIRES_GRAD, FACT_REQUIRES_GRAD}};
	*out = (struct script_look){.at = LOOK_RUN};
	if (c->subject == CLAIM_RUN)
		return !c->refused;
	if (c->subject != CLAIM_TENSOR || c->tensor.later)
		return false;
	out->at = c->tensor.role == TR_OUTPUT ? LOOK_OUTPUT : c->tensor.role == TR_GRADIENT ? LOOK_GRADIENT : LOOK_STORAGE;
	out->index = c->tensor.index;
	for (int i = 0; i < ARRAY_LEN(facts); i++)
		if (c->parts & facts[i].part) {
			out->fact = facts[i].fact;
			if (out->fact == FACT_ELEMENTS)
				out->expected = expected_list(c, p, t, a);
			return true;
		}
	return false;
}

/* ---- plainer numbers --------------------------------------------------------------------------------------------------------------- */

enum { ONES, COUNTED, OWN, NNUMBERS };

/* Every float input gets these. False: one is too large for that, or there is none. */
static bool with_numbers(struct prog *q, const struct prog *p, int numbers, struct arena *a)
{
	struct err err = {0};
	bool some = false;
	prog_clone(q, p, a);
	for (int i = 0; i < q->nnode; i++) {
		const struct meta *m = node_meta(q, i);
		if (q->node[i].op != OP_input || !dtype_is_float(m->dtype))
			continue;
		const int64_t n = meta_extent(m);
		if (n > MAX_DATA || n < 1)
			return false;
		struct scalar *v = ARENA_NEW(a, struct scalar, n);
		for (int64_t k = 0; k < n; k++)
			v[k] = (struct scalar){.kind = SC_FLOAT, .f = numbers == ONES ? 1 : (double)k};
		q->node[i].arg[A_input_data] = arg_data(q, v, (int)n);
		some = true;
	}
	return some && prog_infer(q, &err) && prog_validate(q, &err);
}

/* ---- running ----------------------------------------------------------------------------------------------------------------------- */

enum { LIMIT_S = 300 };

struct ended {
	int code;      /* 128: by a signal, 127: not started */
	bool reached;  /* eager's answer was printed: whatever ended it came after that */
	bool asserted; /* it ended in the assertion */
};

static bool run_text(struct ended *out, const char *python, const struct strbuf *text, struct arena *a, struct err *err)
{
	enum { MOST = 1 << 22 };
	const char *tmp = getenv("TMPDIR");
	char *dir = arena_printf(a, "%s/scatterproof-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	struct strbuf said;
	if (!mkdtemp(dir))
		return err_set(err, "%s: %s", dir, strerror(errno));
	const char *file = arena_printf(a, "%s/repro.py", dir);
	const char *argv[] = {python, file, NULL};
	const struct capture c = {.argv = argv, .errors = true, .most = MOST, .limit_s = LIMIT_S};
	sb_init(&said);
	const bool ok = sb_write_file(file, text, err);
	*out = (struct ended){.code = ok ? capture_run(&said, &c) : 127};
	out->reached = strncmp(said.s, "eager:", 6) == 0 || strstr(said.s, "\neager:");
	out->asserted = strstr(said.s, "\nAssertionError") != NULL;
	sb_free(&said);
	unlink(file);
	rmdir(dir);
	return ok;
}

/* The text shows what is looked at: eager answered, and then the assertion failed or, where it must run, something was raised. */
static bool shows(const struct ended *e, const struct script_look *look)
{
	return e->code == 1 && e->reached && e->asserted == (look->at != LOOK_RUN);
}

/* "2.15.0: right". */
static void other_versions(
	struct strbuf *sb, const struct strbuf *text, const struct script_look *look, const struct target *t, struct arena *a)
{
	struct target_installed *list;
	const int n = t->driver->installed ? t->driver->installed(&list, a) : 0;
	for (int i = 0; i < n; i++) {
		struct ended e;
		struct err err = {0};
		if (list[i].problem[0] || str_eq(list[i].version, t->version) || !run_text(&e, list[i].python, text, a, &err))
			continue;
		const char *word = shows(&e, look) ? "wrong (exit code 1)" : e.code == 0 ? "right (exit code 0)" : "it does not run through";
		sb_printf(sb, "; %s: %s", list[i].version, word);
	}
}

bool short_script(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, const char *python,
	const char *headline, const struct short_ask *ask, struct arena *a, struct err *err)
{
	struct strbuf text;
	bool found = false, asked = false;
	if (!t->driver->script || !t->driver->script->brief)
		return err_set(err, "targets of the family %s have no scripts of a few lines", target_family(t));
	sb_init(&text);
	for (int numbers = ONES; numbers < NNUMBERS && !found; numbers++) {
		struct prog q = *p;
		struct script_look look;
		struct ended e;
		if (numbers != OWN && !with_numbers(&q, p, numbers, a))
			continue;
		if (!look_of(&look, c, &q, t, a)) {
			err_set(err, "what is wrong is nothing that a few lines show");
			break;
		}
		sb_reset(&text);
		if (!t->driver->script->brief(&text, &look, &q, t, a, err) || !ask->holds(ask->ctx, &q, a))
			continue;
		asked = true;
		if (!run_text(&e, python, &text, a, err))
			break;
		found = shows(&e, &look);
		if (found) {
			sb_puts(sb, "# ");
			escape_lines(sb, "# ", headline, strlen(headline));
			sb_printf(sb, "\n# Run with PyTorch %s: wrong (exit code 1)", t->version);
			other_versions(sb, &text, &look, t, a);
			sb_printf(sb, ".\n%s", text.s);
		}
	}
	if (!found && (asked || !err->msg[0]))
		err_set(err, asked ? "compared with eager by allclose, nothing is wrong" : "the target does not fail any more");
	sb_free(&text);
	return found;
}
