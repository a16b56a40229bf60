/* func_grad.c: derivatives of the scalar functions, in the forms that implementations use (radius), the real derivative at the
 * centre (truth). Subgradient conventions are stated in sf.def. */
#include "oracle/num/formula.h"
#include "oracle/num/func_impl.h"

static int not3(int t) { return t == -1 ? -1 : !t; }
static bool may_nan(const struct num *a) { return dtype_is_float((enum dtype)a->dtype) && a->flags & (NUM_NAN | NUM_ANY); }

/* ---- derivatives: what arrives at the operands for adjoint g of y; gx[k] is preset to NUM_ABSENT and may be left so ---- */
#define ADJ(id)                                                                                                                            \
	INLINE void g_##id(struct num *gx, const struct num *g, const struct num *y, const struct num *const *x, const struct how *h)
#define NOTHING ((void)gx, (void)g, (void)y, (void)x, (void)h)

INLINE struct num mul_only(const struct num *a, const struct num *b, const struct how *h)
{
	struct num r = num_mul(a, b);
	how_only(&r, h);
	return r;
}
INLINE struct num mul_last(const struct num *a, const struct num *b, const struct how *h)
{
	struct num r = num_mul(a, b);
	how_last(&r, h);
	return r;
}
INLINE struct num mul_step(const struct num *a, const struct num *b, const struct how *h)
{
	struct num r = num_mul(a, b);
	how_step(&r, h);
	return r;
}
INLINE struct num zero_of(const struct how *h) { return num_exact(h->dt, 0); }
/* g or 0, by a condition that may be undecided. */
static struct num gate(int t, const struct num *g, const struct how *h)
{
	struct num z = zero_of(h);
	if (t == 1)
		return *g;
	if (t == 0)
		return z;
	return num_either(g, &z);
}
static struct num half_of(const struct num *g, const struct how *h)
{
	struct num r = num_scale(*g, 0.5);
	how_only(&r, h);
	return r;
}

