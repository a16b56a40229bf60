/* adjoint_product.c: derivatives of products of lists and of scans. An entry's gradient is g * (product of the others); forms: g * result /
 * x, and products of the others where x is 0. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/adjoint_impl.h"

/* ---- products: g * (product of the others); forms: g * result / x, and products of the others where x is 0 ---- */
/* What is known of a list before its entries' gradients are formed. */
struct factors {
	int64_t n, zeros, maybe_zeros; /* zeros: entries that are 0 for certain */
	double big, small;
	bool special, negative;
};

static bool is_nothing(const struct num *x) { return num_is_exact(x) && x->hi == 0; }

static struct factors factors_of(const struct tape *t, const sid *e, int64_t n)
{
	struct factors f = {.n = n, .big = 1, .small = 1};
	for (int64_t i = 0; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		double m = fabs(x->hi), least = m > x->rad ? m - x->rad : m;
		f.special = f.special || x->flags & NUM_SPECIAL;
		if (x->flags & NUM_NOFIN)
			continue;
		f.big *= fmax(m + x->rad, 1);
		f.small *= least > 0 ? fmin(least, 1) : 1;
		f.zeros += is_nothing(x);
		f.maybe_zeros += m <= x->rad;
		f.negative ^= x->hi < 0;
	}
	return f;
}

/* Is the sign of every product of g with these factors but x known, and none underflows? 0: no. */
static int share_sign(const struct adjoint_pass *s, const struct num *g, const struct num *x, const struct factors *f)
{
	if (f->special || f->maybe_zeros > is_nothing(x) || f->small < num_format[s->h.dt].normal * 4 || g->flags & (NUM_SPECIAL | NUM_UNDEC)
		|| fabs(g->hi) <= g->rad)
		return 0;
	return f->negative ^ (x->hi < 0) ^ (g->hi < 0) ? -1 : 1;
}

/* Roundings of the finite part of c, whichever form made it. */
static void round_share(
	const struct adjoint_pass *s, struct num *c, const struct num *g, const struct num *y, const struct num *x, const struct factors *f)
{
	const struct num_format *own = &num_format[s->h.dt];
	int sign = share_sign(s, g, x, f);
	double rel = (double)(f->n + 3) * num_format[s->h.l->acc].u + 3 * own->u, mag = num_mag(c), m = finite_mag(x);
	double gy = finite_mag(g) * finite_mag(y), least = how_least(&s->h, own);
	num_widen(c, mag * rel);
	if (gy >= own->overflow) /* g * result comes first */
		c->flags |= sign > 0 ? NUM_PINF : sign < 0 ? NUM_NINF : NUM_INF;
	if (gy < own->normal * 2 && m > 0)
		num_widen(c, 2 * least / m);
	if (f->small < own->normal * 4) /* the result or a partial product underflows */
		num_widen(c, mag + finite_mag(g) * least * f->big * (double)f->n);
	how_last(c, &s->h);
}

/* Infinities or NaN among the entries: g * the product of the others, or g * (result / x), or 0 where there are two zeros and no dim was
 * given. (Which of them PyTorch takes depends on other rows, too, and scatter_reduce has its own mixture.) */
static struct num prod_special(const struct adjoint_pass *s, const struct num *g, const struct num *y, const struct num *x,
	const struct num *others, const struct factors *f)
{
	struct num c = num_mul(g, others), q = num_div(y, x), none = num_exact(DT_F64, 0);
	if (!num_is_exact(x) || x->hi != 0) {
		q = num_mul(g, &q);
		c = num_hull(&c, &q);
	}
	if (f->maybe_zeros > 1)
		c = num_hull(&none, &c);
	c.dtype = (uint8_t)s->h.dt;
	if (!(c.flags & NUM_NOFIN) && !num_unknown(&c))
		round_share(s, &c, g, y, x, f);
	if (f->big >= num_format[s->h.dt].overflow || f->small < num_format[s->h.dt].normal * 4)
		c.flags |= NUM_INF | NUM_NAN; /* partial products of the finite ones: infinity, or 0 times infinity */
	return c;
}

