/* rule_run.c: see rule_run.h. */
#include "eager/run/rule_run.h"

#include "eager/ops/vjp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* The program that one node's rule writes. Its first nodes stand for tensors that exist; nobody prints it. */
struct rule_program {
	struct build b;
	struct prog p;
	struct arena *a;
	struct tensor *result[MAX_NODES]; /* by node */
};

static int place(struct rule_program *r, const struct tensor *t)
{
	int node = prog_add(&r->p, OP_input, "");
	struct node *n = &r->p.node[node];
	n->nout = 1;
	n->out = ARENA_NEW(r->a, struct value, 1);
	n->out[0] = (struct value){.meta = t->meta, .storage = r->p.nstorage++};
	r->result[node] = ARENA_NEW(r->a, struct tensor, 1);
	r->result[node][0] = *t;
	return node;
}

static struct tensor *operand(const struct rule_program *r, const struct arg *a)
{
	if (a->tag == ARG_TENSOR)
		return r->result[a->node];
	struct tensor *number = ARENA_NEW(r->a, struct tensor, 1);
	tensor_number(number, &a->scalar, r->a);
	return number;
}

static void kernel(struct rule_program *r, int node)
{
	const struct node *n = &r->p.node[node];
	struct err err = {0};
	struct kern_ctx c = {.n = n, .out = r->result[node], .nout = n->nout, .scratch = r->a, .err = &err};
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR || (a->tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR))
			c.in[k] = operand(r, a);
		if (a->tag != ARG_TENSORS)
			continue;
		const struct tensor **list = ARENA_ZNEW(r->a, const struct tensor *, MAX(a->n, 1));
		for (int i = 0; i < a->n; i++)
			list[i] = a->nodes[i] < 0 ? NULL : r->result[a->nodes[i]];
		c.list[k] = list;
	}
	for (int k = 0; k < n->nout; k++)
		tensor_new(&r->result[node][k], &n->out[k].meta, r->a);
	if (!r->b.refusal.msg[0] && !op_kern[n->op](&c))
		BUG("a derivative: %s: %s", op_info[n->op].name, err.msg);
}

/* The operand whose memory a node's results share; NULL: none. */
static const struct tensor *shared(const struct rule_program *r, const struct node *n)
{
	const struct arg *self = &n->arg[A_viewed_self];
	if (n->op == OP_getitem)
		return &r->result[self->node][node_int(n, A_getitem_index)];
	return node_shares_memory(&r->p, n) ? r->result[self->node] : NULL;
}

static void execute(struct build *b, int node)
{
	struct rule_program *r = b->ctx;
	const struct node *n = &r->p.node[node];
	CHECK(!op_has(n->op, T_MUTATES));
	r->result[node] = ARENA_NEW(r->a, struct tensor, MAX(n->nout, 1));
	const struct tensor *base = shared(r, n);
	if (!base)
		kernel(r, node);
	for (int k = 0; base && k < n->nout; k++)
		r->result[node][k] = (struct tensor){n->out[k].meta, base->base};
}

static void rule_begin(struct rule_program *r, struct arena *a)
{
	r->a = a;
	r->b = (struct build){.p = &r->p, .unnamed = true, .may_refuse = true, .run = execute, .ctx = r};
	prog_init(&r->p, a);
	r->p.nstorage = MAX_NODES;
}

/* What a rule gave, in space that comes zeroed. */
static void take(struct tensor *out, const struct rule_program *r, int value)
{
	if (out && value != NO_VALUE)
		tensor_copy(out, r->result[value]);
}

static void place_list(struct rule_program *r, struct vjp *v, const struct rule_call *c, int k)
{
	const int n = c->n->arg[k].n;
	int *list = ARENA_NEW(r->a, int, MAX(n, 1));
	bool *want = ARENA_ZNEW(r->a, bool, MAX(n, 1));
	v->grad_list[k] = ARENA_NEW(r->a, int, MAX(n, 1));
	for (int i = 0; i < n; i++) {
		list[i] = c->list[k][i] ? place(r, c->list[k][i]) : NO_VALUE;
		want[i] = c->glist[k] && c->glist[k][i];
		v->grad_list[k][i] = NO_VALUE;
	}
	v->list[k] = list;
	v->want_list[k] = want;
}

static void place_all(struct rule_program *r, struct vjp *v, const struct rule_call *c)
{
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		const struct arg *a = &c->n->arg[k];
		v->in[k] = !c->in[k] ? NO_VALUE : a->tag == ARG_SCALAR ? build_number(&r->b, a->scalar) : place(r, c->in[k]);
		v->want[k] = c->gin[k] != NULL;
		if (a->tag == ARG_TENSORS)
			place_list(r, v, c, k);
	}
	for (int k = 0; k < c->nout; k++) {
		bool arrived = !c->arrived || c->arrived[k] || c->nout == 1;
		v->out[k] = place(r, &c->out[k]);
		v->g[k] = arrived && dtype_is_float(c->out[k].meta.dtype) ? place(r, &c->gout[k]) : NO_VALUE;
	}
}

bool rule_run(struct rule_call *c, struct err *err)
{
	struct rule_program *r = ARENA_NEW(c->scratch, struct rule_program, 1);
	struct vjp v = {.b = &r->b, .n = c->n, .nout = c->nout};
	rule_begin(r, c->scratch);
	place_all(r, &v, c);
	vjp_apply(&v);
	if (r->b.refusal.msg[0]) {
		const char *text = strstr(r->b.refusal.msg, ": "); /* after our row's name */
		return err_set(err, "RuntimeError: %s", text ? text + 2 : r->b.refusal.msg);
	}
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		take(c->gin[k], r, v.grad[k]);
		for (int i = 0; c->glist[k] && i < c->n->arg[k].n; i++)
			take(c->glist[k][i], r, v.grad_list[k][i]);
	}
	return true;
}
