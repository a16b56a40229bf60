/* spread.c: see spread.h. Per call: the ends of what a dozen evaluations give for each element, then the target's elements against them. */
#include "oracle/judge/spread.h"

#include "oracle/tape/sample.h"

struct ends {
	double low, high;
}; /* low > high: not known (an evaluation is not finite, or undecided) */
static const struct ends unknown = {INFINITY, -INFINITY};

static const struct ref_value *value_of(const struct reference *ref, const struct tensor_verdict *v)
{
	return v->role == TR_OUTPUT ? &ref->out[v->index] : &ref->grad[v->index];
}

/* Results of this call that have elements which agree without being exact. */
static bool is_open(const struct tensor_verdict *v, int call)
{
	return v->call == call && v->role != TR_STORAGE && v->cmp.count[EL_AGREE] > v->cmp.exact + v->cmp.tied;
}

/* One evaluation of one tensor: its elements move the ends. */
static void stretch(struct ends *e, const struct ref_value *v, bool first)
{
	for (int64_t k = 0; k < v->n; k++) {
		const struct num *x = &v->val[k];
		bool known = num_is_exact(x) && (first || e[k].low <= e[k].high);
		e[k] = !known ? unknown : first ? (struct ends){x->hi, x->hi} : (struct ends){fmin(e[k].low, x->hi), fmax(e[k].high, x->hi)};
	}
}

static bool far_away(const struct ends *e, enum dtype dt, double got)
{
	double middle = e->low / 2 + e->high / 2, half = e->high / 2 - e->low / 2;
	return fabs(got - middle) > SPREAD_FACTOR * half + 4 * num_half_ulp(&num_format[dt], fabs(middle)) + SAMPLE_PADDING;
}

static void compare(struct tensor_verdict *v, const struct ref_value *want, const void *data, const struct ends *e)
{
	enum dtype dt = want->meta.dtype;
	for (int64_t k = 0; k < want->n; k++) {
		double got = dtype_load_f(dt, (const unsigned char *)data + k * dtype_nbytes(dt));
		if (e[k].low > e[k].high || !isfinite(got) || num_is_exact(&want->val[k]) || compare_element(&want->val[k], dt, data, k) != EL_AGREE
			|| !far_away(&e[k], dt, got))
			continue;
		v->cmp.weak -= element_is_weak(&want->val[k]);
		if (v->cmp.suspect++ == 0)
			v->cmp.sample[v->cmp.nsample++] = (struct sample){.index = k, .low = e[k].low, .high = e[k].high, .got = got};
	}
}

/* The ends of all open tensors of a call; false: not known, an evaluation is one that the reference refuses. */
static bool draw(struct ends **ends, const struct judgement *j, const struct judge_case *jc, int call, struct arena *a)
{
	for (int s = 0; s < SPREAD_SAMPLES; s++) {
		struct arena_mark m = arena_mark(a);
		struct reference ref;
		struct err err = {0};
		uint64_t seed = mix64((uint64_t)(call * SPREAD_SAMPLES + s + 1));
		bool ok = ref_sample(&ref, jc->bound[call], jc->licence, jc->limit, seed, a, &err) == REF_OK;
		for (int i = 0; ok && i < j->ntensor; i++)
			if (ends[i])
				stretch(ends[i], value_of(&ref, &j->tensor[i]), s == 0);
		arena_release(a, m);
		if (!ok)
			return false;
	}
	return true;
}

static void one_call(struct judgement *j, const struct judge_case *jc, const struct result_call *got, int call, struct arena *a)
{
	struct ends **ends = ARENA_ZNEW(a, struct ends *, j->ntensor + 1);
	bool some = false;
	for (int i = 0; i < j->ntensor; i++)
		if (is_open(&j->tensor[i], call)) {
			ends[i] = ARENA_NEW(a, struct ends, j->tensor[i].cmp.n);
			some = true;
		}
	if (!some || !draw(ends, j, jc, call, a))
		return;
	for (int i = 0; i < j->ntensor; i++) {
		struct tensor_verdict *v = &j->tensor[i];
		if (!ends[i])
			continue;
		compare(v, value_of(&jc->ref[call], v), v->role == TR_OUTPUT ? got->out[v->index].data : got->grad[v->index].data, ends[i]);
		j->suspect += v->cmp.suspect;
	}
}

static bool long_list(const struct tape_block *b)
{
	if (!dtype_is_float(b->dt) || (b->f != SF_SUM && b->f != SF_SUMPROD && b->f != SF_CUMSUM && b->f != SF_MATMUL))
		return false;
	int64_t n = b->len;
	for (int64_t k = 0; b->start && k < b->n && n < LONG_SUM; k++)
		block_list(b, k, &n);
	return n >= LONG_SUM;
}

bool spread_has_long_sum(const struct judge_case *jc)
{
	for (int c = 0; c < jc->ncalls; c++) {
		const struct reference *ref = &jc->ref[c];
		for (int i = 0; i < ref->tape->nblock; i++)
			if (long_list(&ref->tape->block[i]))
				return true;
		for (int i = 0; i < ref->ngrads; i++)
			for (int64_t k = 0; ref->grad[i].present && k < ref->grad[i].n; k++)
				if (ref->adj[ref->grad[i].leaf + (sid)k].n >= LONG_SUM)
					return true;
	}
	return false;
}

void spread_judge(struct judgement *j, const struct judge_case *jc, const struct result *r, struct arena *a)
{
	if (j->status != JUDGE_PASS)
		return;
	for (int k = 0; k < jc->ncalls; k++)
		one_call(j, jc, &r->call[k], k, a);
}
