/* junit.c: one suite, a case per cause; the elements and attributes that all readers of JUnit's XML know. */
#include "reports/page/ci.h"
#include "reports/page/markup.h"

const char *cause_decision(const struct store_cause *c)
{
	static const char *const decided[] = {"known", "fixed-in", "dismissed", "duplicate"};
	for (int i = 0; !c->open && i < ARRAY_LEN(decided); i++)
		if (cause_has_state(c, decided[i]))
			return decided[i];
	return "open";
}

static void attribute(struct strbuf *sb, const char *name, const char *value)
{
	sb_printf(sb, " %s=\"", name);
	markup_xml(sb, value, MARKUP_LINE);
	sb_putc(sb, '"');
}

/* What is said of it beside its title. */
static void body(struct strbuf *sb, const struct store_cause *c, const char *db)
{
	markup_xml(sb, c->text, MARKUP_LINE);
	sb_putc(sb, '\n');
	if (c->blame[0]) {
		markup_xml(sb, c->blame, MARKUP_LINE);
		sb_putc(sb, '\n');
	}
	sb_printf(sb, "seen %lld time%s in %lld finding%s, last at ", (long long)c->nobs, plural(c->nobs), (long long)c->nfindings,
		plural(c->nfindings));
	markup_xml(sb, c->last_seen, MARKUP_LINE);
	sb_puts(sb, "\n\n");
	markup_xml(sb, c->program, MARKUP_BLOCK);
	sb_printf(sb, "\nscatterproof repro %s --db ", c->id);
	markup_xml(sb, db, MARKUP_LINE);
	sb_putc(sb, '\n');
}

static void put_case(struct strbuf *sb, const struct store_cause *c, const char *db)
{
	sb_puts(sb, "    <testcase");
	attribute(sb, "classname", c->target);
	attribute(sb, "name", c->title);
	sb_puts(sb, ">\n");
	if (c->open) {
		sb_puts(sb, "      <failure");
		attribute(sb, "type", finding_kind_name[c->kind]);
		attribute(sb, "message", c->title);
		sb_puts(sb, ">");
		body(sb, c, db);
		sb_puts(sb, "</failure>\n");
	} else {
		sb_puts(sb, "      <skipped message=\"");
		sb_puts(sb, cause_decision(c));
		sb_puts(sb, c->issue[0] ? ": " : "");
		markup_xml(sb, c->issue, MARKUP_LINE);
		sb_puts(sb, "\"/>\n");
	}
	sb_puts(sb, "    </testcase>\n");
}

void junit_write(struct strbuf *sb, const struct page_store *all)
{
	int open = 0;
	for (int i = 0; i < all->causes.n; i++)
		open += all->causes.cause[i].open;
	sb_puts(sb, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	sb_printf(sb, "<testsuites name=\"scatterproof\" tests=\"%d\" failures=\"%d\" errors=\"0\">\n  <testsuite", all->causes.n, open);
	attribute(sb, "name", all->db);
	sb_printf(sb, " tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\">\n", all->causes.n, open, all->causes.n - open);
	for (int i = 0; i < all->causes.n; i++)
		put_case(sb, &all->causes.cause[i], all->db);
	sb_puts(sb, "  </testsuite>\n</testsuites>\n");
}
