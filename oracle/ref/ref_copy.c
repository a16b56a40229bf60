/* ref_copy.c: operators that copy elements to other places: result[i] = self[source(i)], and the map `source` is all there is to
 * say. They make no scalars, except conversions, and copies where backward adds up inside the operator (repeat). */
#include "oracle/num/licence.h"
#include "oracle/ref/layout.h"
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

/* Result 0 = self's elements as they stand, with these strides. */
static bool copy_plain(struct ref_ctx *c, const int64_t *stride)
{
	const struct meta *m = meta_of(c, A_plain_copy_self);
	return ref_out_ids(c, 0, m->dtype, m->size, m->rank, stride, ref_ids(c, c->in[A_plain_copy_self]));
}

REFERENCE(clone, SELF)
{
	int64_t stride[MAX_RANK];
	return shape_format_strides(c, stride, meta_of(c, A_plain_copy_self), shape_format_asked(c, FORMAT_PRESERVE)) && copy_plain(c, stride);
}

REFERENCE(lift_fresh_copy, SELF) { return copy_plain(c, NULL); }

/* self itself if it has the format already. */
REFERENCE(contiguous, SELF)
{
	const struct meta *m = meta_of(c, A_contiguous_self);
	const enum memory_format f = shape_format_asked(c, FORMAT_CONTIGUOUS);
	int64_t stride[MAX_RANK];
	if (shape_in_format(m, f))
		return ref_out_same(c, 0, A_contiguous_self);
	if (f == FORMAT_PRESERVE)
		return err_set(c->err, "contiguous makes nothing of preserve_format");
	return shape_format_strides(c, stride, m, f) && copy_plain(c, stride);
}

/* A view where one exists, else a contiguous copy. */
REFERENCE(reshape, VIEW)
{
	const struct meta *m = meta_of(c, A_reshape_self);
	int64_t size[MAX_RANK], stride[MAX_RANK];
	int rank;
	if (!shape_infer(c, size, &rank, A_reshape_shape, meta_numel(m)))
		return false;
	if (shape_view(stride, m, size, rank))
		return ref_out_view(c, 0, A_reshape_self, size, stride, rank, m->offset);
	return ref_out_ids(c, 0, m->dtype, size, rank, NULL, ref_ids(c, c->in[A_reshape_self]));
}

REFERENCE(to_copy, SELF)
{
	const struct meta *m = meta_of(c, A_to_copy_self);
	enum dtype dt = ref_given(c, A_to_copy_dtype) ? c->n->arg[A_to_copy_dtype].dtype : m->dtype;
	int64_t stride[MAX_RANK];
	return shape_format_strides(c, stride, m, shape_format_asked(c, FORMAT_PRESERVE))
		&& ref_out_ids(c, 0, dt, m->size, m->rank, stride, ref_cast(c, ref_ids(c, c->in[A_to_copy_self]), meta_numel(m), dt));
}

/* copy_(self, number), as x.copy_(0.5). A float becomes an integer by truncation, which is undefined where it does not fit. */
static bool copy_number(struct ref_ctx *c)
{
	const struct meta *m = meta_of(c, A_copy_self);
	const struct scalar *s = scalar_of(c, A_copy_src);
	if (s->kind == SC_FLOAT && !dtype_is_float(m->dtype) && m->dtype != DT_B8) {
		struct err ignored = {0};
		struct ref_ctx q = *c;
		q.err = &ignored;
		if (!shape_fits(&q, s, m->dtype, 1))
			return ref_unsupported(c, "a float number that %s does not hold becomes one", dtype_info[m->dtype].name);
	}
	return ref_out_ids(c, 0, m->dtype, m->size, m->rank, NULL, ref_ids_repeat(c, shape_number(c, s, m->dtype), meta_numel(m)));
}

