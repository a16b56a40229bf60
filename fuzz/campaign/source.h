/* source.h: from a seed to its programs. Here, and nowhere else, it is decided which program a number of a seed is.
 *
 * A seed has a program for each number 0, 1, 2, … Numbers come in blocks of POLICY_BLOCK. Seed, policy and limits (--ops, --dtypes)
 * decide a block's policy draw; seed and number decide the choices that the program is made of. A program that does not admit the policy's
 * form (derived.h) is drawn again, with choices that seed, number and attempt decide. Nothing else does: no clock, no other
 * program, not how many were asked for. So a campaign and `gen --program N` of one seed make the same programs, whatever --jobs and
 * --shard are. (`bench` leaves out those that must raise, so its programs are others.)
 *
 * Guided (guide.h), a program also depends on the programs that its shard made before it, and so on how many shards there are. Asked for
 * one, source_program makes those of its era first; asked for one after the other, it makes each once.
 *
 * Shard i of n makes the programs i, i+n, i+2n, …; source_share says how many of --programs those are. */
#ifndef SCATTERPROOF_SOURCE_H
#define SCATTERPROOF_SOURCE_H

#include "eager/lang/prog.h"
#include "fuzz/ask/options.h"
#include "fuzz/campaign/guide.h"
#include "fuzz/gen/policy.h"

struct program_source {
	uint64_t seed;
	const char *policy; /* its name: see policy_names */
	struct policy_limits limits;
	bool legal;          /* without programs that must raise: bench has nothing to measure in them */
	int64_t ndrawn;      /* 1 + the block that `drawn` belongs to; 0: none was drawn yet */
	struct policy drawn; /* source_draw's */
	bool guided;
	bool loops;          /* by the shapes of loops, too */
	const char *corpus;  /* --corpus: seeds of a guided campaign; NULL: none. "DIR#HEX": they must have that fingerprint */
	int shard, nshards;  /* of a guided campaign; nshards 0: one */
	struct guide *guide; /* source_program's; freed by source_end */
	/* NULL, or it is told why a program was drawn again. */
	void (*refused)(void *ctx, const char *why);
	void *ctx;
};

static inline int64_t source_block(int64_t number) { return number / POLICY_BLOCK; }
static inline int64_t source_share(int64_t programs, int shard, int nshards) { return programs / nshards + (shard < programs % nshards); }

/* The programs that --seed, --policy, --ops and --dtypes name. */
static inline struct program_source options_source(const struct options *o)
{
	return (struct program_source){.seed = o->seed,
		.policy = o->policy,
		.limits = {o->ops, o->dtypes},
		.guided = o->guided,
		.loops = o->loop_shapes,
		.corpus = o->corpus,
		.shard = o->shard_index,
		.nshards = o->shard_count};
}

/* False: policy or limits are unknown words, or leave no operator; err says which. */
bool source_usable(const struct program_source *s, struct err *err);
/* s->drawn becomes the policy draw of the number's block. False: policy or limits are unknown words, err says which. */
bool source_draw(struct program_source *s, int64_t number, struct err *err);
/* The program of a number, in `a`. False: as source_draw, or this number has none (policy and limits leave no
 * operator to draw, or no program that admits the policy's form). */
bool source_program(struct prog *out, struct arena *a, struct program_source *s, int64_t number, struct err *err);
/* Guided: reads the corpus, if nobody did yet. False: err says what is wrong with it. */
bool source_begin(struct program_source *s, struct err *err);
void source_end(struct program_source *s);
/* The words after `scatterproof` that print this program: "gen --seed 5 --program 7". */
const char *source_command(const struct program_source *s, int64_t number, struct arena *a);

#endif
