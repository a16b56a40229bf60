/* grounds.h: is there anything in a program that a refusal can be about? The reference runs what autograd and the rules for overlapping
 * writes refuse (eager/run), so when the interpreter refuses a program that the reference accepts, nobody else has looked. Here stands for
 * each such message, as PyTorch says it, what a program must contain at least: a rule of the interpreter's that fires without it is wrong.
 *
 * This is necessary, not sufficient: a rule that is too strict among programs that do contain it shows only in the share of programs that a
 * campaign sees refused (campaign.md) and on PyTorch. */
#ifndef SCATTERPROOF_GROUNDS_H
#define SCATTERPROOF_GROUNDS_H

#include "eager/lang/prog.h"

/* message: of the interpreter, of a program that the reference accepts. */
bool grounds_for(const struct prog *p, const char *message);

#endif
