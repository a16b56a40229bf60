/* findings_cmd.c: the `findings` verb: list, show, sql, mark. Reads options, opens the store (for reading, but for mark), prints. */
#include "reports/findings_cmd.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "eager/guess.h"
#include "reports/duration.h"
#include "reports/findings_show.h"
#include "reports/json.h"
#include "reports/lifecycle.h"
#include "reports/version.h"

static const char usage[] =
	"usage: scatterproof findings [--open] [--op NAME] [--since DATE] [--limit N] [--json] --db FILE\n"
	"       scatterproof findings show ID [--json] --db FILE\n"
	"       scatterproof findings sql 'select ...' [--limit T] [--json] --db FILE\n"
	"       scatterproof findings mark ID open | known [--issue URL] | fixed-in [VERSION] | dismissed | duplicate --of ID\n"
	"                             [--note TEXT] --db FILE\n"
	"\n"
	"Lists findings (latest seen first, under a line with the columns' names), shows one, or answers an SQL query; only `mark` writes: what somebody decided about a finding.\n"
	"  --open        only those that are not known, fixed or dismissed\n"
	"  --op NAME     only programs with this operator; `sum` also means `sum.dim_IntList`\n"
	"  --since DATE  only seen since 2026-01-31 or 2026-01-31T23:59:59 (UTC)\n"
	"  --limit N     at most N; for sql: end the query after this time (90s, 10m; 60s if not given)\n"
	"  --note TEXT   kept in the finding's history\n"
	"  --json        one JSON object per line\n"
	"  ID            at least six digits of a finding's id\n"
	"Views for sql: v_findings v_open v_new v_by_signature v_fixed v_events v_counters; tables: see reports/schema.sql.\n";

enum verb { VERB_LIST, VERB_SHOW, VERB_SQL, VERB_MARK, NVERBS };
static const char *const verb_name[NVERBS] = {"", "show", "sql", "mark"};
enum { SQL_LIMIT_S = 60 };      /* a query of people takes a second at most; a recursive one may be endless */

struct options {
	enum verb verb;
	const char *argument;   /* id or SQL */
	const char *state, *version, *note, *issue, *of;        /* mark */
	struct decision decision;
	const char *db;
	const char *limit;      /* rows of the list, time of an SQL query */
	double limit_s;
	bool json, help, filtered;
	struct store_filter filter;
};

/* ---- options ------------------------------------------------------------------------------------------------------------ */

/* `--name VALUE` or `--name=VALUE`: true if argv[*i] is this option; *value is NULL if it lacks its value. */
static bool option_value(const char **value, const char *name, int argc, char **argv, int *i)
{
	size_t n = strlen(name);
	const char *arg = argv[*i];
	if (strncmp(arg, name, n) != 0 || (arg[n] != '\0' && arg[n] != '='))
		return false;
	*value = arg[n] == '=' ? arg + n + 1 : *i + 1 < argc ? argv[++*i] : NULL;
	return true;
}

static bool parse_rows(int64_t *out, const char *text, struct err *err)
{
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0)
		return err_set(err, "--limit needs a number, not '%.60s'", text);
	*out = n;
	return true;
}

static bool take_option(struct options *o, int argc, char **argv, int *i, struct err *err)
{
	const char *value = "";
	const char *name = argv[*i];
	bool ok = true;
	if (str_eq(name, "--json")) {
		o->json = true;
	} else if (str_eq(name, "--help") || str_eq(name, "-h")) {
		o->help = true;
	} else if (str_eq(name, "--open")) {
		o->filter.open_only = o->filtered = true;
	} else if (option_value(&value, "--db", argc, argv, i)) {
		o->db = value;
	} else if (option_value(&value, "--op", argc, argv, i)) {
		o->filter.op = value;
		o->filtered = true;
	} else if (option_value(&value, "--since", argc, argv, i)) {
		ok = !value || store_time_parse(&o->filter.since, value, err);
		o->filtered = true;
	} else if (option_value(&value, "--limit", argc, argv, i)) {
		o->limit = value;
	} else if (option_value(&value, "--note", argc, argv, i)) {
		o->note = value;
	} else if (option_value(&value, "--issue", argc, argv, i)) {
		o->issue = value;
	} else if (option_value(&value, "--of", argc, argv, i)) {
		o->of = value;
	} else {
		static const char *const known[] = {"--json", "--help", "--open", "--db", "--op", "--since", "--limit", "--note", "--issue", "--of"};
		return err_set(err, "unknown option '%.60s'%s", name,
			guess_from(&(struct guess){0}, name, known, sizeof known[0], ARRAY_LEN(known)));
	}
	return value ? ok : err_set(err, "%s needs a value", name);
}

