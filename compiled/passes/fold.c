/* fold.c: constant folding. A CONSTANT is a value all of whose elements are the same known number: what factories make of
 * nothing, views of it, and rows of constants whose elements come out the same, which one run of the row shows. Such a row becomes `full`.
 * NaNs stay: `full` would have to say their payload. */
#include "compiled/passes/pass.h"

#include <math.h>

#include "eager/run/interp.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

struct constant {
	bool known;
	struct scalar v;
};

static struct scalar number_of(enum dtype t, const void *p)
{
	if (dtype_is_float(t))
		return (struct scalar){SC_FLOAT, 0, dtype_load_f(t, p)};
	return (struct scalar){t == DT_B8 ? SC_BOOL : SC_INT, dtype_load_i(t, p), 0};
}

static bool all_equal(struct constant *out, const struct result_tensor *t)
{
	const int size = dtype_nbytes(t->meta.dtype);
	if (!t->data || t->nbytes < (size_t)size || memcmp(t->data, (const char *)t->data + size, t->nbytes - (size_t)size) != 0)
		return false;
	out->v = number_of(t->meta.dtype, t->data);
	out->known = !(out->v.kind == SC_FLOAT && isnan(out->v.f));
	return out->known;
}

static int constant_row(struct build *b, const struct meta *m, const struct constant *c)
{
	return emit_full(b, m->size, m->rank, c->v, (int)m->dtype);
}

/* The row alone, of constants. False: an operand is not constant. */
static bool alone(struct prog *out, const struct prog *p, const struct node *n, const struct constant *c, struct arena *a)
{
	struct build b = {.p = out};
	struct arg arg[MAX_ARGS];
	prog_init(out, a);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		arg[k] = n->arg[k];
		if (arg[k].tag == ARG_TENSOR && !c[arg[k].node].known)
			return false;
		if (arg[k].tag == ARG_TENSOR)
			arg[k].node = constant_row(&b, node_meta(p, n->arg[k].node), &c[n->arg[k].node]);
		if (arg[k].tag == ARG_TENSORS)
			arg[k].nodes = ARENA_NEW(a, int, MAX(arg[k].n, 1));
		for (int i = 0; arg[k].tag == ARG_TENSORS && i < arg[k].n; i++) {
			const int of = n->arg[k].nodes[i];
			if (of >= 0 && !c[of].known)
				return false;
			arg[k].nodes[i] = of < 0 ? of : constant_row(&b, node_meta(p, of), &c[of]);
		}
	}
	int row = prog_add(out, n->op, NULL);
	memcpy(out->node[row].arg, arg, sizeof arg);
	out->ret[out->nret++] = row;
	return prog_infer_node(out, row, NULL);
}

static bool computed(struct constant *out, const struct prog *p, const struct node *n, const struct constant *c)
{
	struct arena a;
	struct prog q;
	struct result r;
	struct err err = {0};
	arena_init(&a);
	bool ok = alone(&q, p, n, c, &a) && interp_run(&r, &q, &a, NULL, &err) == INTERP_OK && r.status == RES_OK;
	ok = ok && all_equal(out, &r.call[0].out[0]);
	arena_free(&a);
	return ok;
}

/* `full` gives dense rows of the run's device. */
static bool full_gives(const struct meta *m)
{
	struct meta dense;
	meta_make_contiguous(&dense, m->dtype, m->size, m->rank);
	return meta_identical(&dense, m) && meta_numel(m) > 0 && meta_numel(m) <= FOLD_MAX_ELEMENTS;
}

/* What a factory fills its tensor with, whatever its operand holds: every row of the family states one. */
enum { WITH_ZEROS = 1, WITH_ONES, WITH_ARGUMENTS };
enum {
	FILLED_zeros = WITH_ZEROS,
	FILLED_zeros_like = WITH_ZEROS,
	FILLED_new_zeros = WITH_ZEROS,
	FILLED_ones = WITH_ONES,
	FILLED_ones_like = WITH_ONES,
	FILLED_new_ones = WITH_ONES,
	FILLED_new_full = WITH_ARGUMENTS,
	FILLED_full_like = WITH_ARGUMENTS,
	FILLED_full = WITH_ARGUMENTS,
	FILLED_scalar_tensor = WITH_ARGUMENTS,
	FILLED_arange = WITH_ARGUMENTS,
	FILLED_arange_start = WITH_ARGUMENTS,
	FILLED_arange_start_step = WITH_ARGUMENTS,
	FILLED_linspace = WITH_ARGUMENTS,
	FILLED_logspace = WITH_ARGUMENTS,
	FILLED_logspace_Tensor_Tensor = WITH_ARGUMENTS,
	FILLED_logspace_Tensor_Scalar = WITH_ARGUMENTS,
	FILLED_logspace_Scalar_Tensor = WITH_ARGUMENTS,
	FILLED_linspace_Tensor_Tensor = WITH_ARGUMENTS,
	FILLED_linspace_Tensor_Scalar = WITH_ARGUMENTS,
	FILLED_linspace_Scalar_Tensor = WITH_ARGUMENTS,
	FILLED_eye = WITH_ARGUMENTS,
	FILLED_eye_m = WITH_ARGUMENTS
};
static const uint8_t filled_with[NOPS] = {
#define ROW_F_FACTORY(id) [OP_##id] = FILLED_##id,
#include "generated/op_groups.def"
};

static struct constant constant_of(const struct prog *p, int node, const struct constant *c)
{
	const struct node *n = &p->node[node];
	struct constant out = {0};
	if (op_info[n->op].nret != 1 || node_is_input(n) || op_has(n->op, T_MUTATES))
		return out;
	if (row_is_view(p, node))
		return n->op == OP_as_strided ? out : c[n->arg[A_viewed_self].node];
	if (filled_with[n->op] <= WITH_ONES && filled_with[n->op] >= WITH_ZEROS) {
		const bool one = filled_with[n->op] == WITH_ONES;
		const enum dtype t = n->out[0].meta.dtype;
		out.v = (struct scalar){dtype_is_float(t) ? SC_FLOAT : t == DT_B8 ? SC_BOOL : SC_INT, one, one};
		out.known = true;
	} else if (full_gives(&n->out[0].meta)) {
		computed(&out, p, n, c);
	}
	return out;
}

/* The row in place, so that it comes before those who read it. */
static void become_full(struct prog *p, int node, const struct constant *c)
{
	struct node *n = &p->node[node];
	const struct meta m = n->out[0].meta;
	memset(n->arg, 0, sizeof n->arg);
	n->op = OP_full;
	n->arg[A_full_size] = arg_ints(p, m.size, m.rank);
	n->arg[A_full_fill_value] = (struct arg){.tag = ARG_SCALAR, .scalar = c->v};
	n->arg[A_full_dtype] = arg_dtype(m.dtype);
	prog_defaults(p, node);
}

bool pass_fold(struct pure *g, struct err *err)
{
	struct prog *p = g->p;
	struct constant *c = ARENA_ZNEW(p->arena, struct constant, MAX(p->nnode, 1));
	bool *changed = ARENA_ZNEW(p->arena, bool, MAX(p->nnode, 1));
	for (int i = 0; i < p->nnode; i++) {
		c[i] = constant_of(p, i, c);
		changed[i] = c[i].known && p->node[i].op != OP_full && !row_is_view(p, i) && full_gives(node_meta(p, i));
		if (changed[i])
			become_full(p, i, &c[i]);
	}
	return pure_update(g, changed, err);
}
