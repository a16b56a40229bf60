/* text_value.c: raw values, before any schema: numbers, expressions over symbols, names, strings and lists, by recursive descent. */
#include "eager/lang/text_reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- numbers and expressions ------------------------------------------------------------------------------------------ */

static struct raw raw_here(const struct text_reader *r, enum raw_tag tag)
{
	return (struct raw){.tag = tag, .line = r->line, .col = (int)(r->s - r->line_start) + 1, .i = {0, -1}, .node = -1};
}

static size_t number_length(const struct text_reader *r)
{
	const char *s = r->s;
	bool hex = r->end - s > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	while (s < r->end
		&& (isalnum((unsigned char)*s) || *s == '.'
			|| ((*s == '+' || *s == '-') && s > r->s && (s[-1] == 'p' || (!hex && (s[-1] == 'e' || s[-1] == 'E'))))))
		s++;
	return (size_t)(s - r->s);
}

static bool raw_number(struct text_reader *r, struct raw *out)
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

/* The payload is that of an f64, or with 8 digits that of an f32, of which a conversion keeps every bit. */
static bool parse_nan(struct text_reader *r, struct raw *out)
{
	out->tag = RAW_FLOAT;
	uint64_t bits = 0x7ff8000000000000u;
	if (token_eat(r, "(0x")) {
		int n = 0;
		for (bits = 0; isxdigit((unsigned char)token_peek(r)) && n < 17; n++, r->s++)
			bits = bits << 4 | (uint64_t)(isdigit((unsigned char)*r->s) ? *r->s - '0' : tolower((unsigned char)*r->s) - 'a' + 10);
		if (!token_want(r, ")"))
			return false;
		if (n == 8 && (bits & 0x7f800000u) == 0x7f800000u)
			bits = (bits & 0x80000000u) << 32 | 0x7ff0000000000000u | (bits & 0x7fffffu) << 29;
		else if (n != 16)
			return FAIL(r, "not the 8 or 16 hex digits of a NaN");
		if ((bits & 0x7ff0000000000000u) != 0x7ff0000000000000u || !(bits & 0xfffffffffffffu))
			return FAIL(r, "not the 8 or 16 hex digits of a NaN");
	}
	memcpy(&out->f, &bits, 8);
	return true;
}

static int expr_of(struct text_reader *r, const struct iexpr *i)
{
	return i->expr >= 0 ? i->expr : prog_add_expr(r->p, (struct expr){.op = EX_CONST, .value = i->value});
}

static bool raw_sum(struct text_reader *r, struct raw *out);

/* device(type='cuda', index=0): a word as it stands. */
static bool constructed(struct text_reader *r, struct raw *out)
{
	const char *from = r->s;
	while (token_peek(r) && token_peek(r) != ')' && token_peek(r) != '\n')
		r->s++;
	if (!token_want(r, ")"))
		return false;
	const size_t n = strlen(out->s), len = (size_t)(r->s - from);
	char *whole = arena_alloc(r->a, n + len + 1);
	memcpy(whole, out->s, n);
	memcpy(whole + n, from, len);
	whole[n + len] = 0;
	out->s = whole;
	return true;
}

static bool named_value(struct text_reader *r, struct raw *out)
{
	char name[MAX_NAME];
	*out = raw_here(r, RAW_WORD);
	if (!token_word(r, name, sizeof name, true))
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
			if (r->symbols && r->symbols->inside && token_peek(r) == '(')
				return symbol_call(r, name, out);
			if (r->symbols && symbol_value(r, name, &out->i)) {
				out->tag = RAW_INT;
				return true;
			}
			out->s = arena_strdup(r->a, name);
			return r->mode != READ_LENIENT || token_peek(r) != '(' || constructed(r, out);
		}
	}
	return true;
}

static bool raw_list(struct text_reader *r, struct raw *out, const char *close)
{
	*out = raw_here(r, RAW_LIST);
	struct raw *item = NULL;
	while (!token_eat(r, close)) {
		if (out->n && !token_want(r, ","))
			return false;
		if (token_eat(r, close))
			break;
		if (out->n == MAX_DATA)
			return FAIL(r, "a list of more than %d entries", MAX_DATA);
		if (!(out->n & (out->n - 1))) /* 0 or a power of two: doubled */
			item = ARENA_GROW(r->a, struct raw, item, out->n, MAX(2 * out->n, 1));
		if (!raw_value(r, &item[out->n]))
			return false;
		out->n++;
	}
	out->item = item;
	return true;
}

