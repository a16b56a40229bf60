/* source.c: two hashes of seed and number begin two sequences of choices: one for the block's policy, one for the program. */
#include "fuzz/gen/source.h"

#include <inttypes.h>

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

bool source_program(struct prog *out, struct arena *a, struct program_source *s, int64_t number, struct err *err)
{
	struct choices c;
	if (!source_draw(s, number, err))
		return false;
	choices_from_seed(&c, mix64(s->seed + mix64((uint64_t)number)));
	bool ok = gen_program(out, a, &c, &s->drawn, err);
	choices_free(&c);
	return ok;
}

const char *source_command(const struct program_source *s, int64_t number, struct arena *a)
{
	const struct policy_limits *l = &s->limits;
	bool plain = str_eq(s->policy, "default");
	return arena_printf(a, "gen --seed %" PRIu64 "%s%s%s%s%s%s --program %" PRId64, s->seed, plain ? "" : " --policy ",
		plain ? "" : s->policy, l->ops ? " --ops " : "", l->ops ? l->ops : "", l->dtypes ? " --dtypes " : "", l->dtypes ? l->dtypes : "",
		number);
}
