/* lifecycle.h: what a person decides about a finding, and what later sightings make of that (DESIGN section 9). Each decision is an event;
 * nothing is changed or deleted, so stores with different decisions merge and the latest one counts.
 *
 *     open        looked at again: candidate, or confirmed if it ever was
 *     known       reported upstream or accepted; seen again it stays known
 *     fixed-in V  seen again in a version that is not older than V it is open: regressed if that is confirmed in a fresh process; if it
 *                 is not (fuzz --no-confirm, check), a candidate again, with a note that says so: a candidate regression. One that is
 *                 confirmed then, in V or later, is regressed. So the fix stands until a decision other than "candidate" follows it
 *     dismissed   not a bug; seen again it stays dismissed
 *     duplicate   of another finding, which the event names (`mark`: no duplicate itself, as long as nobody marks it so); seen again it
 *                 stays so */
#ifndef SCATTERPROOF_LIFECYCLE_H
#define SCATTERPROOF_LIFECYCLE_H

#include "reports/store/store.h"

enum decision_kind { DECIDE_OPEN, DECIDE_KNOWN, DECIDE_FIXED_IN, DECIDE_DISMISSED, DECIDE_DUPLICATE, NDECISIONS };
extern const char *const decision_name[NDECISIONS];
bool decision_find(enum decision_kind *out, const char *name);

struct decision {
	struct hash128 finding;
	enum decision_kind kind;
	const char *note;            /* "" if none */
	const char *version;         /* fixed-in: ""; the one that was recorded last, or if there is none any later sighting is a regression */
	const char *issue_url;       /* known: "" if none */
	struct hash128 duplicate_of; /* duplicate */
};
/* The version that f was last said to be fixed in, whatever was decided since; "" if none was named. */
const char *finding_fixed_version(const struct store_loaded *f);
/* The finding that f was last said to be a duplicate of, 32 hex digits; "" if it is none (any more). */
const char *finding_original(const struct store_loaded *f);
/* What is to be recorded of a finding that is a duplicate of `original`: the last one that this is, directly or through others, a duplicate
 * of in this store. *turns: that way leads back to `finding`, which therefore cannot be its duplicate. */
enum store_status finding_last_original(
	struct hash128 *last, bool *turns, struct store *s, const struct hash128 *finding, const struct hash128 *original);

/* Several, in one transaction: all of them are recorded, or none. Their findings differ. */
enum store_status finding_decide_all(struct store *s, const struct decision *d, int n, int64_t now, const char *tool);
/* One. now: dated later if events of the finding are (a clock elsewhere), so that the decision is the latest. */
enum store_status finding_decide(struct store *s, const struct decision *d, int64_t now, const char *tool);

enum after_fix { FIX_NO_MATTER, FIX_DOUBTED, FIX_REFUTED }; /* nothing new; open as a candidate; regressed */
/* f, as it is loaded, was seen again in an environment. Records what that makes of a fix that stands. Writes, one transaction. */
enum store_status finding_seen_after_fix(enum after_fix *out, struct store *s, const struct store_loaded *f, const char *versions,
	bool confirmed, int64_t now, const char *tool);

#endif
