/* select.c: masked_select, nonzero: results of as many elements as are true, in row-major order; item: the integer that a tensor holds. The
 * number is data: the program states it (eager/lang/stated.h), the shape rules believe it, and the kernels raise where it is another one.
 * Facts: ATen/native/cpu/IndexKernel.cpp (masked_select), TensorAdvancedIndexing.cpp (nonzero_out_cpu: columns lie one after the other). */
#include "eager/ops/select.h"

#include <inttypes.h>

#include "eager/lang/stated.h"
#include "eager/ops/move.h"
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

static bool is_true(enum dtype t, const unsigned char *cell)
{
	return dtype_is_float(t) ? dtype_load_f(t, cell) != 0 : dtype_load_i(t, cell) != 0;
}

/* Their common sizes, which the shape rule accepted. */
static void walk_both(struct walk *w, const struct tensor *deciding, const struct meta *self)
{
	int64_t size[MAX_RANK];
	int rank = deciding->meta.rank;
	memcpy(size, deciding->meta.size, sizeof size);
	if (self)
		CHECK(layout_broadcast(size, &rank, &deciding->meta, self, NULL));
	walk_init(w, size, rank);
	walk_add(w, deciding);
}

int64_t select_count(const struct tensor *deciding, const struct meta *self)
{
	struct walk w;
	int64_t n = 0;
	walk_both(&w, deciding, self);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		n += is_true(deciding->meta.dtype, w.at[0]);
	return n;
}

/* A number that some data may select, of data that there are. */
static bool stated(struct meta_ctx *c, int64_t most)
{
	const int64_t count = stated_number(c->n);
	if (c->in[A_selecting_self]->device == DEV_META)
		return err_set(c->err, "of a tensor without data, whose size would be data");
	if (count < 0 || count > most)
		return err_set(c->err, "states %" PRId64 " elements, but there are 0 to %" PRId64 " to select", count, most);
	return true;
}

static bool is_as_stated(struct kern_ctx *c, int64_t given)
{
	const int64_t said = stated_number(c->n);
	return given == said || err_set(c->err, "the program states %" PRId64 ", but the data give %" PRId64, said, given);
}

/* ---- what differs ------------------------------------------------------------------------------------------------------------ */

