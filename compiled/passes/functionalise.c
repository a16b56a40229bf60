/* functionalise.c: see functionalise.h. */
#include "compiled/passes/functionalise.h"

#include "eager/ops/layout.h"
#include "eager/run/legality.h"
#include "eager/ops/vjp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- what is written through a view ---- */

/* The new value of a view's operand, made of the view's: every row with T_VIEW or T_MAYBE_VIEW states one. */
enum {
	INV_WINDOW = 1, /* no rows say it but as_strided_scatter */
	INV_ROOT,       /* no operand: memory of its own, as far as this step goes */
	INV_OF_LIST,    /* getitem: as the row says that makes the list */
	INV_OF_SLICES,
	INV_OF_SELECTS,
	INV_ITSELF,
	INV_RESHAPED,
	INV_EXPANDED,
	INV_RETYPED,
	INV_PERMUTED,
	INV_TRANSPOSED,
	INV_TURNED,
	INV_SLICE, /* from here on: a scatter, which keeps some of the operand, and its strides and offset */
	INV_SELECT,
	INV_DIAGONAL
};
enum {
	INVERSE_input_view = INV_ROOT,
	INVERSE_getitem = INV_OF_LIST,
	INVERSE_split_Tensor = INV_OF_SLICES,
	INVERSE_unsafe_split_Tensor = INV_OF_SLICES,
	INVERSE_split_with_sizes = INV_OF_SLICES,
	INVERSE_unsafe_split_with_sizes = INV_OF_SLICES,
	INVERSE_unbind_int = INV_OF_SELECTS,
	INVERSE_alias = INV_ITSELF,
	INVERSE_detach = INV_ITSELF,
	INVERSE_view_dtype = INV_RETYPED,
	INVERSE_view = INV_RESHAPED,
	INVERSE_unsafe_view = INV_RESHAPED,
	INVERSE_reshape = INV_RESHAPED,
	INVERSE_contiguous = INV_RESHAPED,
	INVERSE_squeeze = INV_RESHAPED,
	INVERSE_squeeze_dim = INV_RESHAPED,
	INVERSE_squeeze_dims = INV_RESHAPED,
	INVERSE_unsqueeze = INV_RESHAPED,
	INVERSE_squeeze_ = INV_RESHAPED,
	INVERSE_squeeze_dim_ = INV_RESHAPED,
	INVERSE_squeeze_dims_ = INV_RESHAPED,
	INVERSE_unsqueeze_ = INV_RESHAPED,
	INVERSE_transpose_ = INV_TRANSPOSED,
	INVERSE_t_ = INV_TURNED,
	INVERSE_as_strided_ = INV_WINDOW,
	INVERSE_expand = INV_EXPANDED,
	INVERSE_permute = INV_PERMUTED,
	INVERSE_transpose_int = INV_TRANSPOSED,
	INVERSE_t = INV_TURNED,
	INVERSE_slice_Tensor = INV_SLICE,
	INVERSE_select_int = INV_SELECT,
	INVERSE_diagonal = INV_DIAGONAL,
	INVERSE_as_strided = INV_WINDOW,
	INVERSE_unfold = INV_WINDOW
};
static const uint8_t inverse[NOPS] = {
#define ROW_T_VIEW(id)       [OP_##id] = INVERSE_##id,
#define ROW_T_MAYBE_VIEW(id) [OP_##id] = INVERSE_##id,
#include "generated/op_groups.def"
};

/* Does the inverse of this view keep some of the base? */
static bool keeps_base(int op) { return inverse[op] >= INV_SLICE; }

/* ---- what the rows of the old program are ---- */

/* Result k of a row with several fresh results: the first getitem that names it owns it. NO_VALUE: node is no such getitem. */
static int owner(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	if (n->op != OP_getitem || node_shares_memory(p, &p->node[n->arg[A_getitem_self].node]))
		return NO_VALUE;
	for (int i = 0; i < node; i++)
		if (p->node[i].op == OP_getitem && p->node[i].arg[A_getitem_self].node == n->arg[A_getitem_self].node
			&& node_int(&p->node[i], A_getitem_index) == node_int(n, A_getitem_index))
			return i;
	return node;
}

static bool is_root(const struct functional *f, int node) { return f->root[node] == node; }

