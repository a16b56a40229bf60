/* cause_group.h: the findings of a store, by cause: what store_cause.c says of causes is counted here. One pass over the summaries; the
 * order of causes and which of its findings represents one are those of the view cause_now, which says the same in SQL to people who ask
 * v_causes (tests/store/store_cause_test.c compares them): SQLite sorts the findings of each cause, for milliseconds a thousand findings.
 *
 * All in the arena of groups_read; texts are the store's. */
#ifndef SCATTERPROOF_CAUSE_GROUP_H
#define SCATTERPROOF_CAUSE_GROUP_H

#include "reports/store/store.h"

struct member {
	struct hash128 finding;
	int64_t row;              /* of finding_summary */
	const char *full_id, *id; /* 32 digits; as many of them as tell it from all findings, at least STORE_ID_DIGITS */
	const char *state, *target, *versions;
	const char *own; /* its own variant of the cause (fuzz/triage/cause_join.h); NULL: the cause */
	int number;      /* from 1, in the order in which findings were seen first */
	int group;       /* entry of groups.of; -1: none */
	bool open;
	int64_t first_seen, minimised, length;
};
struct cause_group {
	const char *cause, *severity, *reach; /* the least severity and greatest reach, as texts: the worst */
	bool open, triaged;
	int n;
	struct member **of, *shown; /* its n findings, the earliest first; the one that represents it */
	int64_t nobs, first_seen, last_seen;
};
struct groups {
	struct arena *a;
	int n, cap;
	struct cause_group *of; /* in the order of places */
	int nmembers, member_cap;
	struct member *member;
	struct member **by_id;
	int nslots, *slot; /* a hash table of causes: entries of `of` while groups are read; negative: free */
	uint64_t open;     /* bit of enum finding_state */
};

/* What finding_cause names a finding without a cause by: kind, these words, signature. */
#define NOT_TRIAGED "; not triaged; "

const char *value_text_in(struct arena *a, const struct store_value *v); /* a copy */

enum store_status groups_read(struct groups *g, struct store *s, struct arena *a);
/* NULL: there is none. */
struct member *groups_find(const struct groups *g, const struct store_value *finding);

#endif
