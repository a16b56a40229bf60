/* gen_size.c: where a program gets a symbolic size from. An argument of its own (s0) is how one would write a test; what people write is
 * what a tensor says (x.shape[0]) or -1, and compilers take another path through their dynamic shapes for each.
 *
 * Whether a tensor says a size is found out and not derived: in every call its dimension has the value of the expression. */
#include "eager/lang/edit.h"
#include "fuzz/gen/gen_symbol.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* The integer's value in call k. It may be newer than the binding, but not its symbols. */
static int64_t value_of(const struct symbolic *s, int k, struct iexpr i)
{
	struct prog call = s->bound[k];
	call.expr = s->p.expr;
	call.nexpr = s->p.nexpr;
	if (!iexpr_eval(&call, &i, NULL))
		BUG("a size that was bound cannot be evaluated");
	return i.value;
}

/* Does dimension d of the tensor have the integer's value in every call? */
static bool says(const struct symbolic *s, int tensor, int d, struct iexpr i)
{
	for (int k = 0; k < s->nbound; k++)
		if (node_meta(&s->bound[k], tensor)->size[d] != value_of(s, k, i))
			return false;
	return true;
}

/* Nodes that were added at the end, from `first` on, go before the nodes that use them. */
static void place(struct symbolic *s, int first, const int *user, int n)
{
	int order[MAX_NODES], k = 0;
	struct err err = {0};
	for (int i = 0; i < first; i++) {
		for (int j = 0; j < n; j++)
			if (user[j] == i)
				order[k++] = first + j;
		order[k++] = i;
	}
	if (n && !edit_reorder(&s->p, order, k, &err))
		BUG("sizes from tensors: %s", err.msg);
	s->failed = s->failed || (n && !symbolic_bind(s));
}

/* What is written in place, and what it is written through: it may be half of an assignment (gen_assign.c). */
static void find_written(const struct prog *p, bool *written)
{
	memset(written, 0, MAX_NODES * sizeof *written);
	for (int i = 0; i < p->nnode; i++)
		if (op_has(p->node[i].op, T_MUTATES))
			written[i] = written[p->node[i].arg[A_INPLACE_self].node] = true;
}

/* ---- views that state sizes ------------------------------------------------------------------------------------------------ */

/* Dimension d as a number, if it is the same in every call, or as a multiple of a symbol; false: neither. */
static bool state_dim(struct symbolic *s, int tensor, int d, struct iexpr *out)
{
	int64_t size = node_meta(&s->p, tensor)->size[d];
	*out = (struct iexpr){size, -1};
	if (says(s, tensor, d, *out))
		return true;
	for (int sym = 0; sym < s->nsym; sym++) {
		int64_t value = s->p.node[sym].sym_value;
		if (size % value)
			continue;
		out->expr = prog_add_expr(&s->p, (struct expr){.op = EX_SYM, .a = sym});
		if (size != value) {
			int times = prog_add_expr(&s->p, (struct expr){.op = EX_CONST, .value = size / value});
			out->expr = prog_add_expr(&s->p, (struct expr){.op = EX_MUL, .a = out->expr, .b = times});
		}
		if (says(s, tensor, d, *out))
			return true;
	}
	return false;
}

/* All of a tensor's sizes; false if none of them is a symbol's, or one cannot be said. */
static bool state_sizes(struct symbolic *s, int tensor, struct arg *out)
{
	const struct meta *m = node_meta(&s->p, tensor);
	bool some = false;
	*out = (struct arg){.tag = ARG_INTS, .n = m->rank, .ints = ARENA_NEW(s->p.arena, struct iexpr, m->rank)};
	for (int d = 0; d < m->rank; d++) {
		if (!state_dim(s, tensor, d, &out->ints[d]))
			return false;
		some |= out->ints[d].expr >= 0;
	}
	return some;
}

/* Which layouts a convolution takes depends on strides of dims of size 1, too: a view of the same sizes may have others. */
static bool looks_at_layout(int op) { return op == OP_convolution || op == OP_convolution_backward; }

