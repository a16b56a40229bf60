/* torch_test.c: the driver against a real PyTorch: the founding program on every stage, Inductor's planted bugs, what a program
 * may do (raise, mutate, alias, return nothing), and what a worker may not survive. `torch_test bench` prints milliseconds;
 * `torch_test fixed` asks 2.15.0, which gives the founding program the right gradient. */
#include "compiled/targets/driver.h"
#include "compiled/targets/torch/torch.h"
#include "tests/test.h"

#include <stdlib.h>
#include <time.h>

enum { MAX_IN = 4 };

/* One PyTorch environment and one warm worker for all tests. */
static struct arena arena;
static struct proc_spec spec;
static struct proc *worker;
static const char *python_override;

/* ---- building requests by hand ---------------------------------------------------------------------------- */

struct hand {
	struct torch_request req;
	struct torch_input in[MAX_IN];
	struct torch_call call[2];
	struct meta meta[MAX_IN];
	struct torch_bytes storage[MAX_IN];
	int64_t symbol[MAX_IN];
	int backward[1];
};

static void begin(struct hand *h, const char *target, const char *source, int nouts, bool backward)
{
	struct err err = {0};
	memset(h, 0, sizeof *h);
	bool ok = target_parse(&h->req.target, target, &err);
	EXPECT(ok, "%s", err.msg);
	h->req.source = source;
	h->req.input = h->in;
	h->req.call = h->call;
	h->req.backward = h->backward;
	h->req.nouts = nouts;
	h->req.ncalls = 1;
	h->req.nbackward = backward;
	h->call[0] = (struct torch_call){h->meta, h->symbol, h->storage};
	h->call[1] = h->call[0];
}

/* A contiguous f32 input with small integers as data, on a storage of its own. */
static float *add_input(struct hand *h, const char *name, int rank, const int64_t *size, bool requires_grad)
{
	int i = h->req.ninputs++, s = h->req.nstorages++;
	h->in[i] = (struct torch_input){.name = name, .to_f = true, .requires_grad = requires_grad, .storage = s};
	meta_make_contiguous(&h->meta[i], DT_F32, size, rank);
	int64_t n = meta_numel(&h->meta[i]);
	float *data = ARENA_NEW(&arena, float, n);
	for (int64_t k = 0; k < n; k++)
		data[k] = (float)(k % 13 - 6);
	h->storage[s] = (struct torch_bytes){data, (size_t)n * sizeof *data};
	return data;
}

static struct result run(struct hand *h)
{
	struct result r;
	torch_run(&r, &arena, worker, &h->req);
	return r;
}

static double sum(const struct result_tensor *t)
{
	double s = 0;
	for (int64_t i = 0; t->present && i < meta_numel(&t->meta); i++)
		s += dtype_load_f(t->meta.dtype, (const char *)t->data + i * dtype_nbytes(t->meta.dtype));
	return s;
}

/* SEEDS.md A, first row. The cotangent is all ones, so x.grad sums to 4 * 7 * 33 and y.grad to 4 * 6 * 33. */
static const char founding[] = "def f(x, y):\n"
							   "    slice_scatter = torch.ops.aten.slice_scatter.default(x, y, 1, 0, 6)\n"
							   "    sum_1 = torch.ops.aten.sum.dim_IntList(slice_scatter, [1])\n"
							   "    return (sum_1,)\n"
							   "def cotangents():\n"
							   "    one = torch.ops.aten.full.default([], 1.0)\n"
							   "    g = torch.ops.aten.expand.default(one, [4, 33])\n"
							   "    return (g,)\n";
#define XGRAD (4.0 * 7 * 33)
#define YGRAD (4.0 * 6 * 33)

static void founding_request(struct hand *h, const char *target)
{
	begin(h, target, founding, 1, true);
	add_input(h, "x", 3, (const int64_t[]){4, 13, 33}, true);
	add_input(h, "y", 3, (const int64_t[]){4, 6, 33}, true);
}