/* Roots of input memory are one by one: two inputs on one storage are two roots. */
static void find_roots(struct functional *f)
{
	for (int i = 0; i < f->from->nnode; i++) {
		const struct node *n = &f->from->node[i];
		f->same[i] = f->root[i] = i;
		if (op_has(n->op, T_MUTATES))
			f->same[i] = f->same[n->arg[A_INPLACE_self].node];
		else if (owner(f->from, i) != NO_VALUE)
			f->same[i] = owner(f->from, i);
		else if (!node_is_input(n) && node_shares_memory(f->from, n))
			f->root[i] = f->root[f->same[n->arg[A_viewed_self].node]];
		f->root[i] = f->root[f->same[i]];
	}
}

static bool shares_input(const struct prog *p, int node)
{
	for (int i = 0; i < p->nnode; i++)
		if (i != node && node_is_input(&p->node[i]) && p->node[i].out[0].storage == p->node[node].out[0].storage)
			return true;
	return false;
}

static bool cut_off(const struct functional *f, int root)
{
	for (int i = 0; i < f->from->nnode; i++)
		if ((f->from->node[i].op == OP_detach || f->from->node[i].op == OP_view_dtype) && f->root[i] == root)
			return true;
	return false;
}

static bool is_written(const struct functional *f, int root)
{
	for (int i = 0; i < f->from->nnode; i++)
		if (op_has(f->from->node[i].op, T_MUTATES) && f->root[i] == root)
			return true;
	return false;
}

/* A tensor of this layout has the same elements in the same cells whatever computed it. */
static bool fills_storage(const struct meta *m) { return m->offset == 0 && meta_is_contiguous(m); }

/* With a tensor on device meta among them nothing is computed: the destination keeps what it has. */
static bool operands_without_data(const struct prog *p, const struct node *n)
{
	bool without = false;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		without |= a->tag == ARG_TENSOR && node_meta(p, a->node)->device == DEV_META;
		for (int i = 0; a->tag == ARG_TENSORS && i < a->n; i++)
			without |= a->nodes[i] >= 0 && node_meta(p, a->nodes[i])->device == DEV_META;
	}
	return without;
}

/* Its result has its base's strides and offset: the scatter of a view that keeps some of it. */
static bool keeps_layout(int op)
{
	const int src = op_has(op, T_SCATTER) ? op_arg(op, N_src) : -1;
	return src >= 0 && op_info[op].param[src].like && keeps_base(op_find(op_info[op].param[src].like));
}

/* Is there written memory with gaps that node's tensor lies in, or whose layout it has through region scatters? */
static bool has_written_gaps(const struct functional *f, int node)
{
	for (int root = f->root[node];; root = f->root[f->from->node[root].arg[A_region_scatter_self].node]) {
		if (is_written(f, root) && !fills_storage(node_meta(f->from, root)))
			return true;
		if (!keeps_layout(f->from->node[root].op))
			return false;
	}
}

/* What this step cannot do, before it does anything. A window may reach beyond its operand into the root's memory, which a new value of
 * the root need not have. */
static bool acceptable(struct functional *f, struct err *err)
{
	const struct prog *p = f->from;
	for (int i = 0; i < p->nnode; i++)
		f->tracks |= node_requires_grad(&p->node[i]);
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (n->refusal)
			return err_set(err, "%s", n->refusal);
		if (!legality_version(p, i, 0, err))
			return false;
		if (op_computing(n->op) == OP_as_strided && has_written_gaps(f, i))
			return err_set(err, "'%s' is a window on memory with gaps, which is written", n->name);
		if (!op_has(n->op, T_MUTATES) || operands_without_data(p, n))
			continue;
		const int self = f->same[i], root = f->root[i];
		if (meta_has_duplicates(node_meta(p, self)) || meta_has_duplicates(node_meta(p, root)))
			return err_set(err, "'%s' writes memory that overlaps itself", n->name);
		if (node_is_input(&p->node[root]) && shares_input(p, root))
			return err_set(err, "'%s' writes an input that shares its memory with another one", n->name);
		if (f->tracks && cut_off(f, root))
			return err_set(err, "'%s' writes memory that a detached view shares", n->name);
		f->written[root] |= node_is_input(&p->node[root]);
	}
	return true;
}

/* ---- values ---- */

static int read_value(struct functional *f, int node);

