/* shrink_size.c: one number stands for one size. The idea: change the number everywhere that a size, a position along such a dimension or a
 * stride follows from it, and let the shape rules say whether the program still makes sense. */
#include "eager/lang/shrink_size.h"

#include "generated/op_args.h"
#include "generated/op_id.h"

static void add_size(int64_t size[MAX_SHRINK_SIZES], int *n, int64_t v)
{
	int at = 0;
	while (at < *n && size[at] > v)
		at++;
	if (v < 2 || *n == MAX_SHRINK_SIZES || (at < *n && size[at] == v))
		return;
	memmove(size + at + 1, size + at, (size_t)(*n - at) * sizeof *size);
	size[at] = v;
	++*n;
}

int shrink_sizes(int64_t size[MAX_SHRINK_SIZES], const struct prog *p)
{
	int n = 0;
	for (int i = 0; i < p->nnode; i++) {
		if (p->node[i].op == OP_item)
			add_size(size, &n, p->node[i].sym_value);
		for (int d = 0; node_is_input(&p->node[i]) && d < node_meta(p, i)->rank; d++)
			add_size(size, &n, node_meta(p, i)->size[d]);
	}
	return n;
}

/* 2 shows most bugs; 1 hides many, so it comes when 2 was enough. Vector and tile widths lie at powers of 2, so one more than those. */
int shrink_steps(int64_t to[MAX_SHRINK_STEPS], int64_t size)
{
	static const int64_t step[] = {2, 3, 5, 9, 17, 33, 65, 129, 257};
	int n = 0;
	if (size == 2)
		to[n++] = 1;
	for (int i = 0; i < ARRAY_LEN(step) && step[i] < size; i++)
		to[n++] = step[i];
	return n;
}

/* ---- parts of a node ----------------------------------------------------------------------------------------------------------------- */

/* The meta of the tensor whose dimensions node n's arguments count; NULL: none. */
static const struct meta *self_meta(const struct prog *p, const struct node *n)
{
	int self = op_self(n->op);
	return self >= 0 && n->arg[self].tag == ARG_TENSOR && p->node[n->arg[self].node].nout == 1 ? node_meta(p, n->arg[self].node) : NULL;
}

/* The dimension that n works along, from the front; -1: none, or several. */
static int dim_along(const struct node *n, const struct meta *self)
{
	int found = -1;
	for (int k = 0; self && k < op_info[n->op].nparam; k++)
		if (op_info[n->op].param[k].kind == K_DIM && n->arg[k].tag == ARG_INT) {
			if (found >= 0)
				return -1;
			int64_t v = n->arg[k].i.value;
			found = (int)(v < 0 ? v + self->rank : v);
		}
	return found;
}

static bool has_sizes(const struct node *n, struct err *err)
{
	return (n->nout && !n->refusal) || err_set(err, "shrink: a node without sizes");
}

static int64_t scaled(int64_t v, int64_t from, int64_t to, bool up)
{
	int64_t size = v < 0 ? -v : v;
	if (size > from)
		return v; /* beyond the end, as in x[:1000] */
	size = (size * to + (up ? from - 1 : 0)) / from;
	return v < 0 ? -size : size;
}

struct resizing {
	int64_t from, to;
	bool keep, moved; /* keep: positions stay where they can; moved: one could not */
};

static bool is_position(const struct node *n, int k)
{
	enum kind kind = op_info[n->op].param[k].kind;
	return n->arg[k].tag == ARG_INT && n->arg[k].i.expr < 0 && (kind == K_INDEX || kind == K_INT || kind == K_STEP);
}

/* A last position, as opposed to one that is itself meant. */
static bool is_last(const struct param *q) { return q->kind != K_INDEX || str_eq(q->name, "end"); }

/* Do all positions of n make sense in the new size? One that was the end becomes the end. */
static bool positions_fit(const struct resizing *r, const struct node *n)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		int64_t v = is_position(n, k) ? n->arg[k].i.value : 0, most = v < 0 || is_last(&op_info[n->op].param[k]) ? r->to : r->to - 1;
		if (v != r->from && (v < 0 ? -v : v) > most)
			return false;
	}
	return true;
}