static struct result run_founding(const char *target)
{
	struct hand h;
	founding_request(&h, target);
	struct result r = run(&h);
	EXPECT(r.status == RES_OK, "%s: %s: %s\n%s", target, result_status_name[r.status], r.message, r.stderr_tail);
	if (r.status != RES_OK)
		return r;
	const struct result_call *c = &r.call[0];
	EXPECT_INT(c->nouts, 1);
	EXPECT_INT(c->ngrads, 2);
	EXPECT_INT(c->out[0].meta.rank, 2);
	EXPECT_INT(c->out[0].meta.size[1], 33);
	EXPECT(c->out[0].requires_grad, "the output lost its gradient");
	EXPECT(c->out[0].storage >= 2, "the output aliases input storage %d", c->out[0].storage);
	EXPECT(sum(&c->grad[1]) == YGRAD, "%s: y.grad sums to %g, want %g", target, sum(&c->grad[1]), YGRAD);
	EXPECT(memcmp(c->storage[0].data, h.storage[0].data, h.storage[0].nbytes) == 0, "%s: x was written", target);
	return r;
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

static void test_hello(void)
{
	struct err err = {0};
	struct torch_hello hello;
	EXPECT(proc_start(worker, &err), "%s", err.msg);
	while (proc_state(worker) == PROC_STARTING)
		proc_wait(&worker, 1, 100);
	EXPECT(torch_hello(&hello, worker), "no hello: %s\n%s", proc_why(worker), proc_tail(worker));
	EXPECT(str_starts(hello.torch, torch_driver.default_version), "version '%s'", hello.torch);
	printf("torch %s (%.8s), Python %s, CUDA '%s', %s\n", hello.torch, hello.git, hello.python, hello.cuda, hello.device);
}

static void test_founding_right(void)
{
	static const char *const right[] = {
		"torch:eager", "torch:fake", "torch:aot_eager", "torch:aot_fake", "torch:aot_eager_decomp_partition"};
	for (int i = 0; i < ARRAY_LEN(right); i++) {
		struct result r = run_founding(right[i]);
		if (r.status == RES_OK)
			EXPECT(sum(&r.call[0].grad[0]) == XGRAD, "%s: x.grad sums to %g, want %g", right[i], sum(&r.call[0].grad[0]), XGRAD);
		EXPECT_INT(r.ngraphs, i < 2 ? 0 : 1);
	}
}

/* The founding bug, on the version that has it: every element of x.grad is 0. */
static void test_founding_inductor(void)
{
	struct result r = run_founding("torch:inductor");
	if (r.status != RES_OK)
		return;
	EXPECT_INT(r.ngraphs, 1);
	EXPECT(r.compile_ms > 0 && r.compile_ms <= r.target_ms, "compile %g of %g ms", r.compile_ms, r.target_ms);
	EXPECT(sum(&r.call[0].grad[0]) == 0.0, "x.grad sums to %g: this PyTorch does not have the bug", sum(&r.call[0].grad[0]));
}

static void expect_founding_mismatch(const char *target)
{
	struct result r = run_founding(target);
	int first = 0;
	for (int i = 0; i < r.nmismatch; i++) {
		const struct result_meta_mismatch *m = &r.mismatch[i];
		printf("%s: rank %d %s %s: %s\n", target, m->rank, m->backward ? "backward" : "forward", m->op, m->detail);
		first += m->rank == 1 && m->backward && str_starts(m->op, "aten.slice_scatter");
	}
	EXPECT(first == 1 && r.nmismatch == 1, "%s: %d mismatches, %d of them the founding one", target, r.nmismatch, first);
}

static void test_founding_metas(void)
{
	expect_founding_mismatch("torch:fake");
	expect_founding_mismatch("torch:aot_fake");
}

/* Inductor's own planted bugs. */
static void planted(const char *op, const char *kind, enum result_status status, const char *text)
{
	struct hand h;
	char target[128], source[128];
	snprintf(target, sizeof target, "torch:inductor+cpp.inject_%s_bug_TESTING_ONLY=%s", op, kind);
	snprintf(source, sizeof source, "def f(x):\n    return (torch.ops.aten.%s.default(x),)\n", op);
	begin(&h, target, source, 1, false);
	add_input(&h, "x", 1, (const int64_t[]){8}, false);
	struct result r = run(&h);
	EXPECT(r.status == status, "%s: %s (%s), want %s", target, result_status_name[r.status], r.message, result_status_name[status]);
	EXPECT(str_starts(r.message, text), "%s: '%s' does not start with '%s'", target, r.message, text);
	if (status != RES_OK || r.status != RES_OK)
		return;
	h.req.target.noptions = 0;
	struct result clean = run(&h);
	EXPECT(clean.status == RES_OK, "%s", clean.message);
	if (clean.status == RES_OK)
		EXPECT(memcmp(r.call[0].out[0].data, clean.call[0].out[0].data, 32) != 0, "%s: the result is right", target);
}

static void test_planted(void)
{
	planted("relu", "compile_error", RES_RAISED, "InductorError: CppCompileError");
	planted("relu", "runtime_error", RES_RAISED, "RuntimeError: unhandled error");
	planted("relu", "accuracy", RES_OK, "");
	/* Of log1p 2.11.0 has only `accuracy`; the other two words trip an assertion in the code generator. */
	planted("log1p", "compile_error", RES_RAISED, "InductorError: AssertionError: unrecognized config");
	planted("log1p", "runtime_error", RES_RAISED, "InductorError: AssertionError: unrecognized config");
	planted("log1p", "accuracy", RES_OK, "");
}

static void test_aliasing(void)
{
	static const char *const targets[] = {"torch:eager", "torch:aot_eager"};
	for (int i = 0; i < 2; i++) {
		struct hand h;
		begin(&h, targets[i],
			"def f(x, n):\n"
			"    t = torch.ops.aten.t.default(x)\n"
			"    add_ = torch.ops.aten.add_.Tensor(t, n)\n"
			"    empty = torch.ops.aten.slice.Tensor(x, 0, 2, 2)\n"
			"    return (t, torch.ops.aten.mul.Tensor(x, 2), empty)\n",
			3, false);
		add_input(&h, "x", 2, (const int64_t[]){2, 3}, false);
		h.in[1] = (struct torch_input){.name = "n", .symbol = true, .to_f = true};
		h.symbol[1] = 100;
		h.req.ninputs = 2;
		struct result r = run(&h);
		EXPECT(r.status == RES_OK, "%s: %s", targets[i], r.message);
		if (r.status != RES_OK)
			continue;
		const struct result_call *c = &r.call[0];
		EXPECT_INT(c->out[0].storage, 0);
		EXPECT_INT(c->out[1].storage, 1);
		EXPECT_INT(c->out[2].nbytes, 0);
		EXPECT_INT(c->out[0].meta.stride[0], 1);
		EXPECT_INT(c->ngrads, 0);
		const float *after = c->storage[0].data, *before = h.storage[0].data, *t = c->out[0].data;
		EXPECT(after[5] == before[5] + 100, "x[1,2] is %g after the call, was %g", (double)after[5], (double)before[5]);
		EXPECT(t[1] == before[3] + 100, "t[0,1] is %g: not in logical order", (double)t[1]);
	}
}

static void test_raises(void)
{
	struct hand h;
	begin(&h, "torch:eager", "def f(x):\n    return (torch.ops.aten.expand.default(x, [2]),)\n", 1, false);
	add_input(&h, "x", 1, (const int64_t[]){3}, false);
	struct result r = run(&h);
	EXPECT(r.status == RES_RAISED && str_starts(r.message, "RuntimeError: "), "%s: %s", result_status_name[r.status], r.message);
	EXPECT_INT(r.ncalls, 0);
	target_parse(&h.req.target, "torch:aot_eager", NULL);
	r = run(&h);
	EXPECT(r.status == RES_RAISED && r.compiling, "%s: %s", result_status_name[r.status], r.message);
	h.req.source = "def f(x):\n    return (x,)\n";
	r = run(&h);
	EXPECT(r.status == RES_UNSUPPORTED, "an identity: %s: %s", result_status_name[r.status], r.message);
	EXPECT(strstr(r.message, "compiled nothing"), "%s", r.message);
	target_parse(&h.req.target, "torch:inductor+no_such_option=1", NULL);
	r = run(&h);
	EXPECT(
		r.status == RES_HARNESS && r.bad_target && strstr(r.message, "no_such_option"), "%s: %s", result_status_name[r.status], r.message);
	target_parse(&h.req.target, "torch:inductor+mode=sideways", NULL);
	r = run(&h);
	EXPECT(r.status == RES_HARNESS && r.bad_target && strstr(r.message, "sideways"), "%s: %s", result_status_name[r.status], r.message);
	target_parse(&h.req.target, "torch:inductor+max_fusion_size=big", NULL);
	r = run(&h);
	EXPECT(r.status == RES_HARNESS && r.bad_target && strstr(r.message, "big"), "%s: %s", result_status_name[r.status], r.message);
}

static void test_calls(void)
{
	struct hand h;
	founding_request(&h, "torch:aot_eager");
	struct torch_bytes other[2] = {h.storage[0], h.storage[1]};
	float *zeros = arena_zalloc(&arena, other[0].nbytes);
	other[0].data = zeros;
	h.call[1].storage = other;
	h.req.ncalls = 2;
	struct result r = run(&h);
	EXPECT(r.status == RES_OK, "%s", r.message);
	if (r.status != RES_OK)
		return;
	EXPECT_INT(r.ncalls, 2);
	EXPECT_INT(r.ngraphs, 1);
	EXPECT(sum(&r.call[1].grad[0]) == XGRAD, "second call: x.grad sums to %g", sum(&r.call[1].grad[0]));
	EXPECT(memcmp(r.call[1].storage[0].data, zeros, other[0].nbytes) == 0, "second call: other data expected");
}

/* Nine sizes: compiled once for its own size and once for any, or nine times where sizes are static. */
static void test_sizes(void)
{
	static const struct {
		const char *target;
		int ngraphs;
	} row[] = {{"torch:aot_eager", 2}, {"torch:aot_eager+dynamic=0", 9}, {"torch:eager", 0}};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct hand h;
		struct torch_call call[9];
		struct meta meta[9];
		begin(&h, row[i].target, "def f(x):\n    return (x.expand(2, x.shape[0]).sum(dim=0),)\n", 1, false);
		add_input(&h, "x", 1, (const int64_t[]){12}, false);
		for (int k = 0; k < 9; k++) {
			meta_make_contiguous(&meta[k], DT_F32, (const int64_t[]){12 - k}, 1);
			call[k] = h.call[0];
			call[k].meta = &meta[k];
		}
		h.req.call = call;
		h.req.ncalls = 9;
		struct result r = run(&h);
		EXPECT(r.status == RES_OK, "%s: %s: %s", row[i].target, result_status_name[r.status], r.message);
		EXPECT_INT(r.ngraphs, row[i].ngraphs);
		for (int k = 0; r.status == RES_OK && k < 9; k++)
			EXPECT_INT(r.call[k].out[0].meta.size[0], 12 - k);
	}
}