static struct num prod_finite(const struct adjoint_pass *s, const struct num *g, const struct num *y, const struct num *x,
	const struct num *others, const struct factors *f)
{
	const struct num_format *own = &num_format[s->h.dt];
	struct num c = num_mul(g, others), none = num_exact(DT_F64, 0);
	int sign = share_sign(s, g, x, f);
	if (c.flags & NUM_NAN && f->maybe_zeros > 1)
		c = num_hull(&none, &c); /* two zeros: PyTorch answers 0 and does not look at g */
	c.dtype = (uint8_t)s->h.dt;
	if (!num_is_exact(&c) || c.hi != 0)
		round_share(s, &c, g, y, x, f);
	if (g->flags & NUM_INF && f->small < own->normal * 4)
		c.flags |= NUM_INF | NUM_NAN;
	if (f->big >= own->overflow || f->big >= num_format[s->h.l->acc].overflow) {
		/* the result or a partial product overflows: g * inf / x, 0 * inf */
		c.flags |= sign > 0 ? NUM_PINF : sign < 0 ? NUM_NINF : NUM_INF | NUM_NAN;
	}
	return c;
}

/* Where a row of prod has a zero, PyTorch multiplies the cumulative product of what comes before an entry by that of what comes after it,
 * or answers 0 (prod_backward, prod_safe_zeros_backward). Scans multiply neighbours: no partial product of theirs overflows if none of a
 * run without zeros does; then those with a zero among the others are 0, whatever g is. Roundings: one u for each factor. */
static bool runs_stay_finite(const struct tape *t, const sid *e, int64_t n, const struct num_format *own)
{
	double run = 1, most = 1;
	for (int64_t i = 0; i < n; i++) {
		run = fmax(run, 1) * num_mag(&t->val[e[i]]) * (1 + 2 * own->u);
		most = fmax(most, run);
	}
	return most < own->overflow;
}

void adj_prod(const struct adjoint_pass *s, const sid *e, int64_t n, const struct num *g, const struct num *y)
{
	struct tape *t = s->A->t;
	struct arena_mark m = arena_mark(t->arena);
	struct num *pre = ARENA_NEW(t->arena, struct num, n + 1), suf = num_exact(DT_F64, 1);
	struct factors f = factors_of(t, e, n);
	bool scans = s->b->param == PROD_SCANS && f.zeros && !f.special && !(g->flags & NUM_SPECIAL);
	scans = scans && runs_stay_finite(t, e, n, &num_format[s->h.dt]);
	pre[0] = num_exact(DT_F64, 1);
	for (int64_t i = 0; i < n; i++)
		pre[i + 1] = num_mul(&pre[i], &t->val[e[i]]);
	for (int64_t i = n - 1; i >= 0; i--) {
		const struct num *x = &t->val[e[i]];
		struct num others = num_mul(&pre[i], &suf), c;
		suf = num_mul(&suf, x);
		if (scans && f.zeros > is_nothing(x))
			c = num_exact(s->h.dt, 0);
		else if (y->flags & NUM_ANY)
			c = num_any(s->h.dt);
		else
			c = f.special ? prod_special(s, g, y, x, &others, &f) : prod_finite(s, g, y, x, &others, &f);
		adj_send(s, e[i], c);
	}
	arena_release(t->arena, m);
}

/* ---- scans ---- */
/* cumsum(x, dtype=wider): PyTorch converts the cotangent to x's dtype first and scans there, as scans of that dtype do. */
static void widen_narrow_scan(const struct adjoint_pass *s, struct num *out, const struct num *in)
{
	const struct tape *t = s->A->t;
	const struct tape_block *b = s->b, *before = b - 1;
	if (b == t->block || before->f != SF_CAST || before->node != b->node || before->n == 0)
		return;
	enum dtype from = tape_dtype(t, before->a[0]);
	if (!dtype_is_float(from) || num_format[from].p >= num_format[b->dt].p)
		return;
	double abs = 0, acc = num_format[t->lic->rule[LC_SCAN][from].acc].u;
	for (int64_t i = 0; i < b->len; i++) {
		abs += num_mag(&in[i]);
		num_widen(&out[i], (((double)i + 1) * acc + 2 * num_format[from].u) * abs + ((double)i + 2) * num_format[from].tiny);
		if (abs >= num_format[from].overflow)
			adj_either_infinity(&out[i]);
	}
}

