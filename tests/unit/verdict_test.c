/* verdict_test.c: from a result to a verdict: names of what raises, reasons that are counted, legitimate differences, and results that
 * decide nothing. Results are builtin:eager's, spoiled as a target might. */
#include "eager/run/interp.h"
#include "compiled/targets/driver.h"
#include "compiled/targets/torch/arithmetic.h"
#include "compiled/targets/message.h"
#include "fuzz/triage/failure.h"
#include "fuzz/triage/plain.h"
#include "fuzz/triage/verdict.h"
#include "tests/unit/program.h"
#include "fuzz/triage/profile.h"
#include "generated/op_id.h"
#include "fuzz/triage/references.h"

static struct target target(const char *name)
{
	struct target t;
	struct err err = {0};
	bool ok = target_parse(&t, name, &err);
	EXPECT(ok, "%s", err.msg);
	return t;
}

static void ran(struct result *r, const struct prog *p)
{
	struct err err = {0};
	EXPECT(interp_run(r, p, &arena, NULL, &err) == INTERP_OK, "%s", err.msg);
}

static struct outcome judged(const struct prog *p, const struct result *r, const char *name)
{
	struct outcome o;
	struct target t = target(name);
	outcome_of(&o, p, r, &t, NULL, &arena);
	return o;
}

static const char NEG[] = "# scatterproof 1\nx = input([4], seed=1)\ny = neg(x)\nreturn (y,)\n";

static const char *raised(const char *message)
{
	struct result r = {.status = RES_RAISED, .message = message, .stderr_tail = ""};
	struct outcome o = judged(program(NEG), &r, "torch:inductor@cpu");
	EXPECT_INT(o.verdict, VD_MISMATCH);
	EXPECT_INT(o.kind, FINDING_RAISE);
	return o.signature;
}

static void test_raise_signatures(void)
{
	EXPECT_STR(raised("InductorError: TypeError: sub() takes 3 positional arguments but 4 were given"),
		"raise TypeError: sub() takes N positional arguments but N were given");
	EXPECT_STR(
		raised("BackendCompilerFailed: backend='inductor' raised:\nAssertionError: n=copy_, n.args[0]=empty, placeholders={a_1, b_2}, x"),
		"raise AssertionError: n=, n.args[]=, placeholders={}, x");
	EXPECT_STR(raised("RuntimeError: size of tensor a (33) must match [7, 9] and [1]\nmore"),
		"raise RuntimeError: size of tensor a (N) must match [] and []");
	EXPECT_STR(raised("ValueError"), "raise ValueError");
	EXPECT_STR(raised(""), "raise ");
}

/* Programs that say that eager must refuse them. */
static void test_says_that_it_must_raise(void)
{
	static const char SIZES[] = "# scatterproof 1\nx = input([4], seed=1)\ny = input([3], seed=2)\nz = add.Tensor(x, y)\nreturn (z,)\n"
								"raises \"must match the size of tensor b\"\n";
	static const char CLAMP[] = "# scatterproof 1\nx = input([4], dtype=u8, seed=1)\nz = clamp(x, max=-1)\nreturn (z,)\nraises\n";
	static const char FINE[] = "# scatterproof 1\nx = input([4], seed=1)\nz = neg(x)\nreturn (z,)\nraises\n";
	static const struct {
		const char *program, *target, *raised;
		enum verdict verdict;
		const char *why;
	} row[] = {
		{SIZES, "torch:eager", "RuntimeError: The size of tensor a (4) must match the size of tensor b (3)", VD_PASS, "raises, as it must"},
		{SIZES, "torch:eager", "RuntimeError: something else", VD_INVALID,
			"does not say 'must match the size of tensor b': RuntimeError: something"},
		{SIZES, "torch:eager", NULL, VD_INVALID, "eager does not"},
		{SIZES, "torch:inductor@cpu", "TorchRuntimeError: in its own words", VD_PASS, "raises, as it must"},
		{SIZES, "torch:inductor@cpu", NULL, VD_MISMATCH, "runs what eager refuses: RuntimeError: The size of tensor a (4) must match"},
		{FINE, "torch:inductor@cpu", NULL, VD_UNJUDGED, "no rule of ours says why"},
		{CLAMP, "torch-2.15.0:eager", "RuntimeError: Clamp max value -1 is outside the representable range of Byte", VD_PASS, "as it must"},
		{CLAMP, "torch-2.15.0:inductor@cpu", NULL, VD_MISMATCH, "runs what eager refuses: RuntimeError: Clamp max value -1 is outside"},
		{CLAMP, "torch-2.11.0:inductor@cpu", NULL, VD_UNJUDGED, "no rule of ours says why"},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct result r = {.status = row[i].raised ? RES_RAISED : RES_OK, .message = row[i].raised ? row[i].raised : "", .stderr_tail = ""};
		struct outcome o = judged(program(row[i].program), &r, row[i].target);
		EXPECT(o.verdict == row[i].verdict && strstr(o.why, row[i].why), "%d: %s: %s", i, verdict_name[o.verdict], o.why);
	}
	struct result ok = {.status = RES_OK, .message = "", .stderr_tail = ""};
	struct outcome o = judged(program(SIZES), &ok, "torch:inductor@cpu");
	EXPECT_INT(o.kind, FINDING_RAISE);
	EXPECT_STR(o.signature, "raise accepts: must match the size of tensor b");
	struct result known = {
		.status = RES_UNSUPPORTED, .compiling = true, .message = "write into memory that overlaps itself (…)", .stderr_tail = ""};
	EXPECT_INT(judged(program(SIZES), &known, "torch:inductor@cpu").verdict, VD_PASS);
	/* What a target does not take, or compiled nothing of, it has not refused. */
	struct result never_ran = {.status = RES_UNSUPPORTED, .message = "no mm yet", .stderr_tail = ""};
	EXPECT_INT(judged(program(SIZES), &never_ran, "torch:inductor@cpu").verdict, VD_UNSUPPORTED);
}

