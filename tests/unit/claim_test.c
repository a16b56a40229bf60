/* claim_test.c: names of tensors, what an observation claims of its program, when that holds, and that a script's tables accept exactly
 * what the judge accepts. Results are builtin:eager's, spoiled as a target might. */
#include "eager/run/interp.h"
#include "fuzz/triage/expected.h"
#include "tests/unit/program.h"

/* Two outputs, two gradients, a written input, a second call. */
static const char TWO[] = "# scatterproof 1\nx = input([4], seed=1, requires_grad=True)\nb = input([3], seed=2)\n"
						  "w = input_view(b, size=[2], stride=[1])\nz = input([4], seed=3, requires_grad=True)\ny = mul.Tensor(x, z)\n"
						  "c = mul_.Scalar(b, 2.0)\ng = full([4], 1.0)\nreturn (y, c)\nbackward (y: g)\ncall (x: seed=7, z: seed=8)\n";

static void test_names(void)
{
	struct prog *p = program(TWO);
	static const struct {
		enum tensor_role role;
		int index;
		const char *text;
	} row[] =
		{
			{TR_OUTPUT, 0, "out 0 (y)"},
			{TR_OUTPUT, 1, "out 1 (c)"},
			{TR_GRADIENT, 0, "x.grad"},
			{TR_GRADIENT, 1, "z.grad"},
			{TR_STORAGE, 0, "input x afterwards"},
			{TR_STORAGE, 1, "input b afterwards"},
			{TR_STORAGE, 2, "input z afterwards"},
		},
	  later[] = {
		  {TR_OUTPUT, 1, "out 1 (c) after the last call"},
		  {TR_GRADIENT, 1, "z.grad after the last call"},
		  {TR_STORAGE, 1, "input b after the last call"},
	  };
	static const char *const none[] = {"", "out 0", "out 0 (x)", "out 2 (y)", "out 10 (y)", "b.grad", "y.grad", "input w afterwards",
		"input y afterwards", "out 0 (y) ", "grad x", "input storage 1 afterwards"};
	for (int i = 0; i < ARRAY_LEN(row); i++) {
		struct tensor_name n;
		struct err err = {0};
		EXPECT(tensor_name_read(&n, row[i].text, p, &err), "%s: %s", row[i].text, err.msg);
		EXPECT(n.role == row[i].role && n.index == row[i].index, "%s is %d of %d", row[i].text, n.index, (int)n.role);
		EXPECT_STR(tensor_name_text(&n, &arena), row[i].text);
		tensor_name_of(&n, p, row[i].role, row[i].index);
		EXPECT_STR(tensor_name_text(&n, &arena), row[i].text);
	}
	for (int i = 0; i < ARRAY_LEN(later); i++) {
		struct tensor_name n;
		struct err err = {0};
		EXPECT(tensor_name_read(&n, later[i].text, p, &err), "%s: %s", later[i].text, err.msg);
		EXPECT(n.later && n.role == later[i].role && n.index == later[i].index, "%s is %d of %d", later[i].text, n.index, (int)n.role);
		EXPECT_STR(tensor_name_text(&n, &arena), later[i].text);
	}
	for (int i = 0; i < ARRAY_LEN(none); i++) {
		struct tensor_name n;
		struct err err = {0};
		EXPECT(!tensor_name_read(&n, none[i], p, &err) && strstr(err.msg, "no tensor of the program"), "'%s' is a name", none[i]);
	}
}

static struct claim claim(enum finding_kind kind, const char *verdict, const char *tensor, int call)
{
	struct claim c;
	claim_of(&c, kind, verdict, tensor, call, program(TWO));
	return c;
}

