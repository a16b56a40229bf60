/* symbols.c: see symbols.h. */
#include "compiled/loops/symbols.h"

#include <inttypes.h>

#include "generated/op_id.h"

/* ---- which symbols ---- */

static unsigned symbols_of(const struct loops *l, int of) { return of ? poly_symbols(&l->poly[of]) : 0; }

static unsigned symbols_of_index(const struct loops *l, const struct affine *at)
{
	unsigned all = symbols_of(l, at->base_of);
	for (int k = 0; k < at->n; k++)
		all |= symbols_of(l, at->term[k].times_of);
	return all;
}

static unsigned symbols_of_place(const struct loops *l, const struct place *p)
{
	unsigned all = symbols_of(l, p->of.offset);
	for (int d = 0; d < p->meta.rank; d++)
		all |= symbols_of(l, p->of.size[d]) | symbols_of(l, p->of.stride[d]);
	return all;
}

/* What each buffer uses, by an instruction. */
static void add_uses(unsigned *uses, const struct loops *l, const struct loop_ins *i)
{
	if (i->op == LOOP_LOAD || i->op == LOOP_STORE)
		uses[i->buffer] |= symbols_of_index(l, i->at);
	for (int k = 0; i->call && k < i->call->nin; k++)
		uses[i->call->in[k].buffer] |= symbols_of_place(l, &i->call->in[k]);
	for (int k = 0; i->call && k < i->call->nout; k++)
		uses[i->call->out[k].buffer] |= symbols_of_place(l, &i->call->out[k]);
}

static unsigned *all_uses(const struct loops *l, struct arena *a)
{
	unsigned *uses = ARENA_NEW(a, unsigned, MAX(l->nbuffer, 1));
	for (int b = 0; b < l->nbuffer; b++)
		uses[b] = symbols_of(l, l->buffer[b].ncells_of);
	for (int i = 0; i < l->nins; i++)
		add_uses(uses, l, &l->ins[i]);
	for (int k = 0; k < l->nret; k++)
		uses[l->ret[k].buffer] |= symbols_of_place(l, &l->ret[k]);
	return uses;
}

void loops_find_uses(struct loops *l)
{
	const unsigned *uses = all_uses(l, l->arena);
	for (int b = 0; b < l->nbuffer; b++)
		l->buffer[b].uses = uses[b];
}

unsigned loops_symbols_of_cells(const struct loops *l, int buffer) { return symbols_of(l, l->buffer[buffer].ncells_of); }

unsigned loops_symbols_of_data(const struct loops *l)
{
	unsigned out = 0;
	for (int s = 0; s < l->nsymbol; s++)
		out |= l->symbol[s].data ? 1u << s : 0;
	return out;
}

int loops_binds(const struct loops *l, int ins)
{
	const struct loop_ins *i = &l->ins[ins];
	for (int s = 0; i->op == LOOP_STATED && i->number_of && s < l->nsymbol; s++) {
		const struct poly symbol = poly_symbol(s);
		if (l->symbol[s].data && poly_same(&l->poly[i->number_of], &symbol))
			return s;
	}
	return -1;
}

unsigned loops_symbols_of(const struct loops *l, int begin, int end)
{
	unsigned all = 0;
	for (int i = begin; i < end; i++) {
		const struct loop_ins *ins = &l->ins[i];
		all |= symbols_of(l, ins->number_of);
		if (ins->op == LOOP_INDEX)
			all |= symbols_of_index(l, ins->at);
		if (ins->op == LOOP_LOAD || ins->op == LOOP_STORE)
			all |= l->buffer[ins->buffer].uses;
	}
	return all;
}

/* ---- I6 ---- */

static bool bound(const struct loops *l, unsigned symbols, const char *what, int number, struct err *err)
{
	for (int s = 0; s < MAX_POLY_SYMBOLS; s++)
		if (symbols & 1u << s && (s >= l->nsymbol || !l->symbol[s].bound))
			return err_set(err, "I6: %s %d uses s%d, which is not bound", what, number, s);
	return true;
}

