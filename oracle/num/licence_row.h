/* licence_row.h: the words of a family's arithmetic.def, for the one file that includes both.
 *
 *     LIC(class, kernels, devices, dtypes, compute, acc, ulp, flags, source)     read top to bottom, the last row that matches wins
 *
 * class: MOVE, ARITH, ... as in enum licence_class, EVERY, or OPS(OP_gelu, OP_gelu_backward): these operators alone, whatever their class.
 * kernels, devices, dtypes: masks; the table's own, CPU, CUDA or BOTH, DTS_FLOAT, HALVES, F8 or F32. compute, acc: SELF, INNER (f32 for a
 * half, else the tensor's) or a dtype. flags: LF_*. source: where that is said or how it was measured.
 *
 * tests/differential/licence_probe measures each row, class or operator, and dtype: it fails when a row is exceeded, more than 8 times too
 * wide, or in force nowhere. The suite runs it on the built-in and CPU rows; CUDA rows: scripts/gpu-run. */
#ifndef SCATTERPROOF_LICENCE_ROW_H
#define SCATTERPROOF_LICENCE_ROW_H

#include "generated/op_id.h"
#include "oracle/num/licence.h"

#define LC_EVERY LIC_EVERY
#define LC_OPS(...)                                                                                                                        \
	LIC_OPS, .ops = (const short[]) { __VA_ARGS__, -1 }
#define LIC(of, on_kernels, on_devices, on_dtypes, in, acc_in, ulps, may, from)                                                            \
	{.class_ = LC_##of,                                                                                                                    \
		.kernels = (on_kernels),                                                                                                           \
		.devices = (on_devices),                                                                                                           \
		.dtypes = (on_dtypes),                                                                                                             \
		.compute = (in),                                                                                                                   \
		.acc = (acc_in),                                                                                                                   \
		.ulp = (ulps),                                                                                                                     \
		.flags = (may),                                                                                                                    \
		.source = (from),                                                                                                                  \
		.file = LICENCE_FILE,                                                                                                              \
		.line = __LINE__},
#define CPU    (1u << LD_CPU)
#define CUDA   (1u << LD_CUDA)
#define BOTH   (CPU | CUDA)
#define HALVES DTS_NARROW
#define F8     (DTS(DT_F8_E4M3FN) | DTS(DT_F8_E5M2))
#define F32    DTS(DT_F32)
#define SELF   LIC_SELF
#define INNER  LIC_INNER

#endif
