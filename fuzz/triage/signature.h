/* signature.h: the name under which a night's sightings of one bug are one finding. It is made of what stays the same: which kind of
 * tensor is wrong, the shape of the error, and either the operator whose predicted layout is impossible or, without such a hint, the
 * operators next to the wrong tensor: the one that made the output, those that read the input. Sizes, seeds and names are not in it.
 * (What raises is known by its message: message.h.) */
#ifndef SCATTERPROOF_SIGNATURE_H
#define SCATTERPROOF_SIGNATURE_H

#include "eager/lang/prog.h"
#include "oracle/judge/judge.h"
#include "reports/store/store.h"

/* w: the wrong tensor, NULL if none is known. hint: as in outcome_of. In a. */
const char *signature_of(enum finding_kind kind, const struct prog *p, const struct tensor_verdict *w, const char *hint, struct arena *a);
/* The operator whose predicted layout is impossible, if that is what a signature says; "" otherwise. Points into it. */
const char *signature_hint(const char *signature);

#endif
