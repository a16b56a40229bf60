/* refrun_input.c: inputs of a program: which of their cells are leaves, which constants, and what several inputs over one memory share. */
#include "eager/lang/fill.h"
#include "oracle/ref/refrun_impl.h"
#include "generated/op_args.h"

/* ---- inputs ---- */
static bool meta_of_input(struct reference_run *s, struct meta *m, const struct node *n, const struct meta *base)
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
	const int device = op_arg(n->op, N_device);
	m->device = base ? base->device : str_eq(n->arg[device].str, "meta") ? DEV_META : DEV_RUN;
	if (m->device == DEV_META && s->r.p->nback)
		return run_unsupported(s, "gradients beside tensors on device meta");
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
static sid load_leaves(struct reference_run *s, int i, const struct meta *m, const unsigned char *data)
{
	struct ref *r = &s->r;
	int64_t n = meta_numel(m), k = 0;
	int nb = dtype_nbytes(m->dtype);
	if (layout_is_contiguous(m))
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
static void load_cells(
	struct reference_run *s, sid *ids, int64_t ncells, int i, const struct meta *m, const unsigned char *data, bool leaves)
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

bool run_input(struct reference_run *s, int i)
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
	st->overlapping |= layout_overlaps(&t->meta);
	bool grad = node_requires_grad(n), own = st->shared || layout_overlaps(&t->meta);
	if (grad && !dtype_is_float(t->meta.dtype))
		return err_set(s->err, "only Tensors of floating point and complex dtype can require gradients");
	if (grad && !dtype_has_grad(t->meta.dtype))
		return run_unsupported(s, arena_printf(r->arena, "gradients of %s", dtype_info[t->meta.dtype].name));
	t->requires_grad = grad;
	t->base = run_new_base(r, grad);
	r->node[i].write = ARENA_NEW(r->arena, struct ref_read, 1);
	run_note_write(r, i, t->base);
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