/* A row of the old program over values of the new one, as operator `op`; integers lose their symbols. first_operand: NO_VALUE for its
 * own. */
static int copy_row(struct functional *f, int node, int op, int first_operand)
{
	const struct node *n = &f->from->node[node];
	struct arg arg[MAX_ARGS];
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		arg[k] = n->arg[k];
		if (arg[k].tag == ARG_TENSOR)
			arg[k].node = k == 0 && first_operand != NO_VALUE ? first_operand : read_value(f, arg[k].node);
		else if (arg[k].tag == ARG_INT)
			arg[k].i.expr = -1;
		else if (arg[k].tag == ARG_INTS)
			arg[k].ints =
				memcpy(ARENA_NEW(f->p.arena, struct iexpr, MAX(arg[k].n, 1)), n->arg[k].ints, (size_t)arg[k].n * sizeof *arg[k].ints);
		else if (arg[k].tag == ARG_TENSORS)
			arg[k].nodes = memcpy(ARENA_NEW(f->p.arena, int, MAX(arg[k].n, 1)), n->arg[k].nodes, (size_t)arg[k].n * sizeof(int));
		for (int i = 0; arg[k].tag == ARG_INTS && i < arg[k].n; i++)
			arg[k].ints[i].expr = -1;
		for (int i = 0; arg[k].tag == ARG_TENSORS && i < arg[k].n; i++)
			arg[k].nodes[i] = arg[k].nodes[i] < 0 ? -1 : read_value(f, arg[k].nodes[i]);
	}
	int copy = prog_add(&f->p, op, n->name);
	memcpy(f->p.node[copy].arg, arg, sizeof arg);
	struct err err = {0};
	if (!prog_infer_node(&f->p, copy, &err))
		BUG("functionalising '%s': %s", n->name, err.msg);
	return copy;
}

static int read_value(struct functional *f, int node)
{
	node = f->same[node];
	const int root = f->root[node];
	if (f->value[node] != NO_VALUE && (node == root || f->changes[node] == f->changes[root]))
		return f->value[node];
	CHECK(node != root);
	int operand = read_value(f, f->from->node[node].arg[A_viewed_self].node);
	f->value[node] = copy_row(f, node, op_computing(f->from->node[node].op), operand); /* a view in place is a view here */
	f->changes[node] = f->changes[root];
	return f->value[node];
}

/* Where an input begins its results show only through a scatter, which begins where the tensor does that it reads. */
static bool offset_shows(const struct functional *f, int root)
{
	if (!node_is_input(&f->from->node[root]))
		return true;
	for (int i = 0; i < f->from->nnode; i++) {
		const struct node *n = &f->from->node[i];
		if ((keeps_layout(n->op) || n->op == OP_as_strided_scatter) && f->root[n->arg[A_region_scatter_self].node] == root)
			return true;
	}
	return false;
}

/* All of `like` replaced by `value`: with its strides and offset. */
static int scattered_whole(struct build *b, int like, int value)
{
	if (build_meta(b, like)->rank)
		return emit_slice_scatter(b, like, value, 0, 0, NO_INT, 1);
	int row = emit_unsqueeze(b, like, 0), src = emit_unsqueeze(b, value, 0);
	int scattered = emit_slice_scatter(b, row, src, 0, 0, NO_INT, 1);
	return emit_select_int(b, scattered, 0, 0);
}

/* `value` with the layout of `like`, which is root's value and has its sizes and dtype: all of it scattered into `like`. Strides of sizes 1
 * count, too: a stack of it looks at them to guess a memory format. */
static int with_layout(struct functional *f, int value, int like, int root)
{
	const struct meta *m = build_meta(&f->b, value), *to = build_meta(&f->b, like);
	const bool begins = m->offset == to->offset || !offset_shows(f, root);
	if (meta_equivalent(m, to) && meta_same_strides(m, to) && begins)
		return value;
	return scattered_whole(&f->b, like, value);
}

/* ---- writing through views: base, with `part` where the view is ---- */

/* A part without elements: nothing of it stands anywhere, but autograd has an edge to it. */
static int scatter_nothing(struct functional *f, int base, int part, const struct meta *m)
{
	int64_t size[MAX_RANK];
	if (m->rank == 0)
		return f->tracks ? NO_VALUE : base;
	memcpy(size, m->size, sizeof size);
	size[0] = 0;
	part = emit_reshape(&f->b, part, size, m->rank);
	return emit_slice_scatter(&f->b, base, part, 0, 0, 0, 1);
}

