/* pointwise.c: rules of rows that go element by element. Operands are taken into the row's common dtype first, as its kernel does, and from
 * there into the type that it computes in. */
#include "compiled/decompose/rules.h"

#include <math.h>

#include "eager/ops/layout.h"
#include "eager/ops/pointwise.h"
#include "eager/ops/rules.h"

static void types_of(struct pointwise_types *t, const struct decomposition *d)
{
	const struct meta *in[MAX_ELEMENTWISE] = {0};
	for (int k = 0, n = 0; k < op_info[d->n->op].nparam; k++)
		if (op_info[d->n->op].param[k].kind == K_TENSOR)
			in[n++] = meta_operand(d->from, d->n, k);
	pointwise_types(t, d->n->op, d->n, in);
}

static enum dtype common_of(const struct decomposition *d)
{
	struct pointwise_types t;
	types_of(&t, d);
	return t.common;
}

static int number(struct decomposition *d, struct scalar s) { return build_number(d->b, s); }

/* Scalar k of the row as its kernel sees it. */
static struct scalar scalar_seen(const struct pointwise_types *t, int k)
{
	const union computed v = pointwise_scalar(t, k);
	if (!dtype_is_float(t->common))
		return scalar_int(v.i64);
	return scalar_float(t->common == DT_F64 ? v.f64 : (double)v.f32);
}

/* Through the common dtype into the one computed in. */
static int taken(struct decomposition *d, int arg, enum dtype common)
{
	return as_dtype(d, as_dtype(d, d->in[arg], common), dtype_compute(common));
}

/* ---- sums, differences, products, quotients ---- */

RULE(add_Scalar)
{
	const int other = number(d, *scalar_arg(d, A_add_Scalar_other));
	d->out[0] = emit_add_Tensor(d->b, d->in[A_add_Scalar_self], other, *scalar_arg(d, A_add_Scalar_alpha));
}

static struct scalar negative(const struct scalar *s) { return s->kind == SC_FLOAT ? scalar_float(-s->f) : scalar_int(wrap_sub(0, s->i)); }

/* a - alpha * b as a + alpha * -b, where -b is exact: of the common dtype, in which integers wrap. An alpha that the dtype does not
 * hold, though its opposite does, is negated itself. */
static void difference(struct decomposition *d, int a, int b, struct scalar alpha)
{
	struct err err = {0};
	if (alpha.kind == SC_INT && (alpha.i == INT64_MIN || !scalar_fits(&alpha, common_of(d), &err))) {
		d->out[0] = emit_add_Tensor(d->b, a, b, negative(&alpha));
		return;
	}
	if (build_is_number(b))
		b = number(d, negative(build_scalar(d->b, b)));
	else
		b = emit_neg(d->b, as_dtype(d, b, common_of(d)));
	d->out[0] = emit_add_Tensor(d->b, a, b, alpha);
}

RULE(sub_Tensor) { difference(d, d->in[A_sub_Tensor_self], d->in[A_sub_Tensor_other], *scalar_arg(d, A_sub_Tensor_alpha)); }

RULE(sub_Scalar)
{
	difference(d, d->in[A_sub_Scalar_self], number(d, *scalar_arg(d, A_sub_Scalar_other)), *scalar_arg(d, A_sub_Scalar_alpha));
}

RULE(rsub_Scalar)
{
	difference(d, number(d, *scalar_arg(d, A_rsub_Scalar_other)), d->in[A_rsub_Scalar_self], *scalar_arg(d, A_rsub_Scalar_alpha));
}

RULE(mul_Scalar) { d->out[0] = emit_mul_Tensor(d->b, d->in[A_mul_Scalar_self], number(d, *scalar_arg(d, A_mul_Scalar_other))); }
RULE(div_Scalar) { d->out[0] = emit_div_Tensor(d->b, d->in[A_div_Scalar_self], number(d, *scalar_arg(d, A_div_Scalar_other))); }

/* a + value * b * c, rounded once. */
RULE(addcmul)
{
	struct pointwise_types t;
	types_of(&t, d);
	const int factor = number(d, scalar_seen(&t, 0));
	const int b = emit_mul_Tensor(d->b, taken(d, A_addcmul_tensor1, t.common), factor);
	const int product = emit_mul_Tensor(d->b, b, taken(d, A_addcmul_tensor2, t.common));
	d->out[0] = as_dtype(d, emit_add_Tensor(d->b, taken(d, A_addcmul_self, t.common), product, scalar_int(1)), t.common);
}

