/* ref_scatter.c: scatters: result = self with some elements replaced by, or combined with, others. Replacing moves ids; combining
 * makes one list scalar per element hit. Elements not hit keep self's id.
 *
 * Where a non-accumulating scatter hits an element twice with different values PyTorch leaves the order open: unsupported. */
#include "oracle/num/licence.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/ref_scatter.h"
#include "oracle/ref/shape_index.h"
#include "oracle/ref/row_rules.h"

#include <math.h>

/* ---- writes and sums at named elements ------------------------------------------------------------------------------ */

static sid *start_from_self(struct ref_ctx *c, const int64_t *stride)
{
	const struct meta *m = meta_of(c, A_overlaid_self);
	sid *out = shape_out_like(c, m, stride);
	if (out)
		memcpy(out, ref_ids(c, c->in[A_overlaid_self]), (size_t)meta_numel(m) * sizeof *out);
	return out;
}

/* NaN, or infinity of one sign, and nothing else. */
static bool same_special(const struct num *x, const struct num *y)
{
	uint8_t kind = x->flags & NUM_SPECIAL;
	bool one = kind == (NUM_NOFIN | NUM_NAN) || kind == (NUM_NOFIN | NUM_PINF) || kind == (NUM_NOFIN | NUM_NINF);
	return one && kind == (y->flags & NUM_SPECIAL) && !((x->flags | y->flags) & NUM_UNDEC);
}

/* One number for certain, bit for bit, the sign of a zero included. (Not the bits of a NaN, which nothing here compares.) */
static bool same_number(const struct tape *t, sid a, sid b)
{
	const struct num *x = tape_val(t, a), *y = tape_val(t, b);
	if (a == b)
		return true;
	if (!dtype_is_float((enum dtype)x->dtype))
		return !((x->flags | y->flags) & (NUM_UNDEC | NUM_ANY)) && x->i == y->i;
	if (same_special(x, y))
		return true;
	if (!num_is_exact(x) || !num_is_exact(y) || x->hi != y->hi)
		return false;
	return x->hi != 0 || (x->flags & y->flags & NUM_MOVED && signbit(x->hi) == signbit(y->hi));
}

/* Backward gathers: each of several values written to one element gets all of its gradient (derivatives.yaml: scatter.src, index_put,
 * index_copy), also those that another one hides. */
static void give_to_all(struct ref_ctx *c, sid *out, int64_t n, const struct writes *w)
{
	struct arena *arena = c->t->arena;
	int64_t *count = ARENA_ZNEW(arena, int64_t, n + 1), *cell = ARENA_NEW(arena, int64_t, w->count + 1), several = 0;
	uint32_t *start = ARENA_NEW(arena, uint32_t, w->count + 1), at = 0;
	sid *entry = tape_ids(c->t, w->count), *value = tape_ids(c->t, w->count), *all = tape_ids(c->t, w->count);
	for (int64_t k = 0; k < w->count; k++)
		if (++count[w->cell[k]] == 2)
			cell[several++] = w->cell[k];
	for (int64_t i = 0; i < several; i++) {
		start[i] = at;
		value[i] = out[cell[i]];
		at += (uint32_t)count[cell[i]];
		count[cell[i]] = -(int64_t)start[i] - 1;
	}
	start[several] = at;
	for (int64_t k = 0; k < w->count; k++) {
		int64_t *next = &count[w->cell[k]];
		if (*next < 0)
			entry[-(*next)-- - 1] = w->val[k];
	}
	if (!several)
		return;
	enum dtype dt = tape_dtype(c->t, value[0]);
	sid sum = tape_nary(c->t, SF_SUM, dt, start, entry, several, 0);
	for (int64_t i = 0; i < several; i++)
		all[i] = c->t->over ? 0 : sum + (sid)i;
	sid first = tape_map2(c->t, SF_GRAFT, dt, value, all, several);
	for (int64_t i = 0; i < several; i++)
		out[cell[i]] = c->t->over ? 0 : first + (sid)i;
}

/* src: whose elements are written. */
static bool overwrite(struct ref_ctx *c, sid *out, int64_t n, const struct writes *w, const struct ref_tensor *src)
{
	uint8_t *hit = arena_zalloc(c->t->arena, (size_t)n + 1);
	for (int64_t k = 0; k < w->count && !c->t->over; k++) {
		int64_t at = w->cell[k];
		if (hit[at] && !same_number(c->t, out[at], w->val[k]))
			return ref_unsupported(c,
				"%s writes two values to one element, and their order is open: make the indices distinct, or accumulate",
				op_info[c->n->op].name);
		hit[at] = 1;
		out[at] = w->val[k];
	}
	if (c->grad && ref_has_grad(c->r, src) && !c->t->over)
		give_to_all(c, out, n, w);
	return true;
}

/* fastSpecializedAtomicAdd (KernelUtils.cuh) adds a half as one of a pair, the other +0: a neighbour's -0 becomes +0. */
static void lose_sign(struct ref_ctx *c, sid id)
{
	struct num *v = &c->t->val[id];
	if (!c->t->over && v->flags & NUM_MOVED && v->hi == 0)
		v->flags &= ~NUM_MOVED;
}

