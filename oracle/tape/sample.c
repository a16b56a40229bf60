/* sample.c: see sample.h. */
#include "oracle/tape/sample.h"

/* In [-1, 1). */
static double noise(uint64_t seed, sid id, enum sample_kind kind)
{
	return (double)(int64_t)mix64(seed ^ mix64((uint64_t)id * 2 + (uint64_t)kind)) * 0x1p-63;
}

static struct num one_int(const struct num *v, enum dtype dt, double u)
{
	if (v->flags & NUM_ANY || !(v->flags & NUM_UNDEC))
		return *v;
	int64_t k = (int64_t)floor((u + 1) / 2 * (v->rad + 1));
	while (v->among && !(v->among >> k & 1))
		k = (k + 1) & 63;
	return num_int(dt, wrap_add(v->i, k));
}

/* The part of a sum's radius that is drawn from (sample.h). */
static double part_of(struct sample_of of)
{
	if (of.n <= 4 || of.p < num_format[DT_F32].p)
		return 1;
	return (of.p == num_format[DT_F32].p ? 1 / sqrt(3) : 2) / sqrt((double)of.n);
}

/* A number of dt near x that is in v; of f32 where none is: what is kept there, or a set of unrounded numbers. */
static double number_in(const struct num *v, enum dtype dt, struct dd x, bool kept)
{
	const enum dtype wide = dt == DT_F64 ? DT_F64 : DT_F32, in[4] = {kept ? wide : dt, dt, wide, wide};
	const struct dd near[2] = {x, num_dd(v)};
	for (int k = 0; k < 4; k++) {
		const double y = num_rn(in[k], near[k % 2].hi, near[k % 2].lo);
		if (num_has(v, y))
			return y;
	}
	return num_rn(dt, v->hi, v->lo);
}

struct num sample_one(const struct num *v, enum dtype dt, uint64_t seed, sid id, enum sample_kind kind, struct sample_of of)
{
	if (v->flags & NUM_ANY || (v->rad == 0 && v->lo == 0 && !(v->flags & ~NUM_MOVED)))
		return *v;
	double u = noise(seed, id, kind);
	if (!dtype_is_float(dt))
		return one_int(v, dt, u);
	if (v->flags & NUM_NOFIN) {
		double may_be[3];
		int n = 0;
		if (v->flags & NUM_PINF)
			may_be[n++] = INFINITY;
		if (v->flags & NUM_NINF)
			may_be[n++] = -INFINITY;
		if (v->flags & NUM_NAN)
			may_be[n++] = NAN;
		return num_exact(dt, n ? may_be[(int)((u + 1) / 2 * n) % n] : v->hi);
	}
	/* A denormal that may be flushed: zero is the set's edge, and what lies beyond the centre is there only because sets are balls. */
	const struct num_format *f = &num_format[dt];
	if (fabs(v->hi) < f->normal * 2 && v->rad >= fabs(v->hi) && v->rad <= fabs(v->hi) * (1 + 0x1p-18) + 4 * f->tiny)
		u = v->hi > 0 ? -fabs(u) : fabs(u);
	double rad = v->rad > SAMPLE_PADDING ? v->rad : 0, part = part_of(of);
	struct dd x = dd_add_d(num_dd(v), rad * part * u);
	bool kept = of.wide && dt != DT_F64 && noise(seed + 1, id, kind) < 0;
	return num_exact(dt, number_in(v, dt, x, kept));
}

bool sample_coin(uint64_t seed, sid id) { return noise(seed, id, SAMPLE_VALUE) < 0; }

void sample_block(struct tape *t, const struct tape_block *b)
{
	const struct lic_rule *l = block_how(t, b).l;
	int arity = sf_info[b->f].arity;
	struct sample_of of = {1, l ? num_format[l->acc].p : 0, l && l->flags & LF_WIDE};
	for (int64_t i = 0; i < b->n; i++) {
		of.n = arity > 0 ? 1 : b->len;
		if (arity == -1)
			block_list(b, i, &of.n);
		if (b->f == SF_SUM && b->param > 0) /* as many roundings as its radius was made of */
			of.n = MIN(of.n, (int64_t)b->param + 1);
		if (b->f == SF_LSE || b->f == SF_CUMPROD || arity < SF_ROWS) /* their errors are no sums of independent ones */
			of.n = 1;
		struct num *v = &t->val[b->first + i];
		*v = sample_one(v, b->dt, t->sample, b->first + (sid)i, SAMPLE_VALUE, of);
	}
}
