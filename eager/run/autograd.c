/* autograd.c: the graph that autograd keeps while a program runs (see autograd.h): vars, roots, edges, saved versions and the
 * checks that PyTorch makes before a row runs. The sweep over it is in autograd_sweep.c. */
#include "eager/run/autograd.h"
#include "eager/ops/promote.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <ctype.h>

void graph_init(struct graph *g, const struct prog *p, struct arena *a)
{
	*g = (struct graph){.p = p, .a = a, .grad_mode = true};
	g->var_of = ARENA_ZNEW(a, int *, p->nnode);
	g->fn = ARENA_ZNEW(a, struct fn, p->nnode);
}

static void *grown(struct arena *a, void *old, int n, int *cap, size_t size)
{
	if (n < *cap)
		return old;
	*cap = *cap ? 2 * *cap : 16;
	void *p = arena_alloc(a, mul_size((size_t)*cap, size));
	if (n)
		memcpy(p, old, (size_t)n * size);
	return p;
}

static int add_root(struct graph *g, unsigned char *base, int64_t ncells)
{
	g->root = grown(g->a, g->root, g->nroot, &g->cap_root, sizeof *g->root);
	g->root[g->nroot] = (struct root){.base = base, .ncells = ncells, .counter = g->nroot, .fn = FN_NONE};
	return g->nroot++;
}

static int add_var(struct graph *g, const struct var *v)
{
	g->var = grown(g->a, g->var, g->nvar, &g->cap_var, sizeof *g->var);
	g->var[g->nvar] = *v;
	return g->nvar++;
}

static struct var *var_at(const struct graph *g, int node) { return &g->var[g->var_of[node][0]]; }
static bool var_grad(const struct graph *g, int var) { return g->root[g->var[var].root].fn != FN_NONE; }

bool graph_requires_grad(const struct graph *g, int node) { return var_grad(g, g->var_of[node][0]); }

void graph_tensor(struct tensor *out, const struct graph *g, int node, int k)
{
	const struct var *v = &g->var[g->var_of[node][k]];
	*out = (struct tensor){v->meta, g->root[v->root].base};
}

enum step graph_input(struct graph *g, int node, unsigned char *base, int64_t ncells, bool requires_grad, struct err *err)
{
	const struct meta *m = node_meta(g->p, node);
	if (requires_grad && !dtype_is_float(m->dtype)) {
		err_set(err, "RuntimeError: only Tensors of floating point dtype can require gradients");
		return STEP_RAISED;
	}
	if (requires_grad && !dtype_has_grad(m->dtype)) {
		err_set(err, "gradients of %s", dtype_info[m->dtype].name);
		return STEP_UNSUPPORTED;
	}
	struct var v = {.root = add_root(g, base, ncells), .meta = *m, .adj = *m};
	struct root *r = &g->root[v.root];
	r->fn = requires_grad ? FN_LEAF : FN_NONE;
	if (dtype_is_float(m->dtype) && meta_has_duplicates(m)) {
		r->logical = true;
		r->ncells = meta_numel(m);
		meta_make_contiguous(&v.adj, m->dtype, m->size, m->rank);
		v.adj.device = m->device;
	}
	g->var_of[node] = ARENA_NEW(g->a, int, 1);
	g->var_of[node][0] = add_var(g, &v);
	return STEP_OK;
}

static bool when_holds(const struct fn *f, int when)
{
	for (int e = 0; e < f->nedge; e++)
		if (when == SAVE_ANY || f->edge[e].arg == when)
			return true;
	return false;
}

