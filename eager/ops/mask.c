/* mask.c: a b8 tensor chooses element by element: masked_fill, masked_scatter, where. Masks broadcast with self both ways.
 * masked_scatter takes source's elements in order for the true positions in row-major order.
 * Facts: ATen/native/TensorAdvancedIndexing.cpp (masked_fill, masked_scatter: row-major results), TensorCompare.cpp (where). */
#include "eager/ops/move.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"

/* Sizes of self broadcast with mask, row-major. */
static bool masked_meta(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_masked_self];
	int64_t size[MAX_RANK];
	int rank;
	if (!layout_broadcast(size, &rank, c->in[A_masked_mask], self, c->err) || !meta_check_sizes(size, rank, c->err))
		return false;
	layout_contiguous(&c->out[0], self, size, rank);
	return true;
}

/* ---- masked_fill ------------------------------------------------------------------------------------------------------- */

bool meta_masked_fill(struct meta_ctx *c)
{
	if (c->in[A_masked_fill_mask]->dtype != DT_B8)
		return err_set(c->err, "masked_fill_ only supports boolean masks, but got mask with dtype %s",
			dtype_info[c->in[A_masked_fill_mask]->dtype].full_cpp);
	return masked_meta(c) && scalar_fits(&c->n->arg[A_masked_fill_value].scalar, c->in[A_masked_fill_self]->dtype, c->err);
}

bool kern_masked_fill(struct kern_ctx *c)
{
	struct tensor *out = &c->out[0];
	int nbytes = dtype_nbytes(out->meta.dtype);
	unsigned char cell[8];
	struct walk w;
	scalar_store(cell, out->meta.dtype, &c->n->arg[A_masked_fill_value].scalar);
	walk_init(&w, out->meta.size, out->meta.rank);
	walk_add(&w, out);
	walk_add(&w, c->in[A_masked_fill_self]);
	walk_add(&w, c->in[A_masked_fill_mask]);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		cell_move(w.at[0], *w.at[2] ? cell : w.at[1], nbytes);
	return true;
}

void vjp_masked_fill(struct vjp *v)
{
	v->grad[A_masked_fill_self] = emit_masked_fill(v->b, v->g[0], v->in[A_masked_fill_mask], scalar_int(0));
}

/* ---- masked_scatter ------------------------------------------------------------------------------------------------------ */

bool meta_masked_scatter(struct meta_ctx *c)
{
	enum dtype self = c->in[A_masked_scatter_self]->dtype, source = c->in[A_masked_scatter_source]->dtype;
	if (self != source)
		return err_set(c->err, "masked_scatter: expected self and source to have same dtypes but got%s and %s", dtype_info[self].c10,
			dtype_info[source].c10);
	if (c->in[A_masked_scatter_mask]->dtype != DT_B8)
		return err_set(c->err, "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
			dtype_info[c->in[A_masked_scatter_mask]->dtype].c10);
	return masked_meta(c);
}

bool kern_masked_scatter(struct kern_ctx *c)
{
	struct tensor *out = &c->out[0], source = tensor_contiguous(c->in[A_masked_scatter_source], c->scratch);
	int nbytes = dtype_nbytes(out->meta.dtype);
	int64_t left = meta_numel(&source.meta);
	const unsigned char *next = source.base ? tensor_first(&source) : NULL;
	struct walk w;
	walk_init(&w, out->meta.size, out->meta.rank);
	walk_add(&w, out);
	walk_add(&w, c->in[A_masked_scatter_self]);
	walk_add(&w, c->in[A_masked_scatter_mask]);
	for (bool more = walk_start(&w); more; more = walk_next(&w)) {
		if (!*w.at[2]) {
			cell_move(w.at[0], w.at[1], nbytes);
			continue;
		}
		if (left-- == 0)
			return err_set(c->err, "Number of elements of source < number of ones in mask");
		cell_move(w.at[0], next, nbytes);
		next += nbytes;
	}
	return true;
}

/* masked_scatter_backward without sizes that depend on data: the k-th true element of mask moves to position k, and those under false
 * move behind source's end, each to a position of its own. */
static int selected_in_order(struct build *b, int g, int mask, const struct meta *source)
{
	const struct meta *m = build_meta(b, g);
	int64_t n = meta_numel(m), keep = meta_numel(source), room = n + keep;
	mask = emit_expand(b, mask, m->size, m->rank);
	mask = emit_reshape(b, mask, &n, 1);
	int count = emit_cumsum(b, mask, 0, -1);
	int inside = emit_sub_Scalar(b, count, scalar_int(1), scalar_int(1));
	int behind = emit_arange_start(b, scalar_int(keep), scalar_int(room), -1);
	int to = emit_where_self(b, mask, inside, behind);
	int all = emit_zeros(b, &room, 1, (int)m->dtype);
	g = emit_reshape(b, g, &n, 1);
	all = emit_scatter_src(b, all, 0, to, g);
	all = emit_slice_Tensor(b, all, 0, 0, keep, 1);
	return emit_view(b, all, source->size, source->rank);
}

void vjp_masked_scatter(struct vjp *v)
{
	int mask = v->in[A_masked_scatter_mask];
	if (v->want[A_masked_scatter_self])
		v->grad[A_masked_scatter_self] = emit_masked_fill(v->b, v->g[0], mask, scalar_int(0));
	if (v->want[A_masked_scatter_source])
		v->grad[A_masked_scatter_source] = selected_in_order(v->b, v->g[0], mask, vjp_meta(v, A_masked_scatter_source));
}

