/* refrun.c: runs a program on the tape: inputs become leaves and constants, each node's index formula appends scalars, views are
 * index maps, in-place rows overwrite ids; then the tape is differentiated along the tensor-level requires-grad path. */
#include "oracle/ref/refrun_impl.h"
#include "eager/lang/fill.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <stdlib.h>

/* Inputs and symbols: the driver makes them. */
#define ref_none NULL
ref_fn *const ref_rule[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = ref_##r,
#include "eager/lang/ops.def"
};

bool run_unsupported(struct reference_run *s, const char *what)
{
	s->unsupported = true;
	return err_set(s->err, "%s", what);
}

bool run_beyond_budget(struct reference_run *s) { return run_unsupported(s, "above the reference's budget of scalars or entries"); }

/* ---- growing arrays ---- */
int ref_storage_new(struct ref *r, enum dtype dt, int64_t ncells, const sid *ids, int memory)
{
	if (r->nstorage == r->cap_storage) {
		int cap = MAX(64, r->cap_storage * 2);
		r->storage = ARENA_GROW(r->arena, struct ref_storage, r->storage, r->cap_storage, cap);
		r->cap_storage = cap;
	}
	r->storage[r->nstorage] = (struct ref_storage){.dtype = dt, .ncells = ncells, .ids = ids, .memory = memory};
	return r->nstorage++;
}

int run_new_base(struct ref *r, bool grad)
{
	if (r->nbase == r->cap_base) {
		int cap = MAX(64, r->cap_base * 2);
		r->base = ARENA_GROW(r->arena, struct ref_base, r->base, r->cap_base, cap);
		r->cap_base = cap;
	}
	r->base[r->nbase] = (struct ref_base){.grad = grad};
	return r->nbase++;
}

void run_note_write(struct ref *r, int node, int base)
{
	struct ref_base *b = &r->base[base];
	if (b->nwriter == b->cap) {
		int cap = MAX(4, b->cap * 2);
		b->writer = ARENA_GROW(r->arena, int, b->writer, b->cap, cap);
		b->cap = cap;
	}
	struct ref_node *n = &r->node[node];
	for (int i = 0; i < n->nwrite; i++)
		if (n->write[i].base == base)
			return;
	n->write[n->nwrite++] = (struct ref_read){base, b->nwriter, b->grad};
	b->writer[b->nwriter++] = node;
}

/* ---- nodes ---- */
bool ref_has_grad(const struct ref *r, const struct ref_tensor *t)
{
	return t && !t->retyped && dtype_is_float(t->meta.dtype) && r->base[t->base].grad;
}

static void note_read(struct ref *r, int node, const struct ref_tensor *t)
{
	struct ref_node *n = &r->node[node];
	if (t && !t->retyped) /* nothing is differentiated through it */
		n->read[n->nread++] = (struct ref_read){t->base, r->base[t->base].nwriter, false};
}

/* Fills c->in and c->list from the program; notes what the node depends on. */
static void operands(struct reference_run *s, struct ref_ctx *c, int i)
{
	struct ref *r = &s->r;
	const struct node *n = c->n;
	const struct op_info *o = &op_info[n->op];
	int nread = 0;
	for (int k = 0; k < o->nparam; k++)
		nread += n->arg[k].tag == ARG_TENSORS ? n->arg[k].n : 1;
	r->node[i].read = ARENA_NEW(r->arena, struct ref_read, nread + MAX_OUTS);
	r->node[i].write = ARENA_NEW(r->arena, struct ref_read, MAX_OUTS);
	for (int k = 0; k < o->nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR && o->param[k].role == R_TUPLE) {
			struct ref_node *from = &r->node[a->node];
			const struct ref_tensor **list = ARENA_NEW(r->arena, const struct ref_tensor *, MAX_OUTS);
			for (int j = 0; j < from->nout; j++)
				list[j] = &from->out[j];
			c->list[k] = list;
		} else if (a->tag == ARG_TENSOR) {
			c->in[k] = &r->node[a->node].out[0];
			note_read(r, i, c->in[k]);
			c->grad = c->grad || ref_has_grad(r, c->in[k]);
		} else if (a->tag == ARG_TENSORS) {
			const struct ref_tensor **list = ARENA_NEW(r->arena, const struct ref_tensor *, a->n + 1);
			for (int j = 0; j < a->n; j++) {
				list[j] = a->nodes[j] < 0 ? NULL : &r->node[a->nodes[j]].out[0];
				note_read(r, i, list[j]);
				c->grad = c->grad || ref_has_grad(r, list[j]);
			}
			c->list[k] = list;
		}
	}
	if (op_has(n->op, T_NONDIFF))
		c->grad = false;
}

