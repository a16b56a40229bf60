/* refrun.c: runs a program on the tape: inputs become leaves and constants, each node's index formula appends scalars, views are
 * index maps, in-place rows overwrite ids; then the tape is differentiated along the tensor-level requires-grad path. */
#include "oracle/ref/refrun.h"
#include "eager/lang/fill.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/tape/tape_impl.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_id.h"

#include <stdlib.h>

/* Inputs and symbols: the driver makes them. */
#define ref_none NULL
ref_fn *const ref_rule[NOPS] = {
#define OP(id, name, schema, fam, dts, traits, saves, lic, m, k, g, r) [OP_##id] = ref_##r,
#include "eager/lang/ops.def"
};

struct run {
	struct ref r;
	struct err *err;
	bool unsupported;
	sid *leaf;        /* [nnode] first leaf scalar of an input row that requires grad */
	struct prog *own; /* see own_sizes */
	bool zero_cotangents;
};

static bool unsupported(struct run *s, const char *what)
{
	s->unsupported = true;
	return err_set(s->err, "%s", what);
}

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

static int new_base(struct ref *r, bool grad)
{
	if (r->nbase == r->cap_base) {
		int cap = MAX(64, r->cap_base * 2);
		r->base = ARENA_GROW(r->arena, struct ref_base, r->base, r->cap_base, cap);
		r->cap_base = cap;
	}
	r->base[r->nbase] = (struct ref_base){.grad = grad};
	return r->nbase++;
}

static void note_write(struct ref *r, int node, int base)
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

/* ---- inputs ---- */
static bool meta_of_input(struct run *s, struct meta *m, const struct node *n, const struct meta *base)
{
	const struct op_info *o = &op_info[n->op];
	int size = op_arg(n->op, N_size), stride = op_arg(n->op, N_stride), offset = op_arg(n->op, N_offset);
	const struct arg *a = &n->arg[size];
	int64_t sizes[MAX_RANK];
	(void)o;
	if (a->n > MAX_RANK)
		return err_set(s->err, "input: more than %d dimensions", MAX_RANK);
	for (int d = 0; d < a->n; d++)
		sizes[d] = a->ints[d].value;
	enum dtype dt = base ? base->dtype : n->arg[op_arg(n->op, N_dtype)].dtype;
	if (!meta_check_sizes(sizes, a->n, s->err))
		return false;
	meta_make_contiguous(m, dt, sizes, a->n);
	if (stride >= 0 && n->arg[stride].tag == ARG_INTS)
		for (int d = 0; d < m->rank && d < n->arg[stride].n; d++)
			m->stride[d] = n->arg[stride].ints[d].value;
	m->offset = n->arg[offset].i.value;
	return true;
}

/* The input row that a chain of input_view rows starts from. */
static int input_root(const struct prog *p, int node)
{
	while (p->node[node].op == OP_input_view)
		node = p->node[node].arg[A_input_view_base].node;
	return node;
}

/* Leaves of input row i: one scalar per logical index. */
static sid load_leaves(struct run *s, int i, const struct meta *m, const unsigned char *data)
{
	struct ref *r = &s->r;
	int64_t n = meta_numel(m), k = 0;
	int nb = dtype_nbytes(m->dtype);
	if (meta_is_contiguous(m))
		return s->leaf[i] = tape_load(&r->tape, SF_LEAF, m->dtype, data + m->offset * nb, n);
	unsigned char *dense = arena_alloc(r->arena, (size_t)(n * nb));
	struct meta_iter it;
	meta_iter_start(&it, m);
	do {
		memcpy(dense + k++ * nb, data + it.off * nb, (size_t)nb);
	} while (meta_iter_next(&it, m));
	return s->leaf[i] = tape_load(&r->tape, SF_LEAF, m->dtype, dense, n);
}

/* The scalars of an input's cells: leaves where row i has elements that are differentiated, constants elsewhere. */
static void load_cells(struct run *s, sid *ids, int64_t ncells, int i, const struct meta *m, const unsigned char *data, bool leaves)
{
	struct tape *t = &s->r.tape;
	int64_t n = meta_numel(m), gaps = ncells - (leaves ? n : 0), k = 0;
	int nb = dtype_nbytes(m->dtype);
	memset(ids, 0, (size_t)ncells * sizeof *ids);
	if (leaves && n) {
		sid first = load_leaves(s, i, m, data);
		struct meta_iter it;
		if (t->over)
			return;
		meta_iter_start(&it, m);
		do {
			ids[it.off] = first + (sid)k++;
		} while (meta_iter_next(&it, m));
	}
	unsigned char *rest = arena_alloc(s->r.arena, (size_t)(gaps * nb));
	k = 0;
	for (int64_t c = 0; c < ncells; c++)
		if (!ids[c])
			memcpy(rest + k++ * nb, data + c * nb, (size_t)nb);
	CHECK(k == gaps);
	sid first = tape_load(t, SF_CONST, m->dtype, rest, gaps);
	for (int64_t c = 0; c < ncells && gaps && !t->over; c++)
		if (!ids[c])
			ids[c] = first++;
}

