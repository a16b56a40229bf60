/* legality.h: which overlaps of destination and operands PyTorch accepts in an in-place row (MemoryOverlap.cpp; measured on 2.11 CPU,
 * scripts of the measurement: tests/differential/autograd_check.py). Shapes and dtypes are the shape rules' business, leaves and views
 * autograd.h's.
 *
 * "Overlaps itself" is a dim of size > 1 with stride 0 (an unfold is not noticed). Two tensors are compared only if both are dense
 * permutations of a contiguous block and share a storage: same first and last cell and same strides is FULL, any other common cell
 * PARTIAL. One and the same tensor is always FULL. */
#ifndef SCATTERPROOF_LEGALITY_H
#define SCATTERPROOF_LEGALITY_H

#include "eager/run/autograd.h"

/* False with PyTorch's text ("RuntimeError: …") if node may not write to self. */
bool legality_check(const struct graph *g, int node, struct err *err);

/* The row writes one number, and PyTorch accepts a self that overlaps itself: fill_, zero_, masked_fill_. (Backward refuses stride 0
 * where the base had a gradient: autograd.h.) */
bool legality_sets_one_value(int op);

/* PyTorch's versions refuse different things in a few rows; false with the text of PyTorch 2.<minor>. Asked of every row that runs. */
bool legality_version(const struct prog *p, int node, int minor, struct err *err);

/* An operand reads cells that the row writes, other than element by element through the same view. Exact, by cells. */
bool legality_reads_written(const struct prog *p, int node);

/* The row's result depends on the order in which elements are visited, though PyTorch accepts it (or may): self holds a cell twice, or an
 * operand reads cells of self other than element by element. Exact, by cells. The interpreter computes the new value from the old operands;
 * PyTorch reads what it has just written: such programs mean nothing and are not to be generated. */
bool legality_order_matters(const struct prog *p, int node);

#endif
