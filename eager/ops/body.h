/* body.h: rows that state what they compute in other rows. A BODY row of ops.def has a program over its arguments, of which opgen makes
 * body_<id> (grammar: eager/lang/opgen_body.c, opgen_expr.h), a function that appends those rows:
 *
 *     (x = acc(self); e = exp(x - amax(x, dim, True)); return as(e / sum_dim(e, dim, True), self))
 *
 * The one program is four things:
 *   shape rule     meta_body appends it to metas. What a row of it refuses, the call refuses in that row's words; `refuse` has its own.
 *   kernel         kern_body executes it
 *   derivative     body_vjp differentiates its rows, for a row whose derivative is `body`
 *   decomposition  compiled/decompose appends it to the program that it rewrites; loops come of that
 *
 * Rounding is what the rows do: where a kernel accumulates in f32, so does the body (acc), and `as` rounds once at the end.
 *
 * A result is a contiguous tensor in memory of its own, unless the body says `strided`: then it has the layout that its rows gave it, which
 * must be memory of its own, too. A shape rule that knows more (PyTorch's sentence about what no row refuses) checks, then calls
 * meta_body. */
#ifndef SCATTERPROOF_BODY_H
#define SCATTERPROOF_BODY_H

#include "eager/lang/build.h"

struct meta_ctx;

struct vjp;
struct body {
	struct build *b;      /* may_refuse: the program ends where refusal is set, and has no results */
	const struct node *n; /* the row, for its arguments that are no tensors; need not be in b->p */
	int in[MAX_ARGS];     /* operands: values of b; NO_VALUE: None */
	const int *list[MAX_ARGS];
	int out[MAX_OUTS]; /* filled by the program */
	bool strided[MAX_OUTS];
};
typedef void body_fn(struct body *x);
extern body_fn *const op_body[]; /* by row; NULL: it has none */

/* Appends the program. False: it refused (x->b->refusal). */
bool body_append(struct body *x);
/* The layout that result k has, of a meta that the program gave it. */
void body_layout(struct meta *out, const struct body *x, int k);
void body_vjp(struct vjp *v);

/* ---- the words of opgen_expr.h ---- */
int body_acc(struct build *b, int x);
int body_as(struct build *b, int x, int like);
int body_to(struct build *b, int x, int dtype);
int body_floating(struct build *b, int x);
int body_dtype(const struct build *b, int x);
int body_wide(const struct build *b, int dtype);
int64_t body_rank(const struct build *b, int x);
int64_t body_numel(const struct build *b, int x);
int64_t body_size(const struct build *b, int x, int64_t dim);
struct ints body_sizes(const struct build *b, int x);
int64_t body_count(const struct build *b, int x, const struct ints *dims); /* product of the sizes of dims; of none: of all */
int64_t body_len(const struct build *b, const struct ints *l);
int64_t body_quotient(const struct build *b, int64_t n, int64_t by);
int64_t body_entry(const struct build *b, const struct ints *l, int64_t i);
double body_largest(const struct build *b, int dtype);
struct ints body_embedded(const struct build *b, int x, int64_t offset, int64_t dim1, int64_t dim2);
struct ints body_last(const struct build *b, int64_t n);
struct ints body_first(const struct build *b, int64_t n);
struct ints body_bordered(const struct build *b, int x, const struct ints *padding);
int body_mirrored(struct build *b, int x, const struct ints *padding);
int body_clamped(struct build *b, int x, const struct ints *padding);
int body_unfolded(struct build *b, int x, const struct ints *kernel, const struct ints *dilation, const struct ints *stride);
int body_nearest(struct build *b, int64_t n, int64_t m, const struct scalar *scale);
int body_across(struct build *b, int rows, int columns, int64_t n);
int body_shared(struct build *b, int64_t n, int64_t m);
struct ints body_pooled(const struct build *b, int x, const struct ints *out);
bool body_asked(const struct build *b, const bool *l, int64_t i);
double body_real(const struct build *b, struct scalar s);
double body_real_or(const struct build *b, const struct scalar *s, double x);
double body_attention_scale(const struct build *b, int query, const struct scalar *s);

/* Does the row list self's dtype? Its rows would refuse another in words of their own; and PyTorch looks at no dtype where there is no
 * element. meta_body asks; a shape rule that refuses other things behind this asks before it does. */
bool body_takes_self(const struct meta_ctx *c);

#endif