static void test_what_is_claimed(void)
{
	struct claim c = claim(FINDING_GRADIENT, "mismatch", "z.grad", 1);
	EXPECT(c.subject == CLAIM_TENSOR && c.call == 1 && !c.flaky, "subject %d, call %d", (int)c.subject, c.call);
	EXPECT_INT(c.parts, CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_ELEMENTS);
	EXPECT_STR(claim_text(&c, &arena), "z.grad of call 1 is wrong");
	EXPECT_INT(claim(FINDING_ALIAS, "mismatch", "out 0 (y)", 0).parts, CLAIM_MEMORY);
	EXPECT_INT(claim(FINDING_META, "mismatch", "out 0 (y)", 0).parts & CLAIM_ELEMENTS, 0);
	EXPECT_INT(claim(FINDING_RAISE, "mismatch", "", 0).subject, CLAIM_RUN);
	EXPECT_INT(claim(FINDING_CRASH, "crash", "", 0).subject, CLAIM_RUN);
	EXPECT_INT(claim(FINDING_HANG, "hang", "", 0).subject, CLAIM_RUN);
	EXPECT_INT(claim(FINDING_VALUE, "mismatch", "", 0).subject, CLAIM_ANYTHING);
	EXPECT_INT(claim(FINDING_VALUE, "mismatch", "out 0 (nonsense)", 0).subject, CLAIM_ANYTHING);
	EXPECT_INT(claim(FINDING_VALUE, "mismatch", "out 0 (y)", 2).subject, CLAIM_ANYTHING); /* there is no such call */
	c = claim(FINDING_NONDETERMINISTIC, "mismatch", "x.grad", 0);
	EXPECT(c.subject == CLAIM_TENSOR && c.flaky && c.parts & CLAIM_MEMORY, "parts %u", c.parts);
	EXPECT_INT(claim(FINDING_NONDETERMINISTIC, "crash", "", 0).subject, CLAIM_RUN);
	struct prog p = *program(TWO), q;
	c = claim(FINDING_VALUE, "mismatch", "out 0 (y)", 0);
	q = claim_program(&c, &p);
	EXPECT_INT(q.ncall, 0);
	p.late = true;
	q = claim_program(&c, &p);
	EXPECT_INT(q.ncall, 1); /* the forward that runs before its backward */
	p.late = false;
	c = claim(FINDING_VALUE, "mismatch", "out 0 (y) after the last call", 0); /* which later calls change */
	q = claim_program(&c, &p);
	EXPECT_INT(q.ncall, 1);
	c = claim(FINDING_CRASH, "crash", "", 0);
	q = claim_program(&c, &p);
	EXPECT_INT(q.ncall, 1);
}

struct spoil {
	int call, out, grad;
	bool all;
}; /* -1: nothing */

static struct result_tensor *writable(const struct result_tensor *t, int i) { return (struct result_tensor *)(uintptr_t)&t[i]; }

static void ran(struct result *r, const struct prog *p)
{
	struct err err = {0};
	EXPECT(interp_run(r, p, &arena, NULL, &err) == INTERP_OK, "%s", err.msg);
}

static void spoil(struct result_tensor *t)
{
	unsigned char *bytes = arena_alloc(&arena, t->nbytes);
	memcpy(bytes, t->data, t->nbytes);
	bytes[t->nbytes - 1] ^= 0x40;
	t->data = bytes;
}

static enum claim_verdict judged(const struct claim *c, const struct prog *program_, const struct result *whole, const char *target)
{
	struct result copy = *whole, *r = &copy;
	struct outcome o;
	struct target t;
	struct err err = {0};
	const char *why;
	const struct prog p = claim_program(c, program_);
	EXPECT(target_parse(&t, target, &err), "%s", err.msg);
	r->ncalls = MIN(r->ncalls, p.ncall + 1);
	outcome_of(&o, &p, r, &t, NULL, &arena);
	enum claim_verdict v = claim_judge(&why, c, &p, &o, r, &t, &arena);
	EXPECT(why[0], "no reason");
	return v;
}