bool run_same_geometry(const struct meta *a, const struct meta *b)
{
	if (a->rank != b->rank || a->offset != b->offset)
		return false;
	for (int d = 0; d < a->rank; d++)
		if (a->size[d] != b->size[d] || a->stride[d] != b->stride[d])
			return false;
	return true;
}

/* Several indices on one cell although no stride is 0. */
static bool overlaps_partly(const struct meta *m)
{
	struct meta q = *m;
	for (int d = 0; d < q.rank; d++)
		if (q.stride[d] == 0 && q.size[d] > 1)
			q.size[d] = 1;
	return !layout_is_dense(&q) && layout_overlaps(&q);
}

void run_mark_cells(bool *cell, const struct meta *m)
{
	struct meta_iter it;
	meta_iter_start(&it, m);
	do
		cell[it.off] = true;
	while (meta_iter_next(&it, m));
}

/* Is every element of `some` in the cell of one of `all`? */
static bool names_all(struct ref *r, const struct meta *all, const struct meta *some)
{
	if (!meta_numel(some))
		return true;
	struct arena_mark m = arena_mark(r->arena);
	bool *own = arena_zalloc(r->arena, (size_t)MAX(meta_extent(all), meta_extent(some)) + 1), named = true;
	if (meta_numel(all))
		run_mark_cells(own, all);
	struct meta_iter it;
	meta_iter_start(&it, some);
	do
		named = own[it.off];
	while (named && meta_iter_next(&it, some));
	arena_release(r->arena, m);
	return named;
}

/* Some element of the view is none of self's. as_strided's backward gives gradients to self's elements alone, so what arrives there is
 * lost, unless a write through the view made autograd take the base's whole memory (AsStridedBackward0; FunctionsManual.cpp
 * as_strided_backward). An input's own elements are all that can get gradients: there nothing is lost. */
static bool names_others(struct ref *r, const struct node *n, const struct ref_tensor *self, const struct meta *view)
{
	if (op_arg(n->op, N_storage_offset) < 0 || !dtype_is_float(view->dtype) || r->p->node[n->arg[A_as_strided_self].node].op == OP_input)
		return false;
	return !names_all(r, &self->map, view);
}

/* as_strided_ of some of self's elements: PyTorch makes the histories of other views again, of the base as it lies then, and backward drops
 * what arrives at the other elements. */
static bool gives_up(struct ref *r, const struct node *n, const struct ref_tensor *self, const struct meta *view)
{
	return r->p->nback && dtype_is_float(view->dtype) && op_has(n->op, T_INPLACE_VIEW) && op_arg(n->op, N_storage_offset) >= 0
		&& !names_all(r, view, &self->map);
}

/* unfold's backward adds into zeros even if its windows do not overlap; what is added may be flushed there. */
static bool adds_in_backward(const struct ref *r, int op, const struct ref_tensor *t)
{
	enum dtype dt = t->meta.dtype;
	return op == OP_unfold && dtype_is_float(dt) && r->tape.lic->rule[LC_ACCUM][dt].flags & LF_FTZ;
}

/* Where the view lies in the id array of a leaf that has one of its own: the same rule applied to the map. */
static bool shadow_run(struct reference_run *s, struct ref_ctx *c)
{
	struct ref_ctx d = *c;
	struct ref_tensor in[MAX_ARGS];
	memset(d.out, 0, sizeof d.out);
	d.nout = 0;
	d.shadow = true;
	for (int k = 0; k < MAX_ARGS; k++) {
		if (!c->in[k])
			continue;
		in[k] = *c->in[k];
		in[k].meta = in[k].map;
		d.in[k] = &in[k];
	}
	if (!ref_rule[c->n->op](&d) || d.nout != c->nout)
		return run_unsupported(s, "a view of a leaf that overlaps itself has no map");
	for (int k = 0; k < c->nout; k++) {
		if (d.view_of[k] != c->view_of[k] || !meta_same_sizes(&d.out[k].meta, &c->out[k].meta))
			return run_unsupported(s, "a view of a leaf that overlaps itself has no map");
		c->out[k].map = d.out[k].meta;
	}
	return true;
}

