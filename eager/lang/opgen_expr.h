/* opgen_expr.h: expressions over rows, as ops.def has them, compiled to C that appends the rows (eager/lang/build.h).
 *
 *     g / (a + 1)      ->  const int x0 = emit_add_Scalar(b, in0, scalar_int(1), scalar_int(1));
 *                          const int x1 = emit_div_Tensor(b, g, x0);
 *
 * A value is a TENSOR, which a node of the program stands for, or a HOST value, known when the rows are appended: a number, a list of
 * dimensions, a dtype, a condition. Each operation on tensors is a row of the table, chosen by the kinds of its operands. Every operation
 * becomes one C statement, in reading order, so that nodes are appended in that order whatever C compiler translates the text.
 *
 * Grammar, weakest binding first:
 *     e ? e : e   e || e   e && e   e == e (!= < <= > >=)   e + e, e - e   e * e, e / e   -e, !e
 *     NAME(e, ..., NAME=e, ...), NAME, NUMBER, "text", True, False, None, [e, ...], (e)
 * Where the condition is a tensor, e ? e : e is a `where` of both; else only the rows of the chosen one are appended.
 * A NAME before '(' is a row's id, with arguments as in its schema (those with a default may be left out), or one of the words:
 *
 *     acc(x)       x in the dtype that kernels accumulate in: f32 for halves, else its own;  wide(t): that dtype of t
 *     floating(x)  x, integers in f32
 *     as(x, y)     x in y's dtype;  to(x, t): in dtype t;  dtype(x): x's dtype
 *     given(v)     is argument or cotangent v there?
 *     rank(x), numel(x), size(x, d), sizes(x), count(x, dims): sizes;  len(l): entries of a list
 *     quotient(n, m): n / m, rounded down
 *     entry(l, i): entry i of a list of dimensions
 *     largest(t): the largest finite number of a float dtype, 0 of another
 *     embedded(x, offset, i, j): sizes of x, its last one gone, with two new dims i and j of which it is a diagonal
 *     last(n): [-n, ..., -1];  first(n): [0, ..., n - 1]
 *     bordered(x, p)  sizes of x with padding p;  mirrored(x, p), clamped(x, p): where in x's last dims, flat, each of their cells is from
 *     unfolded(x, kernel, dilation, stride)  where in the last two dims of x, flat, each tap of each window lies
 *     nearest(n, m, scale)  which of n each of m places is nearest to;  across(r, c, n): of each cell, such rows and columns, which are n
 *     shared(n, m)  which of n places each of m windows has that divide them;  pooled(x, out): sizes of x, the last ones replaced
 *     asked(l, i)  entry i of a list of bools;  wanted(x): in a derivative: is the cotangent of argument x asked for?
 *     real(s)      the number that scalar s is;  real_or(s, x): x if it is None
 *     attention_scale(query, s): s, or what attention scales by if it is None
 *     strided(x)   in `return`: x in the layout that its rows gave it, instead of a contiguous one
 *     scale(x, s)  x * s, where s is not 1;  inverse(x): 1 / x, and 0 where x is 0
 *     gelu_curvature(x, word)  the slope of gelu_backward at x
 *
 * A mistake ends opgen with the row's name, what was read and the place. */
#ifndef SCATTERPROOF_OPGEN_EXPR_H
#define SCATTERPROOF_OPGEN_EXPR_H

#include "eager/lang/opgen.h"

enum value_kind {
	V_TENSOR,
	V_MAYBE_TENSOR,
	V_TENSORS,
	V_TUPLE,
	V_SCALAR,
	V_MAYBE_SCALAR,
	V_INT,
	V_REAL,
	V_BOOL,
	V_DTYPE,
	V_INTS,
	V_BOOLS,
	V_STR,
	V_NONE
};
struct expr_value {
	enum value_kind kind;
	int n;         /* V_TUPLE: results */
	bool strided;  /* see the word */
	char text[64]; /* a C expression without side effects; of V_TENSORS the array, its length is n_<text> */
};
struct expr_name {
	char name[32];
	struct expr_value value;
};

enum { MAX_EXPR_NAMES = 64 };
struct expr_parser {
	const struct table_row *row;
	const struct row_args *args; /* of all rows */
	const char *what;            /* "body" */
	const char *at;
	struct strbuf *out;
	int ntemp, nappended;
	const char *after_row; /* C text behind each row that is appended */
	int nname;
	struct expr_name name[MAX_EXPR_NAMES];
};

NORETURN void expr_fail(const struct expr_parser *p, const char *what);
bool expr_eat(struct expr_parser *p, const char *s);
void expr_expect(struct expr_parser *p, const char *s);
void expr_word(struct expr_parser *p, char out[32]); /* letters, digits and _ */
void expr_bind(struct expr_parser *p, const char *name, enum value_kind kind, const char *text);
struct expr_value expr_parse(struct expr_parser *p);
const char *expr_tensor(const struct expr_parser *p, const struct expr_value *v); /* its C text; fails if it is none */
int expr_row_named(const char *id);                                               /* -1: none */

#endif
