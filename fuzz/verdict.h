/* verdict.h: from what a target reported to a verdict, and from a divergence to everything that a finding consists of. */
#ifndef SCATTERPROOF_VERDICT_H
#define SCATTERPROOF_VERDICT_H

#include "compiled/targets/target.h"
#include "eager/prog.h"
#include "eager/result.h"
#include "oracle/judge.h"
#include "reports/store.h"

enum verdict { VD_PASS, VD_MISMATCH, VD_CRASH, VD_HANG, VD_UNSUPPORTED, VD_INVALID, VD_HARNESS, VD_UNJUDGED, NVERDICTS };
extern const char *const verdict_name[NVERDICTS];       /* unjudged: the reference said unsupported */
static inline bool verdict_diverges(enum verdict v) { return v == VD_MISMATCH || v == VD_CRASH || v == VD_HANG; }

struct outcome {
	enum verdict verdict;
	const char *why;                /* one line: the reason of anything but pass */
	struct judgement judgement;     /* of the elements; all zero where nothing was compared */
	/* set if the verdict diverges */
	enum finding_kind kind;
	enum finding_severity severity;
	const char *signature, *tensor, *pattern, *detail;
	int call;
	const char *report;             /* text block for people: the program, the wrong tensor, expected and got */
};

/* Everything of *out lives in a. The references are computed here unless `ref` (per call, from an earlier judge of the same
 * program and profile) is given. */
void outcome_of(struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, struct arena *a);
/* Licence profile that speaks for a target. */
const struct licence_profile *target_licence(const struct target *t);
/* Canonical text of a program, in a. */
const char *prog_text(const struct prog *p, struct arena *a);
/* Operators of a program for the store. Returns how many. */
int prog_ops(const char **out, int max, const struct prog *p);

#endif
