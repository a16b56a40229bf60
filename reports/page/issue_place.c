/* issue_place.c: the operator that triage suspects, what is predicted wrong about it, and the lines of the kept graphs that call it. */
#include "reports/page/issue.h"
#include "reports/page/markup.h"

enum { MOST_LINES = 4, MOST_CURES = 3 };

/* Of facts; else what the wrong prediction is of; else what the cause ends with, if it is a name: "...; aten.slice_scatter". */
static const char *suspect(const struct cause_page *p, struct arena *a)
{
	static const char *const paths[] = {"$.suspect.op", "$.predicted.op"};
	for (int i = 0; i < ARRAY_LEN(paths); i++)
		if (json_doc_has(p->facts, "%s", paths[i]))
			return json_doc_text(p->facts, a, "%s", paths[i]);
	const char *last = strstr(p->c->text, "; aten.");
	return last && p->c->triaged && !strpbrk(last + 2, " ,;") ? last + 2 : "";
}

static bool wants_backward(const struct cause_page *p, struct arena *a)
{
	return str_eq(json_doc_text(p->facts, a, "$.predicted.backward"), "1")
		|| strstr(json_doc_text(p->facts, a, "$.suspect.graph"), "backward")
		|| str_starts(json_doc_text(p->facts, a, "$.suspect.graph"), "bw");
}

/* Does the line call it? "torch.ops.aten.slice_scatter.default(" for aten.slice_scatter or aten.slice_scatter.default. */
static bool calls(const char *line, const char *op)
{
	const char *at = strstr(line, op);
	for (; at; at = strstr(at + 1, op)) {
		const char before = at == line ? ' ' : at[-1], after = at[strlen(op)];
		if ((before == '.' || before == ' ') && (after == '(' || after == '.'))
			return true;
	}
	return false;
}

/* The lines of a graph that call op, without what frees memory behind them. */
static void find_lines(struct strbuf *out, const char *graph, const char *op, struct arena *a)
{
	int n = 0;
	for (const char *s = graph; *s && n < MOST_LINES;) {
		const size_t len = strcspn(s, "\n");
		const char *line = arena_printf(a, "%.*s", (int)len, s);
		line += strspn(line, " \t");
		if (line[0] != '#' && calls(line, op)) {
			const char *frees = strstr(line, ";  ");
			sb_printf(out, "%.*s\n", frees ? (int)(frees - line) : (int)strlen(line), line);
			n++;
		}
		s += len + (s[len] == '\n');
	}
}

static bool put_graph(struct strbuf *sb, const struct cause_page *p, const char *name, const char *op, struct arena *a)
{
	const struct store_loaded_artifact *kept = store_loaded_artifact(&p->f, name);
	struct strbuf lines;
	if (!kept)
		return false;
	sb_init(&lines);
	find_lines(&lines, kept->bytes, op, a);
	const bool some = lines.len != 0;
	if (some) {
		sb_printf(sb, "In the %s:\n\n", name);
		markup_fence(sb, "python", lines.s, MARKUP_BLOCK);
		sb_putc(sb, '\n');
	}
	sb_free(&lines);
	return some;
}

/* The one in which it is said to be; without that, both. */
static void put_graphs(struct strbuf *sb, const struct cause_page *p, const char *op, struct arena *a)
{
	static const char *const name[] = {"forward graph", "backward graph", "graph"};
	if (wants_backward(p, a) && put_graph(sb, p, name[1], op, a))
		return;
	for (int i = 0; i < ARRAY_LEN(name); i++)
		put_graph(sb, p, name[i], op, a);
}

static const char *layout(struct json_doc *d, const char *side, struct arena *a)
{
	return arena_printf(a, "size %s, strides %s, offset %s", json_doc_text(d, a, "$.predicted.%s.size", side),
		json_doc_text(d, a, "$.predicted.%s.stride", side), json_doc_text(d, a, "$.predicted.%s.offset", side));
}

