/* compare.c: elements against their sets, and the shape of an error. */
#include "oracle/judge/compare.h"

const char *const pattern_name[NPATTERNS] = {
	[PAT_NONE] = "none",
	[PAT_ALL_ZERO] = "all zero",
	[PAT_NAN] = "nan",
	[PAT_INF] = "inf",
	[PAT_SCALED] = "scaled",
	[PAT_CONSTANT] = "constant",
	[PAT_PERMUTED] = "permuted",
	[PAT_SHIFTED] = "shifted",
	[PAT_STALE] = "stale",
	[PAT_ROW] = "rows",
	[PAT_SINGLE] = "single element",
	[PAT_ULP] = "last bits",
	[PAT_OTHER] = "other",
	[PAT_OVERWRITTEN] = "overwritten by a later call",
};

static double got_at(enum dtype dt, const void *data, int64_t k)
{
	return dtype_load_f(dt, (const unsigned char *)data + k * dtype_nbytes(dt));
}

static enum element compare_int(const struct num *want, int64_t got)
{
	if (want->flags & NUM_ANY)
		return EL_UNDECIDED;
	if (want->flags & NUM_UNDEC) {
		bool inside = got >= want->i && got <= wrap_add(want->i, (int64_t)want->rad);
		return inside && (!want->among || want->among >> (got - want->i) & 1) ? EL_UNDECIDED : EL_DISAGREE;
	}
	return got == want->i ? EL_AGREE : EL_DISAGREE;
}

/* Sets hold every value that is right: one that holds a single value leaves nothing open, whatever was open on the way. */
static bool one_value_only(const struct num *want, enum dtype dt)
{
	double max = num_format[dt].max;
	int others = !!(want->flags & NUM_PINF) + !!(want->flags & NUM_NINF) + !!(want->flags & NUM_NAN);
	if (want->flags & NUM_ANY)
		return false;
	if (want->flags & NUM_NOFIN || num_low(want) > max || num_high(want) < -max) /* a tensor of dt holds none of the finite ones */
		return others == 1;
	return others == 0 && want->rad == 0 && want->lo == 0;
}

enum element compare_element(const struct num *want, enum dtype dt, const void *data, int64_t k)
{
	if (!dtype_is_float(dt))
		return compare_int(want, dtype_load_i(dt, (const unsigned char *)data + k * dtype_nbytes(dt)));
	double got = got_at(dt, data, k);
	if (!num_has(want, got))
		return EL_DISAGREE;
	if (want->flags & NUM_MOVED && want->hi == 0 && got == 0 && signbit(want->hi) != signbit(got))
		return EL_DISAGREE;
	/* More than one kind of value possible (a possible NaN, an optional overflow): legal, not confirmed. */
	int kinds = !(want->flags & NUM_NOFIN) + !!(want->flags & NUM_PINF) + !!(want->flags & NUM_NINF) + !!(want->flags & NUM_NAN);
	bool open = want->flags & (NUM_UNDEC | NUM_ANY) || kinds > 1;
	return open && !one_value_only(want, dt) ? EL_UNDECIDED : EL_AGREE;
}

bool element_is_weak(const struct num *w) { return !(w->flags & NUM_SPECIAL) && w->rad > fabs(w->hi) / 2; }

static double distance(const struct num *w, enum dtype dt, double got)
{
	if (!isfinite(got) || w->flags & NUM_SPECIAL)
		return INFINITY;
	double unit = w->rad + 2 * num_half_ulp(&num_format[dt], fabs(w->hi));
	return fabs(got - w->hi) / unit;
}

static double wanted(const struct num *w) { return dtype_is_float((enum dtype)w->dtype) ? w->hi : (double)w->i; }

static void take_sample(struct compared *out, const struct num *w, enum dtype dt, const void *data, int64_t k)
{
	double got = got_at(dt, data, k);
	if (dtype_is_float(dt)) {
		out->worst = fmax(out->worst, distance(w, dt, got));
		out->nwrong_exact += num_is_exact(w);
	} else {
		out->worst = INFINITY;
		out->nwrong_exact++;
	}
	if (out->nsample == MAX_SAMPLES)
		return;
	struct sample *s = &out->sample[out->nsample++];
	*s = (struct sample){k, wanted(w), wanted(w), got, (uint8_t)w->flags};
	if (dtype_is_float(dt) && !(w->flags & NUM_NOFIN)) {
		s->low = num_low(w);
		s->high = num_high(w);
	}
}