static bool take_word(struct options *o, int nth, const char *word, struct err *err)
{
	for (int v = VERB_SHOW; nth == 0 && v < NVERBS; v++)
		if (str_eq(word, verb_name[v])) {
			o->verb = (enum verb)v;
			return true;
		}
	const char **place[] = {NULL, &o->argument, o->verb == VERB_MARK ? &o->state : NULL, o->verb == VERB_MARK ? &o->version : NULL};
	if (nth >= ARRAY_LEN(place) || !place[nth])
		return err_set(err, "'%.60s' is not understood%s", word,
			guess_from(&(struct guess){0}, nth ? "" : word, &verb_name[VERB_SHOW], sizeof verb_name[0], NVERBS - VERB_SHOW));
	*place[nth] = word;
	return true;
}

static const char *given(const char *s) { return s ? s : ""; }

static bool check_mark(struct options *o, struct err *err)
{
	if (o->verb != VERB_MARK)
		return !(o->note || o->issue || o->of) || err_set(err, "--note, --issue and --of go with mark only");
	struct decision *d = &o->decision;
	if (!o->state || !decision_find(&d->kind, o->state))
		return err_set(err, "mark needs open, known, fixed-in, dismissed or duplicate after the id%s%.60s%s%s", o->state ? ", not '" : "",
			given(o->state), o->state ? "'" : "",
			guess_from(&(struct guess){0}, given(o->state), decision_name, sizeof decision_name[0], NDECISIONS));
	if (o->version && d->kind != DECIDE_FIXED_IN)
		return err_set(err, "'%.60s' is not understood: only fixed-in takes a version", o->version);
	if (o->version && !version_valid(o->version))
		return err_set(err, "'%.60s' is no version: 2.15.0 is one, 2.16.0.dev20260101+cpu, too", o->version);
	if ((o->of != NULL) != (d->kind == DECIDE_DUPLICATE))
		return err_set(err, o->of ? "--of goes with duplicate" : "duplicate needs --of ID, the finding that it is like");
	if (o->issue && d->kind != DECIDE_KNOWN)
		return err_set(err, "--issue goes with known");
	d->note = given(o->note);
	d->version = given(o->version);
	d->issue_url = given(o->issue);
	return true;
}

static bool parse(struct options *o, int argc, char **argv, struct err *err)
{
	int nwords = 0;
	bool ok = true, options = true;         /* until -- */
	*o = (struct options){.limit_s = SQL_LIMIT_S, .filter = {.since = INT64_MIN, .limit = -1}};
	for (int i = 1; i < argc && ok; i++) {
		if (options && str_eq(argv[i], "--"))
			options = false;
		else
			ok = options && argv[i][0] == '-' && argv[i][1] ? take_option(o, argc, argv, &i, err)
			                                                : take_word(o, nwords++, argv[i], err);
	}
	if (!ok || o->help)
		return ok;
	if (o->verb != VERB_LIST && !o->argument)
		return err_set(err, "%s needs %s", verb_name[o->verb], o->verb == VERB_SQL ? "a statement" : "an id");
	if (o->verb != VERB_LIST && o->filtered)
		return err_set(err, "--open, --op and --since go with the list only");
	if (o->limit && o->verb != VERB_LIST && o->verb != VERB_SQL)
		return err_set(err, "--limit goes with the list and with sql");
	if (!check_mark(o, err))
		return false;
	if (o->limit && !(o->verb == VERB_SQL ? duration_parse(&o->limit_s, o->limit, err) : parse_rows(&o->filter.limit, o->limit, err)))
		return false;
	o->filtered |= o->limit != NULL;
	return o->db || err_set(err, "--db FILE is needed");
}

/* ---- rows ---------------------------------------------------------------------------------------------------------------- */

static void row_json(struct strbuf *sb, int ncols, const char *const *names, const struct store_value *v)
{
	sb_putc(sb, '{');
	for (int i = 0; i < ncols; i++) {
		json_key(sb, names[i]);
		switch (v[i].type) {
		case STORE_INT: sb_printf(sb, "%lld", (long long)v[i].i); break;
		case STORE_REAL: json_real(sb, v[i].r); break;
		case STORE_TEXT: json_text(sb, v[i].s, v[i].nbytes); break;
		case STORE_BLOB: json_hex(sb, v[i].s, v[i].nbytes); break;
		default: sb_puts(sb, "null");
		}
	}
	sb_puts(sb, "}\n");
}

static void cell_text(struct strbuf *sb, const struct store_value *v)
{
	switch (v->type) {
	case STORE_INT: sb_printf(sb, "%lld", (long long)v->i); break;
	case STORE_REAL: sb_printf(sb, "%.17g", v->r); break;
	case STORE_TEXT: text_cell(sb, v->s, v->nbytes); break;
	case STORE_BLOB:
		for (size_t i = 0; i < v->nbytes; i++)
			sb_printf(sb, "%02x", (unsigned)(unsigned char)v->s[i]);
		break;
	default: sb_puts(sb, "NULL");
	}
}

