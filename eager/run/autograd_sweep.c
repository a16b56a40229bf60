/* autograd_sweep.c: the backward sweep over adjoint memory (see autograd.h). */
#include "eager/run/autograd.h"
#include "eager/ops/vjp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static size_t cell_bytes(enum dtype t) { return t == DT_F64 ? 8 : 4; }

/* A cell that nothing arrived at holds all ones, a NaN that no arithmetic makes, and is read as 0: so that the first cotangent is
 * taken over as it is, sign of zero and NaN payload included, instead of being added to 0. */
static float sum32(float cell, float x)
{
	uint32_t bits;
	memcpy(&bits, &cell, 4);
	return bits == UINT32_MAX ? x : cell + x;
}

static double sum64(double cell, double x)
{
	uint64_t bits;
	memcpy(&bits, &cell, 8);
	return bits == UINT64_MAX ? x : cell + x;
}

static void *adjoint(struct graph *g, const struct var *v)
{
	struct root *r = &g->root[v->root];
	if (!r->adjoint) {
		size_t nbytes = mul_size((size_t)r->ncells, cell_bytes(v->meta.dtype));
		r->adjoint = memset(arena_alloc(g->a, nbytes), 0xff, nbytes);
	}
	return r->adjoint;
}

/* Splits a meta into its last dimension and the rest, so that the odometer turns once per row. */
struct adjoint_rows {
	struct meta outer;
	int64_t n, stride;
};

static struct adjoint_rows rows_of(const struct meta *m)
{
	struct adjoint_rows r = {.outer = *m, .n = 1};
	if (m->rank) {
		r.outer.rank--;
		r.n = m->size[m->rank - 1];
		r.stride = m->stride[m->rank - 1];
	}
	return r;
}

/* The root's adjoint cell, from an offset in v->adj. */
static int64_t cell(const struct var *v, int64_t off) { return v->map ? v->map[off] : off; }

/* adjoint cells (through v) += t, or = t. t is of v's sizes and dtype. */
static void adjoint_put(struct graph *g, const struct var *v, const struct tensor *t, bool add)
{
	CHECK(meta_same_sizes(&v->adj, &t->meta) && v->meta.dtype == t->meta.dtype);
	if (meta_numel(&v->adj) == 0)
		return;
	float *f32 = adjoint(g, v);
	double *f64 = (double *)g->root[v->root].adjoint;
	bool wide = v->meta.dtype == DT_F64;
	enum dtype from = t->meta.dtype;
	size_t nbytes = (size_t)dtype_nbytes(from);
	const unsigned char *src = t->base + (size_t)t->meta.offset * nbytes;
	struct adjoint_rows r = rows_of(&v->adj);
	struct meta_iter it;
	meta_iter_start(&it, &r.outer);
	do {
		int64_t off = it.off;
		if (from == DT_F32 && !v->map) { /* the common case, without a call per element */
			for (int64_t i = 0; i < r.n; i++, off += r.stride, src += 4) {
				float x;
				memcpy(&x, src, 4);
				f32[off] = add ? sum32(f32[off], x) : x;
			}
			continue;
		}
		for (int64_t i = 0; i < r.n; i++, off += r.stride, src += nbytes) {
			int64_t c = cell(v, off);
			double x = dtype_load_f(from, src);
			if (wide)
				f64[c] = add ? sum64(f64[c], x) : x;
			else
				f32[c] = add ? sum32(f32[c], (float)x) : (float)x;
		}
	} while (meta_iter_next(&it, &r.outer));
}

static void adjoint_zero(struct graph *g, const struct var *v)
{
	if (meta_numel(&v->adj) == 0 || !g->root[v->root].adjoint)
		return;
	unsigned char *base = g->root[v->root].adjoint;
	size_t nbytes = cell_bytes(v->meta.dtype);
	struct meta_iter it;
	meta_iter_start(&it, &v->adj);
	do
		memset(base + (size_t)cell(v, it.off) * nbytes, 0, nbytes);
	while (meta_iter_next(&it, &v->adj));
}

