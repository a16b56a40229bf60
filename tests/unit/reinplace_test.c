/* reinplace_test.c: which rows overwrite their operand, and what I4, I5 and I7 say of programs that break them. What comes out is run, too:
 * it must return what the program returned before. */
#include "compiled/compile.h"
#include "compiled/passes/reinplace.h"
#include "compiled/passes/validate.h"
#include "eager/run/interp.h"
#include "generated/op_args.h"
#include "tests/unit/rows.h"

#define HEAD "# scatterproof 1\n"

static bool same_bytes(const void *a, const void *b, size_t n) { return n == 0 || memcmp(a, b, n) == 0; }

static void same_run(const struct prog *is, const struct prog *was, const char *text)
{
	struct result a, b;
	struct err err = {0};
	EXPECT(interp_run(&a, was, &arena, NULL, &err) == INTERP_OK && a.status == RES_OK, "%s: %s", text, a.message);
	EXPECT(interp_run(&b, is, &arena, NULL, &err) == INTERP_OK && b.status == RES_OK, "%s: %s", text, b.message);
	for (int i = 0; i < was->nret && b.ncalls; i++) {
		const struct result_tensor *x = &a.call[0].out[i], *y = &b.call[0].out[i];
		EXPECT(meta_equivalent(&x->meta, &y->meta) && same_bytes(x->data, y->data, x->nbytes), "%s: output %d is another", text, i);
	}
	for (int i = 0; i < a.call[0].nstorages && b.ncalls; i++)
		EXPECT(same_bytes(a.call[0].storage[i].data, b.call[0].storage[i].data, a.call[0].storage[i].nbytes), "%s: input %d is another",
			text, i);
}

/* Compiled with dce and reinplace alone. */
static void becomes(const char *text, const char *want)
{
	const struct prog *p = program(text);
	struct compiled c;
	struct err err = {0};
	struct compile_options o = {.stage = compile_nstages() - 1, .off = ~(1u << npasses | 1u << pass_find("dce")), .validate = true};
	enum compile_status status = compile(&c, p, &o, &arena, &err);
	EXPECT(status == COMPILE_OK, "%s: %s", text, err.msg);
	if (status != COMPILE_OK)
		return;
	EXPECT_STR(rows(&c.part[0].p), want);
	same_run(&c.part[0].p, p, text);
}