/* What eager does with a number that is open, or with a place that its kernel does not check, is no finding. */
static void test_undecided_may_raise(void)
{
	static const char NONZERO[] = "# scatterproof 1\nz = zeros([1])\nf = full([127], 1e30)\nx = cat([z, f])\np = prod.dim_int(x, dim=0)\n"
								  "n = nonzero(p, count=0)\nreturn (n,)\n";
	static const char LABEL[] =
		"# scatterproof 1\ng = input([3], seed=1)\nx = input([3, 4], seed=2)\nt = input([3], dtype=i64, data=[4, 1, 0])\n"
		"w = input([], seed=3)\nr = nll_loss_backward(g, x, t, None, 0, -100, w)\nreturn (r,)\n";
	struct result raises = {.status = RES_RAISED, .message = "RuntimeError: of the sizes", .stderr_tail = ""};
	struct result runs = {.status = RES_OK, .message = "", .stderr_tail = ""};
	struct outcome o = judged(program(NONZERO), &raises, "torch:eager");
	EXPECT(o.verdict == VD_UNJUDGED && !o.unexpected && strstr(o.why, "of nonzero depends on an undecided"), "%s", o.why);
	o = judged(program(LABEL), &runs, "torch:eager");
	EXPECT(o.verdict == VD_UNJUDGED && strstr(o.why, "names no class"), "%s", o.why);
}

/* A dtype's number says something, a temporary's does not. Signatures are keys of stores and keep neither. */
static void test_dtypes_in_messages(void)
{
	static const char *const row[][2] = {
		{"sum of 33 bf16 in f32", "sum of N bf16 in f32"},
		{"torch.float32 and torch.int64, (u8), b8.", "torch.float32 and torch.int64, (u8), b8."},
		{"float8_e4m3fn, BFloat16, complex128, int64_t, fp16", "float8_e4m3fn, BFloat16, complex128, int64_t, fp16"},
		{"x12 buf3 tmp5 f3 i7 f323 xf32 f32x2 tmp_i32 float33 e4m3", "xN bufN tmpN fN iN fN xfN fNxN tmp_iN floatN eNmN"},
		{"f32[4, 13][13, 1] from 2.11.0", "f32[][] from N.N.N"},
		{"dtype=f16, got bf16", "dtype=, got bf16"},
		{"f32", "f32"},
		{"1f32 2", "NfN N"},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++)
		EXPECT_STR(message_generalised(row[i][0], &arena), row[i][1]);
	EXPECT_STR(raised("RuntimeError: no kernel for bf16 and float64 in buf3"), "raise RuntimeError: no kernel for bfN and floatN in bufN");
}

/* The words by which a script knows an error again: the longest without what differs from case to case. */
static void test_parts_of_messages(void)
{
	static const char *const row[][2] = {
		{"IndexError: index 3 is out of bounds for dimension 0 with size 3", "is out of bounds for dimension"},
		{"InductorError: IndexError: index 3 is out", "is out"},
		{"BackendCompilerFailed: backend='inductor' raised:\nTypeError: sub() takes 3 arguments", "sub() takes"},
		{"RuntimeError: expected scalar type Float but found Half", "expected scalar type"},
		{"RuntimeError: no kernel for bfloat16 and buf3 in '/tmp/ab/c'", "no kernel for"},
		{"RuntimeError: x doesn't work with `f(x)` and more", "x doesn't work with"},
		{"RuntimeError: shape[1, 2] {zuf0} size=12, and no more", "and no more"},
		{"RuntimeError: first line of it\nthe second line is longer", "first line of it"},
		{"RuntimeError: \x1b[31mred alerts now\x07\xff bell", "alerts now"},
		{"AssertionError: ", ""},
		{"InductorError: AssertionError: ", "AssertionError"},
		{"12 34", ""},
		{"", ""},
	};
	const struct target t = target("torch:inductor@cpu");
	for (int i = 0; i < ARRAY_LEN(row); i++)
		EXPECT_STR(message_part(row[i][0], &t, &arena), row[i][1]);
}

