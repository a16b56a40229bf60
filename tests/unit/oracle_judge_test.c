/* oracle_judge_test.c: the judge sees what is planted and nothing else: builtin:eager's result of one program, spoiled in one
 * way at a time, must get the kind of mismatch and the error pattern that it has. */
#include "eager/run/interp.h"
#include "oracle/judge/judge.h"
#include "tests/test.h"
#include "fuzz/triage/profile.h"

#include <math.h>

static struct arena arena;
static const char *const text = "# scatterproof 1\n"
								"x: \"f32[3, 20, 7][140, 7, 1]\" = input([3, 20, 7], seed=1, requires_grad=True)\n"
								"y: \"f32[3, 7, 7][49, 7, 1]\" = input([3, 7, 7], seed=2, requires_grad=True)\n"
								"w: \"f32[7][1]\" = input([7], seed=8)\n"
								"z: \"f32[7][1]\" = input([7], seed=9, requires_grad=True)\n"
								"slice_scatter: \"f32[3, 20, 7][140, 7, 1]\" = slice_scatter(x, y, dim=1, start=5, end=12)\n"
								"sum_1: \"f32[3, 7][7, 1]\" = sum.dim_IntList(slice_scatter, dim=[1])\n"
								"add_: \"f32[7][1]\" = add_.Tensor(w, w)\n"
								"t: \"f32[7, 3][1, 7]\" = transpose.int(sum_1, 0, 1)\n"
								"g: \"f32[7, 3][3, 1]\" = input([7, 3], seed=3, fill=\"normal\")\n"
								"return (t, add_)\n"
								"backward (t: g,)\n"
								"call (x: seed=4 fill=normal, g: seed=5)\n";

static struct prog prog;
static struct judge_case jc;
static struct result fresh;

static void setup(void)
{
	struct err err = {0};
	struct licence_profile *l = ARENA_NEW(&arena, struct licence_profile, 1);
	EXPECT(prog_read(&prog, &arena, text, strlen(text), READ_STRICT, &err), "%d:%d: %s", err.line, err.col, err.msg);
	profile_named(l, "torch:eager@cpu");
	EXPECT(judge_prepare(&jc, &prog, l, TAPE_LIMITS_DEFAULT, &arena), "%s", jc.message);
}

/* A result of its own, to spoil. */
static void run(struct result *r)
{
	struct err err = {0};
	EXPECT(interp_run(r, &prog, &arena, NULL, &err) == INTERP_OK, "%s", err.msg);
}

static struct judgement judged(const struct result *r)
{
	struct judgement j;
	judge(&j, &jc, r, 0, &arena);
	return j;
}

static float *grad_x(struct result *r, int call) { return (float *)(uintptr_t)r->call[call].grad[0].data; }

static void test_clean(void)
{
	run(&fresh);
	struct judgement j = judged(&fresh);
	EXPECT_INT(j.status, JUDGE_PASS);
	EXPECT_INT(j.count[EL_DISAGREE], 0);
	EXPECT(j.exact > 0 && j.nelement > 1000, "%d elements", (int)j.nelement);
	EXPECT(!fresh.call[0].grad[2].present, "z is not used: its gradient is None");
}

static void expect_pattern(void (*spoil)(float *v, int n), enum pattern want)
{
	struct result r;
	run(&r);
	spoil(grad_x(&r, 0), 3 * 20 * 7);
	struct judgement j = judged(&r);
	EXPECT_INT(j.status, JUDGE_MISMATCH);
	EXPECT_INT(j.kind, MM_GRADIENT);
	if (j.status != JUDGE_MISMATCH)
		return;
	const struct tensor_verdict *v = &j.tensor[0];
	EXPECT(v->cmp.pattern == want, "got '%s', want '%s'", pattern_name[v->cmp.pattern], pattern_name[want]);
	EXPECT(v->role == TR_GRADIENT && v->call == 0 && v->node == 0, "the wrong tensor is named");
	EXPECT(v->cmp.nsample > 0, "samples");
	for (int i = 1; i < j.ntensor; i++)
		EXPECT(!j.tensor[i].kinds, "only one tensor is wrong");
	if (want == PAT_SCALED)
		EXPECT(fabs(v->cmp.ratio - 20.0 / 13) < 1e-5, "ratio %g", v->cmp.ratio);
}

