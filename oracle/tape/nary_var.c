/* nary_var.c: variance and logsumexp of lists. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/nary_impl.h"

/* ---- variance ---- */
/* The type in which var's mean is formed: where formulas run as operators, or the reduction of a whole tensor takes its mean first
 * (PyTorch's std_var_all_cpu), it is the kernels' compute type, however wide the squares are added up. */
static const struct num_format *mean_format(const struct how *h)
{
	return &num_format[h->l->flags & LF_STEPS ? dtype_compute(h->dt) : h->l->acc];
}

/* The mean of one entry is that entry, but where a half may be kept in f32 in one place and rounded in another. */
bool var_of_one(const struct num *v, const sid *e, int64_t n, const struct how *h)
{
	return n == 1 && (!dtype_is_narrow(h->dt) || !(h->l->flags & LF_WIDE) || num_is_exact(&v[e[0]]));
}

struct var_parts var_mean_of(const struct num *v, const sid *e, int64_t n, const struct how *h)
{
	double k = (double)n, s = 1;
	bool again = false;
	struct var_parts p;
	do { /* the sum of doubles may leave double, their mean does not */
		struct dd c = {0, 0};
		double abs = 0, rad = again ? k * 0x1p-1000 : 0;
		for (int64_t i = 0; i < n; i++) {
			const struct num *x = &v[e[i]];
			c = dd_add(c, (struct dd){x->hi * s, x->lo * s});
			abs += num_mag(x) * s;
			rad += x->rad * s;
		}
		c = dd_div(c, (struct dd){k, 0});
		p.mean = (struct dd){c.hi / s, c.lo / s};
		p.mean_rad = (var_of_one(v, e, n, h) ? rad : (rad + k * mean_format(h)->u * abs) / k * (1 + 0x1p-40)) / s;
		again = !again && !isfinite(abs);
		s = 0x1p-64;
	} while (again);
	return p;
}

/* Equal numbers whose mean is that number in every form: sums of 1 to n of them are exact, and so is the quotient. (In f32 alone compilers
 * may divide by approximation, and weigh what they merge by w / w that is not 1.) */
static bool var_of_equals(const struct num *v, const sid *e, int64_t n, const struct how *h)
{
	const struct num *first = &v[e[0]];
	double abs = fabs(first->hi) * (double)n;
	for (int64_t i = 0; i < n; i++)
		if (!num_is_exact(&v[e[i]]) || v[e[i]].hi != first->hi)
			return false;
	if (first->hi == 0)
		return true;
	double q = sum_quantum(abs, MIN(num_format[h->l->acc].p, mean_format(h)->p));
	bool divides = h->l->acc == DT_F64 && (h->dt != DT_F64 || (n & (n - 1)) == 0);
	return divides && q >= mean_format(h)->tiny && abs <= mean_format(h)->max && is_multiple(first->hi, q);
}

/* What squares may be that are beyond the format: infinite, if sums of entries are not. If they are, Welford multiplies x - mean by x - the
 * next mean: the first of max and -max, say, is -inf and so is the mean, and -max - -inf is +inf. */
static int beyond(double abs, const struct how *h)
{
	if (abs < num_format[h->l->acc].max / 4)
		return NUM_PINF | (h->l->flags & LF_MERGE ? NUM_NAN : 0);
	return NUM_PINF | NUM_NAN | (h->l->flags & LF_WELFORD ? NUM_NINF : 0);
}

/* The sum of squares about the mean, which is off by md, where squares leave double; errors as in nary_var. */
static struct num squares_beyond(const struct num *v, const sid *e, int64_t n, struct dd about, double md, const struct how *h)
{
	double k = (double)n, u = num_format[h->l->acc].u;
	struct num mean = {.hi = about.hi, .lo = about.lo, .dtype = DT_F64}, off = {.rad = md, .dtype = DT_F64}, s = num_mul(&off, &off), all;
	all = s = num_scale(s, k);
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &v[e[i]];
		struct num d = num_sub(x, &mean), square = num_mul(x, x);
		d = num_mul(&d, &d);
		s = num_add(&s, &d);
		all = num_add(&all, &square);
	}
	all = num_add(&all, &s);
	all.rad = num_mag(&all) * ((h->l->flags & LF_WELFORD ? 4 * k : k) + 5) * u;
	all.hi = all.lo = 0;
	return num_add(&s, &all);
}

/* A sum of squares over +0: infinity, but NaN if the sum is 0. */
static struct num over_nothing(const struct num *sum, bool zero, int over, const struct how *h)
{
	struct num y = num_exact(h->dt, zero ? NAN : INFINITY);
	y.flags |= sum->flags & NUM_UNDEC;
	if (!zero && sum->hi <= sum->rad)
		y.flags |= NUM_NAN;
	y.flags |= over;
	return y;
}

/* Two passes: the mean is off by d <= n u mean|x|; sum (x - m')^2 = S + n d^2 - 0, plus n + 3 roundings of S.
 * Welford and pairwise merging (Chan, Golub, LeVeque 1983): error <= c n u kappa S with kappa = sqrt(1 + n mean^2 / S). */