/* Leaves of an input whose cells several indices or rows share: ids of their own, in which views of the leaf are maps. */
static void own_leaves(struct ref *r, struct ref_tensor *t, sid first)
{
	const struct meta *m = &t->meta;
	struct ref_storage *st = &r->storage[t->storage];
	int64_t n = meta_numel(m);
	sid *ids = tape_ids(&r->tape, n);
	st->leaf_elsewhere = true;
	for (int64_t k = 0; k < n; k++)
		ids[k] = first + (sid)k;
	t->storage = ref_storage_new(r, m->dtype, n, ids, st->memory);
	meta_make_contiguous(&t->map, m->dtype, m->size, m->rank);
}

static bool do_input(struct run *s, int i)
{
	struct ref *r = &s->r;
	const struct prog *p = r->p;
	const struct node *n = &p->node[i];
	int root = input_root(p, i), number = 0;
	for (int k = 0; k < root; k++)
		number += p->node[k].op == OP_input;
	struct ref_tensor *t = r->node[i].out;
	const struct meta *base = root == i ? NULL : &r->node[root].out[0].meta;
	if (!meta_of_input(s, &t->meta, n, base))
		return false;
	t->map = t->meta;
	int64_t ncells = meta_extent(&t->meta);
	sid *ids = root == i ? tape_ids(&r->tape, ncells) : NULL;
	if (root == i) {
		r->input_storage[number] = ref_storage_new(r, t->meta.dtype, ncells, ids, number);
		for (int k = 0; k < p->nnode; k++)
			if (p->node[k].op == OP_input_view && input_root(p, k) == i)
				r->storage[r->input_storage[number]].shared = r->storage[r->input_storage[number]].strangers = true;
		if (r->storage[r->input_storage[number]].shared)
			shared_begin(r, &r->storage[r->input_storage[number]]);
	} else if (ncells > r->storage[r->input_storage[number]].ncells) {
		return err_set(s->err, "input_view reaches beyond its base");
	}
	t->storage = r->input_storage[number];
	struct ref_storage *st = &r->storage[t->storage];
	st->overlapping |= meta_has_duplicates(&t->meta);
	bool grad = node_requires_grad(n), own = st->shared || meta_has_duplicates(&t->meta);
	if (grad && !dtype_is_float(t->meta.dtype))
		return err_set(s->err, "only Tensors of floating point and complex dtype can require gradients");
	t->requires_grad = grad;
	t->base = new_base(r, grad);
	r->node[i].write = ARENA_NEW(r->arena, struct ref_read, 1);
	note_write(r, i, t->base);
	struct arena_mark m = arena_mark(r->arena); /* the data is not needed once it is on the tape */
	unsigned char *data = fill_storage(p, number, r->arena);
	sid leaf = 0;
	if (root == i)
		load_cells(s, ids, ncells, i, &t->meta, data, grad && !own);
	if (grad && own)
		leaf = load_leaves(s, i, &t->meta, data);
	arena_release(r->arena, m);
	if (grad && own && !r->tape.over)
		own_leaves(r, t, leaf);
	return true;
}

/* ---- nodes ---- */
bool ref_has_grad(const struct ref *r, const struct ref_tensor *t) { return t && dtype_is_float(t->meta.dtype) && r->base[t->base].grad; }

static void note_read(struct ref *r, int node, const struct ref_tensor *t)
{
	struct ref_node *n = &r->node[node];
	if (t)
		n->read[n->nread++] = (struct ref_read){t->base, r->base[t->base].nwriter, false};
}

/* Fills c->in and c->list from the program; notes what the node depends on. */
static void operands(struct run *s, struct ref_ctx *c, int i)
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

static bool same_geometry(const struct meta *a, const struct meta *b)
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
	return !meta_is_non_overlapping_and_dense(&q) && meta_has_duplicates(&q);
}

static void mark_cells(bool *cell, const struct meta *m)
{
	struct meta_iter it;
	meta_iter_start(&it, m);
	do
		cell[it.off] = true;
	while (meta_iter_next(&it, m));
}

/* Some element of the view is none of self's. as_strided's backward gives gradients to self's elements alone, so what arrives there is
 * lost, unless a write through the view made autograd take the base's whole memory (AsStridedBackward0; FunctionsManual.cpp
 * as_strided_backward). An input's own elements are all that can get gradients: there nothing is lost. */
