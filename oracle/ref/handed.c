/* handed.c: from the leaf upwards, node by node, through the arguments whose derivative is grad itself or a view of it. */
#include "oracle/ref/handed.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static bool is_one(const struct node *n, int name)
{
	const struct arg *a = &n->arg[op_arg(n->op, name)];
	return a->tag != ARG_SCALAR || (a->scalar.kind == SC_FLOAT ? a->scalar.f == 1 : a->scalar.i == 1);
}

static bool is_true(const struct node *n, int name) { return n->arg[op_arg(n->op, name)].b; }

const enum gives handed_none = GIVES_ANEW; /* inputs and symbols */
static const enum gives *const gives_of[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = &handed_##r,
#include "eager/lang/ops.def"
};
static enum gives gives(int op) { return *gives_of[op]; }

bool handed_on(int op) { return gives(op) != GIVES_ANEW && gives(op) != GIVES_WINDOW; }
bool handed_as_view(int op) { return gives(op) == GIVES_VIEW || gives(op) == GIVES_PART || gives(op) == GIVES_REGION; }

/* What argument k gets of the gradient of n, if sizes and dtype are the same. */
static enum handed as_it_is(const struct node *n, int k)
{
	bool same = false;
	switch (gives(n->op)) {
	case GIVES_SELF: same = k == 0; break;
	case GIVES_SUM: same = k == 0 || is_one(n, N_alpha); break;
	case GIVES_BIAS: same = k == 0 && is_one(n, N_beta); break;
	case GIVES_ADDED_TO: same = k == 0 && is_true(n, N_accumulate); break;
	case GIVES_INCLUDED: same = k == 0 && is_true(n, N_include_self); break;
	case GIVES_COPIED: same = k == 1; break;
	default: break; /* views: as_view */
	}
	return same ? HANDED_SAME : HANDED_NOT;
}

static enum handed as_view(const struct node *n, int k)
{
	switch (gives(n->op)) {
	case GIVES_VIEW: return HANDED_VIEW;
	case GIVES_PART: return HANDED_PART;
	case GIVES_REGION: return k == 1 ? HANDED_PART : HANDED_NOT;
	default: return HANDED_NOT;
	}
}

static enum handed hands(const struct ref *r, int i, int k, const struct meta *arg)
{
	const struct node *n = &r->p->node[i];
	const struct meta *out = &r->node[i].out[0].meta;
	if (out->dtype != arg->dtype)
		return HANDED_NOT;
	enum handed same = meta_same_sizes(out, arg) ? as_it_is(n, k) : HANDED_NOT;
	return MAX(same, as_view(n, k));
}

/* The walk: what the leaf gets of each node, and of any node of a history. */
struct handed_walk {
	const struct ref *r;
	enum handed *node, *base;
	bool *written;
	bool restrided;
};

static enum handed reached(const struct handed_walk *w, int node)
{
	int base = w->r->node[node].out[0].base;
	return w->written[base] && w->base[base] ? HANDED_PART : w->node[node];
}

/* Backward makes a new gradient, but not from 0 on: as_strided's gives it the leaf's offset, and these scatters' clone_preserve_strides
 * that of the gradient that they get. */
static bool keeps_offset(int op) { return gives(op) == GIVES_WINDOW || gives(op) == GIVES_REGION; }

static void through(struct handed_walk *w, int i, int k, int from)
{
	if (from < 0 || w->r->node[from].nout == 0 || !reached(w, from))
		return;
	enum handed e = hands(w->r, i, k, &w->r->node[from].out[0].meta);
	w->restrided = w->restrided || keeps_offset(w->r->p->node[i].op);
	if (e)
		w->node[i] = MAX(w->node[i], MAX(e, reached(w, from)));
}

static struct handed_walk walk(const struct ref *r, int leaf, struct arena *a)
{
	struct handed_walk w = {
		r, ARENA_ZNEW(a, enum handed, r->p->nnode + 1), ARENA_ZNEW(a, enum handed, r->nbase + 1), ARENA_ZNEW(a, bool, r->nbase + 1), false};
	for (int i = 0; i < r->p->nnode; i++)
		if (op_has(r->p->node[i].op, T_MUTATES | T_INPLACE_VIEW) && r->node[i].nout)
			w.written[r->node[i].out[0].base] = true;
	w.node[leaf] = HANDED_SAME;
	for (int i = leaf; i < r->p->nnode; i++) {
		const struct node *n = &r->p->node[i];
		if (r->node[i].nout == 0)
			continue;
		for (int k = 0; i > leaf && op_info[n->op].family != F_INPUT && k < op_info[n->op].nparam; k++) {
			if (n->arg[k].tag == ARG_TENSOR)
				through(&w, i, k, n->arg[k].node);
			for (int j = 0; n->arg[k].tag == ARG_TENSORS && j < n->arg[k].n; j++)
				through(&w, i, k, n->arg[k].nodes[j]);
		}
		int base = r->node[i].out[0].base;
		w.base[base] = MAX(w.base[base], w.node[i]);
	}
	for (int i = 0; i < r->p->nnode; i++)
		w.node[i] = r->node[i].nout ? reached(&w, i) : HANDED_NOT;
	return w;
}

const enum handed *handed_to(const struct ref *r, int leaf, struct arena *a) { return walk(r, leaf, a).node; }

bool handed_together(const struct ref *r, int leaf, int other, struct arena *a)
{
	const enum handed *x = handed_to(r, leaf, a), *y = handed_to(r, other, a);
	for (int i = 0; i < r->p->nnode; i++)
		if (x[i] && y[i] && MAX(x[i], y[i]) >= HANDED_VIEW)
			return true;
	/* One cotangent, or two in one memory, for two results. */
	for (int i = 0; i < r->p->nback; i++)
		for (int k = 0; k < r->p->nback; k++) {
			const struct ref_tensor *g = &r->node[r->p->back[i].cotangent].out[0], *h = &r->node[r->p->back[k].cotangent].out[0];
			enum handed u = x[r->p->back[i].node], v = y[r->p->back[k].node];
			if (r->storage[g->storage].memory == r->storage[h->storage].memory && u && v && MAX(u, v) >= HANDED_VIEW)
				return true;
		}
	return false;
}

bool handed_from_start(const struct ref *r, int leaf, struct arena *a)
{
	struct handed_walk w = walk(r, leaf, a);
	bool start = !w.restrided;
	for (int i = 0; i < r->p->nnode; i++)
		start = start && w.node[i] != HANDED_PART;
	for (int i = 0; i < r->p->nback; i++)
		start = start && (!w.node[r->p->back[i].node] || r->node[r->p->back[i].cotangent].out[0].meta.offset == 0);
	return start;
}
