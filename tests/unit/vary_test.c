/* vary_test.c: a program with another size or dtype is a program, and differs where it says so. */
#include "eager/lang/vary.h"
#include "fuzz/campaign/source.h"
#include "tests/unit/program.h"

static const char FOUNDING[] = "# scatterproof 1\nx = input([3, 20, 9], seed=1, requires_grad=True)\ny = input([3, 7, 9], seed=2)\n"
							   "s = slice_scatter(x, y, dim=1, start=5, end=12)\nt = sum.dim_IntList(s, dim=[1])\n"
							   "g = input([3, 9], seed=3)\nreturn (t,)\nbackward (t: g)\n";

/* `want`: what differs, then the number of the dimension's size in x; "" if that makes no program. */
static void resized(const char *text, int64_t from, int64_t to, const char *want, bool moves)
{
	struct prog *p = program(text), q;
	struct strbuf sb;
	struct err err = {0};
	bool moved = false;
	sb_init(&sb);
	if (vary_size(&q, p, from, to, &moved, &arena, &err))
		vary_print(&sb, p, &q);
	EXPECT(strcmp(sb.s, want) == 0 && (want[0] || err.msg[0]), "%lld -> %lld: got '%s', want '%s': %s", (long long)from, (long long)to,
		sb.s, want, err.msg);
	EXPECT(!want[0] || moved == moves, "%lld -> %lld: positions %s", (long long)from, (long long)to, moved ? "moved" : "stayed");
	sb_free(&sb);
}

static void test_sizes(void)
{
	resized(FOUNDING, 9, 16, "x: 3x20x9 -> 3x20x16, y: 3x7x9 -> 3x7x16, g: 3x9 -> 3x16", false);
	resized(FOUNDING, 20, 33, "x: 3x20x9 -> 3x33x9", false);
	resized(FOUNDING, 20, 13, "x: 3x20x9 -> 3x13x9", false);
	resized(FOUNDING, 20, 10, "x: 3x20x9 -> 3x10x9, y: 3x7x9 -> 3x4x9, s.start: 5 -> 2, s.end: 12 -> 6", true);
	resized(FOUNDING, 7, 8, "y: 3x7x9 -> 3x8x9, s.end: 12 -> 13", false);
	resized(FOUNDING, 7, 17, "y: 3x7x9 -> 3x17x9, s.start: 5 -> 3, s.end: 12 -> 20", false);
	resized(FOUNDING, 7, 21, "", false);
	resized("# scatterproof 1\nx = input([4, 6], seed=1)\ns = slice.Tensor(x, dim=1, end=6)\nreturn (s,)\n", 6, 8,
		"x: 4x6 -> 4x8, s.end: 6 -> 8", false);
	resized("# scatterproof 1\nx = input([4, 6], seed=1)\nv = view(x, [24])\nreturn (v,)\n", 6, 257, "x: 4x6 -> 4x257", false);
	resized("# scatterproof 1\nx = input([3], data=[1, 2, 3])\nreturn (x,)\n", 3, 5, "x: 3 -> 5", false);
	resized("# scatterproof 1\nn = sym(6)\nx = input([n, 4], seed=1)\nv = view(x, [4*n])\nreturn (v,)\n", 6, 9,
		"n.value: 6 -> 9, x: 6x4 -> 9x4", false);
}

static void test_data_is_repeated(void)
{
	struct prog *p = program("# scatterproof 1\nx = input([3], data=[1, 2, 3])\nreturn (x,)\ncall (x: data=[4, 5, 6])\n"), q;
	struct strbuf sb;
	struct err err = {0};
	bool moved;
	sb_init(&sb);
	EXPECT(vary_size(&q, p, 3, 5, &moved, &arena, &err), "%s", err.msg);
	prog_print(&sb, &q);
	EXPECT(strstr(sb.s, "data=[1, 2, 3, 1, 2]") && strstr(sb.s, "data=[4, 5, 6, 4, 5]"), "%s", sb.s);
	sb_free(&sb);
}

static void test_dtypes(void)
{
	static const struct {
		const char *text;
		enum dtype from, to;
		const char *want;
	} row[] = {
		{FOUNDING, DT_F32, DT_BF16, "x: f32 -> bf16, y: f32 -> bf16, g: f32 -> bf16"},
		{FOUNDING, DT_F64, DT_BF16, ""}, /* nothing is f64: the same program */
		{"# scatterproof 1\nx = input([4], seed=1)\no = full([4], 1.0)\ny = add.Tensor(x, o)\nreturn (y,)\n", DT_F32, DT_F64,
			"x: f32 -> f64"},
		{"# scatterproof 1\nx = input([4], seed=1)\ni = input([2], dtype=i64, fill=\"index\", high=4)\n"
		 "y = index_select(x, 0, i)\nreturn (y,)\n",
			DT_I64, DT_I32, "i: i64 -> i32"},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct prog *p = program(row[i].text), q;
		struct strbuf sb;
		struct err err = {0};
		sb_init(&sb);
		EXPECT(vary_dtype(&q, p, row[i].from, row[i].to, &arena, &err), "%s", err.msg);
		vary_print(&sb, p, &q);
		EXPECT_STR(sb.s, row[i].want);
		EXPECT(q.node[q.ret[0]].out[0].meta.dtype == (row[i].from == DT_F32 ? row[i].to : DT_F32), "the result keeps its dtype");
		sb_free(&sb);
	}
	struct prog *p = program(row[3].text), q;
	struct err err = {0};
	EXPECT(!vary_dtype(&q, p, DT_I64, DT_F32, &arena, &err) && err.msg[0], "an index of floats");
}

/* Whatever is accepted is valid, reads back as it is printed, and the size is there. */
static void test_generated(void)
{
	static const int64_t to[] = {1, 2, 3, 9, 16, 33};
	struct program_source s = {.seed = 21, .policy = "default", .limits = {0}};
	int tried = 0, made = 0;
	for (int64_t k = 0; k < 400; k++) {
		struct arena a;
		struct prog p, q, again;
		struct err err = {0};
		arena_init(&a);
		if (source_program(&p, &a, &s, k, &err) && !p.must_raise)
			for (int i = 0; i < ARRAY_LEN(to); i++) {
				int first = 0;
				while (first < p.nnode && !(node_is_input(&p.node[first]) && node_meta(&p, first)->rank))
					first++;
				int64_t from = first < p.nnode ? node_meta(&p, first)->size[0] : 0;
				bool moved;
				tried += from > 1;
				if (from < 2 || !vary_size(&q, &p, from, to[i], &moved, &a, &err))
					continue;
				struct strbuf sb;
				sb_init(&sb);
				made++;
				prog_print(&sb, &q);
				err = (struct err){0}; /* what another variant was refused for */
				EXPECT(prog_read(&again, &a, sb.s, sb.len, READ_STRICT, &err), "%d:%d: %s\n%s", err.line, err.col, err.msg, sb.s);
				EXPECT(node_meta(&q, first)->size[0] == to[i], "%lld -> %lld\n%s", (long long)from, (long long)to[i], sb.s);
				sb_free(&sb);
			}
		arena_free(&a);
	}
	printf("%d of %d resized\n", made, tried);
	EXPECT(made > tried / 2 && tried > 1000, "%d of %d", made, tried);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_sizes);
	RUN(test_data_is_repeated);
	RUN(test_dtypes);
	RUN(test_generated);
	arena_free(&arena);
	return TEST_END();
}