static void all_zero(float *v, int n) { memset(v, 0, (size_t)n * sizeof *v); }
static void scaled(float *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] *= 20.0f / 13;
}
static void one_wrong(float *v, int n) { v[n - 1] += 1; }
static void nans(float *v, int n)
{
	for (int i = 0; i < n; i += 3)
		v[i] = NAN;
}
static void last_bits(float *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = nextafterf(v[i], 100);
}
static void swapped(float *v, int n)
{
	for (int i = 0; i + 1 < n; i += 2) {
		float t = v[i];
		v[i] = v[i + 1];
		v[i + 1] = t;
	}
}
static void one_row(float *v, int n)
{
	(void)n;
	for (int b = 0; b < 3; b++)
		for (int k = 0; k < 7; k++)
			v[(b * 20 + 2) * 7 + k] = (float)(3 + k * k);
}

/* Some of the wrong elements are 0, others are right: not "scaled by 0". */
static void row_of_zeros(float *v, int n)
{
	(void)n;
	for (int b = 0; b < 3; b++)
		for (int k = 0; k < 7; k++)
			v[(b * 20 + 2) * 7 + k] = 0;
}

static void test_patterns(void)
{
	expect_pattern(all_zero, PAT_ALL_ZERO);
	expect_pattern(scaled, PAT_SCALED);
	expect_pattern(one_wrong, PAT_SINGLE);
	expect_pattern(nans, PAT_NAN);
	expect_pattern(last_bits, PAT_ULP);
	expect_pattern(swapped, PAT_PERMUTED);
	expect_pattern(one_row, PAT_ROW);
	expect_pattern(row_of_zeros, PAT_ROW);
}

/* The gradient of the other call: stale. */
static void test_stale(void)
{
	struct result r;
	run(&r);
	memcpy(grad_x(&r, 1), grad_x(&r, 0), 3 * 20 * 7 * sizeof(float));
	struct judgement j = judged(&r);
	EXPECT_INT(j.kind, MM_GRADIENT);
	EXPECT(j.ntensor && j.tensor[0].cmp.pattern == PAT_STALE && j.tensor[0].call == 1, "pattern %s", pattern_name[j.tensor[0].cmp.pattern]);
}

/* What call 0 left behind is another one when all calls have run: its values, its sizes, what is said of it. */
static void test_changes(void)
{
	static const enum mismatch want[] = {MM_VALUE, MM_SHAPE, MM_NONENESS, MM_MUTATION};
	for (int what = 0; what < ARRAY_LEN(want); what++) {
		struct result r;
		run(&r);
		struct result_change change = {.role = what < 3 ? TR_OUTPUT : TR_STORAGE, .what = "", .tensor = r.call[0].out[0]};
		change.storage = r.call[0].storage[0];
		r.nchange = 1;
		r.change = &change;
		if (what == 0)
			change.tensor.data = r.call[1].out[0].data;
		if (what == 1)
			change.tensor.meta.size[0]++;
		if (what == 2)
			change.tensor.present = false;
		if (what == 3)
			change.what = "x was f32[3] and is f32[2]";
		struct judgement j = judged(&r);
		EXPECT(j.status == JUDGE_MISMATCH && j.kind == want[what], "%d: %s", what, mismatch_name[j.kind]);
		EXPECT(j.ntensor && j.tensor[0].later && j.tensor[0].call == 0, "%d: another tensor", what);
		EXPECT((what == 0) == (j.tensor[0].cmp.pattern == PAT_OVERWRITTEN), "%d: %s", what, pattern_name[j.tensor[0].cmp.pattern]);
		for (int i = 1; i < j.ntensor; i++)
			EXPECT(!j.tensor[i].kinds, "%d: only one tensor is wrong", what);
	}
}

static enum mismatch spoiled(int what)
{
	struct result r;
	run(&r);
	struct result_call *c = &r.call[0];
	switch (what) {
	case 0: c->grad[0].present = false; break;
	case 1: c->grad[2] = c->grad[1]; break;
	case 2:
		c->out[0].meta.stride[0] = 3;
		c->out[0].meta.stride[1] = 1;
		break;
	case 3: c->out[1].storage = 77; break; /* add_ returns its input: a copy is not it */
	case 4: c->out[0].storage = 0; break;  /* shares memory with x and should not */
	case 5: ((float *)(uintptr_t)c->storage[2].data)[3] += 1; break;
	case 6: ((float *)(uintptr_t)c->out[0].data)[0] += 1; break;
	case 7:
		c->out[0].meta.size[0] = 21;
		c->out[0].meta.size[1] = 1;
		break;
	case 8:
		r.status = RES_RAISED;
		r.message = "RuntimeError: no";
		break;
	case 9: c->out[0].requires_grad = false; break;
	case 10: c->out[1].meta.dtype = DT_I32; break; /* as many bytes */
	}
	struct judgement j = judged(&r);
	struct strbuf sb;
	sb_init(&sb);
	judgement_print(&sb, &j, &prog);
	EXPECT(sb.len > 20, "says something");
	sb_free(&sb);
	return j.kind;
}

