/* ref_pointwise.c: elementwise operators: one scalar function per element after the operands were converted to the type computed
 * in and broadcast. Order matters for gradients: conversion of an operand to the common dtype comes BEFORE its broadcast (autograd
 * sums in the common dtype, then converts), the step from f16/bf16 to f32 inside a kernel comes AFTER it.
 *
 * Numbers beside a half tensor (Python scalars, second operands of one element and another dtype): mul and div take them in f32,
 * everything else rounds them to the half dtype first. A rounded one is written as a CAST, so that licences which keep f32 can skip it. */
#include "oracle/num/licence.h"
#include "oracle/ref/ref_impl.h"
#include "oracle/ref/shape.h"
#include "oracle/ref/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

/* A binary call in the making: operand ids, expanded to the result's sizes. */
struct pair {
	enum dtype dt; /* common dtype */
	int64_t size[MAX_RANK], stride[MAX_RANK], n;
	int rank;
	const sid *a, *b;
	enum dtype at, bt; /* dtypes of their scalars: dt, or f32 beside a half */
};

/* What the iterator sees of an operand: the CPU converts it, as a dense copy, before it looks at strides; CUDA's kernels convert what
 * they load (TensorIterator.cpp: temporaries only if common_device == kCPU). */
static struct meta operand(const struct ref_ctx *c, const struct meta *m, enum dtype dt)
{
	struct meta v = *m;
	if (v.dtype != dt && c->t->lic->semantics.layout == LAYOUT_CONVERTS)
		shape_strides_like(v.stride, m);
	return v;
}

enum common {
	COMMON_KEEP,
	COMMON_BITS,
	COMMON_FLOAT,
	COMMON_NUMBER,
	COMMON_WHOLE,
	COMMON_REAL,
	COMMON_TURNED,
	COMMON_ALIKE
}; /* pointwise.def */

/* Argument k is a Python number, whether the schema says Scalar or Tensor. */
static bool is_number(const struct ref_ctx *c, int k) { return c->n->arg[k].tag == ARG_SCALAR; }
static enum dtype tensor_dtype(const struct ref_ctx *c) { return meta_of(c, is_number(c, A_elementwise_self))->dtype; }

/* Sizes, strides and common dtype of arguments 0 and 1, each a tensor or a number. */
static bool pair_meta(struct ref_ctx *c, struct pair *p, enum common common)
{
	struct result_type r = SHAPE_TYPE_NONE;
	struct meta op[2];
	p->rank = 0;
	for (int k = 0; k < 2; k++) {
		if (is_number(c, k)) {
			shape_type_scalar(&r, scalar_of(c, k));
			continue;
		}
		shape_type_tensor(&r, meta_of(c, k));
		if (!shape_broadcast(c, p->size, &p->rank, meta_of(c, k)))
			return false;
	}
	if (!shape_type(&p->dt, c, &r))
		return false;
	if (common == COMMON_FLOAT && !dtype_is_float(p->dt))
		p->dt = DT_F32;
	p->at = p->bt = p->dt;
	if (!meta_check_sizes(p->size, p->rank, c->err))
		return false;
	p->n = shape_numel(p->size, p->rank);
	for (int k = 0; k < 2; k++)
		op[k] = is_number(c, k) ? (struct meta){.dtype = p->dt} : operand(c, meta_of(c, k), p->dt);
	shape_iterator(p->stride, p->size, p->rank, op, 2);
	return true;
}

/* A number that comes first. CPU kernels look at the second operand for one to take in f32: the first is rounded like any tensor
 * (BinaryOpsKernel.cpp: is_cpu_scalar(2)). CUDA's mul and add take either (Loops.cuh: opmath_symmetric_gpu_kernel_with_scalars), its div
 * rounds a number that comes first, too (0.1 / 2.5 in f16 is 0.03998, that of f16's 0.1; 2.11.0 on an H100). In a derivative,
 * grad * number, it comes second. */
static void number_first(struct ref_ctx *c, struct pair *p, bool wide)
{
	const struct scalar *s = scalar_of(c, A_elementwise_self);
	const enum licence_class kernel = op_info[c->n->op].licence;
	bool product = kernel == LC_MUL, cuda = c->t->lic->numbers_wide && (product || kernel == LC_ARITH || c->t->lic->traced);
	bool either = wide && (c->t->lic->foreign || (c->grad && !c->t->lic->numbers_wide && product));
	sid a = either ? shape_const_or_rounded(c, p->dt, s) : wide && cuda ? shape_const(c, DT_F32, s) : shape_number(c, s, p->dt);
	p->at = wide && (either || cuda) ? DT_F32 : p->dt;
	p->a = ref_ids_repeat(c, a, p->n);
}

/* self and the other operand (tensors or numbers; of pow: the exponent) with their scalars. wide: numbers beside a half stay f32 (mul,
 * div). */
static bool pair_of(struct ref_ctx *c, struct pair *p, enum common common, bool wide)
{
	if (!pair_meta(c, p, common))
		return false;
	wide &= dtype_is_narrow(p->dt);
	if (is_number(c, A_elementwise_self)) {
		number_first(c, p, wide);
	} else {
		const struct meta *a = meta_of(c, A_elementwise_self);
		p->a = shape_expand_ids(c, ref_cast(c, ref_ids(c, c->in[A_elementwise_self]), meta_numel(a), p->dt), a, p->size, p->rank);
	}
	_Static_assert((int)A_pow_Scalar_exponent == (int)A_binary_other, "pow");
	if (is_number(c, A_binary_other)) {
		p->bt = wide ? DT_F32 : p->dt;
		/* aten::mul_.Scalar is mul(number, self): TensorIterator then rounds the number to self's dtype, which mul(self, number) does not
		 * (measured: bf16 -2.8125 by 3.7 is -10.4375 in place and -10.375 otherwise); AOTAutograd turns one into the other. */
		bool either = c->n->op == OP_mul_Scalar_ || c->t->lic->foreign;
		sid b = !wide ? shape_number(c, scalar_of(c, A_binary_other), p->dt)
			: either  ? shape_const_or_rounded(c, p->dt, scalar_of(c, A_binary_other))
					  : shape_const(c, DT_F32, scalar_of(c, A_binary_other));
		p->b = ref_ids_repeat(c, b, p->n);
		return true;
	}
	const struct ref_tensor *t = c->in[A_binary_other];
	const struct meta *b = &t->meta;
	/* CUDA's kernels round such a tensor when they load it (Loops.cuh: BinaryFunctor's argument types; measured for mul and div). */
	if (wide && meta_numel(b) == 1 && b->dtype != p->dt && !c->t->lic->numbers_wide) {
		if (ref_has_grad(c->r, t))
			return ref_unsupported(c,
				"gradient of one element of another dtype beside a tensor in %s (%s): convert it first, "
				"or give it no gradient",
				dtype_info[p->dt].name, op_info[c->n->op].name);
		p->bt = DT_F32;
	}
	p->b = shape_expand_ids(c, ref_cast(c, ref_ids(c, t), meta_numel(b), p->bt), b, p->size, p->rank);
	return true;
}

static bool give_unary(struct ref_ctx *c, enum dtype in, enum dtype dt, sid first);

/* May a result that is computed in dt go where the row writes? */
static bool may_write(struct ref_ctx *c, enum dtype dt)
{
	if (!c->inplace)
		return true;
	const enum dtype self = meta_of(c, A_elementwise_self)->dtype;
	if (!shape_can_cast(c, dt, self))
		return false;
	return !c->grad || dt == self
		|| ref_unsupported(c, "gradient of %s into %s with a wider operand, whose backward works in self's dtype: convert it first",
			op_info[c->n->op].name, dtype_info[self].name);
}

static bool give_pair(struct ref_ctx *c, const struct pair *p, sid first)
{
	if (!may_write(c, p->dt))
		return false;
	return ref_out_block(c, 0, p->dt, p->size, p->rank, p->stride, first);
}

/* ---- arithmetic ----------------------------------------------------------------------------------------------- */

static bool alpha_fits(struct ref_ctx *c, const struct scalar *s, enum dtype dt)
{
	if (s->kind == SC_BOOL && dt != DT_B8)
		return err_set(c->err, "Boolean alpha only supported for Boolean results");
	if (s->kind == SC_FLOAT && !dtype_is_float(dt))
		return err_set(c->err, "for integral input tensors, argument alpha must not be a floating point number");
	return shape_fits(c, s, dt, 1);
}

