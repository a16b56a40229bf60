/* short_script_test.c: the text of a script of a few lines: lines are folded where that changes nothing, inputs come from the plainest
 * factory, and what is looked at is compared. Whether PyTorch shows the bug with it, tests/cli/reproducers.sh asks. */
#include "compiled/targets/torch/short_script.h"

#include "compiled/targets/torch/inline.h"
#include "tests/unit/program.h"

static const char *script(const char *text, struct script_look look, const char *target)
{
	struct prog *p = program(text);
	struct strbuf sb;
	struct target t;
	struct err err = {0};
	EXPECT(target_parse(&t, target, &err), "%s", err.msg);
	p->surface = SURFACE_PYTHON;
	sb_init(&sb);
	const bool ok = t.driver->script->brief(&sb, &look, p, &t, &arena, &err);
	const char *s = ok ? arena_strdup(&arena, sb.s) : arena_printf(&arena, "none: %s", err.msg);
	sb_free(&sb);
	return s;
}

static void has(const char *text, const char *part) { EXPECT(strstr(text, part), "no '%s' in\n%s", part, text); }

#define HEAD                                                                                                                               \
	"import sys\nsys.excepthook = lambda *error: sys.__excepthook__(*error) or sys.exit(2)  # 0: right, 1: wrong, 2: it does not run\n"    \
	"import torch\n\n"

static void test_whole(void)
{
	EXPECT_STR(script("x = input([5], data=[1, 1, 1, 1, 1], requires_grad=True)\na = as_strided(x, [2, 2], [2, 1])\nb = repeat(a, [2, 1])\n"
					  "one = full([], 1.0)\ng = expand(one, [4, 2])\nreturn (b,)\nbackward (b: g)\n",
				   (struct script_look){.at = LOOK_GRADIENT, .expected = "[2, 2, 2, 2, 0]", .law = "x.grad[i] = how often it is read"},
				   "torch-2.15.0:inductor@cpu"),
		HEAD "def f(x):\n    return x.as_strided([2, 2], [2, 1]).repeat(2, 1)\n\ndef run(f):\n"
			 "    x = torch.ones(5, requires_grad=True)\n    f(x).sum().backward()\n    return x.grad\n\nwant = run(f)\n"
			 "print(\"eager:   \", want)\ngot = run(torch.compile(f))\nprint(\"compiled:\", got)\n"
			 "# right: x.grad[i] = how often it is read = [2, 2, 2, 2, 0]\nsys.exit(0 if torch.allclose(got, want) else 1)\n");
}

static const struct script_look FIRST = {.at = LOOK_OUTPUT};

static void test_folding(void)
{
	const char *t = "torch-2.15.0:aot_eager@cpu", *s;
	s = script("x = input([2], seed=1)\na = mul.Tensor(x, 2)\nb = neg(a)\nc = add.Tensor(b, a)\nreturn (c,)\n", FIRST, t);
	has(s, "    mul = x * 2\n    return (-mul) + mul\n"); /* read twice */
	s = script("x = input([2], seed=1)\na = add.Tensor(x, 2)\nb = mul.Tensor(a, 3)\nc = exp(b)\nreturn (c,)\n", FIRST, t);
	has(s, "    return ((x + 2) * 3).exp()\n"); /* what binds less tightly */
	s = script("x = input([2], seed=1)\na = contiguous(x)\nb = zero_(x)\nc = neg(a)\nreturn (c,)\n", FIRST, t);
	has(s, "    contiguous = x.contiguous()\n    x.zero_()\n    return -contiguous\n"); /* not across a write; its result has no name */
	s = script("x = input([2], seed=1)\na = neg(x)\nb = zero_(x)\nc = add.Tensor(a, b)\nreturn (c,)\n", FIRST, t);
	has(s, "    neg = -x\n    zero_ = x.zero_()\n    return neg + zero_\n"); /* the write comes after the negation */
	s = script("x = input([2], seed=1)\na = expand(x, [2, 2])\nb = zero_(a)\nreturn (b,)\n", FIRST, t);
	has(s, "    return x.expand(2, 2).zero_()\n");
	s = script("x = input([2], seed=1)\na = expand(x, [3, 2])\nb = add_.Tensor(a, 2)\nreturn (a,)\n", FIRST, t);
	has(s, "    expand = x.expand(3, 2)\n    expand += 2\n    return expand\n");
	s = script("x = input([2], seed=1)\na = topk(x, 1)\nb = getitem(a, 1)\nc = neg(x)\nreturn (b, c)\n", FIRST, t);
	has(s, "    return x.topk(1)[1], -x\n");
	has(s, "    return f(x)[0]\n");
}