static void test_long_messages(void)
{
	char *text = arena_zalloc(&arena, 5001);
	memset(text, 'x', 5000);
	memcpy(text, "RuntimeError: ", 14);
	struct result r = {.status = RES_RAISED, .message = text, .stderr_tail = ""};
	struct outcome o = judged(program(NEG), &r, "torch:inductor@cpu");
	EXPECT(strlen(o.why) < 1100 && strstr(o.why, "4000 characters more"), "%s", o.why);
	EXPECT_INT(strlen(o.detail), 5000);
}

static void test_plain_stage_raises(void)
{
	struct result r = {.status = RES_RAISED, .message = "RuntimeError: 3 of 4", .stderr_tail = ""};
	struct outcome o = judged(program(NEG), &r, "torch:eager@cpu");
	EXPECT_INT(o.verdict, VD_INVALID);
	EXPECT_STR(verdict_reason(&o, &arena), "invalid: RuntimeError: N of N");
	EXPECT_INT(judged(program(NEG), &r, "builtin:eager").verdict, VD_INVALID);
	o = judged(program(NEG), &r, "builtin:jit"); /* whoever judges runs the interpreter, and that does not raise */
	EXPECT_INT(o.verdict, VD_MISMATCH);
	EXPECT_INT(o.kind, FINDING_RAISE);
	r = (struct result){.status = RES_UNSUPPORTED, .message = "refuses that (RuntimeError: at 12)", .stderr_tail = ""};
	o = judged(program(NEG), &r, "torch:aot_eager@cpu");
	EXPECT_STR(verdict_reason(&o, &arena), "unsupported: refuses that");
}

/* What autograd refuses is refused everywhere: no finding of the compiler that says so, too, once its own plain stage has said it. */
static void test_both_raise(void)
{
	struct prog *p =
		program("# scatterproof 1\nx = input([2], seed=1, requires_grad=True)\ne = exp(x)\nz = mul_.Scalar(e, 2.0)\ng = full([2], 1.0)\n"
				"return (e,)\nbackward (e: g)\n");
	struct result r = {.status = RES_RAISED, .message = "RuntimeError: modified by an inplace operation", .stderr_tail = ""};
	struct result plain = r;
	struct target inductor = target("torch:inductor@cpu");
	struct outcome o = judged(p, &r, "torch:inductor@cpu");
	EXPECT(o.verdict == VD_MISMATCH && plain_needed(&o, &inductor), "our own rules do not excuse what torch:eager may run");
	plain_settle(&o, &r, &plain, p, &inductor, &arena);
	EXPECT(o.verdict == VD_INVALID && !o.unexpected, "eager and our rules agree");
	EXPECT_INT(judged(program(NEG), &r, "torch:inductor@cpu").verdict, VD_MISMATCH);
	static const char *const plainly[] = {"torch:eager", "builtin:eager", "builtin:jit"};
	for (int i = 0; i < ARRAY_LEN(plainly); i++) {
		o = judged(p, &r, plainly[i]);
		EXPECT(o.verdict == VD_INVALID && !o.unexpected, "%s: %s", plainly[i], verdict_name[o.verdict]);
	}
	EXPECT_INT(judged(p, &r, "python:x.py").verdict, VD_INVALID);
}

/* What a compiling target raises is asked of the plain stage, and only that: a program that eager refuses is invalid everywhere. */
static void test_plain_stage_is_asked(void)
{
	struct prog *p = program(NEG);
	struct result compiled = {.status = RES_RAISED, .message = "RuntimeError: odd", .stderr_tail = ""}, plain = compiled, fine;
	struct target inductor = target("torch-2.15.0:inductor@cuda+freezing=1"), eager = target("torch:eager@cpu"), of = plain_of(&inductor);
	struct strbuf sb;
	ran(&fine, p);
	sb_init(&sb);
	target_print(&sb, &of);
	EXPECT_STR(sb.s, "torch-2.15.0:eager@cuda");
	sb_free(&sb);
	struct outcome o = judged(p, &compiled, "torch:inductor@cpu");
	EXPECT_INT(o.verdict, VD_MISMATCH);
	EXPECT(plain_needed(&o, &inductor), "a raise of a compiled program");
	EXPECT(!plain_needed(&o, &eager), "nobody below eager");
	plain_settle(&o, &compiled, &fine, p, &inductor, &arena);
	EXPECT_INT(o.verdict, VD_MISMATCH);
	plain.message = "RuntimeError: eager refuses";
	plain_settle(&o, &compiled, &plain, p, &inductor, &arena);
	EXPECT_INT(o.verdict, VD_INVALID);
	EXPECT_STR(o.why, "RuntimeError: eager refuses");
	EXPECT(o.unexpected, "our rules accept it");
	struct result accepted = {.status = RES_OK, .message = "", .stderr_tail = ""};
	struct prog *wrong =
		program("# scatterproof 1\nx = input([4], seed=1)\ny = input([3], seed=2)\nz = add.Tensor(x, y)\nreturn (z,)\nraises\n");
	o = judged(wrong, &accepted, "torch:inductor@cpu");
	EXPECT(plain_needed(&o, &inductor), "what a compiled program accepts");
	plain_settle(&o, &accepted, &plain, wrong, &inductor, &arena);
	EXPECT_INT(o.verdict, VD_MISMATCH);
	plain_settle(&o, &accepted, &fine, wrong, &inductor, &arena);
	EXPECT_INT(o.verdict, VD_INVALID);
	EXPECT(o.unexpected, "nobody says why eager refuses it");
	((float *)(uintptr_t)fine.call[0].out[0].data)[0] += 1;
	o = judged(p, &fine, "torch:inductor@cpu");
	EXPECT(o.verdict == VD_MISMATCH && !plain_needed(&o, &inductor), "wrong data is wrong");
}

