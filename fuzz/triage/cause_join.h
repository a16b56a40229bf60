/* cause_join.h: which cause a finding gets: that of a finding in the store with the same key (cause_key.h), or one of its own, whose text
 * is what cause.h says of it. That text is kept with the finding, too, as its artifact `variant`: a cause whose findings have several has
 * variants.
 *
 * Findings of which the store knows that they fail on different versions never share a cause, whatever their texts: what `sweep --since
 * --store` and `repro --matrix --store` kept of each (artifacts `since` and `matrix`, of its present program, on its own stage) must agree
 * on each version that both speak of; of what is not known nothing differs. A text that such findings share is told apart by the versions
 * of the later one: "...; fails on 2.11.0; right on 2.15.0".
 *
 * So a cause is data: an event of each finding, and the latest counts. Whoever learns something writes it: blame, a sweep that is kept, and
 * `triage` without a finding, which settles all findings before it begins. That is also how stores become what they are now in which triage
 * found causes before there were keys, or that were merged: `triage` again, nothing runs; no migration, for no table is another one. A
 * finding that was blamed before `facts` were kept is joined by its text alone. */
#ifndef SCATTERPROOF_CAUSE_JOIN_H
#define SCATTERPROOF_CAUSE_JOIN_H

#include "fuzz/triage/cause_key.h"
#include "reports/store/store.h"

#define VARIANT_ARTIFACT "variant"

struct cause_join;
/* The findings that have a cause, and the one with this id (32 hex digits; ""), as they are now. In a. What fails is store_message's. */
enum store_status cause_join_load(struct cause_join **out, struct store *s, const char *finding, struct arena *a);
/* The cause of that finding if text is what cause.h says of it. In the arena of j. */
const char *cause_join_of(struct cause_join *j, const char *finding, const char *text, const struct cause_evidence *e);
/* Can it get this cause, as far as versions tell? */
bool cause_join_fits(const struct cause_join *j, const char *finding, const char *cause);

/* Gives that finding the cause that it must have by what is known now, or every one ("") that has a cause. tool: of the events; NULL:
 * nothing is written. *nchanged: how many get another one. */
enum store_status cause_settle(int *nchanged, struct store *s, const char *finding, const char *tool);

#endif
