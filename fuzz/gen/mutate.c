/* mutate.c: a mutant is a replay of its parent's rows through the generator, with changes at some of them. */
#include "fuzz/gen/mutate.h"

#include "eager/lang/fill.h"
#include "eager/lang/shrink_size.h"
#include "eager/lang/vary.h"
#include "eager/run/legality.h"
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"
#include "generated/op_input.h"

const char *const mutation_name[NMUTATIONS] = {
#define MUTATION(id, weight, what) [MUTATE_##id] = what,
	MUTATIONS(MUTATION)
#undef MUTATION
};
static const int mutation_weight[NMUTATIONS] = {
#define MUTATION(id, weight, what) [MUTATE_##id] = weight,
	MUTATIONS(MUTATION)
#undef MUTATION
};

/* A parent with more operator rows only shrinks, and is no donor; no size grows beyond so many elements in all. */
enum { MAX_CHANGES = 5, MAX_ROWS = 12, MAX_ELEMENTS = 1 << 14 };
struct change {
	enum mutation kind;
	int row; /* of the parent; -1: of none */
};
struct replay {
	struct world *w;
	const struct prog *from;
	int to[MAX_NODES];     /* of from: the value of w->p that stands for it; -1: none */
	bool other[MAX_NODES]; /* of w->p: it is not what it was in `from` */
	bool wrote;            /* a change wrote to memory: who has a gradient may have changed */
	int nchange;
	struct change change[MAX_CHANGES];
};

/* ---- a row as it was ------------------------------------------------------------------------------------------------------------- */

/* Of a row with several results the first one. */
static int value_of(const struct world *w, int node)
{
	bool tuple = node >= 0 && !w->fact[node].usable && node + 1 < w->p->nnode && w->p->node[node + 1].op == OP_getitem;
	return tuple ? node + 1 : node;
}

static struct arg mapped(const struct replay *r, const struct arg *old)
{
	struct prog *p = r->w->p;
	struct arg a = *old;
	switch (a.tag) {
	case ARG_TENSOR: a.node = r->to[a.node]; break;
	case ARG_TENSORS:
		a = arg_nodes(p, old->nodes, old->n);
		for (int i = 0; i < a.n; i++)
			a.nodes[i] = a.nodes[i] < 0 ? -1 : r->to[a.nodes[i]];
		break;
	case ARG_INT: a.i.expr = -1; break;
	case ARG_INTS:
		a.ints = ARENA_NEW(p->arena, struct iexpr, MAX(a.n, 1));
		for (int i = 0; i < a.n; i++)
			a.ints[i] = (struct iexpr){old->ints[i].value, -1};
		break;
	default: break;
	}
	return a;
}

/* Conditions on an argument that shape rules do not check: they held for the operands as they were. */
static bool role_is_delicate(enum role role)
{
	return role_has(role, RF_POSITIONS | RF_FOLLOWS | RF_FOLLOWS_LAST | RF_DIVIDES) || role == R_STRIDED || role == R_WHOLE;
}

struct operand_change {
	bool lost, dtype, other, grad;
};

static void operand_changed(struct operand_change *c, const struct replay *r, int old)
{
	int new = r->to[old];
	if (new < 0 || !r->from->node[old].nout || !r->w->p->node[new].nout) {
		c->lost |= new < 0;
		return;
	}
	const struct meta *m = node_meta(r->from, old), *n = node_meta(r->w->p, new);
	c->lost |= !r->w->fact[new].usable;
	c->dtype |= m->dtype != n->dtype;
	c->other |= r->other[new] || m->rank != n->rank || memcmp(m->size, n->size, sizeof *m->size * (size_t)m->rank) != 0;
	c->grad |= has_grad(r->w, new);
}

static struct operand_change operands_changed(const struct replay *r, const struct node *n)
{
	struct operand_change c = {0};
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (a->tag == ARG_TENSOR)
			operand_changed(&c, r, a->node);
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			if (a->nodes[i] >= 0)
				operand_changed(&c, r, a->nodes[i]);
	}
	return c;
}