static unsigned symbols_of_ins(const struct loops *l, int i)
{
	unsigned all = symbols_of(l, l->ins[i].number_of);
	if (l->ins[i].at)
		all |= symbols_of_index(l, l->ins[i].at);
	for (int k = 0; l->ins[i].call && k < l->ins[i].call->nin; k++)
		all |= symbols_of_place(l, &l->ins[i].call->in[k]);
	for (int k = 0; l->ins[i].call && k < l->ins[i].call->nout; k++)
		all |= symbols_of_place(l, &l->ins[i].call->out[k]);
	return all;
}

static bool ins_is_bound(const struct loops *l, int i, struct err *err) { return bound(l, symbols_of_ins(l, i), "instruction", i, err); }

/* Of data: which of them are needed for the buffers that the instruction touches to be there. */
static unsigned symbols_of_touched(const struct loops *l, int i)
{
	const struct loop_call *call = l->ins[i].call;
	unsigned all = 0;
	if (l->ins[i].op == LOOP_LOAD || l->ins[i].op == LOOP_STORE)
		all |= loops_symbols_of_cells(l, l->ins[i].buffer);
	for (int k = 0; call && k < call->nin; k++)
		all |= loops_symbols_of_cells(l, call->in[k].buffer);
	for (int k = 0; call && k < call->nout; k++)
		all |= loops_symbols_of_cells(l, call->out[k].buffer);
	return all;
}

/* Symbols of data are bound on the way. */
static bool data_is_bound(const struct loops *l, struct err *err)
{
	unsigned open = loops_symbols_of_data(l), used = 0;
	for (int i = 0; i < l->nins; i++) {
		const int binds = loops_binds(l, i);
		if (binds >= 0)
			open &= ~(1u << binds);
		used = (symbols_of_ins(l, i) | symbols_of_touched(l, i)) & open;
		for (int s = 0; s < l->nsymbol; s++)
			if (used & 1u << s)
				return err_set(err, "I6: instruction %d uses s%d, which the data have not bound yet", i, s);
	}
	for (int k = 0; k < l->nret; k++)
		used |= (symbols_of_place(l, &l->ret[k]) | loops_symbols_of_cells(l, l->ret[k].buffer)) & open;
	for (int s = 0; s < l->nsymbol; s++)
		if (used & 1u << s)
			return err_set(err, "I6: a result uses s%d, which no data bind", s);
	return true;
}

static bool lists_are_complete(const struct loops *l, struct err *err)
{
	struct arena a;
	bool ok = true;
	arena_init(&a);
	const unsigned *uses = all_uses(l, &a);
	for (int b = 0; ok && b < l->nbuffer; b++)
		for (int s = 0; ok && s < MAX_POLY_SYMBOLS; s++)
			if (uses[b] & ~l->buffer[b].uses & 1u << s)
				ok = err_set(err, "I6: buffer b%d uses s%d, which its list lacks", b, s);
	arena_free(&a);
	return ok;
}

bool loops_validate_symbols(const struct loops *l, struct err *err)
{
	bool ok = true;
	for (int b = 0; ok && b < l->nbuffer; b++)
		ok = bound(l, symbols_of(l, l->buffer[b].ncells_of) | l->buffer[b].uses, "buffer", b, err);
	for (int i = 0; ok && i < l->nins; i++)
		ok = ins_is_bound(l, i, err);
	for (int k = 0; ok && k < l->nret; k++)
		ok = bound(l, symbols_of_place(l, &l->ret[k]), "result", k, err);
	for (int k = 0; ok && k < l->nguard; k++)
		ok = bound(l, poly_symbols(&l->guard[k].p), "guard", k, err);
	return ok && data_is_bound(l, err) && lists_are_complete(l, err);
}

/* ---- guards ---- */

static const char *const relation_word[] = {"<", "<=", "=", "!=", ">=", ">", "mod"};

void guard_add(struct loops *l, const struct guard *g)
{
	l->guard = ARENA_GROW(l->arena, struct guard, l->guard, l->nguard, l->nguard + 1);
	l->guard[l->nguard++] = *g;
}

