/* oracle_arb_test.c: the arithmetic of enclosures against Arb balls (FLINT/Arb, Johansson 2017), which are rigorous.
 *
 * For random centres and radii each function's set must contain Arb's image of the input ball (up to what Arb itself cannot
 * tell), must not be much wider, and double-double centres must be as accurate as num.h says. Random expression tapes are then
 * evaluated in balls: the real value of every scalar lies inside the reference's set. */
#include "oracle/tape/tape_impl.h"
#include "fuzz/triage/profile.h"
#include "tests/test.h"
#include "tests/unit/formula_arb.h"
#include "generated/op_id.h"

#include <stdlib.h>

static uint64_t state = 7;
static uint64_t draw(void) { return mix64(state += 0x9e3779b97f4a7c15u); }
static int below(int n) { return (int)(draw() % (uint64_t)n); }
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }
enum { PREC = 300, HUGE_SPAN = 2000 };

static double value(int span)
{
	double x = ldexp(0.5 + unit() / 2, below(2 * span + 1) - span);
	return below(2) ? x : -x;
}

/* A set with one finite part: exact, rounded, or with a double-double centre. */
static struct num number(int span)
{
	struct num r = num_exact(DT_F64, value(span < HUGE_SPAN ? span : 20));
	if (span == HUGE_SPAN)
		r.hi = ldexp(r.hi, below(2) ? 1003 : -1000); /* where products, quotients and sums leave double */
	if (below(3) == 0)
		return r;
	r.lo = r.hi * 0x1p-54 * (unit() - 0.5);
	r.rad = fabs(r.hi) * ldexp(1, -below(50)) * unit() + 0x1p-1000;
	return r;
}

/* A point of the set: hi + lo + t * rad, exactly. */
static void point_of(arb_t x, const struct num *a, double t)
{
	arb_t d;
	arb_init(d);
	arb_set_d(x, a->hi);
	arb_set_d(d, a->lo);
	arb_add(x, x, d, ARF_PREC_EXACT);
	arb_set_d(d, a->rad);
	arb_mul_2exp_si(d, d, -8);
	arb_mul_si(d, d, (slong)(t * 256), ARF_PREC_EXACT);
	arb_add(x, x, d, ARF_PREC_EXACT);
	arb_mul_2exp_si(x, x, 64 * num_beyond_k(a));
	arb_clear(d);
}

/* Every point of the (tiny) ball x is in the set. */
static bool holds(const struct num *a, const arb_t x)
{
	if (num_unknown(a) || a->flags & NUM_NOFIN)
		return true;
	arb_t d, r;
	arb_init(d);
	arb_init(r);
	point_of(d, a, 0);
	arb_sub(d, d, x, PREC);
	arb_abs(d, d);
	arb_set_d(r, a->rad);
	arb_mul_2exp_si(r, r, 64 * num_beyond_k(a));
	bool ok = arb_le(d, r);
	arb_clear(d);
	arb_clear(r);
	return ok;
}

static void arb_recip(arb_t y, const arb_t x, slong prec) { arb_inv(y, x, prec); }
static void arb_sigmoid_(arb_t y, const arb_t x, slong prec)
{
	arb_neg(y, x);
	arb_exp(y, y, prec);
	arb_add_ui(y, y, 1, prec);
	arb_inv(y, y, prec);
}

static void arb_neg_(arb_t y, const arb_t x, slong prec) { (void)prec, arb_neg(y, x); }
static void arb_abs_(arb_t y, const arb_t x, slong prec) { (void)prec, arb_abs(y, x); }
static void arb_sgn_(arb_t y, const arb_t x, slong prec) { (void)prec, arb_sgn(y, x); }
static void arb_trunc_(arb_t y, const arb_t x, slong prec)
{
	if (arb_is_negative(x))
		arb_ceil(y, x, prec);
	else
		arb_floor(y, x, prec);
}
/* Of a number halfway between two whole ones, which are equally near, the even one. */
static void arb_round_(arb_t y, const arb_t x, slong prec)
{
	arb_t moved;
	arb_init(moved);
	arb_set_d(moved, 0.5);
	arb_add(moved, x, moved, prec);
	arb_floor(y, moved, prec);
	if (arb_is_int(moved) && !arb_is_int_2exp_si(y, 1))
		arb_sub_ui(y, y, 1, prec);
	arb_clear(moved);
}

static void arb_relu_(arb_t y, const arb_t x, slong prec)
{
	arb_t zero;
	arb_init(zero);
	arb_max(y, x, zero, prec);
	arb_clear(zero);
}

/* Scalar functions of sf.def that a test below has compared. */
static bool compared[NSF];

/* narrow: as computed where the licence says f32, but with nothing added for a library's error and with the result in f64, so that
 * no rounding hides a bound that is too small. */
