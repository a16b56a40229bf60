/* cmd_sweep.c: a failure over stages, dtypes, options, sizes and versions, as a table. Rows are printed as they come, so the columns are as
 * wide as a terminal allows, whatever comes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "compiled/targets/driver.h"
#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/guess.h"
#include "eager/base/interrupt.h"
#include "eager/base/json.h"
#include "eager/base/output.h"
#include "fuzz/campaign/load.h"
#include "fuzz/cli/commands.h"
#include "fuzz/campaign/found.h"
#include "fuzz/cli/keep_result.h"
#include "fuzz/cli/since.h"
#include "fuzz/triage/sweep_json.h"

struct sweeping {
	const struct options *o;
	struct arena a;
	struct prog p;
	struct target t;
	int nalso;
	unsigned axes;
	int programs;        /* in the file */
	struct found *x;     /* of a finding; else NULL */
	struct strbuf *kept; /* --store: the artifact, as far as it is there; else NULL */
	struct json j;       /* into it */
};

/* ---- the table ----------------------------------------------------------------------------------------------------------------------- */

enum { VARIED = 35, DTYPE = 4, TARGET = 25, VERDICT = 10, WRONG = 20, EXPECTED = 17, GOT = 12, REASON = 60 };

/* Cut where it does not fit. */
static const char *cell(const char *text, int width, struct arena *a)
{
	int n = (int)strlen(text);
	return n <= width ? text : arena_printf(a, "%.*s..", width - 2, text);
}

/* Whatever the sign of a NaN, nobody asked for it. */
static const char *number_text(double v, struct arena *a) { return isnan(v) ? "nan" : arena_printf(a, "%.6g", v); }

/* "0.25", "0.25+-1e-08": the middle, and the radius where it is not exact. */
static const char *expected_text(const struct sample *e, struct arena *a)
{
	double middle = e->low / 2 + e->high / 2, radius = e->high / 2 - e->low / 2;
	if (!(radius > 0))
		return number_text(middle, a);
	const char *text = arena_printf(a, "%.6g+-%.0e", middle, radius);
	return strlen(text) <= EXPECTED ? text : arena_printf(a, "%.4g+-%.0e", middle, radius);
}

static void print_head(void)
{
	printf("%-*s %-*s %-*s %-*s %-*s %-*s %-*s ratio\n", VARIED, "varied", DTYPE, "", TARGET, "target", VERDICT, "verdict", WRONG,
		"first wrong element", EXPECTED, "must be", GOT, "is");
}

static const char *what_varied(const struct sweep_row *r, struct arena *a)
{
	const char *text = r->varied[0] ? r->varied : r->value;
	return cell(r->moved ? arena_printf(a, "~ %s", text) : text, VARIED, a);
}

static void print_row(const struct sweep_row *r, struct arena *a)
{
	const char *verdict = arena_printf(a, "%s%s", r->verdict, r->answer == SWEEP_OTHERWISE ? "*" : "");
	printf("%-*s %-*s %-*s ", VARIED, what_varied(r, a), DTYPE, r->dtype, TARGET, cell(r->target, TARGET, a));
	if (r->at[0]) {
		printf("%-*s %-*s %-*s ", VERDICT, verdict, WRONG, cell(arena_printf(a, "%s%s", r->tensor, r->at), WRONG, a), EXPECTED,
			expected_text(&r->element, a));
		if (isnan(r->ratio))
			printf("%s\n", number_text(r->element.got, a));
		else
			printf("%-*s %.6g\n", GOT, number_text(r->element.got, a), r->ratio);
	} else if (r->short_why[0]) {
		printf("%-*s %s\n", VERDICT, verdict, cell(escaped_line(a, r->short_why), REASON, a));
	} else {
		printf("%s\n", verdict);
	}
}

static void print_row_json(const struct sweep_series *s, const struct sweep_row *r)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "axis", s ? sweep_axis_name[s->axis] : "");
	json_string(&j, "series", s ? s->name : "");
	json_string(&j, "value", r->value);
	json_bool(&j, "as_found", r->as_found);
	json_string(&j, "varied", r->varied);
	json_string(&j, "target", r->target);
	json_string(&j, "answer", sweep_answer_name[r->answer]);
	json_string(&j, "verdict", r->verdict);
	json_string(&j, "why", r->why);
	json_string(&j, "dtype", r->dtype);
	if (r->at[0]) {
		json_string(&j, "tensor", r->tensor);
		json_int(&j, "call", r->call);
		json_string(&j, "pattern", r->pattern);
		json_string(&j, "at", r->at);
		json_array(&j, "expected");
		json_double(&j, NULL, r->element.low);
		json_double(&j, NULL, r->element.high);
		json_end(&j);
		json_double(&j, "got", r->element.got);
		json_double(&j, "expected_sum", r->want_sum);
		json_double(&j, "got_sum", r->got_sum);
		if (isnan(r->ratio))
			json_null(&j, "ratio");
		else
			json_double(&j, "ratio", r->ratio);
	}
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

