/* help.h: what --help, man pages and completion say of options, each from the same table. */
#ifndef SCATTERPROOF_HELP_H
#define SCATTERPROOF_HELP_H

#include "fuzz/ask/arguments.h"

/* Appends the words that an option knows, blanks between them. */
typedef void option_values_fn(struct strbuf *sb);
struct option_table {
	const struct option_row *row;
	option_values_fn *const *values; /* per row; NULL: anything */
	int n;
};
struct verb_info {
	const char *name, *usage, *help;
	int words; /* how many may follow the verb beside its options */
};

/* What `VERB --help` prints (verb NULL: `--help`, all verbs). */
void help_print(struct strbuf *sb, const char *verb, int width);
/* Exit codes, one row each. */
struct exit_info {
	const char *code, *meaning;
};
extern const struct exit_info exit_table[];
extern const int nexits;

enum { HELP_WIDTH = 100 }; /* at most */
/* Of a screen that has so many columns (0: no limit). */
static inline int help_width(int columns) { return columns > 0 && columns < HELP_WIDTH ? columns : HELP_WIDTH; }
/* "--axis A,B" */
const char *help_option_head(const struct option_row *row, struct arena *a);
/* "what to vary (default: all). Values: stages, dtypes" */
const char *help_option_text(const struct option_table *t, int k, struct arena *a);
/* "  --axis A,B       what to vary …" in lines of at most `width` columns. */
void help_option(struct strbuf *sb, const struct option_table *t, int k, int width);
/* "  head   text", the text from column `at` on. */
void help_item(struct strbuf *sb, const char *head, const char *text, int at, int width);

#endif
