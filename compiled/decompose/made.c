/* made.c: rules of factories: every constant is `full`, every range has a start and a step. */
#include "compiled/decompose/rules.h"

static void constants(struct decomposition *d, int64_t v) { d->out[0] = filled(d, result_meta(d, 0), scalar_int(v)); }

RULE(zeros) { constants(d, 0); }
RULE(zeros_like) { constants(d, 0); }
RULE(new_zeros) { constants(d, 0); }
RULE(ones) { constants(d, 1); }
RULE(ones_like) { constants(d, 1); }
RULE(new_ones) { constants(d, 1); }
RULE(new_full) { d->out[0] = filled(d, result_meta(d, 0), *scalar_arg(d, A_new_full_fill_value)); }
RULE(full_like) { d->out[0] = filled(d, result_meta(d, 0), *scalar_arg(d, A_full_like_fill_value)); }
RULE(scalar_tensor) { d->out[0] = constant(d, *scalar_arg(d, A_scalar_tensor_s), result_meta(d, 0)->dtype); }
RULE(fill_Scalar) { d->out[0] = filled(d, result_meta(d, 0), *scalar_arg(d, A_fill_Scalar_value)); }

RULE(fill_Tensor) { d->out[0] = spread(d, as_dtype(d, d->in[A_fill_Tensor_value], result_meta(d, 0)->dtype), result_meta(d, 0)); }

static void range(struct decomposition *d, struct scalar start, struct scalar end)
{
	d->out[0] = emit_arange_start_step(d->b, start, end, scalar_int(1), (int)result_meta(d, 0)->dtype);
}

RULE(arange) { range(d, scalar_int(0), *scalar_arg(d, op_arg(OP_arange, N_end))); }
RULE(arange_start) { range(d, *scalar_arg(d, op_arg(OP_arange_start, N_start)), *scalar_arg(d, op_arg(OP_arange_start, N_end))); }
