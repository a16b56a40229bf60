/* gen_item.c: a number of a finished program becomes what a tensor holds (the row `item`): a size of full or expand or view, where a slice
 * begins or ends, a position. The tensor is an input of one integer, or computed of an input of several, whose data are drawn to give that
 * number. So the program means what it meant; whether it does in every call is found out by binding them. */
#include "eager/lang/edit.h"
#include "eager/lang/stated.h"
#include "fuzz/gen/gen_symbol.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* An integer of a row: entry of an argument that is a list, or -1. */
struct number_place {
	int node, arg, entry;
};

enum { MAX_PLACES = 64, MAX_ARGMAX = 12 };

static struct iexpr *number_at(struct prog *p, const struct number_place *at)
{
	struct arg *g = &p->node[at->node].arg[at->arg];
	return at->entry < 0 ? &g->i : &g->ints[at->entry];
}

static int find_numbers(const struct prog *p, struct number_place *out)
{
	bool forward[MAX_NODES], cot[MAX_NODES];
	int n = 0;
	prog_partition(p, forward, cot);
	for (int i = 0; i < p->nnode; i++) {
		const struct op_info *op = &op_info[p->node[i].op];
		for (int k = 0; forward[i] && op->family != F_INPUT && k < op->nparam; k++) {
			const struct param *q = &op->param[k];
			const struct arg *g = &p->node[i].arg[k];
			const bool position = q->kind == K_INDEX && q->role == R_ANY && g->tag == ARG_INT && g->i.value >= 0
				&& g->i.value <= INT32_MAX; /* the end that graphs write for "all" stays */
			const bool sizes = q->kind == K_SIZE && q->role != R_REPEAT && q->role != R_STRIDED && g->tag == ARG_INTS;
			if (position && n < MAX_PLACES)
				out[n++] = (struct number_place){i, k, -1};
			for (int e = 0; sizes && e < g->n && n < MAX_PLACES; e++)
				if (g->ints[e].value >= 0)
					out[n++] = (struct number_place){i, k, e};
		}
	}
	return n;
}

/* An operand is read through a slice of it that ends where it ends; false: there is none. */
static bool slice_operand(struct symbolic *s, struct number_place *out)
{
	struct operand_place place_of[MAX_PLACES];
	int order[MAX_NODES], n = 0;
	const int nplace = find_operands(&s->p, place_of, ARRAY_LEN(place_of)), row = s->p.nnode;
	if (!nplace)
		return false;
	const struct operand_place at = place_of[choose_below(s->w->c, (uint64_t)nplace)];
	const int tensor = s->p.node[at.user].arg[at.arg].node, rank = node_meta(&s->p, tensor)->rank;
	const enum role role = op_info[s->p.node[at.user].op].param[at.arg].role;
	if (rank == 0 || role == R_PACKED || role == R_DENSE) /* what ends sooner in another call has gaps */
		return false;
	int d = (int)choose_below(s->w->c, (uint64_t)rank);
	if (node_meta(&s->p, tensor)->size[d] < 2)
		d = (d + 1) % rank;
	const int slice = prog_add(&s->p, OP_slice_Tensor, NULL);
	s->p.node[slice].arg[A_slice_Tensor_self] = arg_tensor(tensor);
	s->p.node[slice].arg[A_slice_Tensor_dim] = arg_int(d);
	s->p.node[slice].arg[A_slice_Tensor_start] = arg_int(0);
	s->p.node[slice].arg[A_slice_Tensor_end] = arg_int(node_meta(&s->p, tensor)->size[d]);
	prog_defaults(&s->p, slice);
	if (!prog_infer_node(&s->p, slice, NULL))
		BUG("a slice of all was refused");
	s->p.node[at.user].arg[at.arg] = arg_tensor(slice);
	for (int i = 0; i < row; i++) {
		if (i == at.user)
			order[n++] = slice;
		order[n++] = i;
	}
	*out = (struct number_place){at.user, A_slice_Tensor_end, -1}; /* the slice is where its reader was */
	return edit_reorder(&s->p, order, n, NULL);
}

/* Data of which the row gives `value`, and how many they are. */
static int draw_data(struct world *w, int row, int64_t value, int64_t *data)
{
	int n = 2 + (int)choose_below(w->c, 3);
	if (row < 0) {
		data[0] = value;
		return 1;
	}
	if (row == OP_argmax) {
		n = (int)value + 1 + (int)choose_below(w->c, 3);
		for (int i = 0; i < n; i++)
			data[i] = choose_int(w->c, 0, 5) + (i == value ? 6 : 0);
		return n;
	}
	data[0] = value;
	for (int i = 1; i < n; i++) {
		data[i] = choose_int(w->c, 0, value);
		if (row == OP_sum)
			data[0] -= data[i];
	}
	return n;
}

