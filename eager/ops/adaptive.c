/* adaptive.c: averages over windows that are as many as is said: window i of m along a dim of size n is floor(i * n / m) to
 * ceil((i + 1) * n / m), so that some overlap. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

static int64_t first_of(int64_t i, int64_t n, int64_t m) { return i * n / m; }
static int64_t end_of(int64_t i, int64_t n, int64_t m) { return ((i + 1) * n + m - 1) / m; }

/* ---- the word of the bodies ---- */

/* [m, most]: positions of each window, -1 behind its end. Quotients of small integers in double are rounded to no other integer. */
int body_adapted(struct build *b, int64_t n, int64_t m)
{
	const struct scalar one = scalar_int(1), size = scalar_int(n), windows = scalar_int(m);
	const int64_t down[] = {m, 1};
	int64_t most = 1;
	for (int64_t i = 0; i < m; i++)
		most = MAX(most, end_of(i, n, m) - first_of(i, n, m));
	const int window = emit_reshape(b, emit_arange(b, windows, (int)DT_F64), down, 2);
	const int start = emit_floor(b, emit_div_Scalar(b, emit_mul_Scalar(b, window, size), windows));
	const int next = emit_mul_Scalar(b, emit_add_Scalar(b, window, one, one), size);
	const int end = emit_ceil(b, emit_div_Scalar(b, next, windows));
	const int at = emit_add_Tensor(b, start, emit_arange(b, scalar_int(most), (int)DT_F64), one);
	return emit_to_copy(b, emit_masked_fill(b, at, emit_ge_Tensor(b, at, end), scalar_int(-1)), (int)DT_I64);
}

/* ---- shape rules ---- */

enum { MAX_WINDOWS = 1 << 20 };

static bool has_plane(struct meta_ctx *c, const char *name, const char *what, const struct meta *m)
{
	char text[SIZES_TEXT];
	if (m->rank != 3 && m->rank != 4)
		return err_set(c->err, "%s(): Expected 3D or 4D tensor, but got %s", name, sizes_text(text, m->size, m->rank));
	for (int d = 1; d < m->rank; d++)
		if (m->size[d] == 0)
			return d < m->rank - 2
				? err_limit(c->err, "no channels")
				: err_set(c->err, "%s(): Expected %s to have non-zero size for non-batch dimensions, but %s has sizes %s", name, what, what,
					sizes_text(text, m->size, m->rank));
	return m->size[0] > 0 || m->rank == 4 || err_limit(c->err, "no channels");
}

static bool beside_self(struct meta_ctx *c, const struct meta *self)
{
	if (!meta_body(c))
		return false;
	if (meta_is_channels_last(self))
		layout_channels_last(&c->out[0]);
	return true;
}

bool meta_adaptive_avg_pool2d(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_adaptive_avg_pool2d_self];
	const struct ints out = build_ints_of(c->n, A_adaptive_avg_pool2d_output_size);
	if (out.n != 2)
		return err_set(c->err, "adaptive_avg_pool2d: output_size must be 2");
	if (!has_plane(c, "adaptive_avg_pool2d", "input", self))
		return false;
	for (int d = 0; d < 2; d++)
		if (out.v[d] < 1 || out.v[d] > MAX_WINDOWS)
			return err_limit(c->err, "%lld windows along a dim", (long long)out.v[d]);
	return beside_self(c, self);
}

/* PyTorch does not look at samples and channels of the gradient, and reads beyond them. */
bool meta_adaptive_avg_pool2d_backward(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_adaptive_avg_pool2d_backward_self], *grad = c->in[A_adaptive_avg_pool2d_backward_grad_output];
	if (!has_plane(c, "adaptive_avg_pool2d_backward", "grad_output", grad))
		return false;
	if (self->rank != grad->rank)
		return err_set(c->err, "Expected dimensions %d for `grad_output` but got dimensions %d", self->rank, grad->rank);
	for (int d = 0; d < self->rank; d++)
		if (d < self->rank - 2 ? self->size[d] != grad->size[d] : self->size[d] == 0 || grad->size[d] > MAX_WINDOWS)
			return err_limit(c->err, "a gradient of other planes than self has, or a plane without elements");
	if (grad->dtype != self->dtype)
		return err_set(c->err, "for `grad_output` but got dtype %s", dtype_info[grad->dtype].full_cpp);
	return beside_self(c, self);
}
