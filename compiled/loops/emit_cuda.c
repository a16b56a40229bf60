/* emit_cuda.c: see emit_cuda.h. All functions are the device's by default (an option of the compiler), so the rows' text is the
 * processor's. C++ has functions of float where C has those of double alone: the library's are called by names of their own. */
#include "compiled/loops/emit_cuda.h"

#include <inttypes.h>

#include "compiled/loops/emit_parts.h"
#include "compiled/loops/symbols.h"

extern const unsigned char bf16_of_float_h[];

static const char *const words = "#define CONSTS(x) consts_##x\n#define CONSTS_GIVEN(x) const consts_##x own\n"
								 "#define CONSTS_OPEN(x) const consts_##x *k = &own;\n";

/* The first thread in the order of the loops, whichever comes first to the lock. */
static const char *const raising =
	"struct raised { int lock, is; i64 thread, ins, v; };\n"
	"static __noinline__ void raise(struct raised *w, i64 thread, i64 ins, i64 v)\n{\n"
	"while (atomicCAS(&w->lock, 0, 1)) __nanosleep(100);\n__threadfence();\n"
	"volatile struct raised *now = w;\n"
	"if (!now->is || thread < now->thread) { now->thread = thread; now->ins = ins; now->v = v; now->is = 1; }\n"
	"__threadfence();\natomicExch(&w->lock, 0);\n}\n"
	"#define loop_bound(frame, ins, v, out) raise(frame, me, ins, v)\n"
	"#define loop_stated(frame, ins, v) raise(frame, me, ins, v)\n";

/* What teams share: a fold F, of which F::of(x, F::neutral(x)) is x, for -0, too. */
static const char *const sums =
	"struct sum {\nstatic double of(double a, double b) { return a + b; }\nstatic i64 of(i64 a, i64 b) { return wrap_add(a, b); }\n"
	"static double neutral(double) { return -0.0; }\nstatic i64 neutral(i64) { return 0; }\n};\n"
	"struct greatest {\ntemplate <class T> static T of(T a, T b) { return isnan(a) || a > b ? a : b; }\n"
	"static double neutral(double) { return bits_f64(0xfff0000000000000ul); }\nstatic i64 neutral(i64) { return INT64_MIN; }\n};\n"
	"struct least {\ntemplate <class T> static T of(T a, T b) { return isnan(a) || a < b ? a : b; }\n"
	"static double neutral(double) { return bits_f64(0x7ff0000000000000ul); }\nstatic i64 neutral(i64) { return ~INT64_MIN; }\n};\n"
	"template <class F, class T> static T fold_warp(T v)\n{\n"
	"for (int d = 16; d; d /= 2) v = F::of(v, __shfl_xor_sync(0xffffffffu, v, d));\nreturn v;\n}\n"
	"template <class F, class T> static T fold_block(T v)\n{\n__shared__ T part[8];\nv = fold_warp<F>(v);\n__syncthreads();\n"
	"if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;\n__syncthreads();\n"
	"v = part[0];\nfor (int k = 1; k < 8; k++) v = F::of(v, part[k]);\nreturn v;\n}\n"
	/* Of W points beside each other: the threads [n, 2n) are added to [0, n). What a step reads no thread writes in it; the first barrier
	 * is for those that still read what the sum before left. */
	"template <class F, int W, class T> static T fold_rows(T v)\n{\n__shared__ T part[256];\nconst u32 me = threadIdx.x;\n"
	"__syncthreads();\npart[me] = v;\nfor (u32 n = 128; n >= W; n /= 2) {\n__syncthreads();\n"
	"if (me < n) part[me] = F::of(part[me], part[me + n]);\n}\n"
	"__syncthreads();\nreturn part[me % W];\n}\n"
	"template <class F, int W, class T> static T fold_points(T v) { return W == 1 ? fold_block<F>(v) : fold_rows<F, W>(v); }\n"
	/* The last block of a group to come adds up what all have left, and goes on alone. Counters have a place that no kernel's sums
	 * ever lie in. One thread fences for its block, between barriers: what the others of the block wrote before the first one, or
	 * read behind the second, is as if that thread had. */
	"template <class F, int W, class T> static bool fold_blocks(T *v, raised *frame, i64 group, u32 block, u32 blocks)\n{\n"
	"__shared__ bool last;\nunsigned char *scratch = (unsigned char *)frame + 256;\nu32 *count = (u32 *)scratch + group;\n"
	"volatile T *part = (T *)(scratch + 4096) + group * blocks * W;\nT mine = F::neutral(*v);\n*v = fold_points<F, W>(*v);\n"
	"if (threadIdx.x < W) part[block * W + threadIdx.x] = *v;\n__syncthreads();\n"
	"if (threadIdx.x == 0) {\n__threadfence();\nlast = atomicAdd(count, 1u) == blocks - 1;\n__threadfence();\n}\n"
	"__syncthreads();\nif (!last) return false;\n"
	"for (u32 k = threadIdx.x; k < blocks * W; k += 256) mine = F::of(mine, (T)part[k]);\n*v = fold_points<F, W>(mine);\n"
	"if (threadIdx.x == 0) *count = 0;\nreturn true;\n}\n";
