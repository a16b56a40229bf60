/* text_cut.c: rows that cannot be read, cut out of a printed graph (fx_cut.h). The reader tries a row and comes here with the reason if
 * that failed; nothing of the attempt is left. */
#include "eager/lang/fx_cut.h"
#include "eager/lang/text_reader.h"
#include "generated/op_input.h"

void cut_name(struct text_reader *r, const char *name)
{
	struct fx_cut *c = r->cut;
	if (!(c->ngone & (c->ngone - 1)))
		c->gone = ARENA_GROW(c->arena, const char *, c->gone, c->ngone, MAX(2 * c->ngone, 1));
	c->gone[c->ngone++] = arena_strdup(c->arena, name);
}

bool cut_has(const struct text_reader *r, const char *name)
{
	for (int i = 0; i < r->cut->ngone; i++)
		if (str_eq(r->cut->gone[i], name))
			return true;
	return false;
}

bool cut_return(struct text_reader *r, int node)
{
	struct fx_cut *c = r->cut;
	for (int i = 0; i < c->nwant; i++)
		if (c->want[i] == node)
			return true;
	if (!c->want)
		c->want = ARENA_NEW(c->arena, int, MAX_NODES);
	c->want[c->nwant++] = node;
	return true;
}

static void note(struct fx_cut *c, const char *op, const char *why, int line)
{
	if (str_starts(op, "torch.ops."))
		op += 10;
	for (int i = 0; i < c->nmissing; i++)
		if (str_eq(c->missing[i].op, op) && !c->missing[i].why == !why) {
			c->missing[i].count++;
			return;
		}
	if (c->nmissing < MAX_MISSING)
		c->missing[c->nmissing++] = (struct fx_missing){arena_strdup(c->arena, op), why ? arena_strdup(c->arena, why) : NULL, 1, line};
}

/* One that cannot be said is as good as a row that gives it. */
void cut_parameter(struct text_reader *r, const char *name, const struct err *why)
{
	r->cut->ncut++;
	note(r->cut, name, why->msg, why->line ? why->line : r->line);
	cut_name(r, name);
}

static bool skip_row(struct text_reader *r)
{
	while (token_peek(r) && token_peek(r) != '\n')
		r->s++;
	return true;
}

/* ---- rows before and after ---- */

/* A value of a row that was passed over, or a parameter. */
struct cut_late {
	const char *name;
	int line, col;
	struct annotation an;
};

void cut_later(struct text_reader *r, const char *name, int line, int col, const struct annotation *an)
{
	struct fx_cut *c = r->cut;
	struct cut_late *late = (struct cut_late *)c->late_name;
	if (!(c->nlate & (c->nlate - 1)))
		late = ARENA_GROW(c->arena, struct cut_late, late, c->nlate, MAX(2 * c->nlate, 1));
	late[c->nlate++] = (struct cut_late){arena_strdup(c->arena, name), line, col, *an};
	c->late_name = late;
}

static const struct cut_late *late_of(const struct fx_cut *c, const char *name)
{
	for (int i = 0; i < c->nlate; i++)
		if (str_eq(c->late_name[i].name, name))
			return &c->late_name[i];
	return NULL;
}

bool cut_elsewhere(const struct text_reader *r, const char *name) { return prog_find(r->p, name) < 0 && late_of(r->cut, name); }

/* The next word on this line (of the row that stands there): false at its end, or where the row says which tensors go. */
static bool next_word(struct text_reader *r, char out[MAX_NAME])
{
	for (;;) {
		while (token_peek(r) && token_peek(r) != '\n' && token_peek(r) != ';' && !token_word_char(token_peek(r), true))
			r->s++;
		if (!token_peek(r) || token_peek(r) == '\n' || token_peek(r) == ';')
			return false;
		size_t n = 0;
		const char *from = r->s;
		while (r->s < r->end && (token_word_char(*r->s, false) || *r->s == '.'))
			r->s++, n++;
		if (n >= MAX_NAME)
			continue;
		memcpy(out, from, n);
		out[n] = 0;
		return true;
	}
}

/* One that is passed over: its value may be needed later. */
static bool pass_row(struct text_reader *r)
{
	char name[MAX_NAME];
	struct annotation *an = ARENA_NEW(r->a, struct annotation, MAX_OUTS);
	struct err ignored = {0}, *err = r->err;
	int nan = 0;
	const int line = r->line, col = (int)(r->s - r->line_start) + 1;
	if (!token_word(r, name, sizeof name, false))
		return false;
	r->err = &ignored;
	bool said = annotations_read(r, an, &nan) && nan == 1 && !an[0].meta.absent;
	if (said && an[0].is_sym)
		symbol_bind(r, name, &an[0].sym);
	else if (said)
		cut_later(r, name, line, col, &an[0]);
	else
		cut_name(r, name);
	r->err = err;
	return skip_row(r);
}

