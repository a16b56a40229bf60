/* cmd_info.c: ops, gen: what there is. */
#include <inttypes.h>

#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/campaign/source.h"
#include "fuzz/gen/gen.h"
#include "fuzz/gen/gen_call.h"
#include "eager/base/json.h"

static void print_op_json(int op)
{
	struct strbuf sb;
	const char *what, *why;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "op", op_info[op].name);
	json_string(&j, "family", family_name[op_info[op].family]);
	json_string(&j, "schema", op_info[op].schema);
	if (gen_never(op, 0, &what)) {
		json_array(&j, "not_generated");
		for (int k = 0; (why = gen_never(op, k, &what)); k++) {
			json_object(&j, NULL);
			json_string(&j, "what", what);
			json_string(&j, "why", why);
			json_end(&j);
		}
		json_end(&j);
	}
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

static void print_op(int op)
{
	const char *what, *why;
	printf("%-26s %-10s %s\n", op_info[op].name, family_name[op_info[op].family], op_info[op].schema);
	for (int k = 0; (why = gen_never(op, k, &what)); k++)
		printf("%-26s            not generated%s%s: %s\n", "", what[0] ? ": " : "", what, why);
}

/* By its name, or by the name that it shares with other overloads. */
static bool op_named(int op, const char *name)
{
	size_t n = strlen(name);
	return strncmp(op_info[op].name, name, n) == 0 && (op_info[op].name[n] == 0 || op_info[op].name[n] == '.');
}

int cmd_ops(const struct options *o)
{
	for (int i = 0; i < o->nfile; i++) {
		int op = 0;
		while (op < op_nrows && !op_named(op, o->file[i]))
			op++;
		if (op == op_nrows) {
			complain("no operator '%s'%s", o->file[i], op_guess(&(struct guess){0}, o->file[i]));
			return EXIT_USAGE;
		}
	}
	for (int op = 0; op < op_nrows; op++) {
		bool shown = o->nfile == 0;
		for (int i = 0; i < o->nfile; i++)
			shown |= op_named(op, o->file[i]);
		if (shown && o->json)
			print_op_json(op);
		else if (shown)
			print_op(op);
	}
	if (!o->json && !o->nfile)
		printf("%d operators\n", op_nrows);
	return EXIT_CLEAN;
}

/* "f32,bf16" as a set; NULL: none. */
static bool read_dtypes(uint32_t *out, const char *list, struct err *err)
{
	char word[MAX_NAME];
	*out = 0;
	for (size_t n; list && *list; list += n + (list[n] == ',')) {
		enum dtype t;
		n = strcspn(list, ",");
		snprintf(word, sizeof word, "%.*s", (int)MIN(n, sizeof word - 1), list);
		if (!dtype_find(&t, word))
			return err_set(err, "no dtype '%s'%s", word, dtype_guess(&(struct guess){0}, word));
		*out |= DTS(t);
	}
	return true;
}

/* gen --calls: N calls of each row that --ops names, with self of each dtype that --dtypes names. */
static int print_calls(const struct options *o, struct arena *a, struct strbuf *sb)
{
	struct err err = {0};
	struct policy pol;
	struct choices c;
	uint32_t dtypes;
	choices_from_seed(&c, 0);
	bool ok = policy_draw(&pol, "default", &(struct policy_limits){.ops = o->ops}, &c, &err) && read_dtypes(&dtypes, o->dtypes, &err);
	choices_free(&c);
	for (int op = 0; op < op_nrows && ok && !ferror(stdout); op++) {
		if (!gen_call_makes(op) || (pol.restricted && !pol.op[op]))
			continue;
		for (int t = o->dtypes ? 0 : -1; t < (o->dtypes ? NDTYPES : 0) && ok; t++)
			for (int64_t i = 0; i < o->calls && ok && (t < 0 || dtypes & DTS(t)); i++) {
				arena_reset(a);
				sb_reset(sb);
				bug_context(arena_printf(a, "call %" PRId64 " of %s, seed %" PRIu64, i, op_info[op].name, o->seed));
				ok = gen_call(sb, op, t, o->seed, i, a, &err);
				fputs(sb->s, stdout);
			}
	}
	bug_context(NULL);
	if (!ok)
		complain("%s", err.msg);
	return ok ? EXIT_CLEAN : EXIT_USAGE;
}

int cmd_gen(const struct options *o)
{
	struct arena a;
	struct err err = {0};
	struct strbuf sb;
	arena_init(&a);
	sb_init(&sb);
	int rc = o->calls ? print_calls(o, &a, &sb) : EXIT_CLEAN;
	int64_t first = o->one_program ? o->program : o->shard_index, step = o->one_program ? 1 : o->shard_count;
	int64_t n = o->calls ? 0 : o->one_program ? 1 : o->programs ? o->programs : 1;
	struct program_source source = options_source(o);
	for (int64_t k = 0, i = first; k < n && rc == EXIT_CLEAN && !ferror(stdout); k++, i += step) {
		struct prog p;
		arena_reset(&a);
		sb_reset(&sb);
		bug_context(arena_printf(&a, "program %" PRId64 " of seed %" PRIu64 ", policy %s", i, o->seed, o->policy));
		if (!source_program(&p, &a, &source, i, &err)) {
			complain("%s", err.msg);
			rc = EXIT_USAGE;
		} else {
			prog_print(&sb, &p);
			printf("%s%s", i > first ? "\n" : "", sb.s);
		}
	}
	bug_context(NULL);
	source_end(&source);
	sb_free(&sb);
	arena_free(&a);
	return rc;
}
