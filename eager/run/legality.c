/* legality.c: see legality.h. What an in-place row does about memory that overlaps is a column of the op table that only this file
 * reads: OVERLAP_<row>. Every INPLACE row must state it; one that does not is a compile error here, "'OVERLAP_<row>' undeclared". Those of
 * IN_PLACE run as TensorIterator. */
#include "eager/run/legality.h"

#include "eager/ops/layout.h"
#include "eager/ops/promote.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

enum {
	OV_ITERATOR = 1,          /* as TensorIterator: refuses a self that overlaps itself; an operand may be exactly self */
	OV_REFUSE_FULL = 2,       /* no operand may be self, either */
	OV_ACCEPT_SELF = 4,       /* self may overlap itself */
	OV_SAME_DATA_RETURNS = 8, /* nothing is done if the first operand is self's data */
	OV_CLONES_OPERAND = 16,   /* an operand may be any part of self: a copy of it is read */
	OV_LEAVES_INTEGERS = 32   /* nothing is done to a self of integers */
};
enum {
#define IN_PLACE(of) OVERLAP_##of##_ = OV_ITERATOR,
#define OP(...)
#define POINTWISE(...)
#define INPLACE(...)
#include "eager/lang/ops.def"
	OVERLAP_copy_ = OV_SAME_DATA_RETURNS,
	OVERLAP_fill_ = OV_ACCEPT_SELF,
	OVERLAP_fill_Tensor_ = OV_CLONES_OPERAND,
	OVERLAP_zero_ = OV_ACCEPT_SELF,
	OVERLAP_masked_fill_ = OV_ACCEPT_SELF,
	OVERLAP_index_fill_ = OV_ACCEPT_SELF | OV_REFUSE_FULL,
	OVERLAP_index_put_ = OV_ACCEPT_SELF | OV_REFUSE_FULL,
	OVERLAP_asinh_ = OV_ITERATOR,
	OVERLAP_acosh_ = OV_ITERATOR,
	OVERLAP_atanh_ = OV_ITERATOR,
	OVERLAP_nan_to_num_ = OV_ITERATOR | OV_LEAVES_INTEGERS,
	OVERLAP_clamp_Tensor_ = OV_ITERATOR,
	OVERLAP_floor_divide_ = OV_ITERATOR,
	OVERLAP_cumsum_ = OV_ITERATOR,
	OVERLAP_cumprod_ = OV_ITERATOR,
	OVERLAP_pow_Scalar_ = OV_ITERATOR,
	OVERLAP_pow_Tensor_ = OV_ITERATOR,
	OVERLAP_tril_ = OV_ACCEPT_SELF | OV_REFUSE_FULL,
	OVERLAP_triu_ = OV_ACCEPT_SELF | OV_REFUSE_FULL,
	OVERLAP_scatter_reduce_two_ = OV_REFUSE_FULL,
	OVERLAP_scatter_by_ = OV_REFUSE_FULL,
	OVERLAP_scatter_value_by_ = OV_REFUSE_FULL,
	OVERLAP_index_add_ = OV_REFUSE_FULL,
	OVERLAP_index_copy_ = OV_REFUSE_FULL,
	OVERLAP_put_ = OV_REFUSE_FULL,
	OVERLAP_index_reduce_ = OV_REFUSE_FULL,
	OVERLAP_scatter_src_ = OV_REFUSE_FULL,
	OVERLAP_scatter_value_ = OV_REFUSE_FULL,
	OVERLAP_scatter_add_ = OV_REFUSE_FULL
};
static const uint8_t overlap[NOPS] = {
#define OP(...)
#define POINTWISE(...)
#define INPLACE(id, ...) [OP_##id] = OVERLAP_##id,
#include "eager/lang/ops.def"
};

enum common { COMMON_NONE, COMMON_FULL, COMMON_PARTIAL };

static enum common common_cells(const struct value *a, const struct value *b)
{
	if (a->storage != b->storage || meta_numel(&a->meta) == 0 || meta_numel(&b->meta) == 0)
		return COMMON_NONE;
	if (!meta_is_non_overlapping_and_dense(&a->meta) || !meta_is_non_overlapping_and_dense(&b->meta))
		return COMMON_NONE;
	int64_t ab = a->meta.offset, ae = meta_extent(&a->meta), bb = b->meta.offset, be = meta_extent(&b->meta);
	if (ab == bb && ae == be) {
		bool same = a->meta.rank == b->meta.rank;
		for (int d = 0; same && d < a->meta.rank; d++)
			same = a->meta.stride[d] == b->meta.stride[d];
		return same ? COMMON_FULL : COMMON_PARTIAL;
	}
	return ab < be && bb < ae ? COMMON_PARTIAL : COMMON_NONE;
}

static bool operand_ok(const struct graph *g, const struct node *n, int operand, struct err *err)
{
	int self = n->arg[A_INPLACE_self].node;
	enum common c = common_cells(&g->p->node[self].out[0], &g->p->node[operand].out[0]);
	if (g->var_of[self][0] == g->var_of[operand][0])
		c = COMMON_FULL;
	if (c == COMMON_PARTIAL || (c == COMMON_FULL && overlap[n->op] & OV_REFUSE_FULL))
		return err_set(err,
			"RuntimeError: unsupported operation: some elements of the input tensor and the written-to tensor refer "
			"to a single memory location. Please clone() the tensor before performing the operation.");
	return true;
}

/* copy_ returns at once if both are views of the same data. */
static bool same_data(const struct value *a, const struct value *b)
{
	const struct meta *x = &a->meta, *y = &b->meta;
	return a->storage == b->storage && x->offset == y->offset && meta_same_sizes(x, y) && meta_same_strides(x, y);
}