/* The same neighbour; adding also makes another NaN of a NaN, which a view of another dtype shows. */
static sid beside_half(struct ref_ctx *c, sid id, enum dtype dt)
{
	lose_sign(c, id);
	if (c->t->over || !(c->t->val[id].flags & NUM_NAN))
		return id;
	return tape_map2(c->t, SF_MUL, dt, ref_ids_repeat(c, id, 1), ref_ids_repeat(c, tape_const_f(c->t, dt, 1), 1), 1);
}

void scatter_combine(struct ref_ctx *c, sid *out, int64_t n, const struct writes *w, const struct combine *how, int64_t *times)
{
	struct arena *arena = c->t->arena;
	uint32_t *count = ARENA_ZNEW(arena, uint32_t, n + 1), width = how->alpha ? 2 : 1;
	int64_t hits = 0;
	for (int64_t k = 0; k < w->count; k++)
		hits += count[w->cell[k]]++ == 0;
	bool padded = hits && dtype_is_narrow(how->dt) && c->t->lic->rule[LC_ACCUM][how->dt].flags & LF_ZERO;
	if (padded && c->inplace) /* a neighbour in memory need not be an element of self */
		ref_each_cell(c, c->in[A_overlaid_self], lose_sign);
	if (how->every)
		hits = n;
	int64_t *element = ARENA_NEW(arena, int64_t, hits + 1);
	uint32_t *start = ARENA_NEW(arena, uint32_t, hits + 1), *next = ARENA_NEW(arena, uint32_t, n + 1);
	sid *entry = tape_ids(c->t, (w->count + 2 * hits) * width);
	uint32_t at = 0;
	int64_t h = 0;
	for (int64_t i = 0; i < n; i++) {
		if (times)
			times[i] = count[i] ? count[i] + how->with_self : 0;
		if (!count[i] && padded)
			out[i] = beside_half(c, out[i], how->dt);
		if (!count[i] && !how->every)
			continue;
		element[h] = i;
		start[h++] = at;
		if (how->with_self || !count[i]) {
			entry[at] = out[i];
			if (how->alpha)
				entry[at + 1] = how->one;
			at += width;
		}
		if (how->beside && count[i] && how->beside[i])
			entry[at++] = how->beside[i];
		next[i] = at;
		at += count[i] * width;
	}
	start[h] = at;
	for (int64_t k = 0; k < w->count; k++) {
		uint32_t *p = &next[w->cell[k]];
		entry[*p] = w->val[k];
		if (how->alpha)
			entry[*p + 1] = how->alpha[k];
		*p += width;
	}
	if (!hits)
		return;
	sid first = tape_nary(c->t, how->f, how->dt, start, entry, hits, how->f == SF_SUM && how->with_self ? SUM_ONTO : 0);
	for (h = 0; h < hits && !c->t->over; h++)
		out[element[h]] = first + (sid)h;
}

static bool add_up(struct ref_ctx *c, sid *out, int64_t n, const struct writes *w)
{
	scatter_combine(c, out, n, w, &(struct combine){.f = SF_SUM, .dt = meta_of(c, A_overlaid_self)->dtype, .with_self = true}, NULL);
	return true;
}

/* How often each row is named, or NULL. */
static const int64_t *row_counts(struct ref_ctx *c, const int64_t *row, int64_t n, int64_t nrows)
{
	int64_t *count = ARENA_ZNEW(c->t->arena, int64_t, nrows + 1);
	for (int64_t k = 0; k < n; k++) {
		if (row[k] < 0 || row[k] >= nrows) {
			err_set(c->err, "embedding_dense_backward: index %lld is no row, which PyTorch does not check", (long long)row[k]);
			return NULL;
		}
		count[row[k]]++;
	}
	return count;
}

/* What a row that is named n times is scaled by. The CPU's kernel multiplies by 1/n as a number of dtype dt (measured for all); CUDA's does
 * in f32; decompositions.py divides in f32 (embedding_dense_backward, both versions). One answer where n is a power of two. */
static sid share_of(struct ref_ctx *c, int64_t n, enum dtype dt)
{
	double part = 1 / (double)n;
	sid own = tape_const_f(c->t, dt, part);
	if (c->t->over || !(n & (n - 1)))
		return own;
	own = tape_map1(c->t, SF_COPY, dt, ref_ids_repeat(c, own, 1), 1);
	if (c->t->over)
		return own;
	struct num set = c->t->val[own];
	num_widen(&set, fabs(set.hi - part) + 2 * num_format[dtype_compute(dt)].u * part);
	tape_replace(c->t, own, set);
	return own;
}

/* Sums of rows, each taken 1/n times, n being how often its row is named. Their derivative is that of the plain sums
 * (FunctionsManual.cpp: embedding_dense_double_backward knows nothing of n; measured, both versions, compiled, too). */
