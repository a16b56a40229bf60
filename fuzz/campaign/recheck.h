/* recheck.h: a campaign begins with what is known. One program of every finding of the campaign's family that is known or fixed-in (the
 * minimised one, or its first) runs on the campaign's targets, those first that were run longest ago:
 *
 *     known      fails   one more observation of it; that it is still there is counted
 *                passes  a `pass` is recorded; if that is so on every target of the campaign on which it was ever seen (in any version), a
 *                        line asks whether it is fixed in this version
 *     fixed-in   passes  as it should: recorded
 *                fails   in an older version: as known. In that version or later it is tried once more in a process that has run nothing
 *                        else; if it fails there, it is regressed, which is said, and counts as a new finding does
 *
 * What cannot be told (the target refuses it, it fails in another way than the finding says) is counted and changes nothing. A process of
 * its own runs and judges: what breaks in it costs the answer, never the campaign. The time is bounded; what was not reached is counted. */
#ifndef SCATTERPROOF_RECHECK_H
#define SCATTERPROOF_RECHECK_H

#include "eager/base/json.h"
#include "fuzz/campaign/tally.h"
#include "fuzz/ask/options.h"

#define RECHECK_VERB   "__recheck"
#define RECHECK_POLICY "recheck"             /* of its run in the store: no campaign */
enum { RECHECK_SHARE = 5, RECHECK_S = 300 }; /* the share of --time that it may take: a fifth; seconds, without --time */

struct recheck {
	int findings; /* known or fixed-in, of this family: each is one of the following */
	int still, gone, fixed, regressed, open, unreached;
};
/* Writes into s, prints what shouts (o->json: as an object per line). Regressed ones go to tally. False: the store failed
 * (store_message(s)); an interruption or a target that does not start only leaves findings unreached. */
bool recheck_run(struct recheck *out, struct store *s, struct tally *tally, const struct options *o);
/* "5 known and still there, 1 no longer happens, …"; nothing if there was nothing to do. */
void recheck_print(struct strbuf *sb, const struct recheck *r);
void recheck_json(struct json *j, const struct recheck *r); /* the members of an object */

int recheck_main(const struct options *o); /* of the process: RECHECK_VERB */

#endif
