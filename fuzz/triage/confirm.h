/* confirm.h: is a divergence there, and is it the target's? Twice in a process that has run nothing else (a target that answers otherwise
 * the second time disagrees with itself, which is a class of its own), then there with other data, which says whether it hangs on chance. A
 * hang must still be one with EXEC_PATIENCE times the limit. A program that overwrites memory does not always die of it: once is enough.
 */
#ifndef SCATTERPROOF_CONFIRM_H
#define SCATTERPROOF_CONFIRM_H

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
	const char *how;    /* "diverges 2 times of 2 in a fresh process, and there with 3 of 3 other data seeds" */
	const char *excuse; /* what the family's own comparisons say of it, "" if nothing is known */
};
/* What the family's own comparisons say of p on t, one line: "assert_close: equal;same: equal"; "" if they cannot be asked. */
const char *confirm_excuse(struct runner *r, const struct prog *p, const struct target *t, struct arena *a);
/* t: as runner_start left it. Its child is warm afterwards, and has run p. */
void confirm(struct confirmation *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a);

#endif
