/* lower_extern.c: rows without nests of their own: eager's kernel runs them, on operands in memory. */
#include "compiled/loops/lower.h"

void lower_extern(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
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

#define BY_KERNEL(kernel) const struct lower_rule lower_##kernel = {.nests = lower_extern, .by_kernel = true};
BY_KERNEL(unfold_backward)
BY_KERNEL(as_strided_scatter)
BY_KERNEL(embedding_dense_backward)
BY_KERNEL(scatter_src)
BY_KERNEL(scatter_value)
BY_KERNEL(scatter_add)
BY_KERNEL(scatter_reduce)
BY_KERNEL(index_put)
BY_KERNEL(index_add)
BY_KERNEL(index_copy)
BY_KERNEL(index_fill)
BY_KERNEL(masked_scatter)
BY_KERNEL(sum)
BY_KERNEL(mean)
BY_KERNEL(prod)
BY_KERNEL(amax)
BY_KERNEL(amin)
BY_KERNEL(var)
BY_KERNEL(argmax)
BY_KERNEL(argmin)
BY_KERNEL(any)
BY_KERNEL(all)
BY_KERNEL(logsumexp)
BY_KERNEL(cumsum)
BY_KERNEL(cumprod)
BY_KERNEL(mm)
BY_KERNEL(bmm)
BY_KERNEL(addmm)
BY_KERNEL(mv)
BY_KERNEL(dot)
BY_KERNEL(max_dim)
BY_KERNEL(min_dim)
BY_KERNEL(var_mean)
BY_KERNEL(topk)
BY_KERNEL(sort)
