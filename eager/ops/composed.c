/* composed.c: what shape rules of rows with a body check that none of the body's rows refuses. */
#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

static bool same_dtype(const struct meta_ctx *c, const struct meta *a, const struct meta *b)
{
	if (a->dtype == b->dtype)
		return true;
	if (meta_numel(a) == 0) /* PyTorch runs no kernel that would look at them */
		return err_limit(c->err, "operands of different element types without elements");
	return err_set(c->err, "expected scalar type %s but found %s", dtype_info[a->dtype].c10, dtype_info[b->dtype].c10);
}

static bool same_sizes(const struct meta_ctx *c, const struct meta *grad, const struct meta *output)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];
	if (meta_same_sizes(grad, output))
		return true;
	if (c->n->op == OP_log_softmax_backward_data) /* PyTorch reads outside of its output, whatever is there */
		return err_limit(c->err, "grad_output and output of different sizes");
	return err_set(c->err,
		"Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but %s does not equal %s (while "
		"checking arguments for softmax_backward)",
		sizes_text(a, grad->size, grad->rank), sizes_text(b, output->size, output->rank));
}

bool meta_softmax_backward(struct meta_ctx *c)
{
	const struct meta *grad = c->in[A_softmax_backward_grad_output], *output = c->in[A_softmax_backward_output];
	int d;
	if (!dim_wrap(&d, node_int(c->n, A_softmax_backward_dim), grad->rank, c->err) || !same_sizes(c, grad, output))
		return false;
	if (grad->dtype == DT_F32 && c->n->arg[A_softmax_backward_input_dtype].dtype == DT_F16 && meta_numel(grad))
		return err_set(c->err, "expected scalar type Float but found Half");
	return same_dtype(c, grad, output) && meta_body(c);
}