static void scale_rows(struct ref_ctx *c, sid *out, int64_t n, int64_t width, const struct writes *w, const int64_t *count)
{
	sid *times = tape_ids(c->t, w->count), *share = tape_ids(c->t, n), *value = tape_ids(c->t, n), *plain = tape_ids(c->t, n);
	enum dtype dt = meta_of(c, A_embedding_dense_backward_grad_output)->dtype;
	memcpy(plain, out, (size_t)n * sizeof *out);
	for (int64_t i = 0; i * width < n; i++)
		share[i] = count[i] ? share_of(c, count[i], dt) : 0;
	for (int64_t k = 0; k < w->count; k++)
		times[k] = share[w->cell[k] / width];
	scatter_combine(c, out, n, w, &(struct combine){.f = SF_SUMPROD, .dt = dt, .alpha = times}, NULL);
	if (!c->grad)
		return;
	memcpy(value, out, (size_t)n * sizeof *out);
	scatter_combine(c, plain, n, w, &(struct combine){.f = SF_SUM, .dt = dt}, NULL);
	sid first = tape_map2(c->t, SF_GRAFT, dt, value, plain, n);
	for (int64_t i = 0; i < n; i++)
		out[i] = c->t->over ? 0 : first + (sid)i;
}

/* Rows of the gradient are added up in the rows of zeros that indices name; padding's row gets nothing. */
REFERENCE(embedding_dense_backward, ANEW)
{
	const struct meta *g = meta_of(c, A_embedding_dense_backward_grad_output), *ix = meta_of(c, A_embedding_dense_backward_indices);
	int64_t padding = ref_arg_int(c, A_embedding_dense_backward_padding_idx), n = meta_numel(ix), all;
	bool scaled = flag_of(c, A_embedding_dense_backward_scale_grad_by_freq);
	if (ix->dtype != DT_I64 && ix->dtype != DT_I32)
		return err_set(c->err, "embedding_backward: indices must be long or int");
	if (g->rank == 0)
		return err_set(c->err, "Dimension specified as -1 but tensor has no dimensions");
	int64_t size[2] = {ref_arg_int(c, A_embedding_dense_backward_num_weights), g->size[g->rank - 1]};
	if (!mul_i64(&all, n, size[1]) || all != meta_numel(g))
		return err_set(c->err, "%lld rows of %lld do not fit a gradient of shape %s", (long long)n, (long long)size[1],
			shape_text(c, g->size, g->rank));
	const int64_t *row = ref_ints(c, c->in[A_embedding_dense_backward_indices]);
	if (!row || !meta_check_sizes(size, 2, c->err))
		return false;
	const int64_t *times = row_counts(c, row, n, size[0]);
	sid *out = times ? ref_out(c, 0, g->dtype, size, 2, NULL) : NULL, zero = shape_zero(c, g->dtype), *val = tape_ids(c->t, all);
	if (!out)
		return false;
	const sid *ids = ref_ids(c, c->in[A_embedding_dense_backward_grad_output]);
	int64_t *cell = ARENA_NEW(c->t->arena, int64_t, all + 1), count = 0;
	for (int64_t i = 0; i < size[0] * size[1]; i++)
		out[i] = zero;
	for (int64_t k = 0; k < n; k++) {
		bool nothing = scaled && times[row[k]] > 1 && !dtype_is_float(g->dtype) && g->dtype != DT_B8; /* 1/n of an integer's dtype is 0 */
		for (int64_t i = 0; i < size[1] && row[k] != padding && !nothing; i++) {
			val[count] = ids[k * size[1] + i];
			cell[count++] = row[k] * size[1] + i;
		}
	}
	struct writes w = {count, cell, val};
	if (scaled && dtype_is_float(g->dtype))
		scale_rows(c, out, size[0] * size[1], size[1], &w, times);
	else
		scatter_combine(c, out, size[0] * size[1], &w, &(struct combine){.f = SF_SUM, .dt = g->dtype}, NULL);
	return true;
}

/* Values of src in the order of an index tensor. */
static const sid *values_along(struct ref_ctx *c, const struct along *a, int src_arg)
{
	const sid *ids = ref_ids(c, c->in[src_arg]);
	sid *val = tape_ids(c->t, a->n);
	for (int64_t k = 0; k < a->n; k++)
		val[k] = ids[a->from[k]];
	return val;
}

REFERENCE(scatter_src, ANEW)
{
	const struct meta *m = meta_of(c, A_scatter_src_self);
	struct along a = {0};
	if (!shape_along(c, &a, m, 1, 2, meta_of(c, A_scatter_src_src)))
		return false;
	sid *out = start_from_self(c, NULL);
	return out && overwrite(c, out, meta_numel(m), &(struct writes){a.n, a.cell, values_along(c, &a, 3)}, c->in[A_scatter_src_src]);
}

