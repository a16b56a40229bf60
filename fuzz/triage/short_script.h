/* short_script.h: a claim (claim.h) as the shortest Python that shows it: as somebody writes it who files a bug. It is tried before it is
 * given out: inputs of ones, then of counted numbers, then the finding's own, the first for which the target still fails as the claim says
 * and the script, run in a fresh process of each installed version, ends with code 1 on the target's own, or dies of a signal there.
 *
 * Unlike the judged script (script.h) it compares with eager, or with what the reference says where eager is wrong in the same way, and by
 * allclose. So it exists only where that shows the bug. */
#ifndef SCATTERPROOF_SHORT_SCRIPT_OF_CLAIM_H
#define SCATTERPROOF_SHORT_SCRIPT_OF_CLAIM_H

#include "compiled/targets/exec.h"
#include "fuzz/triage/claim.h"

/* Does the claim hold of this program on the target that the caller has opened? *raised: what it raised, "IndexError: Dimension …"; NULL:
 * it did not. */
struct short_ask {
	bool (*holds)(void *ctx, const char **raised, const struct prog *p, struct arena *a);
	void *ctx;
	int limit_ms; /* of a run of the script, where that is more than five minutes */
};

/* The versions that the script was run with, its own first, and how that ended: "wrong", "right", "does not run". One that took too long is
 * not among them: nothing is known of it. */
enum { SHORT_RUNS_MOST = 16 };
struct short_runs {
	int n;
	const char *raised; /* the error that the script takes for the bug's; NULL: none */
	struct {
		const char *version, *verdict;
		bool dies; /* of a signal, which is what shows the bug */
	} run[SHORT_RUNS_MOST];
};

/* Appends the script: first comments (what is wrong, where it was run and how that ended), then the text that was run. python: the
 * interpreter of t. runs: the same for machines, in a. False: there is none; err says why. */
bool short_script(struct strbuf *sb, const struct claim *c, const struct prog *p, const struct target *t, const char *python,
	const char *headline, const struct short_ask *ask, struct short_runs *runs, struct arena *a, struct err *err);

/* Is `kept`, which short_script wrote once, what it would write of c now, and was it wrong on t's version, as runs says? Then it is
 * appended, with this headline, and nothing is run. Nothing of kept gets into it: it is anybody's. False: it is another text. */
bool short_script_kept(struct strbuf *sb, const char *kept, const struct short_runs *runs, const struct claim *c, const struct prog *p,
	const struct target *t, const char *headline, struct arena *a);

#endif