struct num nary_var(const struct num *v, const sid *e, int64_t n, double correction, const struct how *h)
{
	double k = (double)n, u = num_format[h->l->acc].u, denom = fmax(0, k - correction), sq = 0, abs = 0;
	struct dd s = {0, 0};
	double rad = 0;
	int flags = 0;
	bool differ = false;
	for (int64_t i = 0; i < n; i++)
		flags |= v[e[i]].flags;
	if (n == 0)
		return num_exact(h->dt, NAN);
	if (flags & NUM_SPECIAL) {
		struct num r = num_exact(h->dt, NAN);
		for (int64_t i = 0; i < n; i++) /* a sure infinity or NaN makes NaN; a possible one anything */
			if (v[e[i]].flags & NUM_NOFIN)
				return r;
		return num_any(h->dt);
	}
	struct var_parts p = var_mean_of(v, e, n, h);
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &v[e[i]];
		struct dd d = dd_add(num_dd(x), dd_neg(p.mean));
		s = dd_add(s, dd_mul(d, d));
		rad += 2 * fabs(d.hi) * x->rad + x->rad * x->rad; /* the mean moves too, but S is stationary in it */
		sq += x->hi * x->hi;
		abs += num_mag(x);
		differ = differ || d.hi != 0;
	}
	struct num r = {.hi = s.hi, .lo = s.lo, .dtype = (uint8_t)h->dt, .flags = (uint8_t)(flags & NUM_UNDEC)};
	bool one = var_of_one(v, e, n, h) || (s.hi == 0 && var_of_equals(v, e, n, h));
	double md = p.mean_rad + fabs(p.mean.hi) * mean_format(h)->u; /* the mean is rounded, too */
	r.rad = one ? 0 : rad + (k + 5) * u * s.hi + k * md * md;
	if (h->l->flags & LF_WELFORD && !one)
		r.rad += 3 * k * u * sqrt(s.hi * (s.hi + sq));
	if (differ) /* squares that underflow */
		r.rad += k * num_format[h->l->acc].tiny;
	if (UNLIKELY(!one && (num_overflowed(s, r.rad) || !isfinite(sq))))
		r = squares_beyond(v, e, n, p.mean, md, h);
	bool zero = s.hi == 0 && r.rad == 0;
	int over = 0; /* where lanes without an entry are merged, of equal entries, too: 17 of 1e20 in Inductor, one in layer_norm (measured) */
	if (sq >= fmin(num_format[h->l->acc].overflow, DBL_MAX))
		over = !one ? beyond(abs, h) : h->l->flags & LF_MERGE ? NUM_NAN : 0;
	if (denom == 0)
		return over_nothing(&r, zero, over, h);
	struct num d = num_exact(DT_F64, denom), y = num_div(&r, &d);
	y.dtype = (uint8_t)h->dt;
	if (!zero && !(y.flags & NUM_NOFIN))
		num_widen(&y, 2 * how_ulp(h, num_mag(&y)));
	how_last(&y, h);
	y.flags |= over;
	return y;
}

/* ---- logsumexp: m + log(sum exp(x - m)) ---- */
struct num nary_lse(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	if (n == 0)
		return num_exact(h->dt, -INFINITY);
	struct num m = {.hi = -INFINITY}; /* any number may be subtracted; how far theirs may be from it is what matters */
	int flags = 0;
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		m.hi = x->hi > m.hi ? x->hi : m.hi;
		m.rad = x->rad > m.rad ? x->rad : m.rad;
		flags |= x->flags;
	}
	if (flags & NUM_SPECIAL)
		m = nary_extreme(t->val, e, n, 1, h);
	if (m.flags & NUM_SPECIAL) {
		if (m.flags & NUM_NOFIN && !(m.flags & NUM_ANY))
			return m; /* +inf, -inf (all are) or NaN pass through */
		return num_any(h->dt);
	}
	struct num s = num_exact(DT_F64, 0), centre = num_exact(DT_F64, m.hi);
	/* x - m, exp, the sum and the logarithm may each be rounded to the tensor's dtype (eager runs them as operators); the budgets of exp
	 * and log are units of the compute type all the same. */
	double u = num_format[h->l->compute].u, step = num_format[h->l->flags & LF_STEPS ? h->dt : h->l->compute].u, moved = 0;
	for (int64_t i = 0; i < n; i++) {
		struct num d = num_sub(&t->val[e[i]], &centre), x = num_exp_of(&d, h);
		double off = (fabs(d.hi) + m.rad) * step; /* x - m is rounded, then exponentiated; far below 0 that stays less than any number */
		if (!(d.flags & (NUM_NOFIN | NUM_BEYOND)) && d.hi + d.rad + 2 * off > EXP_UNDERFLOWS)
			moved += off * num_mag(&x) * (1 + 2 * step * fabs(d.hi));
		s = num_add(&s, &x);
	}
	if (s.flags & NUM_SPECIAL)
		return num_any(h->dt);
	double mag = num_mag(&s);
	num_widen(&s, moved + mag * (u * ((double)n + 2 * h->l->ulp) + 2 * step) + (double)n * num_format[h->dt].tiny);
	struct num y = num_log_of(&s, h);
	double small = num_mag(&y);
	y = num_add(&y, &centre);
	y.dtype = (uint8_t)h->dt;
	if (!(y.flags & NUM_SPECIAL))
		num_widen(&y, (2 * h->l->ulp * u + step) * small * (1 + 0x1p-20));
	num_settle(&y, h->dt);
	how_last(&y, h);
	return y;
}