/* How many positions there are for entry j of argument k. */
static int64_t positions(const struct replay *r, const struct node *n, int k, int j)
{
	const struct meta *m = node_meta(r->w->p, r->to[n->arg[op_self(n->op)].node]);
	int64_t dim = 0;
	if (op_info[n->op].param[k].role == R_ROWS)
		return node_int(n, op_arg(n->op, N_num_weights));
	for (int i = op_info[n->op].nparam - 1; i >= 0; i--)
		if (op_info[n->op].param[i].kind == K_DIM && n->arg[i].tag == ARG_INT)
			dim = node_int(n, i);
	dim = n->arg[k].tag == ARG_TENSORS ? j : dim < 0 ? dim + MAX(m->rank, 1) : dim;
	return dim >= 0 && dim < m->rank ? m->size[dim] : 1;
}

/* Sizes that changed as a whole leave positions behind that were in range. */
static bool positions_fit(const struct replay *r, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		if (!role_is_positions(op_info[n->op].param[k].role))
			continue;
		if (a->tag == ARG_TENSOR && (r->w->fact[r->to[a->node]].high > positions(r, n, k, 0) || r->w->fact[r->to[a->node]].around))
			return false;
		for (int j = 0; a->tag == ARG_TENSORS && j < a->n; j++) {
			const struct fact *f = a->nodes[j] >= 0 ? &r->w->fact[r->to[a->nodes[j]]] : NULL;
			const int64_t high = f ? positions(r, n, k, j) : 0;
			if (f && (f->high > high || (f->around && f->unique && f->high < high)))
				return false;
		}
	}
	return true;
}

/* The row means the same, or at least something, on the operands that there are now. */
static bool still_fits(struct replay *r, const struct node *n, const struct operand_change *c)
{
	bool delicate = false;
	int k = op_self(n->op);
	if (c->lost || c->dtype)
		return false;
	for (int i = 0; i < op_info[n->op].nparam; i++)
		delicate |= role_is_delicate(op_info[n->op].param[i].role);
	if (delicate && (c->other || (r->wrote && c->grad)))
		return false;
	if (k < 0 || n->arg[k].tag != ARG_TENSOR)
		return true;
	int self = r->to[n->arg[k].node];
	if (!positions_fit(r, n))
		return false;
	r->w->overlap = legality_sets_one_value(n->op);
	return self_fits(r->w, n->op, &op_info[n->op].param[k], self)
		&& !(has_mask(n->op) && has_grad(r->w, self) && meta_has_duplicates(node_meta(r->w->p, self)));
}

/* Element k of a row with several results: there once. */
static int find_getitem(const struct replay *r, const struct node *n)
{
	int tuple = r->to[n->arg[A_getitem_self].node];
	for (int i = 0; tuple >= 0 && i < r->w->p->nnode; i++) {
		const struct node *g = &r->w->p->node[i];
		if (g->op == OP_getitem && g->arg[A_getitem_self].node == tuple && node_int(g, A_getitem_index) == node_int(n, A_getitem_index))
			return i;
	}
	return -1;
}

static int cut_back(struct prog *p, int nnode, int nstorage)
{
	p->nnode = nnode;
	p->nstorage = nstorage;
	return -1;
}