static int lay_out(struct ref *r, const struct meta *m, const sid *ids)
{
	int64_t n = meta_numel(m), cells = meta_extent(m);
	if (!layout_is_contiguous(m) || m->offset) {
		sid *at = tape_ids(&r->tape, cells);
		memset(at, 0, (size_t)cells * sizeof *at);
		struct meta_iter it;
		int64_t k = 0;
		meta_iter_start(&it, m);
		if (n) {
			do {
				at[it.off] = ids[k++];
			} while (meta_iter_next(&it, m));
		}
		ids = at;
	}
	return ref_storage_new(r, m->dtype, cells, ids, r->nmemory++);
}

/* An element that was read several times into a fresh result has one adjoint per copy, rounded and then accumulated by this
 * operator: the repeated ones become SF_COPY scalars. (Constants are left alone.) */
void run_separate(struct ref *r, sid *ids, int64_t n, enum dtype dt)
{
	struct tape *t = &r->tape;
	int64_t up = 1;
	while (up < n && ids[up] > ids[up - 1])
		up++;
	if (up >= n || t->over) /* counting up: nothing twice */
		return;
	struct arena_mark m = arena_mark(r->arena);
	sid low = ids[0], high = ids[0];
	for (int64_t k = 0; k < n; k++) {
		low = MIN(low, ids[k]);
		high = MAX(high, ids[k]);
	}
	uint64_t *seen = ARENA_ZNEW(r->arena, uint64_t, (high - low) / 64 + 1);
	bool *again = ARENA_ZNEW(r->arena, bool, n);
	int64_t repeated = 0;
	for (int64_t k = 0; k < n; k++) {
		sid at = ids[k] - low;
		uint64_t bit = (uint64_t)1 << at % 64;
		if (seen[at / 64] & bit && !tape_is_const(t, ids[k])) {
			again[k] = true;
			repeated++;
		}
		seen[at / 64] |= bit;
	}
	sid *from = NULL, *to = NULL;
	if (repeated) {
		from = xmalloc((size_t)repeated * 2 * sizeof *from);
		to = from + repeated;
		int64_t q = 0;
		for (int64_t k = 0; k < n; k++)
			if (again[k]) {
				from[q] = ids[k];
				to[q++] = (sid)k;
			}
	}
	arena_release(r->arena, m);
	if (!repeated)
		return;
	sid *kept = tape_ids(t, repeated), first;
	memcpy(kept, from, (size_t)repeated * sizeof *kept);
	first = tape_map1(t, SF_COPY, dt, kept, repeated);
	for (int64_t q = 0; q < repeated && !t->over; q++)
		ids[to[q]] = first + (sid)q;
	free(from);
}

/* A scatter's result on such a base has an offset, gaps or cells beyond its elements. */
static bool has_other_cells(const struct ref *r, const struct ref_tensor *self)
{
	const struct ref_storage *from = &r->storage[self->storage];
	return self->meta.offset != 0 || !layout_is_contiguous(&self->meta) || from->ncells != meta_numel(&self->meta) || from->cloned;
}

/* Does the view name a cell that no element of a scatter's result lies in? */
static bool names_unknown(const struct ref_storage *s, const struct meta *view)
{
	struct meta_iter it;
	if (meta_numel(view) == 0)
		return false;
	if (meta_extent(view) > s->ncells)
		return true;
	meta_iter_start(&it, view);
	do
		if (s->ids[it.off] == 0)
			return true;
	while (meta_iter_next(&it, view));
	return false;
}

/* A view without history: from here on two histories share the storage. (And one version counter: what is saved through one and written
 * through the other raises.) */
static int detached_base(struct ref *r, const struct ref_tensor *t)
{
	struct ref_storage *st = &r->storage[t->storage];
	if (!dtype_is_float(t->meta.dtype))
		return t->base;
	st->detached = true;
	if (!st->shared) {
		st->shared = true;
		shared_begin(r, st);
		if (r->base[t->base].grad)
			shared_split(r, st, t->base);
	}
	return run_new_base(r, false);
}

