/* count.c: a program of the deciding rows alone, run by the interpreter. */
#include "eager/run/count.h"

#include "eager/lang/edit.h"
#include "eager/lang/fill.h"
#include "eager/lang/stated.h"
#include "eager/ops/layout.h"
#include "eager/ops/select.h"
#include "eager/run/interp.h"
#include "generated/op_args.h"
#include "generated/op_input.h"

/* p without what decides neither the row's number nor self's sizes; it returns the tensor whose true elements are counted, then self. */
static bool deciders_alone(struct prog *out, const struct prog *p, int row, struct arena *a, struct err *err)
{
	const struct node *r = &p->node[row];
	bool keep[MAX_NODES] = {false};
	int order[MAX_NODES], n = 0;
	struct prog q = *p;
	q.nback = 0;
	q.has_backward = q.must_raise = false;
	q.nret = 2;
	q.ret[0] = r->arg[op_deciding(r->op)].node;
	q.ret[1] = r->arg[op_self(r->op)].node;
	stated_deciders(p, row, keep);
	keep[q.ret[1]] = true;
	for (int i = row - 1; i >= 0; i--)
		if (keep[i])
			node_mark_operands(p, &p->node[i], keep);
	for (int i = 0; i < row; i++)
		if (keep[i])
			order[n++] = i;
	return edit_select(out, &q, order, n, a, err);
}

static bool count(int64_t *out, const struct node *r, const struct tensor *deciding, const struct meta *self, struct err *err)
{
	int64_t size[MAX_RANK];
	int rank;
	if (deciding->meta.device == DEV_META)
		return err_set(err, "there are no data on device meta");
	if (op_states_value(r->op) || op_counts_distinct(r->op)) {
		*out = op_states_value(r->op) ? select_value(deciding) : select_distinct(r, deciding);
		return *out >= 0 || !op_counts_distinct(r->op) || err_set(err, "slices with NaN are in no order");
	}
	if (!layout_broadcast(size, &rank, &deciding->meta, self, err))
		return false;
	*out = select_count(deciding, self);
	return true;
}

/* As it is reported: contiguous. */
static bool count_result(
	int64_t *out, const struct node *r, const struct result_tensor *deciding, const struct meta *self, struct arena *a, struct err *err)
{
	unsigned char *data = arena_alloc(a, MAX(deciding->nbytes, 1));
	struct tensor t = {.base = data};
	if (deciding->nbytes)
		memcpy(data, deciding->data, deciding->nbytes);
	meta_make_contiguous(&t.meta, deciding->meta.dtype, deciding->meta.size, deciding->meta.rank);
	t.meta.device = deciding->meta.device;
	return count(out, r, &t, self, err);
}

/* Its own sizes do not follow from other rows. */
static bool is_stated_whole(const struct prog *p, int node)
{
	bool reads[MAX_NODES] = {false};
	node_mark_operands(p, &p->node[node], reads);
	for (int i = 0; i < node; i++)
		if (reads[i] && p->node[i].op == OP_sym_size)
			return false;
	return p->node[node].op == OP_input;
}

/* Most masks are inputs that nobody has written, and then nothing need run. */
static bool decided_by_input(const struct prog *p, int row, int k)
{
	const struct node *r = &p->node[row];
	const int deciding = r->arg[op_deciding(r->op)].node, self = r->arg[op_self(r->op)].node;
	if (p->node[deciding].op != OP_input || (k && !(is_stated_whole(p, deciding) && is_stated_whole(p, self))))
		return false;
	for (int i = 0; i < row; i++)
		if (op_has(p->node[i].op, T_MUTATES) && p->node[i].nout && p->node[i].out[0].storage == p->node[deciding].out[0].storage)
			return false;
	return true;
}

static bool count_input(int64_t *out, const struct prog *p, int row, int k, struct arena *a, struct err *err)
{
	const struct node *r = &p->node[row];
	const int deciding = r->arg[op_deciding(r->op)].node, self = r->arg[op_self(r->op)].node;
	struct prog bound = *p;
	if (k && !prog_bind_inputs(&bound, p, k, a, err))
		return false;
	const struct meta *m = node_meta(&bound, deciding);
	const struct tensor t = {*m, m->device == DEV_META ? NULL : fill_storage(&bound, p->node[deciding].out[0].storage, a)};
	return count(out, r, &t, node_meta(&bound, self), err);
}

