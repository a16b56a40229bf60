/* decompose_test.c: what rules make of rows; and over the programs of a fixed seed, where each row that is not of the core dialect must
 * come up: the decomposed program is in the core dialect, its results have the layouts of the joint program's, and their bits, where no
 * rounding is left open. */
#include "compiled/compile.h"
#include "compiled/decompose/decompose.h"
#include "eager/lang/stated.h"
#include "eager/run/interp.h"
#include "fuzz/campaign/source.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "tests/unit/rows.h"

#define HEAD "# scatterproof 1\n"

/* ---- single rows ---- */

static void becomes(const char *text, const char *want)
{
	const struct prog *p = program(text);
	const struct compile_options o = {.stage = STAGE_DECOMPOSED, .decompose = true, .validate = true};
	struct compiled c;
	struct err err = {0};
	const enum compile_status status = compile(&c, p, &o, &arena, &err);
	EXPECT(status == COMPILE_OK, "%s: %s", text, err.msg);
	if (status == COMPILE_OK)
		EXPECT_STR(rows(&c.part[0].p), want);
}

static void test_rows(void)
{
	becomes(HEAD "x = input([3, 4])\ny = input([3, 2])\ns = slice_scatter(x, y, dim=1, start=-3, end=9, step=2)\nreturn (s,)\n",
		"s = slice_scatter(x, y); return s");
	becomes(HEAD "x = input([2])\ny = slice_backward(x, [3, 4], 1, -3, 9, 2)\nreturn (y,)\n",
		"full = full(0); expand = expand(x); y = slice_scatter(full, expand); return y");
	becomes(HEAD "x = input([3, 4])\ny = select.int(x, 1, -1)\nreturn (y,)\n", "slice = slice.Tensor(x); y = view(slice); return y");
	becomes(HEAD "x = input([3, 4])\ny = t(x)\nz = detach(y)\nreturn (z,)\n", "y = permute(x); return y");
	becomes(HEAD "x = input([4])\na = split.Tensor(x, 2)\nb = getitem(a, 1)\nc = neg(b)\nreturn (c,)\n",
		"slice = slice.Tensor(x); slice_1 = slice.Tensor(x); c = neg(slice_1); return c");
	becomes(HEAD "x = input([4], dtype=f16)\ny = mean(x)\nreturn (y,)\n",
		"sum = sum.dim_IntList(x); div = div.Tensor(sum); y = _to_copy(div); return y");
	becomes(HEAD "x = input([4], dtype=u8)\ny = input([4], dtype=i32)\nz = sub.Tensor(y, x, alpha=2)\nreturn (z,)\n",
		"_to_copy = _to_copy(x); neg = neg(_to_copy); z = add.Tensor(y, neg); return z");
	/* the rows of a body, which are decomposed in their turn; of nothing there is no maximum */
	becomes(HEAD "x = input([3, 4], dtype=f16)\ny = _softmax(x, 1, False)\nreturn (y,)\n",
		"_to_copy = _to_copy(x); amax = amax(_to_copy); neg = neg(amax); sub = add.Tensor(_to_copy, neg); exp = exp(sub); "
		"sum = sum.dim_IntList(exp); div = div.Tensor(exp, sum); y = _to_copy(div); return y");
	becomes(HEAD "x = input([0, 4])\ny = _softmax(x, 0, False)\nreturn (y,)\n",
		"neg = neg(x); sub = add.Tensor(x, neg); exp = exp(sub); sum = sum.dim_IntList(exp); y = div.Tensor(exp, sum); return y");
	/* nothing is left to do */
	becomes(HEAD "x = input([4])\ny = add.Tensor(x, 1)\nreturn (y,)\n", "y = add.Tensor(x); return y");
}

/* Layouts that the rows alone would not give. */
static void test_layouts(void)
{
	/* a part of a fresh tensor begins in its own memory */
	becomes(HEAD "x = input([3, 4])\ny = constant_pad_nd(x, [1, 0, -1, 0])\nreturn (y,)\n",
		"full = full(0); cat = cat(); slice = slice.Tensor(cat); y = clone(slice); return y");
	/* channels last */
	becomes(HEAD "x = input([2, 3, 4, 5])\ny = permute(x, [0, 3, 1, 2])\nz = roll(y, [1], [0])\nreturn (z,)\n",
		"y = permute(x); slice = slice.Tensor(y); slice_1 = slice.Tensor(y); z = cat(); return z");
	/* the view of a written input that the epilogue makes */
	becomes(HEAD "x = input([3, 4])\ny = zero_(x)\nz = t(y)\nreturn (z,)\n",
		"zeros_like = full(0); z = permute(zeros_like); copy_ = copy_(x, zeros_like); t = permute(x); return t");
	/* a copy that is returned is not what it copies */
	becomes(HEAD "x = input([3])\ny = lift_fresh_copy(x)\nreturn (x, y)\n", "y = clone(x); return x y");
}

/* ---- generated programs ---- */

static int64_t decomposed[NOPS];

