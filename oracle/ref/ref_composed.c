/* ref_composed.c: rows that ops.def composes of others. WAITING for their formulas (branch form25): until then the reference says so. */
#include "oracle/ref/row_rules.h"

static bool waiting(struct ref_ctx *c) { return ref_unsupported(c, "no formula yet"); }

bool ref_softmax(struct ref_ctx *c) { return waiting(c); }
bool ref_softmax_backward_data(struct ref_ctx *c) { return waiting(c); }
bool ref_log_softmax(struct ref_ctx *c) { return waiting(c); }
bool ref_log_softmax_backward_data(struct ref_ctx *c) { return waiting(c); }