static const char *const fold_name[] = {[FOLD_NONE] = "sum", [FOLD_SUM] = "sum", [FOLD_GREATEST] = "greatest", [FOLD_LEAST] = "least"};
enum { COUNTERS = 4 * MOST_SHARED_POINTS };
_Static_assert(CUDA_HEAD == 256 && COUNTERS == 4096 && TEAM_BLOCK == 256 && TEAM_WARP == 32, "what the text above says");

struct libm {
	const char *name, *parameters;
};
static const struct libm libm[] = {
#define RUNTIME(...)
#define LIBM(result, name, parameters) {#name, #parameters},
#include "compiled/loops/runtime.def"
};

/* What is long is called, not inlined: NVRTC takes longer the more code it has, and most of it was these, once for each use. */
#define CALLED "static __noinline__ "

/* CUDA's pow is off by up to 2 ULP, also where the result is the base; the C library's is not. */
static const char *const power = CALLED "double of_pow(double a, double b) { return b == 1 ? a : b == 2 ? a * a : pow(a, b); }\n"
										"#define pow of_pow\n";

/* Those on doubles that have others on floats. The words of integer rows name floor, ceil, trunc and rint, which are exact for both. */
static bool has_own_name(const char *name)
{
	return !str_eq(name, "pow") && !str_eq(name, "floor") && !str_eq(name, "ceil") && !str_eq(name, "trunc") && !str_eq(name, "rint")
		&& !str_eq(name, "fabs");
}

/* What is short for bf16 is inlined: widening, and the rounding of floats. */
static const char *const short_functions = "#define bf16_to_f32(h) bits_f32((u32)(h) << 16)\n"
										   "static u16 f64_to_bf16(float f) { return bf16_of_float(f); }\n";

/* "(double a, double b)" -> "(a, b)" */
static const char *arguments(const char *parameters)
{
	return strstr(parameters, " c)") ? "(a, b, c)" : strstr(parameters, " b)") ? "(a, b)" : "(a)";
}

static void put_head_of_text(struct strbuf *sb)
{
	sb_puts(sb, words);
	sb_puts(sb, emit_types);
	for (int k = 0; k < ARRAY_LEN(libm); k++)
		if (has_own_name(libm[k].name))
			sb_printf(sb, CALLED "double of_%s%s { return %s%s; }\n#define %s of_%s\n", libm[k].name, libm[k].parameters, libm[k].name,
				arguments(libm[k].parameters), libm[k].name, libm[k].name);
	sb_puts(sb, power);
	emit_functions(sb, CALLED);
	sb_puts(sb, (const char *)bf16_of_float_h);
	sb_puts(sb, short_functions);
	sb_puts(sb, raising);
	sb_puts(sb, sums);
}

static void put_buffers(struct strbuf *sb, const struct loop_kernel *k)
{
	for (int i = 0; i < k->nbuffer; i++)
		sb_printf(sb, ", b%d", k->buffer[i]);
}