RULE(reciprocal) { d->out[0] = emit_div_Tensor(d->b, number(d, scalar_int(1)), d->in[A_reciprocal_self]); }

/* The kernel's square root is a double, and so is its exponential; integers go through f32. */
static int as_double(struct decomposition *d, int x) { return as_dtype(d, as_dtype(d, x, result_meta(d, 0)->dtype), DT_F64); }

RULE(rsqrt)
{
	const int root = emit_sqrt(d->b, as_double(d, d->in[A_rsqrt_self]));
	d->out[0] = as_dtype(d, emit_div_Tensor(d->b, number(d, scalar_int(1)), root), result_meta(d, 0)->dtype);
}

RULE(sigmoid)
{
	const int e = emit_exp(d->b, emit_neg(d->b, as_double(d, d->in[A_sigmoid_self])));
	const int sum = emit_add_Tensor(d->b, e, number(d, scalar_int(1)), scalar_int(1));
	d->out[0] = as_dtype(d, emit_div_Tensor(d->b, number(d, scalar_int(1)), sum), result_meta(d, 0)->dtype);
}

/* a * (1 - b * b) */
RULE(tanh_backward)
{
	const enum dtype t = common_of(d);
	const int b = taken(d, A_tanh_backward_output, t), square = emit_mul_Tensor(d->b, b, b);
	const int slope = emit_add_Tensor(d->b, number(d, scalar_int(1)), emit_neg(d->b, square), scalar_int(1));
	d->out[0] = as_dtype(d, emit_mul_Tensor(d->b, taken(d, A_tanh_backward_grad_output, t), slope), t);
}

/* ---- comparisons ---- */

enum comparison { EQ, NE, LT, LE, GT, GE };

static int compared(struct decomposition *d, enum comparison c, int a, int b)
{
	switch (c) {
	case EQ: return emit_eq_Tensor(d->b, a, b);
	case NE: return logical_negation(d, emit_eq_Tensor(d->b, a, b));
	case LT: return emit_lt_Tensor(d->b, a, b);
	case LE: return emit_le_Tensor(d->b, a, b);
	case GT: return emit_lt_Tensor(d->b, b, a);
	default: return emit_le_Tensor(d->b, b, a);
	}
}

RULE(ne_Tensor) { d->out[0] = compared(d, NE, d->in[A_ne_Tensor_self], d->in[A_ne_Tensor_other]); }
RULE(gt_Tensor) { d->out[0] = compared(d, GT, d->in[A_gt_Tensor_self], d->in[A_gt_Tensor_other]); }
RULE(ge_Tensor) { d->out[0] = compared(d, GE, d->in[A_ge_Tensor_self], d->in[A_ge_Tensor_other]); }

static void compared_with_number(struct decomposition *d, enum comparison c)
{
	struct pointwise_types t;
	types_of(&t, d);
	d->out[0] = compared(d, c, as_dtype(d, d->in[A_elementwise_self], t.common), constant(d, scalar_seen(&t, 0), t.common));
}

RULE(eq_Scalar) { compared_with_number(d, EQ); }
RULE(ne_Scalar) { compared_with_number(d, NE); }
RULE(lt_Scalar) { compared_with_number(d, LT); }
RULE(le_Scalar) { compared_with_number(d, LE); }
RULE(gt_Scalar) { compared_with_number(d, GT); }
RULE(ge_Scalar) { compared_with_number(d, GE); }

static int is_zero(struct decomposition *d, int x)
{
	return emit_eq_Tensor(d->b, x, constant(d, scalar_int(0), build_meta(d->b, x)->dtype));
}

RULE(logical_not) { d->out[0] = is_zero(d, d->in[A_logical_not_self]); }

RULE(logical_and)
{
	const enum dtype t = common_of(d);
	const int a = logical_negation(d, is_zero(d, as_dtype(d, d->in[A_logical_and_self], t)));
	const int b = logical_negation(d, is_zero(d, as_dtype(d, d->in[A_logical_and_other], t)));
	d->out[0] = emit_mul_Tensor(d->b, a, b);
}

