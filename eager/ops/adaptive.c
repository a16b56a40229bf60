/* adaptive.c: windows that are as many as is said: window i of m along a dim of size n is floor(i * n / m) to ceil((i + 1) * n / m), so
 * that some overlap. And the way back from the largest of windows, to planes whose sizes are stated. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"
#include "eager/ops/window.h"

/* ---- words of the bodies ---- */

/* [m, n], b8: which of n places each of m windows has: i * n < (place + 1) * m, and place * m < (i + 1) * n. */
int body_shared(struct build *b, int64_t n, int64_t m)
{
	const struct scalar none = scalar_int(0), all = scalar_int(n * m);
	const int start = emit_unsqueeze(b, emit_arange_start_step(b, none, all, scalar_int(n), (int)DT_I64), 1);
	const int ahead = emit_sub_Tensor(b, start, emit_arange_start_step(b, none, all, scalar_int(m), (int)DT_I64), scalar_int(1));
	return emit_logical_and(b, emit_lt_Scalar(b, ahead, scalar_int(m)), emit_gt_Scalar(b, ahead, scalar_int(-n)));
}

/* The sizes of x, the last ones replaced. */
struct ints body_pooled(const struct build *b, int x, const struct ints *out)
{
	const struct meta *m = build_meta(b, x);
	struct ints r = {.n = m->rank};
	for (int d = 0; d < m->rank; d++)
		r.v[d] = d < m->rank - out->n ? m->size[d] : out->v[d - (m->rank - out->n)];
	return r;
}

/* ---- shape rules ---- */

enum { MAX_WINDOWS = 1 << 20 };

static int dims_of(int op) { return op_info[op].param[op_arg(op, N_self)].role == R_VOLUMES ? 3 : 2; }

/* Of what has no channels PyTorch takes some ranks and refuses others. */
static bool has_planes(struct meta_ctx *c, const struct meta *m)
{
	char text[SIZES_TEXT];
	const int n = dims_of(c->n->op);
	if (m->rank != n + 1 && m->rank != n + 2)
		return err_set(c->err, "Expected %dD or %dD tensor, but got %s", n + 1, n + 2, sizes_text(text, m->size, m->rank));
	for (int d = 1; d < m->rank; d++)
		if (m->size[d] == 0 && d < m->rank - n)
			return err_limit(c->err, "no channels");
		else if (m->size[d] == 0)
			return err_set(c->err, "Expected input to have non-zero size for non-batch dimensions, but it has sizes %s",
				sizes_text(text, m->size, m->rank));
	return m->size[0] > 0 || m->rank == n + 2 || err_limit(c->err, "no channels");
}

static bool as_self(struct meta_ctx *c, const struct meta *self)
{
	if (!meta_body(c))
		return false;
	for (int k = 0; k < c->nout && dims_of(c->n->op) == 2; k++)
		if (meta_is_channels_last(self) && meta_numel(self))
			layout_channels_last(&c->out[k]);
	return true;
}

static bool check_windows(struct meta_ctx *c, const struct ints *out)
{
	const int n = dims_of(c->n->op);
	if (out->n != n)
		return err_set(c->err, "output_size must be %d", n);
	for (int d = 0; d < n; d++)
		if (out->v[d] < 1 || out->v[d] > MAX_WINDOWS)
			return err_limit(c->err, "%lld windows along a dim", (long long)out->v[d]);
	return true;
}

bool meta_adaptive_pool(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_adaptive_pool_self];
	const struct ints out = build_ints_of(c->n, A_adaptive_pool_output_size);
	return check_windows(c, &out) && has_planes(c, self) && as_self(c, self);
}

