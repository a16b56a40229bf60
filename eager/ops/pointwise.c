/* pointwise.c: every POINTWISE row of ops.def: shape rules and kernels from the row's expression, and the derivatives that have more cases
 * than an expression (the others: eager/lang/opgen_expr.c).
 *
 * Compute types: double for f64, float for f32, f16 and bf16 (operands widened, the result rounded once), int64_t for integers and
 * bool (wrapped when stored). Operands and scalars are first taken into the common dtype, except that in products and quotients a
 * Python scalar or a second operand of one element acts in the compute type (measured on PyTorch's CPU, bit for bit). */
#include "eager/ops/pointwise.h"

#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "eager/ops/row_rules.h"
#include "generated/op_id.h"

#include <math.h>

enum { CHUNK = 256, MAX_IN = MAX_ELEMENTWISE, MAX_WALK = MAX_IN + 1 };

/* ---- the operands of one call ---- */

struct pointwise_operands {
	const struct tensor *in[MAX_IN];
	struct pointwise_types types;
};

enum promo {
	PROMO_KEEP,
	PROMO_PROMOTE,
	PROMO_FLOAT,
	PROMO_BOOL,
	PROMO_SUBTRACT,
	PROMO_NEGATE,
	PROMO_BOUNDS,
	PROMO_GRADIENT,
	PROMO_REAL,
	PROMO_SLOPE,
	PROMO_DIVIDE
}; /* ops.def */

/* Promotion over the operands that the row's category rule counts: `alpha`, `lambd` and factors never do. */
static void promote_scalars(struct promotion *p, const struct node *n)
{
	const struct op_info *info = &op_info[n->op];
	for (int k = 0; k < info->nparam; k++)
		if (info->param[k].kind == K_SCALAR && n->arg[k].tag == ARG_SCALAR && k != op_arg(n->op, N_alpha) && k != op_arg(n->op, N_lambd)
			&& info->param[k].role != R_FACTOR)
			promote_scalar(p, &n->arg[k].scalar);
}

static bool common_dtype(enum dtype *out, const struct node *n, const struct meta *const *in, int nin, enum promo promo, struct err *err)
{
	struct promotion p = PROMOTION_START;
	*out = in[A_elementwise_self]->dtype;
	if (promo == PROMO_KEEP || promo == PROMO_NEGATE || promo == PROMO_REAL)
		return true;
	for (int k = 0; k < nin; k++)
		promote_tensor(&p, in[k]);
	promote_scalars(&p, n);
	if (!promote_result(out, &p, err))
		return false;
	const int mode = promo == PROMO_DIVIDE ? op_arg(n->op, N_rounding_mode) : -1;
	if ((promo == PROMO_FLOAT || (mode >= 0 && n->arg[mode].tag == ARG_NONE)) && !dtype_is_float(*out))
		*out = DT_F32;
	return true;
}

static bool acts_wide(const struct op_info *info) { return info->licence == LC_MUL || info->licence == LC_DIV; }
static bool is_one_wide(const struct op_info *info, const struct meta *m, enum dtype common)
{
	return acts_wide(info) && meta_numel(m) == 1 && dtype_is_float(common);
}

/* How QUOTIENT divides: 0: `/`, 1: towards -infinity, 2: towards 0; + 2: what it divides by acts in the compute type, and
 * so do its steps. */
static const struct scalar *division(const struct node *n, bool wide)
{
	static const struct scalar how[] = {{SC_INT, 0, 0}, {SC_INT, 1, 0}, {SC_INT, 2, 0}, {SC_INT, 3, 0}, {SC_INT, 4, 0}};
	const int mode = op_arg(n->op, N_rounding_mode);
	if (mode >= 0 && n->arg[mode].tag == ARG_NONE)
		return &how[0];
	return &how[(mode < 0 || str_eq(n->arg[mode].str, "floor") ? 1 : 2) + (wide ? 2 : 0)];
}

