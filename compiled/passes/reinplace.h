/* reinplace.h: the last step of the built-in compiler, behind the epilogue: rows that copy a tensor that nobody reads any more and change
 * the copy are made to change the tensor itself. As PyTorch Inductor's reinplacing pass, the only one that makes writes.
 *
 *   a row with an in-place form (`add.Tensor`, `index_put`) becomes that form:   a = exp(x); b = add_.Tensor(a, 1)
 *   a scatter of a view's region becomes a write to the view:                   v = slice.Tensor(a, ...); c = copy_(v, d); s = alias(a)
 *
 * The `alias` row says that from here on the tensor's new value is meant. Every value keeps a name made after the write that gave it: no
 * row reads memory by a name that is older than the last write to it, which validate_writes checks. A `copy_` of the epilogue (or of a
 * scatter) whose value now is where it would be put goes.
 *
 * For programs that nobody differentiates. Whoever fuses (loops/) computes a pointwise row where it is read and needs no memory for it:
 * there such rows stay as they are. */
#ifndef SCATTERPROOF_REINPLACE_H
#define SCATTERPROOF_REINPLACE_H

#include "eager/lang/prog.h"

/* pointwise: pointwise rows, too. donated: by input storage (partition.h), NULL: none is; rows may write such inputs as if they were made
 * here. False: a shape rule refuses what came out (err): the pass is wrong. */
bool reinplace(struct prog *p, bool pointwise, const bool *donated, struct err *err);

#endif
