/* ref_attention.c: PyTorch's attention for the CPU: of each sample and head, queries [L, E] by keys [S, E] are scores [L, S], scaled, with
 * a mask, without the keys behind the query if is_causal. weights = exp(scores - their maximum), rounded to the dtype; a result is their
 * sum of values, divided by theirs. Backward has weights again, exp(scores - logsumexp), and steps of its own (FlashAttentionKernel.cpp):
 *     grad_value = weights^T @ g;  d = weights * (g @ value^T - sum(g * out))
 *     grad_query = d @ key * scale;  grad_key = d^T @ query * scale
 * weights and d as the dtype holds them. */
#include "generated/op_id.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

#include <math.h>

struct attention {
	enum dtype dt, in;              /* of the elements; computed in */
	int64_t heads, l, s, e;         /* heads: of all samples; queries, keys, features */
	double scale;                   /* as the kernel has it */
	const sid *query, *key, *value; /* [heads, l, e], [heads, s, e] twice, in `in` */
};

/* ---- what is refused ---- */

/* The forward part says it in these words; backward does not look. */
static bool refuse(struct ref_ctx *c, const char *words)
{
	return c->n->op == OP_attention_for_cpu ? err_set(c->err, "scaled_dot_product_attention_flash_attention: %s", words)
											: ref_unsupported(c, "operands unlike those that attention has and gives");
}

static bool check_types(struct ref_ctx *c, const struct meta *const m[3], const struct meta *mask)
{
	if (!dtype_is_float(m[0]->dtype) && c->n->op == OP_attention_for_cpu)
		return refuse(c, "Expected data type in FP32, FP64, BF16, FP16, but got");
	if (!dtype_is_float(m[0]->dtype))
		return err_set(c->err, "\"flash_attention_backward\" not implemented for '%s'", dtype_info[m[0]->dtype].c10);
	if (dtype_info[m[0]->dtype].rows != DR_FULL)
		return ref_unsupported(c, "attention of %s", dtype_info[m[0]->dtype].name);
	if (m[0]->rank != 4 || m[1]->rank != 4 || m[2]->rank != 4)
		return refuse(c, "Accept only 4 dims inputs shape of {B, H, T, K}");
	if (c->n->arg[op_arg(c->n->op, N_dropout_p)].scalar.f != 0)
		return refuse(c, "Currently do not support dropout > 0");
	if (m[1]->size[3] != m[0]->size[3] || m[2]->size[3] != m[0]->size[3])
		return refuse(c, "Q/K/V should have the same head size");
	if (mask && mask->dtype != m[0]->dtype && mask->dtype != DT_F32)
		return refuse(c, "Attention mask is the same data type as query");
	return !mask || mask->rank == 2 || mask->rank == 4 || refuse(c, "Attention mask dim in {2, 4}");
}

static bool check_sizes(struct ref_ctx *c, const struct meta *const m[3], const struct meta *mask)
{
	const int64_t scores[4] = {m[0]->size[0], m[0]->size[1], m[0]->size[2], m[1]->size[2]};
	for (int k = 0; k < 3; k++) {
		if (memcmp(m[k]->size, m[0]->size, 2 * sizeof *m[k]->size) || meta_numel(m[k]) == 0)
			return ref_unsupported(c, "attention of other samples or heads, or of none, at which PyTorch does not look");
		if (m[k]->stride[3] != 1)
			return ref_unsupported(c, "attention of features that do not lie side by side, of which PyTorch 2.11 reads others");
	}
	if (ref_given(c, op_arg(c->n->op, N_scale)) && c->n->arg[op_arg(c->n->op, N_scale)].scalar.f <= 0)
		return ref_unsupported(c, "a scale that is not positive: PyTorch takes the maximum, and hides keys, before it multiplies");
	if (m[1]->size[2] != m[2]->size[2])
		return ref_unsupported(c, "another number of values than of keys");
	if (m[1]->dtype != m[0]->dtype || m[2]->dtype != m[0]->dtype)
		return c->n->op == OP_attention_for_cpu ? err_set(c->err, "expected scalar type %s but found", dtype_info[m[0]->dtype].c10)
												: ref_unsupported(c, "operands unlike those that attention has and gives");
	if (mask && mask->dtype != m[0]->dtype)
		return ref_unsupported(c, "a mask of another dtype than query");
	return !mask || shape_expands(mask, scores, 4) || ref_unsupported(c, "a mask that does not broadcast to the scores");
}

static const sid *computed(struct ref_ctx *c, const struct attention *r, const struct ref_tensor *t)
{
	return ref_cast(c, ref_ids(c, t), meta_numel(&t->meta), r->in);
}

static bool is_causal(const struct ref_ctx *c) { return c->n->arg[op_arg(c->n->op, N_is_causal)].b; }

