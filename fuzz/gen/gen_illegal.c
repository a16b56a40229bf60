/* gen_illegal.c: one deliberate mistake at the end of a program, which then says that eager must refuse it, and in which words. Each
 * kind is legal but for one fact, which the rows of the op table supply by kinds, roles and saves; what it breaks is a row of `kinds`.
 *
 * The words are those that PyTorch 2.11.0 and 2.15.0 and our interpreter share.
 *
 * Of positions, which only data put outside, any row that looks them up may be the one that raises (add_outside). */
#include "eager/lang/edit.h"
#include "eager/lang/fill.h"
#include "eager/run/interp.h"
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static int put(struct world *w, int op)
{
	int node = prog_add(w->p, op, NULL);
	prog_defaults(w->p, node);
	w->fact[node] = (struct fact){.root = node, .home = node};
	return node;
}

/* Metas of a row that was put, or what refuses it. Its result is returned, so that no compiler may leave it out. */
static bool finish(struct world *w, int node)
{
	CHECK(prog_infer_or_refuse(w->p, node, NULL));
	if (w->p->nret == MAX_RETURNS)
		return false;
	w->p->ret[w->p->nret++] = node;
	return true;
}

static int plain_input(struct world *w, const struct shape *s, enum dtype t, bool grad)
{
	struct policy certain = *w->pol;
	const struct policy *old = w->pol;
	certain.chance[PF_grad] = grad ? 100 : 0;
	w->pol = &certain;
	int node = add_input(w, s, &(struct input_spec){.dtype = t, .no_grad = !grad, .no_overlap = true, .no_view = true});
	w->pol = old;
	return node;
}

static enum dtype any_float(struct world *w)
{
	enum dtype t;
	return draw_dtype(w, DTS_FLOAT, &t) ? t : DT_F32;
}

/* A tensor with elements; often one that the program has already. */
static int some_value(struct world *w, uint32_t dtypes, int min_rank, int max_rank)
{
	struct shape s;
	enum dtype t;
	for (int i = w->p->nnode - 1; i >= 0 && choose_chance(w->c, 60); i--) {
		const struct meta *m = w->fact[i].usable ? node_meta(w->p, i) : NULL;
		if (m && !w->fact[i].index && dtypes & DTS(m->dtype) && m->rank >= min_rank && m->rank <= max_rank && meta_numel(m) > 0)
			return i;
	}
	draw_shape(w, &s, min_rank, max_rank);
	for (int d = 0; d < s.rank; d++)
		s.size[d] = MAX(s.size[d], 1);
	return plain_input(w, &s, draw_dtype(w, dtypes, &t) ? t : dtypes & DTS_FLOAT ? DT_F32 : DT_I64, false);
}

static int leaf(struct world *w)
{
	struct shape s;
	draw_shape(w, &s, 1, 3);
	for (int d = 0; d < s.rank; d++)
		s.size[d] = MAX(s.size[d], 1);
	return plain_input(w, &s, any_float(w), true);
}

enum { SELF, OPERAND }; /* arguments of the rows that draw_row finds */

/* A row with the traits whose second argument is such a one, and further ones all have defaults, for self of dtype t. */
static int draw_row(struct world *w, uint32_t traits, enum kind kind, enum role role, enum dtype t)
{
	int found[MAX_OPS], n = 0;
	for (int op = 0; op < op_nrows; op++) {
		const struct op_info *o = &op_info[op];
		bool rest = o->nparam > OPERAND && o->param[OPERAND].kind == kind && o->param[OPERAND].role == role
			&& (o->traits & traits) == traits && o->param[SELF].kind == K_TENSOR && o->param[SELF].role == R_ANY && o->dtypes & DTS(t)
			&& o->nret == 1;
		for (int i = OPERAND + 1; rest && i < o->nparam; i++)
			rest = o->param[i].has_default;
		if (rest)
			found[n++] = op;
	}
	return n ? found[choose_below(w->c, (uint64_t)n)] : -1;
}

/* A write that a number suffices for, or none. */
static int write_number(struct world *w, int self)
{
	int op = draw_row(w, T_MUTATES | T_NUMBERS, K_TENSOR, R_BCAST_TO, node_meta(w->p, self)->dtype);
	int node = put(w, op < 0 ? OP_zero_ : op);
	w->p->node[node].arg[A_INPLACE_self] = arg_tensor(self);
	if (op >= 0)
		w->p->node[node].arg[OPERAND] = arg_scalar_i(2);
	return node;
}

