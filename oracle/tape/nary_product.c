/* nary_product.c: products of lists, and scans. What partial products of any order come to at most and at least is kept beside the product,
 * so that those that leave the format are seen; a scan is a sum or product whose partial ones are all results. */
#include "oracle/num/func_impl.h"
#include "oracle/tape/nary_impl.h"

/* ---- products ---- */
/* p: the product of the numbers so far. big, small: no partial product is larger, or nearer to 0. A scan (in_order) multiplies neighbours
 * only, so its partial products are of runs: those that end here come to rise at most, and to fall at least. nothing: a factor is exactly
 * 0, and all are finite. */
struct prod_state {
	struct num p;
	double big, small, n, rise, fall;
	bool exact, zero, in_order, nothing, special;
};

static void prod_step(struct prod_state *s, const struct num *x)
{
	double m = num_mag(x);
	s->exact = s->exact && num_is_exact(x);
	s->p = num_mul(&s->p, x);
	s->exact = s->exact && s->p.lo == 0 && s->p.rad == 0;
	double least = fabs(x->hi) - x->rad, low = least > 0 ? least : 1;
	if (s->in_order) {
		s->rise = fmax(s->rise, 1) * m;
		s->fall = least > 0 ? fmin(s->fall, 1) * low : 1;
		s->big = fmax(s->big, s->rise);
		s->small = fmin(s->small, s->fall);
	} else {
		s->big *= fmax(m, 1);
		s->small *= fmin(low, 1);
	}
	s->zero = s->zero || least <= 0;
	s->nothing = s->nothing || (num_is_exact(x) && x->hi == 0);
	s->special = s->special || x->flags & NUM_SPECIAL;
	s->n++;
}

static struct prod_state prod_begin(bool in_order)
{
	return (struct prod_state){.p = num_exact(DT_F64, 1), .big = 1, .small = 1, .rise = 1, .fall = 1, .exact = true, .in_order = in_order};
}

/* Partial products are rounded, too. */
static bool may_overflow(const struct prod_state *s, const struct num_format *acc)
{
	double limit = fmin(acc->overflow, DBL_MAX);
	return s->big >= limit * 0.5 && s->big * exp(2 * s->n * acc->u) >= limit;
}

/* A factor is 0, and none is infinite or NaN: every partial product with it is 0, unless one without it overflows and meets it. */
static struct num prod_of_nothing(const struct prod_state *s, const struct how *h)
{
	struct num r = num_exact(h->dt, 0);
	if (may_overflow(s, &num_format[h->l->acc]))
		r.flags |= NUM_NAN;
	return r;
}

/* What becomes of a product some of whose partial products overflow or underflow, as the order has it; m bounds it from above. An
 * infinity has the sign of the whole product, and where no factor is below 1 it is sure if the whole product overflows, impossible if
 * that does not. */
static void partial_products(struct num *r, const struct prod_state *s, double m, const struct num_format *acc)
{
	bool lost = s->zero || s->small < acc->normal;
	if (!may_overflow(s, acc) && !(r->flags & NUM_INF && s->small < acc->normal))
		return;
	if (lost)
		r->flags |= NUM_INF | NUM_NAN;
	else if (s->small < 1 || m >= acc->overflow)
		r->flags |= s->p.hi < 0 ? NUM_NINF : NUM_PINF;
}

/* A product beyond double: infinity in any order, unless a partial product underflows. */
static struct num prod_beyond(const struct prod_state *s, struct num r, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc];
	bool single = s->n == 2 && s->p.rad == 0;
	if (s->zero || s->small < acc->normal)
		return num_any(h->dt);
	if (!single)
		num_widen(&r, s->n * acc->u * num_mag(&r) * (1 + s->n * acc->u));
	num_round(&r, h->dt, (int)(h->l->flags & (single ? LF_ROUND : LF_INEXACT)));
	return r;
}

static struct num prod_finish(const struct prod_state *s, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc];
	if (s->nothing && !s->special)
		return prod_of_nothing(s, h);
	struct num r = s->p;
	if (UNLIKELY(r.flags & NUM_BEYOND))
		return prod_beyond(s, r, h);
	bool safe = s->big < acc->overflow && s->small >= acc->normal;
	r.dtype = (uint8_t)h->dt;
	if (r.flags & NUM_INF && s->small < acc->normal)
		r.flags |= NUM_INF | NUM_NAN; /* inf * (partial product that underflowed to 0) */
	if (r.flags & (NUM_NOFIN | NUM_ANY))
		return r;
	bool exact = s->exact && num_fits(h->l->acc, r.hi, r.lo) && (safe || (r.hi == 0 && s->big < acc->overflow));
	if (exact || (s->n == 2 && s->p.rad == 0) || s->n < 2) {
		num_round(&r, h->dt, (int)(h->l->flags & LF_ROUND));
		return r;
	}
	double m = num_mag(&r);
	if (m != 0 || !safe) {
		num_widen(&r, s->n * acc->u * m * (1 + s->n * acc->u));
		if (s->small < acc->normal || s->zero) /* a partial product may underflow, then be multiplied */
			num_widen(&r, s->n * s->big * how_least(h, acc));
		num_round(&r, h->dt, (int)(h->l->flags & LF_INEXACT));
		partial_products(&r, s, m, acc);
	}
	return r;
}

struct num nary_prod(const struct tape *t, const sid *e, int64_t n, const struct how *h)
{
	if (!h->l) {
		int64_t p = 1;
		for (int64_t i = 0; i < n; i++) {
			if (t->val[e[i]].flags & (NUM_UNDEC | NUM_ANY))
				return num_any(h->dt);
			p = wrap_mul(p, t->val[e[i]].i);
		}
		return num_int(h->dt, num_wrap(h->dt, p));
	}
	struct prod_state s = prod_begin(false);
	for (int64_t i = 0; i < n; i++)
		prod_step(&s, &t->val[e[i]]);
	return prod_finish(&s, h);
}