/* ---- patterns ---- */
struct view {
	const struct num *want;
	int64_t n;
	const struct meta *meta;
	const void *data;
};

static enum dtype dt_of(const struct view *v) { return v->meta->dtype; }
static double got_of(const struct view *v, int64_t k) { return got_at(dt_of(v), v->data, k); }
static bool wrong(const struct view *v, int64_t k) { return compare_element(&v->want[k], dt_of(v), v->data, k) == EL_DISAGREE; }

/* Near enough to be called equal when patterns are looked for: the set, a little inflated. */
static bool near(const struct num *w, enum dtype dt, double factor, double got)
{
	double want = wanted(w) * factor;
	double unit = dtype_is_float(dt) ? fabs(factor) * w->rad + 8 * num_half_ulp(&num_format[dt], fabs(want)) : 0;
	return want == got || fabs(got - want) <= unit;
}

static bool all_got(const struct view *v, bool *zero, bool *constant)
{
	*zero = *constant = v->n > 0;
	double first = got_of(v, 0);
	for (int64_t k = 0; k < v->n; k++) {
		double g = got_of(v, k);
		*zero = *zero && g == 0;
		*constant = *constant && (g == first || (isnan(g) && isnan(first)));
	}
	return *zero || *constant;
}

static bool wrong_ones(const struct view *v, bool (*test)(double))
{
	for (int64_t k = 0; k < v->n; k++)
		if (wrong(v, k) && !test(got_of(v, k)))
			return false;
	return true;
}
static bool test_nan(double g) { return isnan(g); }
static bool test_inf(double g) { return isinf(g); }

/* One ratio for every wrong element that should not be zero; at least two of them, or one in a tensor of one. */
static bool scaled(const struct view *v, double *ratio)
{
	int64_t seen = 0;
	double r = 0;
	for (int64_t k = 0; k < v->n; k++) {
		double w = wanted(&v->want[k]);
		if (!wrong(v, k))
			continue;
		if (w == 0 || !isfinite(w) || v->want[k].flags & NUM_SPECIAL || !isfinite(got_of(v, k)))
			return false;
		if (!seen++)
			r = got_of(v, k) / w;
		if (!near(&v->want[k], dt_of(v), r, got_of(v, k)))
			return false;
	}
	*ratio = r;
	return seen >= 2 && r != 0;
}

static bool shifted(const struct view *v, int64_t *shift)
{
	for (int64_t s = -8; s <= 8; s++) {
		if (s == 0 || v->n < 4)
			continue;
		int64_t hits = 0;
		bool ok = true;
		for (int64_t k = MAX(0, -s); k < MIN(v->n, v->n - s) && ok; k++, hits++)
			ok = near(&v->want[k + s], dt_of(v), 1, got_of(v, k));
		if (ok && hits > v->n / 2) {
			*shift = s;
			return true;
		}
	}
	return false;
}

/* The same multiset: each wrong value is found among the wanted ones of other wrong places (small tensors only). */
static bool permuted(const struct view *v)
{
	int64_t nwrong = 0, budget = 1 << 20;
	bool varied = false;
	for (int64_t k = 0; k < v->n; k++) {
		if (!wrong(v, k))
			continue;
		bool found = false;
		nwrong++;
		for (int64_t j = 0; j < v->n && !found && budget > 0; j++, budget--)
			found = wrong(v, j) && near(&v->want[j], dt_of(v), 1, got_of(v, k));
		if (!found)
			return false;
		varied = varied || got_of(v, k) != 0;
	}
	return nwrong >= 2 && varied;
}

static bool is_stale(const struct view *v, const struct stale *s)
{
	if (s->n != v->n || v->n < 2)
		return false;
	int64_t nonzero = 0;
	for (int64_t k = 0; k < v->n; k++) {
		if (wrong(v, k) && !near(&s->val[k], dt_of(v), 1, got_of(v, k)))
			return false;
		nonzero += wrong(v, k) && got_of(v, k) != 0;
	}
	return nonzero > 1;
}