/* What a program can do to its worker costs one result, and the next one is served. */
static void test_death(void)
{
	struct hand h;
	static const struct {
		const char *body;
		enum result_status status;
		const char *text;
	} row[] = {
		{"import os, sys\n    sys.stderr.write('last words')\n    os.abort()", RES_CRASH, "signal 6"},
		{"import os\n    os._exit(7)", RES_CRASH, "code 7"},
		{"import os\n    os.write(3, b'rubbish that is no frame at all')", RES_HARNESS, "no answer"},
		{"while True: pass", RES_HANG, "ms"},
		{"hog = [bytearray(1 << 28) for _ in range(12)]", RES_CRASH, "memory"},
	};
	spec.max_rss = (int64_t)3 << 29;
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		begin(&h, "torch:eager", arena_printf(&arena, "def f(x):\n    %s\n    return (x,)\n", row[i].body), 1, false);
		add_input(&h, "x", 1, (const int64_t[]){3}, false);
		h.req.limit_ms = 3000;
		struct result r = run(&h);
		EXPECT(r.status == row[i].status && strstr(r.message, row[i].text), "%s: %s: %s", row[i].body, result_status_name[r.status],
			r.message);
		if (i == 0)
			EXPECT(strstr(r.stderr_tail, "last words"), "tail '%s'", r.stderr_tail);
		h.req.source = "def f(x):\n    return (x,)\n";
		r = run(&h);
		EXPECT(r.status == RES_OK, "after it: %s: %s", result_status_name[r.status], r.message);
	}
}

