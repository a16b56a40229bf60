/* oracle_rigor_test.c: an adversarial executor. Random tapes are evaluated, forward and backward, in the tensor's own arithmetic with every
 * liberty that the licence grants taken at random: order and shape of sums, FMA, f16/bf16 kept in f32, library functions off by
 * their budget, composites decomposed. Every value and every gradient must lie inside the reference's sets.
 *
 *   oracle_rigor_test [tapes per profile and dtype] [seed]
 *
 * This finds mistakes in the arithmetic; it cannot find missing licences (soaks on the targets do). */
#include "oracle/tape/adjoint.h"
#include "oracle/tape/tape_impl.h"
#include "tests/test.h"
#include "tests/unit/formula_drawn.h"
#include "fuzz/triage/profile.h"
#include "generated/op_id.h"

#include <stdlib.h>

static uint64_t state;
static uint64_t draw(void) { return mix64(state += 0x9e3779b97f4a7c15u); }
static int below(int n) { return (int)(draw() % (uint64_t)n); }
static bool chance(int percent) { return below(100) < percent; }
static double unit(void) { return (double)(draw() >> 11) * 0x1p-53; }

/* ---- one tape ---- */
enum { MAX_BLOCKS = 24, MAX_SCALARS = 600 };
struct exec {
	struct tape t;
	struct adjoint A;
	enum dtype base, dt; /* of the tape's leaves; of the block in hand */
	double v[MAX_SCALARS], g[MAX_SCALARS], part[MAX_SCALARS];
	bool have[MAX_SCALARS], touched[MAX_SCALARS];
	int chosen[MAX_SCALARS];  /* ONEOF: which entry forward took */
	const struct lic_rule *l; /* of the block in hand */
};

/* Eager's operators store what they return, whatever they compute in. */
static bool wide(const struct exec *e)
{
	unsigned kept = e->l->flags & e->t.lic->rule[LC_MOVE][e->dt].flags & LF_WIDE;
	return kept && e->dt != DT_F32 && e->dt != DT_F64 && chance(50);
}
static double inner(const struct exec *e, double x) { return num_rn(e->l->compute, x, 0); }
static double rn(const struct exec *e, double x) { return num_rn(e->dt, x, 0); }
/* The end of one operator: rounded to the dtype, or (licence) kept. */
static double out(const struct exec *e, double x) { return wide(e) ? inner(e, x) : rn(e, inner(e, x)); }
/* A step inside a derivative's formula. */
static double step(const struct exec *e, double x) { return e->l->flags & LF_STEPS && chance(70) ? out(e, x) : inner(e, x); }
static double acc(const struct exec *e, double x) { return num_rn(e->l->acc, x, 0); }

/* A scan carries what its accumulation type holds, or a half in f32 (licence). */
static double scan_step(const struct exec *e, double x) { return wide(e) ? inner(e, x) : acc(e, x); }

/* A library function: at most `ulp` units of the compute type away. */
static double lib(const struct exec *e, long double y)
{
	enum dtype c = e->l->compute;
	double d = (double)y;
	if (!isfinite(d) || d == 0 || fabs(d) == 1 || d == 0.5)
		return num_rn(c, d, 0);
	d = num_rn(c, d, 0);
	double ulp = 2 * num_half_ulp(&num_format[c], fabs(d)), sign = d;
	if (isfinite(d) && chance(40))
		d += (chance(50) ? 1 : -1) * ulp; /* with the rounding above within 1.5 of a budget of 2 */
	if ((d < 0) != (sign < 0))
		d = 0; /* no exp is below 0 */
	return num_rn(c, d, 0);
}

static double fn_exp(const struct exec *e, double x) { return lib(e, expl((long double)x)); }

static double sigmoid_of(const struct exec *e, double x)
{
	if (x == 0)
		return 0.5;
	if (chance(50))
		return lib(e, x >= 0 ? 1 / (1 + expl(-(long double)x)) : expl((long double)x) / (1 + expl((long double)x)));
	return inner(e, 1 / inner(e, 1 + fn_exp(e, -x)));
}

static double tanh_of(const struct exec *e, double x)
{
	if (!(e->l->flags & LF_TANH) || chance(50) || x == 0)
		return lib(e, tanhl((long double)x));
	return inner(e, inner(e, 2 / inner(e, 1 + fn_exp(e, inner(e, -2 * x)))) - 1);
}

static double expm1_of(const struct exec *e, double x)
{
	if (!(e->l->flags & LF_DECOMP) || chance(50) || x == 0)
		return lib(e, expm1l((long double)x));
	return inner(e, fn_exp(e, x) - 1);
}

static double div_const(const struct exec *e, double a, double b, bool constant)
{
	if (e->l->flags & LF_RECIP && constant && chance(50))
		return inner(e, a * inner(e, 1 / b));
	return inner(e, a / b);
}

static double maxnan(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }
static double minnan(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }

/* ---- sums in any order and tree ---- */
static void shuffle(double *x, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = below(i + 1);
		double t = x[i];
		x[i] = x[j];
		x[j] = t;
	}
}

static double tree_sum(const struct exec *e, double *x, int n)
{
	if (n == 0)
		return 0;
	shuffle(x, n);
	while (n > 1) { /* adds two at random places: every tree has a chance; often a chain */
		int j = chance(60) ? 0 : below(n - 1);
		x[j] = acc(e, x[j] + x[n - 1]);
		n--;
	}
	return x[0];
}

static double dot(const struct exec *e, const double *a, const double *b, int n)
{
	double s = 0;
	bool fused = chance(50);
	if (n == 1)
		return acc(e, a[0] * b[0]);
	for (int i = 0; i < n; i++)
		s = fused ? acc(e, fma(a[i], b[i], s)) : acc(e, s + acc(e, a[i] * b[i]));
	return s;
}

/* ---- forward ---- */
/* f64 to a half may go through f32, which rounds twice. */
static double cast_to(const struct exec *e, enum dtype to, double x)
{
	if (!dtype_is_float(to))
		return x != 0;
	return num_rn(to, e->base == DT_F64 && num_format[to].p < 24 && chance(50) ? num_rn(DT_F32, x, 0) : x, 0);
}

