/* index_list.c: index.Tensor and index_put: a list of index tensors, one per dimension of self, with holes.
 *
 * The index tensors broadcast together to one shape that takes the place of the indexed dims: where those are adjacent, else in
 * front. So a result position reads one value of each index tensor, and
 *   result[p] = self at (p's coordinates in the dims that stay) + sum over indexed dims of wrapped index * stride.
 * A b8 (or u8) entry stands for the row-major positions of its true elements, one index tensor per dim of it: how many is data,
 * so index.Tensor refuses it here and index_put checks the sizes of values when it runs. Repeated positions: the last value in
 * row-major order stays unless accumulate. Facts: ATen/native/TensorAdvancedIndexing.cpp, IndexingUtils.h. */
#include "eager/ops/index_list.h"
#include "eager/ops/move.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"

#include <inttypes.h>

/* self seen with the result's sizes (stride 0 along the index dims), index tensors that broadcast to them, and the indexed dims. */
struct plan {
	struct meta src;
	int n;
	struct tensor index[MAX_RANK];
	int64_t size[MAX_RANK], stride[MAX_RANK];
};

static bool check_mask(const struct meta *mask, const struct meta *self, int at, struct err *err)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	for (int d = 0; d < mask->rank; d++) {
		if (at + d >= self->rank)
			return err_set(err, "too many indices for tensor of dimension %d (got %d)", self->rank, at + mask->rank);
		if (mask->size[d] != self->size[at + d])
			return err_set(err, "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d",
				sizes_text(a, mask->size, mask->rank), d, sizes_text(b, self->size, self->rank), at + d);
	}
	return true;
}

/* The coordinates of mask's true elements, one i64 vector per dim. */
static void nonzero(struct tensor *out, const struct tensor *mask, struct arena *a)
{
	struct walk w;
	int rank = mask->meta.rank;
	int64_t n = 0, k = 0;
	walk_init(&w, mask->meta.size, rank);
	walk_add(&w, mask);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		n += *w.at[0] != 0;
	for (int d = 0; d < rank; d++) {
		struct meta m;
		meta_make_contiguous(&m, DT_I64, &n, 1);
		tensor_new(&out[d], &m, a);
	}
	walk_init(&w, mask->meta.size, rank);
	walk_add(&w, mask);
	for (bool more = walk_start(&w); more; more = walk_next(&w)) {
		for (int d = 0; *w.at[0] && d < rank; d++)
			dtype_store_i(DT_I64, tensor_at(&out[d], k), w.index[d]);
		k += *w.at[0] != 0;
	}
}

/* in[k] NULL: a hole. Masks need data (a != NULL). */
static bool list_expand(
	struct index_entries *l, const struct meta *self, const struct tensor *const *in, int n, struct arena *a, struct err *err)
{
	*l = (struct index_entries){0};
	for (int k = 0; k < n; k++) {
		if (in[k] && is_mask(&in[k]->meta)) {
			if (!check_mask(&in[k]->meta, self, l->n, err))
				return false;
			nonzero(&l->t[l->n], in[k], a);
			for (int d = 0; d < in[k]->meta.rank; d++)
				l->given[l->n++] = true;
			continue;
		}
		if (l->n >= self->rank)
			return err_set(err, "too many indices for tensor of dimension %d (got %d)", self->rank, n);
		l->given[l->n] = in[k] != NULL;
		if (in[k])
			l->t[l->n] = *in[k];
		l->n++;
	}
	return true;
}

static bool check_entries(const struct meta *const *in, int n, int rank, struct err *err)
{
	if (n > rank)
		return err_set(err, "too many indices for tensor of dimension %d (got %d)", rank, n);
	for (int k = 0; k < n; k++)
		if (in[k] && in[k]->dtype != DT_I64 && in[k]->dtype != DT_I32 && !is_mask(in[k]))
			return err_set(err, "tensors used as indices must be long, int, byte or bool tensors");
	return true;
}

