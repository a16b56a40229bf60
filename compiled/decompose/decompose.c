/* decompose.c: the step. Rounds over the program, each of which writes it anew with one rule applied to every row that is not of the core
 * dialect, until none is left. A result has the layout that it had, so that no other row needs to be inferred again. */
#include "compiled/decompose/rules.h"

#include "eager/ops/body.h"

#define CORE(id) const struct decompose_rule decompose_##id = {NULL};
#include "compiled/decompose/core.def"

const struct decompose_rule decompose_sym, decompose_sym_size, decompose_input, decompose_input_view,
	decompose_item; /* the language's own */
static const struct decompose_rule *const op_decompose[NOPS] = {
/* NULL: in place, it has a body, or it is pointwise and core */
#define OP(id, ...) [OP_##id] = &decompose_##id,
#define POINTWISE(...)
#define INPLACE(...)
#define INPLACE_VIEW(...)
#define BODY(...)
#include "eager/lang/ops.def"
#define RULED(id) [OP_##id] = &decompose_##id,
#include "compiled/decompose/core.def"
};

bool decompose_is_core(int op) { return !op_body[op] && (!op_decompose[op] || !op_decompose[op]->rows); }

/* A view, or what may be one and is. */
static bool lies_in_operand(const struct prog *p, const struct node *n)
{
	return n->arg[0].tag == ARG_TENSOR && n->out[0].storage == p->node[n->arg[0].node].out[0].storage;
}

bool decompose_leaves(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	for (int k = 0; k < n->nout; k++)
		if (n->out[k].meta.device == DEV_META || (!lies_in_operand(p, n) && meta_has_duplicates(&n->out[k].meta)))
			return true;
	return n->nout == 0;
}

static bool is_to_go(const struct prog *p, int node, enum dialect d)
{
	const struct node *n = &p->node[node];
	const bool has_loops = d == DIALECT_LOOPS && (op_has(n->op, T_POINTWISE) || node_shares_memory(p, n));
	return !decompose_is_core(n->op) && !has_loops && !decompose_leaves(p, node);
}

/* ---- layouts ---- */

static int strided_as(struct build *b, int x, const struct meta *m)
{
	return emit_as_strided(b, x, m->size, m->rank, m->stride, m->rank, m->offset);
}

/* The dims of a dense layout, the outermost first; false: they are in this order already. */
static bool dims_by_stride(int64_t dims[MAX_RANK], const struct meta *m)
{
	bool moved = false;
	for (int d = 0; d < m->rank; d++) {
		int at = d;
		for (int k = d - 1; k >= 0 && m->size[d] > 1; k--) { /* dims of size 1 may stand anywhere */
			const bool counts = m->size[dims[k]] > 1, inside = m->stride[dims[k]] < m->stride[d];
			if (counts && !inside)
				break;
			at = counts ? k : at;
		}
		for (int k = d; k > at; k--)
			dims[k] = dims[k - 1];
		dims[at] = d;
		moved |= at != d;
	}
	return moved;
}

/* x, packed in the order of the dims from the first cell on. in_place: it begins there, in memory of its own. */
static int packed(struct build *b, int x, const struct meta *m, bool in_place)
{
	int64_t dims[MAX_RANK], back[MAX_RANK];
	const bool moved = dims_by_stride(dims, m);
	for (int d = 0; d < m->rank; d++)
		back[dims[d]] = d;
	if (moved)
		x = emit_permute(b, x, dims, m->rank);
	if (!meta_is_contiguous(build_meta(b, x)))
		x = emit_contiguous(b, x);
	else if (!in_place)
		x = emit_clone(b, x);
	return moved ? emit_permute(b, x, back, m->rank) : x;
}

/* x in memory of its own, laid out as m says. fresh: its memory is a new one. */
static int laid_out(struct build *b, int x, const struct meta *m, bool fresh)
{
	const struct meta *is = build_meta(b, x);
	CHECK(meta_same_sizes(is, m) && is->dtype == m->dtype);
	if (fresh && meta_identical(is, m))
		return x;
	if (fresh && meta_equivalent(is, m) && is->offset == m->offset)
		return strided_as(b, x, m);
	if (m->offset == 0 && (meta_numel(m) == 0 || meta_is_non_overlapping_and_dense(m))) {
		x = packed(b, x, m, fresh && is->offset == 0);
		return meta_identical(build_meta(b, x), m) ? x : strided_as(b, x, m);
	}
	const int64_t cells = meta_extent(m);
	int all = emit_full(b, &cells, 1, scalar_int(0), (int)m->dtype);
	all = emit_as_strided_scatter(b, all, x, m->size, m->rank, m->stride, m->rank, m->offset);
	return strided_as(b, all, m);
}

/* ---- one round ---- */

enum { MOST_APPENDED = 4 * MAX_OUTS }; /* rows, by one rule and the layouts of its results */

