/* shape_index.c: from index tensors to element numbers (shape_index.h). */
#include "oracle/num/licence.h"
#include "oracle/ref/shape_index.h"

/* ---- advanced indexing --------------------------------------------------------------------------------------- */

/* One index after masks were turned into positions: NULL v: a hole. m: sizes and strides as the iterator sees them. */
struct index_vec {
	const int64_t *v;
	struct meta m;
};

/* A mask of rank r stands for r vectors: the coordinates of its true elements. */
static bool push_mask(struct ref_ctx *c, struct index_vec *vec, int *n, const struct ref_tensor *t, const struct meta *self)
{
	const struct meta *m = &t->meta;
	if (m->rank == 0)
		return ref_unsupported(c, "a mask without dimensions as an index of %s", op_info[c->n->op].name);
	if (*n + m->rank > self->rank)
		return err_set(c->err, "too many indices for tensor of dimension %d", self->rank);
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] != self->size[*n + d])
			return err_set(c->err, "the shape of the mask at index %d does not match the shape of the indexed tensor", d);
	const int64_t *bit = ref_ints(c, t);
	if (!bit)
		return false;
	int64_t total = meta_numel(m), count = 0, index[MAX_RANK] = {0}, *coord[MAX_RANK];
	for (int64_t k = 0; k < total; k++)
		count += bit[k] != 0;
	for (int d = 0; d < m->rank; d++)
		coord[d] = ARENA_NEW(c->t->arena, int64_t, count + 1);
	int64_t at = 0;
	for (int64_t k = 0; k < total; k++) {
		if (bit[k]) {
			for (int d = 0; d < m->rank; d++)
				coord[d][at] = index[d];
			at++;
		}
		shape_next(index, m->size, m->rank);
	}
	for (int d = 0; d < m->rank; d++) {
		struct meta *col = &vec[*n].m;
		meta_make_contiguous(col, DT_I64, &count, 1);
		col->stride[0] = m->rank; /* a column of nonzero()'s [count, rank] */
		vec[(*n)++].v = coord[d];
	}
	return true;
}

static bool collect(struct ref_ctx *c, struct index_vec *vec, int *n, int list_arg, const struct meta *self)
{
	const struct arg *list = &c->n->arg[list_arg];
	bool any = false;
	*n = 0;
	for (int k = 0; k < list->n; k++) {
		const struct ref_tensor *t = c->list[list_arg][k];
		enum dtype dt = t ? t->meta.dtype : DT_I64;
		if (t && (dt == DT_B8 || dt == DT_U8)) {
			if (!push_mask(c, vec, n, t, self))
				return false;
			any = true;
			continue;
		}
		if (dt != DT_I64 && dt != DT_I32)
			return err_set(c->err, "tensors used as indices must be long, int, byte or bool tensors");
		if (*n >= self->rank)
			return err_set(c->err, "too many indices for tensor of dimension %d", self->rank);
		vec[*n] = (struct index_vec){.v = NULL};
		if (t) {
			any = true;
			vec[*n].m = t->meta;
			vec[*n].v = ref_ints(c, t);
			if (!vec[*n].v)
				return false;
		}
		(*n)++;
	}
	if (!any && meta_numel(self) == 0)
		return ref_unsupported(c, "%s without any index into a tensor without elements", op_info[c->n->op].name);
	if (!any)
		return err_set(c->err, "at least one index must be provided");
	while (*n < self->rank)
		vec[(*n)++] = (struct index_vec){.v = NULL};
	return true;
}

/* Are the given indices neighbours? Then their result dims stand where they were, else in front. */
static bool adjacent(const struct index_vec *vec, int n, int *first)
{
	int last = -1, given = 0;
	*first = -1;
	for (int d = 0; d < n; d++) {
		if (!vec[d].v)
			continue;
		*first = *first < 0 ? d : *first;
		last = d;
		given++;
	}
	return last - *first + 1 == given;
}

/* Operands of index.Tensor's iterator: self with stride 0 along the indexed dims, then each index, expanded, ones around it. */
static void advanced_strides(
	struct advanced *a, const struct meta *self, const struct index_vec *vec, int before, const int64_t *bsize, int brank, bool cuda)
{
	struct meta op[MAX_RANK + 1];
	int nop = 1, d = 0, k = 0;
	bool match = true;
	op[0] = (struct meta){.dtype = self->dtype, .rank = a->rank};
	memcpy(op[0].size, a->size, sizeof a->size);
	for (; k < before; d++)
		if (!vec[d].v)
			op[0].stride[k++] = self->stride[d];
	k += brank;
	for (; d < self->rank; d++)
		if (!vec[d].v)
			op[0].stride[k++] = self->stride[d];
	for (int i = 0; i < self->rank; i++) {
		if (!vec[i].v)
			continue;
		const struct meta *m = &vec[i].m;
		struct meta wide = {.dtype = DT_I64, .rank = brank}, *o = &op[nop++];
		memcpy(wide.size, bsize, sizeof wide.size);
		for (int b = 0; b < m->rank; b++) {
			int at = brank - m->rank + b;
			wide.stride[at] = m->size[b] == bsize[at] ? m->stride[b] : 0;
		}
		*o = (struct meta){.dtype = DT_I64, .rank = a->rank};
		for (int r = 0; r < a->rank; r++)
			o->size[r] = r >= before && r < before + brank ? bsize[r - before] : 1;
		if (!shape_view(o->stride, &wide, o->size, o->rank))
			shape_row_major(o->stride, o->size, o->rank);
		match = match && !memcmp(o->stride, op[1].stride, (size_t)a->rank * sizeof *o->stride);
	}
	/* AdvancedIndex::AdvancedIndex: "For CUDA tensors, force all index tensors to have the same striding". */
	for (int i = 1; cuda && !match && i < nop; i++)
		shape_row_major(op[i].stride, op[i].size, op[i].rank);
	shape_iterator(a->stride, a->size, a->rank, op, nop);
}

