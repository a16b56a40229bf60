/* convert.c: _to_copy: dtype conversion into fresh memory; conversions are tensor_copy's. */
#include "eager/layout.h"
#include "eager/rules.h"

/* Dense layouts keep their strides; others become contiguous, or channels-last where self suggests it. */
bool meta_to_copy(struct meta_ctx *c)
{
	const struct meta *in = c->in[0];
	struct meta *out = &c->out[0];
	int k = op_param(c->n->op, "dtype");
	*out = *in;
	out->offset = 0;
	if (!meta_is_non_overlapping_and_dense(in)) {
		layout_contiguous(out, in, in->size, in->rank);
		if (meta_is_channels_last(in))
			layout_channels_last(out);
	}
	if (node_given(c->n, k))
		out->dtype = c->n->arg[k].dtype;
	return true;
}

bool kern_to_copy(struct kern_ctx *c)
{
	tensor_copy(&c->out[0], c->in[0]);
	return true;
}

void grad_to_copy(struct grad_ctx *c) { tensor_copy(c->gin[0], &c->gout[0]); }