static bool does(const struct loops *l, const struct loop_kernel *k, enum loop_op op, int buffer)
{
	for (int i = k->begin; i < k->end; i++)
		if (l->ins[i].op == op && l->ins[i].buffer == buffer)
			return true;
	return false;
}

static bool loads_what_it_stores(const struct loops *l, const struct loop_kernel *k)
{
	for (int i = 0; i < k->nbuffer; i++)
		if (does(l, k, LOOP_LOAD, k->buffer[i]) && does(l, k, LOOP_STORE, k->buffer[i]))
			return true;
	return false;
}

/* Buffers do not overlap, and NVRTC is told so. But of `if (c) r = a[0]; else r = b[0];`, where a is only read and b was just written,
 * NVRTC 13.0 and 13.2 make one ld.global.nc of either address, and that instruction must not read what its kernel writes
 * (docs/found.md). In such a kernel it is not told of what is only read. */
static void declare_buffers(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, const char *is_const)
{
	const bool at_risk = loads_what_it_stores(l, k);
	for (int i = 0; i < k->nbuffer; i++) {
		const bool told = !at_risk || does(l, k, LOOP_STORE, k->buffer[i]);
		sb_printf(sb, ", unsigned char *%s%sb%d", told ? "__restrict__ " : "", is_const, k->buffer[i]);
	}
}

static void put_symbols(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, const char *type)
{
	for (int s = 0; s < l->nsymbol; s++)
		if (loops_symbols_of(l, k->begin, k->end) & 1u << s)
			sb_printf(sb, ", %ss%d", type, s);
}

/* ---- threads ---- */

/* Of a loop over tiles a number is that of a tile. */
static const char *tile_factor(const struct loop_ins *loop, char factor[32])
{
	factor[0] = 0;
	if (loop->imm2)
		snprintf(factor, 32, " * %" PRId64, loop->imm2);
	return factor;
}

/* Numbers of iterations and of cells that a kernel computes with an int, in which a GPU does it in one step, not in several. */
enum { MOST_INT = 1 << 30 };
static bool is_int(const struct loops *l, int64_t n) { return n <= MOST_INT && !l->nsymbol; }

/* Is the index, and what of it is added up first, within an int? What no loop counts is an i64, and so is what it is added to. */
static bool is_int_index(const struct loops *l, const struct affine *at)
{
	int64_t most = at->base < 0 ? -at->base : at->base;
	for (int k = 0; k < at->n && is_int(l, most); k++) {
		const int64_t extent = MAX(l->extent[at->term[k].reg], 1), times = at->term[k].times < 0 ? -at->term[k].times : at->term[k].times;
		most = times > MOST_INT || extent > MOST_INT ? INT64_MAX : most + times * (extent - 1);
	}
	return is_int(l, most);
}

/* May the variables of a kernel's loops be of type int? */
static bool has_int_loops(const struct loops *l, const struct loop_kernel *k)
{
	bool fits = true;
	for (int i = k->begin; i < k->end; i++)
		fits &= (l->ins[i].op != LOOP_FOR || is_int(l, l->ins[i].imm)) && (!l->ins[i].at || is_int_index(l, l->ins[i].at));
	return fits;
}

/* A number as the variables of loops, the innermost fastest: neighbouring threads touch neighbouring cells. */
static void put_variables(struct strbuf *sb, const struct loops *l, const int *loop, int n, const char *number, int64_t below)
{
	const char *type = below <= INT32_MAX && !l->nsymbol ? "u32" : "u64";
	char factor[32];
	sb_printf(sb, "%s rest = (%s)%s;\n", type, type, number);
	for (int i = n - 1; i > 0; i--) {
		const struct loop_ins *ins = &l->ins[loop[i]];
		const int64_t n_of = loop_iterations(ins);
		sb_printf(sb, "r%d = rest %% (%s)", ins->dst, type);
		emit_number(sb, l, ins->number_of, n_of);
		sb_printf(sb, "%s;\nrest /= (%s)", tile_factor(ins, factor), type);
		emit_number(sb, l, ins->number_of, n_of);
		sb_puts(sb, ";\n");
	}
	if (n)
		sb_printf(sb, "r%d = rest%s;\n", l->ins[loop[0]].dst, tile_factor(&l->ins[loop[0]], factor));
}

