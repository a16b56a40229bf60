/* oracle_ref_test.c: the reference against answers worked out by hand. */
#include "generated/op_id.h"
#include "oracle/ref/refrun.h"
#include "oracle/tape/adjoint.h"
#include "tests/test.h"
#include "fuzz/triage/profile.h"

static struct arena arena;

static enum ref_status run_text(struct reference *ref, const char *text, const char *target)
{
	struct prog p, b;
	struct err err = {0};
	struct licence_profile *l = ARENA_NEW(&arena, struct licence_profile, 1);
	EXPECT(profile_named(l, target), "no licence for %s", target);
	if (!prog_read(&p, &arena, text, strlen(text), READ_STRICT, &err) || !prog_bind(&b, &p, 0, &arena, &err)) {
		EXPECT(false, "%d:%d: %s", err.line, err.col, err.msg);
		return REF_UNSUPPORTED;
	}
	enum ref_status s = ref_run(ref, &b, l, TAPE_LIMITS_DEFAULT, &arena, &err);
	if (s != REF_OK)
		printf("  %s\n", ref->message);
	return s;
}

/* SEEDS.md A: dL/dx = g outside [start, end), 0 inside; dL/dy = g. */
static void test_founding(void)
{
	struct reference ref;
	const char *text = "# scatterproof 1\n"
					   "x: \"f32[2, 5, 3][15, 3, 1]\" = input([2, 5, 3], seed=1, requires_grad=True)\n"
					   "y: \"f32[2, 2, 3][6, 3, 1]\" = input([2, 2, 3], seed=2, requires_grad=True)\n"
					   "slice_scatter: \"f32[2, 5, 3][15, 3, 1]\" = slice_scatter(x, y, dim=1, start=1, end=3)\n"
					   "sum_1: \"f32[2, 3][3, 1]\" = sum.dim_IntList(slice_scatter, dim=[1])\n"
					   "g: \"f32[2, 3][3, 1]\" = input([2, 3], seed=3, fill=\"normal\")\n"
					   "return (sum_1,)\n"
					   "backward (sum_1: g,)\n";
	EXPECT_INT(run_text(&ref, text, "torch:eager@cpu"), REF_OK);
	if (ref.status != REF_OK)
		return;
	EXPECT_INT(ref.nouts, 1);
	EXPECT_INT(ref.ngrads, 2);
	EXPECT_INT(ref.nstorages, 3);
	for (int b = 0; b < 2; b++) {
		for (int i = 0; i < 5; i++) {
			for (int k = 0; k < 3; k++) {
				const struct num *gx = &ref.grad[0].val[(b * 5 + i) * 3 + k], *g = &ref.storage[2].val[b * 3 + k];
				bool inside = i >= 1 && i < 3;
				EXPECT(num_is_exact(gx) && gx->hi == (inside ? 0 : g->hi), "%d %d %d: %g want %g", b, i, k, gx->hi, g->hi);
				if (inside)
					EXPECT(ref.grad[1].val[(b * 2 + i - 1) * 3 + k].hi == g->hi, "y.grad");
			}
		}
	}
	EXPECT(num_is_exact(&ref.out[0].val[0]), "dyadic sums are exact");
}

static const struct num *grad_of(const struct reference *ref, int k) { return ref->grad[k].val; }

/* Overwritten elements have an adjoint 0 that still multiplies: 0 * inf = NaN; whether a gradient exists follows the tensors. */
static void test_dense_zero(void)
{
	struct reference ref;
	const char *text = "# scatterproof 1\n"
					   "x: \"f32[3][1]\" = input([3], seed=1, requires_grad=True)\n"
					   "y: \"f32[3][1]\" = input([3], seed=2, requires_grad=True)\n"
					   "full: \"f32[3][1]\" = full([3], inf)\n"
					   "mul: \"f32[3][1]\" = mul.Tensor(x, full)\n"
					   "zero_: \"f32[3][1]\" = zero_(mul)\n"
					   "g: \"f32[3][1]\" = input([3], seed=3)\n"
					   "return (mul,)\n"
					   "backward (mul: g,)\n";
	EXPECT_INT(run_text(&ref, text, "torch:eager@cpu"), REF_OK);
	if (ref.status != REF_OK)
		return;
	for (int i = 0; i < 3; i++)
		EXPECT(grad_of(&ref, 0)[i].flags & NUM_NAN && grad_of(&ref, 0)[i].flags & NUM_NOFIN, "0 * inf");
	EXPECT(!ref.grad[1].present, "y is not on the path: None");
	EXPECT(num_is_exact(&ref.out[0].val[0]) && ref.out[0].val[0].hi == 0, "zeroed");
}