static void test_inputs(void)
{
	const char *t = "torch-2.15.0:inductor@cpu", *s;
	s = script("a = input([2, 3], data=[0, 1, 2, 3, 4, 5])\nb = input([3], dtype=i64, data=[0, 1, 2])\nc = input([], data=[1])\n"
			   "d = input([2], dtype=b8, data=[True, False])\ne = input([5], dtype=f16, data=[2, 2, 2, 2, 2])\n"
			   "f = input([2, 3], stride=[1, 2], data=[1, 1, 1, 1, 1, 1])\nh = input([4], stride=[0], data=[0])\n"
			   "i = input([2], stride=[3], data=[1, 7, 7, 2])\n"
			   "return (a, b, c, d, e, f, h, i)\n",
		FIRST, t);
	has(s, "    x = torch.arange(6.0).reshape(2, 3)\n");
	has(s, "    y = torch.arange(3)\n");
	has(s, "    z = torch.ones(())\n");
	has(s, "    w = torch.tensor([True, False])\n");
	has(s, "    v = torch.full((5,), 2.0, dtype=torch.float16)\n");
	has(s, "    u = torch.ones(3, 2).t()\n");
	has(s, "    x_1 = torch.zeros(1).expand(4)\n");
	has(s, "    x_2 = torch.tensor([1.0, 7.0, 7.0, 2.0]).as_strided((2,), (3,))\n");
	s = script("a = input([2], seed=1)\nb = input_view(a, [1], [1], 1)\nc = add.Tensor(a, b)\nreturn (c,)\n",
		(struct script_look){.at = LOOK_OUTPUT, .random = true}, t);
	has(s, "    torch.manual_seed(0)\n    x = torch.randn(2)\n    y = x.as_strided((1,), (1,), 1)\n    return f(x, y)\n");
	has(script("a = input([9, 9], seed=1)\nb = neg(a)\nreturn (b,)\n", FIRST, t), "none: its inputs are more than a few numbers");
}

static void test_looks(void)
{
	static const char neg[] = "a = input([2], seed=1)\nb = neg(a)\nreturn (b,)\n";
	const char *t = "torch-2.15.0:inductor@cpu", *s;
	s = script(neg, (struct script_look){.at = LOOK_OUTPUT, .fact = FACT_META}, t);
	has(s, "    out = f(x)\n    return out.dtype, out.shape, out.stride()\n");
	has(s, "sys.exit(0 if got == want else 1)\n");
	s = script(neg, (struct script_look){.at = LOOK_OUTPUT, .fact = FACT_MEMORY}, t);
	has(s, "for t in (x, out,)]\n    return [m == out.untyped_storage().data_ptr() for m in memory]\n");
	s = script(neg, (struct script_look){.at = LOOK_RUN}, t);
	has(s, "print(\"eager:\", run(f))\nprint(\"compiled:\", run(torch.compile(f)))  # dies\n");
	s = script(neg,
		(struct script_look){
			.at = LOOK_RUN, .raised = "InductorError: LoweringException: IndexError: index 3 is out of bounds for float32"},
		t);
	has(s,
		"try:\n    print(\"compiled:\", run(torch.compile(f)))\nexcept torch._inductor.exc.InductorError as error:\n"
		"    print(\"compiled:\", repr(error))\n    sys.exit(1 if \"is out of bounds for\" in str(error) else 2)\n");
	s = script(neg, (struct script_look){.at = LOOK_RUN, .raised = "AssertionError: "}, t);
	has(s, "except AssertionError as error:\n    print(\"compiled:\", repr(error))\n    sys.exit(1)\n");
	s = script(neg, (struct script_look){.at = LOOK_RUN, .raised = "Strange: \\\" in str(1); exit(0) #\n"}, t);
	has(s, "except Exception as error:\n");
	has(s, "sys.exit(1 if \"); exit\" in str(error) else 2)\n"); /* hostile: a piece of it, as a string */
	s = script("x = input([0], requires_grad=True)\ny = neg(x)\ng = full([0], 1.0)\nreturn (y,)\nbackward (y: g)\n",
		(struct script_look){.at = LOOK_RUN, .raised = "RuntimeError: Function NegBackward0 returned an invalid gradient"},
		"torch-2.15.0:eager@cpu");
	has(s, "    return x.grad\n\ntry:\n    print(\"eager:\", run(f))\nexcept RuntimeError as error:\n");
	has(s, "if \"returned an invalid gradient\" in str(error)");
	s = script(neg, (struct script_look){.at = LOOK_OUTPUT, .beside_right = true, .expected = "[1.0, 2.0]"}, t);
	has(s,
		"\nprint(\"eager:   \", run(f))\ngot = run(torch.compile(f))\nprint(\"compiled:\", got)\n"
		"want = torch.tensor([1.0, 2.0], dtype=got.dtype, device=got.device)\nsys.exit(0 if torch.allclose(got, want) else 1)\n");
	s = script(neg, (struct script_look){.at = LOOK_OUTPUT, .expected = "[1.0, nan]"}, "torch-2.15.0:eager@cpu");
	has(s,
		"want = torch.tensor([1.0, nan], dtype=got.dtype, device=got.device)\n"
		"sys.exit(0 if torch.allclose(got, want, equal_nan=True) else 1)\n");
	s = script("a = input([3], data=[1, 1, 1])\nb = expand(a, [2, 3])\nc = add_.Tensor(b, 2)\nreturn (b,)\nraises \"memory\"\n",
		(struct script_look){.at = LOOK_RUN}, t);
	has(s, "    except Exception as error:\n        if \"memory\" not in str(error):\n            raise\n        return error\n");
	has(s, "sys.exit(0 if isinstance(got, Exception) == isinstance(want, Exception) else 1)\n");
	has(script(neg, FIRST, "torch-2.15.0:inductor@cpu+freezing=1"), "none: how its target compiles is more than a line");
	has(script(neg, FIRST, "torch-2.15.0:eager@cpu"), "none: nothing stands beside eager");
}

