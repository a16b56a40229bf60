/* upstream.h: upstream issues that look like a cause. The binary knows the programs of corpus/regressions/upstream.tsv and what a search
 * found for each; a cause looks like such a program if both go wrong in the same sort of tensor, on the same family of targets, and have
 * most of their operators in common, the rare ones counting most. A person looks again before anything is filed. */
#ifndef SCATTERPROOF_UPSTREAM_H
#define SCATTERPROOF_UPSTREAM_H

#include "reports/cause/store_cause.h"

struct upstream_issue {
	const char *issue, *remark; /* issue "-": a search found none */
	const char *program;        /* the one that is like the cause: the table's name of it, without folders */
	bool same;                  /* it has the same operators, and goes wrong in the same sort of tensor */
};
struct upstream;
/* The table that is in the binary; or of a file like it, which names its programs from its own folder. NULL: err says why. In a. */
const struct upstream *upstream_known(struct arena *a);
const struct upstream *upstream_read(const char *path, struct arena *a, struct err *err);
/* At most UPSTREAM_MOST, the likest first; each issue once. In a. */
enum { UPSTREAM_MOST = 5 };
int upstream_like(const struct upstream_issue **out, const struct upstream *u, const struct store_cause *c, struct arena *a);

#endif