/* A leaf that overlaps itself has one gradient per logical index. */
static void test_overlapping_leaf(void)
{
	struct reference ref;
	const char *text = "# scatterproof 1\n"
					   "x: \"f32[3, 2][0, 1]\" = input([3, 2], stride=[0, 1], seed=1, requires_grad=True)\n"
					   "select: \"f32[2][1]\" = select.int(x, dim=0, index=1)\n"
					   "g: \"f32[2][1]\" = input([2], seed=3, fill=\"positive\")\n"
					   "return (select,)\n"
					   "backward (select: g,)\n";
	EXPECT_INT(run_text(&ref, text, "torch:eager@cpu"), REF_OK);
	if (ref.status != REF_OK)
		return;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++)
			EXPECT((grad_of(&ref, 0)[i * 2 + k].hi != 0) == (i == 1), "row %d: %g", i, grad_of(&ref, 0)[i * 2 + k].hi);
	EXPECT_INT(ref.grad[0].meta.stride[0], 2);
	EXPECT_INT(ref.grad[0].meta.stride[1], 1);
}

static bool undecided(const struct num *v) { return v->flags & NUM_UNDEC; }

/* topk of tied leaves: nothing says which of them gets g, but one of them does. */
static void test_undecided_winner(void)
{
	struct reference ref;
	const char *text = "# scatterproof 1\n"
					   "x: \"f32[40][1]\" = input([40], fill=\"ties\", seed=3, requires_grad=True)\n"
					   "topk: (\"f32[1][1]\", \"i64[1][1]\") = topk(x, 1)\n"
					   "getitem: \"f32[1][1]\" = getitem(topk, 0)\n"
					   "g: \"f32[1][1]\" = full([1], 2.0)\n"
					   "return (getitem,)\n"
					   "backward (getitem: g,)\n";
	EXPECT_INT(run_text(&ref, text, "torch:eager@cpu"), REF_OK);
	if (ref.status != REF_OK)
		return;
	const struct num *top = &ref.out[0].val[0];
	EXPECT(num_is_exact(top), "the value is certain");
	EXPECT_INT(ref.nwinners, 1);
	const struct ref_winners *w = ref.winners;
	EXPECT(ref.nwinners && w->grad == 0 && w->n > 1 && w->n < 40 && w->npick == 1 && w->pick[0].hi == 2, "one of the equals gets 2");
	int tied = 0;
	for (int i = 0; i < 40; i++) {
		const struct num *x = &ref.storage[0].val[i], *g = &grad_of(&ref, 0)[i];
		bool wins = x->hi == top->hi;
		tied += wins;
		EXPECT(wins ? undecided(g) && num_has(g, 0) && num_has(g, 2) && !num_has(g, 3) : num_is_exact(g) && g->hi == 0, "element %d: %g", i,
			g->hi);
	}
	EXPECT(tied > 1, "%d tied", tied);
}

/* Values that rounding may reorder (kept in f32, or rounded to bf16, where they are equal): each may be the largest, or share with
 * others. */
