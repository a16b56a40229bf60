/* bench.h: `scatterproof bench`: sections that each print figures of one run. A figure is measured, never asserted.
 *
 * Times of work in this process are CPU time of the process (user and system), so that a loaded machine does not change them;
 * figures about targets are wall time, because waiting is part of them. Each row says its goal where there is one.
 * With --json every row is one object {"section": …, "name": …, column: number, …}; null where there is no number. */
#ifndef SCATTERPROOF_BENCH_H
#define SCATTERPROOF_BENCH_H

#include "fuzz/ask/options.h"
#include "fuzz/campaign/source.h"

struct bench_column {
	const char *name;
	int width, digits;
};
struct bench_table {
	const struct options *o;
	const char *section;
	int ncolumn;
	const struct bench_column *column;
};
/* Prints the title and the column names (not with --json). */
void table_begin(const struct bench_table *t, const char *title);
void table_row(const struct bench_table *t, const char *name, const double *value);
void bench_note(const struct options *o, const char *fmt, ...) PRINTF_LIKE(2, 3); /* a line of text; not with --json */

/* A campaign's programs but for those that must raise. dtypes: NULL for all. */
static inline struct program_source bench_source(const struct options *o, const char *dtypes)
{
	return (struct program_source){.seed = o->seed, .policy = o->policy, .limits.dtypes = dtypes, .legal = true};
}

/* The sections, in the order in which they run: reference and throughput in bench_reference.c, compiler and code in bench_compiler.c,
 * fake, campaign and scaling in bench_target.c, catch and tightness in bench_catch.c. false: err says why it could not run (bad policy,
 * broken target); what this machine lacks is a note instead. */
#define BENCH_DECLARED(name) bool bench_##name(const struct options *o, struct err *err);
BENCH_SECTIONS(BENCH_DECLARED)

#endif
