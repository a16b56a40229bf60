/* cuda_text_test.c: NVRTC takes the CUDA text of every program, many in one text, and what comes out is whole: an ELF image that has the
 * kernels of all programs, each with the instructions that it has if it is compiled alone. A stand-in for the driver (cuda_stub.c) is
 * handed the images of a batch that another process made. No GPU is needed. Skipped (77) where there is no NVRTC. */
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiled/run/ahead.h"
#include "compiled/loops/cuda.h"
#include "compiled/loops/emit_cuda.h"
#include "compiled/targets/builtin/builtin.h"
#include "fuzz/triage/verdict.h"
#include "fuzz/campaign/source.h"
#include "tests/test.h"

#define u16 uint16_t
#define u32 uint32_t
static uint32_t f32_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	return u;
}
#include "compiled/loops/bf16_of_float.h"

enum { PROGRAMS = 64, BATCH = 32, SKIP = 77 };

static struct gpu_options options(bool fast) { return (struct gpu_options){.arch = 90, .fast = fast, .search = builtin_wheels()}; }

static const struct compile_options compiled_for_cuda = {.to_code = true, .code = {.engine = CODE_CUDA, .schedule = true, .reorder = true}};

/* The loops of a program's own call; false: the compiler does not take it. */
static bool loops_of(struct loops *l, const struct prog *p, struct arena *a)
{
	struct compile_options o = compiled_for_cuda;
	struct compiled c = {.planted = false};
	struct prog *bound = ARENA_NEW(a, struct prog, 1);
	struct err err = {0};
	bool planted;
	o.stage = compile_nstages() - 1;
	return prog_bind(bound, p, 0, a, &err) && compile(&c, bound, &o, a, &err) == COMPILE_OK
		&& code_loops(l, &planted, &c.part[0].p, &o.code, NULL, a, &err);
}

static int programs(const struct loops **out, struct prog *p, int n, struct arena *a)
{
	struct program_source source = {.seed = 1, .policy = "default"};
	struct err err = {0};
	int taken = 0;
	for (int k = 0; k < n; k++) {
		struct loops *l = ARENA_NEW(a, struct loops, 1);
		EXPECT(source_program(&p[taken], a, &source, k, &err), "%s", err.msg);
		if (loops_of(l, &p[taken], a))
			out[taken++] = l;
	}
	source_end(&source);
	return taken;
}

/* ---- images ---- */

/* A section of an image that lies in n bytes; NULL: there is none. */
static const Elf64_Shdr *section(const struct strbuf *image, const char *name)
{
	const Elf64_Ehdr *head = (const void *)image->s;
	EXPECT(image->len > sizeof *head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64, "no ELF");
	EXPECT(head->e_shoff + (uint64_t)head->e_shnum * sizeof(Elf64_Shdr) <= image->len, "cut: sections end behind %zu bytes", image->len);
	const Elf64_Shdr *s = (const void *)(image->s + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		EXPECT(s[i].sh_type == SHT_NOBITS || s[i].sh_offset + s[i].sh_size <= image->len, "cut: section %d", i);
		if (str_eq(image->s + s[head->e_shstrndx].sh_offset + s[i].sh_name, name))
			return &s[i];
	}
	return NULL;
}

enum alike { NO_CODE, OTHER_LENGTH, SAME_LENGTH, SAME_CODE };

static enum alike compared(const struct strbuf *a, const struct strbuf *b, const char *kernel)
{
	char name[100];
	snprintf(name, sizeof name, ".text.%s", kernel);
	const Elf64_Shdr *x = section(a, name), *y = section(b, name);
	if (!x || !y)
		return NO_CODE;
	if (x->sh_size != y->sh_size)
		return OTHER_LENGTH;
	return memcmp(a->s + x->sh_offset, b->s + y->sh_offset, x->sh_size) == 0 ? SAME_CODE : SAME_LENGTH;
}