bool shape_advanced(struct ref_ctx *c, struct advanced *a, const struct meta *self, int list_arg)
{
	struct index_vec vec[MAX_RANK + 1];
	int nvec, first, brank = 0;
	int64_t bsize[MAX_RANK] = {0}, dense[MAX_RANK];
	if (!collect(c, vec, &nvec, list_arg, self))
		return false;
	for (int d = 0; d < nvec; d++)
		if (vec[d].v && !shape_broadcast(c, bsize, &brank, &vec[d].m))
			return false;
	bool together = adjacent(vec, nvec, &first);
	int before = together ? first : 0, holes = 0;
	for (int d = 0; d < nvec; d++)
		holes += !vec[d].v;
	if (holes + brank > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", holes + brank, MAX_RANK);
	/* from[r]: the dim of self that result dim r runs over, -1 for the broadcast index dims. */
	int from[MAX_RANK], hole = 0;
	a->rank = holes + brank;
	for (int r = before; r < before + brank; r++) {
		from[r] = -1;
		a->size[r] = bsize[r - before];
	}
	for (int d = 0; d < nvec; d++) {
		if (vec[d].v)
			continue;
		int r = hole < before ? hole : hole + brank;
		from[r] = d;
		a->size[r] = self->size[d];
		hole++;
	}
	if (!meta_check_sizes(a->size, a->rank, c->err))
		return false;
	a->n = shape_numel(a->size, a->rank);
	int64_t nb = shape_numel(bsize, brank), index[MAX_RANK] = {0};
	for (int d = 0; d < nvec; d++)
		if (vec[d].v && self->size[d] == 0 && nb != 0)
			return err_set(c->err, "index is out of bounds for dimension with size 0");
	if (a->n > c->t->limit.nodes)
		return ref_unsupported(c, "too many scalars");
	advanced_strides(a, self, vec, before, bsize, brank, c->t->lic->semantics.layout == LAYOUT_LOADS);
	a->cell = ARENA_NEW(c->t->arena, int64_t, a->n + 1);
	shape_row_major(dense, self->size, self->rank);
	for (int64_t k = 0; k < a->n; k++) {
		int64_t cell = 0;
		for (int r = 0; r < a->rank; r++)
			if (from[r] >= 0)
				cell += index[r] * dense[from[r]];
		for (int d = 0; d < nvec; d++) {
			if (!vec[d].v)
				continue;
			const struct meta *m = &vec[d].m;
			int64_t at = 0, step = 1;
			for (int b = m->rank - 1; b >= 0; b--) {
				if (m->size[b] != 1)
					at += index[before + brank - m->rank + b] * step;
				step *= m->size[b];
			}
			int64_t i = vec[d].v[at];
			if (i < -self->size[d] || i >= self->size[d])
				return err_set(
					c->err, "index %lld is out of bounds for dimension %d with size %lld", (long long)i, d, (long long)self->size[d]);
			cell += (i < 0 ? i + self->size[d] : i) * dense[d];
		}
		a->cell[k] = cell;
		shape_next(index, a->size, a->rank);
	}
	return true;
}

/* ---- gather, scatter -------------------------------------------------------------------------------------------- */

/* Positions, and the first of several where one is undecided: those are noted, still as positions. */
static const int64_t *first_positions(struct ref_ctx *c, struct along *a, const struct ref_tensor *index)
{
	const sid *ids = ref_ids(c, index);
	if (c->t->over) {
		ref_unsupported(c, "too many scalars");
		return NULL;
	}
	int64_t *pos = ARENA_NEW(c->t->arena, int64_t, a->n);
	a->open = ARENA_NEW(c->t->arena, struct open_position, a->n);
	for (int64_t k = 0; k < a->n; k++) {
		const int64_t *at = NULL;
		int64_t n = ref_positions(c, &at, ids[k]);
		if (n == 0) {
			ref_undecided(c, "an index of");
			return NULL;
		}
		pos[k] = at[0];
		if (n > 1)
			a->open[a->nopen++] = (struct open_position){k, n, at};
	}
	return pos;
}

/* From positions to cells; step: between neighbours along dim. */
static bool open_cells(struct ref_ctx *c, struct along *a, const int64_t *pos, int64_t step, int64_t limit)
{
	for (int64_t q = 0; q < a->nopen; q++) {
		struct open_position *o = &a->open[q];
		int64_t *cell = ARENA_NEW(c->t->arena, int64_t, o->n);
		for (int64_t i = 0; i < o->n; i++) {
			if (o->cell[i] < 0 || o->cell[i] >= limit)
				return ref_unsupported(c, "an index of %s may be out of bounds, as an undecided comparison has it", op_info[c->n->op].name);
			cell[i] = a->cell[o->k] + (o->cell[i] - pos[o->k]) * step;
		}
		o->cell = cell;
	}
	return true;
}

bool shape_along(struct ref_ctx *c, struct along *a, const struct meta *self, int dim_arg, int index_arg, const struct meta *src)
{
	const struct meta *ix = meta_of(c, index_arg);
	int dim, rank = MAX(self->rank, 1);
	*a = (struct along){.n = meta_numel(ix), .takes_open = a->takes_open};
	if (!shape_dim(c, &dim, dim_arg, self))
		return false;
	if (a->n > 0 && ix->dtype != DT_I64 && ix->dtype != DT_I32)
		return err_set(c->err, "expected dtype int32/int64 for index");
	if (src && src->dtype != self->dtype)
		return err_set(c->err, "scatter: expected self.dtype to be equal to src.dtype");
	if (a->n == 0)
		return true;
	if (MAX(ix->rank, 1) != rank || (src && MAX(src->rank, 1) != rank))
		return err_set(c->err, "index, self and src must have the same number of dimensions");
	for (int d = 0; d < rank; d++) {
		int64_t n = shape_size(ix, d);
		if ((d != dim && n > shape_size(self, d)) || (src && n > shape_size(src, d)))
			return err_set(c->err, "expected index %s to be no larger than self %s apart from dimension %d, and than src",
				shape_text(c, ix->size, ix->rank), shape_text(c, self->size, self->rank), dim);
	}
	const int64_t *pos = a->takes_open ? first_positions(c, a, c->in[index_arg]) : ref_ints(c, c->in[index_arg]);
	if (!pos)
		return false;
	a->cell = ARENA_NEW(c->t->arena, int64_t, a->n);
	a->from = src ? ARENA_NEW(c->t->arena, int64_t, a->n) : NULL;
	int64_t index[MAX_RANK] = {0}, dense[MAX_RANK], dense_src[MAX_RANK], limit = shape_size(self, dim);
	shape_row_major(dense, self->size, self->rank);
	if (src)
		shape_row_major(dense_src, src->size, src->rank);
	for (int64_t k = 0; k < a->n; k++) {
		int64_t cell = 0, from = 0;
		if (pos[k] < 0 || pos[k] >= limit)
			return err_set(c->err, "index %lld is out of bounds for dimension %d with size %lld", (long long)pos[k], dim, (long long)limit);
		for (int d = 0; d < ix->rank && self->rank; d++)
			cell += (d == dim ? pos[k] : index[d]) * dense[d];
		for (int d = 0; src && d < MIN(ix->rank, src->rank); d++)
			from += index[d] * dense_src[d];
		if (self->rank && !ix->rank)
			cell = pos[k] * dense[dim];
		a->cell[k] = cell;
		if (src)
			a->from[k] = from;
		shape_next(index, ix->size, ix->rank);
	}
	return open_cells(c, a, pos, self->rank ? dense[dim] : 1, limit);
}

/* ---- positions along one dim --------------------------------------------------------------------------------------- */

bool shape_positions(struct ref_ctx *c, struct positions *p, const struct meta *self, int dim_arg, int index_arg, int flags)
{
	const struct meta *ix = meta_of(c, index_arg);
	if (!shape_dim(c, &p->dim, dim_arg, self))
		return false;
	if (ix->rank > 1)
		return err_set(c->err, "index is supposed to be a vector");
	if (ix->dtype != DT_I64 && (ix->dtype != DT_I32 || flags & POS_LONG_ONLY))
		return err_set(c->err, "expected dtype int64 for index");
	const int64_t *pos = ref_ints(c, c->in[index_arg]);
	if (!pos)
		return false;
	p->n = meta_numel(ix);
	p->len = shape_size(self, p->dim);
	p->outer = self->rank ? shape_numel(self->size, p->dim) : 1;
	p->inner = self->rank ? shape_numel(self->size + p->dim + 1, self->rank - p->dim - 1) : 1;
	p->at = ARENA_NEW(c->t->arena, int64_t, p->n + 1);
	const bool unread = flags & POS_UNREAD || (flags & POS_BY_ELEMENT && p->outer * p->inner == 0);
	for (int64_t k = 0; k < p->n; k++) {
		int64_t i = pos[k] < 0 && flags & POS_WRAP ? pos[k] + p->len : pos[k];
		if ((i < 0 || i >= p->len) && !unread)
			return err_set(
				c->err, "index %lld is out of bounds for dimension %d with size %lld", (long long)pos[k], p->dim, (long long)p->len);
		p->at[k] = i;
	}
	return true;
}
