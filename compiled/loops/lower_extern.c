/* lower_extern.c: what has no nests, and is run by eager's kernel, on operands in memory: sort and topk of long lanes, index_put under
 * masks, rows whose result keeps a layout that overlaps itself; with +blas=1 matrix products. */
#include "compiled/loops/lower.h"

void lower_extern(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	lower_settle(l, node);
	struct loop_call *call = ARENA_ZNEW(l->arena, struct loop_call, 1);
	call->node = node;
	call->nout = MAX(n->nout, 1);
	call->in = ARENA_NEW(l->arena, struct place, MAX_ARGS + MAX_LIST);
	call->out = ARENA_NEW(l->arena, struct place, call->nout);
	memcpy(call->out, l->place, (size_t)call->nout * sizeof *call->out);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR)
			call->in[call->nin++] = lower_place(l, a->node);
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			if (a->nodes[i] >= 0)
				call->in[call->nin++] = lower_place(l, a->nodes[i]);
	}
	loops_extern(l->out, call);
}