/* The table's T_NONDIFF, which the interpreter reads, against the reference's own rules: they and dtypes say what has no gradient. */
static void check_nondiff(const struct ref_ctx *c)
{
	bool floats = false;
	for (int k = 0; k < c->nout; k++)
		floats |= dtype_is_float(c->out[k].meta.dtype);
	CHECK(!floats || c->cuts == op_has(c->n->op, T_NONDIFF));
}

static bool take_results(struct reference_run *s, struct ref_ctx *c, int i)
{
	struct ref *r = &s->r;
	bool need_shadow = false;
	check_nondiff(c);
	for (int k = 0; k < c->nout; k++) {
		int v = c->view_of[k];
		need_shadow = need_shadow || (v >= 0 && !run_same_geometry(&c->in[v]->meta, &c->in[v]->map));
		if (v != -2)
			c->out[k].map = c->out[k].meta;
	}
	if (need_shadow && !shadow_run(s, c))
		return false;
	for (int k = 0; k < c->nout; k++) {
		struct ref_tensor *t = &c->out[k];
		int v = c->view_of[k];
		if (v == -2) { /* getitem: complete already */
			run_note_write(r, i, t->base);
			continue;
		}
		if (v >= 0) {
			t->storage = c->in[v]->storage;
			t->base = c->in[v]->base;
			t->retyped = c->in[v]->retyped || c->n->op == OP_view_dtype;
			if (c->cuts && !t->retyped)
				t->base = detached_base(r, t);
			r->storage[t->storage].unsaid |= op_has(c->n->op, T_VIEW) && !op_info[c->n->op].param[A_viewed_self].is_alias;
			if (gives_up(r, c->n, c->in[v], &t->map))
				return run_unsupported(s, "gradients beside as_strided_ of some of the elements: backward may drop those of the others");
			t->beyond = c->in[v]->beyond || names_others(r, c->n, c->in[v], &t->map);
			t->levels = levels_of_view(c->in[v], t, op_arg(c->n->op, N_storage_offset) >= 0);
			if (op_arg(c->n->op, N_storage_offset) >= 0 && memcmp(&c->in[v]->meta, &c->in[v]->map, sizeof c->in[v]->meta) != 0)
				return run_unsupported(s, "cells of an input are named whose indices share cells and have gradients of their own");
			if (r->storage[t->storage].cloned && op_arg(c->n->op, N_storage_offset) >= 0 && names_unknown(&r->storage[t->storage], &t->map))
				return run_unsupported(s, "cells of a scatter's result are named that are no elements of it");
			t->overlapping = c->in[v]->overlapping || overlaps_partly(&t->map)
				|| adds_in_backward(r, c->n->op, t); /* with or without gradients: they may come later */
			if (meta_extent(&t->map) > r->storage[t->storage].ncells)
				return err_set(s->err, "the view reaches beyond its storage");
		} else {
			const bool grad = c->grad && dtype_is_float(t->meta.dtype) && !(op_info[c->n->op].constant >> k & 1);
			if (grad && !dtype_has_grad(t->meta.dtype))
				return run_unsupported(s, arena_printf(r->arena, "gradients through %s", dtype_info[t->meta.dtype].name));
			if (grad)
				run_separate(r, c->ids[k], meta_numel(&t->meta), t->meta.dtype);
			t->storage = lay_out(r, &t->meta, c->ids[k]);
			r->storage[t->storage].cloned = c->keeps_cells && has_other_cells(r, c->in[A_overlaid_self]);
			t->base = run_new_base(r, grad);
			run_note_write(r, i, t->base);
		}
		t->requires_grad = ref_has_grad(r, t);
	}
	r->node[i].nout = c->nout;
	r->node[i].out = ARENA_NEW(r->arena, struct ref_tensor, c->nout + 1);
	memcpy(r->node[i].out, c->out, (size_t)c->nout * sizeof *c->out);
	return true;
}