/* Combinations, an expression. */
static void put_npoint(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	sb_puts(sb, "(i64)1");
	for (int i = 0; i < k->nloop; i++) {
		const struct loop_ins *ins = &l->ins[k->loop[i]];
		sb_puts(sb, " * ");
		emit_number(sb, l, ins->number_of, loop_iterations(ins));
	}
}

/* Of teams beside each other: a thread without a point computes the last one again, so that it meets the others, and stores nothing. */
static void put_beside(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	const int blocks = loops_team_blocks(k);
	sb_printf(sb, "const i64 group = me / %d, own = group * %d + threadIdx.x %% %d, points = ", blocks * TEAM_BLOCK, k->beside, k->beside);
	put_npoint(sb, l, k);
	sb_printf(sb, ";\nconst u32 block = (u32)(me / %d - group * %d), lane = block * %d + threadIdx.x / %d;\n", TEAM_BLOCK, blocks,
		TEAM_BLOCK / k->beside, k->beside);
	sb_printf(sb, "const bool first = threadIdx.x < %d && own < points;\nconst i64 point = own < points ? own : points - 1;\n", k->beside);
}

/* Which thread of which team; `first` alone stores. */
static void put_head(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	if (k->beside > 1)
		put_beside(sb, l, k);
	else if (k->team == 1)
		sb_puts(sb, "const i64 point = me;\n");
	else
		sb_printf(sb,
			"const i64 point = me / %d, group = point;\nconst u32 lane = (u32)(me - point * %d), block = lane / %d;\n"
			"const bool first = %s == 0;\n",
			k->team, k->team, TEAM_BLOCK, k->team < TEAM_BLOCK ? "lane" : "threadIdx.x");
	put_variables(sb, l, k->loop, k->nloop, "point", k->npoint);
}

/* ---- sums ---- */

int64_t emit_cuda_scratch(const struct loop_kernel *k)
{
	const int blocks = loops_team_blocks(k);
	return blocks > 1 ? COUNTERS + loops_team_groups(k, k->npoint) * k->beside * blocks * 8 : 0;
}

/* A team's share of a summed loop, and of those that stand in it alone: every team-th iteration. Returns the innermost of them. */
static int put_shared_loop(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, int at)
{
	int reg[MOST_SUMS], loop[MAX_LOOP_DEPTH];
	int64_t iterations;
	const int nsum = loops_sums(reg, MOST_SUMS, l, at), n = loops_sum_chain(loop, &iterations, l, at);
	for (int i = 0; i < nsum; i++)
		sb_printf(sb, "if (lane) r%d = %s::neutral(r%d);\n", reg[i], fold_name[loops_fold(l, at, reg[i])], reg[i]);
	sb_printf(sb, "for (%s step = lane; step < ", is_int(l, iterations) ? "int" : "i64");
	for (int i = 0; i < n; i++) {
		sb_puts(sb, i ? " * (i64)" : "(i64)");
		emit_number(sb, l, l->ins[loop[i]].number_of, l->ins[loop[i]].imm);
	}
	sb_printf(sb, "; step += %d) {\n", k->team);
	put_variables(sb, l, loop, n, "step", iterations);
	return loop[n - 1];
}

static void put_sums(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, int at)
{
	int reg[MOST_SUMS];
	const int nsum = loops_sums(reg, MOST_SUMS, l, at), blocks = loops_team_blocks(k);
	sb_puts(sb, "}\n");
	for (int i = 0; i < nsum; i++) {
		const char *fold = fold_name[loops_fold(l, at, reg[i])];
		if (blocks > 1)
			sb_printf(sb, "if (!fold_blocks<%s, %d>(&r%d, frame, group, block, %d)) return 1;\n", fold, k->beside, reg[i], blocks);
		else if (blocks == 1)
			sb_printf(sb, "r%d = fold_points<%s, %d>(r%d);\n", reg[i], fold, k->beside, reg[i]);
		else
			sb_printf(sb, "r%d = fold_warp<%s>(r%d);\n", reg[i], fold, reg[i]);
	}
}