static void test_inplace(void)
{
	becomes(HEAD "x = input([3])\na = exp(x)\nb = add.Tensor(a, 1.0)\nc = relu(b)\nreturn (c,)\n",
		"a = exp(x); b = add_.Tensor(a); c = relu_(b); return c");
	becomes(HEAD "x = input([3])\na = exp(x)\nb = mul.Tensor(a, a)\nreturn (b,)\n", "a = exp(x); b = mul_.Tensor(a, a); return b");
	becomes(HEAD "x = input([3])\ni = input([2], dtype=i64, data=[0, 0])\ns = input([2])\na = exp(x)\nb = scatter_add(a, 0, i, s)\n"
				 "c = index_put(b, [i], s, True)\nreturn (c,)\n",
		"a = exp(x); b = scatter_add_(a, i, s); c = index_put_(b, s); return c");
	/* part of some memory that nobody reads any more */
	becomes(HEAD "x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=2)\nb = mul.Tensor(v, 2.0)\nreturn (b,)\n",
		"a = exp(x); v = slice.Tensor(a); b = mul_.Tensor(v); return b");
	/* the operand, a view of it, is read later; is returned; is an input */
	becomes(HEAD "x = input([3])\na = exp(x)\nb = mul.Tensor(a, 2.0)\nc = add.Tensor(b, a)\nreturn (c,)\n",
		"a = exp(x); b = mul.Tensor(a); c = add_.Tensor(b, a); return c");
	becomes(HEAD "x = input([3])\na = exp(x)\nv = slice.Tensor(a, end=1)\nb = mul.Tensor(a, 2.0)\nc = add.Tensor(b, v)\nreturn (c,)\n",
		"a = exp(x); v = slice.Tensor(a); b = mul.Tensor(a); c = add_.Tensor(b, v); return c");
	becomes(HEAD "x = input([3])\na = exp(x)\nv = slice.Tensor(a, end=1)\nb = mul.Tensor(a, 2.0)\nreturn (b, v)\n",
		"a = exp(x); v = slice.Tensor(a); b = mul.Tensor(a); return b v");
	becomes(HEAD "x = input([3])\nb = mul.Tensor(x, 2.0)\nreturn (b,)\n", "b = mul.Tensor(x); return b");
	/* another dtype, other sizes, other strides; memory that overlaps itself; another part of the memory is an operand */
	becomes(HEAD "x = input([3], dtype=i64)\na = neg(x)\nb = mul.Tensor(a, 2.5)\nreturn (b,)\n", "a = neg(x); b = mul.Tensor(a); return b");
	becomes(HEAD "x = input([1])\ny = input([3])\na = exp(x)\nb = mul.Tensor(a, y)\nreturn (b,)\n",
		"a = exp(x); b = mul.Tensor(a, y); return b");
	becomes(HEAD "x = input([2, 3])\na = exp(x)\nv = slice.Tensor(a, 1, 1)\nb = mul.Tensor(v, 2.0)\nreturn (b,)\n",
		"a = exp(x); v = slice.Tensor(a); b = mul.Tensor(v); return b");
	becomes(HEAD "x = input([2, 1])\na = exp(x)\nv = expand(a, [2, 3])\nb = mul.Tensor(v, 2.0)\nreturn (b,)\n",
		"a = exp(x); v = expand(a); b = mul.Tensor(v); return b");
	becomes(HEAD
		"x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=2)\nw = slice.Tensor(a, start=2)\nb = mul.Tensor(v, w)\nreturn (b,)\n",
		"a = exp(x); v = slice.Tensor(a); w = slice.Tensor(a); b = mul.Tensor(v, w); return b");
	/* a scatter of what it scatters into; memory whose elements share cells though no stride is 0 */
	becomes(HEAD "x = input([3])\ni = input([3], dtype=i64, data=[2, 0, 1])\na = exp(x)\nb = index_add(a, 0, i, a)\nreturn (b,)\n",
		"a = exp(x); b = index_add(a, i, a); return b");
	becomes(HEAD "x = input([4])\ny = input([1, 2])\na = exp(x)\nw = as_strided(a, [3, 2], [1, 1])\nb = slice_scatter(w, y, 0, 0, 1)\n"
				 "return (b,)\n",
		"a = exp(x); w = as_strided(a); b = slice_scatter(w, y); return b");
	/* no such row */
	becomes(HEAD "x = input([3])\na = exp(x)\nb = softplus(a)\nreturn (b,)\n", "a = exp(x); b = softplus(a); return b");
}

static void test_scatters(void)
{
	becomes(HEAD "x = input([3, 4])\ny = input([3, 2])\na = exp(x)\nb = slice_scatter(a, y, 1, 1, 3)\nc = softplus(b)\nreturn (c,)\n",
		"a = exp(x); slice = slice.Tensor(a); copy_ = copy_(slice, y); b = alias(a); c = softplus(b); return c");
	becomes(HEAD "x = input([3, 3])\ny = input([3])\na = exp(x)\nb = select_scatter(a, y, 0, 1)\nc = diagonal_scatter(b, y)\nreturn (c,)\n",
		"a = exp(x); select = select.int(a); copy__1 = copy_(select, y); b = alias(a); diagonal = diagonal(b); copy_ = copy_(diagonal, y); "
		"c = alias(b); return c");
	becomes(HEAD "x = input([4])\ny = input([2])\na = exp(x)\nb = as_strided_scatter(a, y, [2], [2], 1)\nreturn (b,)\n",
		"a = exp(x); as_strided = as_strided(a); copy_ = copy_(as_strided, y); b = alias(a); return b");
	/* the base is read later; src lies in the base; the base overlaps itself: the scatter is dense (SEEDS of PyTorch #180164, #183986) */
	becomes(HEAD "x = input([4])\ny = input([2])\na = exp(x)\nb = slice_scatter(a, y, 0, 0, 2)\nc = add.Tensor(b, a)\nreturn (c,)\n",
		"a = exp(x); b = slice_scatter(a, y); c = add_.Tensor(b, a); return c");
	becomes(HEAD "x = input([4])\na = exp(x)\nv = slice.Tensor(a, start=2)\nb = slice_scatter(a, v, 0, 1, 3)\nreturn (b,)\n",
		"a = exp(x); v = slice.Tensor(a); b = slice_scatter(a, v); return b");
	becomes(HEAD "x = input([1, 4])\ny = input([1, 4])\na = exp(x)\ne = expand(a, [3, 4])\nb = slice_scatter(e, y, 0, 0, 1)\nreturn (b,)\n",
		"a = exp(x); e = expand(a); b = slice_scatter(e, y); return b");
	/* a region that overlaps itself */
	becomes(HEAD "x = input([4])\ny = input([2, 2])\na = exp(x)\nb = as_strided_scatter(a, y, [2, 2], [1, 1])\nreturn (b,)\n",
		"a = exp(x); b = as_strided_scatter(a, y); return b");
}

