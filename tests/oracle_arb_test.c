/* oracle_arb_test.c: the arithmetic of enclosures against Arb balls (FLINT/Arb, Johansson 2017), which are rigorous.
 *
 * For random centres and radii each function's set must contain Arb's image of the input ball (up to what Arb itself cannot
 * tell), must not be much wider, and double-double centres must be as accurate as num.h says. Random expression tapes are then
 * evaluated in balls: the real value of every scalar lies inside the reference's set. */
#include "oracle/func.h"
#include "tests/test.h"

#include <arb.h>
#include <stdlib.h>

static uint64_t state = 7;
static uint64_t draw(void) { return mix64(state += 0x9e3779b97f4a7c15u); }
static int below(int n) { return (int)(draw() % (uint64_t)n); }
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }
enum { PREC = 300 };

static double value(int span)
{
	double x = ldexp(0.5 + unit() / 2, below(2 * span + 1) - span);
	return below(2) ? x : -x;
}

/* A set with one finite part: exact, rounded, or with a double-double centre. */
static struct num number(int span)
{
	struct num r = num_exact(DT_F64, value(span));
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
	arb_clear(d);
}

/* Every point of the (tiny) ball x is in the set. */
static bool holds(const struct num *a, const arb_t x)
{
	if (a->flags & (NUM_ANY | NUM_NOFIN))
		return true;
	arb_t d, r;
	arb_init(d);
	arb_init(r);
	point_of(d, a, 0);
	arb_sub(d, d, x, PREC);
	arb_abs(d, d);
	arb_set_d(r, a->rad);
	bool ok = arb_le(d, r);
	arb_clear(d);
	arb_clear(r);
	return ok;
}

typedef void arb_fn(arb_t y, const arb_t x, slong prec);
static void arb_recip(arb_t y, const arb_t x, slong prec) { arb_inv(y, x, prec); }
static void arb_sigmoid_(arb_t y, const arb_t x, slong prec)
{
	arb_neg(y, x);
	arb_exp(y, y, prec);
	arb_add_ui(y, y, 1, prec);
	arb_inv(y, y, prec);
}

/* narrow: as computed where the licence says f32, but with nothing added for a library's error and with the result in f64, so that
 * no rounding hides a bound that is too small. */
static void unary_in(const char *name, enum sf f, arb_fn *g, int span, bool positive, bool narrow)
{
	struct licence_profile l;
	licence_resolve(&l, LT_BUILTIN, LD_CPU);
	struct lic_rule rule = l.rule[LC_ARITH][DT_F64];
	rule.flags &= ~(unsigned)LF_IEEE;               /* the real value, not the rounded one */
	if (narrow) {
		rule.compute = DT_F32;
		rule.ulp = 0;
	}
	struct how h = {DT_F64, &rule, false};
	static const sid at[1] = {0};
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
			EXPECT(holds(&r, y), "%s of %.17g + %.3g +- %.3g at %d: %.17g +- %.3g, flags %d", name, a.hi, a.lo, a.rad, k, r.hi, r.rad, r.flags);
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
	EXPECT(judged > 1000, "%s: only %d judged", name, judged);
	bool bends = f == SF_SIN || f == SF_COS;        /* between the ends they may turn around */
	EXPECT(bends || narrow || worst < 1.5, "%s: radius %.2f times what is needed", name, worst);
	arb_clear(x);
	arb_clear(y);
	arb_clear(low);
	arb_clear(high);
}

static void unary(const char *name, enum sf f, arb_fn *g, int span, bool positive)
{
	unary_in(name, f, g, span, positive, false);
	unary_in(name, f, g, span, positive, true);
}

static void test_functions(void)
{
	unary("exp", SF_EXP, arb_exp, 8, false);
	unary("log", SF_LOG, arb_log, 200, true);
	unary("log1p", SF_LOG1P, arb_log1p, 30, true);
	unary("expm1", SF_EXPM1, arb_expm1, 8, false);
	unary("sin", SF_SIN, arb_sin, 20, false);
	unary("cos", SF_COS, arb_cos, 20, false);
	unary("tanh", SF_TANH, arb_tanh, 4, false);
	unary("sigmoid", SF_SIGMOID, arb_sigmoid_, 6, false);
	unary("sqrt", SF_SQRT, arb_sqrt, 300, true);
	unary("rsqrt", SF_RSQRT, arb_rsqrt, 300, true);
	unary("recip", SF_RECIP, arb_recip, 300, false);
}

/* Unrounded sets: add, mul, div contain the results of the ends; centres are within the stated relative errors. */
static void test_arithmetic(void)
{
	arb_t x, y, z;
	arb_init(x);
	arb_init(y);
	arb_init(z);
	for (int i = 0; i < 10000; i++) {
		struct num a = number(60), b = number(60), r;
		int op = below(3);
		if (below(2))
			a.rad = b.rad = 0;
		r = op == 0 ? num_add(&a, &b) : op == 1 ? num_mul(&a, &b) : num_div(&a, &b);
		for (int k = 0; k < 4; k++) {
			point_of(x, &a, k & 1 ? 1 : -1);
			point_of(y, &b, k & 2 ? 1 : -1);
			if (op == 0)
				arb_add(z, x, y, PREC);
			else if (op == 1)
				arb_mul(z, x, y, PREC);
			else
				arb_div(z, x, y, PREC);
			if (!arb_is_finite(z) || r.flags & NUM_SPECIAL)
				continue;
			struct num s = r;               /* num.h: the centre's own error; num_round adds it */
			s.rad = s.rad * (1 + 0x1p-50) + fabs(r.hi) * 0x1p-97;
			EXPECT(holds(&s, z), "op %d: %.17g +- %g, %.17g +- %g: %.17g + %g +- %g", op, a.hi, a.rad, b.hi, b.rad, r.hi, r.lo, r.rad);
		}
	}
	arb_clear(x);
	arb_clear(y);
	arb_clear(z);
}

