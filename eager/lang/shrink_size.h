/* shrink_size.h: smaller sizes and fewer dimensions, in a whole program at once. A program does not say which sizes belong together; equal
 * numbers are taken for one size, and an edit for which that is wrong is refused by the shape rules. */
#ifndef SCATTERPROOF_SHRINK_SIZE_H
#define SCATTERPROOF_SHRINK_SIZE_H

#include "eager/lang/prog.h"

enum { MAX_SHRINK_SIZES = 32, MAX_SHRINK_STEPS = 12 };
/* The sizes above 1 of input rows, and what items give, largest first. */
int shrink_sizes(int64_t size[MAX_SHRINK_SIZES], const struct prog *p);
/* What to try in place of a size, in this order. */
int shrink_steps(int64_t to[MAX_SHRINK_STEPS], int64_t size);

/* In place; metas are as before, to be inferred by the caller. `to` wherever a size is `from`; positions along such a dimension are scaled,
 * sources of slice_scatter and its like are made to fit, strides of inputs keep their order. */
bool shrink_size(struct prog *q, int64_t from, int64_t to, struct err *err);
/* Without the dimension whose size is `from`. Refused if a tensor has two such, or an operator works along it. */
bool shrink_rank(struct prog *q, int64_t from, struct err *err);
/* Without dimension `dim` of the inputs of that rank, and what it becomes in the rows that read them. Refused as above. */
bool shrink_rank_at(struct prog *q, int rank, int dim, struct err *err);
/* As shrink_size, and any `to`. Positions along the dimension stay where they are, as far as they can: one that was the end is the end, one
 * that would be beyond it moves in proportion (*moved). Where `from` is the length of a region (slice_scatter's start to end), its end
 * moves. A symbol whose value is `from` gets another. */
bool shrink_resize(struct prog *q, int64_t from, int64_t to, bool *moved, struct err *err);
/* An input's data (and that of its calls) gets as many numbers as the input has cells now: cut, or repeated. */
void shrink_refit_data(struct prog *q, int node);
/* Cotangents that are made of nothing get the sizes and the dtype of their outputs. Metas are those of now. */
void shrink_refit_cotangents(struct prog *q);

#endif
