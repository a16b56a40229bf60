/* reinplace.c: a row may overwrite its operand if nothing reads the operand's memory any more, or if the first thing that touches it again
 * is a `copy_` that puts the row's result there. Rows are tried from the last to the first: when one is tried, those behind it have their
 * final form.
 *
 * Two storages are meant throughout: FROM, the operand's, and TO, the memory of its own that the functional row's result has so far, which
 * becomes part of FROM. */
#include "compiled/passes/reinplace.h"

#include "compiled/passes/pass.h"
#include "eager/lang/edit.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- who touches which memory ---- */

static bool lies_in(const struct node *n, int storage)
{
	for (int k = 0; k < n->nout; k++)
		if (n->out[k].storage == storage)
			return true;
	return false;
}

/* An operand of n other than its first lies there; first: that one, too. */
static bool operand_in(const struct prog *p, const struct node *n, int storage, bool first)
{
	for (int k = first ? 0 : 1; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR && lies_in(&p->node[a->node], storage))
			return true;
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			if (a->nodes[i] >= 0 && lies_in(&p->node[a->nodes[i]], storage))
				return true;
	}
	return false;
}

/* Who makes a view of memory does not read it; who reads the view does. Who writes memory counts as its reader, too. */
static bool reads(const struct prog *p, int row, int storage)
{
	const struct node *n = &p->node[row];
	return !node_is_input(n) && !node_shares_memory(p, n) && operand_in(p, n, storage, true);
}

static bool writes(const struct prog *p, int row, int storage)
{
	const struct node *n = &p->node[row];
	return op_has(n->op, T_MUTATES) && n->out[0].storage == storage;
}

static bool returned(const struct prog *p, int storage)
{
	for (int i = 0; i < p->nret; i++)
		if (lies_in(&p->node[p->ret[i]], storage))
			return true;
	return false;
}

static bool read_by_other(const struct prog *p, int value, int reader)
{
	bool *is_value = ARENA_ZNEW(p->arena, bool, p->nnode);
	is_value[value] = true;
	for (int i = 0; i < p->nret; i++)
		if (p->ret[i] == value)
			return true;
	for (int i = value + 1; i < p->nnode; i++)
		if (i != reader && node_reads(p, &p->node[i], is_value))
			return true;
	return false;
}

/* ---- may the row overwrite its operand? ---- */

struct candidate {
	const struct prog *p;
	const bool *donated; /* by input storage */
	int row, self;       /* the row and its first operand, the one that it would overwrite */
	int from, to;        /* their storages */
	bool in_layout;      /* the result has the operand's layout; else only a copy_ may see it */
	int copy;            /* the copy_ that has nothing left to do; NO_VALUE: none */
};

static bool same_cells(const struct meta *a, const struct meta *b)
{
	if (meta_identical(a, b))
		return true;
	return meta_is_non_overlapping_and_dense(a) && meta_is_non_overlapping_and_dense(b) && a->offset == b->offset
		&& meta_numel(a) == meta_numel(b);
}

/* Does it only put the row's result into the operand's cells? */
static bool puts_back(const struct candidate *c, int copy)
{
	const struct prog *p = c->p;
	const struct node *n = &p->node[copy];
	if (n->op != OP_copy_ || n->arg[A_copy__src].tag != ARG_TENSOR || n->out[0].storage != c->from || read_by_other(p, copy, NO_VALUE))
		return false;
	const int src = n->arg[A_copy__src].node;
	const struct meta *self = node_meta(p, c->self);
	if (c->in_layout && p->node[src].out[0].storage == c->to)
		return meta_identical(&n->out[0].meta, node_meta(p, src)) && same_cells(&n->out[0].meta, self);
	return src == c->row && meta_identical(&n->out[0].meta, self) && !read_by_other(p, src, copy);
}

/* What reads TO behind the copy_ finds there what the copy_ has put there, and what is put there then nobody takes for FROM. */
static bool settled(const struct candidate *c)
{
	const struct prog *p = c->p;
	bool written = false;
	for (int i = c->copy + 1; i < p->nnode; i++) {
		const bool again = writes(p, i, c->from);
		if (writes(p, i, c->to) || (reads(p, i, c->to) && (written || again)))
			return false;
		written |= again;
	}
	return !returned(p, c->to);
}

static bool dies(struct candidate *c)
{
	c->copy = NO_VALUE;
	for (int i = c->row + 1; i < c->p->nnode; i++) {
		if (!reads(c->p, i, c->from))
			continue;
		c->copy = i;
		return puts_back(c, i) && settled(c);
	}
	const bool ours = c->from >= MAX_NODES || (c->donated && c->donated[c->from]);
	return c->in_layout && ours && !returned(c->p, c->from);
}

/* Rows that read memory by place find there what the result has, not what lies around it. */
static bool windows_hold(const struct candidate *c)
{
	const struct meta *m = node_meta(c->p, c->row);
	return !prog_has_window(c->p, c->row) || meta_extent(m) == meta_numel(m);
}

/* by_place: what the row does depends on where its operand lies. */
static bool may_overwrite(struct candidate *c, const struct prog *p, const bool *donated, int row, bool by_place)
{
	const struct node *n = &p->node[row];
	if (n->nout != 1 || n->arg[A_INPLACE_self].tag != ARG_TENSOR || node_shares_memory(p, n))
		return false;
	*c = (struct candidate){.p = p, .donated = donated, .row = row, .self = n->arg[A_INPLACE_self].node};
	const struct meta *self = node_meta(p, c->self), *m = node_meta(p, row);
	c->from = p->node[c->self].out[0].storage;
	c->to = n->out[0].storage;
	c->in_layout = meta_identical(self, m);
	if (self->dtype != m->dtype || !meta_same_sizes(self, m) || (by_place && !c->in_layout))
		return false;
	return dies(c) && !meta_has_duplicates(self) && windows_hold(c);
}