struct printer { struct store *store; bool json; int64_t nrows; struct strbuf line, complaint; double stop_at; };

static bool print_line(struct printer *p)
{
	bool ok = fwrite(p->line.s, 1, p->line.len, stdout) == p->line.len;
	sb_reset(&p->line);
	return ok;
}

/* SQL: a header and tab-separated cells, or JSON. */
static bool print_sql_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct printer *p = ctx;
	if (p->json && !v)
		return true;
	if (p->json) {
		row_json(&p->line, ncols, names, v);
		return print_line(p);
	}
	for (int i = 0; i < ncols; i++) {
		if (i)
			sb_putc(&p->line, '\t');
		if (v)
			cell_text(&p->line, &v[i]);
		else
			text_cell(&p->line, names[i], strlen(names[i]));
	}
	sb_putc(&p->line, '\n');
	return print_line(p);
}

/* The list: a few columns of v_findings, in fixed places under their names. */
static const struct list_column { const char *name; size_t width; } list_columns[] = {{"id", 8}, {"state", 10}, {"kind", 10}, {"nobs", 6},
	{"last_seen", 19}, {"target", 24}, {"signature", 40}, {"ops", 0}};

/* To the column's width, and two blanks more; the last one ends where it ends. */
static void pad(struct strbuf *sb, size_t from, const struct list_column *c)
{
	while (c->width && sb->len < from + c->width)
		sb_putc(sb, ' ');
	sb_puts(sb, c->width ? "  " : "");
}

static void list_header(struct strbuf *sb)
{
	for (int k = 0; k < ARRAY_LEN(list_columns); k++) {
		size_t before = sb->len;
		sb_puts(sb, list_columns[k].name);
		pad(sb, before, &list_columns[k]);
	}
	sb_putc(sb, '\n');
}

/* The view knows no duplicates, only what is dismissed; the finding's history does. */
static bool is_duplicate(struct store *s, const struct store_value *state, const struct store_value *id)
{
	struct hash128 h;
	struct store_loaded f;
	struct arena a;
	arena_init(&a);
	bool is = str_eq(state->s, finding_state_name[STATE_DISMISSED]) && store_find_by_prefix(s, &h, id->s) == STORE_OK
		&& store_load_finding(s, &f, &h, &a) == STORE_OK && finding_original(&f)[0];
	arena_free(&a);
	return is;
}

static const struct store_value *column(int ncols, const char *const *names, const struct store_value *v, const char *name)
{
	for (int i = 0; i < ncols; i++)
		if (str_eq(names[i], name))
			return &v[i];
	BUG("the list has no column %s", name);
}

static bool print_list_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct printer *p = ctx;
	if (!v)
		return true;
	p->nrows++;
	if (p->json) {
		row_json(&p->line, ncols, names, v);
		return print_line(p);
	}
	if (p->nrows == 1)
		list_header(&p->line);
	const struct store_value *state = column(ncols, names, v, "state");
	bool duplicate = is_duplicate(p->store, state, column(ncols, names, v, "full_id"));
	for (int k = 0; k < ARRAY_LEN(list_columns); k++) {
		const struct store_value *cell = column(ncols, names, v, list_columns[k].name);
		size_t before = p->line.len;
		if (cell == state && duplicate)
			sb_puts(&p->line, decision_name[DECIDE_DUPLICATE]);
		else
			cell_text(&p->line, cell);
		pad(&p->line, before, &list_columns[k]);
	}
	sb_putc(&p->line, '\n');
	return print_line(p);
}

/* ---- verbs ------------------------------------------------------------------------------------------------------------------ */

static enum store_status do_list(struct store *s, const struct options *o, struct printer *p)
{
	enum store_status status = store_list(s, &o->filter, print_list_row, p);
	if (status == STORE_OK && p->nrows == 0 && !o->json)
		fputs(o->filtered ? "no such findings\n" : "no findings\n", stdout);
	return status;
}

static enum store_status do_show(struct store *s, const struct options *o, struct printer *p)
{
	struct hash128 id, other;
	struct store_loaded f;
	struct arena a;
	char shown[33];
	enum store_status status = store_find_by_prefix(s, &id, o->argument);
	if (status != STORE_OK)
		return status;
	arena_init(&a);
	status = store_load_finding(s, &f, &id, &a);
	if (status == STORE_OK) {
		int n = STORE_ID_DIGITS;        /* more if eight digits are not enough */
		do
			snprintf(shown, sizeof shown, "%.*s", n++, f.hex);
		while (n <= 32 && store_find_by_prefix(s, &other, shown) == STORE_BAD);
		(o->json ? finding_show_json : finding_show_text)(&p->line, &f, shown, o->db);
		print_line(p);
	}
	arena_free(&a);
	return status;
}

