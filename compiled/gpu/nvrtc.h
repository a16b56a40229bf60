/* nvrtc.h: NVIDIA's run-time compiler, a library that is loaded where the machine has it: named by SCATTERPROOF_NVRTC, on the linker's
 * path, in a CUDA Toolkit's folder (CUDA_HOME, /usr/local/cuda*), or in one of the folders that a caller gives (wheels of private
 * environments). It compiles without a GPU. */
#ifndef SCATTERPROOF_NVRTC_H
#define SCATTERPROOF_NVRTC_H

#include "eager/base/base.h"

enum gpu_form { GPU_PTX, GPU_CUBIN };
struct gpu_options {
	int arch;           /* compute capability, 90 for 9.0; 0: the device's, where there is one */
	bool fast;          /* --Ofast-compile=mid: less optimised, compiled faster (max makes so much PTX that its assembler takes longer) */
	int repeat;         /* for who measures: the kernels of a run are launched so often; 0: once */
	const char *search; /* more folders, patterns of glob(7), one per line; NULL */
};
enum gpu_end { GPU_OK, GPU_MISSING, GPU_BROKEN }; /* not OK (err): no NVRTC here; it does not take the text, our bug */
/* What NVRTC makes of a text is appended to out. */
enum gpu_end nvrtc_compile(struct strbuf *out, const char *text, enum gpu_form form, const struct gpu_options *o, struct err *err);
/* "/usr/local/cuda/lib64/libnvrtc.so.13 (13.0)"; false: there is none (err). */
/* Loads it, if it is not yet there. False: there is none (err). */
bool nvrtc_open(const char *search, struct err *err);
bool nvrtc_where(struct strbuf *out, const char *search, struct err *err);

#endif
