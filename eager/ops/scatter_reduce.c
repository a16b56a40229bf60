/* scatter_reduce.c: scatter_reduce.two: out[i] = reduce over src[p] with index[p] = i, and self[i] if include_self; elements that
 * no index names keep self. Integers reduce in int64_t and wrap, the mean of integers rounds down (its count is not wrapped); the
 * count of floats is a tensor of the dtype, forward and backward, rounded once: 2051 values count as 2052 in f16 (2.11, measured).
 * bool adds as "or" and multiplies as "and". NaN wins amax and amin.
 *
 * Derivatives are those of PyTorch, in double: sum and mean distribute, prod divides the product by the factor (a single zero
 * factor is left out of the product instead), amax and amin share evenly among all src elements that equal the result, and
 * self if it equals it, even when include_self is false and self does not count (self's share is then dropped).
 * Facts: ATen/native/TensorAdvancedIndexing.cpp, cpu/ScatterGatherKernel.cpp, FunctionsManual.cpp (scatter_reduce_backward). */
#include "eager/ops/scatter_dim.h"
#include "eager/ops/row_rules.h"

#include <math.h>

enum reduce { RED_SUM, RED_PROD, RED_MEAN, RED_AMAX, RED_AMIN, NREDUCE };

static int reduce_find(const char *s)
{
	static const char *const name[NREDUCE] = {"sum", "prod", "mean", "amax", "amin"};
	for (int r = 0; r < NREDUCE; r++)
		if (str_eq(name[r], s))
			return r;
	return -1;
}

bool meta_scatter_reduce(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_scatter_reduce_self];
	int red = reduce_find(c->n->arg[A_scatter_reduce_reduce].str);
	if (red < 0)
		return err_set(
			c->err, "reduce argument must be either sum, prod, mean, amax or amin, got %s", c->n->arg[A_scatter_reduce_reduce].str);
	if (!scatter_check(node_int(c->n, A_scatter_reduce_dim), self, c->in[A_scatter_reduce_index], c->in[A_scatter_reduce_src], c->err))
		return false;
	if (red == RED_MEAN && self->dtype == DT_B8 && meta_numel(c->in[A_scatter_reduce_index]) != 0)
		return err_set(c->err, "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'");
	layout_contiguous(&c->out[0], self, self->size, self->rank);
	return true;
}

static double fold_f(enum reduce r, double a, double v)
{
	switch (r) {
	case RED_PROD: return a * v;
	case RED_AMAX: return isnan(a) || a > v ? a : v;
	case RED_AMIN: return isnan(a) || a < v ? a : v;
	default: return a + v;
	}
}