static bool names_others(struct ref *r, const struct node *n, const struct ref_tensor *self, const struct meta *view)
{
	if (op_arg(n->op, N_storage_offset) < 0 || !dtype_is_float(view->dtype) || r->p->node[n->arg[A_as_strided_self].node].op == OP_input
		|| !meta_numel(view))
		return false;
	struct arena_mark m = arena_mark(r->arena);
	bool *own = arena_zalloc(r->arena, (size_t)MAX(meta_extent(&self->map), meta_extent(view)) + 1), all = true;
	if (meta_numel(&self->map))
		mark_cells(own, &self->map);
	struct meta_iter it;
	meta_iter_start(&it, view);
	do
		all = own[it.off];
	while (all && meta_iter_next(&it, view));
	arena_release(r->arena, m);
	return !all;
}

/* unfold's backward adds into zeros even if its windows do not overlap; what is added may be flushed there. */
static bool adds_in_backward(const struct ref *r, int op, const struct ref_tensor *t)
{
	enum dtype dt = t->meta.dtype;
	return op == OP_unfold && dtype_is_float(dt) && r->tape.lic->rule[LC_ACCUM][dt].flags & LF_FTZ;
}

/* Where the view lies in the id array of a leaf that has one of its own: the same rule applied to the map. */
static bool shadow_run(struct run *s, struct ref_ctx *c)
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
		return unsupported(s, "a view of a leaf that overlaps itself has no map");
	for (int k = 0; k < c->nout; k++) {
		if (d.view_of[k] != c->view_of[k] || !meta_same_sizes(&d.out[k].meta, &c->out[k].meta))
			return unsupported(s, "a view of a leaf that overlaps itself has no map");
		c->out[k].map = d.out[k].meta;
	}
	return true;
}

