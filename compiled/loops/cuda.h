/* cuda.h: the engine that runs a loop program on an NVIDIA GPU: kernels (loops/schedule.h) compiled by NVRTC, one after the other. Rows
 * that have no nests run on the processor between them. Buffers go to the device with their red zones, and come back with them.
 * A run's time is that of its kernels. */
#ifndef SCATTERPROOF_CUDA_H
#define SCATTERPROOF_CUDA_H

#include "compiled/gpu/nvrtc.h"
#include "compiled/loops/run.h"

struct cuda;
/* o->arch is the device's, whatever it says. l is scheduled. MISSING (err): no device, no NVRTC, or more buffers than a kernel takes. */
enum gpu_end cuda_open(struct cuda **out, const struct loops *l, const struct gpu_options *o, struct err *err);
void cuda_close(struct cuda *c);                 /* NULL is fine */
bool cuda_run(struct loop_frame *f, void *cuda); /* a loop_engine */

#endif
