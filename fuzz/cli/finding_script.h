/* finding_script.h: a finding of the store as a stand-alone Python script (fuzz/triage/script.h), whose head says which one it is. */
#ifndef SCATTERPROOF_FINDING_SCRIPT_H
#define SCATTERPROOF_FINDING_SCRIPT_H

#include "fuzz/campaign/found.h"

/* "program 1a2b3c4d, the first of 3". */
const char *found_program_text(const struct found *x, struct arena *a);
/* The head of a judged script: which finding and program it is, and which target it is for (x->t). */
const char *finding_headline(const struct found *x, struct arena *a);
/* The judged script of a finding that was loaded, on the target where it was found. Runs nothing. db: the store's name, for sentences. */
bool finding_script_of(struct strbuf *sb, const struct store_loaded *f, const char *db, struct arena *a, struct err *err);

#endif
