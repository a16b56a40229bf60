/* cmd_info.c: ops, gen: what there is. */
#include <inttypes.h>

#include "eager/output.h"
#include "fuzz/commands.h"
#include "fuzz/gen.h"
#include "reports/json.h"

static void print_op(const struct op_info *op, bool json)
{
	if (json) {
		struct strbuf sb;
		sb_init(&sb);
		json_str(&sb, op->schema);
		printf("{\"op\": \"%s\", \"family\": \"%s\", \"schema\": %s}\n", op->name, family_name[op->family], sb.s);
		sb_free(&sb);
		return;
	}
	printf("%-26s %-10s %s\n", op->name, family_name[op->family], op->schema);
}

int cmd_ops(const struct options *o)
{
	int n = 0;
	for (int op = 0; op < NOPS; op++) {
		bool shown = o->nfile == 0;
		for (int i = 0; i < o->nfile; i++) {
			size_t len = strlen(o->file[i]);
			shown |= strncmp(op_info[op].name, o->file[i], len) == 0 && (op_info[op].name[len] == 0 || op_info[op].name[len] == '.');
		}
		if (shown) {
			print_op(&op_info[op], o->json);
			n++;
		}
	}
	if (!n)
		complain("no operator '%s'%s", o->file[0], op_guess(&(struct guess){0}, o->file[0]));
	else if (!o->json && !o->nfile)
		printf("%d operators\n", n);
	return n ? EXIT_CLEAN : EXIT_USAGE;
}

int cmd_gen(const struct options *o)
{
	struct arena a;
	struct err err = {0};
	struct strbuf sb;
	arena_init(&a);
	sb_init(&sb);
	int rc = EXIT_CLEAN;
	int64_t first = o->one_program ? o->program : 0, n = o->one_program ? o->program + 1 : o->programs ? o->programs : 1;
	struct policy pol;
	for (int64_t i = first; i < n && rc == EXIT_CLEAN && !ferror(stdout); i++) {
		struct prog p;
		struct choices c;
		struct policy_limits limits = {o->ops, o->dtypes};
		arena_reset(&a);
		sb_reset(&sb);
		bug_context(arena_printf(&a, "program %" PRId64 " of seed %" PRIu64 ", policy %s", i, o->seed, o->policy));
		bool ok = true;
		if (i == first || i % POLICY_BLOCK == 0) {
			choices_from_seed(&c, mix64(o->seed ^ mix64((uint64_t)(i / POLICY_BLOCK) + 0x5ca77e4)));
			ok = policy_draw(&pol, o->policy, &limits, &c, &err);
			choices_free(&c);
		}
		choices_from_seed(&c, mix64(o->seed + mix64((uint64_t)i)));
		ok = ok && gen_program(&p, &a, &c, &pol, &err);
		choices_free(&c);
		if (!ok) {
			complain("%s", err.msg);
			rc = EXIT_USAGE;
		} else {
			prog_print(&sb, &p);
			printf("%s%s", i > first ? "\n" : "", sb.s);
		}
	}
	bug_context(NULL);
	sb_free(&sb);
	arena_free(&a);
	return rc;
}
