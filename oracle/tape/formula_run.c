/* formula_run.c: steps of formula.def over sets of numbers, a step at a time over all elements; and functions of the C library, between the
 * values at the ends of their operand. */
#include "oracle/num/formula.h"
#include "oracle/num/func_impl.h"
#include "oracle/tape/nary_impl.h"

/* ---- functions of the C library ---- */

/* 0 or 1 gives a whole number without rounding, or a pole. */
static bool no_rounding(const struct num *a, long double y)
{
	return num_is_exact(a) && (a->hi == 0 || fabs(a->hi) == 1) && (y == 0 || fabsl(y) == 1 || !isfinite(y));
}

/* The values at both ends, and where the function turns, bound those between them. Interval arithmetic without a derivative. */
static struct num between_ends(const struct num *a, const struct formula *f)
{
	long double x = ld(a), y = f->libm(x), r = arg_rad(a, false);
	r += r > 0 ? fabsl(x) * 0x1p-62L : 0; /* x - r and x + r are rounded */
	long double low = r > 0 ? f->libm(x - r) : y, high = r > 0 ? f->libm(x + r) : y;
	bool around = isnan(low) && isnan(high) && fabsl(x) < r && !isnan(f->libm(0)); /* the domain lies between the ends (asin) */
	bool same = isnan(low) ? isnan(high) && !around : low == high && !(f->shape == LIBM_VALLEY && fabsl(x) < r);
	if (r == 0 && (no_rounding(a, y) || !isfinite(y)))
		return num_exact(DT_F64, (double)y);
	if (same && !isfinite(low) && f->shape != LIBM_BRANCHES)
		return num_exact(DT_F64, (double)low);
	if (!isfinite(low) || !isfinite(high) || !isfinite(y) || (f->shape == LIBM_BRANCHES && (r > 1 || low > high)))
		return num_any(DT_F64);
	long double rad = fmaxl(fabsl(low - y), fabsl(high - y));
	if (f->shape == LIBM_VALLEY && fabsl(x) <= r)
		rad = fmaxl(rad, fabsl(y - f->libm(0)));
	if (rad > 0)
		rad += fmaxl(fabsl(low), fabsl(high)) * REL_LD + rad * 0x1p-40L;
	return of_long_double(y, (double)rad);
}

static struct num each_libm(const struct num *a, const void *ctx)
{
	const struct formula *f = ctx;
	return fin(a) ? between_ends(a, f) : num_exact(DT_F64, (double)f->libm(a->hi));
}

struct num libm_of(const struct num *a, enum sf f, const struct how *h)
{
	struct num y = num_each(a, each_libm, &formula_of[f]);
	if (h->l->flags & LF_NEAR)
		num_widen(&y, formula_of[f].near);
	if (!(y.flags & (NUM_NOFIN | NUM_ANY)) && 2 * num_mag(&y) >= num_format[h->l->compute].overflow)
		y.flags |= y.hi > 0 ? NUM_PINF : NUM_NINF; /* Sleef's sinh overflows where exp does, which is twice as large */
	return y;
}

/* The corners, and where either turns, bound the values of the rectangle. */
struct num libm2_of(const struct num *a, const struct num *b, enum sf f)
{
	libm2_fn *g = formula_of[f].libm2;
	if (!fin(a) || !fin(b))
		return num_exact(DT_F64, (double)g(a->hi, b->hi));
	const struct num *op[2] = {a, b};
	long double end[2][3], y = g(ld(a), ld(b)), rad = 0, most = 0;
	for (int k = 0; k < 2; k++) {
		long double x = ld(op[k]), r = arg_rad(op[k], false);
		r += r > 0 ? fabsl(x) * 0x1p-62L : 0;
		end[k][0] = x - r;
		end[k][1] = x + r;
		end[k][2] = fabsl(x) <= r ? 0 : x;
	}
	if (a->rad == 0 && b->rad == 0 && a->hi == 0 && b->hi == 0)
		return num_exact(DT_F64, (double)y);
	for (int k = 0; k < 9; k++) {
		long double at = g(end[0][k % 3], end[1][k / 3]);
		rad = fmaxl(rad, fabsl(at - y));
		most = fmaxl(most, at);
	}
	return of_long_double(y, rad > 0 ? (double)(rad * (1 + 0x1p-40L) + most * REL_LD) : 0);
}

/* ---- steps ---- */

static struct num divided(const struct num *a, const struct num *b, bool constant, const struct how *h)
{
	struct num r = quotient(a, b, h);
	if (((constant && h->l->flags & LF_RECIP) || h->l->flags & LF_FOLDED) && !(r.flags & NUM_NOFIN))
		num_widen(&r, 2 * how_ulp(h, num_mag(&r)));
	return r;
}