struct rewriting {
	const struct prog *from;
	struct prog *to;
	enum dialect dialect;
	struct build b;
	int *value;              /* by row of `from`: its row in `to`, NO_VALUE: it has several results, */
	int (*result)[MAX_OUTS]; /* which are these */
	int *storage;            /* by storage of `from` */
};

static struct arg moved_arg(const struct rewriting *w, const struct arg *a)
{
	struct arg out = *a;
	if (a->tag == ARG_TENSOR)
		out.node = w->value[a->node];
	if (a->tag == ARG_TENSORS) {
		out = arg_nodes(w->to, a->nodes, a->n);
		for (int i = 0; i < a->n; i++)
			out.nodes[i] = a->nodes[i] < 0 ? a->nodes[i] : w->value[a->nodes[i]];
	}
	return out;
}

/* The row as it is. */
static void keep_row(struct rewriting *w, int i)
{
	const struct node *n = &w->from->node[i];
	const int at = prog_add(w->to, n->op, n->name);
	struct node *out = &w->to->node[at];
	const char *name = out->name;
	*out = *n;
	out->name = name;
	out->out = ARENA_NEW(w->to->arena, struct value, MAX(n->nout, 1));
	for (int k = 0; k < op_info[n->op].nparam; k++)
		out->arg[k] = moved_arg(w, &n->arg[k]);
	for (int k = 0; k < n->nout; k++) {
		out->out[k] = n->out[k];
		out->out[k].storage = w->storage[n->out[k].storage];
	}
	w->value[i] = at;
}

static void operands(struct decomposition *d, struct rewriting *w, const struct node *n)
{
	*d = (struct decomposition){.b = &w->b, .from = w->from, .n = n};
	w->b.nnumber = 0;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		d->in[k] = NO_VALUE;
		if (a->tag == ARG_TENSOR)
			d->in[k] = w->value[a->node];
		else if (a->tag == ARG_SCALAR && op_info[n->op].param[k].kind == K_TENSOR)
			d->in[k] = build_number(&w->b, a->scalar);
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			d->list[i] = a->nodes[i] < 0 ? NO_VALUE : w->value[a->nodes[i]];
	}
}

static bool is_result_memory(const struct rewriting *w, int i, int nresult, int storage)
{
	for (int k = 0; k < nresult; k++)
		if (w->result[i][k] != NO_VALUE && w->to->node[w->result[i][k]].out[0].storage == storage)
			return true;
	return false;
}

/* Result k of row i, which the rule says is x. A view lies where its operand does; where rows that say the same lie elsewhere in that
 * memory, as_strided says it. What else there is gets memory of its own. */
static int fitted(struct rewriting *w, int i, int x, int k, int first_new)
{
	const struct node *n = &w->from->node[i];
	const struct value *is = &n->out[k];
	const struct meta *made = node_meta(w->to, x);
	const int storage = w->to->node[x].out[0].storage;
	if (lies_in_operand(w->from, n)) {
		CHECK(storage == w->storage[is->storage]);
		return meta_identical(made, &is->meta) ? x : strided_as(&w->b, x, &is->meta);
	}
	x = laid_out(&w->b, x, &is->meta, storage >= first_new && !is_result_memory(w, i, k, storage));
	w->storage[is->storage] = w->to->node[x].out[0].storage;
	return x;
}

/* Those of its rule, or of its body. */
static void append_rows(struct decomposition *d)
{
	const int op = d->n->op;
	struct body x = {.b = d->b, .n = d->n};
	if (!op_body[op]) {
		op_decompose[op]->rows(d);
		return;
	}
	for (int k = 0; k < op_info[op].nparam; k++) {
		x.in[k] = d->in[k];
		x.list[k] = d->n->arg[k].tag == ARG_TENSORS ? d->list : NULL;
	}
	if (!body_append(&x))
		BUG("%s: the shape rule took what the body refuses: %s", op_info[op].name, d->b->refusal.msg);
	memcpy(d->out, x.out, sizeof d->out);
}

static void replace_row(struct rewriting *w, int i)
{
	const struct node *n = &w->from->node[i];
	struct decomposition d;
	const int first_row = w->to->nnode, first_new = w->to->nstorage;
	operands(&d, w, n);
	append_rows(&d);
	for (int k = 0; k < n->nout; k++)
		w->result[i][k] = n->out[k].meta.absent ? NO_VALUE : fitted(w, i, d.out[k], k, first_new);
	w->value[i] = op_info[n->op].nret == 1 ? w->result[i][0] : NO_VALUE;
	if (w->value[i] >= first_row && prog_find(w->to, n->name) < 0)
		w->to->node[w->value[i]].name = n->name;
}

static void move_row(struct rewriting *w, int i)
{
	const struct node *n = &w->from->node[i];
	const int tuple = n->op == OP_getitem ? n->arg[A_getitem_self].node : NO_VALUE;
	if (tuple != NO_VALUE && w->value[tuple] == NO_VALUE)
		w->value[i] = w->result[tuple][node_int(n, A_getitem_index)];
	else if (is_to_go(w->from, i, w->dialect))
		replace_row(w, i);
	else
		keep_row(w, i);
}

