/* case.h: one finding, or one program of a file, under triage: what it is, what runs it, where what is learnt is written. */
#ifndef SCATTERPROOF_CASE_H
#define SCATTERPROOF_CASE_H

#include "fuzz/campaign/found.h"
#include "fuzz/triage/runner.h"

struct triage_case {
	const struct options *o;
	struct found x;      /* of a file only its program and target */
	struct store *store; /* open for writing; NULL: of a file, or of a finding on another target than its own (--target) */
	struct hash128 run;  /* begun with the first row that is written */
	bool run_begun;
	struct runner *runner;
	double started;  /* clock_s() */
	double end;      /* clock_s() after which no question is asked any more; 0: none (--time) */
	double last_end; /* of a finding that is minimised: it is finished before another begins */
	struct arena *a; /* of everything that lasts */
};

/* o: with the id and --db, or the file and --target. An exit code; what is wrong was said. Closed in any case. */
int case_open(struct triage_case *c, const struct options *o, struct arena *a);
void case_close(struct triage_case *c);
/* The program on its target, in c->a; of a finding that is a crash again, up to RUNNER_TRIES times, as long as it does not fail.
 * EXIT_CLEAN: it fails, as the finding does; else it was said what it does instead: what is learnt of that is not the finding's. */
int case_fails(struct ran *out, struct triage_case *c);
void case_extend(struct triage_case *c);       /* from now on last_end is the end */
bool case_over(const struct triage_case *c);   /* a signal, or --time is over: what there is, is the result */
int case_seconds(const struct triage_case *c); /* since it was opened */

/* What is learnt, in one transaction: begin, rows, end. Of a file nothing is written. False: it was said why not. */
void case_begin(struct triage_case *c);
void case_event(struct triage_case *c, enum event_kind kind, const char *payload, const struct hash128 *program);
void case_artifact(struct triage_case *c, const char *name, const char *text);
/* p was run, and that came out. *program: its id, may be NULL. */
void case_observation(struct triage_case *c, const struct prog *p, const struct outcome *o, struct hash128 *program);
bool case_end(struct triage_case *c);
/* Has the finding such an event, the latest of which has a payload that holds part? */
bool case_has(const struct triage_case *c, enum event_kind kind, const char *part);

#endif