static int copy_operator(struct replay *r, const struct node *n)
{
	struct prog *p = r->w->p;
	int nnode = p->nnode, nstorage = p->nstorage;
	const char *why;
	struct operand_change c = {0};
	if (n->op == OP_getitem) {
		int tuple = r->to[n->arg[A_getitem_self].node], there = find_getitem(r, n);
		if (there >= 0 || tuple < 0 || op_info[p->node[tuple].op].nret == 1 || p->node[tuple].nout <= node_int(n, A_getitem_index))
			return there;
		c.other = r->other[tuple];
	} else {
		c = operands_changed(r, n);
		if (!still_fits(r, n, &c))
			return -1;
	}
	int node = prog_add(p, n->op, n->name);
	for (int k = 0; k < op_info[n->op].nparam; k++)
		p->node[node].arg[k] = mapped(r, &n->arg[k]);
	if (!state_count(r->w, node) || !prog_infer_node(p, node, NULL) || !small_enough(r->w, node) || !admit(r->w, node, &why))
		return cut_back(p, nnode, nstorage);
	count_uses(r->w, &p->node[node]);
	r->other[node] = c.other;
	r->wrote |= c.other && op_has(n->op, T_MUTATES);
	return node;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------------ */

/* What the generator asked for when it made such an input, as far as the row says it. */
static struct input_spec spec_of(const struct node *n)
{
	const char *fill = n->arg[A_input_fill].str;
	struct input_spec s = {.dtype = n->out[0].meta.dtype};
	bool positions = fill_is_positions(fill);
	if (positions || str_eq(fill, "mask") || str_eq(fill, "wide"))
		s.fill = fill;
	if (positions && node_given(n, A_input_high))
		s.high = node_int(n, A_input_high);
	if (positions && node_given(n, A_input_dim))
		s.dim = (int)node_int(n, A_input_dim);
	s.positive = str_eq(fill, "positive");
	s.no_grad = !n->arg[A_input_requires_grad].b;
	return s;
}

/* Positions that the text gives: below the highest of them; not negative, or in no range that is known. */
static struct fact data_positions(struct fact f, const struct arg *data)
{
	f.index = f.frozen = true;
	for (int i = 0; i < data->n; i++)
		f.high = data->data[i].i < 0 || data->data[i].i >= INT32_MAX ? INT32_MAX : MAX(f.high, (int)data->data[i].i + 1);
	return f;
}

static int copy_input(struct replay *r, const struct node *n)
{
	struct prog *p = r->w->p;
	bool view = n->op == OP_input_view, data = !view && node_given(n, A_input_data);
	int base = view ? r->to[n->arg[A_input_view_base].node] : -1, nnode = p->nnode, nstorage = p->nstorage;
	if (view && (base < 0 || r->other[base] || p->node[base].op != OP_input))
		return -1;
	struct input_spec spec = view ? (struct input_spec){.dtype = n->out[0].meta.dtype} : spec_of(n);
	int node = prog_add(p, n->op, n->name);
	for (int k = 0; k < op_info[n->op].nparam; k++)
		p->node[node].arg[k] = mapped(r, &n->arg[k]);
	if (!prog_infer_node(p, node, NULL))
		return cut_back(p, nnode, nstorage);
	fact_input(r->w, node, &spec, node_requires_grad(n), base);
	if (data && n->out[0].meta.dtype == DT_I64) /* perhaps positions */
		r->w->fact[node] = data_positions(r->w->fact[node], &n->arg[A_input_data]);
	if (data || (!view && str_eq(n->arg[A_input_fill].str, "special")))
		r->w->fact[node].bits = dtype_is_float(spec.dtype) ? UNBOUNDED : 62;
	r->other[node] = false;
	return node;
}

static bool is_base(const struct replay *r, int row)
{
	for (int i = row + 1; i < r->from->nnode; i++)
		if (r->from->node[i].op == OP_input_view && r->from->node[i].arg[A_input_view_base].node == row)
			return true;
	return false;
}

/* Another layout; sizes, dtype and gradient now and then. Where it holds positions or is shared it stays as it was. */
static int changed_input(struct replay *r, int row)
{
	struct world *w = r->w;
	const struct node *n = &r->from->node[row];
	if (n->op != OP_input || node_given(n, A_input_data) || spec_of(n).fill || is_base(r, row))
		return copy_input(r, n);
	struct input_spec spec = spec_of(n);
	struct shape s = shape_of(&n->out[0].meta);
	struct policy louder = *w->pol;
	const struct policy *old = w->pol;
	louder.chance[PF_permuted] = louder.chance[PF_gapped] = 35;
	louder.chance[PF_offset] = louder.chance[PF_broadcast] = 20;
	louder.chance[PF_overlap] = 10;
	if (s.rank && choose_chance(w->c, 30))
		s.size[choose_below(w->c, (uint64_t)s.rank)] = draw_size(w);
	if (choose_chance(w->c, 20))
		draw_dtype(w, dtype_is_float(spec.dtype) ? DTS_FLOAT : DTS_INT, &spec.dtype);
	if (choose_chance(w->c, 20))
		spec.no_grad = !spec.no_grad;
	shape_limit(&s, w->max_numel);
	w->pol = &louder;
	int node = add_input(w, &s, &spec);
	w->pol = old;
	if (node >= 0)
		r->other[node] = true;
	return node < 0 ? copy_input(r, n) : node;
}

/* ---- changes ----------------------------------------------------------------------------------------------------------------------- */

/* Marks what add_op made since `from`. */
static int made(struct replay *r, int from, int node)
{
	for (int i = from; i < r->w->p->nnode; i++) {
		r->other[i] = true;
		r->wrote |= op_has(r->w->p->node[i].op, T_MUTATES);
	}
	return node;
}

static bool admits_op(const struct world *w, int op) { return !w->pol->restricted || w->pol->op[op]; }

static int drawn(struct replay *r, int op, int self)
{
	int from = r->w->p->nnode;
	if (op < 0 || !admits_op(r->w, op) || from > MAX_NODES / 2 || (self >= 0 && !r->w->fact[self].usable))
		return -1;
	return made(r, from, add_op(r->w, op, self));
}

static int draw_of_family(struct world *w, enum family f)
{
	return w->pol->nby_family[f] ? w->pol->by_family[f][choose_below(w->c, (uint64_t)w->pol->nby_family[f])] : -1;
}

/* By the block's weights, or of any family. */
static int draw_any_op(struct world *w)
{
	if (choose_chance(w->c, 50))
		return draw_op(w);
	return draw_of_family(w, (enum family)choose_int(w->c, F_VIEW, NFAMILIES - 1));
}

static int mapped_self(const struct replay *r, const struct node *n)
{
	int k = op_self(n->op);
	if (k < 0 || n->arg[k].tag != ARG_TENSOR)
		return -1;
	return r->to[n->arg[k].node];
}

/* What the row said on other arguments; else nothing, and readers read its operand. */
static int repaired(struct replay *r, const struct node *n)
{
	int self = value_of(r->w, mapped_self(r, n));
	if (op_info[n->op].family == F_INPUT || n->op == OP_getitem)
		return self;
	int node = drawn(r, n->op, self);
	return node >= 0 ? node : self;
}

static enum family inserted_family(enum mutation kind) { return kind == MUTATE_VIEW ? F_VIEW : F_INPLACE; }

/* After a value: its readers read what is made of it, or go on reading the value. */
static int insert_after(struct replay *r, enum mutation kind, int node)
{
	struct world *w = r->w;
	enum { TRIES = 4 };
	int value = value_of(w, node), new = -1;
	for (int i = 0; i < TRIES && value >= 0 && new < 0; i++)
		new = value_of(w, drawn(r, kind == MUTATE_INSERT ? draw_any_op(w) : draw_of_family(w, inserted_family(kind)), value));
	return new >= 0 && value == node && w->fact[new].usable &&choose_chance(w->c, 65) ? new : node;
}

static int change_operator(struct replay *r, const struct node *n, enum mutation kind)
{
	enum { TRIES = 4 };
	int self = value_of(r->w, mapped_self(r, n)), node = -1;
	if (kind == MUTATE_DROP)
		return self;
	for (int i = 0; i < TRIES && node < 0; i++) {
		int op = kind == MUTATE_REDRAW ? n->op : draw_of_family(r->w, op_info[n->op].family);
		node = drawn(r, op, self);
	}
	return kind == MUTATE_REDRAW ? node : value_of(r->w, node);
}

static int as_it_was(struct replay *r, int row)
{
	const struct node *n = &r->from->node[row];
	int node = node_is_input(n) ? copy_input(r, n) : copy_operator(r, n);
	return node >= 0 ? node : repaired(r, n);
}

/* Beside the row that was just made: the same once more. */
static void row_again(struct replay *r, int row)
{
	const struct node *n = &r->from->node[row];
	if (node_is_input(n) || r->w->p->nnode > MAX_NODES / 2)
		return;
	if (choose_chance(r->w->c, 50) || copy_operator(r, n) < 0)
		change_operator(r, n, MUTATE_REDRAW);
}

static int replay_row(struct replay *r, int row)
{
	const struct node *n = &r->from->node[row];
	int node = -1;
	for (int i = 0; i < r->nchange; i++) {
		const struct change *c = &r->change[i];
		if (c->row != row || node >= 0)
			continue;
		if (c->kind == MUTATE_INPUT)
			node = changed_input(r, row);
		else if (c->kind == MUTATE_DROP || c->kind == MUTATE_REDRAW || c->kind == MUTATE_OPERATOR)
			node = change_operator(r, n, c->kind);
	}
	if (node < 0)
		node = as_it_was(r, row);
	for (int i = 0; i < r->nchange; i++) {
		const struct change *c = &r->change[i];
		if (c->row == row && (c->kind == MUTATE_INSERT || c->kind == MUTATE_VIEW || c->kind == MUTATE_WRITE))
			node = insert_after(r, c->kind, node);
		if (c->row == row && c->kind == MUTATE_AGAIN)
			row_again(r, row);
	}
	return node;
}

/* Rows that the function itself needs; those of cotangents are drawn anew. */
static void replay_rows(struct replay *r)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(r->from, forward, cot);
	for (int i = 0; i < r->from->nnode; i++) {
		const struct node *n = &r->from->node[i];
		bool taken = r->to[i] >= 0; /* spliced: a value stands there already */
		if (!taken && forward[i] && !node_is_sym(n) && r->w->p->nnode < MAX_NODES / 2)
			r->to[i] = replay_row(r, i);
	}
}

