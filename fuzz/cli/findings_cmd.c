/* findings_cmd.c: the `findings` verb: list, show, sql, schema, mark. Opens the store (for reading, but for mark), asks, prints. */
#include "fuzz/cli/findings_cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "eager/base/escape.h"
#include "eager/base/clock.h"
#include "eager/base/guess.h"
#include "eager/lang/op.h"
#include "eager/base/output.h"
#include "fuzz/ask/findings_options.h"
#include "fuzz/ask/pager.h"
#include "fuzz/triage/title.h"
#include "reports/cause/store_cause.h"
#include "reports/life/baseline.h"
#include "reports/render/causes_show.h"
#include "reports/render/findings_print.h"
#include "reports/render/findings_schema.h"
#include "reports/render/findings_show.h"
#include "reports/render/findings_sql.h"
#include "reports/render/table.h"

struct session {
	const struct findings_options *o;
	struct store *s;
	struct printer out;
	struct strbuf complaint; /* if not store_message's */
	struct arena a;
	int64_t now;
	int signal; /* that ended a query */
};

/* ---- the list: a few columns of v_findings ------------------------------------------------------------------------------------------ */

enum { SEVERITY_COLUMN = 2, LIST_COLUMNS = 10, LEAST_SIGNATURE = 20 };
/* On a screen times are days, and columns are left out where there is no room for them. */
static const struct table_column list_columns[LIST_COLUMNS] = {{"id", 8, 0, false, false}, {"state", 10, 7, false, false},
	{"severity", 8, 0, false, false}, {"kind", 10, 5, false, false}, {"nobs", 6, 6, false, false}, {"first_seen", 20, 2, false, false},
	{"last_seen", 20, 3, false, false}, {"target", 26, 4, false, false}, {"signature", 40, 0, true, false}, {"ops", 0, 1, false, false}};

static void layout_list(struct table *t, const struct look *look)
{
	enum { DAY = 10, SCREEN_TARGET = 22, SCREEN_OPS = 30 };
	*t = (struct table){.look = look, .n = LIST_COLUMNS};
	memcpy(t->column, list_columns, sizeof list_columns);
	for (int k = 0; k < LIST_COLUMNS && look->width; k++)
		t->column[k].width = str_eq(t->column[k].name, "target") ? SCREEN_TARGET
			: str_eq(t->column[k].name, "ops")                   ? SCREEN_OPS
			: strstr(t->column[k].name, "_seen")                 ? DAY
																 : t->column[k].width;
	table_layout(t, LEAST_SIGNATURE);
}

static const struct store_value *column(int ncols, const char *const *names, const struct store_value *v, const char *name)
{
	for (int i = 0; i < ncols; i++)
		if (str_eq(names[i], name))
			return &v[i];
	BUG("the list has no column %s", name);
}

static const char *cell_text(struct arena *a, const struct store_value *v)
{
	struct strbuf sb;
	if (v->type == STORE_INT)
		return arena_printf(a, "%" PRId64, v->i);
	sb_init(&sb);
	escape_cell(&sb, v->s ? v->s : "", v->s ? v->nbytes : 0);
	const char *text = arena_strdup(a, sb.s);
	sb_free(&sb);
	return text;
}

static enum style cell_style(int k, const char *text)
{
	if (k != SEVERITY_COLUMN)
		return STYLE_PLAIN;
	return str_eq(text, finding_severity_name[SEVERITY_HIGH])  ? STYLE_HIGH
		: str_eq(text, finding_severity_name[SEVERITY_NORMAL]) ? STYLE_NORMAL
															   : STYLE_FAINT;
}

static bool print_list_row(void *ctx, int ncols, const char *const *names, const struct store_value *v)
{
	struct printer *p = ctx;
	struct table t;
	struct arena a;
	if (!v)
		return true;
	p->nrows++;
	if (p->json) {
		print_json_row(p, ncols, names, v);
		return printer_write(p);
	}
	layout_list(&t, &p->look);
	if (p->nrows == 1)
		table_head(&p->pending, &t);
	arena_init(&a);
	for (int k = 0; k < LIST_COLUMNS; k++) {
		const char *text = cell_text(&a, column(ncols, names, v, list_columns[k].name));
		if (p->look.width && strstr(list_columns[k].name, "_seen"))
			text = arena_printf(&a, "%.*s", (int)strcspn(text, "T"), text);
		table_cell(&p->pending, &t, k, text, cell_style(k, text));
	}
	arena_free(&a);
	return printer_write(p);
}

