/* summary.h: what a campaign says when it ends: what ran where and how it ended, why not everything was judged, where the time went. */
#ifndef SCATTERPROOF_SUMMARY_H
#define SCATTERPROOF_SUMMARY_H

#include "fuzz/campaign/recheck.h"
#include "fuzz/campaign/shard.h"
#include "fuzz/campaign/tally.h"

struct summary {
	const struct options *o;
	const struct program_source *source;
	double seconds;
	const struct shard_stats *sum;   /* of all shards, of processes that died, too */
	const struct shard_stats *shard; /* of each of nshards */
	int nshards;
	const struct target *target; /* MAX_TARGETS + 1; the last is the cheap stage */
	const struct shard_reason *reason;
	int nreason;
	const struct tally *tally;
	const struct explained *explained;
	const struct recheck *recheck; /* of what was known before */
	int64_t nobs, lost_programs;   /* programs that diverged; of which a shard died */
};

/* To standard output: lines, or with --json one object {"summary": {…}}. */
void summary_print(const struct summary *s);

#endif