/* copy_ rows whose value now is where they would put it. */
static void test_put_back(void)
{
	becomes(HEAD "x = input([3])\nw = mul_.Tensor(x, 2.0)\nv = add_.Tensor(x, 1.0)\nreturn (w,)\n",
		"w = mul_.Tensor(x); v = add_.Tensor(w); return x");
	becomes(HEAD "x = input([3], offset=2)\nw = mul_.Tensor(x, 2.0)\nreturn (w,)\n", "w = mul_.Tensor(x); return x");
	becomes(HEAD
		"x = input([3, 4])\nv = slice.Tensor(x, 1, 1, 3)\nr = select.int(v, 0, 1)\nw = mul_.Tensor(r, 2.0)\nz = softplus(x)\nreturn (z,)\n",
		"v = slice.Tensor(x); r = select.int(v); w = mul_.Tensor(r); slice_scatter = alias(x); "
		"z = softplus(slice_scatter); return z");
	becomes(HEAD "x = input([3, 4])\na = exp(x)\nv = slice.Tensor(a, 1, 1, 3)\nw = mul_.Tensor(v, 2.0)\nz = softplus(a)\nreturn (z,)\n",
		"a = exp(x); v = slice.Tensor(a); w = mul_.Tensor(v); slice_scatter = alias(a); z = softplus(slice_scatter); return z");
	/* x is read by a later row, by another copy_; the value is an output, too, in memory of its own; another part is put back */
	becomes(HEAD "x = input([3])\na = mul.Tensor(x, 2.0)\nb = softplus(x)\nw = copy_(x, a)\nreturn (b,)\n",
		"a = mul.Tensor(x); b = softplus(x); clone = clone(a); copy_ = copy_(x, clone); return b");
	becomes(HEAD "x = input([3])\ny = input([3])\na = mul.Tensor(x, 2.0)\nw = copy_(y, x)\nv = add_.Tensor(x, 1.0)\nreturn (a,)\n",
		"a = mul.Tensor(x); clone = clone(x); v = add_.Tensor(x); copy__1 = copy_(y, clone); return a");
	becomes(HEAD "x = input([3])\na = mul.Tensor(x, 2.0)\nc = copy_(x, a)\nb = relu_(a)\nreturn (b,)\n",
		"a = mul.Tensor(x); clone = clone(a); b = relu_(a); copy_ = copy_(x, clone); return b");
	becomes(HEAD "x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=2)\nb = mul.Tensor(v, 2.0)\nw = slice.Tensor(a, start=2)\n"
				 "c = copy_(w, b)\nreturn (a,)\n",
		"a = exp(x); v = slice.Tensor(a); b = mul.Tensor(v); clone = clone(b); slice = slice.Tensor(a); copy_ = copy_(slice, clone); "
		"slice_scatter = alias(a); return slice_scatter");
}

/* The value that is put back is overwritten afterwards: it stays in memory of its own. */
static void test_overwritten_later(void)
{
	becomes(HEAD "x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=2)\nd = mul.Tensor(v, 2.0)\ns = slice_scatter(a, d, 0, 0, 2)\n"
				 "e = add.Tensor(d, 1.0)\nf = softplus(e)\nreturn (s, f)\n",
		"a = exp(x); v = slice.Tensor(a); d = mul.Tensor(v); slice = slice.Tensor(a); copy_ = copy_(slice, d); s = alias(a); "
		"e = add_.Tensor(d); f = softplus(e); return s f");
	becomes(HEAD "x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=2)\nd = mul.Tensor(v, 2.0)\ns = slice_scatter(a, d, 0, 0, 2)\n"
				 "f = softplus(d)\nreturn (s, f)\n",
		"a = exp(x); v = slice.Tensor(a); d = mul_.Tensor(v); s = alias(a); f = softplus(d); return s f");
	/* FROM is written again before the value is read for the last time */
	becomes(HEAD "x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=2)\nd = mul.Tensor(v, 2.0)\ns = slice_scatter(a, d, 0, 0, 2)\n"
				 "e = add.Tensor(s, 1.0)\nf = softplus(d)\nreturn (e, f)\n",
		"a = exp(x); v = slice.Tensor(a); d = mul.Tensor(v); slice = slice.Tensor(a); copy_ = copy_(slice, d); s = alias(a); "
		"e = add_.Tensor(s); f = softplus(d); return e f");
}