static void swap_operands(struct pair *p)
{
	const sid *ids = p->a;
	enum dtype dt = p->at;
	p->a = p->b, p->at = p->bt;
	p->b = ids, p->bt = dt;
}

/* What a difference multiplies by. PyTorch negates the number as it was given: the least integer is its own opposite, and 0 stays +0. */
static struct scalar opposite(const struct scalar *s)
{
	return s->kind == SC_FLOAT ? (struct scalar){SC_FLOAT, 0, -s->f} : (struct scalar){s->kind, (int64_t)(0 - (uint64_t)s->i), 0};
}

/* a + alpha * b, or a - alpha * b; reversed: b - alpha * a. With a factor the product may be contracted or not: a sum of products. */
static bool add_scaled(struct ref_ctx *c, enum sf f, bool reversed)
{
	const struct scalar *alpha = scalar_of(c, A_add_scaled_alpha);
	struct pair p;
	enum dtype dt = tensor_dtype(c);
	bool wide = (is_number(c, A_elementwise_self) || is_number(c, A_binary_other)) && dtype_is_narrow(dt)
		&& c->t->lic->rule[LC_ARITH][dt].flags & LF_NUMBER;
	struct scalar s = f == SF_SUB ? opposite(alpha) : *alpha;
	if (!pair_of(c, &p, COMMON_KEEP, wide) || !alpha_fits(c, &s, p.dt))
		return false;
	if (reversed)
		swap_operands(&p);
	if (c->n->op == OP_rsub_Tensor) { /* other - self, in that order */
		struct meta op[2] = {operand(c, meta_of(c, A_rsub_Tensor_other), p.dt), operand(c, meta_of(c, A_rsub_Tensor_self), p.dt)};
		shape_iterator(p.stride, p.size, p.rank, op, 2);
	}
	bool plain = alpha->kind == SC_FLOAT ? alpha->f == 1 : alpha->i == 1;
	if (plain && f == SF_SUB && p.n > 0 && ref_is_largest(c, p.b[0])) {
		p.a = ref_unrounded(c, p.a, p.n, p.dt);
		p.b = ref_unrounded(c, p.b, p.n, p.dt);
	}
	if (plain)
		return give_pair(c, &p, tape_map2(c->t, f, p.dt, p.a, p.b, p.n));
	if (!dtype_is_float(p.dt)) {
		const sid *factor = ref_ids_repeat(c, shape_number(c, &s, p.dt), p.n);
		const sid *prod = ref_ids_block(c, tape_map2(c->t, SF_MUL, p.dt, factor, p.b, p.n), p.n);
		return give_pair(c, &p, tape_map2(c->t, SF_ADD, p.dt, p.a, prod, p.n));
	}
	if (dtype_is_narrow(p.dt))
		return give_pair(c, &p, tape_map2(c->t, SF_ADD, p.dt, p.a, shape_scaled_half(c, p.b, p.n, &s, p.dt), p.n));
	sid factor = shape_number(c, &s, p.dt), one = tape_const_f(c->t, p.dt, 1), *entry = tape_ids(c->t, 4 * p.n);
	for (int64_t k = 0; k < p.n; k++) {
		entry[4 * k] = p.a[k];
		entry[4 * k + 1] = one;
		entry[4 * k + 2] = p.b[k];
		entry[4 * k + 3] = factor;
	}
	return give_pair(c, &p, tape_rows(c->t, SF_SUMPROD, p.dt, entry, p.n, 4, 0));
}

REFERENCE(add_Tensor, SUM) { return add_scaled(c, SF_ADD, false); }
REFERENCE(add_Scalar, SELF) { return add_scaled(c, SF_ADD, false); }

static bool sub_scaled(struct ref_ctx *c, bool reversed)
{
	for (int k = A_add_scaled_self; k <= A_add_scaled_other; k++)
		if (is_number(c, k) ? scalar_of(c, k)->kind == SC_BOOL : meta_of(c, k)->dtype == DT_B8)
			return err_set(c->err, "subtraction, the `-` operator, with a bool tensor is not supported");
	return add_scaled(c, SF_SUB, reversed);
}

REFERENCE(sub_Tensor, SELF) { return sub_scaled(c, false); }
REFERENCE(sub_Scalar, SELF) { return sub_scaled(c, false); }
REFERENCE(rsub_Scalar, ANEW) { return sub_scaled(c, true); }
REFERENCE(rsub_Tensor, COPIED) { return sub_scaled(c, true); }

/* self is one element of another dtype before a half tensor: rounded to the half here, but read in f32 by the derivative, grad * self, in
 * which it comes second (measured: an i64 of -2^40 times f16 is infinite or NaN, and grad 0 times it is -0). */
static bool wide_in_derivative(const struct ref_ctx *c, const struct pair *p)
{
	const struct meta *a = is_number(c, A_elementwise_self) ? NULL : meta_of(c, A_elementwise_self);
	return a && a->dtype != p->dt && meta_numel(a) == 1 && dtype_is_narrow(p->dt) && !c->t->lic->numbers_wide
		&& !is_number(c, A_binary_other) && ref_has_grad(c->r, c->in[A_binary_other]);
}

/* The values of self * other, with the derivative of a product by the wide self. */
static bool give_product_wide_in_derivative(struct ref_ctx *c, const struct pair *p)
{
	const struct ref_tensor *self = c->in[A_elementwise_self];
	if (ref_has_grad(c->r, self))
		return ref_unsupported(c, "gradients of one element of another dtype before a tensor in %s and of that (%s): convert it first",
			dtype_info[p->dt].name, op_info[c->n->op].name);
	const sid *other = ref_ids_block(c, tape_map1(c->t, SF_DETACH, p->dt, p->b, p->n), p->n); /* or 0 times the rounded self comes back */
	const sid *value = ref_ids_block(c, tape_map2(c->t, SF_MUL, p->dt, p->a, other, p->n), p->n);
	const sid *wide = shape_expand_ids(c, ref_cast(c, ref_ids(c, self), 1, DT_F32), &self->meta, p->size, p->rank);
	const sid *y = ref_ids_block(c, tape_map2(c->t, SF_MUL, DT_F32, wide, ref_cast(c, p->b, p->n, DT_F32), p->n), p->n);
	y = ref_ids_block(c, tape_map1(c->t, SF_CAST, p->dt, y, p->n), p->n);
	return ref_out_block(c, 0, p->dt, p->size, p->rank, p->stride, tape_map2(c->t, SF_GRAFT, p->dt, value, y, p->n));
}

/* mul and div: with a number beside a half tensor in f32, rounded once at the end. */
static bool multiply(struct ref_ctx *c, enum sf f, enum common common)
{
	struct pair p;
	if (!pair_of(c, &p, common, true))
		return false;
	if (f == SF_MUL && wide_in_derivative(c, &p))
		return give_product_wide_in_derivative(c, &p);
	if (p.at == p.dt && p.bt == p.dt)
		return give_pair(c, &p, tape_map2(c->t, f, p.dt, p.a, p.b, p.n));
	const sid *a = ref_cast(c, p.a, p.n, DT_F32), *b = ref_cast(c, p.b, p.n, DT_F32);
	const sid *y = ref_ids_block(c, tape_map2(c->t, f, DT_F32, a, b, p.n), p.n);
	y = ref_ids_block(c, tape_map1(c->t, SF_CAST, p.dt, y, p.n), p.n);
	return ref_out_ids(c, 0, p.dt, p.size, p.rank, p.stride, y);
}

REFERENCE(mul_Tensor, ANEW) { return multiply(c, SF_MUL, COMMON_KEEP); }
REFERENCE(mul_Scalar, ANEW) { return multiply(c, SF_MUL, COMMON_KEEP); }
REFERENCE(div_Tensor, ANEW) { return multiply(c, SF_DIV, COMMON_FLOAT); }
REFERENCE(div_Scalar, ANEW) { return multiply(c, SF_DIV, COMMON_FLOAT); }

