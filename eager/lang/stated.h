/* stated.h: numbers that depend on data. masked_select and nonzero give as many elements as a tensor has true ones, _unique2 as many as it
 * has different ones, which no shape rule knows. So the program STATES the number, and every row behind has sizes that are known before
 * anything runs:
 *
 *   y: "f32[5][1]" = masked_select(x, m, count=5)
 *
 * The statement is no argument of the operator: ATen has none, and no target is sent it. It is true or the program means nothing: the
 * reference then says nothing (`unjudged`), and the interpreter and compiled loops raise, which makes the program `invalid` there. A symbol
 * may be stated, as other data select another number:
 *
 *   n = sym(5)
 *   y = masked_select(x, m, count=n)
 *   call (m: seed=9, n=3)
 *
 * item gives a symbol: what a tensor of one integer holds. It states that number alike, u = item(x, value=5), or value=n; rows behind read
 * u in their integers. As the row is run, and raises, it has a result, the number as a tensor, which no row reads.
 *
 * Considered and left: to infer the number from the fills, as the shape rules would then need kernels, of which the reference has none;
 * to take it from the annotation, which may be left out and cannot say n; a size that is unknown until the row ran, for which each shape
 * rule, the reference's and eager's, would have to answer for sizes that are no numbers. */
#ifndef SCATTERPROOF_STATED_H
#define SCATTERPROOF_STATED_H

#include "eager/lang/prog.h"
#include "generated/op_input.h"

static inline bool param_is_stated(const struct param *q) { return q->role == R_STATED; }
int op_stated(int op);   /* position of the argument that states a number; -1: the row has none */
int op_deciding(int op); /* of such a row: the tensor whose true elements are counted, or that holds the number */
static inline int64_t stated_number(const struct node *n) { return node_int(n, op_stated(n->op)); }
/* Such a row states what its tensor holds (item), not how many elements are true. */
static inline bool op_states_value(int op) { return op == OP_item; }
/* Or how many elements, or slices, are different (_unique2). */
bool op_counts_distinct(int op);
bool prog_states(const struct prog *p); /* some row states a number */
/* Operands of a node, but for what only its statement reads. A symbol that nobody else reads is no argument: data give it. */
void stated_mark_others(const struct prog *p, const struct node *n, bool *set);
/* Adds the nodes whose values decide row's number: operands, theirs, and who writes their memory. set: bool per node. */
void stated_deciders(const struct prog *p, int row, bool *set);
/* The same of all rows of p that state a number; inputs in it keep their data when others get other data. */
void prog_deciders(const struct prog *p, bool *set);

#endif
