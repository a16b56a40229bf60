/* shrink.c: the list of simpler programs, and the edits that need no arithmetic on sizes (those: shrink_size.c). */
#include "eager/lang/shrink.h"

#include "eager/lang/edit.h"
#include "eager/lang/shrink_size.h"
#include "eager/lang/stated.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

const char *const shrink_name[NSHRINKS] = {
#define SHRINK(id, what) what,
	SHRINKS(SHRINK)
#undef SHRINK
};

struct list {
	struct shrink *at;
	int n, cap;
	struct arena *a;
	enum shrink_kind kind;
};

static void add(struct list *l, int node, int arg, int64_t from, int64_t to)
{
	if (l->n == l->cap) {
		int cap = MAX(16, l->cap * 2);
		l->at = ARENA_GROW(l->a, struct shrink, l->at, l->cap, cap);
		l->cap = cap;
	}
	l->at[l->n++] = (struct shrink){l->kind, node, arg, from, to};
}

/* ---- lists --------------------------------------------------------------------------------------------------------------------------- */

static void list_calls(struct list *l, const struct prog *p)
{
	for (int k = 0; k <= p->ncall && p->ncall; k++)
		add(l, -1, -1, k, 0);
	for (int k = p->ncall; k > 0 && p->ncall > 1; k--)
		add(l, -1, -1, k, 1);
}

static void list_outputs(struct list *l, const struct prog *p)
{
	for (int i = p->nret - 1; i >= 0 && p->nret > 1; i--)
		add(l, -1, -1, i, 0);
	for (int i = p->nret - 1; i >= 0 && p->nret > 2; i--)
		add(l, -1, -1, i, 1);
}

/* Late nodes first: with them go most others. */
static void list_nodes(struct list *l, const struct prog *p, bool cut)
{
	for (int i = p->nnode - 1; i >= 0; i--) {
		const struct node *n = &p->node[i];
		if (cut ? !node_is_source(n) && n->nout == 1 && !n->refusal : n->op != OP_sym)
			add(l, i, -1, 0, 0);
	}
}

static void list_bypasses(struct list *l, const struct prog *p)
{
	for (int i = p->nnode - 1; i >= 0; i--) {
		const struct node *n = &p->node[i];
		for (int k = 0; k < op_info[n->op].nparam && n->nout == 1 && !node_is_sym(n); k++)
			if (n->arg[k].tag == ARG_TENSOR && p->node[n->arg[k].node].nout == 1)
				add(l, i, -1, n->arg[k].node, 0);
	}
}

/* Arithmetic that could be any: one operator stands for all, so that programs with one cause look alike. -1: op is one of those, or means
 * something of its own. */
static int plainer_arithmetic(int op)
{
	int ntensors = 0;
	for (int k = 0; k < op_info[op].nparam; k++)
		ntensors += op_info[op].param[k].kind == K_TENSOR;
	const int functional = op_functional(op);
	if (functional >= 0 && op != OP_add_Tensor_ && op_has(functional, T_POINTWISE) && ntensors == 2)
		return OP_add_Tensor_;
	for (int sum = OP_sum; op_has(op, T_REDUCE) && op_has(op, T_LINEAR) && sum <= OP_sum_dim; sum++)
		if (op != sum && str_eq(op_info[op].schema, op_info[sum].schema))
			return sum;
	bool plain = op == OP_neg || op == OP_add_Tensor;
	if (plain || op_info[op].family != F_POINTWISE || op_has(op, T_NONDIFF) || ntensors > 2)
		return -1;
	return ntensors == 2 ? OP_add_Tensor : OP_neg;
}

static bool is_made(const struct node *n)
{
	return n->nout == 1 && !op_has(n->op, T_VIEW) && !op_has(n->op, T_MAYBE_VIEW) && !op_has(n->op, T_MUTATES);
}

/* What makes a new tensor like its first operand (self, weight, ...) could be neg of that: the argument that it is. -1: none. */
static int could_be_neg(const struct prog *p, const struct node *n)
{
	if (!is_made(n) || node_is_source(n) || n->op == OP_neg || n->out[0].meta.dtype == DT_B8)
		return -1;
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		if (op_info[n->op].param[k].kind != K_TENSOR || n->arg[k].tag != ARG_TENSOR)
			continue;
		const struct node *operand = &p->node[n->arg[k].node];
		const struct meta *m = &n->out[0].meta;
		return operand->nout == 1 && meta_same_sizes(&operand->out[0].meta, m) && operand->out[0].meta.dtype == m->dtype ? k : -1;
	}
	return -1;
}

