/* refrun.h: the reference of one bound program: what every output, gradient and input storage must be.
 *
 *   struct reference ref;
 *   ref_run(&ref, &bound, &profile, arena, &err)
 *
 * Everything lives in the arena. The program's annotated metas (node->out) are not consulted, except for those of input rows, through
 * fill_storage (prog_bind_inputs is enough). */
#ifndef SCATTERPROOF_REFRUN_H
#define SCATTERPROOF_REFRUN_H

#include "oracle/tape/adjoint.h"
#include "oracle/num/licence.h"
#include "oracle/ref/ref.h"

enum ref_status {
	REF_OK,
	REF_RAISES,     /* the program must raise: message says why */
	REF_UNSUPPORTED /* the oracle cannot say: budget, undecided index, missing rule */
};

struct ref_value {
	bool present; /* gradients: false = None */
	bool requires_grad;
	struct meta meta; /* the oracle's own derivation */
	int memory;       /* identity: 0..ninputs-1 input storages, then fresh ones; equal numbers share memory */
	int node;         /* the program node it belongs to */
	int64_t n;
	const struct num *val; /* n sets, row-major logical order */
	const sid *ids;        /* outputs: names of the scalars on reference.tape; gradients: NULL */
	sid leaf;              /* gradients: first of the n leaf scalars */
};

struct ref_cells {
	enum dtype dtype;
	int64_t n;
	const struct num *val;
}; /* a whole input storage after the call */

/* Elements of gradient `grad`: npick of them get one number of pick[] each, and the others 0. tied: which ones is the operator's choice
 * among certain equals, and each number is decided. n 0: nothing is known. */
struct ref_winners {
	int grad, n, npick;
	bool tied;
	const int64_t *index;
	struct num *pick;
};

struct reference {
	enum ref_status status;
	bool undecided; /* UNSUPPORTED: because an undecided comparison made what a row reads, so that PyTorch may refuse the program, too */
	const char *message;
	int nouts, ngrads, nstorages;
	struct ref_value *out, *grad;
	struct ref_cells *storage;
	int nwinners;
	struct ref_winners *winners;
	int64_t nscalar, nentry;
	/* The tape that it was read off, and the adjoints of its scalars (NULL without backward): for addends.h, and whoever asks why. */
	const struct tape *tape;
	const struct adj *adj;
	const struct prog *bound; /* the call's program; sizes that it reads off tensors are what the reference derives, with inputs to match */
	const struct ref *run;    /* the driver's state: histories and storages (ref_impl.h) */
};

enum ref_status ref_run(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	struct arena *a, struct err *err);
/* The same, but the gradients are those of zeros: for every returned value that requires grad and every input that was written with
 * gradients, in place of the program's cotangents. What has a gradient here and none there is what a compiled program may give zeros. */
enum ref_status ref_zero_cotangents(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	struct arena *a, struct err *err);
/* The same for one licensed evaluation, drawn at random: all sets are single numbers (sample.h). seed: not 0. */
enum ref_status ref_sample(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	uint64_t seed, struct arena *a, struct err *err);

#endif
