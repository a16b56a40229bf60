/* issue_after.c: what helps, who meets it, what PyTorch's own comparisons say, which issues are alike. */
#include "eager/base/escape.h"
#include "reports/page/issue.h"
#include "reports/page/markup.h"

/* ---- what helps ---------------------------------------------------------------------------------------------------------------------- */

/* "probe.clone=fw:aten.add.Tensor": `add`. NULL: what users cannot write into a model, such as a copy in the backward graph. */
static const char *cloned_by_users(const char *option, struct arena *a)
{
	static const char is[] = "probe.clone=fw:aten.";
	if (!str_starts(option, is))
		return NULL;
	option += strlen(is);
	return arena_printf(a, "%.*s", (int)strcspn(option, "."), option);
}

/* A cure in a sentence for users; options named "probe.…" are the tool's own, and no advice (issue_place.c has them). */
static void put_cure(struct strbuf *sb, const char *option, struct arena *a)
{
	const char *op = cloned_by_users(option, a);
	if (op) {
		sb_puts(sb, "* It is right if what ");
		markup_code(sb, op, MARKUP_LINE);
		sb_puts(sb, " returns is copied before it is used: append `.clone()`.\n");
	} else if (option[0] && !str_starts(option, "probe.")) {
		sb_puts(sb, "* It is right with the compiler's option ");
		markup_code(sb, option, MARKUP_LINE);
		sb_puts(sb, ".\n");
	}
}

/* A stage of the ladder that is right is no advice: nothing, or not the same, is compiled there. */
void issue_helps(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	enum { MOST = 4 };
	struct strbuf helps;
	sb_init(&helps);
	for (int i = 0; i < MIN(json_doc_count(p->facts, "$.cures"), MOST); i++)
		put_cure(&helps, json_doc_text(p->facts, a, "$.cures[%d].option", i), a);
	if (helps.len)
		sb_printf(sb, "### Work-around\n\n%s\n", helps.s);
	sb_free(&helps);
}

/* What users of public functions do not meet; in which sorts the bug was seen. */
void issue_reach(struct strbuf *sb, const struct cause_page *p)
{
	const struct store_cause *c = p->c;
	const bool aten = str_eq(c->reach, "aten");
	if (aten || c->nvariants)
		sb_puts(sb, "### Who meets it\n\n");
	if (aten)
		sb_puts(sb, "Only a direct call of the overload in `torch.ops.aten` met it; by public functions it was not seen.\n\n");
	if (c->nvariants)
		sb_printf(sb, "It was seen in %d variants:\n\n", c->nvariants);
	for (int i = 0; i < c->nvariants; i++) {
		sb_puts(sb, "* ");
		markup_code(sb, c->variant[i].text, MARKUP_LINE);
		sb_printf(sb, ", in %d finding%s\n", c->variant[i].nids, plural(c->variant[i].nids));
	}
	if (c->nvariants)
		sb_putc(sb, '\n');
}

/* ---- PyTorch's own comparisons ------------------------------------------------------------------------------------------------------- */

/* "assert_close: differs; same: differs". */
void issue_same(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	const char *same = json_doc_text(p->facts, a, "$.same");
	for (int i = 0; !same[0] && i < p->f.nevents; i++)
		if (str_eq(p->f.event[i].kind, "excuse"))
			same = p->f.event[i].payload;
	if (!same[0])
		return;
	sb_puts(sb,
		"### What PyTorch's own comparisons say\n\n`assert_close` is that of `torch.testing`, with its default tolerances; `same` is "
		"Dynamo's own:\n\n");
	for (const char *s = same; *s; s += strspn(s, "; ")) {
		const size_t n = strcspn(s, ";");
		sb_puts(sb, "* ");
		markup_code(sb, arena_printf(a, "%.*s", (int)n, s), MARKUP_LINE);
		sb_putc(sb, '\n');
		s += n;
	}
	sb_putc(sb, '\n');
}

/* ---- upstream ------------------------------------------------------------------------------------------------------------------------ */

/* What a remark says beside what the sentence and the issue's head say already. */
const char *issue_remark(const struct upstream_issue *u, struct arena *a)
{
	static const char none[] = "not found upstream", head[] = "not to be filed";
	const char *text = u->remark, *more = str_starts(text, none) ? text + strlen(none) : text, *end = strstr(more, head);
	more += strspn(more, "; :");
	size_t n = end ? (size_t)(MAX(end, more) - more) : strlen(more);
	while (n && strchr("; :,", more[n - 1]))
		n--;
	return arena_printf(a, "%.*s", (int)n, more);
}

static void put_alike(struct strbuf *sb, const struct upstream_issue *u, struct arena *a)
{
	const char *remark = issue_remark(u, a);
	if (str_eq(u->issue, "-")) {
		sb_puts(sb, "* We searched for an issue of ");
		markup_code(sb, u->program, MARKUP_LINE);
		sb_puts(sb, ", a program with the same operators, and found none");
	} else {
		sb_printf(sb, "* <%s>, like ", escaped_line(a, u->issue));
		markup_code(sb, u->program, MARKUP_LINE);
		sb_printf(sb, ", which has %s", u->same ? "the same operators" : "most of its operators in common");
	}
	if (remark[0]) {
		sb_puts(sb, " (");
		markup_text(sb, remark, MARKUP_LINE);
		sb_putc(sb, ')');
	}
	sb_puts(sb, ".\n");
}

void issue_similar(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	int n = 0;
	if (p->c->issue[0]) {
		sb_puts(sb, "### Similar issues\n\nIt is marked as known: ");
		markup_code(sb, p->c->issue, MARKUP_LINE);
		sb_puts(sb, ".\n\n");
	}
	for (int i = 0; i < p->nupstream; i++) {
		if (str_eq(p->upstream[i].issue, "-") && !p->upstream[i].same)
			continue;
		if (!n++ && !p->c->issue[0])
			sb_puts(sb, "### Similar issues\n\n");
		put_alike(sb, &p->upstream[i], a);
	}
	sb_puts(sb, n ? "\n" : "");
}