/* An expand that repeats elements is written only in part (as a whole it overlaps itself), and which of the repetitions that part is the
 * scatters on the way here have lost: there is no inverse. */
static int unexpanded(struct functional *f, int part, const struct meta *base)
{
	const struct meta m = *build_meta(&f->b, part);
	for (int d = 0; d < m.rank; d++) {
		const int of = d - (m.rank - base->rank);
		if (m.size[d] != (of < 0 ? 1 : base->size[of]))
			return NO_VALUE;
	}
	for (int n = m.rank - base->rank; n > 0; n--)
		part = emit_select_int(&f->b, part, 0, 0);
	return part;
}

/* Entry k of what split or unbind gives. */
static int scatter_entry(struct functional *f, const struct node *n, int64_t k, int base, int part)
{
	if (inverse[n->op] == INV_OF_SELECTS)
		return emit_select_scatter(&f->b, base, part, node_int(n, A_unbind_int_dim), k);
	CHECK(inverse[n->op] == INV_OF_SLICES);
	const struct arg *piece = &n->arg[A_split_Tensor_split_size];
	int64_t dim = node_int(n, A_split_Tensor_dim), start = piece->tag == ARG_INTS ? 0 : k * node_int(n, A_split_Tensor_split_size);
	for (int i = 0; piece->tag == ARG_INTS && i < k; i++)
		start += piece->ints[i].value;
	const int64_t length = build_meta(&f->b, part)->size[dim < 0 ? dim + build_meta(&f->b, part)->rank : dim];
	return emit_slice_scatter(&f->b, base, part, dim, start, start + length, 1);
}

/* The new value of the operand of view n. NO_VALUE: n has no inverse here. */
static int scatter_view(struct functional *f, const struct node *n, int base, int part)
{
	struct build *b = &f->b;
	const struct meta m = *build_meta(b, base);
	const bool nothing = meta_numel(build_meta(b, part)) == 0;
	switch (inverse[n->op]) {
	case INV_EXPANDED: return nothing ? scatter_nothing(f, base, part, &m) : unexpanded(f, part, &m);
	case INV_RETYPED: return emit_view_dtype(b, part, (int)m.dtype);
	case INV_PERMUTED: return vjp_unpermuted(b, n, part);
	case INV_TRANSPOSED: return emit_transpose_int(b, part, node_int(n, A_transpose_int_dim0), node_int(n, A_transpose_int_dim1));
	case INV_TURNED: return emit_t(b, part);
	case INV_SLICE:
		return emit_slice_scatter(b, base, part, node_int(n, A_slice_Tensor_dim), build_int_of(n, A_slice_Tensor_start),
			build_int_of(n, A_slice_Tensor_end), node_int(n, A_slice_Tensor_step));
	case INV_SELECT: return emit_select_scatter(b, base, part, node_int(n, A_select_int_dim), node_int(n, A_select_int_index));
	case INV_DIAGONAL:
		return emit_diagonal_scatter(
			b, base, part, node_int(n, A_diagonal_offset), node_int(n, A_diagonal_dim1), node_int(n, A_diagonal_dim2));
	case INV_ITSELF: return part;
	case INV_RESHAPED: return emit_reshape(b, part, m.size, m.rank);
	default: return nothing && !f->tracks ? base : NO_VALUE;
	}
}

/* All of `like` replaced by `value`, which nothing of `like` went into: autograd's edge to `like` stays, with a gradient of zeros. */
static int replaced(struct functional *f, int value, int like)
{
	return f->tracks && dtype_is_float(build_meta(&f->b, like)->dtype) ? scattered_whole(&f->b, like, value) : value;
}

static bool write_value(struct functional *f, int node, int part, bool all, struct err *err);

