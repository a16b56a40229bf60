/* object.h: which rows name one and the same tensor object. `y = unsqueeze_(x, 0)` (T_INPLACE_VIEW) gives the object that x names other
 * sizes and strides, as PyTorch does: y is that object from here on, and other views of its memory keep theirs. A row's annotation says
 * what its name means, so no name of the object from before may be read, written or returned behind the row: objects_renamed.
 *
 * Where the object is an input, its caller sees the new sizes. They are judged as those of a result: the object must be returned. */
#ifndef SCATTERPROOF_OBJECT_H
#define SCATTERPROOF_OBJECT_H

#include "eager/lang/prog.h"

int node_object(const struct prog *p, int node); /* the first row that names node's object */
bool objects_renamed(const struct prog *p, struct err *err);

#endif
