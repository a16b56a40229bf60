/* confirm.h: is a divergence there, and is it the target's? Again with its own and with other data in a process that has compiled only a
 * warm-up program, then in one that has run nothing at all, where the same program runs twice: a target that answers otherwise the second
 * time disagrees with itself, which is a class of its own. */
#ifndef SCATTERPROOF_CONFIRM_H
#define SCATTERPROOF_CONFIRM_H

#include "fuzz/triage/failure.h"
#include "fuzz/triage/runner.h"

enum confirm_class {
	CONFIRM_SEEN,             /* in the fresh process, in the same way */
	CONFIRM_NOT_SEEN,         /* nowhere again */
	CONFIRM_NONDETERMINISTIC, /* once it is, once it is not */
	CONFIRM_HARNESS,          /* our fault, or the target is broken here */
	NCONFIRM_CLASSES
};
extern const char *const confirm_class_name[NCONFIRM_CLASSES]; /* "confirmed", "not seen", "nondeterministic", "harness" */

struct confirmation {
	enum confirm_class class;
	struct failure failure; /* how it fails; of CONFIRM_SEEN */
	struct outcome outcome; /* of the fresh process, in a */
	const char *how;        /* "fails with 4 of 4 data seeds and twice in a fresh process" */
	const char *excuse;     /* what the family's own comparisons say of it, "" if nothing is known */
};
/* t: as runner_start left it. Its child is warm afterwards, and has run p. */
void confirm(struct confirmation *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a);

#endif