void graph_fresh(struct graph *g, int node, unsigned char *const *base)
{
	const struct node *n = &g->p->node[node];
	g->var_of[node] = ARENA_NEW(g->a, int, n->nout);
	for (int k = 0; k < n->nout; k++) {
		const struct meta *m = &n->out[k].meta;
		int root = add_root(g, base[k], meta_extent(m));
		if (g->fn[node].tracked && dtype_is_float(m->dtype) && !(op_info[n->op].constant >> k & 1))
			g->root[root].fn = node;
		const bool opaque = g->root[root].fn == node && op_info[n->op].opaque >> k & 1;
		g->var_of[node][k] = add_var(
			g, &(struct var){.root = root, .meta = *m, .adj = *m, .opaque = opaque ? "a result by which we have no derivative" : NULL});
	}
	struct fn *f = &g->fn[node];
	for (int s = 0; f->tracked && s < op_info[n->op].nsave; s++) {
		int what = op_info[n->op].save[s].what - SAVE_RESULT;
		if (what >= 0 && when_holds(f, op_info[n->op].save[s].when))
			f->save[f->nsave++] = (struct save){g->var[g->var_of[node][what]].root, 0};
	}
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

/* Every cell of v is a cell of `of`. */
static bool covers(const struct meta *of, const struct meta *v, struct arena *a)
{
	if (meta_numel(v) == 0)
		return true;
	if (meta_numel(of) == 0)
		return false;
	int64_t ncells = MAX(meta_extent(of), meta_extent(v));
	struct arena_mark mark = arena_mark(a);
	unsigned char *in = arena_zalloc(a, (size_t)ncells);
	struct meta_iter it;
	meta_iter_start(&it, of);
	do
		in[it.off] = 1;
	while (meta_iter_next(&it, of));
	bool all = true;
	meta_iter_start(&it, v);
	do
		all = all && in[it.off];
	while (meta_iter_next(&it, v));
	arena_release(a, mark);
	return all;
}

/* Adjoint metas of the views of a logical root: the same shape rule on the adjoint meta of the operand. */
static bool same_rule(struct meta_ctx *c, const struct graph *g, int node, const struct var *self)
{
	const struct node *n = &g->p->node[node];
	struct err ignored = {0};
	*c = (struct meta_ctx){.p = g->p, .n = n, .nout = 1, .err = &ignored};
	for (int k = 0; k < MAX_OUTS; k++)
		c->alias[k] = -1;
	c->in[A_viewed_self] = &self->adj;
	if (!op_meta[n->op](c) || c->nout != n->nout)
		return false;
	for (int k = 0; k < n->nout; k++)
		if (c->alias[k] < 0 || !meta_same_sizes(&c->out[k], &n->out[k].meta))
			return false;
	return true;
}

/* What remains are view and reshape, which keep the row-major order: a table in that order. */
static void map_view(struct meta *adj, const int64_t **map, const struct graph *g, int node, const struct var *self)
{
	const struct meta *m = node_meta(g->p, node);
	int64_t n = meta_numel(m), *table = ARENA_NEW(g->a, int64_t, n), i = 0;
	CHECK(n == meta_numel(&self->adj) && n > 0 && g->p->node[node].nout == 1);
	struct meta_iter it;
	meta_iter_start(&it, &self->adj);
	do
		table[i++] = self->map ? self->map[it.off] : it.off;
	while (meta_iter_next(&it, &self->adj));
	meta_make_contiguous(adj, m->dtype, m->size, m->rank);
	*map = table;
}

/* "split.Tensor" -> "SplitBackward0", as PyTorch names the node; reshape is a view there. */
static const char *backward_name(struct arena *a, int op)
{
	const char *s = op_info[op == OP_reshape ? OP_view : op].name;
	char buf[MAX_NAME];
	size_t n = 0;
	for (bool up = true; *s && *s != '.' && n + 1 < sizeof buf; s++) {
		if (*s == '_') {
			up = true;
			continue;
		}
		buf[n++] = (char)(up ? toupper((unsigned char)*s) : *s);
		up = false;
	}
	buf[n] = 0;
	return arena_printf(a, "%sBackward0", buf);
}

/* A view that was made while its base required no grad has no grad_fn to name. */
static bool multi_error(const struct graph *g, const struct var *v, const char *what, struct err *err)
{
	const char *who = "A view was created in no_grad mode and", *how = " with grad mode enabled";
	if (v->named) {
		who = arena_printf(g->a, "Output %d of %s is a view and", v->maker_out, backward_name(g->a, g->p->node[v->maker].op));
		how = "";
	}
	return err_set(err,
		"RuntimeError: %s %s modified inplace%s. This view is the output of a function that returns multiple views. Such "
		"functions do not allow the output views to be modified inplace. You should replace the inplace operation by "
		"an out-of-place one.",
		who, what, how);
}

/* Reading a view's history: a split/unbind view of a base that was written since has none. */
bool graph_history_ok(const struct graph *g, int var, struct err *err)
{
	const struct var *v = &g->var[var];
	if (!v->multi || !var_grad(g, var) || *graph_version(g, v->root) == v->seen)
		return true;
	return multi_error(g, v, "its base or another view of its base has been", err);
}

static void detach(struct graph *g, int node)
{
	struct var self = *var_at(g, g->p->node[node].arg[A_detach_self].node),
			   v = {.meta = *node_meta(g->p, node), .adj = *node_meta(g->p, node)};
	const struct root from = g->root[self.root];
	v.root = add_root(g, from.base, from.logical ? meta_extent(&v.meta) : from.ncells);
	g->root[v.root].counter = from.counter;
	g->root[v.root].unsaid = from.unsaid;
	if (from.logical || meta_has_duplicates(&v.meta))
		v.opaque = "a detached view of a tensor that overlaps itself";
	g->var_of[node] = ARENA_NEW(g->a, int, 1);
	g->var_of[node][0] = add_var(g, &v);
}

static bool leaf_check(const struct graph *g, int node, struct err *err)
{
	int self = g->var_of[g->p->node[node].arg[A_INPLACE_self].node][0];
	const struct var *v = &g->var[self];
	if (v->multi)
		return multi_error(g, v, "is being", err);
	if (g->root[v->root].fn == FN_LEAF)
		return err_set(
			err, "RuntimeError: %sa leaf Variable that requires grad is being used in an in-place operation.", v->view ? "a view of " : "");
	return true;
}

/* unsqueeze_ and its like count as writes, though no element changes; as_strided_ of some of the elements leaves none of the others to
 * views that were made before: PyTorch makes their history again, of the base as it lies then. */
static enum step may_rename(struct graph *g, int node, int self, struct err *err)
{
	const struct meta *m = node_meta(g->p, node), *was = &g->var[self].meta;
	if (g->p->nback && dtype_is_float(m->dtype) && op_arg(g->p->node[node].op, N_storage_offset) >= 0 && !covers(m, was, g->a)) {
		err_set(err, "gradients beside %s of some of the elements", op_info[g->p->node[node].op].name);
		return STEP_UNSUPPORTED;
	}
	if (!g->grad_mode || !var_grad(g, self))
		return STEP_OK;
	if (g->root[g->var[self].root].unsaid) {
		err_set(err, "%s of memory that _unsafe_view shares without saying so", op_info[g->p->node[node].op].name);
		return STEP_UNSUPPORTED;
	}
	return leaf_check(g, node, err) ? STEP_OK : STEP_RAISED;
}

enum step graph_view(struct graph *g, int node, struct err *err)
{
	const struct node *n = &g->p->node[node];
	if (n->op == OP_getitem) {
		g->var_of[node] = &g->var_of[n->arg[A_getitem_self].node][node_int(n, A_getitem_index)];
		return STEP_OK;
	}
	int self_id = g->var_of[n->arg[A_viewed_self].node][0];
	if (n->op == OP_contiguous) { /* returns self itself */
		g->var_of[node] = g->var_of[n->arg[A_viewed_self].node];
		return STEP_OK;
	}
	if (op_has(n->op, T_NONDIFF)) {
		detach(g, node);
		return STEP_OK;
	}
	if (!graph_history_ok(g, self_id, err))
		return STEP_RAISED;
	const bool renames = op_has(n->op, T_INPLACE_VIEW);
	const enum step step = renames ? may_rename(g, node, self_id, err) : STEP_OK;
	if (step != STEP_OK)
		return step;
	struct var self = g->var[self_id];
	const struct root *r = &g->root[self.root];
	struct meta_ctx c;
	const char *opaque = self.opaque;
	const bool strided = op_computing(n->op) == OP_as_strided;
	if (r->logical && strided)
		opaque = "as_strided of a tensor that overlaps itself";
	else if (r->logical && !opaque && !same_rule(&c, g, node, &self))
		map_view(&c.out[0], &self.map, g, node, &self);
	else if (strided && (self.view || r->counter != self.root) && dtype_is_float(self.meta.dtype)
		&& !covers(&self.meta, &n->out[0].meta, g->a))
		opaque = "as_strided that reaches beyond its operand";
	const bool said = op_info[n->op].param[A_viewed_self].is_alias, multi = op_has(n->op, T_MULTI_VIEW) && said;
	g->root[self.root].unsaid |= op_has(n->op, T_VIEW) && !said;
	g->var_of[node] = ARENA_NEW(g->a, int, MAX(n->nout, 1));
	*graph_version(g, self.root) += renames;
	for (int k = 0; k < n->nout; k++) {
		struct var v = self;
		v.meta = n->out[k].meta;
		v.adj = r->logical && !opaque ? c.out[k] : v.meta;
		v.view = self.view || !renames;
		v.opaque = opaque;
		v.multi |= multi;
		v.maker = node;
		v.maker_out = k;
		v.named = r->fn != FN_NONE;
		v.seen = *graph_version(g, v.root);
		g->var_of[node][k] = add_var(g, &v);
	}
	return STEP_OK;
}

static const char *sizes_text(struct arena *a, const struct meta *m)
{
	const char *s = "[";
	for (int d = 0; d < m->rank; d++)
		s = arena_printf(a, "%s%s%lld", s, d ? ", " : "", (long long)m->size[d]);
	return arena_printf(a, "%s]", s);
}

/* FunctionsManual.cpp gathers the cotangent of src by index. amax, amin and prod compare it with src before anybody looks at its sizes. */
static bool source_ok(const struct graph *g, int node, struct err *err)
{
	const struct node *n = &g->p->node[node];
	int src = -1, index = -1, wrong = -1;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		enum role role = op_info[n->op].param[k].role;
		src = role == R_SRCN ? k : src;
		index = role_has(role, RF_FULL) ? k : index;
	}
	if (src < 0 || index < 0 || !var_grad(g, g->var_of[n->arg[src].node][0]))
		return true;
	const struct meta *s = node_meta(g->p, n->arg[src].node), *i = node_meta(g->p, n->arg[index].node);
	for (int d = 0; d < s->rank && s->rank == i->rank; d++)
		wrong = s->size[d] != i->size[d] && s->size[d] != 1 ? d : wrong;
	if (wrong < 0)
		return true;
	int how = op_arg(n->op, N_reduce);
	if (how >= 0 && !str_eq(n->arg[how].str, "sum") && !str_eq(n->arg[how].str, "mean"))
		return err_set(err,
			"RuntimeError: The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
			(long long)s->size[wrong], (long long)i->size[wrong], wrong);
	return err_set(err, "RuntimeError: Function %s returned an invalid gradient at index 1 - got %s but expected shape compatible with %s",
		backward_name(g->a, n->op), sizes_text(g->a, i), sizes_text(g->a, s));
}

