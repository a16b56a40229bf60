/* ref_matmul.c: matrix products. One MATMUL block per product, factors and addends included. Results are contiguous. */
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"

/* PyTorch multiplies no bools. */
static bool multiplies_dtype(struct ref_ctx *c, enum dtype dt)
{
	return dt != DT_B8 || err_set(c->err, "%s is not implemented for bool tensors", op_info[c->n->op].name);
}

static bool same_dtype(struct ref_ctx *c, const struct meta *a, const struct meta *b)
{
	if (a->dtype != b->dtype && (meta_numel(a) == 0 || meta_numel(b) == 0))
		return ref_unsupported(c, "%s of %s and %s without elements: PyTorch does not always look at the dtypes", op_info[c->n->op].name,
			dtype_info[a->dtype].name, dtype_info[b->dtype].name);
	if (a->dtype == b->dtype)
		return multiplies_dtype(c, a->dtype);
	return err_set(c->err, "%s: expected both tensors to have the same dtype, but got %s and %s", op_info[c->n->op].name,
		dtype_info[a->dtype].torch, dtype_info[b->dtype].torch);
}

static bool need_rank(struct ref_ctx *c, const struct meta *m, int rank)
{
	return m->rank == rank || err_set(c->err, "%s: expected a %d-D tensor, but got %d-D", op_info[c->n->op].name, rank, m->rank);
}

static bool contracts(struct ref_ctx *c, const struct meta *a, const struct meta *b, int64_t k, int64_t k2)
{
	return k == k2
		|| err_set(c->err, "%s: shapes cannot be multiplied (%s and %s)", op_info[c->n->op].name, shape_text(c, a->size, a->rank),
			shape_text(c, b->size, b->rank));
}

static bool multiplies(struct ref_ctx *c, const struct meta *a, const struct meta *b)
{
	return need_rank(c, a, 2) && need_rank(c, b, 2) && contracts(c, a, b, a->size[1], b->size[0]) && same_dtype(c, a, b);
}

/* batch * m * n scalars, a @ b. Integers wrap whatever the order: products, and their sums. */
static sid product(struct ref_ctx *c, enum dtype dt, const sid *a, const sid *b, int64_t batch, int64_t m, int64_t k, int64_t n)
{
	if (dtype_is_float(dt))
		return tape_matmul(c->t, dt, a, b, batch, m, k, n);
	int64_t rows = batch * m * n, all;
	if (!mul_i64(&all, rows, MAX(k, 1)) || all > c->t->limit.nodes)
		return c->t->over = true, 0;
	sid *x = tape_ids(c->t, all), *y = tape_ids(c->t, all), *term = tape_ids(c->t, all);
	for (int64_t r = 0; r < rows; r++) {
		const int64_t i = r / n % m, j = r % n, at = r / n / m;
		for (int64_t q = 0; q < k; q++) {
			x[r * k + q] = a[(at * m + i) * k + q];
			y[r * k + q] = b[(at * k + q) * n + j];
		}
	}
	sid first = tape_map2(c->t, SF_MUL, dt, x, y, rows * k);
	for (int64_t q = 0; q < rows * k; q++)
		term[q] = c->t->over ? 0 : first + (sid)q;
	return tape_rows(c->t, SF_SUM, dt, term, rows, k, 0);
}

REFERENCE(mm, ANEW)
{
	const struct meta *a = meta_of(c, A_mm_self), *b = meta_of(c, A_mm_mat2);
	if (!multiplies(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], b->size[1]};
	if (!meta_check_sizes(size, 2, c->err))
		return false;
	return ref_out_block(c, 0, a->dtype, size, 2, NULL,
		product(c, a->dtype, ref_ids(c, c->in[A_mm_self]), ref_ids(c, c->in[A_mm_mat2]), 1, size[0], a->size[1], size[1]));
}

REFERENCE(bmm, ANEW)
{
	const struct meta *a = meta_of(c, A_bmm_self), *b = meta_of(c, A_bmm_mat2);
	if (!need_rank(c, a, 3) || !need_rank(c, b, 3) || !contracts(c, a, b, a->size[0], b->size[0])
		|| !contracts(c, a, b, a->size[2], b->size[1]) || !same_dtype(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], a->size[1], b->size[2]};
	if (!meta_check_sizes(size, 3, c->err))
		return false;
	return ref_out_block(c, 0, a->dtype, size, 3, NULL,
		product(c, a->dtype, ref_ids(c, c->in[A_bmm_self]), ref_ids(c, c->in[A_bmm_mat2]), size[0], size[1], a->size[2], size[2]));
}

REFERENCE(mv, ANEW)
{
	const struct meta *a = meta_of(c, A_mv_self), *v = meta_of(c, A_mv_vec);
	if (!need_rank(c, a, 2) || !need_rank(c, v, 1) || !contracts(c, a, v, a->size[1], v->size[0]) || !same_dtype(c, a, v))
		return false;
	return ref_out_block(c, 0, a->dtype, a->size, 1, NULL,
		product(c, a->dtype, ref_ids(c, c->in[A_mv_self]), ref_ids(c, c->in[A_mv_vec]), 1, a->size[0], a->size[1], 1));
}

