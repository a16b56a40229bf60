/* findings_options.c: one row per option says which sub-verbs know it; words may come before or after, so that is checked at the end. */
#include "fuzz/cli/findings_options.h"

#include <errno.h>
#include <stdlib.h>

#include "eager/base/guess.h"
#include "eager/base/duration.h"
#include "eager/base/version.h"
#include "fuzz/cli/arguments.h"

enum { SQL_LIMIT_S = 60 }; /* a query of people takes a second at most; a recursive one may be endless */
static const char *const verb_name[NFINDINGS_VERBS] = {
	"list", "show", "sql", "mark", "schema", "export", "causes"}; /* nobody types the first */
static const char *const order_name[NORDERS] = {
	[ORDER_LAST] = "last",
	[ORDER_FIRST] = "first",
	[ORDER_SEVERITY] = "severity",
	[ORDER_NOBS] = "nobs",
};

enum opt {
	O_OP,
	O_STATE,
	O_OPEN,
	O_SEVERITY,
	O_KIND,
	O_TARGET,
	O_VERSION,
	O_SINCE,
	O_SORT,
	O_LIMIT,
	O_ARTIFACT,
	O_PROGRAM,
	O_NOTE,
	O_ISSUE,
	O_OF,
	O_KNOWN,
	O_OUT,
	O_JSON,
	O_DB,
	NOPTS
};
#define MORE "\n                   "
#define ALL  "list show sql mark schema"
static const struct option_row opts[NOPTS] = {
	[O_OP] = {"--op", "NAME", "list", "with this operator; `sum` also means `sum.dim_IntList`. Several: with all of them"},
	[O_STATE] = {"--state", "WORD", "list",
		"candidate, confirmed, minimised, blamed, known, fixed-in, regressed, dismissed, duplicate; or `open`: nobody has" MORE
		"decided about it, or it is back (--open is the same); or `new`: candidate, confirmed, regressed. Several: any"},
	[O_OPEN] = {"--open", NULL, "list", NULL},
	[O_SEVERITY] = {"--severity", "WORD", "list", "high, normal, trivial. Several: any"},
	[O_KIND] = {"--kind", "WORD", "list",
		"value, gradient, mutation, alias, meta, none-ness, raise, crash, hang, invariant, nondeterministic. Several: any"},
	[O_TARGET] = {"--target", "NAME", "list",
		"seen on it: torch:inductor@cpu, torch-2.15.0:inductor, torch (repeat it, no commas). Several: any"},
	[O_VERSION] = {"--version", "V", "list", "seen in this version: 2.11.0. Several: any. With --target: on that target in that version"},
	[O_SINCE] = {"--since", "WHEN", "list",
		"last seen since then: 2026-01-31, 2026-01-31T23:59:59, today, yesterday (since its midnight), 90m, 1h, 2d, 1w" MORE
		"before now, or last-run (since the latest campaign in the store began). All times are UTC"},
	[O_SORT] = {"--sort", "WORD", "list",
		"last (seen latest first, if not given), first (found latest first), severity, nobs (seen most often first)"},
	[O_LIMIT] = {"--limit", "N", "list sql", "at most N; for sql: end the query after this time (90s, 10m; 60s if not given)"},
	[O_ARTIFACT] = {"--artifact", "NAME", "show",
		"all of what was kept under this name (report, stderr), harmful bytes as \\x1b (--json: the very bytes)"},
	[O_PROGRAM] = {"--program", "ID", "show", "the text of this program (ids: `findings show`)"},
	[O_NOTE] = {"--note", "TEXT", "mark", "kept in the finding's history"},
	[O_ISSUE] = {"--issue", "URL", "mark", NULL},
	[O_OF] = {"--of", "ID", "mark", NULL},
	[O_KNOWN] = {"--known", NULL, "export", NULL},
	[O_OUT] = {"--out", "FILE", "export", "write there instead of standard output"},
	[O_JSON] = {"--json", NULL, ALL, "one JSON object per line"},
	[O_DB] = {"--db", "FILE", ALL " export causes", NULL},
};
static const uint64_t repeatable = UINT64_C(1) << O_OP | UINT64_C(1) << O_STATE | UINT64_C(1) << O_OPEN | UINT64_C(1) << O_SEVERITY
	| UINT64_C(1) << O_KIND | UINT64_C(1) << O_TARGET | UINT64_C(1) << O_VERSION | UINT64_C(1) << O_SORT;