/* ---- the kinds -------------------------------------------------------------------------------------------------------- */

static bool sizes(struct world *w)
{
	int x = some_value(w, DTS_ALL, 1, 4);
	if (x < 0)
		return false;
	struct shape s = shape_of(node_meta(w->p, x));
	enum dtype t = node_meta(w->p, x)->dtype;
	int64_t *size = &s.size[choose_below(w->c, (uint64_t)s.rank)];
	*size = *size == 1 ? 1 : *size + 1;
	int op = draw_row(w, T_POINTWISE, K_TENSOR, R_BCAST, t), y = *size == 1 ? -1 : plain_input(w, &s, t, false);
	if (op < 0 || y < 0)
		return false;
	int node = put(w, op);
	w->p->node[node].arg[SELF] = arg_tensor(x);
	w->p->node[node].arg[OPERAND] = arg_tensor(y);
	return finish(w, node);
}

static bool elements(struct world *w)
{
	int x = some_value(w, DTS_ALL, 0, 4);
	if (x < 0)
		return false;
	int64_t size = meta_numel(node_meta(w->p, x)) + 1;
	bool view = choose_chance(w->c, 50);
	int node = put(w, view ? OP_view : OP_reshape), size_arg = view ? A_view_size : A_reshape_shape;
	w->p->node[node].arg[A_viewed_self] = arg_tensor(x);
	w->p->node[node].arg[size_arg] = arg_ints(w->p, &size, 1);
	return finish(w, node);
}

static bool dimension(struct world *w)
{
	int x = some_value(w, DTS_FLOAT, 0, 4);
	if (x < 0)
		return false;
	const struct meta *m = node_meta(w->p, x);
	bool list = choose_chance(w->c, 50);
	int op = draw_row(w, T_REDUCE, list ? K_DIMS : K_DIM, R_ANY, m->dtype);
	int64_t dim = choose_chance(w->c, 50) ? MAX(m->rank, 1) : -MAX(m->rank, 1) - 1;
	if (op < 0)
		return false;
	int node = put(w, op);
	w->p->node[node].arg[SELF] = arg_tensor(x);
	w->p->node[node].arg[OPERAND] = list ? arg_ints(w->p, &dim, 1) : arg_int(dim);
	return finish(w, node);
}

static bool matrices(struct world *w)
{
	enum dtype t = any_float(w);
	int64_t inner = choose_int(w->c, 1, 5);
	int a = plain_input(w, &(struct shape){2, {choose_int(w->c, 1, 5), inner}}, t, false);
	int b = plain_input(w, &(struct shape){2, {inner + 1, choose_int(w->c, 1, 5)}}, t, false), node = put(w, OP_mm);
	w->p->node[node].arg[A_mm_self] = arg_tensor(a);
	w->p->node[node].arg[A_mm_mat2] = arg_tensor(b);
	return finish(w, node);
}

static bool narrow_dtype(struct world *w)
{
	int x = some_value(w, DTS_INT, 0, 4);
	if (x < 0 || !writable(w, x) || !dtype_is_int(node_meta(w->p, x)->dtype))
		return false;
	int node = write_number(w, x);
	if (!op_has(w->p->node[node].op, T_NUMBERS) || op_info[w->p->node[node].op].licence == LC_CONVERT)
		return false; /* copy_ converts */
	w->p->node[node].arg[OPERAND] = arg_scalar_f(0.5);
	return finish(w, node);
}

static bool leaf_written(struct world *w)
{
	int x = leaf(w);
	return x >= 0 && finish(w, write_number(w, x));
}

/* A result that backward needs is written before. */
static bool saved_written(struct world *w)
{
	static const int rows[] = {OP_exp, OP_tanh, OP_sigmoid, OP_sqrt, OP_relu};
	int x = leaf(w), y = put(w, rows[choose_below(w->c, ARRAY_LEN(rows))]);
	if (x < 0)
		return false;
	w->p->node[y].arg[A_elementwise_self] = arg_tensor(x);
	CHECK(prog_infer_or_refuse(w->p, y, NULL));
	int z = write_number(w, y);
	w->fact[z].grad = true;
	return op_has(w->p->node[z].op, T_NUMBERS) && op_info[w->p->node[z].op].licence != LC_CONVERT && finish(w, z); /* copy_ cuts the path */
}

