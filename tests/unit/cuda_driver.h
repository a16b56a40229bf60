/* cuda_driver.h: what compiled/gpu/device.c takes of NVIDIA's driver (libcuda.so.1), for the libraries that stand in for it. */
#ifndef SCATTERPROOF_CUDA_DRIVER_H
#define SCATTERPROOF_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define CALL int __attribute__((visibility("default")))
CALL cuInit(unsigned flags);
CALL cuDeviceGetCount(int *n);
CALL cuDeviceGet(int *device, int ordinal);
CALL cuDeviceGetAttribute(int *value, int which, int device);
CALL cuDevicePrimaryCtxRetain(void **out, int device);
CALL cuCtxSetCurrent(void *context);
CALL cuMemAlloc_v2(uint64_t *out, size_t n);
CALL cuMemFree_v2(uint64_t p);
CALL cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n);
CALL cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n);
CALL cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t n);
CALL cuModuleLoadData(void **out, const void *image);
CALL cuModuleUnload(void *m);
CALL cuModuleGetFunction(void **out, void *m, const char *name);
CALL cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
	void **arguments, void **extra);
CALL cuCtxSynchronize(void);
CALL cuGetErrorString(int code, const char **out);

#endif
