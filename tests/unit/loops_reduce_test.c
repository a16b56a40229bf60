/* loops_reduce_test.c: reductions, scans, orders, scatters by index and matrix products as loops: no row is left to eager's kernels, and
 * what the loops compute is bit for bit what eager computes, in every dtype, with operands in memory and pending. Rows without loops of
 * their own go by way of decompose's rules, whose rounding is eager's but for the variance (decompose_test.c). */
#include "compiled/loops/jit.h"
#include "compiled/loops/lower.h"
#include "compiled/loops/run.h"
#include "eager/lang/fill.h"
#include "eager/run/interp.h"
#include "tests/unit/expanded.h"
#include "tests/unit/program.h"

/* What every program begins with; DT: the dtype, FILL: the data. c and q are pending where they are read. */
static const char head[] = "# scatterproof 1\n"
						   "x = input([3, 4], dtype=DT, seed=1, fill=\"FILL\")\n"
						   "w = input([2, 3, 4], dtype=DT, seed=2, fill=\"FILL\")\n"
						   "u = permute(w, [2, 0, 1])\n"
						   "c = clone(x)\n"
						   "z = input([3, 0], dtype=DT)\n"
						   "s = input([], dtype=DT, seed=3, fill=\"FILL\")\n"
						   "v = input([4], dtype=DT, seed=4, fill=\"FILL\")\n"
						   "b = input([5, 4], dtype=DT, seed=5, fill=\"FILL\")\n"
						   "q = clone(b)\n"
						   "i = input([3, 4], dtype=i64, seed=6, fill=\"index\", high=3)\n"
						   "j = input([2, 3], dtype=i32, seed=7, fill=\"index\", high=3)\n"
						   "k = input([5], dtype=i64, seed=8, fill=\"index\", high=3)\n"
						   "o = input([0], dtype=i64)\n"
						   "a = input([2, 1], dtype=i64, seed=9, fill=\"index\", high=2)\n"
						   "y = input([], dtype=i64, data=[0])\n"
						   "m = input([3, 4], dtype=b8, seed=10, fill=\"mask\")\n"
						   "n = input([3], dtype=b8, seed=11, fill=\"mask\")\n";

enum { FLOATS = DTS_FLOAT, NUMBERS = DTS_NUM, ANY = DTS_ALL, HALVES = 1 << DT_F16 | 1 << DT_BF16, WIDE = 1 << DT_F32 | 1 << DT_F64 };
struct row {
	unsigned dtypes;
	const char *text;
};

static char *replaced(const char *text, const char *what, const char *with)
{
	struct strbuf sb;
	sb_init(&sb);
	for (const char *at; (at = strstr(text, what)); text = at + strlen(what))
		sb_printf(&sb, "%.*s%s", (int)(at - text), text, with);
	sb_puts(&sb, text);
	char *out = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return out;
}

static int externs(const struct loops *l)
{
	int n = 0;
	for (int at = 0; at < l->nins; at++)
		n += l->ins[at].op == LOOP_EXTERN;
	return n;
}

static void same_bytes(const char *text, const char *what, int k, const void *got, const void *want, size_t n, size_t n_want)
{
	EXPECT(n == n_want && (n == 0 || memcmp(got, want, n) == 0), "%s: %s %d differs", text, what, k);
}

static void same_call(const char *text, const struct result_call *got, const struct result_call *want)
{
	EXPECT_INT(got->nouts, want->nouts);
	for (int k = 0; k < want->nouts; k++) {
		const struct result_tensor *g = &got->out[k], *w = &want->out[k];
		EXPECT(meta_equivalent(&g->meta, &w->meta), "%s: output %d is another tensor", text, k);
		same_bytes(text, "output", k, g->data, w->data, g->nbytes, w->nbytes);
	}
	for (int k = 0; k < want->nstorages; k++)
		same_bytes(text, "storage", k, got->storage[k].data, want->storage[k].data, got->storage[k].nbytes, want->storage[k].nbytes);
}

static const char *printed(const struct loops *l)
{
	struct strbuf sb;
	sb_init(&sb);
	loops_print(&sb, l);
	const char *text = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return text;
}

static void reads_back(const char *text, const struct loops *l)
{
	struct loops again;
	struct err err = {0};
	const char *want = printed(l);
	const bool ok = loops_read(&again, &arena, want, &err);
	EXPECT(ok, "%s: %d:%d: %s", text, err.line, err.col, err.msg);
	if (ok)
		EXPECT_STR(printed(&again), want);
}