static void begin_replay(struct replay *r, struct world *w, const struct prog *from)
{
	r->w = w;
	r->from = from;
	r->wrote = false;
	r->nchange = 0;
	for (int i = 0; i < from->nnode; i++)
		r->to[i] = -1;
}

/* ---- splicing ---------------------------------------------------------------------------------------------------------------------- */

/* A value for an input: of its dtype, of its sizes if there is one. */
static int value_like(struct world *w, const struct meta *m)
{
	int found[MAX_NODES], n = 0, same[MAX_NODES], nsame = 0;
	for (int i = 0; i < w->p->nnode; i++) {
		if (!w->fact[i].usable || w->fact[i].index || node_meta(w->p, i)->dtype != m->dtype)
			continue;
		found[n++] = i;
		if (meta_same_sizes(node_meta(w->p, i), m))
			same[nsame++] = i;
	}
	if (nsame)
		return same[choose_below(w->c, (uint64_t)nsame)];
	return n ? found[choose_below(w->c, (uint64_t)n)] : -1;
}

static void splice(struct world *w, const struct prog *donor)
{
	struct replay *r = ARENA_NEW(w->p->arena, struct replay, 1);
	int input[MAX_NODES], n = 0;
	begin_replay(r, w, donor);
	for (int i = 0; i < donor->nnode; i++)
		if (donor->node[i].op == OP_input && !node_given(&donor->node[i], A_input_data) && !spec_of(&donor->node[i]).fill)
			input[n++] = i;
	memset(r->other, 1, sizeof r->other); /* what is there is none of the donor's */
	if (n) {
		int at = input[choose_below(w->c, (uint64_t)n)];
		r->to[at] = value_like(w, node_meta(donor, at));
	}
	replay_rows(r);
}

