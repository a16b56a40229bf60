/* rule_run.c: places operands, results and cotangents in a program of their own, lets the rule append, and takes what it gave. */
#include "eager/run/rule_run.h"

#include "eager/ops/execute.h"
#include "eager/ops/vjp.h"

/* What a rule gave, in space that comes zeroed. */
static void take(struct tensor *out, const struct execution *x, int value)
{
	if (out && value != NO_VALUE)
		tensor_copy(out, x->result[value]);
}

static void place_list(struct execution *x, struct vjp *v, const struct rule_call *c, int k)
{
	const int n = c->n->arg[k].n;
	bool *want = ARENA_ZNEW(x->a, bool, MAX(n, 1));
	v->grad_list[k] = ARENA_NEW(x->a, int, MAX(n, 1));
	for (int i = 0; i < n; i++) {
		want[i] = c->glist[k] && c->glist[k][i];
		v->grad_list[k][i] = NO_VALUE;
	}
	v->list[k] = execution_list(x, c->n, k, c->list[k]);
	v->want_list[k] = want;
}

static void place_all(struct execution *x, struct vjp *v, const struct rule_call *c)
{
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		v->in[k] = execution_operand(x, c->n, k, c->in[k]);
		v->want[k] = c->gin[k] != NULL;
		if (c->n->arg[k].tag == ARG_TENSORS)
			place_list(x, v, c, k);
	}
	for (int k = 0; k < c->nout; k++) {
		const bool arrived = (!c->arrived || c->arrived[k] || c->nout == 1) && !c->out[k].meta.absent;
		v->out[k] = c->out[k].meta.absent ? NO_VALUE : execution_place(x, &c->out[k]);
		v->g[k] = arrived && dtype_is_float(c->out[k].meta.dtype) ? execution_place(x, &c->gout[k]) : NO_VALUE;
	}
}

bool rule_run(struct rule_call *c, struct err *err)
{
	struct execution *x = ARENA_NEW(c->scratch, struct execution, 1);
	struct vjp v = {.b = &x->b, .n = c->n, .nout = c->nout};
	execution_begin(x, c->scratch, true);
	place_all(x, &v, c);
	vjp_apply(&v);
	if (x->b.refusal.msg[0])
		return err_set(err, "RuntimeError: %s", x->b.refusal.msg);
	if (x->raised)
		BUG("a derivative of %s: %s", op_info[c->n->op].name, x->err.msg);
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		take(c->gin[k], x, v.grad[k]);
		for (int i = 0; c->glist[k] && i < c->n->arg[k].n; i++)
			take(c->glist[k][i], x, v.grad_list[k][i]);
	}
	return true;
}
