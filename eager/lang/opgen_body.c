/* opgen_body.c: what rows of ops.def state in rows, as C: op_body.c has body_<id> of each row with a body, op_vjp.c has vjp_<id> of each
 * row that states its derivative.
 *
 * A body is a list of statements in parentheses, over the row's arguments by name (eager/ops/body.h is what it becomes at run time; a
 * `Dim?` is a list of it, [] for None):
 *
 *     refuse e "text";       if e, a host condition, the call raises with the text
 *     NAME = e;              a value with a name
 *     NAME, NAME = e;        the results of a row that has several; _: this one is not needed
 *     return e, e            the row's results; None: this one is not there
 *
 * The derivative of a row with a body is `none` (its results never require grad), `by_hand` (vjp_<id> is in eager/ops), `body` (that of
 * the body's rows, one after the other) or such a list, over the arguments, the result y (y0, y1, ...: several) and its cotangent g (g0,
 * g1, ...), in which d_NAME = e states the cotangent of argument NAME. A pointwise row has one expression per operand, in which a, b, c are
 * the operands, s, t, u, w the numbers, words and truth values. */
#include "eager/lang/opgen_expr.h"

#include <stdlib.h>

/* ---- arguments ---- */

/* How an argument of a kind is read; %1$s is its name, %2$d its position. x is a struct body or vjp. */
struct reading {
	const char *kind, *plain, *maybe; /* maybe: of one that may be None; NULL: the same */
	enum value_kind value, maybe_value;
};
static const struct reading readings[] = {
	{"K_TENSOR", "const int a_%1$s = x->in[%2$d];", NULL, V_TENSOR, V_MAYBE_TENSOR},
	{"K_TENSORS", "const int *a_%1$s = x->list[%2$d], n_a_%1$s = x->n->arg[%2$d].n;", NULL, V_TENSORS, V_TENSORS},
	{"K_SIZE", "const struct ints a_%1$s = build_ints_of(x->n, %2$d);", NULL, V_INTS, V_INTS},
	{"K_INTS", "const struct ints a_%1$s = build_ints_of(x->n, %2$d);", NULL, V_INTS, V_INTS},
	{"K_DIMS", "const struct ints a_%1$s = build_ints_of(x->n, %2$d);", NULL, V_INTS, V_INTS},
	{"K_DIM", "const int64_t a_%1$s = build_int_of(x->n, %2$d);", "const struct ints a_%1$s = build_dims_of(x->n, %2$d);", V_INT, V_INTS},
	{"K_INDEX", "const int64_t a_%1$s = build_int_of(x->n, %2$d);", NULL, V_INT, V_INT},
	{"K_STEP", "const int64_t a_%1$s = build_int_of(x->n, %2$d);", NULL, V_INT, V_INT},
	{"K_INT", "const int64_t a_%1$s = build_int_of(x->n, %2$d);", NULL, V_INT, V_INT},
	{"K_SCALAR", "const struct scalar a_%1$s = x->n->arg[%2$d].scalar;",
		"const struct scalar *a_%1$s = node_given(x->n, %2$d) ? &x->n->arg[%2$d].scalar : NULL;", V_SCALAR, V_MAYBE_SCALAR},
	{"K_BOOL", "const bool a_%1$s = x->n->arg[%2$d].b;", NULL, V_BOOL, V_BOOL},
	{"K_DTYPE", "const int a_%1$s = node_given(x->n, %2$d) ? (int)x->n->arg[%2$d].dtype : -1;", NULL, V_DTYPE, V_DTYPE},
	{"K_FLOAT", "const double a_%1$s = x->n->arg[%2$d].scalar.f;",
		"const struct scalar *a_%1$s = node_given(x->n, %2$d) ? &x->n->arg[%2$d].scalar : NULL;", V_REAL, V_MAYBE_SCALAR},
	{"K_BOOLS", "const bool *a_%1$s = x->n->arg[%2$d].bools;", NULL, V_BOOLS, V_BOOLS},
	{"K_STR", "const char *a_%1$s = x->n->arg[%2$d].str;", NULL, V_STR, V_STR},
};