static void unary_in(const char *name, enum sf f, arb_fn *g, int span, bool positive, bool narrow)
{
	struct licence_profile l;
	CHECK(profile_named(&l, "builtin:eager"));
	struct lic_rule rule = l.rule[LC_ARITH][DT_F64];
	rule.flags &= ~(unsigned)LF_IEEE; /* the real value, not the rounded one */
	if (narrow) {
		rule.compute = DT_F32;
		rule.ulp = 0;
	}
	struct how h = {.dt = DT_F64, .l = &rule};
	static const sid at[1] = {0};
	compared[f] = true;
	double worst = 0;
	int judged = 0;
	arb_t x, y, low, high;
	arb_init(x);
	arb_init(y);
	arb_init(low);
	arb_init(high);
	for (int i = 0; i < 4000; i++) {
		struct num a = number(span);
		if (positive)
			a.hi = fabs(a.hi);
		struct num r;
		sf_info[f].value(&r, &a, (const sid *const[3]){at}, 1, &h);
		bool all = true;
		for (int k = -4; k <= 4; k++) {
			point_of(x, &a, k / 4.0);
			g(y, x, PREC);
			all = all && arb_is_finite(y);
			if (!arb_is_finite(y))
				continue;
			EXPECT(holds(&r, y), "%s of %.17g + %.3g +- %.3g at %d: %.17g +- %.3g, flags %d", name, a.hi, a.lo, a.rad, k, r.hi, r.rad,
				r.flags);
			if (k == -4)
				arb_set(low, y);
			if (k == 4)
				arb_set(high, y);
		}
		if (!all || r.flags & NUM_SPECIAL)
			continue;
		judged++;
		if (a.rad > fabs(a.hi) * 0x1p-12 || a.rad < fabs(a.hi) * 0x1p-40)
			continue;
		arb_sub(y, high, low, PREC);
		double need = fabs(arf_get_d(arb_midref(y), ARF_RND_NEAR)) / 2 + fabs(r.hi) * 0x1p-50;
		worst = fmax(worst, r.rad / need);
	}
	printf("  %-8s %s %d judged, radius at most %.2f times what the ends need\n", name, narrow ? "in double" : "", judged, worst);
	EXPECT(judged > 800, "%s: only %d judged", name, judged);
	bool bends = f == SF_SIN || f == SF_COS || formula_of[f].shape == LIBM_VALLEY; /* between the ends they may turn around */
	bool steps = f == SF_FLOOR || f == SF_CEIL || f == SF_TRUNC || f == SF_ROUND;  /* undecided: a centre on one step, the other inside */
	EXPECT(bends || narrow || worst < (steps ? 2.01 : 1.5), "%s: radius %.2f times what is needed", name, worst);
	arb_clear(x);
	arb_clear(y);
	arb_clear(low);
	arb_clear(high);
}

static void arb_log2_(arb_t y, const arb_t x, slong prec) { arb_log_base_ui(y, x, 2, prec); }
static void arb_log10_(arb_t y, const arb_t x, slong prec) { arb_log_base_ui(y, x, 10, prec); }
static void arb_exp2_(arb_t y, const arb_t x, slong prec)
{
	arb_const_log2(y, prec);
	arb_mul(y, y, x, prec);
	arb_exp(y, y, prec);
}

static const struct unary_row {
	enum sf f;
	int op;
	arb_fn *g;
	int span;
	bool positive;
} unary_rows[] = {
	{SF_EXP, OP_exp, arb_exp, 8, false},
	{SF_LOG, OP_log, arb_log, 200, true},
	{SF_LOG1P, OP_log1p, arb_log1p, 30, true},
	{SF_EXPM1, OP_expm1, arb_expm1, 8, false},
	{SF_SIN, OP_sin, arb_sin, 20, false},
	{SF_COS, OP_cos, arb_cos, 20, false},
	{SF_TANH, OP_tanh, arb_tanh, 4, false},
	{SF_SIGMOID, OP_sigmoid, arb_sigmoid_, 6, false},
	{SF_SQRT, OP_sqrt, arb_sqrt, 300, true},
	{SF_RSQRT, OP_rsqrt, arb_rsqrt, 300, true},
	{SF_RECIP, OP_reciprocal, arb_recip, 300, false},
	{SF_NEG, OP_neg, arb_neg_, 60, false},
	{SF_ABS, OP_abs, arb_abs_, 60, false},
	{SF_SIGN, OP_sign, arb_sgn_, 60, false},
	{SF_RELU, OP_relu, arb_relu_, 60, false},
	{SF_FLOOR, OP_floor, arb_floor, 20, false},
	{SF_CEIL, OP_ceil, arb_ceil, 20, false},
	{SF_TRUNC, OP_trunc, arb_trunc_, 20, false},
	{SF_ROUND, OP_round, arb_round_, 20, false},
#define LIBM(id, function, arb, shape, near, what, derivative) {SF_##id, OP_exp, arb, 4, false},
#define LIBM2(...)
#define FORMULA(...)
#include "oracle/num/formula.def"
};

