/* grounds_test.c: what PyTorch refuses (programs that record it) has grounds; one that lacks the fact in question has none. */
#include "fuzz/triage/grounds.h"
#include "fuzz/triage/verdict.h"
#include "tests/unit/program.h"

static void test_recorded(int nfile, char **file)
{
	struct target t;
	struct err err = {0};
	int seen = 0;
	EXPECT(target_parse(&t, "builtin:eager", &err), "%s", err.msg);
	for (int i = 0; i < nfile; i++) {
		struct strbuf text;
		sb_init(&text);
		bool read = sb_read_file(&text, file[i], 1 << 20, &err);
		EXPECT(read, "%s", err.msg);
		if (read && strstr(text.s, "# eager: raised")) {
			const struct prog *p = program(text.s);
			const char *says = program_raises(p, &t, &arena);
			EXPECT(says && grounds_for(p, says), "%s: %s", file[i], says ? says : "runs");
			seen++;
		}
		sb_free(&text);
	}
	EXPECT(seen > 30, "%d programs that eager refuses", seen);
}

static void test_without_grounds(void)
{
#define MODIFIED "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: x"
#define CROWDED  "RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single memory location."
#define SHARED                                                                                                                             \
	"RuntimeError: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location."
#define LEAF "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
#define SPLIT                                                                                                                              \
	"RuntimeError: Output 0 of SplitBackward0 is a view and is being modified inplace. This view is the output of a function that "        \
	"returns multiple views."
#define OUTSIDE   "RuntimeError: setStorage: sizes [3, 2], strides [2, 1] are out of bounds for storage of size 20"
#define INVALID_0 "RuntimeError: Function EmbeddingDenseBackwardBackward0 returned an invalid gradient at index 0 - got [6, 4]"
	static const struct {
		const char *says, *text;
		bool ground;
	} row[] = {
		{MODIFIED, "x = input([2], requires_grad=True)\ny = exp(x)\nz = zero_(y)\ng = full([2], 1.0)\nreturn (y,)\nbackward (y: g)\n",
			true},
		{MODIFIED, "x = input([2], requires_grad=True)\ny = neg(x)\nz = zero_(y)\ng = full([2], 1.0)\nreturn (y,)\nbackward (y: g)\n",
			false},
		{MODIFIED,
			"x = input([2], requires_grad=True)\ny = exp(x)\nw = neg(x)\nz = zero_(w)\ng = full([2], 1.0)\nreturn (y,)\nbackward (y: g)\n",
			false},
		{MODIFIED,
			"x = input([2], requires_grad=True)\ny = neg(x)\nz = zero_(y)\nw = mul.Tensor(z, z)\ng = full([2], 1.0)\nreturn (w,)\n"
			"backward (w: g)\n",
			false},
		{MODIFIED, "x = input([2], requires_grad=True)\ny = exp(x)\nz = zero_(y)\nreturn (y,)\n", false},
		{CROWDED, "x = input([2])\ny = expand(x, [3, 2])\nz = zero_(y)\nreturn (z,)\n", true},
		{CROWDED, "x = input([9])\ny = as_strided(x, [3, 2], [2, 3])\nz = zero_(y)\nreturn (z,)\n", true},
		{CROWDED, "x = input([2, 3])\ny = permute(x, [1, 0])\nz = zero_(y)\nreturn (z,)\n", false},
		{CROWDED, "x = input([2, 3])\ny = slice.Tensor(x, 1, 0, 3, 2)\nz = zero_(y)\nreturn (z,)\n", false},
		{CROWDED, "x = input([1, 3])\ny = expand(x, [4, 3])\nz = add_.Tensor(y, x)\nreturn (x,)\n", true},
		{SHARED, "x = input([4])\na = slice.Tensor(x, 0, 0, 2)\nb = slice.Tensor(x, 0, 1, 3)\nz = add_.Tensor(a, b)\nreturn (x,)\n", true},
		{SHARED, "x = input([4])\na = slice.Tensor(x, 0, 0, 2)\nb = clone(a)\nz = add_.Tensor(a, b)\nreturn (x,)\n", false},
		{LEAF, "x = input([2], requires_grad=True)\ny = view(x, [2])\nz = zero_(y)\nreturn (z,)\n", true},
		{LEAF, "x = input([2], requires_grad=True)\ny = neg(x)\nz = zero_(y)\nreturn (z,)\n", false},
		{SPLIT, "x = input([2])\ny = split.Tensor(x, 1)\na = getitem(y, 0)\nz = zero_(a)\nreturn (z,)\n", true},
		{SPLIT, "x = input([2])\na = slice.Tensor(x, 0, 0, 1)\nz = zero_(a)\nreturn (z,)\n", false},
		{OUTSIDE,
			"x = input([7])\ny = input([3, 2], requires_grad=True)\ns = slice.Tensor(x, 0, 0, 5)\n"
			"z = as_strided_scatter(s, y, [3, 2], [2, 1])\ng = input([5])\nreturn (z,)\nbackward (z: g)\n",
			true},
		{OUTSIDE,
			"x = input([7], requires_grad=True)\ny = as_strided(x, [3, 2], [2, 1])\ng = input([3, 2])\nreturn (y,)\nbackward (y: g)\n",
			false},
		{INVALID_0,
			"g = input([2, 3, 4], requires_grad=True)\ni = input([6], dtype=i64, fill=\"index\", high=3)\n"
			"y = embedding_dense_backward(g, i, 3, -1, False)\nu = input([3, 4])\nreturn (y,)\nbackward (y: u)\n",
			true},
		{INVALID_0, "x = input([4], requires_grad=True)\ny = neg(x)\ng = input([4])\nreturn (y,)\nbackward (y: g)\n", false},
		{"RuntimeError: Autograd not support dtype: Long", "x = input([2], requires_grad=True)\nz = sum(x)\nreturn (z,)\n", false},
		{"RuntimeError: a sentence that nobody knows", "x = input([2])\nz = neg(x)\nreturn (z,)\n", false},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		const struct prog *p = program(arena_printf(&arena, "# scatterproof 1\n%s", row[i].text));
		EXPECT(grounds_for(p, row[i].says) == row[i].ground, "%d: %s", i, row[i].text);
	}
}

int main(int argc, char **argv)
{
	arena_init(&arena);
	test_recorded(argc - 1, argv + 1);
	RUN(test_without_grounds);
	arena_free(&arena);
	return TEST_END();
}
