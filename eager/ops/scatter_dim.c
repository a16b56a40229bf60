/* scatter_dim.c: gather, scatter and scatter_add along one dimension with an index as large as what moves:
 * scatter: out[.., index[p], ..] = src[p];   gather: out[p] = self[.., index[p], ..]   for every position p of index.
 * index may be smaller than self apart from the dimension, and smaller than src: the rest takes no part.
 * With repeated positions scatter.src keeps the last in row-major order (PyTorch leaves it open).
 * Facts: ATen/native/TensorAdvancedIndexing.cpp, ScatterGatherChecks.h. */
#include "eager/ops/scatter_dim.h"
#include "eager/ops/row_rules.h"

#include <inttypes.h>

static bool index_dtype(enum dtype t) { return t == DT_I64 || t == DT_I32; }
static int64_t size_or_1(const struct meta *m, int d) { return m->rank ? m->size[d] : 1; }

bool scatter_check(int64_t dim, const struct meta *self, const struct meta *index, const struct meta *src, struct err *err)
{
	char a[SIZES_TEXT], b[SIZES_TEXT], s[SIZES_TEXT];
	int d;
	if (!dim_wrap(&d, dim, self->rank, err))
		return false;
	if (meta_numel(index) != 0 && !index_dtype(index->dtype))
		return err_set(err, "scatter(): Expected dtype int32/int64 for index");
	if (src && src->dtype != self->dtype)
		return err_set(err, "scatter(): Expected self.dtype to be equal to src.dtype");
	if (meta_numel(index) == 0)
		return true;
	if (MAX(self->rank, 1) != MAX(index->rank, 1))
		return err_set(err, "Index tensor must have the same number of dimensions as self tensor");
	if (src && MAX(src->rank, 1) != MAX(index->rank, 1))
		return err_set(err, "Index tensor must have the same number of dimensions as src tensor");
	bool fits = true;
	for (int k = 0; k < MAX(self->rank, 1); k++) {
		fits &= k == d || size_or_1(index, k) <= size_or_1(self, k);
		fits &= !src || size_or_1(index, k) <= size_or_1(src, k);
	}
	if (!fits)
		return err_set(err, "Expected index %s to be no larger than self %s apart from dimension %d%s%s",
			sizes_text(a, index->size, index->rank), sizes_text(b, self->size, self->rank), d,
			src ? " and to be no larger size than src " : "", src ? sizes_text(s, src->size, src->rank) : "");
	return true;
}

/* A 0-d tensor counts as 1-d of size 1. */
static struct tensor at_least_1d(const struct tensor *t)
{
	struct tensor v = *t;
	if (v.meta.rank == 0)
		meta_insert_dim(&v.meta, 0, 1, 1);
	return v;
}

/* t's first elements in each dim, as many as index has. */
static struct tensor corner(const struct tensor *t, const struct meta *index)
{
	struct tensor v = at_least_1d(t);
	CHECK(v.meta.rank == index->rank);
	memcpy(v.meta.size, index->size, sizeof index->size);
	return v;
}

/* Operands of the walk: index, self's element with position 0 in `dim`, src. */
bool dim_walk_init(struct dim_walk *w, const struct tensor *self, int64_t dim, const struct tensor *index, const struct tensor *src)
{
	if (meta_numel(&index->meta) == 0)
		return false;
	struct tensor i = at_least_1d(index), row = corner(self, &i.meta);
	CHECK(dim_wrap(&w->dim, dim, i.meta.rank, NULL));
	w->target = at_least_1d(self);
	w->size = w->target.meta.size[w->dim];
	w->stride = w->target.meta.stride[w->dim];
	w->index_dtype = i.meta.dtype;
	row.meta.stride[w->dim] = 0;
	walk_init(&w->walk, i.meta.size, i.meta.rank);
	walk_add(&w->walk, &i);
	walk_add(&w->walk, &row);
	if (src) {
		struct tensor c = corner(src, &i.meta);
		walk_add(&w->walk, &c);
	}
	return walk_start(&w->walk);
}

bool dim_walk_next(struct dim_walk *w) { return walk_next(&w->walk); }

