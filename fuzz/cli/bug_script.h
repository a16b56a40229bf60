/* bug_script.h: what --script FILE writes: the script of a few lines (short_script.h), which is run first, or, where that does not show
 * the bug, or with --full, the judged one (script.h). Why it is the judged one is said on standard error. */
#ifndef SCATTERPROOF_BUG_SCRIPT_H
#define SCATTERPROOF_BUG_SCRIPT_H

#include "compiled/targets/exec.h"
#include "fuzz/campaign/found.h"

struct bug_script {
	const struct found *x; /* its claim, p, t (with its version) and obs->verdict; nothing else is read */
	struct exec *e;        /* where exec_identify of x->t has been; NULL: nothing is run, so it is the judged one */
	const char *not_run;   /* e is NULL: why; NULL: --full asked for the judged one */
	const char *headline;  /* of the short one: lines of any text */
	const char *full_headline;
};
/* The one that triage kept of the finding (artifact `script`), if it is what would be written, and if it was wrong on the version of x->t:
 * nothing is run. False: there is no such, and nothing was written. *rc: as of bug_script_write. */
bool bug_script_kept(int *rc, const struct bug_script *s, const struct options *o, struct arena *a);
/* An exit code: EXIT_CLEAN, EXIT_TARGET if the file cannot be written, EXIT_USAGE if there is no script at all; what is wrong was said. */
int bug_script_write(const struct bug_script *s, const struct options *o, struct arena *a);

#endif