static void test_only_what_is_claimed(void)
{
	static const char T[] = "torch-2.11.0:inductor@cpu";
	struct prog *p = program(TWO);
	struct claim y0 = claim(FINDING_VALUE, "mismatch", "out 0 (y)", 0), y1 = claim(FINDING_VALUE, "mismatch", "out 0 (y)", 1);
	struct claim gx = claim(FINDING_GRADIENT, "mismatch", "x.grad", 0), any = claim(FINDING_VALUE, "mismatch", "", 0);
	struct claim y_alias = claim(FINDING_ALIAS, "mismatch", "out 0 (y)", 0), strides = claim(FINDING_META, "mismatch", "out 0 (y)", 0);
	struct claim none = claim(FINDING_NONENESS, "mismatch", "x.grad", 0);
	struct result r;
	ran(&r, p);
	EXPECT_INT(judged(&y1, p, &r, T), CLAIM_REFUTED);
	EXPECT_INT(judged(&any, p, &r, T), CLAIM_REFUTED);
	ran(&r, p);
	spoil(writable(r.call[1].out, 0));
	EXPECT_INT(judged(&y1, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&any, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&y0, p, &r, T), CLAIM_REFUTED); /* later calls do not matter */
	ran(&r, p);
	spoil(writable(r.call[0].out, 0));
	EXPECT_INT(judged(&y0, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&gx, p, &r, T), CLAIM_REFUTED);      /* another tensor */
	EXPECT_INT(judged(&y_alias, p, &r, T), CLAIM_REFUTED); /* another fact of it */
	EXPECT_INT(judged(&strides, p, &r, T), CLAIM_REFUTED);
	ran(&r, p);
	writable(r.call[0].out, 0)->storage = 1;
	EXPECT_INT(judged(&y_alias, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&y0, p, &r, T), CLAIM_REFUTED);
	ran(&r, p);
	writable(r.call[0].grad, 0)->present = false;
	EXPECT_INT(judged(&none, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&gx, p, &r, T), CLAIM_HOLDS); /* None is not the gradient that must be there */
	ran(&r, p);
	writable(r.call[0].out, 0)->meta.stride[0] = 2;
	EXPECT_INT(judged(&strides, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&y0, p, &r, T), CLAIM_REFUTED); /* right data in other strides */
	EXPECT_INT(judged(&any, p, &r, T), CLAIM_REFUTED);
	y0.flaky = true;
	EXPECT_INT(judged(&y0, p, &r, T), CLAIM_OPEN);
}

static void test_what_does_not_run(void)
{
	static const char T[] = "torch-2.11.0:inductor@cpu";
	struct prog *p = program(TWO);
	struct claim y = claim(FINDING_VALUE, "mismatch", "out 0 (y)", 0), crash = claim(FINDING_CRASH, "crash", "", 0);
	struct claim raise = claim(FINDING_RAISE, "mismatch", "", 0);
	struct result r = {.status = RES_CRASH, .message = "died", .stderr_tail = ""};
	EXPECT_INT(judged(&y, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&crash, p, &r, T), CLAIM_HOLDS);
	r.status = RES_HANG;
	EXPECT_INT(judged(&y, p, &r, T), CLAIM_HOLDS);
	r.status = RES_INVARIANT;
	r.violation = (struct result_violation){"I2", "cse", "neg"};
	EXPECT_INT(judged(&y, p, &r, T), CLAIM_HOLDS);
	r.status = RES_RAISED;
	r.message = "RuntimeError: no";
	EXPECT_INT(judged(&y, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&crash, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&raise, p, &r, T), CLAIM_HOLDS);
	EXPECT_INT(judged(&raise, p, &r, "torch-2.11.0:eager@cpu"), CLAIM_OPEN); /* eager is who decides */
	EXPECT_INT(judged(&raise, p, &r, "builtin:eager"), CLAIM_OPEN);
	EXPECT_INT(judged(&raise, p, &r, "builtin:passes"), CLAIM_HOLDS); /* the interpreter runs it */
	EXPECT_INT(judged(&raise, p, &r, "builtin:jit"), CLAIM_HOLDS);
	for (int i = 0; i < 2; i++) {
		r.status = i ? RES_UNSUPPORTED : RES_HARNESS;
		EXPECT_INT(judged(&y, p, &r, T), CLAIM_OPEN);
		EXPECT_INT(judged(&crash, p, &r, T), CLAIM_OPEN);
	}
	ran(&r, p);
	EXPECT_INT(judged(&crash, p, &r, T), CLAIM_REFUTED);
	EXPECT_INT(judged(&raise, p, &r, T), CLAIM_REFUTED);
	struct prog *refused = program("# scatterproof 1\nx = input([2], seed=1, requires_grad=True)\ne = exp(x)\nz = mul_.Scalar(e, 2.0)\n"
								   "g = full([2], 1.0)\nreturn (e,)\nbackward (e: g)\n");
	r = (struct result){.status = RES_RAISED, .message = "RuntimeError: modified by an inplace operation", .stderr_tail = ""};
	EXPECT_INT(judged(&raise, refused, &r, T), CLAIM_HOLDS); /* as far as our rules go: torch:eager decides, whom whoever asks asks */
	EXPECT_INT(judged(&raise, refused, &r, "builtin:jit"), CLAIM_OPEN);
	struct prog *must = program("# scatterproof 1\nx = input([3], seed=1)\ni = full([2], 7, dtype=i64)\ny = index_select(x, 0, i)\n"
								"return (y,)\n");
	EXPECT_INT(judged(&raise, must, &r, T), CLAIM_REFUTED);
	struct prog *fine = program("# scatterproof 1\nx = input([3], seed=1)\ni = full([2], 1, dtype=i64)\ny = index_select(x, 0, i)\n"
								"return (y,)\n");
	ran(&r, fine);
	EXPECT_INT(judged(&raise, must, &r, T), CLAIM_HOLDS);
}

