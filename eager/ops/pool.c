/* pool.c: rows that make one number of what lies under each window on a plane. Sums are added in double and rounded to the type computed
 * in; an average is their quotient there. Its gradient is rounded where PyTorch's kernel divides. */
#include "eager/ops/window.h"

#include "eager/ops/move.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

/* ---- what a pool is told ---- */

/* Two entries of a list: one alone is for both; of none what `otherwise` says. */
static void spread_pair(int64_t out[POOLED_DIMS], const struct node *n, int name, const int64_t otherwise[POOLED_DIMS])
{
	int64_t v[MAX_LIST];
	const int k = op_arg(n->op, name), given = k < 0 ? 0 : node_ints(v, n, k);
	for (int d = 0; d < POOLED_DIMS; d++)
		out[d] = given == 0 ? otherwise[d] : given == 1 ? v[0] : v[d];
}

/* Windows whose first place is inside, or in the padding before (PyTorch's pooling_output_shape). */
static int64_t windows_along(const struct sliding *s, int d, bool ceil)
{
	const int64_t room = s->in[d] + 2 * s->padding[d] - s->dilation[d] * (s->kernel[d] - 1) - 1;
	if (room < 0 && !(ceil && room + s->stride[d] > 0))
		return 0;
	const int64_t n = (room + (ceil ? s->stride[d] - 1 : 0)) / s->stride[d] + 1;
	return n - (ceil && (n - 1) * s->stride[d] >= s->in[d] + s->padding[d]);
}

static bool flag_or(const struct node *n, int name, bool otherwise)
{
	const int k = op_arg(n->op, name);
	return k < 0 ? otherwise : n->arg[k].b;
}

static void read_lists(struct sliding *s, const struct node *n)
{
	static const int64_t one[POOLED_DIMS] = {1, 1};
	s->ndim = POOLED_DIMS;
	spread_pair(s->kernel, n, N_kernel_size, one);
	spread_pair(s->stride, n, N_stride, s->kernel);
	spread_pair(s->padding, n, N_padding, one);
	spread_pair(s->dilation, n, N_dilation, one);
}

struct pool pool_of(const struct node *n, const struct meta *self)
{
	struct pool p = {.planes = 1, .padding_counts = flag_or(n, N_count_include_pad, true)};
	const int divisor = op_arg(n->op, N_divisor_override);
	read_lists(&p.s, n);
	for (int d = 0; d < self->rank - POOLED_DIMS; d++)
		p.planes *= self->size[d];
	for (int d = 0; d < POOLED_DIMS; d++) {
		p.s.in[d] = self->size[self->rank - POOLED_DIMS + d];
		p.s.out[d] = windows_along(&p.s, d, flag_or(n, N_ceil_mode, false));
	}
	p.divisor = divisor >= 0 && node_given(n, divisor) ? node_int(n, divisor) : 0;
	return p;
}

int64_t pool_divisor(const struct pool *p, int64_t row, int64_t col)
{
	const int64_t at[POOLED_DIMS] = {row, col};
	int64_t n = 1;
	for (int d = 0; d < POOLED_DIMS; d++) {
		const int64_t beyond = p->padding_counts ? p->s.padding[d] : 0, start = sliding_at(&p->s, d, at[d], 0);
		n *= MIN(start + p->s.kernel[d], p->s.in[d] + beyond) - MAX(start, -beyond);
	}
	return p->divisor ? p->divisor : n;
}

/* ---- shape rules ---- */

static bool check_list(struct meta_ctx *c, const char *name, int list, const char *what, bool may_be_none)
{
	int64_t v[MAX_LIST];
	const int given = node_ints(v, c->n, op_arg(c->n->op, list));
	if (given > POOLED_DIMS || (given == 0 && !may_be_none))
		return err_set(c->err, "%s: %s must either be %sa single int, or a tuple of two ints", name, what, may_be_none ? "omitted, " : "");
	for (int k = 0; k < given; k++)
		if (v[k] > INT32_MAX || v[k] < -INT32_MAX)
			return err_limit(c->err, "%s of %lld", what, (long long)v[k]);
	return true;
}

static bool check_lists(struct meta_ctx *c)
{
	const bool dilated = op_arg(c->n->op, N_dilation) >= 0;
	const char *name = dilated ? "max_pool2d" : "avg_pool2d";
	return check_list(c, name, N_kernel_size, "kernel_size", false) && check_list(c, name, N_stride, "stride", true)
		&& check_list(c, name, N_padding, "padding", false) && (!dilated || check_list(c, name, N_dilation, "dilation", false));
}