/* What the reference says must raise: whoever raises is right, whoever does not is wrong. */
static void test_must_raise(void)
{
	struct prog *bad =
		program("# scatterproof 1\nx = input([3], seed=1)\ni = full([2], 7, dtype=i64)\ny = index_select(x, 0, i)\nreturn (y,)\n");
	struct prog *good =
		program("# scatterproof 1\nx = input([3], seed=1)\ni = full([2], 1, dtype=i64)\ny = index_select(x, 0, i)\nreturn (y,)\n");
	struct result r = {.status = RES_RAISED, .message = "IndexError: index out of range in self", .stderr_tail = ""};
	EXPECT_INT(judged(bad, &r, "torch:inductor@cpu").verdict, VD_INVALID);
	ran(&r, good);
	struct outcome o = judged(bad, &r, "torch:inductor@cpu");
	EXPECT_INT(o.verdict, VD_MISMATCH);
	EXPECT_INT(o.kind, FINDING_RAISE);
	EXPECT(strstr(o.why, "should raise"), "%s", o.why);
}

static void test_device_fault(void)
{
	struct result r = {.status = RES_CRASH, .device_lost = true, .message = "AcceleratorError: CUDA error: 700", .stderr_tail = ""};
	struct outcome o = judged(program(NEG), &r, "torch:eager@cuda");
	EXPECT_INT(o.verdict, VD_CRASH);
	EXPECT_STR(o.signature, "crash device fault: AcceleratorError: CUDA error: N");
}

static void test_where_it_died(void)
{
	static const struct {
		const char *tail, *signature;
	} row[] = {
		{"noise\nCurrent thread 0x00007f (most recent call first):\n  File \"/lib/python3.11/ast.py\", line 5 in walk\n"
		 "  File \"/env/torch/_inductor/scheduler.py\", line 12 in fuse_nodes\n  File \"/env/torch/x.py\", line 1 in y\n",
			"in _inductor/scheduler.py fuse_nodes"},
		{"malloc(): unaligned tcache chunk detected\n", " heap corrupted"},
		{"invalid fastbin entry (free)\n", " heap corrupted"},
		{"Fatal glibc error: malloc assertion failure in sysmalloc: (old_top == initial_top (av))\n", " heap corrupted"},
		{"Current thread (most recent call first):\n  File \"worker.py\", line 5 in run\n", " cos"},
		{"cut (most recent call first):\n  File \"/env/torch/x.py", " cos"},
	};
	struct prog *p = program("# scatterproof 1\nx = input([2], seed=1)\ny = cos(x)\nreturn (y,)\n");
	for (int i = 0; i < 2 * ARRAY_LEN(row); i++) {
		struct result r;
		ran(&r, p);
		r.status = i % 2 ? RES_HANG : RES_CRASH;
		r.message = "the worker died";
		r.stderr_tail = row[i / 2].tail;
		struct outcome o = judged(p, &r, "torch:inductor@cpu");
		EXPECT(strstr(o.signature, row[i / 2].signature) && str_starts(o.signature, i % 2 ? "hang " : "crash "), "%s", o.signature);
	}
}