/* The kernels of a program that is compiled alone are in the batch's image, and the same, but that NVRTC may give a few of them other
 * registers, and that it puts a constant into a function where the whole image calls it with that one (of_pow, whose exponent 2 leaves one
 * product of it); how many, and how many of them differ in bytes and in length. */
static int compare_alone(
	int *renamed, int *told, const struct strbuf *batch, const struct loops *l, const struct gpu_options *o, struct arena *a)
{
	struct strbuf names, image;
	struct err err = {0};
	struct loop_kernel *kernel;
	int n = 0;
	sb_init(&names);
	sb_init(&image);
	EXPECT(cuda_compile(&names, &image, &l, 1, o, &err) == GPU_OK, "%s", err.msg);
	const int nkernel = loops_kernels(&kernel, l, a);
	for (int k = 0; k < nkernel && names.len > 0; k++)
		if (l->ins[kernel[k].begin].op != LOOP_EXTERN) {
			const char *name = arena_printf(a, "%.*s_k%d", (int)names.len - 1, names.s, k);
			const enum alike alike = compared(batch, &image, name);
			EXPECT(alike != NO_CODE, "%s: no code", name);
			*renamed += alike == SAME_LENGTH;
			*told += alike == OTHER_LENGTH;
			n++;
		}
	sb_free(&names);
	sb_free(&image);
	return n;
}

static void batches(void)
{
	struct arena a;
	struct strbuf names, image;
	struct err err = {0};
	int kernels = 0, renamed = 0, told = 0;
	arena_init(&a);
	sb_init(&names);
	sb_init(&image);
	const struct loops **l = ARENA_NEW(&a, const struct loops *, PROGRAMS);
	const int n = programs(l, ARENA_NEW(&a, struct prog, PROGRAMS), PROGRAMS, &a);
	for (int from = 0; from < n; from += BATCH) {
		const struct gpu_options o = options(from > 0);
		sb_reset(&names);
		sb_reset(&image);
		EXPECT(cuda_compile(&names, &image, l + from, MIN(BATCH, n - from), &o, &err) == GPU_OK, "%s", err.msg);
		for (int i = from; i < MIN(from + BATCH, n); i += 4)
			kernels += compare_alone(&renamed, &told, &image, l[i], &o, &a);
	}
	printf("%d of %d programs compiled; %d kernels compared, %d of them of other bytes, %d of another length\n", n, PROGRAMS, kernels,
		renamed, told);
	EXPECT(told <= kernels / 50, "%d of %d kernels are of another length", told, kernels);
	EXPECT(renamed <= kernels / 100, "%d of %d kernels are of other bytes", renamed, kernels);
	EXPECT(n > PROGRAMS * 9 / 10 && kernels > n / 2, "%d programs, %d kernels", n, kernels);
	sb_free(&names);
	sb_free(&image);
	arena_free(&a);
}

/* ---- from the process that made it to the driver ---- */

static int stub_count(const char *what)
{
	void *stub = dlopen(getenv("SCATTERPROOF_CUDA"), RTLD_NOW | RTLD_LOCAL);
	const int *n = stub ? (const int *)dlsym(stub, what) : NULL;
	EXPECT(n, "the stub has no %s", what);
	return n ? *n : -1;
}

