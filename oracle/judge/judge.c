/* judge.c: all calls, all tensors, all facts. */
#include "eager/lang/fill.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "oracle/judge/distinct.h"
#include "oracle/judge/judge_alias.h"
#include "oracle/ref/ref_impl.h"

#include <stdlib.h>

const char *const mismatch_name[NMISMATCH] = {
	[MM_NONE] = "none",
	[MM_VALUE] = "value",
	[MM_GRADIENT] = "gradient",
	[MM_MUTATION] = "mutation",
	[MM_RAISE] = "raise",
	[MM_NONENESS] = "noneness",
	[MM_ALIAS] = "alias",
	[MM_SHAPE] = "shape",
	[MM_STRIDES] = "strides",
	[MM_REQUIRES_GRAD] = "requires_grad",
};

bool judge_prepare(struct judge_case *jc, const struct prog *p, const struct licence_profile *l, struct tape_limits limit, struct arena *a)
{
	memset(jc, 0, sizeof *jc);
	jc->p = p;
	jc->ncalls = 1 + p->ncall;
	jc->ref = ARENA_ZNEW(a, struct reference, jc->ncalls);
	jc->bound = ARENA_ZNEW(a, const struct prog *, jc->ncalls);
	jc->licence = l;
	jc->limit = limit;
	jc->status = REF_OK;
	jc->message = "";
	for (int k = 0; k < jc->ncalls; k++) {
		struct prog *bound = ARENA_NEW(a, struct prog, 1);
		struct err err = {0};
		jc->bound[k] = bound;
		if (!prog_bind_inputs(bound, p, k, a, &err)) {
			jc->status = REF_UNSUPPORTED;
			jc->message = arena_strdup(a, err.msg);
			return false;
		}
		enum ref_status s = ref_run(&jc->ref[k], bound, l, limit, a, &err);
		jc->bound[k] = jc->ref[k].bound;
		if (jc->ref[k].undecided && !jc->undecided)
			jc->undecided = jc->ref[k].message;
		if (s != REF_OK && (jc->status == REF_OK || s == REF_UNSUPPORTED)) {
			jc->status = s;
			jc->message = jc->ref[k].message;
		}
	}
	return jc->status == REF_OK;
}

