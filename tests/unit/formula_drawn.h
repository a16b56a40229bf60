/* formula_drawn.h: the steps of formula.def in double, with liberties that the caller takes at random; asserts their facts (`within`). */
#ifndef SCATTERPROOF_FORMULA_DRAWN_H
#define SCATTERPROOF_FORMULA_DRAWN_H

#include "oracle/num/formula.h"
#include "tests/test.h"

enum { DRAWN_ROW = 64 };
/* How an execution rounds, calls and adds. */
struct drawn {
	void *exec;
	double (*step)(void *exec, double x, bool kernel);
	double (*result)(void *exec, double x);
	double (*call)(void *exec, enum sf f, double x);
	double (*sum)(void *exec, double *x, int n);
	double (*var)(void *exec, const double *x, int n);
	bool (*coin)(void);
	unsigned flags; /* of the licence */
};

struct drawn_row {
	double op[3][DRAWN_ROW];
	const double *g, *y, *scalar;
	int n;
};

/* One element of an infix step. fused: a product is not rounded before it is added. */
static inline double drawn_infix(
	const struct drawn *d, const struct formula_steps *s, const struct formula_step *t, double (*v)[DRAWN_ROW], int i)
{
#define AT(k) (v[k][s->step[k].per_row ? 0 : i])
	const struct formula_step *p = &s->step[t->x];
	double a = AT(t->x), b = AT(t->y);
	if ((t->kind == STEP_ADD || t->kind == STEP_SUB) && p->kind == STEP_MUL && isfinite(a) && d->coin())
		return fma(AT(p->x), AT(p->y), t->kind == STEP_ADD ? b : -b);
	return t->kind == STEP_ADD ? a + b : t->kind == STEP_SUB ? a - b : t->kind == STEP_MUL ? a * b : a / b;
#undef AT
}

static inline double drawn_of_row(const struct drawn *d, enum step_kind kind, const double *x, int n)
{
	double copy[DRAWN_ROW], most = n ? x[0] : NAN;
	memcpy(copy, x, sizeof copy);
	if (kind == STEP_VAR)
		return d->var(d->exec, x, n);
	if (kind != STEP_MAX)
		return d->sum(d->exec, copy, n) / (kind == STEP_MEAN ? n : 1);
	for (int i = 1; i < n; i++)
		most = isnan(most) || isnan(x[i]) ? NAN : fmax(most, x[i]);
	return most;
}

/* out: n numbers, or one (returned) for the row; by any of the forms that are permitted. */
static inline bool formula_drawn(double *out, const struct drawn *d, const struct formula_text *text, const struct drawn_row *r)
{
	const struct formula_steps *s = &text->form[text->nform > 1 && d->flags & text->form[1].needs && d->coin()];
	double v[FORMULA_STEPS][DRAWN_ROW];
	for (int k = 0; k < s->n; k++) {
		const struct formula_step *t = &s->step[k];
		bool chosen = t->kind >= STEP_LESS && t->kind <= STEP_CHOOSE;
		bool move = t->kind <= STEP_NEG || t->kind == STEP_WITHIN || t->kind == STEP_NEAR || t->kind == STEP_STORED || t->kind == STEP_MAX;
		for (int i = 0; i < (t->per_row ? 1 : r->n); i++) {
			double x = t->kind >= STEP_NEG ? v[t->x][s->step[t->x].per_row ? 0 : i] : 0, y = 0;
			switch (t->kind) {
			case STEP_OPERAND: y = r->op[t->x][i]; break;
			case STEP_COTANGENT: y = r->g[i]; break;
			case STEP_RESULT: y = r->y[i]; break;
			case STEP_COUNT: y = r->n; break;
			case STEP_NUMBER: y = d->step(d->exec, t->low, true); break;
			case STEP_SCALAR: y = d->step(d->exec, r->scalar[t->x], true); break;
			case STEP_LESS: y = x < v[t->y][s->step[t->y].per_row ? 0 : i]; break;
			case STEP_MOST: y = x <= v[t->y][s->step[t->y].per_row ? 0 : i]; break;
			case STEP_SAME: y = x == v[t->y][s->step[t->y].per_row ? 0 : i]; break;
			case STEP_EITHER:
			case STEP_ORDER:
			case STEP_CHOOSE: {
				const int from = t->kind == STEP_EITHER || t->kind == STEP_ORDER ? (d->coin() ? t->x : t->y) : x != 0 ? t->y : t->z;
				y = v[from][s->step[from].per_row ? 0 : i];
				if (t->last && s->step[from].kind >= STEP_NUMBER && !s->step[from].last)
					y = d->result(d->exec, y);
				break;
			}
			case STEP_NEG: y = -x; break;
			case STEP_CALL: y = d->call(d->exec, t->f, x); break;
			case STEP_SUM:
			case STEP_MEAN:
			case STEP_VAR:
			case STEP_MAX: y = drawn_of_row(d, t->kind, v[t->x], r->n); break;
			case STEP_STORED: y = d->flags & LF_STORED && d->coin() ? d->result(d->exec, x) : x; break;
			case STEP_NEAR: y = x + (d->coin() ? t->high : d->coin() ? -t->high : 0); break;
			case STEP_WITHIN:
				y = x;
				EXPECT(!(x < t->low) && !(x > t->high), "a step is %.17g, which formula.def says lies from %g to %g", x, t->low, t->high);
				break;
			default: y = drawn_infix(d, s, t, v, i); break;
			}
			v[k][i] = chosen || (move && (!t->last || t->kind == STEP_NEG || t->kind == STEP_WITHIN)) ? y
				: t->last                                                                             ? d->result(d->exec, y)
																									  : d->step(d->exec, y, s->kernel);
		}
	}
	bool one = s->step[s->result].per_row;
	memcpy(out, v[s->result], sizeof *out * (size_t)(one ? 1 : r->n));
	return one;
}

#endif
