/* text_test.c: every .prog file given round-trips bit-exactly; errors name their place; scalars survive. */
#include "eager/lang/prog.h"
#include "tests/test.h"
#include "generated/op_id.h"

#include <math.h>
#include <stdlib.h>

static struct arena arena;

static bool read_text(struct prog *p, const char *text, int mode, struct err *err)
{
	*err = (struct err){0};
	return prog_read(p, &arena, text, strlen(text), mode, err);
}

static void expect_error(const char *text, int line, int col, const char *part)
{
	struct prog p;
	struct err err;
	bool ok = read_text(&p, text, READ_STRICT, &err);
	EXPECT(!ok, "accepted:\n%s", text);
	EXPECT(err.line == line && err.col == col && strstr(err.msg, part), "want %d:%d …%s…, got %d:%d: %s", line, col, part, err.line,
		err.col, err.msg);
}

#define HEAD "# scatterproof 1\n"
static const char small[] = HEAD "s0: \"Sym(6)\" = sym(6)\n"
								 "x: \"f32[4, 13][13, 1]\" = input([4, 13], seed=1, requires_grad=True)\n"
								 "y: \"f32[4, 6][6, 1]\" = input([4, s0], seed=2)\n"
								 "slice_scatter: \"f32[4, 13][13, 1]\" = slice_scatter(x, y, dim=1, start=0, end=s0)\n"
								 "sum_1: \"f32[4][1]\" = sum.dim_IntList(slice_scatter, dim=[1])\n"
								 "one: \"f32[][]\" = full([], 1.0)\n"
								 "g: \"f32[4][0]\" = expand(one, [4])\n"
								 "return (sum_1,)\n"
								 "backward (sum_1: g,)\n"
								 "call (x: seed=3 fill=normal, y: seed=4, s0=7)\n";

static void test_round_trip(void)
{
	struct prog p, q;
	struct err err;
	bool ok = read_text(&p, small, READ_STRICT, &err);
	EXPECT(ok, "%d:%d: %s", err.line, err.col, err.msg);
	if (!ok)
		return;
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, &p);
	EXPECT_STR(sb.s, small);
	EXPECT(prog_bind(&q, &p, 1, &arena, &err), "%s", err.msg);
	EXPECT_INT(node_meta(&q, prog_find(&q, "y"))->size[1], 7);
	EXPECT_INT(node_int(&q.node[prog_find(&q, "x")], op_param(OP_input, "seed")), 3);
	struct prog c;
	prog_clone(&c, &p, &arena);
	struct hash128 a = prog_hash(&p), b = prog_hash(&c);
	EXPECT(memcmp(&a, &b, sizeof a) == 0, "the hash of a clone differs");
	sb_free(&sb);
}

static void test_errors(void)
{
	expect_error("x = input([2])\n", 1, 1, "first line");
	expect_error("# scatterproof 2\nreturn (x,)\n", 1, 1, "another version");
	expect_error(HEAD "x: \"f32[4, 13][13, 1]\" = input([4, 13])\nreturn (z,)\n", 3, 9, "'z' is not defined");
	expect_error(HEAD "x: \"f32[4, 12][13, 1]\" = input([4, 13])\nreturn (x,)\n", 2, 4, "is annotated");
	expect_error(HEAD "x = input([4, 13])\ny = nonsense(x)\nreturn (y,)\n", 3, 5, "unknown operator 'nonsense'");
	expect_error(HEAD "x = input([4, 13])\ny = unsqueeze(x)\nreturn (y,)\n", 3, 17, "'dim' is missing");
	expect_error(HEAD "x = input([4])\nh = neg(x)\ny = unsqueeze_(h, 0)\nz = neg(h)\nreturn (y, z)\n", 5, 1,
		"'z' reads 'h', to which 'y' (unsqueeze_) has given other sizes in place: read 'y'");
	expect_error(HEAD "x = input([4])\nh = neg(x)\nw = zero_(h)\ny = unsqueeze_(w, 0)\nreturn (y, h)\n", 6, 1,
		"return: 'y' has given 'h' other sizes in place (unsqueeze_): return 'y'");
	expect_error(HEAD "x = input([4])\ny = unsqueeze_(x, 0)\nz = neg(y)\nreturn (z,)\n", 3, 1,
		"unsqueeze_: 'y' gives the input 'x' other sizes in place, so 'y' must be returned");
	expect_error(HEAD "x = input([4, 13])\ny = unsqueeze(x, dim=0, dim=1)\nreturn (y,)\n", 3, 29, "given twice");
	expect_error(HEAD "n = sym(6)\nx = input([n, 4])\nv = view(x, [24])\nreturn (v,)\ncall (n=6)\ncall (n=5)\n", 7, 1, "call 2: view: ");
	expect_error(HEAD "x = input([4])\nreturn (x,)\ncall (x: seed=1, x: seed=2)\n", 4, 19, "given twice");
	expect_error(HEAD "x = input([4, 13])\nx = input([4])\nreturn (x,)\n", 3, 1, "given twice");
	expect_error(HEAD "x = input([4, 99999999999999999999])\nreturn (x,)\n", 2, 15, "64 bits");
	expect_error(HEAD "x = input([4, 13]\nreturn (x,)\n", 2, 18, "expected ','");
	expect_error(HEAD "x = input([4, 13])\n", 3, 1, "no `return`");
	expect_error(HEAD "x = input([100000, 100000])\nreturn (x,)\n", 2, 1, "elements");
}