REFERENCE(scatter_value, ANEW)
{
	const struct meta *m = meta_of(c, A_scatter_value_self);
	struct along a = {0};
	if (!shape_along(c, &a, m, 1, 2, NULL) || !shape_fits(c, scalar_of(c, A_scatter_value_value), m->dtype, a.n))
		return false;
	sid *out = start_from_self(c, NULL), value = shape_const(c, m->dtype, scalar_of(c, A_scatter_value_value));
	for (int64_t k = 0; out && k < a.n; k++)
		out[a.cell[k]] = value;
	return out != NULL;
}

REFERENCE(scatter_add, SELF)
{
	const struct meta *m = meta_of(c, A_scatter_add_self);
	struct along a = {0};
	if (!shape_along(c, &a, m, 1, 2, meta_of(c, A_scatter_add_src)))
		return false;
	sid *out = start_from_self(c, NULL);
	return out && add_up(c, out, meta_numel(m), &(struct writes){a.n, a.cell, values_along(c, &a, 3)});
}

/* reduce: "add" or "multiply"; values: of src, or NULL: the number. */
static bool combine_by(struct ref_ctx *c, int reduce_arg, const struct meta *src)
{
	const struct meta *m = meta_of(c, 0);
	const char *word = c->n->arg[reduce_arg].str;
	struct along a = {0};
	if (!str_eq(word, "add") && !str_eq(word, "multiply"))
		return err_set(c->err, "reduce argument must be either add or multiply.");
	if (!shape_along(c, &a, m, 1, 2, src) || (!src && !shape_fits(c, scalar_of(c, 3), m->dtype, a.n)))
		return false;
	sid *out = start_from_self(c, NULL);
	if (!out)
		return false;
	const sid *val = src ? values_along(c, &a, 3) : ref_ids_repeat(c, a.n ? shape_const(c, m->dtype, scalar_of(c, 3)) : 0, a.n);
	const struct combine how = {.f = str_eq(word, "add") ? SF_SUM : SF_PROD, .dt = m->dtype, .with_self = true};
	scatter_combine(c, out, meta_numel(m), &(struct writes){a.n, a.cell, val}, &how, NULL);
	return true;
}

REFERENCE(scatter_by, ANEW) { return combine_by(c, A_scatter_by_reduce, meta_of(c, A_scatter_by_src)); }
REFERENCE(scatter_value_by, ANEW) { return combine_by(c, A_scatter_value_by_reduce, NULL); }

/* How many there were, as ones were added up in the tensor's dtype (scatter_reduce_two, TensorAdvancedIndexing.cpp; its backward).
 * CPU kernels add them in f32 and round once (2.11, 2.15: 2051 counts as 2052 in f16, measured); one by one they end at 2^p. */
static sid count_of(struct ref_ctx *c, int64_t times, enum dtype dt)
{
	double all = num_pow2(num_format[c->t->lic->rule[LC_ACCUM][dt].acc].p);
	sid count = tape_const_f(c->t, dt, (double)times);
	if ((double)times <= all || c->t->over)
		return count;
	count = tape_map1(c->t, SF_COPY, dt, ref_ids_repeat(c, count, 1), 1);
	if (!c->t->over)
		tape_either(c->t, count, c->t->val[count].hi, all);
	return count;
}

/* mean: the sum over what was added, divided by how many there were; integers round down. */
static bool divide(struct ref_ctx *c, sid *out, int64_t n, const int64_t *times, enum dtype dt)
{
	sid *num = tape_ids(c->t, n), *den = tape_ids(c->t, n);
	int64_t hits = 0;
	for (int64_t i = 0; i < n; i++) {
		if (times[i] <= 1)
			continue;
		if (dtype_is_float(dt)) {
			num[hits] = out[i];
			den[hits++] = count_of(c, times[i], dt);
			continue;
		}
		int64_t v, d = num_wrap(dt, times[i]);
		if (!ref_int(c, &v, out[i]))
			return false;
		if (d == 0)
			return ref_unsupported(
				c, "scatter_reduce by mean of %lld values in one element: %s cannot count them", (long long)times[i], dtype_info[dt].name);
		out[i] = tape_const_i(c->t, dt, v / d - (v % d != 0 && (v < 0) != (d < 0)));
	}
	if (!hits)
		return true;
	sid first = tape_map2(c->t, SF_DIV, dt, num, den, hits);
	for (int64_t i = 0, h = 0; i < n && !c->t->over; i++)
		if (times[i] > 1)
			out[i] = first + (sid)h++;
	return true;
}

/* Does x == y hold? */
enum holds { HOLDS_NOT, HOLDS, HOLDS_PERHAPS };
static enum holds equal_numbers(const struct num *x, const struct num *y)
{
	const uint8_t nan = NUM_NOFIN | NUM_NAN;
	bool open = (x->flags | y->flags) & (NUM_UNDEC | NUM_ANY);
	if (!open && ((x->flags & NUM_SPECIAL) == nan || (y->flags & NUM_SPECIAL) == nan))
		return HOLDS_NOT;
	if (same_special(x, y))
		return HOLDS;
	if (open || (x->flags | y->flags) & NUM_SPECIAL)
		return HOLDS_PERHAPS;
	if (fabs(x->hi - y->hi) > x->rad + y->rad)
		return HOLDS_NOT;
	return num_is_exact(x) && num_is_exact(y) ? HOLDS : HOLDS_PERHAPS;
}