/* The row that gives one of several views alone: every row with T_MULTI_VIEW states it. */
enum {
	PART_split_Tensor = OP_slice_Tensor,
	PART_unsafe_split_Tensor = OP_slice_Tensor,
	PART_split_with_sizes = OP_slice_Tensor,
	PART_unsafe_split_with_sizes = OP_slice_Tensor,
	PART_unbind_int = OP_select_int
};
static const uint16_t part_of[NOPS] = {
#define ROW_T_MULTI_VIEW(id) [OP_##id] = PART_##id + 1,
#include "generated/op_groups.def"
};

/* A part of several could be the part alone: select for what unbind gives, slice for what split gives. -1: n gives no parts, or their
 * length is a symbol. */
static int plainer_part(const struct node *n)
{
	const int part = part_of[n->op] - 1;
	const struct arg *length = &n->arg[A_split_Tensor_split_size];
	bool symbol = length->tag == ARG_INT && length->i.expr >= 0;
	for (int i = 0; length->tag == ARG_INTS && i < length->n; i++)
		symbol |= length->ints[i].expr >= 0;
	return part == OP_slice_Tensor && symbol ? -1 : part;
}

/* Any write could be zero_. */
static void list_operators(struct list *l, const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (op_has(n->op, T_MUTATES) && n->op != OP_zero_)
			add(l, i, -1, n->op, OP_zero_);
		int like = could_be_neg(p, n), to = plainer_arithmetic(n->op);
		if (like >= 0)
			add(l, i, like, n->op, OP_neg);
		if (n->op == OP_lift_fresh_copy) /* which nobody writes */
			add(l, i, -1, n->op, OP_clone);
		if (to >= 0 && (to != OP_neg || like < 0))
			add(l, i, -1, n->op, to);
		if (plainer_part(n) >= 0)
			add(l, i, -1, n->op, plainer_part(n));
	}
}

/* Is node read as positions anywhere? */
static bool read_as_positions(const struct prog *p, int node)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < op_info[p->node[i].op].nparam; k++) {
			const struct arg *g = &p->node[i].arg[k];
			bool reads = g->tag == ARG_TENSOR && g->node == node;
			for (int j = 0; g->tag == ARG_TENSORS && j < g->n; j++)
				reads |= g->nodes[j] == node;
			if (reads && role_is_positions(op_info[p->node[i].op].param[k].role))
				return true;
		}
	return false;
}

/* A new tensor, or one of several; not a part of a tensor. */
static bool is_result(const struct prog *p, const struct node *n)
{
	if (n->op == OP_getitem)
		return !op_has(p->node[n->arg[A_getitem_self].node].op, T_MULTI_VIEW);
	return !node_is_source(n) && is_made(n) && n->op != OP_neg;
}

/* Results that nobody reads as positions; whatever is one may be neg of something new. */
static void list_results(struct list *l, const struct prog *p)
{
	for (int i = p->nnode - 1; i >= 0; i--) {
		const struct node *n = &p->node[i];
		if (is_result(p, n) && n->out[0].meta.dtype != DT_B8 && !n->refusal && !read_as_positions(p, i))
			add(l, i, -1, 0, 0);
	}
}

