/* script.h: a finding as a stand-alone Python script: the function that was sent to the target, byte for byte, the inputs made by the
 * same integer arithmetic, what the reference says of the tensor that the finding is about (expected.h), eager beside the target. Exits 1 if
 * that tensor is wrong, 0 if not; where there is no such table, 1 if anything differs from eager; 2 if eager raises as the target does.
 * Needs PyTorch and nothing else. */
#ifndef SCATTERPROOF_SCRIPT_H
#define SCATTERPROOF_SCRIPT_H

#include "compiled/targets/target.h"
#include "eager/prog.h"
#include "reports/store.h"

/* finding may be NULL. False: a target that is no PyTorch, or a call that cannot be bound. */
bool script_emit(struct strbuf *sb, const struct prog *p, const struct target *t, const struct store_loaded *finding, struct arena *a, struct err *err);

#endif