/* How kernels cut keys into blocks says whether the weights 0 of keys behind a query are multiplied by anything. */
static bool check_products(struct ref_ctx *c, const struct ref_tensor *const *t, int n)
{
	const struct ref_tensor *mask = ref_operand(c, N_attn_mask); /* of which -inf is ordinary */
	for (int i = 0; is_causal(c) && i < n && t[i]; i++) {
		const sid *ids = ref_ids(c, t[i]);
		for (int64_t k = 0; !c->t->over && k < meta_numel(&t[i]->meta); k++)
			if (tape_val(c->t, ids[k])->flags & (t[i] == mask ? NUM_SPECIAL & ~NUM_NINF : NUM_SPECIAL))
				return ref_unsupported(c, "infinity or NaN, by which causal attention may or may not multiply a weight of 0");
	}
	return true;
}

/* What forward and backward have. */
static bool read_attention(struct ref_ctx *c, struct attention *r)
{
	const struct ref_tensor *mask = ref_operand(c, N_attn_mask),
							*t[4] = {ref_operand(c, N_query), ref_operand(c, N_key), ref_operand(c, N_value), mask};
	const struct meta *m[3] = {&t[0]->meta, &t[1]->meta, &t[2]->meta};
	const int scale = op_arg(c->n->op, N_scale);
	if (!ref_not_on_cuda(c) || !check_types(c, m, mask ? &mask->meta : NULL) || !check_sizes(c, m, mask ? &mask->meta : NULL))
		return false;
	*r = (struct attention){.dt = m[0]->dtype,
		.in = dtype_compute(m[0]->dtype),
		.heads = m[0]->size[0] * m[0]->size[1],
		.l = m[0]->size[2],
		.s = m[1]->size[2],
		.e = m[0]->size[3]};
	r->scale = ref_given(c, scale) ? c->n->arg[scale].scalar.f : 1 / sqrt((double)r->e);
	r->query = computed(c, r, t[0]);
	r->key = computed(c, r, t[1]);
	r->value = computed(c, r, t[2]);
	return check_products(c, t, 4);
}

/* ---- steps ---- */

static const sid *map(struct ref_ctx *c, const struct attention *r, enum sf f, const sid *a, const sid *b, int64_t n)
{
	static const double lowest[FORMULA_SCALARS] = {-INFINITY};
	const sid *const op[3] = {a, b};
	return ref_ids_block(c, tape_map(c->t, f, r->in, op, n, lowest), n);
}

/* [heads, m, k] @ [heads, k, n] */
static const sid *product(struct ref_ctx *c, const struct attention *r, const sid *a, const sid *b, int64_t m, int64_t k, int64_t n)
{
	return ref_ids_block(c, tape_matmul(c->t, r->in, a, b, r->heads, m, k, n), r->heads * m * n);
}

/* The same times scale, by which libraries multiply a factor, the terms or their sum. */
static const sid *scaled_product(struct ref_ctx *c, const struct attention *r, const sid *a, const sid *b, int64_t m, int64_t k, int64_t n)
{
	sid *out = tape_ids(c->t, r->heads * m * n);
	for (int64_t h = 0; h < r->heads; h++) {
		const sid first = tape_matmul_onto(c->t, r->in, NULL, 0, r->scale, a + h * m * k, b + h * k * n, 1, m, k, n);
		for (int64_t i = 0; i < m * n; i++)
			out[h * m * n + i] = c->t->over ? 0 : first + (sid)i;
	}
	return out;
}

/* [heads, m, n] as [heads, n, m] */
static const sid *transposed(struct ref_ctx *c, const struct attention *r, const sid *a, int64_t m, int64_t n)
{
	sid *out = tape_ids(c->t, r->heads * m * n);
	for (int64_t k = 0; k < r->heads * m * n; k++)
		out[k / (m * n) * m * n + k % n * m + k / n % m] = a[k];
	return out;
}

/* A number of each query, as often as it is needed. */
static const sid *spread(struct ref_ctx *c, const struct attention *r, const sid *of, int64_t times)
{
	sid *out = tape_ids(c->t, r->heads * r->l * times);
	for (int64_t k = 0; k < r->heads * r->l * times; k++)
		out[k] = of[k / times];
	return out;
}

static const sid *sums(struct ref_ctx *c, const struct attention *r, const sid *term, int64_t len)
{
	const int64_t n = r->heads * r->l;
	return ref_ids_block(c, tape_rows(c->t, SF_SUM, r->in, term, n, len, 0), n);
}

/* As a tensor of the dtype holds them, as numbers that are computed with. */
static const sid *stored(struct ref_ctx *c, const struct attention *r, const sid *ids, int64_t n)
{
	return ref_cast(c, ref_cast(c, ids, n, r->dt), n, r->in);
}