/* ---- a mutant ---------------------------------------------------------------------------------------------------------------------- */

/* Sizes that the parent has are what this program likes. */
static void take_sizes(struct world *w, const struct prog *p)
{
	int64_t size[MAX_SHRINK_SIZES];
	int n = shrink_sizes(size, p);
	for (int i = 0; i < n && i < w->npool - 1; i++)
		w->pool[i] = size[choose_below(w->c, (uint64_t)n)];
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]))
			w->max_numel = MAX(w->max_numel, MIN(meta_numel(node_meta(p, i)), 4096));
}

static int pick_row(const struct prog *p, bool input, struct choices *c)
{
	int found[MAX_NODES], n = 0;
	bool forward[MAX_NODES], cot[MAX_NODES];
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++)
		if (forward[i] && !node_is_sym(&p->node[i]) && p->node[i].op != OP_getitem && (!input || node_is_input(&p->node[i])))
			found[n++] = i;
	return n ? found[choose_below(c, (uint64_t)n)] : -1;
}

static int pick_operator(const struct prog *p, struct choices *c)
{
	int row = -1;
	for (int i = 0; i < 8 && (row < 0 || node_is_input(&p->node[row])); i++)
		row = pick_row(p, false, c);
	return row;
}

static bool grows(enum mutation k)
{
	return k == MUTATE_APPEND || k == MUTATE_AGAIN || k == MUTATE_INSERT || k == MUTATE_VIEW || k == MUTATE_WRITE || k == MUTATE_SPLICE;
}

static int draw_changes(struct change *out, const struct prog *p, struct choices *c)
{
	static const int more[] = {30, 25, 20, 15, 10};
	int n = 1 + choose_weighted(c, more, ARRAY_LEN(more)), weight[NMUTATIONS];
	memcpy(weight, mutation_weight, sizeof weight);
	for (int k = 0; k < NMUTATIONS && prog_operators(p) > MAX_ROWS; k++)
		if (grows((enum mutation)k))
			weight[k] = 0;
	for (int i = 0; i < n; i++) {
		out[i].kind = (enum mutation)choose_weighted(c, weight, NMUTATIONS);
		switch (out[i].kind) {
		case MUTATE_INPUT: out[i].row = pick_row(p, true, c); break;
		case MUTATE_INSERT:
		case MUTATE_VIEW:
		case MUTATE_WRITE: out[i].row = pick_row(p, false, c); break;
		case MUTATE_AGAIN:
		case MUTATE_REDRAW:
		case MUTATE_OPERATOR:
		case MUTATE_DROP: out[i].row = pick_operator(p, c); break;
		default: out[i].row = -1;
		}
	}
	return n;
}