static int lay_out(struct ref *r, const struct meta *m, const sid *ids)
{
	int64_t n = meta_numel(m), cells = meta_extent(m);
	if (!meta_is_contiguous(m)) {
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
static void separate(struct ref *r, sid *ids, int64_t n, enum dtype dt)
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
static bool keeps_cells(const struct ref *r, const struct ref_tensor *self)
{
	const struct ref_storage *from = &r->storage[self->storage];
	return self->meta.offset != 0 || !meta_is_contiguous(&self->meta) || from->ncells != meta_numel(&self->meta) || from->cloned;
}

/* A new tensor that starts as self: not where(), whose condition comes first and whose result is laid out anew. */
static bool is_scattered(int op) { return op_has(op, T_SCATTER) && op_self(op) == A_overlaid_self; }

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
	return new_base(r, false);
}

static bool take_results(struct run *s, struct ref_ctx *c, int i)
{
	struct ref *r = &s->r;
	bool need_shadow = false;
	for (int k = 0; k < c->nout; k++) {
		int v = c->view_of[k];
		need_shadow = need_shadow || (v >= 0 && !same_geometry(&c->in[v]->meta, &c->in[v]->map));
		if (v != -2)
			c->out[k].map = c->out[k].meta;
	}
	if (need_shadow && !shadow_run(s, c))
		return false;
	for (int k = 0; k < c->nout; k++) {
		struct ref_tensor *t = &c->out[k];
		int v = c->view_of[k];
		if (v == -2) { /* getitem: complete already */
			note_write(r, i, t->base);
			continue;
		}
		if (v >= 0) {
			t->storage = c->in[v]->storage;
			t->base = c->in[v]->base;
			if (op_has(c->n->op, T_NONDIFF))
				t->base = detached_base(r, t);
			r->storage[t->storage].unsaid |= op_has(c->n->op, T_VIEW) && !op_info[c->n->op].param[A_viewed_self].is_alias;
			t->beyond = c->in[v]->beyond || names_others(r, c->n, c->in[v], &t->map);
			t->levels = levels_of_view(c->in[v], t, op_arg(c->n->op, N_storage_offset) >= 0);
			if (op_arg(c->n->op, N_storage_offset) >= 0 && memcmp(&c->in[v]->meta, &c->in[v]->map, sizeof c->in[v]->meta) != 0)
				return unsupported(s, "cells of an input are named whose indices share cells and have gradients of their own");
			if (r->storage[t->storage].cloned && op_arg(c->n->op, N_storage_offset) >= 0)
				return unsupported(s, "cells of a scatter's result are named that are no elements of it");
			t->overlapping = c->in[v]->overlapping || overlaps_partly(&t->map)
				|| adds_in_backward(r, c->n->op, t); /* with or without gradients: they may come later */
			if (meta_extent(&t->map) > r->storage[t->storage].ncells)
				return err_set(s->err, "the view reaches beyond its storage");
		} else {
			if (c->grad && dtype_is_float(t->meta.dtype))
				separate(r, c->ids[k], meta_numel(&t->meta), t->meta.dtype);
			t->storage = lay_out(r, &t->meta, c->ids[k]);
			r->storage[t->storage].cloned = is_scattered(c->n->op) && keeps_cells(r, c->in[A_overlaid_self]);
			t->base = new_base(r, c->grad && dtype_is_float(t->meta.dtype));
			note_write(r, i, t->base);
		}
		t->requires_grad = ref_has_grad(r, t);
	}
	r->node[i].nout = c->nout;
	r->node[i].out = ARENA_NEW(r->arena, struct ref_tensor, c->nout + 1);
	memcpy(r->node[i].out, c->out, (size_t)c->nout * sizeof *c->out);
	return true;
}

/* ---- writing in place ---- */
/* Whether the two share some cells without being the same view: what is written then depends on the order. (at::assert_no_partial_overlap
 * refuses what it recognises, and gives up on tensors with gaps.) */
static bool crosses(struct run *s, const struct ref_tensor *to, const struct ref_tensor *from)
{
	if (to->storage != from->storage || !meta_numel(&to->map) || !meta_numel(&from->map))
		return false;
	if (meta_same_sizes(&to->map, &from->map) && to->map.offset == from->map.offset
		&& memcmp(to->map.stride, from->map.stride, (size_t)to->map.rank * sizeof *to->map.stride) == 0)
		return false;
	struct arena_mark m = arena_mark(s->r.arena);
	int64_t ncells = s->r.storage[to->storage].ncells;
	bool *written = arena_zalloc(s->r.arena, (size_t)ncells + 1), hit = false;
	mark_cells(written, &to->map);
	struct meta_iter it;
	meta_iter_start(&it, &from->map);
	do
		hit = written[it.off];
	while (!hit && meta_iter_next(&it, &from->map));
	arena_release(s->r.arena, m);
	return hit;
}

static bool check_write(struct run *s, const struct ref_tensor *t, const struct ref_ctx *c)
{
	struct ref *r = &s->r;
	struct ref_storage *st = &r->storage[t->storage];
	const struct meta *m = &c->out[0].meta;
	if (c->nout != 1 || !meta_same_sizes(m, &t->meta))
		return err_set(s->err, "output with shape of self doesn't match the broadcast shape");
	if ((dtype_is_float(m->dtype) && !dtype_is_float(t->meta.dtype)) || (m->dtype != DT_B8 && t->meta.dtype == DT_B8))
		return err_set(s->err, "result type %s can't be cast to the desired output type %s", dtype_info[m->dtype].name,
			dtype_info[t->meta.dtype].name);
	const struct ref_base *b = &r->base[t->base];
	int w = b->nwriter ? b->writer[0] : 0, op = r->p->node[w].op;
	if (b->grad && b->nwriter == 1 && (op == OP_input || op == OP_input_view))
		return err_set(s->err, "a leaf Variable that requires grad is being used in an in-place operation.");
	if (st->leaf_elsewhere || !same_geometry(&t->meta, &t->map))
		return unsupported(s,
			arena_printf(r->arena,
				"%s into the memory of an input that requires grad and overlaps itself, or shares it with "
				"another input: write into a clone, or let the input require no grad",
				op_info[c->n->op].name));
	if (st->unsaid && (c->grad || b->grad))
		return unsupported(s, "a write into memory that _unsafe_view shares without saying so");
	if (st->detached && st->strangers)
		return unsupported(s, "a write into the memory of aliased inputs, one of which was detached");
	if (meta_has_duplicates(&t->map) && c->n->op == OP_fill_Tensor_ && ref_has_grad(r, c->in[A_fill_Tensor__value]))
		return unsupported(s,
			"gradient of fill_.Tensor's value through a view that overlaps itself: it counts each index, not each cell; detach "
			"the value");
	if (meta_has_duplicates(&t->map) && !op_has(c->n->op, T_ONE_VALUE))
		return unsupported(s,
			arena_printf(r->arena,
				"%s through a view that overlaps itself: the last of several writes to a cell stays, "
				"and PyTorch leaves their order open; fill_, zero_, masked_fill_ and index_fill_ write one value and are judged",
				op_info[c->n->op].name));
	if (c->grad && st->overlapping)
		return unsupported(s, "a write with gradients into a tensor that overlaps itself: detach the tensor first, or write into a clone");
	for (int k = 1; k < op_info[c->n->op].nparam; k++)
		if (c->n->arg[k].tag == ARG_TENSOR && c->in[k] && crosses(s, t, c->in[k]))
			return unsupported(s, "a write into memory that it also reads, elsewhere");
	return true;
}

/* The element was left as it was: reading it through a view that overlaps itself may have made a copy. */
static bool left_alone(const struct tape *t, sid was, sid is)
{
	const struct tape_block *b = is == was ? NULL : tape_block_of(t, is);
	return is == was || (b->f == SF_COPY && b->a[is - b->first] == was);
}

/* Several indices on one cell: it holds what some of them set, whatever the others leave alone. ids: each index's, then its cell's. */
static bool agree_on_cells(struct run *s, const struct ref_ctx *c, const struct ref_tensor *self, sid *ids, int64_t n)
{
	struct ref *r = &s->r;
	const struct ref_storage *st = &r->storage[self->storage];
	sid *cells = tape_ids(&r->tape, st->ncells);
	memcpy(cells, st->ids, (size_t)st->ncells * sizeof *cells);
	struct meta_iter it;
	for (int pass = 0; pass < 2 && n && !r->tape.over; pass++) {
		int64_t k = 0;
		meta_iter_start(&it, &self->map);
		do {
			sid was = st->ids[it.off], *cell = &cells[it.off], is = ids[k++];
			if (pass == 1) {
				bool mixed = c->grad && *cell != was && left_alone(&r->tape, was, is);
				if (mixed)
					return unsupported(s,
						arena_printf(r->arena,
							"gradient of %s through a view that overlaps itself: one index of a cell is set, "
							"another is not, and the last of them decides; give all indices of a cell the same mask",
							op_info[c->n->op].name));
				ids[k - 1] = *cell;
			} else if (!left_alone(&r->tape, was, is)) {
				if (*cell != was && *cell != is)
					return unsupported(s, "a write through a view that overlaps itself, of a mask that is not certain");
				*cell = is;
			}
		} while (meta_iter_next(&it, &self->map));
	}
	return true;
}

static bool write_back(struct run *s, struct ref_ctx *c, int i)
{
	struct ref *r = &s->r;
	struct ref_tensor self = *c->in[A_INPLACE_self];
	if (!check_write(s, &self, c))
		return false;
	const sid *ids = c->ids[0];
	int64_t n = meta_numel(&self.map);
	if (!ids)
		ids = ref_ids(c, &(struct ref_tensor){.meta = c->out[0].meta, .map = c->out[0].meta, .storage = self.storage, .base = self.base});
	if (n)
		ids = ref_cast(c, ids, n, self.meta.dtype);
	bool overlaps = meta_has_duplicates(&self.map);
	if (overlaps || (c->grad && dtype_is_float(self.meta.dtype))) {
		sid *own = tape_ids(&r->tape, n);
		memcpy(own, ids, (size_t)n * sizeof *own);
		if (!overlaps)
			separate(r, own, n, self.meta.dtype);
		else if (!agree_on_cells(s, c, &self, own, n))
			return false;
		ids = own;
	}
	struct ref_storage *st = &r->storage[self.storage];
	sid *cells = tape_ids(&r->tape, st->ncells);
	memcpy(cells, st->ids, (size_t)st->ncells * sizeof *cells);
	struct meta_iter it;
	int64_t k = 0;
	meta_iter_start(&it, &self.map);
	if (n) {
		do {
			cells[it.off] = ids[k++];
		} while (meta_iter_next(&it, &self.map));
	}
	st->ids = cells;
	bool grad = c->grad && dtype_is_float(self.meta.dtype);
	if (st->shared)
		shared_write(r, i, &self, ids, n, grad);
	r->base[self.base].grad |= grad;
	note_write(r, i, self.base);
	self.requires_grad = ref_has_grad(r, &self);
	r->node[i].nout = 1;
	r->node[i].out = ARENA_NEW(r->arena, struct ref_tensor, 1);
	r->node[i].out[0] = self;
	return true;
}

/* ---- elements in any order ---- */
/* Reductions whose result the order of their entries does not change. Positions do depend on it. */
static bool ignores_order(int op)
{
	const struct op_info *o = &op_info[op];
	bool positions = o->licence == LC_MINMAX && (o->family == F_MULTI || o->traits & T_NONDIFF);
	return o->traits & T_REDUCE && !positions;
}

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

static bool order_is_open(struct run *s, const struct ref_tensor *t, const struct node *n)
{
	if (!t || !t->shuffled || (n && (n->op == OP_getitem || (ignores_order(n->op) && reduces(n, t->shuffled - 1, t->meta.rank)))))
		return false;
	const char *who = n ? op_info[n->op].name : "the program's result";
	unsupported(s,
		arena_printf(s->r.arena,
			"%s depends on the order of topk(sorted=False), which is open: sort, or reduce along topk's "
			"dim",
			who));
	return true;
}

/* Gradients may arrive at elements that as_strided did not take from its self (names_others). Views of them read nothing yet. */
static bool gradient_is_lost(struct run *s, const struct ref_tensor *t, const struct node *n)
{
	if (!t || !t->beyond || !s->r.base[t->base].grad || (n && op_has(n->op, T_VIEW)))
		return false;
	unsupported(s,
		"gradient through as_strided beyond the elements of its self, a view: backward drops it there; take as_strided of the whole "
		"tensor, or detach");
	return true;
}

static bool cannot_read(struct run *s, const struct ref_tensor *t, const struct node *n)
{
	return order_is_open(s, t, n) || gradient_is_lost(s, t, n);
}

static bool reads_what_is_open(struct run *s, const struct ref_ctx *c)
{
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		if (cannot_read(s, c->in[k], c->n))
			return true;
		for (int i = 0; c->n->arg[k].tag == ARG_TENSORS && i < c->n->arg[k].n; i++)
			if (cannot_read(s, c->list[k][i], c->n))
				return true;
	}
	return false;
}

