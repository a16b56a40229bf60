/* text_read.c: text to programs, by recursive descent over one line at a time.
 *
 * Arguments are read into raw values first (a name, a number, a list ...) and then coerced to the kinds of the operator's schema,
 * so that a bare name like `add` can be resolved by trying its overloads: the first whose schema accepts the raw values wins. */
#include "eager/lang/fill.h"
#include "eager/lang/fx.h"
#include "eager/lang/prog.h"
#include "generated/op_input.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

enum raw_tag { RAW_NONE, RAW_NODE, RAW_BOOL, RAW_INT, RAW_FLOAT, RAW_STR, RAW_WORD, RAW_LIST };
struct raw {
	enum raw_tag tag;
	int line, col;
	int node;
	struct iexpr i;
	double f;
	bool b;
	const char *s;
	int n;
	struct raw *item;
	const char *name; /* given as name=value */
};

struct reader {
	struct prog *p;
	struct arena *a;
	const char *s, *end, *line_start;
	int line, mode, depth, nterms;               /* nterms: operations of the expression that is being read */
	int nplaceholder, defining;                  /* node whose arguments are being read, -1: none */
	int return_line, backward_line, raises_line; /* 0: none yet */
	bool surface_given;
	struct err *err;
};
enum { MAX_DEPTH = 32, MAX_RAW = 64 };

#define FAIL(r, ...) err_at((r)->err, (r)->line, (int)((r)->s - (r)->line_start) + 1, __VA_ARGS__)

static char peek(const struct reader *r) { return r->s < r->end ? *r->s : 0; }

static void blanks(struct reader *r)
{
	while (r->s < r->end && (*r->s == ' ' || *r->s == '\t' || *r->s == '\r'))
		r->s++;
}

static bool eat(struct reader *r, const char *t)
{
	blanks(r);
	size_t n = strlen(t);
	if ((size_t)(r->end - r->s) < n || memcmp(r->s, t, n) != 0)
		return false;
	r->s += n;
	return true;
}

static bool want(struct reader *r, const char *t)
{
	if (eat(r, t))
		return true;
	char got[8] = "end";
	if (peek(r) == '\n')
		snprintf(got, sizeof got, "newline");
	else if (peek(r))
		snprintf(got, sizeof got, "'%c'", isprint((unsigned char)peek(r)) ? peek(r) : '?');
	return FAIL(r, "expected '%s', found %s", t, got);
}

static bool at_line_end(struct reader *r)
{
	blanks(r);
	return r->s >= r->end || *r->s == '\n' || *r->s == '#';
}

static void skip_line(struct reader *r)
{
	while (r->s < r->end && *r->s != '\n')
		r->s++;
	if (r->s < r->end) {
		r->s++;
		r->line++;
		r->line_start = r->s;
	}
}

static bool word_char(char c, bool first) { return c == '_' || (first ? isalpha((unsigned char)c) : isalnum((unsigned char)c)) != 0; }

/* An identifier, with dots if dotted. */
static bool word(struct reader *r, char *out, size_t max, bool dotted)
{
	blanks(r);
	size_t n = 0;
	if (!word_char(peek(r), true))
		return FAIL(r, "expected a name");
	while (r->s < r->end && (word_char(*r->s, n == 0) || (dotted && n && *r->s == '.'))) {
		if (n + 1 >= max)
			return FAIL(r, "name longer than %zu characters", max - 1);
		out[n++] = *r->s++;
	}
	out[n] = 0;
	return true;
}

static bool keyword(struct reader *r, const char *k)
{
	blanks(r);
	size_t n = strlen(k);
	if ((size_t)(r->end - r->s) < n || memcmp(r->s, k, n) != 0 || (r->s + n < r->end && word_char(r->s[n], false)))
		return false;
	r->s += n;
	return true;
}

/* ---- numbers and expressions ------------------------------------------------------------------------------------------ */

static struct raw raw_here(const struct reader *r, enum raw_tag tag)
{
	return (struct raw){.tag = tag, .line = r->line, .col = (int)(r->s - r->line_start) + 1, .i = {0, -1}, .node = -1};
}

static size_t number_length(const struct reader *r)
{
	const char *s = r->s;
	bool hex = r->end - s > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	while (s < r->end
		&& (isalnum((unsigned char)*s) || *s == '.'
			|| ((*s == '+' || *s == '-') && s > r->s && (s[-1] == 'p' || (!hex && (s[-1] == 'e' || s[-1] == 'E'))))))
		s++;
	return (size_t)(s - r->s);
}

static bool number(struct reader *r, struct raw *out)
{
	*out = raw_here(r, RAW_INT);
	char buf[64], *stop;
	size_t n = number_length(r);
	if (n == 0 || n >= sizeof buf)
		return FAIL(r, "expected a value");
	memcpy(buf, r->s, n);
	buf[n] = 0;
	if (strspn(buf, "0123456789") == n) {
		uint64_t v = 0;
		for (size_t k = 0; k < n; k++) {
			uint64_t d = (uint64_t)(buf[k] - '0');
			if (v > (UINT64_MAX - d) / 10)
				return FAIL(r, "integer '%s' does not fit in 64 bits", buf);
			v = v * 10 + d;
		}
		if (v > (uint64_t)INT64_MAX + 1)
			return FAIL(r, "integer '%s' does not fit in 64 bits", buf);
		out->i.value = (int64_t)v; /* 2^63 wraps to INT64_MIN: right after a minus sign, refused below without */
		out->b = v > (uint64_t)INT64_MAX;
	} else {
		out->tag = RAW_FLOAT;
		out->f = strtod(buf, &stop);
		if (*stop)
			return FAIL(r, "'%s' is not a number", buf);
	}
	r->s += n;
	return true;
}

