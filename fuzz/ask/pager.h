/* pager.h: what fits on the screen is printed; what does not goes through a pager, like git's: PAGER, or `less -FRX` where it is unset;
 * none if it is empty or "cat". Between pager_begin and pager_end standard output is a buffer. */
#ifndef SCATTERPROOF_PAGER_H
#define SCATTERPROOF_PAGER_H

#include "eager/base/output.h"
#include "eager/base/screen.h"
#include "fuzz/ask/help.h"

/* What --color and --no-pager, which every verb takes, make of standard output. */
struct screen {
	struct look look;
	bool paged; /* it is a terminal, and nobody said --no-pager */
};
extern const struct option_table screen_table;
/* Takes the two options out of argv; what follows `--` is left alone. */
bool screen_options(struct screen *screen, int *argc, char **argv, struct err *err);

struct pager {
	bool on;
	struct look look;
	FILE *standard;
	char *text;
	size_t nbytes;
};
void pager_begin(struct pager *p, const struct screen *screen);
void pager_end(struct pager *p);

#endif
