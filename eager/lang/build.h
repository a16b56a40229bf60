/* build.h: programs that code writes: derivative rules, transformations of programs. generated/op_emit.h has one function per row of the op
 * table, emit_<row>(b, arguments in schema order), which appends the row, infers its results and returns its node:
 *
 *     int zero = emit_zeros_like(b, src, -1), kept = emit_slice_scatter(b, g, zero, dim, start, end, step);
 *
 * A Tensor argument is a VALUE: a node of b->p with one result, NO_VALUE for None, or a Python number (build_number). Of the other kinds,
 * lists are a pointer and a count (a negative count: None), a Scalar is a struct scalar (optional ones: a pointer, NULL for None), integers
 * that may be None are NO_INT for it, a ScalarType is -1 for None. Rows with several results return their node: see build_result.
 *
 * What a shape rule refuses here is a mistake of the code that called: BUG with the row's name and the rule's sentence. But a derivative is
 * PyTorch's formula, which PyTorch refuses, too (the negative of a bool): with `may_refuse` the first refusal is kept in `refusal`, without
 * the row's name, the node is given its first operand's meta, and nothing is executed from there on. */
#ifndef SCATTERPROOF_BUILD_H
#define SCATTERPROOF_BUILD_H

#include "eager/lang/prog.h"

enum { NO_VALUE = -1, FIRST_NUMBER = -2, MAX_NUMBERS = 8 };
#define NO_INT INT64_MIN

struct build {
	struct prog *p;
	bool unnamed; /* appended nodes get no names of their own: for programs that nobody prints or finds nodes in */
	/* NULL: nodes are appended only. Else it executes each one as it comes (eager's autograd). */
	void (*run)(struct build *b, int node);
	void *ctx; /* run's */
	bool may_refuse;
	struct err refusal; /* msg "": none */
	int nnumber;
	struct scalar number[MAX_NUMBERS];
};

static inline const struct meta *build_meta(const struct build *b, int value) { return node_meta(b->p, value); }
int build_number(struct build *b, struct scalar s); /* the value that stands for a number */
static inline bool build_is_number(int value) { return value <= FIRST_NUMBER; }
static inline const struct scalar *build_scalar(const struct build *b, int value) { return &b->number[FIRST_NUMBER - value]; }
int build_result(struct build *b, int node, int k); /* result k of a node as a value: itself, or a getitem; NO_VALUE: it is None */

/* Argument k of a row, an integer that may be None, as emit_ functions take it. */
static inline int64_t build_int_of(const struct node *n, int k) { return node_given(n, k) ? node_int(n, k) : NO_INT; }

/* A list argument of a row. */
struct ints {
	int n; /* -1: None */
	int64_t v[MAX_LIST];
};
struct ints build_ints_of(const struct node *n, int k);
struct ints build_dims_of(const struct node *n, int k); /* a Dim? as a list: [], all of them, for None */

static inline struct scalar scalar_int(int64_t v) { return (struct scalar){SC_INT, v, 0}; }
static inline struct scalar scalar_float(double v) { return (struct scalar){SC_FLOAT, 0, v}; }

/* For generated/op_emit.c. The argument that stands for a value, a list of values, an integer, ... */
struct node *build_begin(struct build *b, int op);
struct arg build_value(const struct build *b, int value);
struct arg build_list(struct build *b, const int *value, int n);
struct arg build_ints(struct build *b, const int64_t *v, int n);
struct arg build_int(int64_t v);
struct arg build_maybe_scalar(const struct scalar *s);
int build_end(struct build *b); /* of the last node: defaults, results, run */

#include "generated/op_emit.h"

#endif