/* A view without an inverse, by its place in the root's memory. */
static bool write_window(struct functional *f, int node, int part, struct err *err)
{
	const struct meta *m = node_meta(f->from, node);
	const int root = f->root[node];
	if (meta_has_duplicates(m)) /* which of the repetitions was written the scatters on the way here have lost */
		return err_set(err, "a write through %s that repeats elements", op_info[f->from->node[node].op].name);
	if (!fills_storage(node_meta(f->from, root)))
		return err_set(err, "a write through %s of memory with gaps", op_info[f->from->node[node].op].name);
	int whole = emit_as_strided_scatter(&f->b, f->value[root], part, m->size, m->rank, m->stride, m->rank, m->offset);
	return write_value(f, root, whole, false, err);
}

/* Gives the tensor of `node` the value `part`. all: nothing of its old value went into that. */
static bool write_value(struct functional *f, int node, int part, bool all, struct err *err)
{
	node = f->same[node];
	if (is_root(f, node)) {
		if (all)
			part = replaced(f, part, f->value[node]);
		part = with_layout(f, part, f->value[node], node);
		if (!meta_equivalent(build_meta(&f->b, part), build_meta(&f->b, f->value[node])))
			return err_set(err, "a write to '%s' keeps a layout that no row gives", f->from->node[node].name);
		f->value[node] = part;
		f->changes[node]++;
		return true;
	}
	const struct node *n = &f->from->node[node];
	int operand = n->arg[A_viewed_self].node, whole;
	if (n->op == OP_getitem) { /* the operand is the list of views */
		const struct node *list = &f->from->node[operand];
		operand = list->arg[A_viewed_self].node;
		whole = scatter_entry(f, list, node_int(n, A_getitem_index), read_value(f, operand), part);
		all = false;
	} else {
		whole = scatter_view(f, n, read_value(f, operand), part);
	}
	if (whole == NO_VALUE)
		return write_window(f, node, part, err);
	return write_value(f, operand, whole, all && !keeps_base(n->op), err);
}

/* ---- in-place rows ---- */

/* A number that self's dtype does not hold is converted as a tensor of its own dtype is: 300 in u8 is 44. */
static int number_copied(struct functional *f, const struct scalar *s, enum dtype t)
{
	static const enum dtype own[] = {[SC_BOOL] = DT_B8, [SC_INT] = DT_I64, [SC_FLOAT] = DT_F64};
	struct err err = {0};
	return emit_scalar_tensor(&f->b, *s, (int)(scalar_fits(s, t, &err) ? t : own[s->kind]));
}

/* copy_: a fresh tensor, never src itself (what shares memory is observable). */
static int copied(struct functional *f, const struct node *n, int self)
{
	const struct meta m = *build_meta(&f->b, self);
	const struct arg *src = &n->arg[A_copy__src];
	int value = src->tag == ARG_SCALAR ? number_copied(f, &src->scalar, m.dtype) : read_value(f, src->node);
	if (!meta_same_sizes(build_meta(&f->b, value), &m))
		value = emit_expand(&f->b, value, m.size, m.rank);
	return build_meta(&f->b, value)->dtype == m.dtype ? emit_clone(&f->b, value) : emit_to_copy(&f->b, value, (int)m.dtype);
}

static int computed(struct functional *f, int node, int self)
{
	const int row = op_functional(f->from->node[node].op);
	CHECK(row >= 0);
	return copy_row(f, node, row, self);
}

static bool write_row(struct functional *f, int node, struct err *err)
{
	const struct node *n = &f->from->node[node];
	if (operands_without_data(f->from, n))
		return true;
	int self = read_value(f, node), value;
	const struct meta m = *build_meta(&f->b, self);
	if (n->op == OP_copy_)
		value = copied(f, n, self);
	else if (n->op == OP_zero_)
		value = emit_zeros_like(&f->b, self, -1);
	else
		value = computed(f, node, self);
	if (build_meta(&f->b, value)->dtype != m.dtype)
		value = emit_to_copy(&f->b, value, (int)m.dtype);
	return write_value(f, node, value, n->op == OP_copy_ || n->op == OP_zero_, err);
}

/* ---- the whole ---- */

static void begin(struct functional *f, const struct prog *p, struct arena *a)
{
	*f = (struct functional){.from = p};
	f->value = ARENA_NEW(a, int, p->nnode);
	f->input = ARENA_NEW(a, int, p->nnode);
	f->root = ARENA_NEW(a, int, p->nnode);
	f->same = ARENA_NEW(a, int, p->nnode);
	f->changes = ARENA_ZNEW(a, int, p->nnode);
	f->written = ARENA_ZNEW(a, bool, p->nnode);
	for (int i = 0; i < p->nnode; i++)
		f->value[i] = f->input[i] = NO_VALUE;
	prog_init(&f->p, a);
	f->p.surface = p->surface;
	f->b.p = &f->p;
	find_roots(f);
}

