/* source.c: hashes of seed and number begin sequences of choices: one for the block's policy, one for each attempt at the program. */
#include "fuzz/campaign/source.h"

#include <inttypes.h>

#include "fuzz/campaign/derived.h"
#include "fuzz/gen/gen.h"

bool source_draw(struct program_source *s, int64_t number, struct err *err)
{
	const int64_t block = source_block(number);
	struct choices c;
	if (s->ndrawn == block + 1)
		return true;
	s->ndrawn = 0;
	choices_from_seed(&c, mix64(s->seed ^ mix64((uint64_t)block + 0x5ca77e4)));
	bool ok = policy_draw(&s->drawn, s->policy, &s->limits, &c, err);
	choices_free(&c);
	if (!ok)
		return false;
	if (s->legal)
		s->drawn.chance[PF_illegal] = 0;
	s->ndrawn = block + 1;
	return true;
}

/* *again: another attempt may give what this one did not. */
static bool attempt_program(
	bool *again, struct prog *out, struct arena *a, const struct program_source *s, int64_t number, int attempt, struct err *err)
{
	const uint64_t first = s->seed + mix64((uint64_t)number);
	struct choices c;
	struct prog p;
	choices_from_seed(&c, mix64(attempt ? first ^ mix64((uint64_t)attempt + 0xa6a1) : first));
	bool ok = gen_program(&p, a, &c, &s->drawn, err);
	*again = ok;
	ok = ok && derived_program(out, &p, s->drawn.form, &c, a, err);
	choices_free(&c);
	return ok;
}

bool source_program(struct prog *out, struct arena *a, struct program_source *s, int64_t number, struct err *err)
{
	enum { ATTEMPTS = 64 };
	bool again = true;
	if (!source_draw(s, number, err))
		return false;
	for (int i = 0; i < ATTEMPTS && again; i++) {
		struct err why = {0};
		if (attempt_program(&again, out, a, s, number, i, &why))
			return true;
		if (again && s->refused)
			s->refused(s->ctx, why.msg);
		*err = why;
	}
	return false;
}

const char *source_command(const struct program_source *s, int64_t number, struct arena *a)
{
	const struct policy_limits *l = &s->limits;
	bool plain = str_eq(s->policy, "default");
	return arena_printf(a, "gen --seed %" PRIu64 "%s%s%s%s%s%s --program %" PRId64, s->seed, plain ? "" : " --policy ",
		plain ? "" : s->policy, l->ops ? " --ops " : "", l->ops ? l->ops : "", l->dtypes ? " --dtypes " : "", l->dtypes ? l->dtypes : "",
		number);
}