/* What the rows from here on read, and what the graph returns, is returned by this program. */
static void stop(struct text_reader *r)
{
	r->cut->next = r->cut->row;
	for (; r->s < r->end; r->s++) {
		char name[MAX_NAME];
		while (next_word(r, name)) {
			int node = prog_find(r->p, name);
			if (node >= 0 && r->p->node[node].op != OP_input && r->p->node[node].nout == 1 && !node_is_sym(&r->p->node[node]))
				cut_return(r, node);
		}
		while (token_peek(r) && token_peek(r) != '\n')
			r->s++;
	}
	r->s = r->end;
}

bool cut_passes(struct text_reader *r, bool *over)
{
	enum { ROOM = MAX_LIST + MAX_ARGS + 2 }; /* nodes that one row may need: operands that come late, symbols */
	struct fx_cut *c = r->cut;
	const char *at = r->s;
	char name[MAX_NAME];
	*over = true;
	if (c->row < c->from) {
		c->row++;
		return pass_row(r);
	}
	if (r->p->nnode > MAX_NODES - ROOM) {
		stop(r);
		return true;
	}
	c->row++;
	*over = false;
	while (next_word(r, name)) {
		const struct cut_late *late = prog_find(r->p, name) < 0 ? late_of(c, name) : NULL;
		if (late && !annotated_input(r, name, late->line, late->col, &late->an))
			return false;
	}
	r->s = at;
	return true;
}

/* What a row that was cut out reads: tensors that are computed. Returns whether it names something that is gone. */
static bool operands(struct text_reader *r)
{
	char name[MAX_NAME];
	bool lacks = false;
	while (next_word(r, name)) {
		int node = prog_find(r->p, name);
		lacks |= cut_has(r, name);
		if (node >= 0 && r->p->node[node].op != OP_input && r->p->node[node].nout == 1 && !node_is_sym(&r->p->node[node]))
			cut_return(r, node);
	}
	return lacks;
}

/* The operator's name as it stands there; an expression of Python's is named by what it begins with. */
static void operator_name(struct text_reader *r, char *out, size_t max)
{
	size_t n = 0;
	token_blanks(r);
	while (r->s < r->end && n + 1 < max && (token_word_char(*r->s, false) || *r->s == '.'))
		out[n++] = *r->s++;
	out[n] = 0;
}

/* Its value becomes an input if it has sizes that can be said. */
static void as_input(struct text_reader *r, const char *name, int line, int col, const struct annotation *an, int nan)
{
	struct err ignored = {0}, *err = r->err;
	const int nnode = r->p->nnode;
	r->err = &ignored;
	bool said = nan == 1 && !an[0].is_sym && !an[0].meta.absent && annotated_input(r, name, line, col, &an[0]);
	r->err = err;
	if (said)
		return;
	r->p->nnode = nnode;
	cut_name(r, name);
}

bool cut_row(struct text_reader *r, int nnode, const struct err *why)
{
	char name[MAX_NAME], op[2 * MAX_NAME];
	struct annotation *an = ARENA_NEW(r->a, struct annotation, MAX_OUTS);
	struct err ignored = {0}, *err = r->err;
	int nan = 0;
	bool annotated = true;
	token_blanks(r);
	const int line = r->line, col = (int)(r->s - r->line_start) + 1;
	CHECK(r->p->nnode == nnode);
	if (!token_word(r, name, sizeof name, false))
		return false;
	r->err = &ignored;
	if (!annotations_read(r, an, &nan)) { /* of a dtype that programs do not have: behind its quotes */
		nan = 0;
		while (token_peek(r) && token_peek(r) != '\n' && token_peek(r) != '=')
			r->s++;
	} else {
		annotated = nan > 0;
	}
	bool defines = token_eat(r, "=");
	r->err = err;
	if (!defines) {
		cut_name(r, name);
		return skip_row(r);
	}
	operator_name(r, op, sizeof op);
	if (!annotated && str_starts(op, "self.")) /* a graph within the graph: no operator; what takes it is one, and is cut out */
		return skip_row(r);
	const bool part = token_peek(r) == '[' && cut_has(r, op), lacks = operands(r) || part;
	const bool unknown = str_starts(why->msg, "unknown operator") || str_starts(op, "torch.ops.higher_order.");
	r->cut->ncut += !part; /* a part of what was cut out is no row of its own */
	r->cut->nwithout += lacks && !part && !unknown;
	if (!part && (unknown || !lacks))
		note(r->cut, op, unknown ? NULL : why->msg, why->line ? why->line : line);
	as_input(r, name, line, col, an, nan);
	return skip_row(r);
}

void cut_returns(struct prog *p, const struct fx_cut *cut, int from)
{
	p->nret = MIN(cut->nwant - from, MAX_RETURNS);
	if (p->nret > 0)
		memcpy(p->ret, cut->want + from, (size_t)p->nret * sizeof *p->ret);
}

