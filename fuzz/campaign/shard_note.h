/* shard_note.h: what a shard has in hand, in memory that outlives it: when one dies (a CHECK of ours, a sanitizer, the kernel's
 * out-of-memory killer), its parent reads which program did it. The parent makes the memory; the shard opens it by its name. */
#ifndef SCATTERPROOF_SHARD_NOTE_H
#define SCATTERPROOF_SHARD_NOTE_H

#include "eager/base/base.h"

struct shard_note {
	int64_t index;       /* number of the program; -1: none is in hand */
	bool twin;           /* its wide twin */
	char doing[64];      /* "making", "judging on torch-2.11.0:inductor@cpu" */
	char text[MAX_TEXT]; /* the program, "" while it is made */
};

enum { SHARD_NOTE_NAME = 16 };
/* The parent's side: fresh memory, nothing in hand; name: for shard_note_open. NULL: err says why. */
struct shard_note *shard_note_new(char name[SHARD_NOTE_NAME], struct err *err);
void shard_note_free(struct shard_note *n);
/* The shard's. NULL: err says why. Detached when the process ends. */
struct shard_note *shard_note_open(const char *name, struct err *err);

/* Also the text that a BUG prints. doing and text are copied; n may be NULL. */
void shard_note_take(struct shard_note *n, int64_t index, bool twin, const char *doing, const char *text);
void shard_note_clear(struct shard_note *n);

#endif