/* The part of v from low to high. What lies wholly elsewhere stays as it is: the fact is not one of this set. */
static struct num within(struct num v, double low, double high)
{
	if (v.flags & (NUM_NOFIN | NUM_ANY))
		return v;
	double from = fmax(num_low(&v), low), to = fmin(num_high(&v), high);
	int flags = v.flags & ~((low > -INFINITY ? NUM_NINF : 0) | (high < INFINITY ? NUM_PINF : 0));
	if (from == num_low(&v) && to == num_high(&v)) {
		v.flags = flags;
		return v;
	}
	return from > to ? v : num_ends((enum dtype)v.dtype, from, to, flags & ~NUM_MOVED);
}

struct runner {
	const struct formula_steps *s;
	const struct formula_row *row;
	const struct how *h, *inside,
		*step; /* of the result; of a kernel's steps: the type computed in; of these steps, as how_step rounds them */
	const sid *ids;
	struct num *room;
};

static struct num *values_of(const struct runner *r, int step) { return r->room + step * MAX(r->row->n, 1); }
static int stride_of(const struct runner *r, int step) { return r->s->step[step].per_row ? 0 : 1; }

static void run_pairs(const struct runner *r, const struct formula_step *s, struct num *y, int64_t n)
{
	const struct num *a = values_of(r, s->x), *b = values_of(r, s->y);
	int da = stride_of(r, s->x), db = stride_of(r, s->y);
	const enum step_kind by = r->s->step[s->y].kind;
	const bool constant = by == STEP_NUMBER || by == STEP_COUNT || by == STEP_SCALAR;
	for (int64_t i = 0; i < n; i++, a += da, b += db)
		num_put(&y[i],
			s->kind == STEP_ADD       ? num_add(a, b)
				: s->kind == STEP_SUB ? num_sub(a, b)
				: s->kind == STEP_MUL ? num_mul(a, b)
									  : divided(a, b, constant, r->inside));
}

/* -1: undecided. */
static int compared(enum step_kind kind, const struct num *a, const struct num *b)
{
	return kind == STEP_LESS ? num_lt(a, b) : kind == STEP_MOST ? num_le(a, b) : num_eq(a, b);
}

static void run_comparison(const struct runner *r, const struct formula_step *s, struct num *y, int64_t n)
{
	const struct num *a = values_of(r, s->x), *b = values_of(r, s->y);
	int da = stride_of(r, s->x), db = stride_of(r, s->y);
	for (int64_t i = 0; i < n; i++, a += da, b += db) {
		int t = compared(s->kind, a, b);
		y[i] = num_int(DT_B8, t == 1);
		y[i].flags |= t == -1 ? NUM_UNDEC : 0;
	}
}

static bool not_rounded(const struct formula_step *s) { return s->kind >= STEP_NUMBER && !s->last; }

static void run_either(const struct runner *r, const struct formula_step *s, struct num *y, int64_t n)
{
	const struct num *a = values_of(r, s->x), *b = values_of(r, s->y);
	int da = stride_of(r, s->x), db = stride_of(r, s->y);
	for (int64_t i = 0; i < n; i++, a += da, b += db) {
		num_put(&y[i], s->kind == STEP_EITHER ? num_either(a, b) : num_hull(a, b));
		if (s->last && (not_rounded(&r->s->step[s->x]) || not_rounded(&r->s->step[s->y])))
			how_last(&y[i], r->h);
	}
}

/* Undecided, either may be. What is not rounded as results are yet, is now. */
static void run_choice(const struct runner *r, const struct formula_step *s, struct num *y, int64_t n)
{
	const struct num *t = values_of(r, s->x), *a = values_of(r, s->y), *b = values_of(r, s->z);
	int dt = stride_of(r, s->x), da = stride_of(r, s->y), db = stride_of(r, s->z);
	bool round_yes = not_rounded(&r->s->step[s->y]), round_no = not_rounded(&r->s->step[s->z]);
	for (int64_t i = 0; i < n; i++, t += dt, a += da, b += db) {
		bool open = t->flags & NUM_UNDEC;
		num_put(&y[i], open ? num_either(a, b) : t->i ? *a : *b);
		if (s->last && (((open || t->i) && round_yes) || ((open || !t->i) && round_no)))
			how_last(&y[i], r->h);
	}
}

/* The dtype of what a function gives: an operator's is the tensor's. */
static enum dtype called_dtype(const struct runner *r) { return !r->s->kernel && r->h->l->flags & LF_STEPS ? r->h->dt : r->inside->dt; }