/* ---- tables ------------------------------------------------------------------------------------------------------------------------- */

static uint64_t state = 12345;
static uint64_t lot(void) { return mix64(state += 0x9e3779b97f4a7c15u); }

static double fraction(void) { return 1 + (double)(lot() >> 11) * 0x1p-53; } /* from 1 to 2 */

static double next_number(enum dtype dt, double v, bool up)
{
	unsigned char cell[8] = {0};
	uint64_t bits = 0;
	dtype_store_f(dt, cell, v);
	memcpy(&bits, cell, (size_t)dtype_nbytes(dt));
	bits = (v > 0) == up ? bits + 1 : bits - 1; /* v is not 0 */
	memcpy(cell, &bits, (size_t)dtype_nbytes(dt));
	return dtype_load_f(dt, cell);
}

/* Ends of enclosures: numbers of the dtype, the outermost that the judge accepts. */
static void test_ends(void)
{
	static const enum dtype dtypes[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
	int wide = 0;
	for (int i = 0; i < 20000; i++) {
		enum dtype dt = dtypes[i % ARRAY_LEN(dtypes)];
		double m = ldexp(fraction(), dt == DT_F16 ? (int)(lot() % 24) - 18 : (int)(lot() % 60) - 40) * (lot() & 1 ? 1 : -1);
		double lo = lot() & 1 ? m * 0x1p-60 : 0, rad = fabs(m) * num_format[dt].u * ldexp(fraction(), (int)(lot() % 12) - 1);
		struct num v = {.hi = m, .lo = lo, .dtype = (uint8_t)dt, .rad = rad};
		double low, high;
		if (!num_has(&v, num_rn(dt, m, 0))) /* between two numbers */
			continue;
		expected_ends(&low, &high, &v, dt);
		EXPECT(num_has(&v, low) && num_has(&v, high), "%a rad %a: %a to %a", v.hi, v.rad, low, high);
		EXPECT(num_rn(dt, low, 0) == low && num_rn(dt, high, 0) == high, "%a to %a: no numbers of the dtype", low, high);
		double below = next_number(dt, low, false), above = next_number(dt, high, true);
		EXPECT(!num_has(&v, below) && !num_has(&v, above), "%a rad %a: beyond %a or %a", v.hi, v.rad, low, high);
		wide += low < high;
	}
	EXPECT(wide > 9000, "%d", wide);
}

/* Positions of equals that lie far apart: a set, not all from the first to the last. */
static void test_ties(void)
{
	struct prog *p = program("# scatterproof 1\nx = full([90], 1, dtype=i32)\nk = input([3], dtype=i64, data=[2, 71, 79])\n"
							 "y = index_fill.int_Scalar(x, 0, k, 5)\n"
							 "t = topk(y, 2)\ni = getitem(t, 1)\nreturn (i,)\n");
	struct claim c = {.subject = CLAIM_TENSOR, .parts = CLAIM_PRESENT | CLAIM_SHAPE | CLAIM_ELEMENTS, .tensor = {.role = TR_OUTPUT}};
	struct strbuf sb;
	struct target t;
	struct err err = {0};
	const char *why = "";
	sb_init(&sb);
	EXPECT(target_parse(&t, "torch-2.11.0:eager@cpu", &err), "%s", err.msg);
	EXPECT(expected_emit(&sb, &why, &c, p, &t, &arena), "%s", why);
	EXPECT(strstr(sb.s, "{2, 71, 79}"), "%s", sb.s);
	sb_free(&sb);
}

int main(void)
{
	arena_init(&arena);
	RUN(test_names);
	RUN(test_what_is_claimed);
	RUN(test_only_what_is_claimed);
	RUN(test_what_does_not_run);
	RUN(test_ends);
	RUN(test_ties);
	arena_free(&arena);
	return TEST_END();
}