/* amax and amin without self: PyTorch's backward still counts a self that equals the result among the winners, though it gets nothing
 * (FunctionsManual.cpp: scatter_reduce_backward; measured, 2.11.0 and 2.15.0). So such a self takes part, without a gradient.
 * NULL: whether it is equal is open. */
static const sid *losers_that_tie(struct ref_ctx *c, const sid *out, const int64_t *times, int64_t n, enum dtype dt)
{
	const sid *self = ref_ids(c, c->in[A_scatter_reduce_self]);
	sid *beside = tape_ids(c->t, n);
	for (int64_t i = 0; i < n; i++) {
		enum holds same = times[i] && !c->t->over ? equal_numbers(tape_val(c->t, self[i]), tape_val(c->t, out[i])) : HOLDS_NOT;
		if (same == HOLDS_PERHAPS)
			return NULL;
		beside[i] = same == HOLDS ? tape_map1(c->t, SF_DETACH, dt, &self[i], 1) : 0;
	}
	return beside;
}

/* Values that meet, reduced as the row's word says: of scatter_reduce and index_reduce, whose other arguments lie at the same positions. */
static bool reduce_at(struct ref_ctx *c, const struct writes *w)
{
	static const struct {
		const char *name;
		enum sf f;
	} modes[] = {
		{"sum", SF_SUM},
		{"mean", SF_SUM},
		{"prod", SF_PROD},
		{"amax", SF_MAXN},
		{"amin", SF_MINN},
	};
	const struct meta *m = meta_of(c, A_scatter_reduce_self);
	const char *name = c->n->arg[A_scatter_reduce_reduce].str;
	int mode = 0;
	while (mode < ARRAY_LEN(modes) && !str_eq(modes[mode].name, name))
		mode++;
	if (mode == ARRAY_LEN(modes))
		return err_set(c->err, "reduce argument must be either sum, prod, mean, amax or amin, got %s", name);
	if (m->dtype == DT_B8 && str_eq(name, "mean"))
		return err_set(c->err, "scatter_reduce by mean is not implemented for bool tensors");
	sid *out = start_from_self(c, NULL);
	if (!out)
		return false;
	int64_t n = meta_numel(m), *times = ARENA_NEW(c->t->arena, int64_t, n + 1);
	struct combine how = {.f = modes[mode].f, .dt = m->dtype, .with_self = flag_of(c, A_scatter_reduce_include_self)};
	how.every = c->grad && how.f != SF_SUM;
	scatter_combine(c, out, n, w, &how, times);
	if (c->grad && !how.with_self && (how.f == SF_MAXN || how.f == SF_MINN)) {
		how.beside = losers_that_tie(c, out, times, n, m->dtype);
		if (!how.beside)
			return ref_unsupported(c,
				"gradient of %s by %s without self, which may equal the result and is then counted in backward: include self",
				op_info[c->n->op].name, name);
		sid *again = start_from_self(c, NULL);
		if (!again)
			return false;
		scatter_combine(c, again, n, w, &how, times);
	}
	return !str_eq(name, "mean") || divide(c, out, n, times, m->dtype);
}

REFERENCE(scatter_reduce, INCLUDED)
{
	const struct meta *m = meta_of(c, A_scatter_reduce_self), *src = meta_of(c, 3);
	const char *name = c->n->arg[A_scatter_reduce_reduce].str;
	struct along a = {0};
	if (!shape_along(c, &a, m, 1, 2, src))
		return false;
	if (c->grad && !str_eq(name, "sum") && !str_eq(name, "mean") && !meta_same_sizes(meta_of(c, A_scatter_reduce_index), src))
		return ref_unsupported(c, "gradient of scatter_reduce by %s whose index and src differ in size: give src the index's sizes", name);
	return reduce_at(c, &(struct writes){a.n, a.cell, values_along(c, &a, 3)});
}

/* One mask and no other index: with a single value, index_put turns into masked_fill. */
static bool is_one_mask(const struct ref_ctx *c, enum dtype dt)
{
	int given = 0, bytes = 0;
	for (int k = 0; k < c->n->arg[A_index_put_indices].n; k++) {
		const struct ref_tensor *t = c->list[A_index_put_indices][k];
		given += t != NULL;
		bytes += t && t->meta.dtype == dt;
	}
	return given == 1 && bytes == 1;
}

