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

/* What a row that was cut out reads: tensors that are computed. Returns whether it names something that is gone. */
static bool operands(struct text_reader *r)
{
	bool lacks = false;
	while (token_peek(r) && token_peek(r) != '\n' && token_peek(r) != ';') {
		char name[MAX_NAME];
		if (!token_word_char(token_peek(r), true)) {
			r->s++;
			continue;
		}
		size_t n = 0;
		const char *from = r->s;
		while (r->s < r->end && (token_word_char(*r->s, false) || *r->s == '.'))
			r->s++, n++;
		if (n >= sizeof name)
			continue;
		memcpy(name, from, n);
		name[n] = 0;
		int node = prog_find(r->p, name);
		lacks |= cut_has(r, name);
		if (node >= 0 && r->p->node[node].op != OP_input && r->p->node[node].nout == 1 && !node_is_sym(&r->p->node[node]))
			cut_return(r, node);
	}
	return lacks;
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
	}
	bool defines = token_eat(r, "=");
	r->err = err;
	if (!defines) {
		cut_name(r, name);
		return skip_row(r);
	}
	operator_name(r, op, sizeof op);
	const bool part = token_peek(r) == '[' && cut_has(r, op), lacks = operands(r) || part;
	const bool unknown = str_starts(why->msg, "unknown operator");
	r->cut->ncut += !part; /* a part of what was cut out is no row of its own */
	r->cut->nwithout += lacks && !part && !unknown;
	if (!part && (unknown || !lacks))
		note(r->cut, op, unknown ? NULL : why->msg, why->line ? why->line : line);
	as_input(r, name, line, col, an, nan);
	return skip_row(r);
}

void cut_returns(struct prog *p, const struct fx_cut *cut)
{
	p->nret = MIN(cut->nwant, MAX_RETURNS);
	if (p->nret)
		memcpy(p->ret, cut->want, (size_t)p->nret * sizeof *p->ret);
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
