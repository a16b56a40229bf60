/* cse.c: common subexpressions. No row draws random numbers, so the same row of the same operands gives the same bits. Two results keep
 * memory of their own (pure_may_share). */
#include "compiled/passes/pass.h"

/* Bit for bit: 0.0 and -0.0 are two numbers. */
static bool same_scalar(const struct scalar *a, const struct scalar *b)
{
	return a->kind == b->kind && (a->kind == SC_FLOAT ? memcmp(&a->f, &b->f, sizeof a->f) == 0 : a->i == b->i);
}

bool arg_same(const struct arg *a, const struct arg *b)
{
	if (a->tag != b->tag)
		return false;
	switch (a->tag) {
	case ARG_NONE: return true;
	case ARG_TENSOR: return a->node == b->node;
	case ARG_TENSORS: return a->n == b->n && memcmp(a->nodes, b->nodes, (size_t)a->n * sizeof *a->nodes) == 0;
	case ARG_INT: return a->i.value == b->i.value;
	case ARG_INTS:
		for (int i = 0; a->n == b->n && i < a->n; i++)
			if (a->ints[i].value != b->ints[i].value)
				return false;
		return a->n == b->n;
	case ARG_SCALAR: return same_scalar(&a->scalar, &b->scalar);
	case ARG_BOOL: return a->b == b->b;
	case ARG_DTYPE: return a->dtype == b->dtype;
	case ARG_FORMAT: return a->format == b->format;
	case ARG_STR: return str_eq(a->str, b->str);
	case ARG_DATA: return false;
	}
	return false;
}

static bool same_row(const struct node *a, const struct node *b)
{
	if (a->op != b->op || a->nout != b->nout)
		return false;
	for (int k = 0; k < op_info[a->op].nparam; k++)
		if (!arg_same(&a->arg[k], &b->arg[k]))
			return false;
	return true;
}

bool pass_cse(struct pure *g, struct err *err)
{
	for (int i = 0; i < g->p->nnode; i++) {
		for (int j = 0; j < i; j++) {
			if (node_is_input(&g->p->node[i]) || !same_row(&g->p->node[i], &g->p->node[j]) || !pure_may_share(g, i, j))
				continue;
			if (!pure_replace(g, i, j, err))
				return false;
			break;
		}
	}
	return true;
}
