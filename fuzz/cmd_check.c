/* cmd_check.c: judge programs on targets. */
#include <errno.h>
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
	if (out->verdict == VD_PASS && out->why[0])
		printf(" (%s)\n", out->why);
	else if (out->verdict == VD_PASS)
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
}

struct checking {
	struct options o;
	struct exec *warm[MAX_TARGETS]; /* one child per target for all programs */
	int refused[MAX_TARGETS];       /* EXIT_* of a target that runs no program at all: said once */
	int64_t programs, verdicts[NVERDICTS];
	int lost;                       /* errno of the first line that could not be printed */
};

static void print_one(struct checking *c, const char *file, const char *target, const struct result *r, const struct outcome *out)
{
	c->verdicts[out->verdict]++;
	if (c->o.quiet && out->verdict == VD_PASS)
		return;
	errno = 0;
	if (c->o.json)
		print_json(file, target, out);
	else
		print_text(&c->o, file, target, r, out);
	if ((fflush(stdout) != 0 || ferror(stdout)) && !c->lost)
		c->lost = errno;
}

/* "7 programs on 2 targets: 12 pass, 2 mismatch". */
static void print_summary(const struct checking *c)
{
	int64_t left = c->programs * c->o.ntarget;
	printf("%" PRId64 " program%s on %d target%s:", c->programs, c->programs == 1 ? "" : "s", c->o.ntarget, c->o.ntarget == 1 ? "" : "s");
	const char *before = " ";
	for (int v = 0; v < NVERDICTS; v++) {
		left -= c->verdicts[v];
		if (c->verdicts[v])
			printf("%s%" PRId64 " %s", before, c->verdicts[v], verdict_name[v]);
		before = c->verdicts[v] ? ", " : before;
	}
	if (left)
		printf("%s%" PRId64 " not run", before, left);
	printf("\n");
}

/* On a target whose child is there. */
static int run_one(struct checking *c, const char *file, const struct prog *p, int target, struct arena *a)
{
	const struct target *t = &c->o.target[target];
	struct strbuf name;
	struct result r;
	struct outcome out;
	int rc;
	sb_init(&name);
	target_print(&name, t);
	exec_run(&r, a, c->warm[target], p, t);
	if (r.bad_target) {
		fprintf(stderr, "scatterproof: target '%s': %s\n", name.s, r.message);
		rc = c->refused[target] = EXIT_USAGE;
	} else {
		outcome_of(&out, p, &r, t, NULL, a);
		print_one(c, file, name.s, &r, &out);
		rc = out.verdict == VD_PASS ? EXIT_CLEAN : verdict_diverges(out.verdict) ? EXIT_FINDINGS : out.verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
	}
	sb_free(&name);
	return rc;
}

/* 0 pass, 1 diverges, 2 the target's options are bad, 3 the target is broken, 4 not judged. exit_of_both over files and targets. */
static int check_one(struct checking *c, const char *file, const struct prog *p, int target)
{
	struct exec_options eo = {.self = c->o.self, .python = c->o.python, .limit_ms = c->o.limit_ms};
	struct err err = {0};
	struct arena a;
	if (c->refused[target])
		return c->refused[target];
	if (!c->warm[target])
		c->warm[target] = exec_open(&c->o.target[target], &eo, &err);
	if (!c->warm[target]) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		return c->refused[target] = EXIT_TARGET;
	}
	arena_init(&a);
	int rc = run_one(c, file, p, target, &a);
	arena_free(&a);
	return rc;
}

static int check_on_targets(void *ctx, const char *name, const struct prog *p)
{
	struct checking *c = ctx;
	int rc = EXIT_VOID;
	c->programs++;
	for (int t = 0; t < c->o.ntarget && !c->lost; t++) {
		int one = check_one(c, name, p, t);
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
	for (int i = 0; i < c.o.nfile && !c.lost; i++) {
		int one = load_programs(c.o.file[i], check_on_targets, &c);
		rc = exit_of_both(rc, one);
	}
	for (int t = 0; t < c.o.ntarget; t++)
		exec_close(c.warm[t]);
	if (!c.lost && !c.o.json && (c.programs > 1 || (c.programs && c.o.ntarget > 1)))
		print_summary(&c);
	if (c.lost)
		errno = c.lost;         /* main says why */
	return rc;
}
