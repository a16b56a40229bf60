/* pass.c: the passes by name, in the order in which they run (steps.def), and what they share: replacing values, inferring again what follows. */
#include "compiled/passes/pass.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

#define ROW_PASS(name, stage, needs, validators, what) {#name, what, sizeof needs > 1, pass_##name},
#define ROW_WHOLE(...)
#define ROW_PART(...)
#define ROW_CODE(...)
#define ROW_END(...)
#define ROW_LOOPS(...)
const struct pass passes[] = {
#define STEP(name, kind, ...) ROW_##kind(name, __VA_ARGS__)
#include "compiled/steps/steps.def"
#undef STEP
};
const int npasses = ARRAY_LEN(passes);

int pass_find(const char *name)
{
	for (int i = 0; i < npasses; i++)
		if (str_eq(name, passes[i].name))
			return i;
	return -1;
}

/* ---- what rows are ---- */

bool meta_identical(const struct meta *a, const struct meta *b)
{
	if (a->dtype != b->dtype || a->device != b->device || !meta_same_sizes(a, b) || a->offset != b->offset)
		return false;
	return meta_same_strides(a, b);
}

bool row_is_view(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	if (node_is_input(n) || n->op == OP_getitem || op_info[n->op].nret != 1 || !op_has(n->op, T_VIEW | T_MAYBE_VIEW))
		return false;
	return n->out[0].storage == p->node[n->arg[A_viewed_self].node].out[0].storage;
}

/* Does an output or a gradient lie there, or (written) what the epilogue writes to an input? */
static bool storage_seen(const struct pure *g, int storage, bool written)
{
	for (int i = 0; i < g->nresult; i++) {
		const int value = g->result[i].value;
		if (value != NO_VALUE && (g->result[i].role == RESULT_WRITTEN) == written && g->p->node[value].out[0].storage == storage)
			return true;
	}
	return false;
}

static bool storage_is_input(const struct prog *p, int storage)
{
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]) && p->node[i].out[0].storage == storage)
			return true;
	return false;
}

bool pure_may_share(const struct pure *g, int node, int by)
{
	for (int k = 0; k < g->p->node[node].nout; k++) {
		const int from = g->p->node[node].out[k].storage, to = g->p->node[by].out[k].storage;
		if (from == to)
			continue;
		const bool returned = storage_seen(g, from, false), written = storage_seen(g, from, true);
		if ((returned && storage_seen(g, to, false)) || ((returned || written) && storage_is_input(g->p, to)))
			return false;
	}
	return true;
}

bool prog_has_window(const struct prog *p, int node)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		bool window = n->op == OP_as_strided || n->op == OP_as_strided_scatter;
		if (window && p->node[n->arg[0].node].out[0].storage == p->node[node].out[0].storage)
			return true;
	}
	return false;
}

/* ---- changing them ---- */

static bool same_results(const struct node *n, const struct value *was, int nout)
{
	for (int k = 0; k < nout; k++)
		if (was[k].storage != n->out[k].storage || !meta_identical(&was[k].meta, &n->out[k].meta))
			return false;
	return n->nout == nout;
}

bool pure_update(struct pure *g, bool *changed, struct err *err)
{
	struct prog *p = g->p;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (!changed[i] && !node_reads(p, n, changed))
			continue;
		const struct value *was = n->out;
		const int nout = n->nout;
		if (!prog_infer_node(p, i, err))
			return false;
		changed[i] = !same_results(n, was, nout);
	}
	return true;
}

static bool renumber(struct arg *arg, const int *to)
{
	bool changed = false;
	if (arg->tag == ARG_TENSOR && to[arg->node] != arg->node) {
		arg->node = to[arg->node];
		changed = true;
	}
	for (int i = 0; arg->tag == ARG_TENSORS && i < arg->n; i++)
		if (arg->nodes[i] >= 0 && to[arg->nodes[i]] != arg->nodes[i]) {
			arg->nodes[i] = to[arg->nodes[i]];
			changed = true;
		}
	return changed;
}

static int *same_places(const struct prog *p)
{
	int *to = ARENA_NEW(p->arena, int, MAX(p->nnode, 1));
	for (int i = 0; i < p->nnode; i++)
		to[i] = i;
	return to;
}

bool pure_replace(struct pure *g, int node, int by, struct err *err)
{
	struct prog *p = g->p;
	bool *changed = ARENA_ZNEW(p->arena, bool, p->nnode);
	int *to = same_places(p);
	CHECK(by < node && p->node[by].nout == p->node[node].nout);
	for (int k = 0; k < p->node[node].nout; k++)
		CHECK(meta_identical(&p->node[by].out[k].meta, &p->node[node].out[k].meta));
	to[node] = by;
	for (int i = node + 1; i < p->nnode; i++)
		for (int k = 0; k < op_info[p->node[i].op].nparam; k++)
			changed[i] |= renumber(&p->node[i].arg[k], to);
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].value == node)
			g->result[i].value = by;
	return pure_update(g, changed, err);
}

void pure_keep(struct pure *g, const bool *keep)
{
	struct prog *p = g->p;
	int *to = ARENA_NEW(p->arena, int, MAX(p->nnode, 1)), n = 0;
	for (int i = 0; i < p->nnode; i++) {
		to[i] = n;
		if (!keep[i])
			continue;
		for (int k = 0; k < op_info[p->node[i].op].nparam; k++)
			renumber(&p->node[i].arg[k], to);
		p->node[n++] = p->node[i];
	}
	p->nnode = n;
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].value != NO_VALUE)
			g->result[i].value = to[g->result[i].value];
}