/* ---- a graph as programs -------------------------------------------------------------------------------------------------------- */

static void add_missing(struct fx_cut *all, const struct fx_missing *m)
{
	int i = 0;
	while (i < all->nmissing && !(str_eq(all->missing[i].op, m->op) && !all->missing[i].why == !m->why))
		i++;
	if (i < all->nmissing)
		all->missing[i].count += m->count;
	else if (i < MAX_MISSING)
		all->missing[all->nmissing++] = *m;
}

static void add_cut(struct fx_cut *all, const struct fx_cut *one)
{
	all->nread += one->nread;
	all->ncut += one->ncut;
	all->nwithout += one->nwithout;
	for (int i = 0; i < one->nmissing; i++)
		add_missing(all, &one->missing[i]);
}

/* One reading: as many programs as its results need. */
static void add_programs(struct prog **out, int *n, const struct prog *p, const struct fx_cut *cut, struct arena *a)
{
	for (int from = 0; from == 0 || from < cut->nwant; from += MAX_RETURNS) {
		if (!(*n & (*n - 1)))
			*out = ARENA_GROW(a, struct prog, *out, *n, MAX(2 * *n, 1));
		prog_clone(&(*out)[*n], p, a);
		cut_returns(&(*out)[(*n)++], cut, from);
	}
}

int fx_programs(struct prog **out, struct fx_cut *cut, struct arena *a, const char *text, size_t len, struct err *err)
{
	struct prog p;
	struct fx_cut *one = ARENA_NEW(a, struct fx_cut, 1);
	int n = 0;
	*out = NULL;
	*cut = (struct fx_cut){.arena = a};
	*one = (struct fx_cut){.arena = a};
	if (!fx_read_cut(&p, one, a, text, len, err))
		return 0;
	bool late = one->next >= 0;
	for (int from = 0; late && from >= 0; from = one->next) {
		*one = (struct fx_cut){.arena = a, .from = from, .late = true};
		if (!fx_read_cut(&p, one, a, text, len, err))
			return 0;
		add_cut(cut, one);
		if (one->nread)
			add_programs(out, &n, &p, one, a);
	}
	if (!late) {
		add_cut(cut, one);
		add_programs(out, &n, &p, one, a);
	}
	return n;
}

void fx_cut_print(struct strbuf *sb, const struct fx_cut *cut, int line)
{
	for (int i = 0; i < cut->nmissing; i++) {
		const struct fx_missing *m = &cut->missing[i];
		const bool many = m->count > 1;
		sb_printf(sb, "%s%s", i ? ", " : "", m->op);
		if (!many && !m->why && !line)
			continue;
		sb_puts(sb, " (");
		if (many)
			sb_printf(sb, "%d times", m->count);
		if (line)
			sb_printf(sb, "%sline %d", many ? ", first in " : "", line + m->line - 1);
		if (m->why)
			sb_printf(sb, "%s%s", many || line ? ": " : "", m->why);
		sb_puts(sb, ")");
	}
}

/* ---- the user's lines ------------------------------------------------------------------------------------------------------ */

/* "# File: /home/me/model.py:8 in forward, code: y = self.l(x)", also behind "Backward of forward node: ". */
static const char *file_comment(const char *s, const char *eol)
{
	static const char mark[] = "File: ";
	while (s < eol && (*s == ' ' || *s == '\t'))
		s++;
	if (s >= eol || *s != '#')
		return NULL;
	for (; (size_t)(eol - s) >= sizeof mark; s++)
		if (memcmp(s, mark, sizeof mark - 1) == 0)
			return s + sizeof mark - 1;
	return NULL;
}

void fx_source(struct strbuf *sb, const char *text, size_t len, int line)
{
	static const char code[] = ", code: ";
	const char *end = text + len, *found = NULL, *found_end = NULL;
	for (const char *s = text; s < end && line > 0; line--) {
		const char *eol = memchr(s, '\n', (size_t)(end - s));
		eol = eol ? eol : end;
		const char *at = file_comment(s, eol);
		if (at)
			found = at, found_end = eol;
		else if (eol - s > 4 && memchr(s, '#', (size_t)(eol - s)) && strstr(s, "# No stacktrace") && strstr(s, "# No stacktrace") < eol)
			found = NULL;
		s = eol < end ? eol + 1 : end;
	}
	if (!found)
		return;
	for (const char *s = found; s < found_end; s++)
		if ((size_t)(found_end - s) > sizeof code && memcmp(s, code, sizeof code - 1) == 0) {
			sb_put(sb, found, (size_t)(s - found));
			sb_puts(sb, ": ");
			sb_put(sb, s + sizeof code - 1, (size_t)(found_end - s) - sizeof code + 1);
			return;
		}
	sb_put(sb, found, (size_t)(found_end - found));
}
