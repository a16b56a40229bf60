/* runner.h: runs programs on targets and judges them, for those who ask many questions about few programs: minimise, blame, sweep. One warm
 * child per home (family, version, device); a program that eager refuses is not sent at all, because no answer would mean anything, and one
 * that the reference cannot judge only where a crash, a hang or a broken invariant would be the answer. */
#ifndef SCATTERPROOF_RUNNER_H
#define SCATTERPROOF_RUNNER_H

#include "compiled/targets/exec.h"
#include "fuzz/triage/failure.h"

struct runner;
struct runner *runner_new(const struct exec_options *o); /* what o points to outlives it */
void runner_free(struct runner *r);                      /* r may be NULL */

/* Starts t's child if there is none; t gets the version that it is. err: the sentence of anything but EXEC_IDENTIFIED. */
enum exec_identity runner_start(struct runner *r, struct target *t, struct err *err);

struct ran {
	struct result result;   /* meaningless if !asked */
	struct outcome outcome; /* spared: unjudged or invalid; broken: harness */
	bool asked;             /* the target ran it */
	bool broken;            /* the target runs nothing on this machine, or does not have such an option: outcome.why */
};
/* p on t, judged; what raises only compiled is asked of the plain stage, too. t as runner_start left it (or another of its home).
 * Everything of *out lives in a. */
void runner_run(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a);
/* The same, of a program that the reference can judge; another one is not sent. */
void runner_judge(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, struct arena *a);
/* For the question whether p fails as f does. If f is erratic (failure.h), p runs until it does, up to RUNNER_TRIES times; that
 * a process died says something only if it had run nothing else. */
enum { RUNNER_TRIES = 4 };
void runner_ask(struct ran *out, struct runner *r, const struct prog *p, const struct target *t, const struct failure *f, struct arena *a);
/* The next run on t's home is in a process that has run nothing else. */
void runner_forget(struct runner *r, const struct target *t);
/* t's home starts again, and whatever starts from now on has EXEC_PATIENCE times as long for a program, or as long as others. */
void runner_be_patient(struct runner *r, const struct target *t, bool patient);
int runner_calls(const struct runner *r); /* programs that targets were given, plain stages included */
/* As exec_versions, of t's home. */
void runner_versions(struct strbuf *versions, struct strbuf *device, const struct runner *r, const struct target *t);

#endif