static void test_surface(void)
{
	struct prog p, q;
	struct err err;
	struct strbuf sb;
	sb_init(&sb);
	static const char text[] = HEAD "surface python\nx: \"f32[2][1]\" = input([2])\nreturn (x,)\n";
	EXPECT(read_text(&p, text, READ_STRICT, &err) && p.surface == SURFACE_PYTHON, "%s", err.msg);
	prog_print(&sb, &p);
	EXPECT_STR(sb.s, text);
	EXPECT(read_text(&q, HEAD "surface aten\nx: \"f32[2][1]\" = input([2])\nreturn (x,)\n", READ_STRICT, &err) && q.surface == SURFACE_ATEN,
		"%s", err.msg);
	struct hash128 a = prog_hash(&p), b = prog_hash(&q);
	EXPECT(memcmp(&a, &b, sizeof a) != 0, "the surface is not part of the hash");
	EXPECT(read_text(&q, "surface torch\nx = input([2])\nreturn (x,)\n", READ_LENIENT, &err) && q.surface == SURFACE_TORCH, "%s", err.msg);
	EXPECT(read_text(&q, HEAD "surface = input([2])\nreturn (surface,)\n", READ_STRICT, &err), "a node may have that name: %s", err.msg);
	EXPECT(read_text(&q, HEAD "surface: \"f32[2][1]\" = input([2])\nreturn (surface,)\n", READ_STRICT, &err),
		"a node may have that name: %s", err.msg);
	expect_error(HEAD "surface lisp\nx = input([2])\nreturn (x,)\n", 2, 9, "surface 'lisp' is unknown (aten, torch, python)");
	expect_error(HEAD "surface torch\nsurface torch\nx = input([2])\nreturn (x,)\n", 3, 9, "a second `surface`");
	expect_error(HEAD "x = input([2])\nsurface torch\nreturn (x,)\n", 3, 9, "`surface` after the first node");
	sb_free(&sb);
}

