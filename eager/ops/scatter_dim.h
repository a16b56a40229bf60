/* scatter_dim.h: what scatter, scatter_add, gather and scatter_reduce share: the checks and the walk over an index tensor. */
#ifndef SCATTERPROOF_SCATTER_DIM_H
#define SCATTERPROOF_SCATTER_DIM_H

#include "eager/ops/move.h"
#include "eager/ops/vjp.h"

/* PyTorch's conditions on (self, dim, index, src); src may be NULL. */
bool scatter_check(int64_t dim, const struct meta *self, const struct meta *index, const struct meta *src, struct err *err);

/* Every position of index, row-major, with the element of self it points at and src's element at the position:
 *   for (bool more = dim_walk_init(&w, self, dim, index, src); more; more = dim_walk_next(&w)) if (dim_walk_at(&w, err)) ... */
struct dim_walk {
	struct walk walk;
	struct tensor target;
	int dim;
	int64_t size, stride;
	enum dtype index_dtype;
	unsigned char *cell; /* self's element */
	unsigned char *src;  /* src's, if there is one */
	int64_t number;      /* cells from self's first element to cell: the logical number if self is contiguous */
};
bool dim_walk_init(struct dim_walk *w, const struct tensor *self, int64_t dim, const struct tensor *index, const struct tensor *src);
bool dim_walk_at(struct dim_walk *w, struct err *err); /* false: index out of range */
bool dim_walk_next(struct dim_walk *w);

/* Derivative of a scatter by src: g gathered by the node's index; NO_VALUE if that is empty. */
int scatter_gathered(struct vjp *v, int g, const struct meta *src);

#endif
