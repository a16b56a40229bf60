/* cmd_eval.c: programs on the eager interpreter, in this process: every result of every call, with the reference beside it. */
#include <inttypes.h>

#include "eager/base/escape.h"
#include "eager/run/interp.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/campaign/load.h"
#include "fuzz/triage/verdict.h"

enum { SHOWN = 16 };

static void print_tensor(const char *name, const struct result_tensor *t)
{
	struct strbuf sb;
	sb_init(&sb);
	if (!t->present) {
		printf("  %s: None\n", name);
		return;
	}
	meta_print(&sb, &t->meta);
	sb_printf(&sb, " storage %d%s: ", t->storage, t->requires_grad ? ", requires grad" : "");
	int64_t n = t->data ? meta_numel(&t->meta) : 0;
	for (int64_t i = 0; i < MIN(n, SHOWN); i++) {
		const unsigned char *p = (const unsigned char *)t->data + i * dtype_nbytes(t->meta.dtype);
		if (i)
			sb_putc(&sb, ' ');
		if (dtype_is_float(t->meta.dtype))
			sb_printf(&sb, "%.9g", dtype_load_f(t->meta.dtype, p));
		else
			sb_printf(&sb, "%" PRId64, dtype_load_i(t->meta.dtype, p));
	}
	printf("  %s: %s%s\n", name, sb.s, n > SHOWN ? " ..." : "");
	sb_free(&sb);
}

static void print_call(const struct prog *p, const struct result_call *c, int k)
{
	char name[MAX_NAME + 16];
	printf("call %d\n", k);
	for (int i = 0; i < c->nouts; i++)
		print_tensor(p->node[p->ret[i]].name, &c->out[i]);
	int g = 0;
	for (int i = 0; i < p->nnode && g < c->ngrads; i++) {
		if (!node_requires_grad(&p->node[i]))
			continue;
		snprintf(name, sizeof name, "%s.grad", p->node[i].name);
		print_tensor(name, &c->grad[g++]);
	}
}

static int eval_one(void *ctx, const char *name, const struct prog *p)
{
	int *n = ctx;
	struct arena a;
	struct result r;
	struct outcome out;
	struct target t;
	struct err err = {0};
	arena_init(&a);
	CHECK(target_parse(&t, "builtin:eager", &err));
	printf("%s%s\n", (*n)++ ? "\n" : "", escaped_line(&a, name));
	interp_run(&r, p, &a, NULL, &err);
	if (r.status != RES_OK)
		printf("%s: %s\n", result_status_name[r.status], escaped_lines(&a, "  ", r.message));
	for (int k = 0; k < r.ncalls; k++)
		print_call(p, &r.call[k], k);
	outcome_of(&out, p, &r, &t, NULL, &a);
	printf("reference: %s%s%s\n", verdict_name[out.verdict], out.why[0] ? ": " : "", escaped_lines(&a, "  ", out.why));
	if (verdict_diverges(out.verdict))
		printf("%s", out.report);
	arena_free(&a);
	return out.verdict == VD_PASS ? EXIT_CLEAN : verdict_diverges(out.verdict) ? EXIT_FINDINGS : EXIT_VOID;
}

int cmd_eval(const struct options *o)
{
	if (!o->nfile) {
		complain("eval: no program given (try --help)");
		return EXIT_USAGE;
	}
	int rc = EXIT_VOID, n = 0;
	for (int i = 0; i < o->nfile && !ferror(stdout); i++) {
		int one = load_programs(o->file[i], eval_one, &n);
		rc = exit_of_both(rc, one);
	}
	return rc;
}