static void types_of(struct pointwise_types *t, const struct node *n, const struct meta *const *in, enum promo promo)
{
	const struct op_info *info = &op_info[n->op];
	int nscalar = 0;
	*t = (struct pointwise_types){.narrow_scalars = !acts_wide(info)};
	for (int k = 0; k < info->nparam; k++) {
		if (info->param[k].kind == K_TENSOR) {
			t->nin++;
		} else if (info->param[k].kind == K_SCALAR) {
			t->narrow_scalars = t->narrow_scalars && info->param[k].role != R_FACTOR;
			t->scalar[nscalar++] = n->arg[k].tag == ARG_SCALAR ? &n->arg[k].scalar : NULL;
		} else if (info->param[k].kind == K_STR && promo != PROMO_DIVIDE) {
			static const struct scalar is_default = {SC_INT, 0, 0}, is_other = {SC_INT, 1, 0};
			t->scalar[nscalar++] = str_eq(n->arg[k].str, info->param[k].dflt_str) ? &is_default : &is_other;
		} else if (info->param[k].kind == K_BOOL) {
			static const struct scalar no = {SC_INT, 0, 0}, yes = {SC_INT, 1, 0};
			t->scalar[nscalar++] = n->arg[k].b ? &yes : &no;
		}
	}
	struct err none = {0};
	CHECK(common_dtype(&t->common, n, in, t->nin, promo, &none));
	if (promo == PROMO_DIVIDE)
		t->scalar[nscalar++] = division(n, t->nin == 1 || is_one_wide(info, in[1], t->common));
	if (promo == PROMO_SUBTRACT
		&& dtype_is_float(t->common)) { /* alpha comes last; -alpha is added, and the least integer is its own opposite */
		static const struct scalar less_least = {SC_FLOAT, 0, 0x1p63};
		const struct scalar *alpha = t->scalar[nscalar - 1];
		if (alpha && alpha->kind == SC_INT && alpha->i == INT64_MIN)
			t->scalar[nscalar - 1] = &less_least;
	}
	t->narrow_scalars |=
		(promo == PROMO_GRADIENT || promo == PROMO_DIVIDE) && !dtype_is_float(t->common); /* a threshold below 0 wraps in u8 */
	for (int k = 0; k < t->nin; k++) {
		bool wide = k == 1 && is_one_wide(info, in[k], t->common);
		t->narrow[k] = in[k]->dtype != t->common && !wide;
	}
}

static void operands_gather(struct pointwise_operands *c, const struct node *n, const struct tensor *const *in, enum promo promo)
{
	const struct meta *metas[MAX_IN] = {0};
	for (int k = 0, q = 0; k < op_info[n->op].nparam; k++)
		if (op_info[n->op].param[k].kind == K_TENSOR) {
			c->in[q] = in[k];
			metas[q++] = &in[k]->meta;
		}
	types_of(&c->types, n, metas, promo);
}

/* ---- one walk over the elements of all operands ---- */

/* Index space of the result, row-major, with neighbouring dimensions joined where every operand allows it. Always rank >= 1. */
struct pointwise_walk {
	int rank, nop;
	int64_t size[MAX_RANK], index[MAX_RANK];
	int64_t stride[MAX_WALK][MAX_RANK], cell[MAX_WALK]; /* cell: first one of the current innermost row */
};

static void pointwise_walk_start(struct pointwise_walk *w, const struct meta *space)
{
	*w = (struct pointwise_walk){.rank = space->rank};
	memcpy(w->size, space->size, sizeof w->size);
	if (w->rank == 0) {
		w->rank = 1;
		w->size[0] = 1;
	}
}

/* An operand that broadcasts to the space. */
static void pointwise_walk_operand(struct pointwise_walk *w, const struct meta *m)
{
	int q = w->nop++, shift = w->rank - m->rank;
	w->cell[q] = m->offset;
	for (int d = 0; d < m->rank; d++)
		w->stride[q][d + shift] = m->size[d] == w->size[d + shift] ? m->stride[d] : 0;
}

static bool joins(const struct pointwise_walk *w, int d)
{
	for (int q = 0; q < w->nop; q++)
		if (w->stride[q][d] != w->stride[q][d + 1] * w->size[d + 1])
			return false;
	return true;
}

static void pointwise_walk_join(struct pointwise_walk *w)
{
	for (int d = w->rank - 2; d >= 0; d--) {
		if (w->size[d] != 1 && w->size[d + 1] != 1 && !joins(w, d))
			continue;
		bool keep_outer = w->size[d + 1] == 1; /* the dim of size 1 goes; its strides mean nothing */
		w->size[d] *= w->size[d + 1];
		for (int q = 0; q < w->nop; q++)
			w->stride[q][d] = keep_outer ? w->stride[q][d] : w->stride[q][d + 1];
		for (int e = d + 1; e + 1 < w->rank; e++) {
			w->size[e] = w->size[e + 1];
			for (int q = 0; q < w->nop; q++)
				w->stride[q][e] = w->stride[q][e + 1];
		}
		w->rank--;
	}
}