static const sid *detached(struct ref_ctx *c, const struct attention *r, const sid *ids, int64_t n)
{
	return c->grad ? ref_ids_block(c, tape_map1(c->t, SF_DETACH, r->in, ids, n), n) : ids;
}

/* [heads, l, s], scaled, with the mask. */
static const sid *scores(struct ref_ctx *c, const struct attention *r, const sid *dots)
{
	const struct meta *q = &ref_operand(c, N_query)->meta;
	const struct ref_tensor *mask = ref_operand(c, N_attn_mask);
	const int64_t size[4] = {q->size[0], q->size[1], r->l, r->s}, n = r->heads * r->l * r->s;
	const sid *out = map(c, r, SF_MUL, dots, ref_ids_repeat(c, tape_const_f(c->t, r->in, r->scale), n), n);
	return mask ? map(c, r, SF_ADD, out, ref_cast(c, ref_ids_expanded(c, mask, size, 4), n, r->in), n) : out;
}

/* -inf for the keys behind a query, if is_causal. */
static const sid *causal(struct ref_ctx *c, const struct attention *r, const sid *score)
{
	const int64_t n = r->heads * r->l * r->s;
	const sid behind = tape_const_f(c->t, r->in, -INFINITY);
	sid *out = tape_ids(c->t, n);
	for (int64_t k = 0; k < n; k++)
		out[k] = is_causal(c) && k % r->s > k / r->s % r->l ? behind : score[k];
	return out;
}

static const sid *dots(struct ref_ctx *c, const struct attention *r, const sid *query, const sid *key)
{
	return product(c, r, query, transposed(c, r, key, r->s, r->e), r->l, r->e, r->s);
}

/* ---- forward ---- */

struct result {
	const sid *score, *out, *logsumexp; /* [heads, l, s], [heads, l, e], [heads, l] */
};

static struct result attend(struct ref_ctx *c, const struct attention *r, const sid *query, const sid *key, const sid *value)
{
	const int64_t queries = r->heads * r->l, n = queries * r->s;
	struct result y = {.score = causal(c, r, scores(c, r, dots(c, r, query, key)))};
	const sid *most = ref_ids_block(c, tape_rows(c->t, SF_MAXN, r->in, y.score, queries, r->s, 0), queries);
	const sid *weight = map(c, r, SF_ATTENTION_WEIGHT, y.score, spread(c, r, most, r->s), n), *sum = sums(c, r, weight, r->s);
	const sid *of_values = product(c, r, stored(c, r, weight, n), value, r->l, r->s, r->e);
	y.out = map(c, r, SF_ATTENTION_AVERAGE, of_values, spread(c, r, sum, r->e), queries * r->e);
	y.logsumexp = map(c, r, SF_ATTENTION_LOG, sum, most, queries);
	return y;
}

/* What only gradients come of: the scores times the weights they have, which pass what arrives at them; and the values times weights. */
static const sid *gradient_paths(struct ref_ctx *c, const struct attention *r, const struct result *y, const sid *const fixed[3])
{
	const int64_t queries = r->heads * r->l, n = queries * r->s, elements = queries * r->e;
	const sid *weight = map(c, r, SF_EXP, map(c, r, SF_SUB, y->score, spread(c, r, y->logsumexp, r->s), n), NULL, n);
	const sid *live = stored(c, r, scaled_product(c, r, r->query, transposed(c, r, r->key, r->s, r->e), r->l, r->e, r->s), n);
	const sid *passed = map(c, r, SF_MUL, live, weight, n);
	const sid *through = map(c, r, SF_MUL, spread(c, r, sums(c, r, passed, r->s), r->e), stored(c, r, y->out, elements), elements);
	const sid *of_score = map(c, r, SF_SUB, product(c, r, passed, fixed[2], r->l, r->s, r->e), through, elements);
	const sid *path = map(c, r, SF_ADD, of_score, product(c, r, stored(c, r, weight, n), r->value, r->l, r->s, r->e), elements);
	return is_causal(c) ? map(c, r, SF_ATTENTION_CUT, path, NULL, elements) : path;
}

/* Heads behind positions: of [samples, heads, positions] and, where it is there, features. */
static void stride_heads_behind(int64_t stride[4], const int64_t *size, int rank)
{
	const int64_t last = rank == 4 ? size[3] : 1;
	stride[0] = last * size[1] * size[2];
	stride[1] = last;
	stride[2] = last * size[1];
	stride[3] = 1;
}

