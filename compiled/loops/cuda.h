/* cuda.h: the engine that runs a loop program on an NVIDIA GPU: kernels (loops/schedule.h) compiled by NVRTC, one after the other. Rows
 * that have no nests run on the processor between them. Buffers go to the device with their red zones, and come back with them.
 * A run's time is that of its kernels. */
#ifndef SCATTERPROOF_CUDA_H
#define SCATTERPROOF_CUDA_H

#include "compiled/gpu/nvrtc.h"
#include "compiled/loops/batch.h"
#include "compiled/loops/run.h"

struct cuda;
/* o->arch: 0, for the device's. l is scheduled. Code that is in `ahead` (NULL: none is) is taken from there.
 * MISSING (err): no device, no NVRTC, or more buffers than a kernel takes. */
enum gpu_end cuda_open(struct cuda **out, const struct loops *l, const struct gpu_options *o, const struct batches *ahead, struct err *err);
void cuda_close(struct cuda *c);                 /* NULL is fine */
bool cuda_run(struct loop_frame *f, void *cuda); /* a loop_engine */

/* The code of n programs for o->arch, without a GPU. names: a line for each, whose kernels are NAME_k0, ...; programs of one text are
 * one, and those without kernels are left out. Both are appended to. */
enum gpu_end cuda_compile(
	struct strbuf *names, struct strbuf *cubin, const struct loops *const *l, int n, const struct gpu_options *o, struct err *err);

/* Of batches (batch.h), in whose files the bytes' hash travels with the names and the cubin: is there a device and NVRTC; is its code
 * there; and the file of one. The latter two leave the driver alone once the first was true: they may be asked in a process that fork()
 * made. */
extern const struct batch_kind cuda_batches;
bool cuda_can_run(const struct gpu_options *o, struct err *err); /* there is a GPU, and NVRTC */
bool cuda_is_ahead(const struct batches *ahead, const struct loops *l, const struct gpu_options *o);
bool cuda_build_all(const char *path, const struct loops *const *l, int n, const struct gpu_options *o, struct err *err);

#endif
