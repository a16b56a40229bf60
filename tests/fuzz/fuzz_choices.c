/* fuzz_choices.c: libFuzzer target: choice sequences. The bytes decode to a valid program; the eager interpreter runs it; the
 * reference judges: no crash, no divergence, and the printed program reads back. */
#include "eager/run/interp.h"
#include "fuzz/gen/gen.h"
#include "fuzz/triage/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	struct choices c;
	struct policy pol;
	struct prog p, q;
	struct err err = {0};
	arena_init(&a);
	choices_from_bytes(&c, data, size);
	if (!policy_draw(&pol, "default", NULL, &c, &err))
		BUG("%s", err.msg);
	if (!gen_program(&p, &a, &c, &pol, &err)) { /* bytes that ended in the middle of the policy: nine equal attempts */
		choices_free(&c);
		arena_free(&a);
		return 0;
	}
	const char *text = prog_text(&p, &a);
	bug_context(text);
	if (!prog_read(&q, &a, text, strlen(text), READ_STRICT, &err))
		BUG("%d:%d: %s", err.line, err.col, err.msg);
	struct result r;
	struct outcome o;
	struct target t;
	CHECK(target_parse(&t, "builtin:eager", &err));
	interp_run(&r, &p, &a, NULL, &err);
	outcome_of(&o, &p, &r, &t, NULL, &a);
	if (o.verdict != VD_PASS && o.verdict != VD_UNJUDGED && o.verdict != VD_UNSUPPORTED)
		BUG("%s: %s\n%s", verdict_name[o.verdict], o.why, o.report);
	bug_context(NULL);
	choices_free(&c);
	arena_free(&a);
	return 0;
}
