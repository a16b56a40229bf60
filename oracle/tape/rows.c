/* rows.c: blocks whose scalars are made of a row each, by the steps of formula.def: their values, and what a row's cotangents send to the
 * operands. */
#include "oracle/num/formula.h"
#include "oracle/tape/adjoint_impl.h"

struct rows {
	struct formula_text text;
	struct formula_row row;
	const struct tape_block *b;
	struct num *room, *out;
	sid *ids;
};

/* k: which derivative; -1: the value. */
static void rows_begin(struct rows *r, struct tape *t, const struct tape_block *b, int k)
{
	formula_parse(&r->text, b->f, k);
	r->b = b;
	r->row = (struct formula_row){.v = t->val, .n = b->len};
	r->room = ARENA_NEW(t->arena, struct num, FORMULA_STEPS * MAX(b->len, 1));
	r->out = ARENA_NEW(t->arena, struct num, MAX(b->len, 1));
	r->ids = tape_ids(t, b->len);
	for (int64_t i = 0; i < MAX(b->len, 1); i++) /* what is one for a row is computed of empty rows, too */
		r->ids[i] = (sid)i;
}

static const struct num *run_row(struct rows *r, int64_t row, const struct how *h)
{
	const sid *op[3] = {r->b->a, r->b->b, r->b->c};
	for (int k = 0; k < sf_operands(r->b->f); k++)
		r->row.op[k] = op[k] + row * r->b->len;
	formula_run(r->out, r->room, r->ids, &r->text, &r->row, h);
	return r->out;
}

/* Scalars of each row. */
static int64_t width(const struct tape_block *b) { return b->dim[0] ? b->n / b->dim[0] : 0; }

void rows_value(struct tape *t, const struct tape_block *b, const struct how *h)
{
	struct arena_mark m = arena_mark(t->arena);
	struct rows r;
	int64_t n = width(b);
	rows_begin(&r, t, b, -1);
	for (int64_t row = 0; row < b->dim[0]; row++) {
		const struct num *y = run_row(&r, row, h);
		for (int64_t i = 0; i < n; i++) {
			struct num *to = &t->val[b->first + row * n + i];
			*to = UNLIKELY(y[i].flags & NUM_BEYOND) ? num_any(b->dt) : y[i];
			to->dtype = (int32_t)b->dt;
		}
	}
	arena_release(t->arena, m);
}

void adj_rows(struct adjoint_pass *s)
{
	const struct tape_block *b = s->b;
	struct tape *t = s->A->t;
	struct arena_mark m = arena_mark(t->arena);
	int64_t n = width(b);
	struct num *g = ARENA_NEW(t->arena, struct num, b->n + 1);
	for (int64_t i = 0; i < b->n; i++)
		g[i] = adjoint_of(s->A, b->first + (sid)i);
	for (int k = 0; k < sf_operands(b->f); k++) {
		struct rows r;
		const sid *op[3] = {b->a, b->b, b->c};
		rows_begin(&r, t, b, k);
		s->slot = k;
		for (int64_t row = 0; row < b->dim[0]; row++) {
			r.row.g = g + row * n;
			r.row.y = t->val + b->first + row * n;
			const struct num *c = run_row(&r, row, &s->h);
			bool one = formula_is_one(&r.text);
			for (int64_t i = 0; i < b->len; i++)
				adj_send(s, op[k][row * b->len + i], c[one ? 0 : i]);
		}
	}
	arena_release(t->arena, m);
}