/* A window on the result would show what lies between the operand's elements. */
static void test_windows(void)
{
	becomes(HEAD "x = input([4], stride=[2])\ny = input([2])\na = slice_scatter(x, y, 0, 0, 2)\nb = slice_scatter(a, y, 0, 2, 4)\n"
				 "c = softplus(b)\nreturn (c,)\n",
		"a = slice_scatter(x, y); slice = slice.Tensor(a); copy_ = copy_(slice, y); b = alias(a); c = softplus(b); return c");
	becomes(HEAD "x = input([4], stride=[2])\ny = input([2])\na = slice_scatter(x, y, 0, 0, 2)\nb = slice_scatter(a, y, 0, 2, 4)\n"
				 "w = as_strided(b, [2], [2])\nc = softplus(w)\nreturn (c,)\n",
		"a = slice_scatter(x, y); b = slice_scatter(a, y); w = as_strided(b); c = softplus(w); return c");
	/* a dense one shows the same */
	becomes(HEAD "x = input([4])\na = exp(x)\nb = mul.Tensor(a, 2.0)\nw = as_strided(b, [2], [2], 1)\nc = softplus(w)\nreturn (c,)\n",
		"a = exp(x); b = mul_.Tensor(a); w = as_strided(b); c = softplus(w); return c");
	/* one of the operand, made before and read after */
	becomes(HEAD "x = input([4])\na = exp(x)\nw = as_strided(a, [2], [2], 1)\nb = mul.Tensor(a, 2.0)\nc = softplus(w)\nreturn (b, c)\n",
		"a = exp(x); w = as_strided(a); b = mul.Tensor(a); c = softplus(w); return b c");
}

static void test_options(void)
{
	struct prog *p = program(HEAD "x = input([3], requires_grad=True)\ng = input([3])\na = mul.Tensor(x, 2.0)\nb = mul.Tensor(a, 3.0)\n"
								  "return (b,)\nbackward (b: g,)\n");
	struct compile_options o = {.stage = compile_nstages() - 1, .validate = true};
	struct compiled c;
	struct err err = {0};
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK, "%s", err.msg);
	EXPECT_STR(rows(&c.part[0].p), "a = mul.Tensor(x); b = mul_.Tensor(a); mul = mul.Tensor(g); mul_1 = mul_.Tensor(mul); return b mul_1");
	o.off = 1u << npasses;
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK, "%s", err.msg);
	EXPECT_STR(rows(&c.part[0].p), "a = mul.Tensor(x); b = mul.Tensor(a); mul = mul.Tensor(g); mul_1 = mul.Tensor(mul); return b mul_1");
	o.off = 0;
	o.keep_requires_grad = true; /* autograd will have saved what the rows read */
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK && !strstr(rows(&c.part[0].p), "mul_.Tensor"), "%s", rows(&c.part[0].p));
	o.keep_requires_grad = false;
	EXPECT(compile_stage_find(&o.stage, "dce"), "dce is a stage");
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK && !strstr(rows(&c.part[0].p), "mul_.Tensor"), "%s", rows(&c.part[0].p));
	EXPECT(compile_stage_find(&o.stage, "reinplace"), "reinplace is a stage");
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK && strstr(rows(&c.part[0].p), "mul_.Tensor"), "%s", rows(&c.part[0].p));
}

/* ---- invariants ---- */

/* want: NULL: nothing is wrong. */
static void writes(const char *text, const char *source, const char *want)
{
	struct err err = {0};
	struct prog *p = program(text), again;
	struct owners owners;
	owners_of_source(&owners, source ? program(source) : p);
	bool ok = validate_infer(&again, p, &arena, &err) && validate_writes(&again, &owners, &err);
	EXPECT(ok == !want, "%s: %s", text, err.msg);
	EXPECT_STR(err.msg, want ? want : "");
}

