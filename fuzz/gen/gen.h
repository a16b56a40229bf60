/* gen.h: choice sequence -> valid program, by construction.
 *
 * Valid means: PyTorch eager runs it, forward and backward, with every fill of its `call` lines, without raising and without
 * undefined behaviour (TARGETS.md, "Eager's rules"). Driven by parameter kinds and roles (op.h), traits, `saves` and licence
 * classes; no operator is named except those that any program is built of (input, input_view, full, expand, getitem) and those that Python
 * makes of an assignment (copy_, index, index_put_).
 *
 * Shape of what is made: a DAG of policy.nodes operator nodes over inputs made on demand, with fan-out and views; unused values are
 * returned, differentiable ones mostly after a linear reduction; a cotangent of ordinary nodes for each; two or more `call` lines.
 * Inputs come first in the text, cotangents last.
 *
 * Files: gen.c (a program), gen_op.c (one node), gen_arg.c (arguments that are not tensors), gen_input.c (sizes, layouts, inputs),
 * gen_assign.c (x[1:3] = y), gen_rules.c (autograd's rules and magnitudes), gen_symbol.c and gen_size.c (sizes that change from call to
 * call). edit.h has the structural edits that shrinking and mutation need. */
#ifndef SCATTERPROOF_GEN_H
#define SCATTERPROOF_GEN_H

#include "eager/lang/prog.h"
#include "fuzz/gen/policy.h"

/* Counts over many programs; the caller zeroes it. `refused` are nodes that the shape rules did not accept: a hole in the roles. */
struct gen_stats {
	int64_t nprogram, made[MAX_OPS], refused[MAX_OPS];
	char why[MAX_OPS][120]; /* the last refusal */
};

/* Everything of *out lives in `a`. False only if the policy admits no operator at all. */
bool gen_program(struct prog *out, struct arena *a, struct choices *c, const struct policy *pol, struct err *err);
bool gen_program_stats(
	struct prog *out, struct arena *a, struct choices *c, const struct policy *pol, struct gen_stats *stats, struct err *err);

/* What is never made under the default policy (nogen.def): of row op the reason number k, NULL after the last. *what: "" the row itself,
 * a dtype of self, or an argument that keeps its default. */
const char *gen_never(int op, int k, const char **what);

#endif