static bool of_list(const struct option_row *row)
{
	return option_known(row, verb_name[FINDINGS_LIST]) && !option_known(row, verb_name[FINDINGS_SHOW]);
}

/* Those of the list, or the others. */
static void print_options(struct strbuf *sb, bool list)
{
	for (int k = 0; k < NOPTS; k++) {
		const struct option_row *row = &opts[k];
		if (!row->help || of_list(row) != list)
			continue;
		char head[40];
		snprintf(head, sizeof head, "%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
		sb_printf(sb, "  %-16s %s\n", head, row->help);
	}
}

void findings_usage(struct strbuf *sb)
{
	sb_puts(sb,
		"usage: scatterproof findings [OPTION...] --db FILE\n"
		"       scatterproof findings causes --db FILE\n"
		"       scatterproof findings show ID [--artifact NAME | --program ID] [--json] --db FILE\n"
		"       scatterproof findings sql 'select ...' [--limit T] [--json] --db FILE\n"
		"       scatterproof findings schema [TABLE] [--json]\n"
		"       scatterproof findings mark ID open | known [--issue URL] | fixed-in [VERSION] | dismissed | duplicate --of ID\n"
		"                             [--note TEXT] --db FILE\n"
		"       scatterproof findings export --known [--out FILE] --db FILE\n"
		"\n"
		"Lists findings, shows one, or answers an SQL query (`schema` tells what there is to ask). Only `mark` writes: what was decided.\n"
		"`export --known` prints what was decided as a text that people review and `fuzz --baseline` reads.\n"
		"fixed-in without VERSION keeps the one that was named before; if none was, the finding is back wherever it is seen again.\n"
		"Options of the list; each but --since and --limit may be given several times or with commas (A,B):\n");
	print_options(sb, true);
	sb_puts(sb, "Other options:\n");
	print_options(sb, false);
	sb_puts(sb,
		"  ID               at least six digits of an id\n"
		"Exit codes: 0; 2 usage, bad input, a query beyond its limits; 3 a file or output that fails; 128+n ended by signal n.\n");
}

struct parser {
	struct findings_options *o;
	struct arena *a;
	struct err *err;
	int64_t now;
	struct arguments r;
	const char *state, *version, *note, *issue; /* mark */
	const char *limit;
};

/* ---- values ---------------------------------------------------------------------------------------------------------------- */

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

/* The next piece between commas; NULL at the end. An empty piece is one. */
static const char *next_piece(const char **text, struct arena *a)
{
	if (!*text)
		return NULL;
	size_t n = strcspn(*text, ",");
	const char *piece = arena_printf(a, "%.*s", (int)n, *text);
	*text = (*text)[n] ? *text + n + 1 : NULL;
	return piece;
}

static bool add_text(const char **list, int *n, const char *option, const char *text, struct err *err)
{
	if (!text[0])
		return err_set(err, "%s needs a name", option);
	if (*n == STORE_MAX_FILTER)
		return err_set(err, "%s is given more than %d times", option, STORE_MAX_FILTER);
	list[(*n)++] = text;
	return true;
}

static bool add_texts(struct parser *p, const char **list, int *n, const char *option, const char *text)
{
	bool ok = true;
	for (const char *piece; ok && (piece = next_piece(&text, p->a));)
		ok = add_text(list, n, option, piece, p->err);
	return ok;
}

static bool unknown_word(struct parser *p, const char *option, const char *word, const char *const *names, int n, const char *more)
{
	struct guess g;
	struct strbuf all;
	sb_init(&all);
	guess_start(&g, word, strlen(word));
	for (int i = 0; i < n; i++) {
		guess_add(&g, names[i], strlen(names[i]));
		sb_printf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	err_set(p->err, "%s knows no '%.60s'; it knows %s%s%s", option, word, all.s, more, guess_text(&g));
	sb_free(&all);
	return false;
}

static int word_index(const char *word, const char *const *names, int n)
{
	int i = 0;
	while (i < n && !str_eq(word, names[i]))
		i++;
	return i;
}

static bool add_words(struct parser *p, unsigned *mask, const char *option, const char *text, const char *const *names, int n)
{
	for (const char *word; (word = next_piece(&text, p->a));) {
		int i = word_index(word, names, n);
		if (i == n)
			return unknown_word(p, option, word, names, n, "");
		*mask |= 1u << i;
	}
	return true;
}

static bool add_states(struct parser *p, const char *text)
{
	static const char *const groups[] = {"open", "new"};
	for (const char *word; (word = next_piece(&text, p->a));) {
		int i = word_index(word, finding_state_name, NFINDING_STATES), g = word_index(word, groups, ARRAY_LEN(groups));
		if (i == NFINDING_STATES && g == ARRAY_LEN(groups))
			return unknown_word(p, "--state", word, finding_state_name, NFINDING_STATES, ", open, new");
		p->o->filter.states |= i < NFINDING_STATES ? 1u << i : g ? STATES_NEW : STATES_OPEN;
	}
	return true;
}

static bool add_orders(struct parser *p, const char *text)
{
	struct store_filter *f = &p->o->filter;
	for (const char *word; (word = next_piece(&text, p->a));) {
		int i = word_index(word, order_name, NORDERS);
		if (i == NORDERS)
			return unknown_word(p, "--sort", word, order_name, NORDERS, "");
		if (f->norders == NORDERS)
			return err_set(p->err, "--sort is given more than %d times", NORDERS);
		f->order[f->norders++] = (enum store_order)i;
	}
	return true;
}

static bool set_since(struct parser *p, const char *text)
{
	p->o->since_last_run = str_eq(text, "last-run");
	return p->o->since_last_run || store_since_parse(&p->o->filter.since, text, p->now, p->err);
}

/* ---- options ----------------------------------------------------------------------------------------------------------------- */

static bool set(const char **out, const char *v)
{
	*out = v;
	return true;
}

static bool apply(struct parser *p, enum opt k, const char *v)
{
	struct findings_options *o = p->o;
	struct store_filter *f = &o->filter;
	switch (k) {
	case O_JSON: o->json = true; return true;
	case O_OPEN: f->states |= STATES_OPEN; return true;
	case O_DB: return set(&o->db, v);
	case O_OP: return add_texts(p, f->op, &f->nops, "--op", v);
	case O_STATE: return add_states(p, v);
	case O_SEVERITY: return add_words(p, &f->severities, "--severity", v, finding_severity_name, NSEVERITIES);
	case O_KIND: return add_words(p, &f->kinds, "--kind", v, finding_kind_name, NFINDING_KINDS);
	case O_TARGET: return add_text(f->target, &f->ntargets, "--target", v, p->err);
	case O_VERSION: return add_texts(p, f->version, &f->nversions, "--version", v);
	case O_SINCE: return set_since(p, v);
	case O_SORT: return add_orders(p, v);
	case O_LIMIT: return set(&p->limit, v);
	case O_ARTIFACT: return set(&o->artifact, v);
	case O_PROGRAM: return set(&o->program, v);
	case O_NOTE: return set(&p->note, v);
	case O_ISSUE: return set(&p->issue, v);
	case O_OF: return set(&o->of, v);
	case O_KNOWN: o->known = true; return true;
	case O_OUT: return set(&o->out, v);
	case NOPTS: break;
	}
	BUG("no option");
}

static bool take_word(struct parser *p, int nth, const char *word)
{
	struct findings_options *o = p->o;
	for (int v = FINDINGS_SHOW; nth == 0 && v < NFINDINGS_VERBS; v++)
		if (str_eq(word, verb_name[v])) {
			o->verb = (enum findings_verb)v;
			return true;
		}
	bool mark = o->verb == FINDINGS_MARK;
	const char **place[] = {NULL, &o->argument, mark ? &p->state : NULL, mark ? &p->version : NULL};
	if (nth >= ARRAY_LEN(place) || !place[nth])
		return err_set(p->err, "'%.60s' is not understood%s", word,
			guess_from(
				&(struct guess){0}, nth ? "" : word, &verb_name[FINDINGS_SHOW], sizeof verb_name[0], NFINDINGS_VERBS - FINDINGS_SHOW));
	*place[nth] = word;
	return true;
}

/* ---- what goes with what ----------------------------------------------------------------------------------------------------- */

/* "the list and sql". */
static void name_verbs(struct strbuf *sb, const struct option_row *row)
{
	for (int v = 0, n = 0; v < NFINDINGS_VERBS; v++)
		if (option_known(row, verb_name[v]))
			sb_printf(sb, "%s%s%s", n++ ? " and " : "", v == FINDINGS_LIST ? "the " : "", verb_name[v]);
}

static bool check_options(struct parser *p)
{
	struct findings_options *o = p->o;
	for (int k = 0; k < NOPTS; k++) {
		if (!p->r.given[k])
			continue;
		if (!option_known(&opts[k], verb_name[o->verb])) {
			struct strbuf sb;
			sb_init(&sb);
			name_verbs(&sb, &opts[k]);
			err_set(p->err, "%s goes with %s only", opts[k].name, sb.s);
			sb_free(&sb);
			return false;
		}
		o->filtered |= of_list(&opts[k]);
	}
	return true;
}

static const char *given(const char *s) { return s ? s : ""; }

static bool check_mark(struct parser *p)
{
	struct decision *d = &p->o->decision;
	const char *of = p->o->of;
	if (p->o->verb != FINDINGS_MARK)
		return true;
	if (!p->state || !decision_find(&d->kind, p->state))
		return err_set(p->err, "mark needs open, known, fixed-in, dismissed or duplicate after the id%s%.60s%s%s",
			p->state ? ", not '" : "", given(p->state), p->state ? "'" : "",
			guess_from(&(struct guess){0}, given(p->state), decision_name, sizeof decision_name[0], NDECISIONS));
	if (p->version && d->kind != DECIDE_FIXED_IN)
		return err_set(p->err, "'%.60s' is not understood: only fixed-in takes a version", p->version);
	if (p->version && !version_valid(p->version))
		return err_set(p->err, "'%.60s' is no version: 2.15.0 is one, 2.16.0.dev20260101+cpu, too", p->version);
	if ((of != NULL) != (d->kind == DECIDE_DUPLICATE))
		return err_set(p->err, of ? "--of goes with duplicate" : "duplicate needs --of ID, the finding that it is like");
	if (p->issue && d->kind != DECIDE_KNOWN)
		return err_set(p->err, "--issue goes with known");
	d->note = given(p->note);
	d->version = given(p->version);
	d->issue_url = given(p->issue);
	return true;
}

static bool check(struct parser *p)
{
	struct findings_options *o = p->o;
	enum findings_verb verb = o->verb;
	if ((verb == FINDINGS_SHOW || verb == FINDINGS_SQL || verb == FINDINGS_MARK) && !o->argument)
		return err_set(p->err, "%s needs %s", verb_name[verb], verb == FINDINGS_SQL ? "a statement" : "an id");
	if (!check_options(p))
		return false;
	if (verb == FINDINGS_EXPORT && !o->known)
		return err_set(p->err, "export needs --known: what somebody has decided about is all that it knows to export");
	if (verb == FINDINGS_EXPORT && o->argument)
		return err_set(p->err, "'%.60s' is not understood: export takes options only", o->argument);
	if ((o->artifact && o->program) || ((o->artifact || o->program) && o->json))
		return err_set(p->err, "--artifact, --program and --json exclude each other");
	if (!check_mark(p))
		return false;
	if (p->limit
		&& !(verb == FINDINGS_SQL ? duration_parse(&o->limit_s, p->limit, p->err) : parse_rows(&o->filter.limit, p->limit, p->err)))
		return false;
	return o->db || verb == FINDINGS_SCHEMA || err_set(p->err, "--db FILE is needed");
}

bool findings_options_parse(struct findings_options *o, int argc, char **argv, int64_t now, struct arena *a, struct err *err)
{
	struct parser p = {.o = o,
		.a = a,
		.err = err,
		.now = now,
		.r = {.row = opts, .nrow = NOPTS, .repeatable = repeatable, .who = "", .argc = argc, .argv = argv}};
	int nwords = 0;
	*o = (struct findings_options){.limit_s = SQL_LIMIT_S, .filter = {.since = INT64_MIN, .limit = -1}};
	for (;;)
		switch (arguments_next(&p.r, err)) {
		case ARGUMENT_END: return check(&p);
		case ARGUMENT_HELP: o->help = true; return true;
		case ARGUMENT_WORD:
			if (!take_word(&p, nwords++, p.r.value))
				return false;
			break;
		case ARGUMENT_OPTION:
			if (!apply(&p, (enum opt)p.r.option, p.r.value))
				return false;
			break;
		case ARGUMENT_BAD: return false;
		}
}
