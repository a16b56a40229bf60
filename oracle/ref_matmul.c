/* ref_matmul.c: matrix products. One MATMUL block per product, factors and addends included. Results are contiguous. */
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

/* Elements of argument i. In halves a tensor given twice gets two gradients, each rounded before they are added: copies. */
static const sid *factor(struct ref_ctx *c, int i)
{
	const struct ref_tensor *t = c->in[i];
	const sid *ids = ref_ids(c, t);
	bool twice = false;
	for (int k = 0; k < op_info[c->n->op].nparam; k++)
		twice = twice || (k != i && c->in[k] && c->in[k]->storage == t->storage);
	return twice && shape_is_half(t->meta.dtype) ? ref_copies(c, ids, meta_numel(&t->meta), t->meta.dtype) : ids;
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
		tape_matmul(c->t, a->dtype, factor(c, 0), factor(c, 1), 1, size[0], a->size[1], size[1]));
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
		tape_matmul(c->t, a->dtype, factor(c, 0), factor(c, 1), size[0], size[1], a->size[2], size[2]));
}

bool ref_mv(struct ref_ctx *c)
{
	const struct meta *a = meta_of(c, 0), *v = meta_of(c, 1);
	if (!need_rank(c, a, 2) || !need_rank(c, v, 1) || !contracts(c, a, v, a->size[1], v->size[0]) || !same_dtype(c, a, v))
		return false;
	return ref_out_block(c, 0, a->dtype, a->size, 1, NULL,
		tape_matmul(c->t, a->dtype, factor(c, 0), factor(c, 1), 1, a->size[0], a->size[1], 1));
}

bool ref_dot(struct ref_ctx *c)
{
	const struct meta *a = meta_of(c, 0), *b = meta_of(c, 1);
	if (!need_rank(c, a, 1) || !need_rank(c, b, 1) || !same_dtype(c, a, b) || !contracts(c, a, b, a->size[0], b->size[0]))
		return false;
	return ref_out_block(c, 0, a->dtype, NULL, 0, NULL,
		tape_matmul(c->t, a->dtype, factor(c, 0), factor(c, 1), 1, 1, a->size[0], 1));
}

static double number_of(const struct scalar *s, enum dtype dt)
{
	double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	return dt == DT_F64 ? v : (double)(float)v;
}

/* self of addmm, m x n. */
static const sid *addends(struct ref_ctx *c, const int64_t size[2])
{
	const struct meta *m = meta_of(c, 0);
	const sid *ids = factor(c, 0);
	int64_t rows = m->rank == 2 ? m->size[0] : 1, cols = m->rank ? m->size[m->rank - 1] : 1;
	sid *out = tape_ids(c->t, size[0] * size[1]);
	for (int64_t i = 0; i < size[0]; i++)
		for (int64_t j = 0; j < size[1]; j++)
			out[i * size[1] + j] = ids[(rows == 1 ? 0 : i) * cols + (cols == 1 ? 0 : j)];
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
	int64_t n = size[0] * size[1], k = a->size[1];
	const sid *left = factor(c, 1), *right = factor(c, 2), *self = addends(c, size);
	double by = number_of(alpha, dt);
	if (!shape_is_half(dt) || is_number(beta, 0))
		return ref_out_block(c, 0, dt, size, 2, NULL,
			tape_matmul_onto(c->t, dt, self, number_of(beta, dt), by, left, right, size[0], k, size[1]));
	/* Halves: the product may be rounded before it is added. */
	sid first = tape_matmul_onto(c->t, dt, NULL, 0, by, left, right, size[0], k, size[1]), *ids = tape_ids(c->t, n);
	for (int64_t i = 0; i < n; i++)
		ids[i] = c->t->over ? 0 : first + (sid)i;
	return ref_out_block(c, 0, dt, size, 2, NULL, tape_map2(c->t, SF_ADD, dt, scaled(c, self, n, beta, dt), ids, n));
}
