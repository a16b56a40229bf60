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

static void test_whole(void)
{
	EXPECT_STR(script("x = input([5], data=[1, 1, 1, 1, 1], requires_grad=True)\na = as_strided(x, [2, 2], [2, 1])\nb = repeat(a, [2, 1])\n"
					  "one = full([], 1.0)\ng = expand(one, [4, 2])\nreturn (b,)\nbackward (b: g)\n",
				   (struct script_look){.at = LOOK_GRADIENT, .expected = "[2, 2, 2, 2, 0]", .law = "x.grad[i] = how often it is read"},
				   "torch-2.15.0:inductor@cpu"),
		"import torch\n\ndef f(x):\n    return x.as_strided([2, 2], [2, 1]).repeat(2, 1)\n\ndef run(f):\n"
		"    x = torch.ones(5, requires_grad=True)\n    f(x).sum().backward()\n    return x.grad\n\nwant = run(f)\n"
		"print(\"eager:   \", want)\ngot = run(torch.compile(f))\nprint(\"compiled:\", got)\n"
		"# right: x.grad[i] = how often it is read = [2, 2, 2, 2, 0]\nassert torch.allclose(got, want)\n");
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
	has(s, "assert got == want\n");
	s = script(neg, (struct script_look){.at = LOOK_OUTPUT, .fact = FACT_MEMORY}, t);
	has(s, "for t in (x, out,)]\n    return [m == out.untyped_storage().data_ptr() for m in memory]\n");
	s = script(neg, (struct script_look){.at = LOOK_RUN}, t);
	has(s, "print(\"eager:\", run(f))\nrun(torch.compile(f))  # raises\n");
	s = script(neg, (struct script_look){.at = LOOK_OUTPUT, .expected = "[1.0, nan]"}, "torch-2.15.0:eager@cpu");
	has(s, "want = torch.tensor([1.0, nan], dtype=got.dtype, device=got.device)\nassert torch.allclose(got, want, equal_nan=True)\n");
	s = script("a = input([3], data=[1, 1, 1])\nb = expand(a, [2, 3])\nc = add_.Tensor(b, 2)\nreturn (b,)\nraises \"memory\"\n",
		(struct script_look){.at = LOOK_RUN}, t);
	has(s, "    except Exception as error:\n        return error\n");
	has(s, "assert isinstance(got, Exception) == isinstance(want, Exception)\n");
	has(script(neg, FIRST, "torch-2.15.0:inductor@cpu+freezing=1"), "none: how its target compiles is more than a line");
	has(script(neg, FIRST, "torch-2.15.0:eager@cpu"), "none: nothing stands beside eager");
	has(script("a = input([2], seed=1)\nreturn (a,)\ncall (a: seed=2)\n", FIRST, t), "none: it has several calls");
	has(script("n = sym(2)\na = input([n], seed=1)\nreturn (a,)\n", FIRST, t), "none: it has symbols");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_whole);
	RUN(test_folding);
	RUN(test_inputs);
	RUN(test_looks);
	arena_free(&arena);
	return TEST_END();
}
