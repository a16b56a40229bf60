/* bench_compiler.c: what the stages of the built-in compiler cost, and how fast the code is that comes out: programs per second that one
 * core generates, compiles with all invariants checked, runs, refers and compares; bytes per second of large programs. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "compiled/run/execute.h"
#include "compiled/run/ahead.h"
#include "compiled/gpu/device.h"
#include "compiled/loops/lower.h"
#include "compiled/targets/builtin/builtin.h"
#include "eager/base/clock.h"
#include "eager/lang/fill.h"
#include "fuzz/triage/verdict.h"
#include "fuzz/cli/bench.h"
#include "fuzz/triage/profile.h"
#include "oracle/judge/judge.h"

enum { SMALL_ROWS = 8, SMALL_ELEMENTS = 1024 };

/* Few rows and elements, and one call of the data that it has. */
static bool made_small(struct prog *p)
{
	int64_t elements = 0;
	p->ncall = 0;
	for (int i = 0; i < p->nnode; i++)
		if (!node_is_sym(&p->node[i]) && p->node[i].nout > 0)
			elements += meta_numel(node_meta(p, i));
	return prog_operators(p) <= SMALL_ROWS && elements <= SMALL_ELEMENTS;
}

struct stage_work {
	int64_t programs, calls, other, diverged;
	double s[3]; /* generate; compile and run; refer and compare */
};

/* What a row measures. */
struct stage_case {
	const char *target;
	bool small;
	int batch;    /* programs that are compiled in one go */
	bool not_run; /* compiled alone, for a GPU that need not be there */
	struct code_ahead *ahead;
	struct compile_options o;
	struct licence_profile l;
	unsigned freedoms; /* of the target */
};

/* The processor's time, compilers that are processes included. */
static double spent_s(void)
{
	struct rusage u;
	CHECK(getrusage(RUSAGE_CHILDREN, &u) == 0);
	const struct timeval *a = &u.ru_utime, *b = &u.ru_stime;
	return clock_cpu_s() + (double)(a->tv_sec + b->tv_sec) + 1e-6 * (double)(a->tv_usec + b->tv_usec);
}

/* Referred alone. */
static void measure_reference(struct stage_work *w, const struct stage_case *c, const struct prog *p, struct arena *a)
{
	struct judge_case jc;
	const double from = spent_s();
	const bool judged = judge_prepare(&jc, p, &c->l, TAPE_LIMITS_DEFAULT, a);
	w->programs += judged;
	w->other += !judged;
	w->calls += judged ? p->ncall + 1 : 0;
	w->s[2] += judged ? spent_s() - from : 0;
}

static void measure(struct stage_work *w, const struct stage_case *c, const struct prog *p, struct arena *a)
{
	struct result r;
	struct judge_case jc;
	struct judgement j;
	const double from = spent_s();
	compile_run(&r, p, &c->o, a);
	const double ran = spent_s();
	const bool judged = judge_prepare(&jc, p, &c->l, TAPE_LIMITS_DEFAULT, a);
	judge(&j, &jc, &r, c->freedoms, a);
	const double compared = spent_s();
	if (!judged || r.status != RES_OK) {
		w->other++;
		w->diverged += r.status == RES_INVARIANT;
		return;
	}
	w->programs++;
	w->calls += r.ncalls;
	w->diverged += j.status != JUDGE_PASS;
	w->s[1] += ran - from;
	w->s[2] += compared - ran;
}

/* The programs of numbers from first on, as many as are compiled in one go. */
static bool measure_batch(
	struct stage_work *w, const struct stage_case *c, struct program_source *src, int64_t first, struct arena *a, struct err *err)
{
	struct prog *p = ARENA_NEW(a, struct prog, c->batch);
	const char **text = ARENA_NEW(a, const char *, c->batch);
	int n = 0;
	for (int i = 0; i < c->batch; i++) {
		const double begin = spent_s();
		if (!source_program(&p[n], a, src, first + i, err))
			return false;
		const double made = spent_s();
		if (c->small && !made_small(&p[n]))
			continue;
		w->s[0] += made - begin;
		n++;
	}
	for (int i = 0; i < n; i++)
		text[i] = prog_text(&p[i], a);
	const double begin = spent_s();
	if (c->not_run && n > 0 && !compile_batch("/dev/null", text, n, &c->o, err))
		return false;
	if (!c->not_run && c->batch > 1 && n > 0)
		compile_ahead(c->ahead, text, n, &c->o, 180000);
	w->s[1] += spent_s() - begin;
	for (int i = 0; i < n; i++)
		(c->not_run ? measure_reference : measure)(w, c, &p[i], a);
	return true;
}

