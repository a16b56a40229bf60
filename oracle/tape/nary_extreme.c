/* nary_extreme.c: greatest and least, k-th and their positions, any and all. What enclosures leave open is kept open: every entry that
 * may be the one is a candidate. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/nary_impl.h"

#include <stdlib.h>

/* ---- extremes ---- */
struct num nary_extreme(const struct num *v, const sid *e, int64_t n, int sign, const struct how *h)
{
	struct num r = v[e[0]];
	const bool flushed = h->l && h->l->flags & LF_FTZ;
	for (int64_t i = 1; i < n; i++) {
		const struct num *x = &v[e[i]];
		if (!h->l) {
			if ((r.flags | x->flags) & (NUM_UNDEC | NUM_ANY))
				return num_any(h->dt);
			if (sign > 0 ? x->i > r.i : x->i < r.i)
				r = *x;
		} else if (LIKELY(!flushed && r.rad == 0 && x->rad == 0 && !((r.flags | x->flags) & NUM_SPECIAL))) {
			r.flags |= x->flags & NUM_UNDEC;
			if (sign > 0 ? x->hi > r.hi : x->hi < r.hi) {
				r.hi = x->hi;
				r.lo = x->lo;
			}
		} else {
			r = how_extreme(&r, x, h, sign);
		}
	}
	r.dtype = (uint8_t)h->dt;
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}

/* Does entry x come before y in the order of the list for certain? 1, 0 or -1. Largest first for sign > 0; NaN before all. */
static int before(const struct num *x, const struct num *y, int sign)
{
	bool f = dtype_is_float((enum dtype)x->dtype);
	bool nx = f && x->flags & (NUM_NAN | NUM_ANY), ny = f && y->flags & (NUM_NAN | NUM_ANY);
	if (nx || ny) {
		bool sure_x = nx && x->flags & NUM_NOFIN && !(x->flags & (NUM_INF | NUM_ANY)),
			 sure_y = ny && y->flags & NUM_NOFIN && !(y->flags & (NUM_INF | NUM_ANY));
		if (sure_x && !ny)
			return 1;
		if (sure_y)
			return 0;
		return -1;
	}
	return sign > 0 ? num_lt(y, x) : num_lt(x, y);
}

static int block_sign(const struct tape_block *b) { return b->f == SF_KMIN || b->f == SF_KARGMIN ? -1 : 1; }

/* Order-preserving key of a number: NaN above +inf, both zeros equal. */
static int64_t key_of(double d)
{
	int64_t k;
	d += 0.0;
	memcpy(&k, &d, sizeof k);
	return isnan(d) ? INT64_MAX : k < 0 ? INT64_MIN - k : k;
}

/* Smallest and largest key that an entry may have in the order of before(): low(x) > high(y) only if x surely comes before y. */
static void key_range(int64_t *low, int64_t *high, const struct num *x, int sign)
{
	if (!dtype_is_float((enum dtype)x->dtype)) {
		bool open = x->flags & (NUM_UNDEC | NUM_ANY);
		*low = open ? INT64_MIN : sign > 0 ? x->i : ~x->i;
		*high = open ? INT64_MAX : *low;
		return;
	}
	double lo = INFINITY, hi = -INFINITY;
	bool any = x->flags & NUM_ANY, nan = x->flags & NUM_NAN;
	if (!(x->flags & NUM_NOFIN)) {
		lo = sign > 0 ? num_low(x) : -num_high(x);
		hi = sign > 0 ? num_high(x) : -num_low(x);
	}
	if (any || x->flags & (sign > 0 ? NUM_NINF : NUM_PINF))
		lo = -INFINITY, hi = fmax(hi, -INFINITY);
	if (x->flags & (sign > 0 ? NUM_PINF : NUM_NINF))
		lo = fmin(lo, INFINITY), hi = INFINITY;
	bool only_nan = nan && x->flags & NUM_NOFIN && !(x->flags & (NUM_INF | NUM_ANY));
	*low = only_nan ? INT64_MAX : key_of(lo);
	*high = any || nan ? INT64_MAX : key_of(hi);
}

/* The k-th smallest of v[0..n), by Hoare's selection; v is permuted. */
static int64_t kth(int64_t *v, int64_t n, int64_t k)
{
	int64_t a = 0, b = n - 1;
	while (a < b) {
		int64_t pivot = v[a + (b - a) / 2], i = a, j = b;
		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				int64_t x = v[i];
				v[i++] = v[j];
				v[j--] = x;
			}
		}
		if (k <= j)
			b = j;
		else if (k >= i)
			a = i;
		else
			break;
	}
	return v[k];
}

/* Entry i may have rank k if at most k entries surely precede it and at least k entries may precede it: its high end reaches
 * the (k+1)-th largest low end, and its low end is not above the (n-k)-th smallest high end. */
