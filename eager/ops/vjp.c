/* vjp.c: what all derivative rules share (vjp.h). */
#include "eager/ops/vjp.h"

#include "eager/ops/layout.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

int vjp_sum_to(struct build *b, int x, const struct meta *sizes)
{
	const struct meta m = *build_meta(b, x);
	int64_t dims[MAX_RANK];
	int n = 0, leading = m.rank - sizes->rank;
	if (b->refusal.msg[0] || meta_same_sizes(&m, sizes)) /* what is refused has another's meta */
		return x;
	CHECK(leading >= 0);
	for (int d = 0; d < m.rank; d++)
		if (d < leading || (sizes->size[d - leading] == 1 && m.size[d] != 1))
			dims[n++] = d;
	if (n)
		x = emit_sum_dim(b, x, dims, n, true, -1);
	return leading ? emit_view(b, x, sizes->size, sizes->rank) : x;
}

int vjp_zeros(struct build *b, const struct meta *like) { return emit_zeros(b, like->size, like->rank, (int)like->dtype); }

int vjp_unpermuted(struct build *b, const struct node *permute, int x)
{
	int64_t dims[MAX_LIST], inverse[MAX_LIST];
	int n = node_ints(dims, permute, A_permute_dims), d;
	for (int i = 0; i < n; i++) {
		CHECK(dim_wrap(&d, dims[i], n, NULL));
		inverse[d] = i;
	}
	return emit_permute(b, x, inverse, n);
}

int vjp_scale(struct build *b, int x, struct scalar s)
{
	bool one = s.kind == SC_FLOAT ? s.f == 1 : s.i == 1;
	return one ? x : emit_mul_Scalar(b, x, s);
}

int vjp_inverse(struct build *b, int x)
{
	int inverse = emit_reciprocal(b, x), zero = emit_eq_Scalar(b, x, scalar_int(0));
	return emit_masked_fill(b, inverse, zero, scalar_int(0));
}

/* As validate_outputs of PyTorch's engine: sizes first. */
static int fit(struct build *b, int grad, const struct meta *operand)
{
	if (grad == NO_VALUE)
		return grad;
	grad = vjp_sum_to(b, grad, operand);
	return build_meta(b, grad)->dtype == operand->dtype ? grad : emit_to_copy(b, grad, (int)operand->dtype);
}

void vjp_apply(struct vjp *v)
{
	for (int k = 0; k < MAX_ARGS; k++)
		v->grad[k] = NO_VALUE;
	op_vjp[v->n->op](v);
	for (int k = 0; k < op_info[v->n->op].nparam; k++) {
		if (v->want[k])
			v->grad[k] = fit(v->b, v->grad[k], vjp_meta(v, k));
		for (int i = 0; v->want_list[k] && i < v->n->arg[k].n; i++)
			if (v->want_list[k][i])
				v->grad_list[k][i] = fit(v->b, v->grad_list[k][i], build_meta(v->b, v->list[k][i]));
	}
}