REFERENCE(attention_for_cpu, ANEW)
{
	struct attention r;
	int64_t stride[MAX_RANK];
	if (!read_attention(c, &r))
		return false;
	const struct meta *query = &ref_operand(c, N_query)->meta;
	const int64_t values = r.heads * r.s * r.e, elements = r.heads * r.l * r.e;
	const sid *const fixed[3] = {detached(c, &r, r.query, elements), detached(c, &r, r.key, values), detached(c, &r, r.value, values)};
	const struct result y = attend(c, &r, fixed[0], fixed[1], fixed[2]);
	const sid *out = c->grad ? map(c, &r, SF_GRAFT, y.out, gradient_paths(c, &r, &y, fixed), elements) : y.out;
	shape_strides_like(stride, query);
	if (stride[3] != 1)
		return ref_unsupported(c, "attention of a query whose cells overlap: PyTorch writes its result to wrong places");
	if (!ref_out_ids(c, 0, r.dt, query->size, 4, stride, ref_cast(c, out, elements, r.dt)))
		return false;
	stride_heads_behind(stride, query->size, 3);
	c->t->result = 1;
	return ref_out_ids(c, 1, r.in, query->size, 3, stride, y.logsumexp);
}

/* ---- backward ---- */

static bool gives(struct ref_ctx *c, const struct attention *r, int k, const struct meta *like, const sid *ids)
{
	int64_t stride[4];
	stride_heads_behind(stride, like->size, 4);
	c->t->result = k;
	return ref_out_ids(c, k, r->dt, like->size, 4, stride, ref_cast(c, ids, meta_numel(like), r->dt));
}

static bool check_upstream(struct ref_ctx *c, const struct attention *r)
{
	const struct meta *query = &ref_operand(c, N_query)->meta, *sum = &ref_operand(c, N_logsumexp)->meta;
	static const int names[2] = {N_grad_out, N_out};
	bool fits = shape_equal(sum->size, sum->rank, query->size, 3) && sum->dtype == r->in;
	for (int k = 0; k < 2; k++) {
		const struct meta *m = &ref_operand(c, names[k])->meta;
		fits = fits && shape_equal(m->size, m->rank, query->size, 4) && m->dtype == r->dt && m->stride[3] == 1;
	}
	const struct ref_tensor *const given[3] = {ref_operand(c, N_grad_out), ref_operand(c, N_out), ref_operand(c, N_logsumexp)};
	return fits ? check_products(c, given, 3) : ref_unsupported(c, "operands unlike those that attention has and gives");
}

/* Products of halves are padded to the width of an instruction, which is the CPU's and the library's: what pads is 0, and 0 times infinity
 * is NaN. (Measured on 2.11.0 and 2.15.0: -inf with AMX, NaN with AVX512_BF16 alone.) */
static bool check_padded(struct ref_ctx *c, const struct attention *r, const sid *ids, int64_t n)
{
	for (int64_t k = 0; dtype_is_narrow(r->dt) && !c->t->over && k < n; k++)
		if (tape_val(c->t, ids[k])->flags & NUM_SPECIAL)
			return ref_unsupported(c, "infinity or NaN in the gradient of attention of halves: CPUs differ in what they pad products with");
	return true;
}

REFERENCE(attention_for_cpu_backward, ANEW)
{
	struct attention r;
	if (!read_attention(c, &r) || !check_upstream(c, &r))
		return false;
	const int64_t queries = r.heads * r.l, n = queries * r.s, elements = queries * r.e;
	const sid *g = computed(c, &r, ref_operand(c, N_grad_out)), *out = computed(c, &r, ref_operand(c, N_out));
	const sid *score = causal(c, &r, scores(c, &r, dots(c, &r, r.query, r.key)));
	const sid *weight =
		map(c, &r, SF_EXP, map(c, &r, SF_SUB, score, spread(c, &r, ref_ids(c, ref_operand(c, N_logsumexp)), r.s), n), NULL, n);
	const sid *own = product(c, &r, g, transposed(c, &r, r.value, r.s, r.e), r.l, r.e, r.s);
	const sid *shared = spread(c, &r, sums(c, &r, map(c, &r, SF_MUL, g, out, elements), r.e), r.s);
	const sid *of_score = map(c, &r, SF_MUL, weight, map(c, &r, SF_SUB, own, shared, n), n);
	const sid *d = stored(c, &r, of_score, n);
	const sid *back = transposed(c, &r, d, r.l, r.s), *weights = transposed(c, &r, stored(c, &r, weight, n), r.l, r.s);
	if (!check_padded(c, &r, d, n) || !check_padded(c, &r, weights, n) || !check_padded(c, &r, g, elements))
		return false;
	return gives(c, &r, 0, &ref_operand(c, N_query)->meta, scaled_product(c, &r, d, r.key, r.l, r.s, r.e))
		&& gives(c, &r, 1, &ref_operand(c, N_key)->meta, scaled_product(c, &r, back, r.query, r.s, r.l, r.e))
		&& gives(c, &r, 2, &ref_operand(c, N_value)->meta, product(c, &r, weights, g, r.s, r.l, r.e));
}
