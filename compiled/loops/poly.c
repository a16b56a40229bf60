/* poly.c: see poly.h. */
#include "compiled/loops/poly.h"

#include <inttypes.h>

struct poly poly_number(int64_t v)
{
	struct poly p = {.n = v != 0};
	p.term[0].times = v;
	return p;
}

struct poly poly_symbol(int symbol)
{
	struct poly p = {.n = 1};
	CHECK(symbol >= 0 && symbol < MAX_POLY_SYMBOLS);
	p.term[0].times = 1;
	p.term[0].power[symbol] = 1;
	return p;
}

static int degree(const struct poly_term *t)
{
	int sum = 0;
	for (int k = 0; k < MAX_POLY_SYMBOLS; k++)
		sum += t->power[k];
	return sum;
}

/* Higher degrees first, then higher powers of earlier symbols. */
static int before(const struct poly_term *a, const struct poly_term *b)
{
	int order = degree(b) - degree(a);
	for (int k = 0; k < MAX_POLY_SYMBOLS && !order; k++)
		order = b->power[k] - a->power[k];
	return order;
}

static bool add_term(struct poly *p, const struct poly_term *t)
{
	int at = 0;
	while (at < p->n && before(&p->term[at], t) < 0)
		at++;
	if (at < p->n && before(&p->term[at], t) == 0) {
		if (!add_i64(&p->term[at].times, p->term[at].times, t->times))
			return false;
		if (p->term[at].times == 0) {
			memmove(&p->term[at], &p->term[at + 1], (size_t)(p->n - at - 1) * sizeof *p->term);
			p->n--;
		}
		return true;
	}
	if (t->times == 0)
		return true;
	if (p->n == MAX_POLY_TERMS || degree(t) > MAX_POLY_DEGREE)
		return false;
	memmove(&p->term[at + 1], &p->term[at], (size_t)(p->n - at) * sizeof *p->term);
	p->term[at] = *t;
	p->n++;
	return true;
}

bool poly_add(struct poly *out, const struct poly *a, const struct poly *b, int64_t times)
{
	struct poly sum = *a;
	for (int k = 0; k < b->n; k++) {
		struct poly_term t = b->term[k];
		if (!mul_i64(&t.times, t.times, times) || !add_term(&sum, &t))
			return false;
	}
	*out = sum;
	return true;
}

bool poly_multiply(struct poly *out, const struct poly *a, const struct poly *b)
{
	struct poly product = {.n = 0};
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < b->n; j++) {
			struct poly_term t;
			for (int k = 0; k < MAX_POLY_SYMBOLS; k++)
				t.power[k] = a->term[i].power[k] + b->term[j].power[k];
			if (!mul_i64(&t.times, a->term[i].times, b->term[j].times) || !add_term(&product, &t))
				return false;
		}
	*out = product;
	return true;
}

bool poly_is_number(const struct poly *p, int64_t *v)
{
	*v = p->n ? p->term[0].times : 0;
	return p->n == 0 || (p->n == 1 && degree(&p->term[0]) == 0);
}

bool poly_same(const struct poly *a, const struct poly *b)
{
	bool same = a->n == b->n;
	for (int k = 0; same && k < a->n; k++)
		same = a->term[k].times == b->term[k].times && before(&a->term[k], &b->term[k]) == 0;
	return same;
}

unsigned poly_symbols(const struct poly *p)
{
	unsigned all = 0;
	for (int i = 0; i < p->n; i++)
		for (int k = 0; k < MAX_POLY_SYMBOLS; k++)
			all |= p->term[i].power[k] ? 1u << k : 0;
	return all;
}

bool poly_value(int64_t *out, const struct poly *p, const int64_t *value)
{
	int64_t sum = 0;
	for (int i = 0; i < p->n; i++) {
		int64_t v = p->term[i].times;
		for (int k = 0; k < MAX_POLY_SYMBOLS; k++)
			for (int j = 0; j < p->term[i].power[k]; j++)
				if (!mul_i64(&v, v, value[k]))
					return false;
		if (!add_i64(&sum, sum, v))
			return false;
	}
	*out = sum;
	return true;
}

/* ---- proofs ---- */

/* p with each symbol s written as least + s. */
static bool shifted(struct poly *out, const struct poly *p, const int64_t *least)
{
	struct poly sum = {.n = 0};
	for (int i = 0; i < p->n; i++) {
		struct poly product = poly_number(p->term[i].times);
		for (int k = 0; k < MAX_POLY_SYMBOLS; k++)
			for (int j = 0; j < p->term[i].power[k]; j++) {
				const struct poly symbol = poly_symbol(k), from = poly_number(least[k]);
				struct poly factor;
				if (!poly_add(&factor, &symbol, &from, 1) || !poly_multiply(&product, &product, &factor))
					return false;
			}
		if (!poly_add(&sum, &sum, &product, 1))
			return false;
	}
	*out = sum;
	return true;
}

bool poly_is_positive(const struct poly *p, const int64_t *least, bool strict)
{
	struct poly s;
	bool number = false;
	if (!shifted(&s, p, least))
		return false;
	for (int i = 0; i < s.n; i++) {
		if (s.term[i].times < 0)
			return false;
		number |= degree(&s.term[i]) == 0;
	}
	return number || !strict;
}

