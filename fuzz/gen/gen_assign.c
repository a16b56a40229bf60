/* gen_assign.c: part of a value is written as people write it: the part is taken, written at once, and from then on only the whole is used.
 * In the surface `python` these neighbours are one statement (compiled/targets/torch/spell.h):
 *     a view, copy_ to it                                                 x[1:3] = y
 *     a view, an in-place row on it, the same view, copy_ to that         x[1:3] += y
 *     index, an in-place row on its result, index_put_ of that            x[i] += y
 * That the last two end in copy_ and index_put_ is what Python makes of them. A row is made by add_op like any other; if one turns out to
 * be impossible, all go. */
#include "fuzz/gen/gen_internal.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

enum shape_of_write { WRITE_COPY, WRITE_ANY, WRITE_AND_PUT_BACK, WRITE_INDEXED };
static const int write_weight[] = {[WRITE_COPY] = 40, [WRITE_ANY] = 20, [WRITE_AND_PUT_BACK] = 20, [WRITE_INDEXED] = 20};

/* What is undone if the group does not come about. */
struct before {
	int nnode, nstorage;
	int64_t seed;
	bool no_special;
	struct fact fact[MAX_NODES];
};

static void remember(struct before *b, const struct world *w)
{
	*b = (struct before){.nnode = w->p->nnode, .nstorage = w->p->nstorage, .seed = w->seed, .no_special = w->no_special};
	memcpy(b->fact, w->fact, sizeof *b->fact * (size_t)b->nnode);
}

static bool undo(struct world *w, const struct before *b)
{
	w->p->nnode = b->nnode;
	w->p->nstorage = b->nstorage;
	w->seed = b->seed;
	w->no_special = b->no_special;
	memcpy(w->fact, b->fact, sizeof *b->fact * (size_t)b->nnode);
	return false;
}

static bool allowed(const struct world *w, int op) { return !w->pol->restricted || w->pol->op[op]; }

/* Its arguments are a dimension and positions along it. */
static bool is_subscript(int op)
{
	bool dim = false, index = false;
	for (int k = 0; k < op_info[op].nparam; k++) {
		dim |= op_info[op].param[k].kind == K_DIM;
		index |= op_info[op].param[k].kind == K_INDEX;
		if (op_info[op].param[k].kind == K_SIZE)
			return false;
	}
	return dim && index;
}

/* A row of the family that `fits` admits; -1: none. */
static int draw_row(struct world *w, enum family f, bool (*fits)(int op))
{
	int found[MAX_OPS], n = 0;
	for (int i = 0; i < w->pol->nby_family[f]; i++)
		if ((!fits || fits(w->pol->by_family[f][i])) && !op_has(w->pol->by_family[f][i], T_INPLACE_VIEW)) /* the base is kept */
			found[n++] = w->pol->by_family[f][i];
	return n ? found[choose_below(w->c, (uint64_t)n)] : -1;
}

/* x += y: a pointwise row with one other operand, in place. */
static bool is_arithmetic(int op)
{
	return magnitude_of(op) != MAG_CONVERTS && op_info[op].nparam > 1 && op_info[op].param[A_INPLACE_self + 1].role == R_BCAST_TO;
}

/* Something that may be written: an existing value of one dimension or more, or a new input. */
static int draw_base(struct world *w)
{
	int found[16], n = 0;
	for (int i = w->p->nnode - 1; i >= 0 && n < ARRAY_LEN(found); i--)
		if (w->fact[i].usable && !w->fact[i].index && node_meta(w->p, i)->rank > 0 && writable(w, i))
			found[n++] = i;
	if (n && chance(w, PF_chain))
		return found[choose_chance(w->c, 55) ? choose_below(w->c, (uint64_t)n) : 0];
	struct input_spec spec = {.no_grad = true, .no_overlap = true};
	struct shape s;
	if (!draw_dtype(w, DTS_ALL, &spec.dtype))
		return -1;
	draw_shape(w, &s, 1, 5);
	return add_input(w, &s, &spec);
}