/* What divides integers is not 0: CPUs raise then. And the least integer is not divided by -1 towards 0, which traps. */
static bool may_divide(struct ref_ctx *c, const struct pair *p, enum sf f)
{
	if (p->dt == DT_B8)
		return err_set(c->err, "%s is not implemented for bool tensors", op_info[c->n->op].name);
	for (int64_t k = 0; k < p->n && !dtype_is_float(p->dt); k++) {
		int64_t by;
		if (!ref_int(c, &by, p->b[k]))
			return false;
		if (by == 0)
			return ref_not_on_cuda(c) && err_set(c->err, "ZeroDivisionError");
		const struct num *a = tape_val(c->t, p->a[k]);
		if (f == SF_TRUNC_DIV && by == -1 && (a->flags & (NUM_UNDEC | NUM_ANY) || num_wrap(p->dt, wrap_sub(0, a->i)) == a->i) && a->i)
			return ref_unsupported(c, "%s of what may be the least integer by -1", op_info[c->n->op].name);
	}
	return true;
}

/* f of a pair; a number beside a half in f32, as in div. */
static bool divide(struct ref_ctx *c, enum sf f, bool wide)
{
	struct pair p;
	if (!pair_of(c, &p, COMMON_KEEP, wide) || !may_divide(c, &p, f))
		return false;
	if (p.at == p.dt && p.bt == p.dt)
		return give_pair(c, &p, tape_map2(c->t, f, p.dt, p.a, p.b, p.n));
	if (!may_write(c, p.dt))
		return false;
	const sid *a = ref_cast(c, p.a, p.n, DT_F32), *b = ref_cast(c, p.b, p.n, DT_F32);
	const sid *y = ref_ids_block(c, tape_map2(c->t, f, DT_F32, a, b, p.n), p.n);
	return ref_out_ids(c, 0, p.dt, p.size, p.rank, p.stride, ref_cast(c, y, p.n, p.dt));
}

static bool divide_mode(struct ref_ctx *c)
{
	const struct arg *mode = &c->n->arg[op_arg(c->n->op, N_rounding_mode)];
	if (mode->tag == ARG_NONE)
		return multiply(c, SF_DIV, COMMON_FLOAT);
	const bool floored = str_eq(mode->str, "floor");
	if (!floored && !str_eq(mode->str, "trunc"))
		return err_set(c->err, "rounding_mode is none of None, 'trunc' and 'floor'");
	if (floored && !ref_not_on_cuda(c))
		return false;
	return divide(c, floored ? SF_FLOOR_DIV : SF_TRUNC_DIV, true);
}
REFERENCE(div_Tensor_mode, ANEW) { return divide_mode(c); }
REFERENCE(div_Scalar_mode, ANEW) { return divide_mode(c); }
REFERENCE(floor_divide, ANEW) { return ref_not_on_cuda(c) && divide(c, SF_FLOOR_DIV, true); }
REFERENCE(floor_divide_Scalar, ANEW) { return ref_not_on_cuda(c) && divide(c, SF_FLOOR_DIV, true); }
REFERENCE(remainder_Tensor, SELF) { return divide(c, SF_REMAINDER, false); }
REFERENCE(remainder_Scalar, SELF) { return divide(c, SF_REMAINDER, false); }
REFERENCE(remainder_Scalar_Tensor, ANEW) { return ref_not_on_cuda(c) && divide(c, SF_REMAINDER, false); }
REFERENCE(fmod_Tensor, SELF) { return divide(c, SF_FMOD, false); }
REFERENCE(fmod_Scalar, SELF) { return divide(c, SF_FMOD, false); }

/* self + value * tensor1 * tensor2, in any order and with or without FMA; value is a number of the type computed in. */
REFERENCE(addcmul, SELF)
{
	const struct scalar *value = scalar_of(c, A_addcmul_value);
	struct result_type r = SHAPE_TYPE_NONE;
	struct meta op[3];
	const sid *x[3];
	int64_t size[MAX_RANK], stride[MAX_RANK];
	int rank = meta_of(c, A_addcmul_self)->rank;
	memcpy(size, meta_of(c, A_addcmul_self)->size, sizeof size);
	for (int k = 0; k < 3; k++) {
		shape_type_tensor(&r, meta_of(c, k));
		if (!shape_broadcast(c, size, &rank, meta_of(c, k)))
			return false;
	}
	enum dtype dt;
	if (!shape_type(&dt, c, &r) || !may_write(c, dt))
		return false;
	const enum dtype in = dtype_compute(dt);
	if (dt == DT_B8)
		return err_set(c->err, "addcmul is not implemented for bool tensors");
	if (!meta_check_sizes(size, rank, c->err) || !shape_fits(c, value, in, 1))
		return false;
	bool plain = value->kind == SC_FLOAT ? value->f == 1 : value->i == 1;
	/* The derivative is a product of its own, grad * (tensor * value), in the dtypes of the tensors as they came. */
	for (int k = 1; k <= 2 && c->grad; k++) {
		const struct meta *m = meta_of(c, k);
		bool to_f32 = value->kind == SC_FLOAT && !dtype_is_float(m->dtype) && dt != DT_F32; /* an integer tensor times 1.0 */
		if (plain ? to_f32 || (m->rank == 0 && m->dtype > dt) : in != dt || m->dtype != dt)
			return ref_unsupported(c,
				"gradient of addcmul in %s with %s: its backward rounds value * tensor in a dtype of its own; use mul and add",
				dtype_info[dt].name, m->dtype != dt ? "a tensor of another dtype" : "a value that is not 1");
	}
	if (c->grad && in != dt && c->in[A_addcmul_self]->storage == c->in[A_addcmul_tensor1]->storage
		&& c->in[A_addcmul_self]->storage == c->in[A_addcmul_tensor2]->storage)
		return ref_unsupported(c,
			"gradient of one %s tensor given to addcmul thrice: the order of its three shares is open; use mul and add",
			dtype_info[dt].name); /* the adjoint adds one node's shares at once */
	int64_t n = shape_numel(size, rank);
	for (int k = 0; k < 3; k++) {
		const struct meta *m = meta_of(c, k);
		op[k] = operand(c, m, dt);
		const sid *own = ref_cast(c, ref_ids(c, c->in[k]), meta_numel(m), dt);
		own = ref_copies(c, own, meta_numel(m), dt); /* one tensor given twice: two gradients, each rounded */
		x[k] = shape_expand_ids(c, own, m, size, rank);
		if (!plain)
			x[k] = ref_cast(c, x[k], n, in);
	}
	shape_iterator(stride, size, rank, op, 3);
	sid factor = shape_const(c, in, value);
	if (!dtype_is_float(dt)) {
		const sid *p = ref_ids_block(c, tape_map2(c->t, SF_MUL, dt, ref_ids_repeat(c, factor, n), x[1], n), n);
		p = ref_ids_block(c, tape_map2(c->t, SF_MUL, dt, p, x[2], n), n);
		return ref_out_block(c, 0, dt, size, rank, stride, tape_map2(c->t, SF_ADD, dt, x[0], p, n));
	}
	enum dtype steps = plain ? dt : in;
	sid one = tape_const_f(c->t, steps, 1), *entry = tape_ids(c->t, 4 * n), *three = tape_ids(c->t, 3 * n);
	for (int64_t k = 0; k < n; k++) {
		three[3 * k] = factor;
		three[3 * k + 1] = x[1][k];
		three[3 * k + 2] = x[2][k];
	}
	const sid *prod = plain ? x[1] : ref_ids_block(c, tape_rows(c->t, SF_PROD, steps, three, n, 3, 0), n);
	for (int64_t k = 0; k < n; k++) {
		if (!plain && !c->t->over && tape_val(c->t, prod[k])->flags & NUM_INF && !(tape_val(c->t, x[1][k])->flags & NUM_NOFIN)
			&& !(tape_val(c->t, x[2][k])->flags & NUM_NOFIN))
			return ref_unsupported(c,
				"addcmul in %s: value * tensor1 * tensor2 overflows, but not in a fused multiply-add; use smaller numbers",
				dtype_info[dt].name);
		entry[4 * k] = x[0][k];
		entry[4 * k + 1] = one;
		entry[4 * k + 2] = prod[k];
		entry[4 * k + 3] = plain ? x[2][k] : one;
	}
	const sid *y = ref_ids_block(c, tape_rows(c->t, SF_SUMPROD, steps, entry, n, 4, 0), n);
	return ref_out_ids(c, 0, dt, size, rank, stride, ref_cast(c, y, n, dt));
}

