/* reduce_order.c: extrema, their positions, topk, sort, and their derivatives. For maxima and for minima alike NaN wins, only topk and
 * sort put it last among the smallest; among equals the first one is taken. */
#include "eager/ops/reduce.h"
#include "eager/ops/row_rules.h"

/* Elements in row-major order, in whichever of the two types is exact. */
struct values {
	const double *f;
	const int64_t *i;
};

static struct values load_values(const struct tensor *t, struct arena *a)
{
	enum dtype dt = t->meta.dtype;
	return dtype_is_float(dt) ? (struct values){load_doubles(t, dt, a), NULL} : (struct values){NULL, load_ints(t, dt, a)};
}

static void put_value(struct tensor *t, int64_t at, const struct values *v, int64_t from)
{
	if (v->f)
		put_double(t, at, v->f[from]);
	else
		put_int(t, at, v->i[from]);
}

enum order { GREATEST, LEAST, LEAST_NAN_LAST };

static bool precedes(const struct values *v, int64_t a, int64_t b, enum order o)
{
	if (v->i)
		return o == GREATEST ? v->i[a] > v->i[b] : v->i[a] < v->i[b];
	double x = v->f[a], y = v->f[b];
	if (x != x || y != y)
		return o == LEAST_NAN_LAST ? x == x && y != y : x != x && y == y;
	return o == GREATEST ? x > y : x < y;
}

/* Position within the lane of its extremum. */
static int64_t lane_best(const struct lanes *l, int64_t lane, const struct values *v, enum order o)
{
	int64_t best = 0;
	for (int64_t i = 1; i < l->count; i++)
		if (precedes(v, lane_at(l, lane, i), lane_at(l, lane, best), o))
			best = i;
	return best;
}

static bool extremum(struct kern_ctx *c, struct tensor *value, struct tensor *index, enum order o)
{
	struct lanes l;
	reduce_lanes(&l, c->n, &c->in[A_reduction_self]->meta, c->scratch);
	struct values v = load_values(c->in[A_reduction_self], c->scratch);
	for (int64_t lane = 0; lane < l.nlane; lane++) {
		int64_t best = lane_best(&l, lane, &v, o);
		if (value)
			put_value(value, lane, &v, lane_at(&l, lane, best));
		if (index)
			put_int(index, lane, best);
	}
	return true;
}

bool kern_amax(struct kern_ctx *c) { return extremum(c, c->out, NULL, GREATEST); }
bool kern_amin(struct kern_ctx *c) { return extremum(c, c->out, NULL, LEAST); }
bool kern_argmax(struct kern_ctx *c) { return extremum(c, NULL, c->out, GREATEST); }
bool kern_argmin(struct kern_ctx *c) { return extremum(c, NULL, c->out, LEAST); }
bool kern_max_dim(struct kern_ctx *c) { return extremum(c, &c->out[0], &c->out[1], GREATEST); }
bool kern_min_dim(struct kern_ctx *c) { return extremum(c, &c->out[0], &c->out[1], LEAST); }

/* The winners of a lane share its cotangent evenly: (g * is_winner) / count. A NaN result has no winner. */
void vjp_amax(struct vjp *v)
{
	struct build *b = v->b;
	const struct arg *dim = &v->n->arg[op_arg(v->n->op, N_dim)];
	int64_t dims[MAX_RANK];
	for (int i = 0; i < dim->n; i++)
		dims[i] = dim->ints[i].value;
	int g = reduce_restored(v, v->g[0]);
	int y = reduce_restored(v, v->out[0]);
	int winner = emit_eq_Tensor(b, y, v->in[A_amax_self]);
	int count = emit_sum_dim(b, winner, dims, dim->n, true, -1);
	g = emit_mul_Tensor(b, g, winner);
	v->grad[A_amax_self] = emit_div_Tensor(b, g, count);
}

/* max() and min(): g / count for the winners, 0 for the others; the NaNs win where the result is one (evenly_distribute_backward). */
void vjp_max(struct vjp *v)
{
	struct build *b = v->b;
	int x = v->in[A_max_self], y = v->out[0];
	int is_nan = emit_ne_Tensor(b, y, y);
	int nans = emit_ne_Tensor(b, x, x);
	int equal = emit_eq_Tensor(b, x, y);
	int winner = emit_where_self(b, is_nan, nans, equal);
	int share = emit_sum(b, winner, -1);
	share = emit_div_Tensor(b, v->g[0], share);
	int zeros = vjp_zeros(b, vjp_meta(v, A_max_self));
	v->grad[A_max_self] = emit_where_self(b, winner, share, zeros);
}

/* Cotangents of selected elements go back to where out[1] says they came from (value_selecting_reduction_backward). */
static void to_selected(struct vjp *v, bool keepdim)
{
	const struct meta *self = vjp_meta(v, A_reduction_self);
	int64_t dim = node_int(v->n, op_arg(v->n->op, N_dim));
	int g = v->g[0], index = v->out[1];
	if (g == NO_VALUE)
		return;
	if (!keepdim && self->rank > 0) {
		g = emit_unsqueeze(v->b, g, dim);
		index = emit_unsqueeze(v->b, index, dim);
	}
	int zeros = vjp_zeros(v->b, self);
	v->grad[A_reduction_self] = emit_scatter_src(v->b, zeros, dim, index, g);
}