/* The wrong elements are exactly the hyperplanes of some indices of one dim, and not everything. */
static bool whole_rows(const struct view *v)
{
	const struct meta *m = v->meta;
	int64_t inner = v->n;
	for (int d = 0; d < m->rank; d++) {
		inner /= m->size[d];
		if (m->size[d] < 2 || v->n / m->size[d] < 2)
			continue;
		bool ok = true;
		int64_t bad = 0;
		for (int64_t i = 0; i < m->size[d] && ok; i++) {
			int64_t w = 0, all = 0;
			for (int64_t k = i * inner; k < v->n; k += m->size[d] * inner)
				for (int64_t q = 0; q < inner; q++, all++)
					w += wrong(v, k + q);
			ok = w == 0 || 2 * w > all; /* a row may hold values that are right by chance */
			bad += w != 0;
		}
		if (ok && bad < m->size[d])
			return true;
	}
	return false;
}

static enum pattern classify(struct compared *out, const struct view *v, const struct stale *stale, int nstale)
{
	bool zero, constant;
	all_got(v, &zero, &constant);
	if (zero && v->n > 1)
		return PAT_ALL_ZERO;
	if (wrong_ones(v, test_nan))
		return PAT_NAN;
	if (wrong_ones(v, test_inf))
		return PAT_INF;
	if (out->worst <= 8 && dtype_is_float(dt_of(v)))
		return PAT_ULP;
	if (out->count[EL_DISAGREE] == 1)
		return PAT_SINGLE;
	if (scaled(v, &out->ratio))
		return PAT_SCALED;
	for (int i = 0; i < nstale; i++)
		if (is_stale(v, &stale[i]))
			return PAT_STALE;
	if (constant)
		return PAT_CONSTANT;
	if (shifted(v, &out->shift))
		return PAT_SHIFTED;
	if (permuted(v))
		return PAT_PERMUTED;
	if (whole_rows(v))
		return PAT_ROW;
	return PAT_OTHER;
}

/* In doubles, one after the other. */
static void add_up(struct compared *out, const struct view *v)
{
	double size = 0;
	for (int64_t k = 0; k < v->n; k++) {
		const struct num *w = &v->want[k];
		double half = dtype_is_float(dt_of(v)) ? w->rad + num_half_ulp(&num_format[dt_of(v)], fabs(w->hi)) : 0;
		out->want_sum += w->flags & NUM_SPECIAL ? NAN : wanted(w);
		out->got_sum += got_of(v, k);
		out->sum_radius += half;
		size += fabs(wanted(w)) + fabs(got_of(v, k));
	}
	out->sum_radius += (double)v->n * 0x1p-53 * size;
}

void compare_values(struct compared *out, const struct num *want, int64_t n, const struct meta *meta, const void *data,
	const struct stale *stale, int nstale)
{
	memset(out, 0, sizeof *out);
	out->n = n;
	for (int64_t k = 0; k < n; k++) {
		enum element e = compare_element(&want[k], meta->dtype, data, k);
		out->count[e]++;
		bool f = dtype_is_float(meta->dtype);
		out->exact += f ? num_is_exact(&want[k]) : !(want[k].flags & (NUM_UNDEC | NUM_ANY));
		out->weak += f && e == EL_AGREE && element_is_weak(&want[k]);
		if (e == EL_DISAGREE)
			take_sample(out, &want[k], meta->dtype, data, k);
	}
	struct view v = {want, n, meta, data};
	if (!out->count[EL_DISAGREE])
		return;
	out->pattern = classify(out, &v, stale, nstale);
	add_up(out, &v);
}

double compared_ratio(double *within, const struct compared *c)
{
	const double size = fabs(c->want_sum);
	const double ratio = size > 16 * c->sum_radius ? c->got_sum / c->want_sum : NAN;
	if (within)
		*within = c->sum_radius / size * (1 + fabs(ratio));
	return ratio;
}
