/* relations.c: see relations.h. */
#include "compiled/symbols/relations.h"

#include "compiled/loops/symbols.h"
#include "compiled/passes/pass.h"
#include "generated/op_args.h"
#include "generated/op_id.h"

static const int64_t least[MAX_POLY_SYMBOLS] = {LEAST_SYMBOL, LEAST_SYMBOL, LEAST_SYMBOL};

/* ---- numbers by their place ---- */

/* Of a row: its integers, and those of its first result. */
struct row {
	int narg, at[MAX_ARGS + MAX_LIST], arg[MAX_ARGS + MAX_LIST]; /* arg: of which argument; at: the number */
	int size[MAX_RANK], stride[MAX_RANK], offset;
};
struct numbers {
	const int *of;
	const struct poly *pool;
	int nword, n;
	struct poly *number;
	struct row *row;
	int *loop, nloop;   /* numbers of loops that conditions and bounds are made of */
	int *shown, nshown; /* numbers that floats of rows show */
	struct arena *arena;
	bool of_program, folds;
};

static void place(struct numbers *x, const struct words *w, int number)
{
	struct row *r = x->of_program ? &x->row[w->node] : NULL;
	if (!r || w->at < 0)
		return;
	if (w->what == WORD_SIZE)
		r->size[w->at] = number;
	else if (w->what == WORD_STRIDE)
		r->stride[w->at] = number;
	else if (w->what == WORD_OFFSET)
		r->offset = number;
	else if (w->what == WORD_ARG && r->narg < ARRAY_LEN(r->at)) {
		r->arg[r->narg] = w->at;
		r->at[r->narg++] = number;
	}
}

static void find_number(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	struct numbers *x = w->ctx;
	const int entry = x->of[x->nword++];
	(void)of;
	if (kind != WORD_NUMBER) {
		if (x->of_program && entry) {
			x->shown[x->nshown++] = x->n;
			x->number[x->n++] = x->pool[entry];
		}
		return;
	}
	x->number[x->n] = entry ? x->pool[entry] : poly_number(*value);
	if (w->node >= 0)
		place(x, w, x->n);
	else if (w->what == WORD_LOOPS)
		x->loop[x->nloop++] = x->n;
	x->n++;
}

/* ---- relations ---- */

/* Without what divides all coefficients. */
static void make_primitive(struct poly *p)
{
	int64_t divisor = 0;
	for (int k = 0; k < p->n; k++) {
		int64_t a = p->term[k].times < 0 ? -p->term[k].times : p->term[k].times;
		while (a) { /* Euclid */
			const int64_t rest = divisor % a;
			divisor = a;
			a = rest;
		}
	}
	for (int k = 0; k < p->n; k++)
		p->term[k].times /= divisor;
}

static void add(struct relations *r, struct poly p)
{
	int64_t number;
	struct poly minus;
	const struct poly none = {.n = 0};
	if (poly_is_number(&p, &number) || !poly_add(&minus, &none, &p, -1) || poly_is_positive(&p, least, true)
		|| poly_is_positive(&minus, least, true))
		return;
	if (p.term[0].times < 0)
		p = minus;
	make_primitive(&p);
	for (int k = 0; k < r->n; k++)
		if (poly_same(&r->of[k].p, &p))
			return;
	if (r->n == r->cap) {
		const int cap = MAX(64, 2 * r->cap);
		r->of = ARENA_GROW(r->arena, struct relation, r->of, r->cap, cap);
		r->cap = cap;
	}
	r->of[r->n++] = (struct relation){p, 0};
}

/* A difference or a product beyond the limits of polynomials is asked nowhere that anyone saw: I6b would. */
static void compare(struct relations *r, const struct poly *a, const struct poly *b)
{
	struct poly difference;
	if (poly_add(&difference, a, b, -1))
		add(r, difference);
}

static void compare_number(struct relations *r, const struct poly *a, int64_t b)
{
	const struct poly number = poly_number(b);
	compare(r, a, &number);
}

/* A layout: is a size 0 or 1, are rows dense, which stride is larger? */
static void of_layout(struct relations *r, const struct numbers *x, const struct row *row, int rank)
{
	for (int d = 0; d < rank; d++) {
		const struct poly *size = &x->number[row->size[d]], *stride = &x->number[row->stride[d]];
		compare_number(r, size, 0);
		compare_number(r, size, 1);
		for (int e = 0; e < rank; e++) {
			struct poly reach;
			if (e == d)
				continue;
			compare(r, stride, &x->number[row->stride[e]]);
			if (poly_multiply(&reach, &x->number[row->size[e]], &x->number[row->stride[e]]))
				compare(r, stride, &reach);
		}
	}
}