static double eval_map(const struct exec *e, const struct tape_block *b, const double *x)
{
	bool c = b->param != 0;
	double r;
	switch (b->f) {
	case SF_COPY: return x[0];
	case SF_UNROUNDED: return x[0] * (1 + (e->base == DT_F64 ? 0x1p-53 : 0x1p-24) * (2 * chance(50) - 1));
	case SF_NEG: return -x[0];
	case SF_ABS: return fabs(x[0]);
	case SF_EXP: r = fn_exp(e, x[0]); break;
	case SF_LOG: r = lib(e, logl((long double)x[0])); break;
	case SF_LOG1P: r = lib(e, log1pl((long double)x[0])); break;
	case SF_EXPM1: r = expm1_of(e, x[0]); break;
	case SF_SQRT: r = inner(e, sqrt(x[0])); break;
	case SF_RSQRT: r = inner(e, 1 / inner(e, sqrt(x[0]))); break;
	case SF_RECIP: r = inner(e, 1 / x[0]); break;
	case SF_SIN: r = isinf(x[0]) ? NAN : lib(e, sinl((long double)x[0])); break;
	case SF_COS: r = isinf(x[0]) ? NAN : lib(e, cosl((long double)x[0])); break;
	case SF_TANH: r = tanh_of(e, x[0]); break;
	case SF_SIGMOID: r = sigmoid_of(e, x[0]); break;
	case SF_RELU: return x[0] > 0 || isnan(x[0]) ? x[0] : 0;
	case SF_ADD: r = x[0] + x[1]; break;
	case SF_SUB: r = x[0] - x[1]; break;
	case SF_MUL: r = x[0] * x[1]; break;
	case SF_DIV: r = div_const(e, x[0], x[1], c); break;
	case SF_POW:
		if (x[1] == 0 || x[1] == 1)
			return x[1] == 0 ? 1 : x[0];
		r = x[1] == 2 ? x[0] * x[0] : lib(e, powl((long double)x[0], (long double)x[1]));
		break;
	case SF_RAISE: r = lib(e, powl((long double)x[0], (long double)x[1])); break;
	case SF_FMOD: r = fmod(x[0], x[1]); break;
	case SF_REMAINDER:
		r = fmod(x[0], x[1]);
		r += r != 0 && (r < 0) != (x[1] < 0) ? x[1] : 0;
		break;
	case SF_FLOOR_DIV: r = floor(div_const(e, x[0], x[1], c)); break;
	case SF_TRUNC_DIV: r = trunc(div_const(e, x[0], x[1], c)); break;
	case SF_ATAN2: r = lib(e, atan2l((long double)x[0], (long double)x[1])); break;
	case SF_MAX2: return maxnan(x[0], x[1]);
	case SF_MIN2: return minnan(x[0], x[1]);
	case SF_FLOOR: return floor(x[0]);
	case SF_CEIL: return ceil(x[0]);
	case SF_TRUNC: return trunc(x[0]);
	case SF_ROUND: return rint(x[0]);
	case SF_SIGN: return (x[0] > 0) - (x[0] < 0);
	case SF_CLAMP: return isnan(x[0]) ? NAN : fmin(fmax(x[0], x[1]), x[2]);
	case SF_DETACH:
	case SF_GRAFT: return x[0];
	case SF_SELECT: return x[0] != 0 ? x[1] : x[2];
	case SF_NOT: return x[0] == 0;
	case SF_EQ: return x[0] == x[1];
	case SF_NE: return x[0] != x[1];
	case SF_LT: return x[0] < x[1];
	case SF_LE: return x[0] <= x[1];
	case SF_GT: return x[0] > x[1];
	case SF_GE: return x[0] >= x[1];
	case SF_AND: return x[0] != 0 && x[1] != 0;
	case SF_OR: return x[0] != 0 || x[1] != 0;
	case SF_BIT_AND: return (int)x[0] & (int)x[1];
	case SF_BIT_OR: return (int)x[0] | (int)x[1];
	case SF_BIT_XOR: return (int)x[0] ^ (int)x[1];
	case SF_CAST: return cast_to(e, b->dt, x[0]);
	default:
		if (formula_of[b->f].libm2) {
			r = lib(e, formula_of[b->f].libm2((long double)x[0], (long double)x[1]));
			break;
		}
		CHECK(formula_of[b->f].libm);
		r = isinf(x[0]) ? (double)formula_of[b->f].libm(x[0]) : lib(e, formula_of[b->f].libm((long double)x[0]));
	}
	return out(e, r);
}

/* The sum of squares about the mean. */
static double squares(const struct exec *e, const double *entry, int n)
{
	double m = 0, q = 0, x[64], z[64];
	for (int i = 0; i < n; i++) /* those of UNROUNDED are no numbers of the type computed in */
		x[i] = inner(e, entry[i]);
	if (chance(50)) { /* two passes */
		memcpy(z, x, sizeof *x * (size_t)n);
		m = acc(e, tree_sum(e, z, n) / n);
		for (int i = 0; i < n; i++)
			z[i] = acc(e, acc(e, x[i] - m) * acc(e, x[i] - m));
		return tree_sum(e, z, n);
	}
	for (int i = 0; i < n; i++) { /* Welford */
		double d = acc(e, x[i] - m);
		m = acc(e, m + acc(e, d / (i + 1)));
		q = acc(e, q + acc(e, d * acc(e, x[i] - m)));
	}
	return q;
}

/* ---- rows of formula.def: steps ---- */
static double drawn_step(void *exec, double x, bool kernel) { return kernel ? inner(exec, x) : step(exec, x); }
static double drawn_result(void *exec, double x) { return out(exec, inner(exec, x)); }
static double in_row(struct exec *e, const double *x, int n, double (*f)(struct exec *e, const double *x, int n))
{
	struct lic_rule rule = *e->l;
	const struct lic_rule *was = e->l;
	rule.acc = formula_acc(was);
	e->l = &rule;
	double y = f(e, x, n);
	e->l = was;
	return y;
}
static double sum_in_row(struct exec *e, const double *x, int n)
{
	double copy[DRAWN_ROW];
	memcpy(copy, x, sizeof *x * (size_t)n);
	return tree_sum(e, copy, n);
}
static double var_in_row(struct exec *e, const double *x, int n) { return inner(e, inner(e, squares(e, x, n) / n)); }
static double drawn_sum(void *exec, double *x, int n) { return in_row(exec, x, n, sum_in_row); }
static double drawn_var(void *exec, const double *x, int n) { return in_row(exec, x, n, var_in_row); }
static bool drawn_coin(void) { return chance(30); }
/* Inside a formula, in the type computed in. */
static double drawn_call(void *exec, enum sf f, double x)
{
	struct exec *e = exec;
	enum dtype dt = e->dt;
	e->dt = e->l->compute;
	double y = eval_map(e, &(struct tape_block){.f = f, .dt = e->dt}, &x);
	e->dt = dt;
	return y;
}

static bool is_formula(enum sf f) { return formula_of[f].derivative[0] != NULL; }