/* PyTorch's pooling_output_shape, then its pool2d_shape_check (Pool.h; PoolingChecks.h of 2.15). */
static bool check_numbers(struct meta_ctx *c, const struct sliding *s)
{
	for (int d = 0; d < POOLED_DIMS; d++) {
		if (s->stride[d] == 0)
			return err_set(c->err, "stride should not be zero");
		if (s->padding[d] < 0)
			return err_set(c->err, "pad must be non-negative, but got pad: %lld", (long long)s->padding[d]);
		if (s->padding[d] > ((s->kernel[d] - 1) * s->dilation[d] + 1) / 2)
			return err_set(c->err,
				"pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
				(long long)s->padding[d], (long long)s->kernel[d], (long long)s->dilation[d]);
	}
	if (s->kernel[0] <= 0 || s->kernel[1] <= 0)
		return err_set(
			c->err, "kernel size should be greater than zero, but got kH: %lld kW: %lld", (long long)s->kernel[0], (long long)s->kernel[1]);
	if (s->stride[0] <= 0 || s->stride[1] <= 0)
		return err_set(
			c->err, "stride should be greater than zero, but got dH: %lld dW: %lld", (long long)s->stride[0], (long long)s->stride[1]);
	if (s->dilation[0] <= 0 || s->dilation[1] <= 0)
		return err_set(c->err, "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld", (long long)s->dilation[0],
			(long long)s->dilation[1]);
	return true;
}

static bool check_self(struct meta_ctx *c, const struct meta *self)
{
	int channels;
	char text[SIZES_TEXT];
	if (op_arg(c->n->op, N_dilation) >= 0 && (self->rank < 3 || self->rank > 4))
		return err_set(c->err, "non-empty 3D or 4D (batch mode) tensor expected for input");
	if (!dim_wrap(&channels, -3, self->rank, c->err))
		return false;
	bool valid = self->rank <= 4;
	for (int d = self->rank == 4; d < self->rank; d++)
		valid = valid && self->size[d];
	return valid
		|| err_set(c->err, "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
			sizes_text(text, self->size, self->rank));
}

static bool check_pool(struct meta_ctx *c, const struct meta *self)
{
	struct sliding s = {.ndim = POOLED_DIMS};
	if (!check_lists(c))
		return false;
	const int divisor = op_arg(c->n->op, N_divisor_override);
	if (divisor >= 0 && node_given(c->n, divisor) && node_int(c->n, divisor) == 0)
		return err_set(c->err, "divisor must be not zero");
	read_lists(&s, c->n);
	if (self->rank < 3 || self->rank > 4)
		return check_self(c, self);
	if (!check_numbers(c, &s) || !check_self(c, self))
		return false;
	for (int d = 0; d < POOLED_DIMS; d++)
		if (s.padding[d] > s.kernel[d] / 2)
			return err_set(c->err,
				"pad should be smaller than or equal to half of kernel size, but got padW = %lld, padH = %lld, kW = %lld, kH = %lld",
				(long long)s.padding[1], (long long)s.padding[0], (long long)s.kernel[1], (long long)s.kernel[0]);
	const struct pool p = pool_of(c->n, self);
	const long long channels = (long long)self->size[self->rank - 3];
	if (p.s.out[0] < 1 || p.s.out[1] < 1)
		return err_set(c->err, "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). Output size is too small",
			channels, (long long)p.s.in[0], (long long)p.s.in[1], channels, (long long)p.s.out[0], (long long)p.s.out[1]);
	return true;
}

/* Fresh results lie as self does, where that is channels-last. */
static void pool_result(struct meta *out, const struct meta *self, const int64_t *size, int rank)
{
	layout_contiguous(out, self, size, rank);
	if (rank == 4 && meta_is_channels_last(self))
		layout_channels_last(out);
}

static void pooled_sizes(int64_t size[4], const struct meta *self, const struct pool *p)
{
	memcpy(size, self->size, sizeof *size * (size_t)self->rank);
	for (int d = 0; d < POOLED_DIMS; d++)
		size[self->rank - POOLED_DIMS + d] = p->s.out[d];
}

static bool check_averaged(struct meta_ctx *c, const struct meta *self)
{
	return self->dtype != DT_I64 || err_limit(c->err, "an average of i64: PyTorch has it, and of no other integer");
}

