/* ref_norm.c: layer normalisation of rows: what PyTorch's kernels make of a row's moments (formula.def has the steps, forward and
 * backward), and what they return of them. Kernels compute in f32 for halves; what they return, and backward reads again, has the dtype of
 * the weights. */
#include "generated/op_id.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

/* The rows that are normalised. */
struct rows {
	enum dtype dt, kept; /* of the elements; of the moments */
	int64_t n, len;
	int rank, inner; /* of input; the last dims, which make a row */
};

static const struct ref_tensor *operand(const struct ref_ctx *c, int name) { return c->in[shape_param(c, name)]; }

/* ---- what is refused ---- */

static bool check_shape(struct ref_ctx *c, struct rows *r, const struct meta *input)
{
	const struct arg *shape = &c->n->arg[shape_param(c, N_normalized_shape)];
	int64_t size[MAX_LIST];
	r->inner = shape->n;
	for (int i = 0; i < r->inner; i++)
		size[i] = shape->ints[i].value;
	if (r->inner == 0)
		return err_set(c->err,
			"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
			"normalized_shape = []");
	if (r->inner > input->rank || !shape_equal(size, r->inner, input->size + (input->rank - r->inner), r->inner)) {
		const char *want = shape_text(c, size, r->inner);
		return err_set(c->err, "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s", want, want + 1,
			shape_text(c, input->size, input->rank));
	}
	return true;
}

/* A weight or bias; NULL: there is none. */
static bool check_weight(
	struct ref_ctx *c, const struct rows *r, const struct meta *input, const struct ref_tensor *weight, const char *name)
{
	const int64_t *size = input->size + (input->rank - r->inner);
	return !weight || shape_equal(weight->meta.size, weight->meta.rank, size, r->inner)
		|| err_set(c->err, "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape = %s", name,
			name, shape_text(c, weight->meta.size, weight->meta.rank), shape_text(c, size, r->inner));
}

/* Weights have the dtype of the elements, or all of them f32 beside halves. */
static bool check_dtypes(struct ref_ctx *c, struct rows *r, const struct meta *input, const char *kernel)
{
	const struct ref_tensor *pair[2] = {operand(c, N_weight), operand(c, N_bias)};
	r->kept = r->dt;
	for (int k = 1; k >= 0; k--)
		r->kept = pair[k] ? pair[k]->meta.dtype : r->kept;
	bool mixed = r->kept != r->dt, fits = !mixed || (r->dt != DT_F64 && r->kept == DT_F32);
	for (int k = 0; k < 2; k++)
		fits = fits && (!pair[k] || pair[k]->meta.dtype == r->kept);
	bool forward = c->n->op == OP_native_layer_norm, number = dtype_is_float(r->dt);
	bool reads = meta_numel(input) != 0 && (forward || !number || !pair[1] || pair[1]->meta.dtype == r->kept);
	if (!fits && !reads)
		return ref_unsupported(c, "weights of other dtypes, at which PyTorch does not look");
	if (!fits && (forward || number))
		return err_set(c->err, "mixed dtype (CPU): expect parameter to have scalar type of Float");
	if (!number && meta_numel(input) == 0)
		return ref_unsupported(c, "no elements, of an integer dtype");
	return number || err_set(c->err, "\"%s\" not implemented for '%s'", kernel, dtype_info[r->dt].c10);
}

static bool read_rows(struct ref_ctx *c, struct rows *r, const char *kernel)
{
	const struct meta *input = &operand(c, N_input)->meta;
	*r = (struct rows){.dt = input->dtype, .n = 1, .len = 1, .rank = input->rank};
	if (!check_shape(c, r, input) || !check_weight(c, r, input, operand(c, N_weight), "weight")
		|| !check_weight(c, r, input, operand(c, N_bias), "bias") || !check_dtypes(c, r, input, kernel))
		return false;
	for (int d = 0; d < r->rank; d++)
		*(d < r->rank - r->inner ? &r->n : &r->len) *= input->size[d];
	return true;
}

/* One number for each row: input's sizes, with 1 for the dims that make a row. */
static void sizes_of_moments(int64_t size[MAX_RANK], const struct rows *r, const struct meta *input)
{
	for (int d = 0; d < r->rank; d++)
		size[d] = d < r->rank - r->inner ? input->size[d] : 1;
}

/* ---- forward ---- */

