/* simplified.c: defects of the passes that take rows away: noop, views, cse. What those passes left is looked through again with a rule
 * that asks too little. */
#include "compiled/defects/spoil.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- noop ---- */

static int copy_of(const struct defect_site *s, int i)
{
	const struct prog *p = s->g->p;
	const struct node *n = &p->node[i];
	if (n->op != OP_clone || !is_result(s->g, i, RESULT_OUTPUT))
		return NO_VALUE;
	const int self = n->arg[0].node;
	return meta_identical(node_meta(p, self), &n->out[0].meta) && !pure_may_share(s->g, i, self) ? self : NO_VALUE;
}

bool defect_noop_clone_of_output(struct defect_site *s) { return spoil_readers(s, 0, copy_of); }

/* No update: that is the defect. Somebody reads the row, and has the layout of what he reads. */
bool defect_noop_without_update(struct defect_site *s)
{
	struct prog *p = s->g->p;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if ((n->op != OP_clone && n->op != OP_contiguous) || is_result(s->g, i, RESULT_OUTPUT))
			continue;
		const int self = n->arg[0].node;
		const struct meta *m = node_meta(p, self);
		if (!meta_same_sizes(m, &n->out[0].meta) || meta_equivalent(m, &n->out[0].meta))
			continue;
		for (int k = i + 1; k < p->nnode; k++)
			if (op_has(p->node[k].op, T_POINTWISE) && p->node[k].arg[0].tag == ARG_TENSOR && p->node[k].arg[0].node == i) {
				p->node[k].arg[0].node = self;
				return true;
			}
	}
	return false;
}

static int before_round_trip(const struct defect_site *s, int i)
{
	const struct prog *p = s->g->p;
	const struct node *n = &p->node[i];
	if (n->op != OP_to_copy || p->node[n->arg[0].node].op != OP_to_copy)
		return NO_VALUE;
	const int from = p->node[n->arg[0].node].arg[0].node;
	return meta_identical(node_meta(p, from), &n->out[0].meta) && pure_may_share(s->g, i, from) ? from : NO_VALUE;
}

bool defect_noop_round_trip(struct defect_site *s) { return spoil_readers(s, 0, before_round_trip); }

static bool times_zero(const struct defect_site *s, struct node *n, int i)
{
	(void)i;
	if ((n->op != OP_mul_Tensor && n->op != OP_mul_Scalar) || n->arg[0].tag != ARG_TENSOR || n->arg[1].tag != ARG_SCALAR)
		return false;
	const struct scalar *v = &n->arg[1].scalar;
	const struct meta *self = node_meta(s->g->p, n->arg[0].node);
	if ((v->kind == SC_FLOAT ? v->f != 0 : v->i != 0) || !meta_identical(self, &n->out[0].meta))
		return false;
	become_unary(s->g->p, n, OP_zeros_like);
	return true;
}

bool defect_noop_times_zero(struct defect_site *s) { return spoil_row(s, 0, times_zero); }

static int expanded(const struct defect_site *s, int i)
{
	const struct node *n = &s->g->p->node[i];
	if (n->op != OP_expand || node_meta(s->g->p, n->arg[0].node)->rank != n->out[0].meta.rank)
		return NO_VALUE;
	return pure_may_share(s->g, i, n->arg[0].node) ? n->arg[0].node : NO_VALUE;
}

bool defect_noop_expand(struct defect_site *s) { return spoil_readers(s, 0, expanded); }

/* ---- views ---- */

static bool permutes(const struct defect_site *s, struct node *n, int i)
{
	int64_t inverse[MAX_RANK];
	bool other = false;
	(void)i;
	if (n->op != OP_permute)
		return false;
	const struct arg *dims = &n->arg[A_permute_dims];
	for (int d = 0; d < dims->n; d++)
		inverse[dims->ints[d].value + (dims->ints[d].value < 0 ? dims->n : 0)] = d;
	for (int d = 0; d < dims->n; d++)
		other |= inverse[d] != dims->ints[d].value + (dims->ints[d].value < 0 ? dims->n : 0);
	if (other)
		n->arg[A_permute_dims] = arg_ints(s->g->p, inverse, dims->n);
	return other;
}

bool defect_permute_inverted(struct defect_site *s) { return spoil_row(s, 0, permutes); }

static int64_t wrapped_dim(const struct node *n, const struct meta *self)
{
	const int64_t dim = node_int(n, A_slice_Tensor_dim);
	return dim < 0 ? dim + self->rank : dim;
}