/* Row `row` of a block (all of it, if its formula goes element by element) by its value's steps (k: -1) or derivative k. */
static bool draw_row(struct exec *e, double *to, const struct tape_block *b, int64_t row, int k)
{
	const struct drawn d = {e, drawn_step, drawn_result, drawn_call, drawn_sum, drawn_var, drawn_coin, e->l->flags};
	const sid *op[3] = {b->a, b->b, b->c};
	bool maps = sf_info[b->f].arity > 0;
	int64_t width = maps ? b->n : b->n / b->dim[0];
	struct formula_text s;
	struct drawn_row r = {
		.n = (int)(maps ? b->n : b->len), .g = e->g + b->first + row * width, .y = e->v + b->first + row * width, .scalar = b->scalar};
	formula_parse(&s, b->f, k);
	for (int q = 0; q < sf_operands(b->f); q++)
		for (int i = 0; i < r.n; i++)
			r.op[q][i] = e->v[op[q][row * b->len + i]];
	return formula_drawn(to, &d, &s, &r);
}

static void forward_formula(struct exec *e, const struct tape_block *b)
{
	double y[DRAWN_ROW];
	int64_t rows = sf_info[b->f].arity > 0 ? 1 : b->dim[0], width = b->n / rows;
	for (int64_t row = 0; row < rows; row++) {
		draw_row(e, y, b, row, -1);
		memcpy(e->v + b->first + row * width, y, sizeof *y * (size_t)width);
	}
}

/* The position of the k-th largest (sign 1) or smallest entry, NaN first; any of equals, with PICK_FIRST the first. */
static int kth_place(const double *x, int n, int param, int sign)
{
	int place[64], nplace = 0, k = MAX(param, 0);
	for (int i = 0; i < n; i++) {
		int before = 0, equal = 0;
		for (int j = 0; j < n; j++) {
			before += isnan(x[j]) ? !isnan(x[i]) : !isnan(x[i]) && sign * x[j] > sign * x[i];
			equal += isnan(x[j]) ? isnan(x[i]) : x[j] == x[i];
		}
		if (before <= k && k < before + equal)
			place[nplace++] = i;
	}
	return place[param == PICK_FIRST ? 0 : below(nplace)];
}

static double eval_list(struct exec *e, const struct tape_block *b, sid at, const sid *id, int n)
{
	double x[64] = {0}, y[64], s;
	for (int i = 0; i < n; i++)
		x[i] = e->v[id[i]];
	switch (b->f) {
	case SF_SUM: return n == 1 ? out(e, x[0]) : out(e, tree_sum(e, x, n));
	case SF_SUMPROD:
		for (int i = 0; i < n / 2; i++) {
			x[i] = e->v[id[2 * i]];
			y[i] = e->v[id[2 * i + 1]];
		}
		return out(e, dot(e, x, y, n / 2));
	case SF_PROD:
		shuffle(x, n);
		s = 1;
		for (int i = 0; i < n; i++)
			s = acc(e, s * x[i]);
		return out(e, s);
	case SF_MAXN:
	case SF_MINN:
		s = x[0];
		for (int i = 1; i < n; i++)
			s = b->f == SF_MAXN ? maxnan(s, x[i]) : minnan(s, x[i]);
		return s;
	case SF_ONEOF: return x[e->chosen[at] = below(n)];
	case SF_KMAX:
	case SF_KMIN: return x[kth_place(x, n, (int)b->param, b->f == SF_KMAX ? 1 : -1)];
	case SF_KARGMAX:
	case SF_KARGMIN: return kth_place(x, n, (int)b->param, b->f == SF_KARGMAX ? 1 : -1);
	case SF_ANY:
	case SF_ALL:
		s = 0;
		for (int i = 0; i < n; i++)
			s += x[i] != 0;
		return b->f == SF_ANY ? s > 0 : (int)s == n;
	case SF_VAR:
	case SF_VARALL: return out(e, inner(e, squares(e, x, n) / fmax(0, n - b->param)));
	case SF_LSE: {
		double m = x[0];
		for (int i = 1; i < n; i++)
			m = maxnan(m, x[i]);
		if (!isfinite(m))
			return m;
		for (int i = 0; i < n; i++)
			y[i] = fn_exp(e, inner(e, x[i] - m));
		return out(e, inner(e, lib(e, logl((long double)tree_sum(e, y, n))) + m));
	}
	default: BUG("%s", sf_name[b->f]);
	}
}

/* FMA: a product that was made before and feeds this sum is not rounded. */
static double contracted(const struct exec *e, sid id)
{
	for (int k = 0; k < e->t.nblock; k++) {
		const struct tape_block *b = &e->t.block[k];
		if (b->f == SF_MUL && id >= b->first && id < b->first + b->n) {
			double p = e->v[b->a[id - b->first]] * e->v[b->b[id - b->first]];
			return isfinite(e->v[id]) && isfinite(p) ? p : e->v[id];
		}
	}
	return e->v[id];
}

static void enter_block(struct exec *e, const struct tape_block *b)
{
	e->dt = b->dt;
	e->l = &e->t.lic->rule[b->f == SF_CAST ? LC_CONVERT : b->lc][dtype_is_float(b->dt) ? b->dt : e->base];
}

static void forward(struct exec *e)
{
	for (int k = 0; k < e->t.nblock; k++) {
		const struct tape_block *b = &e->t.block[k];
		enter_block(e, b);
		if (formula_of[b->f].value) {
			forward_formula(e, b);
			continue;
		}
		double run = 0;
		for (int64_t i = 0; i < b->n; i++) {
			sid id = b->first + (sid)i;
			const sid *op[3] = {b->a, b->b, b->c};
			double x[3] = {0};
			int64_t n = 0;
			int arity = sf_info[b->f].arity;
			if (arity == 0) {
				e->v[id] = e->t.val[id].hi; /* constants and leaves are floats here */
			} else if (arity > 0) {
				for (int q = 0; q < arity; q++)
					x[q] = e->v[op[q][i]];
				if ((b->f == SF_ADD || b->f == SF_SUB) && !(e->l->flags & LF_IEEE) && e->dt == DT_F32 && chance(50))
					x[0] = contracted(e, b->a[i]);
				if (b->f == SF_CLAMP && b->c[i] == b->a[i])
					x[2] = INFINITY; /* no upper bound */
				e->v[id] = eval_map(e, b, x);
			} else if (b->f == SF_CUMSUM || b->f == SF_CUMPROD) {
				double y = e->v[b->a[i]];
				run = i % b->len == 0 ? y : scan_step(e, b->f == SF_CUMSUM ? run + y : run * y);
				e->v[id] = out(e, run);
			} else if (b->f == SF_MATMUL) {
				double p[64], q[64];
				int64_t r = i / b->dim[2], c = i % b->dim[2];
				for (n = 0; n < b->len; n++) {
					p[n] = e->v[b->a[r * b->len + n]];
					q[n] = e->v[b->b[n * b->dim[2] + c]];
				}
				e->v[id] = out(e, dot(e, p, q, (int)n));
			} else {
				const sid *list = block_list(b, i, &n);
				e->v[id] = eval_list(e, b, id, list, (int)n);
			}
		}
	}
}