/* embedding_dense_double_backward gives the sizes of indices and the width; the engine sums them to those of grad_output, or refuses. */
static bool embedding_gradient_ok(const struct graph *g, int node, struct err *err)
{
	const struct node *n = &g->p->node[node];
	const struct meta *want = node_meta(g->p, n->arg[A_embedding_dense_backward_grad_output].node);
	struct meta given = *node_meta(g->p, n->arg[A_embedding_dense_backward_indices].node);
	if (!meta_numel(&given) || given.rank == MAX_RANK) /* the rule's rows refuse it */
		return true;
	given.size[given.rank++] = want->size[want->rank - 1];
	const int leading = given.rank - want->rank;
	bool ok = leading >= 0;
	for (int d = 0; ok && d < want->rank; d++)
		ok = want->size[d] == 1 || want->size[d] == given.size[leading + d];
	return ok
		|| err_set(err, "RuntimeError: Function %s returned an invalid gradient at index 0 - got %s but expected shape compatible with %s",
			backward_name(g->a, n->op), sizes_text(g->a, &given), sizes_text(g->a, want));
}

/* The derivative of as_strided_scatter reads the cotangent made contiguous, which has no cells between its elements as self may have. */
static bool strided_gradient_ok(const struct graph *g, int node, struct err *err)
{
	const struct node *n = &g->p->node[node];
	struct meta cells = *node_meta(g->p, n->arg[A_as_strided_scatter_src].node);
	int64_t stride[MAX_LIST];
	struct err why = {0};
	cells.dtype = node_meta(g->p, node)->dtype;
	cells.offset = node_given(n, A_as_strided_scatter_storage_offset) ? node_int(n, A_as_strided_scatter_storage_offset) : 0;
	CHECK(node_ints(stride, n, A_as_strided_scatter_stride) == cells.rank);
	memcpy(cells.stride, stride, sizeof *stride * (size_t)cells.rank);
	return meta_in_bounds(&cells, meta_numel(node_meta(g->p, node)), &why) || err_set(err, "RuntimeError: %s", why.msg);
}

