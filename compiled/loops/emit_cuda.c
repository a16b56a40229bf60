/* emit_cuda.c: see emit_cuda.h. All functions are the device's by default (an option of the compiler), so the rows' text is the
 * processor's. C++ has functions of float where C has those of double alone: the library's are called by names of their own. */
#include "compiled/loops/emit_cuda.h"

#include <inttypes.h>

#include "compiled/loops/emit_parts.h"

static const char *const words = "#define CONSTS(x) consts_##x\n#define CONSTS_GIVEN(x) const consts_##x own\n"
								 "#define CONSTS_OPEN(x) const consts_##x *k = &own;\n";

/* The first thread in the order of the loops, whichever comes first to the lock. */
static const char *const raising =
	"struct raised { int lock, is; i64 thread, ins, v; };\n"
	"static void raise(struct raised *w, i64 thread, i64 ins, i64 v)\n{\n"
	"while (atomicCAS(&w->lock, 0, 1)) __nanosleep(100);\n__threadfence();\n"
	"volatile struct raised *now = w;\n"
	"if (!now->is || thread < now->thread) { now->thread = thread; now->ins = ins; now->v = v; now->is = 1; }\n"
	"__threadfence();\natomicExch(&w->lock, 0);\n}\n"
	"#define loop_bound(frame, ins, v, out) raise(frame, me, ins, v)\n";

struct libm {
	const char *name, *parameters;
};
static const struct libm libm[] = {
#define RUNTIME(...)
#define LIBM(result, name, parameters) {#name, #parameters},
#include "compiled/loops/runtime.def"
};

/* CUDA's pow is off by up to 2 ULP, also where the result is the base; the C library's is not. */
static const char *const power = "static double of_pow(double a, double b) { return b == 1 ? a : b == 2 ? a * a : pow(a, b); }\n"
								 "#define pow of_pow\n";

/* Those on doubles that have others on floats. The words of integer rows name floor, ceil and trunc, which are exact for both. */
static bool has_own_name(const char *name)
{
	return !str_eq(name, "pow") && !str_eq(name, "floor") && !str_eq(name, "ceil") && !str_eq(name, "trunc") && !str_eq(name, "fabs");
}

void loops_emit_cuda_head(struct strbuf *sb)
{
	sb_puts(sb, words);
	sb_puts(sb, emit_types);
	for (int k = 0; k < ARRAY_LEN(libm); k++)
		if (has_own_name(libm[k].name))
			sb_printf(sb, "static double of_%s%s { return %s%s; }\n#define %s of_%s\n", libm[k].name, libm[k].parameters, libm[k].name,
				strchr(libm[k].parameters, ',') ? "(a, b)" : "(a)", libm[k].name, libm[k].name);
	sb_puts(sb, power);
	emit_functions(sb);
	sb_puts(sb, raising);
}

static void put_buffers(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, const char *type)
{
	for (int b = 0; b < l->nbuffer; b++)
		if (loops_touch(l, k->begin, k->end, b))
			sb_printf(sb, ", %sb%d", type, b);
}

/* Its thread's number as the variables of the parallel loops, the innermost fastest: neighbours touch neighbouring cells. */
static void put_head(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	sb_printf(sb, "%s rest = (%s)me;\n", k->nthread <= INT32_MAX ? "u32" : "u64", k->nthread <= INT32_MAX ? "u32" : "u64");
	for (int i = k->nloop - 1; i > 0; i--) {
		const struct loop_ins *loop = &l->ins[k->loop[i]];
		sb_printf(sb, "r%d = rest %% %" PRId64 "u;\nrest /= %" PRId64 "u;\n", loop->dst, loop->imm, loop->imm);
	}
	if (k->nloop)
		sb_printf(sb, "r%d = rest;\n", l->ins[k->loop[0]].dst);
}

static bool is_head(const struct loop_kernel *k, int ins)
{
	for (int i = 0; i < k->nloop; i++)
		if (k->loop[i] == ins)
			return true;
	return false;
}

static void put_body(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	for (int i = k->begin; i < k->end; i++)
		if (l->ins[i].dst != NO_REG && l->ins[i].op != LOOP_SET)
			emit_register(sb, l, l->ins[i].dst);
	put_head(sb, l, k);
	for (int i = k->begin; i < k->end; i++) {
		const bool closes = l->ins[i].op == LOOP_END && is_head(k, l->ins[i].match);
		if (!closes && !is_head(k, i))
			emit_statement(sb, l, i);
	}
}

static void put_kernel(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, const char *name, int number)
{
	sb_printf(sb, "static bool body%d(struct raised *frame, i64 me", number);
	put_buffers(sb, l, k, "unsigned char *__restrict__ const ");
	sb_puts(sb, ")\n{\n");
	put_body(sb, l, k);
	sb_printf(sb, "return 1;\n}\nextern \"C\" __global__ void %s_k%d(struct raised *frame, i64 n", name, number);
	put_buffers(sb, l, k, "unsigned char *__restrict__ ");
	sb_printf(sb, ")\n{\nconst i64 me = (i64)blockIdx.x * blockDim.x + threadIdx.x;\nif (me < n && !frame->is) body%d(frame, me", number);
	put_buffers(sb, l, k, "");
	sb_puts(sb, ");\n}\n");
}

void loops_emit_cuda(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, int n, const char *name)
{
	sb_printf(sb, "namespace %s {\n", name);
	emit_rows(sb, l);
	for (int i = 0; i < n; i++)
		if (l->ins[k[i].begin].op != LOOP_EXTERN)
			put_kernel(sb, l, &k[i], name, i);
	sb_puts(sb, "}\n");
}
