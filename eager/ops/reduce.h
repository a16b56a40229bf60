/* reduce.h: what the reduction, scan and selection rules share (reduce*.c; compiled/loops reads the dims).
 *
 * A reduced tensor is seen as `nlane` lanes of `count` elements: lane l in row-major order of the kept dimensions is element l of
 * the (contiguous) result. Elements are taken out of the strided tensor first, in row-major logical order, as double or int64_t.
 *
 * Accumulation: float sums and means in double, in order, rounded once to the result's dtype; products rounded to their dtype
 * after every factor, f16 and bf16 too, as PyTorch's CPU does; integers in int64_t with wrap. */
#ifndef SCATTERPROOF_REDUCE_H
#define SCATTERPROOF_REDUCE_H

#include "eager/ops/layout.h"
#include "eager/ops/rules.h"
#include "eager/ops/vjp.h"

struct lanes {
	int64_t nlane, count;
	const int64_t *base, *step; /* element i of lane l is logical element base[l] + step[i] */
};
void lanes_make(struct lanes *out, const int64_t *size, int rank, const bool *reduced, struct arena *a);
static inline int64_t lane_at(const struct lanes *l, int64_t lane, int64_t i) { return l->base[lane] + l->step[i]; }

/* The node's `dim` argument (Dim, Dims, absent, None or []: all) as flags. */
bool reduce_dims(bool reduced[MAX_RANK], const struct node *n, int rank, struct err *err);
bool reduce_keepdim(const struct node *n);
/* The same for a node whose shape rule has passed. */
void reduce_lanes(struct lanes *out, const struct node *n, const struct meta *in, struct arena *a);
/* out: contiguous, dtype t, `in` without the reduced dimensions (or with size 1 in their place). */
void reduce_shape(struct meta *out, const struct meta *in, const bool *reduced, bool keepdim, enum dtype t);
bool node_dtype(enum dtype *out, const struct node *n); /* the `dtype` argument if one is given */

/* For derivatives. x, which has the sizes of v->n's result, so that it broadcasts to self: with its reduced dims as size 1. Where all are
 * reduced because none was named it is 0-d, and broadcasts as it is. */
int reduce_restored(struct vjp *v, int x);
double reduce_order(const struct node *n);      /* of a norm */
int reduce_dim(const struct vjp *v);            /* the node's one `dim`, wrapped; self is not 0-d */
int reduce_as(struct vjp *v, int x, int dtype); /* x.to(dtype) */

/* All elements in row-major order, converted to dtype `as` on the way (as aten::copy_ converts). */
double *load_doubles(const struct tensor *t, enum dtype as, struct arena *a);
int64_t *load_ints(const struct tensor *t, enum dtype as, struct arena *a);
/* Result i of a contiguous tensor: the value rounded (float) or wrapped (integer). */
static inline void put_double(struct tensor *t, int64_t i, double v) { dtype_store_f(t->meta.dtype, tensor_at(t, t->meta.offset + i), v); }
static inline void put_int(struct tensor *t, int64_t i, int64_t v) { dtype_store_i(t->meta.dtype, tensor_at(t, t->meta.offset + i), v); }

#endif