/* index_put(self, indices, values, accumulate): self[indices] = values, or += values. */
REFERENCE(index_put, ADDED_TO)
{
	const struct meta *m = meta_of(c, A_index_put_self), *v = meta_of(c, A_index_put_values);
	struct advanced a;
	int64_t stride[MAX_RANK];
	bool fills = meta_numel(v) == 1 && !flag_of(c, A_index_put_accumulate);
	if (m->dtype != v->dtype && fills && is_one_mask(c, DT_B8))
		return ref_unsupported(
			c, "index_put of one %s into %s by a mask: convert it first", dtype_info[v->dtype].name, dtype_info[m->dtype].name);
	if (m->dtype != v->dtype)
		return err_set(c->err, "Index put requires the source and destination dtypes match");
	if (!shape_advanced(c, &a, m, 1))
		return false;
	if (fills && is_one_mask(c, DT_U8))
		return err_set(c->err, "masked_fill_ only supports boolean masks"); /* what one mask and one value turn into */
	if (!shape_expands(v, a.size, a.rank))
		return err_set(c->err, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
			shape_text(c, v->size, v->rank), shape_text(c, a.size, a.rank));
	shape_strides_like(stride, m);
	sid *out = start_from_self(c, stride);
	if (!out)
		return false;
	struct writes w = {a.n, a.cell, ref_ids_expanded(c, c->in[A_index_put_values], a.size, a.rank)};
	int64_t n = meta_numel(m);
	return flag_of(c, A_index_put_accumulate) ? add_up(c, out, n, &w) : overwrite(c, out, n, &w, c->in[A_index_put_values]);
}

/* put(self, index, source, accumulate): elements of self in row-major order. */
REFERENCE(put, ADDED_TO)
{
	const struct meta *m = meta_of(c, A_put_self), *ix = meta_of(c, A_put_index), *src = meta_of(c, A_put_source);
	const int64_t n = meta_numel(ix), len = meta_numel(m);
	if (ix->dtype != DT_I64 || src->dtype != m->dtype || meta_numel(src) != n || (len == 0 && n > 0))
		return err_set(c->err, "put_(): an i64 index, and a source like self with as many elements, are expected");
	const int64_t *at = ref_ints(c, c->in[A_put_index]);
	if (!at)
		return false;
	int64_t *cell = ARENA_NEW(c->t->arena, int64_t, n + 1), stride[MAX_RANK];
	for (int64_t k = 0; k < n; k++) {
		if (at[k] < -len || at[k] >= len)
			return err_set(c->err, "put_(): index %lld is outside of %lld elements", (long long)at[k], (long long)len);
		cell[k] = at[k] < 0 ? at[k] + len : at[k];
	}
	shape_strides_like(stride, m);
	sid *out = start_from_self(c, stride);
	if (!out)
		return false;
	const struct writes w = {n, cell, ref_ids(c, c->in[A_put_source])};
	return flag_of(c, A_put_accumulate) ? add_up(c, out, len, &w) : overwrite(c, out, len, &w, c->in[A_put_source]);
}

/* ---- positions along a dim -------------------------------------------------------------------------------------------- */

/* Elements of self at (o, at[k], i), in the row-major order of a source with p->n positions along dim. */
static int64_t *position_cells(struct ref_ctx *c, const struct positions *p)
{
	int64_t *cell = ARENA_NEW(c->t->arena, int64_t, p->outer * p->n * p->inner + 1), k = 0;
	for (int64_t o = 0; o < p->outer; o++)
		for (int64_t j = 0; j < p->n; j++)
			for (int64_t i = 0; i < p->inner; i++)
				cell[k++] = (o * p->len + p->at[j]) * p->inner + i;
	return cell;
}

static bool source_matches(struct ref_ctx *c, const struct meta *m, const struct meta *src, const struct positions *p)
{
	bool ok = src->rank == m->rank && shape_size(src, p->dim) == p->n;
	for (int d = 0; ok && d < m->rank; d++)
		ok = d == p->dim || src->size[d] == m->size[d];
	if (ok)
		return true;
	return err_set(c->err, "source shape %s must match self shape %s, excluding dimension %d, where it has one entry per index",
		shape_text(c, src->size, src->rank), shape_text(c, m->size, m->rank), p->dim);
}

REFERENCE(index_add, SELF)
{
	const struct meta *m = meta_of(c, A_index_add_self), *src = meta_of(c, A_index_add_source);
	const struct scalar *alpha = scalar_of(c, A_index_add_alpha);
	struct positions p;
	if (m->dtype != src->dtype)
		return err_set(c->err, "index_add_(): self and source must have the same scalar type");
	/* Where nothing can be added, PyTorch looks at positions along the only dim alone. */
	const bool unread = meta_numel(m) == 0 && m->rank > 1;
	if (!shape_positions(c, &p, m, 1, 2, unread ? POS_UNREAD : 0) || !source_matches(c, m, src, &p))
		return false;
	if (!shape_fits(c, alpha, m->dtype, m->rank <= 1 ? 1 : p.outer * p.n * p.inner))
		return false;
	sid *out = start_from_self(c, NULL);
	if (!out || unread)
		return out != NULL;
	int64_t n = meta_numel(m);
	struct writes w = {p.outer * p.n * p.inner, position_cells(c, &p), ref_ids(c, c->in[A_index_add_source])};
	if (alpha->kind == SC_FLOAT ? alpha->f == 1 : alpha->i == 1)
		return add_up(c, out, n, &w);
	if (dtype_is_narrow(m->dtype)) {
		w.val = shape_scaled_half(c, w.val, w.count, alpha, m->dtype);
		return add_up(c, out, n, &w);
	}
	sid factor = shape_const(c, m->dtype, alpha);
	if (dtype_is_float(m->dtype)) {
		/* The product may be rounded or not (FMA, f32 inside). */
		scatter_combine(c, out, n, &w,
			&(struct combine){.f = SF_SUMPROD,
				.dt = m->dtype,
				.with_self = true,
				.alpha = ref_ids_repeat(c, factor, w.count),
				.one = tape_const_f(c->t, m->dtype, 1)},
			NULL);
		return true;
	}
	sid first = tape_map2(c->t, SF_MUL, m->dtype, w.val, ref_ids_repeat(c, factor, w.count), w.count);
	w.val = ref_ids_block(c, first, w.count);
	return add_up(c, out, n, &w);
}

