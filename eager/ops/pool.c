/* pool.c: rows that make one number of what lies under each window on a plane or in a volume. Sums are added in double and rounded to the
 * type computed in; an average is their quotient there. Its gradient is rounded where PyTorch's kernel divides. */
#include "eager/ops/window.h"

#include "eager/ops/move.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

/* ---- what a pool is told ---- */

static int dims_of(int op) { return op_info[op].param[op_arg(op, N_self)].role == R_VOLUMES ? 3 : 2; }

/* An entry for each of the last dims: one alone is for all; of none what `otherwise` says. */
static void spread_list(int64_t out[SLIDING_DIMS], const struct node *n, int name, const int64_t otherwise[SLIDING_DIMS])
{
	int64_t v[MAX_LIST];
	const int k = op_arg(n->op, name), given = k < 0 ? 0 : node_ints(v, n, k), first = SLIDING_DIMS - dims_of(n->op);
	for (int d = first; d < SLIDING_DIMS; d++)
		out[d] = given == 0 ? otherwise[d] : given == 1 ? v[0] : v[d - first];
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
	static const int64_t one[SLIDING_DIMS] = {1, 1, 1};
	*s = (struct sliding){dims_of(n->op), {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {1, 1, 1}};
	spread_list(s->kernel, n, N_kernel_size, one);
	spread_list(s->stride, n, N_stride, s->kernel);
	spread_list(s->padding, n, N_padding, one);
	spread_list(s->dilation, n, N_dilation, one);
}

struct pool pool_of(const struct node *n, const struct meta *self)
{
	struct pool p = {.planes = 1, .padding_counts = flag_or(n, N_count_include_pad, true)};
	const int divisor = op_arg(n->op, N_divisor_override);
	read_lists(&p.s, n);
	for (int d = 0; d < self->rank - p.s.ndim; d++)
		p.planes *= self->size[d];
	for (int d = SLIDING_DIMS - p.s.ndim; d < SLIDING_DIMS; d++) {
		p.s.in[d] = self->size[self->rank - SLIDING_DIMS + d];
		p.s.out[d] = windows_along(&p.s, d, flag_or(n, N_ceil_mode, false));
	}
	p.divisor = divisor >= 0 && node_given(n, divisor) ? node_int(n, divisor) : 0;
	return p;
}

int64_t pool_divisor(const struct pool *p, int64_t window)
{
	int64_t n = 1;
	for (int d = SLIDING_DIMS - 1; d >= 0; window /= p->s.out[d--]) {
		const int64_t beyond = p->padding_counts ? p->s.padding[d] : 0, start = sliding_at(&p->s, d, window % p->s.out[d], 0);
		n *= MIN(start + p->s.kernel[d], p->s.in[d] + beyond) - MAX(start, -beyond);
	}
	return p->divisor ? p->divisor : n;
}

/* ---- shape rules ---- */

static const char *pool_name(int op)
{
	const bool volumes = dims_of(op) == 3;
	return op_arg(op, N_dilation) >= 0 ? (volumes ? "max_pool3d" : "max_pool2d") : volumes ? "avg_pool3d" : "avg_pool2d";
}

static bool check_list(struct meta_ctx *c, int list, const char *what, bool may_be_none)
{
	int64_t v[MAX_LIST];
	const int n = dims_of(c->n->op), given = node_ints(v, c->n, op_arg(c->n->op, list));
	if ((given != n && given != 1) && (given > 0 || !may_be_none))
		return err_set(c->err, "%s: %s must %s%sa single int, or a tuple of %s ints", pool_name(c->n->op), what,
			list == N_dilation ? "be either " : "either ",
			may_be_none              ? "be omitted, "
				: list == N_dilation ? ""
									 : "be ",
			n == 3 ? "three" : "two");
	for (int k = 0; k < given; k++)
		if (v[k] > INT32_MAX || v[k] < -INT32_MAX)
			return err_limit(c->err, "%s of %lld", what, (long long)v[k]);
	return true;
}

static bool check_lists(struct meta_ctx *c)
{
	return check_list(c, N_kernel_size, "kernel_size", false) && check_list(c, N_stride, "stride", true)
		&& check_list(c, N_padding, "padding", false) && (op_arg(c->n->op, N_dilation) < 0 || check_list(c, N_dilation, "dilation", false));
}

static bool check_positive(struct meta_ctx *c, const struct sliding *s, const int64_t v[SLIDING_DIMS], const char *what, const char *letter)
{
	if (v[0] > 0 && v[1] > 0 && v[2] > 0)
		return true;
	return s->ndim == 3 ? err_set(c->err, "%s should be greater than zero, but got %sT: %lld %sH: %lld %sW: %lld", what, letter,
			   (long long)v[0], letter, (long long)v[1], letter, (long long)v[2])
						: err_set(c->err, "%s should be greater than zero, but got %sH: %lld %sW: %lld", what, letter, (long long)v[1],
							letter, (long long)v[2]);
}

/* PyTorch's pooling_output_shape, then its pool2d_shape_check or pool3d_shape_check (Pool.h; PoolingChecks.h of 2.15). */
static bool check_numbers(struct meta_ctx *c, const struct sliding *s)
{
	for (int d = SLIDING_DIMS - s->ndim; d < SLIDING_DIMS; d++) {
		if (s->stride[d] == 0)
			return err_set(c->err, "stride should not be zero");
		if (s->padding[d] < 0)
			return err_set(c->err, "pad must be non-negative, but got pad: %lld", (long long)s->padding[d]);
		if (s->padding[d] > ((s->kernel[d] - 1) * s->dilation[d] + 1) / 2)
			return err_set(c->err,
				"pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
				(long long)s->padding[d], (long long)s->kernel[d], (long long)s->dilation[d]);
	}
	return check_positive(c, s, s->kernel, "kernel size", "k") && check_positive(c, s, s->stride, "stride", "d")
		&& check_positive(c, s, s->dilation, "dilation", "dilation");
}

static bool check_self(struct meta_ctx *c, const struct meta *self)
{
	int channels;
	char text[SIZES_TEXT];
	const int alone = dims_of(c->n->op) + 1;
	if (alone == 4 && !layout_is_samples(self, alone) && (self->rank == 4 || self->rank == 5))
		return err_set(c->err, "non-batch dimensions of %s", sizes_text(text, self->size, self->rank));
	if (op_arg(c->n->op, N_dilation) >= 0 && self->rank != alone && self->rank != alone + 1)
		return err_set(c->err, "non-empty %dD or %dD (batch mode) tensor expected for input", alone, alone + 1);
	if (!dim_wrap(&channels, -alone, self->rank, c->err))
		return false;
	return layout_is_samples(self, alone)
		|| err_set(c->err, "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got:%s", alone, alone + 1,
			sizes_text(text, self->size, self->rank));
}

/* PyTorch asks volumes without samples for their format, in which their channels count as samples. */
static bool check_format(struct meta_ctx *c, const struct meta *self)
{
	return dims_of(c->n->op) == 2 || self->rank != 4 || !meta_is_channels_last(self)
		|| err_set(c->err, "Unsupported memory format. Supports only ChannelsLast3d, Contiguous");
}

static bool check_pool(struct meta_ctx *c, const struct meta *self)
{
	struct sliding s;
	if (!check_lists(c))
		return false;
	const int divisor = op_arg(c->n->op, N_divisor_override);
	if (divisor >= 0 && node_given(c->n, divisor) && node_int(c->n, divisor) == 0)
		return err_set(c->err, "divisor must be not zero");
	read_lists(&s, c->n);
	if (self->rank <= s.ndim || self->rank > s.ndim + 2)
		return check_self(c, self);
	if (!check_numbers(c, &s) || !check_self(c, self))
		return false;
	for (int d = 0; d < SLIDING_DIMS; d++)
		if (s.padding[d] > s.kernel[d] / 2)
			return err_set(c->err,
				"pad should be smaller than or equal to half of kernel size, but got a padding of %lld and a kernel of %lld",
				(long long)s.padding[d], (long long)s.kernel[d]);
	const struct pool p = pool_of(c->n, self);
	char in[SIZES_TEXT], out[SIZES_TEXT];
	const int64_t least = MIN(p.s.out[0], MIN(p.s.out[1], p.s.out[2]));
	return least > 0 ? check_format(c, self)
					 : err_set(c->err, "Given input size: %s. Calculated output size: %s. Output size is too small",
						 sizes_text(in, p.s.in + SLIDING_DIMS - s.ndim, s.ndim), sizes_text(out, p.s.out + SLIDING_DIMS - s.ndim, s.ndim));
}

/* Do volumes without samples lie as samples of one would in channels-last-3d, and not row by row? */
static bool is_channels_last_alone(const struct meta *m)
{
	struct meta one = *m;
	meta_insert_dim(&one, 0, 1, 1);
	return meta_numel(m) > 0 && !meta_is_formatted(m, FORMAT_CONTIGUOUS) && meta_is_formatted(&one, FORMAT_CHANNELS_LAST_3D);
}

/* Fresh results lie as `like` does, where that is channels-last; then true. */
static bool pool_result(struct meta *out, const struct meta *like, const struct meta *self, const int64_t *size, int ndim)
{
	layout_contiguous(out, self, size, self->rank);
	if (ndim == 3 && self->rank == 4) {
		if (!is_channels_last_alone(like))
			return false;
		meta_insert_dim(out, 0, 1, 1);
		layout_channels_last(out);
		meta_remove_dim(out, 0);
		return true;
	}
	if (self->rank != ndim + 2 || !meta_is_channels_last(like) || (ndim == 3 && meta_numel(out) == 0))
		return false;
	layout_channels_last(out);
	return true;
}

static void pooled_sizes(int64_t size[5], const struct meta *self, const struct pool *p)
{
	memcpy(size, self->size, sizeof *size * (size_t)self->rank);
	for (int d = SLIDING_DIMS - p->s.ndim; d < SLIDING_DIMS; d++)
		size[self->rank - SLIDING_DIMS + d] = p->s.out[d];
}

static bool check_averaged(struct meta_ctx *c, const struct meta *self)
{
	return self->dtype != DT_I64 || err_limit(c->err, "an average of i64: PyTorch has it, and of no other integer");
}

bool meta_avg_pool2d(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_avg_pool2d_self];
	int64_t size[5];
	if (!check_averaged(c, self) || !check_pool(c, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	pooled_sizes(size, self, &p);
	pool_result(&c->out[0], self, self, size, p.s.ndim);
	return true;
}

/* Sizes of what goes backward, PyTorch's check_dim_size; 2.11 does not look at the number of samples of an average, nor at most of those of
 * volumes, and reads beyond the end. */
static bool check_pooled(struct meta_ctx *c, const struct meta *m, const struct meta *self, const int64_t size[5])
{
	char text[SIZES_TEXT];
	const bool volumes = dims_of(c->n->op) == 3;
	for (int k = 1; k <= self->rank; k++) {
		const int d = k == self->rank ? 0 : k;
		if (m->rank == self->rank && m->size[d] == size[d])
			continue;
		if (m->rank == self->rank && (volumes || (d == 0 && self->rank == 4 && op_arg(c->n->op, N_dilation) < 0)))
			return err_limit(c->err, "a gradient of sizes %s, which PyTorch 2.11 does not check", sizes_text(text, m->size, m->rank));
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
	int64_t size[5];
	if (!check_averaged(c, self) || !check_pool(c, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	pooled_sizes(size, self, &p);
	if (!check_pooled(c, grad, self, size) || !check_gradient_dtype(c, grad, self))
		return false;
	pool_result(&c->out[0], self, self, self->size, p.s.ndim);
	return true;
}

/* ---- kernels ---- */

/* One place under one window: cells of what is pooled and of the result. */
struct place {
	int64_t cell, result;
};
typedef void place_fn(void *data, const struct place *at);

/* Entry k of window w of a plane: the cell of the plane under it; -1: it lies in the padding. */
static int64_t cell_under(const struct sliding *s, int64_t w, int64_t k)
{
	int64_t cell = 0, step = 1;
	for (int d = SLIDING_DIMS - 1; d >= 0; step *= s->in[d], w /= s->out[d], k /= s->kernel[d--]) {
		const int64_t at = sliding_at(s, d, w % s->out[d], k % s->kernel[d]);
		if (!sliding_inside(s, d, at))
			return -1;
		cell += at * step;
	}
	return cell;
}

/* Places inside, window by window. */
static void each_place(const struct pool *p, place_fn *f, void *data)
{
	const struct sliding *s = &p->s;
	const int64_t windows = sliding_numel(s->out);
	for (int64_t w = 0; w < p->planes * windows; w++)
		for (int64_t k = 0; k < sliding_numel(s->kernel); k++) {
			const int64_t cell = cell_under(s, w % windows, k);
			if (cell >= 0)
				f(data, &(struct place){w / windows * sliding_numel(s->in) + cell, w});
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
		y.f[i] = rounded(rounded(y.f[i], t) / (double)pool_divisor(&p, i), t);
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
		g.f[i] = rounded(g.f[i] / rounded((double)pool_divisor(&p, i), t), t);
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
	for (int d = 0; d < SLIDING_DIMS; d++)
		for (int64_t at = 0; at < s->out[d]; at++) {
			const int64_t start = sliding_at(s, d, at, 0), first = start < 0 ? (s->dilation[d] - 1 - start) / s->dilation[d] : 0;
			if (first >= s->kernel[d] || !sliding_inside(s, d, start + first * s->dilation[d]))
				return err_limit(c->err, "a window without an element, whose index is none");
		}
	return true;
}

/* PyTorch's channels-last kernel counts in signed integers as wide as the elements; floats count in 32 bits. */
static bool indices_fit(struct meta_ctx *c, const struct meta *self, int64_t plane)
{
	const int bits = 8 * dtype_nbytes(self->dtype);
	if (dtype_is_float(self->dtype) || bits > 16 || meta_numel(self) == 0 || plane < (int64_t)1 << (bits - 1))
		return true;
	return err_set(c->err, "Expected %sinput_height * input_width <= std::numeric_limits<integer_t>::max() to be true, but got false.",
		dims_of(c->n->op) == 3 ? "input_depth * " : "");
}

bool meta_max_pool_with_indices(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_max_pool_with_indices_self];
	int64_t size[5];
	if (!check_pool(c, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	if (!check_each_has_one(c, &p.s))
		return false;
	pooled_sizes(size, self, &p);
	c->nout = 2;
	bool last = false;
	for (int k = 0; k < c->nout; k++)
		last = pool_result(&c->out[k], self, self, size, p.s.ndim);
	c->out[1].dtype = DT_I64;
	return !last || indices_fit(c, self, sliding_numel(p.s.in));
}

bool meta_max_pool_with_indices_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_max_pool_with_indices_backward_grad_output], *self = c->in[A_max_pool_with_indices_backward_self],
					  *at = c->in[A_max_pool_with_indices_backward_indices];
	int64_t size[5];
	if (!check_pool(c, self) || !check_gradient_dtype(c, grad, self))
		return false;
	const struct pool p = pool_of(c->n, self);
	pooled_sizes(size, self, &p);
	if (!check_each_has_one(c, &p.s) || !check_pooled(c, grad, self, size) || !check_pooled(c, at, self, size) || !check_format(c, grad))
		return false;
	if (at->dtype != DT_I64)
		return err_set(c->err, "expected scalar type Long but found %s", dtype_info[at->dtype].c10);
	pool_result(&c->out[0], self->rank == 4 && p.s.ndim == 3 ? grad : self, self, self->size, p.s.ndim);
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

bool kern_max_pool_with_indices(struct kern_ctx *c)
{
	const struct tensor *self = c->in[A_max_pool_with_indices_self];
	const struct pool p = pool_of(c->n, &self->meta);
	struct wide x, y, at;
	wide_load(&x, self, c->scratch);
	wide_zero(&y, self->meta.dtype, meta_numel(&c->out[0].meta), c->scratch);
	wide_zero(&at, DT_I64, y.n, c->scratch);
	for (int64_t i = 0; i < at.n; i++)
		at.i[i] = -1;
	each_place(&p, take_larger, &(struct largest){&x, &y, &at, sliding_numel(p.s.in)});
	wide_store(&y, &c->out[0]);
	wide_store(&at, &c->out[1]);
	return true;
}

bool kern_max_pool_with_indices_backward(struct kern_ctx *c)
{
	const struct pool p = pool_of(c->n, &c->in[A_max_pool_with_indices_backward_self]->meta);
	const int64_t plane = sliding_numel(p.s.in), windows = sliding_numel(p.s.out);
	struct wide g, at, x;
	wide_load(&g, c->in[A_max_pool_with_indices_backward_grad_output], c->scratch);
	wide_load(&at, c->in[A_max_pool_with_indices_backward_indices], c->scratch);
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

void vjp_max_pool_with_indices(struct vjp *v)
{
	const struct pool_args a = args_of(v->n);
	const struct ints dilation = build_ints_of(v->n, A_max_pool_with_indices_dilation);
	if (v->want[A_max_pool_with_indices_self] && v->g[0] != NO_VALUE)
		v->grad[A_max_pool_with_indices_self] =
			(dims_of(v->n->op) == 3 ? emit_max_pool3d_with_indices_backward : emit_max_pool2d_with_indices_backward)(v->b, v->g[0],
				v->in[A_max_pool_with_indices_self], a.kernel.v, a.kernel.n, a.stride.v, a.stride.n, a.padding.v, a.padding.n, dilation.v,
				dilation.n, a.ceil, v->out[1]);
}

/* g, of planes of ndim dims each, at the indices; PyTorch views those, so that some layouts of them are refused. */
int pool_gathered(struct build *b, int g, int at, int ndim)
{
	const struct meta pooled = *build_meta(b, at), plane = *build_meta(b, g);
	const int last = pooled.rank - ndim;
	int64_t rows[5] = {0}, from[5] = {0};
	memcpy(rows, pooled.size, sizeof *rows * (size_t)last);
	memcpy(from, plane.size, sizeof *from * (size_t)last);
	rows[last] = from[last] = 1;
	for (int d = last; d < pooled.rank; d++) {
		rows[last] *= pooled.size[d];
		from[last] *= plane.size[d];
	}
	const int k = meta_numel(&pooled) ? emit_view(b, at, rows, last + 1) : emit_reshape(b, at, rows, last + 1);
	return emit_reshape(b, emit_gather(b, emit_reshape(b, g, from, last + 1), last, k), pooled.size, pooled.rank);
}

/* Self gets zeros, which nothing computes. */
void vjp_max_pool_with_indices_backward(struct vjp *v)
{
	if (v->want[A_max_pool_with_indices_backward_grad_output])
		v->grad[A_max_pool_with_indices_backward_grad_output] =
			pool_gathered(v->b, v->g[0], v->in[A_max_pool_with_indices_backward_indices], dims_of(v->n->op));
}
