/* autograd.h: tensor-level reverse mode, and autograd's rules about what may be written when.
 *
 * WHO IS WHO. A VAR is a tensor object. An in-place row returns its self: the same var. A ROOT is a var that is not a view (an
 * input, an input_view, a fresh result); views belong to their root and share with it one version counter, one history and one
 * adjoint memory. Two inputs on one storage (input_view) are two roots: autograd does not know that they alias, and neither do we.
 * A root's history is FN_NONE, FN_LEAF, or the node that last gave it a value (a functional row, or an in-place row through the root
 * or any of its views). That a view's own history follows writes through other views is PyTorch's regeneration of grad_fn.
 *
 * ADJOINT MEMORY. A root has one adjoint cell per cell of its storage (f64 for f64, f32 for the others, halves included), addressed
 * through the metas of its views. Hence views need no derivative: a read through expand accumulates over the broadcast by itself, and
 * is rounded to the dtype once, when the cotangent is read. The sweep visits nodes backwards. A functional row reads its results'
 * cotangents, and adds its derivative to its operands' cells. An in-place row reads the cotangent of the region that it wrote, then
 * replaces it by the cotangent of what stood there before (zero if that needs none). A root that overlaps itself (only inputs can)
 * has one adjoint per LOGICAL index: its adjoint meta is contiguous, and its views carry an adjoint meta of their own, made by the
 * same shape rule; where that cannot be (a view that merges dims of stride 0 after a permute), a table of cells.
 *
 * NONE OR ZERO. Whether a leaf has a gradient follows the edges, never the values: a node is REACHED if a reached node (or a
 * cotangent) holds an edge to it; edges are noted when a node runs, to the operand's history of that moment.
 *
 * FACTS of PyTorch 2.11 that this follows (tests/prog/autograd/ has a program for each, checked against it):
 *   - a result requires grad if its row is differentiable, a floating operand requires grad and the result is floating point;
 *   - detach and view.dtype give a root of its own on the same memory: another history, the same version counter;
 *   - writes with any operand (self included) that requires grad are refused on a leaf that requires grad and on its views, and on
 *     results of split/unbind and views of them; writes without are allowed everywhere;
 *   - a view of split/unbind is unusable on a differentiable path after its base was written through anything;
 *   - unsqueeze_ and its like (T_INPLACE_VIEW) are refused where writes of what requires grad are, and count as writes; the history stays;
 *   - version counters belong to view families and count every write, also of no element, also when nothing requires grad;
 *   - what is saved is noted before the node's own write: x.mul_(x) fails in backward. An in-place row that saves its own self saves a
 *     copy (x.mul_(y) with y requiring grad is fine, also when x requires grad);
 *   - a saved-then-written tensor is an error of backward, and only if its node is reached;
 *   - an in-place row makes its destination's whole family require grad; the derivative of fill_ and zero_ is a defined zero;
 *   - a write through a stride-0 view (fill_, zero_, masked_fill_, … are accepted) is an error of backward if the base had a gradient;
 *   - backward from an output that does not require grad is an error;
 *   - the gradient of a scatter's source has the index's sizes, and backward refuses a source that is larger;
 *   - as_strided of a view sees only the cells of that view (PyTorch's derivative drops the others): such a program is refused as
 *     unsupported when a gradient would pass. */
#ifndef SCATTERPROOF_AUTOGRAD_H
#define SCATTERPROOF_AUTOGRAD_H

#include "eager/ops/rules.h"

enum { FN_NONE = -1, FN_LEAF = -2 }; /* other histories: node indices */

struct root {
	unsigned char *base; /* the storage; NULL on device meta */
	int64_t ncells;      /* of the adjoint */
	int64_t version;
	int counter; /* whose version counts: its own, or (detach) that of the root whose memory this is */
	int fn;
	bool logical;  /* overlaps itself: adjoint per logical index */
	bool unsaid;   /* a view whose schema does not say so (_unsafe_view) has a history of its own here */
	bool reached;  /* leaf: a cotangent arrived */
	void *adjoint; /* NULL: nothing arrived */
};

struct var {
	int root;
	struct meta meta, adj; /* of the data, of the adjoint */
	const int64_t *map;    /* not NULL: adj addresses this table, which holds the adjoint cells */
	bool view;
	const char *opaque;   /* why no gradient may pass here; NULL: none */
	bool multi;           /* a result of split/unbind, or a view of one */
	bool named;           /* views: the root required grad when the view was made */
	int maker, maker_out; /* views: by which node, which of its results */
	int64_t seen;         /* root's version when the view was made */
};

struct edge {
	int arg, entry, var, fn;
}; /* entry: of a list argument */
struct save {
	int root;
	int64_t version;
};

struct fn {
	bool tracked, reached;
	bool self_had_grad; /* in-place rows */
	int nedge, nsave;
	struct edge *edge;
	struct save *save;
	struct tensor *self_before; /* in-place rows that save self */
};

struct graph {
	const struct prog *p;
	struct arena *a; /* everything of the graph */
	bool grad_mode;
	bool metas; /* nothing has data: only what is refused is of interest (interp_legal) */
	int nvar, nroot, cap_var, cap_root;
	struct var *var;
	struct root *root;
	int **var_of;  /* by node and result */
	struct fn *fn; /* by node */
};

enum step { STEP_OK, STEP_RAISED, STEP_UNSUPPORTED }; /* with err: "Class: text" of what PyTorch raises; a reason */

static inline int64_t *graph_version(const struct graph *g, int root) { return &g->root[g->root[root].counter].version; }
void graph_init(struct graph *g, const struct prog *p, struct arena *a);
/* False with PyTorch's text if backward of this row refuses the sizes of its operands. */
bool graph_sizes_ok(const struct graph *g, int node, struct err *err);
/* False with PyTorch's text if v is a view of split/unbind whose base was written since. */
bool graph_history_ok(const struct graph *g, int var, struct err *err);
void graph_tensor(struct tensor *out, const struct graph *g, int node, int k);
bool graph_requires_grad(const struct graph *g, int node);

/* Rows in program order, each exactly once: */
enum step graph_input(struct graph *g, int node, unsigned char *base, int64_t ncells, bool requires_grad, struct err *err);
enum step graph_view(struct graph *g, int node, struct err *err);        /* rows whose results are views, getitem included */
enum step graph_before(struct graph *g, int node, struct err *err);      /* functional and in-place rows: checks, edges, saved operands */
void graph_fresh(struct graph *g, int node, unsigned char *const *base); /* functional rows, after the kernel */
void graph_written(struct graph *g, int node);                           /* in-place rows, after the store */

struct cotangent {
	int node;
	struct tensor value;
};
enum step graph_backward(struct graph *g, const struct cotangent *cot, int n, struct arena *scratch, struct err *err);
/* The layout that AccumulateGrad gives a leaf's gradient: the leaf's strides if that is dense, else contiguous; from offset 0. */
void graph_grad_layout(struct meta *out, const struct meta *leaf);
/* Gradient of leaf `node` in `a`; false: None. */
bool graph_grad(struct tensor *out, const struct graph *g, int node, struct arena *a);

#endif
