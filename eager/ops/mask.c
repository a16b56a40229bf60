/* mask.c: a b8 tensor chooses element by element: masked_fill, masked_scatter, where. Masks broadcast with self both ways.
 * masked_scatter takes source's elements in order for the true positions in row-major order.
 * Facts: ATen/native/TensorAdvancedIndexing.cpp (masked_fill, masked_scatter: row-major results), TensorCompare.cpp (where). */
#include "eager/ops/move.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"

static const unsigned char zero_cell[8];

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

/* gin = the sum of gout over the positions where mask is `when`, to gin's sizes. Without a mask: over all. */
static void grad_chosen(struct tensor *gin, const struct tensor *gout, const struct tensor *mask, bool when, struct arena *a)
{
	struct wide sum;
	struct walk w;
	wide_zero(&sum, gout->meta.dtype, meta_numel(&gin->meta), a);
	walk_init(&w, gout->meta.size, gout->meta.rank);
	walk_add(&w, gout);
	walk_add(&w, gin);
	walk_add(&w, mask);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		wide_add(&sum, cell_number(gin, w.at[1]), (*w.at[2] != 0) == when ? w.at[0] : zero_cell);
	wide_store(&sum, gin);
}

/* masked_fill_'s text names C++ types. */
static const char *cpp_name(enum dtype t)
{
	static const char *const name[NDTYPES] = {[DT_B8] = "bool",
		[DT_U8] = "unsigned char",
		[DT_I8] = "signed char",
		[DT_I16] = "short int",
		[DT_I32] = "int",
		[DT_I64] = "long int",
		[DT_F16] = "c10::Half",
		[DT_BF16] = "c10::BFloat16",
		[DT_F32] = "float",
		[DT_F64] = "double"};
	return name[t];
}

/* ---- masked_fill ------------------------------------------------------------------------------------------------------- */

bool meta_masked_fill(struct meta_ctx *c)
{
	if (c->in[A_masked_fill_mask]->dtype != DT_B8)
		return err_set(
			c->err, "masked_fill_ only supports boolean masks, but got mask with dtype %s", cpp_name(c->in[A_masked_fill_mask]->dtype));
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

void grad_masked_fill(struct grad_ctx *c)
{
	if (c->gin[A_masked_fill_self])
		grad_chosen(c->gin[A_masked_fill_self], &c->gout[0], c->in[A_masked_fill_mask], false, c->scratch);
}

/* ---- masked_scatter ------------------------------------------------------------------------------------------------------ */

bool meta_masked_scatter(struct meta_ctx *c)
{
	enum dtype self = c->in[A_masked_scatter_self]->dtype, source = c->in[A_masked_scatter_source]->dtype;
	if (self != source)
		return err_set(c->err, "masked_scatter: expected self and source to have same dtypes but got%s and %s", promote_torch_name(self),
			promote_torch_name(source));
	if (c->in[A_masked_scatter_mask]->dtype != DT_B8)
		return err_set(c->err, "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
			promote_torch_name(c->in[A_masked_scatter_mask]->dtype));
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

void grad_masked_scatter(struct grad_ctx *c)
{
	const struct tensor *g = &c->gout[0];
	if (c->gin[A_masked_scatter_self])
		grad_chosen(c->gin[A_masked_scatter_self], g, c->in[A_masked_scatter_mask], false, c->scratch);
	if (!c->gin[A_masked_scatter_source])
		return;
	int nbytes = dtype_nbytes(g->meta.dtype);
	int64_t k = c->gin[A_masked_scatter_source]->meta.offset;
	struct walk w;
	walk_init(&w, g->meta.size, g->meta.rank);
	walk_add(&w, g);
	walk_add(&w, c->in[A_masked_scatter_mask]);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		if (*w.at[1])
			cell_move(tensor_at(c->gin[A_masked_scatter_source], k++), w.at[0], nbytes);
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
			promote_torch_name(c->in[A_where_condition]->dtype));
	promote_tensor(&p, c->in[A_where_self]);
	promote_tensor(&p, c->in[A_where_other]);
	enum dtype t = promote_result(&p);
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

void grad_where(struct grad_ctx *c)
{
	if (c->gin[A_where_self])
		grad_chosen(c->gin[A_where_self], &c->gout[0], c->in[A_where_condition], true, c->scratch);
	if (c->gin[A_where_other])
		grad_chosen(c->gin[A_where_other], &c->gout[0], c->in[A_where_condition], false, c->scratch);
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
	layout_preserve(&c->out[0], self);
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

static void grad_everywhere(struct tensor *gin, const struct tensor *gout, struct arena *a)
{
	static unsigned char yes = 1;
	const struct tensor everywhere = {{.dtype = DT_B8}, &yes};
	grad_chosen(gin, gout, &everywhere, true, a);
}

/* PyTorch converts the cotangent to src's dtype, then sums what was broadcast. */
void grad_copy(struct grad_ctx *c)
{
	struct tensor as_src;
	struct meta m;
	if (!c->gin[A_copy__src])
		return;
	meta_make_contiguous(&m, c->gin[A_copy__src]->meta.dtype, c->gout[0].meta.size, c->gout[0].meta.rank);
	tensor_new(&as_src, &m, c->scratch);
	tensor_copy(&as_src, &c->gout[0]);
	grad_everywhere(c->gin[A_copy__src], &as_src, c->scratch);
}

/* grad.sum(), converted at the end. */
void grad_fill_Tensor(struct grad_ctx *c)
{
	if (c->gin[A_fill_Tensor_value])
		grad_everywhere(c->gin[A_fill_Tensor_value], &c->gout[0], c->scratch);
}
