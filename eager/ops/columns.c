/* columns.c: im2col and col2im: what lies under each window on a plane, as a column, and the sum of such columns on the planes that they
 * are from. Each is the other's derivative. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

enum { PLANE = 2 };
struct columns {
	int64_t in[PLANE], kernel[PLANE], dilation[PLANE], padding[PLANE], stride[PLANE], out[PLANE];
};

static int64_t windows_in(int64_t room, int64_t kernel, int64_t dilation, int64_t stride)
{
	const int64_t left = room - dilation * (kernel - 1) - 1;
	return left < 0 ? -(-left / stride) - (-left % stride > 0) + 1 : left / stride + 1;
}

/* ---- the word of the bodies ---- */

/* Along one dim, [kernel, windows]: where each tap of each window lies. */
static int taps(struct build *b, int64_t room, int64_t kernel, int64_t dilation, int64_t stride)
{
	const int tap = emit_mul_Scalar(b, emit_arange(b, scalar_int(kernel), (int)DT_I64), scalar_int(dilation));
	const int64_t n = windows_in(room, kernel, dilation, stride);
	const int start = emit_mul_Scalar(b, emit_arange(b, scalar_int(n), (int)DT_I64), scalar_int(stride));
	return emit_add_Tensor(b, emit_unsqueeze(b, tap, 1), start, scalar_int(1));
}

/* In the last two dims of x, flat: taps by row and column, then windows by row and column. */
int body_unfolded(struct build *b, int x, const struct ints *kernel, const struct ints *dilation, const struct ints *stride)
{
	const int64_t width = body_size(b, x, -1);
	const int rows = taps(b, body_size(b, x, -2), kernel->v[0], dilation->v[0], stride->v[0]);
	const int columns = taps(b, width, kernel->v[1], dilation->v[1], stride->v[1]);
	const int64_t down[] = {kernel->v[0], 1, body_size(b, rows, 1), 1}, across[] = {1, kernel->v[1], 1, body_size(b, columns, 1)};
	const int64_t all = body_numel(b, rows) * body_numel(b, columns);
	const int row = emit_reshape(b, emit_mul_Scalar(b, rows, scalar_int(width)), down, 4), column = emit_reshape(b, columns, across, 4);
	return emit_reshape(b, emit_add_Tensor(b, row, column, scalar_int(1)), &all, 1);
}

/* ---- shape rules ---- */

static bool read_list(struct meta_ctx *c, int64_t to[PLANE], int name, const char *what)
{
	int64_t v[MAX_LIST];
	const int n = node_ints(v, c->n, op_arg(c->n->op, name));
	if (n != PLANE)
		return err_set(c->err, "It is expected %s equals to 2, but got size %d", what, n);
	for (int d = 0; d < PLANE; d++) {
		if (v[d] > INT32_MAX || v[d] < -INT32_MAX)
			return err_limit(c->err, "%s of %lld", what, (long long)v[d]);
		to[d] = v[d];
	}
	return true;
}

static bool at_least(struct meta_ctx *c, const int64_t v[PLANE], int64_t least, const char *what, const char *name)
{
	return (v[0] >= least && v[1] >= least)
		|| err_set(c->err, "%s should be %s, but got %s_height: %lld %s_width: %lld", what, least ? "greater than zero" : "non-negative",
			name, (long long)v[0], name, (long long)v[1]);
}

static bool read_columns(struct meta_ctx *c, struct columns *s)
{
	return read_list(c, s->kernel, N_kernel_size, "kernel_size") && read_list(c, s->dilation, N_dilation, "dilation")
		&& read_list(c, s->padding, N_padding, "padding") && read_list(c, s->stride, N_stride, "stride")
		&& at_least(c, s->kernel, 1, "kernel size", "kernel") && at_least(c, s->dilation, 1, "dilation", "dilation")
		&& at_least(c, s->padding, 0, "padding", "pad") && at_least(c, s->stride, 1, "stride", "stride");
}

static void count_windows(struct columns *s)
{
	for (int d = 0; d < PLANE; d++)
		s->out[d] = windows_in(s->in[d] + 2 * s->padding[d], s->kernel[d], s->dilation[d], s->stride[d]);
}

bool meta_im2col(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_im2col_self];
	struct columns s;
	char text[SIZES_TEXT];
	if (!read_columns(c, &s))
		return false;
	if (self->rank < 3)
		return err_set(c->err, "Dimension out of range");
	if (!layout_is_samples(self, 3))
		return err_set(c->err,
			"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s",
			sizes_text(text, self->size, self->rank));
	memcpy(s.in, &self->size[self->rank - PLANE], sizeof s.in);
	count_windows(&s);
	if (s.out[0] < 1 || s.out[1] < 1)
		return err_set(c->err, "Given input with spatial size (%lld, %lld)", (long long)s.in[0], (long long)s.in[1]);
	return meta_body(c);
}

bool meta_col2im(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_col2im_self];
	struct columns s;
	char text[SIZES_TEXT];
	if (!read_list(c, s.in, N_output_size, "output_size") || !read_columns(c, &s))
		return false;
	if (!layout_is_samples(self, 2))
		return err_set(c->err,
			"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: %s",
			sizes_text(text, self->size, self->rank));
	const int64_t channels = self->size[self->rank - 2], blocks = self->size[self->rank - 1];
	if (channels % (s.kernel[0] * s.kernel[1]))
		return err_set(c->err,
			"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=%lld",
			(long long)channels);
	count_windows(&s);
	if (s.out[0] * s.out[1] != blocks)
		return err_set(c->err, "Given output_size=(%lld, %lld), kernel_size=(%lld, %lld)", (long long)s.in[0], (long long)s.in[1],
			(long long)s.kernel[0], (long long)s.kernel[1]);
	if (s.in[0] < 1 || s.in[1] < 1 || s.out[0] < 1 || s.out[1] < 1)
		return err_limit(c->err, "a plane or windows of no size");
	return meta_body(c);
}