/* One shape for all index tensors. */
static bool broadcast_shape(struct meta *shape, const struct index_entries *l, struct err *err)
{
	bool any = false;
	*shape = (struct meta){0};
	for (int d = 0; d < l->n; d++) {
		if (!l->given[d])
			continue;
		any = true;
		struct meta both = *shape;
		if (!layout_broadcast(both.size, &both.rank, shape, &l->t[d].meta, NULL))
			return err_set(err, "shape mismatch: indexing tensors could not be broadcast together");
		*shape = both;
	}
	return any ? true : err_set(err, "at least one index must be provided");
}

bool index_list_adjacent(const struct index_entries *l)
{
	int runs = 0;
	for (int d = 0; d < l->n; d++)
		runs += l->given[d] && (d == 0 || !l->given[d - 1]);
	return runs <= 1;
}

/* An index tensor in its place: broadcast to `shape`, with dims of size 1 for those before and after (their strides count in the
 * result's layout). An i32 one is converted first, densely. */
static struct tensor index_in_place(const struct tensor *t, const struct meta *shape, int before, int after)
{
	struct tensor v = *t;
	struct meta m;
	int64_t size[MAX_RANK];
	CHECK(layout_expand(&m, &t->meta, shape->size, shape->rank, NULL));
	if (!t->base && t->meta.dtype == DT_I32) {
		layout_preserve(&m, &m);
		m.dtype = DT_I64;
	}
	int rank = before + shape->rank + after;
	for (int d = 0; d < rank; d++)
		size[d] = d >= before && d < before + shape->rank ? shape->size[d - before] : 1;
	v.meta = m;
	v.meta.rank = rank;
	memcpy(v.meta.size, size, sizeof *size * (size_t)rank);
	CHECK(layout_view_strides(v.meta.stride, &m, size, rank));
	return v;
}

static bool plan_make(struct plan *p, const struct meta *self, const struct index_entries *l, struct err *err)
{
	struct meta shape;
	if (!broadcast_shape(&shape, l, err))
		return false;
	*p = (struct plan){.src = *self};
	p->src.rank = 0;
	bool front = !index_list_adjacent(l), placed = false;
	int after = 0;
	if (self->rank + shape.rank > 2 * MAX_RANK)
		return err_limit(err, "rank exceeds the limit %d", MAX_RANK);
	struct meta dims[2] = {{0}, {0}}; /* the dims that stay, before and after the index dims */
	for (int d = 0; d < self->rank; d++) {
		bool given = d < l->n && l->given[d];
		placed |= given || front;
		if (given) {
			p->size[p->n] = self->size[d];
			p->stride[p->n++] = self->stride[d];
			continue;
		}
		meta_insert_dim(&dims[placed], dims[placed].rank, self->size[d], self->stride[d]);
		after += placed;
	}
	if (dims[0].rank + shape.rank + after > MAX_RANK)
		return err_limit(err, "rank %d exceeds the limit %d", dims[0].rank + shape.rank + after, MAX_RANK);
	for (int d = 0; d < dims[0].rank; d++)
		meta_insert_dim(&p->src, p->src.rank, dims[0].size[d], dims[0].stride[d]);
	for (int d = 0; d < shape.rank; d++)
		meta_insert_dim(&p->src, p->src.rank, shape.size[d], 0);
	for (int d = 0; d < after; d++)
		meta_insert_dim(&p->src, p->src.rank, dims[1].size[d], dims[1].stride[d]);
	for (int k = 0; k < p->n; k++)
		if (p->size[k] == 0 && meta_numel(&shape) != 0)
			return err_set(err, "index is out of bounds for dimension with size 0");
	for (int d = 0, k = 0; d < l->n; d++)
		if (l->given[d])
			p->index[k++] = index_in_place(&l->t[d], &shape, dims[0].rank, after);
	return meta_check_sizes(p->src.size, p->src.rank, err);
}

