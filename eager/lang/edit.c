/* edit.c: all edits are one: choose nodes, renumber. */
#include "eager/lang/edit.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "generated/op_input.h"

static void map_arg(struct arg *g, const int *to)
{
	if (g->tag == ARG_TENSOR)
		g->node = to[g->node];
	for (int i = 0; g->tag == ARG_TENSORS && i < g->n; i++)
		if (g->nodes[i] >= 0)
			g->nodes[i] = to[g->nodes[i]];
}

static void map_ends(struct prog *q, const int *to)
{
	int n = 0;
	for (int i = 0; i < q->nret; i++)
		if (to[q->ret[i]] >= 0)
			q->ret[n++] = to[q->ret[i]];
	q->nret = n;
	n = 0;
	for (int i = 0; i < q->nback; i++) {
		struct backward b = {to[q->back[i].node], to[q->back[i].cotangent]};
		if (b.node >= 0 && b.cotangent >= 0)
			q->back[n++] = b;
	}
	q->nback = n;
	q->has_backward = q->has_backward && n > 0;
	for (int c = 0; c < q->ncall; c++) {
		struct call *k = &q->call[c];
		int m = 0;
		for (int i = 0; i < k->ninput; i++) {
			k->input[i].node = to[k->input[i].node];
			if (k->input[i].node >= 0)
				k->input[m++] = k->input[i];
		}
		k->ninput = m;
		m = 0;
		for (int i = 0; i < k->nsym; i++) {
			k->sym[i].node = to[k->sym[i].node];
			if (k->sym[i].node >= 0)
				k->sym[m++] = k->sym[i];
		}
		k->nsym = m;
	}
	for (int i = 0; i < q->nexpr; i++) /* an expression that is left over reads nothing */
		if (q->expr[i].op == EX_SYM && to[q->expr[i].a] >= 0)
			q->expr[i].a = to[q->expr[i].a];
		else if (q->expr[i].op == EX_SYM)
			q->expr[i] = (struct expr){.op = EX_CONST};
}

/* Do nodes read symbols that were dropped? */
static bool symbols_kept(const struct prog *q, const struct node *node, int n, const int *to, struct err *err)
{
	bool read[MAX_NODES] = {false};
	for (int i = 0; i < n; i++)
		node_mark_operands(q, &node[i], read);
	for (int i = 0; i < q->nnode; i++)
		if (read[i] && node_is_sym(&q->node[i]) && to[i] < 0)
			return err_set(err, "edit: a size needs a symbol that was dropped");
	return true;
}

bool edit_reorder(struct prog *q, const int *order, int n, struct err *err)
{
	int to[MAX_NODES];
	struct node *node = ARENA_NEW(q->arena, struct node, MAX(n, 1));
	for (int i = 0; i < q->nnode; i++)
		to[i] = -1;
	for (int i = 0; i < n; i++)
		to[order[i]] = i;
	for (int i = 0; i < n; i++)
		node[i] = q->node[order[i]];
	if (!symbols_kept(q, node, n, to, err))
		return false;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < op_info[node[i].op].nparam; k++)
			map_arg(&node[i].arg[k], to);
	q->node = node;
	q->nnode = n;
	q->cap_node = n;
	map_ends(q, to);
	return prog_infer(q, err);
}

bool edit_select(struct prog *out, const struct prog *p, const int *order, int n, struct arena *a, struct err *err)
{
	struct prog q;
	prog_clone(&q, p, a);
	if (!edit_reorder(&q, order, n, err))
		return false;
	*out = q;
	return true;
}

/* Keeps what is needed and not dead. Writes are needed even if nobody reads them: inputs are compared afterwards. */
static bool keep_needed(struct prog *out, const struct prog *p, const bool *dead, struct arena *a, struct err *err)
{
	bool need[MAX_NODES] = {false};
	int order[MAX_NODES], n = 0;
	for (int i = 0; i < p->nret; i++)
		need[p->ret[i]] |= !dead[p->ret[i]];
	for (int i = 0; i < p->nback; i++)
		need[p->back[i].cotangent] |= !dead[p->back[i].node] && !dead[p->back[i].cotangent];
	for (int i = p->nnode - 1; i >= 0; i--) {
		if (dead[i])
			continue;
		need[i] |= op_has(p->node[i].op, T_MUTATES);
		if (need[i])
			node_mark_operands(p, &p->node[i], need);
	}
	for (int i = 0; i < p->nnode; i++)
		if (need[i] && !dead[i])
			order[n++] = i;
	if (!n)
		return err_set(err, "edit: nothing is left");
	struct prog q;
	if (!edit_select(&q, p, order, n, a, err))
		return false;
	if (!q.nret)
		return err_set(err, "edit: nothing is returned any more");
	*out = q;
	return true;
}

bool edit_sweep(struct prog *out, const struct prog *p, struct arena *a, struct err *err)
{
	bool dead[MAX_NODES] = {false};
	return keep_needed(out, p, dead, a, err);
}

bool edit_drop(struct prog *out, const struct prog *p, int node, struct arena *a, struct err *err)
{
	bool dead[MAX_NODES] = {false};
	dead[node] = true;
	for (int i = node + 1; i < p->nnode; i++)
		dead[i] = node_reads(p, &p->node[i], dead);
	return keep_needed(out, p, dead, a, err);
}

