/* text_read.c: text to programs, by recursive descent over one line at a time.
 *
 * Arguments are read into raw values first (a name, a number, a list ...) and then coerced to the kinds of the operator's schema,
 * so that a bare name like `add` can be resolved by trying its overloads: the first whose schema accepts the raw values wins. */
#include "eager/lang/fill.h"
#include "eager/lang/fx.h"
#include "eager/lang/fx_cut.h"
#include "eager/lang/text_reader.h"
#include "generated/op_input.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- rows ------------------------------------------------------------------------------------------------------------------- */

static bool verify(struct text_reader *r, const struct annotation *an, const struct node *n, const struct meta *m)
{
	struct meta given = an->meta;
	if (given.absent && m->absent)
		return true;
	bool ok = given.absent == m->absent && given.dtype == m->dtype && given.device == m->device && meta_same_sizes(&given, m);
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

static bool arguments(struct text_reader *r, struct raw *raw, int *nraw)
{
	*nraw = 0;
	while (!token_eat(r, ")")) {
		if (*nraw && !token_want(r, ","))
			return false;
		if (token_eat(r, ")"))
			break;
		if (*nraw == MAX_RAW)
			return FAIL(r, "more than %d arguments", MAX_RAW);
		struct text_reader save = *r;
		char name[MAX_NAME];
		token_blanks(r);
		const char *key = NULL;
		if (token_word_char(token_peek(r), true)) {
			if (!token_word(r, name, sizeof name, false))
				return false;
			if (token_eat(r, "="))
				key = arena_strdup(r->a, name);
			else
				r->s = save.s;
		}
		if (!raw_value(r, &raw[*nraw]))
			return false;
		raw[(*nraw)++].name = key;
		while (r->mode == READ_LENIENT && token_peek(r) == '\n')
			token_skip_line(r);
	}
	return true;
}

static bool new_node(struct text_reader *r, const char *name, int line, int col)
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

static bool finish_node(struct text_reader *r, int node, const struct annotation *an, int nan)
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
	if (node_is_sym(n) != an[0].is_sym || (an[0].is_sym && an[0].sym.value != n->sym_value))
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

/* ---- forms of printed graphs ---- */

/* The rest of the line has these characters somewhere. */
static bool line_has(const struct text_reader *r, const char *part)
{
	size_t n = strlen(part);
	for (const char *s = r->s; (size_t)(r->end - s) >= n && *s != '\n'; s++)
		if (memcmp(s, part, n) == 0)
			return true;
	return false;
}

static struct arg sizes(struct prog *p, const struct iexpr *i, int n)
{
	struct arg a = {.tag = ARG_INTS, .n = n, .ints = ARENA_NEW(p->arena, struct iexpr, n)};
	memcpy(a.ints, i, (size_t)n * sizeof *i);
	return a;
}

/* A parameter, an attribute or a declaration: an input with a seed of its own; an integer is what its expression says. */
bool annotated_input(struct text_reader *r, const char *name, int line, int col, const struct annotation *an)
{
	if (an->is_sym)
		return symbol_bind(r, name, &an->sym);
	if (!new_node(r, name, line, col))
		return false;
	int node = r->p->nnode - 1;
	struct prog *p = r->p;
	p->node[node].op = OP_input;
	p->node[node].arg[A_input_size] = sizes(p, an->size, an->meta.rank);
	if (an->has_stride)
		p->node[node].arg[A_input_stride] = sizes(p, an->stride, an->meta.rank);
	p->node[node].arg[A_input_dtype] = arg_dtype(an->meta.dtype);
	p->node[node].arg[A_input_seed] = arg_int(++r->nplaceholder);
	return finish_node(r, node, an, 1);
}

/* What is left of a line without a value: `primals_1: "f32[4][1]cpu"; primals_2: …` of a joint graph declares its inputs one after the
 * other, `primals_1, primals_2, = fx_pytree.tree_flatten_spec(…)` says nothing more. *done: the statement is over. */
static bool declaration(struct text_reader *r, const char *name, int line, int col, const struct annotation *an, int nan, bool *done)
{
	token_blanks(r);
	*done = true;
	if (nan == 1 && (token_peek(r) == ';' || token_line_end(r)))
		return annotated_input(r, name, line, col, an);
	if (!nan && token_peek(r) == ',' && line_has(r, "= fx_pytree.")) {
		while (token_peek(r) && token_peek(r) != '\n')
			r->s++;
		return true;
	}
	*done = false;
	return true;
}

/* FX prints getitem as max_1[0]. */
static bool subscript(struct text_reader *r, int node, const char *tuple, int col, const struct annotation *an, int nan)
{
	struct raw raw[2] = {{.tag = RAW_NODE, .line = r->line, .col = col}, {0}};
	raw[0].node = prog_find(r->p, tuple);
	const bool later = raw[0].node < 0 && r->parts;
	if ((raw[0].node < 0 && !later) || raw[0].node == node)
		return err_at(r->err, r->line, col, "'%s' is not defined", tuple);
	if (!raw_value(r, &raw[1]) || !token_want(r, "]"))
		return false;
	if (later)
		return expand_part(r, tuple, raw[1].tag == RAW_INT ? raw[1].i.value : -1);
	if (r->mode == READ_LENIENT && nan == 1 && raw[1].tag == RAW_INT && raw[1].i.value == 1
		&& expand_has_offsets(r->p, raw[0].node, &an[0]))
		return expand_offsets(r, raw[0].node);
	return raw_resolve(r, node, "getitem", raw, 2, r->line, col);
}

/* The value of one of Python's operators; what PyTorch says that it is must be what it is. */
static bool integer(struct text_reader *r, const char *name, const struct annotation *an)
{
	struct raw v;
	int col = (int)(r->s - r->line_start) + 1;
	if (!raw_value(r, &v))
		return false;
	if (v.tag != RAW_INT)
		return err_at(r->err, r->line, col, "'%s' is annotated as an integer, and is none", name);
	if (v.i.value != an->sym.value)
		return err_at(r->err, an->line, an->col, "'%s' is annotated differently from its value", name);
	return symbol_bind(r, name, &v.i);
}

/* The row gives nothing: what it asserts is judged, that PyTorch raises where it is false is not. */
static bool assertion(struct text_reader *r)
{
	struct raw *raw = ARENA_NEW(r->a, struct raw, MAX_RAW);
	char op[2 * MAX_NAME];
	int nraw;
	token_blanks(r);
	if (!token_word(r, op, sizeof op, true) || !token_want(r, "(") || !arguments(r, raw, &nraw))
		return false;
	return nraw == 0 || raw[0].tag != RAW_NODE || !r->cut || cut_return(r, raw[0].node);
}

static bool node_line(struct text_reader *r)
{
	char name[MAX_NAME], op[2 * MAX_NAME];
	token_blanks(r);
	int line = r->line, col = (int)(r->s - r->line_start) + 1;
	token_eat(r, "%");
	struct annotation *an = ARENA_NEW(r->a, struct annotation, MAX_OUTS);
	int nan, nraw;
	bool done = false;
	if (!token_word(r, name, sizeof name, false) || !annotations_read(r, an, &nan))
		return false;
	if (r->mode == READ_LENIENT && (!declaration(r, name, line, col, an, nan, &done) || done))
		return done && !r->err->msg[0];
	if (!token_want(r, "="))
		return false;
	if (r->mode == READ_LENIENT && nan == 1 && token_eat(r, "self.")) { /* a tensor that the module holds, as _tensor_constant0 */
		char attribute[2 * MAX_NAME];
		return token_word(r, attribute, sizeof attribute, true) && annotated_input(r, name, line, col, an);
	}
	if (r->mode == READ_LENIENT && nan == 0 && line_has(r, "torch.ops.aten._assert_async"))
		return assertion(r);
	if (nan == 1 && an[0].is_sym && r->symbols && !line_has(r, "torch.ops.") && !line_has(r, "(")) /* mul: "Sym(s37**2)" = x * x */
		return integer(r, name, &an[0]);
	if (!new_node(r, name, line, col))
		return false;
	int node = r->p->nnode - 1;
	token_blanks(r);
	int opcol = (int)(r->s - r->line_start) + 1;
	if (!token_word(r, op, sizeof op, true))
		return false;
	if (token_eat(r, "[")) {
		if (!subscript(r, node, op, opcol, an, nan))
			return false;
	} else {
		struct raw *raw = ARENA_NEW(r->a, struct raw, MAX_RAW);
		r->defining = node;
		bool read = token_want(r, "(") && arguments(r, raw, &nraw);
		r->defining = -1;
		const char *row = op;
		if (!read || (r->mode == READ_LENIENT && !rename_row(r, &row, raw, &nraw)))
			return false;
		if (r->mode == READ_LENIENT && expand_later(r, row, raw, nraw))
			return true;
		if (r->mode == READ_LENIENT && expand_knows(row) ? !expand_row(r, row, raw, nraw)
														 : !raw_resolve(r, node, row, raw, nraw, line, opcol))
			return false;
	}
	node = r->p->nnode - 1; /* the last of several */
	for (int k = 0; k < op_info[r->p->node[node].op].nparam; k++)
		if (r->p->node[node].arg[k].tag == ARG_TENSOR && r->p->node[node].arg[k].node == node)
			return err_at(r->err, line, opcol, "'%s' is used in its own definition", name);
	return finish_node(r, node, an, nan);
}

/* A row, or in its place what is left of the graph without it. */
static bool row(struct text_reader *r)
{
	struct text_reader before = *r;
	struct err why = {0};
	bool over = false;
	if (!r->cut)
		return node_line(r);
	if (!cut_passes(r, &over) || over)
		return over;
	before = *r;
	const int nnode = r->p->nnode, nexpr = r->p->nexpr, nbound = r->symbols->n, nsym = r->symbols->nsym;
	r->err = &why;
	bool read = node_line(r);
	r->err = before.err;
	if (read) {
		r->cut->nread += r->p->nnode > nnode && r->p->node[nnode].op != OP_input;
		return true;
	}
	r->p->nnode = nnode;
	r->p->nexpr = nexpr;
	r->symbols->n = nbound;
	r->symbols->nsym = nsym;
	*r = before;
	return cut_row(r, nnode, &why);
}

static bool known_node(struct text_reader *r, int *node)
{
	char name[MAX_NAME];
	token_blanks(r);
	int col = (int)(r->s - r->line_start) + 1;
	if (!token_word(r, name, sizeof name, false))
		return false;
	*node = prog_find(r->p, name);
	return *node >= 0 ? true : err_at(r->err, r->line, col, "'%s' is not defined", name);
}

/* Sizes that the backward needs. They are no results: what they are, the program's own sizes say. */
static bool integer_returned(struct text_reader *r)
{
	char name[MAX_NAME];
	struct iexpr i;
	struct text_reader before = *r;
	struct err ignored = {0};
	r->err = &ignored;
	bool is = token_word(r, name, sizeof name, false);
	int node = is ? prog_find(r->p, name) : -1;
	is = is && (node >= 0 ? node_is_sym(&r->p->node[node]) : symbol_value(r, name, &i));
	r->err = before.err;
	r->s = is ? r->s : before.s;
	return is;
}

/* A value that a graph returns of which rows may have been cut out. */
static bool cut_returned(struct text_reader *r)
{
	char name[MAX_NAME];
	struct text_reader before = *r;
	int node;
	if (!token_word(r, name, sizeof name, false))
		return false;
	if (cut_has(r, name) || cut_elsewhere(r, name))
		return true;
	r->s = before.s;
	return known_node(r, &node) && cut_return(r, node);
}

/* `return (a, None, [b, c])` and `return pytree.tree_unflatten([a, b], self._out_spec)` of a printed graph, over one line or several: its
 * tensors in order. */
static bool returned_tree(struct text_reader *r)
{
	while (token_line_end(r) && r->s < r->end)
		token_skip_line(r);
	const char *close = token_eat(r, "(") ? ")" : token_eat(r, "[") ? "]" : NULL;
	if (!close) {
		if (token_keyword(r, "None") || integer_returned(r))
			return true;
		if (r->cut)
			return cut_returned(r);
		if (r->p->nret == MAX_RETURNS)
			return FAIL(r, "more than %d returned values", MAX_RETURNS);
		return known_node(r, &r->p->ret[r->p->nret]) && (r->p->nret++, true);
	}
	for (;;) {
		while (token_line_end(r) && r->s < r->end)
			token_skip_line(r);
		if (token_eat(r, close))
			return true;
		if (++r->depth > MAX_DEPTH)
			return FAIL(r, "nested deeper than %d", MAX_DEPTH);
		if (!returned_tree(r))
			return false;
		r->depth--;
		while (token_line_end(r) && r->s < r->end)
			token_skip_line(r);
		if (!token_eat(r, ",") && !token_eat(r, close))
			return token_want(r, close);
		if (r->s[-1] == *close)
			return true;
	}
}

static bool graph_return(struct text_reader *r)
{
	if (r->p->nret)
		return FAIL(r, "a second `return`");
	if (!token_eat(r, "pytree.tree_unflatten(")) {
		do
			if (!returned_tree(r))
				return false;
		while (token_eat(r, ","));
		return true;
	}
	if (!returned_tree(r) || !token_want(r, ","))
		return false;
	while (token_peek(r) && token_peek(r) != ')' && token_peek(r) != '\n')
		r->s++;
	return token_want(r, ")");
}

static bool return_line(struct text_reader *r)
{
	const char *close = token_eat(r, "(") ? ")" : token_eat(r, "[") ? "]" : NULL;
	if (r->p->nret)
		return FAIL(r, "a second `return`");
	do {
		if (close && token_eat(r, close))
			return true;
		if (r->p->nret == MAX_RETURNS)
			return FAIL(r, "more than %d returned values", MAX_RETURNS);
		if (!known_node(r, &r->p->ret[r->p->nret]))
			return false;
		r->p->nret++;
	} while (token_eat(r, ","));
	return close ? token_want(r, close) : true;
}

static bool backward_line(struct text_reader *r)
{
	struct prog *p = r->p;
	if (p->has_backward)
		return FAIL(r, "a second `backward`");
	if (!p->nret)
		return FAIL(r, "`backward` before `return`");
	p->has_backward = true;
	if (!token_want(r, "("))
		return false;
	while (!token_eat(r, ")")) {
		if (p->nback && !token_want(r, ","))
			return false;
		if (token_eat(r, ")"))
			break;
		if (p->nback == MAX_RETURNS)
			return FAIL(r, "more than %d cotangents", MAX_RETURNS);
		struct backward *b = &p->back[p->nback];
		if (!known_node(r, &b->node) || !token_want(r, ":") || !known_node(r, &b->cotangent))
			return false;
		for (int k = 0; k < p->nback; k++)
			if (p->back[k].node == b->node)
				return FAIL(r, "backward: '%s' is given twice", p->node[b->node].name);
		p->nback++;
	}
	p->late = token_keyword(r, "late");
	return true;
}

static bool raises_line(struct text_reader *r)
{
	struct raw v;
	if (!r->p->nret)
		return FAIL(r, "`raises` before `return`");
	if (r->raises_line)
		return FAIL(r, "a second `raises`");
	r->raises_line = r->line;
	if (token_line_end(r))
		return true;
	if (token_peek(r) != '"' && token_peek(r) != '\'')
		return FAIL(r, "raises: expected part of the message in quotes");
	if (!raw_string(r, &v, token_peek(r)))
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
			&& (end - s == 6 || !(token_word_char(s[6], false) || s[6] == ':' || strchr("=.(", s[6]))))
			return true;
		while (s < end && *s != '\n')
			s++;
	}
	return false;
}