void adj_cumsum(const struct adjoint_pass *s)
{
	const struct tape_block *b = s->b;
	struct tape *t = s->A->t;
	struct arena_mark m = arena_mark(t->arena);
	struct num *in = ARENA_NEW(t->arena, struct num, b->len + 1), *out = ARENA_NEW(t->arena, struct num, b->len + 1);
	for (int64_t row = 0; b->len && row < b->n / b->len; row++) {
		for (int64_t i = 0; i < b->len; i++)
			in[i] = adjoint_of(s->A, b->first + (sid)(row * b->len + b->len - 1 - i));
		cumsum_row(out, in, b->len, &s->h);
		widen_narrow_scan(s, out, in);
		for (int64_t i = 0; i < b->len; i++)
			adj_send(s, b->a[row * b->len + b->len - 1 - i], out[i]);
	}
	arena_release(t->arena, m);
}

/* Infinities, NaN or overflow on the way of a scan's derivative: what the sum comes to, or its terms before the next zero (what follows
 * is not looked at), or 0 (behind the first zero), infinity or NaN. */
static void leave_open(struct num *sum, const struct num *before_zero, const struct how *h)
{
	struct num none = num_exact(DT_F64, 0);
	*sum = num_hull(sum, before_zero);
	*sum = num_hull(sum, &none);
	sum->dtype = (uint8_t)h->dt;
	sum->flags |= NUM_INF | NUM_NAN | NUM_UNDEC;
}

/* The sign of all terms of gx_j, if no form can make NaN of them: none is 0, none underflows. 0: not known. */
static int scan_sign(const struct adjoint_pass *s, const sid *e, const struct num *g, int64_t len, int64_t j, const struct factors *f)
{
	const struct num *v = s->A->t->val;
	const struct num_format *own = &num_format[s->h.dt];
	bool negative = false;
	int sign = 0;
	if (f->special || f->maybe_zeros || f->small < own->normal * 4)
		return 0;
	for (int64_t k = 0; k < len; k++) {
		if (k != j)
			negative ^= v[e[k]].hi < 0;
		if (k < j)
			continue;
		if (g[k].flags & (NUM_SPECIAL | NUM_UNDEC) || fabs(g[k].hi) - g[k].rad < own->normal)
			return 0;
		int now = negative ^ (g[k].hi < 0) ? -1 : 1;
		if (sign == -now)
			return 0;
		sign = now;
	}
	return sign;
}

/* An entry that is NaN is a factor of the last term of every other entry's gradient, and where no entry is 0 no form leaves that out. */
static int64_t only_nan_of(const struct tape *t, const sid *e, int64_t len, int64_t *count)
{
	int64_t at = -1;
	*count = 0;
	for (int64_t i = 0; i < len; i++)
		if (sure_nan(&t->val[e[i]])) {
			++*count;
			at = i;
		}
	return at;
}

/* Two scans, a sum and half a dozen operators; where autograd is traced, also products of what comes before an entry, in any order. */
static double cumprod_roundings(const struct adjoint_pass *s, int64_t len)
{
	const struct licence_profile *l = s->A->t->lic;
	enum dtype dt = s->h.dt;
	double each = 2 * num_format[s->h.l->acc].u + num_format[l->rule[LC_SUM][dt].acc].u;
	if (l->traced)
		each += num_format[l->rule[LC_PROD][dt].acc].u;
	return (double)len * each + 6 * num_format[dt].u;
}

/* gx_j = sum over k >= j of g_k * product of x_i, i <= k, i != j. Forms (cumprod_backward, FunctionsManual.cpp), operators of the
 * dtype: reverse cumsum(g * y) / x; at the first zero of a row sum(g * cumprod(what follows it)) * y before it: `later` is what that
 * sum may come to before y, however small, scales it. */
