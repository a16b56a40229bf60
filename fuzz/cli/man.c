/* man.c: roff with the few macros of man(7). */
#include "fuzz/cli/man.h"

#include "eager/base/escape.h"
#include "fuzz/ask/findings_options.h"
#include "fuzz/ask/options.h"
#include "fuzz/ask/pager.h"

/* Text as roff means it: no request at the beginning of a line, hyphens that can be copied, characters beyond ASCII by their code. */
static void put_text(struct strbuf *sb, const char *s)
{
	const size_t n = strlen(s);
	uint32_t code;
	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		len = utf8_read(&code, s + i, n - i);
		if ((i == 0 || s[i - 1] == '\n') && (s[i] == '.' || s[i] == '\''))
			sb_puts(sb, "\\&");
		if (s[i] == '\\')
			sb_puts(sb, "\\(rs");
		else if (s[i] == '-')
			sb_puts(sb, "\\-");
		else if (s[i] == '`')
			sb_puts(sb, "\\(ga");
		else if (s[i] == '\'')
			sb_puts(sb, "\\(aq");
		else if (len > 1)
			sb_printf(sb, "\\[u%04X]", (unsigned)code);
		else
			sb_putc(sb, s[i]);
	}
}

static void line(struct strbuf *sb, const char *macro, const char *text)
{
	sb_puts(sb, macro);
	sb_putc(sb, ' ');
	put_text(sb, text);
	sb_putc(sb, '\n');
}

static void paragraph(struct strbuf *sb, const char *text)
{
	put_text(sb, text);
	sb_putc(sb, '\n');
}

/* A term and what it means. */
static void item(struct strbuf *sb, const char *term, const char *text)
{
	sb_puts(sb, ".TP\n");
	line(sb, ".B", term);
	paragraph(sb, text);
}

static void title(struct strbuf *sb, const char *verb, const char *what)
{
	sb_puts(sb, ".TH SCATTERPROOF");
	for (const char *s = verb ? verb : ""; *s; s++)
		sb_printf(sb, "%s%c", s == verb ? "\\-" : "", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
	sb_puts(sb, " 1 \"\" \"");
	put_text(sb, SCATTERPROOF);
	sb_puts(sb, "\" \"User Commands\"\n.SH NAME\nscatterproof");
	sb_printf(sb, "%s%s \\- ", verb ? "\\-" : "", verb ? verb : "");
	paragraph(sb, what);
}

static void options(struct strbuf *sb, const struct option_table *t, const char *verb, struct arena *a)
{
	for (int k = 0; k < t->n; k++)
		if (t->row[k].help && option_known(&t->row[k], verb))
			item(sb, help_option_head(&t->row[k], a), help_option_text(t, k, a));
}

static void synopsis_of_findings(struct strbuf *sb)
{
	const char *s = findings_synopsis;
	for (int i = 0; *s; i++) {
		const size_t n = strcspn(s, "\n"), blanks = strspn(s, " ");
		const char *text = str_starts(s, "usage: ") ? s + 7 : s + blanks;
		char one[200];
		snprintf(one, sizeof one, "%.*s", (int)(n - (size_t)(text - s)), text);
		if (i && str_starts(one, "scatterproof"))
			sb_puts(sb, ".br\n");
		paragraph(sb, one);
		s += n + (s[n] == '\n');
	}
}

static void see_also(struct strbuf *sb, const char *but)
{
	int n;
	const struct verb_info *v = verbs_table(&n);
	sb_puts(sb, ".SH SEE ALSO\n");
	if (but)
		sb_puts(sb, ".BR scatterproof (1),\n");
	for (int i = 0, shown = 0; i < n; i++)
		if (!but || !str_eq(but, v[i].name))
			sb_printf(sb, "%s.BR scatterproof\\-%s (1)", shown++ ? ",\n" : "", v[i].name);
	sb_putc(sb, '\n');
}

static void exit_status(struct strbuf *sb)
{
	sb_puts(sb, ".SH EXIT STATUS\n");
	for (int i = 0; i < nexits; i++)
		item(sb, exit_table[i].code, exit_table[i].meaning);
}

static void environment(struct strbuf *sb)
{
	sb_puts(sb, ".SH ENVIRONMENT\n");
	item(sb, "PAGER", "shows what is longer than the screen; less -FRX if it is not set, nothing if it is empty or cat");
	item(sb, "NO_COLOR", "if it is not empty: no colours, unless --color=always");
	item(sb, "COLUMNS", "the width that lists are made for, instead of the terminal's");
	item(sb, "SCATTERPROOF_TARGETS", "where versions of compilers are installed, instead of ~/.local/share/scatterproof/targets");
}

static void page_of_verb(struct strbuf *sb, const struct verb_info *v, struct arena *a)
{
	const bool findings = str_eq(v->name, "findings");
	title(sb, v->name, v->help);
	sb_puts(sb, ".SH SYNOPSIS\n");
	if (findings)
		synopsis_of_findings(sb);
	else
		paragraph(sb, arena_printf(a, "scatterproof %s %s", v->name, v->usage));
	sb_puts(sb, ".SH DESCRIPTION\n");
	if (!findings)
		paragraph(sb, v->help);
	for (int i = 0; findings && i < NFINDINGS_PARAGRAPHS; i++) {
		sb_puts(sb, i ? ".PP\n" : "");
		paragraph(sb, findings_paragraph[i]);
	}
	sb_puts(sb, ".SH OPTIONS\n");
	options(sb, findings ? &findings_table : &options_table, findings ? NULL : v->name, a);
	options(sb, &screen_table, NULL, a);
	exit_status(sb);
	see_also(sb, v->name);
}

static void page_of_tool(struct strbuf *sb, const struct verb_info *v, int n, struct arena *a)
{
	title(sb, NULL, "differential fuzzer and correctness oracle for tensor compilers");
	sb_puts(sb, ".SH SYNOPSIS\nscatterproof VERB [options]\n.SH DESCRIPTION\n");
	paragraph(sb,
		"Generates tensor programs, derives what every output, gradient, stride and mutated input must be, runs the programs on compilers, "
		"and keeps each divergence in a file from which one command runs it again.");
	sb_puts(sb, ".SH VERBS\n");
	for (int i = 0; i < n; i++)
		item(sb, v[i].name, v[i].help);
	sb_puts(sb, ".SH OPTIONS\nOf every verb:\n");
	options(sb, &screen_table, NULL, a);
	item(sb, "--help", "the options of the verb; the same as help VERB");
	exit_status(sb);
	environment(sb);
	see_also(sb, NULL);
}

bool man_page(struct strbuf *sb, const char *verb)
{
	int n;
	const struct verb_info *v = verbs_table(&n);
	struct arena a;
	bool found = !verb;
	arena_init(&a);
	if (!verb)
		page_of_tool(sb, v, n, &a);
	for (int i = 0; verb && i < n; i++)
		if (str_eq(verb, v[i].name)) {
			found = true;
			page_of_verb(sb, &v[i], &a);
		}
	arena_free(&a);
	return found;
}
