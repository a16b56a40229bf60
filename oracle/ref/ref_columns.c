/* ref_columns.c: im2col: element (channel, tap) x window of the result is the place of the plane that the tap of the window lies on, or 0
 * in the padding. col2im adds up what lies on each place; the CPU rounds each addition. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

struct columns {
	int64_t in[2], kernel[2], dilation[2], padding[2], stride[2], out[2];
	int64_t planes, n; /* n: elements of the columns */
};

static bool read_pair(struct ref_ctx *c, int64_t to[2], int name, int64_t least)
{
	const struct arg *a = &c->n->arg[op_arg(c->n->op, name)];
	if (a->n != 2)
		return err_set(c->err, "%s: a list of %d numbers for 2 dims", op_info[c->n->op].name, a->n);
	for (int d = 0; d < 2; d++) {
		to[d] = a->ints[d].value;
		if (to[d] < least)
			return err_set(c->err, "%s of %lld, which should be at least %lld", op_info[c->n->op].name, (long long)to[d], (long long)least);
		if (to[d] > INT32_MAX)
			return ref_unsupported(c, "%s of %lld", op_info[c->n->op].name, (long long)to[d]);
	}
	return true;
}

/* in and planes are known. */
static bool read_columns(struct ref_ctx *c, struct columns *s)
{
	if (!read_pair(c, s->kernel, N_kernel_size, 1) || !read_pair(c, s->dilation, N_dilation, 1) || !read_pair(c, s->padding, N_padding, 0)
		|| !read_pair(c, s->stride, N_stride, 1))
		return false;
	for (int d = 0; d < 2; d++) {
		const int64_t last = s->in[d] + 2 * s->padding[d] - s->dilation[d] * (s->kernel[d] - 1) - 1;
		s->out[d] = last < 0 ? 0 : last / s->stride[d] + 1;
	}
	s->n = s->planes * s->kernel[0] * s->kernel[1] * s->out[0] * s->out[1];
	if (s->kernel[0] * s->kernel[1] > c->t->limit.entries || s->n > c->t->limit.entries)
		return ref_unsupported(c, "too many scalars");
	return true;
}

/* Which element of the planes each element of the columns is, in their order; -1: padding. */
static int64_t *places(struct ref_ctx *c, const struct columns *s)
{
	int64_t *at = ARENA_NEW(c->t->arena, int64_t, s->n + 1);
	const int64_t taps = s->kernel[0] * s->kernel[1], windows = s->out[0] * s->out[1];
	for (int64_t k = 0; k < s->n; k++) {
		const int64_t window = k % windows, tap = k / windows % taps, plane = k / (windows * taps);
		const int64_t y = window / s->out[1] * s->stride[0] + tap / s->kernel[1] * s->dilation[0] - s->padding[0];
		const int64_t x = window % s->out[1] * s->stride[1] + tap % s->kernel[1] * s->dilation[1] - s->padding[1];
		at[k] = y >= 0 && y < s->in[0] && x >= 0 && x < s->in[1] ? (plane * s->in[0] + y) * s->in[1] + x : -1;
	}
	return at;
}

static bool has_kernel(struct ref_ctx *c, enum dtype dt)
{
	return ((dtype_is_float(dt) || dt == DT_B8) && dtype_info[dt].rows == DR_FULL)
		|| err_set(c->err, "\"%s_out_cpu\" not implemented for '%s'", op_info[c->n->op].name, dtype_info[dt].c10);
}

static bool has_samples(struct ref_ctx *c, const struct meta *m, int alone)
{
	return shape_is_samples(m, alone)
		|| err_set(c->err, "Expected %dD or %dD tensor with possibly 0 batch size and other non-zero dimensions, but got: %s", alone,
			alone + 1, shape_text(c, m->size, m->rank));
}

REFERENCE(im2col, ANEW)
{
	const struct meta *m = meta_of(c, A_im2col_self);
	struct columns s = {.planes = 1};
	if (!has_samples(c, m, 3))
		return false;
	memcpy(s.in, m->size + m->rank - 2, sizeof s.in);
	for (int d = 0; d < m->rank - 2; d++)
		s.planes *= m->size[d];
	if (!read_columns(c, &s))
		return false;
	if (s.out[0] < 1 || s.out[1] < 1)
		return err_set(c->err, "im2col: no window fits");
	if (!has_kernel(c, m->dtype))
		return false;
	const int64_t taps = s.kernel[0] * s.kernel[1], windows = s.out[0] * s.out[1];
	const int64_t all[] = {m->size[0], m->size[m->rank - 3] * taps, windows};
	const int64_t *at = places(c, &s);
	const sid *own = ref_ids(c, c->in[A_im2col_self]), zero = shape_zero(c, m->dtype);
	sid *read = tape_ids(c->t, s.n), *out = ref_out(c, 0, m->dtype, all + (m->rank == 3), m->rank - 1, NULL);
	int64_t nread = 0;
	for (int64_t k = 0; k < s.n; k++)
		if (at[k] >= 0)
			read[nread++] = own[at[k]];
	const sid *copy = ref_copies(c, read, nread, m->dtype);
	if (!out)
		return false;
	nread = 0;
	for (int64_t k = 0; k < s.n; k++)
		out[k] = at[k] >= 0 ? copy[nread++] : zero;
	return true;
}

REFERENCE(col2im, ANEW)
{
	const struct meta *m = meta_of(c, A_col2im_self);
	struct columns s = {.planes = 1};
	if (!has_samples(c, m, 2) || !read_pair(c, s.in, N_output_size, INT64_MIN) || !read_columns(c, &s))
		return false;
	const int64_t taps = s.kernel[0] * s.kernel[1], channels = m->size[m->rank - 2] / taps;
	if (m->size[m->rank - 2] % taps)
		return err_set(c->err, "Expected size of input's dimension 1 to be divisible by the product of kernel_size");
	if (s.out[0] * s.out[1] != m->size[m->rank - 1])
		return err_set(c->err, "col2im: columns of %lld windows, where there are %lld", (long long)m->size[m->rank - 1],
			(long long)(s.out[0] * s.out[1]));
	if (s.in[0] < 1 || s.in[1] < 1)
		return ref_unsupported(c, "col2im to a plane of no size");
	if (!has_kernel(c, m->dtype))
		return false;
	if (m->dtype == DT_B8)
		return ref_unsupported(c, "a sum of bools");
	s.planes = channels * (m->rank == 3 ? m->size[0] : 1);
	s.n = meta_numel(m);
	const int64_t all[] = {m->size[0], channels, s.in[0], s.in[1]}, n = s.planes * s.in[0] * s.in[1];
	if (s.n > c->t->limit.entries || n > c->t->limit.entries)
		return ref_unsupported(c, "too many scalars");
	const int64_t *at = places(c, &s);
	const sid *own = ref_ids(c, c->in[A_col2im_self]);
	return ref_out_block(c, 0, m->dtype, all + (m->rank == 2), m->rank + 1, NULL, ref_sums_at(c, m->dtype, at, own, s.n, n));
}
