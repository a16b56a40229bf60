/* passes_test.c: what each pass does to a program and what it leaves alone; what each invariant says of a program that breaks it.
 *
 * `after` compiles with one pass alone (and dce, which drops what the others leave dead) and compares the rows that are left. */
#include "compiled/compile.h"
#include "compiled/passes/validate.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "tests/unit/rows.h"

#define HEAD "# scatterproof 1\n"

static void after(const char *pass, const char *text, const char *want)
{
	const struct prog *p = program(text);
	struct compiled c;
	struct err err = {0};
	struct compile_options o = {
		.stage = compile_nstages() - 1, .off = ~(1u << pass_find(pass) | 1u << pass_find("dce")), .freezing = true, .validate = true};
	enum compile_status status = compile(&c, p, &o, &arena, &err);
	EXPECT(status == COMPILE_OK, "%s: %s", text, err.msg);
	if (status == COMPILE_OK)
		EXPECT_STR(rows(&c.part[0].p), want);
}

static void test_noop(void)
{
	/* copies that nobody tells from what they copy */
	after("noop", HEAD "x = input([2, 3])\ny = clone(x)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	after("noop", HEAD "x = input([2, 3])\ny = _to_copy(x, dtype=f32)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	after("noop", HEAD "x = input([2, 3])\ny = neg(x)\nz = clone(y)\nreturn (z,)\n", "y = neg(x); return y");
	after("noop", HEAD "x = input([2, 3])\ny = input([2, 3])\ns = slice_scatter(x, y)\nz = neg(s)\nreturn (z,)\n", "z = neg(y); return z");
	/* views that show all of it as it is */
	after("noop",
		HEAD
		"x = input([2, 3])\na = view(x, [2, 3])\nb = expand(a, [2, 3])\nc = permute(b, [0, 1])\nd = slice.Tensor(c, end=2)\nreturn (d,)\n",
		"return x");
	/* a copy that is returned: its memory is its own */
	after("noop", HEAD "x = input([2, 3])\ny = clone(x)\nreturn (y,)\n", "y = clone(x); return y");
	after("noop", HEAD "x = input([2, 3])\ny = neg(x)\nz = clone(y)\nreturn (y, z)\n", "y = neg(x); z = clone(y); return y z");
	after("noop", HEAD "x = input([2, 3])\ny = clone(x)\nz = t(y)\nreturn (z,)\n", "y = clone(x); z = t(y); return z");
	/* what was read before it was written; the write needs no copy of the copy */
	after("noop", HEAD "x = input([3])\ny = clone(x)\nw = copy_(x, y)\nreturn (y,)\n", "y = clone(x); copy_ = copy_(x, y); return y");
	/* two inputs change places: neither copy_ may read what the other one wrote */
	after("noop", HEAD "x = input([3])\ny = input([3])\na = clone(x)\nb = copy_(x, y)\nc = copy_(y, a)\nz = neg(y)\nreturn (z,)\n",
		"clone = clone(y); clone_1 = clone(x); z = neg(clone_1); copy_ = copy_(x, clone); copy__1 = copy_(y, clone_1); return z");
	/* other strides; another storage offset, which outputs and what scatters return show; memory that is read by place */
	after("noop", HEAD "x = input([6], offset=2)\ns = input([2])\ny = clone(x)\nz = slice_scatter(y, s, end=2)\nreturn (z,)\n",
		"y = clone(x); z = slice_scatter(y, s); return z");
	after("noop", HEAD "x = input([2, 3], stride=[6, 2])\ny = clone(x)\nz = neg(y)\nreturn (z,)\n", "y = clone(x); z = neg(y); return z");
	after("noop", HEAD "x = input([6])\nf = neg(x)\nv = slice.Tensor(f, start=2)\ny = clone(v)\nreturn (y,)\n",
		"f = neg(x); v = slice.Tensor(f); y = clone(v); return y");
	after("noop",
		HEAD "x = input([6])\nv = slice.Tensor(x, end=4)\ny = clone(v)\na = as_strided(y, [2], [1], 1)\nz = neg(a)\nreturn (z,)\n",
		"v = slice.Tensor(x); y = clone(v); a = as_strided(y); z = neg(a); return z");
}

static void test_numbers(void)
{
	after("noop", HEAD "x = input([3])\ny = mul.Tensor(x, 1.0)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	after("noop", HEAD "x = input([3])\ny = div.Scalar(x, 1.0)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	after("noop", HEAD "x = input([3])\ny = sub.Tensor(x, 0.0)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	after("noop", HEAD "x = input([3])\ny = add.Tensor(x, -0.0)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	after("noop", HEAD "x = input([3], dtype=i64)\ny = add.Scalar(x, 0)\nz = neg(y)\nreturn (z,)\n", "z = neg(x); return z");
	/* -0 + 0 is +0, and so is -0 - -0 */
	after("noop", HEAD "x = input([3])\ny = add.Tensor(x, 0.0)\nz = neg(y)\nreturn (z,)\n", "y = add.Tensor(x); z = neg(y); return z");
	after("noop", HEAD "x = input([3])\ny = add.Scalar(x, 0)\nz = neg(y)\nreturn (z,)\n", "y = add.Scalar(x); z = neg(y); return z");
	after("noop", HEAD "x = input([3])\ny = sub.Tensor(x, -0.0)\nz = neg(y)\nreturn (z,)\n", "y = sub.Tensor(x); z = neg(y); return z");
	/* another dtype; alpha */
	after("noop", HEAD "x = input([3], dtype=i64)\ny = mul.Tensor(x, 1.0)\nz = neg(y)\nreturn (z,)\n",
		"y = mul.Tensor(x); z = neg(y); return z");
	after("noop", HEAD "x = input([3])\ny = add.Tensor(x, -0.0, alpha=-1)\nz = neg(y)\nreturn (z,)\n",
		"y = add.Tensor(x); z = neg(y); return z");
}

static void test_views(void)
{
	after("views", HEAD "x = input([2, 6])\na = view(x, [12])\nb = view(a, [3, 4])\nz = neg(b)\nreturn (z,)\n",
		"b = view(x); z = neg(b); return z");
	after("views", HEAD "x = input([2, 3, 4])\na = permute(x, [1, 2, 0])\nb = permute(a, [-2, 0, 2])\nz = neg(b)\nreturn (z,)\n",
		"b = permute(x); z = neg(b); return z");
	after("views", HEAD "x = input([2, 3, 4])\na = permute(x, [1, 2, 0])\nb = permute(a, [2, 0, 1])\nz = neg(b)\nreturn (z,)\n",
		"z = neg(x); return z");
	after("views", HEAD "x = input([3, 1])\na = expand(x, [3, 4])\nb = expand(a, [2, 3, -1])\nz = neg(b)\nreturn (z,)\n",
		"b = expand(x); z = neg(b); return z");
	after("views", HEAD "x = input([4])\na = unsqueeze(x, 0)\nb = squeeze.dim(a, 0)\nc = unsqueeze(x, 0)\nreturn (a, b, c)\n",
		"a = unsqueeze(x); return a x a");
	/* the sizes need the first view's strides: view([6]) of a transposed tensor is no view */
	after("views", HEAD "x = input([2, 3])\na = t(x)\nb = view(a, [3, 2, 1])\nz = neg(b)\nreturn (z,)\n",
		"a = t(x); b = view(a); z = neg(b); return z");
	/* what starts elsewhere is another view */
	after("views", HEAD "x = input([4])\na = slice.Tensor(x, end=2)\nb = slice.Tensor(x, start=2)\nreturn (a, b)\n",
		"a = slice.Tensor(x); b = slice.Tensor(x); return a b");
}

static void test_cse(void)
{
	after("cse", HEAD "x = input([3])\na = exp(x)\nb = exp(x)\nz = add.Tensor(a, b)\nreturn (z,)\n",
		"a = exp(x); z = add.Tensor(a, a); return z");
	after("cse",
		HEAD "x = input([3, 2])\na = max.dim(x, 1)\nb = max.dim(x, 1)\nv = getitem(a, 0)\nw = getitem(b, 0)\nz = add.Tensor(v, w)\n"
			 "return (z,)\n",
		"a = max.dim(x); v = getitem(a); z = add.Tensor(v, v); return z");
	after("cse", HEAD "x = input([3])\na = exp(x)\nb = exp(x)\nz = neg(b)\nreturn (a, z)\n", "a = exp(x); z = neg(a); return a z");
	after("cse", HEAD "x = input([3])\na = slice.Tensor(x, end=2)\nb = slice.Tensor(x, end=2)\nreturn (a, b)\n",
		"a = slice.Tensor(x); return a a");
	/* two outputs have two memories; 0.0 is not -0.0; other arguments */
	after("cse", HEAD "x = input([3])\na = exp(x)\nb = exp(x)\nreturn (a, b)\n", "a = exp(x); b = exp(x); return a b");
	after("cse", HEAD "x = input([3])\na = exp(x)\nb = exp(x)\nv = slice.Tensor(b, end=2)\nreturn (a, v)\n",
		"a = exp(x); b = exp(x); v = slice.Tensor(b); return a v");
	after("cse", HEAD "x = input([3])\na = add.Tensor(x, 0.0)\nb = add.Tensor(x, -0.0)\nz = div.Tensor(a, b)\nreturn (z,)\n",
		"a = add.Tensor(x); b = add.Tensor(x); z = div.Tensor(a, b); return z");
	after("cse", HEAD "x = input([3])\ny = input([3])\na = mul.Tensor(x, y)\nb = mul.Tensor(y, x)\nz = sub.Tensor(a, b)\nreturn (z,)\n",
		"a = mul.Tensor(x, y); b = mul.Tensor(y, x); z = sub.Tensor(a, b); return z");
	/* a write between the two: functionalise has made other operands of it */
	after("cse", HEAD "x = input([3])\na = exp(x)\nw = mul_.Tensor(x, 2.0)\nb = exp(x)\nz = add.Tensor(a, b)\nreturn (z,)\n",
		"a = exp(x); w = mul.Tensor(x); b = exp(w); z = add.Tensor(a, b); copy_ = copy_(x, w); return z");
}

static void test_dce(void)
{
	after("dce", HEAD "x = input([3])\na = exp(x)\nb = neg(a)\nz = neg(x)\nreturn (z,)\n", "z = neg(x); return z");
	after("dce", HEAD "x = input([3])\nw = mul_.Tensor(x, 2.0)\nz = neg(x)\na = exp(z)\nreturn (z,)\n",
		"w = mul.Tensor(x); z = neg(w); copy_ = copy_(x, w); return z");
	/* an index out of range raises whether or not somebody reads the row */
	after("dce",
		HEAD "x = input([3])\ni = input([2], dtype=i64, data=[0, 7])\na = index_select(x, 0, i)\nb = neg(a)\nz = neg(x)\nreturn (z,)\n",
		"a = index_select(x, i); z = neg(x); return z");
}

static void test_fold(void)
{
	after("fold", HEAD "x = input([3])\na = full([3], 2.0)\nb = ones([3])\nc = add.Tensor(a, b)\nz = mul.Tensor(x, c)\nreturn (z,)\n",
		"c = full(3.0); z = mul.Tensor(x, c); return z");
	after("fold",
		HEAD
		"x = input([3])\na = zeros([1, 3])\nb = neg(a)\nc = expand(b, [2, 3])\nd = mul.Tensor(c, 2.0)\nz = add.Tensor(x, d)\nreturn (z,)\n",
		"d = full(-0.0); z = add.Tensor(x, d); return z");
	after("fold", HEAD "x = input([3])\na = ones_like(x)\nb = sum(a)\nreturn (b,)\n", "b = full(3.0); return b");
	after("fold",
		HEAD "x = input([3])\na = zeros([2], dtype=i64)\nb = ones([2], dtype=i64)\nc = stack([a, a])\nd = le.Tensor(a, b)\nreturn (c, d)\n",
		"c = full(0); d = full(True); return c d");
	/* elements that differ; NaN; what no `full` lays out; an input */
	after("fold", HEAD "x = input([3])\na = zeros([1])\nb = ones([1])\nc = stack([a, b])\nreturn (c,)\n",
		"a = full(0.0); b = full(1.0); c = stack(); return c");
	after("fold", HEAD "x = input([3])\na = zeros([2])\nb = div.Tensor(a, a)\nreturn (b,)\n",
		"a = full(0.0); b = div.Tensor(a, a); return b");
	after("fold", HEAD "x = input([3, 2])\na = t(x)\nb = zeros_like(a)\nreturn (b,)\n", "a = t(x); b = zeros_like(a); return b");
	after(
		"fold", HEAD "x = input([3])\na = ones([3])\nz = add.Tensor(x, a)\nreturn (z,)\n", "a = full(1.0); z = add.Tensor(x, a); return z");
}

/* ---- invariants ---- */

static int named(const struct prog *p, const char *name)
{
	const int node = prog_find(p, name);
	EXPECT(node >= 0, "no row '%s'", name);
	return node;
}

static void test_no_writes(void)
{
	struct err err = {0};
	struct prog *p = program(HEAD "x = input([3])\ny = neg(x)\nw = mul_.Tensor(y, 2.0)\nreturn (y,)\n");
	EXPECT(!validate_no_writes(p, &err), "a write was not seen");
	EXPECT_STR(err.msg, "I1: 'w' (mul_.Tensor) writes before the epilogue");
	err = (struct err){0};
	EXPECT(!validate_epilogue(p, &err), "a write was not seen");
	EXPECT_STR(err.msg, "I1: 'w' (mul_.Tensor) writes, but is no copy_ to an input");
	p = program(HEAD "x = input([3])\ny = neg(x)\nw = copy_(x, y)\nz = neg(y)\nreturn (z,)\n");
	err = (struct err){0};
	EXPECT(!validate_epilogue(p, &err), "a row behind the epilogue was not seen");
	EXPECT_STR(err.msg, "I1: 'z' (neg) comes behind the epilogue's first copy_");
	p = program(HEAD "x = input([3])\ny = neg(x)\nw = copy_(x, y)\nz = slice.Tensor(x, end=2)\nreturn (z,)\n");
	EXPECT(validate_epilogue(p, &err), "%s", err.msg);
}

static bool metas_hold(const struct prog *p, struct err *err)
{
	struct prog again;
	return validate_infer(&again, p, &arena, err) && validate_metas(p, &again, err);
}

/* A pass that gave a row another operand and inferred nothing. */
static void test_metas(void)
{
	struct err err = {0};
	struct prog *p =
		program(HEAD "x = input([2, 3])\ny = input([2, 3], stride=[1, 2])\na = exp(x)\nb = slice.Tensor(x, 1, 1)\nreturn (a, b)\n");
	EXPECT(metas_hold(p, &err), "%s", err.msg);
	p->node[named(p, "a")].arg[0] = arg_tensor(named(p, "y"));
	EXPECT(!metas_hold(p, &err), "other strides were not seen");
	EXPECT_STR(err.msg, "I2: 'a' (exp) is f32[2, 3][3, 1]+0, but its operands give f32[2, 3][1, 2]+0");
	p->node[named(p, "a")].arg[0] = arg_tensor(named(p, "x"));
	p->node[named(p, "b")].arg[A_slice_Tensor_start] = arg_int(2);
	err = (struct err){0};
	EXPECT(!metas_hold(p, &err), "another size was not seen");
	EXPECT_STR(err.msg, "I2: 'b' (slice.Tensor) is f32[2, 2][3, 1]+1, but its operands give f32[2, 1][3, 1]+2");
	p->node[named(p, "b")].arg[A_slice_Tensor_dim] = arg_int(5);
	err = (struct err){0};
	EXPECT(!metas_hold(p, &err) && strstr(err.msg, "I2: the rows do not fit together: "), "%s", err.msg);
}

/* Two results are `a` and `b`, then something else. */
static void aliased(const char *text, enum result_role role, const char *was, const char *is, const char *want)
{
	struct prog *p = program(text);
	struct aliases before, after;
	const struct owners owners = {.donated = {false}};
	struct prog again;
	struct err err = {0};
	struct pure g = {.p = p, .nresult = 2, .result = {{RESULT_OUTPUT, named(p, "a")}, {role, named(p, was)}}};
	EXPECT(validate_infer(&again, p, &arena, &err), "%s", err.msg);
	aliases_of(&before, &g, &again, &owners);
	g.result[1].value = named(p, is);
	aliases_of(&after, &g, &again, &owners);
	EXPECT(validate_aliases(&before, &after, &err) == !want, "%s: %s -> %s: %s", text, was, is, err.msg);
	EXPECT_STR(err.msg, want ? want : "");
}

static void test_aliases(void)
{
	const char *text =
		HEAD "x = input([3])\ny = input([3])\na = exp(x)\nb = clone(a)\nc = clone(x)\nv = slice.Tensor(x, end=2)\nreturn (a, b, c, v)\n";
	aliased(text, RESULT_OUTPUT, "b", "c", NULL);
	aliased(text, RESULT_OUTPUT, "v", "x", NULL);
	aliased(text, RESULT_OUTPUT, "b", "a", "I3: results 0 and 1, 'a' and 'a' (exp), share memory and did not before");
	aliased(text, RESULT_GRADIENT, "b", "a", "I3: results 0 and 1, 'a' and 'a' (exp), share memory and did not before");
	aliased(text, RESULT_WRITTEN, "b", "a", NULL);
	aliased(text, RESULT_OUTPUT, "c", "v", "I3: result 1, 'v' (slice.Tensor), lies in an input's memory and did not before");
	aliased(text, RESULT_OUTPUT, "v", "y", "I3: result 1, 'y' (input), lies in an input's memory and did not before");
	aliased(text, RESULT_WRITTEN, "c", "x", "I3: result 1, 'x' (input), lies in an input's memory and did not before");
}

static void test_options(void)
{
	const struct prog *p = program(HEAD "x = input([3])\na = ones([3])\nb = neg(a)\nc = clone(b)\nd = clone(b)\ne = exp(x)\nreturn (c,)\n");
	struct compile_options o = {.stage = compile_nstages() - 1, .validate = true};
	struct compiled c;
	struct err err = {0};
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK, "%s", err.msg);
	EXPECT_STR(rows(&c.part[0].p), "a = ones(); b = neg_(a); return b"); /* no freezing, no folding */
	o.off = ~0u;
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK && c.part[0].p.nnode == p->nnode, "all passes off: %s", rows(&c.part[0].p));
	o.off = 0;
	EXPECT(compile_stage_find(&o.stage, "cse") && !compile_stage_find(&o.stage, "sce"), "names of stages");
	EXPECT(
		compile(&c, p, &o, &arena, &err) == COMPILE_OK && prog_find(&c.part[0].p, "e") >= 0, "dce ran before cse: %s", rows(&c.part[0].p));
}

static void tell(void *ctx, const char *step, const char *part, const struct prog *p)
{
	(void)p;
	sb_printf(ctx, "%s%s%s ", step, part ? " of " : "", part ? part : "");
}

/* Which steps run behind which others, as the table has them; what is behind the last one asked for is left out, but what always runs. */
static void walks(const struct compile_options *asked, const char *want)
{
	const struct prog *p =
		program(HEAD "x = input([3], requires_grad=True)\ng = input([])\ny = sigmoid(x)\nz = sum(y)\nreturn (z,)\nbackward (z: g,)\n");
	struct compile_options o = *asked;
	struct compiled c;
	struct err err = {0};
	struct strbuf told;
	sb_init(&told);
	o.done = tell;
	o.ctx = &told;
	EXPECT(compile(&c, p, &o, &arena, &err) == COMPILE_OK, "%s", err.msg);
	EXPECT_STR(told.s, want);
	sb_free(&told);
}

static void test_steps(void)
{
	walks(&(struct compile_options){.stage = STAGE_FUNCTIONAL}, "functional epilogue ");
	walks(&(struct compile_options){.stage = STAGE_JOINT}, "functional joint epilogue ");
	walks(&(struct compile_options){.stage = STAGE_JOINT, .to_code = true}, "functional joint expand epilogue ");
	walks(&(struct compile_options){.stage = STEP_cse, .off = 1u << pass_find("views"), .decompose = true},
		"functional joint decompose noop cse epilogue ");
	walks(&(struct compile_options){.stage = compile_nstages() - 1, .off = 1u << npasses, .freezing = true},
		"functional joint fold noop views cse dce epilogue ");
	walks(&(struct compile_options){.stage = STEP_noop, .partition = true},
		"functional joint partition of forward partition of backward noop of forward epilogue of forward noop of backward "
		"epilogue of backward ");
	for (int s = 0; s < STEP_lower; s++) {
		int stage;
		EXPECT(compile_stage_find(&stage, compile_steps[s].name) == (s != STEP_epilogue), "%s is a stage", compile_steps[s].name);
	}
	EXPECT_INT(step_stop(STEP_dce + 1), STEP_reinplace);
	EXPECT_INT(step_stop(STEP_reinplace + 1), -1);
	EXPECT_INT(step_find_of_stage("decomposed"), STEP_decompose);
	EXPECT_INT(step_find_of_stage(""), -1);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_steps);
	RUN(test_noop);
	RUN(test_numbers);
	RUN(test_views);
	RUN(test_cse);
	RUN(test_dce);
	RUN(test_fold);
	RUN(test_no_writes);
	RUN(test_metas);
	RUN(test_aliases);
	RUN(test_options);
	arena_free(&arena);
	return TEST_END();
}
