/* ref_upsample.c: upsample_nearest of one to three dims: place i of the result is element floor(i * scale) of self, the last one at most.
 * The scale is 1 / the stated one, if that is positive, else a quotient of sizes. Kernels have it in f32 or in double, and shortcuts where
 * the sizes are the same or one is twice the other: where these do not agree, nothing is said. Backward adds up in f32 for halves. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

#include <math.h>

struct upsampled {
	int n;                              /* dims */
	int64_t planes, small[3], large[3]; /* sizes of self and of the result */
	int64_t nsmall, nlarge, *from[3];   /* elements of a plane; where each place is from */
};

static int64_t kept(double at, int64_t size) { return at < (double)size ? (int64_t)at : size - 1; }

static bool place_of(int64_t *out, int64_t i, int64_t size, int64_t places, double stated)
{
	const double wide = stated > 0 ? 1.0 / stated : (double)size / (double)places;
	const float narrow = stated > 0 ? (float)wide : (float)size / (float)places;
	const float product = (float)i * narrow, rounded = (float)((double)i * wide);
	*out = stated > 0 ? kept(floor((double)i * wide), size) : MIN(i * size / places, size - 1);
	return kept(floorf(product), size) == *out && kept(floorf(rounded), size) == *out && kept(floor((double)i * wide), size) == *out
		&& (size != places || *out == i) && (places != 2 * size || *out == i / 2);
}

static bool read_places(struct ref_ctx *c, struct upsampled *u)
{
	int scale = 0;
	while (op_info[c->n->op].param[scale].kind != K_FLOAT)
		scale++;
	u->nsmall = u->nlarge = 1;
	for (int d = 0; d < u->n; d++, scale++) {
		const double stated = ref_given(c, scale) ? c->n->arg[scale].scalar.f : 0;
		if (u->small[d] <= 0 || u->large[d] <= 0)
			return err_set(c->err, "Input and output sizes should be greater than 0, but got input (%lld) and output (%lld)",
				(long long)u->small[d], (long long)u->large[d]);
		if (u->large[d] > c->t->limit.nodes || u->small[d] > c->t->limit.nodes)
			return ref_unsupported(c, "too many scalars");
		u->from[d] = ARENA_NEW(c->t->arena, int64_t, u->large[d]);
		for (int64_t i = 0; i < u->large[d]; i++)
			if (!place_of(&u->from[d][i], i, u->small[d], u->large[d], stated))
				return ref_unsupported(c, "an element that is nearest by rounding: kernels differ");
		u->nsmall *= u->small[d];
		u->nlarge *= u->large[d];
	}
	return (u->nlarge <= c->t->limit.entries && u->nlarge * u->planes <= c->t->limit.entries) || ref_unsupported(c, "too many scalars");
}

/* Which element of self place k of the result is from; both count all planes. */
static int64_t source(const struct upsampled *u, int64_t k)
{
	int64_t at = 0, index[3], rest = k % u->nlarge;
	for (int d = u->n - 1; d >= 0; d--) {
		index[d] = rest % u->large[d];
		rest /= u->large[d];
	}
	for (int d = 0; d < u->n; d++)
		at = at * u->small[d] + u->from[d][index[d]];
	return k / u->nlarge * u->nsmall + at;
}

static bool has_dims(struct ref_ctx *c, int is, int want)
{
	return is == want || err_set(c->err, "%s: %d sizes are expected, but there are %d", op_info[c->n->op].name, want, is);
}

REFERENCE(upsample_nearest, ANEW)
{
	const struct meta *m = meta_of(c, A_upsample_nearest_self);
	const struct arg *out = &c->n->arg[A_upsample_nearest_output_size];
	struct upsampled u = {.n = ref_dims_named(c)};
	int64_t size[MAX_RANK], stride[MAX_RANK];
	if (!ref_not_on_cuda(c) || !has_dims(c, out->n, u.n) || !has_dims(c, m->rank, u.n + 2))
		return false;
	u.planes = m->size[0] * m->size[1];
	memcpy(size, m->size, sizeof size);
	for (int d = 0; d < u.n; d++) {
		u.small[d] = m->size[d + 2];
		size[d + 2] = u.large[d] = out->ints[d].value;
	}
	if (!read_places(c, &u))
		return false;
	if (m->size[1] == 0)
		return err_set(
			c->err, "Non-empty %dD data tensor expected but got a tensor with sizes %s", m->rank, shape_text(c, m->size, m->rank));
	if ((!dtype_is_float(m->dtype) || dtype_info[m->dtype].rows != DR_FULL) && m->dtype != DT_U8)
		return err_set(c->err, "\"compute_indices_weights_nearest\" not implemented for '%s'", dtype_info[m->dtype].c10);
	const int64_t n = u.planes * u.nlarge;
	const enum dtype wide = c->grad ? dtype_compute(m->dtype) : m->dtype;
	const sid *own = ref_cast(c, ref_ids(c, c->in[A_upsample_nearest_self]), meta_numel(m), wide);
	sid *read = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		read[k] = own[source(&u, k)];
	return ref_out_ids(c, 0, m->dtype, size, m->rank, shape_channels_last(stride, size, m->rank, shape_format(m)) ? stride : NULL,
		ref_cast(c, ref_copies(c, read, n, wide), n, m->dtype));
}

REFERENCE(upsample_nearest_backward, ANEW)
{
	const struct meta *g = meta_of(c, A_upsample_nearest_backward_grad_output);
	const struct arg *out = &c->n->arg[A_upsample_nearest_backward_output_size], *in = &c->n->arg[A_upsample_nearest_backward_input_size];
	struct upsampled u = {.n = ref_dims_named(c)};
	int64_t size[MAX_RANK], stride[MAX_RANK];
	if (!ref_not_on_cuda(c) || !has_dims(c, out->n, u.n) || !has_dims(c, in->n, u.n + 2) || !has_dims(c, g->rank, u.n + 2))
		return false;
	for (int d = 0; d < g->rank; d++) {
		size[d] = in->ints[d].value;
		if (d >= 2) {
			u.small[d - 2] = size[d];
			u.large[d - 2] = out->ints[d - 2].value;
		}
		if (g->size[d] != (d < 2 ? size[d] : u.large[d - 2]))
			return err_set(c->err, "Expected grad_output to have the same shape as output: %s", shape_text(c, g->size, g->rank));
	}
	u.planes = g->size[0] * g->size[1];
	if (!read_places(c, &u))
		return false;
	if (g->size[1] == 0)
		return ref_unsupported(c, "no channels");
	if (!dtype_is_float(g->dtype) || dtype_info[g->dtype].rows != DR_FULL)
		return err_set(c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name, dtype_info[g->dtype].c10);
	const int64_t n = u.planes * u.nsmall, all = u.planes * u.nlarge;
	const enum dtype wide = dtype_compute(g->dtype);
	const sid *own = ref_cast(c, ref_ids(c, c->in[A_upsample_nearest_backward_grad_output]), all, wide);
	int64_t *at = ARENA_NEW(c->t->arena, int64_t, all + 1);
	for (int64_t k = 0; k < all; k++)
		at[k] = source(&u, k);
	const bool last = u.n == 2 && shape_channels_last(stride, size, g->rank, shape_format(g));
	const sid *sum = ref_ids_block(c, ref_sums_at(c, wide, at, own, all, n), n);
	return ref_out_ids(c, 0, g->dtype, size, g->rank, last ? stride : NULL, ref_cast(c, sum, n, g->dtype));
}