/* copy_(self, src): src is expanded, then each element converted (so its gradient is converted before it is summed). */
REFERENCE(copy, COPIED)
{
	if (c->n->arg[A_copy_src].tag == ARG_SCALAR)
		return copy_number(c);
	const struct meta *m = meta_of(c, A_copy_self), *src = meta_of(c, A_copy_src);
	if (!shape_expands(src, m->size, m->rank))
		return err_set(c->err, "copy_: the size %s of src does not broadcast to %s", shape_text(c, src->size, src->rank),
			shape_text(c, m->size, m->rank));
	const sid *ids = ref_ids_expanded(c, c->in[A_copy_src], m->size, m->rank);
	return ref_out_ids(c, 0, m->dtype, m->size, m->rank, NULL, ref_cast(c, ids, meta_numel(m), m->dtype));
}

/* The same, to a copy of self's storage, where self lies in it. */
REFERENCE(copied, ANEW)
{
	const struct meta *m = meta_of(c, A_copy_self), *src = meta_of(c, A_copy_src);
	int64_t stride[MAX_RANK];
	if (!shape_expands(src, m->size, m->rank))
		return err_set(
			c->err, "the size %s of src does not broadcast to %s", shape_text(c, src->size, src->rank), shape_text(c, m->size, m->rank));
	if (layout_is_expanded(m))
		shape_strides_like(stride, m);
	else if (layout_overlaps(m))
		return ref_unsupported(c, "copy to a self of which elements share a cell");
	else
		memcpy(stride, m->stride, sizeof stride);
	const sid *ids = ref_ids_expanded(c, c->in[A_copy_src], m->size, m->rank);
	if (!ref_out_ids(c, 0, m->dtype, m->size, m->rank, stride, ref_cast(c, ids, meta_numel(m), m->dtype)))
		return false;
	c->out[0].meta.offset = layout_is_expanded(m) ? 0 : m->offset;
	return true;
}

/* ---- cat, stack ----------------------------------------------------------------------------------------------- */

/* 1-d tensors without elements join any cat (a rule older than empty shapes). */
static bool cat_skips(const struct meta *m) { return m->rank == 1 && m->size[0] == 0; }

/* What cat and stack share: inputs checked, dtype and memory format agreed. `as` has the sizes of the inputs. */
struct joined {
	enum dtype dt;
	int format;
	const struct meta *as;
	int64_t total;
};

static bool join_inputs(struct ref_ctx *c, struct joined *j, bool stacking)
{
	struct result_type r = SHAPE_TYPE_NONE;
	int n = c->n->arg[A_joined_tensors].n;
	j->as = NULL;
	j->format = -1;
	if (n == 0)
		return err_set(c->err, "expected a non-empty list of tensors");
	for (int k = 0; k < n; k++) {
		const struct meta *m = &c->list[A_joined_tensors][k]->meta;
		if (m->rank == 0 && !stacking)
			return err_set(c->err, "zero-dimensional tensor (at position %d) cannot be concatenated", k);
		shape_type_tensor(&r, m);
		int f = shape_format(m);
		j->format = j->format < 0 || j->format == f ? f : 0;
		if (!j->as && (stacking || !cat_skips(m)))
			j->as = m;
	}
	if (!j->as)
		j->as = &c->list[A_joined_tensors][0]->meta;
	return shape_type(&j->dt, c, &r);
}

/* Copies tensor k of the list to positions [at, at + len) of `total` along dim; outer and inner: sizes around dim. */
static void lay(sid *out, const sid *ids, int64_t outer, int64_t len, int64_t inner, int64_t at, int64_t total)
{
	for (int64_t o = 0; o < outer; o++)
		memcpy(out + (o * total + at) * inner, ids + o * len * inner, (size_t)(len * inner) * sizeof *out);
}

