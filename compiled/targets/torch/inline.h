/* inline.h: from a statement per node to what a person writes:
 *
 *     _n1_ = x.expand(2, 2)
 *     _n2_ = _n1_.zero_()           return x.expand(2, 2).zero_()
 *     return _n2_
 *
 * A value that one place reads, in the next line, is written there, unless it would be evaluated on the other side of a write, or the line
 * would be longer than a person reads. The reader of the text compiles another Python than the tool did, of the same operators in the same
 * order; whoever wants it runs it. */
#ifndef SCATTERPROOF_INLINE_H
#define SCATTERPROOF_INLINE_H

#include "eager/base/base.h"

/* The name of node i while lines are folded into each other: no other text of a program looks like it. */
const char *inline_name(int node, struct arena *a);
/* body: lines of Python, each indented and ended, that call nodes so. The same with fewer lines. left[i]: node i is still named in it; n
 * nodes. */
const char *inline_lines(bool *left, const char *body, int n, struct arena *a);

#endif
