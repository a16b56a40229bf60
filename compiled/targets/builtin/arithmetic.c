/* arithmetic.c: the rows of arithmetic.def. */
#include "compiled/targets/builtin/arithmetic.h"

#include "oracle/num/licence_row.h"

#define LICENCE_FILE "compiled/targets/builtin/arithmetic.def"
static const struct licence_row rows[] = {
#include "compiled/targets/builtin/arithmetic.def"
};

const struct licence_kernels builtin_kernels = {"builtin", rows, ARRAY_LEN(rows), 1u << 0, 0};
const struct licence_kernels builtin_joint_kernels = {"builtin-joint", rows, ARRAY_LEN(rows), 1u << 1, 0};