/* Walks the result's positions. Operands: 0 self's cell, 1 `other` broadcast to the result (or NULL), 2.. the index tensors. */
static bool plan_walk(struct walk *w, const struct plan *p, const struct tensor *self, const struct tensor *other)
{
	struct tensor src = {p->src, self->base}, nothing = {{.dtype = DT_B8}, self->base};
	walk_init(w, p->src.size, p->src.rank);
	walk_add(w, &src);
	walk_add(w, other ? other : &nothing);
	for (int k = 0; k < p->n; k++)
		walk_add(w, &p->index[k]);
	return walk_start(w);
}

static unsigned char *plan_at(const struct plan *p, const struct walk *w, struct err *err)
{
	unsigned char *cell = w->at[0];
	int nbytes = dtype_nbytes(p->src.dtype);
	for (int k = 0; k < p->n; k++) {
		int64_t i = index_load(p->index[k].meta.dtype, w->at[2 + k]), size = p->size[k];
		if (i < -size || i >= size) {
			err_set(err, "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64, i, k, size);
			return NULL;
		}
		cell += (i < 0 ? i + size : i) * p->stride[k] * nbytes;
	}
	return cell;
}

/* The plan of node arguments for a tensor of self's sizes. */
static bool plan_for(struct plan *p, const struct tensor *self, const struct tensor *const *in, int n, struct arena *a, struct err *err)
{
	struct index_entries l;
	return list_expand(&l, &self->meta, in, n, a, err) && plan_make(p, &self->meta, &l, err);
}

bool index_list_any(const struct meta *const *in, int n)
{
	for (int k = 0; k < n; k++)
		if (in[k] && !(is_mask(in[k]) && in[k]->rank == 0))
			return true;
	return false;
}

/* ---- index.Tensor -------------------------------------------------------------------------------------------------------- */

/* Metas of argument 1 as data-less tensors; false if there is a mask among them. */
static bool list_of_metas(struct tensor *store, const struct tensor **in, const struct meta **metas, const struct meta_ctx *c)
{
	bool plain = true;
	for (int k = 0; k < c->n->arg[A_indexed_indices].n; k++) {
		metas[k] = meta_list(c, A_indexed_indices, k);
		in[k] = NULL;
		if (!metas[k])
			continue;
		store[k] = (struct tensor){*metas[k], NULL};
		in[k] = &store[k];
		plain &= !is_mask(metas[k]);
	}
	return plain;
}

bool meta_index(struct meta_ctx *c)
{
	struct tensor store[MAX_LIST], self = {*c->in[A_index_self], NULL};
	const struct tensor *in[MAX_LIST];
	const struct meta *metas[MAX_LIST], *operands[MAX_RANK + 1];
	struct plan p;
	int n = c->n->arg[A_index_indices].n;
	bool plain = list_of_metas(store, in, metas, c);
	if (!check_entries(metas, n, self.meta.rank, c->err))
		return false;
	if (!plain)
		return err_limit(c->err, "a b8 index makes sizes data-dependent: not supported");
	if (n > 0 && !index_list_any(metas, n) && meta_numel(&self.meta) == 0) {
		layout_contiguous(&c->out[0], c->in[A_index_self], self.meta.size, self.meta.rank);
		return true;
	}
	if (!plan_for(&p, &self, in, n, NULL, c->err))
		return false;
	layout_contiguous(&c->out[0], c->in[A_index_self], p.src.size, p.src.rank);
	operands[0] = &p.src;
	for (int k = 0; k < p.n; k++)
		operands[k + 1] = &p.index[k].meta;
	layout_iterator(&c->out[0], operands, p.n + 1);
	return true;
}

static bool any_given(const struct tensor *const *in, int n)
{
	for (int k = 0; k < n; k++)
		if (in[k])
			return true;
	return false;
}

bool kern_index(struct kern_ctx *c)
{
	struct plan p;
	struct walk w;
	int nbytes = dtype_nbytes(c->out[0].meta.dtype);
	if (!any_given(c->list[A_index_indices], c->n->arg[A_index_indices].n))
		return true;
	if (!plan_for(&p, c->in[A_index_self], c->list[A_index_indices], c->n->arg[A_index_indices].n, c->scratch, c->err))
		return false;
	for (bool more = plan_walk(&w, &p, c->in[A_index_self], &c->out[0]); more; more = walk_next(&w)) {
		const unsigned char *cell = plan_at(&p, &w, c->err);
		if (!cell)
			return false;
		cell_move(w.at[1], cell, nbytes);
	}
	return true;
}

/* sum (numbered as contiguous target) += values at the plan's positions. */
static bool add_at(struct wide *sum, const struct plan *p, const struct tensor *target, const struct tensor *values, struct err *err)
{
	struct walk w;
	CHECK(meta_is_contiguous(&target->meta));
	for (bool more = plan_walk(&w, p, target, values); more; more = walk_next(&w)) {
		const unsigned char *cell = plan_at(p, &w, err);
		if (!cell)
			return false;
		wide_add(sum, cell_number(target, cell), w.at[1]);
	}
	return true;
}

void vjp_index(struct vjp *v)
{
	const struct meta *self = vjp_meta(v, A_index_self);
	if (meta_numel(self) == 0)
		return;
	int zero = vjp_zeros(v->b, self);
	v->grad[A_index_self] = emit_index_put(v->b, zero, v->list[A_index_indices], v->n->arg[A_index_indices].n, v->g[0], true);
}

/* ---- index_put ------------------------------------------------------------------------------------------------------------- */

bool index_list_fills(int *mask, const struct meta *const *in, int n, const struct meta *values, bool accumulate)
{
	*mask = -1;
	if (accumulate || meta_numel(values) != 1)
		return false;
	for (int k = 0; k < n; k++) {
		if (in[k] && (!is_mask(in[k]) || *mask >= 0))
			return false;
		if (in[k])
			*mask = k;
	}
	return *mask >= 0;
}

static bool check_values(const struct meta *values, const struct meta *src, struct err *err)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	struct meta both = {0};
	if (layout_broadcast(both.size, &both.rank, src, values, NULL) && meta_same_sizes(&both, src))
		return true;
	return err_set(err, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
		sizes_text(a, values->size, values->rank), sizes_text(b, src->size, src->rank));
}

