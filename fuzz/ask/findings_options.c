/* findings_options.c: one row per option says which sub-verbs know it; words may come before or after, so that is checked at the end. */
#include "fuzz/ask/findings_options.h"

#include <errno.h>
#include <stdlib.h>

#include "eager/base/guess.h"
#include "eager/base/duration.h"
#include "eager/base/version.h"
#include "fuzz/ask/arguments.h"
#include "fuzz/ask/option_values.h"
#include "fuzz/ask/pager.h"

enum { SQL_LIMIT_S = 60 }; /* a query of people takes a second at most; a recursive one may be endless */
const char *const findings_verb_name[NFINDINGS_VERBS] = {
	"list", "show", "sql", "mark", "schema", "export", "causes"}; /* nobody types the first */
const char *const findings_order_name[NORDERS] = {
	[ORDER_LAST] = "last",
	[ORDER_FIRST] = "first",
	[ORDER_SEVERITY] = "severity",
	[ORDER_NOBS] = "nobs",
};
const char *const findings_state_group[NSTATE_GROUPS] = {"open", "new"};

enum opt {
	O_OP,
	O_OP_ANY,
	O_STATE,
	O_OPEN,
	O_SEVERITY,
	O_KIND,
	O_TARGET,
	O_VERSION,
	O_SINCE,
	O_NEW_SINCE,
	O_SORT,
	O_LIMIT,
	O_ARTIFACT,
	O_PROGRAM,
	O_NOTE,
	O_ISSUE,
	O_OF,
	O_ALL,
	O_KNOWN,
	O_OUT,
	O_JSON,
	O_DB,
	NOPTS
};
#define ALL "list show sql mark schema causes"
static const struct option_row opts[NOPTS] = {
	[O_OP] = {"--op", "NAME", "list",
		"whose minimised program (before that, its first one) has this operator; `sum` also means `sum.dim_IntList`. Several: all of them"},
	[O_OP_ANY] = {"--op-any", "NAME", "list", "the same of any program that showed it"},
	[O_STATE] = {"--state", "WORD", "list",
		"in this state; `open`: nobody has decided about it, or it is back (--open is the same); `new`: candidate, confirmed, "
		"regressed. Several: any"},
	[O_OPEN] = {"--open", NULL, "list", NULL},
	[O_SEVERITY] = {"--severity", "WORD", "list", "of this severity. Several: any"},
	[O_KIND] = {"--kind", "WORD", "list", "what is wrong. Several: any"},
	[O_TARGET] = {"--target", "NAME", "list",
		"seen on it: torch:inductor@cpu, torch-2.15.0:inductor, torch (repeat it, no commas). Several: any"},
	[O_VERSION] = {"--version", "V", "list", "seen in this version: 2.11.0. Several: any. With --target: on that target in that version"},
	[O_SINCE] = {"--since", "WHEN", "list",
		"last seen since then: 2026-01-31, 2026-01-31T23:59:59, today, yesterday (since its midnight), 90m, 1h, 2d, 1w "
		"before now, or last-run (since the latest campaign in the store began). All times are UTC"},
	[O_NEW_SINCE] = {"--new-since", "WHEN", "list", "first seen since then"},
	[O_SORT] = {"--sort", "WORD", "list",
		"last: seen latest first (if nothing is given), first: found latest first, severity, nobs: seen most often first"},
	[O_LIMIT] = {"--limit", "N", "list sql causes",
		"at most N (of causes, the most serious); of sql: end the query after this time (90s, 10m; 60s if not given)"},
	[O_ARTIFACT] = {"--artifact", "NAME", "show",
		"all of what was kept under this name (report, stderr), harmful bytes as \\x1b (--json: the very bytes)"},
	[O_PROGRAM] = {"--program", "ID", "show", "the text of this program (ids: `findings show`)"},
	[O_NOTE] = {"--note", "TEXT", "mark", "kept in the finding's history"},
	[O_ISSUE] = {"--issue", "URL", "mark", "where it was reported, of known: http://… or https://…"},
	[O_OF] = {"--of", "ID", "mark", "of duplicate: the finding that it is like"},
	[O_ALL] = {"--all", NULL, "causes", "of causes, also those that have no open finding"},
	[O_KNOWN] = {"--known", NULL, "export", "what somebody has decided about"},
	[O_OUT] = {"--out", "FILE", "export", "write there instead of standard output"},
	[O_JSON] = {"--json", NULL, ALL, "one JSON object per line"},
	[O_DB] = {"--db", "FILE", ALL " export", "the findings store"},
};
static option_values_fn *const values[NOPTS] = {
	[O_STATE] = state_values, [O_SEVERITY] = severity_values, [O_KIND] = kind_values, [O_SORT] = order_values};
