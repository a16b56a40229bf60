/* decompose.h: the step `decompose` of the built-in compiler: every row that is not of the CORE DIALECT (core.def) becomes rows that are.
 *
 * A row has a RULE, decompose_<id> in one of the files of this folder, which appends what the row means:
 *
 *     RULE(masked_fill)
 *     {
 *         const int value = constant(d, *scalar_arg(d, A_masked_fill_value), result_meta(d, 0)->dtype);
 *         d->out[0] = emit_where_self(d->b, d->in[A_masked_fill_mask], value, d->in[A_masked_fill_self]);
 *     }
 *
 * A row with a body needs no rule: the body says the same. A rule states values only. Sizes must be the row's; decompose() gives the result the row's strides, offset and memory of its own, or, of
 * a view, a place in the operand's memory. What a rule appends may be of no core row itself: it is decomposed in the next round.
 *
 * Rounding: an intermediate value is never in a narrower dtype than the row's kernel has it in. f16 and bf16 are converted first, to f32,
 * or to f64 where the kernel computes in double, and the last row converts back: one rounding. So nothing is lost; a half's library
 * function is rounded once where the kernel goes through f32. */
#ifndef SCATTERPROOF_DECOMPOSE_H
#define SCATTERPROOF_DECOMPOSE_H

#include "compiled/passes/pass.h"

/* In which rows a program is written. Loops are lowered from rows that are core, POINTWISE (whose expression says what they compute) or
 * views; all others have a rule, which is their lowering. */
enum dialect { DIALECT_CORE, DIALECT_LOOPS };

/* Rewrites g->p and tells the results. *nforward: the rows before the backward part, before and after.
 * False: the program has too many rows then (err). */
bool decompose(struct pure *g, int *nforward, enum dialect d, struct err *err);
bool decompose_returns(struct prog *p, enum dialect d, struct err *err); /* the same of a program with its returns */
bool decompose_is_due(const struct prog *p, enum dialect d);             /* is there a row to rewrite? */

bool decompose_is_core(int op); /* also the language's own rows */
/* Is row `node` left as it is though it is not of the core dialect? Its result overlaps itself, which only the row's own kernel says, or is
 * on device `meta`, where nothing is computed. */
bool decompose_leaves(const struct prog *p, int node);

#endif
