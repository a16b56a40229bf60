/* minimise_test.c: the minimiser asks no text twice, ends with the last program that was accepted, changes nothing when it is run on its
 * own result, and takes a known pair of operators out of large programs. Nothing runs: the questions are about the programs' texts. */
#include "eager/lang/stated.h"
#include "eager/run/count.h"
#include "fuzz/campaign/source.h"
#include "fuzz/triage/minimise.h"
#include "fuzz/triage/verdict.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "tests/test.h"

#include <stdlib.h>

enum { MAX_ASKED = 20000 };
struct coin {
	uint64_t salt;
	int odds; /* one of so many is a yes */
	int n;
	struct hash128 asked[MAX_ASKED];
	char *last; /* accepted text; NULL: none */
	bool again;
};
static struct coin coin;

/* The same answer to the same text, at any time. */
static bool falls(const struct coin *c, const char *text)
{
	struct hash128 h = hash_bytes(text, strlen(text));
	uint64_t u;
	memcpy(&u, h.b, sizeof u);
	return mix64(u ^ c->salt) % (uint64_t)c->odds == 0;
}

static enum minimise_answer toss(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	struct coin *c = ctx;
	struct hash128 h = hash_bytes(text, strlen(text));
	struct arena a;
	struct prog q;
	struct err err = {0};
	arena_init(&a);
	for (int i = 0; i < c->n; i++)
		EXPECT(memcmp(&c->asked[i], &h, sizeof h) != 0, "asked twice: %s\n%s", shrink_name[edit->kind], text);
	CHECK(c->n < MAX_ASKED);
	c->asked[c->n++] = h;
	EXPECT(prog_validate(p, &err), "%s makes an invalid program: %s\n%s", shrink_name[edit->kind], err.msg, text);
	EXPECT(prog_read(&q, &a, text, strlen(text), READ_STRICT, &err) && str_eq(prog_text(&q, &a), text), "%s: %d:%d: %s\n%s",
		shrink_name[edit->kind], err.line, err.col, err.msg, text);
	arena_free(&a);
	if (!falls(c, text))
		return MINIMISE_NO;
	free(c->last);
	c->last = xstrdup(text);
	return MINIMISE_YES;
}

static void one_coin(const struct prog *p, uint64_t salt, int odds, struct arena *a)
{
	struct minimise_count count, none;
	struct prog least, same;
	coin.salt = salt;
	coin.odds = odds;
	coin.n = 0;
	minimise(&least, &count, p, toss, &coin, a);
	EXPECT_STR(prog_text(&least, a), coin.last ? coin.last : prog_text(p, a));
	EXPECT_INT(count.asked, coin.n);
	EXPECT((count.accepted > 0) == (coin.last != NULL), "%d accepted", count.accepted);
	coin.n = 0;
	minimise(&same, &none, &least, toss, &coin, a);
	EXPECT(none.accepted == 0, "run again, it accepts %d edits of\n%s", none.accepted, prog_text(&least, a));
	free(coin.last);
	coin.last = NULL;
}

static void test_coins(void)
{
	struct program_source s = {.seed = 11, .policy = "default", .limits = {0}};
	struct err err = {0};
	int programs = 0;
	for (int64_t k = 0; k < 60; k++) {
		struct arena a;
		struct prog p;
		arena_init(&a);
		if (source_program(&p, &a, &s, k, &err)) {
			one_coin(&p, (uint64_t)k, 2 + (int)(k % 5), &a);
			programs++;
		}
		arena_free(&a);
	}
	EXPECT(programs > 50, "%d programs", programs);
}

/* The founding bug as a question: is the sum of a slice_scatter returned and differentiated, up to an input? */
static bool is_sum(const struct node *n) { return str_starts(op_info[n->op].name, "sum"); }

/* A result that never requires grad, whatever its row reads. */
static bool is_constant(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	if (n->op != OP_input && op_has(n->op, T_NONDIFF))
		return true;
	return n->op == OP_getitem && op_info[p->node[n->arg[A_getitem_self].node].op].constant >> n->arg[A_getitem_index].i.value & 1;
}

