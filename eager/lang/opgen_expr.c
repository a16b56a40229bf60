/* opgen_expr.c: the derivatives of pointwise rows, op_vjp.c: from the one-line expressions of ops.def, functions that append nodes.
 *
 *     g / (a + 1)      ->  const int x0 = emit_add_Scalar(b, in0, scalar_int(1), scalar_int(1));
 *                          const int x1 = emit_div_Tensor(b, g, x0);
 *
 * An expression is a tree of values of three kinds: a tensor (a node), a scalar (an argument of the row), a number. Each operation on
 * tensors is a row of the table, chosen by the kinds of what it takes; it becomes one C statement, in reading order, so that nodes are
 * appended in that order whatever C compiler translates the text. Grammar, weakest binding first:
 *     NAME = e; e   e ? e : e   e == e (!= < <= > >=)   e + e, e - e   e * e, e / e   -e   NAME(e, ...), NAME, NUMBER, (e)
 * A NAME before '(' is a row's id, whose arguments are given up to the first that has its default, or a function vjp_NAME of
 * eager/ops/vjp.h. Other names: a, b, c tensor operands, s, t scalars, y the result, g its cotangent, in the order of the schema; and what
 * `NAME = e;` has named. A scalar that is a str may be passed on, and chooses: in `s ? e : e` it is true unless it is the default. */
#include "eager/lang/opgen.h"

#include <ctype.h>
#include <stdlib.h>

enum value_kind { TENSOR, SCALAR, NUMBER, WORD };
struct expr_value {
	enum value_kind kind;
	char text[48]; /* the C expression; of a NUMBER, its digits */
};

enum { MAX_LOCALS = 8 };

struct expr_parser {
	const struct table_row *row;
	const char *start, *at;
	struct strbuf *out;
	int ntemp, nlocal;
	const struct row_args *args;
	int scalar[MAX_ARGS]; /* its arguments that are scalars or words */
	struct {
		char name[16];
		struct expr_value value;
	} local[MAX_LOCALS];
};

NORETURN static void fail(const struct expr_parser *p, const char *what)
{
	fprintf(stderr, "ops.def: %s: derivative %s: %s at: %s\n", p->row->name, p->start, what, p->at);
	exit(1);
}

static bool eat(struct expr_parser *p, const char *s)
{
	while (*p->at == ' ')
		p->at++;
	if (!str_starts(p->at, s))
		return false;
	p->at += strlen(s);
	return true;
}

static void expect(struct expr_parser *p, const char *s)
{
	if (!eat(p, s))
		fail(p, s);
}

/* As an argument of C type int (a value of build.h), or struct scalar. */
static const char *as_value(struct expr_parser *p, const struct expr_value *v)
{
	if (v->kind != TENSOR)
		fail(p, "a tensor is needed");
	return v->text;
}

static void put_scalar(struct expr_parser *p, const struct expr_value *v)
{
	if (v->kind == TENSOR)
		fail(p, "a scalar or a number is needed");
	if (v->kind == SCALAR)
		sb_puts(p->out, v->text);
	else
		sb_printf(p->out, strchr(v->text, '.') ? "scalar_float(%s)" : "scalar_int(%s)", v->text);
}

static struct expr_value temporary(struct expr_parser *p)
{
	struct expr_value v = {.kind = TENSOR};
	snprintf(v.text, sizeof v.text, "x%d", p->ntemp++);
	sb_printf(p->out, "\t\tconst int %s = ", v.text);
	return v;
}

static struct expr_value unary(struct expr_parser *p, const char *row, const struct expr_value *x)
{
	const char *arg = as_value(p, x);
	struct expr_value v = temporary(p);
	sb_printf(p->out, "emit_%s(b, %s);\n", row, arg);
	return v;
}

/* rest: further arguments. */
static struct expr_value binary(
	struct expr_parser *p, const char *row, const struct expr_value *x, const struct expr_value *y, const char *rest)
{
	const char *first = as_value(p, x);
	struct expr_value v = temporary(p);
	sb_printf(p->out, "emit_%s(b, %s, ", row, first);
	if (y->kind == TENSOR)
		sb_puts(p->out, y->text);
	else
		put_scalar(p, y);
	sb_printf(p->out, "%s);\n", rest);
	return v;
}

