/* blame.h: which stage, which pass, which value. The ladder of stages is walked from the plain one up; in the first stage that goes wrong
 * passes and options are switched off one by one, then operators of its graphs are cloned, or run as they are instead of being compiled;
 * what makes the program right is a cure. For families that cannot be asked such things, values of the program itself are copied. Then the
 * first value of the program that is wrong: each is returned as well, as long as the failure survives that. */
#ifndef SCATTERPROOF_BLAME_H
#define SCATTERPROOF_BLAME_H

#include "fuzz/triage/runner.h"
#include "fuzz/triage/suspect.h"

enum { MAX_CURES = 16, MAX_BLAME_ARTIFACTS = 9, MAX_RUNGS = 16 };

struct blame {
	const char *stage; /* the first stage that goes wrong, "inductor" */
	const char *right; /* the last one below it that is right; "" if there is none */
	int nrungs;        /* stages that were asked, from the plain one up to the first that goes wrong */
	struct rung {
		const char *stage;
		enum verdict verdict;
	} rung[MAX_RUNGS];
	int ntried; /* values copied, operators cloned or compiled by nobody, passes and options switched off: whatever could be a cure */
	int ncures; /* the most telling first: a value, an operator, a pass or option */
	struct cure cure[MAX_CURES];
	struct suspect suspect; /* the operator of the stage's own graph that goes wrong, as far as anything tells */
	const char *culprit;    /* of a pass that is applied step by step, the step with which it goes wrong; "" if unknown */
	const char *step;       /* what that step, or the one that broke an invariant, is called: "cse"; "" if unknown */
	const char *invariant;  /* that is broken, by which step, at which operator: "invariant I2 after cse: mul"; "" if none is */
	const char *write_back; /* an input that does not hold in the end what was written to it, though that is right; "" if none is known */
	const char *predicted;  /* an operator of which a stage predicts another layout than it has; "" if none */
	struct result_meta_mismatch prediction; /* of predicted, if it is not "": what is predicted, and what it has */
	const char *first_wrong;                /* the first value of the program that is wrong, "" if unknown */
	const char *sentence;                   /* all of it, one line */
	int nartifacts;
	struct result_artifact artifact[MAX_BLAME_ARTIFACTS]; /* graphs and code of the wrong run */
	bool stopped;
};
/* f: how p (a small one) fails on t. tell: called with what is asked next, may be NULL. *out lives in a. */
typedef bool blame_tell(void *ctx, const char *what); /* false: stop */
void blame(struct blame *out, struct runner *r, const struct prog *p, const struct target *t, const struct failure *f, blame_tell *tell,
	void *ctx, struct arena *a);

#endif
