/* functionalised.c: defects of the functional program: rows as functionalisation or a decomposition would write them wrongly. */
#include "compiled/defects/spoil.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static bool negative_index(const struct defect_site *s, struct node *n, int i)
{
	const struct meta *self = n->op == OP_select_int ? node_meta(s->g->p, n->arg[A_select_int_self].node) : NULL;
	(void)i;
	if (!self || node_int(n, A_select_int_index) >= 0)
		return false;
	const int64_t dim = node_int(n, A_select_int_dim), index = node_int(n, A_select_int_index) - 1;
	if (-index > self->size[dim < 0 ? dim + self->rank : dim])
		return false;
	n->arg[A_select_int_index] = arg_int(index);
	return true;
}

bool defect_select_negative_index(struct defect_site *s) { return spoil_row(s, 0, negative_index); }

static bool negative_start(const struct defect_site *s, struct node *n, int i)
{
	const struct meta *self = n->op == OP_slice_Tensor ? node_meta(s->g->p, n->arg[A_slice_Tensor_self].node) : NULL;
	(void)i;
	if (!self || !node_given(n, A_slice_Tensor_start) || node_int(n, A_slice_Tensor_start) >= 0)
		return false;
	const int64_t asked = node_int(n, A_slice_Tensor_dim), dim = asked < 0 ? asked + self->rank : asked;
	const int64_t start = node_int(n, A_slice_Tensor_start) + self->size[dim], length = n->out[0].meta.size[dim] - 1;
	if (start < 1 || meta_numel(&n->out[0].meta) == 0)
		return false;
	n->arg[A_slice_Tensor_start] = arg_int(start - 1);
	n->arg[A_slice_Tensor_end] = arg_int(start + length * node_int(n, A_slice_Tensor_step));
	return true;
}

bool defect_slice_negative_start(struct defect_site *s) { return spoil_row(s, 0, negative_start); }

static bool is_sum_of_two(int op) { return op == OP_add_Tensor || op == OP_sub_Tensor || op == OP_add_Scalar || op == OP_sub_Scalar; }

static bool with_alpha(const struct defect_site *s, struct node *n, int i)
{
	(void)s;
	(void)i;
	struct arg *alpha = is_sum_of_two(n->op) ? &n->arg[op_arg(n->op, N_alpha)] : NULL;
	if (!alpha || alpha->tag != ARG_SCALAR || (alpha->scalar.kind == SC_FLOAT ? alpha->scalar.f == 1 : alpha->scalar.i == 1))
		return false;
	*alpha = arg_scalar_i(1);
	return true;
}

bool defect_alpha_lost(struct defect_site *s) { return spoil_row(s, 0, with_alpha); }

static bool accumulates(const struct defect_site *s, struct node *n, int i)
{
	(void)s;
	(void)i;
	if (n->op != OP_index_put || !n->arg[A_index_put_accumulate].b)
		return false;
	n->arg[A_index_put_accumulate] = arg_bool(false);
	return true;
}

bool defect_accumulate_lost(struct defect_site *s) { return spoil_row(s, 0, accumulates); }

static bool broadcasting_where(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (n->op != OP_where_self || n->arg[A_where_self_self].tag != ARG_TENSOR || n->arg[A_where_self_other].tag != ARG_TENSOR)
		return false;
	const struct arg self = n->arg[A_where_self_self];
	if (meta_same_sizes(node_meta(s->g->p, self.node), node_meta(s->g->p, n->arg[A_where_self_other].node)))
		return false;
	n->arg[A_where_self_self] = n->arg[A_where_self_other];
	n->arg[A_where_self_other] = self;
	return true;
}

bool defect_where_swapped(struct defect_site *s) { return spoil_row(s, 0, broadcasting_where); }

static bool is_floor(const struct defect_site *s, struct node *n, int i)
{
	(void)s;
	(void)i;
	if (n->op != OP_floor)
		return false;
	n->op = OP_trunc;
	return true;
}

bool defect_floor_as_trunc(struct defect_site *s) { return spoil_row(s, 0, is_floor); }

/* Somebody else reads what was scattered into: it is a write, and no scatter that the program itself has. */
static bool is_write(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (n->op != OP_slice_scatter && n->op != OP_select_scatter)
		return false;
	if (meta_same_sizes(node_meta(s->g->p, n->arg[1].node), &n->out[0].meta))
		return false;
	become_unary(s->g->p, n, OP_clone);
	return true;
}

bool defect_view_write_lost(struct defect_site *s) { return spoil_row(s, 0, is_write); }
