/* selftest.h: can we still see? One planted defect (compiled/defects/defects.h), or none: the programs of a seed, as a campaign draws them,
 * until one shows it; who caught it; then minimise and blame, as triage would. */
#ifndef SCATTERPROOF_SELFTEST_H
#define SCATTERPROOF_SELFTEST_H

#include "compiled/defects/defects.h"
#include "fuzz/campaign/source.h"

struct selftest_row {
	bool ran;         /* else: our fault, `trouble` */
	bool found;       /* something diverged */
	int64_t programs; /* that were generated, the one that showed it included */
	int64_t planted;  /* of these, in which there was something to spoil; none planted: that were judged */
	char by[24];      /* who caught it: as defect_catcher_name, or another kind of finding ("raise") */
	char step[48];    /* that blame names */
	char ops[160];    /* of the minimised program */
	char trouble[200];
};

/* d: NULL for none planted. most: programs. */
void selftest_run(struct selftest_row *out, const struct defect *d, const struct program_source *source, int64_t most, const char *self);

#endif
