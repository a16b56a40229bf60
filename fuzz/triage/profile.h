/* profile.h: the licence profile of a target, from what its driver says of it. */
#ifndef SCATTERPROOF_PROFILE_H
#define SCATTERPROOF_PROFILE_H

#include "compiled/targets/target.h"
#include "oracle/num/licence.h"

/* False: nothing is known of its arithmetic. */
static inline bool profile_of(struct licence_profile *out, const struct target *t)
{
	struct target_facts f;
	target_facts(&f, t);
	if (f.known)
		licence_of(out, &f.semantics, &f.arithmetic);
	return f.known;
}

/* The same of a name as in --target; false also if it is no name. */
static inline bool profile_named(struct licence_profile *out, const char *name)
{
	struct target t;
	return target_parse(&t, name, NULL) && profile_of(out, &t);
}

#endif