arb_fn *arb_function(enum sf f)
{
	for (int i = 0; i < ARRAY_LEN(unary_rows); i++)
		if (unary_rows[i].f == f)
			return unary_rows[i].g;
	BUG("%s, which a row of formula.def calls, has no function of Arb's: add it to unary_rows", sf_name[f]);
}

static void test_functions(void)
{
	for (int i = 0; i < ARRAY_LEN(unary_rows); i++) {
		const struct unary_row *r = &unary_rows[i];
		unary_in(sf_name[r->f], r->f, r->g, r->span, r->positive, false);
		unary_in(sf_name[r->f], r->f, r->g, r->span, r->positive, true);
	}
}

/* ---- formula.def ---- */
typedef void arb_fn2(arb_t y, const arb_t a, const arb_t b, slong prec);
static arb_fn2 *const arb_pair[NSF] = {
#define LIBM(...)
#define LIBM2(id, function, arb, what, ...) [SF_##id] = arb,
#define FORMULA(...)
#include "oracle/num/formula.def"
};

/* The value of f at the operands of r, in r->y. */
static void value_arb(enum sf f, struct arb_row *r, slong prec)
{
	if (formula_of[f].libm) {
		arb_function(f)(&r->y[0], &r->op[0][0], prec);
	} else if (arb_pair[f]) {
		arb_pair[f](&r->y[0], &r->op[0][0], &r->op[1][0], prec);
	} else {
		struct formula_text s;
		formula_parse(&s, f, -1);
		formula_arb(r->y, &s, r, prec);
	}
}

static void row_init(struct arb_row *r)
{
	for (int i = 0; i < ARB_ROW; i++)
		for (int k = 0; k < 5; k++)
			arb_init(k < 3 ? &r->op[k][i] : k == 3 ? &r->g[i] : &r->y[i]);
}

static void row_clear(struct arb_row *r)
{
	for (int i = 0; i < ARB_ROW; i++)
		for (int k = 0; k < 5; k++)
			arb_clear(k < 3 ? &r->op[k][i] : k == 3 ? &r->g[i] : &r->y[i]);
}

static void draw_scalars(double scalar[FORMULA_SCALARS])
{
	static const double from[] = {0.25, 0.5, 1, 2, -1, 3};
	for (int k = 0; k < FORMULA_SCALARS; k++)
		scalar[k] = from[below(ARRAY_LEN(from))];
}

/* Sets of the steps of f (k: -1: its value, else a derivative) for operands that are sets, in the licence of eager's f64. */
struct sets {
	struct num v[3 * ARB_ROW], g[ARB_ROW], y[ARB_ROW];
	double scalar[FORMULA_SCALARS];
};
static int run_sets(struct num *out, enum sf f, int k, const struct sets *in, int n)
{
	struct licence_profile l;
	CHECK(profile_named(&l, "torch:eager@cpu"));
	struct formula_text s;
	struct num room[FORMULA_STEPS * ARB_ROW];
	sid ids[3 * ARB_ROW];
	for (int i = 0; i < ARRAY_LEN(ids); i++)
		ids[i] = (sid)i;
	const struct how h = {.dt = DT_F64, .l = &l.rule[LC_TRANS][DT_F64], .scalar = in->scalar};
	if (k < 0 && sf_info[f].arity > 0) {
		sf_info[f].value(out, in->v, (const sid *const[3]){ids, ids + ARB_ROW, ids + 2 * ARB_ROW}, n, &h);
		return n;
	}
	formula_parse(&s, f, k);
	const struct formula_row row = {.v = in->v, .op = {ids, ids + ARB_ROW, ids + 2 * ARB_ROW}, .g = in->g, .y = in->y, .n = n};
	formula_run(out, room, ids, &s, &row, &h);
	return formula_is_one(&s) ? 1 : n;
}