/* A word that nothing in the world or in the store is called by is a mistake, not a list without rows. */
static enum store_status check_words(struct session *x, enum store_word word, const char *const *text, int n)
{
	static const char *const what[NSTORE_WORDS] = {[WORD_OP] = "no operator is called",
		[WORD_TARGET] = "no run in this store was on",
		[WORD_VERSION] = "no run in this store was on version"};
	enum store_status status = STORE_OK;
	for (int i = 0; i < n && status == STORE_OK; i++) {
		struct guess g;
		bool known = false;
		int any;
		guess_start(&g, text[i], strlen(text[i]));
		if (word == WORD_OP)
			op_guess(&g, text[i]);
		if (word == WORD_OP && (op_find(text[i]) >= 0 || op_overloads(&any, 1, text[i]) > 0))
			continue;
		status = store_word_known(x->s, &known, &g, word, text[i]);
		if (status == STORE_OK && !known) {
			sb_printf(&x->complaint, "%s '", what[word]);
			escape_cell(&x->complaint, text[i], strnlen(text[i], 60));
			sb_putc(&x->complaint, '\'');
			escape_cell(&x->complaint, guess_text(&g), strlen(guess_text(&g)));
			status = STORE_BAD;
		}
	}
	return status;
}

static enum store_status do_list(struct session *x)
{
	struct store_filter f = x->o->filter;
	enum store_status status = check_words(x, WORD_OP, f.op, f.nops);
	if (status == STORE_OK)
		status = check_words(x, WORD_OP, f.op_any, f.nops_any);
	if (status == STORE_OK)
		status = check_words(x, WORD_TARGET, f.target, f.ntargets);
	if (status == STORE_OK)
		status = check_words(x, WORD_VERSION, f.version, f.nversions);
	if (status == STORE_OK && x->o->since_last_run)
		status = store_last_campaign(x->s, &f.since);
	if (status == STORE_OK && x->o->new_since_last_run)
		status = store_last_campaign(x->s, &f.new_since);
	if (status == STORE_OK)
		status = store_list(x->s, &f, print_list_row, &x->out);
	if (status == STORE_OK && x->out.nrows == 0 && !x->out.json)
		sb_puts(&x->out.pending, x->o->filtered ? "no such findings\n" : "no findings\n");
	return status;
}

/* ---- show -------------------------------------------------------------------------------------------------------------------------- */

/* Eight digits, or more if those are not enough. */
static void short_id(char out[33], struct store *s, const struct store_loaded *f)
{
	struct hash128 other;
	int n = STORE_ID_DIGITS;
	do
		snprintf(out, 33, "%.*s", n++, f->hex);
	while (n <= 32 && store_find_by_prefix(s, &other, out) == STORE_BAD);
}

static enum store_status put_artifact(struct session *x, const struct store_loaded *f)
{
	const struct store_loaded_artifact *artifact = store_loaded_artifact(f, x->o->artifact);
	struct guess g;
	if (artifact) {
		escape_block(&x->out.pending, "", artifact->bytes, artifact->nbytes);
		return STORE_OK;
	}
	guess_start(&g, x->o->artifact, strlen(x->o->artifact));
	for (int i = 0; i < f->nartifacts; i++)
		guess_add(&g, f->artifact[i].name, strlen(f->artifact[i].name));
	sb_printf(&x->complaint, "finding %.*s has no artifact '%.60s'", STORE_ID_DIGITS, f->hex, x->o->artifact);
	escape_cell(&x->complaint, guess_text(&g), strlen(guess_text(&g)));
	return STORE_BAD;
}