static void stage_figures(const struct bench_table *t, const char *name, const struct stage_work *w)
{
	const double s = w->s[0] + w->s[1] + w->s[2], programs = (double)MAX(w->programs, 1);
	table_row(t, name,
		(double[]){programs / s, (double)w->calls / s, 1e6 * w->s[0] / programs, 1e6 * w->s[1] / programs, 1e6 * w->s[2] / programs,
			programs, (double)w->other, (double)w->diverged});
}

static bool stage_row(const struct bench_table *t, struct stage_work *w, struct stage_case *c, struct err *err)
{
	const struct options *o = t->o;
	struct program_source src = bench_source(o, NULL);
	struct target named;
	struct target_facts facts;
	struct arena a;
	*w = (struct stage_work){0};
	CHECK(target_parse(&named, c->target, err) && builtin_compile_options(&c->o, &named) && profile_named(&c->l, c->target));
	target_facts(&facts, &named);
	c->freedoms = facts.freedoms;
	c->o.code.ahead = c->ahead = code_ahead_new();
	c->o.code.gpu.arch = c->not_run ? 90 : 0;
	arena_init(&a);
	const int64_t n = o->programs ? o->programs : 20000;
	const double limit = o->time_s > 0 ? o->time_s : 10, begin = spent_s();
	bool ok = true;
	for (int64_t i = 0; ok && i < n && spent_s() - begin < limit; i += c->batch) {
		arena_reset(&a);
		ok = measure_batch(w, c, &src, i, &a, err);
	}
	code_ahead_free(c->ahead);
	const char *many = c->batch > 1 ? arena_printf(&a, ", %d at once", c->batch) : "";
	if (ok)
		stage_figures(t, arena_printf(&a, "%s%s%s", c->target, many, c->not_run ? ", not run" : ""), w);
	arena_free(&a);
	return ok;
}

enum { MIX = 8 }; /* of so many programs one is compiled at -O2, the others at -O1 */

/* As w, whose programs are compiled at that cost each. */
static void mixed_row(const struct bench_table *t, const char *name, const struct stage_work *w, double each)
{
	struct stage_work mixed = *w; /* generated, referred and compared once */
	mixed.s[1] = each * (double)w->programs;
	stage_figures(t, name, &mixed);
}

static double cost_of(const struct stage_work *w) { return w->s[1] / (double)MAX(w->programs, 1); }

/* Programs that a compiler of the machine compiles, one by one and many at once; then what gcc and clang together cost, and clang alone
 * with few programs at -O2. */
static bool native_rows(const struct bench_table *t, bool small, struct err *err)
{
	enum { GCC, CLANG, CLANG_O1 };
	static const char *const targets[] = {"builtin:o2", "builtin:o2+cc=clang", "builtin:o2+cc=clang+opt=1"};
	struct stage_work w[ARRAY_LEN(targets)];
	for (int i = 0; i < ARRAY_LEN(targets); i++)
		for (int batch = i == CLANG_O1 ? AHEAD_PROGRAMS : 1; batch <= AHEAD_PROGRAMS; batch *= AHEAD_PROGRAMS)
			if (!stage_row(t, &w[i], &(struct stage_case){.target = targets[i], .small = small, .batch = batch}, err))
				return false;
	if (w[GCC].programs == 0 || w[CLANG].programs == 0) {
		bench_note(t->o, "gcc or clang is not here");
		return true;
	}
	mixed_row(t, "both, 32 at once", &w[GCC], cost_of(&w[GCC]) + cost_of(&w[CLANG]));
	mixed_row(t, "clang -O1, each 8th -O2", &w[CLANG_O1], ((MIX - 1) * cost_of(&w[CLANG_O1]) + cost_of(&w[CLANG])) / MIX);
	return true;
}

/* What NVRTC costs, which compiles without a GPU; where there is one, what runs on it. */
static bool cuda_rows(const struct bench_table *t, bool small, struct err *err)
{
	static const char *const targets[] = {"builtin:cuda", "builtin:cuda+fast=1"};
	struct err why = {0};
	struct stage_work w;
	if (!nvrtc_open(builtin_wheels(), &why)) {
		bench_note(t->o, "builtin:cuda: skipped: %s", why.msg);
		return true;
	}
	const bool runs = device_open(&why);
	for (int i = 0; i < ARRAY_LEN(targets); i++)
		for (int run = 0; run <= runs; run++)
			for (int batch = 1; batch <= AHEAD_PROGRAMS; batch *= AHEAD_PROGRAMS)
				if (!stage_row(t, &w, &(struct stage_case){.target = targets[i], .small = small, .batch = batch, .not_run = !run}, err))
					return false;
	if (!runs)
		bench_note(t->o, "builtin:cuda: not run: %s", why.msg);
	return true;
}

