/* suspect.h: which operator of the compiler's own graph is suspected, and by which rule. The rules in this order; the first that names one
 * counts:
 *
 *     all cures that name an operator of a graph name one, or one of them that whose layout is predicted wrong: that operator
 *     its output is the first wrong value, or its layout the first that is predicted wrong, while what it reads is right
 *     where a compiler raises: the first node up to which the graph does not compile
 *     the operator with whose decomposition the program goes wrong, as far as they are applied one by one
 *     made an output of the graph as well, its value alone makes the failure go away; if several do, the last of them
 *
 * The first rule needs nothing that blame has not asked before. The others read the answer of PROBE_VALUES (driver.h), a line of ten words
 * per node (compiled/targets/torch/values.py), the nodes in the order in which they run, those of the forward graph before those of the
 * backward one. Lines that are not of this form are passed over. */
#ifndef SCATTERPROOF_SUSPECT_H
#define SCATTERPROOF_SUSPECT_H

#include "compiled/targets/target.h"
#include "fuzz/triage/failure.h"

struct cure {
	struct target_option option; /* of the target; its name is "" if the cure is none that can be tried on another program */
	const char *what;            /* "cloning aten.slice_scatter.default in the backward graph" */
};
struct cures {
	const struct cure *cure;
	int n;
	const char *predicted; /* an operator whose layout is predicted wrong; "" if none is known */
};

enum suspect_rule { SUSPECT_NONE, SUSPECT_CURE, SUSPECT_VALUE, SUSPECT_LAYOUT, SUSPECT_COMPILE, SUSPECT_DECOMPOSITION, SUSPECT_OUTPUT };
struct suspect {
	const char *op, *node; /* "aten.as_strided_scatter.default", "as_strided_scatter"; both "" if nothing is suspected. */
	const char *graph;     /* "forward", "backward"; of a decomposition, which was not in a graph yet, this and node are "" */
	const char *why;       /* "its output is the first wrong value" */
	enum suspect_rule rule;
};

/* The operator of a graph that a cure names, with its overload; NULL: it names none. */
const char *cure_operator(const struct cure *c);
const char *without_overload(const char *op, struct arena *a); /* "aten.any" of "aten.any.dim": overloads share what compiles them */
/* The operator, without its overload, that the first rule names. NULL: none, or several. */
const char *cures_operator(const struct cures *c, struct arena *a);

/* operators: the artifact of that name (driver.h), "" if there is none; backward_first: of two graphs that both have the operator, which is
 * meant. False: out names nothing. Strings in a. */
bool suspect_of_cures(struct suspect *out, const struct cures *c, const char *operators, bool backward_first, struct arena *a);
/* step: what a pass was called with which the program goes wrong (blame.h). */
bool suspect_of_step(struct suspect *out, const char *step, struct arena *a);
bool suspect_of_values(struct suspect *out, const char *values, const struct failure *f, const struct cures *c, struct arena *a);

#endif