/* ---- elements in any order ---- */
/* Reductions whose result the order of their entries does not change. Positions do depend on it. Every row with T_REDUCE states one. */
enum { ORDER_SEEN = 1, ORDER_IGNORED };
enum {
	ORDER_sum = ORDER_IGNORED,
	ORDER_sum_dim = ORDER_IGNORED,
	ORDER_mean = ORDER_IGNORED,
	ORDER_mean_dim = ORDER_IGNORED,
	ORDER_prod = ORDER_IGNORED,
	ORDER_prod_dim_int = ORDER_IGNORED,
	ORDER_amax = ORDER_IGNORED,
	ORDER_amin = ORDER_IGNORED,
	ORDER_max = ORDER_IGNORED,
	ORDER_min = ORDER_IGNORED,
	ORDER_var_correction = ORDER_IGNORED,
	ORDER_var_mean = ORDER_IGNORED,
	ORDER_nansum = ORDER_IGNORED,
	ORDER_count_nonzero = ORDER_IGNORED,
	ORDER_count_nonzero_dims = ORDER_IGNORED,
	ORDER_std_correction = ORDER_IGNORED,
	ORDER_std_mean = ORDER_IGNORED,
	ORDER_aminmax = ORDER_IGNORED,
	ORDER_any = ORDER_IGNORED,
	ORDER_any_dim = ORDER_IGNORED,
	ORDER_any_dims = ORDER_IGNORED,
	ORDER_all = ORDER_IGNORED,
	ORDER_all_dim = ORDER_IGNORED,
	ORDER_all_dims = ORDER_IGNORED,
	ORDER_logsumexp = ORDER_IGNORED,
	ORDER_vector_norm = ORDER_IGNORED,
	ORDER_norm_dim = ORDER_IGNORED,
	ORDER_median = ORDER_IGNORED,
	ORDER_nanmedian = ORDER_IGNORED,
	ORDER_argmax = ORDER_SEEN,
	ORDER_kthvalue = ORDER_SEEN,
	ORDER_median_dim = ORDER_SEEN,
	ORDER_nanmedian_dim = ORDER_SEEN,
	ORDER_argmin = ORDER_SEEN,
	ORDER_max_dim = ORDER_SEEN,
	ORDER_min_dim = ORDER_SEEN
};
static const uint8_t order[NOPS] = {
#define ROW_T_REDUCE(id) [OP_##id] = ORDER_##id,
#include "generated/op_groups.def"
};

static bool ignores_order(int op) { return order[op] == ORDER_IGNORED; }

/* The reduction is over dim d of a tensor of this rank, among others. */
static bool reduces(const struct node *n, int d, int rank)
{
	int k = op_arg(n->op, N_dim);
	const struct arg *a = k >= 0 ? &n->arg[k] : NULL;
	if (!a || a->tag == ARG_NONE || (a->tag == ARG_INTS && a->n == 0))
		return true;
	for (int i = 0; a->tag == ARG_INTS && i < a->n; i++)
		if ((a->ints[i].value + rank) % rank == d)
			return true;
	return a->tag == ARG_INT && (a->i.value + rank) % rank == d;
}

static bool order_is_open(struct reference_run *s, const struct ref_tensor *t, const struct node *n)
{
	if (!t || !t->shuffled || (n && (n->op == OP_getitem || (ignores_order(n->op) && reduces(n, t->shuffled - 1, t->meta.rank)))))
		return false;
	const char *who = n ? op_info[n->op].name : "the program's result";
	run_unsupported(s,
		arena_printf(s->r.arena,
			"%s depends on the order of topk(sorted=False), which is open: sort, or reduce along topk's "
			"dim",
			who));
	return true;
}

/* Gradients may arrive at elements that as_strided did not take from its self (names_others). Views of them read nothing yet. */
static bool gradient_is_lost(struct reference_run *s, const struct ref_tensor *t, const struct node *n)
{
	if (!t || !t->beyond || !s->r.base[t->base].grad || (n && op_has(n->op, T_VIEW)))
		return false;
	run_unsupported(s,
		"gradient through as_strided beyond the elements of its self, a view: backward drops it there; take as_strided of the whole "
		"tensor, or detach");
	return true;
}

/* More elements than there may be scalars, however few cells they are (an expand): nothing but a view may take such a tensor, since rules
 * ask for the names of its elements. */
static bool is_too_large(struct reference_run *s, const struct ref_tensor *t, const struct node *n)
{
	return t && !(n && op_has(n->op, T_VIEW)) && meta_numel(&t->meta) > s->r.tape.limit.nodes && !run_beyond_budget(s);
}