/* What overflows there need not, if it is kept in the type computed in. */
static void run_call(const struct runner *r, const struct formula_step *s, struct num *y, int64_t n)
{
	const struct how h = {.dt = called_dtype(r), .l = r->h->l};
	const sid *const op[3] = {r->ids};
	sf_info[s->f].value(y, values_of(r, s->x), op, n, &h);
	for (int64_t i = 0; i < n && h.dt != r->inside->dt; i++) {
		const sid *const one[3] = {r->ids + i};
		struct num kept;
		sf_info[s->f].value(&kept, values_of(r, s->x), one, 1, r->inside);
		how_step(&kept, r->step);
		num_put(&y[i], num_hull(&y[i], &kept));
	}
}

/* Then a running mean may be finite, too, where a sum overflows. */
static bool may_be_finite(const struct num *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (x[i].flags & NUM_NOFIN)
			return false;
	return true;
}

static bool all_equal(const struct num *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (x[i].rad != 0 || x[i].hi != x[0].hi)
			return false;
	return true;
}

/* What a running mean may be off by where the sum is exact: it holds quotients by 1 to n. */
static double running_mean(const struct num *x, int64_t n, const struct num_format *f)
{
	double abs = 0;
	for (int64_t i = 0; i < n; i++)
		abs += num_mag(&x[i]);
	return f->u * abs + (double)n * f->tiny;
}

/* Of all elements of the row; x is one number for it, n times, if the step is. */
static struct num of_row(const struct runner *r, const struct formula_step *s)
{
	int64_t n = r->row->n;
	const struct num *x = values_of(r, s->x);
	if (s->kind == STEP_MAX)
		return n ? nary_extreme(x, r->ids, n, 1, r->inside) : num_exact(r->inside->dt, NAN);
	if (s->kind == STEP_VAR)
		return nary_var(x, r->ids, n, 0, r->inside);
	struct num y = nary_sum(x, r->ids, n, 0, r->inside), count = num_exact(DT_F64, (double)n);
	if (s->kind == STEP_SUM)
		return y;
	y = divided(&y, &count, true, r->inside);
	if (r->inside->l->flags & LF_WELFORD && n > 2 && !(y.flags & NUM_SPECIAL) && !all_equal(x, n))
		num_widen(&y, running_mean(x, n, &num_format[r->inside->l->acc]));
	if (r->inside->l->flags & LF_WELFORD && y.flags & NUM_SPECIAL) {
		if (may_be_finite(x, n))
			return num_any(r->inside->dt);
		y.flags |= NUM_NAN; /* inf - inf, if a number comes behind the infinity */
	}
	return y;
}

static void run_step(const struct runner *r, int k)
{
	const struct formula_step *s = &r->s->step[k];
	struct num *y = values_of(r, k);
	const struct num *x = values_of(r, s->x);
	int64_t n = s->per_row ? 1 : r->row->n;
	switch (s->kind) {
	case STEP_OPERAND:
		for (int64_t i = 0; i < n; i++)
			num_put(&y[i], r->row->v[r->row->op[s->x][i]]);
		return;
	case STEP_COTANGENT: memcpy(y, r->row->g, (size_t)n * sizeof *y); return;
	case STEP_RESULT: memcpy(y, r->row->y, (size_t)n * sizeof *y); return;
	case STEP_COUNT: *y = num_exact(r->inside->dt, (double)r->row->n); return;
	case STEP_NUMBER:
	case STEP_SCALAR:
		*y = num_exact(r->inside->dt, num_rn(r->inside->dt, s->kind == STEP_NUMBER ? s->low : r->h->scalar[s->x], 0));
		if (s->last)
			how_last(y, r->h);
		return;
	case STEP_LESS:
	case STEP_MOST:
	case STEP_SAME: run_comparison(r, s, y, n); return;
	case STEP_EITHER:
	case STEP_ORDER: run_either(r, s, y, n); return;
	case STEP_CHOOSE: run_choice(r, s, y, n); return;
	case STEP_NEG:
		for (int64_t i = 0; i < n; i++)
			num_put(&y[i], num_neg(x[i]));
		return;
	case STEP_WITHIN: /* x * c, unrounded in a contraction, may be above the largest of them rounded */
		for (int64_t i = 0; i < n; i++)
			num_put(&y[i], r->h->l->flags & LF_FOLDED ? x[i] : within(x[i], s->low, s->high));
		return;
	case STEP_NEAR:
		for (int64_t i = 0; i < n; i++) {
			num_put(&y[i], x[i]);
			num_widen(&y[i], s->high);
		}
		return;
	case STEP_STORED:
		for (int64_t i = 0; i < n; i++) {
			num_put(&y[i], x[i]);
			if (r->h->l->flags & LF_STORED || r->s->needs & LF_PRODUCT)
				how_step(&y[i],
					&(struct how){
						.dt = r->h->dt, .l = &(struct lic_rule){.compute = r->h->l->compute, .acc = r->h->l->acc, .flags = LF_STEPS}});
		}
		return;
	case STEP_ADD:
	case STEP_SUB:
	case STEP_MUL:
	case STEP_DIV: run_pairs(r, s, y, n); break;
	case STEP_CALL: run_call(r, s, y, n); break;
	case STEP_SUM:
	case STEP_MEAN:
	case STEP_MAX:
	case STEP_VAR: *y = of_row(r, s); break;
	}
	/* What a function or a sum gives is rounded already, in the type computed in. */
	const bool in_dtype = r->inside->dt == r->h->dt;
	bool done = s->kind == STEP_MAX || (s->kind == STEP_CALL && called_dtype(r) == r->h->dt)
		|| ((s->kind == STEP_SUM || s->kind == STEP_VAR) && in_dtype);
	for (int64_t i = 0; i < n && !done; i++) {
		if (s->last)
			how_last(&y[i], r->h);
		else
			how_step(&y[i], r->step);
	}
}