/* The layouts of a row's operand and result, dim by dim from either side. */
static void of_two(struct relations *r, const struct numbers *x, const struct row *a, int na, const struct row *b, int nb)
{
	for (int shift = 0; shift <= (na != nb); shift++)
		for (int d = 0; d < MIN(na, nb); d++) {
			const int i = shift ? na - 1 - d : d, k = shift ? nb - 1 - d : d;
			compare(r, &x->number[a->size[i]], &x->number[b->size[k]]);
			compare(r, &x->number[a->stride[i]], &x->number[b->stride[k]]);
		}
	compare(r, &x->number[a->offset], &x->number[b->offset]);
}

static void of_arguments(struct relations *r, const struct numbers *x, const struct row *row, const struct row *of, int rank)
{
	for (int k = 0; k < row->narg; k++)
		for (int d = 0; d < rank; d++)
			compare(r, &x->number[row->at[k]], &x->number[of->size[d]]);
}

static int rank_of(const struct node *n) { return n->nout ? n->out[0].meta.rank : 0; }

static bool numel_of(struct poly *out, const struct numbers *x, const struct row *row, int rank)
{
	*out = poly_number(1);
	for (int d = 0; d < rank; d++)
		if (!poly_multiply(out, out, &x->number[row->size[d]]))
			return false;
	return true;
}

/* Which of sort and topk have loops (lower.h). */
static void of_lanes(struct relations *r, const struct numbers *x, const struct row *row, int rank)
{
	struct poly numel, most;
	if (!numel_of(&numel, x, row, rank))
		return;
	for (int d = 0; d < rank; d++) {
		compare_number(r, &x->number[row->size[d]], LOWER_MAX_LANE);
		if (poly_multiply(&most, &numel, &x->number[row->size[d]]))
			compare_number(r, &most, LOWER_MAX_COMPARISONS);
	}
}

static void of_operand(struct relations *r, const struct numbers *x, const struct prog *p, int node, int operand)
{
	const struct row *row = &x->row[node], *from = &x->row[operand];
	of_arguments(r, x, row, from, rank_of(&p->node[operand]));
	if (p->node[node].op == OP_sort || p->node[node].op == OP_topk)
		of_lanes(r, x, from, rank_of(&p->node[operand]));
	if (p->node[node].nout && p->node[operand].nout)
		of_two(r, x, row, rank_of(&p->node[node]), from, rank_of(&p->node[operand]));
}

/* The number of the row's argument; NULL: it has none. */
static const struct poly *argument(const struct numbers *x, const struct prog *p, int node, int name)
{
	const struct row *row = &x->row[node];
	const int k = op_arg(p->node[node].op, name);
	for (int i = 0; i < row->narg; i++)
		if (row->arg[i] == k)
			return &x->number[row->at[i]];
	return NULL;
}

/* `length` steps, and one less, are compared with what lies between two numbers. */
static void of_steps(
	struct relations *r, const struct poly *from, const struct poly *to, const struct poly *step, const struct poly *length)
{
	struct poly between, reach;
	if (!poly_add(&between, to, from, -1) || !poly_multiply(&reach, length, step))
		return;
	compare(r, &between, &reach);
	if (poly_add(&reach, &reach, step, -1))
		compare(r, &between, &reach);
}

/* A row with a step (slice, unfold, arange) has as many elements as steps fit, a quotient that is rounded. It shows as a number that stays
 * the same as long as the rest does. */
static void of_quotient(struct relations *r, const struct numbers *x, const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	const struct row *row = &x->row[node];
	const struct poly *step = argument(x, p, node, N_step), none = poly_number(0);
	const struct arg *self = node_arg(n, N_self);
	int64_t by;
	if (!step || (poly_is_number(step, &by) && by == 1))
		return;
	const struct poly *from[] = {&none, argument(x, p, node, N_start), argument(x, p, node, N_size)};
	for (int d = 0; d < rank_of(n); d++)
		for (int k = 0; k < ARRAY_LEN(from); k++) {
			const struct poly *end = argument(x, p, node, N_end), *length = &x->number[row->size[d]];
			if (from[k] && end)
				of_steps(r, from[k], end, step, length);
			if (from[k] && self && self->tag == ARG_TENSOR && d < rank_of(&p->node[self->node]))
				of_steps(r, from[k], &x->number[x->row[self->node].size[d]], step, length);
		}
}