/* What the loops do is what eager does, whoever runs them. */
static void runs_as(const char *text, const struct result *want, const struct loops *l, const struct prog *p, bool jit)
{
	struct result_call got;
	struct err err = {0};
	struct jit *j = jit ? jit_open(l, &err) : NULL;
	EXPECT(!jit || j, "%s: %s", text, err.msg);
	const enum loop_end end = loops_run(&got, l, p, NULL, fill_storages(p, &arena), j ? jit_run : loops_interpret, j, &arena, &err);
	jit_close(j);
	EXPECT((end == LOOPS_RAN) == (want->status == RES_OK), "%s: %s", text, err.msg);
	if (end == LOOPS_RAN && want->status == RES_OK)
		same_call(text, &got, &want->call[0]);
	else if (end == LOOPS_RAISED)
		EXPECT(strstr(want->message, err.msg), "%s: raises '%s', not '%s'", text, err.msg, want->message);
}

static void run_one(const char *text, bool no_fusion, int nextern)
{
	const struct prog *p = program(text);
	struct prog bound;
	struct result want;
	struct loops l;
	struct err err = {0};
	EXPECT(prog_bind(&bound, p, 0, &arena, &err), "%s: %s", text, err.msg);
	EXPECT(interp_run(&want, p, &arena, NULL, &err) == INTERP_OK, "%s: %s", text, err.msg);
	const struct prog *rows = expanded(&bound, &arena);
	const bool lowered = lower(&l, rows, &(struct lower_options){.no_fusion = no_fusion}, &arena, &err);
	EXPECT(lowered, "%s: %s", text, err.msg);
	if (!lowered)
		return;
	EXPECT(externs(&l) == nextern, "%s: %d externs", text, externs(&l));
	reads_back(text, &l);
	runs_as(text, &want, &l, rows, no_fusion); /* either engine sees every row */
}

static void run_text(const char *text)
{
	run_one(text, false, 0);
	run_one(text, true, 0);
}

static void run_rows(const struct row *rows, int n, const char *const *fills, int nfill)
{
	for (int r = 0; r < n; r++)
		for (int t = 0; t < NDTYPES; t++)
			for (int f = 0; f < nfill && rows[r].dtypes & 1u << t; f++) {
				char *text = arena_printf(&arena, "%s%s", head, rows[r].text);
				run_text(replaced(replaced(text, "DT", dtype_info[t].name), "FILL", fills[f]));
			}
}

static const char *const any_data[] = {"dyadic", "normal", "special", "ties"};