/* What follows `data`. With other sizes in the same call the numbers are counted when it is bound. */
static bool call_data(struct text_reader *r, struct call_input *in)
{
	struct raw v;
	const struct node *n = &r->p->node[in->node];
	int k = A_input_data, col = (int)(r->s - r->line_start) + 1;
	struct err why = {0};
	if (!token_want(r, "=") || !raw_value(r, &v) || !coerce_data(r, &in->data, &op_info[OP_input], &op_info[OP_input].param[k], &v, r->err))
		return false;
	bool symbolic = false;
	for (int d = 0; d < n->arg[A_input_size].n; d++)
		symbolic = symbolic || n->arg[A_input_size].ints[d].expr >= 0;
	if (!str_eq(n->arg[A_input_fill].str, "dyadic"))
		return err_at(r->err, r->line, col, "call: '%s' has a fill, so no data", n->name);
	return symbolic || fill_data_check(&in->data, &n->out[0].meta, &why) || err_at(r->err, r->line, col, "call: %s", why.msg);
}

static bool call_input(struct text_reader *r, struct call_input *in, int node)
{
	struct raw v;
	if (r->p->node[node].op != OP_input)
		return FAIL(r, "call: '%s' is not an input", r->p->node[node].name);
	*in = (struct call_input){.node = node, .seed = (uint64_t)r->p->node[node].arg[A_input_seed].i.value};
	for (bool any = false;; any = true) {
		if (token_keyword(r, "seed")) {
			if (!token_want(r, "=") || !raw_value(r, &v))
				return false;
			if (v.tag != RAW_INT || v.i.expr >= 0)
				return FAIL(r, "call: a seed is an integer");
			if (v.i.value < 0)
				return FAIL(r, "call: a seed is not negative");
			in->seed = (uint64_t)v.i.value;
		} else if (token_keyword(r, "fill")) {
			char w[MAX_NAME];
			if (!token_want(r, "=") || !token_word(r, w, sizeof w, false))
				return false;
			if (fill_find(w) < 0)
				return FAIL(r, "call: fill '%s' is unknown (%s)%s", w, fill_names(), fill_guess(&(struct guess){0}, w));
			in->fill = arena_strdup(r->a, w);
		} else if (token_keyword(r, "data")) {
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

static bool call_line(struct text_reader *r)
{
	struct prog *p = r->p;
	if (p->ncall == MAX_CALLS)
		return FAIL(r, "more than %d calls", MAX_CALLS);
	struct call *c = &p->call[p->ncall];
	*c = (struct call){
		.input = ARENA_NEW(r->a, struct call_input, MAX_NODES), .sym = ARENA_NEW(r->a, struct call_sym, MAX_SYMS), .line = r->line};
	if (!token_want(r, "("))
		return false;
	for (int n = 0; !token_eat(r, ")"); n++) {
		int node;
		if (n && !token_want(r, ","))
			return false;
		if (token_eat(r, ")"))
			break;
		if (!known_node(r, &node))
			return false;
		if (in_call(c, node))
			return FAIL(r, "call: '%s' is given twice", p->node[node].name);
		if (token_eat(r, ":")) {
			if (!call_input(r, &c->input[c->ninput++], node))
				return false;
		} else {
			struct raw v;
			if (!token_want(r, "=") || !raw_value(r, &v))
				return false;
			if (v.tag != RAW_INT || v.i.expr >= 0 || p->node[node].op != OP_sym || c->nsym == MAX_SYMS)
				return FAIL(r, "call: '%s' is not a symbol given an integer", p->node[node].name);
			c->sym[c->nsym++] = (struct call_sym){node, v.i.value};
		}
	}
	p->ncall++;
	return true;
}

/* Behind `x:`. One that cannot be said is nothing that a graph without some of its rows needs. */
static bool parameter(struct text_reader *r, const char *name, int line, int col)
{
	struct annotation an;
	struct raw text;
	struct text_reader before = *r;
	struct err why = {0};
	r->err = r->cut ? &why : before.err;
	bool read = annotation_read(r, &an), late = read && r->cut && r->cut->late && !an.is_sym;
	if (late)
		cut_later(r, name, line, col, &an);
	read = read && (late || annotated_input(r, name, line, col, &an));
	r->err = before.err;
	if (read || !r->cut)
		return read;
	r->s = before.s;
	token_blanks(r);
	cut_parameter(r, name, &why);
	return token_peek(r) == '"' ? raw_string(r, &text, '"') : FAIL(r, "expected an annotation in double quotes");
}

/* def forward(self, x: "f32[4, 13][13, 1]cpu", ...): each parameter becomes an input with a seed of its own. */
static bool def_line(struct text_reader *r)
{
	char name[MAX_NAME];
	if (!token_word(r, name, sizeof name, false) || !token_want(r, "("))
		return false;
	while (!token_eat(r, ")")) {
		while (token_line_end(r) && r->s < r->end)
			token_skip_line(r);
		if (token_eat(r, ")"))
			break;
		token_blanks(r);
		int line = r->line, col = (int)(r->s - r->line_start) + 1;
		if (!token_word(r, name, sizeof name, false))
			return false;
		if (token_eat(r, ":")) {
			if (!parameter(r, name, line, col))
				return false;
		} else if (!str_eq(name, "self") && !str_eq(name, "primals") && !str_eq(name, "tangents")) { /* those are declared below */
			return err_at(r->err, line, col, "parameter '%s' has no annotation: its sizes are unknown", name);
		}
		token_eat(r, ",");
	}
	token_eat(r, "->");
	while (token_peek(r) && token_peek(r) != '\n')
		r->s++;
	return true;
}

/* surface python: before the first node. A node of that name goes on with ':' or '='. */
static bool surface_line(struct text_reader *r)
{
	char word_[MAX_NAME];
	int col = (int)(r->s - r->line_start) + 1;
	if (r->surface_given)
		return FAIL(r, "a second `surface`");
	if (r->p->nnode)
		return FAIL(r, "`surface` after the first node");
	if (!token_word(r, word_, sizeof word_, false))
		return false;
	for (int k = 0; k < NSURFACES; k++)
		if (str_eq(word_, surface_name[k])) {
			r->p->surface = (enum surface)k;
			r->surface_given = true;
			return true;
		}
	return err_at(r->err, r->line, col, "surface '%s' is unknown (aten, torch, python)", word_);
}

static bool at_surface(struct text_reader *r)
{
	const char *was = r->s;
	if (!token_keyword(r, "surface"))
		return false;
	token_blanks(r);
	if (token_peek(r) != ':' && token_peek(r) != '=')
		return true;
	r->s = was;
	return false;
}

static bool statement(struct text_reader *r)
{
	if (r->mode == READ_LENIENT) {
		if (token_keyword(r, "class") || token_keyword(r, "import") || token_keyword(r, "from")) {
			while (token_peek(r) && token_peek(r) != '\n')
				r->s++;
			return true;
		}
		if (token_keyword(r, "def"))
			return def_line(r);
	}
	if (token_keyword(r, "return")) {
		r->return_line = r->line;
		return r->mode == READ_LENIENT ? graph_return(r) : return_line(r);
	}
	if (token_keyword(r, "backward")) {
		r->backward_line = r->line;
		return backward_line(r);
	}
	if (token_keyword(r, "raises"))
		return raises_line(r);
	if (token_keyword(r, "call"))
		return call_line(r);
	if (at_surface(r))
		return surface_line(r);
	if (r->p->nret)
		return FAIL(r, "a node after `return`");
	return row(r);
}

/* `;  x = y = None` says when a tensor goes; another declaration is a statement of its own. */
static void after_semicolon(struct text_reader *r)
{
	bool declares = line_has(r, "\"");
	while (!declares && token_peek(r) && token_peek(r) != '\n')
		r->s++;
}

static bool header(struct text_reader *r)
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

static bool read_text(
	struct prog *out, struct fx_cut *cut, struct symbols *symbols, struct arena *a, const char *text, size_t len, int mode, struct err *err)
{
	struct prog p;
	prog_init(&p, a);
	struct err local = {0};
	struct text_reader r = {.p = &p,
		.a = a,
		.s = text,
		.end = text + len,
		.line_start = text,
		.line = 1,
		.mode = mode,
		.defining = -1,
		.symbols = symbols,
		.cut = cut,
		.err = err ? err : &local};
	if (len > MAX_TEXT)
		return FAIL(&r, "program text longer than %d bytes", MAX_TEXT);
	if (!header(&r))
		return false;
	p.must_raise = says_raises(text, r.end);
	while (r.s < r.end) {
		while (!token_line_end(&r)) {
			if (!statement(&r))
				return false;
			if (mode == READ_LENIENT && token_eat(&r, ";"))
				after_semicolon(&r);
			else if (!token_line_end(&r))
				return FAIL(&r, "unexpected text after the end of the statement");
		}
		token_skip_line(&r);
	}
	if (!p.nret && !r.return_line && !(cut && cut->next >= 0))
		return FAIL(&r, "no `return`");
	if (cut)
		cut_returns(&p, cut, 0);
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
	if (!prog_validate_calls(&p, r.err))
		return false;
	*out = p;
	return true;
}

/* With the first values of its symbols that all rows can have; else with what is wrong with the first of all. Rows that are cut out are
 * what is wrong, too. */
static bool read_printed(struct prog *out, struct fx_cut *cut, struct arena *a, const char *text, size_t len, struct err *err)
{
	enum { ATTEMPTS = 3 };
	struct symbols *y = ARENA_NEW(a, struct symbols, 1);
	struct err other = {0};
	bool read = false;
	for (int i = 0; i < ATTEMPTS; i++) {
		struct fx_cut now = cut ? (struct fx_cut){.arena = a, .from = cut->from, .late = cut->late, .next = -1} : (struct fx_cut){0};
		struct prog p;
		*y = (struct symbols){.attempt = i};
		bool ok = read_text(&p, cut ? &now : NULL, y, a, text, len, READ_LENIENT, i ? err_clear(&other) : err);
		bool better = ok && (!read || (cut && now.ncut < cut->ncut));
		if (better)
			*out = p;
		if (better && cut)
			*cut = now;
		read |= ok;
		if ((read && (!cut || !cut->ncut)) || !y->nsym)
			break;
	}
	if (read && err)
		err_clear(err);
	return read;
}

bool prog_read(struct prog *out, struct arena *a, const char *text, size_t len, int mode, struct err *err)
{
	return mode == READ_LENIENT ? read_printed(out, NULL, a, text, len, err) : read_text(out, NULL, NULL, a, text, len, mode, err);
}

bool fx_read_cut(struct prog *out, struct fx_cut *cut, struct arena *a, const char *text, size_t len, struct err *err)
{
	return read_printed(out, cut, a, text, len, err);
}