/* Each getitem of the node is the part alone, made by op. */
static void plainer_parts(struct prog *q, int node, int op)
{
	const struct node *of = &q->node[node];
	for (int i = node + 1; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		if (n->op != OP_getitem || n->arg[A_getitem_self].node != node)
			continue;
		const int64_t index = n->arg[A_getitem_index].i.value;
		memset(n->arg, 0, sizeof n->arg);
		n->op = op;
		if (op == OP_select_int) {
			n->arg[A_select_int_self] = of->arg[A_unbind_int_self];
			n->arg[A_select_int_dim] = of->arg[A_unbind_int_dim];
			n->arg[A_select_int_index] = arg_int(index);
			continue;
		}
		const struct arg dim = of->arg[A_split_Tensor_dim];
		const struct meta *m = node_meta(q, of->arg[A_split_Tensor_self].node);
		const struct arg *length = &of->arg[A_split_Tensor_split_size];
		int64_t start = 0, end = m->size[dim.i.value + (dim.i.value < 0 ? m->rank : 0)];
		for (int64_t k = 0; length->tag == ARG_INTS && k <= index; k++)
			end = (start = k ? end : 0) + length->ints[k].value;
		if (length->tag == ARG_INT) {
			start = index * length->i.value;
			end = MIN(start + length->i.value, end);
		}
		n->arg[A_slice_Tensor_self] = of->arg[A_split_Tensor_self];
		n->arg[A_slice_Tensor_dim] = dim;
		n->arg[A_slice_Tensor_start] = arg_int(start);
		n->arg[A_slice_Tensor_end] = arg_int(end);
		n->arg[A_slice_Tensor_step] = arg_int(1);
	}
}

/* Arguments that both have stay; like: the one that becomes self of neg, -1 if it is called so. */
static void other_operator(struct prog *q, int node, int op, int like)
{
	struct node *n = &q->node[node];
	struct arg had[MAX_ARGS];
	int was = n->op;
	if (plainer_part(n) == op) {
		plainer_parts(q, node, op);
		return;
	}
	memcpy(had, n->arg, sizeof had);
	memset(n->arg, 0, sizeof n->arg);
	n->op = op;
	for (int k = 0; k < op_info[op].nparam; k++)
		for (int j = 0; j < op_info[was].nparam; j++)
			if (str_eq(op_info[op].param[k].name, op_info[was].param[j].name))
				n->arg[k] = had[j];
	if (like >= 0)
		n->arg[op_arg(op, N_self)] = had[like];
	prog_defaults(q, node);
}

/* Not the arguments of inputs that have a kind of edit of their own. */
static bool is_plain_argument(const struct node *n, int k)
{
	return !node_is_input(n) && n->op != OP_sym && op_info[n->op].param[k].kind != K_TENSOR
		&& (op_info[n->op].param[k].kind != K_DTYPE || !node_is_source(n));
}

static void list_argument(struct list *l, const struct prog *p, int node, int k)
{
	const struct node *n = &p->node[node];
	const struct param *q = &op_info[n->op].param[k];
	const struct arg *g = &n->arg[k];
	if (q->has_default && !arg_is_default(q, g))
		add(l, node, k, 0, -1);
	bool one_number = g->tag == ARG_INT && g->i.expr < 0;
	if (one_number && q->kind == K_DIM && g->i.value < 0)
		add(l, node, k, g->i.value, INT64_MIN); /* counted from the front */
	for (int64_t v = 0; v <= 1 && one_number; v++)
		if (g->i.value != v && (g->i.value < 0 || g->i.value > v))
			add(l, node, k, g->i.value, v);
	bool odd = g->tag == ARG_SCALAR && !(g->scalar.kind == SC_BOOL || (g->scalar.kind == SC_INT ? g->scalar.i == 1 : g->scalar.f == 1));
	if (odd)
		add(l, node, k, 0, 1);
}

static void list_layouts(struct list *l, const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (n->op == OP_input_view)
			add(l, i, -1, 0, 3);
		if (n->op != OP_input)
			continue;
		bool strided = node_given(n, A_input_stride), moved = node_int(n, A_input_offset) != 0;
		if (strided && moved)
			add(l, i, -1, 0, 0);
		if (strided)
			add(l, i, -1, 0, 1);
		if (moved)
			add(l, i, -1, 0, 2);
	}
}

/* By place, where sizes do not tell dimensions apart. */
static void list_ranks(struct list *l, const struct prog *p)
{
	int most = 0;
	for (int i = 0; i < p->nnode; i++)
		if (node_is_input(&p->node[i]))
			most = MAX(most, node_meta(p, i)->rank);
	for (int rank = most; rank > 0; rank--)
		for (int d = 0; d < rank; d++)
			add(l, -1, d, 0, rank);
}

