/* verdict.h: from what a target reported to a verdict, and from a divergence to everything that a finding consists of. */
#ifndef SCATTERPROOF_VERDICT_H
#define SCATTERPROOF_VERDICT_H

#include "compiled/targets/target.h"
#include "eager/lang/prog.h"
#include "eager/lang/result.h"
#include "fuzz/triage/references.h"
#include "oracle/judge/judge.h"
#include "reports/store/store.h"

enum verdict { VD_PASS, VD_MISMATCH, VD_INVARIANT, VD_CRASH, VD_HANG, VD_UNSUPPORTED, VD_INVALID, VD_HARNESS, VD_UNJUDGED, NVERDICTS };
extern const char *const verdict_name[NVERDICTS]; /* unjudged: the reference said unsupported */
bool verdict_find(int *out, const char *name, struct err *err);
/* A divergence that left no results. */
static inline bool verdict_ends(enum verdict v) { return v == VD_INVARIANT || v == VD_CRASH || v == VD_HANG; }
static inline bool verdict_diverges(enum verdict v) { return v == VD_MISMATCH || verdict_ends(v); }
/* Programs that eager refuses are rare (17 of a million): a campaign in which more than one of so many are, and more than a few, says
 * something about our rules and not about its targets. */
enum { INVALID_ONE_IN = 1000, INVALID_FEW = 3 };

/* Elements by class, each in one; exact ones agree bit for bit, enclosed ones lie inside their radius, weak ones inside one that is wider
 * than half the value, suspects inside theirs and yet far from where a dozen drawn evaluations lie (oracle/judge/spread.h); tied ones are
 * the position of one of certain equals, or its gradient (oracle/judge/distinct.h). Also by fill class of the call: dyadic, normal,
 * special, ties. */
enum { NFILL_CLASSES = 4 };
extern const char *const fill_class_name[NFILL_CLASSES];
/* COUNT(field, its word for users): every compared element is one of them. */
#define ELEMENT_COUNTS(COUNT)                                                                                                              \
	COUNT(exact, "exact")                                                                                                                  \
	COUNT(agree, "enclosed")                                                                                                               \
	COUNT(weak, "weak")                                                                                                                    \
	COUNT(suspect, "suspect")                                                                                                              \
	COUNT(tied, "tied")                                                                                                                    \
	COUNT(undecided, "undecided")                                                                                                          \
	COUNT(disagree, "disagree")
struct element_counts {
#define COUNT(field, word) int64_t field;
	ELEMENT_COUNTS(COUNT)
#undef COUNT
};
static inline void element_counts_add(struct element_counts *sum, const struct element_counts *e)
{
#define COUNT(field, word) sum->field += e->field;
	ELEMENT_COUNTS(COUNT)
#undef COUNT
}
static inline int64_t element_counts_total(const struct element_counts *e)
{
#define COUNT(field, word) +e->field
	return ELEMENT_COUNTS(COUNT);
#undef COUNT
}

struct outcome {
	enum verdict verdict;
	unsigned freedoms;     /* bits of the freedoms made use of */
	const char *why;       /* one line: the reason of anything but pass */
	bool unexpected;       /* invalid: eager refuses what nothing of ours refuses with good reason, or not what it must: a finding */
	const char *suspicion; /* a pass with suspects: a line for each tensor that has some; else "" */
	struct element_counts all, by_fill[NFILL_CLASSES]; /* zero where nothing was compared */
	/* set if the verdict diverges */
	enum finding_kind kind;
	enum finding_severity severity;
	const char *signature, *tensor, *pattern, *detail;
	const char *symptom;      /* of a crash or hang: where it was, or how it ended; of a broken invariant its name and the step; in none are
						  * operators. NULL elsewhere */
	bool placed;              /* symptom: where */
	const char *broken_after; /* INVARIANT: the step. NULL elsewhere */
	int call;
	const char *report; /* text block for people: the program, the wrong tensor, expected and got */
	/* what the verdict was made of */
	enum ref_status reference;         /* UNSUPPORTED also where it was not asked */
	const struct judgement *judgement; /* NULL: there was nothing to compare */
};

/* Compares with the reference of every call (of refs, which has that of t then). Everything of *out lives in a and in refs. hint: the
 * operator whose predicted meta overlaps itself (torch:fake), NULL or "" if none: it names the signature better than any guess from the
 * program. */
void outcome_with(
	struct outcome *out, struct references *refs, const struct result *r, const struct target *t, const char *hint, struct arena *a);
/* The same for a program that meets one target only: its references live in a. */
void outcome_of(
	struct outcome *out, const struct prog *p, const struct result *r, const struct target *t, const char *hint, struct arena *a);
/* Why there is no pass or divergence, fit for counting ("unjudged: gradient of N elements ..."); "" otherwise. */
const char *verdict_reason(const struct outcome *o, struct arena *a);
/* What eager of t's version says when it refuses the program, whoever runs it (a tensor saved for backward and then written, a view that
 * must not be written, a call that must raise); NULL: no rule of the interpreter's refuses it. */
const char *program_raises(const struct prog *p, const struct target *t, struct arena *a);
/* Canonical text of a program, in a. */
const char *prog_text(const struct prog *p, struct arena *a);
/* Operators of a program for the store. Returns how many. */
int prog_ops(const char **out, int max, const struct prog *p);

#endif
