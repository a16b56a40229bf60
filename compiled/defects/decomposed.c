/* decomposed.c: defects of the core dialect: what a wrong rule of decompose would have left. */
#include "compiled/defects/spoil.h"
#include "eager/ops/layout.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static const struct node *operand(const struct defect_site *s, const struct node *n, int arg)
{
	return n->arg[arg].tag == ARG_TENSOR ? &s->g->p->node[n->arg[arg].node] : NULL;
}

static bool is_row(const struct node *n, int op) { return n && n->op == op; }

/* ---- regions ---- */

/* The region and what is put there, without the last position. */
static int put_up_to_last_but_one(struct build *b, const struct defect_site *s, int i)
{
	const struct node n = s->g->p->node[i];
	if (n.op != OP_slice_scatter)
		return NO_VALUE;
	const int self = n.arg[A_slice_scatter_self].node, src = n.arg[A_slice_scatter_src].node;
	const struct meta whole = n.out[0].meta, region = *node_meta(s->g->p, src);
	int64_t start = node_given(&n, A_slice_scatter_start) ? node_int(&n, A_slice_scatter_start) : 0, end = INT64_MAX;
	const int64_t step = node_int(&n, A_slice_scatter_step);
	int dim;
	CHECK(dim_wrap(&dim, node_int(&n, A_slice_scatter_dim), whole.rank, NULL));
	slice_clamp(&start, &end, whole.size[dim], step);
	const int64_t left = region.size[dim] - 1;
	if (left < 1)
		return NO_VALUE;
	return emit_slice_scatter(b, self, emit_slice_Tensor(b, src, dim, 0, left, 1), dim, start, start + left * step, step);
}

bool defect_region_end_clamped(struct defect_site *s) { return spoil_with(s, 0, put_up_to_last_but_one); }

/* ---- arguments ---- */

/* source * alpha, on its way into a scatter_add. */
static bool is_scattered(const struct defect_site *s, int i)
{
	const struct prog *p = s->g->p;
	for (int k = i + 1; k < p->nnode; k++) {
		const struct node *n = &p->node[k];
		if (n->op == OP_view && n->arg[A_view_self].node == i)
			return is_scattered(s, k);
		if (n->op == OP_scatter_add && n->arg[A_scatter_add_src].node == i)
			return true;
	}
	return false;
}

static int source_alone(const struct defect_site *s, int i)
{
	const struct node *n = &s->g->p->node[i];
	if (n->op != OP_mul_Tensor)
		return NO_VALUE;
	const struct node *alpha = operand(s, n, A_mul_Tensor_other);
	if (is_row(alpha, OP_to_copy))
		alpha = operand(s, alpha, A_to_copy_self);
	return is_row(alpha, OP_full) && alpha->out[0].meta.rank == 0 && is_scattered(s, i) ? n->arg[A_mul_Tensor_self].node : NO_VALUE;
}

bool defect_index_add_alpha_lost(struct defect_site *s) { return spoil_readers(s, 0, source_alone); }

/* The sum of squares, divided. */
static bool divides_by_count(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	const struct node *sum = n->op == OP_div_Tensor ? operand(s, n, A_div_Tensor_self) : NULL;
	const struct node *square = is_row(sum, OP_sum_dim) ? operand(s, sum, A_sum_dim_self) : NULL;
	if (!is_row(square, OP_mul_Tensor) || n->arg[A_div_Tensor_other].tag != ARG_SCALAR)
		return false;
	const struct arg *a = &square->arg[A_mul_Tensor_self], *b = &square->arg[A_mul_Tensor_other];
	if (a->tag != ARG_TENSOR || b->tag != ARG_TENSOR || a->node != b->node)
		return false;
	n->arg[A_div_Tensor_other].scalar.f += 1;
	return true;
}

bool defect_correction_lost(struct defect_site *s) { return spoil_row(s, 0, divides_by_count); }

/* ---- dtypes ---- */

/* A comparison of counts, or its opposite (eq to False), before it becomes uint8 again. */
static int truth_itself(const struct defect_site *s, int i)
{
	const struct node *n = &s->g->p->node[i], *compared = n->op == OP_to_copy ? operand(s, n, A_to_copy_self) : NULL;
	if (n->out[0].meta.dtype != DT_U8)
		return NO_VALUE;
	while (is_row(compared, OP_eq_Tensor))
		compared = operand(s, compared, A_eq_Tensor_self);
	return is_row(compared, OP_sum_dim) && compared->out[0].meta.dtype == DT_I64 && is_row(operand(s, n, A_to_copy_self), OP_eq_Tensor)
		? n->arg[A_to_copy_self].node
		: NO_VALUE;
}

bool defect_any_of_bytes_is_bool(struct defect_site *s) { return spoil_readers(s, 0, truth_itself); }

/* The row behind i of that operator whose first operand it is; -1: none. */
static int reader_of(const struct prog *p, int i, int op)
{
	for (int k = i + 1; k < p->nnode; k++)
		if (p->node[k].op == op && p->node[k].arg[0].tag == ARG_TENSOR && p->node[k].arg[0].node == i)
			return k;
	return -1;
}

/* Into f32, divided, and back? */
static bool is_mean_of(const struct prog *p, int i, enum dtype t)
{
	const int quotient = reader_of(p, i, OP_div_Tensor), back = quotient < 0 ? -1 : reader_of(p, quotient, OP_to_copy);
	return back >= 0 && node_meta(p, back)->dtype == t;
}

static bool sums_in_half(const struct defect_site *s, struct node *n, int i)
{
	const struct node *self = n->op == OP_sum_dim ? operand(s, n, A_sum_dim_self) : NULL;
	const enum dtype t = self ? self->out[0].meta.dtype : DT_F32;
	if ((t != DT_F16 && t != DT_BF16) || n->out[0].meta.dtype != DT_F32 || !is_mean_of(s->g->p, i, t))
		return false;
	n->arg[A_sum_dim_dtype] = arg_dtype(t);
	return true;
}

bool defect_mean_divided_in_half(struct defect_site *s) { return spoil_row(s, 0, sums_in_half); }

/* ---- bounds ---- */

/* where(x <= limit, 0, g), where g is not x: x < limit. */
static bool excludes_bound(const struct defect_site *s, struct node *n, int i)
{
	const struct prog *p = s->g->p;
	if (n->op != OP_le_Tensor || !is_row(operand(s, n, A_le_Tensor_other), OP_full))
		return false;
	for (int k = i + 1; k < p->nnode; k++)
		if (p->node[k].op == OP_where_self && p->node[k].arg[A_where_self_condition].node == i
			&& is_row(operand(s, &p->node[k], A_where_self_self), OP_full)
			&& p->node[k].arg[A_where_self_other].node != n->arg[A_le_Tensor_self].node) {
			n->op = OP_lt_Tensor;
			return true;
		}
	return false;
}

bool defect_threshold_excluded(struct defect_site *s) { return spoil_row(s, s->nforward, excludes_bound); }