/* Positions along the dimension: a last one is rounded up, so that what was not empty is not. */
static void move_positions(struct resizing *r, struct node *n)
{
	bool stay = r->keep && positions_fit(r, n);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		struct arg *g = &n->arg[k];
		if (!is_position(n, k) || (stay && g->i.value != r->from))
			continue;
		int64_t was = g->i.value;
		g->i.value = scaled(was, r->from, r->to, is_last(&op_info[n->op].param[k]));
		r->moved |= was != r->from && g->i.value != was;
	}
}

static bool is_input_size(const struct prog *p, int64_t v)
{
	int64_t size[MAX_SHRINK_SIZES];
	int n = shrink_sizes(size, p);
	for (int i = 0; i < n; i++)
		if (size[i] == v)
			return true;
	return false;
}

static void change_size_list(struct arg *g, const struct prog *p, int64_t from, int64_t to)
{
	for (int i = 0; i < g->n; i++) {
		if (g->ints[i].expr >= 0)
			continue;
		int64_t v = g->ints[i].value;
		if (v == from)
			g->ints[i].value = to;
		else if (v > from && v % from == 0 && !is_input_size(p, v))
			g->ints[i].value = v / from * to; /* a merged dimension */
	}
}

/* Strides in the order of memory that they had, without gaps; 0 stays 0. was: the input's meta before its sizes changed. */
static void restride(struct prog *q, struct node *n, const struct meta *was)
{
	struct arg *stride = &n->arg[A_input_stride];
	const struct arg *size = &n->arg[A_input_size];
	int64_t s[MAX_RANK], next = 1;
	bool done[MAX_RANK] = {false};
	if (stride->tag == ARG_NONE)
		return;
	for (int k = 0; k < size->n; k++) {
		int least = -1;
		for (int d = 0; d < size->n; d++)
			if (!done[d] && (least < 0 || was->stride[d] < was->stride[least] || (was->stride[d] == was->stride[least] && d > least)))
				least = d;
		done[least] = true;
		s[least] = was->stride[least] == 0 ? 0 : next;
		if (was->stride[least])
			next *= MAX(size->ints[least].value, 1);
	}
	*stride = arg_ints(q, s, size->n);
}

static void resize_data(struct prog *q, struct arg *data, int64_t cells)
{
	int n = (int)MIN(cells, MAX_DATA), had = data->n; /* more than a program may have is refused later */
	if (n > had && had > 0) {
		struct scalar *number = ARENA_NEW(q->arena, struct scalar, n);
		for (int i = 0; i < n; i++)
			number[i] = data->data[i % had];
		data->data = number;
	}
	data->n = had ? n : 0;
}

void shrink_refit_data(struct prog *q, int node)
{
	struct node *n = &q->node[node];
	struct arg *data = n->op == OP_input ? &n->arg[A_input_data] : NULL;
	struct err err = {0};
	if (!data || data->tag != ARG_DATA)
		return;
	int had = data->n;
	data->tag = ARG_NONE; /* how many cells would it have? */
	bool ok = prog_eval_node(q, node, &err);
	data->tag = ARG_DATA;
	int64_t cells = ok ? meta_extent(node_meta(q, node)) : had;
	resize_data(q, data, cells);
	for (int c = 0; c < q->ncall; c++)
		for (int i = 0; i < q->call[c].ninput; i++)
			if (q->call[c].input[i].node == node && q->call[c].input[i].data.tag == ARG_DATA)
				resize_data(q, &q->call[c].input[i].data, cells);
}

void shrink_refit_cotangents(struct prog *q)
{
	for (int i = 0; i < q->nback; i++) {
		struct node *g = &q->node[q->back[i].cotangent];
		if (!q->node[q->back[i].node].nout || !g->nout) /* eager refuses the row: it has no sizes */
			continue;
		const struct meta *want = node_meta(q, q->back[i].node), *have = node_meta(q, q->back[i].cotangent);
		if ((g->op != OP_input && g->op != OP_full) || (meta_same_sizes(want, have) && want->dtype == have->dtype))
			continue;
		g->arg[op_arg(g->op, N_size)] = arg_ints(q, want->size, want->rank);
		g->arg[op_arg(g->op, N_dtype)] = arg_dtype(want->dtype);
		if (g->op == OP_input)
			g->arg[A_input_stride] = g->arg[A_input_data] = (struct arg){0};
	}
}