REFERENCE(cat, PART)
{
	struct joined j;
	int dim;
	if (!join_inputs(c, &j, false))
		return false;
	if (cat_skips(j.as))
		dim = 0; /* nothing but such tensors: dim is not looked at */
	else if (!shape_dim(c, &dim, A_cat_dim, j.as))
		return false;
	int n = c->n->arg[A_cat_tensors].n, rank = j.as->rank;
	int64_t size[MAX_RANK], stride[MAX_RANK], total = 0;
	memcpy(size, j.as->size, sizeof size);
	for (int k = 0; k < n; k++) {
		const struct meta *m = &c->list[A_cat_tensors][k]->meta;
		if (cat_skips(m))
			continue;
		for (int d = 0; d < rank; d++)
			if (m->rank != rank || (d != dim && m->size[d] != size[d]))
				return err_set(c->err, "cat: sizes of tensors must match except in dimension %d: %s and %s", dim,
					shape_text(c, j.as->size, rank), shape_text(c, m->size, m->rank));
		total += m->size[dim];
	}
	size[dim] = total;
	sid *out = ref_out(c, 0, j.dt, size, rank, shape_channels_last(stride, size, rank, j.format) ? stride : NULL);
	if (!out)
		return false;
	int64_t outer = shape_numel(size, dim), inner = shape_numel(size + dim + 1, rank - dim - 1), at = 0;
	for (int k = 0; k < n; k++) {
		const struct ref_tensor *t = c->list[A_cat_tensors][k];
		if (cat_skips(&t->meta))
			continue;
		lay(out, ref_cast(c, ref_ids(c, t), meta_numel(&t->meta), j.dt), outer, t->meta.size[dim], inner, at, total);
		at += t->meta.size[dim];
	}
	return true;
}

