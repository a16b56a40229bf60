/* rules.h: what a row of the op table provides to eager: a shape rule, a kernel, a derivative. One function of each kind per
 * name in ops.def's columns (meta_<it>, kern_<it>, vjp_<it>); a missing one is a link error. The oracle must not include this. */
#ifndef SCATTERPROOF_RULES_H
#define SCATTERPROOF_RULES_H

#include "eager/lang/prog.h"

/* ---- shape rules: sizes, dtype, strides, aliasing of the results from the operands' metas; PyTorch's conditions and errors ---- */
struct meta_ctx {
	const struct prog *p;
	const struct node *n;            /* arguments, defaults filled in */
	const struct meta *in[MAX_ARGS]; /* metas of Tensor arguments, NULL if absent; lists through meta_list */
	struct meta out[MAX_OUTS];       /* to fill; offset: views, and results that keep a whole storage (slice_scatter); else 0 */
	int alias[MAX_OUTS];             /* to fill: index of the argument whose storage out[i] shares, or -1 (default) */
	int nout;                        /* default 1 */
	struct err *err;
};
typedef bool meta_fn(struct meta_ctx *c);
extern meta_fn *const op_meta[];
/* Meta of the operand of that name (N_…); NULL: it is None, or the row has none. */
static inline const struct meta *meta_named(const struct meta_ctx *c, int name)
{
	const int k = op_arg(c->n->op, name);
	return k < 0 ? NULL : c->in[k];
}
/* Meta of entry k of a Tensor[] argument, NULL for a hole. */
const struct meta *meta_list(const struct meta_ctx *c, int arg, int k);
/* Meta of the operand that argument k is: a node's, or that of a Python number (0-d f64, i64 or b8, marked so); NULL if it is neither. */
const struct meta *meta_operand(const struct prog *p, const struct node *n, int k);
/* Cells of the storage that Tensor argument `arg` lies in; and whether a layout stays within so many (setStorage's error). */
int64_t meta_storage_cells(const struct meta_ctx *c, int arg);
bool meta_in_bounds(const struct meta *m, int64_t cells, struct err *err);
/* In-place rows: op_meta gives the functional result; prog_infer_node then checks PyTorch's rules for writing it to self. */

/* ---- kernels and derivatives: tensors with data ---- */
struct tensor {
	struct meta meta;
	unsigned char *base; /* cell 0 of the storage; element at base + (offset + sum index*stride) * nbytes */
};
struct kern_ctx {
	const struct node *n;
	const struct tensor *in[MAX_ARGS];          /* Tensor arguments, NULL if absent */
	const struct tensor *const *list[MAX_ARGS]; /* Tensor[] arguments: n->arg[k].n entries, NULL for a hole */
	struct tensor *out;                         /* allocated as the shape rule said, fresh storage poisoned; fill every element */
	int nout;
	struct arena *scratch; /* released after the call */
	struct err *err;       /* data-dependent errors only (index out of range) */
};
typedef bool kern_fn(struct kern_ctx *c);
extern kern_fn *const op_kern[];

/* Element access in row-major logical order; plain and slow on purpose where speed does not matter. */
static inline unsigned char *tensor_at(const struct tensor *t, int64_t cell) { return t->base + cell * dtype_nbytes(t->meta.dtype); }
void tensor_new(struct tensor *out, const struct meta *m, struct arena *a);      /* contiguous strides of m kept; storage zeroed */
void tensor_number(struct tensor *out, const struct scalar *s, struct arena *a); /* a Python number as an operand */
void tensor_copy(struct tensor *dst, const struct tensor *src);                  /* same sizes; converts dtype as aten::copy_ */
bool tensor_broadcast(struct tensor *out, const struct tensor *t, const int64_t *size, int rank); /* a view; false if it cannot */

#endif
