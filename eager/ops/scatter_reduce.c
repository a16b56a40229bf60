/* scatter_reduce.c: scatter_reduce.two: out[i] = reduce over src[p] with index[p] = i, and self[i] if include_self; elements that
 * no index names keep self. Integers reduce in int64_t and wrap, the mean of integers rounds down (its count is not wrapped); the
 * count of floats is a tensor of the dtype, forward and backward, rounded once: 2051 values count as 2052 in f16 (2.11, measured).
 * bool adds as "or" and multiplies as "and". NaN wins amax and amin.
 *
 * Derivatives are those of PyTorch: sum and mean distribute, prod divides the product by the factor (a single zero
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
	if (red == RED_MEAN && self->dtype == DT_B8)
		return err_set(c->err, "\"%s\" not implemented for 'Bool'",
			meta_numel(c->in[A_scatter_reduce_index]) ? "scatter_gather_tensor_cpu_reduce_mean" : "div_floor_cpu");
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

/* ---- derivative: FunctionsManual.cpp, scatter_reduce_backward ---------------------------------------------------------- */

enum { SELF = A_scatter_reduce_self, INDEX = A_scatter_reduce_index, SRC = A_scatter_reduce_src };

static int64_t dim_of(const struct vjp *v) { return node_int(v->n, A_scatter_reduce_dim); }
static int scattered_sum(struct vjp *v, int self, int src) { return emit_scatter_add(v->b, self, dim_of(v), v->in[INDEX], src); }
static int gathered(struct vjp *v, int x) { return emit_gather(v->b, x, dim_of(v), v->in[INDEX]); }
static int zeros_filled_with_one(struct build *b, int x, int is_zero) { return emit_masked_fill(b, x, is_zero, scalar_int(1)); }

static int reduced_again(struct vjp *v, int self, int src)
{
	return emit_scatter_reduce_two(
		v->b, self, dim_of(v), v->in[INDEX], src, v->n->arg[A_scatter_reduce_reduce].str, v->n->arg[A_scatter_reduce_include_self].b);
}

static void back_sum(struct vjp *v, bool src)
{
	v->grad[SELF] = v->g[0];
	if (src)
		v->grad[SRC] = scatter_gathered(v, v->g[0], vjp_meta(v, SRC));
}

static void back_mean(struct vjp *v, bool src)
{
	struct build *b = v->b;
	int n = v->n->arg[A_scatter_reduce_include_self].b ? emit_ones_like(b, v->g[0], -1) : emit_zeros_like(b, v->g[0], -1);
	int one = emit_ones_like(b, v->in[SRC], -1);
	n = scattered_sum(v, n, one);
	int none = emit_eq_Scalar(b, n, scalar_int(0));
	n = zeros_filled_with_one(b, n, none);
	if (v->want[SELF])
		v->grad[SELF] = emit_div_Tensor(b, v->g[0], n);
	if (!src)
		return;
	int g = scatter_gathered(v, v->g[0], vjp_meta(v, SRC));
	n = scatter_gathered(v, n, vjp_meta(v, SRC));
	v->grad[SRC] = emit_div_Tensor(b, g, n);
}

/* Evenly among all that equal the result, self included even where it did not count. */
static void back_minmax(struct vjp *v, bool src)
{
	struct build *b = v->b;
	enum dtype t = vjp_meta(v, SELF)->dtype;
	int self_won = emit_eq_Tensor(b, v->in[SELF], v->out[0]), src_won = NO_VALUE;
	int n = emit_to_copy(b, self_won, (int)t);
	if (meta_numel(vjp_meta(v, INDEX))) {
		int value = gathered(v, v->out[0]);
		src_won = emit_eq_Tensor(b, v->in[SRC], value);
		int winners = emit_to_copy(b, src_won, (int)t);
		n = scattered_sum(v, n, winners);
	}
	int share = emit_div_Tensor(b, v->g[0], n);
	if (v->want[SELF])
		v->grad[SELF] = emit_mul_Tensor(b, self_won, share);
	if (!src)
		return;
	share = gathered(v, share);
	v->grad[SRC] = emit_mul_Tensor(b, src_won, share);
}

static int factors_of_self(struct vjp *v)
{
	struct build *b = v->b;
	int is_zero = emit_eq_Scalar(b, v->in[SELF], scalar_int(0));
	int self = zeros_filled_with_one(b, v->in[SELF], is_zero);
	int product = reduced_again(v, self, v->in[SRC]);
	int g = emit_mul_Tensor(b, v->g[0], product);
	return emit_div_Tensor(b, g, self);
}

/* The product divided by the factor; where that is the only zero of src at its place, the product without it. */
static int factors_of_src(struct vjp *v)
{
	struct build *b = v->b;
	int is_zero = emit_eq_Scalar(b, v->in[SRC], scalar_int(0));
	int zero_counts = emit_to_copy(b, is_zero, (int)vjp_meta(v, SELF)->dtype);
	int nzero = emit_zeros_like(b, v->in[SELF], -1);
	nzero = scattered_sum(v, nzero, zero_counts);
	nzero = gathered(v, nzero);
	int one = emit_eq_Scalar(b, nzero, scalar_int(1));
	int single = emit_logical_and(b, is_zero, one);
	int others = zeros_filled_with_one(b, v->in[SRC], single);
	others = reduced_again(v, v->in[SELF], others);
	others = emit_mul_Tensor(b, v->g[0], others);
	others = gathered(v, others);
	int all = emit_mul_Tensor(b, v->g[0], v->out[0]);
	all = gathered(v, all);
	int divisor = zeros_filled_with_one(b, v->in[SRC], is_zero);
	all = emit_div_Tensor(b, all, divisor);
	return emit_where_self(b, single, others, all);
}

static void back_prod(struct vjp *v, bool src)
{
	if (v->want[SELF])
		v->grad[SELF] = factors_of_self(v);
	if (src)
		v->grad[SRC] = factors_of_src(v);
}

void vjp_scatter_reduce(struct vjp *v)
{
	bool empty = meta_numel(vjp_meta(v, INDEX)) == 0, src = v->want[SRC] && !empty;
	switch ((enum reduce)reduce_find(v->n->arg[A_scatter_reduce_reduce].str)) {
	case RED_SUM: back_sum(v, src); break;
	case RED_MEAN: back_mean(v, src); break;
	case RED_PROD: back_prod(v, src); break;
	default: back_minmax(v, src);
	}
	if (v->want[SELF] && !v->n->arg[A_scatter_reduce_include_self].b)
		v->grad[SELF] = emit_scatter_value(v->b, v->grad[SELF], dim_of(v), v->in[INDEX], scalar_int(0));
}