bool bench_compiler(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"programs/s", 11, 0}, {"calls/s", 9, 0}, {"generate us", 12, 0}, {"compile us", 11, 0},
		{"refer us", 9, 0}, {"programs", 9, 0}, {"unjudged", 9, 0}, {"diverge", 8, 0}};
	static const char *const targets[] = {"builtin:joint", "builtin:partitioned", "builtin:decomposed", "builtin:passes",
		"builtin:passes+partition=1", "builtin:passes+decompose=1", "builtin:loops", "builtin:jit", "builtin:jit+partition=1",
		"builtin:jit+decompose=1"};
	const struct bench_table t = {o, "compiler", ARRAY_LEN(columns), columns};
	struct stage_work w;
	for (int small = 1; small >= 0; small--) {
		table_begin(&t,
			small ? "generate, compile with all validators, run, refer and compare, one core: <= 8 operators, <= 1024 elements, one call "
					"(goals: jit >= 2000 programs/s, o2 by both compilers >= 15, by clang at -O1 with some at -O2 >= 40, cuda 20, fast 45)"
				  : "the same with all calls of the programs that the policy makes");
		for (int i = 0; i < ARRAY_LEN(targets); i++)
			if (!stage_row(&t, &w, &(struct stage_case){.target = targets[i], .small = small, .batch = 1}, err))
				return false;
		if (!native_rows(&t, small, err) || !cuda_rows(&t, small, err))
			return false;
	}
	return true;
}

/* ---- how fast the code is ---- */

/* Programs of 64 Mi elements, the most that a tensor has, far beyond caches: the shapes of the founding bug and what is around it. */
static const struct {
	const char *name, *text;
} large[] = {
	{"slice_scatter, sum: both ways",
		"# scatterproof 1\nx = input([256, 512, 512], requires_grad=True)\ny = input([256, 128, 512], requires_grad=True)\n"
		"s = slice_scatter(x, y, dim=1, start=64, end=192)\nz = sum.dim_IntList(s, dim=[1])\ng = input([256, 512])\n"
		"return (z,)\nbackward (z: g,)\n"},
	{"pointwise chain",
		"# scatterproof 1\nx = input([64, 1024, 1024])\ny = input([1024])\na = add.Tensor(x, y, alpha=1.5)\nb = relu(a)\nreturn (b,)\n"},
	{"transposed copy", "# scatterproof 1\nx = input([8192, 8192])\nt = t(x)\nc = neg(t)\nd = contiguous(c)\nreturn (d,)\n"},
	{"sum of rows", "# scatterproof 1\nx = input([8192, 8192])\nz = sum.dim_IntList(x, dim=[1])\nreturn (z,)\n"},
	{"sum of columns", "# scatterproof 1\nx = input([8192, 8192])\nz = sum.dim_IntList(x, dim=[0])\nreturn (z,)\n"},
	{"matrix product", "# scatterproof 1\nx = input([1024, 1024])\ny = input([1024, 1024])\nz = mm(x, y)\nreturn (z,)\n"},
};

/* Of a row that a kernel of eager runs: its operands and results. */
static double bytes_of_call(const struct loop_call *call)
{
	double bytes = 0;
	for (int i = 0; i < call->nin + call->nout; i++) {
		const struct place *at = i < call->nin ? &call->in[i] : &call->out[i - call->nin];
		const struct meta *m = &at->meta;
		bytes += (double)meta_numel(m) * dtype_nbytes(m->dtype);
	}
	return bytes;
}

/* Bytes that the nests read and write if each touches the cells of a buffer once. */
static double bytes_moved(const struct loops *l)
{
	double bytes = 0;
	for (int i = 0, end = -1; i < l->nins; i++) {
		if (i <= end)
			continue;
		if (l->ins[i].op == LOOP_EXTERN)
			bytes += bytes_of_call(l->ins[i].call);
		for (end = l->ins[i].match; end >= 0 && l->ins[end].op != LOOP_END; end = l->ins[end].match)
			;
		for (int b = 0; b < l->nbuffer; b++) {
			if (l->buffer[b].local)
				continue;
			bool loads = false, stores = false;
			for (int k = i; k < end; k++) {
				loads |= l->ins[k].op == LOOP_LOAD && l->ins[k].buffer == b;
				stores |= l->ins[k].op == LOOP_STORE && l->ins[k].buffer == b;
			}
			bytes += (loads + stores) * (double)l->buffer[b].ncells * dtype_nbytes(l->buffer[b].dtype);
		}
	}
	return bytes;
}

