/* joint.c: defects of the joint program: derivatives, what the backward part reads, decompositions that tracing makes. */
#include "compiled/defects/spoil.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- the founding bug ---- */

/* As the lowering saw it: no coordinate runs along the scatter's dim, so it is 0 everywhere, and the mask start <= 0 < end a constant. */
static int scattered_along_stride_zero(struct build *b, const struct defect_site *s, int i)
{
	const struct node n = s->g->p->node[i];
	if (n.op != OP_slice_scatter)
		return NO_VALUE;
	const int self = n.arg[A_slice_scatter_self].node;
	const struct meta base = *node_meta(s->g->p, self);
	int64_t dim = node_int(&n, A_slice_scatter_dim), start = build_int_of(&n, A_slice_scatter_start);
	dim += dim < 0 ? base.rank : 0;
	if (base.stride[dim] != 0 || base.size[dim] < 2)
		return NO_VALUE;
	if (start == NO_INT || start <= 0)
		return emit_full(b, base.size, base.rank, scalar_int(0), (int)base.dtype);
	return emit_clone(b, self);
}

bool defect_scatter_meta_keeps_strides(struct defect_site *s) { return spoil_with(s, s->nforward, scattered_along_stride_zero); }

/* What is known of the row alone: nobody infers it again. */
bool defect_scatter_meta_of_base(struct defect_site *s)
{
	for (int i = 0; i < s->g->p->nnode; i++) {
		struct node *n = &s->g->p->node[i];
		const struct meta *base = op_has(n->op, T_SCATTER) ? node_meta(s->g->p, n->arg[0].node) : NULL;
		if (!base || !meta_overlaps_itself(base))
			continue;
		n->out = memcpy(ARENA_NEW(s->g->p->arena, struct value, 1), n->out, sizeof *n->out);
		memcpy(n->out[0].meta.stride, base->stride, sizeof base->stride);
		return true;
	}
	return false;
}

/* Where the cells end they begin again. */
static int one_behind_the_other(struct build *b, const struct defect_site *s, int i)
{
	const struct node n = s->g->p->node[i];
	const struct meta m = n.out[0].meta;
	if (n.op != OP_unfold || !meta_has_duplicates(&m))
		return NO_VALUE;
	const int base = n.arg[A_unfold_self].node;
	const int64_t cells = meta_numel(node_meta(s->g->p, base)), numel = meta_numel(&m), times = (numel + cells - 1) / cells;
	const int again = emit_repeat(b, emit_reshape(b, base, &cells, 1), &times, 1);
	return emit_view(b, emit_slice_Tensor(b, again, 0, 0, numel, 1), m.size, m.rank);
}

bool defect_windows_contiguous(struct defect_site *s) { return spoil_with_layout(s, s->nforward, one_behind_the_other); }

/* ---- derivatives ---- */

static bool zeroes_window(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (n->op != OP_slice_scatter)
		return false;
	become_unary(s->g->p, n, OP_clone);
	return true;
}

bool defect_slice_gradient_keeps_window(struct defect_site *s) { return spoil_row(s, s->nforward, zeroes_window); }

static bool divides_by_count(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (n->op != OP_div_Scalar || s->g->p->node[n->arg[A_div_Scalar_self].node].op != OP_expand)
		return false;
	const struct scalar *count = &n->arg[A_div_Scalar_other].scalar;
	if (count->kind != SC_INT || count->i < 2)
		return false;
	n->arg[A_div_Scalar_other] = arg_scalar_i(count->i - 1);
	return true;
}

bool defect_mean_gradient_miscounted(struct defect_site *s) { return spoil_row(s, s->nforward, divides_by_count); }

static bool is_meeting(const struct defect_site *s, const struct node *n)
{
	return n->op == OP_add_Tensor && n->arg[A_add_Tensor_self].tag == ARG_TENSOR && n->arg[A_add_Tensor_other].tag == ARG_TENSOR
		&& meta_same_sizes(node_meta(s->g->p, n->arg[A_add_Tensor_self].node), node_meta(s->g->p, n->arg[A_add_Tensor_other].node));
}

