/* cmd_repro.c: a stored finding, run again in a fresh process: 1 it still happens, 0 it does not. */
#include <inttypes.h>

#include "fuzz/commands.h"
#include "fuzz/exec.h"
#include "fuzz/plain.h"
#include "fuzz/script.h"

struct found {
	struct store_loaded f;
	struct prog p;
	struct target t;
};

static int load(struct found *out, const struct options *o, struct arena *a)
{
	enum store_status st;
	struct err err = {0};
	struct store *s = store_open(&st, o->db, STORE_READ, &err);
	if (!s) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		return store_exit_code(st);
	}
	struct hash128 id;
	st = store_find_by_prefix(s, &id, o->file[0]);
	if (st == STORE_OK)
		st = store_load_finding(s, &out->f, &id, a);
	if (st != STORE_OK)
		fprintf(stderr, "scatterproof: %s\n", store_message(s));
	store_close(s, NULL);
	if (st != STORE_OK)
		return store_exit_code(st);
	const char *text = out->f.minimised ? out->f.minimised : out->f.program;
	if (!prog_read(&out->p, a, text, strlen(text), READ_STRICT, &err)) {
		fprintf(stderr, "scatterproof: the stored program does not read: %d:%d: %s\n", err.line, err.col, err.msg);
		return EXIT_USAGE;
	}
	if (o->ntarget)
		out->t = o->target[0];
	else if (!out->f.nenvs || !target_parse(&out->t, out->f.env[0].target, &err)) {
		fprintf(stderr, "scatterproof: the stored target is not usable: %s\n", out->f.nenvs ? err.msg : "none recorded");
		return EXIT_USAGE;
	}
	return EXIT_CLEAN;
}

static int write_script(const struct options *o, const struct found *x, struct arena *a)
{
	struct strbuf sb;
	struct err err = {0};
	sb_init(&sb);
	if (!script_emit(&sb, &x->p, &x->t, &x->f, a, &err)) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		sb_free(&sb);
		return EXIT_USAGE;
	}
	FILE *f = open_out(o->script);
	int rc = EXIT_CLEAN;
	if (!f) {
		sb_free(&sb);
		return EXIT_TARGET;
	}
	if (fwrite(sb.s, 1, sb.len, f) != sb.len) {
		perror(o->script);
		rc = EXIT_TARGET;
	}
	sb_free(&sb);
	if (f != stdout && fclose(f) != 0)
		rc = EXIT_TARGET;
	return rc;
}

static int judge_again(const struct found *x, struct exec *e, const struct result *r, const char *target, struct arena *a)
{
	struct outcome out;
	outcome_of(&out, &x->p, r, &x->t, NULL, a);
	plain_ask(&out, e, &x->p, r, &x->t, a);
	/* Right data in other strides is not what a finding of wrong data was about. */
	bool diverges = verdict_diverges(out.verdict), less = diverges && out.severity == SEVERITY_LOW && x->f.kind != FINDING_META;
	printf("%.8s on %s: %s\n", x->f.hex, target, less ? "does not happen; what is left are strides:" : diverges ? "still happens" :
	       out.verdict == VD_PASS ? "does not happen" : out.why);
	if (diverges)
		printf("%s", out.report);
	return diverges && !less ? EXIT_FINDINGS : out.verdict == VD_PASS || less ? EXIT_CLEAN : out.verdict == VD_HARNESS ? EXIT_TARGET : EXIT_VOID;
}

static int run_again(const struct options *o, const struct found *x, struct arena *a)
{
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	struct err err = {0};
	struct exec *e = exec_open(&x->t, &eo, &err);
	if (!e) {
		fprintf(stderr, "scatterproof: %s\n", err.msg);
		return EXIT_TARGET;
	}
	struct strbuf name;
	struct result r;
	int rc = EXIT_USAGE;
	sb_init(&name);
	target_print(&name, &x->t);
	exec_run(&r, a, e, &x->p, &x->t);
	if (r.bad_target)
		fprintf(stderr, "scatterproof: target '%s': %s\n", name.s, r.message);
	else
		rc = judge_again(x, e, &r, name.s, a);
	sb_free(&name);
	exec_close(e);
	return rc;
}

int cmd_repro(const struct options *o)
{
	if (o->nfile != 1 || !o->db) {
		fprintf(stderr, "scatterproof: repro: one finding id and --db FILE are needed (try --help)\n");
		return EXIT_USAGE;
	}
	if (o->ntarget > 1) {
		fprintf(stderr, "scatterproof: repro: one --target at most\n");
		return EXIT_USAGE;
	}
	struct arena a;
	struct found x = {0};
	arena_init(&a);
	int rc = load(&x, o, &a);
	if (rc == EXIT_CLEAN && o->script) {
		rc = write_script(o, &x, &a);
	} else if (rc == EXIT_CLEAN) {
		rc = run_again(o, &x, &a);
	}
	arena_free(&a);
	return rc;
}
