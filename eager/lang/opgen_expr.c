/* opgen_expr.c: the compiler of expressions over rows (opgen_expr.h): a recursive descent that writes a C statement per operation. */
#include "eager/lang/opgen_expr.h"

#include <ctype.h>
#include <stdlib.h>

void expr_fail(const struct expr_parser *p, const char *what)
{
	fprintf(stderr, "ops.def: %s: %s: %s at: %.40s\n", p->row->name, p->what, what, *p->at ? p->at : "the end");
	exit(1);
}

bool expr_eat(struct expr_parser *p, const char *s)
{
	while (*p->at == ' ')
		p->at++;
	if (!str_starts(p->at, s))
		return false;
	p->at += strlen(s);
	return true;
}

void expr_expect(struct expr_parser *p, const char *s)
{
	char what[32];
	if (expr_eat(p, s))
		return;
	snprintf(what, sizeof what, "'%s' is needed", s);
	expr_fail(p, what);
}

static size_t word_length(const char *s)
{
	size_t n = 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

void expr_word(struct expr_parser *p, char out[32])
{
	expr_eat(p, "");
	const size_t n = word_length(p->at);
	if (!n || n >= 32)
		expr_fail(p, "a value is needed");
	snprintf(out, 32, "%.*s", (int)n, p->at);
	p->at += n;
}

static struct expr_name *find(struct expr_parser *p, const char *name)
{
	for (int i = 0; i < p->nname; i++)
		if (str_eq(p->name[i].name, name))
			return &p->name[i];
	return NULL;
}

void expr_bind(struct expr_parser *p, const char *name, enum value_kind kind, const char *text)
{
	if (find(p, name))
		expr_fail(p, "a name that has a value, before");
	if (p->nname == MAX_EXPR_NAMES)
		expr_fail(p, "too many names");
	struct expr_name *n = &p->name[p->nname++];
	*n = (struct expr_name){.value = {.kind = kind}};
	snprintf(n->name, sizeof n->name, "%s", name);
	snprintf(n->value.text, sizeof n->value.text, "%s", text);
}

int expr_row_named(const char *id)
{
	for (int i = 0; i < opgen_nrows; i++)
		if (str_eq(opgen_rows[i].id, id))
			return i;
	return -1;
}

/* ---- values ---- */

static bool is_tensor(const struct expr_value *v) { return v->kind == V_TENSOR || v->kind == V_MAYBE_TENSOR; }
static bool is_number(const struct expr_value *v) { return v->kind == V_INT || v->kind == V_REAL; }

const char *expr_tensor(const struct expr_parser *p, const struct expr_value *v)
{
	if (!is_tensor(v))
		expr_fail(p, "a tensor is needed");
	return v->text;
}

static const char *const c_type[] = {
	[V_TENSOR] = "int ",
	[V_MAYBE_TENSOR] = "int ",
	[V_TUPLE] = "int ",
	[V_SCALAR] = "struct scalar ",
	[V_MAYBE_SCALAR] = "const struct scalar *",
	[V_INT] = "int64_t ",
	[V_REAL] = "double ",
	[V_BOOL] = "bool ",
	[V_DTYPE] = "int ",
	[V_INTS] = "struct ints ",
	[V_BOOLS] = "bool *",
	[V_STR] = "const char *",
	[V_NONE] = "",
};

/* Begins the statement that makes a new value, up to its `=`. */
static struct expr_value temporary(struct expr_parser *p, enum value_kind kind)
{
	struct expr_value v = {.kind = kind};
	snprintf(v.text, sizeof v.text, "x%d", p->ntemp++);
	sb_printf(p->out, "\t\t%s%s%s = ", kind == V_STR || kind == V_MAYBE_SCALAR ? "" : "const ", c_type[kind], v.text);
	return v;
}

/* As an argument of type struct scalar. */
static void put_scalar(struct expr_parser *p, struct strbuf *out, const struct expr_value *v)
{
	if (v->kind != V_SCALAR && !is_number(v))
		expr_fail(p, "a scalar or a number is needed");
	sb_printf(out, v->kind == V_SCALAR ? "%s" : v->kind == V_REAL ? "scalar_float(%s)" : "scalar_int(%s)", v->text);
}

/* ---- rows ---- */

/* One C argument (two of lists) of emit_<row>, for argument k, whose kind is known. */
static void put_tensor_argument(struct expr_parser *p, struct strbuf *out, int row, int k, const struct expr_value *v)
{
	if (v->kind == V_NONE && p->args[row].optional[k]) {
		sb_puts(out, "NO_VALUE");
	} else if (!is_tensor(v) && strstr(opgen_rows[row].traits, "T_NUMBERS")) {
		sb_puts(out, "build_number(b, ");
		put_scalar(p, out, v);
		sb_puts(out, ")");
	} else {
		sb_puts(out, expr_tensor(p, v));
	}
}

static void put_list_argument(struct expr_parser *p, struct strbuf *out, const struct expr_value *v)
{
	if (v->kind == V_NONE)
		sb_puts(out, "(const int64_t[]){0}, -1");
	else if (v->kind == V_INT)
		sb_printf(out, "(const int64_t[]){%s}, 1", v->text);
	else if (v->kind == V_INTS)
		sb_printf(out, "%s.v, %s.n", v->text, v->text);
	else
		expr_fail(p, "a list is needed");
}

static void put_scalar_argument(struct expr_parser *p, struct strbuf *out, bool optional, const struct expr_value *v)
{
	if (!optional)
		put_scalar(p, out, v);
	else if (v->kind == V_NONE || v->kind == V_MAYBE_SCALAR)
		sb_puts(out, v->kind == V_NONE ? "NULL" : v->text);
	else if (is_number(v))
		sb_printf(out, v->kind == V_INT ? "&(struct scalar){SC_INT, %s, 0}" : "&(struct scalar){SC_FLOAT, 0, %s}", v->text);
	else if (v->kind == V_SCALAR)
		sb_printf(out, "&%s", v->text);
	else
		expr_fail(p, "a scalar or a number is needed");
}

static void put_argument(struct expr_parser *p, struct strbuf *out, int row, int k, const struct expr_value *v)
{
	static const struct {
		const char *kind;
		enum value_kind value;
		const char *none;
	} plain[] = {{"K_DIM", V_INT, "NO_INT"}, {"K_INDEX", V_INT, "NO_INT"}, {"K_STEP", V_INT, "NO_INT"}, {"K_INT", V_INT, "NO_INT"},
		{"K_BOOL", V_BOOL, NULL}, {"K_DTYPE", V_DTYPE, "-1"}, {"K_STR", V_STR, NULL}};
	const char *kind = p->args[row].kind[k];
	if (str_eq(kind, "K_TENSOR"))
		put_tensor_argument(p, out, row, k, v);
	else if (str_eq(kind, "K_TENSORS") && v->kind == V_TENSORS)
		sb_printf(out, "%s, n_%s", v->text, v->text);
	else if (str_eq(kind, "K_SIZE") || str_eq(kind, "K_INTS") || str_eq(kind, "K_DIMS"))
		put_list_argument(p, out, v);
	else if (str_eq(kind, "K_SCALAR") || (str_eq(kind, "K_FLOAT") && p->args[row].optional[k]))
		put_scalar_argument(p, out, p->args[row].optional[k], v);
	else if (str_eq(kind, "K_FLOAT") && is_number(v))
		sb_puts(out, v->text);
	else if (str_eq(kind, "K_BOOLS") && v->kind == V_BOOLS)
		sb_printf(out, "%s, n_%s", v->text, v->text);
	for (int i = 0; i < ARRAY_LEN(plain); i++) {
		if (!str_eq(plain[i].kind, kind))
			continue;
		if (v->kind != plain[i].value && (v->kind != V_NONE || !plain[i].none))
			expr_fail(p, "an argument of the wrong kind, before");
		sb_puts(out, v->kind == V_NONE ? plain[i].none : v->text);
	}
}

struct call_args {
	int n;
	char name[MAX_ARGS][32]; /* "": by position */
	struct expr_value value[MAX_ARGS];
};

/* The default of a schema as a value. */
static struct expr_value default_value(const char *text)
{
	struct expr_value v = {.kind = V_INT};
	if (str_eq(text, "None"))
		v.kind = V_NONE;
	else if (str_eq(text, "True") || str_eq(text, "False"))
		v.kind = V_BOOL;
	else if (str_eq(text, "[]"))
		v.kind = V_INTS;
	else if (strchr(text, '.'))
		v.kind = V_REAL;
	snprintf(v.text, sizeof v.text, "%s",
		v.kind == V_INTS           ? "((struct ints){0})"
			: v.kind != V_BOOL     ? text
			: str_eq(text, "True") ? "true"
								   : "false");
	return v;
}

static struct expr_value row_argument(struct expr_parser *p, int row, int k, const struct call_args *c)
{
	const struct row_args *r = &p->args[row];
	for (int i = 0; i < c->n; i++)
		if (c->name[i][0] ? str_eq(c->name[i], r->name[k]) : i == k)
			return c->value[i];
	if (!r->dflt[k][0] && !str_eq(r->kind[k], "K_FORMAT")) {
		char what[96];
		snprintf(what, sizeof what, "%s has no argument %s, before", opgen_rows[row].id, r->name[k]);
		expr_fail(p, what);
	}
	return default_value(r->dflt[k]);
}

static void check_arguments(struct expr_parser *p, int row, const struct call_args *c)
{
	const struct row_args *r = &p->args[row];
	for (int i = 0; i < c->n; i++) {
		bool known = !c->name[i][0] && i < r->n;
		for (int k = 0; c->name[i][0] && k < r->n; k++)
			known |= str_eq(r->name[k], c->name[i]);
		if (!known)
			expr_fail(p, "an argument that the row has not, before");
	}
}

static struct expr_value row_call(struct expr_parser *p, int row, const struct call_args *c)
{
	const struct row_args *r = &p->args[row];
	struct strbuf text;
	if (str_eq(opgen_rows[row].family, "F_INPUT") || r->nresult < 1)
		expr_fail(p, "a row that expressions do not append, before");
	check_arguments(p, row, c);
	sb_init(&text);
	for (int k = 0; k < r->n; k++) {
		if (str_eq(r->kind[k], "K_FORMAT"))
			continue;
		const struct expr_value v = row_argument(p, row, k, c);
		sb_puts(&text, ", ");
		put_argument(p, &text, row, k, &v);
	}
	struct expr_value v = temporary(p, r->nresult == 1 ? V_TENSOR : V_TUPLE);
	v.n = r->nresult;
	sb_printf(p->out, "emit_%s(b%s);\n%s", opgen_rows[row].id, text.s, p->after_row);
	p->nappended++;
	sb_free(&text);
	return v;
}

static struct expr_value row_of(struct expr_parser *p, const char *id, const struct expr_value *x, const struct expr_value *y)
{
	struct call_args c = {.n = y ? 2 : 1, .value = {*x}};
	if (y)
		c.value[1] = *y;
	const int row = expr_row_named(id);
	CHECK(row >= 0);
	return row_call(p, row, &c);
}

/* ---- words ---- */

struct word {
	const char *name, *function;
	enum value_kind result;
	int narg;
	enum value_kind arg[4];
	int rows; /* that it may append */
};
static const struct word words[] = {
	{"acc", "body_acc", V_TENSOR, 1, {V_TENSOR}, 1},
	{"as", "body_as", V_TENSOR, 2, {V_TENSOR, V_TENSOR}, 1},
	{"to", "body_to", V_TENSOR, 2, {V_TENSOR, V_DTYPE}, 1},
	{"floating", "body_floating", V_TENSOR, 1, {V_TENSOR}, 1},
	{"dtype", "body_dtype", V_DTYPE, 1, {V_TENSOR}, 0},
	{"wide", "body_wide", V_DTYPE, 1, {V_DTYPE}, 0},
	{"rank", "body_rank", V_INT, 1, {V_TENSOR}, 0},
	{"numel", "body_numel", V_INT, 1, {V_TENSOR}, 0},
	{"size", "body_size", V_INT, 2, {V_TENSOR, V_INT}, 0},
	{"sizes", "body_sizes", V_INTS, 1, {V_TENSOR}, 0},
	{"count", "body_count", V_INT, 2, {V_TENSOR, V_INTS}, 0},
	{"len", "body_len", V_INT, 1, {V_INTS}, 0},
	{"quotient", "body_quotient", V_INT, 2, {V_INT, V_INT}, 0},
	{"entry", "body_entry", V_INT, 2, {V_INTS, V_INT}, 0},
	{"largest", "body_largest", V_REAL, 1, {V_DTYPE}, 0},
	{"embedded", "body_embedded", V_INTS, 4, {V_TENSOR, V_INT, V_INT, V_INT}, 0},
	{"last", "body_last", V_INTS, 1, {V_INT}, 0},
	{"first", "body_first", V_INTS, 1, {V_INT}, 0},
	{"bordered", "body_bordered", V_INTS, 2, {V_TENSOR, V_INTS}, 0},
	{"mirrored", "body_mirrored", V_TENSOR, 2, {V_TENSOR, V_INTS}, 26},
	{"clamped", "body_clamped", V_TENSOR, 2, {V_TENSOR, V_INTS}, 26},
	{"unfolded", "body_unfolded", V_TENSOR, 4, {V_TENSOR, V_INTS, V_INTS, V_INTS}, 17},
	{"nearest", "body_nearest", V_TENSOR, 3, {V_INT, V_INT, V_MAYBE_SCALAR}, 6},
	{"across", "body_across", V_TENSOR, 3, {V_TENSOR, V_TENSOR, V_INT}, 4},
	{"shared", "body_shared", V_TENSOR, 2, {V_INT, V_INT}, 7},
	{"pooled", "body_pooled", V_INTS, 2, {V_TENSOR, V_INTS}, 0},
	{"asked", "body_asked", V_BOOL, 2, {V_BOOLS, V_INT}, 0},
	{"real", "body_real", V_REAL, 1, {V_SCALAR}, 0},
	{"real_or", "body_real_or", V_REAL, 2, {V_MAYBE_SCALAR, V_REAL}, 0},
	{"attention_scale", "body_attention_scale", V_REAL, 2, {V_TENSOR, V_MAYBE_SCALAR}, 0},
	{"scale", "vjp_scale", V_TENSOR, 2, {V_TENSOR, V_SCALAR}, 1},
	{"inverse", "vjp_inverse", V_TENSOR, 1, {V_TENSOR}, 3},
	{"gelu_curvature", "vjp_gelu_curvature", V_TENSOR, 2, {V_TENSOR, V_STR}, 28},
};

static void put_word_argument(struct expr_parser *p, struct strbuf *out, enum value_kind kind, const struct expr_value *v)
{
	sb_puts(out, ", ");
	if (kind == V_SCALAR)
		put_scalar(p, out, v);
	else if (kind == V_TENSOR)
		sb_puts(out, expr_tensor(p, v));
	else if (kind == V_INTS && v->kind == V_INT)
		sb_printf(out, "&(struct ints){1, {%s}}", v->text);
	else if (kind == V_INTS && v->kind == V_INTS)
		sb_printf(out, "&%s", v->text);
	else if (kind == v->kind)
		sb_puts(out, v->text);
	else
		expr_fail(p, "an argument of the wrong kind, before");
}

static struct expr_value word_call(struct expr_parser *p, const struct word *w, const struct call_args *c)
{
	struct strbuf text;
	if (c->n != w->narg)
		expr_fail(p, "another number of arguments is needed, before");
	sb_init(&text);
	for (int i = 0; i < c->n; i++)
		put_word_argument(p, &text, w->arg[i], &c->value[i]);
	struct expr_value v = temporary(p, w->result);
	sb_printf(p->out, "%s(b%s);\n%s", w->function, text.s, w->rows ? p->after_row : "");
	p->nappended += w->rows;
	sb_free(&text);
	return v;
}

/* Is a value there, that may be None? */
static struct expr_value given(struct expr_parser *p, const struct call_args *c)
{
	static const char *const test[] = {
		[V_TENSOR] = "%s != NO_VALUE",
		[V_MAYBE_TENSOR] = "%s != NO_VALUE",
		[V_INT] = "%s != NO_INT",
		[V_DTYPE] = "%s >= 0",
		[V_INTS] = "%s.n >= 0",
		[V_MAYBE_SCALAR] = "%s != NULL",
		[V_NONE] = NULL,
	};
	if (c->n != 1 || !test[c->value[0].kind])
		expr_fail(p, "given() takes one value that may be None, before");
	struct expr_value v = temporary(p, V_BOOL);
	sb_printf(p->out, test[c->value[0].kind], c->value[0].text);
	sb_puts(p->out, ";\n");
	return v;
}

/* Is the cotangent of an argument, which is x->in[k], asked for? */
static struct expr_value wanted(struct expr_parser *p, const struct expr_value *x)
{
	const struct row_args *args = &p->args[p->row - opgen_rows];
	const char *name = expr_tensor(p, x) + strlen("a_");
	for (int k = 0; str_starts(x->text, "a_") && k < args->n; k++)
		if (str_eq(args->name[k], name)) {
			struct expr_value v = temporary(p, V_BOOL);
			sb_printf(p->out, "x->want[%d];\n", k);
			return v;
		}
	expr_fail(p, "wanted() takes a tensor argument of the row, before");
}

/* ---- terms ---- */

static void call_arguments(struct expr_parser *p, struct call_args *c)
{
	c->n = 0;
	if (expr_eat(p, ")"))
		return;
	do {
		if (c->n == MAX_ARGS)
			expr_fail(p, "too many arguments");
		expr_eat(p, "");
		const size_t n = word_length(p->at);
		c->name[c->n][0] = 0;
		if (n && p->at[n + strspn(p->at + n, " ")] == '=' && p->at[n + strspn(p->at + n, " ") + 1] != '=') {
			expr_word(p, c->name[c->n]);
			expr_expect(p, "=");
		} else if (c->n && c->name[c->n - 1][0]) {
			expr_fail(p, "an argument by position behind one by name");
		}
		c->value[c->n++] = expr_parse(p);
	} while (expr_eat(p, ","));
	expr_expect(p, ")");
}

static struct expr_value call(struct expr_parser *p, const char *name)
{
	struct call_args c;
	call_arguments(p, &c);
	if (str_eq(name, "given"))
		return given(p, &c);
	if (str_eq(name, "wanted") && c.n == 1 && str_eq(p->what, "derivative"))
		return wanted(p, &c.value[0]);
	if (str_eq(name, "strided") && c.n == 1) {
		expr_tensor(p, &c.value[0]);
		c.value[0].strided = true;
		return c.value[0];
	}
	for (int i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq(words[i].name, name))
			return word_call(p, &words[i], &c);
	const int row = expr_row_named(name);
	if (row < 0)
		expr_fail(p, "no row and no word has this name, before");
	return row_call(p, row, &c);
}

static struct expr_value name(struct expr_parser *p)
{
	static const char *const constant[][2] = {{"True", "true"}, {"False", "false"}, {"inf", "INFINITY"}, {"b8", "(int)DT_B8"},
		{"u8", "(int)DT_U8"}, {"i64", "(int)DT_I64"}, {"f16", "(int)DT_F16"}, {"bf16", "(int)DT_BF16"}, {"f32", "(int)DT_F32"},
		{"f64", "(int)DT_F64"}};
	char word[32];
	expr_word(p, word);
	if (expr_eat(p, "("))
		return call(p, word);
	if (find(p, word))
		return find(p, word)->value;
	struct expr_value v = {.kind = V_NONE};
	if (str_eq(word, "None"))
		return v;
	for (int i = 0; i < ARRAY_LEN(constant); i++)
		if (str_eq(constant[i][0], word)) {
			v.kind = i < 2 ? V_BOOL : i == 2 ? V_REAL : V_DTYPE;
			snprintf(v.text, sizeof v.text, "%s", constant[i][1]);
			return v;
		}
	expr_fail(p, "an unknown name, before");
}

static struct expr_value number(struct expr_parser *p, const char *sign)
{
	struct expr_value v = {.kind = V_INT};
	size_t n = strspn(p->at, "0123456789.");
	if (n + strlen(sign) + 1 > sizeof v.text)
		expr_fail(p, "number too long");
	snprintf(v.text, sizeof v.text, "%s%.*s", sign, (int)n, p->at);
	if (strchr(v.text, '.'))
		v.kind = V_REAL;
	p->at += n;
	return v;
}

static struct expr_value string(struct expr_parser *p)
{
	struct expr_value v = {.kind = V_STR};
	const size_t n = strcspn(p->at, "\"");
	if (p->at[n] != '"' || n + 3 > sizeof v.text)
		expr_fail(p, "no text of a word");
	snprintf(v.text, sizeof v.text, "\"%.*s\"", (int)n, p->at);
	p->at += n + 1;
	return v;
}

/* Of integers: struct ints; of tensors and conditions: an array and its length. */
static struct expr_value list(struct expr_parser *p)
{
	struct expr_value entry[MAX_ARGS];
	int n = 0;
	if (!expr_eat(p, "]")) {
		do {
			if (n == MAX_ARGS)
				expr_fail(p, "too many entries");
			entry[n] = expr_parse(p);
			const enum value_kind k = entry[n].kind;
			if ((k != V_INT && k != V_BOOL && k != V_TENSOR) || k != entry[0].kind)
				expr_fail(p, "a list is of integers, of conditions or of tensors, before");
			n++;
		} while (expr_eat(p, ","));
		expr_expect(p, "]");
	}
	const enum value_kind of = n ? entry[0].kind : V_INT;
	struct expr_value v = {.kind = of == V_TENSOR ? V_TENSORS : of == V_BOOL ? V_BOOLS : V_INTS};
	snprintf(v.text, sizeof v.text, "x%d", p->ntemp++);
	if (v.kind != V_INTS)
		sb_printf(p->out, "\t\tconst int n_%s = %d;\n\t\tconst %s %s[] = {", v.text, n, of == V_BOOL ? "bool" : "int", v.text);
	else
		sb_printf(p->out, "\t\tconst struct ints %s = {%d, {", v.text, n);
	for (int i = 0; i < n; i++)
		sb_printf(p->out, "%s%s", i ? ", " : "", entry[i].text);
	sb_puts(p->out, v.kind != V_INTS ? "};\n" : n ? "}};\n" : "0}};\n");
	return v;
}

static struct expr_value prefix(struct expr_parser *p)
{
	if (expr_eat(p, "(")) {
		struct expr_value v = expr_parse(p);
		expr_expect(p, ")");
		return v;
	}
	if (expr_eat(p, "["))
		return list(p);
	if (expr_eat(p, "\""))
		return string(p);
	const bool minus = expr_eat(p, "-");
	if (minus && isdigit((unsigned char)*p->at))
		return number(p, "-");
	if (minus || expr_eat(p, "!")) {
		const struct expr_value x = prefix(p);
		if (minus ? !is_number(&x) : x.kind != V_BOOL)
			return row_of(p, minus ? "neg" : "logical_not", &x, NULL);
		struct expr_value v = temporary(p, x.kind);
		sb_printf(p->out, "%s%s;\n", minus ? "-" : "!", x.text);
		return v;
	}
	expr_eat(p, "");
	return isdigit((unsigned char)*p->at) ? number(p, "") : name(p);
}

/* ---- operators ---- */

/* The rows of an infix operator. other_way: with the scalar first. */
struct infix {
	const char *sign, *tensors, *scalar, *other_way;
	int level;
};
static const struct infix infixes[] = {
	{"||", NULL, NULL, NULL, 0},
	{"&&", "logical_and", NULL, NULL, 1},
	{"==", "eq_Tensor", "eq_Scalar", "eq_Scalar", 2},
	{"!=", "ne_Tensor", "ne_Scalar", "ne_Scalar", 2},
	{"<=", "le_Tensor", "le_Scalar", "ge_Scalar", 2},
	{">=", "ge_Tensor", "ge_Scalar", "le_Scalar", 2},
	{"<", "lt_Tensor", "lt_Scalar", "gt_Scalar", 2},
	{">", "gt_Tensor", "gt_Scalar", "lt_Scalar", 2},
	{"+", "add_Tensor", "add_Scalar", "add_Scalar", 3},
	{"-", "sub_Tensor", "sub_Scalar", "rsub_Scalar", 3},
	{"*", "mul_Tensor", "mul_Scalar", "mul_Scalar", 4},
	{"/", "div_Tensor", "div_Scalar", NULL, 4},
};
enum { COMPARISON_LEVEL = 2, UNARY_LEVEL = 5 };

static const struct infix *infix_here(struct expr_parser *p, int level)
{
	for (int i = 0; i < ARRAY_LEN(infixes); i++)
		if (infixes[i].level == level && expr_eat(p, infixes[i].sign))
			return &infixes[i];
	return NULL;
}

/* Of host values. */
static struct expr_value computed(struct expr_parser *p, const struct infix *i, const struct expr_value *x, const struct expr_value *y)
{
	const bool numbers = is_number(x) && is_number(y), alike = x->kind == y->kind;
	const bool equality = str_eq(i->sign, "==") || str_eq(i->sign, "!=");
	const bool works = i->level < COMPARISON_LEVEL ? alike && x->kind == V_BOOL
												   : numbers || (equality && alike && (x->kind == V_DTYPE || x->kind == V_STR));
	if (!works)
		expr_fail(p, "these operands have no such operation, before");
	const bool real = x->kind == V_REAL || y->kind == V_REAL || str_eq(i->sign, "/");
	struct expr_value v = temporary(p, i->level <= COMPARISON_LEVEL ? V_BOOL : real ? V_REAL : V_INT);
	if (x->kind == V_STR)
		sb_printf(p->out, "%sstr_eq(%s, %s);\n", str_eq(i->sign, "!=") ? "!" : "", x->text, y->text);
	else
		sb_printf(p->out, real && i->level > COMPARISON_LEVEL ? "(double)%s %s (double)%s;\n" : "%s %s %s;\n", x->text, i->sign, y->text);
	return v;
}

static struct expr_value operation(struct expr_parser *p, const struct infix *i, const struct expr_value *x, const struct expr_value *y)
{
	if (!is_tensor(x) && !is_tensor(y))
		return computed(p, i, x, y);
	const char *row = !is_tensor(x) ? i->other_way : is_tensor(y) ? i->tensors : i->scalar;
	if (!row)
		expr_fail(
			p, str_eq(i->sign, "/") ? "a number divided by a tensor: write reciprocal" : "these operands have no such operation, before");
	return is_tensor(x) ? row_of(p, row, x, y) : row_of(p, row, y, x);
}

static struct expr_value level(struct expr_parser *p, int k)
{
	if (k == UNARY_LEVEL)
		return prefix(p);
	struct expr_value x = level(p, k + 1);
	for (const struct infix *i; (i = infix_here(p, k));) {
		struct expr_value y = level(p, k + 1);
		x = operation(p, i, &x, &y);
	}
	return x;
}

static struct expr_value parse_apart(struct expr_parser *p, struct strbuf *out)
{
	struct strbuf *was = p->out;
	sb_init(out);
	p->out = out;
	struct expr_value v = expr_parse(p);
	p->out = was;
	return v;
}

static enum value_kind common_kind(struct expr_parser *p, const struct expr_value *x, const struct expr_value *y)
{
	if (x->kind == y->kind && c_type[x->kind] && x->kind != V_TUPLE && x->kind != V_NONE)
		return x->kind;
	if (is_number(x) && is_number(y))
		return V_REAL;
	if ((is_tensor(x) || x->kind == V_NONE) && (is_tensor(y) || y->kind == V_NONE))
		return V_MAYBE_TENSOR;
	expr_fail(p, "both values must be of one kind, before");
}

/* Only the rows of the chosen one are appended. */
static struct expr_value chosen(struct expr_parser *p, const struct expr_value *c)
{
	struct strbuf yes, no;
	const struct expr_value x = parse_apart(p, &yes);
	expr_expect(p, ":");
	const struct expr_value y = parse_apart(p, &no);
	struct expr_value v = {.kind = common_kind(p, &x, &y)};
	snprintf(v.text, sizeof v.text, "x%d", p->ntemp++);
	sb_printf(p->out, "\t\t%s%s;\n\t\tif (%s) {\n%s\t\t%s = %s;\n\t\t} else {\n%s\t\t%s = %s;\n\t\t}\n", c_type[v.kind], v.text, c->text,
		yes.s, v.text, x.kind == V_NONE ? "NO_VALUE" : x.text, no.s, v.text, y.kind == V_NONE ? "NO_VALUE" : y.text);
	sb_free(&yes);
	sb_free(&no);
	return v;
}

struct expr_value expr_parse(struct expr_parser *p)
{
	struct expr_value c = level(p, 0);
	if (!expr_eat(p, "?"))
		return c;
	if (c.kind == V_BOOL)
		return chosen(p, &c);
	const struct expr_value x = expr_parse(p);
	expr_expect(p, ":");
	const struct expr_value y = expr_parse(p);
	struct call_args where = {.n = 3, .value = {c, x, y}};
	return row_call(p, expr_row_named("where_self"), &where);
}