/* To the next innermost row. */
static bool pointwise_walk_next(struct pointwise_walk *w)
{
	for (int d = w->rank - 2; d >= 0; d--) {
		for (int q = 0; q < w->nop; q++)
			w->cell[q] += w->stride[q][d];
		if (++w->index[d] < w->size[d])
			return true;
		for (int q = 0; q < w->nop; q++)
			w->cell[q] -= w->stride[q][d] * w->size[d];
		w->index[d] = 0;
	}
	return false;
}

/* ---- elements ---- */

#include "eager/ops/scalar_functions.h"

#define T        float
#define FN(x)    x##_f32
#define INST_INT 0
#include "eager/ops/pointwise_inst.h"
#define T        double
#define FN(x)    x##_f64
#define INST_INT 0
#include "eager/ops/pointwise_inst.h"
#define T        int64_t
#define FN(x)    x##_i64
#define INST_INT 1
#include "eager/ops/pointwise_inst.h"

/* ---- a row's kernel ---- */

struct pointwise_row {
	enum promo promo;
	void (*fwd_f32)(float *, float (*)[CHUNK], const struct consts_f32 *, int);
	void (*fwd_f64)(double *, double (*)[CHUNK], const struct consts_f64 *, int);
	void (*fwd_i64)(int64_t *, int64_t (*)[CHUNK], const struct consts_i64 *, int);
};

/* Is one of its elements, in the common dtype, 0? */
static bool holds_zero(const struct tensor *t, enum dtype common)
{
	struct pointwise_walk w;
	pointwise_walk_start(&w, &t->meta);
	pointwise_walk_operand(&w, &t->meta);
	do {
		for (int64_t i = 0, last = w.rank - 1; i < w.size[last]; i++)
			if (dtype_wrap(common, dtype_load_i(t->meta.dtype, tensor_at(t, w.cell[0] + i * w.stride[0][last]))) == 0)
				return true;
	} while (pointwise_walk_next(&w));
	return false;
}

static bool divides_by_zero(const struct kern_ctx *k, enum dtype common)
{
	for (int q = 0; q < op_info[k->n->op].nparam && node_divides_integers(k->n); q++)
		if (role_has(op_info[k->n->op].param[q].role, RF_DIVIDES) && holds_zero(k->in[q], common))
			return true;
	return false;
}

static bool row_forward(struct kern_ctx *k, const struct pointwise_row *r)
{
	struct pointwise_operands c;
	struct pointwise_walk w;
	if (meta_numel(&k->out->meta) == 0)
		return true;
	operands_gather(&c, k->n, k->in, r->promo);
	if (divides_by_zero(k, c.types.common))
		return err_set(k->err, "ZeroDivisionError");
	pointwise_walk_start(&w, &k->out->meta);
	for (int q = 0; q < c.types.nin; q++)
		pointwise_walk_operand(&w, &c.in[q]->meta);
	pointwise_walk_operand(&w, &k->out->meta);
	pointwise_walk_join(&w);
	if (c.types.common == DT_F64)
		forward_f64(&c, &w, k->out, r->fwd_f64);
	else if (dtype_is_float(c.types.common))
		forward_f32(&c, &w, k->out, r->fwd_f32);
	else
		forward_i64(&c, &w, k->out, r->fwd_i64);
	return true;
}

#define POINTWISE(id, name, schema, dts, traits, saves, lic, promo, fwd, d0, d1, d2)                                                       \
	static const struct pointwise_row row_##id = {PROMO_##promo, fwd_##id##_f32, fwd_##id##_f64, fwd_##id##_i64};                          \
	bool kern_##id(struct kern_ctx *c) { return row_forward(c, &row_##id); }
#define OP(...)
#define INPLACE(...)
#include "eager/lang/ops.def"

/* ---- element by element (pointwise.h) ---- */

static const struct pointwise_row *const rows[NOPS] = {
#define POINTWISE(id, ...) [OP_##id] = &row_##id,
#define OP(...)
#define INPLACE(...)
#include "eager/lang/ops.def"
};

void pointwise_types(struct pointwise_types *out, int row, const struct node *n, const struct meta *const *in)
{
	types_of(out, n, in, rows[row]->promo);
}

union computed pointwise_scalar(const struct pointwise_types *t, int k)
{
	const struct pointwise_operands c = {.types = *t};
	union computed e = {0};
	if (t->common == DT_F64)
		e.f64 = constant_f64(&c, k);
	else if (dtype_is_float(t->common))
		e.f32 = constant_f32(&c, k);
	else
		e.i64 = constant_i64(&c, k);
	return e;
}