/* The sets hold the real value at points of the operands' sets. A cotangent's, where y is that of the same point. */
static void formula_holds(enum sf f, int *judged)
{
	int n = sf_info[f].arity > 0 ? 1 : 1 + below(ARB_ROW), operands = sf_operands(f);
	struct sets in;
	struct num out[ARB_ROW];
	struct arb_row r = {.n = n};
	row_init(&r);
	draw_scalars(r.scalar);
	memcpy(in.scalar, r.scalar, sizeof in.scalar);
	for (int i = 0; i < ARRAY_LEN(in.v); i++)
		in.v[i] = number(3);
	for (int k = -1; k < operands; k++) {
		for (int i = 0; k >= 0 && i < n; i++)
			in.g[i] = number(3);
		for (int t = -1; t <= 1; t++) {
			struct formula_text s;
			for (int q = 0; q < operands * n; q++)
				point_of(&r.op[q / n][q % n], &in.v[q / n * ARB_ROW + q % n], below(2) ? t : -t);
			for (int i = 0; i < n; i++)
				point_of(&r.g[i], &in.g[i], t);
			value_arb(f, &r, PREC);
			if (t == -1 && k < 0)
				run_sets(in.y, f, -1, &in, n);
			int m = run_sets(out, f, k, &in, n);
			arb_struct *want = r.y, derivative[ARB_ROW];
			for (int i = 0; i < ARB_ROW; i++)
				arb_init(&derivative[i]);
			if (k >= 0) {
				formula_parse(&s, f, k);
				formula_arb(want = derivative, &s, &r, PREC);
			}
			for (int i = 0; i < m; i++) {
				*judged += !(out[i].flags & NUM_SPECIAL) && arb_is_finite(&want[i]);
				if (arb_is_finite(&want[i]))
					EXPECT(holds(&out[i], &want[i]), "%s, %s %d: %.17g + %.3g +- %.3g", sf_name[f], k < 0 ? "value" : "derivative", k,
						out[i].hi, out[i].lo, out[i].rad);
			}
			for (int i = 0; i < ARB_ROW; i++)
				arb_clear(&derivative[i]);
		}
	}
	row_clear(&r);
}

/* Values of f at the operands of r, one of them moved by 2^-200 times `way`; their product with the cotangents. */
static void moved(arb_t sum, enum sf f, struct arb_row *r, int k, int i, int way)
{
	enum { FINE = 1000 };
	arb_t step, was;
	arb_init(step), arb_init(was);
	arb_set(was, &r->op[k][i]);
	arb_set_si(step, way);
	arb_mul_2exp_si(step, step, -200);
	arb_add(&r->op[k][i], &r->op[k][i], step, FINE);
	value_arb(f, r, FINE);
	arb_zero(sum);
	int m = formula_gives_one(f) ? 1 : r->n;
	for (int q = 0; q < m; q++)
		arb_addmul(sum, &r->g[q], &r->y[q], FINE);
	arb_set(&r->op[k][i], was);
	arb_clear(step), arb_clear(was);
}

/* A derivative is that of its value: (f(x + d) - f(x - d)) / 2d. Constants are doubles, so the two agree to 50 bits or so. */
static void derivative_is_that(enum sf f, int *judged)
{
	int n = sf_info[f].arity > 0 ? 1 : 1 + below(ARB_ROW);
	struct arb_row r = {.n = n};
	arb_struct got[ARB_ROW];
	arb_t up, down;
	row_init(&r), arb_init(up), arb_init(down);
	draw_scalars(r.scalar);
	for (int i = 0; i < ARB_ROW; i++) {
		arb_init(&got[i]);
		for (int k = 0; k < 3; k++)
			arb_set_d(&r.op[k][i], value(1));
		arb_set_d(&r.g[i], value(1));
	}
	for (int k = 0; k < sf_operands(f); k++) {
		struct formula_text s;
		moved(up, f, &r, k, 0, 0); /* leaves the value in y */
		formula_parse(&s, f, k);
		bool one = formula_arb(got, &s, &r, PREC);
		for (int i = 0; i < n; i++) {
			moved(up, f, &r, k, i, 1), moved(down, f, &r, k, i, -1);
			arb_sub(up, up, down, 1000);
			arb_mul_2exp_si(up, up, 199);
			double want = arf_get_d(arb_midref(up), ARF_RND_NEAR), is = arf_get_d(arb_midref(&got[one ? 0 : i]), ARF_RND_NEAR);
			if (!arb_is_finite(up) || !arb_is_finite(&got[one ? 0 : i]))
				continue;
			++*judged;
			EXPECT(fabs(want - is) <= 1e-13 * (1 + fabs(want)), "%s: derivative %d is %.17g, that of its value %.17g", sf_name[f], k, is,
				want);
		}
	}
	for (int i = 0; i < ARB_ROW; i++)
		arb_clear(&got[i]);
	row_clear(&r), arb_clear(up), arb_clear(down);
}

static void test_formulas(void)
{
	for (int f = 0; f < NSF; f++) {
		int values = 0, derivatives = 0;
		if (!formula_of[f].derivative[0])
			continue;
		for (int i = 0; i < 300; i++) {
			formula_holds((enum sf)f, &values);
			derivative_is_that((enum sf)f, &derivatives);
		}
		compared[f] = compared[f] || values;
		printf("  %-12s %d values and cotangents in sets, %d derivatives\n", sf_name[f], values, derivatives);
		EXPECT(values > 300 && derivatives > 50, "%s: hardly judged", sf_name[f]);
	}
}

