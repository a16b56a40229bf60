/* ref_unique.c: what differs: _unique2, unique_consecutive, unique_dim. The elements, or the slices along a dim, are rows of scalars; which
 * of them are equal must be known for certain, and in which order they come where the operator sorts. NaN differs from itself. */
#include "oracle/ref/order.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

#include "eager/lang/stated.h"

/* n rows of `len` scalars: row i begins at e[i * len]. */
struct slices {
	const sid *e;
	int64_t n, len;
	int dim; /* -1: all elements, each a row */
	bool nan;
};

/* Of rows in `order` the different ones: row i is the at[i]-th of `count`, the k-th begins at place begins[k] of the order. */
struct differing {
	int64_t *order, *at, *begins, *times, count;
};

static bool all_elements(struct slices *s, struct ref_ctx *c)
{
	const struct ref_tensor *self = c->in[0];
	*s = (struct slices){.e = ref_ids(c, self), .n = meta_numel(&self->meta), .len = 1, .dim = -1};
	return true;
}

static bool along_dim(struct slices *s, struct ref_ctx *c, int arg)
{
	const struct meta *m = meta_of(c, 0);
	int nothing = 0, d;
	int64_t inner = 1, outer = 1;
	if (m->rank == 0)
		return err_set(c->err, "Dimension specified as %lld but tensor has no dimensions", (long long)ref_arg_int(c, arg));
	if (!ref_dim(c, &d, ref_arg_int(c, arg), m->rank))
		return false;
	for (int i = 0; i < m->rank; i++)
		nothing += m->size[i] == 0;
	if (m->size[d] == 0 && nothing > 1)
		return err_set(c->err, "Number of zero sized dimensions is more than one, so unique cannot be applied");
	if (m->size[d] && nothing)
		return err_set(c->err, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
	for (int i = 0; i < m->rank; i++)
		*(i < d ? &outer : &inner) *= i == d ? 1 : m->size[i];
	const sid *ids = ref_ids(c, c->in[0]);
	sid *e = ARENA_NEW(c->t->arena, sid, meta_numel(m) + 1);
	for (int64_t i = 0; i < m->size[d]; i++)
		for (int64_t k = 0; k < outer * inner; k++)
			e[i * outer * inner + k] = ids[(k / inner * m->size[d] + i) * inner + k % inner];
	*s = (struct slices){.e = e, .n = m->size[d], .len = outer * inner, .dim = d};
	return true;
}

/* The first place that tells two rows apart says which comes first. */
static enum relation rows_in_order(struct slices *s, const struct tape *t, int64_t a, int64_t b)
{
	for (int64_t k = 0; k < s->len; k++) {
		const struct num *x = &t->val[s->e[a * s->len + k]], *y = &t->val[s->e[b * s->len + k]];
		s->nan |= s->len > 1 && dtype_is_float((enum dtype)x->dtype) && (x->flags | y->flags) & NUM_NAN;
		const enum relation r = order_of(x, y);
		if (r != EQUAL)
			return r;
	}
	return EQUAL;
}

/* EQUAL: in all places; OPEN: nobody knows; any other: they differ somewhere, as NaN does. */
static enum relation alike(const struct slices *s, const struct tape *t, int64_t a, int64_t b)
{
	bool open = false;
	for (int64_t k = 0; k < s->len; k++) {
		const struct num *x = &t->val[s->e[a * s->len + k]], *y = &t->val[s->e[b * s->len + k]];
		const enum relation r = order_of(x, y);
		const bool nan = dtype_is_float((enum dtype)x->dtype) && (order_is_nan(x) || order_is_nan(y));
		if (nan || r == BEFORE || r == BEHIND)
			return BEFORE;
		open |= r == OPEN;
	}
	return open ? OPEN : EQUAL;
}

static bool is_open(struct ref_ctx *c) { return ref_undecided(c, "the order of two elements of"); }

static bool sort_rows(struct differing *out, struct slices *s, struct ref_ctx *c)
{
	for (int64_t i = 0; i < s->n; i++) {
		int64_t k = i;
		for (; k > 0; k--) {
			const enum relation r = rows_in_order(s, c->t, out->order[k - 1], i);
			if (r == OPEN)
				return is_open(c);
			if (r == EQUAL || r == BEFORE)
				break;
			out->order[k] = out->order[k - 1];
		}
		out->order[k] = i;
	}
	return !s->nan || ref_unsupported(c, "%s of slices with NaN, whose order is none", op_info[c->n->op].name);
}

static bool find_differing(struct differing *out, struct slices *s, struct ref_ctx *c, bool sorts)
{
	if (meta_of(c, 0)->device == DEV_META)
		return err_set(c->err, "%s: the size of the result is data, and there are none on device meta", op_info[c->n->op].name);
	out->order = ARENA_NEW(c->t->arena, int64_t, s->n + 1);
	out->at = ARENA_NEW(c->t->arena, int64_t, s->n + 1);
	out->begins = ARENA_NEW(c->t->arena, int64_t, s->n + 1);
	out->times = ARENA_ZNEW(c->t->arena, int64_t, s->n + 1);
	out->count = 0;
	for (int64_t i = 0; i < s->n; i++)
		out->order[i] = i;
	if (sorts && !sort_rows(out, s, c))
		return false;
	for (int64_t i = 0; i < s->n; i++) {
		const enum relation r = i ? alike(s, c->t, out->order[i - 1], out->order[i]) : BEFORE;
		if (r == OPEN)
			return is_open(c);
		if (r != EQUAL)
			out->begins[out->count++] = i;
		out->at[out->order[i]] = out->count - 1;
		out->times[out->count - 1]++;
	}
	const int64_t stated = stated_number(c->n);
	return out->count == stated
		|| ref_unsupported(
			c, "%s: the program states %lld, but the data give %lld", op_info[c->n->op].name, (long long)stated, (long long)out->count);
}

/* A sort may put any of several equals first: they differ in the sign of zero. */
static sid one_of(struct ref_ctx *c, const struct slices *s, const struct differing *f, int64_t k, int64_t place, bool sorts)
{
	const int64_t n = f->times[k];
	const sid first = s->e[f->order[f->begins[k]] * s->len + place];
	const struct num *x = &c->t->val[first];
	if (!sorts || n == 1 || !dtype_is_float((enum dtype)x->dtype) || x->hi != 0)
		return first;
	sid *equals = ARENA_NEW(c->t->arena, sid, n);
	for (int64_t i = 0; i < n; i++)
		equals[i] = s->e[f->order[f->begins[k] + i] * s->len + place];
	return tape_rows(c->t, SF_KMAX, (enum dtype)x->dtype, equals, 1, n, 0);
}

/* The different ones where self's slices were; in memory the dim comes first. */
static bool give_values(struct ref_ctx *c, const struct slices *s, const struct differing *f, bool sorts)
{
	const struct meta *m = meta_of(c, 0);
	int64_t size[MAX_RANK] = {f->count}, stride[MAX_RANK] = {1}, inner = 1, next = 1;
	int rank = 1;
	if (s->dim >= 0) {
		rank = m->rank;
		memcpy(size, m->size, sizeof size);
		size[s->dim] = f->count;
		for (int d = rank - 1; d >= 0; d--)
			if (d != s->dim) {
				stride[d] = next;
				next *= MAX(size[d], 1);
				inner *= d > s->dim ? size[d] : 1;
			}
		stride[s->dim] = next;
	}
	sid *out = ref_out(c, 0, m->dtype, size, rank, stride);
	for (int64_t k = 0; out && k < f->count; k++)
		for (int64_t j = 0; j < s->len; j++)
			out[(j / inner * f->count + k) * inner + j % inner] = one_of(c, s, f, k, j, sorts);
	return out != NULL;
}

static bool give_numbers(struct ref_ctx *c, int k, const int64_t *size, int rank, const int64_t *number, int64_t n)
{
	sid *out = ref_out(c, k, DT_I64, size, rank, NULL);
	for (int64_t i = 0; out && i < n; i++)
		out[i] = shape_const(c, DT_I64, &(struct scalar){SC_INT, number[i], 0});
	return out != NULL;
}

static bool give(struct ref_ctx *c, const struct slices *s, const struct differing *f, bool sorts, bool inverse, bool counts)
{
	const struct meta *m = meta_of(c, 0);
	const int64_t none = 0;
	int64_t nans = 0;
	for (int64_t i = 0; s->len == 1 && dtype_is_float(m->dtype) && i < s->n; i++)
		nans += order_is_nan(&c->t->val[s->e[i]]);
	if (sorts && inverse && nans > 1)
		return ref_unsupported(c, "%s of several NaNs, which a sort puts in any order", op_info[c->n->op].name);
	const bool whole = s->dim < 0;
	return give_values(c, s, f, sorts)
		&& (inverse ? give_numbers(c, 1, whole ? m->size : &s->n, whole ? m->rank : 1, f->at, s->n) : give_numbers(c, 1, &none, 1, NULL, 0))
		&& (counts ? give_numbers(c, 2, &f->count, 1, f->times, f->count) : give_numbers(c, 2, &none, 1, NULL, 0));
}

static bool flag(const struct ref_ctx *c, int k) { return c->n->arg[k].b; }

/* All elements, sorted whatever `sorted` says (Unique.cpp: unique_cpu_sorted_template). */
REFERENCE(unique2, ANEW)
{
	struct slices s;
	struct differing f;
	if (!ref_not_on_cuda(c)) /* which gives only what is asked for */
		return false;
	return all_elements(&s, c) && find_differing(&f, &s, c, true)
		&& give(c, &s, &f, true, flag(c, A_unique2_return_inverse), flag(c, A_unique2_return_counts));
}

/* Neighbours alone. Along a dim inverse and counts are given whether or not they are asked for. */
REFERENCE(unique_consecutive, ANEW)
{
	struct slices s;
	struct differing f;
	if (!ref_not_on_cuda(c)) /* which gives only what is asked for */
		return false;
	const bool whole = !ref_given(c, A_unique_consecutive_dim) /* or dim 0 of 1, as it is written */
		|| (ref_arg_int(c, A_unique_consecutive_dim) == 0 && meta_of(c, 0)->rank == 1);
	return (whole ? all_elements(&s, c) : along_dim(&s, c, A_unique_consecutive_dim)) && find_differing(&f, &s, c, false)
		&& give(c, &s, &f, false, !whole || flag(c, A_unique_consecutive_return_inverse),
			!whole || flag(c, A_unique_consecutive_return_counts));
}

REFERENCE(unique_dim, ANEW)
{
	struct slices s;
	struct differing f;
	if (!ref_not_on_cuda(c)) /* which gives only what is asked for */
		return false;
	return along_dim(&s, c, A_unique_dim_dim) && find_differing(&f, &s, c, true) && give(c, &s, &f, true, true, true);
}