/* The cotangent of v, rounded to its dtype; out has v's sizes, any strides, and comes zeroed. */
static void adjoint_get(struct tensor *out, const struct graph *g, const struct var *v)
{
	const unsigned char *base = g->root[v->root].adjoint;
	if (meta_numel(&v->adj) == 0 || !base)
		return;
	enum dtype t = v->meta.dtype, wide = t == DT_F64 ? DT_F64 : DT_F32;
	size_t nbytes = cell_bytes(t);
	static const unsigned char nothing[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct adjoint_rows r = rows_of(&v->adj), w = rows_of(&out->meta);
	struct meta_iter it, to;
	meta_iter_start(&it, &r.outer);
	meta_iter_start(&to, &w.outer);
	do {
		int64_t off = it.off;
		unsigned char *dst = tensor_at(out, to.off);
		ptrdiff_t step = (ptrdiff_t)w.stride * dtype_nbytes(t);
		for (int64_t i = 0; i < r.n; i++, off += r.stride) {
			const unsigned char *src = base + (size_t)cell(v, off) * nbytes;
			if (memcmp(src, nothing, nbytes) == 0)
				continue;
			if (t == DT_F32)
				memcpy(dst + i * step, src, 4);
			else
				dtype_store_f(t, dst + i * step, dtype_load_f(wide, src));
		}
	} while (meta_iter_next(&it, &r.outer) && meta_iter_next(&to, &w.outer));
}

static void new_like(struct tensor *out, const struct meta *m, struct arena *a)
{
	struct meta c;
	meta_make_contiguous(&c, m->dtype, m->size, m->rank);
	tensor_new(out, &c, a);
}

static void mark_reached(struct graph *g, int root, int fn)
{
	if (fn == FN_LEAF)
		g->root[root].reached = true;
	else if (fn >= 0)
		g->fn[fn].reached = true;
}

static enum step saved_check(const struct graph *g, int node, struct err *err)
{
	const struct fn *f = &g->fn[node];
	for (int s = 0; s < f->nsave; s++) {
		int64_t now = *graph_version(g, f->save[s].root);
		if (now == f->save[s].version)
			continue;
		err_set(err,
			"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
			"saved by %s at version %lld; is at version %lld",
			g->p->node[node].name, (long long)f->save[s].version, (long long)now);
		return STEP_RAISED;
	}
	return STEP_OK;
}

/* ---- rules: what they append is executed as it comes ------------------------------------------------------------------ */

/* The program that one node's rule writes. Its first nodes stand for tensors that exist; nobody prints it. */
struct rule_run {
	struct build b;
	struct prog p;
	struct arena *a;
	struct tensor *result[MAX_NODES]; /* by node */
};

static int place(struct rule_run *r, const struct tensor *t)
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

static struct tensor *operand(const struct rule_run *r, const struct arg *a)
{
	if (a->tag == ARG_TENSOR)
		return r->result[a->node];
	struct tensor *number = ARENA_NEW(r->a, struct tensor, 1);
	tensor_number(number, &a->scalar, r->a);
	return number;
}

static void kernel(struct rule_run *r, int node)
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

/* The operand whose memory result k of a node shares; NULL: none. */
static const struct tensor *shared(const struct rule_run *r, const struct node *n, int k)
{
	const struct arg *self = &n->arg[A_viewed_self];
	if (n->op == OP_getitem)
		return &r->result[self->node][node_int(n, A_getitem_index)];
	if (op_has(n->op, T_VIEW) || (op_has(n->op, T_MAYBE_VIEW) && n->out[k].storage == r->p.node[self->node].out[0].storage))
		return r->result[self->node];
	return NULL;
}

static void execute(struct build *b, int node)
{
	struct rule_run *r = b->ctx;
	const struct node *n = &r->p.node[node];
	CHECK(!op_has(n->op, T_MUTATES));
	r->result[node] = ARENA_NEW(r->a, struct tensor, MAX(n->nout, 1));
	if (!shared(r, n, 0))
		kernel(r, node);
	for (int k = 0; k < n->nout; k++) {
		const struct tensor *base = shared(r, n, k);
		if (base)
			r->result[node][k] = (struct tensor){n->out[k].meta, base->base};
	}
}

static void rule_begin(struct rule_run *r, struct arena *a)
{
	r->a = a;
	r->b = (struct build){.p = &r->p, .unnamed = true, .may_refuse = true, .run = execute, .ctx = r};
	prog_init(&r->p, a);
	r->p.nstorage = MAX_NODES;
}

/* An operand's value: what is saved, or only its meta (a rule does not read values that `saves` does not list). */
static int place_operand(struct rule_run *r, struct graph *g, int node, int k)
{
	const struct arg *a = &g->p->node[node].arg[k];
	struct tensor t;
	if (a->tag == ARG_SCALAR)
		return build_number(&r->b, a->scalar);
	graph_tensor(&t, g, a->node, 0);
	return place(r, k == 0 && g->fn[node].self_before ? g->fn[node].self_before : &t);
}

static void place_list(struct rule_run *r, struct vjp *v, struct graph *g, int k)
{
	const struct arg *a = &v->n->arg[k];
	int *list = ARENA_NEW(r->a, int, MAX(a->n, 1));
	v->grad_list[k] = ARENA_NEW(r->a, int, MAX(a->n, 1));
	for (int i = 0; i < a->n; i++) {
		struct tensor t;
		list[i] = v->grad_list[k][i] = NO_VALUE;
		if (a->nodes[i] < 0)
			continue;
		graph_tensor(&t, g, a->nodes[i], 0);
		list[i] = place(r, &t);
	}
	v->list[k] = list;
}

static void place_results(struct rule_run *r, struct vjp *v, struct graph *g, int node)
{
	for (int k = 0; k < v->nout; k++) {
		const struct var *var = &g->var[g->var_of[node][k]];
		struct tensor t;
		graph_tensor(&t, g, node, k);
		v->out[k] = place(r, &t);
		v->g[k] = NO_VALUE;
		bool arrived = g->root[var->root].adjoint != NULL;
		if (!dtype_is_float(t.meta.dtype) || (v->nout > 1 && !arrived))
			continue;
		struct tensor cotangent;
		new_like(&cotangent, &t.meta, r->a);
		adjoint_get(&cotangent, g, var);
		v->g[k] = place(r, &cotangent);
	}
}

static void wanted(struct vjp *v, const struct graph *g, int node, struct arena *a)
{
	const struct fn *f = &g->fn[node];
	bool *list[MAX_ARGS] = {0};
	for (int e = 0; e < f->nedge; e++) {
		int k = f->edge[e].arg;
		if (f->edge[e].entry < 0) {
			v->want[k] = true;
			continue;
		}
		if (!list[k])
			list[k] = ARENA_ZNEW(a, bool, v->n->arg[k].n);
		list[k][f->edge[e].entry] = true;
	}
	for (int k = 0; k < MAX_ARGS; k++)
		v->want_list[k] = list[k];
}

static void run_rule(struct rule_run *r, struct vjp *v, struct graph *g, int node, struct arena *s)
{
	const struct node *n = &g->p->node[node];
	rule_begin(r, s);
	*v = (struct vjp){.b = &r->b, .n = n, .nout = n->nout};
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		v->in[k] = NO_VALUE;
		if (n->arg[k].tag == ARG_TENSOR || (n->arg[k].tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR))
			v->in[k] = place_operand(r, g, node, k);
		else if (n->arg[k].tag == ARG_TENSORS)
			place_list(r, v, g, k);
	}
	place_results(r, v, g, node);
	wanted(v, g, node, s);
	vjp_apply(v);
}