/* ---- scans ---- */
/* A scan leaves double: from here on its total and its reach are scaled down. */
static struct num scan_down(const struct num *total, struct num_reach *reach)
{
	reach->up = num_down(&(struct num){.hi = reach->up}).hi;
	reach->down = num_down(&(struct num){.hi = reach->down}).hi;
	return num_down(total);
}

static struct num scan_beyond(
	struct num *total, struct num_reach *reach, const struct num *x, int64_t i, double per_step, const struct how *h)
{
	struct num low = num_down(x);
	*total = num_add(total, &low);
	num_reach_add(reach, &low);
	return num_huge_sum(
		num_dd(total), reach, total->rad, i <= 1 && total->rad == 0 ? 0 : ((double)i + 1) * per_step, (int)(h->l->flags & LF_ROUND));
}

void cumsum_row(struct num *out, const struct num *in, int64_t len, const struct how *h)
{
	const struct num_format *acc = &num_format[h->l->acc];
	struct sum_bounds s = {.exact = true};
	struct dd c = {0, 0};
	struct num special = num_exact(DT_F64, 0);
	struct num_reach reach = {0};
	struct num total = special; /* scaled down, where it leaves double */
	bool folded = false, huge = false;
	int qexp = 1 << 20;
	double per_step = acc->u + (dtype_is_narrow(h->l->acc) ? num_format[DT_F32].u : 0); /* halves are added in f32, then rounded */
	for (int64_t i = 0; i < len; i++) {
		const struct num *x = &in[i];
		s.flags |= x->flags;
		if (s.flags & NUM_SPECIAL) {
			if (!folded && huge)
				special = num_any(DT_F64);
			else if (!folded)
				special = (struct num){.hi = c.hi, .lo = c.lo, .rad = s.rad, .dtype = DT_F64};
			folded = true;
			num_reach_add(&reach, x);
			s.abs += x->flags & NUM_NOFIN ? 0 : num_mag(x);
			special = num_add(&special, x);
			if (special.flags & NUM_BEYOND)
				special = num_any(DT_F64);
			out[i] = special;
			out[i].dtype = (uint8_t)h->dt;
			num_reach_overflow(
				&out[i], &reach, ((double)i + 1) * (per_step + 0x1p-52), fmin(acc->overflow, DBL_MAX), special.flags & NUM_NOFIN);
			if (!(special.flags & (NUM_NOFIN | NUM_ANY))) {
				num_widen(&out[i], (double)i * per_step * s.abs);
				num_round(&out[i], h->dt, (int)(h->l->flags & LF_INEXACT));
			}
			continue;
		}
		if (huge || (h->dt == DT_F64 && num_overflowed(dd_add(c, num_dd(x)), s.abs + num_mag(x)))) {
			if (!huge)
				total = scan_down(&(struct num){.hi = c.hi, .lo = c.lo, .rad = s.rad}, &reach);
			huge = true;
			out[i] = scan_beyond(&total, &reach, x, i, per_step, h);
			if (s.flags & NUM_UNDEC)
				out[i] = num_any(h->dt);
			continue;
		}
		c = dd_add(c, num_dd(x));
		num_reach_add(&reach, x);
		s.abs += num_mag(x);
		s.rad += x->rad;
		if (x->rad != 0)
			s.exact = false;
		else if (x->hi != 0)
			qexp = MIN(qexp, last_bit(x->hi));
		struct sum_bounds now = s;
		now.exact = s.exact && (s.abs == 0 || num_exp(s.abs) + 1 - qexp <= acc->p);
		out[i] = sum_finish(c, &now, (double)i * (per_step / acc->u), i <= 1, h);
		if (s.abs >= acc->overflow)
			num_reach_overflow(&out[i], &reach, ((double)i + 1) * (per_step + 0x1p-52), acc->overflow, false);
	}
}

void nary_cumsum(struct tape *t, const struct tape_block *b, const struct how *h)
{
	int64_t rows = b->len ? b->n / b->len : 0;
	struct arena_mark m = arena_mark(t->arena);
	struct num *in = ARENA_NEW(t->arena, struct num, b->len + 1);
	for (int64_t r = 0; r < rows; r++) {
		struct num *out = &t->val[b->first + r * b->len];
		int64_t whole = 0;
		bool open = false;
		for (int64_t i = 0; i < b->len; i++) {
			in[i] = t->val[b->a[r * b->len + i]];
			whole = h->l ? 0 : wrap_add(whole, in[i].i);
			open = open || in[i].flags & (NUM_UNDEC | NUM_ANY);
			if (!h->l)
				out[i] = open ? num_any(b->dt) : num_int(b->dt, num_wrap(b->dt, whole));
		}
		if (h->l)
			cumsum_row(out, in, b->len, h);
	}
	arena_release(t->arena, m);
}

void nary_cumprod(struct tape *t, const struct tape_block *b, const struct how *h)
{
	int64_t rows = b->len ? b->n / b->len : 0;
	sid out = b->first;
	for (int64_t r = 0; r < rows; r++) {
		const sid *e = b->a + r * b->len;
		struct prod_state s = prod_begin(true);
		for (int64_t i = 0; i < b->len; i++) {
			if (!h->l) {
				t->val[out++] = nary_prod(t, e, i + 1, h);
				continue;
			}
			prod_step(&s, &t->val[e[i]]);
			t->val[out++] = prod_finish(&s, h);
		}
	}
}
