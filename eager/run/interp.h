/* interp.h: the eager interpreter, `builtin:eager`: runs every call of a program, node by node, the way PyTorch's eager mode
 * means it, and reports it as a struct result. It defines the language (DESIGN.md 3).
 *
 * One call: input storages are filled (fill.h), the nodes that no cotangent needs run in order with autograd (autograd.h), then the
 * cotangents' nodes without, then the backward sweep. Fresh storage is poisoned (NaN with a recognisable payload; integers and bool
 * 0xa5 bytes), every storage stands between two red zones that are checked after each node: a touched zone is our bug and
 * aborts with the program's text.
 * An in-place row computes its whole new value from the old operands before it stores it, so an operand that is the destination
 * itself is well defined; where destination and operand overlap otherwise PyTorch's refusals are in legality.h.
 * Tensors on device `meta` have no data: a node with one among its operands computes nothing (PyTorch: cpu.add_(meta) leaves the
 * destination as it was).
 *
 * Everything in *out lives in the arena. No globals, no clocks (run_ms is 0), same result every time. */
#ifndef SCATTERPROOF_INTERP_H
#define SCATTERPROOF_INTERP_H

#include "eager/lang/prog.h"
#include "eager/lang/result.h"

struct interp_options {
	size_t max_bytes; /* of all storages of one call together; 0: 1 GiB. More: unsupported */
	bool no_zones;    /* leave out the red-zone checks */
	/* By input storage: its cells, of prog_storage_nbytes bytes, in place of what the program says of them. NULL: as it says. */
	const struct result_storage *given;
	int torch_minor; /* refuse what PyTorch 2.<this> refuses (legality.h); 0: 2.11 */
};

enum interp_status {
	INTERP_OK,          /* out->status is RES_OK or RES_RAISED */
	INTERP_UNSUPPORTED, /* an operator without kernel or derivative, a limit; out->status is RES_UNSUPPORTED */
	INTERP_RAISES,      /* interp_legal only */
	INTERP_INVALID      /* the program cannot be bound: not a program for any target; out->status is RES_HARNESS */
};

/* p is valid (prog_validate). o may be NULL. On INTERP_OK err is untouched; else it says why, as out->message does. */
enum interp_status interp_run(struct result *out, const struct prog *p, struct arena *a, const struct interp_options *o, struct err *err);

/* Would it run? Everything that eager refuses whatever the data (autograd's rules, overlaps, versions), nothing computed. bound: one call
 * of a program (prog_bind). INTERP_RAISES: err has PyTorch's text. An index out of range is not seen. */
enum interp_status interp_legal(const struct prog *bound, const struct interp_options *o, struct err *err);

#endif