/* The gradient as a contiguous tensor; zeros where the rule computed none. */
static void given(struct tensor *out, const struct rule_run *r, int value, const struct meta *operand, struct arena *a)
{
	new_like(out, operand, a);
	if (value != NO_VALUE)
		tensor_copy(out, r->result[value]);
}

void graph_rule(struct grad_ctx *c)
{
	struct rule_run *r = ARENA_NEW(c->scratch, struct rule_run, 1);
	struct vjp v = {.b = &r->b, .n = c->n, .nout = c->nout};
	rule_begin(r, c->scratch);
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		const struct arg *a = &c->n->arg[k];
		v.in[k] = !c->in[k] ? NO_VALUE : a->tag == ARG_SCALAR ? build_number(&r->b, a->scalar) : place(r, c->in[k]);
		v.want[k] = c->gin[k] != NULL;
		if (a->tag != ARG_TENSORS)
			continue;
		int *list = ARENA_NEW(r->a, int, MAX(a->n, 1));
		bool *want = ARENA_ZNEW(r->a, bool, MAX(a->n, 1));
		for (int i = 0; i < a->n; i++) {
			list[i] = c->list[k][i] ? place(r, c->list[k][i]) : NO_VALUE;
			want[i] = c->glist[k] && c->glist[k][i];
		}
		v.list[k] = list;
		v.want_list[k] = want;
		v.grad_list[k] = memset(ARENA_NEW(r->a, int, MAX(a->n, 1)), 0xff, sizeof(int) * (size_t)MAX(a->n, 1));
	}
	for (int k = 0; k < c->nout; k++) {
		v.out[k] = place(r, &c->out[k]);
		v.g[k] = (!c->arrived || c->arrived[k]) && dtype_is_float(c->out[k].meta.dtype) ? place(r, &c->gout[k]) : NO_VALUE;
	}
	vjp_apply(&v);
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		if (c->gin[k])
			given(c->gin[k], r, v.grad[k], &c->in[k]->meta, c->scratch);
		for (int i = 0; c->glist[k] && i < c->n->arg[k].n; i++)
			if (c->glist[k][i])
				given(c->glist[k][i], r, v.grad_list[k][i], &c->list[k][i]->meta, c->scratch);
	}
}

