/* refrun_write.c: in-place rows: the ids of the cells that self names are overwritten, where what is written does not depend on an
 * order. */
#include "oracle/ref/refrun_impl.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- writing in place ---- */
/* Whether the two share some cells without being the same view: what is written then depends on the order. (at::assert_no_partial_overlap
 * refuses what it recognises, and gives up on tensors with gaps.) */
static bool crosses(struct reference_run *s, const struct ref_tensor *to, const struct ref_tensor *from)
{
	if (to->storage != from->storage || !meta_numel(&to->map) || !meta_numel(&from->map))
		return false;
	if (meta_same_sizes(&to->map, &from->map) && to->map.offset == from->map.offset
		&& memcmp(to->map.stride, from->map.stride, (size_t)to->map.rank * sizeof *to->map.stride) == 0)
		return false;
	struct arena_mark m = arena_mark(s->r.arena);
	int64_t ncells = s->r.storage[to->storage].ncells;
	bool *written = arena_zalloc(s->r.arena, (size_t)ncells + 1), hit = false;
	run_mark_cells(written, &to->map);
	struct meta_iter it;
	meta_iter_start(&it, &from->map);
	do
		hit = written[it.off];
	while (!hit && meta_iter_next(&it, &from->map));
	arena_release(s->r.arena, m);
	return hit;
}

static bool check_write(struct reference_run *s, const struct ref_tensor *t, const struct ref_ctx *c)
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
	if (st->leaf_elsewhere || !run_same_geometry(&t->meta, &t->map))
		return run_unsupported(s,
			arena_printf(r->arena,
				"%s into the memory of an input that requires grad and overlaps itself, or shares it with "
				"another input: write into a clone, or let the input require no grad",
				op_info[c->n->op].name));
	if (st->unsaid && (c->grad || b->grad))
		return run_unsupported(s, "a write into memory that _unsafe_view shares without saying so");
	if (st->detached && st->strangers)
		return run_unsupported(s, "a write into the memory of aliased inputs, one of which was detached");
	if (t->retyped && (c->grad || b->grad || st->shared || layout_overlaps(&t->map)))
		return run_unsupported(s,
			"a write through a view of another dtype, of a tensor that requires grad, or into memory that overlaps itself or is shared by "
			"several inputs");
	if (layout_overlaps(&t->map) && c->n->op == OP_fill_Tensor_ && ref_has_grad(r, c->in[A_fill_Tensor__value]))
		return run_unsupported(s,
			"gradient of fill_.Tensor's value through a view that overlaps itself: it counts each index, not each cell; detach "
			"the value");
	if (layout_overlaps(&t->map) && !op_has(c->n->op, T_ONE_VALUE))
		return run_unsupported(s,
			arena_printf(r->arena,
				"%s through a view that overlaps itself: the last of several writes to a cell stays, "
				"and PyTorch leaves their order open; fill_, zero_, masked_fill_ and index_fill_ write one value and are judged",
				op_info[c->n->op].name));
	if (c->grad && st->overlapping)
		return run_unsupported(
			s, "a write with gradients into a tensor that overlaps itself: detach the tensor first, or write into a clone");
	for (int k = 1; k < op_info[c->n->op].nparam; k++)
		if (c->n->arg[k].tag == ARG_TENSOR && c->in[k] && crosses(s, t, c->in[k]))
			return run_unsupported(s, "a write into memory that it also reads, elsewhere");
	return true;
}

/* The element was left as it was: reading it through a view that overlaps itself may have made a copy. */
static bool left_alone(const struct tape *t, sid was, sid is)
{
	const struct tape_block *b = is == was ? NULL : tape_block_of(t, is);
	return is == was || (b->f == SF_COPY && b->a[is - b->first] == was);
}

/* Several indices on one cell: it holds what some of them set, whatever the others leave alone. ids: each index's, then its cell's. */
static bool agree_on_cells(struct reference_run *s, const struct ref_ctx *c, const struct ref_tensor *self, sid *ids, int64_t n)
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
				bool mixed = *cell != was && left_alone(&r->tape, was, is);
				if (mixed && r->tape.lic->semantics.overlap_write == OVERLAP_RESTORES && c->n->op == OP_masked_fill_)
					return run_unsupported(s,
						"masked_fill_.Scalar through a view that overlaps itself, one index of a cell masked and another not: a GPU's "
						"threads write both back, and the last stays; give all indices of a cell the same mask");
				if (mixed && c->grad)
					return run_unsupported(s,
						arena_printf(r->arena,
							"gradient of %s through a view that overlaps itself: one index of a cell is set, "
							"another is not, and the last of them decides; give all indices of a cell the same mask",
							op_info[c->n->op].name));
				ids[k - 1] = *cell;
			} else if (!left_alone(&r->tape, was, is)) {
				if (*cell != was && *cell != is)
					return run_unsupported(s, "a write through a view that overlaps itself, of a mask that is not certain");
				*cell = is;
			}
		} while (meta_iter_next(&it, &self->map));
	}
	return true;
}

bool run_reads_meta(const struct ref_ctx *c)
{
	bool reads = false;
	for (int k = 0; k < op_info[c->n->op].nparam; k++) {
		const struct arg *a = &c->n->arg[k];
		reads |= a->tag == ARG_TENSOR && c->r->node[a->node].nout && c->r->node[a->node].out[0].meta.device == DEV_META;
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			reads |= a->nodes[i] >= 0 && c->r->node[a->nodes[i]].out[0].meta.device == DEV_META;
	}
	return reads;
}

bool run_write_back(struct reference_run *s, struct ref_ctx *c, int i)
{
	struct ref *r = &s->r;
	struct ref_tensor self = *c->in[A_INPLACE_self];
	if (!check_write(s, &self, c))
		return false;
	if (c->grad && dtype_is_float(self.meta.dtype) && !dtype_has_grad(self.meta.dtype))
		return run_unsupported(s, arena_printf(r->arena, "gradients through %s", dtype_info[self.meta.dtype].name));
	const sid *ids = c->ids[0];
	int64_t n = meta_numel(&self.map);
	if (run_reads_meta(c)) /* which has no data: nothing is computed, self keeps what it has */
		ids = ref_ids(c, &self);
	else if (!ids)
		ids = ref_ids(c, &(struct ref_tensor){.meta = c->out[0].meta, .map = c->out[0].meta, .storage = self.storage, .base = self.base});
	if (n)
		ids = ref_cast(c, ids, n, self.meta.dtype);
	if (self.meta.dtype != r->storage[self.storage].dtype)
		ids = ref_retyped(c, ids, n, r->storage[self.storage].dtype);
	bool overlaps = layout_overlaps(&self.map);
	if (overlaps || (c->grad && dtype_is_float(self.meta.dtype))) {
		sid *own = tape_ids(&r->tape, n);
		memcpy(own, ids, (size_t)n * sizeof *own);
		if (!overlaps)
			run_separate(r, own, n, self.meta.dtype);
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
	run_note_write(r, i, self.base);
	self.requires_grad = ref_has_grad(r, &self);
	r->node[i].nout = 1;
	r->node[i].out = ARENA_NEW(r->arena, struct ref_tensor, 1);
	r->node[i].out[0] = self;
	return true;
}
