/* formula_arb.h: the steps of formula.def in Arb's balls: real arithmetic, without rounding, licences or facts. */
#ifndef SCATTERPROOF_FORMULA_ARB_H
#define SCATTERPROOF_FORMULA_ARB_H

#include "oracle/num/formula.h"

#include <arb.h>
#include <arb_hypgeom.h>

typedef void arb_fn(arb_t y, const arb_t x, slong prec);
/* By name of sf.def, what a step calls; NULL: not known. */
arb_fn *arb_function(enum sf f);

enum { ARB_ROW = 8 };
struct arb_row {
	arb_struct op[3][ARB_ROW], g[ARB_ROW], y[ARB_ROW];
	double scalar[FORMULA_SCALARS];
	int n;
};

static inline void arb_infix(arb_t y, enum step_kind kind, const arb_t a, const arb_t b, slong prec)
{
	switch (kind) {
	case STEP_ADD: arb_add(y, a, b, prec); break;
	case STEP_SUB: arb_sub(y, a, b, prec); break;
	case STEP_MUL: arb_mul(y, a, b, prec); break;
	default: arb_div(y, a, b, prec); break;
	}
}

/* y is the mean; becomes the variance. */
static inline void arb_squares_about(arb_t y, const arb_struct *x, int n, slong prec)
{
	arb_t sum, d;
	arb_init(sum), arb_init(d);
	for (int i = 0; i < n; i++) {
		arb_sub(d, x + i, y, prec);
		arb_addmul(sum, d, d, prec);
	}
	arb_div_si(y, sum, n, prec);
	arb_clear(sum), arb_clear(d);
}

/* 1, 0; -1: the balls do not say. */
static inline int arb_compared(enum step_kind kind, const arb_t a, const arb_t b)
{
	if (kind == STEP_LESS)
		return arb_lt(a, b) ? 1 : arb_ge(a, b) ? 0 : -1;
	if (kind == STEP_MOST)
		return arb_le(a, b) ? 1 : arb_gt(a, b) ? 0 : -1;
	return arb_eq(a, b) ? 1 : arb_ne(a, b) ? 0 : -1;
}

static inline void arb_of_row(arb_t y, enum step_kind kind, const arb_struct *x, int n, slong prec)
{
	arb_set(y, x);
	for (int i = 1; i < n; i++) {
		if (kind == STEP_MAX)
			arb_max(y, y, x + i, prec);
		else
			arb_add(y, y, x + i, prec);
	}
	if (kind == STEP_MEAN || kind == STEP_VAR)
		arb_div_si(y, y, n, prec);
	if (kind == STEP_VAR)
		arb_squares_about(y, x, n, prec);
}

/* out: initialised, n of them; true: one number for the row, out[0]. */
static inline bool formula_arb(arb_struct *out, const struct formula_text *text, const struct arb_row *r, slong prec)
{
	const struct formula_steps *s = &text->form[0];
	arb_struct v[FORMULA_STEPS][ARB_ROW];
	for (int k = 0; k < s->n; k++) {
		const struct formula_step *t = &s->step[k];
		for (int i = 0; i < ARB_ROW; i++)
			arb_init(&v[k][i]);
		for (int i = 0; i < (t->per_row ? 1 : r->n); i++) {
			arb_struct *y = &v[k][i], *x = t->kind >= STEP_NEG ? &v[t->x][s->step[t->x].per_row ? 0 : i] : NULL;
			switch (t->kind) {
			case STEP_OPERAND: arb_set(y, &r->op[t->x][i]); break;
			case STEP_COTANGENT: arb_set(y, &r->g[i]); break;
			case STEP_RESULT: arb_set(y, &r->y[i]); break;
			case STEP_NUMBER: arb_set_d(y, t->low); break;
			case STEP_COUNT: arb_set_si(y, r->n); break;
			case STEP_SCALAR: arb_set_d(y, r->scalar[t->x]); break;
			case STEP_LESS:
			case STEP_MOST:
			case STEP_SAME: arb_set_si(y, arb_compared(t->kind, x, &v[t->y][s->step[t->y].per_row ? 0 : i])); break;
			case STEP_EITHER:
			case STEP_ORDER: arb_union(y, x, &v[t->y][s->step[t->y].per_row ? 0 : i], prec); break;
			case STEP_CHOOSE: {
				const arb_struct *yes = &v[t->y][s->step[t->y].per_row ? 0 : i], *no = &v[t->z][s->step[t->z].per_row ? 0 : i];
				if (arb_is_negative(x))
					arb_union(y, yes, no, prec);
				else
					arb_set(y, arb_is_zero(x) ? no : yes);
				break;
			}
			case STEP_NEG: arb_neg(y, x); break;
			case STEP_NEAR:
			case STEP_STORED:
			case STEP_WITHIN: arb_set(y, x); break;
			case STEP_CALL: arb_function(t->f)(y, x, prec); break;
			case STEP_SUM:
			case STEP_MEAN:
			case STEP_VAR:
			case STEP_MAX: arb_of_row(y, t->kind, v[t->x], r->n, prec); break;
			default: arb_infix(y, t->kind, x, &v[t->y][s->step[t->y].per_row ? 0 : i], prec); break;
			}
		}
	}
	bool one = s->step[s->result].per_row;
	for (int i = 0; i < (one ? 1 : r->n); i++)
		arb_set(&out[i], &v[s->result][i]);
	for (int k = 0; k < s->n; k++)
		for (int i = 0; i < ARB_ROW; i++)
			arb_clear(&v[k][i]);
	return one;
}

#endif