static bool part_written(struct world *w)
{
	int x = leaf(w);
	if (x < 0)
		return false;
	int c = put(w, OP_clone), s = put(w, OP_unbind_int), g = put(w, OP_getitem);
	if (node_meta(w->p, x)->size[0] > MAX_OUTS)
		return false;
	w->p->node[c].arg[A_clone_self] = arg_tensor(x);
	w->p->node[s].arg[A_unbind_int_self] = arg_tensor(c);
	w->p->node[g].arg[A_getitem_self] = arg_tensor(s);
	w->p->node[g].arg[A_getitem_index] = arg_int(0);
	for (int i = c; i <= g; i++)
		CHECK(prog_infer_or_refuse(w->p, i, NULL));
	return finish(w, write_number(w, g));
}

static bool broadcast_written(struct world *w)
{
	int64_t n = choose_int(w->c, 2, 5), size[] = {n, choose_int(w->c, 2, 5)};
	int x = plain_input(w, &(struct shape){2, {n, 1}}, any_float(w), false), e = put(w, OP_expand);
	w->p->node[e].arg[A_expand_self] = arg_tensor(x);
	w->p->node[e].arg[A_expand_size] = arg_ints(w->p, size, 2);
	CHECK(prog_infer_or_refuse(w->p, e, NULL));
	int node = write_number(w, e);
	return op_has(w->p->node[node].op, T_NUMBERS) && finish(w, node); /* zero_ is accepted */
}

static bool shifted_copy(struct world *w)
{
	int64_t n = choose_int(w->c, 3, 9);
	int x = plain_input(w, &(struct shape){1, {n}}, any_float(w), false), part[2];
	struct meta *m = &w->p->node[x].out[0].meta;
	if (!meta_is_contiguous(m))
		return false;
	for (int k = 0; k < 2; k++) {
		part[k] = put(w, OP_slice_Tensor);
		w->p->node[part[k]].arg[A_slice_Tensor_self] = arg_tensor(x);
		w->p->node[part[k]].arg[A_slice_Tensor_start] = arg_int(k);
		w->p->node[part[k]].arg[A_slice_Tensor_end] = arg_int(n - 1 + k);
		CHECK(prog_infer_or_refuse(w->p, part[k], NULL));
	}
	int node = put(w, OP_copy_);
	w->p->node[node].arg[A_copy__self] = arg_tensor(part[0]);
	w->p->node[node].arg[A_copy__src] = arg_tensor(part[1]);
	return finish(w, node);
}

static const struct {
	bool (*make)(struct world *w);
	const char *says;
} kinds[] = {
	{sizes, "must match the size of tensor b"},
	{elements, "is invalid for input of size"},
	{dimension, "Dimension out of range"},
	{matrices, "mat1 and mat2 shapes cannot be multiplied"},
	{narrow_dtype, "can't be cast to the desired output type"},
	{leaf_written, "a leaf Variable that requires grad is being used in an in-place operation"},
	{saved_written, "modified by an inplace operation"},
	{part_written, "is a view and is being modified inplace"},
	{broadcast_written, "more than one element of the written-to tensor refers to a single memory location"},
	{shifted_copy, "some elements of the input tensor and the written-to tensor refer to a single memory location"},
};

void add_illegality(struct world *w)
{
	struct prog *p = w->p;
	int nnode = p->nnode, nret = p->nret, nstorage = p->nstorage, kind = (int)choose_below(w->c, ARRAY_LEN(kinds));
	int64_t seed = w->seed;
	p->must_raise = true;
	p->raises = kinds[kind].says;
	if (p->nnode < MAX_NODES / 2 && kinds[kind].make(w))
		return;
	p->must_raise = false;
	p->raises = NULL;
	p->nnode = nnode;
	p->nret = nret;
	p->nstorage = nstorage;
	w->seed = seed;
}

/* ---- positions --------------------------------------------------------------------------------------------------------- */

