/* shared.c: histories that share memory. Of a detached view and what it was taken from: what one reads may have been written through the
 * other. Inputs are strangers to autograd, each with a history and a version counter of its own. So
 *   - what one reads may have been written through another: the value is what stands in memory, the gradient goes where its own history
 *     says, or nowhere;
 *   - what autograd saved through one may be overwritten through another before backward reads it, and nobody complains: backward computes
 *     with what stands there when forward has ended.
 * For the second the program is run twice: the first run learns how the memory ends, in the second a node whose saved operands do not last
 * gets two readings: one gives its value, the other, of the operands as they end, its derivative (SF_GRAFT). */
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/row_rules.h"

/* ---- histories ---- */
void shared_begin(struct ref *r, struct ref_storage *s)
{
	s->writer = ARENA_NEW(r->arena, struct ref_writer, s->ncells + 1);
	for (int64_t k = 0; k < s->ncells; k++)
		s->writer[k] = (struct ref_writer){-1, -1};
}

void shared_split(struct ref *r, struct ref_storage *s, int base)
{
	sid *seen = tape_ids(&r->tape, s->ncells);
	memcpy(seen, s->ids, (size_t)s->ncells * sizeof *seen);
	r->base[base].seen = seen;
	s->graded = true;
}

static sid *cells_of(struct tape *t, const sid *cells, const struct meta *m, int64_t n)
{
	sid *out = tape_ids(t, n);
	struct meta_iter it;
	int64_t k = 0;
	meta_iter_start(&it, m);
	do
		out[k++] = cells[it.off];
	while (k < n && meta_iter_next(&it, m));
	return out;
}

/* out[k] = first + (number of k among the chosen). */
static void place(sid *out, const bool *chosen, int64_t n, sid first, bool over)
{
	for (int64_t k = 0; k < n; k++)
		if (chosen[k])
			out[k] = over ? 0 : first++;
}

const sid *shared_read(struct ref_ctx *c, const struct ref_tensor *t, const sid *ids, const struct meta *m, int64_t n)
{
	const struct ref_base *b = &c->r->base[t->base];
	sid *own = b->grad && b->seen ? cells_of(c->t, b->seen, m, n) : NULL, *out = tape_ids(c->t, n);
	memcpy(out, ids, (size_t)n * sizeof *out);
	for (int strange = 0; strange < 2; strange++) { /* 1: cells that this history never wrote */
		bool *chosen = ARENA_NEW(c->t->arena, bool, n + 1);
		sid *a = tape_ids(c->t, n), *h = tape_ids(c->t, n);
		int64_t count = 0;
		for (int64_t k = 0; k < n; k++) {
			chosen[k] = strange ? !own || own[k] == UNSEEN : own && own[k] != UNSEEN && own[k] != ids[k];
			if (chosen[k]) {
				a[count] = ids[k];
				h[count++] = own ? own[k] : 0;
			}
		}
		if (count)
			place(out, chosen, n,
				strange ? tape_map1(c->t, SF_DETACH, t->meta.dtype, a, count) : tape_map2(c->t, SF_GRAFT, t->meta.dtype, a, h, count),
				c->t->over);
	}
	return out;
}

void shared_write(struct ref *r, int node, const struct ref_tensor *t, const sid *ids, int64_t n, bool grad)
{
	struct ref_storage *s = &r->storage[t->storage];
	struct ref_base *b = &r->base[t->base];
	s->graded |= grad;
	if (grad && !b->seen) {
		b->seen = tape_ids(&r->tape, s->ncells);
		for (int64_t k = 0; k < s->ncells; k++)
			b->seen[k] = UNSEEN;
	}
	struct meta_iter it;
	int64_t k = 0;
	meta_iter_start(&it, &t->map);
	if (n) {
		do {
			s->writer[it.off] = (struct ref_writer){node, t->base};
			if (b->seen)
				b->seen[it.off] = ids[k];
			k++;
		} while (meta_iter_next(&it, &t->map));
	}
}

/* ---- what is saved, and what backward finds ---- */
/* A cell of t that node saves and somebody else overwrites later, or in the same node. */
static bool lost(const struct ref_writer *w, int node, const struct ref_tensor *t) { return w->node >= node && w->base != t->base; }

/* Calls f for each tensor in shared memory that autograd saves for this node; returns whether some call returned true. */
typedef bool saved_fn(struct ref_ctx *c, int node, const struct ref_tensor *t);

static bool has_grad(const struct ref_ctx *c, int arg)
{
	const struct arg *a = &c->n->arg[arg];
	bool grad = ref_has_grad(c->r, c->in[arg]);
	for (int k = 0; a->tag == ARG_TENSORS && k < a->n; k++)
		grad = grad || ref_has_grad(c->r, c->list[arg][k]);
	return grad;
}

