/* lower.h: from a program without a backward (compile.h) to loops.
 *
 * A row of the core dialect (decompose/core.def) is lowered by its RULE, `lower_<row>` in one of the files lower_*.c, an in-place row by
 * that of its functional form, and POINTWISE rows by one rule, from their expressions. All other rows are rewritten before, by the rules of
 * decompose (DIALECT_LOOPS). A rule gives either an ELEMENT, what the result holds at a logical index, or NESTS, which fill the results'
 * memory; lower_extern.c says what is left to eager's kernels. A row that raises upon its data has nests, so that it raises whether or not
 * what it gives is read.
 *
 * What has only an element need not be in memory: it is PENDING, and whoever reads it computes it on the spot (fusion), through views too,
 * until something needs it in memory: a second reader, a result, an extern, a write to what it reads. */
#ifndef SCATTERPROOF_LOWER_H
#define SCATTERPROOF_LOWER_H

#include "compiled/loops/loops.h"

/* Lanes that sort and topk order by loops, and elements times lane, are this long at most: others are left to eager's kernel. */
enum { LOWER_MAX_LANE = 256, LOWER_MAX_COMPARISONS = 1 << 22 };

struct lower_options {
	bool no_fusion; /* every value is in memory */
	bool blas;      /* matrix products are externs: eager's kernels call OpenBLAS */
};

struct lowering {
	const struct lower_options *o;
	const struct prog *p;
	struct loops *out;
	struct arena *arena;
	int *buffer_of;      /* by storage; -1: not in memory */
	int *pending;        /* by storage: the row that would fill it; -1: none */
	int *reads;          /* by storage: how many rows and results read it */
	int *reader;         /* by storage: the last row of those; -1: none */
	int *length;         /* by storage: how many rows the chain has that is pending there */
	int longest;         /* of the chains that the row being lowered reads */
	int now;             /* the row that is being lowered */
	struct place *place; /* where the row whose nests are being made puts its results */
};

enum form { AS_VALUE, AS_BITS }; /* a register of the dtype's type, or of bits */

struct lower_rule {
	/* The element of node's result at idx (one affine per dim), as an element of the result's dtype: rounded. */
	int (*element)(struct lowering *l, int node, const struct affine *idx, enum form form);
	bool moves;                                  /* the element is another one as it lies in memory: best had as bits */
	void (*nests)(struct lowering *l, int node); /* fills l->place */
};
extern const struct lower_rule lower_pointwise, lower_division;

/* Every value that is in memory has a buffer of its own: reuse.h shares them.
 * p: in DIALECT_LOOPS, without symbols, writes only to memory that does not overlap itself. False: err. */
bool lower(struct loops *out, const struct prog *p, const struct lower_options *o, struct arena *a, struct err *err);

/* ---- for rules ---- */
/* The element of a row's Tensor at idx, whether in memory or pending. */
int lower_element(struct lowering *l, int node, const struct affine *idx, enum form form);
/* The same of an operand that broadcasts to an index space of that rank: idx has `rank` entries. */
int lower_broadcast(struct lowering *l, int node, const struct affine *idx, int rank, enum form form);
/* The same, converted to t as copy_ does. */
int lower_converted(struct lowering *l, int node, const struct affine *idx, int rank, enum dtype t, enum form form);
/* `otherwise`, but where the condition `inside` holds lower_converted of the rest, which is computed nowhere else. */
int lower_replaced(
	struct lowering *l, int otherwise, int inside, int node, const struct affine *idx, int rank, enum dtype t, enum form form);
int lower_give(struct lowering *l, enum dtype t, int value, enum form form); /* value: an element of t, in either form, in this one */
int lower_scalar(struct lowering *l, enum dtype t, const struct scalar *s, enum form form); /* a number that fits t */
struct place lower_place(const struct lowering *l, int node);                               /* of a value in memory */
/* The row's operands into memory, for nests that read an element more than once: before their own loops. */
void lower_settle(struct lowering *l, int node);
struct affine lower_cell(const struct meta *m, const struct affine *idx);
/* The index of the element that lies in that cell of m, memory in which each cell is one element's at most. */
void lower_index_of_cell(struct affine *out, struct lowering *l, const struct meta *m, const struct affine *cell);
/* at / by and what is left, by > 0, without dividing where the ranges show that the terms part. */
void lower_divide(struct affine *quotient, struct affine *rest, struct lowering *l, const struct affine *at, int64_t by);
/* Loops over m's dims, outermost first; idx: their variables. A dim of one element, or whose elements are one cell, needs no loop. */
int lower_loops(struct lowering *l, const struct meta *m, struct affine *idx); /* how many loops_end it takes */
void lower_ends(struct lowering *l, int n);
/* One nest over the result. */
void lower_nest(struct lowering *l, int node, int (*element)(struct lowering *l, int node, const struct affine *idx, enum form form));
void lower_put(struct lowering *l, int k, const struct affine *idx, int value); /* into l->place[k] */
int lower_operand(const struct lowering *l, int node, int arg);                 /* the row that Tensor argument arg is */
/* A condition, folded where the index's range decides it. */
enum { ALWAYS = -2, NEVER = -3 };
int lower_within(struct lowering *l, const struct affine *at, int64_t least, int64_t past); /* least <= at < past */
int lower_both(struct lowering *l, int a, int b);
int lower_add(struct lowering *l, enum dtype t, int a, int b); /* a + b in t's type */
void lower_extern(struct lowering *l, int node);               /* nests that are a call of the row's kernel */

#endif
