/* emit_cuda.h: CUDA C++ of loop programs, a kernel for each kernel of a program's schedule (schedule.h), named NAME_k0, NAME_k1, ...:
 *     void NAME_k0(struct raised *, long n, long s, ..., unsigned char *b, ...)
 * n: the threads (loops_threads) in blocks of TEAM_BLOCK, or, where a thread has several points, the points. s: the symbols that it needs
 * (symbols.h: loops_symbols_of), b: the buffers that it touches, by number.
 * Where threads of a block meet (sums, tiles), all of its threads are there: n is whole blocks then, nothing raises, no condition stands
 * around it, loops around it have as many iterations for each thread, and a thread without a point computes the last one again. A warp
 * that shuffles has one point. One thread of a team stores, and no kernel with teams reads what it stores.
 * CUDA_HEAD bytes behind the struct raised there is scratch memory, 0 before the first kernel.
 * No #include, and no runtime: the text stands alone. */
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

struct cuda_text {
	const struct loops *l;
	const struct loop_kernel *kernel;
	int nkernel;
	const char *name;
};
void loops_emit_cuda(struct strbuf *sb, const struct cuda_text *p, int n);
void loops_emit_cuda_body(struct strbuf *sb, const struct cuda_text *p); /* the part of it that differs from program to program */

#endif
