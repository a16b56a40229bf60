# Needs NVIDIA's driver, an H100 or newer (sm_90), and libnvrtc.so.13 of CUDA 13 (NVRTC: another path).
import ctypes as c, os

SOURCE = rb"""
extern "C" __global__ void k(const unsigned char *__restrict__ mask, const unsigned char *__restrict__ a, unsigned char *__restrict__ b,
	unsigned char *__restrict__ out)
{
	b[0] = 7;
	if (mask[0])
		out[0] = a[0];
	else
		out[0] = b[0];
}
"""
rtc, gpu = c.CDLL(os.environ.get("NVRTC", "libnvrtc.so.13")), c.CDLL("libcuda.so.1")

def ask(function, *arguments):
    assert (code := function(*arguments)) == 0, f"{function.__name__}: {code}"

def compiled(*options):
    program, size = c.c_void_p(), c.c_size_t()
    ask(rtc.nvrtcCreateProgram, c.byref(program), SOURCE, b"k.cu", 0, None, None)
    ask(rtc.nvrtcCompileProgram, program, 1 + len(options), (c.c_char_p * 2)(b"--gpu-architecture=sm_90", *options))
    ask(rtc.nvrtcGetCUBINSize, program, c.byref(size))
    cubin = c.create_string_buffer(size.value)
    ask(rtc.nvrtcGetCUBIN, program, cubin)
    return cubin

def run(cubin):
    module, k, memory = c.c_void_p(), c.c_void_p(), c.c_uint64()
    ask(gpu.cuModuleLoadData, c.byref(module), cubin)
    ask(gpu.cuModuleGetFunction, c.byref(k), module, b"k")
    ask(gpu.cuMemAlloc_v2, c.byref(memory), 1024)
    cells = bytearray(1024)  # mask, a, b, out: 256 bytes apart
    cells[256], cells[512], cells[768] = 5, 9, 1
    ask(gpu.cuMemcpyHtoD_v2, memory, bytes(cells), 1024)
    pointers = [c.c_uint64(memory.value + at) for at in (0, 256, 512, 768)]
    arguments = (c.c_void_p * 4)(*[c.addressof(p) for p in pointers])
    ask(gpu.cuLaunchKernel, k, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
    got = c.create_string_buffer(1024)
    ask(gpu.cuMemcpyDtoH_v2, got, memory, 1024)
    return got.raw[768]

context = c.c_void_p()
ask(gpu.cuInit, 0)
ask(gpu.cuDevicePrimaryCtxRetain, c.byref(context), 0)
ask(gpu.cuCtxSetCurrent, context)
wrong, right = run(compiled()), run(compiled(b"--ptxas-options=-O0"))
print("out[0]:", wrong, "as it is;", right, "at -O0; must be 7")
assert wrong == 7
