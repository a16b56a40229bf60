/* cmd_check.c: judge programs on targets. */
#include <inttypes.h>

#include "fuzz/commands.h"
#include "fuzz/exec.h"
#include "fuzz/load.h"
#include "fuzz/verdict.h"
#include "reports/json.h"

static void print_json(const char *file, const char *target, const struct outcome *o)
{
	struct strbuf sb;
	sb_init(&sb);
	json_str(&sb, file);
	sb_puts(&sb, ", \"target\": ");
	json_str(&sb, target);
	sb_printf(&sb, ", \"verdict\": \"%s\", \"why\": ", verdict_name[o->verdict]);
	json_str(&sb, o->why);
	if (verdict_diverges(o->verdict)) {
		sb_printf(&sb, ", \"kind\": \"%s\", \"tensor\": ", finding_kind_name[o->kind]);
		json_str(&sb, o->tensor);
		sb_puts(&sb, ", \"pattern\": ");
		json_str(&sb, o->pattern);
		sb_puts(&sb, ", \"signature\": ");
		json_str(&sb, o->signature);
	}
	printf("{\"file\": %s}\n", sb.s);
	sb_free(&sb);
}

static void print_text(const struct options *o, const char *file, const char *target, const struct result *r, const struct outcome *out)
{
	printf("%s: %s on %s", file, verdict_name[out->verdict], target);
	if (out->verdict == VD_PASS)
		printf(" (%" PRId64 " elements: %" PRId64 " exact, %" PRId64 " enclosed, %" PRId64 " weak, %" PRId64 " suspect, %" PRId64 " undecided; %d call%s)\n%s",
		       out->all.exact + out->all.agree + out->all.weak + out->all.suspect + out->all.undecided,
		       out->all.exact, out->all.agree, out->all.weak, out->all.suspect, out->all.undecided, r->ncalls,
		       r->ncalls == 1 ? "" : "s", out->suspicion);
	else
		printf(": %s\n", out->why);
	for (int i = 0; i < r->nmismatch; i++)
		printf("  predicted meta, rank %d%s: %s: %s\n", r->mismatch[i].rank, r->mismatch[i].backward ? ", backward" : "", r->mismatch[i].op,
		       r->mismatch[i].detail);
	if (verdict_diverges(out->verdict) && !o->quiet)
		printf("%s", out->report);
	fflush(stdout);
}

/* 0 pass, 1 diverges, 3 the target is broken, 4 not judged. exit_of_both over files and targets. */
static int check_one(const struct options *o, const char *file, const struct prog *p, const struct target *t, struct exec **warm)
{
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	struct err err = {0};
	struct arena a;
	struct strbuf name;
	if (!*warm)
		*warm = exec_open(t, &eo, &err);
	struct exec *e = *warm;
	if (!e) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		return EXIT_TARGET;
	}
	arena_init(&a);
	sb_init(&name);
	target_print(&name, t);
	struct result r;
	struct outcome out;
	exec_run(&r, &a, e, p, t);
	outcome_of(&out, p, &r, t, NULL, &a);
	if (o->json)
		print_json(file, name.s, &out);
	else
		print_text(o, file, name.s, &r, &out);
	int rc = out.verdict == VD_PASS ? EXIT_CLEAN : verdict_diverges(out.verdict) ? EXIT_FINDINGS : out.verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
	sb_free(&name);
	arena_free(&a);
	return rc;
}

struct checking { struct options o; struct exec *warm[MAX_TARGETS]; };   /* one child per target for all programs */

static int check_on_targets(void *ctx, const char *name, const struct prog *p)
{
	struct checking *c = ctx;
	int rc = EXIT_VOID;
	for (int t = 0; t < c->o.ntarget; t++) {
		int one = check_one(&c->o, name, p, &c->o.target[t], &c->warm[t]);
		rc = exit_of_both(rc, one);
	}
	return rc;
}

int cmd_check(const struct options *given)
{
	struct checking c = {.o = *given};
	struct err err = {0};
	int rc = EXIT_VOID;
	if (!c.o.nfile) {
		fprintf(stderr, "scatterproof: check: no program given (try --help)\n");
		return EXIT_USAGE;
	}
	if (!c.o.ntarget && !options_target(&c.o, "builtin:eager", &err))
		BUG("%s", err.msg);
	for (int i = 0; i < c.o.nfile; i++) {
		int one = load_programs(c.o.file[i], check_on_targets, &c);
		rc = exit_of_both(rc, one);
	}
	for (int t = 0; t < c.o.ntarget; t++)
		exec_close(c.warm[t]);
	return rc;
}