/* Are the row's bits those that its rule's rows give? Integers wrap, moves and single roundings leave nothing open; what does is the order
 * of additions (the bodies of norms have var_mean), and a library function in double that the kernel rounds to f32 before it rounds to a
 * half. */
static bool is_exact(const struct node *n)
{
	static const unsigned open = 1u << LC_VAR | 1u << LC_MATMUL;
	if (decompose_is_core(n->op))
		return true;
	for (int k = 0; k < n->nout; k++)
		if (dtype_is_float(n->out[k].meta.dtype)
			&& (open & 1u << op_info[n->op].licence || n->op == OP_rsqrt || n->op == OP_sigmoid || n->op == OP_native_layer_norm
				|| n->op == OP_native_group_norm || n->op == OP_batch_norm_functional || n->op == OP_batch_norm_no_training
				|| n->op == OP_batch_norm_no_stats || n->op == OP_native_batch_norm_backward))
			return false;
	return true;
}

static void exact_rows(bool *exact, const struct prog *p)
{
	bool open[MAX_NODES];
	for (int i = 0; i < p->nnode; i++) {
		open[i] = !is_exact(&p->node[i]) || node_reads(p, &p->node[i], open);
		exact[i] = !open[i];
		if (!decompose_is_core(p->node[i].op) && !decompose_leaves(p, i))
			decomposed[p->node[i].op]++;
	}
}

/* Bits, but any NaN is as good as another one. */
static bool same_elements(const struct result_tensor *a, const struct result_tensor *b)
{
	const int size = dtype_nbytes(a->meta.dtype);
	for (size_t at = 0; at < a->nbytes; at += (size_t)size) {
		const unsigned char *x = (const unsigned char *)a->data + at, *y = (const unsigned char *)b->data + at;
		const bool nans = dtype_is_float(a->meta.dtype) && dtype_load_f(a->meta.dtype, x) != dtype_load_f(a->meta.dtype, x)
			&& dtype_load_f(a->meta.dtype, y) != dtype_load_f(a->meta.dtype, y);
		if (memcmp(x, y, (size_t)size) != 0 && !nans)
			return false;
	}
	return true;
}

/* Does a row state a number that data decide whose bits are open? */
static bool states_open(const struct prog *p, const bool *exact)
{
	bool decides[MAX_NODES] = {false};
	prog_deciders(p, decides);
	for (int i = 0; i < p->nnode; i++)
		if (decides[i] && !exact[i])
			return true;
	return false;
}

static void compare(const struct compiled *joint, const struct compiled *core, int number, struct arena *a)
{
	struct result was, is;
	struct err err = {0};
	bool exact[MAX_NODES];
	exact_rows(exact, &joint->part[0].p);
	for (int i = 0; i < core->part[0].p.nnode; i++)
		EXPECT(decompose_is_core(core->part[0].p.node[i].op) || decompose_leaves(&core->part[0].p, i), "program %d: %s is left", number,
			op_info[core->part[0].p.node[i].op].name);
	interp_run(&was, &joint->part[0].p, a, NULL, &err);
	interp_run(&is, &core->part[0].p, a, NULL, &err);
	EXPECT((was.status == is.status || states_open(&joint->part[0].p, exact)) && joint->part[0].p.nret == core->part[0].p.nret,
		"program %d: %s, %s", number, was.message, is.message);
	for (int i = 0; i < joint->part[0].p.nret && was.status == RES_OK && is.status == RES_OK; i++) {
		const struct result_tensor *x = &was.call[0].out[i], *y = &is.call[0].out[i];
		EXPECT(meta_identical(&x->meta, &y->meta), "program %d: layout of result %d", number, i);
		EXPECT(!exact[joint->part[0].p.ret[i]] || x->nbytes != y->nbytes || !x->data || same_elements(x, y),
			"program %d: bits of result %d", number, i);
	}
}

static int too_long; /* programs whose core form has more rows than a program may have: they are refused */

static void compile_both(const struct prog *bound, int number, struct arena *a)
{
	const struct compile_options joint = {.stage = STAGE_JOINT, .validate = true},
								 core = {.stage = STAGE_DECOMPOSED, .decompose = true, .validate = true};
	struct compiled c[2];
	struct err err = {0};
	if (compile(&c[0], bound, &joint, a, &err) != COMPILE_OK)
		return;
	const bool ok = compile(&c[1], bound, &core, a, &err) == COMPILE_OK;
	const bool fits = ok || !strstr(err.msg, "too many rows");
	too_long += !fits;
	EXPECT(ok || !fits, "program %d: %s", number, err.msg);
	if (ok)
		compare(&c[0], &c[1], number, a);
}

static bool all_came(void)
{
	for (int op = 0; op < NOPS; op++)
		if (!decompose_is_core(op) && !decomposed[op])
			return false;
	return true;
}

