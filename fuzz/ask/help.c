/* help.c: an option is its head and a paragraph beside it, which says at its end what values there are. */
#include "fuzz/ask/help.h"

#include "compiled/decompose/decompose.h"
#include "compiled/steps/steps.h"
#include "eager/base/screen.h"
#include "fuzz/ask/findings_options.h"
#include "fuzz/ask/options.h"
#include "fuzz/ask/pager.h"

const char *help_option_head(const struct option_row *row, struct arena *a)
{
	return arena_printf(a, "%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
}

const char *help_option_text(const struct option_table *t, int k, struct arena *a)
{
	const char *help = t->row[k].help ? t->row[k].help : "";
	struct strbuf words, sb;
	if (!t->values[k])
		return help;
	sb_init(&words);
	sb_init(&sb);
	t->values[k](&words);
	sb_printf(&sb, "%s%salues: ", help, help[0] ? ". V" : "v");
	for (const char *s = words.s; *s; s++)
		sb_puts(&sb, *s == ' ' ? ", " : (char[]){*s, 0});
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	sb_free(&words);
	return text;
}

void help_item(struct strbuf *sb, const char *head, const char *text, int at, int width)
{
	int columns = 2 + text_columns(head, strlen(head));
	sb_printf(sb, "  %s", head);
	if (columns + 2 > at) {
		sb_putc(sb, '\n');
		columns = 0;
	}
	for (; columns < at; columns++)
		sb_putc(sb, ' ');
	sb_wrap(sb, text, at, at, width);
	sb_putc(sb, '\n');
}

void help_option(struct strbuf *sb, const struct option_table *t, int k, int width)
{
	enum { TEXT_AT = 22 };
	struct arena a;
	arena_init(&a);
	help_item(sb, help_option_head(&t->row[k], &a), help_option_text(t, k, &a), TEXT_AT, width);
	arena_free(&a);
}

/* ---- a verb, and all of them --------------------------------------------------------------------------------------------------------- */

const struct exit_info exit_table[] = {
	{"0", "clean, or only findings that a person has marked; a command that asks, or is done"},
	{"1", "a finding that nobody marked, found now or seen again (--fail-on; repro: it still happens)"},
	{"2", "wrong usage or bad input"},
	{"3", "a target or device is missing or broken, or a file cannot be written"},
	{"4", "the run does not count (too little was judged; repro: it cannot be told; a step: the program does not fail)"},
	{"128+n", "ended by signal n, the store committed"},
};
const int nexits = ARRAY_LEN(exit_table);

static void pipeline(struct strbuf *sb)
{
	sb_puts(sb, "the steps, in their order:\n");
	for (int s = 0; s < NSTEPS; s++)
		sb_printf(sb, "  %-11s %s%s%s%s\n", compile_steps[s].name, compile_steps[s].what, compile_steps[s].needs[0] ? " (needs " : "",
			compile_steps[s].needs, compile_steps[s].needs[0] ? "=1)" : "");
	sb_putc(sb, '\n');
}

/* The rows that the step decompose leaves, from its table; inputs are the language's own. */
static void core_dialect(struct strbuf *sb, int width)
{
	struct strbuf names;
	sb_init(&names);
	sb_puts(&names, "the core dialect (--print-after decompose):");
	for (int op = 0; op < op_nrows; op++)
		if (op_info[op].family != F_INPUT && !op_has(op, T_MUTATES) && decompose_is_core(op))
			sb_printf(&names, " %s", op_info[op].name);
	sb_puts(&names, "; copy_ to inputs");
	sb_putc(sb, '\n');
	sb_wrap(sb, names.s, 0, 2, width);
	sb_putc(sb, '\n');
	sb_free(&names);
}

static void print_verb(struct strbuf *sb, const struct verb_info *v, int width)
{
	sb_printf(sb, "usage: scatterproof %s ", v->name);
	sb_wrap(sb, v->usage, 20 + (int)strlen(v->name) + 1, 7, width);
	sb_puts(sb, "\n\n");
	sb_wrap(sb, v->help, 0, 0, width);
	sb_puts(sb, "\n\n");
	for (int k = 0; k < options_table.n; k++)
		if (option_known(&options_table.row[k], v->name))
			help_option(sb, &options_table, k, width);
	for (int k = 0; k < screen_table.n; k++)
		help_option(sb, &screen_table, k, width);
	if (!str_eq(v->name, "compile"))
		return;
	pipeline(sb);
	core_dialect(sb, width);
}

static void print_verbs(struct strbuf *sb, const struct verb_info *v, int n, int width)
{
	sb_wrap(sb, "scatterproof: differential fuzzer and correctness oracle for tensor compilers", 0, 2, width);
	sb_puts(sb, "\n\nusage: scatterproof VERB [options]\n\n");
	for (int i = 0; i < n; i++)
		help_item(sb, v[i].name, v[i].help, 13, width);
	sb_putc(sb, '\n');
	sb_wrap(sb, "`scatterproof help VERB` or `VERB --help` tells the options of a verb.", 0, 0, width);
	sb_puts(sb, "\n\nexit codes\n");
	for (int i = 0; i < nexits; i++)
		help_item(sb, exit_table[i].code, exit_table[i].meaning, 13, width);
}

void help_print(struct strbuf *sb, const char *verb, int width)
{
	int n;
	const struct verb_info *v = verbs_table(&n);
	if (verb && str_eq(verb, "findings")) {
		findings_usage(sb, width);
		return;
	}
	for (int i = 0; verb && i < n; i++)
		if (str_eq(verb, v[i].name))
			print_verb(sb, &v[i], width);
	if (!verb)
		print_verbs(sb, v, n, width);
}
