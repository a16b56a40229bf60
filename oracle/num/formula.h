/* formula.h: the rows of formula.def: steps as they are written, parsed and evaluated over many elements at once.
 *
 * A text is parsed for each block of the tape that it computes, which takes less time than one of its elements; nothing is kept. What is
 * wrong with a text is a bug of ours: the parser says where and aborts, and a test parses all of them. */
#ifndef SCATTERPROOF_FORMULA_H
#define SCATTERPROOF_FORMULA_H

#include "oracle/num/func.h"

enum libm_shape { LIBM_NONE, LIBM_RISES, LIBM_FALLS, LIBM_VALLEY, LIBM_BRANCHES };
typedef long double libm_fn(long double x);
typedef long double libm2_fn(long double x, long double y);
struct formula {
	libm_fn *libm; /* both NULL: the value is steps */
	libm2_fn *libm2;
	enum libm_shape shape;
	double near; /* an absolute error of it where the licence says LF_NEAR */
	const char *value, *derivative[3];
};
extern const struct formula formula_of[NSF]; /* derivative[0] NULL: no row of formula.def */

enum step_kind {
	STEP_OPERAND,
	STEP_COTANGENT,
	STEP_RESULT,
	STEP_NUMBER,
	STEP_COUNT,
	STEP_SCALAR,
	STEP_NEG,
	STEP_ADD,
	STEP_SUB,
	STEP_MUL,
	STEP_DIV,
	STEP_LESS,
	STEP_MOST,
	STEP_SAME,
	STEP_EITHER,
	STEP_ORDER, /* one number, rounded in the steps of x or in those of y */
	STEP_CHOOSE,
	STEP_CALL,
	STEP_SUM,
	STEP_MEAN,
	STEP_MAX,
	STEP_VAR,
	STEP_WITHIN,
	STEP_NEAR,
	STEP_STORED
};
struct formula_step {
	enum step_kind kind;
	int x, y, z;      /* of earlier steps; OPERAND, SCALAR: x is which; CHOOSE: x ? y : z */
	enum sf f;        /* CALL */
	double low, high; /* NUMBER: low; WITHIN; NEAR: high */
	bool per_row;     /* one number for the whole row */
	bool last;        /* the result, or what it is a sign, a fact or a choice away from: rounded as results are */
};
enum { FORMULA_STEPS = 48, FORMULA_FORMS = 4 };
struct formula_steps {
	unsigned needs; /* this form is one that a licence with these flags permits */
	bool kernel;    /* steps have the type computed in; else they are operators, of the tensor's dtype */
	int n, result;  /* how many, and which of them is the result */
	struct formula_step step[FORMULA_STEPS];
};
/* All forms; the first one is what every target may do. */
struct formula_text {
	int nform;
	struct formula_steps form[FORMULA_FORMS];
};
/* f, k: the row and which derivative (-1: its value). */
void formula_parse(struct formula_text *to, enum sf f, int k);
/* One number for the row? */
static inline bool formula_is_one(const struct formula_text *t) { return t->form[0].step[t->form[0].result].per_row; }
/* The type that sums inside a formula are formed in: a licence whose operator adds rows up in a half does so behind the formula. */
static inline enum dtype formula_acc(const struct lic_rule *l)
{
	return num_format[l->acc].p < num_format[l->compute].p ? l->compute : l->acc;
}
/* Is the value of rows one number for each? */
bool formula_gives_one(enum sf f);

/* The elements of one row, or any elements of a formula without rows. */
struct formula_row {
	const struct num *v;
	const sid *op[3];        /* operands: v[op[k][i]] */
	const struct num *g, *y; /* derivatives: n of each; 1 if the formula's value is one number for the row */
	int64_t n;
};
/* The result of the steps, n numbers or one, rounded to h->dt: the hull of all forms that h->l permits. room: FORMULA_STEPS * n numbers,
 * at least FORMULA_STEPS; ids: 0 … n - 1. */
void formula_run(
	struct num *out, struct num *room, const sid *ids, const struct formula_text *t, const struct formula_row *r, const struct how *h);

/* Values of LIBM; of LIBM2, of one finite part, infinity or NaN each. */
struct num libm2_of(const struct num *a, const struct num *b, enum sf f);
struct num libm_of(const struct num *a, enum sf f, const struct how *h);
/* sf_value_fn and sf_adj_fn of rows without `R`. */
void formula_values(
	enum sf f, struct num *restrict y, const struct num *restrict v, const sid *const op[3], int64_t n, const struct how *h);
void formula_adjoints(enum sf f, struct num (*restrict gx)[3], const struct num *g, const struct num *y, const struct num *v,
	const sid *const op[3], int64_t n, const struct how *h);

#endif