static bool in_shared(const struct ref *r, const struct ref_tensor *t) { return t && r->storage[t->storage].strangers; }

static bool each_saved(struct ref_ctx *c, int node, saved_fn *f)
{
	const struct op_info *o = &op_info[c->n->op];
	bool any = false;
	for (int s = 0; s < o->nsave; s++) {
		int what = o->save[s].what;
		if (o->save[s].when != SAVE_ANY && !has_grad(c, o->save[s].when))
			continue;
		if (what >= SAVE_RESULT) { /* of an in-place operator: self; other results are in memory of their own */
			if (c->inplace && in_shared(c->r, c->in[A_INPLACE_self]))
				any |= f(c, node, c->in[A_INPLACE_self]);
			continue;
		}
		if (c->inplace && what == A_INPLACE_self) /* a copy is saved */
			continue;
		const struct arg *a = &c->n->arg[what];
		if (in_shared(c->r, c->in[what]))
			any |= f(c, node, c->in[what]);
		for (int k = 0; a->tag == ARG_TENSORS && k < a->n; k++)
			if (in_shared(c->r, c->list[what][k]))
				any |= f(c, node, c->list[what][k]);
	}
	return any;
}

/* In a first run: noted, to be compared with who writes when. */
struct ref_save {
	struct ref_save *next;
	int node;
	struct ref_tensor t;
};

static bool note_save(struct ref_ctx *c, int node, const struct ref_tensor *t)
{
	struct ref_save *n = ARENA_NEW(c->r->arena, struct ref_save, 1);
	*n = (struct ref_save){c->r->saved, node, *t};
	c->r->saved = n;
	return true;
}

bool shared_any_stale(const struct ref *r)
{
	for (const struct ref_save *n = r->saved; n; n = n->next) {
		struct meta_iter it;
		if (!meta_numel(&n->t.map))
			continue;
		meta_iter_start(&it, &n->t.map);
		do {
			if (lost(&r->storage[n->t.storage].writer[it.off], n->node, &n->t))
				return true;
		} while (meta_iter_next(&it, &n->t.map));
	}
	return false;
}

const struct ref_final *shared_final(const struct ref *r)
{
	struct ref_final *f = ARENA_ZNEW(r->arena, struct ref_final, r->ninput_storage + 1);
	for (int i = 0; i < r->ninput_storage; i++) {
		const struct ref_storage *s = &r->storage[r->input_storage[i]];
		if (!s->strangers)
			continue;
		struct num *val = ARENA_NEW(r->arena, struct num, s->ncells + 1);
		for (int64_t k = 0; k < s->ncells; k++)
			val[k] = *tape_val(&r->tape, s->ids[k]);
		f[i] = (struct ref_final){s->ncells, val, s->writer};
	}
	return f;
}

static const struct ref_final *final_of(const struct ref *r, const struct ref_tensor *t)
{
	return &r->final[r->storage[t->storage].memory];
}

static bool saves_lost(struct ref_ctx *c, int node, const struct ref_tensor *t)
{
	const struct ref_final *f = final_of(c->r, t);
	struct meta_iter it;
	if (!meta_numel(&t->map))
		return false;
	meta_iter_start(&it, &t->map);
	do {
		if (lost(&f->writer[it.off], node, t))
			return true;
	} while (meta_iter_next(&it, &t->map));
	return false;
}

/* t, in memory of its own that holds these ids in row-major order. */
static void elsewhere(struct ref_ctx *c, struct ref_tensor *t, const sid *ids)
{
	const struct meta *m = &t->meta;
	t->storage = ref_storage_new(c->r, m->dtype, meta_numel(m), ids, c->r->nmemory++);
	meta_make_contiguous(&t->map, m->dtype, m->size, m->rank);
}

/* t as backward will find it: lost cells hold what the memory ends with; the gradient still goes where it came from. */
static void as_it_ends(struct ref_ctx *c, int node, struct ref_tensor *t)
{
	const struct ref_final *f = final_of(c->r, t);
	enum dtype dt = t->meta.dtype;
	int64_t n = meta_numel(&t->map), k = 0;
	const sid *ids = ref_ids(c, t);
	struct num *val = ARENA_NEW(c->t->arena, struct num, n + 1);
	struct meta_iter it;
	if (!n || c->t->over)
		return;
	meta_iter_start(&it, &t->map);
	do {
		val[k] = lost(&f->writer[it.off], node, t) ? f->val[it.off] : *tape_val(c->t, ids[k]);
		k++;
	} while (meta_iter_next(&it, &t->map));
	const sid *now = ref_ids_block(c, tape_sets(c->t, dt, val, n), n);
	if (dtype_is_float(dt))
		now = ref_ids_block(c, tape_map2(c->t, SF_GRAFT, dt, now, ids, n), n);
	elsewhere(c, t, now);
}