bool run_cannot_read(struct reference_run *s, const struct ref_tensor *t, const struct node *n)
{
	return is_too_large(s, t, n) || order_is_open(s, t, n) || gradient_is_lost(s, t, n);
}

static bool reads_what_is_open(struct reference_run *s, const struct ref_ctx *c)
{
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		if (run_cannot_read(s, c->in[k], c->n))
			return true;
		for (int i = 0; c->n->arg[k].tag == ARG_TENSORS && i < c->n->arg[k].n; i++)
			if (run_cannot_read(s, c->list[k][i], c->n))
				return true;
	}
	return false;
}

/* Sums and products of what requires grad have no integer dtype. */
static bool autograd_takes(const struct ref_ctx *c)
{
	if (!op_is_told_dtype(c->n->op))
		return true;
	const struct arg *dtype = &c->n->arg[op_arg(c->n->op, N_dtype)];
	if (c->inplace && dtype->tag == ARG_DTYPE && dtype->dtype != c->in[A_INPLACE_self]->meta.dtype)
		return err_set(c->err, "%s in another dtype than self's", op_info[c->n->op].name);
	return dtype->tag != ARG_DTYPE || dtype_is_float(dtype->dtype) || !ref_has_grad(c->r, c->in[op_self(c->n->op)])
		|| err_set(c->err, "Autograd not support dtype: %s", dtype_info[dtype->dtype].name);
}

/* Rows say of which of the dtypes that PyTorch's versions support differently they can be; of others nothing is known. Composed rows
 * refuse a dtype in words that depend on how they are called, or not at all where there is no element. */
static bool takes_dtypes(struct reference_run *s, const struct ref_ctx *c)
{
	const struct op_info *op = &op_info[c->n->op];
	for (int k = 0; k < op->nparam; k++) {
		const struct ref_tensor *t = c->in[k];
		const bool open = t && (dtype_info[t->meta.dtype].rows != DR_FULL || (op->family == F_COMPOSED && k == op_self(c->n->op)));
		if (open && !(op->dtypes & DTS(t->meta.dtype)))
			return run_unsupported(
				s, arena_printf(s->r.arena, "%s of %s is PyTorch's to refuse, or not", op->name, dtype_info[t->meta.dtype].name));
	}
	return true;
}

static bool reads_grad(const struct ref_ctx *c)
{
	bool grad = false;
	for (int k = 0; k < MAX_ARGS; k++)
		grad = grad || (c->in[k] && ref_has_grad(c->r, c->in[k]));
	return grad;
}

static bool do_node(struct reference_run *s, int i)
{
	struct ref *r = &s->r;
	const struct node *n = &r->p->node[i];
	struct ref_ctx c = {.r = r, .t = &r->tape, .p = r->p, .n = n, .err = s->err, .inplace = op_has(n->op, T_MUTATES)};
	tape_at(&r->tape, i, n->op);
	if (s->own && !prog_eval_node(s->own, i, s->err)) {
		s->unsupported = true;
		return false;
	}
	if (n->op == OP_sym_size)
		prog_size_read(s->own, i, &r->node[n->arg[A_sym_size_self].node].out[0].meta);
	if (!node_is_input(n) && !node_is_run(n))
		return true;
	if (node_is_input(n)) {
		r->node[i].nout = 1;
		r->node[i].out = ARENA_ZNEW(r->arena, struct ref_tensor, 1);
		return run_input(s, i);
	}
	if (!ref_rule[n->op])
		return run_unsupported(s, arena_printf(r->arena, "no reference for %s", op_info[n->op].name));
	for (int k = 0; k < MAX_OUTS; k++)
		c.view_of[k] = -1;
	operands(s, &c, i);
	if (reads_what_is_open(s, &c) || !autograd_takes(&c))
		return false;
	if (!takes_dtypes(s, &c))
		return false;
	if (c.inplace && op_has(n->op, T_NONDIFF)
		&& reads_grad(&c)) /* logical_not_ leaves the history of what it writes over, eq_ gives zeros */
		return run_unsupported(s, arena_printf(r->arena, "%s of what requires grad", op_info[n->op].name));
	bool ok = shared_rule(&c, i);
	for (int k = 0; k < c.nout && !c.inplace && run_reads_meta(&c); k++)
		c.out[k].meta.device = DEV_META;
	s->unsupported = s->unsupported || c.unsupported;
	s->undecided = s->undecided || c.undecided;
	if (!ok || r->tape.over) {
		if (r->tape.over)
			return run_beyond_budget(s);
		return false;
	}
	ok = c.inplace ? run_write_back(s, &c, i) : take_results(s, &c, i);
	bool picks = op_info[c.n->op].family == F_GATHER; /* and may pick an element several times, however few it picks */
	for (int k = 0; k < MAX_ARGS && ok; k++)
		if (c.in[k] && c.nout && c.view_of[0] < 0)
			levels_read(r, c.in[k], picks ? INT64_MAX : meta_numel(c.inplace ? &c.in[A_INPLACE_self]->meta : &c.out[0].meta));
	if (r->tape.over)
		return run_beyond_budget(s);
	return ok;
}