static void test_violation(void)
{
	struct result r = {.status = RES_INVARIANT,
		.message = "invariant after cse: I2: 'a' (add.Tensor) is ...",
		.stderr_tail = "",
		.violation = {"I2", "cse", "add.Tensor"}};
	struct failure f;
	struct outcome o = judged(program(NEG), &r, "builtin:passes"), other;
	EXPECT_INT(o.verdict, VD_INVARIANT);
	EXPECT_INT(o.kind, FINDING_INVARIANT);
	EXPECT_INT(o.severity, SEVERITY_NORMAL);
	EXPECT_STR(o.signature, "invariant I2 after cse: add");
	EXPECT_STR(o.broken_after, "cse");
	failure_of(&f, &o);
	EXPECT_STR(f.step, "cse");
	EXPECT_STR(f.invariant, o.signature);
	r.violation.op = "";
	other = judged(program(NEG), &r, "builtin:passes");
	EXPECT_STR(other.signature, "invariant I2 after cse");
	EXPECT(failure_is(&f, &other), "at another row it is another failure");
	r.violation.step = "dce";
	other = judged(program(NEG), &r, "builtin:passes");
	EXPECT(!failure_is(&f, &other), "another step broke it");
	r.violation = (struct result_violation){"I3", "cse", "add.Tensor"};
	other = judged(program(NEG), &r, "builtin:passes");
	EXPECT(!failure_is(&f, &other), "another invariant is broken");
}

/* Strides of an output and strides of a gradient are two failures: a minimiser that slipped from one to the other would lose the bug. */
static void test_role_of_a_failure(void)
{
	struct tensor_verdict wrong[2] = {{.role = TR_OUTPUT, .kinds = 1u << MM_STRIDES, .layout = 1u << LAYOUT_STRIDES, .detail = ""},
		{.role = TR_GRADIENT, .kinds = 1u << MM_STRIDES, .layout = 1u << LAYOUT_STRIDES, .detail = ""}};
	for (int i = 0; i < 4; i++) {
		struct judgement was = {.ntensor = 1, .tensor = &wrong[i / 2]}, is = {.ntensor = 1, .tensor = &wrong[i % 2]};
		struct outcome a = {.verdict = VD_MISMATCH, .kind = FINDING_META, .judgement = &was}, b = a;
		struct failure f;
		b.judgement = &is;
		failure_of(&f, &a);
		EXPECT(failure_is(&f, &b) == (i / 2 == i % 2), "%d", i);
	}
}

/* Two views of one fresh tensor that the target made apart; and the same where they require grad. */
static void test_plain_alias(void)
{
	static const char text[] =
		"# scatterproof 1\nx = input([4], seed=1%s)\ny = neg(x)\na = slice.Tensor(y, 0, 0, 2)\nb = slice.Tensor(y, 0, 2, 4)\n"
		"return (a, b)\n";
	for (int grad = 0; grad < 2; grad++) {
		struct prog *p = program(arena_printf(&arena, text, grad ? ", requires_grad=True" : ""));
		struct result r;
		ran(&r, p);
		struct outcome o = judged(p, &r, "torch:aot_eager@cpu");
		EXPECT_INT(o.verdict, VD_PASS);
		EXPECT_INT(o.freedoms, 0);
		((struct result_tensor *)(uintptr_t)r.call[0].out)[1].storage = 77;
		o = judged(p, &r, "torch:aot_eager@cpu");
		EXPECT_INT(o.verdict, grad ? VD_MISMATCH : VD_PASS);
		EXPECT_INT(o.freedoms, grad ? 0 : FREE_PLAIN_ALIAS);
		o = judged(p, &r, "torch:eager@cpu");
		EXPECT_INT(o.verdict, VD_MISMATCH);
		EXPECT_INT(o.kind, FINDING_ALIAS);
	}
}

/* Equal results that the target computed once: only if they are equal. */
static void test_merged_results(void)
{
	for (int equal = 0; equal < 2; equal++) {
		struct prog *p = program(equal ? "# scatterproof 1\nx = input([4], seed=1)\na = neg(x)\nb = neg(x)\nreturn (a, b)\n"
									   : "# scatterproof 1\nx = input([4], seed=1)\na = neg(x)\nb = exp(x)\nreturn (a, b)\n");
		struct result r;
		ran(&r, p);
		struct result_tensor *out = (struct result_tensor *)(uintptr_t)r.call[0].out;
		out[1].storage = out[0].storage;
		struct outcome o = judged(p, &r, "torch:inductor@cpu");
		EXPECT_INT(o.verdict, equal ? VD_PASS : VD_MISMATCH);
		EXPECT_INT(o.freedoms, equal ? FREE_EQUAL_SHARED : 0);
	}
}

static void test_nothing_decided(void)
{
	struct prog *p = program("# scatterproof 1\nx = input([9], fill=normal, seed=1)\nz = exp(x)\nk = gt.Tensor(z, z)\nreturn (k,)\n");
	struct result r;
	ran(&r, p);
	struct outcome o = judged(p, &r, "torch:eager@cpu");
	EXPECT_INT(o.verdict, VD_UNJUDGED);
	EXPECT_STR(verdict_reason(&o, &arena), "unjudged: every element of the results is undecided");
}

