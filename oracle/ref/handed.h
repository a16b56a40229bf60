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

/* What backward of a row hands on of the gradient that it gets, if sizes and dtype are the same: derivatives.yaml, and the functions of
 * FunctionsManual.cpp that it calls. REFERENCE states it beside each reference (row_rules.h); the test handed_torch asks PyTorch. */
enum gives {
	GIVES_ANEW, /* a new tensor, or nothing */
	GIVES_SELF, /* the gradient itself, to the first argument (expand: of the same sizes; cumsum, cumprod: along a dim of one element) */
	GIVES_SUM,  /* ... and to the second one, if alpha is 1 */
	GIVES_BIAS, /* ... if beta is 1 */
	GIVES_ADDED_TO, /* ... if accumulate is true */
	GIVES_INCLUDED, /* ... if include_self is true */
	GIVES_COPIED,   /* the gradient itself, to the second argument */
	GIVES_VIEW,   /* a view of all of it (sum: grad.expand, kept where it expands nothing; prod of one element: prod_safe_zeros_backward) */
	GIVES_PART,   /* a view of a part (cat: narrow; stack: unbind) */
	GIVES_REGION, /* a view of a part, to the second argument; the first gets a clone with the strides and offset of the gradient */
	GIVES_WINDOW  /* a new tensor with the offset of the argument */
};

/* May backward of such a row hand on what it gets; as a view of it? */
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
