/* ref_gather.c: gathers: result[i] = self[named by an index tensor]. Backward adds up inside the operator where one element is
 * read several times, so the elements read are copies (ref_copies) when a gradient flows. */
#include "eager/lang/stated.h"
#include "oracle/ref/shape_index.h"
#include "oracle/ref/row_rules.h"

/* Result 0 is copies of these elements (the tape keeps `read` as the copies' operands). */
static bool give_copies(struct ref_ctx *c, enum dtype dt, const int64_t *size, int rank, const int64_t *stride, const sid *read)
{
	return ref_out_ids(c, 0, dt, size, rank, stride, ref_copies(c, read, shape_numel(size, rank), dt));
}

/* An undecided position (of one of several equals, mostly) reads one of several elements. */
static void read_open(struct ref_ctx *c, sid *read, const struct along *a, const sid *ids, enum dtype dt)
{
	uint32_t *start = ARENA_NEW(c->t->arena, uint32_t, a->nopen + 1);
	start[0] = 0;
	for (int64_t q = 0; q < a->nopen; q++)
		start[q + 1] = start[q] + (uint32_t)a->open[q].n;
	sid *entry = tape_ids(c->t, start[a->nopen]);
	for (int64_t q = 0; q < a->nopen; q++)
		for (int64_t i = 0; i < a->open[q].n; i++)
			entry[start[q] + i] = ids[a->open[q].cell[i]];
	sid first = tape_nary(c->t, SF_ONEOF, dt, start, entry, a->nopen, 0);
	for (int64_t q = 0; q < a->nopen; q++)
		read[a->open[q].k] = c->t->over ? 0 : first + (sid)q;
}

/* gather(self, dim, index): out[i, j] = self[index[i, j], j] for dim 0. */
REFERENCE(gather, ANEW)
{
	const struct meta *m = meta_of(c, A_gather_self), *ix = meta_of(c, A_gather_index);
	struct along a = {.takes_open = true};
	if (!shape_along(c, &a, m, 1, 2, NULL))
		return false;
	const sid *ids = ref_ids(c, c->in[A_gather_self]);
	sid *read = tape_ids(c->t, a.n);
	for (int64_t k = 0; k < a.n; k++)
		read[k] = ids[a.cell[k]];
	if (a.nopen)
		read_open(c, read, &a, ids, m->dtype);
	return give_copies(c, m->dtype, ix->size, ix->rank, NULL, read);
}

REFERENCE(take, ANEW)
{
	const struct meta *m = meta_of(c, A_take_self), *ix = meta_of(c, A_take_index);
	const int64_t n = meta_numel(ix), len = meta_numel(m);
	if (ix->dtype != DT_I64)
		return err_set(c->err, "take(): an index must be i64");
	const int64_t *at = ref_ints(c, c->in[A_take_index]);
	if (!at)
		return false;
	const sid *ids = ref_ids(c, c->in[A_take_self]);
	sid *read = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++) {
		if (at[k] < -len || at[k] >= len)
			return err_set(c->err, "take(): index %lld is outside of %lld elements", (long long)at[k], (long long)len);
		read[k] = ids[at[k] < 0 ? at[k] + len : at[k]];
	}
	return give_copies(c, m->dtype, ix->size, ix->rank, NULL, read);
}

/* The rows at p->at, along p->dim, of self. */
static void take_rows(sid *out, const sid *ids, const struct positions *p)
{
	for (int64_t o = 0; o < p->outer; o++)
		for (int64_t k = 0; k < p->n; k++)
			memcpy(out + (o * p->n + k) * p->inner, ids + (o * p->len + p->at[k]) * p->inner, (size_t)p->inner * sizeof *out);
}

REFERENCE(index_select, ANEW)
{
	const struct meta *m = meta_of(c, A_index_select_self);
	struct positions p;
	int64_t size[MAX_RANK];
	if (!shape_positions(c, &p, m, 1, 2, 0))
		return false;
	if (m->rank == 0 && p.n != 1)
		return err_set(c->err, "index_select: index to scalar can have only 1 value, got %lld", (long long)p.n);
	memcpy(size, m->size, sizeof size);
	size[p.dim] = p.n;
	if (!meta_check_sizes(size, m->rank, c->err))
		return false;
	sid *read = tape_ids(c->t, p.outer * p.n * p.inner);
	take_rows(read, ref_ids(c, c->in[A_index_select_self]), &p);
	return give_copies(c, m->dtype, size, m->rank, NULL, read);
}

REFERENCE(index, ANEW)
{
	const struct meta *m = meta_of(c, A_index_self);
	struct advanced a;
	if (!shape_advanced(c, &a, m, 1))
		return false;
	const sid *ids = ref_ids(c, c->in[A_index_self]);
	sid *read = tape_ids(c->t, a.n);
	for (int64_t k = 0; k < a.n; k++)
		read[k] = ids[a.cell[k]];
	return give_copies(c, m->dtype, a.size, a.rank, a.stride, read);
}

/* ---- sizes that data give: the program states them, and what the masks select must be as many -------------------------------------- */

/* The elements of `from` (n ids) that are not zero, row-major: their numbers, in the arena. NULL: the reference cannot say. */
static int64_t *true_elements(struct ref_ctx *c, int64_t *count, const sid *from, int64_t n)
{
	if (meta_of(c, A_selecting_self)->device == DEV_META) {
		err_set(c->err, "%s: the size of the result is data, and there are none on device meta", op_info[c->n->op].name);
		return NULL;
	}
	const sid *truth = ref_cast(c, from, n, DT_B8);
	int64_t *at = ARENA_NEW(c->t->arena, int64_t, n + 1), bit;
	*count = 0;
	for (int64_t k = 0; k < n; k++) {
		if (!ref_int(c, &bit, truth[k]))
			return NULL;
		if (bit)
			at[(*count)++] = k;
	}
	const int64_t stated = stated_number(c->n);
	if (*count == stated)
		return at;
	ref_unsupported(c, "%s: the program states %lld, but the data give %lld", op_info[c->n->op].name, (long long)stated, (long long)*count);
	return NULL;
}

