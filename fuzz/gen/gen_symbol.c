/* gen_symbol.c: one size of a finished program, or two, become symbols, and calls give them other values. Where that size occurs in
 * inputs and in size arguments it is written as the symbol (or a multiple of it, or one less); whether the program still makes sense is
 * found out by binding every call and validating the result: what does not stays as it was. */
#include "fuzz/gen/gen_symbol.h"

#include "eager/lang/pooled.h"
#include "eager/lang/edit.h"
#include "eager/lang/fill.h"
#include "eager/lang/stated.h"
#include "eager/run/count.h"
#include "eager/run/legality.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

/* ---- writing the symbol ----------------------------------------------------------------------------------------------- */

/* May dimension d of an input grow? With strides of its own: if nothing comes to overlap, because d steps over everything else or stays in
 * place. Unique positions are as many as they were. */
static bool may_grow(const struct node *n, int d)
{
	const struct iexpr *stride = n->arg[A_input_stride].ints, *size = n->arg[A_input_size].ints;
	if (fill_is_unique(n->arg[A_input_fill].str))
		return false;
	if (n->arg[A_input_stride].tag == ARG_NONE || stride[d].value == 0)
		return true;
	for (int e = 0; e < n->arg[A_input_size].n; e++)
		if (e != d && size[e].value > 1 && stride[e].value * (size[e].value - 1) >= stride[d].value)
			return false;
	return true;
}

/* i is the symbol's value, a multiple of it or (a position) one less. */
static void write_symbol(struct prog *p, struct iexpr *i, int sym, int64_t value, bool position)
{
	if (i->expr >= 0 || i->value <= 0)
		return;
	bool less = position && value > 1 && i->value == value - 1;
	if (!less && i->value % value)
		return;
	int number = prog_add_expr(p, (struct expr){.op = EX_CONST, .value = less ? 1 : i->value / value});
	i->expr = prog_add_expr(p, (struct expr){.op = EX_SYM, .a = sym});
	if (i->value != value)
		i->expr = prog_add_expr(p, (struct expr){.op = less ? EX_SUB : EX_MUL, .a = i->expr, .b = number});
}

/* Sizes of inputs; how many there are. */
static int write_inputs(struct prog *p, int sym, int64_t value)
{
	int n = 0;
	for (int i = 0; i < p->nnode; i++) {
		struct node *d = &p->node[i];
		for (int e = 0; d->op == OP_input && e < d->arg[A_input_size].n; e++) {
			struct iexpr *size = &d->arg[A_input_size].ints[e];
			if (size->expr >= 0 || size->value != value || !may_grow(d, e))
				continue;
			write_symbol(p, size, sym, value, false);
			n++;
		}
	}
	return n;
}

