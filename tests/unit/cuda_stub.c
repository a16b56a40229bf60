/* cuda_stub.c: stands in for NVIDIA's driver (libcuda.so.1) where tests need one: it has a device of compute capability 9.0 whose memory is
 * the processor's, takes images as the driver does, and refuses those that are no whole ELF file. It runs nothing: a launch fails. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cuda_driver.h"

enum { OK = 0, INVALID_IMAGE = 200, NOT_FOUND = 500, LAUNCH_FAILED = 719 };
int loaded, unloaded, refused; /* images, for the test that asks */

int cuInit(unsigned flags) { return flags ? NOT_FOUND : OK; }
int cuDeviceGetCount(int *n) { return *n = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceGetAttribute(int *value, int which, int device) { return (void)device, *value = which == 75 ? 9 : 0, OK; }
int cuDevicePrimaryCtxRetain(void **out, int device) { return (void)device, *out = &loaded, OK; }
int cuCtxSetCurrent(void *context) { return context ? OK : NOT_FOUND; }
int cuMemAlloc_v2(uint64_t *out, size_t n) { return *out = (uint64_t)(uintptr_t)malloc(n), OK; }
int cuMemFree_v2(uint64_t p) { return free((void *)(uintptr_t)p), OK; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) { return memcpy((void *)(uintptr_t)to, from, n), OK; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { return memcpy(to, (const void *)(uintptr_t)from, n), OK; }
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t n) { return cuMemcpyHtoD_v2(to, (const void *)(uintptr_t)from, n); }

int cuModuleLoadData(void **out, const void *image)
{
	Elf64_Ehdr head;
	memcpy(&head, image, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != EM_CUDA || (uintptr_t)image % 16) {
		refused++;
		return INVALID_IMAGE;
	}
	loaded++;
	*out = &loaded;
	return OK;
}

int cuModuleUnload(void *m) { return unloaded += m == &loaded, OK; }
int cuModuleGetFunction(void **out, void *m, const char *name) { return *out = m, *name ? OK : NOT_FOUND; }

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
	void **arguments, void **extra)
{
	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)arguments, (void)extra;
	return LAUNCH_FAILED;
}

int cuCtxSynchronize(void) { return OK; }
int cuGetErrorString(int code, const char **out) { return *out = code == INVALID_IMAGE ? "device kernel image is invalid" : "stub", OK; }
