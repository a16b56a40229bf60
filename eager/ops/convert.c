/* convert.c: _to_copy: dtype conversion into fresh memory; conversions are tensor_copy's. */
#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"

bool meta_to_copy(struct meta_ctx *c)
{
	const struct meta *in = c->in[A_to_copy_self];
	struct meta *out = &c->out[0];
	if (!layout_formatted(out, in, format_given(c->n, FORMAT_PRESERVE), c->err))
		return false;
	if (node_given(c->n, A_to_copy_dtype))
		out->dtype = c->n->arg[A_to_copy_dtype].dtype;
	return true;
}

bool kern_to_copy(struct kern_ctx *c)
{
	tensor_copy(&c->out[0], c->in[A_to_copy_self]);
	return true;
}

/* The conversion back is vjp_apply's. */
void vjp_to_copy(struct vjp *v) { v->grad[A_to_copy_self] = v->g[0]; }
