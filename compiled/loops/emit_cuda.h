/* emit_cuda.h: CUDA C++ of a loop program, a kernel for each of its schedule's kernels (schedule.h), named NAME_k0, NAME_k1, ...:
 *     void NAME_k0(struct raised *, long threads, long s, ..., unsigned char *b, ...)
 * s: the symbols that it needs (symbols.h: loops_symbols_of), b: the buffers that it touches, by number.
 * threads: npoint * team, in blocks of TEAM_BLOCK. CUDA_HEAD bytes behind the struct raised there is scratch memory, 0 before the
 * first kernel.
 * No #include, and no runtime: the text stands alone. Several programs may stand in one text, one behind the other. */
#ifndef SCATTERPROOF_EMIT_CUDA_H
#define SCATTERPROOF_EMIT_CUDA_H

#include "compiled/loops/schedule.h"

/* Device memory of a program that runs: which of a kernel's threads was the first whose position was outside, in which LOOP_BOUND. */
struct raised {
	int32_t lock, is;
	int64_t thread, ins, v;
};
enum { CUDA_HEAD = 256 };
int64_t emit_cuda_scratch(const struct loop_kernel *k); /* bytes that it needs there */

void loops_emit_cuda_head(struct strbuf *sb); /* once per text */
void loops_emit_cuda(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, int n, const char *name);

#endif