void vjp_max_dim(struct vjp *v) { to_selected(v, reduce_keepdim(v->n)); }

void vjp_kthvalue(struct vjp *v) { vjp_max_dim(v); }
void vjp_median_dim(struct vjp *v) { vjp_max_dim(v); }
void vjp_nanmedian_dim(struct vjp *v) { vjp_max_dim(v); }
void vjp_median(struct vjp *v) { vjp_max(v); }
void vjp_nanmedian(struct vjp *v) { vjp_max(v); }

/* Lanes of the results: as those of `in`, with `count` elements where the dim was. */
static void result_lanes(struct lanes *out, const struct node *n, const struct meta *in, int64_t count, struct arena *a)
{
	bool reduced[MAX_RANK];
	struct meta m = *in;
	CHECK(reduce_dims(reduced, n, in->rank, NULL));
	for (int d = 0; d < m.rank; d++)
		if (reduced[d])
			m.size[d] = count;
	lanes_make(out, m.size, m.rank, reduced, a);
}

/* ---- topk, sort ---- */

/* Stable merge sort of positions within a lane, best first. */
static void sort_lane(int64_t *pos, int64_t *tmp, int64_t n, const struct lanes *l, int64_t lane, const struct values *v, enum order o)
{
	if (n < 2)
		return;
	int64_t h = n / 2, a = 0, b = h, k = 0;
	sort_lane(pos, tmp, h, l, lane, v, o);
	sort_lane(pos + h, tmp, n - h, l, lane, v, o);
	memcpy(tmp, pos, sizeof *tmp * (size_t)n);
	while (k < n)
		pos[k++] = b == n || (a < h && !precedes(v, lane_at(l, lane, tmp[b]), lane_at(l, lane, tmp[a]), o)) ? tmp[a++] : tmp[b++];
}

/* The first k of each lane in order, and where they were; both results contiguous. */
static void ranked(struct kern_ctx *c, struct tensor *value, struct tensor *index, int64_t k, enum order o)
{
	struct lanes from, to;
	reduce_lanes(&from, c->n, &c->in[A_reduction_self]->meta, c->scratch);
	result_lanes(&to, c->n, &c->in[A_reduction_self]->meta, k, c->scratch);
	struct values v = load_values(c->in[A_reduction_self], c->scratch);
	int64_t *pos = ARENA_NEW(c->scratch, int64_t, from.count), *tmp = ARENA_NEW(c->scratch, int64_t, from.count);
	for (int64_t lane = 0; lane < to.nlane; lane++) {
		for (int64_t i = 0; i < from.count; i++)
			pos[i] = i;
		sort_lane(pos, tmp, from.count, &from, lane, &v, o);
		for (int64_t i = 0; i < k; i++) {
			put_value(value, lane_at(&to, lane, i), &v, lane_at(&from, lane, pos[i]));
			put_int(index, lane_at(&to, lane, i), pos[i]);
		}
	}
}

/* A 0-d tensor gives its one element whatever k is. */
static int64_t picked(const struct node *n, const struct meta *in) { return in->rank ? node_int(n, A_topk_k) : 1; }

bool kern_topk(struct kern_ctx *c)
{
	ranked(c, &c->out[0], &c->out[1], picked(c->n, &c->in[A_topk_self]->meta), c->n->arg[A_topk_largest].b ? GREATEST : LEAST_NAN_LAST);
	return true;
}

void vjp_topk(struct vjp *v) { to_selected(v, true); }

bool meta_sort(struct meta_ctx *c)
{
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_sort_dim), c->in[A_sort_self]->rank, c->err))
		return false;
	c->nout = 2;
	for (int i = 0; i < 2; i++)
		layout_preserve(&c->out[i], c->in[A_sort_self]);
	c->out[1].dtype = DT_I64;
	return true;
}

static int64_t lane_length(const struct node *n, const struct meta *in)
{
	int d;
	return in->rank && dim_wrap(&d, node_int(n, A_sort_dim), in->rank, NULL) ? in->size[d] : 1;
}

bool kern_sort(struct kern_ctx *c)
{
	struct tensor dense[2];
	for (int i = 0; i < 2; i++) {
		struct meta m = c->out[i].meta;
		meta_make_contiguous(&m, m.dtype, m.size, m.rank);
		tensor_new(&dense[i], &m, c->scratch);
	}
	ranked(
		c, &dense[0], &dense[1], lane_length(c->n, &c->in[A_sort_self]->meta), c->n->arg[A_sort_descending].b ? GREATEST : LEAST_NAN_LAST);
	for (int i = 0; i < 2; i++)
		tensor_copy(&c->out[i], &dense[i]);
	return true;
}

void vjp_sort(struct vjp *v) { to_selected(v, true); }
void vjp_sort_stable(struct vjp *v) { to_selected(v, true); }
