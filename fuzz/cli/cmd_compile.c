/* cmd_compile.c: what the built-in compiler makes of programs, as text that every command reads. */
#include "compiled/compile.h"
#include "eager/base/escape.h"
#include "eager/base/output.h"
#include "fuzz/campaign/load.h"
#include "fuzz/cli/commands.h"

/* As a program of its own: the header line first, then where it is from. */
static void print_stage(const struct prog *p, const char *name, enum compile_stage stage)
{
	struct strbuf sb;
	sb_init(&sb);
	prog_print(&sb, p);
	size_t header = strcspn(sb.s, "\n");
	printf("%.*s\n# %s of %s\n%s", (int)header, sb.s, compile_stage_name[stage], name, sb.s + header + 1);
	sb_free(&sb);
}

static int compile_one(void *ctx, const char *name, const struct prog *p)
{
	const enum compile_stage *stage = ctx;
	struct arena a;
	struct prog bound;
	struct compiled c;
	struct err err = {0};
	arena_init(&a);
	name = escaped_line(&a, name);
	bool ok = prog_bind(&bound, p, 0, &a, &err) && compile(&c, &bound, *stage, NULL, &a, &err);
	if (ok)
		print_stage(&c.p, name, *stage);
	else
		complain("%s: unsupported: %s", name, err.msg);
	arena_free(&a);
	return ok ? EXIT_CLEAN : EXIT_VOID;
}

int cmd_compile(const struct options *o)
{
	enum compile_stage stage = NSTAGES - 1;
	int rc = EXIT_VOID;
	if (!o->nfile) {
		complain("compile: no program given (try --help)");
		return EXIT_USAGE;
	}
	if (o->print_after && !compile_stage_find(&stage, o->print_after)) {
		struct guess g = {0};
		complain("--print-after: '%s' is not one of functional, joint%s", o->print_after,
			guess_from(&g, o->print_after, compile_stage_name, sizeof compile_stage_name[0], NSTAGES));
		return EXIT_USAGE;
	}
	for (int i = 0; i < o->nfile && !ferror(stdout); i++) {
		int one = load_programs(o->file[i], compile_one, &stage);
		rc = exit_of_both(rc, one);
	}
	return rc;
}