/* What differs between calls is a parameter; the last call is looked at. */
static void test_calls(void)
{
	const char *t = "torch-2.15.0:aot_eager@cpu", *s;
	s = script("n = sym(5)\nx = input([2, n], stride=[1, 0], data=[1, 1])\ny = neg(x)\nreturn (y,)\ncall (n=6)\n", FIRST, t);
	has(s, "def run(f, s0):\n    x = torch.ones(2).as_strided((2, s0), (1, 0))\n    return f(x)\n");
	has(s, "\ncompiled = torch.compile(f, backend=\"aot_eager\")\nrun(compiled, 5)\nwant = run(f, 6)\n");
	has(s, "\ngot = run(compiled, 6)\n");
	s = script("n = sym(5)\nx = input([2, n], stride=[1, 0], data=[1, 1])\ny = neg(x)\nreturn (y,)\ncall (n=6)\n",
		(struct script_look){.at = LOOK_RUN, .raised = "TypeError: no"}, t);
	has(s,
		"print(\"eager:\", run(f, 5), run(f, 6))\ncompiled = torch.compile(f, backend=\"aot_eager\")\ntry:\n"
		"    print(\"compiled:\", run(compiled, 5), run(compiled, 6))\nexcept TypeError as error:\n");
	s = script("x = input([2], data=[1, 3])\ny = neg(x)\nreturn (y,)\ncall (x: data=[5, 7])\ncall ()\n", FIRST, t);
	has(s, "def run(f, call):\n    x = [torch.tensor([1.0, 3.0]), torch.tensor([5.0, 7.0]), torch.tensor([1.0, 3.0])][call]\n");
	has(s, "\nrun(compiled, 0)\nrun(compiled, 1)\nwant = run(f, 2)\n");
	s = script("n = sym(2)\nx = input([6], data=[0, 1, 2, 3, 4, 5])\ny = slice.Tensor(x, end=n)\nreturn (y,)\ncall (n=3)\n", FIRST, t);
	has(s, "def run(f, s0):\n    x = torch.arange(6.0)\n    return f(s0, x)\n");
	s = script("n = sym(2)\nx = input([6], data=[0, 1, 2, 3, 4, 5])\ny = slice.Tensor(x, end=n)\nreturn (y,)\n", FIRST, t);
	has(s, "want = run(f, 2)\n");
	s = script("x = input([2], data=[1, 3], requires_grad=True)\ng = input([2], seed=1)\ny = neg(x)\nreturn (y,)\nbackward (y: g)\n"
			   "call (g: seed=3)\n",
		(struct script_look){.at = LOOK_GRADIENT}, t);
	has(s, "none: its calls differ in more than their inputs");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_whole);
	RUN(test_folding);
	RUN(test_inputs);
	RUN(test_looks);
	RUN(test_calls);
	arena_free(&arena);
	return TEST_END();
}
