/* lower_matmul.c: matrix products: three loops and a sum in a register: f64 for f64; f32 for the other floats, the type that eager's BLAS
 * adds up in (its order is another one, which the licence table allows); 64 bits for integers, which wrap when they are stored. */
#include "compiled/loops/lower_nest.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

/* An element in the type computed in. */
static int element(struct lowering *l, enum dtype t, int node, const struct affine *idx)
{
	return loops_as(l->out, reg_type_of(t), lower_element(l, node, idx, AS_VALUE));
}

/* The sum over k of a[i, k] * b[k, j], of a[n, i, k] * b[n, k, j] with a batch: at is where in the result. */
static int dot_product(struct lowering *l, enum dtype t, int a, int b, const struct affine *at)
{
	const int rank = node_meta(l->p, a)->rank, depth = l->out->depth;
	const int acc = loops_var(l->out, lower_scalar(l, t, &(struct scalar){SC_INT, 0, 0}, AS_VALUE));
	struct affine left[3], right[3];
	memcpy(left, at, sizeof *at * (size_t)rank);
	memcpy(right, at, sizeof *at * (size_t)rank);
	left[rank - 1] = right[rank - 2] = nest_for(l, node_meta(l->p, a)->size[rank - 1]);
	const int x = element(l, t, a, left), y = element(l, t, b, right);
	loops_set(l->out, acc, lower_add(l, t, acc, nest_row(l, OP_mul_Tensor, t, x, y)));
	nest_end(l, depth);
	return acc;
}

static void nests_product(struct lowering *l, int node)
{
	const int a = lower_operand(l, node, A_mm_self), b = lower_operand(l, node, A_mm_mat2), outer = l->out->depth;
	const struct meta *out = &l->place[0].meta;
	const enum dtype t = !dtype_is_float(out->dtype) ? DT_I64 : out->dtype == DT_F64 ? DT_F64 : DT_F32;
	struct affine at[3];
	if (l->o->blas) {
		lower_extern(l, node);
		return;
	}
	lower_settle(l, node);
	for (int d = 0; d < out->rank; d++)
		at[d] = nest_for(l, out->size[d]);
	nest_put(l, 0, at, dot_product(l, t, a, b, at));
	nest_end(l, outer);
}

const struct lower_rule lower_mm = {.nests = nests_product};
const struct lower_rule lower_bmm = {.nests = nests_product};