/* ---- fitting ---- */

static int over(int n, int k)
{
	int c = 1;
	for (int i = 1; i <= k; i++)
		c = c * (n - k + i) / i;
	return c;
}

int fit_points(int nsymbol) { return over(FIT_DEGREE + nsymbol, nsymbol); }
int fit_points_beyond(int nsymbol) { return over(FIT_DEGREE + nsymbol, nsymbol - 1); }

/* The k-th point whose sum is `least` to `most`. */
static void point_of_sum(int out[MAX_POLY_SYMBOLS], int k, int nsymbol, int least, int most)
{
	for (int code = 0;; code++) { /* its digits */
		int rest = code, sum = 0, digit[MAX_POLY_SYMBOLS] = {0};
		for (int i = 0; i < nsymbol; i++, rest /= most + 1)
			sum += digit[i] = rest % (most + 1);
		if (sum < least || sum > most || k-- > 0)
			continue;
		memcpy(out, digit, sizeof digit);
		return;
	}
}

void fit_point(int out[MAX_POLY_SYMBOLS], int k, int nsymbol) { point_of_sum(out, k, nsymbol, 0, FIT_DEGREE); }

void fit_point_beyond(int out[MAX_POLY_SYMBOLS], int k, int nsymbol) { point_of_sum(out, k, nsymbol, FIT_DEGREE + 1, FIT_DEGREE + 1); }

/* The point k as (i, j, ...) is at most `of` in each. */
static bool is_below(const int *point, const int *of)
{
	bool below = true;
	for (int i = 0; i < MAX_POLY_SYMBOLS; i++)
		below &= point[i] <= of[i];
	return below;
}

/* The forward difference of order `of` at the first point. */
static bool difference(int64_t *out, const int *of, int nsymbol, const int64_t *value)
{
	*out = 0;
	for (int k = 0; k < fit_points(nsymbol); k++) {
		int point[MAX_POLY_SYMBOLS], sign = 1;
		int64_t v = value[k];
		fit_point(point, k, nsymbol);
		if (!is_below(point, of))
			continue;
		for (int i = 0; i < nsymbol; i++) {
			sign *= (of[i] - point[i]) % 2 ? -1 : 1;
			if (!mul_i64(&v, v, over(of[i], point[i])))
				return false;
		}
		if (!mul_i64(&v, v, sign) || !add_i64(out, *out, v))
			return false;
	}
	return true;
}

/* *sum += the difference times the product over symbols of ((s - first) / step over of), all times 6 and the steps' powers, so that
 * nothing is divided. */
static bool add_newton(struct poly *sum, int64_t times, const int *of, int nsymbol, const int64_t *first, const int64_t *step)
{
	struct poly product = poly_number(times);
	int64_t rest = 6; /* a multiple of every product of factorials up to FIT_DEGREE */
	for (int i = 0; i < nsymbol; i++)
		for (int k = 0; k < of[i]; k++) {
			const struct poly symbol = poly_symbol(i), from = poly_number(-first[i] - k * step[i]);
			struct poly factor;
			if (!poly_add(&factor, &symbol, &from, 1) || !poly_multiply(&product, &product, &factor))
				return false;
			rest /= k + 1;
		}
	for (int i = 0; i < nsymbol; i++)
		for (int k = of[i]; k < FIT_DEGREE; k++)
			rest *= step[i];
	return poly_add(sum, sum, &product, rest);
}

bool poly_fit(struct poly *out, int nsymbol, const int64_t *first, const int64_t *step, const int64_t *value)
{
	struct poly sum = {.n = 0};
	int64_t all = 6;
	for (int i = 0; i < nsymbol; i++)
		for (int k = 0; k < FIT_DEGREE; k++)
			all *= step[i];
	for (int k = 0; k < fit_points(nsymbol); k++) {
		int of[MAX_POLY_SYMBOLS];
		int64_t times;
		fit_point(of, k, nsymbol);
		if (!difference(&times, of, nsymbol, value) || !add_newton(&sum, times, of, nsymbol, first, step))
			return false;
	}
	for (int i = 0; i < sum.n; i++) {
		if (sum.term[i].times % all)
			return false;
		sum.term[i].times /= all;
	}
	*out = sum;
	return true;
}

/* ---- text ---- */

void poly_print(struct strbuf *sb, const struct poly *p)
{
	if (!p->n)
		sb_puts(sb, "0");
	for (int i = 0; i < p->n; i++) {
		const struct poly_term *t = &p->term[i];
		const bool alone = degree(t) == 0;
		const uint64_t size = t->times < 0 ? 0 - (uint64_t)t->times : (uint64_t)t->times;
		const char *between = "";
		sb_puts(sb, t->times < 0 ? (i ? " - " : "-") : i ? " + " : "");
		for (int k = 0; k < MAX_POLY_SYMBOLS; k++)
			for (int j = 0; j < t->power[k]; j++, between = "*")
				sb_printf(sb, "%ss%d", between, k);
		if (size != 1 || alone)
			sb_printf(sb, "%s%" PRIu64, between, size);
	}
}
