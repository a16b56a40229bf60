/* shrink.h: ways to make a program simpler, for a minimiser to try. Each is one edit. It may change what the program computes; whether what
 * matters survives is the minimiser's question. An edit that leaves no valid program is refused, and so is one that brings in tensors
 * without elements: compilers treat them in ways of their own, and nobody believes a bug that shows in nothing.
 *
 * shrink_list gives the edits of one kind, those that take most away first; the same program always has the same list. Every edit takes
 * something away (a node, a size, an argument that is not the default, …) and none gives back what another kind took, so a minimiser that
 * accepts only what it has not seen ends. */
#ifndef SCATTERPROOF_SHRINK_H
#define SCATTERPROOF_SHRINK_H

#include "eager/lang/prog.h"

/* SHRINK(id, what people read) in the order in which they pay: what removes many nodes at once comes first. */
#define SHRINKS(SHRINK)                                                                                                                    \
	SHRINK(CALLS, "fewer calls") /* only call `from`; without call `from` */                                                               \
	SHRINK(LATE, "each backward before the next call")                                                                                     \
	SHRINK(OUTPUT, "fewer outputs") /* only output `from`, or without it (to = 1); the cotangent goes along */                             \
	SHRINK(BACKWARD, "no backward")                                                                                                        \
	SHRINK(CUT, "an input instead of a node")      /* the node's value is an input of its own; what only it needed goes */                 \
	SHRINK(DROP, "without a node")                 /* and without what uses it */                                                          \
	SHRINK(BYPASS, "an operand instead of a node") /* who reads the node reads its operand `from` instead */                               \
	SHRINK(SYMBOLS, "numbers instead of symbols")                                                                                          \
	SHRINK(RANK, "without a dimension")    /* whose size is `from`, in all tensors; or `arg` of inputs of rank `to` */                     \
	SHRINK(SIZE, "a smaller size")         /* `to` instead of `from`, wherever a size is `from` */                                         \
	SHRINK(OPERATOR, "a plainer operator") /* `to` instead of `from`: zero_ for a write, neg (of argument `arg`), select for unbind */     \
	SHRINK(RESULT, "neg of an input instead of a node")                                                                                    \
	SHRINK(ARGUMENT, "a plainer argument") /* argument `arg` is its default (to < 0), or `to` */                                           \
	SHRINK(LAYOUT, "a plainer layout")     /* of an input: 0 contiguous from cell 0, 1 contiguous, 2 from cell 0, 3 memory of its own */   \
	SHRINK(GRAD, "an input without gradient")                                                                                              \
	SHRINK(COTANGENT, "ones as cotangent")                                                                                                 \
	SHRINK(DTYPE, "a plainer dtype") /* `to` instead of `from` (enum dtype) */                                                             \
	SHRINK(FILL, "plainer data")     /* of an input: 0 dyadic, 1 the seed `from` */                                                        \
	SHRINK(SURFACE, "a plainer spelling")

enum shrink_kind {
#define SHRINK(id, what) SHRINK_##id,
	SHRINKS(SHRINK)
#undef SHRINK
		NSHRINKS
};
extern const char *const shrink_name[NSHRINKS];

struct shrink {
	enum shrink_kind kind;
	int node, arg; /* where they mean something */
	int64_t from, to;
};

/* The edits of one kind, in a. Returns how many. */
int shrink_list(struct shrink **out, const struct prog *p, enum shrink_kind kind, struct arena *a);
/* False: there is no such program. */
bool shrink_apply(struct prog *out, const struct prog *p, const struct shrink *s, struct arena *a, struct err *err);

#endif
