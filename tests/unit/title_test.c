/* title_test.c: titles: which operator is named, where a message is cut, what one wrong element is called. */
#include "fuzz/triage/title.h"

#include "tests/test.h"

static const char program[] = "# scatterproof 1\n"
							  "x = input([4], seed=1, requires_grad=True)\n"
							  "i = input([4], seed=2)\n"
							  "a = sin(x)\n"
							  "b = exp(a)\n"
							  "c = relu(b)\n"
							  "d = cos(c)\n"
							  "s = split.Tensor(d, split_size=2)\n"
							  "e = getitem(s, 1)\n"
							  "f = zero_(i)\n"
							  "g = full([2], 1.0)\n"
							  "return (c, e, f)\n"
							  "backward (e: g,)\n";

static struct store_cause cause(enum finding_kind kind, const char *tensor)
{
	return (struct store_cause){.kind = kind,
		.tensor = tensor,
		.program = program,
		.target = "torch:inductor@cpu",
		.text = "",
		.signature = "",
		.raised = "",
		.pattern = ""};
}

static void is(const struct store_cause *c, const char *title)
{
	struct arena a;
	arena_init(&a);
	EXPECT_STR(title_of(c, &a), title);
	arena_free(&a);
}

static void test_wrong_operator(void)
{
	struct store_cause c = cause(FINDING_VALUE, "out 0 (c)");
	is(&c, "`relu` among 6 operators: result is wrong with torch.compile");
	c.tensor = "out 1 (e)";
	is(&c, "`split` among 6 operators: result is wrong with torch.compile");
	c.tensor = "no such tensor";
	is(&c, "6 operators, not minimised yet: result is wrong with torch.compile");
	c.tensor = "out 0 (c)";
	c.minimised = true;
	is(&c, "`sin`, `exp`, `relu`, `cos` …: result is wrong with torch.compile");
	c = cause(FINDING_GRADIENT, "x.grad");
	is(&c, "`sin` among 6 operators: gradient is wrong with torch.compile");
	c = cause(FINDING_MUTATION, "input i afterwards");
	is(&c, "`zero_` among 6 operators: an input holds something else after the call with torch.compile");
}

static void test_zero(void)
{
	struct store_cause c = cause(FINDING_GRADIENT, "x.grad");
	c.pattern = "all zero";
	c.nwrong = 1;
	is(&c, "`sin` among 6 operators: gradient is wrong with torch.compile");
	c.nwrong = 2;
	is(&c, "`sin` among 6 operators: gradient is all zero with torch.compile");
}

static void test_message(void)
{
	struct store_cause c = cause(FINDING_RAISE, "");
	c.raised = "IndexError: short";
	is(&c, "6 operators, not minimised yet: raises \"IndexError: short\" with torch.compile");
	c.minimised = true;
	c.raised = "IndexError: Dimension specified as -1 but tensor has no dimensions";
	is(&c, "`sin`, `exp`, `relu`, `cos` …: raises \"IndexError: Dimension specified as -1 but tensor has no …\" with torch.compile");
	c.raised = "IndexError: short";
	is(&c, "`sin`, `exp`, `relu`, `cos` …: raises \"IndexError: short\" with torch.compile");
	c.raised = "AssertionError: n=copy_, n.args[0]=empty, placeholders={tangents_3, primals_6}";
	is(&c, "`sin`, `exp`, `relu`, `cos` …: raises \"AssertionError: n=copy_, n.args[0]=empty …\" with torch.compile");
}

int main(void)
{
	RUN(test_wrong_operator);
	RUN(test_zero);
	RUN(test_message);
	return TEST_END();
}
