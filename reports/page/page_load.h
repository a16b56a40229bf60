/* page_load.h: what pages, issues and machine-readable files are made of: a store read once, and of a cause everything that its page shows.
 * Stores that know less (older ones, ones that no triage has had) have empty texts, empty documents and lists without entries here. */
#ifndef SCATTERPROOF_PAGE_LOAD_H
#define SCATTERPROOF_PAGE_LOAD_H

#include "reports/cause/json_doc.h"
#include "reports/cause/store_cause.h"
#include "reports/page/page_versions.h"
#include "reports/page/upstream.h"

struct page_words {
	int n;
	const char *const *word;
};
/* A finding, as lists show it. */
struct page_finding {
	const char *full_id, *target, *state, *severity, *signature, *first_seen, *last_seen;
	const char *issue;                   /* URL; "" if none */
	const char *since, *script_versions; /* the artifacts; "" if it has none */
	int64_t nobs;
};
/* What a list says of a cause besides store_cause. */
struct page_row {
	struct page_words ops, dtypes, versions; /* dtypes and operators: of its program; versions in which it was seen */
	const char *right_on;                    /* the newest version that was tried, if the cause is right there; else "" */
	bool page;                               /* it has one: set by whoever writes them */
};
struct page_tried {
	const char *op, *dtype, *target;
	int64_t programs, diverging;
};
struct page_run {
	const char *at, *policy, *target;
	int64_t programs, diverging, new_causes;
};
/* The whole store. */
struct page_store {
	const char *db; /* the path that people gave, for commands */
	struct store_causes causes;
	struct page_row *row; /* of each cause, in their order */
	int nfindings, ntried, nruns;
	struct page_finding *finding; /* by id */
	struct page_tried *tried;
	struct page_run *run; /* campaigns, oldest first */
};
/* In a. What fails is store_message's. */
enum store_status page_store_load(struct page_store *out, struct store *s, const char *db, struct arena *a);
/* The findings of a cause, one after the other: NULL when there is none left. *at: 0 at first. */
const struct page_finding *page_finding_next(int *at, const struct page_store *all, const struct store_cause *c);
/* "candidate", "known": does one of its findings have that state? */
bool cause_has_state(const struct store_cause *c, const char *state);

/* A cause with everything that its page shows. */
struct cause_page {
	const struct page_store *all;
	const struct store_cause *c;
	const struct page_row *row;
	struct store_loaded f;                           /* the representative */
	struct json_doc *facts, *sweep, *since, *matrix; /* never NULL; empty where triage kept none */
	const char *environment;                         /* "" if nothing is known */
	struct page_versions versions;                   /* on which it was tried */
	const char *script;                              /* "" if there is none */
	bool short_script;                               /* it is the one of a few lines */
	int nupstream;
	const struct upstream_issue *upstream;
	const char *where; /* set by whoever knows targets: how sentences end that are about the finding's, "with torch.compile"; "": unknown */
};
/* In a; script: the short one if the store has it. Closed with page_close. */
enum store_status page_load(struct cause_page *out, const struct page_store *all, const struct store_cause *c, struct store *s,
	const struct upstream *known, struct arena *a);
void page_close(struct cause_page *p);

#endif