bool meta_avg_pool2d(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_avg_pool2d_self];
	int64_t size[4];
	if (!check_averaged(c, self) || !check_pool(c, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	pooled_sizes(size, self, &p);
	pool_result(&c->out[0], self, size, self->rank);
	return true;
}

/* Sizes of what goes backward, PyTorch's check_dim_size; 2.11 does not look at the number of samples of an average, and reads beyond the
 * end. */
static bool check_pooled(struct meta_ctx *c, const struct meta *m, const struct meta *self, const int64_t size[4])
{
	for (int k = 1; k <= self->rank; k++) {
		const int d = k == 4 ? 0 : self->rank - 4 + k;
		if (m->rank == self->rank && m->size[d] == size[d])
			continue;
		if (d == 0 && self->rank == 4 && m->rank == 4 && op_arg(c->n->op, N_dilation) < 0)
			return err_limit(c->err, "a gradient of %lld samples where there are %lld: PyTorch 2.11 does not check it",
				(long long)m->size[0], (long long)size[0]);
		return err_set(c->err,
			"Expected a tensor of dimension %d and tensor.size[%d] == %lld but got: dimension %d and tensor.size[%d] = %lld", self->rank, d,
			(long long)size[d], m->rank, d, (long long)(d < m->rank ? m->size[d] : 0));
	}
	return true;
}

static bool check_gradient_dtype(struct meta_ctx *c, const struct meta *grad, const struct meta *self)
{
	return grad->dtype == self->dtype
		|| err_set(c->err, "expected dtype %s for `gradOutput` but got dtype %s", dtype_info[self->dtype].full_cpp,
			dtype_info[grad->dtype].full_cpp);
}

bool meta_avg_pool2d_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_avg_pool2d_backward_grad_output], *self = c->in[A_avg_pool2d_backward_self];
	int64_t size[4];
	if (!check_averaged(c, self) || !check_pool(c, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	pooled_sizes(size, self, &p);
	if (!check_pooled(c, grad, self, size) || !check_gradient_dtype(c, grad, self))
		return false;
	pool_result(&c->out[0], self, self->size, self->rank);
	return true;
}

/* ---- kernels ---- */

/* One place under one window: cells of what is pooled and of the result. */
struct place {
	int64_t cell, result, row, col;
};
typedef void place_fn(void *data, const struct place *at);

/* Places inside, window by window. */
static void each_place(const struct pool *p, place_fn *f, void *data)
{
	const struct sliding *s = &p->s;
	for (int64_t w = 0; w < p->planes * s->out[0] * s->out[1]; w++) {
		const int64_t plane = w / (s->out[0] * s->out[1]), row = w / s->out[1] % s->out[0], col = w % s->out[1];
		for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; k++) {
			const int64_t y = sliding_at(s, 0, row, k / s->kernel[1]), x = sliding_at(s, 1, col, k % s->kernel[1]);
			if (sliding_inside(s, 0, y) && sliding_inside(s, 1, x))
				f(data, &(struct place){(plane * s->in[0] + y) * s->in[1] + x, w, row, col});
		}
	}
}

struct sums {
	const double *from;
	double *to;
};
static void add_up(void *data, const struct place *at)
{
	struct sums *s = data;
	s->to[at->result] += s->from[at->cell];
}
static void hand_out(void *data, const struct place *at)
{
	struct sums *s = data;
	s->to[at->cell] += s->from[at->result];
}

static double window_divisor(const struct pool *p, int64_t window)
{
	return (double)pool_divisor(p, window / p->s.out[1] % p->s.out[0], window % p->s.out[1]);
}

/* As an element of dtype t. */
static double rounded(double v, enum dtype t)
{
	unsigned char cell[8];
	dtype_store_f(t, cell, v);
	return dtype_load_f(t, cell);
}

bool kern_avg_pool2d(struct kern_ctx *c)
{
	const struct tensor *self = c->in[A_avg_pool2d_self];
	const struct pool p = pool_of(c->n, &self->meta);
	struct wide x, y;
	wide_load(&x, self, c->scratch);
	wide_zero(&y, c->out->meta.dtype, meta_numel(&c->out->meta), c->scratch);
	each_place(&p, add_up, &(struct sums){x.f, y.f});
	const enum dtype t = dtype_compute(y.dtype);
	for (int64_t i = 0; i < y.n; i++)
		y.f[i] = rounded(rounded(y.f[i], t) / window_divisor(&p, i), t);
	wide_store(&y, c->out);
	return true;
}

