/* shape.c: one walk over the instructions, with what is known so far of each loop that is open. */
#include "compiled/loops/shape.h"

enum { MANY = 2 };

/* A loop without the loops in it, or what stands in none. */
struct piece {
	bool any;        /* something stands in it */
	unsigned marks;  /* of its `for` */
	int loops, ifs;  /* directly in it; how many conditions stand in one another */
	int open;        /* conditions */
	uint64_t kinds;  /* a set of enum loop_op */
	uint64_t dtypes; /* a set of those of cells, and behind them one of those of rows */
};

static bool counts(enum loop_op op)
{
	return op == LOOP_LOAD || op == LOOP_STORE || op == LOOP_ROW || op == LOOP_CAST || op == LOOP_SELECT || op == LOOP_BOUND
		|| op == LOOP_DIV || op == LOOP_MOD || op == LOOP_SET;
}

static void put(struct piece *p, const struct loops *l, const struct loop_ins *i)
{
	p->any = true;
	p->open += i->op == LOOP_IF;
	p->ifs = MAX(p->ifs, p->open);
	if (counts(i->op))
		p->kinds |= (uint64_t)1 << i->op;
	if (i->op == LOOP_LOAD || i->op == LOOP_STORE)
		p->dtypes |= (uint64_t)1 << l->buffer[i->buffer].dtype;
	if (i->op == LOOP_ROW)
		p->dtypes |= (uint64_t)1 << (NDTYPES + (int)i->dtype);
}

void shape_add(uint64_t *list, int *n, int max, uint64_t shape)
{
	for (int i = 0; i < *n; i++)
		if (list[i] == shape)
			return;
	if (*n < max)
		list[(*n)++] = shape;
}

/* The piece ends: its shapes go to the list. */
static void end(const struct piece *p, uint64_t *out, int *n, int max)
{
	const uint64_t structure = (uint64_t)MIN(p->loops, MANY) << 4 | (uint64_t)MIN(p->ifs, MANY) << 2 | p->marks;
	if (!p->any)
		return;
	shape_add(out, n, max, mix64(mix64(p->kinds) ^ structure));
	for (unsigned t = 0; t < 2 * NDTYPES; t++)
		if (p->dtypes >> t & 1)
			shape_add(out, n, max, mix64(mix64(~(uint64_t)t) ^ structure));
}

int loops_shapes(uint64_t *out, int max, const struct loops *l)
{
	struct piece stack[MAX_LOOP_DEPTH + 1] = {{.any = false}}, *p = stack;
	int n = 0;
	for (int i = 0; i < l->nins; i++) {
		const struct loop_ins *ins = &l->ins[i];
		if (ins->op == LOOP_FOR) {
			p->loops++;
			*++p = (struct piece){.any = true, .marks = (unsigned)ins->parallel << 1 | (unsigned)ins->summed};
		} else if (ins->op == LOOP_END && l->ins[ins->match].op == LOOP_FOR) {
			end(p--, out, &n, max);
		} else if (ins->op == LOOP_END) {
			p->open--;
		} else if (ins->op != LOOP_ELSE && ins->op != LOOP_EXTERN) {
			put(p, l, ins);
		}
	}
	end(stack, out, &n, max);
	return n;
}