/* Sources whose sizes follow from other arguments (src of slice_scatter) get those, if they are inputs. */
static void refit_sources(struct prog *q)
{
	for (int i = 0; i < q->nnode; i++) {
		const struct op_info *op = &op_info[q->node[i].op];
		struct err err = {0};
		for (int k = 0; k < op->nparam; k++) {
			const struct arg *g = &q->node[i].arg[k];
			if (op->param[k].role != R_LIKE || g->tag != ARG_TENSOR || q->node[g->node].op != OP_input)
				continue;
			int src = g->node, like = op_find(op->param[k].like);
			struct prog probe;
			prog_clone(&probe, q, q->arena);
			probe.nnode = i;
			bool ok = true;
			for (int j = 0; j < i && ok; j++)
				ok = prog_infer_node(&probe, j, &err);
			if (!ok)
				return;
			int at = prog_add(&probe, like, NULL), to = 0;
			for (int j = 0; j < op->nparam && to < op_info[like].nparam; j++)
				if (j != k)
					probe.node[at].arg[to++] = q->node[i].arg[j];
			if (!prog_infer_node(&probe, at, &err))
				return;
			const struct meta was = *node_meta(q, src), *m = node_meta(&probe, at);
			if (meta_same_sizes(&was, m))
				continue;
			struct node *input = &q->node[src];
			input->arg[A_input_size] = arg_ints(q, m->size, m->rank);
			input->arg[A_input_stride] = (struct arg){0};
			shrink_refit_data(q, src);
		}
	}
}

/* ---- another size -------------------------------------------------------------------------------------------------------------------- */

/* A constant position of n, counted from the front of a dimension of `size`; `none` where it is not given. */
static bool position(int64_t *out, const struct node *n, int name, int64_t none, int64_t size)
{
	const struct arg *g = node_arg(n, name);
	if (!g || (g->tag != ARG_NONE && (g->tag != ARG_INT || g->i.expr >= 0)))
		return false;
	int64_t v = g->tag == ARG_NONE ? none : g->i.value;
	*out = MIN(MAX(v < 0 ? v + size : v, 0), size);
	return true;
}

/* start to end is a region of `from` positions along a dimension of `size`: its end moves, or its start where there is no room. */
static bool stretch_region(const struct resizing *r, struct node *n, int64_t size, struct err *err)
{
	int64_t start, end;
	const struct arg *by = node_arg(n, N_step);
	if (!position(&start, n, N_start, 0, size) || !position(&end, n, N_end, size, size) || !by || by->tag != ARG_INT || by->i.value < 1)
		return true;
	int64_t step = by->i.value, span = (r->to - 1) * step + 1;
	if (end <= start || (end - start + step - 1) / step != r->from)
		return true;
	if (span > size)
		return err_set(err, "a region of %lld does not fit into a dimension of %lld", (long long)r->to, (long long)size);
	start = MIN(start, size - span);
	n->arg[op_arg(n->op, N_start)] = arg_int(start);
	n->arg[op_arg(n->op, N_end)] = arg_int(start + span);
	return true;
}

static bool has_symbolic_size(const struct node *n)
{
	for (int d = 0; d < n->arg[A_input_size].n; d++)
		if (n->arg[A_input_size].ints[d].expr >= 0)
			return true;
	return false;
}

static void resize_symbol(const struct resizing *r, struct node *n)
{
	if (r->keep && n->op == OP_sym && n->sym_value == r->from) {
		n->arg[A_sym_value] = arg_int(r->to);
		n->sym_value = r->to;
	}
}

/* An item gives the size: what it reads holds the other one then, if it is an input of its own. Whoever reads the item follows. */
static void resize_item(const struct resizing *r, struct prog *q, struct node *n)
{
	if (n->op != OP_item || n->sym_value != r->from)
		return;
	struct node *of = &q->node[n->arg[A_item_self].node];
	const struct scalar number = {.kind = SC_INT, .i = r->to};
	if (of->op == OP_input && of->arg[A_input_data].tag == ARG_DATA)
		of->arg[A_input_data] = arg_data(q, &number, 1);
	if (n->arg[A_item_value].i.expr < 0)
		n->arg[A_item_value] = arg_int(r->to);
}