static void test_reordered_by_rounding(void)
{
	struct reference ref;
	const char *text = "# scatterproof 1\n"
					   "x: \"bf16[4][1]\" = input([4], seed=1, dtype=bf16, fill=\"normal\", requires_grad=True)\n"
					   "mul: \"bf16[4][1]\" = mul.Scalar(x, 0.0009765625)\n"
					   "add: \"bf16[4][1]\" = add.Scalar(mul, 1.0)\n"
					   "amax: \"bf16[][]\" = amax(add, dim=[0])\n"
					   "g: \"bf16[][]\" = full([], 1024.0, dtype=bf16)\n"
					   "return (amax,)\n"
					   "backward (amax: g,)\n";
	EXPECT_INT(run_text(&ref, text, "torch:inductor@cpu"), REF_OK);
	if (ref.status != REF_OK)
		return;
	for (int i = 0; i < 4; i++) {
		const struct num *g = &grad_of(&ref, 0)[i];
		EXPECT(
			undecided(g) && num_has(g, 0) && num_has(g, 1) && num_has(g, 0.25) && !num_has(g, 2), "element %d: %g +- %g", i, g->hi, g->rad);
	}
	EXPECT_INT(ref.nwinners, 0); /* its entries are no leaves */
}

/* What kernels may do to an element, and what they may not. Whether a machine's BLAS does it is open, so these do not depend on one. */
static const struct {
	const char *text;
	bool grad;
	double may, must_not;
} liberties[] = {
	/* oneDNN takes a denormal bf16 factor as 0; this one, rounded twice, is denormal or the smallest normal number. */
	{"x: \"bf16[1, 2][2, 1]\" = input([1, 2], dtype=bf16, data=[0x1.9ep-125, 1])\n"
	 "y: \"bf16[2, 1][1, 1]\" = input([2, 1], dtype=bf16, data=[0x1.fep127, 1])\n"
	 "one: \"bf16[1, 2][2, 1]\" = input([1, 2], dtype=bf16, data=[1, 1])\n"
	 "div: \"bf16[1, 2][2, 1]\" = div.Tensor(x, 3.25)\n"
	 "mul: \"bf16[1, 2][2, 1]\" = mul.Tensor(div, one)\n"
	 "mm: \"bf16[1, 1][1, 1]\" = mm(mul, y)\n"
	 "return (mm,)\n",
		false, 0.30859375, 9},
	/* The smallest denormal, halved first, is 0. */
	{"x: \"f64[1, 1][1, 1]\" = input([1, 1], dtype=f64, data=[0x1p-1074])\n"
	 "y: \"f64[1, 1][1, 1]\" = input([1, 1], dtype=f64, data=[0x1p1000])\n"
	 "addmm: \"f64[1, 1][1, 1]\" = addmm(x, x, y, beta=0, alpha=0.5)\n"
	 "return (addmm,)\n",
		false, 0, 0x1p-70},
	/* The next denormal, halved, is a number: nothing is lost. */
	{"x: \"f64[1, 1][1, 1]\" = input([1, 1], dtype=f64, data=[0x1p-1073])\n"
	 "y: \"f64[1, 1][1, 1]\" = input([1, 1], dtype=f64, data=[0x1p1000])\n"
	 "addmm: \"f64[1, 1][1, 1]\" = addmm(x, x, y, beta=0, alpha=0.5)\n"
	 "return (addmm,)\n",
		false, 0x1p-74, 0},
	/* Beside 2^1000 a sum loses 2^-600, though their ratio is below any double. */
	{"x: \"f64[3][1]\" = input([3], dtype=f64, data=[0x1p1000, 0x1p-600, -0x1p1000])\n"
	 "sum: \"f64[][]\" = sum(x)\n"
	 "return (sum,)\n",
		false, 0, 0x1p960},
	/* With alpha = 0 entries are numbers or NaN. Their mean, -1.7625, is rounded in f32 all the same: 4 ULP of the gradient. */
	{"x: \"f32[5, 1][1, 1]\" = input([5, 1], data=[-1.875, 0, 0.1875, -1.5, -5.625], requires_grad=True)\n"
	 "a: \"f32[5, 1][1, 1]\" = input([5, 1], data=[inf, 1, 1, 1, 1])\n"
	 "b: \"f32[1, 1][1, 1]\" = input([1, 1], data=[1])\n"
	 "addmm: \"f32[5, 1][1, 1]\" = addmm(x, a, b, beta=1.5, alpha=0.0)\n"
	 "var: \"f32[1][1]\" = var.correction(addmm, dim=[0], correction=1)\n"
	 "g: \"f32[1][1]\" = full([1], 1.3)\n"
	 "return (var,)\n"
	 "backward (var: g,)\n",
		true, -0.16453129053115845, -0.1646},
};

