/* spoil.c: see spoil.h. The program as it was is kept until the shape rules have taken the change. */
#include "compiled/defects/spoil.h"

#include "generated/op_id.h"

struct before {
	struct prog p;
	struct pure g;
};

static void keep(struct before *b, const struct pure *g)
{
	prog_clone(&b->p, g->p, g->p->arena);
	b->g = *g; /* whose p is the program that changes */
}

static bool undo(struct pure *g, const struct before *b)
{
	*g = b->g;
	*g->p = b->p;
	return false;
}

/* What the epilogue writes to an input still fits there: later steps take that for granted. */
static bool writes_fit(const struct pure *g, const struct before *b)
{
	for (int i = 0; i < g->nresult; i++) {
		if (g->result[i].role != RESULT_WRITTEN)
			continue;
		const struct meta *was = node_meta(&b->p, b->g.result[i].value), *is = node_meta(g->p, g->result[i].value);
		if (was->dtype != is->dtype || !meta_same_sizes(was, is))
			return false;
	}
	return true;
}

static bool inferred_again(struct pure *g, bool *changed, const struct before *b)
{
	struct err err = {0};
	return (pure_update(g, changed, &err) && writes_fit(g, b)) || undo(g, b);
}

static bool one_changed(struct pure *g, int row, const struct before *b)
{
	bool *changed = ARENA_ZNEW(g->p->arena, bool, g->p->nnode);
	changed[row] = true;
	return inferred_again(g, changed, b);
}

bool spoil_row(struct defect_site *s, int from, row_spoiler *spoil)
{
	struct prog *p = s->g->p;
	for (int i = from; i < p->nnode; i++) {
		struct before b;
		const struct node was = p->node[i];
		if (node_is_input(&was) || !spoil(s, &p->node[i], i))
			continue;
		keep(&b, s->g);
		b.p.node[i] = was;
		if (one_changed(s->g, i, &b))
			return true;
	}
	return false;
}

/* ---- operands ---- */

static bool renumbered(struct prog *p, struct arg *a, const int *to)
{
	bool changed = false;
	if (a->tag == ARG_TENSOR) {
		changed = to[a->node] != a->node;
		a->node = to[a->node];
	} else if (a->tag == ARG_TENSORS) {
		*a = arg_nodes(p, a->nodes, a->n);
		for (int k = 0; k < a->n; k++) {
			const int new = a->nodes[k] < 0 ? a->nodes[k] : to[a->nodes[k]];
			changed |= new != a->nodes[k];
			a->nodes[k] = new;
		}
	}
	return changed;
}

/* Of rows from `from` on, and of results. changed: the rows, NULL: nobody asks. */
static void renumber(struct pure *g, int from, const int *to, bool *changed)
{
	struct prog *p = g->p;
	for (int i = from; i < p->nnode; i++)
		for (int k = 0; k < op_info[p->node[i].op].nparam; k++)
			if (renumbered(p, &p->node[i].arg[k], to) && changed)
				changed[i] = true;
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].value != NO_VALUE)
			g->result[i].value = to[g->result[i].value];
	for (int i = 0; i < p->nret; i++)
		p->ret[i] = to[p->ret[i]];
}

static int *numbers(const struct prog *p)
{
	int *to = ARENA_NEW(p->arena, int, p->nnode);
	for (int i = 0; i < p->nnode; i++)
		to[i] = i;
	return to;
}

/* ---- values taken for others ---- */

/* Whoever reads row i reads `by`, of another layout perhaps. */
static bool read_instead(struct pure *g, int i, int by, const struct before *b)
{
	int *to = numbers(g->p);
	bool *changed = ARENA_ZNEW(g->p->arena, bool, g->p->nnode);
	to[i] = by;
	renumber(g, i + 1, to, changed);
	return inferred_again(g, changed, b);
}

bool spoil_readers(struct defect_site *s, int from, row_twin *twin)
{
	struct prog *p = s->g->p;
	for (int i = from; i < p->nnode; i++) {
		struct before b;
		const int by = node_is_input(&p->node[i]) ? NO_VALUE : twin(s, i);
		if (by == NO_VALUE)
			continue;
		CHECK(by < i);
		keep(&b, s->g);
		if (read_instead(s->g, i, by, &b))
			return true;
	}
	return false;
}

/* ---- rows in the place of others ---- */

/* Rows [appended, nnode) are moved before row i. */
static void move_before(struct pure *g, int i, int appended)
{
	struct prog *p = g->p;
	const int more = p->nnode - appended;
	struct node *rows = ARENA_NEW(p->arena, struct node, p->nnode);
	int *to = ARENA_NEW(p->arena, int, p->nnode);
	for (int k = 0; k < p->nnode; k++) {
		to[k] = k < i ? k : k < appended ? k + more : k - appended + i;
		rows[to[k]] = p->node[k];
	}
	memcpy(p->node, rows, (size_t)p->nnode * sizeof *rows);
	renumber(g, 0, to, NULL);
}

static bool stands_for(const struct meta *a, const struct meta *b, bool any_layout)
{
	return any_layout ? a->dtype == b->dtype && meta_same_sizes(a, b) : meta_identical(a, b);
}

static bool put_rows(struct defect_site *s, int from, row_maker *make, bool any_layout)
{
	struct prog *p = s->g->p;
	for (int i = from; i < p->nnode; i++) {
		struct before before;
		struct err err = {0};
		const int appended = p->nnode;
		if (node_is_input(&p->node[i]) || p->node[i].nout != 1 || p->nnode > MAX_NODES - 8)
			continue;
		keep(&before, s->g);
		struct build b = {.p = p, .may_refuse = true};
		const int value = make(&b, s, i);
		if (value == NO_VALUE || b.refusal.msg[0] || !stands_for(node_meta(p, value), node_meta(p, i), any_layout)) {
			undo(s->g, &before);
			continue;
		}
		const int more = p->nnode - appended, by = value < appended ? value : value - appended + i;
		move_before(s->g, i, appended);
		if (any_layout ? read_instead(s->g, i + more, by, &before) : pure_replace(s->g, i + more, by, &err)) {
			s->nforward += i < s->nforward ? more : 0;
			return true;
		}
		undo(s->g, &before);
	}
	return false;
}

bool spoil_with(struct defect_site *s, int from, row_maker *make) { return put_rows(s, from, make, false); }
bool spoil_with_layout(struct defect_site *s, int from, row_maker *make) { return put_rows(s, from, make, true); }

/* ---- what defects ask ---- */

void become_unary(struct prog *p, struct node *n, int op)
{
	const struct arg self = n->arg[0];
	memset(n->arg, 0, sizeof n->arg);
	n->op = op;
	n->arg[0] = self;
	prog_defaults(p, (int)(n - p->node));
}

bool is_result(const struct pure *g, int value, enum result_role role)
{
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].value == value && g->result[i].role == role)
			return true;
	return false;
}
