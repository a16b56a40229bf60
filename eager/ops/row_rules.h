/* row_rules.h: what a file of shape rules, kernels and derivatives includes: every function that a row of ops.def names is declared here
 * (`none` means: there is none; views, inputs, non-differentiable results), and positions of arguments have names. Nobody else includes
 * it, because it changes with each new row. */
#ifndef SCATTERPROOF_ROW_RULES_H
#define SCATTERPROOF_ROW_RULES_H

#include "eager/ops/rules.h"
#include "eager/ops/vjp.h"
#include "generated/op_args.h"

#define META(function) meta_fn meta_##function;
#define KERN(function) kern_fn kern_##function;
#define GRAD(function)                                                                                                                     \
	grad_fn grad_##function __attribute__((weak));                                                                                         \
	vjp_fn vjp_##function __attribute__((weak));
#include "generated/op_functions.def"

#endif