/* A row that looks its positions up, and the argument that has them. The gradient of an embedding writes where they say. */
static int draw_reader(struct world *w, int *arg)
{
	int found[MAX_OPS], at[MAX_OPS], n = 0;
	for (int f = 0; f < NFAMILIES; f++)
		for (int i = 0; i < w->pol->nby_family[f]; i++) {
			const struct op_info *o = &op_info[w->pol->by_family[f][i]];
			for (int k = 0; k < o->nparam; k++)
				if (role_is_positions(o->param[k].role) && o->param[k].role != R_ROWS && !trusts_operands(w->pol->by_family[f][i])) {
					found[n] = w->pol->by_family[f][i];
					at[n++] = k;
				}
		}
	int i = n ? (int)choose_below(w->c, (uint64_t)n) : 0;
	*arg = n ? at[i] : 0;
	return n ? found[i] : -1;
}

/* The input that argument k reads positions from, the last one of a list; -1: it is computed, a mask, or has too many cells to write. */
static int positions_read(const struct prog *p, const struct arg *a)
{
	const int node = a->tag == ARG_TENSOR ? a->node : a->tag == ARG_TENSORS && a->n ? a->nodes[a->n - 1] : -1;
	if (node < 0 || p->node[node].op != OP_input || node_given(&p->node[node], A_input_data))
		return -1;
	const struct meta *m = node_meta(p, node);
	return m->dtype == DT_I64 && meta_numel(m) && meta_extent(m) <= 64 ? node : -1;
}

/* Its cells become numbers of the text. One of them is the first position behind the last, or, counted from the end, before the first. */
static void move_outside(struct world *w, int node)
{
	struct node *n = &w->p->node[node];
	const struct meta *m = &n->out[0].meta;
	const int64_t high = node_int(n, A_input_high);
	int64_t cell = m->offset;
	struct arg data = fill_to_data(fill_storage(w->p, n->out[0].storage, w->p->arena), (int)meta_extent(m), m->dtype, w->p->arena);
	for (int d = 0; d < m->rank; d++)
		cell += m->stride[d] * (int64_t)choose_below(w->c, (uint64_t)m->size[d]);
	data.data[cell].i = choose_chance(w->c, 70) ? high + (int64_t)choose_below(w->c, 3) : -high - 1;
	n->arg[A_input_data] = data;
	n->arg[A_input_fill] = n->arg[A_input_high] = n->arg[A_input_dim] = (struct arg){.tag = ARG_NONE};
	prog_defaults(w->p, node);
}

static bool is_refused(const struct prog *p, int row)
{
	struct prog alone, bound, q = *p;
	struct result r;
	struct arena a;
	const struct interp_options o = {.no_zones = true};
	int order[MAX_NODES];
	arena_init(&a);
	for (int i = 0; i <= row; i++)
		order[i] = i;
	q.nret = 1;
	q.ret[0] = row;
	const bool refused = edit_select(&alone, &q, order, row + 1, &a, NULL) && prog_bind(&bound, &alone, 0, &a, NULL)
		&& interp_run(&r, &bound, &a, &o, NULL) == INTERP_OK && r.status == RES_RAISED;
	arena_free(&a);
	return refused;
}

static bool make_outside(struct world *w)
{
	int k, before = w->p->nnode, op = draw_reader(w, &k), row = op < 0 ? -1 : add_op(w, op, -1);
	int positions = row < 0 ? -1 : positions_read(w->p, &w->p->node[row].arg[k]);
	if (positions < before) /* other rows may read those that were there */
		return false;
	move_outside(w, positions);
	if (!is_refused(w->p, row))
		return false;
	int result = op_info[op].nret == 1 ? row : row + 1; /* several are taken apart at once */
	if (choose_chance(w->c, 50) && result < w->p->nnode)
		add_return(w, result);
	w->p->must_raise = true;
	w->p->raises = "out of"; /* range, bounds: PyTorch has several kernels for one row, and several texts */
	return true;
}

void add_outside(struct world *w)
{
	struct prog *p = w->p;
	const struct prog before = *p;
	const int64_t seed = w->seed;
	for (int tries = 0; tries < 4 && p->nnode < MAX_NODES / 2; tries++) {
		if (make_outside(w))
			return;
		p->nnode = before.nnode;
		p->nstorage = before.nstorage;
		w->seed = seed;
	}
}