const struct option_table findings_table = {opts, values, NOPTS};

static const uint64_t repeatable = UINT64_C(1) << O_OP | UINT64_C(1) << O_OP_ANY | UINT64_C(1) << O_STATE | UINT64_C(1) << O_OPEN
	| UINT64_C(1) << O_SEVERITY | UINT64_C(1) << O_KIND | UINT64_C(1) << O_TARGET | UINT64_C(1) << O_VERSION | UINT64_C(1) << O_SORT;

static bool of_list(const struct option_row *row)
{
	return option_known(row, findings_verb_name[FINDINGS_LIST]) && !option_known(row, findings_verb_name[FINDINGS_SHOW]);
}

/* Those of the list, or the others. */
static void print_options(struct strbuf *sb, bool list, int width)
{
	for (int k = 0; k < NOPTS; k++)
		if (opts[k].help && of_list(&opts[k]) == list)
			help_option(sb, &findings_table, k, width);
}

const char findings_synopsis[] = "usage: scatterproof findings [OPTION...] --db FILE\n"
								 "       scatterproof findings causes [ID] [--all] [--limit N] [--json] --db FILE\n"
								 "       scatterproof findings show ID [--artifact NAME | --program ID] [--json] --db FILE\n"
								 "       scatterproof findings sql 'select ...' [--limit T] [--json] --db FILE\n"
								 "       scatterproof findings schema [TABLE] [--json]\n"
								 "       scatterproof findings mark ID... open | known [--issue URL] | fixed-in [VERSION]\n"
								 "                             | dismissed | duplicate --of ID [--note TEXT] --db FILE\n"
								 "       scatterproof findings export --known [--out FILE] --db FILE\n"
								 "       scatterproof findings --help\n";

const char *const findings_paragraph[NFINDINGS_PARAGRAPHS] = {
	("Lists findings or causes, shows one, or answers an SQL query (`schema` tells what there is to ask). Only `mark` writes: what was "
	 "decided, about all that it names, or about none of it if something is wrong. `export --known` prints what was decided as a text "
	 "that people review and `fuzz --baseline` reads."),
	("ID: at least six digits of a finding's id, or the number of a cause in `findings causes`, which means the finding that stands for "
	 "it (`mark`: all findings of it)."),
	"fixed-in without VERSION keeps the one that was named before; if none was, the finding is back wherever it is seen again."};

void findings_usage(struct strbuf *sb, int width)
{
	sb_puts(sb, findings_synopsis);
	for (int i = 0; i < NFINDINGS_PARAGRAPHS; i++) {
		sb_putc(sb, '\n');
		sb_wrap(sb, findings_paragraph[i], 0, 0, width);
		sb_putc(sb, '\n');
	}
	sb_putc(sb, '\n');
	sb_wrap(
		sb, "Options of the list; each but --since, --new-since and --limit may be given several times or with commas (A,B):", 0, 0, width);
	sb_putc(sb, '\n');
	print_options(sb, true, width);
	sb_puts(sb, "Other options:\n");
	print_options(sb, false, width);
	for (int k = 0; k < screen_table.n; k++)
		help_option(sb, &screen_table, k, width);
	sb_putc(sb, '\n');
	sb_wrap(sb, "Exit codes: 0; 2 usage, bad input, a query beyond its limits; 3 a file or output that fails; 128+n ended by signal n.", 0,
		0, width);
	sb_putc(sb, '\n');
}

