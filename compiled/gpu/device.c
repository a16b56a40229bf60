/* device.c: see device.h. */
#include "compiled/gpu/device.h"

#include <stdlib.h>

#include "eager/base/library.h"
#include "eager/base/clock.h"

typedef struct cuda_context *cuda_context;
typedef struct device_module *cuda_module;
typedef struct cuda_function *cuda_function;
typedef struct cuda_stream *cuda_stream;
enum { COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_... */

/* The driver's prototypes, with the suffixes of cuda.h. 0 is success. */
static struct {
	void *library;
	int (*init)(unsigned flags);
	int (*count)(int *n);
	int (*get)(int *device, int ordinal);
	int (*attribute)(int *value, int which, int device);
	int (*retain)(cuda_context *out, int device);
	int (*set_current)(cuda_context c);
	int (*alloc)(device_address *out, size_t n);
	int (*free)(device_address p);
	int (*to_device)(device_address to, const void *from, size_t n);
	int (*within)(device_address to, device_address from, size_t n);
	int (*to_host)(void *to, device_address from, size_t n);
	int (*load)(cuda_module *out, const void *image);
	int (*unload)(cuda_module m);
	int (*function)(cuda_function *out, cuda_module m, const char *name);
	int (*launch)(cuda_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		cuda_stream stream, void **arguments, void **extra);
	int (*wait)(void);
	int (*error)(int code, const char **out);
} cu;
static int arch; /* 0: not open */

static bool find(void *function, const char *name) { return library_find(function, cu.library, name); }

static bool has_functions(void)
{
	return find(&cu.init, "cuInit") && find(&cu.count, "cuDeviceGetCount") && find(&cu.get, "cuDeviceGet")
		&& find(&cu.attribute, "cuDeviceGetAttribute") && find(&cu.retain, "cuDevicePrimaryCtxRetain")
		&& find(&cu.set_current, "cuCtxSetCurrent") && find(&cu.alloc, "cuMemAlloc_v2") && find(&cu.free, "cuMemFree_v2")
		&& find(&cu.to_device, "cuMemcpyHtoD_v2") && find(&cu.to_host, "cuMemcpyDtoH_v2") && find(&cu.within, "cuMemcpyDtoD_v2")
		&& find(&cu.load, "cuModuleLoadData") && find(&cu.unload, "cuModuleUnload") && find(&cu.function, "cuModuleGetFunction")
		&& find(&cu.launch, "cuLaunchKernel") && find(&cu.wait, "cuCtxSynchronize") && find(&cu.error, "cuGetErrorString");
}

static const char *text_of(int code)
{
	const char *s = NULL;
	return cu.error(code, &s) == 0 && s ? s : "an error without a text";
}

static void must(int code, const char *what)
{
	if (code != 0)
		BUG("CUDA: %s: %s (%d)", what, text_of(code), code);
}

bool device_open(struct err *err)
{
	const char *own = getenv("SCATTERPROOF_CUDA");
	int n = 0, device, major = 0, minor = 0, code;
	cuda_context context;
	if (arch)
		return true;
	const char *name = own && *own ? own : "libcuda.so.1";
	if (!cu.library)
		cu.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!cu.library)
		return err_set(err, "no CUDA device: no driver %s", name);
	if (!has_functions())
		return err_set(err, "no CUDA device: %s lacks functions", name);
	if ((code = cu.init(0)) != 0 || (code = cu.count(&n)) != 0)
		return err_set(err, "no CUDA device: %s", text_of(code));
	if (n == 0)
		return err_set(err, "no CUDA device: the driver lists none");
	if ((code = cu.get(&device, 0)) != 0 || (code = cu.retain(&context, device)) != 0 || (code = cu.set_current(context)) != 0)
		return err_set(err, "no CUDA device: %s", text_of(code));
	must(cu.attribute(&major, COMPUTE_MAJOR, device), "attribute");
	must(cu.attribute(&minor, COMPUTE_MINOR, device), "attribute");
	arch = 10 * major + minor;
	return true;
}

int device_arch(void)
{
	CHECK(arch);
	return arch;
}

device_address device_memory(size_t n)
{
	static device_address memory;
	static size_t size;
	if (n <= size)
		return memory;
	if (memory)
		must(cu.free(memory), "memory given back");
	size = MAX(2 * size, n);
	memory = 0;
	must(cu.alloc(&memory, size), "memory");
	return memory;
}

void device_write(device_address to, const void *from, size_t n) { must(cu.to_device(to, from, n), "copy to the device"); }
void device_read(void *to, device_address from, size_t n) { must(cu.to_host(to, from, n), "copy from the device"); }

double device_copy_cost(size_t n)
{
	enum { ROUNDS = 5, COPIES = 20 };
	const device_address memory = device_memory(2 * n);
	double best = 1e9;
	for (int round = 0; round < ROUNDS; round++) {
		device_wait();
		const double begin = clock_s();
		for (int k = 0; k < COPIES; k++)
			must(cu.within(memory + n, memory, n), "copy");
		device_wait();
		best = MIN(best, clock_s() - begin);
	}
	return best / COPIES / (2 * (double)n);
}

struct device_module *device_load(const void *cubin, struct err *err)
{
	cuda_module m = NULL;
	const int code = cu.load(&m, cubin);
	if (code != 0)
		err_set(err, "CUDA: code: %s (%d)", text_of(code), code);
	return code == 0 ? m : NULL;
}

void device_unload(struct device_module *m)
{
	if (m)
		must(cu.unload(m), "code given back");
}

void device_launch(const struct device_module *m, const char *kernel, int64_t nthread, void **argument)
{
	cuda_function f;
	must(cu.function(&f, (cuda_module)(uintptr_t)m, kernel), kernel);
	CHECK(nthread > 0 && nthread <= (int64_t)INT32_MAX * DEVICE_BLOCK);
	must(cu.launch(f, (unsigned)((nthread + DEVICE_BLOCK - 1) / DEVICE_BLOCK), 1, 1, DEVICE_BLOCK, 1, 1, 0, NULL, argument, NULL), kernel);
}

void device_wait(void) { must(cu.wait(), "kernels"); }