static bool do_node(struct run *s, int i)
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
	if (node_is_sym(n))
		return true;
	if (node_is_input(n)) {
		r->node[i].nout = 1;
		r->node[i].out = ARENA_ZNEW(r->arena, struct ref_tensor, 1);
		return do_input(s, i);
	}
	if (!ref_rule[n->op])
		return unsupported(s, arena_printf(r->arena, "no reference for %s", op_info[n->op].name));
	for (int k = 0; k < MAX_OUTS; k++)
		c.view_of[k] = -1;
	operands(s, &c, i);
	if (reads_what_is_open(s, &c))
		return false;
	bool ok = shared_rule(&c, i);
	s->unsupported = s->unsupported || c.unsupported;
	if (!ok || r->tape.over) {
		if (r->tape.over)
			return unsupported(s, "above the reference's budget of scalars or entries");
		return false;
	}
	ok = c.inplace ? write_back(s, &c, i) : take_results(s, &c, i);
	bool picks = op_info[c.n->op].family == F_GATHER; /* and may pick an element several times, however few it picks */
	for (int k = 0; k < MAX_ARGS && ok; k++)
		if (c.in[k] && c.nout && c.view_of[0] < 0)
			levels_read(r, c.in[k], picks ? INT64_MAX : meta_numel(c.inplace ? &c.in[A_INPLACE_self]->meta : &c.out[0].meta));
	if (r->tape.over)
		return unsupported(s, "above the reference's budget of scalars or entries");
	return ok;
}