int find_operands(const struct prog *p, struct operand_place *out, int max)
{
	bool forward[MAX_NODES], cot[MAX_NODES], written[MAX_NODES];
	int n = 0;
	prog_partition(p, forward, cot);
	find_written(p, written);
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; forward[i] && !written[i] && op_info[p->node[i].op].family != F_INPUT && k < op_info[p->node[i].op].nparam; k++)
			if (p->node[i].arg[k].tag == ARG_TENSOR && !looks_at_layout(p->node[i].op) && op_info[p->node[i].op].param[k].role != R_TUPLE
				&& n < max)
				out[n++] = (struct operand_place){i, k};
	return n;
}

void sizes_stated(struct symbolic *s)
{
	static const int rows[] = {OP_view, OP_reshape, OP_expand};
	struct operand_place place_of[64];
	int user[2], n = 0, first = s->p.nnode, nplace = find_operands(&s->p, place_of, ARRAY_LEN(place_of));
	int want = !nplace || !chance(s->w, PF_sized) ? 0 : 1 + choose_chance(s->w->c, 30);
	for (int tries = 0; tries < 4 && n < want; tries++) {
		struct operand_place at = place_of[choose_below(s->w->c, (uint64_t)nplace)];
		int tensor = s->p.node[at.user].arg[at.arg].node, row = rows[choose_below(s->w->c, ARRAY_LEN(rows))];
		struct arg size;
		if (tensor >= first || (s->w->pol->restricted && !s->w->pol->op[row]) || !state_sizes(s, tensor, &size))
			continue;
		int node = prog_add(&s->p, row, NULL);
		s->p.node[node].arg[A_viewed_self] = arg_tensor(tensor);
		s->p.node[node].arg[row == OP_reshape ? A_reshape_shape : row == OP_view ? A_view_size : A_expand_size] = size;
		if (!prog_infer_node(&s->p, node, NULL))
			BUG("%s refuses its operand's own sizes", op_info[row].name);
		s->p.node[at.user].arg[at.arg] = arg_tensor(node);
		user[n++] = at.user;
	}
	place(s, first, user, n);
}

/* ---- -1 ----------------------------------------------------------------------------------------------------------------- */

static bool has_elements(const struct symbolic *s, int node)
{
	for (int k = 0; k < s->nbound; k++)
		if (meta_numel(node_meta(&s->bound[k], node)) == 0)
			return false;
	return true;
}

/* Entry e of a size follows from the rest: view and reshape count elements, expand keeps self's size. */
static bool follows(const struct symbolic *s, int node, const struct param *q, const struct arg *size, int e)
{
	int self = s->p.node[node].arg[A_viewed_self].node;
	for (int i = 0; i < size->n; i++)
		if (size->ints[i].expr < 0 && size->ints[i].value == -1)
			return false;
	if (q->role != R_EXPAND)
		return has_elements(s, node);
	int d = e - (size->n - node_meta(&s->p, self)->rank);
	return d >= 0 && says(s, self, d, size->ints[e]);
}

void sizes_follow(struct symbolic *s)
{
	for (int i = 0; i < s->p.nnode; i++) {
		struct node *n = &s->p.node[i];
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			const struct param *q = &op_info[n->op].param[k];
			if (q->role != R_VIEW && q->role != R_RESHAPE && q->role != R_EXPAND)
				continue;
			for (int e = 0; e < n->arg[k].n; e++)
				if (n->arg[k].ints[e].expr >= 0 && follows(s, i, q, &n->arg[k], e) && chance(s->w, PF_minus_one))
					n->arg[k].ints[e] = (struct iexpr){-1, -1};
		}
	}
}

/* ---- read off tensors ----------------------------------------------------------------------------------------------------- */

enum { MAX_READ = 4 };
struct reading {
	int tensor, dim;
}; /* tensor.shape[dim] */
struct readings {
	struct symbolic *s;
	bool forward[MAX_NODES], written[MAX_NODES];
	int percent; /* of the places where a tensor says the size */
	int first;   /* symbol of reading[0] */
	int n;
	struct reading reading[MAX_READ];
	int user[MAX_READ]; /* the first one */
};