bool is_small(const struct prog *p)
{
	int64_t n = 0;
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->node[i].nout; k++)
			n += meta_numel(&p->node[i].out[k].meta);
	return n <= MAX_ELEMENTS;
}

static bool computes_positions(const struct prog *p, const struct node *n)
{
	const int *v;
	for (int k = 0; k < op_info[n->op].nparam; k++)
		for (int i = 0, c = role_is_positions(op_info[n->op].param[k].role) ? arg_operands(n, k, &v) : 0; i < c; i++)
			if (v[i] >= 0 && !node_is_input(&p->node[v[i]]))
				return true;
	return false;
}

bool names_elements(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_max_pool2d_with_indices_backward || computes_positions(p, &p->node[i]))
			return true;
	return false;
}

/* Everywhere at once, before rows are made again. What makes no program, or a large one, is not done. */
static void vary(struct prog *p, enum mutation kind, struct world *w, struct arena *a)
{
	static const int64_t sizes[] = {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65};
	struct prog q;
	int64_t size[MAX_SHRINK_SIZES];
	bool moved = false;
	struct err err = {0};
	int n = shrink_sizes(size, p), row = pick_row(p, true, w->c);
	enum dtype to;
	if (names_elements(p))
		return;
	if (kind == MUTATE_SIZE && n
		&& vary_size(&q, p, size[choose_below(w->c, (uint64_t)n)], sizes[choose_below(w->c, ARRAY_LEN(sizes))], &moved, a, &err)
		&& is_small(&q))
		*p = q;
	if (kind == MUTATE_DTYPE && row >= 0 && draw_dtype(w, DTS_ALL, &to) && dtype_is_float(to) == dtype_is_float(node_meta(p, row)->dtype)
		&& to != DT_B8 && node_meta(p, row)->dtype != DT_B8 && vary_dtype(&q, p, node_meta(p, row)->dtype, to, a, &err))
		*p = q;
}

static bool of_our_kind(const struct prog *p, struct err *err)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < p->node[i].nout; k++)
			if (p->node[i].out[k].meta.device != DEV_RUN)
				return err_set(err, "mutate: '%s' is on a device of its own", p->node[i].name);
	return !p->must_raise || err_set(err, "mutate: the program must raise");
}

static void keep_returns(struct world *w, const struct replay *r)
{
	for (int i = 0; i < r->from->nret; i++) {
		int node = value_of(w, r->to[r->from->ret[i]]);
		if (node >= 0 && w->fact[node].usable && !is_input(w, node))
			add_return(w, node);
	}
}

static bool has_operator(const struct prog *p) { return prog_operators(p) > 0; }

bool mutate_program(struct prog *out, const struct prog *parent, const struct prog *donor, struct arena *a, struct choices *c,
	const struct policy *pol, int64_t done[NMUTATIONS], struct err *err)
{
	struct world *w = ARENA_NEW(a, struct world, 1);
	struct replay *r = ARENA_NEW(a, struct replay, 1);
	struct prog from, other;
	struct change change[MAX_CHANGES];
	if (!of_our_kind(parent, err) || !of_our_kind(donor, err) || !prog_bind(&from, parent, 0, a, err)
		|| !prog_bind(&other, donor, 0, a, err))
		return false;
	begin_program(w, out, a, c, pol);
	w->stats = NULL;
	int n = draw_changes(change, &from, c);
	for (int i = 0; i < n; i++)
		vary(&from, change[i].kind, w, a);
	take_sizes(w, &from);
	begin_replay(r, w, &from);
	memcpy(r->change, change, sizeof change);
	r->nchange = n;
	replay_rows(r);
	for (int i = 0; i < n; i++) {
		if (change[i].kind == MUTATE_SPLICE && prog_operators(&other) <= MAX_ROWS)
			splice(w, &other);
		if (change[i].kind == MUTATE_APPEND && out->nnode < MAX_NODES / 2 && !(choose_chance(c, 15) && add_assignment(w)))
			drawn(r, draw_any_op(w), -1);
		if (done)
			done[change[i].kind]++;
	}
	if (!has_operator(out))
		return err_set(err, "mutate: nothing is left");
	keep_returns(w, r);
	add_ends(w);
	return (out->nret || err_set(err, "mutate: nothing is returned")) && finish_program(w, err);
}
