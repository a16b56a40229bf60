/* text_symbol.c: symbolic sizes of printed graphs. PyTorch prints s37 for a size that it compiled for any number, and no number: each
 * symbol becomes a `sym` row, whose value is drawn up here. Values that some row of the graph cannot have (it may need a multiple of 4) are
 * for prog_read to try others; expressions, which PyTorch computes by Python's operators between the rows, are bound to their names. */
#include "eager/lang/text_reader.h"
#include "generated/op_args.h"

#include <ctype.h>
#include <stdlib.h>

/* Different ones, because two sizes that must be equal have one symbol. */
static int64_t drawn(const struct symbols *y)
{
	static const int64_t few[MAX_SYMS] = {5, 7, 6, 9, 8, 11, 10, 13};
	const int64_t step = y->attempt == 1 ? 8 : 12;
	return y->attempt == 0 ? few[y->nsym % MAX_SYMS] : step * (y->nsym + 1);
}

bool symbol_bind(struct text_reader *r, const char *name, const struct iexpr *i)
{
	struct symbols *y = r->symbols;
	if (y->n == MAX_BOUND)
		return FAIL(r, "more than %d integers", MAX_BOUND);
	y->bound[y->n++] = (struct bound){arena_strdup(r->a, name), *i};
	return true;
}

/* s37, u0, zf3: what PyTorch calls symbols. */
static bool is_symbol(const char *name)
{
	const char *s = name;
	while (islower((unsigned char)*s))
		s++;
	return s > name && s - name <= 3 && *s && strspn(s, "0123456789") == strlen(s);
}

static bool new_symbol(struct text_reader *r, const char *name, struct iexpr *out)
{
	struct prog *p = r->p;
	if (r->symbols->nsym == MAX_SYMS || p->nnode == MAX_NODES)
		return false;
	int64_t value = drawn(r->symbols);
	int node = prog_add(p, OP_sym, name);
	p->node[node].arg[A_sym_value] = arg_int(value);
	p->node[node].sym_value = value;
	prog_defaults(p, node);
	if (!prog_infer_or_refuse(p, node, r->err))
		return false;
	r->symbols->nsym++;
	*out = (struct iexpr){value, prog_add_expr(p, (struct expr){.op = EX_SYM, .a = node})};
	return symbol_bind(r, name, out);
}

bool symbol_value(struct text_reader *r, const char *name, struct iexpr *out)
{
	const struct symbols *y = r->symbols;
	for (int i = 0; i < y->n; i++)
		if (str_eq(y->bound[i].name, name)) {
			*out = y->bound[i].i;
			return true;
		}
	return y->inside && is_symbol(name) && new_symbol(r, name, out);
}

/* Of these, as the symbols are now: the reader knows no maximum. */
bool symbol_call(struct text_reader *r, const char *name, struct raw *out)
{
	struct raw x, y;
	bool most = str_eq(name, "Max"), least = str_eq(name, "Min"), rest = str_eq(name, "Mod");
	if ((!most && !least && !rest) || !token_want(r, "("))
		return FAIL(r, "annotation: '%s(' in a size", name);
	if (!raw_value(r, &x) || !token_want(r, ","))
		return false;
	for (;;) {
		if (!raw_value(r, &y))
			return false;
		if (x.tag != RAW_INT || y.tag != RAW_INT)
			return FAIL(r, "annotation: %s of what is no integer", name);
		if (rest ? !raw_combine(r, &x, EX_MOD, &y) : false)
			return false;
		if (!rest && (most ? y.i.value > x.i.value || (y.i.value == x.i.value && y.i.expr >= 0) : y.i.value < x.i.value))
			x.i = y.i;
		if (token_eat(r, ")"))
			break;
		if (!token_want(r, ","))
			return false;
	}
	*out = x;
	out->name = NULL;
	return true;
}

bool symbol_expr(struct text_reader *r, const char **s, const char *end, struct iexpr *out)
{
	struct raw v;
	struct text_reader inside = *r;
	struct err why = {0};
	inside.s = *s;
	inside.end = end;
	inside.err = &why;
	inside.depth = 0;
	r->symbols->inside = true;
	bool ok = raw_value(&inside, &v) && v.tag == RAW_INT;
	r->symbols->inside = false;
	if (!ok)
		return FAIL(r, "annotation: '%.*s' is no size that can be read%s%s", (int)strcspn(*s, ",]"), *s, why.msg[0] ? ": " : "", why.msg);
	*s = inside.s;
	*out = v.i;
	return true;
}
