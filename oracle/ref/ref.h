/* ref.h: what an operator's row provides to the oracle: one function ref_<it>, or a line of pointwise.def, that states, independently of
 * eager,
 *   the result's sizes, dtype and STRIDES (PyTorch's rule), whether it is a view, and its index formula: which scalars each
 *   element is made of. Values, radii and gradients follow from the tape; no derivative is written here.
 *
 * A function returns true, or false after err_set(c->err, …) when the call must RAISE in PyTorch, or false after
 * ref_unsupported(c, …) when the oracle cannot say (an index that is undecided, a budget).
 *
 * Names: helpers are ref_ids, ref_out*, ref_cast…; results that are views are declared with ref_out_view and ref_out_same
 * (ref_view is the function of the row `view`).
 *
 * In-place rows use the functional function: the driver converts the result to self's dtype and writes the ids through self's
 * view; the function need not know. (Sizes must be self's: the driver raises otherwise.) c->inplace says so where it matters.
 *
 *   REFERENCE(slice_scatter, REGION) { ... }  // row_rules.h; see ref_scatter.c; ref_sum_dim in ref_reduce.c, ref_expand in ref_view.c
 *
 * The oracle must not include eager/ops/rules.h: two answers from one function are one answer. */
#ifndef SCATTERPROOF_REF_H
#define SCATTERPROOF_REF_H

#include "eager/lang/prog.h"
#include "oracle/tape/tape.h"

struct ref_tensor {
	struct meta meta; /* the oracle's own derivation, never the program's annotation */
	struct meta map;  /* same sizes: where a logical index lies in the storage's id array. Equal to meta but for inputs
	                         * that overlap themselves and require grad (gradients are per logical index, not per cell) */
	int storage;      /* memory identity; index into the driver's storages */
	int base;         /* autograd identity: tensors with one base share a history */
	bool requires_grad;
	int shuffled;     /* 1 + a dim along which the order of the elements is open (topk(sorted=False)); 0: none */
	int levels;       /* sums that backward makes one after the other for one cell, each rounded (levels.c); 0: one at most */
	bool overlapping; /* some view on the way (unfold, as_strided) maps several indices to one cell without stride 0,
	                         * or its backward adds all the same */
	bool retyped;     /* a view of another dtype (view.dtype) is on the way: no gradient passes, its memory may hold another dtype */
	bool beyond;      /* some as_strided on the way names cells that are no elements of its self */
};

struct ref; /* the driver's state: refrun.c */
struct ref_ctx {
	struct ref *r;
	struct tape *t;
	const struct prog *p;
	const struct node *n;                           /* arguments, defaults filled in; n->out must not be read */
	const struct ref_tensor *in[MAX_ARGS];          /* Tensor arguments, NULL if absent */
	const struct ref_tensor *const *list[MAX_ARGS]; /* Tensor[] arguments: n->arg[k].n entries, NULL for a hole.
	                                                 * A tuple argument (getitem) gives its entries here, too, and in[] is NULL */
	bool inplace;                                   /* an in-place row: strides of the result do not matter */
	bool grad;                                      /* some Tensor argument requires grad: repeated reads need SF_COPY (ref_copies) */
	bool unsupported;
	/* ... because an undecided comparison made what the rule reads (ref_undecided), or its kernel is not modelled: it may refuse it */
	bool undecided;
	struct err *err;
	/* to fill, by ref_out* */
	int nout; /* default: the highest result declared + 1 */
	struct ref_tensor out[MAX_OUTS];
	sid *ids[MAX_OUTS];    /* fresh result: numel ids in row-major LOGICAL order; NULL: a view */
	int view_of[MAX_OUTS]; /* argument whose storage out[i] shares; -1: fresh */
	bool cuts;             /* no gradient passes from the arguments to the results, by this rule's own knowledge */
	bool shadow;           /* the driver's second run over the map of a self-overlapping leaf: views only */
	bool keeps_cells;      /* result 0 begins as a copy of self's whole memory (clone_preserve_strides) */
};
typedef bool ref_fn(struct ref_ctx *c);
extern ref_fn *const ref_rule[]; /* NULL: the driver does it (input, sym) */