static void test_kinds(void)
{
	static const enum mismatch want[] = {
		MM_NONENESS, MM_NONENESS, MM_STRIDES, MM_ALIAS, MM_ALIAS, MM_MUTATION, MM_VALUE, MM_SHAPE, MM_RAISE, MM_REQUIRES_GRAD, MM_SHAPE};
	for (int i = 0; i < ARRAY_LEN(want); i++) {
		enum mismatch got = spoiled(i);
		EXPECT(got == want[i], "spoiled %d: got %s, want %s", i, mismatch_name[got], mismatch_name[want[i]]);
	}
}

/* Strides of a dim of size 1 mean nothing, and what is not promised is not compared. */
static void test_freedoms(void)
{
	struct result r;
	struct judgement j;
	run(&r);
	r.call[0].out[0].meta.stride[0] = 3;
	r.call[0].out[0].meta.stride[1] = 1;
	judge(&j, &jc, &r, FREE_STRIDES, &arena);
	EXPECT_INT(j.status, JUDGE_PASS);
}

/* Bits of a NaN count where nobody writes: of x; y is written. */
static void test_bits_of_nans(void)
{
	static const char *const nans = "# scatterproof 1\nx = input([3], data=[1, nan, 2])\ny = input([2], data=[nan, 1])\n"
									"z = mul_.Scalar(y, 2.0)\nreturn (z,)\n";
	for (int storage = 0; storage < 2; storage++) {
		struct err err = {0};
		struct prog p;
		struct judge_case c;
		struct result r;
		struct judgement j;
		EXPECT(prog_read(&p, &arena, nans, strlen(nans), READ_LENIENT, &err), "%d:%d: %s", err.line, err.col, err.msg);
		EXPECT(judge_prepare(&c, &p, jc.licence, TAPE_LIMITS_DEFAULT, &arena), "%s", c.message);
		EXPECT(interp_run(&r, &p, &arena, NULL, &err) == INTERP_OK, "%s", err.msg);
		judge(&j, &c, &r, 0, &arena);
		EXPECT_INT(j.status, JUDGE_PASS);
		unsigned char *nan = (unsigned char *)(uintptr_t)r.call[0].storage[storage].data + (storage ? 0 : 4);
		nan[0] ^= 1;
		judge(&j, &c, &r, 0, &arena);
		EXPECT_INT(j.status, storage ? JUDGE_PASS : JUDGE_MISMATCH);
		EXPECT_INT(j.kind, storage ? MM_NONE : MM_MUTATION);
		nan[0] ^= 1;
		nan[3] ^= 0x80;
		judge(&j, &c, &r, 0, &arena);
		EXPECT_INT(j.kind, storage ? MM_NONE : MM_MUTATION);
	}
}

/* A position between two ties is no tie. */
static void test_positions(void)
{
	struct num want = num_int(DT_I64, 3);
	want.flags = NUM_UNDEC;
	want.rad = 2;
	for (int64_t got = 2; got <= 6; got++) {
		want.among = 0;
		EXPECT_INT(compare_element(&want, DT_I64, &got, 0), got >= 3 && got <= 5 ? EL_UNDECIDED : EL_DISAGREE);
		want.among = 5;
		EXPECT_INT(compare_element(&want, DT_I64, &got, 0), got == 3 || got == 5 ? EL_UNDECIDED : EL_DISAGREE);
	}
}

int main(void)
{
	arena_init(&arena);
	RUN(setup);
	RUN(test_clean);
	RUN(test_patterns);
	RUN(test_stale);
	RUN(test_changes);
	RUN(test_kinds);
	RUN(test_freedoms);
	RUN(test_bits_of_nans);
	arena_free(&arena);
	RUN(test_positions);
	return TEST_END();
}