static enum store_status put_program(struct session *x, const struct store_loaded *f)
{
	const char *text = NULL, *wanted = x->o->program;
	bool several = false;
	for (int i = 0; i < f->nprograms; i++)
		if (strlen(wanted) >= STORE_MIN_PREFIX && strncasecmp(f->programs[i].hex, wanted, strlen(wanted)) == 0) {
			several = text != NULL;
			text = f->programs[i].text;
		}
	if (text && !several) {
		escape_block(&x->out.pending, "", text, strlen(text));
		return STORE_OK;
	}
	sb_printf(&x->complaint, "%s of finding %.*s begins with '%.40s' (`findings show %.*s` lists them; at least %d digits)",
		several ? "more than one program" : "no program", STORE_ID_DIGITS, f->hex, wanted, STORE_ID_DIGITS, f->hex, STORE_MIN_PREFIX);
	return STORE_BAD;
}

static enum store_status do_show(struct session *x)
{
	struct hash128 id;
	struct store_loaded f;
	char shown[33];
	enum store_status status = store_find_word(x->s, &id, x->o->argument, &x->a, &x->complaint);
	if (status == STORE_OK)
		status = store_load_finding(x->s, &f, &id, &x->a);
	if (status != STORE_OK)
		return status;
	if (x->o->artifact)
		return put_artifact(x, &f);
	if (x->o->program)
		return put_program(x, &f);
	short_id(shown, x->s, &f);
	(x->o->json ? finding_show_json : finding_show_text)(&x->out.pending, &f, shown, x->o->db);
	return STORE_OK;
}

/* ---- mark ------------------------------------------------------------------------------------------------------------------------- */

static enum store_status find_original(struct session *x, struct decision *d)
{
	bool turns;
	char mine[33], other[33];
	const struct hash128 given = d->duplicate_of;
	enum store_status status = finding_last_original(&d->duplicate_of, &turns, x->s, &d->finding, &given);
	if (status != STORE_OK || !turns)
		return status;
	hash_hex(mine, &d->finding);
	hash_hex(other, &given);
	if (str_eq(mine, other))
		sb_puts(&x->complaint, "a finding is no duplicate of itself");
	else
		sb_printf(&x->complaint, "%.*s is a duplicate of %.*s already, itself or through others: mark it open first", STORE_ID_DIGITS,
			other, STORE_ID_DIGITS, mine);
	return STORE_BAD;
}

static void say_marked(struct strbuf *sb, const struct store_loaded *before, const struct store_loaded *after)
{
	sb_printf(
		sb, "finding %.*s was %s, is %s", STORE_ID_DIGITS, after->hex, finding_state_name[before->state], finding_state_name[after->state]);
	if (after->state == STATE_DUPLICATE)
		sb_printf(sb, " of %.*s", STORE_ID_DIGITS, finding_original(after));
	if (after->state == STATE_FIXED_IN && finding_fixed_version(after)[0])
		sb_printf(sb, " %s", finding_fixed_version(after));
	else if (after->state == STATE_FIXED_IN)
		sb_puts(sb, " no version that was named: seen again in any, it is a regression");
	sb_putc(sb, '\n');
}

/* What mark is to mark, each finding once. */
struct marking {
	int n, cap;
	struct decision *d;
};

static void add_finding(struct session *x, struct marking *m, const struct hash128 *id)
{
	for (int i = 0; i < m->n; i++)
		if (memcmp(&m->d[i].finding, id, sizeof *id) == 0)
			return;
	if (m->n == m->cap) {
		m->d = ARENA_GROW(&x->a, struct decision, m->d, m->n, m->cap + 64);
		m->cap += 64;
	}
	m->d[m->n] = x->o->decision;
	m->d[m->n++].finding = *id;
}

/* All findings of a cause, but for the one that the others are to be duplicates of. */
static enum store_status add_cause(struct session *x, struct marking *m, const struct store_cause *c, const struct hash128 *original)
{
	struct hash128 *id;
	int n;
	enum store_status status = store_cause_findings(&id, &n, x->s, c, &x->a);
	for (int i = 0; i < n && status == STORE_OK; i++)
		if (!original || memcmp(&id[i], original, sizeof *original) != 0)
			add_finding(x, m, &id[i]);
	if (status == STORE_OK)
		sb_printf(&x->out.pending, "cause %d has %d finding%s\n", c->number, n, n == 1 ? "" : "s");
	return status;
}

