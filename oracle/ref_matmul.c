/* ref_matmul.c: matrix products. One MATMUL block per product; bias and factors are steps of their own. Results are contiguous. */
#include "oracle/shape.h"

static bool same_dtype(struct ref_ctx *c, const struct meta *a, const struct meta *b)
{
	if (a->dtype != b->dtype && (meta_numel(a) == 0 || meta_numel(b) == 0))
		return ref_unsupported(c, "dtypes of a product of nothing");    /* not always looked at */
	return a->dtype == b->dtype || err_set(c->err, "%s: expected both tensors to have the same dtype, but got %s and %s", op_info[c->n->op].name,
		dtype_info[a->dtype].torch, dtype_info[b->dtype].torch);
}

static bool need_rank(struct ref_ctx *c, const struct meta *m, int rank)
{
	return m->rank == rank || err_set(c->err, "%s: expected a %d-D tensor, but got %d-D", op_info[c->n->op].name, rank, m->rank);
}

static bool contracts(struct ref_ctx *c, const struct meta *a, const struct meta *b, int64_t k, int64_t k2)
{
	return k == k2 || err_set(c->err, "%s: shapes cannot be multiplied (%s and %s)", op_info[c->n->op].name,
		shape_text(c, a->size, a->rank), shape_text(c, b->size, b->rank));
}

static bool is_number(const struct scalar *s, double v)
{
	return s->kind == SC_FLOAT ? s->f == v : (double)s->i == v;
}

/* n scalars times a factor, unless it is 1. */
static const sid *scaled(struct ref_ctx *c, const sid *ids, int64_t n, const struct scalar *s, enum dtype dt)
{
	if (is_number(s, 1))
		return ids;
	if (shape_is_half(dt))
		return shape_scaled_half(c, ids, n, s, dt);
	sid first = tape_map2(c->t, SF_MUL, dt, ids, ref_ids_repeat(c, shape_const(c, dt, s), n), n), *out = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		out[k] = c->t->over ? 0 : first + (sid)k;
	return out;
}

static bool multiplies(struct ref_ctx *c, const struct meta *a, const struct meta *b)
{
	return need_rank(c, a, 2) && need_rank(c, b, 2) && contracts(c, a, b, a->size[1], b->size[0]) && same_dtype(c, a, b);
}

bool ref_mm(struct ref_ctx *c)
{
	const struct meta *a = meta_of(c, 0), *b = meta_of(c, 1);
	if (!multiplies(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], b->size[1]};
	if (!meta_check_sizes(size, 2, c->err))
		return false;
	return ref_out_block(c, 0, a->dtype, size, 2, NULL,
		tape_matmul(c->t, a->dtype, ref_ids(c, c->in[0]), ref_ids(c, c->in[1]), 1, size[0], a->size[1], size[1]));
}

bool ref_bmm(struct ref_ctx *c)
{
	const struct meta *a = meta_of(c, 0), *b = meta_of(c, 1);
	if (!need_rank(c, a, 3) || !need_rank(c, b, 3) || !contracts(c, a, b, a->size[0], b->size[0]) || !contracts(c, a, b, a->size[2], b->size[1])
		|| !same_dtype(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], a->size[1], b->size[2]};
	if (!meta_check_sizes(size, 3, c->err))
		return false;
	return ref_out_block(c, 0, a->dtype, size, 3, NULL,
		tape_matmul(c->t, a->dtype, ref_ids(c, c->in[0]), ref_ids(c, c->in[1]), size[0], size[1], a->size[2], size[2]));
}

bool ref_mv(struct ref_ctx *c)
{
	const struct meta *a = meta_of(c, 0), *v = meta_of(c, 1);
	if (!need_rank(c, a, 2) || !need_rank(c, v, 1) || !contracts(c, a, v, a->size[1], v->size[0]) || !same_dtype(c, a, v))
		return false;
	return ref_out_block(c, 0, a->dtype, a->size, 1, NULL,
		tape_matmul(c->t, a->dtype, ref_ids(c, c->in[0]), ref_ids(c, c->in[1]), 1, a->size[0], a->size[1], 1));
}