static bool founding(const struct prog *p)
{
	for (int i = 0; i < p->nback; i++) {
		const struct node *sum = &p->node[p->back[i].node];
		if (!is_sum(sum) || p->node[sum->arg[A_sum_self].node].op != OP_slice_scatter)
			continue;
		bool wants[MAX_NODES] = {false};
		for (int k = 0; k <= sum->arg[A_sum_self].node; k++)
			wants[k] =
				p->node[k].op == OP_input ? node_requires_grad(&p->node[k]) : node_reads(p, &p->node[k], wants) && !is_constant(p, k);
		if (wants[p->node[sum->arg[A_sum_self].node].arg[A_slice_scatter_self].node])
			return true;
	}
	return false;
}

static enum minimise_answer ask_founding(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	(void)ctx;
	(void)text;
	(void)edit;
	return founding(p) ? MINIMISE_YES : MINIMISE_NO;
}

static void test_founding_pair(void)
{
	struct program_source s = {.seed = 12, .policy = "default", .limits = {0}};
	struct err err = {0};
	int found = 0;
	for (int64_t k = 0; k < 400000 && found < 20; k++) {
		struct arena a;
		struct prog p, least;
		struct minimise_count count;
		arena_init(&a);
		if (source_program(&p, &a, &s, k, &err) && !p.must_raise && founding(&p) && prog_operators(&p) >= 4) {
			found++;
			minimise(&least, &count, &p, ask_founding, NULL, &a);
			const char *text = prog_text(&least, &a);
			EXPECT_INT(prog_operators(&least), 2);
			EXPECT(least.ncall == 0 && least.nret == 1 && least.nnode <= 5, "%s", text);
			for (int i = 0; i < least.nnode; i++)
				EXPECT(!least.node[i].nout || node_meta(&least, i)->rank <= 2, "%s of\n%s", text, prog_text(&p, &a));
		}
		arena_free(&a);
	}
	EXPECT_INT(found, 20);
}

/* Data, symbols, views, written inputs: what random programs have seldom is edited, too. */
static enum minimise_answer always(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	int *kinds = ctx;
	(void)p;
	(void)text;
	kinds[edit->kind]++;
	return MINIMISE_YES;
}

static void test_every_kind(void)
{
	static const char text[] =
		"# scatterproof 1\nsurface python\nn = sym(6)\nx = input([n, 4], dtype=f64, seed=3, requires_grad=True)\n"
		"d = input([3], dtype=f16, data=[0, 1, 0])\nw = input([8, 3], stride=[1, 8], offset=2, fill=\"normal\")\n"
		"u = input_view(w, [4], [1])\nm = sym_size.int(x, dim=0)\ny = slice.Tensor(x, dim=-1, start=1, end=3)\n"
		"z = mul.Scalar(y, 3.0)\nv = view(z, [2*m])\nk = neg(d)\nh = add.Tensor(u, u)\nj = sum.dim_IntList(w, dim=[0], keepdim=True)\n"
		"g = input([2*n], dtype=f64, seed=7)\nreturn (v, k, h, j)\nbackward (v: g) late\ncall (n=5)\ncall (d: data=[1, 1, 1])\n";
	int kinds[NSHRINKS] = {0};
	struct arena a;
	struct prog p, q;
	struct err err = {0};
	struct minimise_count count;
	arena_init(&a);
	EXPECT(prog_read(&p, &a, text, strlen(text), READ_LENIENT, &err), "%d:%d: %s", err.line, err.col, err.msg);
	for (int kind = 0; kind < NSHRINKS; kind++) { /* each alone: after others there may be nothing left for it */
		struct shrink *list;
		int n = shrink_list(&list, &p, (enum shrink_kind)kind, &a), made = 0;
		err = (struct err){0};
		for (int i = 0; i < n; i++)
			made += shrink_apply(&q, &p, &list[i], &a, &err);
		EXPECT(made > 0, "no edit of kind '%s' of %d makes a program: %s", shrink_name[kind], n, err.msg);
	}
	minimise(&q, &count, &p, always, kinds, &a);
	EXPECT(count.accepted == count.asked && q.nnode == 1 && q.ncall == 0 && q.surface == SURFACE_ATEN, "%s", prog_text(&q, &a));
	arena_free(&a);
}

