/* rules.h: what the files of rules share (decompose.h says what a rule is). */
#ifndef SCATTERPROOF_DECOMPOSE_RULES_H
#define SCATTERPROOF_DECOMPOSE_RULES_H

#include "compiled/decompose/decompose.h"
#include "eager/lang/build.h"
#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct decomposition {
	struct build *b;         /* of the new program */
	const struct prog *from; /* the old one, */
	const struct node *n;    /* and the row, for its arguments that are no tensors and for its results' metas */
	int in[MAX_ARGS];        /* operands: values of b; NO_VALUE where there is none */
	int list[MAX_LIST];      /* of its Tensor[] argument */
	int out[MAX_OUTS];       /* to fill: the results */
};
struct decompose_rule {
	void (*rows)(struct decomposition *d); /* NULL: the row is of the core dialect */
};

#define OP(id, ...) extern const struct decompose_rule decompose_##id;
#define POINTWISE(...)
#define INPLACE(...)
#define INPLACE_VIEW(...)
#define BODY(...)
#include "eager/lang/ops.def"
#define RULED(id) extern const struct decompose_rule decompose_##id;
#include "compiled/decompose/core.def"

#define RULE(id)                                                                                                                           \
	static void rows_##id(struct decomposition *d);                                                                                        \
	_Static_assert(sizeof decompose_##id, "declared above");                                                                               \
	const struct decompose_rule decompose_##id = {rows_##id};                                                                              \
	static void rows_##id(struct decomposition *d)

static inline const struct meta *result_meta(const struct decomposition *d, int k) { return &d->n->out[k].meta; }
static inline const struct meta *operand_meta(const struct decomposition *d, int arg) { return build_meta(d->b, d->in[arg]); }
static inline const struct scalar *scalar_arg(const struct decomposition *d, int arg) { return &d->n->arg[arg].scalar; }
static inline int64_t int_arg(const struct decomposition *d, int arg) { return node_int(d->n, arg); }

int as_dtype(struct decomposition *d, int x, enum dtype t);                     /* x itself if it has it */
int constant(struct decomposition *d, struct scalar s, enum dtype t);           /* 0-d */
int filled(struct decomposition *d, const struct meta *like, struct scalar s);  /* like's sizes and dtype */
int positions(struct decomposition *d, int64_t start, int64_t n, int64_t step); /* i64: start, start + step, ... */
int reshaped(struct decomposition *d, int x, const int64_t *size, int rank);    /* a view where there is one, else of a copy */
int sized_as(struct decomposition *d, int x, const struct meta *m);             /* the same */
int flat(struct decomposition *d, int x);                                       /* the same: one dim */
int with_dim(struct decomposition *d, int x, int dim);                          /* a view with a dim of size 1 more */
int spread(struct decomposition *d, int x, const struct meta *m);               /* expanded to m's sizes, if it has others */
int logical_negation(struct decomposition *d, int x);                           /* of b8 */
int dim_of(int64_t dim, const struct meta *m);                                  /* wrapped; 0-d counts as 1-d */

#endif