/* Operands as the derivative sees them, space for what it gives. */
static void context(struct grad_ctx *c, struct graph *g, int node, struct arena *s)
{
	const struct node *n = &g->p->node[node];
	struct fn *f = &g->fn[node];
	*c = (struct grad_ctx){.n = n, .nout = n->nout, .scratch = s};
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR) {
			struct tensor *t = ARENA_NEW(s, struct tensor, 1);
			graph_tensor(t, g, a->node, 0);
			c->in[k] = k == 0 && f->self_before ? f->self_before : t;
		} else if (a->tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR) {
			struct tensor *t = ARENA_NEW(s, struct tensor, 1);
			tensor_number(t, &a->scalar, s);
			c->in[k] = t;
		} else if (a->tag == ARG_TENSORS) {
			struct tensor *t = ARENA_NEW(s, struct tensor, a->n);
			const struct tensor **list = ARENA_ZNEW(s, const struct tensor *, a->n);
			for (int i = 0; i < a->n; i++)
				if (a->nodes[i] >= 0) {
					graph_tensor(&t[i], g, a->nodes[i], 0);
					list[i] = &t[i];
				}
			c->list[k] = list;
			c->glist[k] = ARENA_ZNEW(s, struct tensor *, a->n);
		}
	}
	struct tensor *out = ARENA_NEW(s, struct tensor, n->nout), *gout = ARENA_NEW(s, struct tensor, n->nout);
	bool *arrived = ARENA_NEW(s, bool, n->nout);
	for (int k = 0; k < n->nout; k++) {
		graph_tensor(&out[k], g, node, k);
		new_like(&gout[k], &out[k].meta, s);
		arrived[k] = g->root[g->var[g->var_of[node][k]].root].adjoint != NULL;
		if (dtype_is_float(out[k].meta.dtype))
			adjoint_get(&gout[k], g, &g->var[g->var_of[node][k]]);
	}
	c->out = out;
	c->gout = gout;
	c->arrived = arrived;
	for (int e = 0; e < f->nedge; e++) {
		struct tensor *t = ARENA_NEW(s, struct tensor, 1);
		new_like(t, &g->var[f->edge[e].var].meta, s);
		if (f->edge[e].entry < 0)
			c->gin[f->edge[e].arg] = t;
		else
			c->glist[f->edge[e].arg][f->edge[e].entry] = t;
	}
}

static enum step gradients(struct tensor *grad, struct graph *g, int node, struct arena *s, struct err *err)
{
	const struct fn *f = &g->fn[node];
	if (!op_vjp[g->p->node[node].op]) {
		struct grad_ctx c;
		context(&c, g, node, s);
		op_grad[g->p->node[node].op](&c);
		for (int e = 0; e < f->nedge; e++)
			grad[e] = f->edge[e].entry < 0 ? *c.gin[f->edge[e].arg] : *c.glist[f->edge[e].arg][f->edge[e].entry];
		return STEP_OK;
	}
	struct rule_run r;
	struct vjp v;
	run_rule(&r, &v, g, node, s);
	if (r.b.refusal.msg[0]) {
		const char *text = strstr(r.b.refusal.msg, ": "); /* after our row's name */
		err_set(err, "RuntimeError: %s", text ? text + 2 : r.b.refusal.msg);
		return STEP_RAISED;
	}
	for (int e = 0; e < f->nedge; e++) {
		const struct edge *x = &f->edge[e];
		given(&grad[e], &r, x->entry < 0 ? v.grad[x->arg] : v.grad_list[x->arg][x->entry], &g->var[x->var].meta, s);
	}
	return STEP_OK;
}

