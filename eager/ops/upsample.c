/* upsample.c: upsample_nearest of one to three dims: each place of the result is the element of self at floor(place * scale), where the
 * scale is 1 / that stated, or size / size. Kernels compute the product in f32 or in double, and have shortcuts: a call in which these
 * differ is not taken. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

#include <math.h>

/* ---- words of the bodies ---- */

static bool is_stated(const struct scalar *scale) { return scale && scale->f > 0; }

/* Where along a dim of size n each of m places is from. */
int body_nearest(struct build *b, int64_t n, int64_t m, const struct scalar *scale)
{
	const int place = emit_arange(b, scalar_int(m), (int)DT_F64);
	const int at = is_stated(scale) ? emit_mul_Scalar(b, place, scalar_float(1 / scale->f))
									: emit_div_Scalar(b, emit_mul_Scalar(b, place, scalar_int(n)), scalar_int(m));
	return emit_to_copy(b, emit_clamp_max(b, emit_floor(b, at), scalar_int(n - 1)), (int)DT_I64);
}

/* The same of cells, row-major, of positions along two dims, the second of size n. */
int body_across(struct build *b, int rows, int columns, int64_t n)
{
	const int64_t cells = body_numel(b, rows) * body_numel(b, columns);
	const int start = emit_mul_Scalar(b, emit_unsqueeze(b, rows, 1), scalar_int(n));
	return emit_reshape(b, emit_add_Tensor(b, start, columns, scalar_int(1)), &cells, 1);
}

/* ---- shape rules ---- */

enum { MAX_PLACES = 1 << 20 }; /* each of which is looked at */

static bool one_answer(int64_t n, int64_t m, const struct scalar *scale)
{
	const bool stated = is_stated(scale);
	const double by = stated ? 1 / scale->f : (double)n / (double)m;
	const float by32 = stated ? (float)by : (float)n / (float)m;
	for (int64_t i = 0; i < m; i++) {
		const double exact = stated ? floor((double)i * by) : floor((double)i * (double)n / (double)m);
		const int64_t at = exact < (double)n ? (int64_t)exact : n - 1;
		const double other[] = {floor((double)((float)i * by32)), floor((double)i * by), floor((double)(float)((double)i * by))};
		for (int k = 0; k < ARRAY_LEN(other); k++)
			if ((other[k] < (double)n ? (int64_t)other[k] : n - 1) != at)
				return false;
		if ((n == m && at != i) || (m == 2 * n && at != i / 2))
			return false;
	}
	return true;
}

/* The scale of dim d of those that are upsampled, or NULL. */
static const struct scalar *scale_of(const struct node *n, int d)
{
	for (int k = 0; k < op_info[n->op].nparam; k++)
		if (op_info[n->op].param[k].kind == K_FLOAT && d-- == 0)
			return node_given(n, k) ? &n->arg[k].scalar : NULL;
	return NULL;
}

/* Both sizes of samples: small has what is upsampled, large the result. */
static bool check_dims(struct meta_ctx *c, const int64_t *small, const int64_t *large, int n)
{
	for (int d = 0; d < n; d++)
		if (small[d] <= 0 || large[d] <= 0)
			return err_set(c->err, "Input and output sizes should be greater than 0, but got input (%c: %lld",
				n == 1       ? 'W'
					: n == 2 ? 'H'
							 : 'D',
				(long long)small[0]);
	for (int d = 0; d < n; d++) {
		if (large[d] > MAX_PLACES)
			return err_limit(c->err, "more than %d places along a dim", MAX_PLACES);
		if (!one_answer(small[d], large[d], scale_of(c->n, d)))
			return err_limit(c->err, "an element that is nearest by rounding: kernels differ");
	}
	return true;
}

static bool check_count(struct meta_ctx *c, const char *what, int is, int want)
{
	return is == want || err_set(c->err, "It is expected %s equals to %d, but got size %d", what, want, is);
}

bool meta_upsample_nearest(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_upsample_nearest_self];
	const struct ints out = build_ints_of(c->n, A_upsample_nearest_output_size);
	const int n = role_info[op_info[c->n->op].param[A_upsample_nearest_self].role].max_rank - 2;
	char text[SIZES_TEXT];
	if (!check_count(c, "output_size", out.n, n) || !check_count(c, "input_size", self->rank, n + 2)
		|| !check_dims(c, self->size + 2, out.v, n))
		return false;
	if (self->size[1] == 0)
		return err_set(
			c->err, "Non-empty %dD data tensor expected but got a tensor with sizes %s", n + 2, sizes_text(text, self->size, n + 2));
	if (!meta_body(c))
		return false;
	if (meta_is_channels_last(self))
		layout_channels_last(&c->out[0]);
	return true;
}

bool meta_upsample_nearest_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_upsample_nearest_backward_grad_output];
	const struct ints out = build_ints_of(c->n, A_upsample_nearest_backward_output_size),
					  in = build_ints_of(c->n, A_upsample_nearest_backward_input_size);
	const int n = role_info[op_info[c->n->op].param[A_upsample_nearest_backward_grad_output].role].max_rank - 2;
	if (!check_count(c, "output_size", out.n, n) || !check_count(c, "input_size", in.n, n + 2) || !check_dims(c, in.v + 2, out.v, n))
		return false;
	if (grad->rank != n + 2)
		return n == 1 ? err_set(c->err, "Expected a tensor of dimension 3")
					  : err_set(c->err, "Expected grad_output to be a tensor of dimension %d", n + 2);
	for (int d = 0; d < n + 2; d++) {
		const int64_t want = d < 2 ? in.v[d] : out.v[d - 2];
		if (grad->size[d] != want)
			return n == 1
				? err_set(c->err, "Expected a tensor of dimension 3 and tensor.size[%d] == %lld", d, (long long)want)
				: err_set(c->err, "Expected grad_output to have the same shape as output; output.size(%d) = %lld", d, (long long)want);
	}
	if (grad->size[1] == 0)
		return err_limit(c->err, "no channels");
	if (!meta_body(c))
		return false;
	if (n == 2 && meta_is_channels_last(grad))
		layout_channels_last(&c->out[0]);
	return true;
}