/* As a pass that reinplaces without looking would leave them. */
static void test_writes(void)
{
	writes(HEAD "x = input([3])\na = exp(x)\nb = mul_.Tensor(a, 2.0)\nc = neg(b)\nreturn (c,)\n", NULL, NULL);
	writes(HEAD "x = input([3])\na = exp(x)\nb = mul_.Tensor(a, 2.0)\nc = neg(a)\nreturn (c,)\n", NULL,
		"I4: 'c' (neg) reads 'a', whose memory has been written since");
	writes(HEAD "x = input([3])\na = exp(x)\nv = slice.Tensor(a, end=2)\nb = mul_.Tensor(a, 2.0)\nc = neg(v)\nreturn (b, c)\n", NULL,
		"I4: 'c' (neg) reads 'v', whose memory has been written since");
	writes(HEAD "x = input([3])\na = exp(x)\nb = mul_.Tensor(a, 2.0)\nv = slice.Tensor(a, end=2)\nc = neg(v)\nreturn (b, c)\n", NULL,
		"I4: 'c' (neg) reads 'v', whose memory has been written since");
	writes(HEAD "x = input([3])\na = exp(x)\nb = mul_.Tensor(a, 2.0)\nreturn (a, b)\n", NULL,
		"I4: 'a' (exp) is returned, but its memory has been written since");
	writes(HEAD "x = input([3])\na = exp(x)\nb = mul_.Tensor(a, 2.0)\nd = stack([b, a])\nreturn (d,)\n", NULL,
		"I4: 'd' (stack) reads 'a', whose memory has been written since");
	/* written in two places, by one name */
	writes(HEAD "x = input([3])\na = exp(x)\nb = mul_.Tensor(a, 2.0)\nc = add_.Tensor(a, 2.0)\nreturn (c,)\n", NULL,
		"I4: 'c' (add_.Tensor) reads 'a', whose memory has been written since");
	/* a scatter that became a write: the base is meant as it is now, or as it was */
	writes(HEAD "x = input([3])\ny = input([2])\na = exp(x)\nv = slice.Tensor(a, end=2)\nw = copy_(v, y)\nb = alias(a)\nc = neg(b)\n"
				"return (c,)\n",
		NULL, NULL);
	writes(HEAD "x = input([3])\ny = input([2])\na = exp(x)\nv = slice.Tensor(a, end=2)\nw = copy_(v, y)\nb = alias(a)\nc = neg(a)\n"
				"return (b, c)\n",
		NULL, "I4: 'c' (neg) reads 'a', whose memory has been written since");
	/* memory that overlaps itself: one cell, several numbers (PyTorch #183986) */
	writes(HEAD "x = input([1, 3])\ni = input([1], dtype=i64, data=[0])\na = exp(x)\ne = expand(a, [2, 3])\n"
				"b = index_fill_.int_Scalar(e, 0, i, 0)\nreturn (b,)\n",
		NULL, "I4: 'b' (index_fill_.int_Scalar) writes memory that overlaps itself");
	/* what the row reads lies in what it writes */
	writes(HEAD
		"x = input([4])\na = exp(x)\nv = slice.Tensor(a, end=3)\nw = slice.Tensor(a, start=1)\nb = mul_.Tensor(v, w)\nreturn (b,)\n",
		NULL, "I4: 'b' (mul_.Tensor) reads 'w', which lies in the memory that it writes");
	writes(HEAD "x = input([4])\na = exp(x)\nb = mul_.Tensor(a, a)\nreturn (b,)\n", NULL, NULL);
	writes(HEAD "x = input([4])\na = exp(x)\nb = copy_(a, a)\nreturn (b,)\n", NULL, NULL);
	/* inputs: what the source writes, the outputs that lie there */
	writes(HEAD "x = input([3])\nb = mul_.Tensor(x, 2.0)\nreturn (x,)\n", NULL, NULL);
	writes(HEAD "x = input([3])\nb = mul_.Tensor(x, 2.0)\nc = neg(x)\nreturn (b, c)\n", NULL,
		"I4: 'c' (neg) reads 'x', whose memory has been written since");
	writes(HEAD "x = input([3])\nb = mul_.Tensor(x, 2.0)\nreturn (b,)\n", HEAD "x = input([3])\nb = mul.Tensor(x, 2.0)\nreturn (b,)\n",
		"I4: 'b' (mul_.Tensor) writes an input that the source does not write");
}