static void list_sizes(struct list *l, const struct prog *p)
{
	int64_t size[MAX_SHRINK_SIZES], to[MAX_SHRINK_STEPS];
	int n = shrink_sizes(size, p);
	for (int i = 0; i < n; i++) {
		int steps = l->kind == SHRINK_SIZE ? shrink_steps(to, size[i]) : 0;
		for (int k = 0; k < steps; k++)
			add(l, -1, -1, size[i], to[k]);
		if (l->kind == SHRINK_RANK)
			add(l, -1, -1, size[i], 0);
	}
	if (l->kind == SHRINK_RANK)
		list_ranks(l, p);
}

static bool is_ones(const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	if (n->op != OP_full)
		return false;
	const struct scalar *s = &n->arg[A_full_fill_value].scalar;
	return s->kind == SC_FLOAT && s->f == 1;
}

static enum dtype plainer_dtype(enum dtype dt) { return dtype_is_float(dt) ? DT_F32 : dtype_is_int(dt) ? DT_I64 : dt; }

static void list_dtypes(struct list *l, const struct prog *p)
{
	bool there[NDTYPES] = {false};
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].nout && !node_is_sym(&p->node[i]))
			there[p->node[i].out[0].meta.dtype] = true;
	for (int dt = 0; dt < NDTYPES; dt++)
		if (there[dt] && plainer_dtype((enum dtype)dt) != (enum dtype)dt)
			add(l, -1, -1, dt, plainer_dtype((enum dtype)dt));
}

/* The number that an item reads there; false: none does. */
static bool read_by_item(const struct prog *p, int node, int64_t *number)
{
	for (int i = node + 1; i < p->nnode; i++)
		if (p->node[i].op == OP_item && p->node[i].arg[A_item_self].node == node) {
			*number = p->node[i].sym_value;
			return true;
		}
	return false;
}

static void list_fills(struct list *l, const struct prog *p)
{
	int seed = 0;
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		if (n->op != OP_input)
			continue;
		bool number = dtype_is_float(n->out[0].meta.dtype);
		const struct arg *data = &n->arg[A_input_data];
		int64_t given;
		if (data->tag == ARG_DATA && read_by_item(p, i, &given)) /* plain already */
			continue;
		if (data->tag != ARG_NONE || (number && !str_eq(n->arg[A_input_fill].str, "dyadic")))
			add(l, i, -1, 0, 0);
		if (data->tag == ARG_NONE && node_int(n, A_input_seed) != ++seed)
			add(l, i, -1, seed, 1);
	}
}

int shrink_list(struct shrink **out, const struct prog *p, enum shrink_kind kind, struct arena *a)
{
	struct list l = {.a = a, .kind = kind};
	switch (kind) {
	case SHRINK_CALLS: list_calls(&l, p); break;
	case SHRINK_LATE:
		if (p->late)
			add(&l, -1, -1, 0, 0);
		break;
	case SHRINK_OUTPUT: list_outputs(&l, p); break;
	case SHRINK_BACKWARD:
		if (p->has_backward)
			add(&l, -1, -1, 0, 0);
		break;
	case SHRINK_CUT: list_nodes(&l, p, true); break;
	case SHRINK_DROP: list_nodes(&l, p, false); break;
	case SHRINK_BYPASS: list_bypasses(&l, p); break;
	case SHRINK_SYMBOLS:
		if (prog_has_symbols(p))
			add(&l, -1, -1, 0, 0);
		add(&l, -1, -1, 0, 1);
		break;
	case SHRINK_RANK:
	case SHRINK_SIZE: list_sizes(&l, p); break;
	case SHRINK_ARGUMENT:
		for (int i = 0; i < p->nnode; i++)
			for (int k = 0; k < op_info[p->node[i].op].nparam; k++)
				if (is_plain_argument(&p->node[i], k))
					list_argument(&l, p, i, k);
		break;
	case SHRINK_OPERATOR: list_operators(&l, p); break;
	case SHRINK_RESULT: list_results(&l, p); break;
	case SHRINK_LAYOUT: list_layouts(&l, p); break;
	case SHRINK_GRAD:
		for (int i = 0; i < p->nnode; i++)
			if (node_is_input(&p->node[i]) && node_requires_grad(&p->node[i]))
				add(&l, i, -1, 0, 0);
		break;
	case SHRINK_COTANGENT:
		for (int i = 0; i < p->nback; i++)
			if (!is_ones(p, p->back[i].cotangent))
				add(&l, p->back[i].cotangent, -1, 0, 0);
		break;
	case SHRINK_DTYPE: list_dtypes(&l, p); break;
	case SHRINK_FILL: list_fills(&l, p); break;
	case SHRINK_SURFACE:
		if (p->surface != SURFACE_ATEN)
			add(&l, -1, -1, 0, 0);
		break;
	case NSHRINKS: BUG("no kind of edit");
	}
	*out = l.at;
	return l.n;
}

