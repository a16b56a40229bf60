/* gen_stated.c: rows whose number of results is data (eager/lang/stated.h). The data are known when the row is made: fills follow from the
 * text. So the interpreter runs what decides the number, and the statement is true by construction. What other data select, in other calls,
 * is counted in the same way, row by row: the rows behind have the sizes that the ones before state. */
#include "eager/lang/edit.h"
#include "eager/lang/stated.h"
#include "eager/run/count.h"
#include "fuzz/gen/gen_symbol.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

bool state_count(struct world *w, int node)
{
	const int stated = op_stated(w->p->node[node].op);
	int64_t count;
	if (stated < 0)
		return true;
	if (!count_selected(&count, w->p, node, 0, NULL))
		return false;
	w->p->node[node].arg[stated] = arg_int(count);
	return true;
}

/* A symbol at the front for each number stated. */
static bool state_symbols(struct prog *p)
{
	int order[MAX_NODES], nsym = 0, n = p->nnode;
	for (int i = 0; i < n && nsym < MAX_SYMS; i++) {
		const int stated = op_stated(p->node[i].op);
		if (stated < 0)
			continue;
		const int64_t count = node_int(&p->node[i], stated);
		const int sym = prog_add(p, OP_sym, arena_printf(p->arena, "u%d", nsym++));
		p->node[sym].arg[A_sym_value] = arg_int(count);
		p->node[sym].sym_value = count;
		p->node[i].arg[stated].i.expr = prog_add_expr(p, (struct expr){.op = EX_SYM, .a = sym});
	}
	for (int i = 0; i < p->nnode; i++)
		order[i] = i < nsym ? n + i : i - nsym;
	return edit_reorder(p, order, p->nnode, NULL);
}

/* Numbers that the program states for itself: the first one a little more or less. */
static struct arg other_data(struct world *w, const struct arg *data)
{
	struct arg out = *data;
	out.data = ARENA_NEW(w->p->arena, struct scalar, data->n);
	memcpy(out.data, data->data, (size_t)data->n * sizeof *out.data);
	out.data[0].i += choose_chance(w->c, 50) ? 1 + (int64_t)choose_below(w->c, 4) : -1 - (int64_t)choose_below(w->c, 2);
	return out;
}

/* Call k gets other data where data decide sizes. */
static void reseed_deciders(struct world *w, struct prog *p, int k, const bool *decides)
{
	struct call *c = &p->call[k];
	struct call_input *all = ARENA_NEW(p->arena, struct call_input, p->nnode);
	int n = 0;
	for (int i = 0; i < c->ninput; i++)
		all[n++] = c->input[i];
	for (int i = 0; i < p->nnode; i++) {
		if (!decides[i] || p->node[i].op != OP_input)
			continue;
		const struct arg *data = &p->node[i].arg[A_input_data];
		if (data->tag == ARG_DATA && data->n && data->data[0].kind == SC_INT)
			all[n++] = (struct call_input){.node = i, .seed = (uint64_t)node_int(&p->node[i], A_input_seed), .data = other_data(w, data)};
		else if (data->tag == ARG_NONE)
			all[n++] = (struct call_input){.node = i, .seed = (uint64_t)node_int(&p->node[i], A_input_seed) + 100 * (uint64_t)(k + 1)};
	}
	c->input = all;
	c->ninput = n;
}

void vary_counts(struct world *w)
{
	struct symbolic *s = ARENA_NEW(w->p->arena, struct symbolic, 1);
	bool decides[MAX_NODES] = {false}, ok;
	*s = (struct symbolic){.w = w};
	prog_clone(&s->p, w->p, w->p->arena);
	if (!state_symbols(&s->p))
		return;
	prog_deciders(&s->p, decides);
	arena_init(&s->arena);
	ok = symbolic_bind_call(s, 0);
	for (int k = 0; ok && k < s->p.ncall; k++) {
		reseed_deciders(w, &s->p, k, decides);
		ok = count_call(&s->p, k + 1, NULL) && symbolic_bind_call(s, k + 1);
	}
	if (ok)
		*w->p = s->p;
	arena_free(&s->arena);
}