ADJ(COPY)
{
	NOTHING;
	gx[0] = *g;
}
ADJ(CAST)
{
	(void)y;
	enum dtype to = (enum dtype)x[0]->dtype;
	if (!dtype_is_float(to))
		return;
	(void)h;
	gx[0] = *g; /* whoever sends it converts it */
}
ADJ(NEG)
{
	NOTHING;
	gx[0] = num_neg(*g);
}
ADJ(ABS)
{
	(void)y;
	struct num s = num_each(x[0], each_sign, NULL);
	if (x[0]->flags & NUM_NAN) /* sign(NaN) is NaN in PyTorch's abs backward or 0: both are seen */
		s.flags |= NUM_NAN | NUM_UNDEC;
	gx[0] = mul_only(g, &s, h);
}
ADJ(GRAFT)
{
	NOTHING;
	gx[1] = *g;
}
ADJ(ZERO)
{
	NOTHING;
	gx[0] = zero_of(h);
}
ADJ(EXP)
{
	(void)x;
	gx[0] = mul_only(g, y, h);
}
ADJ(LOG)
{
	(void)y;
	gx[0] = div_of(g, x[0], &(struct how){.dt = h->dt, .l = h->l});
}
ADJ(LOG1P)
{
	(void)y;
	struct num one = num_exact(h->dt, 1), d = num_add(x[0], &one);
	how_step(&d, h);
	if (num_is_exact(x[0]) && x[0]->hi == -1)
		d.flags |= NUM_MOVED; /* -1 + 1 is +0 */
	struct num r = quotient(g, &d, h);
	how_last(&r, h);
	gx[0] = r;
}
ADJ(EXPM1)
{
	(void)x;
	struct num one = num_exact(h->dt, 1), d = num_add(y, &one);
	how_step(&d, h);
	gx[0] = mul_last(g, &d, h);
}
ADJ(SQRT)
{
	struct num d = num_scale(*y, 2);
	zero_sign(&d, x[0], x[0]->hi);
	gx[0] = div_of(g, &d, &(struct how){.dt = h->dt, .l = h->l});
}
ADJ(RSQRT)
{
	(void)x;
	struct num y2 = mul_step(y, y, h), y3 = mul_step(&y2, y, h), k = num_scale(*g, -0.5);
	how_step(&k, h); /* g / 2 may underflow to 0, which times infinity is NaN */
	gx[0] = mul_last(&k, &y3, h);
}
ADJ(RECIP)
{
	(void)x;
	struct num ng = num_neg(*g), y2 = mul_step(y, y, h);
	gx[0] = mul_last(&ng, &y2, h);
}
ADJ(SIN)
{
	(void)y;
	struct how in = {.dt = h->dt, .l = h->l};
	struct num c = cos_of(x[0], &in);
	gx[0] = mul_last(g, &c, h);
}
ADJ(COS)
{
	(void)y;
	struct num s = sin_of(x[0], h), n = num_neg(s);
	gx[0] = mul_last(g, &n, h);
}
INLINE struct num one_minus(const struct num *v, const struct how *h)
{
	struct num one = num_exact(h->dt, 1), r = num_sub(&one, v);
	how_step(&r, h);
	return r;
}
ADJ(TANH)
{
	(void)x;
	struct num y2 = mul_step(y, y, h), d = one_minus(&y2, h);
	gx[0] = mul_last(g, &d, h);
}
ADJ(SIGMOID)
{
	(void)x;
	struct num d = one_minus(y, h), e = mul_step(&d, g, h);
	gx[0] = mul_last(&e, y, h);
}
ADJ(RELU)
{
	(void)x;
	struct num zero = zero_of(h);
	int t = num_lt(&zero, y);
	if (y->flags & NUM_NAN)
		t = y->flags & NUM_NOFIN ? 1 : -1; /* NaN <= 0 is false: g passes */
	gx[0] = gate(t, g, h);
}
ADJ(ADD)
{
	NOTHING;
	gx[0] = gx[1] = *g;
}
ADJ(SUB)
{
	NOTHING;
	gx[0] = *g;
	gx[1] = num_neg(*g);
}
ADJ(MUL)
{
	(void)y;
	gx[0] = mul_only(g, x[1], h);
	gx[1] = mul_only(g, x[0], h);
}
ADJ(DIV)
{
	(void)y;
	gx[0] = div_of(g, x[1], h);
	if (h->constant_b)
		return;
	struct num q = quotient(x[0], x[1], h);
	how_step(&q, h);
	struct num q2 = quotient(&q, x[1], h), ng = num_neg(*g);
	how_step(&q2, h);
	struct num r = num_mul(&ng, &q2);
	how_last(&r, h);
	gx[1] = r;
}
/* Overflow on the way is optional: the power may be taken in the compute type. */
static struct num power_step(const struct num *a, const struct num *b,
	struct num (*power)(const struct num *, const struct num *, const struct how *), const struct how *h)
{
	struct lic_rule wide = *h->l;
	wide.flags |= LF_WIDE;
	const struct how inside = {.dt = h->l->flags & LF_STEPS ? h->dt : dtype_compute(h->dt), .l = &wide};
	struct num p = power(a, b, &inside);
	if (h->l->flags & LF_STEPS)
		how_step(&p, h);
	return p;
}
ADJ(POW)
{
	(void)y;
	double b = x[1]->hi;
	if (b == 0) {
		gx[0] = zero_of(h);
		return;
	}
	if (b == 1) {
		gx[0] = *g;
		return;
	}
	/* g * (b * a^(b - 1)): b - 1 is formed in f64 and then an exponent like any other; as a factor b has the compute type. */
	struct num e = num_exact(DT_F64, b - 1), k = num_exact(h->dt, num_rn(dtype_compute(h->dt), b, 0));
	const struct num p = power_step(x[0], &e, pow_of, h);
	struct num m = num_mul(&k, &p);
	how_step(&m, h);
	gx[0] = mul_last(g, &m, h);
}
ADJ(RAISE)
{
	const struct how in = {.dt = h->dt, .l = h->l};
	const struct num zero = zero_of(h), one = num_exact(h->dt, 1);
	struct num e = num_sub(x[1], &one);
	how_step(&e, h);
	const struct num p = power_step(x[0], &e, raise_of, h), slope = mul_step(x[1], &p, h), all = mul_last(g, &slope, h);
	gx[0] = gate(not3(num_eq(x[1], &zero)), &all, h);
	const int is_0 = num_eq(x[0], &zero), not_below = num_le(&zero, x[1]);
	const struct num l = log_of(x[0], &in), m = mul_step(y, &l, h);
	const struct num by = is_0 == 0 || not_below == 0 ? m : is_0 == 1 && not_below == 1 ? zero : num_either(&m, &zero);
	gx[1] = mul_last(g, &by, h);
}
static void adj_left(struct num *gx, const struct num *g, const struct num *const *x, bool floored, const struct how *h)
{
	const struct num q = whole_quotient(x[0], x[1], floored, &(struct how){.dt = h->dt, .l = h->l}), minus = num_neg(*g);
	gx[0] = *g;
	gx[1] = mul_last(&minus, &q, h);
}
ADJ(FMOD)
{
	(void)y;
	adj_left(gx, g, x, false, h);
}
ADJ(REMAINDER)
{
	(void)y;
	adj_left(gx, g, x, true, h);
}
ADJ(FLOOR_DIV)
{
	NOTHING;
	gx[0] = gx[1] = zero_of(h);
}
#define g_TRUNC_DIV g_FLOOR_DIV
ADJ(ATAN2)
{
	(void)y;
	struct num y2 = mul_step(x[0], x[0], h), x2 = mul_step(x[1], x[1], h), one = num_exact(h->dt, 1), sum = num_add(&y2, &x2);
	how_step(&sum, h);
	if (h->dt == DT_F64 && num_mag(x[0]) < 0x1p-538 && num_mag(x[1]) < 0x1p-538 && !((x[0]->flags | x[1]->flags) & NUM_SPECIAL))
		sum = zero_of(h);                   /* squares that are less than half of the smallest number */
	struct num r = quotient(&one, &sum, h); /* the 0 of a sum that may be 0 is inside */
	how_step(&r, h);
	if (sum.hi == 0 && sum.rad == 0 && !(sum.flags & (NUM_NOFIN | NUM_ANY))) { /* 0, or a NaN where an operand may be one */
		r = zero_of(h);
		r.flags |= sum.flags & NUM_NAN;
	}
	struct num minus = num_neg(*x[0]), gx0 = mul_step(g, x[1], h), gx1 = mul_step(g, &minus, h);
	gx[0] = mul_last(&gx0, &r, h);
	gx[1] = mul_last(&gx1, &r, h);
}
static void adj_extreme(struct num *gx, const struct num *g, const struct num *a, const struct num *b, const struct how *h)
{
	int eq = num_eq(a, b), lt = num_lt(a, b);
	struct num half = half_of(g, h), z = zero_of(h);
	if (sure_nan(a) || sure_nan(b)) {
		gx[0] = gx[1] = *g; /* masked_fill(a < b) and (b < a): neither holds */
	} else if (may_nan(a) || may_nan(b)) {
		gx[0] = gx[1] = num_either(g, &z);
	} else if (eq == 1) {
		gx[0] = gx[1] = half;
	} else if (eq == 0 && lt != -1) {
		gx[0] = lt ? z : *g;
		gx[1] = lt ? *g : z;
	} else {
		gx[0] = gate(-1, g, h);
		gx[1] = gx[0];
	}
}
ADJ(MAX2)
{
	(void)y;
	adj_extreme(gx, g, x[0], x[1], h);
}
ADJ(MIN2)
{
	(void)y;
	adj_extreme(gx, g, x[1], x[0], h);
} /* the smaller of (a, b) is where max of (b, a) sends nothing */
ADJ(SELECT)
{
	(void)y;
	int t = num_truth(x[0]);
	gx[1] = gate(t, g, h);
	gx[2] = gate(not3(t), g, h);
}
/* g where both bounds hold. An absent bound, which is the operand itself, holds for all but NaN. */
ADJ(CLAMP)
{
	(void)y;
	bool lower = x[1] != x[0], upper = x[2] != x[0];
	int low = lower ? num_le(x[1], x[0]) : 1, high = upper ? num_le(x[0], x[2]) : 1;
	int t = low == 0 || high == 0 ? 0 : low == 1 && high == 1 ? 1 : -1;
	if (h->semantics->clamp_gradient != CLAMP_PASSES) {
		int above = lower ? num_lt(x[1], x[0]) : 1, below = upper ? num_lt(x[0], x[2]) : 1;
		int open = above == 0 || below == 0 ? 0 : above == 1 && below == 1 ? 1 : -1;
		t = h->semantics->clamp_gradient == CLAMP_PASSES_EITHER && open != t ? -1 : open;
	}
	if (sure_nan(x[0]))
		t = 0; /* no comparison holds */
	else if (may_nan(x[0]))
		t = t == 0 ? 0 : -1;
	gx[0] = gate(t, g, h);
}