/* Each share is a quotient in the tensor's dtype, of a divisor in it. */
bool kern_avg_pool2d_backward(struct kern_ctx *c)
{
	const struct tensor *grad = c->in[A_avg_pool2d_backward_grad_output];
	const struct pool p = pool_of(c->n, &c->in[A_avg_pool2d_backward_self]->meta);
	const enum dtype t = grad->meta.dtype;
	struct wide g, x;
	wide_load(&g, grad, c->scratch);
	wide_zero(&x, t, meta_numel(&c->out->meta), c->scratch);
	for (int64_t i = 0; i < g.n; i++)
		g.f[i] = rounded(g.f[i] / rounded(window_divisor(&p, i), t), t);
	each_place(&p, hand_out, &(struct sums){g.f, x.f});
	wide_store(&x, c->out);
	return true;
}

/* ---- derivatives ---- */

struct pool_args {
	struct ints kernel, stride, padding;
	bool ceil, include;
	int64_t divisor;
};
static struct pool_args args_of(const struct node *n)
{
	return (struct pool_args){build_ints_of(n, op_arg(n->op, N_kernel_size)), build_ints_of(n, op_arg(n->op, N_stride)),
		build_ints_of(n, op_arg(n->op, N_padding)), flag_or(n, N_ceil_mode, false), flag_or(n, N_count_include_pad, true),
		op_arg(n->op, N_divisor_override) < 0 ? NO_INT : build_int_of(n, op_arg(n->op, N_divisor_override))};
}

void vjp_avg_pool2d(struct vjp *v)
{
	const struct pool_args a = args_of(v->n);
	if (v->want[A_avg_pool2d_self])
		v->grad[A_avg_pool2d_self] = emit_avg_pool2d_backward(v->b, v->g[0], v->in[A_avg_pool2d_self], a.kernel.v, a.kernel.n, a.stride.v,
			a.stride.n, a.padding.v, a.padding.n, a.ceil, a.include, a.divisor);
}

/* Self gets zeros, which nothing computes. */
void vjp_avg_pool2d_backward(struct vjp *v)
{
	const struct pool_args a = args_of(v->n);
	if (v->want[A_avg_pool2d_backward_grad_output])
		v->grad[A_avg_pool2d_backward_grad_output] = emit_avg_pool2d(
			v->b, v->g[0], a.kernel.v, a.kernel.n, a.stride.v, a.stride.n, a.padding.v, a.padding.n, a.ceil, a.include, a.divisor);
}

/* ---- the largest ---- */

/* Is some place of each window inside? The padding may be wider than what lies between two places of a window that is dilated. */
static bool check_each_has_one(struct meta_ctx *c, const struct sliding *s)
{
	for (int d = 0; d < POOLED_DIMS; d++)
		for (int64_t at = 0; at < s->out[d]; at++) {
			const int64_t start = sliding_at(s, d, at, 0), first = start < 0 ? (s->dilation[d] - 1 - start) / s->dilation[d] : 0;
			if (first >= s->kernel[d] || !sliding_inside(s, d, start + first * s->dilation[d]))
				return err_limit(c->err, "a window without an element, whose index is none");
		}
	return true;
}

