/* source.c: hashes of seed and number begin sequences of choices: one for the block's policy, one for each attempt at the program. */
#include "fuzz/campaign/source.h"

#include <inttypes.h>

#include "fuzz/campaign/derived.h"
#include "fuzz/gen/gen.h"
#include "fuzz/gen/motif.h"

bool source_usable(const struct program_source *s, struct err *err)
{
	struct policy p;
	struct choices c;
	choices_from_seed(&c, 1);
	bool ok = policy_draw(&p, s->policy, &s->limits, &c, err);
	choices_free(&c);
	if (ok) {
		bool any = !p.restricted;
		for (int op = 0; op < op_nrows; op++)
			any |= p.op[op];
		ok = any || err_set(err, "--ops names no operator");
	}
	return ok;
}

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
		s->drawn.chance[PF_illegal] = s->drawn.chance[PF_outside] = 0;
	s->ndrawn = block + 1;
	return true;
}

/* By choices of its own: how the other programs are drawn does not depend on it. */
static bool motif(struct prog *out, struct arena *a, uint64_t draw, const struct policy *pol)
{
	enum { TRIES = 4 };
	struct choices c;
	bool ok = false;
	if (!pol->chance[PF_motif])
		return false;
	choices_from_seed(&c, draw);
	const bool wanted = choose_chance(&c, pol->chance[PF_motif]);
	for (int i = 0; i < TRIES && wanted && !ok; i++) {
		struct err err = {0};
		ok = motif_program(out, a, &c, pol, &err);
	}
	choices_free(&c);
	return ok;
}

/* *again: another attempt may give what this one did not. */
static bool attempt_program(
	bool *again, struct prog *out, struct arena *a, const struct program_source *s, int64_t number, int attempt, struct err *err)
{
	const uint64_t first = s->seed + mix64((uint64_t)number);
	const uint64_t draw = mix64(attempt ? first ^ mix64((uint64_t)attempt + 0xa6a1) : first);
	struct choices c;
	struct prog p;
	choices_from_seed(&c, draw);
	bool mutant = s->guide && guide_mutant(&p, a, s->guide, mix64(draw ^ 0x9d1de), &s->drawn);
	bool ok = mutant || motif(&p, a, mix64(draw ^ 0x307f), &s->drawn) || gen_program(&p, a, &c, &s->drawn, err);
	*again = ok;
	ok = ok && derived_program(out, &p, s->drawn.form, &c, a, err);
	if (ok && s->guide)
		guide_take(s->guide, &p);
	choices_free(&c);
	return ok;
}

static bool program_of(struct prog *out, struct arena *a, struct program_source *s, int64_t number, struct err *err)
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

/* ---- guided ---------------------------------------------------------------------------------------------------------------------- */

/* --corpus DIR or DIR#FINGERPRINT. */
static bool read_corpus(struct guide *g, const char *corpus, struct err *err)
{
	struct strbuf dir;
	const char *mark = strrchr(corpus, '#');
	char want[17], have[17];
	bool stated = mark && strlen(mark + 1) == 16 && strspn(mark + 1, "0123456789abcdef") == 16;
	snprintf(want, sizeof want, "%s", stated ? mark + 1 : "");
	sb_init(&dir);
	sb_put(&dir, corpus, stated ? (size_t)(mark - corpus) : strlen(corpus));
	bool ok = guide_read(g, dir.s, err);
	snprintf(have, sizeof have, "%016" PRIx64, g->fingerprint);
	if (ok && stated && !str_eq(want, have))
		ok = err_set(err, "--corpus: the programs of %s are others now (%s): these seeds do not make that program any more", dir.s, have);
	sb_free(&dir);
	return ok;
}

bool source_begin(struct program_source *s, struct err *err)
{
	if (!s->guided || s->guide)
		return true;
	struct guide *g = guide_new();
	g->loops = s->loops;
	if (s->corpus && !read_corpus(g, s->corpus, err)) {
		guide_free(g);
		return false;
	}
	guide_restart(g, 0);
	s->guide = g;
	return true;
}

void source_end(struct program_source *s)
{
	guide_free(s->guide);
	s->guide = NULL;
}

/* The corpus as it is when the program at `place` of its shard is made. */
static void reach(struct program_source *s, int64_t place)
{
	struct guide *g = s->guide;
	void (*refused)(void *, const char *) = s->refused;
	void (*kept_one)(void *, const struct prog *) = g->kept_one;
	struct arena a;
	if (g->next > place || place / GUIDE_ERA != g->next / GUIDE_ERA || place % GUIDE_ERA == 0)
		guide_restart(g, place - place % GUIDE_ERA);
	s->refused = NULL; /* it was told then */
	g->kept_one = NULL;
	arena_init(&a);
	for (; g->next < place; g->next++) {
		struct prog p;
		struct err err = {0};
		arena_reset(&a);
		program_of(&p, &a, s, g->next * MAX(s->nshards, 1) + s->shard, &err);
	}
	arena_free(&a);
	s->refused = refused;
	g->kept_one = kept_one;
}

bool source_program(struct prog *out, struct arena *a, struct program_source *s, int64_t number, struct err *err)
{
	const int n = MAX(s->nshards, 1);
	if (!s->guided)
		return program_of(out, a, s, number, err);
	if (number % n != s->shard)
		return err_set(err, "program %" PRId64 " is not of shard %d/%d", number, s->shard, n);
	if (!source_begin(s, err))
		return false;
	reach(s, number / n);
	s->guide->next++;
	return program_of(out, a, s, number, err);
}

const char *source_command(const struct program_source *s, int64_t number, struct arena *a)
{
	const struct policy_limits *l = &s->limits;
	bool plain = str_eq(s->policy, "default");
	const int n = MAX(s->nshards, 1);
	const char *guided = "";
	if (s->guided)
		guided = arena_printf(a, " %s%s%s%s", s->loops ? "--loop-shapes" : "--guided",
			n > 1 ? arena_printf(a, " --shard %d/%d", (int)(number % n), n) : "", s->corpus ? " --corpus " : "",
			s->corpus ? s->corpus : "");
	return arena_printf(a, "gen --seed %" PRIu64 "%s%s%s%s%s%s%s --program %" PRId64, s->seed, plain ? "" : " --policy ",
		plain ? "" : s->policy, l->ops ? " --ops " : "", l->ops ? l->ops : "", l->dtypes ? " --dtypes " : "", l->dtypes ? l->dtypes : "",
		guided, number);
}
