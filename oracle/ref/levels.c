/* levels.c: gradients of elements that several views repeat, one after the other. A view that repeats (expand) sums in backward; a view
 * of it that repeats again, or an operator that broadcasts it, sums before. Each sum is rounded to the tensor's dtype, which the tape
 * does not see: views append nothing, so it holds one reader of one element. Measured with bf16: expand of expand, expand then
 * unfold, expand then add's broadcast; as_strided's backward sums the dims of stride 0 one by one, and so does a view of a base
 * that is written later (its history is rebuilt with as_strided). */
#include "oracle/ref/ref_impl.h"

/* Dims along which one cell stands for several indices. */
static int repeats(const struct meta *map)
{
	int n = 0;
	for (int d = 0; d < map->rank; d++)
		n += map->stride[d] == 0 && map->size[d] > 1;
	return n;
}

int levels_of_view(const struct ref_tensor *self, const struct ref_tensor *view, bool as_strided)
{
	int before = repeats(&self->map), after = repeats(&view->map), n = self->levels;
	if (before && meta_numel(&view->map) > meta_numel(&self->map))
		n = MAX(n, after + 1);
	return as_strided && after >= 2 ? MAX(n, after) : n;
}

static void mark(struct ref *r, const struct ref_tensor *t, int levels)
{
	const struct ref_storage *from = &r->storage[t->storage];
	int64_t at[MAX_RANK] = {0}, cell = t->map.offset;
	if (!meta_numel(&t->map))
		return;
	for (;;) {
		if (r->nlevel == r->cap_level) {
			int64_t cap = MAX(256, r->cap_level * 2);
			r->level = ARENA_GROW(r->arena, struct ref_level, r->level, r->nlevel, cap);
			r->cap_level = cap;
		}
		r->level[r->nlevel++] = (struct ref_level){from->ids[cell], levels};
		int d = t->map.rank - 1;
		for (; d >= 0; d--) {
			int64_t size = t->map.stride[d] == 0 ? 1 : t->map.size[d];
			cell += t->map.stride[d];
			if (++at[d] < size)
				break;
			cell -= at[d] * t->map.stride[d];
			at[d] = 0;
		}
		if (d < 0)
			return;
	}
}

static bool written(const struct ref *r, const struct ref_tensor *t)
{
	const struct ref_base *b = &r->base[t->base];
	for (int i = 0; i < b->nwriter; i++)
		if (op_has(r->p->node[b->writer[i]].op, T_MUTATES))
			return true;
	return false;
}

void levels_read(struct ref *r, const struct ref_tensor *t, int64_t numel)
{
	int n = t->levels, own = repeats(&t->map);
	if (own && numel > meta_numel(&t->map))
		n = MAX(n, own + 1);
	if (own >= 2 && written(r, t))
		n = MAX(n, own);
	if (n && ref_has_grad(r, t))
		mark(r, t, n);
}

void levels_apply(const struct ref *r, struct adjoint *A)
{
	for (int64_t i = 0; i < r->nlevel; i++) {
		uint8_t *to = &A->a[r->level[i].id].levels;
		*to = (uint8_t)MAX(*to, r->level[i].levels);
	}
}