/* The format with %1$s and %2$d replaced. */
static void substitute(struct strbuf *out, const char *format, const char *name, int k)
{
	for (const char *at; (at = strchr(format, '%')); format = at + strlen("%1$s")) {
		sb_put(out, format, (size_t)(at - format));
		if (at[1] == '1')
			sb_puts(out, name);
		else
			sb_printf(out, "%d", k);
	}
	sb_puts(out, format);
}

static void read_argument(struct expr_parser *p, const struct row_args *args, int k)
{
	char text[64];
	for (int i = 0; i < ARRAY_LEN(readings); i++) {
		const struct reading *r = &readings[i];
		if (!str_eq(r->kind, args->kind[k]))
			continue;
		sb_puts(p->out, "\t");
		substitute(p->out, args->optional[k] && r->maybe ? r->maybe : r->plain, args->name[k], k);
		snprintf(text, sizeof text, "a_%s", args->name[k]);
		sb_printf(p->out, "\n\t(void)%s%s;\n", r->value == V_TENSORS ? "n_" : "", text);
		expr_bind(p, args->name[k], args->optional[k] ? r->maybe_value : r->value, text);
		return;
	}
}

/* ---- statements ---- */

static void expect_end(struct expr_parser *p)
{
	expr_expect(p, ")");
	if (!expr_eat(p, "") || *p->at)
		expr_fail(p, "nothing may follow");
}

/* Names what is left of `=`: NAME, NAME. Returns how many. */
static int left_side(struct expr_parser *p, char name[MAX_ARGS][32])
{
	int n = 0;
	do {
		if (n == MAX_ARGS)
			expr_fail(p, "too many names");
		expr_word(p, name[n++]);
	} while (expr_eat(p, ","));
	expr_expect(p, "=");
	return n;
}

static void bind_results(struct expr_parser *p, char name[MAX_ARGS][32], int n, const struct expr_value *v)
{
	if (v->kind != V_TUPLE || v->n != n)
		expr_fail(p, "another number of results, before");
	for (int i = 0; i < n; i++) {
		char text[32];
		if (str_eq(name[i], "_"))
			continue;
		snprintf(text, sizeof text, "x%d", p->ntemp++);
		sb_printf(p->out, "\t\tconst int %s = build_result(b, %s, %d);\n", text, v->text, i);
		expr_bind(p, name[i], V_TENSOR, text);
	}
}

static void assignment(struct expr_parser *p)
{
	char name[MAX_ARGS][32];
	const int n = left_side(p, name);
	const struct expr_value v = expr_parse(p);
	if (n > 1 || v.kind == V_TUPLE)
		bind_results(p, name, n, &v);
	else
		expr_bind(p, name[0], v.kind, v.text);
}

static void refusal(struct expr_parser *p)
{
	const struct expr_value c = expr_parse(p);
	if (c.kind != V_BOOL)
		expr_fail(p, "a host condition is needed, before");
	expr_expect(p, "\"");
	const size_t n = strcspn(p->at, "\"");
	sb_printf(p->out, "\t\tif (%s) {\n\t\t\terr_set(&b->refusal, \"%.*s\");\n\t\t\treturn;\n\t\t}\n", c.text, (int)n, p->at);
	p->at += n;
	expr_expect(p, "\"");
}

static void results(struct expr_parser *p, const struct row_args *args)
{
	int n = 0;
	do {
		const struct expr_value v = expr_parse(p);
		if (n == args->nresult)
			expr_fail(p, "more results than the schema has, before");
		if (v.kind != V_NONE)
			sb_printf(p->out, "\t\tx->out[%d] = %s;\n", n, expr_tensor(p, &v));
		if (v.strided)
			sb_printf(p->out, "\t\tx->strided[%d] = true;\n", n);
		n++;
	} while (expr_eat(p, ","));
	if (n != args->nresult)
		expr_fail(p, "fewer results than the schema has, before");
}