static int64_t fold_i(enum reduce r, enum dtype t, int64_t a, int64_t v)
{
	switch (r) {
	case RED_PROD: return dtype_wrap(t, wrap_mul(a, v));
	case RED_AMAX: return MAX(a, v);
	case RED_AMIN: return MIN(a, v);
	default: return t == DT_B8 ? a | v : dtype_wrap(t, wrap_add(a, v));
	}
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* The reduction of `src` over `value`, where counted: number of values each element saw. first: the first value replaces. */
struct reduction {
	enum reduce red;
	bool include_self;
	const struct tensor *self, *index;
	int64_t dim;
	struct arena *scratch;
};

static bool reduce_into(struct wide *w, int64_t *count, const struct reduction *r, const struct tensor *src, struct err *err)
{
	struct dim_walk d;
	struct tensor target = tensor_contiguous(r->self, r->scratch);
	for (int64_t k = 0; k < w->n; k++)
		count[k] = r->include_self;
	for (bool more = dim_walk_init(&d, &target, r->dim, r->index, src); more; more = dim_walk_next(&d)) {
		if (!dim_walk_at(&d, err))
			return false;
		int64_t k = d.number;
		bool first = count[k]++ == 0;
		if (w->f) {
			double v = dtype_load_f(w->dtype, d.src);
			w->f[k] = first ? v : fold_f(r->red, w->f[k], v);
		} else {
			int64_t v = dtype_load_i(w->dtype, d.src);
			w->i[k] = first ? v : fold_i(r->red, w->dtype, w->i[k], v);
		}
	}
	for (int64_t k = 0; r->red == RED_MEAN && k < w->n; k++) {
		if (count[k] < 2)
			continue;
		if (w->f) /* div_ of the sum: in the dtype, so it may have overflowed */
			w->f[k] = dtype_round(w->dtype, w->f[k]) / dtype_round(w->dtype, (double)count[k]);
		else
			w->i[k] = floor_div(w->i[k], count[k]);
	}
	return true;
}

bool kern_scatter_reduce(struct kern_ctx *c)
{
	struct reduction r = {(enum reduce)reduce_find(c->n->arg[A_scatter_reduce_reduce].str), c->n->arg[A_scatter_reduce_include_self].b,
		c->in[A_scatter_reduce_self], c->in[A_scatter_reduce_index], node_int(c->n, A_scatter_reduce_dim), c->scratch};
	struct wide w;
	wide_load(&w, c->in[A_scatter_reduce_self], c->scratch);
	int64_t *count = ARENA_NEW(c->scratch, int64_t, w.n + 1);
	if (!reduce_into(&w, count, &r, c->in[A_scatter_reduce_src], c->err))
		return false;
	wide_store(&w, &c->out[0]);
	return true;
}

/* ---- derivative -------------------------------------------------------------------------------------------------------- */

/* Everything per element of self (row-major), in double; src is visited through walk(). */
struct back {
	struct reduction r;
	const struct tensor *src;
	int64_t n;
	struct wide g, self, result;
	double *gself;        /* to fill; NULL if not needed */
	struct tensor target; /* contiguous self, for numbering */
};

static bool back_start(struct dim_walk *d, struct back *b) { return dim_walk_init(d, &b->target, b->r.dim, b->r.index, b->src); }

/* d src for a result element k and a src value v, times the cotangent. */
typedef double src_rule(const struct back *b, const double *aux, int64_t k, double v);

static double src_share(const struct back *b, const double *n, int64_t k, double v)
{
	(void)v;
	return b->g.f[k] / (n ? n[k] : 1);
}

static double src_winner(const struct back *b, const double *winners, int64_t k, double v)
{
	return (double)(v == b->result.f[k]) * (b->g.f[k] / winners[k]);
}

/* aux: per element the product without its zero factors from src, and (from n on) how many those are. */
static double src_factor(const struct back *b, const double *aux, int64_t k, double v)
{
	if (v == 0 && aux[b->n + k] == 1)
		return b->g.f[k] * aux[k];
	return b->g.f[k] * b->result.f[k] / (v == 0 ? 1 : v);
}

static void fill_src(struct tensor *gsrc, struct back *b, const double *aux, src_rule *rule)
{
	struct dim_walk d, o;
	if (!gsrc)
		return;
	bool more = back_start(&d, b);
	dim_walk_init(&o, &b->target, b->r.dim, b->r.index, gsrc);
	for (; more; more = dim_walk_next(&d), dim_walk_next(&o)) {
		CHECK(dim_walk_at(&d, NULL) && dim_walk_at(&o, NULL));
		dtype_store_f(gsrc->meta.dtype, o.src, rule(b, aux, d.number, dtype_load_f(gsrc->meta.dtype, d.src)));
	}
}

static void back_mean(struct back *b, struct tensor *gsrc, struct arena *a)
{
	struct dim_walk d;
	double *n = ARENA_NEW(a, double, b->n + 1);
	for (int64_t k = 0; k < b->n; k++)
		n[k] = b->r.include_self;
	for (bool more = back_start(&d, b); more; more = dim_walk_next(&d))
		if (dim_walk_at(&d, NULL))
			n[d.number]++;
	for (int64_t k = 0; k < b->n; k++) {
		n[k] = n[k] == 0 ? 1 : dtype_round(b->g.dtype, n[k]);
		if (b->gself)
			b->gself[k] = b->g.f[k] / n[k];
	}
	fill_src(gsrc, b, n, src_share);
}

static void back_minmax(struct back *b, struct tensor *gsrc, struct arena *a)
{
	struct dim_walk d;
	double *winners = ARENA_NEW(a, double, b->n + 1);
	for (int64_t k = 0; k < b->n; k++)
		winners[k] = b->self.f[k] == b->result.f[k];
	for (bool more = back_start(&d, b); more; more = dim_walk_next(&d))
		if (dim_walk_at(&d, NULL))
			winners[d.number] += dtype_load_f(b->g.dtype, d.src) == b->result.f[d.number];
	for (int64_t k = 0; b->gself && k < b->n; k++)
		b->gself[k] = (double)(b->self.f[k] == b->result.f[k]) * (b->g.f[k] / winners[k]);
	fill_src(gsrc, b, winners, src_winner);
}

static void back_prod(struct back *b, struct tensor *gsrc, struct arena *a)
{
	struct dim_walk d;
	int64_t n = b->n;
	double *aux = ARENA_ZNEW(a, double, 2 * n + 1), *zeros = aux + n, *masked = ARENA_NEW(a, double, n + 1);
	for (bool more = back_start(&d, b); more; more = dim_walk_next(&d))
		if (dim_walk_at(&d, NULL))
			zeros[d.number] += dtype_load_f(b->g.dtype, d.src) == 0;
	/* The product with a zero self replaced by 1, and the product with a single zero of src replaced by 1. */
	for (int64_t k = 0; k < n; k++) {
		aux[k] = b->r.include_self ? b->self.f[k] : 1;
		masked[k] = b->self.f[k] == 0 ? 1 : b->self.f[k];
	}
	for (bool more = back_start(&d, b); more; more = dim_walk_next(&d)) {
		if (!dim_walk_at(&d, NULL))
			continue;
		double v = dtype_load_f(b->g.dtype, d.src);
		masked[d.number] *= v;
		aux[d.number] *= v == 0 && zeros[d.number] == 1 ? 1 : v;
	}
	for (int64_t k = 0; b->gself && k < n; k++)
		b->gself[k] = b->g.f[k] * masked[k] / (b->self.f[k] == 0 ? 1 : b->self.f[k]);
	fill_src(gsrc, b, aux, src_factor);
}

void grad_scatter_reduce(struct grad_ctx *c)
{
	struct back b = {.r = {(enum reduce)reduce_find(c->n->arg[A_scatter_reduce_reduce].str), c->n->arg[A_scatter_reduce_include_self].b,
						 c->in[A_scatter_reduce_self], c->in[A_scatter_reduce_index], node_int(c->n, A_scatter_reduce_dim), c->scratch},
		.src = c->in[A_scatter_reduce_src],
		.n = meta_numel(&c->in[A_scatter_reduce_self]->meta)};
	struct dim_walk d;
	b.target = tensor_contiguous(c->in[A_scatter_reduce_self], c->scratch);
	wide_load(&b.g, &c->gout[0], c->scratch);
	wide_load(&b.self, c->in[A_scatter_reduce_self], c->scratch);
	wide_load(&b.result, &c->out[0], c->scratch);
	b.gself = ARENA_NEW(c->scratch, double, b.n + 1);
	memcpy(b.gself, b.g.f, sizeof(double) * (size_t)b.n);
	switch (b.r.red) {
	case RED_SUM: fill_src(c->gin[A_scatter_reduce_src], &b, NULL, src_share); break;
	case RED_MEAN: back_mean(&b, c->gin[A_scatter_reduce_src], c->scratch); break;
	case RED_PROD: back_prod(&b, c->gin[A_scatter_reduce_src], c->scratch); break;
	default: back_minmax(&b, c->gin[A_scatter_reduce_src], c->scratch);
	}
	if (!c->gin[A_scatter_reduce_self])
		return;
	for (bool more = !b.r.include_self && back_start(&d, &b); more; more = dim_walk_next(&d))
		if (dim_walk_at(&d, NULL))
			b.gself[d.number] = 0;
	struct wide w = {.dtype = c->gin[A_scatter_reduce_self]->meta.dtype, .n = b.n, .f = b.gself};
	wide_store(&w, c->gin[A_scatter_reduce_self]);
}
