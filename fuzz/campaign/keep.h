/* keep.h: what was found, written into the findings store: by campaigns and by `check`, in one way. */
#ifndef SCATTERPROOF_KEEP_H
#define SCATTERPROOF_KEEP_H

#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/tally.h"
#include "reports/life/baseline.h"

/* In one transaction: the finding, unless one of its signature and family is there already, and this observation of it. note: kept with a
 * new finding: where its program is from. *exists, *id, *state: of the finding that was there before. */
enum store_status keep_finding(struct store *s, const struct hash128 *run, const struct finding *f, const char *note, struct hash128 *id,
	bool *exists, enum finding_state *state, struct arena *a);
/* f is a sighting of a finding that was there before keep_finding: records what that makes of a decision that it was fixed (lifecycle.h),
 * and a higher severity. *how: what the finding is to this run; *now: as it is then. */
enum store_status keep_meet(
	enum met *how, struct store_loaded *now, struct store *s, const struct finding *f, const struct hash128 *id, struct arena *a);
/* A sighting that is `how` to a run, with what a baseline (NULL: none) says of it. BASELINE: it decides, and nobody has in the store.
 * REGRESSED: it says that this is fixed in a version that is not later than the one that ran. */
enum met keep_met(enum met how, const struct baseline *b, const struct finding *f);
/* The id of where target ran; versions, hello: as exec_versions said. */
enum store_status keep_environment(
	struct store *s, struct hash128 *id, const struct target *t, const char *versions, const char *hello, struct arena *a);

#endif