bool graph_sizes_ok(const struct graph *g, int node, struct err *err)
{
	const int op = g->p->node[node].op;
	return op == OP_embedding_dense_backward ? embedding_gradient_ok(g, node, err)
		: op == OP_as_strided_scatter        ? strided_gradient_ok(g, node, err)
											 : source_ok(g, node, err);
}

/* ---- rows that compute ------------------------------------------------------------------------------------------ */

/* Walks the tensor operands of a node: entry -1 for plain arguments. */
struct grad_operand {
	int arg, entry, node;
};

static int operands(struct grad_operand **list, const struct prog *p, int node, struct arena *a)
{
	const struct node *n = &p->node[node];
	int count = 0, max = op_info[n->op].nparam;
	for (int k = 0; k < op_info[n->op].nparam; k++)
		max += n->arg[k].tag == ARG_TENSORS ? n->arg[k].n : 0;
	struct grad_operand *out = *list = ARENA_NEW(a, struct grad_operand, max);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (n->arg[k].tag == ARG_TENSOR)
			out[count++] = (struct grad_operand){k, -1, n->arg[k].node};
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0)
				out[count++] = (struct grad_operand){k, i, n->arg[k].nodes[i]};
	}
	return count;
}

static void save_operands(struct graph *g, int node, const struct grad_operand *op, int nop)
{
	const struct node *n = &g->p->node[node];
	const struct op_info *info = &op_info[n->op];
	struct fn *f = &g->fn[node];
	f->save = ARENA_NEW(g->a, struct save, info->nsave + nop * info->nsave);
	for (int s = 0; s < info->nsave; s++) {
		if (!when_holds(f, info->save[s].when))
			continue;
		if (info->save[s].what == A_INPLACE_self && op_has(n->op, T_MUTATES)) {
			if (g->metas)
				continue;
			struct tensor self, *copy = ARENA_NEW(g->a, struct tensor, 1);
			graph_tensor(&self, g, n->arg[A_INPLACE_self].node, 0);
			meta_make_contiguous(&copy->meta, self.meta.dtype, self.meta.size, self.meta.rank);
			tensor_new(copy, &copy->meta, g->a);
			tensor_copy(copy, &self);
			f->self_before = copy;
			continue;
		}
		for (int i = 0; i < nop; i++)
			if (op[i].arg == info->save[s].what) {
				int root = var_at(g, op[i].node)->root;
				f->save[f->nsave++] = (struct save){root, *graph_version(g, root)};
			}
	}
}