/* t as it is, without derivative. */
static void without_gradient(struct ref_ctx *c, struct ref_tensor *t)
{
	int64_t n = meta_numel(&t->map);
	if (!n || !dtype_is_float(t->meta.dtype))
		return;
	elsewhere(c, t, ref_ids_block(c, tape_map1(c->t, SF_DETACH, t->meta.dtype, ref_ids(c, t), n), n));
}

/* A copy of the call whose tensor arguments may be exchanged. */
static void copy_call(struct ref_ctx *d, const struct ref_ctx *c)
{
	struct arena *a = c->t->arena;
	*d = *c;
	memset(d->out, 0, sizeof d->out);
	memset(d->ids, 0, sizeof d->ids);
	d->nout = 0;
	for (int k = 0; k < MAX_OUTS; k++)
		d->view_of[k] = -1;
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		const struct arg *x = &c->n->arg[k];
		if (c->in[k]) {
			struct ref_tensor *t = ARENA_NEW(a, struct ref_tensor, 1);
			*t = *c->in[k];
			d->in[k] = t;
		}
		if (x->tag != ARG_TENSORS)
			continue;
		const struct ref_tensor **list = ARENA_ZNEW(a, const struct ref_tensor *, x->n + 1);
		for (int i = 0; i < x->n; i++) {
			struct ref_tensor *t = ARENA_NEW(a, struct ref_tensor, 1);
			if (c->list[k][i]) {
				*t = *c->list[k][i];
				list[i] = t;
			}
		}
		d->list[k] = list;
	}
}

/* Arguments of a copied call may be changed. */
static struct ref_tensor *changeable(const struct ref_tensor *t) { return (struct ref_tensor *)(uintptr_t)t; }

static bool exchange(struct ref_ctx *c, int node, const struct ref_tensor *t)
{
	if (saves_lost(c, node, t))
		as_it_ends(c, node, changeable(t));
	return true;
}

/* Results of both readings: values of the one, derivatives of the other. */
static bool join(struct ref_ctx *c, const struct ref_ctx *value, const struct ref_ctx *later)
{
	if (value->nout != later->nout)
		return ref_unsupported(c, "backward of %s meets operands of another kind than forward did", op_info[c->n->op].name);
	for (int k = 0; k < value->nout; k++) {
		const struct meta *m = &value->out[k].meta;
		int64_t n = meta_numel(m);
		if (!value->ids[k] || !later->ids[k] || !meta_same_sizes(m, &later->out[k].meta))
			return ref_unsupported(
				c, "backward of %s meets an index that selects another number of elements than in forward", op_info[c->n->op].name);
		c->out[k] = value->out[k];
		c->ids[k] = value->ids[k];
		c->view_of[k] = -1;
		if (dtype_is_float(m->dtype) && n)
			c->ids[k] = ref_ids_block(c, tape_map2(c->t, SF_GRAFT, m->dtype, value->ids[k], later->ids[k], n), n);
	}
	c->nout = value->nout;
	return true;
}

static bool saves_result(const struct ref_ctx *c)
{
	const struct op_info *o = &op_info[c->n->op];
	for (int s = 0; s < o->nsave; s++)
		if (o->save[s].what == SAVE_RESULT && (o->save[s].when == SAVE_ANY || has_grad(c, o->save[s].when)))
			return true;
	return false;
}

static bool two_readings(struct ref_ctx *c, int node)
{
	const char *name = op_info[c->n->op].name;
	struct ref_ctx value, later;
	if (saves_result(c))
		return ref_unsupported(
			c, "backward of %s reads its operand, but not its result, as another input of the same memory left it", name);
	copy_call(&value, c);
	copy_call(&later, c);
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		if (value.in[k])
			without_gradient(&value, changeable(value.in[k]));
		for (int i = 0; c->n->arg[k].tag == ARG_TENSORS && i < c->n->arg[k].n; i++)
			if (value.list[k][i])
				without_gradient(&value, changeable(value.list[k][i]));
	}
	each_saved(&later, node, exchange);
	if (!ref_rule[c->n->op](&value)) {
		c->unsupported = value.unsupported;
		return false;
	}
	return (ref_rule[c->n->op](&later) && join(c, &value, &later))
		|| ref_unsupported(c, "backward of %s cannot run on its operands as another input of the same memory left them", name);
}

bool shared_rule(struct ref_ctx *c, int node)
{
	bool saves = c->grad && !c->t->over;
	if (saves && c->r->final && each_saved(c, node, saves_lost))
		return two_readings(c, node);
	if (saves && !c->r->final)
		each_saved(c, node, note_save);
	return ref_rule[c->n->op](c);
}