/* The rows say the rest. PyTorch 2.11.0 and 2.15.0, ATen/native/Unique.cpp. */
static bool differing(struct meta_ctx *c, int64_t dim)
{
	const struct meta *self = c->in[0];
	int d, nothing = 0;
	if (self->rank == 0)
		return err_set(c->err, "Dimension specified as %" PRId64 " but tensor has no dimensions", dim);
	if (!dim_wrap(&d, dim, self->rank, c->err))
		return false;
	for (int i = 0; i < self->rank; i++)
		nothing += self->size[i] == 0;
	if (self->size[d] == 0 && nothing > 1)
		return err_set(c->err, "Number of zero sized dimensions is more than one, so unique cannot be applied ");
	if (self->size[d] && nothing)
		return err_set(c->err, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
	return meta_body(c);
}

bool meta_unique_dim(struct meta_ctx *c) { return differing(c, node_int(c->n, A_unique_dim_dim)); }

bool meta_unique_consecutive(struct meta_ctx *c)
{
	return node_given(c->n, A_unique_consecutive_dim) ? differing(c, node_int(c->n, A_unique_consecutive_dim)) : meta_body(c);
}

/* The sizes of self, and of a slice along d; all of self is slices of one element. */
static bool same_slices(const struct tensor *self, int d, int64_t i, int64_t k)
{
	const struct meta *m = &self->meta;
	struct meta slice = *m;
	const int nbytes = dtype_nbytes(m->dtype);
	struct meta_iter it;
	slice.size[d] = 1;
	meta_iter_start(&it, &slice);
	do {
		const unsigned char *a = tensor_at(self, it.off + i * m->stride[d]), *b = tensor_at(self, it.off + k * m->stride[d]);
		if (dtype_is_float(m->dtype) ? dtype_load_f(m->dtype, a) != dtype_load_f(m->dtype, b) : memcmp(a, b, (size_t)nbytes) != 0)
			return false;
	} while (meta_iter_next(&it, &slice));
	return true;
}

/* self in one dim, in row-major order. */
static void flattened(struct tensor *out, const struct tensor *self, struct arena *a)
{
	struct meta m;
	const int64_t n = meta_numel(&self->meta);
	meta_make_contiguous(&m, self->meta.dtype, self->meta.size, self->meta.rank);
	tensor_new(out, &m, a);
	tensor_copy(out, self);
	meta_make_contiguous(&out->meta, m.dtype, &n, 1);
}

static bool has_nan(const struct tensor *t)
{
	struct meta_iter it;
	bool nan = false;
	if (!dtype_is_float(t->meta.dtype) || meta_numel(&t->meta) == 0)
		return false;
	meta_iter_start(&it, &t->meta);
	do {
		const double x = dtype_load_f(t->meta.dtype, tensor_at(t, it.off));
		nan |= x != x;
	} while (meta_iter_next(&it, &t->meta));
	return nan;
}

int64_t select_distinct(const struct node *n, const struct tensor *self)
{
	const int dim = op_arg(n->op, N_dim);
	struct arena a;
	struct tensor t = *self;
	int64_t count = 0;
	arena_init(&a);
	const bool whole = dim < 0 || !node_given(n, dim) || self->meta.rank == 0;
	if (whole)
		flattened(&t, self, &a);
	if (n->op == OP_unique_dim && has_nan(self))
		count = -1;
	const int64_t asked = whole ? 0 : node_int(n, dim);
	const int d = (int)(asked < 0 ? asked + t.meta.rank : asked);
	for (int64_t i = 0; count >= 0 && d >= 0 && d < t.meta.rank && meta_numel(&t.meta) && i < t.meta.size[d]; i++) {
		bool known = false;
		for (int64_t k = n->op == OP_unique_consecutive ? MAX(i - 1, 0) : 0; k < i && !known; k++)
			known = same_slices(&t, d, i, k);
		count += !known;
	}
	arena_free(&a);
	return count;
}

/* ---- masked_select ------------------------------------------------------------------------------------------------------- */

bool meta_masked_select(struct meta_ctx *c)
{
	int64_t size[MAX_RANK], most = 1, count = stated_number(c->n);
	int rank;
	if (c->in[A_masked_select_mask]->dtype != DT_B8)
		return err_set(c->err, "masked_select: expected BoolTensor for mask");
	if (!layout_broadcast(size, &rank, c->in[A_masked_select_self], c->in[A_masked_select_mask], c->err)
		|| !meta_check_sizes(size, rank, c->err))
		return false;
	for (int d = 0; d < rank; d++)
		most *= size[d];
	if (!stated(c, most))
		return false;
	layout_contiguous(&c->out[0], c->in[A_masked_select_self], &count, 1);
	return true;
}

bool kern_masked_select(struct kern_ctx *c)
{
	const struct tensor *self = c->in[A_masked_select_self], *mask = c->in[A_masked_select_mask];
	const int nbytes = dtype_nbytes(self->meta.dtype);
	unsigned char *next = tensor_first(&c->out[0]);
	struct walk w;
	if (!is_as_stated(c, select_count(mask, &self->meta)))
		return false;
	walk_both(&w, mask, &self->meta);
	walk_add(&w, self);
	for (bool more = walk_start(&w); more; more = walk_next(&w)) {
		if (!*w.at[0])
			continue;
		cell_move(next, w.at[1], nbytes);
		next += nbytes;
	}
	return true;
}

/* PyTorch's masked_select_backward: the cotangent's elements go back to where they came from, in order, into zeros. */
void vjp_masked_select(struct vjp *v)
{
	const struct meta *mask = vjp_meta(v, A_masked_select_mask), *self = vjp_meta(v, A_masked_select_self);
	int64_t size[MAX_RANK];
	int rank;
	CHECK(layout_broadcast(size, &rank, self, mask, NULL));
	int whole = v->in[A_masked_select_self];
	if (rank != self->rank || memcmp(size, self->size, sizeof *size * (size_t)rank) != 0)
		whole = emit_expand(v->b, whole, size, rank);
	v->grad[A_masked_select_self] = emit_masked_scatter(v->b, emit_zeros_like(v->b, whole, -1), v->in[A_masked_select_mask], v->g[0]);
}

/* ---- nonzero --------------------------------------------------------------------------------------------------------------- */

/* [count, rank], a column for each dim; in memory one column after the other. */
bool meta_nonzero(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_nonzero_self];
	const int64_t count = stated_number(c->n), size[] = {count, self->rank};
	if (!stated(c, meta_numel(self)))
		return false;
	layout_contiguous(&c->out[0], self, size, 2);
	c->out[0].dtype = DT_I64;
	c->out[0].stride[0] = 1;
	c->out[0].stride[1] = count;
	return true;
}

bool kern_nonzero(struct kern_ctx *c)
{
	const struct tensor *self = c->in[A_nonzero_self];
	const struct meta *m = &c->out[0].meta;
	int64_t k = 0;
	struct walk w;
	if (!is_as_stated(c, select_count(self, NULL)))
		return false;
	walk_both(&w, self, NULL);
	for (bool more = walk_start(&w); more; more = walk_next(&w)) {
		if (!is_true(self->meta.dtype, w.at[0]))
			continue;
		for (int d = 0; d < w.rank; d++)
			dtype_store_i(DT_I64, tensor_at(&c->out[0], m->offset + k * m->stride[0] + d * m->stride[1]), w.index[d]);
		k++;
	}
	return true;
}

/* ---- item ------------------------------------------------------------------------------------------------------------------ */

/* The symbol's number as a tensor, which no row reads: so item is a row like others to whoever runs rows or compiles them. */
bool meta_item(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_item_self];
	if (meta_numel(self) != 1)
		return err_set(c->err, "a Tensor with %" PRId64 " elements cannot be converted to Scalar", meta_numel(self));
	if (self->device == DEV_META)
		return err_set(c->err, "Tensor.item() cannot be called on meta tensors");
	layout_contiguous(&c->out[0], self, NULL, 0);
	c->out[0].dtype = DT_I64;
	return true;
}

int64_t select_value(const struct tensor *of) { return dtype_load_i(of->meta.dtype, tensor_first(of)); }

bool kern_item(struct kern_ctx *c)
{
	const int64_t value = select_value(c->in[A_item_self]);
	if (!is_as_stated(c, value))
		return false;
	dtype_store_i(DT_I64, tensor_first(&c->out[0]), value);
	return true;
}