/* num_round: the rounded value of every point is inside the set, in every format. */
static void test_rounding(void)
{
	static const enum dtype dts[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
	for (int i = 0; i < 40000; i++) {
		enum dtype dt = dts[below(4)];
		struct num a = number(dt == DT_F16 ? 20 : dt == DT_F64 ? 1000 : 140), r = a;
		num_round(&r, dt, below(2) ? NR_IEEE : 0);
		for (int k = -1; k <= 1; k++) {
			struct dd q = dd_add(dd_two_sum(a.hi, k * a.rad), (struct dd){a.lo, 0});
			double p = q.hi, got = num_rn(dt, q.hi, q.lo);
			if (isfinite(p))
				EXPECT(num_has(&r, got), "%s: %.17g from %.17g +- %.3g: set %.17g + %.3g +- %.3g flags %d", dtype_info[dt].name, got, a.hi, a.rad,
					r.hi, r.lo, r.rad, r.flags);
		}
		if (num_is_exact(&r))
			EXPECT(num_fits(dt, r.hi, r.lo), "exact but no number of %s: %.17g", dtype_info[dt].name, r.hi);
	}
}

/* ---- random tapes in real arithmetic ---- */
static void tape_in_balls(struct arena *arena, int seed)
{
	struct licence_profile l;
	struct tape t;
	double data[8];
	static arb_struct v[200];
	state = mix64((uint64_t)seed);
	licence_resolve(&l, LT_TORCH_EAGER, LD_CPU);
	tape_init(&t, arena, &l, TAPE_LIMITS_DEFAULT);
	for (int i = 0; i < 8; i++)
		data[i] = value(3);
	tape_at(&t, 0, OP_input);
	tape_load(&t, SF_LEAF, DT_F64, data, 8);
	for (int i = 0; i < 200; i++)
		arb_init(&v[i]);
	for (int i = 0; i < 9; i++)
		arb_set_d(&v[i], i ? data[i - 1] : 0);
	static const struct { enum sf f; int op; arb_fn *g; } fn[] = {{SF_EXP, OP_exp, arb_exp}, {SF_SIN, OP_sin, arb_sin}, {SF_COS, OP_cos, arb_cos},
		{SF_TANH, OP_tanh, arb_tanh}, {SF_SIGMOID, OP_sigmoid, arb_sigmoid_}, {SF_RECIP, OP_reciprocal, arb_recip}};
	for (int n = 0; n < 40; n++) {
		int kind = below(5), len = 1 + below(6);
		sid *e = tape_ids(&t, 2 * len), id;
		for (int i = 0; i < 2 * len; i++)
			e[i] = (sid)(1 + below((int)t.nscalar - 1));
		arb_struct *y = &v[t.nscalar];
		arb_zero(y);
		if (kind == 0) {
			int k = below(ARRAY_LEN(fn));
			tape_at(&t, n + 1, fn[k].op);
			id = tape_map1(&t, fn[k].f, DT_F64, e, 1);
			fn[k].g(y, &v[e[0]], PREC);
		} else if (kind == 1) {
			tape_at(&t, n + 1, OP_sum);
			id = tape_rows(&t, SF_SUM, DT_F64, e, 1, len, 0);
			for (int i = 0; i < len; i++)
				arb_add(y, y, &v[e[i]], PREC);
		} else if (kind == 2) {
			tape_at(&t, n + 1, OP_mm);
			id = tape_rows(&t, SF_SUMPROD, DT_F64, e, 1, 2 * len, 0);
			for (int i = 0; i < len; i++)
				arb_addmul(y, &v[e[2 * i]], &v[e[2 * i + 1]], PREC);
		} else {
			enum sf f = kind == 3 ? SF_MUL : SF_DIV;
			tape_at(&t, n + 1, kind == 3 ? OP_mul_Tensor : OP_div_Tensor);
			id = tape_map2(&t, f, DT_F64, e, e + 1, 1);
			if (kind == 3)
				arb_mul(y, &v[e[0]], &v[e[1]], PREC);
			else
				arb_div(y, &v[e[0]], &v[e[1]], PREC);
		}
		const struct num *r = tape_val(&t, id);
		/* Exact answers of correctly rounded operations (NR_IEEE) are the rounded ones: follow them. */
		if (num_is_exact(r) && !(r->flags & NUM_SPECIAL)) {
			if (arb_is_finite(y))
				EXPECT(fabs(arf_get_d(arb_midref(y), ARF_RND_NEAR) - r->hi) <= 2 * num_half_ulp(&num_format[DT_F64], fabs(r->hi)), "rounded");
			arb_set_d(y, r->hi);
		} else if (r->flags & NUM_SPECIAL || !arb_is_finite(y)) {
			break;
		} else {
			EXPECT(holds(r, y), "tape %d scalar %u: %.17g + %.3g +- %.3g", seed, id, r->hi, r->lo, r->rad);
		}
	}
	for (int i = 0; i < 200; i++)
		arb_clear(&v[i]);
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

int main(int argc, char **argv)
{
	ntapes = argc > 1 ? atoi(argv[1]) : ntapes;
	RUN(test_arithmetic);
	RUN(test_rounding);
	RUN(test_functions);
	RUN(test_tapes);
	flint_cleanup();
	return TEST_END();
}
