/* edit.h: structural edits of programs, for the generator's last step, for mutation and for shrinking. Each makes a new program
 * in an arena and leaves the old one alone; metas are inferred again, so an edit that makes no sense is refused. */
#ifndef SCATTERPROOF_EDIT_H
#define SCATTERPROOF_EDIT_H

#include "eager/lang/prog.h"

/* The nodes order[0..n) of p in this order, everything else dropped, operands renumbered. Operands of kept nodes must be kept and
 * come first; returns, cotangents, calls and expressions that name dropped nodes go too. */
bool edit_select(struct prog *out, const struct prog *p, const int *order, int n, struct arena *a, struct err *err);
/* The same in place, for whoever owns p alone; p is spoilt if refused. */
bool edit_reorder(struct prog *p, const int *order, int n, struct err *err);
/* Without node and everything that uses it, and without what was only there for them. */
bool edit_drop(struct prog *out, const struct prog *p, int node, struct arena *a, struct err *err);
/* Uses of `node` read `by` instead (by < every user); what only `node` needed goes. */
bool edit_replace(struct prog *out, const struct prog *p, int node, int by, struct arena *a, struct err *err);
/* Without nodes that nothing needs: not returned, not a cotangent, not a write, not an operand of such. */
bool edit_sweep(struct prog *out, const struct prog *p, struct arena *a, struct err *err);
/* With room for fewer doubts: halves become f32 and f32 becomes f64, wherever the program says a dtype; where there is nothing wider, fills
 * become dyadic. Refused where dtypes do not fit together any more. */
bool edit_widen(struct prog *out, const struct prog *p, struct arena *a, struct err *err);
/* In place, metas are left to the caller: `to` wherever the program says dtype `from`, or a factory's default does. */
void edit_dtypes(struct prog *q, enum dtype from, enum dtype to);
/* Other data: `by` is added to the seed of every input and of every call. What carries its data in the text keeps it,
 * and so does what decides a size that the program states (stated.h). */
bool edit_reseed(struct prog *out, const struct prog *p, int64_t by, struct arena *a, struct err *err);
/* `node` is returned, too, behind what is. Refused if it is returned already, has several results, or there is no room. */
bool edit_return(struct prog *out, const struct prog *p, int node, struct arena *a, struct err *err);
/* Every later reader of `node` reads a clone of it. Refused where somebody writes to its memory: that would be another program. */
bool edit_copy(struct prog *out, const struct prog *p, int node, struct arena *a, struct err *err);

#endif
