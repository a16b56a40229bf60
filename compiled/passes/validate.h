/* validate.h: what holds after every step of the built-in compiler, each a validator of its own. err: the invariant's name, the row and
 * both facts.
 *
 * I1  no row writes between functionalise and the epilogue; the epilogue is `copy_` rows to inputs, then the views that are made again
 * I2  what a row's results are known to be (dtype, sizes, strides, offset) is what the shape rules infer from its operands
 * I3  no step makes an output or a gradient share memory with an input, or with another of them, that it did not share memory with before;
 *     what the epilogue writes to an input lies in no other input's memory unless it did before */
#ifndef SCATTERPROOF_VALIDATE_H
#define SCATTERPROOF_VALIDATE_H

#include "compiled/passes/pass.h"

bool validate_no_writes(const struct prog *p, struct err *err); /* I1 before the epilogue */
bool validate_epilogue(const struct prog *p, struct err *err);  /* I1 behind it */
bool validate_metas(const struct prog *p, struct err *err);     /* I2 */

/* Which memory the results lie in. */
struct aliases {
	int n;
	struct {
		enum result_role role;
		int storage; /* NO_VALUE: there is no such result yet, or it is None */
		bool input;  /* an input's, which has the same number in every program of one source */
		const char *name;
	} of[MAX_RESULTS];
};
/* Inferred anew, whatever p's rows say. False: p's rows do not fit together. */
bool aliases_of(struct aliases *out, const struct pure *g, struct err *err);
bool aliases_of_returns(struct aliases *out, const struct prog *p, int nret, struct err *err); /* of the first nret */
/* I3. Results are the same ones in the same order; the step may have added some behind them. */
bool validate_aliases(const struct aliases *before, const struct aliases *after, struct err *err);

#endif