bool ref_getitem(struct ref_ctx *c)
{
	int64_t k = ref_arg_int(c, A_getitem_index), n = c->r->node[c->n->arg[A_getitem_self].node].nout;
	if (k < -n || k >= n)
		return err_set(c->err, "tuple index out of range");
	c->out[0] = *c->list[A_getitem_self][k < 0 ? k + n : k];
	c->view_of[0] = -2;
	c->nout = 1;
	return true;
}

/* ---- gradients ---- */
static void need_all(const struct ref *r, int *need, const struct ref_tensor *t)
{
	need[t->base] = MAX(need[t->base], r->base[t->base].nwriter);
}

/* The results of a node that have this history, as bits. */
static uint32_t results_of(const struct ref_node *n, int base)
{
	uint32_t bits = 0;
	for (int k = 0; k < n->nout; k++)
		bits |= n->out[k].base == base ? (uint32_t)1 << MIN(k, 31) : 0;
	return bits;
}

/* path[i]: node i is between a leaf that requires grad and a returned value that has a cotangent, through these of its results. Reads
 * depend on every writer that their history had at that moment. */
static void mark_path(const struct ref *r, uint32_t *path)
{
	int *need = ARENA_ZNEW(r->arena, int, r->nbase + 1);
	for (int b = 0; b < r->p->nback && !r->zero_cotangents; b++)
		need_all(r, need, &r->node[r->p->back[b].node].out[0]);
	for (int k = 0; k < r->p->nret && r->zero_cotangents; k++)
		need_all(r, need, &r->node[r->p->ret[k]].out[0]);
	for (int i = 0; i < r->p->nnode && r->zero_cotangents; i++)
		if (node_is_input(&r->p->node[i]))
			need_all(r, need, &r->node[i].out[0]);
	for (int i = r->p->nnode - 1; i >= 0; i--) {
		const struct ref_node *n = &r->node[i];
		for (int w = 0; w < n->nwrite; w++)
			if (n->write[w].grad && n->write[w].count < need[n->write[w].base])
				path[i] |= results_of(n, n->write[w].base);
		for (int k = 0; path[i] && k < n->nread; k++)
			need[n->read[k].base] = MAX(need[n->read[k].base], n->read[k].count);
	}
}

static struct ref_ctx reader(struct run *s) { return (struct ref_ctx){.r = &s->r, .t = &s->r.tape, .p = s->r.p, .err = s->err}; }

/* The sets that the ids name: where they lie on the (finished) tape if the ids count up, else copies. */
static const struct num *values(struct run *s, const sid *ids, int64_t n)
{
	int64_t run = 1;
	while (run < n && ids[run] == ids[0] + (sid)run)
		run++;
	if (run >= n)
		return n ? tape_val(&s->r.tape, ids[0]) : s->r.tape.val;
	struct num *v = ARENA_NEW(s->r.arena, struct num, n + 1);
	for (int64_t k = 0; k < n; k++)
		v[k] = *tape_val(&s->r.tape, ids[k]);
	return v;
}