static bool slices_slice(const struct defect_site *s, struct node *n, int i)
{
	const struct prog *p = s->g->p;
	(void)i;
	if (n->op != OP_slice_Tensor || p->node[n->arg[A_slice_Tensor_self].node].op != OP_slice_Tensor)
		return false;
	const struct node *first = &p->node[n->arg[A_slice_Tensor_self].node];
	const struct meta *base = node_meta(p, first->arg[A_slice_Tensor_self].node), *of = &first->out[0].meta;
	const int64_t dim = wrapped_dim(n, of);
	if (dim != wrapped_dim(first, base) || of->offset == base->offset)
		return false;
	int64_t start = node_given(n, A_slice_Tensor_start) ? node_int(n, A_slice_Tensor_start) : 0;
	start = start < 0 ? MAX(start + of->size[dim], 0) : MIN(start, of->size[dim]);
	n->arg[A_slice_Tensor_self] = first->arg[A_slice_Tensor_self];
	n->arg[A_slice_Tensor_start] = arg_int(start);
	n->arg[A_slice_Tensor_end] = arg_int(start + (n->out[0].meta.size[dim] - 1) * node_int(n, A_slice_Tensor_step) + 1);
	return true;
}

bool defect_slice_offset_lost(struct defect_site *s) { return spoil_row(s, 0, slices_slice); }

bool defect_view_of_output_copied(struct defect_site *s)
{
	struct pure *g = s->g;
	for (int i = 0; i < g->nresult; i++) {
		const int value = g->result[i].value;
		if (g->result[i].role != RESULT_OUTPUT || value == NO_VALUE || !row_is_view(g->p, value) || prog_has_window(g->p, value))
			continue;
		struct build b = {.p = g->p};
		g->result[i].value = emit_clone(&b, value);
		return true;
	}
	return false;
}

/* ---- cse ---- */

/* Rows that differ in arguments of these kinds (1u << K_*) alone. */
static bool same_but(const struct node *a, const struct node *b, unsigned kinds)
{
	bool differ = false;
	if (a->op != b->op || a->nout != b->nout)
		return false;
	for (int k = 0; k < op_info[a->op].nparam; k++) {
		const bool same = arg_same(&a->arg[k], &b->arg[k]);
		if (!same && !(kinds & 1u << op_info[a->op].param[k].kind))
			return false;
		differ |= !same;
	}
	return differ;
}

static int earlier(const struct defect_site *s, int i, unsigned kinds, bool factory)
{
	const struct prog *p = s->g->p;
	if ((op_info[p->node[i].op].family == F_FACTORY) != factory)
		return NO_VALUE;
	for (int j = 0; j < i; j++)
		if (!node_is_input(&p->node[j]) && same_but(&p->node[i], &p->node[j], kinds) && meta_identical(node_meta(p, i), node_meta(p, j))
			&& pure_may_share(s->g, i, j))
			return j;
	return NO_VALUE;
}

static int of_other_dim(const struct defect_site *s, int i) { return earlier(s, i, 1u << K_DIM | 1u << K_DIMS, false); }
static int of_other_number(const struct defect_site *s, int i) { return earlier(s, i, 1u << K_SCALAR, false); }
static int of_other_fill(const struct defect_site *s, int i) { return earlier(s, i, 1u << K_SCALAR, true); }

bool defect_cse_ignores_dim(struct defect_site *s) { return spoil_readers(s, 0, of_other_dim); }
bool defect_cse_ignores_number(struct defect_site *s) { return spoil_readers(s, 0, of_other_number); }
bool defect_cse_ignores_fill(struct defect_site *s) { return spoil_readers(s, 0, of_other_fill); }

static bool is_zero(const struct arg *a) { return a->tag == ARG_SCALAR && a->scalar.kind == SC_FLOAT && a->scalar.f == 0; }

static int of_other_zero(const struct defect_site *s, int i)
{
	const struct prog *p = s->g->p;
	const struct node *n = &p->node[i];
	for (int j = 0; j < i; j++) {
		bool same = n->op == p->node[j].op && n->nout == 1 && !node_is_input(n), zeros = false;
		for (int k = 0; same && k < op_info[n->op].nparam; k++) {
			const bool differ = !arg_same(&n->arg[k], &p->node[j].arg[k]);
			same = !differ || (is_zero(&n->arg[k]) && is_zero(&p->node[j].arg[k]));
			zeros |= differ;
		}
		if (same && zeros && meta_identical(node_meta(p, i), node_meta(p, j)) && pure_may_share(s->g, i, j))
			return j;
	}
	return NO_VALUE;
}

bool defect_cse_ignores_zero_sign(struct defect_site *s) { return spoil_readers(s, 0, of_other_zero); }

static int equal_output(const struct defect_site *s, int i)
{
	const struct prog *p = s->g->p;
	for (int j = 0; j < i; j++) {
		const struct node *n = &p->node[i];
		bool same = n->op == p->node[j].op && n->nout == 1 && !node_is_input(&p->node[j]) && !row_is_view(p, i);
		for (int k = 0; same && k < op_info[n->op].nparam; k++)
			same = arg_same(&n->arg[k], &p->node[j].arg[k]);
		if (same && !pure_may_share(s->g, i, j))
			return j;
	}
	return NO_VALUE;
}

bool defect_cse_merges_outputs(struct defect_site *s) { return spoil_readers(s, 0, equal_output); }
