/* found.h: a finding of the store, as the verbs take it that run it again: one of its observations, with its program and target. */
#ifndef SCATTERPROOF_FOUND_H
#define SCATTERPROOF_FOUND_H

#include "fuzz/ask/options.h"
#include "fuzz/triage/claim.h"

struct found {
	struct store_loaded f;
	const struct store_loaded_obs *obs; /* the one that is taken */
	char program_id[33];
	struct prog p;
	struct target t;
	struct claim claim;
};

/* x->f is loaded. program: the first digits of its id, NULL: the minimised one, or else the first. Sets obs, program_id, p and claim.
 * db: the store's name, for sentences. */
bool found_choose(struct found *x, const char *program, const char *db, struct arena *a, struct err *err);
/* o->file[0]: the id's first digits, or a cause's number (its representative; store_find_word); o->db; o->program_id: that program
 * instead of the minimised or the first one; o->target: instead of where it was observed. An exit code: EXIT_CLEAN, or what is wrong was
 * said. */
int found_load(struct found *x, const struct options *o, struct arena *a);

#endif