struct arg own_copy(struct world *w, struct arg a)
{
	if (a.tag == ARG_TENSORS)
		return arg_nodes(w->p, a.nodes, a.n);
	if (a.tag == ARG_INTS) {
		struct iexpr *ints = ARENA_NEW(w->p->arena, struct iexpr, a.n);
		memcpy(ints, a.ints, sizeof *ints * (size_t)a.n);
		a.ints = ints;
	}
	return a;
}

/* A row with its arguments copied from elsewhere. */
static int add_row(struct world *w, int op, const struct arg *arg, int narg)
{
	const char *why;
	int node = prog_add(w->p, op, NULL);
	for (int k = 0; k < narg; k++)
		w->p->node[node].arg[k] = own_copy(w, arg[k]);
	prog_defaults(w->p, node);
	if (!prog_infer_node(w->p, node, NULL) || !admit(w, node, &why))
		return -1;
	count_uses(w, &w->p->node[node]);
	return node;
}

/* No longer an operand of anything, and not returned. */
static void hide(struct world *w, int from)
{
	for (int i = from; i < w->p->nnode; i++)
		if (op_info[w->p->node[i].op].family != F_INPUT)
			w->fact[i].usable = false;
}

static bool write_view(struct world *w, int base, enum shape_of_write shape)
{
	bool subscript = shape == WRITE_AND_PUT_BACK || choose_chance(w->c, 75);
	int row = draw_row(w, F_VIEW, subscript ? is_subscript : NULL);
	int write = shape == WRITE_COPY ? OP_copy_ : draw_row(w, F_INPLACE, shape == WRITE_ANY ? NULL : is_arithmetic);
	if (row < 0 || write < 0 || !allowed(w, write) || (shape == WRITE_AND_PUT_BACK && !allowed(w, OP_copy_)))
		return false;
	int view = add_op(w, row, base), done = view < 0 ? -1 : add_op(w, write, view);
	if (done < 0 || shape != WRITE_AND_PUT_BACK)
		return done >= 0;
	struct arg copy[MAX_ARGS];
	memcpy(copy, w->p->node[view].arg, sizeof copy);
	int again = add_row(w, row, copy, MAX_ARGS);
	return again >= 0 && add_row(w, OP_copy_, (struct arg[]){arg_tensor(again), arg_tensor(done)}, 2) >= 0;
}

/* Takes back the last node, whose operands stay: what followed from it is forgotten. */
static void take_back(struct world *w, const struct before *b)
{
	w->p->nnode--;
	memcpy(w->fact, b->fact, sizeof *b->fact * (size_t)b->nnode);
	for (int i = b->nnode; i < w->p->nnode; i++) {
		w->fact[i].saved = false;
		w->fact[i].nuse = 0;
	}
}

/* index_put_ as it is drawn, but of what was read at its indices and written with its values. */
static bool write_indexed(struct world *w, int base)
{
	struct before b;
	struct arg arg[A_index_put__accumulate + 1];
	int write = draw_row(w, F_INPLACE, is_arithmetic);
	if (write < 0 || !allowed(w, OP_index_put_) || !allowed(w, OP_index_Tensor))
		return false;
	remember(&b, w);
	int put = add_op(w, OP_index_put_, base);
	if (put < 0 || w->p->node[put].arg[A_index_put__accumulate].b) /* where it accumulates, indices may repeat */
		return false;
	memcpy(arg, w->p->node[put].arg, sizeof arg);
	take_back(w, &b);
	int get = add_row(w, OP_index_Tensor, arg, A_indexed_indices + 1);
	int done = get < 0 ? -1 : add_row(w, write, (struct arg[]){arg_tensor(get), arg[A_index_put__values]}, 2);
	arg[A_index_put__values] = arg_tensor(done);
	return done >= 0 && add_row(w, OP_index_put_, arg, ARRAY_LEN(arg)) >= 0;
}

bool add_assignment(struct world *w)
{
	struct before b;
	remember(&b, w);
	enum shape_of_write shape = (enum shape_of_write)choose_weighted(w->c, write_weight, ARRAY_LEN(write_weight));
	int base = draw_base(w), from = w->p->nnode;
	if (base < 0)
		return undo(w, &b);
	if (!(shape == WRITE_INDEXED ? write_indexed(w, base) : write_view(w, base, shape)))
		return undo(w, &b);
	hide(w, from);
	w->fact[base].kept = true;
	return true;
}
