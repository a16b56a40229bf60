/* issue_right.c: what was tried beside the failure and how it went: the ladder of stages, the series of a sweep, the versions, and what the
 * store has seen pass. */
#include "reports/page/issue.h"
#include "reports/page/markup.h"

static void put_ladder(struct strbuf *sb, struct json_doc *d, struct arena *a)
{
	const int n = json_doc_count(d, "$.ladder");
	if (!n)
		return;
	sb_puts(sb, "| stage | verdict |\n|---|---|\n");
	for (int i = 0; i < n; i++) {
		sb_puts(sb, "| ");
		markup_code(sb, json_doc_text(d, a, "$.ladder[%d].stage", i), MARKUP_LINE);
		const char *verdict = json_doc_text(d, a, "$.ladder[%d].verdict", i);
		sb_puts(sb, " | ");
		markup_text(sb, str_eq(verdict, "pass") ? "right" : str_eq(verdict, "mismatch") ? "wrong" : verdict, MARKUP_LINE);
		sb_puts(sb, " |\n");
	}
	sb_putc(sb, '\n');
}

static void put_series(struct strbuf *sb, struct json_doc *d, struct arena *a)
{
	int shown = 0;
	for (int i = 0; i < json_doc_count(d, "$.series"); i++) {
		const char *axis = json_doc_text(d, a, "$.series[%d].axis", i), *said = json_doc_text(d, a, "$.series[%d].summary", i);
		if (!axis[0] || !said[0])
			continue;
		sb_puts(sb, "* ");
		markup_text(sb, axis, MARKUP_LINE);
		sb_puts(sb, ": ");
		markup_text(sb, said, MARKUP_LINE);
		sb_putc(sb, '\n');
		shown++;
	}
	sb_puts(sb, shown ? "\n" : "");
}

/* "Wrong on 2.11.0, 2.12.1; right on 2.15.0, the newest here: …" */
static void put_newest(struct strbuf *sb, const struct page_versions *v, const struct page_version *newest)
{
	const char *before = "";
	for (int i = 0; &v->tried[i] != newest; i++) {
		const struct page_version *t = &v->tried[i];
		if (!str_eq(t->verdict, "right") && !str_eq(t->verdict, "wrong"))
			continue;
		if (str_eq(t->verdict, before))
			sb_puts(sb, ", ");
		else if (before[0])
			sb_printf(sb, "; %s on ", t->verdict);
		else
			sb_puts(sb, str_eq(t->verdict, "wrong") ? "Wrong on " : "Right on ");
		markup_text(sb, t->version, MARKUP_LINE);
		before = t->verdict;
	}
	const bool right = str_eq(newest->verdict, "right");
	sb_puts(sb, before[0] ? "; " : "");
	const char *first = right ? "Right" : "Wrong", *behind = right ? "right" : str_eq(before, "wrong") ? "still wrong" : "wrong";
	sb_printf(sb, "%s on ", before[0] ? behind : first);
	markup_text(sb, newest->version, MARKUP_LINE);
	sb_printf(sb, ", the %s here%s.\n\n", v->n > 1 ? "newest" : "only version",
		right ? ": do not file it before you have tried a nightly build" : "");
}

/* Versions that say neither. */
static void put_unclear(struct strbuf *sb, const struct page_versions *v)
{
	int n = 0;
	for (int i = 0; i < v->n; i++) {
		const struct page_version *t = &v->tried[i];
		if (str_eq(t->verdict, "right") || str_eq(t->verdict, "wrong"))
			continue;
		sb_puts(sb, "* ");
		markup_text(sb, t->version, MARKUP_LINE);
		sb_puts(sb, ": ");
		markup_text(sb, t->verdict, MARKUP_LINE);
		if (t->why[0]) {
			sb_puts(sb, ", ");
			markup_text(sb, t->why, MARKUP_LINE);
		}
		sb_putc(sb, '\n');
		n++;
	}
	sb_puts(sb, n ? "\n" : "");
}

static void put_since(struct strbuf *sb, const struct page_versions *v)
{
	const struct page_version *newest = page_versions_newest(v);
	if (newest)
		put_newest(sb, v, newest);
	put_unclear(sb, v);
}

/* Environments in which runs of it passed, and never failed. */
static void put_passed(struct strbuf *sb, const struct cause_page *p)
{
	int n = 0;
	for (int i = 0; i < p->f.nenvs; i++) {
		const struct store_loaded_env *e = &p->f.env[i];
		if (e->nobs || !e->npass)
			continue;
		sb_puts(sb, n++ ? ", " : "Run again, it was right on ");
		markup_code(sb, e->target, MARKUP_LINE);
		if (e->device[0]) {
			sb_puts(sb, " (");
			markup_text(sb, e->device, MARKUP_LINE);
			sb_putc(sb, ')');
		}
	}
	sb_puts(sb, n ? ".\n\n" : "");
}

/* "wrong from: inductor (aot_eager is right); ...": the first clause of a blame. */
static void put_blame(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	static const char from[] = "wrong from: ";
	const char *blame = strstr(p->c->blame, from);
	if (!blame)
		return;
	blame += strlen(from);
	sb_puts(sb, "It is wrong from the stage ");
	markup_text(sb, arena_printf(a, "%.*s", (int)strcspn(blame, ";"), blame), MARKUP_LINE);
	sb_puts(sb, ".\n\n");
}

void issue_right(struct strbuf *sb, const struct cause_page *p, struct arena *a)
{
	struct strbuf right;
	sb_init(&right);
	if (!json_doc_count(p->facts, "$.ladder"))
		put_blame(&right, p, a);
	put_ladder(&right, p->facts, a);
	put_series(&right, p->sweep, a);
	put_passed(&right, p);
	if (right.len)
		sb_printf(sb, "### What is right, what is wrong\n\n%s", right.s);
	sb_reset(&right);
	put_since(&right, &p->versions);
	if (right.len)
		sb_printf(sb, "### Since which version\n\n%s", right.s);
	sb_free(&right);
}