static bool binary(struct ref_ctx *c, enum sf f, enum common common)
{
	struct pair p;
	if (!pair_of(c, &p, common, false))
		return false;
	if (common == COMMON_REAL && !dtype_is_float(p.dt))
		return err_set(c->err, "%s is not implemented for integers", op_info[c->n->op].name);
	if (common == COMMON_BITS && dtype_is_float(p.dt))
		return err_set(c->err, "%s is not implemented for floats", op_info[c->n->op].name);
	return give_pair(c, &p, tape_map2(c->t, f, p.dt, p.a, p.b, p.n));
}


/* The derivative squares the operands as they came, each in its own dtype (FunctionsManual.cpp: atan2_backward). */
REFERENCE(atan2, ANEW)
{
	enum dtype a = meta_of(c, A_atan2_self)->dtype, b = meta_of(c, A_atan2_other)->dtype;
	if (c->grad && a != b)
		return ref_unsupported(c, "gradient of atan2 of %s and %s: its backward squares each in its own dtype; convert one of them first",
			dtype_info[a].name, dtype_info[b].name);
	return binary(c, SF_ATAN2, COMMON_FLOAT);
}

/* a ^ e of integers, e >= 0: the product of those of a, a^2, a^4, ... that e is the sum of; it wraps as any product does. */
static sid whole_power(struct ref_ctx *c, const struct pair *p, int64_t e)
{
	const sid *square = p->a, *y = ref_ids_repeat(c, tape_const_i(c->t, p->dt, 1), p->n);
	for (; e > 0; e >>= 1) {
		if (e & 1)
			y = ref_ids_block(c, tape_map2(c->t, SF_MUL, p->dt, y, square, p->n), p->n);
		if (e > 1)
			square = ref_ids_block(c, tape_map2(c->t, SF_MUL, p->dt, square, square, p->n), p->n);
	}
	return tape_map1(c->t, SF_COPY, p->dt, y, p->n);
}

/* The exponent must fit the result's dtype, even if there are no elements, but for f32, whose kernels have it in f64, too (sf.def). */
REFERENCE(pow_Scalar, ANEW)
{
	struct pair p;
	const struct scalar *s = scalar_of(c, A_binary_other);
	if (!pair_of(c, &p, COMMON_KEEP, false))
		return false;
	if (!dtype_is_float(p.dt) && s->kind != SC_FLOAT && s->i < 0)
		return err_set(c->err, "integers to negative integer powers are not allowed");
	if (p.dt != DT_F32 && !shape_fits(c, s, p.dt, 1))
		return false;
	if (!dtype_is_float(p.dt))
		return give_unary(c, p.dt, p.dt, whole_power(c, &p, s->i));
	if (s->kind == SC_BOOL && c->grad) /* its derivative asks whether it equals 0.0, which no bool does */
		return ref_unsupported(c, "gradient of a power whose exponent is a bool: write a number");
	sid exponent = tape_const_f(c->t, DT_F64, s->kind == SC_FLOAT ? s->f : (double)s->i);
	sid first = tape_map2(c->t, SF_POW, p.dt, p.a, ref_ids_repeat(c, exponent, p.n), p.n);
	if (c->inplace)
		return give_pair(c, &p, first);
	return give_unary(c, p.dt, p.dt, first);
}

/* The derivatives have steps in the dtypes of the operands as they came. */
static bool raise(struct ref_ctx *c, struct pair *p)
{
	if (!pair_of(c, p, COMMON_KEEP, false))
		return false;
	return p->dt != DT_B8 || err_set(c->err, "%s is not implemented for bool tensors", op_info[c->n->op].name);
}
REFERENCE(pow_Tensor_Tensor, ANEW)
{
	struct pair p;
	const enum dtype a = meta_of(c, A_pow_Tensor_Tensor_self)->dtype, b = meta_of(c, A_pow_Tensor_Tensor_exponent)->dtype;
	if (c->grad && a != b)
		return ref_unsupported(c, "gradient of a power of %s and %s: its steps are not modelled; convert one of them first",
			dtype_info[a].name, dtype_info[b].name);
	return raise(c, &p) && give_pair(c, &p, tape_map2(c->t, SF_RAISE, p.dt, p.a, p.b, p.n));
}

/* Its derivative takes the logarithm of the number as it was written. */
REFERENCE(pow_of_Scalar, ANEW)
{
	struct pair p;
	const struct scalar *s = scalar_of(c, A_pow_of_Scalar_self);
	const double base = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (!raise(c, &p))
		return false;
	if (c->grad && s->kind == SC_BOOL)
		return ref_unsupported(c, "gradient of powers of a bool, which PyTorch 2.15 does not take for 0: write a number");
	if (c->grad && !isnan(base) && num_rn(p.dt, base, 0) != base)
		return ref_unsupported(c, "gradient of powers of a number that %s does not hold: write one that it holds", dtype_info[p.dt].name);
	return ref_out_block(c, 0, p.dt, p.size, p.rank, NULL, tape_map2(c->t, SF_RAISE, p.dt, p.a, p.b, p.n));
}

/* ---- comparisons: in the common dtype, b8 comes out --------------------------------------------------------------- */

static bool compare(struct ref_ctx *c, enum sf f)
{
	struct pair p;
	return pair_of(c, &p, COMMON_KEEP, false)
		&& ref_out_block(c, 0, DT_B8, p.size, p.rank, p.stride, tape_map2(c->t, f, DT_B8, p.a, p.b, p.n));
}

/* ---- one operand ---------------------------------------------------------------------------------------------------- */

/* Declares result 0 of dtype dt in the iterator's layout of self converted to `in`. */
static bool give_unary(struct ref_ctx *c, enum dtype in, enum dtype dt, sid first)
{
	const struct meta *m = meta_of(c, A_elementwise_self);
	int64_t stride[MAX_RANK];
	struct meta op = operand(c, m, in);
	if (!may_write(c, dt))
		return false;
	shape_iterator(stride, m->size, m->rank, &op, 1);
	return ref_out_block(c, 0, dt, m->size, m->rank, stride, first);
}

static bool unary(struct ref_ctx *c, enum sf f, enum common common)
{
	const struct meta *m = meta_of(c, A_elementwise_self);
	enum dtype dt = common == COMMON_FLOAT && !dtype_is_float(m->dtype) ? DT_F32 : m->dtype;
	const sid *x = ref_ids(c, c->in[A_elementwise_self]);
	int64_t n = meta_numel(m), stride[MAX_RANK];
	if ((common == COMMON_NUMBER || common == COMMON_WHOLE) && m->dtype == DT_B8)
		return err_set(c->err, "%s is not implemented for bool tensors", op_info[c->n->op].name);
	if (common == COMMON_WHOLE && !dtype_is_float(m->dtype)) {
		shape_iterator(stride, m->size, m->rank, m, 1);
		return ref_out_ids(c, 0, m->dtype, m->size, m->rank, stride, x);
	}
	return give_unary(c, dt, dt, tape_map1(c->t, f, dt, ref_cast(c, x, n, dt), n));
}

/* All tensors of a row in their common dtype, and its numbers, of the type computed in or of the tensors'. */
struct mapped {
	enum dtype dt;
	int rank, ntensor;
	int64_t n, size[MAX_RANK];
	struct meta op[3]; /* as the iterator is given them */
	const sid *x[3];
	double scalar[FORMULA_SCALARS];
};

static bool map_number(struct ref_ctx *c, struct mapped *m, int k, double *out)
{
	const struct scalar *s = scalar_of(c, k);
	const bool factor = op_info[c->n->op].param[k].role == R_FACTOR;
	if (!shape_fits(c, s, factor ? dtype_compute(m->dt) : m->dt, 1))
		return false;
	*out = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (!factor)
		*out = num_rn(m->dt, *out, 0);
	return true;
}

