/* arithmetic.h: PyTorch's kernels, of which arithmetic.def speaks. A compiler that nobody knows may be given both. */
#ifndef SCATTERPROOF_TORCH_ARITHMETIC_H
#define SCATTERPROOF_TORCH_ARITHMETIC_H

#include "oracle/num/licence.h"

extern const struct licence_kernels torch_eager_kernels;    /* ATen's, operator by operator */
extern const struct licence_kernels torch_inductor_kernels; /* what Inductor emits */

#endif
