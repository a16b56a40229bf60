/* cause.h: what is to be said of the cause of one finding. Two findings have one cause if that is the same, or of one bug in several sorts
 * (cause_key.h), and no version tells them apart (cause_join.h).
 *
 *     torch:inductor: gradient, wrong; aten.index_put
 *     torch:inductor: layout predicted wrong; aten.slice_scatter
 *     torch:aot_eager: mutation, wrong; copy_ unfold; bf16
 *     torch:inductor: raise LoweringException: AssertionError in …
 *     builtin:passes: invariant I2 after noop: mul
 *
 * The first stage that goes wrong; the kind and the sort of the error; then, if every cure that names an operator of a graph names the
 * same one, or one names that whose layout is predicted wrong, that operator, without its overload; else the operators of the minimised
 * program, whose arithmetic is plain (shrink.h), with what of its dtypes and layouts could not be made plain. What raises is told by its
 * message alone, a broken invariant by its name, the step and the operator, what crashes or hangs by its place; if that is
 * unknown, by how it ended and the operators. Sizes, seeds, names and versions are not in it. */
#ifndef SCATTERPROOF_CAUSE_H
#define SCATTERPROOF_CAUSE_H

#include "fuzz/triage/blame.h"

/* least: minimised; f: how it fails on t; b: blame of that. In a. */
const char *cause_of(const struct prog *least, const struct failure *f, const struct blame *b, const struct target *t, struct arena *a);
/* What comes before the operators: of one stage, kind and sort of error. b: its stage alone is read. */
const char *cause_head(const struct failure *f, const struct blame *b, const struct target *t, struct arena *a);
/* "probe.clone=bw:aten.slice_scatter.default": the first cure that can be tried on any program; "" if there is none. */
const char *cause_cure(const struct blame *b, struct arena *a);
/* The inverse. False: text is none. */
bool cause_cure_read(struct target_option *out, const char *text);

#endif
