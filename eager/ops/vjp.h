/* vjp.h: derivative rules. One per name in ops.def's column `vjp`: vjp_<it> appends, in rows of the op table, what the cotangents of a
 * node's operands are (the vector-Jacobian product), given the cotangents of its results. Eager's autograd executes the nodes as they come
 * (eager/run/autograd_sweep.c); the joint program of the built-in compiler consists of them (compiled/passes/joint.c).
 *
 *     void vjp_slice_scatter(struct vjp *v)
 *     {
 *         int64_t dim = node_int(v->n, A_slice_scatter_dim), …;
 *         if (v->want[A_slice_scatter_self])
 *             v->grad[A_slice_scatter_self] = emit_slice_scatter(v->b, v->g[0], vjp_zeros(v->b, vjp_meta(v, A_slice_scatter_src)), dim, …);
 *         if (v->want[A_slice_scatter_src])
 *             v->grad[A_slice_scatter_src] = emit_slice_Tensor(v->b, v->g[0], dim, …);
 *     }
 *
 * The formula is PyTorch's (tools/autograd/derivatives.yaml, FunctionsManual.cpp), step for step, because each row rounds. What PyTorch's
 * engine does after every formula, vjp_apply does: a gradient of other sizes is summed to the operand's, of another dtype converted.
 *
 * A rule reads values only of what the row's `saves` says is kept (metas of everything: vjp_meta). An in-place row shares its functional
 * row's rule: in[0] is self before the write, and grad[0] is what stood there's cotangent. */
#ifndef SCATTERPROOF_VJP_H
#define SCATTERPROOF_VJP_H

#include "eager/lang/build.h"

struct vjp {
	struct build *b;
	const struct node *n; /* the node that is differentiated, for its arguments that are no tensors; it need not be in b->p */
	int nout;
	int in[MAX_ARGS];          /* operands: values of b; NO_VALUE where there is none */
	const int *list[MAX_ARGS]; /* of Tensor[] arguments: n->arg[k].n values, NO_VALUE for a hole */
	int out[MAX_OUTS];         /* results; NO_VALUE: nobody keeps it */
	int g[MAX_OUTS];           /* their cotangents, of their dtypes and sizes; NO_VALUE: none arrived. g[0] of a single result did */
	bool want[MAX_ARGS];       /* whose cotangents are asked for */
	const bool *want_list[MAX_ARGS];
	int grad[MAX_ARGS]; /* to fill, where wanted; NO_VALUE (as it comes): zeros that nothing computes */
	int *grad_list[MAX_ARGS];
};
typedef void vjp_fn(struct vjp *v);
extern vjp_fn *const op_vjp[]; /* by row; NULL: no gradient passes */

/* Runs the rule of v->n and fits what it gave to the operands. */
void vjp_apply(struct vjp *v);

static inline const struct meta *vjp_meta(const struct vjp *v, int arg) { return build_meta(v->b, v->in[arg]); }
/* x summed to the sizes, which broadcast to x's (at::sum_to). */
int vjp_sum_to(struct build *b, int x, const struct meta *sizes);
int vjp_zeros(struct build *b, const struct meta *like);                /* contiguous zeros of its sizes and dtype */
int vjp_unpermuted(struct build *b, const struct node *permute, int x); /* the inverse of a permute row, applied to x */
int vjp_scale(struct build *b, int x, struct scalar s);                 /* x * s, where s is not 1 */
int vjp_inverse(struct build *b, int x);                                /* 1/x, and 0 where x is 0 */
int vjp_gelu_curvature(struct build *b, int x, const char *approximate); /* the slope of the slope of gelu (pointwise.c) */

#endif
