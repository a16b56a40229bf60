/* pass.h: passes, what the built-in compiler does to a program between functionalise and the epilogue, while no row writes anything.
 *
 * A PURE program is all rows so far and its RESULTS, the values that something outside will see: outputs, then what the epilogue writes to
 * inputs, then gradients; of a forward part (partition.h) saved values are the last. An output that is a view of a written input is
 * NO_VALUE: the epilogue makes it.
 * Inputs stay where they are, the first rows of the program.
 *
 * A pass changes rows in place. What it changed it tells pure_update, which infers those rows and all that depend on them again; what
 * replaces a value has its dtype, sizes, strides and storage offset: outputs show these, and what scatters return depends on them.
 * Rows that nobody reads any more stay until the pass `dce`. What must hold after each step is in validate.h. */
#ifndef SCATTERPROOF_PASS_H
#define SCATTERPROOF_PASS_H

#include "eager/lang/build.h" /* NO_VALUE */

enum { MAX_RESULTS = 3 * MAX_RETURNS + MAX_NODES };
enum result_role { RESULT_OUTPUT, RESULT_WRITTEN, RESULT_GRADIENT, RESULT_SAVED, RESULT_COTANGENT };

struct pure {
	struct prog *p;
	int nresult;
	struct {
		enum result_role role;
		int value; /* a node of p, or NO_VALUE */
	} result[MAX_RESULTS];
};

struct pass {
	const char *name;
	const char *what;                             /* one line for people */
	bool freezing;                                /* runs only under that option */
	bool (*run)(struct pure *g, struct err *err); /* false: a shape rule refuses what the pass made: the pass is wrong */
};
extern const struct pass passes[];
extern const int npasses;
int pass_find(const char *name); /* index into passes, -1: none */

/* The rows that are marked, and all that read what changed in them, are inferred again. */
bool pure_update(struct pure *g, bool *changed, struct err *err);
/* Who read `node` reads `by`, an earlier value of the same dtype, sizes, strides and offset. */
bool pure_replace(struct pure *g, int node, int by, struct err *err);
/* The marked rows, which include inputs, results and all that these need; the others are dropped. */
void pure_keep(struct pure *g, const bool *keep);
/* Does some row read the cells of this row's memory by their place (as_strided)? Then it is not the same in other memory. */
bool prog_has_window(const struct prog *p, int node);
/* Is node's value, in memory of its own, as good in the memory of the earlier value `by`? Two outputs or gradients, or one and an input, do
 * not come to share memory. What the epilogue writes to an input may lie where an output does, which nobody writes, but in no input, which
 * another copy_ may have written by then. */
bool pure_may_share(const struct pure *g, int node, int by);
bool meta_identical(const struct meta *a, const struct meta *b); /* in all that later rows see */
bool row_is_view(const struct prog *p, int node);                /* one result, which lies in its first operand's memory */

enum { FOLD_MAX_ELEMENTS = 1 << 16 }; /* larger rows stay */
bool pass_fold(struct pure *g, struct err *err);
bool pass_noop(struct pure *g, struct err *err);
bool pass_views(struct pure *g, struct err *err);
bool pass_cse(struct pure *g, struct err *err);
bool pass_dce(struct pure *g, struct err *err);

#endif
