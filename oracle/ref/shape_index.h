/* shape_index.h: which elements an index tensor names, as the oracle states it; shared by gathers (ref_gather.c), which read them,
 * and scatters (ref_scatter.c), which write them. Elements are numbered row-major over self's LOGICAL indices. */
#ifndef SCATTERPROOF_ORACLE_SHAPE_INDEX_H
#define SCATTERPROOF_ORACLE_SHAPE_INDEX_H

#include "oracle/ref/shape.h"

/* self[i0, None, i2, …] with integer and mask tensors. */
struct advanced {
	int rank;
	int64_t size[MAX_RANK];   /* of the result */
	int64_t stride[MAX_RANK]; /* of index.Tensor's result */
	int64_t n;
	int64_t *cell; /* [n] element of self per result element, row-major */
};
bool shape_advanced(struct ref_ctx *c, struct advanced *a, const struct meta *self, int list_arg);

/* gather and scatter: element k of index names cell[k] of self along dim, other coordinates its own. Checks ranks and sizes;
 * src (NULL: none) must cover index. from[k]: the element of src (NULL if src is). n: elements of index.
 * open: elements of index whose position is undecided, if the caller takes them (takes_open): they name one of several cells, the first
 * of which is cell[k]. */
struct open_position {
	int64_t k, n;
	const int64_t *cell;
};
struct along {
	int64_t n;
	int64_t *cell, *from;
	bool takes_open;
	int64_t nopen;
	struct open_position *open;
};
bool shape_along(struct ref_ctx *c, struct along *a, const struct meta *self, int dim_arg, int index_arg, const struct meta *src);

/* index_select, index_add, index_copy, index_fill: a list of positions along dim. outer, inner: elements before and after dim. */
struct positions {
	int dim;
	int64_t n, outer, len, inner;
	int64_t *at;
};
/* Negative positions count from the end; i32 refused; not looked at; looked at by each element that is written, so not where none is. */
enum { POS_WRAP = 1, POS_LONG_ONLY = 2, POS_UNREAD = 4, POS_BY_ELEMENT = 8 };
bool shape_positions(struct ref_ctx *c, struct positions *p, const struct meta *self, int dim_arg, int index_arg, int flags);

#endif
