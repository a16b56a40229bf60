/* ref_border.c: reflection_pad and replication_pad of one to three dims: which element of self each element of the result is. Backward adds
 * up what arrives at each of them, in the order of the result; the CPU rounds each addition. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

struct border {
	int n;                  /* dims that are padded, the last ones */
	int64_t size[MAX_RANK]; /* of the result */
	int64_t cells;          /* of the result */
	int64_t *from;          /* [cells]: elements of self */
};

/* Position i of a line of `size`, which goes on beyond its ends. */
static int64_t reflected(int64_t i, int64_t size)
{
	while (i < 0 || i >= size)
		i = i < 0 ? -i : 2 * (size - 1) - i;
	return i;
}
static int64_t replicated(int64_t i, int64_t size) { return i < 0 ? 0 : i >= size ? size - 1 : i; }

static bool read_sizes(struct ref_ctx *c, struct border *b, const struct meta *m, const struct arg *pad, bool reflects)
{
	if (op_arg(c->n->op, N_grad_output) >= 0 && pad->n != 2 * b->n)
		return ref_unsupported(c, "a padding of %d numbers", pad->n);
	if (!shape_is_samples(m, b->n + 1) || pad->n != 2 * b->n)
		return err_set(c->err, "%s of %s by %d numbers", op_info[c->n->op].name, shape_text(c, m->size, m->rank), pad->n);
	memcpy(b->size, m->size, sizeof b->size);
	for (int k = 0; k < b->n; k++) {
		const int64_t p = pad->ints[2 * k].value, q = pad->ints[2 * k + 1].value;
		int64_t *size = &b->size[m->rank - 1 - k];
		if (reflects && (p >= *size || q >= *size))
			return err_set(c->err,
				"Padding size should be less than the corresponding input dimension, but got: padding (%lld, %lld) of %lld", (long long)p,
				(long long)q, (long long)*size);
		*size = wrap_add(*size, wrap_add(p, q));
		if (*size < 1 && b->n == 1)
			return err_set(
				c->err, "input (W: %lld) is too small. Calculated output W: %lld", (long long)m->size[m->rank - 1], (long long)*size);
		if (*size < 1)
			return ref_unsupported(c, "%s that leaves nothing", op_info[c->n->op].name);
	}
	return meta_check_sizes(b->size, m->rank, c->err);
}

static bool read_border(struct ref_ctx *c, struct border *b, const struct meta *m, const struct arg *pad, bool reflects)
{
	int64_t index[MAX_RANK] = {0}, dense[MAX_RANK];
	b->n = ref_dims_named(c);
	if (m->dtype == DT_B8 || dtype_info[m->dtype].rows != DR_FULL)
		return err_set(c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name, dtype_info[m->dtype].c10);
	if (!read_sizes(c, b, m, pad, reflects))
		return false;
	b->cells = shape_numel(b->size, m->rank);
	if (b->cells > c->t->limit.entries)
		return ref_unsupported(c, "too many scalars");
	b->from = ARENA_NEW(c->t->arena, int64_t, b->cells + 1);
	shape_row_major(dense, m->size, m->rank);
	for (int64_t k = 0; k < b->cells; k++) {
		b->from[k] = 0;
		for (int d = 0; d < m->rank; d++) {
			const int pair = m->rank - 1 - d;
			const int64_t i = pair < b->n ? index[d] - pad->ints[2 * pair].value : index[d];
			b->from[k] += (reflects ? reflected(i, m->size[d]) : replicated(i, m->size[d])) * dense[d];
		}
		shape_next(index, b->size, m->rank);
	}
	return true;
}

/* Fresh results of planes and volumes lie as self does where that is channels-last. */
static const int64_t *lies_as(int64_t stride[MAX_RANK], const struct border *b, const struct meta *m, const int64_t *size)
{
	return b->n > 1 && shape_channels_last(stride, size, m->rank, shape_format(m)) ? stride : NULL;
}

static bool padded(struct ref_ctx *c, const struct ref_tensor *self, const struct arg *pad, bool reflects)
{
	const struct meta *m = &self->meta;
	struct border b;
	int64_t stride[MAX_RANK];
	if (!read_border(c, &b, m, pad, reflects))
		return false;
	const sid *own = ref_ids(c, self);
	sid *read = tape_ids(c->t, b.cells);
	for (int64_t k = 0; k < b.cells; k++)
		read[k] = own[b.from[k]];
	const int64_t *lies = lies_as(stride, &b, m, b.size);
	if (lies && !ref_not_on_cuda(c)) /* where results are contiguous */
		return false;
	return ref_out_ids(c, 0, m->dtype, b.size, m->rank, lies, ref_copies(c, read, b.cells, m->dtype));
}

REFERENCE(reflection_pad, ANEW) { return padded(c, c->in[A_reflection_pad_self], &c->n->arg[A_reflection_pad_padding], true); }
REFERENCE(replication_pad, ANEW) { return padded(c, c->in[A_replication_pad_self], &c->n->arg[A_replication_pad_padding], false); }

static bool gathered(struct ref_ctx *c, const struct ref_tensor *grad, const struct meta *m, const struct arg *pad, bool reflects)
{
	struct border b;
	int64_t stride[MAX_RANK];
	if (!dtype_is_float(m->dtype))
		return err_set(c->err, "\"%s\" not implemented for '%s'", op_info[c->n->op].name, dtype_info[m->dtype].c10);
	if (!read_border(c, &b, m, pad, reflects))
		return false;
	for (int d = 0; d < m->rank; d++) {
		if (grad->meta.rank != m->rank || (d < m->rank - b.n && grad->meta.size[d] != m->size[d]))
			return ref_unsupported(c, "a gradient of %s for a result of %s: not all kernels look",
				shape_text(c, grad->meta.size, grad->meta.rank), shape_text(c, b.size, m->rank));
		if (grad->meta.size[d] != b.size[d])
			return err_set(
				c->err, "size %lld of a gradient unexpected. Expected: %lld", (long long)grad->meta.size[d], (long long)b.size[d]);
	}
	if (grad->meta.dtype != m->dtype)
		return err_set(c->err, "expected scalar type %s but found %s", dtype_info[m->dtype].c10, dtype_info[grad->meta.dtype].c10);
	const int64_t *lies = lies_as(stride, &b, m, m->size);
	if (lies && !ref_not_on_cuda(c))
		return false;
	return ref_out_block(
		c, 0, m->dtype, m->size, m->rank, lies, ref_sums_at(c, m->dtype, b.from, ref_ids(c, grad), b.cells, meta_numel(m)));
}

REFERENCE(reflection_pad_backward, ANEW)
{
	return gathered(c, c->in[A_reflection_pad_backward_grad_output], meta_of(c, A_reflection_pad_backward_self),
		&c->n->arg[A_reflection_pad_backward_padding], true);
}
REFERENCE(replication_pad_backward, ANEW)
{
	return gathered(c, c->in[A_replication_pad_backward_grad_output], meta_of(c, A_replication_pad_backward_self),
		&c->n->arg[A_replication_pad_backward_padding], false);
}