bool count_selected(int64_t *out, const struct prog *p, int row, int k, struct err *err)
{
	struct arena a;
	struct prog alone, bound;
	struct result r;
	const struct interp_options o = {.no_zones = true};
	arena_init(&a);
	if (decided_by_input(p, row, k)) {
		const bool counted = count_input(out, p, row, k, &a, err);
		arena_free(&a);
		return counted;
	}
	bool ok = deciders_alone(&alone, p, row, &a, err) && prog_bind(&bound, &alone, k, &a, err)
		&& interp_run(&r, &bound, &a, &o, err) == INTERP_OK;
	if (ok && r.status != RES_OK)
		ok = err_set(err, "%s", r.message);
	ok = ok && count_result(out, &p->node[row], &r.call[0].out[0], &r.call[0].out[1].meta, &a, err);
	arena_free(&a);
	return ok;
}

/* The symbol that states row's number. -1: a number does, or a sum of symbols. */
static int stating_symbol(const struct prog *p, int row)
{
	const int stated = op_stated(p->node[row].op);
	const int expr = stated < 0 ? -1 : p->node[row].arg[stated].i.expr;
	return expr >= 0 && p->expr[expr].op == EX_SYM ? p->expr[expr].a : -1;
}

static struct call_sym *symbol_of_call(struct call *c, int sym)
{
	for (int s = 0; s < c->nsym; s++)
		if (c->sym[s].node == sym)
			return &c->sym[s];
	return NULL;
}

bool count_call(struct prog *p, int k, struct err *err)
{
	struct call *c = &p->call[k - 1];
	struct call_sym *all = ARENA_ZNEW(p->arena, struct call_sym, MAX_SYMS);
	memcpy(all, c->sym, (size_t)c->nsym * sizeof *all);
	c->sym = all;
	for (int i = 0; i < p->nnode; i++) {
		const int sym = stating_symbol(p, i);
		int64_t count;
		if (sym < 0)
			continue;
		if (!count_selected(&count, p, i, k, err))
			return false;
		struct call_sym *s = symbol_of_call(c, sym);
		if (!s)
			s = &all[c->nsym++];
		*s = (struct call_sym){sym, count};
	}
	return true;
}

static bool restate_row(struct prog *p, int row, struct err *err)
{
	const int stated = op_stated(p->node[row].op), sym = stating_symbol(p, row);
	int64_t count;
	if (stated < 0)
		return true;
	if (!count_selected(&count, p, row, 0, err))
		return false;
	if (sym >= 0) {
		p->node[sym].arg[A_sym_value] = arg_int(count);
		p->node[sym].sym_value = count;
	} else if (p->node[row].arg[stated].i.expr < 0) {
		p->node[row].arg[stated] = arg_int(count);
	}
	return prog_rebind(p, err);
}

bool count_holds(const struct prog *bound, struct err *err)
{
	for (int i = 0; i < bound->nnode; i++) {
		int64_t count;
		if (op_stated(bound->node[i].op) < 0)
			continue;
		if (!count_selected(&count, bound, i, 0, err))
			return false;
		if (count != stated_number(&bound->node[i]))
			return err_set(err, "'%s' states another number than its data give", bound->node[i].name);
	}
	return true;
}

bool count_all_hold(const struct prog *p, struct err *err)
{
	bool holds = true;
	for (int k = 0; k <= p->ncall && holds; k++) {
		struct arena a;
		struct prog bound;
		arena_init(&a);
		holds = prog_bind(&bound, p, k, &a, err) && count_holds(&bound, err);
		arena_free(&a);
	}
	return holds;
}

bool count_restate(struct prog *p, struct err *err)
{
	for (int i = 0; i < p->nnode; i++)
		if (!restate_row(p, i, err))
			return false;
	for (int k = 1; k <= p->ncall; k++)
		if (!count_call(p, k, err))
			return false;
	return count_all_hold(p, err);
}