#define ELEMENT(of, type)                                                                                                                  \
	static union computed element_##of(                                                                                                    \
		const struct pointwise_row *r, enum dtype common, const union computed *in, const union computed *const *number)                   \
	{                                                                                                                                      \
		type v[MAX_IN][CHUNK];                                                                                                             \
		type c[ROW_NUMBERS] = {0};                                                                                                         \
		for (int q = 0; q < ROW_NUMBERS; q++)                                                                                              \
			c[q] = number[q] ? number[q]->of : 0;                                                                                          \
		const struct consts_##of k = {c[0], c[1], c[2], c[3], number[0] != NULL, number[1] != NULL, common};                               \
		union computed y = {0};                                                                                                            \
		for (int q = 0; q < MAX_IN; q++)                                                                                                   \
			v[q][0] = in[q].of;                                                                                                            \
		r->fwd_##of(&y.of, v, &k, 1);                                                                                                      \
		return y;                                                                                                                          \
	}
ELEMENT(f32, float)
ELEMENT(f64, double)
ELEMENT(i64, int64_t)

union computed pointwise_element(
	int row, enum dtype common, const union computed in[MAX_ELEMENTWISE], const union computed *const number[ROW_NUMBERS])
{
	if (common == DT_F64)
		return element_f64(rows[row], common, in, number);
	return (dtype_is_float(common) ? element_f32 : element_i64)(rows[row], common, in, number);
}

/* ---- derivatives with cases ---- */

/* g * (exponent * self ** (exponent - 1)), the exponent as a double whatever it was written as. */
void vjp_pow_Scalar(struct vjp *v)
{
	const struct scalar *given = &v->n->arg[A_pow_Scalar_exponent].scalar;
	const double exponent = given->kind == SC_FLOAT ? given->f : (double)given->i;
	if (!v->want[A_pow_Scalar_self] || exponent == 0)
		return;
	int power = emit_pow_Scalar(v->b, v->in[A_pow_Scalar_self], scalar_float(exponent - 1));
	int slope = emit_mul_Scalar(v->b, power, scalar_float(exponent));
	v->grad[A_pow_Scalar_self] = emit_mul_Tensor(v->b, v->g[0], slope);
}

/* A whole quotient has no slope. */
static void vjp_division(struct vjp *v, int self, int other, int mode)
{
	struct build *b = v->b;
	if (node_given(v->n, mode))
		return;
	const bool number = v->n->arg[other].tag == ARG_SCALAR;
	if (v->want[self])
		v->grad[self] = number ? emit_div_Scalar(b, v->g[0], v->n->arg[other].scalar) : emit_div_Tensor(b, v->g[0], v->in[other]);
	if (number || !v->want[other])
		return;
	const int twice = emit_div_Tensor(b, emit_div_Tensor(b, v->in[self], v->in[other]), v->in[other]);
	v->grad[other] = emit_mul_Tensor(b, emit_neg(b, v->g[0]), twice);
}
void vjp_div_Tensor_mode(struct vjp *v)
{
	vjp_division(v, A_div_Tensor_mode_self, A_div_Tensor_mode_other, A_div_Tensor_mode_rounding_mode);
}
void vjp_div_Scalar_mode(struct vjp *v)
{
	vjp_division(v, A_div_Scalar_mode_self, A_div_Scalar_mode_other, A_div_Scalar_mode_rounding_mode);
}

/* g * (y * log(self)), the logarithm being a number; 0 where 0 is raised to what is not below 0. */
void vjp_pow_of_Scalar(struct vjp *v)
{
	struct build *b = v->b;
	const struct scalar *s = &v->n->arg[A_pow_of_Scalar_self].scalar;
	const double base = s->kind == SC_FLOAT ? s->f : (double)s->i;
	if (!v->want[A_pow_of_Scalar_exponent])
		return;
	int slope = emit_mul_Scalar(b, v->out[0], scalar_float(log(base)));
	if (base == 0)
		slope = emit_masked_fill(b, slope, emit_ge_Scalar(b, v->in[A_pow_of_Scalar_exponent], scalar_int(0)), scalar_int(0));
	v->grad[A_pow_of_Scalar_exponent] = emit_mul_Tensor(b, v->g[0], slope);
}

