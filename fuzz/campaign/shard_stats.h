/* shard_stats.h: what a shard counts and times since it began. Every number is one row of SHARD_STATS; the struct, the wire and the
 * sum over shards are made of that table. */
#ifndef SCATTERPROOF_SHARD_STATS_H
#define SCATTERPROOF_SHARD_STATS_H

#include "eager/lang/wire.h"
#include "fuzz/ask/options.h"
#include "fuzz/triage/verdict.h"

/* INT or REAL(name, how the numbers of several shards become one: SUM, MAX, or EACH: they do not). Milliseconds end in _ms; those since the
 * shard began are 0 until it happens. */
#define SHARD_STATS(INT, REAL)                                                                                                             \
	INT(generated, SUM)                                                                                                                    \
	INT(redrawn, SUM) /* programs that did not admit the policy's form */                                                                  \
	INT(compiled, SUM)                                                                                                                     \
	INT(cheap_runs, SUM)                                                                                                                   \
	INT(cheap_hits, SUM) /* a predicted meta overlaps itself */                                                                            \
	INT(set_aside, SUM)  /* never compiled, because known causes explain what was predicted wrongly */                                     \
	INT(confirmations, SUM)                                                                                                                \
	INT(refused_confirmations, SUM)                                                                                                        \
	INT(suspected, SUM)    /* programs that pass with suspects */                                                                          \
	INT(twins, SUM)        /* wide twins of them */                                                                                        \
	INT(sampled_turn, SUM) /* on a target of --sample, by why they were chosen */                                                          \
	INT(sampled_shape, SUM)                                                                                                                \
	INT(sampled_finding, SUM)                                                                                                              \
	REAL(generate_ms, SUM)                                                                                                                 \
	REAL(reference_ms, SUM)                                                                                                                \
	REAL(target_ms, SUM)                                                                                                                   \
	REAL(wait_ms, SUM)                                                                                                                     \
	REAL(confirm_ms, SUM)                                                                                                                  \
	REAL(wall_ms, SUM)                                                                                                                     \
	REAL(ready_ms, MAX)                  /* since it began: the target is there, */                                                        \
	REAL(first_compile_ms, MAX)          /* it has compiled the first program, */                                                          \
	REAL(first_divergence_ms, EACH)      /* and the first one diverged, */                                                                 \
	INT(first_divergence_compiles, EACH) /* which was compile number … */                                                                \
	REAL(main_ms, SUM)                   /* a program was on the main slot */                                                              \
	REAL(starved_ms, SUM)                /* none was there for it */                                                                       \
	INT(queue, SUM)                      /* now */                                                                                         \
	INT(own_rss, SUM)                    /* now, bytes */                                                                                  \
	INT(target_rss, SUM)                 /* now, bytes */

struct shard_stats {
#define INT(name, merge)  int64_t name;
#define REAL(name, merge) double name;
	SHARD_STATS(INT, REAL)
#undef INT
#undef REAL
	int64_t verdict[MAX_TARGETS + 1][NVERDICTS]; /* last row: the cheap stage */
	struct element_counts elements[NFILL_CLASSES];
	bool exhausted; /* --programs reached and nothing in flight */
};

void shard_stats_add(struct shard_stats *sum, const struct shard_stats *s);
void shard_stats_put(struct strbuf *sb, const struct shard_stats *s);
void shard_stats_get(struct shard_stats *s, struct wire *w);
/* Of all targets, the cheap stage left out. */
int64_t shard_stats_verdicts(const struct shard_stats *s, enum verdict v);

#endif
