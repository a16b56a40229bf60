/* guide.h: the corpus of a guided campaign (fuzz --guided): programs that had a feature (feature.h) which none before them had, in one
 * shard. A share of the programs to come are mutants of them (fuzz/gen/mutate.h).
 *
 * What a shard makes depends on what it made before, and on nothing else: not on verdicts, not on time. So a shard that takes a dead one's
 * place, and `gen --guided --shard I/N --program K`, make the same programs by making those before them once more. Numbers come in eras
 * of GUIDE_ERA programs of a shard, each of which begins with the seeds only: at most so many are made again, and a campaign does not stay
 * with what it happened to keep first. */
#ifndef SCATTERPROOF_GUIDE_H
#define SCATTERPROOF_GUIDE_H

#include "eager/lang/prog.h"
#include "fuzz/campaign/feature.h"
#include "fuzz/gen/policy.h"

/* GUIDE_SHARE: percent of programs that are mutants, as soon as GUIDE_LEAST were kept. (Of half of the programs, and from the first one on,
 * they cost more programs to detection than they saved: docs/figures.md.) */
enum { GUIDE_ERA = 1 << 14, GUIDE_KEPT = 512, GUIDE_LEAST = 64, GUIDE_SHARE = 33 };

struct guide_entry {
	struct arena arena;
	struct prog prog;
};
struct guide {
	int64_t next;            /* place in its shard of the program that is made next */
	bool loops;              /* loops are features, too */
	struct feature_set seen; /* in this era */
	int nkept;               /* in this era, seeds included; the latest GUIDE_KEPT of them are there */
	struct guide_entry kept[GUIDE_KEPT];
	int nseed, cap_seed;
	struct prog *seed; /* of --corpus, in seeds */
	struct arena seeds;
	uint64_t fingerprint; /* of the seeds, in their order */
	/* NULL, or it is told a program that was kept. */
	void (*kept_one)(void *ctx, const struct prog *p);
	void *ctx;
};

struct guide *guide_new(void);
void guide_free(struct guide *g); /* NULL: nothing */
/* Seeds: the programs of DIR's files *.prog, in the order of the files' names, but for those that must raise. A directory
 * that is not there has none. False: a file does not read. */
bool guide_read(struct guide *g, const char *dir, struct err *err);
void guide_restart(struct guide *g, int64_t at); /* the first place of an era */
/* A mutant of what is kept, if there is enough and the draw, a hash, says so: it decides everything. False: a fresh program is wanted. */
bool guide_mutant(struct prog *out, struct arena *a, const struct guide *g, uint64_t draw, const struct policy *pol);
void guide_take(struct guide *g, const struct prog *p); /* the program that came of it: kept if it has a new feature */

#endif