/* ---- backward: the formulas that implementations use ---- */
static void give(struct exec *e, sid id, double c)
{
	if (!dtype_is_float(tape_dtype(&e->t, id)))
		return;
	e->part[id] = e->touched[id] ? acc(e, e->part[id] + c) : c;
	e->touched[id] = true;
}

/* Which of the two conventions of clamp's gradient at a bound (target_facts.h). */
static bool inside_bounds(const struct exec *e, const sid *id)
{
	const enum clamp_gradient rule = e->t.lic->semantics.clamp_gradient;
	bool open = rule != CLAMP_PASSES && !(rule == CLAMP_PASSES_EITHER && chance(50)), upper = id[2] != id[0];
	double a = e->v[id[0]], low = e->v[id[1]], high = e->v[id[2]];
	return open ? a > low && (!upper || a < high) : a >= low && (!upper || a <= high);
}

static void back_map(struct exec *e, const struct tape_block *b, double g, double y, const sid *id)
{
	double a = e->v[id[0]], c = sf_info[b->f].arity > 1 ? e->v[id[1]] : 0;
	switch (b->f) {
	case SF_UNROUNDED:
	case SF_COPY: give(e, id[0], g); break;
	case SF_NEG: give(e, id[0], -g); break;
	case SF_ABS: give(e, id[0], out(e, g * ((a > 0) - (a < 0)))); break;
	case SF_EXP: give(e, id[0], out(e, g * y)); break;
	case SF_LOG: give(e, id[0], out(e, g / a)); break;
	case SF_LOG1P: give(e, id[0], out(e, g / step(e, a + 1))); break;
	case SF_EXPM1: give(e, id[0], out(e, g * step(e, y + 1))); break;
	case SF_SQRT: give(e, id[0], out(e, g / (2 * y))); break;
	case SF_RSQRT: give(e, id[0], out(e, -0.5 * g * step(e, step(e, y * y) * y))); break;
	case SF_RECIP: give(e, id[0], out(e, -g * step(e, y * y))); break;
	case SF_SIN: give(e, id[0], out(e, g * step(e, isinf(a) ? NAN : lib(e, cosl((long double)a))))); break;
	case SF_COS: give(e, id[0], out(e, g * -step(e, isinf(a) ? NAN : lib(e, sinl((long double)a))))); break;
	case SF_TANH: give(e, id[0], out(e, g * step(e, 1 - step(e, y * y)))); break;
	case SF_SIGMOID:
		if (chance(50))
			give(e, id[0], out(e, step(e, g * step(e, 1 - y)) * y));
		else
			give(e, id[0], out(e, g * step(e, step(e, 1 - y) * y)));
		break;
	case SF_RELU: give(e, id[0], y <= 0 ? 0 : g); break;
	case SF_FLOOR:
	case SF_CEIL:
	case SF_TRUNC:
	case SF_ROUND:
	case SF_SIGN: give(e, id[0], 0); break;
	case SF_CLAMP: give(e, id[0], inside_bounds(e, id) ? g : 0); break;
	case SF_CAST: give(e, id[0], cast_to(e, tape_dtype(&e->t, id[0]), g)); break; /* each, before they are added */
	case SF_SELECT:
		give(e, id[1], a != 0 ? g : 0);
		give(e, id[2], a != 0 ? 0 : g);
		break;
	case SF_GRAFT: give(e, id[1], g); break;
	case SF_DETACH: break;
	case SF_ADD:
		give(e, id[0], g);
		give(e, id[1], g);
		break;
	case SF_SUB:
		give(e, id[0], g);
		give(e, id[1], -g);
		break;
	case SF_MUL:
		give(e, id[0], out(e, g * c));
		give(e, id[1], out(e, g * a));
		break;
	case SF_DIV:
		give(e, id[0], out(e, div_const(e, g, c, b->param != 0)));
		if (b->param == 0)
			give(e, id[1], out(e, -g * step(e, step(e, a / c) / c)));
		break;
	case SF_POW:
		give(e, id[0],
			c == 0       ? 0
				: c == 1 ? g
				: c == 2 ? out(e, g * step(e, 2 * a))
						 : out(e, g * step(e, c * step(e, c == 3 ? a * a : lib(e, powl((long double)a, (long double)c - 1))))));
		break;
	case SF_RAISE: {
		const double p = lib(e, powl((long double)a, (long double)step(e, c - 1)));
		give(e, id[0], c == 0 ? 0 : out(e, g * step(e, c * p)));
		give(e, id[1], out(e, g * (a == 0 && c >= 0 ? 0 : step(e, y * lib(e, logl((long double)a))))));
		break;
	}
	case SF_FMOD:
	case SF_REMAINDER: {
		const double q = step(e, a / c);
		give(e, id[0], g);
		give(e, id[1], out(e, -g * (b->f == SF_FMOD ? trunc(q) : floor(q))));
		break;
	}
	case SF_FLOOR_DIV:
	case SF_TRUNC_DIV:
		give(e, id[0], 0);
		give(e, id[1], 0);
		break;
	case SF_ATAN2: {
		double sum = step(e, step(e, a * a) + step(e, c * c)), r = sum == 0 ? 0 : step(e, 1 / sum);
		give(e, id[0], out(e, step(e, g * c) * r));
		give(e, id[1], out(e, step(e, g * -a) * r));
		break;
	}
	case SF_MAX2:
	case SF_MIN2: {
		double s = b->f == SF_MAX2 ? 1 : -1;
		give(e, id[0], a == c ? out(e, g / 2) : s * a < s * c ? 0 : g);
		give(e, id[1], a == c ? out(e, g / 2) : s * a > s * c ? 0 : g);
		break;
	}
	default: BUG("%s", sf_name[b->f]);
	}
}