/* The slope of gelu's slope (FunctionsManual.cpp: gelu_double_backward). */
int vjp_gelu_curvature(struct build *b, int x, const char *approximate)
{
	if (str_eq(approximate, "none")) {
		const int square = emit_mul_Tensor(b, x, x);
		const int density =
			emit_mul_Scalar(b, emit_exp(b, emit_mul_Scalar(b, square, scalar_float(-0.5))), scalar_float(0.3989422804014327));
		return emit_sub_Tensor(b, emit_mul_Scalar(b, density, scalar_int(2)), emit_mul_Tensor(b, square, density), scalar_int(1));
	}
	const struct scalar beta = scalar_float(0.7978845608028654), one = scalar_int(1), half = scalar_float(0.5);
	const int cube = emit_mul_Scalar(b, emit_pow_Scalar(b, x, scalar_int(3)), scalar_float(0.044715));
	const int inner = emit_mul_Scalar(b, emit_add_Tensor(b, x, cube, one), beta), t = emit_tanh(b, inner);
	const int sech = emit_reciprocal(b, emit_cosh(b, inner)), f = emit_mul_Scalar(b, x, half);
	const int u = emit_rsub_Scalar(b, emit_mul_Tensor(b, t, t), one, one);
	const int square = emit_mul_Tensor(b, emit_mul_Scalar(b, x, scalar_float(0.134145)), x);
	const int h = emit_mul_Scalar(b, emit_add_Scalar(b, square, one, one), beta);
	const int bend =
		emit_mul_Tensor(b, emit_mul_Tensor(b, emit_mul_Scalar(b, sech, scalar_int(2)), emit_mul_Tensor(b, emit_neg(b, sech), t)), h);
	const int h_slope = emit_mul_Scalar(b, emit_mul_Scalar(b, x, scalar_float(0.26829)), beta);
	const int twice = emit_mul_Scalar(b, emit_mul_Tensor(b, emit_mul_Scalar(b, u, half), h), scalar_int(2));
	const int sum = emit_add_Tensor(b, twice, emit_mul_Tensor(b, emit_mul_Tensor(b, f, h), bend), one);
	return emit_add_Tensor(b, sum, emit_mul_Tensor(b, emit_mul_Tensor(b, f, u), h_slope), one);
}

/* g where self is within the bounds that there are. */
void vjp_clamp(struct vjp *v)
{
	const int self = v->in[A_clamp_self];
	if (!v->want[A_clamp_self])
		return;
	int zero = emit_scalar_tensor(v->b, scalar_float(0), (int)build_meta(v->b, v->g[0])->dtype), inside = NO_VALUE;
	if (node_given(v->n, A_clamp_min))
		inside = emit_ge_Scalar(v->b, self, v->n->arg[A_clamp_min].scalar);
	if (node_given(v->n, A_clamp_max)) {
		int below = emit_le_Scalar(v->b, self, v->n->arg[A_clamp_max].scalar);
		inside = inside == NO_VALUE ? below : emit_logical_and(v->b, inside, below);
	}
	v->grad[A_clamp_self] = emit_where_self(v->b, inside, v->g[0], zero);
}

/* ---- shape rules ---- */

/* Scalars that PyTorch converts by Scalar::to (alpha, bounds) must fit; `other` becomes a tensor and wraps or overflows. */
static bool check_scalars_fit(const struct meta_ctx *c, enum dtype common, enum promo promo)
{
	const struct op_info *info = &op_info[c->n->op];
	const int op = op_computing(c->n->op);
	int power = op_arg(op, N_exponent);
	if (power >= 0 && c->n->arg[power].tag != ARG_SCALAR)
		power = -1;
	if (power >= 0 && !dtype_is_float(common) && c->n->arg[power].scalar.i < 0) /* common is no float, nor is the exponent */
		return err_set(c->err, "Integers to negative integer powers are not allowed.");
	enum dtype compute = dtype_compute(common);
	const bool listed = info->dtypes & DTS(common);
	for (int k = 0; k < info->nparam; k++) {
		const struct param *q = &info->param[k];
		/* What a bound does that an integer dtype does not hold depends on the version (legality_version). */
		bool bound = listed && dtype_is_float(common) && q->kind == K_SCALAR
			&& (k == op_arg(c->n->op, N_min) || k == op_arg(c->n->op, N_max) || (op == OP_hardtanh && k > A_hardtanh_self)
				|| k == op_arg(c->n->op, N_lambd) || (op == OP_threshold && k == A_threshold_value));
		if (bound && node_given(c->n, k) && !scalar_fits(&c->n->arg[k].scalar, common, c->err))
			return false;
		if (k == op_arg(c->n->op, N_alpha) && q->role != R_FACTOR) {
			struct scalar alpha = c->n->arg[k].scalar;
			if (promo == PROMO_SUBTRACT && alpha.kind == SC_INT) /* what is converted is -alpha */
				alpha.i = (int64_t)(0 - (uint64_t)alpha.i);
			if (!scalar_fits(&alpha, common, c->err))
				return false;
		}
		/* f32 kernels have the exponent in f64; the others look at it even if there are no elements. */
		bool exponent = k == power && common != DT_F32;
		if (exponent && !scalar_fits(&c->n->arg[k].scalar, common, c->err))
			return false;
		bool factor = q->role == R_FACTOR && listed;
		if (factor && !scalar_fits(&c->n->arg[k].scalar, compute, c->err))
			return false;
	}
	return true;
}

