/* gen_symbol.c: one size of a finished program becomes a symbol that grows from call to call. Where that size occurs in inputs and
 * in size arguments it is written as the symbol (or a multiple of it); whether the program still makes sense is found out by
 * binding every call and validating the result: what does not stays as it was.
 *
 * Growing keeps positions in range. Rows whose operands must match data or a derivative that metas do not show (R_SOURCE, R_SRCN)
 * are left alone. */
#include "fuzz/edit.h"
#include "fuzz/gen_internal.h"

static bool suits(const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = 0; k < op_info[p->node[i].op].nparam; k++)
			if (op_info[p->node[i].op].param[k].role == R_SOURCE || op_info[p->node[i].op].param[k].role == R_SRCN)
				return false;
	return true;
}

/* An input of own strides or of positions keeps its size. */
static bool fixed(const struct node *n)
{
	return n->op == OP_input_view ||
	       (n->op == OP_input && (n->arg[IN_STRIDE].tag != ARG_NONE || str_eq(n->arg[IN_FILL].str, "index") || str_eq(n->arg[IN_FILL].str, "unique")));
}

static void make_symbolic(struct prog *p, struct iexpr *i, int sym, int64_t value)
{
	if (i->expr >= 0 || i->value < value || i->value % value)
		return;
	i->expr = prog_add_expr(p, (struct expr){.op = EX_SYM, .a = sym});
	if (i->value == value)
		return;
	int times = prog_add_expr(p, (struct expr){.op = EX_CONST, .value = i->value / value});
	i->expr = prog_add_expr(p, (struct expr){.op = EX_MUL, .a = i->expr, .b = times});
}

static int replace_sizes(struct world *w, struct prog *p, int sym, int64_t value)
{
	int ninput = 0;
	for (int j = 0; j < p->nnode; j++) {
		struct node *n = &p->node[j];
		if (n->op == OP_sym || fixed(n))
			continue;
		for (int k = 0; k < op_info[n->op].nparam; k++) {
			const struct param *q = &op_info[n->op].param[k];
			if (q->kind == K_SIZE && q->role != R_REPEAT && q->role != R_STRIDED) {
				for (int e = 0; e < n->arg[k].n; e++) {
					ninput += n->op == OP_input && n->arg[k].ints[e].value == value;
					if (n->op != OP_input || n->arg[k].ints[e].value == value)
						make_symbolic(p, &n->arg[k].ints[e], sym, value);
				}
			} else if (q->kind == K_INDEX && q->optional && n->arg[k].tag == ARG_INT && n->arg[k].i.value == value && choose_chance(w->c, 50)) {
				make_symbolic(p, &n->arg[k].i, sym, value);
			}
		}
	}
	return ninput;
}

static bool calls_bind(const struct prog *p)
{
	struct arena a;
	bool ok = true;
	arena_init(&a);
	for (int k = 0; ok && k <= p->ncall; k++) {
		struct prog q;
		ok = prog_bind(&q, p, k, &a, NULL) && prog_validate(&q, NULL);
	}
	arena_free(&a);
	return ok;
}

void add_symbol(struct world *w)
{
	struct prog q;
	int64_t value = w->pool[choose_below(w->c, (uint64_t)w->npool)];
	if (!suits(w->p))
		return;
	prog_clone(&q, w->p, w->p->arena);
	int sym = prog_add(&q, OP_sym, "s0"), order[MAX_NODES];
	q.node[sym].arg[0] = arg_int(value);
	q.node[sym].sym_value = value;
	order[0] = sym;
	for (int i = 0; i < sym; i++)
		order[i + 1] = i;
	/* The last call keeps the size, as a call with data alone. */
	for (int c = 0; c + 1 < q.ncall; c++) {
		q.call[c].sym = ARENA_NEW(q.arena, struct call_sym, 1);
		q.call[c].sym[0] = (struct call_sym){sym, value + choose_int(w->c, 1, 6)};
		q.call[c].nsym = 1;
	}
	if (edit_reorder(&q, order, sym + 1, NULL) && replace_sizes(w, &q, 0, value) && calls_bind(&q))
		*w->p = q;
}