struct parser {
	struct findings_options *o;
	struct arena *a;
	struct err *err;
	int64_t now;
	struct arguments r;
	const char *word[MAX_MARKED + 2]; /* of mark: ids, the state, a version */
	int nwords;
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
	for (const char *word; (word = next_piece(&text, p->a));) {
		int i = word_index(word, finding_state_name, NFINDING_STATES), g = word_index(word, findings_state_group, NSTATE_GROUPS);
		if (i == NFINDING_STATES && g == NSTATE_GROUPS)
			return unknown_word(p, "--state", word, finding_state_name, NFINDING_STATES, ", open, new");
		p->o->filter.states |= i < NFINDING_STATES ? 1u << i : g ? STATES_NEW : STATES_OPEN;
	}
	return true;
}

static bool add_orders(struct parser *p, const char *text)
{
	struct store_filter *f = &p->o->filter;
	for (const char *word; (word = next_piece(&text, p->a));) {
		int i = word_index(word, findings_order_name, NORDERS);
		if (i == NORDERS)
			return unknown_word(p, "--sort", word, findings_order_name, NORDERS, "");
		if (f->norders == NORDERS)
			return err_set(p->err, "--sort is given more than %d times", NORDERS);
		f->order[f->norders++] = (enum store_order)i;
	}
	return true;
}

static bool set_since(struct parser *p, bool *last_run, int64_t *since, const char *text)
{
	*last_run = str_eq(text, "last-run");
	return *last_run || store_since_parse(since, text, p->now, p->err);
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
	case O_OP_ANY: return add_texts(p, f->op_any, &f->nops_any, "--op-any", v);
	case O_STATE: return add_states(p, v);
	case O_SEVERITY: return add_words(p, &f->severities, "--severity", v, finding_severity_name, NSEVERITIES);
	case O_KIND: return add_words(p, &f->kinds, "--kind", v, finding_kind_name, NFINDING_KINDS);
	case O_TARGET: return add_text(f->target, &f->ntargets, "--target", v, p->err);
	case O_VERSION: return add_texts(p, f->version, &f->nversions, "--version", v);
	case O_SINCE: return set_since(p, &o->since_last_run, &f->since, v);
	case O_NEW_SINCE: return set_since(p, &o->new_since_last_run, &f->new_since, v);
	case O_SORT: return add_orders(p, v);
	case O_LIMIT: return set(&p->limit, v);
	case O_ARTIFACT: return set(&o->artifact, v);
	case O_PROGRAM: return set(&o->program, v);
	case O_NOTE: return set(&p->note, v);
	case O_ISSUE: return set(&p->issue, v);
	case O_OF: return set(&o->of, v);
	case O_ALL: o->all = true; return true;
	case O_KNOWN: o->known = true; return true;
	case O_OUT: return set(&o->out, v);
	case NOPTS: break;
	}
	BUG("no option");
}

static bool add_mark_word(struct parser *p, const char *word)
{
	if (p->nwords == ARRAY_LEN(p->word))
		return err_set(p->err, "mark takes %d findings or causes at a time", MAX_MARKED);
	p->word[p->nwords++] = word;
	return true;
}

static bool take_word(struct parser *p, int nth, const char *word)
{
	struct findings_options *o = p->o;
	for (int v = FINDINGS_SHOW; nth == 0 && v < NFINDINGS_VERBS; v++)
		if (str_eq(word, findings_verb_name[v])) {
			o->verb = (enum findings_verb)v;
			return true;
		}
	if (nth > 0 && o->verb == FINDINGS_MARK)
		return add_mark_word(p, word);
	if (nth != 1)
		return err_set(p->err, "'%.60s' is not understood%s", word,
			guess_from(&(struct guess){0}, nth ? "" : word, &findings_verb_name[FINDINGS_SHOW], sizeof findings_verb_name[0],
				NFINDINGS_VERBS - FINDINGS_SHOW));
	o->argument = word;
	return true;
}

