/* move.c: walking, moving, wide accumulators (see move.h). */
#include "eager/ops/move.h"

void walk_init(struct walk *w, const int64_t *size, int rank)
{
	*w = (struct walk){.rank = rank};
	memcpy(w->size, size, sizeof *size * (size_t)rank);
}

void walk_add(struct walk *w, const struct tensor *t)
{
	int shift = w->rank - t->meta.rank, k = w->n++;
	CHECK(k < MAX_WALK && shift >= 0);
	w->at[k] = t->base ? tensor_first(t) : NULL;
	for (int d = 0; d < t->meta.rank; d++) {
		bool repeats = t->meta.size[d] != w->size[d + shift];
		CHECK(!repeats || t->meta.size[d] == 1);
		w->stride[k][d + shift] = repeats ? 0 : t->meta.stride[d] * dtype_nbytes(t->meta.dtype);
	}
}

bool walk_start(struct walk *w)
{
	for (int d = 0; d < w->rank; d++)
		if (w->size[d] == 0)
			return false;
	return true;
}

bool walk_next(struct walk *w)
{
	for (int d = w->rank - 1; d >= 0; d--) {
		bool inside = ++w->index[d] < w->size[d];
		for (int k = 0; k < w->n; k++)
			w->at[k] += inside ? w->stride[k][d] : -w->stride[k][d] * (w->size[d] - 1);
		if (inside)
			return true;
		w->index[d] = 0;
	}
	return false;
}

void tensor_move(struct tensor *dst, const struct tensor *src)
{
	CHECK(dst->meta.dtype == src->meta.dtype);
	int nbytes = dtype_nbytes(dst->meta.dtype);
	struct walk w;
	walk_init(&w, dst->meta.size, dst->meta.rank);
	walk_add(&w, dst);
	walk_add(&w, src);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		cell_move(w.at[0], w.at[1], nbytes);
}

void tensor_assign(struct tensor *dst, const struct tensor *src)
{
	if (dst->meta.dtype == src->meta.dtype)
		tensor_move(dst, src);
	else
		tensor_copy(dst, src);
}

void tensor_fill(struct tensor *t, const unsigned char *cell)
{
	int nbytes = dtype_nbytes(t->meta.dtype);
	struct walk w;
	walk_init(&w, t->meta.size, t->meta.rank);
	walk_add(&w, t);
	for (bool more = walk_start(&w); more; more = walk_next(&w))
		cell_move(w.at[0], cell, nbytes);
}

void tensor_fill_scalar(struct tensor *t, const struct scalar *s)
{
	unsigned char cell[8];
	scalar_store(cell, t->meta.dtype, s);
	tensor_fill(t, cell);
}

void tensor_zero(struct tensor *t)
{
	static const unsigned char zero[8];
	tensor_fill(t, zero);
}

struct tensor tensor_slice(const struct tensor *t, int dim, int64_t start, int64_t n, int64_t step)
{
	struct tensor v = *t;
	v.meta.offset += start * t->meta.stride[dim];
	v.meta.size[dim] = n;
	v.meta.stride[dim] *= step;
	return v;
}

struct tensor tensor_contiguous(const struct tensor *t, struct arena *a)
{
	return meta_is_contiguous(&t->meta) ? *t : tensor_convert(t, t->meta.dtype, a);
}

struct tensor tensor_convert(const struct tensor *t, enum dtype dt, struct arena *a)
{
	struct meta m;
	struct tensor out;
	meta_make_contiguous(&m, dt, t->meta.size, t->meta.rank);
	tensor_new(&out, &m, a);
	tensor_assign(&out, t);
	return out;
}

struct tensor tensor_with_sizes(const struct tensor *contiguous, const int64_t *size, int rank)
{
	struct tensor v = *contiguous;
	CHECK(meta_is_contiguous(&v.meta));
	meta_make_contiguous(&v.meta, v.meta.dtype, size, rank);
	v.meta.offset = contiguous->meta.offset;
	CHECK(meta_numel(&v.meta) == meta_numel(&contiguous->meta));
	return v;
}

/* ---- wide accumulators ---------------------------------------------------------------------------------------------- */

void wide_zero(struct wide *w, enum dtype t, int64_t n, struct arena *a)
{
	*w = (struct wide){.dtype = t, .n = n};
	if (dtype_is_float(t))
		w->f = ARENA_ZNEW(a, double, n + 1);
	else
		w->i = ARENA_ZNEW(a, int64_t, n + 1);
}

void wide_load(struct wide *w, const struct tensor *t, struct arena *a)
{
	wide_zero(w, t->meta.dtype, meta_numel(&t->meta), a);
	struct walk walk;
	walk_init(&walk, t->meta.size, t->meta.rank);
	walk_add(&walk, t);
	int64_t k = 0;
	for (bool more = walk_start(&walk); more; more = walk_next(&walk), k++) {
		if (w->f)
			w->f[k] = dtype_load_f(w->dtype, walk.at[0]);
		else
			w->i[k] = dtype_load_i(w->dtype, walk.at[0]);
	}
}

void wide_store(const struct wide *w, struct tensor *t)
{
	enum dtype dt = t->meta.dtype;
	CHECK((w->f ? dtype_is_float(dt) : w->dtype == dt) && w->n == meta_numel(&t->meta));
	struct walk walk;
	walk_init(&walk, t->meta.size, t->meta.rank);
	walk_add(&walk, t);
	int64_t k = 0;
	for (bool more = walk_start(&walk); more; more = walk_next(&walk), k++) {
		if (w->f)
			dtype_store_f(dt, walk.at[0], w->f[k]);
		else
			dtype_store_i(dt, walk.at[0], w->i[k]);
	}
}