static void print_end_json(const struct sweep_series *s, const char *key, const char *text)
{
	struct strbuf sb;
	struct json j = json_into(&sb, JSON_SPACED);
	sb_init(&sb);
	json_object(&j, NULL);
	json_string(&j, "axis", sweep_axis_name[s->axis]);
	json_string(&j, "series", s->name);
	for (int k = 0; k < NSWEEP_ANSWERS; k++) {
		json_array(&j, sweep_answer_name[k]);
		for (int i = 0; i < s->n; i++)
			if ((int)s->row[i].answer == k)
				json_string(&j, NULL, s->row[i].value);
		json_end(&j);
	}
	json_int(&j, "left", s->left);
	json_string(&j, key, text);
	json_end(&j);
	printf("%s\n", sb.s);
	sb_free(&sb);
}

static void on_begin(void *ctx, const struct sweep_series *s)
{
	const struct sweeping *w = ctx;
	if (!w->o->json && !w->o->since)
		printf("\n%s\n", s->name);
}

static bool on_row(void *ctx, const struct sweep_series *s, const struct sweep_row *r)
{
	struct sweeping *w = ctx;
	if (w->o->json)
		print_row_json(s, r);
	else if (!w->o->since)
		print_row(r, &w->a);
	fflush(stdout);
	return !interrupt_asked() && !ferror(stdout);
}

static void on_end(void *ctx, const struct sweep_series *s)
{
	struct sweeping *w = ctx;
	if (w->kept && w->o->since)
		sb_puts(w->kept, since_json(s, &w->t, w->x->program_id, &w->a));
	else if (w->kept)
		sweep_json_series(&w->j, s, &w->a);
	const char *text = w->o->since ? sweep_since(s, &w->a) : sweep_summary(s, &w->a);
	if (w->o->json)
		print_end_json(s, w->o->since ? "since" : "summary", text);
	else
		printf("%s%s%s\n", w->o->since ? "" : s->name, w->o->since ? "" : ": ", text);
	fflush(stdout);
}

/* ---- what is asked ------------------------------------------------------------------------------------------------------------------- */

static bool unknown_axis(const char *word, size_t n, struct err *err)
{
	struct guess g;
	struct strbuf all;
	sb_init(&all);
	guess_start(&g, word, n);
	for (int k = 0; k < NSWEEP_AXES; k++) {
		sb_printf(&all, "%s%s", k ? ", " : "", sweep_axis_name[k]);
		guess_add(&g, sweep_axis_name[k], strlen(sweep_axis_name[k]));
	}
	err_set(err, "--axis: '%.*s' is not one of %s%s", (int)n, word, all.s, guess_text(&g));
	sb_free(&all);
	return false;
}

static bool read_axes(unsigned *out, const char *text, struct err *err)
{
	*out = 0;
	for (const char *at = text; text; at++) {
		size_t n = strcspn(at, ",");
		int k = 0;
		while (k < NSWEEP_AXES && (strlen(sweep_axis_name[k]) != n || strncmp(sweep_axis_name[k], at, n) != 0))
			k++;
		if (k == NSWEEP_AXES)
			return unknown_axis(at, n, err);
		*out |= 1u << k;
		at += n;
		if (!*at)
			return true;
	}
	*out = (1u << NSWEEP_AXES) - 1;
	return true;
}

static int take_program(void *ctx, const char *name, const struct prog *p)
{
	struct sweeping *w = ctx;
	(void)name;
	if (!w->programs++)
		prog_clone(&w->p, p, &w->a);
	return EXIT_CLEAN;
}

static int load(struct sweeping *w)
{
	const struct options *o = w->o;
	w->nalso = MAX(o->ntarget - 1, 0);
	if (o->db) {
		struct found *x = w->x = ARENA_ZNEW(&w->a, struct found, 1);
		int rc = found_load(x, o, &w->a);
		w->p = x->p;
		w->t = x->t;
		return rc;
	}
	w->t = o->target[0];
	int rc = load_programs(o->file[0], take_program, w);
	if (rc == EXIT_CLEAN && w->programs != 1) {
		complain("sweep: %s has %d program%s, and one is swept", o->file[0], w->programs, plural(w->programs));
		rc = EXIT_USAGE;
	}
	return rc;
}

