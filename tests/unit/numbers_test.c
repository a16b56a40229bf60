/* numbers_test.c: a Python number where the schema says Tensor stays what it is, from the text to the Python that PyTorch runs: the
 * same overload, the same number. Bare names choose their overload by the arguments, named overloads are never rewritten. */
#include "compiled/targets/torch/emit_python.h"
#include "tests/test.h"

static struct arena arena;

/* One node on x: f32[2, 3] and i: i64[2, 3]; what is sent to Python, or (error) what is said. */
static const struct {
	const char *node, *python, *error;
} cases[] = {
	{"add.Tensor(x, 0)", "add.Tensor(x, 0)", NULL},
	{"add.Tensor(x, 1, alpha=2)", "add.Tensor(x, 1, alpha=2)", NULL},
	{"add.Scalar(x, 0)", "add.Scalar(x, 0)", NULL},
	{"div.Tensor(x, 1.0)", "div.Tensor(x, 1.0)", NULL},
	{"sub.Tensor(1, x)", "sub.Tensor(1, x)", NULL},
	{"mul.Tensor(0.7071067811865476, x)", "mul.Tensor(0.7071067811865476, x)", NULL},
	{"add.Tensor(i, True)", "add.Tensor(i, True)", NULL},
	{"mul.Tensor(x, -inf)", "mul.Tensor(x, float('-inf'))", NULL},
	{"add_.Tensor(x, 1e-05)", "add_.Tensor(x, 1e-05)", NULL},
	{"sub_.Tensor(i, 3)", "sub_.Tensor(i, 3)", NULL},
	{"mul_.Tensor(x, 2)", "mul_.Tensor(x, 2)", NULL},
	{"copy_(x, 0.125)", "copy_.default(x, 0.125)", NULL},
	/* as PyTorch's packets, torch.ops.aten.add(x, 1) */
	{"add(x, 1)", "add.Tensor(x, 1)", NULL},
	{"eq(x, 1)", "eq.Scalar(x, 1)", NULL},
	{"pow(x, 2)", "pow.Tensor_Scalar(x, 2)", NULL},
	{"sum(x, dim=[1])", "sum.dim_IntList(x, [1])", NULL},
	{"sum(x)", "sum.default(x)", NULL},
	{"mean(x, [0], keepdim=True)", "mean.dim(x, [0], True)", NULL},
	{"any(x, 1)", "any.dim(x, 1)", NULL},
	{"maximum(x, 1)", NULL, "maximum: argument 'other' must be a tensor, not an integer"},
	{"mul.Tensor(x, x, 1)", NULL, "more than 2 positional arguments"},
	{"add.Tensor(1, 2)", NULL, "add.Tensor: every operand is a number; at least one must be a tensor"},
	{"add_.Tensor(1, x)", NULL, "add_.Tensor: argument 'self' must be a tensor, not an integer"},
	{"add.Tensor(x, [1])", NULL, "add.Tensor: argument 'other' must be a tensor, not a list"},
	{"add_.Tensor(i, 0.5)", NULL, "result type Float can't be cast to the desired output type Long"},
	{"sub.Tensor(x, True)", NULL, "with a bool tensor is not supported"},
	{"add.Scalar(x, x)", NULL, "add.Scalar: argument 'other' must be a number, not a tensor"},
};

static bool read(struct prog *p, const char *node, bool fx, struct err *err)
{
	struct strbuf sb;
	sb_init(&sb);
	if (fx)
		sb_printf(&sb,
			"def forward(self, x: \"f32[2, 3][3, 1]cpu\", i: \"i64[2, 3][3, 1]cpu\"):\n"
			"    y = torch.ops.aten.%s;  x = None\n    return (y,)\n",
			node);
	else
		sb_printf(&sb, "# scatterproof 1\nx = input([2, 3])\ni = input([2, 3], dtype=i64)\ny = %s\nreturn (y,)\n", node);
	bool ok = prog_read(p, &arena, sb.s, sb.len, fx ? READ_LENIENT : READ_STRICT, err);
	sb_free(&sb);
	return ok;
}

static bool same_bits(const struct prog *p, const struct prog *q)
{
	const struct node *a = &p->node[2], *b = &q->node[2];
	bool same = a->op == b->op;
	for (int k = 0; same && k < op_info[a->op].nparam; k++)
		if (a->arg[k].tag == ARG_SCALAR)
			same = b->arg[k].tag == ARG_SCALAR && a->arg[k].scalar.kind == b->arg[k].scalar.kind
				&& memcmp(&a->arg[k].scalar, &b->arg[k].scalar, sizeof(struct scalar)) == 0;
	return same;
}

static void check_sent(const char *node, const char *python, const struct prog *p)
{
	struct strbuf sb;
	struct prog again;
	struct err err = {0};
	char want[128];
	snprintf(want, sizeof want, "    y = torch.ops.aten.%s\n", python);
	sb_init(&sb);
	emit_python(&sb, p, TDEV_CPU);
	EXPECT(strstr(sb.s, want), "%s is sent as\n%s", node, sb.s);
	sb_reset(&sb);
	prog_print(&sb, p);
	bool ok = prog_read(&again, &arena, sb.s, sb.len, READ_STRICT, &err);
	EXPECT(ok && same_bits(p, &again), "%s does not survive: %s\n%s", node, err.msg, sb.s);
	sb_free(&sb);
}

static void test_cases(void)
{
	for (int i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		const char *node = cases[i / 2].node, *python = cases[i / 2].python, *error = cases[i / 2].error;
		struct prog p;
		struct err err = {0};
		bool ok = read(&p, node, i % 2, &err);
		EXPECT(ok == (python != NULL), "%s: %s", node, ok ? "accepted" : err.msg);
		if (ok && python)
			check_sent(node, python, &p);
		else if (!ok && error)
			EXPECT(strstr(err.msg, error), "%s: says '%s', not '%s'", node, err.msg, error);
	}
}

int main(void)
{
	arena_init(&arena);
	RUN(test_cases);
	arena_free(&arena);
	return TEST_END();
}
