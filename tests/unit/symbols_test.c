/* symbols_test.c: loops of any size: polynomials, their text, the invariant I6, what is proven of buffers, and programs compiled once:
 * which guards they get, which calls they serve, and that every call computes what eager does. */
#include "compiled/run/execute.h"
#include "compiled/compile.h"
#include "compiled/defects/defects.h"
#include "compiled/loops/reuse.h"
#include "compiled/loops/shape.h"
#include "compiled/loops/symbols.h"
#include "compiled/symbols/dynamic.h"
#include "eager/run/interp.h"
#include "tests/unit/program.h"

static const char *poly_text(const struct poly *p)
{
	struct strbuf sb;
	sb_init(&sb);
	poly_print(&sb, p);
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

/* ---- polynomials ---- */

static void test_arithmetic(void)
{
	const struct poly a = poly_symbol(0), b = poly_symbol(1), two = poly_number(2);
	struct poly sum, product;
	int64_t v;
	EXPECT(poly_add(&sum, &a, &two, -1) && poly_multiply(&product, &sum, &b), "small numbers");
	EXPECT_STR(poly_text(&product), "s0*s1 - s1*2");
	EXPECT(poly_value(&v, &product, (const int64_t[]){5, 7, 0}) && v == 21, "%d", (int)v);
	EXPECT(poly_add(&sum, &sum, &sum, -1) && poly_is_number(&sum, &v) && v == 0, "a difference of the same is 0");
	EXPECT_INT(poly_symbols(&product), 3);
	const struct poly large = poly_number(INT64_MAX);
	EXPECT(!poly_multiply(&product, &large, &two) && !poly_add(&sum, &large, &large, 1), "overflow is refused");
	product = a;
	for (int k = 1; k < MAX_POLY_DEGREE; k++)
		EXPECT(poly_multiply(&product, &product, &a), "degree %d", k + 1);
	EXPECT(!poly_multiply(&product, &product, &a), "one degree too many");
}

static void test_proofs(void)
{
	static const int64_t least[] = {2, 2, 2};
	const struct poly a = poly_symbol(0), b = poly_symbol(1), three = poly_number(3);
	struct poly p;
	EXPECT(poly_multiply(&p, &a, &b) && poly_add(&p, &p, &a, -1) && poly_is_positive(&p, least, true), "s0*s1 > s0");
	EXPECT(poly_add(&p, &a, &three, -1) && !poly_is_positive(&p, least, false), "s0 >= 3 is false for 2");
	EXPECT(poly_add(&p, &a, &b, -1) && !poly_is_positive(&p, least, false), "s0 >= s1");
	EXPECT(poly_is_positive(&(struct poly){.n = 0}, least, false) && !poly_is_positive(&(struct poly){.n = 0}, least, true), "0");
}

static int64_t of_two(int64_t x, int64_t y) { return x * x * y - 3 * x * y + 4 * y + 7; }
static int64_t binomial(int64_t x, int64_t y) { return x * (x - 1) / 2 + y; }

/* A function's values at the lattice's points, fitted. */
static bool fitted(struct poly *p, int64_t (*f)(int64_t, int64_t), int64_t step)
{
	int64_t value[MAX_FIT_POINTS];
	const int64_t first[] = {13, 12, 0}, steps[] = {step, step, step};
	for (int k = 0; k < fit_points(2); k++) {
		int at[MAX_POLY_SYMBOLS];
		fit_point(at, k, 2);
		value[k] = f(13 + step * at[0], 12 + step * at[1]);
	}
	return poly_fit(p, 2, first, steps, value);
}

static void test_fit(void)
{
	struct poly p;
	EXPECT_INT(fit_points(1), 4);
	EXPECT_INT(fit_points(2), 10);
	EXPECT_INT(fit_points(3), MAX_FIT_POINTS);
	for (int64_t step = -3; step <= 3; step++)
		if (step) {
			EXPECT(fitted(&p, of_two, step), "step %d", (int)step);
			EXPECT_STR(poly_text(&p), "s0*s0*s1 - s0*s1*3 + s1*4 + 7");
			EXPECT(!fitted(&p, binomial, step), "halves are no integers");
		}
}

/* ---- text ---- */

#define HEAD "loops 1\ns0 = size 1 of input 0, 6\ns1 = argument 1, 4\nguard s0 > 4\nguard s0*2 != s1 + 3\nguard s1 mod 2 = 0\n"
#define BODY                                                                                                                               \
	"b0: f32[s0*4] = input 0 uses s0, s1\nb1: f32[s0*s1 - 1] uses s0, s1\nfor r0 < s0\n  for r1 < s0*2 - 3\n"                              \
	"    r2: f32 = load b0[r0*(s1*4) + r1*s0 + (s0 - 1)]\n    r3: f64 = const s0*s1 - 1\n    r4: i64 = index r0*2 + s1\n"                  \
	"    r5: i64 = div r4 s0 + 1\n    r6: i64 = mod r4 s1\n    r7: i64 = bound r6 of s1*3 dim 1 wrapping\n    store b1[r0 + 7] = r2\n"     \
	"  end\nend\nreturn b1 f32[s0, s1][s1*2, 1]+s0, b1 f32[2][1]+(s0 + 1)\n"

static bool reads(struct loops *l, const char *text, struct err *err)
{
	*err = (struct err){0};
	return loops_read(l, &arena, text, err);
}

static const char *text_of(const struct loops *l)
{
	struct strbuf sb;
	sb_init(&sb);
	loops_print(&sb, l);
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

static void test_text(void)
{
	struct loops l, at;
	struct err err;
	EXPECT(reads(&l, HEAD BODY, &err), "%d:%d: %s", err.line, err.col, err.msg);
	EXPECT_STR(text_of(&l), HEAD BODY);
	EXPECT(loops_validate_symbols(&l, &err), "%s", err.msg);
	EXPECT(loops_at(&at, &l, (const int64_t[]){3, 5, 2}, &arena, &err), "%s", err.msg);
	EXPECT_STR(text_of(&at),
		"loops 1\nb0: f32[12] = input 0\nb1: f32[14]\nfor r0 < 3\n  for r1 < 3\n    r2: f32 = load b0[r0*20 + r1*3 + 2]\n"
		"    r3: f64 = const 14.0\n    r4: i64 = index r0*2 + 5\n    r5: i64 = div r4 4\n    r6: i64 = mod r4 5\n"
		"    r7: i64 = bound r6 of 15 dim 1 wrapping\n    store b1[r0 + 7] = r2\n  end\nend\n"
		"return b1 f32[3, 5][10, 1]+3, b1 f32[2][1]+4\n");
	EXPECT_INT(at.extent[at.ins[0].dst], 3);
	EXPECT(!reads(&l, "loops 1\nb0: f32[s0]\nreturn \n", &err) && strstr(err.msg, "s0 is not bound"), "%s", err.msg);
	EXPECT(!reads(&l, HEAD "s0 = argument 0, 3\nreturn \n", &err) && strstr(err.msg, "bound already"), "%s", err.msg);
	EXPECT(!reads(&l, HEAD "b0: f32[s0*s0*s0*s0*s0]\nreturn \n", &err) && strstr(err.msg, "more than polynomials"), "%s", err.msg);
	EXPECT(!reads(&l, HEAD "guard s0 ~ 3\nreturn \n", &err) && strstr(err.msg, "relation"), "%s", err.msg);
}

static void test_guards(void)
{
	struct loops l;
	struct err err;
	CHECK(reads(&l, HEAD BODY, &err));
	EXPECT(loops_guards_hold(&l, (const int64_t[]){6, 4, 2}, &err), "%s", err.msg);
	err = (struct err){0};
	EXPECT(!loops_guards_hold(&l, (const int64_t[]){4, 4, 2}, &err) && str_eq(err.msg, "s0 > 4 does not hold"), "%s", err.msg);
	err = (struct err){0};
	EXPECT(!loops_guards_hold(&l, (const int64_t[]){6, 9, 2}, &err) && str_eq(err.msg, "s0*2 != s1 + 3 does not hold"), "%s", err.msg);
	err = (struct err){0};
	EXPECT(!loops_guards_hold(&l, (const int64_t[]){7, 5, 2}, &err) && str_eq(err.msg, "s1 mod 2 = 0 does not hold"), "%s", err.msg);
}

/* ---- I6 ---- */

static void test_invariant(void)
{
	struct loops l;
	struct err err;
	CHECK(reads(&l, HEAD BODY, &err));
	l.buffer[0].uses = 1; /* the index uses s1, too */
	EXPECT(!loops_validate_symbols(&l, &err) && str_eq(err.msg, "I6: buffer b0 uses s1, which its list lacks"), "%s", err.msg);
	CHECK(reads(&l, HEAD BODY, &err));
	l.symbol[1].bound = false;
	EXPECT(!loops_validate_symbols(&l, &err) && str_eq(err.msg, "I6: buffer 0 uses s1, which is not bound"), "%s", err.msg);
	CHECK(reads(&l,
		"loops 1\ns0 = argument 0, 3\nb0: f32[12]\nb1: f32[12]\nr0: i64 = const 0\nfor r1 < s0\nr2: f32 = load b0[r1]\nstore b1[r1] = r2\n"
		"end\nreturn b1 f32[12][1]+0\n",
		&err));
	EXPECT(loops_validate_symbols(&l, &err), "%s", err.msg);
	l.symbol[0].bound = false;
	EXPECT(!loops_validate_symbols(&l, &err) && strstr(err.msg, "I6: instruction 1 uses s0"), "%s", err.msg);
}

/* Values share a buffer where one holds the other whatever the sizes. b1 lives before b2. */
#define DATA                                                                                                                               \
	"loops 1\ns0 = data of argument 1, 4\nguard s0 > 1\nb0: f32[8] = input 0\nb1: f32[s0] uses s0\nr0: i64 = const 4\nstated r0 = s0\n"    \
	"for r1 < s0\n  r2: f32 = load b0[r1]\n  store b1[r1] = r2\nend\n"
#define DATA_RETURN "return b1 f32[s0][1]+0\n"

/* A symbol of data is bound by an instruction, and not before. */
static void test_data(void)
{
	struct loops l;
	struct err err;
	EXPECT(reads(&l, DATA DATA_RETURN, &err), "%d:%d: %s", err.line, err.col, err.msg);
	EXPECT_STR(text_of(&l), DATA DATA_RETURN);
	EXPECT(loops_validate_symbols(&l, &err), "%s", err.msg);
	EXPECT_INT(loops_binds(&l, 1), 0);
	EXPECT_INT(loops_binds(&l, 0), -1);
	EXPECT(loops_guards_of_hold(&l, (const int64_t[]){1, 2, 2}, 0, 1, &err), "looked at when s0 is known");
	EXPECT(!loops_guards_of_hold(&l, (const int64_t[]){1, 2, 2}, 1, 0, &err) && str_eq(err.msg, "s0 > 1 does not hold"), "%s", err.msg);
	CHECK(reads(&l, DATA "stated r0 = s0\n" DATA_RETURN, &err));
	l.ins[1].number_of = 0;
	EXPECT(!loops_validate_symbols(&l, &err) && str_eq(err.msg, "I6: instruction 2 uses s0, which the data have not bound yet"), "%s",
		err.msg);
	CHECK(reads(&l, "loops 1\ns0 = data of argument 0, 4\nb0: f32[s0] uses s0\nreturn b0 f32[s0][1]+0\n", &err));
	EXPECT(!loops_validate_symbols(&l, &err) && str_eq(err.msg, "I6: a result uses s0, which no data bind"), "%s", err.msg);
	EXPECT(!reads(&l, "loops 1\nfor r0 < 2\n  stated r0 = 1\nend\nreturn \n", &err) && strstr(err.msg, "outside of all blocks"), "%s",
		err.msg);
	EXPECT(!reads(&l, "loops 1\ns0 = data of input 0, 4\nreturn \n", &err), "data of no argument");
}

static int left_after_reuse(const char *first, const char *second)
{
	struct loops l;
	struct err err;
	const char *text = arena_printf(&arena,
		"loops 1\ns0 = argument 0, 6\ns1 = argument 1, 5\nb0: f32[1] = input 0\nb1: f32[%s] uses s0, s1\nb2: f32[%s] uses s0, s1\n"
		"b3: f32[1]\nr0: f32 = load b0[0]\nstore b3[0] = r0\nstore b1[0] = r0\nr1: f32 = load b1[0]\nstore b3[0] = r1\nstore b2[0] = r0\n"
		"r2: f32 = load b2[0]\nstore b3[0] = r2\nreturn b3 f32[1][1]+0\n",
		first, second);
	EXPECT(reads(&l, text, &err), "%d:%d: %s", err.line, err.col, err.msg);
	loops_reuse_buffers(&l);
	EXPECT(loops_validate_symbols(&l, &err), "%s", err.msg);
	return l.nbuffer;
}

static void test_reuse(void)
{
	EXPECT_INT(left_after_reuse("s0*s1", "s0"), 3);
	EXPECT_INT(left_after_reuse("s0*4", "s0*4"), 3);
	EXPECT_INT(left_after_reuse("s0*4", "8"), 3);  /* s0 is 2 at least */
	EXPECT_INT(left_after_reuse("s0*4", "12"), 4); /* 24 cells in this call, 8 in another */
	EXPECT_INT(left_after_reuse("s0", "s1"), 4);   /* 6 and 5 */
}

/* ---- programs compiled once ---- */

struct once {
	struct prog *p;
	struct dynamic *d;
	struct err why;
};

static const struct compile_options *options(bool to_code, enum code_engine engine)
{
	struct compile_options *o = ARENA_ZNEW(&arena, struct compile_options, 1);
	o->stage = compile_nstages() - 1;
	o->to_code = to_code;
	o->validate = true;
	o->code.engine = engine;
	o->code.dynamic = true;
	return o;
}

static struct once once(const char *text)
{
	struct once x = {.p = program(text)};
	struct prog *bound = ARENA_NEW(&arena, struct prog, 1);
	struct dynamic_made made;
	struct err err = {0};
	CHECK(prog_bind(bound, x.p, 0, &arena, &err));
	const enum compile_status status = dynamic_compile(&x.d, &made, bound, options(true, CODE_JIT), &arena, &x.why);
	EXPECT(status == COMPILE_OK, "%d: %s", (int)status, x.why.msg);
	return x;
}

/* The guards, each behind a comma; or why there are none. */
static const char *guards_of(const char *text)
{
	struct once x = once(text);
	struct strbuf sb;
	sb_init(&sb);
	if (!x.d)
		sb_puts(&sb, x.why.msg);
	for (int k = 0; x.d && k < dynamic_loops(x.d)->nguard; k++) {
		sb_puts(&sb, k ? ", " : "");
		guard_print(&sb, &dynamic_loops(x.d)->guard[k]);
	}
	const char *s = arena_strdup(&arena, sb.s);
	sb_free(&sb);
	return s;
}

#define PROGRAM(n, rows) "# scatterproof 1\nn = sym(" #n ")\n" rows

static void test_generalised(void)
{
	const struct once x = once(PROGRAM(6, "x = input([n, 4], seed=1)\ny = sum.dim_IntList(x, dim=[1])\nreturn (y,)\n"));
	CHECK(x.d);
	EXPECT(strstr(text_of(dynamic_loops(x.d)),
			   "s0 = size 0 of input 0, 6\nguard s0 > 1\nb0: f32[s0*4] = input 0 uses s0\nb1: f32[s0] uses s0\nfor r0 < s0\n"),
		"%s", text_of(dynamic_loops(x.d)));
	/* The bits of 1.0f are no size. */
	EXPECT_STR(guards_of(PROGRAM(6, "x = full([], 1.0)\ny = expand(x, [n, 4])\nz = clone(y)\nreturn (z,)\n")), "s0 > 1");
	/* A quotient by a symbol, and a number that only a float shows. */
	const struct once y = once(PROGRAM(6,
		"x = input([4, n], seed=1)\ny = mean.dim(x, dim=[1])\nv = view(x, [n, 4])\nw = neg(v)\n"
		"u = view(w, [4, n])\nz = mul.Tensor(u, x)\nreturn (y, z)\n"));
	CHECK(y.d);
	EXPECT(strstr(text_of(dynamic_loops(y.d)), "f32 = const s0\n"), "%s", text_of(dynamic_loops(y.d)));
}

static void test_what_sizes_decide(void)
{
#define SLICE "x = input([n, 4], seed=1)\ny = slice.Tensor(x, dim=0, start=1, end=5)\nz = neg(y)\nreturn (z,)\n"
	EXPECT_STR(guards_of(PROGRAM(6, "x = input([n, 4], seed=1)\ny = neg(x)\nreturn (y,)\n")), "s0 > 1");
	EXPECT_STR(guards_of(PROGRAM(6, SLICE)), "s0 > 1, s0 >= 5");                        /* else the slice ends with the input */
	EXPECT_STR(guards_of(PROGRAM(3, SLICE)), "a number is no polynomial of the sizes"); /* a slice of 2, 3, 4, 4 */
	EXPECT_STR(guards_of(PROGRAM(1, "x = input([n, 4], seed=1)\ny = neg(x)\nreturn (y,)\n")), "a size of 1");
	EXPECT_STR(guards_of(PROGRAM(6, "x = input([n, 4], seed=1)\ny = input([6, 4], seed=2)\nz = add.Tensor(x, y)\nreturn (z,)\n")),
		"other sizes are compiled to another program: s0 = 7"); /* it raises */
	EXPECT_STR(guards_of(PROGRAM(6, "x = input([n, 3], seed=1)\ny = view(x, [2, -1])\nz = sum.dim_IntList(y, dim=[0])\nreturn (z,)\n")),
		"a number is no polynomial of the sizes"); /* s0*3/2 */
}

/* A call whose first symbol is n. */
static void bind(struct prog *bound, const struct once *x, int64_t n)
{
	struct err err = {0};
	CHECK(prog_bind(bound, x->p, 0, &arena, &err));
	for (int i = 0; i < bound->nnode; i++)
		if (node_is_sym(&bound->node[i])) {
			bound->node[i].sym_value = n;
			break;
		}
	CHECK(prog_rebind(bound, &err));
}

static bool serves(const struct once *x, int64_t n, struct err *why)
{
	struct prog bound;
	struct result_violation violation;
	struct err err = {0};
	bind(&bound, x, n);
	*why = (struct err){0};
	if (!dynamic_serves(x->d, &bound, why))
		return false;
	const bool same = dynamic_validate(&violation, x->d, &bound, &arena, &err);
	EXPECT(same, "%d: %s", (int)n, err.msg);
	return true;
}

/* Guards tell the sizes apart, and where they hold the program is the same one: also far away from all samples. */
static void test_calls(void)
{
	const struct once x = once(PROGRAM(6, SLICE));
	struct err why;
	CHECK(x.d);
	EXPECT(serves(&x, 6, &why) && serves(&x, 5, &why) && serves(&x, 101, &why) && serves(&x, 4096, &why), "%s", why.msg);
	EXPECT(!serves(&x, 4, &why) && str_eq(why.msg, "s0 >= 5 does not hold"), "%s", why.msg);
	EXPECT(!serves(&x, 1, &why) && str_eq(why.msg, "s0 > 1 does not hold"), "%s", why.msg);
	/* Were there no guard, the validator would see it: at 4 the same rows and loops have other numbers. */
	struct prog bound;
	struct result_violation violation = {"", "", ""};
	bind(&bound, &x, 4);
	why = (struct err){0};
	EXPECT(!dynamic_validate(&violation, x.d, &bound, &arena, &why), "a guard that is missing");
	EXPECT_STR(why.msg, "invariant after symbols: I6b: compiled for this call's sizes 'y' (slice.Tensor) is another row");
	EXPECT_STR(violation.invariant, "I6b");
	EXPECT_STR(violation.step, "symbols");
	EXPECT_STR(violation.op, "slice.Tensor");
}

/* At many sizes of two symbols: is the program that is served the one compiled for just these? How many calls it serves. */
static int served_as_compiled(const char *text)
{
	static const int64_t sizes[] = {1, 2, 3, 5, 6, 9, 19, 20, 21, 22, 23, 24, 25, 26, 27, 41, 42};
	const struct once x = once(text);
	int served = 0;
	CHECK(x.d);
	for (int m = 0; m < ARRAY_LEN(sizes); m++)
		for (int n = 0; n < ARRAY_LEN(sizes); n++) {
			const int64_t value[] = {sizes[m], sizes[n]};
			struct result_violation violation;
			struct prog bound;
			struct err err = {0};
			CHECK(prog_bind(&bound, x.p, 0, &arena, &err));
			for (int i = 0, k = 0; i < bound.nnode && k < ARRAY_LEN(value); i++)
				if (node_is_sym(&bound.node[i]))
					bound.node[i].sym_value = value[k++];
			if (!prog_rebind(&bound, &err) || !dynamic_serves(x.d, &bound, &err))
				continue;
			served++;
			EXPECT(dynamic_validate(&violation, x.d, &bound, &arena, &err), "%d, %d: %s", (int)value[0], (int)value[1], err.msg);
		}
	return served;
}

#define TWO(m, n, rows) "# scatterproof 1\nm = sym(" #m ")\nn = sym(" #n ")\n" rows

/* Lengths with a step are rounded quotients: the same number at all samples, another beyond. */
static void test_quotients(void)
{
	EXPECT_STR(guards_of(PROGRAM(6, "x = input([n, 4], seed=1)\ny = slice.Tensor(x, dim=0, start=1, step=20)\nreturn (y,)\n")),
		"s0 > 1, s0 <= 21");
	EXPECT_INT(served_as_compiled(TWO(9, 6, "x = input([m, n], seed=1)\ny = unfold(x, dimension=0, size=3, step=23)\nreturn (y,)\n")), 176);
	EXPECT_INT(served_as_compiled(
				   TWO(9, 6, "x = input([m, 100], seed=1)\ny = slice.Tensor(x, dim=1, start=m, end=m + n, step=19)\nreturn (y,)\n")),
		95);
}

/* What is of the fourth degree is a polynomial of the third at the points that make one, and at no other. */
static void test_fourth_degree(void)
{
	EXPECT_STR(guards_of(TWO(3, 9, "x = input([m, n, n, m], seed=1)\ny = input([n, m], stride=[1, 10], seed=2)\nreturn (x, y)\n")),
		"a number is no polynomial of the sizes");
	EXPECT_STR(
		guards_of(TWO(2, 6, "x = input([n, m, n, m], seed=1)\ny = diagonal(x)\nreturn (y,)\n")), "a number is no polynomial of the sizes");
	EXPECT_STR(
		guards_of(TWO(4, 7, "x = input([m, m, m, n], seed=1)\ny = neg(x)\nreturn (y,)\n")), "a number is no polynomial of the sizes");
}

/* ---- runs ---- */

static void same_results_of(const struct prog *p, const struct compile_options *o, int ngraphs)
{
	struct result got, want;
	struct err err = {0};
	compile_run(&got, p, o, &arena);
	EXPECT_INT(got.status, RES_OK);
	EXPECT_STR(got.message, "");
	interp_run(&want, p, &arena, NULL, &err);
	CHECK(want.status == RES_OK && got.status == RES_OK);
	EXPECT_INT(got.ngraphs, ngraphs);
	for (int k = 0; k < got.ncalls; k++)
		for (int i = 0; i < got.call[k].nouts; i++) {
			const struct result_tensor *a = &got.call[k].out[i], *b = &want.call[k].out[i];
			EXPECT(a->nbytes == b->nbytes && memcmp(a->data, b->data, a->nbytes) == 0, "engine %d, call %d, output %d", (int)o->code.engine,
				k, i);
			EXPECT(meta_equivalent(&a->meta, &b->meta), "engine %d, call %d: layout of output %d", (int)o->code.engine, k, i);
		}
}

static void same_results(const struct prog *p, bool to_code, enum code_engine engine, int ngraphs)
{
	same_results_of(p, options(to_code, engine), ngraphs);
}

static void test_runs(void)
{
	const struct prog *p = program(PROGRAM(6,
		"x = input([n, 4], seed=1)\ny = input([n], seed=2, dtype=i64, fill=index, high=4)\nm = sym_size.int(x, dim=0)\n"
		"v = view(x, [2*m, -1])\n"
		"w = sum.dim_IntList(v, dim=[0])\ns = slice.Tensor(x, dim=0, start=1, end=5)\nk = mean(s)\nr = sort(x, dim=0)\nt = getitem(r, 0)\n"
		"e = index_select(t, dim=1, index=y)\nu = mul_.Tensor(x, 2)\nreturn (w, k, e, u)\ncall (x: seed=7, n=5)\ncall (x: seed=8, n=9)\n"
		"call (x: seed=8, n=3)\ncall (n=40)\n"));
	/* Of five calls one, n = 3, is another program. */
	same_results(p, true, CODE_INTERPRETED, 2);
	same_results(p, true, CODE_JIT, 2);
	same_results(p, false, CODE_JIT, 2);
	/* Lanes that are long in one call only: sort is a kernel of eager's there. */
	p = program(PROGRAM(
		300, "x = input([n, 2], seed=1)\nr = sort(x, dim=0)\nt = getitem(r, 0)\ny = neg(t)\nreturn (t, y)\ncall (n=40)\ncall (n=301)\n"));
	same_results(p, true, CODE_JIT, 2);
}

#define NONE "False, False, False, False, False"
#define DATA_PROGRAM                                                                                                                       \
	"# scatterproof 1\nu = sym(5)\nx = input([12], seed=1)\n"                                                                              \
	"m = input([12], dtype=b8, data=[True, False, True, True, True, True, False, " NONE "])\ny = masked_select(x, m, count=u)\n"           \
	"k = nonzero(m, count=u)\nz = mul.Tensor(y, y)\nw = zeros_like(y)\n"                                                                   \
	"e = add_.Tensor(x, 1)\nreturn (z, w, k, e)\n"                                                                                         \
	"call (m: data=[True, True, True, True, True, True, True, " NONE "], u=7)\n"                                                           \
	"call (m: data=[False, False, False, True, False, False, False, " NONE "], u=1)\n"                                                     \
	"call (m: data=[False, False, False, False, False, False, False, " NONE "], u=0)\n"                                                    \
	"call (m: data=[False, True, True, True, False, False, False, " NONE "], u=3)\n"

/* Data bind the symbol. Two calls of five are found to be other programs when they run, which has written nothing by then. */
static void test_data_runs(void)
{
	const struct prog *p = program(DATA_PROGRAM);
	const struct once x = once(DATA_PROGRAM);
	struct err why = {0};
	struct prog bound;
	CHECK(x.d && prog_bind(&bound, p, 2, &arena, &why));
	EXPECT(strstr(text_of(dynamic_loops(x.d)), "s0 = data of argument 0, 5\n"), "%s", text_of(dynamic_loops(x.d)));
	EXPECT(dynamic_serves(x.d, &bound, &why), "nobody knows before it runs: %s", why.msg);
	EXPECT(!dynamic_fits(x.d, &bound, &why) && str_eq(why.msg, "s0 > 1 does not hold"), "%s", why.msg);
	same_results(p, true, CODE_INTERPRETED, 3);
	same_results(p, true, CODE_JIT, 3);
	same_results(p, false, CODE_JIT, 3);
	/* Who reads the symbol besides is told it by the caller. */
	const struct once told = once("# scatterproof 1\nu = sym(5)\nx = input([12], seed=1)\n"
								  "m = input([12], dtype=b8, data=[True, False, True, True, True, True, False, " NONE "])\n"
								  "y = masked_select(x, m, count=u)\nz = view(y, [u, 1])\nreturn (z,)\n");
	CHECK(told.d);
	EXPECT(strstr(text_of(dynamic_loops(told.d)), "s0 = argument 0, 5\n"), "%s", text_of(dynamic_loops(told.d)));
}

#define ITEM_PROGRAM                                                                                                                       \
	"# scatterproof 1\ns = sym(5)\nx = input([1], dtype=i64, data=[5])\ny = input([4], seed=1)\nu = item(x, value=s)\n"                    \
	"f = full([u, 4], 1.5)\nz = add.Tensor(f, y)\nreturn (z,)\n"                                                                           \
	"call (x: data=[7], s=7)\ncall (x: data=[1], s=1)\ncall (x: data=[3], s=3)\n"

/* Rows that read the symbol of an item read no argument. */
static void test_item_runs(void)
{
	const struct prog *p = program(ITEM_PROGRAM);
	const struct once x = once(ITEM_PROGRAM);
	CHECK(x.d);
	const char *text = text_of(dynamic_loops(x.d));
	EXPECT(strstr(text, "s0 = data of argument 0, 5\n") && strstr(text, "stated r0 = s0\n"), "%s", text);
	same_results(p, true, CODE_INTERPRETED, 2);
	same_results(p, true, CODE_JIT, 2);
}

/* What sizes decide is not the structure. */
static void test_shapes(void)
{
	enum { MOST = 64 };
	const struct once x = once(PROGRAM(6, SLICE));
	struct loops at;
	struct err err = {0};
	uint64_t any[MOST], one[MOST];
	CHECK(x.d && loops_at(&at, dynamic_loops(x.d), (const int64_t[]){9, 2, 2}, &arena, &err));
	const int n = loops_shapes(any, MOST, dynamic_loops(x.d));
	EXPECT(n > 0 && loops_shapes(one, MOST, &at) == n && memcmp(any, one, (size_t)n * sizeof *any) == 0, "%d shapes", n);
}

/* Tiles are numbers: a loop that is cut at the call's own sizes is whole where they are any. */
static void test_order(void)
{
	const struct prog *p = program(PROGRAM(40, "x = input([n, n], seed=1)\ny = t(x)\nz = add.Tensor(x, y)\nreturn (z,)\ncall (n=41)\n"));
	struct compile_options *o = ARENA_NEW(&arena, struct compile_options, 1);
	struct prog bound;
	struct compiled c;
	struct loops l;
	struct dynamic *d;
	struct dynamic_made made;
	struct err err = {0};
	bool planted;
	*o = *options(true, CODE_INTERPRETED);
	o->code.schedule = o->code.reorder = true;
	CHECK(prog_bind(&bound, p, 0, &arena, &err) && compile(&c, &bound, o, &arena, &err) == COMPILE_OK);
	CHECK(code_loops(&l, &planted, &c.part[0].p, &o->code, NULL, &arena, &err));
	EXPECT(strstr(text_of(&l), " by "), "%s", text_of(&l));
	CHECK(dynamic_compile(&d, &made, &bound, o, &arena, &err) == COMPILE_OK && d);
	EXPECT(!strstr(text_of(dynamic_loops(d)), " by ") && strstr(text_of(dynamic_loops(d)), "parallel"), "%s", text_of(dynamic_loops(d)));
	same_results_of(p, o, 1);
}

/* A broken invariant is a status, and nothing is run. */
static void test_broken(void)
{
	const struct prog *p = program(PROGRAM(6, SLICE));
	struct compile_options *o = ARENA_NEW(&arena, struct compile_options, 1);
	struct result got;
	*o = *options(true, CODE_INTERPRETED);
	o->defect = defect_find("list_lacks_symbol");
	CHECK(o->defect);
	compile_run(&got, p, o, &arena);
	EXPECT_INT(got.status, RES_INVARIANT);
	EXPECT_INT(got.ncalls, 0);
	EXPECT(str_starts(got.message, "invariant after symbols: I6: "), "%s", got.message);
	EXPECT_STR(got.violation.invariant, "I6");
	EXPECT_STR(got.violation.step, "symbols");
	EXPECT_STR(got.violation.op, "");
}

int main(void)
{
	arena_init(&arena);
	RUN(test_arithmetic);
	RUN(test_proofs);
	RUN(test_fit);
	RUN(test_text);
	RUN(test_guards);
	RUN(test_invariant);
	RUN(test_data);
	RUN(test_reuse);
	RUN(test_generalised);
	RUN(test_what_sizes_decide);
	RUN(test_calls);
	RUN(test_quotients);
	RUN(test_fourth_degree);
	RUN(test_runs);
	RUN(test_data_runs);
	RUN(test_item_runs);
	RUN(test_shapes);
	RUN(test_order);
	RUN(test_broken);
	arena_free(&arena);
	return TEST_END();
}