bool guard_holds(const struct guard *g, const int64_t *value)
{
	int64_t v;
	if (!poly_value(&v, &g->p, value))
		return false;
	switch (g->relation) {
	case GUARD_LESS: return v < 0;
	case GUARD_LESS_EQUAL: return v <= 0;
	case GUARD_EQUAL: return v == 0;
	case GUARD_NOT_EQUAL: return v != 0;
	case GUARD_GREATER_EQUAL: return v >= 0;
	case GUARD_GREATER: return v > 0;
	case GUARD_REST: return ((v - g->rest) % g->by) == 0;
	}
	return false;
}

/* What p has with a plus sign on the left, the rest on the right. */
void guard_print(struct strbuf *sb, const struct guard *g)
{
	struct poly side[2] = {{.n = 0}, {.n = 0}};
	for (int k = 0; k < g->p.n; k++) {
		const bool right = g->relation != GUARD_REST && g->p.term[k].times < 0;
		struct poly_term *t = &side[right].term[side[right].n++];
		*t = g->p.term[k];
		t->times = right ? -t->times : t->times;
	}
	poly_print(sb, &side[0]);
	sb_printf(sb, " %s ", relation_word[g->relation]);
	if (g->relation == GUARD_REST)
		sb_printf(sb, "%" PRId64 " = %" PRId64, g->by, g->rest);
	else
		poly_print(sb, &side[1]);
}

bool loops_guards_hold(const struct loops *l, const int64_t *value, struct err *err) { return loops_guards_of_hold(l, value, 0, 0, err); }

bool loops_guards_of_hold(const struct loops *l, const int64_t *value, unsigned of, unsigned unknown, struct err *err)
{
	for (int k = 0; k < l->nguard; k++) {
		const unsigned in = poly_symbols(&l->guard[k].p);
		if ((of && !(in & of)) || in & unknown)
			continue;
		if (!guard_holds(&l->guard[k], value)) {
			struct strbuf sb;
			sb_init(&sb);
			guard_print(&sb, &l->guard[k]);
			err_set(err, "%s does not hold", sb.s);
			sb_free(&sb);
			return false;
		}
	}
	return true;
}

/* ---- one call ---- */

static const struct node *input_of(const struct prog *p, int number, bool sym)
{
	for (int i = 0; i < p->nnode; i++)
		if ((sym ? p->node[i].op == OP_sym : node_is_input(&p->node[i])) && number-- == 0)
			return &p->node[i];
	return NULL;
}

bool loops_bind_symbols(int64_t value[MAX_POLY_SYMBOLS], const struct loops *l, const struct prog *p, struct err *err)
{
	for (int s = 0; s < MAX_POLY_SYMBOLS; s++)
		value[s] = LEAST_SYMBOL;
	for (int s = 0; s < l->nsymbol; s++) {
		const struct size_symbol *from = &l->symbol[s];
		const bool sym = from->input < 0;
		const struct node *n = from->bound ? input_of(p, sym ? from->dim : from->input, sym) : NULL;
		if (!n || (!sym && from->dim >= n->out[0].meta.rank))
			return err_set(err, "there is nothing to bind s%d to", s);
		value[s] = sym ? n->sym_value : n->out[0].meta.size[from->dim];
	}
	return true;
}

struct evaluation {
	const struct loops *l;
	const int64_t *value;
	struct err *err;
	bool ok;
};

int64_t word_of_float(enum word_kind kind, int64_t v)
{
	const double d = (double)v;
	const float f = (float)v;
	uint32_t narrow;
	uint64_t wide;
	memcpy(&narrow, &f, sizeof narrow);
	memcpy(&wide, &d, sizeof wide);
	return kind == WORD_F32 ? (int64_t)narrow : (int64_t)wide;
}

static void evaluate(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	struct evaluation *e = w->ctx;
	int64_t v;
	if (!of || !*of)
		return;
	if (!poly_value(&v, &e->l->poly[*of], e->value))
		e->ok = err_set(e->err, "a size is too large");
	else
		*value = kind == WORD_NUMBER ? v : word_of_float(kind, v);
	*of = 0;
}