static enum store_status check_original(struct store *s, const struct decision *d, struct printer *p)
{
	bool turns;
	char mine[33], other[33];
	enum store_status status = finding_duplicates_turn(&turns, s, &d->finding, &d->duplicate_of);
	if (status != STORE_OK || !turns)
		return status;
	hash_hex(mine, &d->finding);
	hash_hex(other, &d->duplicate_of);
	if (str_eq(mine, other))
		sb_puts(&p->complaint, "a finding is no duplicate of itself");
	else
		sb_printf(&p->complaint, "%.*s is a duplicate of %.*s already, itself or through others: mark it open first", STORE_ID_DIGITS, other,
			STORE_ID_DIGITS, mine);
	return STORE_BAD;
}

/* mark ID STATE: one event, two with a note. */
static enum store_status do_mark(struct store *s, struct options *o, struct printer *p)
{
	struct decision *d = &o->decision;
	struct store_loaded before, after;
	struct timespec t;
	struct arena a;
	arena_init(&a);
	enum store_status status = store_find_by_prefix(s, &d->finding, o->argument);
	if (status == STORE_OK && o->of)
		status = store_find_by_prefix(s, &d->duplicate_of, o->of);
	if (status == STORE_OK && o->of)
		status = check_original(s, d, p);
	if (status == STORE_OK)
		status = store_load_finding(s, &before, &d->finding, &a);
	clock_gettime(CLOCK_REALTIME, &t);
	if (status == STORE_OK)
		status = finding_decide(s, d, (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000, SCATTERPROOF);
	if (status == STORE_OK)
		status = store_load_finding(s, &after, &d->finding, &a);
	if (status == STORE_OK) {
		sb_printf(&p->line, "finding %.*s was %s, is %s\n", STORE_ID_DIGITS, after.hex, finding_state_text(&before),
			finding_state_text(&after));
		print_line(p);
	}
	arena_free(&a);
	return status;
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first signal asks the query to end; one more than a second later ends the process. Sooner ones are the same wish said twice:
 * timeout(1) signals the process and then its group. */
static volatile sig_atomic_t stop_signal;
static double stop_signal_at;
static void on_signal(int sig)
{
	if (!stop_signal)
		stop_signal_at = now_s();
	else if (now_s() > stop_signal_at + 1.0)
		_exit(128 + sig);
	stop_signal = sig;
}

static bool sql_must_stop(void *ctx)
{
	const struct printer *p = ctx;
	return stop_signal || now_s() > p->stop_at;
}

/* Signals end the query, and a write that waits for its reader (no SA_RESTART). */
static enum store_status do_sql(struct store *s, const struct options *o, struct printer *p)
{
	const struct sigaction end = {.sa_handler = on_signal};
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	p->stop_at = now_s() + o->limit_s;
	return store_query_sql(s, o->argument, sql_must_stop, print_sql_row, p);
}

static enum store_status run_verb(struct store *s, struct options *o, struct printer *p)
{
	switch (o->verb) {
	case VERB_SHOW: return do_show(s, o, p);
	case VERB_SQL: return do_sql(s, o, p);
	case VERB_MARK: return do_mark(s, o, p);
	default: return do_list(s, o, p);
	}
}

int cmd_findings(int argc, char **argv)
{
	struct options o;
	struct err err = {0};
	enum store_status status;
	if (!parse(&o, argc, argv, &err)) {
		fprintf(stderr, "scatterproof findings: %s\n%s", err.msg, usage);
		return 2;
	}
	if (o.help)
		return fputs(usage, stdout) < 0 ? 3 : 0;
	struct store *s = store_open(&status, o.db, o.verb == VERB_MARK ? STORE_WRITE : STORE_READ, &err);
	if (!s) {
		fprintf(stderr, "scatterproof findings: %s\n", err.msg);
		return store_exit_code(status);
	}
	struct printer p = {.store = s, .json = o.json};
	sb_init(&p.line);
	sb_init(&p.complaint);
	status = run_verb(s, &o, &p);
	if (stop_signal)
		fprintf(stderr, "scatterproof findings: ended by signal %d\n", (int)stop_signal);
	else if (status != STORE_OK && o.verb == VERB_SQL && now_s() > p.stop_at)
		fprintf(stderr, "scatterproof findings: the query took longer than %g s and was stopped (--limit T changes that)\n", o.limit_s);
	else if (status != STORE_OK)
		fprintf(stderr, "scatterproof findings: %s\n", p.complaint.len ? p.complaint.s : store_message(s));
	sb_free(&p.line);
	sb_free(&p.complaint);
	store_abandon(s);
	if (stop_signal)
		return 128 + (int)stop_signal;
	if (status == STORE_OK && (fflush(stdout) != 0 || ferror(stdout)))
		return 3;       /* whoever closes standard output says why (eager/output.h) */
	return store_exit_code(status);
}