/* Seconds per byte read and written by memcpy, the best of three. On a GPU by its own copy. */
static double copy_cost(bool gpu)
{
	const size_t n = (size_t)64 << 20;
	if (gpu)
		return device_copy_cost(n);
	char *from = xmalloc(n), *to = xmalloc(n);
	double best = 1e9;
	memset(from, 1, n);
	memset(to, 2, n);
	for (int k = 0; k < 3; k++) {
		const double begin = clock_s();
		memcpy(to, from, n);
		best = MIN(best, clock_s() - begin);
	}
	const double cost = to[n / 2] == 1 ? best / (2 * (double)n) : 0;
	free(from);
	free(to);
	return cost;
}

static bool code_row(const struct bench_table *t, int which, const struct target *target, struct err *err)
{
	struct arena a;
	struct prog p;
	struct compile_options co;
	struct compiled k;
	struct loops l;
	struct code *code;
	struct result r;
	double best = 1e9;
	arena_init(&a);
	CHECK(builtin_compile_options(&co, target));
	const bool gpu = co.code.engine == CODE_CUDA;
	co.code.gpu.repeat = 20;
	CHECK(prog_read(&p, &a, large[which].text, strlen(large[which].text), READ_LENIENT, err));
	CHECK(compile(&k, &p, &co, &a, err) == COMPILE_OK);
	bool planted,
		ok = code_loops(&l, &planted, &k.part[0].p, &co.code, NULL, &a, err) && code_open(&code, &k.part[0].p, &co.code, NULL, err);
	const struct result_storage *inputs = ok ? fill_storages(&p, &a) : NULL;
	for (int i = 0; ok && i < 3; i++) {
		struct arena run;
		arena_init(&run);
		code_run(&r, code, NULL, inputs, &run);
		CHECK(r.status == RES_OK);
		best = MIN(best, 1e-3 * r.call[0].run_ms);
		arena_free(&run);
	}
	if (ok) {
		const double bytes = bytes_moved(&l);
		table_row(t, arena_printf(&a, "%s, %s", large[which].name, target_text(target, &a) + strlen("builtin:")),
			(double[]){bytes / (1 << 20), 1e3 * best, 1e-9 * bytes / best, best / (bytes * copy_cost(gpu))});
		code_close(code);
	}
	arena_free(&a);
	return ok;
}

/* Those that --target names, or all that make code worth measuring. */
static int code_targets(struct target out[MAX_TARGETS], const struct options *o, struct err *err)
{
	static const char *const all[] = {"builtin:o2", "builtin:o2+opt=3", "builtin:o2+blas=1", "builtin:o2+cc=clang", "builtin:cuda"};
	struct compile_options co;
	for (int i = 0; i < o->ntarget; i++) {
		out[i] = o->target[i];
		if (!builtin_compile_options(&co, &out[i]) || !co.to_code)
			return err_set(err, "--target is for stages of builtin that make code"), 0;
	}
	for (int i = 0; o->ntarget == 0 && i < ARRAY_LEN(all); i++)
		CHECK(target_parse(&out[i], all[i], err));
	return o->ntarget ? o->ntarget : ARRAY_LEN(all);
}

bool bench_code(const struct options *o, struct err *err)
{
	static const struct bench_column columns[] = {{"MiB", 8, 0}, {"ms", 9, 3}, {"GB/s", 8, 2}, {"x copy", 9, 2}};
	const struct bench_table t = {o, "code", ARRAY_LEN(columns), columns};
	struct target target[MAX_TARGETS];
	const int n = code_targets(target, o, err);
	if (n == 0)
		return false;
	table_begin(&t,
		"64 Mi elements (a product: 1 Mi), one thread (cuda: the kernels alone), wall time, the best of three; MiB: read and written; the "
		"time of a copy of as many bytes is 1");
	for (int which = 0; which < ARRAY_LEN(large); which++)
		for (int i = 0; i < n; i++) {
			struct err why = {0};
			if (!code_row(&t, which, &target[i], &why))
				bench_note(o, "%s: skipped: %s", large[which].name, why.msg);
		}
	return true;
}