/* A weight's scalars for each row; `otherwise` if there is none. */
static const sid *each_row(struct ref_ctx *c, const struct rows *r, const struct ref_tensor *weight, double otherwise)
{
	const sid *ids = weight ? ref_ids(c, weight) : NULL, none = weight ? 0 : tape_const_f(c->t, dtype_compute(r->dt), otherwise);
	sid *out = tape_ids(c->t, r->n * r->len);
	for (int64_t k = 0; k < r->n * r->len; k++)
		out[k] = weight ? ids[k % r->len] : none;
	return out;
}

/* Result k: one number for each row. A row without elements has a constant. */
static bool moment(struct ref_ctx *c, const struct rows *r, int k, enum sf f, const sid *x, const double *eps, double of_nothing)
{
	const struct meta *input = &operand(c, N_input)->meta;
	int64_t size[MAX_RANK];
	sizes_of_moments(size, r, input);
	if (r->len == 0)
		return ref_out_ids(c, k, r->kept, size, r->rank, NULL, ref_ids_repeat(c, tape_const_f(c->t, r->kept, of_nothing), r->n));
	return ref_out_block(c, k, r->kept, size, r->rank, NULL, tape_formula(c->t, f, r->kept, (const sid *const[3]){x}, r->n, r->len, eps));
}

REFERENCE(native_layer_norm, ANEW)
{
	const struct ref_tensor *input = c->in[A_native_layer_norm_input];
	const double eps[FORMULA_SCALARS] = {c->n->arg[A_native_layer_norm_eps].scalar.f};
	struct rows r;
	if (!ref_not_on_cuda(c) || !read_rows(c, &r, "LayerNormKernelImpl"))
		return false;
	const sid *x = ref_ids(c, input);
	const sid *op[3] = {x, each_row(c, &r, operand(c, N_weight), 1), each_row(c, &r, operand(c, N_bias), 0)};
	sid y = tape_formula(c->t, r.kept == r.dt ? SF_LAYER_NORM : SF_LAYER_NORM_MIXED, r.dt, op, r.n, r.len, eps);
	if (!ref_out_block(c, 0, r.dt, input->meta.size, r.rank, NULL, y))
		return false;
	c->t->result = 1;
	if (!moment(c, &r, 1, SF_ROW_MEAN, x, eps, 0))
		return false;
	c->t->result = 2;
	return moment(c, &r, 2, SF_ROW_RSTD, x, eps, NAN);
}

/* ---- backward ---- */

/* n scalars, one for each row, as one for each element. */
static const sid *spread(struct ref_ctx *c, const struct rows *r, const sid *of_row)
{
	sid *out = tape_ids(c->t, r->n * r->len);
	for (int64_t k = 0; k < r->n * r->len; k++)
		out[k] = of_row[k / r->len];
	return out;
}

struct map {
	struct ref_ctx *c;
	enum dtype dt; /* computed in */
	int64_t n;
};
static const sid *map2(const struct map *m, enum sf f, const sid *a, const sid *b)
{
	return ref_ids_block(m->c, tape_map2(m->c->t, f, m->dt, a, b, m->n), m->n);
}

/* What the kernel reads, in the type it computes in. */
struct upstream {
	const sid *g, *x, *mean, *rstd, *weight; /* [elements], [elements], [rows], [rows], [elements] */
};

/* rstd * g * weight + x * q - (q * mean + sum(g * weight) * rstd / n), q being what mean and rstd send to x, in the kernel's order
 * (layer_norm_kernel.cpp): g * x may overflow where g * weight does not. */
static const sid *to_input(struct ref_ctx *c, const struct rows *r, const struct upstream *b)
{
	const struct map each = {c, dtype_compute(r->dt), r->n * r->len}, row = {c, each.dt, r->n};
	const sid *n = ref_ids_repeat(c, tape_const_f(c->t, each.dt, (double)r->len), r->n);
	const sid *h = map2(&each, SF_MUL, b->g, b->weight), *hx = map2(&each, SF_MUL, map2(&each, SF_MUL, b->g, b->x), b->weight);
	const sid *hr = map2(&each, SF_MUL, map2(&each, SF_MUL, b->g, spread(c, r, b->rstd)), b->weight);
	const sid *s = ref_ids_block(c, tape_rows(c->t, SF_SUM, each.dt, h, r->n, r->len, 0), r->n);
	const sid *sx = ref_ids_block(c, tape_rows(c->t, SF_SUM, each.dt, hx, r->n, r->len, 0), r->n);
	const sid *q = map2(&row, SF_SUB, map2(&row, SF_MUL, s, b->mean), sx);
	for (int k = 0; k < 3; k++)
		q = map2(&row, SF_MUL, q, b->rstd);
	q = map2(&row, SF_DIV, q, n);
	const sid *same = map2(&row, SF_ADD, map2(&row, SF_MUL, q, b->mean), map2(&row, SF_DIV, map2(&row, SF_MUL, s, b->rstd), n));
	const sid *own = map2(&each, SF_ADD, hr, map2(&each, SF_MUL, b->x, spread(c, r, q)));
	return map2(&each, SF_SUB, own, spread(c, r, same));
}