/* Of a word with something behind it that is no `=`: a statement of its own. */
static bool keyword(struct expr_parser *p, const char *word)
{
	expr_eat(p, "");
	const size_t n = strlen(word);
	if (!str_starts(p->at, word) || !strchr(" (", p->at[n]))
		return false;
	p->at += n;
	return true;
}

static void body_statements(struct expr_parser *p, const struct row_args *args)
{
	expr_expect(p, "(");
	while (!keyword(p, "return")) {
		if (keyword(p, "refuse"))
			refusal(p);
		else
			assignment(p);
		expr_expect(p, ";");
	}
	results(p, args);
	expr_eat(p, ";");
	expect_end(p);
}

/* ---- op_body.c ---- */

static void row_body(struct strbuf *out, const struct table_row *row, const struct row_args *all, const struct row_args *args)
{
	struct expr_parser p = {.row = row, .args = all, .what = "body", .at = row->body, .out = out};
	p.after_row = "\t\tif (b->refusal.msg[0])\n\t\t\treturn;\n";
	sb_printf(out, "\nstatic void body_%s(struct body *x)\n{\n\tstruct build *b = x->b;\n\t(void)b;\n", row->id);
	for (int k = 0; k < args->n; k++)
		read_argument(&p, args, k);
	sb_puts(out, "\t{\n");
	body_statements(&p, args);
	if (p.nappended > MAX_BODY_ROWS)
		expr_fail(&p, "too many rows");
	sb_puts(out, "\t}\n}\n");
}

void opgen_body(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out, "#include \"eager/ops/body.h\"\n#include \"eager/ops/vjp.h\"\n#include \"generated/op_id.h\"\n\n#include <math.h>\n");
	for (int i = 0; i < opgen_nrows; i++)
		if (opgen_rows[i].body)
			row_body(out, &opgen_rows[i], args, &args[i]);
	sb_puts(out, "\nbody_fn *const op_body[NOPS] = {\n");
	for (int i = 0; i < opgen_nrows; i++)
		if (opgen_rows[i].body)
			sb_printf(out, "\t[OP_%s] = body_%s,\n", opgen_rows[i].id, opgen_rows[i].id);
	sb_puts(out, "};\n");
}

/* ---- op_vjp.c ---- */

static void rule_begins(struct strbuf *out, const struct table_row *row)
{
	sb_printf(out, "\nvoid vjp_%s(struct vjp *x)\n{\n\tstruct build *b = x->b;\n\t(void)b;\n", row->id);
}

/* The cotangent of argument k is the expression that comes. */
static void cotangent(struct expr_parser *p, int k)
{
	const int nname = p->nname;
	sb_printf(p->out, "\tif (x->want[%d]) {\n", k);
	const struct expr_value v = expr_parse(p);
	if (v.kind != V_NONE)
		sb_printf(p->out, "\t\tx->grad[%d] = %s;\n", k, expr_tensor(p, &v));
	sb_puts(p->out, "\t}\n");
	p->nname = nname;
}