static bool parse_nan(struct reader *r, struct raw *out)
{
	out->tag = RAW_FLOAT;
	uint64_t bits = 0x7ff8000000000000u;
	if (eat(r, "(0x")) {
		int n = 0;
		for (bits = 0; isxdigit((unsigned char)peek(r)) && n < 17; n++, r->s++)
			bits = bits << 4 | (uint64_t)(isdigit((unsigned char)*r->s) ? *r->s - '0' : tolower((unsigned char)*r->s) - 'a' + 10);
		if (!want(r, ")"))
			return false;
		if (n != 16 || (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u || !(bits & 0xfffffffffffffu))
			return FAIL(r, "not the 16 hex digits of a NaN");
	}
	memcpy(&out->f, &bits, 8);
	return true;
}

static int expr_of(struct reader *r, const struct iexpr *i)
{
	return i->expr >= 0 ? i->expr : prog_add_expr(r->p, (struct expr){.op = EX_CONST, .value = i->value});
}

static bool value(struct reader *r, struct raw *out);
static bool sum(struct reader *r, struct raw *out);

static bool named_value(struct reader *r, struct raw *out)
{
	char name[MAX_NAME];
	*out = raw_here(r, RAW_WORD);
	if (!word(r, name, sizeof name, true))
		return false;
	if (str_eq(name, "None")) {
		out->tag = RAW_NONE;
	} else if (str_eq(name, "True") || str_eq(name, "False")) {
		out->tag = RAW_BOOL;
		out->b = name[0] == 'T';
	} else if (str_eq(name, "inf")) {
		out->tag = RAW_FLOAT;
		out->f = strtod("inf", NULL);
	} else if (str_eq(name, "nan")) {
		return parse_nan(r, out);
	} else {
		int node = prog_find(r->p, name);
		if (node >= 0 && node_is_sym(&r->p->node[node]) && node != r->defining) {
			out->tag = RAW_INT;
			out->i.value = r->p->node[node].sym_value;
			out->i.expr = prog_add_expr(r->p, (struct expr){.op = EX_SYM, .a = node});
		} else if (node >= 0) {
			out->tag = RAW_NODE;
			out->node = node;
		} else {
			out->s = arena_strdup(r->a, name);
			if (r->mode == READ_LENIENT && eat(r, "(")) { /* device(type='cuda', index=0): a value nobody needs */
				while (peek(r) && peek(r) != ')' && peek(r) != '\n')
					r->s++;
				return want(r, ")");
			}
		}
	}
	return true;
}

static bool list(struct reader *r, struct raw *out, const char *close)
{
	*out = raw_here(r, RAW_LIST);
	struct raw *item = NULL;
	while (!eat(r, close)) {
		if (out->n && !want(r, ","))
			return false;
		if (eat(r, close))
			break;
		if (out->n == MAX_DATA)
			return FAIL(r, "a list of more than %d entries", MAX_DATA);
		if (!(out->n & (out->n - 1))) /* 0 or a power of two: doubled */
			item = ARENA_GROW(r->a, struct raw, item, out->n, MAX(2 * out->n, 1));
		if (!value(r, &item[out->n]))
			return false;
		out->n++;
	}
	out->item = item;
	return true;
}

static bool string(struct reader *r, struct raw *out, char quote)
{
	*out = raw_here(r, RAW_STR);
	const char *start = ++r->s;
	while (r->s < r->end && *r->s != quote && *r->s != '\n')
		r->s++;
	if (peek(r) != quote)
		return FAIL(r, "string is not closed");
	size_t n = (size_t)(r->s - start);
	char *s = arena_alloc(r->a, n + 1);
	memcpy(s, start, n);
	s[n] = 0;
	if (strlen(s) != n)
		return FAIL(r, "a NUL byte in a string");
	out->s = s;
	r->s++;
	return true;
}

static bool negate(struct reader *r, struct raw *v)
{
	if (v->tag == RAW_FLOAT) {
		v->f = -v->f;
		return true;
	}
	if (v->tag != RAW_INT)
		return FAIL(r, "'-' before something that is not a number");
	if (v->i.expr >= 0)
		v->i.expr = prog_add_expr(r->p, (struct expr){.op = EX_NEG, .a = v->i.expr});
	v->b = false;
	v->i.value = wrap_sub(0, v->i.value);
	return true;
}

static bool atom(struct reader *r, struct raw *out)
{
	blanks(r);
	char c = peek(r);
	if (++r->depth > MAX_DEPTH)
		return FAIL(r, "nested deeper than %d", MAX_DEPTH);
	bool ok;
	if (c == '[') {
		r->s++;
		ok = list(r, out, "]");
	} else if (c == '(') {
		r->s++;
		ok = sum(r, out) && want(r, ")");
	} else if (c == '"' || c == '\'') {
		ok = string(r, out, c);
	} else if (c == '-') {
		r->s++;
		ok = atom(r, out) && negate(r, out);
	} else if (word_char(c, true)) {
		ok = named_value(r, out);
	} else {
		ok = number(r, out);
	}
	r->depth--;
	return ok;
}

static bool combine(struct reader *r, struct raw *x, enum expr_op op, const struct raw *y)
{
	if (x->tag != RAW_INT || y->tag != RAW_INT)
		return FAIL(r, "arithmetic on something that is not an integer");
	if (++r->nterms > MAX_TERMS)
		return FAIL(r, "a size expression of more than %d operations", MAX_TERMS);
	struct expr e = {.op = op, .a = expr_of(r, &x->i), .b = expr_of(r, &y->i)};
	x->i.expr = prog_add_expr(r->p, e);
	if (expr_apply(&x->i.value, op, x->i.value, y->i.value, r->err))
		return true;
	if (r->err)
		r->err->line = x->line, r->err->col = x->col;
	return false;
}

static bool product(struct reader *r, struct raw *out)
{
	if (!atom(r, out))
		return false;
	for (;;) {
		struct raw y;
		enum expr_op op;
		if (eat(r, "*"))
			op = EX_MUL;
		else if (eat(r, "//"))
			op = EX_FLOORDIV;
		else if (out->tag == RAW_INT && eat(r, "%"))
			op = EX_MOD;
		else
			return true;
		if (!atom(r, &y) || !combine(r, out, op, &y))
			return false;
	}
}

static bool sum(struct reader *r, struct raw *out)
{
	if (!product(r, out))
		return false;
	for (;;) {
		struct raw y;
		enum expr_op op;
		if (eat(r, "+"))
			op = EX_ADD;
		else if (eat(r, "-"))
			op = EX_SUB;
		else
			return true;
		if (!product(r, &y) || !combine(r, out, op, &y))
			return false;
	}
}

static bool value(struct reader *r, struct raw *out)
{
	r->nterms = 0;
	if (!sum(r, out))
		return false;
	if (out->tag == RAW_INT && out->b && out->i.expr < 0)
		return FAIL(r, "integer does not fit in 64 bits");
	return true;
}

bool scalar_read(struct scalar *out, const char *s, struct err *err)
{
	struct arena a;
	struct prog p;
	struct raw v;
	arena_init(&a);
	prog_init(&p, &a);
	struct reader r = {.p = &p, .a = &a, .s = s, .end = s + strlen(s), .line_start = s, .line = 1, .err = err};
	bool ok = value(&r, &v);
	if (ok && (!at_line_end(&r) || (v.tag != RAW_INT && v.tag != RAW_FLOAT && v.tag != RAW_BOOL)))
		ok = err_set(err, "'%s' is not a number", s);
	if (ok)
		*out = v.tag == RAW_INT ? (struct scalar){SC_INT, v.i.value, 0}
			: v.tag == RAW_BOOL ? (struct scalar){SC_BOOL, v.b, 0}
								: (struct scalar){SC_FLOAT, 0, v.f};
	arena_free(&a);
	return ok;
}

/* ---- coercion to the schema --------------------------------------------------------------------------------------------- */

static const char *const raw_name[] = {"None", "a tensor", "a bool", "an integer", "a float", "a string", "an unknown name", "a list"};

#define REFUSE(err, v, op, q, what)                                                                                                        \
	((v)->tag == RAW_WORD                                                                                                                  \
			? err_at(err, (v)->line, (v)->col, "%s: '%s' is not defined", (op)->name, (v)->s)                                              \
			: err_at(err, (v)->line, (v)->col, "%s: argument '%s' must be %s, not %s", (op)->name, (q)->name, what, raw_name[(v)->tag]))

static bool coerce_tensors(
	struct reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (v->tag != RAW_LIST)
		return REFUSE(err, v, op, q, "a list of tensors");
	if (v->n > MAX_LIST)
		return err_at(err, v->line, v->col, "%s: '%s' has more than %d entries", op->name, q->name, MAX_LIST);
	*a = (struct arg){.tag = ARG_TENSORS, .n = v->n, .nodes = ARENA_NEW(r->a, int, v->n)};
	for (int k = 0; k < v->n; k++) {
		if (v->item[k].tag != RAW_NODE && !(v->item[k].tag == RAW_NONE && q->holes))
			return REFUSE(err, &v->item[k], op, q, "a list of tensors");
		a->nodes[k] = v->item[k].tag == RAW_NODE ? v->item[k].node : -1;
	}
	return true;
}

static bool coerce_ints(
	struct reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	const struct raw *item = v->tag == RAW_LIST ? v->item : v;
	int n = v->tag == RAW_LIST ? v->n : 1;
	if (v->tag != RAW_LIST && v->tag != RAW_INT)
		return REFUSE(err, v, op, q, "a list of integers");
	if (n > MAX_LIST)
		return err_at(err, v->line, v->col, "%s: '%s' has more than %d entries", op->name, q->name, MAX_LIST);
	*a = (struct arg){.tag = ARG_INTS, .n = n, .ints = ARENA_NEW(r->a, struct iexpr, n)};
	for (int k = 0; k < n; k++) {
		if (item[k].tag != RAW_INT)
			return REFUSE(err, &item[k], op, q, "a list of integers");
		a->ints[k] = item[k].i;
	}
	return true;
}

static bool coerce_scalar(struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	*a = (struct arg){.tag = ARG_SCALAR};
	switch (v->tag) {
	case RAW_INT:
		if (v->i.expr >= 0)
			return err_at(err, v->line, v->col, "%s: argument '%s' may not be symbolic", op->name, q->name);
		a->scalar = (struct scalar){SC_INT, v->i.value, 0};
		return true;
	case RAW_FLOAT: a->scalar = (struct scalar){SC_FLOAT, 0, v->f}; return true;
	case RAW_BOOL: a->scalar = (struct scalar){SC_BOOL, v->b, 0}; return true;
	default: return REFUSE(err, v, op, q, "a number");
	}
}

static bool coerce_data(
	struct reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (v->tag != RAW_LIST)
		return REFUSE(err, v, op, q, "a list of numbers");
	*a = (struct arg){.tag = ARG_DATA, .n = v->n, .data = ARENA_NEW(r->a, struct scalar, v->n)};
	for (int k = 0; k < v->n; k++) {
		struct arg one;
		if (!coerce_scalar(&one, op, q, &v->item[k], err))
			return false;
		a->data[k] = one.scalar;
	}
	return true;
}

/* A Python number where the schema says Tensor: it stays what it is, and the overload with it. */
static bool coerce_number(struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (!op_takes_number((int)(op - op_info), (int)(q - op->param)))
		return REFUSE(err, v, op, q, "a tensor");
	return coerce_scalar(a, op, q, v, err);
}

static bool coerce(struct reader *r, struct arg *a, const struct op_info *op, const struct param *q, const struct raw *v, struct err *err)
{
	if (v->tag == RAW_NONE) {
		*a = (struct arg){.tag = ARG_NONE};
		return q->optional || q->dflt_none ? true : REFUSE(err, v, op, q, "given");
	}
	switch (q->kind) {
	case K_TENSOR:
		if (v->tag == RAW_INT || v->tag == RAW_FLOAT || v->tag == RAW_BOOL)
			return coerce_number(a, op, q, v, err);
		*a = arg_tensor(v->node);
		return v->tag == RAW_NODE ? true : REFUSE(err, v, op, q, "a tensor");
	case K_TENSORS: return coerce_tensors(r, a, op, q, v, err);
	case K_SIZE:
	case K_INTS:
	case K_DIMS: return coerce_ints(r, a, op, q, v, err);
	case K_DIM:
	case K_INDEX:
	case K_STEP:
	case K_INT: *a = (struct arg){.tag = ARG_INT, .i = v->i}; return v->tag == RAW_INT ? true : REFUSE(err, v, op, q, "an integer");
	case K_SCALAR: return coerce_scalar(a, op, q, v, err);
	case K_BOOL:
		*a = arg_bool(v->tag == RAW_BOOL ? v->b : v->i.value != 0);
		return v->tag == RAW_BOOL ? true : REFUSE(err, v, op, q, "True or False");
	case K_STR:
		*a = (struct arg){.tag = ARG_STR, .str = v->s};
		return v->tag == RAW_STR || v->tag == RAW_WORD ? true : REFUSE(err, v, op, q, "a word");
	case K_DTYPE: {
		enum dtype t;
		bool word = v->tag == RAW_WORD || v->tag == RAW_STR;
		if (!word || !dtype_find(&t, v->s))
			return err_at(err, v->line, v->col, "%s: argument '%s' must be a dtype such as f32%s", op->name, q->name,
				word ? dtype_guess(&(struct guess){0}, v->s) : "");
		*a = arg_dtype(t);
		return true;
	}
	case K_DATA: return coerce_data(r, a, op, q, v, err);
	case NKINDS: break;
	}
	BUG("kind %d", (int)q->kind);
}

/* Arguments of PyTorch's schemas that FX dumps carry and programs do not have: none changes a value here. */
static bool says_nothing(const char *name)
{
	static const char *const names[] = {"layout", "device", "pin_memory", "memory_format", "non_blocking", "copy", "implicit", "generator"};
	for (int i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(name, names[i]))
			return true;
	return false;
}

/* Assigns raw arguments to the parameters of one overload. */
static bool assign(struct reader *r, struct arg *arg, int op, const struct raw *raw, int nraw, struct err *err)
{
	const struct op_info *o = &op_info[op];
	bool given[MAX_ARGS] = {0};
	int pos = 0;
	for (int k = 0; k < nraw; k++) {
		int q = raw[k].name ? op_param(op, raw[k].name) : pos++;
		if (q < 0 && r->mode == READ_LENIENT && says_nothing(raw[k].name))
			continue;
		if (q < 0)
			return err_at(err, raw[k].line, raw[k].col, "%s: has no argument '%s'", o->name, raw[k].name);
		if (q >= o->nparam || (!raw[k].name && o->param[q].kwonly))
			return err_at(err, raw[k].line, raw[k].col, "%s: more than %d positional arguments", o->name, pos - 1);
		if (given[q])
			return err_at(err, raw[k].line, raw[k].col, "%s: argument '%s' is given twice", o->name, o->param[q].name);
		given[q] = true;
		if (!coerce(r, &arg[q], o, &o->param[q], &raw[k], err))
			return false;
	}
	for (int q = 0; q < o->nparam; q++)
		if (!given[q] && !o->param[q].has_default)
			return err_at(err, r->line, (int)(r->s - r->line_start) + 1, "%s: argument '%s' is missing", o->name, o->param[q].name);
	return true;
}

static bool resolve(struct reader *r, int node, const char *opname, const struct raw *raw, int nraw, int line, int col)
{
	int cand[16], ncand = 0;
	int exact = op_find(opname);
	if (exact >= 0)
		cand[ncand++] = exact;
	const char *bare = opname;
	if (str_starts(bare, "torch.ops."))
		bare += 10;
	if (str_starts(bare, "aten."))
		bare += 5;
	bool has_overload = strchr(bare, '.') != NULL;
	if (!has_overload) /* of a bare name every overload, as PyTorch's packets; one that is named is the only one */
		ncand += op_overloads(cand + ncand, ARRAY_LEN(cand) - ncand, bare);
	if (!ncand)
		return err_at(r->err, line, col, "unknown operator '%s'%s", opname, op_guess(&(struct guess){0}, bare));
	struct err first = {0};
	for (int k = 0; k < ncand; k++) {
		struct arg arg[MAX_ARGS] = {0};
		struct err e = {0};
		if (assign(r, arg, cand[k], raw, nraw, &e)) {
			r->p->node[node].op = cand[k];
			memcpy(r->p->node[node].arg, arg, sizeof arg);
			return true;
		}
		if (!k)
			first = e;
	}
	return err_at(r->err, first.line, first.col, "%s", first.msg);
}

/* ---- annotations ---------------------------------------------------------------------------------------------------------- */

struct annotation {
	bool given, has_stride, is_sym;
	struct meta meta;
	int64_t sym;
	int line, col;
};

static bool int_row(struct reader *r, const char **s, int64_t *out, int *n)
{
	if (**s != '[')
		return FAIL(r, "annotation: expected '['");
	(*s)++;
	for (*n = 0; **s != ']'; (*n)++) {
		char *stop;
		if (*n)
			*s += strspn(*s, ", ");
		if (*n == MAX_RANK)
			return FAIL(r, "annotation: rank exceeds %d", MAX_RANK);
		out[*n] = strtoll(*s, &stop, 10);
		if (stop == *s && r->mode == READ_LENIENT && word_char(**s, true))
			return FAIL(r, "annotation: '%.*s' is a symbol; print the graph of a call that is compiled with dynamic=False",
				(int)strcspn(*s, ",]"), *s);
		if (stop == *s)
			return FAIL(r, "annotation: expected an integer");
		*s = stop + strspn(stop, " ");
	}
	(*s)++;
	return true;
}

static bool annotation(struct reader *r, struct annotation *out)
{
	blanks(r);
	struct raw v;
	*out = (struct annotation){.given = true, .line = r->line, .col = (int)(r->s - r->line_start) + 1};
	if (peek(r) != '"')
		return FAIL(r, "expected an annotation in double quotes");
	if (!string(r, &v, '"'))
		return false;
	const char *s = v.s;
	if (str_starts(s, "Sym(")) {
		out->is_sym = true;
		out->sym = strtoll(s + 4, NULL, 10);
		return true;
	}
	char dt[8] = "";
	size_t n = strcspn(s, "[");
	if (n < sizeof dt)
		memcpy(dt, s, n);
	struct meta *m = &out->meta;
	if (!dtype_find(&m->dtype, dt))
		return FAIL(r, "annotation: '%s' does not start with a dtype%s", v.s, dtype_guess(&(struct guess){0}, dt));
	s += n;
	if (!int_row(r, &s, m->size, &m->rank))
		return false;
	int nstride = 0;
	if (*s == '[') {
		if (!int_row(r, &s, m->stride, &nstride))
			return false;
		if (nstride != m->rank)
			return FAIL(r, "annotation: %d sizes but %d strides", m->rank, nstride);
		out->has_stride = true;
	}
	if (str_eq(s, "meta"))
		m->device = DEV_META;
	else if (str_eq(s, "cpu") && r->mode == READ_STRICT)
		m->device = DEV_CPU;
	else if (*s && r->mode == READ_STRICT)
		return FAIL(r, "annotation: unknown device '%s'", s);
	return true;
}

static bool verify(struct reader *r, const struct annotation *an, const struct node *n, const struct meta *m)
{
	struct meta given = an->meta;
	bool ok = given.dtype == m->dtype && given.device == m->device && meta_same_sizes(&given, m);
	if (ok && an->has_stride && r->mode == READ_STRICT)
		for (int d = 0; d < m->rank; d++)
			ok &= given.stride[d] == m->stride[d];
	if (ok)
		return true;
	if (!an->has_stride)
		memcpy(given.stride, m->stride, sizeof given.stride);
	struct strbuf a, b;
	sb_init(&a);
	sb_init(&b);
	meta_print(&a, &given);
	meta_print(&b, m);
	err_at(r->err, an->line, an->col, "%s: '%s' is annotated %s but is %s", op_info[n->op].name, n->name, a.s, b.s);
	sb_free(&a);
	sb_free(&b);
	return false;
}

/* ---- lines ------------------------------------------------------------------------------------------------------------------ */

static bool arguments(struct reader *r, struct raw *raw, int *nraw)
{
	*nraw = 0;
	while (!eat(r, ")")) {
		if (*nraw && !want(r, ","))
			return false;
		if (eat(r, ")"))
			break;
		if (*nraw == MAX_RAW)
			return FAIL(r, "more than %d arguments", MAX_RAW);
		struct reader save = *r;
		char name[MAX_NAME];
		blanks(r);
		const char *key = NULL;
		if (word_char(peek(r), true)) {
			if (!word(r, name, sizeof name, false))
				return false;
			if (eat(r, "="))
				key = arena_strdup(r->a, name);
			else
				r->s = save.s;
		}
		if (!value(r, &raw[*nraw]))
			return false;
		raw[(*nraw)++].name = key;
		while (r->mode == READ_LENIENT && peek(r) == '\n')
			skip_line(r);
	}
	return true;
}

static bool new_node(struct reader *r, const char *name, int line, int col)
{
	if (prog_find(r->p, name) >= 0)
		return err_at(r->err, line, col, "name '%s' is given twice", name);
	if (r->p->nnode == MAX_NODES)
		return err_at(r->err, line, col, "more than %d nodes", MAX_NODES);
	int node = prog_add(r->p, 0, name);
	r->p->node[node].line = line;
	r->p->node[node].col = col;
	return true;
}

static bool finish_node(struct reader *r, int node, const struct annotation *an, int nan)
{
	struct node *n = &r->p->node[node];
	if (n->op == OP_sym) {
		n->sym_value = n->arg[A_sym_value].i.value;
		if (n->arg[A_sym_value].i.expr >= 0)
			return err_at(r->err, n->line, n->col, "sym: the value must be a constant");
	}
	prog_defaults(r->p, node);
	if (!prog_infer_or_refuse(r->p, node, r->err))
		return false;
	n = &r->p->node[node];
	if (!nan || n->refusal)
		return true;
	if (node_is_sym(n) != an[0].is_sym || (an[0].is_sym && an[0].sym != n->sym_value))
		return err_at(r->err, an[0].line, an[0].col, "%s: '%s' is annotated differently from its value", op_info[n->op].name, n->name);
	if (node_is_sym(n))
		return true;
	if (nan != n->nout)
		return err_at(r->err, an[0].line, an[0].col, "%s: %d annotations for %d results", op_info[n->op].name, nan, n->nout);
	for (int k = 0; k < nan; k++)
		if (!verify(r, &an[k], n, &n->out[k].meta))
			return false;
	return true;
}

static bool annotations(struct reader *r, struct annotation *an, int *nan)
{
	*nan = 0;
	if (!eat(r, ":"))
		return true;
	if (!eat(r, "(")) {
		*nan = 1;
		return annotation(r, &an[0]);
	}
	while (!eat(r, ")")) {
		if (*nan && !want(r, ","))
			return false;
		if (eat(r, ")"))
			break;
		if (*nan == MAX_OUTS)
			return FAIL(r, "more than %d annotations", MAX_OUTS);
		if (!annotation(r, &an[(*nan)++]))
			return false;
	}
	return true;
}

/* ---- forms of printed graphs ---- */

/* The rest of the line has these characters somewhere. */
static bool line_has(const struct reader *r, const char *part)
{
	size_t n = strlen(part);
	for (const char *s = r->s; (size_t)(r->end - s) >= n && *s != '\n'; s++)
		if (memcmp(s, part, n) == 0)
			return true;
	return false;
}

/* A parameter, an attribute or a declaration with an annotation: an input with a seed of its own. */
static bool annotated_input(struct reader *r, const char *name, int line, int col, const struct annotation *an)
{
	if (an->is_sym)
		return err_at(r->err, line, col, "'%s' is a symbol; print the graph of a call that is compiled with dynamic=False", name);
	if (!new_node(r, name, line, col))
		return false;
	int node = r->p->nnode - 1;
	struct prog *p = r->p;
	p->node[node].op = OP_input;
	p->node[node].arg[A_input_size] = arg_ints(p, an->meta.size, an->meta.rank);
	if (an->has_stride)
		p->node[node].arg[A_input_stride] = arg_ints(p, an->meta.stride, an->meta.rank);
	p->node[node].arg[A_input_dtype] = arg_dtype(an->meta.dtype);
	p->node[node].arg[A_input_seed] = arg_int(++r->nplaceholder);
	return finish_node(r, node, an, 1);
}

/* What is left of a line without a value: `primals_1: "f32[4][1]cpu"; primals_2: …` of a joint graph declares its inputs one after the
 * other, `primals_1, primals_2, = fx_pytree.tree_flatten_spec(…)` says nothing more. *done: the statement is over. */
static bool declaration(struct reader *r, const char *name, int line, int col, const struct annotation *an, int nan, bool *done)
{
	blanks(r);
	*done = true;
	if (nan == 1 && (peek(r) == ';' || at_line_end(r)))
		return annotated_input(r, name, line, col, an);
	if (!nan && peek(r) == ',' && line_has(r, "= fx_pytree.")) {
		while (peek(r) && peek(r) != '\n')
			r->s++;
		return true;
	}
	*done = false;
	return true;
}

/* FX prints getitem as max_1[0]. */
static bool subscript(struct reader *r, int node, const char *tuple, int col)
{
	struct raw raw[2] = {{.tag = RAW_NODE, .line = r->line, .col = col}, {0}};
	raw[0].node = prog_find(r->p, tuple);
	if (raw[0].node < 0 || raw[0].node == node)
		return err_at(r->err, r->line, col, "'%s' is not defined", tuple);
	if (!value(r, &raw[1]) || !want(r, "]"))
		return false;
	return resolve(r, node, "getitem", raw, 2, r->line, col);
}

static bool node_line(struct reader *r)
{
	char name[MAX_NAME], op[2 * MAX_NAME];
	blanks(r);
	int line = r->line, col = (int)(r->s - r->line_start) + 1;
	eat(r, "%");
	struct annotation *an = ARENA_NEW(r->a, struct annotation, MAX_OUTS);
	int nan, nraw;
	bool done = false;
	if (!word(r, name, sizeof name, false) || !annotations(r, an, &nan))
		return false;
	if (r->mode == READ_LENIENT && (!declaration(r, name, line, col, an, nan, &done) || done))
		return done && !r->err->msg[0];
	if (!want(r, "="))
		return false;
	if (r->mode == READ_LENIENT && nan == 1 && eat(r, "self.")) { /* a tensor that the module holds, as _tensor_constant0 */
		char attribute[2 * MAX_NAME];
		return word(r, attribute, sizeof attribute, true) && annotated_input(r, name, line, col, an);
	}
	if (!new_node(r, name, line, col))
		return false;
	int node = r->p->nnode - 1;
	blanks(r);
	int opcol = (int)(r->s - r->line_start) + 1;
	if (!word(r, op, sizeof op, true))
		return false;
	if (eat(r, "[")) {
		if (!subscript(r, node, op, opcol))
			return false;
	} else {
		struct raw *raw = ARENA_NEW(r->a, struct raw, MAX_RAW);
		r->defining = node;
		bool read = want(r, "(") && arguments(r, raw, &nraw);
		r->defining = -1;
		if (!read || !resolve(r, node, op, raw, nraw, line, opcol))
			return false;
	}
	for (int k = 0; k < op_info[r->p->node[node].op].nparam; k++)
		if (r->p->node[node].arg[k].tag == ARG_TENSOR && r->p->node[node].arg[k].node == node)
			return err_at(r->err, line, opcol, "'%s' is used in its own definition", name);
	return finish_node(r, node, an, nan);
}

static bool known_node(struct reader *r, int *node)
{
	char name[MAX_NAME];
	blanks(r);
	int col = (int)(r->s - r->line_start) + 1;
	if (!word(r, name, sizeof name, false))
		return false;
	*node = prog_find(r->p, name);
	return *node >= 0 ? true : err_at(r->err, r->line, col, "'%s' is not defined", name);
}

/* `return (a, None, [b, c])` and `return pytree.tree_unflatten([a, b], self._out_spec)` of a printed graph, over one line or several: its
 * tensors in order. */
static bool returned_tree(struct reader *r)
{
	while (at_line_end(r) && r->s < r->end)
		skip_line(r);
	const char *close = eat(r, "(") ? ")" : eat(r, "[") ? "]" : NULL;
	if (!close) {
		if (keyword(r, "None"))
			return true;
		if (r->p->nret == MAX_RETURNS)
			return FAIL(r, "more than %d returned values", MAX_RETURNS);
		return known_node(r, &r->p->ret[r->p->nret]) && (r->p->nret++, true);
	}
	for (;;) {
		while (at_line_end(r) && r->s < r->end)
			skip_line(r);
		if (eat(r, close))
			return true;
		if (++r->depth > MAX_DEPTH)
			return FAIL(r, "nested deeper than %d", MAX_DEPTH);
		if (!returned_tree(r))
			return false;
		r->depth--;
		while (at_line_end(r) && r->s < r->end)
			skip_line(r);
		if (!eat(r, ",") && !eat(r, close))
			return want(r, close);
		if (r->s[-1] == *close)
			return true;
	}
}

static bool graph_return(struct reader *r)
{
	if (r->p->nret)
		return FAIL(r, "a second `return`");
	if (!eat(r, "pytree.tree_unflatten(")) {
		do
			if (!returned_tree(r))
				return false;
		while (eat(r, ","));
		return true;
	}
	if (!returned_tree(r) || !want(r, ","))
		return false;
	while (peek(r) && peek(r) != ')' && peek(r) != '\n')
		r->s++;
	return want(r, ")");
}

static bool return_line(struct reader *r)
{
	const char *close = eat(r, "(") ? ")" : eat(r, "[") ? "]" : NULL;
	if (r->p->nret)
		return FAIL(r, "a second `return`");
	do {
		if (close && eat(r, close))
			return true;
		if (r->p->nret == MAX_RETURNS)
			return FAIL(r, "more than %d returned values", MAX_RETURNS);
		if (!known_node(r, &r->p->ret[r->p->nret]))
			return false;
		r->p->nret++;
	} while (eat(r, ","));
	return close ? want(r, close) : true;
}

static bool backward_line(struct reader *r)
{
	struct prog *p = r->p;
	if (p->has_backward)
		return FAIL(r, "a second `backward`");
	if (!p->nret)
		return FAIL(r, "`backward` before `return`");
	p->has_backward = true;
	if (!want(r, "("))
		return false;
	while (!eat(r, ")")) {
		if (p->nback && !want(r, ","))
			return false;
		if (eat(r, ")"))
			break;
		if (p->nback == MAX_RETURNS)
			return FAIL(r, "more than %d cotangents", MAX_RETURNS);
		struct backward *b = &p->back[p->nback];
		if (!known_node(r, &b->node) || !want(r, ":") || !known_node(r, &b->cotangent))
			return false;
		for (int k = 0; k < p->nback; k++)
			if (p->back[k].node == b->node)
				return FAIL(r, "backward: '%s' is given twice", p->node[b->node].name);
		p->nback++;
	}
	return true;
}

static bool raises_line(struct reader *r)
{
	struct raw v;
	if (!r->p->nret)
		return FAIL(r, "`raises` before `return`");
	if (r->raises_line)
		return FAIL(r, "a second `raises`");
	r->raises_line = r->line;
	if (at_line_end(r))
		return true;
	if (peek(r) != '"' && peek(r) != '\'')
		return FAIL(r, "raises: expected part of the message in quotes");
	if (!string(r, &v, peek(r)))
		return false;
	r->p->raises = v.s;
	return true;
}

/* Whether the program says so is known before its rows are read. */
static bool says_raises(const char *text, const char *end)
{
	for (const char *s = text; s < end; s++) {
		while (s < end && (*s == ' ' || *s == '\t'))
			s++;
		if (end - s >= 6 && memcmp(s, "raises", 6) == 0
			&& (end - s == 6 || !(word_char(s[6], false) || s[6] == ':' || strchr("=.(", s[6]))))
			return true;
		while (s < end && *s != '\n')
			s++;
	}
	return false;
}

/* What follows `data`. With other sizes in the same call the numbers are counted when it is bound. */
static bool call_data(struct reader *r, struct call_input *in)
{
	struct raw v;
	const struct node *n = &r->p->node[in->node];
	int k = A_input_data, col = (int)(r->s - r->line_start) + 1;
	struct err why = {0};
	if (!want(r, "=") || !value(r, &v) || !coerce_data(r, &in->data, &op_info[OP_input], &op_info[OP_input].param[k], &v, r->err))
		return false;
	bool symbolic = false;
	for (int d = 0; d < n->arg[A_input_size].n; d++)
		symbolic = symbolic || n->arg[A_input_size].ints[d].expr >= 0;
	if (!str_eq(n->arg[A_input_fill].str, "dyadic"))
		return err_at(r->err, r->line, col, "call: '%s' has a fill, so no data", n->name);
	return symbolic || fill_data_check(&in->data, &n->out[0].meta, &why) || err_at(r->err, r->line, col, "call: %s", why.msg);
}

static bool call_input(struct reader *r, struct call_input *in, int node)
{
	struct raw v;
	if (r->p->node[node].op != OP_input)
		return FAIL(r, "call: '%s' is not an input", r->p->node[node].name);
	*in = (struct call_input){.node = node, .seed = (uint64_t)r->p->node[node].arg[A_input_seed].i.value};
	for (bool any = false;; any = true) {
		if (keyword(r, "seed")) {
			if (!want(r, "=") || !value(r, &v))
				return false;
			if (v.tag != RAW_INT || v.i.expr >= 0)
				return FAIL(r, "call: a seed is an integer");
			if (v.i.value < 0)
				return FAIL(r, "call: a seed is not negative");
			in->seed = (uint64_t)v.i.value;
		} else if (keyword(r, "fill")) {
			char w[MAX_NAME];
			if (!want(r, "=") || !word(r, w, sizeof w, false))
				return false;
			if (fill_find(w) < 0)
				return FAIL(r, "call: fill '%s' is unknown (%s)%s", w, fill_names(), fill_guess(&(struct guess){0}, w));
			in->fill = arena_strdup(r->a, w);
		} else if (keyword(r, "data")) {
			if (any)
				return FAIL(r, "call: an input has data or a seed, not both");
			return call_data(r, in);
		} else if (any && node_given(&r->p->node[node], A_input_data)) {
			return FAIL(r, "call: '%s' has data, so no seed and no fill; give it other data=", r->p->node[node].name);
		} else {
			return any ? true : FAIL(r, "call: expected seed=, fill= or data=");
		}
	}
}

static bool in_call(const struct call *c, int node)
{
	for (int i = 0; i < c->ninput; i++)
		if (c->input[i].node == node)
			return true;
	for (int i = 0; i < c->nsym; i++)
		if (c->sym[i].node == node)
			return true;
	return false;
}

static bool call_line(struct reader *r)
{
	struct prog *p = r->p;
	if (p->ncall == MAX_CALLS)
		return FAIL(r, "more than %d calls", MAX_CALLS);
	struct call *c = &p->call[p->ncall];
	*c = (struct call){
		.input = ARENA_NEW(r->a, struct call_input, MAX_NODES), .sym = ARENA_NEW(r->a, struct call_sym, MAX_SYMS), .line = r->line};
	if (!want(r, "("))
		return false;
	for (int n = 0; !eat(r, ")"); n++) {
		int node;
		if (n && !want(r, ","))
			return false;
		if (eat(r, ")"))
			break;
		if (!known_node(r, &node))
			return false;
		if (in_call(c, node))
			return FAIL(r, "call: '%s' is given twice", p->node[node].name);
		if (eat(r, ":")) {
			if (!call_input(r, &c->input[c->ninput++], node))
				return false;
		} else {
			struct raw v;
			if (!want(r, "=") || !value(r, &v))
				return false;
			if (v.tag != RAW_INT || v.i.expr >= 0 || p->node[node].op != OP_sym || c->nsym == MAX_SYMS)
				return FAIL(r, "call: '%s' is not a symbol given an integer", p->node[node].name);
			c->sym[c->nsym++] = (struct call_sym){node, v.i.value};
		}
	}
	p->ncall++;
	return true;
}

/* def forward(self, x: "f32[4, 13][13, 1]cpu", ...): each parameter becomes an input with a seed of its own. */
static bool def_line(struct reader *r)
{
	char name[MAX_NAME];
	if (!word(r, name, sizeof name, false) || !want(r, "("))
		return false;
	while (!eat(r, ")")) {
		while (at_line_end(r) && r->s < r->end)
			skip_line(r);
		if (eat(r, ")"))
			break;
		blanks(r);
		int line = r->line, col = (int)(r->s - r->line_start) + 1;
		struct annotation an;
		if (!word(r, name, sizeof name, false))
			return false;
		if (eat(r, ":")) {
			if (!annotation(r, &an) || !annotated_input(r, name, line, col, &an))
				return false;
		} else if (!str_eq(name, "self") && !str_eq(name, "primals") && !str_eq(name, "tangents")) { /* those are declared below */
			return err_at(r->err, line, col, "parameter '%s' has no annotation: its sizes are unknown", name);
		}
		eat(r, ",");
	}
	eat(r, "->");
	while (peek(r) && peek(r) != '\n')
		r->s++;
	return true;
}

/* surface python: before the first node. A node of that name goes on with ':' or '='. */
static bool surface_line(struct reader *r)
{
	char word_[MAX_NAME];
	int col = (int)(r->s - r->line_start) + 1;
	if (r->surface_given)
		return FAIL(r, "a second `surface`");
	if (r->p->nnode)
		return FAIL(r, "`surface` after the first node");
	if (!word(r, word_, sizeof word_, false))
		return false;
	for (int k = 0; k < NSURFACES; k++)
		if (str_eq(word_, surface_name[k])) {
			r->p->surface = (enum surface)k;
			r->surface_given = true;
			return true;
		}
	return err_at(r->err, r->line, col, "surface '%s' is unknown (aten, torch, python)", word_);
}

static bool at_surface(struct reader *r)
{
	const char *was = r->s;
	if (!keyword(r, "surface"))
		return false;
	blanks(r);
	if (peek(r) != ':' && peek(r) != '=')
		return true;
	r->s = was;
	return false;
}

static bool statement(struct reader *r)
{
	if (r->mode == READ_LENIENT) {
		if (keyword(r, "class") || keyword(r, "import") || keyword(r, "from")) {
			while (peek(r) && peek(r) != '\n')
				r->s++;
			return true;
		}
		if (keyword(r, "def"))
			return def_line(r);
	}
	if (keyword(r, "return")) {
		r->return_line = r->line;
		return r->mode == READ_LENIENT ? graph_return(r) : return_line(r);
	}
	if (keyword(r, "backward")) {
		r->backward_line = r->line;
		return backward_line(r);
	}
	if (keyword(r, "raises"))
		return raises_line(r);
	if (keyword(r, "call"))
		return call_line(r);
	if (at_surface(r))
		return surface_line(r);
	if (r->p->nret)
		return FAIL(r, "a node after `return`");
	return node_line(r);
}

/* `;  x = y = None` says when a tensor goes; another declaration is a statement of its own. */
static void after_semicolon(struct reader *r)
{
	bool declares = line_has(r, "\"");
	while (!declares && peek(r) && peek(r) != '\n')
		r->s++;
}

static bool header(struct reader *r)
{
	static const char want_header[] = "# scatterproof ";
	size_t n = sizeof want_header - 1;
	if ((size_t)(r->end - r->s) < n || memcmp(r->s, want_header, n) != 0)
		return r->mode == READ_LENIENT ? true : FAIL(r, "the first line must be '# scatterproof 1'");
	const char *v = r->s + n;
	size_t len = 0;
	while (v + len < r->end && v[len] != '\n' && v[len] != '\r')
		len++;
	if (len != 1 || v[0] != '1')
		return FAIL(r, "format version '%.*s' is not 1: written by another version of scatterproof", (int)MIN(len, (size_t)20), v);
	return true;
}

/* What is wrong in a call's sizes alone is as wrong as in the program's own. */
static bool calls_bind(const struct prog *p, struct err *err)
{
	struct arena a;
	bool ok = true;
	arena_init(&a);
	for (int k = 0; ok && k < p->ncall; k++) {
		const struct call *c = &p->call[k];
		struct err own = {0};
		struct prog q;
		if (!c->nsym)
			continue;
		ok = prog_bind(&q, p, k + 1, &a, &own) && prog_validate(&q, &own);
		if (!ok)
			err_at(err, c->line, 1, "call %d: %s", k + 1, own.msg);
		arena_reset(&a);
	}
	arena_free(&a);
	return ok;
}

bool prog_read(struct prog *out, struct arena *a, const char *text, size_t len, int mode, struct err *err)
{
	struct prog p;
	prog_init(&p, a);
	struct err local = {0};
	struct reader r = {.p = &p,
		.a = a,
		.s = text,
		.end = text + len,
		.line_start = text,
		.line = 1,
		.mode = mode,
		.defining = -1,
		.err = err ? err : &local};
	if (len > MAX_TEXT)
		return FAIL(&r, "program text longer than %d bytes", MAX_TEXT);
	if (!header(&r))
		return false;
	p.must_raise = says_raises(text, r.end);
	while (r.s < r.end) {
		while (!at_line_end(&r)) {
			if (!statement(&r))
				return false;
			if (mode == READ_LENIENT && eat(&r, ";"))
				after_semicolon(&r);
			else if (!at_line_end(&r))
				return FAIL(&r, "unexpected text after the end of the statement");
		}
		skip_line(&r);
	}
	if (!p.nret && !r.return_line)
		return FAIL(&r, "no `return`");
	if (r.nplaceholder)
		fx_positions(&p);
	p.must_raise = r.raises_line != 0;
	if (!prog_validate(&p, r.err)) {
		if (!r.err->line) {
			r.err->line = str_starts(r.err->msg, "backward") ? r.backward_line : r.return_line;
			r.err->col = 1;
		}
		return false;
	}
	if (!calls_bind(&p, r.err))
		return false;
	*out = p;
	return true;
}