/* ---- edits --------------------------------------------------------------------------------------------------------------------------- */

/* 0: only call `from`'s data. 1: without that call line. */
static bool fewer_calls(struct prog *q, const struct shrink *s, struct err *err)
{
	int k = (int)s->from;
	if (s->to == 0) {
		struct prog bound;
		if (!prog_bind(&bound, q, k, q->arena, err))
			return false;
		*q = bound;
		q->ncall = 0;
		q->late = false;
		for (int i = 0; i < q->nnode; i++)
			if (q->node[i].op == OP_sym)
				q->node[i].arg[A_sym_value] = arg_int(q->node[i].sym_value);
		return true;
	}
	for (int i = k; i < q->ncall; i++)
		q->call[i - 1] = q->call[i];
	q->ncall--;
	q->late = q->late && q->ncall > 0;
	return true;
}

static void fewer_outputs(struct prog *q, const struct shrink *s)
{
	int n = 0, m = 0;
	bool there[MAX_NODES] = {false};
	for (int i = 0; i < q->nret; i++) {
		bool keep = s->to == 0 ? i == s->from : i != s->from;
		there[q->ret[i]] |= keep;
		if (keep)
			q->ret[n++] = q->ret[i];
	}
	q->nret = n;
	for (int i = 0; i < q->nback; i++)
		if (there[q->back[i].node])
			q->back[m++] = q->back[i];
	q->nback = m;
	q->has_backward = q->has_backward && m > 0;
}

static bool needs_gradient(const struct prog *p, int node)
{
	bool wants[MAX_NODES] = {false};
	for (int i = 0; i <= node; i++)
		wants[i] = node_is_input(&p->node[i]) ? node_requires_grad(&p->node[i])
											  : node_reads(p, &p->node[i], wants) && !node_is_constant(p, &p->node[i]);
	return wants[node] && p->has_backward;
}

static void become(struct node *n, int op)
{
	n->op = op;
	for (int k = 0; k < MAX_ARGS; k++)
		n->arg[k] = (struct arg){0};
}

/* node becomes `input` of the meta that it has (of its sizes, where that is no input's). */
/* Node `at` is an input that can stand where `node` does. */
static void input_for(struct prog *q, int at, int node)
{
	struct node *n = &q->node[at];
	struct meta m = q->node[node].out[0].meta;
	bool grad = needs_gradient(q, node) && dtype_is_float(m.dtype), positions = read_as_positions(q, node);
	struct scalar number = {.kind = SC_INT};
	become(n, OP_input);
	n->arg[A_input_size] = arg_ints(q, m.size, m.rank);
	if (!meta_is_contiguous(&m) && !meta_has_duplicates(&m))
		n->arg[A_input_stride] = arg_ints(q, m.stride, m.rank);
	n->arg[A_input_dtype] = arg_dtype(m.dtype);
	n->arg[A_input_seed] = arg_int(at + 1);
	if (m.dtype == DT_B8)
		n->arg[A_input_fill] = arg_str(q, "mask");
	if (read_by_item(q, node, &number.i)) {
		n->arg[A_input_data] = arg_data(q, &number, 1);
	} else if (positions) { /* 0 is a position of everything that has one */
		n->arg[A_input_fill] = arg_str(q, "index");
		n->arg[A_input_high] = arg_int(1);
	}
	if (grad)
		n->arg[A_input_requires_grad] = arg_bool(true);
	prog_defaults(q, at);
}

static void make_input(struct prog *q, int node) { input_for(q, node, node); }