/* A symbol that data give: its value is stated, and follows the symbol that states it. */
static void test_items(void)
{
	struct prog p, q;
	struct err err;
	struct strbuf sb;
	static const char text[] = HEAD "s0: \"Sym(6)\" = sym(6)\n"
									"x: \"i64[1][1]\" = input([1], dtype=i64, data=[6])\n"
									"u: \"Sym(6)\" = item(x, value=s0)\n"
									"f: \"f32[6, 13][13, 1]\" = full([u, 2*u + 1], 1.0)\n"
									"v: \"Sym(-2)\" = item(x, value=-2)\n"
									"return (f,)\n"
									"call (x: data=[8], s0=8)\n";
	sb_init(&sb);
	EXPECT(read_text(&p, text, READ_STRICT, &err), "%d:%d: %s", err.line, err.col, err.msg);
	prog_print(&sb, &p);
	EXPECT_STR(sb.s, text);
	EXPECT(prog_bind(&q, &p, 1, &arena, &err) && prog_validate(&q, &err), "%s", err.msg);
	EXPECT_INT(q.node[prog_find(&q, "u")].sym_value, 8);
	EXPECT_INT(q.node[prog_find(&q, "v")].sym_value, -2);
	EXPECT_INT(node_meta(&q, prog_find(&q, "f"))->size[1], 17);
	expect_error(HEAD "x = input([1], dtype=i64)\nu: \"Sym(3)\" = item(x, value=4)\nreturn (x,)\n", 3, 4, "annotated differently");
	expect_error(HEAD "x = input([1], dtype=i64)\nu = item(x)\nreturn (x,)\n", 3, 12, "'value' is missing");
	expect_error(HEAD "x = input([2], dtype=i64)\nu = item(x, value=4)\nreturn (x,)\n", 3, 1,
		"a Tensor with 2 elements cannot be converted to Scalar");
	expect_error(HEAD "x = input([1])\nu = item(x, value=4)\nreturn (x,)\n", 3, 1, "not implemented for dtype f32");
	expect_error(HEAD "x = input([1], dtype=i64, device=\"meta\")\nu = item(x, value=4)\nreturn (x,)\n", 3, 1, "on meta tensors");
	expect_error(HEAD "x = input([1], dtype=i64)\nu = item(x, value=4)\nreturn (u,)\n", 4, 1, "not a single tensor");
	expect_error(
		HEAD "x = input([1], dtype=i64)\nu = item(x, value=4)\nreturn (x,)\ncall (u=3)\n", 5, 10, "'u' is not a symbol given an integer");
	sb_free(&sb);
}

/* A size that is read off a tensor: it follows every binding, prints as it was read, and is not given by calls. */
static void test_sizes(void)
{
	struct prog p, q;
	struct err err;
	struct strbuf sb;
	static const char text[] = HEAD "s0: \"Sym(6)\" = sym(6)\n"
									"x: \"f32[6, 2][2, 1]\" = input([s0, 2])\n"
									"n: \"Sym(6)\" = sym_size.int(x, dim=-2)\n"
									"e: \"f32[12][1]\" = view(x, [n*2])\n"
									"m: \"Sym(12)\" = sym_size.int(e, dim=0)\n"
									"s: \"f32[5][1]\" = slice.Tensor(e, start=n + 1, end=m)\n"
									"return (s,)\n"
									"call (s0=8)\n";
	sb_init(&sb);
	EXPECT(read_text(&p, text, READ_STRICT, &err), "%d:%d: %s", err.line, err.col, err.msg);
	prog_print(&sb, &p);
	EXPECT_STR(sb.s, text);
	EXPECT(prog_bind(&q, &p, 1, &arena, &err) && prog_validate(&q, &err), "%s", err.msg);
	EXPECT_INT(q.node[prog_find(&q, "m")].sym_value, 16);
	EXPECT_INT(node_meta(&q, prog_find(&q, "s"))->size[0], 7);
	EXPECT(
		read_text(&q, "x = input([4, 2])\nn = torch.ops.aten.sym_size.int(x, 0)\ne = torch.ops.aten.view.default(x, [n, 2])\nreturn (e,)\n",
			READ_LENIENT, &err),
		"as FX has it: %s", err.msg);
	expect_error(HEAD "x = input([2])\nn: \"Sym(3)\" = sym_size.int(x, 0)\nreturn (x,)\n", 3, 4, "annotated differently");
	expect_error(HEAD "x = input([])\nn = sym_size.int(x, 0)\nreturn (x,)\n", 3, 1, "tensor has no dimensions");
	expect_error(HEAD "x = input([2])\nn = sym_size.int(x, 1)\nreturn (x,)\n", 3, 1, "Dimension out of range");
	expect_error(HEAD "x = input([2])\nn = sym_size.int(x, 0)\nreturn (x,)\ncall (n=3)\n", 5, 10, "'n' is not a symbol given an integer");
	expect_error(HEAD "x = input([2])\nn = sym_size.int(x, 0)\nreturn (n,)\n", 4, 1, "not a single tensor");
	expect_error(HEAD "x = input([2])\nn = sym_size.int(x, 0)\ny = neg(n)\nreturn (y,)\n", 4, 9, "must be a tensor");
	expect_error(HEAD "x = input([2])\ny = neg(x)\nn = sym_size.int(x, 0)\ng = full([n], 1.0)\nreturn (y,)\nbackward (y: g,)\n", 2, 1,
		"needed by a cotangent and by the function itself");
	sb_free(&sb);
}

