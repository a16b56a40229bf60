/* spell.h: how a program's nodes are written in the surfaces `torch` and `python` (spellings.def says how each row is).
 *
 * The program decides what is computed, the surface only how it is written: a spelling dispatches to the very operators of the program,
 * with the same arguments and in the same order. Several nodes become one statement only where Python itself makes those operators of it:
 *     x[1:3] = y      a view, copy_ to it
 *     x[1:3] += y     a view, an in-place row on it, the same view again, copy_ to it
 *     x[i] += y       index, an in-place row on its result, index_put_ of that
 * They must be neighbours, and nothing else may use what they pass on. */
#ifndef SCATTERPROOF_SPELL_H
#define SCATTERPROOF_SPELL_H

#include "compiled/targets/target.h"
#include "eager/lang/prog.h"

/* A row that makes tensors of nothing, or of numbers that tensors hold, is told the device. */
bool torch_says_device(int op);

enum spell_form {
	SPELL_ALONE,  /* a line of its own */
	SPELL_FOLDED, /* part of a later statement */
	SPELL_ASSIGN, /* from[node] is the view: VIEW = src */
	SPELL_AUGMENT /* from[node] is the view or index, by[node] the in-place row: VIEW += operand */
};
struct spell_plan {
	enum target_device device;
	int nuse[MAX_NODES]; /* operands and returned values that are this node */
	enum spell_form form[MAX_NODES];
	short from[MAX_NODES], by[MAX_NODES];
	signed char choice[MAX_NODES]; /* the row's alternative that says the node in every call, -1: none */
};

/* mine: the nodes of the function that is written. Calls of other sizes run the same text, so a spelling must be right in all of them. */
void spell_plan(struct spell_plan *out, const struct prog *p, const bool *mine, enum target_device device);
/* Appends the lines of a node (none if it is folded). False: it has no spelling, so it is written as in aten. */
bool spell_node(struct strbuf *sb, const struct spell_plan *plan, const struct prog *p, int node);
/* Has every operator of p's functions a spelling of its surface? If not, some of it is written as in aten. */
bool spell_all(const struct prog *p, enum target_device device);
/* How many the row has. Reads each of them: one that names an argument or a condition that does not exist is our bug. */
int spell_alternatives(int op, enum surface surface);

#endif