static void ahead_of_the_driver(void)
{
	enum { FEW = 6 };
	struct arena a;
	const char *text[FEW];
	struct compile_options o = compiled_for_cuda;
	struct code_ahead *h = code_ahead_new();
	arena_init(&a);
	const struct loops **l = ARENA_NEW(&a, const struct loops *, FEW);
	struct prog *p = ARENA_NEW(&a, struct prog, FEW);
	const int n = programs(l, p, FEW, &a);
	o.stage = compile_nstages() - 1;
	o.code.gpu.search = builtin_wheels();
	for (int i = 0; i < n; i++)
		text[i] = prog_text(&p[i], &a);
	compile_ahead(h, text, n, &o, 300000);
	EXPECT(stub_count("loaded") == 1 && stub_count("refused") == 0, "%d images, %d refused", stub_count("loaded"), stub_count("refused"));
	for (int i = 0; i < n; i++)
		EXPECT(code_is_ahead(h, l[i], &o.code), "program %d is not there", i);
	compile_ahead(h, text, n, &o, 300000);
	EXPECT(stub_count("loaded") == 1, "compiled again: %d", stub_count("loaded"));
	o.code.gpu.fast = true;
	EXPECT(!code_is_ahead(h, l[0], &o.code), "the code of other options");
	code_ahead_free(h);
	EXPECT(stub_count("unloaded") == 1, "%d given back", stub_count("unloaded"));
	arena_free(&a);
}

/* A file that another byte is in, or that is cut, is none. */
static void spoiled_files(void)
{
	char path[] = "/tmp/cuda_text_XXXXXX";
	struct arena a;
	struct strbuf file;
	struct err err = {0};
	const int fd = mkstemp(path);
	arena_init(&a);
	sb_init(&file);
	const struct loops **l = ARENA_NEW(&a, const struct loops *, 1);
	CHECK(fd >= 0 && programs(l, ARENA_NEW(&a, struct prog, 1), 1, &a) == 1);
	const struct gpu_options o = options(false);
	EXPECT(cuda_build_all(path, l, 1, &o, &err), "%s", err.msg);
	void *code = cuda_batches.open(path);
	EXPECT(code, "a whole file is refused");
	if (code)
		cuda_batches.close(code);
	CHECK(sb_read_file(&file, path, 1 << 28, &err));
	file.s[file.len / 2] ^= 1;
	CHECK(sb_write_file(path, &file, &err));
	EXPECT(!cuda_batches.open(path), "another byte");
	file.s[file.len / 2] ^= 1;
	file.len--;
	CHECK(sb_write_file(path, &file, &err));
	EXPECT(!cuda_batches.open(path), "cut");
	close(fd);
	unlink(path);
	sb_free(&file);
	arena_free(&a);
}

/* ---- the text ---- */

static void bf16_of_floats(void)
{
	static const uint32_t low[] = {0, 1, 0x3fff, 0x7fff, 0x8000, 0x8001, 0xc000, 0xffff};
	int wrong = 0;
	for (uint32_t high = 0; high < 0x10000; high++)
		for (int k = 0; k < ARRAY_LEN(low); k++) {
			const uint32_t u = high << 16 | low[k];
			float f;
			memcpy(&f, &u, sizeof f);
			wrong += bf16_of_float(f) != f64_to_bf16((double)f);
		}
	EXPECT(wrong == 0, "%d floats are rounded in another way", wrong);
}

static void broken_text(void)
{
	struct strbuf code;
	struct err err = {0};
	sb_init(&code);
	const struct gpu_options o = options(false);
	EXPECT(nvrtc_compile(&code, "extern \"C\" __global__ void k() { nonsense; }\n", GPU_PTX, &o, &err) == GPU_BROKEN, "taken");
	EXPECT(strstr(err.msg, "nonsense") && strstr(err.msg, "loops.cu(1)"), "%s", err.msg);
	sb_free(&code);
}

int main(int argc, char **argv)
{
	struct strbuf where;
	struct err err = {0};
	CHECK(argc == 2 && setenv("SCATTERPROOF_CUDA", argv[1], 1) == 0);
	RUN(bf16_of_floats);
	sb_init(&where);
	const bool there = nvrtc_where(&where, builtin_wheels(), &err);
	printf(there ? "%s\n" : "SKIPPED: %s\n", there ? where.s : err.msg);
	sb_free(&where);
	if (!there)
		return SKIP;
	RUN(batches);
	RUN(ahead_of_the_driver);
	RUN(spoiled_files);
	RUN(broken_text);
	return TEST_END();
}