static void test_lenient(void)
{
	static const char fx[] =
		"class GraphModule(torch.nn.Module):\n"
		"    def forward(self, tangents_1: \"f32[4, 33][33, 1]cpu\"):\n"
		"        unsqueeze: \"f32[4, 1, 33][33, 33, 1]cpu\" = torch.ops.aten.unsqueeze.default(tangents_1, 1);  tangents_1 = None\n"
		"        expand: \"f32[4, 13, 33][33, 0, 1]cpu\" = torch.ops.aten.expand.default(unsqueeze, [4, 13, 33]);  unsqueeze = None\n"
		"        full: \"f32[4, 6, 33][198, 33, 1]cpu\" = torch.ops.aten.full.default([4, 6, 33], 0, dtype = torch.float32, layout = "
		"torch.strided, device = device(type='cpu'), pin_memory = False)\n"
		"        slice_scatter: \"f32[4, 13, 33][33, 0, 1]cpu\" = torch.ops.aten.slice_scatter.default(expand, full, 1, 0, 6);  expand = "
		"full = None\n"
		"        return (slice_scatter,)\n";
	struct prog p;
	struct err err;
	bool ok = read_text(&p, fx, READ_LENIENT, &err);
	EXPECT(ok, "%d:%d: %s", err.line, err.col, err.msg);
	if (!ok)
		return;
	EXPECT_INT(p.nnode, 5);
	EXPECT(meta_is_contiguous(node_meta(&p, 4)), "a functional scatter of an overlapping base must be dense");
}

/* Operators that graphs have under other names. */
static void test_renamed(void)
{
	static const char head[] = "class GraphModule(torch.nn.Module):\n"
							   "    def forward(self, x: \"f32[2, 3][3, 1]cpu\"):\n";
	static const struct {
		const char *row, *same, *error;
	} table[] = {
		{"torch.ops.prims.convert_element_type.default(x, torch.float16)", "_to_copy(x, dtype=f16)", NULL},
		{"torch.ops.prims.rev.default(x, [1])", "flip(x, [1])", NULL},
		{"torch.ops.prims.fma.default(x, x, x)", "addcmul(x, x, x)", NULL},
		{"torch.ops.prims.fma.default(x, 0.5, x)", "add.Tensor(x, x, alpha=0.5)", NULL},
		{"torch.ops.aten._unsafe_index.Tensor(x, [None, None])", NULL, "index.Tensor: at least one index must be provided"},
		{"torch.ops.prims.iota.default(5, start = 3, step = -2, dtype = torch.int64, device = device(type='cpu'), requires_grad = False)",
			"arange.start_step(3, -7, -2, dtype=i64)", NULL},
		{"torch.ops.prims.iota.default(5, start = 3, step = 2, dtype = torch.int64, device = device(type='cpu'), requires_grad = True)",
			NULL, "requires_grad must be False"},
		{"torch.ops.prims.iota.default(5, start = 3, dtype = torch.int64, device = device(type='cpu'))", NULL, "must be numbers"},
		{"torch.ops.prims.rev.default(x, [1], 2)", NULL, "has no argument"},
		{"torch.ops.aten.new_empty_strided.default(x, [1, 3], [9, 1], dtype = torch.int64)", "new_zeros(x, [1, 3], dtype=i64)", NULL},
		{"torch.ops.aten.empty_strided.default([2, 3], [1, 2])", NULL, "must be contiguous"},
		{"torch.ops.aten._unsafe_masked_index.default(x, x, [None], fill = 0)", NULL, "such arguments are not read"},
		{"torch.ops.aten._embedding_bag.default(x, x, x, False, 1)", NULL, "such arguments are not read"},
		{"torch.ops.aten._unsafe_masked_index.default(x, x, [y], 0)", NULL, "such arguments are not read"},
	};
	for (int i = 0; i < ARRAY_LEN(table); i++) {
		struct prog p, q;
		struct err err;
		struct strbuf sb, as, got, want;
		sb_init(&sb);
		sb_init(&as);
		sb_init(&got);
		sb_init(&want);
		sb_printf(&sb, "%s        y = %s;  x = None\n        return (y,)\n", head, table[i].row);
		const bool ok = read_text(&p, sb.s, READ_LENIENT, &err);
		EXPECT(ok == !table[i].error, "%s: %s", table[i].row, ok ? "read" : err.msg);
		if (!ok) {
			EXPECT(table[i].error && strstr(err.msg, table[i].error), "%s: %s", table[i].row, err.msg);
		} else {
			sb_printf(&as, HEAD "x = input([2, 3], stride=[3, 1], seed=1)\ny = %s\nreturn (y,)\n", table[i].same);
			EXPECT(read_text(&q, as.s, READ_STRICT, &err), "%s: %s", table[i].same, err.msg);
			prog_print(&got, &p);
			prog_print(&want, &q);
			EXPECT_STR(got.s, want.s);
		}
		sb_free(&sb);
		sb_free(&as);
		sb_free(&got);
		sb_free(&want);
	}
}

