/* join.c: cat and stack: tensors one after another along a dimension, in the promoted dtype. The result is row-major unless every
 * operand suggests channels-last. 1-d tensors of size 0 are skipped by cat (they still take part in promotion and in the
 * memory format). Facts: ATen/native/TensorShape.cpp. */
#include "eager/ops/move.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"

#include <inttypes.h>

static bool is_skipped(const struct meta *m) { return m->rank == 1 && m->size[0] == 0; }

static int first_kept(const struct meta *m, int n)
{
	for (int i = 0; i < n; i++)
		if (!is_skipped(&m[i]))
			return i;
	return -1;
}

static bool check_cat_sizes(const struct meta *a, const struct meta *b, int dim, int i, struct err *err)
{
	if (a->rank != b->rank)
		return err_set(err, "Tensors must have same number of dimensions: got %d and %d", a->rank, b->rank);
	for (int d = 0; d < a->rank; d++)
		if (d != dim && a->size[d] != b->size[d])
			return err_set(err,
				"Sizes of tensors must match except in dimension %d. Expected size %" PRId64 " but got size %" PRId64
				" for tensor number %d in the list.",
				dim, a->size[d], b->size[d], i);
	return true;
}

static bool cat_layout(struct meta *out, const struct meta *in, int n, int64_t dim, struct err *err)
{
	int d = 0, kept = first_kept(in, n);
	bool channels_last = true;
	struct promotion dtype = PROMOTION_START;
	if (kept >= 0 && in[kept].rank > 0 && !dim_wrap(&d, dim, in[kept].rank, err))
		return false;
	for (int i = 0; i < n; i++) {
		if (in[i].rank == 0)
			return err_set(err, "zero-dimensional tensor (at position %d) cannot be concatenated", i);
		promote_tensor(&dtype, &in[i]);
		channels_last &= meta_is_channels_last(&in[i]);
	}
	struct meta first = in[MAX(kept, 0)];
	if (!promote_result(&first.dtype, &dtype, err))
		return false;
	int64_t size[MAX_RANK], total = 0;
	memcpy(size, first.size, sizeof size);
	for (int i = 0; i < n; i++) {
		if (is_skipped(&in[i]))
			continue;
		if (!check_cat_sizes(&first, &in[i], d, i, err))
			return false;
		total += in[i].size[d];
	}
	size[d] = total;
	if (!meta_check_sizes(size, first.rank, err))
		return false;
	layout_contiguous(out, &first, size, first.rank);
	if (channels_last && first.rank == in[A_joined_tensors].rank)
		layout_channels_last(out);
	return true;
}

/* The operands' metas in scratch memory of the caller. */
static void list_metas(struct meta *out, const struct meta_ctx *c)
{
	for (int i = 0; i < c->n->arg[A_joined_tensors].n; i++)
		out[i] = *meta_list(c, A_joined_tensors, i);
}

bool meta_cat(struct meta_ctx *c)
{
	struct meta in[MAX_LIST];
	int n = c->n->arg[A_cat_tensors].n;
	if (n == 0)
		return err_set(c->err, "torch.cat(): expected a non-empty list of Tensors");
	list_metas(in, c);
	return cat_layout(&c->out[0], in, n, node_int(c->n, A_cat_dim), c->err);
}

