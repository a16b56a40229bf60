/* nvrtc.c: see nvrtc.h. Loaded once, kept. */
#include "compiled/gpu/nvrtc.h"

#include <glob.h>
#include <stdlib.h>

#include "eager/base/library.h"

typedef struct nvrtc_program *nvrtc_program;
/* CUDA's prototypes, as the NVRTC guide has them. 0 is success. */
static struct {
	void *library;
	int (*version)(int *major, int *minor);
	int (*create)(nvrtc_program *p, const char *text, const char *name, int n, const char *const *headers, const char *const *names);
	int (*destroy)(nvrtc_program *p);
	int (*compile)(nvrtc_program p, int n, const char *const *options);
	int (*log_size)(nvrtc_program p, size_t *n);
	int (*log)(nvrtc_program p, char *out);
	int (*size[2])(nvrtc_program p, size_t *n); /* by gpu_form */
	int (*get[2])(nvrtc_program p, char *out);
	const char *(*error)(int code);
} nv;

static bool find(void *function, const char *name) { return library_find(function, nv.library, name); }

static bool has_functions(void)
{
	return find(&nv.version, "nvrtcVersion") && find(&nv.create, "nvrtcCreateProgram") && find(&nv.destroy, "nvrtcDestroyProgram")
		&& find(&nv.compile, "nvrtcCompileProgram") && find(&nv.log_size, "nvrtcGetProgramLogSize") && find(&nv.log, "nvrtcGetProgramLog")
		&& find(&nv.size[GPU_PTX], "nvrtcGetPTXSize") && find(&nv.get[GPU_PTX], "nvrtcGetPTX")
		&& find(&nv.size[GPU_CUBIN], "nvrtcGetCUBINSize") && find(&nv.get[GPU_CUBIN], "nvrtcGetCUBIN")
		&& find(&nv.error, "nvrtcGetErrorString");
}

static bool opened(const char *path)
{
	nv.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (nv.library && has_functions())
		return true;
	if (nv.library)
		dlclose(nv.library);
	nv.library = NULL;
	return false;
}

/* The last that a pattern names is the newest. */
static bool opened_like(const char *pattern)
{
	glob_t g;
	bool found = false;
	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = g.gl_pathc; i > 0 && !found; i--)
			found = opened(g.gl_pathv[i - 1]);
	globfree(&g);
	return found;
}

static bool opened_in(const char *folders)
{
	bool found = false;
	for (const char *s = folders; s && *s && !found; s += strcspn(s, "\n"), s += *s == '\n') {
		char pattern[4000];
		snprintf(pattern, sizeof pattern, "%.*s/libnvrtc.so.*", (int)strcspn(s, "\n"), s);
		found = opened_like(pattern);
	}
	return found;
}

bool nvrtc_open(const char *search, struct err *err)
{
	static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
	const char *own = getenv("SCATTERPROOF_NVRTC"), *home = getenv("CUDA_HOME");
	char folder[4000];
	if (nv.library)
		return true;
	if (own && *own)
		return opened(own) || err_set(err, "SCATTERPROOF_NVRTC: %s is no NVRTC", own);
	for (int i = 0; i < ARRAY_LEN(names); i++)
		if (opened(names[i]))
			return true;
	snprintf(folder, sizeof folder, "%s/lib64", home ? home : "");
	return (home && opened_in(folder)) || opened_in("/usr/local/cuda/lib64\n/usr/local/cuda*/lib64\n/usr/local/cuda*/lib")
		|| opened_in(search)
		|| err_set(
			err, "no NVRTC: libnvrtc.so is not on the linker's path, in /usr/local/cuda, in CUDA_HOME, nor named by SCATTERPROOF_NVRTC");
}

bool nvrtc_where(struct strbuf *out, const char *search, struct err *err)
{
	Dl_info at = {0};
	int major = 0, minor = 0;
	void *function;
	if (!nvrtc_open(search, err))
		return false;
	memcpy(&function, &nv.version, sizeof function);
	dladdr(function, &at);
	nv.version(&major, &minor);
	sb_printf(out, "%s (%d.%d)", at.dli_fname ? at.dli_fname : "NVRTC", major, minor);
	return true;
}

static const char *text_of(int code)
{
	const char *s = nv.error(code);
	return s ? s : "an error without a text";
}

static void tell_log(nvrtc_program p, int code, struct err *err)
{
	size_t n = 0;
	struct arena a;
	arena_init(&a);
	char *log = NULL;
	if (nv.log_size(p, &n) == 0 && n > 1 && nv.log(p, log = ARENA_ZNEW(&a, char, n + 1)) != 0)
		log = NULL;
	err_set(err, "generated code: NVRTC: %s: %.*s", text_of(code), log ? (int)strcspn(log, "\n") : 0, log ? log : "");
	arena_free(&a);
}

static bool take(struct strbuf *out, nvrtc_program p, enum gpu_form form)
{
	size_t n = 0;
	struct arena a;
	if (nv.size[form](p, &n) != 0 || !n)
		return false;
	arena_init(&a);
	char *bytes = ARENA_NEW(&a, char, n);
	const bool ok = nv.get[form](p, bytes) == 0;
	if (ok)
		sb_put(out, bytes, n);
	arena_free(&a);
	return ok;
}

enum gpu_end nvrtc_compile(struct strbuf *out, const char *text, enum gpu_form form, const struct gpu_options *o, struct err *err)
{
	nvrtc_program p;
	char arch[40];
	if (!nvrtc_open(o->search, err))
		return GPU_MISSING;
	/* A cubin is for one architecture; PTX says which one it needs at least. Arithmetic is as written. */
	snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d", form == GPU_PTX ? "compute" : "sm", o->arch);
	const char *const options[] = {
		arch, "--device-as-default-execution-space", "--fmad=false", "--minimal", "--disable-warnings", "--Ofast-compile=mid"};
	int code = nv.create(&p, text, "loops.cu", 0, NULL, NULL);
	if (code != 0) {
		err_set(err, "NVRTC: %s", text_of(code));
		return GPU_MISSING;
	}
	code = nv.compile(p, o->fast ? ARRAY_LEN(options) : ARRAY_LEN(options) - 1, options);
	if (code != 0)
		tell_log(p, code, err);
	const bool ok = code == 0 && (take(out, p, form) || err_set(err, "NVRTC gives no code"));
	nv.destroy(&p);
	return ok ? GPU_OK : GPU_BROKEN;
}