/* ---- tiles ---- */

/* The threads of a block share a tile: 32 beside each other take neighbours of the inner loop, and 8 rows of them are computed at once. */
enum { ROW = 32 };

static void put_local_buffers(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	for (int b = 0; b < l->nbuffer; b++)
		if (l->buffer[b].local && loops_touch(l, k->begin, k->end, b))
			sb_printf(sb, "__shared__ %s b%d[%" PRId64 "];\n", emit_cell_type(l->buffer[b].dtype, true), b, l->buffer[b].ncells);
}

static bool is_within(const struct loops *l, int at) { return l->ins[at].op == LOOP_FOR && l->ins[at].a != NO_REG; }

static bool is_inner(const struct loops *l, int at) { return is_within(l, at - 1); }

/* Iterations of the loop that threads take at once. */
static int at_once(const struct loops *l, int at) { return is_inner(l, at) ? ROW : TEAM_BLOCK / ROW; }

/* Do the threads together count exactly the iterations of each tile? */
static bool is_even(const struct loops *l, int at)
{
	const struct loop_ins *loop = &l->ins[at];
	return loop->imm % loop->imm2 == 0 && loop->imm2 % at_once(l, at) == 0;
}

/* Of the two loops within a tile that stand in one another. How often a thread goes around is a number, so that its loads, in all rounds,
 * can be under way at the same time. */
static void put_within(struct strbuf *sb, const struct loops *l, int at)
{
	const struct loop_ins *loop = &l->ins[at];
	sb_printf(sb,
		"#pragma unroll\nfor (int round%d = 0; round%d < %" PRId64 "; round%d += %d) {\nr%d = r%d + round%d + threadIdx.x %s %d;\n",
		loop->dst, loop->dst, loop->imm2, loop->dst, at_once(l, at), loop->dst, loop->a, loop->dst, is_inner(l, at) ? "%" : "/", ROW);
	if (is_even(l, at))
		return;
	sb_printf(sb, "if (r%d < ", loop->dst);
	emit_past_tile(sb, loop);
	sb_puts(sb, ") {\n");
}

/* What the next loops read, or the next tile's fill, is complete. */
static void put_end_within(struct strbuf *sb, const struct loops *l, int at)
{
	sb_puts(sb, is_even(l, l->ins[at].match) ? "}\n" : "}\n}\n");
	if (!is_inner(l, l->ins[at].match))
		sb_puts(sb, "__syncthreads();\n");
}

/* ---- kernels ---- */

static bool is_head(const struct loop_kernel *k, int ins)
{
	for (int i = 0; i < k->nloop; i++)
		if (k->loop[i] == ins)
			return true;
	return false;
}

/* Heads of kernels and of shared loops have no statement of their own, so their ENDs have none. */
/* Iterations: shorter loops stay loops; unrolled whole they are most of what NVRTC would compile. Twice, not once: with `unroll 1` NVRTC
 * 13.0 and 13.2 die of a segmentation fault on argmin(constant_pad_nd(x)) (docs/found.md). */
enum { UNROLLED = 64 };
static void put_statements(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	int outer = -1, inner = -1; /* of the shared loops that are open */
	for (int i = k->begin; i < k->end; i++) {
		const struct loop_ins *ins = &l->ins[i];
		if (is_head(k, i) || (ins->op == LOOP_END && is_head(k, ins->match)))
			continue;
		if (ins->op == LOOP_FOR && ins->summed && k->team > 1) {
			outer = i;
			i = inner = put_shared_loop(sb, l, k, i);
		} else if (ins->op == LOOP_END && ins->match == outer) {
			put_sums(sb, l, k, outer);
			outer = inner = -1;
		} else if (is_within(l, i)) {
			put_within(sb, l, i);
		} else if (ins->op == LOOP_END && is_within(l, ins->match)) {
			put_end_within(sb, l, i);
		} else if (ins->op != LOOP_END || ins->match > inner || ins->match < outer) {
			if (k->team > 1 && !k->tiled && ins->op == LOOP_STORE)
				sb_puts(sb, "if (first) ");
			if (ins->op == LOOP_FOR && ins->imm < UNROLLED)
				sb_puts(sb, "#pragma unroll 2\n");
			emit_statement(sb, l, i);
		}
	}
}

