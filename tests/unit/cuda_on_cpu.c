/* cuda_on_cpu.c: stands in for NVRTC and for NVIDIA's driver, and runs kernels: CUDA text is compiled by g++ with cuda_on_cpu.hpp as a
 * library of the processor, which the driver loads. So the text's arithmetic, its division among threads and its barriers are tested where
 * there is no GPU; what NVIDIA's compiler and memory do is not.
 *     SCATTERPROOF_NVRTC=libcuda_on_cpu.so SCATTERPROOF_CUDA=libcuda_on_cpu.so scatterproof check FILE --target builtin:cuda
 * An image is a library's bytes behind their number. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/cuda_driver.h"

enum { OK = 0, FAILED = 1, NOT_FOUND = 500 };
enum { MAX_PATH = 4096, MAX_LOG = 1 << 16 };


/* ---- files ---- */

static char *file_bytes(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) != 0)
		return *n = 0, f ? (void)fclose(f) : (void)0, NULL;
	*n = (size_t)ftell(f);
	char *bytes = calloc(1, *n + 1);
	rewind(f);
	*n = fread(bytes, 1, *n, f);
	fclose(f);
	return bytes;
}

static int run_command(const char *format, const char *a, const char *b)
{
	char command[4 * MAX_PATH];
	snprintf(command, sizeof command, format, a, b);
	return system(command);
}

/* ---- NVRTC ---- */

struct nvrtc_program {
	char *text, *library, *log;
	size_t nlibrary;
};

CALL nvrtcVersion(int *major, int *minor);
CALL nvrtcCreateProgram(
	struct nvrtc_program **p, const char *text, const char *name, int n, const char *const *headers, const char *const *names);
CALL nvrtcDestroyProgram(struct nvrtc_program **p);
CALL nvrtcCompileProgram(struct nvrtc_program *p, int n, const char *const *options);
CALL nvrtcGetProgramLogSize(const struct nvrtc_program *p, size_t *n);
CALL nvrtcGetProgramLog(const struct nvrtc_program *p, char *out);
CALL nvrtcGetCUBINSize(const struct nvrtc_program *p, size_t *n);
CALL nvrtcGetCUBIN(const struct nvrtc_program *p, char *out);
CALL nvrtcGetPTXSize(const struct nvrtc_program *p, size_t *n);
CALL nvrtcGetPTX(const struct nvrtc_program *p, char *out);
__attribute__((visibility("default"))) const char *nvrtcGetErrorString(int code);

int nvrtcVersion(int *major, int *minor) { return *major = 0, *minor = 0, OK; }

int nvrtcCreateProgram(
	struct nvrtc_program **p, const char *text, const char *name, int n, const char *const *headers, const char *const *names)
{
	(void)name, (void)n, (void)headers, (void)names;
	*p = calloc(1, sizeof **p);
	(*p)->text = strdup(text);
	return OK;
}

int nvrtcDestroyProgram(struct nvrtc_program **p)
{
	free((*p)->text);
	free((*p)->library);
	free((*p)->log);
	free(*p);
	return OK;
}

/* The text, and behind it a function for each kernel that calls it: NAME_k0 is in namespace NAME. */
static int write_text(const char *path, const char *text)
{
	static const char head[] = "extern \"C\" __global__ void ";
	FILE *f = fopen(path, "w");
	if (!f)
		return FAILED;
	fputs(text, f);
	for (const char *at = strstr(text, head); at; at = strstr(at, head)) {
		at += strlen(head);
		const int n = (int)strcspn(at, "("), space = (int)(strstr(at, "_k") - at);
		fprintf(f, "KERNEL_ON_CPU(%.*s, %.*s)\n", space, at, n, at);
	}
	return fclose(f);
}

