/* ref_impl.h: the driver's state, shared by refrun.c and refapi.c. */
#ifndef SCATTERPROOF_REF_IMPL_H
#define SCATTERPROOF_REF_IMPL_H

#include "oracle/tape/adjoint.h"
#include "oracle/ref/layout.h"
#include "oracle/ref/ref.h"

/* An array of scalars' names. Written copy-on-write: arrays that were handed out never change. */
struct ref_storage {
	enum dtype dtype;
	int64_t ncells;
	const sid *ids;
	int memory;          /* identity for alias questions: program inputs 0.., fresh ones after; private leaf arrays share the input's */
	bool shared;         /* several histories live here (shared.c): of input rows … */
	bool strangers;      /* … each with a version counter of its own … */
	bool detached;       /* … or of a view that was detached */
	bool unsaid;         /* a view whose schema does not say so (_unsafe_view) has a history of its own here, which is not modelled */
	bool graded;         /* shared, and a value with a gradient was written through one of them */
	bool overlapping;    /* an input row here overlaps itself: autograd's base for writes through its views does, too */
	bool leaf_elsewhere; /* an input of this memory that requires grad has its own array: writing would split them */
	bool cloned;         /* a scatter's result that keeps self's cells, offset and gaps included (clone_preserve_strides): only
	                         * its elements are modelled, the other ids are 0, so nothing may name them (as_strided) */
	struct ref_writer *writer; /* shared: [ncells], who wrote each cell last */
};

/* An autograd history: the program nodes that wrote it, in order. seen: of a base in shared memory, the names that it last wrote to the
 * storage's cells (UNSEEN: none); NULL: none at all. */
struct ref_base {
	bool grad;
	int nwriter, cap;
	int *writer;
	sid *seen;
};
#define UNSEEN UINT32_MAX
struct ref_writer {
	int node, base;
}; /* node: -1 if nobody has written */
struct ref_read {
	int base, count;
	bool grad;
}; /* a node read this base when it had count writers */

struct ref_node {
	int nout;
	struct ref_tensor *out;
	int nread, nwrite;
	struct ref_read *read, *write; /* write.count: index of this node among the base's writers; grad: the base requires grad after it */
};

struct ref_level {
	sid id;
	int levels;
};

/* What backward reads in the memory of several inputs: each cell's value when forward has ended, and who wrote it last. */
struct ref_final {
	int64_t ncells;
	const struct num *val;
	const struct ref_writer *writer;
};

struct ref {
	struct arena *arena;
	const struct prog *p;
	struct tape tape;
	int nstorage, cap_storage, nbase, cap_base, nmemory;
	struct ref_storage *storage;
	struct ref_base *base;
	struct ref_node *node; /* [p->nnode] */
	int ninput_storage;
	int *input_storage;            /* program storage -> index into storage[] */
	const struct ref_final *final; /* [ninput_storage] in a second run over the program, else NULL */
	bool zero_cotangents;          /* ref_zero_cotangents */
	struct ref_save *saved;        /* what autograd saved in shared memory (shared.c) */
	int64_t nlevel, cap_level;
	struct ref_level *level;
};

int ref_storage_new(struct ref *r, enum dtype dt, int64_t ncells, const sid *ids, int memory);
/* Now: a write may have brought gradients to the memory since t->requires_grad was noted. */
bool ref_has_grad(const struct ref *r, const struct ref_tensor *t);
/* shared.c */
void shared_begin(struct ref *r, struct ref_storage *s);
/* Until now all cells belonged to this history, which has gradients. */
void shared_split(struct ref *r, struct ref_storage *s, int base);
/* ids (n, in the order of m) as the history of t's base knows them. */
const sid *shared_read(struct ref_ctx *c, const struct ref_tensor *t, const sid *ids, const struct meta *m, int64_t n);
/* Node `node` writes n ids through t, whose storage is shared; before the storage has them. grad: the values may have gradients. */
void shared_write(struct ref *r, int node, const struct ref_tensor *t, const sid *ids, int64_t n, bool grad);
/* The rule of a node, as ref_rule: notes what autograd saves in shared memory; in a second run gives the results the derivative that
 * backward will compute. */
bool shared_rule(struct ref_ctx *c, int node);
/* After a first run: did somebody overwrite what was saved? And what the memory ends with. */
bool shared_any_stale(const struct ref *r);
const struct ref_final *shared_final(const struct ref *r);

/* levels.c. view: a view of self, its map known. */
int levels_of_view(const struct ref_tensor *self, const struct ref_tensor *view, bool as_strided);
/* t is read by an operator whose result has numel elements, or returned (numel of t itself). */
void levels_read(struct ref *r, const struct ref_tensor *t, int64_t numel);
void levels_apply(const struct ref *r, struct adjoint *A);

#endif