/* A shape rule that trusts the base's strides: the layouts are those that it would predict. */
static void scatters(const char *text, const char *like, const char *want)
{
	struct err err = {0};
	struct prog *p = program(text);
	EXPECT(validate_scatters(p, &err), "%s: %s", text, err.msg);
	const int s = prog_find(p, "s");
	const enum dtype was = node_meta(p, s)->dtype;
	p->node[s].out[0].meta = *node_meta(p, prog_find(p, like));
	p->node[s].out[0].meta.dtype = was;
	EXPECT(validate_scatters(p, &err) == !want, "%s: not seen", text);
	EXPECT_STR(err.msg, want ? want : "");
}

static void test_scatter_layouts(void)
{
	scatters(HEAD
		"x = input([4, 1, 33])\ny = input([4, 6, 33])\ne = expand(x, [4, 13, 33])\ns = slice_scatter(e, y, 1, 0, 6)\nreturn (s,)\n",
		"e", "I5: 's' (slice_scatter) is not dense");
	scatters(HEAD "x = input([1, 3])\ny = input([3])\ne = expand(x, [3, 3])\ns = diagonal_scatter(e, y)\nreturn (s,)\n", "e",
		"I5: 's' (diagonal_scatter) is not dense");
	scatters(HEAD "x = input([1, 3])\ni = input([1], dtype=i64, data=[0])\ny = input([1, 3])\ne = expand(x, [3, 3])\n"
				  "s = index_add(e, 0, i, y)\nreturn (s,)\n",
		"e", "I5: 's' (index_add) is not dense");
	scatters(HEAD "x = input([2, 3])\ny = input([2])\nt = t(x)\nc = clone(x)\nd = reshape(c, [3, 2])\ns = select_scatter(t, y, 0, 1)\n"
				  "return (s, d)\n",
		"d", "I5: 's' (select_scatter) does not keep its base's strides");
	scatters(HEAD "x = input([2, 3])\ny = input([2])\nt = t(x)\ns = select_scatter(t, y, 0, 1)\nreturn (s,)\n", "t", NULL);
}

static void test_devices(void)
{
	struct err err = {0};
	struct prog *p = program(HEAD "x = input([3])\ny = input([3])\ni = input([3], dtype=i64)\na = add_.Tensor(x, y)\n"
								  "b = index_put_(x, [i], y)\nc = copy_(x, y)\nreturn (x,)\n");
	struct node *a = &p->node[prog_find(p, "a")], *y = &p->node[prog_find(p, "y")];
	struct meta *i = &p->node[prog_find(p, "i")].out[0].meta;
	EXPECT(validate_devices(p, &err), "%s", err.msg);
	i->device = DEV_META; /* has no data: nothing is put */
	EXPECT(validate_devices(p, &err), "%s", err.msg);
	i->device = DEV_CPU;
	EXPECT(!validate_devices(p, &err), "positions on another device");
	EXPECT_STR(err.msg, "I7: 'b' (index_put_) reads 'i', which is on another device");
	err = (struct err){0};
	i->device = DEV_RUN;
	y->out[0].meta.device = DEV_META;
	EXPECT(!validate_devices(p, &err), "a copy of a tensor without data");
	EXPECT_STR(err.msg, "I7: 'c' (copy_) reads 'y', which is on another device");
	err = (struct err){0};
	a->out = memcpy(ARENA_NEW(&arena, struct value, 1), a->out, sizeof *a->out);
	a->out[0].meta.device = DEV_META; /* the right-hand side's */
	EXPECT(!validate_devices(p, &err), "the destination decides");
	EXPECT_STR(err.msg, "I7: 'a' (add_.Tensor) is not on its destination's device");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_inplace);
	RUN(test_scatters);
	RUN(test_put_back);
	RUN(test_overwritten_later);
	RUN(test_windows);
	RUN(test_options);
	RUN(test_writes);
	RUN(test_scatter_layouts);
	RUN(test_devices);
	arena_free(&arena);
	return TEST_END();
}