static enum store_status gather(struct session *x, struct marking *m, const struct hash128 *original)
{
	struct store_causes all = {0};
	enum store_status status = STORE_OK;
	bool read = false;
	for (int i = 0; i < x->o->nids && status == STORE_OK; i++) {
		const char *word = x->o->ids[i];
		struct hash128 id;
		if (!store_word_is_number(word)) {
			status = store_find_by_prefix(x->s, &id, word);
			if (status == STORE_OK)
				add_finding(x, m, &id);
			continue;
		}
		if (!read)
			status = store_causes(&all, x->s, &x->a);
		read = true;
		const struct store_cause *c = status == STORE_OK ? store_causes_find(&all, word, &x->complaint) : NULL;
		if (status == STORE_OK)
			status = c ? add_cause(x, m, c, original) : STORE_BAD;
	}
	return status;
}

static enum store_status find_originals(struct session *x, struct marking *m, const struct hash128 *original)
{
	enum store_status status = STORE_OK;
	for (int i = 0; i < m->n && status == STORE_OK && original; i++) {
		m->d[i].duplicate_of = *original;
		status = find_original(x, &m->d[i]);
	}
	return status;
}

/* mark ID... STATE: of each finding one event, two with a note; of all of them or of none. */
static enum store_status do_mark(struct session *x)
{
	struct marking m = {0};
	struct hash128 of;
	const struct hash128 *original = x->o->of ? &of : NULL;
	enum store_status status = original ? store_find_word(x->s, &of, x->o->of, &x->a, &x->complaint) : STORE_OK;
	if (status == STORE_OK)
		status = gather(x, &m, original);
	if (status == STORE_OK)
		status = find_originals(x, &m, original);
	struct store_loaded *before = ARENA_ZNEW(&x->a, struct store_loaded, MAX(m.n, 1)), after;
	for (int i = 0; i < m.n && status == STORE_OK; i++)
		status = store_load_finding(x->s, &before[i], &m.d[i].finding, &x->a);
	if (status == STORE_OK)
		status = finding_decide_all(x->s, m.d, m.n, x->now, SCATTERPROOF);
	for (int i = 0; i < m.n && status == STORE_OK; i++) {
		status = store_load_finding(x->s, &after, &m.d[i].finding, &x->a);
		if (status == STORE_OK)
			say_marked(&x->out.pending, &before[i], &after);
	}
	if (status != STORE_OK)
		sb_reset(&x->out.pending);
	else if (m.n != 1)
		sb_printf(&x->out.pending, "%d finding%s marked\n", m.n, m.n == 1 ? "" : "s");
	return status;
}

/* ---- export ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status do_export(struct session *x)
{
	struct strbuf sb;
	struct err err = {0};
	int n = 0;
	sb_init(&sb);
	enum store_status status = baseline_write(&sb, &n, x->s);
	if (status == STORE_OK && !x->o->out) {
		sb_put(&x->out.pending, sb.s, sb.len);
	} else if (status == STORE_OK && !output_text(x->o->out, &sb, &err)) {
		sb_puts(&x->complaint, err.msg);
		status = STORE_IO;
	} else if (status == STORE_OK) {
		sb_printf(&x->out.pending, "%d finding%s in ", n, n == 1 ? "" : "s");
		escape_cell(&x->out.pending, x->o->out, strlen(x->o->out));
		sb_putc(&x->out.pending, '\n');
	}
	sb_free(&sb);
	return status;
}

/* ---- causes ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status show_cause(struct session *x, const struct store_causes *all)
{
	struct hash128 id;
	struct store_loaded f;
	const struct store_cause *c = store_causes_find(all, x->o->argument, &x->complaint);
	if (!c)
		return STORE_BAD;
	enum store_status status = store_find_by_prefix(x->s, &id, c->full_id);
	if (status == STORE_OK)
		status = store_load_finding(x->s, &f, &id, &x->a);
	if (status == STORE_OK && x->o->json)
		cause_json(&x->out.pending, c);
	else if (status == STORE_OK)
		cause_page(&x->out.pending, c, &f, x->o->db, &x->out.look);
	return status;
}

static enum store_status do_causes(struct session *x)
{
	struct store_causes all;
	const bool whole = x->o->argument || x->o->json;
	enum store_status status = (whole ? store_causes : store_causes_listed)(&all, x->s, &x->a);
	if (status != STORE_OK)
		return status;
	titles_write(&all, &x->a);
	if (x->o->argument)
		return show_cause(x, &all);
	if (!x->o->json)
		causes_list(&x->out.pending, &all, x->o->all, x->o->filter.limit, &x->out.look);
	int64_t left = x->o->filter.limit;
	for (int i = 0; i < all.n && x->o->json && left != 0; i++)
		if (all.cause[i].open || x->o->all) {
			cause_json(&x->out.pending, &all.cause[i]);
			left--;
		}
	return STORE_OK;
}

/* ---- the verb ------------------------------------------------------------------------------------------------------------------------ */

