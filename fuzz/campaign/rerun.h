/* rerun.h: a finding of the store, run again on a target: does what it claims still happen there? Asked by `repro`, by its matrix and its
 * bisection, and by campaigns of what is known. */
#ifndef SCATTERPROOF_RERUN_H
#define SCATTERPROOF_RERUN_H

#include "compiled/targets/exec.h"
#include "fuzz/campaign/found.h"

struct rerun {
	enum claim_verdict claim;
	const char *why;  /* one line */
	struct outcome o; /* of the claim's calls */
	bool bad_target;  /* the target runs nothing at all; why says why, nothing else is set */
	bool otherwise; /* the claim holds because the target fails in another way than the finding says: it crashes where a value was wrong */
	const char *versions, *hello; /* as exec_versions says */
	const char *raised;           /* "IndexError: Dimension …"; NULL: it did not raise */
};
/* On t, in the child of e, where exec_identify has been. Everything of *out lives in a. */
void rerun_finding(struct rerun *out, struct exec *e, const struct found *x, const struct target *t, struct arena *a);

/* One word of it. */
enum rerun_answer {
	RERUN_PASSES,
	RERUN_FAILS,      /* as the finding says */
	RERUN_OTHER,      /* it fails, in another way */
	RERUN_CANNOT_TELL /* the target refuses the program, is broken, or the reference does not judge it */
};
extern const char *const rerun_word[]; /* "passes", "fails", "other", "cannot tell" */
enum rerun_answer rerun_answer(const struct rerun *v);

/* What was seen, into the store: where it ran, one observation (none if nobody can tell), a count under `run`. Failures are the store's to
 * remember (store_begin). */
void rerun_keep(struct store *s, const struct hash128 *run, const struct found *x, const struct target *t, const struct rerun *v,
	int64_t at, struct arena *a);

#endif