static bool map_operands(struct ref_ctx *c, struct mapped *m, enum common common)
{
	const struct op_info *info = &op_info[c->n->op];
	struct result_type r = SHAPE_TYPE_NONE;
	int nscalar = 0;
	bool mixed = false;
	*m = (struct mapped){.ntensor = 0};
	for (int k = 0; k < info->nparam; k++)
		if (info->param[k].kind == K_TENSOR) {
			shape_type_tensor(&r, meta_of(c, k));
			mixed |= meta_of(c, k)->dtype != meta_of(c, A_elementwise_self)->dtype;
			if (!shape_broadcast(c, m->size, &m->rank, meta_of(c, k)))
				return false;
		}
	if (!shape_type(&m->dt, c, &r) || !meta_check_sizes(m->size, m->rank, c->err))
		return false;
	if (common >= COMMON_REAL && !dtype_is_float(m->dt))
		return err_set(c->err, "%s is not implemented for integers", info->name);
	if (common == COMMON_ALIKE && mixed)
		return ref_unsupported(c, "%s of two dtypes: PyTorch refuses some, or gives that of one of them", info->name);
	if (c->grad && mixed)
		return ref_unsupported(c, "gradient of %s of two dtypes: its steps are not modelled; convert one of them first", info->name);
	m->n = shape_numel(m->size, m->rank);
	for (int k = 0; k < info->nparam; k++) {
		if (info->param[k].kind == K_TENSOR) {
			const struct meta *t = meta_of(c, k);
			m->op[m->ntensor] = operand(c, t, m->dt);
			m->x[m->ntensor++] = shape_expand_ids(c, ref_cast(c, ref_ids(c, c->in[k]), meta_numel(t), m->dt), t, m->size, m->rank);
		} else if (info->param[k].kind == K_SCALAR) {
			if (!map_number(c, m, k, &m->scalar[nscalar++]))
				return false;
		} else if (info->param[k].kind == K_BOOL) {
			m->scalar[nscalar++] = c->n->arg[k].b;
		}
	}
	const bool of_result = (c->n->op == OP_leaky_relu_backward && c->n->arg[A_leaky_relu_backward_self_is_result].b)
		|| (c->n->op == OP_elu_backward && c->n->arg[A_elu_backward_is_result].b);
	if (of_result && m->scalar[0] < 0)
		return err_set(c->err, "a negative slope, whose result does not tell the sign of what it was made of");
	return true;
}

/* Moves operand k to the front of what decides the layout. */
static void map_layout_from(struct mapped *m, int k)
{
	const struct meta first = m->op[k];
	memmove(&m->op[1], &m->op[0], (size_t)k * sizeof *m->op);
	m->op[0] = first;
}

static bool map_out(struct ref_ctx *c, const struct mapped *m, int out, enum sf f)
{
	int64_t stride[MAX_RANK];
	if (!may_write(c, m->dt))
		return false;
	shape_iterator(stride, m->size, m->rank, m->op, m->ntensor);
	return ref_out_block(c, out, m->dt, m->size, m->rank, stride, tape_map(c->t, f, m->dt, m->x, m->n, m->scalar));
}

/* f of all tensors of the row. */
static bool map(struct ref_ctx *c, enum sf f, enum common common)
{
	struct mapped m;
	if (!map_operands(c, &m, common))
		return false;
	if (common == COMMON_TURNED)
		map_layout_from(&m, 1);
	return map_out(c, &m, 0, f);
}