/* ---- reading ---- */
/* Ids of a tensor in row-major logical order (numel of them). Read-only: may point into the storage. */
const sid *ref_ids(struct ref_ctx *c, const struct ref_tensor *t);
/* The same of t broadcast to `size` (aligned at the last dim); the caller has checked that it broadcasts. */
const sid *ref_ids_expanded(struct ref_ctx *c, const struct ref_tensor *t, const int64_t *size, int rank);
/* Those of a block: first, first + 1, ...; n of them. */
sid *ref_ids_block(struct ref_ctx *c, sid first, int64_t n);
/* n times the same id. */
const sid *ref_ids_repeat(struct ref_ctx *c, sid id, int64_t n);
/* f(c, id) for each cell of the memory that t lies in. */
void ref_each_cell(struct ref_ctx *c, const struct ref_tensor *t, void (*f)(struct ref_ctx *c, sid id));
/* ids converted to dtype `to` (CAST scalars; the same array if they have it already). */
const sid *ref_cast(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype to);
/* The bits of ids as numbers of another dtype of that width; no gradient passes. */
const sid *ref_retyped(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype to);
/* Fresh SF_COPY scalars if c->grad and dt is floating point, else the ids themselves. dt: their dtype. */
const sid *ref_copies(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype dt);
/* For each of `cells` the sum, in their order, of the ids whose at[k] names it; at[k] < 0 names none. dt: their dtype. */
sid ref_sums_at(struct ref_ctx *c, enum dtype dt, const int64_t *at, const sid *ids, int64_t n, int64_t cells);
/* The number in the operator's name: of how many dims upsample_nearest2d or reflection_pad3d is. */
int ref_dims_named(const struct ref_ctx *c);
/* ids, of dtype dt, as they may be where the first is or was chosen of products or quotients and the licence says LF_SCALED: unrounded. */
const sid *ref_unrounded(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype dt);
/* Was it chosen as the largest of several? */
bool ref_is_largest(struct ref_ctx *c, sid id);
/* The number in an integer or bool scalar; false (and unsupported) if an undecided comparison made it. */
bool ref_int(struct ref_ctx *c, int64_t *out, sid id);
/* The positions that an integer scalar may be, several if an undecided comparison made it. Returns how many; 0: too many to list. */
int64_t ref_positions(struct ref_ctx *c, const int64_t **at, sid id);
/* A whole index or mask tensor, row-major, as numbers in the arena; NULL on failure. */
const int64_t *ref_ints(struct ref_ctx *c, const struct ref_tensor *t);

/* ---- results ---- */
/* Declares fresh result k and returns its id array to fill, row-major logical order. stride NULL: contiguous. Check c->err first:
 * returns NULL only if the sizes are refused (err set) or the budget is exceeded (unsupported set). */
sid *ref_out(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride);
/* The same for a block of consecutive scalars: numel ids first, first+1, …. */
bool ref_out_block(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, sid first);
/* Result k is not there (None). */
bool ref_out_none(struct ref_ctx *c, int k);
/* The same for an array of ids made elsewhere. */
bool ref_out_ids(struct ref_ctx *c, int k, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, const sid *ids);
/* Result k is a view of argument `arg` with this geometry (dtype and device are the argument's). Use the argument's
 * c->in[arg]->meta for the arithmetic: in a shadow run it holds the map. */
bool ref_out_view(struct ref_ctx *c, int k, int arg, const int64_t *size, const int64_t *stride, int rank, int64_t offset);
bool ref_out_same(struct ref_ctx *c, int k, int arg);                            /* result k is argument arg itself */
bool ref_unsupported(struct ref_ctx *c, const char *fmt, ...) PRINTF_LIKE(2, 3); /* always false */
/* Of a row whose kernels on CUDA nobody has measured, or that has none: unsupported there, also where PyTorch refuses it. */
bool ref_not_on_cuda(struct ref_ctx *c);
/* The same where an undecided comparison made the number that the row reads: PyTorch reads another one, perhaps, and refuses. */
bool ref_undecided(struct ref_ctx *c, const char *what); /* always false; what: "an index of", whose operator follows */

/* ---- small helpers that every rule needs ---- */
/* dim in [-rank, rank) (0-d counts as rank 1) made non-negative; PyTorch's error otherwise. */
bool ref_dim(struct ref_ctx *c, int *out, int64_t dim, int rank);
/* A Dims argument (None or [] = all, if all_if_empty) as a mask of dims; repeated dims raise. */
bool ref_dims(struct ref_ctx *c, bool mask[MAX_RANK], int arg, int rank, bool all_if_empty);
/* Groups the elements of t along the masked dims: entries in the order (kept index row-major, reduced index row-major).
 * nkept * nreduced = numel. The array is dense: use with tape_rows. */
const sid *ref_rows(struct ref_ctx *c, const struct ref_tensor *t, const bool mask[MAX_RANK], int64_t *nkept, int64_t *nreduced);
/* The reverse: result k, contiguous, of m's sizes, from the scalars `first` on, in the order of ref_rows along one dim, or of none. */
bool ref_out_rows(struct ref_ctx *c, int k, enum dtype dt, const struct meta *m, const bool mask[MAX_RANK], sid first);
/* Sizes after reducing the masked dims. Returns the rank. */
int ref_reduced(int64_t size[MAX_RANK], const struct meta *m, const bool mask[MAX_RANK], bool keepdim);
static inline int64_t ref_arg_int(const struct ref_ctx *c, int k) { return c->n->arg[k].i.value; }
/* The operand of that name (N_…); NULL: it is None, or the row has none. */
static inline const struct ref_tensor *ref_operand(const struct ref_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k < 0 ? NULL : c->in[k];
}
static inline bool ref_given(const struct ref_ctx *c, int k) { return c->n->arg[k].tag != ARG_NONE; }

#endif