static int understand(struct sweeping *w)
{
	const struct options *o = w->o;
	struct err err = {0};
	if (o->nfile != 1 || (!o->db && !o->ntarget))
		err_set(&err, "sweep: a finding's id and --db FILE, or a program and --target NAME, are needed (try --help)");
	else if (o->since && o->axes)
		err_set(&err, "sweep: --since is about versions, --axis would be about something else");
	else if (o->store && (!o->db || o->ntarget))
		err_set(&err, "sweep: --store keeps the answer of a finding (--db FILE), on the target on which it was found (no --target)");
	else
		read_axes(&w->axes, o->axes, &err);
	if (o->since)
		w->axes = 1u << SWEEP_VERSIONS;
	if (err.msg[0])
		complain("%s", err.msg);
	return err.msg[0] ? EXIT_USAGE : EXIT_CLEAN;
}

/* ---- running ------------------------------------------------------------------------------------------------------------------------- */

static void print_title(struct sweeping *w, const struct sweep *s, const struct sweep_row *base)
{
	const char *ops[MAX_NODES];
	int n = prog_ops(ops, MAX_NODES, &w->p);
	printf("%s on %s, in a program of", failure_text(sweep_failure(s), &w->a), base->target);
	for (int i = 0; i < n; i++)
		printf("%s%s", i ? ", " : " ", ops[i]);
	printf("\nratio: all elements of the wrong tensor as they are, added up, over what they must add up to; *: fails in another way; "
		   "~: positions moved\n\n");
	print_head();
	print_row(base, &w->a);
}

static int run_sweep(struct sweeping *w, struct runner *r)
{
	const struct options *o = w->o;
	struct err err = {0};
	enum exec_identity id = runner_start(r, &w->t, &err);
	if (id != EXEC_IDENTIFIED) {
		complain("%s", err.msg);
		return id == EXEC_OTHER ? EXIT_USAGE : EXIT_TARGET;
	}
	if (o->since && !target_has_versions(&w->t)) {
		complain("sweep: --since: %s has no versions", target_family(&w->t));
		return EXIT_USAGE;
	}
	struct sweep_plan plan = {.p = &w->p,
		.t = w->t,
		.also = o->target + 1,
		.nalso = w->nalso,
		.axes = w->axes,
		.one_version = o->python != NULL,
		.until = o->time_s > 0 ? clock_s() + o->time_s : 0,
		.programs = o->programs,
		.ctx = w,
		.begin = on_begin,
		.row = on_row,
		.end = on_end};
	struct sweep_row base;
	struct sweep *s = sweep_begin(&base, &plan, r, &w->a);
	if (!s) {
		complain(
			"the program does not fail on %s: %s%s%s", base.target, base.verdict, base.why[0] ? ": " : "", escaped_line(&w->a, base.why));
		return str_eq(base.verdict, verdict_name[VD_HARNESS]) ? EXIT_TARGET : EXIT_VOID;
	}
	if (o->json)
		print_row_json(NULL, &base);
	else if (!o->since)
		print_title(w, s, &base);
	sweep_run(s);
	return EXIT_CLEAN;
}

/* With what was learnt kept, where that is asked for. */
static int run_and_keep(struct sweeping *w, struct runner *r)
{
	const struct options *o = w->o;
	struct strbuf text;
	if (!o->store)
		return run_sweep(w, r);
	int rc = result_can_be_kept(o->db);
	if (rc != EXIT_CLEAN)
		return rc;
	sb_init(&text);
	w->kept = &text;
	w->j = json_into(&text, JSON_SPACED);
	if (!o->since) {
		sweep_json_begin(&w->j, SWEEP_SCHEMA, &w->t, w->x->program_id, &w->a);
		json_array(&w->j, "series");
	}
	rc = run_sweep(w, r);
	if (!o->since) {
		json_end(&w->j);
		json_end(&w->j);
	}
	if (rc == EXIT_CLEAN && !interrupt_asked() && text.len)
		rc = result_keep(o->db, &w->x->f.id, o->since ? SINCE_ARTIFACT : SWEEP_ARTIFACT, text.s);
	sb_free(&text);
	return rc;
}

int cmd_sweep(const struct options *o)
{
	struct sweeping w = {.o = o};
	struct exec_options eo = {.self = o->self, .python = o->python, .limit_ms = o->limit_ms};
	if (o->since && o->db && !o->nfile && !o->axes && !o->ntarget)
		return since_all(o);
	arena_init(&w.a);
	int rc = understand(&w);
	if (rc == EXIT_CLEAN)
		rc = load(&w);
	if (rc == EXIT_CLEAN) {
		interrupt_catch(NULL);
		struct runner *r = runner_new(&eo);
		rc = run_and_keep(&w, r);
		runner_free(r);
	}
	arena_free(&w.a);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}
