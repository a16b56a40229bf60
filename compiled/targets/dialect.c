/* dialect.c: the steps up to decompose, with their validators on: what a family is given is not to be our own compiler's mistake. */
#include "compiled/targets/dialect.h"

static const char *const names[] = {[TAKES_ATEN] = "aten", [TAKES_CORE] = "core"};

const char *dialect_name(enum target_dialect d) { return names[d]; }

bool dialect_find(enum target_dialect *out, const char *name)
{
	for (int d = 0; d < ARRAY_LEN(names); d++)
		if (str_eq(names[d], name)) {
			*out = (enum target_dialect)d;
			return true;
		}
	return false;
}

const char *dialect_refuses(enum target_dialect d, struct arena *a)
{
	return arena_printf(a, "eager refuses the program, and nothing in the %s dialect raises", dialect_name(d));
}

enum target_dialect dialect_of(const struct target *t)
{
	enum target_dialect d = target_stage(t)->takes;
	const char *option = target_option(t, "dialect");
	if (option)
		CHECK(dialect_find(&d, option));
	return d;
}

bool dialect_say(struct said *out, const struct prog *p, enum target_dialect d, struct arena *a, struct err *err)
{
	const struct compile_options o = {.stage = STAGE_DECOMPOSED, .decompose = true, .validate = true};
	CHECK(d == TAKES_CORE);
	if (p->must_raise)
		return err_set(err, "%s", dialect_refuses(d, a));
	out->ncalls = p->ncall + 1;
	out->call = ARENA_ZNEW(a, struct said_call, (size_t)out->ncalls);
	for (int k = 0; k < out->ncalls; k++) {
		struct said_call *c = &out->call[k];
		struct err why = {0};
		if (!prog_bind(&c->bound, p, k, a, err))
			return false;
		switch (compile(&c->compiled, &c->bound, &o, a, &why)) {
		case COMPILE_OK: break;
		case COMPILE_BROKEN: BUG("the core dialect of a program: %s", why.msg);
		case COMPILE_RAISES:
		case COMPILE_REFUSED: return err_set(err, "it cannot be said in the %s dialect: %s", dialect_name(d), why.msg);
		}
	}
	return true;
}
