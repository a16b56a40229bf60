/* execute.c: a build that runs each row's kernel as the row comes; views share the memory of what they view. */
#include "eager/ops/execute.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

int execution_place(struct execution *x, const struct tensor *t)
{
	int node = prog_add(&x->p, OP_input, "");
	struct node *n = &x->p.node[node];
	n->nout = 1;
	n->out = ARENA_NEW(x->a, struct value, 1);
	n->out[0] = (struct value){.meta = t->meta, .storage = x->p.nstorage++};
	x->result[node] = ARENA_NEW(x->a, struct tensor, 1);
	x->result[node][0] = *t;
	return node;
}

int execution_operand(struct execution *x, const struct node *n, int k, const struct tensor *t)
{
	const struct arg *a = &n->arg[k];
	return !t ? NO_VALUE : a->tag == ARG_SCALAR ? build_number(&x->b, a->scalar) : execution_place(x, t);
}

int *execution_list(struct execution *x, const struct node *n, int k, const struct tensor *const *list)
{
	int *value = ARENA_NEW(x->a, int, MAX(n->arg[k].n, 1));
	for (int i = 0; i < n->arg[k].n; i++)
		value[i] = list[i] ? execution_place(x, list[i]) : NO_VALUE;
	return value;
}

static struct tensor *operand(const struct execution *x, const struct arg *a)
{
	if (a->tag == ARG_TENSOR)
		return x->result[a->node];
	struct tensor *number = ARENA_NEW(x->a, struct tensor, 1);
	tensor_number(number, &a->scalar, x->a);
	return number;
}

static void kernel(struct execution *x, int node)
{
	const struct node *n = &x->p.node[node];
	struct kern_ctx c = {.n = n, .out = x->result[node], .nout = n->nout, .scratch = x->a, .err = &x->err};
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR || (a->tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR))
			c.in[k] = operand(x, a);
		if (a->tag != ARG_TENSORS)
			continue;
		const struct tensor **list = ARENA_ZNEW(x->a, const struct tensor *, MAX(a->n, 1));
		for (int i = 0; i < a->n; i++)
			list[i] = a->nodes[i] < 0 ? NULL : x->result[a->nodes[i]];
		c.list[k] = list;
	}
	for (int k = 0; k < n->nout; k++)
		tensor_new(&x->result[node][k], &n->out[k].meta, x->a);
	if (!x->b.refusal.msg[0] && !x->raised)
		x->raised = !op_kern[n->op](&c);
}

/* The operand whose memory a node's results share; NULL: none. */
static const struct tensor *shared(const struct execution *x, const struct node *n)
{
	const struct arg *self = &n->arg[A_viewed_self];
	if (n->op == OP_getitem)
		return &x->result[self->node][node_int(n, A_getitem_index)];
	return node_shares_memory(&x->p, n) ? x->result[self->node] : NULL;
}

static void execute(struct build *b, int node)
{
	struct execution *x = b->ctx;
	const struct node *n = &x->p.node[node];
	CHECK(!op_has(n->op, T_MUTATES));
	x->result[node] = ARENA_NEW(x->a, struct tensor, MAX(n->nout, 1));
	const struct tensor *base = shared(x, n);
	if (!base)
		kernel(x, node);
	for (int k = 0; base && k < n->nout; k++)
		x->result[node][k] = (struct tensor){n->out[k].meta, base->base};
}

void execution_begin(struct execution *x, struct arena *a, bool data)
{
	x->a = a;
	x->raised = false;
	err_clear(&x->err);
	x->b = (struct build){.p = &x->p, .unnamed = true, .may_refuse = true, .run = data ? execute : NULL, .ctx = x};
	prog_init(&x->p, a);
	x->p.nstorage = MAX_NODES;
}
