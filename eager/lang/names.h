/* names.h: names that tell what the nodes are, as FX gives them:
 *
 *     neg, neg_1, zero_     a node after its operator, without the overload; the second of a kind has _1
 *     x y z w v u, x_1 …    inputs
 *     s0, s1 …              symbols that calls give
 *     g, g_1 …              cotangents, inputs among them
 *
 * They depend on the program's structure alone, so that naming a named program changes nothing. Who edits a program in place (the
 * minimiser: neg for an index_put) keeps the names that it had, and these lie; so a program is named when it is done.
 *
 * Names are text to the store, and its rows never change. A program that an older scatterproof minimised therefore keeps its names, in
 * every command, until its finding is triaged or minimised again (step_minimize.c): then the named program is one more program of the
 * finding, with an observation and an event `minimised` of its own. Nothing renames what is shown or run: ids of programs are hashes of
 * their text, and what observations, blame and artifacts say of tensors is said in the names that the program had. */
#ifndef SCATTERPROOF_NAMES_H
#define SCATTERPROOF_NAMES_H

#include "eager/lang/prog.h"

/* Every node of p gets such a name. Nothing else of p changes, but for what a refusal (node.refusal) says in names. */
void prog_name_nodes(struct prog *p);
/* Has every node that name? */
bool prog_names_tell(const struct prog *p);

#endif