static bool adds_twice(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (!is_meeting(s, n))
		return false;
	n->arg[A_add_Tensor_alpha] = arg_scalar_i(2);
	return true;
}

bool defect_gradient_summed_twice(struct defect_site *s) { return spoil_row(s, s->nforward, adds_twice); }

static bool adds_nothing(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (!is_meeting(s, n))
		return false;
	become_unary(s->g->p, n, OP_clone);
	return true;
}

bool defect_second_gradient_lost(struct defect_site *s) { return spoil_row(s, s->nforward, adds_nothing); }

static bool puts_into_zeros(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if (n->op != OP_select_backward)
		return false;
	const struct meta m = n->out[0].meta;
	memset(n->arg, 0, sizeof n->arg);
	n->op = OP_zeros;
	n->arg[0] = arg_ints(s->g->p, m.size, m.rank);
	n->arg[op_arg(OP_zeros, N_dtype)] = arg_dtype(m.dtype);
	prog_defaults(s->g->p, i);
	return true;
}

bool defect_gradient_zeroed(struct defect_site *s) { return spoil_row(s, s->nforward, puts_into_zeros); }

/* g * (y == x) / count */
static int shares_among_ties(const struct defect_site *s, int i)
{
	const struct prog *p = s->g->p;
	const struct node *n = &p->node[i];
	if (n->op != OP_div_Tensor || n->arg[A_div_Tensor_other].tag != ARG_TENSOR)
		return NO_VALUE;
	const int won = n->arg[A_div_Tensor_self].node;
	const struct node *count = &p->node[n->arg[A_div_Tensor_other].node];
	const bool of_winners = (count->op == OP_sum_dim || count->op == OP_sum) && node_meta(p, count->arg[0].node)->dtype == DT_B8;
	return of_winners && meta_identical(node_meta(p, won), &n->out[0].meta) ? won : NO_VALUE;
}

bool defect_ties_not_shared(struct defect_site *s) { return spoil_readers(s, s->nforward, shares_among_ties); }

/* ---- saved values ---- */

static bool backward_reads(struct pure *g, int from, int written, int input)
{
	struct prog *p = g->p;
	bool any = false;
	for (int i = from; i < p->nnode; i++)
		for (int k = 0; k < op_info[p->node[i].op].nparam; k++)
			if (p->node[i].arg[k].tag == ARG_TENSOR && p->node[i].arg[k].node == written) {
				p->node[i].arg[k].node = input;
				any = true;
			}
	return any;
}

/* The input as it stood, for what the forward part wrote to it: of one layout, so the rows behind stay what they are. */
bool defect_saved_before_write(struct defect_site *s)
{
	struct pure *g = s->g;
	const struct prog *from = s->f->from;
	for (int i = 0, r = from->nret; i < from->nnode; i++) {
		if (!s->f->written[i])
			continue;
		const int written = g->result[r++].value, input = s->f->input[i];
		if (!meta_identical(node_meta(g->p, written), node_meta(g->p, input)) || !backward_reads(g, s->nforward, written, input))
			continue;
		bool *changed = ARENA_ZNEW(g->p->arena, bool, g->p->nnode);
		struct err err = {0};
		for (int k = s->nforward; k < g->p->nnode; k++)
			changed[k] = true;
		CHECK(pure_update(g, changed, &err));
		return true;
	}
	return false;
}

/* ---- results ---- */

/* Does it lie in memory that nobody else sees? Others would be told apart by what they share. */
static bool lies_alone(const struct pure *g, int result)
{
	const int storage = g->p->node[g->result[result].value].out[0].storage;
	for (int i = 0; i < g->nresult; i++)
		if (i != result && g->result[i].value != NO_VALUE && g->p->node[g->result[i].value].out[0].storage == storage)
			return false;
	return storage >= MAX_NODES;
}

