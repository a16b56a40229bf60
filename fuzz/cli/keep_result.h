/* keep_result.h: what a verb learnt of a finding by running it, kept as an artifact of it where it was told to (--store). */
#ifndef SCATTERPROOF_KEEP_RESULT_H
#define SCATTERPROOF_KEEP_RESULT_H

#include "eager/base/base.h"

/* Before minutes or hours of work: can what is learnt be written? An exit code; anything but EXIT_CLEAN: it was said why not. */
int result_can_be_kept(const char *db);
/* The latest artifact of that name counts. If it is one about versions, the finding may have another cause with it (cause_join.h), which is
 * recorded. An exit code, likewise. */
int result_keep(const char *db, const struct hash128 *finding, const char *name, const char *text);
/* Gives every finding the cause that it must have by what the store knows (cause_join.h); is not opened to write if all have it. An exit
 * code, likewise. */
int result_settle(const char *db);

#endif