static bool resize_nodes(struct resizing *r, struct prog *q, struct err *err)
{
	for (int i = 0; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		const struct meta *self = self_meta(q, n);
		int dim = dim_along(n, self);
		if (node_is_sym(n)) {
			resize_symbol(r, n);
			resize_item(r, q, n);
			continue;
		}
		if (!has_sizes(n, err))
			return false;
		const struct meta was = n->out[0].meta;
		bool along = self && dim >= 0 && dim < self->rank;
		if (along && self->size[dim] == r->from)
			move_positions(r, n);
		else if (along && r->keep && !stretch_region(r, n, self->size[dim], err))
			return false;
		for (int k = 0; k < op_info[n->op].nparam; k++)
			if (op_info[n->op].param[k].kind == K_SIZE && n->arg[k].tag == ARG_INTS)
				change_size_list(&n->arg[k], q, r->from, r->to);
		if (n->op != OP_input)
			continue;
		struct arg *high = &n->arg[A_input_high];
		if (high->tag == ARG_INT && high->i.value == r->from)
			high->i.value = r->to;
		if (!r->keep || !has_symbolic_size(n)) /* those follow their symbols */
			restride(q, n, &was);
		shrink_refit_data(q, i);
	}
	refit_sources(q);
	return true;
}

bool shrink_size(struct prog *q, int64_t from, int64_t to, struct err *err)
{
	return resize_nodes(&(struct resizing){.from = from, .to = to}, q, err);
}

bool shrink_resize(struct prog *q, int64_t from, int64_t to, bool *moved, struct err *err)
{
	struct resizing r = {.from = from, .to = to, .keep = true};
	bool ok = resize_nodes(&r, q, err);
	*moved = r.moved;
	return ok;
}

/* ---- without a dimension ------------------------------------------------------------------------------------------------------------- */

/* Where the size is in m; -1: nowhere, -2: twice. */
static int place_of(const struct meta *m, int64_t size)
{
	int at = -1;
	for (int d = 0; d < m->rank; d++)
		if (m->size[d] == size)
			at = at == -1 ? d : -2;
	return at;
}

static void remove_entry(struct arg *g, int at)
{
	memmove(g->ints + at, g->ints + at + 1, (size_t)(g->n - at - 1) * sizeof *g->ints);
	g->n--;
}

static bool shift_dim(int64_t *v, int gone, int rank, enum role role, struct err *err)
{
	int64_t d = *v < 0 ? *v + rank + (role == R_INSERT) : *v;
	if (d == gone && role != R_INSERT)
		return err_set(err, "shrink: an operator works along the dimension");
	*v = d > gone ? d - 1 : d;
	return true;
}

static bool shift_dims(struct arg *g, int gone, int rank, struct err *err)
{
	for (int i = 0; i < g->n; i++) {
		int64_t d = g->ints[i].value < 0 ? g->ints[i].value + rank : g->ints[i].value;
		if (d == gone) {
			remove_entry(g, i--);
			if (!g->n)
				return err_set(err, "shrink: an operator works along the dimension");
			continue;
		}
		g->ints[i].value = d > gone ? d - 1 : d;
	}
	return true;
}

/* n's arguments count the dimensions of a tensor of `rank` that has lost `gone` (-1: none). */
static bool shift_arguments(struct node *n, int gone, int rank, struct err *err)
{
	for (int k = 0; k < op_info[n->op].nparam && gone >= 0; k++) {
		const struct param *p = &op_info[n->op].param[k];
		struct arg *g = &n->arg[k];
		if (p->kind == K_DIM && g->tag == ARG_INT && !shift_dim(&g->i.value, gone, rank, p->role, err))
			return false;
		if (p->kind == K_DIMS && g->tag == ARG_INTS && !shift_dims(g, gone, rank, err))
			return false;
	}
	return true;
}

/* Lists of sizes without those that are `from`, and without the strides that belong to them. */
static void remove_size(struct node *n, int64_t from)
{
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		struct arg *g = &n->arg[k];
		for (int i = 0; op_info[n->op].param[k].kind == K_SIZE && g->tag == ARG_INTS && i < g->n; i++) {
			if (g->ints[i].value != from)
				continue;
			struct arg *stride = op_arg(n->op, N_stride) >= 0 ? &n->arg[op_arg(n->op, N_stride)] : NULL;
			if (stride && stride->tag == ARG_INTS && stride->n == g->n)
				remove_entry(stride, i);
			remove_entry(g, i--);
		}
	}
}

