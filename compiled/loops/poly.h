/* poly.h: numbers of a loop program that calls may change: polynomials over SYMBOLS, the sizes that a call gives, with integer
 * coefficients. Symbols are numbered, s0, s1, ...; their values are an array.
 *
 *   s0*s0*4 + s1*2 - 3
 *
 * Terms are in one order, the highest powers first, and none is 0: equal polynomials are equal structures. Functions that return false
 * have met a number, a degree or a count of terms beyond the limits. */
#ifndef SCATTERPROOF_POLY_H
#define SCATTERPROOF_POLY_H

#include "eager/base/base.h"

enum { MAX_POLY_SYMBOLS = 3, MAX_POLY_DEGREE = 4, MAX_POLY_TERMS = 35 };

struct poly_term {
	int64_t times;
	int power[MAX_POLY_SYMBOLS];
};
struct poly {
	int n;
	struct poly_term term[MAX_POLY_TERMS];
};

struct poly poly_number(int64_t v);
struct poly poly_symbol(int symbol);
bool poly_add(struct poly *out, const struct poly *a, const struct poly *b, int64_t times); /* a + b * times; out may be a or b */
bool poly_multiply(struct poly *out, const struct poly *a, const struct poly *b);           /* out may be a or b */
bool poly_is_number(const struct poly *p, int64_t *v);
bool poly_same(const struct poly *a, const struct poly *b);
unsigned poly_symbols(const struct poly *p); /* that occur: 1u << symbol */
bool poly_value(int64_t *out, const struct poly *p, const int64_t *value);

/* Is p >= 0 (strict: > 0) wherever each symbol is least[symbol] or more? True is proven: with the symbols written as least + t, no
 * coefficient is negative. False: it is not, or not in this way. */
bool poly_is_positive(const struct poly *p, const int64_t *least, bool strict);

/* The polynomial of total degree FIT_DEGREE at most that has these values at the points first + step * (i, j, ...), i + j + ... <=
 * FIT_DEGREE, in the order of fit_point. False: there is none with integer coefficients.
 *
 * A function of a higher degree has one, too, and is not it. The points beyond, i + j + ... = FIT_DEGREE + 1, tell: there a difference of
 * that order is not 0 if the function is a polynomial without negative coefficients, such as a product of sizes, and all points are
 * positive. */
enum { FIT_DEGREE = 3, MAX_FIT_POINTS = 20, MAX_FIT_BEYOND = 15 };
int fit_points(int nsymbol);
void fit_point(int out[MAX_POLY_SYMBOLS], int k, int nsymbol); /* the k-th (i, j, ...); 0 is (0, 0, ...) */
int fit_points_beyond(int nsymbol);
void fit_point_beyond(int out[MAX_POLY_SYMBOLS], int k, int nsymbol);
bool poly_fit(struct poly *out, int nsymbol, const int64_t *first, const int64_t *step, const int64_t *value);

void poly_print(struct strbuf *sb, const struct poly *p);

#endif
