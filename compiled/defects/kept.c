/* kept.c: defects of what must stay and where: dead code, writes, the epilogue. */
#include "compiled/defects/spoil.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- dce ---- */

bool defect_write_dropped(struct defect_site *s)
{
	struct pure *g = s->g;
	for (int i = 0; i < g->nresult; i++) {
		const int value = g->result[i].value;
		if (g->result[i].role != RESULT_WRITTEN || value == NO_VALUE)
			continue;
		for (int k = 0; k < g->p->nnode && node_is_input(&g->p->node[k]); k++)
			if (meta_same_sizes(node_meta(g->p, k), node_meta(g->p, value)) && k != value) {
				g->result[i].value = k;
				return true;
			}
	}
	return false;
}

/* Dead code, as if no row raised. A row that states how many its data select gives others a size. */
bool defect_raising_row_dropped(struct defect_site *s)
{
	const struct prog *p = s->g->p;
	bool *keep = ARENA_ZNEW(p->arena, bool, p->nnode), any = false;
	for (int i = 0; i < s->g->nresult; i++)
		if (s->g->result[i].value != NO_VALUE)
			keep[s->g->result[i].value] = true;
	for (int i = p->nnode - 1; i >= 0; i--) {
		keep[i] |= node_is_input(&p->node[i]) || op_stated(p->node[i].op) >= 0;
		any |= !keep[i];
		if (keep[i])
			node_mark_operands(p, &p->node[i], keep);
	}
	if (any)
		pure_keep(s->g, keep);
	return any;
}

/* add.Tensor -> add_.Tensor */
static bool writes_operand(const struct defect_site *s, struct node *n, int i)
{
	const int op = op_has(n->op, T_POINTWISE) ? op_inplace(n->op) : -1;
	(void)i;
	if (op < 0 || n->arg[0].tag != ARG_TENSOR || !meta_identical(node_meta(s->g->p, n->arg[0].node), &n->out[0].meta))
		return false;
	n->op = op;
	return true;
}

bool defect_reinplaced_too_early(struct defect_site *s) { return spoil_row(s, 0, writes_operand); }

/* ---- epilogue ---- */

bool defect_copy_behind_epilogue(struct defect_site *s)
{
	struct prog *p = s->g->p;
	int first = p->nnode;
	for (int i = p->nnode - 1; i >= 0; i--)
		first = p->node[i].op == OP_copy_ ? i : first;
	for (int i = 0; first < p->nnode && i < p->nret; i++) {
		if (p->ret[i] >= first || node_is_input(&p->node[p->ret[i]]) || row_is_view(p, p->ret[i]))
			continue;
		struct build b = {.p = p};
		p->ret[i] = emit_clone(&b, p->ret[i]);
		return true;
	}
	return false;
}

static bool is_write_back(const struct defect_site *s, struct node *n, int i)
{
	(void)s;
	(void)i;
	if (n->op != OP_copy_)
		return false;
	n->arg[A_copy__src] = n->arg[A_copy__self];
	return true;
}

bool defect_write_back_lost(struct defect_site *s) { return spoil_row(s, 0, is_write_back); }

bool defect_write_back_to_other(struct defect_site *s)
{
	struct prog *p = s->g->p;
	for (int i = 0; i + 1 < p->nnode; i++) {
		struct arg *a = &p->node[i].arg[A_copy__src], *b = &p->node[i + 1].arg[A_copy__src];
		if (p->node[i].op != OP_copy_ || p->node[i + 1].op != OP_copy_ || !meta_same_sizes(node_meta(p, a->node), node_meta(p, b->node)))
			continue;
		const struct arg was = *a;
		*a = *b;
		*b = was;
		return true;
	}
	return false;
}