static void back_list(struct exec *e, const struct tape_block *b, sid at, const sid *id, int n)
{
	int count = 0, zeros = 0, nans = 0;
	double g = e->g[at], y = e->v[at];
	double x[64];
	for (int i = 0; i < n; i++) {
		x[i] = e->v[id[i]];
		count += x[i] == y;
		zeros += x[i] == 0;
		nans += isnan(x[i]);
	}
	switch (b->f) {
	case SF_SUM:
		for (int i = 0; i < n; i++)
			give(e, id[i], g);
		break;
	case SF_SUMPROD:
		for (int i = 0; i < n; i++)
			give(e, id[i], out(e, g * e->v[id[i ^ 1]]));
		break;
	case SF_PROD:
		for (int i = 0; i < n; i++) {
			double p = 1;
			for (int k = 0; k < n; k++)
				if (k != i)
					p = acc(e, p * x[k]);
			give(e, id[i], zeros == 0 && chance(70) ? out(e, step(e, g * y) / x[i]) : out(e, g * step(e, p)));
		}
		break;
	case SF_MAXN:
	case SF_MINN:
		for (int i = 0; i < n; i++)
			if (isnan(y) && b->param == NANS_SHARE)
				give(e, id[i], isnan(x[i]) ? out(e, g / nans) : 0);
			else
				give(e, id[i], isnan(y) ? NAN : x[i] == y ? out(e, g / count) : 0);
		break;
	case SF_ONEOF:
		for (int i = 0; i < n; i++)
			give(e, id[i], i == e->chosen[at] ? g : 0);
		break;
	case SF_KMAX:
	case SF_KMIN: {
		int picked = kth_place(x, n, (int)b->param, b->f == SF_KMAX ? 1 : -1);
		for (int i = 0; i < n; i++)
			give(e, id[i], i == picked ? g : 0);
		break;
	}
	case SF_VAR:
	case SF_VARALL: {
		double z[64];
		memcpy(z, x, sizeof z);
		double m = step(e, acc(e, tree_sum(e, z, n) / n)), k = step(e, 2 * g / fmax(0, n - b->param));
		for (int i = 0; i < n; i++)
			if (b->f == SF_VARALL && n <= b->param)
				give(e, id[i], g * (x[i] == m ? NAN : INFINITY));
			else
				give(e, id[i], out(e, k * step(e, x[i] - m)));
		break;
	}
	case SF_LSE:
		for (int i = 0; i < n; i++)
			give(e, id[i], out(e, g * step(e, fn_exp(e, step(e, x[i] - y)))));
		break;
	default: BUG("%s", sf_name[b->f]);
	}
}

static void back_formula(struct exec *e, const struct tape_block *b)
{
	const sid *op[3] = {b->a, b->b, b->c};
	bool maps = sf_info[b->f].arity > 0;
	int64_t n = maps ? b->n : b->len;
	for (int k = 0; k < sf_operands(b->f); k++)
		for (int64_t row = 0; row < (maps ? 1 : b->dim[0]); row++) {
			double c[DRAWN_ROW];
			bool one = draw_row(e, c, b, row, k);
			for (int64_t i = 0; i < n; i++)
				give(e, op[k][row * n + i], c[one ? 0 : i]);
		}
}

static void back_block(struct exec *e, const struct tape_block *b)
{
	int arity = sf_info[b->f].arity;
	memset(e->touched, 0, sizeof e->touched);
	if (is_formula(b->f)) {
		back_formula(e, b);
	} else if (b->f == SF_MATMUL) {
		int64_t m = b->dim[1], n = b->dim[2], k = b->len;
		double p[64], q[64];
		for (int64_t i = 0; i < m; i++) {
			for (int64_t x = 0; x < k; x++) {
				for (int64_t j = 0; j < n; j++) {
					p[j] = e->g[b->first + i * n + j];
					q[j] = e->v[b->b[x * n + j]];
				}
				give(e, b->a[i * k + x], out(e, dot(e, p, q, (int)n)));
			}
		}
		for (int64_t x = 0; x < k; x++) {
			for (int64_t j = 0; j < n; j++) {
				for (int64_t i = 0; i < m; i++) {
					p[i] = e->g[b->first + i * n + j];
					q[i] = e->v[b->a[i * k + x]];
				}
				give(e, b->b[x * n + j], out(e, dot(e, p, q, (int)m)));
			}
		}
	} else if (b->f == SF_CUMSUM || b->f == SF_CUMPROD) {
		for (int64_t r = 0; r < b->n; r += b->len) {
			double run = 0;
			bool divides = chance(50); /* reversed cumsum(g * y) / x, where no x is 0 */
			for (int64_t i = 0; i < b->len; i++)
				divides = divides && e->v[b->a[r + i]] != 0;
			for (int64_t i = b->len - 1; i >= 0; i--) {
				sid at = b->first + (sid)(r + i);
				if (b->f == SF_CUMSUM) {
					run = i == b->len - 1 ? e->g[at] : scan_step(e, run + e->g[at]);
					give(e, b->a[r + i], out(e, run));
					continue;
				}
				if (divides) {
					double w = out(e, e->v[at] * e->g[at]);
					run = i == b->len - 1 ? w : scan_step(e, run + w);
					give(e, b->a[r + i], out(e, out(e, run) / e->v[b->a[r + i]]));
					continue;
				}
				double s = 0, pre = 1; /* product rule, straight */
				for (int64_t k = 0; k < i; k++)
					pre = acc(e, pre * e->v[b->a[r + k]]);
				for (int64_t k = i; k < b->len; k++) {
					if (k > i)
						pre = acc(e, pre * e->v[b->a[r + k]]);
					s = acc(e, s + acc(e, pre * e->g[b->first + r + k]));
				}
				give(e, b->a[r + i], out(e, s));
			}
		}
	} else {
		for (int64_t i = b->n - 1; i >= 0; i--) {
			sid id = b->first + (sid)i;
			int64_t n = 0;
			if (arity > 0) {
				sid op[3] = {b->a[i], b->b ? b->b[i] : 0, b->c ? b->c[i] : 0};
				back_map(e, b, e->g[id], e->v[id], op);
			} else {
				const sid *list = block_list(b, i, &n);
				back_list(e, b, id, list, (int)n);
			}
		}
	}
	for (sid id = 0; id < (sid)e->t.nscalar; id++) {
		if (!e->touched[id])
			continue;
		enum dtype dt = tape_dtype(&e->t, id);
		double c = num_rn(dt, e->part[id], 0);
		e->g[id] = e->have[id] ? num_rn(dt, e->g[id] + c, 0) : c;
		e->have[id] = true;
	}
}