REFERENCE(index_reduce, ANEW)
{
	const struct meta *m = meta_of(c, A_index_reduce_self), *src = meta_of(c, A_index_reduce_source);
	struct positions p;
	if (m->dtype != src->dtype)
		return err_set(c->err, "index_reduce_(): self and source must have the same scalar type");
	if (str_eq(c->n->arg[A_index_reduce_reduce].str, "sum"))
		return err_set(c->err, "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum.");
	if (!shape_positions(c, &p, m, 1, 2, 0) || !source_matches(c, m, src, &p))
		return false;
	c->undecided = c->grad && meta_of(c, A_index_reduce_index)->dtype != DT_I64 && !flag_of(c, A_index_reduce_include_self);
	if (c->undecided) /* backward fills with zeros there */
		return ref_unsupported(
			c, "gradient of index_reduce without self at positions in i32, which PyTorch's backward refuses: convert them");
	return reduce_at(c, &(struct writes){p.outer * p.n * p.inner, position_cells(c, &p), ref_ids(c, c->in[A_index_reduce_source])});
}

REFERENCE(index_copy, ANEW)
{
	const struct meta *m = meta_of(c, A_index_copy_self), *src = meta_of(c, A_index_copy_source);
	struct positions p;
	if (m->dtype != src->dtype)
		return err_set(c->err, "index_copy_(): self and source expected to have the same dtype");
	if (!shape_positions(c, &p, m, 1, 2, POS_LONG_ONLY | POS_BY_ELEMENT))
		return false;
	if (m->rank == 0 && src->rank > 1)
		return err_set(c->err, "index_copy_(): source/destination tensor must have same slice shapes");
	/* A 0-d source, or a 0-d self, stands for one element. */
	bool scalar = src->rank == 0 || m->rank == 0;
	if (scalar ? meta_numel(src) != p.n || p.outer * p.inner != 1 : !source_matches(c, m, src, &p))
		return scalar ? err_set(c->err, "index_copy_(): when source is scalar, index should have one element (got %lld)", (long long)p.n)
					  : false;
	sid *out = start_from_self(c, NULL);
	return out
		&& overwrite(c, out, meta_numel(m),
			&(struct writes){p.outer * p.n * p.inner, position_cells(c, &p), ref_ids(c, c->in[A_index_copy_source])},
			c->in[A_index_copy_source]);
}

REFERENCE(index_fill, ANEW)
{
	const struct meta *m = meta_of(c, A_index_fill_self);
	struct positions p;
	int64_t stride[MAX_RANK];
	if (!shape_positions(c, &p, m, 1, 2, POS_LONG_ONLY | POS_WRAP | POS_BY_ELEMENT))
		return false;
	int64_t count = p.outer * p.n * p.inner;
	if (!shape_fits(c, scalar_of(c, A_index_fill_value), m->dtype, 1))
		return false;
	shape_strides_like(stride, m);
	sid *out = start_from_self(c, stride), value = shape_const(c, m->dtype, scalar_of(c, A_index_fill_value));
	const int64_t *cell = position_cells(c, &p);
	for (int64_t k = 0; out && k < count; k++)
		out[cell[k]] = value;
	return out != NULL;
}

/* ---- masks -------------------------------------------------------------------------------------------------------------- */

/* out[k] = cond[k] ? a[k] : b[k]: a move where the condition is decided, a SELECT scalar where it is not. */
static void choose(struct ref_ctx *c, sid *out, const sid *cond, const sid *a, const sid *b, int64_t n, enum dtype dt)
{
	for (int64_t k = 0; k < n && !c->t->over; k++) {
		if (shape_decided(c, cond[k]))
			out[k] = tape_val(c->t, cond[k])->i ? a[k] : b[k];
		else
			out[k] = tape_map3(c->t, SF_SELECT, dt, cond + k, a + k, b + k, 1);
	}
}

static bool need_bool(struct ref_ctx *c, const struct meta *mask)
{
	return mask->dtype == DT_B8
		|| err_set(c->err, "only boolean masks are supported, but got a mask with dtype %s", dtype_info[mask->dtype].torch);
}

