/* option_values.h: the words that enumerated options know, each written by whoever reads it: --help, man pages and completion list what
 * is understood, and nothing else. */
#ifndef SCATTERPROOF_OPTION_VALUES_H
#define SCATTERPROOF_OPTION_VALUES_H

#include "fuzz/ask/help.h"

option_values_fn policy_values, verdict_values, axis_values, fail_on_values, print_after_values, part_values, defect_values, state_values,
	severity_values, kind_values, order_values, dtype_values, color_values;
/* Words of a table between blanks. */
void words_put(struct strbuf *sb, const char *const *name, int n);

/* --print-after of compile: a step of the compiler, or what the loops become. */
bool print_after_stage(int stage); /* is this step of the compiler one that can be printed after? */
enum form_printed { FORM_PROGRAM, FORM_LOOPS, FORM_C, FORM_CUDA, FORM_PTX, FORM_READ, NFORMS };
extern const char *const form_name[NFORMS]; /* NULL: FORM_PROGRAM */

#endif