bool legality_check(const struct graph *g, int node, struct err *err)
{
	const struct prog *p = g->p;
	const struct node *n = &p->node[node];
	int flags = overlap[n->op];
	if (flags & OV_LEAVES_INTEGERS && !dtype_is_float(p->node[n->arg[A_INPLACE_self].node].out[0].meta.dtype))
		return true;
	if (flags & OV_SAME_DATA_RETURNS && n->arg[A_copy__src].tag == ARG_TENSOR
		&& same_data(&p->node[n->arg[A_INPLACE_self].node].out[0], &p->node[n->arg[A_copy__src].node].out[0]))
		return true;
	if (!(flags & OV_ACCEPT_SELF) && meta_overlaps_itself(&p->node[n->arg[A_INPLACE_self].node].out[0].meta))
		return err_set(err,
			"RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single "
			"memory location. Please clone() the tensor before performing the operation.");
	for (int k = A_INPLACE_self + 1; k < op_info[n->op].nparam && !(flags & OV_CLONES_OPERAND); k++) {
		if (n->arg[k].tag == ARG_TENSOR && !operand_ok(g, n, n->arg[k].node, err))
			return false;
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n; i++)
			if (n->arg[k].nodes[i] >= 0 && !operand_ok(g, n, n->arg[k].nodes[i], err))
				return false;
	}
	return true;
}

bool legality_sets_one_value(int op) { return overlap[op] == OV_ACCEPT_SELF; }

/* ---- what differs from version to version ----------------------------------------------------------------------------------
 *
 * Known from 91,800 random calls, 12 % of them wrong on purpose, on 2.11.0 and 2.15.0 (CPU); what lies between has not been tried.
 * Autograd's refusals are the same in all of tests/prog/autograd, but for a word ("Output 0 of SplitBackward0" is "Output 0 of Split" in
 * 2.15).
 *   clamp          an integer bound that an integer dtype does not hold: 2.15 refuses one that every number is beyond, and any other
 *                  bounds nothing; 2.11 refuses all but the negative ones of u8, which it wraps
 *   arange         an infinite step: 2.15 refuses; integer ranges with parts that are not whole: another length, or (a step of 0.5) the
 *                  end of the process in 2.11. The shape rule takes neither.
 *   mv             of a matrix without elements by a vector of another dtype: 2.15 refuses. The shape rule does not take it. */
enum { CLAMP_IN_RANGE = 15 };

static bool clamp_bound(const struct scalar *s, enum dtype t, bool least, int minor, struct err *err)
{
	struct err own;
	if (minor < CLAMP_IN_RANGE)
		return scalar_fits(s, t, err_clear(&own)) || err_set(err, "RuntimeError: %s", own.msg);
	if (dtype_wrap(t, s->i) == s->i || (s->i > 0) != least)
		return true;
	return err_set(err, "RuntimeError: Clamp %s value %g is outside the representable range of %s", least ? "min" : "max", (double)s->i,
		dtype_info[t].c10);
}

bool legality_version(const struct prog *p, int node, int minor, struct err *err)
{
	const struct node *n = &p->node[node];
	if (!clamps_by_numbers(n->op) || n->nout == 0 || dtype_is_float(n->out[0].meta.dtype))
		return true;
	const int bound[] = {op_arg(n->op, N_min), op_arg(n->op, N_max)};
	for (int k = 0; k < 2; k++)
		if (bound[k] >= 0 && n->arg[bound[k]].tag == ARG_SCALAR
			&& !clamp_bound(&n->arg[bound[k]].scalar, n->out[0].meta.dtype, k == 0, minor, err))
			return false;
	return true;
}

static bool cells_meet(const struct meta *a, const struct meta *b)
{
	if (meta_numel(a) == 0 || meta_numel(b) == 0)
		return false;
	int64_t ncells = MAX(meta_extent(a), meta_extent(b));
	struct arena mem;
	arena_init(&mem);
	unsigned char *mark = arena_zalloc(&mem, (size_t)ncells);
	bool meet = false;
	struct meta_iter it;
	meta_iter_start(&it, a);
	do
		mark[it.off] = 1;
	while (meta_iter_next(&it, a));
	meta_iter_start(&it, b);
	do
		meet = meet || mark[it.off];
	while (meta_iter_next(&it, b));
	arena_free(&mem);
	return meet;
}

static bool reads_written(const struct prog *p, const struct node *n, int operand)
{
	const struct value *self = &p->node[n->arg[A_INPLACE_self].node].out[0], *other = &p->node[operand].out[0];
	if (self->storage != other->storage || overlap[n->op] & OV_CLONES_OPERAND
		|| (same_data(self, other) && !(overlap[n->op] & OV_REFUSE_FULL)))
		return false;
	return cells_meet(&self->meta, &other->meta);
}

bool legality_reads_written(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	CHECK(op_has(n->op, T_MUTATES));
	bool reads = false;
	for (int k = A_INPLACE_self + 1; k < op_info[n->op].nparam && !reads; k++) {
		if (n->arg[k].tag == ARG_TENSOR)
			reads = reads_written(p, n, n->arg[k].node);
		for (int i = 0; n->arg[k].tag == ARG_TENSORS && i < n->arg[k].n && !reads; i++)
			reads = n->arg[k].nodes[i] >= 0 && reads_written(p, n, n->arg[k].nodes[i]);
	}
	return reads;
}

bool legality_order_matters(const struct prog *p, int node)
{
	return meta_has_duplicates(&p->node[p->node[node].arg[A_INPLACE_self].node].out[0].meta) || legality_reads_written(p, node);
}
