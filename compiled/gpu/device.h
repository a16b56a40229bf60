/* device.h: one NVIDIA GPU through CUDA's driver API, a library that is loaded where the machine has it (SCATTERPROOF_CUDA names
 * another one than libcuda.so.1). A fault of a kernel poisons the process: what fails after device_open is a BUG, so the process ends, and
 * whoever started it starts another. */
#ifndef SCATTERPROOF_GPU_DEVICE_H
#define SCATTERPROOF_GPU_DEVICE_H

#include "eager/base/base.h"

typedef uint64_t device_address;

/* The first device's context, made once per process. False: no driver, or no device (err: "no CUDA device: ..."). */
bool device_open(struct err *err);
int device_arch(void); /* 90 for compute capability 9.0; may be asked in a process that fork() made, where nothing else may */

/* At least n bytes of memory, always the same; what it held before is lost if it grows. 256-byte aligned. */
device_address device_memory(size_t n);
void device_write(device_address to, const void *from, size_t n);
double device_copy_cost(size_t n); /* seconds per byte read and written by a copy of n bytes within the device, the best of several */
void device_read(void *to, device_address from, size_t n); /* waits for all kernels */

enum { DEVICE_BLOCK = 256 }; /* threads */
struct device_module;
/* An image of 16-byte alignment, which need not stay. NULL: the driver takes it for none (err). */
struct device_module *device_load(const void *cubin, struct err *err);
void device_unload(struct device_module *m); /* NULL is fine */
/* nthread > 0 of them, in blocks of DEVICE_BLOCK; argument: pointers to the kernel's arguments. Kernels run one after the other. */
void device_launch(const struct device_module *m, const char *kernel, int64_t nthread, void **argument);
void device_wait(void);

#endif
