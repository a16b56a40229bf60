/* autograd_sweep.c: the backward sweep over adjoint memory (see autograd.h). */
#include "eager/run/autograd.h"
#include "eager/ops/vjp.h"
#include "eager/run/rule_run.h"
#include "generated/op_args.h"

static size_t cell_bytes(enum dtype t) { return t == DT_F64 ? 8 : 4; }

/* A cell that nothing arrived at holds all ones, a NaN that no arithmetic makes, and is read as 0: so that the first cotangent is
 * taken over as it is, sign of zero and NaN payload included, instead of being added to 0. Where that very NaN arrives (view.dtype makes it
 * of -1) it loses its last bit. */
static float arrived32(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, 4);
	bits -= bits == UINT32_MAX;
	memcpy(&x, &bits, 4);
	return x;
}

static double arrived64(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, 8);
	bits -= bits == UINT64_MAX;
	memcpy(&x, &bits, 8);
	return x;
}

static float sum32(float cell, float x)
{
	uint32_t bits;
	memcpy(&bits, &cell, 4);
	return arrived32(bits == UINT32_MAX ? x : cell + x);
}

static double sum64(double cell, double x)
{
	uint64_t bits;
	memcpy(&bits, &cell, 8);
	return arrived64(bits == UINT64_MAX ? x : cell + x);
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
	float *f32 = adjoint(g, v); /* also if t is empty: the whole that it is a part of has a cotangent now, of zeros */
	if (meta_numel(&v->adj) == 0)
		return;
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
				f32[off] = add ? sum32(f32[off], x) : arrived32(x);
			}
			continue;
		}
		for (int64_t i = 0; i < r.n; i++, off += r.stride, src += nbytes) {
			int64_t c = cell(v, off);
			double x = dtype_load_f(from, src);
			if (wide)
				f64[c] = add ? sum64(f64[c], x) : arrived64(x);
			else
				f32[c] = add ? sum32(f32[c], (float)x) : arrived32((float)x);
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

/* Operands as the derivative sees them, space for what it gives. */
static void context(struct rule_call *c, struct graph *g, int node, struct arena *s)
{
	const struct node *n = &g->p->node[node];
	struct fn *f = &g->fn[node];
	*c = (struct rule_call){.n = n, .nout = n->nout, .scratch = s};
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
	if (!op_vjp[n->op]) {
		err_set(err, "%s has no derivative yet", op_info[n->op].name);
		return STEP_UNSUPPORTED;
	}
	if (!graph_sizes_ok(g, node, err))
		return STEP_RAISED;
	for (int e = 0; e < f->nedge; e++)
		mark_reached(g, g->var[f->edge[e].var].root, f->edge[e].fn);
	if (g->metas)
		return STEP_OK;
	struct rule_call c;
	context(&c, g, node, s);
	if (!rule_run(&c, err))
		return STEP_RAISED;
	/* The region that was written: what it was before takes the place of what it is, then the other operands add. */
	if (self) {
		adjoint_zero(g, self);
		if (f->self_had_grad)
			adjoint_put(g, self, c.gin[A_INPLACE_self], false);
	}
	for (int e = 0; e < f->nedge; e++) {
		const struct edge *x = &f->edge[e];
		if (!(self && x->arg == 0))
			adjoint_put(g, &g->var[x->var], x->entry < 0 ? c.gin[x->arg] : c.glist[x->arg][x->entry], true);
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
		mark_reached(g, v->root, g->root[v->root].fn);
		if (g->metas)
			continue;
		new_like(&t, &v->meta, scratch);
		tensor_copy(&t, &cot[i].value);
		adjoint_put(g, v, &t, true);
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

void graph_grad_layout(struct meta *out, const struct meta *leaf)
{
	meta_make_contiguous(out, leaf->dtype, leaf->size, leaf->rank);
	if (meta_is_non_overlapping_and_dense(leaf))
		memcpy(out->stride, leaf->stride, sizeof leaf->stride);
}

bool graph_grad(struct tensor *out, const struct graph *g, int node, struct arena *a)
{
	const struct var *v = &g->var[g->var_of[node][0]];
	if (!g->root[v->root].reached)
		return false;
	struct meta m;
	graph_grad_layout(&m, &v->meta);
	tensor_new(out, &m, a);
	adjoint_get(out, g, v);
	return true;
}