static void test_liberties(void)
{
	for (size_t k = 0; k < sizeof liberties / sizeof liberties[0]; k++) {
		struct reference ref;
		struct strbuf sb;
		sb_init(&sb);
		sb_printf(&sb, "# scatterproof 1\n%s", liberties[k].text);
		EXPECT_INT(run_text(&ref, sb.s, "torch:eager@cpu"), REF_OK);
		sb_free(&sb);
		if (ref.status != REF_OK)
			continue;
		const struct num *v = liberties[k].grad ? grad_of(&ref, 0) : ref.out[0].val;
		EXPECT(num_has(v, liberties[k].may), "case %zu: %.17g is not in %.17g .. %.17g", k, liberties[k].may, num_low(v), num_high(v));
		EXPECT(
			!num_has(v, liberties[k].must_not), "case %zu: %.17g is in %.17g .. %.17g", k, liberties[k].must_not, num_low(v), num_high(v));
	}
}

static void begin_tape(struct tape *t, int op)
{
	struct licence_profile *l = ARENA_NEW(&arena, struct licence_profile, 1);
	EXPECT(profile_named(l, "builtin:eager"), "no licence");
	tape_init(t, &arena, l, TAPE_LIMITS_DEFAULT);
	tape_at(t, 0, op);
}

/* What a surely infinite contribution makes of a gradient's sum: the finite ones may reach the other infinity first, and then NaN comes of
 * it, never that infinity; those of its own sign change nothing. */
static void test_gradient_beside_infinity(void)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		struct tape t;
		struct adjoint A;
		begin_tape(&t, OP_sum);
		const struct num x = num_exact(DT_F16, 1),
						 g[] = {num_exact(DT_F16, sign * 40000.0), num_exact(DT_F16, -INFINITY), num_exact(DT_F16, sign * 40000.0)};
		const sid id = tape_sets(&t, DT_F16, &x, 1);
		adjoint_init(&A, &t);
		for (int k = 0; k < ARRAY_LEN(g); k++)
			adjoint_seed(&A, id, &g[k], k + 1);
		const struct num sum = adjoint_of(&A, id);
		EXPECT(num_has(&sum, -INFINITY) && !num_has(&sum, INFINITY) && num_has(&sum, NAN) == (sign > 0), "flags %x", (unsigned)sum.flags);
	}
}

/* Beside a term that may be infinite the others' roundings count, near the end of double, too. */
static void test_sum_beside_infinity(void)
{
	const double most = 0x1.fffffffffffffp1023, rad = 0x1p972;
	struct tape t;
	begin_tape(&t, OP_sum);
	const struct num x[] = {
		{.hi = -most, .rad = rad, .dtype = DT_F64, .flags = NUM_NINF | NUM_UNDEC}, num_exact(DT_F64, 8.875), num_exact(DT_F64, 3)};
	const sid id = tape_sets(&t, DT_F64, x, ARRAY_LEN(x));
	sid *e = tape_ids(&t, ARRAY_LEN(x));
	for (int k = 0; k < ARRAY_LEN(x); k++)
		e[k] = id + (sid)k;
	const sid first = tape_rows(&t, SF_SUM, DT_F64, e, 1, ARRAY_LEN(x), 0); /* which moves values */
	const struct num *sum = tape_val(&t, first);
	EXPECT(sum->rad > rad + 3 * 0x1p-53 * most && sum->flags & NUM_NINF, "%g +- %g flags %x", sum->hi, sum->rad, (unsigned)sum->flags);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_founding);
	RUN(test_dense_zero);
	RUN(test_overlapping_leaf);
	RUN(test_undecided_winner);
	RUN(test_reordered_by_rounding);
	RUN(test_gradient_beside_infinity);
	RUN(test_sum_beside_infinity);
	RUN(test_liberties);
	arena_free(&arena);
	return TEST_END();
}
