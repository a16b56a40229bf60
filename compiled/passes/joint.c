/* joint.c: see joint.h. */
#include "compiled/passes/joint.h"

#include "eager/ops/vjp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct differentiation {
	struct build *b;
	int nforward;   /* rows of the forward part */
	bool *tracked;  /* by row: its floating results require grad */
	bool **reached; /* by row and result: a cotangent arrived */
	int **adjoint;  /* the cotangent, NO_VALUE: zeros that nothing computes */
};

/* A result that is read as an operand: of a row with several results, only through getitem. */
bool joint_requires_grad(const bool *tracked, const struct prog *p, int value)
{
	return value >= 0 && tracked[value] && dtype_is_float(node_meta(p, value)->dtype);
}

static bool any_operand_tracked(const bool *tracked, const struct prog *p, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR && (n->op == OP_getitem ? tracked[a->node] : joint_requires_grad(tracked, p, a->node)))
			return true;
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			if (joint_requires_grad(tracked, p, a->nodes[i]))
				return true;
	}
	return false;
}

bool *joint_tracked(const struct prog *p, struct arena *a)
{
	bool *tracked = ARENA_ZNEW(a, bool, p->nnode);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		bool of_operands = !node_is_input(n) && !node_is_constant(p, n); /* an input_view is a leaf of its own */
		tracked[i] = node_requires_grad(n) || (of_operands && any_operand_tracked(tracked, p, n));
	}
	return tracked;
}

static void begin(struct differentiation *d, struct build *b, struct arena *a)
{
	const struct prog *p = b->p;
	*d = (struct differentiation){.b = b, .nforward = p->nnode};
	d->tracked = joint_tracked(p, a);
	d->reached = ARENA_NEW(a, bool *, p->nnode);
	d->adjoint = ARENA_NEW(a, int *, p->nnode);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		d->reached[i] = ARENA_ZNEW(a, bool, MAX(n->nout, 1));
		d->adjoint[i] = ARENA_NEW(a, int, MAX(n->nout, 1));
		for (int k = 0; k < n->nout; k++)
			d->adjoint[i][k] = NO_VALUE;
	}
}

/* value: NO_VALUE for zeros. */
static void arrive(struct differentiation *d, int node, int k, int value)
{
	int *sum = &d->adjoint[node][k];
	d->reached[node][k] = true;
	if (value != NO_VALUE)
		*sum = *sum == NO_VALUE ? value : emit_add_Tensor(d->b, *sum, value, scalar_int(1));
}

/* The cotangent as a value that exists. */
static int cotangent(struct differentiation *d, int node, int k)
{
	if (d->adjoint[node][k] == NO_VALUE)
		d->adjoint[node][k] = vjp_zeros(d->b, &d->b->p->node[node].out[k].meta);
	return d->adjoint[node][k];
}

/* As a rule reads it. Rules scatter into cotangents; one whose elements share cells though no stride is 0 (unfold) would be written in
 * several places at once, and the rows do not see that it overlaps itself: PyTorch eager gives a wrong gradient there
 * (corpus/regressions/scatter_of_window_cotangent.prog), our eager never does, whose cotangents are contiguous. */
static int scatterable(struct build *b, int value)
{
	const struct meta *m = build_meta(b, value);
	return meta_has_duplicates(m) && !meta_overlaps_itself(m) ? emit_contiguous(b, value) : value;
}

static void operands(struct vjp *v, struct differentiation *d, struct arena *a)
{
	for (int k = 0; k < op_info[v->n->op].nparam; k++) {
		const struct arg *arg = &v->n->arg[k];
		v->in[k] = NO_VALUE;
		if (arg->tag == ARG_TENSOR) {
			v->in[k] = arg->node;
			v->want[k] = joint_requires_grad(d->tracked, d->b->p, arg->node);
		} else if (arg->tag == ARG_SCALAR && op_info[v->n->op].param[k].kind == K_TENSOR) {
			v->in[k] = build_number(d->b, arg->scalar);
		} else if (arg->tag == ARG_TENSORS) {
			bool *want = ARENA_ZNEW(a, bool, MAX(arg->n, 1));
			v->list[k] = arg->nodes;
			v->grad_list[k] = ARENA_NEW(a, int, MAX(arg->n, 1));
			for (int i = 0; i < arg->n; i++) {
				want[i] = joint_requires_grad(d->tracked, d->b->p, arg->nodes[i]);
				v->grad_list[k][i] = NO_VALUE;
			}
			v->want_list[k] = want;
		}
	}
}

static void differentiate(struct differentiation *d, int node, struct arena *a)
{
	const struct node *n = memcpy(ARENA_NEW(a, struct node, 1), &d->b->p->node[node], sizeof *n); /* rows move while more come */
	struct vjp v = {.b = d->b, .n = n, .nout = n->nout};
	d->b->nnumber = 0;
	operands(&v, d, a);
	for (int k = 0; k < n->nout; k++) {
		v.out[k] = op_info[n->op].nret == 1 ? node : NO_VALUE;
		v.g[k] = d->reached[node][k] ? scatterable(d->b, cotangent(d, node, k)) : NO_VALUE;
		if (op_info[n->op].nret != 1)
			v.out[k] = build_result(d->b, node, k);
	}
	vjp_apply(&v);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (v.want[k])
			arrive(d, n->arg[k].node, 0, v.grad[k]);
		for (int i = 0; v.want_list[k] && i < n->arg[k].n; i++)
			if (v.want_list[k][i])
				arrive(d, n->arg[k].nodes[i], 0, v.grad_list[k][i]);
	}
}

static bool any_reached(const struct differentiation *d, int node)
{
	for (int k = 0; k < d->b->p->node[node].nout; k++)
		if (d->reached[node][k])
			return true;
	return false;
}

enum { MOST_APPENDED = 4 * MAX_OUTS + 32 }; /* rows, by one derivative rule and what stands around it */

/* From the last forward row to the first. getitem hands its cotangent to the result that it names. */
static bool sweep(struct differentiation *d, struct arena *a, struct err *err)
{
	for (int i = d->nforward - 1; i >= 0; i--) {
		const struct node *n = &d->b->p->node[i];
		if (!any_reached(d, i) || node_is_input(n))
			continue;
		if (n->op == OP_getitem) {
			arrive(d, n->arg[A_getitem_self].node, (int)node_int(n, A_getitem_index), d->adjoint[i][0]);
			continue;
		}
		if (!op_vjp[n->op])
			return err_set(err, "%s has no derivative rule", op_info[n->op].name);
		if (d->b->p->nnode > MAX_NODES - MOST_APPENDED)
			return err_set(err, "the backward part has too many rows");
		differentiate(d, i, a);
	}
	return true;
}

bool joint_append(struct joint *out, struct functional *f, struct arena *a, struct err *err)
{
	struct differentiation d;
	f->b.may_refuse = true;
	begin(&d, &f->b, a);
	*out = (struct joint){.requires_grad = d.tracked};
	for (int i = 0; i < f->nback; i++)
		arrive(&d, f->back[i].node, 0, f->back[i].cotangent);
	if (!sweep(&d, a, err))
		return false;
	if (f->b.refusal.msg[0])
		return err_set(err, "a derivative is refused: %s", f->b.refusal.msg);
	for (int i = 0; f->from->nback && i < d.nforward; i++) {
		if (!node_requires_grad(&f->p.node[i]))
			continue;
		if (out->ngrad == MAX_RETURNS)
			return err_set(err, "too many inputs require grad");
		out->grad[out->ngrad++] = d.reached[i][0] ? cotangent(&d, i, 0) : NO_VALUE;
	}
	return true;
}