/* ---- what goes with what ----------------------------------------------------------------------------------------------------- */

/* "the list and sql". */
static void name_verbs(struct strbuf *sb, const struct option_row *row)
{
	for (int v = 0, n = 0; v < NFINDINGS_VERBS; v++)
		if (option_known(row, findings_verb_name[v]))
			sb_printf(sb, "%s%s%s", n++ ? " and " : "", v == FINDINGS_LIST ? "the " : "", findings_verb_name[v]);
}

static bool check_options(struct parser *p)
{
	struct findings_options *o = p->o;
	for (int k = 0; k < NOPTS; k++) {
		if (!p->r.given[k])
			continue;
		if (!option_known(&opts[k], findings_verb_name[o->verb])) {
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

/* What a browser would open, and nothing that a page or a terminal would not show as it is. */
static bool is_url(const char *s)
{
	const size_t scheme = str_starts(s, "https://") ? 8 : str_starts(s, "http://") ? 7 : 0;
	if (!scheme || !s[scheme] || strchr("/?#", s[scheme]))
		return false;
	for (const char *c = s; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("<>\"\\^`{|}", *c))
			return false;
	return true;
}

static bool is_decision(const char *word)
{
	enum decision_kind kind;
	return decision_find(&kind, word);
}

/* ID... STATE [VERSION]: the state is the first word after an id that is one; if none is, what looks least like an id was meant. */
static bool split_mark(struct parser *p)
{
	int state = 1;
	while (state < p->nwords && !is_decision(p->word[state]))
		state++;
	for (int i = 1; state >= p->nwords && i < p->nwords; i++)
		if (p->word[i][strspn(p->word[i], "0123456789abcdefABCDEF")])
			state = i;
	p->state = p->nwords < 2 ? NULL : p->word[MIN(state, p->nwords - 1)];
	p->version = state + 1 < p->nwords ? p->word[state + 1] : NULL;
	if (state + 2 < p->nwords)
		return err_set(p->err, "'%.60s' is not understood: ids stand before the state, and a version after fixed-in", p->word[state + 2]);
	p->o->nids = MIN(state, p->nwords - 1);
	const char **id = ARENA_NEW(p->a, const char *, MAX(p->o->nids, 1));
	memcpy(id, p->word, sizeof *id * (size_t)p->o->nids);
	p->o->ids = id;
	return true;
}

static bool check_mark(struct parser *p)
{
	struct decision *d = &p->o->decision;
	const char *of = p->o->of;
	if (p->o->verb != FINDINGS_MARK)
		return true;
	if (!split_mark(p))
		return false;
	if (!p->state || !decision_find(&d->kind, p->state))
		return err_set(p->err, "mark needs open, known, fixed-in, dismissed or duplicate after the ids%s%.60s%s%s",
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
	if (p->issue && !is_url(p->issue))
		return err_set(p->err, "--issue: '%.60s' is no URL: https://... or http://..., without blanks", p->issue);
	d->note = given(p->note);
	d->version = given(p->version);
	d->issue_url = given(p->issue);
	return true;
}

static bool check(struct parser *p)
{
	struct findings_options *o = p->o;
	enum findings_verb verb = o->verb;
	if (verb == FINDINGS_MARK ? p->nwords == 0 : (verb == FINDINGS_SHOW || verb == FINDINGS_SQL) && !o->argument)
		return err_set(p->err, "%s needs %s", findings_verb_name[verb], verb == FINDINGS_SQL ? "a statement" : "an id");
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
	*o = (struct findings_options){.limit_s = SQL_LIMIT_S, .filter = {.since = INT64_MIN, .new_since = INT64_MIN, .limit = -1}};
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