/* Positions and gradients of certain equals are judged as a choice among these; what rounding may reorder is undecided. */
static void test_tied(void)
{
	static const struct {
		const char *text;
		int64_t tied, undecided;
	} cases[] = {
		{"x = input([5], data=[1, 3, 1, 3, 0], requires_grad=True)\ns = sort(x)\nv = getitem(s, 0)\ni = getitem(s, 1)\n"
		 "g = input([5], data=[1, 2, 3, 4, 5])\nreturn (v, i)\nbackward (v: g)\n",
			8, 0},
		{"x = input([5], data=[1, 3, 1, 3, 0])\ny = add.Scalar(x, 0.1)\nz = exp(y)\nt = topk(z, 2)\ni = getitem(t, 1)\nreturn (i,)\n", 0,
			2},
		{"x = input([4], dtype=i32, data=[7, 7, 2, 2])\nt = topk(x, 1)\ni = getitem(t, 1)\nw = expand(i, [3])\nreturn (w,)\n", 3, 0},
		{"x = input([4], data=[nan, nan, 2, inf])\nt = topk(x, 3)\ni = getitem(t, 1)\nreturn (i,)\n", 2, 0},
	};
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		struct prog *p = program(arena_printf(&arena, "# scatterproof 1\n%s", cases[i].text));
		struct result r;
		ran(&r, p);
		struct outcome o = judged(p, &r, "torch:eager@cpu");
		EXPECT(o.all.tied == cases[i].tied && o.all.undecided == cases[i].undecided, "case %d: %d tied, %d undecided", i, (int)o.all.tied,
			(int)o.all.undecided);
		EXPECT_INT(o.all.disagree, 0);
	}
}

/* A set of one value is decided, whatever was open on the way; finite numbers that the dtype does not have are none. */
static void test_one_value_only(void)
{
	static const struct {
		const char *text;
		int64_t undecided;
	} cases[] = {
		{"x = input([2], dtype=f16, data=[300, -400])\ny = mul.Tensor(x, x)\nz = mul.Scalar(x, 200.0)\nreturn (y, z)\n", 0},
		{"x = input([3], dtype=f16, data=[0x1p-3, 2, 0])\ny = mul_.Scalar(x, 65520)\nreturn (y,)\n", 2},
		{"x = input([1], data=[3], requires_grad=True)\ny = var.correction(x, correction=0)\nz = sqrt(y)\ng = full([], 1.0)\n"
		 "return (z,)\nbackward (z: g)\n",
			0},
	};
	for (int i = 0; i < ARRAY_LEN(cases); i++) {
		struct prog *p = program(arena_printf(&arena, "# scatterproof 1\n%s", cases[i].text));
		struct result r;
		ran(&r, p);
		struct outcome o = judged(p, &r, "torch:eager@cpu");
		EXPECT_INT(o.verdict, VD_PASS);
		EXPECT(o.all.undecided == cases[i].undecided, "case %d: %d undecided", i, (int)o.all.undecided);
	}
}

/* Programs whose answer PyTorch leaves to the order of its loops, or that the reference does not model, get no verdict. */
static void test_unjudged(void)
{
	static const char *const text[] = {
		("x = input([12], seed=3)\nc = clone(x)\ns = slice.Tensor(c, 0, 0, 10, 2)\nt = slice.Tensor(c, 0, 2, 12, 2)\nr = copy_(t, s)\n"
		 "return (c,)\n"),
		("x = input([4, 4], seed=3)\nc = clone(x)\nd = slice.Tensor(c, 1, 1, 4)\ne = slice.Tensor(c, 1, 0, 3)\nr = add_.Tensor(d, e)\n"
		 "return (c,)\n"),
		("x = input([9], dtype=bf16, seed=7, requires_grad=True)\ny = addcmul(x, x, x, value=0.3)\n"
		 "g = full([9], 1.0, dtype=bf16)\nreturn (y,)\nbackward (y: g)\n"),
	};
	for (int i = 0; i < ARRAY_LEN(text); i++) {
		struct prog *p = program(arena_printf(&arena, "# scatterproof 1\n%s", text[i]));
		struct result r = {.status = RES_OK, .message = "", .stderr_tail = ""};
		struct outcome o = judged(p, &r, "torch:eager@cpu");
		EXPECT(o.verdict == VD_UNJUDGED, "program %d: %s: %s", i, verdict_name[o.verdict], o.why);
	}
}

