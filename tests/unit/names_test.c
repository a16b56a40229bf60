/* names_test.c: names tell what nodes are, whatever they were called before; naming changes nothing else, and nothing the second time. */
#include "eager/lang/names.h"

#include "fuzz/campaign/source.h"
#include "fuzz/triage/verdict.h"
#include "tests/unit/program.h"

static void named(const char *text, const char *want)
{
	struct prog *p = program(text);
	struct strbuf sb;
	const bool told = prog_names_tell(p);
	prog_name_nodes(p);
	EXPECT(prog_names_tell(p), "%s", want);
	sb_init(&sb);
	for (int i = 0; i < p->nnode; i++)
		sb_printf(&sb, "%s%s", i ? " " : "", p->node[i].name);
	EXPECT_STR(sb.s, want);
	EXPECT(!told, "names that lie were taken for telling: %s", want);
	sb_free(&sb);
}

static void test_names(void)
{
	named("gather = input([3], seed=1)\nmasked_fill_ = zero_(gather)\nnonzero = neg(masked_fill_)\nreturn (nonzero,)\n", "x zero_ neg");
	named("x = input([3], seed=1)\nneg = exp(x)\nexp = neg(neg)\nabs = neg(exp)\nt = sum.dim_IntList(abs, dim=[0])\nreturn (t,)\n",
		"x exp neg neg_1 sum");
	named("a = input([2], seed=1)\nb = input([2], seed=2)\nc = input([2], seed=3)\nd = input([2], seed=4)\ne = input([2], seed=5)\n"
		  "f = input([2], seed=6)\ng = input([2], seed=7)\nh = input([2], seed=8)\ns = cat([a, b, c, d, e, f, g, h])\nreturn (s,)\n",
		"x y z w v u x_1 x_2 cat");
	named("g = input([2], seed=1, requires_grad=True)\na = neg(g)\nb = exp(g)\nx = input([2], seed=2)\none = full([], 1.0)\n"
		  "y = expand(one, [2])\nreturn (a, b)\nbackward (a: x, b: y)\n",
		"x neg exp g full g_1");
	named("n = sym(4)\nm = sym(2)\nx = input([n, m], seed=1)\nb = view(x, [m, n])\nreturn (b,)\ncall (x: seed=5, n=6)\n", "s0 s1 x view");
	named("b = input([4], seed=1)\nv = input_view(b, [2], [1], 1)\nt = topk(b, 2)\na = getitem(t, 0)\nc = getitem(t, 1)\n"
		  "return (a, c, v)\n",
		"x y topk getitem getitem_1");
}

/* Not what it computes, and its text reads. */
static void test_random(void)
{
	struct program_source s = {.seed = 21, .policy = "default", .limits = {0}};
	struct err err = {0};
	int programs = 0;
	for (int64_t k = 0; k < 300; k++) {
		struct arena a;
		struct prog p, q, again;
		arena_init(&a);
		if (source_program(&p, &a, &s, k, &err)) {
			programs++;
			prog_clone(&q, &p, &a);
			prog_name_nodes(&q);
			const struct hash128 was = prog_hash(&p), is = prog_hash(&q);
			const char *text = prog_text(&q, &a);
			EXPECT(memcmp(&was, &is, sizeof was) == 0, "%s", text);
			EXPECT(prog_validate(&q, &err), "%s\n%s", err.msg, text);
			EXPECT(prog_read(&again, &a, text, strlen(text), READ_STRICT, &err) && str_eq(prog_text(&again, &a), text), "%s\n%s", err.msg,
				text);
			EXPECT(prog_names_tell(&q), "%s", text);
			prog_name_nodes(&q);
			EXPECT_STR(prog_text(&q, &a), text);
		}
		arena_free(&a);
	}
	EXPECT(programs > 250, "%d programs", programs);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_names);
	RUN(test_random);
	arena_free(&arena);
	return TEST_END();
}