static void adj_cumprod_row(const struct adjoint_pass *s, const sid *e, const struct num *g, int64_t len)
{
	const struct num *v = s->A->t->val;
	const struct num_format *own = &num_format[s->h.dt];
	struct num pre = num_exact(DT_F64, 1);
	double rel = cumprod_roundings(s, len), gsum = 0;
	for (int64_t i = 0; i < len; i++)
		gsum += finite_mag(&g[i]);
	struct factors f = factors_of(s->A->t, e, len);
	const double least = how_least(&s->h, own);
	bool lost = f.small < own->normal * 4;                            /* prefixes underflow */
	bool scaled_late = s->h.l->flags & LF_STEPS || s->h.dt == DT_F64; /* `later` is formed in the dtype, or in nothing wider than it */
	bool special = f.special || f.big >= own->overflow;               /* or overflow, and 0 * inf may follow */
	int64_t nans = 0, nan_at = f.special && f.maybe_zeros == 0 ? only_nan_of(s->A->t, e, len, &nans) : -1;
	for (int64_t j = 0; j < len; j++) {
		const struct num *x = &v[e[j]];
		struct num run = pre, sum = num_mul(&g[j], &run), before_zero = sum;
		bool zero = false, sure = true; /* sure: the first that may be a zero is one */
		double abs = finite_mag(&sum), after = 1, later = finite_mag(&g[j]);
		bool first_zero = scaled_late && fabs(x->hi) <= x->rad && !(num_is_exact(&pre) && pre.hi == 0);
		for (int64_t k = j + 1; k < len; k++) {
			run = num_mul(&run, &v[e[k]]);
			struct num c = num_mul(&g[k], &run);
			abs += finite_mag(&c);
			after *= finite_mag(&v[e[k]]);
			later += finite_mag(&g[k]) * after;
			sum = num_add(&sum, &c);
			if (!zero && fabs(v[e[k]].hi) <= v[e[k]].rad) {
				zero = true;
				sure = num_is_exact(&v[e[k]]);
			}
			if (!zero)
				before_zero = num_add(&before_zero, &c);
		}
		pre = num_mul(&pre, x);
		sum.dtype = (uint8_t)s->h.dt;
		/* The formula's sum of g * result comes before the division by x. */
		bool over = special || sum.flags & NUM_SPECIAL || abs * fmax(1, finite_mag(x)) >= own->overflow;
		int sign = over ? scan_sign(s, e, g, len, j, &f) : 0;
		if (sign) { /* nothing underflows and no terms cancel */
			sum.flags |= (sign > 0 ? NUM_PINF : NUM_NINF) | NUM_UNDEC;
			abs = num_mag(&sum);
		} else if (over && sure) {
			leave_open(&sum, &before_zero, &s->h);
		} else if (over) {
			sum = num_take(num_any(s->h.dt));
		}
		if (nans > 1 || (nans == 1 && nan_at != j))
			sum = num_exact(s->h.dt, NAN);
		if (abs != 0 && !(sum.flags & NUM_NOFIN) && !num_unknown(&sum)) {
			double low = fabs(x->hi) - x->rad;
			num_widen(&sum, abs * rel + (double)len * least * (1 + (sign ? 0 : f.big)));
			if (x->hi != 0 || x->rad != 0) /* y and terms g * y that underflow, divided by an x that is at least the tiniest */
				num_widen(&sum, (double)len * least * (1 + gsum) / fmax(low, own->tiny));
			if (lost)
				num_widen(&sum, abs + gsum * least * f.big * (double)len);
			how_last(&sum, &s->h);
			if (first_zero && later * (1 + rel) >= own->overflow)
				sum.flags |= NUM_INF | NUM_NAN;
			if (s->h.l->flags & LF_FTZ && low < own->normal && !(num_is_exact(x) && x->hi == 0)) /* no zero to one, and divided by as one */
				sum.flags |= NUM_INF | NUM_NAN;
		}
		adj_send(s, e[j], sum);
	}
}

void adj_cumprod(const struct adjoint_pass *s)
{
	const struct tape_block *b = s->b;
	struct arena_mark m = arena_mark(s->A->t->arena);
	struct num *g = ARENA_NEW(s->A->t->arena, struct num, b->len + 1);
	for (int64_t row = 0; b->len && row < b->n / b->len; row++) {
		for (int64_t i = 0; i < b->len; i++)
			g[i] = adjoint_of(s->A, b->first + (sid)(row * b->len + i));
		adj_cumprod_row(s, b->a + row * b->len, g, b->len);
	}
	arena_release(s->A->t->arena, m);
}
