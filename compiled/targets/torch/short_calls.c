/* short_calls.c: goes through the texts of all calls side by side. Where numbers differ, a symbol that has these values stands there. */
#include "compiled/targets/torch/short_calls.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "compiled/targets/torch/emit_python.h"
#include "generated/op_id.h"

struct merging {
	const struct prog *p;
	int n;                         /* calls */
	const char *at[MAX_CALLS + 1]; /* where each text is */
	bool symbol[MAX_NODES];        /* it is a parameter */
	bool by_call;                  /* the number of the call is one */
};

static int64_t value_in(const struct prog *p, int node, int call)
{
	for (int i = 0; call > 0 && i < p->call[call - 1].nsym; i++)
		if (p->call[call - 1].sym[i].node == node)
			return p->call[call - 1].sym[i].value;
	return p->node[node].sym_value;
}

/* The symbol that is value[k] in call k; -1: none is. */
static int symbol_of(const struct merging *m, const int64_t *value)
{
	for (int i = 0; i < m->p->nnode; i++) {
		bool is = m->p->node[i].op == OP_sym;
		for (int k = 0; k < m->n && is; k++)
			is = value_in(m->p, i, k) == value[k];
		if (is)
			return i;
	}
	return -1;
}

/* The same integers or a symbol's, at the texts' places, which go behind them. False: neither. */
static bool merge_number(struct strbuf *sb, struct merging *m)
{
	int64_t value[MAX_CALLS + 1];
	bool same = true;
	for (int k = 0; k < m->n; k++) {
		char *end;
		if (!isdigit((unsigned char)*m->at[k]))
			return false;
		value[k] = strtoll(m->at[k], &end, 10);
		same = same && value[k] == value[0];
		if (!same && *end && strchr(".eExX_", *end))
			return false;
		m->at[k] = end;
	}
	const int symbol = same ? -1 : symbol_of(m, value);
	if (same)
		sb_printf(sb, "%" PRId64, value[0]);
	else if (symbol >= 0)
		emit_name(sb, m->p, symbol);
	if (symbol >= 0)
		m->symbol[symbol] = true;
	return same || symbol >= 0;
}

/* One line of each, from m->at on; false: they differ in more than symbols. */
static bool merge_symbols(struct strbuf *sb, struct merging *m)
{
	bool inside = false; /* of a word, or behind the point of a number */
	while (*m->at[0] && *m->at[0] != '\n') {
		if (isdigit((unsigned char)*m->at[0]) && !inside) {
			if (!merge_number(sb, m))
				return false;
			continue;
		}
		const char c = *m->at[0];
		for (int k = 0; k < m->n; k++)
			if (*m->at[k]++ != c)
				return false;
		inside = isalnum((unsigned char)c) || c == '_' || c == '.';
		sb_putc(sb, c);
	}
	for (int k = 0; k < m->n; k++)
		if (*m->at[k] && *m->at[k] != '\n')
			return false;
	return true;
}

/* "x = [A, B][call]" of lines "x = A" and "x = B". */
static bool merge_values(struct strbuf *sb, struct merging *m, const char *const *line)
{
	const char *equals = strstr(line[0], " = ");
	if (!equals || equals > line[0] + strcspn(line[0], "\n"))
		return false;
	const size_t head = (size_t)(equals - line[0]) + strlen(" = ");
	sb_printf(sb, "%.*s[", (int)head, line[0]);
	for (int k = 0; k < m->n; k++) {
		if (strncmp(line[k], line[0], head) != 0)
			return false;
		sb_printf(sb, "%s%.*s", k ? ", " : "", (int)(strcspn(line[k], "\n") - head), line[k] + head);
		m->at[k] = line[k] + strcspn(line[k], "\n");
	}
	sb_puts(sb, "][call]");
	m->by_call = true;
	return true;
}

static bool merge_line(struct strbuf *sb, struct merging *m)
{
	const struct merging before = *m;
	struct strbuf line;
	sb_init(&line);
	bool ok = merge_symbols(&line, m);
	if (!ok) {
		sb_reset(&line);
		*m = before;
		ok = merge_values(&line, m, before.at);
	}
	sb_puts(sb, line.s);
	sb_free(&line);
	for (int k = 0; k < m->n && ok; k++) {
		ok = *m->at[k] == '\n';
		m->at[k] += ok;
	}
	sb_putc(sb, '\n');
	return ok;
}

/* Is it one of "x, n"? */
static bool takes(const char *args, const char *name)
{
	for (const char *s = args; *s;) {
		const size_t n = strcspn(s, ",");
		if (n == strlen(name) && memcmp(s, name, n) == 0)
			return true;
		s += n;
		s += strspn(s, ", ");
	}
	return false;
}

static void parameters(struct short_calls *out, const struct merging *m, const char *args, struct arena *a)
{
	out->n = m->n;
	out->params = "";
	for (int k = 0; k < m->n; k++)
		out->args[k] = "";
	for (int i = 0; i < m->p->nnode; i++) {
		struct strbuf name;
		if (m->p->node[i].op != OP_sym)
			continue;
		sb_init(&name);
		emit_name(&name, m->p, i);
		if (m->symbol[i] || takes(args, name.s)) {
			out->params = arena_printf(a, "%s, %s", out->params, name.s);
			for (int k = 0; k < m->n; k++)
				out->args[k] = arena_printf(a, "%s, %" PRId64, out->args[k], value_in(m->p, i, k));
		}
		sb_free(&name);
	}
	if (!m->by_call)
		return;
	out->params = arena_printf(a, "%s, call", out->params);
	for (int k = 0; k < m->n; k++)
		out->args[k] = arena_printf(a, "%s, %d", out->args[k], k);
}

bool short_calls_of(
	struct short_calls *out, const char *const *text, const struct prog *p, const char *args, struct arena *a, struct err *err)
{
	struct merging *m = ARENA_ZNEW(a, struct merging, 1);
	struct strbuf body;
	bool ok = true;
	m->p = p;
	m->n = p->ncall + 1;
	for (int k = 0; k < m->n; k++)
		m->at[k] = text[k];
	sb_init(&body);
	while (*m->at[0] && ok)
		ok = merge_line(&body, m);
	for (int k = 0; k < m->n; k++)
		ok = ok && !*m->at[k];
	out->body = arena_strdup(a, body.s);
	sb_free(&body);
	parameters(out, m, args, a);
	return ok || err_set(err, "its calls differ in more than their inputs");
}
