/* cuda_text_test.c: NVRTC takes the CUDA text of every program, several in one text; no GPU is needed. Skipped (77) where there is no
 * NVRTC. */
#include "compiled/compile.h"
#include "compiled/loops/emit_cuda.h"
#include "compiled/targets/builtin/builtin.h"
#include "fuzz/campaign/source.h"
#include "tests/test.h"

enum { PROGRAMS = 96, BATCH = 32, SKIP = 77 };

static int kernels; /* that were compiled */

/* One program more in the text; false: the compiler does not take it. */
static bool put_program(struct strbuf *text, const struct prog *p, int number, struct arena *a)
{
	const struct compile_options o = {.stage = compile_nstages() - 1, .to_code = true};
	struct compiled c = {.planted = false};
	struct prog *bound = ARENA_NEW(a, struct prog, 1);
	struct loops l;
	struct loop_kernel *k;
	struct err err = {0};
	char name[16];
	bool planted;
	if (!prog_bind(bound, p, 0, a, &err) || compile(&c, bound, &o, a, &err) != COMPILE_OK
		|| !code_loops(
			&l, &planted, &c.part[0].p, &(struct code_options){.engine = CODE_CUDA, .schedule = true, .reorder = true}, NULL, a, &err))
		return false;
	const int n = loops_kernels(&k, &l, a);
	snprintf(name, sizeof name, "p%d", number);
	loops_emit_cuda(text, &l, k, n, name);
	kernels += n;
	return true;
}

static void compile_batch(const struct strbuf *text, bool fast)
{
	struct strbuf code;
	struct err err = {0};
	sb_init(&code);
	const struct gpu_options o = {.arch = 90, .fast = fast, .search = builtin_wheels()};
	EXPECT(nvrtc_compile(&code, text->s, GPU_CUBIN, &o, &err) == GPU_OK, "%s", err.msg);
	EXPECT(code.len > 100 && memcmp(code.s, "\177ELF", 4) == 0, "%zu bytes of code", code.len);
	sb_free(&code);
}

static void batches(void)
{
	struct program_source source = {.seed = 1, .policy = "default"};
	struct err err = {0};
	struct strbuf text;
	struct arena a;
	int taken = 0, refused = 0;
	arena_init(&a);
	sb_init(&text);
	loops_emit_cuda_head(&text);
	for (int k = 0; k < PROGRAMS; k++) {
		struct prog p;
		const bool ok = source_program(&p, &a, &source, k, &err) && put_program(&text, &p, k, &a);
		taken += ok;
		refused += !ok;
		if (k % BATCH != BATCH - 1)
			continue;
		compile_batch(&text, k == BATCH - 1);
		sb_reset(&text);
		loops_emit_cuda_head(&text);
	}
	printf("%d programs, %d kernels; %d not taken by the compiler\n", taken, kernels, refused);
	EXPECT(taken > 8 * refused && kernels > 4 * taken, "%d taken, %d refused, %d kernels", taken, refused, kernels);
	source_end(&source);
	sb_free(&text);
	arena_free(&a);
}

static void broken_text(void)
{
	struct strbuf code;
	struct err err = {0};
	sb_init(&code);
	const struct gpu_options o = {.arch = 90, .search = builtin_wheels()};
	EXPECT(nvrtc_compile(&code, "extern \"C\" __global__ void k() { nonsense; }\n", GPU_PTX, &o, &err) == GPU_BROKEN, "taken");
	EXPECT(strstr(err.msg, "nonsense") && strstr(err.msg, "loops.cu(1)"), "%s", err.msg);
	sb_free(&code);
}

int main(void)
{
	struct strbuf where;
	struct err err = {0};
	sb_init(&where);
	const bool there = nvrtc_where(&where, builtin_wheels(), &err);
	printf(there ? "%s\n" : "SKIPPED: %s\n", there ? where.s : err.msg);
	sb_free(&where);
	if (!there)
		return SKIP;
	RUN(batches);
	RUN(broken_text);
	return TEST_END();
}