bool meta_stack(struct meta_ctx *c)
{
	struct meta in[MAX_LIST], joined;
	char first[SIZES_TEXT], other[SIZES_TEXT];
	int n = c->n->arg[A_stack_tensors].n, d;
	if (n == 0)
		return err_set(c->err, "stack expects a non-empty TensorList");
	list_metas(in, c);
	struct meta *o = &c->out[0];
	int rank = in[A_stack_tensors].rank;
	if (!dim_wrap(&d, node_int(c->n, A_stack_dim), rank + 1, c->err) || !meta_room(&in[A_stack_tensors], 1, c->err))
		return false;
	for (int i = 1; i < n; i++)
		if (!meta_same_sizes(&in[A_stack_tensors], &in[i]))
			return err_set(c->err, "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
				sizes_text(first, in[A_stack_tensors].size, rank), sizes_text(other, in[i].size, in[i].rank), i);
	/* Before the last position: a cat along the dim, seen with the dim split; at the end: a cat of unsqueezed operands. */
	for (int i = 0; i < n && d == rank; i++)
		meta_insert_dim(&in[i], rank, 1, 1);
	if (d < rank && is_skipped(&in[A_stack_tensors])) {
		struct promotion dtype = PROMOTION_START;
		for (int i = 0; i < n; i++)
			promote_tensor(&dtype, &in[i]);
		int64_t size[2] = {n, 0};
		enum dtype t;
		if (!promote_result(&t, &dtype, c->err))
			return false;
		meta_make_contiguous(o, t, size, 2);
		o->device = in[A_stack_tensors].device;
		return true;
	}
	if (!cat_layout(&joined, in, n, d, c->err))
		return false;
	*o = joined;
	if (d == rank)
		return true;
	memmove(&o->size[d + 1], &in[A_stack_tensors].size[d], sizeof *o->size * (size_t)(rank - d));
	o->size[d] = n;
	o->rank = rank + 1;
	CHECK(layout_view_strides(o->stride, &joined, o->size, o->rank));
	return true;
}

/* Entry i's part of the result, whose parts before it reach to *start: moves *start on. */
static struct tensor cat_part(const struct tensor *out, int dim, int64_t *start, int64_t n)
{
	struct tensor part = tensor_slice(out, dim, *start, n, 1);
	*start += n;
	return part;
}

bool kern_cat(struct kern_ctx *c)
{
	int dim;
	int64_t start = 0;
	if (!dim_wrap(&dim, node_int(c->n, A_cat_dim), c->out[0].meta.rank, NULL))
		return true; /* nothing but skipped operands */
	for (int i = 0; i < c->n->arg[A_cat_tensors].n; i++) {
		const struct tensor *t = c->list[A_cat_tensors][i];
		if (is_skipped(&t->meta))
			continue;
		struct tensor part = cat_part(&c->out[0], dim, &start, t->meta.size[dim]);
		tensor_assign(&part, t);
	}
	return true;
}

void vjp_cat(struct vjp *v)
{
	const struct arg *tensors = &v->n->arg[A_cat_tensors];
	int64_t start = 0;
	int dim;
	if (!dim_wrap(&dim, node_int(v->n, A_cat_dim), build_meta(v->b, v->g[0])->rank, NULL))
		return; /* nothing but skipped operands */
	for (int i = 0; i < tensors->n; i++) {
		const struct meta *m = build_meta(v->b, v->list[A_cat_tensors][i]);
		if (is_skipped(m))
			continue;
		if (v->want_list[A_cat_tensors][i])
			v->grad_list[A_cat_tensors][i] = emit_slice_Tensor(v->b, v->g[0], dim, start, start + m->size[dim], 1);
		start += m->size[dim];
	}
}

static struct tensor stack_part(const struct tensor *out, int dim, int i)
{
	struct tensor part = tensor_slice(out, dim, i, 1, 1);
	meta_remove_dim(&part.meta, dim);
	return part;
}

bool kern_stack(struct kern_ctx *c)
{
	int dim;
	CHECK(dim_wrap(&dim, node_int(c->n, A_stack_dim), c->out[0].meta.rank, NULL));
	for (int i = 0; i < c->n->arg[A_stack_tensors].n; i++) {
		struct tensor part = stack_part(&c->out[0], dim, i);
		tensor_assign(&part, c->list[A_stack_tensors][i]);
	}
	return true;
}

void vjp_stack(struct vjp *v)
{
	for (int i = 0; i < v->n->arg[A_stack_tensors].n; i++)
		if (v->want_list[A_stack_tensors][i])
			v->grad_list[A_stack_tensors][i] = emit_select_int(v->b, v->g[0], node_int(v->n, A_stack_dim), i);
}