static void of_row(struct relations *r, const struct numbers *x, const struct prog *p, int node)
{
	const struct node *n = &p->node[node];
	const struct row *row = &x->row[node];
	of_layout(r, x, row, rank_of(n));
	if (op_info[n->op].family == F_INPUT)
		return;
	struct poly numel;
	if (x->folds && numel_of(&numel, x, row, rank_of(n)))
		compare_number(r, &numel, FOLD_MAX_ELEMENTS);
	of_arguments(r, x, row, row, rank_of(n));
	for (int k = 0; k < row->narg; k++) {
		compare_number(r, &x->number[row->at[k]], 0);
		for (int i = 0; i < k; i++)
			compare(r, &x->number[row->at[k]], &x->number[row->at[i]]);
	}
	of_quotient(r, x, p, node);
	for (int k = 0; k < op_info[n->op].nparam; k++) {
		const struct arg *a = &n->arg[k];
		for (int i = 0; i < (a->tag == ARG_TENSORS ? a->n : a->tag == ARG_TENSOR); i++) {
			const int operand = a->tag == ARG_TENSORS ? a->nodes[i] : a->node;
			if (operand >= 0)
				of_operand(r, x, p, node, operand);
		}
	}
}

/* Rows of one operator are the same row where all their integers are. */
static void of_twins(struct relations *r, const struct numbers *x, const struct prog *p)
{
	for (int i = 0; i < p->nnode; i++)
		for (int k = i + 1; k < p->nnode; k++) {
			const struct row *a = &x->row[i], *b = &x->row[k];
			if (p->node[i].op != p->node[k].op || op_info[p->node[i].op].family == F_INPUT)
				continue;
			for (int n = 0; n < MIN(a->narg, b->narg); n++)
				if (a->arg[n] == b->arg[n])
					compare(r, &x->number[a->at[n]], &x->number[b->at[n]]);
		}
}

static void of_program(struct relations *r, struct numbers *x, struct words *w, struct prog *p)
{
	x->row = ARENA_ZNEW(x->arena, struct row, MAX(p->nnode, 1));
	x->of_program = true;
	words_of_program(w, p);
	for (int i = 0; i < p->nnode; i++)
		of_row(r, x, p, i);
	of_twins(r, x, p);
	for (int k = 0; k < x->nshown; k++) { /* what is divided by 1, or multiplied by it or by 0, is taken away */
		compare_number(r, &x->number[x->shown[k]], 0);
		compare_number(r, &x->number[x->shown[k]], 1);
	}
}

static void of_loops(struct relations *r, const struct numbers *x)
{
	enum { MOST = 48 }; /* different numbers */
	int kept[MOST], n = 0;
	for (int i = 0; i < x->nloop && n < MOST; i++) {
		bool known = false;
		for (int k = 0; k < n && !known; k++)
			known = poly_same(&x->number[x->loop[i]], &x->number[kept[k]]);
		if (!known)
			kept[n++] = x->loop[i];
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			compare(r, &x->number[kept[i]], &x->number[kept[k]]);
}

static void count(struct words *w, enum word_kind kind, int64_t *value, int *of)
{
	(void)kind;
	(void)value;
	(void)of;
	++*(int *)w->ctx;
}

bool relations_find(struct relations *out, struct compilation_of *hint, const int *of, const struct poly *pool, bool folds, struct arena *a)
{
	struct numbers x = {.of = of, .pool = pool, .arena = a, .folds = folds};
	struct words w = {.word = find_number, .ctx = &x}, counting = {.word = count};
	int n = 0, fixed_words;
	*out = (struct relations){.arena = a};
	counting.ctx = &n;
	sample_walk(&counting, hint);
	x.number = ARENA_NEW(a, struct poly, n);
	x.loop = ARENA_NEW(a, int, n);
	x.shown = ARENA_NEW(a, int, n);
	of_program(out, &x, &w, &hint->source);
	of_program(out, &x, &w, &hint->c.part[0].p);
	fixed_words = 1 + hint->c.ngrad; /* between them */
	x.nword += fixed_words;
	x.of_program = false;
	words_of_loops(&w, &hint->l);
	of_loops(out, &x);
	return x.nword == n;
}

unsigned relation_sign(const struct relation *r, const int64_t *value)
{
	int64_t v;
	if (!poly_value(&v, &r->p, value))
		return 0;
	return v < 0 ? SIGN_LESS : v == 0 ? SIGN_ZERO : SIGN_MORE;
}

void relations_see(struct relations *r, const int64_t *value)
{
	for (int k = 0; k < r->n; k++)
		r->of[k].seen |= relation_sign(&r->of[k], value);
}

bool relation_guard(struct guard *out, const struct relation *r)
{
	static const enum guard_relation word[] = {[SIGN_LESS] = GUARD_LESS,
		[SIGN_ZERO] = GUARD_EQUAL,
		[SIGN_LESS | SIGN_ZERO] = GUARD_LESS_EQUAL,
		[SIGN_MORE] = GUARD_GREATER,
		[SIGN_LESS | SIGN_MORE] = GUARD_NOT_EQUAL,
		[SIGN_ZERO | SIGN_MORE] = GUARD_GREATER_EQUAL};
	if (r->seen == SIGN_ANY || r->seen == 0)
		return false;
	*out = (struct guard){.relation = word[r->seen], .p = r->p};
	return true;
}