/* atan2 on rectangles: the set holds the angle of corners, edges and centre, and where it is smooth is not much wider. */
static void test_rectangles(void)
{
	struct licence_profile l;
	CHECK(profile_named(&l, "builtin:eager"));
	struct lic_rule rule = l.rule[LC_TRANS][DT_F64];
	rule.ulp = 0;
	struct how h = {.dt = DT_F64, .l = &rule};
	static const sid at[2] = {0, 1};
	double worst = 0;
	int judged = 0;
	arb_t x, y, z, middle;
	arb_init(x), arb_init(y), arb_init(z), arb_init(middle);
	for (int i = 0; i < 20000; i++) {
		struct num op[2] = {number(i & 1 ? 3 : 40), number(i & 1 ? 3 : 40)}, r;
		double need = 0;
		sf_info[SF_ATAN2].value(&r, op, (const sid *const[3]){at, at + 1}, 1, &h);
		point_of(y, &op[0], 0), point_of(x, &op[1], 0);
		arb_atan2(middle, y, x, PREC);
		for (int k = 0; k < 9; k++) {
			point_of(y, &op[0], k / 3 - 1), point_of(x, &op[1], k % 3 - 1);
			arb_atan2(z, y, x, PREC);
			EXPECT(holds(&r, z), "atan2 of %.17g +- %.3g, %.17g +- %.3g at %d: %.17g +- %.3g, flags %d", op[0].hi, op[0].rad, op[1].hi,
				op[1].rad, k, r.hi, r.rad, r.flags);
			arb_sub(z, z, middle, PREC);
			need = fmax(need, fabs(arf_get_d(arb_midref(z), ARF_RND_NEAR)));
		}
		bool small = op[0].rad < fabs(op[0].hi) * 0x1p-8 && op[1].rad < fabs(op[1].hi) * 0x1p-8;
		if (r.flags & (NUM_SPECIAL | NUM_UNDEC) || !small)
			continue;
		judged++;
		worst = fmax(worst, r.rad / (need + fabs(r.hi) * 0x1p-50));
	}
	printf("  atan2: %d judged, radius at most %.2f times what the corners need\n", judged, worst);
	EXPECT(judged > 800 && worst < 1.5, "atan2: %d judged, radius %.2f times what is needed", judged, worst);
	arb_clear(x), arb_clear(y), arb_clear(z), arb_clear(middle);
}

/* Unrounded sets: add, mul, div contain the results of the ends; centres are within the stated relative errors. */
static void arithmetic(int span, int64_t *beyond)
{
	arb_t x, y, z;
	arb_init(x);
	arb_init(y);
	arb_init(z);
	for (int i = 0; i < 10000; i++) {
		struct num a = number(span), b = number(span), r;
		int op = below(3);
		if (below(2))
			a.rad = b.rad = 0;
		if (span == HUGE_SPAN && below(3) == 0) { /* an operand that has left double, too */
			struct num c = number(span);
			a = num_mul(&a, &c);
		}
		r = op == 0 ? num_add(&a, &b) : op == 1 ? num_mul(&a, &b) : num_div(&a, &b);
		*beyond += num_beyond_k(&r) != 0;
		EXPECT(!num_unknown(&r), "op %d: %.17g +- %g, %.17g +- %g: nothing is known", op, a.hi, a.rad, b.hi, b.rad);
		for (int k = 0; k < 4; k++) {
			point_of(x, &a, k & 1 ? 1 : -1);
			point_of(y, &b, k & 2 ? 1 : -1);
			if (op == 0)
				arb_add(z, x, y, PREC);
			else if (op == 1)
				arb_mul(z, x, y, PREC);
			else
				arb_div(z, x, y, PREC);
			if (!arb_is_finite(z) || (r.flags & NUM_SPECIAL && !num_beyond_k(&r)))
				continue;
			struct num s = r; /* num.h: the centre's own error; num_round adds it */
			s.rad = s.rad * (1 + 0x1p-50) + fabs(r.hi) * 0x1p-97;
			EXPECT(holds(&s, z), "op %d: %.17g +- %g, %.17g +- %g: %.17g + %g +- %g", op, a.hi, a.rad, b.hi, b.rad, r.hi, r.lo, r.rad);
		}
	}
	arb_clear(x);
	arb_clear(y);
	arb_clear(z);
}

static void test_arithmetic(void)
{
	int64_t beyond = 0;
	arithmetic(60, &beyond);
	EXPECT(beyond == 0, "%" PRId64 " results are beyond double", beyond);
	arithmetic(HUGE_SPAN, &beyond);
	printf("  %" PRId64 " of 10000 results are beyond double\n", beyond);
	EXPECT(beyond > 1000, "only %" PRId64 " results are beyond double", beyond);
}

