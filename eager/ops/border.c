/* border.c: a border of the elements beside it, around the last one to three dims: mirrored at the edge (reflection_pad), or the edge
 * itself (replication_pad). Padding comes in pairs (before, after) from the last dim backwards; a negative one cuts off. Their bodies
 * (ops.def) take, or add up, at one position per cell of the padded dims. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

/* Which dim the k-th pair is of, beside the last one. */
static int64_t before(const struct ints *padding, int k) { return padding->v[2 * k]; }
static int64_t after(const struct ints *padding, int k) { return padding->v[2 * k + 1]; }

struct ints body_bordered(const struct build *b, int x, const struct ints *padding)
{
	struct ints out = body_sizes(b, x);
	for (int k = 0; k < padding->n / 2; k++)
		out.v[out.n - 1 - k] += before(padding, k) + after(padding, k);
	return out;
}

/* ---- positions ---- */

/* Where along dim k from the end each position of the result comes from. */
typedef int from_fn(struct build *b, int at, int64_t size);

static int mirrored(struct build *b, int at, int64_t size)
{
	const struct scalar one = scalar_int(1), last = scalar_int(size - 1);
	const int from_end = emit_rsub_Scalar(b, emit_abs(b, at), last, one);
	return emit_rsub_Scalar(b, emit_abs(b, from_end), last, one);
}

static int clamped(struct build *b, int at, int64_t size)
{
	const struct scalar first = scalar_int(0), last = scalar_int(size - 1);
	return emit_clamp(b, at, &first, &last);
}

/* Of each cell of the padded dims, row-major. */
static int positions(struct build *b, int x, const struct ints *padding, from_fn *from)
{
	const struct scalar one = scalar_int(1);
	const struct ints out = body_bordered(b, x, padding);
	int all = NO_VALUE;
	for (int k = padding->n / 2 - 1; k >= 0; k--) {
		const int64_t size = body_size(b, x, -1 - k), n = out.v[out.n - 1 - k];
		int at = emit_arange(b, scalar_int(n), (int)DT_I64);
		at = from(b, emit_sub_Scalar(b, at, scalar_int(before(padding, k)), one), size);
		if (all == NO_VALUE) {
			all = at;
			continue;
		}
		const int64_t cells = build_meta(b, all)->size[0] * n;
		const int start = emit_mul_Scalar(b, emit_unsqueeze(b, all, 1), scalar_int(size));
		all = emit_reshape(b, emit_add_Tensor(b, start, at, one), &cells, 1);
	}
	return all;
}

int body_mirrored(struct build *b, int x, const struct ints *padding) { return positions(b, x, padding, mirrored); }
int body_clamped(struct build *b, int x, const struct ints *padding) { return positions(b, x, padding, clamped); }

/* ---- shape rules ---- */

/* How many dims at the end the row pads. */
static int padded_dims(int op) { return role_info[op_info[op].param[op_arg(op, N_self)].role].max_rank - 2; }

static bool check_self(const struct meta_ctx *c, const struct meta *self, int n)
{
	char text[SIZES_TEXT];
	return layout_is_samples(self, n + 1)
		|| err_set(c->err,
			"Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s",
			n + 1, n + 2, sizes_text(text, self->size, self->rank));
}

static bool check_padding(const struct meta_ctx *c, const struct meta *self, const struct ints *padding, bool mirrors)
{
	char text[SIZES_TEXT];
	for (int k = 0; k < padding->n / 2; k++) {
		const int d = self->rank - 1 - k;
		const int64_t size = self->size[d];
		int64_t out;
		const bool beyond = mirrors && (before(padding, k) >= size || after(padding, k) >= size);
		if (beyond && op_arg(c->n->op, N_grad_output) >= 0)
			return err_limit(c->err, "a mirror of more than there is: not all kernels of gradients look");
		if (beyond)
			return err_set(c->err,
				"Argument #%d: Padding size should be less than the corresponding input dimension, but got: padding (%lld, %lld) at "
				"dimension %d of input %s",
				4 + 2 * k, (long long)before(padding, k), (long long)after(padding, k), d, sizes_text(text, self->size, self->rank));
		if (!add_i64(&out, before(padding, k), after(padding, k)) || !add_i64(&out, out, size))
			return err_limit(c->err, "a padding of %lld and %lld", (long long)before(padding, k), (long long)after(padding, k));
		if (out < 1 && padding->n == 2)
			return err_set(c->err, "input (W: %lld) is too small. Calculated output W: %lld", (long long)size, (long long)out);
		if (out < 1)
			return err_limit(c->err, "nothing is left of a plane: PyTorch 2.11 does not look");
	}
	return true;
}

