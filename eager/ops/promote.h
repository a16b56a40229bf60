/* promote.h: what several operands of eager's element-wise rules have in common: dtype, sizes and device (strides: layout.h).
 * Facts of PyTorch: torch.result_type's three categories (ATen/native/TypeProperties) and torch.promote_types.
 * For eager only: the oracle answers the same questions by itself. */
#ifndef SCATTERPROOF_PROMOTE_H
#define SCATTERPROOF_PROMOTE_H

#include "eager/lang/meta.h"
#include "eager/lang/op.h"

/* torch.promote_types. BARE and STORED dtypes have no common one with others (but for BARE with floats); the error is PyTorch's. */
bool promote_types(enum dtype *out, enum dtype a, enum dtype b, struct err *err);

/* torch.result_type: feed every operand, then ask. Tensors with dimensions outrank 0-d tensors, which outrank Python scalars,
 * unless the lower category has a higher kind (bool < int < float). At least one operand must have been fed. */
struct promotion {
	int dim, zero, wrapped; /* a dtype, or -1: none of that category yet */
	int refused[2];         /* the first two of one category that have no common dtype, or -1 */
};
#define PROMOTION_START                                                                                                                    \
	{                                                                                                                                      \
		-1, -1, -1, { -1, -1 }                                                                                                             \
	}
void promote_tensor(struct promotion *p, const struct meta *m);
void promote_scalar(struct promotion *p, const struct scalar *s);
bool promote_result(enum dtype *out, const struct promotion *p, struct err *err);

/* Sizes and device of the element-wise result of n >= 1 operands; out's dtype and strides are left alone. Errors are PyTorch's. */
bool promote_sizes(struct meta *out, const struct meta *const *in, int n, struct err *err);
/* Refuses dtype t for a row that does not list it: with PyTorch's text where PyTorch refuses it (dtype_refusals.def), else as a limit of
 * ours, which is no reason to raise. Returns false. */
bool dtype_refuse(int op, enum dtype t, struct err *err);

bool clamps_by_numbers(int op); /* clamp, clamp_min, clamp_max; in place, too */

#endif