enum { MOST_WRITTEN = MAX_NODES / 8 }; /* rows, for one of the old program: views made again, scatters through views */

static bool rows(struct functional *f, const bool *which, struct err *err)
{
	for (int i = 0; i < f->from->nnode; i++) {
		const struct node *n = &f->from->node[i];
		if (!which[i] || !node_is_run(n))
			continue;
		if (f->p.nnode > MAX_NODES - MOST_WRITTEN)
			return err_set(err, "the program has too many rows");
		if (op_has(n->op, T_MUTATES)) {
			if (!write_row(f, i, err))
				return false;
		} else if (is_root(f, i)) {
			f->value[i] = copy_row(f, i, f->from->node[i].op, NO_VALUE);
		} else {
			read_value(f, i);
		}
	}
	return true;
}

int functional_copy(struct build *b, int value)
{
	const bool dense = meta_is_non_overlapping_and_dense(build_meta(b, value));
	return dense ? emit_clone(b, value) : emit_slice_scatter(b, value, value, 0, 0, NO_INT, 1);
}

/* Inputs that are written are copied first where autograd will save what they held. */
static int first_value(struct functional *f, int node, bool keep)
{
	const int input = f->input[node];
	return keep && f->written[node] ? with_layout(f, functional_copy(&f->b, input), input, node) : input;
}

/* Outputs that were two values may be one now: their cotangents are added. */
static void add_backward(struct functional *f, int source)
{
	const struct backward *b = &f->from->back[source];
	const int node = read_value(f, b->node), cotangent = read_value(f, b->cotangent);
	for (int i = 0; i < f->nback; i++)
		if (f->back[i].node == node) {
			f->back[i].cotangent = emit_add_Tensor(&f->b, f->back[i].cotangent, cotangent, scalar_int(1));
			return;
		}
	f->back_source[f->nback] = source;
	f->back[f->nback++] = (struct backward){node, cotangent};
}

bool functionalise(struct functional *f, const struct prog *p, bool keep, struct arena *a, struct err *err)
{
	begin(f, p, a);
	if (!acceptable(f, err))
		return false;
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]))
			f->value[i] = f->input[i] = copy_row(f, i, f->from->node[i].op, NO_VALUE);
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]))
			f->value[i] = first_value(f, i, keep);
	bool *forward = ARENA_NEW(a, bool, p->nnode), *cot = ARENA_NEW(a, bool, p->nnode);
	prog_partition(p, forward, cot);
	if (!rows(f, forward, err))
		return false;
	for (int i = 0; i < p->nnode; i++)
		cot[i] = cot[i] && !forward[i];
	if (!rows(f, cot, err))
		return false;
	for (int i = 0; i < p->nret; i++)
		f->ret[i] = read_value(f, p->ret[i]);
	for (int i = 0; i < p->nback; i++)
		add_backward(f, i);
	return true;
}

bool functional_made_again(const struct functional *f, int output) { return f->written[f->root[f->from->ret[output]]]; }

void functional_epilogue(struct functional *f)
{
	const struct prog *from = f->from;
	for (int i = 0; i < from->nnode; i++)
		if (f->written[i])
			emit_copy_(&f->b, f->input[i], f->value[i]);
	for (int i = 0; i < from->nnode; i++)
		if (f->written[i]) {
			f->value[i] = f->input[i];
			f->changes[i]++;
		}
	f->p.nret = from->nret;
	for (int i = 0; i < from->nret; i++)
		f->p.ret[i] = functional_made_again(f, i) ? read_value(f, from->ret[i]) : f->ret[i];
	f->p.has_backward = from->has_backward;
	f->p.nback = f->nback;
	for (int i = 0; i < f->nback; i++)
		f->p.back[i] = (struct backward){read_value(f, from->back[f->back_source[i]].node), f->back[i].cotangent};
	f->p.must_raise = from->must_raise; /* upon its data: what eager refuses whatever the data has no functional form */
	f->p.raises = from->raises;
}