/* The rows of an infix operator. other_way: with the scalar first. */
struct infix {
	const char *sign, *tensors, *scalar, *other_way, *rest;
	int level;
};
#define ALPHA ", scalar_int(1)"
static const struct infix infixes[] = {
	{"==", "eq_Tensor", "eq_Scalar", "eq_Scalar", "", 0},
	{"!=", "ne_Tensor", "ne_Scalar", "ne_Scalar", "", 0},
	{"<=", "le_Tensor", "le_Scalar", "ge_Scalar", "", 0},
	{">=", "ge_Tensor", "ge_Scalar", "le_Scalar", "", 0},
	{"<", "lt_Tensor", "lt_Scalar", "gt_Scalar", "", 0},
	{">", "gt_Tensor", "gt_Scalar", "lt_Scalar", "", 0},
	{"+", "add_Tensor", "add_Scalar", "add_Scalar", ALPHA, 1},
	{"-", "sub_Tensor", "sub_Scalar", "rsub_Scalar", ALPHA, 1},
	{"*", "mul_Tensor", "mul_Scalar", "mul_Scalar", "", 2},
	{"/", "div_Tensor", "div_Scalar", NULL, "", 2},
};
enum { UNARY_LEVEL = 3 };

static struct expr_value expression(struct expr_parser *p);

static struct expr_value number(struct expr_parser *p, const char *sign)
{
	struct expr_value v = {.kind = NUMBER};
	size_t n = strspn(p->at, "0123456789.");
	if (n + strlen(sign) + 1 > sizeof v.text)
		fail(p, "number too long");
	snprintf(v.text, sizeof v.text, "%s%.*s", sign, (int)n, p->at);
	p->at += n;
	return v;
}

static const struct table_row *row_named(const char *id)
{
	for (int i = 0; i < opgen_nrows; i++)
		if (str_eq(opgen_rows[i].id, id))
			return &opgen_rows[i];
	return NULL;
}

static struct expr_value call(struct expr_parser *p, const char *name)
{
	struct expr_value arg[4];
	int n = 0;
	do {
		if (n == ARRAY_LEN(arg))
			fail(p, "too many arguments");
		arg[n++] = expression(p);
	} while (eat(p, ","));
	expect(p, ")");
	struct expr_value v = temporary(p);
	sb_printf(p->out, "%s%s(b", row_named(name) ? "emit_" : "vjp_", name);
	for (int i = 0; i < n; i++) {
		sb_puts(p->out, ", ");
		if (arg[i].kind == TENSOR || arg[i].kind == WORD)
			sb_puts(p->out, arg[i].text);
		else
			put_scalar(p, &arg[i]);
	}
	sb_puts(p->out, ");\n");
	return v;
}

static bool is_word(const struct row_args *args, int k) { return str_eq(args->kind[k], "K_STR"); }

/* s or t. */
static struct expr_value scalar_named(const struct expr_parser *p, int k)
{
	struct expr_value v = {.kind = SCALAR};
	if (is_word(p->args, p->scalar[k])) {
		v.kind = WORD;
		snprintf(v.text, sizeof v.text, "v->n->arg[%d].str", p->scalar[k]);
	} else {
		snprintf(v.text, sizeof v.text, "scalar[%d]", k);
	}
	return v;
}

static struct expr_value name(struct expr_parser *p)
{
	static const char *const known[][2] = {
		{"a", "in[0]"}, {"b", "in[1]"}, {"c", "in[2]"}, {"y", "y"}, {"g", "g"}};
	char word[40];
	size_t n = 0;
	while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')
		n++;
	if (!n || n >= sizeof word)
		fail(p, "a value is needed");
	snprintf(word, sizeof word, "%.*s", (int)n, p->at);
	p->at += n;
	if (eat(p, "("))
		return call(p, word);
	for (int i = p->nlocal - 1; i >= 0; i--)
		if (str_eq(p->local[i].name, word))
			return p->local[i].value;
	if (str_eq(word, "s") || str_eq(word, "t"))
		return scalar_named(p, word[0] == 't');
	for (int i = 0; i < ARRAY_LEN(known); i++)
		if (str_eq(known[i][0], word)) {
			struct expr_value v = {.kind = TENSOR};
			snprintf(v.text, sizeof v.text, "%s", known[i][1]);
			return v;
		}
	fail(p, "an unknown name, before");
}

static struct expr_value prefix(struct expr_parser *p)
{
	if (eat(p, "(")) {
		struct expr_value v = expression(p);
		expect(p, ")");
		return v;
	}
	if (eat(p, "-")) {
		if (isdigit((unsigned char)*p->at))
			return number(p, "-");
		struct expr_value v = prefix(p);
		return unary(p, "neg", &v);
	}
	eat(p, "");
	return isdigit((unsigned char)*p->at) ? number(p, "") : name(p);
}

static const struct infix *infix_here(struct expr_parser *p, int level)
{
	for (int i = 0; i < ARRAY_LEN(infixes); i++)
		if (infixes[i].level == level && eat(p, infixes[i].sign))
			return &infixes[i];
	return NULL;
}

static struct expr_value level(struct expr_parser *p, int k)
{
	if (k == UNARY_LEVEL)
		return prefix(p);
	struct expr_value x = level(p, k + 1);
	for (const struct infix *i; (i = infix_here(p, k));) {
		struct expr_value y = level(p, k + 1);
		if (x.kind == TENSOR)
			x = binary(p, y.kind == TENSOR ? i->tensors : i->scalar, &x, &y, i->rest);
		else if (i->other_way)
			x = binary(p, i->other_way, &y, &x, i->rest);
		else
			fail(p, "a number divided by a tensor: write reciprocal");
	}
	return x;
}