/* A tensor before the user that says the integer. */
static bool find_reading(const struct readings *r, int user, struct iexpr i, struct reading *out)
{
	struct reading found[16];
	int n = 0;
	const struct prog *p = &r->s->p;
	for (int t = 0; t < user; t++) {
		if (!r->forward[t] || r->written[t] || p->node[t].nout != 1 || op_info[p->node[t].op].nret != 1)
			continue;
		for (int d = 0; d < node_meta(p, t)->rank && n < ARRAY_LEN(found); d++)
			if (says(r->s, t, d, i))
				found[n++] = (struct reading){t, d};
	}
	if (n)
		*out = found[choose_below(r->s->w->c, (uint64_t)n)];
	return n > 0;
}

/* Its symbol: one that is there, or a new one; -1: there are enough. */
static int symbol_of(struct readings *r, struct reading x, int user)
{
	struct prog *p = &r->s->p;
	for (int i = 0; i < r->n; i++)
		if (r->reading[i].tensor == x.tensor && r->reading[i].dim == x.dim)
			return r->first + i;
	if (r->n == MAX_READ)
		return -1;
	int node = prog_add(p, OP_sym_size, arena_printf(p->arena, "n%d", r->n));
	p->node[node].arg[A_sym_size_self] = arg_tensor(x.tensor);
	p->node[node].arg[A_sym_size_dim] = arg_int(chance(r->s->w, PF_negative) ? x.dim - node_meta(p, x.tensor)->rank : x.dim);
	if (!prog_infer_node(p, node, NULL))
		BUG("sym_size.int refused");
	r->user[r->n] = user;
	r->reading[r->n++] = x;
	return node;
}

/* The integer as a symbol that is read off a tensor, or made of one. */
static void read_integer(struct readings *r, int user, struct iexpr *i)
{
	struct prog *p = &r->s->p;
	struct reading x;
	if (i->expr < 0 || p->expr[i->expr].op == EX_CONST)
		return;
	int sym = find_reading(r, user, *i, &x) ? symbol_of(r, x, user) : -1;
	if (sym >= 0) {
		i->expr = prog_add_expr(p, (struct expr){.op = EX_SYM, .a = sym});
	} else if (p->expr[i->expr].op != EX_SYM) {
		struct expr e = p->expr[i->expr];
		struct iexpr a = {0, e.a};
		read_integer(r, user, &a);
		e.a = a.expr;
		i->expr = prog_add_expr(p, e);
	}
}

void sizes_read(struct symbolic *s)
{
	struct readings r = {.s = s, .first = s->p.nnode};
	bool cot[MAX_NODES];
	int read = s->w->pol->chance[PF_read_sizes], mixed = s->w->pol->chance[PF_mixed_sizes];
	const int weight[] = {MAX(100 - read - mixed, 0), read, mixed};
	static const int percent[] = {0, 100, 50};
	r.percent = percent[choose_weighted(s->w->c, weight, ARRAY_LEN(weight))];
	prog_partition(&s->p, r.forward, cot);
	find_written(&s->p, r.written);
	for (int i = 0; i < r.first; i++) {
		for (int k = 0; r.forward[i] && op_info[s->p.node[i].op].family != F_INPUT && k < op_info[s->p.node[i].op].nparam; k++) {
			struct arg a = s->p.node[i].arg[k];
			if (a.tag == ARG_INT && choose_chance(s->w->c, r.percent))
				read_integer(&r, i, &a.i);
			for (int e = 0; a.tag == ARG_INTS && e < a.n; e++)
				if (a.ints[e].expr >= 0 && choose_chance(s->w->c, r.percent))
					read_integer(&r, i, &a.ints[e]);
			s->p.node[i].arg[k] = a; /* nodes may have moved */
		}
	}
	place(s, r.first, r.user, r.n);
}