/* ---- making tapes ---- */
static const struct {
	enum sf f;
	int op;
} choices[] = {
	{SF_NEG, OP_neg},
	{SF_ABS, OP_abs},
	{SF_EXP, OP_exp},
	{SF_LOG, OP_log},
	{SF_LOG1P, OP_log1p},
	{SF_EXPM1, OP_expm1},
	{SF_SQRT, OP_sqrt},
	{SF_RSQRT, OP_rsqrt},
	{SF_RECIP, OP_reciprocal},
	{SF_SIN, OP_sin},
	{SF_COS, OP_cos},
	{SF_TANH, OP_tanh},
	{SF_SIGMOID, OP_sigmoid},
	{SF_RELU, OP_relu},
	{SF_FLOOR, OP_floor},
	{SF_ROUND, OP_round},
	{SF_ADD, OP_add_Tensor},
	{SF_SUB, OP_sub_Tensor},
	{SF_MUL, OP_mul_Tensor},
	{SF_DIV, OP_div_Tensor},
	{SF_POW, OP_pow_Scalar},
	{SF_RAISE, OP_pow_Tensor_Tensor},
	{SF_FMOD, OP_fmod_Tensor},
	{SF_REMAINDER, OP_remainder_Tensor},
	{SF_FLOOR_DIV, OP_div_Tensor_mode},
	{SF_TRUNC_DIV, OP_div_Tensor_mode},
	{SF_ATAN2, OP_atan2},
	{SF_MAX2, OP_maximum},
	{SF_MIN2, OP_minimum},
	{SF_COPY, OP_gather},
	{SF_UNROUNDED, OP_softmax},
	{SF_COPY, OP_repeat},
	{SF_SUM, OP_sum_dim},
	{SF_SUM, OP_index_add},
	{SF_SUM, OP_sum},
	{SF_SUMPROD, OP_add_Tensor},
	{SF_PROD, OP_prod},
	{SF_MAXN, OP_amax},
	{SF_VAR, OP_var_correction},
	{SF_LSE, OP_logsumexp},
	{SF_CUMSUM, OP_cumsum},
	{SF_CUMPROD, OP_cumprod},
	{SF_MATMUL, OP_mm},
	{SF_CEIL, OP_ceil},
	{SF_TRUNC, OP_trunc},
	{SF_SIGN, OP_sign},
	{SF_CLAMP, OP_clamp},
	{SF_DETACH, OP_clone},
	{SF_CAST, OP_to_copy},
	{SF_CAST, OP_to_copy},
	{SF_SELECT, OP_where_self},
	{SF_NOT, OP_logical_not},
	{SF_EQ, OP_eq_Tensor},
	{SF_NE, OP_ne_Tensor},
	{SF_LT, OP_lt_Tensor},
	{SF_LE, OP_le_Tensor},
	{SF_GT, OP_gt_Tensor},
	{SF_GE, OP_ge_Tensor},
	{SF_AND, OP_logical_and},
	{SF_OR, OP_logical_or},
	{SF_BIT_AND, OP_bitwise_and_Tensor},
	{SF_BIT_OR, OP_bitwise_or_Tensor},
	{SF_BIT_XOR, OP_bitwise_xor_Tensor},
	{SF_MINN, OP_amin},
	{SF_KMAX, OP_topk},
	{SF_KMIN, OP_min_dim},
	{SF_GRAFT, OP_clone},
	{SF_ONEOF, OP_index_Tensor},
	{SF_VARALL, OP_var_correction},
	{SF_KARGMAX, OP_topk},
	{SF_KARGMIN, OP_argmin},
	{SF_ANY, OP_any},
	{SF_ALL, OP_all},
	{SF_ADD, OP_add_Tensor},
	{SF_MUL, OP_mul_Tensor},
	{SF_SUM, OP_sum_dim},
	{SF_MUL, OP_mul_Tensor},
	{SF_ADD, OP_add_Tensor},
};
/* One of these, or of formula.def's rows, each computed as library functions are. */
struct choice {
	enum sf f;
	int op;
};
static struct choice choose(void)
{
	int all = ARRAY_LEN(choices);
	for (int f = 0; f < NSF; f++)
		all += is_formula((enum sf)f);
	int c = below(all);
	if (c < ARRAY_LEN(choices))
		return (struct choice){choices[c].f, choices[c].op};
	for (int f = 0;; f++)
		if (is_formula((enum sf)f) && c-- == ARRAY_LEN(choices))
			return (struct choice){(enum sf)f, formula_of[f].value && strstr(formula_of[f].value, "var(") ? OP_native_layer_norm : OP_exp};
}

/* Where a format ends: its largest and smallest numbers, their roots, so that squares and quotients leave it, and ones. */
static double edge_value(const struct num_format *f)
{
	int top = num_exp(f->max), last = (int)log2(f->tiny);
	const int ends[] = {top, top, top / 2, top / 3, last, last / 2, f->emin, 0, 0};
	double x = ldexp(chance(50) ? 1 : 1 + unit(), ends[below(ARRAY_LEN(ends))] - (chance(50) ? 0 : below(4)));
	return (chance(10) ? f->max : fmin(x, f->max)) * (chance(60) ? 1 : -1);
}

static double leaf_value(enum dtype dt, int fill)
{
	static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0, 1e-6, 3e4, 1e30, 1e-40, 6e-8, 1};
	double x;
	if (fill == 0)
		x = (below(33) - 16) / 8.0;
	else if (fill == 1)
		x = (unit() + unit() + unit() - 1.5) * 2;
	else if (fill == 2)
		x = ldexp(unit() + 0.5, below(40) - 20) * (chance(50) ? 1 : -1);
	else if (fill == 4)
		x = edge_value(&num_format[dt]);
	else
		x = chance(30) ? specials[below(ARRAY_LEN(specials))] : below(9) - 4;
	return num_rn(dt, x, 0);
}

/* n operands of dtype dt, mostly recent ones; NULL if there are none. */
static sid *pick_of(struct exec *e, int64_t n, enum dtype dt)
{
	sid *a = tape_ids(&e->t, n);
	int64_t low = chance(70) && e->t.nscalar > 12 ? e->t.nscalar - 10 : 1;
	for (int64_t i = 0; i < n; i++) {
		int tries = 0;
		do {
			if (++tries == 40)
				low = 1;
			a[i] = (sid)(low + below((int)(e->t.nscalar - low)));
		} while (tape_dtype(&e->t, a[i]) != dt && tries < 400);
		if (tape_dtype(&e->t, a[i]) != dt)
			return NULL;
	}
	return a;
}

static sid *pick_ids(struct exec *e, int64_t n)
{
	sid *a = pick_of(e, n, e->base);
	CHECK(a); /* the leaves are */
	return a;
}

static sid *same_constant(struct exec *e, int n, double v)
{
	sid *a = tape_ids(&e->t, n), k = tape_const_f(&e->t, e->base, v);
	for (int i = 0; i < n; i++)
		a[i] = k;
	return a;
}

