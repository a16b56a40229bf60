/* arithmetic.h: JAX's kernels on a CPU, of which arithmetic.def speaks. */
#ifndef SCATTERPROOF_JAX_ARITHMETIC_H
#define SCATTERPROOF_JAX_ARITHMETIC_H

#include "oracle/num/licence.h"

extern const struct licence_kernels jax_op_kernels;  /* each primitive compiled alone */
extern const struct licence_kernels jax_jit_kernels; /* a whole program compiled by XLA */

#endif