/* ---- where ----------------------------------------------------------------------------------------------------------------- */

/* An operand of where after its conversion to dtype `t`: a conversion makes a dense copy. */
static struct meta converted(const struct meta *m, enum dtype t)
{
	struct meta out = *m;
	if (m->dtype != t) {
		layout_preserve(&out, m);
		out.dtype = t;
	}
	return out;
}

bool meta_where(struct meta_ctx *c)
{
	struct promotion p = PROMOTION_START;
	struct meta *o = &c->out[0];
	if (c->in[A_where_condition]->dtype != DT_B8 && c->in[A_where_condition]->dtype != DT_U8)
		return err_set(c->err, "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
			dtype_info[c->in[A_where_condition]->dtype].c10);
	promote_tensor(&p, c->in[A_where_self]);
	promote_tensor(&p, c->in[A_where_other]);
	enum dtype t;
	if (!promote_result(&t, &p, c->err))
		return false;
	struct meta in[3] = {converted(c->in[A_where_condition], DT_B8), converted(c->in[A_where_self], t), converted(c->in[A_where_other], t)};
	const struct meta *list[3] = {&in[0], &in[1], &in[2]};
	if (!promote_sizes(o, list, 3, c->err) || !meta_check_sizes(o->size, o->rank, c->err))
		return false;
	o->dtype = t;
	o->device = c->in[A_where_self]->device;
	layout_iterator(o, list, 3);
	return true;
}

bool kern_where(struct kern_ctx *c)
{
	struct tensor *out = &c->out[0], side[2];
	int nbytes = dtype_nbytes(out->meta.dtype);
	for (int i = 0; i < 2; i++) {
		const struct tensor *t = c->in[i + 1];
		side[i] = t->meta.dtype == out->meta.dtype ? *t : tensor_convert(t, out->meta.dtype, c->scratch);
	}
	struct walk w;
	walk_init(&w, out->meta.size, out->meta.rank);
	walk_add(&w, out);
	walk_add(&w, c->in[A_where_condition]);
	walk_add(&w, &side[0]);
	walk_add(&w, &side[1]);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		cell_move(w.at[0], *w.at[1] ? w.at[2] : w.at[3], nbytes);
	return true;
}

void vjp_where(struct vjp *v)
{
	int condition = v->in[A_where_condition], zero = emit_scalar_tensor(v->b, scalar_int(0), (int)build_meta(v->b, v->g[0])->dtype);
	if (v->want[A_where_self])
		v->grad[A_where_self] = emit_where_self(v->b, condition, v->g[0], zero);
	if (v->want[A_where_other])
		v->grad[A_where_other] = emit_where_self(v->b, condition, zero, v->g[0]);
}

/* ---- copy_ ------------------------------------------------------------------------------------------------------------------- */

bool meta_copy(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_copy__self];
	struct meta both = {0};
	char a[SIZES_TEXT], b[SIZES_TEXT];
	if (!layout_broadcast(both.size, &both.rank, self, c->in[A_copy__src], c->err))
		return false;
	if (!meta_same_sizes(&both, self))
		return err_set(c->err, "output with shape %s doesn't match the broadcast shape %s", sizes_text(a, self->size, self->rank),
			sizes_text(b, both.size, both.rank));
	if (c->in[A_copy__src]->device == DEV_META && self->device != DEV_META)
		return err_set(c->err, "NotImplementedError: Cannot copy out of meta tensor; no data!");
	layout_preserve(&c->out[0], self);
	return true;
}

/* copy_, written to a copy of self's storage, at the same place in it. */
bool meta_copied(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_copy_self];
	if (!meta_copy(c))
		return false;
	if (meta_overlaps_itself(self))
		return true;
	if (meta_may_overlap(self))
		return err_limit(c->err, "copy to a self of which elements may share a cell");
	memcpy(c->out[0].stride, self->stride, sizeof self->stride);
	c->out[0].offset = self->offset;
	return true;
}

bool kern_copy(struct kern_ctx *c)
{
	struct tensor src;
	CHECK(tensor_broadcast(&src, c->in[A_copy__src], c->out[0].meta.size, c->out[0].meta.rank));
	tensor_assign(&c->out[0], &src);
	return true;
}

/* self becomes `value` everywhere, converted. */
bool kern_fill_Tensor(struct kern_ctx *c)
{
	struct tensor src;
	CHECK(tensor_broadcast(&src, c->in[A_fill_Tensor_value], c->out[0].meta.size, c->out[0].meta.rank));
	tensor_assign(&c->out[0], &src);
	return true;
}

/* PyTorch converts the cotangent to src's dtype, then sums what was broadcast. */
void vjp_copy(struct vjp *v)
{
	if (!v->want[A_copy__src])
		return;
	enum dtype t = vjp_meta(v, A_copy__src)->dtype;
	v->grad[A_copy__src] = build_meta(v->b, v->g[0])->dtype == t ? v->g[0] : emit_to_copy(v->b, v->g[0], (int)t);
}

void vjp_fill_Tensor(struct vjp *v)
{
	if (v->want[A_fill_Tensor_value])
		v->grad[A_fill_Tensor_value] = emit_sum(v->b, v->g[0], -1);
}
