/* finding_script.h: a finding of the store as a stand-alone Python script (fuzz/triage/script.h), whose head says which one it is. */
#ifndef SCATTERPROOF_FINDING_SCRIPT_H
#define SCATTERPROOF_FINDING_SCRIPT_H

#include "fuzz/cli/found.h"

/* "program 1a2b3c4d, the first of 3". */
const char *found_program_text(const struct found *x, struct arena *a);
/* x->t: what the script is for. False: err says why there is none. */
bool finding_script(struct strbuf *sb, const struct found *x, struct arena *a, struct err *err);
/* The same of a finding that was loaded, on the target where it was found. Runs nothing. db: the store's name, for sentences. */
bool finding_script_of(struct strbuf *sb, const struct store_loaded *f, const char *db, struct arena *a, struct err *err);

#endif