/* ---- sizes of data ---- */

static enum minimise_answer ask_masked_select(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	struct err err = {0};
	bool selects = false;
	(void)ctx;
	EXPECT(count_all_hold(p, &err), "%s: %s\n%s", shrink_name[edit->kind], err.msg, text);
	for (int i = 0; i < p->nret; i++)
		selects |= p->node[p->ret[i]].op == OP_masked_select && p->nback;
	return selects ? MINIMISE_YES : MINIMISE_NO;
}

/* What the mask selects changes with its size, its data, and what makes it; the statement, the rows behind and the cotangent follow. */
static void test_stated(void)
{
	static const char *const text[] = {
		"# scatterproof 1\nx = input([4, 6], seed=1, requires_grad=True)\nk = input([6], seed=2)\nm = gt.Scalar(k, 0.0)\n"
		"y = masked_select(x, m, count=8)\nz = neg(y)\ng = input([8], seed=7)\nreturn (y, z)\nbackward (y: g)\n",
		"# scatterproof 1\nn = sym(8)\nx = input([4, 6], seed=1, requires_grad=True)\nk = input([6], seed=2)\nm = gt.Scalar(k, 0.0)\n"
		"y = masked_select(x, m, count=n)\nz = neg(y)\ng = input([n], seed=7)\nreturn (y, z)\nbackward (y: g)\ncall (k: seed=5, n=0)\n",
	};
	for (int i = 0; i < ARRAY_LEN(text); i++) {
		struct arena a;
		struct prog p, least;
		struct minimise_count count;
		struct err err = {0};
		arena_init(&a);
		EXPECT(prog_read(&p, &a, text[i], strlen(text[i]), READ_LENIENT, &err), "%d:%d: %s", err.line, err.col, err.msg);
		EXPECT(count_restate(&p, &err), "%s", err.msg);
		minimise(&least, &count, &p, ask_masked_select, NULL, &a);
		EXPECT(meta_numel(node_meta(&least, least.ret[0])) == 1 && prog_operators(&least) == 1, "%s", prog_text(&least, &a));
		arena_free(&a);
	}
}

static enum minimise_answer ask_item(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	struct err err = {0};
	(void)ctx;
	EXPECT(count_all_hold(p, &err), "%s: %s\n%s", shrink_name[edit->kind], err.msg, text);
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_slice_Tensor && node_given(&p->node[i], A_slice_Tensor_end)
			&& p->node[i].arg[A_slice_Tensor_end].i.expr >= 0)
			return MINIMISE_YES;
	return MINIMISE_NO;
}

/* What an item reads becomes an input that holds the number, and the number shrinks with the size that it is. */
static void test_item(void)
{
	static const char text[] =
		"# scatterproof 1\ns = sym(6)\nx = input([3], dtype=i64, data=[6, 1, 2])\ny = input([6, 4], seed=1)\nm = amax(x)\n"
		"u = item(m, value=s)\nz = slice.Tensor(y, dim=0, end=u)\nw = neg(z)\nreturn (w,)\ncall (x: data=[5, 1, 2], s=5)\n";
	static const char want[] = "# scatterproof 1\ny: \"f32[1][1]\" = input([1], seed=1)\n"
							   "m: \"i64[][]\" = input([], dtype=i64, seed=4, data=[1])\nu: \"Sym(1)\" = item(m, value=1)\n"
							   "z: \"f32[1][1]\" = slice.Tensor(y, end=u)\nreturn (z,)\n";
	struct arena a;
	struct prog p, least;
	struct minimise_count count;
	struct err err = {0};
	arena_init(&a);
	EXPECT(prog_read(&p, &a, text, strlen(text), READ_LENIENT, &err), "%d:%d: %s", err.line, err.col, err.msg);
	minimise(&least, &count, &p, ask_item, NULL, &a);
	EXPECT_STR(prog_text(&least, &a), want);
	arena_free(&a);
}

