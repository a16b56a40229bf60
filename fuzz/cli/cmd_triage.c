/* cmd_triage.c: from a list of findings to a few causes: each open finding is minimised, the most severe first, and those whose minimised
 * programs fail in the same way with the same operators are shown as one cause. What was done is kept in the store finding by finding, so a
 * run that is stopped, or killed, goes on where it was. */
#include <inttypes.h>
#include <stdlib.h>

#include "eager/base/clock.h"
#include "eager/base/escape.h"
#include "eager/base/interrupt.h"
#include "eager/base/output.h"
#include "fuzz/cli/commands.h"
#include "fuzz/cli/minimize_finding.h"
#include "reports/store/store.h"

enum { MAX_TRIAGED = 10000 };

/* ---- questions to the store ---------------------------------------------------------------------------------------------------------- */

struct rows {
	struct arena *a;
	int n, ncols;
	const char ***row; /* [n][ncols] texts */
	bool over;
};

static const char *text_of(const struct store_value *v, struct arena *a)
{
	return v->type == STORE_INT ? arena_printf(a, "%" PRId64, v->i) : arena_strdup(a, v->s ? v->s : "");
}

static bool take_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct rows *r = ctx;
	(void)names;
	r->ncols = ncols;
	if (!v)
		return true;
	if (r->n == MAX_TRIAGED)
		return !(r->over = true);
	if (!r->row)
		r->row = ARENA_NEW(r->a, const char **, MAX_TRIAGED);
	const char **row = r->row[r->n++] = ARENA_NEW(r->a, const char *, ncols);
	for (int i = 0; i < ncols; i++)
		row[i] = text_of(&v[i], r->a);
	return true;
}

/* An exit code; what is wrong was said. */
static int ask(struct rows *r, const char *db, const char *sql, struct arena *a)
{
	enum store_status st;
	struct err err = {0};
	struct store *s = store_open(&st, db, STORE_READ, &err);
	*r = (struct rows){.a = a};
	if (!s) {
		complain("%s", err.msg);
		return store_exit_code(st);
	}
	st = store_query_sql(s, sql, NULL, take_row, r);
	if (st != STORE_OK && !r->over)
		complain("%s", store_message(s));
	else
		st = STORE_OK;
	store_close(s, NULL);
	return store_exit_code(st);
}

/* ---- minimising ------------------------------------------------------------------------------------------------------------------------
 * */

struct triage {
	const struct options *o;
	double end;                   /* clock_s() after which nothing new begins; 0: none */
	int done, gone, failed, left; /* minimised; do not fail any more; could not be; not tried */
	int rc;                       /* of the last that could not be; EXIT_CLEAN: none */
};

static bool over(const struct triage *t) { return interrupt_asked() || (t->end != 0 && clock_s() > t->end); }

static void one_finding(struct triage *t, const char *id, const char *signature, int k, int n)
{
	struct arena a;
	const char *how = "";
	arena_init(&a);
	fprintf(stderr, "%d of %d: %.*s %s\n", k + 1, n, STORE_ID_DIGITS, id, escaped_line(&a, signature));
	int rc = minimize_finding(t->o, id, &how, &a);
	if (rc == EXIT_CLEAN)
		fprintf(stderr, "  %s\n", how);
	t->done += rc == EXIT_CLEAN;
	t->gone += rc == EXIT_VOID;
	t->failed += rc != EXIT_CLEAN && rc != EXIT_VOID;
	if (rc != EXIT_CLEAN && rc != EXIT_VOID)
		t->rc = rc;
	arena_free(&a);
}

static int minimize_open(struct triage *t, struct arena *a)
{
	struct rows r;
	int rc = ask(&r, t->o->db,
		"select full_id, signature from v_findings where state in ('candidate', 'confirmed', 'regressed') and target <> 'scatterproof' "
		"order by severity, nobs desc, full_id",
		a);
	for (int i = 0; i < r.n && rc == EXIT_CLEAN; i++) {
		if (over(t))
			t->left++;
		else
			one_finding(t, r.row[i][0], r.row[i][1], i, r.n);
	}
	return rc;
}

