/* move.h: what the kernels of copies, scatters and gathers share: walking several tensors in step, moving bits, index values,
 * wide accumulators. Values move as bits wherever dtypes agree (NaN payloads and zero signs survive).
 *
 * Accumulation: every accumulating kernel and derivative here adds in double (f64 included; integers wrap in int64_t, bool is
 * "or") in the order of the source, and rounds once when it stores. PyTorch's CPU kernels differ for f16 and bf16 (1-D
 * index_add, index_put, backward of index and embedding round after each addition): the licence table describes them. */
#ifndef SCATTERPROOF_MOVE_H
#define SCATTERPROOF_MOVE_H

#include "eager/ops/layout.h"
#include "eager/ops/rules.h"

/* Operands in step over `size` in row-major order, each broadcast to it (right-aligned, size 1 repeats):
 *   struct walk w; walk_init(&w, size, rank); walk_add(&w, a); walk_add(&w, b);
 *   for (bool more = walk_start(&w); more; more = walk_next(&w)) use(w.at[0], w.at[1], w.index); */
enum { MAX_WALK = MAX_RANK + 3 };
struct walk {
	int rank, n;
	int64_t size[MAX_RANK], index[MAX_RANK];
	int64_t stride[MAX_WALK][MAX_RANK]; /* bytes */
	unsigned char *at[MAX_WALK];
};
void walk_init(struct walk *w, const int64_t *size, int rank);
void walk_add(struct walk *w, const struct tensor *t);
bool walk_start(struct walk *w); /* false: no elements */
bool walk_next(struct walk *w);

static inline void cell_move(unsigned char *dst, const unsigned char *src, int nbytes)
{
	switch (nbytes) {
	case 1: *dst = *src; break;
	case 2: memcpy(dst, src, 2); break;
	case 4: memcpy(dst, src, 4); break;
	default: memcpy(dst, src, 8);
	}
}
static inline unsigned char *tensor_first(const struct tensor *t) { return tensor_at(t, t->meta.offset); }

void tensor_move(struct tensor *dst, const struct tensor *src); /* same dtype; src broadcasts to dst's sizes */
/* The same with conversion where dtypes differ (tensor_copy), sizes equal. */
void tensor_assign(struct tensor *dst, const struct tensor *src);
void tensor_fill(struct tensor *t, const unsigned char *cell); /* every element = the bits at cell */
void tensor_fill_scalar(struct tensor *t, const struct scalar *s);
void tensor_zero(struct tensor *t);
struct tensor tensor_slice(const struct tensor *t, int dim, int64_t start, int64_t n, int64_t step); /* a view */
struct tensor tensor_contiguous(const struct tensor *t, struct arena *a);                            /* t itself if it is contiguous */
/* A contiguous copy in dtype `dt`. */
struct tensor tensor_convert(const struct tensor *t, enum dtype dt, struct arena *a);
struct tensor tensor_with_sizes(const struct tensor *contiguous, const int64_t *size, int rank); /* a view */

/* Index tensors: i64 or i32 (some operators also u8); a position wrapped into [0, size) or an error. */
static inline int64_t index_load(enum dtype t, const unsigned char *cell) { return dtype_load_i(t, cell); }

/* A wide copy of a tensor: one double (floats) or int64_t (others) per logical element, row-major. */
struct wide {
	enum dtype dtype;
	int64_t n;
	double *f;
	int64_t *i;
};
void wide_zero(struct wide *w, enum dtype t, int64_t n, struct arena *a);
void wide_load(struct wide *w, const struct tensor *t, struct arena *a);
void wide_store(const struct wide *w, struct tensor *t);                          /* t of w's kind (float, or the same dtype) */
static inline void wide_add(struct wide *w, int64_t k, const unsigned char *cell) /* cell of w's dtype */
{
	if (w->f)
		w->f[k] += dtype_load_f(w->dtype, cell);
	else if (w->dtype == DT_B8)
		w->i[k] |= dtype_load_i(DT_B8, cell);
	else
		w->i[k] = wrap_add(w->i[k], dtype_load_i(w->dtype, cell));
}

/* The number of the cell at `at` in contiguous t. */
static inline int64_t cell_number(const struct tensor *t, const unsigned char *at)
{
	return (at - tensor_first(t)) / dtype_nbytes(t->meta.dtype);
}

#endif
