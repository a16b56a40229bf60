/* arguments.c: a word is looked at once; what it is, it says itself, or `--` before it. */
#include "fuzz/ask/arguments.h"

#include "eager/base/guess.h"

bool option_known(const struct option_row *row, const char *verb)
{
	const size_t n = verb ? strlen(verb) : 0;
	for (const char *s = row->verbs; verb && *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");
		if (len == n && strncmp(s, verb, n) == 0)
			return true;
		s += len;
	}
	return !verb;
}

static bool is_called(const char *name, const char *given, size_t len) { return strlen(name) == len && strncmp(name, given, len) == 0; }

/* nrow: there is none. */
static int find_row(const struct arguments *r, const char *given, size_t len)
{
	int k = 0;
	while (k < r->nrow && !(is_called(r->row[k].name, given, len) && option_known(&r->row[k], r->verb)))
		k++;
	return k;
}

static bool unknown(const struct arguments *r, const char *given, size_t len, struct err *err)
{
	static const char help[] = "--help";
	struct guess g;
	guess_start(&g, given, len);
	for (int k = 0; k < r->nrow; k++)
		if (option_known(&r->row[k], r->verb))
			guess_add(&g, r->row[k].name, strlen(r->row[k].name));
	guess_add(&g, help, strlen(help));
	return err_set(err, "%sunknown option '%.60s' (try --help)%s", r->who, given, guess_text(&g));
}

static bool take_option(struct arguments *r, const char *given, struct err *err)
{
	const size_t len = strcspn(given, "=");
	const int k = find_row(r, given, len);
	if (k == r->nrow)
		return unknown(r, given, len, err);
	const struct option_row *row = &r->row[k];
	if (r->given[k] && !(r->repeatable >> k & 1))
		return err_set(err, "%s is given twice", row->name);
	r->given[k] = true;
	r->option = k;
	r->value = given[len] ? given + len + 1 : NULL;
	if (!row->value && r->value)
		return err_set(err, "%s takes no value", row->name);
	if (row->value && !r->value) {
		if (r->at + 1 >= r->argc)
			return err_set(err, "%s needs a value", row->name);
		const char *next = r->argv[r->at + 1];
		if (str_starts(next, "--"))
			return err_set(err, "%s needs a value, and '%.60s' is an option (a file of that name: ./%.60s; any other value: %s=%.60s)",
				row->name, next, next, row->name, next);
		r->value = r->argv[++r->at];
	}
	return true;
}

enum argument arguments_next(struct arguments *r, struct err *err)
{
	CHECK(r->nrow <= MAX_OPTION_ROWS);
	if (r->at + 1 >= r->argc)
		return ARGUMENT_END;
	const char *given = r->argv[++r->at];
	if (r->only_words || given[0] != '-' || !given[1]) {
		r->value = given;
		return ARGUMENT_WORD;
	}
	if (str_eq(given, "--")) {
		r->only_words = true;
		return arguments_next(r, err);
	}
	if (str_eq(given, "--help") || str_eq(given, "-h"))
		return ARGUMENT_HELP;
	return take_option(r, given, err) ? ARGUMENT_OPTION : ARGUMENT_BAD;
}
