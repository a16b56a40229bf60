/* causes.c: the open causes of a store as `triage` shows them at its end: each with its title, what is to blame and the
 * smallest program. */
#include "fuzz/cli/causes.h"

#include <inttypes.h>

#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "fuzz/ask/options.h"
#include "fuzz/triage/title.h"
#include "reports/render/causes_show.h"

enum { MAX_LINES = 16, INDENT = 3 };

/* The target in which all its findings were seen, or "several targets". */
static const char *one_target(const struct store_cause *c)
{
	for (int i = 1; i < c->nids; i++)
		if (!str_eq(c->targets[i], c->targets[0]))
			return "several targets";
	return c->nids ? c->targets[0] : c->target;
}

/* What nobody has minimised yet can be long: the command that shows it stands for it. */
static void print_program(const struct store_cause *c, const char *db, struct arena *a)
{
	int n = 0;
	for (const char *s = c->program; *s; s++)
		n += *s == '\n';
	if (n <= MAX_LINES)
		printf("%s", escaped_lines(a, "      ", arena_printf(a, "      %s", c->program)));
	else
		printf("      a program of %d lines: scatterproof findings show %s --db %s\n", n, c->id, db);
}

static void print_sentences(const char *text, const struct look *look)
{
	struct strbuf sb;
	sb_init(&sb);
	cause_sentences(&sb, text, INDENT, look);
	printf("%s", sb.s);
	sb_free(&sb);
}

static void print_wrapped(const char *text, const struct look *look, struct arena *a)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_wrap(&sb, escaped_line(a, text), INDENT, INDENT + 2, look->width);
	printf("   %s\n", sb.s);
	sb_free(&sb);
}

static void print_severity(const struct store_cause *c, const struct look *look)
{
	const enum style style = c->severity == SEVERITY_HIGH ? STYLE_HIGH : c->severity == SEVERITY_NORMAL ? STYLE_NORMAL : STYLE_FAINT;
	struct strbuf sb;
	sb_init(&sb);
	style_begin(&sb, look, style);
	sb_puts(&sb, finding_severity_name[c->severity]);
	style_end(&sb, look, style);
	printf("\n%d  %s  ", c->number, sb.s);
	sb_free(&sb);
}

static void print_cause(const struct store_cause *c, const char *db, const struct look *look, struct arena *a)
{
	print_severity(c, look);
	printf("%s, in %" PRId64 " finding%s, seen %" PRId64 " time%s%s\n", escaped_line(a, one_target(c)), c->nfindings,
		c->nfindings == 1 ? "" : "s", c->nobs, c->nobs == 1 ? "" : "s", str_eq(c->reach, "aten") ? "; only by calling the overload" : "");
	print_wrapped(c->title, look, a);
	print_wrapped(
		c->triaged ? c->text : arena_printf(a, "%s: %s", c->minimised ? "minimised, not blamed yet" : "not triaged yet", c->text), look, a);
	if (c->blame[0])
		print_sentences(c->blame, look);
	else if (c->unconfirmed[0])
		print_sentences(arena_printf(a, "not confirmed: %s", c->unconfirmed), look);
	print_program(c, db, a);
	printf("   scatterproof repro %s --db %s", c->id, db);
	for (int i = 0; i < c->nids && c->nids > 1; i++)
		printf("%s%s", i ? " " : "      all: ", c->ids[i]);
	printf("\n");
}

static void print_all(const struct store_causes *all, const char *db, const struct look *look, struct arena *a)
{
	struct strbuf sb;
	int shown = 0;
	for (int i = 0; i < all->n; i++) {
		if (!all->cause[i].open)
			continue;
		shown++;
		print_cause(&all->cause[i], db, look, a);
	}
	sb_init(&sb);
	causes_count(&sb, all);
	printf("%s%s%s\n", shown ? "\n" : "", sb.s, strstr(sb.s, " without one ") ? ": the next `triage` goes on there" : "");
	sb_free(&sb);
}

static void print_json(const struct store_causes *all)
{
	struct strbuf sb;
	sb_init(&sb);
	for (int i = 0; i < all->n; i++)
		if (all->cause[i].open)
			cause_json(&sb, &all->cause[i]);
	printf("%s", sb.s);
	sb_free(&sb);
}

/* What is printed of all: one cause, or NULL for every open one. An exit code. */
static int print_of(const struct store_causes *all, const char *id, const char *db, bool json, const struct look *look, struct arena *a)
{
	struct strbuf sb;
	const struct store_cause *c = NULL;
	int rc = EXIT_CLEAN;
	sb_init(&sb);
	if (id)
		c = store_causes_find(all, id, &sb);
	if (id && !c) {
		complain("%s", sb.s);
		rc = EXIT_USAGE;
	} else if (c && json) {
		cause_json(&sb, c);
		printf("%s", sb.s);
	} else if (c) {
		print_cause(c, db, look, a);
	} else if (json) {
		print_json(all);
	} else {
		print_all(all, db, look, a);
	}
	sb_free(&sb);
	return rc;
}

static int read_and_print(const char *db, const char *id, bool json, const struct look *look)
{
	enum store_status status;
	struct err err = {0};
	struct arena a;
	struct store_causes all;
	struct store *s = store_open(&status, db, STORE_READ, &err);
	if (!s) {
		complain("%s", err.msg);
		return store_exit_code(status);
	}
	arena_init(&a);
	status = store_causes(&all, s, &a);
	int rc = store_exit_code(status);
	if (status != STORE_OK) {
		complain("%s", store_message(s));
	} else {
		titles_write(&all, &a);
		rc = print_of(&all, id, db, json, look, &a);
	}
	arena_free(&a);
	store_close(s, NULL);
	return rc;
}

int causes_print(const char *db, bool json, const struct look *look) { return read_and_print(db, NULL, json, look); }

int cause_print_of(const char *db, const char *id, bool json, const struct look *look) { return read_and_print(db, id, json, look); }
