/* layout.h: the oracle's own answers about layouts: which cells of a storage the elements of a strided tensor lie in. The interpreter asks
 * eager/lang/meta.h the same questions; a mistake there must not become a verdict, so nothing here calls it and each answer is found
 * another way (tests/unit/oracle_layout_test.c compares the two, and both with a count of cells).
 * Sizes, strides and offsets are in elements; strides are not negative. Source: c10/core/Contiguity.h, at/MemoryOverlap.h. */
#ifndef SCATTERPROOF_ORACLE_LAYOUT_H
#define SCATTERPROOF_ORACLE_LAYOUT_H

#include "eager/lang/meta.h"

/* Row-major without gaps. Dims of size 1 do not matter, and nothing does if there is no element. */
bool layout_is_contiguous(const struct meta *m);
/* Some dim of more than one element has stride 0 (an expanded tensor). */
bool layout_is_expanded(const struct meta *m);
/* Two elements share a cell. Exact. */
bool layout_overlaps(const struct meta *m);
/* Each cell from the first element's to the last one's holds exactly one element. */
bool layout_is_dense(const struct meta *m);

#endif