/* The gradient of clamp at a bound is the version's: builtin:eager is as 2.11. */
static void test_clamp_by_version(void)
{
	struct prog *p = program(
		"# scatterproof 1\no = input([4], seed=1, requires_grad=True)\nz = mul.Scalar(o, 0.0)\ny = clamp(z, min=0.0)\ng = full([4], 1.0)\n"
		"return (y,)\nbackward (y: g,)\n");
	struct prog *q =
		program("# scatterproof 1\nx = input([64], seed=1, requires_grad=True)\ny = clamp(x, min=0.5, max=1.0)\ng = full([64], 1.0)\n"
				"return (y,)\nbackward (y: g,)\n");
	struct result r;
	ran(&r, p);
	EXPECT_INT(judged(p, &r, "torch:eager@cpu").verdict, VD_PASS);
	ran(&r, q);
	EXPECT_INT(judged(q, &r, "torch:eager@cpu").verdict, VD_PASS);
	EXPECT_INT(judged(q, &r, "torch-2.11.0:inductor@cpu").verdict, VD_PASS);
	EXPECT_INT(judged(q, &r, "torch-2.15.0:eager@cpu").verdict, VD_MISMATCH);
	EXPECT_INT(judged(q, &r, "torch-2.13.1:eager@cpu").verdict, VD_PASS);

	/* On a GPU the two compute alike and mean different things: each has a reference of its own. */
	struct references refs;
	struct target first, second;
	references_init(&refs, q);
	EXPECT(target_parse(&first, "torch-2.11.0:eager@cuda", NULL) && target_parse(&second, "torch-2.15.0:eager@cuda", NULL), "targets");
	const struct reference_of *a = references_get(&refs, &first), *b = references_get(&refs, &second);
	EXPECT(a && b && a != b && target_arithmetic_same(&a->arithmetic, &b->arithmetic), "one reference for both");
	EXPECT(references_get(&refs, &first) == a, "made again");
	references_free(&refs);
}

/* Every stage that can be named has a licence of its own, no other name has one: a new stage cannot pass by another's. */
static void test_every_stage_has_a_licence(void)
{
	struct licence_profile l;
	for (int f = 0; f < ntarget_drivers; f++)
		for (int k = 0; k < target_drivers[f]->nstages; k++) {
			const struct target t = {.driver = target_drivers[f], .stage = k};
			EXPECT(profile_of(&l, &t), "%s: its driver knows no facts of it", target_text(&t, &arena));
		}
	static const char *const none[] = {"builtin:jits", "builtin:eager2", "builtin:", "torch:inductors@cpu", "torch:aot_eager_decomp@cpu",
		"torch:aot", "torchx:eager", "torch", "jax:jits", "jaxx:jit@cpu"};
	for (int i = 0; i < ARRAY_LEN(none); i++)
		EXPECT(!profile_named(&l, none[i]), "%s is judged", none[i]);
	EXPECT(profile_named(&l, "torch-2.15.0:inductor@cuda+freezing=1") && l.numbers_wide && l.semantics.clamp_nan == CLAMP_NAN_WINS
			&& l.semantics.layout == LAYOUT_LOADS && l.kernels == &torch_inductor_kernels && l.device == LD_CUDA,
		"inductor on CUDA");
	EXPECT(profile_named(&l, "torch:aot_eager_decomp_partition@cpu") && l.kernels == &torch_inductor_kernels && l.device == LD_CPU,
		"decompositions");
	EXPECT(profile_named(&l, "torch-2.11.0+cpu:aot_eager+dynamic=1") && l.kernels == &torch_eager_kernels && l.device == LD_CPU,
		"what AOTAutograd traces runs on ATen's kernels");
}

/* A row may name operators: what it grants them, others of their class do not have. */
static void test_operators_with_rules_of_their_own(void)
{
	struct licence_profile l;
	CHECK(profile_named(&l, "torch:eager@cpu"));
	const int gelu = licence_entry(&l, OP_gelu), exp = licence_entry(&l, OP_exp);
	EXPECT(op_info[OP_gelu].licence == op_info[OP_exp].licence && exp == LC_TRANS && gelu >= NLC, "entries %d and %d", gelu, exp);
	EXPECT_STR(licence_entry_name(&l, exp), "trans");
	EXPECT_STR(licence_entry_name(&l, gelu), "gelu");
	EXPECT(l.rule[gelu][DT_F16].flags & LF_ONEDNN && !(l.rule[exp][DT_F16].flags & LF_ONEDNN), "oneDNN has a kernel for gelu only");
	EXPECT(l.rule[gelu][DT_F64].row == l.rule[exp][DT_F64].row, "the row that names gelu is not of f64: its class's holds");
	CHECK(profile_named(&l, "torch:dynamo@cpu+backend=a,import=b"));
	EXPECT(l.rule[licence_entry(&l, OP_softmax)][DT_F16].flags & LF_STORED, "either of two kernels, of which one names softmax");
	EXPECT(!(l.rule[LC_TRANS][DT_F16].flags & LF_STORED), "and it alone");
}

static void no_facts(struct target_facts *out, const struct target *t)
{
	(void)out;
	(void)t;
}

/* A family of whose arithmetic nothing is known: its results are not judged, and no pass. */
static void test_nothing_is_known(void)
{
	static const struct target_stage stage[] = {{.name = "plain"}};
	static const struct target_driver quiet = {.name = "quiet", .stage = stage, .nstages = 1, .facts = no_facts};
	const struct prog *p = program(NEG);
	const struct target t = {.driver = &quiet};
	struct result r;
	struct outcome o;
	struct err err = {0};
	EXPECT(interp_run(&r, p, &arena, NULL, &err) == INTERP_OK, "%s", err.msg);
	outcome_of(&o, p, &r, &t, NULL, &arena);
	EXPECT_INT(o.verdict, VD_UNJUDGED);
	EXPECT_STR(o.why, "no licence is known for this target");
}

