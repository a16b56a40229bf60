/* store_cause.h: the causes of a store: one struct, read once, from which every list, page, issue and machine-readable file is made.
 *
 * A cause is what findings have in common (view v_causes; fuzz/triage/cause.h says when two have one). Its findings are represented by
 * one, the representative: open if there is an open one, minimised if there is such a one, the shortest program. A finding that triage
 * has not had is a cause of its own.
 *
 * ORDER. Open causes come first, the most serious on top, those that only a caller of the overload meets and those that triage has not had
 * behind the others of their severity, the most often seen first.
 *
 * NUMBERS. A finding's number is its place in the order in which findings were first seen, and a cause has the number of its
 * earliest finding. So what is marked, found or triaged later changes no number (only a merge of stores can), the number of any finding
 * names the cause that the finding has now, and numbers have gaps.
 *
 * Texts are the store's: hostile, until they are escaped for whoever reads them (eager/base/escape.h for a terminal). */
#ifndef SCATTERPROOF_STORE_CAUSE_H
#define SCATTERPROOF_STORE_CAUSE_H

#include "reports/store/store.h"

/* One of several texts of findings that are one bug in several sorts (fuzz/triage/cause_join.h). */
struct store_variant {
	const char *text;
	int nids;
	const char *const *ids; /* of each of its findings, the earliest first */
};
struct store_cause {
	int number;
	const char *full_id, *id; /* the representative: 32 hex digits; the first of them (ids) */
	const char *text;         /* as triage names it; of a finding that triage has not had, its signature */
	bool triaged;             /* it has a cause */
	bool minimised;           /* program is smaller than the one that was found */
	bool open;                /* a finding of it is open */
	const char *signature;    /* of the representative */
	const char *title;        /* in plain words (fuzz/triage/title.h); "" until whoever read the list writes it */
	enum finding_kind kind;
	enum finding_severity severity;     /* the worst of its findings */
	const char *reach, *blame;          /* "" if unknown */
	const char *unconfirmed;            /* why it was not seen again; "" if it was, or nobody tried */
	const char *target;                 /* where the representative was found */
	const char *ops;                    /* the operators of program, with overload, each once, in the order of names */
	const char *program;                /* the representative's smallest */
	const char *issue;                  /* URL of the latest issue that somebody marked; "" if none */
	const char *first_seen, *last_seen; /* 2026-01-31T23:59:59Z; of all its findings */
	int64_t nfindings, nobs;
	const char *raised;  /* the representative's first message, numbers and all; "" of what raised nothing */
	const char *tensor;  /* the first wrong tensor of a program that is not minimised, "x.grad", "out 0 (y)"; "" if none is known */
	const char *pattern; /* the shape of its error, as triage's facts say it ("all zero"); "" if unknown */
	int64_t nwrong;      /* how many of its elements are wrong; 0 if unknown */
	int nversions;
	const char *const *versions; /* of the family, in which one of its findings was seen, the oldest first */
	int nvariants;               /* 0, or at least 2; that of the earliest finding first */
	const struct store_variant *variant;
	int nids; /* also of states, targets and numbers */
	const int *numbers;
	const char *const *ids;                     /* of each finding, the earliest first: STORE_ID_DIGITS digits, or as many … */
	const char *const *states, *const *targets; /* … as tell it from all findings of the store; the others in the same order */
};
struct store_causes {
	int n;
	struct store_cause *cause; /* in the order of their numbers */
};

/* "torch" of "torch-2.11.0:inductor@cpu". In a. */
const char *cause_family(const char *target, struct arena *a);
/* All causes. In a. What fails is store_message's. */
enum store_status store_causes(struct store_causes *out, struct store *s, struct arena *a);
/* The same for who lists them in a line each, in half the time: issue and unconfirmed are "", and there are no variants. */
enum store_status store_causes_listed(struct store_causes *out, struct store *s, struct arena *a);
/* The ids of all its findings, the representative's among them. In a. */
enum store_status store_cause_findings(struct hash128 **id, int *n, struct store *s, const struct store_cause *c, struct arena *a);
/* Whether a word is a number of a cause, not a prefix of an id. */
bool store_word_is_number(const char *word);
/* word: a cause's number (at most five digits), or a prefix of the id of any of its findings (at least STORE_MIN_PREFIX digits). NULL:
 * there is none, or a prefix that several causes have; *complaint says so. */
const struct store_cause *store_causes_find(const struct store_causes *all, const char *word, struct strbuf *complaint);
/* The same for commands that take a finding: its id's prefix, or a cause's number, which means its representative. STORE_BAD: none. */
enum store_status store_find_word(struct store *s, struct hash128 *id, const char *word, struct arena *a, struct strbuf *complaint);

#endif