/* ---- blocks: one loop per function, the function inside it ---- */
#define g_FLOOR g_ZERO
#define g_CEIL  g_ZERO
#define g_TRUNC g_ZERO
#define g_ROUND g_ZERO
#define g_SIGN  g_ZERO
#define LOOP(id, arity, ...)                                                                                                               \
	static void b_##id(struct num(*restrict gx)[3], const struct num *g, const struct num *y, const struct num *v, const sid *const op[3], \
		int64_t n, const struct how *h)                                                                                                    \
	{                                                                                                                                      \
		for (int64_t i = 0; i < n; i++) {                                                                                                  \
			const struct num *const x[] = {__VA_ARGS__};                                                                                   \
			for (int k = 0; k < arity; k++)                                                                                                \
				gx[i][k].flags = NUM_ABSENT;                                                                                               \
			g_##id(gx[i], &g[i], &y[i], x, h);                                                                                             \
		}                                                                                                                                  \
	}
#define LOOP_0(id)
#define LOOP_1(id) LOOP(id, 1, &v[op[0][i]])
#define LOOP_2(id) LOOP(id, 2, &v[op[0][i]], &v[op[1][i]])
#define LOOP_3(id) LOOP(id, 3, &v[op[0][i]], &v[op[1][i]], &v[op[2][i]])
#define LOOP_N(id)
#define LOOP_R(id)
#define LOOP_M(id)
/* What has no derivative. */
ADJ(NONE) { NOTHING; }
#define g_DETACH    g_NONE
#define g_BITS      g_NONE
#define g_UNROUNDED g_COPY
#define g_NOT       g_NONE
#define g_EQ        g_NONE
#define g_NE        g_NONE
#define g_LT        g_NONE
#define g_LE        g_NONE
#define g_GT        g_NONE
#define g_GE        g_NONE
#define g_AND       g_NONE
#define g_OR        g_NONE
#define g_BIT_AND   g_NONE
#define g_BIT_OR    g_NONE
#define g_BIT_XOR   g_NONE
#define STEPS(id)                                                                                                                          \
	static void b_##id(struct num(*restrict gx)[3], const struct num *g, const struct num *y, const struct num *v, const sid *const op[3], \
		int64_t n, const struct how *h)                                                                                                    \
	{                                                                                                                                      \
		formula_adjoints(SF_##id, gx, g, y, v, op, n, h);                                                                                  \
	}
#define STEPS_1(id) STEPS(id)
#define STEPS_2(id) STEPS(id)
#define STEPS_3(id) STEPS(id)
#define STEPS_R1(id)
#define STEPS_R2(id)
#define STEPS_R3(id)
#define LIBM(id, function, arb, shape, near, what, derivative) STEPS(id)
#define LIBM2(id, function, arb, what, ...)                    STEPS(id)
#define FORMULA(id, arity, what, value, ...)                   STEPS_##arity(id)
#define SF(id, arity, what)                                    LOOP_##arity(id)
#include "oracle/num/sf.def"

#define ROW_0(id)  NULL
#define ROW_1(id)  b_##id
#define ROW_2(id)  b_##id
#define ROW_3(id)  b_##id
#define ROW_N(id)  NULL
#define ROW_R(id)  NULL
#define ROW_M(id)  NULL
#define ROW_R1(id) NULL
#define ROW_R2(id) NULL
#define ROW_R3(id) NULL
sf_adj_fn *const sf_adj[NSF] = {
#define SF(id, arity, what) [SF_##id] = ROW_##arity(id),
#include "oracle/num/sf.def"
};