bool raw_string(struct text_reader *r, struct raw *out, char quote)
{
	*out = raw_here(r, RAW_STR);
	const char *start = ++r->s;
	while (r->s < r->end && *r->s != quote && *r->s != '\n')
		r->s++;
	if (token_peek(r) != quote)
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

static bool raw_negate(struct text_reader *r, struct raw *v)
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

static bool raw_atom(struct text_reader *r, struct raw *out)
{
	token_blanks(r);
	char c = token_peek(r);
	if (++r->depth > MAX_DEPTH)
		return FAIL(r, "nested deeper than %d", MAX_DEPTH);
	bool ok;
	if (c == '[') {
		r->s++;
		ok = raw_list(r, out, "]");
	} else if (c == '(') {
		r->s++;
		ok = raw_sum(r, out) && token_want(r, ")");
	} else if (c == '"' || c == '\'') {
		ok = raw_string(r, out, c);
	} else if (c == '-') {
		r->s++;
		ok = raw_atom(r, out) && raw_negate(r, out);
	} else if (token_word_char(c, true)) {
		ok = named_value(r, out);
	} else {
		ok = raw_number(r, out);
	}
	r->depth--;
	return ok;
}

bool raw_combine(struct text_reader *r, struct raw *x, enum expr_op op, const struct raw *y)
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

/* s37**2, in annotations. */
static bool raw_power(struct text_reader *r, struct raw *out)
{
	struct raw y;
	if (!raw_atom(r, out))
		return false;
	if (!r->symbols || !r->symbols->inside || !token_eat(r, "**"))
		return true;
	if (!raw_atom(r, &y))
		return false;
	if (y.tag != RAW_INT || y.i.expr >= 0 || y.i.value < 1 || y.i.value > MAX_DEPTH)
		return FAIL(r, "a power that is no small number");
	const struct raw base = *out;
	for (int64_t k = 1; k < y.i.value; k++)
		if (!raw_combine(r, out, EX_MUL, &base))
			return false;
	return true;
}

static bool raw_product(struct text_reader *r, struct raw *out)
{
	if (!raw_power(r, out))
		return false;
	for (;;) {
		struct raw y;
		enum expr_op op;
		if (token_eat(r, "*"))
			op = EX_MUL;
		else if (token_eat(r, "//"))
			op = EX_FLOORDIV;
		else if (out->tag == RAW_INT && token_eat(r, "%"))
			op = EX_MOD;
		else
			return true;
		if (!raw_power(r, &y) || !raw_combine(r, out, op, &y))
			return false;
	}
}

static bool raw_sum(struct text_reader *r, struct raw *out)
{
	if (!raw_product(r, out))
		return false;
	for (;;) {
		struct raw y;
		enum expr_op op;
		if (token_eat(r, "+"))
			op = EX_ADD;
		else if (token_eat(r, "-"))
			op = EX_SUB;
		else
			return true;
		if (!raw_product(r, &y) || !raw_combine(r, out, op, &y))
			return false;
	}
}

bool raw_value(struct text_reader *r, struct raw *out)
{
	r->nterms = 0;
	if (!raw_sum(r, out))
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
	struct text_reader r = {.p = &p, .a = &a, .s = s, .end = s + strlen(s), .line_start = s, .line = 1, .err = err};
	bool ok = raw_value(&r, &v);
	if (ok && (!token_line_end(&r) || (v.tag != RAW_INT && v.tag != RAW_FLOAT && v.tag != RAW_BOOL)))
		ok = err_set(err, "'%s' is not a number", s);
	if (ok)
		*out = v.tag == RAW_INT ? (struct scalar){SC_INT, v.i.value, 0}
			: v.tag == RAW_BOOL ? (struct scalar){SC_BOOL, v.b, 0}
								: (struct scalar){SC_FLOAT, 0, v.f};
	arena_free(&a);
	return ok;
}