/* Autograd takes no integer dtype, whether or not anybody asks for the gradient. */
static bool can_record(const struct node *n, struct err *err)
{
	return !op_is_told_dtype(n->op) || dtype_is_float(n->out[0].meta.dtype)
		|| err_set(err, "RuntimeError: Autograd not support dtype: %s", dtype_info[n->out[0].meta.dtype].c10);
}

/* Operands that PyTorch differentiates nothing by. */
static bool has_derivatives(const struct graph *g, int node, const struct grad_operand *op, int nop, struct err *err)
{
	const struct op_info *info = &op_info[g->p->node[node].op];
	for (int i = 0; i < nop; i++)
		if (role_has(info->param[op[i].arg].role, RF_NO_GRADIENT) && var_grad(g, g->var_of[op[i].node][0]))
			return err_set(err, "%s has no derivative by %s", info->name, info->param[op[i].arg].name);
	return true;
}

static bool results_have_gradients(const struct node *n, struct err *err)
{
	const struct meta *m = &n->out[0].meta;
	return !dtype_is_float(m->dtype) || dtype_has_grad(m->dtype) || err_set(err, "gradients through %s", dtype_info[m->dtype].name);
}

static bool may_require_grad(const struct graph *g, int node, const struct grad_operand *op, int nop, struct err *err)
{
	const struct op_info *info = &op_info[g->p->node[node].op];
	for (int i = 0; i < nop; i++) {
		const struct param *q = &info->param[op[i].arg];
		if (role_has(q->role, RF_CONSTANT) && var_grad(g, g->var_of[op[i].node][0]))
			return err_set(err,
				"RuntimeError: The function '%s' is not differentiable with respect to argument '%s'. This input cannot have requires_grad "
				"True.",
				info->name, q->name);
	}
	return true;
}

