/* emit_checks.h: what a user tells PyTorch of a number that data give (the row `item`): torch._check lines, true in every call. */
#ifndef SCATTERPROOF_EMIT_CHECKS_H
#define SCATTERPROOF_EMIT_CHECKS_H

#include "eager/lang/prog.h"

/* Behind the row, if it is an item: that the number is not negative. */
void emit_check_sign(struct strbuf *sb, const struct prog *p, int node);
/* Before the row, if such a number says where its slice begins or ends, or which position it takes: that this is within the dimension. */
void emit_check_bounds(struct strbuf *sb, const struct prog *p, int node);

#endif