bool dim_walk_at(struct dim_walk *w, struct err *err)
{
	int64_t i = index_load(w->index_dtype, w->walk.at[0]);
	if (i < 0 || i >= w->size)
		return err_set(err, "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64, i, w->dim, w->size);
	int nbytes = dtype_nbytes(w->target.meta.dtype);
	w->cell = w->walk.at[1] + i * w->stride * nbytes;
	w->number = (w->cell - tensor_first(&w->target)) / nbytes;
	w->src = w->walk.at[2];
	return true;
}

/* ---- scatter.src, scatter.value -------------------------------------------------------------------------------------- */

/* Every scatter along a dim gives a row-major result. */
static bool scatter_meta(struct meta_ctx *c, const struct meta *src)
{
	const struct meta *self = c->in[A_along_dim_self];
	if (!scatter_check(node_int(c->n, A_along_dim_dim), self, c->in[A_along_dim_index], src, c->err))
		return false;
	layout_contiguous(&c->out[0], self, self->size, self->rank);
	return true;
}

bool meta_scatter_src(struct meta_ctx *c) { return scatter_meta(c, c->in[A_scatter_src_src]); }
bool meta_scatter_add(struct meta_ctx *c) { return scatter_meta(c, c->in[A_scatter_add_src]); }

bool meta_scatter_value(struct meta_ctx *c)
{
	if (!scatter_meta(c, NULL))
		return false;
	return meta_numel(c->in[A_scatter_value_index]) == 0
		|| scalar_fits(&c->n->arg[A_scatter_value_value].scalar, c->in[A_scatter_value_self]->dtype, c->err);
}

bool meta_scatter_value_by(struct meta_ctx *c)
{
	const char *word = c->n->arg[A_scatter_value_by_reduce].str;
	if (!str_eq(word, "add") && !str_eq(word, "multiply"))
		return meta_body(c);
	if (!scatter_check(
			node_int(c->n, A_scatter_value_by_dim), c->in[A_scatter_value_by_self], c->in[A_scatter_value_by_index], NULL, c->err))
		return false;
	if (meta_numel(c->in[A_scatter_value_by_index])
		&& !scalar_fits(&c->n->arg[A_scatter_value_by_value].scalar, c->in[A_scatter_value_by_self]->dtype, c->err))
		return false;
	return meta_body(c);
}

/* Writes src's elements, or the bits at cell where src is NULL. */
static bool write_at(
	struct tensor *out, int64_t dim, const struct tensor *index, const struct tensor *src, const unsigned char *cell, struct err *err)
{
	int nbytes = dtype_nbytes(out->meta.dtype);
	struct dim_walk w;
	for (bool more = dim_walk_init(&w, out, dim, index, src); more; more = dim_walk_next(&w)) {
		if (!dim_walk_at(&w, err))
			return false;
		cell_move(w.cell, src ? w.src : cell, nbytes);
	}
	return true;
}

bool kern_scatter_src(struct kern_ctx *c)
{
	tensor_move(&c->out[0], c->in[A_scatter_src_self]);
	return write_at(&c->out[0], node_int(c->n, A_scatter_src_dim), c->in[A_scatter_src_index], c->in[A_scatter_src_src], NULL, c->err);
}

bool kern_scatter_value(struct kern_ctx *c)
{
	unsigned char cell[8];
	scalar_store(cell, c->out[0].meta.dtype, &c->n->arg[A_scatter_value_value].scalar);
	tensor_move(&c->out[0], c->in[A_scatter_value_self]);
	return write_at(&c->out[0], node_int(c->n, A_scatter_value_dim), c->in[A_scatter_value_index], NULL, cell, c->err);
}

/* out[p] = from[.., index[p], ..]; positions of out outside index's sizes stay as they are. */
static bool read_at(struct tensor *out, const struct tensor *from, int64_t dim, const struct tensor *index, struct err *err)
{
	int nbytes = dtype_nbytes(out->meta.dtype);
	struct dim_walk w;
	for (bool more = dim_walk_init(&w, from, dim, index, out); more; more = dim_walk_next(&w)) {
		if (!dim_walk_at(&w, err))
			return false;
		cell_move(w.src, w.cell, nbytes);
	}
	return true;
}

int scatter_gathered(struct vjp *v, int g, const struct meta *src)
{
	int index = v->in[A_along_dim_index];
	if (meta_numel(build_meta(v->b, index)) == 0)
		return NO_VALUE;
	g = emit_gather(v->b, g, node_int(v->n, A_along_dim_dim), index);
	return build_meta(v->b, g)->rank < src->rank ? emit_view(v->b, g, src->size, src->rank) : g;
}

static void overwritten(struct vjp *v)
{
	int index = v->in[A_along_dim_index];
	v->grad[A_along_dim_self] = emit_scatter_value(v->b, v->g[0], node_int(v->n, A_along_dim_dim), index, scalar_int(0));
}

void vjp_scatter_src(struct vjp *v)
{
	if (v->want[A_scatter_src_self])
		overwritten(v);
	if (v->want[A_scatter_src_src])
		v->grad[A_scatter_src_src] = scatter_gathered(v, v->g[0], vjp_meta(v, A_scatter_src_src));
}

void vjp_scatter_value(struct vjp *v) { overwritten(v); }

/* ---- scatter_add and gather: each the derivative of the other --------------------------------------------------------------- */

static bool add_at(
	struct wide *sum, const struct tensor *out, int64_t dim, const struct tensor *index, const struct tensor *src, struct err *err)
{
	struct dim_walk w;
	CHECK(meta_is_contiguous(&out->meta));
	for (bool more = dim_walk_init(&w, out, dim, index, src); more; more = dim_walk_next(&w)) {
		if (!dim_walk_at(&w, err))
			return false;
		wide_add(sum, w.number, w.src);
	}
	return true;
}

bool kern_scatter_add(struct kern_ctx *c)
{
	struct wide sum;
	wide_load(&sum, c->in[A_scatter_add_self], c->scratch);
	tensor_move(&c->out[0], c->in[A_scatter_add_self]);
	if (!add_at(&sum, &c->out[0], node_int(c->n, A_scatter_add_dim), c->in[A_scatter_add_index], c->in[A_scatter_add_src], c->err))
		return false;
	wide_store(&sum, &c->out[0]);
	return true;
}

void vjp_scatter_add(struct vjp *v)
{
	v->grad[A_scatter_add_self] = v->g[0];
	if (v->want[A_scatter_add_src])
		v->grad[A_scatter_add_src] = scatter_gathered(v, v->g[0], vjp_meta(v, A_scatter_add_src));
}

bool meta_gather(struct meta_ctx *c)
{
	const struct meta *self = c->in[A_gather_self], *index = c->in[A_gather_index];
	char a[SIZES_TEXT], b[SIZES_TEXT];
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_gather_dim), self->rank, c->err))
		return false;
	layout_contiguous(&c->out[0], self, index->size, index->rank);
	if (meta_numel(index) == 0)
		return true;
	if (!index_dtype(index->dtype))
		return err_set(c->err, "gather(): Expected dtype int32/int64 for index");
	if (MAX(self->rank, 1) != MAX(index->rank, 1))
		return err_set(c->err, "Index tensor must have the same number of dimensions as input tensor");
	for (int k = 0; k < MAX(self->rank, 1); k++)
		if (k != d && size_or_1(index, k) > size_or_1(self, k))
			return err_set(c->err,
				"Size does not match at dimension %d expected index %s to be no larger than self %s apart from "
				"dimension %d",
				k, sizes_text(a, index->size, index->rank), sizes_text(b, self->size, self->rank), d);
	return true;
}

bool kern_gather(struct kern_ctx *c)
{
	return read_at(&c->out[0], c->in[A_gather_self], node_int(c->n, A_gather_dim), c->in[A_gather_index], c->err);
}

void vjp_gather(struct vjp *v)
{
	int zero = vjp_zeros(v->b, vjp_meta(v, A_gather_self));
	v->grad[A_gather_self] = emit_scatter_add(v->b, zero, node_int(v->n, A_gather_dim), v->in[A_gather_index], v->g[0]);
}
