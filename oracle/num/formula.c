/* formula.c: the texts of formula.def become steps: a list in which each step names earlier ones. Written twice is computed once. */
#include "oracle/num/formula.h"

#include <ctype.h>
#include <stdlib.h>

const struct formula formula_of[NSF] = {
#define LIBM(id, function, arb, shape_, near_, what, derivative_)                                                                          \
	[SF_##id] = {.libm = function, .shape = LIBM_##shape_, .near = near_, .derivative = {derivative_}},
#define LIBM2(id, function, arb, what, ...)   [SF_##id] = {.libm2 = function, .derivative = {__VA_ARGS__}},
#define FORMULA(id, arity, what, value_, ...) [SF_##id] = {.value = value_, .derivative = {__VA_ARGS__}},
#include "oracle/num/formula.def"
};

enum { NAMES = 16, NAME_LENGTH = 16 };
struct parser {
	struct formula_steps *to;
	enum sf f;
	const char *start, *at;
	int nname, meaning[NAMES];
	char name[NAMES][NAME_LENGTH];
};

NORETURN static void fail(const struct parser *p, const char *what)
{
	BUG("formula.def: %s: %s: %s at: %s", sf_name[p->f], p->start, what, *p->at ? p->at : "the end");
}

static bool eat(struct parser *p, char c)
{
	while (*p->at == ' ')
		p->at++;
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

static void expect(struct parser *p, char c)
{
	char what[] = "' ' is missing";
	what[1] = c;
	if (!eat(p, c))
		fail(p, what);
}

static int append(struct parser *p, struct formula_step s)
{
	struct formula_steps *to = p->to;
	for (int k = 0; k < to->n; k++) {
		const struct formula_step *t = &to->step[k];
		if (t->kind == s.kind && t->x == s.x && t->y == s.y && t->z == s.z && t->f == s.f && t->low == s.low && t->high == s.high)
			return k;
	}
	if (to->n == FORMULA_STEPS)
		fail(p, "too many steps");
	to->step[to->n] = s;
	return to->n++;
}

static bool per_row(const struct parser *p, int x) { return p->to->step[x].per_row; }

static int append_pair(struct parser *p, enum step_kind kind, int x, int y)
{
	return append(p, (struct formula_step){.kind = kind, .x = x, .y = y, .per_row = per_row(p, x) && per_row(p, y)});
}

static double number(struct parser *p)
{
	char *end;
	while (*p->at == ' ')
		p->at++;
	double v = strtod(p->at, &end);
	if (end == p->at)
		fail(p, "a number is missing");
	p->at = end;
	return v;
}

static int choice(struct parser *p);

static int call(struct parser *p, const char *name)
{
	static const struct {
		const char *name;
		enum step_kind kind;
	} of_rows[] = {{"sum", STEP_SUM}, {"mean", STEP_MEAN}, {"max", STEP_MAX}, {"var", STEP_VAR}};
	struct formula_step s = {.x = choice(p)};
	s.per_row = per_row(p, s.x);
	if (str_eq(name, "within")) {
		s.kind = STEP_WITHIN;
		expect(p, ',');
		s.low = number(p);
		expect(p, ',');
		s.high = number(p);
		expect(p, ')');
		return append(p, s);
	}
	if (str_eq(name, "near")) {
		s.kind = STEP_NEAR;
		expect(p, ',');
		s.high = number(p);
		expect(p, ')');
		return append(p, s);
	}
	if (str_eq(name, "either") || str_eq(name, "order")) {
		expect(p, ',');
		int other = choice(p);
		expect(p, ')');
		return append_pair(p, str_eq(name, "either") ? STEP_EITHER : STEP_ORDER, s.x, other);
	}
	expect(p, ')');
	if (str_eq(name, "stored")) {
		s.kind = STEP_STORED;
		return append(p, s);
	}
	for (int k = 0; k < ARRAY_LEN(of_rows); k++)
		if (str_eq(name, of_rows[k].name)) {
			if (s.per_row)
				fail(p, "this is one number for the row already, before");
			s.kind = of_rows[k].kind;
			s.per_row = true;
			return append(p, s);
		}
	s.kind = STEP_CALL;
	for (int f = 0; f < NSF; f++)
		if (sf_info[f].arity == 1 && strcasecmp(name, sf_name[f]) == 0) {
			s.f = (enum sf)f;
			return append(p, s);
		}
	fail(p, "no such function, before");
}

static size_t word(const struct parser *p, char out[NAME_LENGTH])
{
	size_t n = 0;
	while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')
		n++;
	if (!n || n >= NAME_LENGTH)
		fail(p, "a value is missing");
	snprintf(out, NAME_LENGTH, "%.*s", (int)n, p->at);
	return n;
}

static int value(struct parser *p)
{
	char name[NAME_LENGTH];
	if (eat(p, '(')) {
		int x = choice(p);
		expect(p, ')');
		return x;
	}
	if (eat(p, '-')) {
		if (isdigit((unsigned char)*p->at))
			return append(p, (struct formula_step){.kind = STEP_NUMBER, .low = -number(p), .per_row = true});
		int x = value(p);
		return append(p, (struct formula_step){.kind = STEP_NEG, .x = x, .per_row = per_row(p, x)});
	}
	if (isdigit((unsigned char)*p->at))
		return append(p, (struct formula_step){.kind = STEP_NUMBER, .low = number(p), .per_row = true});
	p->at += word(p, name);
	if (eat(p, '('))
		return call(p, name);
	for (int k = 0; k < p->nname; k++)
		if (str_eq(p->name[k], name))
			return p->meaning[k];
	if (name[0] == 's' && name[1] >= '0' && name[1] < '0' + FORMULA_SCALARS && !name[2])
		return append(p, (struct formula_step){.kind = STEP_SCALAR, .x = name[1] - '0', .per_row = true});
	if (sf_info[p->f].arity < 0 && str_eq(name, "count"))
		return append(p, (struct formula_step){.kind = STEP_COUNT, .per_row = true});
	fail(p, "an unknown name, before");
}

static int product(struct parser *p)
{
	int x = value(p);
	for (;;) {
		if (eat(p, '*'))
			x = append_pair(p, STEP_MUL, x, value(p));
		else if (eat(p, '/'))
			x = append_pair(p, STEP_DIV, x, value(p));
		else
			return x;
	}
}

static int sum_of(struct parser *p)
{
	int x = product(p);
	for (;;) {
		if (eat(p, '+'))
			x = append_pair(p, STEP_ADD, x, product(p));
		else if (eat(p, '-'))
			x = append_pair(p, STEP_SUB, x, product(p));
		else
			return x;
	}
}

static bool eat_two(struct parser *p, const char *two)
{
	eat(p, ' ');
	bool is = str_starts(p->at, two);
	p->at += is ? 2 : 0;
	return is;
}

/* A comparison, if one comes: > and >= with the operands changed over. *swapped: != , which is the opposite of ==. */
static bool comparison(struct parser *p, enum step_kind *kind, bool *turned, bool *opposite)
{
	*turned = *opposite = false;
	if (eat_two(p, "<="))
		*kind = STEP_MOST;
	else if (eat_two(p, ">="))
		*kind = STEP_MOST, *turned = true;
	else if (eat_two(p, "=="))
		*kind = STEP_SAME;
	else if (eat_two(p, "!="))
		*kind = STEP_SAME, *opposite = true;
	else if (eat(p, '<'))
		*kind = STEP_LESS;
	else if (eat(p, '>'))
		*kind = STEP_LESS, *turned = true;
	else
		return false;
	return true;
}

/* e, or e < e ? e : e */
static int choice(struct parser *p)
{
	enum step_kind kind;
	bool turned, opposite;
	int x = sum_of(p);
	if (!comparison(p, &kind, &turned, &opposite))
		return x;
	int y = sum_of(p), truth = turned ? append_pair(p, kind, y, x) : append_pair(p, kind, x, y);
	expect(p, '?');
	int yes = choice(p);
	expect(p, ':');
	int no = choice(p);
	return append(p,
		(struct formula_step){.kind = STEP_CHOOSE,
			.x = truth,
			.y = opposite ? no : yes,
			.z = opposite ? yes : no,
			.per_row = per_row(p, truth) && per_row(p, yes) && per_row(p, no)});
}

static void give_name(struct parser *p, const char *name, int meaning)
{
	if (p->nname == NAMES)
		fail(p, "too many names");
	snprintf(p->name[p->nname], NAME_LENGTH, "%s", name);
	p->meaning[p->nname++] = meaning;
}

/* `name = steps;` */
static bool definition(struct parser *p)
{
	char name[NAME_LENGTH];
	const char *back = p->at;
	eat(p, ' ');
	if (!isalpha((unsigned char)*p->at))
		return false;
	p->at += word(p, name);
	if (!eat(p, '=') || *p->at == '=') {
		p->at = back;
		return false;
	}
	int x = choice(p);
	expect(p, ';');
	give_name(p, name, x);
	return true;
}

bool formula_gives_one(enum sf f)
{
	struct formula_text t;
	if (sf_info[f].arity > 0)
		return false;
	formula_parse(&t, f, -1);
	return formula_is_one(&t);
}

static bool reads_two(enum step_kind k) { return k >= STEP_ADD && k <= STEP_CHOOSE; }

static int readers_of(const struct formula_steps *s, int step)
{
	int n = 0;
	for (int k = 0; k < s->n; k++) {
		const struct formula_step *t = &s->step[k];
		n += t->kind >= STEP_NEG && (t->x == step || (reads_two(t->kind) && t->y == step) || (t->kind == STEP_CHOOSE && t->z == step));
	}
	return n;
}

/* Marks what is rounded as results are. False if a step beside those on the way to the result reads it, too: it would have another
 * rounding there. Of a choice that is no reason: its own result is rounded then. */
static bool mark_last(struct formula_steps *s, int k, bool on_the_way)
{
	struct formula_step *t = &s->step[k];
	if (t->kind < STEP_NUMBER)
		return true;
	if (readers_of(s, k) > on_the_way)
		return false;
	t->last = true;
	if (t->kind == STEP_NEG || t->kind == STEP_WITHIN)
		return mark_last(s, t->x, true);
	if (t->kind == STEP_EITHER || t->kind == STEP_ORDER) {
		mark_last(s, t->x, true);
		mark_last(s, t->y, true);
	}
	if (t->kind == STEP_CHOOSE) {
		mark_last(s, t->y, true);
		mark_last(s, t->z, true);
	}
	return true;
}

/* One form, up to a '|' or the end. */
static void parse_form(struct parser *p, int k)
{
	static const char *const operands[] = {"a", "b", "c"};
	struct formula_steps *to = p->to;
	to->n = p->nname = 0;
	for (int q = 0; q < sf_operands(p->f); q++)
		give_name(p, operands[q], append(p, (struct formula_step){.kind = STEP_OPERAND, .x = q}));
	if (k >= 0) {
		bool one = formula_gives_one(p->f);
		give_name(p, "g", append(p, (struct formula_step){.kind = STEP_COTANGENT, .per_row = one}));
		give_name(p, "y", append(p, (struct formula_step){.kind = STEP_RESULT, .per_row = one}));
	}
	while (definition(p))
		;
	to->result = choice(p);
	eat(p, ' ');
	if (*p->at && *p->at != '|')
		fail(p, "the steps should end");
	if (!mark_last(to, to->result, false))
		fail(p, "what the result is made of by a sign or a fact is used elsewhere; the text ends");
}

static bool eat_word(struct parser *p, const char *word)
{
	eat(p, ' ');
	bool is = str_starts(p->at, word);
	p->at += is ? strlen(word) : 0;
	return is;
}

void formula_parse(struct formula_text *to, enum sf f, int k)
{
	const char *text = k < 0 ? formula_of[f].value : formula_of[f].derivative[k];
	struct parser p = {.f = f, .start = text, .at = text};
	for (to->nform = 0; !to->nform || eat(&p, '|'); to->nform++) {
		if (to->nform == FORMULA_FORMS)
			fail(&p, "too many forms");
		p.to = &to->form[to->nform];
		p.to->needs = eat_word(&p, "onednn: ") ? LF_ONEDNN
			: eat_word(&p, "product: ")        ? LF_PRODUCT
			: eat_word(&p, "in steps: ")       ? LF_TANHB
			: eat_word(&p, "rounded: ")        ? LF_STEPS
			: eat_word(&p, "fused: ")          ? LF_FUSED
			: eat_word(&p, "decomposed: ")     ? LF_DECOMP
											   : 0;
		const unsigned in_operators = LF_TANHB | LF_STEPS, kernels = LF_ONEDNN | LF_PRODUCT | LF_DECOMP;
		const bool own_kernel = k < 0 ? !(p.to->needs & in_operators) : (p.to->needs & kernels) != 0;
		p.to->kernel = eat_word(&p, "kernel: ") || own_kernel;
		parse_form(&p, k);
	}
	if (to->form[0].needs)
		fail(&p, "the first form is what every target may do; the text ends");
}