REFERENCE(masked_fill, ANEW)
{
	const struct meta *m = meta_of(c, A_masked_fill_self), *mask = meta_of(c, A_masked_fill_mask);
	int64_t size[MAX_RANK];
	int rank = m->rank;
	memcpy(size, m->size, sizeof size);
	if (!need_bool(c, mask) || !shape_broadcast(c, size, &rank, mask) || !meta_check_sizes(size, rank, c->err))
		return false;
	int64_t n = shape_numel(size, rank);
	if (!shape_fits(c, scalar_of(c, A_masked_fill_value), m->dtype, 1))
		return false;
	sid *out = ref_out(c, 0, m->dtype, size, rank, NULL);
	if (!out)
		return false;
	sid value = shape_const(c, m->dtype, scalar_of(c, A_masked_fill_value));
	choose(c, out, ref_ids_expanded(c, c->in[A_masked_fill_mask], size, rank), ref_ids_repeat(c, value, n),
		ref_ids_expanded(c, c->in[A_masked_fill_self], size, rank), n, m->dtype);
	return true;
}

/* The next element of source, row-major, at each true mask element, row-major. */
REFERENCE(masked_scatter, ANEW)
{
	const struct meta *m = meta_of(c, A_masked_scatter_self), *mask = meta_of(c, A_masked_scatter_mask),
					  *src = meta_of(c, A_masked_scatter_source);
	int64_t size[MAX_RANK], next = 0, bit;
	int rank = m->rank;
	memcpy(size, m->size, sizeof size);
	if (m->dtype != src->dtype)
		return err_set(c->err, "masked_scatter: expected self and source to have same dtypes");
	if (!need_bool(c, mask) || !shape_broadcast(c, size, &rank, mask))
		return false;
	sid *out = ref_out(c, 0, m->dtype, size, rank, NULL);
	if (!out)
		return false;
	int64_t n = meta_numel(&c->out[0].meta), have = meta_numel(src);
	const sid *cond = ref_ids_expanded(c, c->in[A_masked_scatter_mask], size, rank),
			  *self = ref_ids_expanded(c, c->in[A_masked_scatter_self], size, rank);
	const sid *from = ref_ids(c, c->in[A_masked_scatter_source]);
	for (int64_t k = 0; k < n; k++) {
		if (!ref_int(c, &bit, cond[k]))
			return false;
		if (bit && next == have)
			return err_set(c->err, "number of elements of source < number of ones in mask");
		out[k] = bit ? from[next++] : self[k];
	}
	return true;
}

/* What the iterator sees of an operand that was first converted to dt: a dense copy. */
static struct meta converted(const struct meta *m, enum dtype dt)
{
	struct meta v = *m;
	if (v.dtype != dt)
		shape_strides_like(v.stride, m);
	return v;
}

REFERENCE(where, ANEW)
{
	const struct meta *cond = meta_of(c, A_where_condition), *a = meta_of(c, A_where_self), *b = meta_of(c, A_where_other);
	struct result_type r = SHAPE_TYPE_NONE;
	int64_t size[MAX_RANK], stride[MAX_RANK];
	int rank = 0;
	if (cond->dtype != DT_B8 && cond->dtype != DT_U8)
		return err_set(
			c->err, "where expected condition to be a boolean tensor, but got a tensor with dtype %s", dtype_info[cond->dtype].torch);
	if (!shape_broadcast(c, size, &rank, cond) || !shape_broadcast(c, size, &rank, a) || !shape_broadcast(c, size, &rank, b))
		return false;
	if (!meta_check_sizes(size, rank, c->err))
		return false;
	shape_type_tensor(&r, a);
	shape_type_tensor(&r, b);
	enum dtype dt;
	if (!shape_type(&dt, c, &r))
		return false;
	const struct meta op[] = {converted(cond, DT_B8), converted(a, dt), converted(b, dt)};
	shape_iterator(stride, size, rank, op, 3);
	sid *out = ref_out(c, 0, dt, size, rank, stride);
	if (!out)
		return false;
	int64_t n = meta_numel(&c->out[0].meta);
	const sid *x = ref_cast(c, ref_ids(c, c->in[A_where_self]), meta_numel(a), dt),
			  *y = ref_cast(c, ref_ids(c, c->in[A_where_other]), meta_numel(b), dt);
	if (c->in[A_where_self]->storage
		== c->in[A_where_other]->storage) { /* one tensor given twice: two gradients, each summed over what was expanded, and rounded */
		x = ref_copies(c, x, meta_numel(a), dt);
		y = ref_copies(c, y, meta_numel(b), dt);
	}
	x = shape_expand_ids(c, x, a, size, rank);
	y = shape_expand_ids(c, y, b, size, rank);
	choose(c, out, ref_cast(c, ref_ids_expanded(c, c->in[A_where_condition], size, rank), n, DT_B8), x, y, n, dt);
	return true;
}
