/* triage_steps.h: what is done with one finding, step by step; each is a verb of its own, `triage` does all of them. A step whose result
 * the store has is not done again unless it is asked for by its own verb. */
#ifndef SCATTERPROOF_TRIAGE_STEPS_H
#define SCATTERPROOF_TRIAGE_STEPS_H

#include "fuzz/cli/case.h"
#include "fuzz/triage/failure.h"

/* EXIT_CLEAN: done; EXIT_VOID: it does not fail any more, or never did; else EXIT_TARGET, EXIT_USAGE, or 128+n after a signal. What is
 * wrong was said; *how: one line of what came out, in c->a. */
typedef int triage_step(struct triage_case *c, const char **how);

triage_step step_confirm;  /* again, with other data, in fresh processes (confirm.h) */
triage_step step_known;    /* is it another finding of a known cause? EXIT_CLEAN: it is, and recorded; EXIT_VOID: it is not */
triage_step step_minimize; /* c->x.p is the minimised program afterwards */
/* c->x.p is a minimised program whose names lie (names.h): it is named if it fails as well
 * with the new ones, and c->x.p is the named one afterwards. */
triage_step step_names;
triage_step step_blame;  /* reach, blame, cure and cause of c->x.p */
triage_step step_script; /* of a cause's representative: the shortest script that shows it is kept (artifact `script`), if there is one */

#endif
