/* plain.c: asks the plain stage (see plain.h). */
#include "fuzz/triage/plain.h"

#include "compiled/targets/driver.h"

bool plain_needed(const struct outcome *o, const struct target *t)
{
	return o->verdict == VD_MISMATCH && o->kind == FINDING_RAISE && target_must_run(t) && target_has_plain(t);
}

struct target plain_of(const struct target *t)
{
	struct target plain = *t;
	plain.stage = 0;
	plain.noptions = target_must_run(t) ? 0 : t->noptions;
	return plain;
}

void plain_settle(
	struct outcome *o, const struct result *r, const struct result *plain, const struct prog *p, const struct target *t, struct arena *a)
{
	const struct target of = plain_of(t);
	if (r->status == RES_RAISED && plain->status == RES_UNSUPPORTED && target_refusal_of(&of, plain->message)) {
		*o = (struct outcome){.verdict = VD_UNSUPPORTED,
			.why = plain->message,
			.signature = "",
			.tensor = "",
			.pattern = "",
			.detail = "",
			.report = "",
			.suspicion = "",
			.reference = o->reference};
		return;
	}
	bool both_run = r->status == RES_OK && plain->status == RES_OK, both_raise = r->status == RES_RAISED && plain->status == RES_RAISED;
	if (!both_run && !both_raise)
		return;
	const char *why = both_run ? "eager runs it, too, though the program or the reference says that eager must refuse it" : plain->message;
	*o = (struct outcome){.verdict = VD_INVALID,
		.why = why,
		.unexpected = both_run || !program_raises(p, t, a),
		.signature = "",
		.tensor = "",
		.pattern = "",
		.detail = "",
		.report = "",
		.suspicion = "",
		.reference = o->reference};
}

void plain_ask(struct outcome *o, struct exec *e, const struct prog *p, const struct result *r, const struct target *t, struct arena *a)
{
	struct target plain = plain_of(t);
	struct result says;
	if (!plain_needed(o, t))
		return;
	exec_run(&says, a, e, p, &plain);
	plain_settle(o, r, &says, p, t, a);
}