/* The sum over all rows of an element's terms: kernels add up in the dtype of the elements, whatever the weight's is. */
static const sid *over_rows(struct ref_ctx *c, const struct rows *r, const sid *term)
{
	sid *column = tape_ids(c->t, r->n * r->len);
	for (int64_t k = 0; k < r->n * r->len; k++)
		column[k % r->len * r->n + k / r->len] = term[k];
	return ref_cast(c, ref_ids_block(c, tape_rows(c->t, SF_SUM, r->dt, column, r->len, r->n, 0), r->len), r->len, r->kept);
}

static const sid *to_weight(struct ref_ctx *c, const struct rows *r, const struct upstream *b)
{
	const struct map each = {c, dtype_compute(r->dt), r->n * r->len}, row = {c, each.dt, r->n};
	const sid *shift = spread(c, r, map2(&row, SF_MUL, b->mean, b->rstd));
	return map2(&each, SF_MUL, b->g, map2(&each, SF_SUB, map2(&each, SF_MUL, b->x, spread(c, r, b->rstd)), shift));
}

/* What the forward part gives has these sizes, dtypes and layouts; PyTorch does not ask. */
static bool check_moments(struct ref_ctx *c, const struct rows *r)
{
	const struct meta *input = meta_of(c, A_native_layer_norm_backward_input), *grad = meta_of(c, A_native_layer_norm_backward_grad_out);
	const struct meta *pair[2] = {meta_of(c, A_native_layer_norm_backward_mean), meta_of(c, A_native_layer_norm_backward_rstd)};
	int64_t size[MAX_RANK];
	sizes_of_moments(size, r, input);
	bool fits = shape_equal(grad->size, grad->rank, input->size, input->rank) && grad->dtype == r->dt;
	for (int k = 0; k < 2; k++)
		fits = fits && shape_equal(pair[k]->size, pair[k]->rank, size, r->rank) && pair[k]->dtype == r->kept
			&& shape_in_format(pair[k], FORMAT_CONTIGUOUS);
	return fits || ref_unsupported(c, "operands unlike those that native_layer_norm gives, at which PyTorch does not look");
}

/* Result k, converted to the dtype of what it is the gradient of. */
static bool give(struct ref_ctx *c, int k, const struct meta *m, const sid *ids)
{
	return ref_out_ids(c, k, m->dtype, m->size, m->rank, NULL, ref_cast(c, ids, meta_numel(m), m->dtype));
}

REFERENCE(native_layer_norm_backward, ANEW)
{
	const struct ref_tensor *weight = operand(c, N_weight), *bias = operand(c, N_bias), *input = c->in[A_native_layer_norm_backward_input];
	const bool *asked = c->n->arg[A_native_layer_norm_backward_output_mask].bools;
	struct rows r;
	if (!ref_not_on_cuda(c) || !read_rows(c, &r, "LayerNormBackwardKernelImpl") || !check_moments(c, &r))
		return false;
	if ((asked[1] && !weight) || (asked[2] && !bias))
		return err_set(c->err, "tensor does not have a device");
	const enum dtype in = dtype_compute(r.dt);
	const int64_t n = r.n * r.len;
	const struct upstream b = {ref_cast(c, ref_ids(c, c->in[A_native_layer_norm_backward_grad_out]), n, in),
		ref_cast(c, ref_ids(c, input), n, in), ref_cast(c, ref_ids(c, c->in[A_native_layer_norm_backward_mean]), r.n, in),
		ref_cast(c, ref_ids(c, c->in[A_native_layer_norm_backward_rstd]), r.n, in), ref_cast(c, each_row(c, &r, weight, 1), n, in)};
	return (asked[0] ? give(c, 0, &input->meta, to_input(c, &r, &b)) : ref_out_none(c, 0))
		&& (asked[1] ? give(c, 1, &weight->meta, over_rows(c, &r, to_weight(c, &r, &b))) : ref_out_none(c, 1))
		&& (asked[2] ? give(c, 2, &bias->meta, over_rows(c, &r, b.g)) : ref_out_none(c, 2));
}