/* ---- one tensor ---- */
void judge_note(struct tensor_verdict *v, enum mismatch kind, struct arena *a, const char *fmt, ...)
{
	char buf[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	v->kinds |= 1u << kind;
	v->detail = v->detail[0] ? arena_printf(a, "%s; %s", v->detail, buf) : arena_strdup(a, buf);
}

static const char *meta_text(struct arena *a, const struct meta *m)
{
	struct strbuf sb;
	sb_init(&sb);
	meta_print(&sb, m);
	const char *s = arena_strdup(a, sb.s);
	sb_free(&sb);
	return s;
}

/* Sizes, dtype, device; strides of dims of size > 1 if there are elements. False: values cannot be compared. */
static bool compare_meta(struct tensor_verdict *v, const struct meta *want, const struct meta *got, unsigned freedoms, struct arena *a)
{
	const bool sizes = meta_same_sizes(want, got);
	const bool dtype = want->dtype == got->dtype;
	bool device = want->device == got->device || (want->device != DEV_META && got->device != DEV_META);
	if (!sizes || !dtype || !device) {
		v->layout |= (sizes ? 0 : 1u << LAYOUT_SIZES) | (dtype ? 0 : 1u << LAYOUT_DTYPE) | (device ? 0 : 1u << LAYOUT_DEVICE);
		judge_note(v, MM_SHAPE, a, "expected %s got %s", meta_text(a, want), meta_text(a, got));
		return sizes && dtype && got->device != DEV_META;
	}
	bool strides = true;
	for (int d = 0; d < want->rank; d++)
		strides = strides && (want->size[d] <= 1 || want->stride[d] == got->stride[d]);
	if (!strides && meta_numel(want) && freedoms & FREE_STRIDES)
		v->used |= FREE_STRIDES;
	else if (!strides && meta_numel(want)) {
		v->layout |= 1u << LAYOUT_STRIDES;
		judge_note(v, MM_STRIDES, a, "expected %s got %s", meta_text(a, want), meta_text(a, got));
	}
	return true;
}

/* Zeros of either sign; NaN where `zero` says that a zero cotangent meets infinity on its way. NULL: nowhere. */
static bool all_zero(const struct result_tensor *t, const struct ref_value *zero)
{
	enum dtype dt = t->meta.dtype;
	for (int64_t k = 0; k < meta_numel(&t->meta) && t->data; k++) {
		double got = dtype_load_f(dt, (const unsigned char *)t->data + k * dtype_nbytes(dt));
		bool nan = zero && zero->present && zero->val[k].flags & (NUM_NAN | NUM_ANY);
		if (got != 0 && !(isnan(got) && nan))
			return false;
	}
	return true;
}

const struct ref_value *judge_zero_gradient(const struct judge_case *jc, int call, int index, struct arena *a)
{
	struct reference *zero = ARENA_NEW(a, struct reference, 1);
	struct err err = {0};
	if (ref_zero_cotangents(zero, jc->bound[call], jc->licence, jc->limit, a, &err) != REF_OK)
		return NULL;
	return &zero->grad[index];
}

/* A gradient where there should be none. */
static void compare_none(struct tensor_verdict *v, const struct judge_case *jc, const struct ref_value *want,
	const struct result_tensor *got, unsigned freedoms, struct arena *a)
{
	bool sizes = meta_same_sizes(&want->meta, &got->meta) && want->meta.dtype == got->meta.dtype;
	bool free = freedoms & FREE_ZERO_FOR_NONE && sizes;
	if (free && (all_zero(got, NULL) || all_zero(got, judge_zero_gradient(jc, v->call, v->index, a))))
		v->used |= FREE_ZERO_FOR_NONE;
	else
		judge_note(v, MM_NONENESS, a, "expected None, got a tensor%s", freedoms & FREE_ZERO_FOR_NONE ? " that is not zero" : "");
}

static void compare_tensor(struct tensor_verdict *v, const struct judge_case *jc, const struct ref_value *want,
	const struct result_tensor *got, unsigned freedoms, const struct stale *stale, int nstale, struct arena *a)
{
	enum mismatch wrong = v->role == TR_GRADIENT ? MM_GRADIENT : MM_VALUE;
	if (!want->present && got->present)
		compare_none(v, jc, want, got, freedoms, a);
	if (want->present && !got->present)
		judge_note(v, MM_NONENESS, a, "expected a tensor, got None");
	if (!want->present || !got->present)
		return;
	if (want->requires_grad != got->requires_grad && freedoms & FREE_REQUIRES_GRAD)
		v->used |= FREE_REQUIRES_GRAD;
	else if (want->requires_grad != got->requires_grad)
		judge_note(v, MM_REQUIRES_GRAD, a, "requires_grad should be %s", want->requires_grad ? "True" : "False");
	if (!compare_meta(v, &want->meta, &got->meta, freedoms, a) || want->meta.device == DEV_META)
		return;
	if (got->nbytes != (size_t)want->n * (size_t)dtype_nbytes(want->meta.dtype) || (want->n && !got->data)) {
		judge_note(v, MM_SHAPE, a, "%zu bytes of data for %lld elements", got->nbytes, (long long)want->n);
		return;
	}
	compare_values(&v->cmp, want->val, want->n, &want->meta, got->data, stale, nstale);
	if (v->cmp.count[EL_DISAGREE])
		v->kinds |= 1u << wrong;
}

bool judge_pick(double *low, double *high, const struct reference *ref, int w, int k)
{
	const struct ref_winners *q = &ref->winners[w];
	const struct num *g = &q->pick[k];
	double more = g->rad != 0 ? 2 * num_half_ulp(&num_format[ref->grad[q->grad].meta.dtype], num_mag(g)) : 0;
	*low = num_low(g) - more;
	*high = num_high(g) + more;
	return !(g->flags & NUM_SPECIAL);
}

struct interval {
	double low, high;
};

static int by_end(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return (x->high > y->high) - (x->high < y->high);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Can each number be given an interval of its own that holds it? In ascending order each takes the one that ends first. Sorts both. */
static bool all_fit(double *got, struct interval *in, int n)
{
	int first = 0;
	qsort(got, (size_t)n, sizeof *got, by_value);
	qsort(in, (size_t)n, sizeof *in, by_end);
	for (int i = 0; i < n; i++) {
		int k = first;
		while (k < n && !(in[k].low <= got[i] && got[i] <= in[k].high))
			k++;
		if (k == n)
			return false;
		in[k].low = INFINITY; /* taken */
		while (first < n && in[first].low == INFINITY)
			first++;
	}
	return true;
}

static int by_int(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* No position twice in what topk or sort gives of one row. */
static void compare_distinct(
	struct tensor_verdict *v, const struct reference *ref, const struct ref_value *want, const struct result_tensor *got, struct arena *a)
{
	struct arena_mark m = arena_mark(a);
	struct distinct *group;
	bool comparable = got->present && got->data && !(v->kinds & (1u << MM_SHAPE | 1u << MM_VALUE));
	int64_t ngroup = comparable ? distinct_groups(&group, ref, want, a) : 0, first = -1, twice = 0;
	for (int64_t q = 0; q < ngroup && first < 0; q++) {
		int64_t *there = ARENA_NEW(a, int64_t, group[q].n);
		for (int64_t k = 0; k < group[q].n; k++)
			there[k] = dtype_load_i(DT_I64, (const unsigned char *)got->data + group[q].index[k] * dtype_nbytes(DT_I64));
		qsort(there, (size_t)group[q].n, sizeof *there, by_int);
		for (int64_t k = 1; k < group[q].n && first < 0; k++)
			if (there[k] == there[k - 1])
				first = group[q].index[0], twice = there[k];
	}
	arena_release(a, m);
	if (first >= 0)
		judge_note(
			v, MM_VALUE, a, "position %lld is named twice in the row that begins at element %lld", (long long)twice, (long long)first);
}

/* Undecided elements that turned out to be a legal choice among certain equals. */
static void count_tied(struct compared *c, int64_t n)
{
	c->count[EL_UNDECIDED] -= n;
	c->count[EL_AGREE] += n;
	c->tied += n;
}

/* Positions among certain equals: each names one of them. (That none is named twice is compare_distinct's to say.) */
static void compare_tied(
	struct tensor_verdict *v, const struct reference *ref, const struct ref_value *want, const struct result_tensor *got, struct arena *a)
{
	int64_t tied = 0;
	if (v->kinds || !v->cmp.count[EL_UNDECIDED] || want->meta.dtype != DT_I64)
		return;
	for (int64_t k = 0; k < want->n; k++) {
		bool right;
		int64_t at = dtype_load_i(DT_I64, (const unsigned char *)got->data + k * dtype_nbytes(DT_I64));
		if (!distinct_tied(&right, ref, want, k, at))
			continue;
		tied++;
		if (!right) {
			judge_note(v, MM_VALUE, a, "element %lld names position %lld, which holds none of the equals that it may name", (long long)k,
				(long long)at);
			return;
		}
	}
	count_tied(&v->cmp, tied);
}

static double grad_at(const struct result_tensor *got, int64_t k)
{
	return dtype_load_f(got->meta.dtype, (const unsigned char *)got->data + k * dtype_nbytes(got->meta.dtype));
}

/* How many elements of a group compare_values left undecided. */
static int64_t still_open(const struct ref_value *want, const struct ref_winners *q, const struct result_tensor *got)
{
	int64_t n = 0;
	for (int k = 0; k < q->n; k++)
		n += compare_element(&want->val[q->index[k]], got->meta.dtype, got->data, q->index[k]) == EL_UNDECIDED;
	return n;
}

static void compare_picks(struct tensor_verdict *v, const struct reference *ref, int w, const struct result_tensor *got, struct arena *a)
{
	const struct ref_winners *q = &ref->winners[w];
	struct arena_mark m = arena_mark(a);
	struct interval *in = ARENA_ZNEW(a, struct interval, q->n); /* 0 for those that are not picked */
	double *there = ARENA_NEW(a, double, q->n);
	bool known = true;
	for (int k = 0; k < q->npick && known; k++)
		known = judge_pick(&in[k].low, &in[k].high, ref, w, k);
	for (int k = 0; k < q->n; k++) {
		there[k] = grad_at(got, q->index[k]);
		known = known && !isnan(there[k]); /* the element is wrong by itself */
	}
	bool wrong = known && !all_fit(there, in, q->n);
	arena_release(a, m);
	if (known && !wrong && q->tied && v->cmp.count[EL_UNDECIDED])
		count_tied(&v->cmp, still_open(&ref->grad[q->grad], q, got));
	if (wrong)
		judge_note(v, MM_GRADIENT, a, "no legal winners: of %d equals from element %lld on, %d get a gradient each and the others 0", q->n,
			(long long)q->index[0], q->npick);
}

static void compare_winners(
	struct tensor_verdict *v, const struct reference *ref, int grad, const struct result_tensor *got, struct arena *a)
{
	if (!got->present || !got->data || got->meta.dtype != ref->grad[grad].meta.dtype || !meta_same_sizes(&ref->grad[grad].meta, &got->meta))
		return;
	for (int w = 0; w < ref->nwinners && !(v->kinds & 1u << MM_GRADIENT); w++)
		if (ref->winners[w].grad == grad)
			compare_picks(v, ref, w, got, a);
}

static bool somebody_writes(const struct ref *r, int storage)
{
	for (int i = 0; i < r->p->nnode; i++) {
		const struct ref_node *n = &r->node[i];
		if (op_has(r->p->node[i].op, T_MUTATES) && n->nout && r->storage[n->out[0].storage].memory == storage)
			return true;
	}
	return false;
}

/* Nothing may change bits that nobody writes, those of a NaN neither. (A write may choose a NaN's.) */
static void compare_untouched(
	struct tensor_verdict *v, const struct prog *p, enum dtype dt, const struct result_storage *got, struct arena *a)
{
	struct arena_mark m = arena_mark(a);
	size_t size = (size_t)dtype_nbytes(dt), at = 0;
	const unsigned char *was = fill_storage(p, v->index, a), *is = got->data;
	while (at < got->nbytes && memcmp(was + at, is + at, size) == 0)
		at += size;
	arena_release(a, m);
	if (at < got->nbytes)
		judge_note(v, MM_MUTATION, a, "bits of element %zu changed, which nobody writes", at / size);
}

/* An input without data. */
static bool on_meta(const struct prog *p, int storage)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && storage-- == 0)
			return str_eq(p->node[i].arg[A_input_device].str, "meta");
	return false;
}

static void compare_storage(struct tensor_verdict *v, const struct judge_case *jc, const struct result_storage *got, struct arena *a)
{
	const struct reference *ref = &jc->ref[v->call];
	const struct ref_cells *want = &ref->storage[v->index];
	struct meta m;
	if (on_meta(jc->bound[v->call], v->index))
		return;
	if (got->nbytes != (size_t)want->n * (size_t)dtype_nbytes(want->dtype) || (want->n && !got->data)) {
		judge_note(v, MM_MUTATION, a, "%zu bytes for %lld cells", got->nbytes, (long long)want->n);
		return;
	}
	meta_make_contiguous(&m, want->dtype, &want->n, 1);
	compare_values(&v->cmp, want->val, want->n, &m, got->data, NULL, 0);
	if (v->cmp.count[EL_DISAGREE])
		v->kinds |= 1u << MM_MUTATION;
	else if (!somebody_writes(ref->run, v->index))
		compare_untouched(v, jc->bound[v->call], want->dtype, got, a);
}

/* ---- one call ---- */
static struct tensor_verdict *next(struct judgement *j, enum tensor_role role, int call, int index, int node)
{
	struct tensor_verdict *v = &j->tensor[j->ntensor++];
	*v = (struct tensor_verdict){.role = role, .call = call, .index = index, .node = node, .detail = ""};
	return v;
}

static bool judge_call(
	struct judgement *j, const struct judge_case *jc, const struct result *r, int call, unsigned freedoms, struct arena *a)
{
	const struct reference *ref = &jc->ref[call];
	const struct result_call *got = &r->call[call];
	if (got->nouts != ref->nouts || (jc->p->has_backward && got->ngrads != ref->ngrads) || got->nstorages != ref->nstorages) {
		j->status = JUDGE_FAILED;
		j->message = arena_printf(a, "call %d reports %d outputs, %d gradients, %d storages; the program has %d, %d, %d", call, got->nouts,
			got->ngrads, got->nstorages, ref->nouts, ref->ngrads, ref->nstorages);
		return false;
	}
	/* Stale values: the same output of another call, or an input's cells. */
	int nstale = 0;
	struct stale *stale = ARENA_NEW(a, struct stale, jc->ncalls + ref->nstorages + 1);
	for (int s = 0; s < ref->nstorages; s++)
		stale[nstale++] = (struct stale){ref->storage[s].n, ref->storage[s].val};
	for (int i = 0; i < ref->nouts; i++) {
		struct tensor_verdict *v = next(j, TR_OUTPUT, call, i, ref->out[i].node);
		v->shape = &ref->out[i].meta;
		int n = nstale;
		for (int k = 0; k < jc->ncalls; k++)
			if (k != call && i < jc->ref[k].nouts)
				stale[n++] = (struct stale){jc->ref[k].out[i].n, jc->ref[k].out[i].val};
		compare_tensor(v, jc, &ref->out[i], &got->out[i], freedoms, stale, n, a);
		compare_distinct(v, ref, &ref->out[i], &got->out[i], a);
		compare_tied(v, ref, &ref->out[i], &got->out[i], a);
		judge_output_alias(v, jc->p, ref, got, i, freedoms, a);
	}
	for (int i = 0; i < ref->ngrads; i++) {
		struct tensor_verdict *v = next(j, TR_GRADIENT, call, i, ref->grad[i].node);
		v->shape = &ref->grad[i].meta;
		int n = nstale;
		for (int k = 0; k < jc->ncalls; k++)
			if (k != call && i < jc->ref[k].ngrads && jc->ref[k].grad[i].present)
				stale[n++] = (struct stale){jc->ref[k].grad[i].n, jc->ref[k].grad[i].val};
		compare_tensor(v, jc, &ref->grad[i], &got->grad[i], freedoms, stale, n, a);
		compare_winners(v, ref, i, &got->grad[i], a);
		judge_gradient_alias(v, ref, got, i, freedoms, a);
	}
	for (int s = 0; s < ref->nstorages; s++)
		compare_storage(next(j, TR_STORAGE, call, s, -1), jc, &got->storage[s], a);
	return true;
}

/* ---- when all calls have run ---- */
/* Bit for bit: what it was is what it must be. */
static void compare_later(struct compared *c, enum dtype dt, int64_t n, const void *then, const void *now)
{
	const int size = dtype_nbytes(dt);
	*c = (struct compared){.n = n, .exact = n};
	for (int64_t k = 0; k < n; k++) {
		if (memcmp((const char *)then + k * size, (const char *)now + k * size, (size_t)size) == 0)
			continue;
		const double was = dtype_load_f(dt, (const unsigned char *)then + k * size);
		if (c->nsample < MAX_SAMPLES)
			c->sample[c->nsample++] =
				(struct sample){.index = k, .low = was, .high = was, .got = dtype_load_f(dt, (const unsigned char *)now + k * size)};
		c->nwrong_exact++;
	}
	c->count[EL_DISAGREE] = c->nwrong_exact;
	c->count[EL_AGREE] = n - c->nwrong_exact;
	c->pattern = c->nwrong_exact ? PAT_OVERWRITTEN : PAT_NONE;
}

static void judge_tensor_change(
	struct tensor_verdict *v, const struct result_tensor *then, const struct result_tensor *now, enum mismatch wrong, struct arena *a)
{
	if (then->present != now->present) {
		judge_note(v, MM_NONENESS, a, "a later call made %s of %s", now->present ? "a tensor" : "None", then->present ? "it" : "None");
		return;
	}
	if (!now->present)
		return;
	if (then->requires_grad != now->requires_grad)
		judge_note(v, MM_REQUIRES_GRAD, a, "a later call made requires_grad %s", now->requires_grad ? "True" : "False");
	if (then->meta.offset != now->meta.offset)
		judge_note(v, MM_ALIAS, a, "a later call moved it from storage offset %lld to %lld", (long long)then->meta.offset,
			(long long)now->meta.offset);
	if (!compare_meta(v, &then->meta, &now->meta, 0, a) || !then->data || !now->data)
		return;
	compare_later(&v->cmp, then->meta.dtype, meta_numel(&then->meta), then->data, now->data);
	if (v->cmp.count[EL_DISAGREE])
		v->kinds |= 1u << wrong;
}

/* Each call has inputs of its own, so no call, nor its backward, may touch what another one returned or was given. */
static void judge_change(
	struct judgement *j, const struct judge_case *jc, const struct result *r, const struct result_change *c, struct arena *a)
{
	static const enum mismatch wrong[NTENSOR_ROLES] = {[TR_OUTPUT] = MM_VALUE, [TR_GRADIENT] = MM_GRADIENT, [TR_STORAGE] = MM_MUTATION};
	const struct reference *ref = &jc->ref[c->call];
	const struct result_call *then = &r->call[c->call];
	const struct ref_value *of = c->role == TR_OUTPUT ? &ref->out[c->index] : c->role == TR_GRADIENT ? &ref->grad[c->index] : NULL;
	struct tensor_verdict *v = next(j, c->role, c->call, c->index, of ? of->node : -1);
	v->later = true;
	v->shape = of ? &of->meta : NULL;
	if (c->what[0])
		judge_note(v, wrong[c->role], a, "a later call changed it: %s", c->what);
	if (of && !c->what[0])
		judge_tensor_change(v, c->role == TR_OUTPUT ? &then->out[c->index] : &then->grad[c->index], &c->tensor, wrong[c->role], a);
	if (!of) {
		const struct ref_cells *cells = &ref->storage[c->index];
		const size_t size = (size_t)dtype_nbytes(cells->dtype), n = MIN(then->storage[c->index].nbytes, c->storage.nbytes) / size;
		compare_later(&v->cmp, cells->dtype, (int64_t)n, then->storage[c->index].data, c->storage.data);
		if (v->cmp.count[EL_DISAGREE])
			v->kinds |= 1u << MM_MUTATION;
	}
	j->ntensor -= v->kinds == 0;
}

static int worst_kind(unsigned kinds)
{
	for (int k = 1; k < NMISMATCH; k++)
		if (kinds & 1u << k)
			return k;
	return NMISMATCH;
}

static int by_severity(const void *a, const void *b)
{
	const struct tensor_verdict *x = a, *y = b;
	int kx = worst_kind(x->kinds), ky = worst_kind(y->kinds);
	if (kx != ky)
		return kx - ky;
	if (x->call != y->call)
		return x->call - y->call;
	if (x->later != y->later)
		return x->later - y->later;
	return x->role != y->role ? (int)x->role - (int)y->role : x->index - y->index;
}

void judge(struct judgement *j, const struct judge_case *jc, const struct result *r, unsigned freedoms, struct arena *a)
{
	memset(j, 0, sizeof *j);
	j->message = r->message ? r->message : "";
	if (r->status == RES_UNSUPPORTED || jc->status == REF_UNSUPPORTED) {
		j->status = JUDGE_UNSUPPORTED;
		j->message = r->status == RES_UNSUPPORTED ? j->message : jc->message;
		return;
	}
	if (r->status != RES_OK && r->status != RES_RAISED) {
		j->status = JUDGE_FAILED;
		return;
	}
	if ((r->status == RES_RAISED) != (jc->status == REF_RAISES)) {
		j->status = JUDGE_MISMATCH;
		j->kind = MM_RAISE;
		j->kinds = 1u << MM_RAISE;
		j->message = r->status == RES_RAISED ? arena_printf(a, "raised: %s", j->message) : arena_printf(a, "should raise: %s", jc->message);
		return;
	}
	if (r->status == RES_RAISED)
		return; /* both raise */
	if (r->ncalls != jc->ncalls) {
		j->status = JUDGE_FAILED;
		j->message = arena_printf(a, "%d calls reported, %d asked", r->ncalls, jc->ncalls);
		return;
	}
	int total = 0;
	for (int k = 0; k < jc->ncalls; k++)
		total += jc->ref[k].nouts + jc->ref[k].ngrads + jc->ref[k].nstorages;
	j->tensor = ARENA_ZNEW(a, struct tensor_verdict, total + r->nchange + 1);
	for (int k = 0; k < jc->ncalls; k++)
		if (!judge_call(j, jc, r, k, freedoms, a))
			return;
	for (int i = 0; i < r->nchange; i++)
		judge_change(j, jc, r, &r->change[i], a);
	for (int i = 0; i < j->ntensor; i++) {
		const struct tensor_verdict *v = &j->tensor[i];
		j->kinds |= v->kinds;
		j->used |= v->used;
		if (v->role == TR_STORAGE && !v->kinds)
			continue; /* untouched inputs would drown the shares */
		j->nelement += v->cmp.n;
		j->exact += v->cmp.exact;
		j->weak += v->cmp.weak;
		for (int e = 0; e < NELEMENT; e++)
			j->count[e] += v->cmp.count[e];
	}
	if (j->ntensor)
		qsort(j->tensor, (size_t)j->ntensor, sizeof *j->tensor, by_severity);
	if (j->kinds) {
		j->status = JUDGE_MISMATCH;
		j->kind = (enum mismatch)worst_kind(j->kinds);
	}
}

/* ---- for people ---- */
static void print_sample(struct strbuf *sb, const struct sample *s, const struct meta *m)
{
	int64_t rest = s->index;
	int64_t at[MAX_RANK];
	for (int d = m->rank - 1; d >= 0; d--) {
		at[d] = m->size[d] ? rest % m->size[d] : 0;
		rest = m->size[d] ? rest / m->size[d] : 0;
	}
	sb_puts(sb, "    [");
	for (int d = 0; d < m->rank; d++)
		sb_printf(sb, "%s%lld", d ? ", " : "", (long long)at[d]);
	int digits = fabs(s->got - s->low) < fabs(s->low) * 1e-6 ? 17 : 9;
	if (isnan(s->low) && isnan(s->high)) /* of whatever sign */
		sb_puts(sb, "] expected nan");
	else if (s->low == s->high)
		sb_printf(sb, "] expected %.*g", digits, s->low);
	else
		sb_printf(sb, "] expected %.*g .. %.*g", digits, s->low, digits, s->high);
	if (s->flags & NUM_PINF && !(s->flags & NUM_NOFIN))
		sb_puts(sb, " or inf");
	if (s->flags & NUM_NINF && !(s->flags & NUM_NOFIN))
		sb_puts(sb, " or -inf");
	if (s->flags & NUM_NAN && !(s->flags & NUM_NOFIN))
		sb_puts(sb, " or nan");
	sb_printf(sb, ", got %.*g\n", digits, s->got);
}

void judgement_print(struct strbuf *sb, const struct judgement *j, const struct prog *p)
{
	static const char *const roles[] = {"output", "gradient of", "input storage"};
	static const char *const statuses[] = {"pass", "mismatch", "unsupported", "failed"};
	sb_printf(sb, "%s", statuses[j->status]);
	if (j->status == JUDGE_MISMATCH)
		sb_printf(sb, ": %s", mismatch_name[j->kind]);
	if (j->message[0])
		sb_printf(sb, ": %s", j->message);
	sb_printf(sb, " (%lld elements: %lld agree, %lld disagree, %lld undecided; %lld exact, %lld weak)\n", (long long)j->nelement,
		(long long)j->count[EL_AGREE], (long long)j->count[EL_DISAGREE], (long long)j->count[EL_UNDECIDED], (long long)j->exact,
		(long long)j->weak);
	for (int i = 0; i < j->ntensor && j->tensor[i].kinds; i++) {
		const struct tensor_verdict *v = &j->tensor[i];
		sb_printf(sb, "  call %d, %s %s", v->call, roles[v->role], v->node >= 0 ? p->node[v->node].name : "");
		if (v->node < 0)
			sb_printf(sb, "%d", v->index);
		if (v->later)
			sb_puts(sb, " after the last call");
		if (v->cmp.count[EL_DISAGREE])
			sb_printf(sb, ": %lld of %lld elements wrong, %s", (long long)v->cmp.count[EL_DISAGREE], (long long)v->cmp.n,
				pattern_name[v->cmp.pattern]);
		if (v->cmp.pattern == PAT_SCALED)
			sb_printf(sb, " by %.9g", v->cmp.ratio);
		sb_printf(sb, "%s%s\n", v->detail[0] ? ": " : "", v->detail);
		struct meta flat;
		meta_make_contiguous(&flat, DT_F32, &v->cmp.n, 1);
		for (int k = 0; k < v->cmp.nsample; k++)
			print_sample(sb, &v->cmp.sample[k], v->shape ? v->shape : &flat);
	}
}
