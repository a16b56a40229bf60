/* ref_impl.h: the driver's state, shared by refrun.c and refapi.c. */
#ifndef SCATTERPROOF_REF_IMPL_H
#define SCATTERPROOF_REF_IMPL_H

#include "oracle/adjoint.h"
#include "oracle/ref.h"

/* An array of scalars' names. Written copy-on-write: arrays that were handed out never change. */
struct ref_storage {
	enum dtype dtype;
	int64_t ncells;
	const sid *ids;
	int memory;             /* identity for alias questions: program inputs 0.., fresh ones after; private leaf arrays share the input's */
	bool shared;            /* several input rows live here */
	bool overlapping;       /* an input row here overlaps itself: autograd's base for writes through its views does, too */
	bool detached;          /* shared, and a value with a gradient was written through one of them */
	bool leaf_elsewhere;    /* an input of this memory that requires grad has its own array: writing would split them */
	bool cloned;            /* a scatter's result that keeps self's cells, offset and gaps included (clone_preserve_strides): only
	                         * its elements are modelled, so nothing may name its cells (as_strided) */
	int grad_base;          /* the base through which gradients were written, -1 */
};

/* An autograd history: the program nodes that wrote it, in order. */
struct ref_base { bool grad; int nwriter, cap; int *writer; };
struct ref_read { int base, count; bool grad; };        /* a node read this base when it had count writers */

struct ref_node {
	int nout;
	struct ref_tensor *out;
	int nread, nwrite;
	struct ref_read *read, *write;          /* write.count: index of this node among the base's writers; grad: the base requires grad after it */
};

struct ref_level { sid id; int levels; };

struct ref {
	struct arena *arena;
	const struct prog *p;
	struct tape tape;
	int nstorage, cap_storage, nbase, cap_base, nmemory;
	struct ref_storage *storage;
	struct ref_base *base;
	struct ref_node *node;                  /* [p->nnode] */
	int ninput_storage;
	int *input_storage;                     /* program storage -> index into storage[] */
	int64_t nlevel, cap_level;
	struct ref_level *level;
};

/* Now: a write may have brought gradients to the memory since t->requires_grad was noted. */
bool ref_has_grad(const struct ref *r, const struct ref_tensor *t);
/* levels.c. view: a view of self, its map known. */
int levels_of_view(const struct ref_tensor *self, const struct ref_tensor *view, bool as_strided);
/* t is read by an operator whose result has numel elements, or returned (numel of t itself). */
void levels_read(struct ref *r, const struct ref_tensor *t, int64_t numel);
void levels_apply(const struct ref *r, struct adjoint *A);

#endif
