/* arithmetic.h: our own kernels, of which arithmetic.def speaks. */
#ifndef SCATTERPROOF_BUILTIN_ARITHMETIC_H
#define SCATTERPROOF_BUILTIN_ARITHMETIC_H

#include "oracle/num/licence.h"

extern const struct licence_kernels builtin_kernels; /* eager's; autograd adds up a tensor's shares over its views at once */
extern const struct licence_kernels
	builtin_joint_kernels; /* the compiler's: derivatives are rows of the program, each rounded to its dtype */

#endif
