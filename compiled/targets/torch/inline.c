/* inline.c: works on text, because what a node looks like is spell.c's matter. Names of nodes are unlike anything else in it, so that a
 * name is found by looking for it. Only Python's grammar around a name decides on parentheses. */
#include "compiled/targets/torch/inline.h"

#include <ctype.h>
enum { LONGEST = 96, INDENT = 4, MAX_LINES = 256 };

const char *inline_name(int node, struct arena *a) { return arena_printf(a, "_n%d_", node); }

struct lines {
	int n;
	const char *at[MAX_LINES];
};

static int times(const char *text, const char *name)
{
	int n = 0;
	for (const char *s = text; (s = strstr(s, name)); s += strlen(name))
		n++;
	return n;
}

/* One operand of any operator: names, calls, indices, attributes. */
static bool is_primary(const char *e)
{
	int depth = 0;
	if (*e == '-')
		return false;
	for (char quote = 0; *e; e++) {
		if (quote) {
			quote = *e == quote ? 0 : quote;
			continue;
		}
		if (*e == '"' || *e == '\'')
			quote = *e;
		depth += *e == '(' || *e == '[';
		depth -= *e == ')' || *e == ']';
		if (depth == 0 && *e == ' ')
			return false;
	}
	return true;
}

/* Is what stands between before's end and after an operand of nothing: an argument, an entry, a result? */
static bool is_alone(const char *line, const char *before, const char *after)
{
	bool begins = before == line + INDENT + strlen("return ") && strncmp(line + INDENT, "return ", 7) == 0;
	while (before > line + INDENT && before[-1] == ' ')
		before--;
	const char last = before > line ? before[-1] : ' ', second = before > line + 1 ? before[-2] : ' ';
	begins |= last == '(' || last == '[' || last == ',' || (last == '=' && !strchr("=!<>", second));
	return begins && (!*after || strchr(")],", *after));
}

/* The first place in text where something is written; NULL: nowhere. aten's in-place rows are zero_.default and the like. */
static const char *write_in(const char *text)
{
	static const char *const signs[] = {"_(", "inplace=True", "_."};
	const char *first = NULL;
	for (int i = 0; i < ARRAY_LEN(signs); i++) {
		const char *s = i < 2 || strstr(text, "torch.ops.aten.") ? strstr(text, signs[i]) : NULL;
		first = s && (!first || s < first) ? s : first;
	}
	return first;
}

/* Would expr, which is evaluated in the line before, be evaluated elsewhere in time relative to a write? */
static bool crosses_write(const char *expr, const char *line, const char *at)
{
	const char *write = write_in(line), *value = strstr(line, " = ");
	if (write && write < at)
		return true;
	const char *first = strncmp(line + INDENT, "return ", 7) == 0 ? line + INDENT + 7 : value && value < at ? value + 3 : line + INDENT;
	return write_in(expr) && at != first;
}

/* line with expr in place of name; NULL: it should stay a line of its own. */
static const char *put_in(const char *line, const char *name, const char *expr, struct arena *a)
{
	const char *at = strstr(line, name), *after = at + strlen(name);
	const bool target = at == line + INDENT && *after == ' '; /* x += 1 */
	if (target || crosses_write(expr, line, at))
		return NULL;
	const bool bare = is_primary(expr) || is_alone(line, at, after);
	const char *s = arena_printf(a, "%.*s%s%s%s%s", (int)(at - line), line, bare ? "" : "(", expr, bare ? "" : ")", after);
	return strlen(s) <= LONGEST ? s : NULL;
}

/* The expression that line i assigns to a node, and the node's name; false: it is no such line. */
static bool assigns(const char **name, const char **expr, const char *line, struct arena *a)
{
	const char *s = line + INDENT;
	if (strncmp(s, "_n", 2) != 0 || !isdigit((unsigned char)s[2]))
		return false;
	const size_t n = 2 + strspn(s + 2, "0123456789") + 1;
	if (strncmp(s + n, " = ", 3) != 0)
		return false;
	*name = arena_printf(a, "%.*s", (int)n, s);
	*expr = s + n + 3;
	return true;
}

static bool fold_one(struct lines *l, struct arena *a)
{
	for (int i = l->n - 2; i >= 0; i--) {
		const char *name, *expr, *line;
		int uses = 0;
		if (!assigns(&name, &expr, l->at[i], a))
			continue;
		for (int k = 0; k < l->n; k++)
			uses += times(l->at[k], name);
		if (uses != 2 || times(l->at[i + 1], name) != 1 || !(line = put_in(l->at[i + 1], name, expr, a)))
			continue;
		l->at[i] = line;
		l->n--;
		for (int k = i + 1; k < l->n; k++)
			l->at[k] = l->at[k + 1];
		return true;
	}
	return false;
}

/* What a write returns and nobody reads has no name. */
static void drop_unread(struct lines *l, struct arena *a)
{
	for (int i = 0; i < l->n; i++) {
		const char *name, *expr;
		int uses = 0;
		if (!assigns(&name, &expr, l->at[i], a))
			continue;
		for (int k = 0; k < l->n; k++)
			uses += times(l->at[k], name);
		if (uses == 1)
			l->at[i] = arena_printf(a, "%*s%s", INDENT, "", expr);
	}
}

const char *inline_lines(bool *left, const char *body, int n, struct arena *a)
{
	struct lines l = {0};
	struct strbuf sb;
	for (const char *s = body; *s;) {
		const size_t len = strcspn(s, "\n");
		if (l.n == MAX_LINES) {
			memset(left, true, (size_t)n * sizeof *left);
			return body;
		}
		l.at[l.n++] = arena_printf(a, "%.*s", (int)len, s);
		s += len + (s[len] == '\n');
	}
	while (fold_one(&l, a))
		;
	drop_unread(&l, a);
	sb_init(&sb);
	for (int i = 0; i < l.n; i++)
		sb_printf(&sb, "%s\n", l.at[i]);
	for (int i = 0; i < n; i++)
		left[i] = strstr(sb.s, inline_name(i, a)) != NULL;
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}
