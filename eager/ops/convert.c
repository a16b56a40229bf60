/* convert.c: _to_copy: dtype conversion into fresh memory; conversions are tensor_copy's. */
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

bool meta_to_copy(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_to_copy_self];
	struct meta *out = &c->out[0];
	int k = op_arg(c->n->op, N_dtype);
	layout_preserve(out, in);
	if (node_given(c->n, k))
		out->dtype = c->n->arg[k].dtype;
	return true;
}

bool kern_to_copy(struct kern_ctx *c)
{
	tensor_copy(&c->out[0], c->in[A_to_copy_self]);
	return true;
}

/* The conversion back is vjp_apply's. */
void vjp_to_copy(struct vjp *v) { v->grad[A_to_copy_self] = v->g[0]; }