/* Rows that eager refuses, and those that need them, stand without annotations, and only if the program says so. */
static void test_raises(void)
{
	static const char text[] = HEAD "x: \"f32[2, 3][3, 1]\" = input([2, 3], seed=1)\n"
									"y: \"f32[2, 4][4, 1]\" = input([2, 4], seed=2)\n"
									"add = add.Tensor(x, y)\n"
									"neg: \"f32[2, 3][3, 1]\" = neg(x)\n"
									"max_1 = max.dim(add, dim=0)\n"
									"v = getitem(max_1, 0)\n"
									"return (v, neg)\n"
									"raises \"must match the size\"\n"
									"call (x: seed=3)\n";
	struct prog p, q;
	struct err err;
	struct strbuf sb;
	sb_init(&sb);
	bool ok = read_text(&p, text, READ_STRICT, &err);
	EXPECT(ok, "%d:%d: %s", err.line, err.col, err.msg);
	if (!ok)
		return;
	prog_print(&sb, &p);
	EXPECT_STR(sb.s, text);
	EXPECT(p.must_raise && strstr(p.node[2].refusal, "The size of tensor a (3) must match") == p.node[2].refusal, "refusal: %s",
		p.node[2].refusal);
	EXPECT(p.node[5].refusal && !p.node[3].refusal, "what needs the row is refused with it, nothing else");
	prog_clone(&q, &p, &arena);
	EXPECT(prog_bind(&q, &p, 1, &arena, &err) && prog_validate(&q, &err), "%s", err.msg);
	struct strbuf again;
	sb_init(&again);
	prog_print(&again, &p);
	EXPECT_STR(again.s, text);
	sb_free(&again);
	sb_free(&sb);
	EXPECT(read_text(&p, HEAD "x = input([2])\nreturn (x,)\nraises\n", READ_STRICT, &err) && p.must_raise && !p.raises, "%s", err.msg);
	EXPECT(read_text(&p, HEAD "x = input([2])\nreturn (x,)\nraises 'says \"no\"'\n", READ_STRICT, &err), "%s", err.msg);
	sb_init(&sb);
	prog_print(&sb, &p);
	EXPECT(strstr(sb.s, "raises 'says \"no\"'\n"), "printed as\n%s", sb.s);
	sb_free(&sb);
	EXPECT(read_text(&p, HEAD "raises_ = input([2])\nreturn (raises_,)\n", READ_STRICT, &err) && !p.must_raise, "a name is no statement");
	expect_error(HEAD "x = input([2])\ny = view(x, [3])\nreturn (y,)\n", 3, 1, "is invalid for input of size 2");
	expect_error(HEAD "x = input([2])\nraises\nreturn (x,)\n", 3, 7, "`raises` before `return`");
	expect_error(HEAD "x = input([2])\nreturn (x,)\nraises\nraises\n", 5, 7, "a second `raises`");
	expect_error(HEAD "x = input([2])\nreturn (x,)\nraises no\n", 4, 8, "part of the message in quotes");
	expect_error(HEAD "x = input([-2])\nreturn (x,)\nraises\n", 2, 1, "input:");
	/* What is more than we take is no refusal of PyTorch's. */
	expect_error(HEAD "x = input([2])\nm = input([2], dtype=b8)\ny = index.Tensor(x, [m])\nreturn (y,)\nraises\n", 4, 1, "not supported");
	expect_error(HEAD "x = input([2, 0], dtype=b8)\nz = input([0, 2], dtype=b8)\ny = mm(x, z)\nreturn (y,)\nraises\n", 4, 1, "of bools");
	expect_error(HEAD "y = arange.start_step(0, 1, 0.5, dtype=i64)\nreturn (y,)\nraises\n", 2, 1, "not whole");
	expect_error(HEAD "x = input([2])\ny = mystery(x)\nreturn (y,)\nraises\n", 3, 5, "unknown operator");
}

