/* shard.h: one shard of a campaign: generates programs, runs them on its own target children, computes the reference, compares,
 * confirms divergences. A process of its own (verb SHARD_VERB, speaking proc.h's frames), so that our own crash costs a chunk.
 *
 * Programs are numbered; shard i of n makes the programs i, i+n, i+2n, … of the campaign. Program number and seed alone decide a
 * program (its block of PROGRAMS_PER_DRAW decides the policy draw), so a campaign's programs do not depend on --jobs or on timing; which of
 * them get a compile does.
 *
 * With compiling targets every program first passes the cheap stages (torch:fake: eager values and fake-tensor metas, ~10 ms); a
 * queue then orders compiles: predicted-meta mismatches first, then novelty. Without (--no-cheap) programs are compiled in order.
 *
 * A program that passes with suspects (oracle/spread.h) is run again as its wide twin (edit_widen), before what is merely new.
 *
 * Messages: request = u32 milliseconds to work, u8 enum shard_mode; answer = counters since the last answer, then the findings. */
#ifndef SCATTERPROOF_SHARD_H
#define SCATTERPROOF_SHARD_H

#include "compiled/targets/wire.h"
#include "fuzz/options.h"
#include "fuzz/policy.h"
#include "fuzz/verdict.h"

#define SHARD_VERB "__shard"
enum { PROGRAMS_PER_DRAW = POLICY_BLOCK, QUEUE_MAX = 48 };

enum shard_mode {
	SHARD_WORK,
	SHARD_DRAIN,            /* no new programs: what runs is finished, what waits for its confirmation is confirmed */
	SHARD_GIVE_UP           /* what waits for its confirmation is sent unconfirmed, at once */
};
#define HOW_SEEN_BEFORE "seen before in this run"

struct shard_stats {
	int64_t generated, compiled, cheap_runs, cheap_hits, confirmations, refused_confirmations, suspected, twins;
	int64_t verdict[MAX_TARGETS + 1][NVERDICTS];    /* last row: the cheap stage */
	struct element_counts elements[NFILL_CLASSES];
	double generate_ms, reference_ms, target_ms, wait_ms, confirm_ms, wall_ms;
	double first_compile_ms, first_divergence_ms;   /* since the shard began; 0: not yet */
	int64_t first_divergence_compiles;
	int64_t queue, rss, target_rss;
	bool exhausted;                                 /* --programs reached and nothing in flight */
};

/* Of all targets, the cheap stage left out. */
static inline int64_t verdicts(const struct shard_stats *s, enum verdict v)
{
	int64_t n = 0;
	for (int t = 0; t < MAX_TARGETS; t++)
		n += s->verdict[t][v];
	return n;
}

struct shard_finding {
	const char *target, *versions, *device, *text, *policy;
	enum finding_kind kind;
	enum finding_severity severity;
	const char *signature, *tensor, *pattern, *detail, *report, *stderr_tail;
	int call;
	bool confirmed;
	const char *how;                                /* "again in a fresh process", or why not confirmed */
	int64_t program_index, compiles;
	double found_ms, confirm_ms;
};
/* Deltas for the summary: reasons of anything but pass and divergence, legitimate differences that were met. */
enum { MAX_REASONS = 64 };
struct shard_reason { int target; char text[136]; int64_t n; };
/* Adds to a list of at most MAX_REASONS, the last of which collects the rest. */
void shard_reason_add(struct shard_reason *list, int *n, int target, const char *text, int64_t times);

void shard_put_stats(struct strbuf *sb, const struct shard_stats *s);
void shard_get_stats(struct shard_stats *s, struct wire *w);
void shard_put_finding(struct strbuf *sb, const struct shard_finding *f);
void shard_get_finding(struct shard_finding *f, struct wire *w, struct arena *a);

int shard_main(const struct options *o);

#endif