/* The elements of self where mask is true, both broadcast, in one dim. */
REFERENCE(masked_select, ANEW)
{
	const struct meta *m = meta_of(c, A_masked_select_self), *mask = meta_of(c, A_masked_select_mask);
	int64_t size[MAX_RANK], count;
	int rank = m->rank;
	memcpy(size, m->size, sizeof size);
	if (mask->dtype != DT_B8)
		return err_set(c->err, "masked_select: expected BoolTensor for mask");
	if (!shape_broadcast(c, size, &rank, mask) || !meta_check_sizes(size, rank, c->err))
		return false;
	const sid *cond = ref_ids_expanded(c, c->in[A_masked_select_mask], size, rank),
			  *self = ref_ids_expanded(c, c->in[A_masked_select_self], size, rank);
	const int64_t *at = true_elements(c, &count, cond, shape_numel(size, rank));
	if (!at)
		return false;
	sid *out = ref_out(c, 0, m->dtype, &count, 1, NULL);
	for (int64_t k = 0; out && k < count; k++)
		out[k] = self[at[k]];
	return out != NULL;
}

/* The index of each element that is not zero: a row of positions. Columns lie behind each other. */
REFERENCE(nonzero, ANEW)
{
	const struct meta *m = meta_of(c, A_nonzero_self);
	int64_t count;
	const int64_t *at = true_elements(c, &count, ref_ids(c, c->in[A_nonzero_self]), meta_numel(m));
	if (!at)
		return false;
	const int64_t size[] = {count, m->rank}, stride[] = {1, count};
	sid *out = ref_out(c, 0, DT_I64, size, 2, stride);
	for (int64_t k = 0; out && k < count; k++) {
		int64_t left = at[k];
		for (int d = m->rank - 1; d >= 0; left /= m->size[d--])
			out[k * m->rank + d] = shape_const(c, DT_I64, &(struct scalar){SC_INT, left % m->size[d], 0});
	}
	return out != NULL;
}

/* The one integer that self holds; and the program states it. */
REFERENCE(item, ANEW)
{
	const struct meta *m = meta_of(c, A_item_self);
	const int64_t stated = stated_number(c->n);
	int64_t value;
	if (meta_numel(m) != 1)
		return err_set(c->err, "a Tensor with %lld elements cannot be converted to Scalar", (long long)meta_numel(m));
	if (m->device == DEV_META)
		return err_set(c->err, "Tensor.item() cannot be called on meta tensors");
	const sid *held = ref_ids(c, c->in[A_item_self]);
	if (!ref_int(c, &value, held[0]))
		return false;
	if (value != stated)
		return ref_unsupported(c, "item: the program states %lld, but the data give %lld", (long long)stated, (long long)value);
	sid *out = ref_out(c, 0, DT_I64, NULL, 0, NULL);
	if (out)
		out[0] = shape_const(c, DT_I64, &(struct scalar){SC_INT, value, 0});
	return out != NULL;
}

/* embedding(weight, indices): out[…, :] = weight[indices[…], :]. Nothing goes back to the row padding_idx. */
REFERENCE(embedding, ANEW)
{
	const struct meta *w = meta_of(c, A_embedding_weight), *ix = meta_of(c, A_embedding_indices);
	int64_t size[MAX_RANK], n = meta_numel(ix);
	if (w->rank != 2)
		return err_set(c->err, "'weight' must be 2-D");
	if (ix->dtype != DT_I64 && ix->dtype != DT_I32)
		return err_set(c->err, "embedding: indices must be long or int");
	if (ix->rank == MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", ix->rank + 1, MAX_RANK);
	const int64_t *row = ref_ints(c, c->in[A_embedding_indices]);
	if (!row)
		return false;
	memcpy(size, ix->size, sizeof size);
	size[ix->rank] = w->size[1];
	if (!meta_check_sizes(size, ix->rank + 1, c->err))
		return false;
	sid *read = tape_ids(c->t, n * w->size[1]);
	uint8_t *named = arena_zalloc(c->t->arena, (size_t)w->size[0] + 1);
	const sid *ids = ref_ids(c, c->in[A_embedding_weight]);
	const int64_t padding = ref_arg_int(c, A_embedding_padding_idx);
	for (int64_t k = 0; k < n; k++) {
		if (row[k] < 0 || row[k] >= w->size[0])
			return err_set(c->err, "embedding: index out of range in self");
		const sid *from = ids + row[k] * w->size[1];
		if (c->grad && named[row[k]] && flag_of(c, A_embedding_scale_grad_by_freq))
			return ref_unsupported(
				c, "gradient of embedding by how often a row is named: targets divide by it, or multiply by 1/n; divide first");
		named[row[k]] = 1;
		sid detached = row[k] == padding ? tape_map1(c->t, SF_DETACH, w->dtype, from, w->size[1]) : 0;
		for (int64_t i = 0; i < w->size[1]; i++)
			read[k * w->size[1] + i] = c->t->over ? 0 : row[k] == padding ? detached + (sid)i : from[i];
	}
	return give_copies(c, w->dtype, size, ix->rank + 1, NULL, read);
}