static void put_body(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k)
{
	const bool int_loops = has_int_loops(l, k);
	for (int i = k->begin; i < k->end; i++)
		if (l->ins[i].op == LOOP_FOR && int_loops)
			sb_printf(sb, "int r%d;\n", l->ins[i].dst);
		else if (l->ins[i].dst != NO_REG && l->ins[i].op != LOOP_SET)
			emit_register(sb, l, l->ins[i].dst);
	put_local_buffers(sb, l, k);
	put_head(sb, l, k);
	put_statements(sb, l, k);
}

static bool raises(const struct loops *l)
{
	bool any = false;
	for (int i = 0; i < l->nins; i++)
		any |= loop_may_raise(l->ins[i].op);
	return any;
}

static void put_call(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, int number)
{
	sb_printf(sb, "body%d(frame, me", number);
	put_symbols(sb, l, k, "");
	put_buffers(sb, k);
	sb_puts(sb, ");\n");
}

/* A thread's points. In a block that has them all nothing is asked between them. */
static void put_calls(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, int number)
{
	if (k->each == 1) {
		sb_printf(sb, "const i64 me = (i64)blockIdx.x * %d + threadIdx.x;\nif (me < n) ", TEAM_BLOCK);
		put_call(sb, l, k, number);
		return;
	}
	const int step = TEAM_BLOCK * k->each;
	sb_printf(sb, "i64 me = (i64)blockIdx.x * %d + threadIdx.x;\nif (((i64)blockIdx.x + 1) * %d <= n) {\n", step, step);
	sb_printf(sb, "#pragma unroll\nfor (int k = 0; k < %d; k++, me += %d) ", k->each, TEAM_BLOCK);
	put_call(sb, l, k, number);
	sb_printf(sb, "} else {\nfor (; me < n; me += %d) ", TEAM_BLOCK);
	put_call(sb, l, k, number);
	sb_puts(sb, "}\n");
}

static void put_kernel(struct strbuf *sb, const struct loops *l, const struct loop_kernel *k, const char *name, int number)
{
	sb_printf(sb, "static __forceinline__ bool body%d(struct raised *frame, i64 me", number);
	put_symbols(sb, l, k, "const i64 ");
	declare_buffers(sb, l, k, "const ");
	sb_puts(sb, ")\n{\n");
	put_body(sb, l, k);
	sb_printf(sb, "return 1;\n}\nextern \"C\" __global__ void %s_k%d(struct raised *frame, i64 n", name, number);
	put_symbols(sb, l, k, "i64 ");
	declare_buffers(sb, l, k, "");
	sb_puts(sb, raises(l) ? ")\n{\nif (frame->is) return;\n" : ")\n{\n");
	put_calls(sb, l, k, number);
	sb_puts(sb, "}\n");
}

void loops_emit_cuda_body(struct strbuf *sb, const struct cuda_text *p)
{
	sb_printf(sb, "namespace %s {\n", p->name);
	for (int i = 0; i < p->nkernel; i++)
		if (p->l->ins[p->kernel[i].begin].op != LOOP_EXTERN)
			put_kernel(sb, p->l, &p->kernel[i], p->name, i);
	sb_puts(sb, "}\n");
}

void loops_emit_cuda(struct strbuf *sb, const struct cuda_text *p, int n)
{
	struct arena a;
	arena_init(&a);
	const struct loops **l = ARENA_NEW(&a, const struct loops *, MAX(n, 1));
	for (int i = 0; i < n; i++)
		l[i] = p[i].l;
	put_head_of_text(sb);
	emit_rows(sb, l, n);
	for (int i = 0; i < n; i++)
		loops_emit_cuda_body(sb, &p[i]);
	arena_free(&a);
}
