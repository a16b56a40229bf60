/* bench.c: which sections run, and how figures are printed. */
#include "fuzz/cli/bench.h"

#include <math.h>
#include <stdlib.h>

#include "eager/base/json.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"

/* ---- printing ------------------------------------------------------------------------------------------------------------------ */

void bench_note(const struct options *o, const char *fmt, ...)
{
	va_list ap;
	if (o->json)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void table_begin(const struct bench_table *t, const char *title)
{
	if (t->o->json)
		return;
	printf("\n%s: %s\n%-36s", t->section, title, "");
	for (int i = 0; i < t->ncolumn; i++)
		printf(" %*s", t->column[i].width, t->column[i].name);
	putchar('\n');
}

static void table_row_json(const struct bench_table *t, const char *name, const double *value)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "section", t->section);
	json_string(&j, "name", name);
	for (int i = 0; i < t->ncolumn; i++)
		json_fixed(&j, t->column[i].name, value[i], t->column[i].digits);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

void table_row(const struct bench_table *t, const char *name, const double *value)
{
	if (t->o->json) {
		table_row_json(t, name, value);
	} else {
		printf("%-36s", name);
		for (int i = 0; i < t->ncolumn; i++) {
			const struct bench_column *c = &t->column[i];
			if (isfinite(value[i]))
				printf(" %*.*f", c->width, c->digits, value[i]);
			else
				printf(" %*s", c->width, "-");
		}
		putchar('\n');
	}
	fflush(stdout);
}

/* ---- sections -------------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*run)(const struct options *o, struct err *err);
} sections[] = {
#define SECTION(name) {#name, bench_##name},
	BENCH_SECTIONS(SECTION)
#undef SECTION
};

static bool wanted(const struct options *o, const char *name)
{
	bool yes = o->nfile == 0;
	for (int i = 0; i < o->nfile; i++)
		yes |= str_eq(o->file[i], name);
	return yes;
}

int cmd_bench(const struct options *o)
{
	double load[3];
	for (int i = 0; i < o->nfile; i++) {
		int k = 0;
		while (k < ARRAY_LEN(sections) && !str_eq(sections[k].name, o->file[i]))
			k++;
		if (k == ARRAY_LEN(sections)) {
			complain("bench: no section '%s' (there are:" BENCH_NAMES ")%s", o->file[i],
				guess_from(&(struct guess){0}, o->file[i], &sections[0].name, sizeof sections[0], ARRAY_LEN(sections)));
			return EXIT_USAGE;
		}
	}
	if (getloadavg(load, 3) == 3)
		bench_note(o, "load average %.1f; figures about this process are CPU time, figures about targets wall time", load[0]);
	for (int k = 0; k < ARRAY_LEN(sections); k++) {
		struct err err = {0};
		if (wanted(o, sections[k].name) && !sections[k].run(o, &err)) {
			complain("bench %s: %s", sections[k].name, err.msg);
			return EXIT_USAGE;
		}
	}
	return EXIT_CLEAN;
}
