/* spread.h: suspects: elements that agree, because they lie inside their enclosure, and yet far from where results really lie. A
 * dozen licensed evaluations are drawn at random (sample.h); an element further than four times their spread (its half, from its middle)
 * is a suspect. A suspect is no finding: a target's own order of work may be unlike the drawn ones. It says which program deserves
 * another look, in a dtype or on data that leave no room (edit_widen). */
#ifndef SCATTERPROOF_SPREAD_H
#define SCATTERPROOF_SPREAD_H

#include "oracle/judge/judge.h"

enum { SPREAD_SAMPLES = 12, SPREAD_FACTOR = 4 };

/* Some result is, or has as gradient, a sum of so many terms that its enclosure (n u sum|terms|) hides what a person calls an error. */
enum { LONG_SUM = 1024 };
bool spread_has_long_sum(const struct judge_case *jc);

/* For a judgement that passed: fills `suspect` (who is one is no longer counted as weak) and the first suspect's sample, and j->suspect.
 * Costs SPREAD_SAMPLES references per call that has elements which are not exact. */
void spread_judge(struct judgement *j, const struct judge_case *jc, const struct result *r, struct arena *a);

#endif