bool edit_replace(struct prog *out, const struct prog *p, int node, int by, struct arena *a, struct err *err)
{
	struct prog q;
	bool dead[MAX_NODES] = {false};
	int to[MAX_NODES];
	prog_clone(&q, p, a);
	for (int i = 0; i < q.nnode; i++)
		to[i] = i == node ? by : i;
	for (int i = 0; i < q.nnode; i++) {
		if (!node_reads(&q, &q.node[i], (dead[node] = true, dead)))
			continue;
		if (by >= i)
			return err_set(err, "edit: '%s' comes after a user of '%s'", q.node[by].name, q.node[node].name);
		for (int k = 0; k < op_info[q.node[i].op].nparam; k++)
			map_arg(&q.node[i].arg[k], to);
	}
	dead[node] = false;
	for (int i = 0; i < q.nret; i++)
		q.ret[i] = to[q.ret[i]];
	for (int i = 0; i < q.nback; i++)
		q.back[i] = (struct backward){to[q.back[i].node], to[q.back[i].cotangent]};
	return keep_needed(out, &q, dead, a, err);
}

static enum dtype wider(enum dtype dt) { return dtype_is_narrow(dt) ? dtype_compute(dt) : dt == DT_F32 ? DT_F64 : dt; }

/* Dtypes that arguments say; where a tensor is made of nothing, the default says one. Is one another now? */
static bool map_dtypes(struct prog *q, const enum dtype to[NDTYPES])
{
	bool some = false;
	for (int i = 0; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			struct arg *g = &n->arg[k];
			if (op_info[n->op].param[k].kind != K_DTYPE || !(g->tag == ARG_DTYPE || (node_is_source(n) && n->nout)))
				continue;
			enum dtype was = g->tag == ARG_DTYPE ? g->dtype : n->out[0].meta.dtype;
			g->tag = ARG_DTYPE;
			g->dtype = to[was];
			some |= g->dtype != was;
		}
	}
	return some;
}

static bool widen_dtypes(struct prog *q)
{
	enum dtype to[NDTYPES];
	for (int dt = 0; dt < NDTYPES; dt++)
		to[dt] = wider((enum dtype)dt);
	return map_dtypes(q, to);
}

void edit_dtypes(struct prog *q, enum dtype from, enum dtype to)
{
	enum dtype map[NDTYPES];
	for (int dt = 0; dt < NDTYPES; dt++)
		map[dt] = (enum dtype)dt == from ? to : (enum dtype)dt;
	map_dtypes(q, map);
}

static void fill_dyadic(struct prog *q)
{
	int fill = A_input_fill;
	for (int i = 0; i < q->nnode; i++)
		if (q->node[i].op == OP_input && dtype_is_float(q->node[i].out[0].meta.dtype))
			q->node[i].arg[fill].str = "dyadic";
	for (int c = 0; c < q->ncall; c++)
		for (int i = 0; i < q->call[c].ninput; i++)
			if (dtype_is_float(q->node[q->call[c].input[i].node].out[0].meta.dtype))
				q->call[c].input[i].fill = "dyadic";
}

bool edit_widen(struct prog *out, const struct prog *p, struct arena *a, struct err *err)
{
	struct prog q;
	prog_clone(&q, p, a);
	if (!widen_dtypes(&q))
		fill_dyadic(&q);
	if (!prog_infer(&q, err))
		return false;
	*out = q;
	return true;
}

bool edit_reseed(struct prog *out, const struct prog *p, int64_t by, struct arena *a, struct err *err)
{
	struct prog q;
	bool decides[MAX_NODES] = {false};
	prog_clone(&q, p, a);
	prog_deciders(p, decides);
	for (int i = 0; i < q.nnode; i++)
		if (q.node[i].op == OP_input && !decides[i])
			q.node[i].arg[A_input_seed] = arg_int(node_int(&q.node[i], A_input_seed) + by);
	for (int c = 0; c < q.ncall; c++)
		for (int i = 0; i < q.call[c].ninput; i++)
			if (!decides[q.call[c].input[i].node])
				q.call[c].input[i].seed += (uint64_t)by;
	*out = q;
	return prog_validate(out, err);
}

bool edit_return(struct prog *out, const struct prog *p, int node, struct arena *a, struct err *err)
{
	struct prog q;
	for (int i = 0; i < p->nret; i++)
		if (p->ret[i] == node)
			return err_set(err, "edit: it is returned already");
	if (p->nret == MAX_RETURNS || p->node[node].nout != 1 || node_is_sym(&p->node[node]))
		return err_set(err, "edit: it cannot be returned");
	prog_clone(&q, p, a);
	q.ret[q.nret++] = node;
	*out = q;
	return prog_infer(out, err) && prog_validate(out, err);
}

static bool is_written(const struct prog *p, int node)
{
	for (int i = 0; i < p->nnode; i++)
		if (op_has(p->node[i].op, T_MUTATES) && p->node[i].nout && p->node[i].out[0].storage == p->node[node].out[0].storage)
			return true;
	return false;
}

bool edit_copy(struct prog *out, const struct prog *p, int node, struct arena *a, struct err *err)
{
	struct prog q;
	int order[MAX_NODES], to[MAX_NODES], n = 0;
	if (p->node[node].nout != 1 || node_is_sym(&p->node[node]) || p->nnode == MAX_NODES || is_written(p, node))
		return err_set(err, "edit: it cannot be copied");
	prog_clone(&q, p, a);
	int copy = prog_add(&q, OP_clone, NULL);
	q.node[copy].arg[A_clone_self] = arg_tensor(node);
	prog_defaults(&q, copy);
	if (!prog_infer_node(&q, copy, err))
		return false;
	for (int i = 0; i < q.nnode; i++)
		to[i] = i == node ? copy : i;
	for (int i = node + 1; i < copy; i++)
		for (int k = 0; k < op_info[q.node[i].op].nparam; k++)
			map_arg(&q.node[i].arg[k], to);
	for (int i = 0; i < copy; i++) {
		order[n++] = i;
		if (i == node)
			order[n++] = copy;
	}
	*out = q;
	return edit_reorder(out, order, n, err) && prog_validate(out, err);
}