/* i64, or another dtype that has the number. */
static enum dtype draw_integer(struct world *w, int64_t value)
{
	enum dtype small[NDTYPES];
	int n = 0;
	for (int t = NDTYPES - 1; t >= 0; t--)
		if (op_info[OP_item].dtypes >> t & 1 && t != DT_I64)
			small[n++] = (enum dtype)t;
	return value < 100 && choose_chance(w->c, 20) ? small[choose_below(w->c, (uint64_t)n)] : DT_I64;
}

static int add_data_input(struct world *w, struct prog *p, int row, int64_t value)
{
	int64_t data[MAX_ARGMAX + 4], size;
	struct scalar cell[ARRAY_LEN(data)];
	size = draw_data(w, row, value, data);
	for (int i = 0; i < size; i++)
		cell[i] = (struct scalar){SC_INT, data[i], 0};
	const int node = prog_add(p, OP_input, NULL);
	p->node[node].arg[A_input_size] = arg_ints(p, &size, row < 0 && choose_chance(w->c, 50) ? 0 : 1);
	p->node[node].arg[A_input_dtype] = arg_dtype(row < 0 ? draw_integer(w, value) : DT_I64);
	p->node[node].arg[A_input_data] = arg_data(p, cell, (int)size);
	prog_defaults(p, node);
	return node;
}

/* Rows that give the number, at the end; the last one is the item. False: refused. */
static bool add_rows(struct world *w, struct prog *p, int64_t value)
{
	static const int rows[] = {-1, -1, -1, OP_sum, OP_amax, OP_argmax};
	int row = rows[choose_below(w->c, ARRAY_LEN(rows))];
	if ((row == OP_argmax && value >= MAX_ARGMAX) || (row >= 0 && w->pol->restricted && !w->pol->op[row]))
		row = -1;
	int of = add_data_input(w, p, row, value);
	if (!prog_infer_node(p, of, NULL))
		return false;
	if (row >= 0) {
		const int made = prog_add(p, row, NULL);
		p->node[made].arg[op_self(row)] = arg_tensor(of);
		prog_defaults(p, made);
		if (!prog_infer_node(p, made, NULL))
			return false;
		of = made;
	}
	const int item = prog_add(p, OP_item, "u0");
	p->node[item].arg[A_item_self] = arg_tensor(of);
	p->node[item].arg[A_item_value] = arg_int(value);
	return prog_infer_node(p, item, NULL);
}

/* The input first, then the program's own, then the rows that give the number. */
static bool place_rows(struct prog *p, int first)
{
	int order[MAX_NODES], n = 0, inputs = 0;
	while (node_is_input(&p->node[inputs]))
		order[n++] = inputs++;
	for (int i = first; i < p->nnode; i++)
		order[n++] = i;
	for (int i = inputs; i < first; i++)
		order[n++] = i;
	return edit_reorder(p, order, n, NULL);
}

/* One that is a size as compilers treat sizes, neither 0 nor 1, if some draws find it. */
static struct number_place draw_place(struct symbolic *s, const struct number_place *place_of, int n)
{
	struct number_place at = place_of[choose_below(s->w->c, (uint64_t)n)];
	for (int tries = 0; tries < 3 && number_at(&s->p, &at)->value < 2; tries++)
		at = place_of[choose_below(s->w->c, (uint64_t)n)];
	return at;
}

static bool read_number(struct symbolic *s)
{
	struct number_place place_of[MAX_PLACES], at;
	struct prog *p = &s->p;
	int n = find_numbers(p, place_of);
	if (n && !choose_chance(s->w->c, 25))
		at = draw_place(s, place_of, n);
	else if (!slice_operand(s, &at))
		return false;
	n = find_numbers(p, place_of);
	const int64_t value = number_at(p, &at)->value;
	const int first = p->nnode;
	if (!add_rows(s->w, p, value))
		return false;
	const int expr = prog_add_expr(p, (struct expr){.op = EX_SYM, .a = p->nnode - 1});
	number_at(p, &at)->expr = expr;
	const bool everywhere = choose_chance(s->w->c, 50);
	for (int k = 0; k < n; k++)
		if (everywhere && number_at(p, &place_of[k])->value == value)
			number_at(p, &place_of[k])->expr = expr;
	return place_rows(p, first);
}

void add_item(struct world *w)
{
	struct symbolic *s;
	if (prog_has_symbols(w->p) || prog_states(w->p) || w->p->nnode > MAX_NODES / 2)
		return;
	s = ARENA_NEW(w->p->arena, struct symbolic, 1);
	*s = (struct symbolic){.w = w};
	prog_clone(&s->p, w->p, w->p->arena);
	arena_init(&s->arena);
	const bool made = read_number(s) && symbolic_bind(s);
	if (made)
		*w->p = s->p;
	arena_free(&s->arena);
	if (made && chance(w, PF_counts))
		vary_counts(w);
}
