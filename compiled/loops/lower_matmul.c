/* lower_matmul.c: matrix products: three loops and a sum in a register: f64 for f64; f32 for the other floats, the type that eager's BLAS
 * adds up in (its order is another one, which the licence table allows); 64 bits for integers, which wrap when they are stored. */
#include "compiled/loops/lower_nest.h"

#include "eager/ops/rules.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct product {
	int a, b, bias; /* bias: -1, or what is added */
	enum dtype t;   /* computed in */
	struct scalar alpha, beta;
};

static double value_of(const struct scalar *s) { return s->kind == SC_FLOAT ? s->f : (double)s->i; }

static int number(struct lowering *l, enum dtype t, const struct scalar *s)
{
	const double v = value_of(s);
	if (!dtype_is_float(t))
		return loops_int(l->out, s->kind == SC_FLOAT ? (int64_t)s->f : s->i); /* cut to a whole number */
	return t == DT_F64 ? nest_float(l, v) : loops_const(l->out, REG_F32, (union computed){.f32 = (float)v});
}

static int element(struct lowering *l, const struct product *p, int node, const struct affine *idx)
{
	return loops_as(l->out, reg_type_of(p->t), lower_element(l, node, idx, AS_VALUE));
}

/* The sum over k of a[batch, i, k] * b[batch, k, j], or less of it for operands of less rank. */
static int dot_product(
	struct lowering *l, const struct product *p, const struct affine *batch, const struct affine *i, const struct affine *j)
{
	const struct meta *a = node_meta(l->p, p->a), *b = node_meta(l->p, p->b);
	const int acc = loops_var(l->out, number(l, p->t, &(struct scalar){SC_INT, 0, 0})), depth = l->out->depth;
	struct affine left[3] = {*batch, *i}, right[3] = {*batch};
	if (value_of(&p->alpha) == 0)
		return acc;
	const struct affine k = nest_for(l, a->size[a->rank - 1]);
	left[2] = right[1] = k;
	right[2] = *j;
	const int x = element(l, p, p->a, left + 3 - a->rank), y = element(l, p, p->b, b->rank == 1 ? &k : right + 3 - b->rank);
	loops_set(l->out, acc, lower_add(l, p->t, acc, nest_row(l, OP_mul_Tensor, p->t, x, y)));
	nest_end(l, depth);
	return acc;
}

static int scaled(struct lowering *l, enum dtype t, int x, const struct scalar *by)
{
	return value_of(by) == 1 ? x : nest_row(l, OP_mul_Tensor, t, x, number(l, t, by));
}

static void product(struct lowering *l, int node, const struct product *p)
{
	const struct meta *a = node_meta(l->p, p->a), *b = node_meta(l->p, p->b), *out = &l->place[0].meta;
	const int outer = l->out->depth;
	struct affine idx[3], batch = affine_const(0), i = batch, j = batch;
	int rank = 0;
	lower_settle(l, node);
	if (a->rank == 3)
		idx[rank++] = batch = nest_for(l, a->size[0]);
	if (a->rank >= 2)
		idx[rank++] = i = nest_for(l, a->size[a->rank - 2]);
	if (b->rank >= 2)
		idx[rank++] = j = nest_for(l, b->size[b->rank - 1]);
	CHECK(rank == out->rank);
	int value = scaled(l, p->t, dot_product(l, p, &batch, &i, &j), &p->alpha);
	if (p->bias >= 0 && value_of(&p->beta) != 0) {
		const int bias = loops_as(l->out, reg_type_of(p->t), lower_broadcast(l, p->bias, idx, rank, AS_VALUE));
		value = lower_add(l, p->t, value, scaled(l, p->t, bias, &p->beta));
	}
	nest_put(l, 0, idx, value);
	nest_end(l, outer);
}

static struct product product_of(const struct lowering *l, int node, int a, int b)
{
	const enum dtype t = l->place[0].meta.dtype, in = !dtype_is_float(t) ? DT_I64 : t == DT_F64 ? DT_F64 : DT_F32;
	return (struct product){lower_operand(l, node, a), lower_operand(l, node, b), -1, in, {SC_INT, 1, 0}, {SC_INT, 1, 0}};
}

#define PRODUCT(kernel, a, b)                                                                                                              \
	static void nests_##kernel(struct lowering *l, int node)                                                                               \
	{                                                                                                                                      \
		if (l->o->blas) {                                                                                                                  \
			lower_extern(l, node);                                                                                                         \
			return;                                                                                                                        \
		}                                                                                                                                  \
		const struct product p = product_of(l, node, a, b);                                                                                \
		product(l, node, &p);                                                                                                              \
	}                                                                                                                                      \
	const struct lower_rule lower_##kernel = {.nests = nests_##kernel};
PRODUCT(mm, A_mm_self, A_mm_mat2)
PRODUCT(bmm, A_bmm_self, A_bmm_mat2)
PRODUCT(mv, A_mv_self, A_mv_vec)
PRODUCT(dot, A_dot_self, A_dot_tensor)

static void nests_addmm(struct lowering *l, int node)
{
	const struct node *n = &l->p->node[node];
	if (l->o->blas) {
		lower_extern(l, node);
		return;
	}
	struct product p = product_of(l, node, A_addmm_mat1, A_addmm_mat2);
	p.bias = lower_operand(l, node, A_addmm_self);
	p.alpha = n->arg[A_addmm_alpha].scalar;
	p.beta = n->arg[A_addmm_beta].scalar;
	product(l, node, &p);
}
const struct lower_rule lower_addmm = {.nests = nests_addmm};
