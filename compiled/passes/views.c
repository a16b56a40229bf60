/* views.c: a view is its memory, offset, sizes and strides, however it was made. So one that exists already is not made again, and a view
 * of a view of the same kind is made of the first one's operand, if the shape rules give the same layout. */
#include "compiled/passes/pass.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

static int existing(const struct pure *g, int node)
{
	const struct prog *p = g->p;
	for (int j = 0; j < node; j++) {
		const struct node *n = &p->node[j];
		if (op_info[n->op].nret == 1 && n->out[0].storage == p->node[node].out[0].storage
			&& meta_identical(&n->out[0].meta, node_meta(p, node)))
			return j;
	}
	return NO_VALUE;
}

/* Which only say what sizes come out: the last one alone says it. */
static bool says_sizes(int op)
{
	const struct param *size = op_info[op].nparam > A_viewed_self + 1 ? &op_info[op].param[A_viewed_self + 1] : NULL;
	return size && size->kind == K_SIZE && (size->role == R_VIEW || size->role == R_RESHAPE);
}

/* dims of `n`, a permutation of `of`, as a permutation of of's operand. */
static struct arg composed(struct prog *p, const struct node *n, const struct node *of)
{
	int64_t dims[MAX_RANK];
	const struct arg *outer = &n->arg[A_permute_dims], *inner = &of->arg[A_permute_dims];
	for (int d = 0; d < outer->n; d++) {
		int64_t from = outer->ints[d].value;
		dims[d] = inner->ints[from < 0 ? from + outer->n : from].value;
	}
	return arg_ints(p, dims, outer->n);
}

/* Nothing changes for those who read it. */
static void made_of_first(struct pure *g, int node)
{
	struct prog *p = g->p;
	const int operand = p->node[node].arg[A_viewed_self].node;
	const struct node *of = &p->node[operand];
	struct node *n = &p->node[node];
	const struct node was = *n;
	bool permutes = n->op == OP_permute && of->op == OP_permute;
	if (!row_is_view(p, operand) || !(permutes || (n->op == OP_expand && of->op == OP_expand) || (says_sizes(n->op) && says_sizes(of->op))))
		return;
	n->arg[A_viewed_self] = of->arg[A_viewed_self];
	if (permutes)
		n->arg[A_permute_dims] = composed(p, &was, of);
	if (n->op == OP_expand) /* a size of -1 was the operand's */
		n->arg[A_expand_size] = arg_ints(p, was.out[0].meta.size, was.out[0].meta.rank);
	if (!prog_infer_node(p, node, NULL) || n->out[0].storage != was.out[0].storage || !meta_identical(node_meta(p, node), &was.out[0].meta))
		*n = was;
}

bool pass_views(struct pure *g, struct err *err)
{
	for (int i = 0; i < g->p->nnode; i++) {
		if (!row_is_view(g->p, i))
			continue;
		int same = existing(g, i);
		if (same != NO_VALUE && !pure_replace(g, i, same, err))
			return false;
		if (same == NO_VALUE)
			made_of_first(g, i);
	}
	return true;
}
