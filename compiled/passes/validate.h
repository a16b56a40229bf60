/* validate.h: what holds after every step of the built-in compiler, each a validator of its own. err: the invariant's name, the row with
 * its operator in brackets (if it is about one) and both facts: "I2: 'a' (exp) is f32[2][1]+0, but its operands give f32[3][1]+0".
 *
 * I1  no row writes between functionalise and the epilogue; the epilogue is `copy_` rows to inputs, then the views that are made again
 * I2  what a row's results are known to be (dtype, sizes, strides, offset) is what the shape rules infer from its operands
 * I3  no step makes an output or a gradient share memory with an input, or with another of them, that it did not share memory with before;
 *     what the epilogue writes to an input lies in no other input's memory unless it did before
 * I4  who writes (the epilogue; rows that reinplace, the last step, has made) writes no memory that overlaps itself, no input that the
 *     source does not write, unless it is donated, and nothing that is read afterwards by a name that is older than the write
 * I5  the result of a functional scatter never overlaps itself: it is dense where the base overlaps itself, and a scatter of a view's
 *     region keeps every other base's strides and offset (PyTorch #180164 trusted the strides of an expanded base)
 * I7  an in-place row's result is on its destination's device; its operands are there, too, or on `meta`, which has no data to give
 *     (PyTorch #166626 refused that)
 * I8  of the two parts (partition.h): each input of the backward part is a saved value, an input of the source that the epilogue does not
 *     write, or a cotangent, in that one's layout; a saved value lies in no input's memory; what is donated nobody else returns; no row of
 *     the forward part depends on a cotangent; none is in both parts unless it is computed again */
#ifndef SCATTERPROOF_VALIDATE_H
#define SCATTERPROOF_VALIDATE_H

#include "compiled/passes/pass.h"
#include "eager/lang/result.h"

/* Whose memory a program's inputs are, by input storage. */
struct owners {
	bool written[MAX_NODES]; /* the source writes it, and the caller sees that */
	bool donated[MAX_NODES]; /* nobody else knows it (partition.h) */
};

void owners_of_source(struct owners *out, const struct prog *source); /* of programs with the source's inputs */

/* p's rows as the shape rules see them, whatever p's rows say of themselves: what I2, I3 and I4 compare with or go by, made once for all of
 * them. In a; p's names. False: the rows do not fit together (I2). */
bool validate_infer(struct prog *again, const struct prog *p, struct arena *a, struct err *err);

bool validate_no_writes(const struct prog *p, struct err *err);                          /* I1 before the epilogue */
bool validate_epilogue(const struct prog *p, struct err *err);                           /* I1 behind it */
bool validate_metas(const struct prog *p, const struct prog *again, struct err *err);    /* I2 */
bool validate_writes(const struct prog *again, const struct owners *o, struct err *err); /* I4 */
bool validate_scatters(const struct prog *p, struct err *err);                           /* I5 */
bool validate_devices(const struct prog *p, struct err *err);                            /* I7 */

/* Which memory the results lie in. */
struct aliases {
	int n;
	struct {
		enum result_role role;
		int storage;           /* NO_VALUE: there is no such result yet, or it is None */
		bool input;            /* an input's that somebody else knows, which has the same number after every step */
		const char *name, *op; /* of the row */
	} of[MAX_RESULTS];
};
/* Of the results by their rows in `again`. */
void aliases_of(struct aliases *out, const struct pure *g, const struct prog *again, const struct owners *o);
void aliases_of_returns(struct aliases *out, const struct prog *again, int nret, const struct owners *o); /* of the first nret */
/* I3. Results are the same ones in the same order; the step may have added some behind them. */
bool validate_aliases(const struct aliases *before, const struct aliases *after, struct err *err);

/* The parts of a validator's sentence about what stands after `step`. In a. */
struct result_violation validate_violation(const char *sentence, const char *step, struct arena *a);

#endif