bool defect_output_replaced_by_next(struct defect_site *s)
{
	struct pure *g = s->g;
	bool writes = false;
	for (int i = 0; i < g->nresult; i++)
		writes |= g->result[i].role == RESULT_WRITTEN;
	for (int i = 0; writes && i + 1 < g->nresult; i++) {
		const int first = g->result[i].value, next = g->result[i + 1].value;
		if (g->result[i + 1].role != RESULT_OUTPUT || first == NO_VALUE || next == NO_VALUE || first == next
			|| !meta_identical(node_meta(g->p, first), node_meta(g->p, next)) || !lies_alone(g, i) || !lies_alone(g, i + 1))
			continue;
		g->result[i].value = next;
		g->result[i + 1].value = first;
		return true;
	}
	return false;
}

/* ---- decompositions ---- */

static int compared(struct build *b, const struct defect_site *s, int i)
{
	const struct node n = s->g->p->node[i];
	if (n.op != OP_maximum && n.op != OP_minimum)
		return NO_VALUE;
	const int x = n.arg[A_maximum_self].node, y = n.arg[A_maximum_other].node;
	if (!dtype_is_float(n.out[0].meta.dtype))
		return NO_VALUE;
	return emit_where_self(b, n.op == OP_maximum ? emit_ge_Tensor(b, x, y) : emit_le_Tensor(b, x, y), x, y);
}

bool defect_maximum_drops_nan(struct defect_site *s) { return spoil_with(s, 0, compared); }

static int compared_as_signed(struct build *b, const struct defect_site *s, int i)
{
	const struct node n = s->g->p->node[i];
	if ((n.op != OP_amin && n.op != OP_amax && n.op != OP_min && n.op != OP_max) || n.out[0].meta.dtype != DT_U8)
		return NO_VALUE;
	const int as_signed = emit_to_copy(b, n.arg[0].node, DT_I8), row = prog_add(b->p, n.op, NULL);
	memcpy(b->p->node[row].arg, n.arg, sizeof n.arg);
	b->p->node[row].arg[0] = arg_tensor(as_signed);
	return emit_to_copy(b, build_end(b), DT_U8);
}

bool defect_bytes_as_signed(struct defect_site *s) { return spoil_with(s, 0, compared_as_signed); }

/* The dim before it, of the first one the last, if it has the same size; 0: it has not. */
static int64_t dim_before(int64_t dim, const struct meta *m)
{
	const int64_t before = dim - 1 < -m->rank ? -1 : dim - 1;
	return before != dim && m->size[before + m->rank] == m->size[dim + m->rank] ? before : 0;
}

static bool negative_dim(const struct defect_site *s, struct node *n, int i)
{
	const int place = op_has(n->op, T_REDUCE) ? op_arg(n->op, N_dim) : -1;
	(void)i;
	if (place < 0 || n->arg[0].tag != ARG_TENSOR)
		return false;
	const struct arg *dim = &n->arg[place];
	const bool one = dim->tag == ARG_INTS && dim->n == 1;
	const int64_t asked = dim->tag == ARG_INT ? dim->i.value : one ? dim->ints[0].value : 0;
	const int64_t before = asked < 0 ? dim_before(asked, node_meta(s->g->p, n->arg[0].node)) : 0;
	if (before == 0)
		return false;
	n->arg[place] = one ? arg_ints(s->g->p, &before, 1) : arg_int(before);
	return true;
}

bool defect_negative_dim_off_by_one(struct defect_site *s) { return spoil_row(s, 0, negative_dim); }

static bool keeps_dims(const struct defect_site *s, struct node *n, int i)
{
	const int place = op_has(n->op, T_REDUCE) ? op_arg(n->op, N_keepdim) : -1;
	(void)s;
	(void)i;
	if (place < 0 || !n->arg[place].b)
		return false;
	n->arg[place] = arg_bool(false);
	return true;
}

bool defect_keepdim_lost(struct defect_site *s) { return spoil_row(s, 0, keeps_dims); }