static enum store_status run_verb(struct session *x)
{
	switch (x->o->verb) {
	case FINDINGS_SHOW: return do_show(x);
	case FINDINGS_SQL: return findings_sql(x->s, x->o->argument, x->o->limit_s, &x->out, &x->complaint, &x->signal);
	case FINDINGS_MARK: return do_mark(x);
	case FINDINGS_EXPORT: return do_export(x);
	case FINDINGS_CAUSES: return do_causes(x);
	case FINDINGS_SCHEMA: return findings_schema(x->o->argument, &x->out, &x->complaint) ? STORE_OK : STORE_BAD;
	default: return do_list(x);
	}
}

static int exit_code(struct session *x, enum store_status status)
{
	printer_write(&x->out);
	if (x->signal)
		fprintf(stderr, "scatterproof findings: ended by signal %d\n", x->signal);
	else if (status != STORE_OK)
		fprintf(stderr, "scatterproof findings: %s\n", x->complaint.len ? x->complaint.s : store_message(x->s));
	if (x->signal)
		return 128 + x->signal;
	/* whoever closes standard output says why (eager/base/output.h) */
	return status == STORE_OK && x->out.failed ? 3 : store_exit_code(status);
}

static int open_and_run(struct session *x)
{
	enum store_status status = STORE_OK;
	struct err err = {0};
	if (x->o->verb != FINDINGS_SCHEMA)
		x->s = store_open(&status, x->o->db, x->o->verb == FINDINGS_MARK ? STORE_WRITE : STORE_READ, &err);
	if (status != STORE_OK) {
		fprintf(stderr, "scatterproof findings: %s\n", err.msg);
		return store_exit_code(status);
	}
	int code = exit_code(x, run_verb(x));
	store_abandon(x->s);
	return code;
}

/* What people read with their eyes, of a length that nobody knows before. */
static bool is_paged(const struct findings_options *o)
{
	return o->help
		|| (!o->json && (o->verb == FINDINGS_LIST || o->verb == FINDINGS_SHOW || o->verb == FINDINGS_CAUSES || o->verb == FINDINGS_SCHEMA));
}

static int run_paged(struct session *x, const struct screen *screen)
{
	struct pager pager = {.on = false};
	int code;
	if (is_paged(x->o))
		pager_begin(&pager, screen);
	if (x->o->help) {
		findings_usage(&x->out.pending, help_width(screen->look.width));
		code = exit_code(x, STORE_OK);
	} else {
		code = open_and_run(x);
	}
	pager_end(&pager);
	return code;
}

int cmd_findings(int argc, char **argv, const struct screen *screen)
{
	struct findings_options o;
	struct session x = {.o = &o, .now = clock_unix_ms()};
	struct err err = {0};
	int code = 2;
	arena_init(&x.a);
	sb_init(&x.complaint);
	bool ok = findings_options_parse(&o, argc, argv, x.now, &x.a, &err);
	printer_init(&x.out, ok && o.json);
	x.out.look = screen->look;
	if (ok)
		code = run_paged(&x, screen);
	else
		fprintf(stderr, "scatterproof findings: %s%s\n", err.msg, strstr(err.msg, "--help") ? "" : " (try `scatterproof findings --help`)");
	printer_free(&x.out);
	sb_free(&x.complaint);
	arena_free(&x.a);
	return code;
}