/* num_round: the rounded value of every point is inside the set, in every format. */
static void test_rounding(void)
{
	static const enum dtype dts[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
	for (int i = 0; i < 40000; i++) {
		enum dtype dt = dts[below(4)];
		struct num a = number(dt == DT_F16 ? 20 : dt == DT_F64 ? below(2) ? 1000 : HUGE_SPAN : 140), r = a;
		num_round(&r, dt, below(2) ? NR_IEEE : 0);
		for (int k = -1; k <= 1; k++) {
			struct dd q = dd_add(dd_two_sum(a.hi, k * a.rad), (struct dd){a.lo, 0});
			double p = q.hi, got = num_rn(dt, q.hi, q.lo);
			if (isfinite(p))
				EXPECT(num_has(&r, got), "%s: %.17g from %.17g +- %.3g: set %.17g + %.3g +- %.3g flags %d", dtype_info[dt].name, got, a.hi,
					a.rad, r.hi, r.lo, r.rad, r.flags);
		}
		if (num_is_exact(&r))
			EXPECT(num_fits(dt, r.hi, r.lo), "exact but no number of %s: %.17g", dtype_info[dt].name, r.hi);
	}
}

/* ---- random tapes in real arithmetic ---- */
enum { MAX_BALLS = 400 };
struct balls {
	struct tape t;
	arb_struct v[MAX_BALLS];
};

static arb_struct *ball(struct balls *b, sid id) { return &b->v[id]; }

static void variance(arb_struct *y, struct balls *b, const sid *e, int n, int correction)
{
	arb_t mean, d;
	arb_init(mean);
	arb_init(d);
	for (int i = 0; i < n; i++)
		arb_add(mean, mean, ball(b, e[i]), PREC);
	arb_div_ui(mean, mean, (ulong)n, PREC);
	for (int i = 0; i < n; i++) {
		arb_sub(d, ball(b, e[i]), mean, PREC);
		arb_addmul(y, d, d, PREC);
	}
	arb_div_ui(y, y, (ulong)(n > correction ? n - correction : 0), PREC);
	arb_clear(mean);
	arb_clear(d);
}

/* The value of list function f of n entries. */
static void list_value(arb_struct *y, struct balls *b, enum sf f, const sid *e, int n, int param)
{
	arb_t x;
	arb_init(x);
	arb_set_ui(y, f == SF_PROD);
	for (int i = 0; i < n; i++) {
		switch (f) {
		case SF_SUM: arb_add(y, y, ball(b, e[i]), PREC); break;
		case SF_SUMPROD:
			if (i % 2)
				arb_addmul(y, ball(b, e[i - 1]), ball(b, e[i]), PREC);
			break;
		case SF_PROD: arb_mul(y, y, ball(b, e[i]), PREC); break;
		case SF_MAXN:
		case SF_KMAX: i ? arb_max(y, y, ball(b, e[i]), PREC) : arb_set(y, ball(b, e[i])); break;
		case SF_MINN:
		case SF_KMIN: i ? arb_min(y, y, ball(b, e[i]), PREC) : arb_set(y, ball(b, e[i])); break;
		case SF_LSE:
			arb_exp(x, ball(b, e[i]), PREC);
			arb_add(y, y, x, PREC);
			break;
		default: break;
		}
	}
	if (f == SF_LSE)
		arb_log(y, y, PREC);
	if (f == SF_VAR || f == SF_VARALL)
		variance(y, b, e, n, param);
	arb_clear(x);
}

/* a / b towards 0 or -infinity, or what that leaves of a. */
static void divided(arb_struct *y, const arb_t a, const arb_t b, bool floored, bool left)
{
	arb_t q;
	arb_init(q);
	arb_div(q, a, b, PREC);
	if (floored)
		arb_floor(q, q, PREC);
	else
		arb_trunc_(q, q, PREC);
	arb_set(y, left ? a : q);
	if (left)
		arb_submul(y, q, b, PREC);
	arb_clear(q);
}

static void pair_value(arb_struct *y, enum sf f, const arb_t a, const arb_t b)
{
	switch (f) {
	case SF_ADD: arb_add(y, a, b, PREC); break;
	case SF_SUB: arb_sub(y, a, b, PREC); break;
	case SF_MUL: arb_mul(y, a, b, PREC); break;
	case SF_DIV: arb_div(y, a, b, PREC); break;
	case SF_POW: arb_pow(y, a, b, PREC); break;
	case SF_RAISE: arb_pow(y, a, b, PREC); break;
	case SF_FMOD: divided(y, a, b, false, true); break;
	case SF_REMAINDER: divided(y, a, b, true, true); break;
	case SF_FLOOR_DIV: divided(y, a, b, true, false); break;
	case SF_TRUNC_DIV: divided(y, a, b, false, false); break;
	case SF_ATAN2: arb_atan2(y, a, b, PREC); break;
	case SF_MAX2: arb_max(y, a, b, PREC); break;
	case SF_MIN2: arb_min(y, a, b, PREC); break;
	default: BUG("%s", sf_name[f]);
	}
}

static const struct {
	enum sf f;
	int op;
} pairs[] = {{SF_ADD, OP_add_Tensor}, {SF_SUB, OP_sub_Tensor}, {SF_MUL, OP_mul_Tensor}, {SF_DIV, OP_div_Tensor}, {SF_POW, OP_pow_Scalar},
	{SF_RAISE, OP_pow_Tensor_Tensor}, {SF_FMOD, OP_fmod_Tensor}, {SF_REMAINDER, OP_remainder_Tensor}, {SF_FLOOR_DIV, OP_div_Tensor_mode},
	{SF_TRUNC_DIV, OP_div_Tensor_mode}, {SF_ATAN2, OP_atan2}, {SF_MAX2, OP_maximum}, {SF_MIN2, OP_minimum}, {SF_MUL, OP_mul_Tensor}};
static const struct {
	enum sf f;
	int op;
} lists[] = {{SF_SUM, OP_sum}, {SF_SUMPROD, OP_mm}, {SF_PROD, OP_prod}, {SF_MAXN, OP_amax}, {SF_MINN, OP_amin}, {SF_KMAX, OP_max_dim},
	{SF_KMIN, OP_min_dim}, {SF_LSE, OP_logsumexp}, {SF_VAR, OP_var_correction}, {SF_VARALL, OP_var_correction}};

/* What scalar id must be, by definition; the reference's set holds it. False: nothing further can be said of this tape. */
static bool compare(struct balls *b, sid id, int seed)
{
	arb_struct *y = ball(b, id);
	const struct num *r = tape_val(&b->t, id);
	/* Exact answers of correctly rounded operations (NR_IEEE) are the rounded ones: follow them. */
	if (num_is_exact(r) && !(r->flags & NUM_SPECIAL)) {
		if (arb_is_finite(y))
			EXPECT(fabs(arf_get_d(arb_midref(y), ARF_RND_NEAR) - r->hi) <= 2 * num_half_ulp(&num_format[DT_F64], fabs(r->hi)), "rounded");
		arb_set_d(y, r->hi);
		return true;
	}
	if (r->flags & NUM_SPECIAL || !arb_is_finite(y) || (!arb_is_exact(y) && arb_rel_accuracy_bits(y) < 100))
		return false; /* the last: a step that Arb's ball straddles */
	const struct tape_block *k = tape_block_of(&b->t, id);
	compared[k->f] = true;
	EXPECT(holds(r, y), "tape %d scalar %u, %s: %.17g + %.3g +- %.3g", seed, id, sf_name[k->f], r->hi, r->lo, r->rad);
	return true;
}

static bool add_unary(struct balls *b, int node, int seed, const sid *e)
{
	const struct unary_row *r = &unary_rows[below(ARRAY_LEN(unary_rows))];
	tape_at(&b->t, node, r->op);
	sid id = tape_map1(&b->t, r->f, DT_F64, e, 1);
	r->g(ball(b, id), ball(b, e[0]), PREC);
	return compare(b, id, seed);
}

static bool add_pair(struct balls *b, int node, int seed, sid *e)
{
	int k = below(ARRAY_LEN(pairs));
	tape_at(&b->t, node, pairs[k].op);
	if (pairs[k].f == SF_POW) {
		static const double powers[] = {2, 3, -1, 0.5, 2.5, -2};
		double p = powers[below(ARRAY_LEN(powers))];
		e[1] = tape_const_f(&b->t, DT_F64, p);
		arb_set_d(ball(b, e[1]), p);
	}
	sid id = tape_map2(&b->t, pairs[k].f, DT_F64, e, e + 1, 1);
	pair_value(ball(b, id), pairs[k].f, ball(b, e[0]), ball(b, e[1]));
	return compare(b, id, seed);
}

static bool add_clamp(struct balls *b, int node, int seed, sid *e)
{
	tape_at(&b->t, node, OP_clamp);
	e[1] = tape_const_f(&b->t, DT_F64, -1);
	e[2] = tape_const_f(&b->t, DT_F64, 2);
	arb_set_si(ball(b, e[1]), -1);
	arb_set_si(ball(b, e[2]), 2);
	sid id = tape_map3(&b->t, SF_CLAMP, DT_F64, e, e + 1, e + 2, 1);
	arb_max(ball(b, id), ball(b, e[0]), ball(b, e[1]), PREC);
	arb_min(ball(b, id), ball(b, id), ball(b, e[2]), PREC);
	return compare(b, id, seed);
}

static bool add_list(struct balls *b, int node, int seed, const sid *e, int len)
{
	int k = below(ARRAY_LEN(lists)), param = lists[k].f == SF_VAR || lists[k].f == SF_VARALL ? below(2) : 0,
		n = lists[k].f == SF_SUMPROD ? 2 * len : len;
	tape_at(&b->t, node, lists[k].op);
	sid id = tape_rows(&b->t, lists[k].f, DT_F64, e, 1, n, param);
	list_value(ball(b, id), b, lists[k].f, e, n, param);
	return compare(b, id, seed);
}

static bool add_scan(struct balls *b, int node, int seed, const sid *e, int len)
{
	bool sums = below(2), ok = true;
	tape_at(&b->t, node, sums ? OP_cumsum : OP_cumprod);
	sid id = tape_scan(&b->t, sums ? SF_CUMSUM : SF_CUMPROD, DT_F64, e, 1, len);
	for (int i = 0; i < len; i++)
		list_value(ball(b, id + (sid)i), b, sums ? SF_SUM : SF_PROD, e, i + 1, 0);
	for (int i = 0; i < len; i++)
		ok &= compare(b, id + (sid)i, seed);
	return ok;
}

static bool add_matmul(struct balls *b, int node, int seed, const sid *e, int len)
{
	tape_at(&b->t, node, OP_mm);
	sid id = tape_matmul(&b->t, DT_F64, e, e + len, 1, 1, len, 1);
	arb_zero(ball(b, id));
	for (int i = 0; i < len; i++)
		arb_addmul(ball(b, id), ball(b, e[i]), ball(b, e[len + i]), PREC);
	return compare(b, id, seed);
}

static void tape_in_balls(struct arena *arena, int seed)
{
	static struct balls b;
	struct licence_profile l;
	double data[8];
	state = mix64((uint64_t)seed);
	CHECK(profile_named(&l, "torch:eager@cpu"));
	tape_init(&b.t, arena, &l, TAPE_LIMITS_DEFAULT);
	for (int i = 0; i < 8; i++)
		data[i] = value(3);
	tape_at(&b.t, 0, OP_input);
	tape_load(&b.t, SF_LEAF, DT_F64, data, 8);
	for (int i = 0; i < MAX_BALLS; i++)
		arb_init(&b.v[i]);
	for (int i = 0; i < 9; i++)
		arb_set_d(&b.v[i], i ? data[i - 1] : 0);
	bool ok = true;
	for (int n = 1; n <= 40 && ok; n++) {
		int len = 1 + below(6);
		sid *e = tape_ids(&b.t, 2 * len + 3);
		for (int i = 0; i < 2 * len + 3; i++)
			e[i] = (sid)(1 + below((int)b.t.nscalar - 1));
		switch (below(8)) {
		case 0:
		case 1: ok = add_unary(&b, n, seed, e); break;
		case 2:
		case 3: ok = add_pair(&b, n, seed, e); break;
		case 4: ok = add_clamp(&b, n, seed, e); break;
		case 5: ok = add_list(&b, n, seed, e, len); break;
		case 6: ok = add_scan(&b, n, seed, e, len); break;
		default: ok = add_matmul(&b, n, seed, e, len); break;
		}
	}
	CHECK(b.t.nscalar <= MAX_BALLS);
	for (int i = 0; i < MAX_BALLS; i++)
		arb_clear(&b.v[i]);
}

static int ntapes = 1500;
static void test_tapes(void)
{
	struct arena a;
	arena_init(&a);
	for (int i = 0; i < ntapes; i++) {
		tape_in_balls(&a, i + 1);
		arena_reset(&a);
	}
	arena_free(&a);
}

/* No real numbers: names, comparisons and positions, which the adversarial executor has (oracle_rigor_test.c). */
static bool is_discrete(enum sf f)
{
	switch (f) {
	case SF_COPY:
	case SF_UNROUNDED:
	case SF_BITS:
	case SF_DETACH:
	case SF_GRAFT:
	case SF_ONEOF:
	case SF_CAST:
	case SF_NOT:
	case SF_EQ:
	case SF_NE:
	case SF_LT:
	case SF_LE:
	case SF_GT:
	case SF_GE:
	case SF_AND:
	case SF_OR:
	case SF_BIT_AND:
	case SF_BIT_OR:
	case SF_BIT_XOR:
	case SF_SELECT:
	case SF_KARGMAX:
	case SF_KARGMIN:
	case SF_ANY:
	case SF_ALL: return true;
	default: return false;
	}
}

static void every_function_was_compared(void)
{
	for (int f = 0; f < NSF; f++)
		EXPECT(compared[f] || sf_info[f].arity == 0 || is_discrete((enum sf)f),
			"%s of sf.def was never compared with Arb: add it to a table here", sf_name[f]);
}

int main(int argc, char **argv)
{
	ntapes = argc > 1 ? atoi(argv[1]) : ntapes;
	RUN(test_arithmetic);
	RUN(test_rounding);
	RUN(test_functions);
	RUN(test_formulas);
	RUN(test_rectangles);
	RUN(test_tapes);
	RUN(every_function_was_compared);
	flint_cleanup();
	return TEST_END();
}
