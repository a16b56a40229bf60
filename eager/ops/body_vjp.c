/* body_vjp.c: the derivative of a row whose body is composed of rows that have one. The body's rows are appended once more and
 * differentiated in reverse order, each by its own rule, as PyTorch does with an operator that is composed of others. A row of the body
 * that is a result of the row itself is not computed anew where the result was kept. */
#include "eager/ops/body.h"

#include "eager/ops/rules.h"
#include "eager/ops/vjp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct reverse {
	struct vjp *v;
	struct build *b;
	int first, end;        /* the body's rows */
	bool needs[MAX_NODES]; /* does a wanted operand reach the value? */
	int kept[MAX_NODES];   /* the value that stands for a row's: itself, or the result that was kept */
	int (*cot)[MAX_OUTS];  /* by node and result; NO_VALUE: none arrived */
};

static void arrive(struct reverse *r, int node, int k, int cotangent)
{
	int *at = &r->cot[node][k];
	if (cotangent != NO_VALUE)
		*at = *at == NO_VALUE ? cotangent : emit_add_Tensor(r->b, *at, cotangent, scalar_int(1));
}

static bool any_needs(const struct reverse *r, const struct node *n)
{
	bool any = false;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		any |= a->tag == ARG_TENSOR && r->needs[a->node];
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			any |= a->nodes[i] >= 0 && r->needs[a->nodes[i]];
	}
	return any;
}

static void mark_wanted(struct reverse *r)
{
	const struct vjp *v = r->v;
	for (int k = 0; k < op_info[v->n->op].nparam; k++) {
		if (v->want[k])
			r->needs[v->in[k]] = true;
		for (int i = 0; v->want_list[k] && i < v->n->arg[k].n; i++)
			if (v->want_list[k][i])
				r->needs[v->list[k][i]] = true;
	}
	for (int i = r->first; i < r->end; i++) {
		const struct node *n = &r->b->p->node[i];
		r->needs[i] = !node_is_constant(r->b->p, n) && any_needs(r, n);
	}
}

/* Operand k of a row of the body, which is the row w->n. */
static void operand(struct reverse *r, struct vjp *w, int k)
{
	const struct arg *a = &w->n->arg[k];
	struct arena *arena = r->b->p->arena;
	w->in[k] = NO_VALUE;
	if (a->tag == ARG_TENSOR) {
		w->in[k] = r->kept[a->node];
		w->want[k] = r->needs[a->node] && dtype_is_float(build_meta(r->b, a->node)->dtype);
	} else if (a->tag == ARG_SCALAR && op_info[w->n->op].param[k].kind == K_TENSOR) {
		w->in[k] = build_number(r->b, a->scalar);
	} else if (a->tag == ARG_TENSORS) {
		int *list = ARENA_NEW(arena, int, a->n);
		bool *want = ARENA_ZNEW(arena, bool, a->n);
		w->grad_list[k] = ARENA_NEW(arena, int, a->n);
		for (int i = 0; i < a->n; i++) {
			list[i] = a->nodes[i] < 0 ? NO_VALUE : r->kept[a->nodes[i]];
			want[i] = a->nodes[i] >= 0 && r->needs[a->nodes[i]];
			w->grad_list[k][i] = NO_VALUE;
		}
		w->list[k] = list;
		w->want_list[k] = want;
	}
}

static void sweep_row(struct reverse *r, int i)
{
	const struct node n = r->b->p->node[i]; /* a copy: rules append */
	struct vjp w = {.b = r->b, .n = &n, .nout = n.nout};
	bool any = false;
	for (int k = 0; k < n.nout; k++) {
		w.g[k] = r->cot[i][k];
		w.out[k] = n.nout == 1 ? r->kept[i] : NO_VALUE;
		any |= w.g[k] != NO_VALUE;
	}
	if (!any || !r->needs[i])
		return;
	if (n.op == OP_getitem) {
		arrive(r, n.arg[A_getitem_self].node, (int)node_int(&n, A_getitem_index), w.g[0]);
		return;
	}
	for (int k = 0; k < op_info[n.op].nparam; k++)
		operand(r, &w, k);
	vjp_apply(&w);
	for (int k = 0; k < op_info[n.op].nparam; k++) {
		if (w.want[k])
			arrive(r, n.arg[k].node, 0, w.grad[k]);
		for (int j = 0; w.want_list[k] && j < n.arg[k].n; j++)
			if (w.want_list[k][j])
				arrive(r, n.arg[k].nodes[j], 0, w.grad_list[k][j]);
	}
}

static bool append_body(struct reverse *r, struct body *x)
{
	r->first = r->b->p->nnode;
	for (int k = 0; k < op_info[x->n->op].nparam; k++) {
		x->in[k] = r->v->in[k];
		x->list[k] = r->v->list[k];
	}
	const bool ok = body_append(x);
	r->end = r->b->p->nnode;
	for (int i = 0; i < r->end; i++)
		r->kept[i] = i;
	for (int k = 0; k < r->v->nout && ok; k++)
		if (x->out[k] >= r->first && r->v->out[k] != NO_VALUE)
			r->kept[x->out[k]] = r->v->out[k];
	return ok;
}

void body_vjp(struct vjp *v)
{
	struct arena *a = v->b->p->arena;
	struct reverse *r = ARENA_ZNEW(a, struct reverse, 1);
	struct body x = {.b = v->b, .n = v->n};
	r->v = v;
	r->b = v->b;
	if (!append_body(r, &x))
		return;
	r->cot = arena_alloc(a, (size_t)r->end * sizeof *r->cot);
	for (int i = 0; i < r->end; i++)
		for (int k = 0; k < MAX_OUTS; k++)
			r->cot[i][k] = NO_VALUE;
	mark_wanted(r);
	for (int k = 0; k < v->nout; k++)
		if (x.out[k] != NO_VALUE)
			arrive(r, x.out[k], 0, v->g[k]);
	for (int i = r->end - 1; i >= r->first; i--)
		sweep_row(r, i);
	for (int k = 0; k < op_info[v->n->op].nparam; k++) {
		if (v->want[k]) { /* of an operand that is two arguments: once */
			v->grad[k] = r->cot[v->in[k]][0];
			r->cot[v->in[k]][0] = NO_VALUE;
		}
		for (int i = 0; v->want_list[k] && i < v->n->arg[k].n; i++)
			if (v->want_list[k][i]) {
				v->grad_list[k][i] = r->cot[v->list[k][i]][0];
				r->cot[v->list[k][i]][0] = NO_VALUE;
			}
	}
}
