/* claim.h: what a finding says of one program: that a certain tensor of a certain call is wrong in a certain way, or that the program does
 * not run as it must (it raises, crashes, hangs, breaks an invariant, or does not raise where eager does). A claim is what `repro` judges
 * and what a script (script.h) shows, it and nothing else: so their exit codes agree. What else is wrong with the program is said, and
 * decides nothing. */
#ifndef SCATTERPROOF_CLAIM_H
#define SCATTERPROOF_CLAIM_H

#include "fuzz/triage/tensor_name.h"
#include "fuzz/triage/verdict.h"

/* Facts of a tensor. */
enum claim_part {
	CLAIM_PRESENT = 1, /* a gradient that is None, or is not */
	CLAIM_SHAPE = 2,   /* sizes and dtype */
	CLAIM_ELEMENTS = 4,
	CLAIM_STRIDES = 8, /* where they mean something */
	CLAIM_MEMORY = 16, /* which outputs and inputs share it */
	CLAIM_REQUIRES_GRAD = 32
};
struct claim {
	/* ANYTHING: an observation that does not say what was wrong. */
	enum claim_subject { CLAIM_TENSOR, CLAIM_RUN, CLAIM_ANYTHING } subject;
	struct tensor_name tensor; /* TENSOR: this one is wrong … */
	int call;                  /* … in this call; later calls do not matter, unless they are what changes it (tensor.later) */
	unsigned parts;            /* … in one of these facts */
	bool refused;              /* RUN: eager refuses the program and must not; else what eager refuses says nothing about a target */
	bool flaky;                /* not seen again when it was found: not seeing it now says nothing */
};

/* verdict, tensor, call: an observation's, of program p. */
void claim_of(struct claim *out, enum finding_kind kind, const char *verdict, const char *tensor, int call, const struct prog *p);
const char *claim_text(const struct claim *c, struct arena *a); /* "x.grad of call 0 is wrong", "it does not run" */
/* What has to be run: p without the calls that do not matter. Shares everything with p. */
struct prog claim_program(const struct claim *c, const struct prog *p);

enum claim_verdict { CLAIM_HOLDS, CLAIM_REFUTED, CLAIM_OPEN }; /* OPEN: nobody can tell */
/* o: of claim_program's run r on t. *why: one line, in a. A claim that holds because the target raises holds only if eager does not:
 * the caller asks. */
enum claim_verdict claim_judge(const char **why, const struct claim *c, const struct prog *p, const struct outcome *o,
	const struct result *r, const struct target *t, struct arena *a);

#endif
