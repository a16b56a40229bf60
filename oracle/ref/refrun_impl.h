/* refrun_impl.h: what the files of refrun.c share: one run of the reference. A function that returns false has set the run's err. */
#ifndef SCATTERPROOF_REFRUN_IMPL_H
#define SCATTERPROOF_REFRUN_IMPL_H

#include "oracle/ref/refrun.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/tape/tape_impl.h"

struct reference_run {
	struct ref r;
	struct err *err;
	bool unsupported, undecided;
	sid *leaf;        /* [nnode] first leaf scalar of an input row that requires grad */
	struct prog *own; /* see own_sizes */
	bool zero_cotangents;
};

/* refrun.c */
bool run_unsupported(struct reference_run *s, const char *what); /* always false */
bool run_beyond_budget(struct reference_run *s);                 /* the same, of a tape that is over */
int run_new_base(struct ref *r, bool grad);                      /* of a history: tensors that share their gradients' memory */
void run_note_write(struct ref *r, int node, int base);          /* node writes to that base */
bool run_same_geometry(const struct meta *a, const struct meta *b);
void run_mark_cells(bool *cell, const struct meta *m); /* those that m names */
void run_separate(struct ref *r, sid *ids, int64_t n, enum dtype dt);
bool run_cannot_read(struct reference_run *s, const struct ref_tensor *t, const struct node *n);

/* refrun_input.c */
bool run_input(struct reference_run *s, int i);

/* refrun_write.c */
bool run_reads_meta(const struct ref_ctx *c); /* an operand is on device meta: has no data */
bool run_reads_meta(const struct ref_ctx *c); /* an operand is on device meta: has no data */
bool run_write_back(struct reference_run *s, struct ref_ctx *c, int i);

/* refrun_gradients.c */
bool run_gradients(struct reference_run *s, struct reference *out);
bool run_collect(struct reference_run *s, struct reference *out);

#endif
