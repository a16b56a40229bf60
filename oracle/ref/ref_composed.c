/* ref_composed.c: operators that are functions of rows along a dim, a row of formula.def each. */
#include "generated/op_id.h"
#include "oracle/ref/ref.h"
#include "oracle/ref/row_rules.h"
#include "oracle/ref/shape.h"

/* f of the tensors that come first, all of the sizes and dtype of the first. shifted: it begins with a difference from the largest. */
static bool of_rows(struct ref_ctx *c, enum sf f, int dim_arg, int ntensor, bool shifted)
{
	const struct meta *m = meta_of(c, 0);
	bool mask[MAX_RANK];
	const sid *op[3] = {0};
	int64_t n = 0, len = 0;
	int dim;
	if (!shape_dim(c, &dim, dim_arg, m))
		return false;
	for (int d = 0; d < MAX_RANK; d++)
		mask[d] = d == dim && m->rank > 0;
	for (int k = 0; k < ntensor; k++)
		op[k] = ref_rows(c, c->in[k], mask, &n, &len);
	if (shifted)
		op[0] = ref_unrounded(c, op[0], n * len, m->dtype);
	return ref_out_rows(c, 0, m->dtype, m, mask, tape_formula(c->t, f, m->dtype, op, n, len, NULL));
}

static bool forward(struct ref_ctx *c, enum sf f)
{
	_Static_assert(
		(int)A_softmax_dim == (int)A_log_softmax_dim && (int)A_softmax_half_to_float == (int)A_log_softmax_half_to_float, "alike");
	if (c->n->arg[A_softmax_half_to_float].b)
		return err_set(c->err, "softmax with half to float conversion is not supported on CPU");
	return of_rows(c, f, A_softmax_dim, 1, true);
}

REFERENCE(softmax, ANEW) { return forward(c, SF_SOFTMAX); }
REFERENCE(log_softmax, ANEW) { return forward(c, SF_LOG_SOFTMAX); }

static bool backward(struct ref_ctx *c, enum sf f)
{
	const struct meta *grad = meta_of(c, A_softmax_backward_grad_output), *output = meta_of(c, A_softmax_backward_output);
	enum dtype input = c->n->arg[A_softmax_backward_input_dtype].dtype;
	if (!meta_same_sizes(grad, output))
		return f == SF_SOFTMAX_BACKWARD ? err_set(c->err, "grad_output and output have different sizes")
										: ref_unsupported(c, "grad_output of other sizes than output: PyTorch reads outside of output");
	bool widened = grad->dtype == DT_F32 && input == DT_F16;
	if (meta_numel(grad) == 0 && (grad->dtype != output->dtype || widened))
		return ref_unsupported(c, "operands of different dtypes without elements, at which PyTorch does not look");
	if (grad->dtype != output->dtype || widened)
		return err_set(c->err, "grad_output, output and input are of different dtypes");
	return of_rows(c, f, A_softmax_backward_dim, 2, false);
}

REFERENCE(softmax_backward_data, ANEW) { return backward(c, SF_SOFTMAX_BACKWARD); }
REFERENCE(log_softmax_backward_data, ANEW) { return backward(c, SF_LOG_SOFTMAX_BACKWARD); }
