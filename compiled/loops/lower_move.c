/* lower_move.c: rows whose result holds at each index an element that an operand holds at another one, or a constant. What comes from
 * one of several places has a condition per place, folded where the index's range decides it. And arange, whose elements are made of the
 * index. */
#include "compiled/loops/lower.h"

#include "eager/ops/layout.h"
#include "eager/ops/range.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- one operand at another index ---- */

/* The row-major position of idx among m's elements, and back. */
static struct affine position_of(const struct meta *m, const struct affine *idx)
{
	struct meta dense;
	meta_make_contiguous(&dense, m->dtype, m->size, m->rank);
	return lower_cell(&dense, idx);
}
static void index_at(struct affine *out, struct lowering *l, const struct meta *m, const struct affine *position)
{
	struct meta dense;
	meta_make_contiguous(&dense, m->dtype, m->size, m->rank);
	lower_index_of_cell(out, l, &dense, position);
}

static int element_reshape(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const int self = lower_operand(l, node, A_reshape_self);
	const struct affine position = position_of(node_meta(l->p, node), idx);
	struct affine at[MAX_RANK];
	index_at(at, l, node_meta(l->p, self), &position);
	return lower_element(l, self, at, form);
}
const struct lower_rule lower_reshape = {.element = element_reshape, .moves = true};

static int element_flip(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct meta *m = &n->out[0].meta;
	struct affine at[MAX_RANK];
	memcpy(at, idx, sizeof *at * (size_t)m->rank);
	for (int i = 0; i < n->arg[A_flip_dims].n; i++) {
		int d;
		CHECK(dim_wrap(&d, n->arg[A_flip_dims].ints[i].value, m->rank, NULL));
		if (d == m->rank)
			continue; /* of a 0-d tensor */
		at[d] = affine_const(m->size[d] - 1);
		affine_add(&at[d], &idx[d], -1);
	}
	return lower_element(l, lower_operand(l, node, A_flip_self), at, form);
}
const struct lower_rule lower_flip = {.element = element_flip, .moves = true};

/* (at + size - shift) modulo size: what shift moves to `at`. */
static struct affine rolled(struct lowering *l, const struct affine *at, int64_t shift, int64_t size)
{
	struct affine from = *at, rounds, out;
	const int64_t forward = (shift % size + size) % size;
	if (forward == 0)
		return *at;
	from.base += size - forward;
	lower_divide(&rounds, &out, l, &from, size);
	return out;
}

static int element_roll(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct meta *m = &n->out[0].meta;
	const struct arg *shifts = &n->arg[A_roll_shifts], *dims = &n->arg[A_roll_dims];
	struct affine at[MAX_RANK];
	memcpy(at, idx, sizeof *at * (size_t)m->rank);
	if (dims->n == 0) { /* all elements are one dim */
		const struct affine position = position_of(m, idx), from = rolled(l, &position, shifts->ints[0].value, meta_numel(m));
		index_at(at, l, m, &from);
	}
	for (int i = 0; i < dims->n; i++) {
		int d;
		CHECK(dim_wrap(&d, dims->ints[i].value, m->rank, NULL));
		at[d] = rolled(l, &at[d], shifts->ints[i].value, m->size[d]);
	}
	return lower_element(l, lower_operand(l, node, A_roll_self), at, form);
}
const struct lower_rule lower_roll = {.element = element_roll, .moves = true};

static int element_repeat(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const int self = lower_operand(l, node, A_repeat_self);
	const struct meta *m = node_meta(l->p, self), *out = node_meta(l->p, node);
	struct affine at[MAX_RANK], rounds;
	for (int d = 0; d < m->rank; d++)
		lower_divide(&rounds, &at[d], l, &idx[d + out->rank - m->rank], m->size[d]);
	return lower_element(l, self, at, form);
}
const struct lower_rule lower_repeat = {.element = element_repeat, .moves = true};

/* Pixel (h, w) of channel c is one of the r * r channels of group c, that of h % r and w % r, at (h / r, w / r). */
static int element_pixel_shuffle(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int self = lower_operand(l, node, A_pixel_shuffle_self), channel = n->out[0].meta.rank - 3;
	const int64_t r = node_int(n, A_pixel_shuffle_upscale_factor);
	struct affine at[MAX_RANK], rest, from = affine_const(0);
	memcpy(at, idx, sizeof *at * (size_t)n->out[0].meta.rank);
	affine_add(&from, &idx[channel], r * r);
	lower_divide(&at[channel + 1], &rest, l, &idx[channel + 1], r);
	affine_add(&from, &rest, r);
	lower_divide(&at[channel + 2], &rest, l, &idx[channel + 2], r);
	affine_add(&from, &rest, 1);
	at[channel] = from.n > 1 ? affine_reg(loops_index(l->out, &from)) : from;
	return lower_element(l, self, at, form);
}
const struct lower_rule lower_pixel_shuffle = {.element = element_pixel_shuffle, .moves = true};

