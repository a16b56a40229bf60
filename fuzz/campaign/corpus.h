/* corpus.h: what a guided campaign kept, as texts, and the few of them that have all the features of the others. */
#ifndef SCATTERPROOF_CORPUS_H
#define SCATTERPROOF_CORPUS_H

#include "eager/lang/prog.h"
#include "fuzz/campaign/guide.h"

/* Limits of a folder of programs, those that are there already included. */
enum { CORPUS_PROGRAMS = 2000, CORPUS_BYTES = 1 << 20 };

struct corpus {
	int n, cap;
	char **text; /* owned; no text twice */
	struct hash128 *id;
};
void corpus_add(struct corpus *c, const char *text); /* copied, unless it is there */
void corpus_free(struct corpus *c);

struct corpus_written {
	int programs;
	int64_t bytes;
	int64_t features, left; /* which the written ones have beyond the seeds; which the kept ones have and nothing in the folder has */
	const char *path;       /* in the arena; NULL: there was nothing new */
};
/* The programs of c that have what the seeds do not have, greedily those with the most new features per byte first, into a new file
 * DIR/guided-<hash>.prog; the folder is made if it is not there. False: err says what could not be written. */
bool corpus_write(
	struct corpus_written *out, const struct corpus *c, const struct guide *seeds, const char *dir, struct arena *a, struct err *err);

#endif