static const struct num *run_form(
	struct num *room, const sid *ids, const struct formula_steps *s, const struct formula_row *row, const struct how *h)
{
	/* An operator's result has the tensor's dtype where the licence says so (LF_STEPS); a kernel's steps never. */
	struct lic_rule in_kernel = *h->l;
	in_kernel.flags &= ~(unsigned)LF_STEPS;
	struct lic_rule in_row = *h->l;
	in_row.acc = formula_acc(h->l);
	const struct how inside = {.dt = h->l->compute, .l = &in_row}, step = {.dt = h->dt, .l = s->kernel ? &in_kernel : h->l};
	struct runner r = {s, row, h, &inside, &step, ids, room};
	for (int k = 0; k < s->n; k++)
		run_step(&r, k);
	return values_of(&r, s->result);
}

void formula_run(
	struct num *out, struct num *room, const sid *ids, const struct formula_text *t, const struct formula_row *row, const struct how *h)
{
	int64_t n = formula_is_one(t) ? 1 : row->n;
	for (int k = 0; k < t->nform; k++) {
		if ((h->l->flags & t->form[k].needs) != t->form[k].needs)
			continue;
		struct lic_rule rule = *h->l;
		if (t->form[k].needs & LF_ONEDNN)
			rule.flags |= LF_FTZ; /* which takes denormal bf16 as 0, too */
		const struct num *y = run_form(room, ids, &t->form[k], row, &(struct how){.dt = h->dt, .l = &rule, .scalar = h->scalar});
		for (int64_t i = 0; i < n; i++)
			num_put(&out[i], k ? num_hull(&out[i], &y[i]) : y[i]);
	}
}

/* ---- maps, so many elements at a time ---- */
enum { CHUNK = 32 };
static const sid all[CHUNK] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* Elements at … at + n - 1 of a map. */
static struct formula_row chunk_of(enum sf f, const struct num *v, const sid *const op[3], int64_t at, int64_t n)
{
	struct formula_row row = {.v = v, .n = MIN(n - at, CHUNK)};
	for (int k = 0; k < sf_info[f].arity; k++)
		row.op[k] = op[k] + at;
	return row;
}

void formula_values(enum sf f, struct num *restrict y, const struct num *restrict v, const sid *const op[3], int64_t n, const struct how *h)
{
	struct formula_text t;
	struct num room[FORMULA_STEPS * CHUNK];
	formula_parse(&t, f, -1);
	for (int64_t at = 0; at < n; at += CHUNK) {
		struct formula_row row = chunk_of(f, v, op, at, n);
		formula_run(y + at, room, all, &t, &row, h);
	}
}

void formula_adjoints(enum sf f, struct num (*restrict gx)[3], const struct num *g, const struct num *y, const struct num *v,
	const sid *const op[3], int64_t n, const struct how *h)
{
	struct formula_text t;
	struct num room[FORMULA_STEPS * CHUNK], out[CHUNK];
	for (int k = 0; k < sf_info[f].arity; k++) {
		formula_parse(&t, f, k);
		for (int64_t at = 0; at < n; at += CHUNK) {
			struct formula_row row = chunk_of(f, v, op, at, n);
			row.g = g + at;
			row.y = y + at;
			formula_run(out, room, all, &t, &row, h);
			for (int64_t i = 0; i < row.n; i++)
				num_put(&gx[at + i][k], out[formula_is_one(&t) ? 0 : i]);
		}
	}
}