/* Eight digits are an f32's, of the same payload. */
static void nans_by_bits(void)
{
	static const struct {
		const char *text;
		uint64_t bits;
	} rows[] = {{"nan(0x7fc00001)", 0x7ff8000020000000u}, {"nan(0xff800001)", 0xfff0000020000000u}, {"nan(0x7f800000)", 0},
		{"nan(0x3fc00001)", 0}, {"nan(0x7fc0001)", 0}, {"nan(0x7ff0000000000000)", 0}};
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		struct scalar t = {0};
		uint64_t bits = 0;
		const bool read = scalar_read(&t, rows[i].text, &(struct err){0});
		memcpy(&bits, &t.f, sizeof bits);
		EXPECT(read ? bits == rows[i].bits : rows[i].bits == 0, "%s", rows[i].text);
	}
}

static void test_scalars(void)
{
	static const double v[] = {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, 1.0 / 3, -2.5, 3e5};
	for (int i = 0; i < ARRAY_LEN(v); i++) {
		struct scalar s = {SC_FLOAT, 0, v[i]}, t;
		struct strbuf sb;
		struct err err = {0};
		sb_init(&sb);
		scalar_print(&sb, &s);
		EXPECT(scalar_read(&t, sb.s, &err) && t.kind == SC_FLOAT && memcmp(&t.f, &v[i], 8) == 0, "%s does not survive (%s)", sb.s, err.msg);
		sb_free(&sb);
	}
	struct scalar t;
	struct err err = {0};
	EXPECT(scalar_read(&t, "-9223372036854775808", &err) && t.i == INT64_MIN, "INT64_MIN: %s", err.msg);
	EXPECT(!scalar_read(&t, "9223372036854775808", &err), "2^63 accepted");
	nans_by_bits();
	EXPECT(scalar_read(&t, "nan(0x7ff0000000000001)", &(struct err){0}) && isnan(t.f), "NaN payload");
	EXPECT(scalar_read(&t, "-inf", &(struct err){0}) && isinf(t.f), "-inf");
}

static int round_trip_files(int n, char **path)
{
	for (int i = 0; i < n; i++) {
		struct strbuf in, out, again;
		struct err err = {0};
		struct prog p, q;
		sb_init(&in);
		sb_init(&out);
		sb_init(&again);
		bool ok = sb_read_file(&in, path[i], MAX_TEXT, &err) && prog_read(&p, &arena, in.s, in.len, READ_STRICT, &err);
		EXPECT(ok, "%s:%d:%d: %s", path[i], err.line, err.col, err.msg);
		if (ok) {
			prog_print(&out, &p);
			EXPECT(prog_read(&q, &arena, out.s, out.len, READ_STRICT, &err), "%s again: %s", path[i], err.msg);
			prog_print(&again, &q);
			EXPECT_STR(again.s, out.s);
		}
		sb_free(&in);
		sb_free(&out);
		sb_free(&again);
	}
	return 0;
}

int main(int argc, char **argv)
{
	arena_init(&arena);
	RUN(test_round_trip);
	RUN(test_errors);
	RUN(test_surface);
	RUN(test_items);
	RUN(test_sizes);
	RUN(test_lenient);
	RUN(test_renamed);
	RUN(test_raises);
	RUN(test_scalars);
	round_trip_files(argc - 1, argv + 1);
	arena_free(&arena);
	return TEST_END();
}