static void test_campaign(void)
{
	enum { PROGRAMS = 500, MOST_PROGRAMS = 6000 };
	struct program_source source = {.seed = 7, .policy = "default"};
	for (int k = 0; k < PROGRAMS || (k < MOST_PROGRAMS && !all_came()); k++) {
		struct arena a;
		struct prog p, bound;
		struct err err = {0};
		arena_init(&a);
		const bool made = source_program(&p, &a, &source, k, &err);
		for (int call = 0; made && call <= p.ncall; call++) /* other fills: infinities, NaN */
			if (prog_bind(&bound, &p, call, &a, &err))
				compile_both(&bound, k, &a);
		arena_free(&a);
	}
	source_end(&source);
	EXPECT(too_long < PROGRAMS / 10, "%d programs are too long", too_long);
	for (int op = 0; op < NOPS; op++)
		EXPECT(decompose_is_core(op) || decomposed[op], "%s was never decomposed", op_info[op].name);
}

/* ---- rows on data that the generator seldom has ---- */

static bool on_data(const char *text)
{
	struct prog p, bound;
	struct err err = {0};
	const bool legal = prog_read(&p, &arena, text, strlen(text), READ_LENIENT, &err) && prog_bind(&bound, &p, 0, &arena, &err);
	if (legal)
		compile_both(&bound, 0, &arena);
	return legal;
}

/* "y = addcmul(x0, x1, x2, value=1.5)" of inputs of a dtype and a fill. */
static bool pointwise_on_data(int op, const char *dtype, const char *fill, const char *number)
{
	struct strbuf text, call;
	sb_init(&text);
	sb_init(&call);
	sb_puts(&text, HEAD);
	sb_printf(&call, "y = %s(", op_info[op].name);
	for (int k = 0; k < op_info[op].nparam; k++) {
		const struct param *q = &op_info[op].param[k];
		if (q->kind == K_TENSOR) {
			sb_printf(&text, "x%d = input([97], dtype=%s, fill=\"%s\", seed=%d)\n", k, dtype, fill, k + 1);
			sb_printf(&call, "%sx%d", k ? ", " : "", k);
		} else if (q->kind == K_SCALAR) {
			sb_printf(&call, ", %s=%s", q->name, number);
		}
	}
	sb_printf(&text, "%s)\nreturn (y,)\n", call.s);
	const bool legal = on_data(text.s);
	sb_free(&text);
	sb_free(&call);
	return legal;
}

static void test_data(void)
{
	static const char *const dtypes[] = {"f16", "bf16", "f32", "f64", "i32", "u8"}, *const fills[] = {"special", "normal", "ties"},
							 *const numbers[] = {"1", "-1.3", "300", "nan"};
	for (int op = 0; op < NOPS; op++) {
		int legal = 0;
		if (!op_has(op, T_POINTWISE) || decompose_is_core(op))
			continue;
		for (int t = 0; t < ARRAY_LEN(dtypes); t++)
			for (int f = 0; f < ARRAY_LEN(fills); f++)
				for (int n = 0; n < ARRAY_LEN(numbers); n++)
					legal += pointwise_on_data(op, dtypes[t], fills[f], numbers[n]);
		EXPECT(legal >= 12, "%s: %d programs", op_info[op].name, legal);
	}
	for (int t = 0; t < ARRAY_LEN(dtypes); t++) {
		static const char *const calls[] = {"index_add(x, 0, i, s, alpha=3)", "index_add(x, 0, i, s)", "mean(s)", "embedding(x, i)",
			"embedding_dense_backward(s, i, 5, 1, True)", "sum(s)", "prod(s)", "logsumexp(x, [1])", "any.dim(s, 1)", "max.dim(s, 1)",
			"topk(s, 3, 1)", "index_fill.int_Scalar(x, 0, i, 2)", "roll(s, [2, -1], [0, 1])", "constant_pad_nd(s, [1, -2, 2, 0])"};
		for (int k = 0; k < ARRAY_LEN(calls); k++)
			for (int f = 0; f < ARRAY_LEN(fills); f++) {
				const bool several = str_starts(calls[k], "max.dim") || str_starts(calls[k], "topk");
				on_data(arena_printf(&arena,
					HEAD "x = input([5, 6], dtype=%s, fill=\"%s\", seed=1)\ns = input([9, 6], dtype=%s, fill=\"%s\", seed=2)\n"
						 "i = input([9], dtype=i64, fill=\"index\", high=5, seed=3)\ny = %s\n%s",
					dtypes[t], fills[f], dtypes[t], fills[f], calls[k],
					several ? "a = getitem(y, 0)\nb = getitem(y, 1)\nreturn (a, b)\n" : "return (y,)\n"));
			}
	}
}

/* The dialect beside POINTWISE rows, which state what they compute: about a quarter of the others, and of what the epilogue needs. */
static void test_dialect(void)
{
	int n = 0;
	for (int op = 0; op < NOPS; op++)
		n += decompose_is_core(op) && op_info[op].family != F_INPUT && !op_has(op, T_MUTATES | T_POINTWISE);
	EXPECT(n >= 30 && n <= 60, "the core dialect has %d rows", n);
	EXPECT(decompose_is_core(OP_copy_) && !decompose_is_core(OP_slice_backward), "what is in it");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_rows);
	RUN(test_layouts);
	RUN(test_campaign);
	RUN(test_data);
	RUN(test_dialect);
	arena_free(&arena);
	return TEST_END();
}
