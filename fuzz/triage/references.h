/* references.h: what a program must give, worked out at most once per semantics and arithmetic for all the targets that it runs on. Targets
 * that compute alike (target_facts; what they may do otherwise than eager is the comparison's matter) share one. */
#ifndef SCATTERPROOF_REFERENCES_H
#define SCATTERPROOF_REFERENCES_H

#include "compiled/targets/target.h"
#include "eager/lang/target_facts.h"
#include "oracle/judge/judge.h"

enum { MAX_REFERENCES = 8, REFERENCES_KEPT = 1 << 30 /* bytes; beyond it another arithmetic's takes the place of those that are there */ };

struct references {
	const struct prog *p;     /* outlives them */
	struct arena own, *arena; /* own, or somebody else's */
	int n;
	struct reference_of {
		struct target_semantics semantics;
		struct target_arithmetic arithmetic;
		struct licence_profile profile;
		bool ok; /* judge_prepare's answer */
		struct judge_case jc;
	} * of[MAX_REFERENCES];
};

void references_init(struct references *r, const struct prog *p);
void references_in(struct references *r, const struct prog *p, struct arena *a); /* in a: nothing to free */
void references_free(struct references *r);
void references_drop(struct references *r); /* what is there goes: memory, while the program waits */
/* t's, to be used before the next is asked for; made now if it is not there. NULL: nothing is known of t's arithmetic. */
const struct reference_of *references_get(struct references *r, const struct target *t);

#endif
