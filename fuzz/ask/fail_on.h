/* fail_on.h: --fail-on, which findings make a run fail. */
#ifndef SCATTERPROOF_FAIL_ON_H
#define SCATTERPROOF_FAIL_ON_H

#include "reports/store/store.h"

struct fail_on {
	bool only_new;               /* "new": NEW and REGRESSED; else ("open") OPEN ones, too */
	enum finding_severity least; /* "high", "normal" (the default), "trivial" */
	bool invalid;                /* "invalid": a program that eager refuses does, too, whoever expected it */
};
enum { NFAIL_ON_WORDS = 6 };
extern const char *const fail_on_word[NFAIL_ON_WORDS];
bool fail_on_parse(struct fail_on *out, const char *words, struct err *err);

#endif