/* The node is neg of a new input: a result still, of the plainest kind. */
static bool make_result(struct prog *q, int node, struct err *err)
{
	int order[MAX_NODES], n = 0;
	if (q->nnode == MAX_NODES)
		return err_set(err, "shrink: no room for an input");
	const int input = prog_add(q, OP_input, NULL);
	input_for(q, input, node);
	become(&q->node[node], OP_neg);
	q->node[node].arg[A_neg_self] = arg_tensor(input);
	for (int i = 0; i < input; i++) {
		if (i == node)
			order[n++] = input;
		order[n++] = i;
	}
	return edit_reorder(q, order, n, err);
}

static bool reads_given(const struct prog *p, int expr)
{
	bool read[MAX_NODES] = {false};
	expr_mark(p, expr, read);
	for (int i = 0; i < p->nnode; i++)
		if (read[i] && p->node[i].op != OP_item)
			return true;
	return false;
}

/* Numbers for symbols: for all, or for all but those that data give. */
static void drop_symbols(struct prog *q, bool all)
{
	for (int i = 0; i < q->nnode; i++)
		for (int k = 0; k < op_info[q->node[i].op].nparam; k++) {
			struct arg *g = &q->node[i].arg[k];
			if (g->tag == ARG_INT && (all || reads_given(q, g->i.expr)))
				g->i.expr = -1;
			for (int j = 0; g->tag == ARG_INTS && j < g->n; j++)
				if (all || reads_given(q, g->ints[j].expr))
					g->ints[j].expr = -1;
		}
	for (int c = 0; c < q->ncall; c++)
		q->call[c].nsym = 0;
}

static void plainer_argument(struct prog *q, const struct shrink *s)
{
	struct node *n = &q->node[s->node];
	struct arg *g = &n->arg[s->arg];
	if (s->to == INT64_MIN) {
		int self = op_self(n->op);
		if (self >= 0 && n->arg[self].tag == ARG_TENSOR)
			g->i.value += node_meta(q, n->arg[self].node)->rank;
	} else if (s->to < 0) {
		*g = (struct arg){0};
		prog_defaults(q, s->node);
	} else if (g->tag == ARG_INT) {
		g->i.value = s->to;
	} else {
		g->scalar = (struct scalar){.kind = g->scalar.kind, .i = 1, .f = 1};
	}
}

static void plainer_layout(struct prog *q, const struct shrink *s)
{
	struct node *n = &q->node[s->node];
	if (s->to == 3) {
		bool grad = node_requires_grad(n);
		make_input(q, s->node);
		n = &q->node[s->node];
		n->arg[A_input_requires_grad] = arg_bool(grad);
		return;
	}
	if (s->to != 2)
		n->arg[A_input_stride] = (struct arg){0};
	if (s->to != 1)
		n->arg[A_input_offset] = arg_int(0);
	shrink_refit_data(q, s->node);
}

static void make_ones(struct prog *q, int node)
{
	struct node *n = &q->node[node];
	struct meta m = n->out[0].meta;
	struct arg size = n->op == OP_input ? n->arg[A_input_size] : arg_ints(q, m.size, m.rank); /* as it is said: by symbols, too */
	become(n, OP_full);
	n->arg[A_full_size] = size;
	n->arg[A_full_fill_value] = arg_scalar_f(1);
	if (m.dtype != DT_F32)
		n->arg[A_full_dtype] = arg_dtype(m.dtype);
	prog_defaults(q, node);
}

static void other_dtype(struct prog *q, enum dtype from, enum dtype to)
{
	for (int i = 0; i < q->nnode; i++)
		for (int k = 0; k < op_info[q->node[i].op].nparam; k++)
			if (q->node[i].arg[k].tag == ARG_DTYPE && q->node[i].arg[k].dtype == from)
				q->node[i].arg[k].dtype = to;
}

static void plainer_data(struct prog *q, const struct shrink *s)
{
	struct node *n = &q->node[s->node];
	if (s->to) {
		n->arg[A_input_seed] = arg_int(s->from);
		return;
	}
	n->arg[A_input_data] = (struct arg){0};
	if (dtype_is_float(n->out[0].meta.dtype))
		n->arg[A_input_fill] = arg_str(q, "dyadic");
	for (int c = 0; c < q->ncall; c++)
		for (int i = 0; i < q->call[c].ninput; i++)
			if (q->call[c].input[i].node == s->node) {
				q->call[c].input[i].fill = NULL;
				q->call[c].input[i].data = (struct arg){0};
			}
}