/* Sizes that operators take, and every other position. */
static void write_arguments(struct world *w, struct prog *p, int sym, int64_t value)
{
	for (int i = 0; i < p->nnode; i++) {
		struct node *n = &p->node[i];
		for (int k = 0; op_info[n->op].family != F_INPUT && k < op_info[n->op].nparam; k++) {
			const struct param *q = &op_info[n->op].param[k];
			if (q->kind == K_INDEX && q->role == R_ANY && n->arg[k].tag == ARG_INT && choose_chance(w->c, 50))
				write_symbol(p, &n->arg[k].i, sym, value, true);
			for (int e = 0; q->kind == K_SIZE && q->role != R_REPEAT && q->role != R_STRIDED && e < n->arg[k].n; e++)
				write_symbol(p, &n->arg[k].ints[e], sym, value, false);
		}
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

/* With fewer elements, positions that are data may come to lie outside. (Views may shrink where an input grows: positions_fit.) */
static bool may_shrink(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		if (p->node[i].op == OP_input && node_int(&p->node[i], A_input_high))
			return false;
	return true;
}

/* Three calls at least: a compiler compiles the first other size again, and may use that for the next; the last call has the program's own
 * size, as a call with data alone. */
static void more_calls(struct prog *p)
{
	while (p->ncall < 3) {
		const struct call *last = &p->call[p->ncall - 1];
		struct call *c = &p->call[p->ncall++];
		*c = *last;
		c->input = ARENA_NEW(p->arena, struct call_input, last->ninput);
		memcpy(c->input, last->input, sizeof *c->input * (size_t)last->ninput);
		for (int i = 0; i < c->ninput; i++)
			c->input[i].seed += 100;
	}
	for (int k = 0; k < p->ncall; k++) { /* room for another one */
		struct call_sym *sym = ARENA_NEW(p->arena, struct call_sym, MAX_SYMS);
		if (p->call[k].nsym)
			memcpy(sym, p->call[k].sym, sizeof *sym * (size_t)p->call[k].nsym);
		p->call[k].sym = sym;
	}
}

static void size_calls(struct world *w, struct prog *p, int sym, int64_t value)
{
	bool shrinks = may_shrink(p);
	for (int k = 0; k + 1 < p->ncall; k++) {
		struct call *c = &p->call[k];
		int64_t other = shrinks && choose_chance(w->c, 25) ? choose_int(w->c, 1, value) : value + choose_int(w->c, 1, 6);
		c->sym[c->nsym++] = (struct call_sym){sym, other};
	}
}

/* Elements of windows are data that nobody checks: they were drawn for planes of these sizes alone. */
static bool planes_fit(const struct prog *p, const struct prog *call, int node)
{
	const struct node *n = &p->node[node];
	for (int k = 0; k < op_info[n->op].nparam && pooled_is_read(n->op); k++) {
		const int of = n->arg[k].tag == ARG_TENSOR ? n->arg[k].node : -1;
		if (of >= 0 && !meta_same_sizes(node_meta(p, of), node_meta(call, of)))
			return false;
	}
	return true;
}

/* Positions that are data were drawn for the program's own sizes. */
static bool positions_fit(const struct prog *p, const struct prog *call, int node)
{
	const struct node *n = &p->node[node];
	bool positions = false;
	for (int k = 1; k < op_info[n->op].nparam; k++)
		positions = positions || role_is_positions(op_info[n->op].param[k].role);
	int of = op_self(n->op);
	if (!positions || of < 0 || n->arg[of].tag != ARG_TENSOR)
		return true;
	const struct meta *self = node_meta(p, n->arg[of].node), *then = node_meta(call, n->arg[of].node);
	for (int d = 0; d < self->rank; d++)
		if (then->size[d] < self->size[d])
			return false;
	return true;
}

/* What metas do not show and PyTorch demands: a source has enough elements, and the index's sizes where it had them. */
static bool sources_fit(const struct prog *p, const struct prog *call)
{
	for (int i = 0; i < p->nnode; i++) {
		const struct node *n = &p->node[i];
		int index = -1;
		if (!positions_fit(p, call, i) || !planes_fit(p, call, i))
			return false;
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			enum role role = op_info[n->op].param[k].role;
			int from = n->arg[k].tag == ARG_TENSOR ? n->arg[k].node : -1;
			if (role_has(role, RF_FULL))
				index = from;
			if (role == R_SRCN && meta_same_sizes(node_meta(p, from), node_meta(p, index))
				&& !meta_same_sizes(node_meta(call, from), node_meta(call, index)))
				return false;
			if (role == R_SOURCE && meta_numel(node_meta(call, from)) < meta_numel(node_meta(call, i)))
				return false;
		}
	}
	return true;
}

/* as_strided still takes self's own elements: what it names beside them gets no gradient from backward. */
static bool stays_within(const struct prog *call, const struct node *n)
{
	const struct meta *self = node_meta(call, n->arg[A_as_strided_self].node), *view = &n->out[0].meta;
	return !meta_numel(view)
		|| (meta_is_non_overlapping_and_dense(self) && view->offset >= self->offset && meta_extent(view) <= meta_extent(self));
}

/* Views of one storage meet where they did not: PyTorch refuses some of what is then written, and leaves the rest open. */
static bool cells_fit(const struct prog *p, const struct prog *call)
{
	for (int i = 0; i < p->nnode; i++) {
		int op = p->node[i].op;
		if (op_has(op, T_MUTATES) && legality_reads_written(call, i) && !legality_reads_written(p, i))
			return false;
		if (op == OP_as_strided && !stays_within(call, &call->node[i]) && stays_within(p, &p->node[i]))
			return false;
	}
	return true;
}

bool symbolic_bind_call(struct symbolic *s, int k)
{
	struct prog *q = &s->bound[s->nbound++];
	return prog_bind(q, &s->p, k, &s->arena, NULL) && prog_validate(q, NULL) && sources_fit(&s->bound[0], q) && cells_fit(&s->bound[0], q);
}

bool symbolic_bind(struct symbolic *s)
{
	const bool counts = prog_states(&s->p);
	arena_reset(&s->arena);
	s->nbound = 0;
	for (int k = 0; k <= s->p.ncall; k++)
		if (!symbolic_bind_call(s, k) || (counts && !count_holds(&s->bound[k], NULL)))
			return false;
	return true;
}

/* ---- the symbol --------------------------------------------------------------------------------------------------------- */

static bool introduce(struct symbolic *s, int64_t value)
{
	struct prog q;
	int order[MAX_NODES];
	prog_clone(&q, &s->p, s->p.arena);
	int sym = prog_add(&q, OP_sym, arena_printf(q.arena, "s%d", s->nsym));
	q.node[sym].arg[A_sym_value] = arg_int(value);
	q.node[sym].sym_value = value;
	for (int i = 0; i < q.nnode; i++)
		order[i] = i < s->nsym ? i : i == s->nsym ? sym : i - 1;
	if (!edit_reorder(&q, order, q.nnode, NULL) || !write_inputs(&q, s->nsym, value))
		return false;
	write_arguments(s->w, &q, s->nsym, value);
	more_calls(&q);
	size_calls(s->w, &q, s->nsym, value);
	struct prog was = s->p;
	s->p = q;
	if (symbolic_bind(s)) {
		s->nsym++;
		return true;
	}
	s->p = was;
	return false;
}

void add_symbol(struct world *w)
{
	struct symbolic *s = ARENA_NEW(w->p->arena, struct symbolic, 1);
	*s = (struct symbolic){.w = w, .p = *w->p};
	arena_init(&s->arena);
	int first = (int)choose_below(w->c, (uint64_t)w->npool), most = 1 + choose_chance(w->c, 25);
	for (int i = 0; i < w->npool && s->nsym < most; i++)
		introduce(s, w->pool[(first + i) % w->npool]);
	if (s->nsym && symbolic_bind(s)) {
		sizes_stated(s);
		if (!s->failed)
			sizes_follow(s);
		if (!s->failed)
			sizes_read(s);
		if (!s->failed)
			*w->p = s->p;
	}
	arena_free(&s->arena);
}