/* Returned tensors with cotangents, and the scalars of both. */
struct seeds {
	int n;
	const sid *y[MAX_RETURNS], *g[MAX_RETURNS];
	int64_t numel[MAX_RETURNS];
};

/* Reading may append copies of views that overlap, which belong to the view's node and put it on the path: before the adjoints have
 * their array. */
static bool read_seeds(struct run *s, struct seeds *out, uint32_t *path)
{
	struct ref *r = &s->r;
	out->n = r->zero_cotangents ? 0 : r->p->nback;
	for (int b = 0; b < out->n; b++) {
		int node = r->p->back[b].node;
		const struct ref_tensor *y = &r->node[node].out[0], *g = &r->node[r->p->back[b].cotangent].out[0];
		struct ref_ctx c = reader(s);
		if (!ref_has_grad(r, y))
			return err_set(s->err, "element %d of tensors does not require grad and does not have a grad_fn", b);
		if (!meta_same_sizes(&y->meta, &g->meta) || y->meta.dtype != g->meta.dtype)
			return err_set(s->err, "Mismatch in shape: grad_output[%d] and output[%d]", b, b);
		int64_t before = r->tape.nscalar;
		tape_at(&r->tape, node, r->p->node[node].op);
		out->y[b] = ref_ids(&c, y);
		path[node] |= r->tape.nscalar != before;
		out->g[b] = ref_ids(&c, g);
		out->numel[b] = meta_numel(&y->meta);
	}
	return true;
}

static void seed(struct adjoint *A, const struct ref *r, const struct seeds *from)
{
	for (int b = 0; b < from->n; b++)
		for (int64_t k = 0; k < from->numel[b]; k++) {
			struct num v = *tape_val(&r->tape, from->g[b][k]);
			v.flags &= ~NUM_MOVED;
			adjoint_seed(A, from->y[b][k], &v, r->p->nnode + b);
		}
}

/* Strides of .grad: the leaf's if they are dense, else contiguous. */
static struct meta grad_meta(const struct meta *leaf)
{
	struct meta m = *leaf;
	m.offset = 0;
	if (!meta_is_non_overlapping_and_dense(leaf))
		meta_make_contiguous(&m, leaf->dtype, leaf->size, leaf->rank);
	return m;
}

/* Where the group's entries lie among the leaves of a gradient; each has got `sent` contributions, of the group's operator, and is there
 * once. NULL: not so. */
static const int64_t *leaves_of(
	struct run *s, const struct adjoint *A, const struct adj_group *grp, const struct ref_value *grad, int64_t sent)
{
	int64_t *index = ARENA_NEW(s->r.arena, int64_t, grp->n + 1);
	for (int64_t k = 0; k < grp->n; k++) {
		index[k] = (int64_t)grp->entry[k] - (int64_t)grad->leaf;
		if (index[k] < 0 || index[k] >= grad->n || A->a[grp->entry[k]].n != sent || (grp->one && k && index[k] <= index[k - 1]))
			return NULL;
	}
	return index;
}

/* How often an operator that picks sends something, if only 0, to each entry: topk once for each of its k results. */
static int64_t picks_of(const struct ref *r, const struct adj_group *grp)
{
	const struct node *n = &r->p->node[grp->node];
	return grp->one && n->op == OP_topk ? n->arg[A_topk_k].i.value : 1;
}

/* Winner groups whose entries are leaves. Equals among which topk picks several times are one group. */
static void winners(struct run *s, const struct adjoint *A, struct reference *out)
{
	struct ref *r = &s->r;
	if (!A->ngroup)
		return;
	out->winners = ARENA_NEW(r->arena, struct ref_winners, A->ngroup);
	int *group_of = ARENA_ZNEW(r->arena, int, r->tape.nscalar + 1); /* of a group's first entry: its number + 1 */
	for (int q = 0; q < A->ngroup; q++) {
		const struct adj_group *grp = &A->group[q];
		int64_t sent = picks_of(r, grp), most = MIN(sent, grp->n);
		const int64_t *index = NULL;
		for (int v = 0; v < out->ngrads && !index && grp->n && grp->n < INT32_MAX; v++) {
			if (!out->grad[v].present || !(index = leaves_of(s, A, grp, &out->grad[v], sent)))
				continue;
			int *number = &group_of[grp->entry[0]];
			struct ref_winners *w = &out->winners[*number ? *number - 1 : out->nwinners];
			if (!*number) {
				*w = (struct ref_winners){.grad = v, .n = (int)grp->n, .index = index, .g = grp->g};
				w->pick = grp->one ? ARENA_NEW(r->arena, struct num, most) : NULL;
				*number = ++out->nwinners;
			}
			CHECK(!grp->one || w->npick < most);
			if (grp->one)
				w->pick[w->npick++] = grp->g;
		}
	}
}

