/* batch.h: code of many loop programs that a compiler makes in one go, before it is asked for: starting a compiler and reading a text's
 * head costs more than one program's code. What is in a batch is named after its text and options, so that whoever asks gets the code of
 * just the text that it has; what is not there is compiled alone, as if nothing were. So a batch that does not compile, for whichever of
 * its programs, is no error: each program meets its own when its turn comes. */
#ifndef SCATTERPROOF_BATCH_H
#define SCATTERPROOF_BATCH_H

#include "compiled/loops/loops.h"

enum { BATCH_NAME = sizeof "run_" + 2 * sizeof(struct hash128) };
void batch_name(char out[BATCH_NAME], const struct strbuf *text); /* a word of C */
/* l[k] is named name[k]. Of those with one name the first stays; how many do. */
int batch_distinct(const struct loops **l, const char **name, int n);

/* A compiler's: what it leaves in a file, made ready to run. */
struct batch_kind {
	void *(*open)(const char *path); /* NULL: the file is none, or not whole */
	/* The code of that name; NULL: it has none. May be asked in a process that fork() made. */
	void *(*find)(void *code, const char *name);
	void (*close)(void *code);
};

enum { MAX_BATCHES = 8 }; /* the oldest one goes */
struct batches;
struct batches *batches_new(const struct batch_kind *kind);
void batches_free(struct batches *h); /* NULL is fine; whatever batches_find gave is closed */
void *batches_find(const struct batches *h, const char *name);
/* `make` leaves a file at the path that it is given, in a process of its own, which is killed after limit_ms. False: there is none, for
 * whatever reason; then batches rest for a while. Nothing that batches_find gave may be open. */
bool batches_make(struct batches *h, bool (*make)(void *ctx, const char *path), void *ctx, int limit_ms);

/* A folder of its own in TMPDIR, where one file is made; its text and messages may lie beside it. */
struct workshop {
	char folder[4000], file[4096];
};
bool workshop_open(struct workshop *w, struct err *err);
void workshop_close(const struct workshop *w); /* also of what a compiler that was killed left behind */

#endif