/* ---- causes ----------------------------------------------------------------------------------------------------------------------------
 * */

/* The operators of a list of the store, without overloads, so that sum and sum.dim_IntList are one; without those that only make a
 * cotangent or take a result apart. */
static const char *motif(const char *ops, struct arena *a)
{
	struct strbuf sb;
	char last[128] = "";
	sb_init(&sb);
	for (const char *p = ops; *p;) {
		size_t n = strcspn(p, " "), bare = strcspn(p, ". ");
		bool idle = (bare == 4 && str_starts(p, "full")) || (bare == 7 && str_starts(p, "getitem"));
		if (n && !idle && (bare != strlen(last) || strncmp(p, last, bare) != 0)) {
			snprintf(last, sizeof last, "%.*s", (int)bare, p);
			sb_printf(&sb, "%s%s", sb.len ? " " : "", last);
		}
		p += n + (p[n] == ' ');
	}
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

struct cause {
	const char *severity, *kind, *ops, *ids, *program;
	int findings;
	int64_t nobs;
};

static struct cause *cause_of(struct cause *all, int *n, const char *kind, const char *ops)
{
	for (int i = 0; i < *n; i++)
		if (str_eq(all[i].kind, kind) && str_eq(all[i].ops, ops))
			return &all[i];
	all[*n] = (struct cause){.kind = kind, .ops = ops, .ids = ""};
	return &all[(*n)++];
}

static void print_cause(const struct cause *c, struct arena *a)
{
	const char *ops = c->ops[0] ? c->ops : "(inputs alone)", *several = c->findings == 1 ? "" : "s";
	printf("\n%s  %s  %s: %d finding%s, seen %" PRId64 " times:%s\n", c->severity, c->kind, ops, c->findings, several, c->nobs, c->ids);
	printf("%s", escaped_lines(a, "  ", arena_printf(a, "  %s", c->program)));
}

/* Rows come most severe first, of each the most often seen first; so do causes, and the program shown is the first one's. */
static int print_causes(const struct triage *t, struct arena *a)
{
	struct rows r;
	static const char minimised[] =
		"select v.severity, v.kind, v.ops, v.id, v.nobs, p.text from v_findings v join finding_summary s on lower(hex(s.finding)) = "
		"v.full_id join program p on p.id = s.program where v.state in ('minimised', 'blamed') order by v.severity, v.nobs desc, v.full_id";
	int n = 0, rc = ask(&r, t->o->db, minimised, a);
	if (rc != EXIT_CLEAN)
		return rc;
	struct cause *all = ARENA_NEW(a, struct cause, r.n + 1);
	for (int i = 0; i < r.n; i++) {
		struct cause *c = cause_of(all, &n, r.row[i][1], motif(r.row[i][2], a));
		if (!c->findings++) {
			c->severity = r.row[i][0];
			c->program = r.row[i][5];
		}
		c->nobs += strtoll(r.row[i][4], NULL, 10);
		c->ids = arena_printf(a, "%s %s", c->ids, r.row[i][3]);
	}
	printf("%d findings are minimised, of %d causes (same kind, same operators):\n", r.n, n);
	for (int i = 0; i < n; i++)
		print_cause(&all[i], a);
	return EXIT_CLEAN;
}

int cmd_triage(const struct options *o)
{
	struct triage t = {.o = o, .end = o->time_s != 0 ? clock_s() + o->time_s : 0};
	struct arena a;
	if (!o->db) {
		complain("triage: --db FILE is needed (try --help)");
		return EXIT_USAGE;
	}
	arena_init(&a);
	interrupt_catch(NULL);
	int rc = minimize_open(&t, &a);
	if (rc == EXIT_CLEAN) {
		rc = print_causes(&t, &a);
		rc = rc == EXIT_CLEAN ? t.rc : rc;
		fflush(stdout);
		fprintf(stderr, "minimised %d, not failing any more %d, not possible %d, not tried %d\n", t.done, t.gone, t.failed, t.left);
	}
	arena_free(&a);
	return interrupt_asked() ? 128 + interrupt_asked() : rc;
}
