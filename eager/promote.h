/* promote.h: what several operands of eager's element-wise rules have in common: dtype, sizes, device and output strides.
 * Facts of PyTorch: torch.result_type's three categories (ATen/native/TypeProperties), torch.promote_types, and TensorIterator's
 * choice of output strides. For eager only: the oracle answers the same questions by itself. */
#ifndef SCATTERPROOF_PROMOTE_H
#define SCATTERPROOF_PROMOTE_H

#include "eager/meta.h"
#include "eager/op.h"

enum dtype promote_types(enum dtype a, enum dtype b);   /* torch.promote_types */

/* torch.result_type: feed every operand, then ask. Tensors with dimensions outrank 0-d tensors, which outrank Python scalars,
 * unless the lower category has a higher kind (bool < int < float). At least one operand must have been fed. */
struct promotion { int dim, zero, wrapped; };           /* a dtype, or -1: none of that category yet */
#define PROMOTION_START {-1, -1, -1}
void promote_tensor(struct promotion *p, const struct meta *m);
void promote_scalar(struct promotion *p, const struct scalar *s);
enum dtype promote_result(const struct promotion *p);

/* Sizes and device of the element-wise result of n >= 1 operands; out's dtype and strides are left alone. Errors are PyTorch's. */
bool promote_sizes(struct meta *out, const struct meta *const *in, int n, struct err *err);
/* Strides of a fresh element-wise result, sizes already in out: TensorIterator keeps the operands' permutation (the first operand
 * that can tell two dimensions apart decides; broadcast dimensions cannot tell), and is dense. Offset becomes 0.
 * nscalar: how many further 0-d operands (Python scalars) take part: they matter only to dimensions of size 1. */
void promote_strides(struct meta *out, const struct meta *const *in, int n, int nscalar);

const char *promote_torch_name(enum dtype t);           /* "Float", "Long", …: as PyTorch's error texts name dtypes */

#endif