/* Lists of sizes and strides of a result that had meta `was`, without entry `gone` (-1: none). */
static void remove_place(struct node *n, int gone, const struct meta *was)
{
	for (int k = 0; k < op_info[n->op].nparam && gone >= 0; k++) {
		const struct param *p = &op_info[n->op].param[k];
		struct arg *g = &n->arg[k];
		if (g->tag == ARG_INTS && g->n == was->rank && (p->kind == K_SIZE || str_eq(p->name, "stride")))
			remove_entry(g, gone);
	}
}

/* The strides that stay, in their order. was: the input's meta before dimension `gone` (-1: none) went. */
static void refit_input(struct prog *q, int node, const struct meta *was, int gone)
{
	struct meta left = *was;
	for (int d = gone; d >= 0 && d + 1 < was->rank; d++)
		left.stride[d] = was->stride[d + 1];
	restride(q, &q->node[node], &left);
	shrink_refit_data(q, node);
}

/* Where dimension `gone` of self is in the result; -1: nowhere, or nobody knows. */
static int place_after(const struct node *n, const struct meta *self, int gone)
{
	const struct meta *out = &n->out[0].meta;
	int along[2] = {-1, -1}, nalong = 0;
	if (gone < 0)
		return -1;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct param *p = &op_info[n->op].param[k];
		const struct arg *g = &n->arg[k];
		if (p->role == R_PERM)
			for (int i = 0; i < g->n; i++)
				if ((g->ints[i].value + self->rank) % self->rank == gone)
					return i;
		if (p->kind == K_SIZE && g->tag == ARG_INTS)
			return out->rank == self->rank ? gone : -1;
		int64_t d = p->kind == K_DIM && g->tag == ARG_INT          ? g->i.value
			: p->kind == K_DIMS && g->tag == ARG_INTS && g->n == 1 ? g->ints[0].value
																   : INT64_MAX;
		if (d != INT64_MAX && nalong < 2)
			along[nalong++] = (int)(d < 0 ? d + self->rank + (p->role == R_INSERT) : d);
	}
	if (nalong == 2 && op_has(n->op, T_VIEW) && out->rank == self->rank)
		return gone == along[0] ? along[1] : gone == along[1] ? along[0] : gone;
	if (out->rank == self->rank)
		return gone;
	if (out->rank == self->rank - 1 && nalong == 1)
		return gone > along[0] ? gone - 1 : gone;
	if (out->rank == self->rank + 1 && nalong == 1)
		return n->op == OP_unsqueeze && gone >= along[0] ? gone + 1 : gone;
	return -1;
}

bool shrink_rank_at(struct prog *q, int rank, int dim, struct err *err)
{
	int place[MAX_NODES];
	for (int i = 0; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		place[i] = -1;
		if (node_is_sym(n))
			continue;
		if (!has_sizes(n, err))
			return false;
		const struct meta *self = self_meta(q, n), was = n->out[0].meta;
		int gone = self ? place[n->arg[op_self(n->op)].node] : -1;
		place[i] = self ? place_after(n, self, gone) : was.rank == rank ? dim : -1;
		if (!shift_arguments(n, gone, self ? self->rank : 0, err))
			return false;
		remove_place(n, place[i], &was);
		if (n->op == OP_input)
			refit_input(q, i, &was, place[i]);
	}
	refit_sources(q);
	return true;
}

bool shrink_rank(struct prog *q, int64_t from, struct err *err)
{
	for (int i = 0; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		if (node_is_sym(n))
			continue;
		if (!has_sizes(n, err))
			return false;
		const struct meta *self = self_meta(q, n), was = n->out[0].meta;
		int gone = self ? place_of(self, from) : -1, at = place_of(&was, from);
		if (gone == -2 || at == -2)
			return err_set(err, "shrink: two dimensions have this size");
		if (!shift_arguments(n, gone, self ? self->rank : 0, err))
			return false;
		remove_size(n, from);
		if (n->op == OP_input)
			refit_input(q, i, &was, at);
	}
	refit_sources(q);
	return true;
}