/* To and from another float dtype, to and from bool. */
static void add_cast(struct exec *e, int n)
{
	static const enum dtype floats[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
	enum dtype other = chance(40) ? DT_B8 : floats[below(4)];
	sid *back = chance(50) ? pick_of(e, n, other) : NULL;
	if (back)
		tape_map1(&e->t, SF_CAST, e->base, back, n);
	else
		tape_map1(&e->t, SF_CAST, other, pick_ids(e, n), n);
}

static const double *draw_scalars(double scalar[FORMULA_SCALARS])
{
	static const double from[] = {0.25, 0.5, 1, 2, -1, 3, 0, 0.1};
	for (int k = 0; k < FORMULA_SCALARS; k++)
		scalar[k] = from[below(ARRAY_LEN(from))];
	return scalar;
}

static void add_map(struct exec *e, enum sf f, int n)
{
	static const double powers[] = {2, 3, -1, 0.5, 1, 0, 2.5};
	struct tape *t = &e->t;
	enum dtype dt = f >= SF_EQ && f <= SF_OR ? DT_B8 : e->base;
	if (f == SF_NOT) {
		tape_map1(t, f, DT_B8, pick_ids(e, n), n);
	} else if (f == SF_CAST) {
		add_cast(e, n);
	} else if (f == SF_BIT_AND || f == SF_BIT_OR || f == SF_BIT_XOR) {
		sid *a = pick_of(e, n, DT_B8), *b = pick_of(e, n, DT_B8);
		if (a && b)
			tape_map2(t, f, DT_B8, a, b, n);
	} else if (f == SF_SELECT) {
		sid *cond = pick_of(e, n, DT_B8);
		if (cond)
			tape_map3(t, f, dt, cond, pick_ids(e, n), pick_ids(e, n), n);
	} else if (f == SF_CLAMP) {
		/* The operand itself is a bound that is absent: so it is picked before the constants are there. */
		sid *x = pick_ids(e, n), *low = same_constant(e, n, below(5) - 3), *high = chance(20) ? x : same_constant(e, n, below(4));
		tape_map3(t, f, dt, x, low, high, n);
	} else if (is_formula(f)) {
		const sid *op[3] = {pick_ids(e, n), pick_ids(e, n), pick_ids(e, n)};
		tape_map(t, f, dt, op, n, draw_scalars((double[FORMULA_SCALARS]){0}));
	} else if (sf_info[f].arity == 1) {
		tape_map1(t, f, dt, pick_ids(e, n), n);
	} else {
		sid *a = pick_ids(e, n), *b = pick_ids(e, n);
		if (f == SF_POW || (f == SF_DIV && chance(50)))
			b = same_constant(e, n, f == SF_POW ? powers[below(7)] : below(9) + 1);
		tape_map2(t, f, dt, a, b, n);
	}
}

/* id, or, if it holds a number as it was before it was rounded, that number rounded. */
static sid rounded_one(const struct exec *e, sid id)
{
	for (sid held = id;;) {
		const struct tape_block *b = tape_block_of(&e->t, held);
		const bool moved = b->f == SF_COPY || b->f == SF_DETACH || b->f == SF_GRAFT;
		if (b->f != SF_UNROUNDED && !moved)
			return id;
		held = b->a[held - b->first];
		if (b->f == SF_UNROUNDED)
			id = held;
	}
}

static void add_list(struct exec *e, enum sf f, int n, int len)
{
	enum dtype dt = f == SF_ANY || f == SF_ALL ? DT_B8 : f == SF_KARGMAX || f == SF_KARGMIN ? DT_I64 : e->base;
	bool largest = f == SF_KMAX || f == SF_KARGMAX, smallest = f == SF_KMIN || f == SF_KARGMIN, shares = f == SF_MAXN || f == SF_MINN;
	double param = f == SF_VAR || f == SF_VARALL ? below(2) : largest ? below(len) : shares && chance(50) ? NANS_SHARE : 0;
	param = (largest || smallest) && chance(40) ? PICK_FIRST : param;
	len = f == SF_SUMPROD ? 2 * ((len + 1) / 2) : len;
	sid *entry = pick_ids(e, n * len);
	for (int i = 0; i < n * len && (f == SF_VAR || f == SF_VARALL); i++)
		entry[i] = rounded_one(e, entry[i]); /* the reference gives it tensors' elements alone */
	tape_rows(&e->t, f, dt, entry, n, len, param);
}

static void add_block(struct exec *e, int node)
{
	struct choice c = choose();
	enum sf f = c.f;
	int n = 1 + below(5), len = 1 + below(chance(10) ? 40 : 6);
	tape_at(&e->t, node, c.op);
	if (sf_info[f].arity > 0) {
		add_map(e, f, n);
	} else if (f == SF_CUMSUM || f == SF_CUMPROD) {
		tape_scan(&e->t, f, e->base, pick_ids(e, 2 * len), 2, len);
	} else if (sf_info[f].arity < SF_ROWS) {
		const sid *op[3] = {0};
		for (int k = 0; k < sf_operands(f); k++)
			op[k] = pick_ids(e, n * len);
		tape_formula(&e->t, f, e->base, op, n, len, draw_scalars((double[FORMULA_SCALARS]){0}));
	} else if (f == SF_MATMUL) {
		int m = 1 + below(3), w = 1 + below(3);
		tape_matmul(&e->t, e->base, pick_ids(e, m * len), pick_ids(e, len * w), 1, m, len, w);
	} else {
		add_list(e, f, n, len);
	}
}

struct tally {
	int64_t values, exact, weak, open;
	double ulps[4096];
	int nulps;
};

/* RIGOR_TRACE=1: the operands of a wrong scalar and who reads it. */
static void trace(const struct exec *e, sid id, int k)
{
	for (int q = k; q < e->t.nblock; q++) {
		const sid *op[3] = {e->t.block[q].a, e->t.block[q].b, e->t.block[q].c};
		int arity = sf_info[e->t.block[q].f].arity;
		for (int64_t i = 0; i < e->t.block[q].n; i++) {
			sid y = e->t.block[q].first + (sid)i;
			int64_t n = 1;
			const sid *list = arity < 0 && e->t.block[q].f != SF_MATMUL ? block_list(&e->t.block[q], i, &n) : NULL;
			bool reads = y == id, scan = arity == -2;
			for (int x = 0; x < arity; x++)
				reads = reads || op[x][i] == id;
			for (int64_t x = 0; list && !scan && x < n; x++)
				reads = reads || list[x] == id;
			for (int64_t x = 0; scan && x < e->t.block[q].n; x++)
				reads = reads || op[0][x] == id;
			if (!reads && e->t.block[q].f != SF_MATMUL)
				continue;
			struct num g = adjoint_of(&e->A, y);
			printf("    %s scalar %u %s: executed %.9g, %.9g +- %.3g flags %d; gradient executed %.9g, %.9g +- %.3g flags %d\n",
				y == id ? "this" : "read by", y, sf_name[e->t.block[q].f], e->v[y], e->t.val[y].hi, e->t.val[y].rad, e->t.val[y].flags,
				e->g[y], g.hi, g.rad, g.flags);
			for (int x = 0; x < arity; x++)
				printf("      operand %u: %.9g, %.9g + %.9g +- %.3g flags %d\n", op[x][i], e->v[op[x][i]], e->t.val[op[x][i]].hi,
					e->t.val[op[x][i]].lo, e->t.val[op[x][i]].rad, e->t.val[op[x][i]].flags);
			for (int64_t x = 0; list && !scan && x < n; x++)
				printf("      operand %u: %.9g\n", list[x], e->v[list[x]]);
		}
	}
}

/* An undecided integer is one of i … i + rad, of those that `among` names. */
static bool int_has(const struct num *want, int64_t got)
{
	int64_t k = got - want->i;
	if (want->flags & NUM_ANY)
		return true;
	if (!(want->flags & NUM_UNDEC))
		return k == 0;
	return k >= 0 && k <= (int64_t)want->rad && (!want->among || want->among >> k & 1);
}

static bool check(const struct exec *e, sid id, const struct num *want, double got, const char *what, int seed)
{
	bool ok = dtype_is_float((enum dtype)want->dtype) ? num_has(want, got) : int_has(want, (int64_t)got);
	if (!ok) {
		const struct tape_block *b = e->t.block;
		int k = 0;
		while (k + 1 < e->t.nblock && b[k + 1].first <= id)
			k++;
		EXPECT(ok, "%s of scalar %u (%s, %s, %s, tape %d): %.17g is not in %.17g + %.3g +- %.9g flags %d; off by %.3g", what, id,
			sf_name[b[k].f], dtype_info[want->dtype].name, e->t.lic->kernels->name, seed, got, want->hi, want->lo, want->rad, want->flags,
			fabs(got - want->hi));
		if (getenv("RIGOR_TRACE"))
			trace(e, id, k);
	} else {
		test_nexpect++;
	}
	return ok;
}

static void count(struct tally *q, const struct num *w, enum dtype dt)
{
	q->values++;
	q->exact += num_is_exact(w);
	q->open += (w->flags & (NUM_UNDEC | NUM_ANY)) != 0;
	q->weak += !(w->flags & NUM_SPECIAL) && w->rad > fabs(w->hi) / 2 && w->rad > 0;
	if (!(w->flags & NUM_SPECIAL) && w->rad > 0 && w->hi != 0 && q->nulps < 4096)
		q->ulps[q->nulps++] = w->rad / (2 * num_half_ulp(&num_format[dt], fabs(w->hi)));
}

static bool one_tape(struct arena *a, const struct licence_profile *l, enum dtype dt, int seed, struct tally *f, struct tally *b)
{
	struct exec *e = arena_zalloc(a, sizeof *e);
	uint32_t path[MAX_BLOCKS + 2];
	state = mix64((uint64_t)seed * 977 + (uint64_t)dt);
	e->base = e->dt = dt;
	tape_init(&e->t, a, l, TAPE_LIMITS_DEFAULT);
	int fill = below(10) < 8 ? below(3) : 3 + below(2), nleaf = 3 + below(8), nblocks = 1 + below(8);
	unsigned char data[16 * 8];
	for (int i = 0; i < nleaf; i++)
		dtype_store_f(dt, data + i * dtype_nbytes(dt), leaf_value(dt, fill));
	tape_at(&e->t, 0, OP_input);
	tape_load(&e->t, SF_LEAF, dt, data, nleaf);
	for (int i = 0; i < nblocks; i++)
		add_block(e, i + 1);
	CHECK(e->t.nscalar <= MAX_SCALARS && !e->t.over);
	memset(path, 1, sizeof path);
	adjoint_init(&e->A, &e->t);
	for (int i = 0; i < 3; i++) {
		sid id = (sid)(e->t.nscalar - 1 - below((int)MIN(e->t.nscalar - 1, 6)));
		double g = leaf_value(dt, fill == 3 ? 0 : fill);
		if (e->have[id] || tape_dtype(&e->t, id) != dt)
			continue;
		struct num s = num_exact(dt, g);
		adjoint_seed(&e->A, id, &s, 1000);
		e->g[id] = g;
		e->have[id] = true;
	}
	adjoint_run(&e->A, path);
	forward(e);
	for (int k = e->t.nblock - 1; k >= 0; k--) {
		const struct tape_block *blk = &e->t.block[k];
		enter_block(e, blk);
		if (sf_info[blk->f].arity && dtype_is_float(blk->dt))
			back_block(e, blk);
	}
	bool ok = true;
	for (sid id = 1; id < (sid)e->t.nscalar && ok; id++) {
		ok = check(e, id, &e->t.val[id], e->v[id], "value", seed);
		if (tape_dtype(&e->t, id) == dt)
			count(f, &e->t.val[id], dt);
	}
	for (sid id = (sid)e->t.nscalar - 1; id > 0 && ok; id--) {
		if (tape_dtype(&e->t, id) != dt)
			continue;
		struct num g = adjoint_of(&e->A, id);
		ok = check(e, id, &g, e->g[id], "gradient", seed);
		count(b, &g, dt);
	}
	return ok;
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void report(const char *name, enum dtype dt, const char *what, struct tally *q)
{
	qsort(q->ulps, (size_t)q->nulps, sizeof *q->ulps, by_double);
	printf("  %-20s %-5s %-9s %8" PRId64 " values, %4.1f %% exact, %4.1f %% weak, %4.1f %% undecided, median radius %.2g ULP\n", name,
		dtype_info[dt].name, what, q->values, 100.0 * (double)q->exact / (double)q->values, 100.0 * (double)q->weak / (double)q->values,
		100.0 * (double)q->open / (double)q->values, q->nulps ? q->ulps[q->nulps / 2] : 0);
}

static int ntapes = 300, first_seed = 1;

static void test_inside(void)
{
	static const char *const targets[] = {"torch:eager@cpu", "torch:inductor@cpu+cpp.use_decompose_tanh=1", "torch:inductor@cuda",
		"builtin:eager", "torch-2.13.0:eager@cpu", "torch-2.15.0:eager@cpu"};
	static const enum dtype dts[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
	struct arena a;
	arena_init(&a);
	for (int k = 0; k < ARRAY_LEN(targets); k++) {
		struct licence_profile l;
		EXPECT(profile_named(&l, targets[k]), "%s", targets[k]);
		for (int d = 0; d < ARRAY_LEN(dts); d++) {
			static struct tally f, b;
			memset(&f, 0, sizeof f);
			memset(&b, 0, sizeof b);
			int bad = 0;
			for (int i = 0; i < ntapes && bad < 5; i++) {
				bad += !one_tape(&a, &l, dts[d], first_seed + i, &f, &b);
				arena_reset(&a);
			}
			report(targets[k], dts[d], "forward", &f);
			report(targets[k], dts[d], "gradient", &b);
		}
	}
	arena_free(&a);
}

/* The executor knows every scalar function: a new one fails here. */
static void every_function_is_drawn(void)
{
	for (int f = 0; f < NSF; f++) {
		bool drawn = sf_info[f].arity == 0 || is_formula((enum sf)f) || f == SF_BITS; /* of numbers that are certain: view_dtype.prog */
		for (int i = 0; i < ARRAY_LEN(choices); i++)
			drawn |= (int)choices[i].f == f;
		EXPECT(drawn, "%s of sf.def is in no tape: add it to choices, eval_map or eval_list, back_map or back_list", sf_name[f]);
	}
}

int main(int argc, char **argv)
{
	ntapes = argc > 1 ? atoi(argv[1]) : ntapes;
	first_seed = argc > 2 ? atoi(argv[2]) : first_seed;
	RUN(every_function_is_drawn);
	RUN(test_inside);
	return TEST_END();
}