#define MAP(row, f, common)                                                                                                                \
	REFERENCE(row, ANEW) { return map(c, SF_##f, COMMON_##common); }
#define UNARY(row, f, common)                                                                                                              \
	REFERENCE(row, ANEW) { return unary(c, SF_##f, COMMON_##common); }
#define BINARY(row, f, common)                                                                                                             \
	REFERENCE(row, ANEW) { return binary(c, SF_##f, COMMON_##common); }
#define COMPARE(row, f)                                                                                                                    \
	REFERENCE(row, ANEW) { return compare(c, SF_##f); }
#include "oracle/ref/pointwise.def"

/* The word chooses: exact, or by tanh. */
static bool approximate(struct ref_ctx *c, enum sf *f, enum sf exact, enum sf by_tanh)
{
	const char *word = c->n->arg[op_arg(c->n->op, N_approximate)].str;
	*f = str_eq(word, "none") ? exact : by_tanh;
	return *f == exact || str_eq(word, "tanh") || err_set(c->err, "approximate argument must be either none or tanh.");
}

REFERENCE(gelu, ANEW)
{
	enum sf f;
	return approximate(c, &f, SF_GELU, SF_GELU_TANH) && unary(c, f, COMMON_KEEP);
}

REFERENCE(gelu_backward, ANEW)
{
	enum sf f;
	const enum dtype g = meta_of(c, A_elementwise_self)->dtype, x = meta_of(c, A_binary_other)->dtype;
	if (g != x)
		return ref_unsupported(
			c, "gelu_backward of %s and %s: PyTorch refuses some, by the library that it calls", dtype_info[g].name, dtype_info[x].name);
	if (!dtype_is_float(g))
		return err_set(c->err, "gelu_backward is not implemented for integers");
	return approximate(c, &f, SF_GELU_BACKWARD, SF_GELU_TANH_BACKWARD) && binary(c, f, COMMON_KEEP);
}

REFERENCE(logical_not, ANEW)
{
	const struct meta *m = meta_of(c, A_logical_not_self);
	return give_unary(c, m->dtype, DT_B8, tape_map1(c->t, SF_NOT, DT_B8, ref_ids(c, c->in[A_logical_not_self]), meta_numel(m)));
}

/* -1 - a, in which integers wrap as bits do. */
REFERENCE(bitwise_not, ANEW)
{
	const struct meta *m = meta_of(c, A_bitwise_not_self);
	const int64_t n = meta_numel(m);
	const sid *x = ref_ids(c, c->in[A_bitwise_not_self]);
	if (dtype_is_float(m->dtype))
		return err_set(c->err, "bitwise_not is not implemented for floats");
	if (m->dtype == DT_B8)
		return give_unary(c, DT_B8, DT_B8, tape_map1(c->t, SF_NOT, DT_B8, x, n));
	const sid *ones = ref_ids_repeat(c, tape_const_i(c->t, m->dtype, -1), n);
	return give_unary(c, m->dtype, m->dtype, tape_map2(c->t, SF_SUB, m->dtype, ones, x, n));
}

/* False for each element of self. */
static bool nowhere(struct ref_ctx *c)
{
	const struct meta *m = meta_of(c, A_elementwise_self);
	const int64_t n = meta_numel(m);
	return give_unary(c, m->dtype, DT_B8, tape_map1(c->t, SF_COPY, DT_B8, ref_ids_repeat(c, tape_const_i(c->t, DT_B8, 0), n), n));
}

/* What is not below infinity, nor infinity. */
REFERENCE(isnan, ANEW)
{
	const struct meta *m = meta_of(c, A_isnan_self);
	const int64_t n = meta_numel(m);
	if (!dtype_is_float(m->dtype))
		return nowhere(c);
	const sid *x = ref_cast(c, ref_ids(c, c->in[A_isnan_self]), n, DT_F64); /* f8_e4m3fn has no infinity */
	const sid *most = ref_ids_repeat(c, tape_const_f(c->t, DT_F64, INFINITY), n);
	const sid *number = ref_ids_block(c, tape_map2(c->t, SF_LE, DT_B8, x, most, n), n);
	return give_unary(c, m->dtype, DT_B8, tape_map1(c->t, SF_NOT, DT_B8, number, n));
}

/* Where the magnitude is not below infinity, nor NaN. */
REFERENCE(isinf, ANEW)
{
	const struct meta *m = meta_of(c, A_isinf_self);
	const int64_t n = meta_numel(m);
	if (!dtype_is_float(m->dtype))
		return nowhere(c);
	const sid *x = ref_cast(c, ref_ids(c, c->in[A_isinf_self]), n, DT_F64);
	const sid *size = ref_ids_block(c, tape_map1(c->t, SF_ABS, DT_F64, x, n), n);
	return give_unary(
		c, m->dtype, DT_B8, tape_map2(c->t, SF_EQ, DT_B8, size, ref_ids_repeat(c, tape_const_f(c->t, DT_F64, INFINITY), n), n));
}

/* Integers are copied. The gradient is a product, by 0 where a number stands for what was none. */
REFERENCE(nan_to_num, ANEW)
{
	const struct meta *m = meta_of(c, A_nan_to_num_self);
	const enum dtype dt = m->dtype;
	const int64_t n = meta_numel(m);
	const sid *x = ref_ids(c, c->in[A_nan_to_num_self]), *number[3];
	int64_t stride[MAX_RANK];
	shape_strides_like(stride, m);
	if (!dtype_is_float(dt))
		return ref_out_ids(c, 0, dt, m->size, m->rank, stride, x);
	if (dtype_info[dt].rows != DR_FULL)
		return err_set(c->err, "\"nan_to_num\" not implemented for %s", dtype_info[dt].c10);
	const double otherwise[] = {0, num_format[dt].max, -num_format[dt].max};
	for (int k = 0; k < 3; k++) {
		const int arg = A_nan_to_num_nan + k;
		const double v = ref_given(c, arg) ? c->n->arg[arg].scalar.f : otherwise[k];
		number[k] = ref_cast(c, ref_ids_repeat(c, tape_const_f(c->t, DT_F64, v), n), n, dt);
	}
	const sid *wide = ref_cast(c, x, n, DT_F64), *top = ref_ids_repeat(c, tape_const_f(c->t, DT_F64, INFINITY), n);
	const sid *bottom = ref_ids_repeat(c, tape_const_f(c->t, DT_F64, -INFINITY), n);
	const sid *some = ref_ids_block(c, tape_map2(c->t, SF_LE, DT_B8, wide, top, n), n);
	const sid *below = ref_ids_block(c, tape_map2(c->t, SF_LT, DT_B8, wide, top, n), n);
	const sid *above = ref_ids_block(c, tape_map2(c->t, SF_GT, DT_B8, wide, bottom, n), n);
	const sid *y = ref_ids_block(c, tape_map3(c->t, SF_SELECT, dt, above, x, number[2], n), n);
	y = ref_ids_block(c, tape_map3(c->t, SF_SELECT, dt, below, y, number[1], n), n);
	y = ref_ids_block(c, tape_map3(c->t, SF_SELECT, dt, some, y, number[0], n), n);
	if (!c->grad)
		return ref_out_ids(c, 0, dt, m->size, m->rank, stride, y);
	const sid *kept = ref_cast(c, ref_ids_block(c, tape_map2(c->t, SF_AND, DT_B8, below, above, n), n), n, dt);
	const sid *product = ref_ids_block(c, tape_map2(c->t, SF_MUL, dt, x, kept, n), n);
	return ref_out_block(c, 0, dt, m->size, m->rank, stride, tape_map2(c->t, SF_GRAFT, dt, y, product, n));
}

/* The derivative adds 1 to the operand as it came. */
REFERENCE(special_xlog1py, ANEW)
{
	const enum dtype a = meta_of(c, A_special_xlog1py_self)->dtype, b = meta_of(c, A_special_xlog1py_other)->dtype;
	if (c->grad && a != b)
		return ref_unsupported(c,
			"gradient of special_xlog1py of %s and %s: its backward adds 1 in the dtype of one of them; convert it first",
			dtype_info[a].name, dtype_info[b].name);
	return binary(c, SF_XLOG1PY, COMMON_FLOAT);
}

/* Versions round the number in two ways, unless the tensor's dtype holds it. */
REFERENCE(softshrink, ANEW)
{
	const enum dtype dt = meta_of(c, A_softshrink_self)->dtype;
	const struct scalar *s = scalar_of(c, A_softshrink_lambd);
	const double v = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (dtype_is_float(dt) && !(v >= 0 && v <= num_format[dt].max))
		return err_set(c->err, "lambda must be in the range of positive numbers of %s", dtype_info[dt].name);
	if (dtype_is_narrow(dt) && num_rn(dt, v, 0) != v)
		return ref_unsupported(
			c, "softshrink by a number that %s does not hold, which versions of PyTorch round in two ways", dtype_info[dt].name);
	return map(c, SF_SOFTSHRINK, COMMON_REAL);
}

/* 0, `values` or 1: below 0, at 0 and above it; 0 at NaN. */
REFERENCE(heaviside, ANEW)
{
	struct pair p;
	const enum dtype dt = meta_of(c, A_heaviside_self)->dtype;
	if (dt != meta_of(c, A_heaviside_values)->dtype)
		return err_set(c->err, "heaviside of two dtypes");
	if (!pair_of(c, &p, COMMON_KEEP, false))
		return false;
	const sid *zero = ref_ids_repeat(c, shape_zero(c, dt), p.n),
			  *one = ref_ids_repeat(c, shape_const(c, dt, &(struct scalar){SC_INT, 1, 0}), p.n);
	const sid *above = ref_ids_block(c, tape_map2(c->t, SF_GT, DT_B8, p.a, zero, p.n), p.n);
	const sid *is_zero = ref_ids_block(c, tape_map2(c->t, SF_EQ, DT_B8, p.a, zero, p.n), p.n);
	const sid *step = ref_ids_block(c, tape_map3(c->t, SF_SELECT, dt, above, one, zero, p.n), p.n);
	return give_pair(c, &p, tape_map3(c->t, SF_SELECT, dt, is_zero, p.b, step, p.n));
}

/* An infinity of the sign; integers are none. */
static bool infinite(struct ref_ctx *c, double which)
{
	const struct meta *m = meta_of(c, A_elementwise_self);
	const int64_t n = meta_numel(m);
	if (!dtype_is_float(m->dtype))
		return nowhere(c);
	const sid *x = ref_cast(c, ref_ids(c, c->in[A_elementwise_self]), n, DT_F64);
	return give_unary(c, m->dtype, DT_B8, tape_map2(c->t, SF_EQ, DT_B8, x, ref_ids_repeat(c, tape_const_f(c->t, DT_F64, which), n), n));
}
REFERENCE(isposinf, ANEW) { return infinite(c, INFINITY); }
REFERENCE(isneginf, ANEW) { return infinite(c, -INFINITY); }

/* What is below zero; of a zero the sign of its reciprocal. A NaN's is open. */
REFERENCE(signbit, ANEW)
{
	const struct meta *m = meta_of(c, A_signbit_self);
	const int64_t n = meta_numel(m);
	const enum dtype dt = m->dtype;
	const sid *x = ref_ids(c, c->in[A_signbit_self]), *zero = ref_ids_repeat(c, shape_zero(c, dt), n);
	if (!dtype_is_float(dt))
		return give_unary(c, dt, DT_B8, tape_map2(c->t, SF_LT, DT_B8, x, zero, n));
	const sid *is_zero = ref_ids_block(c, tape_map2(c->t, SF_EQ, DT_B8, x, zero, n), n);
	const sid *inverse = ref_ids_block(c, tape_map1(c->t, SF_RECIP, dt, x, n), n);
	const sid *y = ref_ids_block(c, tape_map3(c->t, SF_SELECT, dt, is_zero, inverse, x, n), n);
	const sid *below = ref_ids_block(c, tape_map2(c->t, SF_LT, DT_B8, y, zero, n), n);
	const sid *above = ref_ids_block(c, tape_map2(c->t, SF_GT, DT_B8, y, zero, n), n);
	const sid *either = ref_ids_block(c, tape_map2(c->t, SF_OR, DT_B8, below, above, n), n);
	const sid ends[2] = {tape_const_i(c->t, DT_B8, 0), tape_const_i(c->t, DT_B8, 1)};
	sid *two = tape_ids(c->t, 2);
	memcpy(two, ends, sizeof ends);
	const sid *open = ref_ids_repeat(c, tape_rows(c->t, SF_ONEOF, DT_B8, two, 1, 2, 0), n);
	return give_unary(c, dt, DT_B8, tape_map3(c->t, SF_SELECT, DT_B8, either, below, open, n));
}

/* The sign of a number is known. */
REFERENCE(copysign_Scalar, ANEW)
{
	struct pair p;
	const struct scalar *s = scalar_of(c, A_copysign_Scalar_other);
	if (!pair_of(c, &p, COMMON_FLOAT, false))
		return false;
	const bool minus = s->kind == SC_FLOAT ? signbit(s->f) : s->i < 0;
	const sid *sign = ref_ids_repeat(c, tape_const_f(c->t, p.dt, minus ? -1 : 1), p.n);
	return give_pair(c, &p, tape_map2(c->t, SF_COPYSIGN, p.dt, p.a, sign, p.n));
}

/* Either operand is nonzero, and not both. */
REFERENCE(logical_xor, ANEW)
{
	struct pair p;
	if (!pair_of(c, &p, COMMON_KEEP, false))
		return false;
	const sid *a = ref_cast(c, p.a, p.n, DT_B8), *b = ref_cast(c, p.b, p.n, DT_B8);
	return ref_out_block(c, 0, DT_B8, p.size, p.rank, p.stride, tape_map2(c->t, SF_NE, DT_B8, a, b, p.n));
}

/* 2.15 halves the gradient of equals, 2.11 gives all of it to self. */
static const char *const halves_open = "gradient of %s: versions of PyTorch between 2.11 and 2.15 differ where operands are equal";

/* The larger (smaller) operand; a number where the other is NaN. */
static bool extreme_number(struct ref_ctx *c, enum sf extreme, enum sf not_beyond)
{
	struct pair p;
	const enum clamp_gradient rule = c->t->lic->semantics.clamp_gradient;
	if (!pair_of(c, &p, COMMON_KEEP, false))
		return false;
	if (!dtype_is_float(p.dt))
		return give_pair(c, &p, tape_map2(c->t, extreme, p.dt, p.a, p.b, p.n));
	if (c->grad && rule == CLAMP_PASSES_EITHER)
		return ref_unsupported(c, halves_open, op_info[c->n->op].name);
	const sid *most = ref_ids_repeat(c, tape_const_f(c->t, p.dt, INFINITY), p.n);
	const sid *number = ref_ids_block(c, tape_map2(c->t, SF_LE, DT_B8, p.b, most, p.n), p.n);
	const sid *nan = ref_ids_block(c, tape_map1(c->t, SF_NOT, DT_B8, number, p.n), p.n);
	const sid *first = ref_ids_block(c, tape_map2(c->t, not_beyond, DT_B8, p.a, p.b, p.n), p.n);
	first = ref_ids_block(c, tape_map2(c->t, SF_OR, DT_B8, first, nan, p.n), p.n);
	const sid *y = ref_ids_block(c, tape_map3(c->t, SF_SELECT, p.dt, first, p.a, p.b, p.n), p.n);
	const sid *same = ref_ids_block(c, tape_map2(c->t, SF_EQ, DT_B8, p.a, p.b, p.n), p.n); /* zeros of either sign among them */
	const sid *shared = ref_ids_block(c, tape_map2(c->t, extreme, p.dt, p.a, p.b, p.n), p.n);
	if (rule == CLAMP_PASSES)
		shared = ref_ids_block(c, tape_map2(c->t, SF_GRAFT, p.dt, shared, p.a, p.n), p.n);
	return give_pair(c, &p, tape_map3(c->t, SF_SELECT, p.dt, same, shared, y, p.n));
}
REFERENCE(fmax, ANEW) { return extreme_number(c, SF_MAX2, SF_GE); }
REFERENCE(fmin, ANEW) { return extreme_number(c, SF_MIN2, SF_LE); }

/* self, or the bound that it is beyond; NaN where either is. In 2.11 a NaN takes no gradient, and self that of equals. */
static bool bounded(struct ref_ctx *c, enum sf extreme, enum sf within, enum sf beyond)
{
	struct pair p;
	const enum clamp_gradient rule = c->t->lic->semantics.clamp_gradient;
	if (!pair_of(c, &p, COMMON_KEEP, false))
		return false;
	if (!c->grad || rule == CLAMP_BLOCKS)
		return give_pair(c, &p, tape_map2(c->t, extreme, p.dt, p.a, p.b, p.n));
	if (rule == CLAMP_PASSES_EITHER)
		return ref_unsupported(c, halves_open, op_info[c->n->op].name);
	const sid *value = ref_ids_block(c, tape_map2(c->t, extreme, p.dt, p.a, p.b, p.n), p.n);
	const sid *in = ref_ids_block(c, tape_map2(c->t, within, DT_B8, p.a, p.b, p.n), p.n);
	const sid *out = ref_ids_block(c, tape_map2(c->t, beyond, DT_B8, p.a, p.b, p.n), p.n);
	const sid *zero = ref_ids_repeat(c, shape_zero(c, p.dt), p.n);
	const sid *bound = ref_ids_block(c, tape_map3(c->t, SF_SELECT, p.dt, out, p.b, zero, p.n), p.n);
	const sid *from = ref_ids_block(c, tape_map3(c->t, SF_SELECT, p.dt, in, p.a, bound, p.n), p.n);
	return give_pair(c, &p, tape_map2(c->t, SF_GRAFT, p.dt, value, from, p.n));
}
REFERENCE(clamp_min_Tensor, ANEW) { return bounded(c, SF_MAX2, SF_GE, SF_LT); }
REFERENCE(clamp_max_Tensor, ANEW) { return bounded(c, SF_MIN2, SF_LE, SF_GT); }

/* min(max(self, min), max) of those that are there, in their common dtype; NaN where one of them is. */
REFERENCE(clamp_Tensor, ANEW)
{
	struct result_type r = SHAPE_TYPE_NONE;
	struct meta op[3];
	const struct meta *given[3];
	const sid *x[3];
	int64_t size[MAX_RANK], stride[MAX_RANK];
	int rank = 0, n = 0;
	enum dtype dt;
	for (int k = A_clamp_Tensor_self; k <= A_clamp_Tensor_max; k++) {
		if (!ref_given(c, k))
			continue;
		shape_type_tensor(&r, meta_of(c, k));
		if (!shape_broadcast(c, size, &rank, meta_of(c, k)))
			return false;
		given[n++] = meta_of(c, k);
	}
	if (n == 1)
		return err_set(c->err, "clamp: at least one of 'min' or 'max' must not be None");
	if (!shape_type(&dt, c, &r) || !meta_check_sizes(size, rank, c->err))
		return false;
	if (dt == DT_B8)
		return err_set(c->err, "clamp is not implemented for bool tensors");
	const int64_t numel = shape_numel(size, rank);
	for (int k = A_clamp_Tensor_self, i = 0; k <= A_clamp_Tensor_max; k++) {
		if (!ref_given(c, k))
			continue;
		op[i] = operand(c, given[i], dt);
		x[i] = shape_expand_ids(c, ref_cast(c, ref_ids(c, c->in[k]), meta_numel(given[i]), dt), given[i], size, rank);
		i++;
	}
	shape_iterator(stride, size, rank, op, n);
	const sid *y = x[0];
	if (ref_given(c, A_clamp_Tensor_min))
		y = ref_ids_block(c, tape_map2(c->t, SF_MAX2, dt, y, x[1], numel), numel);
	if (ref_given(c, A_clamp_Tensor_max))
		y = ref_ids_block(c, tape_map2(c->t, SF_MIN2, dt, y, x[n - 1], numel), numel);
	return ref_out_ids(c, 0, dt, size, rank, stride, y);
}

/* What PyTorch 2.15.0 makes of an integer bound that dtype dt cannot hold: nothing is beyond it, or the call is refused. 2.11.0 refuses
 * all but the negative ones of u8, which wrap (shape_fits). Both measured. */
enum beyond { BEYOND_NOT, BEYOND_NOTHING, BEYOND_REFUSED };
static enum beyond beyond(const struct scalar *s, enum dtype dt, bool upper)
{
	if (dtype_is_float(dt) || dt == DT_B8 || s->kind == SC_FLOAT || num_wrap(dt, s->i) == s->i)
		return BEYOND_NOT;
	return (s->i > 0) == upper ? BEYOND_NOTHING : BEYOND_REFUSED;
}

/* A bound of clamp as an element of dt. *given is false if it bounds nothing. */
static bool bound(struct ref_ctx *c, sid *out, bool *given, int arg, bool upper, enum dtype dt)
{
	const struct scalar *s = scalar_of(c, arg);
	const enum clamp_beyond rule = c->t->lic->semantics.clamp_beyond;
	*given = ref_given(c, arg);
	if (!*given)
		return true;
	enum beyond b = beyond(s, dt, upper);
	if (b != BEYOND_NOT && rule == CLAMP_BEYOND_EITHER)
		return ref_unsupported(c, "clamp of %s by %lld, which that dtype does not hold: versions of PyTorch between 2.11 and 2.15 differ",
			dtype_info[dt].name, (long long)s->i);
	if (b != BEYOND_NOT && rule == CLAMP_BEYOND_MEANT) {
		*given = false;
		return b == BEYOND_NOTHING
			|| err_set(c->err, "Clamp %s value %lld is outside the representable range of %s", upper ? "max" : "min", (long long)s->i,
				dtype_info[dt].torch);
	}
	if (!shape_fits(c, s, dt, 1)) /* looked at even if there are no elements */
		return false;
	*out = shape_const(c, dt, s);
	return true;
}

/* min(max(self, lower), upper) in the common dtype of all three. */
REFERENCE(clamp, ANEW)
{
	const struct meta *m = meta_of(c, A_clamp_self);
	struct result_type r = SHAPE_TYPE_NONE;
	if (!ref_given(c, A_clamp_min) && !ref_given(c, A_clamp_max))
		return err_set(c->err, "clamp: at least one of 'min' or 'max' must not be None");
	shape_type_tensor(&r, m);
	for (int k = 1; k <= 2; k++)
		if (ref_given(c, k))
			shape_type_scalar(&r, scalar_of(c, k));
	enum dtype dt;
	if (!shape_type(&dt, c, &r))
		return false;
	int64_t n = meta_numel(m);
	sid end[2];
	bool given[2];
	if (!bound(c, &end[0], &given[0], A_clamp_min, false, dt) || !bound(c, &end[1], &given[1], A_clamp_max, true, dt))
		return false;
	const sid *x = ref_cast(c, ref_ids(c, c->in[A_clamp_self]), n, dt);
	const sid *low = given[0] ? ref_ids_repeat(c, end[0], n) : x, *high = given[1] ? ref_ids_repeat(c, end[1], n) : x;
	return give_unary(c, dt, dt, tape_map3(c->t, SF_CLAMP, dt, x, low, high, n));
}

/* The same with one bound. A NaN is given as both: it makes everything NaN in each version. */
static bool clamp_one(struct ref_ctx *c, bool upper)
{
	_Static_assert((int)A_clamp_min_min == (int)A_clamp_max_max, "one bound");
	const struct meta *m = meta_of(c, A_elementwise_self);
	const struct scalar *s = scalar_of(c, A_clamp_min_min);
	struct result_type r = SHAPE_TYPE_NONE;
	enum dtype dt;
	sid end;
	bool given;
	shape_type_tensor(&r, m);
	shape_type_scalar(&r, s);
	if (!shape_type(&dt, c, &r))
		return false;
	if (dt == DT_B8)
		return err_set(c->err, "%s is not implemented for bool tensors", op_info[c->n->op].name);
	if (!bound(c, &end, &given, A_clamp_min_min, upper, dt))
		return false;
	const int64_t n = meta_numel(m);
	const sid *x = ref_cast(c, ref_ids(c, c->in[A_elementwise_self]), n, dt), *limit = given ? ref_ids_repeat(c, end, n) : x;
	const bool nan = s->kind == SC_FLOAT && isnan(s->f);
	return give_unary(c, dt, dt, tape_map3(c->t, SF_CLAMP, dt, x, upper && !nan ? x : limit, upper || nan ? limit : x, n));
}
REFERENCE(clamp_min, ANEW) { return clamp_one(c, false); }
REFERENCE(clamp_max, ANEW) { return clamp_one(c, true); }

static bool is_zero(const struct scalar *s) { return s->kind == SC_FLOAT ? s->f == 0 : s->i == 0; }

/* Bounds of the tensor's dtype: one that it does not hold is refused. */
REFERENCE(hardtanh, ANEW)
{
	const enum dtype dt = meta_of(c, A_hardtanh_self)->dtype;
	const struct scalar *low = scalar_of(c, A_hardtanh_min_val), *high = scalar_of(c, A_hardtanh_max_val);
	if (!dtype_is_float(dt))
		return ref_unsupported(c, "hardtanh of elements that are no floats");
	if (!shape_fits(c, low, dt, 1) || !shape_fits(c, high, dt, 1))
		return false;
	if ((is_zero(low) || is_zero(high)) && !ref_not_on_cuda(c)) /* which of two zeros it gives is another */
		return false;
	return map(c, SF_HARDTANH, COMMON_REAL);
}

REFERENCE(sgn, ANEW)
{
	if (c->grad)
		return ref_unsupported(c, "gradient of sgn: PyTorch gives a tensor without memory, which nothing reads");
	return unary(c, SF_SIGN, COMMON_KEEP);
}

/* Integers are refused, in other words where the first tensor alone is none. */
REFERENCE(addcdiv, SELF) { return map(c, SF_ADDCDIV, COMMON_ALIKE); }

REFERENCE(frac, SELF) { return map(c, SF_FRAC, COMMON_REAL); }

/* ---- derivatives that are operators: a gradient and what it is taken at, in the common dtype -------------------------------- */

_Static_assert((int)A_threshold_backward_self == (int)A_binary_other && (int)A_tanh_backward_output == (int)A_binary_other
		&& (int)A_threshold_backward_grad_output == (int)A_elementwise_self && (int)A_tanh_backward_grad_output == (int)A_elementwise_self,
	"the gradient comes first, then what it is taken at");

/* The gradient, 0 where self is not above the threshold; a NaN is not below it. */
REFERENCE(threshold_backward, ANEW)
{
	const struct scalar *s = scalar_of(c, A_threshold_backward_threshold);
	struct pair p;
	if (!pair_of(c, &p, COMMON_KEEP, false))
		return false;
	if (p.dt == DT_B8)
		return err_set(c->err, "threshold_backward is not implemented for bool tensors");
	enum dtype in = dtype_compute(p.dt);
	if (!shape_fits(c, s, in, 1))
		return false;
	const sid *at = ref_cast(c, p.b, p.n, in), *limit = ref_ids_repeat(c, shape_const(c, in, s), p.n);
	const sid *below = ref_ids_block(c, tape_map2(c->t, SF_LE, DT_B8, at, limit, p.n), p.n);
	const sid *zero = ref_ids_repeat(c, shape_zero(c, p.dt), p.n);
	/* The iterator is given self first (Activation.cpp). */
	struct meta op[2] = {
		operand(c, meta_of(c, A_threshold_backward_self), p.dt), operand(c, meta_of(c, A_threshold_backward_grad_output), p.dt)};
	shape_iterator(p.stride, p.size, p.rank, op, 2);
	return give_pair(c, &p, tape_map3(c->t, SF_SELECT, p.dt, below, zero, p.a, p.n));
}

/* self, or the value where self is not above the threshold; a NaN is not below it. */
REFERENCE(threshold, ANEW)
{
	const struct meta *m = meta_of(c, A_threshold_self);
	const int64_t n = meta_numel(m);
	const enum dtype dt = m->dtype, in = dtype_compute(dt);
	const struct scalar *s = scalar_of(c, A_threshold_threshold), *v = scalar_of(c, A_threshold_value);
	if (dt == DT_B8)
		return err_set(c->err, "threshold is not implemented for bool tensors");
	if (!shape_fits(c, s, in, 1) || !shape_fits(c, v, dt, 1))
		return false;
	const sid *x = ref_ids(c, c->in[A_threshold_self]), *limit = ref_ids_repeat(c, shape_const(c, in, s), n);
	const sid *below = ref_ids_block(c, tape_map2(c->t, SF_LE, DT_B8, ref_cast(c, x, n, in), limit, n), n);
	const sid *value = ref_cast(c, ref_ids_repeat(c, shape_const(c, in, v), n), n, dt);
	return give_unary(c, dt, dt, tape_map3(c->t, SF_SELECT, dt, below, value, x, n));
}

/* The gradient by output has steps in the dtypes of its operands as they came. */
REFERENCE(tanh_backward, ANEW)
{
	enum dtype grad = meta_of(c, A_tanh_backward_grad_output)->dtype, output = meta_of(c, A_tanh_backward_output)->dtype;
	if (!dtype_is_float(grad) && !dtype_is_float(output))
		return err_set(c->err, "tanh_backward is not implemented for integers");
	if (c->grad && grad != output)
		return ref_unsupported(c, "gradient of tanh_backward of two dtypes: its steps are not modelled; convert one of them first");
	return binary(c, SF_TANH_BACKWARD, COMMON_KEEP);
}
