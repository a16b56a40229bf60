/* arithmetic.c: the rows of arithmetic.def. */
#include "compiled/targets/torch/arithmetic.h"

#include "oracle/num/licence_row.h"

#define LICENCE_FILE "compiled/targets/torch/arithmetic.def"
static const struct licence_row rows[] = {
#include "compiled/targets/torch/arithmetic.def"
};

const struct licence_kernels torch_eager_kernels = {"torch-eager", rows, ARRAY_LEN(rows), 1u << 0, CUDA};
const struct licence_kernels torch_inductor_kernels = {"torch-inductor", rows, ARRAY_LEN(rows), 1u << 1, CUDA};