enum step graph_before(struct graph *g, int node, struct err *err)
{
	const struct node *n = &g->p->node[node];
	struct fn *f = &g->fn[node];
	bool writes = op_has(n->op, T_MUTATES);
	if (!g->grad_mode || (op_has(n->op, T_NONDIFF) && !writes))
		return STEP_OK;
	struct grad_operand *op;
	int nop = operands(&op, g->p, node, g->a), ngrad = 0;
	for (int i = 0; i < nop; i++)
		ngrad += var_grad(g, g->var_of[op[i].node][0]);
	if (ngrad && op_has(n->op, T_NONDIFF)) { /* logical_not_ leaves the history of what it writes over, eq_ gives zeros */
		err_set(err, "%s of what requires grad", op_info[n->op].name);
		return STEP_UNSUPPORTED;
	}
	if (!ngrad || (writes && !dtype_is_float(node_meta(g->p, node)->dtype)))
		return STEP_OK;
	if (!has_derivatives(g, node, op, nop, err) || !results_have_gradients(n, err))
		return STEP_UNSUPPORTED;
	if (!may_require_grad(g, node, op, nop, err) || !can_record(n, err) || (writes && !leaf_check(g, node, err)))
		return STEP_RAISED;
	if (writes && g->root[var_at(g, n->arg[A_INPLACE_self].node)->root].unsaid) {
		err_set(err, "a write into memory that _unsafe_view shares without saying so");
		return STEP_UNSUPPORTED;
	}
	for (int i = 0; i < nop; i++)
		if (!graph_history_ok(g, g->var_of[op[i].node][0], err))
			return STEP_RAISED;
	f->edge = ARENA_NEW(g->a, struct edge, ngrad);
	for (int i = 0; i < nop; i++) {
		int var = g->var_of[op[i].node][0];
		if (var_grad(g, var))
			f->edge[f->nedge++] = (struct edge){op[i].arg, op[i].entry, var, g->root[g->var[var].root].fn};
	}
	for (int k = 0; k < n->nout; k++)
		f->tracked |= dtype_is_float(n->out[k].meta.dtype);
	const char *opaque = writes ? var_at(g, n->arg[A_INPLACE_self].node)->opaque : NULL;
	for (int e = 0; e < f->nedge && !opaque; e++)
		opaque = g->var[f->edge[e].var].opaque;
	if (f->tracked && opaque) {
		err_set(err, "no gradient through %s", opaque);
		return STEP_UNSUPPORTED;
	}
	f->self_had_grad = writes && var_grad(g, g->var_of[n->arg[A_INPLACE_self].node][0]);
	save_operands(g, node, op, nop);
	return STEP_OK;
}

void graph_written(struct graph *g, int node)
{
	const struct node *n = &g->p->node[node];
	struct fn *f = &g->fn[node];
	g->var_of[node] = g->var_of[n->arg[A_INPLACE_self].node];
	struct var *v = var_at(g, node);
	struct root *r = &g->root[v->root];
	v->seen = ++*graph_version(g, v->root);
	if (!f->tracked)
		return;
	r->fn = node;
	for (int s = 0; s < op_info[n->op].nsave; s++)
		if (op_info[n->op].save[s].what >= SAVE_RESULT && when_holds(f, op_info[n->op].save[s].when))
			f->save[f->nsave++] = (struct save){v->root, v->seen};
}
