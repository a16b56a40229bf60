/* facts.h: what triage learnt of a finding, for whoever tells people about it: reports run nothing, so all that they say stands here. One
 * JSON object, the finding's artifact `facts`, about its minimised program on its target. Keys come in this order; one that does not apply,
 * or of which nothing is known, is left out.
 *
 *     schema      1
 *     target      "torch-2.11.0:inductor@cpu"
 *     versions    "torch 2.11.0+cu130, python 3.11.2", as the environments of the store have it
 *     kind        of finding_kind_name: "gradient"
 *     pattern     of the wrong elements: "all zero", "scaled by 2" (pattern_name)
 *     tensor      the one that is wrong, where one is:
 *                   name      "x.grad" (tensor_name.h)
 *                   role      "output", "gradient" or "input" (its whole storage afterwards, gaps included)
 *                   index     among the outputs, the gradients, the input storages
 *                   call      in which it is wrong; left out of call 0, the program's own data
 *                   later     true: as it is after the last call, held against what it was when its call returned
 *                   expected  LAYOUT; null: there must be none (a gradient that is None)
 *                   got       LAYOUT and storage, a number: tensors of one call with the same one share memory; null: there is none
 *     values      where elements are wrong, a window around the first wrong one: at most 64 x 64 in the last two dims, one index in the
 *                 others:
 *                   size, from   of the window, one number per dim
 *                   expected     its elements, row-major: a number, in as few digits as its dtype needs, "nan", "inf", "-inf", or null:
 *                                the reference does not decide it, or more than one of these may be. Where it knows an interval, the
 *                                number of the dtype next to its middle
 *                   got          the same; never null. bool: 0 or 1
 *     wrong       elements
 *     checked     elements of that tensor
 *     ratio       "0.53": what the tensor adds up to, by what it must
 *     ladder      [{"stage", "verdict"}] of each stage that was asked, from the plain one to the first that goes wrong, and of the target's
 *     suspect     {"op", "node", "graph", "why"}: the operator of the compiler's own graph that goes wrong (suspect.h): "graph" is "forward
 *                 graph" or "backward graph", each is left out where it is not known
 *     cures       [{"option", "what"}]; option: of the target, left out of what no option does
 *     tried       how many things were copied, cloned or switched off, to see whether that cures it
 *     culprit     of a pass that is applied step by step, the step with which it goes wrong: "application 2 of passes: noop"
 *     predicted   {"op", "backward", "fake", "real"}: an operator whose layout PyTorch's fake tensors predict wrong; backward: true of one
 *                 in the backward; fake and real: LAYOUT. If they are no layouts (the fake raises), "detail" in their place says it
 *     first_wrong the first value of the program that is wrong: "`mul`, the result of mul.Tensor"
 *     reach       the plainest spelling that fails: "python", "torch", "aten"
 *     raised      the message of what raised, or ended otherwise; its first 2000 bytes
 *     inputs      [{"name", LAYOUT, "storage", "requires_grad"}]
 *     layouts     [{"name", LAYOUT}] of the other values of the program, by eager's shape rules
 *     same        what torch's own comparisons say: "assert_close: differs; same: differs"
 *
 * LAYOUT: "dtype" ("f32"), "size", "stride", "offset", all in elements. */
#ifndef SCATTERPROOF_FACTS_H
#define SCATTERPROOF_FACTS_H

#include "fuzz/triage/blame.h"

enum { FACTS_SCHEMA = 1, FACTS_WINDOW = 64 };
#define FACTS_ARTIFACT "facts"

struct facts {
	const struct prog *p;
	const struct target *t;              /* with its version */
	const struct ran *ran;               /* p on t, which fails */
	const struct blame *blame;           /* of that */
	const char *versions, *reach, *same; /* "": not known */
};
/* In a. */
const char *facts_json(const struct facts *f, struct arena *a);

#endif