static bool gradients(struct run *s, struct reference *out)
{
	struct ref *r = &s->r;
	const struct prog *p = r->p;
	for (int i = 0; i < p->nnode; i++)
		out->ngrads += node_requires_grad(&p->node[i]);
	out->grad = ARENA_ZNEW(r->arena, struct ref_value, out->ngrads + 1);
	if (!p->has_backward) {
		out->ngrads = 0;
		return true;
	}
	uint32_t *path = ARENA_ZNEW(r->arena, uint32_t, p->nnode + 1);
	struct adjoint A;
	mark_path(r, path);
	struct seeds seeds;
	if (!read_seeds(s, &seeds, path))
		return false;
	for (int b = 0; b < p->nback; b++) {
		const struct ref_tensor *y = &r->node[p->back[b].node].out[0];
		levels_read(r, y, meta_numel(&y->meta));
	}
	adjoint_init(&A, &r->tape);
	levels_apply(r, &A);
	seed(&A, r, &seeds);
	adjoint_run(&A, path);
	out->adj = A.a;
	int k = 0;
	for (int i = 0; i < p->nnode; i++) {
		if (!node_requires_grad(&p->node[i]))
			continue;
		struct ref_value *g = &out->grad[k++];
		const struct ref_tensor *t = &r->node[i].out[0];
		g->node = i;
		g->present = path[i] != 0;
		g->meta = grad_meta(&t->meta);
		g->memory = -1;
		g->leaf = s->leaf[i];
		g->n = meta_numel(&t->meta);
		struct num *val = ARENA_NEW(r->arena, struct num, g->n + 1);
		for (int64_t e = 0; e < g->n && path[i]; e++)
			num_put(&val[e], adjoint_of(&A, s->leaf[i] + (sid)e));
		g->val = val;
	}
	winners(s, &A, out);
	return true;
}

static bool collect(struct run *s, struct reference *out)
{
	struct ref *r = &s->r;
	const struct prog *p = r->p;
	out->nouts = p->nret;
	out->out = ARENA_ZNEW(r->arena, struct ref_value, p->nret + 1);
	for (int k = 0; k < p->nret; k++) {
		const struct ref_tensor *t = &r->node[p->ret[k]].out[0];
		struct ref_ctx c = reader(s);
		struct ref_value *v = &out->out[k];
		if (cannot_read(s, t, NULL))
			return false;
		v->present = true;
		v->requires_grad = ref_has_grad(r, t);
		v->offset_known = !r->storage[t->storage].cloned;
		v->meta = t->meta;
		v->memory = r->storage[t->storage].memory;
		v->node = p->ret[k];
		v->n = meta_numel(&t->meta);
		v->ids = ref_ids(&c, t); /* may append (copies of overlapping views) */
	}
	tape_finish(&r->tape);
	for (int k = 0; k < p->nret; k++)
		out->out[k].val = values(s, out->out[k].ids, out->out[k].n);
	out->nstorages = r->ninput_storage;
	out->storage = ARENA_ZNEW(r->arena, struct ref_cells, r->ninput_storage + 1);
	for (int k = 0; k < r->ninput_storage; k++) {
		const struct ref_storage *st = &r->storage[r->input_storage[k]];
		out->storage[k] = (struct ref_cells){st->dtype, st->ncells, values(s, st->ids, st->ncells)};
	}
	return !r->tape.over || unsupported(s, "above the reference's budget of scalars or entries");
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
static bool forward(struct run *s, const struct prog *p, const struct licence_profile *l, struct tape_limits limit, uint64_t sample,
	const struct ref_final *final, struct arena *a)
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
	struct run s = {.err = err ? err : &own, .zero_cotangents = zero_cotangents};
	memset(out, 0, sizeof *out);
	bool ok = forward(&s, p, l, limit, sample, NULL, a);
	if (ok && p->has_backward && shared_any_stale(&s.r))
		ok = forward(&s, p, l, limit, sample, shared_final(&s.r), a);
	ok = ok && gradients(&s, out) && collect(&s, out);
	out->nscalar = s.r.tape.nscalar;
	out->nentry = s.r.tape.nentry;
	struct tape *tape = ARENA_NEW(a, struct tape, 1);
	struct ref *state = ARENA_NEW(a, struct ref, 1);
	*tape = s.r.tape;
	*state = s.r;
	out->tape = tape;
	out->run = state;
	out->status = ok ? REF_OK : s.unsupported ? REF_UNSUPPORTED : REF_RAISES;
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