static void pointwise_rule(struct strbuf *out, const struct table_row *row, const struct row_args *all, const struct row_args *args)
{
	static const char *const operand[] = {"a", "b", "c"}, *const scalar[] = {"s", "t", "u", "w"};
	struct expr_parser p = {.row = row, .args = all, .what = "derivative", .out = out, .after_row = ""};
	int q = 0, nscalar = 0, at[3];
	char text[40];
	rule_begins(out, row);
	expr_bind(&p, "g", V_TENSOR, "x->g[0]");
	expr_bind(&p, "y", V_TENSOR, "x->out[0]");
	for (int k = 0; k < args->n; k++) {
		snprintf(text, sizeof text, args->is_tensor[k] ? "x->in[%d]" : "x->n->arg[%d].scalar", k);
		if (args->is_tensor[k]) {
			at[q] = k;
			expr_bind(&p, operand[q++], V_TENSOR, text);
		} else if (str_eq(args->kind[k], "K_SCALAR")) {
			expr_bind(&p, scalar[nscalar++], V_SCALAR, text);
		} else if (str_eq(args->kind[k], "K_STR")) {
			snprintf(text, sizeof text, "x->n->arg[%d].str", k);
			expr_bind(&p, scalar[nscalar++], V_STR, text);
		} else if (str_eq(args->kind[k], "K_BOOL")) {
			snprintf(text, sizeof text, "x->n->arg[%d].b", k);
			expr_bind(&p, scalar[nscalar++], V_BOOL, text);
		}
	}
	for (int i = 0; i < q; i++) {
		const char *e = row->derivative[i];
		if (str_eq(e, "0") || str_eq(e, "zero"))
			continue;
		p.at = e;
		cotangent(&p, at[i]);
		if (*p.at)
			expr_fail(&p, "the expression should end");
	}
	sb_puts(out, "}\n");
}

/* The argument whose cotangent d_NAME is; -1: no such name. */
static int argument_of(const char *word, const struct row_args *args)
{
	for (int k = 0; k < args->n && str_starts(word, "d_"); k++)
		if (args->is_tensor[k] && str_eq(args->name[k], word + strlen("d_")))
			return k;
	return -1;
}

static void bind_results_of(struct expr_parser *p, const struct row_args *args)
{
	for (int i = 0; i < args->nresult; i++) {
		const bool one = args->nresult == 1;
		char name[32], text[32];
		snprintf(name, sizeof name, one ? "y" : "y%d", i);
		snprintf(text, sizeof text, "x->out[%d]", i);
		expr_bind(p, name, V_TENSOR, text);
		snprintf(name, sizeof name, one ? "g" : "g%d", i);
		snprintf(text, sizeof text, "x->g[%d]", i);
		expr_bind(p, name, one ? V_TENSOR : V_MAYBE_TENSOR, text);
	}
}

static void cotangent_statements(struct expr_parser *p, const struct row_args *args)
{
	expr_expect(p, "(");
	do {
		const char *was = p->at;
		char word[32];
		expr_word(p, word);
		const int k = argument_of(word, args);
		if (k < 0) {
			p->at = was;
			assignment(p);
			continue;
		}
		expr_expect(p, "=");
		cotangent(p, k);
	} while (expr_eat(p, ";") && *p->at && !str_starts(p->at + strspn(p->at, " "), ")"));
	expect_end(p);
}

static void body_rule(struct strbuf *out, const struct table_row *row, const struct row_args *all, const struct row_args *args)
{
	const char *text = row->cotangents;
	struct expr_parser p = {.row = row, .args = all, .what = "derivative", .at = text, .out = out, .after_row = ""};
	rule_begins(out, row);
	if (str_eq(text, "none") || str_eq(text, "body")) {
		sb_puts(out, text[0] == 'b' ? "\tbody_vjp(x);\n}\n" : "\tBUG(\"%s has no derivative\", op_info[x->n->op].name);\n}\n");
		return;
	}
	for (int k = 0; k < args->n; k++)
		read_argument(&p, args, k);
	bind_results_of(&p, args);
	cotangent_statements(&p, args);
	sb_puts(out, "}\n");
}

void opgen_vjp(struct strbuf *out, const struct row_args *args)
{
	sb_puts(out, "#include \"eager/ops/body.h\"\n#include \"eager/ops/row_rules.h\"\n");
	for (int i = 0; i < opgen_nrows; i++) {
		const struct table_row *row = &opgen_rows[i];
		if (row->derivative[0] && !str_eq(row->derivative[0], "by_hand"))
			pointwise_rule(out, row, args, &args[i]);
		if (row->cotangents && !str_eq(row->cotangents, "by_hand"))
			body_rule(out, row, args, &args[i]);
	}
}