/* ---- rewriting ---- */

/* Every row in its place, but `last` rows from the end at `at`, and without `gone`. */
static bool arrange(struct prog *p, int last, int at, int gone, struct err *err)
{
	int order[MAX_NODES], n = 0;
	const int old = p->nnode - last;
	for (int i = 0; i < old; i++) {
		for (int k = 0; i == at && k < last; k++)
			order[n++] = old + k;
		if (i != gone)
			order[n++] = i;
	}
	return edit_reorder(p, order, n, err);
}

static void storages_become_one(struct prog *p, int to, int from)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->node[i].nout; k++)
			if (p->node[i].out[k].storage == to)
				p->node[i].out[k].storage = from;
}

/* An operand in the memory that is written is read before it is written only element by element. */
static bool operands_keep(const struct candidate *c)
{
	const struct prog *p = c->p;
	const struct node *n = &p->node[c->row];
	if (!operand_in(p, n, c->from, false))
		return true;
	for (int k = 1; k < op_info[n->op].nparam; k++)
		if (n->arg[k].tag == ARG_TENSOR && p->node[n->arg[k].node].out[0].storage == c->from
			&& !meta_identical(node_meta(p, n->arg[k].node), node_meta(p, c->self)))
			return false;
	return op_has(n->op, T_POINTWISE);
}

static bool become_inplace(bool *done, struct prog *p, const bool *donated, int row, struct err *err)
{
	struct candidate c;
	struct node *n = &p->node[row];
	const struct node was = *n;
	*done = false;
	if (!may_overwrite(&c, p, donated, row, false) || !operands_keep(&c))
		return true;
	n->op = op_inplace(was.op);
	if (n->op < 0 || !prog_infer_node(p, row, NULL)) { /* there is none, or it does not take this dtype */
		*n = was;
		return true;
	}
	storages_become_one(p, c.to, c.from);
	*done = true;
	return c.copy == NO_VALUE || arrange(p, 0, NO_VALUE, c.copy, err);
}

/* The view whose region a scatter replaces, -1: op replaces none; *src: the argument with what is put there. */
static int region_view(int *src, int op)
{
	for (int k = 0; op_has(op, T_SCATTER) && k < op_info[op].nparam; k++) {
		const struct param *q = &op_info[op].param[k];
		const int view = q->role == R_LIKE ? op_find(q->like) : -1;
		*src = k;
		if (view >= 0 && op_has(view, T_VIEW))
			return view;
	}
	return -1;
}

/* Appends the view of the scatter's base. */
static int append_view(struct prog *p, const struct node *scatter, int view)
{
	const int row = prog_add(p, view, NULL);
	struct node *n = &p->node[row];
	for (int k = 0; k < op_info[view].nparam; k++) {
		const int same = op_param(scatter->op, op_info[view].param[k].name);
		CHECK(same >= 0);
		n->arg[k] = scatter->arg[same];
	}
	return row;
}

static bool become_write(bool *done, struct prog *p, const bool *donated, int row, struct err *err)
{
	struct candidate c;
	int src;
	const struct node was = p->node[row];
	const int op = region_view(&src, was.op);
	*done = false;
	if (op < 0 || p->nnode + 2 > MAX_NODES || !may_overwrite(&c, p, donated, row, op == OP_as_strided)
		|| operand_in(p, &was, c.from, false))
		return true;
	const int view = append_view(p, &was, op);
	if (!prog_infer_node(p, view, NULL) || meta_has_duplicates(node_meta(p, view))) {
		p->nnode--;
		return true;
	}
	const int copy = prog_add(p, OP_copy_, NULL);
	struct node *n = &p->node[row];
	p->node[copy].arg[A_INPLACE_self] = arg_tensor(view);
	p->node[copy].arg[A_copy__src] = was.arg[src];
	memset(n->arg, 0, sizeof n->arg);
	n->op = OP_alias;
	n->arg[A_VIEW_self] = arg_tensor(c.self);
	*done = true;
	return arrange(p, 2, row, c.copy, err);
}

/* A copy_ that went had a view to write to, and a scatter that became a write may have had no other reader. */
static bool drop_unread_views(struct prog *p, struct err *err)
{
	bool *read = ARENA_ZNEW(p->arena, bool, p->nnode);
	int order[MAX_NODES], n = 0;
	for (int i = 0; i < p->nret; i++)
		read[p->ret[i]] = true;
	for (int i = p->nnode - 1; i >= 0; i--) {
		read[i] |= node_is_input(&p->node[i]) || !row_is_view(p, i);
		if (read[i])
			node_mark_operands(p, &p->node[i], read);
	}
	for (int i = 0; i < p->nnode; i++)
		if (read[i])
			order[n++] = i;
	return edit_reorder(p, order, n, err);
}

bool reinplace(struct prog *p, bool pointwise, const bool *donated, struct err *err)
{
	bool any = false;
	for (int i = p->nnode - 1; i >= 0; i--) {
		bool done;
		if (!pointwise && op_has(p->node[i].op, T_POINTWISE))
			continue;
		if (!become_inplace(&done, p, donated, i, err) || (!done && !become_write(&done, p, donated, i, err)))
			return false;
		any |= done;
	}
	return !any || drop_unread_views(p, err);
}