/* PyTorch does not look at samples and channels of the gradient, and reads beyond them. */
bool meta_adaptive_pool_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_adaptive_pool_backward_self], *grad = c->in[A_adaptive_pool_backward_grad_output];
	const int n = dims_of(c->n->op), at = op_arg(c->n->op, N_indices);
	if (!has_planes(c, grad))
		return false;
	if (self->rank != grad->rank)
		return err_set(c->err, "xpected dimensions %d for", self->rank);
	for (int d = 0; d < self->rank; d++)
		if (d < self->rank - n ? self->size[d] != grad->size[d] : self->size[d] == 0 || grad->size[d] > MAX_WINDOWS)
			return err_limit(c->err, "a gradient of other planes than self has, or a plane without elements");
	if (grad->dtype != self->dtype)
		return n == 3 && at < 0
			? err_set(c->err, "expected scalar type %s but found %s", dtype_info[self->dtype].c10, dtype_info[grad->dtype].c10)
			: err_set(c->err, "but got dtype %s", dtype_info[grad->dtype].full_cpp);
	if (at >= 0 && !meta_same_sizes(c->in[at], grad))
		return err_set(c->err, "xpected %s for", c->in[at]->rank == grad->rank ? "sizes" : "dimensions");
	if (at >= 0 && c->in[at]->dtype != DT_I64)
		return err_set(c->err, "expected scalar type Long but found %s", dtype_info[c->in[at]->dtype].c10);
	if (at >= 0 && n == 3 && !meta_is_contiguous(c->in[at]))
		return err_limit(c->err, "indices that PyTorch reads as if they lay row by row");
	return as_self(c, self);
}

/* ---- back to places ---- */

bool meta_max_unpool(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_max_unpool_self], *at = c->in[A_max_unpool_indices];
	const struct ints out = build_ints_of(c->n, A_max_unpool_output_size);
	const int n = dims_of(c->n->op);
	static const int lists[] = {N_stride, N_padding};
	char text[SIZES_TEXT];
	if (at->dtype != DT_I64)
		return err_set(c->err, "elements in indices should be type int64");
	if (out.n != n)
		return err_set(c->err, "There should be exactly %s elements", n == 2 ? "two" : "three");
	if (self->rank != n + 1 && self->rank != n + 2)
		return err_set(c->err, "Input to max_unpooling%dd should be a %dd or %dd Tensor", n, n + 1, n + 2);
	for (int k = 0; k < ARRAY_LEN(lists); k++) {
		const struct ints l = op_arg(c->n->op, lists[k]) < 0 ? out : build_ints_of(c->n, op_arg(c->n->op, lists[k]));
		if (l.n != n)
			return err_set(c->err, "There should be exactly %s elements", n == 2 ? "two" : "three");
		for (int d = 0; d < n && k == 0 && n == 3; d++)
			if (l.v[d] <= 0)
				return err_set(c->err, "strides should be greater than zero");
	}
	if (!meta_same_sizes(self, at))
		return err_set(c->err, "Expected shape of indices to be same as that of the input tensor");
	for (int d = 1; d < self->rank; d++)
		if (self->size[d] == 0)
			return err_set(c->err, "Expected input to have non-zero size for non-batch dimensions, but got %s",
				sizes_text(text, self->size, self->rank));
	for (int d = 0; d < n; d++)
		if (out.v[d] <= 0)
			return err_limit(c->err, "planes of size %lld", (long long)out.v[d]);
	return as_self(c, self);
}

static void unpooled(struct vjp *v)
{
	if (v->want[A_max_unpool_self])
		v->grad[A_max_unpool_self] = pool_gathered(v->b, v->g[0], v->in[A_max_unpool_indices], dims_of(v->n->op));
}
void vjp_max_unpool2d(struct vjp *v) { unpooled(v); }
void vjp_max_unpool3d(struct vjp *v) { unpooled(v); }

static void largest_backward(struct vjp *v)
{
	const int at = v->in[op_arg(v->n->op, N_indices)];
	if (v->want[A_adaptive_pool_backward_grad_output])
		v->grad[A_adaptive_pool_backward_grad_output] = pool_gathered(v->b, v->g[0], at, dims_of(v->n->op));
}
void vjp_adaptive_max_pool2d_backward(struct vjp *v) { largest_backward(v); }
void vjp_adaptive_max_pool3d_backward(struct vjp *v) { largest_backward(v); }