REFERENCE(getitem, ANEW)
{
	int64_t k = ref_arg_int(c, A_getitem_index), n = c->r->node[c->n->arg[A_getitem_self].node].nout;
	if (k < -n || k >= n)
		return err_set(c->err, "tuple index out of range");
	c->out[0] = *c->list[A_getitem_self][k < 0 ? k + n : k];
	c->view_of[0] = -2;
	c->nout = 1;
	return true;
}

/* A copy of a program that reads sizes off tensors: there they are what the reference derives. NULL: it reads none. */
static struct prog *own_sizes(const struct prog *p, struct arena *a)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_sym_size) {
			struct prog *own = ARENA_NEW(a, struct prog, 1);
			prog_clone(own, p, a);
			return own;
		}
	return NULL;
}

/* All nodes, on a fresh tape. final: NULL, or what the memory of several inputs holds when backward begins. */
static bool forward(struct reference_run *s, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	uint64_t sample, const struct ref_final *final, struct arena *a)
{
	s->own = own_sizes(p, a);
	s->r = (struct ref){.arena = a, .p = s->own ? s->own : p, .final = final, .zero_cotangents = s->zero_cotangents};
	tape_init(&s->r.tape, a, l, limit);
	s->r.tape.sample = sample;
	s->r.node = ARENA_ZNEW(a, struct ref_node, p->nnode + 1);
	s->leaf = ARENA_ZNEW(a, sid, p->nnode + 1);
	s->r.ninput_storage = s->r.nmemory = prog_input_storages(p);
	s->r.input_storage = ARENA_ZNEW(a, int, s->r.ninput_storage + 1);
	bool ok = true;
	for (int i = 0; i < p->nnode && ok; i++)
		ok = do_node(s, i);
	return ok;
}

static enum ref_status run(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	uint64_t sample, bool zero_cotangents, struct arena *a, struct err *err)
{
	struct err own = {0};
	struct reference_run s = {.err = err ? err : &own, .zero_cotangents = zero_cotangents};
	memset(out, 0, sizeof *out);
	bool ok = forward(&s, p, l, limit, sample, NULL, a);
	if (ok && p->has_backward && shared_any_stale(&s.r))
		ok = forward(&s, p, l, limit, sample, shared_final(&s.r), a);
	ok = ok && run_gradients(&s, out) && run_collect(&s, out);
	out->nscalar = s.r.tape.nscalar;
	out->nentry = s.r.tape.nentry;
	struct tape *tape = ARENA_NEW(a, struct tape, 1);
	struct ref *state = ARENA_NEW(a, struct ref, 1);
	*tape = s.r.tape;
	*state = s.r;
	out->tape = tape;
	out->run = state;
	out->bound = state->p;
	out->status = ok ? REF_OK : s.unsupported ? REF_UNSUPPORTED : REF_RAISES;
	out->undecided = !ok && s.undecided;
	out->message = arena_strdup(a, s.err->msg);
	return out->status;
}

enum ref_status ref_run(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	struct arena *a, struct err *err)
{
	return run(out, p, l, limit, 0, false, a, err);
}

enum ref_status ref_sample(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	uint64_t seed, struct arena *a, struct err *err)
{
	return run(out, p, l, limit, seed, false, a, err);
}

enum ref_status ref_zero_cotangents(struct reference *out, const struct prog *p, const struct licence_profile *l, struct tape_limits limit,
	struct arena *a, struct err *err)
{
	return run(out, p, l, limit, 0, true, a, err);
}