/* ---- choices ---- */

/* A NaN on either side wins: where(a is first, a, where(a is no NaN, b, a)). */
static void extremum(struct decomposition *d, bool largest)
{
	const enum dtype t = common_of(d);
	const int a = as_dtype(d, d->in[A_maximum_self], t), b = as_dtype(d, d->in[A_maximum_other], t);
	const int rest = dtype_is_float(t) ? emit_where_self(d->b, emit_eq_Tensor(d->b, a, a), b, a) : b;
	d->out[0] = emit_where_self(d->b, compared(d, largest ? GT : LT, a, b), a, rest);
}

RULE(maximum) { extremum(d, true); }
RULE(minimum) { extremum(d, false); }

RULE(relu)
{
	const int x = d->in[A_relu_self], zero = constant(d, scalar_int(0), result_meta(d, 0)->dtype);
	d->out[0] = emit_where_self(d->b, emit_le_Tensor(d->b, x, zero), zero, x);
}

/* A NaN bound makes everything NaN if there are two bounds and nothing if it is the only one. */
RULE(clamp)
{
	struct pointwise_types t;
	types_of(&t, d);
	struct scalar least = scalar_int(0), most = scalar_int(0);
	const bool has_least = t.scalar[0] != NULL, has_most = t.scalar[1] != NULL;
	int x = as_dtype(d, d->in[A_clamp_self], t.common);
	if (has_least)
		least = scalar_seen(&t, 0);
	if (has_most)
		most = scalar_seen(&t, 1);
	if (has_least && has_most && (isnan(least.f) || isnan(most.f))) {
		d->out[0] = filled(d, result_meta(d, 0), scalar_float(NAN));
		return;
	}
	if (has_least) {
		const int bound = constant(d, least, t.common);
		x = emit_where_self(d->b, emit_lt_Tensor(d->b, x, bound), bound, x);
	}
	if (has_most) {
		const int bound = constant(d, most, t.common);
		x = emit_where_self(d->b, emit_lt_Tensor(d->b, bound, x), bound, x);
	}
	d->out[0] = x;
}

/* 0 where b <= threshold, which is compared in the type computed in. */
RULE(threshold_backward)
{
	struct pointwise_types t;
	types_of(&t, d);
	const int limit = constant(d, scalar_seen(&t, 0), dtype_compute(t.common));
	const int flat = emit_le_Tensor(d->b, taken(d, A_threshold_backward_self, t.common), limit);
	const int g = as_dtype(d, d->in[A_threshold_backward_grad_output], t.common);
	d->out[0] = emit_where_self(d->b, flat, constant(d, scalar_int(0), t.common), g);
}

/* (0 < x) - (x < 0): 0 of NaN; a bool is its own sign */
RULE(sign)
{
	const enum dtype t = result_meta(d, 0)->dtype;
	const int x = d->in[A_sign_self], zero = constant(d, scalar_int(0), t);
	if (t == DT_B8) {
		d->out[0] = compared(d, NE, x, zero);
		return;
	}
	const int above = as_dtype(d, emit_lt_Tensor(d->b, zero, x), t), below = as_dtype(d, emit_lt_Tensor(d->b, x, zero), t);
	d->out[0] = emit_add_Tensor(d->b, above, emit_neg(d->b, below), scalar_int(1));
}

/* Of integers, of which u16, u32 and u64 have no opposite, it is what floor is: a copy. */
static int ceiling(struct decomposition *d, int x)
{
	if (!dtype_is_float(result_meta(d, 0)->dtype))
		return emit_floor(d->b, x);
	return emit_neg(d->b, emit_floor(d->b, emit_neg(d->b, x)));
}

RULE(ceil) { d->out[0] = ceiling(d, d->in[A_ceil_self]); }

RULE(trunc)
{
	const enum dtype t = result_meta(d, 0)->dtype;
	const int x = d->in[A_trunc_self];
	if (!dtype_is_float(t)) {
		d->out[0] = ceiling(d, x);
		return;
	}
	const int zero = constant(d, scalar_int(0), t);
	d->out[0] = emit_where_self(d->b, emit_lt_Tensor(d->b, x, zero), ceiling(d, x), emit_floor(d->b, x));
}
