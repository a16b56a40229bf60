/* refused_test.c: programs that are refused before anything runs, in words that PyTorch does not have: inputs that cannot be made, limits,
 * results whose size only the data says. What PyTorch refuses is in tests/prog/raises. */
#include "eager/lang/prog.h"
#include "tests/test.h"

static void test_refusals(void)
{
	static const struct {
		const char *program, *want;
	} bad[] = {
		{"x = input([2, 3], stride=[1])\nreturn (x,)\n", "1 strides for 2 sizes"},
		{"x = input([2], stride=[-1])\nreturn (x,)\n", "stride -1 of dim 0 is negative"},
		{"x = input([2], dtype=i64, requires_grad=True)\nreturn (x,)\n", "only Tensors of floating point dtype can require gradients"},
		{"x = input([3], dtype=i64, fill=\"unique\", high=2)\nreturn (x,)\n", "fill=unique needs 3 different values"},
		{"x = input([3], dtype=f32, fill=\"index\", high=2)\nreturn (x,)\n", "fill=index needs an integer dtype"},
		{"x = input([3])\ny = alias(x)\nz = input_view(y, [2], [1])\nreturn (z,)\n", "is not an input"},
		{"x = input([3])\nz = input_view(x, [2], [1], 2)\nreturn (z,)\n", "out of bounds for storage of size 12"},
		{"x = input([40])\ny = unbind.int(x)\nreturn (x,)\n", "40 results exceed the limit 32"},
		{"x = input([3])\ny = unbind.int(x)\nz = getitem(y, 3)\nreturn (z,)\n", "tuple index 3 out of range"},
		{"x = input([3])\nm = input([3], dtype=b8)\ny = index.Tensor(x, [m])\nreturn (y,)\n", "data-dependent"},
	};
	for (int i = 0; i < ARRAY_LEN(bad); i++) {
		struct arena a;
		struct prog p;
		struct err err = {0};
		char text[512];
		arena_init(&a);
		snprintf(text, sizeof text, "# scatterproof 1\n%s", bad[i].program);
		bool ok = prog_read(&p, &a, text, strlen(text), READ_LENIENT, &err) && prog_infer(&p, &err);
		EXPECT(!ok && strstr(err.msg, bad[i].want), "%sgot '%s', want '%s'", text, err.msg, bad[i].want);
		arena_free(&a);
	}
}

int main(void)
{
	RUN(test_refusals);
	return TEST_END();
}
