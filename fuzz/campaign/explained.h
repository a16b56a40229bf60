/* explained.h: operators whose impossible predicted layouts (rank 1 of torch:fake, such as `aten.slice_scatter.default`) a known cause
 * explains: a finding of the store is named after it, in whatever state, or a divergence of this campaign was confirmed to be. (One that
 * still waits for its confirmation explains it, too, in its own shard, until the confirmation fails: shard_queue.c.) */
#ifndef SCATTERPROOF_EXPLAINED_H
#define SCATTERPROOF_EXPLAINED_H

#include "eager/lang/wire.h"

enum { MAX_EXPLAINED = 256, MAX_EXPLAINED_NAME = 96 }; /* those beyond, and longer names, are not remembered */
struct explained {
	int n;
	char op[MAX_EXPLAINED][MAX_EXPLAINED_NAME];
};
bool explained_has(const struct explained *e, const char *op);
void explained_add(struct explained *e, const char *op); /* "" and what is there already: nothing */
void explained_add_all(struct explained *e, const struct explained *more);
void explained_put(struct strbuf *sb, const struct explained *e);
void explained_get(struct explained *e, struct wire *w, struct arena *a);

#endif