int nvrtcCompileProgram(struct nvrtc_program *p, int n, const char *const *options)
{
	char folder[] = "/tmp/cuda_on_cpu_XXXXXX", path[MAX_PATH];
	size_t nlog;
	(void)n, (void)options;
	if (!mkdtemp(folder))
		return FAILED;
	snprintf(path, sizeof path, "%s/loops.cc", folder);
	int code = write_text(path, p->text);
	if (!code)
		code = run_command(
			"cd %s && g++ -std=c++17 -w -shared -fPIC -ffp-contract=off -include %s -o loops.so loops.cc 2>log", folder, CUDA_ON_CPU_HEAD);
	snprintf(path, sizeof path, "%s/log", folder);
	p->log = file_bytes(path, &nlog);
	snprintf(path, sizeof path, "%s/loops.so", folder);
	p->library = file_bytes(path, &p->nlibrary);
	run_command("rm -r %s%s", folder, "");
	return code || !p->library ? FAILED : OK;
}

int nvrtcGetProgramLogSize(const struct nvrtc_program *p, size_t *n) { return *n = p->log ? strlen(p->log) + 1 : 1, OK; }
int nvrtcGetProgramLog(const struct nvrtc_program *p, char *out) { return strcpy(out, p->log ? p->log : ""), OK; }
int nvrtcGetCUBINSize(const struct nvrtc_program *p, size_t *n) { return *n = sizeof p->nlibrary + p->nlibrary, OK; }

int nvrtcGetCUBIN(const struct nvrtc_program *p, char *out)
{
	memcpy(out, &p->nlibrary, sizeof p->nlibrary);
	memcpy(out + sizeof p->nlibrary, p->library, p->nlibrary);
	return OK;
}

int nvrtcGetPTXSize(const struct nvrtc_program *p, size_t *n) { return *n = strlen(p->text) + 1, OK; }
int nvrtcGetPTX(const struct nvrtc_program *p, char *out) { return strcpy(out, p->text), OK; }
const char *nvrtcGetErrorString(int code) { return code == OK ? "no error" : "g++ refuses it"; }

/* ---- the driver ---- */

typedef void launcher(unsigned blocks, void **arguments);

static int context;
int cuInit(unsigned flags) { return flags ? FAILED : OK; }
int cuDeviceGetCount(int *n) { return *n = 1, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceGetAttribute(int *value, int which, int device) { return (void)device, *value = which == 75 ? 9 : 0, OK; }
int cuDevicePrimaryCtxRetain(void **out, int device) { return (void)device, *out = &context, OK; }
int cuCtxSetCurrent(void *c) { return c == &context ? OK : FAILED; }
int cuMemAlloc_v2(uint64_t *out, size_t n) { return *out = (uint64_t)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256), OK; }
int cuMemFree_v2(uint64_t p) { return free((void *)(uintptr_t)p), OK; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) { return memcpy((void *)(uintptr_t)to, from, n), OK; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { return memcpy(to, (const void *)(uintptr_t)from, n), OK; }
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t n) { return cuMemcpyHtoD_v2(to, (const void *)(uintptr_t)from, n); }

int cuModuleLoadData(void **out, const void *image)
{
	char path[] = "/tmp/cuda_on_cpu_XXXXXX";
	size_t n;
	memcpy(&n, image, sizeof n);
	const int fd = mkstemp(path);
	if (fd < 0)
		return FAILED;
	*out = write(fd, (const char *)image + sizeof n, n) == (ssize_t)n ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	close(fd);
	unlink(path);
	return *out ? OK : FAILED;
}

int cuModuleUnload(void *m) { return dlclose(m) == 0 ? OK : FAILED; }

int cuModuleGetFunction(void **out, void *m, const char *name)
{
	char own[1000];
	snprintf(own, sizeof own, "%s_on_cpu", name);
	*out = dlsym(m, own);
	return *out ? OK : NOT_FOUND;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
	void **arguments, void **extra)
{
	launcher *run;
	(void)shared, (void)stream, (void)extra;
	if (gy != 1 || gz != 1 || bx != 256 || by != 1 || bz != 1)
		return FAILED;
	memcpy(&run, &f, sizeof run);
	run(gx, arguments);
	return OK;
}

int cuCtxSynchronize(void) { return OK; }
int cuGetErrorString(int code, const char **out) { return *out = code == OK ? "no error" : "failed", OK; }