static void begin(struct rewriting *w, struct prog *to, const struct prog *from, enum dialect d)
{
	struct arena *a = from->arena;
	*to = *from;
	to->node = NULL;
	to->nnode = to->cap_node = 0;
	*w = (struct rewriting){.from = from, .to = to, .dialect = d, .b = {.p = to}};
	w->value = ARENA_NEW(a, int, from->nnode);
	w->result = arena_alloc(a, (size_t)from->nnode * sizeof *w->result);
	w->storage = ARENA_NEW(a, int, from->nstorage);
	for (int i = 0; i < from->nstorage; i++)
		w->storage[i] = i;
}

static bool one_round(struct pure *g, int *nforward, enum dialect d, struct err *err)
{
	struct rewriting w;
	struct prog to;
	int forward = 0;
	begin(&w, &to, g->p, d);
	for (int i = 0; i < g->p->nnode; i++) {
		forward = i == *nforward ? to.nnode : forward;
		if (to.nnode + (g->p->nnode - i) > MAX_NODES - MOST_APPENDED && is_to_go(g->p, i, d))
			return err_set(err, "decomposed, the program has too many rows");
		move_row(&w, i);
	}
	*nforward = *nforward < g->p->nnode ? forward : to.nnode;
	for (int i = 0; i < g->nresult; i++)
		if (g->result[i].value != NO_VALUE)
			g->result[i].value = w.value[g->result[i].value];
	*g->p = to;
	return true;
}

bool decompose_is_due(const struct prog *p, enum dialect d)
{
	for (int i = 0; i < p->nnode; i++)
		if (is_to_go(p, i, d))
			return true;
	return false;
}

bool decompose(struct pure *g, int *nforward, enum dialect d, struct err *err)
{
	enum { MOST_ROUNDS = 8 };
	for (int round = 0; decompose_is_due(g->p, d); round++) {
		CHECK(round < MOST_ROUNDS); /* rules go down: from a row to rows that are nearer to the core */
		if (!one_round(g, nforward, d, err))
			return false;
	}
	return true;
}

bool decompose_returns(struct prog *p, enum dialect d, struct err *err)
{
	struct pure rows = {.p = p, .nresult = p->nret};
	int nforward = 0;
	for (int i = 0; i < p->nret; i++) {
		rows.result[i].role = RESULT_OUTPUT;
		rows.result[i].value = p->ret[i];
	}
	if (!decompose(&rows, &nforward, d, err))
		return false;
	for (int i = 0; i < p->nret; i++)
		p->ret[i] = rows.result[i].value;
	return true;
}

/* ---- what rules share ---- */

int as_dtype(struct decomposition *d, int x, enum dtype t) { return build_meta(d->b, x)->dtype == t ? x : emit_to_copy(d->b, x, (int)t); }

int constant(struct decomposition *d, struct scalar s, enum dtype t) { return emit_full(d->b, (const int64_t[]){0}, 0, s, (int)t); }

int filled(struct decomposition *d, const struct meta *like, struct scalar s)
{
	return emit_full(d->b, like->size, like->rank, s, (int)like->dtype);
}

int positions(struct decomposition *d, int64_t start, int64_t n, int64_t step)
{
	return emit_arange_start_step(d->b, scalar_int(start), scalar_int(start + n * step), scalar_int(step), DT_I64);
}

int reshaped(struct decomposition *d, int x, const int64_t *size, int rank)
{
	int64_t stride[MAX_RANK];
	const struct meta *m = build_meta(d->b, x);
	if (m->rank == rank && memcmp(m->size, size, (size_t)rank * sizeof *size) == 0)
		return x;
	if (!layout_view_strides(stride, m, size, rank))
		x = emit_contiguous(d->b, x);
	return emit_view(d->b, x, size, rank);
}

int sized_as(struct decomposition *d, int x, const struct meta *m) { return reshaped(d, x, m->size, m->rank); }

int flat(struct decomposition *d, int x)
{
	const int64_t n = meta_numel(build_meta(d->b, x));
	return reshaped(d, x, &n, 1);
}

int with_dim(struct decomposition *d, int x, int dim)
{
	struct meta m = *build_meta(d->b, x);
	meta_insert_dim(&m, dim, 1, 0);
	return emit_view(d->b, x, m.size, m.rank);
}

int spread(struct decomposition *d, int x, const struct meta *m)
{
	return meta_same_sizes(build_meta(d->b, x), m) ? x : emit_expand(d->b, x, m->size, m->rank);
}

int logical_negation(struct decomposition *d, int x) { return emit_eq_Tensor(d->b, x, constant(d, (struct scalar){SC_BOOL, 0, 0}, DT_B8)); }

int dim_of(int64_t dim, const struct meta *m)
{
	int out;
	CHECK(dim_wrap(&out, dim, m->rank, NULL));
	return out;
}
