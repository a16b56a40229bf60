/* cause_key.h: which texts of causes (cause.h) name one bug in several sorts. A key is the text without what may differ: two findings whose
 * keys are the same get one cause (cause_join.h), and their texts are its variants.
 *
 *     text                                                         key
 *     torch:inductor: raise TypeError: got torch.bfloatN (N, N)    torch:inductor: raise TypeError: got DTYPE (N)
 *     torch:inductor: value, wrong; argmin; u8; strided            torch:inductor: value, wrong; argmin; u8
 *     torch:inductor: layout predicted wrong; aten.select_scatter  torch:inductor: layout predicted wrong; SCATTER; probe.clone
 *
 * What is left out: in messages, names of dtypes, and how many numbers a list or a product of sizes has; in lists of layouts, that an
 * input is strided; of `slice_scatter`, `select_scatter`, `diagonal_scatter` and `as_strided_scatter`, which one it is, if its layout is
 * predicted to overlap itself and does not: they share the rule that predicts it. What stays: family, stage, kind and sort of the error,
 * every other operator and dtype, and of a scatter the sort of its cure. A key is for comparing, never shown and never stored: another
 * scatterproof may have others. */
#ifndef SCATTERPROOF_CAUSE_KEY_H
#define SCATTERPROOF_CAUSE_KEY_H

#include "eager/base/base.h"

struct cause_evidence {
	const char *kind;      /* the finding's, finding_kind_name; "raise", "crash" and "hang" have a message behind the stage */
	const char *cure;      /* the first one (cause_cure): "probe.clone=bw:aten.slice_scatter.default"; "" if there is none */
	const char *predicted; /* what triage's facts say is "predicted" (facts.h), as JSON; "" if nothing is */
};
/* In a. */
const char *cause_key(const char *text, const struct cause_evidence *e, struct arena *a);

#endif