static const char SEVEN[] =
	"# scatterproof 1\nx = input([2, 3], seed=1, requires_grad=True)\nw = input([4], seed=2)\ny = mul.Scalar(x, 2.0)\n"
	"v = add_.Tensor(w, 1.0)\ng = input([2, 3], seed=3)\nreturn (y, v)\nbackward (y: g,)\n";

/* How bad is what: wrong numbers and sizes are high, strides alone trivial. */
static void test_severity(void)
{
	static const enum finding_severity want[] = {
		SEVERITY_HIGH, SEVERITY_HIGH, SEVERITY_HIGH, SEVERITY_HIGH, SEVERITY_NORMAL, SEVERITY_NORMAL, SEVERITY_TRIVIAL};
	const struct prog *p = program(SEVEN);
	for (int i = 0; i < ARRAY_LEN(want); i++) {
		struct result r;
		ran(&r, p);
		struct result_call *c = &r.call[0];
		switch (i) {
		case 0: ((float *)(uintptr_t)c->out[0].data)[0] += 1; break;
		case 1: ((float *)(uintptr_t)c->grad[0].data)[0] += 1; break;
		case 2: ((float *)(uintptr_t)c->storage[1].data)[0] += 1; break;
		case 3:
			c->out[0].meta.size[0] = 3;
			c->out[0].meta.size[1] = 2;
			c->out[0].meta.stride[0] = 2;
			break;
		case 4: c->grad[0].present = false; break;
		case 5: c->out[1].storage = 77; break; /* no longer the written input */
		case 6:
			c->out[0].meta.stride[0] = 1;
			c->out[0].meta.stride[1] = 2;
			break;
		}
		struct outcome o = judged(p, &r, "torch:inductor@cpu");
		EXPECT_INT(o.verdict, VD_MISMATCH);
		EXPECT(o.severity == want[i], "spoiled %d: severity %d, want %d (%s)", i, o.severity, want[i], o.signature);
	}
}

/* What minimisers keep: sizes, the dtype, strides alone and sharing memory are failures of different bugs. */
static void test_layouts_are_told_apart(void)
{
	static const char P[] = "# scatterproof 1\nx = input([4, 3], seed=1)\ny = neg(x)\nreturn (y,)\n";
	enum { SIZES, SIZES_AND_DTYPE, DTYPE, STRIDES, NWAYS };
	static const char *const text[NWAYS] = {"meta, sizes", "meta, sizes", "meta, dtype", "meta, strides alone"};
	struct outcome o[NWAYS];
	struct failure f[NWAYS];
	for (int i = 0; i < NWAYS; i++) {
		struct prog *p = program(P);
		struct result r;
		ran(&r, p);
		struct meta *m = &r.call[0].out[0].meta;
		if (i == STRIDES)
			m->stride[0] = 1, m->stride[1] = 4;
		if (i <= SIZES_AND_DTYPE)
			m->size[0] = 3;
		if (i == DTYPE || i == SIZES_AND_DTYPE)
			m->dtype = DT_F64;
		o[i] = judged(p, &r, "torch:inductor@cpu");
		EXPECT_INT(o[i].kind, FINDING_META);
		failure_of(&f[i], &o[i]);
		EXPECT_STR(failure_text(&f[i], &arena), text[i]);
	}
	for (int i = 0; i < NWAYS; i++)
		for (int k = 0; k < NWAYS; k++)
			EXPECT(failure_is(&f[i], &o[k]) == (i == k || MAX(i, k) <= SIZES_AND_DTYPE), "%d and %d", i, k);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_every_stage_has_a_licence);
	RUN(test_operators_with_rules_of_their_own);
	RUN(test_nothing_is_known);
	RUN(test_severity);
	RUN(test_layouts_are_told_apart);
	RUN(test_raise_signatures);
	RUN(test_says_that_it_must_raise);
	RUN(test_undecided_may_raise);
	RUN(test_dtypes_in_messages);
	RUN(test_parts_of_messages);
	RUN(test_long_messages);
	RUN(test_plain_stage_raises);
	RUN(test_both_raise);
	RUN(test_plain_stage_is_asked);
	RUN(test_must_raise);
	RUN(test_device_fault);
	RUN(test_violation);
	RUN(test_where_it_died);
	RUN(test_role_of_a_failure);
	RUN(test_plain_alias);
	RUN(test_merged_results);
	RUN(test_nothing_decided);
	RUN(test_tied);
	RUN(test_one_value_only);
	RUN(test_unjudged);
	RUN(test_clamp_by_version);
	arena_free(&arena);
	return TEST_END();
}