/* As the builders of loops.c say them. */
static void find_extents(struct loops *l)
{
	for (int i = 0; i < l->nins; i++) {
		const struct loop_ins *ins = &l->ins[i];
		int64_t least, greatest;
		if (ins->op == LOOP_FOR || ins->op == LOOP_MOD || ins->op == LOOP_BOUND)
			l->extent[ins->dst] = ins->imm;
		if (ins->op == LOOP_INDEX && affine_range(&least, &greatest, l, ins->at) && least >= 0)
			l->extent[ins->dst] = greatest + 1;
		if (ins->op == LOOP_DIV && l->extent[ins->a] > 0)
			l->extent[ins->dst] = (l->extent[ins->a] - 1) / ins->imm + 1;
	}
}

static bool is_sound(const struct loops *l, struct err *err)
{
	for (int b = 0; b < l->nbuffer; b++)
		if (l->buffer[b].ncells < 0 || l->buffer[b].ncells > MAX_NUMEL)
			return err_set(err, "buffer b%d would have %" PRId64 " cells", b, l->buffer[b].ncells);
	for (int i = 0; i < l->nins; i++) {
		const bool divides = l->ins[i].op == LOOP_DIV || l->ins[i].op == LOOP_MOD;
		if ((divides || l->ins[i].op == LOOP_FOR || l->ins[i].op == LOOP_BOUND) && l->ins[i].imm < divides)
			return err_set(err, "instruction %d would have the number %" PRId64, i, l->ins[i].imm);
	}
	return true;
}

static void *own(struct arena *a, const void *from, int n, size_t size)
{
	void *p = arena_grow(a, NULL, 0, mul_size(size, (size_t)MAX(n, 1)));
	if (n)
		memcpy(p, from, mul_size(size, (size_t)n));
	return p;
}

/* out, a copy of l, has arrays of its own in its arena. */
static void own_arrays(struct loops *out, const struct loops *l)
{
	out->ins = own(out->arena, l->ins, l->nins, sizeof *l->ins);
	out->buffer = own(out->arena, l->buffer, l->nbuffer, sizeof *l->buffer);
	out->reg = own(out->arena, l->reg, l->nreg, sizeof *l->reg);
	out->extent = own(out->arena, l->extent, l->nreg, sizeof *l->extent);
	out->cap_ins = MAX(l->nins, 1);
	out->cap_buffer = MAX(l->nbuffer, 1);
	out->cap_reg = MAX(l->nreg, 1);
}

static void leave(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	(void)w;
	(void)kind;
	(void)value;
	(void)of;
}

void loops_clone(struct loops *out, const struct loops *l, struct arena *a)
{
	struct words w = {.word = leave, .changes = true};
	*out = *l;
	out->arena = a;
	own_arrays(out, l);
	words_of_loops(&w, out);
}

bool loops_at(struct loops *out, const struct loops *l, const int64_t *value, struct arena *a, struct err *err)
{
	struct evaluation e = {.l = l, .value = value, .err = err, .ok = true};
	struct words w = {.word = evaluate, .ctx = &e, .changes = true};
	*out = *l;
	out->arena = a;
	own_arrays(out, l);
	for (int r = 0; r < l->nreg; r++)
		out->extent[r] = -1;
	words_of_loops(&w, out);
	out->nsymbol = out->npoly = out->cap_poly = out->nguard = 0;
	out->poly = NULL;
	for (int b = 0; b < out->nbuffer; b++)
		out->buffer[b].uses = 0;
	if (!e.ok || !is_sound(out, err))
		return false;
	find_extents(out);
	return true;
}

/* ---- sizes ---- */

static struct poly poly_of(const struct loops *l, int of, int64_t number) { return of ? l->poly[of] : poly_number(number); }

bool loops_holds(const struct loops *l, const struct loop_buffer *big, const struct loop_buffer *small)
{
	static const int64_t least[MAX_POLY_SYMBOLS] = {LEAST_SYMBOL, LEAST_SYMBOL, LEAST_SYMBOL};
	const struct poly a = poly_of(l, big->ncells_of, big->ncells), b = poly_of(l, small->ncells_of, small->ncells);
	struct poly more;
	if (!big->ncells_of && !small->ncells_of)
		return big->ncells >= small->ncells;
	return poly_add(&more, &a, &b, -1) && poly_is_positive(&more, least, false);
}
