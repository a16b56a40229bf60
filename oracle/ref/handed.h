/* handed.h: which memory a leaf's gradient may lie in. Eager's backward hands on the gradient of some operators as it is, or a view of it
 * (derivatives.yaml says which), and a leaf keeps what it gets (accumulate_grad.h) if nobody else holds the very same tensor. All other
 * gradients are made anew and begin at 0 of memory of their own. */
#ifndef SCATTERPROOF_HANDED_H
#define SCATTERPROOF_HANDED_H

#include "oracle/ref/ref_impl.h"

/* What of a node's gradient a leaf may get; each permits more than the one before. */
enum handed {
	HANDED_NOT,  /* nothing: it is made anew on the way, or does not come from there */
	HANDED_SAME, /* the tensor itself */
	HANDED_VIEW, /* a view of all of it */
	HANDED_PART  /* a view that may begin elsewhere */
};

/* May backward of such a row hand on what it gets; as a view of it? Which row does what: handed.def. */
bool handed_on(int op);
bool handed_as_view(int op);
/* [nnode]: what of each node's gradient the leaf may get. Permits too much where memory was written in place: there backward's views are
 * made again. */
const enum handed *handed_to(const struct ref *r, int leaf, struct arena *a);
/* May these two leaves' gradients share memory? At least one of them gets a view. */
bool handed_together(const struct ref *r, int leaf, int other, struct arena *a);
/* Does the leaf's gradient begin at 0 of its memory, whatever else? */
bool handed_from_start(const struct ref *r, int leaf, struct arena *a);

#endif