/* The fixed side: the same request on 2.15.0 gives the right gradient and no mismatch. */
static void test_fixed_version(void)
{
	static const char *const targets[] = {"torch:eager", "torch:fake", "torch:aot_fake", "torch:aot_eager", "torch:inductor"};
	for (int i = 0; i < ARRAY_LEN(targets); i++) {
		struct result r = run_founding(targets[i]);
		EXPECT_INT(r.nmismatch, 0);
		if (r.status == RES_OK)
			EXPECT(sum(&r.call[0].grad[0]) == XGRAD, "2.15.0 %s: x.grad sums to %g", targets[i], sum(&r.call[0].grad[0]));
	}
}

/* ---- milliseconds ----------------------------------------------------------------------------------------- */

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int bench(int argc, char **argv)
{
	static const struct {
		const char *target;
		int n;
	} row[] = {{"torch:eager", 1000}, {"torch:fake", 300}, {"torch:aot_eager", 40}, {"torch:aot_fake", 40}, {"torch:inductor", 12}};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		if (argc > 2 && !strstr(row[i].target, argv[2]))
			continue;
		struct hand h;
		founding_request(&h, row[i].target);
		double first = 0, rest = 0, inside = 0;
		for (int k = 0; k <= row[i].n; k++) {
			/* Another size each time: a compiler keeps the code of texts it has seen. */
			int64_t len = 13 + k % 400;
			h.req.nstorages = h.req.ninputs = 0;
			add_input(&h, "x", 3, (const int64_t[]){4, len, 33}, true);
			add_input(&h, "y", 3, (const int64_t[]){4, 6, 33}, true);
			double start = now_ms();
			struct result r = run(&h);
			if (r.status != RES_OK)
				printf("%s: %s\n", row[i].target, r.message);
			(k ? &rest : &first)[0] += now_ms() - start;
			inside += k ? r.target_ms : 0;
		}
		printf("%-18s first %8.1f ms, then %8.3f ms per program, of it %.3f outside the worker's work; rss %lld MiB\n", row[i].target,
			first, rest / row[i].n, (rest - inside) / row[i].n, (long long)(proc_rss(worker) >> 20));
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct target t;
	struct err err = {0};
	struct strbuf python;
	sb_init(&python);
	bool fixed = argc > 1 && str_eq(argv[1], "fixed");
	python_override = fixed ? NULL : getenv("SCATTERPROOF_TEST_PYTHON");
	target_parse(&t, fixed ? "torch-2.15.0:eager" : "torch:eager", NULL);
	if (!target_python(&python, &t, python_override, &err)) {
		printf("%s\n", err.msg);
		sb_free(&python);
		return 1;
	}
	arena_init(&arena);
	torch_spec(&spec, &arena, python.s, NULL);
	worker = proc_open(&spec, &err);
	if (!worker) {
		printf("%s\n", err.msg);
		return 1;
	}
	int code;
	if (argc > 1 && str_eq(argv[1], "bench")) {
		code = bench(argc, argv);
	} else if (fixed) {
		RUN(test_fixed_version);
		code = TEST_END();
	} else {
		RUN(test_hello);
		RUN(test_founding_right);
		RUN(test_founding_metas);
		RUN(test_aliasing);
		RUN(test_raises);
		RUN(test_calls);
		RUN(test_sizes);
		RUN(test_founding_inductor);
		RUN(test_planted);
		RUN(test_death);
		code = TEST_END();
	}
	proc_close(worker);
	arena_free(&arena);
	sb_free(&python);
	return code;
}