bool meta_index_put(struct meta_ctx *c)
{
	struct tensor store[MAX_LIST], self = {*c->in[A_index_put_self], NULL};
	const struct tensor *in[MAX_LIST];
	const struct meta *metas[MAX_LIST], *values = c->in[A_index_put_values];
	struct plan p;
	int n = c->n->arg[A_index_put_indices].n, mask;
	bool plain = list_of_metas(store, in, metas, c);
	layout_preserve(&c->out[0], c->in[A_index_put_self]);
	if (!check_entries(metas, n, self.meta.rank, c->err))
		return false;
	if (index_list_fills(&mask, metas, n, values, c->n->arg[A_index_put_accumulate].b))
		return metas[mask]->dtype == DT_U8
			? err_set(c->err, "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
			: check_mask(metas[mask], c->in[A_index_put_self], mask, c->err);
	bool nothing = !index_list_any(metas, n);
	bool refused = meta_numel(&self.meta) != 0 || (!c->n->arg[A_index_put_accumulate].b && meta_numel(values) == 1);
	if (nothing && refused)
		return err_set(c->err, "at least one index must be provided");
	if (values->dtype != self.meta.dtype)
		return err_set(c->err,
			"Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
			dtype_info[self.meta.dtype].c10, dtype_info[values->dtype].c10);
	if (nothing)
		return check_values(values, c->in[A_index_put_self], c->err);
	if (!plain) /* the sizes of values wait for the data; those of masks do not */
		for (int k = 0, at = 0; k < n; at += metas[k] && is_mask(metas[k]) ? metas[k]->rank : 1, k++)
			if (metas[k] && is_mask(metas[k]) && !check_mask(metas[k], c->in[A_index_put_self], at, c->err))
				return false;
	return !plain || (plan_for(&p, &self, in, n, NULL, c->err) && check_values(values, &p.src, c->err));
}

static struct scalar scalar_of(const struct tensor *t)
{
	const unsigned char *cell = tensor_first(t);
	enum dtype dt = t->meta.dtype;
	if (dtype_is_float(dt))
		return (struct scalar){SC_FLOAT, 0, dtype_load_f(dt, cell)};
	return (struct scalar){dt == DT_B8 ? SC_BOOL : SC_INT, dtype_load_i(dt, cell), 0};
}

/* The mask with dims of size 1 for self's dims before and after its own. */
static struct tensor mask_in_place(const struct tensor *mask, int before, int rank)
{
	struct tensor m = *mask;
	for (int d = before + mask->meta.rank; d < rank; d++)
		meta_insert_dim(&m.meta, m.meta.rank, 1, 0);
	return m;
}

static bool masked_fill(struct kern_ctx *c, int mask)
{
	struct tensor *out = &c->out[0], m = mask_in_place(c->list[A_index_put_indices][mask], mask, out->meta.rank);
	enum dtype t = out->meta.dtype;
	unsigned char cell[8];
	struct walk w;
	if (c->in[A_index_put_values]->meta.dtype == t) {
		cell_move(cell, tensor_first(c->in[A_index_put_values]), dtype_nbytes(t));
	} else {
		struct scalar s = scalar_of(c->in[A_index_put_values]);
		if (!scalar_fits(&s, t, c->err))
			return false;
		scalar_store(cell, t, &s);
	}
	walk_init(&w, out->meta.size, out->meta.rank);
	walk_add(&w, out);
	walk_add(&w, &m);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		if (*w.at[1])
			cell_move(w.at[0], cell, dtype_nbytes(t));
	return true;
}

/* Metas of a list with data. */
static void metas_of(const struct meta **out, const struct tensor *const *in, int n)
{
	for (int k = 0; k < n; k++)
		out[k] = in[k] ? &in[k]->meta : NULL;
}

static bool put_accumulate(struct kern_ctx *c)
{
	struct plan p;
	struct wide sum;
	struct tensor self = tensor_contiguous(c->in[A_index_put_self], c->scratch);
	if (!plan_for(&p, &self, c->list[A_index_put_indices], c->n->arg[A_index_put_indices].n, c->scratch, c->err)
		|| !check_values(&c->in[A_index_put_values]->meta, &p.src, c->err))
		return false;
	wide_load(&sum, &self, c->scratch);
	if (!add_at(&sum, &p, &self, c->in[A_index_put_values], c->err))
		return false;
	wide_store(&sum, &c->out[0]);
	return true;
}

bool kern_index_put(struct kern_ctx *c)
{
	const struct meta *metas[MAX_LIST] = {0};
	struct tensor *out = &c->out[0];
	struct plan p;
	struct walk w;
	int n = c->n->arg[A_index_put_indices].n, mask, nbytes = dtype_nbytes(out->meta.dtype);
	bool accumulate = c->n->arg[A_index_put_accumulate].b;
	metas_of(metas, c->list[A_index_put_indices], n);
	tensor_move(out, c->in[A_index_put_self]);
	if (index_list_fills(&mask, metas, n, &c->in[A_index_put_values]->meta, accumulate))
		return masked_fill(c, mask);
	if (!index_list_any(metas, n))
		return true;
	if (accumulate)
		return put_accumulate(c);
	if (!plan_for(&p, out, c->list[A_index_put_indices], n, c->scratch, c->err)
		|| !check_values(&c->in[A_index_put_values]->meta, &p.src, c->err))
		return false;
	for (bool more = plan_walk(&w, &p, out, c->in[A_index_put_values]); more; more = walk_next(&w)) {
		unsigned char *cell = plan_at(&p, &w, c->err);
		if (!cell)
			return false;
		cell_move(cell, w.at[1], nbytes);
	}
	return true;
}