/* ---- one of several ---- */

static int zero(struct lowering *l, enum dtype t, enum form form) { return lower_scalar(l, t, &(struct scalar){SC_INT, 0, 0}, form); }

static int element_constant_pad_nd(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const int self = lower_operand(l, node, A_constant_pad_nd_self);
	const struct meta *m = node_meta(l->p, self);
	const struct arg *pad = &n->arg[A_constant_pad_nd_pad];
	struct affine at[MAX_RANK];
	int inside = meta_numel(m) ? ALWAYS : NEVER;
	memcpy(at, idx, sizeof *at * (size_t)m->rank);
	for (int k = 0; k < pad->n / 2; k++) { /* pairs from the last dim on */
		const int d = m->rank - 1 - k;
		at[d].base -= pad->ints[2 * k].value;
		inside = lower_both(l, inside, lower_within(l, &at[d], 0, m->size[d]));
	}
	const int value = lower_scalar(l, n->out[0].meta.dtype, &n->arg[A_constant_pad_nd_value].scalar, form);
	return lower_replaced(l, value, inside, self, at, m->rank, m->dtype, form);
}
const struct lower_rule lower_constant_pad_nd = {.element = element_constant_pad_nd, .moves = true};

/* cat leaves out 1-d operands of no elements, whatever the rank of the others. */
static bool is_left_out(const struct meta *m) { return m->rank == 1 && m->size[0] == 0; }

static int element_cat(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct meta *out = &n->out[0].meta;
	const struct arg *part = &n->arg[A_cat_tensors];
	struct affine at[MAX_RANK];
	int dim, value = zero(l, out->dtype, form);
	CHECK(dim_wrap(&dim, node_int(n, A_cat_dim), out->rank, NULL));
	memcpy(at, idx, sizeof *at * (size_t)out->rank);
	for (int i = 0; i < part->n; i++) {
		const struct meta *m = node_meta(l->p, part->nodes[i]);
		if (is_left_out(m))
			continue;
		const int inside = lower_within(l, &at[dim], 0, m->size[dim]);
		value = lower_replaced(l, value, inside, part->nodes[i], at, out->rank, out->dtype, form);
		at[dim].base -= m->size[dim];
	}
	return value;
}
const struct lower_rule lower_cat = {.element = element_cat, .moves = true};

static int element_stack(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	const struct node *n = &l->p->node[node];
	const struct meta *out = &n->out[0].meta;
	const struct arg *part = &n->arg[A_stack_tensors];
	struct affine at[MAX_RANK];
	int dim, value = zero(l, out->dtype, form);
	CHECK(dim_wrap(&dim, node_int(n, A_stack_dim), out->rank, NULL));
	for (int d = 0; d < out->rank - 1; d++)
		at[d] = idx[d + (d >= dim)];
	for (int i = 0; i < part->n; i++) {
		const int inside = lower_within(l, &idx[dim], i, i + 1);
		value = lower_replaced(l, value, inside, part->nodes[i], at, out->rank - 1, out->dtype, form);
	}
	return value;
}
const struct lower_rule lower_stack = {.element = element_stack, .moves = true};

/* ---- the index itself ---- */

/* start + step * i in t's type. */
static int counted(struct lowering *l, enum dtype t, struct scalar start, struct scalar step, int i)
{
	const int by = lower_scalar(l, t, &step, AS_VALUE);
	const int way = loops_row(l->out, OP_mul_Tensor, t, by, loops_as(l->out, reg_type_of(t), i), NO_REG, NO_REG, NO_REG);
	return lower_add(l, t, lower_scalar(l, t, &start, AS_VALUE), way);
}

static int element_arange(struct lowering *l, int node, const struct affine *idx, enum form form)
{
	struct range r;
	CHECK(range_of(&r, &l->p->node[node], NULL));
	const int i = loops_index(l->out, &idx[0]);
	if (r.ints) {
		const int value = counted(l, DT_I64, (struct scalar){SC_INT, r.istart, 0}, (struct scalar){SC_INT, r.istep, 0}, i);
		return lower_give(l, r.dtype, loops_round(l->out, r.dtype, value), form);
	}
	int value = counted(l, DT_F64, (struct scalar){SC_FLOAT, 0, r.start}, (struct scalar){SC_FLOAT, 0, r.step}, i);
	if (r.dtype != DT_F64)
		value = loops_round(l->out, r.dtype, loops_round(l->out, DT_F32, value));
	return lower_give(l, r.dtype, value, form);
}
const struct lower_rule lower_arange = {.element = element_arange};