/* cat along dim, seen with that dimension split in two (so a channels-last cat keeps its order); at the end: of unsqueezed tensors. */
REFERENCE(stack, PART)
{
	struct joined j;
	int dim, n = c->n->arg[A_stack_tensors].n;
	if (!join_inputs(c, &j, true) || !ref_dim(c, &dim, ref_arg_int(c, A_stack_dim), j.as->rank + 1))
		return false;
	int rank = j.as->rank;
	int64_t size[MAX_RANK], stride[MAX_RANK];
	if (rank == MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", rank + 1, MAX_RANK);
	for (int k = 0; k < n; k++) {
		const struct meta *m = &c->list[A_stack_tensors][k]->meta;
		if (!meta_same_sizes(m, j.as))
			return err_set(c->err, "stack expects each tensor to be equal size, but got %s and %s", shape_text(c, j.as->size, rank),
				shape_text(c, m->size, m->rank));
	}
	for (int d = 0; d <= rank; d++)
		size[d] = d < dim ? j.as->size[d] : d == dim ? n : j.as->size[d - 1];
	const int64_t *strides = NULL;
	if (dim < rank) {
		int64_t joined[MAX_RANK], flat[MAX_RANK];
		memcpy(joined, j.as->size, sizeof joined);
		joined[dim] *= n;
		if (shape_channels_last(flat, joined, rank, j.format)) {
			for (int d = 0; d <= rank; d++)
				stride[d] = d < dim ? flat[d] : d == dim ? flat[dim] * j.as->size[dim] : flat[d - 1];
			strides = stride;
		}
	}
	sid *out = ref_out(c, 0, j.dt, size, rank + 1, strides);
	if (!out)
		return false;
	int64_t outer = shape_numel(size, dim), inner = shape_numel(size + dim + 1, rank - dim);
	for (int k = 0; k < n; k++) {
		const struct ref_tensor *t = c->list[A_stack_tensors][k];
		lay(out, ref_cast(c, ref_ids(c, t), meta_numel(&t->meta), j.dt), outer, 1, inner, k, n);
	}
	return true;
}

/* ---- moves within one tensor ------------------------------------------------------------------------------------ */

/* result[i] = ids[source], where source is linear in a per-dimension table: pos[d][i_d] = index along d. */
static void move_by_table(sid *out, const sid *ids, const struct meta *m, int64_t *const pos[MAX_RANK])
{
	int64_t index[MAX_RANK] = {0}, dense[MAX_RANK], n = meta_numel(m);
	shape_row_major(dense, m->size, m->rank);
	for (int64_t k = 0; k < n; k++) {
		int64_t at = 0;
		for (int d = 0; d < m->rank; d++)
			at += pos[d][index[d]] * dense[d];
		out[k] = ids[at];
		shape_next(index, m->size, m->rank);
	}
}

REFERENCE(flip, ANEW)
{
	const struct meta *m = meta_of(c, A_flip_self);
	bool mask[MAX_RANK];
	int64_t stride[MAX_RANK], *pos[MAX_RANK];
	if (!ref_dims(c, mask, A_flip_dims, m->rank, false))
		return false;
	shape_strides_like(stride, m);
	sid *out = shape_out_like(c, m, stride);
	if (!out)
		return false;
	for (int d = 0; d < m->rank; d++) {
		pos[d] = ARENA_NEW(c->t->arena, int64_t, m->size[d] + 1);
		for (int64_t i = 0; i < m->size[d]; i++)
			pos[d][i] = mask[d] ? m->size[d] - 1 - i : i;
	}
	move_by_table(out, ref_ids(c, c->in[A_flip_self]), m, pos);
	return true;
}

/* result[.., i, .., j, ..]: self turned by a right angle k times, from dims[0] towards dims[1]. Each but the first of four is a flip, which
 * decides the layout; two of them exchange the dims. */
REFERENCE(rot90, ANEW)
{
	const struct meta *m = meta_of(c, A_rot90_self);
	const struct arg *dims = &c->n->arg[A_rot90_dims];
	const int64_t k = ref_arg_int(c, A_rot90_k), turns = (k % 4 + 4) % 4;
	int64_t like[MAX_RANK], size[MAX_RANK], stride[MAX_RANK], dense[MAX_RANK], index[MAX_RANK] = {0};
	int d[2];
	if (dims->n != 2)
		return err_set(c->err, "expected total rotation dims == 2, but got dims = %d", dims->n);
	if (m->rank < 2)
		return err_set(c->err, "expected total dims >= 2, but got total dims = %d", m->rank);
	if (!ref_dim(c, &d[0], dims->ints[0].value, m->rank) || !ref_dim(c, &d[1], dims->ints[1].value, m->rank))
		return false;
	if (d[0] == d[1])
		return err_set(c->err, "expected rotation dims to be different, but got dim0 = %d and dim1 = %d", d[0], d[1]);
	shape_strides_like(like, m);
	memcpy(size, m->size, sizeof size);
	memcpy(stride, like, sizeof stride);
	if (turns % 2) {
		size[d[0]] = m->size[d[1]], stride[d[0]] = like[d[1]];
		size[d[1]] = m->size[d[0]], stride[d[1]] = like[d[0]];
	}
	sid *out = ref_out(c, 0, m->dtype, size, m->rank, turns ? stride : NULL);
	if (!out)
		return false;
	const sid *ids = ref_ids(c, c->in[A_rot90_self]);
	shape_row_major(dense, m->size, m->rank);
	for (int64_t e = 0, n = meta_numel(m); e < n; e++) {
		int64_t at = 0;
		for (int q = 0; q < m->rank; q++)
			at += q == d[0] || q == d[1] ? 0 : index[q] * dense[q];
		const int64_t i = index[d[0]], j = index[d[1]], rows = m->size[d[0]], columns = m->size[d[1]];
		const int64_t from[4][2] = {{i, j}, {j, columns - 1 - i}, {rows - 1 - i, columns - 1 - j}, {rows - 1 - j, i}};
		out[e] = ids[at + from[turns][0] * dense[d[0]] + from[turns][1] * dense[d[1]]];
		shape_next(index, size, m->rank);
	}
	return true;
}

/* The CPU rolls one dimension after another, each time as a cat of the two parts, whose layout rule decides the strides. */
static void roll_strides(int64_t stride[MAX_RANK], struct meta *m, int d, int64_t start)
{
	int64_t n = m->size[d];
	struct meta part = *m;
	part.size[d] = n - start;
	int format = shape_format(&part);
	part.size[d] = start;
	if (format != shape_format(&part))
		format = 0;
	if (!shape_channels_last(stride, m->size, m->rank, format))
		shape_row_major(stride, m->size, m->rank);
	memcpy(m->stride, stride, sizeof m->stride);
}

/* result[i + shift mod n] = self[i]; without dims the flattened tensor rolls. */
REFERENCE(roll, ANEW)
{
	struct meta m = *meta_of(c, A_roll_self);
	const struct arg *shift = &c->n->arg[A_roll_shifts], *dims = &c->n->arg[A_roll_dims];
	int64_t n = meta_numel(&m), stride[MAX_RANK] = {0}, by[MAX_RANK] = {0}, *pos[MAX_RANK];
	if (shift->n == 0)
		return err_set(c->err, "`shifts` required");
	if (!(shift->n == 1 && dims->n == 0) && shift->n != dims->n)
		return err_set(c->err, "shifts and dimensions must align. shifts: %d, dims: %d", shift->n, dims->n);
	if (n == 0)
		return ref_clone(c);
	const sid *ids = ref_ids(c, c->in[A_roll_self]);
	if (dims->n == 0) {
		sid *out = shape_out_like(c, &m, NULL);
		int64_t s = ((shift->ints[0].value % n) + n) % n;
		for (int64_t i = 0; out && i < n; i++)
			out[(i + s) % n] = ids[i];
		return out != NULL;
	}
	if (m.rank == 0)
		return err_set(c->err, "roll: dimension specified but tensor has no dimensions");
	for (int k = 0; k < dims->n; k++) {
		int d;
		if (!ref_dim(c, &d, dims->ints[k].value, m.rank))
			return false;
		int64_t s = ((shift->ints[k].value % m.size[d]) + m.size[d]) % m.size[d];
		by[d] = (by[d] + s) % m.size[d];
		roll_strides(stride, &m, d, s == 0 ? 0 : m.size[d] - s);
	}
	sid *out = shape_out_like(c, &m, c->t->lic->semantics.layout == LAYOUT_LOADS ? NULL : stride);
	if (!out)
		return false;
	for (int d = 0; d < m.rank; d++) {
		pos[d] = ARENA_NEW(c->t->arena, int64_t, m.size[d]);
		for (int64_t i = 0; i < m.size[d]; i++)
			pos[d][i] = (i - by[d] + m.size[d]) % m.size[d];
	}
	move_by_table(out, ids, &m, pos);
	return true;
}

/* times * n ids: the same n again and again, as copies of their own. */
static const sid *again(struct ref_ctx *c, const sid *ids, int64_t n, int64_t times, enum dtype dt)
{
	sid *out = tape_ids(c->t, n * times);
	for (int64_t k = 0; k < times; k++)
		memcpy(out + k * n, ids, (size_t)n * sizeof *out);
	return times == 1 ? out : ref_copies(c, out, n * times, dt);
}

/* result[i] = self[i mod size], new dims in front. Backward adds the copies up inside the operator: first over the new dims, one
 * after another, then over the repeats of self's own. */
REFERENCE(repeat, VIEW)
{
	const struct meta *m = meta_of(c, A_repeat_self);
	const struct arg *times = &c->n->arg[A_repeat_repeats];
	int64_t size[MAX_RANK], own[MAX_RANK], dense[MAX_RANK], index[MAX_RANK] = {0};
	int rank = times->n, lead = rank - m->rank;
	if (lead < 0)
		return err_set(c->err, "repeat: %d repeats for a tensor of %d dimensions", rank, m->rank);
	if (rank > MAX_RANK)
		return err_set(c->err, "rank %d exceeds the limit %d", rank, MAX_RANK);
	for (int d = 0; d < rank; d++) {
		own[d] = d < lead ? 1 : m->size[d - lead];
		if (times->ints[d].value < 0 || !mul_i64(&size[d], own[d], times->ints[d].value))
			return err_set(c->err, "repeat: trying to create a tensor with a negative dimension");
	}
	if (!meta_check_sizes(size, rank, c->err))
		return false;
	const sid *ids = ref_ids(c, c->in[A_repeat_self]);
	for (int d = 0; d < m->rank && dtype_is_narrow(m->dtype); d++)
		if (m->stride[d] == 0 && m->size[d] > 1) { /* broadcast: its own sum comes after this one's rounding */
			ids = ref_copies(c, ids, meta_numel(m), m->dtype);
			break;
		}
	int64_t n = shape_numel(size + lead, m->rank);
	sid *read = tape_ids(c->t, n);
	shape_row_major(dense, m->size, m->rank);
	for (int64_t k = 0; k < n; k++) {
		int64_t at = 0;
		for (int d = 0; d < m->rank; d++)
			at += index[d] % m->size[d] * dense[d];
		read[k] = ids[at];
		shape_next(index, size + lead, m->rank);
	}
	const sid *all = n == meta_numel(m) ? read : ref_copies(c, read, n, m->dtype);
	for (int d = lead - 1; d >= 0; d--) {
		all = again(c, all, n, size[d], m->dtype);
		n *= size[d];
	}
	return ref_out_ids(c, 0, m->dtype, size, rank, NULL, all);
}

/* pad: pairs (before, after) from the last dim backwards; negative ones cut. First everything is cut, then padded. Only cuts: a
 * copy in the layout of the cut view. */
REFERENCE(constant_pad_nd, ANEW)
{
	const struct meta *m = meta_of(c, A_constant_pad_nd_self);
	const struct arg *pad = &c->n->arg[A_constant_pad_nd_pad];
	int64_t size[MAX_RANK], before[MAX_RANK] = {0}, after[MAX_RANK] = {0}, stride[MAX_RANK], index[MAX_RANK] = {0}, dense[MAX_RANK];
	bool grows = false;
	if (pad->n % 2 || pad->n > 2 * m->rank)
		return err_set(c->err, "length of pad (%d) must be even and no more than twice the number of dimensions (%d)", pad->n, m->rank);
	struct meta cut = *m;
	for (int k = 0; k < pad->n / 2; k++) {
		int d = m->rank - 1 - k;
		before[d] = pad->ints[2 * k].value;
		after[d] = pad->ints[2 * k + 1].value;
		grows |= before[d] > 0 || after[d] > 0;
		/* Cut in front first: each cut must leave a length >= 0. */
		cut.size[d] = wrap_add(cut.size[d], MIN(before[d], 0));
		if (cut.size[d] >= 0)
			cut.size[d] = wrap_add(cut.size[d], MIN(after[d], 0));
		if (cut.size[d] < 0)
			return err_set(c->err, "constant_pad_nd: padding [%lld, %lld] of size %lld leaves a negative length", (long long)before[d],
				(long long)after[d], (long long)m->size[d]);
	}
	for (int d = 0; d < m->rank; d++)
		size[d] = wrap_add(cut.size[d], wrap_add(MAX(before[d], 0), MAX(after[d], 0)));
	if (!meta_check_sizes(size, m->rank, c->err))
		return false;
	int64_t n = shape_numel(size, m->rank);
	const int64_t *strides = NULL;
	if (!grows) {
		shape_strides_like(stride, &cut);
		strides = stride;
	} else if (!shape_fill_fits(c, scalar_of(c, A_constant_pad_nd_value), m->dtype, n)) {
		return false;
	} else if (shape_channels_last(stride, size, m->rank, shape_format(m))) {
		strides = stride;
	}
	sid *out = ref_out(c, 0, m->dtype, size, m->rank, strides);
	if (!out)
		return false;
	sid value = shape_const(c, m->dtype, scalar_of(c, A_constant_pad_nd_value));
	const sid *ids = ref_ids(c, c->in[A_constant_pad_nd_self]);
	shape_row_major(dense, m->size, m->rank);
	for (int64_t k = 0; k < n; k++) {
		int64_t at = 0;
		bool inside = true;
		for (int d = 0; d < m->rank; d++) {
			int64_t i = index[d] - before[d];
			inside &= i >= 0 && i < m->size[d];
			at += i * dense[d];
		}
		out[k] = inside ? ids[at] : value;
		shape_next(index, size, m->rank);
	}
	return true;
}

/* tril keeps j - i <= diagonal, triu j - i >= diagonal; the rest is 0. */
static bool triangle(struct ref_ctx *c, bool lower)
{
	const struct meta *m = meta_of(c, A_triangle_self);
	if (m->rank < 2)
		return err_set(c->err, "%s: input tensor must have at least 2 dimensions", lower ? "tril" : "triu");
	sid *out = shape_out_like(c, m, NULL);
	if (!out)
		return false;
	const sid *ids = ref_ids(c, c->in[A_triangle_self]);
	sid zero = shape_zero(c, m->dtype);
	int64_t n = meta_numel(m), index[MAX_RANK] = {0}, diagonal = ref_arg_int(c, A_triangle_diagonal);
	for (int64_t k = 0; k < n; k++) {
		int64_t off = index[m->rank - 1] - index[m->rank - 2];
		out[k] = (lower ? off <= diagonal : off >= diagonal) ? ids[k] : zero;
		shape_next(index, m->size, m->rank);
	}
	return true;
}

REFERENCE(tril, ANEW) { return triangle(c, true); }
REFERENCE(triu, ANEW) { return triangle(c, false); }

/* 0, but self's last dim on a diagonal of two new dims. */
REFERENCE(diag_embed, PART)
{
	const struct meta *m = meta_of(c, A_diag_embed_self);
	const int64_t offset = ref_arg_int(c, A_diag_embed_offset), down = MAX(-offset, 0), right = MAX(offset, 0);
	int64_t size[MAX_RANK], dense[MAX_RANK], index[MAX_RANK] = {0};
	int i, j, from = 0;
	if (m->rank == 0 || m->rank == MAX_RANK)
		return err_set(c->err, "diag_embed of %d dimensions", m->rank);
	if (!ref_dim(c, &i, ref_arg_int(c, A_diag_embed_dim1), m->rank + 1) || !ref_dim(c, &j, ref_arg_int(c, A_diag_embed_dim2), m->rank + 1))
		return false;
	if (i == j)
		return err_set(c->err, "diagonal dimensions cannot be identical %d, %d", i, j);
	for (int d = 0; d <= m->rank; d++)
		if (d != i && d != j)
			size[d] = m->size[from++];
		else if (!add_i64(&size[d], m->size[m->rank - 1], down + right))
			return err_set(c->err, "diag_embed: the result is too large");
	sid *out = ref_out(c, 0, m->dtype, size, m->rank + 1, NULL);
	if (!out)
		return false;
	const sid *ids = ref_ids(c, c->in[A_diag_embed_self]);
	const sid zero = shape_zero(c, m->dtype);
	shape_row_major(dense, m->size, m->rank);
	for (int64_t e = 0, n = shape_numel(size, m->rank + 1); e < n; e++) {
		const int64_t row = index[i] - down, column = index[j] - right;
		int64_t at = row;
		int q = 0;
		for (int d = 0; d <= m->rank; d++)
			if (d != i && d != j)
				at += index[d] * dense[q++];
		out[e] = row == column && row >= 0 && row < m->size[m->rank - 1] ? ids[at] : zero;
		shape_next(index, size, m->rank + 1);
	}
	return true;
}

/* result[..., c, h * r + i, w * r + j] = self[..., c * r * r + i * r + j, h, w]. The CPU's kernel keeps the memory format that self
 * suggests, where there are elements, and knows no channels-last-3d; CUDA's is a permuted view, made contiguous (PixelShuffle.cpp). */
REFERENCE(pixel_shuffle, ANEW)
{
	const struct meta *m = meta_of(c, A_pixel_shuffle_self);
	int64_t r = ref_arg_int(c, A_pixel_shuffle_upscale_factor), size[MAX_RANK], stride[MAX_RANK], outer = 1;
	if (m->rank < 3)
		return err_set(c->err, "pixel_shuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", m->rank);
	if (r <= 0)
		return err_set(c->err, "pixel_shuffle expects a positive upscale_factor, but got %lld", (long long)r);
	const int64_t *in = m->size + m->rank - 3;
	int64_t *out = size + m->rank - 3;
	memcpy(size, m->size, sizeof size);
	if (r > INT32_MAX || in[0] % (r * r) != 0)
		return err_set(c->err, "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor");
	out[0] = in[0] / (r * r);
	if (!mul_i64(&out[1], in[1], r) || !mul_i64(&out[2], in[2], r) || !meta_check_sizes(size, m->rank, c->err))
		return err_set(c->err, "pixel_shuffle: the result is too large");
	bool cpu = c->t->lic->semantics.layout == LAYOUT_CONVERTS && meta_numel(m) > 0;
	int format = cpu ? shape_format(m) : 0;
	if (format == 5)
		return err_set(c->err, "Unsupported memory format. Supports only ChannelsLast, Contiguous");
	sid *ids = ref_out(c, 0, m->dtype, size, m->rank, shape_channels_last(stride, size, m->rank, format) ? stride : NULL);
	if (!ids)
		return false;
	const sid *from = ref_ids(c, c->in[A_pixel_shuffle_self]);
	for (int d = 0; d < m->rank - 3; d++)
		outer *= m->size[d];
	for (int64_t o = 0, k = 0; o < outer * out[0]; o++)
		for (int64_t y = 0; y < out[1]; y++)
			for (int64_t x = 0; x < out[2]; x++, k++)
				ids[k] = from[((o * r * r + y % r * r + x % r) * in[1] + y / r) * in[2] + x / r];
	return true;
}

/* result[..., c * r * r + i * r + j, h, w] = self[..., c, h * r + i, w * r + j]; layouts as above. Of nothing it is a clone. */
REFERENCE(pixel_unshuffle, ANEW)
{
	const struct meta *m = meta_of(c, A_pixel_unshuffle_self);
	const int64_t r = ref_arg_int(c, A_pixel_unshuffle_downscale_factor);
	int64_t size[MAX_RANK], stride[MAX_RANK];
	if (m->rank < 3)
		return err_set(c->err, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", m->rank);
	if (r <= 0)
		return err_set(c->err, "pixel_unshuffle expects a positive downscale_factor, but got %lld", (long long)r);
	const int64_t *in = m->size + m->rank - 3;
	int64_t *out = size + m->rank - 3;
	memcpy(size, m->size, sizeof size);
	if (in[1] % r || in[2] % r)
		return err_set(c->err, "pixel_unshuffle expects %s to be divisible by downscale_factor", in[1] % r ? "height" : "width");
	if (meta_numel(m) == 0)
		return r == 1 || c->t->lic->semantics.layout == LAYOUT_CONVERTS
			? ref_clone(c)
			: ref_unsupported(c, "pixel_unshuffle of nothing, whose sizes PyTorch's kernels on the CPU keep");
	out[0] = in[0] * r * r;
	out[1] = in[1] / r;
	out[2] = in[2] / r;
	const int format = c->t->lic->semantics.layout == LAYOUT_CONVERTS ? shape_format(m) : 0;
	if (format == 5)
		return err_set(c->err, "Unsupported memory format. Supports only ChannelsLast, Contiguous");
	sid *ids = ref_out(c, 0, m->dtype, size, m->rank, shape_channels_last(stride, size, m->rank, format) ? stride : NULL);
	if (!ids)
		return false;
	const sid *from = ref_ids(c, c->in[A_pixel_unshuffle_self]);
	for (int64_t k = 0; k < meta_numel(m); k++) {
		const int64_t x = k % out[2], y = k / out[2] % out[1], ch = k / (out[1] * out[2]);
		const int64_t i = ch / r % r, j = ch % r;
		ids[k] = from[(ch / (r * r) * in[1] + y * r + i) * in[2] + x * r + j];
	}
	return true;
}