/* NAME = e; */
static bool definition(struct expr_parser *p)
{
	eat(p, "");
	size_t n = strspn(p->at, "abcdefghijklmnopqrstuvwxyz");
	const char *behind = p->at + n + strspn(p->at + n, " ");
	if (!n || n >= sizeof p->local[0].name || behind[0] != '=' || behind[1] == '=')
		return false;
	if (p->nlocal == MAX_LOCALS)
		fail(p, "too many names");
	const char *name = p->at;
	p->at = behind + 1;
	struct expr_value v = expression(p);
	expect(p, ";");
	snprintf(p->local[p->nlocal].name, sizeof p->local[0].name, "%.*s", (int)n, name);
	p->local[p->nlocal++].value = v;
	return true;
}

/* One of two, by an argument of the row: C's own if. */
static struct expr_value by_word(struct expr_parser *p, const struct expr_value *word)
{
	const int result = p->ntemp++;
	sb_printf(p->out, "\t\tint x%d;\n\t\tif (!str_eq(%s, op_info[v->n->op].param[%d].dflt_str)) {\n", result, word->text,
		atoi(strchr(word->text, '[') + 1));
	for (int k = 0; k < 2; k++) {
		struct expr_value v = expression(p);
		sb_printf(p->out, "\t\tx%d = %s;\n\t\t}%s\n", result, as_value(p, &v), k ? "" : " else {");
		if (!k)
			expect(p, ":");
	}
	struct expr_value v = {.kind = TENSOR};
	snprintf(v.text, sizeof v.text, "x%d", result);
	return v;
}

static struct expr_value expression(struct expr_parser *p)
{
	while (definition(p))
		;
	struct expr_value c = level(p, 0);
	if (!eat(p, "?"))
		return c;
	if (c.kind == WORD)
		return by_word(p, &c);
	struct expr_value x = expression(p);
	expect(p, ":");
	struct expr_value y = expression(p);
	as_value(p, &c), as_value(p, &x), as_value(p, &y);
	struct expr_value v = temporary(p);
	sb_printf(p->out, "emit_where_self(b, %s, %s, %s);\n", c.text, x.text, y.text);
	return v;
}

/* The rule of operand q, argument k. */
static void operand_rule(struct strbuf *out, const struct table_row *row, const struct row_args *args, int q, int k)
{
	const char *text = row->derivative[q];
	struct expr_parser p = {.row = row, .start = text, .at = text, .out = out, .args = args};
	for (int i = 0, n = 0; i < args->n; i++)
		if (is_word(args, i) || str_eq(args->kind[i], "K_SCALAR"))
			p.scalar[n++] = i;
	if (str_eq(text, "0") || str_eq(text, "zero"))
		return;
	sb_printf(out, "\tif (v->want[%d]) { /* %s */\n", k, text);
	struct expr_value v = expression(&p);
	if (*p.at)
		fail(&p, "the expression should end");
	sb_printf(out, "\t\tv->grad[%d] = %s;\n\t}\n", k, as_value(&p, &v));
}

static void row_rule(struct strbuf *out, const struct table_row *row, const struct row_args *args)
{
	int nin = 0, nscalar = 0, in[MAX_ARGS], scalar[MAX_ARGS];
	for (int k = 0; k < args->n; k++) {
		if (args->is_tensor[k])
			in[nin++] = k;
		else if (is_word(args, k) || str_eq(args->kind[k], "K_SCALAR"))
			scalar[nscalar++] = k;
	}
	sb_printf(out,
		"\nvoid vjp_%s(struct vjp *v)\n{\n\tstruct build *b = v->b;\n\tconst int g = v->g[0], y = v->out[0];\n\tconst int in[] = {",
		row->id);
	for (int q = 0; q < nin; q++)
		sb_printf(out, "%sv->in[%d]", q ? ", " : "", in[q]);
	sb_puts(out, "};\n\tconst struct scalar scalar[] = {");
	for (int q = 0; q < nscalar; q++)
		sb_printf(out, "v->n->arg[%d].scalar, ", scalar[q]);
	sb_puts(out, "{0}};\n\t(void)b, (void)g, (void)y, (void)in, (void)scalar;\n");
	for (int q = 0; q < nin; q++)
		operand_rule(out, row, args, q, in[q]);
	sb_puts(out, "}\n");
}

void opgen_vjp(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out, "#include \"eager/ops/row_rules.h\"\n");
	for (int i = 0; i < opgen_nrows; i++) {
		const struct table_row *row = &opgen_rows[i];
		if (row->derivative[0] && !str_eq(row->derivative[0], "by_hand"))
			row_rule(out, row, &args[i]);
	}
}
