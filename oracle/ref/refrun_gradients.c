/* refrun_gradients.c: the tape is differentiated along the tensor-level requires-grad path; what the run knows becomes the
 * reference. */
#include "oracle/ref/refrun_impl.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

#include <stdlib.h>

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

static struct ref_ctx reader(struct reference_run *s) { return (struct ref_ctx){.r = &s->r, .t = &s->r.tape, .p = s->r.p, .err = s->err}; }

/* The sets that the ids name: where they lie on the (finished) tape if the ids count up, else copies. */
static const struct num *values(struct reference_run *s, const sid *ids, int64_t n)
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
struct cotangent_seeds {
	int n;
	const sid *y[MAX_RETURNS], *g[MAX_RETURNS];
	int64_t numel[MAX_RETURNS];
};

/* Reading may append copies of views that overlap, which belong to the view's node and put it on the path: before the adjoints have
 * their array. */
static bool read_seeds(struct reference_run *s, struct cotangent_seeds *out, uint32_t *path)
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
		if (run_cannot_read(s, y, NULL) || run_cannot_read(s, g, NULL))
			return false;
		int64_t before = r->tape.nscalar;
		tape_at(&r->tape, node, r->p->node[node].op);
		out->y[b] = ref_ids(&c, y);
		path[node] |= r->tape.nscalar != before;
		out->g[b] = ref_ids(&c, g);
		out->numel[b] = meta_numel(&y->meta);
	}
	return true;
}

static void seed(struct adjoint *A, const struct ref *r, const struct cotangent_seeds *from)
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
	if (!layout_is_dense(leaf))
		meta_make_contiguous(&m, leaf->dtype, leaf->size, leaf->rank);
	return m;
}

/* Where the group's entries lie among the leaves of a gradient; each has got `sent` contributions, of the group's operator, and is there
 * once. NULL: not so. */
static const int64_t *leaves_of(
	struct reference_run *s, const struct adjoint *A, const struct adj_group *grp, const struct ref_value *grad, int64_t sent)
{
	int64_t *index = ARENA_NEW(s->r.arena, int64_t, grp->n + 1);
	for (int64_t k = 0; k < grp->n; k++) {
		index[k] = (int64_t)grp->entry[k] - (int64_t)grad->leaf;
		if (index[k] < 0 || index[k] >= grad->n || A->a[grp->entry[k]].n != sent || (k && index[k] <= index[k - 1]))
			return NULL;
	}
	return index;
}

/* How often an operator that picks sends something, if only 0, to each entry: topk and sort once for each result of a row, others once. */
static int64_t picks_of(const struct ref *r, const struct adj_group *grp)
{
	const struct node *n = &r->p->node[grp->node];
	const struct meta *m = &r->node[grp->node].out[0].meta;
	if (!op_has(n->op, T_ORDER) || op_has(n->op, T_REDUCE) || m->rank == 0)
		return 1;
	int64_t dim = n->arg[op_arg(n->op, N_dim)].i.value;
	return m->size[dim < 0 ? dim + m->rank : dim];
}

/* Is the group neither new nor one that is there? Then nothing is known of those that it has entries in common with. */
static bool overlaps(struct ref_winners *winners, const int *group_of, const struct adj_group *grp)
{
	const int number = group_of[grp->entry[0]];
	bool other = number && winners[number - 1].n != grp->n;
	for (int64_t k = 0; k < grp->n; k++)
		other |= group_of[grp->entry[k]] != number;
	for (int64_t k = 0; k < grp->n && other; k++)
		if (group_of[grp->entry[k]])
			winners[group_of[grp->entry[k]] - 1].n = 0;
	return other;
}

/* Winner groups whose entries are leaves. Equals among which one operator picks several times are one group. */
static void winners(struct reference_run *s, const struct adjoint *A, struct reference *out)
{
	struct ref *r = &s->r;
	if (!A->ngroup)
		return;
	out->winners = ARENA_NEW(r->arena, struct ref_winners, A->ngroup);
	int *group_of = ARENA_ZNEW(r->arena, int, r->tape.nscalar + 1); /* of an entry: its group's number + 1 */
	for (int q = 0; q < A->ngroup; q++) {
		const struct adj_group *grp = &A->group[q];
		int64_t sent = picks_of(r, grp), most = MIN(sent, grp->n);
		const int64_t *index = NULL;
		for (int v = 0; v < out->ngrads && !index && grp->n && grp->n < INT32_MAX; v++) {
			if (!out->grad[v].present || !(index = leaves_of(s, A, grp, &out->grad[v], sent)))
				continue;
			int *number = &group_of[grp->entry[0]];
			if (overlaps(out->winners, group_of, grp))
				continue;
			struct ref_winners *w = &out->winners[*number ? *number - 1 : out->nwinners];
			if (!*number) {
				*w = (struct ref_winners){
					.grad = v, .n = (int)grp->n, .tied = true, .index = index, .pick = ARENA_NEW(r->arena, struct num, most)};
				out->nwinners++;
				for (int64_t k = 0; k < grp->n; k++)
					group_of[grp->entry[k]] = out->nwinners;
			}
			CHECK(w->npick < most);
			w->pick[w->npick++] = grp->g;
			w->tied = w->tied && grp->tied && !(grp->g.flags & (NUM_SPECIAL | NUM_UNDEC));
		}
	}
}

bool run_gradients(struct reference_run *s, struct reference *out)
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
	struct cotangent_seeds seeds;
	if (!read_seeds(s, &seeds, path))
		return false;
	if (r->tape.over)
		return run_beyond_budget(s);
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

bool run_collect(struct reference_run *s, struct reference *out)
{
	struct ref *r = &s->r;
	const struct prog *p = r->p;
	out->nouts = p->nret;
	out->out = ARENA_ZNEW(r->arena, struct ref_value, p->nret + 1);
	for (int k = 0; k < p->nret; k++) {
		const struct ref_tensor *t = &r->node[p->ret[k]].out[0];
		struct ref_ctx c = reader(s);
		struct ref_value *v = &out->out[k];
		if (run_cannot_read(s, t, NULL))
			return false;
		v->present = true;
		v->requires_grad = ref_has_grad(r, t);
		v->meta = t->meta;
		v->memory = r->storage[t->storage].memory;
		v->node = p->ret[k];
		v->n = meta_numel(&t->meta);
		v->ids = ref_ids(&c, t); /* may append (copies of overlapping views) */
	}
	if (r->tape.over)
		return run_beyond_budget(s);
	tape_finish(&r->tape);
	for (int k = 0; k < p->nret; k++)
		out->out[k].val = values(s, out->out[k].ids, out->out[k].n);
	out->nstorages = r->ninput_storage;
	out->storage = ARENA_ZNEW(r->arena, struct ref_cells, r->ninput_storage + 1);
	for (int k = 0; k < r->ninput_storage; k++) {
		const struct ref_storage *st = &r->storage[r->input_storage[k]];
		out->storage[k] = (struct ref_cells){st->dtype, st->ncells, values(s, st->ids, st->ncells)};
	}
	return true;
}