static bool check_border(struct meta_ctx *c, const struct meta *self, bool mirrors)
{
	const struct ints padding = build_ints_of(c->n, op_arg(c->n->op, N_padding));
	const int n = padded_dims(c->n->op);
	if (op_arg(c->n->op, N_grad_output) >= 0 && padding.n != 2 * n)
		return err_limit(c->err, "a padding of %d numbers, at which not all of PyTorch's kernels look", padding.n);
	if (padding.n != 2 * n)
		return err_set(c->err, "padding size is expected to be %d", 2 * n);
	return check_self(c, self, n) && check_padding(c, self, &padding, mirrors);
}

/* Results lie as self does, where that is channels-last. */
static bool beside_self(struct meta_ctx *c, const struct meta *self)
{
	if (!meta_body(c))
		return false;
	if (meta_is_channels_last(self) && padded_dims(c->n->op) > 1)
		layout_channels_last(&c->out[0]);
	return true;
}

static bool border(struct meta_ctx *c, const struct meta *self, bool mirrors)
{
	return body_takes_self(c) && check_border(c, self, mirrors) && beside_self(c, self);
}

bool meta_reflection_pad(struct meta_ctx *c) { return border(c, c->in[A_reflection_pad_self], true); }
bool meta_replication_pad(struct meta_ctx *c) { return border(c, c->in[A_replication_pad_self], false); }

static bool check_gradient(struct meta_ctx *c, const struct meta *grad, const struct meta *self)
{
	static const char *const names[] = {"width", "height", "depth"};
	const struct ints padding = build_ints_of(c->n, op_arg(c->n->op, N_padding));
	if (grad->rank != self->rank)
		return err_limit(c->err, "a gradient of another number of dimensions than the result has");
	for (int k = 0; k < padding.n / 2; k++) {
		const int d = self->rank - 1 - k;
		const int64_t want = self->size[d] + before(&padding, k) + after(&padding, k);
		if (grad->size[d] != want)
			return err_set(c->err, "%s unexpected. Expected: %lld", names[k], (long long)want);
	}
	for (int d = 0; d < self->rank - padding.n / 2; d++)
		if (grad->size[d] != self->size[d])
			return err_limit(c->err, "a gradient of other planes than self has: PyTorch 2.11 does not look");
	if (grad->dtype != self->dtype && !dtype_is_float(self->dtype))
		return err_limit(c->err, "a gradient of another dtype than self has");
	if (!body_takes_self(c))
		return false;
	if (grad->dtype != self->dtype)
		return err_set(c->err, "expected scalar type %s but found %s", dtype_info[self->dtype].c10, dtype_info[grad->dtype].c10);
	return true;
}

static bool border_backward(struct meta_ctx *c, const struct meta *grad, const struct meta *self, bool mirrors)
{
	return check_border(c, self, mirrors) && check_gradient(c, grad, self) && beside_self(c, self);
}

bool meta_reflection_pad_backward(struct meta_ctx *c)
{
	return border_backward(c, c->in[A_reflection_pad_backward_grad_output], c->in[A_reflection_pad_backward_self], true);
}

bool meta_replication_pad_backward(struct meta_ctx *c)
{
	return border_backward(c, c->in[A_replication_pad_backward_grad_output], c->in[A_replication_pad_backward_self], false);
}