static bool check_alpha(const struct meta_ctx *c, enum dtype common)
{
	int k = op_arg(c->n->op, N_alpha);
	if (k < 0 || op_info[c->n->op].param[k].role == R_FACTOR)
		return true;
	const struct scalar *alpha = &c->n->arg[k].scalar;
	if (alpha->kind == SC_BOOL && common != DT_B8)
		return err_set(c->err, "Boolean alpha only supported for Boolean results.");
	if (alpha->kind == SC_FLOAT && !dtype_is_float(common))
		return err_set(c->err, "For integral input tensors, argument alpha must not be a floating point number.");
	return true;
}

static bool is_bool_operand(const struct meta_ctx *c, int k)
{
	return c->in[k] ? c->in[k]->dtype == DT_B8 : c->n->arg[k].tag == ARG_SCALAR && c->n->arg[k].scalar.kind == SC_BOOL;
}

static bool check_subtract(const struct meta_ctx *c)
{
	bool self = is_bool_operand(c, A_pointwise_SUBTRACT_self), other = is_bool_operand(c, A_pointwise_SUBTRACT_other);
	if (self && other)
		return err_set(c->err,
			"Subtraction, the `-` operator, with two bool tensors is not supported. "
			"Use the `^` or `logical_xor()` operator instead.");
	if (self || other)
		return err_set(c->err,
			"Subtraction, the `-` operator, with a bool tensor is not supported. "
			"If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
	return true;
}

/* Rows that PyTorch has for tensors of one dtype. */
static bool check_alike(const struct meta_ctx *c)
{
	if (!c->in[A_elementwise_self]) /* a number */
		return true;
	const enum dtype self = c->in[A_elementwise_self]->dtype;
	const int op = op_computing(c->n->op);
	if (op == OP_lerp_Scalar && c->in[A_lerp_Scalar_end]->dtype != self)
		return err_set(c->err, "expected dtype %s for `end` but got dtype %s", dtype_info[self].full_cpp,
			dtype_info[c->in[A_lerp_Scalar_end]->dtype].full_cpp);
	if (op == OP_lerp_Tensor) {
		const char *const names[] = {"self", "end", "weight"};
		_Static_assert((int)A_lerp_Tensor_end == 1 && (int)A_lerp_Tensor_weight == 2, "names of operands");
		for (int k = 1; k <= 2; k++)
			if (c->in[k]->dtype != self)
				return c->in[k]->rank == 0 ? err_limit(c->err, "lerp of a `%s` without dimensions and of another dtype", names[k])
										   : err_set(c->err, "expected dtype %s for `%s` but got dtype %s", dtype_info[self].full_cpp,
											   names[k], dtype_info[c->in[k]->dtype].full_cpp);
	}
	if (op == OP_heaviside && c->in[A_heaviside_values]->dtype != self)
		return err_set(c->err, "heaviside is not yet implemented for tensors with different dtypes.");
	if (op != OP_addcdiv)
		return true;
	const enum dtype over = c->in[A_addcdiv_tensor1]->dtype, under = c->in[A_addcdiv_tensor2]->dtype;
	if (!dtype_is_float(over) && !dtype_is_float(under))
		return err_set(c->err,
			"Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
			"perform a true division of tensor1 and tensor2.");
	return (over == self && under == self) || err_limit(c->err, "addcdiv of several dtypes");
}

static bool is_negative(const struct scalar *s) { return s->kind == SC_FLOAT ? s->f < 0 : s->i < 0; }

/* A number that a half does not hold is another one in PyTorch 2.11, whose kernel takes it in f32, than in 2.15. */
static bool check_shrink(const struct meta_ctx *c, enum dtype common)
{
	const struct scalar *s = &c->n->arg[A_softshrink_lambd].scalar;
	const double v = s->kind == SC_FLOAT ? s->f : (double)s->i, most = dtype_max(common);
	if (!(v >= 0 && v <= most))
		return err_set(c->err, "lambda must be in range [0, %g] for input dtype %s, but found %g", most, dtype_info[common].c10, v);
	return !dtype_is_narrow(common) || dtype_round(common, v) == v
		|| err_limit(c->err, "softshrink by a number that %s does not hold", dtype_info[common].name);
}

/* PyTorch raises where one of the integers that others are divided by is 0, and its trunc by -1 traps at the least integer. */
static bool check_division(const struct meta_ctx *c, enum dtype common, enum promo promo)
{
	const int op = op_computing(c->n->op), other = op_arg(c->n->op, N_other), mode = op_arg(c->n->op, N_rounding_mode);
	const bool left = op == OP_remainder_Tensor || op == OP_remainder_Scalar || op == OP_remainder_Scalar_Tensor || op == OP_fmod_Tensor
		|| op == OP_fmod_Scalar;
	if ((promo != PROMO_DIVIDE && !left) || dtype_is_float(common) || common == DT_B8)
		return true;
	if (c->n->arg[other].tag != ARG_SCALAR)
		return true; /* the kernel sees them */
	const int64_t by = dtype_wrap(common, c->n->arg[other].scalar.i);
	if (by == 0)
		return meta_numel(c->in[0]) == 0 || err_set(c->err, "ZeroDivisionError");
	return by != -1 || mode < 0 || str_eq(c->n->arg[mode].str, "floor") || dtype_nbytes(common) < 4
		|| err_limit(c->err, "%s of integers by -1, towards 0: PyTorch's kernel traps at the least of them", op_info[c->n->op].name);
}

static bool check_rounding_mode(const struct meta_ctx *c)
{
	const int mode = op_arg(c->n->op, N_rounding_mode);
	if (mode < 0 || c->n->arg[mode].tag == ARG_NONE || str_eq(c->n->arg[mode].str, "floor") || str_eq(c->n->arg[mode].str, "trunc"))
		return true;
	return err_set(c->err, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", c->n->arg[mode].str);
}

static bool check_row(const struct meta_ctx *c, enum dtype common, enum promo promo)
{
	const int approximate = op_arg(c->n->op, N_approximate);
	if (!check_alike(c) || !check_rounding_mode(c) || !check_division(c, common, promo))
		return false;
	if ((c->n->op == OP_gelu_backward || c->n->op == OP_mish_backward) && c->in[0]->dtype != c->in[1]->dtype)
		return err_limit(c->err, "%s of two dtypes: PyTorch refuses some, by the library that it calls", op_info[c->n->op].name);
	if (c->n->op == OP_leaky_relu_backward && c->n->arg[A_leaky_relu_backward_self_is_result].b
		&& is_negative(&c->n->arg[A_leaky_relu_backward_negative_slope].scalar))
		return err_set(c->err, "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported.");
	if (c->n->op == OP_elu_backward && c->n->arg[A_elu_backward_is_result].b && is_negative(&c->n->arg[A_elu_backward_alpha].scalar))
		return err_set(c->err, "In-place elu backward calculation is triggered with a negative slope which is not supported.");
	if (approximate >= 0 && !str_eq(c->n->arg[approximate].str, "none") && !str_eq(c->n->arg[approximate].str, "tanh"))
		return err_set(c->err, "approximate argument must be either none or tanh.");
	if (c->n->op == OP_pow_of_Scalar && c->n->arg[A_pow_of_Scalar_self].scalar.kind == SC_BOOL && common != DT_B8)
		return err_limit(c->err, "powers of a bool, which the derivative of PyTorch 2.15 does not take for 0: write a number");
	if (c->n->op == OP_softshrink && dtype_is_float(common) && !check_shrink(c, common))
		return false;
	if (promo == PROMO_SUBTRACT && !check_subtract(c))
		return false;
	if (promo == PROMO_NEGATE && common == DT_B8)
		return err_set(c->err,
			"Negation, the `-` operator, on a bool tensor is not supported. "
			"If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
	if (promo == PROMO_BOUNDS && !node_given(c->n, A_pointwise_BOUNDS_min) && !node_given(c->n, A_pointwise_BOUNDS_max))
		return err_set(c->err, "torch.clamp: At least one of 'min' or 'max' must not be None");
	return check_alpha(c, common) && check_scalars_fit(c, common, promo);
}

/* With one bound clamp has kernels of other names. */
static bool refuse_dtype(const struct meta_ctx *c, enum dtype common, enum promo promo)
{
	if (promo == PROMO_BOUNDS && !(node_given(c->n, A_pointwise_BOUNDS_min) && node_given(c->n, A_pointwise_BOUNDS_max)))
		return err_set(c->err, "\"clamp_%s_scalar_cpu\" not implemented for '%s'", node_given(c->n, A_pointwise_BOUNDS_min) ? "min" : "max",
			dtype_info[common].c10);
	const int mode = op_arg(c->n->op, N_rounding_mode);
	if (mode >= 0)
		return err_set(c->err, "\"div_%s_cpu\" not implemented for '%s'", c->n->arg[mode].str, dtype_info[common].c10);
	return dtype_refuse(c->n->op, common, c->err);
}

static bool meta_pointwise(struct meta_ctx *c, enum promo promo)
{
	const struct op_info *info = &op_info[c->n->op];
	static const struct meta scalar_operand = {.dtype = DT_F32}; /* a Python scalar `other` takes part as a 0-d tensor */
	const struct meta *in[MAX_IN + 1];
	int nin = 0, nscalar = 0;
	for (int k = 0; k < info->nparam; k++) {
		if (info->param[k].kind == K_TENSOR)
			in[nin++] = c->in[k];
		else if (k == op_arg(c->n->op, N_other) || (k == A_elementwise_self && info->param[k].kind == K_SCALAR))
			nscalar++;
	}
	in[nin] = &scalar_operand;
	enum dtype common;
	if (!common_dtype(&common, c->n, in, nin, promo, c->err) || !check_row(c, common, promo) || !promote_sizes(&c->out[0], in, nin, c->err))
		return false;
	const bool whole = promo == PROMO_DIVIDE && common == DT_B8; /* a quotient that is not is a float */
	if (!(info->dtypes & DTS(common)) || whole)
		return refuse_dtype(c, common, promo);
	c->out[0].dtype = promo == PROMO_BOOL ? DT_B8 : common;
	struct meta converted[MAX_IN]; /* PyTorch's CPU converts such operands into fresh tensors before it looks at strides */
	for (int k = 0; k < nin; k++) {
		if (in[k]->dtype == common)
			continue;
		layout_preserve(&converted[k], in[k]);
		in[k] = &converted[k];
	}
	/* whose iterator takes the second operand first */
	if (c->n->op == OP_threshold_backward || c->n->op == OP_leaky_relu_backward || c->n->op == OP_rsub_Tensor) {
		const struct meta *gradient = in[0];
		in[0] = in[1];
		in[1] = gradient;
	}
	layout_iterator(&c->out[0], in, nin + nscalar);
	if (c->n->op == OP_pow_of_Scalar)
		meta_make_contiguous(&c->out[0], c->out[0].dtype, c->out[0].size, c->out[0].rank);
	return true;
}

bool meta_pointwise_KEEP(struct meta_ctx *c) { return meta_pointwise(c, PROMO_KEEP); }
bool meta_pointwise_PROMOTE(struct meta_ctx *c) { return meta_pointwise(c, PROMO_PROMOTE); }
bool meta_pointwise_FLOAT(struct meta_ctx *c) { return meta_pointwise(c, PROMO_FLOAT); }
bool meta_pointwise_BOOL(struct meta_ctx *c) { return meta_pointwise(c, PROMO_BOOL); }
bool meta_pointwise_SUBTRACT(struct meta_ctx *c) { return meta_pointwise(c, PROMO_SUBTRACT); }
bool meta_pointwise_NEGATE(struct meta_ctx *c) { return meta_pointwise(c, PROMO_NEGATE); }
bool meta_pointwise_BOUNDS(struct meta_ctx *c) { return meta_pointwise(c, PROMO_BOUNDS); }
bool meta_pointwise_DIVIDE(struct meta_ctx *c) { return meta_pointwise(c, PROMO_DIVIDE); }
bool meta_pointwise_REAL(struct meta_ctx *c) { return meta_pointwise(c, PROMO_REAL); }
bool meta_pointwise_SLOPE(struct meta_ctx *c) { return meta_pointwise(c, PROMO_SLOPE); }
bool meta_pointwise_GRADIENT(struct meta_ctx *c) { return meta_pointwise(c, PROMO_GRADIENT); }
