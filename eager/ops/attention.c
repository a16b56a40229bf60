/* attention.c: what PyTorch's attention for the CPU checks that none of its body's rows refuses, what of it is not taken, and its layouts:
 * the result lies like query, gradients and logsumexp with the heads behind the positions. */
#include "eager/ops/body.h"
#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

/* The forward part says it in these words; backward does not look. */
static bool refuse(const struct meta_ctx *c, const char *words)
{
	return c->n->op == OP_attention_for_cpu ? err_set(c->err, "scaled_dot_product_attention_flash_attention: %s", words)
											: err_limit(c->err, "operands unlike those that the forward part has and gives");
}

/* PyTorch divides by some of the sizes, and looks at none; it reads the last dim as if its elements lay side by side. */
static bool attends(const struct meta_ctx *c, const struct meta *like, const struct meta *m, const char *name)
{
	if (m->size[0] != like->size[0] || m->size[1] != like->size[1] || meta_numel(m) == 0)
		return err_limit(c->err, "attention of %s with other samples or heads, or none", name);
	return m->stride[3] == 1 || err_limit(c->err, "attention of %s whose features do not lie side by side", name);
}

static bool mask_fits(const struct meta_ctx *c, const struct meta *mask, const struct meta *query, const struct meta *key)
{
	const int64_t want[4] = {query->size[0], query->size[1], query->size[2], key->size[2]};
	for (int d = 0; d < mask->rank; d++)
		if (mask->size[d] != want[4 - mask->rank + d] && mask->size[d] != 1)
			return err_limit(c->err, "a mask that does not broadcast to the scores");
	return true;
}

/* Query, key, value and mask, of both rows. */
static bool check_operands(const struct meta_ctx *c)
{
	static const int names[3] = {N_query, N_key, N_value};
	const struct meta *m[3], *mask = meta_named(c, N_attn_mask), *query = m[0] = meta_named(c, N_query);
	bool four = true, alike = true;
	for (int k = 0; k < 3; k++) {
		m[k] = meta_named(c, names[k]);
		four = four && m[k]->rank == 4;
	}
	if (!four)
		return refuse(c, "Accept only 4 dims inputs shape of {B, H, T, K}");
	if (c->n->arg[op_arg(c->n->op, N_dropout_p)].scalar.f != 0)
		return refuse(c, "Currently do not support dropout > 0");
	if (m[1]->size[3] != query->size[3] || m[2]->size[3] != query->size[3])
		return refuse(c, "Q/K/V should have the same head size");
	if (mask && mask->dtype != query->dtype && mask->dtype != DT_F32)
		return refuse(c, "Attention mask is the same data type as query");
	if (mask && mask->rank != 2 && mask->rank != 4)
		return refuse(c, "Attention mask dim in {2, 4}");
	for (int k = 0; k < 3; k++)
		if (!attends(c, query, m[k], op_info[c->n->op].param[op_arg(c->n->op, names[k])].name))
			return false;
	if (node_given(c->n, op_arg(c->n->op, N_scale)) && c->n->arg[op_arg(c->n->op, N_scale)].scalar.f <= 0)
		return err_limit(c->err, "a scale that is not positive: PyTorch takes the maximum, and hides keys, before it multiplies");
	if (m[2]->size[2] != m[1]->size[2])
		return err_limit(c->err, "another number of values than of keys");
	for (int k = 1; k < 3; k++)
		alike = alike && m[k]->dtype == query->dtype;
	if (!alike)
		return c->n->op == OP_attention_for_cpu ? err_set(c->err, "expected scalar type %s but found", dtype_info[query->dtype].c10)
												: err_limit(c->err, "operands unlike those that the forward part has and gives");
	return !mask
		|| (mask->dtype == query->dtype ? mask_fits(c, mask, query, m[1]) : err_limit(c->err, "a mask of another dtype than query"));
}

/* Samples, positions, heads, and the rest, in this order. */
static void layout_heads_behind(struct meta *m)
{
	const int64_t last = m->rank == 4 ? m->size[3] : 1;
	if (m->rank == 4)
		m->stride[3] = 1;
	m->stride[1] = last;
	m->stride[2] = last * m->size[1];
	m->stride[0] = m->stride[2] * m->size[2];
}

bool meta_flash_attention(struct meta_ctx *c)
{
	if (!body_takes_self(c) || !check_operands(c) || !meta_body(c))
		return false;
	layout_preserve(&c->out[0], meta_named(c, N_query));
	layout_heads_behind(&c->out[1]);
	return c->out[0].stride[3] == 1
		|| err_limit(c->err, "attention of a query whose cells overlap: PyTorch writes its result to wrong places");
}

bool meta_flash_attention_backward(struct meta_ctx *c)
{
	const struct meta *query = meta_named(c, N_query), *same[2] = {meta_named(c, N_grad_out), meta_named(c, N_out)},
					  *sums = meta_named(c, N_logsumexp);
	if (!body_takes_self(c) || !check_operands(c))
		return false;
	for (int k = 0; k < 2; k++)
		if (!meta_same_sizes(same[k], query) || same[k]->dtype != query->dtype || same[k]->stride[3] != 1)
			return err_limit(c->err, "operands unlike those that the forward part has and gives");
	if (sums->rank != 3 || memcmp(sums->size, query->size, 3 * sizeof *sums->size) || sums->dtype != dtype_compute(query->dtype))
		return err_limit(c->err, "operands unlike those that the forward part has and gives");
	if (!meta_body(c))
		return false;
	for (int k = 0; k < 3; k++)
		layout_heads_behind(&c->out[k]);
	return true;
}