/* What edits leave behind that no program has: two cotangents of one value, data for what is no input any more. */
static void tidy(struct prog *q)
{
	int n = 0;
	for (int i = 0; i < q->nback; i++) {
		bool there = false;
		for (int k = 0; k < n; k++)
			there |= q->back[k].node == q->back[i].node;
		if (!there)
			q->back[n++] = q->back[i];
	}
	q->nback = n;
	for (int c = 0; c < q->ncall; c++) {
		int m = 0;
		for (int i = 0; i < q->call[c].ninput; i++)
			if (q->node[q->call[c].input[i].node].op == OP_input)
				q->call[c].input[m++] = q->call[c].input[i];
		q->call[c].ninput = m;
	}
}

static bool edited(struct prog *q, const struct shrink *s, struct err *err)
{
	switch (s->kind) {
	case SHRINK_CALLS: return fewer_calls(q, s, err);
	case SHRINK_LATE: q->late = false; break;
	case SHRINK_OUTPUT: fewer_outputs(q, s); break;
	case SHRINK_BACKWARD: q->nback = 0, q->has_backward = q->late = false; break;
	case SHRINK_CUT: make_input(q, s->node); break;
	case SHRINK_SYMBOLS: drop_symbols(q, s->to == 0); break;
	case SHRINK_RANK: return s->arg >= 0 ? shrink_rank_at(q, (int)s->to, s->arg, err) : shrink_rank(q, s->from, err);
	case SHRINK_SIZE: return shrink_size(q, s->from, s->to, err);
	case SHRINK_OPERATOR: other_operator(q, s->node, (int)s->to, s->arg); break;
	case SHRINK_RESULT: return make_result(q, s->node, err);
	case SHRINK_ARGUMENT: plainer_argument(q, s); break;
	case SHRINK_LAYOUT: plainer_layout(q, s); break;
	case SHRINK_GRAD: q->node[s->node].arg[op_arg(q->node[s->node].op, N_requires_grad)].b = false; break;
	case SHRINK_COTANGENT: make_ones(q, s->node); break;
	case SHRINK_DTYPE: other_dtype(q, (enum dtype)s->from, (enum dtype)s->to); break;
	case SHRINK_FILL: plainer_data(q, s); break;
	case SHRINK_SURFACE: q->surface = SURFACE_ATEN; break;
	case SHRINK_DROP:
	case SHRINK_BYPASS:
	case NSHRINKS: BUG("no such edit");
	}
	return true;
}

/* A row states no more than the larger of self and the mask has. Whether it is what they select is the caller's. */
static bool infer_with_fewer(struct prog *q, struct err *err)
{
	for (int i = 0; i < q->nnode; i++) {
		struct node *n = &q->node[i];
		const int stated = op_stated(n->op);
		if (!prog_eval_node(q, i, err))
			return false;
		if (stated >= 0 && !op_states_value(n->op) && n->arg[stated].i.expr < 0) {
			const int64_t of = meta_numel(node_meta(q, n->arg[op_deciding(n->op)].node));
			const int64_t self = meta_numel(node_meta(q, n->arg[op_self(n->op)].node));
			n->arg[stated].i.value = MIN(n->arg[stated].i.value, MAX(of, self));
		}
		if (!prog_infer_or_refuse(q, i, err))
			return false;
	}
	return true;
}

bool shrink_apply(struct prog *out, const struct prog *p, const struct shrink *s, struct arena *a, struct err *err)
{
	struct prog q;
	bool ok;
	if (s->kind == SHRINK_DROP) {
		ok = edit_drop(&q, p, s->node, a, err);
	} else if (s->kind == SHRINK_BYPASS) {
		ok = edit_replace(&q, p, s->node, (int)s->from, a, err);
	} else {
		prog_clone(&q, p, a);
		ok = edited(&q, s, err) && infer_with_fewer(&q, err);
	}
	if (!ok)
		return false;
	tidy(&q);
	shrink_refit_cotangents(&q);
	if (!prog_infer(&q, err) || !edit_sweep(out, &q, a, err) || !prog_validate(out, err) || !prog_validate_calls(out, err))
		return false;
	return !prog_has_empty(out) || prog_has_empty(p) || err_set(err, "shrink: a tensor without elements, of which there is none");
}
