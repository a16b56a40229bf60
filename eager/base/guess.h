/* guess.h: for errors about names: which of the known ones was probably meant. */
#ifndef SCATTERPROOF_GUESS_H
#define SCATTERPROOF_GUESS_H

#include "eager/base/base.h"

/* Looks at candidates one by one; the nearest by edit distance (insert, delete, replace, swap neighbours; case does not count) is the
 * guess, if no more than a third of the given name's letters are wrong. A candidate that begins with the given name is near too. */
struct guess {
	char given[64]; /* of longer ones the head */
	char best[64];  /* "": none yet */
	int distance;
	char text[80];
};
void guess_start(struct guess *g, const char *given, size_t len);
void guess_add(struct guess *g, const char *name, size_t len);
/* "; did you mean 'X'?" or "", to end a sentence with. Valid as long as *g. */
const char *guess_text(struct guess *g);

/* The same for a table: first is the address of its first name, stride the distance of names in bytes. */
const char *guess_from(struct guess *g, const char *given, const char *const *first, size_t stride, int n);

#endif