bool meta_max_pool2d_with_indices(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_max_pool2d_with_indices_self];
	int64_t size[4];
	if (!check_pool(c, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	if (!check_each_has_one(c, &p.s))
		return false;
	pooled_sizes(size, self, &p);
	c->nout = 2;
	for (int k = 0; k < c->nout; k++)
		pool_result(&c->out[k], self, size, self->rank);
	c->out[1].dtype = DT_I64;
	return true;
}

bool meta_max_pool2d_with_indices_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_max_pool2d_with_indices_backward_grad_output], *self = c->in[A_max_pool2d_with_indices_backward_self],
					  *at = c->in[A_max_pool2d_with_indices_backward_indices];
	int64_t size[4];
	if (!check_pool(c, self) || !check_gradient_dtype(c, grad, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	pooled_sizes(size, self, &p);
	if (!check_each_has_one(c, &p.s) || !check_pooled(c, grad, self, size) || !check_pooled(c, at, self, size))
		return false;
	if (at->dtype != DT_I64)
		return err_set(c->err, "expected scalar type Long but found %s", dtype_info[at->dtype].c10);
	pool_result(&c->out[0], self, self->size, self->rank);
	return true;
}

/* The first of equals, and of several NaNs the last: PyTorch's loop takes what is larger, and what is NaN. */
struct largest {
	const struct wide *x;
	struct wide *y, *at;
	int64_t plane;
};
static void take_larger(void *data, const struct place *p)
{
	const struct largest *l = data;
	const bool none = l->at->i[p->result] < 0;
	const bool larger = l->x->f ? l->x->f[p->cell] > l->y->f[p->result] || isnan(l->x->f[p->cell]) : l->x->i[p->cell] > l->y->i[p->result];
	if (!none && !larger)
		return;
	if (l->x->f)
		l->y->f[p->result] = l->x->f[p->cell];
	else
		l->y->i[p->result] = l->x->i[p->cell];
	l->at->i[p->result] = p->cell % l->plane;
}

bool kern_max_pool2d_with_indices(struct kern_ctx *c)
{
	const struct tensor *self = c->in[A_max_pool2d_with_indices_self];
	const struct pool p = pool_of(c->n, &self->meta);
	struct wide x, y, at;
	wide_load(&x, self, c->scratch);
	wide_zero(&y, self->meta.dtype, meta_numel(&c->out[0].meta), c->scratch);
	wide_zero(&at, DT_I64, y.n, c->scratch);
	for (int64_t i = 0; i < at.n; i++)
		at.i[i] = -1;
	each_place(&p, take_larger, &(struct largest){&x, &y, &at, p.s.in[0] * p.s.in[1]});
	wide_store(&y, &c->out[0]);
	wide_store(&at, &c->out[1]);
	return true;
}

bool kern_max_pool2d_with_indices_backward(struct kern_ctx *c)
{
	const struct pool p = pool_of(c->n, &c->in[A_max_pool2d_with_indices_backward_self]->meta);
	const int64_t plane = p.s.in[0] * p.s.in[1], windows = p.s.out[0] * p.s.out[1];
	struct wide g, at, x;
	wide_load(&g, c->in[A_max_pool2d_with_indices_backward_grad_output], c->scratch);
	wide_load(&at, c->in[A_max_pool2d_with_indices_backward_indices], c->scratch);
	wide_zero(&x, g.dtype, meta_numel(&c->out->meta), c->scratch);
	for (int64_t i = 0; i < g.n; i++) {
		if (at.i[i] < 0 || at.i[i] >= plane)
			return err_set(
				c->err, "index %lld is no element of a plane of %lld, which PyTorch does not check", (long long)at.i[i], (long long)plane);
		x.f[i / windows * plane + at.i[i]] += g.f[i];
	}
	wide_store(&x, c->out);
	return true;
}

void vjp_max_pool2d_with_indices(struct vjp *v)
{
	const struct pool_args a = args_of(v->n);
	const struct ints dilation = build_ints_of(v->n, A_max_pool2d_with_indices_dilation);
	if (v->want[A_max_pool2d_with_indices_self] && v->g[0] != NO_VALUE)
		v->grad[A_max_pool2d_with_indices_self] =
			emit_max_pool2d_with_indices_backward(v->b, v->g[0], v->in[A_max_pool2d_with_indices_self], a.kernel.v, a.kernel.n, a.stride.v,
				a.stride.n, a.padding.v, a.padding.n, dilation.v, dilation.n, a.ceil, v->out[1]);
}

/* The cotangent where the indices say, which PyTorch views, so that some layouts of them are refused; self gets zeros, which nothing
 * computes. */
void vjp_max_pool2d_with_indices_backward(struct vjp *v)
{
	const int at = v->in[A_max_pool2d_with_indices_backward_indices];
	const struct meta pooled = *build_meta(v->b, at), plane = *vjp_meta(v, A_max_pool2d_with_indices_backward_self);
	const int last = pooled.rank - POOLED_DIMS;
	int64_t rows[4], from[4];
	if (!v->want[A_max_pool2d_with_indices_backward_grad_output])
		return;
	memcpy(rows, pooled.size, sizeof rows);
	memcpy(from, plane.size, sizeof from);
	rows[last] = pooled.size[last] * pooled.size[last + 1];
	from[last] = plane.size[last] * plane.size[last + 1];
	const int k = meta_numel(&pooled) ? emit_view(v->b, at, rows, last + 1) : emit_reshape(v->b, at, rows, last + 1);
	const int g = emit_reshape(v->b, v->g[0], from, last + 1);
	v->grad[A_max_pool2d_with_indices_backward_grad_output] = emit_reshape(v->b, emit_gather(v->b, g, last, k), pooled.size, pooled.rank);
}