static void put_predicted(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	if (!json_doc_has(p->facts, "$.predicted.op"))
		return;
	sb_puts(sb,
		"The layout of its result is predicted wrong, and whoever reads the result goes by that:\n\n"
		"| | layout |\n|---|---|\n| predicted (fake tensor) | ");
	markup_code(sb, layout(p->facts, "fake", a), MARKUP_LINE);
	sb_puts(sb, " |\n| real | ");
	markup_code(sb, layout(p->facts, "real", a), MARKUP_LINE);
	sb_puts(sb, " |\n\n");
}

/* "fake predicts … wrong: fake … real …", of a store that has no facts: the clause of its blame. */
static void put_predicted_in_blame(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *clause = strstr(p->c->blame, "fake predicts ");
	if (!clause || json_doc_has(p->facts, "$.predicted.op"))
		return;
	sb_puts(sb, "PyTorch's ");
	markup_text(sb, arena_printf(a, "%.*s", (int)strcspn(clause, ";"), clause), MARKUP_LINE);
	sb_puts(sb, ".\n\n");
}

/* "probe.clone=bw:aten.expand.default", "probe.fallback=aten.expand.default": "aten.expand.default"; of others the whole option. */
static const char *cured_op(const struct cause_page *p, int i, struct arena *a)
{
	const char *option = json_doc_text(p->facts, a, "$.cures[%d].option", i), *op = strstr(option, "aten.");
	return op ? op : option[0] ? option : json_doc_text(p->facts, a, "$.cures[%d].what", i);
}

static bool cured_before(const struct cause_page *p, int i, struct arena *a)
{
	for (int k = 0; k < i; k++)
		if (str_eq(cured_op(p, k, a), cured_op(p, i, a)))
			return true;
	return false;
}

/* What was changed to see who is to blame, and made it right. */
static void put_cures(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	static const char by[] = "cured by ";
	const int n = json_doc_count(p->facts, "$.cures");
	const char *blame = strstr(p->c->blame, by);
	if (!n && !blame)
		return;
	sb_puts(sb, "Each of these alone makes it right, which says where the fault is:\n\n");
	for (int i = 0, shown = 0; i < n && shown < MOST_CURES; i++) {
		if (cured_before(p, i, a))
			continue;
		sb_puts(sb, "* ");
		markup_text(sb, json_doc_text(p->facts, a, "$.cures[%d].what", i), MARKUP_LINE);
		sb_putc(sb, '\n');
		shown++;
	}
	if (!n) {
		blame += strlen(by);
		sb_puts(sb, "* ");
		markup_text(sb, arena_printf(a, "%.*s", (int)strcspn(blame, ";"), blame), MARKUP_LINE);
		sb_putc(sb, '\n');
	}
	sb_putc(sb, '\n');
}

/* "its layout is predicted wrong, and cloning … cures the failure": the table and the list of cures say that. */
static bool said_below(const struct cause_page *p, const char *why)
{
	return (json_doc_has(p->facts, "$.predicted.op") && strstr(why, "predicted wrong"))
		|| (json_doc_count(p->facts, "$.cures") && strstr(why, "cures the failure"));
}

void issue_place(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *op = suspect(p, a), *why = json_doc_text(p->facts, a, "$.suspect.why"),
			   *first = json_doc_text(p->facts, a, "$.first_wrong");
	struct strbuf place;
	sb_init(&place);
	if (op[0]) {
		sb_puts(&place, "The suspect is ");
		markup_code(&place, op, MARKUP_LINE);
		sb_puts(&place, wants_backward(p, a) ? " in the backward graph" : "");
		if (why[0] && !said_below(p, why)) {
			sb_puts(&place, ": ");
			markup_text(&place, why, MARKUP_LINE);
		}
		sb_puts(&place, ".\n\n");
		put_predicted(&place, p, a);
		put_predicted_in_blame(&place, p, a);
		put_graphs(&place, p, op, a);
		issue_code(&place, p, op, wants_backward(p, a), a);
	}
	if (first[0]) {
		sb_puts(&place, "The first value that is wrong is ");
		markup_title(&place, first);
		sb_puts(&place, ".\n\n");
	}
	put_cures(&place, p, a);
	if (place.len)
		sb_printf(sb, "### Where it goes wrong\n\n%s", place.s);
	sb_free(&place);
}