static const struct tensor *gradient_of(const struct fn *f, const struct tensor *grad, int arg)
{
	int e = 0;
	while (f->edge[e].arg != arg)
		e++;
	return &grad[e];
}

static enum step sweep_node(struct graph *g, int node, struct arena *s, struct err *err)
{
	const struct node *n = &g->p->node[node];
	struct fn *f = &g->fn[node];
	enum step step = saved_check(g, node, err);
	if (step != STEP_OK)
		return step;
	/* PyTorch writes the cotangent of the old value into the region of a base's gradient with copy_, which refuses stride 0. */
	const struct var *self = op_has(n->op, T_MUTATES) ? &g->var[g->var_of[node][0]] : NULL;
	if (self && f->self_had_grad && self->view && meta_overlaps_itself(&self->meta)) {
		err_set(err,
			"RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single memory "
			"location. Please clone() the tensor before performing the operation.");
		return STEP_RAISED;
	}
	if (!op_grad[n->op] && !op_vjp[n->op]) {
		err_set(err, "%s has no derivative yet", op_info[n->op].name);
		return STEP_UNSUPPORTED;
	}
	if (!graph_source_ok(g, node, err))
		return STEP_RAISED;
	struct tensor *grad = ARENA_NEW(s, struct tensor, MAX(f->nedge, 1)); /* by edge */
	step = gradients(grad, g, node, s, err);
	if (step != STEP_OK)
		return step;
	/* The region that was written: what it was before takes the place of what it is, then the other operands add. */
	if (self) {
		adjoint_zero(g, self);
		if (f->self_had_grad)
			adjoint_put(g, self, gradient_of(f, grad, A_INPLACE_self), false);
	}
	for (int e = 0; e < f->nedge; e++) {
		const struct edge *x = &f->edge[e];
		mark_reached(g, g->var[x->var].root, x->fn);
		if (!(self && x->arg == 0))
			adjoint_put(g, &g->var[x->var], &grad[e], true);
	}
	return STEP_OK;
}

/* What torch.autograd.backward checks of its arguments. */
static enum step seed(struct graph *g, const struct cotangent *cot, int i, struct err *err)
{
	const struct var *v = &g->var[g->var_of[cot->node][0]];
	const struct root *r = &g->root[v->root];
	if (r->fn == FN_NONE) {
		err_set(err, "RuntimeError: element %d of tensors does not require grad and does not have a grad_fn", i);
		return STEP_RAISED;
	}
	if (!graph_history_ok(g, g->var_of[cot->node][0], err))
		return STEP_RAISED;
	if (v->opaque) {
		err_set(err, "no gradient through %s", v->opaque);
		return STEP_UNSUPPORTED;
	}
	return STEP_OK;
}

enum step graph_backward(struct graph *g, const struct cotangent *cot, int n, struct arena *scratch, struct err *err)
{
	for (int i = 0; i < n; i++) {
		enum step step = seed(g, &cot[i], i, err);
		if (step != STEP_OK)
			return step;
	}
	struct arena_mark mark = arena_mark(scratch);
	for (int i = 0; i < n; i++) {
		const struct var *v = &g->var[g->var_of[cot[i].node][0]];
		struct tensor t;
		new_like(&t, &v->meta, scratch);
		tensor_copy(&t, &cot[i].value);
		adjoint_put(g, v, &t, true);
		mark_reached(g, v->root, g->root[v->root].fn);
	}
	arena_release(scratch, mark);
	for (int node = g->p->nnode - 1; node >= 0; node--) {
		if (!g->fn[node].reached)
			continue;
		mark = arena_mark(scratch);
		enum step step = sweep_node(g, node, scratch, err);
		arena_release(scratch, mark);
		if (step != STEP_OK)
			return step;
	}
	return STEP_OK;
}

bool graph_grad(struct tensor *out, const struct graph *g, int node, struct arena *a)
{
	const struct var *v = &g->var[g->var_of[node][0]];
	if (!g->root[v->root].reached)
		return false;
	new_like(out, &v->meta, a);
	if (meta_is_non_overlapping_and_dense(&v->meta))
		memcpy(out->meta.stride, v->meta.stride, sizeof v->meta.stride);
	adjoint_get(out, g, v);
	return true;
}