static void test_reductions(void)
{
	static const struct row rows[] = {
		{ANY, "r = sum(c)\nreturn (r,)\n"},
		{ANY, "r = sum.dim_IntList(u, [0, -1])\nreturn (r,)\n"},
		{ANY, "r = sum.dim_IntList(u, [1], True)\nt = sum.dim_IntList(s, [0])\nreturn (r, t)\n"},
		{ANY, "r = sum.dim_IntList(z, [1])\nt = sum.dim_IntList(z, [0])\nreturn (r, t)\n"},
		{ANY, "r = sum.dim_IntList(c, None, True, dtype=f16)\nt = sum(x, dtype=u8)\ng = sum(x, dtype=b8)\nreturn (r, t, g)\n"},
		{FLOATS, "r = mean(c)\nt = mean.dim(u, [2, 0])\ng = mean.dim(z, [1])\nh = mean(z)\nreturn (r, t, g, h)\n"},
		{FLOATS, "r = mean(c, dtype=bf16)\nt = mean.dim(x, [0], True, dtype=f64)\nreturn (r, t)\n"},
		{ANY, "r = prod(c)\nt = prod.dim_int(u, 1)\ng = prod.dim_int(z, 1, True)\nh = prod(s)\nreturn (r, t, g, h)\n"},
		{ANY, "r = prod(c, dtype=i8)\nt = prod.dim_int(x, -1, dtype=f16)\ng = prod(x, dtype=b8)\nreturn (r, t, g)\n"},
		{ANY, "r = amax(c)\nt = amax(u, [0, 2], True)\ng = amax(s, [0])\nh = amax(z, [0])\nreturn (r, t, g, h)\n"},
		{ANY, "r = amin(c)\nt = amin(u, [1])\ng = max(c)\nh = min(u)\nreturn (r, t, g, h)\n"},
		{NUMBERS, "r = argmax(c)\nt = argmax(u, 1)\ng = argmin(c, 0, True)\nh = argmin(u)\ne = argmin(s, 0)\nreturn (r, t, g, h, e)\n"},
		{NUMBERS, "r = max.dim(u, 0)\nt = getitem(r, 0)\ng = getitem(r, 1)\nreturn (t, g)\n"},
		{NUMBERS, "r = min.dim(c, -1, True)\nt = getitem(r, 0)\ng = getitem(r, 1)\nreturn (t, g)\n"},
		{ANY, "r = any(c)\nt = any.dim(u, 1)\ng = any(z)\nh = any.dim(z, 1, True)\ne = any(s)\nreturn (r, t, g, h, e)\n"},
		{ANY, "r = all(c)\nt = all.dim(u, -1, True)\ng = all(z)\nh = all.dim(z, 1)\ne = all(s)\nreturn (r, t, g, h, e)\n"},
		{FLOATS,
			"r = logsumexp(c, [0])\nt = logsumexp(u, [0, 2], True)\ng = logsumexp(z, [1])\nh = logsumexp(s, [0])\nreturn (r, t, g, h)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), any_data, ARRAY_LEN(any_data));
}

static void test_scans(void)
{
	static const struct row rows[] = {
		{ANY, "r = cumsum(c, 0)\nt = cumsum(u, -1)\ng = cumsum(s, 0)\nh = cumsum(z, 0)\nreturn (r, t, g, h)\n"},
		{ANY, "r = cumsum(c, 1, dtype=f16)\nt = cumsum(x, 0, dtype=u8)\ng = cumprod(x, 1, dtype=bf16)\nreturn (r, t, g)\n"},
		{ANY, "r = cumprod(c, 1)\nt = cumprod(u, 0)\ng = cumprod(s, -1)\nh = cumprod(z, 1)\nreturn (r, t, g, h)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), any_data, ARRAY_LEN(any_data));
}

static void test_scatters_along_a_dim(void)
{
	static const struct row rows[] = {
		{ANY, "r = scatter.src(c, 0, i, q)\nt = scatter.src(b, 1, j, x)\ng = scatter.src(s, 0, y, v)\nreturn (r, t, g)\n"},
		{ANY,
			"r = scatter.value(c, 0, i, 1)\nt = scatter.value(b, -1, j, 0)\ng = scatter.value(s, 0, y, 1)\nh = scatter.value(x, 0, o, 1)\n"
			"return (r, t, g, h)\n"},
		{ANY,
			"r = scatter_add(c, 0, i, q)\nt = scatter_add(b, 1, j, x)\ng = scatter_add(s, 0, y, s)\nh = scatter_add(x, 1, o, s)\n"
			"return (r, t, g, h)\n"},
		{ANY, "t = t(x)\nr = scatter_.src(t, 1, j, b)\nreturn (r, x)\n"},
		{ANY, "e = scatter.value(x, 1, j, 1)\nr = copy_(x, e)\nt = scatter_add_(b, 0, i, q)\nreturn (r, t)\n"},
		{NUMBERS,
			"r = scatter_reduce.two(c, 0, i, q, \"sum\")\n"
			"t = scatter_reduce.two(b, 1, j, x, \"sum\", include_self=False)\nreturn (r, t)\n"},
		{NUMBERS,
			"r = scatter_reduce.two(c, 0, i, q, \"prod\")\n"
			"t = scatter_reduce.two(b, 1, j, x, \"prod\", include_self=False)\nreturn (r, t)\n"},
		{NUMBERS,
			"r = scatter_reduce.two(c, 0, i, q, \"amax\")\n"
			"t = scatter_reduce.two(b, 1, j, x, \"amin\", include_self=False)\nreturn (r, t)\n"},
		{NUMBERS,
			"r = scatter_reduce.two(c, 0, i, q, \"mean\")\nt = scatter_reduce.two(b, 1, j, x, \"mean\", include_self=False)\n"
			"g = scatter_reduce.two(s, 0, y, s, \"mean\")\nreturn (r, t, g)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), any_data, ARRAY_LEN(any_data));
}

static void test_scatters_of_rows(void)
{
	static const struct row rows[] = {
		{ANY, "r = index_add(c, 0, k, q)\nt = index_add(s, 0, y, s)\ng = index_add(c, 1, o, z)\nreturn (r, t, g)\n"},
		{NUMBERS, "t = t(q)\ng = t(c)\nr = index_add(g, -1, k, t, alpha=2)\nreturn (r,)\n"},
		{ANY, "e = index_add(x, 0, k, q)\nr = copy_(x, e)\ng = index_fill.int_Scalar(w, 1, k, 0)\nt = copy_(w, g)\nreturn (r, t)\n"},
		{ANY, "r = index_copy(c, 0, k, q)\ng = slice.Tensor(v, 0, 1, 2)\nt = index_copy(s, 0, y, g)\nreturn (r, t)\n"},
		{ANY, "e = index_copy(x, 0, k, q)\nr = copy_(x, e)\nreturn (r, x)\n"},
		{ANY,
			"r = index_fill.int_Scalar(u, 2, k, 1)\nt = index_fill.int_Scalar(s, 0, y, 0)\ng = index_fill.int_Scalar(z, 0, k, 0)\n"
			"e = neg(k)\nh = index_fill.int_Scalar(c, 0, e, 1)\nreturn (r, t, g, h)\n"},
		{ANY, "r = embedding_dense_backward(q, k, 4, -1, False)\nt = embedding_dense_backward(q, k, 3, 1, True)\nreturn (r, t)\n"},
		{ANY, "r = embedding_dense_backward(w, j, 3, 0, True)\nt = embedding_dense_backward(z, k, 3, 0, False)\nreturn (r, t)\n"},
		{ANY, "r = masked_scatter(c, m, q)\nt = masked_scatter(w, m, w)\ng = masked_scatter(s, m, u)\nreturn (r, t, g)\n"},
		{ANY,
			"m5 = input([3, 4], dtype=b8, data=[True, False, False, True, False, True, True, False, False, False, False, True])\n"
			"m2 = input([4], dtype=b8, data=[True, False, False, True])\nr = masked_select(c, m5, count=5)\n"
			"t = masked_select(c, m2, count=6)\ng = nonzero(m5, count=5)\ne = flip(r, [0])\nreturn (r, t, g, e)\n"},
		{ANY,
			"g = view(v, [2, 2])\nr = as_strided_scatter(c, g, [2, 2], [4, 2], 1)\nt = as_strided_scatter(x, s, [], [])\nreturn (r, t)\n"},
		{ANY,
			"r = unfold_backward(c, [6], 0, 4, 1)\nt = unfold_backward(c, [12], 0, 4, 4)\ng = unfold_backward(u, [4, 4], 1, 3, 1)\n"
			"return (r, t, g)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), any_data, ARRAY_LEN(any_data));
}

static void test_index_put(void)
{
	static const struct row rows[] = {
		{ANY, "r = index_put(c, [k], q)\nt = index_put(c, [k], q, True)\nreturn (r, t)\n"},
		{ANY, "r = index_put(w, [a, j], v)\nt = index_put(w, [a, j], v, True)\nreturn (r, t)\n"},
		{ANY,
			"r = index_put(w, [None, k], s)\n"
			"t = index_put(u, [a, None, j], s, True)\ng = index_put(u, [k, None, k], s)\nreturn (r, t, g)\n"},
		{ANY, "e = view(w, [2, 3, 2, 2])\ng = view(v, [2, 1, 1, 2])\nr = index_put(e, [None, a, None, a], g)\nreturn (r,)\n"},
		{ANY, "e = neg(k)\nr = index_put_(x, [e], q)\nt = index_put_(b, [k], v, True)\nreturn (r, t)\n"},
		{ANY,
			"r = index_put(c, [m], s)\nt = index_put(w, [None, n], s)\ng = index_put(z, [k], s)\nh = index_put(x, [o], s)\n"
			"return (r, t, g, h)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), any_data, ARRAY_LEN(any_data));
}

static void test_orders(void)
{
	static const struct row rows[] = {
		{ANY, "r = sort(c)\nt = getitem(r, 0)\ng = getitem(r, 1)\nreturn (t, g)\n"},
		{ANY, "r = sort(u, 0, True)\nt = getitem(r, 0)\ng = getitem(r, 1)\nh = sort(s)\ne = getitem(h, 1)\nreturn (t, g, e)\n"},
		{NUMBERS, "r = topk(c, 2)\nt = getitem(r, 0)\ng = getitem(r, 1)\nh = topk(z, 0)\ne = getitem(h, 1)\nreturn (t, g, e)\n"},
		{NUMBERS, "r = topk(b, 5, 0, False)\nt = getitem(r, 0)\ng = getitem(r, 1)\nh = topk(s, 0)\ne = getitem(h, 0)\nreturn (t, g, e)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), any_data, ARRAY_LEN(any_data));
}

/* What is left to eager's kernels. */
static void test_externs(void)
{
	static const char *const rows[] = {
		"v = input([2])\nm = input([3, 4], dtype=b8, data=[0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])\nr = index_put(x, [m], v)\nreturn (r,)\n",
		"v = input([], dtype=i64)\nm = input([3, 4], dtype=b8, fill=\"mask\")\nr = index_put(x, [m], v)\nreturn (r,)\n",
		"y = input([300], fill=\"ties\")\nr = sort(y)\nt = getitem(r, 0)\nreturn (t,)\n",
	};
	for (int k = 0; k < ARRAY_LEN(rows); k++)
		run_one(arena_printf(&arena, "# scatterproof 1\nx = input([3, 4])\n%s", rows[k]), k == 1, 1);
}

/* Sums that are exact in every order. */
static void test_products(void)
{
	static const char *const exact[] = {"dyadic", "ties"};
	static const struct row rows[] = {
		{FLOATS, "t = t(c)\nr = mm(b, t)\ng = mv(q, v)\nh = dot(v, v)\nreturn (r, g, h)\n"},
		{FLOATS, "t = transpose.int(w, 1, 2)\nr = bmm(w, t)\nreturn (r,)\n"},
		{FLOATS, "t = t(x)\ne = permute(z, [1, 0])\nr = mm(z, e)\ng = mm(t, z)\nreturn (r, g)\n"},
		{WIDE, "t = t(x)\ne = slice.Tensor(v, 0, 0, 3)\nr = addmm(e, b, t, beta=2, alpha=-0.5)\nreturn (r,)\n"},
		{WIDE, "t = t(x)\nr = addmm(s, b, t, beta=0)\ng = addmm(s, b, t, alpha=0)\nreturn (r, g)\n"},
	};
	run_rows(rows, ARRAY_LEN(rows), exact, ARRAY_LEN(exact));
}

static void test_raises(void)
{
	static const char *const programs[] = {
		"k = input([2], dtype=i64, data=[0, 3])\nb = input([2, 4])\nr = index_copy(x, 0, k, b)\nreturn (r,)\n",
		"k = input([2], dtype=i64, data=[0, -1])\nb = input([2, 4])\nr = index_add(x, 0, k, b)\nreturn (r,)\n",
		"k = input([2], dtype=i64, data=[-4, 2])\nr = index_fill.int_Scalar(x, 0, k, 7)\nreturn (r,)\n",
		"k = input([1, 2], dtype=i64, data=[0, 4])\nr = scatter.value(x, 1, k, 7)\nreturn (r,)\n",
		"k = input([1, 2], dtype=i64, data=[-1, 0])\nr = scatter_add(x, 0, k, x)\nreturn (r,)\n",
		"k = input([1, 2], dtype=i64, data=[3, 0])\nr = scatter_reduce.two(x, 0, k, x, \"mean\")\nreturn (r,)\n",
		"k = input([2], dtype=i64, data=[0, -5])\nb = input([])\nr = index_put(x, [None, k], b)\nreturn (r,)\n",
		"m = input([3, 4], dtype=b8, fill=\"mask\")\nb = input([1])\nr = masked_scatter(x, m, b)\nreturn (r,)\n",
		"m = input([3, 4], dtype=b8, fill=\"mask\")\nb = input([0])\nr = masked_scatter(x, m, b)\nreturn (r,)\n",
		"m2 = input([4], dtype=b8, data=[True, False, True, True])\nr = masked_select(x, m2, count=8)\nreturn (r,)\n",
		"m2 = input([4], dtype=b8, data=[True, False, True, True])\nr = nonzero(m2, count=4)\nreturn (r,)\n",
	};
	for (int k = 0; k < ARRAY_LEN(programs); k++) {
		const char *text = arena_printf(&arena, "# scatterproof 1\nx = input([3, 4])\n%s", programs[k]);
		struct result r;
		EXPECT(interp_run(&r, program(text), &arena, NULL, &(struct err){0}) == INTERP_OK && r.status == RES_RAISED, "%s: runs", text);
		run_text(text);
	}
}

/* Divided in two steps: a quotient that f64 does not hold. */
static void test_mean_of_large_integers(void)
{
	run_text(
		"# scatterproof 1\nx = input([3], dtype=i64, data=[9223372036854775807, -9223372036854775807, -7])\n"
		"k = input([4], dtype=i64, data=[2, 1, 1, 2])\nv = input([4], dtype=i64, data=[-1, 0, 1, 9007199254740993])\n"
		"r = scatter_reduce.two(x, 0, k, v, \"mean\")\nt = scatter_reduce.two(v, 0, k, v, \"mean\", include_self=False)\nreturn (r, t)\n");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_reductions);
	RUN(test_scans);
	RUN(test_scatters_along_a_dim);
	RUN(test_scatters_of_rows);
	RUN(test_index_put);
	RUN(test_orders);
	RUN(test_externs);
	RUN(test_products);
	RUN(test_raises);
	RUN(test_mean_of_large_integers);
	arena_free(&arena);
	return TEST_END();
}
