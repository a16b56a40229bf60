/* tally.h: the findings that one run met, each once, and what follows from them: which lines are printed, which exit code. */
#ifndef SCATTERPROOF_TALLY_H
#define SCATTERPROOF_TALLY_H

#include "eager/base/json.h"
#include "fuzz/ask/fail_on.h"

/* What a finding was when this run met it. KNOWN has one meaning: a person marked it so. */
enum met {
	MET_NEW,       /* nobody has seen it before */
	MET_REGRESSED, /* marked fixed in this version or an earlier one, and here again */
	MET_OPEN,      /* seen before; nobody has marked it */
	MET_KNOWN,
	MET_DISMISSED,
	MET_DUPLICATE,
	MET_FIXED,    /* marked fixed in a later version than this */
	MET_BASELINE, /* marked so in --baseline */
	NMETS
};
enum met met_of_state(enum finding_state s); /* of a finding that the store has */
bool met_marked(enum met how);               /* a person has: it fails no run */

struct tally;
struct tally *tally_new(void);
void tally_free(struct tally *t);
/* True: the first time in this run. Later a finding stays what it was, but for REGRESSED; its severity is the highest met. */
bool tally_meet(struct tally *t, const struct hash128 *id, enum met how, enum finding_severity severity);
int64_t tally_count(const struct tally *t, enum met how);
int64_t tally_trivial(const struct tally *t, enum met how); /* of those */
bool tally_fails(const struct tally *t, const struct fail_on *f);
/* "2 new findings (1 trivial), 1 seen again and open, 3 known": all of them, in words. */
void tally_print(struct strbuf *sb, const struct tally *t);
void tally_json(struct json *j, const struct tally *t); /* "new_findings": 2, …, "new_trivial": 1 */

#endif
