/* arithmetic.c: the rows of arithmetic.def. */
#include "compiled/targets/jax/arithmetic.h"

#include "oracle/num/licence_row.h"

#define LICENCE_FILE "compiled/targets/jax/arithmetic.def"
static const struct licence_row rows[] = {
#include "compiled/targets/jax/arithmetic.def"
};

const struct licence_kernels jax_op_kernels = {"jax-op", rows, ARRAY_LEN(rows), 1u << 0, 0};
const struct licence_kernels jax_jit_kernels = {"jax-jit", rows, ARRAY_LEN(rows), 1u << 1, 0};
