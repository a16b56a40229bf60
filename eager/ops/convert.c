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

void grad_to_copy(struct grad_ctx *c) { tensor_copy(c->gin[A_to_copy_self], &c->gout[0]); }