int64_t pick_candidates(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, bool *cand)
{
	int64_t k = (int64_t)fmax(b->param, 0), count = 0;
	int sign = block_sign(b);
	const struct num *v = t->val;
	if (k == 0) {
		/* One pass finds an entry that nothing surely precedes; candidates are those that it does not surely precede. */
		int64_t best = 0;
		for (int64_t i = 1; i < n; i++)
			if (before(&v[e[i]], &v[e[best]], sign) == 1)
				best = i;
		for (int64_t i = 0; i < n; i++) {
			cand[i] = i == best || before(&v[e[best]], &v[e[i]], sign) != 1;
			count += cand[i];
		}
		return count;
	}
	struct arena_mark m = arena_mark(t->arena);
	int64_t *low = ARENA_NEW(t->arena, int64_t, n), *high = ARENA_NEW(t->arena, int64_t, n), *work = ARENA_NEW(t->arena, int64_t, n);
	for (int64_t i = 0; i < n; i++)
		key_range(&low[i], &high[i], &v[e[i]], sign);
	memcpy(work, low, (size_t)n * sizeof *work);
	int64_t least_high = kth(work, n, n - 1 - k);
	memcpy(work, high, (size_t)n * sizeof *work);
	int64_t most_low = kth(work, n, n - 1 - k);
	for (int64_t i = 0; i < n; i++) {
		cand[i] = high[i] >= least_high && low[i] <= most_low;
		count += cand[i];
	}
	arena_release(t->arena, m);
	return count;
}

/* It is one value for certain: a number, an infinity, NaN. */
static bool one_value(const struct num *x)
{
	if (!dtype_is_float((enum dtype)x->dtype))
		return !(x->flags & (NUM_UNDEC | NUM_ANY));
	int kinds = !!(x->flags & NUM_PINF) + !!(x->flags & NUM_NINF) + !!(x->flags & NUM_NAN);
	return num_is_exact(x) || (x->flags & NUM_NOFIN && !(x->flags & (NUM_UNDEC | NUM_ANY)) && kinds == 1);
}

int64_t pick_first(const struct tape *t, const sid *e, int64_t n, const bool *cand)
{
	int64_t first = -1;
	for (int64_t i = 0; i < n; i++) {
		if (cand[i] && !one_value(&t->val[e[i]]))
			return -1;
		if (cand[i] && first < 0)
			first = i;
	}
	return first;
}

bool surely_equal(const struct num *x, const struct num *y)
{
	if (!one_value(x) || !one_value(y))
		return false;
	if (!dtype_is_float((enum dtype)x->dtype))
		return x->i == y->i;
	return x->hi == y->hi || (isnan(x->hi) && isnan(y->hi));
}

bool pick_is_tied(const struct tape *t, const sid *e, int64_t n, const bool *cand)
{
	int64_t first = 0;
	while (first < n && !cand[first])
		first++;
	for (int64_t i = first; i < n; i++)
		if (cand[i] && !surely_equal(&t->val[e[first]], &t->val[e[i]]))
			return false;
	return true;
}

struct num nary_pick(const struct tape *t, const struct tape_block *b, const sid *e, int64_t n, const struct how *h)
{
	int64_t first = -1, last = -1;
	struct arena_mark m = arena_mark(t->arena);
	bool *cand = ARENA_NEW(t->arena, bool, n + 1);
	pick_candidates(t, b, e, n, cand);
	struct num r = {0};
	for (int64_t i = 0; i < n; i++) {
		if (!cand[i])
			continue;
		const struct num *x = &t->val[e[i]];
		if (first < 0)
			r = *x;
		else if (h->l)
			r = num_hull(&r, x);
		else if (!surely_equal(&r, x))
			r = num_any(h->dt);
		first = first < 0 ? i : first;
		last = i;
	}
	CHECK(first >= 0);
	if (b->f == SF_KARGMAX || b->f == SF_KARGMIN) {
		r = num_int(DT_I64, first);
		if (last != first && !(b->param == PICK_FIRST && pick_first(t, e, n, cand) >= 0)) {
			r.flags = NUM_UNDEC | (pick_is_tied(t, e, n, cand) ? NUM_TIED : 0);
			r.rad = (double)(last - first);
			for (int64_t i = first; i <= last && last - first < 64; i++)
				r.among |= (uint64_t)cand[i] << (i - first);
		}
	}
	arena_release(t->arena, m);
	r.flags &= ~NUM_MOVED;
	return r;
}

struct num nary_one_of(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	struct num r = t->val[e[0]];
	for (int64_t i = 1; i < n; i++) {
		const struct num *x = &t->val[e[i]];
		if (h->l)
			r = num_either(&r, x);
		else if (!surely_equal(&r, x))
			r = num_any(h->dt);
	}
	r.flags &= (uint8_t)~NUM_MOVED;
	return r;
}

struct num nary_any_all(const struct tape *t, const sid *e, int64_t n, int want)
{
	bool open = false;
	for (int64_t i = 0; i < n; i++) {
		int x = num_truth(&t->val[e[i]]);
		if (x == want)
			return num_int(DT_B8, want);
		open = open || x == -1;
	}
	struct num r = num_int(DT_B8, open ? 0 : !want);
	if (open) {
		r.flags = NUM_UNDEC;
		r.rad = 1;
	}
	return r;
}
