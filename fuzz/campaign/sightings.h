/* sightings.h: the divergences of one shard, by signature. The first sighting of a signature is tried again in a fresh process, which takes
 * up to a minute; later ones wait with it, so that all of them are stored as one finding, under the name that the trial found. First
 * come, first tried. When a trial fails, the next sighting of the signature has its turn, up to MAX_TRIALS; then the signature is settled
 * under its own name. Once a signature is settled nothing waits for it. */
#ifndef SCATTERPROOF_SIGHTINGS_H
#define SCATTERPROOF_SIGHTINGS_H

#include "fuzz/campaign/finding.h"

enum {
	MAX_SIGNATURES = 512,   /* remembered; those beyond are all tried */
	MAX_WAITING = 1024,     /* sightings that wait */
	MAX_WAITING_FIRST = 64, /* and this many more if they are the first of their signature */
	MAX_TRIALS = 3          /* failed ones of a signature */
};

struct sighting { /* on the heap; all that it points to lives in its arena or as long as the shard */
	struct arena arena;
	uint64_t key;     /* of the signature */
	bool twin;        /* of the program: its wide twin */
	int draw, target; /* whose it is: index of the policy draw, of the target */
	const char *hint; /* see outcome_of */
	struct finding f; /* unconfirmed */
	struct prog prog; /* f.program */
};
struct sighting *sighting_new(void); /* zeros but for its arena */
void sighting_free(struct sighting *w);
/* The operator whose predictions it explains; "": none. */
const char *sighting_explains(const struct sighting *w);

struct sightings;
struct sightings *sightings_new(void);
void sightings_free(struct sightings *s);

/* The name under which a signature was settled, NULL if it is not (yet). */
const char *sightings_name(const struct sightings *s, uint64_t key);
/* Takes w, which waits from now on. False: no room (it was not taken). */
bool sightings_wait(struct sightings *s, struct sighting *w);
/* The one that has waited longest, which is the caller's then. NULL: none waits. */
struct sighting *sightings_next(struct sightings *s);
/* Does one that waits explain this operator? */
bool sightings_explain(const struct sightings *s, const char *op);
int sightings_waiting(const struct sightings *s);
/* The one of that place in the queue, 0 is the next. */
const struct sighting *sightings_at(const struct sightings *s, int i);
/* From now on the signature has this name. Those of it that wait go to fn, in order, and are freed. */
typedef void sighting_fn(void *ctx, const struct sighting *w);
void sightings_settle(struct sightings *s, uint64_t key, const char *name, sighting_fn *fn, void *ctx);
/* A trial failed. True: it was the last, and the caller settles the signature. */
bool sightings_failed(struct sightings *s, uint64_t key);

#endif