/* ---- which operators are plainer ---- */

typedef bool returned(const struct prog *p, const struct node *n);

static bool copies(const struct prog *p, const struct node *n) { return (void)p, op_info[n->op].family == F_COPY; }
static bool makes(const struct prog *p, const struct node *n) { return (void)p, !node_is_source(n) && !op_has(n->op, T_VIEW); }
static bool is_unfolded(const struct prog *p, const struct node *n) { return (void)p, n->op == OP_unfold; }
static bool views_a_result(const struct prog *p, const struct node *n)
{
	return op_has(n->op, T_VIEW) && p->node[0].out[0].storage != n->out[0].storage;
}

static enum minimise_answer all_returned(void *ctx, const struct prog *p, const char *text, const struct shrink *edit)
{
	const struct prog *was = ((const void **)ctx)[0];
	(void)text, (void)edit;
	for (int i = 0; i < p->nret; i++)
		if (!(*(returned *const *)((const void **)ctx)[1])(p, &p->node[p->ret[i]]))
			return MINIMISE_NO;
	return p->nret == was->nret ? MINIMISE_YES : MINIMISE_NO;
}

/* What nobody writes becomes what people write, parts of several become parts alone, and what is like an operand is neg of it. */
static void test_plainer_operators(void)
{
	static const struct {
		returned *ask;
		const char *program, *least;
	} row[] = {
		{copies, "x = input([2], seed=1)\ny = lift_fresh_copy(x)\nreturn (y,)\n", "= clone(x)"},
		{makes, "x = input([2, 3], seed=1)\ni = input([2], dtype=i64, fill=\"index\", seed=2, high=2)\ny = embedding(x, i)\nreturn (y,)\n",
			"= neg("},
		{views_a_result,
			"x = input([2, 3], seed=1)\nn = neg(x)\nu = unbind.int(n, dim=-1)\na = getitem(u, 2)\nb = getitem(u, 1)\nreturn (a, b)\n",
			"= select.int("},
		{views_a_result,
			"x = input([5], seed=1)\nn = neg(x)\nu = split.Tensor(n, split_size=3)\na = getitem(u, 0)\nb = getitem(u, 1)\nreturn (a, b)\n",
			"= slice.Tensor("},
		{makes, "x = input([2], seed=1)\nv = var_mean.correction(x)\ny = getitem(v, 1)\nreturn (y,)\n", "= neg("},
		{is_unfolded, "x = input([5], seed=1)\ny = unfold(x, dimension=0, size=3, step=2)\nreturn (y,)\n", "size=1"},
		{is_unfolded, "x = input([5], seed=1)\ny = unfold(x, dimension=0, size=0, step=2)\nreturn (y,)\n", "size=0"},
	};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct arena a;
		struct prog p, least;
		struct minimise_count count;
		struct err err = {0};
		arena_init(&a);
		EXPECT(prog_read(&p, &a, row[i].program, strlen(row[i].program), READ_LENIENT, &err), "%s", err.msg);
		const void *ctx[] = {&p, &row[i].ask};
		minimise(&least, &count, &p, all_returned, ctx, &a);
		const char *text = prog_text(&least, &a);
		EXPECT(strstr(text, row[i].least) && !strstr(text, "getitem"), "%s", text);
		arena_free(&a);
	}
}

int main(void)
{
	RUN(test_coins);
	RUN(test_founding_pair);
	RUN(test_every_kind);
	RUN(test_stated);
	RUN(test_item);
	RUN(test_plainer_operators);
	return TEST_END();
}
