/* row_rules.h: what a file of reference rules includes: every function that a row of ops.def names in its column `ref` is declared here,
 * and positions of arguments have names. Nobody else includes it, because it changes with each new row. */
#ifndef SCATTERPROOF_REF_ROW_RULES_H
#define SCATTERPROOF_REF_ROW_RULES_H

#include "oracle/ref/handed.h"
#include "generated/op_args.h"

#define REF(function)                                                                                                                      \
	ref_fn ref_##function;                                                                                                                 \
	extern const enum gives handed_##function;
#include "generated/op_functions.def"

/* Begins the reference of the rows whose column `ref` is `function`, and says what their backward hands on. */
#define REFERENCE(function, what)                                                                                                          \
	const enum gives handed_##function = GIVES_##what;                                                                                     \
	bool ref_##function(struct ref_ctx *c)

#endif