bool ref_dot(struct ref_ctx *c)
{
	const struct meta *a = meta_of(c, 0), *b = meta_of(c, 1);
	if (!need_rank(c, a, 1) || !need_rank(c, b, 1) || !same_dtype(c, a, b) || !contracts(c, a, b, a->size[0], b->size[0]))
		return false;
	return ref_out_block(c, 0, a->dtype, NULL, 0, NULL,
		tape_matmul(c->t, a->dtype, ref_ids(c, c->in[0]), ref_ids(c, c->in[1]), 1, 1, a->size[0], 1));
}

/* out[i, j] = own[i, j] + sum_k left[i, k] right[k, j] as ONE sum: libraries start from own or add it last. */
static sid sum_onto(struct ref_ctx *c, enum dtype dt, const sid *own, const sid *left, const sid *right, int64_t m, int64_t k, int64_t n)
{
	int64_t len = 2 * (k + 1);
	if (m * n > c->t->limit.entries / len) {
		c->t->over = true;
		return 0;
	}
	sid one = tape_const_f(c->t, dt, 1), *entry = tape_ids(c->t, m * n * len), *e = entry;
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			*e++ = own[i * n + j];
			*e++ = one;
			for (int64_t x = 0; x < k; x++) {
				*e++ = left[i * k + x];
				*e++ = right[x * n + j];
			}
		}
	}
	return tape_rows(c->t, SF_SUMPROD, dt, entry, m * n, len, 0);
}

/* The same numbers, times 1 give or take half an ulp: backward multiplies the finished gradient by alpha, one rounding more than the
 * tape's, where alpha is a factor of the left matrix. */
static const sid *rounded_twice(struct ref_ctx *c, const sid *ids, int64_t n, enum dtype dt)
{
	struct tape *t = c->t;
	sid one = tape_map1(t, SF_COPY, dt, ref_ids_repeat(c, tape_const_f(t, dt, 1), 1), 1), *out = tape_ids(t, n);
	if (!t->over)
		t->val[one].rad = num_format[dt].u;
	sid first = tape_map2(t, SF_MUL, dt, ids, ref_ids_repeat(c, one, n), n);
	for (int64_t k = 0; k < n; k++)
		out[k] = t->over ? 0 : first + (sid)k;
	return out;
}

/* beta * self + alpha * (mat1 @ mat2); with beta = 0, self is not even looked at. */
bool ref_addmm(struct ref_ctx *c)
{
	const struct meta *bias = meta_of(c, 0), *a = meta_of(c, 1), *b = meta_of(c, 2);
	const struct scalar *beta = scalar_of(c, 3), *alpha = scalar_of(c, 4);
	enum dtype dt = bias->dtype;
	if (!same_dtype(c, bias, a) || !multiplies(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], b->size[1]};
	if (!meta_check_sizes(size, 2, c->err))
		return false;
	if (!shape_expands(bias, size, 2))
		return err_set(c->err, "addmm: the size %s of self does not expand to %s", shape_text(c, bias->size, bias->rank),
			shape_text(c, size, 2));
	if (is_number(alpha, 0))
		return ref_unsupported(c, "alpha = 0: libraries may skip the product, NaN and infinity included");
	/* The factor goes to the left matrix, so that the radius covers libraries that scale terms and those that scale the sum. */
	int64_t n = size[0] * size[1], k = a->size[1];
	const sid *left = scaled(c, ref_ids(c, c->in[1]), meta_numel(a), alpha, dt), *right = ref_ids(c, c->in[2]);
	if (c->grad && !is_number(alpha, 1))
		right = rounded_twice(c, right, meta_numel(b), dt);
	if (is_number(beta, 0))
		return ref_out_block(c, 0, dt, size, 2, NULL, tape_matmul(c->t, dt, left, right, 1, size[0], k, size[1]));
	const sid *own = scaled(c, ref_ids_expanded(c, c->in[0], size, 2), n, beta, dt);
	if (!shape_is_half(dt))
		return ref_out_block(c, 0, dt, size, 2, NULL, sum_onto(c, dt, own, left, right, size[0], k, size[1]));
	sid first = tape_matmul(c->t, dt, left, right, 1, size[0], k, size[1]), *ids = tape_ids(c->t, n);
	for (int64_t i = 0; i < n; i++)
		ids[i] = c->t->over ? 0 : first + (sid)i;
	return ref_out_block(c, 0, dt, size, 2, NULL, tape_map2(c->t, SF_ADD, dt, own, ids, n));
}