REFERENCE(dot, ANEW)
{
	const struct meta *a = meta_of(c, A_dot_self), *b = meta_of(c, A_dot_tensor);
	if (!need_rank(c, a, 1) || !need_rank(c, b, 1) || !same_dtype(c, a, b) || !contracts(c, a, b, a->size[0], b->size[0]))
		return false;
	return ref_out_block(c, 0, a->dtype, NULL, 0, NULL,
		product(c, a->dtype, ref_ids(c, c->in[A_dot_self]), ref_ids(c, c->in[A_dot_tensor]), 1, 1, a->size[0], 1));
}

static double number_of(const struct scalar *s, enum dtype dt)
{
	double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	return dt == DT_F64 ? v : (double)(float)v;
}

/* The same of integers. The factors are cut to whole numbers of the dtype, which must hold them if anything is multiplied; else self times
 * beta is an ordinary product, which a beta of a wider kind makes a float. */
static bool onto_ints(struct ref_ctx *c, enum dtype dt, const int64_t *size, int rank, const sid *a, const sid *b, int64_t inner)
{
	const struct scalar *by[2] = {scalar_of(c, A_onto_alpha), scalar_of(c, A_onto_beta)};
	const int64_t batch = rank == 3 ? size[0] : 1, n = batch * size[rank - 2] * size[rank - 1];
	if (n && inner == 0 && by[1]->kind == SC_FLOAT && by[1]->f != 0)
		return err_set(c->err, "addmm: result type Float can't be cast to %s", dtype_info[dt].torch);
	for (int k = 0; n && inner && k < 2; k++)
		if (!shape_fits(c, by[k], dt, 1))
			return false;
	const sid *part[2] = {NULL, ref_ids_expanded(c, c->in[A_onto_self], size, rank)};
	sid first = product(c, dt, a, b, batch, size[rank - 2], inner, size[rank - 1]);
	part[0] = ref_ids_block(c, first, n);
	for (int k = 0; k < 2; k++) {
		const int64_t factor = by[k]->kind == SC_FLOAT ? (int64_t)by[k]->f : by[k]->i;
		first = tape_map2(c->t, SF_MUL, dt, part[k], ref_ids_repeat(c, tape_const_i(c->t, dt, factor), n), n);
		sid *scaled = tape_ids(c->t, n);
		for (int64_t e = 0; e < n; e++)
			scaled[e] = c->t->over ? 0 : first + (sid)e;
		part[k] = scaled;
	}
	return ref_out_block(c, 0, dt, size, rank, NULL, tape_map2(c->t, SF_ADD, dt, part[0], part[1], n));
}

/* beta * self + alpha * (a @ b), matrices or batches of them; with beta = 0, self is not even looked at. */
static bool onto(struct ref_ctx *c, const int64_t *size, int rank, const sid *a, const sid *b, int64_t inner)
{
	const struct meta *bias = meta_of(c, A_onto_self);
	const struct scalar *beta = scalar_of(c, A_onto_beta), *alpha = scalar_of(c, A_onto_alpha);
	const enum dtype dt = bias->dtype, factors = dt == DT_F64 ? DT_F64 : DT_F32; /* where alpha and beta multiply */
	const int64_t batch = rank == 3 ? size[0] : 1, m = size[rank - 2], n = size[rank - 1];
	if (!shape_expands(bias, size, rank))
		return err_set(c->err, "%s: the size %s of self does not expand to %s", op_info[c->n->op].name,
			shape_text(c, bias->size, bias->rank), shape_text(c, size, rank));
	if (!dtype_is_float(dt))
		return onto_ints(c, dt, size, rank, a, b, inner);
	if (batch && m && n && inner && (!shape_fits(c, alpha, factors, 1) || !shape_fits(c, beta, factors, 1)))
		return false;
	return ref_out_block(c, 0, dt, size, rank, NULL,
		tape_matmul_onto(c->t, dt, ref_ids_expanded(c, c->in[A_onto_self], size, rank), number_of(beta, dt), number_of(alpha, dt), a, b,
			batch, m, inner, n));
}

REFERENCE(addmm, BIAS)
{
	const struct meta *bias = meta_of(c, A_addmm_self), *a = meta_of(c, A_addmm_mat1), *b = meta_of(c, A_addmm_mat2);
	if (!same_dtype(c, bias, a) || !multiplies(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], b->size[1]};
	return meta_check_sizes(size, 2, c->err)
		&& onto(c, size, 2, ref_ids(c, c->in[A_addmm_mat1]), ref_ids(c, c->in[A_addmm_mat2]), a->size[1]);
}

REFERENCE(baddbmm, BIAS)
{
	const struct ref_tensor *batch1 = c->in[A_baddbmm_batch1], *batch2 = c->in[A_baddbmm_batch2];
	const struct meta *bias = meta_of(c, A_baddbmm_self), *a = &batch1->meta, *b = &batch2->meta;
	if (!need_rank(c, a, 3) || !need_rank(c, b, 3) || !contracts(c, a, b, a->size[0], b->size[0])
		|| !contracts(c, a, b, a->size[2], b->size[1]) || !same_dtype(c, bias, a) || !same_dtype(c, a, b))
		return false;
	const int64_t size[] = {a->size[0], a->size[1], b->size[2]};
	return meta_check_sizes(size, 3, c->err) && onto(c, size, 3, ref_ids(c, batch1), ref_ids(c, batch2), a->size[2]);
}
